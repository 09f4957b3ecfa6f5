"""Interpolated precision: the best precision among the ranks with at least a given recall."""

from __future__ import annotations

from typing import Literal

from rankwise import functional as plain
from rankwise.core.arrays import Array, bincount, namespace
from rankwise.core.block import Block
from rankwise.measures.arithmetic import at_least_one, check_parameter
from rankwise.measures.kinds import PerUser
from rankwise.measures.measure import measure

__all__ = ["InterpolatedPrecision"]


@measure(
    "iprec",
    "interpolated_precision",
    range=(0, 1),
    higher_is_better=True,
    family="accuracy",
    plain=plain.interpolated_precision_at_k,
)
class InterpolatedPrecision(PerUser):
    r"""Interpolated precision at a recall, or averaged over 11 recalls from 0 to 1.

    .. math:: \max \{P@i : i \le k, \; R@i \ge level\}

    :math:`P@i` and :math:`R@i` are precision and recall at i. 0 if the recall at k is below the
    level. Range [0, 1]; higher is better. Tied items are taken in order of item id.

    Parameters
    ----------
    level : float or None, default=None
        The recall level, in [0, 1]; None: the mean over the levels 0, 0.1, ..., 1.
    rounding : {"exact", "trec_eval"}, default="exact"
        The number of hits that reaches a level, with R the number of relevant items: ``"exact"``
        is at least level times R; ``"trec_eval"`` is :math:`\lfloor level \cdot R + 0.9 \rfloor` in
        floating point. For multiples of 0.1 both agree, except at level 0.7 with R = 3, where
        trec_eval requires 2 hits instead of 3.

    References
    ----------
    Manning, Raghavan & Schütze 2008, Introduction to Information Retrieval, section 8.4; trec_eval,
    ``iprec_at_recall`` and ``11pt_avg``.

    Examples
    --------
    >>> import rankwise as rw
    >>> names = ["iprec(level=0.5)", "iprec"]
    >>> result = rw.evaluate({"ann": [1, 2, 3, 4]}, {"ann": {1, 4}}, names)
    >>> result["iprec(level=0.5)"], result["iprec"]
    (1.0, 0.77273)
    """

    inputs = ("judged",)
    level: float | None = None
    rounding: Literal["exact", "trec_eval"] = "exact"

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        allowed = self.level is None or 0 <= self.level <= 1
        check_parameter(self, "level", allowed, "must lie in [0, 1]")

    def value(self, block: Block, k: int) -> Array:
        """Return interpolated precision, shape (U,)."""
        rows, xp = block.judged, block.xp
        within = xp.where(rows.rank <= k, rows.relevant, xp.zeros_like(rows.relevant))
        n_hits = bincount(rows.user, within, block.n_users)
        before = xp.cumulative_sum(n_hits) - n_hits  # hits of users before this one
        hits = xp.cumulative_sum(within) - xp.take(before, rows.user)
        n_relevant = at_least_one(xp.take(block.n_relevant, rows.user))
        precision = within * hits / rows.rank
        n_rows = bincount(rows.user, xp.ones_like(within), block.n_users)
        levels = [i / 10 for i in range(11)] if self.level is None else [float(self.level)]
        total = xp.zeros(block.n_users, dtype=xp.float64)
        for level in levels:
            if self.rounding == "exact":
                reached = hits / n_relevant >= level
            else:
                reached = hits >= xp.floor(level * n_relevant + 0.9)
            enough = xp.where(reached, precision, xp.zeros_like(precision))
            total = total + _largest_of_each(rows.user, enough, n_rows)
        return total / len(levels)


def _largest_of_each(user: Array, values: Array, n_rows: Array) -> Array:
    """Return the largest value of each user's rows, 0 without rows; rows in order of user."""
    if not values.shape[0]:
        return n_rows * 0.0
    xp = namespace(values)
    order = xp.argsort(values, stable=True)
    order = xp.take(order, xp.argsort(xp.take(user, order), stable=True))
    last = xp.astype(xp.cumulative_sum(n_rows), xp.int64) - 1
    largest = xp.take(xp.take(values, order), xp.clip(last, min=0))
    return xp.where(n_rows > 0, largest, 0.0)
