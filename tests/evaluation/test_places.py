"""Places of lists that hold no item: empty lists, missing ranks and repetitions side by side."""

from __future__ import annotations

import polars as pl
import pytest

import rankwise as rw
from command_line import rankwise_here
from rankwise.errors import MetricError, ParameterError
from rankwise.tables.places import are_places, place_ids, settle_empty_lists
from rankwise.tables.read import read_table

TRUTH = {"ann": {1}, "bob": {2}, "cleo": {9}, "dan": {1}}
LISTS = {"ann": [1, 2], "bob": [], "cleo": [3]}


def values(lists, truth=TRUTH, **options):
    return rw.evaluate(lists, truth, ["ndcg@2", "mrr"], **options).values


@pytest.mark.parametrize("population", ["both", "recommended", "judged_both"])
def test_an_empty_list_is_a_list_in_which_nothing_is_found(population):
    absent = values(LISTS, population=population)
    present = values(LISTS, population=population, empty_lists="present")
    assert absent["mrr"] == 1 / 2
    assert present["mrr"] == pytest.approx(1 / 3)


def test_two_rules_for_the_same_empty_lists_are_not_compared():
    results = {
        rule: rw.evaluate(LISTS, TRUTH, "mrr", empty_lists=rule) for rule in ("absent", "present")
    }
    with pytest.raises(ParameterError, match="empty_lists"):
        rw.compare(results)


def test_all_users_with_ground_truth_have_the_same_value_either_way():
    assert values(LISTS) == values(LISTS, empty_lists="present")


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("column", ["rank", "score", None])
def test_lists_in_cells_have_empty_ones_of_any_type(text, column):
    frame = pl.DataFrame({"user": [1, 2, 3], "items": [[5, 6], [], [7]]})
    truth = {1: {5}, 2: {6}, 3: {8}}
    if text:
        frame = frame.with_columns(pl.col("items").cast(pl.List(pl.String)))
        truth = {user: {str(item) for item in items} for user, items in truth.items()}
    if column is not None:
        frame = frame.with_columns(
            pl.Series(
                f"{column}s", [[1, 2], [], [1]] if column == "rank" else [[0.9, 0.1], [], [0.5]]
            )
        )
    ours = rw.evaluate(frame, truth, "mrr", population="both", empty_lists="present")
    assert ours["mrr"] == pytest.approx(1 / 3)
    assert ours.counts["empty_lists"] == 1
    assert "1 list without an item" in str(ours)
    assert "a list without an item is a list" in " ".join(str(ours).split())


def test_a_request_with_an_empty_list_has_a_list():
    frame = pl.DataFrame({"user": ["a", "a", "b"], "request": [1, 2, 1], "items": [[1], [], [3]]})
    truth = {"a": {1}, "b": {2}}
    options = {"population": "both", "empty_lists": "present"}
    whole = rw.evaluate(frame, truth, "mrr", **options)
    assert whole["mrr"] == pytest.approx(1 / 3)
    pieces = rw.Evaluator("mrr", truth=truth, **options).update(frame[:2]).update(frame[2:])
    assert pieces.result().values == whole.values
    assert "mrr" not in rw.evaluate(frame, truth, "ndcg@1", population="both").values


def test_items_without_judgement_are_removed_and_empty_lists_stay():
    lists = {"ann": [7, 1], "bob": [], "cleo": [9]}
    ours = values(lists, population="both", empty_lists="present", judged_only=True)
    assert ours["mrr"] == pytest.approx(2 / 3)


def test_empty_lists_are_no_items_outside_the_catalogue():
    ours = rw.evaluate(LISTS, TRUTH, "mrr", items=[1, 2, 3, 9], empty_lists="present")
    assert "recommendations_outside_catalogue" not in ours.counts


def test_alternatives_are_no_items_outside_the_catalogue():
    truth = pl.DataFrame({"user": ["a", "a"], "item": [5, 6], "fact": ["x", "x"]})
    ours = rw.evaluate({"a": [5, 6, 7]}, truth, "mrr", alternatives="fact", items=[5, 6, 7])
    assert "recommendations_outside_catalogue" not in ours.counts


@pytest.mark.parametrize("kind", [pl.Int64, pl.String])
def test_missing_ranks_and_repetitions_have_places_of_their_own(kind):
    lists = pl.DataFrame({"user": ["a"] * 4, "item": [5, 6, 5, 5], "rank": [2, 4, 5, 6]})
    lists = lists.with_columns(pl.col("item").cast(kind))
    truth = {"a": set(lists["item"])}
    ours = rw.evaluate(lists, truth, "map@6", ranks="keep", duplicates="keep")
    assert ours["map@6"] == pytest.approx((1 / 2 + 2 / 4) / 2)
    assert ours.counts["ranks_without_item"] == 2
    assert ours.counts["duplicates_kept"] == 2


def test_places_are_told_from_ids():
    numbers = pl.DataFrame({"number": [0, 3]})
    ids = [
        numbers.select(place_ids(pl.col("number"), reason, kind)).to_series()
        for reason in ("missing", "repeated", "alternative", "empty")
        for kind in (pl.Int64(), pl.String())
    ]
    assert all(are_places(each).all() for each in ids)
    assert sum(each.n_unique() for each in ids) == 16
    assert not are_places(pl.Series([-1, 0, 2**62, -(2**61)])).any()
    assert not are_places(pl.Series([-(2**63), -(2**62) - 1])).any()
    assert not are_places(pl.Series([0, 1], dtype=pl.UInt8)).any()


def test_lists_without_empty_ones_are_returned_as_they_are():
    table = read_table({"ann": [1]}, "recommendations")
    assert settle_empty_lists(table, present=True) is table


def test_metrics_of_lists_are_refused():
    with pytest.raises(MetricError, match="describe lists") as caught:
        rw.evaluate(LISTS, TRUTH, "coverage@2", empty_lists="present")
    assert 'empty_lists="absent"' in caught.value.hint


@pytest.mark.parametrize("option", ["exclude_seen", "judged_only"])
def test_removed_items_leave_no_gap_that_could_be_kept(option):
    lists = pl.DataFrame({"user": ["a"] * 2, "item": [1, 2], "rank": [1, 4]})
    with pytest.raises(ParameterError, match="leave gaps"):
        rw.evaluate(
            lists, {"a": {2: 1, 1: 0}}, "mrr", train={"a": [1]}, ranks="keep", **{option: True}
        )


def test_command_line_takes_them(tmp_path):
    (tmp_path / "lists.json").write_text('{"ann": ["1", "2"], "bob": [], "cleo": ["3"]}')
    (tmp_path / "truth.csv").write_text("user,item\nann,1\nbob,2\ncleo,9\n")
    command = "evaluate lists.json truth.csv -m mrr --population both --empty-lists present"
    shown = rankwise_here(tmp_path, *command.split())
    assert "mrr     0.3333" in shown.stdout, shown
