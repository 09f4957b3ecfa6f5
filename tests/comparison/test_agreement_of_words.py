"""Words, intervals, p-values, ranks, headlines and changes of random comparisons never contradict each other."""

from __future__ import annotations

import math
import re

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from rankwise.comparison.rows import COLUMNS
from rankwise.comparison.sentences import verdict_sentences
from rankwise.findings.columns import values_of
from rankwise.findings.finding import Finding, Means, oriented
from rankwise.findings.margins import margin_of
from rankwise.stats.many_systems import adjust, level_left
from strategies import fewer
from tools import deep

pytestmark = pytest.mark.usefixtures("one_thread")

CELLS = ("ndcg@5", "fallout@10", "novelty@10", "rmse")
"""Two metrics with a bound and two without; of each kind one whose lower values are better."""
FAMILIES = ("holm", "bonferroni", "hochberg", "bh", "by", "none", "max_t", "tukey")
TESTS = ("auto", "auto", "auto", "bounded", "t", "sign_flip", "bootstrap", "wilcoxon", "sign")


def values(rng, n, cell):
    """The values of one system: rare hits, any share, or hardly varying, around a common part."""
    kind = rng.integers(3)
    gain = rng.choice([0.0, 0.0, 0.02, 0.05, 0.15])
    base = np.random.default_rng(n).random(n)
    if kind == 0:
        x = (base < 0.3 + gain).astype(float) * (rng.random(n) < 0.9)
    elif kind == 1:
        x = 0.7 * base + 0.2 * rng.random(n) + gain / 2
    else:
        x = np.round(0.8 * base, 1) + gain
    x = np.clip(x, 0, 1)
    return x if cell in ("ndcg@5", "fallout@10") else 3 * x


def world(seed):
    """Results and options of a random comparison."""
    rng = np.random.default_rng([7, seed])
    n, k = int(rng.choice([3, 12, 60, 250, 1200])), int(rng.integers(2, 5))
    users = rng.permutation(n)
    group = [str(user % 2) for user in range(n)]
    frames = {
        f"s{at}": pl.DataFrame(
            {"user": range(n), "group(team)": group}
            | {cell: values(rng, n, cell) for cell in CELLS}
        )
        for at in range(k)
    }
    results = {name: rw.from_per_user(frame[users]) for name, frame in frames.items()}
    by = "team" if rng.random() < 0.2 else None
    families = FAMILIES if by is None else FAMILIES[:-2]
    primary = str(rng.choice(CELLS))
    options = {
        "primary": primary,
        "metrics": list(dict.fromkeys([primary, "ndcg@5", "rmse"])),
        "by": by,
        "alpha": float(rng.choice([0.05, 0.2, 0.01])),
        "correction": str(rng.choice(families)),
        "test": str(rng.choice(TESTS)),
        "margin": rng.choice(np.array([None, 0.08, 0.3, "10%", "40%"], dtype=object)),
        "earlier": int(rng.choice([0, 0, 0, 4])),
        "baseline": "s0" if rng.random() < 0.5 else None,
        "n_resamples": 199,
    }
    return results, options


def excludes_zero(low, high):
    return low > 0 or high < 0


def contradictions(row, design):
    """What contradicts the word of a row."""
    alpha, word = design.alpha, row["verdict"]
    shown = row["p_adjusted"] < alpha
    up = design.directions[row["metric"]]
    has_bound = design.test != "auto" or not math.isnan(row["loss_possible"])
    if has_bound and shown != (word in ("better", "worse", "different")):
        yield "p"
    if not has_bound and word in ("better", "worse", "different"):
        yield "a word for any users of a metric without a bound"
    side = word.removesuffix(" if")
    if side in ("better", "worse") and (row["difference"] > 0) != (up == (side == "better")):
        yield "sign"
    yield from outside_the_condition(row, word, design)
    if word == "equivalent":
        yield from outside_the_margin(row, design)
    for name in ("low", "low_together", "lift_low"):
        low, high = row[name], row[name.replace("low", "high")]
        of_margin = word == "equivalent" and name != "low_together"
        if not math.isnan(low + high) and not of_margin and excludes_zero(low, high) != shown:
            yield name
    if (
        not math.isnan(row["low"])
        and not row["low"] - 1e-9 <= row["difference"] <= row["high"] + 1e-9
    ):
        yield "difference outside"
    if (
        not math.isnan(row["lift_low"])
        and not row["lift_low"] - 1e-9 <= row["lift"] <= row["lift_high"] + 1e-9
    ):
        yield "change outside"
    if row["difference"] * (1 if up else -1) > 0 and row["wins"] == 0:
        yield "wins"


