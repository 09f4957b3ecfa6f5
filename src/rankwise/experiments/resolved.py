"""The configuration of a run in full: every option, and the hash of every file that was read."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from rankwise.comparison.compare import compare
from rankwise.comparison.decide import decide
from rankwise.convention.convention import Convention
from rankwise.core import __version__
from rankwise.core.saved_forms import CONFIGURATION
from rankwise.experiments.checks import logged_sources, study_sources
from rankwise.experiments.document import Place
from rankwise.experiments.experiment import Experiment
from rankwise.experiments.schema import Source, options_of
from rankwise.experiments.studies import STUDIES
from rankwise.tables.files import source_hash

HEAD = """\
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
    return HEAD.format(version=__version__) + comment + text


def resolved(experiment: Experiment, folder: Path) -> dict[str, Any]:
    """Return the full configuration, with paths relative to ``folder`` and hashes of files."""
    config = experiment.config
    values: dict[str, Any] = {
        CONFIGURATION.key: CONFIGURATION.version,
        "data": _data_section(experiment, folder),
    }
    if experiment.splitter is not None:
        values["split"] = _split_section(experiment)
    values["systems"] = {
        name: _system_entry(experiment, system, folder)
        for name, system in experiment.systems.items()
    }
    values["evaluation"] = _evaluation_section(experiment)
    values["comparison"] = [
        _plain({**_defaults(compare), **options}) for options in experiment.comparisons
    ]
    if experiment.decision is not None:
        options = _plain({**_defaults(decide), **experiment.decision})
        values["decision"] = {k: value for k, value in options.items() if value is not None}

    values |= _study_sections(experiment, folder)
    if config.off_policy is not None:
        values["off_policy"] = _logged_section(experiment, config.off_policy, folder)

    values["output"] = _output_section(experiment)
    values["engine"] = config.engine.model_dump(exclude_none=True)
    return values


def _data_section(experiment: Experiment, folder: Path) -> dict[str, Any]:
    """Return the tables without their columns, which are among the options of the evaluation."""
    data = experiment.config.data
    entries = {
        role: _source(experiment, source, folder)
        for role in type(data).model_fields
        if role != "recommendations" and (source := getattr(data, role)) is not None
    }
    for entry in entries.values():
        entry.pop("columns", None)
    return entries


def _split_section(experiment: Experiment) -> dict[str, Any]:
    """Return the rule of the split with all its parameters, and the clock of its table."""
    split = experiment.config.split
    assert split is not None
    assert experiment.splitter is not None
    clock = split.model_dump(include={"time_unit", "time_format"}, exclude_none=True)
    rule: dict[str, Any] = _plain(experiment.splitter.to_dict())
    return rule | clock


def _system_entry(experiment: Experiment, system: Any, folder: Path) -> dict[str, Any]:
    """Return a system: its file, or the model with its parameters."""
    if isinstance(system, Source):
        return _source(experiment, system, folder)
    entry: dict[str, Any] = system.model_dump(exclude_none=True)
    return entry


def _evaluation_section(experiment: Experiment) -> dict[str, Any]:
    """Return the metrics and all options of the evaluation, those of sampling only if it samples."""
    options = {name: _plain(value) for name, value in experiment.options.items()}
    values = {"metrics": experiment.metrics, **options}
    if experiment.sampled:
        keys = ("strategy", "num_negatives", "negative_sampling", "neg_alpha", "seed")
        values |= {key: getattr(experiment.config.evaluation, key) for key in keys}
    if experiment.candidates != "all":
        values["candidates"] = experiment.candidates
    return values


def _study_sections(experiment: Experiment, folder: Path) -> dict[str, Any]:
    """Return the sections of studies with their files as they are now."""
    config = experiment.config
    names = [file.removesuffix(".json") for file in STUDIES if file != "off_policy.json"]
    values = {
        name: section.model_dump(exclude_none=True)
        for name in names
        if (section := getattr(config, name)) is not None
    }
    for place, source in study_sources(config):
        _set_at(values, place, _source(experiment, source, folder))
    return values


def _output_section(experiment: Experiment) -> dict[str, Any]:
    """Return the output, to another folder, with the table that WarpRec's name asks for."""
    config = experiment.config
    values: dict[str, Any] = config.output.model_dump(exclude_none=True)
    values["folder"] = "rerun"
    if config.evaluation.save_per_user and config.output.per_user is None:
        values["per_user"] = "csv"
    return values


def _logged_section(experiment: Experiment, section: Any, folder: Path) -> dict[str, Any]:
    """Return the section of logged requests with its files as they are now."""
    values: dict[str, Any] = _plain(section.model_dump(exclude_none=True))
    for place, source in logged_sources(section):
        entry = _source(experiment, source, folder)
        policy = _value_at(values, place)
        kinds = [kind for kind in ("probabilities", "lists", "scores") if kind in policy]
        _set_at(values, (*place, *kinds[:1]), entry)
    return values


def _value_at(values: Any, place: Place) -> Any:
    """Return the value at a place of a configuration."""
    for name in place:
        values = values[name]
    return values


def _set_at(values: Any, place: Place, value: Any) -> None:
    """Set the value at a place of a configuration."""
    _value_at(values, place[:-1])[place[-1]] = value


def _defaults(function: Callable[..., Any]) -> dict[str, Any]:
    options = options_of(function).items()
    return {
        name: default for name, (_, default, _) in options if default is not inspect.Parameter.empty
    }


def _source(experiment: Experiment, source: Source, folder: Path) -> dict[str, Any]:
    path = experiment.path(source)
    entry = source.model_dump(exclude_defaults=True)
    entry["path"] = Path(os.path.relpath(path, folder)).as_posix()
    digest = source_hash(path)
    if digest is not None:
        entry["sha256"] = digest
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
