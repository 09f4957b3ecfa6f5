"""Comparisons for papers: tables of systems or of pairs, in LaTeX and Markdown, and a paragraph on the method."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import polars as pl

from rankwise.comparison.alignment import marks
from rankwise.comparison.rows import IN_SYSTEM_TABLE, deciding_p, interval_text, is_missing, level_text, p_value, places
from rankwise.comparison.view import (
    CORRECTIONS,
    group_name,
    labels_of,
    level_of,
    listing,
    means_by_system,
    sample_notes,
    system_order,
    tests_of,
)
from rankwise.core import __version__
from rankwise.core.terminal import Cell, Marked, Style, TableView, brief, decimals, latex_text, signed
from rankwise.errors import MetricError, printable
from rankwise.results.display import split_words
from rankwise.results.result import Result

__all__ = ["Layout", "PaperOptions", "Width", "latex_table", "methods", "system_view"]

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

    metrics: Sequence[str] | None
    digits: int
    percent: bool
    columns: Width
    label: str
    caption: bool
    layout: Layout


@dataclass(frozen=True)
class _Column:
    """One metric, within one group of users or on one data set, with its rows of a comparison."""

    block: str
    metric: str
    rows: Sequence[Mapping[str, Any]]
    better: bool | None


def _columns(table: pl.DataFrame, settings: Mapping[str, Any], metrics: Sequence[str] | None) -> list[_Column]:
    """Return the columns of a table of systems, those of one group or data set together."""
    compared = table["metric"].unique(maintain_order=True).to_list()
    names = compared if metrics is None else list(metrics)
    unknown = [name for name in names if name not in compared]
    if unknown:
        raise MetricError(f"{unknown[0]} was not compared", found=", ".join(compared))
    rows: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in table.iter_rows(named=True):
        if settings["data_sets"]:
            block = "mean of data sets" if row["group"] is None else str(row["group"])
        else:
            block = "" if settings["by"] is None else f"{settings['by']} {group_name(row['group'])}"
        rows.setdefault((block, row["metric"]), []).append(row)
    blocks = list(dict.fromkeys(block for block, _ in rows))
    return [
        _Column(block, name, rows[block, name], settings["directions"].get(name))
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


def _cells(
    column: _Column, order: Sequence[str], letters: Mapping[str, str], baseline: str | None, options: PaperOptions
) -> dict[str, Marked]:
    """Return the marked value of each system: best and second, and what is better or worse than what."""
    values = means_by_system(column.rows)
    best = sorted({v for v in values.values() if not is_missing(v)}, reverse=bool(column.better))
    styles = {} if column.better is None else dict(zip(best, _STYLES, strict=False))
    raised: dict[str, list[str]] = {system: [] for system in order}
    for row in column.rows:
        if baseline is not None:
            raised[row["system"]] += [
                {"better": "+", "worse": "−"}[v] for v in [row["verdict"]] if v in ("better", "worse")
            ]
        elif row["verdict"] == "better":
            raised[row["system"]].append(letters[row["baseline"]])
        elif row["verdict"] == "worse":
            raised[row["baseline"]].append(letters[row["system"]])
    texts = dict.fromkeys(order, "")
    for name, form in IN_SYSTEM_TABLE.items():
        for system, value in means_by_system(column.rows, name).items():
            if name == "mean":
                texts[system] += _number(value, options.digits, percent=options.percent)
            elif not is_missing(value):
                texts[system] += form.format(_number(value, max(options.digits - 1, 1), percent=options.percent))
    return {
        system: Marked(
            texts[system] or "–", styles.get(values.get(system, math.nan), ""), ",".join(sorted(raised[system]))
        )
        for system in order
    }


def system_view(table: pl.DataFrame, settings: Mapping[str, Any], results: Mapping[str, Result]) -> TableView:
    """Return systems by metrics for Markdown: best and second marked, and what is significantly better or worse."""
    options = PaperOptions(None, 3, False, "page", "", True, "systems")
    columns, order, letters, baseline = _columns(table, settings, None), *_named(table, settings)
    cells = [_cells(column, order, letters, baseline, options) for column in columns]
    heads = [f"{column.metric}, {column.block}" if column.block else column.metric for column in columns]
    rows: list[tuple[Cell, ...]] = [
        (system if baseline is not None else f"{system} ({letters[system]})", *(column[system] for column in cells))
        for system in order
    ]
    caption = " ".join(_caption(table, settings, results, columns, bold="Best in bold, second underlined."))
    return TableView(("", *heads), rows, settings.get("plans", ()), caption=caption, label="rankwise-comparison")


def _named(table: pl.DataFrame, settings: Mapping[str, Any]) -> tuple[list[str], dict[str, str], str | None]:
    """Return the systems in the order of the table, their letters, and the baseline."""
    order = sorted(system_order(table, settings), key=lambda name: name != settings["baseline"])
    return order, dict(zip(order, marks(len(order)), strict=True)), settings["baseline"]


def latex_table(
    table: pl.DataFrame, settings: Mapping[str, Any], results: Mapping[str, Result], options: PaperOptions
) -> str:
    r"""Return one ``table``, or ``table*`` over both columns of a page, for the package booktabs.

    It compiles under pdfLaTeX, LuaLaTeX and XeLaTeX.
    """
    columns = _columns(table, settings, options.metrics)
    lines = _pair_lines(columns) if options.layout == "pairs" else _system_lines(table, settings, columns, options)
    captions = _caption(
        table, settings, results, columns, bold=r"\textbf{Best}, \underline{second}.", text=_tex, layout=options.layout
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
            *(f"% {printable(plan)}" for plan in settings.get("plans", ())),
            "",
        ]
    )


def _system_lines(
    table: pl.DataFrame, settings: Mapping[str, Any], columns: Sequence[_Column], options: PaperOptions
) -> list[str]:
    """Return the lines of a table of systems by metrics, one block of columns per group or data set."""
    order, letters, baseline = _named(table, settings)
    blocks = list(dict.fromkeys(column.block for column in columns))
    sizes = [sum(column.block == block for column in columns) for block in blocks]
    gap = r"@{\hspace{10pt}}".join(f"*{{{size}}}{{l}}" for size in sizes)
    lines = [rf"\begin{{tabular}}{{@{{}}l{gap}@{{}}}}", r"\toprule"]
    if blocks != [""]:
        heads, rules, at = [], [], 2
        for block, size in zip(blocks, sizes, strict=True):
            users = {row["users"] for column in columns if column.block == block for row in column.rows}
            count = f" ($n={_count(max(users))}$)" if len(users) == 1 else ""
            heads.append(rf"\multicolumn{{{size}}}{{c}}{{{_tex(block)}{count}}}")
            rules.append(rf"\cmidrule(lr){{{at}-{at + size - 1}}}")
            at += size
        lines += [" & " + " & ".join(heads) + r" \\", "".join(rules)]
    lines += [" & ".join(["System", *(_tex(_short(column.metric)) for column in columns)]) + r" \\", r"\midrule"]
    cells = [_cells(column, order, letters, baseline, options) for column in columns]
    for system in order:
        name = _tex(system) + ("" if baseline is not None else rf" ({letters[system]})")
        lines.append(" & ".join([name, *(_latex_cell(column[system]) for column in cells)]) + r" \\")
        if system == baseline:
            lines.append(r"\addlinespace")
    return lines


def _pair_lines(columns: Sequence[_Column]) -> list[str]:
    """Return the lines of a table of pairs: difference, interval, p and verdict."""
    level = level_of([row for column in columns for row in column.rows])
    interval = "Interval" if math.isnan(level) else _tex(f"{level_text(level)} interval")
    heads = ["Metric", "Pair", "Difference", interval, "Adjusted $p$", "Verdict"]
    lines = [r"\begin{tabular}{@{}llrrrl@{}}", r"\toprule", " & ".join(heads) + r" \\", r"\midrule"]
    for column in columns:
        name = f"{_short(column.metric)}, {column.block}" if column.block else _short(column.metric)
        for row in column.rows:
            pair = f"{row['system']} − {row['baseline']}"
            texts = [
                name,
                pair,
                signed(row["difference"], places(row)),
                interval_text(row, signed)
                + ("" if row["confidence"] == level else f" ({level_text(row['confidence'])})"),
                p_value(deciding_p(row)),
            ]
            lines.append(" & ".join(map(_tex, [*texts, str(row["verdict"])])) + r" \\")
    return lines


def _short(metric: str) -> str:
    """Return the name of a metric as papers write it.

    >>> _short("ndcg@10"), _short("catalog_coverage@10"), _short("recall@5")
    ('NDCG@10', 'Catalog coverage@10', 'Recall@5')
    """
    name, at, rest = metric.partition("@")
    head, bracket, parameters = name.partition("(")
    head = head.upper() if head in _ACRONYMS else head.replace("_", " ").capitalize()
    return f"{head}{bracket}{parameters}{at}{rest}"


def _latex_cell(cell: Marked) -> str:
    """Return a value with its marks; what stands after ± is smaller."""
    value, plus, deviation = cell.text.partition(" ± ")
    text = _tex(value)
    text = {"bold": rf"\textbf{{{text}}}", "underlined": rf"\underline{{{text}}}"}.get(cell.style, text)
    text += rf"\,{{\scriptsize$\pm${_tex(deviation)}}}" if plus else ""
    return text + (f"$^{{{cell.raised.replace('−', '-')}}}$" if cell.raised else "")


def _tex(text: str) -> str:
    """Return foreign text for LaTeX, on one line."""
    return latex_text(printable(text))


def _count(count: int) -> str:
    return f"{count:,}".replace(",", "{,}")


def _caption(
    table: pl.DataFrame,
    settings: Mapping[str, Any],
    results: Mapping[str, Result],
    columns: Sequence[_Column],
    *,
    bold: str,
    text: Callable[[str], str] = str,
    layout: Layout = "systems",
) -> list[str]:
    """Return the sentences of a caption: what is shown, marks, tests, correction, users, rules, data and version."""
    _, letters, baseline = _named(table, settings)
    counts = sorted({row["users"] for column in columns for row in column.rows})
    users = " to ".join(f"{count:,}" for count in dict.fromkeys((counts[0], counts[-1]))) if counts else "no"
    spread = ", ± standard deviation between seeds" if settings["seeds"] else ""
    test = f"{tests_of(table)}, two-sided, level {settings['alpha']:g}"
    if layout == "pairs":
        parts = [text(f"Differences between systems over {users} users: {test}.")]
    else:
        parts = [text(f"Means over {users} users{spread}."), bold]
        if baseline is not None:
            parts.append(text(f"Raised + or −: better or worse than {baseline} ({test})."))
        else:
            named = ", ".join(f"{letter} {system}" for system, letter in letters.items())
            parts.append(text(f"Raised letters: better than that system ({named}; {test})."))
    family, others = _families(table)
    method = CORRECTIONS.get(settings["correction"], "no correction")
    primary = f"{_short(settings['primary'])} is the primary metric ({method} over {family} pairs)"
    rest = f"; the other metrics are exploratory (Benjamini–Hochberg over {others})" if others else ""
    parts.append(text(f"{primary}{rest}."))
    parts += [text(note) for note in (*sample_notes(table, settings), *(f"{label}." for label in labels_of(settings)))]
    parts += [text(clause) for clause in _data_clauses(results)]
    return [*parts, text(f"rankwise {__version__}.")]


def _families(table: pl.DataFrame) -> tuple[int, int]:
    """Return how many rows of the primary metric are corrected together, and how many of the others."""
    family = int(table["primary"].sum())
    return family, len(table) - family


def _data_clauses(results: Mapping[str, Result]) -> list[str]:
    """Return which items are relevant, who is left out, and how the ground truth was split off, where all agree."""
    clauses = [_shared(results, each) for each in (_relevant, _left_out, _split)]
    return [clause for clause in clauses if clause]


def _shared(results: Mapping[str, Result], say: Callable[[Result], str]) -> str:
    """Return what all results say; nothing if they differ."""
    said = {say(result) for result in results.values()}
    return said.pop() if len(said) == 1 else ""


def _relevant(result: Result) -> str:
    threshold = result.provenance["settings"].get("relevance_threshold")
    return "" if threshold is None else f"Relevant: rating {threshold:g} or more."


def _left_out(result: Result) -> str:
    left = result.counts.get("truth_users_without_relevant_items", 0)
    return f"{left:,} users without a relevant item are left out." if left else ""


def _split(result: Result) -> str:
    if result.split is None:
        return ""
    text = split_words(result.split)
    return f"{text[0].upper()}{text[1:]}."


def _missing(what: str) -> str:
    return f"[not recorded: {what}]"


def methods(table: pl.DataFrame, settings: Mapping[str, Any], results: Mapping[str, Result]) -> str:
    """Return a paragraph on the method, of which every clause comes from the record.

    What is not known stands there as ``[not recorded: …]``, so that no gap is overlooked.
    """
    clauses = [
        _compared_clause(settings, table, results),
        _lists_clause(results),
        _population_clause(results),
        _metric_clause(settings, results),
        _test_clause(table, settings),
        *sample_notes(table, settings),
        _interval_clause(results),
        _power_clause(table),
        *_result_clauses(table, settings),
        _version_clause(results),
    ]
    return printable(" ".join(clause for clause in clauses if clause)) + "\n"


def _compared_clause(settings: Mapping[str, Any], table: pl.DataFrame, results: Mapping[str, Result]) -> str:
    """Return which systems were compared on which data, split how."""
    order, _, baseline = _named(table, settings)
    count = len(order) - 1
    who = f"{count} {'system' if count == 1 else 'systems'} with {baseline}" if baseline else f"{len(order)} systems"
    sets = settings["data_sets"]
    data = f"{len(sets)} data sets ({', '.join(sets)})" if sets else _missing("the name of the data set")
    card = next((result.split for result in results.values() if result.split is not None), None)
    if card is None or sets:
        return f"We compared {who} on {data}; {'their splits are on record' if card else _missing('the split')}."
    parts = card["parts"]
    rows = f"{parts['train']['rows']:,} training and {parts['test']['rows']:,} test rows" if "train" in parts else ""
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
    cutoffs = sorted({k for result in results.values() for metric in result.metrics for k in metric.k})
    cut = (
        f"metrics were cut at {listing([str(k) for k in cutoffs], 'values of k', 6)}"
        if cutoffs
        else "lists were not cut"
    )
    relevant = _shared(results, _relevant) if results else ""
    rule = relevant.removeprefix("Relevant: ").rstrip(".")
    said = f"Test rows with a {rule} are relevant." if rule else "Every row of the ground truth is relevant."
    said = said if results else _missing("relevance")
    return f"Candidates: {candidates or _missing('the candidate set')}; {cut}. {said}"


def _population_clause(results: Mapping[str, Result]) -> str:
    """Return whom means are over, who is left out, and what a missing list counts."""
    if not results:
        return f"Means are over {_missing('the users counted')}."
    users = {result.counts.get("users", 0) for result in results.values()}
    spread = " to ".join(f"{count:,}" for count in sorted({min(users), max(users)}))
    populations = {str(result.provenance["settings"].get("population")) for result in results.values()}
    whom = {
        "truth": "users with a relevant item",
        "both": "users with a relevant item and a list",
        "recommended": "users with a list",
        "all": "users with a relevant item or a list",
    }.get(populations.pop() if len(populations) == 1 else "", "users")
    text = f"Means are over the {spread} {whom}"
    left = max(r.counts.get("truth_users_without_relevant_items", 0) for r in results.values())
    text += f"; {left:,} users without one are left out" if left else ""
    without = {name: r.counts.get("users_without_list", 0) for name, r in results.items()}
    if most := max(without.values()):
        who = listing([name for name, count in without.items() if count])
        text += f"; a user without a list ({most:,} for {who}) scores 0"
    return f"{text}."


def _metric_clause(settings: Mapping[str, Any], results: Mapping[str, Result]) -> str:
    """Return the primary metric with its parameters."""
    name = settings["primary"]
    parameters: Iterable[tuple[str, Any]] = ()
    for result in results.values():
        metric = next((m for m in result.metrics if name in m.cells), None)
        if metric is not None:
            parameters = result.provenance.get("metrics", {}).get(str(metric), {}).items()
            break
    texts = [
        f"{key.replace('_', ' ')} {str(value).replace('_', ' ')}"
        for key, value in parameters
        if value not in ("()", None)
    ]
    definition = f" ({', '.join(texts)})" if texts else "" if results else f" ({_missing('its parameters')})"
    return f"{_short(name)}{definition} is the primary metric."


def _test_clause(table: pl.DataFrame, settings: Mapping[str, Any]) -> str:
    """Return the test of each pair, and over how many pairs p-values are corrected."""
    family, others = _families(table)
    primary = table.filter(pl.col("primary"))
    method = CORRECTIONS.get(settings["correction"])
    correction = (
        f"corrected over {family} {'pair' if family == 1 else 'pairs'} by {method}" if method else "not corrected"
    )
    text = f"For each pair the mean difference was tested with a {tests_of(primary)} test (two-sided, α = "
    text += f"{settings['alpha']:g}; {correction})" + (f" within groups by {settings['by']}" if settings["by"] else "")
    metrics = table.filter(~pl.col("primary"))["metric"].n_unique()
    rest = f"; {metrics} further metrics are exploratory ({others} pairs, Benjamini–Hochberg)" if others else ""
    earlier = settings.get("earlier", 0)
    before = f" {earlier:,} pairs compared earlier on the same test set are corrected for." if earlier else ""
    return f"{text}{rest}.{before}"


def _interval_clause(results: Mapping[str, Result]) -> str:
    """Return what the intervals are, and where they come from the jackknife."""
    text = "Intervals are of the test and the level of the verdict that they stand beside."
    groups = {r.provenance["settings"].get("jackknife") for r in results.values()} - {None}
    if groups:
        text += (
            f" Those of values that are no means over users come from a jackknife over {max(groups)} groups of users."
        )
    return text


def _power_clause(table: pl.DataFrame) -> str:
    """Return the difference that would have been found, of the pair that needs the largest."""
    rows = [row for row in table.filter(pl.col("primary")).to_dicts() if not is_missing(row["minimum_detectable"])]
    rows = [row for row in rows if math.isfinite(row["minimum_detectable"])]
    if not rows:
        return ""
    row = max(rows, key=lambda row: row["minimum_detectable"])
    size, who = brief(row["minimum_detectable"]), f"{row['system']} against {row['baseline']}"
    return f"With {row['users']:,} users a difference of {size} ({who}) would be found with a probability of 0.8."


def _result_clauses(table: pl.DataFrame, settings: Mapping[str, Any]) -> list[str]:
    """Return the first six pairs of the primary metric with their numbers."""
    said = {"better": "was better than", "worse": "was worse than", "not shown": "was not shown to differ from"}
    said |= {"equivalent": "was equivalent within the margin to", "different": "differed from"}
    texts = []
    for row in table.filter(pl.col("primary")).to_dicts()[:6]:
        p = p_value(deciding_p(row), settings["alpha"])
        level = "" if is_missing(row["confidence"]) else f"{level_text(row['confidence'])} "
        value = f"{signed(row['difference'], places(row))}, {level}interval {interval_text(row, signed)}"
        sign = "" if p.startswith("<") else "= "
        inside = "" if row["group"] is None else f" for {settings['by']} {group_name(row['group'])}"
        adjusted = "adjusted p" if CORRECTIONS.get(settings["correction"]) else "p"
        numbers = f"{value}, {adjusted} {sign}{p.replace('<', '< ')}"
        texts.append(f"{row['system']} {said[row['verdict']]} {row['baseline']}{inside} ({numbers}).")
    return texts


def _version_clause(results: Mapping[str, Result]) -> str:
    """Return the version, and the ids of the split and of the recommendation lists."""
    cards = [result.split for result in results.values() if result.split is not None]
    split = f"split {cards[0]['id'][:12]}" if cards else _missing("the id of the split")
    lists = {
        name: r.provenance.get("inputs", {}).get("recommendations", {}).get("sha256") for name, r in results.items()
    }
    ids = [f"{name} {digest[:12]}" for name, digest in lists.items() if digest]
    said = f"lists {', '.join(ids)}" if ids and len(ids) == len(lists) else _missing("hashes of the lists")
    return f"All values were computed with rankwise {__version__} ({split}; {said})."
