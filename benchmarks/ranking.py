"""What ranking costs beside the matrix product that no exact ranking can do without.

    python benchmarks/ranking.py            # MovieLens-20M's shape; some ten minutes, 8 GiB
    python benchmarks/ranking.py --quick    # a tenth of the users

138,493 users, 26,744 items, 64 dimensions, float32. The bare product multiplies the same factors,
256 users at a time into one buffer, with as many BLAS threads as there are processors, and looks
at nothing. Every job runs in turns with it, after a run of each to warm up; a line is the median of
the ratios of neighbouring runs. implicit and FAISS are timed if they are installed; both get the
same float32 factors and as many threads. Memory is the largest size of a process that loads the
inputs and works, less that of one that only loads them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from peak_memory import peak_memory
from threadpoolctl import threadpool_limits
from timing import Line, in_turns, markdown, ratio
from workload import MOVIELENS_ITEMS, MOVIELENS_USERS, movielens

import rankwise as rw

if TYPE_CHECKING:
    from collections.abc import Callable

DIMENSIONS, K, SEEN = 64, 10, 130
ACCURACY = [f"{name}@{K}" for name in ("precision", "recall", "ndcg", "map", "mrr", "hit_rate")]


class Inputs:
    """Factors, truth, and what was seen."""

    def __init__(self, users: int) -> None:
        rng = np.random.default_rng(0)
        self.users = rng.standard_normal((users, DIMENSIONS), dtype=np.float32)
        self.items = rng.standard_normal((MOVIELENS_ITEMS, DIMENSIONS), dtype=np.float32)
        self.truth = movielens(users).truth.select("user", "item")
        draws = rng.integers(0, MOVIELENS_ITEMS, (users, SEEN))
        rows = pl.DataFrame({"user": np.repeat(np.arange(users), SEEN), "item": draws.ravel()})
        self.seen = rows.unique(maintain_order=True)

    def save(self, folder: Path) -> None:
        """Write everything, for a process that only loads it."""
        np.save(folder / "users.npy", self.users)
        np.save(folder / "items.npy", self.items)
        self.truth.write_parquet(folder / "truth.parquet")
        self.seen.write_parquet(folder / "seen.parquet")

    @classmethod
    def load(cls, folder: Path) -> Inputs:
        """Read what `save` wrote."""
        out = cls.__new__(cls)
        out.users, out.items = np.load(folder / "users.npy"), np.load(folder / "items.npy")
        out.truth = pl.read_parquet(folder / "truth.parquet")
        out.seen = pl.read_parquet(folder / "seen.parquet")
        return out

    @property
    def factors(self) -> dict[str, Any]:
        """Both tables of factors."""
        return {"users": self.users, "items": self.items}

    def product(self) -> None:
        """Multiply, and look at nothing."""
        out = np.empty((256, len(self.items)), dtype=np.float32)
        for first in range(0, len(self.users), 256):
            part = self.users[first : first + 256]
            np.matmul(part, self.items.T, out=out[: len(part)])

    def measured(self, *, k: int = K, **options: Any) -> rw.Result:
        """Rank and evaluate the six accuracy metrics."""
        lists = rw.rank(**self.factors, k=k, progress=False, **options)
        return rw.evaluate(lists, self.truth, ACCURACY, progress=False)

    def exact(self) -> rw.Result:
        """Find exact ranks and evaluate what needs no cut-off."""
        ranks = rw.rank_relevant(**self.factors, truth=self.truth, progress=False)
        return rw.evaluate(ranks, self.truth, ["auc", "mrr", "ndcg", "recall@100"], progress=False)


def jobs(given: Inputs) -> dict[str, tuple[Callable[[], object], float | None]]:
    """Return what is timed, and what it may cost."""
    last = given.truth.unique("user", keep="first")
    found: dict[str, tuple[Callable[[], object], float | None]] = {
        "rank, k = 10": (lambda: rw.rank(**given.factors, k=K, progress=False), None),
        "rank, k = 10, and six metrics": (given.measured, 2.0),
        "the same, 18 million seen items taken out": (
            lambda: given.measured(exclude=given.seen),
            None,
        ),
        "rank, k = 100, and six metrics": (lambda: given.measured(k=100), 1.8),
        "exact ranks of 2 million relevant items, four metrics": (given.exact, 2.5),
        "exact ranks of one relevant item a user": (
            lambda: rw.rank_relevant(**given.factors, truth=last, progress=False),
            None,
        ),
    }
    return {**found, **peers(given)}


def peers(given: Inputs) -> dict[str, tuple[Callable[[], object], float | None]]:
    """Return the same ranking by libraries that are installed: lists alone, no metrics."""
    found: dict[str, tuple[Callable[[], object], float | None]] = {}
    threads = len(os.sched_getaffinity(0))
    try:
        import faiss
        import implicit  # type: ignore[import-not-found]
        from implicit.cpu.als import AlternatingLeastSquares  # type: ignore[import-not-found]
        from scipy.sparse import csr_matrix
    except ImportError:
        return found

    with threadpool_limits(1, "blas"):
        model = AlternatingLeastSquares(factors=DIMENSIONS)
    model.user_factors, model.item_factors = given.users, given.items
    numbers = np.arange(len(given.users))
    index = faiss.IndexFlatIP(DIMENSIONS)
    index.add(given.items)
    seen = csr_matrix(
        (np.ones(len(given.seen), np.float32), (given.seen["user"], given.seen["item"])),
        shape=(len(given.users), len(given.items)),
    )

    def recommend(taken_out: bool) -> None:  # as its own evaluation does, 1,000 users at a time
        with threadpool_limits(1, "blas"):  # as it asks for: it has threads of its own
            work(taken_out)

    def work(taken_out: bool) -> None:
        for first in range(0, len(numbers), 1000):
            some = numbers[first : first + 1000]
            model.recommend(
                some, seen[some] if taken_out else None, N=K, filter_already_liked_items=taken_out
            )

    faiss.omp_set_num_threads(threads)
    found[f"FAISS {faiss.__version__} IndexFlatIP, k = 10"] = (
        lambda: index.search(given.users, K),
        None,
    )
    name = f"implicit {implicit.__version__} recommend, N = 10"
    found[name] = (lambda: recommend(False), None)
    found[f"{name}, seen items taken out"] = (lambda: recommend(True), None)
    return found


def memory(given: Inputs) -> list[Line]:
    """Return the largest size of a process that loads and works, beyond one that only loads."""
    words = {
        "measured": "rank and six metrics",
        "seen": "with seen items taken out",
        "exact": "exact ranks of 2 million items",
    }
    out = []
    with TemporaryDirectory() as folder:
        given.save(Path(folder))
        sizes = {}
        for what in ("nothing", *words):
            command = [sys.executable, __file__, "--size", what, "--folder", folder]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            sizes[what] = float(done.stdout.split()[-1])
        for what, said in words.items():
            most = 1024 if what != "exact" else None
            grown = sizes[what] - sizes["nothing"]
            out.append(Line(f"memory beyond the inputs, {said}", grown, " MiB", most=most))
    return out


def size(what: str, folder: Path) -> float:
    """Load, run one job, and return the largest resident size in MiB."""
    given = Inputs.load(folder)
    one: dict[str, Any] = {"users": given.users[:64], "items": given.items[:64], "ties": "item"}
    rw.evaluate(rw.rank(**one, k=2), {0: {1}}, "mrr")  # from here on everything is imported
    run: dict[str, Callable[[], object]] = {
        "nothing": lambda: None,
        "measured": given.measured,
        "seen": lambda: given.measured(exclude=given.seen),
        "exact": given.exact,
    }
    run[what]()
    return peak_memory() / 2**20


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--users", type=int)
    parser.add_argument("--size")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--memory", action="store_true")
    options = parser.parse_args()
    users = options.users or (MOVIELENS_USERS // 10 if options.quick else MOVIELENS_USERS)
    if options.size:
        print(size(options.size, options.folder))
        return
    given = Inputs(users)
    if options.memory:
        print(markdown(memory(given)))
        return
    lines = []
    for name, (job, most) in jobs(given).items():
        product, own = in_turns([given.product, job], options.turns)
        note = f"{min(product):.2f} s, {min(own):.2f} s"
        lines.append(Line(name, ratio(own, product), most=most, note=note))
        print(markdown(lines[-1:]).splitlines()[-1], flush=True)
    print()
    print(markdown([*lines, *memory(given)]))


if __name__ == "__main__":
    main()
