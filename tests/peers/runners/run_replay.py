"""RePlay on the random data: pandas frames of scored lists, every truth row relevant.

A RePlay user hands over frames of ``query_id``, ``item_id`` and ``rating``, where the rating of a
recommendation is its score: there is no rank column, and RePlay orders each list by score, tied
items by decreasing item. That is done here with ``lists.csv`` and, as the other model's lists,
``reference.csv``; their ranks are dropped. The ground truth is all rows of ``truth.csv``, grade 0
included, for RePlay reads no ratings there. Short lists, users without a list and users without
ground truth are handed over as they are.

`CategoricalDiversity` wants a category in the place of an item; an item's group is its category.
Every metric is run with the default mode, the mean over users, and with the median and the half
width of a confidence interval.
"""

from __future__ import annotations

from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import common
from replay import metrics as rm

if TYPE_CHECKING:
    import pandas as pd

NAMES = {"user": "query_id", "item": "item_id", "score": "rating"}
COMPARED_WITH_TRUTH = (rm.Precision, rm.Recall, rm.HitRate, rm.MAP, rm.MRR, rm.NDCG, rm.RocAuc)
COMPARED_WITH_TRAIN = (rm.Novelty, rm.Surprisal)
MODES: dict[str, Any] = {
    "": rm.Mean(),
    "(mode=Median)": rm.Median(),
    "(mode=ConfidenceInterval)": rm.ConfidenceInterval(alpha=0.95),
}


def table(data: common.Data, name: str) -> pd.DataFrame:
    """Read a table with the default column names, without ranks.

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
    return data.table(name).rename(columns=NAMES).drop(columns="rank", errors="ignore")


def categories(data: common.Data) -> pd.DataFrame:
    """Put the group of every recommended item in the place of the item.

    Parameters
    ----------
    data : common.Data
        The data set.

    Returns
    -------
    pandas.DataFrame
        ``query_id``, ``category_id`` and ``rating``.
    """
    groups = data.table("items").set_index("item")["group"]
    lists = table(data, "lists")
    return lists.assign(category_id=lists["item_id"].map(groups)).drop(columns="item_id")


def compute(metric: rm.Metric, *tables: pd.DataFrame) -> float:
    """Call a metric that has one cutoff.

    Parameters
    ----------
    metric : replay.metrics.Metric
        The metric.
    *tables : pandas.DataFrame
        Recommendations, and what they are compared with.

    Returns
    -------
    float
        The value.
    """
    (value,) = metric(*tables).values()
    return float(value)


def run(data: common.Data, cutoffs: list[int], report: common.Report) -> None:
    """Compute every metric at every cutoff.

    Parameters
    ----------
    data : common.Data
        The data set.
    cutoffs : list of int
        Lengths of the lists.
    report : common.Report
        Takes the values.
    """
    lists, train = table(data, "lists"), table(data, "train")
    asked: list[tuple[Any, tuple[pd.DataFrame, ...]]] = [
        *((metric, (lists, table(data, "truth"))) for metric in COMPARED_WITH_TRUTH),
        *((metric, (lists, train)) for metric in COMPARED_WITH_TRAIN),
        (rm.Unexpectedness, (lists, table(data, "reference"))),
        (rm.CategoricalDiversity, (categories(data),)),
    ]
    for k in cutoffs:
        for metric, tables in asked:
            for mode, descriptor in MODES.items():
                report.measure(
                    f"{metric.__name__}{mode}@{k}",
                    partial(compute, metric(k, mode=descriptor), *tables),
                )
        report.measure(f"Coverage@{k}", partial(compute, rm.Coverage(k), lists, train))


if __name__ == "__main__":
    common.main("replay", version("replay-rec"), run)
