"""Running a configuration: split, systems, results, comparisons, audit, tables and report."""

from __future__ import annotations

import inspect
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import polars as pl
import yaml

from rankwise.candidates import Candidates, these
from rankwise.candidates import sampled as sampled_candidates
from rankwise.comparison.compare import compare
from rankwise.comparison.comparison import Comparison
from rankwise.comparison.decide import decide, held_to_plan
from rankwise.comparison.decision import Decision
from rankwise.comparison.storage import folder_names, result_folders, write_head
from rankwise.convention.convention import Convention
from rankwise.core import __version__
from rankwise.core.saved_forms import CONFIGURATION
from rankwise.errors import EmptyError, FileError, OutputError, ParameterError, RankwiseError
from rankwise.evaluation.evaluate import evaluate
from rankwise.evaluation.grades import with_grades
from rankwise.evaluation.truth_slices import columns_of_truth
from rankwise.evidence.judged import JudgedResult, judged
from rankwise.evidence.launches import MetricValidation, validate_metrics
from rankwise.evidence.leaderboard import Leaderboard, leaderboard
from rankwise.evidence.nulls import Nulls, nulls
from rankwise.evidence.rank_agreement import RankAgreement, rank_agreement
from rankwise.evidence.stability import Stability, stability
from rankwise.experiments.checks import check_output, logged_sources
from rankwise.experiments.experiment import Experiment
from rankwise.experiments.plan import check_plan, plan_file
from rankwise.experiments.schema import MODELS, LoggedTarget, Source, options_of
from rankwise.offpolicy import policies
from rankwise.offpolicy.off_policy import off_policy
from rankwise.offpolicy.result import OffPolicy
from rankwise.reporting.report import report
from rankwise.results.result import Result
from rankwise.splits.audit import audit
from rankwise.splits.audit_parts import Audit
from rankwise.splits.reading import truth_and_train
from rankwise.tables.columns import columns_of, key_of, shared_names
from rankwise.tables.files import is_table_folder, read_file, table_hash
from rankwise.tables.formats import Declared
from rankwise.tables.ids import matching
from rankwise.tables.read import read_table
from rankwise.tables.storage import new_file, new_folder, write_text
from rankwise.tables.table import Recommendations, Table, TableRole, card_beside

_HEAD = """\
# What was run, by rankwise {version}: every option in full, and the hash of every file.
# `rankwise run` of this file gives the same bits, or says which file has changed.
"""


def resolved_text(experiment: Experiment, folder: Path) -> str:
    """Return the text of the configuration to be saved in ``folder``.

    Paths are relative to that folder, metrics are written in full, and what other names or
    sections said stands where rankwise has it.
    """
    text = yaml.safe_dump(
        resolved(experiment, folder), sort_keys=False, allow_unicode=True, width=100
    )
    comment, convention = "", experiment.settings.convention
    definitions = (
        {} if convention is None else convention.own_definitions(experiment.settings.metrics)
    )
    if definitions:
        lines = "".join(f"#   {text}\n" for text in definitions.values())
        comment = (
            f"# These metrics are not of convention {convention}; they are rankwise's own "
            f"definitions:\n{lines}"
        )
    return _HEAD.format(version=__version__) + comment + text


