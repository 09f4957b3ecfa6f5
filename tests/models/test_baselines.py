from __future__ import annotations

import duckdb
import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_array

import rankwise as rw
from rankwise import splits
from rankwise.datasets import synthetic
from rankwise.errors import IdError, InputError, ParameterError, RankwiseError
from rankwise.models.recommenders import ItemNeighbours, Popularity, Random, Transitions
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
    with pytest.raises(rw.RankwiseError, match="the table of train is empty"):
        Popularity().fit(pl.DataFrame({"user": [], "item": []}))


TABLE = pl.DataFrame(
    {
        "user": [1, 1, 2, 3, 3, 2],
        "item": [7, 8, 7, 8, 9, 9],
        "timestamp": range(6),
        "rating": [1.0, float("nan")] * 3,
    }
)
EXPECTED = [(1, 9), (2, 8), (3, 7), (4, 7), (4, 8), (4, 9)]


def in_every_container(folder):
    TABLE.write_csv(folder / "train.csv")
    matrix = np.zeros((4, 10))
    matrix[TABLE["user"], TABLE["item"]] = 1
    return {
        "pandas": TABLE.to_pandas(),
        "pyarrow": TABLE.to_arrow(),
        "lazy": TABLE.lazy(),
        "duckdb": duckdb.from_arrow(TABLE.to_arrow()),
        "smaller types": TABLE.cast({"user": pl.Int16, "item": pl.UInt8}),
        "repeated rows": pl.concat([TABLE, TABLE[:3]]),
        "mapping": {1: [7, 8], 2: [7, 9], 3: [8, 9]},
        "tuples": TABLE.select("user", "item").rows(),
        "sparse": csr_array(matrix),
        "file": folder / "train.csv",
    }


@pytest.mark.parametrize(
    "model", [Random(seed=4), Popularity(), ItemNeighbours(neighbours=2)], ids=repr
)
def test_any_container(model, tmp_path):
    expected = model.fit(TABLE).recommend([1, 2, 3, 4])
    if not isinstance(model, ItemNeighbours):
        assert sorted(expected.select("user", "item").rows()) == EXPECTED
    for name, source in in_every_container(tmp_path).items():
        lists = model.fit(source).recommend([1, 2, 3, 4])
        assert lists.rows() == expected.rows(), name
    named = model.fit(TABLE.rename({"user": "who"}), columns={"user": "who"})
    assert named.recommend(np.array([1, 2, 3, 4])).rows() == expected.rows()
    parts = [
        splits.LeaveOut(1).split(frame).train
        for frame in (TABLE, TABLE.to_pandas(), TABLE.to_arrow())
    ]
    lists = [model.fit(part).recommend([1, 2, 3]).rows() for part in parts]
    assert lists[0] == lists[1] == lists[2]


def test_a_split_is_fitted_to_its_training_and_masks_what_is_known():
    table = pl.DataFrame(
        {"user": [1, 1, 2, 1, 3, 3], "item": [7, 8, 9, 9, 9, 5], "timestamp": [1, 2, 3, 4, 5, 6]}
    )
    split = splits.GlobalTime(at=5, target="last", validation=splits.GlobalTime(at=4)).split(table)
    lists = Popularity().fit(split).recommend([1, 2, 3], 5)
    assert {(user, item) for user, item, *_ in lists.rows()} == {(2, 7), (2, 8), (3, 7), (3, 8)}
    assert Popularity().fit(split.train).recommend([1], 5)["item"].to_list() == [9]
    history = splits.UserHoldout(0.3, splits.LeaveOut(1, "random")).split(
        {user: ["a", "b", "c"] if user % 2 else ["c", "d"] for user in range(20)}
    )
    near = ItemNeighbours().fit(history).recommend(history.test["user"].unique())
    assert set(near["user"]) <= set(history.history["user"])
    assert len(near)  # users without training rows have neighbours by their history


@pytest.mark.parametrize(
    "model", [Random(seed=1), Popularity(), ItemNeighbours(neighbours=5)], ids=repr
)
def test_a_list_does_not_depend_on_the_other_users(model, data):
    model.fit(data.interactions)
    users = [*data.interactions["user"].unique().sort(), "new one", "new two"]
    together = model.recommend(users, 9)
    alone = pl.concat([model.recommend([user], 9) for user in reversed(users)])
    assert together.sort("user", "rank").equals(alone.sort("user", "rank"))


