"""Slices of relevant items: by a column of items or of the ground truth, by popularity, cold items, repeats.

The ground truth is restricted to the slice, and lists stay as they are: an item of another slice keeps its rank, and is
no hit. A user counts in the slices in which relevant items are. Metrics that describe lists have no value in a slice
of the ground truth; the share of recommended items that are in the slice stands in ``recommended_share``.

Columns of users are cut at edges here as well (`with_bins`), and crossed with each other (`crossed_users`) or with
slices.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from rankwise.errors import ColumnError, EmptyError, MetricError, ParameterError
from rankwise.evaluation.settings import Settings
from rankwise.evaluation.summary import UserTable
from rankwise.options import Population
from rankwise.results.intervals import CROSSED, is_truth_slice
from rankwise.results.result import Result
from rankwise.tables.catalogue import item_column
from rankwise.tables.columns import EVENT, check_once
from rankwise.tables.requests import users_of_requests
from rankwise.tables.table import Table, Tables
from rankwise.tables.training import check_train_groups, matching, train_groups, with_user_column

__all__ = ["SHARE", "TruthSlices", "columns_of_truth", "crossed_users", "refuse_truth_slices", "with_bins"]

SHARE = "recommended_share"
"""The column of slices with the share of recommended items that are in the slice."""
_KEPT = "slice "  # before the number of a slice, in columns of the ground truth and the lists
_MANY_NUMBERS = 10  # distinct numbers from which on they are cut into bins
_MANY_SLICES = 1_000
_BINS = 4


def columns_of_truth(settings: Settings) -> dict[str, str | None]:
    """Return the columns of the ground truth that are read for slices and for grades of events."""
    names = [_name_and_edges(name)[0] for name in settings.by if name.startswith("truth:")]
    events: dict[str, str | None] = {} if settings.grades is None else {EVENT: None}
    return {name: name.removeprefix("truth:") for name in names if name not in events} | events


def refuse_truth_slices(by: Iterable[str]) -> None:
    """Raise if slices are of relevant items, where groups are of users."""
    for name in by:
        if is_truth_slice(name):
            raise ParameterError(
                f"by={name!r} slices the ground truth, which needs all lists at once",
                hint="rankwise.evaluate takes it, without chunk_rows",
            )


def _name_and_edges(name: str) -> tuple[str, list[float] | None]:
    """Return a slice without its edges, and these.

    >>> _name_and_edges("item:price[5,10]"), _name_and_edges("repeat")
    (('item:price', [5.0, 10.0]), ('repeat', None))
    """
    match = re.fullmatch(r"(.+?)\[([^\]]*)\]", name)
    if match is None:
        return name, None
    try:
        edges = [float(edge) for edge in match[2].split(",")]
    except ValueError as error:
        raise ParameterError("edges of a slice are numbers", found=f"by={name!r}", hint='"item:price[5,10]"') from error
    if sorted({*edges}) != edges or not all(map(math.isfinite, edges)):
        raise ParameterError("edges of a slice increase", found=f"by={name!r}")
    return match[1], edges


@dataclass(frozen=True, eq=False, repr=False)
class TruthSlices:
    """The slices of an evaluation.

    Attributes
    ----------
    names : tuple of str
        As they were passed in ``by``.
    groups : tuple of list
        The groups of each, in order; None is that of items of which nothing is known.
    """

    names: tuple[str, ...]
    groups: tuple[list[str | None], ...]

    @classmethod
    def of(cls, settings: Settings, tables: Tables) -> tuple[TruthSlices, Settings, Tables]:
        """Return the slices, the settings without them, and tables whose rows say which slice they are in."""
        by, names = settings.by, tuple(name for name in settings.by if is_truth_slice(name))
        if not names:
            return cls((), ()), settings, tables
        if settings.cross:
            by = names = (CROSSED.join(settings.by),)
        truth, lists = tables.truth, tables.recommendations
        if truth is None or lists is None:
            raise ParameterError(f"by={names[0]!r} slices the ground truth", found="no truth", hint="pass one")
        if not any(metric.reads_truth for metric in settings.metrics):
            raise MetricError(
                f"by={names[0]!r} slices the ground truth, which no metric reads",
                found=", ".join(map(str, settings.metrics)),
                hint="add one of accuracy, such as ndcg@10",
            )
        groups = []
        taken = [] if tables.users is None else [name for name in names if name in tables.users.frame.columns]
        if taken:
            raise ParameterError(
                f"by={taken[0]!r} has two meanings: a slice of relevant items, and a column of the users",
                found=f"a column {taken[0]!r}",
                hint="rename the column of the table of users",
            )
        for at, name in enumerate(names):
            slicing = _crossed(settings.by, tables) if settings.cross else _slicing(name, tables)
            groups.append(slicing.groups)
            truth = truth.with_frame(truth.frame.with_columns(slicing.labels(truth).alias(f"{_KEPT}{at}")))
            if not slicing.of_truth:
                lists = lists.with_frame(lists.frame.with_columns(slicing.labels(lists).alias(f"{_KEPT}{at}")))
        by = tuple(name for name in by if name not in names)
        settings = replace(settings, by=by, cross=False)
        return cls(names, tuple(groups)), settings, replace(tables, truth=truth, recommendations=lists)

    def added(
        self, result: Result, settings: Settings, tables: Tables, evaluate: Callable[[Settings, Tables], Result]
    ) -> Result:
        """Return a result with the values of each slice, and those of its users.

        ``evaluate`` evaluates tables under settings.
        """
        if not self.names:
            return result
        rows = [] if result.slices is None else [result.slices]
        users: list[pl.DataFrame] = []
        for at, name in enumerate(self.names):
            for group in self.groups[at]:
                inside = _restricted(tables, f"{_KEPT}{at}", group)
                sliced = None if inside is None else _evaluated(settings, inside, evaluate)
                rows.append(_row(name, group, result, sliced, _share(tables, f"{_KEPT}{at}", group)))
                if sliced is not None:
                    head = [pl.lit(name).alias("by"), pl.lit(group, pl.String).alias("group")]
                    users.append(sliced.per_user.select(*head, pl.all()))
        slices = pl.concat(rows, how="diagonal_relaxed")
        slices = slices.with_columns(pl.exclude("by", "group", "users", "label").fill_null(float("nan")))
        settings_said = {**result.provenance["settings"], "by": [*settings.by, *self.names]}
        sliced_users = pl.concat(users, how="diagonal_relaxed") if users else None
        return replace(
            result, slices=slices, sliced=sliced_users, provenance={**result.provenance, "settings": settings_said}
        )


def _restricted(tables: Tables, column: str, group: str | None) -> Tables | None:
    """Return tables whose ground truth is in a slice; None if no row is."""
    truth, lists = tables.truth, tables.recommendations
    assert truth is not None
    assert lists is not None
    rows = truth.frame.filter(_is_in(truth.frame, column, group))
    if rows.is_empty():
        return None
    kind = lists.frame.schema["user"]
    users = rows.select(pl.col("user").cast(kind, strict=False)).unique()
    inside = lists.frame.join(users, "user", "semi", maintain_order="left")
    if len(inside):  # else all lists stay, which nobody of the slice has
        lists = lists.with_frame(inside)
    return replace(tables, truth=truth.with_frame(rows), recommendations=lists)


def _is_in(frame: pl.DataFrame, column: str, group: str | None) -> pl.Expr:
    """Return whether rows are in a slice; an item with several categories is in several."""
    if isinstance(frame.schema[column], pl.List):
        inside = pl.col(column).list.contains(pl.lit(group)) if group is not None else pl.col(column).list.len() == 0
        return inside.fill_null(value=group is None)
    return pl.col(column).eq_missing(pl.lit(group, pl.String))


def _evaluated(settings: Settings, tables: Tables, evaluate: Callable[[Settings, Tables], Result]) -> Result | None:
    """Return the result of a slice; None if no user of the population has a relevant item in it."""
    metrics = tuple(metric for metric in settings.metrics if metric.reads_truth)
    exceptions = tuple((name, replace(rule, population=_inside(rule.population))) for name, rule in settings.exceptions)
    plain = replace(
        settings,
        metrics=metrics,
        population=_inside(settings.population),
        exceptions=exceptions,
        jackknife=None,
        warm_and_cold=False,
        of_slice=True,
    )
    try:
        return evaluate(plain, tables)
    except EmptyError:
        return None


def _inside(population: Population) -> Population:
    """Return the population within a slice: users without anything in it do not belong to it."""
    return {"all": "truth", "recommended": "both"}.get(population, population)  # type: ignore[return-value]


def _row(name: str, group: str | None, result: Result, sliced: Result | None, share: float) -> pl.DataFrame:
    """Return the row of a slice in the table of slices."""
    values = {} if sliced is None else {cell: sliced.values.get(cell) for cell in result.values}
    users = 0 if sliced is None else len(sliced.per_user)
    head = {"by": name, "group": group, "users": users}
    schema: dict[str, Any] = {"by": pl.String, "group": pl.String, "users": pl.Int64}
    schema |= dict.fromkeys((*result.values, SHARE), pl.Float64)
    return pl.DataFrame([{**head, **dict.fromkeys(result.values), **values, SHARE: share}], schema=schema)


def _share(tables: Tables, column: str, group: str | None) -> float:
    """Return the share of recommended items that are in a slice; NaN where the ground truth alone knows."""
    lists = tables.recommendations
    if lists is None or column not in lists.frame.columns or lists.frame.is_empty():
        return float("nan")
    return len(lists.frame.filter(_is_in(lists.frame, column, group))) / len(lists.frame)


class _Slicing(NamedTuple):
    """What names the slice of each row of a table, and the slices of the ground truth in order.

    ``of_truth`` says that only rows of the ground truth can be named.
    """

    labels: Callable[[Table], pl.Series]
    groups: list[str | None]
    of_truth: bool = False


def _crossed(names: Sequence[str], tables: Tables) -> _Slicing:
    """Return slices that are combinations of slices, and of groups of users."""
    assert tables.truth is not None
    parts = [_slicing(name, tables) if is_truth_slice(name) else _of_users(name, tables) for name in names]

    def labels(table: Table) -> pl.Series:
        return _together([part.labels(table) for part in parts])

    present = {*_ordered(labels(tables.truth), None)}
    groups = map(CROSSED.join, product(*([str(g) for g in part.groups if g is not None] for part in parts)))
    ordered: list[str | None] = [group for group in groups if group in present]
    return _Slicing(labels, ordered + ([None] if None in present else []), any(part.of_truth for part in parts))


def _together(labels: Sequence[pl.Series]) -> pl.Series:
    """Return the combination of several labels of each row; of rows with several categories, all combinations."""
    names = [f"{at}" for at in range(len(labels))]
    frame = pl.DataFrame(dict(zip(names, labels, strict=True))).with_row_index("row")
    several = [name for name in names if isinstance(frame.schema[name], pl.List)]
    for name in several:
        frame = frame.explode(name, empty_as_null=True)
    frame = frame.select("row", label=pl.concat_str(names, separator=CROSSED))
    if several:
        frame = frame.group_by("row", maintain_order=True).agg(pl.col("label").drop_nulls())
    return frame["label"]


def _of_users(name: str, tables: Tables) -> _Slicing:
    """Return slices that are groups of users."""
    assert tables.truth is not None
    groups_of = _groups_of(name, tables)

    def labels(table: Table) -> pl.Series:
        return groups_of(users_of_requests(table.frame["user"])).cast(pl.String)

    groups = groups_of(users_of_requests(tables.truth.frame["user"])).unique().sort(nulls_last=True)
    return _Slicing(labels, groups.cast(pl.String).to_list())


def _groups_of(name: str, tables: Tables) -> Callable[[pl.Series], pl.Series]:
    """Return what gives each user's group by a column of users or by training."""
    check_train_groups([name], tables.users, tables.train)
    table = UserTable.check(tables.users, (name,), None, train_groups([name], tables.train))
    return lambda ids: table.groups_of(ids.to_frame("user"), name)


