"""Numbers of requests: the order of users and requests, whatever their ids are."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.core.units import number_units, unit_rows

USERS = st.integers(-2, 3) | st.sampled_from([2**40, -(2**62)])
REQUESTS = st.none() | st.integers(-1, 2) | st.just(2**50)
TABLES = st.lists(st.lists(st.tuples(USERS, REQUESTS), max_size=12), min_size=1, max_size=3)


@pytest.mark.parametrize("kind", [pl.Int64, pl.String])
@given(TABLES)
def test_numbers_are_places_in_the_order_of_users_and_requests(kind, tables):
    frames = [
        pl.DataFrame(rows, {"user": pl.Int64, "request": pl.Int64}, orient="row").cast(kind)
        for rows in tables
    ]
    units, numbers = number_units(frames)
    for frame, rows in zip(frames, numbers, strict=True):
        assert units.frame[rows.to_numpy()].equals(frame)
    together = pl.concat(frames).unique().sort("user", "request")
    assert units.frame.equals(together)
    assert units.ids_of(together).to_list() == list(range(len(together)))


def test_a_unit_is_looked_up_by_its_user_in_tables_of_users():
    units = pl.DataFrame({"user": [7, 7, 8], "request": ["a", None, "a"]})
    of_users = pl.DataFrame({"user": [8, 7]}, {"user": pl.Int32})
    assert unit_rows(units, of_users).tolist() == [1, 1, 0]
    of_requests = pl.DataFrame({"user": [7, 8], "request": [None, "b"]})
    assert unit_rows(units, of_requests).tolist() == [-1, 0, -1]


def test_units_are_named_in_words():
    units, _ = number_units([pl.DataFrame({"user": ["ann", "bob"], "request": [1, None]})])
    assert units.decode([0, 1]).to_list() == ["ann, request 1", "bob, request "]
