"""The result: scores, every user's values, and everything needed to get the same numbers again."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from rankwise.errors import MeasureError, ParameterError, nearest
from rankwise.io.writing import new_folder, write_text
from rankwise.measures.kinds import read_label
from rankwise.measures.measure import Measure
from rankwise.measures.parsing import parse
from rankwise.protocol import Protocol
from rankwise.splits.card import in_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankwise.intervals import IntervalMethod
    from rankwise.stats.differences import Interval

__all__ = ["SCHEMA_VERSION", "Result"]

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
    replicates : polars.DataFrame or None
        With ``jackknife``, every value worked out without each of some groups of users.

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
    replicates: pl.DataFrame | None = None

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

    def cell(self, measure: str | Measure) -> str:
        """Return how the result calls a value, under any name that the measure has."""
        self[measure]
        name = str(measure)
        return name if name in self.values else _canonical(name, self.values)

    def direction(self, cell: str) -> bool | None:
        """Say whether a higher value is better; None where neither is, as for labelled cells.

        A group's cell is not what its measure is: the spread of several recalls is better small,
        each of the recalls large.
        """
        own = (measure for measure in self.measures if cell in measure.cells)
        return next((measure.higher_is_better for measure in own), None)

    def is_mean_of_users(self, cell: str) -> bool:
        """Whether a value is the plain mean of what users have."""
        if cell not in self.per_user.columns:
            return False
        each = self.per_user[cell].drop_nans()
        value = self.values[cell]
        if each.is_empty():
            return math.isnan(value)
        mean = each.mean()
        return isinstance(mean, float) and math.isclose(mean, value, rel_tol=1e-9, abs_tol=1e-12)

    def interval(
        self,
        measure: str | Measure,
        *,
        confidence: float = 0.95,
        method: IntervalMethod = "auto",
        n_resamples: int = 10_000,
        seed: int = 0,
    ) -> Interval:
        """Return the interval of a value over users.

        Parameters
        ----------
        measure : str or Measure
            Which value.
        confidence : float
            The confidence.
        method : {"auto", "t", "bca", "percentile", "basic", "studentised", "jackknife"}
            For a mean of users the t interval from 1,000 users, BCa below (``"auto"``), or a
            bootstrap. What is no mean of users (coverage, Gini, entropy, measures of groups, pooled
            ones) has the jackknife alone, which needs ``rankwise.evaluate(…, jackknife=64)``.
        n_resamples, seed : int
            For the bootstrap.

        Examples
        --------
        >>> import rankwise as rw
        >>> lists = {user: [user % 3] for user in range(30)}
        >>> result = rw.evaluate(lists, {user: {0} for user in range(30)}, "recall@1")
        >>> found = result.interval("recall@1", method="t")
        >>> found.low, found.high
        (0.1543, 0.5124)
        """
        from rankwise.intervals import interval_of

        return interval_of(self, self.cell(measure), confidence, method, n_resamples, seed)

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
            if self.replicates is not None:
                self.replicates.write_parquet(part / "replicates.parquet")
        return Path(folder)


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


def _or_none(value: float) -> float | None:
    return None if value != value or value in (float("inf"), float("-inf")) else value


def _plain_rows(frame: pl.DataFrame) -> list[dict[str, Any]]:
    return [
        {name: _or_none(v) if isinstance(v, float) else v for name, v in row.items()}
        for row in frame.to_dicts()
    ]