def crossed_users(settings: Settings, tables: Tables) -> tuple[Settings, Tables]:
    """Return settings and tables in which all groupings of users are one, if they are to be crossed."""
    if not settings.cross or any(map(is_truth_slice, settings.by)):
        return settings, tables
    name = CROSSED.join(settings.by)
    groupings = [_groups_of(one, tables) for one in settings.by]

    def combined(ids: pl.Series) -> pl.Series:
        groups = [groups_of(ids) for groups_of in groupings]
        orders = [[*group.drop_nulls().unique().sort().cast(pl.String)] for group in groups]
        order = [*map(CROSSED.join, product(*orders))]
        return _together([group.cast(pl.String) for group in groups]).cast(pl.Enum(order))

    present = [table for table in (tables.truth, tables.recommendations) if table is not None]
    users = with_user_column(tables.users, present, name, "cross", combined)
    return replace(settings, by=(name,), cross=False), replace(tables, users=users)


def with_bins(users: Table | None, by: Iterable[str]) -> Table | None:
    """Return the users with a column for each of their columns that is to be cut at edges, as ``age[30,50]``."""
    for name in by if users is not None else ():
        plain, edges = (name, None) if is_truth_slice(name) else _name_and_edges(name)
        assert users is not None
        if edges is None or name in users.frame.columns or plain not in users.frame.columns:
            continue
        binned = _binned(users.frame[plain], edges, name)
        column = binned(users.frame[plain]).cast(pl.Enum(binned.names or []))
        users = users.with_frame(users.frame.with_columns(column.alias(name)))
    return users


