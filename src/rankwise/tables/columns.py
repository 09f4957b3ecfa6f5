"""Which column holds the users, which the items: recognised by name, and checks of their values."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias, cast

import polars as pl

from rankwise.core.texts import plain_strings
from rankwise.errors import (
    ColumnError,
    EmptyError,
    IdError,
    ParameterError,
    ScoreError,
    nearest,
)
from rankwise.messages import parameter
from rankwise.tables.table import Table, TableRole

Columns: TypeAlias = Mapping[str, str | None]

_USER = ("user", "userid", "uid", "u")
_QUERY = ("query", "queryid", "qid", "userinput")
_SESSION = ("session", "sessionid")
_THINGS = ("item", "movie", "product", "doc", "article", "track", "book", "song")
_DOCUMENTS = ("document", "passage", "chunk", "corpus")
_ITEM = (*_THINGS, *(f"{thing}id" for thing in (*_THINGS, *_DOCUMENTS)), "iid", "i", "docno")
_RETRIEVED = ("retrievedid", "retrieveddocid", "retrieveddocumentid", "retrievedcontextid")
_RELEVANT = tuple(
    f"{word}{thing}id"
    for word in ("relevant", "reference", "expected")
    for thing in ("", "doc", "document", "context")
)
"""How tools of retrieval call what was found, and what should have been, side by side in one table."""
_SCORE = ("score", "rating", "prediction", "predictedrating", "predicted", "pred", "est", "sim")
_RELEVANCE = ("relevance", "rating", "rel", "label", "grade", "stars", "score")
_TIME = ("timestamp", "time", "unixtime", "datetime", "date", "ts")
_REQUEST = (
    "request",
    *(
        f"{name}id"
        for name in ("request", "impression", "slate", "page", "decision", "rec", "event")
    ),
)
_SHOWN = (*_ITEM, "action", "actionid", "arm")
_POSITION = ("position", "rank", "slot", "pos")
_PROPENSITY = (
    *(
        "propensity",
        "propensityscore",
        "pscore",
        "loggingprobability",
        "actionprobability",
        "actionprob",
    ),
    *("plog", "labelprobability"),
)
_REWARD = ("reward", "click", "clicks", "clicked", "purchase", "revenue", "label")
_KIND = ("kind", "event", "eventtype", "actiontype")
_UNIT = (
    *_QUERY,
    *_SESSION,
    "request",
    "requestid",
    "impression",
    "impressionid",
    "visit",
    "visitid",
)
"""Requests of users, each of which has a list of its own."""
_EVENT = (
    *_KIND,
    "behavior",
    "behaviour",
    "behaviortype",
    "action",
    "interaction",
    "interactiontype",
)
_OF_TRUTH = "truth:"
"""What a key of ``columns`` starts with for a column of the ground truth that is read as it is."""
EVENT = f"{_OF_TRUTH}event"
"""The column of events of a ground truth, which is read where they have grades; without a name it is recognised."""
_NEVER_DECIDING = frozenset(
    (*_TIME, *_UNIT, "user", "userid", "uid", "customer", "customerid", "visitor", "visitorid")
)
"""Times, requests and users neither order lists nor say what is relevant."""
_LOGGED: dict[str, tuple[str, ...]] = {"request": _REQUEST, "user": _USER, "item": _SHOWN}

ROLES: dict[TableRole, dict[str, tuple[str, ...]]] = {
    "recommendations": {
        "user": _USER,
        "request": _UNIT,
        "item": (*_ITEM, *_RETRIEVED),
        "rank": ("rank", "position"),
        "score": _SCORE,
    },
    "truth": {
        "user": _USER,
        "request": _UNIT,
        "item": (*_ITEM, *_RELEVANT),
        "relevance": _RELEVANCE,
        "timestamp": _TIME,
    },
    "train": {"user": _USER, "item": _ITEM, "relevance": _RELEVANCE, "timestamp": _TIME},
    "interactions": {"user": _USER, "item": _ITEM, "relevance": _RELEVANCE, "timestamp": _TIME},
    "items": {"item": _ITEM},
    "users": {"user": _USER},
    "reference": {"user": _USER, "item": _ITEM, "rank": ("rank", "position"), "score": _SCORE},
    "exposures": {
        **_LOGGED,
        "position": _POSITION,
        "propensity": _PROPENSITY,
        "reward": _REWARD,
        "timestamp": _TIME,
        "team": ("team",),
        "policy": ("policy", "policyid", "loggingpolicy", "behaviorpolicy", "behaviourpolicy"),
    },
    "outcomes": {**_LOGGED, "reward": _REWARD, "timestamp": _TIME, "kind": _KIND},
    "targets": {
        **_LOGGED,
        "position": ("position", "slot", "pos"),
        "rank": ("rank",),
        "probability": ("probability", "prob", "pi", "targetpropensity"),
        "score": ("score",),
    },
    "predictions": {
        **_LOGGED,
        "position": ("position", "slot", "pos"),
        "reward": ("reward", "prediction", "predicted"),
    },
}
"""For each role of a table its columns, and for each column the names that it usually has."""

_RARE = {
    "user": (*_QUERY, "customer", "customerid", "visitor", "visitorid", *_SESSION),
    "item": ("asin", "parentasin"),
    "score": (
        *("predictedscore", "ypred", "yhat", "probability", "prob", "proba"),
        *("logit", "logits", "confidence", "similarity"),
    ),
    "relevance": (
        "weight",
        "value",
        "count",
        "counts",
        "click",
        "clicks",
        "clicked",
        "target",
        "gain",
    ),
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

_IDS = r":token(_seq)?$"
"""The types of RecBole's columns that hold ids, whatever they look like."""
_OPTIONAL = {
    *(
        "rank",
        "score",
        "relevance",
        "timestamp",
        "request",
        "position",
        "propensity",
        "probability",
        "reward",
    ),
    *("kind", "team", "policy"),
}
LOG_ROLES = ("exposures", "outcomes", "targets", "predictions")
"""Tables of logged requests, whose rows need no user."""


