"""Check the numbers of an installed rankwise: every metric, against numbers recorded with its release.

``python tests/installed/check_numbers.py compiled`` evaluates every metric on random data, with the compiled
kernels and without them: both must give the same bits, and the recorded numbers up to the last digits of
the platform's logarithms. The argument is the backend that the installation must have: ``compiled``, or
``numpy`` for a wheel without kernels. Only rankwise and its requirements are needed.

``python tests/installed/check_numbers.py record`` records the numbers anew, after a metric was added.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from random import Random
from typing import Any

import rankwise as rw
from rankwise.core import kernels
from rankwise.metrics import registry

RECORDED = Path(__file__).with_name("numbers.json")
USERS, ITEMS = range(30), range(20)
SETTINGS = {"err": "(max_relevance=4)", "reliability_curve": "(n_bins=4)"}
RATINGS = {"classification", "explained_variance", "fcp", "mae", "mse", "r2", "rmse", "xauc"}
RATINGS |= {
    "brier",
    "calibration_ratio",
    "ece",
    "log_loss",
    "normalised_entropy",
    "reliability_curve",
}
SCORES = {"item_mad_rating", "mean_score", "user_mad_rating"}


def make_world() -> dict[str, dict[Any, Any]]:
    """Return random tables, of ``Random.random`` alone: its sequence is the same in every version of Python."""
    random = Random(41).random
    grades = {user: {item: int(5 * random()) for item in ITEMS if random() < 0.5} for user in USERS}
    return {
        "scores": {
            u: {i: (1 + int(8 * random())) / 10 for i in ITEMS if random() < 0.5}
            for u in USERS
            if u % 9
        },
        "truth": {user: items for user, items in grades.items() if items and user % 11},
        "train": {
            user: [item for item in ITEMS[:-2] if random() < 0.3] for user in USERS if user % 7
        },
        "reference": {
            user: [item for item in ITEMS if random() < 0.3] for user in USERS if user % 8
        },
        "items": {
            "item": [*ITEMS],
            "genres": [
                [genre for genre in ("drama", "noir", "war") if random() < 0.4] for _ in ITEMS
            ],
            "features": [[random() - 0.5 for _ in range(3)] for _ in ITEMS],
            "group": [("a", "b", "c")[int(3 * random())] for _ in ITEMS],
            "propensity": [0.1 + 0.9 * random() for _ in ITEMS],
        },
        "users": {"user": [*USERS], "group": [("x", "y")[user % 2] for user in USERS]},
    }


def compute_numbers() -> dict[str, dict[str, float]]:
    """Return the values of all metrics by name: of lists with tied scores, and of lists in rank order."""
    world = make_world()
    scores, truth = world.pop("scores"), world.pop("truth")
    ranked = {user: sorted(items, key=lambda item: -items[item]) for user, items in scores.items()}
    metrics = {
        cls.name: f"{cls.name}{SETTINGS.get(cls.name, '')}{'' if cls.cutoff == 'none' else '@[2,5]'}"
        for cls in registry.all_metrics()
        if cls.__module__.startswith("rankwise.")
    }
    rankings = [text for name, text in metrics.items() if name not in RATINGS | SCORES]
    requests = {"scores": (scores, [*metrics.values()]), "ranks": (ranked, rankings)}
    return {
        name: dict(rw.evaluate(lists, truth, texts, population="all", **world).values)
        for name, (lists, texts) in requests.items()
    }


def differences(
    numbers: dict[str, dict[str, float]], recorded: dict[str, dict[str, float]]
) -> list[str]:
    """Return a line per number that is not the recorded one, or is on one side alone."""
    return [
        f"{name} {cell}: {ours}, recorded {theirs}"
        for name in recorded
        for cell in sorted({*numbers[name], *recorded[name]})
        for ours, theirs in [
            (numbers[name].get(cell, math.nan), recorded[name].get(cell, math.nan))
        ]
        if not math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-12)
    ]


def check(backend: str) -> str:
    """Return what was checked in one line; raise unless the backend and all numbers are right."""
    result = rw.evaluate({1: [2]}, {1: [2]}, "ndcg@1")
    installed = result.provenance["versions"]["kernels"]
    if installed.split()[0] != backend:
        raise SystemExit(f"the kernels of this installation are {installed!r}, not {backend!r}")
    numbers = compute_numbers()
    with kernels.without_library():
        if compute_numbers() != numbers:
            raise SystemExit("compiled kernels and NumPy give other bits")
    wrong = differences(numbers, json.loads(RECORDED.read_text(encoding="utf-8")))
    if wrong:
        raise SystemExit("\n".join(wrong))
    return f"rankwise {rw.__version__} ({installed}): {sum(map(len, numbers.values()))} numbers are right"


if __name__ == "__main__":
    if sys.argv[1:] == ["record"]:
        RECORDED.write_text(json.dumps(compute_numbers(), indent=1) + "\n", encoding="utf-8")
    else:
        print(check(*sys.argv[1:]))  # noqa: T201
