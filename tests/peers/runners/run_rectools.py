"""RecTools on the random data: lists with ranks, every truth row relevant.

A RecTools user hands over a table of recommendations with ranks, one of interactions (all rows of
``truth.csv``, grade 0 included, for RecTools reads no weights there), one of earlier interactions,
and the items of the catalogue; no scores. Short lists, users without a list and users without
ground truth are handed over as they are.

Users: accuracy averages over all users of the truth; what describes lists, over users with a list.
A metric object holds its cutoff, and `calc_metrics` hands each metric the tables it needs. The AUC
metrics read a list past the cutoff, until k wrong items have gone by: they see all places.
"""

from __future__ import annotations

from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING

import common
import numpy as np
from rectools import Columns
from rectools import metrics as rm

if TYPE_CHECKING:
    import pandas as pd

NAMES = {"user": Columns.User, "item": Columns.Item, "rating": Columns.Weight, "rank": Columns.Rank}


class CosineDistance(rm.PairwiseDistanceCalculator):
    """Cosine distance of feature vectors, through RecTools' own door for other distances."""

    def __init__(self, features: common.Array) -> None:
        self.unit = features / np.linalg.norm(features, axis=1, keepdims=True)

    def _get_distances_for_item_pairs(
        self, items_0: common.Array, items_1: common.Array
    ) -> common.Array:
        left, right = np.asarray(items_0, dtype=int), np.asarray(items_1, dtype=int)
        return np.asarray(1 - (self.unit[left] * self.unit[right]).sum(axis=1))


def build(k: int, data: common.Data) -> dict[str, rm.base.MetricAtK]:
    """Make every metric that has a counterpart in rankwise.

    Parameters
    ----------
    k : int
        The cutoff.
    data : common.Data
        Genres and features for the diversity metrics.

    Returns
    -------
    dict
        Metrics by name, without the cutoff.
    """
    return {
        "Precision": rm.Precision(k),
        "Precision(r_precision=True)": rm.Precision(k, r_precision=True),
        "Recall": rm.Recall(k),
        "F1Beta": rm.F1Beta(k),
        "F1Beta(beta=2)": rm.F1Beta(k, beta=2),
        "F1Beta(beta=0.5)": rm.F1Beta(k, beta=0.5),
        "HitRate": rm.HitRate(k),
        "Accuracy": rm.Accuracy(k),
        "MCC": rm.MCC(k),
        "MAP": rm.MAP(k),
        "MAP(divide_by_k=True)": rm.MAP(k, divide_by_k=True),
        "NDCG": rm.NDCG(k),
        "NDCG(divide_by_achievable=True)": rm.NDCG(k, divide_by_achievable=True),
        "NDCG(log_base=3)": rm.NDCG(k, log_base=3),
        "MRR": rm.MRR(k),
        "PartialAUC": rm.PartialAUC(k),
        "PartialAUC(insufficient_handling=exclude)": rm.PartialAUC(
            k, insufficient_handling="exclude"
        ),
        "PAP": rm.PAP(k),
        "PAP(insufficient_handling=exclude)": rm.PAP(k, insufficient_handling="exclude"),
        "MeanInvUserFreq": rm.MeanInvUserFreq(k),
        "CatalogCoverage": rm.CatalogCoverage(k),
        "CatalogCoverage(normalize=True)": rm.CatalogCoverage(k, normalize=True),
        "AvgRecPopularity": rm.AvgRecPopularity(k),
        "AvgRecPopularity(normalize=True)": rm.AvgRecPopularity(k, normalize=True),
        "IntraListDiversity(hamming of genres)": rm.IntraListDiversity(
            k, rm.PairwiseHammingDistanceCalculator(data.genres)
        ),
        "IntraListDiversity(cosine of features)": rm.IntraListDiversity(
            k, CosineDistance(data.features)
        ),
        "Serendipity": rm.Serendipity(k),
        "SufficientReco": rm.SufficientReco(k),
        "SufficientReco(deep=True)": rm.SufficientReco(k, deep=True),
        "UnrepeatedReco": rm.UnrepeatedReco(k),
        "UnrepeatedReco(deep=True)": rm.UnrepeatedReco(k, deep=True),
        "CoveredUsers": rm.CoveredUsers(k),
        "Intersection": rm.Intersection(k),
        "Intersection(ref_k=20)": rm.Intersection(k, ref_k=20),
    }


def table(data: common.Data, name: str) -> pd.DataFrame:
    """Read a table with the column names that RecTools wants.

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
    tables = {
        "reco": table(data, "lists"),
        "interactions": table(data, "truth"),
        "prev_interactions": table(data, "train"),
        "catalog": data.table("items")["item"].tolist(),
        "ref_reco": {"reference": table(data, "reference")},
    }

    def compute(name: str, metric: rm.base.MetricAtK) -> float:
        (value,) = rm.calc_metrics({name: metric}, **tables).values()
        return float(value)

    for k in cutoffs:
        for name, metric in build(k, data).items():
            report.measure(f"{name}@{k}", partial(compute, name, metric))


if __name__ == "__main__":
    common.main("rectools", version("rectools"), run)
