"""Reading results that `Result.save` wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl

from rankwise.errors import FileError
from rankwise.measures.read import parse_all
from rankwise.results.result import SCHEMA_VERSION, Result

__all__ = ["load"]


def load(folder: str | Path) -> Result:
    """Read a result that `Result.save` wrote.

    Raises
    ------
    FileError
        If the folder holds no result, or one of another schema version.

    Examples
    --------
    >>> import tempfile
    >>> import rankwise as rw
    >>> result = rw.evaluate({"ann": [1, 2]}, {"ann": {2}}, "mrr@2")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rw.load(result.save(folder + "/out"))["mrr@2"]
    0.5
    """
    path = Path(folder)
    try:
        data = json.loads((path / "result.json").read_text(encoding="utf-8"))
        version = data["schema_version"]
        if version != SCHEMA_VERSION:
            raise FileError(
                "this result was saved by another version of rankwise",
                where=str(path),
                found=f"schema {version}, this version reads {SCHEMA_VERSION}",
            )
        per_user = pl.read_parquet(path / "per_user.parquet")
        slices = data["slices"]
        measures = parse_all(data["provenance"]["settings"]["measures"])
        replicates = path / "replicates.parquet"
        return Result(
            measures=measures,
            values=_with_nan(data["values"]),
            per_user=per_user,
            counts=data["counts"],
            slices=None if slices is None else _slices(slices),
            provenance=data["provenance"],
            diagnostics={name: _with_nan(row) for name, row in data["diagnostics"].items()},
            replicates=pl.read_parquet(replicates) if replicates.is_file() else None,
            kinds=data.get("kinds") or {c: m.value_kind for m in measures for c in m.cells},
        )
    except (OSError, ValueError, KeyError, TypeError, pl.exceptions.PolarsError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError(
            "this folder does not hold a saved result",
            where=str(path),
            found=str(error).splitlines()[0] if str(error) else type(error).__name__,
            hint="Result.save writes result.json and per_user.parquet",
        ) from error


def _with_nan(row: dict[str, float | None]) -> dict[str, float]:
    """Return a row in which None, which JSON holds for numbers that are not finite, is NaN."""
    return {name: float("nan") if value is None else value for name, value in row.items()}


def _slices(rows: list[dict[str, Any]]) -> pl.DataFrame:
    head = {"by": pl.String, "group": pl.String, "users": pl.Int64, "label": pl.String}
    schema = {name: head.get(name, pl.Float64) for name in rows[0]}
    frame = pl.DataFrame(rows, schema=schema)
    return frame.with_columns(pl.exclude(*head).fill_null(float("nan")))
