"""Kendall's τ and τ_AP: by hand, against SciPy and the definition; limits against all orders of small worlds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import kendalltau

from rankwise.errors import InputError
from rankwise.stats.rank_correlation import (
    kendall_tau,
    shown_orders,
    tau_ap,
    tau_ap_limits,
    tau_limits,
)


def definition(reference, order):
    """τ_AP of a list of systems, best first, by the formula of Yilmaz, Aslam & Robertson."""
    k = len(order)
    shares = [
        sum(reference[order[j]] > reference[order[i]] for j in range(i)) / i for i in range(1, k)
    ]
    return 2 / (k - 1) * sum(shares) - 1


def orders_of(k, allowed):
    return [order for order in itertools.permutations(range(k)) if allowed(order)]


def values_of(order):
    values = np.empty(len(order))
    values[list(order)] = -np.arange(len(order))
    return values


def test_by_hand():
    # Swapping the first two costs the share at rank 2, all of it; swapping the last two a third of that at rank 4.
    assert tau_ap([4, 3, 2, 1], [3, 4, 2, 1]) == pytest.approx(2 / 3 * (0 + 1 + 1) - 1)
    assert tau_ap([4, 3, 2, 1], [4, 3, 1, 2]) == pytest.approx(2 / 3 * (1 + 1 + 2 / 3) - 1)
    assert kendall_tau([4, 3, 2, 1], [3, 4, 2, 1]) == pytest.approx(4 / 6)
    assert tau_ap([2, 1], [1, 1]) == kendall_tau([2, 1], [1, 1]) == 0.0


@pytest.mark.parametrize("seed", range(20))
def test_without_ties(seed):
    rng = np.random.default_rng(seed)
    first, second = rng.normal(size=(2, rng.integers(2, 9)))
    assert kendall_tau(first, second) == pytest.approx(kendalltau(first, second).statistic)
    assert tau_ap(first, second) == pytest.approx(definition(first, np.argsort(-second)))


@pytest.mark.parametrize("seed", range(20))
def test_tau_ap_is_the_mean_over_orders_of_tied_systems(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 6))
    first, second = rng.integers(0, 3, (2, k))
    some = [
        orders_of(k, lambda o, v=values: all(v[a] >= v[b] for a, b in itertools.pairwise(o)))
        for values in (first, second)
    ]
    every = [definition(values_of(one), other) for one in some[0] for other in some[1]]
    assert tau_ap(first, second) == pytest.approx(np.mean(every))


@pytest.mark.parametrize("seed", range(20))
def test_limits_hold_all_orders_that_agree_with_what_is_shown(seed):
    rng = np.random.default_rng(seed)
    k = 4
    shown = []
    for values in rng.normal(size=(2, k)):
        some = (values[:, None] > values) & (rng.random((k, k)) < 0.5)
        shown.append(shown_orders(np.where(some, 0.0, 1.0), 0.05))
    allowed = [
        orders_of(
            k, lambda o, s=s: not any(s[o[j], o[i]] for i in range(k) for j in range(i + 1, k))
        )
        for s in shown
    ]
    pairs = [(values_of(one), values_of(other)) for one in allowed[0] for other in allowed[1]]
    for coefficient, limits in ((kendall_tau, tau_limits), (tau_ap, tau_ap_limits)):
        every = [coefficient(*pair) for pair in pairs]
        low, high = limits(*shown)
        assert low <= min(every) + 1e-9
        assert high >= max(every) - 1e-9


def test_what_follows_is_shown():
    p = np.ones((3, 3))
    p[0, 1] = p[1, 2] = 0.01
    assert shown_orders(p, 0.05)[0, 2]


@pytest.mark.parametrize("values", [[1.0], [1.0, np.nan], [[1.0, 2.0]]])
def test_values_that_give_no_order(values):
    with pytest.raises(InputError, match="a finite value for two systems"):
        kendall_tau(values, values)


def test_orders_of_other_systems():
    with pytest.raises(InputError, match="same systems"):
        tau_ap([1.0, 2.0], [1.0, 2.0, 3.0])