def outside_the_condition(row, word, design):
    """What contradicts the condition of a word, or that it has none."""
    if word.endswith(" if") != (not math.isnan(row["condition"])):
        yield "condition"
    if word == "equivalent if":
        least = max(row["loss_seen"], row["gain_seen"], 0.2 * row["loss_possible"])
        if not row["condition"] >= least:
            yield "least condition of equivalence"
        return
    if word.endswith(" if"):
        least = max(row["loss_seen"], 0.2 * row["loss_possible"])
        if math.isnan(least):  # without a bound
            least = max(row["loss_seen"], row["gain_seen"])
        if not row["condition"] == row["largest_loss"] >= least:
            yield "least condition"
        if not row["p_design_adjusted"] < design.alpha:
            yield "p of the design"
        return
    least = 0.98 * max(row["loss_possible"], row["loss_seen"])
    is_any = word in ("better", "worse") and design.test == "auto"
    if is_any and not row["largest_loss"] >= least:
        yield "largest loss"


def outside_the_margin(row, design):
    if not row["p_equivalence_adjusted"] < design.alpha:
        yield "p of equivalence"
    margin = margin_of(design.margin, row["metric"])
    if isinstance(margin, str):
        share = float(margin.removesuffix("%")) / 100
        limits, size = (row["lift_low"], row["lift_high"]), share
    else:
        limits, size = (row["low"], row["high"]), margin
    if not all(-size <= limit <= size for limit in limits if not math.isnan(limit)):
        yield "beyond the margin"


def contradicting_ranks(found):
    """What ranks and the headline say against the words."""
    ranks = {rank.system: rank for rank in found.design.ranks}
    words = [row for row in found.table.to_dicts() if row["primary"]]
    losers, losers_if = (
        {
            row["baseline"] if row["verdict"].startswith("better") else row["system"]
            for row in words
            if row["verdict"] in kinds
        }
        for kinds in (("better", "worse"), ("better", "worse", "better if", "worse if"))
    )
    if any(ranks[name].may_be_best for name in losers & ranks.keys()):
        yield "a loser may be best"
    if any(ranks[name].may_be_best_if for name in losers_if & ranks.keys()):
        yield "a loser may be best under the condition"
    conditions = [row["condition"] for row in words if row["verdict"] in ("better if", "worse if")]
    if ranks and {rank.condition for rank in ranks.values()} != {min(conditions, default=None)}:
        yield "condition of ranks"
    if any(not rank.rank_low <= rank.rank_low_if for rank in ranks.values()):
        yield "wider under a condition"
    open_ = [row for row in words if row["verdict"] in ("not shown", "not checked", "equivalent")]
    if ranks and len(open_) == len(words) and any(rank.rank_low > 1 for rank in ranks.values()):
        yield "ranks apart without a word"
    head = verdict_sentences(found.table, found.design)[0]
    best = re.match(r"The best system is (.*) on ", head)
    if best and losers_if & set(re.split(r", | or ", best[1])):
        yield "headline"
    if (
        found.design.by is None
        and len(words) == 1
        and "beats" in head
        and words[0]["verdict"] != ("better if" if " if no user" in head else "better")
    ):
        yield "headline of a pair"


def check_world(seed):
    results, options = world(seed)
    try:
        found = rw.compare(results, **options)
    except rw.errors.UsageError as error:
        assert "range" in str(error) or "allows every loss" in str(error), error
        return 0
    wrong = [
        (name, row) for row in found.table.to_dicts() for name in contradictions(row, found.design)
    ]
    assert not wrong, (seed, options, wrong[0])
    about_ranks = list(contradicting_ranks(found))
    assert not about_ranks, (seed, options, about_ranks, found.ranks)
    check_decision(seed, found)
    return len(found.table)


def check_decision(seed, found):
    """Decide between two systems of a comparison: outcomes, intervals and p-values agree."""
    design, names = found.design, list(found.results)
    if design.by is not None:
        return
    rails = {"rmse": "10%"} if design.primary != "rmse" else {"ndcg@5": 0.05}
    options = {"success": design.primary, "guardrails": rails, "deterioration": "ndcg@5"}
    made = rw.decide(found, baseline=names[0], system=names[1], **options)
    rule = made.record["rule"]
    assert (rule["alpha"], rule["test"], rule["earlier"]) == (
        design.alpha,
        design.test,
        design.earlier,
    )
    for check in (*made.checks.to_dicts(), *made.rows):
        limits = (check["low"], check["high"])
        context = (seed, check)
        if check["outcome"] == "passed" and check["role"] == "success":
            assert math.isnan(sum(limits)) or excludes_zero(*limits), context
        if check["outcome"] == "failed":
            assert math.isnan(sum(limits)) or excludes_zero(*limits), context
        if check["role"] == "deterioration" and check["outcome"] == "passed":
            assert check["shown"] == "worse", context
            assert math.isnan(sum(limits)) or excludes_zero(*limits), context
        if check["outcome"] == "no loss shown" and not math.isnan(sum(limits)):
            up = design.directions[check["metric"]]
            assert not (check["high"] < 0 if up else check["low"] > 0), context
        if (
            check["role"] == "guardrail"
            and check["outcome"] in ("passed", "not shown")
            and check["users"] > 1
        ):
            inside = within_its_margin(check, rails, design)
            assert inside is None or inside == (check["outcome"] == "passed"), context
        ends = (check["change_low"], check["change_high"])
        if check["role"] != "guardrail" and not math.isnan(sum(ends) + sum(limits)):
            assert excludes_zero(*ends) == excludes_zero(*limits), context


