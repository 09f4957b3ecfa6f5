"""The language of a convention: its names of metrics, and its defaults of their parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from rankwise.convention.entry import Entry
from rankwise.measures import registry
from rankwise.measures.measure import Measure
from rankwise.measures.parsing import made_of, make
from rankwise.measures.registry import key

__all__ = ["ConventionLanguage"]

_CUTOFFS = r"\s*\d+\s*|\s*\[\s*\d+(\s*,\s*\d+)*\s*\]\s*"
_NOTHING_DIFFERS = Entry("", "")


@dataclass(frozen=True)
class ConventionLanguage:
    """What names mean, from the entries of a convention by `key` of the name."""

    entries: Mapping[str, Entry]

    def knows(self, name: str) -> bool:
        """Return whether a name means a measure."""
        return key(name) in self.entries or registry.knows(name)

    def find(self, name: str) -> type[Any]:
        """Return the class of the measure that a name means."""
        entry = self._entry(name)
        return registry.find(name) if entry is None else type(entry.measure)

    def make(self, name: str, given: dict[str, Any]) -> Measure:
        """Return the measure that a name with these parameters means."""
        entry = self._entry(name)
        if entry is None:
            return self._with_parts(registry.find(name), given)
        read = self._read_names(type(entry.measure), given)
        return _changed(entry.measure, read) if given else entry.measure

    def spelled(self, text: str) -> Measure | None:
        """Return the measure of a name as the library spells it, also ``11pt_avg@5``.

        None if there is no entry of this name.
        """
        name, at, cutoffs = text.partition("@")
        entry = self.entries.get(key(name.strip()))
        if entry is None or (at and not re.fullmatch(_CUTOFFS, cutoffs)):
            return None
        numbers = [int(number) for number in re.findall(r"\d+", cutoffs)]
        return entry.measure @ numbers if at else entry.measure

    def named(self, name: str) -> Entry | None:
        """Return the entry of a name, also of one that is refused; None if there is none."""
        return self._entry(name.partition("@")[0].strip())

    def entry_of(self, measure: Measure) -> Entry:
        """Return the entry with the choices that hold for a measure.

        Choices of measures with a cut-off stand under ``"rr@k"``, if they differ.
        """
        text = str(measure @ ())
        for ending in ("@k", "") if measure.k else ("",):
            found = self._of_measure.get(text + ending) or self._entry(measure.name, ending)
            if found is not None:
                return found
        return _NOTHING_DIFFERS

    @cached_property
    def _of_measure(self) -> dict[str, Entry]:
        """The entry of every measure that a name means, without cut-offs; ``@k`` as in names."""
        return {
            str(entry.measure @ ()) + ("@k" if name.endswith("@k") else ""): entry
            for name, entry in reversed([*self.entries.items()])
            if not entry.refused
        }

    def _entry(self, name: str, ending: str = "") -> Entry | None:
        """Return the entry of a name, or of another name of the same measure.

        A library may use a name of this measure for another one: its entry does not count.
        """
        entry = self.entries.get(key(name) + ending)
        if entry is not None or not registry.knows(name):
            return entry
        cls = registry.find(name)
        if key(cls.name) + ending in self.entries:
            return self.entries[key(cls.name) + ending]
        entries = [self.entries.get(key(other) + ending) for other in cls.aliases]
        same = (e for e in entries if e and not e.refused and type(e.measure) is cls)
        return next(same, None)

    def _with_parts(self, cls: type[Measure], given: dict[str, Any]) -> Measure:
        """Return a measure whose default parts are those of this convention."""
        parts = (
            {}
            if cls.parts_as_written
            else {
                field.name: self._read_part(field.default)
                for field in fields(cls)
                if field.name not in given and made_of(field.default)
            }
        )
        changed: Measure = make(cls, {**parts, **self._read_names(cls, given)})
        return changed

    def _read_names(self, cls: type[Measure], given: dict[str, Any]) -> dict[str, Any]:
        """Return parameters in which bare names of measures are read in this language."""
        if cls.parts_as_written:
            return given
        parts = {field.name for field in fields(cls) if made_of(field.default)}
        return {n: self._read_name(value) if n in parts else value for n, value in given.items()}

    def _read_name(self, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(self._read_name(one) for one in value)
        return self.make(value, {}) if isinstance(value, str) and self.knows(value) else value

    def _read_part(self, default: Any) -> Any:
        if isinstance(default, tuple):
            return tuple(self._read_part(part) for part in default)
        return self.make(default.name, dict(default.changed))


def _changed(measure: Measure, given: dict[str, Any]) -> Measure:
    """Return a measure with some parameters changed, or those of the measure inside it."""
    known = {field.name for field in fields(measure)}
    values = dict(measure.changed)
    if not known >= given.keys():
        for name, part in measure.parameters.items():
            if isinstance(part, Measure) and {f.name for f in fields(part)} >= given.keys():
                return _changed(measure, {name: _changed(part, given)})
    made: Measure = make(type(measure), values | given)
    return made @ measure.k if measure.k else made
