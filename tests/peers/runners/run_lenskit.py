"""LensKit on the random data: item lists in rank order, every truth row relevant.

Runs 2026.3 (`MeasurementCollector`) and 2025.8 (`RunAnalysis`), whichever is installed; the number
is the mean over lists that the library reports, or its own figure for the whole run (``.global``,
Gini, unique items). Lists and truth become item list collections through `from_df`; the column
``rank`` makes a list an ordered one, and LensKit takes its items in that order without looking at
scores. Truth rows of grade 0 are handed over too: for a measure without ``gain`` any row of the
truth is relevant; with ``gain=rating`` the grades count. Measures that know the catalogue get the
training data set with the items of train, as its users have it, and under names of their own with
all items. Features are a sparse attribute: 2026.3.0 loses a dense one that every item has. Rating errors get
predictions for the truth rows where every item has a score; elsewhere the lists of users with a
row in the truth, and pairs that only one side has are ignored. `AveragePrecision` raises where a
user with a list has no row in the truth, so it is also run without such users. `rank_biased_overlap` compares the list with the reference list.
"""

from __future__ import annotations

from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import common
import lenskit.metrics as lm
from lenskit.data import DatasetBuilder, ItemListCollection
from lenskit.metrics.ranking import AveragePrecision
from scipy.sparse import csr_array

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from lenskit.data import Dataset

NAMES = {"user": "user_id", "item": "item_id"}
STANDARD = lm.LogRankWeight(offset=1)


