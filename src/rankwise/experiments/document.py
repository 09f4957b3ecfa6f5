"""YAML files as plain values with the line of each: a safe reader of YAML 1.2's core schema.

PyYAML's own loader follows YAML 1.1, in which ``no`` is false, ``010`` is 8, ``1e-3`` is text and
``2024-01-01`` a date. Here true and false are the only Booleans, numbers are what they look like,
and everything else is text. Tags, and with them code, are refused. Merge keys (``<<: *base``)
are those of YAML 1.1, and keys of the file that begin with ``x-`` hold what others refer to.

Of the readers of YAML 1.2, ruamel.yaml makes dates of text and keeps tags, and py-yaml12 has
neither lines nor merge keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import yaml
from pydantic import BaseModel, ConfigDict

from rankwise.errors import ConfigError, FileError
from rankwise.tables.formats import local_file

Place: TypeAlias = tuple[str | int, ...]
"""The way to a value: keys of mappings and positions in lists."""


_LARGEST = 5_000_000  # bytes of a file


_MOST = 100_000  # values: aliases of aliases could make any number of them


_DEEPEST = 50


_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}


_NULL = ("", "~", "null", "Null", "NULL")


_INTEGER = re.compile(r"[-+]?[0-9]+")


_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")


_INFINITY = re.compile(r"([-+]?)\.(inf|Inf|INF)")


_UNQUOTED = re.compile(r"\w+(\([^)]*\))?@\[[^]]*\]")
"""A metric at several cut-offs, whose brackets are a list to YAML unless it is quoted."""


_EXTENSION = "x-"


_MERGE = "tag:yaml.org,2002:merge"


_TAGS = {
    f"tag:yaml.org,2002:{name}"
    for name in ("bool", "float", "int", "map", "merge", "null", "seq", "str", "timestamp", "value")
}
"""The tags of plain values in PyYAML; any other tag is explicit, and might run code."""


@dataclass(frozen=True)
class Document:
    """The values of a file, with the line of each."""

    values: Mapping[str, Any]
    lines: Mapping[Place, int]
    name: str
    mistakes: Sequence[tuple[int, Place, str]] = ()
    """Line, place and text of what YAML allows and configurations do not; the rest is read."""

    def line(self, place: Place) -> int:
        """Return the line of a value, or of its innermost existing parent."""
        while place and place not in self.lines:
            place = place[:-1]
        return self.lines.get(place, 1)

    def value(self, place: Place) -> Any:
        """Return the value in a place; None if there is none."""
        value: Any = self.values
        for part in place:
            inside = isinstance(value, dict) and part in value
            if not inside and not (
                isinstance(value, list) and isinstance(part, int) and part < len(value)
            ):
                return None
            value = value[part]
        return value

    def has(self, place: Place) -> bool:
        """Return whether the file says something there."""
        return place in self.lines


def spelled(place: Place) -> str:
    """Format a place as a dotted key path.

    >>> spelled(("evaluation", "metrics", 0))
    'evaluation.metrics[0]'
    """
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
    return text.lstrip(".") or "the file"


def read_document(path: str | Path) -> Document:
    """Read a YAML file (JSON is YAML as well).

    Duplicate keys, tags and keys that are no text are among the ``mistakes`` of the document.

    Raises
    ------
    FileError
        If there is no such file, or it is no text.
    ConfigError
        If it is no YAML, not a mapping of keys to values, or too large to be read.
    """
    name = str(path)
    file = local_file(path)
    try:
        data = file.read_bytes()
    except OSError as error:
        raise FileError("this file cannot be read", where=name, found=error.strerror) from error
    if len(data) > _LARGEST:
        raise FileError(
            "this is too large for a configuration file", where=name, found=f"{len(data):,} bytes"
        )
    try:
        text = data.decode("utf-8-sig")
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except UnicodeDecodeError as error:
        raise FileError("this file is not UTF-8", where=name, found=str(error)) from error
    except yaml.MarkedYAMLError as error:
        line = 1 if error.problem_mark is None else error.problem_mark.line + 1
        problem = " ".join(filter(None, (error.context, error.problem)))
        hint = _syntax_hint((text.splitlines() or [""])[line - 1 :][:1], error.problem or "")
        raise _no_yaml(name, f"line {line}: {problem}{hint}") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise _no_yaml(name, str(error).splitlines()[0]) from error
    if not isinstance(node, yaml.MappingNode):
        raise _no_yaml(name, "line 1: the file holds no keys", "a mapping of keys to values")
    reader = _Reader(name)
    values = {
        key: value
        for key, value in reader.read(node, ()).items()
        if not str(key).startswith(_EXTENSION)
    }
    return Document(values, reader.lines, name, reader.mistakes)


def _syntax_hint(lines: list[str], problem: str) -> str:
    """Return a hint on how to write text that YAML misreads, given the line with the problem."""
    line = lines[0] if lines else ""
    metric = _UNQUOTED.search(line)
    if metric is not None:
        return f'; put the metric in quotation marks: "{metric[0]}"'
    if "\\t" in problem:
        return "; indent with spaces, not with tabs"
    if "cannot start any token" in problem or "mapping values are not allowed" in problem:
        return "; put text with such characters in quotation marks"
    return ""


def _no_yaml(name: str, mistake: str, what: str = "YAML") -> ConfigError:
    return ConfigError(f"this file is not {what}", where=name, mistakes=[mistake])


class _Reader:
    """A converter of YAML nodes to plain values, which records their lines and problems."""

    def __init__(self, name: str) -> None:
        self.lines: dict[Place, int] = {}
        self.mistakes: list[tuple[int, Place, str]] = []
        self._name, self._count = name, 0

    def read(self, node: yaml.Node, place: Place) -> Any:
        """Return the value of a node."""
        self.lines.setdefault(place, _line(node))
        self._count += 1
        if self._count > _MOST or len(place) > _DEEPEST:
            raise self._unreadable(node, place[:5], "too many values, or too deeply nested")
        if node.tag not in _TAGS:
            self._wrong(node, place, f"the tag {node.tag} is refused: values are plain")
        if isinstance(node, yaml.MappingNode):
            return dict(self._items(node, place))
        if isinstance(node, yaml.SequenceNode):
            return [self.read(inner, (*place, at)) for at, inner in enumerate(node.value)]
        return self._scalar(node)

    def _items(self, node: yaml.MappingNode, place: Place) -> Iterator[tuple[str | int, Any]]:
        """Yield written keys and values, then the keys and values that merge keys add."""
        merged: dict[str | int, tuple[yaml.Node, yaml.Node]] = {}
        written: set[str | int] = set()
        for key_node, value_node in node.value:
            if key_node.tag == _MERGE:
                for name, pair in self._merged(value_node, (*place, "<<"), 0):
                    merged.setdefault(name, pair)  # of several bases, the first one counts
                continue
            key = self._key(key_node, place)
            if key is None:
                continue
            if key in written:
                self._wrong(key_node, (*place, key), "duplicate key")
                continue
            written.add(key)
            self.lines[*place, key] = _line(key_node)
            yield key, self.read(value_node, (*place, key))
        for name, (key_node, value_node) in merged.items():
            if name not in written:
                self.lines[*place, name] = _line(key_node)
                yield name, self.read(value_node, (*place, name))

    def _merged(
        self, base: yaml.Node, place: Place, depth: int
    ) -> Iterator[tuple[str | int, tuple[yaml.Node, yaml.Node]]]:
        """Yield the keys and nodes of a merge key's base: a mapping, or a list of mappings."""
        if depth > _DEEPEST:
            raise self._unreadable(base, place, "a merge key that contains itself")
        if isinstance(base, yaml.SequenceNode):
            for inner in base.value:
                yield from self._merged(inner, place, depth + 1)
            return
        if not isinstance(base, yaml.MappingNode):
            self._wrong(
                base,
                place,
                "a merge key needs a mapping; write <<: *name, and name: &name {…} before",
            )
            return
        inherited = []
        for key_node, value_node in base.value:
            if key_node.tag == _MERGE:
                inherited.append(value_node)
            elif (key := self._key(key_node, place)) is not None:
                yield key, (key_node, value_node)
        for value_node in inherited:
            yield from self._merged(value_node, place, depth + 1)

    def _key(self, node: yaml.Node, place: Place) -> str | int | None:
        """Return a key as a value; record a mistake and return None if the key is not text."""
        if not isinstance(node, yaml.ScalarNode) or node.tag not in _TAGS:
            self._wrong(node, place, "a key is not text")
            return None
        key = self._scalar(node)
        return key if isinstance(key, str | int) and not isinstance(key, bool) else str(node.value)

    def _scalar(self, node: yaml.Node) -> Any:
        assert isinstance(node, yaml.ScalarNode)
        text = str(node.value)
        if node.style is not None:  # quoted, or a block of text
            return text
        if text in _BOOL:
            return _BOOL[text]
        if text in _NULL:
            return None
        if _INTEGER.fullmatch(text) and len(text) < 40:
            return int(text)
        if _FLOAT.fullmatch(text):
            return float(text)
        infinity = _INFINITY.fullmatch(text)
        return text if infinity is None else float(f"{infinity[1]}inf")

    def _wrong(self, node: yaml.Node, place: Place, what: str) -> None:
        self.mistakes.append((_line(node), place, what))

    def _unreadable(self, node: yaml.Node, place: Place, what: str) -> ConfigError:
        mistake = f"line {_line(node)}, {spelled(place)}: {what}"
        return ConfigError("this file cannot be read", where=self._name, mistakes=[mistake])


def _line(node: yaml.Node) -> int:
    line: int = node.start_mark.line
    return line + 1


class Section(BaseModel):
    """A section of a configuration, which has no other keys than its own."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
