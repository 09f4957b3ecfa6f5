"""scikit-learn on the random data: matrices of labels and scores in, one row a user.

``ndcg_score``, ``dcg_score``, the label ranking measures and ``average_precision_score`` get the
users' rows in one call. The items of a user's train are in the row too, with the label 0 and the
score -1, below all others: the functions take no rows of different lengths and no -inf.
``roc_auc_score`` would count such items, so it, the area at half of the false positive rate and the
names with ``loop`` are called user by user on the items outside the user's train, and averaged; it
returns NaN for a user with one kind of label only, which ``nanmean`` leaves out, as people do.
Names with ``pooled`` are of all pairs of users and items outside their train at once.

Labels are ratings for nDCG and DCG, else whether there is a rating above 0. Users without ground
truth are rows of zeros. Where there are lists only, names with ``lists`` are called list by list on
the items of the list, in all cases; functions that refuse a list of one item fail there.

Errors of ratings are of the pairs that a list and the truth have in common, and with ``all
candidates`` of all truth rows, with the scores of the matrix.
"""

from __future__ import annotations

from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING

import common
import numpy as np
from sklearn import metrics as sm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Score = Callable[[common.Array, common.Array], float]
    Rows = list[tuple[common.Array, common.Array]]

LOWEST = -1.0
ERRORS = (
    "mean_squared_error",
    "root_mean_squared_error",
    "mean_absolute_error",
    "r2_score",
    "explained_variance_score",
    "median_absolute_error",
    "max_error",
)


def graded(k: int | None) -> dict[str, Score]:
    """Make the functions that take grades.

    Parameters
    ----------
    k : int or None
        The cut-off.

    Returns
    -------
    dict
        Names, and functions of labels and scores.
    """
    return {
        "ndcg_score": partial(sm.ndcg_score, k=k),
        "ndcg_score(ignore_ties=True)": partial(sm.ndcg_score, k=k, ignore_ties=True),
        "dcg_score": partial(sm.dcg_score, k=k),
        "dcg_score(log_base=3)": partial(sm.dcg_score, k=k, log_base=3),
        "dcg_score(ignore_ties=True)": partial(sm.dcg_score, k=k, ignore_ties=True),
    }


def of_labels() -> dict[str, Score]:
    """Make the functions of many rows that take labels of 0 and 1.

    Returns
    -------
    dict
        Names, and functions of labels and scores.
    """
    return {
        "average_precision_score(average=samples)": partial(
            sm.average_precision_score, average="samples"
        ),
        "label_ranking_average_precision_score": sm.label_ranking_average_precision_score,
        "coverage_error": sm.coverage_error,
        "label_ranking_loss": sm.label_ranking_loss,
    }


def of_one_row() -> dict[str, Score]:
    """Make the functions of one row that take labels of 0 and 1.

    Returns
    -------
    dict
        Names, and functions of labels and scores.
    """
    return {
        "roc_auc_score": sm.roc_auc_score,
        "roc_auc_score(max_fpr=0.5)": partial(sm.roc_auc_score, max_fpr=0.5),
        "average_precision_score": sm.average_precision_score,
    }


def mean_of_rows(score: Score, rows: Iterable[tuple[common.Array, common.Array]]) -> float:
    """Call a function user by user and average what is not NaN."""
    return float(np.nanmean([score(labels, scores) for labels, scores in rows]))


def as_matrix(score: Score) -> Score:
    """Wrap a function of matrices for a single row."""
    return lambda labels, scores: score(labels[None], scores[None])


def list_rows(data: common.Data) -> Rows:
    """Return grades and scores of the items of every list."""
    rows = data.table("lists").merge(data.table("truth"), on=["user", "item"], how="left")
    lists: Iterator = (own for _, own in rows.fillna({"rating": 0}).groupby("user"))
    return [(own["rating"].to_numpy(), own["score"].to_numpy()) for own in lists]


