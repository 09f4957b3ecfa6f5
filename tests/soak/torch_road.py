"""The road of tensors: the scores of a case as a matrix, in batches of two users."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from random_worlds import Case
from roads import compared
from tensor_worlds import around, collected, evaluated, tensors_of

import rankwise as rw

OPTIONS = ("population", "undefined", "without_list", "relevance_threshold", "relevance", "by", "ties", "convention")


def torch_values(case: Case, metrics: tuple[str, ...]) -> Iterator[tuple[str, Any, Any]]:
    """Yield each value on tensors beside that of tables; scores are mapped to (0, 1) first."""
    options = {name: value for name, value in case.options.items() if name in OPTIONS and "age" not in value_list(value)}
    tensors = tensors_of(case.world, ties=case.order != "rank")
    lists = {user: own for user, own in tensors.lists.items() if own}
    try:
        theirs = evaluated(case.world, lists, list(metrics), **options)
    except rw.RankwiseError:  # other scores than those of the case
        return
    length = len(case.world.catalogue)
    options = {"population": "truth", **options}
    yield from compared(collected(tensors, list(metrics), list_length=length, **options, **around(case.world)).result(), theirs)


def value_list(value: Any) -> list[Any]:
    """Return the values of an option."""
    return value if isinstance(value, list) else [value]
