"""Tests of the pairs of a family on one metric: an estimate of each pair, then what they share.

What an estimate is over decides how its pairs are tested: independent users, clusters of users or
several seeds, or all lists together. Each kind has one class with the method ``findings``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from rankwise.comparison.alignment import AlignedUsers
from rankwise.comparison.all_lists import ValuesOfAllLists
from rankwise.comparison.family import PairFamily
from rankwise.comparison.rows import JOINT, PairFinding, with_joint_p, with_margin
from rankwise.comparison.sampled_means import SampledMeans
from rankwise.comparison.user_means import UserMeans
from rankwise.findings.finding import Limits
from rankwise.findings.margins import margin_of
from rankwise.stats.bounded_means import BOUNDED
from rankwise.stats.differences import (
    LEAST,
    Differences,
    Floats,
    normal_probability,
    paired_differences,
    significant_digits,
)
from rankwise.stats.effect_sizes import lift_by_quantile
from rankwise.stats.many_systems import max_t, max_t_quantile, tukey, tukey_width

_NOISE_UNKNOWN = "the noise between runs is not known, and not allowed for"


class Estimate(Protocol):
    """The differences of a family's pairs on one metric, with the variance that is theirs."""

    def findings(self) -> list[PairFinding]:
        """Return one finding per pair, before any correction."""


def test_pairs(family: PairFamily, cell: str) -> list[PairFinding]:
    """Return the findings of one metric, adjusted if one test is of all pairs together."""
    aligned = family.aligned(cell)
    findings = [
        _in_family(finding, family, is_mean=aligned is not None)
        for finding in _estimate(family, cell, aligned).findings()
    ]
    if family.noise is not None and (aligned is None or not family.knows_noise(cell)):
        findings = [replace(one, flags=(*one.flags, _NOISE_UNKNOWN)) for one in findings]
    if aligned is None or cell != family.main or family.correction not in JOINT:
        return findings
    return _test_jointly(family, findings, aligned)


test_pairs.__test__ = False  # type: ignore[attr-defined] # pytest collects functions called test…


def _estimate(family: PairFamily, cell: str, aligned: AlignedUsers | None) -> Estimate:
    """Return the estimate of a family's pairs that the values of a metric allow."""
    if aligned is None:
        return ValuesOfAllLists(family, cell)
    if family.seeds or family.clusters is not None or family.knows_noise(cell):
        return SampledMeans(family, cell, aligned)
    return UserMeans(family, cell, aligned)


def _in_family(finding: PairFinding, family: PairFamily, *, is_mean: bool) -> PairFinding:
    """Return a finding with the part and the margin of its family, and caveats of the margin."""
    margin = margin_of(family.margin, finding.metric)
    placed = replace(
        finding, by=family.by, group=family.group, primary=finding.metric == family.main
    )
    within = with_margin(placed, margin, bounded=not is_mean or math.isfinite(finding.largest))
    if is_mean or margin is None or within.flags != finding.flags:
        return within
    return replace(within, flags=(*within.flags, "margin tested by the jackknife"))


def _test_jointly(
    family: PairFamily, findings: Sequence[PairFinding], aligned: AlignedUsers
) -> list[PairFinding]:
    """Return findings with joint p-values and intervals of all pairs, by Tukey or the largest t."""
    if family.correction == "tukey":
        p, halves = _by_tukey(family, aligned)
    else:
        p, halves = _by_largest_t(family, findings, aligned)

    pairs = aligned.differences(family.columns)
    return [
        with_joint_p(
            _with_joint_limits(finding, pair, half, family.joint_alpha), joint, family.joint_alpha
        )
        for finding, pair, half, joint in zip(findings, pairs, halves.tolist(), p, strict=True)
    ]


def _by_tukey(family: PairFamily, aligned: AlignedUsers) -> tuple[list[float], Floats]:
    """Return joint p-values and half widths of intervals, by the randomised Tukey test."""
    matrix = significant_digits(aligned.values)
    of_pair = tukey(matrix)
    half = tukey_width(matrix, 1 - family.joint_alpha)
    p = [of_pair[baseline, system] for system, baseline in family.columns]
    return p, np.full(len(p), half)


def _by_largest_t(
    family: PairFamily, findings: Sequence[PairFinding], aligned: AlignedUsers
) -> tuple[list[float], Floats]:
    """Return joint p-values and half widths of intervals, by the largest t of all pairs."""
    values = aligned.values.T
    d = np.stack([paired_differences(values[x], values[y]) for x, y in family.columns], axis=1)
    p = max_t(d, n_resamples=family.resamples, seed=family.seed).tolist()
    if len(d) < 2:
        return p, np.full(len(findings), math.nan)
    quantile = max_t_quantile(
        d,
        confidence=1 - family.joint_alpha,
        n_resamples=family.resamples,
        seed=family.seed,
    )
    return p, quantile * np.array([finding.std_error for finding in findings])


def _with_joint_limits(
    finding: PairFinding, pairs: Differences, half: float, alpha: float
) -> PairFinding:
    """Return a finding with its joint limits, and the level that these leave to the pair.

    They are never narrower than the limits of the bound at this level.
    """
    assert finding.limits_of is not None
    if not finding.std_error > 0 or math.isnan(half):
        # No user differs: the interval is that of unseen ones.
        return replace(
            finding,
            joint=finding.limits_of(alpha),
            joint_confidence=1 - alpha,
            joint_level=alpha,
        )

    quantile = half / finding.std_error
    level = max(2 * normal_probability(-quantile), LEAST)
    means = finding.means
    _, *lift = lift_by_quantile(pairs, quantile)
    limits = Limits(means.difference - half, means.difference + half, *lift)
    if finding.test.test == BOUNDED:
        limits = limits.wider(finding.limits_of(level))
    return replace(finding, joint=limits, joint_confidence=1 - alpha, joint_level=level)
