"""Which column holds the users, which the items: recognised by name, and checks of their values."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

import polars as pl

from rankwise.core.ids import plain_strings
from rankwise.errors import ColumnError, EmptyError, IdError, ParameterError, ScoreError, nearest
from rankwise.tables.table import Table, TableRole

__all__ = [
    "EXACT",
    "KNOWN",
    "POLARS_FAILURES",
    "ROLES",
    "Columns",
    "check_exact",
    "check_finite",
    "check_numeric",
    "check_ranks",
    "check_was_read",
    "checked_ids",
    "choose",
    "could_decide",
    "empty_table",
    "is_row_number",
    "known_column",
    "may_be_missing",
    "names_of",
    "not_finite",
    "null_ids",
    "plain_name",
    "recognise",
    "undecided",
    "unreadable",
    "where_in",
]

Columns: TypeAlias = "Mapping[str, str | None]"

_USER = ("user", "userid", "uid", "u", "query", "queryid", "qid")
_ITEM = (
    "item",
    "itemid",
    "iid",
    "i",
    "movie",
    "movieid",
    "product",
    "productid",
    "doc",
    "docid",
    "docno",
    "article",
    "articleid",
    "track",
    "trackid",
    "book",
    "bookid",
    "song",
    "songid",
)
_SCORE = ("score", "rating", "prediction", "predictedrating", "predicted", "pred", "est", "sim")
_RELEVANCE = ("relevance", "rating", "rel", "label", "grade", "stars", "score")
_TIME = ("timestamp", "time", "unixtime", "datetime", "date", "ts")

ROLES: dict[TableRole, dict[str, tuple[str, ...]]] = {
    "recommendations": {"user": _USER, "item": _ITEM, "rank": ("rank", "position"), "score": _SCORE},
    "truth": {"user": _USER, "item": _ITEM, "relevance": _RELEVANCE, "timestamp": _TIME},
    "train": {"user": _USER, "item": _ITEM, "relevance": _RELEVANCE, "timestamp": _TIME},
    "interactions": {"user": _USER, "item": _ITEM, "relevance": _RELEVANCE, "timestamp": _TIME},
    "items": {"item": _ITEM},
    "users": {"user": _USER},
    "reference": {"user": _USER, "item": _ITEM, "rank": ("rank", "position"), "score": _SCORE},
}
"""For each role of a table its columns, and for each column the names that it usually has."""

_RARE = {
    "user": ("customer", "customerid", "visitor", "visitorid", "session", "sessionid"),
    "item": ("asin", "parentasin"),
    "score": (
        "predictedscore",
        "ypred",
        "yhat",
        "probability",
        "prob",
        "proba",
        "logit",
        "logits",
        "confidence",
        "similarity",
    ),
    "relevance": ("weight", "value", "count", "counts", "click", "clicks", "clicked", "target", "gain"),
}
"""Names that count where no usual one is there: ``session_id`` beside ``user_id`` is no user."""

_WEAK = {"score": "rating", "relevance": "score"}
"""Usual names that may mean something else: a rating beside predictions is what was observed."""

_DECIDING: dict[TableRole, tuple[str, ...]] = {
    "recommendations": ("rank", "score"),
    "reference": ("rank", "score"),
    "truth": ("relevance",),
}
"""The columns that order lists or decide what is relevant."""
_ROW_NUMBERS = ("unnamed", "indexlevel0", "level0", "index")
"""The names under which pandas writes the numbers of rows, besides the empty one."""

KNOWN: dict[TableRole, dict[str, tuple[str, ...]]] = {
    "items": {
        "categories": ("category", "categories", "genre", "genres", "tag", "tags", "topics"),
        "features": ("feature", "features", "vector", "embedding", "embeddings"),
        "group": ("group", "itemgroup", "cluster", "segment"),
        "propensity": ("propensity", "propensities"),
    },
    "users": {"group": ("group", "usergroup", "cluster", "segment")},
}
"""Columns that are looked for only when a metric needs them."""

_IDS = re.compile(r":token(_seq)?$")
"""The types of RecBole's columns that hold ids, whatever they look like."""
_OPTIONAL = {"rank", "score", "relevance", "timestamp"}


