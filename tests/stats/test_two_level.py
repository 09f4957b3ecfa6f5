"""Users and seeds as two samples, and data sets as a third: coverage, against statsmodels, edges.

The Monte-Carlo error of a share p of R samples is sqrt(p (1 − p) / R).
"""

from __future__ import annotations

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_1samp

from rankwise import stats
from rankwise.errors import InputError
from rankwise.stats.variance_components import VarianceComponents, variance_of_means
from tools import deep

SAMPLES = 2_000  # a share of 0.95 has an error of 0.005


def crossed(rng, m, n, *, users, seeds, rest):
    """Values of m seeds for n users, of mean 0, from standard deviations of the three parts."""
    return rng.normal(0, users, n) + rng.normal(0, seeds, (m, 1)) + rng.normal(0, rest, (m, n))


def interval(x, y=None):
    """The interval of `two_level`, without its p-value, which takes longer."""
    systems = [x] if y is None else [x, y]
    users = x.mean(axis=0) - (0 if y is None else y.mean(axis=0))
    found = variance_of_means(users, systems)
    return found.interval(float(users.mean()), confidence=0.95, n=len(users))


WORLDS = {  # standard deviations between users, between seeds, and of a user's value over seeds
    "users": (1.0, 0.0, 0.3),
    "both": (1.0, 0.1, 0.5),
    "seeds": (0.2, 0.5, 0.5),
    "noise": (0.0, 0.0, 1.0),
    "rarely more than noise": (0.1, 0.08, 1.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize(
    "counts", [(2,), (3,), (2, 2), (2, 10), *deep(((5,),), ((10,),), ((3, 3),), ((5, 5),))]
)
def test_coverage_over_users_and_seeds(world, counts):
    rng = np.random.default_rng(hash_of(world, counts))
    users, seeds, rest = WORLDS[world]
    covered = 0
    for _ in range(SAMPLES):
        common = rng.normal(0, users, 60)
        systems = [crossed(rng, m, 60, users=0, seeds=seeds, rest=rest) for m in counts]
        systems[0] = systems[0] + common  # users differ in how much they gain
        covered += 0.0 in interval(*systems)
    # Where seeds hardly vary, 2 to 4 of them leave that open: the interval is wide, and covers more.
    assert covered / SAMPLES >= 0.93
    assert covered / SAMPLES <= (0.999 if min(counts) < 5 else 0.985)


def hash_of(world, counts):
    return [list(WORLDS).index(world), *counts]


@pytest.mark.parametrize("m", [2, 5])
def test_users_alone_are_too_sure(m):
    """The t interval over users knows nothing of other seeds."""
    rng = np.random.default_rng(m)
    over_users = over_both = 0
    for _ in range(SAMPLES):
        values = crossed(rng, m, 100, users=1.0, seeds=0.2, rest=0.5)
        over_users += 0.0 in stats.t_interval(values.mean(axis=0))
        over_both += 0.0 in interval(values)
    assert over_users / SAMPLES < 0.9
    assert over_both / SAMPLES >= 0.94


@pytest.mark.parametrize("m", [2, 3, 6])
def test_paired_seeds_cover_what_each_split_shares(m):
    rng = np.random.default_rng(m)
    paired = 0
    for _ in range(SAMPLES):
        shared = rng.normal(0, 1.0, (m, 1)) + rng.normal(0, 1.0, (m, 80))  # of the split
        x = shared + crossed(rng, m, 80, users=0.5, seeds=0.1, rest=0.5)
        y = shared + crossed(rng, m, 80, users=0.5, seeds=0.1, rest=0.5)
        paired += 0.0 in interval(x - y)
    assert 0.93 <= paired / SAMPLES <= 0.99


@pytest.mark.slow
def test_the_detectable_difference_is_found():
    """Power of 0.8 at (quantile of alpha / 2 + quantile of 0.2) standard errors."""
    rng = np.random.default_rng(7)
    found = sizes = 0.0
    variance = VarianceComponents((0.6, 199.0), ((0.4, 4.0), (0.3, 4.0)))
    size = (variance.quantile(0.025) + variance.quantile(0.2)) * variance.error
    for _ in range(4_000):
        drawn = [v * rng.chisquare(f) / f for v, f in (variance.users, *variance.seeds)]
        seen = VarianceComponents((drawn[0], 199.0), ((drawn[1], 4.0), (drawn[2], 4.0)))
        found += seen.p(size + rng.normal(0, variance.error)) < 0.05
        sizes += size
    assert found / 4_000 == pytest.approx(0.8, abs=0.05)


def test_balanced_designs_agree_with_mixed_models():
    """REML of crossed random effects, where all components are above 0, has the same error."""
    from statsmodels.regression.mixed_linear_model import MixedLM

    rng = np.random.default_rng(3)
    values = crossed(rng, 6, 25, users=1.0, seeds=0.6, rest=0.7) + 0.4
    frame = pd.DataFrame(
        {
            "y": values.ravel(),
            "seed": np.repeat(np.arange(6), 25),
            "user": np.tile(np.arange(25), 6),
            "all": 1,
        }
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of a single group, which crossing needs
        fitted = MixedLM.from_formula(
            "y ~ 1",
            groups="all",
            data=frame,
            re_formula="0",
            vc_formula={"user": "0 + C(user)", "seed": "0 + C(seed)"},
        ).fit(reml=True)
    ours = variance_of_means(values.mean(axis=0), [values])
    assert float(fitted.fe_params.iloc[0]) == pytest.approx(values.mean(), abs=1e-8)
    assert ours.error == pytest.approx(float(fitted.bse_fe.iloc[0]), rel=1e-3)


@given(
    st.floats(1e-6, 1e3),
    st.floats(0, 1e3),
    st.integers(1, 40),
    st.integers(2, 5000),
    st.floats(-50, 50),
)
def test_p_and_interval_never_disagree(users, seeds, freedom, n, size):
    variance = VarianceComponents((users, float(n)), ((seeds, float(freedom)),))
    difference = size * variance.error
    p = variance.p(difference)
    assert 0 < p <= 1
    if abs(p - 0.05) > 1e-9:
        assert (0.0 in variance.interval(difference, confidence=0.95, n=n)) == (p > 0.05)


def test_the_interval_of_these_simulations_is_the_public_one():
    rng = np.random.default_rng(4)
    x, y = (crossed(rng, 3, 50, users=0.3, seeds=0.1, rest=0.5) for _ in range(2))
    assert tuple(stats.two_level(x, y).interval) == tuple(interval(x, y))
    assert tuple(stats.two_level(x, y, paired=True).interval) == tuple(interval(x - y))


def test_one_part_alone_is_a_t_test():
    x = np.random.default_rng(0).normal(0.3, 1, 40)
    variance = variance_of_means(x, [x[None, :]])
    assert variance.p(x.mean()) == pytest.approx(ttest_1samp(x, 0).pvalue, rel=1e-9)
    assert tuple(variance.interval(x.mean(), confidence=0.9, n=40)) == pytest.approx(
        tuple(stats.t_interval(x, confidence=0.9))
    )


def test_what_is_certain_has_no_doubt():
    same = np.full((3, 5), 0.25)
    found = stats.two_level(same)
    assert math.isnan(found.p)
    assert "zero variance" in found.interval.flags
    assert stats.two_level(same, same).p == 1.0
    # Seeds that give the same values add nothing: what is left is the t test over users.
    users = np.random.default_rng(1).normal(0.1, 1, 50)
    found = stats.two_level(np.tile(users, (4, 1)))
    assert found.variance_of_seeds == 0
    assert found.seeds_to_halve is None
    assert found.p == pytest.approx(ttest_1samp(users, 0).pvalue, rel=1e-9)


def test_more_seeds_halve_the_interval_as_promised():
    rng = np.random.default_rng(2)
    x, y = (crossed(rng, 3, 4_000, users=0.0, seeds=1.0, rest=0.1) for _ in range(2))
    more = stats.two_level(x, y).seeds_to_halve
    assert more is not None
    variance = variance_of_means(x.mean(axis=0) - y.mean(axis=0), [x, y])
    widths = {
        count: variance.with_more(count).quantile(0.025) * variance.with_more(count).error
        for count in (0, more - 1, more)
    }
    assert widths[more] <= widths[0] / 2 < widths[more - 1]


@pytest.mark.parametrize("k", [2, 3, 5, 10])
@pytest.mark.parametrize("tau", [0.0, 1.0, 3.0])
def test_coverage_over_data_sets(k, tau):
    """Also where some data sets are small and others large, so that errors are unequal."""
    rng = np.random.default_rng([k, int(tau)])
    errors = np.array([0.2, 3.0] * 5)[:k]
    covered = sum(
        0.0 in stats.over_data_sets(rng.normal(0, tau, k) + rng.normal(0, errors), errors).interval
        for _ in range(SAMPLES)
    )
    assert covered / SAMPLES >= 0.935
    if tau == 3.0:
        assert covered / SAMPLES <= 0.98


def test_data_sets_are_a_t_test_and_tau_is_what_errors_leave():
    rng = np.random.default_rng(0)
    d, errors = rng.normal(0.3, 1, 12), np.full(12, 0.4)
    found = stats.over_data_sets(d, errors)
    assert found.p == pytest.approx(ttest_1samp(d, 0).pvalue, rel=1e-12)
    assert found.tau == pytest.approx(math.sqrt(d.var(ddof=1) - 0.16), rel=1e-12)
    assert math.isnan(stats.over_data_sets(d).tau)
    assert math.isnan(stats.over_data_sets([0.1]).p)
    assert stats.over_data_sets([0.0, 0.0]).p == 1.0
    assert math.isnan(stats.over_data_sets([0.0, 0.0]).interval.low)


@pytest.mark.parametrize(
    ("go", "said"),
    [
        (lambda: stats.two_level([[1.0, np.nan], [1.0, 2.0]]), "no NaN"),
        (lambda: stats.two_level([1.0, 2.0]), "one row per seed"),
        (lambda: stats.two_level([[1.0, 2.0]] * 2, [[1.0]] * 2), "value of every user"),
        (lambda: stats.two_level([[1.0]] * 3), "value of every user"),
        (lambda: stats.two_level([[1.0, 2.0]], [[1.0, 3.0]]), "two seeds or more"),
        (
            lambda: stats.two_level([[1.0, 2.0]] * 2, [[1.0, 3.0]] * 3, paired=True),
            "as many on both",
        ),
        (lambda: stats.over_data_sets([]), "every data set"),
        (lambda: stats.over_data_sets([1.0, np.nan]), "every data set"),
        (lambda: stats.over_data_sets([1.0, 2.0], [1.0]), "every data set"),
    ],
)
def test_what_is_refused(go, said):
    with pytest.raises(InputError, match=said):
        go()
