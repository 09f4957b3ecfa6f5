"""`Convention`: a named set of definitions and options that reproduces a library's values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from typing import Any, Self

from rankwise.convention.builtin import BUILT_IN
from rankwise.convention.entry import ENTRY_CHOICES, Entry, check_choices, merged
from rankwise.convention.language import ConventionLanguage
from rankwise.core.choices import (
    CatalogueRule,
    Duplicates,
    IdType,
    OrderBy,
    Population,
    Relevance,
    ScorePrecision,
    Ties,
    Undefined,
    WithoutList,
)
from rankwise.errors import MeasureError, ParameterError, UsageError, nearest
from rankwise.measures.measure import Measure, show_value
from rankwise.measures.parsing import parse_text, several_measures

__all__ = ["CHOICES", "Convention", "conventions", "find"]

CHOICES: dict[str, Any] = {
    **ENTRY_CHOICES,
    "list_population": Population,
    "duplicates": Duplicates,
    "order_by": OrderBy,
    "ids": IdType,
    "score_precision": ScorePrecision,
    "catalogue": CatalogueRule,
}
"""The choices of a convention, with their types."""

_DEFAULTS: dict[str, Any] = {
    "population": "truth",
    "undefined": "skip",
    "without_list": "skip",
    "ties": None,
    "relevance": "positive",
    "list_population": None,
    "duplicates": "error",
    "order_by": "rank",
    "ids": "typed",
    "score_precision": "float64",
    "catalogue": "items",
}


@dataclass(frozen=True)
class Convention:
    """A named set of choices that reproduces a library: metric definitions, population, ties, ….

    Pass it, or its name, as ``convention=``. It defines the names of metrics that are given as
    text, and the defaults of their parameters. Parameters and options that are given explicitly
    take precedence.

    Parameters
    ----------
    name : str
        The name, which results carry.
    base : Convention or str, optional
        The convention that this one modifies; by default rankwise's defaults.
    measures : mapping of str to str or mapping, optional
        Definitions of names: ``{"map": "map(normaliser=relevant)", "P": "precision"}``. A mapping
        instead of the text has choices for this metric only: ``{"ndcg": {"population": "truth"}}``,
        with ``measure``, ``population``, ``undefined``, ``without_list``, ``ties``, ``relevance``.
    population : str, optional
        Which users are evaluated; here and below as in `rankwise.evaluate`, and by default as in
        ``base``.
    list_population : str, optional
        The same for metrics that describe lists and do not need the ground truth.
    undefined, without_list, ties, relevance, duplicates, order_by, ids : str, optional
        As in `rankwise.evaluate`, and by default as in ``base``. ``ties`` applies to lists that are
        ordered by score.
    score_precision, catalogue : str, optional
        As in `rankwise.evaluate`, and by default as in ``base``.
    library : str, default=""
        The library that is reproduced, with the versions that were checked.
    note : str, default=""
        What the library leaves undefined, or does for all its metrics and is not reproduced.

    Raises
    ------
    ParameterError
        If a choice or the base is unknown, or an entry does not define a metric.

    See Also
    --------
    conventions : The built-in conventions.
    explain : Explain the difference between two conventions, choice by choice.

    Examples
    --------
    >>> import rankwise as rw
    >>> mine = rw.Convention("mine", base="recbole", measures={"ndcg": "ndcg(gain=exponential)"})
    >>> mine.parse("ndcg@10"), mine.parse("map@10")
    (NDCG(gain='exponential') @ 10, AveragePrecision() @ 10)
    >>> rw.evaluate({"ann": [1, 2]}, {"ann": {2: 3, 9: 1}}, "ndcg@2", convention=mine)["ndcg@2"]
    0.5788
    """

    name: str
    base: Convention | str | None = field(default=None, kw_only=True, repr=False)
    measures: Mapping[str, Any] = field(default_factory=dict, kw_only=True, repr=False)
    population: Population | None = field(default=None, kw_only=True)
    list_population: Population | None = field(default=None, kw_only=True)
    undefined: Undefined | None = field(default=None, kw_only=True)
    without_list: WithoutList | None = field(default=None, kw_only=True)
    ties: Ties | None = field(default=None, kw_only=True)
    relevance: Relevance | None = field(default=None, kw_only=True)
    duplicates: Duplicates | None = field(default=None, kw_only=True)
    order_by: OrderBy | None = field(default=None, kw_only=True)
    ids: IdType | None = field(default=None, kw_only=True)
    score_precision: ScorePrecision | None = field(default=None, kw_only=True)
    catalogue: CatalogueRule | None = field(default=None, kw_only=True)
    library: str = field(default="", kw_only=True)
    note: str = field(default="", kw_only=True, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise ParameterError("a convention has a name", found=repr(self.name))
        if self.name in ("all", "default") and (self.measures or self.name == "all"):
            raise ParameterError(
                f"{self.name!r} names something else",
                found=f"Convention({self.name!r}, …)",
                hint="give the convention another name",
            )
        if not isinstance(self.measures, Mapping):
            raise ParameterError(
                "measures maps names to measures",
                found=repr(self.measures)[:80],
                hint='write measures={"ndcg": "ndcg(gain=exponential)"}',
            )
        check_choices(f"convention {self.name!r}", {c: getattr(self, c) for c in CHOICES}, CHOICES)
        base = self.base
        if base is not None and not isinstance(base, Convention):
            base = find(base) if isinstance(base, str) else self.named(base)
        inherited = {} if base is None else dict(base.measures)
        entries = merged(self.name, inherited, self.measures)
        object.__setattr__(self, "measures", entries)
        for choice, default in _DEFAULTS.items():
            if getattr(self, choice) is None:
                inherited = default if base is None else getattr(base, choice)
                object.__setattr__(self, choice, inherited)
        object.__setattr__(self, "base", None)

    def __str__(self) -> str:
        return self.name

    def __hash__(self) -> int:
        return hash((self.name, tuple(self.choices.items())))

    @property
    def choices(self) -> dict[str, Any]:
        """The choices that hold for all metrics, by name."""
        return {choice: getattr(self, choice) for choice in CHOICES}

    @cached_property
    def language(self) -> ConventionLanguage:
        """The definitions of names, and the defaults of parameters."""
        return ConventionLanguage(self.measures)

    def read(self, text: str) -> list[Measure]:
        """Return the metrics that a text names under this convention.

        Raises
        ------
        MeasureError
            If there is no such metric, or the text cannot be read.
        """
        spelled = self.language.spelled(text)
        return parse_text(text, self.language) if spelled is None else [spelled]

    def parse(self, text: str) -> Measure:
        """Return the metric that a text names under this convention.

        Raises
        ------
        MeasureError
            If there is no such metric, or rankwise does not compute what the library computes.
        """
        measures = self.read(text)
        if len(measures) != 1:
            raise several_measures(text)
        return measures[0]

    def means(self, text: str) -> Measure | None:
        """Return the metric that a text names; None if this convention has none."""
        try:
            return self.parse(text)
        except UsageError:
            return None

    def offers(self, text: str) -> bool:
        """Return whether the library is known to have the metric that a text names.

        The default convention has all of rankwise's metrics.
        """
        if not self.measures or self.language.named(text) is not None:
            return True
        name = text.partition("@")[0].partition("(")[0]
        return self.language.named(name) is not None

    def defines(self, measure: Measure) -> bool:
        """Return whether one of the convention's names means this metric, at any cut-off.

        A convention without names of its own has all of rankwise's metrics.
        """
        meanings = [entry.measure for entry in self.measures.values() if not entry.refused]
        return not self.measures or any(meant == (measure if meant.k else measure @ ()) for meant in meanings)

    def own_definitions(self, measures: Iterable[Measure]) -> dict[str, str]:
        """Return the metrics that the convention does not have, with all parameters, by name.

        Their definitions are rankwise's own: the convention only says who is averaged over and how
        ties are broken.
        """
        return {str(measure): _in_full(measure) for measure in measures if not self.defines(measure)}

    def check_object(self, measure: Measure) -> None:
        """Raise if the name of a metric object means another metric under this convention.

        Raises
        ------
        MeasureError
            Its message has both metrics.
        """
        meant = self.parse(str(measure))  # raises where the name is refused
        if meant != measure:
            raise MeasureError(
                f"{measure!r} is rankwise's, and under convention {self.name!r} this name means another measure",
                found=f"{measure} there is {meant}",
                hint=f'write "{measure}" as text for the measure of {self.name}, or pass the '
                f'object with all its parameters as text: "{self.write(measure)}"',
            )

    def write(self, measure: Measure) -> str:
        """Return the text that names a metric under this convention; the inverse of `parse`.

        A metric that the convention does not have is written with all its parameters.
        """
        text = str(measure)
        at = text[len(str(measure @ ())) :]
        names: list[str] = [
            entry.name + at for entry in self.measures.values() if not entry.refused and entry.measure == measure @ ()
        ]
        spellings = (text, _in_full(measure)) if self.defines(measure) else (_in_full(measure), text)
        for one in (*spellings, *names):
            if self.means(one) == measure:
                return one
        raise MeasureError(
            f"convention {self.name!r} has no name for {measure}", hint="evaluate it without the convention"
        )

    def entry(self, measure: Measure) -> Entry:
        """Return the entry of a metric: that of its name, or of the metrics it consists of."""
        return self.language.entry_of(measure)

    def choices_of(self, measure: Measure) -> dict[str, Any]:
        """Return all choices for a metric: those of its entry, else those for all metrics."""
        chosen = dict(self.choices)
        of_lists = chosen.pop("list_population")
        if of_lists is not None and not measure.reads_truth:
            chosen["population"] = of_lists
        return chosen | self.entry(measure).choices

    def to_dict(self) -> dict[str, Any]:
        """Return every choice in full, as plain values."""
        entries = {entry.name: entry.to_dict() for entry in self.measures.values()}
        return {"name": self.name, "library": self.library, "note": self.note, **self.choices, "measures": entries}

    @classmethod
    def named(cls, given: object) -> Convention | None:
        """Return a convention from its name or from a mapping that describes it.

        None stands for rankwise's defaults.

        Raises
        ------
        ParameterError
            If there is no such convention.
        """
        if isinstance(given, Convention):
            return None if given.name == "default" else given
        if given is None or (isinstance(given, str) and given.lower() == "default"):
            return None
        if isinstance(given, Mapping):
            return cls.of(given)
        if not isinstance(given, str):
            raise ParameterError(
                "a convention is its name, a rankwise.Convention or a mapping",
                found=f"{given!r} ({type(given).__name__})"[:120],
            )
        return find(given)

    @classmethod
    def of(cls, saved: Mapping[str, Any]) -> Self:
        """Return the convention that a mapping describes; the inverse of `to_dict`.

        Raises
        ------
        ParameterError
            If there is no name, or a key is unknown.
        """
        known = {entry.name for entry in fields(cls)}
        for name in saved:
            if name not in known:
                raise ParameterError(
                    f"a convention has no {name!r}", found=", ".join(map(str, saved)), hint=nearest(str(name), known)
                )
        if "name" not in saved:
            raise ParameterError("a convention has a name", found=", ".join(map(str, saved)))
        return cls(**saved)


def _in_full(measure: Measure) -> str:
    """Write a metric with all its parameters, including defaults."""
    text = str(measure)
    at = text[len(str(measure @ ())) :]
    values = ",".join(f"{name}={show_value(value)}" for name, value in measure.parameters.items())
    return f"{measure.name}({values}){at}" if values else text


@cache
def _built_in(name: str) -> Convention:
    return Convention(**BUILT_IN[name])


def conventions() -> dict[str, Convention]:
    """Return the built-in conventions by name: rankwise's own, and those of other libraries.

    Returns
    -------
    dict of str to Convention

    Examples
    --------
    >>> import rankwise as rw
    >>> list(rw.conventions())[0]
    'default'
    """
    return {name: _built_in(name) for name in BUILT_IN}


def find(name: str) -> Convention:
    """Return a built-in convention by name.

    Raises
    ------
    ParameterError
        If there is no such convention.
    """
    if not isinstance(name, str) or name.lower() not in BUILT_IN:
        raise ParameterError(
            "there is no such convention",
            found=repr(name)[:80],
            hint=nearest(str(name), BUILT_IN) or f"one of {', '.join(BUILT_IN)}",
        )
    return _built_in(name.lower())