def within_its_margin(check, rails, design):
    """Whether the printed limit of a guardrail is within its margin; None where there is none."""
    margin, up = rails[check["metric"]], design.directions[check["metric"]]
    low, high = check["low"], check["high"]
    if isinstance(margin, str):
        margin, low, high = (
            float(margin.removesuffix("%")) / 100,
            check["change_low"],
            check["change_high"],
        )
    loss = -low if up else high
    return None if math.isnan(loss) else loss < margin


@fewer(6)
@given(seed=st.integers(0, 10**6))
def test_no_word_contradicts_its_row(seed):
    check_world(seed)


@pytest.mark.slow
@pytest.mark.parametrize("worlds", [15, *deep(1000)])
def test_no_word_of_many_comparisons_contradicts_its_row(worlds):
    assert sum(map(check_world, range(worlds))) > 5 * worlds


@given(
    p=st.lists(st.floats(1e-6, 1), min_size=1, max_size=9),
    method=st.sampled_from(["none", "bonferroni", "holm", "hochberg", "bh", "by"]),
    alpha=st.sampled_from([0.01, 0.05, 0.2]),
)
def test_the_level_that_is_left_agrees_with_the_adjusted_p(p, method, alpha):
    level = level_left(p, method, alpha)
    near = [abs(value - level) < 1e-12 for value in p]
    assert all(
        (one < level) == (other < alpha) or close
        for one, other, close in zip(p, adjust(p, method), near, strict=True)
    )


def test_every_column_turns_with_its_pair():
    """Seen from the other side no column keeps what it said of the first one, and twice turned is the same row."""
    rng = np.random.default_rng(5)
    frames = [
        pl.DataFrame({"user": range(400), "rmse": np.clip(rng.normal(m, 0.2, 400), 0, 1)})
        for m in (0.5, 0.44)
    ]
    results = dict(zip("ab", map(rw.from_per_user, frames), strict=True))
    row = rw.compare(results, margin=0.2).table.row(0, named=True)
    turned, other = (
        oriented(row, "b"),
        rw.compare({"b": results["b"], "a": results["a"]}, margin=0.2).table,
    )
    expected = other.row(0, named=True)
    unknown = {"p_non_inferior", "users_needed"}
    for name in COLUMNS.keys() - unknown:
        is_number = isinstance(expected[name], float)
        value = (
            pytest.approx(expected[name], nan_ok=True, rel=1e-6, abs=1e-12)
            if is_number
            else expected[name]
        )
        assert turned[name] == value, name
    assert math.isnan(turned["p_non_inferior"])
    again = oriented(turned, "a")
    same = [name for name in COLUMNS if name not in unknown and isinstance(row[name], float)]
    assert [again[name] for name in same] == pytest.approx(
        [row[name] for name in same], nan_ok=True, rel=1e-9
    )


def test_a_row_without_values_turns_too():
    row = values_of(Finding(metric="mrr", baseline="a", system="b", means=Means(math.nan, 0.5)))
    turned = oriented(row, "b")
    assert (turned["baseline"], turned["mean_baseline"], turned["wins"]) == ("b", 0.5, None)
    assert math.isnan(turned["difference"])


@pytest.mark.parametrize("cell", ["rmse", "ndcg@5"])
def test_users_win_where_the_system_is_better(cell):
    """Seven users of ten get the lower value: they win if lower is better."""
    frames = [
        pl.DataFrame({"user": range(10), cell: [0.5] * 10}),
        pl.DataFrame({"user": range(10), cell: [0.4] * 7 + [0.6] * 3}),
    ]
    row = rw.compare(*map(rw.from_per_user, frames))["B"]
    wins, losses = (7, 3) if cell == "rmse" else (3, 7)
    assert (row["wins"], row["ties"], row["losses"]) == (wins, 0, losses)