def _is_required(role: TableRole, column: str) -> bool:
    return column not in _OPTIONAL and (column != "user" or role not in LOG_ROLES)


@lru_cache(maxsize=1024)  # one call asks for the same few names a hundred times
def plain_name(name: str) -> str:
    """Normalise a column name for comparison: letters and digits only, in lower case.

    Letters of every script are kept: a name without them would be no name.
    """
    return re.sub(r"[\W_]", "", name.split(":")[0].lower())


def unit_named(name: str) -> str:
    """Return the unit of a user column by its name: ``"session"``, ``"query"`` or ``"user"``.

    >>> unit_named("session_id"), unit_named("qid"), unit_named("customer")
    ('session', 'query', 'user')
    """
    plain = plain_name(name)
    return "session" if plain in _SESSION else "query" if plain in _QUERY else "user"


def names_of(names: Sequence[str], role: TableRole, column: str) -> list[str]:
    """Return the names in a table that a column may have, rare ones only if no usual one is there.

    >>> names_of(["user_id", "session_id"], "truth", "user"), names_of(["asin"], "truth", "item")
    (['user_id'], ['asin'])
    """
    # A weight or a count of interactions is a relevance only where they are the ground truth.
    rare = (
        ()
        if (column == "relevance" and role != "truth") or role in ("targets", "predictions")
        else _RARE.get(column, ())
    )
    common, less_common = (
        [name for name in names if plain_name(name) in plain_names]
        for plain_names in (ROLES[role][column], rare)
    )
    is_weak = [plain_name(name) for name in common] == [_WEAK.get(column)]
    return common + less_common if is_weak else common or less_common


