"""WarpRec: the evaluator of its command line, on a model whose scores are products of factors."""

from __future__ import annotations

from typing import Any

from program import Data, compete

METRICS = ["Precision", "Recall", "nDCG", "MAP", "MRR", "HitRate"]
AT_ONCE = 4096


def load() -> Any:
    import pandas as pd
    import torch
    from warprec.data import Dataset
    from warprec.evaluation.factory import build_evaluator
    from warprec.recommenders.base_recommender import Recommender
    from warprec.utils.config import EvaluationConfig
    from warprec.utils.enums import RatingType

    class Factors(Recommender):
        def __init__(self, users: Any, items: Any) -> None:
            super().__init__({}, {"n_users": len(users), "n_items": len(items)})
            self.users, self.items = torch.from_numpy(users), torch.from_numpy(items)

        def predict(self, user_indices: Any, **kwargs: object) -> Any:
            return self.users[user_indices] @ self.items.T

    return pd, Dataset, build_evaluator, EvaluationConfig, RatingType, Factors


def build(library: Any, data: Data) -> Any:
    pd, dataset_of, build_evaluator, config_of, rating, factors = library
    frames = [
        pd.DataFrame(data.columns(table)).rename(columns={"user": "user_id", "item": "item_id"})
        for table in ("train", "truth")
    ]
    # It numbers the users and items of train by their ids.
    users, items = (frames[0][name].unique() for name in ("user_id", "item_id"))
    users.sort()
    items.sort()
    dataset = dataset_of(*frames, rating_type=rating.IMPLICIT, batch_size=AT_ONCE)
    config = config_of(top_k=[10], metrics=METRICS)
    model = factors(data.users[users], data.items[items])
    return build_evaluator, config, dataset, model


def evaluate(library: Any, given: Any) -> dict[str, float]:
    build_evaluator, config, dataset, model = given
    evaluator = build_evaluator(config, dataset)
    evaluator.evaluate(model, dataset.get_evaluation_dataloader(), "full", dataset)
    found = evaluator.compute_results()[10]
    return {f"{name}@10": float(value.nanmean()) for name, value in found.items()}


if __name__ == "__main__":
    compete(load, build, evaluate, "factors")
