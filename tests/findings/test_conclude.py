"""Conclusions from tests of one family: words, intervals of their level, earlier tests."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.findings.conclude import NO_TEST, Family, conclude
from rankwise.findings.finding import Finding, Limits, MarginTests, Means, TestOutcome
from rankwise.stats.differences import t_quantile

ERROR, FREEDOM = 0.02, 60


def limits_of(difference):
    def limits(level):
        half = t_quantile(1 - level / 2, FREEDOM) * ERROR
        return Limits(difference - half, difference + half)

    return limits


def found(difference, *, up=True, why="", margin=None):
    from scipy.stats import t

    p = float(2 * t.sf(abs(difference) / ERROR, FREEDOM))
    limits = limits_of(difference)
    return Finding(
        metric="ndcg@10",
        baseline="old",
        system="new",
        higher_is_better=up,
        means=Means(0.3, 0.3 + difference, difference, limits(0.05).low, limits(0.05).high),
        test=TestOutcome("t", p),
        margin=MarginTests() if margin is None else margin,
        why=why,
        std_error=ERROR,
        limits_of=limits,
        margin_limits_of=limits,
    )


differences = st.lists(st.floats(-0.2, 0.2).filter(lambda d: abs(d) > 1e-6), min_size=1, max_size=6)
methods = st.sampled_from(["none", "bonferroni", "holm", "hochberg", "bh", "by"])


@given(differences, methods, st.sampled_from([0.01, 0.05, 0.2]), st.booleans())
def test_a_word_and_its_interval_say_the_same(gaps, method, alpha, up):
    family = Family(method=method, alpha=alpha)
    for finding in conclude([found(gap, up=up) for gap in gaps], family):
        difference, means = finding.means.difference, finding.means
        shown = finding.test.p_adjusted < alpha
        gains = (difference > 0) == up

        assert finding.test.verdict == (
            "not shown" if not shown else "better" if gains else "worse"
        )
        assert (means.low > 0 or means.high < 0) == shown
        assert means.low <= difference <= means.high
        assert finding.why == ""


@given(differences, methods, st.integers(0, 40))
def test_earlier_tests_never_make_a_word_stronger(gaps, method, earlier):
    findings = [found(gap) for gap in gaps]
    alone = conclude(findings, Family(method=method, alpha=0.05))
    after = conclude(findings, Family(method=method, alpha=0.05, earlier=earlier))
    for one, other in zip(alone, after, strict=True):
        assert other.test.p_adjusted >= one.test.p_adjusted
        assert other.test.verdict in (one.test.verdict, "not shown")


@given(differences, methods)
def test_what_was_not_checked_has_a_reason_and_no_other_word(gaps, method):
    family = Family(method=method, alpha=0.05)
    for finding in conclude([found(gap, why="weak support") for gap in gaps], family):
        assert (finding.test.verdict, finding.why) == ("not checked", "weak support")

    without = [replace(found(gap), test=TestOutcome("t", math.nan)) for gap in gaps]
    for finding in conclude(without, family):
        assert (finding.test.verdict, finding.why) == ("not checked", NO_TEST)


@pytest.mark.parametrize(("p_same", "p_loss"), [(0.01, 0.005), (0.3, 0.01), (0.3, 0.4)])
def test_a_margin_has_a_word_where_no_difference_is_shown(p_same, p_loss):
    margin = MarginTests(margin=0.05, p_equivalence=p_same, p_non_inferior=p_loss)
    finding = found(0.005, margin=margin)

    two_sided = Family(method="holm", alpha=0.05)
    one_sided = replace(two_sided, margin_is_one_sided=True)
    words = [conclude([finding], family)[0].test.verdict for family in (two_sided, one_sided)]

    same = "equivalent" if p_same < 0.05 else "not shown"
    loss = "equivalent" if p_same < 0.05 else "not worse" if p_loss < 0.05 else "not shown"
    assert words == [same, loss]


def test_joint_p_values_are_taken_as_they_are():
    findings = [
        replace(found(gap), test=TestOutcome("t", 0.001, p_adjusted=p))
        for gap, p in ((0.1, 0.02), (0.04, 0.3))
    ]
    family = Family(method="holm", alpha=0.05, is_joint=True)
    assert [f.test.verdict for f in conclude(findings, family)] == ["better", "not shown"]
    assert [f.test.p_adjusted for f in conclude(findings, family)] == [0.02, 0.3]

    later = conclude(findings, replace(family, earlier=2))  # two pairs, and two before them
    assert [f.test.p_adjusted for f in later] == [0.04, 0.6]
