"""Saved comparisons: a folder with ``comparison.json`` and the results that were compared."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from rankwise.core.view import as_json
from rankwise.errors import FileError
from rankwise.results.result import Result
from rankwise.results.saving import load
from rankwise.tables.atomic_files import output_errors, write_text

__all__ = ["HEAD", "folder_names", "is_comparison", "read_comparison", "write_comparison"]

HEAD = "comparison.json"
_RESULTS = "results"
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)", re.IGNORECASE)  # on Windows


def folder_names(systems: Mapping[str, Any] | list[str]) -> dict[str, str]:
    """Return a name of a folder for each system, without what file systems refuse.

    >>> folder_names(["bpr", "a/b", "a:b"])
    {'bpr': 'bpr', 'a/b': 'a_b', 'a:b': 'a_b-2'}
    """
    names: dict[str, str] = {}
    for system in systems:
        plain = re.sub(r"[^\w.-]+", "_", system, flags=re.ASCII)[:60].strip(".") or "system"
        plain = f"_{plain}" if _DEVICE.match(plain) else plain
        taken = {name.lower() for name in names.values()}
        count, name = 1, plain
        while name.lower() in taken:  # some file systems do not tell a from A
            count += 1
            name = f"{plain}-{count}"
        names[system] = name
    return names


def write_comparison(
    folder: Path, content: dict[str, Any], results: Mapping[str, Result]
) -> dict[str, Path]:
    """Write a comparison and its results, the file that names them last; return their folders."""
    paths = {name: folder / _RESULTS / part for name, part in folder_names(results).items()}
    with output_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name, result in results.items():
            result.save(paths[name])
        where = {name: path.relative_to(folder).as_posix() for name, path in paths.items()}
        write_text(folder / HEAD, as_json({**content, "results": where}))
    return paths


def is_comparison(path: Path) -> bool:
    """Return whether a path is a saved comparison."""
    return (path / HEAD).is_file()


def read_comparison(
    folder: Path, schema: Mapping[str, Any]
) -> tuple[pl.DataFrame, pl.DataFrame, dict[str, Any], dict[str, Result]]:
    """Return table, values, settings and results of a saved comparison."""
    path = folder / HEAD
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        rows = [[_value(row[name], kind) for name, kind in schema.items()]
                for row in content["pairs"]]  # fmt: skip
        table = pl.DataFrame(rows, schema=dict(schema), orient="row")
        values = pl.DataFrame([
            {name: value if name == "measure" else _value(value, pl.Float64)
             for name, value in row.items()} for row in content["values"]
        ], infer_schema_length=None)  # fmt: skip
        settings, where = dict(content["settings"]), dict(content["results"])
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError,
            pl.exceptions.PolarsError) as error:  # fmt: skip
        raise FileError(
            "this folder does not hold a saved comparison", where=str(path),
            found=str(error).splitlines()[0] if str(error) else type(error).__name__,
            hint="Comparison.save writes it, and so does rankwise run",
        ) from error  # fmt: skip
    return table, values, settings, {n: load(_inside(folder, p)) for n, p in where.items()}


def _value(value: Any, kind: Any) -> Any:
    """Return a value of JSON, which has None for NaN and text for infinity."""
    if kind != pl.Float64:
        return value
    return math.nan if value is None else float(value)


def _inside(folder: Path, name: str) -> Path:
    """Return a folder of a result; raise if the name leads out of the comparison's folder."""
    path = folder / str(name)
    if not path.resolve().is_relative_to(folder.resolve()):
        raise FileError("a comparison names results outside its folder", where=str(folder / HEAD),
                        found=str(name))  # fmt: skip
    return path
