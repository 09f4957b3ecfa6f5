"""A configuration file, read, checked as a whole and ready to run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from rankwise.evaluation.config.document import Document, Place, read_document
from rankwise.evaluation.config.mistakes import Mistakes
from rankwise.evaluation.config.named_tables import check_files, check_tables, check_tools, sources_of, systems_of
from rankwise.evaluation.config.requested import comparisons_of, decision_of, measures_of
from rankwise.evaluation.config.schema import Config, Source, json_schema
from rankwise.evaluation.questions import whole_settings
from rankwise.evaluation.settings import Settings, option_fields
from rankwise.evaluation.wanted import without_shorthands
from rankwise.splits.rules import from_dict
from rankwise.splits.splitter import SingleSplitter, Splitter

__all__ = ["Experiment", "read_experiment"]

_ROUNDS = 3  # what is wrong inside a wrong value shows only when that is gone
_NO_EFFECT = ("save_evaluation", "full_evaluation_on_report", "max_metric_per_row")


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """What a configuration file describes, with nothing left to look up.

    Attributes
    ----------
    folder : Path
        Where the file lies: paths in it are relative to this folder.
    config : Config
        The file as it was written, with defaults filled in.
    settings : Settings
        The measures and every option of the evaluation.
    systems : mapping of str to Source or Baseline
        Run files and baselines, by name.
    comparisons : sequence of dict
        The options of `rankwise.compare`, once for each comparison.
    splitter : Splitter or None
        The rule that splits the interactions.
    sampled : tuple of int or None
        Number of sampled negatives, and their seed.
    decision : dict or None
        The options of `rankwise.decide`.
    given : mapping of str to object
        The options of the evaluation that the file gives.
    notes : sequence of str
        What a reader should know: keys without effect, defaults that were chosen.
    """

    folder: Path
    config: Config
    settings: Settings
    systems: Mapping[str, Any]
    comparisons: Sequence[dict[str, Any]]
    splitter: SingleSplitter | None
    sampled: tuple[int, int] | None
    decision: dict[str, Any] | None = None
    given: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = field(default_factory=tuple)

    def path(self, source: Source) -> Path:
        """Return the path of a source from where we are."""
        return self.folder / source.path

    @property
    def sources(self) -> list[Source]:
        """Every file that is read."""
        return [source for _, source in sources_of(self.config, self.systems)]

    @property
    def options(self) -> dict[str, Any]:
        """The options of `rankwise.evaluate`: all of them, or those that a convention leaves."""
        convention = self.settings.convention
        if convention is not None:
            return {"convention": convention, **self.given}
        return {name: getattr(self.settings, name) for name in option_fields()}

    @property
    def measures(self) -> list[str]:
        """The measures as text, in the language of the convention."""
        convention = self.settings.convention
        return [str(m) if convention is None else convention.write(m) for m in self.settings.measures]


def read_experiment(path: str | Path) -> Experiment:
    """Read a configuration file, and check all that can be checked without reading tables.

    Raises
    ------
    ConfigError
        With every mistake at once: its line, the path to it, and what was probably meant.
    FileError
        If there is no such file.
    """
    document = read_document(path)
    mistakes = Mistakes(document)
    config = _validated(document, mistakes)
    if config is None:
        mistakes.check()
        raise AssertionError("a file without mistakes is valid")
    folder = Path(path).resolve().parent
    notes: list[str] = []
    systems = systems_of(config, mistakes)
    check_tables(config, systems, mistakes)
    check_files(config, systems, folder, mistakes)
    check_tools(config, mistakes)
    splitter = _splitter(config, mistakes)
    comparisons = comparisons_of(config, systems, mistakes)
    decision = decision_of(config, systems, mistakes)
    options = _options(config, comparisons, decision, mistakes)
    settings, given = _settings(config, options, mistakes) or (None, {})
    mistakes.check()
    assert settings is not None
    evaluation = config.evaluation
    notes += [f"evaluation.{key} has no effect here" for key in _NO_EFFECT if document.has(("evaluation", key))]
    sampled = (evaluation.num_negatives, evaluation.seed)
    return Experiment(
        folder=folder,
        config=config,
        settings=settings,
        systems=systems,
        comparisons=comparisons,
        splitter=splitter,
        sampled=sampled if evaluation.strategy == "sampled" else None,
        decision=decision,
        given=given,
        notes=notes,
    )


def _validated(document: Document, mistakes: Mistakes) -> Config | None:
    """Return the configuration without the values that are wrong, so that all others are checked.

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
    """Remove a value, or what should hold it if it is not there."""
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


def _splitter(config: Config, mistakes: Mistakes) -> SingleSplitter | None:
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
    config: Config, comparisons: Sequence[dict[str, Any]], decision: dict[str, Any] | None, mistakes: Mistakes
) -> dict[str, Any]:
    """Return the options of the evaluation, with what single tables say of their columns."""
    evaluation = config.evaluation
    options = {name: getattr(evaluation, name) for name in option_fields() if name in evaluation.model_fields_set}
    if evaluation.threshold is not None:
        options["threshold"] = evaluation.threshold
    if evaluation.batch_size is not None:
        if options.get("block_size") is not None:
            mistakes.add(("evaluation", "batch_size"), "this is the same as block_size")
        options["block_size"] = evaluation.batch_size
    columns = dict(options.get("columns") or {})
    for role in type(config.data).model_fields:
        source = getattr(config.data, role)
        for key, name in {} if source is None else source.columns.items():
            columns[f"{role}.{key}"] = name
    if columns:
        options["columns"] = columns
    sliced = (decision or {}).get("slices") or []
    named = {by for one in comparisons if (by := one.get("by"))}
    wanted = sorted(named | ({sliced} if isinstance(sliced, str) else set(sliced)))
    if wanted:  # groups are compared where they were evaluated
        given = options.get("by") or []
        listed = [given] if isinstance(given, str) else list(given)
        options["by"] = [*listed, *(by for by in wanted if by not in listed)]
    return options


def _settings(config: Config, options: dict[str, Any], mistakes: Mistakes) -> tuple[Settings, dict[str, Any]] | None:
    """Return the settings of the evaluation, and the options without shorthands."""
    read = mistakes.tried(("evaluation",), lambda: without_shorthands(options))
    if read is None:
        return None
    convention, given = read
    measures = tuple(measures_of(config, convention, mistakes))
    settings = mistakes.tried(("evaluation",), lambda: whole_settings(measures, convention, given))
    return None if settings is None else (settings, given)
