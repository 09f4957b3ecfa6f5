"""A result as a table: plain text, HTML, CSV, Markdown and LaTeX."""

from __future__ import annotations

import html as escape
import io
import math
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankwise.result import Result

__all__ = [
    "aligned",
    "csv",
    "footnote",
    "html",
    "html_note",
    "html_table",
    "latex",
    "markdown",
    "number",
    "plain",
    "rows",
    "tex",
]


def number(value: float | None) -> str:
    """Write a value for people: four places, whole numbers without, NaN as a dash.

    >>> number(0.123456), number(17.0), number(float("nan"))
    ('0.1235', '17', '–')
    """
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return f"{value:.0f}" if value == round(value) and abs(value) > 1 else f"{value:.4f}"


def rows(result: Result) -> list[tuple[str, ...]]:
    """Return the table of a result: a row a measure, a column a cut-off; the head first."""
    ks = sorted({k for measure in result.measures for k in measure.k})
    whole = any(not measure.k for measure in result.measures)
    columns: list[int | None] = [*ks, *([None] if whole else [])]
    head = (_corner("measure", result), *(f"@{k}" for k in ks), *(["whole"] if whole else []))
    body = []
    for measure in result.measures:
        found: dict[str, dict[int | None, float]] = {}
        for at, k in enumerate(measure.k or (None,)):
            for label, value in result.cells(measure, at):
                found.setdefault(label, {})[k] = value
        name = str(measure @ ())
        if found and "" not in found:
            body.append((name, *("" for _ in columns)))
        for label, cells in found.items():
            row = [number(cells[k]) if k in cells else "" for k in columns]
            body.append((f"  {label}" if label else name, *row))
    return [head, *body]


def _corner(word: str, result: Result) -> str:
    """Write the first cell of a table: a sample of candidates is never out of sight."""
    return f"{word}, {result.label}" if result.label else word


def slice_rows(result: Result) -> list[tuple[str, ...]]:
    """Return the table of the groups: a row a value, a column a group; empty without groups."""
    if result.slices is None:
        return []
    groups = result.slices.to_dicts()
    head = [f"{row['by']}={'–' if row['group'] is None else row['group']}" for row in groups]
    users = [f"{row['users']:,}" for row in groups]
    heads = ("by", "group", "users", "label")
    cells = [name for name in result.slices.columns if name not in heads]
    body = [(name, *(number(row[name]) for row in groups)) for name in cells]
    return [(_corner("group", result), *head), ("users", *users), *body]


def footnote(result: Result) -> str:
    """Say who counted, and what was out of the ordinary."""
    counts = result.counts
    notes = [f"{counts['users']:,} users"]
    if not counts.get("relevant_rows"):
        notes.append("no recommended item is relevant (do the item ids agree?)")
    words = {
        "users_without_list": "without a list",
        "users_without_relevant_items": "without relevant items",
        "lists_without_relevant_items": "lists of users without relevant items",
        "truth_users_without_relevant_items": "users of the truth without relevant items",
        "tied_rows": "rows with tied scores",
        "duplicates_dropped": "repeated rows dropped",
        "truth_duplicates_dropped": "repeated truth rows dropped",
        "lists_with_rank_gaps": "lists with gaps in their ranks",
        "truth_rows_without_score": "truth rows without a score",
        "recommended_items_outside_catalogue": "recommended items outside the catalogue",
        "lists_whose_scores_rise": "lists whose scores rise where their ranks fall (ranks decided)",
        "padding": "padded places",
        "recommendations_of_cold_items": "recommendations of items never seen in training",
        "users_without_history": "without a history",
        "users_without_baseline": "without a baseline list",
        "baseline_duplicates_dropped": "repeated baseline rows dropped",
        "train_rows_repeated": "repeated training rows, counted once",
        "users_model_failed_for": "whom the model failed for",
        "users_with_too_few_items": "with fewer items than asked for",
        "items_repeated": "items repeated by the model, dropped",
        "seen_items_recommended": "recommended items seen in training",
        "seen_items_taken_out": "items seen in training, taken out of lists",
        "truth_rows_seen_in_training": "rows of the truth seen in training, which cannot be found",
        "items_unknown": "recommended items that are unknown",
        "users_without_scores": "users of the truth without scores",
        "users_with_nothing_to_rank": "with nothing left to rank",
        "lists_shorter_than_k": "lists shorter than asked for: too few candidates",
        "truth_rows_that_are_no_candidates": "rows of the truth that are no candidates",
        "excluded_without_scores": "excluded rows without scores",
        "candidates_without_scores": "candidates without scores",
        "candidates_repeated": "repeated candidates, ranked once",
        "users_with_fewer_negatives": "with fewer negatives than asked for",
    }
    words |= {
        name: name.replace("_", " ")
        for name in counts
        if name.startswith(("recommendations_without_", "users_without_group"))
    }
    notes += [f"{counts[name]:,} {word}" for name, word in words.items() if counts.get(name)]
    for name, own in result.diagnostics.items():
        said_of = f"{name}: effective sample size {own['effective_sample_size']:,.0f} of "
        said_of += f"{own['relevant_items']:,.0f}"
        if "clip" in own:
            said_of += f", {own['clipped_share']:.1%} clipped at {own['clip']:g}"
        notes.append(f"{said_of}, largest weight {own['largest_weight_share']:.1%}")
    settings = result.provenance["settings"]
    if result.protocol is not None:
        notes.append(f"candidates: {result.label or result.protocol.candidates}")
    if result.tested_on:
        notes.append(f"split: {result.tested_on}")
    said = [f"{name}={settings[name]}" for name in ("population", "ties") if name in settings]
    if settings.get("relevance_threshold") is not None:
        said.append(f"relevant: >= {settings['relevance_threshold']:g}")
    if "catalogue_items" in counts:
        said.append(f"catalogue: {counts['catalogue_items']:,} items, {settings['catalogue']}")
    return "; ".join([*notes, *said])