def _slicing(name: str, tables: Tables) -> _Slicing:
    """Return the slices that a name says."""
    plain, edges = _name_and_edges(name)
    truth = tables.truth
    assert truth is not None
    if plain in ("repeat", "item:popularity", "item:cold"):
        if edges is not None:
            raise ParameterError(f"{plain} has no edges", found=f"by={name!r}")
        return _of_training(plain, tables)
    kind, _, column = plain.partition(":")
    if kind == "truth":
        _check_column(truth, plain)
        values = truth.frame[plain]
        binned = _binned(values, edges, name)
        return _Slicing(lambda table: binned(table.frame[plain]), _ordered(binned(values), binned.names), of_truth=True)
    return _of_items(name, column, edges, tables)


def _of_items(name: str, column: str, edges: list[float] | None, tables: Tables) -> _Slicing:
    """Return slices by a column of the items."""
    assert tables.truth is not None
    more = 'also "item:popularity" and "item:cold", with train='
    items, values = item_column(tables.items, column, f"by={name!r}", more)
    check_once(items, "item", hint="keep one row per item; several categories of an item are a list in its row")
    binned = _binned(values, edges, name)
    labels = _label_of_item(items.with_frame(items.frame.select("item", label=binned(values))))
    return _Slicing(labels, _ordered(labels(tables.truth), binned.names))


