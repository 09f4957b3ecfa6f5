"""rexmex on the random data: lists of items in, and vectors of labels and scores.

Its functions of rankings take the relevant items and the recommended items of users as two lists
of lists in one order, which a user can fill for users who have both. A relevant item is any truth
row, grade 0 included, for they take no grades. ``hits_at_k``, ``mean_reciprocal_rank``,
``mean_rank`` and ``gmean_rank`` are of one user; here the mean over users. The last three have no
cut-off, are given whole lists, and raise if a relevant item is missing from them: with ``all
candidates`` they get a list of all items outside the user's train, by score. ``personalization``,
``intra_list_similarity`` and the coverages have no cut-off either: they get lists cut at k, of all
users with a list. ``novelty`` gets the number of training rows of an item, 0 if it has none.

The metric sets are called as its score card does it, on the pairs of the lists (labels: a truth row
above 0) or, with ``all candidates``, on all pairs outside train; a name with ``card`` is from
``ScoreCard``, others from the function alone, each with data of its own: some write into them.

Left out: ``spearmans_rho``, ``kendall_tau`` (they correlate the ids that two lists of one length
have at the same place) and ``normalized_distance_based_performance_measure`` (two orders of the
same items), for which there is no second list here.
"""

from __future__ import annotations

from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import common
import numpy as np
import pandas as pd
from rexmex.metrics import coverage, ranking
from rexmex.metricset import ClassificationMetricSet, RatingMetricSet
from rexmex.scorecard import ScoreCard

if TYPE_CHECKING:
    from collections.abc import Callable

Lists = list[list[int]]


def cut(data: common.Data, name: str, k: int | None = None) -> dict[int, list[int]]:
    """Return the items of every user in a table, in its order.

    Parameters
    ----------
    data : common.Data
        The data set.
    name : str
        ``lists`` or ``truth``.
    k : int or None
        How many items at most.

    Returns
    -------
    dict
        A list of items for every user in the table.
    """
    groups = data.table(name).groupby("user", sort=False)["item"]
    return {int(user): items.tolist()[:k] for user, items in groups}


def paired(truth: dict[int, list[int]], lists: dict[int, list[int]]) -> tuple[Lists, Lists]:
    """Return relevant and recommended items of the users who have both."""
    users = [user for user in truth if user in lists]
    return [truth[user] for user in users], [lists[user] for user in users]


def mean_over_users(score: Callable[[Any, Any], float], both: tuple[Lists, Lists]) -> float:
    """Call a function of one user for each and average."""
    return float(np.mean([score(*own) for own in zip(*both, strict=True)]))


def of_lists(data: common.Data, k: int, report: common.Report) -> None:
    """Compute the functions of lists at a cut-off.

    Parameters
    ----------
    data : common.Data
        The data set.
    k : int
        The cut-off.
    report : common.Report
        Takes the values.
    """
    lists = cut(data, "lists")
    both = paired(cut(data, "truth"), lists)
    shown = list(cut(data, "lists", k).values())
    counts = data.table("train")["item"].value_counts().to_dict()
    popularity = {item: counts.get(item, 0) for item in data.table("items")["item"]}
    users = data.table("users")["user"].tolist()
    possible = (users, data.table("items")["item"].tolist())
    tuples = [(user, item) for user, items in cut(data, "lists", k).items() for item in items]
    made: dict[str, Callable[[], float]] = {
        "mean_average_precision_at_k": partial(ranking.mean_average_precision_at_k, *both, k=k),
        "mean_average_recall_at_k": partial(ranking.mean_average_recall_at_k, *both, k=k),
        "hits_at_k": partial(mean_over_users, partial(ranking.hits_at_k, k=k), both),
        "personalization": partial(ranking.personalization, shown),
        "intra_list_similarity": partial(ranking.intra_list_similarity, shown, data.features),
        "novelty": partial(ranking.novelty, list(lists.values()), popularity, len(users), k=k),
        "item_coverage": partial(coverage.item_coverage, possible, tuples),
        "user_coverage": partial(coverage.user_coverage, possible, tuples),
    }
    for name, compute in made.items():
        report.measure(f"{name}@{k}", compute)


