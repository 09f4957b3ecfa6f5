"""Detection of lists with sampled negatives, from counts that add up over pieces.

They add up over pieces; of the items they keep the 4,096 with the smallest hashes, a random sample
that is the same however users are divided. One limit remains in pieces: a piece counts its items
only if its lists hold most of its relevant items and most of its users have equally many further
items. If the remaining users are concentrated in a few pieces, lists near the limit of a tenth or a
half may have no label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import polars as pl

from rankwise.core.digests import id_words
from rankwise.core.hashing import combine_hashes

_MOST = 0.95
"""Least share of the relevant items in sampled lists, and of the users with equally many negatives."""
_MOST_OF_PIECE = 0.8
"""The same in a piece whose items are counted: in most pieces of other lists no item is looked at."""
_FEW_NEGATIVES = 9
_FEW_USERS = 20
_SMALL_SHARE = 0.1
"""Share of the items up to which no recommender finds every relevant item of nearly every user."""
_LARGEST_SHARE = 0.5
"""Share of the items above which lists are as good as whole: a full ranking of a small catalogue."""
_EVEN = 1.25
"""How often, times the mean, the most frequent tenth of items occurs at most if items are drawn at random.

A sixth standard deviation of a binomial count is added."""
_ITEMS = 4096
"""Number of items that are kept: their number is exact below, and has a standard error of 1.6 % above."""
_HASHES = 2**63

_NEGATIVES = pl.Schema({"negatives": pl.Int64, "users": pl.Int64})
_ROWS = pl.Schema({"hash": pl.UInt64, "rows": pl.Int64})


@dataclass(frozen=True, kw_only=True, eq=False)
class SampleCounts:
    """Counts of the users who have a list and relevant items; counts of different users add up.

    Attributes
    ----------
    relevant : int, default=0
        Number of relevant items.
    hits : int, default=0
        Number of relevant items in the lists.
    negatives : polars.DataFrame
        Number of ``users`` by the number of other items in their lists.
    items : polars.DataFrame
        The listed items with the smallest hashes, a random sample: ``hash`` and number of ``rows``.

    Examples
    --------
    >>> lists = pl.DataFrame({"user": range(40), "item": [range(u, u + 400, 40) for u in range(40)]}).explode("item")
    >>> truth = pl.DataFrame({"user": range(40), "item": range(40)})
    >>> SampleCounts.of_lists(lists, truth).sampled_negatives
    9
    """

    relevant: int = 0
    hits: int = 0
    negatives: pl.DataFrame = field(default_factory=_NEGATIVES.to_frame)
    items: pl.DataFrame = field(default_factory=_ROWS.to_frame)

    @classmethod
    def of_users(
        cls, n_relevant: pl.Series, list_length: pl.Series, hits: int, items: pl.Series
    ) -> Self:
        """Return the counts of a piece from numbers of items per user, hits, and items of rows."""
        counted = (n_relevant > 0) & (list_length > 0)
        negatives = (list_length - n_relevant).filter(counted).rename("negatives")
        users = negatives.value_counts(name="users")
        counts = cls(
            relevant=int(n_relevant.filter(counted).sum()),
            hits=hits,
            negatives=pl.DataFrame([users[name].cast(kind) for name, kind in _NEGATIVES.items()]),
        )
        return (
            replace(counts, items=_sample(items))
            if counts._look_sampled(_MOST_OF_PIECE)
            else counts
        )

    @classmethod
    def of_lists(cls, lists: pl.DataFrame, relevant: pl.DataFrame) -> Self:
        """Return the counts of all lists, from users and items with ids of the same types."""
        pair = ["user", "item"]
        relevant = relevant.select(pair).unique()
        hits = lists.select(pair).join(relevant, on=pair, how="semi")
        users = (
            lists.group_by("user")
            .len("length")
            .join(relevant.group_by("user").len("relevant"), on="user")
        )
        lengths = users.select(pl.col("relevant", "length").cast(pl.Int64))
        return cls.of_users(lengths["relevant"], lengths["length"], len(hits), lists["item"])

    @classmethod
    def merged(cls, counts: Sequence[Self]) -> Self:
        """Return the counts of all users."""
        if len(counts) == 1:
            return counts[0]
        negatives = pl.concat(each.negatives for each in counts).group_by("negatives").sum()
        items = (
            pl.concat(each.items for each in counts)
            .group_by("hash")
            .sum()
            .sort("hash")
            .head(_ITEMS)
        )
        return cls(
            relevant=sum(each.relevant for each in counts),
            hits=sum(each.hits for each in counts),
            negatives=negatives,
            items=items,
        )

    @property
    def sampled_negatives(self) -> int | None:
        """The number of sampled negatives per list; None if lists do not look sampled.

        Lists look sampled if they hold at least 95 % of the relevant items of 20 users or more, and
        at least 95 % of these users have equally many other items (9 or more), while lists are
        short: a tenth of all listed items at most, or half of them if items occur about equally
        often, as no recommender lists them.
        """
        if self._n_users < _FEW_USERS or not self._look_sampled(_MOST):
            return None
        negatives, _ = self._most_frequent
        share = (negatives + 1) / self._n_items
        is_short = share <= _SMALL_SHARE or (share <= _LARGEST_SHARE and self._is_even)
        return negatives if is_short else None

    def _look_sampled(self, share: float) -> bool:
        """Return whether lists look sampled, for at least a share of users and relevant items."""
        negatives, users = self._most_frequent
        enough = users >= share * self._n_users and self.hits >= share * self.relevant
        return negatives >= _FEW_NEGATIVES and enough

    @property
    def _n_users(self) -> int:
        return int(self.negatives["users"].sum())

    @property
    def _most_frequent(self) -> tuple[int, int]:
        """The most frequent number of negatives, and its number of users."""
        if self.negatives.is_empty():
            return 0, 0
        return self.negatives.row(int(self.negatives["users"].arg_max() or 0))

    @property
    def _n_items(self) -> float:
        """The number of listed items, estimated from the largest hash that was kept."""
        hashes = self.items["hash"].to_numpy()
        return len(hashes) if len(hashes) < _ITEMS else (_ITEMS - 1) * _HASHES / float(hashes[-1])

    @property
    def _is_even(self) -> bool:
        """Whether items occur about equally often, as items that are drawn at random."""
        rows = self.items["rows"].sort(descending=True).to_numpy()
        mean = float(rows.mean())
        return bool(rows[: max(len(rows) // 10, 1)].mean() <= _EVEN * mean + 6 * mean**0.5 / 3)


def _sample(items: pl.Series) -> pl.DataFrame:
    """Return the items with the smallest hashes, and their numbers of rows."""
    counts = items.alias("item").value_counts(name="rows")
    hashes = pl.Series("hash", combine_hashes([id_words(counts["item"])], 0))
    return counts.select(hashes, pl.col("rows").cast(pl.Int64)).sort("hash").head(_ITEMS)
