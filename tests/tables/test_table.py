"""Protocols of candidates, cards, and rules on one line."""

from __future__ import annotations

import json

import polars as pl
import pytest

from rankwise import splits
from rankwise.core.hashing import json_hash
from rankwise.errors import FileError
from rankwise.tables import table as tables
from rankwise.tables.table import (
    INFERRED,
    Protocol,
    Recommendations,
    Table,
    Tables,
    absent_truth,
    card_beside,
    card_text,
    in_words,
    is_absent,
    is_card,
    is_deep,
    names_no_columns,
    one_line,
    read_card,
    read_json,
)


@pytest.mark.parametrize(
    ("protocol", "label"),
    [
        (Protocol("catalogue"), ""),
        (Protocol("sampled", 0), "sampled (m=0)"),
        (Protocol("sampled", 100), "sampled (m=100)"),
        (Protocol("sampled", 100, 0), "sampled (m=100, seed=0)"),
        (Protocol("sampled", 100, 42, "uniform"), "sampled (m=100, seed=42)"),
        (Protocol("sampled", 9, 1, "popularity"), "sampled (m=9, seed=1, by popularity)"),
        (
            Protocol("sampled", 9, 1, "popularity", power=0.75),
            "sampled (m=9, seed=1, by popularity^0.75)",
        ),
        (Protocol("sampled", 9, replacement=True), "sampled (m=9, with replacement)"),
        (Protocol(INFERRED, 9), "looks sampled (m=9)"),
    ],
)
def test_samples_are_labelled_and_labels_are_read(protocol, label):
    assert protocol.label == label
    assert protocol.sampled == bool(label)
    again = Protocol.of_label(label)
    assert (again is None) == (not label)
    if again is not None:
        assert again.label == label
        assert (again.candidates, again.negatives, again.seed) == (
            protocol.candidates,
            protocol.negatives,
            protocol.seed,
        )
        assert (again.replacement, again.power) == (protocol.replacement, protocol.power)
    assert Protocol.read(protocol.write()) == Protocol.of(protocol.to_dict()) == protocol


def test_other_text_is_no_label_and_empty_text_no_protocol():
    for text in (
        "sampled",
        "sampled (m=)",
        "sampled (m=9) ",
        "Sampled (m=9)",
        "sampled (m=9, seed=x)",
    ):
        assert Protocol.of_label(text) is None
    assert Protocol.read("") is None


def nested(levels, kind):
    value = 1
    for _ in range(levels):
        value = {"a": value} if kind is dict else kind([value])
    return value


@pytest.mark.parametrize("kind", [list, tuple, dict])
def test_ten_levels_of_values_are_not_deep_and_eleven_are(kind, tmp_path):
    for levels, deep in ((0, False), (1, False), (10, False), (11, True), (12, True)):
        assert is_deep(nested(levels, kind)) is deep
        assert is_deep({"b": 1, "c": [1, nested(levels - 2, kind)]} if levels > 2 else 1) is deep
        (tmp_path / "values.json").write_text(json.dumps(nested(levels, kind)))
        if deep:
            with pytest.raises(FileError, match="nested too deeply"):
                read_json(tmp_path / "values.json")
        else:
            assert read_json(tmp_path / "values.json") == json.loads(
                json.dumps(nested(levels, kind))
            )


def test_settings_have_a_largest_size(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "_LARGEST", 5)
    (tmp_path / "a.json").write_text("12345")
    assert read_json(tmp_path / "a.json") == 12345
    (tmp_path / "a.json").write_text("123456")
    with pytest.raises(FileError, match="too large to hold settings") as caught:
        read_json(tmp_path / "a.json")
    assert caught.value.found == "more than 5 bytes"
    with pytest.raises(FileError, match="cannot be read"):
        read_json(tmp_path / "b.json")
    (tmp_path / "a.json").write_text("{")
    with pytest.raises(FileError, match="this is not JSON"):
        read_json(tmp_path / "a.json")


CARD = {
    "card_version": 1,
    "id": "0123456789abcdef",
    "input": {"columns": {"user": "uid"}},
    "rule": {"rule": "LeaveOut", "n": 1, "seen": "keep", "cold_users": "drop"},
    "found": {"moment": 5},
    "parts": {"train": {"rows": 3}, "test": {"rows": 2}},
    "files": {"test.csv": "abc"},
}


def test_a_card_has_everything_that_is_read_of_it():
    assert is_card(CARD)
    assert is_card({name: value for name, value in CARD.items() if name != "files"})
    assert is_card(CARD | {"time": {"unit": "ms"}})
    for changed in (
        {"id": 5},
        {"input": None},
        {"rule": "LeaveOut"},
        {"found": []},
        {"parts": 1},
        {"parts": {"train": {"rows": 3}}},
        {"parts": {"test": {"rows": 3}}},
        {"parts": CARD["parts"] | {"test": {"rows": True}}},
        {"parts": CARD["parts"] | {"test": {"rows": 2.0}}},
        {"parts": CARD["parts"] | {"test": 2}},
        {"time": "ms"},
        {"time": {"unit": "h"}},
        {"time": {}},
        {"input": {}},
        {"input": {"columns": {"user": 1}}},
        {"files": ["test.csv"]},
        {"files": {"test.csv": 1}},
        {"found": nested(10, dict)},
    ):
        assert not is_card(CARD | changed), changed
    assert not is_card([CARD])
    for name in ("id", "input", "rule", "found", "parts"):
        assert not is_card({key: value for key, value in CARD.items() if key != name})


