"""A block: what measures see of some users. Plain arrays, of NumPy or of PyTorch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rankwise.core.backend import Array, bincount, namespace

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankwise.core.hits import Hits

__all__ = ["Block", "Ideal", "Judged", "Listed", "item_counts"]


@dataclass(frozen=True)
class Ideal:
    """The relevant items of every user in decreasing gain: the list that could not be better."""

    user: Array
    rank: Array
    gain: Array


@dataclass(frozen=True)
class Judged:
    """Recommended items that have a truth row, relevant or not, with score and truth."""

    user: Array
    score: Array
    truth: Array


@dataclass(frozen=True)
class Listed:
    """Every row of every list; scores and labels (1 if relevant) where lists have scores."""

    user: Array
    rank: Array
    item: Array
    n_items: int
    score: Array | None = None
    label: Array | None = None


@dataclass(frozen=True)
class Block:
    """Some users, their lists and what is relevant to them.

    Attributes
    ----------
    list_length : array of int, shape (U,)
        The number of items recommended to each user; 0 without a list.
    n_relevant : array of int, shape (U,)
        The number of relevant items of each user.
    n_judged : array of int, shape (U,)
        The number of truth rows of each user, relevant or not.
    hits : Hits
        Relevant items that were recommended.
    ideal : Ideal or None
        Gains of the best possible list; None where every gain is 1.
    judged : Judged or None
        Scores beside truth, if some measure needs them.
    listed : Listed or None
        All rows, if some measure needs them.
    """

    list_length: Array
    n_relevant: Array
    n_judged: Array
    hits: Hits
    ideal: Ideal | None = None
    judged: Judged | None = None
    listed: Listed | None = None
    _rows: dict[int, tuple[Array | None, Array]] = field(default_factory=dict, repr=False)

    @property
    def n_users(self) -> int:
        """The number of users, U."""
        return int(self.list_length.shape[0])

    def sum_hits(self, values: Array, k: Array) -> Array:
        """Sum a value of every hit over each user's first k ranks.

        Every sum is taken down the list, on its own: asking for another cut-off beside it does
        not change its last digit.

        Parameters
        ----------
        values : array of float, shape (n,)
            One value a row of ``hits``.
        k : array of int, shape (n_k,)
            Cut-offs.

        Returns
        -------
        array of float, shape (U, n_k)
        """
        xp = namespace(values)
        columns = []
        for cutoff in k:
            rows, users = self._within(int(cutoff))
            chosen = values if rows is None else values[rows]
            columns.append(bincount(users, chosen, self.n_users))
        return xp.stack(columns, axis=0).T  # each cut-off's values side by side in memory

    def sum_ideal(
        self, gain: Callable[[Array], Array], discount: Callable[[Array], Array], k: Array
    ) -> Array:
        """Sum gain times discount over the k best ranks that each user could have.

        Returns
        -------
        array of float, shape (U, n_k)
        """
        xp = namespace(self.n_relevant)
        if self.ideal is None:
            # Every gain is 1: the sum depends on how many ranks are filled and on nothing else.
            longest = int(xp.max(self.n_relevant)) if self.n_users else 0
            ranks = xp.arange(1, longest + 1, dtype=xp.float64)
            terms = gain(xp.ones_like(ranks)) * discount(ranks)
            sums = xp.concat([xp.zeros(1, dtype=xp.float64), xp.cumulative_sum(terms)])
            filled = xp.minimum(self.n_relevant[:, None], k[None, :])
            return xp.reshape(xp.take(sums, xp.reshape(filled, (-1,))), filled.shape)
        terms = gain(self.ideal.gain) * discount(xp.astype(self.ideal.rank, xp.float64))
        columns = []
        for cutoff in k:
            rows = self.ideal.rank <= cutoff
            columns.append(bincount(self.ideal.user[rows], terms[rows], self.n_users))
        return xp.stack(columns, axis=0).T

    def _within(self, cutoff: int) -> tuple[Array | None, Array]:
        """Return the rows of hits within a cut-off (None: all) and their users.

        Worked out once for all measures.
        """
        if cutoff not in self._rows:
            xp = namespace(self.hits.rank)
            near = self.hits.rank <= cutoff
            if bool(xp.all(near)):
                self._rows[cutoff] = None, self.hits.user
            else:
                (rows,) = xp.nonzero(near)
                self._rows[cutoff] = rows, self.hits.user[rows]
        return self._rows[cutoff]


def item_counts(block: Block, k: Array) -> Array:
    """Count how often each item stands in the first k ranks of a list.

    Returns
    -------
    array of int, shape (n_k, n_items)
    """
    assert block.listed is not None  # the plan sees to it
    xp = namespace(block.list_length)
    listed, rows = block.listed, []
    for cutoff in k:
        items = listed.item[listed.rank <= cutoff]
        rows.append(xp.bincount(items, minlength=listed.n_items))
    return xp.stack(rows, axis=0)
