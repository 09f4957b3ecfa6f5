"""Comparisons for papers: LaTeX and Markdown tables with their captions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import polars as pl

from rankwise.comparison.design import Design
from rankwise.comparison.notes import (
    exploratory_tests,
    labels_of,
    sample_notes,
    sample_of,
    statement_notes,
    tests_of,
)
from rankwise.comparison.rows import IN_SYSTEM_TABLE
from rankwise.comparison.system_order import means_by_system, system_order
from rankwise.comparison.systems import marks
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
    loss_in_cells,
    margin_mark,
    p_value,
    pair_name,
    places,
)
from rankwise.messages import printable
from rankwise.results.display import split_words
from rankwise.results.result import Result
from rankwise.results.sampling_unit import SamplingUnit

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
    order, letters, baseline = name_systems(table, design)
    cells = [_cells(column, order, letters, baseline, options) for column in columns]
    rows: list[tuple[Cell, ...]] = [
        (
            system if baseline is not None else f"{system} ({letters[system]})",
            *(column[system] for column in cells),
        )
        for system in order
    ]
    return TableView(("", *(column.title for column in columns)), rows)


def name_systems(
    table: pl.DataFrame, design: Design
) -> tuple[list[str], dict[str, str], str | None]:
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
    order, letters, baseline = name_systems(table, design)
    blocks: dict[str, list[_Column]] = {}
    for column in columns:
        blocks.setdefault(column.block, []).append(column)
    gap = r"@{\hspace{10pt}}".join(f"*{{{len(block)}}}{{l}}" for block in blocks.values())
    lines = [rf"\begin{{tabular}}{{@{{}}l{gap}@{{}}}}", r"\toprule"]
    if [*blocks] != [""]:
        lines += _block_heads(blocks, design.unit)
    lines += [
        _line(["System", *(_tex(short_name(column.metric)) for column in columns)]),
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
        name = (
            f"{short_name(column.metric)}, {column.block}"
            if column.block
            else short_name(column.metric)
        )
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


def short_name(metric: str) -> str:
    """Return the name of a metric in the spelling of papers.

    >>> short_name("ndcg@10"), short_name("catalog_coverage@10")
    ('NDCG@10', 'Catalog coverage@10')
    >>> short_name("intra_list_diversity(distance=jaccard)@10")
    'Intra-list diversity (distance jaccard)@10'
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
    _, letters, baseline = name_systems(table, design)
    users = users_of_rows([row for column in columns for row in column.rows], design)
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
            if _SIGNS.get(row["verdict"], "").endswith("‡")
        ]
        if losses:
            condition = design.unit.condition(loss_in_cells(min(losses)))
            parts.append(text(f"With ‡: if {condition}, by the same test; paired t agrees."))
    others = exploratory_tests(table, design)
    primary = f"{short_name(design.primary)} is the primary metric ({_correction(table, design)})"
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


def users_of_rows(rows: Sequence[Mapping[str, Any]], design: Design) -> str:
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
    pairs = f"{method} over {count_of(count_families(table)[0] + earlier, 'pair')}"
    inside = "" if design.by is None else f" and groups by {design.by}"
    return f"{pairs}{inside}" + (
        f", {earlier:,} of them compared earlier on this test set" if earlier else ""
    )


def _exploratory(design: Design) -> str:
    """Name the exploratory comparisons: the secondary metrics, and each data set alone."""
    return "the other metrics and each data set alone" if design.data_sets else "the other metrics"


def count_families(table: pl.DataFrame) -> tuple[int, int]:
    """Count the rows of the primary metric, and the remaining rows: two families of tests."""
    family = int(table["primary"].sum())
    return family, len(table) - family


def _data_clauses(results: Mapping[str, Result]) -> list[str]:
    """Return clauses on relevance, excluded users and the split, each if all results agree."""
    clauses = [_shared(results, each) for each in (relevant_clause, _left_out, _split)]
    return [clause for clause in clauses if clause]


def _shared(results: Mapping[str, Result], say: Callable[[Result], str]) -> str:
    """Return the common text of all results; empty if they differ."""
    said = {say(result) for result in results.values()}
    return said.pop() if len(said) == 1 else ""


def relevant_clause(result: Result) -> str:
    """Return the rating from which an item is relevant, as a sentence; empty without a threshold."""
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
