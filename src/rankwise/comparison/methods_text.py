"""The paragraph on the method of a comparison, of which every clause comes from the record."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from rankwise.comparison.claims import BROKEN, stated_condition
from rankwise.comparison.design import Design
from rankwise.comparison.notes import exploratory_tests, sample_notes, sample_of, tests_of
from rankwise.comparison.paper import (
    count_families,
    left_out_users,
    name_systems,
    relevant_clause,
    short_name,
    users_of_rows,
)
from rankwise.core import __version__
from rankwise.core.populations import POPULATIONS
from rankwise.core.terminal import brief, count_of, level_text, signed
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
    p_value,
    places,
)
from rankwise.messages import printable
from rankwise.results.display import evaluated_population, relevance_rule, split_words
from rankwise.results.result import Result
from rankwise.results.sampling_unit import SamplingUnit
from rankwise.stats.bounded_means import BOUNDED


def _mark_missing(what: str) -> str:
    return f"[not recorded: {what}]"


def methods(table: pl.DataFrame, design: Design, results: Mapping[str, Result]) -> str:
    """Return a paragraph on the method, of which every clause comes from the record.

    What is not known stands there as ``[not recorded: …]``, so that no gap is overlooked.
    """
    clauses = [
        _compared_clause(design, table, results),
        _lists_clause(results),
        _population_clause(table, design, results),
        _metric_clause(design, results),
        _test_clause(table, design),
        *sample_notes(table, design),
        _interval_clause(results),
        _power_clause(table, design),
        *_result_clauses(table, design),
        _version_clause(results),
    ]
    return printable(" ".join(clause for clause in clauses if clause)) + "\n"


def _compared_clause(design: Design, table: pl.DataFrame, results: Mapping[str, Result]) -> str:
    """Return which systems were compared on which data, split how."""
    order, _, baseline = name_systems(table, design)
    count = len(order) - 1
    who = (
        f"{count} {'system' if count == 1 else 'systems'} with {baseline}"
        if baseline
        else f"{len(order)} systems"
    )
    sets = design.data_sets
    data = (
        f"{len(sets)} data sets ({', '.join(sets)})"
        if sets
        else _mark_missing("the name of the data set")
    )
    card = next((result.split for result in results.values() if result.split is not None), None)
    if card is None or sets:
        return (
            f"We compared {who} on {data}; "
            f"{'their splits are on record' if card else _mark_missing('the split')}."
        )
    parts = card["parts"]
    rows = (
        f"{parts['train']['rows']:,} training and {parts['test']['rows']:,} test rows"
        if "train" in parts
        else ""
    )
    items = max((result.counts.get("catalogue_items", 0) for result in results.values()), default=0)
    size = ", ".join(filter(None, (rows, f"{items:,} items" if items else "")))
    filters = card["input"].get("filters") or _mark_missing("filters before the split")
    words = split_words(card).partition(" (")[0]
    share = card["rule"].get("share")
    tested = f", {100 * share:g} % of the rows tested" if isinstance(share, float) else ""
    return f"We compared {who} on {data} ({size}; {filters}; {words}{tested})."


def _lists_clause(results: Mapping[str, Result]) -> str:
    """Return from which candidates the lists were ranked, and where they were cut."""
    ranked = {"" if r.protocol is None else r.protocol.candidates for r in results.values()} or {""}
    candidates = ranked.pop() if len(ranked) == 1 else ""
    rules = dict.fromkeys(map(_relevance, results.values())) or {_mark_missing("relevance"): None}
    said = (
        rules.popitem()[0]
        if len(rules) == 1
        else f"{_mark_missing('one rule of relevance, because results differ')}."
    )
    return (
        f"Candidates: {candidates or _mark_missing('the candidate set')}; {_cut(results)}. {said}"
    )


def _cut(results: Mapping[str, Result]) -> str:
    """Describe the cut-offs of metrics; whole lists are known only from recorded evaluations."""
    cutoffs = sorted(
        {k for result in results.values() for metric in result.metrics for k in metric.k}
    )
    if cutoffs:
        return f"metrics were cut at {listing([str(k) for k in cutoffs], 'values of k', 6)}"
    known = bool(results) and all(
        "recommendations" in r.provenance.get("inputs", {}) for r in results.values()
    )
    return "lists were not cut" if known else _mark_missing("cut-offs")


def _relevance(result: Result) -> str:
    """Describe the relevant rows of the ground truth, as the evaluation recorded them."""
    provenance = result.provenance
    rule = relevance_rule(provenance.get("settings", {}), provenance.get("inputs", {}))
    if not rule:
        return f"{_mark_missing('relevance')}."
    if (text := relevant_clause(result)) and "grades" not in provenance["settings"]:
        return f"Test rows with a {text.removeprefix('Relevant: ').rstrip('.')} are relevant."
    everything = "relevant: every row of the ground truth"
    return (
        "Every row of the ground truth is relevant."
        if rule == everything
        else f"{rule[0].upper()}{rule[1:]}."
    )


def _population_clause(table: pl.DataFrame, design: Design, results: Mapping[str, Result]) -> str:
    """Describe the evaluated users, the excluded users, and the value of a missing list."""
    if not results:
        return f"Means are over {_mark_missing('the users counted')}."
    unit = next(iter(results.values())).sampling_unit
    rows = table.filter(pl.col("primary"), pl.col("users").is_not_null()).to_dicts()
    compared = users_of_rows(rows, design) if rows else sample_of(_counts_of(results, unit), unit)
    populations = {str(evaluated_population(result.provenance)) for result in results.values()}
    population = POPULATIONS.get(populations.pop() if len(populations) == 1 else "")
    whom = _mark_missing("which users count") if population is None else population.words
    text = f"Means are over the {compared} {whom}"
    if treated := _missing_values(rows, design, _counts_of(results, unit)):
        text += f"; {treated}"
    left = max(map(left_out_users, results.values()))
    text += (
        f"; {count_of(left, unit.row)} without one {'is' if left == 1 else 'are'} left out"
        if left
        else ""
    )
    if without := unserved_counts(results, "for"):
        cells = table.sort("primary", descending=True, maintain_order=True)["metric"].unique(
            maintain_order=True
        )
        said = unserved_words(results, cells.to_list(), design.missing)
        text += f"; a {unit.row} without a list ({without}) {said}" if said else ""
    return f"{text}."


def _counts_of(results: Mapping[str, Result], unit: SamplingUnit) -> list[dict[str, Any]]:
    """Return how many users each result has, where no pair tells."""
    return [
        {"users": r.counts.get(unit.rows, 0), "clusters": r.counts.get("users")}
        for r in results.values()
    ]


def _missing_values(
    rows: Sequence[Mapping[str, Any]], design: Design, counts: Sequence[Mapping[str, Any]]
) -> str:
    """Return what was done with users who have a value in some results only; empty without such."""
    most = max((row["users"] for row in rows), default=0)
    dropped = max((row["users_dropped"] or 0 for row in rows), default=0)
    if dropped and design.missing == "common":
        are = "is" if dropped == 1 else "are"
        return f"{count_of(dropped, design.unit.row)} with a value in one result {are} left out"
    if design.missing == "zero" and any(each["users"] < most for each in counts):
        return f"a {design.unit.row} without a value in one result counts 0 there"
    return ""


def unserved_counts(results: Mapping[str, Result], words: str) -> str:
    """Return how many users each system gives no list, as ``5 {words} a and 8 {words} b``.

    Systems with equal numbers share one.
    """
    named: dict[int, list[str]] = {}
    for name, result in results.items():
        if count := result.counts.get("users_without_list", 0):
            named.setdefault(count, []).append(name)
    parts = [
        f"{count:,} {words} {listing(names, named=len(names))}" for count, names in named.items()
    ]
    return listing(parts, named=len(parts))


def unserved_words(
    results: Mapping[str, Result], cells: Sequence[str], missing: str = "error"
) -> str:
    """Describe the metric values of users without a list; empty if every user has a list.

    ``missing`` is that of a comparison, in which users without a value may count 0.
    """
    outcomes: dict[str, list[str]] = {}
    for cell in cells:
        values = [_unserved_values(result, cell) for result in results.values()]
        found = [each for each in values if each is not None and len(each)]
        if found:
            outcomes.setdefault(_unserved_outcome(pl.concat(found), missing), []).append(cell)
    if len(outcomes) == 1 and "scores 0" in outcomes:
        return "scores 0"
    return " and ".join(
        f"{said} in {listing(names, 'metrics', 6)}" for said, names in outcomes.items()
    )


def _unserved_values(result: Result, cell: str) -> pl.Series | None:
    """Return the values of the units without a list; None where the result does not know them."""
    if "list_length" not in result.units.columns or cell not in result.units.columns:
        return None
    return result.units.filter(pl.col("list_length") == 0)[cell].cast(pl.Float64)


def _unserved_outcome(values: pl.Series, missing: str) -> str:
    """Describe the values of one metric for users without a list."""
    if values.is_nan().all():
        return "has no value, which counts as 0," if missing == "zero" else "has no value"
    known = values.filter(~values.is_nan()).unique()
    one = f"scores {brief(float(known[0]))}" if len(known) == 1 else "scores differently by user"
    return one if not values.is_nan().any() else f"{one}, or has no value,"


def _metric_clause(design: Design, results: Mapping[str, Result]) -> str:
    """Return the primary metric with its parameters."""
    name = design.primary
    parameters: Iterable[tuple[str, Any]] = ()
    recorded = False
    for result in results.values():
        metric = next((str(m) for m in result.metrics if name in m.cells), "")
        if metric in (evaluated := result.provenance.get("metrics", {})):
            parameters, recorded = evaluated[metric].items(), True
            break
    texts = [
        f"{key.replace('_', ' ')} {str(value).replace('_', ' ')}"
        for key, value in parameters
        if value not in ("()", None)
    ]
    definition = (
        f" ({', '.join(texts)})"
        if texts
        else ""
        if recorded
        else f" ({_mark_missing('its parameters')})"
    )
    return f"{short_name(name)}{definition} is the primary metric."


def _test_clause(table: pl.DataFrame, design: Design) -> str:
    """Return the test of each pair, and over how many pairs p-values are corrected."""
    text = (
        f"For each pair the mean difference was tested {_words_on_test(table, design)} (two-sided, "
        f"α = {design.alpha:g}; {_correction_clause(table, design)})"
    )
    if design.by:
        text += f" within groups by {design.by}"
    text += f"{_exploratory_clause(table, design)}."
    if table["verdict"].is_in(CONDITIONAL).any():
        text += (
            " Where it shows no difference and the test of the design does, the largest loss of an "
            "unseen user under which it would is reported."
        )
    return text


def _words_on_test(table: pl.DataFrame, design: Design) -> str:
    """Return the test of the primary metric, with the statement that it rests on."""
    tests = tests_of(table.filter(pl.col("primary")))
    if tests != BOUNDED:
        article = "an" if tests.startswith("exact") else "a"
        return f"with {article} {tests} test"
    words = "by Gaffke's limit of a bounded mean, which holds for any users"
    stated = stated_condition(design.unit, design.largest_loss, design.largest_cluster)
    if not stated:
        return words
    when = "as stated beforehand" if design.plans else "as stated"
    if _is_broken(table):
        return (
            f"{words} as long as {stated}, {when}, which a {design.unit.row} of these did not keep,"
        )
    return f"{words} as long as {stated}, {when},"


def _is_broken(table: pl.DataFrame) -> bool:
    """Return whether a user changed by more than was stated to be possible."""
    flags = table.filter(pl.col("primary"))["flags"].explode().drop_nulls()
    return bool(flags.str.ends_with(BROKEN).any())


def _exploratory_clause(table: pl.DataFrame, design: Design) -> str:
    """Return which pairs are exploratory, as a clause; empty if none is."""
    others = exploratory_tests(table, design)
    is_primary = pl.col("primary")
    metrics = set(table.filter(is_primary)["metric"])
    further = set(table.filter(~is_primary)["metric"]) - metrics
    names = [count_of(len(further), "further metric")] if further else []
    if design.data_sets:
        names.append("each data set alone")
    if not others or not names:
        return ""
    verb = "is" if len(names) == 1 and len(further) <= 1 else "are"
    return (
        f"; {' and '.join(names)} {verb} exploratory ({count_of(others, 'pair')}, "
        "Benjamini–Hochberg)"
    )


def _correction_clause(table: pl.DataFrame, design: Design) -> str:
    """Return over how many pairs p-values of the primary metric are corrected, as a clause."""
    method, earlier = CORRECTIONS.get(design.correction), design.earlier
    if method is None:
        return "not corrected"
    before = (
        f", of which {earlier:,} {'was' if earlier == 1 else 'were'} compared earlier on the "
        "same test set"
    )
    pairs = count_of(count_families(table)[0] + earlier, "pair")
    return f"corrected over {pairs} by {method}{before if earlier else ''}"


def _interval_clause(results: Mapping[str, Result]) -> str:
    """Describe the intervals, and the values whose intervals come from the jackknife."""
    text = "Intervals are of the test and the level of the verdict that they stand beside."
    groups = {r.provenance["settings"].get("jackknife") for r in results.values()} - {None}
    if groups:
        text += (
            " Those of values that are no means over users come from a jackknife over "
            f"{max(groups)} groups of users."
        )
    return text


def _power_clause(table: pl.DataFrame, design: Design) -> str:
    """Return the difference that would have been found, of the pair that needs the largest."""
    primary = table.filter(pl.col("primary")).to_dicts()
    rows = [row for row in primary if not is_missing(row["minimum_detectable"])]
    rows = [row for row in rows if math.isfinite(row["minimum_detectable"])]
    if not rows:
        return ""
    row = max(rows, key=lambda row: row["minimum_detectable"])
    size, who = (
        brief(row["minimum_detectable"]),
        f"{row['system']} against {row['baseline']}{_inside(row, design)}",
    )
    unit = design.unit
    sample = count_of(row["data_sets"], "data set") if row["data_sets"] else unit.counted_in(row)
    return f"With {sample} a difference of {size} ({who}) would be found with a probability of 0.8."


def _inside(row: Mapping[str, Any], design: Design) -> str:
    """Return the group of users that a row is about, in words; empty for all of them."""
    return "" if design.by is None else f" for {group_words(design.by, row['group'])}"


def _result_clauses(table: pl.DataFrame, design: Design) -> list[str]:
    """Return the first six pairs of the primary metric with their numbers."""
    said = {
        "better": "was better than",
        "worse": "was worse than",
        "better if": "was better than",
        "worse if": "was worse than",
        "different if": "differed from",
        "not shown": "was not shown to differ from",
        "not checked": "was not tested against",
    }
    same = "was equivalent within the margin to"
    said |= {"equivalent": same, "equivalent if": same, "different": "differed from"}
    texts = []
    for row in table.filter(pl.col("primary")).to_dicts()[:6]:
        p = p_value(deciding_p(row), design.alpha)
        level = "" if is_missing(row["confidence"]) else f"{level_text(row['confidence'])} "
        value = (
            f"{signed(row['difference'], places(row))}, {level}interval "
            f"{interval_text(row, signed)}"
        )
        sign = "" if p.startswith("<") else "= "
        inside = _inside(row, design)
        adjusted = "adjusted p" if CORRECTIONS.get(design.correction) else "p"
        numbers = f"{value}, {adjusted}{margin_mark(row)} {sign}{p.replace('<', '< ')}"
        condition = ""
        if row["verdict"] in CONDITIONAL:
            condition = f" if {design.unit.condition(loss_text(row['condition']))}"
        words = f"{said[row['verdict']]} {row['baseline']}{inside}{condition}"
        texts.append(f"{row['system']} {words} ({numbers}).")
    return texts


def _version_clause(results: Mapping[str, Result]) -> str:
    """Return the version, and the ids of the split and of the recommendation lists."""
    cards = [result.split for result in results.values() if result.split is not None]
    split = f"split {cards[0]['id'][:12]}" if cards else _mark_missing("the id of the split")
    lists = {
        name: r.provenance.get("inputs", {}).get("recommendations", {}).get("sha256")
        for name, r in results.items()
    }
    ids = [f"{name} {digest[:12]}" for name, digest in lists.items() if digest]
    said = (
        f"lists {', '.join(ids)}"
        if ids and len(ids) == len(lists)
        else _mark_missing("hashes of the lists")
    )
    return f"All values were computed with rankwise {__version__} ({split}; {said})."
