"""Results logged to experiment trackers.

Both trackers, MLflow and Weights & Biases, get the same values under the same keys. They are
imported only here, and only when a result is logged.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import math
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from rankwise.core.terminal import json_safe
from rankwise.errors import (
    ParameterError,
    UsageError,
)
from rankwise.messages import printable

if TYPE_CHECKING:
    from rankwise.results.result import Result

_PARAMETER, _GROUP = r"(?:\w+=)?[\w.-]+", r"\w+=[\w. -]+"
_NAME = re.compile(
    rf"(\w+)(?:\(({_PARAMETER}(?:,{_PARAMETER})*)\))?(?:@(\d+))?"
    rf"(?:\[({_GROUP}(?:,{_GROUP})*)\])?",
    re.ASCII,
)
_PREFIX = re.compile(r"(?![./]|.*/[./])[\w.\-: /]{0,40}", re.ASCII)
_LONGEST_KEY = 190  # MLflow takes 250 characters, with the prefix
_LONGEST_PARAMETER = 6000
_LONGEST_TAG = 5000
_BATCH = 1000  # metrics that MLflow takes in one call


@dataclass(frozen=True)
class _Scalars:
    """The metrics, settings and facts of a result that are logged beside its files."""

    metrics: dict[str, float]
    settings: dict[str, Any]
    facts: dict[str, str]
    not_logged: list[str]
    """Values that are NaN or infinite, ``"mrr: nan"``: trackers treat them in different ways."""


def log_mlflow(result: Result, prefix: str, artifacts: bool) -> None:
    """Log a result to MLflow, as the method of `rankwise.Result` says."""
    scalars = _scalars(result, prefix)
    mlflow = _library("mlflow", "log_mlflow")
    metrics = list(scalars.metrics.items())
    parameters = {
        f"{prefix}rankwise.{name}": value if isinstance(value, str) else json.dumps(value)
        for name, value in scalars.settings.items()
    }
    kept = {name: text for name, text in parameters.items() if len(text) <= _LONGEST_PARAMETER}
    not_logged = [
        *scalars.not_logged,
        *(
            f"{name}: {len(text):,} characters"
            for name, text in parameters.items()
            if name not in kept
        ),
    ]
    tags = scalars.facts | ({"not_logged": _count_and_names(not_logged)} if not_logged else {})
    with nullcontext() if mlflow.active_run() else mlflow.start_run():
        mlflow.log_params(kept)  # first: it fails if the run has other values of them
        for start in range(0, len(metrics), _BATCH):
            mlflow.log_metrics(dict(metrics[start : start + _BATCH]))
        mlflow.set_tags({f"{prefix}rankwise.{name}": text for name, text in tags.items()})
        if artifacts:
            with _saved_folder(result) as folder:
                mlflow.log_artifacts(str(folder), artifact_path=f"{prefix}rankwise")


def log_wandb(result: Result, prefix: str, artifacts: bool) -> None:
    """Log a result to Weights & Biases, as the method of `rankwise.Result` says."""
    scalars = _scalars(result, prefix)
    wandb = _library("wandb", "log_wandb")
    config = {"settings": scalars.settings, **scalars.facts, "not_logged": scalars.not_logged}
    with nullcontext(wandb.run) if wandb.run is not None else wandb.init() as run:
        run.config.update({f"{prefix}rankwise": config})
        run.summary.update(scalars.metrics)
        if artifacts:
            name = re.sub(r"[^\w.-]", "-", f"{prefix}rankwise-{run.id}")
            artifact = wandb.Artifact(name, type="rankwise-result")
            with _saved_folder(result) as folder:
                artifact.add_dir(str(folder), name="rankwise")
                run.log_artifact(artifact)


def metric_key(name: str) -> str:
    """Return the name of a value in the signs that trackers take: letters, digits, ``_-. :/``.

    The key depends on the name alone, so that runs can be compared. What has no spelling of its
    own, such as a group with other signs in its name, ends in a hash of the name.

    >>> metric_key("ndcg@10"), metric_key("map(normaliser=k)@10")
    ('ndcg_at_10', 'map normaliser:k_at_10')
    >>> metric_key("reo@10[item_group=New York]"), metric_key("reo@10[item_group=R&B]")
    ('reo_at_10.item_group:New York', 'reo_at_10.item_group:R_B-dc502302')
    """
    match = _NAME.fullmatch(name)
    if match and not re.search(r"_at_\d", name) and len(name) <= _LONGEST_KEY:
        metric, parameters, k, cell = match.groups()
        # No slash: MLflow's file store makes paths of keys, and no file is also a folder.
        key = metric + (f" {parameters}" if parameters else "") + (f"_at_{k}" if k else "")
        return (key + (f".{cell}" if cell else "")).replace(",", " ").replace("=", ":")
    head, _, cell = name.removesuffix("]").partition("[")
    parts = [part.replace("=", ":").replace("@", "_at_") for part in (head, cell)]
    plain = (re.sub(r"[^\w.: -]", "_", part, flags=re.ASCII) for part in parts if part)
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{'.'.join(plain)[:_LONGEST_KEY]}-{digest}"


def _scalars(result: Result, prefix: str) -> _Scalars:
    """Return the scalars to log of a result; raise if two of its values would have one key."""
    if not _PREFIX.fullmatch(prefix):
        raise ParameterError(
            "prefix takes up to 40 letters, digits, blanks and _-.:/", found=repr(prefix)
        )
    values = {name: value for name, value in result.values.items() if math.isfinite(value)}
    counts = {f"{prefix}counts/{metric_key(name)}": count for name, count in result.counts.items()}
    keys = _keys(values, prefix)
    data = json_safe(result.provenance)
    facts = {
        "version": data.get("versions", {}).get("rankwise"),
        "label": result.label,
        "split": result.tested_on,
    }
    return _Scalars(
        {key: float(values[name]) for key, name in keys.items()} | counts,
        dict(data["settings"]),
        {name: _shorten(printable(text)) for name, text in facts.items() if text},
        [f"{name}: {value}" for name, value in result.values.items() if name not in values],
    )


def _keys(names: Iterable[str], prefix: str) -> dict[str, str]:
    """Return the name of the value of every key."""
    keys: dict[str, str] = {}
    for name in names:
        key = prefix + metric_key(name)
        if key in keys:
            raise UsageError(
                "two values would be logged under one key",
                found=f"{key!r} for {keys[key]!r} and {name!r}",
            )
        keys[key] = name
    return keys


def _library(name: str, needed_by: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise UsageError(
            f"{needed_by} needs {name}", found=str(error), hint=f"pip install {name}"
        ) from error


@contextmanager
def _saved_folder(result: Result) -> Iterator[Path]:
    """Save a result into a temporary folder, which lasts while the result is logged."""
    with TemporaryDirectory(prefix="rankwise-") as folder:
        yield result.save(Path(folder) / "rankwise")


def _count_and_names(names: list[str]) -> str:
    return _shorten(f"{len(names)}: {printable(', '.join(names))}")


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST_TAG else text[: _LONGEST_TAG - 1] + "…"
