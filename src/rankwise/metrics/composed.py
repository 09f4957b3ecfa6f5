r"""Metrics of metrics: complements, ratios, quantiles over users, and combined objectives.

Statistics over users other than the mean: quantiles, the worst-served users, geometric means.

A mean hides the users whom a recommender fails. :math:`m_{(1)} \le \dots \le m_{(n)}` are the
per-user values of a metric, for the n users who have one. With user weights (``weights=``) these
metrics raise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from rankwise import functional as plain
from rankwise.core.arrays import Array, namespace
from rankwise.errors import ParameterError
from rankwise.functional.accuracy import as_written
from rankwise.metrics.accuracy import Recall
from rankwise.metrics.arithmetic import ABOVE_0, IN_CLOSED_0_1, IN_LEFT_OPEN_0_1
from rankwise.metrics.base import Metric, metric
from rankwise.metrics.composite_kinds import Composed, OverUsers
from rankwise.metrics.coverage import ItemCoverage
from rankwise.metrics.diversity import Gini, ShannonEntropy
from rankwise.metrics.graded import NDCG
from rankwise.metrics.kinds import at_cutoffs

__all__ = [
    "Complement",
    "EuclideanDistance",
    "GeometricMean",
    "Hypervolume",
    "Quantile",
    "Ratio",
    "Worst",
]


class _Objectives(Composed):
    """Several metrics in one number.

    Parameters
    ----------
    of : {"users", "means"}, default="users"
        ``"users"``: computed for every user, then averaged over users. ``"means"``: computed once,
        from the metrics' values over all users.
    """

    metrics: tuple[Metric, ...] = (NDCG(), Recall())

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        if not self.metrics:
            raise ParameterError(
                f"{self.name} needs metrics", hint=f"write {self.name}([ndcg,recall])@10"
            )

    @property
    def parts(self) -> tuple[Metric, ...]:
        """The objectives at the cut-offs of this metric."""
        return tuple(at_cutoffs(part, self.k) for part in self.metrics)

    def _point(self, name: str, numbers: tuple[float, ...], *, best: bool) -> tuple[float, ...]:
        """Return the reference point: the given numbers, or the best or worst end of each range."""
        if numbers:
            if len(numbers) != len(self.metrics):
                raise ParameterError(
                    f"{self.name}: {name} must have one number per metric",
                    found=f"{len(numbers)} numbers for {len(self.metrics)} metrics",
                )
            return numbers
        ends = []
        for part in self.metrics:
            if part.higher_is_better is None:
                raise self._missing(name, part, "has no better direction")
            end = part.range[1 if part.higher_is_better == best else 0]
            if math.isinf(end):
                raise self._missing(name, part, "has an infinite range")
            ends.append(float(end))
        return tuple(ends)

    def _missing(self, name: str, part: Metric, why: str) -> ParameterError:
        return ParameterError(
            f"{self.name} needs {name}: {part.name} {why}",
            found=str(self),
            hint=f"write {name}=[…] with one number per metric",
        )


@metric(
    "euclidean_distance",
    "euc_distance",
    range=(0, math.inf),
    higher_is_better=False,
    plain=plain.euclidean_distance,
    family="multiobjective",
)
class EuclideanDistance(_Objectives):
    r"""Euclidean distance from the values of several metrics to the ideal point (utopia).

    .. math:: \sqrt{\sum_j (s_j - u_j)^2}

    :math:`s_j` is the value of metric j, :math:`u_j` its ideal value. Metrics are not rescaled: the
    one with the largest scale dominates.

    Parameters
    ----------
    metrics : list of metric, default=[ndcg, recall]
        The objectives: ``euclidean_distance([ndcg,epc],utopia=[1,1])@10``.
    utopia : list of float, optional
        The ideal value of each metric. Default: the best end of its range.

    Notes
    -----
    Use it where several objectives on one scale have known ideal values. Do not use it for metrics
    of different scales: the largest scale decides. A table of the parts is nearly always better.

    References
    ----------
    Paparella et al. 2023, Post-hoc Selection of Pareto-Optimal Solutions in Search and
    Recommendation, CIKM.

    Examples
    --------
    >>> import rankwise as rw
    >>> name = "euclidean_distance([precision,recall])@2"
    >>> rw.evaluate({"ann": [1, 2]}, {"ann": {1}}, name)[rw.parse(name)]
    0.5
    """

    metrics: tuple[Metric, ...] = (NDCG(), Recall())
    utopia: tuple[float, ...] = ()
    of: Literal["users", "means"] = "users"

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        self._point("utopia", self.utopia, best=True)

    def combine(self, *values: Array) -> Array:
        """Return the distance, elementwise."""
        utopia = self._point("utopia", self.utopia, best=True)
        squares = [(value - best) ** 2 for value, best in zip(values, utopia, strict=True)]
        total = squares[0]
        for square in squares[1:]:
            total = total + square
        return namespace(total).sqrt(total)


@metric(
    "hypervolume",
    range=(0, math.inf),
    higher_is_better=True,
    plain=plain.hypervolume,
    family="multiobjective",
)
class Hypervolume(_Objectives):
    r"""Volume of the box between the values of several metrics and the nadir point.

    .. math:: \prod_j \max(0, s_j - n_j), \text{ with } n_j - s_j \text{ where lower is better}

    :math:`s_j` is the value of metric j, :math:`n_j` its nadir, the worst acceptable value. 0 if at
    least one metric is no better than its nadir.

    Parameters
    ----------
    metrics : list of metric, default=[ndcg, recall]
        The objectives: ``hypervolume([ndcg,gini],nadir=[0,1],of=means)@10``.
    nadir : list of float, optional
        The worst acceptable value of each metric. Default: the worst end of its range.
    directions : list of bool, optional
        Whether higher is better, for each metric. Default: the metric's own direction.

    Notes
    -----
    Use it where several objectives have to become one number, as in a search over parameters. Do
    not use it for metrics of different scales, or without stating ``nadir``: both decide the order.
    Show the parts as well.

    References
    ----------
    Zitzler & Thiele 1999, Multiobjective Evolutionary Algorithms: A Comparative Case Study and the
    Strength Pareto Approach, IEEE Trans. Evolutionary Computation 3(4).

    Examples
    --------
    >>> import rankwise as rw
    >>> name = "hypervolume([precision,recall])@2"
    >>> rw.evaluate({"ann": [1, 2]}, {"ann": {1}}, name)[rw.parse(name)]
    0.5
    """

    metrics: tuple[Metric, ...] = (NDCG(), Recall())
    nadir: tuple[float, ...] = ()
    directions: tuple[bool, ...] = ()
    of: Literal["users", "means"] = "users"

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        self._point("nadir", self.nadir, best=False)
        if self.directions and len(self.directions) != len(self.metrics):
            raise ParameterError(
                "hypervolume: directions must have one entry per metric",
                found=f"{len(self.directions)} for {len(self.metrics)} metrics",
            )

    def combine(self, *values: Array) -> Array:
        """Return the volume, elementwise."""
        nadir = self._point("nadir", self.nadir, best=False)
        higher = self.directions or tuple(bool(part.higher_is_better) for part in self.metrics)
        volume: Array = None
        for value, worst, upwards in zip(values, nadir, higher, strict=True):
            side = value - worst if upwards else worst - value
            xp = namespace(side)
            side = xp.where(side < 0, xp.zeros_like(side), side)  # NaN stays NaN
            volume = side if volume is None else volume * side
        return volume


_STEPS = "where many users share a value, the jackknife interval of a quantile is too narrow"
"""A quantile among equal values does not move when a group of users is left out."""


@dataclass(frozen=True, kw_only=True, repr=False)
class _OverUsersOfOne(OverUsers):
    """A statistic of the users' values of a metric.

    Parameters
    ----------
    of : metric, default=ndcg
        Any metric with per-user values.
    """

    of: Metric = NDCG()  # noqa: RUF009 - frozen, so that all may share it

    def __post_init__(self) -> None:
        """Take the better direction of the metric."""
        super().__post_init__()
        object.__setattr__(self, "higher_is_better", self.of.higher_is_better)

    @property
    def parts(self) -> tuple[Metric, ...]:
        """The metric at the cut-offs of this one."""
        return (at_cutoffs(self.of, self.k),)


@metric(
    "quantile",
    range=(-math.inf, math.inf),
    higher_is_better=True,
    family="fairness",
    plain=plain.quantile_of_users,
)
class Quantile(_OverUsersOfOne):
    r"""Quantile of a metric over users: q = 0.5 is the median; 10 % of users are below q = 0.1.

    .. math:: (1 - t) \, m_{(j)} + t \, m_{(j+1)}, \quad j + t = 1 + q (n - 1)

    :math:`m_{(1)}` to :math:`m_{(n)}` are the per-user values in ascending order, j is a whole
    number, t is in [0, 1): linear interpolation, the default of NumPy. The value lies in the range
    of the metric, whose better direction it shares. The jackknife interval for 95 % covers the
    median of a continuous distribution in 90 % of samples of 300 users, and in 94 % from 1,000
    users.

    Parameters
    ----------
    q : float, default=0.1
        The share of users with a lower value, in [0, 1].

    Notes
    -----
    Use it for the users that a mean hides: the lowest tenth, the median. Do not use a low ``q``
    with few relevant items per user: the lowest tenth is then 0 for every model.

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

    q: Annotated[float, IN_CLOSED_0_1] = 0.1
    jackknife_caveat: ClassVar[str] = _STEPS

    def value_from_values(self, values: Array) -> float:
        """Return the quantile of values in ascending order."""
        return float(np.quantile(values, self.q))


