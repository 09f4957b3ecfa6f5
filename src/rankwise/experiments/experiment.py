"""A configuration file, read, checked as a whole and ready to run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from rankwise.convention.convention import Convention
from rankwise.core.saved_forms import CONFIGURATION
from rankwise.evaluation.plan import whole_settings
from rankwise.evaluation.settings import Settings, check_taken, expand_aliases, option_fields
from rankwise.experiments import warprec
from rankwise.experiments.checks import (
    check_comparisons,
    check_decision,
    check_files,
    check_inputs,
    check_named_tables,
    check_output,
    check_questions,
    check_ranking,
    check_tools,
    comparisons_of,
    decision_of,
    expected_results,
    listed,
    metrics_of,
    named_tables,
    sources_of,
    systems_by_name,
)
from rankwise.experiments.config_errors import ConfigErrors
from rankwise.experiments.document import Document, Place, read_document
from rankwise.experiments.keys import spell_as_key
from rankwise.experiments.schema import Config, Source, json_schema
from rankwise.experiments.study_checks import check_studies
from rankwise.metrics.base import Metric
from rankwise.results.intervals import CROSSED
from rankwise.results.result import Result
from rankwise.splits.reading import from_dict
from rankwise.splits.splitter import SingleSplitter, Splitter
from rankwise.tables.columns import key_of

_ROUNDS = 3  # what is wrong inside a wrong value shows only when that is gone
_METRICS = ("metrics", "complex_metrics", "validation_metric", "k", "top_k")


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A resolved configuration file, with nothing left to look up.

    Attributes
    ----------
    file : Path
        The file.
    config : Config
        The file as it was written, with defaults filled in.
    settings : Settings
        The metrics and every option of the evaluation.
    systems : mapping of str to Source or Baseline
        Run files and baselines, by name.
    comparisons : sequence of dict
        The options of `rankwise.compare`, once for each comparison.
    splitter : Splitter or None
        The rule that splits the interactions.
    decision : dict or None
        The options of `rankwise.decide`.
    explicit : mapping of str to object
        The options of the evaluation that the file gives.
    notes : sequence of str
        What a reader should know: keys without effect, defaults that were chosen.
    """

    file: Path
    config: Config
    settings: Settings
    systems: Mapping[str, Any]
    comparisons: Sequence[dict[str, Any]]
    splitter: SingleSplitter | None
    decision: dict[str, Any] | None = None
    explicit: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = field(default_factory=tuple)

    @property
    def folder(self) -> Path:
        """The folder of the file, to which paths in the file are relative."""
        return self.file.parent

    def path(self, source: Source) -> Path:
        """Return the path of a source from where we are."""
        return self.folder / source.path

    @property
    def sampled(self) -> bool:
        """Whether lists are ranked from sampled negatives."""
        return bool(self.config.evaluation.strategy == "sampled")

    @property
    def candidates(self) -> Literal["all", "cold", "warm"]:
        """The items that are ranked."""
        candidates: Literal["all", "cold", "warm"] = self.config.evaluation.candidates
        return "all" if self.sampled else candidates

    @property
    def sources(self) -> list[Source]:
        """Every file that is read."""
        return [source for _, source in sources_of(self.config, self.systems)]

    @property
    def options(self) -> dict[str, Any]:
        """The options of `rankwise.evaluate`; with a convention, only the explicit options."""
        settings, explicit = self.settings, self.explicit
        if settings.convention is not None:
            options = {"convention": settings.convention, **explicit}
        else:
            options = {name: getattr(settings, name) for name in option_fields()}
        if settings.grades is not None:  # by which the file says what is relevant
            options = {name: value for name, value in options.items() if name != "grades"}
            options["relevance"] = dict(settings.grades)
        if "population" in options and "population" not in explicit and not self.has_truth:
            options["population"] = "recommended"
        return options

    @property
    def has_truth(self) -> bool:
        """Whether there is a ground truth: a table, or the test part of a split."""
        return self.config.data.truth is not None or self.splitter is not None

    @property
    def metrics(self) -> list[str]:
        """The metrics as text, in the language of the convention."""
        convention = self.settings.convention
        return [
            str(m) if convention is None else convention.write(m) for m in self.settings.metrics
        ]


