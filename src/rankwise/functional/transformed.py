"""Complements and ratios of other metrics' values."""

from __future__ import annotations

import math

__all__ = ["complement", "ratio"]


def complement(value: float) -> float:
    """Complement: one minus a value.

    >>> complement(0.25)
    0.75
    """
    return 1.0 - value


def ratio(first: float, second: float) -> float:
    """Ratio: one value divided by another; NaN if the other is 0.

    >>> ratio(1.0, 4.0), ratio(1.0, 0.0)
    (0.25, nan)
    """
    return first / second if second else math.nan
