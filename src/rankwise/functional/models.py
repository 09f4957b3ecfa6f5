"""From a model: ask it for every user's items, and measure what it says."""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING, Any

from rankwise.errors import EmptyError, InputError, ParameterError
from rankwise.functional.catalogue import (
    catalog_coverage,
    gini_coefficient,
    mean_of_defined,
)
from rankwise.functional.lists import precision_at_k, recall_at_k

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Mapping

__all__ = ["RecommenderEvaluator"]

_LOG = logging.getLogger("rankwise")


class RecommenderEvaluator:
    """Measure a model that has ``recommend(user_id, n)``, in plain Python.

    `rankwise.evaluate_model` does the same for every measure, at any size, with every user's
    values; this is the short form that many code bases have.

    Parameters
    ----------
    k_values : iterable of int
        Cut-offs.

    Attributes
    ----------
    failed : dict
        After `evaluate`: the users for whom the model raised, and what.
    skipped : int
        After `evaluate`: users whose set of items is empty. Nothing can be found for them.

    Examples
    --------
    >>> class Model:
    ...     def recommend(self, user_id, n):
    ...         return [("a", 0.9), ("b", 0.5), ("c", 0.1)][:n]
    >>> evaluator = RecommenderEvaluator(k_values=[2])
    >>> found = evaluator.evaluate(Model(), {"ann": {"a"}, "bob": {"c", "b"}}, catalog_size=4)
    >>> found["precision@2"], found["recall@2"], found["coverage@2"]
    (0.5, 0.75, 0.5)
    """

    def __init__(self, k_values: Iterable[int] = (5, 10, 20)) -> None:
        given = list(k_values) if hasattr(k_values, "__iter__") else []
        if not given or not all(isinstance(k, int) and k > 0 for k in given):
            raise ParameterError("k_values are whole numbers from 1", found=repr(k_values))
        self.k_values = sorted(set(given))
        self.failed: dict[Hashable, Exception] = {}
        self.skipped = 0

    def evaluate(
        self, model: Any, test_data: Mapping[Any, Collection[Any]], catalog_size: int
    ) -> dict[str, float]:
        """Return precision, recall, their f1, coverage and gini at every cut-off.

        Parameters
        ----------
        model : object
            ``model.recommend(user_id, n)`` gives items, or pairs of item and score, best first.
        test_data : dict of user to set of items
            What is relevant.
        catalog_size : int
            The number of items that could be recommended, for coverage.

        Returns
        -------
        dict of str to float
            Means over users; f1 is that of the mean precision and recall, gini runs over the items
            recommended at least once. A user for whom the model raises is logged, kept in
            ``failed`` and left out. An item that it repeats counts once.

        Raises
        ------
        EmptyError
            If the model failed for every user.
        """
        if not isinstance(catalog_size, int) or catalog_size < 1:
            raise ParameterError("a catalogue has at least one item", found=repr(catalog_size))
        for user, items in test_data.items():
            if isinstance(items, str) or not hasattr(items, "__len__"):
                raise InputError("test_data holds a set of items for each user",
                                 where=f"user {user!r}", found=repr(items))  # fmt: skip
        self.failed, lists = {}, {}
        wanted = {user: set(items) for user, items in test_data.items() if items}
        self.skipped = len(test_data) - len(wanted)
        for user in wanted:
            try:
                lists[user] = _items(model.recommend(user, self.k_values[-1]))
            except Exception as error:  # noqa: BLE001 - whatever a model does, the run goes on
                self.failed[user] = error
                _LOG.warning("the model failed for user %r: %r", user, error)
        if not lists:
            raise EmptyError(
                "the model recommended nothing to anybody",
                found=f"{len(self.failed)} users failed"
                + (f", the first with {next(iter(self.failed.values()))!r}" if self.failed else ""),
            )
        out: dict[str, float] = {}
        for k in self.k_values:
            p = mean_of_defined(
                [precision_at_k(own, wanted[user], k) for user, own in lists.items()]
            )
            r = mean_of_defined([recall_at_k(own, wanted[user], k) for user, own in lists.items()])
            out[f"precision@{k}"], out[f"recall@{k}"] = p, r
            out[f"f1@{k}"] = 2 * p * r / (p + r) if p + r else 0.0
            out[f"coverage@{k}"] = catalog_coverage(lists, catalog_size, k)
            out[f"gini@{k}"] = gini_coefficient(lists, k) if any(lists.values()) else math.nan
        return out


def _items(recommended: Iterable[Any]) -> list[Any]:
    """Return the items of a list of items or of (item, score) pairs, each once."""
    items = [pair[0] if isinstance(pair, tuple | list) else pair for pair in recommended]
    return list(dict.fromkeys(items))
