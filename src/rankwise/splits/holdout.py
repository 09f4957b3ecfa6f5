"""Hold out rows, users or items: by share or number, strong generalisation, cold start, folds."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Literal, TypeAlias

import numpy as np
import polars as pl

from rankwise.core.arguments import Count
from rankwise.core.hashing import hash_of_column, hash_of_text
from rankwise.core.ragged import Ints, counting_sort, ragged_rows
from rankwise.errors import ColumnError, InputError, ParameterError, nearest
from rankwise.messages import parameter
from rankwise.splits.interactions import (
    MAX_FOLDS,
    Codes,
    Draws,
    Folds,
    Grouped,
    Mask,
    Rows,
    Seed,
    Share,
    rounded,
)
from rankwise.splits.splitter import FoldSplitter, Masks, SingleSplitter, Splitter

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

    k: Folds = 5
    per_user: bool = False
    seed: Seed = 0

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

    k: Folds = 5
    by: str = "relevance"
    seed: Seed = 0

    cuts_sessions = False

    def _check(self) -> None:
        if not isinstance(self.by, str):
            raise ParameterError("by is the name of a column", found=parameter("by", self.by))

    def _folds(self, rows: Rows) -> tuple[int, Callable[[int], Masks]]:
        _check_enough(self.k, rows)
        roles = {name: role for role, name in rows.table.columns.items()}
        name = roles.get(self.by, self.by)
        columns = rows.table.frame.columns
        if name not in columns:
            raise ColumnError(
                f"there is no column {self.by!r} to stratify by",
                where=rows.table.source,
                found=", ".join(map(repr, columns)),
                hint=nearest(self.by, columns),
            )
        order = rows.shuffled(self.seed)
        value = rows.table.frame[name]
        if value.dtype.is_nested() or value.dtype in (pl.Object, pl.Binary):
            raise ColumnError(
                f"column {self.by!r} has no strata", where=rows.table.source, found=str(value.dtype)
            )
        # Ordered by hash, not by value: 9 and 10 then have the same order as numbers and as text.
        strata = np.unique(hash_of_column(value, ids=False), return_inverse=True)[1]
        _, inside = counting_sort(strata[order], int(strata.max()) + 1)
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

    p: Count = 1
    draws: Draws | None = None
    seed: Seed = 0

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
            raise InputError(
                f"leaving {self.p} rows out leaves no training rows", found=f"{n} rows"
            )
        order = rows.shuffled(0)
        number, subset = self._sets(n)

        def cut(fold: int) -> Masks:
            test = np.zeros(n, dtype=bool)
            test[order[subset(fold)]] = True
            return Masks.of_test(test)

        return number, cut

    def _sets(self, n: int) -> tuple[int, Callable[[int], list[int]]]:
        """Return the number of sets, and the function that makes a set."""
        if _digits(n, self.p) > _MANY_DIGITS:
            if self.draws is None:
                raise self._too_many(n, f"about 10^{_digits(n, self.p):.0f}")

            def random_subset(fold: int) -> list[int]:
                source = random.Random(hash_of_text(f"seed {self.seed}, set {fold}"))  # noqa: S311 - no secret
                return source.sample(range(n), self.p)

            return self.draws, random_subset
        total = self.count(n)
        if self.draws is None and total > MAX_FOLDS:
            raise self._too_many(n, f"{total:,}")
        if self.draws is not None and self.draws > total:
            raise ParameterError(
                f"there are only {total:,} sets of {self.p} of {n} rows",
                found=parameter("draws", self.draws),
            )
        numbers = range(total) if self.draws is None else _sample(total, self.draws, self.seed)
        return len(numbers), lambda fold: _subset(n, self.p, numbers[fold])

    def _too_many(self, n: int, total: str) -> ParameterError:
        return ParameterError(
            f"there are {total} sets of {self.p} of {n} rows",
            hint=f"draw some of them: LeavePOut({self.p}, {parameter('draws', 1000)})",
        )


def _check_enough(k: int, rows: Rows) -> None:
    if k > len(rows):
        raise InputError(f"{k} folds need at least {k} rows", found=f"{len(rows)} rows")


def _dealt(order: Ints, k: int, notes: dict[str, int] | None = None) -> Callable[[int], Masks]:
    """Return a function that cuts a fold; rows are dealt to the folds in turn."""
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


Which: TypeAlias = Literal["random", "last"]
Short: TypeAlias = Literal["train", "some", "test", "drop", "error"]


@dataclass(frozen=True, repr=False)
class Holdout(SingleSplitter):
    """Hold out a share of all rows at random, or of each user's rows, at random or the last ones.

    A share r of n rows is r·n rows, rounded half up. With ``per="user"`` every user keeps at least
    one training row; users with too few rows for that have no test rows, and are counted. With
    ``per="rows"`` a user may lose all training rows, and is then a cold-start user. Random choices
    follow from a hash of seed, user, item and time, so that the order of the table has no
    influence; each of several equal rows is drawn for itself. The last rows are last by time; rows
    of equal time are ordered by a hash of user, item and time.

    Parameters
    ----------
    share : float, default=0.2
        The share of test rows, in (0, 1).
    per : {"rows", "user"}, default="rows"
        Take the share of all rows together, or of the rows of each user.
    which : {"random", "last"}, default="random"
        The rows to test. To test the last of all rows together, use `GlobalTime`.
    seed : int, default=0
        Random seed.

    Notes
    -----
    Testing the last rows of each user leaks: some users' training rows are later than other users'
    test rows, so the model learns which items become popular later. The card of the split
    quantifies this (``leak_index``).

    See Also
    --------
    LeaveOut : Test a fixed number of rows per user.
    GlobalTime : Split at one date, without leakage.

    Examples
    --------
    >>> table = {1: ["a", "b", "c", "d"], 2: ["a", "b"]}
    >>> Holdout(0.5, per="user").split(table).test["user"].to_list()
    [1, 1, 2]
    """

    share: Share = 0.2
    per: Literal["rows", "user"] = "rows"
    which: Which = "random"
    seed: Seed = 0

    def _check(self) -> None:
        if self.per == "rows" and self.which == "last":
            raise ParameterError(
                "the last rows of all together are a split in time",
                hint=f"use GlobalTime(share={self.share})",
            )

    def _cut(self, rows: Rows) -> Masks:
        if self.per == "rows":
            return Masks.of_test(_smallest(rows, rounded(self.share, len(rows)), self.seed))
        by_user = grouped(rows, self.which, self.seed)
        n_test = np.minimum(rounded(self.share, by_user.lengths), by_user.lengths - 1)
        n_test = np.maximum(n_test, 0)
        without = int(((n_test == 0) & (by_user.lengths > 0)).sum())
        return Masks.of_test(by_user.tail(n_test), {"users_without_test_rows": without})


@dataclass(frozen=True, repr=False)
class LeaveOut(SingleSplitter):
    """Leave out n rows per user: leave-one-out, the last n rows, or n random rows.

    Parameters
    ----------
    n : int, default=1
        The number of test rows per user.
    which : {"last", "random"}, default="last"
        The rows to test. The last are last by time, and rows of equal time are ordered by a hash of
        user, item and time; random choices follow from a hash of seed, user, item and time, and
        each of several equal rows is drawn for itself.
    short : {"train", "some", "test", "drop", "error"}, default="train"
        What to do with users who have n rows or fewer. ``"train"``: keep their rows in training;
        ``"some"``: test all except one; ``"test"``: test all (LensKit, RecTools, RePlay);
        ``"drop"``: drop them (WarpRec); ``"error"``: raise (DataRec). These users are counted.
    seed : int, default=0
        Random seed.

    Notes
    -----
    Testing each user's last rows leaks, see `Holdout`. The test rows of some users may be years
    older than those of others.

    Examples
    --------
    >>> table = {1: ["a", "b", "c"], 2: ["a"]}
    >>> split = LeaveOut(1, which="random").split(table)
    >>> split.test["user"].to_list(), split.found
    ([1], {'users_too_short': 1})
    """

    n: Count = 1
    which: Which = "last"
    short: Short = "train"
    seed: Seed = 0

    def _cut(self, rows: Rows) -> Masks:
        by_user = grouped(rows, self.which, self.seed)
        short = (by_user.lengths <= self.n) & (by_user.lengths > 0)
        notes = {"users_too_short": int(short.sum())}
        if self.short == "error" and short.any():
            user = rows.user.vocabulary.decode(np.flatnonzero(short)[:1])[0]
            raise InputError(
                f"a user has too few rows to leave {self.n} out and keep one",
                where=f"user {user!r}",
                found=f"{by_user.lengths[short][0]} rows ({short.sum()} such users)",
                hint=f"choose what happens to them: {parameter('short', 'train')} keeps their "
                "rows in training",
            )
        of_short = {"test": by_user.lengths, "some": by_user.lengths - 1}
        n_test = np.where(short, of_short.get(self.short, 0), self.n)
        n_test[by_user.lengths == 0] = 0
        test = by_user.tail(n_test)
        if self.short != "drop":
            return Masks.of_test(test, notes)
        return Masks({"train": ~test & ~short[rows.user.of_row], "test": test}, notes)


def grouped(rows: Rows, which: Which, seed: int) -> Grouped:
    """Group rows by user, with the rows to test first at the end."""
    return rows.in_time() if which == "last" else rows.at_random(seed)


def _smallest(rows: Rows, count: int, seed: int) -> Mask:
    key = rows.draw(seed)
    if not 0 < count < len(key):
        return np.full(len(key), count > 0)
    limit = np.partition(key, count - 1)[count - 1]
    mask: Mask = key < limit
    at_limit = np.flatnonzero(key == limit)
    mask[at_limit[: count - int(mask.sum())]] = True
    return mask


def _half_per_user() -> Splitter:
    return Holdout(0.5, per="user")


def _check_fold_in(name: str, rule: object) -> None:
    if not isinstance(rule, SingleSplitter):
        raise ParameterError(f"{name} is a rule that gives one split", found=repr(rule))
    if rule.has_extras or not rule.has_two_parts:
        raise ParameterError(
            f"{name} only cuts rows in two",
            found=repr(rule),
            hint="give validation and filters to the outer rule, and take a rule with two parts, "
            "such as Holdout or LeaveOut",
        )


FoldIn: TypeAlias = Annotated[Splitter, _check_fold_in]


@dataclass(frozen=True, repr=False)
class UserHoldout(SingleSplitter):
    """Hold out users: part of their rows is known at prediction time, the rest is tested.

    Parameters
    ----------
    share : float, default=0.2
        The share of users that are held out, in (0, 1); their number is rounded half up.
    fold_in : Splitter or None, default=Holdout(0.5, per="user")
        The rule that splits the rows of held-out users into those known at prediction time (part
        ``history``) and the test rows. None tests all their rows: cold-start users.
    strong : bool, default=True
        Keep the known rows of held-out users out of training (strong generalisation); otherwise
        they are training rows (LensKit's user sampling).
    seed : int, default=0
        Random seed, which decides the held-out users.

    Examples
    --------
    >>> table = {user: ["a", "b", "c", "d"] for user in range(10)}
    >>> split = UserHoldout(0.2).split(table)
    >>> len(split.train), len(split.history), len(split.test)
    (32, 4, 4)
    """

    share: Share = 0.2
    fold_in: FoldIn | None = field(default_factory=_half_per_user)
    strong: bool = True
    seed: Seed = 0

    @property
    def has_two_parts(self) -> bool:
        """Whether there is no part for known rows."""
        return self.fold_in is None

    def _cut(self, rows: Rows) -> Masks:
        held_out = _random_share(rows.user, self.share, self.seed)
        return _hold_out(rows, held_out[rows.user.of_row], self.fold_in, self.strong)


@dataclass(frozen=True, repr=False)
class UserKFold(FoldSplitter):
    """Hold out every user once, in k folds of users.

    Folds have equal numbers of users; those of scikit-learn's ``GroupKFold`` have about equal
    numbers of rows.

    Parameters
    ----------
    k : int, default=5
        The number of folds, at least 2. Their sizes differ by at most one user.
    fold_in, strong, seed
        As for `UserHoldout`.

    Examples
    --------
    >>> table = {user: ["a", "b"] for user in range(6)}
    >>> [len(split.test) for split in UserKFold(3).split(table)]
    [2, 2, 2]
    """

    k: Folds = 5
    fold_in: FoldIn | None = field(default_factory=_half_per_user)
    strong: bool = True
    seed: Seed = 0

    def _folds(self, rows: Rows) -> tuple[int, Callable[[int], Masks]]:
        order = rows.user.at_random(self.seed)
        if len(order) < self.k:
            raise InputError(f"{self.k} folds need as many users", found=f"{len(order)} users")
        fold_of_user = np.zeros(rows.user.size, dtype=np.int64)
        fold_of_user[order] = np.arange(len(order)) % self.k

        def cut(fold: int) -> Masks:
            held_out = (fold_of_user == fold)[rows.user.of_row]
            return _hold_out(rows, held_out, self.fold_in, self.strong)

        return self.k, cut


@dataclass(frozen=True, repr=False)
class ItemHoldout(SingleSplitter):
    """Hold out items with all their rows: cold-start items.

    Parameters
    ----------
    share : float, default=0.2
        The share of items that are held out, in (0, 1); their number is rounded half up.
    seed : int, default=0
        Random seed, which decides the held-out items.

    Examples
    --------
    >>> table = {user: ["a", "b", "c", "d"] for user in range(3)}
    >>> split = ItemHoldout(0.25).split(table)
    >>> split.test["item"].n_unique(), len(split.train)
    (1, 9)
    """

    share: Share = 0.2
    seed: Seed = 0

    cuts_sessions = False

    def _cut(self, rows: Rows) -> Masks:
        held_out = _random_share(rows.item, self.share, self.seed)
        return Masks.of_test(held_out[rows.item.of_row], {"items_held_out": int(held_out.sum())})


def _random_share(codes: Codes, share: float, seed: int) -> Mask:
    order = codes.at_random(seed)
    chosen: Mask = np.zeros(codes.size, dtype=bool)
    chosen[order[: rounded(share, len(order))]] = True
    return chosen


def _hold_out(rows: Rows, held_out: Mask, fold_in: Splitter | None, strong: bool) -> Masks:
    """Return the masks of training, history and test for the held-out rows."""
    notes = {"users_held_out": len(np.unique(rows.user.of_row[held_out]))}
    if fold_in is None or not held_out.any():
        return Masks.of_test(held_out, notes)
    assert isinstance(fold_in, SingleSplitter)
    inner = fold_in.masks(rows.select(held_out)).spread(held_out)
    history, test = inner.parts["train"], inner.parts["test"]
    notes |= {f"fold_in_{name}": value for name, value in inner.notes.items()}
    if strong:
        return Masks({"train": ~held_out, "history": history, "test": test}, notes)
    return Masks({"train": ~held_out | history, "test": test}, notes)
