"""What metrics declare to read: blocks hold that, and raise for all else."""

from __future__ import annotations

import re

import pytest

import rankwise as rw
from rankwise.blocks.block import POPULARITY
from rankwise.errors import MetricError
from rankwise.metrics.base import metric
from rankwise.metrics.inputs import HistoryCount, Inputs, RecommendationCount
from rankwise.metrics.kinds import PerUser

READS = {
    "block.judged": ("the rows 'judged'", "judged"),
    "block.recommended": ("the rows 'recommended'", "recommended"),
    "block.relevant": ("the rows 'relevant'", "relevant"),
    "block.history": ("the rows 'history'", "history"),
    "block.overlap_history": ("the rows 'overlap_history'", "overlap_history"),
    "block.overlap_reference": ("the rows 'overlap_reference'", "overlap_reference"),
    "block.sum_ideal(block.xp.ones_like, block.xp.ones_like, 1)": ("the rows 'ideal'", "ideal"),
    "block.n_items": ("the number of items", "catalogue"),
    "block[POPULARITY]": ("the fact popularity", POPULARITY),
}


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("ids", [int, str])
def test_what_is_not_declared_cannot_be_read(own_metrics, read, ids):
    """A metric that forgets an input gives an error, never another number."""
    what, declared = READS[read]

    def value(self, block, k):
        found = eval(read, {"block": block, "POPULARITY": POPULARITY})
        assert found is not None
        return block.xp.zeros_like(block.list_length)

    for name, inputs in (("forgets", ()), ("declares", (declared,))):
        cls = type(name, (PerUser,), {"value": value, "inputs": inputs})
        metric(name, range=(0, 1), higher_is_better=True)(cls)
    item = ids(3)
    around = {"train": {"ann": [item]}, "reference": {"ann": [item]}}
    lists, truth = {"ann": [item]}, {"ann": {item: 2}}
    assert rw.evaluate(lists, truth, "declares", **around)["declares"] == 0.0
    with pytest.raises(MetricError, match=re.escape(f"reads {what} of a block")):
        rw.evaluate(lists, truth, "forgets", **around)


def test_inputs_are_sorted_by_who_provides_them():
    inputs = Inputs.of(("judged", POPULARITY, RecommendationCount(), HistoryCount(), POPULARITY))
    assert inputs.rows == {"judged", "recommended", "history"}
    assert [str(fact) for fact in inputs.facts] == ["popularity", "history"]
    assert inputs.item_sums == (RecommendationCount(), HistoryCount())
    assert inputs.catalogue == "counted"
    assert Inputs.of(("whole_catalogue",)).catalogue == "whole"
    assert Inputs.of(()).catalogue == ""