def plain_name(name: str) -> str:
    """Return a column's name as it is compared: letters and digits only, in lower case.

    Letters of every script are kept: a name without them would be no name.
    """
    return re.sub(r"[\W_]", "", name.split(":")[0].lower())


def names_of(names: Sequence[str], role: TableRole, column: str) -> list[str]:
    """Return the names in a table that a column may have, rare ones only if no usual one is there.

    >>> names_of(["user_id", "session_id"], "truth", "user"), names_of(["asin"], "truth", "item")
    (['user_id'], ['asin'])
    """
    # A weight or a count of interactions is a relevance only where they are the ground truth.
    rare = () if column == "relevance" and role != "truth" else _RARE.get(column, ())
    usual, others = ([name for name in names if plain_name(name) in known] for known in (ROLES[role][column], rare))
    weak = [plain_name(name) for name in usual] == [_WEAK.get(column)]
    return usual + others if weak else usual or others


def could_decide(
    names: Sequence[str], role: TableRole, columns: Mapping[str, str], overrides: Mapping[str, str | None]
) -> list[str]:
    """Return the columns that may order the lists or say what is relevant, if none is known to.

    Nothing is asked of a caller who left the score, or the relevance, without a column.
    """
    deciding = _DECIDING.get(role, ())
    if not deciding or deciding[-1] in overrides or any(column in columns for column in deciding):
        return []
    unread = [name for name in names if name not in columns.values()]
    return [
        name for name in unread if plain_name(name) not in _TIME and not is_row_number(name) and not _IDS.search(name)
    ]


def undecided(role: TableRole, names: Sequence[str], where: str) -> ColumnError:
    """Return the error for columns of numbers that may be the score, or the relevance."""
    column = _DECIDING[role][-1]
    otherwise = "every row is relevant" if role == "truth" else "the rows are in order, best first"
    known = "relevance" if role == "truth" else "rank or score"
    return ColumnError(
        f"no column is known to be the {known}, and {names[0]!r} could be it",
        where=where,
        found=f"numbers in {', '.join(map(repr, names[:5]))}",
        hint=f'say which: columns={{"{role}.{column}": "{names[0]}"}}; or that there is none, and '
        f'{otherwise}: columns={{"{role}.{column}": None}}',
    )


def is_row_number(name: str) -> bool:
    """Return whether a column has a name under which pandas writes the numbers of rows.

    >>> is_row_number("Unnamed: 0"), is_row_number(""), is_row_number("ndcg@10")
    (True, True, False)
    """
    return not name.strip() or plain_name(name) in _ROW_NUMBERS


def choose(columns: Columns | None, role: TableRole) -> dict[str, str | None]:
    """Return the part of ``columns`` that concerns the table with one role.

    A key is a column (``"user"``) of all tables, or of one table (``"truth.user"``), which takes
    precedence.

    >>> choose({"user": "uid", "truth.relevance": "stars"}, "truth")
    {'user': 'uid', 'relevance': 'stars'}
    """
    chosen: dict[str, str | None] = {}
    all_columns = {table: {**known, **KNOWN.get(table, {})} for table, known in ROLES.items()}
    for key, name in sorted((columns or {}).items(), key=lambda pair: "." in pair[0]):
        table, _, column = key.rpartition(".")
        tables = [role for role in all_columns if table in ("", role)]
        if not any(column in all_columns[role] for role in tables):
            names = sorted({name for known in all_columns.values() for name in known})
            raise ParameterError(
                f"columns: there is no {key!r}",
                found=f"roles: {', '.join(names)}; tables: {', '.join(ROLES)}",
                hint=nearest(column, names),
            )
        if role in tables and column in all_columns[role]:
            chosen[column] = name
    return chosen


def known_column(
    names: Sequence[str], role: TableRole, column: str, overrides: Mapping[str, str | None], where: str
) -> str | None:
    """Return the name of a column that only some metrics need; None if there is none.

    >>> known_column(["item", "genres"], "items", "categories", {}, "items")
    'genres'
    """
    if column in overrides:
        return overrides[column]
    if column in names:
        return column
    matches = [name for name in names if plain_name(name) in KNOWN.get(role, {}).get(column, ())]
    if len(matches) > 1:
        raise _ambiguous(role, column, matches, where)
    return matches[0] if matches else None


