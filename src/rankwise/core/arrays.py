"""What the array API standard lacks, and nothing else.

Measures are written against the standard, so that the same lines run on NumPy and on PyTorch.
The standard has no ``bincount``; it lives here, and so would any other missing function.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import array_api_compat

__all__ = ["Array", "array_like", "bincount", "count", "namespace", "whole_numbers_like"]

Array: TypeAlias = Any
"""An array of any library that follows the array API standard."""


def namespace(*arrays: Array) -> Any:
    """Return the array API namespace that the arrays belong to."""
    return array_api_compat.array_namespace(*arrays)


def array_like(like: Array, values: Array) -> Array:
    """Return an array in the library and on the device of another: the array itself if it is."""
    return namespace(like).asarray(values, device=array_api_compat.device(like))


def whole_numbers_like(like: Array, values: Sequence[int]) -> Array:
    """Return whole numbers as an array of the library and on the device of another array."""
    device = array_api_compat.device(like)
    return namespace(like).asarray(list(values), dtype=namespace(like).int64, device=device)


def bincount(index: Array, weights: Array, size: int) -> Array:
    """Return sums of weights by index, each sum taken in the order of the rows.

    Both NumPy and PyTorch on the CPU add one row after the other, so a sum depends on nothing but
    its own rows: results are therefore independent of how users are cut into blocks.

    Parameters
    ----------
    index : array of int, shape (n,)
        The sum that each weight is added to; values in [0, size).
    weights : array of float, shape (n,)
        What is added.
    size : int
        The number of sums.

    Returns
    -------
    array of float, shape (size,)
        The sums; 0 where no row points.

    Examples
    --------
    >>> import numpy as np
    >>> bincount(np.array([0, 2, 0]), np.array([1.0, 2.0, 3.0]), 3)
    array([4., 0., 2.])
    """
    xp = namespace(index, weights)
    # NumPy's sums of no rows are whole numbers.
    return xp.astype(xp.bincount(index, weights=weights, minlength=size), xp.float64, copy=False)


def count(index: Array, size: int) -> Array:
    """Return how often each number in [0, size) occurs in an array.

    Examples
    --------
    >>> import numpy as np
    >>> count(np.array([0, 2, 0]), 4).tolist()
    [2, 0, 1, 0]
    """
    return namespace(index).bincount(index, minlength=size)
