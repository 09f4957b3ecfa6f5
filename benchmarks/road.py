"""Measure the road from tables to results: ``python benchmarks/road.py``.

Prints a Markdown table of ratios, all from this one run. See README.md beside this file.
"""

from __future__ import annotations

import argparse
import hashlib
import statistics
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bare_loops
import memory
import numpy as np
import polars as pl
import workload
from timing import Line, in_turns, markdown, ratio, write_bytecode

import peers
import rankwise as rw
from rankwise.core import kernels
from rankwise.core.digests import digest_of_rows
from rankwise.tables.read import read_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from workload import Workload

ASKED = [f"{name}@{list(peers.CUTOFFS)}" for name in peers.METRICS]
MEMORY_TARGET = 2.5
MOVIELENS, MOVIELENS_ITEMS = workload.MOVIELENS_USERS, workload.MOVIELENS_ITEMS
COMPILED = kernels.implementation() == "compiled"
READY = 4 << 30
"""Bytes that runs in new memory find ready: what evaluating ten million users takes."""
TINY = "import rankwise as rw; rw.evaluate({'ann': ['a', 'b']}, {'ann': {'b'}}, 'ndcg@2')"


def ours(work: Workload, **options: Any) -> rw.Result:
    """Evaluate with rankwise."""
    return rw.evaluate(work.recs, work.truth, ASKED, progress=False, **options)


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
    yield against_polars("grouped, ranked", work, least=7 if COMPILED else 3.5)
    mine, once = in_turns([lambda: ours(work), lambda: peers.floor(work.recs)])
    note = f"a pass {statistics.median(once) * 1000:.1f} ms"
    yield Line(
        "grouped, ranked: NumPy passes over the columns",
        ratio(mine, once),
        " passes",
        most=4 if COMPILED else 12,
        note=note,
    )
    yield from _over_loops("grouped, ranked", work, bare_loops.grouped)


def _over_loops(what: str, work: Workload, loops: Callable[[Workload], None]) -> Iterator[Line]:
    """Compare with the loops that bound it, on one thread, where there are compiled ones."""
    if COMPILED:
        mine, bare = in_turns([partial(ours, work, threads=1), partial(loops, work)])
        note = f"the loops {statistics.median(bare) * 1000:.0f} ms; the limit is 1×"
        yield Line(f"{what}, one thread: over its loops alone", ratio(mine, bare), note=note)


