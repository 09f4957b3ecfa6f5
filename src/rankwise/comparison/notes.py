"""What stands below the tables of a comparison: how it was tested, on whom, and what to mind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from rankwise.comparison.claims import stated_condition
from rankwise.comparison.design import Design
from rankwise.comparison.sentences import condition_of_ranks
from rankwise.core.terminal import brief, count_of, first_names, level_text
from rankwise.findings.words import (
    CONDITIONAL,
    CORRECTIONS,
    group_name,
    is_missing,
    listing,
    loss_in_cells,
    loss_text,
    pair_name,
)
from rankwise.metrics.coverage import WIDE
from rankwise.results.sampling_unit import SamplingUnit

MOST_PAIRED = 12  # systems up to which all pairs are printed; of more, their ranks


def _condition_notes(table: pl.DataFrame, design: Design) -> list[str]:
    """Return notes on conditional verdicts: what would undo them, and what a t test alone shows."""
    rows = table.filter(pl.col("primary")).to_dicts() or table.to_dicts()
    conditional = [row for row in rows if row["verdict"] in CONDITIONAL]
    alone = [row for row in rows if row["verdict"] == "not shown" and _is_shown_by_t(row, design)]
    notes = []
    if conditional:
        notes.append(_note_on_conditions(conditional, design.unit))
    if alone:
        more = " further" if len(alone) < len(rows) else ""
        pairs = "pair" if len(alone) == 1 else "pairs"
        names = first_names([pair_name(row) for row in alone])
        test = "a paired t test" if design.unit.clusters is None else "a clustered t test"
        notes.append(
            f"By {test} alone, as most tools report: {len(alone)}{more} {pairs} ({names})."
        )
    return notes


def _is_shown_by_t(row: Mapping[str, Any], design: Design) -> bool:
    """Return whether a t test alone would show the difference of a pair."""
    p = row["p_design_adjusted"]
    return not is_missing(p) and p < design.alpha


def _note_on_conditions(rows: Sequence[Mapping[str, Any]], unit: SamplingUnit) -> str:
    """Return which loss of the users who were not sampled would undo conditional verdicts."""
    losses = [row["condition"] for row in rows]
    cells, words = loss_in_cells(losses[0]), loss_text(losses[0])
    if len(set(map(loss_text, losses))) > 1:
        cells = words = "L"
    seen = max(row["loss_seen"] for row in rows)
    possible = rows[0]["loss_possible"]
    limit = "" if is_missing(possible) else f"; possible: {brief(possible)}"
    worth = "" if unit.clusters is None else f" {unit.rows}' worth"
    return (
        f"if ≤ {cells}: shown, unless {unit.unseen} lose more than {words}{worth} (largest "
        f"loss among these {unit.counted_in(rows[0])}: {brief(seen)}{limit})."
    )


def range_text(low: int, high: int) -> str:
    """Return a range of ranks.

    >>> range_text(1, 3), range_text(2, 2)
    ('1 to 3', '2')
    """
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def metric_name(row: Mapping[str, Any], design: Design) -> str:
    """Return the metric of a row, with its group of users or data set."""
    if design.data_sets:
        return f"{row['metric']}, {row['group'] or 'mean of data sets'}"
    if design.by is None:
        return str(row["metric"])
    return f"{row['metric']}, {design.by} {group_name(row['group'])}"


def tests_of(table: pl.DataFrame) -> str:
    """Return the tests of a comparison, each once."""
    return ", ".join(table["test"].drop_nulls().unique(maintain_order=True))


def labels_of(design: Design) -> list[str]:
    """Return the labels of systems whose values are over sampled candidates."""
    return [f"{name}: {label}" for name, label in design.labels.items() if label]


def method_line(table: pl.DataFrame, design: Design) -> str:
    """Return how the pairs were tested, and over how many pairs p-values are corrected."""
    family, others = table.filter(pl.col("primary")), table.filter(~pl.col("primary"))
    tests = tests_of(family) or tests_of(table)
    text = f"{tests[:1].upper()}{tests[1:]}"
    pairs = len(family) + design.earlier
    correction = CORRECTIONS.get(design.correction)
    if pairs > 1:
        where = "" if design.by is None else f" and groups by {design.by}"
        text += (
            ", without correction"
            if correction is None
            else f", {correction} over {pairs} pairs{where}"
        )
    text += f"; {_levels(family.to_dicts() or table.to_dicts())}."
    if not len(others):
        return text
    over = exploratory_tests(table, design)
    return f"{text} Exploratory: Benjamini–Hochberg over {over}; {_levels(others.to_dicts())}."


def exploratory_tests(table: pl.DataFrame, design: Design) -> int:
    """Count the tests of other metrics than the primary one, of this family and of earlier pairs."""
    others = table.filter(~pl.col("primary"))
    parts = max(table["group"].n_unique(), 1) if design.by else 1
    return len(others) + design.earlier * others["metric"].n_unique() * parts


def _levels(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the confidence level of the intervals beside verdicts."""
    same = [row for row in rows if row["verdict"] == "equivalent"]
    levels = dict.fromkeys(level_text(row["confidence"]) for row in rows if row not in same)
    texts = [f"{' and '.join(levels)} intervals"] if levels else []
    of_margins = dict.fromkeys(level_text(row["confidence"]) for row in same)
    texts += [f"{' and '.join(of_margins)} intervals of equivalence"] if same else []
    return ", ".join(texts)