@metric(
    "worst",
    range=(-math.inf, math.inf),
    higher_is_better=True,
    family="fairness",
    plain=plain.worst_share,
)
class Worst(_OverUsersOfOne):
    r"""Mean of a metric over the worst-served share of users.

    .. math:: \frac{1}{w} \sum_{j=1}^{w} m_{(j)}, \quad w = \lceil share \cdot n \rceil

    :math:`m_{(1)}` to :math:`m_{(n)}` are the per-user values, worst first: in ascending order, or
    in descending order where lower values are better; the mean is over the first w. The value lies
    in the range of the metric, whose better direction it shares.

    Parameters
    ----------
    share : float, default=0.1
        The share of users, in (0, 1].

    Notes
    -----
    Use it for the mean of the users who are served worst. Do not use a small ``share`` with few
    relevant items per user: it is then 0 for every model.

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

    share: Annotated[float, IN_LEFT_OPEN_0_1] = 0.1
    jackknife_caveat: ClassVar[str] = _STEPS

    def value_from_values(self, values: Array) -> float:
        """Return the mean of the worst of values in ascending order."""
        n = max(1, math.ceil(as_written(self.share) * len(values)))
        lowest = self.of.higher_is_better is not False
        return math.fsum(values[:n] if lowest else values[-n:]) / n


@metric(
    "geometric_mean",
    "gmean",
    range=(0, math.inf),
    higher_is_better=True,
    family="fairness",
    plain=plain.geometric_mean_of_users,
)
class GeometricMean(_OverUsersOfOne):
    r"""Geometric mean of a metric over users, dominated by the users with the lowest values.

    .. math:: \exp\left(\frac{1}{n} \sum_{j=1}^{n} \ln \max(m_{(j)}, floor)\right)

    :math:`m_{(1)}` to :math:`m_{(n)}` are the per-user values. The value is at least ``floor``; the
    better direction is that of the metric. ``geometric_mean(map)`` is gm_map of trec_eval.

    Parameters
    ----------
    floor : float, default=1e-05
        Smaller values are raised to this number, above 0.

    Notes
    -----
    Use it where the worst-served users should weigh most: it moves with relative changes of small
    values. Do not use it where many users score 0: ``floor`` then decides it.

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

    floor: Annotated[float, ABOVE_0] = 1e-5

    def value_from_values(self, values: Array) -> float:
        """Return the geometric mean."""
        logarithms = np.log(np.maximum(values, self.floor))
        return math.exp(math.fsum(logarithms) / len(values))


