"""Names and values of columns: which are recognised, and which row is named where one is wrong."""

from __future__ import annotations

import math

import polars as pl
import pytest

import rankwise as rw
from rankwise.errors import ColumnError, IdError, InputError, ParameterError, ScoreError
from rankwise.tables.columns import (
    EVENT,
    candidate_columns,
    check_exact,
    check_finite,
    check_once,
    check_ranks,
    is_row_number,
    known_column,
    may_be_missing,
    names_of,
    overrides_for,
    plain_name,
    recognise,
)
from rankwise.tables.list_rows import one_row_per_item
from rankwise.tables.table import Table


def table(**columns):
    frame = pl.DataFrame(columns)
    return Table(
        frame, "recommendations", "a file", "csv", {name: name.upper() for name in columns}
    )


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("User_ID", "userid"),
        ("user id:token", "userid"),
        ("ユーザー", "ユーザー"),
        ("a-b.c", "abc"),
        (":float", ""),
    ],
)
def test_names_are_compared_by_letters_and_digits(name, plain):
    assert plain_name(name) == plain


@pytest.mark.parametrize(
    ("names", "role", "column", "found"),
    [
        (["user_id", "session_id"], "truth", "user", ["user_id"]),
        (["session_id"], "truth", "user", ["session_id"]),
        (["rating"], "recommendations", "score", ["rating"]),
        (
            ["rating", "yhat"],
            "recommendations",
            "score",
            ["rating", "yhat"],
        ),  # a rating may be what was observed
        (["score", "yhat"], "recommendations", "score", ["score"]),
        (["score"], "truth", "relevance", ["score"]),
        (["score", "clicks"], "truth", "relevance", ["score", "clicks"]),
        (["weight"], "truth", "relevance", ["weight"]),
        (["weight"], "train", "relevance", []),
        (["prob"], "recommendations", "score", ["prob"]),
        (["prob"], "targets", "score", []),
        (["asin"], "exposures", "item", ["asin"]),
    ],
)
def test_rare_names_count_where_no_usual_one_is_there(names, role, column, found):
    assert names_of(names, role, column) == found


def test_columns_of_a_role_are_recognised():
    names = ["user", "movieId", "rank", "timestamp", "x"]
    assert recognise(names, "recommendations", {}, "w") == {
        "user": "user",
        "item": "movieId",
        "rank": "rank",
    }
    assert recognise(names, "truth", {}, "w") == {
        "user": "user",
        "item": "movieId",
        "timestamp": "timestamp",
    }
    assert recognise(names, "truth", {"relevance": "x"}, "w")["relevance"] == "x"
    assert "timestamp" not in recognise(names, "truth", {"timestamp": None}, "w")
    assert recognise(["item", "reward"], "exposures", {}, "w") == {
        "item": "item",
        "reward": "reward",
    }
    with pytest.raises(ColumnError, match="no column for the item"):
        recognise(["user"], "truth", {}, "w")
    with pytest.raises(ColumnError, match="two columns could be the user"):
        recognise(["user", "uid", "item"], "truth", {}, "w")
    with pytest.raises(ColumnError, match="no column 'y' for the item"):
        recognise(names, "truth", {"item": "y"}, "w")
    assert (
        recognise(["uid", "user", "item"], "truth", {"relevance": "uid"}, "w")["user"] == "user"
    )  # uid is taken


def test_requests_of_a_truth_matter_only_if_lists_have_them():
    names = ["user", "item", "session", "visit"]
    assert "request" not in recognise(names, "truth", {}, "w")
    with pytest.raises(ColumnError, match="two columns could be the request"):
        recognise(names, "recommendations", {}, "w")
    assert recognise(names, "truth", {"request": "visit"}, "w")["request"] == "visit"
    assert "request" not in recognise(names, "truth", {"request": "page"}, "w")
    with pytest.raises(ColumnError, match="no column 'page' for the request"):
        recognise(names, "recommendations", {"request": "page"}, "w")


def test_columns_of_a_truth_that_are_read_as_they_are():
    names = ["user", "item", "behavior", "city"]
    assert recognise(names, "truth", {EVENT: None}, "w")[EVENT] == "behavior"
    assert recognise(names, "truth", {"truth:city": "city"}, "w")["truth:city"] == "city"
    assert "truth:city" not in recognise(names, "truth", {"truth:city": None}, "w")
    for overrides, said in (
        ({"truth:city": "town"}, "no column 'town' of the ground truth"),
        ({EVENT: "x"}, "no column 'x' of the ground truth"),
    ):
        with pytest.raises(ColumnError, match=said):
            recognise(names, "truth", overrides, "w")
    with pytest.raises(ColumnError, match="no column of events"):
        recognise(["user", "item"], "truth", {EVENT: None}, "w")
    with pytest.raises(ColumnError, match="two columns could be the event"):
        recognise([*names, "event"], "truth", {EVENT: None}, "w")


