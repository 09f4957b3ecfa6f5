"""`Convention`: a named set of definitions and options that reproduces a library's values.

The parser asks a convention for the meaning of a name, and ``evaluation/settings`` turns its
choices into ``Settings``. ``metrics/states`` selects the averaged users after the blocks, by a mask
for each metric, so that one job serves metrics of several populations. Two tie rules, or sums over
items of other users, need two jobs whose results are joined (``evaluation/plan``).
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Self, TypeVar

from rankwise.convention.entries import (
    ENTRY_CHOICES,
    Entry,
    change_parameters,
    check_choices,
    merge_entries,
)
from rankwise.core.arguments import described
from rankwise.core.populations import PopulationName
from rankwise.core.terminal import TableView
from rankwise.errors import MetricError, ParameterError, UsageError, nearest
from rankwise.messages import parameter
from rankwise.metrics import registry
from rankwise.metrics.base import Metric, show_value
from rankwise.metrics.registry import (
    is_metric_parameter,
    make,
    normalise_name,
    parse_text,
    several_metrics,
)
from rankwise.options import Choices, choice_values

_C = TypeVar("_C", bound=Choices)
_CUTOFFS = r"\s*\d+\s*|\s*\[\s*\d+(\s*,\s*\d+)*\s*\]\s*"
_NOTHING_DIFFERS = Entry("", "")


@dataclass(frozen=True, eq=False, repr=False)
class ConventionLanguage:
    """The meaning of names, from the entries of a convention by normalised name."""

    entries: Mapping[str, Entry]

    def knows(self, name: str) -> bool:
        """Return whether a name means a metric."""
        return normalise_name(name) in self.entries or registry.knows(name)

    def find(self, name: str) -> type[Any]:
        """Return the class of the metric that a name means."""
        entry = self._entry(name)
        return registry.find(name) if entry is None else type(entry.metric)

    def make(self, name: str, parameters: dict[str, Any]) -> Metric:
        """Return the metric that a name with these parameters means."""
        entry = self._entry(name)
        if entry is None:
            return self._with_parts(registry.find(name), parameters)
        read = self._read_names(type(entry.metric), parameters)
        return change_parameters(entry.metric, read) if parameters else entry.metric

    def spelled(self, text: str) -> Metric | None:
        """Return the metric of a name in the library's spelling, also ``11pt_avg@5``.

        None if there is no entry of this name.
        """
        found = self._find_template(text)
        if found is not None:
            templated, written = found
            return templated.with_numbers(written)
        name, at, cutoffs = text.partition("@")
        entry = self.entries.get(normalise_name(name.strip()))
        if entry is None or (at and not re.fullmatch(_CUTOFFS, cutoffs)):
            return None
        numbers = [int(number) for number in re.findall(r"\d+", cutoffs)]
        return entry.metric @ numbers if at else entry.metric

    def with_values(self, text: str) -> list[tuple[str, Metric]] | None:
        """Return the metrics of a name followed by values, ``P.5,10``, each with its label.

        None if the text is not written in this way. A name alone has its own values, unless they
        are cut-offs.
        """
        entry = self.entries.get(normalise_name(text))
        if entry is not None:
            return entry.at(entry.values) if entry.values and entry.parameter != "k" else None
        written = [
            entry for entry in self.entries.values() if entry.parameter and entry.begins(text)
        ]
        if not written:
            return None
        entry = max(written, key=lambda entry: len(entry.name))
        return entry.at(text[len(entry.name) + 1 :])

    def find_entry(self, name: str) -> Entry | None:
        """Return the entry of a name, also of one that is refused; None if there is none."""
        found = self._find_template(name)
        return self._entry(name.partition("@")[0].strip()) if found is None else found[0]

    def _find_template(self, text: str) -> tuple[Entry, dict[str, str]] | None:
        """Return the first entry whose template a text fills, with the numbers, or None."""
        for entry in self.entries.values():
            numbers = None if entry.template is None else entry.template.values_in(text)
            if numbers is not None:
                return entry, numbers
        return None

    def entry_of(self, metric: Metric) -> Entry:
        """Return the entry with the choices that hold for a metric.

        Choices of metrics with a cut-off stand under ``"rr@k"``, if they differ.
        """
        text = str(metric @ ())
        for ending in ("@k", "") if metric.k else ("",):
            entry = self._of_metric.get(text + ending) or self._entry(metric.name, ending)
            if entry is not None:
                return entry
        return _NOTHING_DIFFERS

    @cached_property
    def _of_metric(self) -> dict[str, Entry]:
        """The entry of every metric that a name means, without cut-offs; ``@k`` as in names."""
        return {
            str(entry.metric @ ()) + ("@k" if name.endswith("@k") else ""): entry
            for name, entry in reversed([*self.entries.items()])
            if not entry.refused
        }

    def _entry(self, name: str, ending: str = "") -> Entry | None:
        """Return the entry of a name, or of another name of the same metric.

        A library may use a name of this metric for another one: its entry does not count.
        """
        entry = self.entries.get(normalise_name(name) + ending)
        if entry is not None or not registry.knows(name):
            return entry
        cls = registry.find(name)
        if normalise_name(cls.name) + ending in self.entries:
            return self.entries[normalise_name(cls.name) + ending]
        entries = [self.entries.get(normalise_name(other) + ending) for other in cls.aliases]
        same = (e for e in entries if e and not e.refused and type(e.metric) is cls)
        return next(same, None)

    def _with_parts(self, cls: type[Metric], parameters: dict[str, Any]) -> Metric:
        """Return a metric whose default parts have this convention's definitions."""
        parts = (
            {}
            if cls.parts_as_written
            else {
                field.name: self._read_part(field.default)
                for field in fields(cls)
                if field.name not in parameters and is_metric_parameter(field.default)
            }
        )
        changed: Metric = make(cls, {**parts, **self._read_names(cls, parameters)})
        return changed

    def _read_names(self, cls: type[Metric], parameters: dict[str, Any]) -> dict[str, Any]:
        """Return parameters in which bare names of metrics are read in this language."""
        if cls.parts_as_written:
            return parameters
        parts = {field.name for field in fields(cls) if is_metric_parameter(field.default)}
        return {
            n: self._read_name(value) if n in parts else value for n, value in parameters.items()
        }

    def _read_name(self, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(self._read_name(one) for one in value)
        return self.make(value, {}) if isinstance(value, str) and self.knows(value) else value

    def _read_part(self, default: Any) -> Any:
        if isinstance(default, tuple):
            return tuple(self._read_part(part) for part in default)
        return self.make(default.name, dict(default.non_default_parameters))


CHOICES: dict[str, Any] = {
    **ENTRY_CHOICES,
    "list_population": PopulationName,
    **choice_values(per_metric=False),
}
"""The values of each choice of a convention."""
_LATER = [entry for entry in fields(Choices) if entry.metadata["saved_if_changed"]]
_NO_NAMES: Mapping[str, Any] = {}


def _with_choices(cls: type[_C]) -> type[_C]:
    """Return a class whose signature and description have a keyword for each choice."""
    signature = inspect.signature(cls.__init__)
    first, last = [*signature.parameters.values()][:4], [*signature.parameters.values()][4:-1]
    types = {entry.name: str(entry.type).removesuffix(" | None") for entry in fields(cls)}
    choices = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=f"{types[name]} | None"
        )
        for name in CHOICES
    ]
    cls.__init__.__signature__ = signature.replace(parameters=[*first, *choices, *last])  # type: ignore[attr-defined]
    rest = ", ".join(name for name in CHOICES if name not in ("population", "list_population"))
    return described(rest=rest, of_metrics=", ".join(f"``{name}``" for name in ENTRY_CHOICES))(cls)


