"""Every row tested once, or every set of p rows: k-fold, stratified k-fold, leave-p-out."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankwise.arguments import check_count, check_flag, check_positive
from rankwise.core.segments import Ints, bucket
from rankwise.errors import ColumnError, InputError, ParameterError, nearest
from rankwise.splits.hashing import combined, hash_of_column, hash_of_text
from rankwise.splits.sizes import check_seed
from rankwise.splits.splitter import Cut, FoldSplitter

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankwise.splits.rows import Rows

__all__ = ["KFold", "LeavePOut", "StratifiedKFold"]

_MOST = 1_000_000  # sets that are gone through without being asked twice


@dataclass(frozen=True, repr=False)
class KFold(FoldSplitter):
    """Test every row once, in k folds: rows at random, or each user's rows dealt to the folds.

    Parameters
    ----------
    k : int
        The number of folds, from 2. Their sizes differ by at most one row; with ``per_user`` those
        of every user do, and a user's first row goes to a fold of its own choosing, so that users
        with few rows are spread over all folds.
    per_user : bool
        Deal out each user's rows.
    seed : int
        Decides the order in which rows are dealt.

    Examples
    --------
    >>> folds = KFold(2).split({1: ["a", "b", "c"], 2: ["a", "b", "c"]})
    >>> len(folds), [len(split.test) for split in folds]
    (2, [3, 3])
    """

    k: int = 5
    per_user: bool = False
    seed: int = 0

    def _check(self) -> None:
        check_count(least=2, k=self.k)
        check_flag(per_user=self.per_user)
        check_seed(self.seed)

    def _folds(self, rows: Rows) -> tuple[int, Callable[[int], Cut]]:
        _check_enough(self.k, rows)
        if not self.per_user:
            return self.k, _dealt(rows.shuffled(self.seed), self.k)
        own = rows.at_random(self.seed)
        users = rows.user.words.decode(np.arange(rows.user.size))
        first = combined([hash_of_column(users)], self.seed) % np.uint64(self.k)
        fold = (own.places() + first.astype(np.int64)[rows.user.of_row]) % self.k
        return self.k, _by_number(fold)


@dataclass(frozen=True, repr=False)
class StratifiedKFold(FoldSplitter):
    """Test every row once, in k folds that have each rating, segment, … in the same shares.

    Parameters
    ----------
    k : int
        The number of folds, from 2. The rows of a stratum in two folds differ by at most one, and
        so do the sizes of folds.
    by : str
        The column whose values are kept in balance: ``"relevance"`` for the rating, or any other
        column of the table. Nulls are a stratum of their own.
    seed : int
        Decides the order in which the rows of a stratum are dealt.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"user": range(8), "item": [1] * 8, "rating": [1, 5] * 4})
    >>> [sorted(split.test["rating"]) for split in StratifiedKFold(4).split(table)]
    [[1, 5], [1, 5], [1, 5], [1, 5]]
    """

    k: int = 5
    by: str = "relevance"
    seed: int = 0

    def _check(self) -> None:
        check_count(least=2, k=self.k)
        check_seed(self.seed)
        if not isinstance(self.by, str):
            raise ParameterError("by is the name of a column", found=f"by={self.by!r}")

    def _folds(self, rows: Rows) -> tuple[int, Callable[[int], Cut]]:
        _check_enough(self.k, rows)
        names = {name: role for role, name in rows.table.columns.items()}
        name = names.get(self.by, self.by)
        if name not in rows.table.frame.columns:
            known = rows.table.frame.columns
            raise ColumnError(
                f"there is no column {self.by!r} to keep in balance",
                where=rows.table.source, found=", ".join(map(repr, known)),
                hint=nearest(self.by, known),
            )  # fmt: skip
        order = rows.shuffled(self.seed)
        value = rows.table.frame[name]
        if value.dtype.is_nested() or value.dtype in (pl.Object, pl.Binary):
            raise ColumnError(f"column {self.by!r} has no strata", where=rows.table.source,
                              found=str(value.dtype))  # fmt: skip
        # By hash and not by rank, so that 9 and 10 stand as they do where a file has them as text.
        strata = np.unique(hash_of_column(value, ids=False), return_inverse=True)[1]
        _, inside = bucket(strata[order], int(strata.max()) + 1)
        counts = np.bincount(strata)
        found = {"strata": len(counts), "strata_smaller_than_k": int((counts < self.k).sum())}
        return self.k, _dealt(order[inside], self.k, found)


@dataclass(frozen=True, repr=False)
class LeavePOut(FoldSplitter):
    """Test every set of p rows, all C(n, p) of them, or some of them drawn at random.

    For small tables: `count` says how many sets there are, and more than a million are refused
    without ``draws``.

    Parameters
    ----------
    p : int
        Rows in a test set.
    draws : int, optional
        Draw so many different sets instead of taking all.
    seed : int
        Decides which sets are drawn.

    Examples
    --------
    >>> LeavePOut(2).count(6)
    15
    >>> folds = LeavePOut(2).split({1: ["a", "b"], 2: ["a", "c"]})
    >>> len(folds), len(folds[0].test), len(LeavePOut(2, draws=3).split({1: ["a", "b", "c"]}))
    (6, 2, 3)
    """

    p: int = 1
    draws: int | None = None
    seed: int = 0

    def _check(self) -> None:
        check_count(p=self.p)
        check_positive(draws=self.draws)
        check_seed(self.seed)

    def count(self, rows: int) -> int:
        """Return how many sets of p rows there are."""
        return math.comb(rows, self.p)

    def _folds(self, rows: Rows) -> tuple[int, Callable[[int], Cut]]:
        n = len(rows)
        if self.p >= n:
            raise InputError(
                f"leaving {self.p} rows out leaves nothing to learn from", found=f"{n} rows"
            )
        total = self.count(n)
        if self.draws is None and total > _MOST:
            raise ParameterError(
                f"there are {total:,} sets of {self.p} of {n} rows",
                hint=f"draw some of them: LeavePOut({self.p}, draws=1000)",
            )
        if self.draws is not None and self.draws > total:
            raise ParameterError(
                f"there are only {total:,} sets of {self.p} of {n} rows",
                found=f"draws={self.draws}",
            )
        order = rows.shuffled(0)
        chosen = None if self.draws is None else _drawn(total, self.draws, self.seed)

        def cut(at: int) -> Cut:
            test = np.zeros(n, dtype=bool)
            test[order[_subset(n, self.p, at if chosen is None else chosen[at])]] = True
            return Cut.of_test(test)

        return total if chosen is None else len(chosen), cut


def _check_enough(k: int, rows: Rows) -> None:
    if k > len(rows):
        raise InputError(f"{k} folds need as many rows", found=f"{len(rows)} rows")


def _dealt(order: Ints, k: int, found: dict[str, int] | None = None) -> Callable[[int], Cut]:
    """Deal rows out in order, one to each fold in turn."""
    fold = np.empty(len(order), dtype=np.int32)
    fold[order] = np.arange(len(order)) % k
    return _by_number(fold, found)


def _by_number(fold: Ints, found: dict[str, int] | None = None) -> Callable[[int], Cut]:
    return lambda at: Cut.of_test(fold == at, dict(found or {}))


def _drawn(total: int, draws: int, seed: int) -> list[int]:
    """Draw different numbers below a total that may be astronomically large."""
    source = random.Random(hash_of_text(f"seed {seed}"))  # noqa: S311 - a sample, not a secret
    if total < 2**62:
        return source.sample(range(total), draws)
    out: dict[int, None] = {}
    while len(out) < draws:
        out[source.randrange(total)] = None
    return list(out)


def _subset(n: int, p: int, number: int) -> list[int]:
    """Return the subset with a number in lexicographic order.

    >>> [_subset(4, 2, number) for number in range(6)]
    [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    """
    out = []
    at = 0
    for left in range(p, 0, -1):
        while (with_it := math.comb(n - at - 1, left - 1)) <= number:
            number -= with_it
            at += 1
        out.append(at)
        at += 1
    return out