def of_ranks(both: tuple[Lists, Lists], where: str, report: common.Report) -> None:
    """Compute the functions that need every relevant item in the list.

    Parameters
    ----------
    both : tuple
        Relevant and recommended items.
    where : str
        Goes behind the name.
    report : common.Report
        Takes the values.
    """
    for name in ("mean_reciprocal_rank", "mean_rank", "gmean_rank"):
        report.measure(name + where, partial(mean_over_users, getattr(ranking, name), both))


def of_vectors(pairs: pd.DataFrame, rated: pd.DataFrame, where: str, report: common.Report) -> None:
    """Compute the metric sets.

    Parameters
    ----------
    pairs, rated : pandas.DataFrame
        ``y_true`` and ``y_score``: labels of 0 and 1, and ratings.
    where : str
        Goes into the names.
    report : common.Report
        Takes the values.
    """
    for metrics, table in ((ClassificationMetricSet(), pairs), (RatingMetricSet(), rated)):
        for name, metric in metrics.items():
            fresh = table.copy()
            true, score = (fresh[column].to_numpy(copy=True) for column in ("y_true", "y_score"))
            called = f"{name}({where})" if where else name
            report.measure(called, partial(metric, true, score))
        suffix = f"(card,{where})" if where else "(card)"
        with report.guard(type(metrics).__name__ + suffix):
            for name, value in ScoreCard(metrics).generate_report(table.copy()).iloc[0].items():
                report.add(f"{name}{suffix}", value)


def of_candidates(data: common.Data, report: common.Report) -> None:
    """Compute what needs a score of every item.

    Parameters
    ----------
    data : common.Data
        The data set.
    report : common.Report
        Takes the values.
    """
    where = "all candidates"
    grades, candidates = data.matrix("truth"), np.isfinite(data.masked)
    order = np.argsort(-data.masked, axis=1, kind="stable")
    full = {user: row[: candidates[user].sum()].tolist() for user, row in enumerate(order)}
    of_ranks(paired(cut(data, "truth"), full), f"({where})", report)
    labels = (grades[candidates] > 0).astype(int)
    pairs = pd.DataFrame({"y_true": labels, "y_score": data.scores[candidates]})
    rated = pd.DataFrame({"y_true": grades[grades > 0], "y_score": data.scores[grades > 0]})
    of_vectors(pairs, rated, where, report)
    scores = np.where(candidates, data.scores, -1.0)
    for name, score in (
        ("discounted_cumulative_gain", ranking.discounted_cumulative_gain),
        ("normalized_discounted_cumulative_gain", ranking.normalized_discounted_cumulative_gain),
    ):
        report.measure(f"{name}({where})", partial(score, grades, scores))


def run(data: common.Data, cutoffs: list[int], report: common.Report) -> None:
    """Compute every function.

    Parameters
    ----------
    data : common.Data
        The data set.
    cutoffs : list of int
        Lengths of the lists.
    report : common.Report
        Takes the values.
    """
    for k in cutoffs:
        of_lists(data, k, report)
    of_ranks(paired(cut(data, "truth"), cut(data, "lists")), "", report)
    truth, lists = data.table("truth"), data.table("lists")
    rows = lists.merge(truth, on=["user", "item"], how="left").fillna({"rating": 0})
    labels = (rows["rating"] > 0).astype(int)
    both = lists.merge(truth, on=["user", "item"])
    of_vectors(
        pd.DataFrame({"y_true": labels, "y_score": rows["score"]}),
        pd.DataFrame({"y_true": both["rating"].astype(float), "y_score": both["score"]}),
        "",
        report,
    )
    if (data.folder / "scores.npy").exists():
        of_candidates(data, report)


if __name__ == "__main__":
    common.main("rexmex", version("rexmex"), run)
