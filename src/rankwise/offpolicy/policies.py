"""Policies: the probability of showing each logged item, from tables, lists, scores or a rule.

A policy is a target of `rankwise.off_policy`, or with ``propensity=`` the policy that made the log.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from rankwise.core.arguments import check_number
from rankwise.core.terminal import format_number
from rankwise.errors import ColumnError, DuplicateError, EmptyError, InputError, ParameterError
from rankwise.messages import parameter
from rankwise.offpolicy.exposures import ROW, Log, bad_row, check_types, read_rows
from rankwise.tables.columns import Columns, missing_column_error, names_of, quoted_columns
from rankwise.tables.ids import align
from rankwise.tables.read import read_table
from rankwise.tables.table import Table, TableRole

Kind: TypeAlias = Literal["conditional", "prefix", "list", "marginal"]
"""What the propensity of a row is of: the item after those above it, the list up to it, the list, or the item alone."""

_SUM = 1.001
TOLERANCE = 1e-6
"""How far above 1 a probability may be: single precision rounds to about that."""
_MISSING = 0.01


@dataclass(frozen=True)
class MissingRows:
    """Rows of a log of which a target says nothing.

    Attributes
    ----------
    rows, of : int
        Their number, and that of all rows.
    first, where, keys : int, str, str
        The first of them, its place in messages, and the columns that join the target.
    """

    rows: int
    of: int
    first: int
    where: str
    keys: str

    def __add__(self, other: MissingRows) -> MissingRows:
        earlier = min(
            (one for one in (self, other) if one.rows), key=lambda gap: gap.first, default=self
        )
        return replace(earlier, rows=self.rows + other.rows, of=self.of + other.of)

    def check(self, name: str) -> None:
        """Raise if these are over 1 % of the rows."""
        if self.rows > _MISSING * self.of:
            raise InputError(
                f"the target {name} says nothing about some requests",
                where=self.where,
                found=f"{self.rows:,} of {self.of:,} rows, joined by {self.keys}",
                hint=f"{parameter('missing', 'logged')} lets it do there what the log did; "
                f"{parameter('missing', 'drop')} leaves "
                "these rows out",
            )


@dataclass(frozen=True)
class Situation:
    """The inputs of a policy: a log, the names of its columns, and the items that can be shown.

    What is counted of the rows of the log adds up over its pieces (``counts``, ``gaps``); what is
    counted of the tables of a policy (``of_tables``) is the same for each.
    """

    log: Log
    columns: Columns | None
    items: pl.Series
    name: str
    counts: dict[str, int] = field(default_factory=dict)
    of_tables: dict[str, int] = field(default_factory=dict)
    gaps: dict[str, MissingRows] = field(default_factory=dict)
    tables: dict[tuple[int, TableRole], tuple[Table, list[str]]] = field(default_factory=dict)
    """The tables that were read, by the identity of their source and their role, with what joins them with the log."""


class Policy:
    """A policy: the probability with which each logged row's item would be shown."""

    def probabilities(self, situation: Situation, kind: Kind) -> Any:
        """Return the probability of each row; NaN where the policy has none and follows the log."""
        raise NotImplementedError

    def distribution(self, situation: Situation) -> tuple[list[str], pl.DataFrame] | None:
        """Return context columns and each item's ``probability`` by context; None if unknown."""
        return None

    @property
    def needs_items(self) -> bool:
        """Whether probabilities depend on all items that can be shown."""
        return False

    def with_tables_read(self, columns: Columns | None) -> Policy:
        """Return the policy with its tables in memory."""
        return self

    @property
    def description(self) -> str:
        """The kind of policy with its parameters; tables are known by their cards."""
        options = (
            (name, value) for name, value in vars(self).items() if name not in ("table", "items")
        )
        given = ", ".join(
            f"{name}={value!r}" for name, value in options if value not in (None, 0.0)
        )
        return type(self).__name__ + (f"({given})" if given else "")


