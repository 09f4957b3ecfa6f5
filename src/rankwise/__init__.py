"""rankwise: offline evaluation of recommender systems, with every convention explicit.

>>> import rankwise as rw
>>> result = rw.evaluate({"ann": ["a", "b", "c"]}, {"ann": {"a", "c"}}, ["ndcg@3", "recall@2"])
>>> result["recall@2"]
0.5
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rankwise.core import __version__ as __version__

if TYPE_CHECKING:
    from rankwise import candidates
    from rankwise import datasets as datasets
    from rankwise import functional as functional
    from rankwise import models as models
    from rankwise import splits as splits
    from rankwise import stats as stats
    from rankwise.blocks.partial import Partial as Partial
    from rankwise.comparison.compare import compare as compare
    from rankwise.comparison.compare import power as power
    from rankwise.comparison.compare import sample_size as sample_size
    from rankwise.comparison.comparison import Comparison as Comparison
    from rankwise.comparison.decision import Decision as Decision
    from rankwise.comparison.decision import decide as decide
    from rankwise.convention.convention import Convention as Convention
    from rankwise.convention.convention import conventions as conventions
    from rankwise.errors import RankwiseError as RankwiseError
    from rankwise.evaluation.across_conventions import across_conventions as across_conventions
    from rankwise.evaluation.across_conventions import convention_of as convention_of
    from rankwise.evaluation.curves import correct as correct
    from rankwise.evaluation.curves import curve as curve
    from rankwise.evaluation.evaluate import Evaluator as Evaluator
    from rankwise.evaluation.evaluate import evaluate as evaluate
    from rankwise.evaluation.explain import explain as explain
    from rankwise.evaluation.models import evaluate_model as evaluate_model
    from rankwise.evaluation.models import evaluate_ratings as evaluate_ratings
    from rankwise.functional.recommender_evaluator import RecommenderEvaluator as RecommenderEvaluator
    from rankwise.functional.recommender_evaluator import compute_metrics as compute_metrics
    from rankwise.metrics.accuracy import *
    from rankwise.metrics.auc import *
    from rankwise.metrics.base import Metric as Metric
    from rankwise.metrics.base import parse as parse
    from rankwise.metrics.categories import *
    from rankwise.metrics.composed import *
    from rankwise.metrics.confusion import *
    from rankwise.metrics.coverage import *
    from rankwise.metrics.debiased import *
    from rankwise.metrics.diversity import *
    from rankwise.metrics.graded import *
    from rankwise.metrics.item_fairness import *
    from rankwise.metrics.popularity import *
    from rankwise.metrics.rating import *
    from rankwise.metrics.user_fairness import *
    from rankwise.ranking.rank import Ranking as Ranking
    from rankwise.ranking.rank import Ranks as Ranks
    from rankwise.ranking.rank import rank as rank
    from rankwise.ranking.rank import rank_relevant as rank_relevant
    from rankwise.reporting.report import report as report
    from rankwise.results.result import Result as Result
    from rankwise.results.storage import from_per_user as from_per_user
    from rankwise.results.storage import load as load
    from rankwise.splits.audit import audit as audit
    from rankwise.splits.audit_parts import Audit as Audit
    from rankwise.tables.read import read_chunks as read_chunks

if TYPE_CHECKING:
    AP = MAP = AveragePrecision
    F1, HR, ILD = F, HitRate, IntraListDiversity
    MRR = RR = ReciprocalRank

# The exported names besides the metrics, which the registry knows.
_HOME_OF = {
    "Audit": "rankwise.splits.audit_parts",
    "Comparison": "rankwise.comparison.comparison",
    "Convention": "rankwise.convention.convention",
    "Evaluator": "rankwise.evaluation.evaluate",
    "Metric": "rankwise.metrics.base",
    "Partial": "rankwise.blocks.partial",
    "RankwiseError": "rankwise.errors",
    "Ranking": "rankwise.ranking.rank",
    "Ranks": "rankwise.ranking.rank",
    "Result": "rankwise.results.result",
    "RecommenderEvaluator": "rankwise.functional.recommender_evaluator",
    "audit": "rankwise.splits.audit",
    "compare": "rankwise.comparison.compare",
    "compute_metrics": "rankwise.functional.recommender_evaluator",
    "Decision": "rankwise.comparison.decision",
    "conventions": "rankwise.convention.convention",
    "correct": "rankwise.evaluation.curves",
    "curve": "rankwise.evaluation.curves",
    "decide": "rankwise.comparison.decision",
    "across_conventions": "rankwise.evaluation.across_conventions",
    "convention_of": "rankwise.evaluation.across_conventions",
    "explain": "rankwise.evaluation.explain",
    "evaluate": "rankwise.evaluation.evaluate",
    "evaluate_model": "rankwise.evaluation.models",
    "evaluate_ratings": "rankwise.evaluation.models",
    "from_per_user": "rankwise.results.storage",
    "load": "rankwise.results.storage",
    "parse": "rankwise.metrics.base",
    "power": "rankwise.comparison.compare",
    "rank": "rankwise.ranking.rank",
    "rank_relevant": "rankwise.ranking.rank",
    "read_chunks": "rankwise.tables.read",
    "report": "rankwise.reporting.report",
    "sample_size": "rankwise.comparison.compare",
}

_SHORT = ("AP", "F1", "HR", "ILD", "MAP", "MRR", "RR")
"""Abbreviations in capitals that are exported as classes; the registry knows the metrics."""

if not TYPE_CHECKING:  # type checkers take what is imported above, the metrics included
    __all__ = [
        "Audit",
        "Comparison",
        "Convention",
        "Decision",
        "Evaluator",
        "Metric",
        "Partial",
        "Ranking",
        "Ranks",
        "RankwiseError",
        "RecommenderEvaluator",
        "Result",
        "__version__",
        "across_conventions",
        "audit",
        "candidates",
        "compare",
        "compute_metrics",
        "convention_of",
        "conventions",
        "correct",
        "curve",
        "datasets",
        "decide",
        "evaluate",
        "evaluate_model",
        "evaluate_ratings",
        "explain",
        "from_per_user",
        "functional",
        "load",
        "models",
        "parse",
        "power",
        "rank",
        "rank_relevant",
        "read_chunks",
        "report",
        "sample_size",
        "splits",
        "stats",
    ]


def _metrics() -> dict[str, Any]:
    """Return the metrics by class name, so that a new metric needs no line here."""
    from rankwise.metrics import registry

    metrics = [cls for cls in registry.every() if cls.__module__.startswith("rankwise.")]
    return {cls.__name__: cls for cls in metrics} | {name: registry.find(name) for name in _SHORT}


if not TYPE_CHECKING:  # a type checker would otherwise accept every name

    def __getattr__(name: str) -> Any:
        if name in ("candidates", "datasets", "functional", "models", "splits", "stats", "torch"):
            return import_module(f"rankwise.{name}")
        if name in _HOME_OF:
            value = getattr(import_module(_HOME_OF[name]), name)
        else:
            value = None if name.startswith("_") else _metrics().get(name)
        if value is None:
            from rankwise.errors import nearest

            hint = nearest(name, {*__all__, *_metrics()})
            ending = f"; {hint}" if hint else ""
            raise AttributeError(f"module 'rankwise' has no attribute {name!r}{ending}")
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted([*__all__, *_metrics()])
