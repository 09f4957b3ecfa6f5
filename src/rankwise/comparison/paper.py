"""Comparisons for papers: LaTeX and Markdown tables, and a paragraph on the method."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import polars as pl

from rankwise.comparison.claims import stated_condition
from rankwise.comparison.design import Design
from rankwise.comparison.rows import IN_SYSTEM_TABLE
from rankwise.comparison.systems import marks
from rankwise.comparison.view import (
    labels_of,
    means_by_system,
    sample_notes,
    sample_of,
    statement_notes,
    system_order,
    tests_of,
)
from rankwise.core import __version__
from rankwise.core.populations import POPULATIONS
from rankwise.core.terminal import (
    Cell,
    Marked,
    Style,
    TableView,
    brief,
    count_of,
    decimals,
    latex_text,
    level_text,
    signed,
)
from rankwise.errors import MetricError
from rankwise.findings.words import (
    CONDITIONAL,
    CORRECTIONS,
    deciding_p,
    group_words,
    interval_text,
    is_missing,
    level_of,
    listing,
    loss_in_cells,
    loss_text,
    margin_mark,
    p_value,
    pair_name,
    places,
)
from rankwise.messages import printable
from rankwise.results.display import evaluated_population, relevance_rule, split_words
from rankwise.results.result import Result
from rankwise.results.sampling_unit import SamplingUnit
from rankwise.stats.bounded_means import BOUNDED

Layout: TypeAlias = Literal["systems", "pairs"]
Width: TypeAlias = Literal["column", "page"]
_STYLES: tuple[Style, ...] = ("bold", "underlined")
_ACRONYMS = (
    "ndcg",
    "dcg",
    "cg",
    "map",
    "mrr",
    "arhr",
    "err",
    "rbp",
    "auc",
    "gauc",
    "arp",
    "aplt",
    "ild",
    "ips",
    "efd",
    "epc",
)


@dataclass(frozen=True)
class PaperOptions:
    """How a table of a paper looks; `Comparison.export` describes each option."""

    metrics: Sequence[str] | None = None
    digits: int = 3
    percent: bool = False
    columns: Width = "page"
    label: str = "rankwise-comparison"
    caption: bool = True
    layout: Layout = "systems"


@dataclass(frozen=True)
class _Column:
    """One metric, within one group of users or on one data set, with its rows of a comparison."""

    block: str
    metric: str
    rows: Sequence[Mapping[str, Any]]
    better: bool | None

    @property
    def title(self) -> str:
        """The metric, and the group of users or the data set."""
        return f"{self.metric}, {self.block}" if self.block else self.metric


def _columns(table: pl.DataFrame, design: Design, metrics: Sequence[str] | None) -> list[_Column]:
    """Return the columns of a table of systems, ordered by group of users or data set."""
    compared = table["metric"].unique(maintain_order=True).to_list()
    names = compared if metrics is None else list(metrics)
    unknown = [name for name in names if name not in compared]
    if unknown:
        raise MetricError(f"{unknown[0]} was not compared", found=", ".join(compared))
    rows: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in table.iter_rows(named=True):
        if design.data_sets:
            block = "mean of data sets" if row["group"] is None else str(row["group"])
        else:
            block = "" if design.by is None else group_words(design.by, row["group"])
        rows.setdefault((block, row["metric"]), []).append(row)
    blocks = list(dict.fromkeys(block for block, _ in rows))
    return [
        _Column(block, name, rows[block, name], design.directions.get(name))
        for block in blocks
        for name in names
        if (block, name) in rows
    ]


def _number(value: float, digits: int, *, percent: bool) -> str:
    """Return a value of a paper: significant digits, without the zero before the point.

    >>> _number(0.0592, 3, percent=False), _number(0.0592, 3, percent=True), _number(3.778, 3, percent=False)
    ('.0592', '5.92', '3.78')
    """
    if is_missing(value):
        return "–"
    value = 100 * value if percent else value
    text = brief(value, max(decimals(value) + digits - 3, 0) if value else None)
    return text.replace("0.", ".", 1) if text.startswith(("0.", "−0.")) else text


_SIGNS = {"better": "+", "worse": "−", "better if": "+‡", "worse if": "−‡"}
"""The marks of a system that is compared with a baseline."""


def _cells(
    column: _Column,
    order: Sequence[str],
    letters: Mapping[str, str],
    baseline: str | None,
    options: PaperOptions,
) -> dict[str, Marked]:
    """Return each system's value, with marks for best, second and significant differences."""
    values = means_by_system(column.rows)
    best = sorted({v for v in values.values() if not is_missing(v)}, reverse=bool(column.better))
    styles = {} if column.better is None else dict(zip(best, _STYLES, strict=False))
    signs = _signs(column, order) if baseline is not None else _letters(column, order, letters)
    texts = _texts(column, order, options)
    return {
        system: Marked(
            texts[system] or "–",
            styles.get(values.get(system, math.nan), ""),
            ",".join(sorted(signs[system])),
        )
        for system in order
    }


