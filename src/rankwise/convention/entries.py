"""`Entry`: the definition of one name under a convention, and how entries are read and merged."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, get_args

from rankwise.convention.templates import Template, is_template, template_of
from rankwise.core.arguments import check_choice
from rankwise.errors import MetricError, ParameterError, UsageError, nearest
from rankwise.messages import parameter
from rankwise.metrics.base import Metric, parse
from rankwise.metrics.registry import make, normalise_name, parse_text
from rankwise.options import choice_values

ENTRY_CHOICES = choice_values(per_metric=True)
"""The values of each choice that may differ from metric to metric."""


def check_choices(where: str, choices: Mapping[str, Any], allowed: Mapping[str, Any]) -> None:
    """Raise if a choice is unknown, or has an impossible value.

    Raises
    ------
    ParameterError
        With the nearest name, or the values that are possible.
    """
    for name, value in choices.items():
        if name not in allowed:
            raise ParameterError(
                f"{where}: there is no choice {name!r}",
                found=", ".join(allowed),
                hint=nearest(name, allowed),
            )
        if value is not None and get_args(allowed[name]):
            check_choice(name, value, allowed[name])


_WORDS = ("note", "refused", "parameter", "values")


def entry_key(name: str) -> str:
    """Return the key of a name: without case, blanks, ``_`` and ``-``, unless punctuation counts."""
    return name if is_template(name) else normalise_name(name)


@dataclass(frozen=True)
class Entry:
    """The definition of one name under a convention.

    Attributes
    ----------
    name : str
        The name as it is written.
    text : str
        rankwise's metric, with every parameter that differs from its default.
    choices : mapping of str to str
        The choices that differ from those of the convention.
    note : str, default=""
        Behaviour of the library that is not reproduced.
    refused : str, default=""
        What the library computes under this name, if rankwise has no equivalent: the name then
        raises an error instead of giving another value.
    parameter : str, default=""
        The parameter that is written behind the name and a dot, as in trec_eval's ``P.5,10``:
        ``"k"``, or one of the metric; ``"beta^2"`` is its square; ``"gains="`` comes in pairs, as
        in ``ndcg.1=3,2=9``. A parameter that is a list takes all values, any other one each of
        them: several metrics.
    values : str, default=""
        The values of the parameter where the name stands alone.
    ours : bool, default=False
        Whether the name is rankwise's: the library writes what it means in another way, and has no
        metric of this name.
    """

    name: str
    text: str
    choices: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    refused: str = ""
    parameter: str = ""
    values: str = ""
    ours: bool = False

    @classmethod
    def read(cls, name: str, entry: str | Mapping[str, Any] | Entry) -> Entry:
        """Return the entry of a name from the notation of a convention's author.

        ``"map(normaliser=relevant)"``, or ``{"metric": …, "population": "both", …}``; without
        ``"metric"`` the name is that of rankwise's metric.
        """
        if isinstance(entry, Entry):
            return entry
        if isinstance(entry, str):
            return cls(name, entry)
        if not isinstance(entry, Mapping):
            raise ParameterError(
                "a name means a metric as text, or a mapping with 'metric' and choices",
                found=f"{name}: {entry!r}"[:120],
            )
        choices = {
            key: value for key, value in entry.items() if key not in ("metric", "ours", *_WORDS)
        }
        check_choices(f"metric {name!r}", choices, ENTRY_CHOICES)
        words = {word: str(entry.get(word, "")) for word in _WORDS}
        ordered = {
            choice: choices[choice] for choice in ENTRY_CHOICES if choices.get(choice) is not None
        }
        ours = bool(entry.get("ours", False))
        return cls(name, str(entry.get("metric", "")) or name, ordered, **words, ours=ours)

    def check(self, convention: str) -> None:
        """Raise if the definition of the name cannot be read, with the name and the convention."""
        if self.refused:
            return
        try:
            several = len(parse_text(self.text)) != 1
        except UsageError as error:
            raise ParameterError(
                f"convention {convention!r}: the metric of {self.name!r} cannot be read",
                found=f"{self.text}: {error.what}",
                hint=error.hint,
            ) from error
        of_users = [name for name in choice_values("population") if name in self.choices]
        if self.name.endswith("@k") and of_users:
            raise ParameterError(
                f"convention {convention!r}: the population must be the same at every cut-off",
                found=f"{self.name}: {', '.join(of_users)}",
            )
        if several:
            raise ParameterError(
                f"convention {convention!r}: {self.name!r} means several metrics", found=self.text
            )

    def to_dict(self) -> dict[str, Any]:
        """Return all values that are set, as plain values."""
        words = {word: getattr(self, word) for word in (*_WORDS, "ours")}
        return {"metric": self.text, **self.choices} | {
            name: value for name, value in words.items() if value
        }

    @cached_property
    def meaning(self) -> str:
        """The metric without cut-offs as text, and ``@k`` where the name is that with one."""
        return str(self.metric @ ()) + ("@k" if self.name.endswith("@k") else "")

    @cached_property
    def metric(self) -> Metric:
        """The metric, without cut-offs unless the text has one.

        Raises
        ------
        MetricError
            If the name is refused.
        """
        if self.refused:
            raise MetricError(
                f"what this convention calls {self.text!r} is not computed here",
                found=self.refused,
                hint=f"rankwise's metrics are those of {parameter('convention', 'default')}",
            )
        return parse(self.text)

    def means(self, metric: Metric) -> bool:
        """Return whether the name means a metric, at any cut-off and any value of the parameter."""
        meant, free = self.metric, self.parameter.rstrip("^2=")
        metric = metric if meant.k else metric @ ()
        if free in meant.parameters and type(metric) is type(meant):
            metric = replace(metric, **{free: meant.parameters[free]})
        return metric == meant

    @cached_property
    def template(self) -> Template | None:
        """The template of a name with numbers in it; None for a plain name."""
        return template_of(self.name) if is_template(self.name) else None

    def with_numbers(self, numbers: Mapping[str, str]) -> Metric:
        """Return the metric with the numbers that a text has in the places of the template.

        >>> Entry("PFound:top={k};decay={decay}", "err").with_numbers({"k": "5", "decay": "0.5"})
        ERR(decay=0.5) @ 5
        """
        parameters: dict[str, Any] = {
            name: self._numbers(value)[0] for name, value in numbers.items() if name != "k"
        }
        metric = change_parameters(self.metric, parameters) if parameters else self.metric
        k = int(self._numbers(numbers["k"])[0]) if "k" in numbers else -1
        return metric @ k if k > 0 else metric  # -1 is no cut-off in libraries that write one

    def begins(self, text: str) -> bool:
        """Return whether a text is the name followed by values of the parameter."""
        value = r"\w+=[^,=]+" if self.parameter.endswith("=") else r"[-+.\de]+"
        return (
            re.fullmatch(rf"{re.escape(self.name)}[._]{value}(,{value})*", text, re.IGNORECASE)
            is not None
        )

    def at(self, values: str) -> list[tuple[str, Metric]]:
        """Return the metrics of values that are written behind the name, each with its label.

        >>> Entry("Rprec_mult", "r_precision", parameter="multiple").at("0.5,1.5")[0]
        ('Rprec_mult_0.50', RPrecision(multiple=0.5))
        """
        metric, label = self.metric, f"{self.name}_{values}"
        if "=" in values:
            return [(label, change_parameters(metric, self._pairs(values)))]
        if self.parameter == "k":
            cutoffs = sorted(int(float(number)) for number in self._numbers(values))
            return [(f"{self.name}_{k}", metric @ k) for k in cutoffs]
        numbers = self._numbers(values)
        if self.parameter.endswith("^2"):
            return [
                (
                    label,
                    change_parameters(
                        metric, {self.parameter.removesuffix("^2"): math.sqrt(max(numbers[0], 0.0))}
                    ),
                )
            ]
        if isinstance(metric.parameters[self.parameter], tuple):
            return [(label, change_parameters(metric, {self.parameter: tuple(numbers)}))]
        return [
            (f"{self.name}_{number:.2f}", change_parameters(metric, {self.parameter: number}))
            for number in sorted(numbers)
        ]

    def _numbers(self, values: str) -> list[float]:
        try:
            return [float(value) for value in values.split(",")]
        except ValueError:
            raise self._unreadable(values) from None

    def _pairs(self, values: str) -> dict[str, Any]:
        """Return the parameters of pairs: ``p=0.95``, or gains of grades as in ``1=3,2=9``."""
        pairs = dict(pair.partition("=")[::2] for pair in values.split(","))
        gains = {int(grade): number for grade, number in pairs.items() if grade.isdecimal()}
        out: dict[str, Any] = {
            name: self._numbers(number)[0] for name, number in pairs.items() if not name.isdecimal()
        }
        if not gains:
            return out
        if min(gains) < 1 or max(gains) > _MOST_GRADES:
            raise self._unreadable(values, f"gains are of the grades 1 to {_MOST_GRADES}")
        by_grade = {grade: self._numbers(number)[0] for grade, number in gains.items()}
        return {
            **out,
            "gains": tuple(by_grade.get(grade, float(grade)) for grade in range(1, max(gains) + 1)),
        }

    def _unreadable(self, values: str, hint: str = "") -> MetricError:
        example = (
            f"write {self.name}.{self.values}"
            if self.values
            else "write numbers with a comma between them"
        )
        return MetricError(
            f"these are no values of {self.name}", found=values, hint=hint or example
        )


_MOST_GRADES = 1000


def merge_entries(
    convention: str, inherited: Mapping[str, Entry], changes: Mapping[str, Any]
) -> dict[str, Entry]:
    """Return the entries of a convention by normalised name: inherited ones, changed and added.

    A result has one value of a metric, so that all names of a metric have the same choices: those
    that are given hold for inherited names of the same metric as well.

    Raises
    ------
    ParameterError
        If an entry cannot be read, or two names of one metric have different choices.
    """
    entries = dict(inherited)
    chosen: dict[str, Entry] = {}
    for name, what in changes.items():
        entry = _read_entry(convention, inherited, name, what)
        other = None if entry.refused else chosen.setdefault(entry.meaning, entry)
        if other is not None and other.choices != entry.choices:
            raise ParameterError(
                f"convention {convention!r}: two names of {entry.text} have different choices",
                found=f"{other.name}: {other.choices or 'none'}; {name}: {entry.choices or 'none'}",
                hint="give both the same",
            )
        entries[entry_key(name)] = entry

    for place, entry in entries.items():
        other = None if entry.refused else chosen.get(entry.meaning)
        if other is not None:
            entries[place] = replace(entry, choices=other.choices)
    return entries


def _read_entry(convention: str, inherited: Mapping[str, Entry], name: str, what: Any) -> Entry:
    """Read one entry; choices without a metric change the inherited metric of the name."""
    if not isinstance(name, str):
        raise ParameterError(f"convention {convention!r}: names are text", found=repr(name)[:80])
    before = inherited.get(entry_key(name))
    if isinstance(what, Mapping) and "metric" not in what and before is not None:
        what = {"metric": before.text, **what}
    entry = Entry.read(name, what)
    entry.check(convention)
    return entry


def change_parameters(metric: Metric, parameters: dict[str, Any]) -> Metric:
    """Change parameters of a metric, or of the metric inside."""
    names = {field.name for field in fields(metric)}
    values = dict(metric.non_default_parameters)
    if not names >= parameters.keys():
        for name, part in metric.parameters.items():
            if isinstance(part, Metric) and {f.name for f in fields(part)} >= parameters.keys():
                return change_parameters(metric, {name: change_parameters(part, parameters)})
    made: Metric = make(type(metric), values | parameters)
    return made @ metric.k if metric.k else made
