"""Training interactions beside lists: ids of one type, groups of users, and seen items."""

from __future__ import annotations

import polars as pl
import pytest

import rankwise as rw
from rankwise.errors import EmptyError, IdError, InputError
from rankwise.tables.ids import align, matching
from rankwise.tables.read import read_table
from rankwise.tables.table import Table
from rankwise.tables.training import Terciles, exclude_seen, user_values, with_user_column

LISTS = read_table({1: [5, 6], 2: [7]}, "recommendations")
TRUTH = read_table({1: {6}, 2: {7, 8}}, "truth")


def test_a_chunk_of_seen_items_is_empty_and_counted():
    """Of other chunks some item may remain; without them it is an error."""
    train = read_table({1: [5, 6], 2: [7, 8]}, "train")
    lists = exclude_seen(LISTS, train, TRUTH, required=False)
    assert lists.frame.is_empty()
    assert (lists.counts["seen_items_taken_out"], lists.counts["truth_rows_seen_in_training"]) == (
        3,
        3,
    )
    with pytest.raises(EmptyError, match="every recommended item was seen"):
        exclude_seen(LISTS, train, TRUTH)


@pytest.mark.parametrize("users", [None, {"user": [2, 3], "team": ["x", "y"]}])
def test_a_column_of_users_is_made_of_all_ids(users):
    """Those of other tables come first; what a table of users says is kept."""
    table = None if users is None else read_table(pl.DataFrame(users), "users")
    made = with_user_column(table, [LISTS, TRUTH], "odd", "odd", lambda ids: ids % 2 == 1).frame
    assert made["user"].to_list() == ([1, 2] if users is None else [1, 2, 3])
    assert made["odd"].to_list() == [True, False, True][: len(made)]
    assert users is None or made["team"].to_list() == [None, "x", "y"]


@pytest.mark.parametrize("n", [1, 2])
def test_a_ground_truth_of_training_interactions_alone_is_refused(n):
    truth = read_table({1: {5, 6} if n == 2 else {6}}, "truth")
    train = read_table({1: [6] if n == 1 else [5, 6]}, "train")
    lists = read_table({1: [5, 6, 7]}, "recommendations")
    with pytest.raises(InputError, match="leaves no hit") as error:
        exclude_seen(lists, train, truth)
    assert error.value.found == f"{n} such rows"
    counts = exclude_seen(lists, train, read_table({1: {6, 9}}, "truth")).counts
    assert (counts["truth_rows_seen_in_training"], counts["seen_items_taken_out"]) == (1, n)


@pytest.mark.parametrize(
    ("values", "low", "middle", "groups"),
    [
        ([5], 5, 5, ["low"]),
        ([1, 2], 1, 2, ["low", "middle"]),
        ([1, 2, 3], 1, 2, ["low", "middle", "high"]),
        ([1, 2, 3, 4], 2, 3, ["low", "low", "middle", "high"]),
        ([1, 2, 3, 4, 5], 2, 4, ["low", "low", "middle", "middle", "high"]),
        ([1, 1, 1, 7], 1, 1, ["low", "low", "low", "high"]),
        ([1, 7, 7, 7], 7, 7, ["low"] * 4),
    ],
)
def test_terciles_end_at_a_third_and_two_thirds_of_the_users(values, low, middle, groups):
    column = pl.Series("value", values, pl.Float64)
    terciles = Terciles.of(
        column.sample(fraction=1, shuffle=True, seed=1).to_frame().group_by("value").len("count")
    )
    assert terciles == Terciles(low, middle, len(values))
    assert terciles.groups(column).to_list() == groups
    assert terciles.groups(pl.Series([None, low - 1, middle + 1])).to_list() == [
        "none",
        "low",
        "high",
    ]
    assert terciles.to_dict("activity") == {
        "value": "distinct training items of the user",
        "low_up_to": low,
        "middle_up_to": middle,
        "training_users": len(values),
    }


def test_users_have_the_number_of_their_items_or_the_mean_popularity_of_these():
    train = pl.DataFrame({"user": [1, 1, 1, 2, 3], "item": [5, 6, 6, 5, 5]})

    def values(*arguments):
        return dict(user_values(train, *arguments).rows())

    assert values("activity") == {1: 2.0, 2: 1.0, 3: 1.0}
    assert values("popularity") == {1: 2.0, 2: 3.0, 3: 3.0}
    assert values("popularity", pl.DataFrame({"item": [5], "count": [10]})) == {
        1: 5.0,
        2: 10.0,
        3: 10.0,
    }


def table(ids, *, is_text=False, column="item"):
    return Table(pl.DataFrame({column: ids}), "items", "a table", "table", {}, is_text=is_text)


def test_ids_of_a_text_file_are_text_beside_text():
    numbers, text = table([1, 2], is_text=True), table(["1", "a"])
    aligned = align([numbers, text, table([3], column="user")], "item")
    assert [one.frame.to_series().to_list() for one in aligned] == [["1", "2"], ["1", "a"], [3]]
    for same in ([text, text], [numbers, table([3])], [numbers, table([3], column="user")]):
        assert align(same, "item") is same


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (["1", "22"], "Int64 beside String: '1' is not 7"),
        (["1", "a"], "Int64 beside String, such as 'a'"),
        (["1", "01"], "Int64 beside String, such as '01'"),
        (["-1", "0"], "Int64 beside String: '-1' is not 7"),
    ],
)
def test_numbers_beside_text_would_never_match(text, found):
    with pytest.raises(IdError, match="so none would match") as caught:
        align([table([7]), table(text)], "item")
    assert caught.value.found == found


def test_rows_are_matched_by_ids_of_the_other_type_where_they_are_written_so():
    text = table(["1", "01", "a", "-2", "9" * 19], is_text=False)
    assert matching(text, "item", pl.Series([1])).to_series().to_list() == [1, -2]
    assert matching(
        table([1, 300]), "item", pl.Series([1], dtype=pl.Int8)
    ).to_series().to_list() == [1]
    read = table([1, 2], is_text=True)
    assert matching(read, "item", pl.Series(["1"])).to_series().to_list() == ["1", "2"]
    with pytest.raises(IdError):
        matching(table([1, 2]), "item", pl.Series(["1"]))


def test_exact_ranks_have_no_items_without_a_judgment():
    ranks = rw.rank_relevant([[0.3, 0.2, 0.1]], truth={0: {1: 1}})
    with pytest.raises(InputError, match="exact ranks are of judged items already"):
        rw.evaluate(ranks, {0: {1: 1}}, "mrr", judged_only=True)