def _signs(column: _Column, order: Sequence[str]) -> dict[str, list[str]]:
    """Return the mark of each system that is compared with a baseline."""
    signs: dict[str, list[str]] = {system: [] for system in order}
    for row in column.rows:
        if row["verdict"] in _SIGNS:
            signs[row["system"]].append(_SIGNS[row["verdict"]])
    return signs


def _letters(
    column: _Column, order: Sequence[str], letters: Mapping[str, str]
) -> dict[str, list[str]]:
    """Return the letters of the systems that each system is better than."""
    beaten: dict[str, list[str]] = {system: [] for system in order}
    for row in column.rows:
        mark = "‡" if row["verdict"] in CONDITIONAL else ""
        if row["verdict"] in ("better", "better if"):
            beaten[row["system"]].append(letters[row["baseline"]] + mark)
        elif row["verdict"] in ("worse", "worse if"):
            beaten[row["baseline"]].append(letters[row["system"]] + mark)
    return beaten


def _texts(column: _Column, order: Sequence[str], options: PaperOptions) -> dict[str, str]:
    """Return each system's mean and the other values that a table of systems has of it."""
    texts = dict.fromkeys(order, "")
    for name, form in IN_SYSTEM_TABLE.items():
        for system, value in means_by_system(column.rows, name).items():
            if name == "mean":
                texts[system] += _number(value, options.digits, percent=options.percent)
            elif not is_missing(value):
                digits = max(options.digits - 1, 1)
                texts[system] += form.format(_number(value, digits, percent=options.percent))
    return texts


def paper_view(
    table: pl.DataFrame,
    design: Design,
    results: Mapping[str, Result],
    options: PaperOptions,
) -> TableView:
    """Return the table of a paper for Markdown (systems by metrics, or pairs) with its caption."""
    columns = _columns(table, design, options.metrics)
    is_of_pairs = options.layout == "pairs"
    view = (
        _pairs_as_view(columns)
        if is_of_pairs
        else _systems_as_view(columns, table, design, options)
    )
    captions = _caption(
        table,
        design,
        results,
        columns,
        bold="Best in bold, second underlined.",
        layout=options.layout,
    )
    caption = " ".join(captions) if options.caption else ""
    return replace(view, notes=design.plans, caption=caption, label=options.label)


def _pairs_as_view(columns: Sequence[_Column]) -> TableView:
    """Return one row per pair: difference, interval, p and verdict."""
    level = level_of([row for column in columns for row in column.rows])
    head = ("metric", "pair", "difference", _interval_head(level), "adjusted p", "verdict")
    rows = [(column.title, *_pair_cells(row, level)) for column in columns for row in column.rows]
    return TableView(head, rows, left=(0, 1, 5))


def _systems_as_view(
    columns: Sequence[_Column],
    table: pl.DataFrame,
    design: Design,
    options: PaperOptions,
) -> TableView:
    """Return systems by metrics, with marks for best, second and significant differences."""
    order, letters, baseline = _named(table, design)
    cells = [_cells(column, order, letters, baseline, options) for column in columns]
    rows: list[tuple[Cell, ...]] = [
        (
            system if baseline is not None else f"{system} ({letters[system]})",
            *(column[system] for column in cells),
        )
        for system in order
    ]
    return TableView(("", *(column.title for column in columns)), rows)


