"""The end of a report: data, conventions, provenance and a glossary."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from rankwise.core.view import Marked, TableView, number
from rankwise.errors import MeasureError
from rankwise.measures.describe import FAMILIES
from rankwise.results.report.blocks import Block, Folded, Grid, Notes, Text
from rankwise.results.report.material import Material

__all__ = ["audit", "conventions", "data", "glossary", "inputs", "remarks", "split"]


def data(material: Material) -> list[Block]:
    """Return the counts of users, rows and irregularities of every system."""
    names = dict.fromkeys(name for r in material.results.values() for name in sorted(r.counts))
    rows = [
        [
            name.replace("_", " "),
            *(
                "–" if (count := result.counts.get(name)) is None else f"{count:,}"
                for result in material.results.values()
            ),
        ]
        for name in names
    ]
    return [Grid(TableView(["counts", *material.estimates.systems], rows))]


def split(material: Material) -> list[Block]:
    """Return the card of the split."""
    cards = [result.split for result in material.results.values() if result.split is not None]
    if not cards:
        raise MeasureError(
            "the results have no split metadata",
            hint="evaluate on a Split, or on the folder that `rankwise split` wrote",
        )
    card, tested = cards[0], next(r.tested_on for r in material.results.values() if r.split)
    head = ["part", "rows", "users", "items"]
    rows = [
        [
            name,
            *(
                f"{part[column]:,}" if isinstance(part.get(column), int) else "–"
                for column in ("rows", "users", "items")
            ),
        ]
        for name, part in card["parts"].items()
    ]
    time = card.get("time") or {}
    found = [
        f"{name.replace('_', ' ')}: {_moment(value, time) if name == 'moment' else value}"
        for name, value in card["found"].items()
    ]
    leak = time.get("leak_index", {}).get("mean")
    if leak is not None:
        found.append(f"mean share of training that is later than a test row: {leak:.2%}")
    cold = (card.get("cold") or {}).get("test") or {}
    if "share_of_users" in cold:
        found.append(
            f"test users without training rows: {cold['share_of_users']:.2%}; test items: {cold['share_of_items']:.2%}"
        )
    return [Text(tested), Grid(TableView(head, rows)), Notes(found)]


def _moment(value: Any, time: Mapping[str, Any]) -> str:
    """Return a moment as a date, where the card knows the unit of its number."""
    ticks = {"s": 1, "ms": 1e3, "us": 1e6, "ns": 1e9}.get(time.get("unit", ""))
    if ticks is None or not isinstance(value, int | float):
        return str(value)
    try:
        date = datetime.fromtimestamp(value / ticks, tz=UTC)
    except (OverflowError, ValueError, OSError):
        return str(value)
    return f"{date:%Y-%m-%d %H:%M:%S} UTC ({value})"


def audit(material: Material) -> list[Block]:
    """Return the checks of the audit."""
    if material.audit is None:
        raise MeasureError("the split was not audited", hint="pass audit=rw.audit(train, test)")
    rows = [
        [
            f"{row['code']} {row['name']}",
            Marked(row["status"], "bold" if row["status"] in ("fail", "warn") else ""),
            number(row["value"]),
            row["said"],
        ]
        for row in material.audit.iter_rows(named=True)
    ]
    bad = material.audit["status"].is_in(["fail", "warn"]).sum()
    view = TableView(["check", "verdict", "number", "what was found"], rows, left=(0, 1, 3))
    text = f"{len(rows)} checks for leakage: {bad} warn or fail."
    return [Text(text, strong=bool(bad)), Folded("The checks", [Grid(view, sortable=True)])]


def conventions(material: Material) -> list[Block]:
    """Return every setting of the evaluation, and the parameters of every measure."""
    known = {name: r.provenance.get("settings", {}) for name, r in material.results.items()}
    first, *others = ({k: v for k, v in s.items() if k != "measures"} for s in known.values())
    if others and all(other == first for other in others):
        known = {"all systems": first}
    keys = dict.fromkeys(key for settings in known.values() for key in settings)
    rows = [[key.replace("_", " "), *(_said(s.get(key)) for s in known.values())] for key in keys if key != "measures"]
    blocks: list[Block] = [Grid(TableView(["setting", *known], rows, left=range(len(known) + 1)))]
    rows = []
    for result in material.results.values():
        own = result.provenance.get("own_definitions", {})
        convention = result.provenance.get("settings", {}).get("convention", "default")
        for measure, given in result.provenance.get("measures", {}).items():
            parameters = ", ".join(f"{key}={_said(value)}" for key, value in given.items())
            whose = "rankwise" if measure in own or convention == "default" else convention
            rows.append([measure, parameters or "none", whose])
    if rows:
        listed = [list(row) for row in dict.fromkeys(map(tuple, rows))]
        grid = Grid(TableView(["measure", "parameters in full", "definition of"], listed, left=(0, 1, 2)))
        blocks.append(Folded("Parameters of every measure", [grid]))
    return blocks


def _said(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)


def inputs(material: Material) -> list[Block]:
    """Return where every table came from, with its hash, and the versions of software."""
    shared: dict[tuple[str, ...], list[str]] = {}
    for system, result in material.results.items():
        for role, card in result.provenance.get("inputs", {}).items():
            shared.setdefault((role, *_card(card)), []).append(system)
    every = len(material.results)
    rows = [["all" if len(systems) == every > 1 else ", ".join(systems), *row] for row, systems in shared.items()]
    head = ["system", "table", "source", "format", "rows", "columns", "sha256"]
    versions = {
        ", ".join(f"{key} {value}" for key, value in versions.items()): None
        for r in material.results.values()
        if (versions := r.provenance.get("versions"))
    }
    dates = {f"{name}: {r.provenance['date']}": None for name, r in material.results.items() if "date" in r.provenance}
    return [
        Grid(TableView(head, rows, left=(0, 1, 2, 3, 5, 6))),
        Notes([*versions, *(f"evaluated {date}" for date in dates)]),
    ]


def _card(card: Mapping[str, Any]) -> list[str]:
    columns = card.get("columns")
    named = columns.items() if isinstance(columns, Mapping) else ()
    rows = card.get("rows")
    return [
        str(card.get("source", "–")),
        str(card.get("format", "–")),
        f"{rows:,}" if isinstance(rows, int) else "–",
        ", ".join(role if role == name else f"{role}={name}" for role, name in named),
        (card.get("sha256") or "in memory")[:12],
    ]


def remarks(material: Material) -> list[Block]:
    """Return the notes below the table of each result."""
    return [
        Folded(f"Notes of {name}", [Notes(notes)])
        for name, result in material.results.items()
        if (notes := result.notes)
    ]


def glossary(material: Material) -> list[Block]:
    """Return the definition of each metric, from its docstring."""
    rows = [
        [found.cls.name, FAMILIES.get(found.cls.family, found.cls.family), found.summary, found.range, found.better]
        for found in material.descriptions
    ]
    if not rows:
        raise MeasureError("the values are not named after measures of rankwise")
    head = ["measure", "family", "what it says", "range", "better"]
    return [Grid(TableView(head, rows, left=(0, 1, 2, 3, 4)))]
