"""Equal scores: every rule against going through all orders one by one."""

from __future__ import annotations

import math
from itertools import groupby, permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from strategies import evaluations, numbered_evaluations

NAMES = [
    "precision",
    "recall",
    "f",
    "hit_rate",
    "mrr",
    "map",
    "map(normaliser=relevant)",
    "mar",
    "mean_precision",
    "mean_recall",
    "r_precision",
    "arhr(normaliser=relevant)",
    "rbp(top_grade=none)",
    "cg",
    "cg(denominator=length)",
    "complete",
    "dcg(gain=exponential)",
    "ndcg",
    "ndcg(discount=rank)",
    "ndcg(ideal=length)",
    "ndcg(gain=exponential)",
    "ndcg_binary",
    "rbp",
    "err(max_relevance=4)",
    "efd",
    "epc(relevance=discounted)",
    "ips_recall",
    "snips_recall",
    "ips_dcg",
    "snips_dcg",
    "stratified_recall",
    "lauc(seen=included)",
    "ips(ndcg)",
    "snips(map)",
    "stratified(rbp)",
    "snips(of=dcg(gain=exponential))",
    "ips(lauc(seen=included))",
    "ips(partial_auc)",
    "snips(epc)",
]
AROUND = {
    "train": {1: [1, 2, 3], 2: [2, 3], 3: [3, 7], 4: [3, 2]},
    "items": {"item": range(12), "group": list("abcabcabcabc")},
}


def orders(scores):
    """All lists that the scores allow."""
    ranked = sorted(scores, key=lambda item: -scores[item])
    groups = [list(own) for _, own in groupby(ranked, key=lambda item: scores[item])]
    for arrangement in product(*(permutations(group) for group in groups)):
        yield [item for group in arrangement for item in group]


@given(numbered_evaluations(scores=True), st.integers(1, 6))
def test_expected_is_the_mean_over_all_orders(data, k):
    lists, truth = data
    lists = {user: dict(list(own.items())[:5]) for user, own in lists.items()}
    user = next(iter(lists))
    truth = {user: truth.get(user, {3: 1})}
    cells = [str(rw.parse(name) @ k) for name in NAMES]
    cells += [
        "r_precision",
        "list_auc",
        "list_auc(pairs=graded)",
        "gauc(seen=included)",
        f"reo@{k}",
        f"pop_reo(pop_ratio=0.5)@{k}",
    ]
    ours = rw.evaluate({user: lists[user]}, truth, cells, **AROUND)
    each = [
        rw.evaluate({user: order}, truth, cells, **AROUND).values for order in orders(lists[user])
    ]
    for cell in ours.values:
        if cell.startswith(("reo", "pop_reo")) and "[" not in cell:
            continue  # how unequal the rates are is not linear in them
        if math.isnan(ours.values[cell]):
            assert all(math.isnan(values[cell]) for values in each)
            continue
        mean = math.fsum(values[cell] for values in each) / len(each)
        assert ours[cell] == pytest.approx(mean, rel=1e-10, abs=1e-12), cell


@given(numbered_evaluations(scores=True), st.integers(1, 6))
def test_optimistic_and_pessimistic_are_the_ends(data, k):
    lists, truth = data
    lists = {user: dict(list(own.items())[:5]) for user, own in lists.items()}
    user = next(iter(lists))
    truth = {user: truth.get(user, {3: 1})}
    cells = [str(rw.parse(name) @ k) for name in ("recall", "mrr", "map", "ndcg", "rbp")]
    each = [rw.evaluate({user: order}, truth, cells).values for order in orders(lists[user])]
    best = rw.evaluate({user: lists[user]}, truth, cells, ties="optimistic")
    worst = rw.evaluate({user: lists[user]}, truth, cells, ties="pessimistic")
    for cell in cells:
        assert best[cell] == pytest.approx(max(values[cell] for values in each))
        assert worst[cell] == pytest.approx(min(values[cell] for values in each))


