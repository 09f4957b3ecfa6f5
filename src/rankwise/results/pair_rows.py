"""The rows of a comparison: everything that is known about one pair of systems and one measure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import polars as pl

from rankwise.errors import ParameterError
from rankwise.results.align_users import Aligned
from rankwise.results.intervals import jackknife_caveats
from rankwise.results.result import Result
from rankwise.stats.clusters import jackknife_error
from rankwise.stats.differences import MANY, Differences, Interval, PairStatistics, TestResult, never_zero, t_around
from rankwise.stats.effects import lift_interval
from rankwise.stats.equivalence import equivalence_of
from rankwise.stats.non_inferiority import non_inferiority_of
from rankwise.stats.paired import smallest_p
from rankwise.stats.power import minimum_detectable

__all__ = [
    "COLUMNS",
    "blank_row",
    "check_groups_left_out",
    "detectable",
    "jackknife_row",
    "make_row",
    "row_of",
    "row_of_all_lists",
    "verdict",
]

COLUMNS: dict[str, Any] = {
    "measure": pl.String,
    "group": pl.String,
    "baseline": pl.String,
    "system": pl.String,
    "primary": pl.Boolean,
    "mean_baseline": pl.Float64,
    "mean_system": pl.Float64,
    "difference": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "low_together": pl.Float64,
    "high_together": pl.Float64,
    "lift": pl.Float64,
    "lift_low": pl.Float64,
    "lift_high": pl.Float64,
    "test": pl.String,
    "p": pl.Float64,
    "p_adjusted": pl.Float64,
    "verdict": pl.String,
    "error_rate": pl.String,
    "d_z": pl.Float64,
    "cliffs_delta": pl.Float64,
    "wins": pl.Int64,
    "ties": pl.Int64,
    "losses": pl.Int64,
    "users": pl.Int64,
    "users_dropped": pl.Int64,
    "dropped_because": pl.String,
    "users_not_zero": pl.Int64,
    "minimum_detectable": pl.Float64,
    "p_equivalence": pl.Float64,
    "p_equivalence_adjusted": pl.Float64,
    "within_margin": pl.Boolean,
    "p_non_inferior": pl.Float64,
    "users_needed": pl.Int64,
    "seeds_baseline": pl.Int64,
    "seeds_system": pl.Int64,
    "deviation_baseline": pl.Float64,
    "deviation_system": pl.Float64,
    "share_of_seeds": pl.Float64,
    "seeds_to_halve": pl.Int64,
    "clusters": pl.Int64,
    "data_sets": pl.Int64,
    "tau": pl.Float64,
    "flags": pl.List(pl.String),
}


_BLANK: dict[str, Any] = {name: math.nan if kind == pl.Float64 else None for name, kind in COLUMNS.items()}


def blank_row() -> dict[str, Any]:
    """Return a row of which nothing is known: NaN for numbers, else None."""
    return _BLANK.copy()


def make_row(
    cell: str,
    pair: tuple[str, str],
    differences: Differences,
    tested: TestResult,
    aligned: Aligned,
    intervals: tuple[Interval, Interval],
    *,
    alpha: float,
    margin: float | None,
    better: bool | None,
    tests: int,
    largest: float,
    delta: float,
) -> dict[str, Any]:
    """Return the row of one pair of a family of ``tests``; x is the system, y the baseline.

    ``intervals`` are that of the pair alone and that of all pairs of the family together; ``delta``
    is Cliff's.
    """
    return row_of(
        cell,
        pair,
        differences,
        tested,
        intervals,
        alpha=alpha,
        margin=margin,
        better=better,
        tests=tests,
        dropped=(aligned.users, aligned.reasons),
        largest=largest,
        delta=delta,
    )


def row_of(
    cell: str,
    pair: tuple[str, str],
    pairs: PairStatistics,
    tested: TestResult,
    intervals: tuple[Interval, Interval],
    *,
    alpha: float,
    margin: float | None,
    better: bool | None,
    tests: int,
    dropped: tuple[int, str],
    largest: float,
    delta: float = math.nan,
) -> dict[str, Any]:
    """Return the row of one pair, from pairs or their sums.

    ``dropped`` has the number of users that any result has, and why some were left out; ``delta``
    is Cliff's, which sums do not tell; ``largest`` the largest difference that is possible.
    """
    n, (baseline_mean, system_mean) = pairs.n, pairs.means[::-1]
    interval, together = intervals
    lift, lift_low, lift_high = lift_interval(pairs, confidence=1 - alpha)
    same = None if margin is None else equivalence_of(pairs, margin=margin, alpha=alpha, largest=largest)
    no_worse = (
        None
        if margin is None or better is None
        else non_inferiority_of(pairs, margin=margin, alpha=alpha, largest=largest, higher_is_better=better)
    )
    flags = [*tested.flags, *(flag for flag in interval.flags if flag not in tested.flags)]
    return blank_row() | {
        "measure": cell,
        "baseline": pair[0],
        "system": pair[1],
        "mean_baseline": baseline_mean,
        "mean_system": system_mean,
        "difference": pairs.mean,
        "low": interval.low,
        "high": interval.high,
        "low_together": together.low,
        "high_together": together.high,
        "lift": lift,
        "lift_low": lift_low,
        "lift_high": lift_high,
        "test": tested.test,
        "p": tested.p,
        "d_z": pairs.d_z,
        "cliffs_delta": delta,
        "wins": pairs.wins,
        "ties": n - pairs.nonzero,
        "losses": pairs.losses,
        "users": n,
        "users_dropped": dropped[0] - n,
        "dropped_because": dropped[1],
        "users_not_zero": pairs.not_zero,
        "minimum_detectable": _detectable(pairs, alpha / tests, largest),
        "p_equivalence": math.nan if same is None else same.p,
        "p_non_inferior": math.nan if no_worse is None else no_worse.p,
        "users_needed": None if no_worse is None else no_worse.users_needed,
        "flags": flags,
        "_better": better,
        "_error": pairs.error,
        "_largest": largest,
    }


def _detectable(pairs: PairStatistics, alpha: float, largest: float) -> float:
    """Return the difference found with power 0.8; NaN if differences do not vary.

    It is infinite if nothing can be detected: too few pairs differ for any outcome to be
    significant, or the difference is larger than the range of the values allows.
    """
    if not pairs.deviation > 0:
        return math.nan
    if pairs.n < MANY and smallest_p(pairs.nonzero) >= alpha:
        return math.inf
    return detectable(minimum_detectable(pairs.n, alpha=alpha) * pairs.deviation, largest)


def detectable(difference: float, largest: float) -> float:
    """Return a minimum detectable difference; infinite if it is larger than values allow."""
    return math.inf if difference > largest else difference


def check_groups_left_out(cell: str, results: Mapping[str, Result]) -> None:
    """Raise unless the jackknife left the same groups of users out of all results."""
    dealt = {str(result.provenance.get("jackknife")) for result in results.values()}
    if len(dealt) > 1:
        groups = {n: 0 if r.replicates is None else len(r.replicates) for n, r in results.items()}
        sizes = (f"{n}: {len(r.per_user)} users in {groups[n]} groups" for n, r in results.items())
        raise ParameterError(
            f"{cell} is compared by the jackknife, which needs the same users in the same groups",
            found=", ".join(sizes),
            hint="evaluate both on the same truth with the same jackknife=",
        )


def jackknife_row(
    results: Mapping[str, Result], cell: str, pair: tuple[str, str], alpha: float, better: bool | None
) -> dict[str, Any]:
    """Return the row of one pair of values that are not per-user means, from their jackknife."""
    from scipy.stats import t

    baseline, system = results[pair[0]], results[pair[1]]
    assert baseline.replicates is not None
    assert system.replicates is not None
    check_groups_left_out(cell, {name: results[name] for name in pair})
    before, after = baseline.values[cell], system.values[cell]
    difference = after - before
    error, groups = jackknife_error((system.replicates[cell] - baseline.replicates[cell]).to_numpy())
    left = len(system.replicates) - groups
    flags = [f"{left} groups without which there is no value"] if left else []
    p = math.nan
    if groups < 2:
        flags.append("fewer than two groups")
    elif error > 0:
        p = never_zero(2 * t.sf(abs(difference) / error, groups - 1))
    else:
        p = 1.0 if difference == 0 else math.nan
        flags.append("identical" if difference == 0 else "zero variance")
    interval = t_around(difference, error, groups - 1, confidence=1 - alpha, method="jackknife", n=groups)
    tested = TestResult(
        "jackknife t", difference, math.nan, p, groups, (*flags, *jackknife_caveats(system.measures, cell))
    )
    return row_of_all_lists(
        cell, pair, (before, after), len(baseline.per_user), tested, interval, error=error, better=better
    )


def row_of_all_lists(
    cell: str,
    pair: tuple[str, str],
    values: tuple[float, float],
    users: int,
    tested: TestResult,
    interval: Interval,
    *,
    error: float,
    better: bool | None,
) -> dict[str, Any]:
    """Return the row of a pair of ``values`` that are not means over users, the baseline first."""
    before, after = values
    return blank_row() | {
        "measure": cell,
        "baseline": pair[0],
        "system": pair[1],
        "mean_baseline": before,
        "mean_system": after,
        "difference": tested.difference,
        "low": interval.low,
        "high": interval.high,
        "lift": tested.difference / before if before else math.nan,
        "test": tested.test,
        "p": tested.p,
        "users": users,
        "users_dropped": 0,
        "dropped_because": "",
        "flags": [*tested.flags, "of all lists together"],
        "_better": better,
        "_error": error,
    }


def verdict(row: Mapping[str, Any], alpha: float) -> str:
    """Return what a row shows: better, worse, different, equivalent or undecided.

    A significant difference is never hidden: within the margin it is still better or worse.
    """
    if not row["p_adjusted"] < alpha:
        return "equivalent" if row["p_equivalence_adjusted"] < alpha else "undecided"
    if row["_better"] is None:
        return "different"
    return "better" if (row["difference"] > 0) == row["_better"] else "worse"