def _named(table: pl.DataFrame, design: Design) -> tuple[list[str], dict[str, str], str | None]:
    """Return the systems in the order of the table, their letters, and the baseline."""
    order = sorted(system_order(table, design), key=lambda name: name != design.baseline)
    return order, dict(zip(order, marks(len(order)), strict=True)), design.baseline


def latex_table(
    table: pl.DataFrame,
    design: Design,
    results: Mapping[str, Result],
    options: PaperOptions,
) -> str:
    r"""Return one ``table``, or ``table*`` over both columns of a page, for the package booktabs.

    It compiles under pdfLaTeX, LuaLaTeX and XeLaTeX.
    """
    columns = _columns(table, design, options.metrics)
    lines = (
        _pair_lines(columns)
        if options.layout == "pairs"
        else _system_lines(table, design, columns, options)
    )
    captions = _caption(
        table,
        design,
        results,
        columns,
        bold=r"\textbf{Best}, \underline{second}.",
        text=_tex,
        layout=options.layout,
    )
    name = "table*" if options.columns == "page" else "table"
    return "\n".join(
        [
            rf"\begin{{{name}}}",
            r"\centering\small\setlength{\tabcolsep}{4pt}",
            *([rf"\caption{{{' '.join(captions)}}}"] if options.caption else []),
            rf"\label{{tab:{options.label}}}",
            *lines,
            r"\bottomrule",
            r"\end{tabular}",
            rf"\end{{{name}}}",
            *(f"% {printable(plan)}" for plan in design.plans),
            "",
        ]
    )


def _system_lines(
    table: pl.DataFrame,
    design: Design,
    columns: Sequence[_Column],
    options: PaperOptions,
) -> list[str]:
    """Return the lines of a table of systems by metrics: one block per group or data set."""
    order, letters, baseline = _named(table, design)
    blocks: dict[str, list[_Column]] = {}
    for column in columns:
        blocks.setdefault(column.block, []).append(column)
    gap = r"@{\hspace{10pt}}".join(f"*{{{len(block)}}}{{l}}" for block in blocks.values())
    lines = [rf"\begin{{tabular}}{{@{{}}l{gap}@{{}}}}", r"\toprule"]
    if [*blocks] != [""]:
        lines += _block_heads(blocks, design.unit)
    lines += [
        _line(["System", *(_tex(_short(column.metric)) for column in columns)]),
        r"\midrule",
    ]

    cells = [_cells(column, order, letters, baseline, options) for column in columns]
    for system in order:
        name = _tex(system)
        if baseline is None:
            name += rf" ({letters[system]})"
        lines.append(_line([name, *(_latex_cell(column[system]) for column in cells)]))
        if system == baseline:
            lines.append(r"\addlinespace")
    return lines


def _line(cells: Sequence[str]) -> str:
    """Return a line of a table from its cells."""
    return " & ".join(cells) + r" \\"


def _block_heads(blocks: Mapping[str, Sequence[_Column]], unit: SamplingUnit) -> list[str]:
    """Return the heads of blocks, with the sample of each, and the rules below them."""
    heads, rules, at = [""], [], 2
    rows = f" {unit.rows}" if unit.is_of_requests else ""
    for block, columns in blocks.items():
        size = len(columns)
        users = {int(row["users"] or 0) for column in columns for row in column.rows}
        count = f" ($n={_count(max(users))}${rows})" if len(users) == 1 else ""
        heads.append(rf"\multicolumn{{{size}}}{{c}}{{{_tex(block)}{count}}}")
        rules.append(rf"\cmidrule(lr){{{at}-{at + size - 1}}}")
        at += size
    return [_line(heads), "".join(rules)]


