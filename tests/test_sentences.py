"""Sentences hold what their rows and records say: random results, comparisons, decisions and logs, read by rules.

Every claim that is printed (a level, a count, a verdict, a correction, what a missing list counts) is taken from the
text and held against the rows it is made of, which the text does not know of here.
"""

from __future__ import annotations

import math
import re
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from rankwise.comparison.methods_text import unserved_words
from rankwise.core.terminal import level_text, plain
from rankwise.errors import MetricError, ParameterError
from rankwise.findings.words import group_words
from strategies import fewer

pytestmark = pytest.mark.usefixtures("one_thread")

LISTED = ["ndcg@3", "recall@3", "novelty@3", "calibration_error@3", "catalog_coverage@3"]
LEVEL = re.compile(r"(\d[\d.]*)[ \u00a0]\\?%(?: confidence| prediction-powered)? intervals?")
LEVEL_IN_CELL = re.compile(r"; (\d[\d.]*)[ \u00a0]%\)")
SAID = {
    "better": "was better than",
    "worse": "was worse than",
    "different": "differed from",
    "equivalent": "was equivalent within the margin to",
    "not shown": "was not shown to differ from",
    "not checked": "was not tested against",
}


def evaluated(rng, n, share, without, metrics, users, by):
    """Return the result of random lists, of which ``without`` users have none."""
    truth = {user: {1, 2 + user % 3} for user in range(n)}
    shown = [user for user in range(n) if user >= without]
    lists = {
        u: [1 if rng.random() < share else 9, 7, 2 + u % 3 if rng.random() < share else 8]
        for u in shown
    }
    train = {user: [1 + user % 9, 5] for user in range(n)}
    items = {
        "item": range(1, 10),
        "categories": [["a", "b", "c"][item % 3] for item in range(1, 10)],
    }
    return rw.evaluate(
        lists, truth, metrics, train=train, items=items, users=users, by=by, jackknife=8
    )


def from_elsewhere(rng, n, mean, groups):
    """Return the result of a table of other people's values, and of which some are missing."""
    table = pl.DataFrame(
        {"user": range(n), "mrr@5": np.clip(rng.normal(mean, 0.2, n), 0, 1), "rmse": rng.random(n)}
    )
    return rw.from_per_user(table.with_columns(pl.Series("group(team)", groups)))


class Case:
    """A random comparison, and how it was asked for."""

    def __init__(self, results, comparison, by):
        self.results, self.comparison, self.by = results, comparison, by

    def __repr__(self):
        return f"Case(\n{self.comparison.design}\n{self.comparison})"


