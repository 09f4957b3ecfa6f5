"""A factor model from fit to honest numbers: ranked exactly, over a sample, and corrected.

A truncated SVD of made-up interactions, split by time, in the forms that people have models in:
factors, a matrix of scores, an object with ``recommend``, predicted ratings. It takes seconds:

    python examples/factors.py
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

import rankwise as rw
from rankwise.datasets import synthetic
from rankwise.models.recommenders import Popularity
from rankwise.splits import time_based_split

DIMENSIONS = 12


class Factors:
    """A truncated SVD, with ``recommend`` as anyone might have written it."""

    def __init__(self, train: pl.DataFrame, items: list[Any]) -> None:
        self.user_ids, self.item_ids = train["user"].unique().sort().to_list(), items
        self._row = {user: at for at, user in enumerate(self.user_ids)}
        column = {item: at for at, item in enumerate(items)}
        cells = np.zeros((len(self.user_ids), len(items)), dtype=np.float32)
        for user, item in train.select("user", "item").iter_rows():
            cells[self._row[user], column[item]] = 1.0
        left, weight, right = np.linalg.svd(cells, full_matrices=False)
        self.users = left[:, :DIMENSIONS] * weight[:DIMENSIONS]
        self.items = right[:DIMENSIONS].T.copy()

    def recommend(self, user_id: Any, n: int) -> list[tuple[Any, float]]:
        """Return the n best items; a user who is not in training is a KeyError."""
        scores = self.items @ self.users[self._row[user_id]]
        return [(self.item_ids[at], float(scores[at])) for at in np.argsort(-scores)[:n]]


def main() -> dict[str, rw.Result]:
    """Print every step; return the results by name."""
    data = synthetic(seed=1)
    train, test = time_based_split(data.interactions)
    model = Factors(train, data.items["item"].sort().to_list())
    names: dict[str, Any] = {"user_ids": model.user_ids, "item_ids": model.item_ids}
    factors: dict[str, Any] = {"users": model.users, "items": model.items, **names}
    truth = test.select("user", "item", "rating")
    options: dict[str, Any] = {"relevance_threshold": 4}
    found: dict[str, rw.Result] = {}

    print(
        "1. An object with recommend(), asked for lists; what it says of seen items is counted.\n"
    )
    found["model"] = rw.evaluate_model(
        model, truth, ["ndcg@10", "recall@10"], train=train, exclude_seen=True, **options
    )
    print(found["model"], "\n")

    print("2. Its factors, ranked exactly. The lists are the same for all users that it knows.\n")
    lists = rw.rank(**factors, k=10, exclude=train)
    found["factors"] = rw.evaluate(
        lists,
        truth,
        ["ndcg@10", "recall@10", "gini@10"],
        train=train,
        by=["history", "item:cold"],
        **options,
    )
    print(found["factors"], "\n")

    print("3. Exact ranks of the relevant items alone: areas, and recall at every cut-off.\n")
    ranks = rw.rank_relevant(**factors, truth=truth, exclude=train)
    found["ranks"] = rw.evaluate(ranks, truth, ["auc", "mrr", "ndcg@10"], **options)
    print(found["ranks"], "\n")
    curve = rw.curve(ranks, truth, ["recall", "ndcg"], **options)
    print(curve.filter(pl.col("k").is_in([1, 10, 100, curve["k"].max()])), "\n")

    print("4. Over 50 sampled negatives: another number, and it says so.\n")
    frozen = rw.candidates.sampled(
        truth, 50, seed=7, items=data.items["item"], train=train, **options
    )
    sampled = rw.rank_relevant(**factors, truth=truth, candidates=frozen)
    found["sampled"] = rw.evaluate(sampled, truth, ["recall@10", "ndcg@10"], **options)
    print(found["sampled"], "\n")
    try:
        rw.compare({"exact": found["ranks"], "sampled": found["sampled"]})
    except rw.RankwiseError as error:
        print(error, "\n")

    print("5. What the sample says of the whole catalogue.\n")
    print(rw.correct(sampled, truth, ["hit_rate@10", "ndcg@10"]), "\n")

    print("6. The same nDCG, every relevant item by how unlikely it was to be seen.\n")
    names_of = ["ndcg@10", "snips(ndcg)@10", "stratified(ndcg)@10"]
    popular = Popularity().fit(train).recommend(truth["user"].unique(), 10)
    for name, own in (("factors", lists), ("popularity", popular)):
        found[f"debiased {name}"] = rw.evaluate(own, truth, names_of, train=train, **options)
        print(name, found[f"debiased {name}"], sep="\n", end="\n\n")
    return found


if __name__ == "__main__":
    main()
