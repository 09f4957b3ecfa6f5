"""Arithmetic that measures share: gains, discounts, denominators, and guarded division."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeAlias

import numpy as np

from rankwise.core.arrays import Array, is_tensor, namespace, refuse
from rankwise.core.block import Block
from rankwise.errors import MeasureError, ParameterError, ScoreError
from rankwise.measures.measure import Measure

__all__ = [
    "Gain",
    "at_least_one",
    "check_parameter",
    "discount",
    "divide",
    "gain_of",
    "listed_denominator",
    "mean_difference",
    "need_cutoff",
    "or_nan",
    "retrieved",
    "running_sum",
    "shared_with_baseline",
    "spread",
    "unit_vectors",
]

Gain: TypeAlias = Literal["linear", "exponential", "binary", "exponential_plus_one"]


def divide(numerator: Array, denominator: Array) -> Array:
    """Divide; 0 where there is nothing to divide by."""
    xp = namespace(numerator)
    denominator = xp.astype(denominator, xp.float64, copy=False)
    if not is_tensor(denominator) and bool(xp.all(denominator > 0)):
        return numerator / denominator
    # Not array-api-extra's apply_where: gathering what is divided takes three times as long.
    safe = xp.where(denominator > 0, denominator, xp.ones_like(denominator))
    return xp.where(denominator > 0, numerator / safe, xp.zeros_like(numerator))


def at_least_one(number: Array) -> Array:
    """Return a count as a divisor of at least 1; the numerator is 0 or NaN where the count is 0."""
    return namespace(number).clip(number, min=1.0)


def or_nan(value: Array, defined: Array) -> Array:
    """Return the value where it is defined, else NaN."""
    xp = namespace(value)
    return xp.where(defined, value, xp.full_like(value, math.nan))


def gain_of(kind: Gain, relevance: Array) -> Array:
    """Return the gains of relevant items, given their relevance."""
    xp = namespace(relevance)
    if kind != "binary":
        refuse(
            relevance < 0,
            lambda: ScoreError(
                "an item of negative relevance counts as relevant, but has no gain",
                where="truth",
                found=f"{float(xp.min(relevance)):g}",
                hint="raise the threshold to 0, shift the scale, or use gain=binary",
            ),
        )
    if kind.startswith("exponential"):
        refuse(
            relevance > 1000,
            lambda: ScoreError(
                "a relevance is too large for an exponential gain",
                where="truth",
                found=f"{float(xp.max(relevance)):g}",
                hint="is this the right column? gain=linear takes any relevance",
            ),
        )
    if kind == "exponential":
        return 2.0**relevance - 1.0
    if kind == "exponential_plus_one":
        return 2.0 ** (relevance + 1.0) - 1.0
    return xp.ones_like(relevance) if kind == "binary" else relevance


def discount(rank: Array, log_base: float = 2.0) -> Array:
    """Return the logarithmic discount of a rank, 1 / log(rank + 1)."""
    xp = namespace(rank)
    return math.log2(log_base) / xp.log2(xp.astype(rank, xp.float64) + 1.0)


def running_sum(of_rank: Callable[[Array], Array], k: Array) -> Array:
    """Return the sum of a function of the first k ranks, for a number k or for several."""
    sums = np.cumsum(of_rank(np.arange(1, int(np.max(k)) + 1)))
    return sums[k - 1]


def check_parameter(measure: Measure, name: str, allowed: bool, rule: str) -> None:
    """Raise if the value of a parameter is not allowed, and say by which rule."""
    if not allowed:
        found = f"{name}={getattr(measure, name)}"
        raise ParameterError(f"{measure.name}: {name} {rule}", found=found)


def retrieved(block: Block, k: int) -> Array:
    """Return the number of items in the top k, min(k, list length), as floats, shape (U,)."""
    return block.xp.astype(block.top_length(k), block.xp.float64)


def listed_denominator(block: Block, k: int, kind: Literal["length", "k"]) -> Array:
    """Return the denominator of a mean over the top k: its length or k, shape (U,)."""
    length = retrieved(block, k)
    return length if kind == "length" else block.xp.zeros_like(length) + k


def rows_above(user: Array) -> Array:
    """Return how many rows of the same user precede each row; users are in order."""
    xp = namespace(user)
    return xp.arange(user.shape[0]) - xp.searchsorted(user, user)


def need_cutoff(measure: Measure, *, where: bool, setting: str) -> None:
    """Raise if a setting of the measure needs a cut-off k and the measure has none."""
    if where and not measure.k:
        raise MeasureError(f"{measure.name}({setting}) needs a cut-off", found=str(measure), hint=f"write {measure}@10")


def unit_vectors(vectors: Array) -> Array:
    """Return vectors scaled to length 1, shape (n, d); zero vectors stay zero."""
    xp = namespace(vectors)
    largest = xp.max(xp.abs(vectors), axis=1, keepdims=True)
    one = xp.ones_like(largest)
    # Squares of such values would overflow or vanish; powers of two change no digit of a result.
    factor = xp.where(largest > 2.0**500, one * 2.0**-600, xp.where(largest < 2.0**-500, one * 2.0**600, one))
    vectors = vectors * factor
    length = xp.sqrt(xp.sum(vectors * vectors, axis=1, keepdims=True))
    return vectors / xp.where(length > 0, length, 1.0)


def shared_with_baseline(block: Block, k: int, denominator: Literal["length", "k", "union"]) -> Array:
    """Return the share of the top k in the baseline's top k, (U,); NaN without a baseline."""
    baseline, xp = block.overlap_baseline, block.xp
    common = block.count_overlap(baseline, k, both=True)
    if denominator == "union":
        whole = retrieved(block, k) + xp.astype(xp.clip(baseline.length, max=k), xp.float64) - common
    else:
        whole = listed_denominator(block, k, denominator)
    return or_nan(divide(common, whole), baseline.length > 0)


def spread(values: Any) -> float:
    """Return population std / mean of the defined values; NaN for fewer than two or a mean of 0."""
    defined = np.asarray([value for value in values if not math.isnan(value)], dtype=np.float64)
    mean = float(np.mean(defined)) if len(defined) > 1 else 0.0
    return float(np.std(defined)) / mean if mean else math.nan


def mean_difference(values: Iterable[float]) -> float:
    """Return the mean absolute difference over all pairs of values; NaN without a pair."""
    ordered = np.sort([value for value in values if not math.isnan(value)])
    n = len(ordered)
    if n < 2:
        return math.nan
    # Ascending: value j (from 0) is added in its j pairs with smaller values, else subtracted.
    return float(np.sum((2 * np.arange(n) - n + 1) * ordered)) / (n * (n - 1) / 2)
