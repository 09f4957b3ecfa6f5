"""implicit on the random data: a model that recommends the lists, every truth row relevant.

Users hand `ranking_metrics_at_k` a fitted model and sparse matrices of train and test. The model
here is one of implicit's own kind (`RecommenderBase`) whose `recommend` answers with the items of
``lists.csv``, filled up with -1 where a list is shorter than K or missing, as implicit's own models
do for items that they filter. Every row of the truth is an entry of the test matrix. A grade of 0
becomes a stored zero, which counts as relevant; under ``(no zeros)`` rows of grade 0 are left out
first. The matrices have a column for every item of ``items.csv``.

Where every item has a score, ``(scores)`` asks a matrix factorisation model of implicit whose
factors multiply to the scores; it filters train and orders ties itself. With K above the number
of unseen items such a model fills up with seen items.
"""

from __future__ import annotations

from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import common
import numpy as np
from implicit.cpu.matrix_factorization_base import MatrixFactorizationBase
from implicit.evaluation import (
    AUC_at_k,
    mean_average_precision_at_k,
    ndcg_at_k,
    precision_at_k,
    ranking_metrics_at_k,
)
from implicit.recommender_base import RecommenderBase
from scipy.sparse import csr_matrix

if TYPE_CHECKING:
    import pandas as pd

FUNCTIONS = (precision_at_k, mean_average_precision_at_k, ndcg_at_k, AUC_at_k)
NOTHING = -1


class Lists(RecommenderBase):
    """A model that recommends given lists."""

    def __init__(self, lists: pd.DataFrame) -> None:
        self.lists = {user: rows["item"].to_numpy() for user, rows in lists.groupby("user")}

    def fit(self, user_items: Any, show_progress: bool = True, callback: Any = None) -> None:
        """There is nothing to learn."""

    def recommend(
        self,
        userid: Any,
        user_items: Any,
        N: int = 10,  # noqa: N803 - the name that implicit calls it by
        **settings: Any,
    ) -> tuple[common.Array, common.Array]:
        """Answer with the first items of the users' lists.

        Parameters
        ----------
        userid : array of int
            The users.
        user_items : sparse matrix
            Their rows of train.
        N : int
            How many items.
        **settings
            What the models of implicit take besides.

        Returns
        -------
        items, scores : numpy.ndarray
            Users × N; -1 where there is no item.
        """
        items = np.full((len(userid), N), NOTHING, dtype=np.int32)
        for row, user in enumerate(userid):
            first = self.lists.get(user, np.empty(0, dtype=int))[:N]
            items[row, : len(first)] = first
        return items, -np.tile(np.arange(N, dtype=np.float32), (len(userid), 1))

    def similar_users(self, *arguments: Any, **settings: Any) -> None:
        """Not needed."""

    def similar_items(self, *arguments: Any, **settings: Any) -> None:
        """Not needed."""

    def save(self, file: Any) -> None:
        """Not needed."""


class Scores(MatrixFactorizationBase):
    """A matrix factorisation model: users' factors are their scores, items' factors the unit."""

    def __init__(self, scores: common.Array) -> None:
        super().__init__()
        self.user_factors = scores.astype(np.float32)
        self.item_factors = np.eye(scores.shape[1], dtype=np.float32)

    def fit(self, user_items: Any, show_progress: bool = True, callback: Any = None) -> None:
        """There is nothing to learn."""

    def save(self, file: Any) -> None:
        """Not needed."""


def spread(table: pd.DataFrame, shape: tuple[int, int]) -> Any:
    """Make a sparse matrix that keeps rows of grade 0.

    Parameters
    ----------
    table : pandas.DataFrame
        User, item and rating.
    shape : tuple of int
        How many users and items.

    Returns
    -------
    csr_matrix
        The ratings.
    """
    ratings = table["rating"].to_numpy(dtype=np.float32)
    return csr_matrix((ratings, (table["user"], table["item"])), shape=shape)


def run(data: common.Data, cutoffs: list[int], report: common.Report) -> None:
    """Compute the four measures at every cutoff.

    Parameters
    ----------
    data : common.Data
        The data set.
    cutoffs : list of int
        Lengths of the lists.
    report : common.Report
        Takes the values.
    """
    truth = data.table("truth")
    shape = len(data.table("users")), len(data.table("items"))
    train, test = spread(data.table("train"), shape), spread(truth, shape)
    positive = spread(truth[truth["rating"] > 0], shape)
    lists = Lists(data.table("lists"))
    asked: list[tuple[str, Any, Any]] = [("", lists, test), ("(no zeros)", lists, positive)]
    if (data.folder / "scores.npy").exists():
        asked.append(("(scores)", Scores(data.scores), test))
    for k in cutoffs:
        for end, model, held_out in asked:
            every = partial(
                ranking_metrics_at_k,
                model,
                train,
                held_out,
                K=k,
                show_progress=False,
                num_threads=1,
            )
            for name, value in every().items():
                report.add(f"{name}{end}@{k}", value)
        for function in FUNCTIONS:
            report.measure(
                f"{function.__name__}@{k}",
                partial(function, lists, train, test, K=k, show_progress=False, num_threads=1),
            )


if __name__ == "__main__":
    common.main("implicit", version("implicit"), run)
