"""Threads: the same work on several processors, its results in the order of the jobs."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["default_threads", "each", "gather", "one_blas_thread"]

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


class _Guard:
    """How many blocks of work want BLAS on one thread, and what to give back after the last."""

    lock = threading.Lock()
    inside = 0
    limits: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep matrix products on one thread each, while threads of ours run side by side.

    With threads of their own they would stand in each other's way, and could give another last
    digit. The limit is the process's, so it is set by the first who enters and lifted by the last
    who leaves.
    """
    from threadpoolctl import threadpool_limits

    with _Guard.lock:
        if not _Guard.inside:
            _Guard.limits = threadpool_limits(limits=1, user_api="blas")
        _Guard.inside += 1
    try:
        yield
    finally:
        with _Guard.lock:
            _Guard.inside -= 1
            if not _Guard.inside:
                _Guard.limits.restore_original_limits()


def gather(values: np.ndarray[Any, Any], rows: np.ndarray[Any, Any], threads: int) -> Any:
    """Return ``values[rows]``, gathered on some threads: memory waits, processors need not."""
    out = np.empty(len(rows), dtype=values.dtype)

    def work(first: int) -> None:
        part = slice(first, first + _STEP)
        np.take(values, rows[part], out=out[part], mode="clip")

    for _ in each(work, range(0, len(rows), _STEP), threads):
        pass
    return out
