"""Measure the road from tables to results: ``python benchmarks/road.py``.

Prints a Markdown table of ratios, all from this one run. See README.md beside this file.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import memory
import numpy as np
import workload
from timing import Line, in_turns, markdown, ratio

import peers
import rankwise as rw

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from workload import Workload

ASKED = [f"{name}@{list(peers.CUTOFFS)}" for name in peers.MEASURES]
MEMORY_TARGET = 2.5
TINY = "import rankwise as rw; rw.evaluate({'ann': ['a', 'b']}, {'ann': {'b'}}, 'ndcg@2')"


def ours(work: Workload) -> rw.Result:
    """Evaluate with rankwise."""
    return rw.evaluate(work.recs, work.truth, ASKED, progress=False)


def check_equal(work: Workload) -> None:
    """Raise unless rankwise and the Polars program find the same, in the mean and a user."""
    result = ours(work)
    means, per_user = peers.solution(work.recs, work.truth)
    theirs = per_user.sort("user")
    assert result.per_user["user"].equals(theirs["user"])
    for name, mean in means.items():
        assert abs(mean - result[name]) <= 1e-9, (name, mean, result[name])
        np.testing.assert_allclose(theirs[name], result.per_user[name], rtol=0, atol=1e-9)


def against_polars(what: str, work: Workload, least: float) -> Line:
    """Compare with Polars in turns."""
    check_equal(work)
    mine, theirs = in_turns([lambda: ours(work), lambda: peers.solution(work.recs, work.truth)])
    note = f"{statistics.median(mine):.2f} s, Polars {statistics.median(theirs):.2f} s"
    return Line(f"{what}: faster than Polars", ratio(theirs, mine), least=least, note=note)


def grouped(scale: int) -> Iterator[Line]:
    """Rows that lie as they should, against Polars and against reading them once."""
    work = workload.movielens(workload.MOVIELENS_USERS // scale)
    line = against_polars("grouped, ranked", work, least=2.5)
    yield Line(line.what, line.found, least=line.least, note=f"{line.note}; stretch 5×")
    mine, once = in_turns([lambda: ours(work), lambda: peers.floor(work.recs)])
    note = f"a pass {statistics.median(once) * 1000:.1f} ms; stretch 5"
    yield Line(
        "grouped, ranked: NumPy passes over the columns",
        ratio(mine, once), " passes", most=10, note=note,
    )  # fmt: skip


def shuffled_rank(scale: int) -> Iterator[Line]:
    """Rows in any order, with ranks."""
    work = workload.shuffled(workload.movielens(workload.MOVIELENS_USERS // scale))
    yield against_polars("shuffled, with rank", work, least=1)


def shuffled_score(scale: int) -> Iterator[Line]:
    """Rows in any order, with scores."""
    yield against_polars("shuffled, with score", _shuffled_score(scale), least=3)


def _shuffled_score(scale: int) -> Workload:
    lists = workload.movielens(workload.MOVIELENS_USERS // scale)
    return workload.shuffled(workload.scored(lists))


def strings(scale: int) -> Iterator[Line]:
    """Ids that are text."""
    work = workload.strings(workload.movielens(workload.MOVIELENS_USERS // scale))
    yield against_polars("text ids, grouped, ranked", work, least=2)


def memory_peak(scale: int) -> Iterator[Line]:
    """Peak memory over the size of the input."""
    for what, work in (
        ("grouped, ranked", workload.movielens(workload.MOVIELENS_USERS // scale)),
        ("shuffled, with score", _shuffled_score(scale)),
    ):
        found, note = memory.measure(work)
        yield Line(f"{what}: peak memory over input", found, most=MEMORY_TARGET, note=note)


def catalogue(scale: int) -> Iterator[Line]:
    """Time a row as the catalogue grows."""
    users = 20_000 // scale
    sizes = {"10 thousand": 10_000, "1 million": 1_000_000, "10 million": 10_000_000}
    works = [workload.uniform(users, 100, size, 20 * users) for size in sizes.values()]
    times = in_turns([lambda work=work: ours(work) for work in works])  # type: ignore[misc]
    for name, taken in list(zip(sizes, times, strict=True))[1:]:
        note = f"{statistics.median(times[0]):.3f} s → {statistics.median(taken):.3f} s"
        what = f"{name} items: time a row over that with 10 thousand"
        yield Line(what, ratio(taken, times[0]), most=3, note=note)


def users(scale: int) -> Iterator[Line]:
    """Time a row as users grow tenfold; memory for the larger allows few turns."""
    few, many = 1_000_000 // scale, 10_000_000 // scale
    rates, notes = [], []
    for n, times in ((few, 5), (many, 3)):
        work = workload.uniform(n, 10, 1_000_000, 2 * n)
        run = lambda work=work: rw.evaluate(work.recs, work.truth, progress=False)  # noqa: E731
        taken = statistics.median(in_turns([run], times)[0])
        rates.append(taken / work.rows)
        notes.append(f"{taken:.2f} s")
        del work, run
    what = f"{many:,} users: time a row over that with {few:,}"
    yield Line(what, rates[1] / rates[0], most=1.5, note=f"{' → '.join(notes)}; linear is 1×")


def first_call(scale: int) -> Iterator[Line]:
    """Time a fresh process that evaluates next to nothing."""
    del scale
    taken = []
    for code in [*["pass"] * 3, *[TINY] * 5]:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        taken.append(time.perf_counter() - start)
    note = f"a Python that does nothing: {statistics.median(taken[:3]):.2f} s"
    yield Line("first call in a new process", statistics.median(taken[3:]), " s", note=note)


SCENARIOS: dict[str, Callable[[int], Iterator[Line]]] = {
    "grouped": grouped,
    "shuffled-rank": shuffled_rank,
    "shuffled-score": shuffled_score,
    "strings": strings,
    "memory": memory_peak,
    "catalogue": catalogue,
    "users": users,
    "first-call": first_call,
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure rankwise; print a Markdown table.")
    parser.add_argument("--quick", action="store_true", help="a tenth of the users")
    parser.add_argument(
        "--only", choices=SCENARIOS, action="append", help="this scenario; may be repeated"
    )
    options = parser.parse_args()
    lines: list[Line] = []
    for name in options.only or SCENARIOS:
        print(f"measuring: {name} …", file=sys.stderr, flush=True)
        lines += SCENARIOS[name](10 if options.quick else 1)
    print(markdown(lines))


if __name__ == "__main__":
    main()