def _pair_lines(columns: Sequence[_Column]) -> list[str]:
    """Return the lines of a table of pairs: difference, interval, p and verdict."""
    level = level_of([row for column in columns for row in column.rows])
    heads = [
        "Metric",
        "Pair",
        "Difference",
        _tex(_interval_head(level).capitalize()),
        "Adjusted $p$",
        "Verdict",
    ]
    lines = [r"\begin{tabular}{@{}llrrrl@{}}", r"\toprule", " & ".join(heads) + r" \\", r"\midrule"]
    for column in columns:
        name = f"{_short(column.metric)}, {column.block}" if column.block else _short(column.metric)
        texts = ([name, *_pair_cells(row, level)] for row in column.rows)
        lines.extend(" & ".join(map(_tex, cells)) + r" \\" for cells in texts)
    return lines


def _interval_head(level: float) -> str:
    """Return the head of a column of intervals: their level, if they have one."""
    return "interval" if math.isnan(level) else f"{level_text(level)} interval"


def _pair_cells(row: Mapping[str, Any], level: float) -> list[str]:
    """Return the name of a pair, its difference, interval, adjusted p-value and verdict.

    An interval of another level than that of the head says its own.
    """
    size, interval = signed(row["difference"], places(row)), interval_text(row, signed)
    if interval != "–" and not is_missing(row["confidence"]) and row["confidence"] != level:
        interval += f" ({level_text(row['confidence'])})"
    return [
        pair_name(row),
        size,
        interval,
        p_value(deciding_p(row)) + margin_mark(row),
        str(row["verdict"]),
    ]


def _short(metric: str) -> str:
    """Return the name of a metric in the spelling of papers.

    >>> _short("ndcg@10"), _short("catalog_coverage@10"), _short("intra_list_diversity(distance=jaccard)@10")
    ('NDCG@10', 'Catalog coverage@10', 'Intra-list diversity (distance jaccard)@10')
    """
    name, at, rest = metric.partition("@")
    head, bracket, parameters = name.partition("(")
    head = (
        head.upper()
        if head in _ACRONYMS
        else head.replace("intra_list", "intra-list").replace("_", " ").capitalize()
    )
    parameters = f" ({parameters.replace('=', ' ').replace('_', ' ')}" if bracket else ""
    return f"{head}{parameters}{at}{rest}"


def _latex_cell(cell: Marked) -> str:
    """Return a value with its marks; the standard deviation after ± is in a smaller font."""
    value, plus, deviation = cell.text.partition(" ± ")
    text = _tex(value)
    text = {"bold": rf"\textbf{{{text}}}", "underlined": rf"\underline{{{text}}}"}.get(
        cell.style, text
    )
    text += rf"\,{{\scriptsize$\pm${_tex(deviation)}}}" if plus else ""
    raised = cell.raised.replace("−", "-").replace("‡", r"\ddagger")
    return text + (f"$^{{{raised}}}$" if raised else "")


def _tex(text: str) -> str:
    """Return foreign text for LaTeX, on one line."""
    return latex_text(printable(text))


def _count(count: int) -> str:
    return f"{count:,}".replace(",", "{,}")


def _caption(
    table: pl.DataFrame,
    design: Design,
    results: Mapping[str, Result],
    columns: Sequence[_Column],
    *,
    bold: str,
    text: Callable[[str], str] = str,
    layout: Layout = "systems",
) -> list[str]:
    """Return the sentences of a caption: marks, tests, correction, users, rules, data, version."""
    _, letters, baseline = _named(table, design)
    users = _users_of_rows([row for column in columns for row in column.rows], design)
    spread = ", ± standard deviation between seeds" if design.seeds else ""
    test = f"{tests_of(table)}, two-sided, level {design.alpha:g}"
    if layout == "pairs":
        parts = [text(f"Differences between systems over {users}: {test}.")]
    else:
        parts = [text(f"Means over {users}{spread}."), bold]
        if baseline is not None:
            parts.append(text(f"Raised + or −: better or worse than {baseline} ({test})."))
        else:
            named = ", ".join(f"{letter} {system}" for system, letter in letters.items())
            parts.append(text(f"Raised letters: better than that system ({named}; {test})."))
        losses = [
            row["condition"]
            for column in columns
            for row in column.rows
            if row["verdict"] in CONDITIONAL
        ]
        if losses:
            condition = design.unit.condition(loss_in_cells(min(losses)))
            parts.append(text(f"With ‡: if {condition}, by the same test; paired t agrees."))
    _, others = _families(table)
    primary = f"{_short(design.primary)} is the primary metric ({_correction(table, design)})"
    rest = (
        f"; {_exploratory(design)} are exploratory (Benjamini–Hochberg over {others})"
        if others
        else ""
    )
    parts.append(text(f"{primary}{rest}."))
    parts += [
        text(note)
        for note in (
            *sample_notes(table, design),
            *statement_notes(design),
            *(f"{label}." for label in labels_of(design)),
        )
    ]
    parts += [text(clause) for clause in _data_clauses(results)]
    return [*parts, text(f"rankwise {__version__}.")]