def may_have_names(names: Sequence[str], role: TableRole, columns: Iterable[str]) -> bool:
    """Return whether `names_of` may find any of the columns; fast even for ten thousand names.

    >>> may_have_names(["User ID", "b"], "truth", ["user"]), may_have_names(["ann", "bob"], "truth", ["user"])
    (True, False)
    """
    plain_names = re.sub(r"[^\w:]", "", ":".join(names).lower().replace("_", "")).split(":")
    usual = {name for column in columns for name in (*ROLES[role][column], *_RARE.get(column, ()))}
    return not usual.isdisjoint(plain_names)


def candidate_columns(
    names: Sequence[str],
    role: TableRole,
    columns: Mapping[str, str],
    overrides: Mapping[str, str | None],
) -> list[str]:
    """Return unrecognised columns that could be the score or relevance, if none was recognised.

    Nothing is asked of a caller who left the score, or the relevance, without a column.
    """
    deciding = _DECIDING.get(role, ())
    if not deciding or deciding[-1] in overrides or any(column in columns for column in deciding):
        return []
    unread = [name for name in names if name not in columns.values()]
    return [
        name
        for name in unread
        if plain_name(name) not in _NEVER_DECIDING
        and not is_row_number(name)
        and not re.search(_IDS, name)
    ]


def undecided_column_error(
    role: TableRole, names: Sequence[str], where: str, ranks: Sequence[str] = ()
) -> ColumnError:
    """Return the error for columns of numbers that may be the score, or the relevance.

    Those that are ``ranks`` count from 1 or 0 in every list: as a score they would turn the lists
    round.
    """
    if ranks:
        return ColumnError(
            f"no column is known to be the rank or score, and {ranks[0]!r} could be it",
            where=where,
            found=f"numbers that count up in each list in {', '.join(map(repr, ranks[:5]))}",
            hint=f"{_say_which(f'{role}.rank', ranks[0])}; as a score, whose largest value is "
            "best: "
            f"{parameter('columns', {f'{role}.score': ranks[0]})}",
        )
    key = f"{role}.{_DECIDING[role][-1]}"
    otherwise = "every row is relevant" if role == "truth" else "the rows are in order, best first"
    missing = "relevance" if role == "truth" else "rank or score"
    return ColumnError(
        f"no column is known to be the {missing}, and {names[0]!r} could be it",
        where=where,
        found=f"numbers in {', '.join(map(repr, names[:5]))}",
        hint=f"{_say_which(key, names[0])}; or that there is none, and {otherwise}: "
        f"{parameter('columns', {key: None})}",
    )


def is_row_number(name: str) -> bool:
    """Return whether a column has a name under which pandas writes the numbers of rows.

    >>> is_row_number("Unnamed: 0"), is_row_number(""), is_row_number("ndcg@10")
    (True, True, False)
    """
    return not name.strip() or plain_name(name) in _ROW_NUMBERS


class SharedName(str):
    """A column name chosen for all tables; a table without this column may use a plain name."""

    __slots__ = ()


def shared_names(columns: Columns | None) -> Columns | None:
    """Mark the names in ``columns`` that apply to all tables, as a table need not have them.

    >>> shared_names({"user": "uid", "truth.relevance": "stars"})
    {'user': 'uid', 'truth.relevance': 'stars'}
    """
    if not isinstance(columns, Mapping):
        return columns
    return {
        key: name if name is None or "." in key else SharedName(name)
        for key, name in columns.items()
    }


def overrides_for(columns: Columns | None, role: TableRole) -> dict[str, str | None]:
    """Return the part of ``columns`` that concerns the table with one role.

    A key is a column (``"user"``) of all tables, or of one table (``"truth.user"``), which takes
    precedence.

    >>> overrides_for({"user": "uid", "truth.relevance": "stars"}, "truth")
    {'user': 'uid', 'relevance': 'stars'}
    """
    if columns is not None and not isinstance(columns, Mapping):
        raise ParameterError(
            "columns maps roles to names of columns",
            found=parameter("columns", columns),
            hint=f"write {parameter('columns', {'user': 'uid'})}",
        )

    overrides: dict[str, str | None] = {}
    for key, name in sorted((columns or {}).items(), key=lambda pair: "." in pair[0]):
        if key.startswith(_OF_TRUTH):
            overrides |= {key: name} if role == "truth" else {}
            continue
        table, _, column = key.rpartition(".")
        roles = _roles_with(column, table, key)
        if role in roles:
            overrides[column] = name
    return overrides