def test_random_lists_differ_by_user_and_by_seed(data):
    train, users = data.interactions, [f"new {at}" for at in range(3000)]
    lists = Random(seed=1).fit(train).recommend(users, 1)
    counts = lists["item"].value_counts()["count"]
    items = train["item"].n_unique()
    assert len(counts) == items
    assert ((counts - 3000 / items) ** 2 / (3000 / items)).sum() < items + 4 * (
        2 * items
    ) ** 0.5  # chi-squared
    assert not lists.equals(Random(seed=2).fit(train).recommend(users, 1))
    assert lists.equals(Random(seed=1).fit(train.reverse()).recommend(users, 1))
    assert lists["score"].is_between(0, 1, closed="left").all()


@pytest.mark.parametrize(
    ("error", "go", "said"),
    [
        (
            ParameterError,
            lambda fitted: Popularity().recommend([1]),
            "Popularity has not been fitted",
        ),
        (
            ParameterError,
            lambda fitted: fitted.recommend([1], -1),
            "n must be a whole number from 1",
        ),
        (
            ParameterError,
            lambda fitted: fitted.recommend([1], 2.5),
            "n must be a whole number from 1",
        ),
        (ParameterError, lambda fitted: fitted.recommend(1), "users is an iterable of ids"),
        (ParameterError, lambda fitted: fitted.recommend("ann"), "users is an iterable of ids"),
        (
            IdError,
            lambda fitted: fitted.recommend(["ann"]),
            "user ids are integers in one table and strings",
        ),
        (
            IdError,
            lambda fitted: fitted.recommend([1, "ann"]),
            "ids are integers or strings, not both",
        ),
        (IdError, lambda fitted: fitted.recommend([1.5]), "ids are integers or strings"),
        (IdError, lambda fitted: fitted.recommend([None]), "a user id is null"),
        (InputError, lambda fitted: fitted.fit(5), "not understood"),
        (ParameterError, lambda fitted: Random(-1), "seed must be a whole number from 0"),
        (ParameterError, lambda fitted: Random("1"), "seed must be a whole number from 0"),
        (
            ParameterError,
            lambda fitted: ItemNeighbours(0),
            "neighbours must be a whole number from 1",
        ),
        (
            ParameterError,
            lambda fitted: ItemNeighbours(shrink=-1),
            "shrink must be a number from 0",
        ),
        (
            ParameterError,
            lambda fitted: ItemNeighbours(shrink=None),
            "shrink must be a number from 0",
        ),
    ],
)
def test_what_makes_no_list(error, go, said):
    with pytest.raises(error, match=said):
        go(Popularity().fit(TABLE))


def test_no_users_get_no_lists():
    lists = Popularity().fit(TABLE).recommend([])
    assert lists.is_empty()
    assert lists.columns == ["user", "item", "score", "rank"]


def test_a_split_is_fitted_by_its_own_clock():
    day = 86_400_000
    items, days = ["b", "b", "b", "a", "b"], [1, 17, 18, 19, 20]
    log = pl.DataFrame({"user": range(5), "item": items, "timestamp": [day * at for at in days]})
    split = rw.splits.GlobalTime(last="1d").split(log, time_unit="ms")
    recent = Popularity(last="5d")
    expected = recent.fit(split.train.with_columns(pl.from_epoch("timestamp", time_unit="ms")))
    expected = expected.recommend([9])["item"].to_list()
    assert recent.fit(split).recommend([9])["item"].to_list() == expected == ["b", "a"]
    given = recent.fit(split.train, time_unit="ms")
    assert given.recommend([9])["item"].to_list() == expected


def test_dates_of_a_split_are_read_in_its_format():
    dates = ["01/02/2020", "02/02/2020", "03/02/2020", "04/02/2020"]
    log = pl.DataFrame({"user": [1, 1, 2, 2], "item": [1, 2, 1, 3], "timestamp": dates})
    split = rw.splits.LeaveOut(1).split(log, time_format="%d/%m/%Y")
    with pytest.raises(RankwiseError, match="read in more than one way"):
        Transitions().fit(split.train)
    for model in (Transitions(), Popularity(last="30d")):
        assert model.fit(split).recommend([9]).height
        assert model.fit(split.train, time_format="%d/%m/%Y").recommend([9]).height


def test_a_period_of_the_calendar_needs_times_of_the_calendar():
    days = pl.DataFrame({"user": range(3), "item": [1, 1, 2], "timestamp": [1, 2, 400]})
    with pytest.raises(ParameterError, match="hardly seconds since 1970"):
        Popularity(last="30d").fit(days)
    assert Popularity(last=30).fit(days).recommend([9])["item"][0] == 2
