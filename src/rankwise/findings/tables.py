"""Tables of findings for readers, and results that are shown, exported, saved and read."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, ClassVar, Self

import polars as pl

from rankwise.core.arguments import check_path
from rankwise.core.saved_forms import SavedForm
from rankwise.core.terminal import (
    Cell,
    Detail,
    DetailedDisplay,
    TableView,
    json_safe,
    level_text,
)
from rankwise.findings.columns import Column, columns_of
from rankwise.findings.words import is_missing, margin_mark, pair_name
from rankwise.tables.storage import read_folder, write_folder

_ALWAYS = ("difference", "verdict")


def columns_for_readers(row: type) -> list[Column]:
    """Return the columns of findings that readers see, the verdict last: it concludes from them."""
    columns = [column for column in columns_of(row).values() if column.head]
    return sorted(columns, key=lambda column: column.head == "verdict")


def finding_view(
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[Column],
    *,
    name: Callable[[Mapping[str, Any]], str] = pair_name,
    corner: str = "",
    heads: Mapping[str, str] | None = None,
    level: float = math.nan,
    hidden: Collection[str] = (),
    staying: Collection[str] = (),
    may_leave: bool = True,
    above: Sequence[tuple[str, Mapping[str, Cell]]] = (),
    notes: Sequence[str] = (),
) -> TableView:
    """Return one row per finding.

    Parameters
    ----------
    rows : sequence of mapping
        The findings, as rows of their table.
    columns : sequence of Column
        The columns of `columns_for_readers`; those without any value are left out.
    name : callable
        The first cell of a row.
    corner : str
        The head of the first column.
    heads : mapping of str to str
        Heads that take the place of those that columns declare.
    level : float
        The confidence level in the head of intervals; those of another level name their own.
    hidden, staying : collection of str
        Heads of columns that are left out, and of those that stay in a narrow terminal.
    may_leave : bool
        Whether columns leave a narrow terminal.
    above : sequence of (str, mapping)
        Rows before those of the findings: the first cell, and cells by the head of their column.
    notes : sequence of str
        The notes below.
    """
    shown = [column for column in columns if column.head not in hidden]
    texts = [[_cell(column, row, level) for column in shown] for row in rows]
    kept = [at for at, column in enumerate(shown) if _has_values(column, [t[at] for t in texts])]
    columns_kept = [shown[at] for at in kept]
    names = heads or {}
    head = (corner, *(names.get(column.head, column.head) for column in columns_kept))

    body: list[list[Cell]] = [
        [first, *(cells.get(column.head, "") for column in columns_kept)] for first, cells in above
    ]
    body += [[name(row), *(line[at] for at in kept)] for row, line in zip(rows, texts, strict=True)]
    return TableView(
        head,
        body,
        notes,
        left=(0, len(head) - 1),
        leaving=_leaving(columns_kept, staying) if may_leave else (),
    )


def _has_values(column: Column, texts: Sequence[Cell]) -> bool:
    """Return whether a column is shown: always, or because a finding has a value of it."""
    return column.head in _ALWAYS or any(text not in ("–", "", "None") for text in texts)


def _leaving(columns: Sequence[Column], staying: Collection[str]) -> list[int]:
    """Return the places of the columns that leave a narrow terminal, the first to leave first."""
    places = [
        at for at, column in enumerate(columns, 1) if column.leaves and column.head not in staying
    ]
    return sorted(places, key=lambda at: (-columns[at - 1].leaves, -at))


def _cell(column: Column, row: Mapping[str, Any], level: float) -> Cell:
    """Return the cell of a finding; an interval names its level if that is not the head's."""
    text = column.text(row)
    if column.head == "p" and (mark := margin_mark(row)):
        return f"{text}{mark}"
    is_interval = column.head == "interval" and text != "–"
    if not is_interval or is_missing(row["confidence"]) or row["confidence"] == level:
        return text
    return f"{text} ({level_text(row['confidence'])})"


class ResultTable(DetailedDisplay):
    """A result of tables and plain values, which is shown, exported, saved and read.

    A subclass is a dataclass; it implements `sentences` and `_tables_at`. Fields that are neither tables nor plain
    values are made plain by its `_parts`, and read again by `_read_values`.
    """

    form: ClassVar[SavedForm]
    """The form in which it is saved."""
    unlisted: ClassVar[frozenset[str]] = frozenset({"per_user"})
    """The tables with a row per user, which are saved and not part of `to_dict`."""

    @property
    def sentences(self) -> list[str]:
        """What the result says, the most important sentence first."""
        raise NotImplementedError

    @property
    def _lead(self) -> TableView:
        """The sentences, as they stand without any table or above the first."""
        return TableView((), (), caption="\n".join(self.sentences))

    def views_at(self, detail: Detail) -> list[TableView]:
        """Return the sentences alone, with the main tables, or with everything that is known.

        Parameters
        ----------
        detail : {"verdict", "table", "full"}
            How much is shown.
        """
        return [self._lead] if detail == "verdict" else self._tables_at(detail)

    def _tables_at(self, detail: Detail) -> list[TableView]:
        """Return the tables, where more than the sentences is asked for."""
        raise NotImplementedError

    @property
    def asides(self) -> Sequence[str]:
        """What a report of the same systems says of it below the verdict."""
        return ()

    def _parts(self) -> tuple[dict[str, pl.DataFrame], dict[str, Any]]:
        """Return the tables, and the plain values, by name."""
        parts = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        frames = {name: part for name, part in parts.items() if isinstance(part, pl.DataFrame)}
        return frames, {name: part for name, part in parts.items() if name not in frames}

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the values of users as plain values, ready for JSON."""
        frames, values = self._parts()
        tables = {
            name: frame.to_dicts() for name, frame in frames.items() if name not in self.unlisted
        }
        data: dict[str, Any] = json_safe({**tables, **values})
        return data

    def save(self, folder: str | Path) -> Path:
        """Write ``result.json`` and the tables into a folder, which `load` reads.

        Parameters
        ----------
        folder : str or Path
            The folder, made if it does not exist.

        Examples
        --------
        >>> import tempfile
        >>> import rankwise as rw
        >>> log = {"item": [1, 2], "propensity": [0.5, 0.5], "click": [1, 0], "p_new": [1.0, 0.0]}
        >>> result = rw.off_policy(log, targets={"new": "p_new"})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     rw.OffPolicy.load(result.save(folder)).table["support"].to_list()
        ['observed', 'none']
        """
        path, (frames, values) = check_path("folder", folder), self._parts()
        write_folder(path, {self.form.key: self.form.version, **values}, frames)
        return path

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a result that `save` wrote.

        Parameters
        ----------
        folder : str or Path
            The folder.
        """
        head, frames = read_folder(check_path("folder", folder), cls.form)
        names = [field.name for field in fields(cls)]  # type: ignore[arg-type]
        values = cls._read_values({name: head[name] for name in names if name not in frames})
        return cls(**{name: frames[name] if name in frames else values[name] for name in names})

    @classmethod
    def _read_values(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Return the plain values that `_parts` returned as the types of the fields."""
        return values
