"""The same measures on PyTorch tensors."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest
from hypothesis import given

import rankwise as rw
from rankwise.core.block import Block
from rankwise.measures.kinds import Catalogue, Composed, PerUser, Pooled
from rankwise.measures.parsing import parse_all
from rankwise.measures.plan import Plan
from strategies import evaluations

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

MEASURES = ["precision@3", "precision(denominator=length)@3", "recall@[1,3]", "hit_rate@3", "mrr",
            "map@3", "map(normaliser=hits)@3", "mar@3", "cg@3", "dcg(gain=exponential)@3",
            "ndcg@[2,5]", "ndcg(gain=exponential)@3", "ndcg(ideal=full)@3", "ndcg_binary@3",
            "r_precision", "rbp", "err(max_relevance=4)@3", "tp@3", "fp@3", "fn@3", "tn@3",
            "user_coverage@3", "num_retrieved@3", "user_coverage_at_n@2", "rmse", "mae", "r2",
            "explained_variance", "fcp", "log_loss", "gini@3", "shannon_entropy@3",
            "item_coverage@3", "catalog_coverage@3"]  # fmt: skip


def to_torch(value):
    if isinstance(value, np.ndarray):
        return torch.tensor(value.copy())
    if is_dataclass(value):
        named = {f.name: to_torch(getattr(value, f.name)) for f in fields(value)}
        if isinstance(value, Block):
            named["_rows"] = {}
        return replace(value, **named)
    return value


def same(ours, theirs):
    return np.allclose(ours, theirs.numpy(), rtol=1e-12, atol=1e-12, equal_nan=True)


@given(evaluations(scores=True))
def test_torch_agrees_with_numpy(data):
    lists, truth = data
    lists = {u: {i: (s + i / 50) / 4 for i, s in own.items()} for u, own in lists.items()}
    blocks: list[Block] = []
    original = Plan.columns

    def spy(self, block):
        blocks.append(block)
        return original(self, block)

    Plan.columns = spy
    try:
        rw.evaluate(lists, truth, MEASURES, ties="input", population="all", threads=1)
    finally:
        Plan.columns = original
    k_of = lambda leaf, xp: xp.asarray(leaf.ks)  # noqa: E731
    for block in blocks:
        twin = to_torch(block)
        for leaf in parse_all(MEASURES):
            assert not isinstance(leaf, Composed)
            k, k_torch = k_of(leaf, np), torch.tensor(leaf.ks)
            if isinstance(leaf, PerUser):
                assert same(leaf.values(block, k), leaf.values(twin, k_torch)), leaf
            elif isinstance(leaf, Pooled):
                sums = leaf.sums(block, k)
                assert same(sums, leaf.sums(twin, k_torch)), leaf
                assert same(leaf.pool(sums, 20), leaf.pool(torch.from_numpy(sums), 20)), leaf
            elif isinstance(leaf, Catalogue):
                counts = np.array([3, 0, 1, 5])
                ours = leaf.of_counts(counts, 9)
                assert ours == pytest.approx(leaf.of_counts(torch.from_numpy(counts), 9))
