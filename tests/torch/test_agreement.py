"""Every metric on tensors, by every road, against `rankwise.evaluate`: the same bits."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from rankwise.core.populations import PopulationName
from rankwise.errors import EmptyError
from strategies import examples, fewer, numbered_worlds

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("torchmetrics", reason="TorchMetrics is not installed")

from tensor_worlds import (  # noqa: E402
    DEVICE,
    EVERY,
    around,
    collected,
    differences,
    evaluated,
    sparse,
    tensors_of,
)

from rankwise.torch import Collection  # noqa: E402

TIES = ("input", "expected", "item", "item_desc", "optimistic", "pessimistic")
SCORED = numbered_worlds(scores=True, judged=True)


@fewer(6)
@given(SCORED, st.sampled_from(TIES), st.booleans(), st.integers(1, 4))
def test_scores_like_lists(world, ties, tied, batch):
    tensors = tensors_of(world, ties=tied)
    metrics = collected(
        tensors, EVERY, batch=batch, ties=ties, list_length=12, by="group", **around(world)
    )
    lists = {user: own for user, own in tensors.lists.items() if own}
    theirs = evaluated(world, lists, EVERY, ties=ties, population="all", by="group")
    assert not differences(metrics.result(), theirs)


@examples(12)
@given(
    SCORED,
    st.sampled_from(get_args(PopulationName)),
    st.sampled_from(["skip", "zero", "nan"]),
    st.sampled_from([None, 2]),
    st.sampled_from(["skip", "zero"]),
)
def test_who_is_evaluated(world, population, undefined, threshold, without_list):
    names = [
        "ndcg@3",
        "tn@3",
        "novelty@3",
        "gini@3",
        "rmse",
        "ild(distance=jaccard)@3",
        "serendipity(form=history,similarity=features)@3",
    ]
    rules = {
        "population": population,
        "undefined": undefined,
        "relevance_threshold": threshold,
        "without_list": without_list,
    }
    tensors = tensors_of(world, ties=False)
    lists = {user: own for user, own in tensors.lists.items() if own}
    try:
        theirs = evaluated(world, lists, names, **rules)
    except EmptyError:
        return
    metrics = collected(tensors, names, list_length=12, **rules, **around(world))
    assert not differences(metrics.result(), theirs)


@examples(12)
@given(SCORED, st.integers(1, 4))
def test_groups_of_training_users(world, batch):
    names = ["ndcg@3", "novelty@3", "gini@3", "reo@3"]
    tensors = tensors_of(world, ties=False)
    by = ["activity", "popularity"]
    lists = {user: own for user, own in tensors.lists.items() if own}
    metrics = collected(tensors, names, list_length=12, by=by, batch=batch, **around(world))
    result = metrics.result()
    theirs = evaluated(world, lists, names, by=by, population="all")
    assert not differences(result, theirs)
    assert result.slices.select("by", "group").equals(
        theirs.slices.select("by", "group"), null_equal=True
    )
    assert result.provenance["groups"] == theirs.provenance["groups"]


SHALLOW = [name for name in EVERY if "@" in name and not rw.parse(name).reads_below_k]


@fewer(6)
@given(SCORED, st.sampled_from(["expected", "item", "item_desc"]), st.booleans())
def test_scores_cut_at_k(world, ties, tied):
    tensors = tensors_of(world, ties=tied)
    metrics = collected(tensors, SHALLOW, ties=ties, **around(world))
    ranking = rw.rank(
        tensors.scores.numpy(), metrics.spec.depth, user_ids=tensors.users.tolist(), ties=ties
    )
    theirs = evaluated(world, ranking, SHALLOW, population="all")
    assert not differences(metrics.result(), theirs)


def test_items_in_a_list_that_tie_with_its_last_keep_their_place():
    """Of 30 items four scores: each list ends inside a tie, and metrics read judged items of the list."""
    rng = np.random.default_rng(8)
    scores, truth = rng.integers(0, 4, (40, 30)) * 1.0, rng.integers(-1, 2, (40, 30)) * 1.0
    truth[rng.random((40, 30)) < 0.7] = np.nan
    names = ["iprec@3", "judged@3", "ndcg@3"]
    metrics = Collection(names, ties="expected", n_items=30).to(DEVICE)
    tensors = torch.tensor(scores), sparse(torch.tensor(truth)), torch.arange(40)
    metrics.update(*(x.to(DEVICE) for x in tensors[:2]), users=tensors[2].to(DEVICE))
    judged = {
        user: {i: row[i] for i in np.flatnonzero(~np.isnan(row))} for user, row in enumerate(truth)
    }
    theirs = rw.evaluate(rw.rank(scores, 3, ties="expected"), judged, names)
    assert theirs["iprec@3"] > 0.05
    assert not differences(metrics.result(), theirs)


@examples(12)
@given(SCORED, st.sampled_from(["expected", "optimistic", "pessimistic"]), st.booleans())
def test_complete_rankings(world, ties, tied):
    tensors = tensors_of(world, ties=tied)
    names = [
        "auc",
        "gauc",
        "lauc@3",
        "mrr",
        "ndcg",
        "map",
        "recall@5",
        "rmse",
        "bpref",
        "fcp",
        "xauc",
        "xauc(average=rows)",
        "partial_auc@3",
        "r_precision",
        "err(max_relevance=4)",
        "ips(of=auc)",
    ]
    metrics = collected(tensors, names, ties=ties, population="truth", **around(world))
    truth = {u: own for u, own in world.truth.items() if own}
    ranks = rw.rank_relevant(tensors.scores.numpy(), truth=truth, user_ids=tensors.users.tolist())
    theirs = rw.evaluate(ranks, truth, names, ties=ties, **world.around)
    assert not differences(metrics.result(), theirs)


@fewer(6)
@given(SCORED, st.sampled_from(TIES), st.booleans())
def test_lists_of_complete_rankings(world, ties, tied):
    """Where every candidate is ranked, lists are complete: also for metrics with a cut-off."""
    tensors = tensors_of(world, ties=tied)
    names = [n for n in EVERY if not rw.parse(n).counts_candidates]
    metrics = collected(tensors, names, ties=ties, **around(world))
    assert metrics.spec.is_complete
    lists = {user: own for user, own in tensors.lists.items() if own}
    theirs = evaluated(world, lists, names, ties=ties, population="all")
    assert not differences(metrics.result(), theirs)


@pytest.mark.slow
@fewer(6)
@given(numbered_worlds(judged=True), st.integers(1, 3))
def test_ready_lists(world, batch):
    names = [n for n in EVERY if "scores" not in rw.parse(n).reads.rows]
    names = [n for n in names if not any("scores" in p.reads.rows for p in rw.parse(n).parts)]
    users = sorted({*world.lists, *world.truth})
    width = max(map(len, world.lists.values()))
    lists = torch.tensor(
        [[*world.lists.get(u, []), *[-1] * (width - len(world.lists.get(u, [])))] for u in users]
    )
    full = tensors_of(replace(world, lists={u: {} for u in world.lists}), ties=False).truth
    metrics = Collection(names, population="all", **around(world)).to(DEVICE)
    for first in range(0, len(users), batch):
        rows = slice(first, first + batch)
        truth, of_users = sparse(full[rows]).to(DEVICE), torch.tensor(users[rows], device=DEVICE)
        metrics.update(lists[rows].to(DEVICE), truth, users=of_users)
    theirs = evaluated(world, world.lists, names, population="all")
    assert not differences(metrics.result(), theirs)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("kind", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_ties_follow_the_rule_at_every_precision(kind, ties):
    """Scores that are equal at a precision tie there, and the rule decides, not the hardware."""
    generator = torch.Generator().manual_seed(3)
    scores = torch.randn((40, 60), generator=generator).to(kind)
    truth = (torch.rand((40, 60), generator=generator) < 0.1).double()
    names = ["ndcg@[3,10]", "recall@10", "mrr", "gauc(seen=included)", "gini@5", "coverage@5"]
    metrics = Collection(names[:3], ties=ties).to(DEVICE)
    metrics.update(scores.to(DEVICE), truth.to(DEVICE))
    lists = {u: dict(enumerate(row)) for u, row in enumerate(scores.double().tolist())}
    own = {u: {i: 1.0 for i, v in enumerate(row) if v} for u, row in enumerate(truth.tolist())}
    theirs = rw.evaluate(lists, {u: v for u, v in own.items() if v}, names[:3], ties=ties)
    assert not differences(metrics.result(), theirs)


def test_values_come_as_scalars_of_both_kinds():
    metrics = Collection(["recall@1", "gini@1"], n_items=3).to(DEVICE)
    metrics.update(torch.tensor([[0.3, 0.2, 0.1]], device=DEVICE), torch.tensor([0], device=DEVICE))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        values = metrics.compute()
    assert {name: v.item() for name, v in values.items()} == {"recall@1": 1.0, "gini@1": 1.0}
    assert all(value.ndim == 0 for value in values.values())
    assert metrics.per_user()["recall@1"].to_list() == [1.0]


@pytest.mark.parametrize("level", [i / 10 for i in range(11)])
def test_levels_of_recall_are_rounded_in_64_bits(level):
    """0.7 * 3 + 0.9 is below 3 in 64 bits, and 3 in the 32 bits of a count times a Python number."""
    scores = torch.arange(8, 0, -1, dtype=torch.float64).expand(8, 8)
    truth = torch.ones(8, 8, dtype=torch.float64).tril()  # 1 to 8 relevant items
    name = f"iprec(level={level},rounding=trec_eval)@2"
    metrics = Collection(name).to(DEVICE)
    metrics.update(scores.to(DEVICE), truth.to(DEVICE))
    lists = {user: dict(enumerate(row)) for user, row in enumerate(scores.tolist())}
    relevant = {user: set(range(user + 1)) for user in range(8)}
    assert (
        metrics.result().per_user[name].to_list()
        == rw.evaluate(lists, relevant, name).per_user[name].to_list()
    )
