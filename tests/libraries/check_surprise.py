"""The adapter of Surprise against Surprise."""

import pytest
from data import ROWS, USERS, check
from surprise import SVD, BaselineOnly, Dataset, KNNBasic, Reader

import rankwise as rw

TRAIN = Dataset(Reader(rating_scale=(1, 5))).construct_trainset([(*row, None) for row in ROWS])


@pytest.mark.parametrize(
    "algorithm",
    [
        SVD(n_factors=4, n_epochs=3, random_state=0),
        SVD(biased=False, random_state=0),
        BaselineOnly(verbose=False),
    ],
)
def test_algorithms(algorithm):
    model = algorithm.fit(TRAIN)
    adapter = rw.models.Surprise(model)
    check(adapter, lambda user, item: model.predict(user, item, clip=False).est)


def test_neighbours_say_what_is_possible():
    model = KNNBasic(verbose=False).fit(TRAIN)
    lists = rw.models.Surprise(model).recommend([*USERS, "nobody"], 5)
    assert "nobody" not in lists
    for user, own in lists.items():
        assert not any(model.predict(user, i).details.get("was_impossible") for i, _ in own)


def test_predictions_are_ratings():
    model = SVD(n_factors=4, n_epochs=3, random_state=0).fit(TRAIN)
    predictions = model.test(ROWS[::3])
    from surprise import accuracy

    result = rw.evaluate_ratings(predictions, ["rmse", "mae", "mse", "fcp"])
    assert abs(result["rmse"] - accuracy.rmse(predictions, verbose=False)) < 1e-12
    assert abs(result["mae"] - accuracy.mae(predictions, verbose=False)) < 1e-12
    assert abs(result["mse"] - accuracy.mse(predictions, verbose=False)) < 1e-12