@_with_choices
@dataclass(frozen=True, repr=False)
class Convention(Choices):
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
    metrics : mapping of str to str or mapping, optional
        Definitions of names: ``{"map": "map(normaliser=relevant)", "P": "precision"}``. A mapping
        instead of the text has choices for this metric only: ``{"ndcg": {"population": "truth"}}``,
        with ``metric``, %(of_metrics)s. With ``parameter``, values are written behind a dot:
        ``{"RBP": {"metric": "rbp", "parameter": "p", "values": "0.5,0.9"}}`` has ``RBP.0.7``, and
        both of its own ``values`` as ``RBP``.
    population : str, optional
        Which users are evaluated; here and below as in `rankwise.evaluate`, and by default as in
        ``base``.
    list_population : str, optional
        The same for metrics that describe lists and do not need the ground truth.
    %(rest)s : str, optional
        As in `rankwise.evaluate`, and by default as in ``base``. ``ties`` applies to lists that are
        ordered by score.
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
    >>> mine = rw.Convention("mine", base="recbole", metrics={"ndcg": "ndcg(gain=exponential)"})
    >>> mine.parse("ndcg@10"), mine.parse("map@10")
    (NDCG(gain='exponential') @ 10, AveragePrecision() @ 10)
    >>> rw.evaluate({"ann": [1, 2]}, {"ann": {2: 3, 9: 1}}, "ndcg@2", convention=mine)["ndcg@2"]
    0.5788
    """

    name: str
    base: Convention | str | None = field(default=None, kw_only=True, repr=False)
    metrics: Mapping[str, Any] = field(default_factory=dict, kw_only=True, repr=False)
    list_population: PopulationName | None = field(default=None, kw_only=True)
    library: str = field(default="", kw_only=True)
    note: str = field(default="", kw_only=True, repr=False)

    if not TYPE_CHECKING:  # type checkers and editors read the fields

        def __init__(
            self,
            name: str,
            *,
            base: Convention | str | None = None,
            metrics: Mapping[str, Any] = _NO_NAMES,
            library: str = "",
            note: str = "",
            **choices: Any,
        ) -> None:
            for choice in choices:
                if choice not in CHOICES:
                    raise TypeError(
                        f"Convention.__init__() got an unexpected keyword argument {choice!r}"
                    )
            _check_names(name, metrics)
            check_choices(f"convention {name!r}", choices, CHOICES)
            if base is not None and not isinstance(base, Convention):
                base = find(base) if isinstance(base, str) else self.resolve(base)
            inherited = Convention if base is None else base  # the class has the defaults
            values = {choice: getattr(inherited, choice) for choice in CHOICES}
            values |= {choice: value for choice, value in choices.items() if value is not None}
            entries = merge_entries(name, {} if base is None else base.metrics, metrics)
            values |= {
                "name": name,
                "base": None,
                "metrics": entries,
                "library": library,
                "note": note,
            }
            for attribute, value in values.items():
                object.__setattr__(self, attribute, value)

    def __repr__(self) -> str:
        shown = {"name": self.name, **self.choices, "library": self.library}
        return f"Convention({', '.join(f'{name}={value!r}' for name, value in shown.items())})"

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
        return ConventionLanguage(self.metrics)

    def read(self, text: str) -> list[Metric]:
        """Return the metrics that a text names under this convention.

        Raises
        ------
        MetricError
            If there is no such metric, or the text cannot be read.
        """
        with_values = self.language.with_values(text)
        if with_values is not None:
            return _joined(metric for _, metric in with_values)
        spelled = self.language.spelled(text)
        return parse_text(text, self.language) if spelled is None else [spelled]

    def parse(self, text: str) -> Metric:
        """Return the metric that a text names under this convention.

        Raises
        ------
        MetricError
            If there is no such metric, or rankwise does not compute what the library computes.
        """
        metrics = self.read(text)
        if len(metrics) != 1:
            raise several_metrics(text)
        return metrics[0]

    def means(self, text: str) -> Metric | None:
        """Return the metric that a text names; None if this convention has none."""
        try:
            return self.parse(text)
        except UsageError:
            return None

    def offers(self, text: str) -> bool:
        """Return whether the library is known to have the metric that a text names.

        The default convention has all of rankwise's metrics.
        """
        if not self.metrics or self.language.find_entry(text) is not None:
            return True
        name = text.partition("@")[0].partition("(")[0]
        return self.language.find_entry(name) is not None

    def defines(self, metric: Metric) -> bool:
        """Return whether a name of the convention means this metric, at any cut-off.

        A convention without names of its own has all of rankwise's metrics.
        """
        entries = [entry for entry in self.metrics.values() if not entry.refused]
        return not self.metrics or any(entry.means(metric) for entry in entries)

    def own_definitions(self, metrics: Iterable[Metric]) -> dict[str, str]:
        """Return the metrics that the convention does not have, with all parameters, by name.

        Their definitions are rankwise's own: the convention only says who is averaged over and how
        ties are broken.
        """
        return {str(metric): _in_full(metric) for metric in metrics if not self.defines(metric)}

    def check_object(self, metric: Metric) -> None:
        """Raise if the name of a metric object means another metric under this convention.

        Raises
        ------
        MetricError
            Its message has both metrics.
        """
        meant = self.parse(str(metric))  # raises where the name is refused
        if meant != metric:
            raise MetricError(
                f"{metric!r} is rankwise's, and under convention {self.name!r} this name means "
                "another metric",
                found=f"{metric} there is {meant}",
                hint=f'write "{metric}" as text for the metric of {self.name}, or pass the '
                f'object with all its parameters as text: "{self.write(metric)}"',
            )

    def write(self, metric: Metric) -> str:
        """Return the text that names a metric under this convention; the inverse of `parse`.

        A metric that the convention does not have is written with all its parameters.
        """
        text = str(metric)
        at = text[len(str(metric @ ())) :]
        names: list[str] = [
            entry.name + at
            for entry in self.metrics.values()
            if not entry.refused and entry.metric == metric @ ()
        ]
        spellings = (text, _in_full(metric)) if self.defines(metric) else (_in_full(metric), text)
        for one in (*spellings, *names):
            if self.means(one) == metric:
                return one
        raise MetricError(
            f"convention {self.name!r} has no name for {metric}",
            hint="evaluate it without the convention",
        )

    def entry(self, metric: Metric) -> Entry:
        """Return the entry of a metric, by its name or by the metrics inside."""
        return self.language.entry_of(metric)

    def choices_of(self, metric: Metric) -> dict[str, Any]:
        """Return all choices for a metric: from its entry, else from the convention."""
        chosen = dict(self.choices)
        of_lists = chosen.pop("list_population")
        if of_lists is not None and not metric.reads_truth:
            chosen["population"] = of_lists
        return {**chosen, **self.entry(metric).choices}

    def to_dict(self) -> dict[str, Any]:
        """Return every choice in full, as plain values."""
        entries = {entry.name: entry.to_dict() for entry in self.metrics.values()}
        unchanged = {entry.name for entry in _LATER if getattr(self, entry.name) == entry.default}
        choices = {name: value for name, value in self.choices.items() if name not in unchanged}
        return {
            "name": self.name,
            "library": self.library,
            "note": self.note,
            **choices,
            "metrics": entries,
        }

    @classmethod
    def resolve(cls, source: object) -> Convention | None:
        """Return a convention from its name or from a mapping with its definition.

        None stands for rankwise's defaults.

        Raises
        ------
        ParameterError
            If there is no such convention.
        """
        if isinstance(source, Convention):
            return None if source.name == "default" else source
        if source is None or (isinstance(source, str) and source.lower() == "default"):
            return None
        if isinstance(source, Mapping):
            return cls.of(source)
        if not isinstance(source, str):
            raise ParameterError(
                "a convention is its name, a rankwise.Convention or a mapping",
                found=f"{source!r} ({type(source).__name__})"[:120],
            )
        return find(source)

    @classmethod
    def of(cls, saved: Mapping[str, Any]) -> Self:
        """Return the convention that a mapping describes; the inverse of `to_dict`.

        Raises
        ------
        ParameterError
            If there is no name, or a key is unknown.
        """
        names = {entry.name for entry in fields(cls)}
        for name in saved:
            if name not in names:
                raise ParameterError(
                    f"a convention has no {name!r}",
                    found=", ".join(map(str, saved)),
                    hint=nearest(str(name), names),
                )
        if "name" not in saved:
            raise ParameterError("a convention has a name", found=", ".join(map(str, saved)))
        return cls(**saved)


def _joined(metrics: Iterable[Metric]) -> list[Metric]:
    """Join metrics that differ only in their cut-offs."""
    by_text: dict[str, list[Metric]] = {}
    for metric in metrics:
        by_text.setdefault(str(metric @ ()), []).append(metric)
    return [
        same[0] @ [k for metric in same for k in metric.k] if same[0].k else same[0]
        for same in by_text.values()
    ]


def _in_full(metric: Metric) -> str:
    """Write a metric with all its parameters, including defaults."""
    text = str(metric)
    at = text[len(str(metric @ ())) :]
    values = ",".join(f"{name}={show_value(value)}" for name, value in metric.parameters.items())
    return f"{metric.name}({values}){at}" if values else text


def _check_names(name: object, metrics: object) -> None:
    """Raise unless a convention has a name that is free, and metrics by name."""
    if not isinstance(name, str) or not name.strip():
        raise ParameterError("a convention has a name", found=repr(name))
    if name in ("all", "default") and (metrics or name == "all"):
        raise ParameterError(
            f"{name!r} names something else",
            found=f"Convention({name!r}, …)",
            hint="give the convention another name",
        )
    if not isinstance(metrics, Mapping):
        raise ParameterError(
            "metrics maps names to metrics",
            found=repr(metrics)[:80],
            hint=f"write {parameter('metrics', {'ndcg': 'ndcg(gain=exponential)'})}",
        )


BUILT_IN = (
    "default",
    "warprec",
    "warprec-1.4",
    "recbole",
    "elliot",
    "rectools",
    "replay",
    "lenskit",
    "recommenders",
    "rexmex",
    "cornac",
    "implicit",
    "surprise",
    "ranx",
    "trec_eval",
    "trec_eval-9",
    "ir_measures",
    "torchmetrics",
    "sklearn",
    "lightgbm",
    "xgboost",
    "catboost",
    "torch_ignite",
    "llama_index",
    "haystack",
    "mlflow",
    "sentence_transformers",
    "beir",
    "mteb",
    "evidently",
)
"""The built-in conventions, in the order of listings; each is a file in ``libraries``."""


@cache
def _built_in(name: str) -> Convention:
    import tomllib  # both take longer to load than a list to be evaluated
    from importlib import resources

    file = resources.files(__package__).joinpath("libraries", f"{name}.toml")
    return Convention(**tomllib.loads(file.read_text(encoding="utf-8")))


def conventions() -> dict[str, Convention]:
    """Return the built-in conventions by name: of rankwise and of other libraries.

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


