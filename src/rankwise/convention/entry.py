"""`Entry`: the definition of one name under a convention, with choices for this metric only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, get_args

from rankwise.core.arguments import check_choice
from rankwise.core.choices import Population, Relevance, Ties, Undefined, WithoutList
from rankwise.errors import MeasureError, ParameterError, UsageError, nearest
from rankwise.measures.measure import Measure
from rankwise.measures.parsing import parse_text
from rankwise.measures.read import parse
from rankwise.measures.registry import key

__all__ = ["ENTRY_CHOICES", "Entry", "check_choices", "merged"]

ENTRY_CHOICES: dict[str, Any] = {
    "population": Population,
    "undefined": Undefined,
    "without_list": WithoutList,
    "ties": Ties,
    "relevance": Relevance,
}
"""The choices that may differ from measure to measure."""


def check_choices(where: str, choices: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    """Raise if a choice is not known, or has a value that it cannot have.

    Raises
    ------
    ParameterError
        With the nearest name, or the values that are possible.
    """
    for name, value in choices.items():
        if name not in known:
            raise ParameterError(
                f"{where}: there is no choice {name!r}", found=", ".join(known), hint=nearest(name, known)
            )
        if value is not None and get_args(known[name]):
            check_choice(name, value, known[name])


@dataclass(frozen=True)
class Entry:
    """The definition of one name under a convention.

    Attributes
    ----------
    name : str
        The name as it is written.
    text : str
        rankwise's metric, with every parameter that differs from its default.
    population, undefined, without_list, ties, relevance : str, optional
        Choices for this metric only; None: those of the convention.
    note : str, default=""
        Behaviour of the library that is not reproduced.
    refused : str, default=""
        What the library computes under this name, if rankwise has no equivalent: the name then
        raises an error instead of giving another value.
    """

    name: str
    text: str
    population: Population | None = None
    undefined: Undefined | None = None
    without_list: WithoutList | None = None
    ties: Ties | None = None
    relevance: Relevance | None = None
    note: str = ""
    refused: str = ""

    @classmethod
    def read(cls, name: str, given: str | Mapping[str, Any] | Entry) -> Entry:
        """Return the entry of a name, as the author of a convention writes it.

        ``"map(normaliser=relevant)"``, or ``{"measure": …, "population": "both", …}``; without
        ``"measure"`` the name is that of rankwise's measure.
        """
        if isinstance(given, Entry):
            return given
        if isinstance(given, str):
            return cls(name, given)
        if not isinstance(given, Mapping):
            raise ParameterError(
                "a name means a measure as text, or a mapping with 'measure' and choices",
                found=f"{name}: {given!r}"[:120],
            )
        words = ("measure", "note", "refused")
        choices = {key: value for key, value in given.items() if key not in words}
        check_choices(f"measure {name!r}", choices, ENTRY_CHOICES)
        measure, note, refused = (str(given.get(word, "")) for word in words)
        return cls(name, measure or name, note=note, refused=refused, **choices)

    def check(self, convention: str) -> None:
        """Raise if the definition of the name cannot be read, with the name and the convention."""
        if self.refused:
            return
        try:
            several = len(parse_text(self.text)) != 1
        except UsageError as error:
            raise ParameterError(
                f"convention {convention!r}: the measure of {self.name!r} cannot be read",
                found=f"{self.text}: {error.what}",
                hint=error.hint,
            ) from error
        of_users = [name for name in ("population", "undefined", "without_list") if getattr(self, name) is not None]
        if self.name.endswith("@k") and of_users:
            raise ParameterError(
                f"convention {convention!r}: the population must be the same at every cut-off",
                found=f"{self.name}: {', '.join(of_users)}",
            )
        if several:
            raise ParameterError(f"convention {convention!r}: {self.name!r} means several measures", found=self.text)

    def to_dict(self) -> dict[str, str]:
        """Return all values that are set, as plain values."""
        values = {entry.name: getattr(self, entry.name) for entry in fields(self)[2:]}
        return {"measure": self.text} | {name: value for name, value in values.items() if value}

    @property
    def choices(self) -> dict[str, Any]:
        """The choices that differ from those of the convention."""
        return {name: value for name in ENTRY_CHOICES if (value := getattr(self, name)) is not None}

    @cached_property
    def meaning(self) -> str:
        """The measure without cut-offs as text, and ``@k`` where the name is that with one."""
        return str(self.measure @ ()) + ("@k" if self.name.endswith("@k") else "")

    @cached_property
    def measure(self) -> Measure:
        """The measure, without cut-offs unless the text has one.

        Raises
        ------
        MeasureError
            If the name is refused.
        """
        if self.refused:
            raise MeasureError(
                f"what this convention calls {self.text!r} is not computed here",
                found=self.refused,
                hint="rankwise's measures are those of convention='default'",
            )
        return parse(self.text)


def merged(convention: str, inherited: Mapping[str, Entry], given: Mapping[str, Any]) -> dict[str, Entry]:
    """Return the entries of a convention by `key` of the name: inherited ones, changed and added.

    A result has one value of a measure, so that all names of a measure have the same choices: those
    that are given hold for inherited names of the same measure as well.

    Raises
    ------
    ParameterError
        If an entry cannot be read, or two names of one measure have different choices.
    """
    out = dict(inherited)
    chosen: dict[str, Entry] = {}
    for name, what in given.items():
        if not isinstance(name, str):
            raise ParameterError(f"convention {convention!r}: names are text", found=repr(name)[:80])
        before = inherited.get(key(name))
        if isinstance(what, Mapping) and "measure" not in what and before is not None:
            what = {"measure": before.text, **what}
        entry = Entry.read(name, what)
        entry.check(convention)
        other = None if entry.refused else chosen.setdefault(entry.meaning, entry)
        if other is not None and other.choices != entry.choices:
            raise ParameterError(
                f"convention {convention!r}: two names of {entry.text} have different choices",
                found=f"{other.name}: {other.choices or 'none'}; {name}: {entry.choices or 'none'}",
                hint="give both the same",
            )
        out[key(name)] = entry
    for place, entry in out.items():
        other = None if entry.refused else chosen.get(entry.meaning)
        if other is not None and entry.choices != other.choices:
            out[place] = replace(entry, **{name: getattr(other, name) for name in ENTRY_CHOICES})
    return out
