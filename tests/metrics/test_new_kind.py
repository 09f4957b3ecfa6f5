"""A kind of metric that the package does not have: one class is enough for every engine and output."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
import pytest

import rankwise as rw
from rankwise.core.arrays import SortedValues
from rankwise.metrics.base import Metric, metric
from rankwise.metrics.description import describe
from rankwise.metrics.states import CellValues

CELL, PART = "trimmed_hits@3", "complement(trimmed_hits)@3"
HITS = (0, 3, 1, 2, 2, 0, 1, 3, 1, 2, 3, 0)
LISTS = {user: [0, 1, 2] for user in range(len(HITS))}
TRUTH = {user: {*range(hits), 9} for user, hits in enumerate(HITS)}
USERS = pl.DataFrame({"user": [*LISTS], "group": ["x" if user < 5 else "y" for user in LISTS]})


@dataclass(frozen=True, kw_only=True, repr=False)
class TrimmedMean(Metric):
    """The mean of users' values without the smallest and the largest."""

    value_kind = "distribution"
    has_user_values = True
    jackknife_caveat = "trimmed"

    def columns(self, block, rule):
        return {cell: self.value(block, k) for cell, k in zip(self.cells, self.ks, strict=True)}

    def user_values(self, users, at):
        return users.column(self.cells[at])

    def reduce(self, users):
        values = [
            users.mask_population(self.user_values(users, at)) for at in range(len(self.cells))
        ]
        return {cell: (SortedValues((own,)),) for cell, own in zip(self.cells, values, strict=True)}

    def finalise(self, aggregates, at):
        (values,) = aggregates.users.cells[self.cells[at]]
        return CellValues(trimmed(values.ascending))


def trimmed(values):
    return float(np.mean(np.sort(values)[1:-1]))


@pytest.fixture(scope="module", autouse=True)
def trimmed_hits(own_metrics_of_module):
    """A metric of the new kind in the registry: the number of hits."""

    @metric("trimmed_hits", range=(0, np.inf), higher_is_better=True, family="accuracy")
    class TrimmedHits(TrimmedMean):
        """Trimmed mean of the number of hits."""

        def value(self, block, k):
            return block.sum_hits(block.hits.probability, k)


def evaluated(**options):
    return rw.evaluate(LISTS, TRUTH, [CELL, PART, "quantile(of=trimmed_hits,q=0.5)@3"], **options)


def test_it_is_evaluated_alone_and_as_a_part():
    result = evaluated()
    assert result[CELL] == trimmed(HITS)
    assert result.per_user[CELL].to_list() == [*HITS]
    assert result[str(rw.parse(PART))] == pytest.approx(1 - np.mean(HITS))
    assert result["quantile(of=trimmed_hits,q=0.5)@3"] == np.median(HITS)
    assert result.kinds[CELL] == "distribution"


def test_its_description_names_no_plain_definition():
    assert describe("trimmed_hits").plain == ""


def test_its_gap_between_groups_of_users():
    name = "group_gap(metric=trimmed_hits)@3"
    gap = rw.evaluate(LISTS, TRUTH, name, users=USERS)
    assert gap[name] == pytest.approx(abs(np.mean(HITS[:5]) - np.mean(HITS[5:])))


def test_slices():
    slices = evaluated(users=USERS, by="group").slices
    assert dict(slices.select("group", CELL).iter_rows()) == {
        "x": trimmed(HITS[:5]),
        "y": trimmed(HITS[5:]),
    }


def test_the_jackknife_leaves_each_user_out():
    result = evaluated(jackknife=len(HITS))
    without = [trimmed([*HITS[:user], *HITS[user + 1 :]]) for user in range(len(HITS))]
    assert sorted(result.replicates[CELL]) == pytest.approx(sorted(without))
    interval = result.interval(CELL)
    assert interval.low < trimmed(HITS) < interval.high
    assert "trimmed" in interval.flags


def test_pieces_in_any_order():
    pieces = [
        rw.Evaluator([CELL], truth=TRUTH).update({u: LISTS[u] for u in LISTS if u % 3 == n})
        for n in (2, 0, 1)
    ]
    first, *rest = pieces
    assert first.merge(*rest).result()[CELL] == trimmed(HITS)


def test_tensors():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    pytest.importorskip("torchmetrics", reason="TorchMetrics is not installed")
    from rankwise.torch import MetricModule

    lists = torch.tensor([*LISTS.values()])
    relevant = torch.zeros((len(HITS), 10), dtype=torch.bool)
    for user, items in TRUTH.items():
        relevant[user, [*items]] = True
    module = MetricModule(CELL)
    for half in (slice(0, 7), slice(7, None)):
        module.update(lists[half], relevant[half])
    assert module.compute().item() == pytest.approx(trimmed(HITS))
