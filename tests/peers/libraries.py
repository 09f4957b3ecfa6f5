"""The libraries that conventions are held against, and how their names are read.

A runner in ``runners/`` prints the library's metrics under the library's names. Most of these are
names of the convention; what a runner adds to say which input it took is removed here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["LIBRARIES", "Library"]

_INPUTS = re.compile(
    r"\(all candidates\)|,all candidates|\(all items\)|(?<=Entropy)\(all items,genres\)|(?<=\()all items,"
    r"|\(relevance_threshold=0\)|(?<=^ItemMADrating)_items"
)
_CELL = re.compile(r"(?:_UC(\d))?_IC(\d)$")


@dataclass(frozen=True)
class Library:
    """One library.

    Attributes
    ----------
    runner : str
        The name of its script: ``runners/run_NAME.py``.
    convention : str
        The convention that gives its numbers.
    matrix : bool, default=False
        Whether it takes a score for every item, so that rankwise gets all unseen items.
    tolerance : float, default=1e-9
        The largest difference, relative or absolute: larger where it computes in 32 bits.
    undefined : tuple of str, default=()
        The cases of `edge_data` in which it leaves its numbers undefined, as the convention's note
        says.
    only : str, default=""
        A pattern that names must match: others are what a runner computes from other input.
    """

    runner: str
    convention: str
    matrix: bool = False
    tolerance: float = 1e-9
    undefined: tuple[str, ...] = ()
    only: str = ""
    first_group: int = 1
    """The number that the library gives to the first group."""
    lineage: str = ""
    """The implementation that it calls, or that it was written after; by default its own."""
    rating_lineage: str = ""
    """The same of its rating errors."""
    names: Mapping[str, str] = field(default_factory=dict, hash=False)
    """rankwise's name of each metric, for a library without a convention."""
    other_view: tuple[str, ...] = ()
    """Metrics that take all candidates where the others take lists, or the other way round."""

    @property
    def script(self) -> str:
        """The name of its script: two versions of one library share one."""
        return {"warprec_1_4": "warprec"}.get(self.runner, self.runner)

    def reads(self, name: str) -> str | None:
        """Return the name of a metric in the language of the convention, without a cut-off.

        None for a name that a runner made for other input.
        """
        base = name.partition("@")[0]
        if self.only and not re.search(self.only, base):
            return None
        if self.names:
            return self.names.get(base)
        return _CELL.sub("", _INPUTS.sub("", base)) or None

    def view(self, name: str) -> str:
        """Return what rankwise gets for a metric: ``matrix`` or ``lists``."""
        other = _CELL.sub("", name.partition("@")[0]) in self.other_view
        return "matrix" if self.matrix != other else "lists"

    def cell(self, name: str) -> str:
        """Return which cell of a metric a name means; empty for the metric itself."""
        numbers = _CELL.search(name.partition("@")[0])
        if numbers is None:
            return ""
        group, item_group = (int(number or 0) - self.first_group for number in numbers.groups())
        item = f"item_group={'abc'[item_group]}"
        return f"[user_group={'xy'[group]},{item}]" if numbers[1] else f"[{item}]"


_ERRORS = (
    "rmse",
    "mae",
    "mse",
    "rsquared",
    "exp_var",
    "logloss",
    "RMSE.global",
    "RMSE.mean",
    "MAE.global",
    "MAE.mean",
)
_SKLEARN_ERRORS = (
    "mean_squared_error",
    "root_mean_squared_error",
    "mean_absolute_error",
    "r2_score",
    "explained_variance_score",
)
_ELLIOT_MATRIX = ("AUC", "GAUC", "LAUC", "MAE", "MSE", "RMSE")
_TIES = ("tied_matrix",)

_RECOMETRICS = {
    "P": "precision",
    "TP": "recall(denominator=capped)",
    "R": "recall",
    "AP": "map(normaliser=relevant)",
    "TAP": "map",
    "NDCG": "ndcg",
    "Hit": "hit_rate",
    "RR": "mrr",
    "ROC_AUC": "gauc",
    "PR_AUC": "map(normaliser=relevant)",
}

_ALL = (
    Library("warprec", "warprec", True, 1e-5, (*_TIES, "small"), lineage="elliot"),
    Library("warprec_1_4", "warprec-1.4", True, 1e-5, _TIES, lineage="elliot"),
    Library("recbole", "recbole", True, undefined=_TIES, rating_lineage="sklearn"),
    Library("rectools", "rectools"),
    Library("replay", "replay"),
    Library("lenskit", "lenskit", other_view=_ERRORS, only=r"^(?!.*items of train)"),
    Library("recommenders", "recommenders", other_view=_ERRORS, rating_lineage="sklearn"),
    Library("cornac", "cornac", True, undefined=_TIES),
    Library("implicit", "implicit"),
    Library(
        "elliot",
        "elliot",
        undefined=("ragged", "ties"),
        only=r"\(relevance_threshold=0\)|^DSC|^SRecall|^ItemMADrating",
        other_view=tuple(f"{name}(relevance_threshold=0)" for name in _ELLIOT_MATRIX),
    ),
    Library(
        "rexmex",
        "rexmex",
        only=r"^(?!.*card|.*_gain|m[as]e|.?mse|.?mape|r_squared|pearson|g?mean_rank|(?!mean_rec).*\(all candidates\))",
        other_view=("mean_reciprocal_rank(all candidates)",),
        rating_lineage="sklearn",
    ),
    Library("surprise", "surprise", other_view=_ERRORS),
    Library("ranx", "ranx", undefined=_TIES),
    Library("pytrec_eval", "trec_eval-9"),
    Library("ir_measures", "ir_measures", lineage="pytrec_eval"),
    Library("torchmetrics", "torchmetrics", True, 2e-6, _TIES, "all candidates"),
    Library("sklearn", "sklearn", True, only=r"^(?!.*lists)", other_view=_SKLEARN_ERRORS),
    Library("recometrics", "default", True, names=_RECOMETRICS),
)
LIBRARIES: Mapping[str, Library] = {library.runner: library for library in _ALL}
