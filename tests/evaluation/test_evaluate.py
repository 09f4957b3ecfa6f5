"""Who counts, what is counted, and what must not change a bit."""

from __future__ import annotations

import math
import random

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from rankwise.errors import ScoreError
from strategies import as_frame, evaluations, truth_frame

CELLS = [
    "precision@3",
    "recall@3",
    "ndcg@[1,3]",
    "map@3",
    "mrr@3",
    "hit_rate@3",
    "err(max_relevance=4)",
    "f(of=means)@3",
    "gini@2",
    "item_coverage@3",
    "shannon_entropy@3",
    "tn@3",
    "num_retrieved@3",
]

LISTS = {"a": [1, 2], "b": [3, 4], "c": [5]}
TRUTH = {"a": {1: 1}, "b": {9: 1}, "d": {1: 1}, "e": {1: 0}}


@pytest.mark.parametrize(
    ("population", "users", "hits"),
    [
        ("truth", ["a", "b", "d"], 1 / 3),
        ("both", ["a", "b"], 1 / 2),
        ("recommended", ["a", "b", "c"], 1 / 2),
        ("judged", ["a", "b", "d", "e"], 1 / 3),
        ("all", ["a", "b", "c", "d"], 1 / 3),
    ],
)
def test_population(population, users, hits):
    result = rw.evaluate(LISTS, TRUTH, ["hit_rate@2", "num_retrieved@2"], population=population)
    assert result.per_user["user"].to_list() == users
    assert result["hit_rate@2"] == pytest.approx(hits)
    assert result.counts["users"] == len(users)
    assert result.counts["truth_users_without_relevant_items"] == 1
    assert result.counts.get("lists_without_relevant_items", 0) == 1


def test_undefined():
    def hit(rule):
        options = {"population": "recommended", "undefined": rule}
        return rw.evaluate(LISTS, TRUTH, "hit_rate@2", **options)

    assert hit("skip")["hit_rate@2"] == 1 / 2
    assert hit("zero")["hit_rate@2"] == pytest.approx(1 / 3)
    assert math.isnan(hit("nan")["hit_rate@2"])
    assert hit("skip").scores["users"].to_list() == [2]


def test_threshold_and_gains():
    lists, truth = {"u": [1, 2, 3]}, {"u": {1: 2, 2: 5, 3: 4}}
    result = rw.evaluate(lists, truth, ["precision@3", "dcg@3"], relevance_threshold=4)
    assert result["precision@3"] == pytest.approx(2 / 3)
    assert result["dcg@3"] == pytest.approx(5 / math.log2(3) + 4 / 2)


def test_negative_thresholds_make_negative_relevance_relevant():
    result = rw.evaluate({"u": [1]}, {"u": {1: -1, 2: -3}}, "recall@1", relevance_threshold=-2)
    assert result["recall@1"] == 1.0


def test_duplicates_first():
    lists = pl.DataFrame({"user": [1] * 5, "item": [7, 8, 7, 8, 9], "rank": [1, 2, 3, 4, 5]})
    truth = pl.DataFrame({"user": [1, 1, 1], "item": [9, 8, 9], "relevance": [1.0, 1.0, 3.0]})
    result = rw.evaluate(lists, truth, ["mrr", "cg@3", "num_retrieved@9"], duplicates="first")
    assert result["mrr"] == 1 / 2
    assert result["cg@3"] == 4.0
    assert result["num_retrieved@9"] == 3
    assert result.counts["duplicates_dropped"] == 2
    assert result.counts["truth_duplicates_dropped"] == 1


def test_rank_gaps_are_closed_and_counted():
    lists = pl.DataFrame({"user": [1, 1, 2], "item": [7, 8, 9], "rank": [5, 2, 1]})
    result = rw.evaluate(lists, {1: {7}, 2: {9}}, "mrr")
    assert result.per_user["mrr"].to_list() == [0.5, 1.0]
    assert result.counts["lists_with_rank_gaps"] == 1


