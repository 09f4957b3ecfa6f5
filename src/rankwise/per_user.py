"""Tables of users' values as results: from elsewhere, or from ``rankwise evaluate --per-user``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from rankwise.errors import ColumnError, FileError, RankwiseError
from rankwise.io.columns import ROLES, plain_name
from rankwise.io.files import read_file
from rankwise.io.tables import from_arrow, typed, whole
from rankwise.measures.parsing import parse
from rankwise.result import Result

if TYPE_CHECKING:
    from rankwise.measures.measure import Measure

__all__ = ["from_per_user", "open_result"]

_ABOUT = ("n_relevant", "list_length")


def from_per_user(source: Any) -> Result:
    """Take a table with a row a user and a column a measure for a result.

    Parameters
    ----------
    source : table or path
        A column of users, and columns of numbers; NaN or null: no value. Columns that are called
        like measures (``ndcg@10``) have a direction, others have none.

    Raises
    ------
    ColumnError
        If there are no users, one twice, or no numbers.

    Examples
    --------
    >>> result = from_per_user(pl.DataFrame({"user": [1, 2], "ndcg@10": [0.5, 1.0]}))
    >>> result["ndcg@10"]
    0.75
    """
    frame, where = _read(source)
    users = [name for name in frame.columns if plain_name(name) in ROLES["users"]["user"]]
    if len(users) != 1:
        raise ColumnError(
            "a table of users' values has one column of users",
            where=where, found=", ".join(map(repr, users)) or f"columns {frame.columns}",
        )  # fmt: skip
    frame = frame.rename({users[0]: "user"})
    if frame["user"].null_count() or frame["user"].n_unique() < len(frame):
        raise ColumnError("a user is null, or stands twice", where=where)
    cells: dict[str, str] = {}
    measures = []
    for name, kind in frame.schema.items():
        if name in ("user", "label", *_ABOUT) or not (kind.is_numeric() or kind == pl.Null):
            continue
        measure = _measure(name)
        cell = name if measure is None else measure.cells[0]
        if cell in cells.values():
            raise ColumnError(f"two columns are {cell}", where=where, found=repr(name))
        cells[name] = cell
        measures += [] if measure is None else [measure]
    if not cells:
        raise ColumnError("there is no column of numbers", where=where,
                          found=f"columns {', '.join(frame.columns)}")  # fmt: skip
    numbers = [pl.col(old).cast(pl.Float64).fill_null(float("nan")).alias(new)
               for old, new in cells.items()]  # fmt: skip
    about = [
        pl.col(n).cast(pl.Int64) if n in frame.columns and frame.schema[n].is_numeric()
        else pl.lit(None, pl.Int64).alias(n)
        for n in _ABOUT
    ]  # fmt: skip
    per_user = frame.sort("user").select("user", *about, *numbers)
    values = {cell: _mean(per_user[cell]) for cell in cells.values()}
    provenance = {"settings": {"measures": [str(measure) for measure in measures]},
                  "inputs": {"per user": {"source": where}}}  # fmt: skip
    return Result(tuple(measures), values, per_user, {"users": len(per_user)}, None, provenance)


def _measure(name: str) -> Measure | None:
    """Return the measure that a column is called like, if it has one value."""
    try:
        measure = parse(name)
    except RankwiseError:
        return None
    return measure if len(measure.cells) == 1 else None


def _mean(column: pl.Series) -> float:
    mean = column.drop_nans().mean()
    return mean if isinstance(mean, float) else float("nan")


def _read(source: Any) -> tuple[pl.DataFrame, str]:
    if not isinstance(source, str | Path):
        return from_arrow(source, "per user"), "per user"
    path = Path(source)
    if path.suffix != ".json":
        raw = read_file(path)
        frame = typed(raw.frame, [n for n in raw.frame.columns if _is_value(n)])
        users = [name for name in frame.columns if not _is_value(name)]
        return whole(frame, users) if raw.is_text else frame, raw.name
    try:
        return pl.DataFrame(json.loads(path.read_text(encoding="utf-8"))), str(path)
    except (OSError, ValueError, TypeError, pl.exceptions.PolarsError) as error:
        raise FileError("this is no table of users' values", where=str(path),
                        found=str(error).splitlines()[0]) from error  # fmt: skip


def _is_value(name: str) -> bool:
    return plain_name(name) not in ROLES["users"]["user"]


def open_result(path: str | Path) -> Result:
    """Open a saved result, by its folder or its ``result.json``, or a table of users' values."""
    from rankwise.loading import load

    own = Path(path)
    if own.is_dir():
        return load(own)
    if own.name == "result.json":
        return load(own.parent)
    return from_per_user(own)
