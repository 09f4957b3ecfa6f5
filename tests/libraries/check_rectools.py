"""The adapter of RecTools against RecTools."""

import pandas as pd
import pytest
from data import ROWS, check
from rectools.dataset import Dataset
from rectools.models import EASEModel, PopularModel, PureSVDModel

import rankwise as rw

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
