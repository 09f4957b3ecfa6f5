"""Code of others: a typo in a name or an option is found before it runs.

mypy reads this file with the source, and nothing runs it. An error that mypy no longer finds leaves an ``ignore``
without a use, which is an error.
"""

from __future__ import annotations

import rankwise as rw
from rankwise.metrics import NDCG, PerUser, metric

__all__ = ["NDCG", "PerUser", "metric"]


def right() -> None:
    """Call what there is."""
    rw.evaluate({}, {}, [NDCG(k=5), rw.MAP(5), rw.NDCG(k=[5, 10]), rw.F1(3)], threshold=3.5)
    rw.evaluate({}, {}, "ndcg", k=10)
    rw.decide(rw.off_policy({}, targets={"new": "p"}), success="reward")


def wrong() -> None:
    """Call what there is not."""
    rw.evalute({}, {})  # type: ignore[attr-defined]
    rw.NDCG("x")  # type: ignore[arg-type]
    _ = rw.metrics.nDCG  # type: ignore[attr-defined]
