"""The adapter of Cornac against Cornac."""

import numpy as np
import pytest
from cornac.data import Dataset
from cornac.models import BPR, EASE, MF, MostPop
from data import ROWS, check

import rankwise as rw

TRAIN = Dataset.from_uir(ROWS, seed=1)


@pytest.mark.parametrize(
    "model",
    [
        MF(k=4, max_iter=5, seed=1),
        BPR(k=4, max_iter=5, seed=1, num_threads=1),
        EASE(verbose=False),
        MostPop(),
    ],
)
def test_models(model):
    model.fit(TRAIN)

    def score(user, item):
        found = model.score(model.uid_map[user], model.iid_map[item])
        return float(np.ravel(found)[0])

    check(rw.models.Cornac(model, TRAIN), score)
    check(rw.models.Cornac(model), score, seen={})
