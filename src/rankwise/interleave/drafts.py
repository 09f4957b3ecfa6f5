"""Interleaved lists of two or more rankers: team draft, multileaving, balanced and optimised.

Each function takes recommendation lists by user, as `rankwise.evaluate` does, and returns one row
per user and rank. A user's draft depends on the seed and the user's id alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import chain, zip_longest
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from rankwise.core.arguments import check_choice, check_count
from rankwise.core.hashing import id_numbers
from rankwise.errors import DuplicateError, InputError, ParameterError
from rankwise.messages import parameter
from rankwise.tables.ids import align
from rankwise.tables.read import read_table

Credit: TypeAlias = Literal["inverse", "linear", "binary"]
"""The credit of a click: by 1 / rank, by rank, or +1 or −1 for the ranker that has the item higher."""
_MOST_LISTS = 1 << 12


def team_draft(lists_a: Any, lists_b: Any, k: int, *, seed: int = 0) -> pl.DataFrame:
    """Draft lists by two teams that pick in turn; a coin decides the order in each round.

    Parameters
    ----------
    lists_a, lists_b : table, path or dict
        Recommendation lists of both rankers, by user.
    k : int
        The length of the drafted lists.
    seed : int, default=0
        Seed of the coins.

    Returns
    -------
    polars.DataFrame
        ``user``, ``rank``, ``item``, ``team`` ("A" or "B"), and ``differs``: whether the lists of
        the user differ up to k.

    Examples
    --------
    >>> draft = team_draft({"ann": [1, 2, 3]}, {"ann": [2, 3, 1]}, 3)
    >>> sorted(draft["item"].to_list()), draft["differs"].all()
    ([1, 2, 3], True)
    """
    return multileave({"A": lists_a, "B": lists_b}, k, seed=seed)


def multileave(rankers: Mapping[str, Any], k: int, *, seed: int = 0) -> pl.DataFrame:
    """Return lists drafted by several teams, which pick in a random order in each round.

    Parameters
    ----------
    rankers : mapping of str to table, path or dict
        Recommendation lists by user, of two rankers or more.
    k : int
        The length of the drafted lists.
    seed : int, default=0
        Seed of the orders.

    Returns
    -------
    polars.DataFrame
        ``user``, ``rank``, ``item``, ``team`` (the name of a ranker) and ``differs``.

    Examples
    --------
    >>> lists = {"ann": [1, 2, 3]}
    >>> multileave({"a": lists, "b": lists, "c": lists}, 2)["item"].to_list()
    [1, 2]
    """
    rows = []
    for user, lists, rng in _by_user(rankers, k, seed):
        differs = any(lists[name][:k] != lists[next(iter(lists))][:k] for name in lists)
        rows += [
            (user, at + 1, item, team, differs)
            for at, (item, team) in enumerate(_draft(lists, k, rng))
        ]
    return _frame(rows, "team")


def _draft(lists: Mapping[str, list[Any]], k: int, rng: Any) -> list[tuple[Any, str]]:
    """Draft a list with teams: in each round every team picks once, in a random order."""
    names = list(lists)
    chosen: list[tuple[Any, str]] = []
    shown: set[Any] = set()
    while len(chosen) < k:
        picked = False
        for at in rng.permutation(len(names)):
            item = next((item for item in lists[names[at]] if item not in shown), None)
            if item is not None and len(chosen) < k:
                chosen.append((item, names[at]))
                shown.add(item)
                picked = True
        if not picked:
            break
    return chosen


def balanced(lists_a: Any, lists_b: Any, k: int, *, seed: int = 0) -> pl.DataFrame:
    """Interleave two lists by turns; a coin decides which ranker is first (balanced interleaving).

    It is here to read old logs: of two lists that differ by a shift a random click prefers one of
    them.

    Parameters
    ----------
    lists_a, lists_b : table, path or dict
        Recommendation lists of both rankers, by user.
    k : int
        The length of the lists.
    seed : int, default=0
        Seed of the coins.

    Returns
    -------
    polars.DataFrame
        ``user``, ``rank``, ``item`` and ``first``, the ranker that was first.

    Examples
    --------
    >>> balanced({"ann": ["a", "b"]}, {"ann": ["a", "b"]}, 2)["item"].to_list()
    ['a', 'b']
    """
    rows = []
    for user, lists, rng in _by_user({"A": lists_a, "B": lists_b}, k, seed):
        first = "AB"[int(rng.integers(2))]
        second = "B" if first == "A" else "A"
        merged = chain.from_iterable(zip_longest(lists[first], lists[second]))
        unique = list(dict.fromkeys(item for item in merged if item is not None))[:k]
        rows += [(user, at + 1, item, first) for at, item in enumerate(unique)]
    return _frame(rows, "first")


def optimised(
    lists_a: Any, lists_b: Any, k: int, *, credit: Credit = "inverse", seed: int = 0
) -> pl.DataFrame:
    """Interleave two lists so that a random click prefers neither ranker (optimised interleaving).

    Of the probabilities without bias at every depth those with the largest variance of the credit
    are chosen.

    Parameters
    ----------
    lists_a, lists_b : table, path or dict
        Recommendation lists of both rankers, by user.
    k : int
        The length of the lists.
    credit : {"inverse", "linear", "binary"}, default="inverse"
        The credit of a click on an item: the difference of 1 / rank, of the ranks, or its sign.
    seed : int, default=0
        Seed of the choice of a list.

    Returns
    -------
    polars.DataFrame
        ``user``, ``rank``, ``item``, ``credit`` (of a click, above 0 for A) and ``probability`` of
        the list.

    Raises
    ------
    ParameterError
        If no probabilities are without bias, as for most lists with the binary credit.

    Examples
    --------
    >>> draft = optimised({"ann": ["a", "b", "c"]}, {"ann": ["b", "c", "a"]}, 3)
    >>> draft["probability"][0] in (0.42857142857142855, 0.3714285714285714, 0.2)
    True
    """
    check_choice("credit", credit, Credit)
    rows = []
    for user, lists, rng in _by_user({"A": lists_a, "B": lists_b}, k, seed):
        options, click_credits = allowed_lists(lists["A"], lists["B"], k, credit)
        p = unbiased_probabilities(click_credits, f"user {user!r}", credit)
        chosen = int(np.searchsorted(np.cumsum(p), rng.random() * p.sum()))
        rows += [
            (user, at + 1, item, float(click_credits[chosen][at]), float(p[chosen]))
            for at, item in enumerate(options[chosen])
        ]
    schema = {
        "user": None,
        "rank": pl.Int64,
        "item": None,
        "credit": pl.Float64,
        "probability": pl.Float64,
    }
    return pl.DataFrame(rows, schema=schema, orient="row", infer_schema_length=None)


def allowed_lists(
    a: Sequence[Any], b: Sequence[Any], k: int, credit: Credit
) -> tuple[list[Any], list[list[Fraction]]]:
    """Return the lists whose every prefix joins prefixes of both rankers, with item credits.

    >>> lists, click_credits = allowed_lists("abc", "bca", 3, "inverse")
    >>> ["".join(items) for items in lists], str(click_credits[0][0])
    (['abc', 'bac', 'bca'], '2/3')
    """
    lists: list[tuple[Any, ...]] = [()]
    for _ in range(k):
        longer: dict[tuple[Any, ...], None] = {}
        for items in lists:
            for ranker in (a, b):
                best = next((item for item in ranker if item not in items), None)
                longer[items if best is None else (*items, best)] = None
        lists = list(longer)
        if len(lists) > _MOST_LISTS:
            raise ParameterError(
                "there are too many lists to weigh",
                found=parameter("k", k),
                hint="pass a smaller k",
            )
    ranks = [{item: at + 1 for at, item in enumerate(ranker)} for ranker in (a, b)]

    def credit_of(item: Any) -> Fraction:
        one, other = (rank.get(item, len(rank) + 1) for rank in ranks)
        if credit == "inverse":
            return Fraction(1, one) - Fraction(1, other)
        return Fraction(other - one if credit == "linear" else (other > one) - (other < one))

    return lists, [[credit_of(item) for item in items] for items in lists]


def unbiased_probabilities(
    click_credits: Sequence[Sequence[Fraction]], where: str, credit: str
) -> Any:
    """Return list probabilities that make the expected credit of every prefix 0, or raise."""
    from scipy.optimize import linprog

    delta = np.array(click_credits, dtype=np.float64)
    sums = np.cumsum(delta, axis=1)
    variance = (delta**2 / np.arange(1, delta.shape[1] + 1)).sum(1)
    equations, right = np.vstack([np.ones(len(delta)), sums.T]), np.eye(delta.shape[1] + 1)[0]
    result = linprog(-variance, A_eq=equations, b_eq=right, bounds=(0, 1), method="highs")
    p: Any = result.x
    if result.status != 0 or np.abs(equations @ p - right).max() > 1e-9:
        raise ParameterError(
            "no probabilities of these lists are without bias",
            where=where,
            found=parameter("credit", credit),
            hint=f"{parameter('credit', 'inverse')} has some for most lists; team_draft always "
            "works",
        )
    return np.clip(p, 0.0, 1.0)


def _by_user(
    rankers: Mapping[str, Any], k: int, seed: int
) -> list[tuple[Any, dict[str, list[Any]], Any]]:
    """Return each user of all rankers, with the lists and a random generator of the user's own."""
    check_count(k=k)
    check_count(least=0, seed=seed)
    if len(rankers) < 2:
        raise ParameterError("interleaving needs two rankers", found=", ".join(rankers) or "none")
    tables = align(
        align([read_table(lists, "recommendations") for lists in rankers.values()], "user"), "item"
    )
    lists: dict[str, dict[Any, list[Any]]] = {}
    for name, table in zip(rankers, tables, strict=True):
        frame = table.frame
        _check_lists(frame, name)
        if "rank" in frame.columns:
            frame = frame.sort("user", "rank", maintain_order=True)
        elif "score" in frame.columns:
            frame = frame.sort("user", pl.col("score"), "item", descending=[False, True, False])
        lists[name] = dict(frame.group_by("user", maintain_order=True).agg("item").iter_rows())
    every = [set(by_user) for by_user in lists.values()]
    users = sorted(set.intersection(*every))
    if not users:
        raise InputError("no user has a list of every ranker", found=", ".join(rankers))
    lacking = sorted(set.union(*every) - {*users})
    if lacking:
        raise InputError(
            "a user has no list of one of the rankers",
            where=f"user {lacking[0]!r}",
            found=f"{len(lacking):,} such users beside {len(users):,} with a list of every ranker",
            hint="draft for users with a list of every ranker: leave the others out of all tables",
        )
    hashes = id_numbers(pl.Series(users).cast(pl.String)).astype(np.uint64).tolist()
    return [
        (user, {name: lists[name][user] for name in lists}, np.random.default_rng([seed, number]))
        for user, number in zip(users, hashes, strict=True)
    ]


def _check_lists(frame: pl.DataFrame, name: str) -> None:
    """Raise if a list has an item twice, or belongs to a request."""
    if "request" in frame.columns:
        raise ParameterError(
            "drafts are of one list per user, and these lists belong to requests of users",
            where=f"ranker {name!r}",
            found="a column for the request",
            hint="draft the lists of each request in a call of its own, or with one id of user and "
            "request as the user",
        )
    repeated = frame.select("user", "item").is_duplicated()
    if repeated.any():
        user, item = frame.filter(repeated).select("user", "item").row(0)
        raise DuplicateError(
            "an item stands twice in a list",
            where=f"ranker {name!r}, user {user!r}",
            found=f"item {item!r} ({int(repeated.sum()):,} such rows)",
            hint="keep the row with the best rank",
        )


def _frame(rows: list[Any], last: str) -> pl.DataFrame:
    schema: dict[str, Any] = {"user": None, "rank": pl.Int64, "item": None, last: pl.String}
    schema |= {"differs": pl.Boolean} if last == "team" else {}
    return pl.DataFrame(rows, schema=schema, orient="row", infer_schema_length=None)
