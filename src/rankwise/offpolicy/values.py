"""Values of policies and their differences, as estimates with user sums, from the sums of a log."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from rankwise.core.arrays import ExactTotal
from rankwise.offpolicy.estimators import regression
from rankwise.offpolicy.intervals import Estimate
from rankwise.offpolicy.sums import CLIPS, PolicySums, Sums, over_positions
from rankwise.stats.differences import Floats

Estimator: TypeAlias = Literal["auto", "snips", "ips", "beta_ips", "sndr", "dr"]


def exact_columns(values: Floats) -> Floats:
    """Return exact sums of columns, rounded once: the order of users does not matter."""
    return np.array([ExactTotal.of(column).value for column in values.T])


@dataclass(frozen=True, eq=False)
class Value:
    """The value of one policy.

    Attributes
    ----------
    value : float
        The estimate, per request.
    influence : array, shape (users,)
        The user sums of what each request adds to the estimate; their sum is 0.
    highest, lowest : array, shape (requests,)
        What each kept request adds with the largest, and with the smallest, reward at each
        position.
    sizes : array, shape (users,)
        The share of each user in the weights, in requests.
    by_position : array, shape (positions,)
        The value at each position.
    is_ratio : bool
        Whether the value is one ratio of sums, for which user sums are exact at every value.
    """

    sums: Sums
    policy: PolicySums | None
    value: float
    influence: Floats
    highest: Floats
    lowest: Floats
    sizes: Floats
    by_position: Floats
    reward_range: tuple[float, float]
    is_ratio: bool

    @cached_property
    def estimate(self) -> Estimate:
        """The estimate, with its user sums as lines in the value."""
        low, high = (limit * len(self.by_position) for limit in self.reward_range)
        if self.is_ratio:
            weight = self.sums.rows[:, 0] if self.policy is None else self.policy.weight[:, 0]
            reward = self.sums.reward[:, 0] if self.policy is None else self.policy.reward[:, 0]
            heaviest = 1.0 if self.policy is None else self.policy.largest
            upper, lower = (
                (heaviest * self.reward_range[1], heaviest),
                (heaviest * self.reward_range[0], heaviest),
            )
            return Estimate(self.value, reward, weight, upper, lower, self.sizes, low, high)
        return _linear(
            self.value,
            self.influence,
            self.highest,
            self.lowest,
            self.sizes,
            self.sums,
            (low, high),
        )


def _linear(
    value: float,
    influence: Floats,
    highest: Floats,
    lowest: Floats,
    sizes: Floats,
    sums: Sums,
    limits: tuple[float, float],
) -> Estimate:
    """Return an estimate from influence values: every user has the mean number of requests."""
    slope = np.full(len(influence), sums.n / len(influence))
    upper, lower = (float(highest.max()) + value, 1.0), (float(lowest.min()) + value, 1.0)
    return Estimate(value, influence + value * slope, slope, upper, lower, sizes, *limits)


def logged_value(sums: Sums, reward_range: tuple[float, float]) -> Value:
    """Return the observed mean reward per request, with weights of 1."""
    rows = exact_columns(sums.rows)
    means = exact_columns(sums.reward) / rows
    value = float((means * rows).sum()) / sums.n
    highest, lowest = (_extreme(sums.present, reward_range[side], value) for side in (1, 0))
    influence = over_positions(sums.reward) - value * sums.requests
    single = len(means) == 1
    sizes, by_position = over_positions(sums.rows), means * rows / sums.n
    return Value(
        sums, None, value, influence, highest, lowest, sizes, by_position, reward_range, single
    )


def _extreme(present: Any, reward: float, value: float) -> Floats:
    out: Floats = over_positions(present * reward) - value
    return out


def value_of(
    sums: Sums, name: str, estimator: Estimator, reward_range: tuple[float, float]
) -> Value:
    """Return the value of a policy by an estimator."""
    policy = sums.policies[name]
    rows, weights = exact_columns(sums.rows), exact_columns(policy.weight)
    rewards = exact_columns(policy.reward)
    model_sums, before_sums = _model_sums(sums, policy)
    expected, before = exact_columns(model_sums), exact_columns(before_sums)
    normalised = estimator in ("snips", "sndr")
    scale = weights if normalised else rows
    above = before if normalised else rows
    with np.errstate(invalid="ignore", divide="ignore"):
        parts, models = rewards / scale, expected / above
        share = rows / scale  # 1 divided by the mean weight
        share_above = rows / above
    if not np.all(scale > 0):
        return _without_weight(sums, policy, reward_range)
    parts_at = parts if normalised else np.zeros_like(parts)
    models_at = models if normalised else np.zeros_like(models)
    value = float(((parts + models) * rows).sum()) / sums.n
    fixed = parts_at + models_at  # what a normalised part adds for each row, besides its deviation

    influence = (
        over_positions((policy.reward - parts_at * policy.weight) * share)
        + over_positions((model_sums - models_at * before_sums) * share_above)
        + over_positions(sums.rows * fixed)
        - value * sums.requests
    )
    w, q, above_w, model = policy.kept

    def request(reward: float) -> Floats:
        out: Floats = (
            over_positions(w * (reward - q - parts_at) * share)
            + over_positions(above_w * (model - models_at) * share_above)
            + over_positions(sums.present * fixed)
            - value
        )
        return out

    sizes = over_positions(policy.weight * (rows / weights))
    highest, lowest = request(reward_range[1]), request(reward_range[0])
    if estimator == "beta_ips":
        beta = regression(policy.reward[:, 0], policy.weight[:, 0])
        excess = float(weights[0] / rows[0]) - 1.0
        value -= beta * excess
        parts = parts - beta * excess
        influence = (
            policy.reward[:, 0]
            - beta * (policy.weight[:, 0] - sums.requests)
            - value * sums.requests
        )
        highest, lowest = (
            w[:, 0] * reward - beta * (w[:, 0] - 1.0) - value for reward in reward_range[::-1]
        )
    single = estimator == "snips" and len(rows) == 1 and policy.expected is None
    by_position = (parts + models) * rows / sums.n
    bounds = reward_range
    return Value(
        sums, policy, value, influence, highest, lowest, sizes, by_position, bounds, single
    )


def _model_sums(sums: Sums, policy: PolicySums) -> tuple[Floats, Floats]:
    """Return Σ w' dm and Σ w' by user; without predictions, a row of zeros and a row of ones."""
    if policy.expected is None:
        width = sums.rows.shape[1]
        return np.zeros((1, width)), np.ones((1, width))
    return policy.expected, sums.rows if policy.before is None else policy.before


def _without_weight(sums: Sums, policy: PolicySums, reward_range: tuple[float, float]) -> Value:
    """Return the NaN value of a policy that has no weight at a position."""
    users, width = policy.weight.shape
    empty, kept = np.full(users, math.nan), np.full(len(sums.present), math.nan)
    return Value(
        sums,
        policy,
        math.nan,
        empty,
        kept,
        kept,
        empty,
        np.full(width, math.nan),
        reward_range,
        False,
    )


def difference_of(system: Value, baseline: Value) -> Estimate:
    """Return the paired difference of two values on the same requests, by user."""
    sums = system.sums
    width = len(system.by_position) * (system.reward_range[1] - system.reward_range[0])
    value = system.value - baseline.value
    candidates = np.concatenate(
        [system.highest - baseline.highest, system.lowest - baseline.lowest]
    )
    return _linear(
        value,
        system.influence - baseline.influence,
        candidates,
        candidates,
        np.abs(system.sizes - baseline.sizes),
        sums,
        (-width, width),
    )


def clip_curve(sums: Sums, name: str, estimator: Estimator) -> Floats:
    """Return the value of a policy by an estimator, with weights clipped at each of `CLIPS`.

    A clip above the largest weight changes nothing: the value is that of `value_of`.
    """
    policy = sums.policies[name]
    rows = exact_columns(sums.rows)
    by_interval = np.vectorize(lambda total: total.value, otypes=[float])(policy.clips)
    count, weighted, weight, reward = np.cumsum(by_interval, axis=1)
    clip = CLIPS[:, None]
    total_reward, total_count = reward[-1], count[-1]
    rewards = weighted[:-1] + clip * (total_reward - reward[:-1])
    weights = weight[:-1] + clip * (total_count - count[:-1])

    normalised = estimator in ("snips", "sndr")
    expected, before = (exact_columns(each) for each in _model_sums(sums, policy))
    with np.errstate(invalid="ignore", divide="ignore"):
        models = expected / (before if normalised else rows)
        parts = rewards / (weights if normalised else rows)
    if estimator == "beta_ips":
        beta = regression(policy.reward[:, 0], policy.weight[:, 0])
        parts = parts - beta * (weights / rows - 1.0)

    curve: Floats = ((parts + models) * rows).sum(1) / sums.n
    return curve