def test_a_card_is_read_beside_the_files_that_it_lists(tmp_path):
    assert read_card(tmp_path) is None
    (tmp_path / "split.json").write_text(card_text(CARD))
    assert json.loads(card_text(CARD))["sha256"] == json_hash(CARD)
    assert read_card(tmp_path) == CARD
    assert card_beside(tmp_path / "test.csv", "abc") == CARD
    assert card_beside(tmp_path / "test.csv", "abd") is None
    assert card_beside(tmp_path / "train.csv", "abc") is None
    for text in (
        card_text(CARD).replace('"rows": 2', '"rows": 3'),
        card_text(CARD | {"files": 1}),
        "{}",
        "[]",
    ):
        (tmp_path / "split.json").write_text(text)
        with pytest.raises(
            FileError, match=r"changed after it was written|not the card of a split"
        ):
            read_card(tmp_path)
        assert card_beside(tmp_path / "test.csv", "abc") is None


def test_a_rule_on_one_line_has_no_defaults():
    assert one_line(CARD["rule"]) == "LeaveOut(n=1, cold_users='drop')"
    assert one_line(
        {"rule": "A", "filter_on": "all", "validation": {"rule": "B", "seen": "drop"}}
    ) == ("A(filter_on='all', validation=B(seen='drop'))")
    assert one_line({}) == "split()"
    assert repr(splits.LeaveOut(1)) == "LeaveOut(n=1, which='last', short='train', seed=0)"


def test_a_card_in_words_has_the_moment_if_there_is_one():
    assert in_words(CARD) == "LeaveOut(n=1, cold_users='drop') at 5, 2 test rows, id 0123456789ab"
    assert (
        in_words(CARD | {"found": {}})
        == "LeaveOut(n=1, cold_users='drop'), 2 test rows, id 0123456789ab"
    )


@pytest.mark.parametrize(
    ("layout", "has_no_names"),
    [
        ("{user: [items]}", True),
        ("[(user, item)]", True),
        ("dense array", True),
        ("sparse matrix", True),
        ("list of lists", True),
        ("weights", True),
        ("ids", True),
        ("tensors", True),
        ("columns", False),
        ("records", False),
        ("csv (comma)", False),
        ("polars table", False),
    ],
)
def test_layouts_without_names_of_columns(layout, has_no_names):
    assert names_no_columns(layout) is has_no_names


FRAME = pl.DataFrame({"user": [1, 1, 2], "item": ["a", "b", "a"], "relevance": [0.0, 2.0, 3.0]})
TABLE = Table(
    FRAME,
    "truth",
    "a file",
    "csv (comma)",
    {"user": "uid", "item": "item"},
    unread=("x",),
    trimmed=2,
)


def test_relevant_rows_are_above_0_or_reach_the_threshold():
    for threshold, items in (
        (None, ["b", "a"]),
        (0, ["a", "b", "a"]),
        (2, ["b", "a"]),
        (2.5, ["a"]),
        (4, []),
    ):
        assert TABLE.relevant(threshold)["item"].to_list() == items
    without = TABLE.with_frame(FRAME.drop("relevance"))
    assert len(without.relevant(4)) == 3


def test_the_card_of_a_table():
    assert TABLE.card == {
        "source": "a file",
        "format": "csv (comma)",
        "rows": 3,
        "columns": {"user": "uid", "item": "item"},
        "unread": ["x"],
        "ids": {"user": "Int64", "item": "String"},
        "ids_trimmed": 2,
        "sha256": None,
    }
    assert not TABLE.is_positional
    assert TABLE.with_ids("item", pl.Series([7, 8, 9])).frame["item"].to_list() == [7, 8, 9]
    assert TABLE.with_frame(FRAME.select("item")).card["ids"] == {"item": "String"}


def test_a_truth_that_was_not_given_has_the_types_of_the_lists():
    absent = absent_truth(TABLE)
    assert (absent.frame.schema, len(absent.frame)) == (FRAME.select("user", "item").schema, 0)
    assert is_absent(absent)
    assert not is_absent(TABLE)


def test_exact_ranks_have_the_sizes_of_candidate_sets():
    lists = Recommendations(FRAME, "recommendations", "a", "b", {})
    assert not lists.is_exact
    assert Recommendations(FRAME, "recommendations", "a", "b", {}, lengths=FRAME).is_exact
    assert [*Tables(recommendations=lists, truth=TABLE).by_role] == ["recommendations", "truth"]
    assert Tables().by_role == {}
