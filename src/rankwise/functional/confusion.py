"""The confusion matrix of one user's list over the catalogue, and metrics of it.

``catalog_size`` is the number of items of the catalogue, |I|. The metrics, not the matrix, are NaN
for a user without relevant items.
"""

from __future__ import annotations

import math
from typing import Literal

from rankwise.errors import ParameterError
from rankwise.functional.accuracy import Items, Relevant, check_option, hits_of, is_count, relevant_items, top

__all__ = ["accuracy_at_k", "confusion_at_k", "fallout_at_k", "mcc_at_k"]


def confusion_at_k(
    recommended: Items, relevant: Relevant, k: int | None = None, *, catalog_size: int
) -> dict[str, int]:
    """Return the confusion matrix of the top k: true and false positives and negatives.

    >>> confusion_at_k([1, 3, 5], {1, 5, 10}, 3, catalog_size=20)
    {'tp': 2, 'fp': 1, 'fn': 1, 'tn': 16}
    """
    relevant = relevant_items(relevant)
    n, hits = len(top(recommended, k)), sum(hits_of(recommended, relevant, k))
    missed = len(relevant) - hits
    if not is_count(catalog_size) or catalog_size < n + missed:
        raise ParameterError(
            "the catalogue has fewer items than are recommended or relevant", found=f"{catalog_size!r} < {n + missed}"
        )
    return {"tp": hits, "fp": n - hits, "fn": missed, "tn": catalog_size - n - missed}


def accuracy_at_k(recommended: Items, relevant: Relevant, k: int | None = None, *, catalog_size: int) -> float:
    """Share of the catalogue that is classified correctly: (TP + TN) / ``|I|``.

    >>> accuracy_at_k([1, 3, 5], {1, 5, 10}, 3, catalog_size=20)
    0.9
    """
    cells = confusion_at_k(recommended, relevant, k, catalog_size=catalog_size)
    if not relevant_items(relevant):
        return math.nan
    return (cells["tp"] + cells["tn"]) / catalog_size


def mcc_at_k(recommended: Items, relevant: Relevant, k: int | None = None, *, catalog_size: int) -> float:
    """Matthews correlation coefficient of being recommended and being relevant.

    0 where a factor of the denominator is 0, as in scikit-learn's ``matthews_corrcoef``.

    >>> round(mcc_at_k([1, 3, 5], {1, 5, 10}, 3, catalog_size=20), 4)
    0.6078
    """
    cells = confusion_at_k(recommended, relevant, k, catalog_size=catalog_size)
    if not relevant_items(relevant):
        return math.nan
    tp, fp, fn, tn = (cells[name] for name in ("tp", "fp", "fn", "tn"))
    squared = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return (tp * tn - fp * fn) / math.sqrt(squared) if squared else 0.0


def fallout_at_k(
    recommended: Items,
    relevant: Relevant,
    k: int | None = None,
    *,
    catalog_size: int | None = None,
    negatives: Literal["catalogue", "listed"] = "catalogue",
) -> float:
    """Fall-out: share of the irrelevant items that is in the top k (false positive rate).

    ``negatives="catalogue"`` counts all irrelevant items of the catalogue; ``"listed"`` only the
    irrelevant items of the whole list (as in TorchMetrics, which returns 0 if there are none). NaN
    without irrelevant items.

    >>> fallout_at_k([1, 3, 5], {1, 5}, 3, catalog_size=12)
    0.1
    >>> fallout_at_k([1, 3, 5, 7], {1, 5}, 3, negatives="listed")
    0.5
    """
    check_option("negatives", negatives, "catalogue", "listed")
    wanted = relevant_items(relevant)
    if negatives == "catalogue":
        if catalog_size is None:
            raise ParameterError("negatives='catalogue' needs the size of the catalogue", found="catalog_size=None")
        cells = confusion_at_k(recommended, relevant, k, catalog_size=catalog_size)
        false_positives, n = cells["fp"], cells["fp"] + cells["tn"]
    else:
        false_positives = hits_of(recommended, wanted, k).count(0)
        n = hits_of(recommended, wanted, None).count(0)
    return false_positives / n if n and wanted else math.nan
