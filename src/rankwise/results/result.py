"""The result of an evaluation: values, per-user values, and everything to reproduce them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from rankwise.convention.convention import Convention
from rankwise.core.arguments import check_path
from rankwise.core.view import Format, TableView, export, finite, html, plain
from rankwise.errors import MeasureError, MissingValueError, ParameterError, UsageError, nearest
from rankwise.measures.cell_labels import read_label
from rankwise.measures.measure import Measure, ValueKind
from rankwise.measures.read import parse
from rankwise.results.display.result_view import footnote, result_views, short_lists
from rankwise.results.folder import write_folder
from rankwise.results.group_columns import check_clusters, within
from rankwise.results.methods import log_mlflow, log_wandb, report_result, result_plots
from rankwise.results.named_values import Values, listed
from rankwise.results.tidy import canonical_name, labelled_values, tidy_groups, tidy_values
from rankwise.tables.cards import in_words
from rankwise.tables.protocol import Protocol

if TYPE_CHECKING:  # what only some results are asked for is loaded when it is
    from rankwise.results.intervals import IntervalMethod
    from rankwise.stats.differences import Interval

__all__ = ["SCHEMA_VERSION", "Result"]

SCHEMA_VERSION = 3
"""Version of ``result.json``: raised when a reader of the old schema could not read the new one."""


@dataclass(frozen=True, eq=False, repr=False)
class Result(Mapping[str, float]):
    """The result of an evaluation: a mapping of metric names to values, with per-user values.

    Its keys are canonical names, ``"ndcg@10"``; a value is also found by any alias of its metric,
    and under a convention by its names there. Two results are equal if they are the same object.

    Attributes
    ----------
    measures : tuple of Measure
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
        One row per group of users, if ``by`` was given.
    provenance : dict
        Versions, settings, metrics with all parameters, inputs with columns and hashes, date.
    diagnostics : dict of str to dict of str to float
        For debiased metrics: effective sample size, largest weight, clip.
    replicates : polars.DataFrame or None
        With ``jackknife``, every value computed without each group of users.
    kinds : mapping of str to str
        How each value is aggregated: ``"mean"`` over users, ``"weighted mean"``, ``"sum"``,
        ``"pooled"`` over users, over ``"all lists"``, ``"composed"`` of other values, ``"groups"``.

    Examples
    --------
    >>> import rankwise as rw
    >>> result = rw.evaluate({"ann": [1, 3, 5, 7, 9]}, {"ann": {1, 5, 10}}, ["p@5", "ndcg@5"])
    >>> result["precision@5"], result["nDCG@5"]
    (0.4, 0.7039)
    >>> result.scores["measure"].to_list()
    ['precision', 'ndcg']
    >>> dict(result), "map@5" in result
    ({'precision@5': 0.4, 'ndcg@5': 0.7039}, False)
    """

    measures: tuple[Measure, ...]
    values: Values = field()
    per_user: pl.DataFrame
    counts: dict[str, int]
    slices: pl.DataFrame | None
    provenance: dict[str, Any]
    diagnostics: dict[str, dict[str, float]] = field(default_factory=dict)
    replicates: pl.DataFrame | None = None
    kinds: Mapping[str, ValueKind] = field(default_factory=dict)

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
        """The label of values over sampled candidates, in every display; empty for others."""
        return "" if self.protocol is None else self.protocol.label

    def __getitem__(self, measure: str | Measure) -> float:
        """Return one value: ``result["ndcg@10"]``, under any name that the measure has.

        A cell is ``result["reo@10[item_group=a]"]``.

        Raises
        ------
        MissingValueError
            If the result has no such value; it is a `MeasureError` and a `KeyError`.
        """
        return self.values[self.cell(measure)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def cell(self, measure: str | Measure) -> str:
        """Return the key of a value in ``values``, given any name of its metric."""
        name = str(measure)
        if name in self.values:
            return name
        try:
            by_text = None if isinstance(measure, Measure) else self.convention
            name = canonical_name(name, self.values, parse if by_text is None else by_text.parse)
        except UsageError as error:
            raise MissingValueError(error.what, where=error.where, found=error.found, hint=error.hint) from error
        if name not in self.values:
            cells = [cell for cell in self.values if cell.startswith(f"{name}[")]
            raise MissingValueError(
                f"{measure} has several values" if cells else f"{measure} was not evaluated",
                found=listed(cells or list(self.values)),
                hint=f"take one of them, or result.table({name!r})" if cells else nearest(name, self.values),
            )
        return name

    def direction(self, cell: str) -> bool | None:
        """Return whether a higher value is better; None if neither direction is.

        The direction is that of the value: lower is better for the spread of recall over groups.
        """
        measures = (measure for measure in self.measures if cell in measure.cells)
        return next((measure.higher_is_better for measure in measures), None)

    def definition_of(self, cell: str) -> str | None:
        """Return whose definition a value follows: the convention's name, or ``"rankwise"``; None if unknown.

        Metrics that a convention does not have follow rankwise's own definition.
        """
        convention = self.provenance["settings"].get("convention")
        if convention in (None, "default"):
            return convention and "rankwise"
        own = self.provenance.get("own_definitions", {})
        names = (str(m) for m in self.measures if any(cell == c or cell.startswith(f"{c}[") for c in m.cells))
        return next(("rankwise" if name in own else convention for name in names), None)

    def is_mean_of_users(self, cell: str) -> bool:
        """Return whether a value is the unweighted mean of the per-user values."""
        if self.kinds.get(cell) != "mean":
            return False
        # With undefined="nan" a single user without relevant items leaves no mean.
        return not math.isnan(self.values[cell]) or self.per_user[cell].is_nan().all()

    def interval(
        self,
        measure: str | Measure,
        *,
        confidence: float = 0.95,
        method: IntervalMethod = "auto",
        n_resamples: int = 10_000,
        seed: int = 0,
        by: str | None = None,
        group: object = None,
        clusters: str | None = None,
    ) -> Interval:
        """Return the confidence interval of a value, with users or their clusters as the random sample.

        Parameters
        ----------
        measure : str or Measure
            The metric at one cut-off.
        confidence : float, default=0.95
            The confidence level.
        method : str, default="auto"
            For per-user means: ``"t"``, a bootstrap (``"bca"``, ``"percentile"``, ``"basic"``,
            ``"studentised"``), or ``"auto"``: t from 1,000 users, BCa below. For other values
            (coverage, Gini, entropy, metrics of groups, pooled ones) only ``"jackknife"`` is
            valid, which needs ``rankwise.evaluate(…, jackknife=64)``.
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
        from rankwise.results.intervals import clustered_interval, interval_of  # imports SciPy: late

        cell = self.cell(measure)
        if by is None and group is not None:
            raise ParameterError("group= needs by=, the column of the groups", found=f"group={group!r}")
        users = self.per_user if by is None else within(self.per_user, by, group)
        user_values = users[cell] if self.is_mean_of_users(cell) else None
        if by is not None and user_values is None:
            raise MeasureError(f"{cell} is not a mean over users, so a group of users has no interval")
        check_clusters(clusters)
        if clusters is not None:
            if user_values is None:
                raise MeasureError(
                    f"{cell} is not a mean over users, so it has no interval over clusters",
                    found=f"clusters={clusters!r}",
                    hint="without clusters= the jackknife treats users as independent",
                )
            return clustered_interval(cell, users, clusters, confidence, method, self.measures)
        return interval_of(
            cell, self.values[cell], user_values, self.replicates, confidence, method, n_resamples, seed, self.measures
        )

    def table(self, measure: str | Measure) -> pl.DataFrame:
        """Return a metric that has several values as a table: its groups, and ``value``.

        Examples
        --------
        >>> import rankwise as rw
        >>> items = {"item": [1, 2], "group": ["a", "b"]}
        >>> result = rw.evaluate({"ann": [1]}, {"ann": {1, 2}}, "reo@1", items=items)
        >>> result.table("reo@1").rows()
        [('a', 1.0), ('b', 0.0)]
        """
        name = str(measure if isinstance(measure, Measure) else parse(measure))
        rows = [{**read_label(label), "value": value} for label, value in labelled_values(self.values, name) if label]
        if not rows:
            raise MeasureError(
                f"{measure} has no cells",
                found=listed([cell for cell in self.values if cell.endswith("]")]) or "no cells",
                hint="result[...] gives its value" if name in self.values else None,
            )
        return pl.DataFrame(rows, infer_schema_length=None)

    def cells(self, measure: Measure, at: int) -> list[tuple[str, float]]:
        """Return the labels and values of a metric at its ``at``-th cut-off."""
        return labelled_values(self.values, measure.cells[at])

    @cached_property
    def scores(self) -> pl.DataFrame:
        """One row per value: ``measure, k, cell, value, users, better, label``.

        ``cell`` is null for a metric with one value; ``users`` is the number of users with a value;
        ``label`` tells how candidates were sampled, and is null otherwise.
        """
        return tidy_values(self.measures, self.values, self.per_user, self.label)

    def _long_table(self) -> pl.DataFrame:
        """Return one row per value, those of groups of users below, and whose definition each follows."""
        table = self.scores
        if self.slices is not None:
            groups = tidy_groups(self.measures, self.slices, self.label)
            table = pl.concat([table, groups], how="diagonal")
        definitions = [
            (str(measure @ ()), k, self.definition_of(cell))
            for measure in self.measures
            for k, cell in zip(measure.k or (None,), measure.cells, strict=True)
        ]
        schema = {"measure": pl.String, "k": pl.Int64, "definition_of": pl.String}
        by = pl.DataFrame(definitions, schema=schema, orient="row")
        return table.join(by, on=["measure", "k"], how="left", nulls_equal=True, maintain_order="left")

    @property
    def notes(self) -> list[str]:
        """The evaluated users, the options that differ from defaults, warnings, and the inputs."""
        candidates = None if self.protocol is None else self.label or self.protocol.candidates
        short = self._short_lists()
        return footnote(self.counts, self.diagnostics, self.provenance, candidates, self.tested_on, short)

    def _short_lists(self) -> str:
        """Return the note on lists shorter than the largest cut-off; empty without per-user values here."""
        users: pl.DataFrame | None = self.__dict__.get("per_user")  # those in Spark are not collected for a note
        cutoffs = [k for measure in self.measures for k in measure.k]
        if users is None or "list_length" not in users.columns or not cutoffs:
            return ""
        return short_lists(users["list_length"], max(cutoffs), self.counts)

    def _views(self) -> list[TableView]:
        return result_views(self.measures, self.values, self.slices, self.label, self.notes)

    def __repr__(self) -> str:
        return plain(*self._views())

    def _repr_html_(self) -> str:
        return html(*self._views())

    def to_dict(self) -> dict[str, Any]:
        """Return everything except the per-user table as plain values, ready for JSON.

        NaN becomes None, and infinity ``"inf"``, because JSON has neither.
        """
        data: dict[str, Any] = finite(
            {
                "schema_version": SCHEMA_VERSION,
                "label": self.label,
                "values": self.values,
                "kinds": self.kinds,
                "counts": self.counts,
                "slices": None if self.slices is None else self.slices.to_dicts(),
                "diagnostics": self.diagnostics,
                "provenance": self.provenance,
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
        return export(format, self.to_dict, self._long_table, self._views)

    def save(self, folder: str | Path) -> Path:
        """Save the result in a folder, atomically; `rankwise.load` reads it.

        ``result.json`` names ``per_user-….parquet``, and with ``jackknife``
        ``replicates-….parquet``, with their hashes. A reader finds this result or the one that it
        replaces, even while several processes save; tables of older results are removed.

        Raises
        ------
        OutputError
            If the folder cannot be written; an older result in it is left unchanged.
        """
        path = check_path("folder", folder)
        frames = {"per_user": self.per_user, "replicates": self.replicates}
        write_folder(path, self.to_dict(), {n: f for n, f in frames.items() if f is not None})
        return path

    plot = cached_property(result_plots)
    report = report_result
    log_mlflow = log_mlflow
    log_wandb = log_wandb
