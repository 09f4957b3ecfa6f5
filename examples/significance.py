"""Whether one baseline is better than another, by how much, and what may be claimed.

The baselines of ``examples/splits.py``, at one moment for everybody, held against one another. Run
it with the folder that holds ``ratings.dat``:

    python examples/significance.py ../shared/data/movietweetings-100k
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import rankwise as rw
from rankwise.models.recommenders import Baseline, ItemNeighbours, Popularity, Random
from rankwise.splits import GlobalTime, KCore

METRICS = ["ndcg@10", "recall@10", "catalog_coverage@10", "gini@10"]


def evaluated(data: Path) -> dict[str, rw.Result]:
    """Split at one moment, fit, recommend, evaluate; everything also without groups of users."""
    split = GlobalTime(share=0.2).split(KCore(5).apply(data / "ratings.dat"))
    users = split.test["user"].unique().sort()
    models: dict[str, Baseline] = {
        "popularity": Popularity(),
        "neighbours": ItemNeighbours(),
        "random": Random(seed=0),
    }
    return {
        name: rw.evaluate(
            model.fit(split.train).recommend(users, 10),
            split,
            METRICS,
            relevance_threshold=8,
            jackknife=64,
        )
        for name, model in models.items()
    }


def by_every_test(results: dict[str, rw.Result]) -> str:
    """Write what each test says of neighbours against popularity."""
    pair = {name: results[name] for name in ("popularity", "neighbours")}
    tests: tuple[Any, ...] = ("t", "sign_flip", "bootstrap", "wilcoxon", "sign")
    lines = []
    for test in tests:
        found = rw.compare(pair, metrics="ndcg@10", test=test)["neighbours"]
        wins = f"wins {found['wins']}, ties {found['ties']}, losses {found['losses']}"
        lines.append(f"{found['test']:12} p = {found['p']:.4f}   {wins}")
    return "\n".join(lines)


def main(data: Path) -> None:
    if not (data / "ratings.dat").is_file():
        sys.exit(f"there is no ratings.dat in {data}: MovieTweetings is not here")
    results = evaluated(data)
    print("against popularity\n")
    print(rw.compare(results, baseline="popularity"))
    print("\nall pairs\n")
    print(rw.compare(results, metrics="ndcg@10"))
    print("\na difference of 0.02 would not matter\n")
    print(rw.compare(results, metrics="ndcg@10", baseline="popularity", margin=0.02))
    print("\nby every test\n")
    print(by_every_test(results))
    print("\nintervals of single results\n")
    for name, result in results.items():
        for metric in METRICS:
            own = result.interval(metric)
            print(
                f"{name:12} {metric:22} {own.estimate:.4f}  {own.low:.4f} to {own.high:.4f}  "
                f"({own.method})"
            )
    first, second = results["popularity"], results["neighbours"]
    asked: dict[str, Any] = {"difference": 0.002, "other": second}
    found = rw.power(first, "ndcg@10", **asked)
    needed = rw.sample_size(first, "ndcg@10", **asked)
    print(
        f"\na difference of 0.002 is found with a probability of {found:.2f}; for 0.8 it takes "
        f"{needed.users:,} users ({needed.low:,} to {needed.high:,})"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "../shared/data/movietweetings-100k"))
