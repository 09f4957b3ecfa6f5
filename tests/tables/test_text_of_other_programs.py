"""Text files as spreadsheets, RecBole and people write them: what is read, and which way out is named."""

from __future__ import annotations

import polars as pl
import pytest

import rankwise as rw
from rankwise.errors import ColumnError, FileError, MetricError

TRUTH = pl.DataFrame({"user": [1, 2], "item": [6, 5]})
DECIMAL = "user;item;score\n1;6;0,5\n1;7;0,75\n2;5;0,7\n"


def hit(folder, text, name="run.csv", **options):
    (folder / name).write_text(text)
    return rw.evaluate(folder / name, TRUTH, "mrr@2", **options)["mrr@2"]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (DECIMAL, "separator=';', decimal_comma=True"),
        (DECIMAL.replace(";", "\t"), r"separator='\t', decimal_comma=True"),
        (DECIMAL.replace("0,75", "1.000,75"), "decimal_comma=True"),
        ('user,item,score\n1,6,"0,5"\n2,5,"0,7"\n', "write 1234.5 for 1234,5"),
        ("user,item,score\n1,6,0,5\n2,5,0,7\n", "stands in quotation marks"),
        ("sep=;\nuser;item;score\n1;6;0.5\n", "delete the first line"),
        ('"sep=,"\nuser,item,score\n1,6,0.5\n', "delete the first line"),
        ("# written by us\nuser,item,score\n1,6,0.5\n", "delete the lines of comments"),
        ("user,item,score\n# the lists\n1,6,0.5\n", "delete the lines of comments"),
    ],
)
def test_hints_of_text_that_is_not_read(text, hint, tmp_path):
    with pytest.raises(FileError) as caught:
        hit(tmp_path, text)
    assert hint in caught.value.hint


def test_hints_that_are_followed_lead_to_the_value(tmp_path):
    right = hit(tmp_path, "user,item,score\n1,6,0.5\n1,7,0.75\n2,5,0.7\n")
    assert right == 0.75
    (tmp_path / "run.csv").write_text(DECIMAL)
    table = pl.read_csv(tmp_path / "run.csv", separator=";", decimal_comma=True)
    assert rw.evaluate(table, TRUTH, "mrr@2")["mrr@2"] == right
    assert hit(tmp_path, DECIMAL.replace(",", ".")) == right
    commented = "# ours\nuser,item,score\n1,6,0.5\n# more\n1,7,0.75\n2,5,0.7\n"
    assert (
        hit(tmp_path, "".join(line + "\n" for line in commented.splitlines() if line[0] != "#"))
        == right
    )


@pytest.mark.parametrize(
    "titles", [("1984", "Heat"), ("Heat", "1984"), ("7", "Up, or 8"), ("2,5", "Her")]
)
def test_a_title_that_is_a_number_is_no_score(titles, tmp_path):
    rows = "".join(
        f'{user},{item},"{title}"\n'
        for (user, item), title in zip(TRUTH.rows(), titles, strict=True)
    )
    assert hit(tmp_path, "user,item,title\n" + rows) == 1.0
    frame = TRUTH.with_columns(title=pl.Series(titles))
    assert rw.evaluate({1: [6], 2: [5]}, frame, "mrr@2")["mrr@2"] == 1.0


@pytest.mark.parametrize(
    "values", [("0.5", "0.75"), ("0,5", "n/a"), ("NaN", "2"), ("true", "False")]
)
def test_text_that_is_numbers_and_gaps_could_still_decide(values, tmp_path):
    rows = "".join(
        f'{user},{item},"{value}"\n'
        for (user, item), value in zip(TRUTH.rows(), values, strict=True)
    )
    with pytest.raises(ColumnError, match="'gizmo' could be it"):
        hit(tmp_path, "user,item,gizmo\n" + rows)


@pytest.mark.parametrize("kind", ["token", "token_seq"])
@pytest.mark.parametrize("values", [("5", "7"), ("5 6", "7")])
def test_ids_of_recbole_are_no_scores(kind, values, tmp_path):
    text = f"user_id:token\titem_id:token\ttags:{kind}\n1\t6\t{values[0]}\n2\t5\t{values[1]}\n"
    assert hit(tmp_path, text, "run.inter") == 1.0
    with pytest.raises(ColumnError, match="could be it"):
        hit(tmp_path, text.replace(f":{kind}", ":float").replace("5 6", "5"), "run.inter")


@pytest.mark.parametrize("kind", ["csv", "json lines", "parquet", "polars", "pandas"])
def test_gaps_in_ratings_of_training_are_no_matter(kind, tmp_path):
    train = pl.DataFrame({"user": [1, 2, 2], "item": [5, 6, 5], "rating": [3.0, None, None]})
    source = {"polars": train, "pandas": train.to_pandas()}.get(kind, tmp_path / "train.jsonl")
    if kind == "csv":
        source = tmp_path / "train.csv"
        train.write_csv(source)
    elif kind == "parquet":
        source = tmp_path / "train.parquet"
        train.write_parquet(source)
    elif kind == "json lines":
        train.write_ndjson(source)
    names = ["arp@2", "novelty@2", "coverage@2"]
    filled = rw.evaluate({1: [5, 6]}, TRUTH, names, train=train.drop("rating"))
    assert rw.evaluate({1: [5, 6]}, TRUTH, names, train=source).values == filled.values
    (tmp_path / "bad.csv").write_text("user,item,rating\n1,5,three\n")
    with pytest.raises(FileError, match="'rating' is not a number"):
        rw.evaluate({1: [5, 6]}, TRUTH, names, train=tmp_path / "bad.csv")


def test_metrics_of_categories_are_named_where_features_are_missing():
    items = pl.DataFrame({"item": [5, 6], "genres": ["war|noir", "noir"]})
    with pytest.raises(MetricError) as caught:
        rw.evaluate({1: [5, 6]}, TRUTH, "intra_list_diversity@2", items=items)
    assert "intra_list_diversity(distance=jaccard)" in caught.value.hint
    assert rw.evaluate({1: [5, 6]}, TRUTH, "intra_list_diversity(distance=jaccard)@2", items=items)
    for name in ("genre_coverage@2", "genre_diversity@2", "topic_coverage@2"):
        with pytest.raises(MetricError) as caught:
            rw.evaluate({1: [5, 6]}, TRUTH, name, items=items)
        for each in (
            caught.value.hint.removeprefix("metrics of categories: ")
            .replace("; and", ",")
            .split(", ")
        ):
            assert rw.evaluate({1: [5, 6]}, TRUTH, f"{each}@2", items=items)
