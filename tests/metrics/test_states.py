"""Sums of users and of groups of users, with numbers worked by hand."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from rankwise.blocks.block import Groups
from rankwise.core.arrays import ExactTotal
from rankwise.metrics import NDCG
from rankwise.metrics.states import Totals, UserFrame, UsersByGroup, add_groups, mean_of
from rankwise.metrics.values import reduce_groups, reduce_users

NAN = math.nan
VALUES = np.array([0.1, NAN, 0.3, 4.0])
OWN = np.array([1.0, 2.0, 3.0, 4.0])


def users(*, weights=None, inside=None):
    frame = pl.DataFrame(
        {"user": [1, 2, 3, 4], "n_relevant": [1, 0, 2, 0], "list_length": [1, 1, 0, 0]}
    )
    return UserFrame(frame, weights=weights, inside=inside)


def exact(state):
    total, size = state
    return total.exact, size.exact


def test_a_mean_is_over_users_with_a_value():
    assert exact(users().mean_state(VALUES)) == (Fraction(0.1) + Fraction(0.3) + 4, 3)
    assert mean_of(users().mean_state(VALUES)) == math.fsum([0.1, 0.3, 4.0]) / 3
    assert math.isnan(mean_of(users().mean_state(VALUES[1:2], rows=[0])))


def test_weights_of_users_and_of_the_metric_are_multiplied():
    of_users = np.array([2.0, 0.5, 0.0, 1.0])
    assert exact(users(weights=of_users).mean_state(VALUES)) == (Fraction(0.1) * 2 + 4, 3)
    assert exact(users().mean_state(VALUES, OWN)) == (Fraction(0.1) + Fraction(0.3 * 3.0) + 16, 8)
    assert exact(users(weights=of_users).mean_state(VALUES, OWN)) == (Fraction(0.2) + 16, 6)


def test_users_outside_the_population_have_no_value():
    inside = np.array([True, True, True, False])
    assert exact(users(inside=inside).mean_state(VALUES)) == (Fraction(0.1) + Fraction(0.3), 2)
    assert users(inside=inside).mask_population(OWN)[:3].tolist() == [1, 2, 3]
    assert math.isnan(users(inside=inside).mask_population(OWN)[3])
    assert users().mask_population(OWN) is OWN
    rows = np.array([2, 3])
    assert exact(users(inside=inside).mean_state(VALUES, OWN, rows)) == (Fraction(0.3 * 3.0), 3)


def test_some_users_keep_their_weights_groups_and_population():
    groups = {"g": Groups(np.array([0, 1, 0, -1]), ("a", "b"))}
    chosen = UserFrame(
        users().users, OWN, groups, inside=np.array([True, False, True, True])
    ).select(np.array([3, 1]))
    assert chosen.users["user"].to_list() == [4, 2]
    assert chosen.weights.tolist() == [4.0, 2.0]
    assert chosen.inside.tolist() == [True, False]
    assert [group.code.tolist() for group in chosen.groups.values()] == [[-1, 1]]
    assert (users().without_relevant, chosen.without_relevant) == (2, 2)


@pytest.mark.parametrize("weights", [None, OWN])
@pytest.mark.parametrize("own", [None, np.array([2.0, 1.0, 0.5, 3.0])])
def test_totals_of_groups_are_the_states_of_their_users(weights, own):
    codes = np.array([1, 0, 1, 0])
    groups = UsersByGroup(users(weights=weights), codes, "abc")
    totals, sizes = groups.totals(VALUES, own)
    for group in range(3):
        rows = np.flatnonzero(codes == group)
        total, size = users(weights=weights).mean_state(VALUES, own, rows)
        assert (totals[group], sizes[group]) == (total.value, size.value)
    assert groups.counts(np.array([True, False, True, True])).tolist() == [1, 2, 0]


def test_groups_count_their_users_their_lists_and_those_without_relevant_items():
    groups = UsersByGroup(users(), np.array([1, 0, 1, 0]), "abc")
    assert reduce_groups([], groups) == [state(2, 1, 2), state(2, 1, 0), state(0, 0, 0)]
    assert reduce_users([], users()) == state(4, 2, 2)


def test_infinite_values_have_infinite_totals():
    groups = UsersByGroup(users(), np.array([0, 0, 1, 1]), "ab")
    totals, sizes = groups.totals(np.array([math.inf, 1.0, 0.5, NAN]), None)
    assert (totals.tolist(), sizes.tolist()) == ([math.inf, 0.5], [2.0, 1.0])


def state(n, with_list, without, **cells):
    return Totals(users=n, with_list=with_list, without_relevant=without, cells=cells)


def test_states_add_up_cell_by_cell():
    one, other = (
        state(3, 2, 1, a=(ExactTotal(5), 2), b=(1,)),
        state(4, 1, 0, a=(ExactTotal(7), 3), c=(9,)),
    )
    assert one + other == state(7, 3, 1, a=(ExactTotal(12), 5), b=(1,), c=(9,))
    assert one.zero() == state(0, 0, 0, a=(ExactTotal(), 0), b=(0,))
    assert one.zero() + one == one
    assert add_groups({"x": one}, {"x": other, "y": other}) == {"x": one + other, "y": other}


def test_users_under_the_rule_of_a_metric_are_found_once():
    columns = users()
    first = columns.for_metric(NDCG())
    assert columns.for_metric(NDCG() @ 5) is first
    assert first.rule == columns.rules.of(NDCG())
