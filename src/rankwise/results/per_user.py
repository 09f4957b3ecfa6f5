"""Results from tables of per-user values, of other tools or ``rankwise evaluate --per-user``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from rankwise.core.arguments import check_path
from rankwise.errors import ColumnError, FileError, RankwiseError
from rankwise.measures.measure import Measure, ValueKind
from rankwise.measures.read import parse
from rankwise.results.group_columns import WEIGHT, mean_of, read_group_column, sum_of
from rankwise.results.named_values import Values
from rankwise.results.result import Result
from rankwise.results.saving import load
from rankwise.tables.columns import ROLES, is_row_number, plain_name
from rankwise.tables.files import read_file
from rankwise.tables.frames import from_arrow, typed, whole
from rankwise.tables.protocol import Protocol

__all__ = ["from_per_user", "open_result"]

_USER_COLUMNS = ("n_relevant", "list_length")


def from_per_user(source: Any) -> Result:
    """Make a result from a table of per-user values, so that it can be compared.

    Parameters
    ----------
    source : table or path
        One row per user: a column of user ids and one numeric column per metric; NaN or null
        where a user has no value. In columns named like metrics (``ndcg@10``) it is known whether
        higher is better, in others it is not; columns like ``group(country)`` hold groups of users.
        Numbers of rows, as pandas writes its index, are left out, which the result says.
        With a column ``weight`` values are weighted means, as those of the evaluation that wrote it.

    Returns
    -------
    Result

    Raises
    ------
    ColumnError
        If there is no column of users, a duplicate user, no numeric column, one without a name, or
        a user without a weight of 0 or more.

    Examples
    --------
    >>> result = from_per_user(pl.DataFrame({"user": [1, 2], "ndcg@10": [0.5, 1.0]}))
    >>> result["ndcg@10"]
    0.75
    """
    frame, where = _read(source)
    users = [name for name in frame.columns if _is_user(name)]
    if len(users) != 1:
        raise ColumnError(
            "a table of per-user values has one column of users",
            where=where,
            found=", ".join(map(repr, users)) or f"columns {frame.columns}",
        )
    frame = frame.rename({users[0]: "user"})
    if frame["user"].null_count() or frame["user"].n_unique() < len(frame):
        raise ColumnError("a user is null, or occurs twice", where=where)
    groups = [name for name in frame.columns if read_group_column(name) is not None]
    row_numbers = [name for name in frame.columns if name != "user" and _is_row_number(frame[name], where)]
    frame = frame.drop(row_numbers)
    cells: dict[str, str] = {}
    measures: list[Measure] = []
    for name, dtype in frame.schema.items():
        number = dtype.is_numeric() or dtype == pl.Null
        if name in ("user", "label", WEIGHT, *_USER_COLUMNS, *groups) or not number:
            continue
        measure = _measure(name)
        cell = name if measure is None else measure.cells[0]
        if cell in cells.values():
            raise ColumnError(f"two columns are {cell}", where=where, found=repr(name))
        cells[name] = cell
        measures += [] if measure is None else [measure]
    if not cells:
        raise ColumnError("there is no column of numbers", where=where, found=f"columns {', '.join(frame.columns)}")
    user_columns = [
        pl.col(name).cast(pl.Int64)
        if frame.schema.get(name, pl.String()).is_numeric()
        else pl.lit(None, pl.Int64).alias(name)
        for name in _USER_COLUMNS
    ]
    numbers = [pl.col(name).cast(pl.Float64).fill_null(float("nan")).alias(cell) for name, cell in cells.items()]
    texts = [pl.col(name).cast(pl.String) for name in groups]
    weight = [pl.col(WEIGHT).cast(pl.Float64)] if _weighted(frame, where) else []
    label = [pl.col("label")] if (protocol := _protocol(frame, where)) is not None else []
    per_user = frame.sort("user").select("user", *user_columns, *weight, *texts, *numbers, *label)
    weights = per_user[WEIGHT] if weight else None
    sums = {cell for measure in measures for cell in measure.cells if measure.value_kind == "sum"}
    values = Values({c: (sum_of if c in sums else mean_of)(per_user[c], weights) for c in cells.values()})
    provenance = {
        "settings": {"measures": [str(measure) for measure in measures]} | ({"weights": WEIGHT} if weight else {}),
        "inputs": {"per user": {"source": where, "unread": row_numbers}},
        "candidates": None if protocol is None else protocol.to_dict(),
        "doubts": _not_means(measures),
    }
    kinds: dict[str, ValueKind] = {c: "sum" if c in sums else "weighted mean" if weight else "mean" for c in values}
    return Result(tuple(measures), values, per_user, {"users": len(per_user)}, None, provenance, kinds=kinds)


def _weighted(frame: pl.DataFrame, where: str) -> bool:
    """Return whether there are weights; raise if a user has none, or they have no sum."""
    if WEIGHT not in frame.columns:
        return False
    weights = frame[WEIGHT]
    if not weights.dtype.is_numeric():
        raise ColumnError(
            "the weights of users are numbers", where=f"{where}, column {WEIGHT!r}", found=f"{weights.dtype}"
        )
    numbers = weights.cast(pl.Float64).fill_null(float("nan"))
    wrong = frame.filter(~(numbers.is_finite() & (numbers >= 0)))
    if len(wrong):
        raise ColumnError(
            "every user needs a weight of 0 or more",
            where=f"{where}, column {WEIGHT!r}, user {wrong['user'][0]!r}",
            found=f"{wrong[WEIGHT][0]} ({len(wrong)} such users)",
            hint="leave the column out, or rename it, if it holds no weights of users",
        )
    return True


def _protocol(frame: pl.DataFrame, where: str) -> Protocol | None:
    """Return the sample of candidates that the column ``label`` of an evaluation names, if any."""
    if "label" not in frame.columns or frame.schema["label"] != pl.String:
        return None
    labels = frame["label"].unique(maintain_order=True).to_list()
    if len(labels) > 1:
        raise ColumnError(
            "the users of one result have one label",
            where=f"{where}, column 'label'",
            found=", ".join(map(repr, labels[:3])),
        )
    return Protocol.of_label(labels[0]) if labels and labels[0] is not None else None


def _not_means(measures: Sequence[Measure]) -> list[str]:
    """Return a warning about metrics whose values are no means over users in an evaluation."""
    others = [str(measure) for measure in measures if measure.value_kind not in ("mean", "sum")]
    if not others:
        return []
    return [f"the mean over users is not what an evaluation gives for {', '.join(others)}: it pools or weights users"]


def _is_row_number(column: pl.Series, where: str) -> bool:
    """Return whether a column holds the numbers of rows, and no metric.

    Raises
    ------
    ColumnError
        If it has no name and holds other numbers.
    """
    if not is_row_number(column.name) or not column.dtype.is_numeric():
        return False
    counts = column.is_not_null().all() and bool((column == column.floor()).all()) and column.is_unique().all()
    if not counts and plain_name(column.name) in ("", "unnamed"):
        raise ColumnError(
            "a column of numbers has no name",
            where=where,
            found=f"{column.name!r}: {column[0]}, …",
            hint="give it the name of its metric, such as ndcg@10, or drop it",
        )
    return counts


def _measure(name: str) -> Measure | None:
    """Return the measure that a column is named after, if it has a single value."""
    try:
        measure = parse(name)
    except RankwiseError:
        return None
    return measure if len(measure.cells) == 1 else None


def _read(source: Any) -> tuple[pl.DataFrame, str]:
    if not isinstance(source, str | Path):
        return from_arrow(source, "per user"), "per user"
    path = Path(source)
    if path.suffix != ".json":
        raw = read_file(path)
        users = [name for name in raw.frame.columns if _is_user(name)]
        groups = [name for name in raw.frame.columns if read_group_column(name) is not None]
        frame = typed(raw.frame, [n for n in raw.frame.columns if n not in (*users, *groups)])
        return whole(frame, users) if raw.is_text else frame, raw.name
    try:
        return pl.DataFrame(json.loads(path.read_text(encoding="utf-8"))), str(path)
    except (OSError, ValueError, TypeError, pl.exceptions.PolarsError) as error:
        raise FileError(
            "this is not a table of per-user values", where=str(path), found=str(error).splitlines()[0]
        ) from error


def _is_user(name: str) -> bool:
    return plain_name(name) in ROLES["users"]["user"]


def open_result(path: str | Path) -> Result:
    """Return a saved result, given its folder or ``result.json``, or a table of per-user values."""
    path = check_path("path", path)
    if path.is_dir():
        return load(path)
    return load(path.parent) if path.name == "result.json" else from_per_user(path)
