"""Evaluations of requests: lists and ground truth by request, everything else by user.

Units have one row each in ``Result.units``, with the user as the group that comparisons take for
clusters. In pieces (``PiecesByRequest``) each piece brings the ground truth of its requests, and
what no piece had is one more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import polars as pl

from rankwise.blocks.partial import Partial
from rankwise.core.units import REQUEST, unit_keys, unit_rows
from rankwise.errors import ColumnError, EmptyError, ParameterError
from rankwise.evaluation.engine import Job, finish, merge, prepare, work
from rankwise.evaluation.settings import Settings
from rankwise.messages import parameter
from rankwise.results.intervals import WEIGHT, group_column, mean_of
from rankwise.results.result import Result, means_of_users
from rankwise.results.values import Values
from rankwise.tables.columns import names_of
from rankwise.tables.ids import settle_ids
from rankwise.tables.places import settle_empty_lists
from rankwise.tables.requests import (
    MEAN_OVER,
    attributes_of_requests,
    column_of_requests,
    counts_of_requests,
    has_requests,
    number_requests,
)
from rankwise.tables.table import Recommendations, Table, Tables


@dataclass(frozen=True, eq=False, repr=False)
class Requests:
    """The requests of an evaluation.

    Attributes
    ----------
    column : str
        The column of the lists that the requests come from.
    truth : {"request", "user", "none"}
        Whether the ground truth is that of a request, that of a user for all requests, or absent.
    each : polars.DataFrame or None
        Every user and request of the lists, before seen items are removed, for the ground truth of a
        user.
    """

    column: str
    truth: str
    each: pl.DataFrame | None

    @classmethod
    def of(cls, settings: Settings, tables: Tables) -> Self | None:
        """Return the requests that lists belong to; None if they belong to users."""
        lists, truth = tables.recommendations, tables.truth
        assert lists is not None
        check_requests(settings, lists)
        if not has_requests(lists):
            return None
        known = "none" if truth is None else "request" if has_requests(truth) else "user"
        each = None
        if truth is not None and known == "user":
            _check_unread(truth)
            each = _requests_of_lists(lists)
        return cls(lists.columns.get(REQUEST, REQUEST), known, each)

    @classmethod
    def none(cls, lists: Table) -> Self:
        """Return no requests, where lists have a column for them and no rows."""
        return cls(REQUEST, "user", lists.frame.select("user", REQUEST))

    def number_requests(self, tables: Tables) -> Tables:
        """Return tables with numbers of requests in lists and ground truth."""
        return number_requests(tables, self.each)

    def describe_requests(self, result: Result) -> Result:
        """Say what requests are, count them and their users, and apply ``mean_over``."""
        sliced = result.sliced
        if sliced is not None:
            sliced = sliced.sort("by", "group", *unit_keys(sliced))
        requests: dict[str, Any] = {"column": self.column, "truth": self.truth}
        if result.provenance["settings"]["mean_over"] == "users":
            kinds = ("weighted mean", "pooled", "composed", "distribution", "groups")
            requests["over_requests"] = [
                cell for cell in result.values if result.kinds.get(cell) in kinds
            ]
        counts = {**result.counts, **counts_of_requests(result.per_user)}
        result = replace(
            result,
            sliced=sliced,
            counts=counts,
            provenance={**result.provenance, "requests": requests},
        )
        result = _with_counted_users(result)
        return (
            result
            if result.provenance["settings"]["mean_over"] == "requests"
            else _over_users(result)
        )


def _requests_of_lists(lists: Recommendations) -> pl.DataFrame:
    """Return every user and request with a list, empty ones included."""
    each = lists.frame.select("user", REQUEST)
    if lists.empty_lists is not None:
        columns = [pl.col(name).cast(kind) for name, kind in each.schema.items()]
        each = pl.concat([each, lists.empty_lists.select(columns)])
    return each.unique(maintain_order=True)


def with_attributes(settings: Settings, tables: Tables, lists_column: str | None) -> Tables:
    """Give the table of users one row per request if the table has attributes of requests.

    ``lists_column`` is the column of the lists that requests come from; None where it is not known
    yet.
    """
    users = tables.users
    column = None if users is None else column_of_requests(users, lists_column)
    if users is None or column is None:
        return tables
    refused = {
        "weights": isinstance(settings.weights, str),
        "jackknife": settings.jackknife is not None,
        "cross": settings.cross,
    }
    option = next((name for name, is_given in refused.items() if is_given), None)
    if option is not None:
        raise ParameterError(
            f"{option} is of users, and this table has attributes of requests",
            where=users.source,
            found=f"column {column!r}",
            hint=f"leave {option} out, or pass a table with one row per user, without {column!r}",
        )
    return replace(tables, users=attributes_of_requests(users, column))


def check_requests(settings: Settings, lists: Table) -> None:
    """Raise if ``mean_over="users"`` lacks requests or meets an incompatible option."""
    if settings.mean_over != "users":
        return
    if not has_requests(lists):
        raise ParameterError(
            f"{parameter('mean_over', 'users')} needs requests, over which the mean of each user "
            "is taken first",
            where=lists.source,
            found=f"columns {', '.join(map(repr, lists.frame.columns))}",
            hint=f"name the column of the request: {parameter('columns', {'request': '…'})}; "
            "means are over users "
            "already",
        )
    if settings.weights is not None:
        raise ParameterError(
            f"with {parameter('mean_over', 'users')} every user counts alike",
            found=parameter("weights", settings.weights),
        )


@dataclass(frozen=True, eq=False, repr=False)
class PiecesByRequest:
    """An evaluation in pieces whose lists belong to requests.

    Attributes
    ----------
    job : Job
        What is asked of tables with one id per request; ground truth comes with every piece.
    """

    job: Job

    @classmethod
    def of(cls, settings: Settings, shared: Tables) -> Self:
        """Return the evaluation of requests under settings of users, and with their tables."""
        pieces = replace(shared, truth=None, by_request=True)
        return cls(prepare(settings, pieces, all_truth=shared.truth))

    @property
    def truth(self) -> Table | None:
        """The ground truth that all pieces share."""
        return self.job.all_truth

    def work(self, piece: Tables, known: Mapping[str, pl.DataType] | None) -> tuple[Self, Partial]:
        """Evaluate the lists of requests whose users are in no other piece.

        ``known`` are the types of ids in earlier pieces. Also returns the evaluation with the types
        of ids that it has now.
        """
        settled, piece = self._settle(piece, known)
        lists = piece.recommendations
        assert lists is not None
        lists = settle_empty_lists(lists, present=self.job.settings.empty_lists == "present")
        piece = replace(piece, recommendations=lists)
        truth = settled._truth_of(lists) if piece.truth is None else piece.truth
        requests = Requests.of(self.job.settings, replace(piece, truth=truth))
        if requests is None:
            raise ParameterError(
                "the lists of one piece belong to requests, and those of another to users",
                where=lists.source,
                found=f"columns {', '.join(map(repr, lists.frame.columns))}",
            )
        partial = work(settled.job, number_requests(replace(piece, truth=truth), requests.each))
        cards = {
            role: tuple({**card, "requests": requests.truth} for card in several)
            for role, several in partial.inputs.items()
        }
        return settled, replace(partial, inputs=cards)

    def _settle(
        self, piece: Tables, known: Mapping[str, pl.DataType] | None
    ) -> tuple[Self, Tables]:
        """Return the evaluation and a piece with one type of each kind of id in all tables."""
        job = self.job
        everything = job.shared if self.truth is None else replace(job.shared, truth=self.truth)
        together = settle_ids(everything.with_tables(piece.by_role), known)
        own = {role: together.by_role[role] for role in piece.by_role}
        shared = replace(together, recommendations=None, truth=None)
        truth = self.truth if piece.truth is not None else together.truth
        is_same = truth is self.truth and all(
            table is job.shared.by_role[role] for role, table in shared.by_role.items()
        )
        if not is_same:
            job = prepare(job.settings, shared, all_truth=truth)
        return replace(self, job=job), piece.with_tables(own)

    def _truth_of(self, lists: Recommendations) -> Table | None:
        """Return the shared ground truth of the users, or of the requests, in the lists."""
        if self.truth is None:
            return None
        keys = unit_keys(self.truth.frame)
        ids = lists.frame.select(keys)
        if lists.empty_lists is not None:
            types = [pl.col(name).cast(ids.schema[name]) for name in keys]
            ids = pl.concat([ids, lists.empty_lists.select(types)])
        return self.truth.with_frame(
            self.truth.frame.join(
                ids.unique(), on=keys, how="semi", maintain_order="left", nulls_equal=True
            )
        )

    def result(self, partials: Sequence[Partial]) -> Result:
        """Return the result of all pieces, and of users and requests without a list."""
        merged = merge(partials)
        settled, _ = self._settle(Tables(), merged.id_types)
        return settled._result(merged)

    def _result(self, merged: Partial) -> Result:
        """Return the result of merged pieces, whose ids have the types of the tables."""
        rest = self._without_list(merged)
        if rest is not None:
            merged = merged.merge(
                replace(work(self.job, rest), protocol=merged.protocol, inputs={})
            )
        cards = merged.inputs["recommendations"]
        settings = self.job.settings
        if (
            self.truth is not None
            and settings.needs_relevant
            and not int(merged.users["n_relevant"].sum())  # else the truth need not be read again
            and self.truth.relevant(settings.relevance_threshold).is_empty()
        ):
            raise EmptyError(
                "no item is relevant", where=self.truth.source, hint="is this the right column?"
            )
        columns = ", ".join(sorted({card["columns"].get(REQUEST, REQUEST) for card in cards}))
        truth = (
            "user" if any(card["requests"] == "user" for card in cards) else cards[0]["requests"]
        )
        inputs = {role: tuple(map(_plain_card, several)) for role, several in merged.inputs.items()}
        requests = Requests(columns, truth, merged.users.head(0))
        return requests.describe_requests(finish(self.job, [replace(merged, inputs=inputs)]))

    def _without_list(self, merged: Partial) -> Tables | None:
        """Return the ground truth of users and requests without a piece; None if none are left."""
        if self.truth is None:
            return None
        with_list = merged.users.select("user", REQUEST)
        if merged.outside is not None:
            with_list = pl.concat([with_list, merged.outside])
        known = with_list.select(unit_keys(self.truth.frame)).unique()
        rest = self.truth.frame.filter(pl.Series(unit_rows(self.truth.frame, known)) < 0)
        if rest.is_empty():
            return None
        return number_requests(Tables(truth=self.truth.with_frame(rest)), with_list.clear())


def _plain_card(card: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in card.items() if name != "requests"}


def _check_unread(truth: Table) -> None:
    """Raise if several unread columns of a ground truth could be the request."""
    names = names_of(list(truth.unread), "truth", REQUEST)
    if len(names) > 1:
        raise ColumnError(
            "two columns of the ground truth could be the request",
            where=truth.source,
            found=", ".join(map(repr, names)),
            hint=f"say which: {parameter('columns', {'truth.request': names[0]})}; or that it "
            "holds for all "
            "requests: "
            f"{parameter('columns', {'truth.request': None})}",
        )


def _with_counted_users(result: Result) -> Result:
    """Return a result whose groups have the number of users beside the number of requests."""
    if result.slices is None:
        return result
    rows = []
    for row in result.slices.iter_rows(named=True):
        inside, requests = _rows_within(result, row["by"], row["group"]), row.get("requests")
        counts = {"users": row["users"], "requests": row["users"] if requests is None else requests}
        if inside is not None:
            counts = {"users": inside["user"].n_unique(), "requests": row["users"]}
        head = {"by": row["by"], "group": row["group"], **counts}
        rows.append(head | {name: value for name, value in row.items() if name not in head})
    head_types: dict[str, Any] = {
        "by": pl.String,
        "group": pl.String,
        "users": pl.Int64,
        "requests": pl.Int64,
    }
    types = {name: kind for name, kind in result.slices.schema.items() if name not in head_types}
    return replace(result, slices=pl.DataFrame(rows, schema=head_types | types))


def _over_users(result: Result) -> Result:
    """Replace means over requests by means over users of each user's mean over requests."""
    cells = [cell for cell in result.values if result.is_mean_of_users(cell)]
    undefined = result.provenance["settings"]["undefined"] == "nan"

    def means(rows: pl.DataFrame) -> dict[str, float]:
        here = [cell for cell in cells if cell in rows.columns]
        of_users = means_of_users(rows, here)
        gaps = {cell: undefined and bool(rows[cell].is_nan().any()) for cell in here}
        return {cell: float("nan") if gaps[cell] else mean_of(of_users[cell]) for cell in here}

    slices = result.slices
    if slices is not None:
        rows = []
        for row in slices.iter_rows(named=True):
            inside = _rows_within(result, row["by"], row["group"])
            rows.append(row if inside is None else row | means(inside))
        slices = pl.DataFrame(rows, schema=slices.schema)
    assert WEIGHT not in result.per_user.columns
    per_user = result.per_user.with_columns(
        pl.lit("users").alias(MEAN_OVER)
    )  # so that tables of values say it, too
    values = Values({**result.values, **means(result.per_user)})
    return replace(result, values=values, slices=slices, per_user=per_user)


def _rows_within(result: Result, by: str, group: str | None) -> pl.DataFrame | None:
    """Return the requests of a user group or of a slice of relevant items; None if unknown."""
    column = group_column(by)
    if column in result.per_user.columns:
        return result.per_user.filter(pl.col(column).eq_missing(group))
    if result.sliced is None or by not in result.sliced["by"]:
        return None
    return result.sliced.filter(pl.col("by") == by, pl.col("group").eq_missing(group))