def plain(result: Result) -> str:
    """Write a result as text for a terminal."""
    tables = [rows(result)] + ([slice_rows(result)] if result.slices is not None else [])
    blocks = ["\n".join(aligned(table)) for table in tables]
    return "\n\n".join([*blocks, footnote(result)])


def aligned(table: Sequence[Sequence[str]], left: Sequence[int] = (0,)) -> list[str]:
    """Write the rows of a table one below the other: some columns to the left, others right.

    >>> aligned([("", "a"), ("bb", "10")])
    ['     a', 'bb  10']
    """
    widths = [max(len(row[at]) for row in table) for at in range(len(table[0]))]
    return [
        "  ".join(
            cell.ljust(width) if at in left else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]


def html(result: Result) -> str:
    """Write a result as an HTML table for a notebook, dark or light."""
    tables = [rows(result)] + ([slice_rows(result)] if result.slices is not None else [])
    return "".join(map(html_table, tables)) + html_note(footnote(result))


def html_table(table: Sequence[Sequence[str]]) -> str:
    """Write a table, its head first, as HTML."""
    style = "border-collapse:collapse;font-variant-numeric:tabular-nums"
    head = "".join(f'<th scope="col">{escape.escape(cell)}</th>' for cell in table[0])
    body = "".join(
        f'<tr><th scope="row" style="text-align:left">{escape.escape(row[0])}</th>'
        + "".join(f'<td style="text-align:right">{escape.escape(cell)}</td>' for cell in row[1:])
        + "</tr>"
        for row in table[1:]
    )
    return f'<table style="{style}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def html_note(text: str) -> str:
    """Write a note below a table as HTML."""
    return f"<p><small>{escape.escape(text)}</small></p>"


def csv(result: Result) -> str:
    """Write the scores as CSV, every digit kept; the groups as further rows."""
    scores = result.scores
    if result.slices is not None:
        long = _long_slices(result)
        nothing = pl.lit(None, pl.String)
        scores = scores.with_columns(by=nothing, group=nothing)
        scores = pl.concat([scores, long.select(scores.columns)])
    buffer = io.BytesIO()
    scores.write_csv(buffer)
    return buffer.getvalue().decode()


def _long_slices(result: Result) -> pl.DataFrame:
    assert result.slices is not None
    known = {
        cell: (str(measure @ ()), measure.k[at] if measure.k else None, measure.higher_is_better)
        for measure in result.measures
        for at, cell in enumerate(measure.cells)
    }
    better = {True: "higher", False: "lower", None: None}
    out = []
    for row in result.slices.to_dicts():
        for cell, (name, k, higher) in known.items():
            out += [
                {"measure": name, "k": k, "cell": column.removeprefix(cell)[1:-1] or None,
                 "value": value, "users": row["users"], "better": better[higher],
                 "label": result.label or None, "by": row["by"], "group": row["group"]}
                for column, value in row.items()
                if column == cell or column.startswith(f"{cell}[")
            ]  # fmt: skip
    kinds = {"k": pl.Int64(), "cell": pl.String(), "value": pl.Float64(), "label": pl.String()}
    return pl.DataFrame(out, schema_overrides=kinds)


def markdown(result: Result) -> str:
    """Write a result as Markdown tables with a footnote."""
    blocks = []
    for table in filter(None, [rows(result), slice_rows(result)]):
        head, *body = [
            "| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |" for row in table
        ]
        rule = "|---|" + "---:|" * (len(table[0]) - 1)
        blocks.append("\n".join([head, rule, *body]))
    return "\n\n".join([*blocks, footnote(result)]) + "\n"


_LATEX = {"\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
          "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
          "–": "--", "<": r"$<$", ">": r"$>$"}  # fmt: skip


def tex(text: str) -> str:
    """Write text so that LaTeX shows it."""
    return "".join(_LATEX.get(letter, letter) for letter in text)


def latex(result: Result) -> str:
    """Write a result as LaTeX tables for booktabs."""
    blocks = []
    for table in filter(None, [rows(result), slice_rows(result)]):
        head, *body = [" & ".join(map(tex, row)) + r" \\" for row in table]
        lines = [
            rf"\begin{{tabular}}{{l{'r' * (len(table[0]) - 1)}}}",
            r"\toprule",
            head,
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
        ]
        blocks.append("\n".join(lines))
    return "\n\n".join([*blocks, f"% {footnote(result)}"]) + "\n"
