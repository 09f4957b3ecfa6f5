"""Descriptions of metrics for listings, pages and help, derived from their classes."""

from __future__ import annotations

import inspect
import math
import re
import typing
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

from rankwise import functional
from rankwise.core.docstrings import documented_parameters, sections
from rankwise.metrics import registry
from rankwise.metrics.base import (
    FAMILIES,
    Metric,
    as_written,
    better,
    direction,
    extra_inputs,
    interval,
    summary,
)

__all__ = ["FAMILIES", "Advice", "Description", "Parameter", "describe", "every_description"]

_VALUES = {
    "float": "a number",
    "float | None": "a number or none",
    "bool": "true or false",
    "str": "text",
    "Metric": "a metric",
    "tuple[Metric, ...]": "a list of metrics",
    "tuple[float, ...]": "a list of numbers",
    "tuple[bool, ...]": "a list of true and false",
}


_AVERAGED = {
    "mean": "mean over users",
    "weighted mean": "weighted mean over users",
    "sum": "sum over users",
    "pooled": "micro-average: one value over the rows of all users; per-user values as well",
    "all lists": "one value over the lists of all users; no per-user values",
    "composed": "a function of the values of other metrics",
    "groups": "a function of the means of user groups",
    "distribution": "a function of all per-user values, such as a quantile",
}
_DEFINED_FOR = {
    "relevance": "users with a relevant item (without a list: 0)",
    "list": "users with a list",
    "user": "all evaluated users",
}


class Advice(NamedTuple):
    """When to use a metric, and when not to."""

    use: str
    avoid: str


class Parameter(NamedTuple):
    """A parameter of a metric: its values in words, its default and its description."""

    name: str
    values: str
    default: str
    text: str


@dataclass(frozen=True)
class Description:
    """The documented properties of a metric."""

    cls: type[Metric]

    @cached_property
    def text(self) -> str:
        """The docstring."""
        return inspect.getdoc(self.cls) or ""

    @cached_property
    def sections(self) -> dict[str, str]:
        """The sections of the docstring by title; the text above the first has an empty title."""
        return sections(self.cls)

    @property
    def parameters(self) -> list[Parameter]:
        """Every parameter, with the values and defaults of the class."""
        texts = documented_parameters(self.sections.get("Parameters", ""))
        types = typing.get_type_hints(self.cls)
        rows = []
        for name, default in self.cls().parameters.items():
            kind, text = texts.get(name, ("anything", ""))
            rows.append(Parameter(name, _values(types[name], kind), as_written(default), text))
        return rows

    @property
    def summary(self) -> str:
        """The first line of the docstring."""
        return summary(self.cls)

    @property
    def advice(self) -> Advice | None:
        """When to use the metric and when not to, from the docstring's notes; None if unstated."""
        notes = " ".join(self.sections.get("Notes", "").split())
        stated = re.fullmatch(r"(Use it .+?\.) (Do not .+)", notes)
        return Advice(*stated.groups()) if stated else None

    @property
    def range(self) -> str:
        """The range as an interval: ``[0, 1]``, ``[0, inf)``."""
        return interval(self.cls.range)

    @property
    def better(self) -> str:
        """Which direction is better; a dash where neither is."""
        return better(self.cls.higher_is_better)

    @property
    def direction(self) -> str:
        """Which direction is better, in words."""
        return direction(self.cls.higher_is_better)

    @property
    def cutoff(self) -> str:
        """The notation of a cut-off: ``@k``, ``[@k]`` if optional, or nothing."""
        return {"required": "@k", "optional": "[@k]", "none": ""}[self.cls.cutoff]

    @property
    def needs(self) -> list[str]:
        """The extra inputs beyond recommendations and ground truth, at default parameters."""
        return extra_inputs(self.cls())

    @property
    def averaged(self) -> str:
        """How per-user values become one value, and which users count."""
        made: Any = self.cls()
        over = (
            f": {_DEFINED_FOR[made.defined_for]}" if made.has_user_values and not made.parts else ""
        )
        return _AVERAGED[made.value_kind] + over

    @property
    def plain(self) -> str:
        """The name of the definition in plain Python; empty if there is none."""
        plain = self.cls.plain
        if plain is None:
            return ""
        public = getattr(functional, plain.__name__, None) is plain
        return f"{'rankwise.functional' if public else plain.__module__}.{plain.__name__}"

    def as_dict(self) -> dict[str, Any]:
        """Return all properties as plain values that JSON can hold."""
        cls = self.cls
        return {
            "name": cls.name,
            "aliases": list(cls.aliases),
            "family": cls.family,
            "range": [None if math.isinf(end) else end for end in cls.range],
            "higher_is_better": cls.higher_is_better,
            "cutoff": cls.cutoff,
            "parameters": {key: _plain(value) for key, value in cls().parameters.items()},
            "needs": self.needs,
            "plain": self.plain,
            "summary": self.summary,
        }


def describe(name: str) -> Description:
    """Describe the metric of a name or alias.

    >>> describe("nDCG").range, describe("nDCG").better, describe("ARP").needs
    ('[0, 1]', 'higher', ['train'])
    """
    return Description(registry.find(name))


def every_description() -> list[Description]:
    """Describe every metric, family by family, by name; plug-ins' own families come last."""
    order = {family: position for position, family in enumerate(FAMILIES)}
    metrics = sorted(
        registry.all_metrics(),
        key=lambda cls: (order.get(cls.family, len(order)), cls.family, cls.name),
    )
    return [Description(cls) for cls in metrics]


def _plain(value: object) -> object:
    return value if isinstance(value, bool | int | float | str | None) else str(value)


def _values(kind: Any, documented: str) -> str:
    """Return in words which values a parameter takes: by its type, or else as documented."""
    if typing.get_origin(kind) is Literal:
        return ", ".join(map(str, typing.get_args(kind)))
    text = kind.__name__ if isinstance(kind, type) and not typing.get_args(kind) else str(kind)
    return _VALUES.get(re.sub(r"[\w.]+\.(?=\w)", "", text), re.sub(r'[{}"]', "", documented))
