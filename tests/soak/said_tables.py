"""What results of several tables say, by table and column, and what roads they share."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import yaml
from kinds import Values

import rankwise as rw
from command_line import rankwise_here
from rankwise.experiments.experiment import read_experiment
from rankwise.experiments.run import execute


def said_in(data: Mapping[str, Any]) -> Values:
    """Return the plain values of a result by name, and of tables by column."""
    out: dict[str, Any] = {}
    for name, value in json.loads(json.dumps(data)).items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            for column in value[0]:
                out[f"{name}: {column}"] = [row[column] for row in value]
        else:
            out[name] = value
    return out


def say(result: Any) -> Values:
    """Return what a result of several tables says, with the values of users bit by bit."""
    users = result.per_user.select(pl.all()).to_dict(as_series=False)
    return {
        **said_in(result.to_dict()),
        "per user": {name: str(own) for name, own in users.items()},
    }


def say_without_users(result: Any) -> Values:
    """Return what the JSON of a result says."""
    return said_in(result.to_dict())


def write(tables: Mapping[str, pl.DataFrame], folder: Path, suffix: str) -> dict[str, str]:
    """Write tables, and return the names of their files."""
    for name, table in tables.items():
        path = folder / f"{name}.{suffix}"
        if suffix == "csv":
            table.write_csv(path)
        else:
            table.write_parquet(path)
    return {name: f"{name}.{suffix}" for name in tables}


def run_command(folder: Path, *arguments: object, codes: tuple[int, ...] = (0,)) -> str:
    """Run a command of rankwise, and return its output; raise what it says if it fails."""
    done = rankwise_here(folder, *arguments)
    if (done.returncode or 0) not in codes:
        raise rw.RankwiseError(done.stderr)
    return done.stdout


def run_configuration(config: Mapping[str, Any], folder: Path) -> Any:
    """Run a configuration file, and return what it gives."""
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(dict(config), sort_keys=False))
    return execute(read_experiment(path))
