"""Several requests of one user: page views, sessions, queries, notifications.

A list then belongs to a request. Until the result, lists and ground truth have one id per request, made of the ids of
the user and of the request; all other tables keep their users, and each request is looked up in them by its user.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from rankwise.errors import IdError, ParameterError, RankwiseError
from rankwise.tables.table import Recommendations, Table, Tables
from rankwise.tables.training import align

__all__ = [
    "MEAN_OVER",
    "REQUEST",
    "check_no_requests",
    "counts_of_requests",
    "has_requests",
    "naming_requests",
    "one_id_per_request",
    "request_ids",
    "truth_by_request",
    "users_and_requests",
    "users_as_text",
    "users_of_requests",
    "without_requests",
]

REQUEST = "request"
"""The column of the request, in lists, ground truth and per-user values."""
MEAN_OVER = "mean_over"
"""The column of values by request that says ``users`` if means are over users, each over the user's requests."""
_BETWEEN = "\x1f"  # between the ids of the user and of the request; users without a request have an empty one
_BY_USER = ("train", "users", "reference", "weights")


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
            hint='rankwise.evaluate takes requests; here leave the column out, columns={"request": None}, or take '
            f'requests for independent users, columns={{"user": "{name}"}}',
        )


def without_requests(truth: Table) -> Table:
    """Return a ground truth whose column of requests is not read, because lists belong to users."""
    if not has_requests(truth):
        return truth
    columns = dict(truth.columns)
    unread = (*truth.unread, columns.pop(REQUEST, REQUEST))
    return replace(truth, frame=truth.frame.drop(REQUEST), columns=columns, unread=unread)


def naming_requests(error: RankwiseError, lists: Table) -> RankwiseError:
    """Return an error about two rows of one user with the columns that may tell the requests of users apart."""
    is_of_lists = str(error.where).startswith((lists.source, "user "))
    if not lists.unread or has_requests(lists) or not is_of_lists:
        return error
    unread = ", ".join(map(repr, lists.unread[:3]))
    hint = f'or name the request, if users have several: columns={{"request": …}}, of the columns not read: {unread}'
    return type(error)(
        error.what, where=error.where, found=error.found, hint="; ".join(filter(None, [error.hint, hint]))
    )


def one_id_per_request(tables: Tables, requests: pl.DataFrame) -> Tables:
    """Return tables whose lists and ground truth have one id per request, in place of the user.

    Ground truth without a column for the request holds for all ``requests`` of its user: each ``user`` and ``request``
    that had a list. A user without one has one id, without a request. The other tables keep their users, as text.
    """
    lists = tables.recommendations
    assert lists is not None
    if lists.is_exact:
        raise ParameterError("exact ranks have no requests", where=lists.source, hint="rank lists, and evaluate those")
    roles = [role for role in tables.by_role if "user" in tables.by_role[role].frame.columns]
    aligned = dict(zip(roles, align([tables.by_role[role] for role in roles], "user"), strict=True))
    changed: dict[Any, Any] = users_as_text(aligned)
    changed["recommendations"] = _with_requests(aligned["recommendations"])
    if "truth" in aligned:
        truth = aligned["truth"]
        changed["truth"] = _with_requests(truth if has_requests(truth) else _of_all_requests(truth, requests))
    return replace(tables, **changed)


def users_as_text(tables: Mapping[Any, Table]) -> dict[Any, Table]:
    """Return the tables that are looked up by user, by role, with ids as text."""
    return {
        role: replace(table.with_ids("user", table.frame["user"].cast(pl.String)), is_text=True)
        for role, table in tables.items()
        if role in _BY_USER
    }


def truth_by_request(truth: Table) -> Table:
    """Return a ground truth with one id per request; without one for users whose request it does not say."""
    if has_requests(truth):
        return _with_requests(truth)
    return _with_requests(truth.with_frame(truth.frame.with_columns(pl.lit(None, pl.String).alias(REQUEST))))


def _of_all_requests(truth: Table, requests: pl.DataFrame) -> Table:
    """Return the ground truth of users as that of each of their requests; without one where they have none."""
    requests = requests.with_columns(pl.col("user").cast(truth.frame["user"].dtype))
    return truth.with_frame(truth.frame.join(requests, on="user", how="left", maintain_order="left_right"))


def _with_requests(table: Table) -> Table:
    ids = table.frame.select(pl.col("user", REQUEST).cast(pl.String))
    empty = int((ids[REQUEST] == "").sum())
    if empty:
        raise IdError("a request has an empty id", where=table.source, found=f"{empty:,} rows")
    for name in ids.columns:
        bad = ids[name].str.contains(_BETWEEN, literal=True).fill_null(value=False)
        if bad.any():
            raise IdError(
                f"ids of a {name} cannot have the control character U+001F where users have requests",
                where=f"{table.source}, column {table.columns.get(name, name)!r}",
                found=repr(ids[name].filter(bad)[0]),
            )
    frame = table.frame.drop(REQUEST).with_columns(user=request_ids(ids))
    changed = replace(table, frame=frame, is_text=False)
    return replace(changed, k=None) if isinstance(changed, Recommendations) else changed


def request_ids(frame: pl.DataFrame) -> pl.Series:
    """Return one id for the user and the request of each row."""
    parts = [pl.col("user").cast(pl.String), pl.lit(_BETWEEN), pl.col(REQUEST).cast(pl.String).fill_null("")]
    return frame.select(user=pl.concat_str(parts)).to_series()


def users_of_requests(ids: pl.Series) -> pl.Series:
    """Return the user of each id that `request_ids` made; other ids are users.

    >>> ids = request_ids(pl.DataFrame({"user": [7, 8], "request": ["a", None]}))
    >>> users_of_requests(ids).to_list()
    ['7', '8']
    """
    return _parts(ids)["user"]


def _parts(ids: pl.Series) -> pl.DataFrame:
    """Return the ids of the user and of the request in each id that `request_ids` made."""
    parts = ids.cast(pl.String).str.split_exact(_BETWEEN, 1)
    return parts.struct.rename_fields(["user", REQUEST]).struct.unnest()


def users_and_requests(frame: pl.DataFrame, user: Any, request: Any) -> pl.DataFrame:
    """Return a frame with ``user`` and ``request``, of these types, in place of one id per request; in their order."""
    frame = frame.with_columns(_parts(frame["user"]).get_columns())
    named = frame.with_columns(
        pl.col("user").cast(user), pl.when(pl.col(REQUEST) != "").then(pl.col(REQUEST)).cast(request)
    )
    rest = [name for name in frame.columns if name not in ("user", REQUEST)]
    within = [name for name in ("by", "group") if name in rest]
    others = [name for name in rest if name not in within]
    return named.select(*within, "user", REQUEST, *others).sort(*within, "user", REQUEST)


def counts_of_requests(per_user: pl.DataFrame) -> dict[str, int]:
    """Return the number of requests, and of their users; empty without requests."""
    if REQUEST not in per_user.columns:
        return {}
    return {"requests": len(per_user), "users": per_user["user"].n_unique()}
