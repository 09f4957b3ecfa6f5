"""Weights of relevant items over any metric that sums over them."""

from __future__ import annotations

import math
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from rankwise.errors import ParameterError, ScoreError
from rankwise.metrics import registry
from rankwise.metrics.kinds import PerUser, Pooled, Weightable
from strategies import fewer, worlds

ADDITIVE = [
    "recall",
    "recall(denominator=capped)",
    "precision",
    "map",
    "map(normaliser=hits)",
    "mar",
    "r_precision",
    "cg",
    "dcg",
    "ndcg",
    "ndcg(gain=exponential)",
    "ndcg_binary",
    "rbp",
    "efd",
    "epc",
    "bpref",
    "partial_auc",
    "partial_auc(positives=top)",
    "auc",
    "gauc",
    "lauc",
    "arhr",
    "ncrr",
    "rbp(normaliser=ideal)",
    "map(normaliser=min_length)",
    "lrap",
    "dcg(discount=log)",
    "rbp(max_relevance=9)",
]


def at(name, k, wrapper):
    of = rw.parse(name)
    metric = wrapper(of=of)
    return str(metric if of.cutoff == "none" else metric @ k)


def test_every_sum_is_tried():
    sums = {cls.name for cls in registry.all_metrics() if issubclass(cls, Weightable)}
    assert {rw.parse(name).name for name in ADDITIVE} == sums
    assert all(issubclass(registry.find(name), PerUser | Pooled) for name in sums)


@fewer(12)
@given(worlds(scores=True, judged=True), st.integers(1, 5))
def test_equal_weights_change_nothing(world, k):
    other = next(user for user in world.user_groups if user not in {*world.lists, *world.truth})
    train = {other: world.catalogue}  # every item once
    options = {"train": train, "items": world.catalogue, "population": "all"}
    weighted = {}
    for name in ADDITIVE:
        plain = str(rw.parse(name) if rw.parse(name).cutoff == "none" else rw.parse(name) @ k)
        weighted[plain] = [at(name, k, wrapper) for wrapper in (rw.IPS, rw.SNIPS, rw.Stratified)]
    result = rw.evaluate(
        world.lists, world.truth, [*weighted, *chain(*weighted.values())], **options
    )
    for plain, cells in weighted.items():
        for cell in cells:
            assert result[cell] == pytest.approx(
                result[plain], rel=1e-12, abs=1e-12, nan_ok=True
            ), cell
            assert result.per_user[cell].to_list() == pytest.approx(
                result.per_user[plain].to_list(), rel=1e-12, abs=1e-12, nan_ok=True
            )


@given(worlds(scores=True, judged=True), st.integers(1, 5))
def test_the_named_metrics_are_weighted_sums(world, k):
    pairs = {
        f"ips_recall@{k}": f"ips@{k}",
        f"snips_recall@{k}": f"snips(recall)@{k}",
        f"stratified_recall(gamma=2.0)@{k}": f"stratified(of=recall,gamma=2.0)@{k}",
        f"ips_dcg@{k}": f"ips(dcg(gain=binary))@{k}",
        f"snips_dcg@{k}": f"snips(dcg(gain=binary))@{k}",
    }
    result = rw.evaluate(
        world.lists, world.truth, [*pairs, *pairs.values()], population="all", **world.around
    )
    for named, weighted in ((str(rw.parse(a)), str(rw.parse(b))) for a, b in pairs.items()):
        ours, theirs = result.per_user[weighted].to_list(), result.per_user[named].to_list()
        if named.startswith("snips_dcg"):  # an average over relevant items, not their sum
            counts = result.per_user["n_relevant"].to_list()
            theirs = [value * n for value, n in zip(theirs, counts, strict=True)]
        assert ours == pytest.approx(theirs, rel=1e-11, abs=1e-12, nan_ok=True)


def test_users_by_the_weight_of_their_relevant_items():
    train = {1: [7, 8], 2: [7], 3: [7], 4: [7]}  # weights: 7 one half, 8 one
    lists, truth = {1: [7], 2: [9]}, {1: {7}, 2: {8}}
    cells = ["stratified(recall)@1", "stratified(of=recall,average=weights)@1"]
    result = rw.evaluate(lists, truth, cells, train=train)
    assert result[cells[0]] == 0.5
    assert result[cells[1]] == pytest.approx(0.5 / 1.5)


