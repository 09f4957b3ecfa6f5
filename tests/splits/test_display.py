"""What a notebook shows of a split and of folds."""

from __future__ import annotations

import pickle

import polars as pl

from html_tables import read_html
from rankwise import splits

TABLE = pl.DataFrame(
    {"user": [1, 1, 1, 2, 2, 3], "item": [5, 6, 7, 5, 6, 7], "timestamp": [1, 2, 9, 3, 8, 4]}
)
HOSTILE = "</td><script>alert(1)</script>\n\x1b[31m\u202e&amp;"
SHOWN = "</td><script>alert(1)</script>  [31m &amp;"


def test_one_row_per_part_and_what_was_found():
    tables, (rule,) = read_html(splits.GlobalTime(at=8).split(TABLE)._repr_html_())
    assert rule == "GlobalTime(at=8, target='all', seed=0)"
    assert tables == [
        [["part", "rows", "users", "items"], ["train", "4", "3", "3"], ["test", "2", "2", "2"]],
        [["found", "value"], ["moment", "8"]],
    ]


def test_rows_in_no_part_are_counted():
    split = splits.GlobalTime(at=8, filters=[splits.MinRows(users=2)]).split(TABLE)
    (parts, _), (_, unused) = read_html(split._repr_html_())
    assert parts[1:] == [["train", "2", "1", "2"], ["test", "2", "2", "2"]]
    assert unused == "2 of 6 rows are in no part"


def test_a_split_without_findings_has_one_table():
    split = splits.GlobalTime(at=8).split(TABLE)
    bare = splits.Split(split.source, split.rows, split.masks, {})
    tables, texts = read_html(bare._repr_html_())
    assert len(tables) == 1
    assert texts == ["split()"]


def test_numbers_of_rows_are_grouped_in_thousands():
    many = pl.DataFrame({"user": [1] * 4000, "item": range(4000), "timestamp": range(4000)})
    ((parts, _), _) = read_html(splits.GlobalTime(at=2500).split(many)._repr_html_())
    assert parts[1] == ["train", "2,500", "1", "2,500"]


def test_hostile_names_are_text():
    table = TABLE.with_columns(pl.Series(HOSTILE, ["a", "a", "b", "a", "b", "b"]))
    folds = splits.StratifiedKFold(2, by=HOSTILE).split(table)
    split = folds[0]
    named = splits.Split(
        split.source, split.rows, {HOSTILE: split.masks["train"]}, split.rule, {HOSTILE: HOSTILE}
    )
    (parts, found), (rule, _) = read_html(named._repr_html_())
    assert parts[1][0] == SHOWN
    assert found[1] == [SHOWN, SHOWN]
    assert "<script>" in rule
    _, (rule,) = read_html(folds._repr_html_())
    assert rule.startswith("StratifiedKFold(k=2, by='</td><script>")
    assert rule.endswith("2 folds")


def test_one_row_per_fold():
    rule = splits.KFold(3, validation=splits.Holdout(0.5))
    for folds in (rule.split(TABLE), pickle.loads(pickle.dumps(rule.split(TABLE)))):
        (table,), (caption,) = read_html(folds._repr_html_())
        assert caption.startswith("KFold(")
        assert caption.endswith(": 3 folds")
        assert table == [
            ["fold", "train rows", "validation rows", "test rows"],
            *([str(fold), "2", "2", "2"] for fold in range(3)),
        ]


def test_of_many_folds_the_first_are_computed(monkeypatch):
    folds = splits.LeavePOut(1).split(TABLE.head(3).vstack(TABLE).vstack(TABLE))
    made = []
    make = folds._make
    monkeypatch.setattr(folds, "_make", lambda number: made.append(number) or make(number))
    (table,), (_, note) = read_html(folds._repr_html_())
    assert made == list(range(10))
    assert len(table) == 11
    assert note == f"the first 10 of {len(folds)} folds"


def test_a_fold_that_is_empty_hides_no_other():
    table = pl.DataFrame({"user": [1, 1, 1, 2], "item": [5, 6, 7, 5]})
    folds = splits.UserKFold(2).split(table)
    (table,), (_, note) = read_html(folds._repr_html_())
    assert note == "fold 0: the test side of the split is empty"
    assert table == [
        ["fold", "train rows", "history rows", "test rows"],
        ["0", "–", "–", "–"],
        ["1", "1", "1", "2"],
    ]
