"""A split: rows of a table in parts, and what there is to say about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

import numpy as np
import polars as pl

from rankwise.errors import ParameterError, nearest
from rankwise.io.tables import Table, from_arrow
from rankwise.splits.card import known_rows, make_card, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from rankwise.io.columns import Kind
    from rankwise.splits.rows import Mask, Rows

FileFormat: TypeAlias = Literal["parquet", "csv", "recbole", "elliot", "warprec"]

__all__ = ["FileFormat", "Folds", "Split", "as_polars", "cut_rows", "library_of"]


@dataclass(frozen=True, eq=False, repr=False)
class Split:
    """Which rows of a table are for training, for testing, and for what else.

    Nothing is copied until a part is asked for. Anything that takes a truth takes a split, for its
    test part, and then keeps its card; what takes training takes it for its training part.

    Attributes
    ----------
    source : table, or whatever was split
        As it was given; parts are cut from it, so a pandas table gives pandas tables.
    masks : mapping of str to array of bool, shape (n,)
        Which rows of the table, as it was given, belong to each part.
    rule : dict
        The rule and all its parameters, as plain values.
    found : dict
        Moments at which it was cut and how many rows and users were out of the ordinary.

    Examples
    --------
    >>> from rankwise.splits import LeaveOut
    >>> table = pl.DataFrame({"user": [1, 1, 2], "item": [5, 6, 7], "timestamp": [1, 2, 3]})
    >>> split = LeaveOut(1).split(table)
    >>> split.test.rows(), split.masks["train"].tolist()
    ([(1, 6, 2)], [True, False, True])
    """

    source: Any
    rows: Rows
    masks: Mapping[str, Mask]
    rule: Mapping[str, Any]
    found: Mapping[str, Any] = field(default_factory=dict)

    @property
    def train(self) -> Any:
        """The rows to learn from."""
        return self.part("train")

    @property
    def validation(self) -> Any:
        """The rows to choose models and parameters on."""
        return self.part("validation")

    @property
    def test(self) -> Any:
        """The rows to be predicted."""
        return self.part("test")

    @property
    def history(self) -> Any:
        """What is known of test users when they are predicted, and is no training row."""
        return self.part("history")

    def part(self, name: str) -> Any:
        """Return the rows of a part, of the kind of table that was split."""
        if name not in self.masks:
            raise ParameterError(
                f"this split has no part {name!r}",
                found=", ".join(self.masks),
                hint="give the rule validation=" if name == "validation"
                else nearest(name, self.masks),
            )  # fmt: skip
        return cut_rows(self.source, self.masks[name], self.rows)

    @cached_property
    def card(self) -> dict[str, Any]:
        """Everything that says what this split is, as plain values ready for JSON."""
        return make_card(self.rows, self.masks, self.rule, self.found)

    @cached_property
    def users(self) -> pl.DataFrame:
        """The test users: ``user``, ``history`` (warm or cold), rows known and rows of the test.

        Evaluate with ``users=split.users, by="history"`` for both side by side.
        """
        return self._states("user")

    @cached_property
    def items(self) -> pl.DataFrame:
        """The items of training and test: ``item``, ``history``, rows known and of the test."""
        return self._states("item")

    def _states(self, role: Literal["user", "item"]) -> pl.DataFrame:
        codes = self.rows.user if role == "user" else self.rows.item
        known = codes.count(known_rows(self.masks, "test", role))
        asked = codes.count(self.masks["test"])
        shown = np.flatnonzero(asked if role == "user" else asked + known)
        return pl.DataFrame(
            {
                role: codes.words.decode(shown),
                "history": np.where(known[shown] > 0, "warm", "cold"),
                "known_rows": known[shown],
                "test_rows": asked[shown],
            }
        ).sort(role)

    def as_table(self, kind: Kind = "truth") -> Table:
        """Return the part that a split stands for: test as a truth, training as training."""
        if kind not in ("truth", "train"):
            raise ParameterError(
                f"a split stands for a truth, or for training, and not for {kind}",
                hint="pass one of its parts: split.train, split.test",
            )
        return self._as_table("test" if kind == "truth" else "train", kind)

    def _as_table(self, part: str, kind: Literal["truth", "train"]) -> Table:
        whole = self.rows.table
        roles = ("user", "item", "relevance", "timestamp")
        frame = whole.frame.select(role for role in roles if role in whole.frame.columns)
        return Table(
            frame.filter(pl.Series(self.masks[part])), kind, f"{part} part of {whole.source}",
            whole.form, whole.columns, is_text=whole.is_text,
            split=self.card if kind == "truth" else None,
        )  # fmt: skip

    def save(self, folder: str | Path, *, format: FileFormat = "parquet") -> Path:  # noqa: A002
        """Write the parts and ``split.json`` into a folder, all or nothing.

        Parameters
        ----------
        folder : str or Path
            RecBole's files are called like it.
        format : {"parquet", "csv", "recbole", "elliot", "warprec"}
            `rankwise.splits.read` reads all of them. RecBole, Elliot and WarpRec know training,
            validation and test alone, and of these user, item, rating and timestamp.
        """
        from rankwise.splits.writing import write

        return write(self, folder, format)

    def __repr__(self) -> str:
        lines = [one_line(self.rule)]
        for name, mask in self.masks.items():
            users, items = (
                (codes.count(mask) > 0).sum() for codes in (self.rows.user, self.rows.item)
            )
            lines.append(f"  {name}: {mask.sum():,} rows, {users:,} users, {items:,} items")
        lines += [f"  {name}: {value}" for name, value in self.found.items()]
        return "\n".join(lines)


class Folds(Sequence[Split]):
    """Several splits of one table, each made when it is asked for."""

    def __init__(self, count: int, make: Callable[[int], Split], again: Any = None) -> None:
        self._count = count
        self._make = make
        self._again = again

    def __len__(self) -> int:
        return self._count

    def __reduce__(self) -> Any:
        """Let another process make the folds again, from the rule and the table."""
        return self._again or (Folds, (self._count, self._make))

    @overload
    def __getitem__(self, at: int) -> Split: ...

    @overload
    def __getitem__(self, at: slice) -> list[Split]: ...

    def __getitem__(self, at: int | slice) -> Split | list[Split]:
        """Make one of the splits, or several."""
        if isinstance(at, slice):
            return [self._make(each) for each in range(*at.indices(self._count))]
        if not -self._count <= at < self._count:
            raise IndexError(f"there are {self._count} folds")
        return self._make(at % self._count)

    def save(self, folder: str | Path, *, format: FileFormat = "parquet") -> Path:  # noqa: A002
        """Write every fold into a folder of its own inside one, 0, 1, 2, …, all or nothing."""
        from rankwise.splits.writing import write

        return write(self, folder, format)

    def __repr__(self) -> str:
        return f"{self._count} folds"


def cut_rows(source: Any, mask: Mask, rows: Rows) -> Any:
    """Take rows of a table in its own library."""
    library = library_of(source)
    if library == "pandas":
        return source[mask]
    if library == "pyarrow":
        return source.filter(pl.Series(mask).to_arrow())
    return as_polars(source, rows).filter(pl.Series(mask))


def library_of(source: Any) -> Literal["polars", "pandas", "pyarrow"] | None:
    """Return the library of a table whose rows can be taken by a mask; None for anything else."""
    kind = type(source)
    known: Any = (kind.__module__.split(".")[0], kind.__name__)
    tables = {("polars", "DataFrame"), ("pandas", "DataFrame"), ("pyarrow", "Table")}
    return known[0] if known in tables else None


def as_polars(source: Any, rows: Rows) -> pl.DataFrame:
    """Return what was split as a Polars table, its columns called as they were."""
    if isinstance(source, pl.DataFrame):
        return source
    if library_of(source) is not None:
        return from_arrow(source, "interactions")
    return rows.table.frame.rename(rows.table.columns)
