"""The mistakes of a configuration: all of them at once, each with its line and its path."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, TypeAlias, TypeVar

from pydantic import ValidationError

from rankwise.errors import ConfigError, RankwiseError, nearest
from rankwise.experiments.document import Document, Place, spelled
from rankwise.messages import Parameter, Reference

_T = TypeVar("_T")
_V = TypeVar("_V")
_Spell: TypeAlias = Callable[[Parameter | Reference, str | None], str]


AS_BOOLEAN = {"yes": "true", "on": "true", "y": "true", "no": "false", "off": "false", "n": "false"}
"""What YAML 1.1 reads as a boolean, and YAML 1.2 as text."""


def _works(make: Callable[[], object]) -> bool:
    """Return whether a function returns; its mistakes are not kept."""
    try:
        make()
    except (RankwiseError, TypeError, ValueError):
        return False
    return True


class ConfigErrors:
    """The mistakes found so far, each with its line.

    ``spell`` writes what messages name, as the keys of the section of a mistake.
    """

    def __init__(self, document: Document, spell: _Spell) -> None:
        self.document = document
        self._spell = spell
        self._mistakes: dict[tuple[int, str], None] = {}
        self._invalid: list[Place] = []
        for line, place, what in document.mistakes:
            self._keep(place, what, None, line)

    def add(self, place: Place, what: str, hint: str | None = None) -> None:
        """Add a mistake, unless a value in the same place is already invalid."""
        if not self.is_wrong(place):
            self._keep(place, what, hint)

    def is_wrong(self, place: Place) -> bool:
        """Return whether the value, a value inside or a value around the place is invalid."""
        return any(
            other[: len(place)] == place or place[: len(other)] == other for other in self._invalid
        )

    def says(self, place: Place) -> bool:
        """Return whether the file says something there, which may be wrong and left out."""
        return self.document.has(place) and self.document.value(place) is not None

    def _keep(self, place: Place, what: str, hint: str | None, line: int | None = None) -> None:
        line = self.document.line(place) if line is None else line
        text = f"line {line}, {spelled(place)}: {what}" + (f"; {hint}" if hint else "")
        self._mistakes[line, text] = None

    def tried(self, place: Place, make: Callable[[], _T]) -> _T | None:
        """Return the result of a function, or None after adding the mistake that is raised."""
        try:
            return make()
        except RankwiseError as error:
            section = str(place[0]) if place else None
            told = error.spelled(lambda named: self._spell(named, section))
            self.add(place, told.what + (f" ({told.found})" if told.found else ""), told.hint)
        except (TypeError, ValueError) as error:
            self.add(place, str(error))
        return None

    def tried_together(
        self,
        place: Place,
        options: Mapping[str, _V],
        make: Callable[[Mapping[str, _V]], _T],
        places: Mapping[str, Place] | None = None,
    ) -> _T | None:
        """Return the result for options that are tried one by one, then together.

        An option that is wrong alone, and beside those that are right, is a mistake with its own
        path and is left out, so that all others are checked as well. ``places`` has the path of
        options that stand elsewhere.
        """
        right = {
            name: value for name, value in options.items() if _works(partial(make, {name: value}))
        }
        for name, value in options.items():
            if name in right:
                continue
            if _works(partial(make, {**right, name: value})):  # as `cross` does beside `by`
                right[name] = value
                continue
            self.tried((places or {}).get(name, (*place, name)), partial(make, {name: value}))
        return self.tried(place, lambda: make(right))

    def __len__(self) -> int:
        return len(self._mistakes)

    def add_pydantic(self, error: ValidationError, schema: dict[str, Any]) -> list[Place]:
        """Keep the mistakes that pydantic found, and return their places, the innermost only.

        Alternatives of one value are one mistake.
        """
        by_place: dict[Place, list[Any]] = {}
        for problem in error.errors(include_url=False):
            by_place.setdefault(self._place(problem), []).append(problem)
        inner = [
            place
            for place in by_place
            if not any(other != place and other[: len(place)] == place for other in by_place)
        ]
        for place in inner:
            self._keep(place, *_describe(place, by_place[place], schema))
        self._invalid += inner
        return inner

    def _place(self, problem: Any) -> Place:
        """Return where the file has the problem, without the names of pydantic's alternatives."""
        place: Place = ()
        for part in problem["loc"]:
            if self.document.has((*place, part)):
                place = (*place, part)
        missing = problem["type"] == "missing"
        return (*place, problem["loc"][-1]) if missing else place

    def check(self) -> None:
        """Raise if there are any.

        Raises
        ------
        ConfigError
            With every mistake, in the order of the lines.
        """
        if self._mistakes:
            lines = [text for _, text in sorted(self._mistakes)]
            count = f"{len(lines)} mistakes" if len(lines) > 1 else "a mistake"
            raise ConfigError(
                f"this configuration has {count}", where=self.document.name, mistakes=lines
            )


def _describe(place: Place, problems: list[Any], schema: dict[str, Any]) -> tuple[str, str | None]:
    """Describe the problems in one place, with a suggestion."""
    kinds = {problem["type"] for problem in problems}
    first = problems[0]
    if kinds == {"extra_forbidden"}:
        keys = _keys(schema, place[:-1])
        few = f"known: {', '.join(sorted(keys))}" if 0 < len(keys) <= 12 else None
        return "there is no such key", nearest(str(place[-1]), keys) or few
    if kinds == {"missing"}:
        return "this key is missing", None
    if kinds == {"value_error"}:  # our own
        return str(first["ctx"]["error"]), None
    value = repr(first["input"])
    value = value if len(value) < 60 else value[:57] + "…"
    meant = AS_BOOLEAN.get(first["input"].lower()) if isinstance(first["input"], str) else None
    if meant is not None and "bool_type" in kinds:
        return f"{value} is text, not a boolean", f"write {meant}"
    if kinds == {"literal_error"}:
        expected = first["ctx"]["expected"]
        choices = [choice.strip("' ") for choice in expected.replace(" or ", ", ").split(",")]
        return f"{value} is none of {', '.join(choices)}", nearest(str(first["input"]), choices)
    wants = dict.fromkeys(problem["msg"].removeprefix("Input should be ") for problem in problems)
    return f"{value} is not {' or '.join(wants)}", None


def _keys(schema: dict[str, Any], place: Place) -> set[str]:
    """Return the keys that the schema knows in a place."""
    here = list(_plain(schema, schema))
    for part in place:
        inner = []
        for node in here:
            properties = node.get("properties", {})
            if part in properties:
                inner.append(properties[part])
            elif isinstance(node.get("additionalProperties"), dict) and not properties:
                inner.append(node["additionalProperties"])
            elif isinstance(part, int) and "items" in node:
                inner.append(node["items"])
            elif isinstance(part, int):  # what may be a list of one is written without it
                inner.append(node)
        here = [plain for node in inner for plain in _plain(node, schema)]
    return {key for node in here for key in node.get("properties", {})}


def _plain(node: dict[str, Any], schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Return a node of the schema, or its alternatives, with references followed."""
    if "$ref" in node:
        yield from _plain(schema["$defs"][node["$ref"].rsplit("/", 1)[1]], schema)
    alternatives = [*node.get("anyOf", ()), *node.get("oneOf", ())]
    for other in alternatives:
        yield from _plain(other, schema)
    if "$ref" not in node and not alternatives:
        yield node