def test_ranks_from_zero_are_only_an_order():
    lists = pl.DataFrame({"user": [1, 2, 1], "item": [7, 9, 8], "rank": [1, 0, 0]})
    assert rw.evaluate(lists, {1: {8}, 2: {9}}, "mrr")["mrr"] == 1.0


def test_slices_and_weights():
    users = pl.DataFrame({"user": ["a", "b"], "group": ["x", "y"], "w": [3.0, 1.0]})
    lists, truth = {"a": [1], "b": [2]}, {"a": {1}, "b": {1}}
    result = rw.evaluate(
        lists, truth, ["hit_rate@1", "gini@1"], users=users, by="group", weights="w"
    )
    assert result["hit_rate@1"] == 0.75
    assert result.slices.to_dicts() == [
        {"by": "group", "group": "x", "users": 1, "hit_rate@1": 1.0, "gini@1": 1.0},
        {"by": "group", "group": "y", "users": 1, "hit_rate@1": 0.0, "gini@1": 1.0},
    ]
    weighted = rw.evaluate(lists, truth, "hit_rate@1", weights={"a": 0, "b": 2})
    assert weighted["hit_rate@1"] == 0.0


def test_a_group_of_both_zeros():
    lists = {user: [1] for user in range(4)}
    users = {"user": range(4), "age": [0.0, -0.0, -0.0, 1.0]}
    result = rw.evaluate(lists, lists, "recall@1", users=users, by="age")
    assert result.slices.select("group", "users").rows() == [("0.0", 3), ("1.0", 1)]


def test_users_of_no_group_are_a_group():
    users = pl.DataFrame({"user": ["a"], "group": ["x"]})
    result = rw.evaluate({"a": [1], "b": [1]}, {"a": {1}, "b": {2}}, "mrr", users=users, by="group")
    assert result.slices["group"].to_list() == ["x", None]


@pytest.mark.parametrize("chunk_rows", [None, 1, 7])
def test_users_of_no_group_are_evaluated_as_by_themselves(chunk_rows, tmp_path):
    """Users whose group is null, and users who are not in the table; values of users and of items."""
    rng = np.random.default_rng(3)
    lists = pl.DataFrame(
        {
            "user": np.repeat(range(30), 4),
            "item": [i for _ in range(30) for i in rng.permutation(9)[:4]],
        }
    )
    truth = pl.DataFrame({"user": range(2, 32), "item": rng.integers(0, 9, 30)})
    users = pl.DataFrame(
        {"user": range(5, 32), "group": [["x", None, "y"][user % 3] for user in range(5, 32)]}
    )
    metrics, items = ["ndcg@3", "gini@3", "catalog_coverage@3", "entropy@3"], range(12)
    source = lists if chunk_rows is None else tmp_path / "lists.parquet"
    if chunk_rows is not None:
        lists.write_parquet(source)
    result = rw.evaluate(
        source, truth, metrics, users=users, by="group", items=items, chunk_rows=chunk_rows
    )
    grouped = users.filter(pl.col("group").is_not_null())
    expected = rw.evaluate(
        *(
            table.join(grouped, on="user", how="anti", maintain_order="left")
            for table in (lists, truth)
        ),
        metrics,
        items=items,
    )
    row = result.slices.filter(pl.col("group").is_null()).to_dicts()
    assert row == [
        {"by": "group", "group": None, "users": expected.counts["users"], **expected.values}
    ]
    assert expected.counts["users"] == result.per_user["group(group)"].null_count()


def test_catalogue():
    lists, truth = {1: [1, 2, 99]}, {1: {3}}
    seen = rw.evaluate(lists, truth, "coverage@3", train={1: [4]})
    assert seen["coverage@3"] == 3 / 5
    given_ = rw.evaluate(lists, truth, ["coverage@3", "item_coverage@3"], items=[1, 2, 3, 4])
    assert given_["coverage@3"] == 0.5
    assert given_.counts["recommended_items_outside_catalogue"] == 1
    assert given_.provenance["settings"]["catalogue"] == "given"


