"""rankwise: recommender systems evaluated so that the numbers can be trusted.

>>> import rankwise as rw
>>> result = rw.evaluate({"ann": ["a", "b", "c"]}, {"ann": {"a", "c"}}, ["ndcg@3", "recall@2"])
>>> result["recall@2"]
0.5
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rankwise._version import __version__

if TYPE_CHECKING:
    from rankwise import candidates, functional, models, splits, stats
    from rankwise.auditing.audit import audit
    from rankwise.auditing.report import Audit
    from rankwise.comparison import Comparison, compare
    from rankwise.core.partial import Partial
    from rankwise.corrections import correct
    from rankwise.curves import curve
    from rankwise.errors import RankwiseError
    from rankwise.evaluation import evaluate
    from rankwise.evaluator import Evaluator
    from rankwise.functional.models import RecommenderEvaluator
    from rankwise.functional.rated import compute_metrics
    from rankwise.io.chunks import read_chunks
    from rankwise.loading import load
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
    from rankwise.measures.measure import Measure
    from rankwise.measures.multiobjective import *
    from rankwise.measures.novelty import *
    from rankwise.measures.pairs import *
    from rankwise.measures.parsing import parse
    from rankwise.measures.popularity import *
    from rankwise.measures.rating import *
    from rankwise.measures.reweighted import *
    from rankwise.measures.serendipity import *
    from rankwise.measures.topics import *
    from rankwise.measures.user_groups import *
    from rankwise.model_evaluation import evaluate_model
    from rankwise.per_user import from_per_user
    from rankwise.planning import power, sample_size
    from rankwise.ranking.places import Ranks, rank_relevant
    from rankwise.ranking.rank import Ranking, rank
    from rankwise.ratings import evaluate_ratings
    from rankwise.result import Result

# What is exported besides the measures, which the registry knows.
_HOME_OF = {
    "Audit": "rankwise.auditing.report",
    "Comparison": "rankwise.compared",
    "Evaluator": "rankwise.evaluator",
    "Measure": "rankwise.measures.measure",
    "Partial": "rankwise.core.partial",
    "RankwiseError": "rankwise.errors",
    "Ranking": "rankwise.ranking.rank",
    "Ranks": "rankwise.ranking.places",
    "Result": "rankwise.result",
    "RecommenderEvaluator": "rankwise.functional.models",
    "audit": "rankwise.auditing.audit",
    "compare": "rankwise.comparison",
    "compute_metrics": "rankwise.functional.rated",
    "correct": "rankwise.corrections",
    "curve": "rankwise.curves",
    "evaluate": "rankwise.evaluation",
    "evaluate_model": "rankwise.model_evaluation",
    "evaluate_ratings": "rankwise.ratings",
    "from_per_user": "rankwise.per_user",
    "load": "rankwise.loading",
    "parse": "rankwise.measures.parsing",
    "power": "rankwise.planning",
    "rank": "rankwise.ranking.rank",
    "rank_relevant": "rankwise.ranking.places",
    "read_chunks": "rankwise.io.chunks",
    "sample_size": "rankwise.planning",
}

__all__ = [
    "Audit",
    "Comparison",
    "Evaluator",
    "Measure",
    "Partial",
    "Ranking",
    "Ranks",
    "RankwiseError",
    "RecommenderEvaluator",
    "Result",
    "__version__",
    "audit",
    "candidates",
    "compare",
    "compute_metrics",
    "correct",
    "curve",
    "evaluate",
    "evaluate_model",
    "evaluate_ratings",
    "from_per_user",
    "functional",
    "load",
    "models",
    "parse",
    "power",
    "rank",
    "rank_relevant",
    "read_chunks",
    "sample_size",
    "splits",
    "stats",
]


def __getattr__(name: str) -> Any:
    if name in ("candidates", "functional", "models", "splits", "stats"):
        return import_module(f"rankwise.{name}")
    if name in _HOME_OF:
        value = getattr(import_module(_HOME_OF[name]), name)
    else:
        value = None if name.startswith("_") else _measures().get(name)
    if value is None:
        raise AttributeError(f"module 'rankwise' has no attribute {name!r}")
    globals()[name] = value
    return value


def _measures() -> dict[str, Any]:
    """Return the measures by the names of their classes: a new one needs no line here."""
    from rankwise.measures import registry

    own = [cls for cls in registry.every() if cls.__module__.startswith("rankwise.")]
    return {cls.__name__: cls for cls in own}


def __dir__() -> list[str]:
    return sorted([*__all__, *_measures()])
