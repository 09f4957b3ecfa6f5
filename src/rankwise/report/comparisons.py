"""A comparison as a table: plain text, CSV, Markdown and LaTeX."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Any

import polars as pl

from rankwise.report.tables import aligned, html_note, html_table, number, tex

if TYPE_CHECKING:
    from rankwise.compared import Comparison

__all__ = ["caption", "csv", "html", "latex", "markdown", "marks", "plain"]


def _rows(found: Comparison) -> list[tuple[str, ...]]:
    """Return a row a pair, the primary measure first; the head before them."""
    rows: list[tuple[str, ...]] = [
        ("", "difference", "interval", "lift", "p", "adjusted", "d_z", "users", "verdict")
    ]
    ordered = found.table.sort("primary", descending=True, maintain_order=True)
    for row in ordered.iter_rows(named=True):
        lift = "–" if _missing(row["lift"]) else f"{row['lift']:+.1%}"
        undecided = row["verdict"] == "undecided" and not _missing(row["minimum_detectable"])
        least = f" (finds {number(row['minimum_detectable'])} or more)" if undecided else ""
        name = f"{row['measure']}  {row['system']} − {row['baseline']}"
        interval = f"{number(row['low'])} to {number(row['high'])}"
        rows.append((
            name, f"{row['difference']:+.4f}", interval, lift, _p(row["p"]), _p(row["p_adjusted"]),
            number(row["d_z"]), f"{row['users']:,}", row["verdict"] + least,
        ))  # fmt: skip
    return rows


def html(found: Comparison) -> str:
    """Write a comparison as HTML for a notebook."""
    return html_table(_rows(found)) + "".join(map(html_note, _notes(found)))


def plain(found: Comparison) -> str:
    """Write a comparison as text for a terminal."""
    table = _rows(found)
    return "\n".join([*aligned(table, left=(0, len(table[0]) - 1)), "", *_notes(found)])


def _missing(value: float | None) -> bool:
    return value is None or value != value


def _p(value: float) -> str:
    if _missing(value):
        return "–"
    return "<0.0001" if value < 1e-4 else f"{value:.4f}"


def _notes(found: Comparison) -> list[str]:
    """Say how it was tested, and what is out of the ordinary."""
    settings = found.settings
    level = 1 - settings["alpha"]
    tests = ", ".join(found.table["test"].unique(maintain_order=True))
    main = f"primary measure: {settings['primary']}, corrected by {settings['correction']}"
    lines = [f"{main}; others are exploratory (bh). Tests: {tests}. Intervals: {level:.0%}."]
    if settings["not_compared"]:
        cells = ", ".join(settings["not_compared"][:6])
        more = ", …" if len(settings["not_compared"]) > 6 else ""
        lines.append(
            f"not compared, being no means of users (evaluate with jackknife=64): {cells}{more}"
        )
    labels = {name: label for name, label in settings["labels"].items() if label}
    lines += [f"{name}: {label}" for name, label in labels.items()]
    seen: dict[str, None] = {}
    for row in found.table.iter_rows(named=True):
        pair = f"{row['system']} − {row['baseline']}"
        for flag in row["flags"]:
            if flag not in ("exploratory", "of all lists together"):
                seen[f"{row['measure']}, {pair}: {flag}"] = None
        if row["dropped_because"]:
            seen[f"{row['measure']}: {row['dropped_because']}"] = None
    most = list(seen)[:12]
    return lines + most + ([f"… and {len(seen) - 12} more notes"] if len(seen) > 12 else [])


def csv(found: Comparison) -> str:
    """Write the tidy table as CSV, every digit kept."""
    buffer = io.BytesIO()
    found.table.with_columns(pl.col("flags").list.join("; ")).write_csv(buffer)
    return buffer.getvalue().decode()


def marks(count: int) -> list[str]:
    """Return a mark for every system: a, b, …, z, aa, ab, ….

    >>> marks(28)[-3:]
    ['z', 'aa', 'ab']
    """
    out = []
    for at in range(count):
        text, rest = "", at + 1
        while rest:
            rest, letter = divmod(rest - 1, 26)
            text = chr(ord("a") + letter) + text
        out.append(text)
    return out


def _cells(found: Comparison) -> tuple[list[str], list[str], dict[tuple[str, str], Any]]:
    """Return systems, measures, and for each of both the value, its place and its marks."""
    table = found.table
    systems = list(dict.fromkeys([*table["baseline"], *table["system"]]))
    measures = list(dict.fromkeys(table["measure"]))
    mark = dict(zip(systems, marks(len(systems)), strict=True))
    cells: dict[tuple[str, str], Any] = {}
    for measure in measures:
        own = table.filter(pl.col("measure") == measure)
        values = dict(zip(own["baseline"], own["mean_baseline"], strict=True))
        values |= dict(zip(own["system"], own["mean_system"], strict=True))
        wins: dict[str, list[str]] = {system: [] for system in systems}
        for row in own.iter_rows(named=True):
            if row["verdict"] in ("better", "worse"):
                better = row["verdict"] == "better"
                one, other = (row["system"], row["baseline"]) if better else (
                    row["baseline"], row["system"])  # fmt: skip
                wins[one].append(mark[other])
        known = found.settings["directions"].get(measure)
        up = 1 if known else -1
        real = {value for value in values.values() if value == value}
        places = [] if known is None else sorted(real, key=lambda value: -up * value)
        for system in systems:
            value = values.get(system, float("nan"))
            place = places.index(value) if value in places else None
            cells[system, measure] = (value, place, wins[system])
    return systems, measures, cells


def caption(found: Comparison, systems: list[str]) -> str:
    """Explain the marks."""
    settings = found.settings
    letters = ", ".join(f"{m} {s}" for m, s in zip(marks(len(systems)), systems, strict=True))
    tests = ", ".join(found.table["test"].unique(maintain_order=True))
    labels = [f"{name}: {label}" for name, label in settings["labels"].items() if label]
    against = "" if settings["baseline"] is None else f" Pairs with {settings['baseline']} only."
    return (
        f"Best in bold, second underlined. Raised letters: significantly better than that system "
        f"({letters}); {tests}, two-sided, level {settings['alpha']:g}; {settings['primary']} "
        f"corrected by {settings['correction']} over its pairs, the other measures exploratory, by "
        f"Benjamini and Hochberg.{against}" + "".join(f" {label}." for label in labels)
    )


def markdown(found: Comparison) -> str:
    """Write systems by measures as Markdown."""
    systems, measures, cells = _cells(found)
    head = "| | " + " | ".join(map(_plain_text, measures)) + " |"
    lines = [head, "|---|" + "---:|" * len(measures)]
    for system, letter in zip(systems, marks(len(systems)), strict=True):
        row = []
        for measure in measures:
            value, place, wins = cells[system, measure]
            text = number(value)
            text = {0: f"**{text}**", 1: f"<u>{text}</u>"}.get(place, text)
            row.append(text + (f"<sup>{','.join(wins)}</sup>" if wins else ""))
        lines.append(f"| {_plain_text(system)} ({letter}) | " + " | ".join(row) + " |")
    return "\n".join(lines) + f"\n\n{_plain_text(caption(found, systems))}\n"


def _plain_text(text: str) -> str:
    """Write text that Markdown takes for nothing else."""
    return re.sub(r"([|<>*_`])", r"\\\1", text)


def latex(found: Comparison) -> str:
    """Write systems by measures as LaTeX for booktabs."""
    systems, measures, cells = _cells(found)
    lines = [
        r"\begin{table}",
        rf"\caption{{{tex(caption(found, systems))}}}",
        rf"\begin{{tabular}}{{l{'r' * len(measures)}}}",
        r"\toprule",
        " & ".join(["", *map(tex, measures)]) + r" \\",
        r"\midrule",
    ]
    for system, letter in zip(systems, marks(len(systems)), strict=True):
        row = [f"{tex(system)} ({letter})"]
        for measure in measures:
            value, place, wins = cells[system, measure]
            text = tex(number(value))
            text = {0: rf"\textbf{{{text}}}", 1: rf"\underline{{{text}}}"}.get(place, text)
            row.append(text + (rf"$^{{{','.join(wins)}}}$" if wins else ""))
        lines.append(" & ".join(row) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}"]) + "\n"
