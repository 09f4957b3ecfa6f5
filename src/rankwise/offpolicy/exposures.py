"""Exposures and outcomes: tables read, outcomes joined and counted, rows in the order of users and requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from rankwise.errors import ColumnError, DuplicateError, EmptyError, InputError
from rankwise.splits.interactions import Duration, read_times
from rankwise.tables.columns import Columns, missing_column, quoted_columns
from rankwise.tables.memory import typed, with_integers
from rankwise.tables.read import read_table
from rankwise.tables.table import Table, TableRole
from rankwise.tables.training import align

__all__ = ["KEYS", "OUTCOME_WINDOW", "Log", "OnMissing", "bad_row", "check_types", "read_log", "read_rows"]

OnMissing: TypeAlias = Literal["error", "drop", "logged"]
"""What to do if over 1 % of the outcomes, or of the requests of a target, cannot be joined."""

KEYS = ("request", "user", "item", "position")
OUTCOME_WINDOW = "1d"
_ALLOWED = 0.01
_ROW = "_row"
"""The column that keeps the row of a source, from 1, for messages."""


def read_rows(source: Any, role: TableRole, columns: Columns | None) -> Table:
    """Return a table of exposures, outcomes or of a target, with ids as integers where text holds only these."""
    table = read_table(source, role, columns)
    if not table.is_text:
        return table
    rest = [name for name in table.frame.columns if name not in ("user", "item", "timestamp")]
    frame = with_integers(table.frame, rest)
    return table.with_frame(typed(frame, [name for name in rest if name != "request"]))


def bad_row(table: Table, column: str, bad: pl.Series, what: str, hint: str | None = None) -> InputError:
    """Return the error for the first row whose value in a column is bad."""
    row = int(bad.arg_true()[0])
    name = table.columns.get(column, column)
    return InputError(
        what,
        where=f"{table.role}, column {name!r}, row {row + 1}",
        found=f"{table.frame[column][row]} ({int(bad.sum()):,} such rows)",
        hint=hint,
    )


@dataclass(frozen=True)
class Log:
    """Logged rows, in the order of users, requests and positions.

    Attributes
    ----------
    frame : polars.DataFrame
        ``user``, ``request``, ``position`` and ``item`` where they exist, ``reward``, ``row`` (the row of the source)
        and all other columns of the exposures. Equal rows apart, the order does not depend on that of the source.
    table : Table
        The exposures as they were read.
    counts : mapping of str to int
        What was joined, and what was not.
    """

    frame: pl.DataFrame
    table: Table
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """The number of exposures."""
        return len(self.frame)

    @property
    def context(self) -> list[str]:
        """The columns that can join a target: all columns but ids, rewards, the row and numbers with fractions."""
        left_out = {*KEYS, "reward", "propensity", "timestamp", "team", _ROW}
        return [name for name, kind in self.frame.schema.items() if name not in left_out and not kind.is_float()]

    @cached_property
    def user(self) -> Any:
        """The number of the user of each row, from 0."""
        return _runs(self.frame["user"]) if "user" in self.frame.columns else np.arange(self.rows)

    @cached_property
    def request(self) -> Any:
        """The number of the request of each row, from 0."""
        if "request" not in self.frame.columns:
            return np.arange(self.rows)
        starts = self.frame["request"].ne_missing(self.frame["request"].shift()).to_numpy().copy()
        starts[1:] |= np.diff(self.user) > 0
        starts[:1] = True
        return np.cumsum(starts) - 1

    @cached_property
    def place(self) -> Any:
        """The place of each row in its request, from 0."""
        first = np.flatnonzero(np.diff(self.request, prepend=-1))
        return np.arange(self.rows) - first[self.request]

    @property
    def is_slate(self) -> bool:
        """Whether a request has several rows."""
        return bool(self.rows) and int(self.request[-1]) + 1 < self.rows

    @cached_property
    def reward(self) -> Any:
        """The reward of each row."""
        return self.frame["reward"].to_numpy()

    def filter(self, mask: pl.Series) -> Log:
        """Return the log with the rows of a mask, which holds whole requests."""
        return Log(self.frame.filter(mask), self.table, self.counts)

    def where(self, row: int) -> str:
        """Return the place of a row in messages."""
        return f"{self.table.source}, row {self.frame[_ROW][row]}"


def _runs(column: pl.Series) -> Any:
    starts = column.ne_missing(column.shift()).to_numpy().copy()
    starts[:1] = True
    return np.cumsum(starts) - 1


def read_log(
    exposures: Any,
    outcomes: Any,
    columns: Columns | None,
    *,
    reward: Mapping[str, float] | None,
    window: Any,
    missing: OnMissing,
) -> Log:
    """Return the log of exposures with their rewards, in the order of users and requests."""
    table = read_rows(exposures, "exposures", columns)
    counts: dict[str, int] = {}
    if outcomes is not None:
        results = read_rows(outcomes, "outcomes", columns)
        table, results = align([table, results], "item")
        for column in {"user", "request"} & {*table.frame.columns} & {*results.frame.columns}:
            check_types(column, table, results)
        table = _with_outcomes(table, _with_reward(results, reward), window, missing, counts)
    elif "reward" not in table.frame.columns:
        raise ColumnError(
            "there is no column for the reward, and no outcomes",
            where=table.source,
            found=quoted_columns(table.frame.columns),
            hint='pass outcomes, or say which column it is: columns={"exposures.reward": "…"}',
        )
    frame = table.frame.with_row_index(_ROW, 1)
    counts |= {
        "no request column: every row is a request": 0 if "request" in frame.columns else len(frame),
        "no user column: every request is a user of its own": 0 if "user" in frame.columns else len(frame),
    }
    if "user" not in frame.columns and "request" in frame.columns:
        frame = frame.with_columns(pl.col("request").alias("user"))
    frame = _checked_positions(frame, table, counts)
    return Log(_in_order(frame), table, {name: n for name, n in counts.items() if n})


def check_types(column: str, left: Table, right: Table) -> None:
    """Raise if a column is text in one table and numbers in the other."""
    types = [table.frame.schema[column] for table in (left, right)]
    if len({kind == pl.String for kind in types}) > 1:
        raise InputError(
            f"{column!r} is text in one table and a number in the other",
            where=f"{left.source} and {right.source}",
            found=f"{types[0]} and {types[1]}",
            hint="cast one of the columns",
        )


def _with_reward(outcomes: Table, rewards: Mapping[str, float] | None) -> Table:
    """Return outcomes with the reward of each row: its own, that of its kind, or 1."""
    frame = outcomes.frame
    if rewards is not None:
        if "kind" not in frame.columns:
            raise missing_column("outcomes have no kind, and reward= has one per kind", "outcomes.kind", outcomes)
        value = pl.col("kind").replace_strict(dict(rewards), default=0.0, return_dtype=pl.Float64)
        return outcomes.with_frame(frame.with_columns(value.alias("reward")))
    if "reward" in frame.columns:
        return outcomes
    return outcomes.with_frame(frame.with_columns(reward=pl.lit(1.0)))


def _with_outcomes(exposures: Table, outcomes: Table, window: Any, missing: OnMissing, counts: dict[str, int]) -> Table:
    """Return the exposures with the sum of the rewards of their outcomes, and count what was joined."""
    frame = exposures.frame.drop("reward", strict=False).with_row_index("_exposure")
    if all("request" in table.frame.columns for table in (exposures, outcomes)):
        keys = ["request", "item"]
        first = frame.select("_exposure", *keys).unique(keys, keep="first", maintain_order=True)
        joined = outcomes.frame.join(first, on=keys, how="left")
    else:
        joined = _by_time(exposures, outcomes, frame, window)
    unjoined = joined["_exposure"].null_count()
    counts["outcomes"] = len(joined)
    counts["outcomes without an exposure"] = unjoined
    if unjoined > _ALLOWED * len(joined) and missing == "error":
        row = int(joined["_exposure"].is_null().arg_true()[0])
        raise InputError(
            "outcomes belong to no exposure",
            where=f"{outcomes.source}, row {row + 1}",
            found=f"{unjoined:,} of {len(joined):,} outcomes",
            hint='check the request and item ids of both tables; missing="drop" leaves these outcomes out',
        )
    sums = joined.drop_nulls("_exposure").sort("_exposure", "reward").group_by("_exposure", maintain_order=True)
    total = sums.agg(pl.col("reward").sum(), pl.len().alias("_outcomes"))
    counts["exposures with several outcomes, whose rewards are added"] = int((total["_outcomes"] > 1).sum())
    frame = frame.join(total, on="_exposure", how="left", maintain_order="left")
    counts["exposures without an outcome"] = frame["reward"].null_count()
    return exposures.with_frame(frame.drop("_exposure", "_outcomes").with_columns(pl.col("reward").fill_null(0.0)))


def _by_time(exposures: Table, outcomes: Table, frame: pl.DataFrame, window: Any) -> pl.DataFrame:
    """Return outcomes with the last exposure of their user and item before them, within the window."""
    for table in (exposures, outcomes):
        lacking = [name for name in ("user", "timestamp") if name not in table.frame.columns]
        if lacking:
            raise ColumnError(
                "outcomes join exposures by request and item, or else by user, item and time",
                where=table.source,
                found=f"no column for the {' and the '.join(lacking)}; {quoted_columns(table.frame.columns)}",
                hint='say which: columns={"exposures.request": "…", "outcomes.request": "…"}',
            )
    times = [read_times(table, None) for table in (exposures, outcomes)]
    length = Duration.read("window", OUTCOME_WINDOW if window is None else window)
    shown, done = (np.asarray(time.values) / time.per_second for time in times)
    seconds = length.microseconds / 1e6 + length.months * 30.4 * 86400 + length.ticks
    left = outcomes.frame.with_row_index("_outcome").with_columns(_time=pl.Series(done))
    right = frame.select("_exposure", "user", "item", _time=pl.Series(shown), _shown=pl.Series(shown))
    joined = left.sort("_time").join_asof(
        right.sort("_time"), on="_time", by=["user", "item"], strategy="backward", check_sortedness=False
    )
    late = pl.col("_time") - pl.col("_shown") > seconds
    return joined.with_columns(pl.when(~late).then("_exposure")).sort("_outcome").drop("_outcome", "_time", "_shown")


def _checked_positions(frame: pl.DataFrame, table: Table, counts: dict[str, int]) -> pl.DataFrame:
    """Return rows with whole positions; raise if a position, a user or a request is missing or occurs twice."""
    for name in ("user", "request"):
        if name in frame.columns and frame[name].null_count():
            raise bad_row(table, name, frame[name].is_null(), f"an exposure has no {name}", "drop those rows")
    if "position" in frame.columns:
        position = frame["position"]
        if ((position != position.round()) | (position < 0)).any():
            raise bad_row(table, "position", (position != position.round()) | (position < 0), "a position is no rank")
        frame = frame.with_columns(position.cast(pl.Int64))
    if "request" not in frame.columns or not frame["request"].is_duplicated().any():
        return frame
    users = frame.group_by("request").agg(pl.col("user").n_unique().alias("n"))
    if (users["n"] > 1).any():
        request = users.filter(pl.col("n") > 1)["request"].min()
        raise InputError("a request has several users", where=f"{table.source}, request {request!r}")
    _check_slates(frame, table, counts)
    return frame


def _check_slates(frame: pl.DataFrame, table: Table, counts: dict[str, int]) -> None:
    """Raise if a position of a request occurs twice or lies behind a gap; count requests that start later."""
    if "position" not in frame.columns:
        raise missing_column("rows of a request have no position", "exposures.position", table)
    repeated = frame.select("request", "position").is_duplicated()
    if repeated.any():
        row = frame.filter(repeated).row(0, named=True)
        raise DuplicateError(
            "a position of a request occurs twice",
            where=f"{table.source}, row {row[_ROW]}",
            found=f"request {row['request']!r}, position {row['position']} ({int(repeated.sum()):,} such rows)",
            hint="keep one row per request and position",
        )
    sizes = frame.group_by("request").agg(
        pl.len().alias("rows"), pl.col("position").min().alias("first"), pl.col("position").max().alias("last")
    )
    gaps = sizes.filter(pl.col("last") - pl.col("first") + 1 != pl.col("rows"))
    if len(gaps):
        request = gaps["request"].min()
        raise InputError(
            "positions of a request have a gap",
            where=f"{table.source}, request {request!r}",
            found=f"{len(gaps):,} such requests",
            hint="log every position that was shown; the weight of a position needs all above it",
        )
    counts["requests that do not start at the first position"] = int((sizes["first"] > sizes["first"].min()).sum())


def _in_order(frame: pl.DataFrame) -> pl.DataFrame:
    """Return rows in an order that does not depend on that of the source, apart from equal rows."""
    if frame.is_empty():
        raise EmptyError("the table of exposures is empty", found="0 rows")
    scalars = [
        name for name, kind in frame.schema.items() if name != _ROW and not (kind.is_nested() or kind == pl.Object)
    ]
    first = [name for name in ("user", "request", "position") if name in scalars]
    is_key = "request" in first and ("position" in first or not frame["request"].is_duplicated().any())
    keys = first if is_key else first + [name for name in scalars if name not in first]
    return frame.sort(keys, nulls_last=True)
