"""Slices of interactions: by column of items or ground truth, popularity, cold items, repeats.

Every row of the ground truth and of the lists has the code of its slice, or of several
(`rankwise.evaluation.slicing`).

A ranking metric is sliced by *relevant* items. The ground truth is restricted to the slice, and
lists stay as they are: an item of another slice keeps its rank, and is no hit. A user counts in the
slices in which relevant items are. A metric of ratings or probabilities is sliced by what was
*shown*: lists and ground truth are restricted to the rows of the slice, and a user counts in the
slices in which predictions are. Metrics that describe lists have no value in a slice; the share of
recommended items that are in it stands in ``recommended_share``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from rankwise.core.hashing import digest_of
from rankwise.core.populations import PopulationName
from rankwise.core.units import REQUEST, Units
from rankwise.core.vocabularies import lookup_rows
from rankwise.errors import EmptyError, MetricError, ParameterError
from rankwise.evaluation.join_results import merge_results
from rankwise.evaluation.settings import Settings
from rankwise.evaluation.slicing import (
    UNKNOWN,
    Slicing,
    codes_as_in_truth,
    crossed_slicing,
    read_slicing,
)
from rankwise.messages import call, mention, parameter
from rankwise.metrics.base import Metric
from rankwise.options import AveragingRule
from rankwise.results.intervals import CROSSED, is_truth_slice
from rankwise.results.result import Result
from rankwise.tables.columns import EVENT, without_edges
from rankwise.tables.table import Recommendations, Tables

SHARE = "recommended_share"
"""The column of slices with the share of recommended items that are in the slice."""
_KEPT = "slice "  # before the number of a slicing, in columns of the ground truth and the lists
_MANY_SLICES = 1_000


def columns_of_truth(settings: Settings) -> dict[str, str | None]:
    """Return the columns of the ground truth that are read for slices and for grades of events.

    A name with edges stands for a column of that name, or for the column whose numbers are cut at
    the edges: the table tells which.
    """
    chosen = settings.columns or {}
    names = [name for name in settings.by if name.startswith("truth:")]
    names = [
        without_edges(name) if without_edges(name) in (EVENT, *chosen) else name for name in names
    ]
    events: dict[str, str | None] = {} if settings.grades is None else {EVENT: None}
    if settings.alternatives is not None:
        names.append(f"truth:{settings.alternatives}")
    return {name: name.removeprefix("truth:") for name in names if name not in events} | events


def check_no_truth_slices(by: Iterable[str]) -> None:
    """Raise if slices are of relevant items, where groups are of users."""
    for name in by:
        if is_truth_slice(name):
            raise ParameterError(
                f"{parameter('by', name)} slices the ground truth, which needs all lists at once",
                hint=f"{call('evaluate')} takes it, without {mention('chunk_rows')}",
            )


def is_of_shown(metric: Metric) -> bool:
    """Return whether a metric is of ratings or probabilities, and so sliced by shown rows."""
    return all(leaf.family == "rating" for leaf in metric.leaves)


@dataclass(frozen=True, eq=False, repr=False)
class TruthSlices:
    """The slices of an evaluation.

    Attributes
    ----------
    names : tuple of str
        As they were passed in ``by``.
    slicings : tuple of Slicing
        What each name means.
    codes : tuple of list of int
        The slices of each that the evaluated rows are in, in order, unknown ones last.
    digests : mapping of str to str
        By name, a digest of every row of the ground truth and the names of its slices.
    """

    names: tuple[str, ...] = ()
    slicings: tuple[Slicing, ...] = ()
    codes: tuple[list[int], ...] = ()
    digests: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, settings: Settings, tables: Tables) -> tuple[TruthSlices, Settings, Tables]:
        """Return the slices, the settings without slices, and tables with a slice code per row."""
        by, names = settings.by, tuple(name for name in settings.by if is_truth_slice(name))
        if not names:
            return cls(), settings, tables
        if settings.cross:
            by = names = (CROSSED.join(settings.by),)
        check_sliced(names, settings, tables)
        truth, lists = tables.truth, tables.recommendations
        assert truth is not None
        assert lists is not None

        slicings, codes, digests = [], [], {}
        has_shown = any(map(is_of_shown, settings.metrics))
        for at, name in enumerate(names):
            slicing = (
                crossed_slicing(settings.by, tables)
                if settings.cross
                else read_slicing(name, tables)
            )
            column = f"{_KEPT}{at}"
            truth = truth.with_frame(
                truth.frame.with_columns(slicing.codes_of(truth).alias(column))
            )
            if not slicing.of_truth:
                lists = lists.with_frame(
                    lists.frame.with_columns(slicing.codes_of(lists).alias(column))
                )
            elif has_shown:
                lists = lists.with_frame(
                    lists.frame.with_columns(codes_as_in_truth(lists, truth, column).alias(column))
                )

            frames = [truth.frame, lists.frame] if has_shown else [truth.frame]
            slicings.append(slicing)
            codes.append(_present([frame[column] for frame in frames]))
            digests[name] = _digest(frames, column, slicing)

        by = tuple(name for name in by if name not in names)
        settings = replace(settings, by=by, cross=False)
        slices = cls(names, tuple(slicings), tuple(codes), digests)
        return slices, settings, replace(tables, truth=truth, recommendations=lists)

    def add_to(
        self,
        result: Result,
        settings: Settings,
        tables: Tables,
        evaluate: Callable[[Settings, Tables], Result],
    ) -> Result:
        """Return a result with the values of each slice and of the users in each slice.

        ``evaluate`` evaluates tables under settings.
        """
        if not self.names:
            return result
        rows = [] if result.slices is None else [result.slices]
        users: list[pl.DataFrame] = []
        for at, (name, slicing) in enumerate(zip(self.names, self.slicings, strict=True)):
            column = f"{_KEPT}{at}"
            for code in self.codes[at]:
                group = slicing.name(code)
                parts = [_of_relevant(settings, tables, column, code, evaluate)]
                parts += _of_shown(settings, _in_slice(tables, column, code), result, evaluate)
                found = [part for part in parts if part is not None]
                sliced = merge_results(found, settings.metrics) if found else None

                share = math.nan if slicing.of_truth else _share(tables, column, code)
                rows.append(row_of_slice(name, group, result, sliced, share))
                if sliced is not None:
                    users.append(users_of_slice(name, group, sliced))

        said = {
            name: slicing.description
            for name, slicing in zip(self.names, self.slicings, strict=True)
            if slicing.description
        }
        by = [*settings.by, *self.names]
        return with_slices(result, rows, users, by=by, descriptions=said, digests=self.digests)


def with_slices(
    result: Result,
    rows: Sequence[pl.DataFrame],
    users: Sequence[pl.DataFrame],
    *,
    by: Sequence[str],
    descriptions: Mapping[str, str],
    digests: Mapping[str, str],
) -> Result:
    """Return a result with rows of slices, and the values of the users in each of them.

    ``by`` are all groups and slices of the evaluation; descriptions and digests are by slicing.
    """
    slices = pl.concat(rows, how="diagonal_relaxed")
    slices = slices.with_columns(
        pl.exclude("by", "group", "users", "label").fill_null(float("nan"))
    )
    if result.label:
        slices = slices.with_columns(label=pl.lit(result.label))
    provenance = {
        **result.provenance,
        "settings": {**result.provenance["settings"], "by": list(by)},
        "slices": dict(descriptions),
        "slice_digests": dict(digests),
    }
    sliced = _of_all_slices(users, result) if users else None
    return replace(result, slices=slices, sliced=sliced, provenance=provenance)


def _of_all_slices(users: Sequence[pl.DataFrame], result: Result) -> pl.DataFrame:
    """Return the user values of all slices, NaN where a slice lacks a value."""
    every = pl.concat(users, how="diagonal_relaxed")
    cells = [cell for cell in result.values if cell in every.columns]
    return every.with_columns(pl.col(cells).cast(pl.Float64).fill_null(math.nan))


def check_sliced(names: Sequence[str], settings: Settings, tables: Tables) -> None:
    """Raise if no ground truth is given, no metric reads one, or a name is ambiguous."""
    if tables.truth is None or tables.recommendations is None:
        raise ParameterError(
            f"{parameter('by', names[0])} slices the ground truth",
            found="no truth",
            hint="pass one",
        )
    if not any(metric.reads_truth for metric in settings.metrics):
        raise MetricError(
            f"{parameter('by', names[0])} slices the ground truth, which no metric reads",
            found=", ".join(map(str, settings.metrics)),
            hint="add one of accuracy, such as ndcg@10",
        )
    if settings.depth is not None and any(map(is_of_shown, settings.metrics)):
        raise ParameterError(
            f"{parameter('by', names[0])} slices the rows that were shown, and depth cuts lists "
            "of all slices",
            found=parameter("depth", settings.depth),
            hint="cut the lists themselves, and leave depth out",
        )
    taken = (
        []
        if tables.users is None
        else [name for name in names if name in tables.users.frame.columns]
    )
    if taken:
        raise ParameterError(
            f"{parameter('by', taken[0])} has two meanings: a slice of relevant items, and a "
            "column of the "
            "users",
            found=f"a column {taken[0]!r}",
            hint="rename the column of the table of users",
        )


def _present(columns: Sequence[pl.Series]) -> list[int]:
    """Return the slices with at least one row, unknown last."""
    flat = [column.explode() if isinstance(column.dtype, pl.List) else column for column in columns]
    codes = sorted({code for column in flat for code in column.unique()})
    if len(codes) > _MANY_SLICES + (UNKNOWN in codes):
        raise ParameterError(
            f"there are at most {_MANY_SLICES:,} slices",
            found=f"{len(codes) - (UNKNOWN in codes):,}",
            hint="cut numbers into bins",
        )
    return [*(code for code in codes if code != UNKNOWN), *([UNKNOWN] if UNKNOWN in codes else [])]


def _digest(frames: Sequence[pl.DataFrame], column: str, slicing: Slicing) -> str:
    """Return a digest of rows with their slice names, for any row order and type of ids."""
    keys = [
        name for name in ("user", REQUEST, "item") if all(name in frame.columns for frame in frames)
    ]
    rows = [
        frame.select(*(pl.col(name).cast(pl.String) for name in keys), column) for frame in frames
    ]
    pairs = [
        frame.explode(column) if isinstance(frame.schema[column], pl.List) else frame
        for frame in rows
    ]
    every = pl.concat(pairs).unique() if len(pairs) > 1 else pairs[0]
    codes = every[column].unique()
    names = pl.Series([slicing.name(code) for code in codes], dtype=pl.String)
    name = every[column].replace_strict(codes, names, return_dtype=pl.String)
    return digest_of([*(every[key] for key in keys), name])


def _is_in(frame: pl.DataFrame, column: str, code: int) -> pl.Expr:
    """Return whether rows are in a slice; an item with several categories is in several."""
    if isinstance(frame.schema[column], pl.List):
        return pl.col(column).list.contains(pl.lit(code, pl.Int64))
    return pl.col(column) == code


def _share(tables: Tables, column: str, code: int) -> float:
    """Return the share of recommended items that are in a slice."""
    lists = tables.recommendations
    if lists is None or lists.frame.is_empty():
        return math.nan
    return len(lists.frame.filter(_is_in(lists.frame, column, code))) / len(lists.frame)


def _of_relevant(
    settings: Settings,
    tables: Tables,
    column: str,
    code: int,
    evaluate: Callable[[Settings, Tables], Result],
) -> Result | None:
    """Evaluate ranking metrics in a slice of relevant items; None if the slice has no user."""
    truth, lists = tables.truth, tables.recommendations
    assert truth is not None
    assert lists is not None
    plain = settings_of_relevant(settings)
    rows = truth.frame.filter(_is_in(truth.frame, column, code))
    if plain is None or rows.is_empty():
        return None

    inside = lists.frame.join(rows, "user", "semi", maintain_order="left")
    if len(inside):  # else all lists stay, which nobody of the slice has
        lists = lists.with_frame(inside)

    try:
        truth = truth.with_frame(rows)
        return evaluate(plain, replace(tables, truth=truth, recommendations=lists, is_slice=True))
    except EmptyError:
        return None


def settings_of_relevant(settings: Settings) -> Settings | None:
    """Return the settings of ranking metrics within a slice of relevant items; None without any."""
    metrics = tuple(
        metric for metric in settings.metrics if metric.reads_truth and not is_of_shown(metric)
    )
    if not metrics:
        return None
    exceptions = tuple(
        (name, replace(rule, population=_inside(rule.population)))
        for name, rule in settings.exceptions
    )
    population = _inside(settings.population)
    return replace(_of_slice(settings, metrics), population=population, exceptions=exceptions)


def _of_slice(settings: Settings, metrics: tuple[Metric, ...]) -> Settings:
    """Return the settings of the given metrics within a slice."""
    return replace(settings, metrics=metrics, jackknife=None)


def _inside(population: PopulationName) -> PopulationName:
    """Return the population within a slice, which excludes users without items in the slice."""
    return {"all": "truth", "recommended": "both"}.get(population, population)  # type: ignore[return-value]


def _in_slice(tables: Tables, column: str, code: int) -> Tables:
    """Return tables with the rows of lists and ground truth that are in a slice."""
    truth, lists = tables.truth, tables.recommendations
    assert truth is not None
    assert lists is not None
    if column not in lists.frame.columns:
        return tables  # no metric is of rows that were shown
    judged = truth.frame.filter(_is_in(truth.frame, column, code))
    shown = lists.frame.filter(_is_in(lists.frame, column, code))
    return replace(tables, truth=truth.with_frame(judged), recommendations=lists.with_frame(shown))


def _of_shown(
    settings: Settings,
    inside: Tables,
    result: Result,
    evaluate: Callable[[Settings, Tables], Result],
) -> list[Result | None]:
    """Evaluate rating and probability metrics over the shown rows, per averaging rule.

    ``inside`` has the rows of a slice, and ``result`` the users who are evaluated as a whole.
    """
    lists = inside.recommendations
    assert lists is not None
    results = []
    for rule, plain in settings_of_shown(settings):
        shown = _of_population(lists, rule, settings, result, inside.units)
        results.append(_over_rows(plain, replace(inside, recommendations=shown), evaluate))
    return results


def settings_of_shown(settings: Settings) -> list[tuple[AveragingRule, Settings]]:
    """Return the rules of rating and probability metrics, each with settings for its users."""
    by_rule: dict[AveragingRule, list[Metric]] = {}
    for metric in filter(is_of_shown, settings.metrics):
        by_rule.setdefault(settings.rules.of(metric), []).append(metric)
    return [
        (
            rule,
            replace(
                _of_slice(settings, tuple(metrics)),
                population="recommended",
                undefined=rule.undefined,
                without_list=rule.without_list,
                exceptions=(),
            ),
        )
        for rule, metrics in by_rule.items()
    ]


def _of_population(
    lists: Recommendations,
    rule: AveragingRule,
    settings: Settings,
    result: Result,
    units: Units | None,
) -> Recommendations:
    """Return the lists of the users who belong to the population of a metric."""
    per_user = result.per_user
    belong = rule.includes(
        settings.evaluated, per_user["n_relevant"].to_numpy(), per_user["list_length"].to_numpy()
    )
    units_inside = per_user if belong is None else per_user.filter(pl.Series(belong))
    users = units_inside["user"] if units is None else units.ids_of(units_inside)
    is_evaluated = lookup_rows(lists.frame["user"], users) >= 0
    return lists.with_frame(lists.frame.filter(pl.Series(is_evaluated)))


def _over_rows(
    settings: Settings, tables: Tables, evaluate: Callable[[Settings, Tables], Result]
) -> Result | None:
    """Return the metrics of the rows of lists; None without any."""
    lists = tables.recommendations
    assert lists is not None
    if lists.frame.is_empty():
        return None
    lists = replace(
        lists, frame=lists.frame.drop("rank", strict=False), k=None
    )  # ranks have gaps, and scores order
    try:
        return evaluate(settings, replace(tables, recommendations=lists, is_slice=True))
    except EmptyError:
        return None


def row_of_slice(
    name: str, group: str | None, result: Result, sliced: Result | None, share: float
) -> pl.DataFrame:
    """Return the row of a slice in the table of slices."""
    values = {} if sliced is None else {cell: sliced.values.get(cell) for cell in result.values}
    users = 0 if sliced is None else sliced.counts["users"]
    head = {"by": name, "group": group, "users": users}
    schema: dict[str, Any] = {"by": pl.String, "group": pl.String, "users": pl.Int64}
    schema |= dict.fromkeys((*result.values, SHARE), pl.Float64)
    return pl.DataFrame(
        [{**head, **dict.fromkeys(result.values), **values, SHARE: share}], schema=schema
    )


def users_of_slice(name: str, group: str | None, sliced: Result) -> pl.DataFrame:
    """Return the values of the users of a slice, under the names of slicing and slice."""
    head = [pl.lit(name).alias("by"), pl.lit(group, pl.String).alias("group")]
    return sliced.per_user.select(*head, pl.all())