def _ambiguous(role: TableRole, column: str, matches: Sequence[str], where: str) -> ColumnError:
    strong = [name for name in matches if plain_name(name) != _WEAK.get(column)] or matches
    hint = f'say which: columns={{"{role}.{column}": "{strong[0]}"}}'
    if column == "score" and len(strong) < len(matches):
        hint += "; predicted ratings beside true ones are evaluated by rw.evaluate_ratings"
    return ColumnError(
        f"two columns could be the {column}", where=where, found=", ".join(map(repr, matches)), hint=hint
    )


def recognise(names: Sequence[str], role: TableRole, overrides: Mapping[str, str | None], where: str) -> dict[str, str]:
    """Return the name of each column (user, item, score, …) in a table.

    Parameters
    ----------
    names : sequence of str
        The names in the table.
    role : str
        What the table is for.
    overrides : mapping of str to str or None
        Names chosen by the caller; None leaves a column out.
    where : str
        The table, for messages.

    Returns
    -------
    dict of str to str
        The name of each column that the table has.

    Raises
    ------
    ColumnError
        If a column is missing, or two names fit one column.
    """
    out: dict[str, str] = {}
    for column in ROLES[role]:
        if column in overrides:
            chosen = overrides[column]
            if chosen is None:
                continue
            if chosen not in names:
                raise ColumnError(
                    f"there is no column {chosen!r} for the {column}",
                    where=where,
                    found=_listed(names),
                    hint=nearest(chosen, names),
                )
            out[column] = chosen
            continue
        taken = {name for name in overrides.values() if name is not None}
        matches = names_of([name for name in names if name not in taken], role, column)
        if len(matches) > 1:
            raise _ambiguous(role, column, matches, where)
        if matches:
            out[column] = matches[0]
        elif column not in _OPTIONAL:
            raise ColumnError(
                f"there is no column for the {column}",
                where=where,
                found=_listed(names),
                hint=f'say which: columns={{"{role}.{column}": "…"}}',
            )
    return out


def _listed(names: Sequence[str]) -> str:
    return "columns " + ", ".join(map(repr, names)) if names else "no columns"


POLARS_FAILURES = (pl.exceptions.PolarsError, pl.exceptions.PanicException)
"""What Polars raises: a panic, which damaged files can cause, is no `Exception`."""
EXACT = 2**53
"""Whole numbers below this are floats without loss."""


def checked_ids(ids: pl.Series, column: str, table: Table) -> pl.Series:
    """Return ids as integers or strings; raise if they are null or of another type."""
    where = where_in(table, column)
    ids = plain_strings(ids)
    if ids.dtype in (pl.Int128, pl.UInt128) or (
        ids.dtype == pl.UInt64 and int(cast("int | None", ids.max()) or 0) >= 2**63
    ):
        ids = _narrow(ids, where)
    if ids.null_count():
        row = int(ids.is_null().arg_true()[0])
        raise null_ids(column, f"{where}, row {row + 1}", ids.null_count())
    if not (ids.dtype.is_integer() or ids.dtype == pl.String or not len(ids)):
        hint = "cast the column to integers or strings"
        if ids.dtype.is_nested():
            hint = "join the parts of an id into one text; several items of a user are one row each"
        if ids.dtype.is_float():
            hint += " (a column with gaps becomes float in pandas: drop or fill the gaps first)"
        raise IdError("ids are integers or strings", where=where, found=str(ids.dtype), hint=hint)
    return ids


def null_ids(column: str, where: str, count: int) -> IdError:
    """Return the error for ids that are null."""
    return IdError(
        f"{'an' if column == 'item' else 'a'} {column} id is null",
        where=where,
        found=f"{count} null ids",
        hint="drop those rows or give them an id",
    )


def unreadable(column: pl.Series, where: str) -> ColumnError:
    """Return the error for a column of Python's objects that has to be read."""
    types = sorted({type(value).__name__ for value in column if value is not None})
    return _of_no_type(column.name, where, " and ".join(types) or None)


