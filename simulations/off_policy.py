"""Off-policy values against the truth: bias, spread, coverage and error rates, in worlds whose values are known.

    python simulations/off_policy.py                # bias, spread and coverage by world, and error rates by support
    python simulations/off_policy.py --logs 400     # more logs per world
    python simulations/off_policy.py --random 200   # error rates of the support rule in this many random worlds
    python simulations/off_policy.py --calibration 20   # logs in which propensities of another request are seen
    python simulations/off_policy.py --speed        # time of 10 million exposures, against plain NumPy passes
    python simulations/off_policy.py --file         # 100 million exposures from Parquet, in chunks: time and memory

Every world is `rankwise.datasets.logged` with other options; the truth is computed from its
probabilities.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
import tempfile
from time import perf_counter
from typing import Any

import numpy as np
import polars as pl

import rankwise as rw
from rankwise.datasets import LoggedData
from rankwise.offpolicy.estimators import ips, snips

WORLDS: dict[str, dict[str, Any]] = {
    "clicks": {},
    "few users": {"users": 80},
    "rare rewards": {"base": -5.5, "users": 1000},
    "heavy weights": {"sharpness": 3.0},
    "heavy and rare": {"sharpness": 3.0, "base": -4.5},
    "unlike users": {"shock": 1.5},
    "slates": {"positions": 3, "items": 6, "users": 600},
    "slates, interaction": {"positions": 3, "items": 6, "users": 600, "interaction": 0.8},
    "slates, trust": {"positions": 3, "items": 6, "users": 600, "trust": 0.3},
}
WRONG = "propensities of another request"


def result_of(log: LoggedData, exposures: pl.DataFrame | None = None) -> rw.OffPolicy:
    """Return the result for the target of a synthetic log."""
    frame = log.exposures if exposures is None else exposures
    kind: Any = "conditional" if "position" in frame.columns else None
    return rw.off_policy(frame, targets={"new": "p_new"}, propensities=kind)


def shuffled(frame: pl.DataFrame, share: float, seed: int) -> pl.DataFrame:
    """Return a log in which a share of the rows has the propensity of another row."""
    rng = np.random.default_rng(seed)
    propensity = frame["propensity"].to_numpy().copy()
    rows = np.flatnonzero(rng.random(len(frame)) < share)
    propensity[rows] = propensity[rng.permutation(rows)]
    return frame.with_columns(propensity=pl.Series(propensity))


def normal_interval(result: rw.OffPolicy) -> tuple[float, float]:
    """Return the usual interval of a self-normalised value with one row per request: linearised, rows independent."""
    users = result.per_user
    reward, weight = users["weighted_reward(new)"].to_numpy(), users["weight(new)"].to_numpy()
    value = snips(weight, reward / np.maximum(weight, 1e-300))
    residuals = reward - value * weight
    half = 1.96 * math.sqrt(float(residuals @ residuals)) / float(weight.sum())
    return value - half, value + half


def measure(options: dict[str, Any], logs: int, wrong: float = 0.0) -> list[dict[str, Any]]:
    """Return one row per log: what was estimated, whether the interval holds the truth, and what was said."""
    rows = []
    for seed in range(logs):
        log = rw.datasets.logged(seed=seed, **options)
        frame = shuffled(log.exposures, wrong, seed) if wrong else None
        result, truth = result_of(log, frame), log.truth["new"]
        row, pair = result.row("new"), result.differences.row(0, named=True)
        usual = (
            normal_interval(result) if options.get("positions", 1) == 1 else (math.nan, math.nan)
        )
        rows.append(
            {
                "truth": truth,
                "value": row["value"],
                "support": row["support"],
                "covered": row["low"] <= truth <= row["high"],
                "covered_difference": pair["low"] <= truth - log.truth["logged"] <= pair["high"],
                "covered_normal": usual[0] <= truth <= usual[1],
                "off": abs(row["value"] - truth) >= truth / 2,
            }
        )
    return rows


def table_of_worlds(logs: int) -> pl.DataFrame:
    """Return bias, spread and coverage by world, of all logs whose value is printed; and by support."""
    out = []
    for name, options in [*WORLDS.items(), (WRONG, {})]:
        rows = pl.DataFrame(measure(options, logs, wrong=0.4 if name == WRONG else 0.0))
        printed = rows.filter(pl.col("support") != "none")
        sound = rows.filter(support="sound")
        row: dict[str, Any] = {"world": name, "logs": logs, "truth": rows["truth"][0]}
        row |= {"bias": (printed["value"] - printed["truth"]).mean(), "sd": printed["value"].std()}
        row |= {
            "covered": printed["covered"].mean(),
            "difference": printed["covered_difference"].mean(),
        }
        row["normal"] = printed["covered_normal"].mean() if "positions" not in options else None
        row |= {kind: (rows["support"] == kind).mean() for kind in ("sound", "weak", "none")}
        row |= {"missed if sound": 1 - sound["covered"].mean() if len(sound) else None}  # type: ignore[operator]
        row |= {"off if sound": sound["off"].mean() if len(sound) else None}
        out.append(row)
    return pl.DataFrame(out, infer_schema_length=None)


def random_options(rng: np.random.Generator) -> dict[str, Any]:
    """Return the options of a random world: few or many users, rare or frequent rewards, mild or heavy weights."""
    return {
        "users": int(np.exp(rng.uniform(np.log(60), np.log(4000)))),
        "requests": int(rng.integers(1, 9)),
        "base": rng.uniform(-5.0, 0.5),
        "sharpness": rng.uniform(0.3, 3.5),
        "shock": rng.uniform(0.0, 1.5),
        "world": int(rng.integers(10**6)),
    }


def noisy(log: LoggedData, rng: np.random.Generator) -> pl.DataFrame:
    """Return a log whose propensities have noise (log-sd 0.6)."""
    noise = np.exp(rng.normal(0.0, 0.6, len(log.exposures)))
    return log.exposures.with_columns(
        propensity=(pl.col("propensity") * pl.Series(noise)).clip(1e-6, 1.0)
    )


def scaled(log: LoggedData, rng: np.random.Generator) -> pl.DataFrame:
    """Return a log whose propensities are off by a factor of 1.2 to 3, in either direction."""
    factor = np.exp(rng.uniform(np.log(1.2), np.log(3.0)) * rng.choice([-1, 1]))
    return log.exposures.with_columns(propensity=(pl.col("propensity") * factor).clip(1e-6, 1.0))


def of_others(log: LoggedData, rng: np.random.Generator) -> pl.DataFrame:
    """Return a log in which 10 to 60 % of the rows have the propensity of another row."""
    return shuffled(log.exposures, rng.uniform(0.1, 0.6), int(rng.integers(10**6)))


def without_items(log: LoggedData, rng: np.random.Generator) -> pl.DataFrame:
    """Return a log that never shows 1 to 6 of the items."""
    left_out = rng.choice(20, int(rng.integers(1, 7)), replace=False).tolist()
    lost = (
        log.policies.filter(pl.col("item").is_in(left_out))
        .group_by("segment")
        .agg(pl.col("propensity").sum())
    )
    frame = log.exposures.filter(~pl.col("item").is_in(left_out)).join(
        lost.rename({"propensity": "lost"}), on="segment", maintain_order="left"
    )
    return frame.with_columns(propensity=pl.col("propensity") / (1 - pl.col("lost"))).drop("lost")


def declared(log: LoggedData, frame: pl.DataFrame) -> dict[str, Any]:
    """Return the logging policy of a log without some items as a declared policy."""
    shown = log.policies.filter(pl.col("item").is_in(frame["item"].unique().implode()))
    policy = shown.with_columns(
        probability=pl.col("propensity") / pl.col("propensity").sum().over("segment")
    )
    target = log.policies.select("segment", "item", probability="p_new")
    return {
        "propensity": policy.select("segment", "item", "probability"),
        "targets": {"new": target},
    }


CLASSES: dict[str, tuple[Any, bool, bool]] = {
    "all right": (None, False, False),
    "items never shown, known": (without_items, False, True),
    "items never shown, seen by weights only": (without_items, False, False),
    "propensities with noise": (noisy, False, False),
    "propensities off by a factor": (scaled, False, False),
    "propensities of another request": (of_others, False, False),
    "the same, checked within the context": (of_others, True, False),
}
"""What is wrong with a log, whether its context is named, and whether its policy is declared."""


def error_rates(worlds: int, logs: int = 6) -> pl.DataFrame:
    """Return by what is wrong with a log how often it is sound, weak or none, and how often each errs.

    A miss is a printed interval that excludes the true value; off is an estimate wrong by half or
    more.
    """
    out = []
    for name, (spoil, is_within, is_declared) in CLASSES.items():
        rows = []
        for number in range(worlds):
            rng = np.random.default_rng([number, 5])
            options = random_options(rng)
            for seed in range(logs):
                log = rw.datasets.logged(seed=seed, **options)
                frame = log.exposures if spoil is None else spoil(log, rng)
                how: dict[str, Any] = {
                    "targets": {"new": "p_new"},
                    "within": ["segment"] if is_within else (),
                }
                if is_declared:
                    how = declared(log, frame)
                row, truth = rw.off_policy(frame, **how).row("new"), log.truth["new"]
                missed = row["support"] != "none" and not row["low"] <= truth <= row["high"]
                rows.append((row["support"], missed, abs(row["value"] - truth) >= truth / 2))
        found = pl.DataFrame(rows, schema=["support", "missed", "off"], orient="row")
        cells: dict[str, Any] = {"world": name, "logs": len(found)}
        for support in ("sound", "weak", "none"):
            part = found.filter(support=support)
            cells[support] = len(part) / len(found)
            if support != "none":
                cells[f"missed if {support}"] = part["missed"].mean()
                cells[f"off if {support}"] = part["off"].mean()
        out.append(cells)
    return pl.DataFrame(out, infer_schema_length=None)


def calibrated(logs: int) -> pl.DataFrame:
    """Return in how many logs item calibration sees that a share of the propensities is of another request."""
    out = []
    for users in (400, 1600, 6400):
        for wrong in (0.0, 0.1, 0.3, 0.6):
            seen = {"all requests": 0, "within the context": 0}
            for seed in range(logs):
                frame = shuffled(rw.datasets.logged(users=users, seed=seed).exposures, wrong, seed)
                for name, within in zip(seen, ((), ("segment",)), strict=True):
                    result = rw.off_policy(frame, targets={"new": "p_new"}, within=within)
                    seen[name] += result.row("new")["calibration_p"] < 0.01
            shares = {name: count / logs for name, count in seen.items()}
            out.append(
                {"users": users, "requests": len(frame), "wrong": wrong, "logs": logs, **shares}
            )
    return pl.DataFrame(out)


def many_exposures(rows: int, users: int, seed: int) -> pl.DataFrame:
    """Return a large log of one row per request, grouped by user, without any structure."""
    rng = np.random.default_rng(seed)
    propensity = rng.uniform(0.05, 1.0, rows)
    return pl.DataFrame(
        {
            "request": np.arange(rows),
            "user": np.sort(rng.integers(0, users, rows)),
            "item": rng.integers(0, 100, rows),
            "propensity": propensity,
            "p_new": rng.uniform(0, 1, rows) * propensity,
            "click": (rng.random(rows) < 0.1).astype(np.float64),
        }
    )


def from_file(rows: int, chunk_rows: int) -> None:
    """Print the time and the peak memory of a log in Parquet, with ten rows per user."""
    piece = 10_000_000
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rows // piece):
            log = many_exposures(piece, piece // 10, number)
            ids = pl.col("request") + number * piece, pl.col("user") + number * (piece // 10)
            log = log.with_columns(*ids, pl.col("click").cast(pl.Int8))
            log.write_parquet(f"{folder}/{number:04}.parquet", row_group_size=1_000_000)
        code = (
            "import sys, time, resource, rankwise as rw; start = time.perf_counter();"
            "rw.off_policy(sys.argv[1], targets={'new': 'p_new'}, chunk_rows=int(sys.argv[2]), "
            "progress=False);"
            "peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20;"
            "print(f'{time.perf_counter() - start:.0f} s, at most {peak:.2f} GiB')"
        )  # in a process of its own, whose memory is that of the chunks
        print(f"{rows:,} exposures, {chunk_rows:,} rows per chunk:", end=" ", flush=True)
        subprocess.run([sys.executable, "-c", code, folder, str(chunk_rows)], check=True)


def speed(rows: int, users: int) -> None:
    """Print the time of a large log in memory, against NumPy passes over its columns."""
    frame = many_exposures(rows, users, 1)
    started = perf_counter()
    w = (frame["p_new"] / frame["propensity"]).to_numpy()
    ips(w, frame["click"].to_numpy())
    snips(w, frame["click"].to_numpy())
    np.bincount(frame["user"].to_numpy(), w)
    passes = perf_counter() - started
    started = perf_counter()
    rw.off_policy(frame, targets={"new": "p_new"})
    taken = perf_counter() - started
    print(
        f"{rows:,} exposures of {users:,} users: {taken:.2f} s; four NumPy passes {passes:.2f} s "
        f"({taken / passes:.1f})"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--logs", type=int, default=100, help="logs per world")
    parser.add_argument(
        "--random", type=int, metavar="WORLDS", help="error rates in this many random worlds"
    )
    parser.add_argument(
        "--calibration",
        type=int,
        metavar="LOGS",
        help="propensities of another request, seen or not",
    )
    parser.add_argument(
        "--file", action="store_true", help="time a log in Parquet, with --rows and --chunk-rows"
    )
    parser.add_argument(
        "--chunk-rows", type=int, default=2_000_000, help="with --file: rows per chunk"
    )
    parser.add_argument("--speed", action="store_true", help="time a large log")
    parser.add_argument(
        "--rows", type=int, help="exposures; by default 10 million, with --file 100 million"
    )
    arguments = parser.parse_args()
    if arguments.speed:
        rows = arguments.rows or 10_000_000
        speed(rows, rows // 10)
        return
    if arguments.file:
        from_file(arguments.rows or 100_000_000, arguments.chunk_rows)
        return
    with pl.Config(
        tbl_rows=-1,
        tbl_cols=-1,
        tbl_width_chars=200,
        float_precision=3,
        tbl_hide_column_data_types=True,
    ):
        if arguments.calibration is not None:
            print(calibrated(arguments.calibration))
        elif arguments.random is not None:
            print(error_rates(arguments.random))
        else:
            print(table_of_worlds(arguments.logs))


if __name__ == "__main__":
    main()