def _roles_with(column: str, table: str, key: str) -> list[TableRole]:
    """Return the tables that may have a column: all, or the one that ``key`` names.

    Raises
    ------
    ParameterError
        If none may.
    """
    known = {role: {*names, *KNOWN.get(role, ())} for role, names in ROLES.items()}
    found = [role for role in known if table in ("", role) and column in known[role]]
    if not found:
        names = sorted(set().union(*known.values()))
        raise ParameterError(
            f"columns: there is no {key!r}",
            found=f"roles: {', '.join(names)}; tables: {', '.join(ROLES)}",
            hint=nearest(column, names),
        )
    return found


def check_columns(
    columns: Columns | None, roles: Iterable[TableRole], optional: Iterable[TableRole] = ()
) -> None:
    """Raise if ``columns`` names a table that is not read, or a column that no table has.

    ``optional`` are the tables that the call takes, whether or not they were given.

    >>> check_columns({"user": "uid", "truth.relevance": "stars"}, ["recommendations", "truth"])
    """
    read = list(dict.fromkeys(roles))
    overrides_for(
        columns, "truth"
    )  # raises if it is no mapping, or names a column that no table has
    for key in columns or {}:
        if not _concerns(key, read):
            table = key.rpartition(".")[0]
            other = f"pass {parameter(table)}, or " if table in {*optional} else ""
            raise ParameterError(
                f"{parameter('columns')} names a column of a table that is not read here",
                found=f"{key!r}; read: {', '.join(read) or 'no table'}",
                hint=f"{other}leave {key!r} out of {parameter('columns')}",
            )


def key_of(role: str, column: str) -> str:
    """Return the key of ``columns`` for the column of one table.

    >>> key_of("truth", "relevance"), key_of("truth", "event"), key_of("items", "item")
    ('truth.relevance', 'truth:event', 'items.item')
    """
    return EVENT if f"{role}:{column}" == EVENT else f"{role}.{column}"


def columns_of(columns: Columns | None, roles: Iterable[TableRole]) -> dict[str, str | None]:
    """Return the entries of ``columns`` for tables of the given roles.

    >>> columns_of({"user": "uid", "truth.relevance": "stars"}, ["train"])
    {'user': 'uid'}
    """
    read = list(roles)
    return {key: name for key, name in (columns or {}).items() if _concerns(key, read)}


def _concerns(key: str, roles: Iterable[TableRole]) -> bool:
    """Return whether a key of ``columns`` names a column of a table in the given roles."""
    if key.startswith(_OF_TRUTH):
        return "truth" in roles
    table, _, column = key.rpartition(".")
    return any(
        table in ("", role) and (column in ROLES[role] or column in KNOWN.get(role, {}))
        for role in roles
    )


def known_column(
    names: Sequence[str],
    role: TableRole,
    column: str,
    overrides: Mapping[str, str | None],
    where: str,
) -> str | None:
    """Find a column that only some metrics need; return None if there is none.

    >>> known_column(["item", "genres"], "items", "categories", {}, "items")
    'genres'
    """
    if column in overrides:
        return overrides[column]
    if column in names:
        return column
    matches = [name for name in names if plain_name(name) in KNOWN.get(role, {}).get(column, ())]
    if len(matches) > 1:
        raise _ambiguous_column_error(role, column, matches, where)
    return matches[0] if matches else None


def _ambiguous_column_error(
    role: TableRole, column: str, matches: Sequence[str], where: str
) -> ColumnError:
    strong = [name for name in matches if plain_name(name) != _WEAK.get(column)] or matches
    hint = _say_which(f"{role}.{column}", strong[0])
    if column == "score" and len(strong) < len(matches):
        hint += "; predicted ratings beside true ones are evaluated by rw.evaluate_ratings"
    return several_error(column, matches, where, hint)


