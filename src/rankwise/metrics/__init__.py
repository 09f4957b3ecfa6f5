"""All metric classes, and the tools to define metrics: `metric`, kinds of metric, and inputs.

Each metric is a class, whose page is in the reference of metrics; ``rankwise.NDCG`` is the same
class. The modules of the package, one per family of metrics, are loaded at the first use of a
class.

>>> from rankwise.metrics import NDCG
>>> str(NDCG(gain="exponential") @ 10)
'ndcg(gain=exponential)@10'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankwise.blocks.block import POPULARITY as POPULARITY
    from rankwise.blocks.block import PROPENSITY as PROPENSITY
    from rankwise.blocks.block import SIMILARITY as SIMILARITY
    from rankwise.blocks.block import Categories as Categories
    from rankwise.blocks.block import Features as Features
    from rankwise.blocks.block import Groups as Groups
    from rankwise.metrics.accuracy import *
    from rankwise.metrics.auc import *
    from rankwise.metrics.base import Metric as Metric
    from rankwise.metrics.base import metric as metric
    from rankwise.metrics.base import preset as preset
    from rankwise.metrics.categories import *
    from rankwise.metrics.composed import *
    from rankwise.metrics.composite_kinds import Composed as Composed
    from rankwise.metrics.composite_kinds import Grouped as Grouped
    from rankwise.metrics.composite_kinds import OverUsers as OverUsers
    from rankwise.metrics.confusion import *
    from rankwise.metrics.coverage import *
    from rankwise.metrics.debiased import *
    from rankwise.metrics.diversity import *
    from rankwise.metrics.graded import *
    from rankwise.metrics.inputs import HistoryCount as HistoryCount
    from rankwise.metrics.inputs import HitCount as HitCount
    from rankwise.metrics.inputs import ItemSum as ItemSum
    from rankwise.metrics.inputs import RecommendationCount as RecommendationCount
    from rankwise.metrics.inputs import RelevantCount as RelevantCount
    from rankwise.metrics.inputs import RepeatCount as RepeatCount
    from rankwise.metrics.item_fairness import *
    from rankwise.metrics.kinds import Accumulated as Accumulated
    from rankwise.metrics.kinds import Catalogue as Catalogue
    from rankwise.metrics.kinds import GroupRates as GroupRates
    from rankwise.metrics.kinds import HitSum as HitSum
    from rankwise.metrics.kinds import PerUser as PerUser
    from rankwise.metrics.kinds import Pooled as Pooled
    from rankwise.metrics.kinds import RunningSum as RunningSum
    from rankwise.metrics.popularity import *
    from rankwise.metrics.probability import *
    from rankwise.metrics.rating import *
    from rankwise.metrics.retrieval import *
    from rankwise.metrics.user_fairness import *

    AP = MAP = AveragePrecision
    F1, HR, ILD = F, HitRate, IntraListDiversity
    MRR = RR = ReciprocalRank

FOR_AUTHORS = {
    "metric": "rankwise.metrics.base",
    "preset": "rankwise.metrics.base",
    "Metric": "rankwise.metrics.base",
    "Accumulated": "rankwise.metrics.kinds",
    "Catalogue": "rankwise.metrics.kinds",
    "Composed": "rankwise.metrics.composite_kinds",
    "GroupRates": "rankwise.metrics.kinds",
    "Grouped": "rankwise.metrics.composite_kinds",
    "HitSum": "rankwise.metrics.kinds",
    "OverUsers": "rankwise.metrics.composite_kinds",
    "PerUser": "rankwise.metrics.kinds",
    "Pooled": "rankwise.metrics.kinds",
    "RunningSum": "rankwise.metrics.kinds",
    "HistoryCount": "rankwise.metrics.inputs",
    "HitCount": "rankwise.metrics.inputs",
    "ItemSum": "rankwise.metrics.inputs",
    "RecommendationCount": "rankwise.metrics.inputs",
    "RelevantCount": "rankwise.metrics.inputs",
    "RepeatCount": "rankwise.metrics.inputs",
    "Categories": "rankwise.blocks.block",
    "Features": "rankwise.blocks.block",
    "Groups": "rankwise.blocks.block",
    "POPULARITY": "rankwise.blocks.block",
    "PROPENSITY": "rankwise.blocks.block",
    "SIMILARITY": "rankwise.blocks.block",
}
"""What authors of metrics need, with its module; the registry has the metrics."""

_SHORT = ("AP", "F1", "HR", "ILD", "MAP", "MRR", "RR")
"""Abbreviations in capitals that are classes besides the names of the registry."""


def _classes() -> dict[str, Any]:
    """Return the metrics of rankwise by class name, so that a new metric needs no line here."""
    from rankwise.metrics import registry

    classes = [cls for cls in registry.all_metrics() if cls.__module__.startswith(f"{__name__}.")]
    return {cls.__name__: cls for cls in classes} | {name: registry.find(name) for name in _SHORT}


if not TYPE_CHECKING:  # a type checker would otherwise accept every name

    def __getattr__(name: str) -> Any:
        if name == "__all__":
            return [*FOR_AUTHORS, *sorted(_classes())]
        if name in FOR_AUTHORS:
            value = getattr(import_module(FOR_AUTHORS[name]), name)
        else:  # the name of a module does not load the families
            value = _classes().get(name) if name[:1].isupper() else None
            if value is None:
                raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return __getattr__("__all__")