def test_parts_count_0_where_a_metric_is_made_of_others():
    name, options = "euclidean_distance([precision,recall])@2", {"undefined": "zero"}
    result = rw.evaluate(LISTS, TRUTH, name, population="judged", **options)
    cell = next(iter(result.values))
    values = dict(result.per_user.select("user", cell).rows())
    assert values["a"] == 0.5  # precision 1/2, recall 1
    assert values["e"] == pytest.approx(math.sqrt(2))  # nothing is relevant: far from (1, 1)


@pytest.mark.parametrize("block_size", [1, None])
@pytest.mark.parametrize("metric", ["err@2", "rbp(max_relevance=1)@2", "dcg(gain=exponential)@2"])
def test_hits_below_the_cutoff_are_not_read(metric, block_size):
    lists = {"a": {1: 4.0, 2: 3.0, 3: 2.0}, "b": {1: 2.0, 2: 2.0}}  # one list has ties
    truth = {"a": {2: 1, 3: 2000}, "b": {2: 1}}
    assert rw.evaluate(lists, truth, metric, block_size=block_size)[metric] > 0
    with pytest.raises(ScoreError, match="a relevance is"):
        rw.evaluate(lists, truth, metric.replace("@2", "@3"), block_size=block_size)


@given(evaluations(judged=True), st.integers(1, 5), st.sampled_from([1, 2, 7]), st.randoms())
def test_nothing_changes_with_blocks_threads_rows_or_names(data, threads, block, shuffled):
    lists, truth = data
    whole = rw.evaluate(lists, truth, CELLS, population="all", threads=1)
    again = rw.evaluate(lists, truth, CELLS, population="all", threads=threads, block_size=block)
    rows = list(range(sum(map(len, lists.values()))))
    shuffled.shuffle(rows)
    frame, judged = as_frame(lists)[rows], truth_frame(truth)
    judged = judged[shuffled.sample(range(len(judged)), len(judged))]
    moved = rw.evaluate(frame, judged, CELLS, population="all")
    name = {user: f"u{at:02}" for at, user in enumerate(sorted({*lists, *truth}))}
    named = rw.evaluate(
        {name[u]: [f"i{i}" for i in own] for u, own in lists.items()},
        {name[u]: {f"i{i}": v for i, v in own.items()} for u, own in truth.items()},
        CELLS,
        population="all",
    )
    for other in (again, moved, named):
        for cell, value in whole.values.items():
            assert np.array_equal(value, other.values[cell], equal_nan=True), cell
        ours = whole.per_user.drop("user", "n_relevant", "list_length").to_numpy()
        theirs = other.per_user.drop("user", "n_relevant", "list_length").to_numpy()
        assert np.array_equal(ours, theirs, equal_nan=True)


@given(evaluations(), st.integers(1, 4), st.booleans(), st.randoms())
def test_pieces_give_the_same_bits(data, n, whole_truth, shuffled):
    lists, truth = data
    whole = rw.evaluate(lists, truth, CELLS)
    users = sorted({*lists, *truth})
    shuffled.shuffle(users)
    parts = [users[start::n] for start in range(n)]
    evaluators = []
    for own in parts:
        listed = {u: lists[u] for u in own if u in lists}
        judged = {u: truth[u] for u in own if u in truth}
        if not listed:
            continue
        if whole_truth and not judged:
            return  # lists without ground truth are items of the catalogue, and no part
        evaluator = rw.Evaluator(CELLS, truth=None if whole_truth else truth)
        evaluator.update(listed, judged if whole_truth else None)
        evaluators.append(evaluator)
    covered = {u for e in evaluators for u in e.partial().users["user"]}
    if whole_truth and covered != set(truth):
        return  # a part without lists cannot be handed over
    shuffled.shuffle(evaluators)
    first, *rest = evaluators
    merged = first.merge(*rest).result()
    for cell, value in whole.values.items():
        assert np.array_equal(value, merged.values[cell], equal_nan=True), cell
    assert whole.per_user.equals(merged.per_user, null_equal=True)