def _of_kind(conditional: Any, log: Log, kind: Kind) -> Any:
    """Convert conditional probabilities to probabilities of a prefix, or of the full list."""
    if kind in ("conditional", "marginal") or not log.is_slate:
        return conditional
    out = running(np.multiply, conditional, log)
    if kind == "prefix":
        return out
    last = np.flatnonzero(np.diff(log.request, append=log.request[-1] + 1))
    return out[last][log.request]


def running(combine: Any, values: Any, log: Log) -> Any:
    """Return the running product, or sum, of the values of each request up to each row."""
    out = np.array(values, dtype=np.float64)
    for place in range(1, int(log.place.max(initial=0)) + 1):
        rows = np.flatnonzero(log.place == place)
        out[rows] = combine(out[rows], out[rows - 1])
    return out


@dataclass(frozen=True)
class Logged(Policy):
    """The policy that made the log: every weight is 1.

    Examples
    --------
    >>> import rankwise as rw
    >>> log = {"item": [1, 2, 1], "propensity": [0.5, 0.5, 0.5], "click": [1, 0, 0]}
    >>> rw.off_policy(log, targets={"same": rw.policies.Logged()}).per_user["weight(same)"].to_list()
    [1.0, 1.0, 1.0]
    """

    def probabilities(self, situation: Situation, kind: Kind) -> Any:
        """Return NaN for each row: as the log."""
        return np.full(situation.log.rows, np.nan)


@dataclass(frozen=True)
class Column(Policy):
    """A column of the exposures with the probability of each row under the policy.

    Parameters
    ----------
    name : str
        The column. In slates its probabilities are of what ``propensities`` says of the
        propensities.

    Examples
    --------
    >>> import rankwise as rw
    >>> log = {"item": [1, 2], "propensity": [0.5, 0.5], "p_new": [0.9, 0.1], "click": [1, 0]}
    >>> rw.off_policy(log, targets={"new": rw.policies.Column("p_new")}).table["mean_weight"].to_list()
    [1.0, 1.0]
    """

    name: str

    def probabilities(self, situation: Situation, kind: Kind) -> Any:
        """Return the column; raise if a value is no probability."""
        frame = situation.log.frame
        if self.name not in frame.columns:
            raise ColumnError(
                f"the exposures have no column {self.name!r} for {situation.name}",
                where=situation.log.table.source,
                found=quoted_columns(situation.log.table.frame.columns),
                hint="a target that is no column is a table, a dict of lists, or one of "
                "rw.policies",
            )
        values = frame[self.name]
        if not values.dtype.is_numeric():
            raise ColumnError(
                f"column {self.name!r} does not hold probabilities", found=str(values.dtype)
            )
        probability = values.cast(pl.Float64).fill_null(float("nan")).to_numpy()
        _check_probabilities(probability, situation, self.name)
        return probability


def _check_probabilities(values: Any, situation: Situation, column: str) -> None:
    bad = ~((values >= 0) & (values <= 1 + TOLERANCE))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise InputError(
            f"the target {situation.name} has a probability that is none",
            where=f"{situation.log.where(row)}, column {column!r}",
            found=f"{values[row]} ({int(bad.sum()):,} such rows)",
        )


def _is_lists(source: Any) -> bool:
    """Whether a source is a dict of lists by user, and not columns by name."""
    names = (
        [name for name in source if isinstance(name, str)] if isinstance(source, Mapping) else []
    )
    return isinstance(source, Mapping) and not names_of(names, "targets", "item")


def _keys(table: Table, log: Log) -> list[str]:
    """Return the join keys of a target: request, else user, else context; and the position."""
    names = table.frame.columns
    ids: list[str] = [
        name for name in ("request", "user") if name in names and name in log.table.frame.columns
    ]
    keys: list[str] = ids[:1] or [name for name in log.context if name in names]
    return keys + ["position"] * (
        "position" in names and "position" in log.frame.columns and "position" not in keys
    )


def _joinable(table: Table, log: Log, keys: Sequence[str]) -> Table:
    """Return a target's table with ids of the types of the log; raise if a key has another type."""
    _, table = align([log.table, table], "item")
    for key in keys:
        check_types(key, log.table, table)
    casts = {key: pl.col(key).cast(log.frame.schema[key]) for key in keys}
    return table.with_frame(table.frame.with_columns(**casts))