def check_was_read(table: Table, name: str | None) -> None:
    """Raise if a table of items or users has a column that could not be read."""
    if name in table.unread:
        raise _of_no_type(str(name), table.source, None)


def _of_no_type(name: str, where: str, types: str | None) -> ColumnError:
    return ColumnError(
        f"column {name!r} holds values of several types, or of one that cannot be read",
        where=where,
        found=types,
        hint="give the column one type: integers, floats or text",
    )


def empty_table(table: Table) -> EmptyError:
    """Return the error for a table without rows."""
    return EmptyError(f"the table of {table.role} is empty", where=table.source, found="0 rows")


def where_in(table: Table, column: str) -> str:
    """Return the place of a column in a message, under the name that the source has for it."""
    return f"{table.role}, column {table.columns.get(column, column)!r}"


def _narrow(ids: pl.Series, where: str) -> pl.Series:
    try:
        return ids.cast(pl.Int64)
    except pl.exceptions.PolarsError as error:
        raise IdError("integer ids must fit 64 bits with a sign", where=where, found=str(ids.max())) from error


def may_be_missing(role: TableRole, column: str) -> bool:
    """Whether a number may be missing: no metric reads the ratings of training, nor does a split."""
    return role == "interactions" or (role == "train" and column == "relevance")


def check_finite(values: pl.Series, column: str, table: Table) -> None:
    """Raise unless all values of a column are finite numbers."""
    if values.dtype.is_float() and not values.null_count() and math.isfinite(values.sum()):
        return  # the sum of NaN, or of infinity, and anything else is not finite
    check_numeric(values, column, table)
    bad = values.is_null()
    if values.dtype.is_float():
        bad = bad | ~values.is_finite()
    if bad.any():
        row = int(bad.arg_true()[0])
        raise not_finite(column, _place(table, column, row), f"{values[row]} ({int(bad.sum())} such rows)")


def not_finite(column: str, where: str, found: str) -> ScoreError:
    """Return the error for a number that is null, NaN or infinite."""
    hint = "drop those rows, or find out why the model gives no number"
    if column == "relevance":
        hint = "drop those rows, or give each of them a relevance"
    elif column == "weight":
        hint = "give each user a weight"
    return ScoreError(f"a {column} is null, NaN or infinite", where=where, found=found, hint=hint)


def check_ranks(rank: pl.Series, table: Table) -> None:
    """Raise if a rank is negative: some libraries write -1 for an item that is not ranked."""
    if float(cast("float", rank.min())) >= 0:
        return
    bad = rank < 0
    row = int(bad.arg_true()[0])
    raise ScoreError(
        "a rank is negative: ranks count from 0 or 1",
        where=_place(table, "rank", row),
        found=f"{rank[row]} ({int(bad.sum())} such rows)",
        hint="drop the rows of items that are not ranked",
    )


def _place(table: Table, column: str, row: int) -> str:
    """Return the place of a value in a message: column, row and user."""
    user = f", user {table.frame['user'][row]!r}" if "user" in table.frame.columns else ""
    return f"{where_in(table, column)}, row {row + 1}{user}"


def check_numeric(values: pl.Series, column: str, table: Table) -> None:
    """Raise unless a column holds numbers, of which some may be missing."""
    if not (values.dtype.is_float() or values.dtype.is_integer()):
        raise ColumnError(f"the {column} must be a number", where=where_in(table, column), found=str(values.dtype))


def check_exact(values: pl.Series | Sequence[Any], number: pl.Series, name: str, source: str) -> None:
    """Raise if numbers lose digits as floats, so that different ones become equal."""
    decimals = isinstance(values, pl.Series) and values.dtype.is_decimal()
    if not decimals and float(number.abs().max() or 0) < EXACT:  # type: ignore[arg-type]
        return
    before = values.n_unique() if isinstance(values, pl.Series) else len(set(values))
    if number.n_unique() < before:
        raise ScoreError(
            f"numbers in column {name!r} have too many digits to be told apart as floats",
            where=source,
            found=f"{before} values, of which {number.n_unique()} are left",
            hint="subtract the smallest from all, or pass ranks",
        )