def test_partials_travel_as_bytes():
    here = rw.Evaluator(["ndcg@2", "gini@2"]).update({1: [1, 2]}, {1: {2}})
    there = rw.Evaluator(["ndcg@2", "gini@2"]).update({2: [2, 3]}, {2: {2}})
    sent = rw.Partial.from_bytes(there.partial().to_bytes())
    whole = rw.evaluate({1: [1, 2], 2: [2, 3]}, {1: {2}, 2: {2}}, ["ndcg@2", "gini@2"])
    assert here.merge(sent).result().values == whole.values


def test_a_user_in_two_pieces_is_an_error():
    evaluator = rw.Evaluator("mrr", truth={1: {5}}).update({1: [5]})
    with pytest.raises(rw.RankwiseError, match="in two chunks"):
        evaluator.update({1: [6]})


def test_only_like_evaluators_merge():
    with pytest.raises(rw.RankwiseError, match="same metrics and settings"):
        rw.Evaluator("mrr").merge(rw.Evaluator("map"))


def test_a_failed_update_leaves_the_evaluator_as_it_was():
    evaluator = rw.Evaluator("mrr", truth={1: {5}, 2: {6}}).update({1: [5]})
    with pytest.raises(rw.RankwiseError):
        evaluator.update({2: [6, 6]})
    assert evaluator.update({2: [6]}).result()["mrr"] == 1.0


def test_another_cutoff_does_not_change_the_last_digit():
    generator = random.Random(0)
    lists = {u: generator.sample(range(60), 40) for u in range(20)}
    truth = {
        u: {i: generator.randint(1, 5) for i in generator.sample(range(60), 25)} for u in range(20)
    }
    alone = rw.evaluate(lists, truth, "ndcg@30")["ndcg@30"]
    assert rw.evaluate(lists, truth, "ndcg@[3,7,30,40]")["ndcg@30"] == alone


def test_items_below_the_cutoff_change_nothing():
    truth = {1: {5, 9}, 2: {7}}
    short, long = {1: [5, 6], 2: [8, 7]}, {1: [5, 6, 9, 10], 2: [8, 7, 5]}
    cells = ["ndcg@2", "map@2", "gini@2", "precision@2", "tp@2"]
    catalogue = {"items": range(20)}
    assert (
        rw.evaluate(short, truth, cells, **catalogue).values
        == rw.evaluate(long, truth, cells, **catalogue).values
    )


def test_progress_goes_to_stderr_and_only_there(capsys):
    rw.evaluate({1: [2]}, {1: {2}}, "mrr", progress=True)
    assert capsys.readouterr() == ("", "")


def test_metrics_of_whole_lists_say_that_ties_are_in_order_of_id():
    lists, train = {"ann": [(7, 0.5), (9, 0.5), (8, 0.25)]}, {"x": [7, 9], "y": [7]}
    result = rw.evaluate(lists, {"ann": {7}}, ["arp@1", "recall@1"], train=train)
    assert (result["arp@1"], result["recall@1"]) == (2.0, 0.5)
    assert "2 rows with tied scores (in order of id for arp@1)" in " ".join(repr(result).split())
    for other in (
        rw.evaluate(lists, {"ann": {7}}, "recall@1"),
        rw.evaluate({"ann": [7, 9]}, {"ann": {7}}, "arp@1", train=train),
        rw.evaluate(lists, {"ann": {7}}, "arp@1", train=train, ties="item"),
    ):
        assert "in order of id" not in repr(other)


def test_a_piece_may_have_no_relevant_item():
    lists = {"ann": ["a", "b"], "bob": ["b", "a"]}
    truth = {"ann": {"a": 3}, "bob": {"a": 1}}
    whole = rw.evaluate(lists, truth, "ndcg@2", relevance_threshold=2)
    pieces = rw.Evaluator("ndcg@2", relevance_threshold=2)
    for user in lists:
        pieces.update({user: lists[user]}, {user: truth[user]})
    found = pieces.result()
    assert found.values == whole.values
    assert found.counts == whole.counts
