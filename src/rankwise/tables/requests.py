"""Several requests of one user: page views, sessions, queries, notifications.

A list then belongs to a request. While they are evaluated, lists and ground truth have the number of
a request in place of the user (`rankwise.core.units`); all other tables keep their users, and each
request is looked up in them by its user.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

import polars as pl

from rankwise.core.units import REQUEST, number_units
from rankwise.errors import ColumnError, DuplicateError, IdError, ParameterError, RankwiseError
from rankwise.messages import call, parameter
from rankwise.tables.columns import Columns, names_of, overrides_for, unit_named
from rankwise.tables.table import Table, Tables

_T = TypeVar("_T", bound=Table)
MEAN_OVER = "mean_over"
"""The column of values by request that says ``users`` if means are over users, each over the user's requests."""
_BETWEEN = "\x1f"  # between the ids of the user and of the request; users without a request have an empty one


def has_requests(table: Table | None) -> bool:
    """Return whether a table says which request a row belongs to."""
    return table is not None and REQUEST in table.frame.columns


def check_no_requests(lists: Table | None, what: str) -> None:
    """Raise if lists belong to requests, where only lists of users can be evaluated."""
    if lists is not None and has_requests(lists):
        name = lists.columns.get(REQUEST, REQUEST)
        raise ParameterError(
            f"{what} takes one list per user, and these lists belong to requests of users",
            where=lists.source,
            found=f"column {name!r}",
            hint=f"{call('evaluate')} takes requests; here leave the column out, "
            f"{parameter('columns', {'request': None})}, or take requests for independent users, "
            f"{parameter('columns', {'user': name})}",
        )


_ROLE_NAMES = {
    "truth": "ground truth",
    "train": "training interactions",
    "users": "table of users",
    "reference": "reference lists",
}


def check_same_units(tables: Iterable[Table], columns: Columns | None) -> None:
    """Raise if sessions or queries are the users of one table, and requests of users in another.

    Both have small whole numbers as ids, which match by chance. A table whose column of users the
    caller named is taken as it is.

    Raises
    ------
    ColumnError
        If a table without a user has sessions (or queries) for users, and another has users and
        these sessions.
    """
    inferred = [table for table in tables if _has_recognised_user(table, columns)]
    people = [table for table in inferred if unit_named(table.columns["user"]) == "user"]
    for table in inferred:
        name = table.columns["user"]
        unit = unit_named(name)
        others = {other.source: _column_of_unit(other, unit) for other in people}
        if unit == "user" or not any(others.values()):
            continue
        user = next(other for other in people if others[other.source])
        raise ColumnError(
            f"a {unit} is a user in one table, and a request of a user in another",
            where=f"{table.source}, {user.source}",
            found=f"column {name!r} for the user of {_called(table)}, and no column "
            f"{user.columns['user']!r} there",
            hint=_way_out(table, people, unit),
        )


def _has_recognised_user(table: Table, columns: Columns | None) -> bool:
    """Return whether the column of users was recognised by its name, and neither given nor made."""
    is_named = not table.is_positional and not table.format.startswith(("trec", "ranking", "json"))
    return (
        is_named
        and "user" in table.columns
        and overrides_for(columns, table.role).get("user") is None
    )


def _column_of_unit(table: Table, unit: str) -> str | None:
    """Return the column of sessions (or queries) beside the users; None if there is none."""
    names = (*table.columns.values(), *table.unread, *table.frame.columns)
    return next(
        (name for name in names if name != table.columns["user"] and unit_named(name) == unit), None
    )


def _way_out(table: Table, people: Sequence[Table], unit: str) -> str:
    """Return how to evaluate sessions as users, and how as requests of users."""
    user = (
        f"for {_PLURAL[unit]} as requests of users, add the column of the user to {_called(table)}"
    )
    named = {other.role: _column_of_unit(other, unit) for other in people}
    if not all(named.values()):
        return user
    keys = ["user"] if table.role in named else [f"{role}.user" for role in named]
    columns = dict(zip(keys, named.values(), strict=False))
    return f"for {_PLURAL[unit]} as users, {parameter('columns', columns)}; or {user}"


_PLURAL = {"session": "sessions", "query": "queries"}


