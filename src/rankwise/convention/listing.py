"""Conventions as tables: one row each, or one of them with every choice."""

from __future__ import annotations

from collections.abc import Sequence

from rankwise.convention.convention import Convention
from rankwise.core.view import TableView

__all__ = ["in_full", "listing"]


def listing(conventions: Sequence[Convention]) -> TableView:
    """Return one row per convention: its name, the library, who is averaged over, ties."""
    rows = [
        (one.name, one.library, str(one.population), str(one.undefined), str(one.relevance), one.ties or "expected")
        for one in conventions
    ]
    head = ("convention", "numbers of", "population", "undefined", "relevance", "ties")
    return TableView(head, rows, left=tuple(range(len(head))), title="Conventions", label="rankwise-conventions")


def in_full(convention: Convention) -> list[TableView]:
    """Return the choices of a convention for all measures, and what its names mean."""
    choices = [(name, "" if value is None else str(value)) for name, value in convention.choices.items()]
    names = [
        (
            entry.name,
            "not computed here" if entry.refused else entry.text,
            ", ".join(f"{choice}={value}" for choice, value in entry.choices.items()),
        )
        for entry in convention.measures.values()
    ]
    remarks = {entry.name: entry.refused or entry.note for entry in convention.measures.values()}
    notes = [f"{name}: {remark}" for name, remark in remarks.items() if remark]
    notes = [convention.note, *notes] if convention.note else notes
    head = TableView(
        (convention.name, convention.library), choices, left=(0, 1), title="Choices", label="rankwise-choices"
    )
    if not names:
        return [head]
    table = TableView(
        ("name", "measure", "choices"), names, notes=notes, left=(0, 1, 2), title="Names", label="rankwise-names"
    )
    return [head, table]
