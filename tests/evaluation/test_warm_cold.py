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


@given(worlds())
def test_warm_and_cold(world):
    result = rw.evaluate(world.lists, world.truth, CELLS, train=world.train, warm_and_cold=True)
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
        shown = result.slices.filter(pl.col("by") == "relevant items", pl.col("group") == group)
        try:
            theirs = rw.evaluate(world.lists, truth, CELLS)
        except EmptyError:
            assert shown["users"].item() == 0
        else:
            assert slice_of(result, "relevant items", group) == pytest.approx(theirs.values)
            assert shown["users"].item() == len(theirs.per_user)


def test_beside_other_groups_and_exact_ranks():
    import numpy as np

    truth, train = {0: {1}, 1: {2}, 2: {0, 3}}, {0: [0], 2: [1, 2]}
    users = {"user": [0, 1, 2], "group": ["x", "x", "y"]}
    ranks = rw.rank_relevant(np.eye(4)[:3], truth=truth, exclude=train)
    result = rw.evaluate(
        ranks, truth, "mrr", train=train, users=users, by="group", warm_and_cold=True
    )
    assert [(row["by"], row["group"]) for row in result.slices.to_dicts()] == [
        ("group", "x"),
        ("group", "y"),
        ("history", "cold"),
        ("history", "warm"),
        ("relevant items", "warm"),
        ("relevant items", "cold"),
    ]


def test_bad_input():
    lists, truth = {1: [5, 6]}, {1: {6}}
    with pytest.raises(ParameterError, match="train"):
        rw.evaluate(lists, truth, "mrr", exclude_seen=True)
    with pytest.raises(ParameterError, match="train"):
        rw.evaluate(lists, truth, "mrr", warm_and_cold=True)
    with pytest.raises(EmptyError, match="every recommended item"):
        rw.evaluate(lists, truth, "mrr", train={1: [5, 6]}, exclude_seen=True)
    users = {"user": [1], "history": ["long"]}
    with pytest.raises(ParameterError, match="history"):
        rw.evaluate(lists, truth, "mrr", train={1: [5]}, users=users, warm_and_cold=True)
    with pytest.raises(ParameterError, match="chunk_rows"):
        rw.evaluate("x.parquet", truth, "mrr", train={1: [5]}, exclude_seen=True, chunk_rows=5)


def test_warm_and_cold_relevant_items_are_compared_as_two_ground_truths():
    """Slices of relevant items are no groups of users: the hint says what to do, and it works."""
    truth = {user: {user % 3, 7} for user in range(40)}
    train = {user: [0, 1, 2] for user in range(0, 40, 2)}
    lists = {"a": {user: [7, 8] for user in truth}, "b": {user: [user % 3, 7] for user in truth}}
    results = {
        name: rw.evaluate(own, truth, "recall@2", train=train, warm_and_cold=True)
        for name, own in lists.items()
    }
    for go in (
        lambda: rw.compare(results, by="relevant items"),
        lambda: rw.decide(results, success="recall@2", slices="relevant items"),
        lambda: results["a"].interval("recall@2", by="relevant items", group="warm"),
    ):
        with pytest.raises(
            ParameterError, match="two ground truths: evaluate against each, and compare"
        ):
            go()
    for group, kept, gain in (("warm", {0, 1, 2}, 1.0), ("cold", {7}, 0.0)):
        part = {user: own & kept for user, own in truth.items()}
        row = rw.compare({name: rw.evaluate(own, part, "recall@2") for name, own in lists.items()})[
            "b"
        ]
        assert row["difference"] == gain
        shown = results["b"].slices.filter(by="relevant items", group=group)
        assert row["mean_system"] == shown["recall@2"].item()


def test_the_hint_for_users_with_a_history_works():
    truth, train = {user: {user % 5} for user in range(20)}, {user: [9] for user in range(8)}
    lists = {user: [0, 1] for user in truth}
    plain = rw.evaluate(lists, truth, "recall@2", train=train)
    with pytest.raises(ParameterError, match=r"evaluate with train= and warm_and_cold=True"):
        rw.compare(plain, plain, by="history")
    again = rw.evaluate(lists, truth, "recall@2", train=train, warm_and_cold=True)
    assert rw.compare(again, again, by="history").table["users"].to_list() == [12, 8]