def _read(source: Any, role: TableRole, columns: Columns | None) -> Table:
    return (
        read_table(source, "recommendations")
        if _is_lists(source)
        else read_rows(source, role, columns)
    )


class OfTable(Policy):
    """A policy from a table of rows by context (request, user or further columns) and item."""

    table: Any

    def with_tables_read(self, columns: Columns | None) -> Policy:
        """Return the policy with its table in memory."""
        return replace(self, table=_read(self.table, "targets", columns))  # type: ignore[type-var]

    def read(self, situation: Situation, role: TableRole = "targets") -> tuple[Table, list[str]]:
        """Return the table, which is read once, and the columns that join the table to the log."""
        source, log = self.table, situation.log
        key = id(source), role  # the job keeps the source
        if key not in situation.tables:
            table = _read(source, role, situation.columns)
            keys = _keys(table, log)
            situation.tables[key] = _joinable(table, log, keys), keys
        return situation.tables[key]

    def joined(
        self, situation: Situation, table: Table, keys: list[str], value: str
    ) -> tuple[pl.Series, Any]:
        """Join a value to each logged row; also return a mask of rows whose context is absent."""
        log, frame = situation.log, table.frame
        rows = frame.select(*keys, "item", value)
        repeated = rows.select(*keys, "item").is_duplicated()
        if repeated.any():
            row = int(repeated.arg_true()[0])
            raise DuplicateError(
                f"an item of the target {situation.name} occurs twice",
                where=f"{table.source}, row {row + 1}",
                found=f"{rows.row(row)} ({int(repeated.sum()):,} such rows)",
            )
        ours = log.frame.select(*keys, "item")
        values = ours.join(
            rows, on=[*keys, "item"], how="left", maintain_order="left", nulls_equal=True
        )[value]
        contexts = rows.select(keys).unique().with_columns(_known=True) if keys else None
        if contexts is None:
            absent = np.zeros(log.rows, dtype=bool)
        else:
            known = ours.join(
                contexts, on=keys, how="left", maintain_order="left", nulls_equal=True
            )["_known"]
            absent = known.is_null().to_numpy()
        count = int(absent.sum())
        first = log.frame[ROW].to_numpy()[absent].min() if count else 0
        where = f"{log.table.source}, row {first}"
        situation.gaps[situation.name] = MissingRows(
            count, log.rows, int(first), where, ", ".join(keys)
        )
        unknown = ~ours["item"].is_in(frame["item"].unique().implode()).to_numpy() & ~absent
        situation.counts[
            "exposures of items that the target does not know, which it never shows"
        ] = int(unknown.sum())
        return values, absent


@dataclass(frozen=True)
class Probabilities(OfTable):
    """A table of probabilities: per request (else per user, else per context) and item.

    Parameters
    ----------
    table : table or path
        Columns for the item and the probability, and for what joins it with the exposures: the
        request, else the user, else all columns that both tables have. With a position,
        probabilities are of the item at it.

    Examples
    --------
    >>> import rankwise as rw
    >>> log = {"item": [1, 2], "device": ["tv", "web"], "propensity": [0.5, 0.5], "click": [1, 0]}
    >>> table = {"device": ["tv", "tv", "web"], "item": [1, 2, 2], "probability": [0.75, 0.25, 1.0]}
    >>> new = rw.policies.Probabilities(table)
    >>> rw.off_policy(log, targets={"new": new}).table["mean_weight"].to_list()
    [1.0, 1.75]
    """

    table: Any

    def checked(self, situation: Situation) -> tuple[Table, list[str]]:
        """Return the table and its keys; raise if probabilities are invalid or sum to over 1."""
        table, keys = self.read(situation)
        if "probability" not in table.frame.columns:
            raise missing_column_error(
                f"the target {situation.name} has no probability", "targets.probability", table
            )
        p = table.frame["probability"]
        if ((p < 0) | (p > 1)).any():
            raise bad_row(
                table, "probability", (p < 0) | (p > 1), "a probability lies outside 0 to 1"
            )
        frame = table.frame if keys else table.frame.with_columns(_all=0)
        sums = frame.group_by(keys or ["_all"]).agg(pl.col("probability").sum())
        above = sums.filter(pl.col("probability") > _SUM).sort(keys or ["_all"])
        if len(above):
            raise InputError(
                f"probabilities of the target {situation.name} add up to more than 1",
                where=", ".join(f"{key} {above[key][0]!r}" for key in keys) or table.source,
                found=f"{format_number(above['probability'][0])} ({len(above):,} of {len(sums):,} "
                "contexts)",
            )
        below = int((sums["probability"] < 0.999).sum())
        situation.of_tables["contexts whose probabilities add up to less than 0.999"] = below
        return table, keys

    def probabilities(self, situation: Situation, kind: Kind) -> Any:
        """Return the probability of each row, 0 for items that the table does not have."""
        table, keys = self.checked(situation)
        values, absent = self.joined(situation, table, keys, "probability")
        return _of_kind(
            np.where(absent, np.nan, values.fill_null(0.0).to_numpy()), situation.log, kind
        )

    def distribution(self, situation: Situation) -> tuple[list[str], pl.DataFrame] | None:
        """Return the table."""
        table, keys = self.checked(situation)
        return keys, table.frame.select(*keys, "item", "probability")


