"""Results from tables of per-user values: those of `Result.per_user`, or of another program."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from rankwise.core.saved_forms import form_of_keys
from rankwise.core.terminal import count_of
from rankwise.core.units import REQUEST
from rankwise.errors import ColumnError, FileError, MetricError, RankwiseError
from rankwise.metrics.base import Metric, ValueKind, parse
from rankwise.results.intervals import WEIGHT, mean_of, read_group_column, sum_of
from rankwise.results.result import Result, means_of_users
from rankwise.results.values import Values
from rankwise.tables.columns import ROLES, is_row_number, plain_name
from rankwise.tables.files import read_file
from rankwise.tables.frames import from_arrow, parse_integers, parse_numbers
from rankwise.tables.requests import MEAN_OVER, counts_of_requests
from rankwise.tables.table import Protocol

LISTS = "this table has one row per user and item, and not one per user"
"""What is wrong with recommendation lists where values of users are read."""
_EVALUATION = frozenset({"schema_version", "values", "provenance"})
"""Columns of the JSON that an evaluation prints, as a table."""
_USER_COLUMNS = ("n_relevant", "list_length")


def from_per_user(source: Any) -> Result:
    """Make a result from a table of per-user values, for comparisons.

    Parameters
    ----------
    source : table or path
        One row per user: a column of user ids and one numeric column per metric; NaN or null where
        a user has no value. In columns named like metrics (``ndcg@10``) it is known whether higher
        is better, in others it is not; columns like ``group(country)`` hold groups of users.
        Numbers of rows, as pandas writes its index, are left out, which the result says. With a
        column ``weight`` values are weighted means, as those of the evaluation that wrote it. With
        a column ``request`` there is one row per request, and users are the sample; with
        ``mean_over`` = ``users`` in every row means are over users, each over the user's requests.

    Returns
    -------
    Result

    Raises
    ------
    ColumnError
        If there is no column of users, a duplicate user, no numeric column, one without a name, or
        a user without a weight of 0 or more.
    MetricError
        If values are on another scale than the metric that their column is named after.

    Examples
    --------
    >>> result = from_per_user(pl.DataFrame({"user": [1, 2], "ndcg@10": [0.5, 1.0]}))
    >>> result["ndcg@10"]
    0.75
    """
    frame, where = _read(source)
    _refuse_lists(frame, where)
    frame, row_numbers = _without_row_numbers(_with_ids(frame, where), where)
    columns = _Columns.read(frame, where)

    per_user = columns.select(frame)
    _check_scale(per_user, columns.metrics, where)
    values = columns.means(per_user)
    counts = counts_of_requests(per_user) or {"users": len(per_user)}
    kinds = {cell: columns.kind(cell) for cell in values}
    provenance = columns.provenance() | {
        "inputs": {"per user": {"source": where, "unread": row_numbers}},
        "doubts": _not_means(columns.metrics),
    }
    return Result(columns.metrics, values, per_user, counts, None, provenance, kinds=kinds)


@dataclass(frozen=True, eq=False)
class _Columns:
    """The columns of a table of per-user values, by their meaning.

    Attributes
    ----------
    keys : list of str
        The columns that tell rows apart: the user, and the request where there is one.
    groups : list of str
        The columns of groups of users.
    cells : dict of str to str
        The columns of values, with the cell of the metric that each is named after.
    metrics : tuple of Metric
        The metrics of these cells; columns named otherwise have none.
    has_weights, is_over_users : bool
        Whether values are weighted, and whether means are over users of their means over requests.
    protocol : Protocol or None
        The candidates that the users' label names.
    """

    keys: list[str]
    groups: list[str]
    cells: dict[str, str]
    metrics: tuple[Metric, ...]
    has_weights: bool
    is_over_users: bool
    protocol: Protocol | None

    @classmethod
    def read(cls, frame: pl.DataFrame, where: str) -> _Columns:
        """Read the columns of a table whose ids are checked."""
        cells, metrics = _cells_of(frame, where)
        return cls(
            keys=_keys_of(frame),
            groups=_groups_of(frame),
            cells=cells,
            metrics=metrics,
            has_weights=_has_weights(frame, where),
            is_over_users=_means_over_users(frame, where),
            protocol=_protocol(frame, where),
        )

    def select(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the rows in order of ids, with the columns and types that a result has."""
        numbers = [
            pl.col(name).cast(pl.Float64).fill_null(float("nan")).alias(cell)
            for name, cell in self.cells.items()
        ]
        return frame.sort(self.keys).select(
            *self.keys,
            *(_count_of_users(frame, name) for name in _USER_COLUMNS),
            *([pl.col(WEIGHT).cast(pl.Float64)] if self.has_weights else []),
            *(pl.col(name).cast(pl.String) for name in self.groups),
            *numbers,
            *(["label"] if self.protocol is not None else []),
            *([MEAN_OVER] if self.is_over_users else []),
        )

    def means(self, per_user: pl.DataFrame) -> Values:
        """Return the mean of each column of values, or the sum of a metric that is one."""
        weights = per_user[WEIGHT] if self.has_weights else None
        cells = list(self.cells.values())
        units = means_of_users(per_user, cells) if self.is_over_users else per_user
        values = {}
        for cell in cells:
            if self.kind(cell) == "sum":
                values[cell] = sum_of(per_user[cell], weights)
            else:
                values[cell] = mean_of(units[cell], weights)
        return Values(values)

    @cached_property
    def _sums(self) -> frozenset[str]:
        """The cells of metrics whose value is a sum over users."""
        sums = (metric for metric in self.metrics if metric.value_kind == "sum")
        return frozenset(cell for metric in sums for cell in metric.cells)

    def kind(self, cell: str) -> ValueKind:
        """Return how the value of a cell adds up over users."""
        if cell in self._sums:
            return "sum"
        return "weighted mean" if self.has_weights else "mean"

    def provenance(self) -> dict[str, Any]:
        """Return the settings and requests that the columns tell of."""
        settings: dict[str, Any] = {"metrics": [str(metric) for metric in self.metrics]}
        if self.has_weights:
            settings["weights"] = WEIGHT
        known: dict[str, Any] = {
            "settings": settings,
            "candidates": None if self.protocol is None else self.protocol.to_dict(),
        }
        if REQUEST in self.keys:
            settings["mean_over"] = "users" if self.is_over_users else "requests"
            known["requests"] = {"column": REQUEST, "truth": "none"}
        return known


