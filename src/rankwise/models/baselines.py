"""Three baselines: random, popular, and the neighbours of what a user has had.

Each has ``fit(interactions)`` and ``recommend(users, n)``, which gives a table of user, item,
score and rank. Items that a user has had are not recommended again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
import polars as pl

from rankwise.errors import EmptyError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scipy.sparse import csr_array

__all__ = ["Baseline", "ItemNeighbours", "Popularity", "Random"]

Scores: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.float64]]
_USERS = 1024  # users scored at a time: bounds memory by that many rows of the catalogue


@dataclass
class Baseline:
    """What the baselines share: codes of users and items, and the ranking of scores."""

    _users: pl.DataFrame = field(default_factory=pl.DataFrame, init=False, repr=False)
    _items: pl.Series = field(default_factory=pl.Series, init=False, repr=False)
    _seen: Any = field(default=None, init=False, repr=False)

    def fit(self, interactions: pl.DataFrame) -> Self:
        """Learn from a table with columns ``user`` and ``item``."""
        from scipy.sparse import csr_array

        if interactions.is_empty():
            raise EmptyError("there is nothing to learn from", where="interactions")
        users = interactions["user"].unique().sort()
        self._items = interactions["item"].unique().sort()
        self._users = pl.DataFrame({"user": users, "code": np.arange(len(users))})
        row = interactions["user"].replace_strict(users, np.arange(len(users))).to_numpy()
        column = (
            interactions["item"].replace_strict(self._items, np.arange(len(self._items))).to_numpy()
        )
        shape = (len(users), len(self._items))
        seen: csr_array = csr_array((np.ones(len(row)), (row, column)), shape=shape)
        seen.sum_duplicates()
        seen.data[:] = 1.0
        self._seen = seen
        self._learn(seen)
        return self

    def recommend(self, users: Iterable[Any], n: int = 10) -> pl.DataFrame:
        """Return up to n items for each user, best first; equal scores in order of item id.

        A user for whom the model has nothing to say gets no row.
        """
        ids = pl.Series("user", list(users))
        known = pl.DataFrame({"user": ids}).join(
            self._users, on="user", how="left", maintain_order="left"
        )
        codes = known["code"].fill_null(-1).to_numpy()
        parts = [
            self._block(ids[start : start + _USERS], codes[start : start + _USERS], n, start)
            for start in range(0, len(ids), _USERS)
        ]
        return pl.concat(parts)

    def _block(self, ids: pl.Series, codes: Any, n: int, start: int) -> pl.DataFrame:
        scores = self._scores(codes, start)
        warm = np.flatnonzero(codes >= 0)
        rows, columns = self._seen[codes[warm]].nonzero()
        scores[warm[rows], columns] = -np.inf
        top = np.argsort(-scores, axis=1, kind="stable")[:, :n]
        best = np.take_along_axis(scores, top, axis=1)
        user, place = np.nonzero(np.isfinite(best))
        return pl.DataFrame(
            {
                "user": ids.gather(user),
                "item": self._items.gather(top[user, place]),
                "score": best[user, place],
                "rank": place + 1,
            }
        )

    def _learn(self, seen: csr_array) -> None:
        """Learn from the matrix of users and items."""

    def _scores(self, codes: Any, start: int) -> Scores:
        """Score every item for some users (code -1: unknown); -inf: not to be recommended."""
        raise TypeError(f"{type(self).__name__} does not score items")


@dataclass
class Random(Baseline):
    """Every item equally likely: what an evaluation must show to be worthless.

    Examples
    --------
    >>> table = pl.DataFrame({"user": [1, 2], "item": ["a", "b"]})
    >>> Random(seed=0).fit(table).recommend([1, 2])["item"].to_list()
    ['b', 'a']
    """

    seed: int = 0

    def _scores(self, codes: Any, start: int) -> Scores:
        # A stream of its own for every block, so that the same users get the same lists.
        return np.random.default_rng([self.seed, start]).random((len(codes), len(self._items)))


@dataclass
class Popularity(Baseline):
    """Items by the number of users who have had them.

    Examples
    --------
    >>> table = pl.DataFrame({"user": [1, 2, 2], "item": ["a", "a", "b"]})
    >>> Popularity().fit(table).recommend([1, 3])["item"].to_list()
    ['b', 'a', 'b']
    """

    def _learn(self, seen: csr_array) -> None:
        self._popularity = np.asarray(seen.sum(axis=0)).ravel()

    def _scores(self, codes: Any, start: int) -> Scores:
        return np.tile(self._popularity, (len(codes), 1))


@dataclass
class ItemNeighbours(Baseline):
    """Items that the same users have had as the user's own: cosine between columns.

    Parameters
    ----------
    neighbours : int
        Neighbours kept for each item, the nearest.
    shrink : float
        Added to the denominator of the cosine, against chance agreements of rare items.

    Examples
    --------
    >>> table = pl.DataFrame({"user": [1, 1, 2, 2, 3], "item": ["a", "b", "a", "c", "a"]})
    >>> ItemNeighbours().fit(table).recommend([3])["item"].to_list()
    ['b', 'c']
    """

    neighbours: int = 50
    shrink: float = 10.0

    def _learn(self, seen: csr_array) -> None:
        from scipy.sparse import csr_array

        together = (seen.T @ seen).toarray()
        lengths = np.sqrt(np.diagonal(together))
        similar = together / (np.outer(lengths, lengths) + self.shrink)
        np.fill_diagonal(similar, 0.0)
        if similar.shape[0] > self.neighbours:
            least = np.partition(similar, -self.neighbours, axis=0)[-self.neighbours]
            similar[similar < least] = 0.0
        self._similar = csr_array(similar)

    def _scores(self, codes: Any, start: int) -> Scores:
        scores = np.full((len(codes), len(self._items)), -np.inf)
        warm = np.flatnonzero(codes >= 0)
        found = (self._seen[codes[warm]] @ self._similar).toarray()
        scores[warm] = np.where(found > 0, found, -np.inf)
        return scores