def listing(conventions: Sequence[Convention]) -> TableView:
    """Return one row per convention: its name, the library, who is averaged over, ties."""
    rows = [
        (
            one.name,
            one.library,
            str(one.population),
            str(one.undefined),
            str(one.relevance),
            one.ties or "expected",
        )
        for one in conventions
    ]
    head = ("convention", "numbers of", "population", "undefined", "relevance", "ties")
    return TableView(
        head, rows, left=tuple(range(len(head))), title="Conventions", label="rankwise-conventions"
    )


def convention_views(convention: Convention) -> list[TableView]:
    """Return tables of a convention's choices for all metrics, and of its names."""
    choices = [
        (name, "" if value is None else str(value)) for name, value in convention.choices.items()
    ]
    names = [
        (
            f"{entry.name} (ours)" if entry.ours else entry.name,
            "not computed here" if entry.refused else entry.text,
            ", ".join(f"{choice}={value}" for choice, value in entry.choices.items()),
        )
        for entry in convention.metrics.values()
    ]
    remarks = {entry.name: entry.refused or entry.note for entry in convention.metrics.values()}
    notes = [f"{name}: {remark}" for name, remark in remarks.items() if remark]
    notes = [convention.note, *notes] if convention.note else notes
    head = TableView(
        (convention.name, convention.library),
        choices,
        left=(0, 1),
        title="Choices",
        label="rankwise-choices",
    )
    if not names:
        return [head]
    table = TableView(
        ("name", "metric", "choices"),
        names,
        notes=notes,
        left=(0, 1, 2),
        title="Names",
        label="rankwise-names",
    )
    return [head, table]
