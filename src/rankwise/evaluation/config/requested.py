"""The metrics and comparisons that a configuration requests, under any convention."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from rankwise.convention.convention import Convention
from rankwise.errors import MeasureError, RankwiseError, nearest
from rankwise.evaluation.config.document import Place
from rankwise.evaluation.config.mistakes import Mistakes
from rankwise.evaluation.config.schema import Config
from rankwise.evaluation.config.warprec import complex_measure, tests_of, with_propensity
from rankwise.evaluation.plan import Plan
from rankwise.evaluation.settings import DEFAULT_MEASURES
from rankwise.measures.measure import LARGEST, Measure
from rankwise.measures.read import parse_all
from rankwise.measures.weights import ByPropensity
from rankwise.results.margins import check_margin
from rankwise.stats.values import check_level

__all__ = ["comparisons_of", "decision_of", "measures_of"]


def comparisons_of(
    config: Config, systems: Mapping[str, Any], mistakes: Mistakes
) -> list[tuple[Place, dict[str, Any]]]:
    """Return the options of every comparison, with its place."""
    evaluation = config.evaluation
    options: list[dict[str, Any]] = []
    section: Place = ("comparison",)
    if evaluation.stat_significance is not None:
        section = ("evaluation", "stat_significance")
        options, refused = tests_of(evaluation.stat_significance)
        for text in refused:
            mistakes.add(("evaluation", "stat_significance"), text)
        if config.comparison is not None:
            mistakes.add(("evaluation", "stat_significance"), "the section comparison is given too")
    elif config.comparison is not None:
        options = [one.model_dump(exclude_unset=True) for one in config.comparison]
    out: list[tuple[Place, dict[str, Any]]] = []
    for at, one in enumerate(options or [{}]):
        place = (*section, at) if mistakes.document.has((*section, at)) else section
        _check_names_and_alpha(one, ("baseline",), place, systems, mistakes)
        margin = one.get("margin")
        for name, size in margin.items() if isinstance(margin, Mapping) else [(None, margin)]:
            if size is not None:
                inner: Place = (*place, "margin") if name is None else (*place, "margin", name)
                mistakes.tried(inner, partial(check_margin, size))
        if evaluation.validation_metric is not None:
            one.setdefault("primary", evaluation.validation_metric)
        out.append((place, one))
    return out


def decision_of(config: Config, systems: Mapping[str, Any], mistakes: Mistakes) -> dict[str, Any] | None:
    """Return the options of the decision, its names checked."""
    if config.decision is None:
        return None
    options: dict[str, Any] = config.decision.model_dump(exclude_unset=True)
    _check_names_and_alpha(options, ("baseline", "system"), ("decision",), systems, mistakes)
    if len(systems) > 2 and options.get("system") is None:
        mistakes.add(("decision",), "a decision is about one system", "write system: NAME")
    if not options.get("success"):
        mistakes.add(("decision", "success"), "a decision needs a measure of success")
    if len(systems) < 2:
        mistakes.add(("decision",), "a decision compares two systems")
    for name, margin in (options.get("guardrails") or {}).items():
        mistakes.tried(("decision", "guardrails", name), partial(check_margin, margin))
    return options


def _check_names_and_alpha(
    options: Mapping[str, Any], keys: Sequence[str], place: Place, systems: Mapping[str, Any], mistakes: Mistakes
) -> None:
    """Check that the systems that options name are there, and the significance level."""
    for key in keys:
        name = options.get(key)
        if name is not None and name not in systems:
            mistakes.add((*place, key), f"there is no system {name!r}", nearest(str(name), systems))
    if "alpha" in options:
        mistakes.tried((*place, "alpha"), partial(check_level, "alpha", options["alpha"]))


def cutoffs_of(config: Config, mistakes: Mistakes) -> list[int]:
    """Return the cut-offs of measures that name none, without those that are wrong."""
    evaluation = config.evaluation
    if evaluation.k is not None and evaluation.top_k is not None:
        mistakes.add(("evaluation", "top_k"), "this is the same as k")
    key = "top_k" if evaluation.k is None else "k"
    given = getattr(evaluation, key)
    if given is None:
        return []
    right: list[int] = []
    for at, k in enumerate([given] if isinstance(given, int) else given):
        place: Place = ("evaluation", key) if isinstance(given, int) else ("evaluation", key, at)
        if not 1 <= k <= LARGEST:
            mistakes.add(place, f"a cut-off is a whole number from 1 to {LARGEST:,} ({k})")
        elif k in right:
            mistakes.add(place, f"duplicate cut-off ({k})")
        else:
            right.append(k)
    return right


def measures_of(config: Config, convention: Convention | None, mistakes: Mistakes) -> dict[Measure, Place]:
    """Return the measures that are asked for, each once, with the first place that asks for it."""
    evaluation, known = config.evaluation, len(mistakes)
    cutoffs = cutoffs_of(config, mistakes)
    strict = len(mistakes) == known and not any(mistakes.is_wrong(("evaluation", key)) for key in ("k", "top_k"))
    places: dict[Measure, Place] = {}

    def ask(place: Place, read: Callable[[], Iterable[Measure]]) -> None:
        for measure in mistakes.tried(place, read) or ():
            places.setdefault(_with_propensity(measure, config, mistakes), place)

    for key in ("measures", "metrics"):
        names = getattr(evaluation, key)
        listed = [names] if isinstance(names, str) else names or []
        for at, name in enumerate(listed):
            place: Place = ("evaluation", key, at) if isinstance(names, list) else ("evaluation", key)
            ask(place, partial(_named, name, cutoffs, convention, strict))
    for at, metric in enumerate(evaluation.complex_metrics):
        ask(("evaluation", "complex_metrics", at), lambda m=metric: (complex_measure(m, cutoffs, convention),))  # type: ignore[misc]
    primary = evaluation.validation_metric
    if primary is not None:
        place = ("evaluation", "validation_metric")
        for measure in mistakes.tried(place, partial(_named, primary, cutoffs, convention)) or ():
            if not any(set(measure.cells) <= set(other.cells) for other in places):
                places[measure] = place
    if not places and len(mistakes) == known:
        for name in DEFAULT_MEASURES:
            if convention is None or convention.means(name) is not None:
                text = name.partition("@")[0] if cutoffs else name
                ask(("evaluation",), partial(_named, text, cutoffs, convention))
    return places


def _with_propensity(measure: Measure, config: Config, mistakes: Mistakes) -> Measure:
    """Return a measure with the propensities of the section ``propensity``, if there is one."""
    propensity = config.evaluation.propensity
    if propensity is None:
        return measure
    weighted = with_propensity(measure, propensity)
    debiased = any(isinstance(part, ByPropensity) for part in Plan((measure,)).every)
    if debiased and propensity.estimator == "uniform":
        mistakes.add(
            ("evaluation", "propensity", "estimator"),
            f"uniform propensities correct nothing, and {measure} is a debiased metric",
            "write estimator: popularity",
        )
    return weighted


def _named(
    name: str, cutoffs: Sequence[int], convention: Convention | None, strict: bool = True
) -> tuple[Measure, ...]:
    """Return the measures of a text, those without a cut-off at ``cutoffs``.

    Unless ``strict`` they may lack one, because the cut-offs themselves are wrong.
    """
    out = []
    for measure in _parsed(name, convention):
        at = measure @ list(cutoffs) if (cutoffs and not measure.k and measure.cutoff != "none") else measure
        if strict:
            at.require_cutoff()
        out.append(at)
    return tuple(out)


def _parsed(name: str, convention: Convention | None) -> tuple[Measure, ...]:
    """Return the measures of a text, which a comma may have ended: in YAML it separates entries."""
    try:
        return parse_all(name, convention, cutoffs=False)
    except RankwiseError as error:
        if any(name.count(left) != name.count(right) for left, right in ("()", "[]")):
            hint = "a comma begins another entry: put the metric in quotation marks"
            raise MeasureError(error.what, found=error.found, hint=hint) from error
        raise
