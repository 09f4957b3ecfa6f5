"""Pieces that bring their users' rows of every table, as on machines of which none has all."""

from __future__ import annotations

import pickle
from dataclasses import replace
from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from rankwise.encoding.side_information import TrainingCounts
from rankwise.evaluation.engine import finish, prepare, work
from rankwise.evaluation.evaluate import read_inputs
from rankwise.evaluation.settings import Settings
from rankwise.metrics import registry
from rankwise.tables.table import Tables
from strategies import examples, fewer, worlds

BY_USER = ("recommendations", "truth", "train", "users", "reference")


def cell_of(cls):
    metric = cls(**({"max_relevance": 4.0} if cls.name == "err" else {}))
    return str(metric if cls.cutoff == "none" else metric @ 3)


NEEDS_ALL_TRUTH = {"hole"}  # which pieces that bring their own do not have
EVERY = [cell_of(cls) for cls in registry.all_metrics() if cls.name not in NEEDS_ALL_TRUTH]


def scored(world):
    """Distinct scores in (0, 1)."""
    place = world.place
    lists = {
        user: {item: (score + 1 + place[item] / 50) / 6 for item, score in own.items()}
        for user, own in world.lists.items()
    }
    return replace(world, lists=lists)


def counted_in(tables):
    """What an engine counts over all users before it evaluates pieces."""
    train, users = tables.train.frame.unique(), tables.users.frame
    groups = users["group"].unique().sort()
    known = train.join(users, on="user")
    code = known["group"].replace_strict(groups, range(len(groups)), return_dtype=pl.Int64)
    sources = known.with_columns(group=code).group_by("item", "group").len("count")
    return TrainingCounts(
        popularity=train.group_by("item").len("count"),
        train_users=train["user"].n_unique(),
        groups={"group": groups},
        sources={"group": sources},
    )


def job_and_tables(world, asked):
    tables = read_inputs(asked, recommendations=world.lists, truth=world.truth, **world.around)
    empty = {role: table.with_frame(table.frame.clear()) for role, table in tables.by_role.items()}
    shared = {role: empty[role] for role in ("train", "users", "reference")}
    job = prepare(asked, Tables(**shared, items=tables.items), training_counts=counted_in(tables))
    return job, tables, empty


@given(
    worlds(scores=True, judged=True).map(scored),
    st.integers(1, 5),
    st.sampled_from(["judged", "all"]),
)
@fewer(10)
def test_pieces_of_users_add_up_to_one_evaluation(world, n, population):
    # Metrics over all shown rows go with no population that leaves lists out: such pieces are refused.
    names = [cell for cell in EVERY if population == "all" or not rw.parse(cell).is_of_shown_rows]
    asked = Settings.read(names, {"population": population, "by": "group", "progress": False})
    job, tables, _ = job_and_tables(world, asked)
    job = pickle.loads(pickle.dumps(job))
    partials = []
    frames = {role: tables.by_role[role].frame for role in BY_USER}
    users = pl.concat([frame["user"] for frame in frames.values()]).unique().sort()
    for at in range(n):
        is_here = pl.col("user").is_in(users[at::n].implode())
        rows = {
            role: tables.by_role[role].with_frame(frame.filter(is_here))
            for role, frame in frames.items()
        }
        if rows["recommendations"].frame.is_empty():
            rows["recommendations"] = None
        partials.append(work(job, Tables(**rows)))
    ours = finish(job.for_users(Tables(users=tables.users)), partials[::-1])
    one = rw.evaluate(
        world.lists, world.truth, names, population=population, by="group", **world.around
    )
    assert list(ours.values) == list(one.values)
    for cell, value in one.values.items():
        assert np.array_equal(value, ours.values[cell], equal_nan=True), cell
    assert ours.counts == one.counts
    assert ours.per_user.equals(one.per_user)
    assert ours.slices.equals(one.slices, null_equal=True)


def test_items_of_training_that_no_piece_has_are_of_the_catalogue():
    lists, truth = {"ann": ["a", "b"], "bob": ["a", "c"]}, {"ann": {"a"}, "bob": {"c"}}
    train = {"ann": ["d"], "eve": ["a", "x", "y"]}
    names = ["catalog_coverage@2", "gini@2", "herfindahl@2"]
    asked = Settings.read(names, {"progress": False})
    tables = read_inputs(asked, recommendations=lists, truth=truth, train=train)
    rows = tables.train.frame
    counted = TrainingCounts(popularity=rows.group_by("item").len("count"), train_users=2)
    shared = Tables(train=tables.train.with_frame(rows.clear()))
    job = prepare(asked, shared, training_counts=counted)
    of_ann = tables.train.with_frame(rows.filter(user="ann"))
    piece = Tables(recommendations=tables.recommendations, truth=tables.truth, train=of_ann)
    ours = finish(job, [work(job, piece)])
    assert dict(ours.values) == dict(rw.evaluate(lists, truth, names, train=train).values)


@pytest.mark.slow
@given(worlds(scores=True, judged=True).map(scored))
@examples(3)
def test_a_piece_may_lack_rows_of_any_table(world):
    job, tables, empty = job_and_tables(world, Settings.read(EVERY, {"population": "all"}))
    for lacking in product([False, True], repeat=len(BY_USER)):
        rows = {
            role: empty[role] if lacks else tables.by_role[role]
            for role, lacks in zip(BY_USER, lacking, strict=True)
        }
        if lacking[0]:
            rows["recommendations"] = None
        partial = work(job, Tables(**rows))
        assert len(partial.users) > 0 or lacking[:2] == (True, True)