def _called(table: Table) -> str:
    return (
        f"the {_ROLE_NAMES.get(table.role, table.role)}"
        if table.source == table.role
        else table.source
    )


def column_of_requests(users: Table, lists_column: str | None) -> str | None:
    """Return the column of a table of users whose rows are of requests; None if they are of users.

    It is called as that of the lists is, or users have several rows and a column is recognised.
    """
    others = [name for name in users.frame.columns if name != "user"]
    if lists_column is not None and lists_column in others:
        return lists_column
    names = names_of(others, "truth", REQUEST)
    return names[0] if len(names) == 1 and users.frame["user"].is_duplicated().any() else None


def attributes_of_requests(users: Table, column: str) -> Table:
    """Return a table of users with one row per request, whose column of requests is called so."""
    frame = users.frame.rename({column: REQUEST}) if column != REQUEST else users.frame
    repeated = frame.select("user", REQUEST).is_duplicated()
    if repeated.any():
        row = frame.filter(repeated).row(0, named=True)
        raise DuplicateError(
            "a request has two rows of attributes",
            where=f"{users.source}, user {row['user']!r}, request {row[REQUEST]!r}",
            found=f"{int(repeated.sum()):,} such rows",
            hint="keep one row per user and request",
        )
    columns = {name: source for name, source in users.columns.items() if name != column}
    return replace(users, frame=frame, columns={**columns, REQUEST: column})


def without_requests(truth: Table) -> Table:
    """Return a ground truth whose column of requests is not read, because lists belong to users."""
    if not has_requests(truth):
        return truth
    columns = dict(truth.columns)
    unread = (*truth.unread, columns.pop(REQUEST, REQUEST))
    return replace(truth, frame=truth.frame.drop(REQUEST), columns=columns, unread=unread)


def naming_requests(error: RankwiseError, lists: Table, truth: Table | None) -> RankwiseError:
    """Extend an error about duplicate rows of a user with columns that may name the request."""
    where = str(error.where)
    if truth is not None and where.startswith(truth.source):
        hint = _requests_of_truth(truth)
    elif where.startswith((lists.source, "user ")) and lists.unread and not has_requests(lists):
        unread = ", ".join(map(repr, lists.unread[:3]))
        hint = (
            f"or name the request, if users have several: "
            f"{parameter('columns', {'request': '…'})}, of columns "
            f"not read: {unread}"
        )
    else:
        return error
    return type(error)(
        error.what,
        where=error.where,
        found=error.found,
        hint="; ".join(filter(None, [error.hint.marked if error.hint else "", hint])),
    )


def _requests_of_truth(truth: Table) -> str:
    """Return the hint to give the lists the request column of the ground truth, or empty text."""
    named = (
        [truth.columns[REQUEST]]
        if REQUEST in truth.columns
        else names_of(list(truth.unread), "truth", REQUEST)
    )
    if not named:
        return ""
    return (
        f"or give the lists a column {named[0]!r} as well, if each list is that of one "
        f"{_unit_of(named[0])}"
    )


def _unit_of(name: str) -> str:
    unit = unit_named(name)
    return "request" if unit == "user" else unit


def unread_requests(lists: Table, truth: Table) -> list[str]:
    """Return a warning if users have several requests in the ground truth, but only one list."""
    if has_requests(lists) or not has_requests(truth):
        return []
    several = (
        truth.frame.group_by("user")
        .agg(pl.col(REQUEST).n_unique().alias("n"))
        .filter(pl.col("n") > 1)
    )
    return [] if several.is_empty() else [words_of_unread_requests(truth)]


def words_of_unread_requests(truth: Table) -> str:
    """Return that the requests of a ground truth are not told apart, because lists are of users."""
    name = truth.columns.get(REQUEST, REQUEST)
    return (
        f"the ground truth has several {_PLURAL.get(_unit_of(name), 'requests')} of a user (column "
        f"{name!r}), and the "
        "lists are of users: the items of all of them count together"
    )