def resolved(experiment: Experiment, folder: Path) -> dict[str, Any]:
    """Return the full configuration, with paths relative to ``folder`` and hashes of files."""
    config = experiment.config
    data = {
        role: _source(experiment, source, folder)
        for role in type(config.data).model_fields
        if role != "recommendations" and (source := getattr(config.data, role)) is not None
    }
    # The columns of single tables stand in the options of the evaluation.
    values: dict[str, Any] = {
        CONFIGURATION.key: CONFIGURATION.version,
        "data": {
            role: {k: v for k, v in source.items() if k != "columns"}
            for role, source in data.items()
        },
    }
    if experiment.splitter is not None:
        assert config.split is not None
        values["split"] = _plain(experiment.splitter.to_dict()) | (
            config.split.model_dump(include={"time_unit", "time_format"}, exclude_none=True)
        )
    values["systems"] = {
        name: _source(experiment, system, folder)
        if isinstance(system, Source)
        else system.model_dump(exclude_none=True)
        for name, system in experiment.systems.items()
    }
    values["evaluation"] = {
        "metrics": experiment.metrics,
        **{name: _plain(value) for name, value in experiment.options.items()},
    }
    evaluation = config.evaluation
    if experiment.sampled:
        keys = ("strategy", "num_negatives", "negative_sampling", "neg_alpha", "seed")
        values["evaluation"] |= {key: getattr(evaluation, key) for key in keys}
    if experiment.candidates != "all":
        values["evaluation"]["candidates"] = experiment.candidates
    values["comparison"] = [
        _plain({**_defaults(compare), **options}) for options in experiment.comparisons
    ]
    if experiment.decision is not None:
        values["decision"] = {
            name: value
            for name, value in _plain({**_defaults(decide), **experiment.decision}).items()
            if value is not None
        }
    if config.launches is not None:
        table = _source(experiment, config.launches.table, folder)
        values["launches"] = {**config.launches.model_dump(exclude_none=True), "table": table}
    if config.leaderboard is not None:
        table = _source(experiment, config.leaderboard.table, folder)
        values["leaderboard"] = {**config.leaderboard.model_dump(exclude_none=True), "table": table}
    if config.nulls is not None:
        values["nulls"] = config.nulls.model_dump(exclude_none=True)
    if config.judged is not None:
        human = _source(experiment, config.judged.human, folder)
        values["judged"] = {**config.judged.model_dump(exclude_none=True), "human": human}
    if config.agreement is not None:
        values["agreement"] = config.agreement.model_dump(exclude_none=True)
        if config.agreement.truth is not None:
            values["agreement"]["truth"] = _source(experiment, config.agreement.truth, folder)
    if config.stability is not None:
        values["stability"] = {
            **config.stability.model_dump(exclude_none=True),
            "runs": [_source(experiment, run, folder) for run in config.stability.runs],
        }
    if config.off_policy is not None:
        values["off_policy"] = _logged_section(experiment, config.off_policy, folder)
    output = config.output.model_dump(exclude_none=True)
    values["output"] = output | {"folder": "rerun"}
    if config.evaluation.save_per_user and config.output.per_user is None:
        values["output"]["per_user"] = "csv"
    values["engine"] = config.engine.model_dump(exclude_none=True)
    return values


def _logged_section(experiment: Experiment, section: Any, folder: Path) -> dict[str, Any]:
    """Return the section of logged requests with its files as they are now."""
    values: Any = _plain(section.model_dump(exclude_none=True))
    for place, source in logged_sources(section):
        inner = values
        for name in place[:-1]:
            inner = inner[name]
        entry, last = _source(experiment, source, folder), place[-1]
        kind = next(
            (kind for kind in ("probabilities", "lists", "scores") if kind in inner[last]), None
        )
        inner[last] = entry if kind is None else inner[last] | {kind: entry}
    made: dict[str, Any] = values
    return made


def _defaults(function: Callable[..., Any]) -> dict[str, Any]:
    options = options_of(function).items()
    return {
        name: default for name, (_, default, _) in options if default is not inspect.Parameter.empty
    }


def _source(experiment: Experiment, source: Source, folder: Path) -> dict[str, Any]:
    path = experiment.path(source)
    entry = source.model_dump(exclude_defaults=True)
    entry["path"] = Path(os.path.relpath(path, folder)).as_posix()
    if path.is_file() or is_table_folder(path):
        entry["sha256"] = table_hash(path)
    return entry


def _plain(value: Any) -> Any:
    """Return values as YAML holds them."""
    if isinstance(value, Convention):
        return _plain(value.to_dict())
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value


