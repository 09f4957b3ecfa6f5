"""Threads: the same work on several processors, its results in the order of the jobs."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["default_threads", "each", "gather"]

_STEP = 1 << 18
_T = TypeVar("_T")
_S = TypeVar("_S")


def default_threads() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def each(work: Callable[[_S], _T], jobs: Iterable[_S], threads: int) -> Iterator[_T]:
    """Do the work for each job on some threads; results come in the order of the jobs.

    >>> list(each(lambda job: job * 2, [1, 2, 3], 2))
    [2, 4, 6]
    """
    if threads == 1:
        yield from map(work, jobs)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(work, jobs)


def gather(values: np.ndarray[Any, Any], rows: np.ndarray[Any, Any], threads: int) -> Any:
    """Return ``values[rows]``, gathered on some threads: memory waits, processors need not."""
    out = np.empty(len(rows), dtype=values.dtype)

    def work(first: int) -> None:
        part = slice(first, first + _STEP)
        np.take(values, rows[part], out=out[part], mode="clip")

    for _ in each(work, range(0, len(rows), _STEP), threads):
        pass
    return out