def number_requests(tables: Tables, requests: pl.DataFrame | None) -> Tables:
    """Return tables whose lists and ground truth have the number of a request for their user.

    Ground truth without a column for the request holds for all ``requests`` of its user: each
    ``user`` and ``request`` that had a list, which are needed for such a ground truth alone. A user
    without one has a unit without a request. Lists may be absent. The other tables keep their
    users.

    Raises
    ------
    IdError
        If a request has an empty id, or an id has the character that stands between a user and a
        request in units of results.
    """
    lists, truth = tables.recommendations, tables.truth
    if lists is not None and lists.is_exact:
        raise ParameterError(
            "exact ranks have no requests",
            where=lists.source,
            hint="rank lists, and evaluate those",
        )
    if truth is not None and not has_requests(truth):
        assert requests is not None
        truth = _of_all_requests(truth, requests)
    numbered: list[Table] = [table for table in (lists, truth) if table is not None]
    for table in numbered:
        _check_names(table)

    units, numbers = number_units([table.frame for table in numbered])
    changed = {
        table.role: table.with_frame(table.frame.drop(REQUEST).with_columns(number))
        for table, number in zip(numbered, numbers, strict=True)
    }
    made = replace(tables.with_tables(changed), units=units, by_request=True)
    if made.recommendations is None:
        return made
    return replace(made, recommendations=replace(made.recommendations, k=None))


def _of_all_requests(truth: Table, requests: pl.DataFrame) -> Table:
    """Repeat the ground truth of each user per request; users without requests keep a null."""
    return truth.with_frame(
        truth.frame.join(requests, on="user", how="left", maintain_order="left_right")
    )


def _check_names(table: Table) -> None:
    """Raise if a user or a request has an id that cannot be told from another unit's."""
    for name in ("user", REQUEST):
        ids = table.frame[name]
        if ids.dtype != pl.String:
            continue
        empty = int((ids == "").sum()) if name == REQUEST else 0
        if empty:
            raise IdError("a request has an empty id", where=table.source, found=f"{empty:,} rows")
        bad = ids.str.contains(_BETWEEN, literal=True).fill_null(value=False)
        if bad.any():
            raise IdError(
                f"ids of a {name} cannot have the control character U+001F where users have "
                "requests",
                where=f"{table.source}, column {table.columns.get(name, name)!r}",
                found=repr(ids.filter(bad)[0]),
            )


def request_ids(frame: pl.DataFrame) -> pl.Series:
    """Return one id for the user and the request of each row."""
    parts = [
        pl.col("user").cast(pl.String),
        pl.lit(_BETWEEN),
        pl.col(REQUEST).cast(pl.String).fill_null(""),
    ]
    return frame.select(user=pl.concat_str(parts)).to_series()


def users_of_requests(ids: pl.Series) -> pl.Series:
    """Extract the users from ids made by `request_ids`; other ids are users.

    >>> ids = request_ids(pl.DataFrame({"user": [7, 8], "request": ["a", None]}))
    >>> users_of_requests(ids).to_list()
    ['7', '8']
    """
    return _parts(ids)["user"]


def row_named(key: object) -> str:
    """Return a user in words, or the request that an id of `request_ids` is of.

    >>> row_named(7), row_named("b"), row_named(request_ids(pl.DataFrame({"user": [1], "request": [2]}))[0])
    ('user 7', "user 'b'", 'request 2 of user 1')
    """
    if not _is_of_request(key):
        return f"user {key!r}"
    user, request = str(key).split(_BETWEEN)
    return f"request {request} of user {user}" if request else f"user {user}, without a request,"


def such_rows(key: object, count: int) -> str:
    """Format a count of users, or of requests if ``key`` is a request id."""
    return f"{count} such {'requests' if _is_of_request(key) else 'users'}"


def _is_of_request(key: object) -> bool:
    return isinstance(key, str) and key.count(_BETWEEN) == 1


def _parts(ids: pl.Series) -> pl.DataFrame:
    """Return the ids of the user and of the request in each id that `request_ids` made."""
    parts = ids.cast(pl.String).str.split_exact(_BETWEEN, 1)
    return parts.struct.rename_fields(["user", REQUEST]).struct.unnest()


def counts_of_requests(per_user: pl.DataFrame) -> dict[str, int]:
    """Return the number of requests, and of their users; empty without requests."""
    if REQUEST not in per_user.columns:
        return {}
    return {"requests": len(per_user), "users": per_user["user"].n_unique()}