Say: TypeAlias = Callable[[str], object]
"""A function that gets progress messages, line by line."""
Evidence: TypeAlias = (
    MetricValidation | JudgedResult | RankAgreement | Stability | Leaderboard | Nulls | OffPolicy
)
"""What other studies say."""
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
            else self._fitted(name, system)
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
        if source.format is None:
            return read_table(str(path), role, columns)
        raw = self._declared(path, source)
        table = read_table(raw, role, columns)
        return replace(table, split=card_beside(path, raw.sha256)) if role == "truth" else table

    def table_or_path(self, source: Source) -> Any:
        """Return a file's path, or its table if the configuration names its format."""
        path = self.path(source)
        return str(path) if source.format is None or path.is_dir() else self._declared(path, source)

    def path(self, source: Source) -> Path:
        """Return the path of a source; raise if the configuration was resolved for another file."""
        path = self.experiment.path(source)
        if source.sha256 is not None and table_hash(path) != source.sha256:
            raise FileError(
                "this file is not the one that the configuration was resolved for",
                where=str(path),
                hint="leave sha256 out to evaluate it as it is",
            )
        return path

    def _declared(self, path: Path, source: Source) -> Any:
        assert source.format is not None
        return read_file(path, Declared(source.format, source.separator, tuple(source.header)))

    def _fitted(self, name: str, system: Any) -> str:
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


_CONFIG = "config.yaml"
_DECISION = "decision.json"
_NOTE = "unfinished.txt"
_OURS = (
    _NOTE,
    "comparison.json",
    "comparison-*.json",
    _DECISION,
    "table.md",
    "agreement.json",
    "judged.json",
    "launches.json",
    "leaderboard.json",
    "nulls.json",
    "movers.csv",
    "stability.json",
    "off_policy.json",
    "off_policy",
    "table.tex",
    "table.csv",
    "report.html",
    "results",
    "per_user",
    "runs",
    "split",
)
"""What a run writes, beside its configuration, and clears where that of an earlier run lies beside it."""
_SUFFIXES = {"markdown": "md", "latex": "tex", "csv": "csv"}


def _clear(experiment: Experiment, out: Path) -> None:
    """Make a folder ready: nothing of an earlier run is left to be taken for this one's.

    The resolved configuration is written first, beside a note that says that the run has not
    finished: so it stays if the run is killed.

    Raises
    ------
    ParameterError
        If the folder holds the configuration or one of its inputs.
    OutputError
        If a file or folder that the run would replace is not of an earlier run, or is a link to
        somewhere else.
    """
    check_output(out, experiment.folder, experiment.sources)
    resolved = resolved_text(experiment, out)
    out.mkdir(parents=True, exist_ok=True)
    earlier = _outputs(experiment, out)
    _check_replaceable(out, earlier)

    for old in earlier:
        if old.is_dir():
            shutil.rmtree(old)
        else:
            old.unlink()
    write_text(out / _NOTE, _RUNNING)
    write_text(out / _CONFIG, resolved)


def _outputs(experiment: Experiment, out: Path) -> list[Path]:
    """Return the paths in a folder whose names a run writes to."""
    report = experiment.config.output.report
    names = [_CONFIG, *_OURS, *([report] if isinstance(report, str) else [])]
    return sorted({path for name in names for path in out.glob(name)})


def _check_replaceable(out: Path, paths: Sequence[Path]) -> None:
    """Raise if a run would replace a link, or files that no earlier run wrote."""
    links = [path for path in paths if path.is_symlink()]
    if links:
        raise OutputError(
            "a run writes into its folder, and this is a link to somewhere else",
            where=str(links[0]),
            found=str(links[0].readlink()),
            hint="remove the link, or name another folder: -o DIR",
        )
    config = out / _CONFIG
    is_of_run = config.is_file() and config.read_bytes().startswith(_HEAD.split("{")[0].encode())
    if paths and not is_of_run:
        raise OutputError(
            "the output folder has files that no run wrote, and that this run would replace",
            where=str(out),
            found=", ".join(path.name for path in paths[:6]),
            hint="name another folder: -o DIR, or output: {folder: results}",
        )


_RUNNING = """\
This run is in progress, or it was stopped. Every file here is complete; missing files were not
written. `rankwise run` of config.yaml makes everything anew.
"""


