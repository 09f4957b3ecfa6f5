"""Exposure of item groups: the attention that users give to the ranks of their items.

``groups`` maps each item to the name of its group; items without a group do not count. The weight
of rank i is patience^(i − 1), or 1 / log2(i + 1).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from typing import Literal, TypeAlias

from rankwise.errors import ParameterError
from rankwise.functional.accuracy import (
    Items,
    Lists,
    Sets,
    check_fraction,
    check_option,
    is_number,
    relevant_items,
    top,
)

__all__ = ["awrf_at_k", "expected_exposure_at_k"]

Groups: TypeAlias = Mapping[Hashable, str]


def _by_group(weights: Iterable[tuple[Hashable, float]], groups: Groups) -> dict[str, float]:
    """Return the summed weights of the items of each group that has some."""
    sums: dict[str, float] = {}
    for item, weight in weights:
        if item in groups:
            sums[groups[item]] = sums.get(groups[item], 0.0) + weight
    return sums


def expected_exposure_at_k(
    recommendations: Lists, relevant: Sets, groups: Groups, k: int | None = None, *, patience: float = 0.5
) -> dict[str, float]:
    """Return loss, disparity and relevance of the expected exposure of item groups.

    Diaz et al. 2020, in the group form of Raj & Ekstrand 2022. The exposure e of a group is the
    mean over users of the summed weights patience^(rank − 1) of its items in the top k. Its target
    t is the same for ideal rankings, in which the m relevant items of a user share the first m
    positions equally, cut at k, and no other item has exposure. Only users with a list and relevant
    items count.

    - loss, EE-L: Σ (e − t)² over the groups
    - disparity, EE-D: Σ e²
    - relevance, EE-R: Σ e · t. Raj & Ekstrand report twice this, so that loss is disparity −
      relevance + a constant.

    All are NaN without groups, or without such users.

    >>> lists, relevant = {"ann": [1, 2], "bob": [2, 1]}, {"ann": {1}, "bob": {1}}
    >>> expected_exposure_at_k(lists, relevant, {1: "a", 2: "b"})
    {'loss': 0.625, 'disparity': 1.125, 'relevance': 0.75}
    """
    check_fraction("patience", patience)
    users = [
        (top(items, k), relevant_items(relevant[user])) for user, items in recommendations.items() if user in relevant
    ]
    users = [(items, wanted) for items, wanted in users if items and wanted]
    if not users or not groups:
        return dict.fromkeys(("loss", "disparity", "relevance"), math.nan)
    exposure = dict.fromkeys(groups.values(), 0.0)
    target = dict.fromkeys(groups.values(), 0.0)
    for items, wanted in users:
        m = len(wanted)
        ideal = sum(patience**i for i in range(m if k is None else min(m, k))) / m
        system = ((item, patience**i) for i, item in enumerate(items))
        for group, weight in _by_group(system, groups).items():
            exposure[group] += weight / len(users)
        for group, weight in _by_group(((item, ideal) for item in wanted), groups).items():
            target[group] += weight / len(users)
    pairs = [(exposure[group], target[group]) for group in sorted(exposure)]
    return {
        "loss": sum((e - t) ** 2 for e, t in pairs),
        "disparity": sum(e**2 for e, _ in pairs),
        "relevance": sum(e * t for e, t in pairs),
    }


def awrf_at_k(
    recommended: Items,
    groups: Groups,
    target: Mapping[str, float],
    k: int | None = None,
    *,
    weight: Literal["log", "geometric"] = "log",
    patience: float = 0.5,
    distance: Literal["absolute", "squared"] = "absolute",
) -> float:
    """Attention-weighted rank fairness: 1 − distance of the groups' exposure shares from a target.

    Sapiezynski et al. 2019, Raj & Ekstrand 2022. The exposure share of a group is its share of the
    rank weights in the top k, over items that have a group; NaN if no item has one. The weight of
    rank i is 1 / log2(i + 1), or patience^(i − 1) with ``weight="geometric"``. ``target`` maps each
    group to its target share, by default 0. ``distance="absolute"`` is half the sum of the absolute
    differences (total variation), ``"squared"`` half the sum of their squares: the value lies in
    [0, 1].

    >>> groups = {1: "a", 2: "a", 3: "b", 4: "b"}
    >>> round(awrf_at_k([1, 3], groups, {"a": 0.5, "b": 0.5}), 4)
    0.8869
    >>> awrf_at_k([1, 3, 9], groups, {"a": 1.0}, weight="geometric", distance="squared")
    0.8888888888888888
    """
    check_option("weight", weight, "log", "geometric")
    check_option("distance", distance, "absolute", "squared")
    check_fraction("patience", patience)
    shares = list(target.values())
    if not all(is_number(share) and share >= 0 for share in shares) or abs(sum(shares) - 1) > 1e-6:
        raise ParameterError("the target shares of the groups must add up to 1", found=repr(dict(target))[:60])
    weights = (
        (item, 1 / math.log2(rank + 1) if weight == "log" else patience ** (rank - 1))
        for rank, item in enumerate(top(recommended, k), start=1)
    )
    exposure = _by_group(weights, groups)
    total = sum(exposure.values())
    if not total:
        return math.nan
    differences = [
        exposure.get(group, 0.0) / total - target.get(group, 0.0) for group in sorted(exposure.keys() | target.keys())
    ]
    if distance == "absolute":
        return max(0.0, 1 - sum(map(abs, differences)) / 2)
    return max(0.0, 1 - sum(difference**2 for difference in differences) / 2)
