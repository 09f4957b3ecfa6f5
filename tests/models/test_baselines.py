from __future__ import annotations

import polars as pl
import pytest

import rankwise as rw
from rankwise.datasets import synthetic
from rankwise.models.baselines import ItemNeighbours, Popularity, Random
from rankwise.splits import time_based_split


@pytest.fixture(scope="module")
def data():
    return synthetic(80, 60, seed=3)


def test_the_same_seed_gives_the_same_rows(data):
    again = synthetic(80, 60, seed=3)
    assert data.interactions.equals(again.interactions)
    assert data.items.equals(again.items)
    assert data.users.equals(again.users)
    assert not data.interactions.equals(synthetic(80, 60, seed=4).interactions)


def test_the_data_have_a_long_tail_and_no_repetitions(data):
    rows = data.interactions
    assert not rows.select("user", "item").is_duplicated().any()
    counts = rows["item"].value_counts(sort=True)["count"]
    assert counts[:12].sum() > 0.35 * len(rows)
    assert rows["rating"].is_between(1, 5).all()


@pytest.mark.parametrize("model", [Random(seed=1), Popularity(), ItemNeighbours(neighbours=5)])
def test_lists(model, data):
    train, _ = time_based_split(data.interactions)
    users = train["user"].unique().sort().to_list()
    lists = model.fit(train).recommend([*users, "nobody"], 7)
    assert lists.group_by("user").len()["len"].max() <= 7
    assert lists.join(train, on=["user", "item"]).is_empty()  # nothing that was seen
    assert not lists.select("user", "item").is_duplicated().any()
    assert lists.equals(model.fit(train).recommend([*users, "nobody"], 7))
    ranked = lists.with_columns(falls=pl.col("score").diff().over("user").fill_null(0) <= 0)
    assert ranked["falls"].all()
    known = "nobody" in lists["user"].to_list()
    assert known == (not isinstance(model, ItemNeighbours))


def test_nothing_to_learn_from():
    with pytest.raises(rw.RankwiseError, match="no training interactions"):
        Popularity().fit(pl.DataFrame({"user": [], "item": []}))