def errors(labels: common.Array, scores: common.Array, where: str, report: common.Report) -> None:
    """Compute the errors of ratings.

    Parameters
    ----------
    labels, scores : numpy.ndarray
        A row a pair.
    where : str
        Goes behind the name.
    report : common.Report
        Takes the values.
    """
    for name in ERRORS:
        report.measure(name + where, partial(getattr(sm, name), labels, scores))


def of_lists(data: common.Data, cutoffs: list[int], report: common.Report) -> None:
    """Compute what can be had of the lists alone.

    Parameters
    ----------
    data : common.Data
        The data set.
    cutoffs : list of int
        Lengths of the lists.
    report : common.Report
        Takes the values.
    """
    rows = list_rows(data)
    binary = [((labels > 0).astype(int), scores) for labels, scores in rows]
    for k in (None, *cutoffs):
        at = "" if k is None else f"@{k}"
        for name, score in graded(k).items():
            called = (f"{name[:-1]},lists)" if name.endswith(")") else f"{name}(lists)") + at
            report.measure(called, partial(mean_of_rows, as_matrix(score), rows))
    for name in ("label_ranking_average_precision_score", "coverage_error", "label_ranking_loss"):
        score = as_matrix(of_labels()[name])
        report.measure(f"{name}(lists)", partial(mean_of_rows, score, binary))
    for name in ("roc_auc_score", "average_precision_score"):
        report.measure(f"{name}(lists)", partial(mean_of_rows, of_one_row()[name], binary))
    pooled = [np.concatenate(parts) for parts in zip(*binary, strict=True)]
    for name in ("roc_auc_score", "average_precision_score"):
        report.measure(f"{name}(lists,pooled)", partial(of_one_row()[name], *pooled))
    report.measure("log_loss(lists)", partial(sm.log_loss, *pooled))
    report.measure("brier_score_loss(lists)", partial(sm.brier_score_loss, *pooled))
    both = data.table("lists").merge(data.table("truth"), on=["user", "item"])
    errors(both["rating"].to_numpy(), both["score"].to_numpy(), "", report)


def of_candidates(data: common.Data, cutoffs: list[int], report: common.Report) -> None:
    """Compute what needs a score of every item.

    Parameters
    ----------
    data : common.Data
        The data set.
    cutoffs : list of int
        Lengths of the lists.
    report : common.Report
        Takes the values.
    """
    unseen = data.matrix("train") == 0
    grades = data.matrix("truth")
    labels = (grades > 0).astype(int)
    scores = np.where(unseen, data.scores, LOWEST)
    for k in (None, *cutoffs):
        at = "" if k is None else f"@{k}"
        for name, score in graded(k).items():
            report.measure(name + at, partial(score, grades, scores))
        report.measure(f"ndcg_score(binary){at}", partial(sm.ndcg_score, labels, scores, k=k))
    for name, score in of_labels().items():
        report.measure(name, partial(score, labels, scores))
    rows = [(own[new], row[new]) for own, row, new in zip(labels, scores, unseen, strict=True)]
    for name, score in of_one_row().items():
        report.measure(name, partial(mean_of_rows, score, rows))
        called = f"{name[:-1]},pooled)" if name.endswith(")") else f"{name}(pooled)"
        report.measure(called, partial(score, labels[unseen], scores[unseen]))
    loss = as_matrix(sm.label_ranking_loss)
    report.measure("label_ranking_loss(loop)", partial(mean_of_rows, loss, rows))
    report.measure("log_loss", partial(sm.log_loss, labels[unseen], scores[unseen]))
    report.measure("brier_score_loss", partial(sm.brier_score_loss, labels[unseen], scores[unseen]))
    truth = data.table("truth").sort_values(["user", "item"])
    errors(
        truth["rating"].to_numpy(),
        data.scores[truth["user"], truth["item"]],
        "(all candidates)",
        report,
    )


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
    of_lists(data, cutoffs, report)
    if (data.folder / "scores.npy").exists():
        of_candidates(data, cutoffs, report)


if __name__ == "__main__":
    common.main("sklearn", version("scikit-learn"), run)
