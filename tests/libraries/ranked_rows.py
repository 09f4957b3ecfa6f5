"""Rows of queries that the rankers are trained on: some features, grades, and query sizes."""

from __future__ import annotations

import numpy as np

rng = np.random.default_rng(7)
SIZES = {"train": rng.integers(5, 25, 60), "valid": rng.integers(5, 25, 30)}


def rows(name):
    """Return features, grades from 0 to 3 and the sizes of the queries of a set."""
    own = np.random.default_rng(len(name))
    sizes = SIZES[name]
    n = int(sizes.sum())
    features = own.normal(size=(n, 4))
    worth = features @ [1.0, 0.5, 0.0, -0.5] + own.normal(size=n)
    labels = np.digitize(worth, [0.5, 1.5, 2.5]).astype(float)
    return features, labels, sizes


def queries(sizes):
    """Return the query of each row."""
    return np.repeat(np.arange(len(sizes)), sizes)
