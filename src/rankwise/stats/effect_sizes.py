"""Effect sizes: how large a difference is, in units that do not depend on the number of users."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import polars as pl

from rankwise.core import kernels
from rankwise.errors import InputError
from rankwise.stats.differences import (
    Differences,
    Floats,
    Missing,
    PairStatistics,
    check_level,
    column,
    differences,
    t_quantile,
)
from rankwise.stats.paired_tests import paired_t

_LIMITS = ((0.2, "negligible"), (0.5, "small"), (0.8, "medium"))


@dataclass(frozen=True)
class Effect:
    """Effect sizes of paired values, x against y.

    Attributes
    ----------
    d_z : float
        The mean difference over the standard deviation of the differences, which determines power.
        NaN if the differences do not vary.
    d_av : float
        The mean difference over the root of the mean of both variances, for comparison with other
        studies.
    hedges_g : float
        d_z corrected for its small-sample bias.
    dominance : float
        The share of users for whom x is larger, minus the share for whom y is larger.
    cliffs_delta : float
        The probability that x of a random user exceeds y of a random user, minus that of the
        opposite.
    rank_biserial : float
        The share of the rank sum of the differences in favour of x, minus that in favour of y.
    wins, ties, losses : int
        Users for whom x is larger, equal, smaller.
    """

    d_z: float
    d_av: float
    hedges_g: float
    dominance: float
    cliffs_delta: float
    rank_biserial: float
    wins: int
    ties: int
    losses: int


def effect(x: Any, y: Any, *, missing: Missing = "error") -> Effect:
    """Return all effect sizes of paired values.

    Parameters
    ----------
    x, y, missing
        As for `paired_t`; y is required.

    Returns
    -------
    Effect

    Examples
    --------
    >>> sizes = effect([1.0, 0.5, 0.0, 0.5], [0.5, 0.5, 0.5, 0.0])
    >>> sizes.wins, sizes.ties, sizes.losses, sizes.dominance
    (2, 1, 1, 0.25)
    """
    pairs = differences(x, y, missing=missing)
    n, wins, losses, d_z = pairs.n, pairs.wins, pairs.losses, pairs.d_z
    deviation = math.sqrt((pairs.x.var(ddof=1) + pairs.y.var(ddof=1)) / 2) if n > 1 else 0.0
    without_variance = 0.0 if n > 1 and not pairs.nonzero else math.nan
    return Effect(
        d_z=d_z,
        d_av=pairs.mean / deviation if deviation > 0 else without_variance,
        hedges_g=d_z * _small_sample(n - 1) if n > 2 else math.nan,
        dominance=(wins - losses) / n if n else math.nan,
        cliffs_delta=cliffs_delta(pairs.x, pairs.y),
        rank_biserial=rank_biserial(pairs),
        wins=wins,
        ties=n - wins - losses,
        losses=losses,
    )


def _small_sample(freedom: int) -> float:
    """Return Hedges' factor, which removes the bias of d in small samples."""
    from scipy.special import gammaln

    logs = gammaln(freedom / 2) - gammaln((freedom - 1) / 2)
    return float(np.exp(logs) / math.sqrt(freedom / 2))


def cliffs_delta(x: Any, y: Any) -> float:
    """Return Cliff's delta: P(x > y) − P(x < y) over all pairs of an x and a y, in O(n log n).

    Parameters
    ----------
    x, y : array, shapes (n,) and (m,)
        Values of two systems, which need not be for the same users.

    Returns
    -------
    float

    Examples
    --------
    >>> cliffs_delta([1, 2, 3], [1, 1, 2])  # above in 5 of 9 pairs, below in 1
    0.4444
    """
    return deltas_of_pairs(
        [column(name, values) for name, values in (("x", x), ("y", y))], [(0, 1)]
    )[0]


_TINY = 2.0**-1062  # below it the bits of a key that are no mark are those of 0


