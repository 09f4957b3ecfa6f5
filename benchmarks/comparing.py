"""Tests and resampling over 138,493 users, 20 systems and 30 measures, against bare products.

    python benchmarks/comparing.py            # some three minutes, 4 GiB
    python benchmarks/comparing.py --quick    # a tenth of the users

The units: one float64 Gram product of all 600 columns, and 1,000 rows of float64 numbers times all
columns, both with as many BLAS threads as there are processors.
"""

from __future__ import annotations

import argparse

import numpy as np
from timing import in_turns, ratio

from rankwise import stats


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--turns", type=int, default=3)
    asked = parser.parse_args()
    users, measures, systems = 13_849 if asked.quick else 138_493, 30, 20
    chance = np.random.default_rng(0)
    values = chance.random((users, measures, systems))
    values *= chance.random(values.shape) < 0.2
    flat = values.reshape(users, -1)
    weights = chance.random((1000, users))

    def all_t_tests() -> None:
        for at in range(measures):
            stats.paired_t_of_all(values[:, at])

    jobs = {
        "5,700 paired t tests": (lambda: flat.T @ flat, all_t_tests),
        "1,000 bootstrap means of all columns": (
            lambda: weights @ flat, lambda: stats.bootstrap_means(flat, 1000)
        ),
        "1,000 sign flips of all pairs": (
            lambda: weights @ flat, lambda: stats.sign_flip_of_all(values, n_resamples=1000)
        ),
        "1,000 sign flips of all pairs, max-T": (
            lambda: weights @ flat,
            lambda: stats.sign_flip_of_all(values, n_resamples=1000, family=True),
        ),
    }  # fmt: skip
    for name, (bare, job) in jobs.items():
        below, above = in_turns([bare, job], asked.turns)
        print(f"| {name} | {ratio(above, below):.2f}× | {min(below):.2f} s, {min(above):.2f} s |")


if __name__ == "__main__":
    main()
