"""The first screen of a report: the verdict, four facts, and the gaps."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from rankwise.comparison.methods_text import unserved_counts, unserved_words
from rankwise.comparison.paper import left_out_users
from rankwise.comparison.sentences import costs, verdict_sentences
from rankwise.comparison.system_order import system_order
from rankwise.core.populations import POPULATIONS
from rankwise.core.terminal import brief, change, count_of, level_text, signed
from rankwise.findings.finding import oriented
from rankwise.findings.margins import margin_text
from rankwise.findings.words import (
    CONDITIONAL,
    CORRECTIONS,
    deciding_p,
    group_words,
    interval_text,
    is_missing,
    listing,
    loss_text,
    margin_mark,
    named_p,
    places,
    verdict_tone,
)
from rankwise.reporting.hints import COMMANDS
from rankwise.reporting.report_data import Missing, ReportData
from rankwise.results.display import sample_text, split_words
from rankwise.results.result import Result
from rankwise.results.sampling_unit import SamplingUnit


@dataclass(frozen=True)
class Fact:
    """A fact below the verdict: a large number, a bold clause, and the condition.

    ``ticks`` are marks on a bar, each with its place from 0 to 1 and its name, the smallest first.
    """

    title: str
    big: str
    bold: str
    rest: str = ""
    unit: str = ""
    tone: str = ""
    ticks: Sequence[tuple[float, str]] = ()


@dataclass(frozen=True)
class Gap:
    """A gap in the evidence, its importance, and the command that would fill the gap."""

    title: str
    text: str
    command: str = ""


@dataclass(frozen=True)
class Head:
    """The first screen of a report; ``state`` is ship, hold or stop; empty without a decision."""

    kick: Sequence[str]
    state: str
    verdict: str
    more: Sequence[str]
    facts: Sequence[Fact]
    unseen: Sequence[str]


def head(material: ReportData, title: str, found: Sequence[Gap]) -> Head:
    """Return the first screen: the verdict, the facts behind the verdict, and three gaps."""
    decision = material.decision
    counts = [result.counts | {"users": _users_of(result)} for result in material.results.values()]
    sample = sample_text(max(counts, key=lambda count: count["users"]))
    tested = next(
        (split_words(result.split) for result in material.results.values() if result.split), ""
    )
    dates = {
        str(date)[:10] for r in material.results.values() if (date := r.provenance.get("date"))
    }
    kick = [title, sample, tested, max(dates, default="")]
    unseen = [*[gap.title for gap in found if gap is not _OFFLINE][:2], _OFFLINE.title]
    if material.pairs is None:
        verdict, more = (
            _of_results(material),
            [material.not_compared] if len(material.results) > 1 else [],
        )
        return Head(kick, "", verdict, more, _single_facts(material), unseen)
    said = verdict_sentences(material.pairs, material.design)
    if decision is not None:
        row = next(row for row in decision.rows if row["role"] == "success")
        rule = decision.record["rule"]
        pair = _pair(material, rule["system"], rule["baseline"])
        gain = _gain(row, decision.rows)
        facts = [
            gain,
            _decision_cost(material, row["metric"]),
            _for_whom(material, row["metric"], pair),
        ]
        more = decision.reasons[1:]
        return Head(
            kick,
            decision.outcome,
            decision.verdict,
            more,
            [*facts, _how_sure(material, row, pair)],
            unseen,
        )
    texts = {text for _, text in costs(material.pairs, material.design)}
    more = [text for text in said[1:] if text not in texts]
    return Head(kick, "", said[0], more, _pair_facts(material), unseen)


def _users_of(result: Result) -> int:
    """Return the number of users of a result."""
    return result.counts.get("users", len(result.per_user))


SYSTEMS = 6
"""Systems in charts of differences: the others are in the table."""


def reference(material: ReportData) -> str:
    """Return the system that differences are from: the baseline, or the one that leads."""
    baseline = material.design.baseline
    return (
        str(baseline)
        if baseline is not None
        else system_order(_primary(material), material.design)[0]
    )


def pairs_with_reference(material: ReportData) -> list[dict[str, Any]]:
    """Return at most six pairs of the primary metric with the reference, the best system first.

    There is none if only groups of users were compared.
    """
    if material.pairs is None or material.design.by is not None:
        return []
    pairs = _primary(material).filter(pl.col("group").is_null()).to_dicts()
    other = reference(material)
    rows = [oriented(row, other) for row in pairs if other in (row["system"], row["baseline"])]
    place = {name: at for at, name in enumerate(material.ranked)}
    return sorted(rows, key=lambda row: place[row["system"]])[:SYSTEMS]


def _primary(material: ReportData) -> pl.DataFrame:
    assert material.pairs is not None
    return material.pairs.filter(pl.col("primary"))


def _pair(material: ReportData, system: str, baseline: str) -> dict[str, Any] | None:
    """Return a pair's row on the primary metric over all users; None if not compared."""
    for row in _primary(material).iter_rows(named=True):
        if row["group"] is None and {row["system"], row["baseline"]} == {system, baseline}:
            return oriented(row, baseline)
    return None


