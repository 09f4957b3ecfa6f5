"""Write an experiment as a complete configuration file, which reproduces it bit by bit."""

from __future__ import annotations

import inspect
import os
from pathlib import Path
from typing import Any

import yaml

from rankwise.convention.convention import Convention
from rankwise.core.version import __version__
from rankwise.evaluation.config.experiment import Experiment
from rankwise.evaluation.config.schema import Source, options_of
from rankwise.results.compare import compare
from rankwise.results.decide import decide
from rankwise.tables.parts import is_table_folder, table_hash

__all__ = ["HEAD", "resolved_text"]

HEAD = """\
# What was run, by rankwise {version}: every option in full, and the hash of every file.
# `rankwise run` of this file gives the same bits, or says which file has changed.
"""


def resolved_text(experiment: Experiment, folder: Path) -> str:
    """Return the text of the configuration to be saved in ``folder``.

    Paths are relative to that folder, measures are written in full, and what other names or
    sections said stands where rankwise has it.
    """
    text = yaml.safe_dump(_resolved(experiment, folder), sort_keys=False, allow_unicode=True, width=100)
    return HEAD.format(version=__version__) + _own_definitions(experiment) + text


def _own_definitions(experiment: Experiment) -> str:
    """Return the comment that names the metrics that the convention does not have."""
    convention = experiment.settings.convention
    own = {} if convention is None else convention.own_definitions(experiment.settings.measures)
    if not own:
        return ""
    lines = "".join(f"#   {text}\n" for text in own.values())
    return f"# These metrics are not of convention {convention}; they are rankwise's own definitions:\n{lines}"


def _resolved(experiment: Experiment, folder: Path) -> dict[str, Any]:
    config = experiment.config
    data = {
        role: _source(experiment, source, folder)
        for role in type(config.data).model_fields
        if role != "recommendations" and (source := getattr(config.data, role)) is not None
    }
    # The columns of single tables stand in the options of the evaluation.
    values: dict[str, Any] = {
        "data": {role: {k: v for k, v in source.items() if k != "columns"} for role, source in data.items()}
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
        "measures": experiment.measures,
        **{name: _plain(value) for name, value in experiment.options.items()},
    }
    evaluation = config.evaluation
    if experiment.sampled:
        keys = ("strategy", "num_negatives", "negative_sampling", "neg_alpha", "seed")
        values["evaluation"] |= {key: getattr(evaluation, key) for key in keys}
    if experiment.candidates != "all":
        values["evaluation"]["candidates"] = experiment.candidates
    usual = {name: default for name, (_, default, _) in options_of(compare).items()}
    values["comparison"] = [_plain({**usual, **given}) for given in experiment.comparisons]
    if experiment.decision is not None:
        usual = {
            name: default
            for name, (_, default, _) in options_of(decide).items()
            if default is not inspect.Parameter.empty
        }
        values["decision"] = _plain({**usual, **experiment.decision})
    output = config.output.model_dump(exclude_none=True)
    values["output"] = output | {"folder": "rerun"}
    if config.evaluation.save_per_user and config.output.per_user is None:
        values["output"]["per_user"] = "csv"
    values["engine"] = config.engine.model_dump(exclude_none=True)
    return values


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
