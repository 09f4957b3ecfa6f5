"""All per-user values of a measure, merged over shares of the users as sums are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["AllValues"]


@dataclass(frozen=True)
class AllValues:
    """Values of users in any order; results computed from them must not depend on it.

    Examples
    --------
    >>> values = AllValues((np.array([2.0, 1.0]),)) + AllValues() + AllValues((np.array([0.5]),))
    >>> values.ascending
    array([0.5, 1. , 2. ])
    """

    parts: tuple[np.ndarray[tuple[int], np.dtype[np.float64]], ...] = ()

    def __add__(self, other: AllValues) -> AllValues:
        return AllValues(self.parts + other.parts)

    @property
    def ascending(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """All values in ascending order."""
        return np.sort(np.concatenate(self.parts)) if self.parts else np.empty(0)