def _label_of_item(labelled: Table) -> Callable[[Table], pl.Series]:
    """Return what gives the label of each row's item, from a table of items with their ``label``."""

    def labels(table: Table) -> pl.Series:
        ids = table.frame.select("item")
        return ids.join(matching(labelled, "item", ids["item"]), "item", "left", maintain_order="left")["label"]

    return labels


def _check_column(truth: Table, column: str) -> None:
    """Raise if a ground truth that has no columns, or is the part of a split, lacks one."""
    if column not in truth.frame.columns:
        raise ColumnError(
            f"there is no column {column.removeprefix('truth:')!r} of the ground truth",
            where=truth.source,
            found=truth.format,
            hint="pass a table with this column; of a split, its test part: split.test",
        )


def _of_training(name: str, tables: Tables) -> _Slicing:
    """Return slices by training: repeats of the user, cold items, popularity."""
    train = tables.train
    if train is None:
        raise ParameterError(f"by={name!r} slices by training interactions", found="no train", hint="pass train=")
    if name == "repeat":

        def repeats(table: Table) -> pl.Series:
            pairs = table.frame.select(user=users_of_requests(table.frame["user"]), item=pl.col("item").cast(pl.String))
            known = train.frame.select(pl.col("user", "item").cast(pl.String)).unique()
            joined = pairs.join(
                known.with_columns(label=pl.lit("repeat")), ["user", "item"], "left", maintain_order="left"
            )
            return joined["label"].fill_null("new")

        return _Slicing(repeats, ["repeat", "new"])
    counts = train.trained.frame.select("user", "item").unique().group_by("item").len("count")
    order = ["warm", "cold"] if name == "item:cold" else ["head", "middle", "tail"]
    label = pl.lit("warm") if name == "item:cold" else _popularity(counts)
    label_of_item = _label_of_item(train.with_frame(counts.select("item", label=label)))
    return _Slicing(lambda table: label_of_item(table).fill_null(order[-1]), list(order))