def _unfinished(out: Path, done: Sequence[str], error: BaseException) -> str:
    """Write a note with the error and the finished parts of a run, and return a short version."""
    kept = ", ".join(done) or "nothing"
    reason = str(error) if isinstance(error, RankwiseError) else f"{type(error).__name__}: {error}"
    text = f"This run did not finish.\n\nFinished before: {kept}\n\nIt ended with:\n\n{reason}\n"
    with suppress(OSError):  # a full disk is what ended the run, and is told
        write_text(out / _NOTE, text)
    return f"finished before, and kept in {out}: {kept}; {_NOTE} has the error"


def _write_comparisons(
    out: Path, results: Mapping[str, Result], comparisons: Sequence[Comparison]
) -> None:
    """Write comparisons of saved results."""
    write_head(out, comparisons[0].to_dict(), results)
    for at, other in enumerate(comparisons[1:], start=2):
        name = f"comparison-{at}-{other.design.test}-{other.design.correction}.json"
        write_text(out / name, other.export("json"))


def _write_results(
    experiment: Experiment,
    out: Path,
    results: Mapping[str, Result],
    comparisons: Sequence[Comparison],
) -> None:
    """Write tables of all users and of each of them."""
    output = experiment.config.output
    for form in output.tables if results else ():
        shown: Any = comparisons[0] if comparisons else next(iter(results.values()))
        write_text(out / f"table.{_SUFFIXES[form]}", shown.export(form))
    per_user = output.per_user or ("csv" if experiment.config.evaluation.save_per_user else None)
    if per_user is not None and results:
        folder = out / "per_user"
        folder.mkdir(exist_ok=True)
        for name, part in folder_names(results).items():
            new_file(
                folder / f"{part}.{per_user}", getattr(results[name].per_user, f"write_{per_user}")
            )


def _write_report(
    experiment: Experiment,
    out: Path,
    results: Mapping[str, Result],
    comparisons: Sequence[Comparison],
    audited: Audit | None,
    inputs: Inputs,
    runs: Mapping[str, Any],
    decision: Decision | None,
    evidence: Sequence[Evidence],
) -> Mapping[str, str]:
    """Write the report, and return the parts that are missing, with reasons."""
    output = experiment.config.output
    if output.report is False:
        return {}
    truth, train = (
        (inputs.graded_truth, inputs.parts[1]) if inputs.truth is not None else (None, None)
    )
    options = {"truth": truth, "train": train, "items": inputs.items}
    local = {name: run for name, run in runs.items() if isinstance(run, Table)}
    if not results:  # of logged requests alone
        page = report(_log_of(evidence), title=output.title, decision=decision)
        page.save(out / (output.report if isinstance(output.report, str) else "report.html"))
        return page.missing
    page = report(
        comparisons[0] if comparisons else dict(results),
        title=output.title,
        audit=audited,
        decision=decision,
        evidence=evidence,
        recommendations=local,
        columns=inputs.columns_of("recommendations", "truth", "train", "items"),
        **options,
    )
    page.save(out / (output.report if isinstance(output.report, str) else "report.html"))
    return page.missing


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


@dataclass(frozen=True)
class Outcome:
    """Everything that the run of a configuration produced.

    Attributes
    ----------
    folder : Path
        Where everything was written.
    results : mapping of str to Result
        The result of each system.
    comparisons : sequence of Comparison
        What was compared, the first one for the report; empty for a single system.
    audit : Audit or None
        What was found in the split.
    decision : Decision or None
        Whether to ship, if the configuration asks for it.
    missing : mapping of str to str
        What the report is without, and why.
    evidence : sequence of MetricValidation, JudgedResult, RankAgreement, Leaderboard, Nulls, \
Stability, OffPolicy
        What past launches, human labels, a second order, runs of one system and logged requests
        say, if the configuration names them.
    is_too_noisy : bool
        Whether a noise floor is above the number that the configuration allows.
    plan : dict or None
        Whether the run was as planned, as `check_plan` returns it; None if it was not held against
        a plan.
    """

    folder: Path
    results: Mapping[str, Result]
    comparisons: Sequence[Comparison]
    audit: Audit | None
    missing: Mapping[str, str]
    decision: Decision | None = None
    evidence: Sequence[Evidence] = ()
    plan: dict[str, Any] | None = None
    is_too_noisy: bool = False

    @property
    def is_as_planned(self) -> bool:
        """Whether nothing differs from the plan; True without one."""
        return self.plan is None or not self.plan["differences"]


