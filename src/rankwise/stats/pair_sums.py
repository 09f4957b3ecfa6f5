"""Sums of paired values, from which t tests and intervals follow without the pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.core.exact_total import ExactTotal
from rankwise.stats.differences import Differences, Floats, caveats, standardised
from rankwise.stats.moments import DIGITS

__all__ = ["PairSums"]


@dataclass(frozen=True, kw_only=True)
class PairSums:
    """Paired differences x − y of which only sums are known; those of other pairs can be added.

    It has what t tests and intervals ask of `Differences`. Sums are exact, so that the variance
    loses no digits to the subtraction of large numbers.

    Attributes
    ----------
    n, wins, losses, not_zero : int
        Number of pairs, of those in which x or y is larger, and of those that are not both 0.
    largest : float
        The largest absolute difference.
    x, y, d, xx, yy, xy, dd, ddd : ExactTotal
        Sums of the values, of the differences, of their squares and products, and of the cubes of
        differences, each rounded once.
    """

    n: int
    wins: int
    losses: int
    not_zero: int
    largest: float
    x: ExactTotal
    y: ExactTotal
    d: ExactTotal
    xx: ExactTotal
    yy: ExactTotal
    xy: ExactTotal
    dd: ExactTotal
    ddd: ExactTotal
    omitted: int = 0

    @classmethod
    def of(cls, pairs: Differences) -> PairSums:
        """Return the sums of some pairs."""
        x, y, d = pairs.x, pairs.y, pairs.d
        total, products = ExactTotal.of, ExactTotal.of_products
        return cls(
            n=pairs.n,
            wins=pairs.wins,
            losses=pairs.losses,
            not_zero=int(((x != 0) | (y != 0)).sum()),
            largest=float(np.abs(d).max(initial=0.0)),
            x=total(x),
            y=total(y),
            d=total(d),
            xx=products(x, x),
            yy=products(y, y),
            xy=products(x, y),
            dd=products(d, d),
            ddd=products(d * d, d),
            omitted=pairs.omitted,
        )

    def __add__(self, other: PairSums) -> PairSums:
        names = ("n", "wins", "losses", "not_zero", "x", "y", "d", "xx", "yy", "xy", "dd", "ddd", "omitted")
        sums: dict[str, Any] = {name: getattr(self, name) + getattr(other, name) for name in names}
        return PairSums(largest=max(self.largest, other.largest), **sums)

    @property
    def paired(self) -> bool:
        """Whether these are pairs, not values of one system."""
        return True

    @property
    def means(self) -> tuple[float, float]:
        """The means of x and of y; NaN without pairs."""
        if not self.n:
            return float("nan"), float("nan")
        return self.x.value / self.n, self.y.value / self.n

    @property
    def mean(self) -> float:
        """The mean difference; NaN without pairs."""
        return self.d.value / self.n if self.n else float("nan")

    @property
    def deviation(self) -> float:
        """Sample standard deviation of the differences (n − 1); 0 if within rounding error."""
        if self.n < 2:
            return float("nan")
        spread = max(_covariance(self.d, self.d, self.dd, self.n), 0.0) ** 0.5
        return 0.0 if spread <= DIGITS * self.largest else spread

    @property
    def skewness(self) -> float:
        """The skewness of the differences: 0 if they are symmetric, or do not vary."""
        deviation, n, mean = self.deviation, self.n, self.mean
        if n < 2 or not deviation:
            return 0.0
        third = self.ddd.value / n - 3 * mean * self.dd.value / n + 2 * mean**3
        return third / deviation**3

    @property
    def covariance(self) -> Floats:
        """The covariance matrix of x and y (n − 1)."""
        x, y, n = self.x, self.y, self.n
        xy = _covariance(x, y, self.xy, n)
        return np.array([[_covariance(x, x, self.xx, n), xy], [xy, _covariance(y, y, self.yy, n)]])

    @property
    def nonzero(self) -> int:
        """Number of pairs that differ."""
        return self.wins + self.losses

    @property
    def error(self) -> float:
        """The standard error of the mean difference."""
        return self.deviation / self.n**0.5 if self.n else float("nan")

    @property
    def d_z(self) -> float:
        """The mean difference in standard deviations: 0 if all agree, NaN if they do not vary."""
        return standardised(self)

    @property
    def flags(self) -> tuple[str, ...]:
        """Caveats about these pairs."""
        return caveats(self)


def _covariance(a: ExactTotal, b: ExactTotal, products: ExactTotal, n: int) -> float:
    """Return the sample covariance from exact sums: no digit is lost before the last step."""
    return float((products.exact - a.exact * b.exact / n) / (n - 1))
