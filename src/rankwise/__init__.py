"""rankwise: offline evaluation of recommender systems, with every convention explicit.

>>> import rankwise as rw
>>> result = rw.evaluate({"ann": ["a", "b", "c"]}, {"ann": {"a", "c"}}, ["ndcg@3", "recall@2"])
>>> result["recall@2"]
0.5
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rankwise.core.version import __version__ as __version__

if TYPE_CHECKING:
    from rankwise import candidates as candidates
    from rankwise import datasets as datasets
    from rankwise import functional as functional
    from rankwise import models as models
    from rankwise import splits as splits
    from rankwise import stats as stats
    from rankwise.convention.convention import Convention as Convention
    from rankwise.convention.convention import conventions as conventions
    from rankwise.core.partial import Partial as Partial
    from rankwise.errors import RankwiseError as RankwiseError
    from rankwise.evaluation.across import across_conventions as across_conventions
    from rankwise.evaluation.across import convention_of as convention_of
    from rankwise.evaluation.corrections import correct as correct
    from rankwise.evaluation.curves import curve as curve
    from rankwise.evaluation.evaluate import evaluate as evaluate
    from rankwise.evaluation.evaluate_model import evaluate_model as evaluate_model
    from rankwise.evaluation.evaluate_ratings import evaluate_ratings as evaluate_ratings
    from rankwise.evaluation.evaluator import Evaluator as Evaluator
    from rankwise.evaluation.explain import explain as explain
    from rankwise.functional.rated_lists import compute_metrics as compute_metrics
    from rankwise.functional.recommender_evaluator import RecommenderEvaluator as RecommenderEvaluator
    from rankwise.measures.accuracy import *
    from rankwise.measures.areas import *
    from rankwise.measures.confusion import *
    from rankwise.measures.coverage import *
    from rankwise.measures.debiased import *
    from rankwise.measures.disparity import *
    from rankwise.measures.diversity import *
    from rankwise.measures.fairness import *
    from rankwise.measures.graded import *
    from rankwise.measures.hygiene import *
    from rankwise.measures.intra_list import *
    from rankwise.measures.item_groups import *
    from rankwise.measures.measure import Measure as Measure
    from rankwise.measures.multiobjective import *
    from rankwise.measures.novelty import *
    from rankwise.measures.pairs import *
    from rankwise.measures.popularity import *
    from rankwise.measures.rating import *
    from rankwise.measures.read import parse as parse
    from rankwise.measures.reciprocal_ranks import *
    from rankwise.measures.reweighted import *
    from rankwise.measures.serendipity import *
    from rankwise.measures.topics import *
    from rankwise.measures.transformed import *
    from rankwise.measures.user_groups import *
    from rankwise.ranking.rank import Ranking as Ranking
    from rankwise.ranking.rank import rank as rank
    from rankwise.ranking.rank_relevant import Ranks as Ranks
    from rankwise.ranking.rank_relevant import rank_relevant as rank_relevant
    from rankwise.results.compare import Comparison as Comparison
    from rankwise.results.compare import compare as compare
    from rankwise.results.decide import decide as decide
    from rankwise.results.decision import Decision as Decision
    from rankwise.results.per_user import from_per_user as from_per_user
    from rankwise.results.power import power as power
    from rankwise.results.power import sample_size as sample_size
    from rankwise.results.report.report import report as report
    from rankwise.results.result import Result as Result
    from rankwise.results.saving import load as load
    from rankwise.splits.audit.audit import audit as audit
    from rankwise.splits.audit.findings import Audit as Audit
    from rankwise.tables.chunks import read_chunks as read_chunks

    AP = MAP = AveragePrecision
    F1, HR, ILD = F, HitRate, IntraListDiversity
    MRR = RR = ReciprocalRank

# The exported names besides the measures, which the registry knows.
_HOME_OF = {
    "Audit": "rankwise.splits.audit.findings",
    "Comparison": "rankwise.results.comparison",
    "Convention": "rankwise.convention.convention",
    "Evaluator": "rankwise.evaluation.evaluator",
    "Measure": "rankwise.measures.measure",
    "Partial": "rankwise.core.partial",
    "RankwiseError": "rankwise.errors",
    "Ranking": "rankwise.ranking.rank",
    "Ranks": "rankwise.ranking.rank_relevant",
    "Result": "rankwise.results.result",
    "RecommenderEvaluator": "rankwise.functional.recommender_evaluator",
    "audit": "rankwise.splits.audit.audit",
    "compare": "rankwise.results.compare",
    "compute_metrics": "rankwise.functional.rated_lists",
    "Decision": "rankwise.results.decision",
    "conventions": "rankwise.convention.convention",
    "correct": "rankwise.evaluation.corrections",
    "curve": "rankwise.evaluation.curves",
    "decide": "rankwise.results.decide",
    "across_conventions": "rankwise.evaluation.across",
    "convention_of": "rankwise.evaluation.across",
    "explain": "rankwise.evaluation.explain",
    "evaluate": "rankwise.evaluation.evaluate",
    "evaluate_model": "rankwise.evaluation.evaluate_model",
    "evaluate_ratings": "rankwise.evaluation.evaluate_ratings",
    "from_per_user": "rankwise.results.per_user",
    "load": "rankwise.results.saving",
    "parse": "rankwise.measures.read",
    "power": "rankwise.results.power",
    "rank": "rankwise.ranking.rank",
    "rank_relevant": "rankwise.ranking.rank_relevant",
    "read_chunks": "rankwise.tables.chunks",
    "report": "rankwise.results.report.report",
    "sample_size": "rankwise.results.power",
}

_SHORT = ("AP", "F1", "HR", "ILD", "MAP", "MRR", "RR")
"""Abbreviations in capitals that are exported as classes; the registry knows the measures."""

if not TYPE_CHECKING:  # type checkers take what is imported above, the measures included
    __all__ = [
        "Audit",
        "Comparison",
        "Convention",
        "Decision",
        "Evaluator",
        "Measure",
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


def _measures() -> dict[str, Any]:
    """Return the measures by class name, so that a new measure needs no line here."""
    from rankwise.measures import registry

    measures = [cls for cls in registry.every() if cls.__module__.startswith("rankwise.")]
    return {cls.__name__: cls for cls in measures} | {name: registry.find(name) for name in _SHORT}


if not TYPE_CHECKING:  # a type checker would otherwise accept every name

    def __getattr__(name: str) -> Any:
        if name in ("candidates", "datasets", "functional", "models", "splits", "stats", "torch"):
            return import_module(f"rankwise.{name}")
        if name in _HOME_OF:
            value = getattr(import_module(_HOME_OF[name]), name)
        else:
            value = None if name.startswith("_") else _measures().get(name)
        if value is None:
            from rankwise.errors import nearest

            hint = nearest(name, {*__all__, *_measures()})
            ending = f"; {hint}" if hint else ""
            raise AttributeError(f"module 'rankwise' has no attribute {name!r}{ending}")
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted([*__all__, *_measures()])
