"""k-fold, stratified k-fold and leave-p-out: every row or every set of p rows is tested once."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from rankwise.core.arguments import check_count
from rankwise.core.hashing import hash_of_column, hash_of_text
from rankwise.core.ragged import Ints, bucket, ragged_rows
from rankwise.errors import ColumnError, InputError, ParameterError, nearest
from rankwise.splits.rows import Rows
from rankwise.splits.sizes import MAX_FOLDS, check_folds
from rankwise.splits.splitter import FoldSplitter, Masks

__all__ = ["KFold", "LeavePOut", "StratifiedKFold"]

_MANY_DIGITS = 36  # digits of a number of sets of which no two random ones are ever equal
_TOO_MANY_DIGITS = 4000  # digits beyond which Python computes for minutes and prints nothing


@dataclass(frozen=True, repr=False)
class KFold(FoldSplitter):
    """Split into k random folds, each tested once: of all rows together, or user by user.

    Parameters
    ----------
    k : int, default=5
        The number of folds, at least 2. Their sizes differ by at most one row; with ``per_user``
        this also holds for the rows of each user.
    per_user : bool, default=False
        Distribute the rows of each user over the folds: users follow one another in random order,
        each from the fold after the last one of the user before.
    seed : int, default=0
        Random seed, which decides the order in which rows are assigned to folds.

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
        check_folds(k=self.k)

    def _folds(self, rows: Rows) -> tuple[int, Callable[[int], Masks]]:
        _check_enough(self.k, rows)
        if not self.per_user:
            return self.k, _dealt(rows.shuffled(self.seed), self.k)
        by_user, users = rows.at_random(self.seed), rows.user.at_random(self.seed)
        order = by_user.order[ragged_rows(by_user.starts[users], by_user.lengths[users])]
        return self.k, _dealt(order, self.k)


@dataclass(frozen=True, repr=False)
class StratifiedKFold(FoldSplitter):
    """Split into k random folds with equal shares of each stratum: each rating, segment, ….

    Parameters
    ----------
    k : int, default=5
        The number of folds, at least 2. The numbers of rows in two folds differ by at most one, in
        total and for each stratum.
    by : str, default="relevance"
        The column of the strata: ``"relevance"`` for the rating, or any other column of the table.
        Nulls are one stratum.
    seed : int, default=0
        Random seed, which decides the order in which rows of a stratum are assigned to folds.

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
        check_folds(k=self.k)
        if not isinstance(self.by, str):
            raise ParameterError("by is the name of a column", found=f"by={self.by!r}")

    def _folds(self, rows: Rows) -> tuple[int, Callable[[int], Masks]]:
        _check_enough(self.k, rows)
        roles = {name: role for role, name in rows.table.columns.items()}
        name = roles.get(self.by, self.by)
        if name not in rows.table.frame.columns:
            known = rows.table.frame.columns
            raise ColumnError(
                f"there is no column {self.by!r} to stratify by",
                where=rows.table.source,
                found=", ".join(map(repr, known)),
                hint=nearest(self.by, known),
            )
        order = rows.shuffled(self.seed)
        value = rows.table.frame[name]
        if value.dtype.is_nested() or value.dtype in (pl.Object, pl.Binary):
            raise ColumnError(f"column {self.by!r} has no strata", where=rows.table.source, found=str(value.dtype))
        # Ordered by hash, not by value: 9 and 10 then have the same order as numbers and as text.
        strata = np.unique(hash_of_column(value, ids=False), return_inverse=True)[1]
        _, inside = bucket(strata[order], int(strata.max()) + 1)
        counts = np.bincount(strata)
        notes = {"strata": len(counts), "strata_smaller_than_k": int((counts < self.k).sum())}
        return self.k, _dealt(order[inside], self.k, notes)


@dataclass(frozen=True, repr=False)
class LeavePOut(FoldSplitter):
    """Test every set of p rows: all C(n, p) sets, or a random sample of them.

    For small tables: `count` returns the number of sets; more than a million are an error unless
    ``draws`` is given.

    Parameters
    ----------
    p : int, default=1
        The number of rows per test set.
    draws : int, optional
        Draw this number of distinct sets; by default all sets are tested.
    seed : int, default=0
        Random seed of the draws.

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
        if self.draws is not None:
            check_folds(least=1, draws=self.draws)

    def count(self, rows: int) -> int:
        """Return the number of sets of p rows.

        Raises
        ------
        ParameterError
            If it has more than 4,000 digits.
        """
        digits = _digits(rows, self.p)
        if digits > _TOO_MANY_DIGITS:
            raise ParameterError(f"there are about 10^{digits:.0f} sets of {self.p} of {rows} rows")
        return math.comb(rows, self.p)

    def _folds(self, rows: Rows) -> tuple[int, Callable[[int], Masks]]:
        n = len(rows)
        if self.p >= n:
            raise InputError(f"leaving {self.p} rows out leaves no training rows", found=f"{n} rows")
        order = rows.shuffled(0)
        number, subset = self._sets(n)

        def cut(fold: int) -> Masks:
            test = np.zeros(n, dtype=bool)
            test[order[subset(fold)]] = True
            return Masks.of_test(test)

        return number, cut

    def _sets(self, n: int) -> tuple[int, Callable[[int], list[int]]]:
        """Return the number of sets, and the function that makes one of them."""
        if _digits(n, self.p) > _MANY_DIGITS:
            if self.draws is None:
                raise self._too_many(n, f"about 10^{_digits(n, self.p):.0f}")
            return self.draws, lambda fold: _random_subset(n, self.p, self.seed, fold)
        total = self.count(n)
        if self.draws is None and total > MAX_FOLDS:
            raise self._too_many(n, f"{total:,}")
        if self.draws is not None and self.draws > total:
            raise ParameterError(f"there are only {total:,} sets of {self.p} of {n} rows", found=f"draws={self.draws}")
        numbers = range(total) if self.draws is None else _sample(total, self.draws, self.seed)
        return len(numbers), lambda fold: _subset(n, self.p, numbers[fold])

    def _too_many(self, n: int, total: str) -> ParameterError:
        return ParameterError(
            f"there are {total} sets of {self.p} of {n} rows",
            hint=f"draw some of them: LeavePOut({self.p}, draws=1000)",
        )


