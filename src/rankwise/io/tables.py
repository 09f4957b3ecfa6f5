"""Any source to one table: ids, and the rank, score or relevance beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankwise.errors import ColumnError, EmptyError, FileError, IdError, InputError
from rankwise.io.cards import card_beside
from rankwise.io.checks import check_finite, checked_ids
from rankwise.io.columns import Columns, Kind, choose, recognise
from rankwise.io.files import RawFile, read_file
from rankwise.io.python import from_array, from_mapping, from_sparse

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankwise.protocol import Protocol

__all__ = ["WHOLE_NUMBER", "Table", "from_arrow", "from_file", "read_table", "typed", "whole"]

_IDS = ("user", "item")
_NUMBERS = ("rank", "score", "relevance", "weight")
WHOLE_NUMBER = r"^(0|-?[1-9][0-9]{0,18})$"
"""Text that is a whole number, written as such numbers are."""
_WHOLE = ("users", "items", "interactions")
"""Kinds of tables that keep their other columns: groups, categories, sessions, …."""


@dataclass(frozen=True)
class Table:
    """A table whose columns are named by their roles.

    Attributes
    ----------
    frame : polars.DataFrame
        Columns ``user``, ``item`` and, where there are such, ``rank``, ``score``,
        ``relevance``, ``timestamp``; other columns keep their names in tables of users and items.
    kind : str
        What the table is for.
    source : str
        Where it came from.
    form : str
        What it was recognised as.
    columns : dict of str to str
        The column of each role.
    is_text : bool
        Whether its ids were text in a file and became integers because all of them could.
    padding : int
        Places of a dense array that held -1 for no item.
    sha256 : str or None
        Of the file; None for tables in memory.
    protocol : Protocol or None
        Which candidates lists were ranked from; None where nothing says so.
    counts : mapping of str to int
        What was out of the ordinary when lists were made.
    lengths : polars.DataFrame or None
        For exact ranks, each ``user`` and its number of candidates, ``length``. The rows are then
        judged items alone, with the ranks ``first`` to ``last`` that they may have.
    unranked : polars.DataFrame or None
        For exact ranks, judged items that were no candidates: ``user``, ``item``.
    k : int or None
        For lists that were cut at k, k; they also hold what ties with their last item.
    split : mapping or None
        The card of the split that this is a part of, where that is known.
    """

    frame: pl.DataFrame
    kind: Kind
    source: str
    form: str
    columns: dict[str, str]
    is_text: bool = False
    padding: int = 0
    sha256: str | None = None
    protocol: Protocol | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    lengths: pl.DataFrame | None = None
    unranked: pl.DataFrame | None = None
    k: int | None = None
    split: Mapping[str, Any] | None = None

    def with_ids(self, role: str, ids: pl.Series) -> Table:
        """Return the table with other ids in the place of a role."""
        return replace(self, frame=self.frame.with_columns(ids.alias(role)))

    def relevant(self, threshold: float | None) -> pl.DataFrame:
        """Return the rows that are relevant: all, if nothing says how much."""
        if "relevance" not in self.frame.columns:
            return self.frame
        good = pl.col("relevance") > 0 if threshold is None else pl.col("relevance") >= threshold
        return self.frame.filter(good)

    def with_frame(self, frame: pl.DataFrame) -> Table:
        """Return the table with other rows."""
        return replace(self, frame=frame)


def read_table(source: Any, kind: Kind, columns: Columns | None = None) -> Table:
    """Read a table from whatever holds it.

    Parameters
    ----------
    source : object
        A `Ranking` or `Ranks`, a path (``-`` for standard input), any table with the Arrow
        PyCapsule interface (Polars, pandas, PyArrow, DuckDB), a mapping by user, a dense array with
        a row a user, or a SciPy sparse matrix. For items also any iterable of ids.
    kind : {"recommendations", "truth", "train", "items", "users", "baseline", "interactions"}
        What the table is for: decides which columns are looked for.
    columns : mapping of str to str or None, optional
        The column of a role where its name does not say so, ``{"user": "uid"}``; with a dot for
        one table only, ``{"truth.relevance": "stars"}``; None for a column not to be used.

    Returns
    -------
    Table

    Raises
    ------
    InputError
        If it cannot be read, or does not hold what its kind needs.

    Examples
    --------
    >>> table = read_table({"ann": [3, 1], "bob": [2]}, "recommendations")
    >>> table.frame["item"].to_list()
    [3, 1, 2]
    """
    if isinstance(source, Table) or hasattr(source, "as_table"):  # read or made here already
        made: Table = source if isinstance(source, Table) else source.as_table(kind)
        if made.frame.is_empty() and made.lengths is None:
            raise EmptyError(f"the table of {kind} is empty", where=made.source, found="0 rows")
        return made
    given = choose(columns, kind)
    table = _load(source, kind, given)
    for role in _IDS:
        if role in table.frame.columns:
            table = table.with_ids(role, checked_ids(table.frame[role], role, table))
    if table.frame.is_empty():
        raise EmptyError(f"the table of {kind} is empty", where=table.source, found="0 rows")
    for role in _NUMBERS:  # other columns may be called so, and hold what they like
        if role in table.frame.columns and role in table.columns:
            check_finite(table.frame[role], role, table)
    if "rank" in table.columns:
        rank = table.frame["rank"]
        whole = rank.dtype.is_integer() or bool((rank == rank.round()).all())
        table = table.with_frame(table.frame.with_columns(rank.cast(pl.Int64))) if whole else table
    return table


def _load(source: Any, kind: Kind, given: Mapping[str, str | None]) -> Table:
    if isinstance(source, str | Path):
        raw = read_file(source)
        table = from_file(raw, kind, given)
        return replace(table, split=card_beside(source, raw.sha256)) if kind == "truth" else table
    if isinstance(source, RawFile):
        return from_file(source, kind, given)
    if isinstance(source, pl.LazyFrame):
        source = source.collect()
    if hasattr(source, "__arrow_c_stream__"):
        frame = from_arrow(source, kind)
        name = type(source).__module__.split(".")[0].lstrip("_")
        return _from_frame(frame, kind, given, kind, f"{name} table")
    if isinstance(source, Mapping):
        frame, form = from_mapping(source, kind)
        if form == "columns":
            return _from_frame(frame, kind, given, kind, form)
        return Table(frame, kind, kind, form, {name: name for name in frame.columns})
    if kind == "items" and hasattr(source, "toarray"):
        source = source.toarray()  # a sparse matrix of features
    if hasattr(source, "tocoo"):
        frame = from_sparse(source, kind)
        return Table(frame, kind, kind, "sparse matrix", {name: name for name in frame.columns})
    if kind == "items" and isinstance(source, np.ndarray) and source.ndim == 2:
        if source.dtype.kind not in "iufb":
            raise InputError(
                "items: a matrix holds the features of items, as numbers",
                found=f"{source.dtype} values",
                hint="pass a table with the ids and what is known about them",
            )
        vectors = source.astype(np.float64)
        frame = pl.DataFrame({"item": np.arange(len(source)), "features": vectors})
        return Table(frame, kind, kind, "feature matrix", {"item": "item"})
    if kind == "items" and isinstance(source, Iterable):
        return Table(_catalogue(source), kind, kind, "ids", {"item": "item"})
    if isinstance(source, np.ndarray | list | tuple) or hasattr(source, "__array__"):
        frame, padding = from_array(source, kind)
        columns = {name: name for name in frame.columns}
        return Table(frame, kind, kind, "dense array", columns, padding=padding)
    raise InputError(
        f"the {kind} are of a type that is not understood",
        found=type(source).__name__,
        hint="pass a path, a table (Polars, pandas, PyArrow, DuckDB), {user: [items]}, a dense "
        "array with a row a user, or a SciPy sparse matrix",
    )


def from_arrow(source: Any, name: str) -> pl.DataFrame:
    """Return a table of any library with the Arrow PyCapsule interface as a Polars table."""
    if isinstance(source, pl.DataFrame):
        return source
    try:
        return pl.DataFrame(source)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(
            "a column of this table holds values of several types",
            where=name,
            found=str(error).splitlines()[0],
            hint="give each column one type",
        ) from error


def whole(frame: pl.DataFrame, names: Iterable[str]) -> pl.DataFrame:
    """Turn columns of text into integers where all of it is written as integers are."""
    for name in names:
        if frame.schema[name] == pl.String and frame[name].str.contains(WHOLE_NUMBER).all():
            number = frame[name].cast(pl.Int64, strict=False)
            frame = frame if number.null_count() else frame.with_columns(number)
    return frame


def typed(frame: pl.DataFrame, names: Iterable[str]) -> pl.DataFrame:
    """Turn columns of text that hold numbers into numbers."""
    for name in names:
        column = frame[name]
        if column.dtype != pl.String or column.null_count() == len(column):
            continue
        number = column.cast(pl.Float64, strict=False)
        if number.null_count() == column.null_count():
            frame = frame.with_columns(number)
    return frame


def _catalogue(ids: Iterable[Any]) -> pl.DataFrame:
    try:
        return pl.DataFrame({"item": pl.Series(list(ids))})
    except (TypeError, pl.exceptions.PolarsError) as error:
        raise IdError("items are integers or strings, not both", where="items") from error


def _from_frame(
    frame: pl.DataFrame, kind: Kind, given: Mapping[str, str | None], source: str, form: str
) -> Table:
    roles = recognise(frame.columns, kind, given, source)
    chosen = [pl.col(name).alias(role) for role, name in roles.items()]
    if kind in _WHOLE:
        others = [name for name in frame.columns if name not in roles.values()]
        taken = next((name for name in others if name in roles), None)
        if taken is not None:
            raise ColumnError(
                f"column {roles[taken]!r} is the {taken}, and another is called {taken!r}",
                where=source,
                hint=f"rename column {taken!r}",
            )
        chosen += [pl.col(name) for name in others]
    out = frame.select(chosen)
    for role in _NUMBERS:
        if role in roles and role != "rank" and out[role].dtype != pl.String:
            out = out.with_columns(_as_float(out[role], roles[role], source))
    return Table(out, kind, source, form, roles)


def _as_float(column: pl.Series, name: str, source: str) -> pl.Series:
    if not (column.dtype.is_numeric() or column.dtype == pl.Boolean):
        raise ColumnError(
            f"column {name!r} does not hold numbers", where=source, found=str(column.dtype)
        )
    return column.cast(pl.Float64)


def from_file(raw: RawFile, kind: Kind, given: Mapping[str, str | None]) -> Table:
    """Give a file that was read the roles of a kind of table."""
    frame = raw.frame
    if raw.format.kind == "json lines":
        frame = _exploded(frame)
    table = _from_frame(frame, kind, given, raw.name, str(raw.format))
    table = replace(table, sha256=raw.sha256, is_text=raw.is_text)
    if not raw.is_text:
        return table
    out = table.frame
    if any(out[role].null_count() for role in _IDS if role in out.columns):
        out = out.filter(~pl.all_horizontal(pl.all().is_null()))  # blank lines
    for role, name in table.columns.items():
        if role in _IDS:
            out = out.with_columns(out[role].str.strip_chars())
            _no_nulls(raw, out[role], name)
            out = whole(out, [role])
        elif role in _NUMBERS:
            out = out.with_columns(_numbers(raw, out[role], name))
        elif role == "timestamp":  # a number, or a date for whoever splits by it
            for kind_of_number in (pl.Int64, pl.Float64):
                column = out[role].cast(kind_of_number, strict=False)
                if not column.null_count():
                    out = out.with_columns(column)
                    break
    return replace(table, frame=out)


_LISTS = {"items": "item", "scores": "score", "relevances": "relevance", "ratings": "rating"}


def _exploded(frame: pl.DataFrame) -> pl.DataFrame:
    """Turn lines that hold whole lists into a row an item; other lists stay as they are."""
    lists = [
        name
        for name, dtype in frame.schema.items()
        if isinstance(dtype, pl.List) and (name in _LISTS or name in _LISTS.values())
    ]
    if not lists:
        return frame
    try:
        frame = frame.explode(lists, empty_as_null=False)
    except pl.exceptions.PolarsError as error:
        raise FileError(
            "the lists of one line are of different lengths", found=", ".join(lists)
        ) from error
    return frame.rename({name: _LISTS[name] for name in lists if name in _LISTS})


def _numbers(raw: RawFile, column: pl.Series, name: str) -> pl.Series:
    out = column.str.strip_chars().cast(pl.Float64, strict=False)
    if out.null_count():
        at = raw.frame.columns.index(name)
        raise _bad_line(raw, f"column {name!r} is not a number", lambda f: not _reads(float, f[at]))
    return out


def _reads(kind: Callable[[str], float], text: str) -> bool:
    try:
        kind(text.strip())
    except ValueError:
        return False
    return True


def _no_nulls(raw: RawFile, column: pl.Series, name: str) -> None:
    if column.null_count():
        at = raw.frame.columns.index(name)
        raise _bad_line(raw, f"column {name!r} is empty", lambda f: not f[at].strip())


def _bad_line(raw: RawFile, what: str, bad: Callable[[list[str]], bool]) -> FileError:
    number, line = raw.locate(bad)
    return FileError(
        f"a line is malformed: {what}", where=f"{raw.name}, line {number}", found=repr(line[:120])
    )
