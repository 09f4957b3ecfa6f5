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
    one_id_per_request,
    request_ids,
    truth_by_request,
    users_and_requests,
    users_as_text,
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


def test_lists_and_truth_have_an_id_for_each_request():
    requests = pl.DataFrame({"user": [7, 7, 8], "request": ["a", "b", "a"]})
    users = Table(pl.DataFrame({"user": [7, 8], "age": [1, 2]}), "users", "users", "table", {})
    made = one_id_per_request(Tables(recommendations=LISTS, truth=TRUTH, users=users), requests)
    assert made.recommendations.frame.to_dict(as_series=False) == {
        "user": ["7\x1fa", "7\x1fb", "8\x1fa"],
        "item": [1, 2, 3],
    }
    assert made.recommendations.k is None
    assert made.truth.frame.rows() == [("7\x1fa", 1), ("7\x1fb", 1), ("9\x1f", 1)]
    assert made.users.frame["user"].to_list() == ["7", "8"]
    assert made.users.is_text
    of_request = one_id_per_request(
        Tables(recommendations=LISTS, truth=with_request(["b", None])), requests
    )
    assert of_request.truth.frame["user"].to_list() == ["7\x1fb", "9\x1f"]
    assert one_id_per_request(Tables(recommendations=LISTS), requests).truth is None
    assert truth_by_request(TRUTH).frame["user"].to_list() == ["7\x1f", "9\x1f"]
    assert truth_by_request(with_request(["x", "y"])).frame["user"].to_list() == [
        "7\x1fx",
        "9\x1fy",
    ]
    assert users_as_text({"truth": TRUTH, "items": TRUTH}) == {}


def test_ids_that_would_be_mistaken_are_refused():
    for request, said in (
        (["", "a"], "a request has an empty id"),
        (["a\x1fb", "c"], "ids of a request cannot have"),
    ):
        with pytest.raises(IdError, match=said):
            truth_by_request(with_request(request))
    odd = with_request(["a", "b"])
    with pytest.raises(IdError, match="ids of a user cannot have") as caught:
        truth_by_request(odd.with_ids("user", pl.Series(["x", "y\x1f"])))
    assert (caught.value.where, caught.value.found) == ("truth, column 'user'", "'y\\x1f'")
    exact = Recommendations(
        LISTS.frame, "recommendations", "lists", "table", {}, lengths=LISTS.frame
    )
    with pytest.raises(ParameterError, match="exact ranks have no requests"):
        one_id_per_request(Tables(recommendations=exact), LISTS.frame)


def test_rows_of_requests_get_their_users_back_in_order():
    ids = request_ids(pl.DataFrame({"user": [10, 9, 9], "request": ["1", "2", None]}))
    frame = pl.DataFrame({"user": ids, "ndcg": [0.5, 0.25, 1.0]})
    found = users_and_requests(frame, pl.Int64, pl.Int64)
    assert found.to_dict(as_series=False) == {
        "user": [9, 9, 10],
        "request": [None, 2, 1],
        "ndcg": [1.0, 0.25, 0.5],
    }
    grouped = users_and_requests(
        frame.with_columns(by=pl.lit("g"), group=pl.Series(["y", "x", "y"])), pl.Int64, pl.Int64
    )
    assert grouped.columns == ["by", "group", "user", "request", "ndcg"]
    assert grouped["ndcg"].to_list() == [0.25, 1.0, 0.5]
    assert counts_of_requests(found) == {"requests": 3, "users": 2}
    assert counts_of_requests(frame) == {}


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
    more = "or name the request, if users have several: columns={\"request\": …}, of columns not read: 'at', 'b', 'c'"
    assert found.hint == ((f"{hint}; {more}" if hint else more) if named else hint)
    assert naming_requests(error, LISTS, None) is error
    assert isinstance(found, InputError)
