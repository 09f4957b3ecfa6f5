"""What is requested: metrics with their cut-offs, and options under a convention."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rankwise.core.user_rules import UserRule
from rankwise.errors import ParameterError, nearest
from rankwise.evaluation.option_sets import ListOptions, TableOptions

if TYPE_CHECKING:  # the help of the command line needs neither NumPy nor Polars
    from rankwise.convention.convention import Convention
    from rankwise.measures.measure import Measure
    from rankwise.measures.read import MeasureLike

__all__ = ["DEFAULT_MEASURES", "RATING_MEASURES", "options_under", "requested", "table_options", "without_shorthands"]

DEFAULT_MEASURES = ("precision@10", "recall@10", "ndcg@10", "map@10", "mrr@10", "hit_rate@10")
RATING_MEASURES = ("rmse", "mae", "ndcg@10", "precision@10", "recall@10")


def requested(
    measures: MeasureLike | Iterable[MeasureLike], options: Mapping[str, Any], known: type = ListOptions
) -> tuple[tuple[Measure, ...], Convention | None, dict[str, Any]]:
    """Return the measures, the convention, and the options without shorthands."""
    convention, given = without_shorthands(options, known)
    wanted = _at_cutoffs(measures, given.pop("k", None), convention)
    if convention is not None:
        _check_names(wanted, convention)
    return wanted, convention, given


def without_shorthands(
    options: Mapping[str, Any], known: type = ListOptions
) -> tuple[Convention | None, dict[str, Any]]:
    """Return the convention, and all other options without shorthands.

    Raises
    ------
    ParameterError
        If a shorthand and what it stands for differ.
    TypeError
        If there is no such option.
    """
    for name in options:
        if name not in known.__annotations__:
            hint = nearest(name, known.__annotations__)
            ending = f"; {hint}" if hint else ""
            raise TypeError(f"unexpected keyword argument {name!r}{ending}")
    given = dict(options)
    if "threshold" in given:
        if given.get("relevance_threshold") not in (None, given["threshold"]):
            found = f"{given['threshold']} and {given['relevance_threshold']}"
            raise ParameterError("threshold and relevance_threshold are the same option", found=found)
        given["relevance_threshold"] = given.pop("threshold")
    from rankwise.convention.convention import Convention

    return Convention.named(given.pop("convention", None)), given


def table_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that say how tables are read, without shorthands."""
    return without_shorthands(options, TableOptions)[1]


def _check_names(measures: Sequence[Measure], convention: Convention) -> None:
    """Raise if a measure is written like another one is read: a name would find the wrong value."""
    for measure in measures:
        meant = convention.means(str(measure))
        if meant not in (None, measure) and {*meant.cells} & {c for other in measures for c in other.cells}:
            raise ParameterError(
                f"{measure} is the name of two of these measures under convention {convention.name!r}",
                found=f"{convention.write(measure)}, and {meant}",
                hint="evaluate them in two calls",
            )


def chosen_for(convention: Convention, measure: Measure, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return all choices for a measure: options that were given take precedence."""
    chosen = convention.choices_of(measure)
    if given.get("relevance_threshold") is not None:  # says what is relevant
        chosen["relevance"] = "positive"
    said = {name for name in chosen if name in given and (name != "ties" or given[name])}
    return chosen | {name: given[name] for name in said}


def options_under(convention: Convention, measures: Sequence[Measure], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options under a convention: those that were given, then those of the convention.

    The rule of the first measure is that of all; measures that have another one are exceptions.
    """
    chosen = {str(measure): chosen_for(convention, measure, given) for measure in measures}
    for choice in ("ties", "relevance"):
        values = {name: one[choice] for name, one in chosen.items()}
        if len({*values.values()}) > 1:
            raise ParameterError(
                f"convention {convention.name!r} has several choices of {choice} here",
                found=", ".join(f"{name}: {value}" for name, value in values.items()),
                hint="evaluate them in several calls; rankwise.evaluate does so by itself",
            )
    first = next(iter(chosen.values()))
    rules = {str(m @ ()): UserRule.of(chosen[str(m)]) for m in measures}
    exceptions = {name: rule for name, rule in rules.items() if rule != UserRule.of(first)}
    return {
        **given,
        **first,
        "convention": convention,
        "exceptions": tuple(exceptions.items()),
        "ties_if_scored": given.get("ties") is None,
    }


def _at_cutoffs(
    measures: MeasureLike | Iterable[MeasureLike], k: int | Sequence[int] | None, convention: Convention | None
) -> tuple[Measure, ...]:
    """Return the measures, those without a cut-off at ``k``."""
    from rankwise.measures.read import parse_all

    if convention is not None and measures is DEFAULT_MEASURES:  # those that the library has
        names = [text for text in DEFAULT_MEASURES if convention.means(text) is not None]
        measures = names if k is None else [text.partition("@")[0] for text in names]
    if k is None:
        return parse_all(measures, convention)
    if measures is DEFAULT_MEASURES or measures is RATING_MEASURES:
        measures = [str(name).partition("@")[0] for name in measures]
    parsed = parse_all(measures, convention, cutoffs=False)
    open_ = [measure for measure in parsed if not measure.k and measure.cutoff != "none"]
    if not open_:
        raise ParameterError(
            "k is the cut-off of measures that are given without one, and there is none",
            found=f"k={k}, {', '.join(map(str, parsed))}",
            hint="leave k out, or leave the cut-offs out of the names",
        )
    return parse_all([measure @ k if measure in open_ else measure for measure in parsed])
