"""What each family of metrics costs, in the time that the accuracy metrics take.

    python benchmarks/families.py            # MovieLens-20M's shape; about five minutes, 8 GiB
    python benchmarks/families.py --quick    # a tenth of the users

Everything is in memory when the clock starts. A line's time is that of one `rankwise.evaluate` with
its metrics alone, facts about items and users worked out anew, divided by the time of the six
accuracy metrics at four cut-offs; the median of three turns.
"""

from __future__ import annotations

import argparse
import statistics
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from timing import Line, markdown, seconds
from workload import LIST_LENGTH, MOVIELENS_ITEMS, MOVIELENS_USERS, Workload, movielens

import rankwise as rw

if TYPE_CHECKING:
    from collections.abc import Callable

FEATURES, GENRES = 64, 20
ACCURACY = [
    f"{name}@[5,10,20,100]" for name in ("precision", "recall", "ndcg", "map", "mrr", "hit_rate")
]
FAMILIES: dict[str, tuple[list[str], float | None]] = {
    "intra-list diversity, cosine of 64 features, K = 100": (["ild@100"], 20),
    "intra-list diversity, Euclidean": (["ild(distance=euclidean)@100"], 20),
    "intra-list diversity, Jaccard of 20 genres": (["ild(distance=jaccard)@100"], 20),
    "gini, entropy, coverage": (["gini@100", "shannon_entropy@100", "coverage@100"], None),
    "personalization": (["personalization@100"], None),
    "subtopic recall, alpha-nDCG": (["subtopic_recall@100", "alpha_ndcg@100"], None),
    "calibration": (["calibration_error@100"], None),
    "novelty, EFD, EPC, surprisal": (["novelty@100", "efd@100", "epc@100", "surprisal@100"], None),
    "ARP, ACLT, APLT, PopRSP, PopREO": (
        ["arp@100", "aclt@100", "aplt@100", "pop_rsp@100", "pop_reo@100"],
        None,
    ),
    "REO, RSP by group, bias disparity": (["reo@100", "rsp@100", "bias_disparity@100"], None),
    "debiased": (["ips_recall@100", "snips_recall@100", "stratified_recall@100"], None),
    "AUC, GAUC, LAUC": (["auc", "gauc", "lauc@100"], None),
}


def around(users: int, *, seed: int = 40) -> dict[str, Any]:
    """Make 100 training items a user, and what is known about items and users."""
    rng = np.random.default_rng(seed)
    names = np.array([f"genre {at:02}" for at in range(GENRES)])
    genres = [
        "|".join(rng.choice(names, rng.integers(1, 4), replace=False))
        for _ in range(MOVIELENS_ITEMS)
    ]
    items = pl.DataFrame(
        {
            "item": np.arange(MOVIELENS_ITEMS),
            "genres": genres,
            "features": rng.normal(size=(MOVIELENS_ITEMS, FEATURES)),
            "group": rng.choice(["a", "b", "c", "d"], MOVIELENS_ITEMS),
        }
    )
    groups = {"user": np.arange(users), "group": rng.choice(["x", "y", "z"], users)}
    train = movielens(users, seed=seed).recs.select("user", "item")
    return {"train": train, "items": items, "users": pl.DataFrame(groups)}


def evaluation(work: Workload, metrics: list[str], known: dict[str, Any]) -> Callable[[], object]:
    """Return what is timed; tables that no metric needs are left out."""
    needed = " ".join(need for name in metrics for need in rw_needs(name))
    own = {kind: table for kind, table in known.items() if kind in needed}
    return lambda: rw.evaluate(work.recs, work.truth, metrics, progress=False, **own)


def rw_needs(name: str) -> list[str]:
    """Return the tables that a metric needs."""
    from rankwise.metrics.description import Description

    metric = rw.parse(name)
    jaccard = ["items"] if "jaccard" in name else []
    return Description(type(metric)).needs + jaccard


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true")
    options.add_argument("--turns", type=int, default=3)
    given = options.parse_args()
    users = MOVIELENS_USERS // 10 if given.quick else MOVIELENS_USERS
    work, known = movielens(users), around(users)
    base = evaluation(work, ACCURACY, {})
    base()
    lines = []
    for what, (metrics, most) in FAMILIES.items():
        job = evaluation(work, metrics, known)
        turns = [(seconds(job), seconds(base)) for _ in range(given.turns)]
        ratio = statistics.median(one / other for one, other in turns)
        note = f"{statistics.median(one for one, _ in turns):.2f} s"
        lines.append(Line(what, ratio, most=most, note=note))
    accuracy = statistics.median(seconds(base) for _ in range(given.turns))
    print(f"{users:,} users, lists of {LIST_LENGTH}; the accuracy metrics take {accuracy:.2f} s\n")
    print(markdown(lines))


if __name__ == "__main__":
    main()