def _check_enough(k: int, rows: Rows) -> None:
    if k > len(rows):
        raise InputError(f"{k} folds need at least {k} rows", found=f"{len(rows)} rows")


def _dealt(order: Ints, k: int, notes: dict[str, int] | None = None) -> Callable[[int], Masks]:
    """Return what cuts a fold, with rows assigned to the folds in turn."""
    fold_of_row = np.empty(len(order), dtype=np.int32)
    fold_of_row[order] = np.arange(len(order)) % k
    return lambda fold: Masks.of_test(fold_of_row == fold, dict(notes or {}))


def _sample(total: int, draws: int, seed: int) -> list[int]:
    """Return different random numbers below a total that may be astronomically large."""
    source = random.Random(hash_of_text(f"seed {seed}"))  # noqa: S311 - a sample, not a secret
    if total < 2**62:
        return source.sample(range(total), draws)
    drawn: dict[int, None] = {}
    while len(drawn) < draws:
        drawn[source.randrange(total)] = None
    return list(drawn)


def _random_subset(n: int, p: int, seed: int, number: int) -> list[int]:
    """Return the random subset of p of n rows that has a number."""
    source = random.Random(hash_of_text(f"seed {seed}, set {number}"))  # noqa: S311 - no secret
    return source.sample(range(n), p)


def _digits(n: int, p: int) -> float:
    """Return about how many digits the number of sets of p of n rows has, at no cost."""
    if p > n:
        return 0.0
    nats = math.lgamma(n + 1) - math.lgamma(p + 1) - math.lgamma(n - p + 1)
    return nats / math.log(10)


def _subset(n: int, p: int, number: int) -> list[int]:
    """Return the subset of p of n rows that has a number in lexicographic order.

    >>> [_subset(4, 2, number) for number in range(6)]
    [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    """
    subset = []
    row = 0
    for left in range(p, 0, -1):
        while (with_row := math.comb(n - row - 1, left - 1)) <= number:
            number -= with_row
            row += 1
        subset.append(row)
        row += 1
    return subset