def test_columns_that_may_decide_are_those_that_are_not_read():
    names = ["user", "item", "x", "time", "index", "y:token", "session"]
    known = {"user": "user", "item": "item"}
    assert candidate_columns(names, "recommendations", known, {}) == ["x"]
    assert candidate_columns(names, "truth", known, {}) == ["x"]
    assert candidate_columns(names, "recommendations", known, {"score": None}) == []
    assert candidate_columns(names, "recommendations", known | {"rank": "x"}, {}) == []
    assert candidate_columns(names, "train", known, {}) == []
    assert [is_row_number(name) for name in ("", " ", "Unnamed: 0", "index", "level_0", "x")] == [
        True
    ] * 5 + [False]


def test_names_of_one_table_go_before_those_of_all():
    columns = {"truth.user": "a", "user": "b", "item": "c", "users.group": "d", "truth:x": "e"}
    assert overrides_for(columns, "truth") == {"user": "a", "item": "c", "truth:x": "e"}
    assert overrides_for(columns, "recommendations") == {"user": "b", "item": "c"}
    assert overrides_for(columns, "users") == {"user": "b", "group": "d"}
    assert overrides_for(None, "truth") == {}
    for key in ("usr", "truths.user", "truth.rank"):
        with pytest.raises(ParameterError, match=f"columns: there is no {key!r}"):
            overrides_for({key: "a"}, "truth")


def test_columns_that_only_some_metrics_need():
    assert known_column(["item", "Genres"], "items", "categories", {}, "w") == "Genres"
    assert (
        known_column(["item", "categories", "tags"], "items", "categories", {}, "w") == "categories"
    )
    assert known_column(["item", "x"], "items", "categories", {"categories": "x"}, "w") == "x"
    assert known_column(["item"], "items", "categories", {}, "w") is None
    with pytest.raises(ColumnError, match="two columns could be the categories"):
        known_column(["genre", "tags"], "items", "categories", {}, "w")


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, None])
def test_the_first_value_that_is_no_number_is_named(bad):
    values = pl.Series("score", [1.0, bad, bad], pl.Float64)
    with pytest.raises(ScoreError, match="a score is null, NaN or infinite") as caught:
        check_finite(values, "score", table(user=["a", "b", "c"], score=values))
    assert caught.value.where == "recommendations, column 'SCORE', row 2, user 'b'"
    assert caught.value.found == f"{bad} (2 such rows)"
    with pytest.raises(ScoreError) as caught:
        check_finite(values, "score", table(item=[1, 2, 3]))
    assert caught.value.where == "recommendations, column 'score', row 2"


def test_numbers_that_are_finite_pass_and_text_does_not():
    for values in ([1.0, -2.0], [1, 2], [1e308, 1e308], []):
        check_finite(
            pl.Series(values, dtype=None if values else pl.Float64), "score", table(user=[1])
        )
    with pytest.raises(ColumnError, match="the score must be a number"):
        check_finite(pl.Series(["a"]), "score", table(user=[1]))


def test_ranks_count_from_0_or_1():
    for least in (0, 1):
        check_ranks(pl.Series([least, 5]), table(user=[1, 2]))
    with pytest.raises(ScoreError, match="a rank is negative") as caught:
        check_ranks(pl.Series([3, -1, -2]), table(user=[7, 8, 9], rank=[3, -1, -2]))
    assert caught.value.where == "recommendations, column 'RANK', row 2, user 8"
    assert caught.value.found == "-1 (2 such rows)"


def test_an_item_or_a_user_has_one_row():
    check_once(table(item=[1, 2]), "item")
    with pytest.raises(
        ColumnError, match="duplicate item in the table of recommendations"
    ) as caught:
        check_once(table(item=[1, 3, 2, 3, 2]), "item")
    assert (caught.value.found, caught.value.hint) == ("item 3", "keep one row per item")


def test_numbers_of_too_many_digits_are_refused_where_they_become_equal():
    near = [2**53, 2**53 + 1]
    for values in (near, pl.Series(near)):
        with pytest.raises(ScoreError, match="too many digits"):
            check_exact(values, pl.Series(near).cast(pl.Float64), "x", "w")
    check_exact([2**53, 2**53], pl.Series([2.0**53] * 2), "x", "w")
    check_exact([1, 2], pl.Series([1.0, 1.0]), "x", "w")  # small ones lose nothing
    decimals = pl.Series(["0.10000000000000000001", "0.1"]).cast(pl.Decimal(30, 20))
    with pytest.raises(ScoreError):
        check_exact(decimals, decimals.cast(pl.Float64), "x", "w")