@st.composite
def comparisons(draw, by=None):
    """Return a comparison of two or three systems: served or not, by groups or not, at any level."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n, names = (
        draw(st.sampled_from([9, 40, 80])),
        ["old", "new", "other"][: draw(st.integers(2, 3))],
    )
    by = draw(st.booleans()) if by is None else by
    groups = [None if user % 8 == 7 else "ab"[user % 3 % 2] for user in range(n)]
    shares = [draw(st.sampled_from([0.1, 0.5, 0.9])) for _ in names]
    if draw(st.integers(0, 3)) == 0:
        results = {
            name: from_elsewhere(rng, n, share, groups)
            for name, share in zip(names, shares, strict=True)
        }
    else:
        metrics = draw(
            st.sampled_from([LISTED, LISTED[::-1], ["recall@3"], ["novelty@3", "ndcg@3"]])
        )
        users = {"user": range(n), "team": groups}
        without = [draw(st.sampled_from([0, 0, 2])) for _ in names]
        results = {
            name: evaluated(rng, n, share, few, metrics, users, "team")
            for name, share, few in zip(names, shares, without, strict=True)
        }
    made = rw.compare(
        results,
        baseline=draw(st.sampled_from([None, "old"])),
        alpha=draw(st.sampled_from([0.001, 0.05, 0.1, 0.2])),
        correction=draw(st.sampled_from(["holm", "bonferroni", "none"])),
        earlier=draw(st.sampled_from([0, 0, 4])),
        missing="common",
        by="team" if by else None,
        margin=draw(st.sampled_from([None, 0.3])),
    )
    return Case(results, made, "team" if by else None)


def texts_of(made):
    """Return every text of a comparison."""
    shown = [plain(*made.views_at(detail)) for detail in ("verdict", "table", "full")]
    shown += [made.export(form) for form in ("markdown", "latex", "methods")]
    return [*shown, made.export("latex", layout="pairs"), made.export("markdown", layout="pairs")]


def joined(text):
    """Return text without the breaks of its lines."""
    return " ".join(text.split())


def users_of(rows, by):
    """Return the users of rows as a caption counts them."""
    counts = sorted({row["users"] for row in rows})
    if len(counts) > 1:
        words = f"{counts[0]:,} to {counts[-1]:,} users"
    else:
        words = f"{counts[0]:,} user{'s' * (counts[0] != 1)}"
    return words + (" in each group" if by else "")


def levels_of(rows, alpha):
    """Return the levels that texts may name: of the intervals of rows, and of a test at alpha."""
    levels = {1 - alpha} | {row["confidence"] for row in rows if row["confidence"] is not None}
    return {level_text(level).removesuffix(" %") for level in levels}


@fewer(8)
@given(comparisons())
def test_levels_counts_and_corrections_are_those_of_the_comparison(case):
    made, design = case.comparison, case.comparison.design
    levels = levels_of(made.table.to_dicts(), design.alpha)
    family = int(made.table["primary"].sum()) + design.earlier
    for text in map(joined, texts_of(made)):
        assert {*LEVEL.findall(text)} <= levels, text
        assert not re.search(r"\b1 pairs", text)
        assert "1 users" not in re.sub(r"\d[\d,]+", "", text)
    captions = [joined(made.export(form)) for form in ("markdown", "latex")]
    for caption in captions:
        assert f"Means over {users_of(made.table.to_dicts(), case.by)}" in caption
    methods, pairs = made.export("methods"), f"{family} pair{'s' * (family != 1)}"
    if design.correction == "none":
        assert "not corrected" in methods
        assert all("(not corrected)" in caption for caption in captions)
    else:
        assert f"corrected over {pairs} by" in methods
        assert all(f"over {pairs}" in caption for caption in captions)
        if design.earlier:
            assert all("compared earlier" in text for text in (methods, *captions))
    assert f"α = {design.alpha:g}" in methods
    assert all(f"level {design.alpha:g}" in caption for caption in captions)


@fewer(8)
@given(comparisons())
def test_verdicts_in_words_are_those_of_the_rows(case):
    made, by = case.comparison, case.by
    methods = made.export("methods")
    rows = made.table.filter("primary").to_dicts()
    for row in rows[:6]:
        whom = "" if by is None else f" for {group_words(by, row['group'])}"
        assert f"{row['system']} {SAID[row['verdict']]} {row['baseline']}{whom} (" in methods
    head, *more = plain(*made.views_at("verdict")).split("\n\n")
    said = joined(" ".join([head, *more]))
    verdicts = {row["verdict"] for row in rows}
    if " beats " in said or " beat " in said.replace("shown to beat", ""):
        assert verdicts & {"better", "worse"}
    if "No difference is shown" in said:
        assert verdicts <= {"not shown", "not checked", "equivalent"}
    for table in (made.export("latex", layout="pairs"), made.export("markdown", layout="pairs")):
        for verdict in SAID:
            lines = sum(
                line.removesuffix(r" \\").rstrip(" |").endswith(verdict)
                for line in table.splitlines()
            )
            assert lines == made.table.filter(verdict=verdict).height


@fewer(8)
@given(comparisons())
def test_methods_claim_what_the_results_recorded(case):
    methods, results = case.comparison.export("methods"), case.results
    recorded = all("truth" in result.provenance["inputs"] for result in results.values())
    assert ("Every row of the ground truth is relevant" in methods) == recorded
    assert ("[not recorded: relevance]" in methods) == (not recorded)
    assert "lists were not cut" not in methods
    assert ("[not recorded: its parameters]" in methods) == (not recorded)
    without = max(result.counts.get("users_without_list", 0) for result in results.values())
    assert ("a user without a list (" in methods) == bool(without)
    if not without:
        return
    cells = case.comparison.table["metric"].unique(maintain_order=True).to_list()
    said = unserved_words(results, cells)
    assert (
        said in methods
        or sorted(said) == sorted(methods.split(") ")[1].partition(".")[0])
        or "metrics" in said
    )
    for cell in cells:
        columns = [r.per_user for r in results.values() if cell in r.per_user.columns]
        values = [
            value for frame in columns for value in frame.filter(pl.col("list_length") == 0)[cell]
        ]
        if values and said != "scores 0":
            verb = "has no value in" if all(map(math.isnan, values)) else "scores 0 in"
            clause = next(
                part for part in re.split(r" and (?=has|scores)", said) if part.startswith(verb)
            )
            assert cell in clause
        elif values:
            assert not any(values)


@fewer(8)
@given(comparisons(by=False))
def test_the_first_screen_says_what_its_rows_say(case):
    made, design = case.comparison, case.comparison.design
    head = rw.report(made).head
    facts = {fact.title: fact for fact in head.facts}
    size, cost = facts["Difference"], facts["Cost"]
    text = " ".join((size.bold, size.rest, cost.bold, cost.rest))
    assert {*LEVEL.findall(text)} <= levels_of(made.table.to_dicts(), design.alpha)
    system, other = re.search(r", (\w+) against (\w+)\.", size.bold).groups()
    rows = made.table.filter(
        pl.concat_list("system", "baseline").list.sort() == sorted((system, other))
    ).to_dicts()
    worse = [
        row["metric"]
        for row in rows
        if row["verdict"] == ("worse" if row["system"] == system else "better")
    ]
    others = [row["metric"] for row in rows if not row["primary"]]
    assert (size.tone == "worse") == (design.primary in worse)
    lost = [name for name in worse if name in others]
    assert (cost.tone == "worse") == bool(lost)
    if lost:
        assert cost.bold.split()[0] in lost
        assert cost.big not in ("none shown", "unknown")
    elif not others:
        assert (cost.big, cost.bold) == ("unknown", "No other metric was compared.")
    else:
        count = f"any of {len(others)} other metrics" if len(others) > 1 else others[0]
        assert (cost.big, cost.bold) == (
            "none shown",
            f"{system} is not shown to be worse on {count}.",
        )


@fewer(8)
@given(comparisons(by=False))
def test_a_page_names_the_levels_of_rows_and_counts_missing_lists(case):
    made, design = case.comparison, case.comparison.design
    page = rw.report(made)
    levels = levels_of(made.table.to_dicts(), design.alpha)
    words = [
        block.text for part in page.sections for block in part.blocks if hasattr(block, "text")
    ]
    words += [figure.caption for figure in page.figures]
    assert {found for text in words for found in LEVEL.findall(text)} <= levels
    without = max(result.counts.get("users_without_list", 0) for result in case.results.values())
    gaps = [gap for gap in page.gaps if gap.title.endswith("without a list")]
    assert bool(gaps) == bool(without)
    if gaps:
        assert gaps[0].title.startswith(f"{without:,} user")
        values = next(
            r.per_user for r in case.results.values() if r.counts.get("users_without_list")
        )
        unserved = values.filter(pl.col("list_length") == 0)[design.primary]
        assert "has no value" in gaps[0].text or "scores 0" in gaps[0].text
        assert "scores 0" in gaps[0].text or unserved.is_nan().all()


@st.composite
def decisions(draw):
    """Return a decision about results with groups of users, of which some may be too small, and its rule."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n, slices = draw(st.sampled_from([60, 900])), draw(st.sampled_from([(), "team"]))
    groups = [
        ["a", "b", "c", "d"][draw(st.integers(0, 1)) * (user % 9 == 0) + user % 3]
        for user in range(n)
    ]
    gains = [draw(st.sampled_from([-0.2, 0.0, 0.2])) for _ in range(3)]
    names = ["mrr@5", "recall@5", "ndcg@5"]
    base = rng.random((3, n)) * 0.5 + 0.25
    frames = [
        pl.DataFrame(
            {"user": range(n), "group(team)": groups} | dict(zip(names, values, strict=True))
        )
        for values in (base, base + np.array(gains)[:, None] + rng.normal(0, 0.02, (3, n)))
    ]
    results = dict(zip(("old", "new"), map(rw.from_per_user, frames), strict=True))
    return rw.decide(
        results,
        success=draw(st.sampled_from([["mrr@5"], ["mrr@5", "ndcg@5"]])),
        guardrails=draw(
            st.sampled_from([{}, {"recall@5": "5%"}, {"recall@5": 0.05, "ndcg@5": "10%"}])
        ),
        deterioration=draw(st.sampled_from([[], ["ndcg@5"]])),
        slices=slices,
        min_slice_size=draw(st.sampled_from([2, 290, 5000])),
        alpha=draw(st.sampled_from([0.001, 0.05, 0.2])),
    )


