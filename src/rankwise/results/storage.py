"""Results saved in folders, and read again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from rankwise.core.arguments import check_path
from rankwise.core.kernels import check_not_forked
from rankwise.core.terminal import float_of
from rankwise.errors import (
    FileError,
    UsageError,
)
from rankwise.metrics.base import parse_all
from rankwise.results.locations import loaded_inputs
from rankwise.results.per_user import from_per_user
from rankwise.results.result import Result
from rankwise.results.reuse import saved_uses
from rankwise.results.shipped import is_shipped, read_shipped, refuse_missing_pointer
from rankwise.results.values import Values
from rankwise.tables.storage import read_folder


def load(folder: str | Path) -> Result:
    """Read a result that `Result.save` wrote.

    Parameters
    ----------
    folder : str or Path
        The folder.

    Returns
    -------
    Result

    Raises
    ------
    FileError
        If the folder holds no result, one of a version that cannot be read, or one whose files
        were changed after it was saved.

    Examples
    --------
    >>> import tempfile
    >>> import rankwise as rw
    >>> result = rw.evaluate({"ann": [1, 2]}, {"ann": {2}}, "mrr@2")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rw.load(result.save(folder + "/out"))["mrr@2"]
    0.5
    """
    check_not_forked()
    path = check_path("folder", folder)
    data, frames = read_folder(path)
    try:
        slices = data["slices"]
        asked = data["provenance"]["settings"]["metrics"]
        return Result(
            metrics=parse_all(asked) if asked else (),  # columns with names of their own have none
            values=Values(_numbers(data["values"])),
            per_user=frames["per_user"],
            counts=data["counts"],
            slices=None if slices is None else _slices(slices),
            provenance=data["provenance"]
            | {"inputs": loaded_inputs(data["provenance"], path)}
            | saved_uses(path, data["provenance"], frames["per_user"]),
            diagnostics={name: _numbers(row) for name, row in data["diagnostics"].items()},
            replicates=frames.get("replicates"),
            sliced=frames.get("sliced"),
            kinds=data["kinds"],
        )
    except UsageError as error:
        raise FileError(
            "a metric of this saved result is not known here",
            where=str(path),
            found=error.what,
            hint="import the package that defines it",
        ) from error
    except (LookupError, TypeError, ValueError, AttributeError, pl.exceptions.PolarsError) as error:
        raise FileError(
            "this saved result lacks a part", where=str(path), found=f"{error!r}"
        ) from error


def _numbers(row: dict[str, Any]) -> dict[str, float]:
    return {name: float_of(value) for name, value in row.items()}


def _slices(rows: list[dict[str, Any]]) -> pl.DataFrame:
    head = {
        "by": pl.String,
        "group": pl.String,
        "users": pl.Int64,
        "requests": pl.Int64,
        "label": pl.String,
    }
    schema = {name: head.get(name, pl.Float64) for name in rows[0]}
    values = [{name: row.pop(name) for name in head if name in row} | _numbers(row) for row in rows]
    return pl.DataFrame(values, schema=schema)


def open_result(path: str | Path) -> Result:
    """Return a saved result, a table of per-user values, or the result that a pointer names.

    A saved result is given by its folder or its ``result.json``, a pointer by the file that
    ``rankwise decide --record`` moves.
    """
    path = check_path("path", path)
    if is_shipped(path):
        path = read_shipped(path).checked_result()
    if path.is_dir():
        return load(path)
    if path.name == "result.json":
        return load(path.parent)
    refuse_missing_pointer(path)
    return from_per_user(path)
