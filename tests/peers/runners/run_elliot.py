"""Elliot on the random data: full rankings of unseen items, graded ratings.

Its metric classes, called as its `Evaluator` calls them, without the `DataSet` that reads an
experiment from files: a namespace holds what they take from one. Lists are all unseen items by
score, as Elliot makes them when a measure needs full rankings. The relevance threshold is 1, so that
every rating counts and the gain is 2^r - 1; with 0 the gain is 2^(r + 1) - 1.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import common
import elliot
import numpy as np
from elliot.evaluation import metrics
from elliot.evaluation.popularity_utils import Popularity
from elliot.evaluation.relevance import Relevance
from scipy.sparse import csr_matrix

if TYPE_CHECKING:
    from collections.abc import Iterator

SIMPLE = (
    *("nDCG", "nDCGRendle2020", "Precision", "Recall", "HR", "MRR", "MAP", "MAR", "F1"),
    *("LAUC", "GAUC", "AUC", "MAE", "MSE", "RMSE"),
    *("ItemCoverage", "UserCoverage", "UserCoverageAtN", "NumRetrieved"),
    *("Gini", "SEntropy", "EFD", "EPC", "ARP", "APLT", "ACLT", "PopRSP", "PopREO"),
)
GRADED = ("nDCG",)
SELECTIVE = ("nDCG", "nDCGRendle2020", "Precision", "Recall", "HR", "MRR", "LAUC", "GAUC", "AUC")
CONFIG = SimpleNamespace(config_test=True)


def rankings(masked: common.Array) -> dict[int, list[tuple[int, float]]]:
    """List every user's unseen items, best first.

    Parameters
    ----------
    masked : numpy.ndarray
        Scores, -inf where the item was seen.

    Returns
    -------
    dict
        Pairs of item and score by user.
    """
    orders = np.argsort(-masked, axis=1)
    return {
        user: [(int(item), float(row[item])) for item in order if np.isfinite(row[item])]
        for user, (row, order) in enumerate(zip(masked, orders, strict=True))
    }


def ratings(matrix: common.Array) -> dict[int, dict[int, float]]:
    """Turn a matrix of ratings into Elliot's dicts.

    Parameters
    ----------
    matrix : numpy.ndarray
        Users × items, 0 where there is none.

    Returns
    -------
    dict
        Ratings by item by user.
    """
    return {
        user: {int(item): float(row[item]) for item in np.flatnonzero(row)}
        for user, row in enumerate(matrix)
    }


def context(data: common.Data, threshold: int, cutoff: int) -> SimpleNamespace:
    """Gather what the metrics ask their evaluation objects for.

    Parameters
    ----------
    data : common.Data
        The data set.
    threshold : int
        The least rating that is relevant.
    cutoff : int
        Length of the lists.

    Returns
    -------
    SimpleNamespace
        As `Evaluator` makes it.
    """
    train = data.matrix("train")
    items = list(range(train.shape[1]))
    dataset = SimpleNamespace(
        train_dict=ratings(train),
        sp_i_train=csr_matrix(train > 0, dtype=np.float32),
        private_items=dict(enumerate(items)),
        items=items,
        num_items=len(items),
        transactions=int((train > 0).sum()),
    )
    return SimpleNamespace(
        relevance=Relevance(ratings(data.matrix("truth")), threshold),
        pop=Popularity(dataset),
        num_items=len(items),
        data=dataset,
        cutoff=cutoff,
    )


def write_groups(data: common.Data, folder: Path) -> dict[str, str]:
    """Write groups and genres as Elliot reads them: numbers from 0, separated by tabs.

    Parameters
    ----------
    data : common.Data
        The data set.
    folder : Path
        Where to write.

    Returns
    -------
    dict
        The path of the file of users, of items, and of genres.
    """
    paths = {}
    for name in ("user", "item"):
        table = data.table(f"{name}s")
        table["group"] = table["group"].astype("category").cat.codes
        paths[name] = str(folder / f"{name}s.tsv")
        table[[name, "group"]].to_csv(paths[name], sep="\t", header=False, index=False)
    paths["genres"] = str(folder / "genres.tsv")
    rows = (
        "\t".join(map(str, [item, *np.flatnonzero(row)]))
        for item, row in enumerate(data.genres.to_numpy())
    )
    Path(paths["genres"]).write_text("\n".join(rows) + "\n", encoding="utf-8")
    return paths


def complex_requests(paths: dict[str, str]) -> Iterator[tuple[dict[str, Any], str]]:
    """List the measures that take parameters.

    Parameters
    ----------
    paths : dict
        From `write_groups`.

    Yields
    ------
    parameters, suffix : dict, str
        The parameters, and what the name of the result leaves out of them.
    """
    users = {"clustering_file": paths["user"], "clustering_name": "users"}
    items = {"clustering_file": paths["item"], "clustering_name": "items"}
    both = {f"user_{key}": value for key, value in users.items()}
    both |= {f"item_{key}": value for key, value in items.items()}
    for name in ("UserMADranking", "UserMADrating"):
        yield {"metric": name, **users}, ""
    for name in ("ItemMADranking", "ItemMADrating", "REO", "RSP"):
        yield {"metric": name, **items}, ""
    for name in ("BiasDisparityBS", "BiasDisparityBR", "BiasDisparityBD"):
        yield {"metric": name, **both}, ""
    yield {"metric": "SRecall", "feature_data": paths["genres"]}, ""
    yield {"metric": "ExtendedF1", "metric_0": "nDCG", "metric_1": "MAP"}, ""
    for beta in (0.5, 2):
        yield {"metric": "DSC", "beta": beta}, f"(beta={beta})"
    for name in ("ExtendedEFD", "ExtendedEPC"):
        yield {"metric": name, "relevance": "discounted"}, "(relevance=discounted)"
    for name in ("ExtendedPopRSP", "ExtendedPopREO"):
        yield {"metric": name, "pop_ratio": 0.5}, "(pop_ratio=0.5)"


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
    lists = rankings(data.masked)

    def compute(name: str, threshold: int, cutoff: int) -> float:
        metric = metrics.parse_metric(name)
        return float(metric(lists, CONFIG, None, context(data, threshold, cutoff)).eval())

    def compute_complex(parameters: dict[str, Any], suffix: str, cutoff: int) -> None:
        metric = metrics.parse_metric(parameters["metric"])
        made = metric(lists, CONFIG, None, context(data, 1, cutoff), parameters)
        for part in made.get():
            report.add(f"{part.name()}{suffix}@{cutoff}", part.eval())

    with tempfile.TemporaryDirectory() as folder:
        paths = write_groups(data, Path(folder))
        for k in cutoffs:
            for threshold, names in ((1, SIMPLE), (0, GRADED), (3, SELECTIVE)):
                suffix = "" if threshold == 1 else f"(relevance_threshold={threshold})"
                for name in names:
                    report.measure(f"{name}{suffix}@{k}", partial(compute, name, threshold, k))
            for parameters, suffix in complex_requests(paths):
                with report.guard(f"{parameters['metric']}{suffix}@{k}"):
                    compute_complex(parameters, suffix, k)


if __name__ == "__main__":
    common.main("elliot", elliot.__version__, run)
