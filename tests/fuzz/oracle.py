"""A second reading of the definitions, in plain Python: nothing of rankwise is imported.

A list is ``[(item, score), …]`` in any order; judgements are ``{item: relevance}``. Where scores tie,
a value is the mean over all orders, which are enumerated: lists have to be short.
"""

from __future__ import annotations

from itertools import chain, groupby, permutations, product
from math import log2, nan
from statistics import fmean

METRICS = ("precision@3", "recall@3", "mrr@3", "ndcg@3")
_K = 3


def values(lists, truth, *, threshold=None, population="truth", undefined="skip"):
    """Return the value of each metric, NaN where it is undefined; None if nothing can be said.

    Nothing can be said if no evaluated user has a list, or if no item at all is relevant where the
    rules leave out whoever has none.
    """
    relevant = {user: _relevant(judged, threshold) for user, judged in truth.items()}
    with_relevant = {user for user, items in relevant.items() if items}
    users = {
        "truth": with_relevant,
        "recommended": set(lists),
        "both": with_relevant & set(lists),
        "judged": {user for user, items in truth.items() if items},
        "all": with_relevant | set(lists),
    }[population]
    if not users & set(lists) or (undefined == "skip" and not with_relevant):
        return None
    rows = [_of_user(lists.get(user, []), relevant.get(user, {})) for user in sorted(users)]
    if undefined == "zero":
        rows = [row or dict.fromkeys(METRICS, 0.0) for row in rows]
    defined = [row for row in rows if row]
    if undefined == "nan" and len(defined) < len(rows):
        return dict.fromkeys(METRICS, nan)
    return {name: fmean([row[name] for row in defined] or [nan]) for name in METRICS}


def _relevant(judged, threshold):
    return {
        item: value
        for item, value in judged.items()
        if (value > 0 if threshold is None else value >= threshold)
    }


def _of_user(scored, relevant):
    """Return a user's values, or None without a relevant item: nothing is defined then."""
    if not relevant:
        return None
    orders = [_of_order(order, relevant) for order in _orders(scored)]
    return {name: fmean(order[name] for order in orders) for name in METRICS}


def _orders(scored):
    """Return every order of the items that decreasing scores allow."""
    ranked = sorted(scored, key=lambda row: -row[1])
    groups = [[item for item, _ in tied] for _, tied in groupby(ranked, key=lambda row: row[1])]
    return [list(chain(*order)) for order in product(*map(permutations, groups))]


def _of_order(order, relevant):
    top = order[:_K]
    found = [rank for rank, item in enumerate(top, start=1) if item in relevant]
    ideal = sorted(relevant.values(), reverse=True)[:_K]
    return {
        "precision@3": len(found) / _K,
        "recall@3": len(found) / len(relevant),
        "mrr@3": 1 / found[0] if found else 0.0,
        "ndcg@3": _dcg([relevant.get(item, 0.0) for item in top]) / _dcg(ideal),
    }


def _dcg(gains):
    return sum(gain / log2(rank + 1) for rank, gain in enumerate(gains, start=1))
