"""Side information that the package does not have: its values and one reader are enough on every road."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pytest

import rankwise as rw
from rankwise.blocks.block import Fact
from rankwise.core.digests import column_words
from rankwise.encoding.side_information import READERS, Reader
from rankwise.errors import MetricError, ParameterError
from rankwise.metrics import PerUser
from rankwise.metrics.base import metric

LISTS = {"ann": [4, 2, 7], "bob": [2, 9], "cy": [5]}
TRUTH = {"ann": {2, 7}, "bob": {9}, "cy": {1}}
ITEMS = pl.DataFrame({"item": [1, 2, 4, 5, 7, 9], "price": [1.0, 2.5, 4.0, 8.0, 16.0, 0.5]})
REVENUE = {"ann": 2.5 + 16.0, "bob": 0.5, "cy": 0.0}
CELL = "revenue@3"


@dataclass(frozen=True)
class Prices:
    """The price of every item."""

    amount: Any


PRICES: Fact[Prices] = Fact("price", "price")


@pytest.fixture(scope="module", autouse=True)
def revenue(own_metrics_of_module):
    """A metric that reads prices, and the reader of prices."""

    class PriceReader(Reader, kind="price"):
        noun = column = "price"

        def compute(self, side, fact, target):
            table, (name,) = side.tables["items"], side.columns_of[fact].names
            row = target.rows(table, table.frame["item"], "item")
            return Prices(np.where(row >= 0, table.frame[name].to_numpy()[row], 0.0))

        def words(self, side, fact):
            return [column_words(side.tables["items"].frame[side.columns_of[fact].names[0]])]

    @metric("revenue", range=(0, np.inf), higher_is_better=True, family="accuracy")
    class Revenue(PerUser):
        """What the hits cost."""

        inputs = (PRICES,)

        def value(self, block, k):
            return block.sum_hits(block[PRICES].amount[block.hits.item], k)

    yield
    del READERS["price"]


def test_it_is_known_by_item_in_every_piece():
    result = rw.evaluate(LISTS, TRUTH, CELL, items=ITEMS)
    assert dict(result.per_user.select("user", CELL).iter_rows()) == REVENUE
    assert result.provenance["facts"] == {"price(price)": "column 'price'"}
    pieces = [
        rw.Evaluator([CELL], truth=TRUTH, items=ITEMS).update({user: LISTS[user]}) for user in LISTS
    ]
    assert pieces[2].merge(pieces[0], pieces[1]).result()[CELL] == result[CELL]


def test_a_missing_table_and_a_missing_column_are_named():
    with pytest.raises(MetricError, match="revenue@3 needs a table of items with their price"):
        rw.evaluate(LISTS, TRUTH, CELL)
    with pytest.raises(MetricError, match="revenue@3 needs the price of items"):
        rw.evaluate(LISTS, TRUTH, CELL, items=ITEMS.rename({"price": "cost"}))


def test_results_of_other_prices_are_not_compared():
    cheap, dear = (
        rw.evaluate(LISTS, TRUTH, CELL, items=ITEMS.with_columns(pl.col("price") * x))
        for x in (1, 2)
    )
    with pytest.raises(ParameterError, match="columns of price"):
        rw.compare({"cheap": cheap, "dear": dear})


def test_tensors():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    pytest.importorskip("torchmetrics", reason="TorchMetrics is not installed")
    from rankwise.torch import MetricModule

    amounts = torch.zeros(10, dtype=torch.float64)
    amounts[torch.from_numpy(ITEMS["item"].to_numpy(writable=True))] = torch.from_numpy(
        ITEMS["price"].to_numpy(writable=True)
    )
    module = MetricModule(CELL, items={"price": amounts}, n_items=10)
    relevant = torch.zeros((2, 10), dtype=torch.bool)
    relevant[0, [2, 7]] = relevant[1, 9] = True
    module.update(torch.tensor([[4, 2, 7], [2, 9, 5]]), relevant)
    assert module.compute().item() == pytest.approx((REVENUE["ann"] + REVENUE["bob"]) / 2)