def several_error(column: str, matches: Sequence[str], where: str, hint: str) -> ColumnError:
    """Return the error for a column that several names fit."""
    quoted = ", ".join(map(repr, matches))
    return ColumnError(f"two columns could be the {column}", where=where, found=quoted, hint=hint)


def several_columns_error(table: Table, column: str, matches: Sequence[str]) -> ColumnError:
    """Return the error for a table in which several columns match an optional column."""
    return _ambiguous_column_error(table.role, column, matches, table.source)


def _say_which(key: str, name: str = "…") -> str:
    return f"say which: {parameter('columns', {key: name})}"


def recognise(
    names: Sequence[str], role: TableRole, overrides: Mapping[str, str | None], where: str
) -> dict[str, str]:
    """Return the name of each column (user, item, score, …) that a table has.

    ``overrides`` are the names that the caller chose, None to leave a column out.

    Raises
    ------
    ColumnError
        If a column is missing, or two names fit one column.
    """
    columns: dict[str, str] = {}
    unresolved: dict[str, ColumnError] = {}
    chosen = {key: name for key, name in overrides.items() if not key.startswith(_OF_TRUTH)}
    for column in ROLES[role]:
        if column in chosen and not _is_of_another_table(chosen[column], names, role, column):
            columns |= _chosen_column(column, chosen[column], names, role, where)
            continue
        taken = {*chosen.values(), *columns.values()}
        matches = names_of([name for name in names if name not in taken], role, column)
        error = _unresolved_error(column, matches, names, role, where)
        if error is not None:
            unresolved[column] = error
        elif len(matches) == 1:
            columns[column] = matches[0]
    if unresolved:
        unread = [name for name in names if name not in columns.values()]
        raise _merged_error(unresolved, unread, role, chosen, columns)

    of_truth = {key: name for key, name in overrides.items() if key not in chosen}
    return columns | read_columns_of_truth(names, of_truth, where)


def _unresolved_error(
    column: str, matches: Sequence[str], names: Sequence[str], role: TableRole, where: str
) -> ColumnError | None:
    """Return the error for a column that several names fit, or that is required and missing."""
    if len(matches) > 1 and not _may_be_ambiguous(role, column):
        return _ambiguous_column_error(role, column, matches, where)
    if not matches and _is_required(role, column):
        return _missing_column_error(
            f"there is no column for the {column}", f"{role}.{column}", names, where
        )
    return None


def _chosen_column(
    column: str, name: str | None, names: Sequence[str], role: TableRole, where: str
) -> dict[str, str]:
    """Return a column under the name that the caller chose; empty if it is left out."""
    if name is None:
        return {}
    if name in names:
        return {column: name}
    if column == "request" and role == "truth":
        return {}  # the ground truth holds for all requests of a user
    error = _unknown_column_error(
        f"there is no column {name!r} for the {column}", name, names, where
    )
    if error.hint is None and isinstance(name, SharedName):
        raise _shared_name_error(error, column, name, role)
    raise error


def _shared_name_error(error: ColumnError, column: str, name: str, role: TableRole) -> ColumnError:
    """Return the error of a name for all tables that one lacks, with the key of another table."""
    other, words = ("recommendations", "the lists")
    if role == "recommendations":
        other, words = ("truth", "the ground truth")
    every, alone = (parameter("columns", {key: str(name)}) for key in (column, f"{other}.{column}"))
    hint = f"{every} names the column of every table; of {words} alone, it is {alone}"
    return ColumnError(error.what, where=error.where, found=error.found, hint=hint)


def _may_be_ambiguous(role: TableRole, column: str) -> bool:
    """Return whether several names of a column are no error by themselves.

    Lists tell whether requests of the ground truth matter, and `several_columns_error` tells whoever
    reads times.
    """
    if column == "request":
        return role == "truth"
    return column == "timestamp" and role in ("truth", "train")


