"""Margins: the largest difference that does not matter, as it is asked, as a number, and in words."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from rankwise.core.arguments import check_number
from rankwise.core.terminal import brief
from rankwise.errors import ParameterError
from rankwise.messages import parameter
from rankwise.results.intervals import range_of
from rankwise.results.result import Result
from rankwise.stats.differences import check_above_zero
from rankwise.stats.equivalence import Margin as MarginSize

Margin: TypeAlias = float | str | Mapping[str, float | str] | None
"""The largest difference that does not matter: a number, or a share such as ``"1%"``."""


def margins_by_cell(
    margin: Margin, result: Result, cells: Iterable[str] = ()
) -> float | str | dict[str, Any] | None:
    """Return margins by canonical names of metrics, or one margin for all compared metrics."""
    if isinstance(margin, Mapping):
        margins = {
            result.cell(name): check_margin(size)
            for name, size in margin.items()
            if size is not None
        }
        for cell, size in margins.items():
            check_within_range(size, cell, result)
        return margins
    if margin is None:
        return None
    checked = check_margin(margin)
    for cell in cells:
        check_within_range(checked, cell, result)
    return checked


LargestLoss: TypeAlias = float | Mapping[str, float] | None
"""The largest loss of one user that is taken to be possible; by default the range of the metric."""


def largest_losses_by_cell(
    loss: LargestLoss, result: Result, cells: Iterable[str]
) -> dict[str, float]:
    """Return stated largest losses by canonical names of metrics.

    Raises
    ------
    ParameterError
        If a loss is not above 0, or above the range of its metric.
    """
    if loss is None:
        return {}
    if isinstance(loss, Mapping):
        named = {result.cell(name): size for name, size in loss.items() if size is not None}
    else:
        named = dict.fromkeys(cells, loss)
    stated = {}
    for cell, size in named.items():
        check_above_zero("largest_loss", size)
        low, high = range_of(result.metrics, cell)
        if size > high - low and isinstance(loss, Mapping):
            raise ParameterError(
                f"no user can lose {size:g} of {cell}, whose values differ by {high - low:g} at most",
                found=parameter("largest_loss", loss),
            )
        stated[cell] = min(float(size), float(high - low))
    return stated


def check_within_range(margin: float | str, cell: str, result: Result) -> None:
    """Raise if a margin allows every loss: as large as the metric's range or the baseline's mean.

    Where lower values are better, a loss of more than the mean of the baseline is possible.
    """
    low, high = range_of(result.metrics, cell)
    if isinstance(margin, str):
        everything = (
            result.direction(cell) is not False
            and low >= 0
            and float(margin.removesuffix("%")) >= 100
        )
        largest = "100%"
    else:
        everything, largest = margin >= high - low, f"{high - low:g}"
    if everything:
        raise ParameterError(
            f"a margin of {margin} allows every loss of {cell}: no difference is larger than "
            f"{largest}",
            where=cell,
            found=f"{margin!r}",
            hint="write a share of the baseline's mean, such as '1%', or a number smaller than the "
            "range of the metric",
        )


def check_margin(size: float | str) -> float | str:
    """Check a margin: a number above 0, or a share of the baseline's mean as ``"1%"``."""
    checked = check_difference(size, "margin", above=0.0)
    if not isinstance(checked, str):
        check_above_zero("margin", size)
    return checked


def check_difference(
    size: float | str, name: str = "difference", *, above: float = -math.inf
) -> float | str:
    """Check a difference ``above`` a limit: a number, or a share of the baseline's mean, ``"1%"``.

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
    """Return the margin of one metric, from margins by metric or one margin for all metrics."""
    return margin.get(cell) if isinstance(margin, Mapping) else margin


def size_of(margin: float | str | None, baseline_mean: float) -> float | None:
    """Return a margin as a number; a relative margin is a share of the baseline's mean.

    >>> size_of("2%", 0.5), size_of(0.1, 0.5), size_of("2%", 0.0), size_of(None, 0.5)
    (0.01, 0.1, 0.0, None)
    """
    if not isinstance(margin, str):
        return margin
    size = float(margin.removesuffix("%")) / 100 * abs(baseline_mean)
    return None if math.isnan(size) else size


def margin_test(margin: float | str | None) -> MarginSize | None:
    """Return a margin for tests, which know the share of a relative one, not its size.

    >>> margin_test("2%"), margin_test(0.1)
    (Margin(size=0.02, relative=True), Margin(size=0.1, relative=False))
    """
    if isinstance(margin, str):
        return MarginSize(float(margin.removesuffix("%")) / 100, relative=True)
    return None if margin is None else MarginSize(margin)


_NO_BOUND = "margin tested by t: a rare large loss that was not drawn is not excluded"


def margin_flags(
    margin: float | str | None, baseline_mean: float, *, bounded: bool = True
) -> list[str]:
    """Return the caveats of a margin: a share of a baseline of 0, and a test by t.

    >>> margin_flags("2%", 0.0)
    ['2% of a baseline of 0 is no margin, and nothing is shown: pass a number as the margin']
    >>> margin_flags("2%", 0.5), margin_flags(0.1, 0.0)
    ([], [])
    >>> margin_flags(0.1, 0.5, bounded=False)
    ['margin tested by t: a rare large loss that was not drawn is not excluded']
    """
    if margin is None:
        return []
    if isinstance(margin, str) and baseline_mean == 0:
        return [
            (
                f"{margin} of a baseline of 0 is no margin, and nothing is shown: pass a number as the "
                "margin"
            )
        ]
    return [] if bounded else [_NO_BOUND]


def margin_text(margin: float | str) -> str:
    """Return a margin for readers.

    >>> margin_text("5%"), margin_text(0.002)
    ('5 %', '0.00200')
    """
    return margin.replace("%", " %") if isinstance(margin, str) else brief(margin)
