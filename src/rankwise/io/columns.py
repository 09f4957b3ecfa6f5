"""Which column is the user, which the item: by name, or as the caller says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, TypeAlias

from rankwise.errors import ColumnError, ParameterError, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["KNOWN", "ROLES", "Columns", "Kind", "choose", "known_column", "plain_name", "recognise"]

Kind: TypeAlias = Literal[
    "recommendations", "truth", "train", "items", "users", "baseline", "interactions"
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

ROLES: dict[Kind, dict[str, tuple[str, ...]]] = {
    "recommendations": {
        "user": _USER, "item": _ITEM, "rank": ("rank", "position"), "score": _SCORE,
    },
    "truth": {"user": _USER, "item": _ITEM, "relevance": _RELEVANCE, "timestamp": _TIME},
    "train": {"user": _USER, "item": _ITEM, "relevance": _RELEVANCE, "timestamp": _TIME},
    "interactions": {"user": _USER, "item": _ITEM, "relevance": _RELEVANCE, "timestamp": _TIME},
    "items": {"item": _ITEM},
    "users": {"user": _USER},
    "baseline": {"user": _USER, "item": _ITEM, "rank": ("rank", "position"), "score": _SCORE},
}  # fmt: skip
"""For each kind of table its roles, and the names (lower case, letters and digits only) of each."""

KNOWN: dict[Kind, dict[str, tuple[str, ...]]] = {
    "items": {
        "categories": ("category", "categories", "genre", "genres", "tag", "tags", "topics"),
        "features": ("feature", "features", "vector", "embedding", "embeddings"),
        "group": ("group", "itemgroup", "cluster", "segment"),
        "propensity": ("propensity", "propensities"),
    },
    "users": {"group": ("group", "usergroup", "cluster", "segment")},
}
"""Roles of columns that are looked for only when a measure asks for them."""

_OPTIONAL = {"rank", "score", "relevance", "timestamp"}


def plain_name(name: str) -> str:
    """Return what of a column's name is compared: letters and digits, in lower case."""
    return re.sub(r"[^a-z0-9]", "", name.split(":")[0].lower())


def choose(columns: Columns | None, kind: Kind) -> dict[str, str | None]:
    """Pick from ``columns`` what concerns one kind of table.

    A key is a role (``"user"``), for all tables, or a role of one table (``"truth.user"``),
    which wins.

    >>> choose({"user": "uid", "truth.relevance": "stars"}, "truth")
    {'user': 'uid', 'relevance': 'stars'}
    """
    chosen: dict[str, str | None] = {}
    for key, name in sorted((columns or {}).items(), key=lambda pair: "." in pair[0]):
        table, _, role = key.rpartition(".")
        all_roles = {kind: {**roles, **KNOWN.get(kind, {})} for kind, roles in ROLES.items()}
        known = all_roles if not table else {k: v for k, v in all_roles.items() if k == table}
        if not any(role in roles for roles in known.values()):
            every = sorted({role for roles in all_roles.values() for role in roles})
            raise ParameterError(
                f"columns: there is no {key!r}",
                found=f"roles: {', '.join(every)}; tables: {', '.join(ROLES)}",
                hint=nearest(role, every),
            )
        if (not table or table == kind) and role in all_roles[kind]:
            chosen[role] = name
    return chosen


def known_column(
    names: Sequence[str], kind: Kind, role: str, given: Mapping[str, str | None], where: str
) -> str | None:
    """Find the column of a role that only some measures ask for; None if there is none.

    >>> known_column(["item", "genres"], "items", "categories", {}, "items")
    'genres'
    """
    if role in given:
        return given[role]
    if role in names:
        return role
    fitting = [name for name in names if plain_name(name) in KNOWN.get(kind, {}).get(role, ())]
    if len(fitting) > 1:
        raise _ambiguous(kind, role, fitting, where)
    return fitting[0] if fitting else None


def _ambiguous(kind: Kind, role: str, fitting: Sequence[str], where: str) -> ColumnError:
    return ColumnError(
        f"two columns could be the {role}",
        where=where,
        found=", ".join(map(repr, fitting)),
        hint=f'say which: columns={{"{kind}.{role}": "{fitting[0]}"}}, '
        f"or on the command line --column {kind}.{role}={fitting[0]}",
    )


def recognise(
    names: Sequence[str], kind: Kind, given: Mapping[str, str | None], where: str
) -> dict[str, str]:
    """Say which column has which role.

    Parameters
    ----------
    names : sequence of str
        The columns found.
    kind : str
        What the table is for.
    given : mapping of str to str or None
        Columns named by the caller; None leaves a role without a column.
    where : str
        The table, for messages.

    Returns
    -------
    dict of str to str
        The column of each role that has one.

    Raises
    ------
    ColumnError
        If a column is missing, or two could have the same role.
    """
    out: dict[str, str] = {}
    for role, known in ROLES[kind].items():
        if role in given:
            name = given[role]
            if name is None:
                continue
            if name not in names:
                raise ColumnError(
                    f"there is no column {name!r} for the {role}",
                    where=where,
                    found=_listed(names),
                    hint=nearest(name, names),
                )
            out[role] = name
            continue
        claimed = {column for column in given.values() if column is not None}
        fitting = [n for n in names if plain_name(n) in known and n not in claimed]
        if len(fitting) > 1:
            raise _ambiguous(kind, role, fitting, where)
        if fitting:
            out[role] = fitting[0]
        elif role not in _OPTIONAL:
            raise ColumnError(
                f"there is no column for the {role}",
                where=where,
                found=_listed(names),
                hint=f'say which: columns={{"{kind}.{role}": "…"}}, '
                f"or on the command line --column {kind}.{role}=…",
            )
    return out


def _listed(names: Sequence[str]) -> str:
    return "columns " + ", ".join(map(repr, names)) if names else "no columns"
