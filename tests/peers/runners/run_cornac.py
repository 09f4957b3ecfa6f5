"""cornac on the random data: a model whose scores are given ranks all items that are not in train.

Ratings go in as its users hand them over, triples of train and of test for
`BaseMethod.from_splits`, with ids that cornac maps to its own numbers in order of appearance. Every
row of the truth is given; one counts as relevant from ``rating_threshold`` = 1 on. The model answers
`score` with the rows of ``scores.npy``; `ranking_eval` ranks and measures. It needs a score for every
item, so cases without ``scores.npy`` cannot be run (exit code 3).

Each measure is evaluated by itself. ``(beside Recall)`` evaluates a measure together with
``Recall(k)``: then cornac sorts the top k only, and what lies below is in no order. `MAE`, `MSE` and
`RMSE` see the truth rows; cornac clips predictions to the range of ratings in train, and under
``(min_rating=0)`` the model lowers that range to 0. Under ``(equal scores)`` all scores are 0.5.
"""

from __future__ import annotations

from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import common
import numpy as np
from cornac import metrics as cm
from cornac.eval_methods import BaseMethod
from cornac.eval_methods.base_method import ranking_eval, rating_eval
from cornac.models import Recommender

if TYPE_CHECKING:
    from collections.abc import Callable

AT_K = (cm.Precision, cm.Recall, cm.FMeasure, cm.HitRatio, cm.NDCG, cm.NCRR)
WITHOUT_K = (cm.MRR, cm.MAP, cm.AUC)
RATING = (cm.MAE, cm.MSE, cm.RMSE)
CANNOT = 3


class Scores(Recommender):
    """A model that knows its scores.

    Parameters
    ----------
    scores : numpy.ndarray
        Users × items, by the ids of the data.
    lowest : float, optional
        The smallest rating it predicts; by default that of train.
    """

    def __init__(self, scores: common.Array, lowest: float | None = None) -> None:
        super().__init__(name="Scores", trainable=False, verbose=False)
        self.given = scores
        self.lowest = lowest

    def fit(self, train_set: Any, val_set: Any = None) -> Scores:
        """Learn which of cornac's numbers is which user and item."""
        super().fit(train_set, val_set)
        users, items = list(train_set.uid_map), list(train_set.iid_map)
        self.ordered = self.given[np.ix_(users, items)]
        if self.lowest is not None:
            self.min_rating = self.lowest
        return self

    def score(self, user_idx: int, item_idx: int | None = None) -> common.Array:
        """Give the scores of a user, for all items or for one."""
        row: common.Array = self.ordered[user_idx]
        return row if item_idx is None else row[item_idx]


def split(data: common.Data) -> BaseMethod:
    """Hand over train and truth.

    Parameters
    ----------
    data : common.Data
        The data set.

    Returns
    -------
    BaseMethod
        With its train and test sets built.
    """
    triples = [list(data.table(name).itertuples(index=False)) for name in ("train", "truth")]
    train, test = ([tuple(row) for row in rows] for rows in triples)
    return BaseMethod.from_splits(train, test, exclude_unknowns=True, rating_threshold=1.0)


def rank(method: BaseMethod, model: Scores, *metrics: Any) -> float:
    """Evaluate ranking measures together and give the first one's mean.

    Parameters
    ----------
    method : BaseMethod
        The data.
    model : Scores
        A fitted model.
    *metrics : RankingMetric
        The measures.

    Returns
    -------
    float
        cornac's mean over users.
    """
    means, _ = ranking_eval(
        model,
        list(metrics),
        method.train_set,
        method.test_set,
        rating_threshold=method.rating_threshold,
        exclude_unknowns=method.exclude_unknowns,
    )
    return float(means[0])


def rate(method: BaseMethod, model: Scores, metric: Any, *, user_based: bool) -> float:
    """Evaluate a rating measure.

    Parameters
    ----------
    method : BaseMethod
        The data.
    model : Scores
        A fitted model.
    metric : RatingMetric
        The measure.
    user_based : bool
        Whether to average over users.

    Returns
    -------
    float
        cornac's mean.
    """
    means, _ = rating_eval(model, [metric], method.test_set, user_based=user_based)
    return float(means[0])


def run_ranking(
    ask: Callable[..., float], cutoffs: list[int], end: str, report: common.Report
) -> None:
    """Compute the ranking measures of one model.

    Parameters
    ----------
    ask : callable
        Evaluates measures together and gives the first one's mean.
    cutoffs : list of int
        Lengths of the lists.
    end : str
        What the names end with.
    report : common.Report
        Takes the values.
    """
    for kind in (*AT_K, *WITHOUT_K):
        report.measure(f"{kind.__name__}{end}", partial(ask, kind()))
    for k in cutoffs:
        for kind in AT_K:
            report.measure(f"{kind.__name__}{end}@{k}", partial(ask, kind(k)))
        for kind in (cm.NDCG, *WITHOUT_K):
            report.measure(
                f"{kind.__name__}{end}(beside Recall)@{k}", partial(ask, kind(), cm.Recall(k))
            )


def run(data: common.Data, cutoffs: list[int], report: common.Report) -> None:
    """Compute every measure, those without a cutoff once.

    Parameters
    ----------
    data : common.Data
        The data set.
    cutoffs : list of int
        Lengths of the lists.
    report : common.Report
        Takes the values.
    """
    if not (data.folder / "scores.npy").exists():
        raise SystemExit(CANNOT)
    method = split(data)
    same = np.full_like(data.scores, 0.5)
    for end, scores in (("", data.scores), ("(equal scores)", same)):
        model = Scores(scores).fit(method.train_set)
        run_ranking(partial(rank, method, model), cutoffs, end, report)
    for end, lowest in (("", None), ("(min_rating=0)", 0.0)):
        model = Scores(data.scores, lowest).fit(method.train_set)
        for kind in RATING:
            for user_based in (False, True):
                name = f"{kind.__name__}{end}{'(user_based=True)' if user_based else ''}"
                report.measure(name, partial(rate, method, model, kind(), user_based=user_based))


if __name__ == "__main__":
    common.main("cornac", version("cornac"), run)
