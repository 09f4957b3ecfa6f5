"""WarpRec on the random data: full evaluation of a score matrix, graded ratings.

This is the way of its own command line: a `Dataset`, `build_evaluator`, a model that predicts. Users
and items are those of train, and every row of the truth that has such a user and item is handed
over; the evaluator masks train items. A value per user becomes the mean over users that have one, as
its writers do it. Every measure gets an evaluator of its own, for some keep what they counted for the
model before, and some variants come out under the name of the default.

It needs a score for every item: cases without ``scores.npy`` exit with 3. Cut-offs above the number
of items are refused by it, and asked for apart.

Releases before 2.0 have no `build_evaluator`: their command line makes an `Evaluator` as is done
here. What they do not have (log loss, debiased measures) is missing from the names they know, and
their GAUC needs another measure beside it.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import common
import numpy as np
import torch
from warprec.data import Dataset
from warprec.evaluation.evaluator import Evaluator
from warprec.recommenders.base_recommender import Recommender
from warprec.utils.config import EvaluationConfig
from warprec.utils.enums import RatingType

try:
    from warprec.evaluation.factory import build_evaluator
except ImportError:

    def build_evaluator(evaluation: EvaluationConfig, dataset: Dataset) -> Evaluator:
        """Make an evaluator as ``warprec/pipelines/eval.py`` does before 2.0."""
        return Evaluator(
            list(evaluation.metrics),
            list(evaluation.top_k),
            train_set=dataset.train_set.get_sparse(),
            additional_data=dataset.get_stash(),
            complex_metrics=evaluation.complex_metrics,
            feature_lookup=dataset.get_features_lookup(),
            user_cluster=dataset.get_user_cluster(),
            item_cluster=dataset.get_item_cluster(),
        )


if TYPE_CHECKING:
    from collections.abc import Iterator

NOT_FOR_THIS = 3
NAMES = {"user": "user_id", "item": "item_id", "group": "cluster"}
DEFAULTS = (
    *("Precision", "Recall", "HitRate", "F1", "MAP", "MAR", "MRR", "nDCG", "nDCGRendle2020"),
    *("AUC", "GAUC", "LAUC", "LogLoss", "MAE", "MSE", "RMSE"),
    *("ItemCoverage", "UserCoverage", "NumRetrieved", "UserCoverageAtN"),
    *("EFD", "EPC", "Gini", "ShannonEntropy", "SRecall"),
    *("ACLT", "APLT", "ARP", "PopREO", "PopRSP"),
    *("BiasDisparityBS", "BiasDisparityBR", "BiasDisparityBD", "REO", "RSP"),
    *("ItemMADRanking", "ItemMADRating", "UserMADRanking", "UserMADRating"),
    *("IPSRecall", "SNIPSRecall", "IPSDCG", "SNIPSDCG"),
)
BY_POPULARITY = ("ACLT", "APLT", "PopREO", "PopRSP")
DEBIASED = ("IPSRecall", "SNIPSRecall", "IPSDCG", "SNIPSDCG")
POINTS: dict[str, tuple[list[str], list[float]]] = {
    "accuracy": (["Precision", "Recall", "nDCG"], [1.0, 1.0, 1.0]),
    "guide": (["nDCG", "EPC"], [1.0, 1.0]),
    "mixed": (["nDCG", "Gini", "EPC"], [1.0, 0.0, 1.0]),
}
NADIRS: dict[str, tuple[list[str], list[float], list[bool]]] = {
    "accuracy": (["Precision", "Recall", "nDCG"], [0.0, 0.0, 0.0], [True, True, True]),
    "guide": (["nDCG", "EPC"], [0.0, 0.0], [True, True]),
    "mixed": (["nDCG", "ARP"], [0.0, 50.0], [True, False]),
}


class Scores(Recommender):
    """A model that knows its scores beforehand."""

    def __init__(self, scores: common.Array) -> None:
        users, items = scores.shape
        super().__init__({}, {"n_users": users, "n_items": items})
        self.scores = torch.tensor(scores, dtype=torch.float32)

    def predict(self, user_indices: torch.Tensor, **kwargs: object) -> torch.Tensor:
        """Hand out rows; a copy, for the evaluator masks in place."""
        return self.scores[user_indices].clone()


def requests() -> Iterator[tuple[str, dict[str, Any], str]]:
    """List what to ask for.

    Yields
    ------
    name, parameters : str, dict
        The measure.
    suffix : str
        What its result name leaves out.
    """
    for name in DEFAULTS:
        yield name, {}, ""
    for beta in (0.5, 2.0):
        yield "F1", {"beta": beta}, f"(beta={beta:g})"
    yield "F1", {"metric_1": "nDCG", "metric_2": "MAP"}, ""
    yield "F1", {"metric_1": "nDCG", "metric_2": "MAP", "beta": 0.5}, "(beta=0.5)"
    yield "F1", {"metric_1": "nDCG", "metric_2": "EPC", "beta": 0.5}, "(beta=0.5)"
    for name in ("EFD", "EPC"):
        yield name, {"relevance": "discounted"}, ""
    for name in BY_POPULARITY:
        yield name, {"pop_ratio": 0.5}, ""
    for names, points in POINTS.values():
        yield "EucDistance", {"metric_names": names, "utopia_points": points}, ""
    for names, points, higher in NADIRS.values():
        parameters = {"metric_names": names, "nadir_points": points, "higher_is_better": higher}
        yield "Hypervolume", parameters, ""


def load(data: common.Data) -> Dataset:
    """Make WarpRec's data set, with genres as features and groups as clusters.

    Parameters
    ----------
    data : common.Data
        The data set.

    Returns
    -------
    Dataset
        Explicit ratings. It numbers the users and the items of train by their ids.
    """
    tables = {
        name: data.table(name).rename(columns=NAMES)
        for name in ("train", "truth", "users", "items")
    }
    return Dataset(
        tables["train"],
        tables["truth"],
        side_data=data.genres.reset_index().rename(columns=NAMES),
        user_cluster=tables["users"],
        item_cluster=tables["items"],
        rating_type=RatingType.EXPLICIT,
        rating_label="rating",
        cluster_label="cluster",
    )


def mean(value: float | torch.Tensor) -> float:
    """Turn what a measure reports into one number, as WarpRec's writers do.

    Parameters
    ----------
    value : float or torch.Tensor
        A number, or one per user.

    Returns
    -------
    float
        The mean over users with a value.
    """
    return value.nanmean().item() if isinstance(value, torch.Tensor) else value


def run(data: common.Data, cutoffs: list[int], report: common.Report) -> None:
    """Compute every measure and its documented variants.

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
        raise SystemExit(NOT_FOR_THIS)
    train = data.table("train")
    rows, columns = (np.unique(train[name]) for name in ("user", "item"))
    dataset, model = load(data), Scores(data.scores[np.ix_(rows, columns)])

    def compute(
        name: str, parameters: dict[str, Any], suffix: str, top_k: list[int], **settings: float
    ) -> None:
        evaluation = EvaluationConfig(
            top_k=top_k,
            metrics=["Precision"] if name == "GAUC" else [],
            complex_metrics=[{"name": name, "params": parameters}],
            propensity={"estimator": "popularity", **settings},
        )
        evaluator = build_evaluator(evaluation, dataset)
        evaluator.evaluate(model, dataset.get_evaluation_dataloader(), "full", dataset)
        for k, results in evaluator.compute_results().items():
            for found, value in results.items():
                report.add(f"{found}{suffix}@{k}", mean(value))

    def compute_all(name: str, parameters: dict[str, Any], suffix: str, **settings: float) -> None:
        possible = [k for k in cutoffs if k <= len(columns)]
        named = f"{name}{parameters or ''}{suffix}"
        with report.guard(named):
            compute(name, parameters, suffix, possible, **settings)
        for k in sorted(set(cutoffs) - set(possible)):
            with report.guard(f"{named}@{k}"):
                compute(name, parameters, suffix, [k], **settings)

    for name, parameters, suffix in requests():
        compute_all(name, parameters, suffix)
    for name in DEBIASED:
        compute_all(name, {}, "(power=1,clip=0.05)", power=1.0, clip=0.05)


if __name__ == "__main__":
    common.main("warprec", version("warprec"), run)
