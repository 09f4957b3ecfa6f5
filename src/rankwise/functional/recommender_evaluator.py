"""Evaluate a model: request recommendations for every test user, and compute metrics."""

from __future__ import annotations

import logging
from collections.abc import Collection, Hashable, Iterable, Mapping
from itertools import islice
from typing import Any

from rankwise.errors import EmptyError, InputError, ParameterError
from rankwise.functional.accuracy import is_count, precision_at_k, recall_at_k
from rankwise.functional.catalogue import catalog_coverage, gini_coefficient, mean_of_defined

__all__ = ["RecommenderEvaluator"]

_LOG = logging.getLogger("rankwise")
_LONGEST = 1_000_000  # items of one list: a model that yields more may never end


class RecommenderEvaluator:
    """Evaluate a model that has ``recommend(user_id, n)``, in plain Python.

    `rankwise.evaluate_model` does the same for every metric, at any scale, with per-user values;
    this is the short form that many code bases have.

    Parameters
    ----------
    k_values : iterable of int, default=(5, 10, 20)
        Cut-offs.

    Attributes
    ----------
    failed : dict
        After `evaluate`: the users for whom the model raised, with the exceptions.
    skipped : int
        After `evaluate`: the number of users without relevant items, who are not evaluated.

    Examples
    --------
    >>> class Model:
    ...     def recommend(self, user_id, n):
    ...         return [("a", 0.9), ("b", 0.5), ("c", 0.1)][:n]
    >>> evaluator = RecommenderEvaluator(k_values=[2])
    >>> values = evaluator.evaluate(Model(), {"ann": {"a"}, "bob": {"c", "b"}}, catalog_size=4)
    >>> values["precision@2"], values["recall@2"], values["coverage@2"]
    (0.5, 0.75, 0.5)
    """

    def __init__(self, k_values: Iterable[int] = (5, 10, 20)) -> None:
        cutoffs = list(k_values) if hasattr(k_values, "__iter__") else []
        if not cutoffs or not all(map(is_count, cutoffs)):
            raise ParameterError("k_values are whole numbers from 1", found=repr(k_values))
        self.k_values = sorted({int(k) for k in cutoffs})
        self.failed: dict[Hashable, Exception] = {}
        self.skipped = 0

    def evaluate(self, model: Any, test_data: Mapping[Any, Collection[Any]], catalog_size: int) -> dict[str, float]:
        """Return precision, recall, F1, coverage and Gini index at every cut-off.

        Parameters
        ----------
        model : object
            ``model.recommend(user_id, n)`` returns items, or (item, score) pairs, best first.
        test_data : dict of user to set of items
            The ground truth: the relevant items of each user.
        catalog_size : int
            The number of items that can be recommended, for coverage.

        Returns
        -------
        dict of str to float
            Means over users; F1 is computed from the mean precision and recall, Gini over the items
            recommended at least once. A user for whom the model raises is logged, stored in
            ``failed`` and excluded. Of a list that is longer than the largest cut-off the first
            items count; a repeated item counts once.

        Raises
        ------
        EmptyError
            If the model failed for every user.
        """
        if not is_count(catalog_size):
            raise ParameterError("a catalogue has at least one item", found=repr(catalog_size))
        for user, items in test_data.items():
            if isinstance(items, str) or not hasattr(items, "__len__"):
                raise InputError(
                    "test_data holds a set of items for each user", where=f"user {user!r}", found=repr(items)
                )
        self.failed, lists = {}, {}
        truth = {user: set(items) for user, items in test_data.items() if items}
        self.skipped = len(test_data) - len(truth)
        for user in truth:
            try:
                n = self.k_values[-1]
                rows = list(islice(model.recommend(user, n), min(n, _LONGEST + 1)))
                if len(rows) > _LONGEST:
                    raise InputError(f"a list has more than {_LONGEST:,} items")
                items = [row[0] if isinstance(row, tuple | list) else row for row in rows]
                lists[user] = list(dict.fromkeys(items))  # each item once
            except Exception as error:  # noqa: BLE001 - whatever a model does, the run goes on
                self.failed[user] = error
                _LOG.warning("the model failed for user %r: %r", user, error)
        if not lists:
            raise EmptyError(
                "the model returned no recommendations for any user",
                found=f"{len(self.failed)} users failed"
                + (f", the first with {next(iter(self.failed.values()))!r}" if self.failed else ""),
            )
        out: dict[str, float] = {}
        for k in self.k_values:
            p = mean_of_defined(precision_at_k(lists[user], truth[user], k) for user in lists)
            r = mean_of_defined(recall_at_k(lists[user], truth[user], k) for user in lists)
            out[f"precision@{k}"], out[f"recall@{k}"] = p, r
            out[f"f1@{k}"] = 2 * p * r / (p + r) if p + r else 0.0
            out[f"coverage@{k}"] = catalog_coverage(lists, catalog_size, k)
            out[f"gini@{k}"] = gini_coefficient(lists, k, over="recommended")
        return out