@fewer(8)
@given(decisions())
def test_a_decision_says_what_it_checked(made):
    rule, verdict, reasons = made.record["rule"], made.verdict, " ".join(made.reasons)
    failed = made.checks.filter(outcome="failed")
    inside = made.checks.filter(pl.col("by").is_not_null(), role="guardrail")
    assert ("in every slice" in verdict) <= (not made.small_slices and inside.height > 0)
    if made.outcome == "ship":
        assert verdict.startswith(f"Replace {rule['baseline']} with {rule['system']}: better on ")
        assert ("nothing else is guarded" in verdict) == (not rule["guardrails"])
        for metric in rule["guardrails"]:
            assert metric in verdict
            checked = inside.filter(metric=metric).height
            if rule["slices"] and not checked:
                assert "over all users alone" in verdict
            elif rule["slices"] and made.small_slices:
                assert f"in {checked} of {checked + len(made.small_slices)} slices" in verdict
    if made.outcome == "stop":
        assert verdict.startswith(f"Keep {rule['baseline']}: ")
        lost = failed.filter(pl.col("by").is_null())["metric"].to_list()
        assert all(metric in reasons for metric in lost)
        successes = [metric for metric in lost if metric in rule["success"]]
        assert not successes or any(metric in verdict for metric in successes)
        in_slices = failed.filter(pl.col("by").is_not_null()).height
        named = reasons.count(" for team ")
        more = re.search(r"and (\d+) more slices?", reasons)
        assert named + (int(more[1]) if more else 0) == in_slices
    if made.outcome == "hold":
        assert verdict.startswith(f"Do not replace {rule['baseline']} with {rule['system']} yet")
    text = joined(plain(*made.views_at("full")))
    named = {*LEVEL.findall(text), *LEVEL_IN_CELL.findall(text)}
    assert named
    assert named <= levels_of(made.checks.to_dicts(), rule["alpha"])


