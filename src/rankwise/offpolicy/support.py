"""Diagnostics of weights, and the support of a claim (sound, weak or none) with its reasons."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from rankwise.core.terminal import percent, signed
from rankwise.offpolicy.sums import PolicySums, Sums, inverse_propensity, over_positions
from rankwise.offpolicy.values import exact_columns
from rankwise.stats.bounded_means import probability_above
from rankwise.stats.differences import Floats

Support: TypeAlias = Literal["observed", "sound", "weak", "none"]
SUPPORTS: tuple[Support, ...] = ("none", "weak", "sound", "observed")
"""The kinds of support, the weakest first."""
"""Whether the log supports an estimate; ``observed`` for the logging policy itself."""

USERS, REWARDED, SHARE, Z, MEAN, MASS, CALIBRATION = 100, 20, 0.05, 3.0, 0.2, 0.01, 0.01
"""What sound support needs: effective users, with a reward, largest share, z and deviation of the mean weight, …."""
_FEW, _MOST_SHARE, _MOST_MASS = 10, 0.5, 0.1
_SHOWS, _TAILS = 20, 50
_ONE_SIDED = 1.6448536269514722


@dataclass(frozen=True)
class Diagnostics:
    """Diagnostics of the weights of a policy; in slates, at the position where they are worst.

    Attributes
    ----------
    effective_users, effective_rewarded : float
        (Σ W)² / Σ W² over users, with the weights and with the weighted rewards.
    weighted_users : int
        Users with a weight above 0.
    largest_share, largest_weight : float
        The share of the heaviest request in all weight, and its weight.
    mean_weight, mean_weight_error, mean_weight_z : float
        The mean weight, its standard error by user, and how many of them it lies from 1.
    unused : float
        The share of requests of weight 0.
    effective_requests, perplexity, pareto_k : float
        Effective number of rows; exp of the entropy of the weights; shape of the tail (bounded
        weights: below 0).
    mass_without_support : float
        The mean probability of items that the log cannot show; NaN if unknown.
    calibration_p : float
        The p-value of item calibration; NaN if no item was shown often enough.
    """

    effective_users: float
    effective_rewarded: float
    weighted_users: int
    largest_share: float
    largest_weight: float
    mean_weight: float
    mean_weight_error: float
    mean_weight_z: float
    unused: float
    effective_requests: float
    perplexity: float
    pareto_k: float
    mass_without_support: float = math.nan
    calibration_p: float = math.nan


def effective(values: Floats) -> float:
    """Return (Σ x)² / Σ x², the number of equal values that vary as much; 0 without values.

    >>> effective(np.array([1.0, 1.0, 0.0])), effective(np.zeros(3))
    (2.0, 0.0)
    """
    square = float((values * values).sum())
    return float(values.sum()) ** 2 / square if square > 0 else 0.0


def logged_diagnostics(sums: Sums) -> Diagnostics:
    """Return the diagnostics of the logging policy, whose weights are 1."""
    n = float(sums.rows.sum())
    return Diagnostics(
        effective(sums.requests),
        effective(np.abs(over_positions(sums.reward))),
        len(sums.requests),
        1.0 / sums.n,
        *(1.0, 1.0, 0.0, 0.0, 0.0, n, n, math.nan),
    )


def diagnostics_of(sums: Sums, policy: PolicySums, calibration_p: float) -> Diagnostics:
    """Return the diagnostics of a policy."""
    rows, weights = exact_columns(sums.rows), exact_columns(policy.weight)
    users = np.array([effective(column) for column in policy.weight.T])
    worst = int(np.argmin(users))
    means = weights / rows
    errors = np.array(
        [_error(policy.weight[:, k], means[k], sums.rows[:, k]) for k in range(len(means))]
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        z = np.where(means == 1.0, 0.0, (means - 1.0) / errors)
    at = int(np.argmax(np.abs(np.where(np.isnan(z), np.inf, z))))
    heaviest = policy.kept[0].max(axis=0, initial=0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = heaviest / weights
    total = float(weights.sum())
    square = policy.squares.value
    return Diagnostics(
        effective_users=float(users[worst]),
        effective_rewarded=effective(np.abs(over_positions(policy.reward))),
        weighted_users=int((policy.weight[:, worst] > 0).sum()),
        largest_share=float(np.nanmax(shares)) if total > 0 else math.nan,
        largest_weight=policy.largest,
        mean_weight=float(means[at]),
        mean_weight_error=float(errors[at]),
        mean_weight_z=float(z[at]),
        unused=policy.unused / sums.n,
        effective_requests=total**2 / square if square > 0 else 0.0,
        perplexity=total * math.exp(-policy.entropy.value / total) if total > 0 else 0.0,
        pareto_k=pareto_k(policy.tail),
        mass_without_support=math.nan
        if policy.outside is None
        else policy.outside.value / float(rows.sum()),
        calibration_p=calibration_p,
    )


def _error(weight: Floats, mean: float, rows: Floats) -> float:
    """Return the standard error by user of the mean weight."""
    n = len(weight)
    if n < 2:
        return math.nan
    residuals = weight - mean * rows
    return math.sqrt(float((residuals * residuals).sum()) * n / (n - 1)) / float(rows.sum())


def decide_support(
    diagnostics: Diagnostics, users: int, *, estimated: bool, marginal: bool
) -> tuple[Support, list[str]]:
    """Return whether the weights support an estimate, with the reasons why not."""
    reasons = _none(diagnostics)
    if reasons:
        return "none", reasons
    reasons = _weak(diagnostics)
    reasons += ["propensities are estimated from the log"] if estimated else []
    reasons += ["only propensities of items at a position are known"] if marginal else []
    if not reasons:
        return "sound", []
    more = max(
        USERS / diagnostics.effective_users, REWARDED / max(diagnostics.effective_rewarded, 1e-9)
    )
    if more > 1 and diagnostics.effective_rewarded > 0:
        needed = max(_one_digit(users * more), _next_digit(users))
        reasons.append(f"about {needed:,} such users would do")
    return "weak", reasons


def _none(diagnostics: Diagnostics) -> list[str]:
    reasons = []
    if diagnostics.weighted_users == 0:
        return ["no logged request has any weight: the log never does what the target does"]
    if diagnostics.effective_users < _FEW:
        reasons.append(f"{diagnostics.effective_users:.1f} effective users")
    elif diagnostics.weighted_users < _FEW:
        reasons.append(f"{diagnostics.weighted_users} users with any weight")
    if diagnostics.largest_share > _MOST_SHARE:
        reasons.append(f"one request has {percent(diagnostics.largest_share)} of all weight")
    z, away = abs(diagnostics.mean_weight_z), abs(diagnostics.mean_weight - 1.0)
    if (z > 5 and away > 0.1) or (z > Z and not 0.5 <= diagnostics.mean_weight <= 2):
        reasons.append(_mean_weight(diagnostics))
    if diagnostics.mass_without_support > _MOST_MASS:
        reasons.append(
            f"{percent(diagnostics.mass_without_support)} of the target's probability is on items the "
            "log cannot show"
        )
    return reasons


def _mean_weight(diagnostics: Diagnostics) -> str:
    return (
        f"the mean weight is {diagnostics.mean_weight:.3f} (z "
        f"{signed(diagnostics.mean_weight_z, 1)}), and should be 1"
    )


def _weak(diagnostics: Diagnostics) -> list[str]:
    reasons = []
    if diagnostics.effective_users < USERS:
        reasons.append(f"{diagnostics.effective_users:.0f} effective users")
    if diagnostics.effective_rewarded < REWARDED:
        reasons.append(f"{diagnostics.effective_rewarded:.0f} effective users with a reward")
    if diagnostics.largest_share > SHARE:
        reasons.append(f"one request has {percent(diagnostics.largest_share)} of all weight")
    known = abs(diagnostics.mean_weight - 1.0) + _ONE_SIDED * diagnostics.mean_weight_error
    if not abs(diagnostics.mean_weight_z) <= Z:
        reasons.append(_mean_weight(diagnostics))
    elif not known <= MEAN:
        reasons.append(f"the mean weight is only known to ±{known:.2f}")
    if diagnostics.mass_without_support > MASS:
        reasons.append(
            f"{percent(diagnostics.mass_without_support, 1)} of the target's probability is on items the "
            "log cannot show"
        )
    if diagnostics.calibration_p < CALIBRATION:
        reasons.append(
            "the propensities of an item do not fit how often it was shown (p = "
            f"{diagnostics.calibration_p:.4f})"
        )
    return reasons


def _next_digit(number: int) -> int:
    """Return the smallest larger number with one significant digit.

    >>> _next_digit(10_000), _next_digit(843), _next_digit(99)
    (20000, 900, 100)
    """
    power: int = 10 ** math.floor(math.log10(number))
    return (number // power + 1) * power


def _one_digit(number: float) -> int:
    """Return a number with one significant digit.

    >>> _one_digit(843.0), _one_digit(12229.0)
    (800, 10000)
    """
    power = 10 ** math.floor(math.log10(number))
    return int(round(number / power) * power)


def calibration_p(shown: pl.DataFrame) -> float:
    """Return the p-value that propensities fit how often items were shown; NaN without a test.

    The sum of 1 / propensity over the rows that show an item has the number of rows as its mean, if
    the item could be shown in all of them; so it has within every stratum of contexts, which finds
    propensities of another request that fit on average. Items and positions with 20 rows are tested
    by the tail of the intervals (Bonferroni).
    """
    cells = [_cells(shown, [])]
    if shown["stratum"].n_unique() > 1:
        cells.append(_cells(shown, ["stratum"]))
    tested = pl.concat(cells, how="diagonal").sort("place", "item", "stratum")
    if tested.is_empty():
        return math.nan
    # The tail costs more than a z-score, and the smallest is among those of the largest.
    likely = tested.top_k(_TAILS, by="z") if len(tested) > _TAILS else tested
    smallest = min(
        _calibration_of(inverse_propensity(code), np.array(rows), size)
        for code, rows, size in likely.select("code", "rows", "size").iter_rows()
    )
    return min(1.0, smallest * len(tested))


def _cells(shown: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Return the items that were shown often enough, by place and stratum, with z of Σ 1 / p."""
    inverse = pl.Series("inverse", inverse_propensity(shown["code"].to_numpy()))
    rows = shown.with_columns(inverse).group_by("item", "place", *by, "code", maintain_order=True)
    merged = rows.agg(pl.col("rows").sum(), pl.col("inverse").first())
    sizes = shown.group_by("place", *by).agg(pl.col("rows").sum().alias("size"))
    total, square = (pl.col("rows") * pl.col("inverse") ** power for power in (1, 2))
    groups = merged.group_by("item", "place", *by, maintain_order=True).agg(
        "code",
        "rows",
        pl.col("rows").sum().alias("shows"),
        total.sum().alias("total"),
        square.sum().alias("square"),
    )
    groups = groups.filter(pl.col("shows") >= _SHOWS).join(
        sizes, on=["place", *by], maintain_order="left"
    )
    spread = pl.col("square") - pl.col("total") ** 2 / pl.col("size")
    z = (pl.col("total") - pl.col("size")).abs() / spread.clip(1e-9).sqrt()
    out = groups.select("item", "place", "code", "rows", "size", *by, z=z)
    return out if by else out.with_columns(stratum=pl.lit(None, pl.Int16))


