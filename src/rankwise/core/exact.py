"""Sums of floats that do not depend on the order of the terms.

Users come in blocks, in pieces and from several machines, and floats added in another order give
another last digit. A sum over users that is kept for every item is therefore taken of whole
numbers: a value is split into two, multiples of 2^-20 and what is left in multiples of 2^-50, and
each is summed exactly. What is lost is less than 2^-51 a term.

This is pre-rounding as in Demmel & Nguyen 2015, Parallel Reproducible Summation, IEEE Trans.
Computers 64(7), with fixed places in the stead of places chosen from the data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankwise.core.backend import Array, bincount, namespace

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LARGEST", "exact_sums", "read_sums"]

LARGEST = 2.0**30
"""Values above this cannot be summed exactly."""
_HIGH, _LOW = 2.0**20, 2.0**50


def exact_sums(index: Array, values: Array, size: int) -> dict[str, Array]:
    """Sum values by index, as whole numbers that add up exactly.

    Parameters
    ----------
    index : array of int, shape (n,)
        Where each value goes; in [0, size).
    values : array of float, shape (n,)
        What is added, each within `LARGEST` of 0.
    size : int
        The number of sums.

    Returns
    -------
    dict of str to array of int, shape (size,)
        Two parts, to be added up each on its own and read by `read_sums`.

    Examples
    --------
    >>> parts = exact_sums(np.array([0, 0]), np.array([0.1, 0.2]), 1)
    >>> float(read_sums(parts)[0])
    0.3
    """
    xp = namespace(values)
    high = xp.round(values * _HIGH)
    low = xp.round((values - high / _HIGH) * _LOW)
    return {
        name: xp.astype(bincount(index, part, size), xp.int64)
        for name, part in (("high", high), ("low", low))
    }


def read_sums(parts: Mapping[str, Array]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Turn the two parts of exact sums into floats."""
    high, low = np.asarray(parts["high"]), np.asarray(parts["low"])
    out: np.ndarray[tuple[int], np.dtype[np.float64]] = high / _HIGH + low / _LOW
    return out
