"""The tables of an experiment, the lists of its systems, and how these are evaluated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import polars as pl

from rankwise.candidates import Candidates, these
from rankwise.candidates import sampled as sampled_candidates
from rankwise.comparison.storage import folder_names
from rankwise.errors import EmptyError, FileError, ParameterError
from rankwise.evaluation.evaluate import evaluate
from rankwise.evaluation.truth_slices import columns_of_truth
from rankwise.experiments.experiment import Experiment
from rankwise.experiments.keys import spelling_columns
from rankwise.experiments.schema import MODELS, Source
from rankwise.results.result import Result
from rankwise.splits.reading import truth_and_train
from rankwise.tables.columns import columns_of, shared_names
from rankwise.tables.files import read_file, source_hash
from rankwise.tables.formats import Declared
from rankwise.tables.grades import with_grades
from rankwise.tables.ids import matching
from rankwise.tables.read import read_table
from rankwise.tables.storage import new_file, new_folder
from rankwise.tables.table import Recommendations, Table, TableRole, card_beside

Say: TypeAlias = Callable[[str], object]
"""A function that gets progress messages, line by line."""
_WIDEST = 100_000_000  # scores of a baseline over the whole catalogue, for sampled candidates


class Inputs:
    """The tables of an experiment: read once, split, and with the lists of baselines."""

    def __init__(self, experiment: Experiment, out: Path, say: Say) -> None:
        self.experiment, self.out, self._say = experiment, out, say
        data = experiment.config.data
        self._local = experiment.config.engine.name == "local"
        folder = self._split() if experiment.splitter is not None else None
        self.truth: Any = folder or self._source(data.truth, "truth")
        self.train: Any = None if folder else self._source(data.train, "train")
        if self._local:  # a folder of a split is read once, for all systems
            self.truth, self.train = self.parts
        roles: tuple[TableRole, ...] = ("items", "users", "reference")
        self._side_tables: dict[str, Any] = {
            role: self._source(getattr(data, role), role) for role in roles
        }

    def options(self, system: Any) -> dict[str, Any]:
        """Return the tables and options to evaluate a system with."""
        options = self.experiment.options
        named = {"truth": self.truth, "train": self.train, **self._side_tables}
        present = [role for role, table in named.items() if table is not None]
        columns = self.columns_of("recommendations", *present)
        if isinstance(system, Source) and system.columns:
            columns |= {f"recommendations.{key}": name for key, name in system.columns.items()}
        return {"train": self.train, **self._side_tables, **options} | {"columns": columns or None}

    def columns_of(self, *roles: Any) -> dict[str, str | None]:
        """Return the configured column names of tables with these roles."""
        return columns_of(self.experiment.settings.columns, roles)

    @cached_property
    def parts(self) -> tuple[Any, Any]:
        """Ground truth and training interactions, from tables or a split; read once."""
        parts: tuple[Any, Any] = truth_and_train(
            self.truth, self.train, self.experiment.settings.columns
        )
        return parts

    @cached_property
    def graded_truth(self) -> Any:
        """The ground truth, with the relevance of its events where these have grades."""
        grades, truth = self.experiment.settings.grades, self.parts[0]
        return truth if grades is None else with_grades(self._table(truth, "truth"), grades)

    @property
    def items(self) -> Any:
        """The table of items, or its path."""
        return self._side_tables["items"]

    def run(self, name: str, system: Any) -> Any:
        """Return the recommendation lists of a system."""
        run = (
            self._source(system, "recommendations")
            if isinstance(system, Source)
            else self._fit(name, system)
        )
        if not self.experiment.sampled and self.experiment.candidates == "all":
            return run
        table = read_table(
            run, "recommendations", shared_names(self.options(system).get("columns"))
        )
        return over_candidates(table, self._candidates)

    def _split(self) -> str:
        """Split the interactions, and return the folder of the parts."""
        experiment = self.experiment
        source, split = experiment.config.data.interactions, experiment.config.split
        assert source is not None
        assert split is not None
        assert experiment.splitter is not None
        self._say("splitting the interactions …")
        made = experiment.splitter.split(
            self._source(source, "interactions"),
            columns=self.columns_of("interactions"),
            time_unit=split.time_unit,
            time_format=split.time_format,
        )
        target = self.out / "split"
        with new_folder(target) as part:
            made.save(part)
        return str(target)

    def _source(self, source: Source | None, role: TableRole) -> Any:
        """Return a table, or the path of one for an engine that reads for itself."""
        if source is None:
            return None
        path = self.path(source)
        if not self._local or path.is_dir() or role == "interactions":
            return self.table_or_path(source)
        columns = shared_names(self.experiment.settings.columns)
        if role == "truth":
            columns = {**columns_of_truth(self.experiment.settings), **(columns or {})}
        if role == "recommendations":
            columns = {**(columns or {}), **{f"{role}.{k}": v for k, v in source.columns.items()}}
            with spelling_columns(source.path, role):  # other systems may have other columns
                return read_table(self.table_or_path(source), role, columns)
        if source.format is None:
            return read_table(str(path), role, columns)
        raw = self._read_with_format(path, source)
        table = read_table(raw, role, columns)
        return replace(table, split=card_beside(path, raw.sha256)) if role == "truth" else table

    def table_or_path(self, source: Source) -> Any:
        """Return a file's path, or its table if the configuration names its format."""
        path = self.path(source)
        return (
            str(path)
            if source.format is None or path.is_dir()
            else self._read_with_format(path, source)
        )

    def path(self, source: Source) -> Path:
        """Return the path of a source; raise if the configuration was resolved for another file."""
        path = self.experiment.path(source)
        if source.sha256 is not None and source_hash(path) != source.sha256:
            kind = "folder" if path.is_dir() else "file"
            raise FileError(
                f"this {kind} is not the one that the configuration was resolved for",
                where=str(path),
                hint="leave sha256 out to evaluate it as it is",
            )
        return path

    def _read_with_format(self, path: Path, source: Source) -> Any:
        assert source.format is not None
        return read_file(path, Declared(source.format, source.separator, tuple(source.header)))

    def _fit(self, name: str, system: Any) -> str:
        """Fit a baseline, and return the file of its lists, which a report can read again."""
        truth, train = self._interactions
        cuts = [k for metric in self.experiment.settings.metrics for k in metric.k]
        k = system.k or max(cuts, default=10)
        if self.experiment.sampled or self.experiment.candidates != "all":
            k = train.trained.frame["item"].n_unique()
            if k * truth["user"].n_unique() > _WIDEST:
                raise ParameterError(
                    "a baseline over some candidates has to rank the whole catalogue first",
                    found=f"{truth['user'].n_unique():,} users, {k:,} items",
                    hint="write strategy: full, candidates: all",
                )
        parameters = {key: getattr(system, key) for key in system.model_fields_set - {"model", "k"}}
        model = MODELS[system.model](**parameters).fit(train)
        lists = model.recommend(truth["user"].unique().sort(), k)
        path = self.out / "runs" / f"{folder_names(self.experiment.systems)[name]}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        new_file(path, lists.write_parquet)
        return str(path)

    @cached_property
    def _interactions(self) -> tuple[pl.DataFrame, Table]:
        """The ground truth and the training interactions, for all baselines; read once."""
        truth, train = self.parts
        return self._table(truth, "truth").frame, self._table(train, "train")

    def _table(self, source: Any, role: TableRole) -> Table:
        if source is None:
            raise EmptyError(f"there are no {role} interactions for a baseline")
        return read_table(source, role, shared_names(self.experiment.settings.columns))

    @cached_property
    def _candidates(self) -> Candidates:
        """The candidates of all systems: sampled negatives, or the cold or warm items."""
        settings, chosen = self.experiment.settings, self.experiment.config.evaluation
        _, train = self.parts
        if not self.experiment.sampled:
            return self._cold_or_warm(train)
        truth = self.graded_truth
        popular = chosen.negative_sampling == "popularity"
        side = {"train": train, "items": self._side_tables["items"]}
        return sampled_candidates(
            truth,
            chosen.num_negatives,
            seed=chosen.seed,
            items=self._side_tables["items"],
            train=train,
            by=chosen.negative_sampling,
            power=chosen.neg_alpha if popular else 1.0,
            relevance_threshold=settings.relevance_threshold,
            columns=self.columns_of(
                "truth", *(role for role, table in side.items() if table is not None)
            ),
        )

    def _cold_or_warm(self, train: Any) -> Candidates:
        """Return the items with training interactions, or catalogue items without."""
        columns = shared_names(self.experiment.settings.columns)
        training = read_table(train, "train", columns)
        if self.experiment.candidates == "warm":
            return these(training.frame["item"].unique().sort())
        catalogue = (
            read_table(self._side_tables["items"], "items", columns).frame.select("item").unique()
        )
        seen = matching(training, "item", catalogue["item"]).select("item")
        cold = catalogue.join(seen, on="item", how="anti")
        if cold.is_empty():
            raise EmptyError(
                "every item of the catalogue has training interactions",
                hint="write candidates: all",
            )
        return these(cold["item"].sort())


