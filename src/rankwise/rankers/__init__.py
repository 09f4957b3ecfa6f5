"""Rankers of the second stage: scores, labels and groups of rows as LightGBM, XGBoost and CatBoost have them.

>>> from rankwise.rankers import RankerTruth
>>> truth = RankerTruth([1, 0, 0, 2, 0], group=[3, 2])
>>> truth.values([0.5, 0.7, 0.1, 0.9, 0.2], ["ndcg@3", "mrr"])
{'ndcg@3': 0.8154648767857288, 'mrr': 0.75}
"""

from rankwise.rankers.callbacks import (
    CatBoostMetric,
    LightGBMMetric,
    SklearnMetric,
    XGBoostMetric,
)
from rankwise.rankers.truth import RankerTruth, evaluate_rows

__all__ = [
    "CatBoostMetric",
    "LightGBMMetric",
    "RankerTruth",
    "SklearnMetric",
    "XGBoostMetric",
    "evaluate_rows",
]
