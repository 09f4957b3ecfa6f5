"""The adapter of LensKit against LensKit."""

import math

import pandas as pd
from data import ROWS, check
from lenskit import score
from lenskit.als import ImplicitMFScorer
from lenskit.basic import PopScorer
from lenskit.data import from_interactions_df
from lenskit.knn import ItemKNNScorer
from lenskit.pipeline import topn_pipeline

import rankwise as rw

DATA = from_interactions_df(pd.DataFrame(ROWS, columns=["user_id", "item_id", "rating"]))


def trained(scorer):
    pipeline = topn_pipeline(scorer)
    pipeline.train(DATA)
    return pipeline


def test_factors():
    pipeline = trained(ImplicitMFScorer(embedding_size=4, epochs=2))
    check(rw.models.LensKit(pipeline), lambda u, i: float(score(pipeline, u, [i]).scores()[0]))


def test_neighbours():
    pipeline = trained(ItemKNNScorer(max_nbrs=5, min_nbrs=1))

    def own(user, item):
        found = float(score(pipeline, user, [item]).scores()[0])
        return -math.inf if math.isnan(found) else found

    check(rw.models.LensKit(pipeline), own, full=False)


def test_a_model_that_serves_strangers():
    lists = rw.models.LensKit(trained(PopScorer())).recommend(["u0", "nobody"], 4)
    assert len(lists["nobody"]) == 4