def shuffled_rank(scale: int) -> Iterator[Line]:
    """Rows in any order, with ranks."""
    work = workload.shuffled(workload.movielens(workload.MOVIELENS_USERS // scale))
    yield against_polars("shuffled, with rank", work, least=4 if COMPILED else 2)
    yield from _over_loops("shuffled, with rank", work, bare_loops.shuffled)


def shuffled_score(scale: int) -> Iterator[Line]:
    """Rows in any order, with scores."""
    yield against_polars("shuffled, with score", _shuffled_score(scale), least=7 if COMPILED else 3)


def _shuffled_score(scale: int) -> Workload:
    lists = workload.movielens(workload.MOVIELENS_USERS // scale)
    return workload.shuffled(workload.scored(lists))


def strings(scale: int) -> Iterator[Line]:
    """Ids that are text."""
    work = workload.strings(workload.movielens(workload.MOVIELENS_USERS // scale))
    yield against_polars("text ids, grouped, ranked", work, least=4.5 if COMPILED else 2.5)
    yield from _over_loops("text ids, grouped, ranked", work, bare_loops.texts)


def objects(scale: int) -> Iterator[Line]:
    """Time dictionaries against a loop in plain Python, and pandas and tuples against the same in Arrow."""
    sys.path.append(str(Path(__file__).parent / "contest"))
    import with_plain_python

    del scale
    work = workload.uniform(10_000, 10, 5000, 50_000)
    lists, truth = (
        dict(table.group_by("user", maintain_order=True).agg("item").iter_rows())
        for table in (work.recs, work.truth)
    )
    given = lists, {user: set(items) for user, items in truth.items()}
    six = [f"{name}@10" for name in peers.METRICS]
    mine, plain = in_turns(
        [lambda: rw.evaluate(*given, six), lambda: with_plain_python.evaluate(None, given)],
        times=15,
    )
    note = (
        f"{1000 * statistics.median(mine):.1f} ms, plain Python "
        f"{1000 * statistics.median(plain):.1f} ms"
    )
    yield Line(
        "dictionaries of 10,000 users: faster than plain Python",
        ratio(plain, mine),
        least=3,
        note=note,
    )
    text = workload.strings(workload.uniform(20_000, 20, MOVIELENS_ITEMS, 100_000))
    tables = text.recs, text.truth
    pairs = [list(table.select("user", "item").iter_rows()) for table in tables]
    frames = [table.to_pandas().astype({"user": object, "item": object}) for table in tables]
    sources = [table.to_arrow() for table in tables], frames, pairs
    arrow, pandas, tuples = in_turns(
        [partial(rw.evaluate, recs, truth, six) for recs, truth in sources], times=9
    )
    for what, taken, most in (
        ("pandas with text as objects", pandas, 1.5),
        ("lists of tuples of text", tuples, None),
    ):
        note = (
            f"{1000 * statistics.median(taken):.0f} ms, Arrow "
            f"{1000 * statistics.median(arrow):.0f} ms"
        )
        yield Line(f"{what}: over the same in Arrow", ratio(taken, arrow), most=most, note=note)


def ties(scale: int) -> Iterator[Line]:
    """Scores that tie, in lists of 100 rows in any order, over distinct ones: at k = 10, and at cut-offs up to 100."""
    work = _shuffled_score(scale)
    score = work.recs["score"].to_numpy()
    levels = {
        "distinct": score,
        "ten levels": np.floor(10 * score / score.max()),
        "constant": np.zeros(len(score)),
    }
    for cutoffs, asked in (
        ("k = 10", [f"{name}@10" for name in peers.METRICS]),
        ("k up to 100", ASKED),
    ):
        runs: list[Callable[[], object]] = [
            partial(
                rw.evaluate,
                work.recs.with_columns(score=pl.Series(values)),
                work.truth,
                asked,
                progress=False,
            )
            for values in levels.values()
        ]
        distinct, ten, constant = in_turns(runs, 3)
        for what, taken, most in (("ten levels", ten, 1.2), ("constant", constant, 1.5)):
            note = f"{statistics.median(distinct):.2f} s → {statistics.median(taken):.2f} s"
            yield Line(
                f"scores of {what}, {cutoffs}: over distinct ones",
                ratio(taken, distinct),
                most=most,
                note=note,
            )


def small_calls(scale: int) -> Iterator[Line]:
    """Milliseconds of a call on few users: what an evaluation costs before it has rows."""
    del scale
    for users, most in ((100, 4), (1000, 8)):
        work = workload.uniform(users, 10, 1000, 3 * users)
        run = lambda work=work: rw.evaluate(work.recs, work.truth)  # noqa: E731
        (taken,) = in_turns([run], 100)
        found = 1000 * statistics.median(taken)
        yield Line(f"{users:,} users, lists of 10: one call", found, " ms", most=most)


def digests(scale: int) -> Iterator[Line]:
    """Time the digest of the ground truth, as a share of the evaluation that makes it."""
    ranked = workload.movielens(workload.MOVIELENS_USERS // scale)
    for what, work in (
        ("grouped, ranked", ranked),
        ("text ids, grouped, ranked", workload.strings(ranked)),
        ("1,000 users, lists of 10", workload.uniform(1000, 10, 1000, 3000)),
    ):
        truth = read_table(work.truth, "truth")
        mine, digest = in_turns(
            [partial(ours, work), partial(digest_of_rows, truth.frame, "relevance")]
        )
        note = f"{len(truth.frame):,} rows of ground truth, {len(work.recs):,} of lists"
        yield Line(f"{what}: digest over evaluation", ratio(digest, mine), most=0.05, note=note)


def groups(scale: int) -> Iterator[Line]:
    """Time a thousand groups of users, and a jackknife, over the evaluation without."""
    for users, lists in ((MOVIELENS // scale, "138 thousand users"), (10_000, "10 thousand users")):
        work = workload.uniform(users, 10, MOVIELENS_ITEMS, 5 * users)
        town = pl.DataFrame(
            {"user": np.arange(users), "town": np.random.default_rng(0).integers(0, 1000, users)}
        )
        for what, metrics, most in (
            ("means", ASKED[:3], 2),
            ("coverage and Gini", ["coverage@10", "gini@10"], 4),
        ):
            plain = partial(rw.evaluate, work.recs, work.truth, metrics, progress=False)
            runs: list[Callable[[], object]] = [plain, partial(plain, users=town, by="town")]
            alone, grouped = in_turns(runs)
            note = f"{statistics.median(alone):.3f} s → {statistics.median(grouped):.3f} s"
            yield Line(
                f"1,000 groups of {lists}, {what}: over no groups",
                ratio(grouped, alone),
                most=most,
                note=note,
            )
        plain = partial(
            rw.evaluate, work.recs, work.truth, ["coverage@10", "gini@10"], progress=False
        )
        alone, without = in_turns([plain, partial(plain, jackknife=64)])
        note = f"{statistics.median(alone):.3f} s → {statistics.median(without):.3f} s"
        yield Line(
            f"jackknife of 64 groups, {lists}: over none",
            ratio(without, alone),
            most=2,
            note=note,
        )


def _hash(path: Path) -> bytes:
    return hashlib.sha256(path.read_bytes()).digest()


def files(scale: int) -> Iterator[Line]:
    """Files read, recognised and hashed, against Polars' reader, which does the first alone."""
    ranked = workload.movielens(workload.MOVIELENS_USERS // scale).recs
    with tempfile.TemporaryDirectory() as folder:
        for what, frame, name, most in (
            ("CSV of whole numbers", ranked, "ranked.csv", 1.2),
            (
                "CSV with scores",
                workload.scored(workload.Workload(ranked, ranked)).recs,
                "scored.csv",
                1.6,
            ),
            ("Parquet", ranked, "ranked.parquet", 1.3),
        ):
            path = Path(folder) / name
            is_csv = path.suffix == ".csv"
            (frame.write_csv if is_csv else frame.write_parquet)(path)
            read = pl.read_csv if is_csv else pl.read_parquet
            mine, theirs, hashed = in_turns(
                [
                    partial(read_table, path, "recommendations"),
                    partial(read, path),
                    partial(_hash, path),
                ],
                memory=READY,
            )
            times = [statistics.median(taken) for taken in (mine, theirs, hashed)]
            note = "{:.2f} s, Polars {:.2f} s, a hash alone {:.2f} s".format(*times)
            yield Line(f"{what}: over Polars' reader", ratio(mine, theirs), most=most, note=note)


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
        taken = statistics.median(in_turns([run], times, memory=READY)[0])
        rates.append(taken / work.rows)
        notes.append(f"{taken:.2f} s")
        del work, run
    what = f"{many:,} users: time a row over that with {few:,}"
    yield Line(what, rates[1] / rates[0], most=1.2, note=f"{' → '.join(notes)}; linear is 1×")


def command(scale: int) -> Iterator[Line]:
    """Time the command line on Parquet files, beside an evaluation in memory and a start-up."""
    work = workload.movielens(workload.MOVIELENS_USERS // scale)
    asked = [part for name in ASKED for part in ("-m", name)]
    write_bytecode()
    with tempfile.TemporaryDirectory() as folder:

        def evaluate(some: Workload, name: str) -> Callable[[], object]:
            files = [str(Path(folder) / f"{name}-{part}.parquet") for part in ("recs", "truth")]
            some.recs.write_parquet(files[0])
            some.truth.write_parquet(files[1])
            call = [sys.executable, "-m", "rankwise", "evaluate", *files, *asked]
            return lambda: subprocess.run(call, check=True, capture_output=True)

        whole, nothing, memory_alone = in_turns(
            [
                evaluate(work, "whole"),
                evaluate(workload.uniform(10, 10, 100, 10), "nothing"),
                lambda: ours(work),
            ],
            memory=READY,
        )
    beyond = [a - b for a, b in zip(whole, nothing, strict=True)]
    times = [statistics.median(taken) for taken in (whole, nothing, memory_alone)]
    note = "{:.2f} s, of which start-up {:.2f} s; in memory {:.2f} s".format(*times)
    what = "`rankwise evaluate` on Parquet: beyond start-up, over the evaluation in memory"
    yield Line(what, ratio(beyond, memory_alone), most=2.5, note=note)


def first_call(scale: int) -> Iterator[Line]:
    """Time new processes that evaluate next to nothing, or print their usage."""
    del scale
    write_bytecode()
    with tempfile.TemporaryDirectory() as folder:
        files = [str(Path(folder) / f"{name}.csv") for name in ("recs", "truth")]
        tiny = workload.uniform(10, 10, 100, 30)
        tiny.recs.write_csv(files[0])
        tiny.truth.write_csv(files[1])
        calls = [
            ["-c", "import polars, numpy"],
            ["-c", TINY],
            ["-m", "rankwise", "evaluate", *files],
            ["-m", "rankwise", "--help"],
        ]
        runs = [
            partial(subprocess.run, [sys.executable, *call], check=True, capture_output=True)
            for call in calls
        ]
        alone, first, command, usage = in_turns(runs, 7)
    of_python = f"Python with Polars and NumPy alone {statistics.median(alone):.2f} s"
    for what, taken, most in (
        ("first call in a new process", first, 1.2),
        ("`rankwise evaluate` of ten users", command, None),
        ("`rankwise --help`", usage, None),
    ):
        yield Line(
            f"{what}: over the start of Polars and NumPy",
            ratio(taken, alone),
            most=most,
            note=f"{statistics.median(taken):.2f} s, {of_python}",
        )


SCENARIOS: dict[str, Callable[[int], Iterator[Line]]] = {
    "grouped": grouped,
    "shuffled-rank": shuffled_rank,
    "shuffled-score": shuffled_score,
    "strings": strings,
    "objects": objects,
    "ties": ties,
    "small": small_calls,
    "digests": digests,
    "groups": groups,
    "files": files,
    "command": command,
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
    print(f"Kernels: {kernels.implementation()}\n")
    print(markdown(lines))


if __name__ == "__main__":
    main()
