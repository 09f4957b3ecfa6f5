"""Sentences of findings, held against the records that they speak of."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.core.terminal import brief
from rankwise.findings.columns import values_of
from rankwise.findings.finding import (
    EffectSizes,
    Finding,
    MarginTests,
    Means,
    TestOutcome,
    oriented,
)
from rankwise.findings.sentences import detectable_sentence, pair_sentence

NUMBER = re.compile(r"[-+−]?\d[\d,]*(?:\.\d+)?")


def numbers(text):
    """Return the numbers of a text, each with half a unit of its last digit."""
    out = []
    for match in NUMBER.findall(text):
        plain = match.replace("−", "-").replace(",", "")
        decimals = len(plain.partition(".")[2])
        out.append((float(plain), 0.5 * 10.0**-decimals))
    return out


@st.composite
def findings(draw):
    before = draw(st.floats(0.05, 0.6))
    gap = draw(st.floats(-0.04, 0.04))
    half = draw(st.floats(0.001, 0.05))
    shown = abs(gap) > half
    verdict = ("better" if gap > 0 else "worse") if shown else "not shown"
    return Finding(
        metric="ndcg",
        baseline="old",
        system="new",
        higher_is_better=True,
        primary=True,
        means=Means(
            before,
            before + gap,
            gap,
            gap - half,
            gap + half,
            confidence=0.95,
            lift=gap / before,
            lift_low=(gap - half) / before,
            lift_high=(gap + half) / before,
        ),
        test=TestOutcome("t", 0.01 if shown else 0.4, 0.02 if shown else 0.5, verdict=verdict),
        effect=EffectSizes(
            gap, wins=30, losses=20, users=60, minimum_detectable=draw(st.floats(0.001, 0.1))
        ),
        margin=MarginTests(margin=0.01),
    )


@given(findings())
def test_every_number_of_a_sentence_is_one_of_its_record(finding):
    row = values_of(finding)
    record = [value for value in row.values() if isinstance(value, float) and value == value]
    record += [100 * row[name] for name in ("lift", "lift_low", "lift_high")]
    record += [100 * row["minimum_detectable"] / row["mean_baseline"], 80.0]

    for value, unit in numbers(pair_sentence(row)):
        assert any(abs(value - known) <= unit * 1.000001 for known in record), value


@given(findings())
def test_the_mirror_image_of_a_finding_says_the_opposite(finding):
    row = values_of(finding)
    turned = oriented(row, "new")
    said, other = pair_sentence(row), pair_sentence(turned)

    opposite = {"better": "is worse than", "worse": "beats", "not shown": "is not shown to differ"}
    assert f"old {opposite[row['verdict']]}" in other
    assert "new " in said.partition(" on ndcg")[0]
    assert turned["difference"] == -row["difference"]
    assert (turned["low"], turned["high"]) == (-row["high"], -row["low"])


@pytest.mark.parametrize(
    ("verdict", "why", "said"),
    [
        ("equivalent", "", "new and old are equivalent on ndcg, within the margin: "),
        ("not worse", "", "new is not worse than old on ndcg by 0.0100, the margin, or more: "),
        ("different", "", "new and old differ on ndcg: "),
        ("not checked", "weak support", "new is not tested against old on ndcg: "),
    ],
)
def test_each_word_has_its_sentence(verdict, why, said):
    finding = Finding(
        metric="ndcg",
        baseline="old",
        system="new",
        means=Means(0.3, 0.301, 0.001, -0.002, 0.004, confidence=0.9),
        test=TestOutcome("t", 0.4, 0.4, verdict=verdict),
        margin=MarginTests(margin=0.01),
        why=why,
    )
    sentence = pair_sentence(values_of(finding))
    assert sentence.startswith(said)
    assert why in sentence


def test_a_difference_that_cannot_be_detected_is_said_in_words():
    finding = Finding(
        metric="ndcg",
        baseline="old",
        system="new",
        means=Means(0.4),
        effect=EffectSizes(minimum_detectable=0.02),
    )
    assert detectable_sentence(values_of(finding)) == (
        f" A difference of {brief(0.02)} (5.0 %) would be detected in 80 % of samples of this size."
    )
    none = replace(finding, effect=EffectSizes(minimum_detectable=math.inf))
    assert "no difference within the range" in detectable_sentence(values_of(none))