def _of_results(material: ReportData) -> str:
    texts = []
    for name in material.estimates.systems[:3]:
        estimate = material.estimates.of(name, material.primary)
        span = f"{material.level} interval {brief(estimate.low)} to {brief(estimate.high)}"
        limits = "" if math.isnan(estimate.low) else f" ({span})"
        counts = material.results[name].counts
        sample = (
            count_of(estimate.users, "user")
            if estimate.users and "requests" not in counts
            else sample_text(counts)
        )
        who = "" if len(material.results) == 1 else f"{name}: "
        texts.append(f"{who}{material.primary} is {brief(estimate.value)}{limits} over {sample}.")
    return " ".join(texts)


def _single_facts(material: ReportData) -> list[Fact]:
    """Return whom the values of a result are about."""
    result = next(iter(material.results.values()))
    counts = result.counts
    left = left_out_users(result)
    columns = (
        [] if result.slices is None else result.slices["by"].unique(maintain_order=True).to_list()
    )
    groups = 0 if result.slices is None else len(result.slices)
    without, unit = counts.get("users_without_list", 0), result.sampling_unit
    return [
        Fact(
            "Users counted",
            f"{_users_of(result):,}",
            (f"{count_of(without, unit.row)} get" if unit.is_of_requests else f"{without:,} get")
            + " no list."
            if without
            else "All have a list.",
        ),
        Fact(
            f"{unit.rows.title()} left out",
            f"{left:,}",
            "have no relevant item." if left else _nobody_left_out(result),
        ),
        Fact(
            "Slices",
            f"{groups:,}",
            f"groups by {listing(columns, 'columns')}." if columns else "No groups were evaluated.",
        ),
        Fact("Compared", "–", "Is it better than another system?", "Add the other's result."),
    ]


def _nobody_left_out(result: Result) -> str:
    """Explain why no user is left out, as far as the result's settings tell."""
    population = POPULATIONS.get(result.provenance.get("settings", {}).get("population", ""))
    row = result.sampling_unit.row
    if population is not None and population.needs_relevant:
        return f"Every {row} has a relevant item."
    return f"No {row} is left out."


def _means(row: Mapping[str, Any]) -> str:
    return f"{row['metric']} {brief(row['mean_baseline'])} → {brief(row['mean_system'])}"


def _size(row: Mapping[str, Any], names: tuple[str, str, str]) -> tuple[str, str]:
    """Return a difference and its interval, in per cent of the baseline unless that is 0."""
    relative, low, high = (row[name] for name in names)
    level = "" if is_missing(row.get("confidence")) else f"{level_text(row['confidence'])} "
    if not is_missing(relative):
        known = not is_missing(low) and not is_missing(high)
        limits = f"{level}interval {change(low, unit='')} to {change(high)}." if known else ""
        return change(relative), limits
    limits = interval_text(row, signed)
    return signed(
        row["difference"], places(row)
    ), "" if limits == "–" else f"{level}interval {limits}."