def deltas_of_pairs(columns: Sequence[Floats], pairs: Sequence[tuple[int, int]]) -> list[float]:
    """Return Cliff's delta of pairs of columns, the first against the second, of any lengths.

    All values are sorted once. Two are equal if 40 binary digits are, or are neighbours: they
    differ by rounding alone.
    """
    if len(columns) > 1 << kernels.MARK:
        return [deltas_of_pairs([columns[x], columns[y]], [(0, 1)])[0] for x, y in pairs]
    if any(np.isnan(values).any() for values in columns):
        raise InputError("a value is NaN", hint="leave users without a value out first")
    n, places = (
        np.array([len(values) for values in columns]),
        np.array(pairs, dtype=np.int64).reshape(-1, 2),
    )
    of_both = n[places[:, 0]] * n[places[:, 1]]
    if kernels.load() is None:
        no_tiny = [np.where(np.abs(values) < _TINY, 0.0, values) for values in columns]
        twice = _twice_above(np.sort(_keys(no_tiny)), places)
    else:
        twice = _above(columns)[places[:, 0], places[:, 1]]
    with np.errstate(invalid="ignore"):  # NaN where one has no users
        out: list[float] = ((twice - of_both) / of_both).tolist()
    return out


def _keys(columns: Sequence[Floats]) -> Any:
    """Return sort keys of the values, with the number of the column in the lowest bits."""
    values = np.concatenate(columns)
    bits = values.view(np.int64)
    keys = (bits >> 63 | np.int64(-1 << 63)).view(
        np.uint64
    )  # which bits to turn: of negative values all, else the first
    keys ^= values.view(np.uint64)
    keys &= ~np.uint64((1 << kernels.MARK) - 1)
    keys |= np.repeat(np.arange(len(columns), dtype=np.uint64), [len(column) for column in columns])
    return keys


def _above(columns: Sequence[Floats]) -> Any:
    """Return `_twice_above` of any two columns from the kernel, which counts zeros apart."""
    library, k = kernels.load(), len(columns)
    others = [column[np.abs(column) >= _TINY] for column in columns]
    zeros = np.array(
        [len(column) - len(other) for column, other in zip(columns, others, strict=True)]
    )
    keys = _keys(
        [
            np.append(other, np.zeros(min(count, 1)))
            for other, count in zip(others, zeros, strict=True)
        ]
    )
    library.rw_sort_keys(keys, len(keys), np.empty_like(keys))
    above = np.zeros((k, k), dtype=np.int64)
    library.rw_above(keys, len(keys), zeros, k, np.zeros(2 * k, dtype=np.int64), above)
    return above


def _twice_above(keys: Any, pairs: Any) -> Any:
    """Count, for each pair of columns, twice the values of y below values of x, plus the ties."""
    number, digits = keys & np.uint64((1 << kernels.MARK) - 1), keys >> np.uint64(kernels.MARK)
    place = np.cumsum(np.diff(digits, prepend=digits[:1]) > np.uint64(1))
    of_column = {int(at): place[number == at] for at in np.unique(pairs)}

    def twice(x: Any, y: Any) -> int:
        return int(np.searchsorted(y, x, "left").sum() + np.searchsorted(y, x, "right").sum())

    return np.array([twice(of_column[x], of_column[y]) for x, y in pairs.tolist()])


def rank_biserial(pairs: Differences) -> float:
    """Return the rank sum in favour of x minus the rank sum in favour of y, as a share of all."""
    d = pairs.d[pairs.d != 0]
    if not len(d):
        return 0.0 if pairs.n else math.nan
    ranks = pl.Series(np.abs(d)).rank("average").to_numpy()
    return float((ranks * np.sign(d)).sum() / ranks.sum())


def magnitude(d: float) -> str:
    """Return Cohen's word for a standardised difference (limits 0.2, 0.5, 0.8).

    >>> magnitude(0.1), magnitude(-0.6), magnitude(1.2)
    ('negligible', 'medium', 'large')
    """
    if math.isnan(d):
        return "undefined"
    return next((word for limit, word in _LIMITS if abs(d) < limit), "large")


def lift_interval(pairs: PairStatistics, *, confidence: float) -> tuple[float, float, float]:
    r"""Return the relative lift (x̄ − ȳ) / |ȳ| and its confidence limits, by Fieller's theorem.

    .. math:: (\bar x - R \bar y)^2 \le q^2 (s_x^2 - 2 R s_{xy} + R^2 s_y^2) / n

    is solved by an interval of R if ȳ differs significantly from 0; else both limits are NaN, as
    they are if the differences do not vary.
    """
    quantile = math.nan if pairs.n < 2 else t_quantile((1 + confidence) / 2, pairs.n - 1)
    return lift_by_quantile(pairs, quantile)


