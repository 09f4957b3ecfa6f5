"""Logs of impressions with propensities, and the values of other policies on every road."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import strategies as st
from kinds import HAS_SPARK, PLAIN, SPARK, Comparison, Kind, Values
from said_tables import run_command, run_configuration, say, write
from world_tables import types_of

import rankwise as rw
from rankwise.core import kernels
from rankwise.offpolicy import off_policy as entry
from strategies import ids

COLUMNS = ("new", "other")
"""Targets that are columns of the exposures."""
SOUND = {"p_new": [0.3, 0.1, 0.2, 0.2, 0.2], "p_other": [0.15, 0.25, 0.2, 0.1, 0.3]}
"""The probability of each of five items, near those of a log that shows each as often."""


@dataclass(frozen=True)
class Logged:
    """A log of impressions.

    Attributes
    ----------
    exposures : polars.DataFrame
        One row per item that was shown; rows of a user stand together.
    outcomes : polars.DataFrame or None
        The clicks, where the exposures have no reward.
    probabilities : polars.DataFrame
        The probability of each item under a policy.
    options : mapping
        Options of `rankwise.off_policy`.
    """

    exposures: pl.DataFrame
    outcomes: pl.DataFrame | None
    probabilities: pl.DataFrame
    options: Mapping[str, Any]

    def __str__(self) -> str:
        lines = [f"  options: {dict(self.options)}"]
        lines += [f"  {name}: {own.to_dict(as_series=False)}" for name, own in self.tables.items()]
        return "\n".join(lines)

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """The tables by name."""
        outcomes = {} if self.outcomes is None else {"outcomes": self.outcomes}
        return {"exposures": self.exposures, **outcomes, "table": self.probabilities}

    @property
    def has_slates(self) -> bool:
        """Whether requests have several rows."""
        return "position" in self.exposures.columns


@st.composite
def worlds(draw: st.DrawFn) -> Logged:
    """Draw a log with or without ids: any probabilities, or those of policies over five items."""
    is_sound = draw(st.booleans())
    size = draw(st.sampled_from([80, 150])) if is_sound else draw(st.integers(1, 40))
    users, requests = draw(ids(size)), draw(ids(size))
    items = draw(ids(5))
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    form = draw(st.sampled_from(["requests", "users", "rows", "slates"]))
    width = 3 if form == "slates" else 1
    request = np.repeat(np.arange(size), rng.integers(1, width + 1, size))
    n_rows = len(request)
    of_user = np.sort(rng.integers(0, max(size // 2, 1), size))
    place = np.arange(n_rows) - np.searchsorted(request, request)
    shown = (rng.integers(0, 5, size)[request] + place) % 5
    reward = np.round(rng.uniform(0, 2, n_rows), 1) * rng.integers(0, 2, n_rows)
    propensity = rng.choice([0.1, 0.25, 0.5, 1 / 3], n_rows)
    chances = {
        "p_new": rng.choice([0.0, 0.0, 0.3, 0.1], n_rows),
        "p_other": rng.uniform(0, 1, n_rows) * rng.integers(0, 2, n_rows),
    }
    if is_sound:
        propensity = np.full(n_rows, 0.2)
        chances = {name: np.array(of_item)[shown] for name, of_item in SOUND.items()}
    types = draw(types_of(user=users, request=requests, item=items))
    frame = pl.DataFrame(
        {
            "user": pl.Series([users[at] for at in of_user[request]], dtype=types["user"]),
            "request": pl.Series([requests[at] for at in request], dtype=types["request"]),
            "position": place + 1,
            "item": pl.Series([items[at] for at in shown], dtype=types["item"]),
            "propensity": propensity,
            "reward": reward,
            **chances,
            "country": rng.choice(["at", "b × c", "5 to 10"], size)[request],
        }
    )
    outcomes = None
    if form in ("requests", "slates") and draw(st.booleans()):
        outcomes = frame.filter(pl.col("reward") > 0).select("request", "item", "reward")
        frame = frame.drop("reward")
    left_out = {
        "users": ["request", "position"],
        "rows": ["user", "request", "position"],
        "requests": ["position"],
    }
    frame = frame.drop(left_out.get(form, []))
    options: dict[str, Any] = {}
    if draw(st.booleans()):
        options["by"] = "country"
    if draw(st.booleans()):
        options["estimator"] = draw(st.sampled_from(["snips", "ips", "beta_ips"]))
    if draw(st.booleans()):
        options["baseline"] = "new"
    if form == "slates" and len(frame) > frame["request"].n_unique():
        options["propensities"] = draw(st.sampled_from(["conditional", "list", "marginal"]))
    probabilities = pl.DataFrame(
        {
            "item": pl.Series(items, dtype=types["item"]),
            "probability": [0.5, 0.25, 0.125, 0.125, 0.0],
        }
    )
    return Logged(frame, outcomes, probabilities, options)


def targets(world: Logged) -> dict[str, Any]:
    """Return the target policies."""
    table = rw.policies.Probabilities(world.probabilities)
    return {"new": "p_new", "other": "p_other", "even": rw.policies.Uniform(), "table": table}


def estimated(world: Logged, exposures: Any, **more: Any) -> rw.OffPolicy:
    """Return the values of the targets on some exposures."""
    options = {**world.options, **more}
    return rw.off_policy(exposures, world.outcomes, targets=targets(world), **options)


def call(world: Logged) -> rw.OffPolicy:
    """Estimate in one call and one thread."""
    return estimated(world, world.exposures, threads=1)


def said(result: rw.OffPolicy) -> Values:
    """Return what a result says, except where it was read."""
    return {**say(result), "sources": None}


def numpy(world: Logged, _folder: Path) -> Values:
    """Estimate without compiled kernels."""
    with kernels.without_library():
        return said(call(world))


def threads(world: Logged, _folder: Path) -> Values:
    """Estimate in three threads, which take one row at least."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entry, "_ROWS_OF_A_THREAD", 1)
        return said(estimated(world, world.exposures, threads=3))