def _is_of_another_table(
    name: str | None, names: Sequence[str], role: TableRole, column: str
) -> bool:
    """Return whether a table lacks a shared name but has exactly one plain name for the column."""
    return (
        isinstance(name, SharedName)
        and name not in names
        and len(names_of(names, role, column)) == 1
    )


def _merged_error(
    unresolved: Mapping[str, ColumnError],
    unread: Sequence[str],
    role: TableRole,
    chosen: Mapping[str, str | None],
    known: Mapping[str, str],
) -> ColumnError:
    """Merge the errors of missing and ambiguous columns into one, with a hint for all of them."""
    first = next(iter(unresolved.values()))
    deciding = _DECIDING.get(role, ())
    known_columns = {*known, *chosen, *unresolved}
    undecided = () if known_columns.intersection(deciding) else deciding
    to_say = _columns_to_say(unresolved, unread, undecided)
    if len(unresolved) == 1 and [*to_say.values()] == ["…"]:
        return first

    for column, error in unresolved.items():
        named = _columns_named(error).get(f"{role}.{column}")
        if isinstance(named, str) and to_say[column] == "…":
            to_say[column] = named
    names = {f"{role}.{column}": name for column, name in to_say.items()}
    hint = f"say which: {parameter('columns', names)}"
    is_complete = len(to_say) > 1 and sorted(to_say.values()) == sorted(unread)
    if is_complete:
        hint += ", if that is what they are"
    if undecided and undecided[0] in to_say:
        hint += _hint_on_order(role, undecided, to_say, is_complete=is_complete)
    return ColumnError(
        ", and ".join(error.what for error in unresolved.values()),
        where=first.where,
        found="; ".join(dict.fromkeys(error.found or "" for error in unresolved.values())),
        hint=hint,
    )


def _hint_on_order(
    role: TableRole, undecided: Sequence[str], to_say: Mapping[str, str], *, is_complete: bool
) -> str:
    """Return how to say that a column is a score and no rank, or that there is none."""
    last = f"{role}.{undecided[-1]}"
    if not is_complete:
        return f", where {parameter('columns', {last: None})} says that there is none"
    if len(undecided) == 1:
        return ""
    return f"; {parameter('columns', {last: to_say[undecided[0]]})} where more is better"


def _columns_named(error: ColumnError) -> dict[str, object]:
    """Return the columns that the hint of an error proposes."""
    parameters = () if error.hint is None else error.hint.parameters
    values = [each.value for each in parameters if each.name == "columns"]
    return {key: name for value in values if isinstance(value, dict) for key, name in value.items()}


def _columns_to_say(
    unresolved: Mapping[str, ColumnError], unread: Sequence[str], undecided: Sequence[str]
) -> dict[str, str]:
    """Return the columns that the caller has to name, with their names if all fit in order.

    ``undecided`` are columns of which one has to be there or be said to be absent.
    """
    missing = [
        column for column, error in unresolved.items() if error.what.startswith("there is no")
    ]
    to_say = dict.fromkeys(unresolved, "…")
    if undecided and len(unread) > len(missing):
        to_say[undecided[0]] = "…"
    if len(missing) == len(unresolved) and len(unread) == len(to_say):
        return dict(zip(to_say, unread, strict=True))
    if len(missing) == 1 and len(unread) == 1:
        to_say[missing[0]] = unread[0]
    return to_say


def read_columns_of_truth(
    names: Sequence[str], overrides: Mapping[str, str | None], where: str
) -> dict[str, str]:
    """Return the columns that slice a ground truth; recognise an event column without a name."""
    out: dict[str, str] = {}
    for key, name in overrides.items():
        if key == EVENT and name is None:
            out[key] = _event_column(names, where)
        elif name is not None:
            if name not in names and without_edges(name) in names:
                key, name = without_edges(key), without_edges(name)
            if name not in names:
                what = (
                    f"there is no column {name!r} of the ground truth, by which it is to be sliced"
                )
                raise _unknown_column_error(what, name, names, where)
            out[key] = name
    return out


