"""The keys of WarpRec's ``evaluation`` section (1.4 and 2.2.8), as metrics and options of rankwise.

They name what to compute, not how: values follow rankwise's definitions, or those of the
configuration's convention.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from rankwise.convention.convention import Convention
from rankwise.errors import ParameterError, nearest
from rankwise.measures import registry
from rankwise.measures.measure import Measure, show_value
from rankwise.measures.read import parse_all
from rankwise.measures.weights import ByPropensity

__all__ = ["WARPREC_FIELDS", "ComplexMetric", "Propensity", "complex_measure", "tests_of", "with_propensity"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ComplexMetric(_Strict):
    """A metric with parameters."""

    name: str
    params: dict[str, Any] = Field(default_factory=dict)


class Corrections(_Strict):
    """Corrections for several tests; each that is true gives a comparison."""

    bonferroni: bool = False
    holm_bonferroni: bool = False
    fdr: bool = False
    alpha: float = Field(default=0.05, gt=0, lt=1)


class Significance(_Strict):
    """Significance tests; each that is true gives a comparison."""

    paired_t_test: bool = False
    wilcoxon_test: bool = False
    kruskal_test: bool = False
    whitney_u_test: bool = False
    corrections: Corrections = Field(default_factory=lambda: Corrections())


class Propensity(_Strict):
    """The propensities that debiased metrics divide by."""

    estimator: Literal["uniform", "popularity"] = Field(
        "uniform", description="popularity: estimated from training; uniform corrects nothing."
    )
    power: float = Field(0.5, ge=0, description="Exponent of the estimate.")
    clip: float = Field(0.1, gt=0, le=1, description="Smallest propensity.")


_UNUSED = "Accepted, and without effect here."
WARPREC_FIELDS: dict[str, Any] = {
    "top_k": (int | list[int] | None, Field(None, description="The same as k.")),
    "metrics": (
        list[str] | None,
        Field(None, description="Names of metrics, at the cut-offs of top_k; also measures as text."),
    ),
    "complex_metrics": (
        list[ComplexMetric],
        Field(default_factory=list, description="Metrics with parameters: {name: F1, params: {…}}."),
    ),
    "validation_metric": (str | None, Field(None, description="The primary measure, such as nDCG@10.")),
    "batch_size": (int | None, Field(None, ge=1, description="The same as block_size.")),
    "strategy": (
        Literal["full", "sampled"],
        Field("full", description="Rank all items, or each user's relevant items and sampled negatives."),
    ),
    "num_negatives": (int, Field(99, ge=1, description="Negatives per user, if sampled.")),
    "negative_sampling": (
        Literal["uniform", "popularity"],
        Field("uniform", description="How negatives are drawn, if sampled."),
    ),
    "neg_alpha": (
        float,
        Field(0.75, ge=0, description="Exponent of an item's number of training users, if drawn by popularity."),
    ),
    "candidates": (
        Literal["all", "cold", "warm"],
        Field("all", description="Items that are ranked: all, those without training interactions, or the rest."),
    ),
    "mask_seen": (
        Literal["auto", "context", "pair", "none"] | None,
        Field(None, description="auto and pair: the same as exclude_seen: true; none: exclude_seen: false."),
    ),
    "propensity": (Propensity | None, Field(None, description="Propensities of debiased metrics.")),
    "seed": (int, Field(42, ge=0, description="Seed of the sampled negatives.")),
    "stat_significance": (
        Significance | None,
        Field(None, description="Tests and corrections, in place of the section comparison."),
    ),
    "save_per_user": (bool, Field(False, description="The same as output.per_user: csv.")),
    "save_evaluation": (bool, Field(True, description=_UNUSED)),
    "full_evaluation_on_report": (bool, Field(False, description=_UNUSED)),
    "max_metric_per_row": (int, Field(4, description=_UNUSED)),
}
"""Fields of the model of the section ``evaluation``: type and default of each."""

_TESTS = {"paired_t_test": "t", "wilcoxon_test": "wilcoxon"}
_CORRECTIONS = {"bonferroni": "bonferroni", "holm_bonferroni": "holm", "fdr": "bh"}
_UNPAIRED = {"kruskal_test": "Kruskal-Wallis", "whitney_u_test": "Mann-Whitney"}


def tests_of(significance: Significance) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the options of every requested comparison, and messages for unsupported ones."""
    refused = [
        f"{key}: {name} treats the systems' users as unrelated, though they are the same users; "
        "use paired_t_test or wilcoxon_test"
        for key, name in _UNPAIRED.items()
        if getattr(significance, key)
    ]
    tests = [test for key, test in _TESTS.items() if getattr(significance, key)]
    given = significance.corrections
    corrections = [c for key, c in _CORRECTIONS.items() if getattr(given, key)] or ["none"]
    options = [
        {"test": test, "correction": correction, "alpha": given.alpha} for test in tests for correction in corrections
    ]
    return options, refused