def _users_of_rows(rows: Sequence[Mapping[str, Any]], design: Design) -> str:
    """Return how many users rows are about: in all, or in each group of users or data set."""
    if design.data_sets:
        rows = [row for row in rows if row["group"] is not None] or rows
    spread = sample_of([{**row, "users": row["users"] or 0} for row in rows], design.unit)
    each = "data set" if design.data_sets else "" if design.by is None else "group"
    return f"{spread} in each {each}" if each else spread


def _correction(table: pl.DataFrame, design: Design) -> str:
    """Return how p-values of the primary metric are corrected, and over how many pairs.

    Pairs within groups of users count as well, and pairs that were compared earlier.
    """
    method, earlier = CORRECTIONS.get(design.correction), design.earlier
    if method is None:
        return "not corrected"
    pairs = f"{method} over {count_of(_families(table)[0] + earlier, 'pair')}"
    inside = "" if design.by is None else f" and groups by {design.by}"
    return f"{pairs}{inside}" + (
        f", {earlier:,} of them compared earlier on this test set" if earlier else ""
    )


def _exploratory(design: Design) -> str:
    """Name the exploratory comparisons: the secondary metrics, and each data set alone."""
    return "the other metrics and each data set alone" if design.data_sets else "the other metrics"


def _families(table: pl.DataFrame) -> tuple[int, int]:
    """Count the rows of the primary metric, and the remaining rows: two families of tests."""
    family = int(table["primary"].sum())
    return family, len(table) - family


def _data_clauses(results: Mapping[str, Result]) -> list[str]:
    """Return clauses on relevance, excluded users and the split, each if all results agree."""
    clauses = [_shared(results, each) for each in (_relevant, _left_out, _split)]
    return [clause for clause in clauses if clause]


def _shared(results: Mapping[str, Result], say: Callable[[Result], str]) -> str:
    """Return the common text of all results; empty if they differ."""
    said = {say(result) for result in results.values()}
    return said.pop() if len(said) == 1 else ""


def _relevant(result: Result) -> str:
    threshold = result.provenance.get("settings", {}).get("relevance_threshold")
    return "" if threshold is None else f"Relevant: rating {threshold:g} or more."


def _left_out(result: Result) -> str:
    left, row = left_out_users(result), result.sampling_unit.row
    return (
        f"{count_of(left, row)} without a relevant item {'is' if left == 1 else 'are'} left out."
        if left
        else ""
    )


def left_out_users(result: Result) -> int:
    """Count the users of the ground truth who are in no mean for lack of a relevant item."""
    population = POPULATIONS.get(result.provenance.get("settings", {}).get("population", ""))
    if population is None or not population.needs_relevant:
        return 0
    return result.counts.get("truth_users_without_relevant_items", 0)


def _split(result: Result) -> str:
    if result.split is None:
        return ""
    text = split_words(result.split)
    return f"{text[0].upper()}{text[1:]}."


def _missing(what: str) -> str:
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
    order, _, baseline = _named(table, design)
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
        else _missing("the name of the data set")
    )
    card = next((result.split for result in results.values() if result.split is not None), None)
    if card is None or sets:
        return (
            f"We compared {who} on {data}; "
            f"{'their splits are on record' if card else _missing('the split')}."
        )
    parts = card["parts"]
    rows = (
        f"{parts['train']['rows']:,} training and {parts['test']['rows']:,} test rows"
        if "train" in parts
        else ""
    )
    items = max((result.counts.get("catalogue_items", 0) for result in results.values()), default=0)
    size = ", ".join(filter(None, (rows, f"{items:,} items" if items else "")))
    filters = card["input"].get("filters") or _missing("filters before the split")
    words = split_words(card).partition(" (")[0]
    share = card["rule"].get("share")
    tested = f", {100 * share:g} % of the rows tested" if isinstance(share, float) else ""
    return f"We compared {who} on {data} ({size}; {filters}; {words}{tested})."


