"""TorchMetrics on the random data: its retrieval classes, given pairs of users and items.

As in a training loop, a class is updated with one row a pair: ``indexes`` is the user, ``preds``
the score, and ``target`` whether the pair has a truth row above 0; nDCG gets the grade itself. Rows
are those of the lists, in their order: a relevant item that no list has is in no row, and neither
is a user without a list. Where every item has a score, names with ``all candidates`` are of the
pairs of every user with each item outside the user's train, by item; there, recall and nDCG know
all relevant items. The rank column is never read: classes sort by score.

Settings are the library's defaults, among them ``empty_target_action``: "neg", a user without a
relevant row counts 0; for fall-out it is "pos", and a user without an irrelevant row counts 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING

import common
import numpy as np
import torch
from torchmetrics import retrieval as tr

if TYPE_CHECKING:
    from collections.abc import Callable

    from torchmetrics import Metric

BY_ACTION: dict[str, type[tr.RetrievalPrecision | tr.RetrievalFallOut]] = {
    name: getattr(tr, name)
    for name in (
        "RetrievalPrecision",
        "RetrievalRecall",
        "RetrievalHitRate",
        "RetrievalMAP",
        "RetrievalMRR",
        "RetrievalNormalizedDCG",
        "RetrievalFallOut",
        "RetrievalAUROC",
    )
}
AGGREGATIONS = ("median", "min", "max")
MIN_PRECISION = 0.2
MAX_FPR = 0.5


@dataclass(frozen=True)
class Pairs:
    """What the classes are updated with.

    Attributes
    ----------
    users : torch.Tensor
        The user of every pair.
    scores : torch.Tensor
        The score of every pair.
    grades : torch.Tensor
        The truth's rating of every pair, 0 where there is none.
    """

    users: torch.Tensor
    scores: torch.Tensor
    grades: torch.Tensor

    def compute(self, metric: Metric) -> torch.Tensor:
        """Update a metric once and compute it.

        Parameters
        ----------
        metric : torchmetrics.Metric
            A new one.

        Returns
        -------
        torch.Tensor
            What it returns.
        """
        graded = isinstance(metric, tr.RetrievalNormalizedDCG)
        target = self.grades if graded else (self.grades > 0).long()
        metric.update(self.scores, target, indexes=self.users)
        return metric.compute()


def of_lists(data: common.Data) -> Pairs:
    """Make the pairs of the lists, in their order."""
    rows = data.table("lists").merge(data.table("truth"), on=["user", "item"], how="left")
    return Pairs(
        torch.tensor(rows["user"].to_numpy()),
        torch.tensor(rows["score"].to_numpy()),
        torch.tensor(rows["rating"].fillna(0).to_numpy(dtype=np.int64)),
    )


def of_candidates(data: common.Data) -> Pairs:
    """Make the pairs of every user with all items outside the user's train, by item."""
    users, items = np.nonzero(data.matrix("train") == 0)
    grades = data.matrix("truth")[users, items].astype(np.int64)
    return Pairs(torch.tensor(users), torch.tensor(data.scores[users, items]), torch.tensor(grades))


def with_cutoff(k: int | None) -> dict[str, Callable[[], Metric]]:
    """Make every class that takes ``top_k``; None is the default, all rows of a user.

    Parameters
    ----------
    k : int or None
        The cut-off.

    Returns
    -------
    dict
        Names, and what makes the metric.
    """
    made: dict[str, Callable[[], Metric]] = {}
    for name, kind in BY_ACTION.items():
        made[name] = partial(kind, top_k=k)
        for action in ("skip", "neg") if kind is tr.RetrievalFallOut else ("skip", "pos"):
            made[f"{name}(empty_target_action={action})"] = partial(
                kind, top_k=k, empty_target_action=action
            )
    for how in AGGREGATIONS:
        made[f"RetrievalNormalizedDCG(aggregation={how})"] = partial(
            tr.RetrievalNormalizedDCG, top_k=k, aggregation=how
        )
    made["RetrievalPrecision(adaptive_k=True)"] = partial(
        tr.RetrievalPrecision, top_k=k, adaptive_k=True
    )
    made[f"RetrievalAUROC(max_fpr={MAX_FPR})"] = partial(
        tr.RetrievalAUROC, top_k=k, max_fpr=MAX_FPR
    )
    return made


def compute_all(pairs: Pairs, where: str, cutoffs: list[int], report: common.Report) -> None:
    """Compute every measure of some pairs.

    Parameters
    ----------
    pairs : Pairs
        Which pairs.
    where : str
        Is put into the names: ``all candidates``, or nothing.
    cutoffs : list of int
        Lengths of the lists.
    report : common.Report
        Takes the values.
    """

    def called(name: str, at: str) -> str:
        if where:
            name = f"{name[:-1]},{where})" if name.endswith(")") else f"{name}({where})"
        return name + at

    for k in (None, *cutoffs):
        at = "" if k is None else f"@{k}"
        for name, make in with_cutoff(k).items():
            report.measure(called(name, at), lambda make=make: pairs.compute(make()))
        binary = replace(pairs, grades=(pairs.grades > 0).long())
        report.measure(
            called("RetrievalNormalizedDCG(binary target)", at),
            lambda k=k, of=binary: of.compute(tr.RetrievalNormalizedDCG(top_k=k)),
        )
    report.measure(
        called("RetrievalRPrecision", ""), lambda: pairs.compute(tr.RetrievalRPrecision())
    )
    for k in cutoffs:
        for parameters, adaptive in (("", False), ("(adaptive_k=True)", True)):
            name = called(f"RetrievalPrecisionRecallCurve{parameters}", "")
            with report.guard(f"{name}@{k}"):
                curve = tr.RetrievalPrecisionRecallCurve(max_k=k, adaptive_k=adaptive)
                precisions, recalls, _ = pairs.compute(curve)
                report.add(f"{name}[precision]@{k}", precisions.reshape(-1)[k - 1])
                report.add(f"{name}[recall]@{k}", recalls.reshape(-1)[k - 1])
        name = called(f"RetrievalRecallAtFixedPrecision(min_precision={MIN_PRECISION})", f"@{k}")
        with report.guard(name):
            fixed = tr.RetrievalRecallAtFixedPrecision(min_precision=MIN_PRECISION, max_k=k)
            report.add(name, pairs.compute(fixed)[0])


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
    compute_all(of_lists(data), "", cutoffs, report)
    if (data.folder / "scores.npy").exists():
        compute_all(of_candidates(data), "all candidates", cutoffs, report)


if __name__ == "__main__":
    common.main("torchmetrics", version("torchmetrics"), run)
