"""scikit-learn's ``ndcg_score`` on the same candidates.

Where conventions agree: linear gain, log2, every candidate listed, ties averaged over orders.
Where they do not: scikit-learn scores a user without relevant candidates 0, we have no value;
it refuses negative relevance, for us that is not relevant.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    label_ranking_average_precision_score,
    log_loss,
    matthews_corrcoef,
    mean_absolute_error,
    mean_squared_error,
    ndcg_score,
    r2_score,
    roc_auc_score,
)

import rankwise as rw
from rankwise import functional as fn

LABELS = arrays(np.int64, (6, 9), elements=st.integers(0, 4))
SCORES = arrays(np.float64, (6, 9), elements=st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0]))


@given(LABELS, SCORES, st.integers(1, 9), st.booleans())
def test_ndcg(labels, scores, k, distinct):
    if distinct:
        scores = scores + np.arange(9) / 1000
    labels[labels.sum(axis=1) == 0, 0] = 1
    result = rw.evaluate(
        {u: dict(enumerate(row)) for u, row in enumerate(scores.tolist())},
        {u: dict(enumerate(row)) for u, row in enumerate(labels.tolist())},
        f"ndcg@{k}",
    )
    theirs = ndcg_score(labels, scores, k=k)
    assert result[f"ndcg@{k}"] == pytest.approx(theirs, rel=1e-12)
    one_by_one = [
        fn.ndcg_score(y, s, k=k) for y, s in zip(labels.tolist(), scores.tolist(), strict=True)
    ]
    assert np.mean(one_by_one) == pytest.approx(theirs, rel=1e-12)


def test_a_user_without_relevant_candidates():
    assert ndcg_score([[0, 0]], [[1.0, 0.5]]) == 0.0
    assert math.isnan(fn.ndcg_score([0, 0], [1.0, 0.5]))


@given(LABELS, SCORES)
def test_label_ranking_of_users_without_relevant_items_and_with_these_alone(labels, scores):
    """One call gives 1 to a user without relevant items, the other 0; one candidate is no special case."""
    binary = (labels > 2).astype(int)
    binary[0] = 0
    binary[1] = 1
    lists = {u: dict(enumerate(row)) for u, row in enumerate(scores.tolist())}
    truth = {u: dict(enumerate(row)) for u, row in enumerate(binary.tolist())}
    truth[6], lists[6] = {0: 0}, {0: 0.5}
    names = ["label_ranking_average_precision_score", "average_precision_score"]
    ours = rw.evaluate(lists, truth, names, convention="sklearn")
    rows = [*zip(binary, scores, strict=True), (np.array([0]), np.array([0.5]))]
    theirs = [label_ranking_average_precision_score(y[None], s[None]) for y, s in rows]
    assert ours[names[0]] == pytest.approx(np.mean(theirs), rel=1e-12)
    relevant = [average_precision_score(y, s) if y.any() else 0.0 for y, s in rows]
    assert ours[names[1]] == pytest.approx(np.mean(relevant), rel=1e-12)


def test_negative_relevance():
    with pytest.raises(ValueError, match="negative"):
        ndcg_score([[-1, 1]], [[1.0, 0.5]])
    assert fn.ndcg_score([-1, 1], [1.0, 0.5]) == pytest.approx(1 / math.log2(3))


@given(LABELS, SCORES)
def test_rating_errors(labels, scores):
    lists = {u: dict(enumerate(row)) for u, row in enumerate(scores.tolist())}
    truth = {u: dict(enumerate(row)) for u, row in enumerate(labels.tolist())}
    if not labels.any():
        return
    ours = rw.evaluate(lists, truth, ["mae", "mse", "r2"], population="recommended")
    y, s = labels.ravel(), scores.ravel()
    assert ours["mae"] == pytest.approx(mean_absolute_error(y, s))
    assert ours["mse"] == pytest.approx(mean_squared_error(y, s))
    if np.ptp(y):  # scikit-learn calls a truth that does not vary 0 or 1; we have no value
        assert ours["r2"] == pytest.approx(r2_score(y, s), rel=1e-9, abs=1e-9)


@given(LABELS, SCORES, st.integers(1, 9))
def test_labels_of_one_list(labels, scores, k):
    """Ties as blocks, areas with half ties, and the confusion matrix of the top k."""
    binary = (labels > 2).astype(int)
    binary[binary.sum(axis=1) == 0, 0] = 1
    lists = {u: dict(enumerate(row)) for u, row in enumerate(scores.tolist())}
    truth = {u: dict(enumerate(row)) for u, row in enumerate(binary.tolist())}
    names = ["lrap", "map(normaliser=relevant,ties=blocks)", "list_auc"]
    result = rw.evaluate(lists, truth, names)
    theirs = label_ranking_average_precision_score(binary, scores)
    assert result["lrap"] == pytest.approx(theirs, rel=1e-12)
    users = result.per_user
    for user, (y, s) in enumerate(zip(binary, scores, strict=True)):
        precision = average_precision_score(y, s)
        assert users[names[1]][user] == pytest.approx(precision, rel=1e-12)
        area = roc_auc_score(y, s) if 0 < y.sum() < len(y) else math.nan
        assert users["list_auc"][user] == pytest.approx(area, rel=1e-12, nan_ok=True)
    distinct = {u: {i: s + i / 1000 for i, s in own.items()} for u, own in lists.items()}
    cells = [f"mcc@{k}", f"list_accuracy@{k}"]
    users = rw.evaluate(distinct, truth, cells, items=range(9)).per_user
    for user, own in distinct.items():
        top = sorted(own, key=own.get, reverse=True)[:k]
        shown = [int(item in top) for item in range(9)]
        assert users[cells[0]][user] == pytest.approx(matthews_corrcoef(binary[user], shown))
        assert users[cells[1]][user] == pytest.approx(accuracy_score(binary[user], shown))


@given(LABELS, SCORES)
def test_log_loss_of_logits(labels, scores):
    binary = (labels > 2).astype(int)
    binary[0, :2] = 0, 1
    logits = 8 * scores - 6
    result = rw.evaluate(
        {u: dict(enumerate(row)) for u, row in enumerate(logits.tolist())},
        {u: dict(enumerate(row)) for u, row in enumerate(binary.tolist())},
        "log_loss(scores=logits)",
        population="all",
    )
    theirs = log_loss(binary.ravel(), 1 / (1 + np.exp(-logits.ravel())))
    assert result["log_loss(scores=logits)"] == pytest.approx(theirs, rel=1e-9)
