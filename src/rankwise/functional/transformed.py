"""Values of other metrics turned round or divided."""

from __future__ import annotations

import math

__all__ = ["complement", "ratio"]


def complement(value: float) -> float:
    """One minus a value.

    >>> complement(0.25)
    0.75
    """
    return 1.0 - value


def ratio(first: float, second: float) -> float:
    """One value divided by another; NaN where the other is 0.

    >>> ratio(1.0, 4.0), ratio(1.0, 0.0)
    (0.25, nan)
    """
    return first / second if second else math.nan
