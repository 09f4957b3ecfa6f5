"""Array functions that the array API standard lacks, such as ``bincount``.

Measures are written against the standard, so that the same code runs on NumPy and on PyTorch.

An accelerator works asynchronously: reading a value (``int``, ``bool``, the size of a selection)
waits until all previous work is done. Functions that read values do so only for NumPy
(`is_tensor`), and checks of values wait until the end of a block (`refuse`, `checks_at_end`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias

import array_api_compat
import numpy as np

__all__ = [
    "Array",
    "bincount",
    "checks_at_end",
    "count",
    "is_tensor",
    "namespace",
    "refuse",
    "sum_whole",
    "whole_numbers_like",
]

Array: TypeAlias = Any
"""An array of any library that follows the array API standard."""

_CHECKS: ContextVar[list[tuple[Array, Callable[[], Exception]]] | None] = ContextVar("checks", default=None)


def namespace(*arrays: Array) -> Any:
    """Return the array API namespace that the arrays belong to."""
    # NumPy follows the standard itself from 2.1 on; loading the wrapper for it takes 60 ms.
    if all(type(array) is np.ndarray for array in arrays):
        return np
    return array_api_compat.array_namespace(*arrays)


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
    if _is_on_accelerator(index):
        # `bincount` would add in any order there, and wait for the largest index. This sorts by
        # index, stably: a sum depends on its own rows alone, and has the same bits every time.
        sums = xp.zeros(size, dtype=xp.float64, device=index.device)
        return sums.index_put_((index,), weights.to(sums.dtype), accumulate=True)
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
    if is_tensor(index):
        return sum_whole(index, namespace(index).ones_like(index), size)
    return namespace(index).bincount(index, minlength=size)


def sum_whole(index: Array, weights: Array, size: int) -> Array:
    """Return sums of whole numbers by index; any order of adding gives the same.

    Examples
    --------
    >>> import numpy as np
    >>> sum_whole(np.array([0, 2, 0]), np.array([1, 2, 3]), 3).tolist()
    [4, 0, 2]
    """
    xp = namespace(index, weights)
    weights = xp.astype(weights, xp.int64, copy=False)
    if is_tensor(index):  # `bincount` would wait for the largest index
        return weights.new_zeros(size).index_add_(0, index, weights)
    return xp.astype(xp.bincount(index, weights=weights, minlength=size), xp.int64)


def is_tensor(array: Array) -> bool:
    """Whether an array is a tensor of PyTorch, whose values may be on an accelerator.

    Tensors on the CPU are treated in the same way, so that the code for accelerators is tested.
    """
    return bool(array_api_compat.is_torch_array(array))


def refuse(bad: Array, error: Callable[[], Exception]) -> None:
    """Raise if any entry is true: at once, or at the end of `checks_at_end` for tensors.

    Parameters
    ----------
    bad : array of bool
        True where a value is not allowed.
    error : callable
        Returns the error; it may read values.
    """
    checks = _CHECKS.get()
    found = namespace(bad).any(bad)
    if checks is not None and is_tensor(bad):
        checks.append((found, error))
    elif bool(found):
        raise error()


@contextmanager
def checks_at_end() -> Iterator[None]:
    """Read all checks of tensors together, at the end; the first that fails raises.

    The code inside must tolerate bad values: an index is clamped before it is used. An error inside
    drops the checks. Never ``yield`` inside: the caller would run without checks.
    """
    checks: list[tuple[Array, Callable[[], Exception]]] = []
    token = _CHECKS.set(checks)
    try:
        yield
    finally:
        _CHECKS.reset(token)
    if checks:
        found = namespace(checks[0][0]).stack([flag for flag, _ in checks]).tolist()
        for is_bad, (_, error) in zip(found, checks, strict=True):
            if is_bad:
                raise error()


def _is_on_accelerator(array: Array) -> bool:
    return is_tensor(array) and array_api_compat.device(array).type != "cpu"