def test_users_of_a_weighted_mean_count_by_their_total_weights():
    """Weights are 2 and 4 for the first user, 1 for the second."""
    items = {"item": [0, 1, 2, 3, 4], "propensity": [0.5, 0.25, 1.0, 1.0, 1.0]}
    lists, truth = {1: [0, 3, 1, 4, 2], 2: [3, 4, 2, 0, 1]}, {1: {0, 1}, 2: {2}}
    name = "snips(of=auc,propensity=given)"
    result = rw.evaluate(lists, truth, name, items=items, train={3: [0]})
    first, second = result.per_user[name].to_list()
    assert (first, second) == pytest.approx(((2 * 1 + 4 * 2 / 3) / 6, 0.5))
    assert result[name] == pytest.approx((6 * first + 1 * second) / 7)


def test_one_sum_of_weights_over_all_users():
    """Weights are 2, 4 and 1 for the first user, of whom 2 and 4 are hits, and 4 and 1 for the second: 1 is a hit."""
    items = {"item": [0, 1, 2, 3], "propensity": [0.5, 0.25, 1.0, 1.0]}
    lists, truth = {1: [0, 1], 2: [3, 2]}, {1: {0, 1, 2}, 2: {1, 2}}
    cells = [
        f"{name},propensity=given,average=weights)@2"
        for name in ("snips(of=recall", "snips(of=ndcg")
    ]
    result = rw.evaluate(lists, truth, cells, items=items, jackknife=2)
    assert result[cells[0]] == pytest.approx((2 + 4 + 1) / (7 + 5))
    second = 1 / math.log2(3)
    ideal = 1 + second
    users = (3 / 7 * (2 * 1 + 4 * second) / ideal, 2 / 5 * 1 * second / ideal)
    assert result[cells[1]] == pytest.approx((7 * users[0] + 5 * users[1]) / (7 + 5))
    assert result.interval(cells[0]).method == "jackknife"


def test_what_the_weights_rest_on():
    train = {user: [0] for user in range(99)} | {99: [0, 1]}
    truth = {1: {0, 1}, 2: {0}, 3: {0}}
    name = "snips(of=ndcg,clip=0.2)"
    result = rw.evaluate({1: [0]}, truth, f"{name}@1", train=train)
    said = result.diagnostics[str(rw.parse(name))]
    assert said["relevant_items"] == 4
    assert said["effective_sample_size"] == pytest.approx((3 + 5) ** 2 / (3 + 25))
    assert said["largest_weight_share"] == pytest.approx(5 / 8)
    assert said["clip"] == 0.2
    assert said["clipped_share"] == 0.25
    assert "effective sample size" in repr(result)


def test_items_at_the_clip_are_not_clipped():
    items = {"item": [0, 1, 2, 3], "propensity": [0.1, 0.25, 0.5, 1.0]}
    name = "ips(of=recall,propensity=given,clip=0.25)"
    said = rw.evaluate({1: [0]}, {1: {0, 1, 2, 3}}, f"{name}@1", items=items).diagnostics[
        str(rw.parse(name))
    ]
    assert said["clipped_share"] == 0.25


def test_given_propensities():
    items = {"item": [0, 1], "propensity": [0.5, 0.25]}
    name = "ips(of=recall,propensity=given)@2"
    assert rw.evaluate({1: [0, 1]}, {1: {0, 1}}, name, items=items)[name] == 3.0
    for odd in (0.0, -0.1, 1.5, math.nan):
        with pytest.raises(ScoreError):
            rw.evaluate(
                {1: [0, 1]}, {1: {0, 1}}, name, items={"item": [0, 1], "propensity": [0.5, odd]}
            )


@pytest.mark.parametrize(
    "text",
    [
        "ips(mrr)",
        "ips(hit_rate)",
        "ips(gini)",
        "snips(f)",
        "stratified(of=recall,gamma=-1)",
        "ips(of=recall,power=-1)",
        "ips(of=recall@5)",
        "snips(auc)@5",
    ],
)
def test_bad_parameters(text):
    with pytest.raises(ParameterError):
        rw.parse(text)
