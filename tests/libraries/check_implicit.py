"""The adapter of implicit against implicit."""

import pytest
from data import ITEMS, USERS, check, matrix
from data import SEEN as HAD
from threadpoolctl import threadpool_limits

import rankwise as rw

SEEN = matrix()


def fitted(model):
    with threadpool_limits(1, "blas"):
        model.fit(SEEN, show_progress=False)
    return model


def factor_models():
    from implicit.als import AlternatingLeastSquares
    from implicit.bpr import BayesianPersonalizedRanking
    from implicit.lmf import LogisticMatrixFactorization

    options = {"factors": 8, "iterations": 3, "random_state": 0}
    return [
        AlternatingLeastSquares(**options, use_gpu=False),
        BayesianPersonalizedRanking(**options, use_gpu=False),
        LogisticMatrixFactorization(**options),
    ]


@pytest.mark.parametrize("at", [0, 1, 2])
@pytest.mark.parametrize("filter_seen", [True, False])
def test_factors(at, filter_seen):
    model = fitted(factor_models()[at])

    def score(user, item):
        return float(model.user_factors[USERS.index(user)] @ model.item_factors[ITEMS.index(item)])

    adapter = rw.models.Implicit(
        model, SEEN, user_ids=USERS, item_ids=ITEMS, filter_seen=filter_seen
    )
    check(adapter, score, **({} if filter_seen else {"seen": {}}))


def test_factors_give_the_same_lists_to_rank():
    model = fitted(factor_models()[0])
    adapter = rw.models.Implicit(model, SEEN, user_ids=USERS, item_ids=ITEMS)
    lists = adapter.recommend(USERS, 5)
    ranking = rw.rank(
        users=model.user_factors,
        items=model.item_factors,
        k=5,
        user_ids=USERS,
        item_ids=ITEMS,
        exclude={user: sorted(items) for user, items in HAD.items()},
    )
    for (user,), own in ranking.frame.group_by("user"):
        assert own["item"].to_list() == [item for item, _ in lists[user]]


@pytest.mark.parametrize("name", ["CosineRecommender", "TFIDFRecommender", "BM25Recommender"])
def test_neighbours(name):
    from implicit import nearest_neighbours

    model = fitted(getattr(nearest_neighbours, name)(K=5))
    adapter = rw.models.Implicit(model, SEEN, user_ids=USERS, item_ids=ITEMS)
    check(adapter, full=False)
