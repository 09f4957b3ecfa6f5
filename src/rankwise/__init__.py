"""rankwise: offline evaluation of recommender systems, with every convention explicit.

>>> import rankwise as rw
>>> result = rw.evaluate({"ann": ["a", "b", "c"]}, {"ann": {"a", "c"}}, ["ndcg@3", "recall@2"])
>>> result["recall@2"]
0.5
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from rankwise.core import __version__ as __version__
from rankwise.core.presenters import register_presenter

if TYPE_CHECKING:
    from rankwise import candidates as candidates
    from rankwise import datasets as datasets
    from rankwise import errors as errors
    from rankwise import functional as functional
    from rankwise import metrics as metrics
    from rankwise import models as models
    from rankwise import splits as splits
    from rankwise import stats as stats
    from rankwise import testing as testing
    from rankwise.blocks.partial import Partial as Partial
    from rankwise.comparison.compare import compare as compare
    from rankwise.comparison.comparison import Comparison as Comparison
    from rankwise.comparison.decide import decide as decide
    from rankwise.comparison.decision import Decision as Decision
    from rankwise.comparison.planning import power as power
    from rankwise.comparison.planning import sample_size as sample_size
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
    from rankwise.evidence.claim import claim as claim
    from rankwise.evidence.judged import judged as judged
    from rankwise.evidence.launches import validate_metrics as validate_metrics
    from rankwise.evidence.leaderboard import leaderboard as leaderboard
    from rankwise.evidence.nulls import nulls as nulls
    from rankwise.evidence.rank_agreement import rank_agreement as rank_agreement
    from rankwise.evidence.stability import stability as stability
    from rankwise.evidence.stages import stages as stages
    from rankwise.functional.by_name import RecommenderEvaluator as RecommenderEvaluator
    from rankwise.interleave.analysis import Interleaving as Interleaving
    from rankwise.interleave.analysis import interleaving as interleaving
    from rankwise.loading import load as load
    from rankwise.metrics import *
    from rankwise.metrics.base import parse as parse
    from rankwise.offpolicy import policies as policies
    from rankwise.offpolicy.off_policy import off_policy as off_policy
    from rankwise.offpolicy.result import OffPolicy as OffPolicy
    from rankwise.ranking.rank import Ranking as Ranking
    from rankwise.ranking.rank import Ranks as Ranks
    from rankwise.ranking.rank import rank as rank
    from rankwise.ranking.rank import rank_relevant as rank_relevant
    from rankwise.reporting.report import report as report
    from rankwise.results.per_user import from_per_user as from_per_user
    from rankwise.results.result import Result as Result
    from rankwise.splits.audit import audit as audit
    from rankwise.splits.audit_parts import Audit as Audit
    from rankwise.tables.read import read_chunks as read_chunks

_HOME_OF = {
    "evaluate": "rankwise.evaluation.evaluate",
    "evaluate_model": "rankwise.evaluation.models",
    "evaluate_ratings": "rankwise.evaluation.models",
    "compare": "rankwise.comparison.compare",
    "decide": "rankwise.comparison.decide",
    "power": "rankwise.comparison.planning",
    "sample_size": "rankwise.comparison.planning",
    "claim": "rankwise.evidence.claim",
    "nulls": "rankwise.evidence.nulls",
    "leaderboard": "rankwise.evidence.leaderboard",
    "judged": "rankwise.evidence.judged",
    "rank_agreement": "rankwise.evidence.rank_agreement",
    "stability": "rankwise.evidence.stability",
    "stages": "rankwise.evidence.stages",
    "validate_metrics": "rankwise.evidence.launches",
    "off_policy": "rankwise.offpolicy.off_policy",
    "interleaving": "rankwise.interleave.analysis",
    "report": "rankwise.reporting.report",
    "load": "rankwise.loading",
    "from_per_user": "rankwise.results.per_user",
    "read_chunks": "rankwise.tables.read",
    "audit": "rankwise.splits.audit",
    "rank": "rankwise.ranking.rank",
    "rank_relevant": "rankwise.ranking.rank",
    "curve": "rankwise.evaluation.curves",
    "correct": "rankwise.evaluation.curves",
    "conventions": "rankwise.convention.convention",
    "across_conventions": "rankwise.evaluation.across_conventions",
    "convention_of": "rankwise.evaluation.across_conventions",
    "explain": "rankwise.evaluation.explain",
    "compute_metrics": "rankwise.functional.by_name",
    "parse": "rankwise.metrics.base",
    "Evaluator": "rankwise.evaluation.evaluate",
    "Partial": "rankwise.blocks.partial",
    "Result": "rankwise.results.result",
    "Comparison": "rankwise.comparison.comparison",
    "Decision": "rankwise.comparison.decision",
    "OffPolicy": "rankwise.offpolicy.result",
    "Interleaving": "rankwise.interleave.analysis",
    "Audit": "rankwise.splits.audit_parts",
    "Ranking": "rankwise.ranking.rank",
    "Ranks": "rankwise.ranking.rank",
    "Convention": "rankwise.convention.convention",
    "RecommenderEvaluator": "rankwise.functional.by_name",
    "RankwiseError": "rankwise.errors",
}
"""The functions, then the classes, with their modules; `rankwise.metrics` has the metrics."""

_PRESENTERS = {
    "ResultPlots": "rankwise.reporting.plots",
    "ComparisonPlots": "rankwise.reporting.plots",
    "LoggedPlots": "rankwise.reporting.logged",
    "make_report": "rankwise.reporting.report",
}
"""The functions behind methods of results that draw and report, with their modules."""

_PACKAGES = {
    **{
        name: f"rankwise.{name}"
        for name in ("metrics", "functional", "splits", "candidates", "stats", "models")
    },
    "policies": "rankwise.offpolicy.policies",
    "interleave": "rankwise.interleave",
    **{name: f"rankwise.{name}" for name in ("datasets", "errors", "testing")},
}
"""The packages and modules that are public, with their import paths."""
_ENGINES = {"torch": "torchmetrics", "spark": "pyspark"}
"""Packages with the library that they need: listed if it is installed, and never loaded by a star import."""

if not TYPE_CHECKING:  # type checkers take what is imported above, the metrics included
    __all__ = [*_HOME_OF, *_PACKAGES, "__version__"]


def _load_at_call(module: str, name: str) -> Callable[..., Any]:
    """Return a function that calls the one of a module, which is loaded at the first call."""

    def call(*arguments: Any, **options: Any) -> Any:
        return getattr(import_module(module), name)(*arguments, **options)

    return call


for _name, _module in _PRESENTERS.items():
    register_presenter(_name, _load_at_call(_module, _name))


if not TYPE_CHECKING:  # a type checker would otherwise accept every name

    def __getattr__(name: str) -> Any:
        if name in (*_PACKAGES, *_ENGINES):
            return import_module(_PACKAGES.get(name, f"rankwise.{name}"))
        value = getattr(import_module(_HOME_OF[name]), name) if name in _HOME_OF else _metric(name)
        globals()[name] = value
        return value

    def _metric(name: str) -> Any:
        """Return an export of `rankwise.metrics`, which has the metrics."""
        from rankwise import metrics
        from rankwise.errors import nearest

        listed = (
            [] if name.startswith("_") else metrics.__all__
        )  # Python asks for names like __wrapped__
        if name in listed:
            return getattr(metrics, name)
        hint = nearest(name, {*__all__, *listed})
        ending = f"; {hint}" if hint else ""
        raise AttributeError(f"module 'rankwise' has no attribute {name!r}{ending}")

    def __dir__() -> list[str]:
        from importlib.util import find_spec

        return [
            *__all__,
            *(name for name, library in _ENGINES.items() if find_spec(library) is not None),
        ]
