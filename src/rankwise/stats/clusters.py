"""Clusters of rows that are not independent: households of users, or users of requests."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rankwise.stats.differences import Floats


@dataclass(frozen=True, eq=False)
class UserClusters:
    """The cluster of each row, and the size of a cluster that was not sampled.

    Attributes
    ----------
    codes : array, shape (n,)
        The number of the cluster of each row, from 0 without gaps.
    stated_size : int or None
        The size of the largest cluster, as stated beforehand. A cluster that was not sampled is
        taken to have it; without it, the mean size.

    Examples
    --------
    >>> homes = UserClusters(np.array([0, 0, 0, 1]))
    >>> homes.count, homes.largest_size, homes.unseen_size
    (2, 3, 2.0)
    """

    codes: Any
    stated_size: int | None = None

    @cached_property
    def sizes(self) -> Any:
        """The number of rows of each cluster."""
        return np.bincount(self.codes)

    @property
    def count(self) -> int:
        """The number of clusters."""
        return len(self.sizes)

    @property
    def largest_size(self) -> int:
        """The number of rows of the largest cluster."""
        return int(self.sizes.max(initial=0))

    @property
    def unseen_size(self) -> float:
        """The size of a cluster that was not sampled."""
        return len(self.codes) / self.count if self.stated_size is None else self.stated_size

    @property
    def is_broken(self) -> bool:
        """Whether a cluster is larger than was stated."""
        return self.stated_size is not None and self.largest_size > self.stated_size

    def totals(self, values: Floats) -> Floats:
        """Return the sum of the values of each cluster."""
        sums: Floats = np.bincount(self.codes, values).astype(np.float64)
        return sums
