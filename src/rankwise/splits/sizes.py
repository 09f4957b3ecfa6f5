"""Sizes of parts: shares, seeds and folds checked, and one rounding rule for all splits."""

from __future__ import annotations

from fractions import Fraction
from typing import TypeVar

import numpy as np

from rankwise.core.arguments import check_count
from rankwise.core.ragged import Ints
from rankwise.errors import ParameterError

__all__ = ["MAX_FOLDS", "check_folds", "check_seed", "check_share", "rounded"]

MAX_FOLDS = 1_000_000
"""The largest number of folds: each costs a pass over the table."""

_Size = TypeVar("_Size", int, Ints)


def check_share(name: str, share: object) -> None:
    """Raise unless a share lies between 0 and 1."""
    number = isinstance(share, int | float | np.number) and not isinstance(share, bool)
    if not number or not 0 < share < 1:  # type: ignore[operator]
        raise ParameterError(
            f"{name} must lie between 0 and 1",
            found=f"{name}={share!r}",
            hint="0.2 keeps a fifth of the rows for testing",
        )


def check_seed(seed: object) -> None:
    """Raise unless a seed is a whole number of at most 64 bits."""
    if not isinstance(seed, int | np.integer) or isinstance(seed, bool):
        raise ParameterError("a seed is a whole number", found=f"seed={seed!r}")
    if not -(2**63) <= seed < 2**64:
        raise ParameterError("a seed has at most 64 bits", found=f"{int(seed).bit_length()} bits")


def check_folds(*, least: int = 2, **values: int) -> None:
    """Raise unless each value is a possible number of folds."""
    check_count(least=least, **values)
    for name, value in values.items():
        if value > MAX_FOLDS:
            raise ParameterError(
                f"{name} must be at most {MAX_FOLDS:,}",
                found=f"{name}={value}",
                hint="every fold is a pass over the table",
            )


def rounded(share: float, size: _Size) -> _Size:
    """Return r·n, the share r of n rows, rounded half up.

    The share is read as the decimal that it is written as: 0.29 of 50 rows is 14.5, and hence 15,
    although the binary number nearest to 0.29 is slightly smaller.

    >>> rounded(0.2, 12), rounded(0.29, 50), rounded(1 / 3, 3)
    (2, 15, 1)
    """
    exact = Fraction(repr(float(share))).limit_denominator(10**11)
    above, below = exact.numerator, exact.denominator
    return (2 * above * size + below) // (2 * below)
