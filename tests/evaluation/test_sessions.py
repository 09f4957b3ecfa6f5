"""Sessions where users should stand, and attributes of requests."""

from __future__ import annotations

import polars as pl
import pytest

import rankwise as rw
from rankwise.errors import ColumnError, DuplicateError, ParameterError

VISITS = {"user_id": [4, 3], "session_id": [3, 4], "item": [8, 9]}
LISTS = {"session_id": [3, 3, 4, 4], "item": [8, 9, 9, 8], "rank": [1, 2, 1, 2]}


def refused(*args, **options):
    """Return the error about sessions that stand for users."""
    with pytest.raises(
        ColumnError, match="a user in one table, and a request of a user in another"
    ) as error:
        rw.evaluate(*args, **options)
    return error.value


def test_sessions_that_are_users_in_one_table_and_requests_in_another():
    error = refused(LISTS, VISITS, "mrr")
    assert "'session_id'" in error.found
    assert 'columns={"truth.user": "session_id"}' in error.hint
    assert rw.evaluate(LISTS, VISITS, "mrr", columns={"truth.user": "session_id"})["mrr"] == 1.0
    whole = {**LISTS, "user_id": [4, 4, 3, 3]}
    assert rw.evaluate(whole, VISITS, "mrr")["mrr"] == 1.0
    evaluator = rw.Evaluator("mrr", truth=VISITS)
    with pytest.raises(ColumnError, match="a session is a user"):
        evaluator.update(LISTS)


def test_the_same_of_queries_of_training_and_of_the_table_of_users():
    lists, truth = {"qid": [1, 2], "item": [5, 6]}, {"qid": [1, 2], "item": [5, 6]}
    seen = {"user": [2, 1], "query_id": [1, 2], "item": [5, 7]}
    assert (
        'columns={"train.user": "query_id"}'
        in refused(lists, truth, "mrr", train=seen, exclude_seen=True).hint
    )
    assert (
        rw.evaluate(lists, truth, "mrr", train=seen, columns={"train.user": "query_id"})["mrr"]
        == 1.0
    )
    pages = {"user": [2, 1], "visit": [1, 2], "item": [5, 6]}
    assert rw.evaluate(pages, pages, "mrr")["mrr"] == 1.0
    groups = {"session": [1, 2], "plan": ["a", "b"]}
    requests = {"user": [2, 1], "session": [1, 2], "item": [5, 6]}
    error = refused(requests, requests, "mrr", users=groups, by="plan")
    assert 'columns={"recommendations.user": "session", "truth.user": "session"}' in error.hint
    named = {"recommendations.user": "session", "truth.user": "session"}
    assert rw.evaluate(requests, requests, "mrr", users=groups, by="plan", columns=named).slices[
        "mrr"
    ].to_list() == [
        1,
        1,
    ]


def test_an_audit_of_such_parts_says_so():
    train = pl.DataFrame({"user_id": [1, 2], "session_id": [2, 1], "item": [1, 2]})
    with pytest.raises(ColumnError, match="a session is a user"):
        rw.audit(train, train.drop("user_id"))
    assert rw.audit(train, train.drop("user_id"), columns={"user": "session_id"})["L1"].value == 2


def test_sessions_of_the_ground_truth_alone_are_named():
    truth = {"user": ["v", "v", "w"], "session": [1, 2, 1], "item": [5, 6, 5]}
    lists = {"v": [5, 6], "w": [7, 5]}
    result = rw.evaluate(lists, truth, "mrr")
    assert result["mrr"] == 0.75
    said = "the ground truth has several sessions of a user (column 'session')"
    assert any(doubt.startswith(said) for doubt in result.provenance["doubts"])
    pieces = rw.Evaluator("mrr", truth=truth).update(lists).result()
    assert any(doubt.startswith(said) for doubt in pieces.provenance["doubts"])
    once = {**truth, "session": [1, 1, 1]}
    assert not any(
        "sessions" in doubt for doubt in rw.evaluate(lists, once, "mrr").provenance["doubts"]
    )
    with pytest.raises(DuplicateError) as error:
        rw.evaluate(lists, {**truth, "item": [5, 5, 5]}, "mrr")
    assert "give the lists a column 'session' as well" in error.value.hint


SHOWN = pl.DataFrame(
    {
        "user": ["x"] * 4 + ["y"] * 4,
        "request": [1, 1, 2, 2] * 2,
        "item": ["a", "b", "c", "d", "a", "d", "e", "b"],
        "rank": [1, 2] * 4,
    }
)
CLICKED = pl.DataFrame({"user": ["x", "y"], "request": [1, 1], "item": ["b", "a"]})
PAGES = pl.DataFrame(
    {"user": ["x", "x", "y", "y"], "request": [1, 2, 1, 2], "device": ["tv", "web", "web", "tv"]}
)


def test_hit_rate_by_device_over_all_page_views(tmp_path):
    names, options = (
        ["hit_rate@2", "coverage@2"],
        {"population": "recommended", "undefined": "zero", "by": "device"},
    )
    whole = rw.evaluate(SHOWN, CLICKED, names, users=PAGES, **options)
    assert whole.slices.select("group", "users", "hit_rate@2").rows() == [
        ("tv", 2, 0.5),
        ("web", 2, 0.5),
    ]
    assert whole.slices["catalog_coverage@2"].to_list() == [
        3 / 5,
        3 / 5,
    ]  # a, b, e and c, d, a of five items
    evaluator = rw.Evaluator(names, truth=CLICKED, users=PAGES, **options)
    for user in ("y", "x"):
        evaluator.update(SHOWN.filter(pl.col("user") == user))
    pieces = evaluator.result()
    assert pieces.slices.equals(whole.slices)
    assert pieces.per_user.equals(whole.per_user)
    SHOWN.write_parquet(tmp_path / "shown.parquet")
    chunks = rw.evaluate(
        tmp_path / "shown.parquet", CLICKED, names, users=PAGES, chunk_rows=3, **options
    )
    assert chunks.slices.equals(whole.slices)
    for group in ("tv", "web"):
        keys = PAGES.filter(pl.col("device") == group)
        alone = rw.evaluate(
            SHOWN.join(keys, ["user", "request"], "semi"),
            CLICKED.join(keys, ["user", "request"], "semi"),
            "hit_rate@2",
            population="recommended",
            undefined="zero",
        )
        assert (
            alone["hit_rate@2"]
            == whole.slices.filter(pl.col("group") == group)["hit_rate@2"].item()
        )


def test_what_attributes_of_requests_do_not_go_with():
    for option in ({"jackknife": 2}, {"weights": "device"}):
        with pytest.raises(ParameterError, match="attributes of requests"):
            rw.evaluate(
                SHOWN,
                CLICKED,
                "mrr",
                users=PAGES,
                by="device",
                train=CLICKED.drop("request"),
                **option,
            )
    with pytest.raises(DuplicateError, match="two rows of attributes"):
        rw.evaluate(SHOWN, CLICKED, "mrr", users=pl.concat([PAGES, PAGES]), by="device")
    both = rw.evaluate(
        SHOWN,
        CLICKED,
        ["mrr", "coverage@1"],
        users=PAGES,
        by=["device", "activity"],
        train=CLICKED.drop("request"),
    )
    plain = rw.evaluate(
        SHOWN, CLICKED, ["mrr", "coverage@1"], by="activity", train=CLICKED.drop("request")
    )
    assert both.slices.filter(pl.col("by") == "activity").equals(plain.slices)
