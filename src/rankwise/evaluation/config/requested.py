"""The metrics and comparisons that a configuration requests, under any convention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from rankwise.convention.convention import Convention
from rankwise.errors import nearest
from rankwise.evaluation.config.document import Place
from rankwise.evaluation.config.mistakes import Mistakes
from rankwise.evaluation.config.schema import Config
from rankwise.evaluation.config.warprec import complex_measure, tests_of
from rankwise.evaluation.settings import DEFAULT_MEASURES
from rankwise.measures.measure import Measure
from rankwise.measures.read import parse_all
from rankwise.results.margins import check_margin
from rankwise.stats.values import check_level

__all__ = ["comparisons_of", "decision_of", "measures_of"]


def comparisons_of(config: Config, systems: Mapping[str, Any], mistakes: Mistakes) -> list[dict[str, Any]]:
    """Return the options of every comparison."""
    evaluation = config.evaluation
    options: list[dict[str, Any]] = []
    if evaluation.stat_significance is not None:
        options, refused = tests_of(evaluation.stat_significance)
        for text in refused:
            mistakes.add(("evaluation", "stat_significance"), text)
        if config.comparison is not None:
            mistakes.add(("evaluation", "stat_significance"), "the section comparison is given too")
    elif config.comparison is not None:
        options = [one.model_dump(exclude_unset=True) for one in config.comparison]
    options = options or [{}]
    for at, one in enumerate(options):
        place: Place = ("comparison", at) if mistakes.document.has(("comparison", at)) else ("comparison",)
        _check_names_and_alpha(one, ("baseline",), place, systems, mistakes)
        margin = one.get("margin")
        for size in margin.values() if isinstance(margin, Mapping) else [margin]:
            if size is not None:
                mistakes.tried((*place, "margin"), partial(check_margin, size))
        if evaluation.validation_metric is not None:
            one.setdefault("primary", evaluation.validation_metric)
        for key in ("primary", "measures"):
            if one.get(key) is not None:
                mistakes.tried((*place, key), partial(parse_all, one[key]))
    return options


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
    for key in ("success", "guardrails", "deterioration"):
        if options.get(key):
            names = options[key] if isinstance(options[key], str) else list(options[key])
            mistakes.tried(("decision", key), partial(parse_all, names))
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


def _cutoffs(config: Config, mistakes: Mistakes) -> list[int]:
    """Return the cut-offs of measures that name none."""
    evaluation = config.evaluation
    if evaluation.k is not None and evaluation.top_k is not None:
        mistakes.add(("evaluation", "top_k"), "this is the same as k")
    given = evaluation.top_k if evaluation.k is None else evaluation.k
    if given is None:
        return []
    return [given] if isinstance(given, int) else list(given)


def measures_of(config: Config, convention: Convention | None, mistakes: Mistakes) -> list[Measure]:
    """Return the measures that are asked for, each once."""
    evaluation, cutoffs = config.evaluation, _cutoffs(config, mistakes)
    strict = not any(mistakes.is_wrong(("evaluation", key)) for key in ("k", "top_k"))
    found: dict[str, Measure] = {}
    for key in ("measures", "metrics"):
        names = getattr(evaluation, key)
        listed = [names] if isinstance(names, str) else names or []
        for at, name in enumerate(listed):
            place: Place = ("evaluation", key, at) if isinstance(names, list) else ("evaluation", key)
            for measure in mistakes.tried(place, partial(_at, name, cutoffs, convention, strict)) or ():
                found[str(measure)] = measure
    for at, metric in enumerate(evaluation.complex_metrics):
        place = ("evaluation", "complex_metrics", at)
        made = mistakes.tried(place, partial(complex_measure, metric, cutoffs))
        found |= {} if made is None else {str(made): made}
    primary = evaluation.validation_metric
    if primary is not None:
        read = partial(_at, primary, cutoffs, convention)
        for measure in mistakes.tried(("evaluation", "validation_metric"), read) or ():
            if not any(set(measure.cells) <= set(other.cells) for other in found.values()):
                found[str(measure)] = measure
    if not found:
        found = {
            str(m): m
            for name in DEFAULT_MEASURES
            for m in _at(name.partition("@")[0] if cutoffs else name, cutoffs, convention)
        }
    return list(found.values())


def _at(name: str, cutoffs: Sequence[int], convention: Convention | None, strict: bool = True) -> tuple[Measure, ...]:
    """Return the measures of a text, those without a cut-off at ``cutoffs``.

    Unless ``strict`` they may lack one, because the cut-offs themselves are wrong.
    """
    out = []
    for measure in parse_all(name, convention, cutoffs=False):
        at = measure @ list(cutoffs) if (cutoffs and not measure.k and measure.cutoff != "none") else measure
        if strict:
            at.require_cutoff()
        out.append(at)
    return tuple(out)
