"""Results outside memory: saved, made from per-user tables, or logged to experiment trackers.

Both trackers, MLflow and Weights & Biases, get the same values under the same keys. They are
imported only here, and only when a result is logged.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from rankwise.core.arguments import check_path
from rankwise.core.kernels import check_not_forked
from rankwise.core.terminal import finite, float_of
from rankwise.errors import (
    ColumnError,
    FileError,
    ParameterError,
    RankwiseError,
    UsageError,
    printable,
)
from rankwise.metrics.base import Metric, ValueKind, parse, parse_all
from rankwise.results.intervals import WEIGHT, mean_of, read_group_column, sum_of
from rankwise.results.result import Result, means_of_users
from rankwise.results.reuse import saved_uses
from rankwise.results.values import Values
from rankwise.tables.columns import ROLES, is_row_number, plain_name
from rankwise.tables.files import read_file
from rankwise.tables.memory import from_arrow, typed, with_integers
from rankwise.tables.requests import MEAN_OVER, REQUEST, counts_of_requests
from rankwise.tables.storage import read_folder
from rankwise.tables.table import Protocol

__all__ = ["from_per_user", "load", "log_mlflow", "log_wandb", "metric_key", "open_result"]


def load(folder: str | Path) -> Result:
    """Read a result that `Result.save` wrote.

    Parameters
    ----------
    folder : str or Path
        The folder.

    Returns
    -------
    Result

    Raises
    ------
    FileError
        If the folder holds no result, one of a version that cannot be read, or one whose files
        were changed after it was saved.

    Examples
    --------
    >>> import tempfile
    >>> import rankwise as rw
    >>> result = rw.evaluate({"ann": [1, 2]}, {"ann": {2}}, "mrr@2")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rw.load(result.save(folder + "/out"))["mrr@2"]
    0.5
    """
    check_not_forked()
    path = check_path("folder", folder)
    data, frames = read_folder(path)
    try:
        slices = data["slices"]
        return Result(
            metrics=parse_all(data["provenance"]["settings"]["metrics"]),
            values=Values(_numbers(data["values"])),
            per_user=frames["per_user"],
            counts=data["counts"],
            slices=None if slices is None else _slices(slices),
            provenance=data["provenance"]
            | saved_uses(path, data["provenance"], frames["per_user"]),
            diagnostics={name: _numbers(row) for name, row in data["diagnostics"].items()},
            replicates=frames.get("replicates"),
            sliced=frames.get("sliced"),
            kinds=data["kinds"],
        )
    except UsageError as error:
        raise FileError(
            "a metric of this saved result is not known here",
            where=str(path),
            found=error.what,
            hint="import the package that defines it",
        ) from error
    except (LookupError, TypeError, ValueError, AttributeError, pl.exceptions.PolarsError) as error:
        raise FileError(
            "this saved result lacks a part", where=str(path), found=f"{error!r}"
        ) from error


def _numbers(row: dict[str, Any]) -> dict[str, float]:
    return {name: float_of(value) for name, value in row.items()}


def _slices(rows: list[dict[str, Any]]) -> pl.DataFrame:
    head = {
        "by": pl.String,
        "group": pl.String,
        "users": pl.Int64,
        "requests": pl.Int64,
        "label": pl.String,
    }
    schema = {name: head.get(name, pl.Float64) for name in rows[0]}
    values = [{name: row.pop(name) for name in head if name in row} | _numbers(row) for row in rows]
    return pl.DataFrame(values, schema=schema)


_USER_COLUMNS = ("n_relevant", "list_length")


def from_per_user(source: Any) -> Result:
    """Make a result from a table of per-user values, for comparisons.

    Parameters
    ----------
    source : table or path
        One row per user: a column of user ids and one numeric column per metric; NaN or null where
        a user has no value. In columns named like metrics (``ndcg@10``) it is known whether higher
        is better, in others it is not; columns like ``group(country)`` hold groups of users.
        Numbers of rows, as pandas writes its index, are left out, which the result says. With a
        column ``weight`` values are weighted means, as those of the evaluation that wrote it. With
        a column ``request`` there is one row per request, and users are the sample; with
        ``mean_over`` = ``users`` in every row means are over users, each over the user's requests.

    Returns
    -------
    Result

    Raises
    ------
    ColumnError
        If there is no column of users, a duplicate user, no numeric column, one without a name, or
        a user without a weight of 0 or more.

    Examples
    --------
    >>> result = from_per_user(pl.DataFrame({"user": [1, 2], "ndcg@10": [0.5, 1.0]}))
    >>> result["ndcg@10"]
    0.75
    """
    frame, where = _read(source)
    _refuse_lists(frame, where)
    users = [name for name in frame.columns if _is_user(name)]
    if len(users) != 1:
        raise ColumnError(
            "a table of per-user values has one column of users",
            where=where,
            found=", ".join(map(repr, users)) or f"columns {frame.columns}",
        )
    frame = frame.rename({users[0]: "user"})
    keys = ["user", REQUEST] if REQUEST in frame.columns else ["user"]
    if frame["user"].null_count() or frame.select(keys).n_unique() < len(frame):
        raise ColumnError(
            "a user is null, or occurs twice"
            + ("" if len(keys) == 1 else " with the same request"),
            where=where,
            hint=None
            if len(keys) > 1
            else f"values of several requests of a user have a column {REQUEST!r} as well",
        )
    groups = [name for name in frame.columns if read_group_column(name) is not None]
    row_numbers = [
        name for name in frame.columns if name not in keys and _is_row_number(frame[name], where)
    ]
    frame = frame.drop(row_numbers)
    cells: dict[str, str] = {}
    metrics: list[Metric] = []
    for name, dtype in frame.schema.items():
        number = dtype.is_numeric() or dtype == pl.Null
        if (
            name in ("user", REQUEST, "label", WEIGHT, MEAN_OVER, *_USER_COLUMNS, *groups)
            or not number
        ):
            continue
        metric = _metric(name)
        cell = name if metric is None else metric.cells[0]
        if cell in cells.values():
            raise ColumnError(f"two columns are {cell}", where=where, found=repr(name))
        cells[name] = cell
        metrics += [] if metric is None else [metric]
    if not cells:
        raise ColumnError(
            "there is no column of numbers",
            where=where,
            found=f"columns {', '.join(frame.columns)}",
        )
    user_columns = [
        pl.col(name).cast(pl.Int64)
        if frame.schema.get(name, pl.String()).is_numeric()
        else pl.lit(None, pl.Int64).alias(name)
        for name in _USER_COLUMNS
    ]
    numbers = [
        pl.col(name).cast(pl.Float64).fill_null(float("nan")).alias(cell)
        for name, cell in cells.items()
    ]
    texts = [pl.col(name).cast(pl.String) for name in groups]
    weight = [pl.col(WEIGHT).cast(pl.Float64)] if _weighted(frame, where) else []
    label = [pl.col("label")] if (protocol := _protocol(frame, where)) is not None else []
    over = [pl.col(MEAN_OVER)] if _means_over_users(frame, where) else []
    per_user = frame.sort(keys).select(
        *keys, *user_columns, *weight, *texts, *numbers, *label, *over
    )
    weights = per_user[WEIGHT] if weight else None
    sums = {cell for metric in metrics for cell in metric.cells if metric.value_kind == "sum"}
    units = means_of_users(per_user, list(cells.values())) if over else per_user
    means = {cell: mean_of(units[cell], weights) for cell in cells.values() if cell not in sums}
    values = Values(
        {c: sum_of(per_user[c], weights) if c in sums else means[c] for c in cells.values()}
    )
    provenance: dict[str, Any] = {
        "settings": {"metrics": [str(metric) for metric in metrics]}
        | ({"weights": WEIGHT} if weight else {}),
        "inputs": {"per user": {"source": where, "unread": row_numbers}},
        "candidates": None if protocol is None else protocol.to_dict(),
        "doubts": _not_means(metrics),
    }
    kinds: dict[str, ValueKind] = {
        c: "sum" if c in sums else "weighted mean" if weight else "mean" for c in values
    }
    counts = counts_of_requests(per_user) or {"users": len(per_user)}
    if len(keys) > 1:
        provenance["requests"] = {"column": REQUEST, "truth": "none"}
        provenance["settings"]["mean_over"] = "users" if over else "requests"
    return Result(tuple(metrics), values, per_user, counts, None, provenance, kinds=kinds)


LISTS = "this table has one row per user and item, and not one per user"
"""What is wrong with recommendation lists where values of users are read."""
_EVALUATION = frozenset({"schema_version", "values", "provenance"})
"""Columns of the JSON that an evaluation prints, as a table."""


def _refuse_lists(frame: pl.DataFrame, where: str) -> None:
    """Raise if a table holds recommendation lists, or an evaluation without per-user values."""
    items = [name for name in frame.columns if plain_name(name) in ROLES["recommendations"]["item"]]
    if items and any(map(_is_user, frame.columns)):
        raise ColumnError(
            LISTS,
            where=where,
            found=f"column {items[0]!r}",
            hint="evaluate the lists first: rw.evaluate(lists, truth)",
        )
    if set(frame.columns) >= _EVALUATION:
        raise FileError(
            "this file has the values of an evaluation without those of its users, which a "
            "comparison needs",
            where=where,
            hint="save the result as well: Result.save, or rankwise evaluate … --save DIR",
        )


def _means_over_users(frame: pl.DataFrame, where: str) -> bool:
    """Return whether ``mean_over`` says that means are over users of their means over requests."""
    if MEAN_OVER not in frame.columns:
        return False
    said = frame[MEAN_OVER].unique().to_list()
    if said != ["users"] or REQUEST not in frame.columns or WEIGHT in frame.columns:
        rest = [name for name in (REQUEST, WEIGHT) if name in frame.columns]
        raise ColumnError(
            "a column mean_over is 'users' in every row, of values by request without weights",
            where=f"{where}, column {MEAN_OVER!r}",
            found=f"{', '.join(map(repr, said[:3]))}, beside "
            f"{' and '.join(rest) or 'no column of requests'}",
            hint="drop the column for means over all rows",
        )
    return True


def _weighted(frame: pl.DataFrame, where: str) -> bool:
    """Return whether there are weights; raise if a user has none, or they have no sum."""
    if WEIGHT not in frame.columns:
        return False
    weights = frame[WEIGHT]
    if not weights.dtype.is_numeric():
        raise ColumnError(
            "the weights of users are numbers",
            where=f"{where}, column {WEIGHT!r}",
            found=f"{weights.dtype}",
        )
    numbers = weights.cast(pl.Float64).fill_null(float("nan"))
    wrong = frame.filter(~(numbers.is_finite() & (numbers >= 0)))
    if len(wrong):
        unit = REQUEST if REQUEST in frame.columns else "user"
        request = f", request {wrong[REQUEST][0]!r}" if unit == REQUEST else ""
        raise ColumnError(
            "every user needs a weight of 0 or more",
            where=f"{where}, column {WEIGHT!r}, user {wrong['user'][0]!r}{request}",
            found=f"{wrong[WEIGHT][0]} ({len(wrong)} such {unit}s)",
            hint="leave the column out, or rename it, if it holds no weights of users",
        )
    return True


def _protocol(frame: pl.DataFrame, where: str) -> Protocol | None:
    """Return the sample of candidates that the column ``label`` of an evaluation names, if any."""
    if "label" not in frame.columns or frame.schema["label"] != pl.String:
        return None
    labels = frame["label"].unique(maintain_order=True).to_list()
    if len(labels) > 1:
        raise ColumnError(
            "the users of one result have one label",
            where=f"{where}, column 'label'",
            found=", ".join(map(repr, labels[:3])),
        )
    return Protocol.of_label(labels[0]) if labels and labels[0] is not None else None


def _not_means(metrics: Sequence[Metric]) -> list[str]:
    """Return a warning about metrics whose values are no means over users in an evaluation."""
    others = [str(metric) for metric in metrics if metric.value_kind not in ("mean", "sum")]
    if not others:
        return []
    return [
        (
            f"the mean over users is not what an evaluation gives for {', '.join(others)}: it pools or "
            "weights users"
        )
    ]


def _is_row_number(column: pl.Series, where: str) -> bool:
    """Return whether a column holds the numbers of rows, and no metric.

    Raises
    ------
    ColumnError
        If it has no name and holds other numbers.
    """
    if not is_row_number(column.name) or not column.dtype.is_numeric():
        return False
    counts = (
        column.is_not_null().all()
        and bool((column == column.floor()).all())
        and column.is_unique().all()
    )
    if not counts and plain_name(column.name) in ("", "unnamed"):
        raise ColumnError(
            "a column of numbers has no name",
            where=where,
            found=f"{column.name!r}: {column[0]}, …",
            hint="give it the name of its metric, such as ndcg@10, or drop it",
        )
    return counts


def _metric(name: str) -> Metric | None:
    """Return the metric that a column is named after; None for metrics with several values."""
    try:
        metric = parse(name)
    except RankwiseError:
        return None
    return metric if len(metric.cells) == 1 else None


def _read(source: Any) -> tuple[pl.DataFrame, str]:
    if not isinstance(source, str | Path):
        return from_arrow(source, "per user"), "per user"
    path = Path(source)
    if path.suffix != ".json":
        raw = read_file(path)
        users = [name for name in raw.frame.columns if _is_user(name)]
        groups = [name for name in raw.frame.columns if read_group_column(name) is not None]
        frame = typed(raw.frame, [n for n in raw.frame.columns if n not in (*users, *groups)])
        return with_integers(frame, users) if raw.is_text else frame, raw.name
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(content, dict) and content.keys() >= _EVALUATION:
            return pl.DataFrame(schema=dict.fromkeys(content, pl.Null)), str(path)
        return pl.DataFrame(content), str(path)
    except (OSError, ValueError, TypeError, pl.exceptions.PolarsError) as error:
        raise FileError(
            "this is not a table of per-user values",
            where=str(path),
            found=str(error).splitlines()[0],
        ) from error


def _is_user(name: str) -> bool:
    return plain_name(name) in ROLES["users"]["user"]


def open_result(path: str | Path) -> Result:
    """Return a saved result, given its folder or ``result.json``, or a table of per-user values."""
    path = check_path("path", path)
    if path.is_dir():
        return load(path)
    return load(path.parent) if path.name == "result.json" else from_per_user(path)


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
    tags = scalars.facts | ({"not_logged": _listed(not_logged)} if not_logged else {})
    with nullcontext() if mlflow.active_run() else mlflow.start_run():
        mlflow.log_params(kept)  # first: it fails if the run has other values of them
        for start in range(0, len(metrics), _BATCH):
            mlflow.log_metrics(dict(metrics[start : start + _BATCH]))
        mlflow.set_tags({f"{prefix}rankwise.{name}": text for name, text in tags.items()})
        if artifacts:
            with _saved(result) as folder:
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
            with _saved(result) as folder:
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
    data = finite(result.provenance)
    facts = {
        "version": data.get("versions", {}).get("rankwise"),
        "label": result.label,
        "split": result.tested_on,
    }
    return _Scalars(
        {key: float(values[name]) for key, name in keys.items()} | counts,
        dict(data["settings"]),
        {name: _shortened(printable(text)) for name, text in facts.items() if text},
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
def _saved(result: Result) -> Iterator[Path]:
    """Save a result into a temporary folder, which lasts while the result is logged."""
    with TemporaryDirectory(prefix="rankwise-") as folder:
        yield result.save(Path(folder) / "rankwise")


def _listed(names: list[str]) -> str:
    return _shortened(f"{len(names)}: {printable(', '.join(names))}")


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_TAG else text[: _LONGEST_TAG - 1] + "…"