def _popularity(counts: pl.DataFrame) -> pl.Expr:
    """Return the third of training interactions that each item is in, the most popular items first.

    Items of one count are in one slice: that in which the more popular items leave room.
    """
    by_count = counts.group_by("count").agg(total=pl.col("count").sum()).sort("count", descending=True)
    before = by_count["total"].cum_sum() - by_count["total"]
    third = float(by_count["total"].sum()) / 3
    head = by_count.filter(before < third)["count"].min()
    middle = by_count.filter(before < 2 * third)["count"].min()
    return (
        pl.when(pl.col("count") >= head)
        .then(pl.lit("head"))
        .when(pl.col("count") >= middle)
        .then(pl.lit("middle"))
        .otherwise(pl.lit("tail"))
    )


@dataclass(frozen=True, eq=False, repr=False)
class _Binned:
    """Names the slice of each value of a column: its text, its day, or the bin that it is in."""

    edges: list[float] | None

    @property
    def names(self) -> list[str] | None:
        """The names of the bins in order; None without bins."""
        if self.edges is None:
            return None
        inner = [f"{low:g} to {high:g}" for low, high in zip(self.edges, self.edges[1:], strict=False)]
        return [f"below {self.edges[0]:g}", *inner, f"{self.edges[-1]:g} and above"]

    def __call__(self, values: pl.Series) -> pl.Series:
        """Return the name of the slice of each value."""
        if self.edges is not None:
            names = pl.Series(self.names)
            at = np.searchsorted(self.edges, values.cast(pl.Float64).to_numpy(), side="right")
            missing = values.is_null() | values.cast(pl.Float64).is_nan()
            return pl.select(pl.when(~missing).then(names.gather(at))).to_series()
        if isinstance(values.dtype, pl.Array):
            values = values.cast(pl.List(values.dtype.inner))
        if isinstance(values.dtype, pl.List):
            return values.cast(pl.List(pl.String))
        if isinstance(values.dtype, pl.Datetime):
            values = values.dt.date()
        return values.cast(pl.String)


def _binned(values: pl.Series, edges: list[float] | None, name: str) -> _Binned:
    """Return what names the slices of a column: by bins if they have edges, or if numbers are many."""
    if edges is not None and not values.dtype.is_numeric():
        raise ColumnError(f"by={name!r} cuts numbers into bins", found=f"a column of {values.dtype}")
    if values.dtype.is_numeric() and edges is None and values.n_unique() > _MANY_NUMBERS:
        numbers = values.cast(pl.Float64).drop_nulls().drop_nans().to_numpy()
        edges = sorted({float(edge) for edge in np.quantile(numbers, np.arange(1, _BINS) / _BINS)})
    return _Binned(edges)


def _ordered(labels: pl.Series, names: Sequence[str] | None) -> list[str | None]:
    """Return the slices of the ground truth in their natural order, rows of which nothing is known last."""
    if isinstance(labels.dtype, pl.List):
        unknown = bool((labels.is_null() | (labels.list.len() == 0)).any())
        labels = labels.explode(empty_as_null=False).drop_nulls()
    else:
        unknown = labels.null_count() > 0
    present = labels.drop_nulls().unique().to_list()
    if len(present) > _MANY_SLICES:
        raise ParameterError(
            f"there are at most {_MANY_SLICES:,} slices", found=f"{len(present):,}", hint="cut numbers into bins"
        )
    if names is not None:
        ordered = [name for name in names if name in present]
    else:
        numeric = all(re.fullmatch(r"-?\d+(\.\d+)?", text) for text in present)
        ordered = sorted(present, key=float if numeric else str)
    return [*ordered, *([None] if unknown else [])]
