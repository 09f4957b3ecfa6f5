r"""Statistics over users other than the mean: quantiles, the worst-served users, geometric means.

A mean hides the users whom a recommender fails. :math:`m_{(1)} \le \dots \le m_{(n)}` are the
per-user values of a measure, for the n users who have one. With user weights (``weights=``) these
measures raise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankwise import functional as plain
from rankwise.core.arrays import Array
from rankwise.functional.accuracy import as_written
from rankwise.measures.arithmetic import check_parameter
from rankwise.measures.graded import NDCG
from rankwise.measures.kinds import OverUsers, at_cutoffs
from rankwise.measures.measure import Measure, measure

__all__ = ["GeometricMean", "Quantile", "Worst"]

_STEPS = "where many users share a value, the jackknife interval of a quantile is too narrow"
"""A quantile among equal values does not move when a group of users is left out."""


@dataclass(frozen=True, kw_only=True, repr=False)
class _OfMeasure(OverUsers):
    """A statistic of the users' values of a measure.

    Parameters
    ----------
    of : measure, default=ndcg
        Any measure with per-user values.
    """

    of: Measure = NDCG()  # noqa: RUF009 - frozen, so that all may share it

    def __post_init__(self) -> None:
        """Take the better direction of the measure."""
        super().__post_init__()
        object.__setattr__(self, "higher_is_better", self.of.higher_is_better)

    @property
    def parts(self) -> tuple[Measure, ...]:
        """The measure at the cut-offs of this one."""
        return (at_cutoffs(self.of, self.k),)


@measure(
    "quantile", range=(-math.inf, math.inf), higher_is_better=True, family="fairness", plain=plain.quantile_of_users
)
class Quantile(_OfMeasure):
    r"""Quantile of a measure over users: q = 0.5 is the median; 10 % of users are below q = 0.1.

    .. math:: (1 - t) \, m_{(j)} + t \, m_{(j+1)}, \quad j + t = 1 + q (n - 1)

    :math:`m_{(1)}` to :math:`m_{(n)}` are the per-user values in ascending order, j is a whole
    number, t is in [0, 1): linear interpolation, the default of NumPy. Range (-inf, inf), the range
    of the measure; higher is better where it is for the measure.

    Parameters
    ----------
    q : float, default=0.1
        The share of users with a lower value, in [0, 1].

    References
    ----------
    Hyndman & Fan 1996, Sample Quantiles in Statistical Packages, The American Statistician 50(4),
    definition 7.

    Examples
    --------
    >>> import rankwise as rw
    >>> lists = {user: [1, 2] for user in "abc"}
    >>> name, truth = "quantile(of=mrr,q=0.25)@2", {"a": {1}, "b": {2}, "c": {9}}
    >>> rw.evaluate(lists, truth, name)[name]
    0.25
    """

    q: float = 0.1
    jackknife_caveat: ClassVar[str] = _STEPS

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        check_parameter(self, "q", 0 <= self.q <= 1, "must lie in [0, 1]")

    def of_values(self, values: Array) -> float:
        """Return the quantile of values in ascending order."""
        return float(np.quantile(values, self.q))


@measure("worst", range=(-math.inf, math.inf), higher_is_better=True, family="fairness", plain=plain.worst_share)
class Worst(_OfMeasure):
    r"""Mean of a measure over the worst-served share of users.

    .. math:: \frac{1}{w} \sum_{j=1}^{w} m_{(j)}, \quad w = \lceil share \cdot n \rceil

    :math:`m_{(1)}` to :math:`m_{(n)}` are the per-user values, worst first: in ascending order, or
    in descending order where lower values are better; the mean is over the first w. Range
    (-inf, inf), the range of the measure; higher is better where it is for the measure.

    Parameters
    ----------
    share : float, default=0.1
        The share of users, in (0, 1].

    References
    ----------
    Rockafellar & Uryasev 2000, Optimization of Conditional Value-at-Risk, Journal of Risk 2 (the
    same mean, of losses).

    Examples
    --------
    >>> import rankwise as rw
    >>> lists = {user: [1, 2] for user in "abcd"}
    >>> name, truth = "worst(of=mrr,share=0.5)@2", {"a": {1}, "b": {2}, "c": {9}, "d": {1}}
    >>> rw.evaluate(lists, truth, name)[name]
    0.25
    """

    share: float = 0.1
    jackknife_caveat: ClassVar[str] = _STEPS

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        check_parameter(self, "share", 0 < self.share <= 1, "must lie in (0, 1]")

    def of_values(self, values: Array) -> float:
        """Return the mean of the worst of values in ascending order."""
        n = max(1, math.ceil(as_written(self.share) * len(values)))
        lowest = self.of.higher_is_better is not False
        return math.fsum(values[:n] if lowest else values[-n:]) / n


@measure(
    "geometric_mean",
    "gmean",
    range=(0, math.inf),
    higher_is_better=True,
    family="fairness",
    plain=plain.geometric_mean_of_users,
)
class GeometricMean(_OfMeasure):
    r"""Geometric mean of a measure over users, dominated by the users with the lowest values.

    .. math:: \exp\left(\frac{1}{n} \sum_{j=1}^{n} \ln \max(m_{(j)}, floor)\right)

    :math:`m_{(1)}` to :math:`m_{(n)}` are the per-user values. Range [floor, inf); higher is better
    where it is for the measure. ``geometric_mean(map)`` is gm_map of trec_eval.

    Parameters
    ----------
    floor : float, default=1e-05
        Smaller values are raised to this number, above 0.

    References
    ----------
    Robertson 2006, On GMAP and Other Transformations, CIKM.

    Examples
    --------
    >>> import rankwise as rw
    >>> name, truth = "geometric_mean(of=mrr)@4", {"a": {1}, "b": {4}}
    >>> rw.evaluate({"a": [1, 2, 3, 4], "b": [1, 2, 3, 4]}, truth, name)[name]
    0.5
    """

    floor: float = 1e-5

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        check_parameter(self, "floor", self.floor > 0, "must be above 0")

    def of_values(self, values: Array) -> float:
        """Return the geometric mean."""
        logarithms = np.log(np.maximum(values, self.floor))
        return math.exp(math.fsum(logarithms) / len(values))