@metric(
    "complement",
    range=(-math.inf, math.inf),
    higher_is_better=True,
    family="multiobjective",
    plain=plain.complement,
)
class Complement(Composed):
    r"""One minus the value of another metric.

    .. math:: 1 - m

    :math:`m` is the value of the metric: for every user, then averaged over users, if that is how
    the metric is computed. The value lies in 1 minus the range of the metric; the better direction
    is the opposite of the metric's. No convention changes the definition of the metric.

    Parameters
    ----------
    metric : metric, default=gini
        Any metric: ``complement(gini)@10`` is the Gini diversity index of Elliot.

    Notes
    -----
    Use it to get a number that another library reports upside down, such as Elliot's Gini. Do not
    use it as an objective of its own: it is the metric, subtracted from 1.

    References
    ----------
    Anelli et al. 2021, Elliot: A Comprehensive and Rigorous Framework for Reproducible Recommender
    Systems Evaluation, SIGIR.

    Examples
    --------
    >>> import rankwise as rw
    >>> lists, truth = {"ann": [1, 2], "bob": [1, 3]}, {"ann": {1}, "bob": {3}}
    >>> result = rw.evaluate(lists, truth, ["gini@2", "complement(gini)@2"])
    >>> result["gini@2"], result["complement(gini)@2"]
    (0.25, 0.75)
    """

    metric: Metric = Gini()
    parts_as_written: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Turn the direction of the metric round."""
        super().__post_init__()
        better = self.metric.higher_is_better
        object.__setattr__(self, "higher_is_better", None if better is None else not better)

    @property
    def of(self) -> Literal["users", "means"]:
        """Whether the complement is taken per user, or once if the metric is not a mean."""
        return "users" if self.metric.value_kind == "mean" else "means"

    @property
    def parts(self) -> tuple[Metric, ...]:
        """The metric at the cut-offs of this one."""
        return (at_cutoffs(self.metric, self.k),)

    def combine(self, *values: Array) -> Array:
        """Return one minus the values, elementwise."""
        return 1.0 - values[0]


@metric(
    "ratio",
    range=(-math.inf, math.inf),
    higher_is_better=None,
    family="multiobjective",
    plain=plain.ratio,
)
class Ratio(Composed):
    r"""Value of one metric divided by that of another.

    .. math:: m_1 / m_2

    :math:`m_1` and :math:`m_2` are the values of the two metrics. NaN where the second is 0. No
    convention changes the definitions of the metrics.

    Parameters
    ----------
    first : metric, default=shannon_entropy
        The dividend.
    second : metric, default=item_coverage
        The divisor. The defaults give the entropy per recommended item, which RecBole calls Shannon
        entropy.
    of : {"means", "users"}, default="means"
        ``"means"``: computed once, from the metrics' values over all users. ``"users"``: computed
        for every user, then averaged over users.

    Notes
    -----
    Use it to get a number that another library reports as a quotient, such as RecBole's Shannon
    entropy. Do not use it as an objective of its own, or where the divisor may be 0.

    References
    ----------
    Zhao et al. 2022, RecBole 2.0: Towards a More Up-to-Date Recommendation Library, CIKM.

    Examples
    --------
    >>> import rankwise as rw
    >>> lists, truth = {"ann": [1, 2], "bob": [1, 3]}, {"ann": {1}, "bob": {3}}
    >>> name = "ratio(first=recall,second=precision)@2"
    >>> rw.evaluate(lists, truth, name)[name]
    2.0
    """

    first: Metric = ShannonEntropy()
    second: Metric = ItemCoverage()
    of: Literal["means", "users"] = "means"
    parts_as_written: ClassVar[bool] = True

    @property
    def parts(self) -> tuple[Metric, ...]:
        """The metrics at the cut-offs of this one."""
        return at_cutoffs(self.first, self.k), at_cutoffs(self.second, self.k)

    def combine(self, *values: Array) -> Array:
        """Return the quotient, elementwise; NaN where the divisor is 0."""
        first, second = values
        xp = namespace(first)
        nothing = xp.full_like(first, math.nan)
        return xp.where(second == 0, nothing, first / xp.where(second == 0, nothing, second))