def without_edges(name: str) -> str:
    """Remove the bin edges at the end of a column name.

    >>> without_edges("price[5,10]"), without_edges("price")
    ('price', 'price')
    """
    return re.sub(r"(?<=.)\[[^\[\]]*\]$", "", name)


def _event_column(names: Sequence[str], where: str) -> str:
    """Return the column of events of a ground truth."""
    matches = [name for name in names if plain_name(name) in _EVENT]
    if not matches:
        raise _missing_column_error(
            "there is no column of events, which have grades", EVENT, names, where
        )
    if len(matches) > 1:
        raise several_error("event", matches, where, _say_which(EVENT))
    return matches[0]


def quoted_columns(names: Sequence[str]) -> str:
    """Return the names of columns as messages show them."""
    return f"columns {', '.join(map(repr, names))}" if names else "no columns"


def missing_column_error(what: str, column: str, table: Table) -> ColumnError:
    """Return the error for a table without a column that only some calls need."""
    return _missing_column_error(what, column, table.names, table.source)


def _missing_column_error(what: str, key: str, names: Sequence[str], where: str) -> ColumnError:
    return ColumnError(what, where=where, found=quoted_columns(names), hint=_say_which(key))


def _unknown_column_error(what: str, name: str, names: Sequence[str], where: str) -> ColumnError:
    return ColumnError(what, where=where, found=quoted_columns(names), hint=nearest(name, names))


POLARS_FAILURES = (pl.exceptions.PolarsError, pl.exceptions.PanicException)
"""What Polars raises: a panic, which damaged files can cause, is no `Exception`."""
EXACT = 2**53
"""Whole numbers below this are floats without loss."""


def check_ids(ids: pl.Series, column: str, table: Table) -> pl.Series:
    """Return ids as integers or strings; raise if they are null or of another type."""
    where = where_in(table, column)
    ids = plain_strings(ids)
    if ids.dtype in (pl.Int128, pl.UInt128) or (
        ids.dtype == pl.UInt64 and int(cast("int | None", ids.max()) or 0) >= 2**63
    ):
        try:
            ids = ids.cast(pl.Int64)
        except pl.exceptions.PolarsError as error:
            raise IdError(
                "integer ids must fit 64 bits with a sign",
                where=where,
                found=str(ids.max()),
                hint="cast the column to strings in every table",
            ) from error
    if ids.null_count():
        row = int(ids.is_null().arg_true()[0])
        raise null_ids_error(column, f"{where}, row {row + 1}", ids.null_count())
    if not (ids.dtype.is_integer() or ids.dtype == pl.String or not len(ids)):
        hint = "cast the column to integers or strings"
        if ids.dtype.is_nested():
            hint = "join the parts of an id into one text; several items of a user are one row each"
        if ids.dtype.is_float():
            hint += " (a column with gaps becomes float in pandas: drop or fill the gaps first)"
        raise IdError("ids are integers or strings", where=where, found=str(ids.dtype), hint=hint)
    return ids


def null_ids_error(column: str, where: str, count: int) -> IdError:
    """Return the error for ids that are null."""
    return IdError(
        f"{'an' if column == 'item' else 'a'} {column} id is null",
        where=where,
        found=f"{count} null ids",
        hint="drop those rows or give them an id",
    )


def object_column_error(column: pl.Series, where: str) -> ColumnError:
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


def empty_table_error(table: Table) -> EmptyError:
    """Return the error for a table without rows."""
    return EmptyError(f"the table of {table.role} is empty", where=table.source, found="0 rows")


def check_once(table: Table, column: str, *, hint: str | None = None) -> None:
    """Raise if an id occurs in several rows of the table of items or users."""
    ids = table.frame[column]
    if ids.n_unique() < len(ids):
        raise ColumnError(
            f"duplicate {column} in the table of {table.role}",
            where=table.source,
            found=f"{column} {ids.filter(ids.is_duplicated())[0]!r}",
            hint=hint or f"keep one row per {column}",
        )