def read_experiment(path: str | Path, *, output: Path | None = None) -> Experiment:
    """Read a configuration file, and check all that can be checked without reading tables.

    Parameters
    ----------
    path : str or Path
        The file.
    output : Path, optional
        The folder that is written to in place of the file's ``output.folder``.

    Raises
    ------
    ConfigError
        With every mistake at once: its line, the path to it, and what was probably meant.
    FileError
        If there is no such file, or its version cannot be read.
    """
    document = _current(read_document(path))
    mistakes = ConfigErrors(document, spell_as_key)
    config = _validated(document, mistakes)
    if config is None:
        mistakes.check()
        raise AssertionError("a file without mistakes is valid")
    file = Path(path).resolve()
    folder = file.parent
    systems = systems_by_name(config, mistakes)
    check_named_tables(config, systems, folder, mistakes)
    check_files(config, systems, folder, mistakes)
    check_tools(config, mistakes)
    notes = check_ranking(config, systems, folder, mistakes)
    if output is None:  # else the run checks the folder that it is given
        sources = [source for _, source in sources_of(config, systems)]
        mistakes.tried(
            ("output", "folder"),
            lambda: check_output(folder / config.output.folder, folder, sources),
        )
    splitter = _splitter(config, mistakes)
    comparisons = comparisons_of(config, systems, mistakes)
    decision = decision_of(config, systems, mistakes)
    settings, explicit = _evaluation(
        config, folder, systems, comparisons, decision if systems else None, mistakes
    )
    mistakes.check()
    assert settings is not None
    notes += [
        f"evaluation.{key} has no effect here"
        for key in warprec.WITHOUT_EFFECT
        if document.has(("evaluation", key))
    ]
    experiment = Experiment(
        file=file,
        config=config,
        settings=settings,
        systems=systems,
        comparisons=[one for _, one in comparisons],
        splitter=splitter,
        decision=decision,
        explicit=explicit,
        notes=notes,
    )
    check_questions(experiment.metrics, experiment.options, mistakes)
    if config.engine.name == "spark":
        mistakes.tried(("evaluation",), lambda: check_taken("spark", experiment.options))
    mistakes.check()
    return experiment


def _current(document: Document) -> Document:
    """Return a document with its values as the current version has them."""
    version = CONFIGURATION.version_of(document.values)
    CONFIGURATION.check(version, document.name)
    return replace(document, values=CONFIGURATION.upgrade(document.values, version))


def _evaluation(
    config: Config,
    folder: Path,
    systems: Mapping[str, Any],
    comparisons: Sequence[tuple[Place, dict[str, Any]]],
    decision: dict[str, Any] | None,
    mistakes: ConfigErrors,
) -> tuple[Settings | None, dict[str, Any]]:
    """Return the evaluation's settings and explicit options, checked with the comparisons."""
    options = _options(config, [one for _, one in comparisons], decision, mistakes)
    before = len(mistakes)
    convention, explicit = _shorthands(options, mistakes)
    wrong_convention = len(mistakes) > before or mistakes.is_wrong(("evaluation", "convention"))
    metrics = {} if wrong_convention else metrics_of(config, convention, mistakes)
    complete = len(mistakes) == before and not any(
        mistakes.is_wrong(("evaluation", key)) for key in _METRICS
    )
    settings = _settings(metrics, convention, explicit, mistakes)
    expected: dict[str, Result] = {}
    if metrics and settings is not None and systems:  # else logged requests alone are evaluated
        check_inputs(config, folder, metrics, settings, explicit, mistakes)
        wrong = settings.jackknife is None and mistakes.says(
            ("evaluation", "jackknife")
        )  # but it is not missing
        expected = expected_results(
            metrics, systems, replace(settings, jackknife=2) if wrong else settings
        )
        check_comparisons(comparisons, expected, mistakes, complete=complete)
        if decision is not None:
            check_decision(decision, expected, mistakes, complete=complete)

    tables = named_tables(config, folder, mistakes)
    check_studies(
        config, expected, settings, tables, mistakes, complete=complete and bool(expected)
    )
    return settings, explicit


def _validated(document: Document, mistakes: ConfigErrors) -> Config | None:
    """Return the configuration without invalid values, so that all remaining values are checked.

    None if nothing is left that could be checked.
    """
    values = deepcopy(dict(document.values))
    for _ in range(_ROUNDS):
        try:
            return Config.model_validate(values)
        except ValidationError as error:
            for place in mistakes.add_pydantic(error, json_schema()):
                # Half a system would be another kind of system, with mistakes of its kind.
                _remove(values, place[:2] if place[:1] == ("systems",) else place)
    return None