def _gain(row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> Fact:
    """Return the difference that a decision is about, and which guardrails hold."""
    size, limits = _size(row, ("change", "change_low", "change_high"))
    within = [
        r["metric"]
        for r in rows
        if r["role"] == "guardrail" and r["by"] is None and r["outcome"] == "passed"
    ]
    held = f"{listing(within, 'guardrails')}: within the margin." if within else ""
    tone = {"passed": "better", "failed": "worse"}.get(row["outcome"], "")
    return Fact("Difference", size, f"{_means(row)}.", f"{limits} {held}".strip(), tone=tone)


def _decision_cost(material: ReportData, success: str) -> Fact:
    """Return the cost of a decision: the largest loss that failed, or that no rule guards."""
    decision = material.decision
    assert decision is not None
    rule, unguarded = decision.record["rule"], decision.record.get("unguarded", [])
    words = f"Not guarded: {_means(unguarded[0])}." if unguarded else ""
    failed = [row for row in decision.rows if row["outcome"] == "failed"]
    failed = [row for row in failed if row["metric"] != success or row["by"] is not None]
    if failed:
        row = max(
            failed,
            key=lambda row: (
                row["by"] is None,
                0.0 if math.isnan(row["change"]) else abs(row["change"]),
            ),
        )
        margin = rule["guardrails"].get(row["metric"])
        allowed = "" if margin is None else f"Allowed: {margin_text(margin)}."
        inside = "" if row["by"] is None else f", {group_words(row['by'], row['group'])}"
        size, _ = _size(row, ("change", "change_low", "change_high"))
        return Fact(
            "Cost", size, f"{_means(row)}{inside}.", f"{allowed} {words}".strip(), tone="worse"
        )
    if unguarded:
        size, _ = _size(unguarded[0], ("lift", "low", "high"))
        return Fact("Cost", size, words, "No rule looks at it.", tone="worse")
    return _cost_of_pair(material, rule["system"], rule["baseline"], success, {*rule["guardrails"]})


def _cost_of_pair(
    material: ReportData,
    system: str,
    other: str,
    metric: str,
    guarded: Collection[str] = frozenset(),
) -> Fact:
    """Return the unguarded metric on which a system is shown to lose most, if there is any."""
    table = pl.DataFrame() if material.pairs is None else material.pairs
    rows = [
        row
        for row in table.iter_rows(named=True)
        if {row["system"], row["baseline"]} == {system, other}
    ]
    rows = [
        oriented(row, other) for row in rows if row["group"] is None and row["metric"] != metric
    ]
    worse = [row for row in rows if row["verdict"] == "worse" and row["metric"] not in guarded]
    if worse:
        row = max(worse, key=lambda row: 0.0 if is_missing(row["lift"]) else abs(row["lift"]))
        size, _ = _size(row, ("lift", "lift_low", "lift_high"))
        others = [each["metric"] for each in worse if each is not row]
        also = f" Also worse: {listing(others, 'metrics')}." if others else ""
        return Fact(
            "Cost", size, f"{_means(row)}.", f"Exploratory, and not guarded.{also}", tone="worse"
        )
    if not rows and not guarded:
        return Fact("Cost", "unknown", "No other metric was compared.")
    tested = {row["metric"] for row in rows} | {*guarded}
    which = f"any of {len(tested)} other metrics" if len(tested) > 1 else next(iter(tested))
    return Fact("Cost", "none shown", f"{system} is not shown to be worse on {which}.")


def _for_whom(material: ReportData, metric: str, row: Mapping[str, Any] | None) -> Fact:
    """Return how many users gain and lose; of a metric without a direction, have more and less."""
    if row is None or row["wins"] is None:
        return Fact("For whom", "–", f"{metric} has no value for each user.")
    gain, same, lose = row["wins"], row["ties"], row["losses"]
    total = max(gain + same + lose, 1)
    words = ("gain", "lose", "see no difference in")
    if material.direction(metric) is None:
        words = ("higher", "lower", "have the same")
    more, less, alike = words
    shares = f"{100 * gain / total:.0f} {more}, {100 * lose / total:.0f} {less}"
    return Fact(
        "For whom",
        shares,
        f"{count_of(gain, material.unit.row)} {more}, {lose:,} {less},",
        f"{same:,} {alike} {metric}.",
        unit="of 100",
    )


def _how_sure(material: ReportData, row: Mapping[str, Any], pair: Mapping[str, Any] | None) -> Fact:
    """Return the deciding p-value, and why the p-value of the comparison is different."""
    rule, p = material.decision.record["rule"], row["p"]  # type: ignore[union-attr]
    alpha, earlier = rule["alpha"], rule.get("earlier", 0)
    if is_missing(p):
        return Fact("How sure", "Not tested", f"{row['metric']} could not be tested.")
    tests = len([r for r in material.decision.rows if r["role"] == "success"])  # type: ignore[union-attr]
    planned = (
        "as the one planned test" if tests == 1 else f"corrected over {tests} planned tests (Holm)"
    )
    if earlier:
        over = f"{count_of(tests, 'planned test')} and {earlier * tests:,} of earlier pairs"
        planned = f"corrected over {over} (Holm)"
    elif tests == 1 and pair is not None and pair["metric"] == row["metric"] and pair["p"] < p:
        planned += ", valid for any distribution of users"
    other = ""
    if pair is not None and pair["metric"] == row["metric"] and not is_missing(pair["p_adjusted"]):
        pairs = len(_primary(material))
        method = CORRECTIONS.get(material.design.correction)
        if pairs > 1 and abs(pair["p_adjusted"] - p) > 1e-9:
            shown = "is shown" if pair["p_adjusted"] < alpha else "is not shown"
            value = named_p("p", pair["p_adjusted"], alpha)
            other = (
                f"As one of {pairs} pairs compared: "
                f"{value}{f' ({method})' if method else ''}, which {shown}."
            )
    return Fact("How sure", sure(p, alpha), f"{named_p('p', p, alpha)} {planned}.", other)


def sure(p: float, alpha: float) -> str:
    """Describe a p-value in a word: clear, barely below the level, or not shown."""
    return "Clear" if p < alpha / 10 else "Barely" if p < alpha else "Not shown"


def _pair_facts(material: ReportData) -> list[Fact]:
    """Return the facts of the best system against the baseline, or against the second best."""
    order = system_order(_primary(material), material.design)
    baseline = material.design.baseline
    system, other = (order[1], order[0]) if baseline is not None else material.ranked[:2]
    row, alpha = _pair(material, system, other), material.design.alpha
    if row is None:  # groups of users: each has a verdict of its own
        return []
    tone = verdict_tone(row["verdict"])
    size, limits = _size(row, ("lift", "lift_low", "lift_high"))
    gain = Fact("Difference", size, f"{_means(row)}, {system} against {other}.", limits, tone=tone)
    price = _cost_of_pair(material, system, other, row["metric"])
    p, pairs = deciding_p(row), len(_primary(material))
    method = CORRECTIONS.get(material.design.correction)
    over = margin_mark(row) + (f" over {pairs} pairs ({method})" if pairs > 1 and method else "")
    sides = "two one-sided tests" if row["verdict"] == "equivalent" else "two-sided"
    if is_missing(p):
        certainty = Fact("How sure", "Not tested", f"{row['metric']} could not be tested.")
    elif row["verdict"] in CONDITIONAL:
        certainty = _condition_fact(row, material.unit, f"{named_p('p', p, alpha)}{over}")
    else:
        certainty = Fact(
            "How sure",
            sure(p, alpha),
            f"{named_p('p', p, alpha)}{over}.",
            f"Level {alpha:g}, {sides}.",
        )
    return [gain, price, _for_whom(material, row["metric"], row), certainty]


def _condition_fact(row: Mapping[str, Any], unit: SamplingUnit, p: str) -> Fact:
    """Return the condition of a verdict: up to which loss it holds, what was seen and is possible."""
    loss, possible = row["condition"], row["loss_possible"]
    seen = f"Largest loss seen: {brief(row['loss_seen'])}"
    ticks: list[tuple[float, str]] = []
    held = f"Without a bound, nothing holds for any {unit.rows}."
    if not is_missing(possible):
        held = f"For any {unit.rows} {p}."
        seen += f"; possible: {brief(possible)}"
        marks = {"seen": row["loss_seen"], "condition": loss, "possible": possible}
        ticks = [(min(size / possible, 1.0), name) for name, size in marks.items()]
    return Fact(
        "How sure",
        f"If ≤ {loss_text(loss)}",
        f"Shown if {unit.condition(loss_text(loss))}.",
        f"{seen}. {held}",
        ticks=ticks,
    )


_OFFLINE = Gap(
    "whether users act differently (this is offline data)",
    "Users saw other lists than these. Logged impressions or an online test would tell.",
    "rankwise off-policy LOG …",
)
_ONE_TRAINING = Gap(
    "chance in training",
    "Each system was trained once. The intervals do not include the variation between seeds.",
    "rankwise compare 'NAME=results/NAME-*' …",
)
_ONE_SPLIT = Gap(
    "another date",
    "One split. The order of systems can change with the date: several windows would show it.",
    "rankwise split … --by windows",
)
_NO_GROUPS = Gap(
    "groups of users",
    "No groups of users were evaluated: a mean can hide who loses.",
    "rankwise evaluate … --users FILE --by COLUMN",
)


def gaps(material: ReportData, missing: Sequence[Missing]) -> list[Gap]:
    """Return the gaps of the report, the largest first, with commands that would fill them."""
    results = material.results.values()
    found = [
        *_gap_of_lists(material),
        *_gap_of_the_rule(material),
        *([] if material.design.noise else [_ONE_TRAINING]),
        _OFFLINE,
    ]
    if any(result.split for result in results):
        found.append(_ONE_SPLIT)
    found += _gap_of_truth(material)
    if all(result.slices is None for result in results):
        found.append(_NO_GROUPS)

    metrics: dict[str, list[str]] = {}
    for metric, reason in material.design.not_compared.items():
        metrics.setdefault(reason, []).append(metric)
    found += [
        Gap(f"{listing(names, 'metrics')} not compared", f"{reason}.")
        for reason, names in metrics.items()
    ]
    return found + [_gap_of(part) for part in missing]


def _gap_of_lists(material: ReportData) -> list[Gap]:
    """Return the gap of users without a list, if there are any."""
    results, unit = material.results, material.unit
    most = max((r.counts.get("users_without_list", 0) for r in results.values()), default=0)
    if not most:
        return []
    all_rows = max(r.counts.get(unit.rows, 0) for r in results.values())
    others = [cell for cell in material.single_cells if cell != material.primary]
    said = unserved_words(results, [material.primary, *others], material.design.missing)
    counts = unserved_counts(results, "from").replace(" from ", " get no list from ", 1)
    each = f"; each {said}" if said else ""
    text = f"Of {all_rows:,} {unit.rows} {counts}{each}. Add a fallback, or report them apart."
    title = f"{count_of(most, unit.row)} without a list"
    return [Gap(title, text, "rankwise evaluate … --population both")]


def _gap_of_the_rule(material: ReportData) -> list[Gap]:
    """Return the gap of losses that the rule of the decision leaves unguarded, if there are any."""
    if material.decision is None:
        return []
    unguarded = material.decision.record.get("unguarded")
    if not unguarded:
        return []
    names = listing([row["metric"] for row in unguarded], "metrics")
    command = f"rankwise decide … --deterioration {unguarded[0]['metric']}"
    text = f"{names}: worse, and not part of the rule."
    return [Gap("losses that no rule guards", text, command)]


def _gap_of_truth(material: ReportData) -> list[Gap]:
    """Return the gap of users without a relevant item, if these are left out."""
    left = max(map(left_out_users, material.results.values()), default=0)
    if not left:
        return []
    has, is_in = ("has", "is") if left == 1 else ("have", "are")
    who = count_of(left, material.unit.row)
    text = f"{who} {has} no relevant item, and {is_in} in no mean."
    return [Gap(f"excluded {material.unit.rows}", text)]


def _gap_of(part: Missing) -> Gap:
    """Return a part that could not be computed as a gap, with the command if one fills it."""
    command = COMMANDS.get(part.hint, "")
    return Gap(part.what, f"{part.why if command else part.reason}.", command)
