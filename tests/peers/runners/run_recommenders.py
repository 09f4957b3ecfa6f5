"""Microsoft's recommenders on the random data: tables of pairs, every truth row relevant.

Its functions cut a table of predictions at k themselves (accuracy), or describe every row that
they are handed (coverage, novelty, diversity): those get tables that were cut before. Every call
gets new frames, for some functions write into theirs.

A user of it hands over ``userID``, ``itemID``, ``rating`` and ``prediction``: all rows of
``truth.csv``, grade 0 included, and the lists with their scores, without ranks. Short lists, users
without a list and users without ground truth are handed over as they are. Rating errors, `auc` and
`logloss` join ratings and predictions. They are computed on all unseen pairs, which needs
``scores.npy``, and, named ``(lists)``, on the rows of the lists alone; for `auc` and `logloss` a
pair's label is 1 if its grade is above 0, else 0.
"""

from __future__ import annotations

from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import common
import numpy as np
import pandas as pd
from recommenders.evaluation import python_evaluation as pe

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = {"user": "userID", "item": "itemID", "score": "prediction"}
RATING_ERRORS = (pe.rmse, pe.mae, pe.rsquared, pe.exp_var)
BINARY_ERRORS = (pe.auc, pe.logloss)
ACCURACY = (pe.precision_at_k, pe.recall_at_k, pe.r_precision_at_k, pe.map_at_k, pe.map)
NDCG_SETTINGS: tuple[dict[str, str], ...] = (
    {},
    {"discfun_type": "log2"},
    {"score_type": "raw"},
    {"score_type": "exp"},
)
DESCRIPTIONS = (pe.novelty, pe.catalog_coverage, pe.distributional_coverage)


def call(function: Callable[..., Any], settings: dict[str, Any]) -> str:
    """Write a call the way its values are named.

    Parameters
    ----------
    function : callable
        The measure.
    settings : dict
        What differs from its defaults.

    Returns
    -------
    str
        ``name``, or ``name(setting=value)``.
    """
    inside = ",".join(f"{key}={value}" for key, value in settings.items())
    return f"{function.__name__}({inside})" if inside else function.__name__


def table(data: common.Data, name: str) -> pd.DataFrame:
    """Read a table with the default column names.

    Parameters
    ----------
    data : common.Data
        The data set.
    name : str
        The table.

    Returns
    -------
    pandas.DataFrame
        The table, renamed.
    """
    return data.table(name).rename(columns=NAMES)


def pairs(values: common.Array, chosen: common.Array, name: str) -> pd.DataFrame:
    """List some cells of a users × items matrix, a row a pair.

    Parameters
    ----------
    values : numpy.ndarray
        What to list.
    chosen : numpy.ndarray
        Which cells.
    name : str
        The name of the column of values.

    Returns
    -------
    pandas.DataFrame
        ``userID``, ``itemID`` and the values.
    """
    users, items = np.nonzero(chosen)
    return pd.DataFrame({"userID": users, "itemID": items, name: values[users, items]})


def label(truth: pd.DataFrame, predicted: pd.DataFrame) -> pd.DataFrame:
    """Say of every predicted pair whether it is relevant.

    Parameters
    ----------
    truth, predicted : pandas.DataFrame
        Graded pairs, and pairs with a prediction.

    Returns
    -------
    pandas.DataFrame
        The predicted pairs, with a ``rating`` of 1 or 0.
    """
    labels = predicted[["userID", "itemID"]].merge(truth, how="left")
    return labels.assign(rating=(labels["rating"] > 0).astype(int))


def measure_errors(
    data: common.Data, predicted: pd.DataFrame, view: str, report: common.Report
) -> None:
    """Compare ratings with scores on the truth rows, and rank all predicted pairs at once.

    Parameters
    ----------
    data : common.Data
        The data set.
    predicted : pandas.DataFrame
        Pairs with a prediction.
    view : str
        What to write behind the names of the values.
    report : common.Report
        Takes the values.
    """
    truth = table(data, "truth")
    labels = label(truth, predicted)
    for functions, ratings in ((RATING_ERRORS, truth), (BINARY_ERRORS, labels)):
        for function in functions:
            report.measure(
                f"{function.__name__}{view}", partial(function, ratings.copy(), predicted.copy())
            )


def measure_all_errors(data: common.Data, report: common.Report) -> None:
    """Measure errors on all unseen pairs, if they have scores, and on the lists.

    Parameters
    ----------
    data : common.Data
        The data set.
    report : common.Report
        Takes the values.
    """
    measure_errors(data, table(data, "lists").drop(columns="rank"), "(lists)", report)
    if (data.folder / "scores.npy").exists():
        candidates = pairs(data.scores, np.isfinite(data.masked), "prediction")
        measure_errors(data, candidates, "", report)
    else:
        for function in (*RATING_ERRORS, *BINARY_ERRORS):
            report.failed[function.__name__] = "no scores.npy: unlisted pairs have no prediction"


def measure_accuracy(data: common.Data, k: int, report: common.Report) -> None:
    """Compare the first k of every list with the truth.

    Parameters
    ----------
    data : common.Data
        The data set.
    k : int
        The cutoff.
    report : common.Report
        Takes the values.
    """
    asked: list[tuple[Callable[..., Any], dict[str, str]]] = [
        *((function, {}) for function in ACCURACY),
        *((pe.ndcg_at_k, settings) for settings in NDCG_SETTINGS),
    ]
    predictions = table(data, "lists").drop(columns="rank")
    for function, settings in asked:
        report.measure(
            f"{call(function, settings)}@{k}",
            partial(function, table(data, "truth"), predictions.copy(), k=k, **settings),
        )


def measure_lists(data: common.Data, k: int, report: common.Report) -> None:
    """Describe the first k of every list.

    Parameters
    ----------
    data : common.Data
        The data set.
    k : int
        The cutoff.
    report : common.Report
        Takes the values.
    """
    lists = table(data, "lists").query("rank <= @k")[["userID", "itemID"]]
    truth = table(data, "truth")[["userID", "itemID"]].assign(relevance=1.0)
    judged = lists.merge(truth, how="left").fillna({"relevance": 0.0})
    features = pd.DataFrame({"itemID": range(len(data.features)), "features": list(data.features)})
    similarities: tuple[dict[str, Any], ...] = ({}, {"item_sim_measure": "item_feature_vector"})
    for function in DESCRIPTIONS:
        report.measure(
            f"{function.__name__}@{k}", partial(function, table(data, "train"), lists.copy())
        )
    for function in (pe.diversity, pe.serendipity):
        for settings in similarities:
            report.measure(
                f"{call(function, settings)}@{k}",
                partial(
                    function,
                    table(data, "train"),
                    lists.copy(),
                    item_feature_df=features.copy() if settings else None,
                    **settings,
                ),
            )
    for settings in similarities:
        relevant = {**settings, "col_relevance": "relevance"}
        report.measure(
            f"{call(pe.serendipity, relevant)}@{k}",
            partial(
                pe.serendipity,
                table(data, "train"),
                judged.copy(),
                item_feature_df=features.copy() if settings else None,
                **relevant,
            ),
        )


def run(data: common.Data, cutoffs: list[int], report: common.Report) -> None:
    """Compute every function, those without a cutoff once.

    Parameters
    ----------
    data : common.Data
        The data set.
    cutoffs : list of int
        Lengths of the lists.
    report : common.Report
        Takes the values.
    """
    measure_all_errors(data, report)
    for k in cutoffs:
        measure_accuracy(data, k, report)
        measure_lists(data, k, report)


if __name__ == "__main__":
    common.main("recommenders", version("recommenders"), run)
