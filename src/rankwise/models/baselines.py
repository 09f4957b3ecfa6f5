"""Three baselines: random, popularity and item neighbours.

Each has ``fit(interactions)`` and ``recommend(users, n)``, which returns a table of user, item,
score and rank, without the items that are known of the user.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
import polars as pl

from rankwise.core.arguments import check_count, check_number
from rankwise.core.hashing import combined, hash_of_column
from rankwise.errors import IdError, ParameterError
from rankwise.tables.align import align
from rankwise.tables.columns import Columns
from rankwise.tables.read import read_table
from rankwise.tables.table import Table
from rankwise.tables.validation import checked_ids

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["Baseline", "ItemNeighbours", "Popularity", "Random"]

Scores: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.float64]]
_USERS = 1024  # users per block of scores: bounds memory by that many rows of the catalogue
_UNUSED: Columns = {"relevance": None, "timestamp": None}  # columns that no baseline reads


@dataclass
class Baseline:
    """Base class of the baselines: codes of users and items, and the ranking of scores."""

    _users: Table | None = field(default=None, init=False, repr=False)
    _items: pl.Series = field(default_factory=pl.Series, init=False, repr=False)
    _known: Any = field(default=None, init=False, repr=False)

    def fit(self, interactions: Any, *, columns: Columns | None = None) -> Self:
        """Fit to training interactions.

        Parameters
        ----------
        interactions : table, path, mapping, sparse matrix or Split
            One row per interaction, as `rankwise.evaluate` takes ``train``; repeated rows count
            once. Of a `rankwise.splits.Split`, the training part is fitted to, and the items of
            all rows that are known before the test part are not recommended.
        columns : mapping of str to str, optional
            The column of each role, if its name is not recognised: ``{"user": "uid"}``.

        Raises
        ------
        InputError
            If the interactions cannot be read, or there are none.
        """
        table = read_table(interactions, "train", {**(columns or {}), **_UNUSED})
        trained = table.trained.frame
        self._items = trained["item"].unique().sort()
        self._users = table.with_frame(pl.DataFrame({"user": table.frame["user"].unique().sort()}))
        self._known = self._matrix(table.frame)
        self._fit(self._known if len(trained) == len(table.frame) else self._matrix(trained))
        return self

    def _matrix(self, rows: pl.DataFrame) -> csr_array:
        """Return the user-item matrix of the rows with trained items, which holds 1 for each pair."""
        from scipy.sparse import csr_array

        assert self._users is not None
        users = self._users.frame["user"]
        rows = rows.filter(pl.col("item").is_in(self._items.implode()))
        row = rows["user"].replace_strict(users, np.arange(len(users)), return_dtype=pl.Int64).to_numpy()
        column = rows["item"].replace_strict(self._items, np.arange(len(self._items)), return_dtype=pl.Int64)
        shape = (len(users), len(self._items))
        matrix: csr_array = csr_array((np.ones(len(row)), (row, column.to_numpy())), shape=shape)
        matrix.sum_duplicates()
        matrix.data[:] = 1.0
        return matrix

    def recommend(self, users: Iterable[Any], n: int = 10) -> pl.DataFrame:
        """Return up to n items per user, best first, ties in order of item id.

        A user's list does not depend on the other users of the call.

        Parameters
        ----------
        users : iterable of ids
            The users, with ids of the type that they have in training.
        n : int, default=10
            The length of the lists.

        Returns
        -------
        polars.DataFrame
            Columns ``user``, ``item``, ``score`` and ``rank``. A user without scored items gets no
            row.

        Raises
        ------
        IdError
            If the ids are of another type than in training.
        ParameterError
            If the baseline has not been fitted, or n is no whole number from 1.
        """
        if self._users is None:
            raise ParameterError(
                f"{type(self).__name__} has not been fitted",
                hint=f"{type(self).__name__}().fit(train).recommend(users)",
            )
        check_count(n=n)
        ids = self._ids(users)
        known = self._users.frame.with_row_index("code").with_columns(pl.col("user").cast(ids.dtype, strict=False))
        codes = ids.to_frame().join(known, on="user", how="left", maintain_order="left")["code"]
        rows = codes.cast(pl.Int64).fill_null(-1).to_numpy()
        blocks = [
            self._top_items(ids[start : start + _USERS], rows[start : start + _USERS], n)
            for start in range(0, max(len(ids), 1), _USERS)
        ]
        return pl.concat(blocks)

    def _ids(self, users: Iterable[Any]) -> pl.Series:
        """Return the ids of users; raise if they are not of the type that they have in training."""
        assert self._users is not None
        if isinstance(users, str | bytes) or not isinstance(users, Iterable):
            raise ParameterError("users is an iterable of ids", found=f"users={users!r}"[:80], hint=f"[{users!r}]")
        try:
            ids = pl.Series("user", list(users))
        except (TypeError, pl.exceptions.PolarsError) as error:
            raise IdError("ids are integers or strings, not both", where="users") from error
        if not len(ids):
            return ids.cast(self._users.frame["user"].dtype)
        table = Table(ids.to_frame(), "users", "users", "ids", {"user": "user"})
        table = table.with_ids("user", checked_ids(ids, "user", table))
        return align([self._users, table], "user")[1].frame["user"]

    def _top_items(self, ids: pl.Series, codes: Any, n: int) -> pl.DataFrame:
        scores = self._scores(ids, codes)
        warm = np.flatnonzero(codes >= 0)
        rows, columns = self._known[codes[warm]].nonzero()
        scores[warm[rows], columns] = -np.inf
        top = np.argsort(-scores, axis=1, kind="stable")[:, :n]
        best = np.take_along_axis(scores, top, axis=1)
        row, column = np.nonzero(np.isfinite(best))
        return pl.DataFrame(
            {
                "user": ids.gather(row),
                "item": self._items.gather(top[row, column]),
                "score": best[row, column],
                "rank": column + 1,
            }
        )

    def _fit(self, seen: csr_array) -> None:
        """Fit to the user-item matrix of training interactions, which holds 1 for each pair."""

    def _scores(self, ids: pl.Series, codes: Any) -> Scores:
        """Return scores of all items for these users (-1: cold-start user); -inf excludes items."""
        raise TypeError(f"{type(self).__name__} does not score items")


@dataclass
class Random(Baseline):
    """Items in random order: the lower bound for a useful model.

    A score is a hash of seed, user and item, so that it depends on these alone.

    Parameters
    ----------
    seed : int, default=0
        The seed of the random scores.

    Examples
    --------
    >>> table = pl.DataFrame({"user": [1, 2], "item": ["a", "b"]})
    >>> Random(seed=0).fit(table).recommend([1, 2])["item"].to_list()
    ['b', 'a']
    """

    seed: int = 0

    def __post_init__(self) -> None:
        check_count(least=0, seed=self.seed)

    def _scores(self, ids: pl.Series, codes: Any) -> Scores:
        users, items = hash_of_column(ids), hash_of_column(self._items)
        pairs = combined([np.repeat(users, len(items)), np.tile(items, len(users))], self.seed)
        return pairs.reshape(len(users), len(items)) / 2.0**63


@dataclass
class Popularity(Baseline):
    """Items by popularity: their number of training users.

    Examples
    --------
    >>> table = pl.DataFrame({"user": [1, 2, 2], "item": ["a", "a", "b"]})
    >>> Popularity().fit(table).recommend([1, 3])["item"].to_list()
    ['b', 'a', 'b']
    """

    def _fit(self, seen: csr_array) -> None:
        self._popularity = np.asarray(seen.sum(axis=0)).ravel()

    def _scores(self, ids: pl.Series, codes: Any) -> Scores:
        return np.tile(self._popularity, (len(codes), 1))


@dataclass
class ItemNeighbours(Baseline):
    """Items similar to those that are known of the user, by the cosine between item columns.

    Parameters
    ----------
    neighbours : int, default=50
        Number of nearest neighbours per item.
    shrink : float, default=10.0
        Added to the denominator of the cosine, against random similarities of rare items.

    Examples
    --------
    >>> table = pl.DataFrame({"user": [1, 1, 2, 2, 3], "item": ["a", "b", "a", "c", "a"]})
    >>> ItemNeighbours().fit(table).recommend([3])["item"].to_list()
    ['b', 'c']
    """

    neighbours: int = 50
    shrink: float = 10.0

    def __post_init__(self) -> None:
        check_count(neighbours=self.neighbours)
        check_number("shrink", self.shrink)
        if self.shrink is None or self.shrink < 0:
            raise ParameterError("shrink must be a number from 0", found=f"shrink={self.shrink!r}")

    def _fit(self, seen: csr_array) -> None:
        from scipy.sparse import csr_array

        co_occurrence = (seen.T @ seen).toarray()
        norms = np.sqrt(np.diagonal(co_occurrence))
        similarity = co_occurrence / (np.outer(norms, norms) + self.shrink)
        np.fill_diagonal(similarity, 0.0)
        if similarity.shape[0] > self.neighbours:
            least = np.partition(similarity, -self.neighbours, axis=0)[-self.neighbours]
            similarity[similarity < least] = 0.0
        self._similarity = csr_array(similarity)

    def _scores(self, ids: pl.Series, codes: Any) -> Scores:
        scores = np.full((len(codes), len(self._items)), -np.inf)
        warm = np.flatnonzero(codes >= 0)
        warm_scores = (self._known[codes[warm]] @ self._similarity).toarray()
        scores[warm] = np.where(warm_scores > 0, warm_scores, -np.inf)
        return scores
