"""`Split` and `Folds`: the rows of a table in parts, and the card that describes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
import polars as pl

from rankwise.core.arguments import check_choice
from rankwise.core.choices import Predicted
from rankwise.core.view import TableView, html
from rankwise.errors import ParameterError, RankwiseError, nearest
from rankwise.splits.card import known_rows, make_card
from rankwise.splits.rows import Mask, Rows
from rankwise.splits.source import FileFormat, cut_rows
from rankwise.splits.writing import Contents, write
from rankwise.tables.cards import one_line
from rankwise.tables.columns import Columns, TableRole, choose
from rankwise.tables.frames import from_frame, typed
from rankwise.tables.table import TRAINED, Table
from rankwise.tables.validation import check_finite

__all__ = ["Folds", "Split"]

_MOST_FOLDS = 10  # in a notebook: each is computed for it, and leave-p-out has millions


@dataclass(frozen=True, eq=False, repr=False)
class Split:
    """A split of a table into training, test and other parts.

    Rows are not copied until a part is used. A split can be passed wherever a ground truth is
    expected, which is then its test part (results keep its card), and wherever training
    interactions or items to exclude are expected: these are then the rows that are `known` before
    the test part, of which popularity and the catalogue are counted in the training part alone.

    Attributes
    ----------
    source : table, or whatever was split
        The table as it was given; parts are cut from it, so that the parts of a pandas table are
        pandas tables.
    masks : mapping of str to array of bool, shape (n,)
        For each part, the mask of its rows in the table as it was given.
    rule : dict
        The rule and all its parameters, as plain values.
    found : dict
        The times at which the table was cut, and counts of dropped or exceptional rows and users.

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
        """The training rows."""
        return self.part("train")

    @property
    def validation(self) -> Any:
        """The validation rows, for choosing models and parameters."""
        return self.part("validation")

    @property
    def test(self) -> Any:
        """The test rows, which are to be predicted."""
        return self.part("test")

    @property
    def history(self) -> Any:
        """The rows of test users that are known at prediction time but not used for training."""
        return self.part("history")

    def known(self, part: Predicted = "test") -> Any:
        """Return the rows that a user has before a part: what is masked when the part is predicted.

        Parameters
        ----------
        part : {"test", "validation"}, default="test"
            The part to be predicted. Before the test part, the rows of training, validation and
            history are known; before the validation part, those of training and of the history of
            validation users. Rows in no part, such as those in a gap, are not known.

        Examples
        --------
        >>> from rankwise.splits import LeaveOut
        >>> table = pl.DataFrame({"user": [1, 1, 1], "item": [5, 6, 7], "timestamp": [1, 2, 3]})
        >>> split = LeaveOut(1, validation=LeaveOut(1)).split(table)
        >>> split.known()["item"].to_list(), split.known("validation")["item"].to_list()
        ([5, 6], [5])
        """
        check_choice("part", part, Predicted)
        self._check_part(part)
        return cut_rows(self.source, known_rows(self.masks, part, "user"), self.rows)

    def part(self, name: str) -> Any:
        """Return the rows of a part, as a table of the library of the table that was split."""
        self._check_part(name)
        return cut_rows(self.source, self.masks[name], self.rows)

    def _check_part(self, name: str) -> None:
        if name not in self.masks:
            raise ParameterError(
                f"this split has no part {name!r}",
                found=", ".join(self.masks),
                hint="give the rule validation=" if name == "validation" else nearest(name, self.masks),
            )

    @cached_property
    def card(self) -> dict[str, Any]:
        """The card, which describes this split by plain values that are ready for JSON."""
        return make_card(self.rows, self.masks, self.rule, self.found)

    @cached_property
    def users(self) -> pl.DataFrame:
        """The test users: ``user``, ``history`` (warm or cold), ``known_rows`` and ``test_rows``.

        Evaluate with ``users=split.users, by="history"`` to compare warm with cold-start users.
        """
        return self._warm_or_cold("user")

    @cached_property
    def items(self) -> pl.DataFrame:
        """The items of training and test: ``item``, ``history``, ``known_rows``, ``test_rows``."""
        return self._warm_or_cold("item")

    def _warm_or_cold(self, role: Literal["user", "item"]) -> pl.DataFrame:
        codes = self.rows.user if role == "user" else self.rows.item
        known = codes.count(known_rows(self.masks, "test", role))
        tested = codes.count(self.masks["test"])
        shown = np.flatnonzero(tested if role == "user" else tested + known)
        return pl.DataFrame(
            {
                role: codes.vocabulary.decode(shown),
                "history": np.where(known[shown] > 0, "warm", "cold"),
                "known_rows": known[shown],
                "test_rows": tested[shown],
            }
        ).sort(role)

    def as_table(self, kind: TableRole = "truth", columns: Columns | None = None) -> Table:
        """Return the rows for a role: test as ground truth, and what is known before it as training.

        ``columns`` name columns that the split itself had no need of, such as the relevance.
        """
        if kind not in ("truth", "train"):
            raise ParameterError(
                f"a split can be passed as truth or train, not as {kind}",
                hint="pass one of its parts: split.train, split.test",
            )
        whole, mask = self.rows.table, self.masks["test"] if kind == "truth" else known_rows(self.masks, "test", "user")
        rows = whole.frame.filter(pl.Series(mask)).rename(whole.columns)
        given = {**whole.columns, **choose(columns, kind)}
        trained = self.masks["train"][mask]
        only_train = bool(trained.all())
        part = "test part" if kind == "truth" else "train part" if only_train else "rows known before the test part"
        table = from_frame(rows, kind, given, f"{part} of {whole.source}", whole.format)
        if kind == "train" and not only_train:
            table = table.with_frame(table.frame.with_columns(pl.Series(TRAINED, trained)))
        if "relevance" in table.columns and kind == "truth":
            table = table.with_frame(typed(table.frame, ["relevance"]))
            check_finite(table.frame["relevance"], "relevance", table)
        card = self.card if kind == "truth" else None
        return replace(table, is_text=whole.is_text, split=card)

    def save(
        self,
        folder: str | Path,
        *,
        format: FileFormat = "parquet",  # noqa: A002
        overwrite: bool = False,
    ) -> Path:
        """Write the parts and their card, ``split.json``, into a folder, atomically.

        Parameters
        ----------
        folder : str or Path
            A new or empty folder. RecBole's files are named after it.
        format : {"parquet", "csv", "recbole", "elliot", "warprec"}, default="parquet"
            `rankwise.splits.read` reads all of them. RecBole, Elliot and WarpRec have files for
            training, validation and test only, with columns user, item, rating and timestamp.
        overwrite : bool, default=False
            Replace a split that the folder holds. A folder with other files is refused either way.
        """
        return write([self._contents()], folder, format, overwrite=overwrite)

    def _contents(self) -> Contents:
        return Contents(self.source, self.rows, self.masks, self.card)

    def __repr__(self) -> str:
        lines = [one_line(self.rule)]
        lines += [f"  {name}: {rows} rows, {users} users, {items} items" for name, rows, users, items in self._sizes()]
        lines += [f"  {name}: {value}" for name, value in self.found.items()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        used = np.logical_or.reduce(list(self.masks.values())).sum()
        unused = len(self.rows) - used
        notes = [f"{unused:,} of {len(self.rows):,} rows are in no part"] if unused else []
        parts = TableView(["part", "rows", "users", "items"], list(self._sizes()), notes, one_line(self.rule))
        found = [(name, str(value)) for name, value in self.found.items()]
        return html(parts, *([TableView(["found", "value"], found)] if found else []))

    def _sizes(self) -> Iterator[tuple[str, str, str, str]]:
        """Return the name and the numbers of rows, users and items of each part."""
        for name, mask in self.masks.items():
            users, items = ((codes.count(mask) > 0).sum() for codes in (self.rows.user, self.rows.item))
            yield name, f"{mask.sum():,}", f"{users:,}", f"{items:,}"


class Folds(Sequence[Split]):
    """Several splits of one table, each computed when it is indexed."""

    def __init__(self, count: int, make: Callable[[int], Split], again: Any = None) -> None:
        self._count = count
        self._make = make
        self._again = again

    def __len__(self) -> int:
        return self._count

    def __reduce__(self) -> Any:
        """Let another process compute the folds from the rule and the table."""
        return self._again or (Folds, (self._count, self._make))

    @overload
    def __getitem__(self, at: int) -> Split: ...

    @overload
    def __getitem__(self, at: slice) -> list[Split]: ...

    def __getitem__(self, at: int | slice) -> Split | list[Split]:
        """Return one of the splits, or several."""
        if isinstance(at, slice):
            return [self._make(number) for number in range(*at.indices(self._count))]
        if not -self._count <= at < self._count:
            raise IndexError(f"there are {self._count} folds")
        return self._make(at % self._count)

    def save(
        self,
        folder: str | Path,
        *,
        format: FileFormat = "parquet",  # noqa: A002
        overwrite: bool = False,
    ) -> Path:
        """Write each fold into its own subfolder, 0, 1, 2, …, atomically; see `Split.save`."""
        return write((split._contents() for split in self), folder, format, folds=True, overwrite=overwrite)

    def __repr__(self) -> str:
        return f"{self._count} folds"

    def _repr_html_(self) -> str:
        sizes: list[dict[str, str]] = []
        rule, notes = "", []
        for number in range(min(self._count, _MOST_FOLDS)):
            try:
                split = self[number]
            except RankwiseError as error:  # an empty part: the other folds can still be shown
                notes.append(f"fold {number}: {error.what}")
                sizes.append({})
            else:
                rule = f"{one_line(split.rule)}: "
                sizes.append({name: rows for name, rows, _, _ in split._sizes()})
        parts = list(dict.fromkeys(name for fold in sizes for name in fold))
        rows = [(str(number), *(fold.get(name, "–") for name in parts)) for number, fold in enumerate(sizes)]
        if self._count > len(rows):
            notes.append(f"the first {len(rows)} of {self._count:,} folds")
        head = ["fold", *(f"{name} rows" for name in parts)]
        return html(TableView(head, rows, notes, f"{rule}{self._count:,} folds"))
