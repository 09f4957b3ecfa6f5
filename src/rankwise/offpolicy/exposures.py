"""Reading of exposures and outcomes: joined, counted, and in the order of users and requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from rankwise.core.hashing import id_numbers
from rankwise.errors import ColumnError, DuplicateError, EmptyError, InputError, ParameterError
from rankwise.messages import parameter
from rankwise.tables.columns import Columns, missing_column_error, quoted_columns
from rankwise.tables.frames import parse_integers, parse_numbers
from rankwise.tables.ids import align
from rankwise.tables.read import read_table
from rankwise.tables.table import Table, TableRole
from rankwise.tables.times import Duration, read_times

OnMissing: TypeAlias = Literal["error", "drop", "logged"]
"""What to do if over 1 % of the outcomes, or of the requests of a target, cannot be joined."""

KEYS = ("request", "user", "item", "position")
OUTCOME_WINDOW = "1d"
CHECK = "check: "
"""What the names of counts start with that put a result in doubt."""
REPEATED_OUTCOMES = (
    f"{CHECK}outcomes that equal another one in every column, whose rewards are added"
)
_ALLOWED = 0.01
ROW = "_row"
"""The column that keeps the row of a source, from 1, for messages."""
_OUTCOME = "_outcome"
"""The column of the row of an outcome, from 0."""


def read_rows(source: Any, role: TableRole, columns: Columns | None) -> Table:
    """Read a table of exposures, outcomes or a target; text columns of integers become integers."""
    table = read_table(source, role, columns)
    categories = [
        name for name, kind in table.frame.schema.items() if kind in (pl.Categorical, pl.Enum)
    ]
    table = (
        table.with_frame(table.frame.with_columns(pl.col(categories).cast(pl.String)))
        if categories
        else table
    )
    if not table.is_text:
        return table
    rest = [name for name in table.frame.columns if name not in ("user", "item", "timestamp")]
    frame = parse_integers(table.frame, rest)
    return table.with_frame(parse_numbers(frame, [name for name in rest if name != "request"]))


def bad_row(
    table: Table, column: str, bad: pl.Series, what: str, hint: str | None = None
) -> InputError:
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
    """Logged rows by user, request and position: a whole log, or a piece with whole users.

    Attributes
    ----------
    frame : polars.DataFrame
        ``user``, ``request``, ``position`` and ``item`` where they exist, ``reward``, ``_row`` (the
        row of the source) and all other columns of the exposures. Equal rows apart, the order does
        not depend on that of the source.
    table : Table
        The exposures as they were read.
    counts : mapping of str to int
        What was joined, and what was not.
    outcomes : polars.Series
        The rows of the outcomes that belong to an exposure.
    is_slate : bool
        Whether a request of the whole log has several rows.
    first_position : int
        The first position of the whole log.
    """

    frame: pl.DataFrame
    table: Table
    counts: dict[str, int] = field(default_factory=dict)
    outcomes: pl.Series = field(default_factory=lambda: pl.Series(dtype=pl.Int64))
    is_slate: bool = False
    first_position: int = 0

    @property
    def rows(self) -> int:
        """The number of exposures."""
        return len(self.frame)

    @property
    def context(self) -> list[str]:
        """The columns that may join targets: no keys, rewards, times or fractional numbers."""
        left_out = {*KEYS, "reward", "propensity", "timestamp", "team", ROW}
        return [
            name
            for name, kind in self.frame.schema.items()
            if name not in left_out and not kind.is_float()
        ]

    @cached_property
    def first_of_users(self) -> Any:
        """The first row of each user."""
        if "user" not in self.frame.columns:
            return np.arange(self.rows)
        return np.flatnonzero(_changes(self.frame["user"]))

    @property
    def n_users(self) -> int:
        """The number of users."""
        return len(self.first_of_users)

    @cached_property
    def user(self) -> Any:
        """The number of the user of each row, from 0."""
        return self._numbers(self.first_of_users)

    @cached_property
    def first(self) -> Any:
        """The first row of each request."""
        if "request" not in self.frame.columns:
            return np.arange(self.rows)
        starts = _changes(self.frame["request"])
        starts[self.first_of_users] = True
        return np.arange(self.rows) if starts.all() else np.flatnonzero(starts)

    @cached_property
    def request(self) -> Any:
        """The number of the request of each row, from 0."""
        return self._numbers(self.first)

    def _numbers(self, first: Any) -> Any:
        return np.repeat(np.arange(len(first)), np.diff(first, append=self.rows))

    @cached_property
    def place(self) -> Any:
        """The place of each row in its request, from 0."""
        if len(self.first) == self.rows:
            return np.zeros(self.rows, dtype=np.int64)
        return np.arange(self.rows) - self.first[self.request]

    @cached_property
    def reward(self) -> Any:
        """The reward of each row."""
        return self.frame["reward"].to_numpy()

    def filter(self, mask: pl.Series) -> Log:
        """Return the log with the rows of a mask, which holds whole requests."""
        return replace(self, frame=self.frame.filter(mask))

    def pieces(self, count: int) -> list[Log]:
        """Return about as many pieces with whole users; the first has the counts."""
        edges = np.arange(1, count) * self.rows // count
        edges = np.unique(
            [0, *self.first_of_users[np.searchsorted(self.first_of_users[:-1], edges)], self.rows]
        )
        frames = [self.frame[start:end] for start, end in pairwise(edges.tolist())]
        rest = replace(self, counts={}, outcomes=self.outcomes.clear())
        return [replace(rest if at else self, frame=frame) for at, frame in enumerate(frames)]

    def where(self, row: int) -> str:
        """Return the place of a row in messages."""
        return f"{self.table.source}, row {self.frame[ROW][row]}"


def _changes(column: pl.Series) -> Any:
    """Return which rows differ from the one before, the first included."""
    starts = column.ne_missing(column.shift()).to_numpy().copy()
    starts[:1] = True
    return starts


def read_outcomes(
    source: Any, columns: Columns | None, rewards: Mapping[str, float] | None
) -> Table | None:
    """Read outcomes with rewards: from ``rewards`` by kind, else from the table, else 1."""
    if source is None:
        return None
    outcomes = read_rows(source, "outcomes", columns)
    frame = outcomes.frame.with_row_index(_OUTCOME)
    if rewards is not None:
        if "kind" not in frame.columns:
            raise missing_column_error(
                f"outcomes have no kind, and {parameter('reward')} has one per kind",
                "outcomes.kind",
                outcomes,
            )
        unknown = sorted({*rewards} - {*frame["kind"].unique().to_list()}, key=str)
        if unknown:
            raise InputError(
                f"no outcome is of the kind {unknown[0]!r}",
                where=outcomes.source,
                found=", ".join(map(repr, frame["kind"].unique().sort().head(10).to_list())),
            )
        value = pl.col("kind").replace_strict(dict(rewards), default=0.0, return_dtype=pl.Float64)
        return outcomes.with_frame(frame.with_columns(value.alias("reward")))
    if "reward" in frame.columns:
        return outcomes.with_frame(frame)
    return outcomes.with_frame(frame.with_columns(reward=pl.lit(1.0)))


def read_log(
    exposures: Any,
    outcomes: Table | None,
    columns: Columns | None,
    *,
    window: Any = None,
    first_row: int | None = None,
) -> Log:
    """Return the log of exposures with their rewards, in the order of users and requests.

    ``first_row`` is the row of a larger table that the exposures begin with; None if they are the
    table.
    """
    table = read_rows(exposures, "exposures", columns)
    counts: dict[str, int] = {}
    joined = pl.Series(dtype=pl.Int64)
    if outcomes is not None:
        table, outcomes = align([table, outcomes], "item")
        for column in {"user", "request"} & {*table.frame.columns} & {*outcomes.frame.columns}:
            check_types(column, table, outcomes)
        table, joined = _with_outcomes(
            table, outcomes, window, counts, is_piece=first_row is not None
        )
    elif "reward" not in table.frame.columns:
        raise ColumnError(
            "there is no column for the reward, and no outcomes",
            where=table.source,
            found=quoted_columns(table.frame.columns),
            hint=f"pass outcomes, or say which column it is: "
            f"{parameter('columns', {'exposures.reward': '…'})}",
        )
    frame = table.frame.with_row_index(ROW, 1 if first_row is None else first_row)
    counts |= {
        "no request column: every row is a request": 0
        if "request" in frame.columns
        else len(frame),
        "no user column: every request is a user of its own": 0
        if "user" in frame.columns
        else len(frame),
    }
    if "user" not in frame.columns and "request" in frame.columns:
        frame = frame.with_columns(pl.col("request").alias("user"))
    log = Log(_in_order(_checked(frame, table)), table, counts, joined)
    _check_requests(log)
    first_position = int(log.frame["position"].min()) if "position" in log.frame.columns else 0  # type: ignore[arg-type]
    return replace(log, is_slate=len(log.first) < log.rows, first_position=first_position)


def check_outcomes(table: Table, joined: pl.Series, missing: OnMissing) -> dict[str, int]:
    """Return the counts of outcomes; raise if over 1 % of them belong to no exposure."""
    total, unjoined = len(table.frame), len(table.frame) - len(joined)
    if unjoined > _ALLOWED * total and missing == "error":
        row = int((~table.frame[_OUTCOME].is_in(joined.implode())).arg_true()[0])
        raise InputError(
            "outcomes belong to no exposure",
            where=f"{table.source}, row {row + 1}",
            found=f"{unjoined:,} of {total:,} outcomes",
            hint=f"check the request and item ids of both tables; {parameter('missing', 'drop')} "
            "leaves these "
            "outcomes out",
        )
    return {
        REPEATED_OUTCOMES: _repeated(table),
        "outcomes": total,
        "outcomes without an exposure": unjoined,
    }


def _repeated(table: Table) -> int:
    """Return how many rows of outcomes equal an earlier one in every column."""
    kinds = table.frame.schema.items()
    plain = [
        name
        for name, kind in kinds
        if name != _OUTCOME and not (kind.is_nested() or kind == pl.Object)
    ]
    return len(table.frame) - int(table.frame.select(pl.struct(plain).n_unique()).item())


def hashes_of(values: pl.Series) -> Any:
    """Return 64-bit hashes of values, the same on every machine; the highest bits are the best."""
    return id_numbers(values.cast(pl.String)).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)


def check_types(column: str, left: Table, right: Table) -> None:
    """Raise if two tables disagree on whether a column is text."""
    types = [table.frame.schema[column] for table in (left, right)]
    if len({kind == pl.String for kind in types}) > 1:
        raise InputError(
            f"{column!r} is text in one table and a number in the other",
            where=f"{left.source} and {right.source}",
            found=f"{types[0]} and {types[1]}",
            hint="cast one of the columns",
        )


def _with_outcomes(
    exposures: Table, outcomes: Table, window: Any, counts: dict[str, int], *, is_piece: bool
) -> tuple[Table, pl.Series]:
    """Sum the rewards of outcomes by exposure; also return the rows of outcomes that joined."""
    frame = exposures.frame.drop("reward", strict=False).with_row_index("_exposure")
    if "reward" in exposures.frame.columns:
        name, rewards = exposures.columns.get("reward", "reward"), exposures.frame["reward"]
        unread = (
            f"{CHECK}exposures with a reward in column {name!r}, which is not read beside the "
            "outcomes"
        )
        counts[unread] = int((rewards.cast(pl.Float64, strict=False).fill_null(0.0) != 0).sum())
    if all("request" in table.frame.columns for table in (exposures, outcomes)):
        if window is not None:
            raise ParameterError(
                "outcomes belong to the request that they name, whenever they came",
                found=parameter("window", window),
                hint=f"leave {parameter('window')} out, or the late outcomes; without a column of "
                "requests outcomes are joined by time",
            )
        keys = ["request", "item"]
        candidates = frame.join(outcomes.frame.select(keys).unique(), on=keys, how="semi")
        several = candidates.group_by(keys).len().filter(pl.col("len") > 1)
        counts["items that a request shows several times, whose outcomes go to the first"] = len(
            several
        )
        first = _sorted_by_content(candidates, [*keys, "position"]).unique(
            keys, keep="first", maintain_order=True
        )
        joined = outcomes.frame.join(first.select("_exposure", *keys), on=keys, how="inner")
    else:
        joined = _by_time(exposures, outcomes, frame, window, is_piece=is_piece).drop_nulls(
            "_exposure"
        )
    sums = joined.sort("_exposure", "reward").group_by("_exposure", maintain_order=True)
    total = sums.agg(pl.col("reward").sum(), pl.len().alias("_outcomes"))
    counts["exposures with several outcomes, whose rewards are added"] = int(
        (total["_outcomes"] > 1).sum()
    )
    frame = frame.join(total, on="_exposure", how="left", maintain_order="left")
    counts["exposures without an outcome"] = frame["reward"].null_count()
    frame = frame.drop("_exposure", "_outcomes").with_columns(pl.col("reward").fill_null(0.0))
    return exposures.with_frame(frame), joined[_OUTCOME].cast(pl.Int64)


def _by_time(
    exposures: Table, outcomes: Table, frame: pl.DataFrame, window: Any, *, is_piece: bool
) -> pl.DataFrame:
    """Join each outcome to the last prior exposure of its user and item within the window."""
    for table in (exposures, outcomes):
        lacking = [name for name in ("user", "timestamp") if name not in table.frame.columns]
        if lacking:
            raise ColumnError(
                "outcomes join exposures by request and item, or else by user, item and time",
                where=table.source,
                found=f"no column for the {' and the '.join(lacking)}; "
                f"{quoted_columns(table.frame.columns)}",
                hint=f"say which: "
                f"{parameter('columns', {'exposures.request': '…', 'outcomes.request': '…'})}",
            )
        if (
            is_piece and not table.frame.schema["timestamp"].is_temporal()
        ):  # a piece cannot tell the unit
            raise ParameterError(
                "outcomes join by time in pieces only if timestamps have a type of time",
                where=table.source,
                found=str(table.frame.schema["timestamp"]),
                hint="cast both columns to datetime, or give outcomes their request",
            )
    times = [read_times(table, None) for table in (exposures, outcomes)]
    length = Duration.read("window", OUTCOME_WINDOW if window is None else window)
    shown, done = (np.asarray(time.values) / time.per_second for time in times)
    seconds = length.microseconds / 1e6 + length.months * 30.4 * 86400 + length.ticks
    left = outcomes.frame.with_columns(_time=pl.Series(done))
    right = frame.with_columns(_time=pl.Series(shown), _shown=pl.Series(shown))
    right = right.select(
        "_exposure", "_time", "_shown", *(name for name in frame.columns if name != "_exposure")
    )
    joined = left.sort("_time").join_asof(
        _sorted_by_content(right, ["_time"]),
        on="_time",
        by=["user", "item"],
        strategy="backward",
        check_sortedness=False,
    )
    late = pl.col("_time") - pl.col("_shown") > seconds
    return joined.with_columns(pl.when(~late).then("_exposure")).drop("_time", "_shown")


def _checked(frame: pl.DataFrame, table: Table) -> pl.DataFrame:
    """Return rows with whole positions; raise if a position, a user or a request is missing."""
    if frame.is_empty():
        raise EmptyError("the table of exposures is empty", found="0 rows")
    for name in ("user", "request"):
        if name in frame.columns and frame[name].null_count():
            raise bad_row(
                table, name, frame[name].is_null(), f"an exposure has no {name}", "drop those rows"
            )
    if "position" not in frame.columns:
        return frame
    position = frame["position"]
    bad = (position != position.round()) | (position < 0)
    if bad.any():
        raise bad_row(table, "position", bad, "a position is no rank")
    return frame.with_columns(position.cast(pl.Int64))


def _in_order(frame: pl.DataFrame) -> pl.DataFrame:
    """Sort rows by content, so that the source's order matters only for equal rows of one user.

    Rows that are users of their own stay in their order: what is computed of these does not depend
    on it.
    """
    keys = [name for name in ("user", "request", "position") if name in frame.columns]
    if not keys or _increases(frame, keys):
        return frame
    frame = frame.sort(keys)
    if _increases(frame, keys):
        return frame
    scalars = [
        name for name, kind in frame.schema.items() if not (kind.is_nested() or kind == pl.Object)
    ]
    return frame.sort(
        keys + [name for name in scalars if name not in (*keys, ROW)], nulls_last=True
    )


def _sorted_by_content(frame: pl.DataFrame, first: Sequence[str]) -> pl.DataFrame:
    """Sort rows by the columns ``first``, then by all remaining columns except ``_exposure``."""
    kinds = frame.schema.items()
    names = [
        name
        for name, kind in kinds
        if name != "_exposure" and not (kind.is_nested() or kind == pl.Object)
    ]
    keys = [name for name in first if name in names]
    return frame.sort(keys + [name for name in names if name not in keys], nulls_last=True)


def _increases(frame: pl.DataFrame, keys: Sequence[str]) -> bool:
    """Return whether the keys increase strictly from row to row, in lexicographic order."""
    above, equal = pl.lit(value=False), pl.lit(value=True)
    for key in keys:
        before = pl.col(key).shift()
        above, equal = above | (equal & (pl.col(key) > before)), equal & (pl.col(key) == before)
    return bool(frame.select(above.slice(1).all()).item())


def request_of_several_users(where: str) -> InputError:
    """Return the error for a request that several users have."""
    return InputError(
        "a request has several users",
        where=where,
        hint="if requests are numbered from 1 again for every user, make one id of user and "
        "request in every table, "
        f"and name that column: {parameter('columns', {'request': '…'})}",
    )


def _check_exposed_once(log: Log) -> None:
    """Raise if a request shows an item twice, and nothing says at which positions."""
    repeated = log.frame.filter(log.frame.select("request", "item").is_duplicated())
    if repeated.is_empty():
        return
    row = repeated.sort(ROW).row(0, named=True)
    raise DuplicateError(
        "an exposure stands twice",
        where=f"{log.table.source}, row {row[ROW]}",
        found=f"request {row['request']!r}, item {row['item']!r} ({len(repeated):,} such rows)",
        hint="keep one row per request and item, or give each its position",
    )


def _check_requests(log: Log) -> None:
    """Raise if a request has several users, or positions that are missing, repeated or skipped."""
    frame, table = log.frame, log.table
    if "request" not in frame.columns:
        return
    requests = frame["request"].gather(log.first)
    in_order = requests.is_sorted()
    if (requests == requests.shift()).any() if in_order else requests.n_unique() < len(requests):
        request = requests.filter(requests.is_duplicated()).min()
        raise request_of_several_users(f"{table.source}, request {request!r}")
    if len(log.first) == log.rows:
        return
    if "position" not in frame.columns:
        _check_exposed_once(log)
        raise missing_column_error(
            "rows of a request have no position", "exposures.position", table
        )
    position = frame["position"].to_numpy()
    step = np.diff(position)[np.diff(log.request) == 0]
    if (step == 0).any():
        repeated = frame.filter(frame.select("request", "position").is_duplicated())
        row = repeated.sort(ROW).row(0, named=True)
        raise DuplicateError(
            "a position of a request occurs twice",
            where=f"{table.source}, row {row[ROW]}",
            found=f"request {row['request']!r}, position {row['position']} ({len(repeated):,} such "
            "rows)",
            hint="keep one row per request and position",
        )
    if (step > 1).any():
        behind = np.flatnonzero(np.diff(log.request, prepend=-1) == 0)
        gaps = frame["request"].gather(behind[step > 1]).unique()
        raise InputError(
            "positions of a request have a gap",
            where=f"{table.source}, request {gaps.min()!r}",
            found=f"{len(gaps):,} such requests",
            hint="log every position that was shown; the weight of a position needs all above it",
        )