def table(data: common.Data, name: str) -> pd.DataFrame:
    """Read a table with the column names that LensKit wants.

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


def collect(frame: pd.DataFrame) -> ItemListCollection[Any]:
    """Make a list for every user.

    Parameters
    ----------
    frame : pandas.DataFrame
        The rows of all users.

    Returns
    -------
    ItemListCollection
        The lists, keyed by user.
    """
    return ItemListCollection.from_df(frame, ["user_id"])


def build_dataset(data: common.Data, *, whole: bool) -> Dataset:
    """Make the training data set, with genres and features of its items.

    Parameters
    ----------
    data : common.Data
        The data set.
    whole : bool
        Whether items without a row in train belong to it.

    Returns
    -------
    Dataset
        What popularity, Gini and diversity measures are given.
    """
    builder = DatasetBuilder()
    items, train = table(data, "items"), table(data, "train")
    known = items if whole else items[items["item_id"].isin(train["item_id"])]
    ids = known["item_id"].to_numpy()
    builder.add_entities("item", ids)
    builder.add_interactions("rating", train, entities=["user", "item"], missing="insert")
    builder.add_list_attribute("item", "genres", ids, known["genres"].str.split("|").tolist())
    builder.add_vector_attribute("item", "features", ids, csr_array(data.features[ids]))
    return builder.build()


def build_ranking(n: int | None) -> dict[str, Any]:
    """Make the measures that need nothing but lists and truth.

    Parameters
    ----------
    n : int or None
        The cutoff.

    Returns
    -------
    dict
        Measures by name, without the cutoff.
    """
    return {
        "Precision": lm.Precision(n),
        "Recall": lm.Recall(n),
        "Hit": lm.Hit(n),
        "RecipRank": lm.RecipRank(n),
        "AveragePrecision": AveragePrecision(n),
        "NDCG": lm.NDCG(n),
        "NDCG(gain=rating)": lm.NDCG(n, gain="rating"),
        "NDCG(weight=LogRankWeight(offset=1))": lm.NDCG(n, weight=STANDARD),
        "NDCG(weight=LogRankWeight(offset=1),gain=rating)": lm.NDCG(
            n, weight=STANDARD, gain="rating"
        ),
        "NDCG(weight=LogRankWeight(base=3))": lm.NDCG(n, weight=lm.LogRankWeight(base=3)),
        "NDCG(weight=GeometricRankWeight())": lm.NDCG(n, weight=lm.GeometricRankWeight()),
        "DCG": lm.DCG(n),
        "DCG(gain=rating)": lm.DCG(n, gain="rating"),
        "DCG(weight=LogRankWeight(offset=1))": lm.DCG(n, weight=STANDARD),
        "DCG(weight=LogRankWeight(offset=1),gain=rating)": lm.DCG(
            n, weight=STANDARD, gain="rating"
        ),
        "RBP": lm.RBP(n),
        "RBP(patience=0.8)": lm.RBP(n, patience=0.8),
        "RBP(normalize=True)": lm.RBP(n, normalize=True),
    }


def build_describing(n: int | None, dataset: Dataset, items: str) -> dict[str, Any]:
    """Make the measures of popularity, concentration and diversity.

    Parameters
    ----------
    n : int or None
        The cutoff.
    dataset : Dataset
        The training data.
    items : str
        What the names say of its items.

    Returns
    -------
    dict
        Measures by name, without the cutoff; Entropy and ILS where the version has them.
    """
    measures = {
        f"MeanPopRank({items})": lm.MeanPopRank(dataset, n=n),
        f"MeanPopRank({items},count=interactions)": lm.MeanPopRank(
            dataset, n=n, count="interactions"
        ),
        f"ListGini({items})": lm.ListGini(n, items=dataset),
        f"ExposureGini({items})": lm.ExposureGini(n, items=dataset),
        f"ExposureGini({items},weight=LogRankWeight(offset=1))": lm.ExposureGini(
            n, items=dataset, weight=STANDARD
        ),
    }
    for name in ("Entropy", "RankBiasedEntropy", "ILS"):
        if hasattr(lm, name):
            measures[f"{name}({items},genres)"] = getattr(lm, name)(dataset, "genres", n)
    if hasattr(lm, "ILS"):
        measures[f"ILS({items},features)"] = lm.ILS(dataset, "features", n)
    return measures


def measure(
    metric: Any, outputs: ItemListCollection[Any], test: ItemListCollection[Any], part: str
) -> float:
    """Measure one run by one measure.

    Parameters
    ----------
    metric : Metric or function
        The measure.
    outputs, test : ItemListCollection
        The lists, and what they are held against.
    part : str
        ``mean`` over lists, or ``global``.

    Returns
    -------
    float
        The library's summary.
    """
    if hasattr(lm.MeasurementCollector, "measure_run"):
        collector = lm.MeasurementCollector()
        collector.add_metric(metric, "x")
        summary = collector.measure_run(outputs, test).summary_metrics
        return float(summary["x"] if "x" in summary else summary[f"x.{part}"])
    analysis = lm.RunAnalysis()
    analysis.add_metric(metric, "x")
    result = analysis.measure(outputs, test)
    overall = result.global_metrics()
    if part == "global" or "x" not in result.list_metrics():
        return float(overall["x"])
    return float(result.list_summary().loc["x", "mean"])


def lists_of_judged(data: common.Data) -> pd.DataFrame:
    """Read the lists of users with a row in the truth.

    Parameters
    ----------
    data : common.Data
        The data set.

    Returns
    -------
    pandas.DataFrame
        Their rows.
    """
    lists = table(data, "lists")
    return lists[lists["user_id"].isin(data.table("truth")["user"])]


def predictions(data: common.Data) -> tuple[ItemListCollection[Any], dict[str, str]]:
    """Score the truth rows, or hand over the lists.

    Parameters
    ----------
    data : common.Data
        The data set.

    Returns
    -------
    ItemListCollection
        Items with scores.
    dict
        What to do with pairs that only one side has.
    """
    if not (data.folder / "scores.npy").exists():
        ignored = {"missing_scores": "ignore", "missing_truth": "ignore"}
        return collect(lists_of_judged(data)), ignored
    truth = table(data, "truth")
    truth["score"] = data.scores[truth["user_id"], truth["item_id"]]
    return collect(truth[["user_id", "item_id", "score"]]), {}


def measure_errors(data: common.Data, test: ItemListCollection[Any], report: common.Report) -> None:
    """Compare scores with ratings.

    Parameters
    ----------
    data : common.Data
        The data set.
    test : ItemListCollection
        The truth.
    report : common.Report
        Takes the values.
    """
    scored, missing = predictions(data)
    for kind in (lm.RMSE, lm.MAE):
        for part in ("mean", "global"):
            report.measure(
                f"{kind.__name__}.{part}", partial(measure, kind(**missing), scored, test, part)
            )


def overlap(n: int) -> Callable[[Any, Any], float]:
    """Make a measure of two lists.

    Parameters
    ----------
    n : int
        How deep to compare.

    Returns
    -------
    callable
        Takes the list and the reference list.
    """

    def rank_biased_overlap(output: Any, reference: Any) -> float:
        return float(lm.rank_biased_overlap(reference, output, n=n))

    return rank_biased_overlap


def run(data: common.Data, cutoffs: list[int], report: common.Report) -> None:
    """Compute every measure at every cutoff, and without one.

    Parameters
    ----------
    data : common.Data
        The data set.
    cutoffs : list of int
        Lengths of the lists.
    report : common.Report
        Takes the values.
    """
    outputs, test = collect(table(data, "lists")), collect(table(data, "truth"))
    trained, whole = (build_dataset(data, whole=flag) for flag in (False, True))
    for n in (*cutoffs, None):
        end = "" if n is None else f"@{n}"
        measures = build_ranking(n) | build_describing(n, trained, "items of train")
        report.measure(
            f"AveragePrecision(users of truth){end}",
            partial(measure, AveragePrecision(n), collect(lists_of_judged(data)), test, "mean"),
        )
        for name, metric in (measures | build_describing(n, whole, "all items")).items():
            report.measure(f"{name}{end}", partial(measure, metric, outputs, test, "mean"))
    for name in ("ListLength", "TestItemCount", "UniqueItemCount"):
        if hasattr(lm, name):
            with report.guard(name):
                report.add(name, measure(getattr(lm, name)(), outputs, test, "mean"))
    measure_errors(data, test, report)
    reference = collect(table(data, "reference"))
    for n in cutoffs:
        if hasattr(lm, "rank_biased_overlap"):
            report.measure(
                f"rank_biased_overlap(reference)@{n}",
                partial(measure, overlap(n), outputs, reference, "mean"),
            )


if __name__ == "__main__":
    common.main("lenskit", version("lenskit"), run)
