"""The result of an evaluation: values, per-user values, and everything to reproduce them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from rankwise.convention.convention import Convention
from rankwise.core.arguments import SMALL_GROUP, check_path
from rankwise.core.saved_forms import RESULT
from rankwise.core.terminal import (
    Detail,
    DetailedDisplay,
    Format,
    TableView,
    format_number,
    json_safe,
)
from rankwise.core.units import REQUEST
from rankwise.errors import MetricError, MissingValueError, ParameterError, UsageError, nearest
from rankwise.messages import parameter
from rankwise.metrics.base import Metric, ValueKind, parse
from rankwise.results.display import footnote, result_views, short_lists
from rankwise.results.intervals import (
    IntervalMethod,
    check_clusters,
    clustered_interval,
    group_column,
    group_interval_of,
    groups_compared,
    interval_of,
    range_of,
    read_group_column,
    within,
)
from rankwise.results.locations import saved_inputs
from rankwise.results.methods import log_mlflow, log_wandb, report_result, result_plots
from rankwise.results.reuse import saved_uses
from rankwise.results.sampling_unit import SamplingUnit
from rankwise.results.values import (
    GROUP_INTERVALS,
    Values,
    canonical_name,
    join_names,
    labelled_values,
    tidy_groups,
    tidy_values,
    wide_cells,
)
from rankwise.tables.requests import request_ids
from rankwise.tables.storage import write_folder
from rankwise.tables.table import Protocol, in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankwise.stats.differences import Interval


@dataclass(frozen=True, eq=False, repr=False)
class Result(DetailedDisplay, Mapping[str, float]):
    """The result of an evaluation: a mapping of metric names to values, with per-user values.

    Its keys are canonical names, ``"ndcg@10"``; a value is also found by any alias of its metric,
    and under a convention by its names there. Two results are equal if they are the same object.

    Attributes
    ----------
    metrics : tuple of Metric
        The metrics that were evaluated.
    values : dict of str to float, also callable
        The value of every metric at every cut-off, ``{"ndcg@10": 0.31, …}``, and of each cell of a
        metric that has several values, ``{"reo@10[item_group=a]": 0.2, …}``.
    per_user : polars.DataFrame
        One row per user, in order of id: ``user``, ``n_relevant``, ``list_length``, the groups of
        ``by`` as ``group(country)``, and one column for every value that is defined per user; NaN
        where it is undefined.
    counts : dict of str to int
        Numbers of users, rows, ties, duplicates, …: nothing is dropped without being counted.
    slices : polars.DataFrame or None
        One row per group of users, if ``by`` was given, and per slice of items or interactions. The
        slice None holds what has no category: items that the table lacks, blank text, NaN, an empty
        list. ``item:genre_*`` reads one column for each category, above 0 where the item has it. A
        column whose name ends in brackets, ``price[usd]``, is read as it is; a name that has the
        sign ``×`` stands in quotation marks in combined names. Infinite numbers are in the first or
        last bin, and move no quartile. Times in the ground truth, also written as text, are one
        slice per day. ``provenance["slice_digests"]`` has a digest of the slice of each row of the
        ground truth: only equal ones are compared.
    provenance : dict
        Versions, settings, metrics with all parameters, inputs with columns and hashes, date.
    diagnostics : dict of str to dict of str to float
        For debiased metrics: effective sample size, largest weight, clip.
    replicates : polars.DataFrame or None
        With ``jackknife``, every value computed without each group of users.
    sliced : polars.DataFrame or None
        With slices of relevant items, such as ``by="item:genre"``: per-user values in each, with
        columns ``by`` and ``group``.
    intervals : polars.DataFrame or None
        The confidence intervals of all groups, if `with_intervals` was called.
    kinds : mapping of str to str
        How each value is aggregated: ``"mean"`` over users, ``"weighted mean"``, ``"sum"``,
        ``"pooled"`` over users, over ``"all lists"``, ``"composed"`` of other values, ``"groups"``.

    Examples
    --------
    >>> import rankwise as rw
    >>> result = rw.evaluate({"ann": [1, 3, 5, 7, 9]}, {"ann": {1, 5, 10}}, ["p@5", "ndcg@5"])
    >>> result["precision@5"], result["nDCG@5"]
    (0.4, 0.7039)
    >>> result.scores["metric"].to_list()
    ['precision', 'ndcg']
    >>> dict(result), "map@5" in result
    ({'precision@5': 0.4, 'ndcg@5': 0.7039}, False)
    """

    metrics: tuple[Metric, ...]
    values: Values = field()
    per_user: pl.DataFrame
    counts: dict[str, int]
    slices: pl.DataFrame | None
    provenance: dict[str, Any]
    diagnostics: dict[str, dict[str, float]] = field(default_factory=dict)
    replicates: pl.DataFrame | None = None
    sliced: pl.DataFrame | None = None
    intervals: pl.DataFrame | None = None
    kinds: Mapping[str, ValueKind] = field(default_factory=dict)
    csv_table = "_csv_table"

    @property
    def protocol(self) -> Protocol | None:
        """The candidate sets from which the lists were ranked; None if unknown."""
        saved = self.provenance.get("candidates")
        return None if saved is None else Protocol.of(saved)

    @cached_property
    def convention(self) -> Convention | None:
        """The convention under which metrics were evaluated; None: rankwise's defaults."""
        saved = self.provenance.get("convention")
        return None if saved is None else Convention.of(saved)

    @property
    def split(self) -> dict[str, Any] | None:
        """The card of the split whose test part is the ground truth; None if unknown."""
        return self.provenance.get("split")

    @property
    def tested_on(self) -> str:
        """The split of the ground truth, described on one line; empty if unknown."""
        return "" if self.split is None else in_words(self.split)

    @property
    def label(self) -> str:
        """The label of values over sampled candidates, in every display; empty otherwise."""
        return "" if self.protocol is None else self.protocol.label

    def __getitem__(self, metric: str | Metric) -> float:
        """Return one value: ``result["ndcg@10"]``, under any name that the metric has.

        A cell is ``result["reo@10[item_group=a]"]``.

        Raises
        ------
        MissingValueError
            If the result has no such value; it is a `MetricError` and a `KeyError`.
        """
        return self.values[self.cell(metric)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def cell(self, metric: str | Metric) -> str:
        """Return the key of a value in ``values``, given any name of its metric."""
        name = str(metric)
        if name in self.values:
            return name
        try:
            by_text = None if isinstance(metric, Metric) else self.convention
            name = canonical_name(name, self.values, parse if by_text is None else by_text.parse)
        except UsageError as error:
            raise MissingValueError(
                error.what, where=error.where, found=error.found, hint=error.hint
            ) from error
        if name not in self.values:
            cells = [cell for cell in self.values if cell.startswith(f"{name}[")]
            raise MissingValueError(
                f"{metric} has several values" if cells else f"{metric} was not evaluated",
                found=join_names(cells or list(self.values)),
                hint=f"take one of them, or result.table({name!r})"
                if cells
                else nearest(name, _of_same_metric(name, self.values))
                or f"evaluate with {parameter('metrics', [name])}",
            )
        return name

    def direction(self, cell: str) -> bool | None:
        """Return whether a higher value is better; None if neither direction is.

        The direction is that of the value: lower is better for the spread of recall over groups.
        """
        metrics = (metric for metric in self.metrics if cell in metric.cells)
        return next((metric.higher_is_better for metric in metrics), None)

    def definition_of(self, cell: str) -> str | None:
        """Return the convention that defines a value, or ``"rankwise"``; None if unknown.

        Metrics that a convention does not have follow rankwise's own definition.
        """
        convention = self.provenance["settings"].get("convention")
        if convention in (None, "default"):
            return convention and "rankwise"
        definitions = self.provenance.get("own_definitions", {})
        names = (
            str(m)
            for m in self.metrics
            if any(cell == c or cell.startswith(f"{c}[") for c in m.cells)
        )
        return next(("rankwise" if name in definitions else convention for name in names), None)

    @cached_property
    def sampling_unit(self) -> SamplingUnit:
        """The sampling unit of means: users, or requests with their users as clusters."""
        return SamplingUnit.of_result(self.provenance)

    @property
    def has_requests(self) -> bool:
        """Whether lists belong to requests of users, of whom means count each request alike."""
        return self.sampling_unit.is_of_requests

    @cached_property
    def units(self) -> pl.DataFrame:
        """One row per unit of the mean, with its id in ``user``; `per_user` without requests.

        Of requests the id is that of user and request, and ``group(user)`` the user, who is the
        cluster of them. With ``mean_over="users"`` rows are users, with their means over requests.
        """
        return self._as_units(self.per_user)

    def _as_units(self, per_user: pl.DataFrame, *within: str) -> pl.DataFrame:
        """Return rows of users or requests as rows of units; ``within`` names group columns."""
        if REQUEST not in per_user.columns:
            return per_user
        if not self.has_requests:
            cells = [cell for cell in self.values if cell in per_user.columns]
            return means_of_users(per_user, cells, *within)
        return _by_request(per_user)

    @cached_property
    def lists(self) -> pl.DataFrame:
        """One row per list, with its id in ``user``; `units`, unless means are over users first.

        Values that are no plain means, such as gaps of groups, are made of these rows, whatever
        ``mean_over`` is.
        """
        return _by_request(self.per_user) if REQUEST in self.per_user.columns else self.units

    @property
    def sliced_units(self) -> pl.DataFrame | None:
        """`sliced` with one row per slice and unit; None without slices of relevant items."""
        return None if self.sliced is None else self._as_units(self.sliced, "by", "group")

    def units_within(self, by: str, group: object) -> pl.DataFrame:
        """Return the units of a group of users, or of a slice of relevant items."""
        if self.sliced is None or by not in self.sliced["by"]:
            return within(self.units, by, group)
        assert self.slices is not None
        names = self.slices.filter(pl.col("by") == by)["group"].to_list()
        name = None if group is None else str(group)
        inside = self.sliced.filter(pl.col("by") == by, pl.col("group").eq_missing(name)).drop(
            "by", "group"
        )
        if name not in names:
            raise ParameterError(
                f"there is no slice {group!r} of {by!r}",
                found=", ".join(map(str, names[:12])),
                hint=nearest(str(group), [str(other) for other in names]),
            )
        return self._as_units(inside)

    def slice_intervals(
        self, metric: str | Metric | None = None, *, confidence: float = 0.95
    ) -> pl.DataFrame:
        """Return values in every group with their confidence intervals.

        Columns are ``by, group, users, small, metric, value, low, high``. Groups are those of
        `slices`, in their order, each with all values or those of one metric. Intervals are those
        of `interval`, of each group alone; values that are no per-user means have none. ``small``
        groups have fewer users than ``min_size``.

        Examples
        --------
        >>> import rankwise as rw
        >>> lists = {user: [user % 3, 5] for user in range(30)}
        >>> items = {"item": [0, 1, 2, 5], "genre": ["a", "b", "b", "b"]}
        >>> truth = {user: {0, 5} for user in range(30)}
        >>> result = rw.evaluate(lists, truth, "recall@2", items=items, by="item:genre")
        >>> result.slice_intervals("recall@2").select("group", "value", "low", "high").rows()
        [('a', 0.3333, 0.1729, 0.5281), ('b', 1.0, 0.8843, 1.0)]
        """
        if self.slices is None:
            raise MetricError("the result has no groups", hint=f"evaluate with {parameter('by')}")
        cells = (
            [cell for cell in self.values if cell in self.slices.columns]
            if metric is None
            else [self.cell(metric)]
        )
        means = [cell for cell in cells if self.is_mean_of_users(cell)]
        units = self._units_by_group()
        rows = []
        for row in self.slices.iter_rows(named=True):
            head = {name: row[name] for name in ("by", "group", "users")} | {
                "small": row["users"] < self.min_size
            }
            for cell in cells:
                low = high = math.nan
                if cell in means and row[cell] == row[cell]:
                    inside = units[row["by"], row["group"]]
                    interval = self._interval_within(
                        inside, cell, confidence, "auto", 10_000, 0, None
                    )
                    low, high = interval.low, interval.high
                rows.append({**head, "metric": cell, "value": row[cell], "low": low, "high": high})
        return pl.DataFrame(rows, schema=GROUP_INTERVALS)

    def _units_by_group(self) -> dict[tuple[str, str | None], pl.DataFrame]:
        """Return the units of every non-empty group of users and slice of relevant items."""
        units: dict[tuple[str, str | None], pl.DataFrame] = {}
        for column in self.units.columns:
            if (by := read_group_column(column)) is not None:
                units |= {(by, name): rows for (name,), rows in self.units.group_by(column)}
        if (sliced := self.sliced_units) is not None:
            units |= {(by, name): rows for (by, name), rows in sliced.group_by("by", "group")}
        return units

    def with_intervals(self, *, confidence: float = 0.95) -> Result:
        """Return the result with a table of `slice_intervals`, which every output then shows.

        Examples
        --------
        >>> import rankwise as rw
        >>> users = {"user": [1, 2, 3, 4], "country": ["AT", "AT", "DE", "DE"]}
        >>> lists = {user: [user % 2] for user in (1, 2, 3, 4)}
        >>> result = rw.evaluate(lists, {user: {1} for user in lists}, "recall@1", users=users, by="country")
        >>> result.with_intervals().intervals.select("group", "value", "low", "high").rows()
        [('AT', 0.5, 0.0121, 0.9879), ('DE', 0.5, 0.0121, 0.9879)]
        """
        return replace(self, intervals=self.slice_intervals(confidence=confidence))

    @property
    def min_size(self) -> int:
        """The number of users below which a group is marked as small."""
        return int(self.provenance["settings"].get("min_size", SMALL_GROUP))

    def is_mean_of_users(self, cell: str) -> bool:
        """Return whether a value is the unweighted mean of the per-user values."""
        if self.kinds.get(cell) != "mean":
            return False
        if not math.isnan(self.values[cell]):
            return True
        # With undefined="nan" a single user without relevant items leaves no mean. Lists alone have
        # no value in slices of the ground truth.
        return cell in self.per_user.columns and bool(self.per_user[cell].is_nan().all())

    def interval(
        self,
        metric: str | Metric,
        *,
        confidence: float = 0.95,
        method: IntervalMethod = "auto",
        n_resamples: int = 10_000,
        seed: int = 0,
        by: str | None = None,
        group: object = None,
        clusters: str | None = None,
    ) -> Interval:
        """Return the confidence interval of a value; the random sample is users or clusters.

        Parameters
        ----------
        metric : str or Metric
            The metric at one cut-off.
        confidence : float, default=0.95
            The confidence level.
        method : str, default="auto"
            For per-user means: ``"bounded"``, which holds for any distribution on the range of the
            metric, ``"t"``, a bootstrap (``"studentised"``, ``"bca"``, ``"percentile"``,
            ``"basic"``), or ``"auto"``: bounded; for metrics without bounds t from 1,000 users,
            and studentised below. With 30 users of whom 5 % have a hit, t and BCa cover the mean
            in 76 % of samples at a nominal 95 %, the bounded interval in 99 % or more. For other
            values (coverage, Gini, entropy, rates of groups of items, pooled ones) only
            ``"jackknife"`` is valid, which needs ``rankwise.evaluate(…, jackknife=64)``. For gaps
            between groups of users only ``"auto"``: simultaneous intervals of all pairs of groups,
            which need each user's value (the metric itself, evaluated too) and group (``by=``).
        n_resamples, seed : int, default=10_000, 0
            Number of bootstrap resamples, and their random seed.
        by, group : str, optional
            One of the groups of users in ``slices``: the column that was passed as ``by``, and the
            group, None for users without one. By default the interval is that of all users.
        clusters : str, optional
            A column of the users table, as for ``by``, whose groups are the sampling units, because
            users of a group are not independent: households, or the person behind several sessions.
            For per-user means, with ``"auto"`` or ``"t"``: the interval of `stats.clustered`.

        Examples
        --------
        >>> import rankwise as rw
        >>> lists = {user: [user % 3] for user in range(30)}
        >>> result = rw.evaluate(lists, {user: {0} for user in range(30)}, "recall@1")
        >>> interval = result.interval("recall@1", method="t")
        >>> interval.low, interval.high
        (0.1543, 0.5124)
        >>> users = {"user": range(30), "country": ["AT", "DE"] * 15}
        >>> result = rw.evaluate(lists, {user: {0} for user in lists}, users=users, by="country")
        >>> interval = result.interval("recall@10", by="country", group="AT", method="t")
        >>> interval.estimate, interval.n
        (0.3333, 15)
        >>> users = {"user": range(30), "household": [user // 2 for user in range(30)]}
        >>> result = rw.evaluate(lists, {user: {0} for user in lists}, users=users, by="household")
        >>> interval = result.interval("recall@10", clusters="household")
        >>> interval.method, interval.n
        ('clustered t', 15)
        """
        cell = self.cell(metric)
        if by is None and group is not None:
            raise ParameterError(
                f"{parameter('group')} needs {parameter('by')}, the column of the groups",
                found=parameter("group", group),
            )
        users = self.units if by is None else self.units_within(by, group)
        if by is not None and not self.is_mean_of_users(cell):
            raise MetricError(
                f"{cell} is not a mean over users, so a group of users has no interval"
            )
        return self._interval_within(users, cell, confidence, method, n_resamples, seed, clusters)

    def _interval_within(
        self,
        users: pl.DataFrame,
        cell: str,
        confidence: float,
        method: IntervalMethod,
        n_resamples: int,
        seed: int,
        clusters: str | None,
    ) -> Interval:
        """Return the confidence interval of a value over all units, or over units of a group."""
        user_values = users[cell] if self.is_mean_of_users(cell) else None
        check_clusters(clusters)
        unit = self.sampling_unit.within(clusters)
        if clusters is not None and user_values is None:
            raise MetricError(
                f"{cell} is not a mean over users, so it has no interval over clusters",
                found=parameter("clusters", clusters),
                hint=f"without {parameter('clusters')} the jackknife treats users as independent",
            )
        if unit.clusters is not None and user_values is not None:
            return clustered_interval(cell, users, unit, confidence, method, self.metrics)
        compared = groups_compared(self.metrics, cell)
        if compared is not None:
            value = self.values[cell]
            return group_interval_of(
                compared, cell, value, self.lists, confidence, method, n_resamples, seed
            )
        return interval_of(
            cell,
            self.values[cell],
            user_values,
            self.replicates,
            confidence,
            method,
            n_resamples,
            seed,
            self.metrics,
        )

    def table(self, metric: str | Metric, *, by: str | None = None) -> pl.DataFrame:
        """Return a metric that has several values as a table: its groups, and ``value``.

        A reliability curve has one row per ``bin``, with ``low``, ``high``, ``rows``, ``predicted``
        and ``observed``.

        Parameters
        ----------
        metric : str or Metric
            The metric at one cut-off.
        by : str, optional
            A column of groups of users that was passed as ``by``: the values of each group, with a
            first column ``group``. By default those of all users.

        Examples
        --------
        >>> import rankwise as rw
        >>> items = {"item": [1, 2], "group": ["a", "b"]}
        >>> result = rw.evaluate({"ann": [1]}, {"ann": {1, 2}}, "reo@1", items=items)
        >>> result.table("reo@1").rows()
        [('a', 1.0), ('b', 0.0)]
        """
        name = str(metric if isinstance(metric, Metric) else parse(metric))
        users = (
            [({}, self.values)]
            if by is None
            else [({"group": row["group"]}, row) for row in self._groups(by)]
        )
        rows = [
            who | row
            for who, values in users
            for row in wide_cells(cell for cell in labelled_values(values, name) if cell[0])
        ]
        if not rows:
            raise MetricError(
                f"{metric} has no cells",
                found=join_names([cell for cell in self.values if cell.endswith("]")])
                or "no cells",
                hint="result[...] gives its value" if name in self.values else None,
            )
        return pl.DataFrame(rows, infer_schema_length=None)

    def _groups(self, by: str) -> list[dict[str, Any]]:
        """Return the values of each group of users by a column."""
        columns = (
            [] if self.slices is None else self.slices["by"].unique(maintain_order=True).to_list()
        )
        if self.slices is None or by not in columns:
            raise ParameterError(
                f"the result has no groups of users by {by!r}",
                found=", ".join(columns) or "no groups",
                hint=nearest(by, columns)
                or f"evaluate with {parameter('users')} and {parameter('by', by)}",
            )
        return self.slices.filter(pl.col("by") == by).to_dicts()

    def cells(self, metric: Metric, at: int) -> list[tuple[str, float]]:
        """Return the labels and values of a metric at its ``at``-th cut-off."""
        return labelled_values(self.values, metric.cells[at])

    @cached_property
    def scores(self) -> pl.DataFrame:
        """One row per value: ``metric, k, cell, value, users, better, label``.

        ``cell`` is null for a metric with one value; ``users`` is the number of users with a value;
        ``label`` tells how candidates were sampled, and is null otherwise.
        """
        return tidy_values(self.metrics, self.values, self.per_user, self.label)

    @property
    def _csv_table(self) -> pl.DataFrame:
        """Return one row per value and per group value, with the source of each definition."""
        table = self.scores
        if self.slices is not None:
            groups = tidy_groups(self.metrics, self.slices, self.label, self.intervals)
            table = pl.concat([table, groups], how="diagonal")
        definitions = [
            (str(metric @ ()), k, self.definition_of(cell))
            for metric in self.metrics
            for k, cell in zip(metric.k or (None,), metric.cells, strict=True)
        ]
        schema = {"metric": pl.String, "k": pl.Int64, "definition_of": pl.String}
        by = pl.DataFrame(definitions, schema=schema, orient="row")
        return table.join(
            by, on=["metric", "k"], how="left", nulls_equal=True, maintain_order="left"
        )

    @property
    def notes(self) -> list[str]:
        """The evaluated users, the options that differ from defaults, warnings, and the inputs."""
        candidates = None if self.protocol is None else self.label or self.protocol.candidates
        short = self._short_lists()
        return footnote(
            self.counts, self.diagnostics, self.provenance, candidates, self.split, short
        )

    def _short_lists(self) -> str:
        """Return the note on lists shorter than the largest cut-off; empty without list lengths."""
        users: pl.DataFrame | None = self.__dict__.get(
            "per_user"
        )  # those in Spark are not collected for a note
        cutoffs = [k for metric in self.metrics for k in metric.k]
        if users is None or "list_length" not in users.columns or not cutoffs:
            return ""
        return short_lists(users["list_length"], max(cutoffs), self.counts)

    def _interval_text(self, cell: str) -> str:
        """Return the interval of a value as text; empty if the interval needs resampling."""
        from rankwise.stats.differences import MANY

        if self._has_replicates(cell):
            return _as_text(self.interval(cell))
        users: pl.DataFrame | None = self.__dict__.get(
            "per_user"
        )  # not collected from Spark for an interval
        if (
            users is None
            or len(users) < 2
            or not self.is_mean_of_users(cell)
            or cell not in users.columns
        ):
            return ""
        low, high = range_of(self.metrics, cell)
        is_resampled = len(users) < MANY and not math.isfinite(high - low)
        if self.sampling_unit.clusters is None and is_resampled:
            return ""
        return _as_text(self.interval(cell))

    def _has_replicates(self, cell: str) -> bool:
        """Return whether the interval of a value comes from the jackknife, which was computed."""
        is_replicated = self.replicates is not None and cell in self.replicates.columns
        is_of_groups = groups_compared(self.metrics, cell) is not None
        return is_replicated and not is_of_groups and not self.is_mean_of_users(cell)

    def views_at(self, detail: Detail) -> list[TableView]:
        """Return the values alone, the values with notes, or with notes and inputs.

        Parameters
        ----------
        detail : {"verdict", "table", "full"}
            How much is shown.
        """
        views = result_views(
            self.metrics,
            self.values,
            self.slices,
            self.label,
            self.notes,
            min_size=self.min_size,
            intervals=self.intervals,
            interval_of=self._interval_text,
            full=detail == "full",
        )
        return [replace(view, notes=()) for view in views] if detail == "verdict" else views

    def to_dict(self) -> dict[str, Any]:
        """Return everything except the per-user table as plain values, ready for JSON.

        NaN becomes None, and infinity ``"inf"``, because JSON has neither.
        """
        data: dict[str, Any] = json_safe(
            {
                RESULT.key: RESULT.version,
                "label": self.label,
                "values": self.values,
                "kinds": self.kinds,
                "counts": self.counts,
                "slices": None if self.slices is None else self.slices.to_dicts(),
                "diagnostics": self.diagnostics,
                "provenance": self.provenance,
                **({} if self.intervals is None else {"intervals": self.intervals.to_dicts()}),
            }
        )
        return data

    def export(self, format: Format) -> str:  # noqa: A002
        """Return the scores as text.

        Parameters
        ----------
        format : {"json", "csv", "markdown", "latex"}
            JSON also holds counts and provenance. CSV has the columns of `scores`, and
            ``definition_of``: the convention, or ``rankwise`` for metrics that it does not have.
            LaTeX has one ``table`` of values, labelled ``tab:rankwise-values``, and one of groups;
            it needs the package booktabs.
        """
        return super().export(format)

    def save(self, folder: str | Path) -> Path:
        """Save the result atomically in a folder, for `rankwise.load`.

        ``result.json`` names ``per_user-….parquet``, and with ``jackknife``
        ``replicates-….parquet``, with their hashes. A reader finds this result or the one that it
        replaces, even while several processes save; tables of older results are removed. For each
        table that was read from a file, ``result.json`` has its hash and its path, absolute and
        from the folder, so that a report can read the table again.

        Raises
        ------
        OutputError
            If the folder cannot be written; an older result in it is left unchanged.
        """
        path = check_path("folder", folder)
        frames = {"per_user": self.per_user, "replicates": self.replicates, "sliced": self.sliced}
        content = self.to_dict()
        content["provenance"] |= saved_uses(path, self.provenance, self.per_user)
        content["provenance"]["inputs"] = saved_inputs(content["provenance"], path)
        write_folder(path, content, {n: f for n, f in frames.items() if f is not None})
        return path

    plot = cached_property(result_plots)
    report = report_result
    log_mlflow = log_mlflow
    log_wandb = log_wandb


def _of_same_metric(name: str, cells: Iterable[str]) -> list[str]:
    """Return the values of the metric that a name has with other cut-offs or parameters."""
    base = re.split(r"[@(\[]", name, maxsplit=1)[0]
    return [cell for cell in cells if re.split(r"[@(\[]", cell, maxsplit=1)[0] == base]


def knows_lists(result: Result) -> bool:
    """Return whether list lengths are known, which per-user values from a table lack."""
    return "list_length" in result.per_user.columns and bool(result.per_user["list_length"].sum())


def _by_request(per_user: pl.DataFrame) -> pl.DataFrame:
    """Return rows of requests with one id each, and their user as a group."""
    of_user = pl.col("user").cast(pl.String).alias(group_column("user"))
    return per_user.with_columns(of_user, user=request_ids(per_user)).drop(REQUEST)


def means_of_users(per_user: pl.DataFrame, cells: Sequence[str], *within: str) -> pl.DataFrame:
    """Return one row per user, with the mean of each value over requests where defined."""
    groups = [name for name in per_user.columns if read_group_column(name) is not None]
    return per_user.group_by(*within, "user", maintain_order=True).agg(
        pl.col("n_relevant", "list_length").sum(),
        pl.col(groups).first(),
        *(pl.col(cell).fill_nan(None).mean().fill_null(float("nan")) for cell in cells),
    )


def _as_text(interval: Interval) -> str:
    """Return the limits of an interval, or nothing where they are undefined."""
    return (
        ""
        if math.isnan(interval.low)
        else f"{format_number(interval.low)} to {format_number(interval.high)}"
    )