def notes_of(table: pl.DataFrame, design: Design, most: int | None = None) -> list[str]:
    """Return the method, the metrics not compared, and caveats (at most ``most``)."""
    notes = [
        method_line(table, design),
        *sample_notes(table, design),
        *_ranks(design),
        *_reuse(design),
        *statement_notes(design),
        *_notes_on_runs(design),
    ]
    notes = [*_condition_notes(table, design), *notes]
    notes += [", ".join(f"{name}: {source}" for name, source in design.sources.items())]
    notes += [
        *design.plans,
        *design.unchecked,
        *not_compared_notes(design.not_compared),
    ]
    lines = _caveats(table, design, left_out=() if most is None else (WIDE,))
    more = (
        []
        if most is None or len(lines) <= most
        else [f"… and {count_of(len(lines) - most, 'more note')}"]
    )
    return [note for note in (*notes, *labels_of(design), *lines[:most], *more) if note]


def _caveats(table: pl.DataFrame, design: Design, left_out: Sequence[str] = ()) -> list[str]:
    """Return the flags of rows, each with its rows, except the flags in ``left_out``."""
    caveats: dict[str, dict[str, dict[str, None]]] = {}
    pairs: dict[str, set[str]] = {}
    for row in table.iter_rows(named=True):
        metric, pair = metric_name(row, design), pair_name(row)
        pairs.setdefault(metric, set()).add(pair)
        dropped = [row["dropped_because"]] if row["dropped_because"] else []
        for flag in (*row["flags"], *dropped):
            if flag not in left_out:
                caveats.setdefault(flag, {}).setdefault(metric, {})[pair] = None
    return [
        f"{first_names([_where(metric, list(those), len(pairs[metric])) for metric, those in where.items()])}: {flag}"
        for flag, where in caveats.items()
    ]


def _where(metric: str, flagged: Sequence[str], pairs: int) -> str:
    """Return a metric with its flagged pairs; the metric alone if all pairs are flagged."""
    return metric if len(flagged) == pairs else f"{metric} of {first_names(flagged)}"


def _ranks(design: Design) -> list[str]:
    """Return the confidence intervals of the ranks of the first ten systems."""
    ranks = design.ranks
    if not ranks or (design.baseline is None and len(ranks) > MOST_PAIRED):  # in the table
        return []
    texts = [f"{rank.system} {range_text(rank.rank_low, rank.rank_high)}" for rank in ranks[:10]]
    more = f", … ({len(ranks)} systems)" if len(ranks) > 10 else ""
    lines = [f"Ranks, {_rank_claim(design)}: {', '.join(texts)}{more}."]
    condition = condition_of_ranks(design)
    if condition:
        with_conditions = [
            f"{rank.system} {range_text(rank.rank_low_if, rank.rank_high_if)}"
            for rank in ranks[:10]
        ]
        lines.append(f"Ranks{condition}: {', '.join(with_conditions)}{more}.")
    return lines


def _rank_claim(design: Design) -> str:
    """Describe the error control of ranks: family-wise, false discovery rate, or per pair."""
    correction = design.correction
    if correction == "none":
        return f"each pair at level {design.alpha:g}, without correction"
    if correction in ("bh", "by"):
        return f"with a false discovery rate of {design.alpha:g} ({CORRECTIONS[correction]})"
    return f"together with {level_text(1 - design.alpha)} confidence"