@dataclass(frozen=True)
class Lists(OfTable):
    """Recommendation lists of a deterministic ranker, with a share of exploration.

    Parameters
    ----------
    table : table, path or dict
        Recommendations as `rankwise.evaluate` takes them, per user, request or context. At each
        position the policy shows the item of this rank; in requests with several rows, the best
        item that is not above it.
    epsilon : float, default=0.0
        The share of positions that show an item at random, of ``items`` that are not above it.

    Examples
    --------
    >>> import rankwise as rw
    >>> log = {"user": ["ann", "bob"], "item": [1, 2], "propensity": [0.5, 0.5], "click": [1, 0]}
    >>> new = rw.policies.Lists({"ann": [1, 2], "bob": [1, 2]}, epsilon=0.2)
    >>> rw.off_policy(log, targets={"new": new}, items=[1, 2]).per_user["weight(new)"].to_list()
    [1.8, 0.2]
    """

    table: Any
    epsilon: float = 0.0

    def __post_init__(self) -> None:
        check_share("epsilon", self.epsilon)

    @property
    def needs_items(self) -> bool:
        """Whether something is explored."""
        return bool(self.epsilon)

    def ranked(self, situation: Situation) -> tuple[Table, list[str]]:
        """Return the table with ranks from 0, and its keys without the position."""
        table, keys = self.read(situation)
        keys = [key for key in keys if key != "position"]
        frame = table.frame
        if "rank" not in frame.columns and "position" in frame.columns:
            frame = frame.rename({"position": "rank"})
        by: list[Any] = [*keys] or [pl.lit(0)]
        if "rank" in frame.columns:
            order = (pl.col("rank").rank("ordinal") - 1).over(by)
        elif "score" in frame.columns:
            order = pl.struct(-pl.col("score"), "item").rank("ordinal").over(by) - 1
        else:
            order = pl.int_range(pl.len()).over(by)
        return table.with_frame(frame.with_columns(rank=order.cast(pl.Int64))), keys

    def probabilities(self, situation: Situation, kind: Kind) -> Any:
        """Return 1 − epsilon for the item of the list, plus a share of exploration for any item."""
        table, keys = self.ranked(situation)
        values, absent = self.joined(situation, table, keys, "rank")
        rank, log = values.fill_null(-1).to_numpy(), situation.log
        if log.is_slate and kind != "marginal":
            best = _first_unused(rank, log)
            left = len(situation.items) - log.place
        else:
            position = (
                log.frame["position"].to_numpy()
                if "position" in log.frame.columns
                else np.zeros(log.rows)
            )
            best, left = position - log.first_position, np.full(log.rows, len(situation.items))
        known = (
            log.frame["item"].is_in(situation.items.implode()).to_numpy() if self.epsilon else 1.0
        )
        p = (1 - self.epsilon) * (rank == best) + self.epsilon * known / np.maximum(left, 1)
        return _of_kind(np.where(absent, np.nan, p), log, kind)

    def distribution(self, situation: Situation) -> tuple[list[str], pl.DataFrame] | None:
        """Return each list's first item; None with exploration, slates or positions."""
        if self.epsilon or situation.log.is_slate or "position" in situation.log.frame.columns:
            return None
        table, keys = self.ranked(situation)
        return keys, table.frame.filter(pl.col("rank") == 0).select(
            *keys, "item", probability=pl.lit(1.0)
        )