def execute(
    experiment: Experiment,
    *,
    evaluate: Evaluate = evaluate_locally,
    folder: Path | None = None,
    say: Say = lambda _: None,
    plan: bool = False,
) -> Outcome:
    """Run an experiment, and write all outputs to its folder.

    Parameters
    ----------
    experiment : Experiment
        What to do.
    evaluate : callable, default=evaluate_locally
        The engine.
    folder : Path, optional
        Where to write; by default where the configuration says.
    say : callable, optional
        Is told what is being done.
    plan : bool, default=False
        Hold the run against its plan, whatever the configuration says: every output tells the
        outcome.

    Raises
    ------
    RankwiseError
        If a table cannot be evaluated as it is, or a file cannot be written. What was finished
        before stays in the folder, with a note.
    """
    out = experiment.folder / experiment.config.output.folder if folder is None else folder
    held = None
    if plan or experiment.config.plan:
        held = check_plan(
            experiment, resolved(experiment, experiment.folder), plan_file(experiment.file)
        )
        say(held["statement"])
    _clear(experiment, out)
    done: list[str] = []
    try:
        outcome = _executed(experiment, out, evaluate, say, done, held)
    except BaseException as error:
        say(_unfinished(out, done, error))
        raise
    (out / _NOTE).unlink(missing_ok=True)
    return outcome


def _executed(
    experiment: Experiment,
    out: Path,
    evaluate: Evaluate,
    say: Say,
    done: list[str],
    held: dict[str, Any] | None,
) -> Outcome:
    """Run an experiment; write each part when finished, and name the part in ``done``."""
    for note in experiment.notes:
        say(note)
    inputs = Inputs(experiment, out, say)
    if experiment.splitter is not None:
        done.append("the split")
    folders = result_folders(out, experiment.systems)
    runs, results = {}, {}
    for name, system in experiment.systems.items():
        say(f"evaluating {name} …")
        runs[name] = inputs.run(name, system)
        options = inputs.options(system)
        results[name] = evaluate(runs[name], inputs.truth, experiment.metrics, options)
        results[name].provenance.update({} if held is None else {"plan": held})
        results[name].save(folders[name])
        done.append(f"the result of {name}")
    floor = _stability(experiment, inputs, evaluate, say)
    comparisons = _compared(experiment, results, floor, say)
    if comparisons:
        _write_movers(experiment, out, comparisons, floor)
        _write_comparisons(out, results, comparisons)
        done.append("the comparison")
    _write_results(experiment, out, results, comparisons)
    decision = _decided(experiment, out, results, done, held) if results else None
    again = partial(_by_other_truth, experiment, inputs, evaluate, runs)
    studies: list[Evidence] = []
    for file, study in _evidence(experiment, inputs, results, runs, floor, again):
        studies.append(study)
        study.settings["plans"] = [] if held is None else [held["statement"]]
        write_text(out / file, study.export("json"))
        if isinstance(study, OffPolicy | Stability):
            study.save(out / Path(file).stem)
        done.append(_EVIDENCE[file])
    if not results:
        decision = _decided(experiment, out, _log_of(studies), done, held)
    audited = _audited(experiment, inputs, say)
    missing = _write_report(
        experiment, out, results, comparisons, audited, inputs, runs, decision, studies
    )
    at_most = getattr(experiment.config.stability, "at_most", None)
    is_too_noisy = at_most is not None and floor is not None and floor.is_above(at_most)
    return Outcome(
        out, results, comparisons, audited, missing, decision, studies, held, is_too_noisy
    )


