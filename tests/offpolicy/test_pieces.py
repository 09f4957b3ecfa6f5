"""Logs in pieces: chunks of a file, threads, and jobs and partials that travel have the bits of one call."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from rankwise.errors import DuplicateError, InputError, ParameterError
from rankwise.offpolicy import off_policy as entry

TABLES = ("table", "differences", "sensitivity", "positions", "per_user")


def assert_same(one, other):
    for name in TABLES:
        assert getattr(one, name).equals(getattr(other, name), null_equal=True), name
    assert (one.counts, one.settings) == (other.counts, other.settings)


def without_places(result):
    """Return a result whose users, each a row without an id, stand in the order of their values."""
    users = result.per_user.drop("user")
    return replace(result, per_user=users.sort(users.columns, nulls_last=True))


@st.composite
def logs(draw):
    """Return a log with or without ids, in which weights are often equal, and the options for it."""
    size = draw(st.integers(1, 60))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    kind = draw(st.sampled_from(["requests", "users", "rows", "slates", "text"]))
    width = 3 if kind == "slates" else 1
    request = np.repeat(np.arange(size), rng.integers(1, width + 1, size))
    rows = len(request)
    frame = pl.DataFrame(
        {
            "user": rng.integers(0, max(size // 2, 1), size)[request],
            "request": request,
            "position": np.arange(rows) - np.searchsorted(request, request),
            "item": rng.integers(0, 5, rows),
            "propensity": rng.choice([0.1, 0.25, 0.5, 1 / 3], rows),
            "reward": np.round(rng.uniform(0, 2, rows), 1) * rng.integers(0, 2, rows),
            "p_new": rng.choice([0.0, 0.0, 0.3, 0.1], rows),
            "p_other": rng.uniform(0, 1, rows) * rng.integers(0, 2, rows),
            "country": rng.choice(["at", "de"], size)[request],
        }
    )
    if kind == "text":
        frame = frame.with_columns(pl.format("u{}", "user").alias("user"))
    left_out = {
        "users": ["request", "position"],
        "rows": ["user", "request", "position"],
        "requests": ["position"],
    }
    frame = frame.drop(left_out.get(kind, []))
    options = {"by": draw(st.sampled_from([None, "country"]))}
    if kind == "slates" and len(frame) > frame["request"].n_unique():
        options["propensities"] = draw(st.sampled_from(["conditional", "list", "marginal"]))
    return frame, options


TARGETS = {
    "new": "p_new",
    "other": "p_other",
    "even": rw.policies.Uniform(),
    "table": rw.policies.Probabilities({"item": [0, 1, 2], "probability": [0.5, 0.25, 0.25]}),
}


def in_order(frame):
    return frame.sort("user", maintain_order=True) if "user" in frame.columns else frame


@given(logs(), st.integers(1, 20))
def test_chunks_of_a_file_are_one_call(tmp_path_factory, world, rows):
    frame, options = world
    path = tmp_path_factory.mktemp("log") / "log.parquet"
    in_order(frame).write_parquet(path)
    whole = rw.off_policy(frame, targets=TARGETS, **options)
    chunks = rw.off_policy(path, targets=TARGETS, chunk_rows=rows, **options)
    assert_same(whole, chunks)
    assert (
        chunks.sources["exposures"]
        == rw.off_policy(path, targets=TARGETS, **options).sources["exposures"]
    )


@given(logs(), st.integers(2, 5))
def test_threads_change_no_bit(world, threads):
    frame, options = world
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entry, "_ROWS_OF_A_THREAD", 1)
        several = rw.off_policy(frame, targets=TARGETS, threads=threads, **options)
    assert_same(rw.off_policy(frame, targets=TARGETS, threads=1, **options), several)


@given(logs(), st.randoms(use_true_random=False))
def test_jobs_and_partials_travel_and_merge_in_any_order(world, random):
    frame, options = world
    work, calls = entry.work, []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entry, "work", lambda *call: calls.append(call) or work(*call))
        whole = rw.off_policy(frame, targets=TARGETS, threads=1, **options)
    [(job, log)] = calls
    partials = []
    for piece in log.pieces(4):
        elsewhere, rows = pickle.loads(pickle.dumps((job, piece)))
        partials.append(pickle.loads(pickle.dumps(work(elsewhere, rows))))
    random.shuffle(partials)
    merged = entry.finish(job, partials)
    if "user" not in frame.columns and "request" not in frame.columns:  # rows have no other place
        whole, merged = map(without_places, (whole, merged))
    assert_same(whole, merged)


def test_outcomes_join_in_chunks_as_in_one_call(tmp_path):
    log = rw.datasets.logged(users=60, seed=4)
    exposures = log.exposures.drop("click").sort("user")
    clicks = log.exposures.filter(click=1).select("request", "item")
    clicks = pl.concat(
        [clicks, clicks[:3], pl.DataFrame({"request": [10**9], "item": [1]}, schema=clicks.schema)]
    )
    exposures.write_parquet(tmp_path / "log.parquet")
    whole = rw.off_policy(exposures, clicks, targets={"new": "p_new"}, missing="drop")
    chunks = rw.off_policy(
        tmp_path / "log.parquet", clicks, targets={"new": "p_new"}, missing="drop", chunk_rows=40
    )
    assert_same(whole, chunks)
    assert whole.counts["outcomes without an exposure"] == 1
    assert whole.counts["exposures with several outcomes, whose rewards are added"] == 3
    with pytest.raises(InputError, match="outcomes belong to no exposure") as error:
        rw.off_policy(
            tmp_path / "log.parquet", clicks[-2:], targets={"new": "p_new"}, chunk_rows=40
        )
    assert (error.value.found, error.value.where) == ("1 of 2 outcomes", "outcomes, row 2")


@pytest.mark.parametrize("missing", ["error", "drop", "logged"])
def test_what_a_target_does_not_know_is_counted_over_all_chunks(tmp_path, missing):
    log = rw.datasets.logged(users=200, seed=4)
    target = log.policies.select("segment", "item", probability="p_new").filter(
        pl.col("segment") != 1
    )
    log.exposures.sort("user").write_parquet(tmp_path / "log.parquet")
    calls = [
        lambda **options: rw.off_policy(
            log.exposures, targets={"new": target}, missing=missing, **options
        ),
        lambda **options: rw.off_policy(
            tmp_path / "log.parquet",
            targets={"new": target},
            missing=missing,
            chunk_rows=50,
            **options,
        ),
    ]
    if missing != "error":
        assert_same(*(call() for call in calls))
        return
    errors = []
    for call in calls:
        with pytest.raises(InputError, match="says nothing about some requests") as error:
            call()
        errors.append(error.value.found)
    assert errors[0] == errors[1]


def test_the_largest_weights_of_long_logs_are_those_of_all_pieces():
    rng = np.random.default_rng(1)
    rows = 3000
    frame = pl.DataFrame(
        {
            "user": np.sort(rng.integers(0, 700, rows)),
            "item": rng.integers(0, 9, rows),
            "propensity": rng.choice([0.02, 0.1, 0.5], rows),
            "reward": (rng.random(rows) < 0.2).astype(float),
            "p_new": rng.choice([0.0, 0.1, 0.2], rows),  # many ties
            "p_other": rng.choice([0.0, 0.05, 0.3], rows),
        }
    )
    targets = {"new": "p_new", "other": "p_other"}
    whole = rw.off_policy(frame, targets=targets, threads=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entry, "_ROWS_OF_A_THREAD", 1)
        assert_same(whole, rw.off_policy(frame, targets=targets, threads=7))


def test_refused_in_chunks(tmp_path):
    log = rw.datasets.logged(users=60, seed=4).exposures.sort("user")
    path = tmp_path / "log.parquet"
    log.write_parquet(path)
    with pytest.raises(ParameterError, match="needs the log at once"):
        rw.off_policy(
            path, targets={"new": "p_new"}, propensity="shares", within=["segment"], chunk_rows=9
        )
    with pytest.raises(ParameterError, match="is for requests with several rows"):
        rw.off_policy(path, targets={"new": "p_new"}, propensities="conditional", chunk_rows=9)
    with pytest.raises(ParameterError, match="is for requests with several rows"):
        rw.off_policy(log, targets={"new": "p_new"}, propensities="conditional")
    log[::-1].sort("request").write_parquet(path)
    pl.concat([log, log.with_columns(pl.col("request") + 10**6)]).write_parquet(path)
    with pytest.raises(DuplicateError, match="rows of a user came in two chunks"):
        rw.off_policy(path, targets={"new": "p_new"}, chunk_rows=9)
    slates = rw.datasets.logged(users=30, positions=3, items=6, seed=2).exposures.sort(
        "user", maintain_order=True
    )
    slates.write_parquet(path)
    with pytest.raises(ParameterError, match="say what the propensity of a row is of"):
        rw.off_policy(path, targets={"new": "p_new"}, chunk_rows=9)


def test_what_only_the_whole_log_shows_is_found_in_chunks(tmp_path):
    frame = rw.datasets.logged(users=60, seed=4).exposures.sort("user")
    path = tmp_path / "log.parquet"
    frame.with_columns(
        policy=pl.when(pl.col("user") < 30).then(pl.lit("A")).otherwise(pl.lit("B"))
    ).write_parquet(path)
    with pytest.raises(ParameterError, match="one policy is declared for a log of several"):
        rw.off_policy(path, targets={"new": "p_new"}, propensity="uniform", chunk_rows=20)
    shared = frame.with_columns(request=pl.col("user") % 20).unique(
        ["user", "request"], maintain_order=True
    )
    shared.drop("click").write_parquet(path)
    with pytest.raises(InputError, match="a request has several users"):
        rw.off_policy(
            path, shared.select("request", "item"), targets={"new": "p_new"}, chunk_rows=9
        )
    timed = frame.drop("request", "click").with_columns(timestamp=pl.int_range(pl.len()))
    timed.write_parquet(path)
    done = timed.select("user", "item", "timestamp")[:5]
    with pytest.raises(ParameterError, match="only if timestamps have a type of time"):
        rw.off_policy(path, done, targets={"new": "p_new"}, chunk_rows=9)
    kind = pl.Datetime("us")
    timed.cast({"timestamp": kind}).write_parquet(path)
    options = {"targets": {"new": "p_new"}, "missing": "drop"}
    chunks = rw.off_policy(path, done.cast({"timestamp": kind}), chunk_rows=9, **options)
    assert_same(
        rw.off_policy(timed.cast({"timestamp": kind}), done.cast({"timestamp": kind}), **options),
        chunks,
    )


def test_requests_that_start_late_are_counted_from_the_first_position_of_all(tmp_path):
    frame = rw.datasets.logged(users=40, positions=3, items=6, seed=2).exposures.sort(
        "user", "request", "position"
    )
    late = frame.with_columns(position=pl.col("position") + (pl.col("user") >= 20))
    late.write_parquet(tmp_path / "log.parquet")
    options = {"targets": {"new": "p_new"}, "propensities": "conditional"}
    assert_same(
        rw.off_policy(late, **options),
        rw.off_policy(tmp_path / "log.parquet", chunk_rows=20, **options),
    )
