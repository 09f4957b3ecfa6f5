"""Statistics over users other than the mean, of per-user values where NaN is no value."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from rankwise.errors import ParameterError
from rankwise.functional.accuracy import as_written, is_number

__all__ = ["geometric_mean_of_users", "micro", "quantile_of_users", "worst_share"]


def _defined(values: Iterable[float]) -> list[float]:
    """Return the values that are not NaN, in ascending order."""
    return sorted(value for value in values if not math.isnan(value))


def micro(values: Sequence[tuple[float, float]]) -> float:
    """Micro-average: sum of the users' numerators over the sum of their denominators.

    ``values`` has a pair (numerator, denominator) for each user; pairs with NaN are left out. With
    hits over min(k, relevant items), this is the precision of the library implicit.

    >>> micro([(1, 2), (0, 6)])
    0.125
    """
    defined = [pair for pair in values if not any(map(math.isnan, pair))]
    total = sum(denominator for _, denominator in defined)
    return sum(numerator for numerator, _ in defined) / total if total else math.nan


def quantile_of_users(values: Iterable[float], q: float = 0.1) -> float:
    """Return a quantile of the users' values, with linear interpolation, the default of NumPy.

    >>> quantile_of_users([0.0, 1.0, 0.5, math.nan], 0.25)
    0.25
    """
    if not (is_number(q) and 0 <= q <= 1):
        raise ParameterError("q must lie in [0, 1]", found=f"q={q!r}")
    defined = _defined(values)
    if not defined:
        return math.nan
    place = (len(defined) - 1) * q
    below = math.floor(place)
    above = min(below + 1, len(defined) - 1)
    part = place - below
    return (1 - part) * defined[below] + part * defined[above] if part else defined[below]


def worst_share(values: Iterable[float], share: float = 0.1, *, higher_is_better: bool = True) -> float:
    """Mean of the worst-served share of users: ceil(share · n) of the n users with a value.

    These have the lowest values, or the highest with ``higher_is_better=False``.

    >>> worst_share([0.5, 0.0, 1.0, 0.75], 0.5)
    0.25
    """
    if not (is_number(share) and 0 < share <= 1):
        raise ParameterError("share must lie in (0, 1]", found=f"share={share!r}")
    defined = _defined(values)
    if not defined:
        return math.nan
    n = max(1, math.ceil(as_written(share) * len(defined)))
    worst = defined[:n] if higher_is_better else defined[-n:]
    return sum(worst) / n


def geometric_mean_of_users(values: Iterable[float], floor: float = 1e-5) -> float:
    """Geometric mean of the users' values; values below ``floor`` are raised to it.

    For average precisions, this is gm_map of trec_eval.

    >>> round(geometric_mean_of_users([1.0, 0.25]), 6)
    0.5
    """
    if not (is_number(floor) and floor > 0):
        raise ParameterError("floor must be a number above 0", found=f"floor={floor!r}")
    defined = _defined(values)
    if not defined:
        return math.nan
    return math.exp(sum(math.log(max(value, floor)) for value in defined) / len(defined))
