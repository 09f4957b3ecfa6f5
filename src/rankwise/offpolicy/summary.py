"""Tables of a result from the sums of a log: policies, pairs, sensitivity, positions and users."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from rankwise.core.terminal import decimals, signed
from rankwise.findings.conclude import Family, conclude
from rankwise.findings.finding import (
    REWARD,
    EffectSizes,
    Limits,
    LimitsOf,
    MarginTests,
    Means,
    TestOutcome,
)
from rankwise.findings.margins import Margin, check_margin, size_of
from rankwise.offpolicy.finding import LogFinding, PairSupport
from rankwise.offpolicy.intervals import METHOD, Estimate
from rankwise.offpolicy.result import LOGGED
from rankwise.offpolicy.sums import CLIPS, PolicySums, Sums, over_positions
from rankwise.offpolicy.support import (
    SUPPORTS,
    Support,
    decide_support,
    diagnostics_of,
    effective,
    logged_diagnostics,
)
from rankwise.offpolicy.values import (
    Estimator,
    Value,
    clip_curve,
    difference_of,
    exact_columns,
    logged_value,
    value_of,
)
from rankwise.stats.differences import Floats
from rankwise.stats.equivalence import POWER_0_8
from rankwise.stats.many_systems import Correction


@dataclass(frozen=True, eq=False)
class Summary:
    """The tables of one set of requests: all requests, or one group.

    Attributes
    ----------
    sums : Sums
        The sums of the log under each target.
    head : mapping of str to str or None
        The columns ``by`` and ``group`` of each row, if there are groups.
    estimated, marginal : bool
        Whether propensities are estimated, and whether they are those of an item at its position
        alone.
    calibration_p : float
        The p-value of item calibration; NaN if it was not tested.
    """

    sums: Sums
    estimator: Estimator
    reward_range: tuple[float, float]
    baseline: str
    alpha: float
    correction: Correction
    margin: Margin
    head: Mapping[str, str | None]
    estimated: bool
    marginal: bool
    calibration_p: float

    def values(self) -> dict[str, Value]:
        """Return the value of each policy, the logging policy first."""
        values = {
            name: value_of(self.sums, name, self.estimator, self.reward_range)
            for name in self.sums.policies
        }
        return {LOGGED: logged_value(self.sums, self.reward_range)} | values

    def table(self, values: Mapping[str, Value]) -> tuple[pl.DataFrame, dict[str, Support]]:
        """Return one row per policy, and the support of each."""
        rows: list[dict[str, Any]] = []
        supports: dict[str, Support] = {}
        users = len(self.sums.requests)
        for name, value in values.items():
            support: Support = "observed"
            reasons: list[str] = []
            diagnostics = logged_diagnostics(self.sums)
            if name != LOGGED:
                diagnostics = diagnostics_of(
                    self.sums, self.sums.policies[name], self.calibration_p
                )
                support, reasons = decide_support(
                    diagnostics, users, estimated=self.estimated, marginal=self.marginal
                )
            supports[name] = support
            shown = support != "none"
            low, high = value.estimate.limits(self.alpha) if shown else (math.nan, math.nan)
            row: dict[str, Any] = {
                "policy": name,
                **self.head,
                "value": value.value if shown else math.nan,
            }
            row |= {"low": float(low), "high": float(high), "support": support, "reasons": reasons}
            rows.append(row | {"n": self.sums.n, "users": users} | asdict(diagnostics))
        types: Any = {"reasons": pl.List(pl.String), "group": pl.String}
        return pl.DataFrame(rows, schema_overrides=types, infer_schema_length=None), supports

    def differences(
        self, values: Mapping[str, Value], supports: Mapping[str, Support]
    ) -> list[LogFinding]:
        """Return one finding per pair: pairs with the baseline first, then pairs of two targets."""
        curves = {name: clip_curve(self.sums, name, self.estimator) for name in self.sums.policies}
        curves[LOGGED] = np.full(len(CLIPS), values[LOGGED].value)
        primary = [(self.baseline, name) for name in values if name != self.baseline]
        targets = [name for name in values if name not in (LOGGED, self.baseline)]
        others = [(other, one) for one, other in combinations(targets, 2)]

        findings: list[LogFinding] = []
        for is_primary, family in ((True, primary), (False, others)):
            tested = [
                self._pair(pair, values, supports, curves, len(family), primary=is_primary)
                for pair in family
            ]
            findings += conclude(
                tested,
                Family(
                    method=self.correction if is_primary else "bh",
                    alpha=self.alpha,
                    margin_is_one_sided=True,
                ),
            )
        return findings

    def _pair(
        self,
        pair: tuple[str, str],
        values: Mapping[str, Value],
        supports: Mapping[str, Support],
        curves: Mapping[str, Floats],
        n_pairs: int,
        *,
        primary: bool,
    ) -> LogFinding:
        """Return the tests of one pair, before any correction."""
        baseline, system = pair
        group = self.head.get("group")
        finding = LogFinding(
            metric=REWARD,
            by=None if group is None else self.head["by"],
            group=group,
            baseline=baseline,
            system=system,
            higher_is_better=True,
            primary=primary,
            effect=EffectSizes(users=len(self.sums.requests)),
            support=PairSupport(supports[baseline], supports[system]),
            why=_why(pair, supports),
        )
        if "none" in (supports[baseline], supports[system]):
            return finding

        after, before = values[system], values[baseline]
        estimate = difference_of(after, before)
        curve = curves[system] - curves[baseline]
        flips_at = _flip(curve, estimate.value)

        def limits_of(level: float) -> Limits:
            low, high = estimate.limits(level)
            return Limits(float(low), float(high))

        alone, together = limits_of(self.alpha), limits_of(self.alpha / n_pairs)
        p, users = float(estimate.p(0.0)), len(estimate.base)
        error = estimate.cr2[0]
        return replace(
            finding,
            means=Means(
                before.value,
                after.value,
                estimate.value,
                low=alone.low,
                high=alone.high,
                confidence=1 - self.alpha,
                low_alone=alone.low,
                high_alone=alone.high,
                low_together=together.low,
                high_together=together.high,
                lift=estimate.value / abs(before.value) if before.value else math.nan,
            ),
            test=TestOutcome(METHOD, p),
            effect=EffectSizes(
                users=users, minimum_detectable=_detectable(users, error, estimate.value, alone)
            ),
            margin=self._margin_tests(estimate, before.value, limits_of),
            support=replace(finding.support, flips_at=flips_at),
            flags=tuple(_flags(estimate, alone, p, flips_at, self.alpha)),
            std_error=error,
            limits_of=limits_of,
            margin_limits_of=limits_of,
        )

    def _margin_tests(
        self, estimate: Estimate, mean_baseline: float, limits_of: LimitsOf
    ) -> MarginTests:
        """Return the tests of the margin, if there is one."""
        margin = size_of(None if self.margin is None else check_margin(self.margin), mean_baseline)  # type: ignore[arg-type]
        if margin is None:
            return MarginTests()
        above, below = estimate.p_above(-margin), estimate.p_below(margin)
        limits = limits_of(2 * self.alpha)
        return MarginTests(
            margin=margin,
            p_equivalence=max(above, below),
            p_non_inferior=above,
            margin_low=limits.low,
            margin_high=limits.high,
        )

    def sensitivity(
        self, values: Mapping[str, Value], supports: Mapping[str, Support]
    ) -> pl.DataFrame:
        """Return the values by estimators whose bias is unknown, which have no interval."""
        out = []
        for name, policy in self.sums.policies.items():
            if supports[name] == "none":
                continue
            printed = values[name].value
            plain = (
                value_of(self.sums, name, "ips", self.reward_range).value
                if policy.expected is None
                else math.nan
            )
            others = [("ips", math.nan, plain)] if not math.isnan(plain) else []
            curve = clip_curve(self.sums, name, self.estimator)
            others += [
                ("clip", float(clip), float(value))
                for clip, value in zip(CLIPS, curve, strict=True)
            ]
            others += [
                (
                    method,
                    math.nan if parameter is None else float(parameter),
                    total.value / self.sums.n,
                )
                for (method, parameter), total in policy.models.items()
            ]
            others += _full_list(self.sums, policy)
            out += [
                (name, method, parameter, value, value - printed)
                for method, parameter, value in others
            ]
        numbers = dict.fromkeys(("parameter", "value", "difference"), pl.Float64)
        return pl.DataFrame(
            out, schema={"policy": pl.String, "method": pl.String, **numbers}, orient="row"
        )


def _why(pair: tuple[str, str], supports: Mapping[str, Support]) -> str:
    """Return why nothing is concluded of a pair: the weaker support of its two policies."""
    weaker = min(pair, key=lambda name: SUPPORTS.index(supports[name]))
    if supports[weaker] in ("observed", "sound"):
        return ""
    return f"{'no' if supports[weaker] == 'none' else 'weak'} support of {weaker}"


def _detectable(users: int, error: float, difference: float, limits: Limits) -> float:
    """Return the difference that is found with power 0.8; NaN for two users or fewer.

    It is found where the interval excludes 0, which has room for a request that nobody saw.
    """
    if users <= 2:
        return math.nan
    half = difference - limits.low if difference >= 0 else limits.high - difference
    return half + POWER_0_8 * error


def _flip(curve: Floats, difference: float) -> float | None:
    """Return the largest clip that flips the sign of the difference; None if no clip does."""
    turned = np.flatnonzero(np.sign(curve) == -np.sign(difference))
    return float(CLIPS[turned[-1]]) if difference and len(turned) else None


def _flags(
    estimate: Estimate, limits: Limits, p: float, flips_at: float | None, alpha: float
) -> list[str]:
    """Return caveats of a difference: limits that one unseen request decides, and a sign flip."""
    flags = []
    seen = estimate.student(alpha)
    for name, limit, other in (("upper", limits.high, seen.high), ("lower", limits.low, seen.low)):
        if abs(limit - estimate.value) > 3 * abs(other - estimate.value) > 0:
            flags.append(
                f"the {name} limit allows for one unobserved request of the largest weight; "
                f"without, {signed(other, decimals(estimate.value))}"
            )
    if flips_at is not None and p < alpha:
        flags.append(f"the sign turns where weights are clipped at {flips_at:g}")
    return flags


def _full_list(sums: Sums, policy: PolicySums) -> list[tuple[str, float, float]]:
    """Return in slates the value with the weight of the full list at every position."""
    weighted, weight = np.vectorize(lambda total: total.value, otypes=[float])(policy.full)
    if not weight.any():
        return []
    with np.errstate(invalid="ignore", divide="ignore"):
        value = float((weighted / weight * exact_columns(sums.rows)).sum()) / sums.n
    return [("standard", math.nan, value)]


def positions_of(values: Mapping[str, Value], supports: Mapping[str, Support]) -> pl.DataFrame:
    """Return the part of the value and the effective users by policy and position."""
    out = []
    for name, value in values.items():
        weight = value.sums.rows if value.policy is None else value.policy.weight
        for at, part in enumerate(value.by_position.tolist()):
            out.append(
                (
                    name,
                    at + 1,
                    part if supports[name] != "none" else math.nan,
                    effective(weight[:, at]),
                )
            )
    schema = {
        "policy": pl.String,
        "position": pl.Int64,
        "value": pl.Float64,
        "effective_users": pl.Float64,
    }
    return pl.DataFrame(out, schema=schema, orient="row")


def per_user(sums: Sums, supports: Mapping[str, Support]) -> pl.DataFrame:
    """Return one row per user: requests, reward, and the weighted reward and weight of each policy.

    Without support there is no weighted reward, of which the value would be a quotient.
    """
    columns: dict[str, Any] = {
        "user": sums.users,
        "requests": sums.requests.astype(np.int64),
        "reward": over_positions(sums.reward),
    }
    for name, policy in sums.policies.items():
        rewards = (
            over_positions(policy.reward)
            if supports[name] != "none"
            else np.full(len(sums.requests), math.nan)
        )
        columns[f"weighted_reward({name})"] = rewards
        columns[f"weight({name})"] = over_positions(policy.weight)
    frame = pl.DataFrame(columns)
    return frame if frame["user"].is_sorted() else frame.sort("user")  # a large one is not copied
