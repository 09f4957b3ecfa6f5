"""The road of tensors: the scores of a case as a matrix, in batches of two users."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kinds import numbers_of
from random_worlds import Case
from tensor_worlds import around, collected, evaluated, tensors_of

import rankwise as rw
from rankwise.errors import InputError

OPTIONS = (
    "population",
    "undefined",
    "without_list",
    "relevance_threshold",
    "relevance",
    "by",
    "ties",
    "convention",
)


def torch_values(case: Case, metrics: tuple[str, ...]) -> Iterator[tuple[str, Any, Any]]:
    """Yield each value on tensors beside that of tables; scores are mapped to (0, 1) first."""
    options = {
        name: value
        for name, value in case.options.items()
        if name in OPTIONS and value != ["age", "group"]
    }
    tensors = tensors_of(case.world, ties=case.order != "rank")
    lists = {user: own for user, own in tensors.lists.items() if own}
    try:
        theirs = evaluated(case.world, lists, list(metrics), **options)
    except rw.RankwiseError:  # other scores than those of the case
        return
    options["list_length"] = len(case.world.catalogue)
    try:
        ours = collected(tensors, list(metrics), **options, **around(case.world)).result()
    except InputError as error:
        if "a catalogue must hold every item" in str(
            error
        ):  # every column is an item; tables saw some of them
            return
        raise
    values, expected = numbers_of(ours), numbers_of(theirs)
    for name in {**values, **expected}:
        if name != "counts":  # tables and tensors count what concerns each
            yield name, values.get(name, "none"), expected.get(name, "none")