def _first_unused(rank: Any, log: Log) -> Any:
    """Return the best rank that no row above in the same request has."""
    width = int(log.place.max(initial=0)) + 1
    out = np.zeros(log.rows, dtype=np.int64)
    used = np.zeros((int(log.request[-1]) + 1, width + 1), dtype=bool)
    for place in range(width):
        rows = np.flatnonzero(log.place == place)
        requests = log.request[rows]
        out[rows] = np.argmin(used[requests], axis=1)
        inside = (rank[rows] >= 0) & (rank[rows] < width)
        used[requests[inside], rank[rows][inside]] = True
    return out


@dataclass(frozen=True)
class Scores(OfTable):
    """Scores that become probabilities: by softmax, or as the best item with exploration.

    Parameters
    ----------
    table : table or path
        Columns for the item and the score, and for what joins it with the exposures, as for
        `Probabilities`.
    temperature : float, optional
        Probabilities are softmax(score / temperature); in slates without replacement
        (Plackett–Luce).
    epsilon : float, optional
        With a temperature, the share of exploration; without, items are ranked by score as in
        `Lists`.

    Examples
    --------
    >>> import rankwise as rw
    >>> log = {"item": [1, 2], "propensity": [0.5, 0.5], "click": [1, 0]}
    >>> table = {"item": [1, 2], "score": [1.0, 0.0]}
    >>> new = rw.policies.Scores(table, temperature=1.0)
    >>> rw.off_policy(log, targets={"new": new}).per_user["weight(new)"].round(3).to_list()
    [1.462, 0.538]
    """

    table: Any
    temperature: float | None = None
    epsilon: float | None = None

    def __post_init__(self) -> None:
        if self.temperature is None and self.epsilon is None:
            raise _three_policies()
        if self.epsilon is not None:
            check_share("epsilon", self.epsilon)
        check_number("temperature", self.temperature)
        if self.temperature is not None and self.temperature <= 0:
            raise ParameterError(
                "temperature must be above 0", found=parameter("temperature", self.temperature)
            )

    @property
    def needs_items(self) -> bool:
        """Whether something is explored."""
        return bool(self.epsilon)

    def _softmax(self, situation: Situation) -> tuple[Table, list[str]]:
        table, keys = self.read(situation)
        if "score" not in table.frame.columns:
            raise missing_column_error(
                f"the target {situation.name} has no score", "targets.score", table
            )
        by: list[Any] = [*keys] or [pl.lit(0)]
        power = (pl.col("score") - pl.col("score").max().over(by)) / self.temperature
        frame = table.frame.with_columns(_power=power.exp())
        frame = frame.with_columns(probability=pl.col("_power") / pl.col("_power").sum().over(by))
        return table.with_frame(frame), keys

    def probabilities(self, situation: Situation, kind: Kind) -> Any:
        """Return each item's softmax among the remaining items, mixed with exploration."""
        if self.temperature is None:
            return Lists(self.table, self.epsilon or 0.0).probabilities(situation, kind)
        log, epsilon = situation.log, self.epsilon or 0.0
        if log.is_slate and kind == "marginal":
            raise ParameterError(
                "the probability of an item at a position has no closed form for a softmax without "
                "replacement",
                found=f"{parameter('propensities', 'marginal')} and the target {situation.name}",
                hint="pass a table of these probabilities",
            )
        table, keys = self._softmax(situation)
        values, absent = self.joined(situation, table, keys, "probability")
        p = values.fill_null(0.0).to_numpy()
        above = running(np.add, p, log) - p if log.is_slate else 0.0
        left = len(situation.items) - log.place
        chosen = np.clip(p / np.maximum(1.0 - above, 1e-300), 0.0, 1.0)
        known = log.frame["item"].is_in(situation.items.implode()).to_numpy() if epsilon else 1.0
        mixed = (1 - epsilon) * chosen + epsilon * known / np.maximum(left, 1)
        return _of_kind(np.where(absent, np.nan, mixed), log, kind)

    def distribution(self, situation: Situation) -> tuple[list[str], pl.DataFrame] | None:
        """Return the softmax by context, where nothing is explored and requests have one row."""
        if self.temperature is None or self.epsilon or situation.log.is_slate:
            return None
        table, keys = self._softmax(situation)
        return keys, table.frame.select(*keys, "item", "probability")


