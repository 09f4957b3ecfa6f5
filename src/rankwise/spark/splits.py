"""Splits of Spark tables as lazy plans: each part has the same rows as in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from rankwise.core.arguments import check_choice
from rankwise.core.choices import Predicted
from rankwise.errors import EmptyError, ParameterError
from rankwise.spark.sessions import errors_of_spark
from rankwise.spark.split_labels import core_of, filtered, label_rows
from rankwise.spark.split_rows import Extent, SparkRows, extent_columns, hashed, read_interactions
from rankwise.spark.tables import SparkTable, empty_of, named
from rankwise.splits.card import card_of, known_rows
from rankwise.splits.entities import UserHoldout
from rankwise.splits.filters import Deduplicate, KCore, MinRating, MinRows
from rankwise.splits.holdout import Holdout, LeaveOut
from rankwise.splits.splitter import Splitter, refuse_empty
from rankwise.splits.temporal import GlobalTime
from rankwise.splits.times import TimeUnit
from rankwise.tables.cards import one_line
from rankwise.tables.columns import Columns, TableRole, choose
from rankwise.tables.table import TRAINED, Table

__all__ = ["SparkSplit", "k_core", "split"]

_RULES = (GlobalTime, Holdout, LeaveOut, UserHoldout)
_FILTERS = (Deduplicate, KCore, MinRating, MinRows)


@dataclass(frozen=True, eq=False, repr=False)
class SparkSplit:
    """A split of a Spark table: its parts are lazy plans.

    Attributes
    ----------
    parts : mapping of str to DataFrame
        The rows of each part, with the columns of the table that was split.
    rule : dict
        The rule and all its parameters, as plain values.
    found : dict
        The times at which the table was cut, and counts of dropped or exceptional rows and users.
    """

    parts: Mapping[str, DataFrame]
    rule: Mapping[str, Any]
    found: Mapping[str, Any]
    _whole: SparkRows
    _rows: Mapping[str, SparkRows]

    @property
    def train(self) -> DataFrame:
        """The training rows."""
        return self.parts["train"]

    @property
    def validation(self) -> DataFrame | None:
        """The validation rows, for choosing models and parameters; None without ``validation=``."""
        return self.parts.get("validation")

    @property
    def test(self) -> DataFrame:
        """The test rows, which are to be predicted."""
        return self.parts["test"]

    @property
    def history(self) -> DataFrame | None:
        """The rows of test users that are known at prediction time but not trained on; or None."""
        return self.parts.get("history")

    def known(self, part: Predicted = "test") -> DataFrame:
        """Return the rows that a user has before a part, as `rankwise.splits.Split.known`.

        Parameters
        ----------
        part : {"test", "validation"}, default="test"
            The part to be predicted.
        """
        check_choice("part", part, Predicted)
        if part not in self.parts:
            raise ParameterError(
                f"this split has no part {part!r}", found=", ".join(self.parts), hint="give the rule validation="
            )
        return reduce(DataFrame.union, (self.parts[name] for name in _known_parts(self.parts, part, "user")))

    def as_spark(self, role: TableRole, columns: Columns | None = None) -> SparkTable:
        """Return the rows for a role: test as ground truth, and what is known before it as training.

        ``columns`` name columns that the split itself had no need of, such as the relevance.
        """
        if role not in ("truth", "train"):
            raise ParameterError(
                f"a split of a Spark table can be passed as truth or train, not as {role}",
                hint="pass one of its parts: split.train, split.test",
            )
        if role == "truth":
            return self._truth(columns)
        frames = (
            self._rows[name].frame.select("user", "item", sf.lit(name == "train").alias(TRAINED))
            for name in _known_parts(self._rows, "test", "user")
        )
        frame, table = reduce(DataFrame.union, frames), self._whole.table
        ids = {name: table.columns[name] for name in ("user", "item")}
        source = f"rows known before the test part of {table.source}"
        return SparkTable(frame, Table(empty_of(frame), role, source, table.format, ids))

    def _truth(self, columns: Columns | None) -> SparkTable:
        """Return the test part as the ground truth, with the card of this split."""
        whole = self._whole.table
        names = {**whole.columns, **choose(columns, "truth")}
        truth = named(self.test, "truth", {f"truth.{role}": name for role, name in names.items()})
        empty = replace(truth.empty, source=f"test part of {whole.source}", format=whole.format, split=self.card)
        return replace(truth, empty=empty)

    @cached_property
    def card(self) -> dict[str, Any]:
        """The card, which describes this split by plain values; it is computed by one Spark job.

        Its fields are those of `rankwise.splits.Split.card`, with the same ``id`` for the same
        rows, except ``cold``, the leak index, the time from training to the targets and the share
        of users cut between equal times: each of these would join or sort two whole parts.
        """
        parts = _described(self._rows)
        whole = self._whole
        rows = whole.extent.rows
        unused = rows - sum(part["rows"] for part in parts.values())
        card = card_of(whole.table, rows, unused, self.rule, self.found, parts)
        if whole.all_times is not None:
            train, test = (self._rows[part].time for part in ("train", "test"))
            (begin, end), (start, stop) = train.values, test.values
            card["time"] = {
                "unit": train.unit,
                "unit_known_as": train.unit_source,
                "gap_seconds": train.seconds(start - end),
                "test_span_seconds": train.seconds(stop - start),
                "train_span_seconds": train.seconds(end - begin),
            }
        return card

    def __repr__(self) -> str:
        lines = [one_line(self.rule)]
        lines += [f"  {name}: {part.extent.rows:,} rows" for name, part in self._rows.items()]
        return "\n".join(lines + [f"  {name}: {value}" for name, value in self.found.items()])


@errors_of_spark()
def split(
    interactions: DataFrame,
    rule: GlobalTime | Holdout | LeaveOut | UserHoldout,
    *,
    columns: Columns | None = None,
    time_unit: TimeUnit | None = None,
) -> SparkSplit:
    """Split a Spark table; each part has the same rows as with ``rule.split`` in memory.

    Rows are counted immediately, so that an empty part is an error and ``found`` is complete; the
    parts themselves are lazy plans. The plan of the table must give the same rows in every run.

    Parameters
    ----------
    interactions : DataFrame
        One row per interaction, with user and item; rules that depend on time need a timestamp:
        numbers, dates or timestamps.
    rule : GlobalTime, Holdout, LeaveOut or UserHoldout
        The rule, with any of its options; ``validation`` and ``fold_in`` must also be one of these
        four.
    columns : mapping of str to str or None, optional
        The column of each role, if its name is not recognised: ``{"user": "uid"}``.
    time_unit : {"s", "ms", "us", "ns"}, optional
        The unit of numeric timestamps; by default guessed from their magnitude.

    Returns
    -------
    SparkSplit

    Raises
    ------
    ParameterError
        If a rule or filter does not run on Spark.
    InputError
        If the table cannot be split by this rule, or a part would be empty.
    """
    _check_supported(rule, "rule")
    whole = read_interactions(interactions, columns, time_unit)
    named, notes = rule.to_dict(), dict[str, Any]()
    kept = filtered(rule.filters, whole, notes) if rule.filter_on == "all" else whole
    parts = _cut(rule, kept, notes)
    if rule.validation is not None:
        _check_parts(parts, named, notes)
        inner_notes: dict[str, Any] = {}
        inner = _cut(rule.validation, parts.pop("train"), inner_notes)
        notes |= {f"validation_{name}": value for name, value in inner_notes.items()}
        first = {"train": inner.pop("train"), "validation": inner.pop("test")}
        parts = first | {f"validation_{name}": part for name, part in inner.items()} | parts
    if rule.filters and rule.filter_on == "train":
        _check_parts({"train": parts["train"]}, named, notes)
        parts["train"] = filtered(rule.filters, parts["train"], notes)
    for name in ("validation", "test"):
        if name in parts:
            parts[name] = _without_cold(rule, parts, name, notes)
    _check_parts(parts, named, notes)
    frames = {name: part.as_given() for name, part in parts.items()}
    return SparkSplit(frames, named, notes, whole, parts)


@errors_of_spark()
def k_core(interactions: DataFrame, rule: KCore, *, columns: Columns | None = None) -> DataFrame:
    """Return the k-core of a Spark table: the same rows as with ``rule.apply`` in memory.

    Users and items with fewer than k rows are dropped until nothing changes. These rounds run
    immediately, on a checkpointed table with one row per user-item pair; the result is a lazy plan.

    Parameters
    ----------
    interactions : DataFrame
        One row per interaction, with user and item.
    rule : KCore
        The minimum numbers of rows.
    columns : mapping of str to str or None, optional
        The column of each role, if its name is not recognised.

    Returns
    -------
    DataFrame
        The rows that are kept, with all columns.

    Raises
    ------
    EmptyError
        If no row is kept.
    """
    if type(rule) is not KCore:
        raise ParameterError("rule is a KCore", found=repr(rule), hint="KCore(5)")
    rows = read_interactions(interactions, columns, with_times=False)
    frame, size = core_of(rule, rows.frame)
    if not size:
        raise EmptyError(f"{rule!r} leaves no rows", found=f"{rows.extent.rows} rows before")
    return rows.with_frame(frame).as_given()


def _check_supported(rule: Any, name: str) -> None:
    """Raise unless a rule, the rules inside it and its filters run on Spark."""
    hint = "collect the table and split it in memory: rule.split(table.toArrow())"
    if type(rule) not in _RULES:
        names = ", ".join(kind.__name__ for kind in _RULES)
        raise ParameterError(f"this {name} does not run on Spark", found=f"{rule!r}; on Spark: {names}", hint=hint)
    for one in rule.filters:
        if type(one) not in _FILTERS:
            names = ", ".join(kind.__name__ for kind in _FILTERS)
            raise ParameterError("this filter does not run on Spark", found=f"{one!r}; on Spark: {names}", hint=hint)
    for inner in ("validation", "fold_in"):
        if getattr(rule, inner, None) is not None:
            _check_supported(getattr(rule, inner), inner)


def _check_parts(parts: Mapping[str, SparkRows], rule: dict[str, Any], notes: dict[str, Any]) -> None:
    """Raise if there are no rows for training, validation or test."""
    counts: dict[str, Any] = {name: np.array([part.extent.rows]) for name, part in parts.items()}
    refuse_empty(counts, rule, notes)


def _cut(rule: Splitter, rows: SparkRows, notes: dict[str, Any]) -> dict[str, SparkRows]:
    """Return the parts that a rule makes, all counted in one job, and add its notes."""
    labelled = label_rows(rule, rows)
    frame = labelled.frame
    counted = [sf.count_if(name).alias(name) for name in labelled.counted]
    counts = frame.groupBy("part").agg(*extent_columns(), *counted).collect()
    extents = {row["part"]: Extent(row["rows"], row["first"], row["last"]) for row in counts}
    nothing = Extent(0, None, None)
    notes |= labelled.notes
    notes |= {name: extents.get(name, nothing).rows for name in labelled.dropped}
    notes |= {name: sum(row[name] for row in counts) for name in labelled.counted}
    return {
        part: rows.with_frame(frame.filter(sf.col("part") == part), extents.get(part, nothing))
        for part in labelled.parts
    }


def _without_cold(rule: Splitter, parts: Mapping[str, SparkRows], part: str, notes: dict[str, Any]) -> SparkRows:
    """Return the rows of a part that stay under ``cold_users``, ``cold_items`` and ``seen``."""
    steps: list[tuple[list[str], str, str]] = []
    for role, action in (("user", rule.cold_users), ("item", rule.cold_items)):
        if action != "keep":
            kind, dropped = ("left_semi", "cold") if action == "drop" else ("left_anti", "warm")
            steps.append(([role], kind, f"{part}_rows_of_{dropped}_{role}s_dropped"))
    if rule.seen == "drop":
        steps.append((["user", "item"], "left_anti", f"{part}_rows_seen_dropped"))
    rows = parts[part]
    for ids, kind, note in steps:
        frames = (parts[name].frame.select(ids) for name in _known_parts(parts, part, ids[0]))
        kept = rows.with_frame(rows.frame.join(reduce(DataFrame.union, frames), ids, kind))
        notes[note] = rows.extent.rows - kept.extent.rows
        rows = kept
    return rows


def _known_parts(parts: Mapping[str, Any], part: str, role: str) -> list[str]:
    """Return the names of the parts that are known of users, or of items, before another part."""
    names: Any = {name: {name} for name in parts}  # sets of names in place of masks
    known: Any = known_rows(names, part, role)
    return sorted(known)


def _described(parts: Mapping[str, SparkRows]) -> dict[str, dict[str, Any]]:
    """Return the size, density, digest and time range of each part, computed by one job."""
    train, seeds = parts["train"], ("key1", "key2")
    columns = [*train.columns, "user", "item", "time", "relevance"]
    labelled = [rows.frame.select(*columns, sf.lit(name).alias("part")) for name, rows in parts.items()]
    whole = hashed(train.with_frame(reduce(DataFrame.union, labelled)), *seeds).frame
    sizes = [sf.count_distinct(role).alias(role) for role in ("user", "item")]
    sizes.append(sf.count_distinct("user", "item").alias("pairs"))
    sums = [sf.sum(sf.col(seed).cast("decimal(38,0)")).alias(seed) for seed in seeds]
    by_part = {row["part"]: row for row in whole.groupBy("part").agg(*sizes, *sums).collect()}
    return {
        name: _about(rows, by_part.get(name, {"user": 0, "item": 0, "pairs": 0, "key1": 0, "key2": 0}))
        for name, rows in parts.items()
    }


def _about(rows: SparkRows, row: Any) -> dict[str, Any]:
    """Return the description of a part as `make_card` has it."""
    size, users, items = rows.extent.rows, row["user"], row["item"]
    digest = "".join(f"{int(row[seed]) % 2**64:016x}" for seed in ("key1", "key2"))
    density = row["pairs"] / (users * items) if size else 0.0
    part = {"rows": size, "users": users, "items": items, "density": density, "digest": digest}
    if rows.all_times is not None and size:
        part |= {"first": rows.time.show(rows.time.values[0]), "last": rows.time.show(rows.time.values[1])}
    return part
