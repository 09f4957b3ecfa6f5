"""Three baselines: random, popularity and item neighbours.

Each has ``fit(interactions)`` and ``recommend(users, n)``, which returns a table of user, item,
score and rank, without the user's training items.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
import polars as pl

from rankwise.errors import EmptyError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["Baseline", "ItemNeighbours", "Popularity", "Random"]

Scores: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.float64]]
_USERS = 1024  # users per block of scores: bounds memory by that many rows of the catalogue


@dataclass
class Baseline:
    """Base class of the baselines: codes of users and items, and the ranking of scores."""

    _users: pl.DataFrame = field(default_factory=pl.DataFrame, init=False, repr=False)
    _items: pl.Series = field(default_factory=pl.Series, init=False, repr=False)
    _seen: Any = field(default=None, init=False, repr=False)

    def fit(self, interactions: pl.DataFrame) -> Self:
        """Fit to training interactions, a table with columns ``user`` and ``item``."""
        from scipy.sparse import csr_array

        if interactions.is_empty():
            raise EmptyError("there are no training interactions", where="interactions")
        users = interactions["user"].unique().sort()
        self._items = interactions["item"].unique().sort()
        self._users = pl.DataFrame({"user": users, "code": np.arange(len(users))})
        row = interactions["user"].replace_strict(users, np.arange(len(users))).to_numpy()
        column = interactions["item"].replace_strict(self._items, np.arange(len(self._items))).to_numpy()
        shape = (len(users), len(self._items))
        seen: csr_array = csr_array((np.ones(len(row)), (row, column)), shape=shape)
        seen.sum_duplicates()
        seen.data[:] = 1.0
        self._seen = seen
        self._fit(seen)
        return self

    def recommend(self, users: Iterable[Any], n: int = 10) -> pl.DataFrame:
        """Return up to n items per user, best first, ties in order of item id.

        A user without scored items gets no row.
        """
        ids = pl.Series("user", list(users))
        known = pl.DataFrame({"user": ids}).join(self._users, on="user", how="left", maintain_order="left")
        codes = known["code"].fill_null(-1).to_numpy()
        blocks = [
            self._top_items(ids[start : start + _USERS], codes[start : start + _USERS], n, start)
            for start in range(0, len(ids), _USERS)
        ]
        return pl.concat(blocks)

    def _top_items(self, ids: pl.Series, codes: Any, n: int, start: int) -> pl.DataFrame:
        scores = self._scores(codes, start)
        warm = np.flatnonzero(codes >= 0)
        rows, columns = self._seen[codes[warm]].nonzero()
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

    def _scores(self, codes: Any, start: int) -> Scores:
        """Return scores of all items for these users (-1: cold-start user); -inf excludes items."""
        raise TypeError(f"{type(self).__name__} does not score items")


@dataclass
class Random(Baseline):
    """Items in random order: the lower bound for a useful model.

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

    def _scores(self, codes: Any, start: int) -> Scores:
        # One stream per block, so that the same users get the same lists.
        return np.random.default_rng([self.seed, start]).random((len(codes), len(self._items)))


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

    def _scores(self, codes: Any, start: int) -> Scores:
        return np.tile(self._popularity, (len(codes), 1))


@dataclass
class ItemNeighbours(Baseline):
    """Items similar to the user's training items, by the cosine between item columns.

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

    def _scores(self, codes: Any, start: int) -> Scores:
        scores = np.full((len(codes), len(self._items)), -np.inf)
        warm = np.flatnonzero(codes >= 0)
        warm_scores = (self._seen[codes[warm]] @ self._similarity).toarray()
        scores[warm] = np.where(warm_scores > 0, warm_scores, -np.inf)
        return scores
