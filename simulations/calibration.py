"""How biased calibration errors are, and how often jackknife intervals of metrics of probabilities hold the value.

Run as ``python simulations/calibration.py`` (some five minutes; ``--samples 50`` for a first look).
docs/ratings.md states two of these numbers. Mean values over 200 samples of 2,000 rows, in 10 bins of
equal mass, from 100 users:

| model | value in | `ece` | `debiased=true` | `norm=l2` | `norm=l2,debiased=true` |
|---|---|--:|--:|--:|--:|
| calibrated | all data | 0.0018 | 0.0015 | 0.0020 | 0.0009 |
| | 200 samples | 0.0189 | 0.0106 | 0.0240 | 0.0053 |
| 20 % too high | all data | 0.0390 | 0.0390 | 0.0488 | 0.0488 |
| | 200 samples | 0.0413 | 0.0372 | 0.0538 | 0.0467 |
| 60 % too high | all data | 0.1168 | 0.1168 | 0.1460 | 0.1460 |
| | 200 samples | 0.1170 | 0.1165 | 0.1474 | 0.1451 |

Shares of the samples whose nominal 95 % jackknife interval holds the value:

| model | `ece(bins=equal_mass)` | `brier` | `log_loss` | `normalised_entropy` | `calibration_ratio` |
|---|--:|--:|--:|--:|--:|
| calibrated | 0.395 | 0.965 | 0.970 | 0.920 | 0.980 |
| 20 % too high | 0.970 | 0.965 | 0.965 | 0.920 | 0.980 |
| 60 % too high | 0.980 | 0.950 | 0.950 | 0.945 | 0.980 |
"""

from __future__ import annotations

import argparse

import numpy as np
import polars as pl

import rankwise as rw

USERS, ROWS = 100, 20  # of a user
ERRORS = [
    f"ece(bins=equal_mass{options})"
    for options in ("", ",debiased=true", ",norm=l2", ",norm=l2,debiased=true")
]
WITH_INTERVALS = [
    "ece(bins=equal_mass)",
    "brier",
    "log_loss",
    "normalised_entropy",
    "calibration_ratio",
]
NAMES = [*dict.fromkeys([*ERRORS, *WITH_INTERVALS])]
MODELS = {"calibrated": 1.0, "20 % too high": 1.2, "60 % too high": 1.6}


def draw(rng: np.random.Generator, factor: float, users: int = USERS) -> pl.DataFrame:
    """Return a table of clicks whose predictions are too high by a factor; users differ in their rates."""
    n = users * ROWS
    taste = np.repeat(rng.gamma(4.0, 0.25, users), ROWS)
    predicted = np.clip(rng.beta(2, 8, n) * taste, 0.001, 0.6)
    return pl.DataFrame(
        {
            "user": np.arange(n) // ROWS,
            "item": np.arange(n) % ROWS,
            "prediction": predicted * factor,
            "label": (rng.random(n) < predicted).astype(int),
        }
    )


def truth(factor: float) -> dict[str, float]:
    """Return the values in a sample of 400,000 rows."""
    return dict(rw.evaluate_ratings(draw(np.random.default_rng(99), factor, 20_000), NAMES))


def main() -> None:
    """Print mean values and coverage of 95 % intervals, by model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=200)
    samples = parser.parse_args().samples
    print("| model | value in | " + " | ".join(f"`{name}`" for name in ERRORS) + " |")
    print("|---|---|" + "--:|" * len(ERRORS))
    coverage = []
    for model, factor in MODELS.items():
        true = truth(factor)
        rng = np.random.default_rng(1)
        values, held = [], []
        for _ in range(samples):
            result = rw.evaluate_ratings(draw(rng, factor), NAMES, jackknife=25)
            values.append([result[name] for name in ERRORS])
            intervals = [result.interval(name) for name in WITH_INTERVALS]
            held.append(
                [
                    i.low <= true[name] <= i.high
                    for i, name in zip(intervals, WITH_INTERVALS, strict=True)
                ]
            )
        print(
            f"| {model} | all data | " + " | ".join(f"{true[name]:.4f}" for name in ERRORS) + " |"
        )
        print(
            f"| | {samples} samples | "
            + " | ".join(f"{mean:.4f}" for mean in np.mean(values, axis=0))
            + " |"
        )
        coverage.append((model, np.mean(held, axis=0)))
    print("\n| model | " + " | ".join(f"`{name}`" for name in WITH_INTERVALS) + " |")
    print("|---|" + "--:|" * len(WITH_INTERVALS))
    for model, shares in coverage:
        print(f"| {model} | " + " | ".join(f"{share:.3f}" for share in shares) + " |")


if __name__ == "__main__":
    main()
