"""RecBole on the random data: score matrices in, every truth row relevant.

Its collector and its evaluator, as its trainer uses them, with its own column for a padding item
in front: item i here is item i + 1 there, and counts of the catalogue come out one larger. Train
items have the score -inf, as its loader for full ranking leaves them. It evaluates a matrix of
scores and nothing else: data without one is refused (exit code 3).

Cut-offs are one list, as in its configuration: it cuts the top of the largest and takes the
beginnings of that, which matters where scores tie, for ``torch.topk`` keeps no order of tied items.
A cut-off above the number of columns raises; it is asked for alone.
"""

from __future__ import annotations

from collections import Counter
from importlib.metadata import version
from typing import Any

import common
import numpy as np
import torch
from recbole.evaluator import Collector, Evaluator

RANKING = ["Hit", "MRR", "MAP", "Recall", "NDCG", "Precision", "GAUC"]
LISTS = ["ItemCoverage", "AveragePopularity", "ShannonEntropy", "GiniIndex", "TailPercentage"]
OF_CATALOGUE = ["ItemCoverage", "GiniIndex"]
DECIMALS = 15
NO_MATRIX = 3


def settings(metrics: list[str], cutoffs: list[int], **more: float) -> dict[str, Any]:
    """Make what RecBole reads from its configuration when it evaluates.

    Parameters
    ----------
    metrics : list of str
        What to compute.
    cutoffs : list of int
        Lengths of the lists.
    **more
        Parameters of metrics.

    Returns
    -------
    dict
        The configuration.
    """
    return {
        "metrics": metrics,
        "topk": cutoffs,
        "metric_decimal_place": DECIMALS,
        "eval_args": {"mode": "full"},
        "device": torch.device("cpu"),
        "LABEL_FIELD": "label",
        "tail_ratio": None,
        **more,
    }


def rank(data: common.Data, config: dict[str, Any], catalogue: int) -> dict[str, float]:
    """Evaluate full rankings.

    Parameters
    ----------
    data : common.Data
        The data set.
    config : dict
        From `settings`.
    catalogue : int
        The number of items that the metrics are told.

    Returns
    -------
    dict
        RecBole's names with cutoffs, and values.
    """
    collector = Collector(config)
    padding = np.full((len(data.masked), 1), -np.inf)
    scores = torch.from_numpy(np.hstack([padding, data.masked]))
    users, items = (torch.from_numpy(axis) for axis in np.nonzero(data.matrix("truth")))
    collector.data_struct.set("data.num_items", catalogue)
    collector.data_struct.set("data.count_items", Counter(data.table("train")["item"] + 1))
    collector.eval_batch_collect(scores, None, users, items + 1)
    # Not get_data_struct(): it moves everything to the CPU, and a number cannot be moved.
    return dict(Evaluator(config).evaluate(collector.data_struct))


def compare(config: dict[str, Any], scores: common.Array, labels: common.Array) -> dict[str, float]:
    """Evaluate scores row by row.

    Parameters
    ----------
    config : dict
        From `settings`.
    scores, labels : numpy.ndarray
        A row a pair.

    Returns
    -------
    dict
        RecBole's names and values.
    """
    collector = Collector(config)
    collector.eval_collect(torch.from_numpy(scores), torch.from_numpy(labels))
    return dict(Evaluator(config).evaluate(collector.get_data_struct()))


def batches(cutoffs: list[int], width: int) -> list[list[int]]:
    """Split cut-offs into those that a matrix of scores is wide enough for, and each other one.

    Parameters
    ----------
    cutoffs : list of int
        Lengths of the lists.
    width : int
        The number of columns.

    Returns
    -------
    list of list of int
        Cut-offs to compute together.
    """
    wide = [[k] for k in cutoffs if k > width]
    return [[k for k in cutoffs if k <= width], *wide]


def run(data: common.Data, cutoffs: list[int], report: common.Report) -> None:
    """Compute every metric.

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
        raise SystemExit(NO_MATRIX)
    items = data.scores.shape[1]
    truth = data.matrix("truth")
    candidates, rated = np.isfinite(data.masked), truth > 0

    def take(values: dict[str, float], parameters: str = "") -> None:
        for name, value in values.items():
            base, at, k = name.partition("@")
            report.add(f"{base}{parameters}{at}{k}", value)

    for at in batches(cutoffs, items + 1):
        where = "@" + ",".join(map(str, at))
        for metric in [*RANKING, *LISTS]:
            with report.guard(metric.lower() + where):
                take(rank(data, settings([metric], at), items + 1))
        for metric in OF_CATALOGUE:
            parameters = f"(num_items={items})"
            with report.guard(metric.lower() + parameters + where):
                take(rank(data, settings([metric], at), items), parameters)
        for ratio in (0.2, 5):
            parameters = f"(tail_ratio={ratio})"
            with report.guard("tailpercentage" + parameters + where):
                config = settings(["TailPercentage"], at, tail_ratio=ratio)
                take(rank(data, config, items + 1), parameters)
    for metric in ("MAE", "RMSE"):
        with report.guard(metric):
            take(compare(settings([metric], cutoffs), data.scores[rated], truth[rated]))
    for metric in ("AUC", "LogLoss"):
        with report.guard(metric):
            labels = rated[candidates].astype(float)
            take(compare(settings([metric], cutoffs), data.scores[candidates], labels))


if __name__ == "__main__":
    common.main("recbole", version("recbole"), run)
