"""Estimates from sampled ranks: reproduced outcomes, limits, and simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta, lognorm

from rankwise.stats.sampled_metrics import (
    bias_variance,
    estimate,
    interpolated,
    rank_distribution,
    rank_probabilities,
)

N, M, K = 5000, 100, 10
RANKS = np.arange(1, N + 1)


def mixture(spread, scale, share):
    """Log-normal ranks, and some anywhere."""
    near = lognorm.cdf(RANKS, np.exp(spread), scale=np.exp(scale))
    part = 1 / (1 + np.exp(-share))
    return np.diff(part * near / near[-1] + (1 - part) * RANKS / N, prepend=0)


# Three systems of 5,000 items, found so that their hit rates and nDCGs at 10 and their hit rates
# over 100 sampled negatives are those of a published table: .103, .037, .309; .0470, .0149, .1620;
# .189, .838, .840. What the estimators make of them was not used to find them.
SYSTEMS = {
    "A": mixture(-1.846, 1.124, -2.191),
    "B": np.diff(beta.cdf(RANKS / N, 1.023, 19.4), prepend=0),
    "C": mixture(0.664, 3.041, 1.947),
}
TABLE = {  # naive, rank, bias-variance at .1 and at .01, rank distribution
    "A": (0.189, 0.102, 0.040, 0.060, 0.088),
    "B": (0.838, 0.165, 0.037, 0.035, 0.033),
    "C": (0.840, 0.497, 0.178, 0.241, 0.304),
}


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_table_of_outcomes(system):
    probabilities = rank_probabilities(N, M, replacement=True)
    truth = SYSTEMS[system] / SYSTEMS[system].sum()
    seen = np.random.default_rng(0).multinomial(50_000, truth @ probabilities).astype(float)
    hit = (RANKS <= K).astype(float)[:, None]
    found = [
        seen[:K].sum() / seen.sum(),
        *(
            estimate(method, probabilities, hit, seen, gamma=gamma).item()
            for method, gamma in (("rank", 0), ("bv", 0.1), ("bv", 0.01), ("em", 0))
        ),
    ]
    assert found == pytest.approx(TABLE[system], abs=0.011)
    # The one that puts the systems in their true order.
    assert found[4] == pytest.approx(truth[:K].sum(), abs=0.01)


@pytest.mark.parametrize("replacement", [True, False])
def test_probabilities_are_those_of_a_simulation(replacement):
    rng, n, m = np.random.default_rng(1), 12, 4
    probabilities = rank_probabilities(n, m, replacement=replacement)
    assert probabilities.sum(axis=1) == pytest.approx(1)
    for rank in (1, 5, 12):
        above = rank - 1
        draws = [(rng.choice(n - 1, m, replace=replacement) < above).sum() for _ in range(4000)]
        seen = np.bincount(draws, minlength=m + 1) / 4000
        assert seen == pytest.approx(probabilities[rank - 1], abs=0.03)


def test_everything_sampled_is_exact():
    n = 8
    probabilities = rank_probabilities(n, n - 1, replacement=False)
    assert probabilities == pytest.approx(np.eye(n))
    values = 1 / np.arange(1, n + 1)[:, None]
    counts = np.random.default_rng(0).integers(1, 9, n).astype(float)
    exact = (counts @ values / counts.sum()).item()
    assert interpolated(values, n - 1) == pytest.approx(values)
    for method in ("rank", "em"):
        assert estimate(method, probabilities, values, counts).item() == pytest.approx(exact)
    assert estimate("bv", probabilities, values, counts, gamma=0).item() == pytest.approx(exact)


def test_no_weight_on_variance_has_the_least_bias():
    probabilities = rank_probabilities(60, 8, replacement=True)
    values = (np.arange(1, 61) <= 5).astype(float)[:, None]

    def bias(gamma):
        return float(
            ((probabilities @ bias_variance(probabilities, values, gamma) - values) ** 2).sum()
        )

    assert bias(0) < bias(0.01) < bias(0.3)


def test_rounds_raise_the_likelihood():
    probabilities = rank_probabilities(80, 10, replacement=True)
    counts = np.random.default_rng(2).multinomial(500, np.full(11, 1 / 11)).astype(float)
    likelihood = [
        float(
            counts
            @ np.log(probabilities.T @ rank_distribution(probabilities, counts, rounds=rounds))
        )
        for rounds in (1, 5, 50, 200)
    ]
    assert likelihood == sorted(likelihood)
    assert rank_distribution(probabilities, counts).sum() == pytest.approx(1)
