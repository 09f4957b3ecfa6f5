"""A commented configuration file to begin with, written from the files that are there."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import polars as pl
import yaml

from rankwise.errors import ParameterError, RankwiseError
from rankwise.evaluation.settings import option_fields, option_summary
from rankwise.experiments.schema import json_schema
from rankwise.messages import mention, parameter
from rankwise.splits.reading import truth_and_train
from rankwise.tables.formats import plain_stem
from rankwise.tables.read import read_table
from rankwise.tables.storage import write_text

_SCHEMA = "rankwise.schema.json"
_ACCURACY = ("ndcg@[5,10]", "recall@[5,10]", "map@10", "mrr@10", "hit_rate@10")
_REPORT = {
    True: "  report: true  # report.html",
    False: '  report: false  # true needs the extra report: pip install "rankwise[report]"',
}
"""What is asked for, by whether a report can be written here."""
_BEYOND = ("catalog_coverage@10", "gini@10")


def write_starter(path: Path, runs: Sequence[str], tables: Mapping[str, str]) -> Path:
    """Write a configuration file and its schema, and return the path of the schema."""
    text = starter_text(path.parent, runs, tables)
    path.parent.mkdir(parents=True, exist_ok=True)
    schema = path.with_name(_SCHEMA)
    write_text(schema, json.dumps(json_schema(), indent=2) + "\n")
    write_text(path, text)
    return schema


def starter_text(folder: Path, runs: Sequence[str], tables: Mapping[str, str]) -> str:
    """Return the text of a configuration file that lies in ``folder``.

    Raises
    ------
    InputError
        If the ground truth or the interactions cannot be read.
    ParameterError
        If there are neither recommendations nor training interactions.
    """
    split, threshold = "interactions" in tables, _threshold(tables)
    data = {role: _relative(path, folder) for role, path in tables.items()}
    has_train = split or "train" in tables or Path(tables["truth"]).is_dir()
    if not runs and not has_train:
        raise ParameterError(
            "baselines are fitted to training interactions, and there are none",
            hint=f"name a file of recommendations, pass {parameter('train')}, or the folder of a split "
            f"as {mention('truth')}",
        )
    metrics = [*_ACCURACY, *_BEYOND]
    lines = [
        f"# yaml-language-server: $schema={_SCHEMA}",
        "# For `rankwise run`. Paths are relative to this file; `rankwise check` validates it.",
        "",
        "data:",
        *(f"  {role}: {_scalar(path)}" for role, path in data.items()),
        "  # A table whose columns have other names:",
        "  # items: {path: items.csv, columns: {item: movieId}}",
        "",
    ]
    if split:
        lines += ["split: {rule: GlobalTime, share: 0.2}  # the last 20 % of the rows, by time", ""]
    lines += [
        "systems:  # what is evaluated, by name: run files, and baselines of rankwise",
        *_systems(runs, folder, fitted=has_train),
        "",
        "evaluation:",
        "  metrics:",
        *(f"    - {_scalar(name)}" for name in metrics),
        *_options(
            {"relevance_threshold": threshold, "by": _groups(tables) or None, "jackknife": 64}
        ),
        "",
        "comparison:  # every option of rankwise.compare",
        "  primary: ndcg@10  # corrected for several pairs; other metrics are exploratory",
        "  # baseline: popularity  # without it all pairs are compared",
        "",
        "output:",
        "  folder: rankwise-results",
        _REPORT[find_spec("jinja2") is not None],
        "  tables: [markdown]  # also latex, csv",
        "  # per_user: parquet",
        "",
        "# engine: spark",
        "",
    ]
    return "\n".join(lines)


def _systems(runs: Sequence[str], folder: Path, *, fitted: bool) -> list[str]:
    names = [plain_stem(run) for run in runs]
    if len(set(names)) < len(names):
        names = [f"{name}-{at}" for at, name in enumerate(names, start=1)]
    lines = [
        f"  {_scalar(name)}: {_scalar(_relative(run, folder))}"
        for name, run in zip(names, runs, strict=True)
    ]
    baselines = [
        "popularity: {model: Popularity}",
        "random: {model: Random, seed: 0}",
        "neighbours: {model: ItemNeighbours}",
    ]
    if fitted:
        lines += [f"  # {text}" if runs else f"  {text}" for text in baselines]
    return lines


_WHY = {
    "relevance_threshold": "rating threshold: ratings of at least this are relevant",
    "by": "groups of users that are evaluated as well",
    "jackknife": "for intervals of coverage and Gini, which are not per-user means",
}


def _options(chosen: Mapping[str, Any]) -> list[str]:
    """Return the lines of chosen options, then of all remaining options, commented out."""
    lines = [
        f"  {name}: {_scalar(value)}  # {_WHY[name]}"
        for name, value in chosen.items()
        if value is not None
    ]
    for name, entry in option_fields().items():
        if name != "columns" and chosen.get(name) is None:
            default = list(entry.default) if isinstance(entry.default, tuple) else entry.default
            lines.append(f"  # {name}: {_scalar(default)}  # {option_summary(entry)}")
    return lines


def _groups(tables: Mapping[str, str]) -> list[str]:
    """Return the columns of the users that hold a few groups each."""
    if "users" not in tables:
        return []
    try:
        users = read_table(tables["users"], "users").frame
    except RankwiseError:
        return []  # `rankwise run` says what is wrong with the table
    few = range(2, min(20, len(users) // 10) + 1)
    return [
        name
        for name, kind in users.schema.items()
        if name != "user" and kind == pl.String and users[name].n_unique() in few
    ]


def _threshold(tables: Mapping[str, str]) -> float | None:
    """Return a threshold for ratings of several values, of which most people mean the upper ones.

    It is a beginning that the file shows, for its owner to change: two thirds of the scale.
    """
    role = "truth" if "truth" in tables else "interactions"
    try:
        source, _ = truth_and_train(tables[role], None)
        values = read_table(source, "truth").frame
    except RankwiseError:
        return None  # `rankwise run` says what is wrong with the table
    if "relevance" not in values.columns or values["relevance"].n_unique() < 3:
        return None
    low, high = float(values["relevance"].min()), float(values["relevance"].max())  # type: ignore[arg-type]
    return float(round(low + (high - low) * 2 / 3))


def _relative(path: str, folder: Path) -> str:
    return Path(os.path.relpath(path, folder)).as_posix()


def _scalar(value: Any) -> str:
    """Format a value as inline YAML."""
    text = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=10_000)
    return text.removesuffix("...\n").strip()
