"""Saved comparisons: one file that names the results in folders beside it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from rankwise.comparison.design import Design
from rankwise.comparison.rows import COLUMNS
from rankwise.core import __version__
from rankwise.core.hashing import json_hash
from rankwise.core.saved_forms import COMPARISON
from rankwise.core.terminal import as_json, float_of
from rankwise.errors import FileError
from rankwise.results.result import Result
from rankwise.results.storage import load
from rankwise.tables.storage import file_hash, output_errors, write_text

HEAD = "comparison.json"


_RESULTS = "results"


_DEVICE = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)", re.IGNORECASE)  # on Windows


def folder_names(systems: Iterable[str]) -> dict[str, str]:
    """Return a folder name for each system, without characters that file systems refuse.

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
            name: {
                "folder": path.relative_to(folder).as_posix(),
                "sha256": file_hash(path / "result.json"),
            }
            for name, path in result_folders(folder, systems).items()
        }
        whole = {
            COMPARISON.key: COMPARISON.version,
            "rankwise": __version__,
            **content,
            "results": where,
        }
        digest = json_hash(json.loads(as_json(whole)))
        write_text(folder / HEAD, as_json({**whole, "sha256": digest}))


def is_comparison(path: Path) -> bool:
    """Return whether a path is a saved comparison."""
    return (path / HEAD).is_file()


def read_comparison(
    folder: Path,
) -> tuple[pl.DataFrame, pl.DataFrame, Design, dict[str, Result]]:
    """Return table, values, design and results of a saved comparison."""
    path = folder / HEAD
    content = _read_head(path)
    try:
        rows = [
            [
                float_of(row[name]) if kind == pl.Float64 else row[name]
                for name, kind in COLUMNS.items()
            ]
            for row in content["pairs"]
        ]
        table = pl.DataFrame(rows, schema=COLUMNS, orient="row")
        values = pl.DataFrame(
            [
                {
                    name: value if name == "metric" else float_of(value)
                    for name, value in row.items()
                }
                for row in content["values"]
            ],
            infer_schema_length=None,
        )
        design = Design.from_dict(content["design"])
        where = {n: (str(r["folder"]), str(r["sha256"])) for n, r in content["results"].items()}
    except (ValueError, LookupError, TypeError, AttributeError, pl.exceptions.PolarsError) as error:
        raise _no_comparison(path, error) from error
    return table, values, design, {n: _result(folder, *found) for n, found in where.items()}


def _read_head(path: Path) -> dict[str, Any]:
    """Return ``comparison.json`` in the current format version; raise if the file was changed."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        version, digest = COMPARISON.version_of(content), content.pop("sha256", None)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise _no_comparison(path, error) from error
    COMPARISON.check(version, str(path), written_by=content.get("rankwise"))
    if digest is None:
        raise _no_comparison(path, KeyError("sha256"))
    if digest != json_hash(content):
        raise _changed(path)
    upgraded: dict[str, Any] = COMPARISON.upgrade(content, version)
    return upgraded


def _no_comparison(path: Path, error: Exception) -> FileError:
    return FileError(
        "this folder does not hold a saved comparison",
        where=str(path),
        found=str(error).splitlines()[0] if str(error) else type(error).__name__,
        hint="Comparison.save writes it, and so does rankwise run",
    )


def _result(folder: Path, name: str, sha256: str) -> Result:
    """Load a result of the comparison's folder; raise if the file was changed since."""
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        raise FileError(
            "a comparison names results outside its folder", where=str(folder / HEAD), found=name
        )
    head = path / "result.json"
    if head.is_file() and file_hash(head) != sha256:
        raise _changed(head)
    return load(path)


def _changed(path: Path) -> FileError:
    return FileError(
        "this file was changed after the comparison was saved",
        where=str(path),
        hint="compare again, and save that",
    )
