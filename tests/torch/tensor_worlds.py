"""Random evaluations as tensors, and what `rankwise.evaluate` makes of the same."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass

import numpy as np
import torch

import rankwise as rw
from rankwise.metrics import registry
from rankwise.torch import Collection
from strategies import World

DEVICE = os.environ.get("RANKWISE_TEST_DEVICE", "cpu")
"""Where tensors are evaluated: "cuda" runs these tests on a GPU."""

MORE = [
    "precision(denominator=length)@3",
    "recall@[1,2]",
    "map(normaliser=hits)@3",
    "dcg(gain=exponential)@3",
    "ndcg(gain=exponential)@[2,5]",
    "ndcg(ideal=full)@3",
    "ndcg(ideal=length)@3",
    "ndcg(ideal=uncut)@3",
    "ndcg(discount=rank,without_relevant=one)@3",
    "recall(without_relevant=zero)@2",
    "arhr(normaliser=hits)@3",
    "cg(denominator=length)@3",
    "err(max_relevance=4,decay=0.85)@3",
    "list_auc(pairs=graded)",
    "bpref(without_judged=undefined)",
    "bpref(negative_grades=unjudged)",
    "auc(seen=included)",
    "mrr",
    "ndcg",
    "rbp",
    "partial_auc(positives=top)@3",
    "efd(relevance=discounted)@3",
    "novelty(discount=log)@3",
    "serendipity(form=history)@3",
    "serendipity(form=history,similarity=features)@3",
    "ild(distance=jaccard)@3",
    "ild(distance=euclidean)@3",
    "ild(distance=hamming)@3",
    "ild(distance=cooccurrence)@3",
    "srecall(of=hits)@3",
    "srecall(of=hits,over=all)@3",
    "list_auc(one_class=by_class)@3",
    "gini(exposure=geometric)@3",
    "category_entropy(weight=geometric,smoothing=0.001)@3",
    "aplt(ratio_of=rarest_items)@3",
    "item_mad_rating(misses=zero)@3",
    "pop_rsp(denominator=available)@3",
    "overlap(denominator=union)@3",
    "ips_recall(propensity=given)@3",
    "bias_disparity(interactions=truth)@3",
]
SPECIAL = {"err": {"max_relevance": 4.0}}


def cell_of(cls):
    metric = cls(**SPECIAL.get(cls.name, {}))
    return str(metric if cls.cutoff == "none" else metric @ 3)


NEEDS_ALL_TRUTH = {"hole"}  # which batches do not have
EVERY = [
    *(cell_of(cls) for cls in registry.all_metrics() if cls.name not in NEEDS_ALL_TRUTH),
    *MORE,
]


@dataclass(frozen=True)
class Tensors:
    """The lists of a world as a score matrix, with the truth in the same order of users."""

    users: torch.Tensor
    scores: torch.Tensor
    truth: torch.Tensor

    @property
    def lists(self):
        return {
            user: {i: s for i, s in enumerate(row) if s > -np.inf}
            for user, row in zip(self.users.tolist(), self.scores.tolist(), strict=True)
        }


def tensors_of(world: World, *, ties: bool) -> Tensors:
    """Scores in (0, 1), with few distinct ones if they are to tie."""
    users = sorted({*world.lists, *world.truth})
    scores = torch.full((len(users), len(world.catalogue)), -torch.inf, dtype=torch.float64)
    truth = torch.full(scores.shape, torch.nan, dtype=torch.float64)
    for row, user in enumerate(users):
        for item, score in world.lists.get(user, {}).items():
            scores[row, item] = (score + 1 + (0 if ties else item / 50)) / 6
        for item, value in world.truth.get(user, {}).items():
            truth[row, item] = value
    return Tensors(torch.tensor(users), scores, truth)


def sparse(truth: torch.Tensor) -> torch.Tensor:
    """The ground truth as CSR: only so can an item be judged and have no relevance."""
    row, item = (~truth.isnan()).nonzero(as_tuple=True)
    edges = torch.cat([torch.zeros(1, dtype=torch.int64), (~truth.isnan()).sum(1).cumsum(0)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch calls its sparse tensors a beta, once
        return torch.sparse_csr_tensor(
            edges, item, truth[row, item], truth.shape, check_invariants=True
        )


def around(world: World) -> dict:
    """Facts as `Collection` takes them."""
    return world.around | {"n_items": len(world.catalogue)}


def collected(tensors, *args, batch=2, **options):
    """A collection that is updated with the users of each batch: all, unless a convention says who counts."""
    everyone = {} if "convention" in options else {"population": "all"}
    metrics = Collection(*args, **everyone | options).to(DEVICE)
    for first in range(0, len(tensors.users), batch):
        rows = slice(first, first + batch)
        scores, truth, users = (
            tensors.scores[rows],
            sparse(tensors.truth[rows]),
            tensors.users[rows],
        )
        metrics.update(scores.to(DEVICE), truth.to(DEVICE), users=users.to(DEVICE))
    return metrics


def evaluated(world: World, lists, metrics, **options):
    truth = {u: own for u, own in world.truth.items() if own}
    return rw.evaluate(lists, truth, metrics, **world.around, **options)


def differences(ours: rw.Result, theirs: rw.Result, tolerance: float = 1e-12) -> list:
    """Values, values of users and of groups that are not the same.

    Only powers differ from NumPy's, in their last digit.
    """
    found = []
    if list(ours.values) != list(theirs.values):
        found.append((list(ours.values), list(theirs.values)))
    for name, value in theirs.values.items():
        if not np.isclose(ours.values[name], value, rtol=tolerance, atol=0, equal_nan=True):
            found.append((name, ours.values[name], value))
    tables = [(r.per_user.sort("user") for r in (ours, theirs))]
    if theirs.slices is not None:
        tables.append(r.slices.sort("by", "group") for r in (ours, theirs))
    for mine, other in tables:
        for name in other.columns:
            a, b = mine[name].to_numpy(), other[name].to_numpy()
            if len(a) != len(b):
                found.append((name, len(a), len(b)))
            elif a.dtype.kind in "OU":
                found += [] if list(a) == list(b) else [(name, a, b)]
            elif not np.allclose(a, b, rtol=tolerance, atol=0, equal_nan=True):
                found.append((name, a, b))
    return found