def _has_ids(world: Logged) -> bool:
    return bool({"user", "request"} & {*world.exposures.columns})


def shuffled(world: Logged, _folder: Path) -> Values | None:
    """Estimate from rows in another order; none where only their place tells them apart."""
    if not _has_ids(world):
        return None
    return said(estimated(world, world.exposures.sample(fraction=1, shuffle=True, seed=7)))


def chunks(world: Logged, folder: Path) -> Values:
    """Estimate chunks of a Parquet file."""
    path = folder / "log.parquet"
    world.exposures.write_parquet(path, row_group_size=3)
    return said(estimated(world, path, chunk_rows=5))


def saved(world: Logged, folder: Path) -> Values:
    """Save the result, and load it."""
    return said(rw.OffPolicy.load(call(world).save(folder / "saved")))


def _command(world: Logged, folder: Path, suffix: str) -> Values:
    files = write(world.tables, folder, suffix)
    arguments = [files["exposures"], *([files["outcomes"]] if "outcomes" in files else [])]
    texts = ("new=column:p_new", "other=column:p_other", "even=uniform", f"table={files['table']}")
    for text in texts:
        arguments += ["--target", text]
    for name, value in world.options.items():
        arguments += [f"--{name}", value]
    run_command(folder, "off-policy", *arguments, "--save", "saved")
    return said(rw.OffPolicy.load(folder / "saved"))


def cli_parquet(world: Logged, folder: Path) -> Values:
    """Estimate with the command line, from Parquet files."""
    return _command(world, folder, "parquet")


def cli_csv(world: Logged, folder: Path) -> Values:
    """Estimate with the command line, from CSV files."""
    return _command(world, folder, "csv")


def by_configuration(world: Logged, folder: Path) -> Values:
    """Estimate with a configuration file."""
    files = write(world.tables, folder, "parquet")
    section = {
        "exposures": files["exposures"],
        **({"outcomes": files["outcomes"]} if "outcomes" in files else {}),
        "targets": {
            "new": "p_new",
            "other": "p_other",
            "even": "uniform",
            "table": {"probabilities": files["table"]},
        },
        **world.options,
    }
    run_configuration({"off_policy": section, "output": {"folder": "out", "report": False}}, folder)
    result = rw.OffPolicy.load(folder / "out" / "off_policy")
    assert result.settings.pop("plans") == []
    return said(result)


def on_spark(world: Logged, _folder: Path) -> Values | None:
    """Estimate three buckets on Spark, whose rows have no place; none where nothing else tells them apart."""
    if not _has_ids(world):
        return None
    from roads import session

    import rankwise.spark as rs
    from rankwise.spark.tables import send

    exposures = send(session(), world.exposures.sample(fraction=1, shuffle=True, seed=3))
    result = rs.off_policy(
        exposures,
        world.outcomes,
        targets=targets(world),
        spark=session(),
        buckets=3,
        **world.options,
    )
    return said(result)


def plain(world: Logged, result: rw.OffPolicy) -> Iterator[Comparison]:
    """Yield the self-normalised and the plain inverse-propensity value beside their definitions."""
    estimator = world.options.get("estimator", "snips")
    if world.has_slates or estimator not in ("snips", "ips"):
        return
    log = world.exposures
    if world.outcomes is not None:
        log = log.join(world.outcomes, on=["request", "item"], how="left").fill_null(0)
    for name in COLUMNS:
        rows = log.select(f"p_{name}", "propensity", "reward").rows()
        weights = [target / logged for target, logged, _ in rows]
        total = math.fsum(weights) if estimator == "snips" else float(len(rows))
        earned = math.fsum(
            weight * reward for weight, (_, _, reward) in zip(weights, rows, strict=True)
        )
        if not math.isnan(result[name]):
            yield f"value of {name}", result[name], earned / total


ROADS = {
    "numpy": numpy,
    "threads": threads,
    "shuffled": shuffled,
    "chunks": chunks,
    "saved": saved,
    "cli_parquet": cli_parquet,
    "cli_csv": cli_csv,
    "yaml": by_configuration,
    **({SPARK: on_spark} if HAS_SPARK else {}),
}
KIND = Kind("logs", worlds(), call, said, ROADS, {PLAIN: plain})
