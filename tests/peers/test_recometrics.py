"""recometrics on random score matrices: the shared metrics of every user, where it has a value.

It has none where the order of the candidates cannot matter: for one with no more than k candidates,
or none that is irrelevant. Tied scores are not compared, because it breaks ties by noise or not at all.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankwise as rw

recometrics = pytest.importorskip("recometrics", reason="recometrics is not installed")
sparse = pytest.importorskip("scipy.sparse")
sys.path.insert(0, str(Path(__file__).parent))

from libraries import LIBRARIES  # noqa: E402

NAMES = LIBRARIES["recometrics"].names


@pytest.mark.slow
@settings(max_examples=400)
@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(3, 60), st.integers(1, 12))
def test_shared_metrics_of_every_user(seed, n_users, n_items, k):
    if k >= n_items:
        return
    rng = np.random.default_rng(seed)
    shape = (n_users, n_items)
    scores = rng.permuted(np.tile(np.arange(n_items, dtype=float), (n_users, 1)), axis=1) / 64
    seen = rng.random(shape) < rng.uniform(0, 0.6)
    grades = np.where(
        ~seen & (rng.random(shape) < rng.uniform(0.02, 0.5)), rng.integers(1, 6, shape), 0
    )
    if not grades.any():
        return
    chosen = {
        "k": k,
        "all_metrics": True,
        "break_ties_with_noise": False,
        "nthreads": 1,
        "rename_k": False,
    }
    matrices = (sparse.csr_matrix(table.astype(float)) for table in (seen, grades))
    theirs = recometrics.calc_reco_metrics(*matrices, scores, np.eye(n_items), **chosen)
    truth = {
        u: {int(i): float(grades[u, i]) for i in np.flatnonzero(grades[u])} for u in range(n_users)
    }
    lists = {
        u: {int(i): float(scores[u, i]) for i in np.flatnonzero(~seen[u])} for u in range(n_users)
    }
    train = {u: np.flatnonzero(seen[u]).tolist() for u in range(n_users)}
    given_users = {
        "recommendations": {user: own for user, own in lists.items() if own},
        "truth": {user: own for user, own in truth.items() if own},
        "train": {user: own for user, own in train.items() if own}
        | {n_users: [0]},  # somebody else, if nobody
    }
    cells = {name: _cell(text, k, whole=name.endswith("AUC")) for name, text in NAMES.items()}
    ours = rw.evaluate(
        metrics=list(dict.fromkeys(cells.values())), items=range(n_items), **given_users
    ).per_user
    for row in ours.iter_rows(named=True):
        for name, cell in cells.items():
            expected = theirs[name if name.endswith("AUC") else f"{name}@K"][row["user"]]
            if not np.isnan(expected):
                assert row[cell] == pytest.approx(expected, rel=1e-9, abs=1e-12), (
                    row["user"],
                    name,
                )


def _cell(text, k, *, whole):
    metric = rw.parse(text)
    return str(metric if whole or metric.cutoff == "none" else metric @ k)
