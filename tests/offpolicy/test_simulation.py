"""Known truth: bias and coverage in small simulations, and in larger ones with ``--deep``."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import rankwise as rw
from rankwise.errors import ParameterError

ROOT = Path(__file__).parents[2]
REAL = ROOT.parent / "shared" / "data" / "open-bandit"


@pytest.fixture(scope="module")
def benchmark():
    sys.path.insert(0, str(ROOT / "simulations"))
    yield runpy.run_path(str(ROOT / "simulations" / "off_policy.py"))
    sys.path.remove(str(ROOT / "simulations"))


def check(benchmark, name, logs, least):
    rows = pl.DataFrame(benchmark["measure"](benchmark["WORLDS"][name], logs))
    printed = rows.filter(pl.col("support") != "none")
    gap = (printed["value"] - printed["truth"]).to_numpy()
    assert abs(gap.mean()) < 4 * gap.std(ddof=1) / np.sqrt(len(gap)) + 0.02 * rows["truth"][0]
    assert printed["covered"].mean() >= least
    assert printed["covered_difference"].mean() >= least


@pytest.mark.slow
@pytest.mark.parametrize("world", ["clicks", "heavy and rare", "slates, interaction"])
def test_values_are_near_the_truth_and_covered(benchmark, world):
    check(benchmark, world, 15, 0.8)


@pytest.mark.deep
@pytest.mark.parametrize(
    "world",
    [
        *("clicks", "few users", "rare rewards", "heavy weights", "heavy and rare", "unlike users"),
        *("slates", "slates, interaction", "slates, trust"),
    ],
)
def test_coverage_in_every_world(benchmark, world):
    check(benchmark, world, 400, 0.93)


@pytest.mark.slow
def test_independent_positions_are_biased_by_interactions():
    """What the default protects from: the weights of the item alone, where clicks depend on the item above."""
    gaps = {"interaction": [], "independent": []}
    for seed in range(25):
        log = rw.datasets.logged(
            users=1500, positions=3, items=5, interaction=1.5, base=-1.5, seed=seed
        )
        for slates, values in gaps.items():
            kind = "conditional" if slates == "interaction" else "marginal"
            result = rw.off_policy(log.exposures, targets={"new": "p_new"}, propensities=kind)
            values.append(result["new"] - log.truth["new"])
    error = np.std(gaps["interaction"], ddof=1) / 5
    assert abs(np.mean(gaps["interaction"])) < 3.5 * error
    assert abs(np.mean(gaps["independent"])) > 5 * error


def test_cascade_dr_with_predictions_is_near_the_truth():
    rng = np.random.default_rng(3)
    p, pi = (rng.dirichlet(np.full(4, 2.0), 2) for _ in range(2))
    attraction = np.array([0.1, 0.2, 0.4, 0.6])
    n = 3000
    items = np.stack([rng.choice(4, n, p=p[k]) for k in range(2)], 1)
    frame = pl.DataFrame(
        {
            "request": np.repeat(np.arange(n), 2),
            "position": np.tile([1, 2], n),
            "item": items.ravel(),
            "propensity": p[[0, 1], items].ravel(),
            "click": (rng.random((n, 2)) < attraction[items]).astype(int).ravel(),
        }
    )
    table = pl.DataFrame({"position": np.repeat([1, 2], 4), "item": np.tile(range(4), 2)})
    target = table.with_columns(probability=pl.Series(pi.ravel()))
    later = float(pi[1] @ attraction)
    predictions = table.with_columns(reward=pl.Series([*(attraction + later), *attraction]))
    options = {"targets": {"new": target}, "propensities": "conditional"}
    modelled = rw.off_policy(frame, predictions=predictions, **options)
    plain = rw.off_policy(frame, **options)
    truth = float((pi * attraction).sum())
    assert modelled.settings["slates"] == "cascade_dr"
    assert modelled["new"] == pytest.approx(truth, abs=0.06)
    width = [result.row("new")["high"] - result.row("new")["low"] for result in (modelled, plain)]
    assert width[0] < width[1]


def test_a_log_is_the_same_for_a_seed_and_its_options_are_checked():
    one, other = (rw.datasets.logged(users=30, seed=4) for _ in range(2))
    assert one.exposures.equals(other.exposures)
    with pytest.raises(ParameterError, match="at least five users"):
        rw.datasets.logged(users=3)
    with pytest.raises(ParameterError, match="at most eight items"):
        rw.datasets.logged(positions=2, items=20)


def test_the_case_study_runs(capsys, monkeypatch):
    example = runpy.run_path(str(ROOT / "examples" / "open_bandit.py"))
    monkeypatch.setattr(sys, "argv", ["open_bandit.py", "nowhere"])
    example["main"]()
    assert "nothing to compute" in capsys.readouterr().out
    if REAL.is_dir():
        table = example["case_study"](REAL)
        shown = table.filter(pl.col("support") != "none")
        assert len(shown) == 3
        assert shown.select((pl.col("earned").is_between("low", "high")).all()).item()


def of_other_requests(frame, share, seed):
    """Return a log in which a share of the rows has the propensity of another row."""
    rng = np.random.default_rng(seed)
    propensity = frame["propensity"].to_numpy().copy()
    rows = np.flatnonzero(rng.random(len(frame)) < share)
    propensity[rows] = propensity[rng.permutation(rows)]
    return frame.with_columns(propensity=pl.Series(propensity))


@pytest.mark.slow
@pytest.mark.parametrize(("share", "least", "most"), [(0.0, 0, 0), (0.3, 6, 10)])
def test_propensities_of_another_request_do_not_fit_within_the_context(share, least, most):
    """They fit on average: of the logs with 30 % of them, the calibration of all requests finds two or three in ten."""
    found = {"average": 0, "context": 0}
    for seed in range(10):
        log = rw.datasets.logged(users=1600, seed=seed)
        frame = of_other_requests(log.exposures, share, seed)
        for name, within in (("average", ()), ("context", ("segment",))):
            row = rw.off_policy(frame, targets={"new": "p_new"}, within=within).row("new")
            found[name] += row["calibration_p"] < 0.01
            assert (row["support"] == "sound") <= (row["calibration_p"] >= 0.01)
    assert least <= found["context"] <= most
    assert found["average"] <= 5
