"""The reference of configuration files: every section and key, from the JSON Schema."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeAlias

from reference import heading

__all__ = ["SCHEMA", "write_keys"]

SCHEMA = Path(__file__).parents[1] / "config.schema.json"
"""The schema that ``rankwise check --schema`` prints."""

Schema: TypeAlias = dict[str, Any]

_BEGIN = """
**You need** a key of a :doc:`configuration file </config>`. **You get** its values, default and meaning. **Time**
1 minute.

``rankwise check FILE`` checks a file against this schema, and names the line of every mistake. A key without a default
is required, or unused until it is set.
"""


def write_keys(path: Path) -> None:
    """Write the sections of a configuration file and their keys into one page."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    sections = schema["$defs"]
    parts = [heading("Keys of configuration files", "="), _BEGIN]
    parts += [heading("Sections"), *_table(schema["properties"])]
    for name in sorted(sections):
        section = sections[name]
        if properties := section.get("properties"):
            about = _text(section.get("description", ""))
            parts += [f".. _config-{name.lower()}:", "", heading(name), "", about]
            parts += _table(properties)
    path.write_text("\n".join(parts) + "\n", encoding="utf-8")


def _table(properties: Schema) -> list[str]:
    """Return a table of keys with their values, default and meaning."""
    lines = ["", ".. list-table::", "   :header-rows: 1", "   :widths: 20 25 15 40", ""]
    lines += _cells(["key", "values", "default", "meaning"])
    for key, schema in properties.items():
        default = schema.get("default")
        shown = "" if default is None else f"``{json.dumps(default, ensure_ascii=False)}``"
        described = _text(schema.get("description", ""))
        lines += _cells([f"``{key}``", _values(schema), shown, described])
    return [*lines, ""]


def _cells(cells: Iterable[str]) -> list[str]:
    return [f"   {mark} - {cell}".rstrip() for mark, cell in zip("*   ", cells, strict=True)]


def _values(schema: Schema) -> str:
    """Return the values that a key takes, in words, with links to its sections."""
    if "anyOf" in schema:
        kinds = dict.fromkeys(
            _values(each) for each in schema["anyOf"] if each.get("type") != "null"
        )
        return " or ".join(filter(None, kinds))
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f":ref:`{name} <config-{name.lower()}>`"
    if "const" in schema:
        return f"``{schema['const']}``"
    if "enum" in schema:
        return ", ".join(f"``{value}``" for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of: {_values(schema.get('items', {}))}".removesuffix(": ")
    if schema.get("type") == "object":
        inner = schema.get("additionalProperties")
        return f"mapping to: {_values(inner)}" if isinstance(inner, dict) else "mapping"
    kind = str(schema.get("type", ""))
    return {"string": "text", "boolean": "true or false"}.get(kind, kind)


def _text(description: str) -> str:
    """Return a description in one line; names of Python in it are links already."""
    return re.sub(r"\s+", " ", description).replace("*", r"\*")
