"""Shares of explained variance where the mean of the ratings is large beside their spread."""

import math
from fractions import Fraction

import numpy as np
import pytest

import rankwise as rw

METRICS = ["r2", "explained_variance"]


def world(mean, spread, users=25, seed=3):
    rng = np.random.default_rng(seed)
    truth = {
        user: {item: float(mean + spread * rng.normal()) for item in range(rng.integers(1, 7))}
        for user in range(users)
    }
    scores = {
        user: {item: rating + spread * (0.4 * rng.normal() + 0.7) for item, rating in row.items()}
        for user, row in truth.items()
    }
    return truth, scores


def exact(truth, scores, weights=None):
    """Return both values in fractions, rounded once."""
    rows = [(user, truth[user][item], scores[user][item]) for user in truth for item in truth[user]]
    weight = [Fraction(1 if weights is None else weights[user]) for user, _, _ in rows]
    ratings = [Fraction(rating) for _, rating, _ in rows]
    errors = [Fraction(float(rating - score)) for _, rating, score in rows]
    total = sum(weight)

    def variation(values):
        mean = sum(w * v for w, v in zip(weight, values, strict=True)) / total
        return sum(w * (v - mean) ** 2 for w, v in zip(weight, values, strict=True))

    squares = sum(w * e * e for w, e in zip(weight, errors, strict=True))
    return [
        float(1 - squares / variation(ratings)),
        float(1 - variation(errors) / variation(ratings)),
    ]


@pytest.mark.parametrize(("mean", "spread"), [(3.0, 1.0), (1e6, 1.0), (4e8, 20.0), (2e-6, 1e-12)])
@pytest.mark.parametrize("weighted", [False, True])
def test_digits_of_a_large_mean_do_not_cancel(mean, spread, weighted):
    truth, scores = world(mean, spread)
    weights = {user: 0.1 + user % 7 / 3 for user in truth} if weighted else None
    result = rw.evaluate(scores, truth, METRICS, weights=weights)
    assert list(result.values()) == pytest.approx(exact(truth, scores, weights), rel=1e-10)
    for user, *values in result.per_user.select("user", *METRICS).iter_rows():
        if len(truth[user]) > 1:
            assert values == pytest.approx(exact({user: truth[user]}, scores), rel=1e-5)


def test_a_million_and_one_two_three():
    truth, scores = (
        {"ann": {1: 1e6 + 1, 2: 1e6 + 2, 3: 1e6 + 3}},
        {"ann": {1: 1e6 + 1.5, 2: 1e6 + 2.5, 3: 1e6 + 2.5}},
    )
    result = rw.evaluate(scores, truth, METRICS)
    assert list(result.values()) == pytest.approx([0.625, 2 / 3], rel=1e-15)


@pytest.mark.parametrize("rating", [0.1, 7.0, 1e6 + 0.3])
def test_ratings_that_do_not_vary_explain_nothing(rating):
    truth = {user: dict.fromkeys(range(1 + user % 5), rating) for user in range(40)}
    scores = {user: {item: rating + item for item in row} for user, row in truth.items()}
    result = rw.evaluate(scores, truth, METRICS)
    assert all(math.isnan(value) for value in result.values())
    assert result.per_user["r2"].is_nan().all()


def test_pieces_of_users_give_the_same_bits():
    truth, scores = world(1e6, 1.0, users=60)
    whole = rw.evaluate(scores, truth, METRICS)
    evaluator = rw.Evaluator(METRICS, truth=truth)
    for part in (range(40, 60), range(3), range(3, 40)):
        evaluator.update({user: scores[user] for user in part})
    assert dict(evaluator.result()) == dict(whole)
    assert dict(rw.evaluate(scores, truth, METRICS, threads=2, block_size=7)) == dict(whole)


def test_tensors_give_the_same_bits():
    torch = pytest.importorskip("torch")
    from rankwise.core.arrays import bincount
    from rankwise.metrics.rating import _centred_sums

    class Users:
        n_users = 9

    rng = np.random.default_rng(0)
    user, x = np.sort(rng.integers(0, 9, 80)), 1e6 + rng.normal(size=80)
    n = bincount(user, np.ones(80), 9)
    arrays = _centred_sums(Users, user, x, n)
    tensors = _centred_sums(Users, torch.from_numpy(user), torch.from_numpy(x), torch.from_numpy(n))
    for array, tensor in zip(arrays, tensors, strict=True):
        assert array.tolist() == tensor.tolist()