@dataclass(frozen=True)
class Uniform(Policy):
    """Every item with the same probability; in slates without replacement.

    Parameters
    ----------
    items : iterable, optional
        The items that can be shown; by default ``items`` of `rankwise.off_policy`, or all items of
        the log.

    Examples
    --------
    >>> import rankwise as rw
    >>> log = {"item": [1, 2], "propensity": [0.8, 0.2], "click": [1, 0]}
    >>> rw.off_policy(log, targets={"new": rw.policies.Uniform()}).per_user["weight(new)"].to_list()
    [0.625, 2.5]
    """

    items: Any = None

    @property
    def needs_items(self) -> bool:
        """Whether the policy depends on the items of the log, or of `rankwise.off_policy`."""
        return self.items is None

    def shown(self, situation: Situation) -> pl.Series:
        """Return the items that can be shown."""
        return (
            situation.items if self.items is None else item_series(self.items, situation.log.table)
        )

    def probabilities(self, situation: Situation, kind: Kind) -> Any:
        """Return 1 divided by the number of items, or of remaining items in slates."""
        items, log = self.shown(situation), situation.log
        known = log.frame["item"].is_in(items.implode()).to_numpy()
        left = (
            len(items) - log.place
            if log.is_slate and kind != "marginal"
            else np.full(log.rows, len(items))
        )
        return _of_kind(known / np.maximum(left, 1), log, kind)

    def distribution(self, situation: Situation) -> tuple[list[str], pl.DataFrame] | None:
        """Return each item with its probability, where requests have one row."""
        if situation.log.is_slate:
            return None
        items = self.shown(situation)
        return [], pl.DataFrame(
            {"item": items, "probability": np.full(len(items), 1.0 / len(items))}
        )


def item_series(items: Any, exposures: Table) -> pl.Series:
    """Return the ids of a catalogue, of the type that the exposures have."""
    table = read_table(items, "items")
    _, table = align([exposures, table], "item")
    return table.frame["item"].unique().sort()


def check_share(name: str, value: object) -> None:
    """Raise unless a value lies between 0 and 1."""
    check_number(name, value, optional=False)
    if not 0 <= value <= 1:  # type: ignore[operator]
        raise ParameterError(f"{name} is a share between 0 and 1", found=parameter(name, value))


def _three_policies() -> ParameterError:
    return ParameterError(
        "scores alone may mean three policies",
        hint="rw.policies.Scores(table, temperature=1.0) for softmax; rw.policies.Scores(table, "
        "epsilon=0.0) for the "
        "best item, or with a share of exploration; rw.policies.Lists(table) for the ranked list",
    )


def as_policy(value: Any, columns: Columns | None) -> Policy:
    """Convert a target to a policy: a column, a table of probabilities, lists, or a policy."""
    if isinstance(value, Policy):
        return value
    if isinstance(value, type) and issubclass(value, Policy):
        raise ParameterError(
            "a target is a policy, not its class", found=value.__name__, hint=f"{value.__name__}()"
        )
    if isinstance(value, str) and not Path(value).suffix:  # a path has one
        return Logged() if value == "logged" else Column(value)
    if _is_lists(value):
        if not value:
            raise EmptyError("a target is empty", found="{}")
        return Lists(value)
    table = read_rows(value, "targets", columns)
    if "probability" in table.frame.columns:
        return Probabilities(table)
    if "score" in table.frame.columns and "rank" not in table.frame.columns:
        raise _three_policies()
    return Lists(table)