def _calibration_of(inverse: Floats, rows: Any, n: int) -> float:
    """Return the two-sided p-value of Σ 1/p against n."""
    values = np.concatenate([inverse - 1.0, [-1.0, max(float(inverse.max()) - 1.0, 0.0)]])
    count = np.concatenate([rows, [n - rows.sum(), 1.0]])  # the last is one unseen row
    values, count = values[count > 0], count[count > 0]
    above = probability_above(values, count=count)[0]
    values[-1] = -1.0
    below = probability_above(-values, count=count)[0]
    return min(1.0, 2.0 * min(above, below))


def pareto_k(tail: Floats) -> float:
    """Return the generalised Pareto shape of the largest weights, with a weak prior at 0.5.

    The estimate is that of Zhang and Stephens (2009), as Pareto-smoothed importance sampling has
    it.
    """
    threshold, excess = (
        (float(tail[0]) if len(tail) else 0.0),
        tail[tail > (tail[0] if len(tail) else 0)],
    )
    x = np.sort(excess - threshold)
    n = len(x)
    if n < 5 or x[-1] <= 0:
        return math.nan
    k = _generalised_pareto(x)
    return (n * k + 5.0) / (n + 10.0)


def _generalised_pareto(x: Floats) -> float:
    n = len(x)
    m = 30 + int(math.sqrt(n))
    quartile = x[int(n / 4 + 0.5) - 1]
    b = 1.0 - np.sqrt(m / (np.arange(1, m + 1) - 0.5))
    b = b / (3.0 * quartile) + 1.0 / x[-1]
    k = np.log1p(-b[:, None] * x[None, :]).mean(axis=1)
    # Where b is 0, so is k, and the distribution is exponential.
    ratio = np.divide(-b, k, out=np.full(m, 1.0 / x.mean()), where=k != 0)
    likelihood = n * (np.log(ratio) - k - 1.0)
    weights = np.exp(likelihood - likelihood.max())
    posterior = float((b * weights).sum() / weights.sum())
    return float(np.log1p(-posterior * x).mean())
