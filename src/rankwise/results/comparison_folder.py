"""Saved comparisons: a folder with ``comparison.json`` and the results that were compared."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from rankwise.core.view import as_json, float_of
from rankwise.errors import FileError
from rankwise.results.result import Result
from rankwise.results.saving import load
from rankwise.tables.atomic_files import output_errors, write_text
from rankwise.tables.on_disk import file_hash, json_hash

__all__ = [
    "HEAD",
    "folder_names",
    "is_comparison",
    "read_comparison",
    "result_folders",
    "write_comparison",
    "write_head",
]

HEAD = "comparison.json"
_RESULTS = "results"
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)", re.IGNORECASE)  # on Windows


def folder_names(systems: Iterable[str]) -> dict[str, str]:
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


def result_folders(folder: Path, systems: Iterable[str]) -> dict[str, Path]:
    """Return where the result of each system lies beside its comparison."""
    return {name: folder / _RESULTS / part for name, part in folder_names(systems).items()}


def write_comparison(folder: Path, content: dict[str, Any], results: Mapping[str, Result]) -> None:
    """Write a comparison and its results, the file that names them last."""
    with output_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / HEAD).unlink(missing_ok=True)  # until all results are there it would be of others
        for name, path in result_folders(folder, results).items():
            results[name].save(path)
    write_head(folder, content, results)


def write_head(folder: Path, content: dict[str, Any], systems: Iterable[str]) -> None:
    """Write a comparison beside the results of its systems, which lie in `result_folders`."""
    with output_errors(folder):
        where = {
            name: {"folder": path.relative_to(folder).as_posix(), "sha256": file_hash(path / "result.json")}
            for name, path in result_folders(folder, systems).items()
        }
        whole = {**content, "results": where}
        digest = json_hash(json.loads(as_json(whole)))
        write_text(folder / HEAD, as_json({**whole, "sha256": digest}))


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
        rows = [
            [float_of(row[name]) if kind == pl.Float64 else row[name] for name, kind in schema.items()]
            for row in content["pairs"]
        ]
        table = pl.DataFrame(rows, schema=dict(schema), orient="row")
        values = pl.DataFrame(
            [
                {name: value if name == "measure" else float_of(value) for name, value in row.items()}
                for row in content["values"]
            ],
            infer_schema_length=None,
        )
        settings = dict(content["settings"])
        where = {n: (str(r["folder"]), str(r["sha256"])) for n, r in content["results"].items()}
        digest = content.pop("sha256", None)
    except (
        OSError,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        RecursionError,
        pl.exceptions.PolarsError,
    ) as error:
        raise FileError(
            "this folder does not hold a saved comparison",
            where=str(path),
            found=str(error).splitlines()[0] if str(error) else type(error).__name__,
            hint="Comparison.save writes it, and so does rankwise run",
        ) from error
    if digest != json_hash(content):
        raise _changed(path)
    return table, values, settings, {n: _result(folder, *found) for n, found in where.items()}


def _result(folder: Path, name: str, sha256: str) -> Result:
    """Return a result, if it is the one that was compared."""
    path = _inside(folder, name)
    head = path / "result.json"
    if head.is_file() and file_hash(head) != sha256:
        raise _changed(head)
    return load(path)


def _changed(path: Path) -> FileError:
    return FileError(
        "this file was changed after the comparison was saved", where=str(path), hint="compare again, and save that"
    )


def _inside(folder: Path, name: str) -> Path:
    """Return a folder of a result; raise if the name leads out of the comparison's folder."""
    path = folder / str(name)
    if not path.resolve().is_relative_to(folder.resolve()):
        raise FileError("a comparison names results outside its folder", where=str(folder / HEAD), found=str(name))
    return path