def where_in(table: Table, column: str) -> str:
    """Return the place of a column for a message, with the name that the source uses."""
    return f"{table.role}, column {table.columns.get(column, column)!r}"


def may_be_missing(role: TableRole, column: str) -> bool:
    """Return whether numbers may be missing, as in ratings that no metric or split reads."""
    return role == "interactions" or (role == "train" and column == "relevance")


def check_finite(values: pl.Series, column: str, table: Table) -> None:
    """Raise unless all values of a column are finite numbers."""
    check_numeric(values, column, table)
    if not values.null_count() and (values.dtype.is_integer() or math.isfinite(values.sum())):
        return  # the sum of NaN, or of infinity, and anything else is not finite
    bad = are_not_finite(values)
    if bad.any():
        raise not_finite_error(column, *_first_bad(values, bad, column, table))


def are_not_finite(values: pl.Series) -> pl.Series:
    """Return whether each value is null, NaN or infinite."""
    null = values.is_null()
    return null | ~values.is_finite() if values.dtype.is_float() else null


def not_finite_error(column: str, where: str, found: str) -> ScoreError:
    """Return the error for numbers that are null, NaN or infinite, with the hint of the column."""
    hint = "drop those rows, or find out why the model gives no number"
    if column == "relevance":
        hint = "drop those rows, or give each of them a relevance"
    elif column == "weight":
        hint = "give each user a weight"
    elif column == "reward":
        hint = "drop those rows, or give each exposure a reward, 0 if there was none"
    elif column in ("propensity", "probability"):
        hint = (
            f"log the probability with which each item was shown, or declare the policy: "
            f"{parameter('propensity')}"
        )
    return ScoreError(f"a {column} is null, NaN or infinite", where=where, found=found, hint=hint)


def check_ranks(rank: pl.Series, table: Table) -> None:
    """Raise if a rank is negative: some libraries write -1 for an item that is not ranked."""
    if float(cast("float", rank.min())) >= 0:
        return
    where, found = _first_bad(rank, rank < 0, "rank", table)
    raise ScoreError(
        "a rank is negative: ranks count from 0 or 1",
        where=where,
        found=found,
        hint="drop the rows of items that are not ranked",
    )


def _first_bad(values: pl.Series, bad: pl.Series, column: str, table: Table) -> tuple[str, str]:
    """Return the place of the first bad value, and the value with the number of bad rows."""
    row = int(bad.arg_true()[0])
    user = f", user {table.frame['user'][row]!r}" if "user" in table.frame.columns else ""
    return (
        f"{where_in(table, column)}, row {row + 1}{user}",
        f"{values[row]} ({int(bad.sum())} such rows)",
    )


def check_numeric(values: pl.Series, column: str, table: Table) -> None:
    """Raise unless a column holds numbers; missing numbers are allowed."""
    if not (values.dtype.is_float() or values.dtype.is_integer()):
        raise ColumnError(
            f"the {column} must be a number", where=where_in(table, column), found=str(values.dtype)
        )


def check_exact(
    values: pl.Series | Sequence[Any], number: pl.Series, name: str, source: str
) -> None:
    """Raise if numbers lose digits as floats, so that different ones become equal."""
    decimals = isinstance(values, pl.Series) and values.dtype.is_decimal()
    if not decimals and float(number.abs().max() or 0) < EXACT:  # type: ignore[arg-type]
        return
    before = values.n_unique() if isinstance(values, pl.Series) else _count_distinct(values)
    left = number.n_unique()
    if left < before:
        raise ScoreError(
            f"numbers in column {name!r} have too many digits to be told apart as floats",
            where=source,
            found=f"{before} values, of which {left} are left",
            hint="subtract the smallest from all, or pass ranks",
        )


def _count_distinct(values: Sequence[Any]) -> int:
    """Return how many numbers differ; NaN is one, although no NaN equals another."""
    numbers = {value for value in values if value == value}
    return len(numbers) + any(value != value for value in values)
