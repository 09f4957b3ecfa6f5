"""Sums of floats that do not depend on the order of the terms.

Users come in blocks, in pieces and from several machines, and floats added in another order give
another last digit. Sums over users that are kept for every item are therefore sums of whole
numbers: a value is split into its whole part, multiples of 2^-26 and multiples of 2^-52, and each
of the three is summed exactly. The error is at most 2^-53 per term.

This is pre-rounding as in Demmel & Nguyen 2015, Parallel Reproducible Summation, IEEE Trans.
Computers 64(7), with fixed bit positions instead of positions chosen from the data.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rankwise.core.arrays import Array, namespace, refuse, sum_whole
from rankwise.errors import ScoreError

__all__ = ["LARGEST", "exact_sums", "read_sums"]

LARGEST = 2.0**30
"""The largest term: sums of 2^31 such terms, and of 2^23 in one block, are still exact."""
_UNITS = {"whole": 1.0, "middle": 2.0**26, "low": 2.0**52}


def exact_sums(index: Array, values: Array, size: int) -> dict[str, Array]:
    """Return sums of values by index, as whole numbers that add up exactly.

    Parameters
    ----------
    index : array of int, shape (n,)
        The sum that each value is added to; in [0, size).
    values : array of float, shape (n,)
        What is added, each within `LARGEST` of 0.
    size : int
        The number of sums.

    Returns
    -------
    dict of str to array of int, shape (size,)
        Three parts, each to be added up separately and read by `read_sums`.

    Raises
    ------
    ScoreError
        If a value is too large.

    Examples
    --------
    >>> parts = exact_sums(np.array([0, 0]), np.array([0.1, 0.2]), 1)
    >>> float(read_sums(parts)[0])
    0.3
    """
    xp = namespace(values)
    refuse(
        xp.abs(values) > LARGEST,
        lambda: ScoreError(
            "a score or a gain is too large to be added up exactly over users",
            found=f"{float(xp.max(xp.abs(values))):g}, at most {LARGEST:g}",
            hint="divide all of them by a power of two",
        ),
    )
    sums, remainder = {}, values
    for name, unit in _UNITS.items():
        part = xp.round(remainder * unit)
        sums[name] = sum_whole(index, part, size)
        remainder = remainder - part / unit
    return sums


def read_sums(parts: Mapping[str, Array]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the sums, as floats, from their exact parts."""
    whole, middle, low = (np.asarray(parts[name]) / unit for name, unit in _UNITS.items())
    total: np.ndarray[tuple[int], np.dtype[np.float64]] = whole + (middle + low)
    return total
