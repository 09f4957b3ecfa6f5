"""Items of one user's list that have a ground-truth row, relevant or not.

``judged`` is a collection of the user's judged items, or a dict of item to relevance.
"""

from __future__ import annotations

import math
from collections.abc import Hashable

from rankwise.functional.accuracy import Items, Judged, relevances, top

__all__ = ["condensed", "judged_at_k"]


def judged_at_k(recommended: Items, judged: Judged, k: int | None = None) -> float:
    """Share of the items in the top k that are judged, relevant or not.

    >>> judged_at_k([1, 2, 3, 4], {1: 1, 2: 0, 9: 1}, 4)
    0.5
    """
    items, known = top(recommended, k), relevances(judged)
    return sum(item in known for item in items) / len(items) if items else math.nan


def condensed(recommended: Items, judged: Judged) -> list[Hashable]:
    """Return the condensed list: without its unjudged items (Sakai 2007).

    >>> condensed([1, 2, 3, 4], {4: 1, 2: 0, 9: 1})
    [2, 4]
    """
    known = relevances(judged)
    return [item for item in top(recommended, None) if item in known]
