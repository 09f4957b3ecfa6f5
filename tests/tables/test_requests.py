"""One id for the user and the request of each row, and back."""

from __future__ import annotations

import polars as pl
import pytest

from rankwise.errors import DuplicateError, IdError, InputError, ParameterError
from rankwise.tables.requests import (
    check_no_requests,
    counts_of_requests,
    has_requests,
    naming_requests,
    number_requests,
    request_ids,
    users_of_requests,
    without_requests,
)
from rankwise.tables.table import Recommendations, Table, Tables

LISTS = Recommendations(
    pl.DataFrame({"user": [7, 7, 8], "request": ["a", "b", "a"], "item": [1, 2, 3]}),
    "recommendations",
    "lists",
    "table",
    {"request": "session"},
    k=5,
)
TRUTH = Table(pl.DataFrame({"user": [7, 9], "item": [1, 1]}), "truth", "truth", "table", {})


def with_request(request):
    return Table(
        TRUTH.frame.with_columns(request=pl.Series(request)),
        "truth",
        "truth",
        "table",
        {"request": "visit"},
    )


def test_ids_of_requests_tell_users_and_requests():
    ids = request_ids(pl.DataFrame({"user": [7, 7, 77], "request": ["7", None, "x"]}))
    assert ids.to_list() == ["7\x1f7", "7\x1f", "77\x1fx"]
    assert users_of_requests(ids).to_list() == ["7", "7", "77"]
    assert users_of_requests(pl.Series(["7", "b"])).to_list() == ["7", "b"]


REQUESTS = pl.DataFrame({"user": [7, 7, 8], "request": ["a", "b", "a"]})


def pairs_of(table, units):
    """Return the user and the request of each row of a table with numbers of requests."""
    return units.frame[table.frame["user"].to_numpy()].rows()


def test_lists_and_truth_have_a_number_for_each_request():
    users = Table(pl.DataFrame({"user": [7, 8], "age": [1, 2]}), "users", "users", "table", {})
    made = number_requests(Tables(recommendations=LISTS, truth=TRUTH, users=users), REQUESTS)
    assert made.recommendations.frame.columns == ["user", "item"]
    assert pairs_of(made.recommendations, made.units) == REQUESTS.rows()
    assert made.recommendations.frame["item"].to_list() == [1, 2, 3]
    assert made.recommendations.k is None
    assert pairs_of(made.truth, made.units) == [(7, "a"), (7, "b"), (9, None)]
    assert made.users is users
    assert made.units.frame.rows() == [(7, "a"), (7, "b"), (8, "a"), (9, None)]


def test_truth_of_requests_keeps_its_requests():
    truth = with_request(["b", None])
    made = number_requests(Tables(recommendations=LISTS, truth=truth), None)
    assert pairs_of(made.truth, made.units) == [(7, "b"), (9, None)]
    assert number_requests(Tables(recommendations=LISTS), None).truth is None
    alone = number_requests(Tables(truth=with_request(["x", "y"])), None)
    assert pairs_of(alone.truth, alone.units) == [(7, "x"), (9, "y")]
    zero = number_requests(Tables(truth=TRUTH), REQUESTS.clear())
    assert pairs_of(zero.truth, zero.units) == [(7, None), (9, None)]


def test_ids_that_would_be_mistaken_are_refused():
    for request, said in (
        (["", "a"], "a request has an empty id"),
        (["a\x1fb", "c"], "ids of a request cannot have"),
    ):
        with pytest.raises(IdError, match=said):
            number_requests(Tables(truth=with_request(request)), None)
    odd = with_request(["a", "b"])
    with pytest.raises(IdError, match="ids of a user cannot have") as caught:
        number_requests(Tables(truth=odd.with_ids("user", pl.Series(["x", "y\x1f"]))), None)
    assert (caught.value.where, caught.value.found) == ("truth, column 'user'", "'y\\x1f'")
    exact = Recommendations(
        LISTS.frame, "recommendations", "lists", "table", {}, lengths=LISTS.frame
    )
    with pytest.raises(ParameterError, match="exact ranks have no requests"):
        number_requests(Tables(recommendations=exact), LISTS.frame)


def test_rows_of_requests_and_their_users_are_counted():
    found = pl.DataFrame({"user": [9, 9, 10], "request": [None, 2, 1]})
    assert counts_of_requests(found) == {"requests": 3, "users": 2}
    assert counts_of_requests(found.drop("request")) == {}


def test_requests_of_a_truth_are_not_read_beside_lists_of_users():
    assert without_requests(TRUTH) is TRUTH
    found = without_requests(with_request(["a", "b"]))
    assert (found.frame.columns, found.columns, found.unread) == (["user", "item"], {}, ("visit",))
    assert [has_requests(table) for table in (LISTS, TRUTH, None)] == [True, False, False]


def test_what_takes_one_list_per_user_refuses_requests():
    for lists in (TRUTH, None):
        check_no_requests(lists, "curves")
    with pytest.raises(ParameterError, match="curves takes one list per user") as caught:
        check_no_requests(LISTS, "curves")
    assert (caught.value.where, caught.value.found) == ("lists", "column 'session'")


@pytest.mark.parametrize(
    ("where", "unread", "named"),
    [
        ("lists, row 3", ("at", "b", "c", "d"), True),
        ("user 7", ("at", "b", "c", "d"), True),
        ("truth", ("at", "b", "c", "d"), False),
        ("user 7", (), False),
    ],
)
@pytest.mark.parametrize("hint", [None, "drop it"])
def test_an_error_of_two_rows_names_columns_that_may_be_the_request(where, unread, named, hint):
    lists = Table(TRUTH.frame, "recommendations", "lists", "table", {}, unread=unread)
    error = DuplicateError("twice", where=where, found="x", hint=hint)
    found = naming_requests(error, lists, None)
    assert (type(found), found.what, found.where, found.found) == (
        DuplicateError,
        "twice",
        where,
        "x",
    )
    more = "or name the request, if users have several: columns={\"request\": \"…\"}, of columns not read: 'at', 'b', 'c'"
    assert found.hint == ((f"{hint}; {more}" if hint else more) if named else hint)
    assert naming_requests(error, LISTS, None) is error
    assert isinstance(found, InputError)
