"""Seen items taken out, and warm beside cold: against evaluations put together by hand."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given

import rankwise as rw
from rankwise.errors import EmptyError, ParameterError
from strategies import worlds

CELLS = ["recall@2", "ndcg@3", "mrr", "precision@2"]


@given(worlds())
def test_seen_items_are_taken_out_before_the_cut(world):
    own = {
        u: [i for i in items if i not in world.train.get(u, ())] for u, items in world.lists.items()
    }
    gone = sum(len(items) - len(own[u]) for u, items in world.lists.items())
    own = {u: items for u, items in own.items() if items}
    new = [u for u, judged in world.truth.items() if judged.keys() - {*world.train.get(u, ())}]
    if not own or not new or not set(own) & {u for u, r in world.relevant.items() if r}:
        return  # nothing can be said, or nothing can be found
    ours = rw.evaluate(world.lists, world.truth, CELLS, train=world.train, exclude_seen=True)
    theirs = rw.evaluate(own, world.truth, CELLS)
    assert ours.values == theirs.values
    assert ours.counts.get("seen_items_taken_out", 0) == gone
    lost = sum(i in world.train.get(u, ()) for u, items in world.truth.items() for i in items)
    assert ours.counts.get("truth_rows_seen_in_training", 0) == lost
    frame = pl.DataFrame(
        [(u, i, r) for u, items in world.lists.items() for r, i in enumerate(items, 1)],
        schema=["user", "item", "rank"],
        orient="row",
    )
    ranked = rw.evaluate(frame, world.truth, CELLS, train=world.train, exclude_seen=True)
    assert ranked.values == theirs.values
    assert "lists_with_rank_gaps" not in ranked.counts


def slice_of(result, by, group):
    own = result.slices.filter(pl.col("by") == by, pl.col("group") == group)
    return {cell: own[cell].item() for cell in CELLS}


COLD = ["history", "item:cold"]


@given(worlds())
def test_warm_and_cold_users_and_items(world):
    result = rw.evaluate(world.lists, world.truth, CELLS, train=world.train, by=COLD)
    assert result.values == rw.evaluate(world.lists, world.truth, CELLS).values
    users = result.per_user["user"].to_list()
    for group, keep in (("warm", True), ("cold", False)):
        some = [u for u in users if (u in world.train) is keep]
        if some:
            truth = {u: world.truth[u] for u in some}
            lists = {u: own for u, own in world.lists.items() if u in some}
            if lists:
                theirs = rw.evaluate(lists, truth, CELLS).values
                assert slice_of(result, "history", group) == pytest.approx(theirs)
        known = {i for items in world.train.values() for i in items}
        truth = {
            u: {i: r for i, r in items.items() if (i in known) is keep}
            for u, items in world.truth.items()
        }
        truth = {u: items for u, items in truth.items() if items}
        shown = result.slices.filter(pl.col("by") == "item:cold", pl.col("group") == group)
        try:
            theirs = rw.evaluate(world.lists, truth, CELLS)
        except EmptyError:
            assert shown["users"].sum() == 0
        else:
            assert slice_of(result, "item:cold", group) == pytest.approx(theirs.values)
            assert shown["users"].item() == len(theirs.per_user)


def test_beside_other_groups_and_exact_ranks():
    import numpy as np

    truth, train = {0: {1}, 1: {2}, 2: {0, 3}}, {0: [0], 2: [1, 2]}
    users = {"user": [0, 1, 2], "group": ["x", "x", "y"]}
    ranks = rw.rank_relevant(np.eye(4)[:3], truth=truth, exclude=train)
    result = rw.evaluate(ranks, truth, "mrr", train=train, users=users, by=["group", *COLD])
    assert [(row["by"], row["group"]) for row in result.slices.to_dicts()] == [
        ("group", "x"),
        ("group", "y"),
        ("history", "warm"),
        ("history", "cold"),
        ("item:cold", "warm"),
        ("item:cold", "cold"),
    ]


def test_bad_input():
    lists, truth = {1: [5, 6]}, {1: {6}}
    with pytest.raises(ParameterError, match="train"):
        rw.evaluate(lists, truth, "mrr", exclude_seen=True)
    with pytest.raises(ParameterError, match="train"):
        rw.evaluate(lists, truth, "mrr", by="history")
    with pytest.raises(EmptyError, match="every recommended item"):
        rw.evaluate(lists, truth, "mrr", train={1: [5, 6]}, exclude_seen=True)
    with pytest.raises(ParameterError, match="chunk_rows"):
        rw.evaluate("x.parquet", truth, "mrr", train={1: [5]}, exclude_seen=True, chunk_rows=5)


def test_a_history_in_the_table_of_users_is_taken_as_it_is():
    """A split says of its users who is warm: of what it knows, without training interactions."""
    users = {"user": [1, 2], "history": ["cold", "warm"]}
    for train in ({}, {"train": {1: [5]}}):
        result = rw.evaluate(
            {1: [5], 2: [6]}, {1: {5}, 2: {7}}, "mrr", users=users, by="history", **train
        )
        assert slice_rows(result) == {"cold": 1.0, "warm": 0.0}


def slice_rows(result):
    return dict(result.slices.select("group", "mrr").rows())


def test_warm_and_cold_items_are_compared_user_by_user():
    truth = {user: {user % 3, 7} for user in range(40)}
    train = {user: [0, 1, 2] for user in range(0, 40, 2)}
    lists = {"a": {user: [7, 8] for user in truth}, "b": {user: [user % 3, 7] for user in truth}}
    results = {
        name: rw.evaluate(own, truth, "recall@2", train=train, by="item:cold")
        for name, own in lists.items()
    }
    table = rw.compare(results, by="item:cold").table
    for group, kept, gain in (("warm", {0, 1, 2}, 1.0), ("cold", {7}, 0.0)):
        part = {user: own & kept for user, own in truth.items()}
        alone = rw.compare(
            {name: rw.evaluate(own, part, "recall@2") for name, own in lists.items()}
        )["b"]
        row = table.filter(group=group).row(0, named=True)
        assert row["difference"] == alone["difference"] == gain
        assert row["users"] == alone["users"] == 40


@pytest.mark.parametrize("road", ["whole", "pieces", "chunks"])
def test_users_with_a_history_are_a_group_on_every_road(road, tmp_path):
    truth, train = {user: {user % 5} for user in range(20)}, {user: [9] for user in range(8)}
    lists = {user: [0, 1] for user in truth}
    options = {"train": train, "by": "history"}
    if road == "whole":
        result = rw.evaluate(lists, truth, "recall@2", **options)
    elif road == "pieces":
        evaluator = rw.Evaluator("recall@2", truth=truth, **options)
        for user, own in lists.items():
            evaluator.update({user: own})
        result = evaluator.result()
    else:
        rows = pl.DataFrame({"user": list(lists), "item": list(lists.values())}).explode("item")
        rows.write_parquet(tmp_path / "lists.parquet")
        result = rw.evaluate(tmp_path / "lists.parquet", truth, "recall@2", chunk_rows=6, **options)
    assert dict(result.slices.select("group", "users").rows()) == {"warm": 8, "cold": 12}
    assert rw.compare(result, result, by="history").table["users"].to_list() == [8, 12]


def test_the_hint_for_users_with_a_history_works():
    truth, train = {user: {user % 5} for user in range(20)}, {user: [9] for user in range(8)}
    lists = {user: [0, 1] for user in truth}
    plain = rw.evaluate(lists, truth, "recall@2", train=train)
    with pytest.raises(ParameterError, match=r'evaluate with train= and by="history"'):
        rw.compare(plain, plain, by="history")
    again = rw.evaluate(lists, truth, "recall@2", train=train, by="history")
    assert rw.compare(again, again, by="history").table["users"].to_list() == [8, 12]
