"""The same metrics on PyTorch tensors, under every tie rule."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from rankwise.blocks.block import Fact
from rankwise.blocks.encoded import blocks
from rankwise.evaluation.engine import prepare
from rankwise.evaluation.settings import Settings
from rankwise.metrics import registry
from rankwise.metrics.composite_kinds import Grouped
from rankwise.metrics.kinds import Catalogue, Pooled
from rankwise.tables.read import read_tables
from rankwise.tables.table import Tables
from strategies import fewer, worlds

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

MORE = [
    "precision(denominator=length)@3",
    "recall@[1,2]",
    "map(normaliser=hits)@3",
    "dcg(gain=exponential)@3",
    "ndcg(gain=exponential)@[2,5]",
    "ndcg(ideal=full)@3",
    "err(max_relevance=4)@3",
    "bpref(without_judged=undefined)",
    "auc(seen=included)",
    "partial_auc(positives=top)@3",
    "efd(relevance=discounted)@3",
    "novelty(discount=log)@3",
    "serendipity(form=history)@3",
    "serendipity(form=history,similarity=features)@3",
    "ild(distance=jaccard)@3",
    "ild(distance=euclidean)@3",
    "srecall(of=hits)@3",
    "pop_rsp(denominator=available)@3",
    "overlap(denominator=union)@3",
    "ips_recall(propensity=given)@3",
    "bias_disparity(interactions=truth)@3",
]
TIES = ("input", "expected", "item", "item_desc", "optimistic", "pessimistic")


def cell_of(cls):
    return str(cls() if cls.cutoff == "none" else cls() @ 3)


METRICS = [
    cell_of(cls)
    for cls in registry.all_metrics()
    if cls.name != "err" and not issubclass(cls, Grouped)
] + [str(rw.parse(name)) for name in MORE]


def to_torch(value):
    if isinstance(value, np.ndarray):
        return torch.tensor(value.copy())
    if isinstance(value, dict):
        return {key: to_torch(entry) for key, entry in value.items()}
    if is_dataclass(value) and not isinstance(value, Fact):
        named = {f.name: to_torch(getattr(value, f.name)) for f in fields(value) if f.init}
        return replace(value, **named)
    return value


def same(ours, theirs):
    assert isinstance(theirs, torch.Tensor)
    return np.allclose(ours, theirs.numpy(), rtol=1e-12, atol=1e-12, equal_nan=True)


@fewer(12)
@given(worlds(scores=True, judged=True), st.sampled_from(TIES), st.booleans())
def test_torch_agrees_with_numpy(world, ties, tied):
    step = {item: 0 if tied else number / 50 for item, number in world.place.items()}
    lists = {
        u: {i: (s + step[i] + 0.5) / 5 for i, s in items.items()}
        for u, items in world.lists.items()
    }
    asked = Settings.read(METRICS, {"ties": ties, "population": "all"})
    tables = read_tables(None, recommendations=lists, truth=world.truth, **world.around)
    job = prepare(asked, replace(tables, recommendations=None))
    for block in blocks(job.encoder.encode(Tables(recommendations=tables.recommendations))):
        ours, theirs = job.plan.block_values(block), job.plan.block_values(to_torch(block))
        assert ours.counts == theirs.counts
        for name, values in ours.columns.items():
            assert same(values, theirs.columns[name]), name
        for column, sums in ours.item_sums.items():
            assert same(sums, theirs.item_sums[column]), column
        for leaf in job.plan.leaves:
            if (
                isinstance(leaf, Pooled) and leaf.name != "reliability_curve"
            ):  # a table of bins, without a value
                sums = leaf.sums(block, leaf.ks[0])
                tensors = tuple(map(torch.from_numpy, sums))
                assert same(leaf.pool(sums, 20), leaf.pool(tensors, 20)), leaf
            elif isinstance(leaf, Catalogue):
                counts = np.array([3, 0, 1, 5])
                value = leaf.value_from_counts(torch.from_numpy(counts), 9)
                assert leaf.value_from_counts(counts, 9) == pytest.approx(value)
