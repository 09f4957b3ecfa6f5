"""Values as arrays of floats, checked and described; and the levels of tests and intervals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, TypeAlias

import numpy as np

from rankwise.core.exact_total import ExactTotal
from rankwise.errors import InputError, ParameterError

__all__ = ["Floats", "Side", "check_above_zero", "check_level", "column", "numbers", "significant_digits"]

Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]


def numbers(name: str, values: Any) -> Floats:
    """Return values as an array of floats; raise if they are anything else."""
    if np.ma.isMaskedArray(values):
        raise InputError(
            f"{name} is a masked array, and its mask would be ignored",
            hint="pass the values that are not masked: x.compressed()",
        )
    try:
        if np.asarray(values).dtype.kind != "c":  # their imaginary parts would be dropped
            return np.asarray(values, dtype=np.float64)
        raise TypeError("complex numbers")
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} holds no numbers", found=repr(values)[:80]) from error


def column(name: str, values: Any) -> Floats:
    """Return values as an array of floats, shape (n,); raise if they are anything else."""
    out = numbers(name, values)
    if out.ndim != 1:
        raise InputError(f"{name} has one number per user", found=f"shape {out.shape}")
    if np.isinf(out).any():
        raise InputError(f"{name} holds an infinite value")
    return out


def significant_digits(values: Floats, digits: int = 12) -> Floats:
    """Round to significant digits, so that values that differ only by rounding become equal.

    >>> bool(significant_digits(np.array([0.1 + 0.2]))[0] == 0.3)
    True
    """
    with np.errstate(divide="ignore"):
        exponents = np.floor(np.log10(np.abs(values)))
    exponents = np.where(np.isfinite(exponents), np.clip(exponents, -280, 280), 0)
    scale = 10.0 ** (digits - 1 - exponents)
    out: Floats = np.round(values * scale) / scale
    return out


def check_level(name: str, level: object) -> None:
    """Raise unless a level lies between 0 and 1."""
    number = isinstance(level, int | float | np.number) and not isinstance(level, bool)
    if not number or not 0 < level < 1:  # type: ignore[operator]
        raise ParameterError(f"{name} must lie between 0 and 1", found=f"{name}={level!r}")


def check_above_zero(name: str, value: object) -> None:
    """Raise unless a value is a number above 0."""
    if not isinstance(value, Real) or not float(value) > 0:
        raise ParameterError(f"{name} must be above 0", found=f"{name}={value!r}")


@dataclass(frozen=True, eq=False)
class Side:
    """The values of one system; quantities that all its pairs share are computed once."""

    values: Floats

    @cached_property
    def total(self) -> ExactTotal:
        """The sum, which is not rounded."""
        return ExactTotal.of(self.values)

    @cached_property
    def mean(self) -> float:
        """The mean, of which the sum is rounded once, as in results."""
        return self.total.value / len(self.values)

    @cached_property
    def variance(self) -> float:
        """The sample variance (n − 1)."""
        return float(self.values.var(ddof=1))