def _lists_clause(results: Mapping[str, Result]) -> str:
    """Return from which candidates the lists were ranked, and where they were cut."""
    ranked = {"" if r.protocol is None else r.protocol.candidates for r in results.values()} or {""}
    candidates = ranked.pop() if len(ranked) == 1 else ""
    rules = dict.fromkeys(map(_relevance, results.values())) or {_missing("relevance"): None}
    said = (
        rules.popitem()[0]
        if len(rules) == 1
        else f"{_missing('one rule of relevance, because results differ')}."
    )
    return f"Candidates: {candidates or _missing('the candidate set')}; {_cut(results)}. {said}"


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
    return "lists were not cut" if known else _missing("cut-offs")


def _relevance(result: Result) -> str:
    """Describe the relevant rows of the ground truth, as the evaluation recorded them."""
    provenance = result.provenance
    rule = relevance_rule(provenance.get("settings", {}), provenance.get("inputs", {}))
    if not rule:
        return f"{_missing('relevance')}."
    if (text := _relevant(result)) and "grades" not in provenance["settings"]:
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
        return f"Means are over {_missing('the users counted')}."
    unit = next(iter(results.values())).sampling_unit
    rows = [
        {"users": r.counts.get(unit.rows, 0), "clusters": r.counts.get("users")}
        for r in results.values()
    ]
    populations = {str(evaluated_population(result.provenance)) for result in results.values()}
    population = POPULATIONS.get(populations.pop() if len(populations) == 1 else "")
    whom = _missing("which users count") if population is None else population.words
    text = f"Means are over the {sample_of(rows, unit)} {whom}"
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
        else f" ({_missing('its parameters')})"
    )
    return f"{_short(name)}{definition} is the primary metric."


def _test_clause(table: pl.DataFrame, design: Design) -> str:
    """Return the test of each pair, and over how many pairs p-values are corrected."""
    text = (
        f"For each pair the mean difference was tested {_words_on_test(table, design)} (two-sided, "
        f"α = {design.alpha:g}; {_corrected(table, design)})"
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
    """Return by what the pairs of the primary metric are tested, and what was stated for it."""
    tests = tests_of(table.filter(pl.col("primary")))
    if tests != BOUNDED:
        article = "an" if tests.startswith("exact") else "a"
        return f"with {article} {tests} test"
    words = "by Gaffke's limit of a bounded mean, which holds for any users"
    stated = stated_condition(design.unit, design.largest_loss, design.largest_cluster)
    if not stated:
        return words
    when = "as stated beforehand" if design.plans else "as stated"
    return f"{words} as long as {stated}, {when},"


def _exploratory_clause(table: pl.DataFrame, design: Design) -> str:
    """Return which pairs are exploratory, as a clause; empty if none is."""
    _, others = _families(table)
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


def _corrected(table: pl.DataFrame, design: Design) -> str:
    """Return over how many pairs p-values of the primary metric are corrected, as a clause."""
    method, earlier = CORRECTIONS.get(design.correction), design.earlier
    if method is None:
        return "not corrected"
    before = (
        f", of which {earlier:,} {'was' if earlier == 1 else 'were'} compared earlier on the "
        "same test set"
    )
    pairs = count_of(_families(table)[0] + earlier, "pair")
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
    split = f"split {cards[0]['id'][:12]}" if cards else _missing("the id of the split")
    lists = {
        name: r.provenance.get("inputs", {}).get("recommendations", {}).get("sha256")
        for name, r in results.items()
    }
    ids = [f"{name} {digest[:12]}" for name, digest in lists.items() if digest]
    said = (
        f"lists {', '.join(ids)}"
        if ids and len(ids) == len(lists)
        else _missing("hashes of the lists")
    )
    return f"All values were computed with rankwise {__version__} ({split}; {said})."
