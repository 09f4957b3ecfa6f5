"""The keys of WarpRec's ``evaluation`` section (1.4 and 2.2.8), and what they are called here.

They name what to compute, not how: values follow rankwise's definitions, or those of the
configuration's convention.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from pydantic import Field

from rankwise.convention.convention import Convention
from rankwise.errors import ParameterError, nearest
from rankwise.experiments.config_errors import ConfigErrors
from rankwise.experiments.document import Place, Section
from rankwise.metrics import registry
from rankwise.metrics.base import Metric, parse_all, show_value
from rankwise.metrics.debiased import ByPropensity


class ComplexMetric(Section):
    """A metric with parameters."""

    name: str
    params: dict[str, Any] = Field(default_factory=dict)


class Corrections(Section):
    """Corrections for several tests; each that is true gives a comparison."""

    bonferroni: bool = False
    holm_bonferroni: bool = False
    fdr: bool = False
    alpha: float = Field(default=0.05, gt=0, lt=1)


class Significance(Section):
    """Significance tests; each that is true gives a comparison."""

    paired_t_test: bool = False
    wilcoxon_test: bool = False
    kruskal_test: bool = False
    whitney_u_test: bool = False
    corrections: Corrections = Field(default_factory=lambda: Corrections())


class Propensity(Section):
    """The propensities that debiased metrics divide by."""

    estimator: Literal["uniform", "popularity"] = Field(
        "uniform", description="popularity: estimated from training; uniform corrects nothing."
    )
    power: float = Field(0.5, ge=0, description="Exponent of the estimate.")
    clip: float = Field(0.1, gt=0, le=1, description="Smallest propensity.")


_UNUSED = "Accepted, and without effect here."


WARPREC_FIELDS: dict[str, Any] = {
    "top_k": (int | list[int] | None, Field(None, description="The same as k.")),
    "complex_metrics": (
        list[ComplexMetric],
        Field(
            default_factory=list, description="Metrics with parameters: {name: F1, params: {…}}."
        ),
    ),
    "validation_metric": (
        str | None,
        Field(None, description="The primary metric, such as nDCG@10."),
    ),
    "batch_size": (int | None, Field(None, ge=1, description="The same as block_size.")),
    "strategy": (
        Literal["full", "sampled"],
        Field(
            "full",
            description="Rank all items, or each user's relevant items and sampled negatives.",
        ),
    ),
    "num_negatives": (int, Field(99, ge=1, description="Negatives per user, if sampled.")),
    "negative_sampling": (
        Literal["uniform", "popularity"],
        Field("uniform", description="How negatives are drawn, if sampled."),
    ),
    "neg_alpha": (
        float,
        Field(
            0.75,
            ge=0,
            description="Exponent of an item's number of training users, if drawn by popularity.",
        ),
    ),
    "candidates": (
        Literal["all", "cold", "warm"],
        Field(
            "all",
            description="Items that are ranked: all, those without training interactions, or the "
            "rest.",
        ),
    ),
    "mask_seen": (
        Literal["auto", "context", "pair", "none"] | None,
        Field(
            None,
            description="auto and pair: the same as exclude_seen: true; none: exclude_seen: false.",
        ),
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
    chosen = significance.corrections
    corrections = [c for key, c in _CORRECTIONS.items() if getattr(chosen, key)] or ["none"]
    options = [
        {"test": test, "correction": correction, "alpha": chosen.alpha}
        for test in tests
        for correction in corrections
    ]
    return options, refused


_PARAMETERS = {
    "f": {
        "metric_name_1": "first",
        "metric_name_2": "second",
        "metric_1": "first",
        "metric_2": "second",
    },
    "euclidean_distance": {"metric_names": "metrics", "utopia_points": "utopia"},
    "hypervolume": {
        "metric_names": "metrics",
        "nadir_points": "nadir",
        "higher_is_better": "directions",
    },
}
"""Parameters that WarpRec calls otherwise, by metric: ``metric_name_1`` in 1.4, ``metric_1`` in 2.2.8."""


def complex_metric(
    entry: ComplexMetric, k: Sequence[int], convention: Convention | None = None
) -> Metric:
    """Return the metric of an entry with parameters, its parts in the language of a convention.

    >>> str(complex_metric(ComplexMetric(name="F1", params={"metric_1": "nDCG",
    ...     "metric_2": "MAP", "beta": 0.5}), [10]))
    'f(beta=0.5,first=ndcg,second=map)@10'

    Raises
    ------
    MetricError, ParameterError
        If there is no such metric or parameter.
    """
    (metric,) = parse_all(_text(entry, convention), convention, cutoffs=False)
    metric = metric @ list(k) if k and metric.cutoff != "none" else metric
    metric.require_cutoff()
    return metric


def _text(entry: ComplexMetric, convention: Convention | None) -> str:
    """Return a metric with parameters as text, the parameters as rankwise calls them."""
    name = entry.name
    if convention is not None and [*entry.params] == [
        "relevance"
    ]:  # the library's own name of a variant
        variant = f"{name}[{entry.params['relevance']}]"
        if convention.means(variant) is not None:
            return variant
    cls = registry.find(parse_all(name, convention, cutoffs=False)[0].name)
    params = _renamed(entry.params, _PARAMETERS.get(cls.name, {}), cls().parameters, cls.name)
    return (
        f"{name}({','.join(f'{key}={show_value(value)}' for key, value in params.items())})"
        if params
        else name
    )


def _renamed(
    params: Mapping[str, Any], names: Mapping[str, str], parameters: Mapping[str, Any], metric: str
) -> dict[str, Any]:
    renamed: dict[str, Any] = {}
    for key, value in params.items():
        name = names.get(key, key)
        if name not in parameters:
            raise ParameterError(
                f"{metric} has no parameter {key!r}",
                found=", ".join(parameters) or "none",
                hint=nearest(name, parameters),
            )
        if name in renamed:
            raise ParameterError(
                f"{key} is another name of a parameter that is given already", found=f"{name}"
            )
        renamed[name] = tuple(value) if isinstance(value, list) else value
    return renamed


def with_propensity(metric: Metric, propensity: Propensity) -> Metric:
    """Return a metric whose debiased parts have this power and clip, unless they say their own.

    >>> str(with_propensity(registry.find("ips_recall")(), Propensity(estimator="popularity", clip=0.2)))
    'ips_recall(clip=0.2)'
    """
    changed = {name for name, _ in metric.non_default_parameters}
    parts: dict[str, Any] = {}
    for name, value in metric.parameters.items():
        if name in metric.fixed:
            continue
        if isinstance(value, Metric):
            parts[name] = with_propensity(value, propensity)
        elif isinstance(value, tuple) and value and all(isinstance(part, Metric) for part in value):
            parts[name] = tuple(with_propensity(part, propensity) for part in value)
    if isinstance(metric, ByPropensity) and metric.propensity == "popularity":
        options = {"power": propensity.power, "clip": propensity.clip}
        parts |= {name: value for name, value in options.items() if name not in changed}
    return replace(metric, **parts) if parts else metric


SECOND_KEYS = {
    "relevance_threshold": "threshold",
    "block_size": "batch_size",
    "exclude_seen": "mask_seen",
}
"""Options that have a second key."""
WITHOUT_EFFECT = ("save_evaluation", "full_evaluation_on_report", "max_metric_per_row")
"""Keys that are accepted, and do nothing here."""


def with_second_keys(
    options: dict[str, Any], evaluation: Any, mistakes: ConfigErrors
) -> dict[str, Any]:
    """Return the options of the evaluation with those that WarpRec calls otherwise."""
    out = dict(options)
    if evaluation.batch_size is not None:
        if options.get("block_size") is not None:
            mistakes.add(("evaluation", "batch_size"), "this is the same as block_size")
        out["block_size"] = evaluation.batch_size
    if evaluation.mask_seen is not None:
        masked = evaluation.mask_seen != "none"
        if options.get("exclude_seen", masked) != masked:
            mistakes.add(
                ("evaluation", "mask_seen"),
                f"this is the same as exclude_seen: {str(masked).lower()}",
            )
        out["exclude_seen"] = masked
    return out


def key_of_cutoffs(evaluation: Any, mistakes: ConfigErrors) -> str:
    """Return the key that has the cut-offs: ``k``, or ``top_k`` as WarpRec calls it."""
    if evaluation.k is not None and evaluation.top_k is not None:
        mistakes.add(("evaluation", "top_k"), "this is the same as k")
    return "top_k" if evaluation.k is None else "k"


def check_seen(evaluation: Any, fitted: Sequence[str], mistakes: ConfigErrors) -> None:
    """Check which seen items are masked; ``fitted`` are the systems that are baselines."""
    place = ("evaluation", "mask_seen")
    if evaluation.mask_seen == "context":
        mistakes.add(
            place,
            "tables have no contexts here, so that items seen in another context cannot be told "
            "apart",
            "write mask_seen: pair (the same as exclude_seen: true), or none",
        )
    if evaluation.mask_seen == "none" and fitted:
        mistakes.add(
            place,
            f"baselines never recommend items that a user has seen ({', '.join(fitted)})",
            "evaluate run files with mask_seen: none",
        )


def comparisons_of_tests(
    evaluation: Any, mistakes: ConfigErrors, *, is_compared: bool
) -> tuple[Place, list[dict[str, Any]]]:
    """Return the place of ``stat_significance``, and the options of the comparisons it asks for.

    ``is_compared`` says whether the file has a section ``comparison`` too.
    """
    place = ("evaluation", "stat_significance")
    options, refused = tests_of(evaluation.stat_significance)
    for text in refused:
        mistakes.add(place, text)
    if is_compared:
        mistakes.add(place, "the section comparison is given too")
    return place, options


def with_propensities(metric: Metric, evaluation: Any, mistakes: ConfigErrors) -> Metric:
    """Return a metric with the propensities of the section ``propensity``, if there is one."""
    propensity = evaluation.propensity
    if propensity is None:
        return metric
    debiased = any(isinstance(part, ByPropensity) for part in metric.tree)
    if debiased and propensity.estimator == "uniform":
        mistakes.add(
            ("evaluation", "propensity", "estimator"),
            f"uniform propensities correct nothing, and {metric} is a debiased metric",
            "write estimator: popularity",
        )
    return with_propensity(metric, propensity)