def statement_notes(design: Design) -> list[str]:
    """Return the stated condition of all verdicts as a note, which says if no plan has it."""
    stated = stated_condition(design.unit, design.largest_loss, design.largest_cluster)
    if not stated:
        return []
    where = "" if design.plans else "; it is not in a plan"
    return [f"Verdicts hold as long as {stated}, as stated{where}."]


def _notes_on_runs(design: Design) -> list[str]:
    """Return whether intervals hold for other runs of systems that were run once."""
    if design.noise:
        runs = {f"{count_of(count, 'run')} of {name}" for name, count in design.noise.items()}
        known = listing(sorted(runs)) if len({*design.noise.values()}) > 1 else ""
        known = known or count_of(next(iter(design.noise.values())), "run")
        return [f"Intervals hold for other runs as well: the noise is known from {known}."]
    several = {} if design.seeds is None else design.seeds.counts
    if any(count > 1 for count in several.values()) or design.data_sets:
        return []
    note = "Each system has one run: the noise between runs is not in these intervals"
    return [f"{note} (`rankwise stability`)."]


def _reuse(design: Design) -> list[str]:
    """Return how often the ground truth was used before, and whether the correction knows."""
    earlier, notes = design.earlier, []
    if earlier:
        pairs = "1 pair that was" if earlier == 1 else f"{earlier:,} pairs that were"
        notes.append(f"P-values are corrected for {pairs} compared earlier on this test set, too.")
    uses = design.test_set
    others = uses.get("systems", 0) - uses.get("compared", 0)
    if others > earlier:
        notes.append(
            f"{uses['systems']:,} systems are saved on this test set, of which "
            f"{uses['compared']:,} are compared here: "
            "the best of many looks better than it is. To correct for the others, set earlier to "
            f"{others:,}."
        )
    return notes


def sample_of(rows: Sequence[Mapping[str, Any]], unit: SamplingUnit) -> str:
    """Describe the sample of the means: the users of all rows, or their requests.

    >>> rows = [{"users": 233, "clusters": 80}, {"users": 213, "clusters": 80}]
    >>> sample_of(rows, SamplingUnit("request", "user"))
    '213 to 233 requests of 80 users'
    >>> sample_of([{"users": 9, "clusters": None}], SamplingUnit()), sample_of([], SamplingUnit())
    ('9 users', 'no users')
    """
    if not rows:
        return f"no {unit.rows}"
    text = _spread([row["users"] for row in rows], unit.row)
    people = [row["clusters"] for row in rows if row["clusters"] is not None]
    return f"{text} of {_spread(people, 'user')}" if unit.is_of_requests and people else text


def _spread(counts: Sequence[int], noun: str) -> str:
    """Return the smallest and the largest count of things."""
    low, high = min(counts), max(counts)
    return count_of(high, noun) if low == high else f"{low:,} to {count_of(high, noun)}"


def sample_notes(table: pl.DataFrame, design: Design) -> list[str]:
    """Return notes on random samples besides users: clusters of users, seeds and data sets."""
    notes = []
    if design.clusters and table["clusters"].drop_nulls().len():
        unit, sizes = design.unit, table["clusters"].drop_nulls().to_list()
        each = "" if design.by is None else " in each group"
        if unit.is_of_requests:
            notes.append(
                f"Lists are of requests: those of {_spread(sizes, 'user')}{each}, the sampling "
                "units."
            )
        else:
            spread = _spread(sizes, "cluster")
            notes.append(
                f"{unit.rows.title()} are in {spread} by {unit.clusters}{each}, which are the "
                "sampling units."
            )
    if design.data_sets:
        notes.append(
            f"Over {len(design.data_sets)} data sets, as a random sample with equal "
            "weights; results on each alone are exploratory."
        )
    if design.seeds:
        numbers = design.seeds.counts
        counts = ", ".join(f"{name}: {count}" for name, count in numbers.items())
        counts = (
            f"{next(iter(numbers.values()))} each" if len(set(numbers.values())) == 1 else counts
        )
        notes.append(
            f"Values are means over seeds ({counts}), {design.seeds.design} between "
            "systems; intervals and tests generalise to other users and other seeds."
        )
    return notes


def not_compared_notes(reasons: Mapping[str, str]) -> list[str]:
    """Return why metrics are left out, the first six of each reason by name."""
    by_reason: dict[str, list[str]] = {}
    for cell, reason in reasons.items():
        by_reason.setdefault(reason, []).append(cell)
    return [
        f"Not compared: {', '.join(cells[:6])}{', …' if len(cells) > 6 else ''}: {reason}."
        for reason, cells in by_reason.items()
    ]
