"""The adapter of RecTools, and splits that have the same rules, against RecTools."""

import numpy as np
import pandas as pd
import pytest
from data import ROWS, check
from rectools.dataset import Dataset, Interactions
from rectools.model_selection import LastNSplitter, TimeRangeSplitter
from rectools.models import EASEModel, PopularModel, PureSVDModel

import rankwise as rw
from rankwise import splits

FRAME = pd.DataFrame(ROWS, columns=["user_id", "item_id", "weight"])
FRAME["datetime"] = pd.Timestamp("2020-01-01")
DATA = Dataset.construct(FRAME)


def test_factors():
    model = PureSVDModel(factors=4).fit(DATA)
    users, items = model.get_vectors()

    def score(user, item):
        u = DATA.user_id_map.convert_to_internal([user])[0]
        i = DATA.item_id_map.convert_to_internal([item])[0]
        return float(users[u] @ items[i])

    check(rw.models.RecTools(model, DATA), score)
    check(rw.models.RecTools(model, DATA, filter_seen=False), score, seen={})


@pytest.mark.parametrize("model", [EASEModel()])
def test_others(model):
    check(rw.models.RecTools(model.fit(DATA), DATA), full=False)


def test_a_model_that_serves_strangers():
    lists = rw.models.RecTools(PopularModel().fit(DATA), DATA).recommend(["u0", "nobody"], 4)
    assert len(lists["nobody"]) == 4


def untied():
    """Interactions of which no two are at the same time."""
    chance = np.random.default_rng(0)
    hours = chance.permutation(24 * 60)[:400]
    return pd.DataFrame(
        {
            "user_id": chance.integers(0, 40, 400),
            "item_id": chance.integers(0, 90, 400),
            "weight": 1.0,
            "datetime": pd.Timestamp("2020-01-01") + pd.to_timedelta(hours, unit="h"),
        }
    )


PLAIN = {"filter_cold_users": False, "filter_cold_items": False, "filter_already_seen": False}


@pytest.mark.parametrize("n", [1, 3])
def test_last_rows(n):
    frame = untied()
    ((train, test, _),) = LastNSplitter(n, n_splits=1, **PLAIN).split(Interactions(frame))
    ours = splits.LeaveOut(n, short="test").split(frame)
    assert set(np.flatnonzero(ours.masks["test"])) == set(test)
    assert set(np.flatnonzero(ours.masks["train"])) == set(train)


def test_windows_of_days():
    frame = untied()
    theirs = list(TimeRangeSplitter("7D", n_splits=3, **PLAIN).split(Interactions(frame)))
    ours = splits.TimeWindows("7d", 3, align="day").split(frame)
    for (train, test, _), split in zip(theirs, ours, strict=True):
        assert set(np.flatnonzero(split.masks["test"])) == set(test)
        assert set(np.flatnonzero(split.masks["train"])) == set(train)


def test_what_their_filters_drop():
    frame = untied()
    ((train, test, _),) = LastNSplitter(1, n_splits=1).split(Interactions(frame))
    rule = splits.LeaveOut(1, short="test", cold_users="drop", cold_items="drop", seen="drop")
    split = rule.split(frame)
    assert set(np.flatnonzero(split.masks["test"])) == set(test)
    assert set(np.flatnonzero(split.masks["train"])) == set(train)
