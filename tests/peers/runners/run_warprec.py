"""WarpRec on the random data: full evaluation of a score matrix, graded ratings.

This is the way of its own command line: a `Dataset`, `build_evaluator`, a model that predicts. The
evaluator masks train items; a value per user becomes the mean over users that have one, as its
writers do it. Every measure gets an evaluator of its own, for some keep what they counted for the
model before, and some variants come out under the name of the default.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import common
import torch
from warprec.data import Dataset
from warprec.evaluation.factory import build_evaluator
from warprec.recommenders.base_recommender import Recommender
from warprec.utils.config import EvaluationConfig
from warprec.utils.enums import RatingType

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    "mixed": (["nDCG", "Gini", "EPC"], [1.0, 0.0, 1.0]),
}
NADIRS: dict[str, tuple[list[str], list[float], list[bool]]] = {
    "accuracy": (["Precision", "Recall", "nDCG"], [0.0, 0.0, 0.0], [True, True, True]),
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
        Explicit ratings. Users and items keep their numbers: ids are dense and all are in train.
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
    dataset, model = load(data), Scores(data.scores)

    def compute(name: str, parameters: dict[str, Any], suffix: str, **settings: float) -> None:
        evaluation = EvaluationConfig(
            top_k=cutoffs,
            metrics=[],
            complex_metrics=[{"name": name, "params": parameters}],
            propensity={"estimator": "popularity", **settings},
        )
        evaluator = build_evaluator(evaluation, dataset)
        evaluator.evaluate(model, dataset.get_evaluation_dataloader(), "full", dataset)
        for k, results in evaluator.compute_results().items():
            for found, value in results.items():
                report.add(f"{found}{suffix}@{k}", mean(value))

    for name, parameters, suffix in requests():
        with report.guard(f"{name}{parameters or ''}{suffix}"):
            compute(name, parameters, suffix)
    for name in DEBIASED:
        settings = {"power": 1.0, "clip": 0.05}
        suffix = "(power=1,clip=0.05)"
        with report.guard(f"{name}{suffix}"):
            compute(name, {}, suffix, **settings)


if __name__ == "__main__":
    common.main("warprec", version("warprec"), run)