@fewer(8)
@given(decisions())
def test_rows_of_a_decision_stand_under_their_own_rule(made):
    rule, rows = made.record["rule"], made.rows
    titles = [row["title"] for row in rows]
    assert len(dict.fromkeys(titles)) == 1 + sum(a != b for a, b in pairwise(titles))
    for before, row in zip([None, *rows], rows, strict=False):
        guarded = row["metric"] in rule["guardrails"]
        assert row["title"].startswith("may lose less than") <= guarded
        if row["below"]:
            assert (before["title"], before["metric"]) == (row["title"], row["metric"])
        else:
            assert row["name"].startswith(row["metric"])
        better = not math.isnan(row["p"]) and row["outcome"] == "no loss shown"
        assert better == (row["said"] == "· no loss shown")


@pytest.mark.parametrize("alpha", [0.001, 0.05, 0.2])
def test_logs_name_their_level(alpha):
    log = rw.datasets.logged(users=60, seed=4)
    result = rw.off_policy(log.exposures, targets={"new": "p_new"}, alpha=alpha)
    text = joined(repr(result))
    assert f"Intervals: {level_text(1 - alpha)}, " in text
    page = rw.report(result)
    said = " ".join([fact.rest for fact in page.head.facts])
    assert {*LEVEL.findall(said)} <= {level_text(1 - alpha).removesuffix(" %")}
    row = result.primary.row(0, named=True)
    assert ("is better than" in result.verdict) == (row["verdict"] == "better")


def test_a_level_is_that_of_the_error_rate():
    assert [level_text(1 - alpha) for alpha in (0.05, 0.01, 0.001, 0.2)] == [
        "95 %",
        "99 %",
        "99.9 %",
        "80 %",
    ]
    assert all(level_text(1 - 10.0**-power) != "100 %" for power in range(1, 12))


def pair(**options):
    truth = {user: {1, 2} for user in range(50)}
    old = rw.evaluate({user: [1, 3] for user in truth}, truth, ["recall@2", "mrr@2"])
    new = rw.evaluate({user: [1, 2 + user % 2] for user in truth}, truth, ["recall@2", "mrr@2"])
    return rw.compare({"old": old, "new": new}, baseline="old", primary="recall@2", **options)


@pytest.mark.parametrize(
    ("form", "options", "named"),
    [
        ("json", {"metrics": ["recall@2"]}, "metrics"),
        ("csv", {"digits": 5}, "digits"),
        ("methods", {"caption": False}, "caption"),
        ("markdown", {"columns": "column"}, "columns"),
        ("markdown", {"label": "mine"}, "label"),
        ("latex", {"layout": "pairs", "digits": 4}, "digits"),
        ("markdown", {"layout": "pairs", "percent": True}, "percent"),
    ],
)
def test_an_option_that_a_format_does_not_know_is_refused_by_name(form, options, named):
    with pytest.raises(ParameterError, match=f"^{named} is no option of"):
        pair().export(form, **options)


def test_of_several_options_that_a_format_does_not_know_the_first_is_shown_with_its_value():
    with pytest.raises(ParameterError, match="is no option of the format 'csv'") as caught:
        pair().export("csv", digits=5, metrics=["recall@2"])
    assert caught.value.found == "metrics=['recall@2']"


def test_markdown_honours_the_options_of_tables():
    made = pair()
    table = made.export("markdown", metrics=["mrr@2"], percent=True, digits=4, caption=False)
    assert (
        " ".join(table.split()) == "| | mrr@2 | | --- | ---: | | old | **100** | | new | **100** |"
    )
    with pytest.raises(MetricError, match="was not compared"):
        made.export("markdown", metrics=["ndcg@2"])


@pytest.mark.parametrize("option", ["primary", "baseline", "truth", "audit", "recommendations"])
def test_a_report_of_a_log_refuses_what_it_does_not_read(option):
    log = rw.datasets.logged(users=30, seed=2)
    result = rw.off_policy(log.exposures, targets={"new": "p_new"})
    with pytest.raises(ParameterError, match="no such option") as caught:
        rw.report(result, **{option: {"new": "x"} if option == "recommendations" else "x"})
    assert caught.value.found == f"{option}="