def _decided(
    experiment: Experiment,
    out: Path,
    results: Mapping[str, Result] | OffPolicy,
    done: list[str],
    held: dict[str, Any] | None,
) -> Decision | None:
    """Return and save the decision about systems or logged policies; None if not requested."""
    if experiment.decision is None:
        return None
    decision = decide(results, **experiment.decision)
    if (
        isinstance(results, OffPolicy) and held is not None
    ):  # results of systems name their plan themselves
        decision = held_to_plan(decision, [held])
    decision.save(out / _DECISION)
    done.append("the decision")
    return decision


_EVIDENCE = {
    "launches.json": "the validation of metrics",
    "leaderboard.json": "the leaderboard",
    "nulls.json": "the nulls",
    "judged.json": "the values by human labels",
    "agreement.json": "the agreement of two orders",
    "stability.json": "the noise floor",
    "off_policy.json": "the policies on logged requests",
}
"""The files of evidence, and what each is called in the note on an unfinished run."""


def _evidence(
    experiment: Experiment,
    inputs: Inputs,
    results: Mapping[str, Result],
    runs: Mapping[str, Any],
    floor: Stability | None,
    again: Callable[[Source], dict[str, Result]],
) -> Iterator[tuple[str, Evidence]]:
    """Yield file and study: past launches, labels, a second order, noise and logged requests.

    ``again`` evaluates the systems against another ground truth.
    """
    launches, labels, agreement = (
        getattr(experiment.config, name) for name in ("launches", "judged", "agreement")
    )
    if launches is not None:
        options = launches.model_dump(exclude={"table"})
        yield "launches.json", validate_metrics(inputs.path(launches.table), **options)
    board = experiment.config.leaderboard
    if board is not None:
        options = board.model_dump(exclude={"table"})
        yield "leaderboard.json", leaderboard(inputs.path(board.table), **options)
    if labels is not None:
        yield (
            "judged.json",
            judged(
                human=again(labels.human), judge=results, **labels.model_dump(exclude={"human"})
            ),
        )
    if agreement is not None:
        second = None if agreement.truth is None else again(agreement.truth)
        yield (
            "agreement.json",
            rank_agreement(results, second, **agreement.model_dump(exclude={"truth"})),
        )
    if experiment.config.nulls is not None:
        yield "nulls.json", _nulls(experiment.config.nulls, experiment, inputs, runs)
    if floor is not None:
        yield "stability.json", floor
    if experiment.config.off_policy is not None:
        yield "off_policy.json", _off_policy(experiment.config.off_policy, inputs)


def _log_of(studies: Iterable[Evidence]) -> OffPolicy:
    return next(study for study in studies if isinstance(study, OffPolicy))


def _off_policy(section: Any, inputs: Inputs) -> OffPolicy:
    """Estimate the values of policies on logged requests."""
    tables = {
        name: getattr(section, name) for name in ("exposures", "outcomes", "predictions", "items")
    }
    named = {role: source for role, source in tables.items() if source is not None}
    columns = {
        f"{role}.{key}": name
        for role, source in named.items()
        for key, name in source.columns.items()
    }
    read = {role: inputs.table_or_path(source) for role, source in named.items()}
    propensity = section.propensity
    options = section.model_dump(exclude={*tables, "targets", "propensity"})
    return off_policy(
        read.pop("exposures"),
        read.pop("outcomes", None),
        targets={name: _policy(target, inputs) for name, target in section.targets.items()},
        propensity=_policy(propensity, inputs)
        if isinstance(propensity, LoggedTarget)
        else propensity,
        columns=columns or None,
        **read,
        **options,
    )


def _nulls(section: Any, experiment: Experiment, inputs: Inputs, runs: Mapping[str, Any]) -> Nulls:
    """Return the nulls of the systems that the configuration names."""
    names = section.systems or list(runs)
    unknown = [name for name in names if name not in runs]
    if unknown:
        raise ParameterError(f"there is no system {unknown[0]!r}", found=", ".join(runs))
    truth, train = inputs.parts
    return nulls(
        {name: runs[name] for name in names},
        truth,
        train=train,
        columns=inputs.columns_of("recommendations", "truth", "train") or None,
        relevance_threshold=experiment.options.get("relevance_threshold"),
        **section.model_dump(exclude={"systems"}),
    )