@pytest.mark.parametrize("ties", ["expected", "optimistic", "pessimistic"])
@given(data=numbered_evaluations(scores=True), k=st.integers(1, 4))
def test_tied_hits_below_all_cutoffs_change_nothing(ties, data, k):
    cells = [str(rw.parse(name) @ k) for name in NAMES] + [
        f"reo@{k}",
        f"pop_reo(pop_ratio=0.5)@{k}",
    ]
    alone = rw.evaluate(*data, cells, ties=ties, **AROUND)
    beside = rw.evaluate(
        *data, [*cells, "r_precision"], ties=ties, **AROUND
    )  # which reads whole lists
    assert alone.counts == beside.counts
    for cell, value in alone.values.items():
        assert value == pytest.approx(beside[cell], rel=1e-12, abs=1e-12, nan_ok=True), cell


def test_a_constant_model_comes_out_at_chance():
    lists = {user: dict.fromkeys(range(20), 0.5) for user in range(3)}
    truth = {0: {0}, 1: {19}, 2: {7, 8}}
    result = rw.evaluate(lists, truth, ["precision@5", "recall@5", "hit_rate@5"])
    assert result["precision@5"] == pytest.approx((1 + 1 + 2) / 20 / 3)
    assert result["recall@5"] == pytest.approx(5 / 20)
    assert result.per_user["hit_rate@5"][2] == pytest.approx(1 - (15 * 14) / (20 * 19))
    assert result.counts["tied_rows"] == 60
    assert result.provenance["settings"]["ties"] == "expected"


def test_a_constant_model_is_at_chance_in_everything_that_judges():
    """Every item tied, the whole catalogue listed: no item and no group has an advantage."""
    lists = {user: dict.fromkeys(range(12), 0.5) for user in range(4)}
    truth = {0: {0, 1}, 1: {11}, 2: {7, 8, 9}, 3: {2}}
    cells = ["auc", "gauc", "reo@4", "pop_reo(pop_ratio=0.5)@4", "snips_recall@4"]
    result = rw.evaluate(lists, truth, cells, **AROUND)
    assert result["gauc"] == pytest.approx(0.5)
    assert result["auc"] == pytest.approx(0.5)
    assert result["snips_recall@4"] == pytest.approx(4 / 12)
    assert result.table("reo@4")["value"].to_list() == pytest.approx([4 / 12] * 3)
    assert result["reo@4"] == pytest.approx(0, abs=1e-12)
    assert result["pop_reo(pop_ratio=0.5)@4"] == pytest.approx(0, abs=1e-12)


@given(evaluations(scores=True, judged=True), st.integers(1, 6))
def test_pairs_that_are_not_sums_over_hits(data, k):
    lists, truth = data
    user = next(user for user in lists if any(value > 0 for value in truth.get(user, {}).values()))
    own = {user: dict(list(lists[user].items())[:5])}
    cells = ["bpref", f"partial_auc@{k}"]
    own_truth = {user: truth[user]}
    each = [rw.evaluate({user: order}, own_truth, cells).values for order in orders(own[user])]
    for ties, ends in (("expected", None), ("optimistic", max), ("pessimistic", min)):
        ours = rw.evaluate(own, own_truth, cells, ties=ties)
        for cell in cells:
            found = [rw_values[cell] for rw_values in each]
            expected = ends(found) if ends else math.fsum(found) / len(found)
            assert ours[cell] == pytest.approx(expected, rel=1e-10, abs=1e-12), (cell, ties)


def test_item_orders_and_input_order():
    scores = {"u": [("b", 0.5), ("c", 0.5), ("a", 0.5)]}
    rank = {
        ties: 1 / rw.evaluate(scores, {"u": {"c"}}, "mrr", ties=ties)["mrr"]
        for ties in ("input", "item", "item_desc", "optimistic", "pessimistic")
    }
    assert rank == {"input": 2, "item": 3, "item_desc": 1, "optimistic": 1, "pessimistic": 3}


def test_ties_need_scores():
    with pytest.raises(rw.RankwiseError, match="needs lists that are ordered by score"):
        rw.evaluate({"u": [1, 2]}, {"u": {1}}, "mrr", ties="expected")


@given(evaluations(scores=True))
def test_a_monotone_transform_of_scores_changes_nothing(data):
    lists, truth = data
    cells = ["ndcg@3", "map@3", "mrr", "gini@2", "item_coverage@2"]
    moved = {u: {i: math.exp(s) - 100 for i, s in own.items()} for u, own in lists.items()}
    assert rw.evaluate(moved, truth, cells).values == pytest.approx(
        rw.evaluate(lists, truth, cells).values, nan_ok=True, rel=0, abs=0
    )