def _with_ids(frame: pl.DataFrame, where: str) -> pl.DataFrame:
    """Return a table with its users in ``user``; raise if ids do not tell all rows apart."""
    users = [name for name in frame.columns if _is_user(name)]
    if len(users) != 1:
        raise ColumnError(
            "a table of per-user values has one column of users",
            where=where,
            found=", ".join(map(repr, users)) or f"columns {frame.columns}",
        )

    frame = frame.rename({users[0]: "user"})
    keys = _keys_of(frame)
    if frame["user"].null_count() == 0 and frame.select(keys).n_unique() == len(frame):
        return frame
    if REQUEST in keys:
        raise ColumnError("a user is null, or occurs twice with the same request", where=where)
    raise ColumnError(
        "a user is null, or occurs twice",
        where=where,
        hint=f"values of several requests of a user have a column {REQUEST!r} as well",
    )


def _keys_of(frame: pl.DataFrame) -> list[str]:
    """Return the columns that tell rows apart."""
    return ["user", REQUEST] if REQUEST in frame.columns else ["user"]


def _groups_of(frame: pl.DataFrame) -> list[str]:
    """Return the columns of groups of users."""
    return [name for name in frame.columns if read_group_column(name) is not None]


def _without_row_numbers(frame: pl.DataFrame, where: str) -> tuple[pl.DataFrame, list[str]]:
    """Return a table without its columns of row numbers, and their names."""
    keys = _keys_of(frame)
    names = [name for name in frame.columns if name not in keys]
    numbers = [name for name in names if _is_row_number(frame[name], where)]
    return frame.drop(numbers), numbers


def _cells_of(frame: pl.DataFrame, where: str) -> tuple[dict[str, str], tuple[Metric, ...]]:
    """Return the columns of values with the cells they are named after, and the cells' metrics."""
    others = {"user", REQUEST, "label", WEIGHT, MEAN_OVER, *_USER_COLUMNS, *_groups_of(frame)}
    cells: dict[str, str] = {}
    metrics: list[Metric] = []
    for name, dtype in frame.schema.items():
        if name in others or not (dtype.is_numeric() or dtype == pl.Null):
            continue
        metric = _metric(name)
        cell = name if metric is None else metric.cells[0]
        if cell in cells.values():
            raise ColumnError(f"two columns are {cell}", where=where, found=repr(name))
        cells[name] = cell
        metrics += [] if metric is None else [metric]

    if not cells:
        raise ColumnError(
            "there is no column of numbers",
            where=where,
            found=f"columns {', '.join(frame.columns)}",
        )
    return cells, tuple(metrics)


def _check_scale(per_user: pl.DataFrame, metrics: Iterable[Metric], where: str) -> None:
    """Raise if a value is on another scale than the range of its metric, as per cent are.

    Tests and intervals rest on the range. A value farther outside than the range is wide is no
    rounding, and no own variant of the metric.
    """
    for metric in metrics:
        low, high = metric.range
        width = high - low
        if not math.isfinite(width):
            continue
        for cell in metric.cells:
            values = per_user[cell].filter(per_user[cell].is_finite())
            outside = values.filter((values < low - width) | (values > high + width))
            if len(outside):
                raise MetricError(
                    f"values of {cell} are on another scale than the metric, {low:g} to {high:g}",
                    where=where,
                    found=f"{outside[0]:g} ({count_of(len(outside), 'such row')})",
                    hint="divide per cent by 100, or give values of another definition another name",
                )


def _count_of_users(frame: pl.DataFrame, name: str) -> pl.Expr:
    """Return a count of each user, or null where the table does not have it."""
    if frame.schema.get(name, pl.String()).is_numeric():
        return pl.col(name).cast(pl.Int64)
    return pl.lit(None, pl.Int64).alias(name)