def _policy(target: LoggedTarget, inputs: Inputs) -> policies.Policy:
    """Return the policy that a configuration describes."""
    if target.source is None:
        rules = {"uniform": policies.Uniform(), "logged": policies.Logged()}
        return policies.Column(str(target.column)) if target.rule is None else rules[target.rule]
    columns = {f"targets.{key}": name for key, name in target.source.columns.items()}
    table = read_table(inputs.table_or_path(target.source), "targets", columns)
    if target.scores is not None:
        return policies.Scores(table, temperature=target.temperature, epsilon=target.epsilon)
    return (
        policies.Probabilities(table)
        if target.lists is None
        else policies.Lists(table, target.epsilon or 0.0)
    )


def _by_other_truth(
    experiment: Experiment,
    inputs: Inputs,
    evaluate: Evaluate,
    runs: Mapping[str, Any],
    source: Source,
) -> dict[str, Result]:
    """Evaluate all systems against another ground truth."""
    results = {}
    for name, system in experiment.systems.items():
        options = inputs.options(system)
        columns = {
            key: column
            for key, column in (options.get("columns") or {}).items()
            if not key.startswith("truth.")
        }
        columns |= {key_of("truth", key): column for key, column in source.columns.items()}
        truth = inputs.table_or_path(source)
        results[name] = evaluate(
            runs[name], truth, experiment.metrics, options | {"columns": columns or None}
        )
    return results


def _stability(
    experiment: Experiment, inputs: Inputs, evaluate: Evaluate, say: Say
) -> Stability | None:
    """Return the noise floor of the runs that the configuration names; None without them."""
    section = experiment.config.stability
    if section is None:
        return None
    runs = []
    for at, source in enumerate(section.runs, start=1):
        say(f"evaluating run {at} of {len(section.runs)} …")
        lists = inputs.run(f"run {at}", source)
        runs.append(evaluate(lists, inputs.truth, experiment.metrics, inputs.options(source)))
    return stability(runs, **section.model_dump(exclude={"runs", "at_most"}))


def _compared(
    experiment: Experiment, results: Mapping[str, Result], floor: Stability | None, say: Say
) -> list[Comparison]:
    """Return every comparison; a single system has none."""
    if len(results) < 2:
        return []
    say("comparing …")
    made = []
    for options in experiment.comparisons:
        asked = {name: value for name, value in options.items() if name != "movers"}
        made.append(compare(results, **asked | {"noise": floor if asked.get("noise") else None}))
    return made


def _write_movers(
    experiment: Experiment, out: Path, comparisons: Sequence[Comparison], floor: Stability | None
) -> None:
    """Write the users that moved most, of every comparison that asks for them."""
    tables = []
    for options, comparison in zip(experiment.comparisons, comparisons, strict=False):
        if options.get("movers") is None:
            continue
        baseline = comparison.design.baseline or next(iter(comparison.results))
        for system in comparison.results:
            if system != baseline:
                found = comparison.movers(
                    system, baseline=baseline, n=options["movers"], noise=floor
                )
                named = [pl.lit(text).alias(name) for name, text in found.names.items()]
                tables.append(found.table.select(*named, pl.all()))
    if tables:
        new_file(out / "movers.csv", pl.concat(tables, how="diagonal_relaxed").write_csv)


def _audited(experiment: Experiment, inputs: Inputs, say: Say) -> Audit | None:
    """Return the audit of the split, where there is training data."""
    truth, train = inputs.parts if inputs.truth is not None else (None, None)
    if not experiment.config.output.audit or train is None or truth is None:
        return None
    say("auditing the split …")
    try:
        return audit(train, truth, columns=inputs.columns_of("interactions"))
    except RankwiseError as error:
        say(f"no audit: {error.what}")
        return None