def over_candidates(table: Table, candidates: Any) -> Recommendations:
    """Return lists without the items that are no candidates of their user, or of anybody.

    Candidates that a list does not hold come after those that it holds, and are not counted as
    recommended: lists should be long, at best the whole catalogue.
    """
    ids = candidates.frame.columns  # of items, and of users if each has candidates of their own
    pairs = candidates.frame.with_columns(
        pl.col(name).cast(table.frame.schema[name], strict=False) for name in ids
    )
    if any(pairs[name].null_count() for name in ids):
        raise ParameterError(
            "the ids of recommendations and ground truth are of different types",
            found=f"{table.frame.schema['item']} and {candidates.frame.schema['item']}",
        )
    kept = table.frame.join(pairs, on=ids, how="semi", maintain_order="left")
    if kept.is_empty():
        raise EmptyError("no recommended item is a candidate", where=table.source)
    if "rank" in kept.columns:
        kept = kept.sort("user", "rank", maintain_order=True)
        kept = kept.with_columns(rank=pl.int_range(1, pl.len() + 1).over("user"))
    expected = len(pairs) * (1 if candidates.per_user else kept["user"].n_unique())
    counts = {"candidates_without_scores": expected - len(kept)}
    columns = {name: table.columns[name] for name in kept.columns if name in table.columns}
    return Recommendations(
        kept,
        "recommendations",
        table.source,
        table.format,
        columns,
        is_text=table.is_text,
        sha256=table.sha256,
        protocol=candidates.protocol,
        counts={**candidates.counts, **counts},
    )


class Evaluate(Protocol):
    """An engine: `rankwise.evaluate`, or the Spark engine with its session."""

    def __call__(
        self, recommendations: Any, truth: Any, metrics: Any, options: Mapping[str, Any], /
    ) -> Result:
        """Evaluate lists against a ground truth under the options."""
        ...


def evaluate_locally(
    recommendations: Any, truth: Any, metrics: Any, options: Mapping[str, Any], /
) -> Result:
    """Evaluate in this process."""
    return evaluate(recommendations, truth, metrics, **options)
