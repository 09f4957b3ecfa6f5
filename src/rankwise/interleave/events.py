"""Click events of search engines, one row per event, as exposures with teams and outcomes.

The names of columns are those of User Behavior Insights (UBI), ubisearch.dev, schema 1.3:
``action_name``, ``query_id``, ``client_id`` and ``timestamp``, with the item and its position in
``event_attributes.object.object_id`` and ``event_attributes.position.ordinal``. The schema allows
further attributes; team-draft interleaving names the team in ``search_config``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
from polars.selectors import by_name

from rankwise.errors import ColumnError, InputError, ParameterError, nearest
from rankwise.messages import parameter
from rankwise.tables.columns import ROLES, Columns, overrides_for, plain_name, quoted_columns
from rankwise.tables.files import is_list_of_paths, read_file, read_parts
from rankwise.tables.frames import parse_integers, parse_numbers
from rankwise.tables.memory import from_mapping_of_columns
from rankwise.tables.read import read_table
from rankwise.tables.storage import is_folder
from rankwise.tables.table import Table, TableRole
from rankwise.tables.times import read_times

SHOWN = "impression"
"""The action of an item that was shown, in UBI."""
CLICKS: Mapping[str, float] = {"click": 1.0}
"""The rewards of actions by default."""
_ACTION = "action_name"
_ATTRIBUTES = "event_attributes"
_PLAIN_ACTION, _PLAIN_ATTRIBUTES = plain_name(_ACTION), plain_name(_ATTRIBUTES)
_NAMES = {
    "request": ("query_id",),
    "user": ("client_id", "user_id"),
    "item": (f"{_ATTRIBUTES}.object.object_id", "object_id"),
    "position": (f"{_ATTRIBUTES}.position.ordinal", "ordinal", "position"),
    "team": (
        f"{_ATTRIBUTES}.object.search_config",
        f"{_ATTRIBUTES}.search_config",
        "search_config",
        "team",
    ),
    "timestamp": ("timestamp",),
}
"""The names of each column: in UBI, as dotted names of nested values, and without their path."""
_NEEDED = {"request": "query", "item": "item", "team": "team"}
"""The columns without which clicks cannot be credited, each with its word in messages."""
_OF_OUTCOMES = ("request", "user", "item", "timestamp")
"""The columns of events with a reward."""
_NAMED = 3
"""The number of other actions that a note names."""


@dataclass(frozen=True)
class Events:
    """The events of an interleaving experiment.

    Attributes
    ----------
    exposures : Table
        One row per item of a query: ``request``, ``item`` and ``team``, and if they exist ``user``,
        ``position`` and ``timestamp``.
    outcomes : Table
        One row per event with a reward: ``request``, ``item`` and ``kind`` (the action), and if
        they exist ``user`` and ``timestamp``.
    reward : mapping of str to float
        The reward of each action.
    counts : dict of str to int
        The events that are not read.
    """

    exposures: Table
    outcomes: Table
    reward: Mapping[str, float]
    counts: dict[str, int]


def open_files(source: Any) -> Any:
    """Read a source of files, so that looking at it twice reads it once; return others unchanged."""
    if is_list_of_paths(source, "exposures"):
        return read_parts(source)
    if not isinstance(source, str | Path):
        return source
    return read_parts(source) if is_folder(source) else read_file(source)


def read_events(
    source: Any, shown: str, reward: Mapping[str, float] | None, columns: Columns | None
) -> Events | None:
    """Return the exposures and outcomes of a table of events; None for a table without actions.

    Parameters
    ----------
    source : table
        As for `rankwise.tables.read.read_table`, with one row per event. Columns are nested, or
        flat with dotted names, or flat without paths.
    shown : str
        The action of an item that was shown.
    reward : mapping of str to float or None
        The reward of each action; by default 1 for ``click``.
    columns : mapping of str to str or None
        Names of columns that are not recognised.

    Raises
    ------
    InputError
        If ``shown``, or an action with a reward, does not occur.
    ColumnError
        If there is no column for the query, the item or the team.
    """
    events = _read_actions(source)
    if events is None:
        return None
    reward = CLICKS if reward is None else reward
    counts = _check_actions(events, shown, reward)
    names = _names_of(events, "exposures", columns)
    usual = {column: (names[column],) if column in names else () for column in _OF_OUTCOMES}
    click_names = _names_of(events, "outcomes", columns, usual)
    every_name = [*dict.fromkeys([*names.values(), *click_names.values()])]
    events = _with_types(events, every_name, names.get("position"))

    action = events.frame[_ACTION]
    impressions = events.frame.filter(action == shown)
    clicks = events.frame.filter(action.is_in([*reward]))
    _check_needed(events, "exposures", impressions, names)
    _check_needed(events, "outcomes", clicks, click_names)
    clicks = _rename(clicks, {**click_names, "kind": _ACTION})
    impressions, clicks, teamless = _in_experiment(impressions, clicks, names)
    exposures, repeated = _first_impressions(_read_exposures(impressions, names, events, shown))
    outcomes = Table(clicks, "outcomes", events.source, events.format, click_names)
    counts |= {
        "queries without a team, left out with their clicks": teamless,
        "repeated impressions of an item in a query, of which the first is kept": repeated,
    }
    counts = {name: count for name, count in counts.items() if count}
    return Events(exposures, outcomes, reward, counts)


def _read_actions(source: Any) -> Table | None:
    """Return a table of events with flat columns, of which one is called ``action_name``."""
    if isinstance(source, Mapping):
        source = from_mapping_of_columns(source, "exposures")
    unread: Columns = {f"exposures.{column}": None for column in ROLES["exposures"]}
    table = read_table(source, "exposures", unread)
    actions = (name for name in table.frame.columns if plain_name(name) == _PLAIN_ACTION)
    action = next(actions, None)
    if action is None or table.frame.schema[action].is_nested():
        return None
    columns = [leaf for column in table.frame for leaf in _leaves(column, column.name)]
    flat = {_ACTION if name == action else name: values for name, values in columns}
    if len(flat) < len(columns):
        names = [name for name, _ in columns]
        raise ColumnError(
            "a column stands beside a structure with a field of the same name",
            where=table.source,
            found=repr(next(name for name in flat if names.count(name) > 1)),
            hint="drop one of them",
        )
    texts = flat[_ACTION].cast(pl.String)
    flat[_ACTION] = texts.str.strip_chars() if table.is_text else texts
    return table.with_frame(pl.DataFrame(flat))


def _leaves(column: pl.Series, name: str) -> Iterator[tuple[str, pl.Series]]:
    """Yield the values of a column that are no structures, with dotted names."""
    if not isinstance(column.dtype, pl.Struct):
        yield name, column
        return
    for field in column.struct.fields:
        yield from _leaves(column.struct.field(field), f"{name}.{field}")


def _check_actions(events: Table, shown: str, reward: Mapping[str, float]) -> dict[str, int]:
    """Return the count of events of other actions; raise if one that is read does not occur."""
    sizes = dict(events.frame[_ACTION].value_counts(sort=True).iter_rows())
    found = ", ".join(f"{action!r} ({size:,})" for action, size in sizes.items())
    if shown not in sizes:
        raise InputError(
            f"no event has the action {shown!r}, which is that of a shown item",
            where=events.source,
            found=found,
            hint=f"say which action a shown item has: {parameter('shown', '…')}",
        )
    lacking = next((action for action in reward if action not in sizes), None)
    if lacking is not None:
        raise InputError(
            f"no event has the action {lacking!r}, which has a reward",
            where=events.source,
            found=found,
            hint=f"say which actions have a reward: {parameter('reward', {'…': 1})}",
        )
    others = {action: size for action, size in sizes.items() if action not in {shown, *reward}}
    names = ["no name" if action is None else str(action) for action in others]
    listed = ", ".join([*sorted(names)[:_NAMED], *(["…"] if len(names) > _NAMED else [])])
    return {f"events of other actions, which are not read ({listed})": sum(others.values())}


def _names_of(
    events: Table,
    role: TableRole,
    columns: Columns | None,
    usual: Mapping[str, tuple[str, ...]] = _NAMES,
) -> dict[str, str]:
    """Return the name of each column of exposures or outcomes: chosen by the caller, or usual.

    Raises
    ------
    ParameterError
        If the caller chose a name for a column that is not read of events.
    ColumnError
        If a name that the caller chose does not exist.
    """
    names, chosen = events.frame.columns, overrides_for(columns, role)
    unread = next((column for column in chosen if column not in usual), None)
    if unread is not None:
        raise ParameterError(
            f"{parameter('columns')} names a column that is not read of click events",
            found=f"{unread!r} of {role}; read: {', '.join(usual)}",
            hint="leave it out",
        )
    recognised = {plain_name(name): name for name in reversed(names)}
    found: dict[str, str] = {}
    for column, candidates in usual.items():
        name = chosen.get(column)
        if name is not None and name not in names:
            raise ColumnError(
                f"there is no column {name!r} for the {column}",
                where=events.source,
                found=quoted_columns(names),
                hint=nearest(name, names),
            )
        if column not in chosen:
            matches = (
                each if each in names else recognised.get(plain_name(each)) for each in candidates
            )
            name = next(filter(None, matches), None)
        if name is not None:
            found[column] = name
    return found


def _with_types(events: Table, names: Collection[str], position: str | None) -> Table:
    """Return events with ids and positions as read of other files; empty text is missing."""
    frame = events.frame
    kinds = (pl.String, pl.Categorical, pl.Enum)
    texts = [name for name in names if frame.schema[name] in kinds]
    values = [frame[name].cast(pl.String).replace("", None) for name in texts]
    if not events.is_text:
        return events.with_frame(frame.with_columns(values))
    values = [column.str.strip_chars().replace("", None) for column in values]
    frame = parse_integers(frame.with_columns(values), names)
    return events.with_frame(frame if position is None else parse_numbers(frame, [position]))


def _check_needed(
    events: Table, role: TableRole, rows: pl.DataFrame, names: Mapping[str, str]
) -> None:
    """Raise if impressions have no query, item or team, or events with a reward no query or item."""
    needed = [column for column in _NEEDED if role == "exposures" or column in _OF_OUTCOMES]
    lacking = [
        column
        for column in needed
        if column not in names or rows[names[column]].null_count() == len(rows)
    ]
    if not lacking:
        return
    column = lacking[0]
    in_columns = quoted_columns(rows.columns)
    found = f"no value in column {names[column]!r}" if column in names else in_columns
    name = parameter("columns", {f"{role}.{column}": "…"})
    hint = f"log it as {_NAMES[column][0]}, or say which column it is: {name}"
    attributes = next((name for name in rows.columns if plain_name(name) == _PLAIN_ATTRIBUTES), "")
    if attributes and rows.schema[attributes] == pl.String:
        found = f"text in column {attributes!r}"
        hint = "export the events as NDJSON or Parquet with nested values, or as flat columns"
    kind = "impressions" if role == "exposures" else "events with a reward"
    raise ColumnError(
        f"{kind} have no {_NEEDED[column]}", where=events.source, found=found, hint=hint
    )


def _rename(frame: pl.DataFrame, names: Mapping[str, str]) -> pl.DataFrame:
    """Return columns under the names that they have in rankwise."""
    return pl.DataFrame({column: frame[name] for column, name in names.items()})


def _in_experiment(
    impressions: pl.DataFrame, clicks: pl.DataFrame, names: Mapping[str, str]
) -> tuple[pl.DataFrame, pl.DataFrame, int]:
    """Return impressions and clicks without queries that no team drafted, and their number."""
    drafted = _rename(impressions, {"request": names["request"], "team": names["team"]})
    is_outside = drafted.select(pl.col("team").is_null().all().over("request")).to_series()
    outside = drafted["request"].filter(is_outside).unique()
    if outside.is_empty():
        return impressions, clicks, 0
    of_outside = clicks["request"].is_in(outside.implode()).fill_null(value=False)
    return impressions.filter(~is_outside), clicks.filter(~of_outside), len(outside)


def _read_exposures(
    impressions: pl.DataFrame, names: Mapping[str, str], events: Table, shown: str
) -> Table:
    """Return impressions as exposures, with the checks of ids and numbers that exposures have."""
    every: Columns = {f"exposures.{column}": names.get(column) for column in ROLES["exposures"]}
    columns = [*dict.fromkeys(names.values())]
    table = read_table(impressions.select(by_name(*columns)), "exposures", every)
    return replace(
        table,
        frame=table.frame.select([*names]),
        source=f"{events.source}, {shown} events",
        format=events.format,
    )


def _first_impressions(table: Table) -> tuple[Table, int]:
    """Return the first impression of each item in a query, and the number of later ones."""
    frame = table.frame
    keys = [column for column in ("request", "user", "item") if column in frame.columns]
    if not frame.select(keys).is_duplicated().any():
        return table, 0
    order = ["position", "team"] if "position" in frame.columns else ["team"]
    if "timestamp" in frame.columns:
        frame = frame.with_columns(pl.Series("_time", read_times(table, None).values))
        order = ["_time", *order, "timestamp"]
    first = frame.sort(order, nulls_last=True).unique(keys, keep="first", maintain_order=True)
    return table.with_frame(first.select(table.frame.columns)), len(frame) - len(first)
