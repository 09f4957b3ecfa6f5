"""The exact sum of floats, rounded once: the same bits in any order, and over any shares."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np

from rankwise.core import kernels

__all__ = ["ExactTotal"]

_UNIT = 1074  # every float is a whole multiple of 2^-1074
_CHUNK = 1 << 14  # values per step: few enough to stay in the cache
_CARRY = 15  # log2(2 * _CHUNK): room above the largest value for a sum without rounding
_LARGEST = 1000  # exponents from which that room does not fit in a float


@dataclass(frozen=True)
class ExactTotal:
    """A sum of floats that has not been rounded, so that sums of shares add up to it.

    Attributes
    ----------
    units : int, default=0
        The sum of the finite terms, in multiples of 2^-1074.
    beyond : float, default=0.0
        The sum of the other terms: infinite, or NaN.

    Examples
    --------
    >>> values = np.array([1e100, 1.0, -1e100])
    >>> ExactTotal.of(values).value, float(values.sum())
    (1.0, 0.0)
    >>> here, there = ExactTotal.of(values[:1]), ExactTotal.of(values[1:])
    >>> here + there == ExactTotal.of(values)
    True
    """

    units: int = 0
    beyond: float = 0.0

    @classmethod
    def of(cls, values: Any) -> Self:
        """Return the sum of an array, shape (n,), of numbers."""
        array = np.asarray(values, dtype=np.float64)
        few = kernels.exact_parts(array)
        if few is not None:
            return cls(sum(map(_units, few)))
        finite = np.isfinite(array)
        beyond = 0.0
        if not finite.all():
            with np.errstate(invalid="ignore"):  # infinities of both signs have no sum
                beyond = float(np.sum(array[~finite]))
            array = array[finite]
        chunks = (array[start : start + _CHUNK] for start in range(0, len(array), _CHUNK))
        return cls(sum(_units(part) for chunk in chunks for part in _exact_parts(chunk)), beyond)

    @classmethod
    def of_known(cls, values: Any) -> tuple[Self, int]:
        """Return the sum of the numbers of an array, shape (n,), that are not NaN, and their count.

        >>> total, count = ExactTotal.of_known(np.array([0.5, np.nan, 2.0]))
        >>> total.value, count
        (2.5, 2)
        """
        array = np.asarray(values, dtype=np.float64)
        few = kernels.exact_parts(array)  # where it succeeds, no number is NaN
        if few is not None:
            return cls(sum(map(_units, few))), len(array)
        known = array[~np.isnan(array)]
        return cls.of(known), len(known)

    @classmethod
    def of_products(cls, left: Any, right: Any) -> ExactTotal:
        """Return the sum of the products of two arrays, shape (n,), none of which is rounded.

        A product is the sum of its rounded value and of what rounding took away, which is a float
        as well (Dekker 1971, A Floating-Point Technique for Extending the Available Precision).

        >>> ExactTotal.of_products(np.array([1e8 + 1]), np.array([1e8 - 1])).value
        9999999999999999.0
        """
        a, b = (np.asarray(values, dtype=np.float64) for values in (left, right))
        product = a * b
        (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
        rest = a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)
        return cls.of(product) + cls.of(rest)

    def __add__(self, other: ExactTotal) -> ExactTotal:
        return ExactTotal(self.units + other.units, self.beyond + other.beyond)

    def __sub__(self, other: ExactTotal) -> ExactTotal:
        return ExactTotal(self.units - other.units, self.beyond - other.beyond)

    @property
    def exact(self) -> Fraction:
        """The sum of the finite terms as a fraction."""
        return Fraction(self.units, 1 << _UNIT)

    @property
    def value(self) -> float:
        """The float nearest to the sum."""
        if self.beyond != 0.0:
            return self.beyond
        try:
            return self.units / (1 << _UNIT)  # whole numbers divide with one rounding
        except OverflowError:
            return math.inf if self.units > 0 else -math.inf


def _halves(values: Any) -> tuple[Any, Any]:
    """Split floats in two of 26 bits, whose products are exact."""
    shifted = values * 134217729.0  # 2^27 + 1
    high = shifted - (shifted - values)
    return high, values - high


def _units(value: float) -> int:
    numerator, denominator = float(value).as_integer_ratio()
    return numerator * ((1 << _UNIT) // denominator)


def _exact_parts(values: np.ndarray[Any, np.dtype[np.float64]]) -> Iterator[float]:
    """Yield floats with the same sum as these values, of which there are few.

    Adding a large power of two to every value and taking it away again leaves multiples of one
    unit, few enough for their sum to need no rounding; what they leave of the values is summed in
    the next step. This is the extraction of Rump, Ogita & Oishi 2008, Accurate Floating-Point
    Summation Part I, SIAM J. Sci. Comput. 31(1).
    """
    rest = values
    while largest := max(float(rest.max()), -float(rest.min())):
        exponent = math.frexp(largest)[1]
        if exponent > _LARGEST:
            yield from rest.tolist()
            return
        shift = math.ldexp(1.5, exponent + _CARRY)
        multiples = (rest + shift) - shift
        yield float(multiples.sum())
        rest = rest - multiples