def _remove(values: Any, place: Place) -> None:
    """Remove a value, or the holder of a missing value."""
    if not place:
        values.clear()
        return
    *path, last = place
    holder = values
    for part in path:
        inside = isinstance(holder, dict) and part in holder
        if not inside and not (isinstance(holder, list) and isinstance(part, int)):
            return
        holder = holder[part]
    if isinstance(holder, dict) and last in holder:
        del holder[last]
    else:  # a key is missing, or an element of a list is wrong
        _remove(values, tuple(path))


def _splitter(config: Config, mistakes: ConfigErrors) -> SingleSplitter | None:
    if config.split is None:
        return None
    rule = config.split.model_dump(exclude={"time_unit", "time_format"})
    splitter: Splitter | None = mistakes.tried(("split",), lambda: from_dict(rule))
    if splitter is not None and not isinstance(splitter, SingleSplitter):
        mistakes.add(
            ("split", "rule"),
            f"{config.split.rule} makes several splits, and one is run",
            "rankwise split writes folds",
        )
        return None
    return splitter


def _options(
    config: Config,
    comparisons: Sequence[dict[str, Any]],
    decision: dict[str, Any] | None,
    mistakes: ConfigErrors,
) -> dict[str, Any]:
    """Return the options of the evaluation, including the column names of single tables."""
    evaluation = config.evaluation
    options = {
        name: getattr(evaluation, name)
        for name in option_fields()
        if name in evaluation.model_fields_set
    }
    if evaluation.threshold is not None:
        options["threshold"] = evaluation.threshold
    options = warprec.with_second_keys(options, evaluation, mistakes)

    columns = dict(options.get("columns") or {}) | _columns_of_tables(config)
    if columns:
        options["columns"] = columns

    groups = {name for one in comparisons for key in ("by", "clusters") if (name := one.get(key))}
    groups |= {*listed((decision or {}).get("slices"))}
    if groups:  # groups are compared where they were evaluated
        _add_groups(options, groups, mistakes)
    return options


def _columns_of_tables(config: Config) -> dict[str, Any]:
    """Return the columns that single tables name, by table and role."""
    sources = {role: getattr(config.data, role) for role in type(config.data).model_fields}
    return {
        key_of(role, key): name
        for role, source in sources.items()
        if source is not None
        for key, name in source.columns.items()
    }


def _add_groups(options: dict[str, Any], groups: set[str], mistakes: ConfigErrors) -> None:
    """Evaluate by the groups that are compared, too; crossed ones are evaluated together alone."""
    by = listed(options.get("by"))
    evaluated = {CROSSED.join(by)} if options.get("cross") else {*by}
    missing = sorted(groups - evaluated)
    if options.get("cross") and missing:
        mistakes.add(
            ("evaluation", "cross"),
            f"crossed groups are evaluated together alone, and {missing[0]!r} is compared",
            f"compare by: {CROSSED.join(by)!r}, or leave cross out",
        )
        return
    options["by"] = [*by, *missing]


def _shorthands(
    options: Mapping[str, Any], mistakes: ConfigErrors
) -> tuple[Convention | None, dict[str, Any]]:
    """Return the convention, and the remaining options with shorthands expanded."""
    chosen = options.get("convention")
    convention = mistakes.tried(("evaluation", "convention"), lambda: Convention.resolve(chosen))
    rest = {name: value for name, value in options.items() if name != "convention"}
    read = mistakes.tried(("evaluation", "threshold"), lambda: expand_aliases(rest))
    if read is None:
        rest.pop("threshold", None)
    return convention, rest if read is None else read[1]


def _settings(
    metrics: Mapping[Metric, Place],
    convention: Convention | None,
    explicit: Mapping[str, Any],
    mistakes: ConfigErrors,
) -> Settings | None:
    """Return the settings of the evaluation without options that are wrong."""
    places: dict[str, Place] = {
        name: ("evaluation", key)
        for name, key in warprec.SECOND_KEYS.items()
        if mistakes.document.has(("evaluation", key))
        and not mistakes.document.has(("evaluation", name))
    }

    def make(options: Mapping[str, Any]) -> Settings:
        if (
            options.get("cross") and "by" in explicit
        ):  # which it crosses, where each option is tried alone
            options = {"by": explicit["by"], **options}
        if not metrics:  # their mistakes are known
            return Settings.of((), None, options)
        return whole_settings(tuple(metrics), convention, options)

    return mistakes.tried_together(("evaluation",), explicit, make, places)
