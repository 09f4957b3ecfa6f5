"""The first screen of a report: the verdict, four facts, and what was not looked at."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from rankwise.comparison.decision import margin_text
from rankwise.comparison.rows import is_missing, level_text, named_p, oriented
from rankwise.comparison.view import CORRECTIONS, costs, listing, system_order, verdict_sentences
from rankwise.core.terminal import brief, change
from rankwise.reporting.report_data import ReportData
from rankwise.results.display import split_words

__all__ = ["Fact", "Gap", "Head", "gaps", "head", "reference", "sure"]


@dataclass(frozen=True)
class Fact:
    """One of the four facts below the verdict: a large number, one bold clause, and the condition."""

    title: str
    big: str
    bold: str
    rest: str = ""
    unit: str = ""
    tone: str = ""


@dataclass(frozen=True)
class Gap:
    """Something that was not looked at, why it matters, and the command that would look at it."""

    title: str
    text: str
    command: str = ""


@dataclass(frozen=True)
class Head:
    """The first screen of a report: ``state`` is ship, hold or stop, and empty without a decision."""

    kick: Sequence[str]
    state: str
    verdict: str
    more: Sequence[str]
    facts: Sequence[Fact]
    unseen: Sequence[str]


def head(material: ReportData, title: str, found: Sequence[Gap]) -> Head:
    """Return the verdict and the facts behind it, and the first three of the gaps."""
    decision = material.decision
    users = {result.counts.get("users", len(result.per_user)) for result in material.results.values()}
    tested = next((split_words(result.split) for result in material.results.values() if result.split), "")
    dates = {str(date)[:10] for r in material.results.values() if (date := r.provenance.get("date"))}
    kick = [title, f"{max(users):,} users", tested, max(dates, default="")]
    unseen = [*[gap.title for gap in found if gap is not _OFFLINE][:2], _OFFLINE.title]
    if material.pairs is None:
        verdict, more = _of_results(material), [material.not_compared] if len(material.results) > 1 else []
        return Head(kick, "", verdict, more, _single_facts(material), unseen)
    said = verdict_sentences(material.pairs, material.settings)
    if decision is not None:
        row = next(row for row in decision.rows if row["role"] == "success")
        rule = decision.record["rule"]
        pair = _pair(material, rule["system"], rule["baseline"])
        facts = [_gain(row, decision.rows), _decision_cost(decision), _for_whom(row["metric"], pair)]
        more = decision.reasons[1:]
        return Head(kick, decision.outcome, decision.verdict, more, [*facts, _how_sure(material, row, pair)], unseen)
    cost = costs(material.pairs, material.settings)
    texts = {text for _, text in cost}
    return Head(
        kick, "", said[0], [text for text in said[1:] if text not in texts], _pair_facts(material, cost), unseen
    )


def reference(material: ReportData) -> str:
    """Return the system that differences are from: the baseline, or the one that leads."""
    baseline = material.settings.get("baseline")
    return str(baseline) if baseline is not None else system_order(_primary(material), material.settings)[0]


def _primary(material: ReportData) -> pl.DataFrame:
    assert material.pairs is not None
    return material.pairs.filter(pl.col("primary"))


def _pair(material: ReportData, system: str, baseline: str) -> dict[str, Any] | None:
    """Return the row of a pair on the primary metric, if it was compared over all users."""
    for row in _primary(material).iter_rows(named=True):
        if row["group"] is None and {row["system"], row["baseline"]} == {system, baseline}:
            return oriented(row, baseline)
    return None


def _of_results(material: ReportData) -> str:
    texts = []
    for name in material.estimates.systems[:3]:
        estimate = material.estimates.of(name, material.primary)
        limits = "" if math.isnan(estimate.low) else f" ({brief(estimate.low)} to {brief(estimate.high)})"
        users = estimate.users or material.results[name].counts.get("users", 0)
        who = "" if len(material.results) == 1 else f"{name}: "
        texts.append(f"{who}{material.primary} is {brief(estimate.value)}{limits} over {users:,} users.")
    return " ".join(texts)


def _single_facts(material: ReportData) -> list[Fact]:
    """Return whom the values of a result are about."""
    result = next(iter(material.results.values()))
    counts = result.counts
    left = counts.get("users_without_relevant_items", 0) + counts.get("truth_users_without_relevant_items", 0)
    left = max(
        left and counts.get("truth_users_without_relevant_items", 0), counts.get("users_without_relevant_items", 0)
    )
    columns = [] if result.slices is None else result.slices["by"].unique(maintain_order=True).to_list()
    groups = 0 if result.slices is None else len(result.slices)
    without = counts.get("users_without_list", 0)
    return [
        Fact(
            "Users counted",
            f"{counts.get('users', len(result.per_user)):,}",
            f"{without:,} get no list." if without else "All have a list.",
        ),
        Fact("Users left out", f"{left:,}", "have no relevant item." if left else "Every user has a relevant item."),
        Fact(
            "Slices",
            f"{groups:,}",
            f"groups by {listing(columns, 'columns')}." if columns else "No groups were evaluated.",
        ),
        Fact("Compared", "–", "Is it better than another system?", "Add the other's result."),
    ]


def _gain(row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> Fact:
    """Return the gain that a decision is about, and which guardrails hold."""
    means = f"{row['metric']} {brief(row['mean_baseline'])} → {brief(row['mean_system'])}."
    limits = ""
    if not any(map(is_missing, (row["change_low"], row["change_high"]))):
        limits = f"{level_text(row['confidence'])} interval "
        limits += f"{change(row['change_low'], unit='')} to {change(row['change_high'])}."
    within = [r["metric"] for r in rows if r["role"] == "guardrail" and r["by"] is None and r["outcome"] == "passed"]
    held = f" {listing(within, 'guardrails')}: within the margin." if within else ""
    tone = {"passed": "better", "failed": "worse"}.get(row["outcome"], "")
    return Fact("Gain", change(row["change"]), means, limits + held, tone=tone)


def _decision_cost(decision: Any) -> Fact:
    """Return the largest loss that decides, and what no rule guards."""
    failed = [row for row in decision.rows if row["outcome"] == "failed" and row["by"] is None]
    unguarded = decision.record.get("unguarded", [])
    words = ""
    if unguarded:
        row = unguarded[0]
        words = f"Not guarded: {row['metric']} {brief(row['mean_baseline'])} → {brief(row['mean_system'])}."
    if failed:
        row = max(failed, key=lambda row: 0.0 if math.isnan(row["change"]) else abs(row["change"]))
        means = f"{row['metric']} {brief(row['mean_baseline'])} → {brief(row['mean_system'])}."
        margin = decision.record["rule"]["guardrails"].get(row["metric"])
        allowed = "" if margin is None else f"Allowed: {margin_text(margin)}. "
        return Fact("Cost", change(row["change"]), means, allowed + words, tone="worse")
    if unguarded:
        return Fact("Cost", change(_float(unguarded[0]["lift"])), words, "No rule looks at it.", tone="worse")
    return Fact("Cost", "none shown", "No other metric is shown to be worse.")


def _float(value: Any) -> float:
    return math.nan if value is None else float(value)


def _for_whom(metric: str, row: Mapping[str, Any] | None) -> Fact:
    """Return how many users gain and lose."""
    if row is None or row["wins"] is None:
        return Fact("For whom", "–", f"{metric} has no value for each user.")
    gain, same, lose = row["wins"], row["ties"], row["losses"]
    total = max(gain + same + lose, 1)
    shares = f"{100 * gain / total:.0f} gain, {100 * lose / total:.0f} lose"
    rest = f"{same:,} see no difference in {metric}."
    return Fact("For whom", shares, f"{gain:,} users gain, {lose:,} lose,", rest, unit="of 100")


def _how_sure(material: ReportData, row: Mapping[str, Any], pair: Mapping[str, Any] | None) -> Fact:
    """Return the p-value that decided, and why that of the comparison is another one."""
    alpha, p = material.decision.record["rule"]["alpha"], row["p"]  # type: ignore[union-attr]
    if is_missing(p):
        return Fact("How sure", "Not tested", f"{row['metric']} could not be tested.")
    tests = len([r for r in material.decision.rows if r["role"] == "success"])  # type: ignore[union-attr]
    planned = "as the one planned test" if tests == 1 else f"corrected over {tests} planned tests (Holm)"
    if tests == 1 and pair is not None and pair["metric"] == row["metric"] and pair["p"] < p:
        planned += ", valid for any distribution of users"
    other = ""
    if pair is not None and pair["metric"] == row["metric"] and not is_missing(pair["p_adjusted"]):
        pairs = len(_primary(material))
        method = CORRECTIONS.get(material.settings["correction"])
        if pairs > 1 and abs(pair["p_adjusted"] - p) > 1e-9:
            shown = "is shown" if pair["p_adjusted"] < alpha else "is not shown"
            value = named_p("p", pair["p_adjusted"], alpha)
            other = f"As one of {pairs} systems compared: {value}{f' ({method})' if method else ''}, which {shown}."
    return Fact("How sure", sure(p, alpha), f"{named_p('p', p, alpha)} {planned}.", other)


def sure(p: float, alpha: float) -> str:
    """Return whether a p-value is clear, barely below the level, or above it, in a word."""
    return "Clear" if p < alpha / 10 else "Barely" if p < alpha else "Not shown"


def _pair_facts(material: ReportData, cost: Sequence[tuple[dict[str, Any], str]]) -> list[Fact]:
    """Return the facts of the best system against the baseline, or against the best of the others."""
    order = system_order(_primary(material), material.settings)
    baseline = material.settings["baseline"]
    system, other = (order[1], order[0]) if baseline is not None else (order[0], order[1])
    row, alpha = _pair(material, system, other), material.settings["alpha"]
    if row is None:  # groups of users: each has a verdict of its own
        return []
    tone = {"better": "better", "worse": "worse"}.get(row["verdict"], "")
    limits = [row["lift_low"], row["lift_high"]]
    size = ""
    if not any(map(is_missing, limits)):
        size = f"{level_text(row['confidence'])} interval {change(limits[0], unit='')} to {change(limits[1])}."
    means = f"{row['metric']} {brief(row['mean_baseline'])} → {brief(row['mean_system'])}"
    gain = Fact("Difference", change(row["lift"]), f"{means}, {system} against {other}.", size, tone=tone)
    losses = [(r, text) for r, text in cost if system in (r["system"], r["baseline"])]
    if losses:
        lost = oriented(losses[0][0], other)
        text = f"{lost['metric']} {brief(lost['mean_baseline'])} → {brief(lost['mean_system'])}."
        price = Fact("Cost", change(lost["lift"]), text, "Exploratory, and not guarded.", tone="worse")
    else:
        price = Fact("Cost", "none shown", f"{system} is not shown to be worse on another metric.")
    p, pairs = row["p_adjusted"], len(_primary(material))
    method = CORRECTIONS.get(material.settings["correction"])
    over = f" over {pairs} pairs ({method})" if pairs > 1 and method else ""
    if is_missing(p):
        certainty = Fact("How sure", "Not tested", f"{row['metric']} could not be tested.")
    else:
        certainty = Fact("How sure", sure(p, alpha), f"{named_p('p', p, alpha)}{over}.", f"Level {alpha:g}, two-sided.")
    return [gain, price, _for_whom(row["metric"], row), certainty]


_OFFLINE = Gap(
    "whether users act differently (this is offline data)",
    "Users saw other lists than these. Logged impressions or an online test would tell.",
    "rankwise off-policy LOG …",
)


def gaps(material: ReportData, missing: Mapping[str, str]) -> list[Gap]:
    """Return what was not looked at, the largest first, each with the command that would fill it."""
    found: list[Gap] = []
    results = material.results
    without = {name: r.counts.get("users_without_list", 0) for name, r in results.items()}
    if most := max(without.values(), default=0):
        names = listing([name for name, count in without.items() if count])
        users = max(r.counts.get("users", 0) for r in results.values())
        text = (
            f"{most:,} of {users:,} users get no list from {names}, and score 0. Add a fallback, or report them apart."
        )
        found.append(Gap(f"{most:,} users without a list", text, "rankwise evaluate … --warm-and-cold"))
    if material.decision is not None and (unguarded := material.decision.record.get("unguarded")):
        names = listing([row["metric"] for row in unguarded], "metrics")
        command = f"rankwise decide … --deterioration {unguarded[0]['metric']}"
        found.append(Gap("losses that no rule guards", f"{names}: worse, and not part of the rule.", command))
    found.append(
        Gap(
            "chance in training",
            "One result per system: another seed gives other lists, and no interval here knows it.",
            "rankwise compare 'NAME=results/NAME-*' …",
        )
    )
    found.append(_OFFLINE)
    if any(result.split for result in results.values()):
        text = "One split. The order of systems can change with the date: several windows would show it."
        found.append(Gap("another date", text, "rankwise split … --by windows"))
    left = max((r.counts.get("truth_users_without_relevant_items", 0) for r in results.values()), default=0)
    if left:
        found.append(Gap("users who do not count", f"{left:,} users have no relevant item, and are in no mean."))
    if not any(r.slices is not None for r in results.values()):
        text = "No groups of users were evaluated: a mean can hide who loses."
        found.append(Gap("groups of users", text, "rankwise evaluate … --users FILE --by COLUMN"))
    reasons: dict[str, list[str]] = {}
    for metric, reason in material.settings.get("not_compared", {}).items():
        reasons.setdefault(reason, []).append(metric)
    found += [Gap(f"{listing(names, 'metrics')} not compared", f"{reason}.") for reason, names in reasons.items()]
    return found + [Gap(what, f"{why}.") for what, why in missing.items()]