@pytest.mark.parametrize(
    ("role", "column", "may"),
    [
        ("train", "relevance", True),
        ("train", "timestamp", False),
        ("interactions", "timestamp", True),
        ("truth", "relevance", False),
    ],
)
def test_ratings_of_training_may_be_missing(role, column, may):
    assert may_be_missing(role, column) is may


def flat(role="recommendations", overrides=None, **columns):
    frame, names = one_row_per_item(pl.DataFrame(columns), role, overrides or {}, "a file")
    return frame.to_dict(as_series=False), names


def test_lists_in_rows_become_rows():
    found, names = flat(
        user=[1, 2, 3], items=[[5, 6], [], [7]], scores=[[0.5, 0.25], [], [1.0]], x=["a", "b", "c"]
    )
    assert found == {
        "user": [1, 1, 3],
        "item": [5, 6, 7],
        "score": [0.5, 0.25, 1.0],
        "x": ["a", "a", "c"],
    }
    assert names == ["item", "score"]
    rows = {"user": [1], "item": [5]}
    assert flat(**rows) == (rows, ["user", "item"])
    found, _ = flat("truth", user=[1], item=[[5, 6]], ratings=[[1, 2]])
    assert found == {"user": [1, 1], "item": [5, 6], "rating": [1, 2]}
    found, _ = flat(overrides={"item": "things"}, user=[1], things=[[5]])
    assert found == {"user": [1], "things": [5]}


def test_records_in_rows_are_columns_of_their_fields():
    found, names = flat(
        user=[1, 2], recs=[[{"item": 5, "score": 0.5}], [{"item": 6, "score": 1.0}]]
    )
    assert found == {"user": [1, 2], "item": [5, 6], "score": [0.5, 1.0]}
    assert names == ["item", "score"]
    with pytest.raises(
        ColumnError, match="there is a column 'score', and the records in column 'recs'"
    ):
        flat(user=[1], recs=[[{"item": 5, "score": 0.5}]], score=[1.0])


@pytest.mark.parametrize(
    ("columns", "error", "said", "where"),
    [
        ({"item": [[1, 2]], "score": [[0.5]]}, ColumnError, "of different lengths", "a file"),
        ({"item": [[1, 2]], "score": [0.5]}, ColumnError, "one number per list", "a file"),
        ({"item": [[1], None]}, InputError, "a list is null", "a file, column 'item', row 2"),
        ({"item": [[1], [2, None]]}, IdError, "an item id is null", "a file, column 'item', row 2"),
        (
            {"item": [[1], [2, 3]], "score": [[0.5], [0.5, math.nan]]},
            ScoreError,
            "a score is null, NaN",
            "a file, column 'score', row 2",
        ),
        ({"items": [[1]], "item": ["x"]}, ColumnError, "two columns could be the item", "a file"),
    ],
)
def test_lists_that_do_not_fit_are_named_by_their_row(columns, error, said, where):
    n = len(next(iter(columns.values())))
    with pytest.raises(error, match=said) as caught:
        flat(user=[*range(n)], **columns)
    assert caught.value.where == where


def test_a_user_has_one_row_of_lists_unless_rows_are_requests():
    with pytest.raises(InputError, match="a user has several rows of lists") as caught:
        flat(user=[1, 3, 2, 2, 3, 2], item=[[5]] * 6)
    assert (caught.value.where, caught.value.found) == ("a file, user 3", "2 rows")
    assert flat(user=[1, 1], session=[1, 2], item=[[5], [6]])[0]["session"] == [1, 2]
    with pytest.raises(InputError, match="several rows of lists"):
        flat(user=[1, 1], session=[1, 1], item=[[5], [6]])
    with pytest.raises(InputError, match="several rows of lists"):
        flat("reference", user=[1, 1], session=[1, 2], item=[[5], [6]])
    assert flat(overrides={"request": "x"}, user=[1, 1], x=[1, 2], item=[[5], [6]])[0]["x"] == [
        1,
        2,
    ]


NAN = float("nan")


@pytest.mark.parametrize(
    ("lists", "truth", "options", "message"),
    [
        ({1: [(5, NAN), (6, NAN)]}, {1: {5}}, {}, "a score is null, NaN or infinite"),
        ({1: [5]}, {1: {5: NAN, 6: NAN}}, {}, "a relevance is null, NaN or infinite"),
        (
            {1: [5], 2: [5]},
            {1: {5}, 2: {5}},
            {"weights": {1: NAN, 2: NAN}},
            "a weight is null, NaN or infinite",
        ),
        ({1: [(5, 2**60), (6, 2**60 + 1)]}, {1: {5}}, {}, "too many digits"),
        ({1: [(5, 2.0**60), (6, NAN)]}, {1: {5}}, {}, "a score is null, NaN or infinite"),
    ],
)
def test_numbers_that_are_all_nan_are_called_so(lists, truth, options, message):
    with pytest.raises(ScoreError, match=message):
        rw.evaluate(lists, truth, "recall@1", **options)
