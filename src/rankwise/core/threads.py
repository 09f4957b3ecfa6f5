"""Threads: the same work on several processors, with results in the order of the jobs."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sized
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from rankwise.errors import UsageError

__all__ = ["check_not_forked", "default_threads", "each", "gather", "one_blas_thread", "shares"]

_STEP = 1 << 18
_process: list[int] = []
"""The process that first read a table, whose threads no forked process has."""
_T = TypeVar("_T")
_S = TypeVar("_S")


def default_threads() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_not_forked() -> None:
    """Raise in a process that was forked from one that had read tables already.

    Polars' threads do not survive a fork, and the child would wait for them without end.
    """
    if not _process:
        _process.append(os.getpid())
    elif _process[0] != os.getpid():
        raise UsageError(
            "this process was forked from one that had used rankwise, and its threads are gone",
            found=f"process {os.getpid()}, forked from {_process[0]}",
            hint='start processes with multiprocessing.get_context("spawn")',
        )


def each(work: Callable[[_S], _T], jobs: Iterable[_S], threads: int) -> Iterator[_T]:
    """Yield the result of each job, done on several threads, in the order of the jobs.

    >>> list(each(lambda job: job * 2, [1, 2, 3], 2))
    [2, 4, 6]
    """
    if threads == 1 or (isinstance(jobs, Sized) and len(jobs) < 2):  # a pool costs time
        yield from map(work, jobs)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(work, jobs)


def shares(n: int, threads: int) -> list[tuple[int, int]]:
    """Return where the share of each thread starts and ends, of n things in a row.

    >>> shares(7, 2)
    [(0, 3), (3, 7)]
    """
    edges = [at * n // threads for at in range(threads + 1)]
    return list(pairwise(edges))


class _BlasLimit:
    """How many contexts limit BLAS to one thread, and the limit to restore after the last."""

    lock = threading.Lock()
    depth = 0
    limits: Any = None
    controller: Any = None
    n_modules = 0

    @classmethod
    def libraries(cls) -> Any:
        """Return what controls BLAS libraries; they are sought anew once a module was imported."""
        from threadpoolctl import ThreadpoolController

        if cls.n_modules != len(sys.modules):
            cls.controller = ThreadpoolController()
            cls.n_modules = len(sys.modules)
        return cls.controller


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit each matrix product to one thread, while several threads compute such products.

    With threads of their own they would compete for processors, and could give another last
    digit. The limit holds for the process: the first context sets it, the last restores it.
    """
    with _BlasLimit.lock:
        if not _BlasLimit.depth:
            _BlasLimit.limits = _BlasLimit.libraries().limit(limits=1, user_api="blas")
        _BlasLimit.depth += 1
    try:
        yield
    finally:
        with _BlasLimit.lock:
            _BlasLimit.depth -= 1
            if not _BlasLimit.depth:
                _BlasLimit.limits.restore_original_limits()


def gather(values: np.ndarray[Any, Any], rows: np.ndarray[Any, Any], threads: int) -> Any:
    """Return ``values[rows]``, gathered on several threads to hide memory latency."""
    out = np.empty(len(rows), dtype=values.dtype)

    def work(first: int) -> None:
        chunk = slice(first, first + _STEP)
        np.take(values, rows[chunk], out=out[chunk], mode="clip")

    for _ in each(work, range(0, len(rows), _STEP), threads):
        pass
    return out
