"""Threads, and processes that have lost them."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from rankwise.core import kernels
from rankwise.core.kernels import (
    check_not_forked,
    default_threads,
    gather,
    map_threads,
    one_blas_thread,
    split_range,
)
from rankwise.errors import UsageError


@pytest.mark.parametrize("n", [0, 1, 2**18, 2**18 + 3])
def test_gathered_rows_are_those_of_one_thread(n):
    values = np.arange(5, 105)
    rows = np.random.default_rng(n).integers(0, 100, n)
    assert gather(values, rows, 3).tolist() == values[rows].tolist()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_of_a_process_that_evaluated_is_told_and_does_not_hang():
    """Polars' threads do not survive a fork: the child would wait for them for good."""
    code = (
        "import multiprocessing as mp, rankwise as rw\n"
        "def go(_):\n"
        "    try:\n"
        "        rw.rank([[0.5, 0.2]], 1)\n"
        "        return rw.evaluate({1: [2]}, {1: {2}}, 'mrr')['mrr']\n"
        "    except rw.RankwiseError as error:\n"
        "        return str(error)\n"
        "if __name__ == '__main__':\n"
        "    with mp.get_context('fork').Pool(1) as pool:\n"
        "        print(pool.apply(go, (1,)))\n"
        "    go(0)\n"
        "    with mp.get_context('fork').Pool(1) as pool:\n"
        "        print(pool.apply(go, (1,)))\n"
    )
    out = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout
    assert out.startswith("1.0\nthis process was forked from one that had used rankwise")
    assert 'get_context("spawn")' in out


def test_as_many_threads_as_processors_that_this_process_may_use(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 3, 5}, raising=False)
    assert default_threads() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    for processors, expected in ((6, 6), (None, 1)):
        monkeypatch.setattr(os, "cpu_count", lambda processors=processors: processors)
        assert default_threads() == expected


def test_a_forked_process_is_refused_and_told_its_parent(monkeypatch):
    monkeypatch.setattr(kernels, "_process", [])
    monkeypatch.setattr(os, "getpid", lambda: 41)
    check_not_forked()
    check_not_forked()
    monkeypatch.setattr(os, "getpid", lambda: 42)
    for _ in range(2):
        with pytest.raises(UsageError, match="forked from one that had used rankwise") as caught:
            check_not_forked()
        assert caught.value.found == "process 42, forked from 41"


@pytest.mark.parametrize("jobs", [[], [3], [3, 4, 5], range(3, 8)])
@pytest.mark.parametrize("threads", [1, 2])
def test_results_come_in_the_order_of_the_jobs(jobs, threads):
    assert list(map_threads(lambda job: 2 * job, jobs, threads)) == [2 * job for job in jobs]
    assert list(map_threads(lambda job: 2 * job, iter(jobs), threads)) == [2 * job for job in jobs]


def test_jobs_run_on_threads_of_a_pool_only_if_there_are_several():
    def thread(job):
        return threading.current_thread() is threading.main_thread()

    assert list(map_threads(thread, [1, 2], 1)) == [True, True]
    assert list(map_threads(thread, [1], 2)) == [True]
    assert (
        list(map_threads(thread, [1, 2], 2))
        == list(map_threads(thread, iter([1]), 2)) * 2
        == [False, False]
    )


@pytest.mark.parametrize(("n", "threads"), [(0, 1), (0, 3), (1, 3), (7, 2), (9, 3), (10, 4)])
def test_shares_follow_one_another_and_differ_by_one_row(n, threads):
    parts = split_range(n, threads)
    assert len(parts) == threads
    assert [row for first, stop in parts for row in range(first, stop)] == list(range(n))
    lengths = [stop - first for first, stop in parts]
    assert max(lengths) - min(lengths) <= 1


class Limits:
    """Stands for the limits of BLAS libraries: notes what is asked of them."""

    def __init__(self):
        self.asked = []

    def limit(self, **options):
        self.asked.append(options)
        return self

    def restore_original_limits(self):
        self.asked.append("restored")


def test_the_first_context_limits_blas_and_the_last_restores_it(monkeypatch):
    limits = Limits()
    monkeypatch.setattr(kernels._BlasLimit, "libraries", lambda: limits)
    one = [{"limits": 1, "user_api": "blas"}]
    for _ in range(2):
        limits.asked.clear()
        with one_blas_thread():
            with pytest.raises(KeyError), one_blas_thread():
                raise KeyError
            assert limits.asked == one
        assert limits.asked == [*one, "restored"]


def test_libraries_of_blas_are_sought_again_once_a_module_was_imported(monkeypatch):
    monkeypatch.setattr(kernels._BlasLimit, "n_modules", 0)
    monkeypatch.setattr(kernels._BlasLimit, "controller", None)
    first = kernels._BlasLimit.libraries()
    assert first is not None
    assert kernels._BlasLimit.libraries() is first
    monkeypatch.setitem(sys.modules, "rankwise_has_imported_this", sys)
    second = kernels._BlasLimit.libraries()
    assert second is not first
    assert kernels._BlasLimit.libraries() is second
