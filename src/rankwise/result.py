"""The result: scores, every user's values, and everything needed to get the same numbers again."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from rankwise.errors import FileError, MeasureError, ParameterError, nearest
from rankwise.io.writing import new_folder, write_text
from rankwise.measures.kinds import read_label
from rankwise.measures.measure import Measure
from rankwise.measures.parsing import parse, parse_all
from rankwise.protocol import Protocol
from rankwise.splits.card import in_words

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["SCHEMA_VERSION", "Result", "load"]

SCHEMA_VERSION = 2
"""Of ``result.json``: raised when a reader of the old form could not read the new one."""


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """What an evaluation found.

    Attributes
    ----------
    measures : tuple of Measure
        What was asked for.
    values : dict of str to float
        The value of every measure at every cut-off, ``{"ndcg@10": 0.31, …}``, and of its cells
        where it has some, ``{"reo@10[item_group=a]": 0.2, …}``.
    per_user : polars.DataFrame
        A row a user in order of id: ``user``, ``n_relevant``, ``list_length``, and a column for
        every value that a single user has. NaN where a user has none.
    counts : dict of str to int
        How many users, rows, ties, repetitions, …: nothing is dropped without a count here.
    slices : polars.DataFrame or None
        A row a group, if ``by`` was given.
    provenance : dict
        Versions, settings, measures in full, inputs with their columns and hashes, facts, date.
    diagnostics : dict of str to dict of str to float
        What debiased measures rest on: effective sample size, largest weight, clip.

    Examples
    --------
    >>> import rankwise as rw
    >>> result = rw.evaluate({"ann": [1, 3, 5, 7, 9]}, {"ann": {1, 5, 10}}, ["p@5", "ndcg@5"])
    >>> result["precision@5"], result["nDCG@5"]
    (0.4, 0.7039)
    >>> result.scores["measure"].to_list()
    ['precision', 'ndcg']
    """

    measures: tuple[Measure, ...]
    values: dict[str, float]
    per_user: pl.DataFrame
    counts: dict[str, int]
    slices: pl.DataFrame | None
    provenance: dict[str, Any]
    diagnostics: dict[str, dict[str, float]] = field(default_factory=dict)

    @property
    def protocol(self) -> Protocol | None:
        """Which candidates lists were ranked from; None for lists that do not say."""
        saved = self.provenance.get("candidates")
        return None if saved is None else Protocol.of(saved)

    @property
    def split(self) -> dict[str, Any] | None:
        """The card of the split whose test part was the truth; None where that is not known."""
        return self.provenance.get("split")

    @property
    def tested_on(self) -> str:
        """Which split the truth is of, on one line; empty where that is not known."""
        return "" if self.split is None else in_words(self.split)

    @property
    def label(self) -> str:
        """What every display says of values over a sample of candidates; empty for others."""
        return "" if self.protocol is None else self.protocol.label

    def __getitem__(self, measure: str | Measure) -> float:
        """Return one value: ``result["ndcg@10"]``, under any name that the measure has.

        A cell is ``result["reo@10[item_group=a]"]``.
        """
        name = str(measure)
        if name not in self.values:
            name = _canonical(name, self.values)
        if name not in self.values:
            cells = [cell for cell in self.values if cell.startswith(f"{name}[")]
            raise MeasureError(
                f"{measure} has several values" if cells else f"{measure} was not evaluated",
                found=_some(cells or list(self.values)),
                hint=f"take one of them, or result.table({name!r})"
                if cells
                else nearest(name, self.values),
            )
        return self.values[name]

    def table(self, measure: str | Measure) -> pl.DataFrame:
        """Return the cells of a measure that has several values: their groups, and ``value``.

        Examples
        --------
        >>> import rankwise as rw
        >>> items = {"item": [1, 2], "group": ["a", "b"]}
        >>> result = rw.evaluate({"ann": [1]}, {"ann": {1, 2}}, "reo@1", items=items)
        >>> result.table("reo@1").rows()
        [('a', 1.0), ('b', 0.0)]
        """
        name = str(measure if isinstance(measure, Measure) else parse(measure))
        head = f"{name}["
        rows = [
            {**read_label(cell.removeprefix(head)[:-1]), "value": value}
            for cell, value in self.values.items()
            if cell.startswith(head)
        ]
        if not rows:
            raise MeasureError(
                f"{measure} has no cells",
                found=_some([cell for cell in self.values if cell.endswith("]")]) or "no cells",
                hint="result[...] gives its value" if name in self.values else None,
            )
        return pl.DataFrame(rows, infer_schema_length=None)

    def cells(self, measure: Measure, at: int) -> list[tuple[str, float]]:
        """Return label and value of everything that a measure says at its ``at``-th cut-off."""
        name = measure.cells[at]
        own = [("", self.values[name])] if name in self.values else []
        labelled = [
            (cell.removeprefix(f"{name}[")[:-1], value)
            for cell, value in self.values.items()
            if cell.startswith(f"{name}[")
        ]
        return own + labelled

    @cached_property
    def scores(self) -> pl.DataFrame:
        """A row a value: ``measure``, ``k``, ``cell``, ``value``, ``users``, ``better``, ``label``.

        ``cell`` is null for the measure's own value, ``users`` the number of those with a value,
        ``label`` says that candidates were sampled, and is null where they were not.
        """
        rows = []
        for measure in self.measures:
            better = {True: "higher", False: "lower", None: None}[measure.higher_is_better]
            for at, name in enumerate(measure.cells):
                each = self.per_user[name] if name in self.per_user.columns else None
                users = None if each is None else int(each.is_not_nan().sum())
                rows += [
                    {
                        "measure": str(measure @ ()),
                        "k": measure.k[at] if measure.k else None,
                        "cell": label or None,
                        "value": value,
                        "users": None if label else users,
                        "better": better,
                        "label": self.label or None,
                    }
                    for label, value in self.cells(measure, at)
                ]
        text, whole = pl.String(), pl.Int64()
        schema = {"measure": text, "k": whole, "cell": text, "value": pl.Float64(), "users": whole,
                  "better": text, "label": text}  # fmt: skip
        return pl.DataFrame(rows, schema=schema)

    def __repr__(self) -> str:
        from rankwise.report.tables import plain

        return plain(self)

    def _repr_html_(self) -> str:
        from rankwise.report.tables import html

        return html(self)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the per-user table as plain values, ready for JSON.

        A value that is not a number becomes None, which JSON can hold.
        """
        return {
            "schema_version": SCHEMA_VERSION,
            "label": self.label,
            "values": {cell: _or_none(value) for cell, value in self.values.items()},
            "counts": self.counts,
            "slices": None if self.slices is None else _plain_rows(self.slices),
            "diagnostics": {
                name: {what: _or_none(value) for what, value in own.items()}
                for name, own in self.diagnostics.items()
            },
            "provenance": self.provenance,
        }

    def export(
        self,
        format: Literal["json", "csv", "markdown", "latex"],  # noqa: A002
    ) -> str:
        """Write the scores as text.

        Parameters
        ----------
        format : {"json", "csv", "markdown", "latex"}
            JSON holds counts and provenance too; LaTeX needs the package booktabs.
        """
        from rankwise.report.tables import csv, latex, markdown

        if format == "json":
            return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"
        writers = {"csv": csv, "markdown": markdown, "latex": latex}
        if format not in writers:
            raise ParameterError(
                "format must be one of json, csv, markdown, latex", found=f"format={format!r}"
            )
        return writers[format](self)

    def save(self, folder: str | Path) -> Path:
        """Write ``result.json`` and ``per_user.parquet`` into a folder, all or nothing.

        Raises
        ------
        OutputError
            If the folder cannot be written; what stood there before is then untouched.
        """
        with new_folder(Path(folder)) as part:
            write_text(part / "result.json", self.export("json"))
            self.per_user.write_parquet(part / "per_user.parquet")
        return Path(folder)


