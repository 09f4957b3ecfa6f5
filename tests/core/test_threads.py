"""Threads, and processes that have lost them."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from rankwise.core.kernels import gather


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
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    assert out.startswith("1.0\nthis process was forked from one that had used rankwise")
    assert 'get_context("spawn")' in out
