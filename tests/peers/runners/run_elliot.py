"""Elliot on the random data: ranked lists with scores, graded ratings.

Its metric classes, called as its `Evaluator` calls them, without the `DataSet` that reads an
experiment from files: a namespace holds what they take from one. As there, users and items are those
of train, every row of the truth is handed over, and users without one are taken out of the lists.

Lists are what its `ProxyRecommender` makes of a file of recommendations when a measure needs full
rankings: a user's rows by decreasing score, tied ones in the order of the file, without items that
the user has or that train does not have. The file has all unseen items by number where there are
scores for all, else the rows of ``lists.csv``. Users without a row have no list.

Names say the relevance threshold where it is not 1, with which ratings from 1 on count and the gain
is 2^r - 1. Elliot's default is 0: rows of rating 0 are relevant too, and the gain is 2^(r + 1) - 1.
"""

from __future__ import annotations

import tempfile
from functools import partial
from operator import itemgetter
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeAlias

import common
import elliot
import numpy as np
import pandas as pd
from elliot.evaluation import metrics
from elliot.evaluation.popularity_utils import Popularity
from elliot.evaluation.relevance import Relevance
from scipy.sparse import csr_matrix

if TYPE_CHECKING:
    from collections.abc import Iterator

Ratings: TypeAlias = dict[int, dict[int, float]]
Lists: TypeAlias = dict[int, list[tuple[int, float]]]
SIMPLE = (
    *("nDCG", "nDCGRendle2020", "Precision", "Recall", "HR", "MRR", "MAP", "MAR", "F1"),
    *("LAUC", "GAUC", "AUC", "MAE", "MSE", "RMSE"),
    *("ItemCoverage", "UserCoverage", "UserCoverageAtN", "NumRetrieved"),
    *("Gini", "SEntropy", "EFD", "EPC", "ARP", "APLT", "ACLT", "PopRSP", "PopREO"),
)
SELECTIVE = ("nDCG", "nDCGRendle2020", "Precision", "Recall", "HR", "MRR", "LAUC", "GAUC", "AUC")
CONFIG = SimpleNamespace(config_test=True)


def rows_of_matrix(data: common.Data) -> pd.DataFrame:
    """Write a score matrix as a file of recommendations.

    Parameters
    ----------
    data : common.Data
        The data set.

    Returns
    -------
    pandas.DataFrame
        All unseen items of every user, by number.
    """
    users, items = np.nonzero(np.isfinite(data.masked))
    return pd.DataFrame({"user": users, "item": items, "score": data.scores[users, items]})


def rankings(data: common.Data, train: Ratings) -> Lists:
    """List what users are recommended, best first, as a `ProxyRecommender` does.

    Parameters
    ----------
    data : common.Data
        The data set.
    train : dict
        Ratings by item by user.

    Returns
    -------
    dict
        Pairs of item and score by user.
    """
    has_scores = (data.folder / "scores.npy").exists()
    rows = rows_of_matrix(data) if has_scores else data.table("lists")
    items = {item for own in train.values() for item in own}
    lists: Lists = {}
    for user, own in rows.groupby("user"):
        pairs = zip(own["item"].tolist(), own["score"].tolist(), strict=True)
        pairs_by_score = sorted(pairs, key=itemgetter(1), reverse=True)
        lists[user] = [pair for pair in pairs_by_score if pair[0] in items - train[user].keys()]
    return lists


def ratings(data: common.Data, name: str) -> Ratings:
    """Turn a table of ratings into Elliot's dicts.

    Parameters
    ----------
    data : common.Data
        The data set.
    name : str
        ``train`` or ``truth``.

    Returns
    -------
    dict
        Ratings by item by user, users as they are in the table.
    """
    return {
        user: dict(zip(own["item"].tolist(), own["rating"].tolist(), strict=True))
        for user, own in data.table(name).groupby("user", sort=False)
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
    train, truth = ratings(data, "train"), ratings(data, "truth")
    items = list({item for own in train.values() for item in own})
    places = {item: place for place, item in enumerate(items)}
    cells = [(row, places[item]) for row, own in enumerate(train.values()) for item in own]
    dataset = SimpleNamespace(
        train_dict=train,
        sp_i_train=csr_matrix(
            (np.ones(len(cells)), tuple(np.transpose(cells))),
            dtype=np.float32,
            shape=(len(train), len(items)),
        ),
        private_items=dict(enumerate(items)),
        items=items,
        num_items=len(items),
        transactions=len(cells),
    )
    return SimpleNamespace(
        relevance=Relevance({user: truth.get(user, {}) for user in train}, threshold),
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
    truth = ratings(data, "truth")
    lists = {
        user: own for user, own in rankings(data, ratings(data, "train")).items() if user in truth
    }

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
            for threshold, names in ((1, SIMPLE), (0, SIMPLE), (3, SELECTIVE)):
                suffix = "" if threshold == 1 else f"(relevance_threshold={threshold})"
                for name in names:
                    report.measure(f"{name}{suffix}@{k}", partial(compute, name, threshold, k))
            for parameters, suffix in complex_requests(paths):
                with report.guard(f"{parameters['metric']}{suffix}@{k}"):
                    compute_complex(parameters, suffix, k)


if __name__ == "__main__":
    common.main("elliot", elliot.__version__, run)
