"""Arithmetic that measures share: gains, discounts, and division where there may be nothing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from rankwise.core.backend import namespace
from rankwise.errors import MeasureError, ParameterError, ScoreError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rankwise.core.backend import Array
    from rankwise.core.block import Block
    from rankwise.measures.measure import Measure

__all__ = [
    "Gain",
    "at_least_one",
    "check_base",
    "discount",
    "discounts",
    "divide",
    "gain_of",
    "listed_denominator",
    "mean_difference",
    "need_cutoff",
    "or_nan",
    "retrieved",
    "shared_with_baseline",
    "spread",
    "unit_vectors",
]

Gain: TypeAlias = Literal["linear", "exponential", "binary", "exponential_plus_one"]


def divide(numerator: Array, denominator: Array) -> Array:
    """Divide; 0 where there is nothing to divide by."""
    xp = namespace(numerator)
    denominator = xp.astype(denominator, xp.float64)
    if bool(xp.all(denominator > 0)):
        return numerator / denominator
    safe = xp.where(denominator > 0, denominator, xp.ones_like(denominator))
    return xp.where(denominator > 0, numerator / safe, xp.zeros_like(numerator))


def at_least_one(number: Array) -> Array:
    """Return a divisor that is no 0: where it would be, what is divided is NaN or 0 already."""
    return namespace(number).clip(number, min=1.0)


def or_nan(value: Array, defined: Array) -> Array:
    """Return the value where it is defined, else NaN."""
    xp = namespace(value)
    return xp.where(defined, value, xp.full_like(value, math.nan))


def gain_of(kind: Gain, relevance: Array) -> Array:
    """Turn the relevance of relevant items into gains."""
    xp = namespace(relevance)
    if kind != "binary" and relevance.shape[0] and float(xp.min(relevance)) < 0:
        raise ScoreError(
            "an item of negative relevance is relevant, and has no gain",
            where="truth",
            found=f"{float(xp.min(relevance)):g}",
            hint="raise the threshold to 0, shift the scale, or use gain=binary",
        )
    if kind.startswith("exponential") and relevance.shape[0] and float(xp.max(relevance)) > 1000:
        raise ScoreError(
            "a relevance is too large for an exponential gain",
            where="truth",
            found=f"{float(xp.max(relevance)):g}",
            hint="is this the right column? gain=linear takes any relevance",
        )
    if kind == "exponential":
        return 2.0**relevance - 1.0
    if kind == "exponential_plus_one":
        return 2.0 ** (relevance + 1.0) - 1.0
    return xp.ones_like(relevance) if kind == "binary" else relevance


def discount(rank: Array, log_base: float = 2.0) -> Array:
    """Return 1 / log(rank + 1)."""
    xp = namespace(rank)
    return math.log2(log_base) / xp.log2(xp.astype(rank, xp.float64) + 1.0)


def discounts(k: Array) -> Array:
    """Return the sum of the discounts of the first k ranks, for each k, shape (n_k,)."""
    xp = namespace(k)
    sums = xp.cumulative_sum(discount(xp.arange(1, int(xp.max(k)) + 1)))
    return xp.take(sums, k - 1)


def check_base(name: str, log_base: float) -> None:
    """Raise if there is no such logarithm."""
    if log_base <= 1:
        raise ParameterError(f"{name}: log_base must be above 1", found=f"log_base={log_base}")


def retrieved(block: Block, k: Array) -> Array:
    """Return min(k, list length), shape (U, n_k)."""
    xp = namespace(block.list_length)
    return xp.astype(xp.minimum(block.list_length[:, None], k[None, :]), xp.float64)


def listed_denominator(block: Block, k: Array, kind: Literal["length", "k"]) -> Array:
    """Return what divides a sum over the top k: its length, or k, shape (U, n_k)."""
    length = retrieved(block, k)
    if kind == "length":
        return length
    xp = namespace(length)
    return xp.zeros_like(length) + xp.astype(k, xp.float64)[None, :]


def need_cutoff(measure: Measure, *, where: bool, said: str) -> None:
    """Raise if something is divided by k and there is no k."""
    if where and not measure.k:
        raise MeasureError(
            f"{measure.name}({said}) needs a cut-off",
            found=str(measure),
            hint=f"write {measure}@10",
        )


def unit_vectors(vectors: Array) -> Array:
    """Return vectors of length 1, shape (n, d); zeros stay zeros."""
    xp = namespace(vectors)
    length = xp.sqrt(xp.sum(vectors * vectors, axis=1, keepdims=True))
    return vectors / xp.where(length > 0, length, 1.0)


def shared_with_baseline(
    block: Block, k: Array, denominator: Literal["length", "k", "union"]
) -> Array:
    """Return the share of the top k that another run's top k has too, (U, n_k); NaN without one."""
    assert block.baseline is not None  # the plan sees to it
    common = block.count_shared(block.baseline, k, other=True)
    if denominator == "union":
        xp = namespace(common)
        other = xp.minimum(block.baseline.length[:, None], k[None, :])
        whole = retrieved(block, k) + xp.astype(other, xp.float64) - common
    else:
        whole = listed_denominator(block, k, denominator)
    return or_nan(divide(common, whole), (block.baseline.length > 0)[:, None])


def spread(values: Any) -> float:
    """Return the population standard deviation over the mean; NaN for less than two values."""
    known = np.asarray([value for value in values if not math.isnan(value)], dtype=np.float64)
    mean = float(np.mean(known)) if len(known) > 1 else 0.0
    return float(np.std(known)) / mean if mean else math.nan


def mean_difference(values: Iterable[float]) -> float:
    """Return the mean absolute difference over pairs of values; NaN without a pair."""
    known = np.sort([value for value in values if not math.isnan(value)])
    n = len(known)
    if n < 2:
        return math.nan
    # In order each value is taken away from all above it and has all below it taken away.
    return float(np.sum((2 * np.arange(n) - n + 1) * known)) / (n * (n - 1) / 2)
