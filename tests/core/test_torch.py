"""The same measures on PyTorch tensors."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings

import rankwise as rw
from rankwise.core.block import Block
from rankwise.core.facts import Fact
from rankwise.measures import registry
from rankwise.measures.kinds import Catalogue, Composed, Grouped, PerUser, Pooled
from rankwise.measures.parsing import parse_all
from rankwise.measures.plan import Plan
from strategies import worlds

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

MORE = ["precision(denominator=length)@3", "recall@[1,2]", "map(normaliser=hits)@3",
        "dcg(gain=exponential)@3", "ndcg(gain=exponential)@[2,5]", "ndcg(ideal=full)@3",
        "err(max_relevance=4)@3", "bpref(without_judged=undefined)", "auc(seen=included)",
        "partial_auc(positives=top)@3", "efd(relevance=discounted)@3", "novelty(discount=log)@3",
        "serendipity(form=history)@3", "serendipity(form=history,similarity=features)@3",
        "ild(distance=jaccard)@3", "ild(distance=euclidean)@3", "srecall(of=hits)@3",
        "pop_rsp(denominator=available)@3", "overlap(denominator=union)@3",
        "ips_recall(propensity=given)@3", "bias_disparity(interactions=truth)@3"]  # fmt: skip


def cell_of(cls):
    return str(cls() if cls.cutoff == "none" else cls() @ 3)


MEASURES = [
    cell_of(cls) for cls in registry.every() if cls.name != "err" and not issubclass(cls, Grouped)
] + [str(rw.parse(name)) for name in MORE]


def to_torch(value):
    if isinstance(value, np.ndarray):
        return torch.tensor(value.copy())
    if isinstance(value, dict):
        return {key: to_torch(own) for key, own in value.items()}
    if is_dataclass(value) and not isinstance(value, Fact):
        named = {f.name: to_torch(getattr(value, f.name)) for f in fields(value)}
        if isinstance(value, Block):
            named["_rows"] = {}
        return replace(value, **named)
    return value


def same(ours, theirs):
    return np.allclose(ours, theirs.numpy(), rtol=1e-12, atol=1e-12, equal_nan=True)


@settings(max_examples=40)
@given(worlds(scores=True, judged=True))
def test_torch_agrees_with_numpy(world):
    lists = {u: {i: (s + i / 50) / 4 for i, s in own.items()} for u, own in world.lists.items()}
    blocks: list[Block] = []
    original = Plan.columns

    def spy(self, block):
        blocks.append(block)
        return original(self, block)

    Plan.columns = spy
    try:
        rw.evaluate(
            lists, world.truth, MEASURES, ties="input", population="all", threads=1, **world.around
        )
    finally:
        Plan.columns = original
    for block in blocks:
        twin = to_torch(block)
        for leaf in Plan(parse_all(MEASURES)).leaves:
            assert not isinstance(leaf, Composed)
            k, k_torch = np.asarray(leaf.ks), torch.tensor(leaf.ks)
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
            for tally in leaf.tallies:
                theirs = tally.sums(twin, 3)
                for part, sums in tally.sums(block, 3).items():
                    assert same(sums, theirs[part]), (leaf, tally, part)
