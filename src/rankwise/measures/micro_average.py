"""Micro-averages: sums over all users divided by one another, instead of means over users."""

from __future__ import annotations

import math
from typing import ClassVar

from rankwise import functional as plain
from rankwise.core.arrays import Array
from rankwise.core.block import Block
from rankwise.errors import ParameterError
from rankwise.measures.accuracy import Recall
from rankwise.measures.arithmetic import divide, or_nan
from rankwise.measures.hit_sums import RunningSum
from rankwise.measures.kinds import OfMeasure, Pooled, Sums
from rankwise.measures.measure import Measure, measure

__all__ = ["MicroAverage"]


@measure("micro", "micro_average", range=(0, math.inf), higher_is_better=True, family="accuracy", plain=plain.micro)
class MicroAverage(OfMeasure, Pooled):
    r"""Micro-average of a measure: the sum of users' numerators over that of their denominators.

    .. math:: \frac{\sum_u S_u(k)}{\sum_u N_u(k)}

    The value of user u is :math:`S_u(k) / N_u(k)`: for recall, the number of hits over the number
    of relevant items. Users with many relevant items weigh more. Only users with relevant items
    count. Range [0, inf), the range of the measure; higher is better.

    Parameters
    ----------
    of : measure, default=recall(denominator=capped)
        A measure that is a sum over hits divided by a norm: recall, precision, map, ndcg, rbp. The
        default, hits over min(k, relevant items), is called precision by the library implicit.

    References
    ----------
    Manning, Raghavan & Schütze 2008, Introduction to Information Retrieval, section 13.6;
    implicit, ``precision_at_k``.

    Examples
    --------
    >>> import rankwise as rw
    >>> lists, truth = {"ann": [1, 2], "bob": [3, 4]}, {"ann": {1, 2}, "bob": {9}}
    >>> rw.evaluate(lists, truth, "micro(recall)@2")["micro(of=recall)@2"]
    0.66667
    """

    done: ClassVar[str] = "averaged"
    defined_for = "relevance"
    of: Measure = Recall(denominator="capped")

    def _check_of(self) -> None:
        if not isinstance(self.of, RunningSum):
            raise ParameterError(
                f"{self.name}: {self.of.name} is not a sum over hits",
                found=str(self.of),
                hint="recall, precision, ndcg, map, mrr and rbp are",
            )

    def sums(self, block: Block, k: int) -> Sums:
        """Return numerator and denominator of every user, shape (U,) both."""
        assert isinstance(self.of, RunningSum)
        counts = block.xp.astype(block.n_relevant > 0, block.xp.float64)
        above, below = self.of.ratio(block, block.sum_hits(self.of.terms(block), k), k)
        return above * counts, below * counts

    def pool(self, sums: Sums, catalogue_size: int) -> Array:
        """Return the ratio of the sums; NaN if nothing divides."""
        above, below = sums
        return or_nan(divide(above, below), below > 0)
