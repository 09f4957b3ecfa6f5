"""A seed draws the same signs and weights in every version: p-values and limits in papers rest on them.

Draws come from bytes of SFC64 alone, which NumPy keeps, and sums of whole numbers have no rounding.
"""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.stats import (
    bootstrap,
    bootstrap_test,
    max_t,
    sign_flip,
    sign_flip_interval,
    sign_flip_of_all,
)
from rankwise.stats.differences import differences
from rankwise.stats.paired_tests import bootstrap_t_interval, projections

D = np.arange(40) * 37 % 101 / 100 - 0.4
SYSTEMS = np.stack([D, D / 2 + np.arange(40) * 7 % 11 / 50, np.arange(40) % 7 / 200 - D], axis=1)
OPTIONS = {"n_resamples": 999, "seed": 3}


@pytest.mark.parametrize(
    ("kind", "n", "seed", "expected"),
    [
        ("signs", 9, 0, [-14, 6, 4, 20]),
        ("signs", 9, 7, [10, -12, -8, -6]),
        ("signs", 5000, 0, [-240230, 83646, 53956, 265114]),  # two blocks of users
        ("weights", 9, 0, [32, 41, 27, 39]),
        ("weights", 9, 7, [24, 26, 34, 30]),
        ("weights", 3000, 0, [4451989, 4633975, 4494649, 4417328]),
        ("weights", 5000, 7, [12511055, 12603683, 12346583, 12420892]),
    ],
)
def test_signs_and_weights_are_drawn_as_in_every_version(kind, n, seed, expected):
    """The first two of 130 resamples, and the last of the first panel with the first of the second."""
    drawn = projections(np.arange(float(n))[:, None], 130, kind=kind, seed=seed).ravel()
    assert drawn[[0, 1, 128, 129]].tolist() == expected


def test_p_values_are_those_of_every_version():
    assert sign_flip(D, **OPTIONS).p == 0.042
    assert bootstrap_test(D, **OPTIONS).p == 0.057


@pytest.mark.parametrize(
    ("method", "limits"),
    [
        ("bca", (0.00571445525854813, 0.19619164006713063)),
        ("percentile", (0.005475, 0.196025)),
        ("basic", (0.000975, 0.191525)),
        ("studentised", (-0.001922210286393014, 0.19973401233274868)),
    ],
)
def test_limits_of_the_bootstrap_are_those_of_every_version(method, limits):
    assert tuple(bootstrap(D, method=method, **OPTIONS)) == pytest.approx(limits, rel=1e-9)


def test_limits_of_tests_are_those_of_every_version():
    assert tuple(sign_flip_interval(D, **OPTIONS)) == pytest.approx(
        (0.00473684, 0.19588235), abs=1e-7
    )
    by_t = bootstrap_t_interval(differences(D), confidence=0.9, **OPTIONS)
    assert tuple(by_t) == pytest.approx((0.0158151024, 0.1811848976), rel=1e-8)


def test_p_values_of_many_systems_are_those_of_every_version():
    assert max_t(SYSTEMS, **OPTIONS).tolist() == [0.068, 0.001, 0.122]
    assert sign_flip_of_all(SYSTEMS, **OPTIONS)[np.triu_indices(3, 1)].tolist() == [
        0.099,
        0.05,
        0.003,
    ]
    assert sign_flip_of_all(SYSTEMS, family=True, **OPTIONS)[np.triu_indices(3, 1)].tolist() == [
        0.164,
        0.103,
        0.004,
    ]
