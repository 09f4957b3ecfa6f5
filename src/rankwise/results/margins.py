"""Margins: the largest differences that do not matter, as numbers or shares of the baseline."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping
from typing import Any, TypeAlias

from rankwise.core.arguments import check_number
from rankwise.errors import ParameterError
from rankwise.results.result import Result
from rankwise.stats.values import check_above_zero

__all__ = ["Margin", "check_difference", "check_margin", "margin_flags", "margin_of", "margins_by_cell", "size_of"]

Margin: TypeAlias = float | str | Mapping[str, float | str] | None
"""The largest difference that does not matter: a number, or a share such as ``"1%"``."""


def margins_by_cell(margin: Margin, result: Result) -> float | str | dict[str, Any] | None:
    """Return margins by the canonical names of measures, or the one margin of all measures."""
    if isinstance(margin, Mapping):
        return {result.cell(name): check_margin(size) for name, size in margin.items() if size is not None}
    return None if margin is None else check_margin(margin)


def check_margin(size: float | str) -> float | str:
    """Check a margin: a number above 0, or a share of the baseline's mean as ``"1%"``."""
    checked = check_difference(size, "margin", above=0.0)
    if not isinstance(checked, str):
        check_above_zero("margin", size)
    return checked


def check_difference(size: float | str, name: str = "difference", *, above: float = -math.inf) -> float | str:
    """Check a difference: a number, or a share of the baseline's mean as ``"1%"``, ``above`` a limit.

    >>> check_difference(0.01), check_difference("-5%")
    (0.01, '-5%')
    """
    if isinstance(size, str):
        text = size.strip().removesuffix("%")
        with contextlib.suppress(ValueError):
            if size.strip().endswith("%") and above < float(text) < math.inf:
                return size.strip()
        raise ParameterError(f"a {name} is a number, or a share such as '1%'", found=repr(size))
    check_number(name, size)
    return float(size)


def margin_of(margin: Margin, cell: str) -> float | str | None:
    """Return the margin of one measure, of those by measure or the one of all."""
    return margin.get(cell) if isinstance(margin, Mapping) else margin


def size_of(margin: float | str | None, baseline_mean: float) -> float | None:
    """Return a margin as a number; a share is one of the baseline's mean.

    A share of 0 is 0: no loss is allowed, so only a better system is within it.

    >>> size_of("2%", 0.5), size_of(0.1, 0.5), size_of("2%", 0.0), size_of(None, 0.5)
    (0.01, 0.1, 0.0, None)
    """
    if not isinstance(margin, str):
        return margin
    size = float(margin.removesuffix("%")) / 100 * abs(baseline_mean)
    return None if math.isnan(size) else size


def margin_flags(margin: float | str | None, baseline_mean: float) -> list[str]:
    """Return the caveat of a margin that is a share of a baseline of 0.

    >>> margin_flags("2%", 0.0)
    ['2% of a baseline of 0 is no margin: only a better system is within it; pass a number as the margin']
    >>> margin_flags("2%", 0.5), margin_flags(0.1, 0.0)
    ([], [])
    """
    if not isinstance(margin, str) or baseline_mean != 0:
        return []
    return [f"{margin} of a baseline of 0 is no margin: only a better system is within it; pass a number as the margin"]