def load(folder: str | Path) -> Result:
    """Read a result that `Result.save` wrote.

    Raises
    ------
    FileError
        If the folder holds no result, or one of another schema version.

    Examples
    --------
    >>> import tempfile
    >>> import rankwise as rw
    >>> result = rw.evaluate({"ann": [1, 2]}, {"ann": {2}}, "mrr@2")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rw.load(result.save(folder + "/out"))["mrr@2"]
    0.5
    """
    path = Path(folder)
    try:
        data = json.loads((path / "result.json").read_text(encoding="utf-8"))
        version = data["schema_version"]
        if version != SCHEMA_VERSION:
            raise FileError(
                "this result was saved by another version of rankwise",
                where=str(path),
                found=f"schema {version}, this version reads {SCHEMA_VERSION}",
            )
        per_user = pl.read_parquet(path / "per_user.parquet")
        slices = data["slices"]
        return Result(
            measures=parse_all(data["provenance"]["settings"]["measures"]),
            values={
                cell: float("nan") if value is None else value
                for cell, value in data["values"].items()
            },
            per_user=per_user,
            counts=data["counts"],
            slices=None if slices is None else _slices(slices),
            provenance=data["provenance"],
            diagnostics={
                name: {what: float("nan") if v is None else v for what, v in own.items()}
                for name, own in data["diagnostics"].items()
            },
        )
    except (OSError, ValueError, KeyError, TypeError, pl.exceptions.PolarsError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError(
            "this folder does not hold a saved result",
            where=str(path),
            found=str(error).splitlines()[0] if str(error) else type(error).__name__,
            hint="Result.save writes result.json and per_user.parquet",
        ) from error


def _canonical(name: str, known: Mapping[str, float]) -> str:
    """Write a measure, and the cell if there is one, as the result does."""
    found = re.match(r"^(.+?)\[(\w+=.*)\]$", name, flags=re.DOTALL)
    if found is None:
        return str(parse(name))
    base, wanted = str(parse(found[1])), read_label(found[2])
    for cell in known:
        if cell.startswith(f"{base}[") and read_label(cell.removeprefix(f"{base}[")[:-1]) == wanted:
            return cell
    return f"{base}[{found[2]}]"


def _some(names: list[str], most: int = 12) -> str:
    more = f", … ({len(names)} in all)" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _slices(rows: list[dict[str, Any]]) -> pl.DataFrame:
    head = {"by": pl.String, "group": pl.String, "users": pl.Int64, "label": pl.String}
    schema = {name: head.get(name, pl.Float64) for name in rows[0]}
    frame = pl.DataFrame(rows, schema=schema)
    return frame.with_columns(pl.exclude(*head).fill_null(float("nan")))


def _or_none(value: float) -> float | None:
    return None if value != value or value in (float("inf"), float("-inf")) else value


def _plain_rows(frame: pl.DataFrame) -> list[dict[str, Any]]:
    return [
        {name: _or_none(v) if isinstance(v, float) else v for name, v in row.items()}
        for row in frame.to_dicts()
    ]