def lift_by_quantile(pairs: PairStatistics, quantile: float) -> tuple[float, float, float]:
    """Return the relative lift and its Fieller limits at ``quantile`` standard errors."""
    if pairs.n < 2 or not all(map(math.isfinite, pairs.means)):
        return math.nan, math.nan, math.nan
    if not pairs.deviation or not math.isfinite(quantile):
        return pairs.mean / abs(pairs.means[1]) if pairs.means[1] else math.nan, math.nan, math.nan
    return fieller(pairs.means, pairs.mean, pairs.covariance / pairs.n, quantile)


def fieller(
    means: tuple[float, float], difference: float, covariance: Floats, quantile: float
) -> tuple[float, float, float]:
    """Return the lift of two means and its limits, from the covariance matrix of the means.

    A lift has the sign of the difference: below 0 the baseline counts without its sign.

    >>> fieller((0.22, 0.2), 0.02, np.array([[1e-4, 9e-5], [9e-5, 1e-4]]), 1.96)
    (0.1, 0.0547, 0.1492)
    """
    x, y = means
    if not y:
        return math.nan, math.nan, math.nan
    if y < 0:
        lift, low, high = fieller((-x, -y), -difference, covariance, quantile)
        return -lift, -high, -low
    lift = difference / y
    (of_x, both), (_, of_y) = (covariance * quantile**2).tolist()
    a, b = y * y - of_y, x * y - both
    if not a > 0:
        return lift, math.nan, math.nan
    # b² − a (x² − of_x), without products of means alone, which would cancel each other's digits.
    square = y * y * of_x - 2 * x * y * both + x * x * of_y + both * both - of_x * of_y
    half = math.sqrt(max(square, 0.0))
    return lift, float((b - half) / a - 1), float((b + half) / a - 1)


@dataclass(frozen=True, eq=False)  # as a mapping, it equals the dict of its values
class PairedTTest(Mapping[str, float | bool | str]):
    """The result of `paired_t_test`: a mapping whose values are also attributes.

    Attributes
    ----------
    mean_improvement : float
        The mean of b − a.
    p_value : float
        Two-sided p-value.
    significant : bool
        Whether p_value < alpha.
    t_statistic : float
        The statistic of a against b, as of ``scipy.stats.ttest_rel(a, b)``: below 0 if b is better.
    cohens_d : float
        The mean of b − a over the standard deviation of these differences (d_z).
    interpretation : {"significant", "not significant"}
        What ``significant`` says, in words.
    """

    mean_improvement: float
    p_value: float
    significant: bool
    t_statistic: float
    cohens_d: float
    interpretation: str

    def __getitem__(self, name: str) -> float | bool | str:
        if name not in tuple(self):
            raise KeyError(name)
        value: float | bool | str = getattr(self, name)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(field.name for field in fields(self))

    def __len__(self) -> int:
        return len(fields(self))


def paired_t_test(metrics_a: Any, metrics_b: Any, alpha: float = 0.05) -> PairedTTest:
    """Test whether systems a and b differ on the same users, by the paired t test.

    Parameters
    ----------
    metrics_a, metrics_b : array, shape (n,)
        One value per user, in the same order.
    alpha : float, default=0.05
        The significance level.

    Returns
    -------
    PairedTTest
        Its values are attributes as well as items: ``test.p_value`` is ``test["p_value"]``.

    Raises
    ------
    InputError
        If the lengths differ, or a value is NaN.

    Examples
    --------
    >>> test = paired_t_test([0.1, 0.2, 0.3, 0.2], [0.3, 0.3, 0.6, 0.4])
    >>> test.mean_improvement, test["significant"]
    (0.2, True)
    >>> round(test.t_statistic, 4), test.interpretation
    (-4.899, 'significant')
    """
    check_level("alpha", alpha)
    test = paired_t(metrics_b, metrics_a)
    significant = bool(test.p < alpha)
    return PairedTTest(
        mean_improvement=test.difference,
        p_value=test.p,
        significant=significant,
        t_statistic=-test.statistic,
        cohens_d=effect(metrics_b, metrics_a).d_z,
        interpretation="significant" if significant else "not significant",
    )
