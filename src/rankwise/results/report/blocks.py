"""What a report is made of: sections of text, tables and charts, and reasons why one is missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import polars as pl

from rankwise.core.view import TableView
from rankwise.errors import RankwiseError

if TYPE_CHECKING:
    from rankwise.results.plots.charts import Chart

__all__ = ["Block", "Figure", "Folded", "Grid", "Missing", "Notes", "Section", "Text", "fault", "reason", "section"]


@dataclass(frozen=True)
class Text:
    """A paragraph; ``strong`` ones are what a reader should take away."""

    text: str
    strong: bool = False


@dataclass(frozen=True)
class Notes:
    """A list of remarks."""

    notes: Sequence[str]


@dataclass(frozen=True)
class Grid:
    """A table; a reader can sort its rows by each column if it is ``sortable``."""

    view: TableView
    sortable: bool = False


@dataclass(frozen=True)
class Figure:
    """A chart with what it shows in words, and its data.

    ``name`` is that of its files among the assets; ``draw`` makes the chart from the data.
    """

    name: str
    caption: str
    data: pl.DataFrame
    draw: Callable[[pl.DataFrame], Chart]


@dataclass(frozen=True)
class Missing:
    """What could not be computed, and why: a grey cell."""

    what: str
    why: str


@dataclass(frozen=True)
class Folded:
    """Details that a reader opens."""

    title: str
    blocks: Sequence[Block]


Block: TypeAlias = "Text | Notes | Grid | Figure | Missing | Folded"


@dataclass(frozen=True)
class Section:
    """A section of the page."""

    name: str
    title: str
    blocks: Sequence[Block] = field(default_factory=tuple)


def reason(error: RankwiseError) -> str:
    """Return the message of an error on one line."""
    text = f"{error.what}: {error.found}" if error.found else error.what
    return f"{text} ({error.hint})" if error.hint else text


def fault(error: Exception) -> str:
    """Return the message of an error that is not a RankwiseError."""
    said = str(error).strip().splitlines()[:1]
    return ": ".join(["an error inside rankwise", type(error).__name__, *(s[:200] for s in said)])


def section(name: str, title: str, *parts: tuple[str, Callable[[], Sequence[Block]]]) -> Section:
    """Return a section of parts, of which each may fail alone.

    A part that cannot be computed is replaced by its reason, so that no failure costs a reader the
    rest of the page.
    """
    blocks: list[Block] = []
    for what, build in parts:
        try:
            blocks += build()
        except RankwiseError as error:
            blocks.append(Missing(what, reason(error)))
        except Exception as error:  # noqa: BLE001 - the page says it; it must not be lost with it
            blocks.append(Missing(what, fault(error)))
    return Section(name, title, blocks)
