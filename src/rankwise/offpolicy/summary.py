"""Tables of a result from the sums of a log: policies, pairs, sensitivity, positions and users."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from rankwise.findings.margins import Margin, check_margin, size_of
from rankwise.offpolicy.intervals import Estimate
from rankwise.offpolicy.result import LOGGED
from rankwise.offpolicy.sums import CLIPS, PolicySums, Sums, over_positions
from rankwise.offpolicy.support import (
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
from rankwise.stats.equivalence import minimum_detectable
from rankwise.stats.many_systems import Correction, adjust, level_left


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
        return pl.DataFrame(rows, schema_overrides=_TYPES, infer_schema_length=None), supports

    def differences(
        self, values: Mapping[str, Value], supports: Mapping[str, Support]
    ) -> pl.DataFrame:
        """Return one row per pair: pairs with the baseline first, then pairs of two targets."""
        targets = [name for name in values if name != LOGGED]
        pairs = [(name, self.baseline, True) for name in values if name != self.baseline]
        pairs += [
            (one, other, False)
            for at, one in enumerate(targets)
            for other in targets[at + 1 :]
            if self.baseline not in (one, other)
        ]
        curves = {name: clip_curve(self.sums, name, self.estimator) for name in self.sums.policies}
        curves[LOGGED] = np.full(len(CLIPS), values[LOGGED].value)
        rows: list[dict[str, Any]] = []
        for system, baseline, primary in pairs:
            row: dict[str, Any] = {
                "baseline": baseline,
                "system": system,
                **self.head,
                "primary": primary,
            }
            row |= dict.fromkeys(_NUMBERS, math.nan) | _WITHOUT
            if "none" not in (supports[system], supports[baseline]):
                row |= self._pair(
                    values[system], values[baseline], curves[system] - curves[baseline]
                )
            rows.append(row)
        for primary, method in ((True, self.correction), (False, "bh")):
            family = [row for row in rows if row["primary"] == primary and not math.isnan(row["p"])]
            self._correct(family, method, values)
        for row in rows:
            words = [supports[row["system"]], supports[row["baseline"]]]
            row["verdict"] = self._verdict(row, words)
            if row["verdict"] in ("equivalent", "within the margin"):
                row |= {
                    "low": row["margin_low"],
                    "high": row["margin_high"],
                    "confidence": row["margin_confidence"],
                }
        names = ("margin_low", "margin_high", "margin_confidence")
        table = [{name: value for name, value in row.items() if name not in names} for row in rows]
        return pl.DataFrame(table, schema_overrides=_TYPES, infer_schema_length=None)

    def _correct(
        self, family: list[dict[str, Any]], method: Correction, values: Mapping[str, Value]
    ) -> None:
        """Correct the tests of a family of pairs and its margins, and the levels of intervals."""
        if not family:
            return
        p = [row["p"] for row in family]
        level = level_left(p, method, self.alpha)
        margins = {
            name: [row[name] for row in family] for name in ("p_non_inferior", "p_equivalence")
        }
        adjusted = {name: adjust(tests, method).tolist() for name, tests in margins.items()}
        levels = {name: level_left(tests, method, self.alpha) for name, tests in margins.items()}
        for at, (row, p_adjusted) in enumerate(
            zip(family, adjust(p, method).tolist(), strict=True)
        ):
            estimate = difference_of(values[row["system"]], values[row["baseline"]])
            row["p_adjusted"] = p_adjusted
            low, high = estimate.limits(level)
            row |= {"low": float(low), "high": float(high), "confidence": 1 - level}
            if self.margin is None:
                continue
            row["within_margin"] = adjusted["p_non_inferior"][at] < self.alpha
            row["equivalent"] = adjusted["p_equivalence"][at] < self.alpha
            of_word = "p_equivalence" if row["equivalent"] else "p_non_inferior"
            row["p_margin_adjusted"], margin_level = adjusted[of_word][at], levels[of_word]
            low, high = estimate.limits(2 * margin_level)
            row |= {
                "margin_low": float(low),
                "margin_high": float(high),
                "margin_confidence": 1 - 2 * margin_level,
            }

    def _pair(self, system: Value, baseline: Value, curve: Floats) -> dict[str, Any]:
        """Return the numbers of one pair, except its adjusted p-value and verdict."""
        estimate = difference_of(system, baseline)
        low, high = estimate.limits(self.alpha)
        error, users = estimate.cr2[0], len(estimate.base)
        detectable = math.nan
        if users > 2:
            detectable = minimum_detectable(users, alpha=self.alpha) * error * math.sqrt(users)
        row = {
            "mean_baseline": baseline.value,
            "mean_system": system.value,
            "difference": estimate.value,
            "low": float(low),
            "high": float(high),
            "confidence": 1 - self.alpha,
            "low_alone": float(low),
            "high_alone": float(high),
            "error": error,
            "p": float(estimate.p(0.0)),
            "minimum_detectable": detectable,
            "users": users,
            "flips_at": _flip(curve, estimate.value),
        }
        if self.margin is not None:
            margin = size_of(check_margin(self.margin), baseline.value)  # type: ignore[arg-type]
            row["margin"] = margin
            p = (
                (math.nan, math.nan)
                if margin is None
                else (estimate.p_above(-margin), estimate.p_below(margin))
            )
            row |= {"p_non_inferior": p[0], "p_equivalence": max(p)}
            low, high = estimate.limits(2 * self.alpha)
            row |= {"low_non_inferior": float(low), "high_non_inferior": float(high)}
        return row | {"flags": _flags(estimate, row, self.alpha)}

    def _verdict(self, row: Mapping[str, Any], supports: list[Support]) -> str:
        """Return the words of a pair, which never exceed the support of either side."""
        if "none" in supports:
            return "no number"
        if "weak" in supports:
            return "not shown (weak support)"
        if row["p_adjusted"] < self.alpha:
            return "better" if row["difference"] > 0 else "worse"
        if row["equivalent"]:
            return "equivalent"
        return "within the margin" if row["within_margin"] else "not shown"

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


_TYPES: dict[str, Any] = {
    "reasons": pl.List(pl.String),
    "flags": pl.List(pl.String),
    "group": pl.String,
    "flips_at": pl.Float64,
    "margin": pl.Float64,
}
_NUMBERS = (
    *(
        "mean_baseline",
        "mean_system",
        "difference",
        "low",
        "high",
        "confidence",
        "low_alone",
        "high_alone",
    ),
    *(
        "error",
        "p",
        "p_adjusted",
        "p_non_inferior",
        "p_equivalence",
        "p_margin_adjusted",
        "low_non_inferior",
        "high_non_inferior",
    ),
    "minimum_detectable",
)
_WITHOUT: dict[str, Any] = {
    "users": 0,
    "margin": None,
    "within_margin": False,
    "equivalent": False,
    "flips_at": None,
    "flags": [],
}
"""What a pair has of which no number is shown."""


def _flip(curve: Floats, difference: float) -> float | None:
    """Return the largest clip that flips the sign of the difference; None if no clip does."""
    turned = np.flatnonzero(np.sign(curve) == -np.sign(difference))
    return float(CLIPS[turned[-1]]) if difference and len(turned) else None


def _flags(estimate: Estimate, row: Mapping[str, Any], alpha: float) -> list[str]:
    """Return caveats of a difference: limits that one unseen request decides, and a sign flip."""
    flags = []
    seen = estimate.student(alpha)
    for name, limit, other in (("upper", row["high"], seen.high), ("lower", row["low"], seen.low)):
        if abs(limit - row["difference"]) > 3 * abs(other - row["difference"]) > 0:
            flags.append(
                f"the {name} limit allows for one unseen request as heavy as the heaviest; "
                f"without, {other:+.4f}"
            )
    if row["flips_at"] is not None and row["p"] < alpha:
        flags.append(f"the sign turns where weights are clipped at {row['flips_at']:g}")
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
