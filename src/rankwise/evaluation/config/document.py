"""A YAML file as plain values, with the line of each: a safe reader of YAML 1.2's core schema.

PyYAML's own loader follows YAML 1.1, in which ``no`` is false, ``010`` is 8, ``1e-3`` is text and
``2024-01-01`` a date. Here true and false are the only Booleans, numbers are what they look like,
and everything else is text. Tags, and with them code, are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from rankwise.errors import ConfigError, FileError

__all__ = ["Document", "Place", "read_document", "spelled"]

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

    def line(self, place: Place) -> int:
        """Return the line of a value, or of its innermost existing parent."""
        while place and place not in self.lines:
            place = place[:-1]
        return self.lines.get(place, 1)

    def has(self, place: Place) -> bool:
        """Return whether the file says something there."""
        return place in self.lines


def spelled(place: Place) -> str:
    """Return a place as readers write it.

    >>> spelled(("evaluation", "metrics", 0))
    'evaluation.metrics[0]'
    """
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
    return text.lstrip(".") or "the file"


def read_document(path: str | Path) -> Document:
    """Read a YAML file (JSON is YAML as well).

    Raises
    ------
    FileError
        If there is no such file, or it is no text.
    ConfigError
        If it is no YAML, or not a mapping of keys to values.
    """
    name = str(path)
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise FileError("this file cannot be read", where=name, found=error.strerror) from error
    if len(data) > _LARGEST:
        raise FileError("this is too large for a configuration file", where=name, found=f"{len(data):,} bytes")
    try:
        node = yaml.compose(data.decode("utf-8-sig"), Loader=yaml.SafeLoader)
    except UnicodeDecodeError as error:
        raise FileError("this file is not UTF-8", where=name, found=str(error)) from error
    except yaml.MarkedYAMLError as error:
        line = 1 if error.problem_mark is None else error.problem_mark.line + 1
        said = " ".join(filter(None, (error.context, error.problem)))
        raise _no_yaml(name, f"line {line}: {said}") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise _no_yaml(name, str(error).splitlines()[0]) from error
    if not isinstance(node, yaml.MappingNode):
        raise _no_yaml(name, "line 1: the file holds no keys", "a mapping of keys to values")
    reader = _Reader(name)
    values = reader.read(node, ())
    return Document(values, reader.lines, name)


def _no_yaml(name: str, mistake: str, what: str = "YAML") -> ConfigError:
    return ConfigError(f"this file is not {what}", where=name, mistakes=[mistake])


class _Reader:
    """Makes plain values of nodes, and remembers where each stood."""

    def __init__(self, name: str) -> None:
        self.lines: dict[Place, int] = {}
        self._name, self._count = name, 0

    def read(self, node: yaml.Node, place: Place) -> Any:
        """Return the value of a node."""
        self.lines.setdefault(place, node.start_mark.line + 1)
        self._count += 1
        if self._count > _MOST or len(place) > _DEEPEST:
            raise self._wrong(node, place[:5], "too many values, or too deeply nested")
        if node.tag not in _TAGS:
            raise self._wrong(node, place, f"the tag {node.tag} is refused: values are plain")
        if isinstance(node, yaml.MappingNode):
            return dict(self._items(node, place))
        if isinstance(node, yaml.SequenceNode):
            return [self.read(inner, (*place, at)) for at, inner in enumerate(node.value)]
        return self._scalar(node, place)

    def _items(self, node: yaml.MappingNode, place: Place) -> Iterator[tuple[str | int, Any]]:
        seen = set()
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise self._wrong(key_node, place, "a key is not text")
            key = self._scalar(key_node, place)
            if not isinstance(key, str | int) or isinstance(key, bool):
                key = str(key_node.value)
            if key in seen:
                raise self._wrong(key_node, (*place, key), "duplicate key")
            seen.add(key)
            self.lines[*place, key] = key_node.start_mark.line + 1
            yield key, self.read(value_node, (*place, key))

    def _scalar(self, node: yaml.Node, place: Place) -> Any:
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

    def _wrong(self, node: yaml.Node, place: Place, what: str) -> ConfigError:
        line = node.start_mark.line + 1
        return ConfigError(
            "this file cannot be read", where=self._name, mistakes=[f"line {line}, {spelled(place)}: {what}"]
        )
