"""cornac: a recommender whose scores are products of factors, four metrics in `ranking_eval`."""

from __future__ import annotations

from typing import Any

import numpy as np
from program import Data, compete


def load() -> Any:
    from cornac import metrics
    from cornac.eval_methods import BaseMethod
    from cornac.eval_methods.base_method import ranking_eval
    from cornac.models import Recommender

    class Factors(Recommender):
        def __init__(self, users: Any, items: Any) -> None:
            super().__init__(name="Factors", trainable=False, verbose=False)
            self.users, self.items = users, items

        def fit(self, train_set: Any, val_set: Any = None) -> Any:
            super().fit(train_set, val_set)
            self.users = self.users[np.array(list(train_set.uid_map))]
            self.items = self.items[np.array(list(train_set.iid_map))]
            return self

        def score(self, user_idx: int, item_idx: int | None = None) -> Any:
            scores = self.items @ self.users[user_idx]
            return scores if item_idx is None else scores[item_idx]

    return metrics, BaseMethod, ranking_eval, Factors


def build(library: Any, data: Data) -> Any:
    _, method, _, factors = library
    rows = []
    for table in ("train", "truth"):
        columns = data.columns(table)
        ones = [1.0] * len(columns["user"])
        rows.append(
            list(zip(columns["user"].tolist(), columns["item"].tolist(), ones, strict=True))
        )
    split = method.from_splits(*rows, exclude_unknowns=True, rating_threshold=1.0)
    return split, factors(data.users, data.items).fit(split.train_set)


def evaluate(library: Any, given: Any) -> dict[str, float]:
    metrics, _, ranking_eval, _ = library
    split, model = given
    asked = [metrics.Precision(10), metrics.Recall(10), metrics.NDCG(10), metrics.HitRatio(10)]
    means, _ = ranking_eval(model, asked, split.train_set, split.test_set, rating_threshold=1.0)
    names = ("Precision@10", "Recall@10", "NDCG@10", "HitRatio@10")
    return {name: float(mean) for name, mean in zip(names, means, strict=True)}


if __name__ == "__main__":
    compete(load, build, evaluate, "factors")
