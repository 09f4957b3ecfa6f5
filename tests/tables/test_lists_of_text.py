"""Lists of items that are written as text in one cell, in files and in memory."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from rankwise.errors import RankwiseError
from rankwise.tables.read import read_table

TRUTH = {"ann": {21}, "bob": {22, 25}}
LISTS = {"ann": [20, 21], "bob": [22, 23]}
WRITTEN = ["[{}, {}]", "[{} {}]", "({}, {})", "{} {}", "{}|{}", "{};{}", "{}, {}", "['{}', '{}']"]


@pytest.mark.parametrize("cell", WRITTEN)
@pytest.mark.parametrize("name", ["items", "item_ids", "movies"])
@pytest.mark.parametrize("road", ["frame", "csv", "json", "parquet"])
def test_lists_in_a_cell_are_lists(cell, name, road, tmp_path):
    frame = pl.DataFrame(
        {"user": ["ann", "bob"], name: [cell.format(*items) for items in LISTS.values()]}
    )
    source = frame
    if road == "csv":
        frame.write_csv(source := tmp_path / "a.csv")
    elif road == "json":
        frame.write_json(source := tmp_path / "a.json")
    elif road == "parquet":
        frame.write_parquet(source := tmp_path / "a.parquet")
    result = rw.evaluate(source, TRUTH, ["mrr", "recall"])
    assert dict(result.values) == dict(rw.evaluate(LISTS, TRUTH, ["mrr", "recall"]).values)


def test_ground_truth_and_scores_in_cells_are_lists(tmp_path):
    (tmp_path / "l.csv").write_text(
        'user,items,scores\nann,"[20, 21]","[0.1, 0.7]"\nbob,"[22, 23]","[2, 1e0]"\n'
    )
    (tmp_path / "t.csv").write_text("user,items\nann,21\nbob,22|25\n")
    assert rw.evaluate(tmp_path / "l.csv", tmp_path / "t.csv", "mrr")["mrr"] == 1.0


def test_lists_of_text_keep_their_ids():
    frame = pl.DataFrame({"user": [1, 2], "items": ["['The Ring', 'Alien']", '["007"]']})
    assert read_table(frame, "recommendations").frame["item"].to_list() == [
        "The Ring",
        "Alien",
        "007",
    ]
    empty = pl.DataFrame({"user": [1, 2], "items": ["[]", "[5]"]})
    assert read_table(empty, "recommendations").frame.to_dict(as_series=False) == {
        "user": [2],
        "item": [5],
    }


def test_a_column_of_ids_in_brackets_is_a_list_only_where_it_is_named():
    frame = pl.DataFrame({"user": [1, 2], "recs": ["[20, 21]", "[22]"]})
    named = read_table(frame, "recommendations", {"item": "recs"})
    assert named.frame["item"].to_list() == [20, 21, 22]
    codes = frame.rename({"recs": "item"}).with_columns(user=1)  # a code may be written so
    assert read_table(codes, "recommendations").frame["item"].to_list() == ["[20, 21]", "[22]"]
    with pytest.raises(RankwiseError, match="there is no column for the item"):
        read_table(
            pl.DataFrame({"user": [1], "items": ["a film of many words"]}), "recommendations"
        )


@pytest.mark.parametrize("name", ["score", "rank", "rating"])
def test_scores_in_text_are_read_from_a_column_in_the_plural(name):
    frame = pl.DataFrame({"user": ["ann"], "items": ["[20, 21]"], name: ["[1, 2]"]})
    with pytest.raises(RankwiseError, match=f"column '{name}' has one text per list") as raised:
        read_table(frame, "recommendations")
    assert f"as many numbers as items, in a column '{name}s'; or" in raised.value.hint
    read = read_table(frame.rename({name: f"{name}s"}), "recommendations").frame
    assert read.to_numpy()[:, 2].tolist() == [1, 2]


@pytest.mark.parametrize("second", ["[0.7]", "[0.7, 0.2, 0.1]", "0.7", None])
def test_scores_in_text_that_lack_one_of_an_item_are_refused(second):
    frame = pl.DataFrame(
        {"user": ["ann", "bob"], "items": ["[20, 21]", "[22, 23]"], "scores": ["[1, 2]", second]}
    )
    with pytest.raises(RankwiseError, match="column 'scores' has one text per list"):
        rw.evaluate(frame, TRUTH, "mrr")
    unused = rw.evaluate(frame, TRUTH, "mrr", columns={"recommendations.score": None})
    assert unused["mrr"] == 0.75


def test_a_text_in_the_singular_holds_no_numbers_of_items():
    frame = pl.DataFrame({"user": [1], "items": ["[5, 6]"], "note": ["0.1 0.7"]})
    assert read_table(frame, "recommendations").frame.columns == ["user", "item"]


@given(
    st.lists(
        st.lists(st.integers(0, 9), min_size=1, max_size=4, unique=True), min_size=1, max_size=5
    )
)
def test_what_python_prints_of_a_list_is_that_list(lists):
    frame = pl.DataFrame({"user": [*range(len(lists))], "items": [str(items) for items in lists]})
    ids = read_table(frame, "recommendations").frame
    assert ids.group_by("user", maintain_order=True).agg("item")["item"].to_list() == lists