def _refuse_lists(frame: pl.DataFrame, where: str) -> None:
    """Raise if a table holds recommendation lists, or an evaluation without per-user values."""
    items = [name for name in frame.columns if plain_name(name) in ROLES["recommendations"]["item"]]
    if items and any(map(_is_user, frame.columns)):
        raise ColumnError(
            LISTS,
            where=where,
            found=f"column {items[0]!r}",
            hint="evaluate the lists first: rw.evaluate(lists, truth)",
        )
    if set(frame.columns) >= _EVALUATION:
        raise FileError(
            "this file has the values of an evaluation without those of its users, which a "
            "comparison needs",
            where=where,
            hint="save the result as well: Result.save, or rankwise evaluate … --save DIR",
        )


def _means_over_users(frame: pl.DataFrame, where: str) -> bool:
    """Return whether ``mean_over`` says that means are over users of their means over requests."""
    if MEAN_OVER not in frame.columns:
        return False
    said = frame[MEAN_OVER].unique().to_list()
    if said != ["users"] or REQUEST not in frame.columns or WEIGHT in frame.columns:
        rest = [name for name in (REQUEST, WEIGHT) if name in frame.columns]
        raise ColumnError(
            "a column mean_over is 'users' in every row, of values by request without weights",
            where=f"{where}, column {MEAN_OVER!r}",
            found=f"{', '.join(map(repr, said[:3]))}, beside "
            f"{' and '.join(rest) or 'no column of requests'}",
            hint="drop the column for means over all rows",
        )
    return True


def _has_weights(frame: pl.DataFrame, where: str) -> bool:
    """Return whether there are weights; raise if a user has none, or they have no sum."""
    if WEIGHT not in frame.columns:
        return False
    weights = frame[WEIGHT]
    if not weights.dtype.is_numeric():
        raise ColumnError(
            "the weights of users are numbers",
            where=f"{where}, column {WEIGHT!r}",
            found=f"{weights.dtype}",
        )
    numbers = weights.cast(pl.Float64).fill_null(float("nan"))
    wrong = frame.filter(~(numbers.is_finite() & (numbers >= 0)))
    if len(wrong):
        unit = REQUEST if REQUEST in frame.columns else "user"
        request = f", request {wrong[REQUEST][0]!r}" if unit == REQUEST else ""
        raise ColumnError(
            "every user needs a weight of 0 or more",
            where=f"{where}, column {WEIGHT!r}, user {wrong['user'][0]!r}{request}",
            found=f"{wrong[WEIGHT][0]} ({len(wrong)} such {unit}s)",
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


def _not_means(metrics: Sequence[Metric]) -> list[str]:
    """Return a warning about metrics whose values are no means over users in an evaluation."""
    others = [str(metric) for metric in metrics if metric.value_kind not in ("mean", "sum")]
    if not others:
        return []
    return [
        (
            f"the mean over users is not what an evaluation gives for {', '.join(others)}: it pools or "
            "weights users"
        )
    ]


def _is_row_number(column: pl.Series, where: str) -> bool:
    """Return whether a column holds the numbers of rows, and no metric.

    Raises
    ------
    ColumnError
        If it has no name and holds other numbers.
    """
    if not is_row_number(column.name) or not column.dtype.is_numeric():
        return False
    counts = (
        column.is_not_null().all()
        and bool((column == column.floor()).all())
        and column.is_unique().all()
    )
    if not counts and plain_name(column.name) in ("", "unnamed"):
        raise ColumnError(
            "a column of numbers has no name",
            where=where,
            found=f"{column.name!r}: {column[0]}, …",
            hint="give it the name of its metric, such as ndcg@10, or drop it",
        )
    return counts


def _metric(name: str) -> Metric | None:
    """Return the metric that a column is named after; None for metrics with several values."""
    try:
        metric = parse(name)
    except RankwiseError:
        return None
    return metric if len(metric.cells) == 1 else None


def _read(source: Any) -> tuple[pl.DataFrame, str]:
    if not isinstance(source, str | Path):
        return from_arrow(source, "per user"), "per user"
    path = Path(source)
    if path.suffix != ".json":
        raw = read_file(path)
        users = [name for name in raw.frame.columns if _is_user(name)]
        groups = [name for name in raw.frame.columns if read_group_column(name) is not None]
        frame = parse_numbers(
            raw.frame, [n for n in raw.frame.columns if n not in (*users, *groups)]
        )
        return parse_integers(frame, users) if raw.is_text else frame, raw.name
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(content, dict) and content.keys() >= _EVALUATION:
            return pl.DataFrame(schema=dict.fromkeys(content, pl.Null)), str(path)
        form = form_of_keys(content) if isinstance(content, dict) else None
        if form is not None:
            raise ValueError(f"a file of the form {form.name!r}, which {form.writer} wrote")
        return pl.DataFrame(content), str(path)
    except (OSError, ValueError, TypeError, pl.exceptions.PolarsError) as error:
        raise FileError(
            "this is not a table of per-user values",
            where=str(path),
            found=str(error).splitlines()[0],
        ) from error


def _is_user(name: str) -> bool:
    return plain_name(name) in ROLES["users"]["user"]