_PARAMETERS = {
    "f": {"metric_name_1": "first", "metric_name_2": "second", "metric_1": "first", "metric_2": "second"},
    "euclidean_distance": {"metric_names": "measures", "utopia_points": "utopia"},
    "hypervolume": {"metric_names": "measures", "nadir_points": "nadir", "higher_is_better": "directions"},
}
"""Parameters that WarpRec calls otherwise, by measure: ``metric_name_1`` in 1.4, ``metric_1`` in 2.2.8."""


def complex_measure(metric: ComplexMetric, k: Sequence[int], convention: Convention | None = None) -> Measure:
    """Return the measure that a metric with parameters is, its parts in the language of a convention.

    >>> str(complex_measure(ComplexMetric(name="F1", params={"metric_1": "nDCG",
    ...     "metric_2": "MAP", "beta": 0.5}), [10]))
    'f(beta=0.5,first=ndcg,second=map)@10'

    Raises
    ------
    MeasureError, ParameterError
        If there is no such measure or parameter.
    """
    (measure,) = parse_all(_text(metric, convention), convention, cutoffs=False)
    measure = measure @ list(k) if k and measure.cutoff != "none" else measure
    measure.require_cutoff()
    return measure


def _text(metric: ComplexMetric, convention: Convention | None) -> str:
    """Return a metric with parameters as text, the parameters as rankwise calls them."""
    name = metric.name
    if convention is not None and [*metric.params] == ["relevance"]:  # the library's own name of a variant
        variant = f"{name}[{metric.params['relevance']}]"
        if convention.means(variant) is not None:
            return variant
    cls = registry.find(parse_all(name, convention, cutoffs=False)[0].name)
    params = _renamed(metric.params, _PARAMETERS.get(cls.name, {}), cls().parameters, cls.name)
    return f"{name}({','.join(f'{key}={show_value(value)}' for key, value in params.items())})" if params else name


def _renamed(
    params: Mapping[str, Any], names: Mapping[str, str], known: Mapping[str, Any], measure: str
) -> dict[str, Any]:
    renamed: dict[str, Any] = {}
    for asked, value in params.items():
        name = names.get(asked, asked)
        if name not in known:
            raise ParameterError(
                f"{measure} has no parameter {asked!r}", found=", ".join(known) or "none", hint=nearest(name, known)
            )
        if name in renamed:
            raise ParameterError(f"{asked} is another name of a parameter that is given already", found=f"{name}")
        renamed[name] = tuple(value) if isinstance(value, list) else value
    return renamed


def with_propensity(measure: Measure, propensity: Propensity) -> Measure:
    """Return a measure whose debiased parts have this power and clip, unless they say their own.

    >>> str(with_propensity(registry.find("ips_recall")(), Propensity(estimator="popularity", clip=0.2)))
    'ips_recall(clip=0.2)'
    """
    changed = {name for name, _ in measure.changed}
    parts: dict[str, Any] = {}
    for name, value in measure.parameters.items():
        if name in measure.fixed:
            continue
        if isinstance(value, Measure):
            parts[name] = with_propensity(value, propensity)
        elif isinstance(value, tuple) and value and all(isinstance(part, Measure) for part in value):
            parts[name] = tuple(with_propensity(part, propensity) for part in value)
    if isinstance(measure, ByPropensity) and measure.propensity == "popularity":
        own = {"power": propensity.power, "clip": propensity.clip}
        parts |= {name: value for name, value in own.items() if name not in changed}
    return replace(measure, **parts) if parts else measure
