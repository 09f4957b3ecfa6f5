"""Definitions of accuracy, worked by hand and held against scikit-learn, trec_eval, TorchMetrics."""

from __future__ import annotations

import math
from itertools import pairwise, permutations

import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

from rankwise import functional as fn
from rankwise.errors import InputError, ParameterError, ScoreError

K = st.one_of(st.none(), st.integers(1, 9))
RANKINGS = st.permutations(range(8)).flatmap(lambda items: st.just(items[:6]))
RELEVANT = st.sets(st.integers(0, 9))
ROWS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 3)), min_size=1, max_size=7)
CATALOGUE = range(10)


def close(value):
    return pytest.approx(value, rel=1e-12, abs=1e-12, nan_ok=True)


def in_order(rows):
    """Return flags and scores of a list, best score first."""
    rows = sorted(rows, key=lambda row: -row[1])
    return [flag for flag, _ in rows], [score for _, score in rows]


@given(RANKINGS, RELEVANT.filter(bool), K)
def test_confusion_metrics_are_those_of_scikit_learn(items, relevant, k):
    true = [int(item in relevant) for item in CATALOGUE]
    predicted = [int(item in items[:k]) for item in CATALOGUE]
    matrix = sk.confusion_matrix(true, predicted, labels=[0, 1])
    negatives = matrix[0].sum()
    fallout = matrix[0, 1] / negatives if negatives else math.nan
    assert fn.accuracy_at_k(items, relevant, k, catalog_size=10) == sk.accuracy_score(
        true, predicted
    )
    assert fn.mcc_at_k(items, relevant, k, catalog_size=10) == close(
        sk.matthews_corrcoef(true, predicted)
    )
    assert fn.fallout_at_k(items, relevant, k, catalog_size=10) == close(fallout)


def test_confusion_metrics_by_hand():
    # TP 1, FP 2, FN 1, TN 6
    lists, relevant = [1, 2, 3, 4], {1, 9}
    assert fn.accuracy_at_k(lists, relevant, 3, catalog_size=10) == 0.7
    assert fn.mcc_at_k(lists, relevant, 3, catalog_size=10) == close(4 / math.sqrt(3 * 2 * 8 * 7))
    assert fn.fallout_at_k(lists, relevant, 3, catalog_size=10) == 0.25
    assert fn.fallout_at_k(lists, relevant, 3, negatives="listed") == close(2 / 3)
    assert math.isnan(fn.fallout_at_k([1], {1}, negatives="listed"))
    assert fn.mcc_at_k([], {1}, 3, catalog_size=3) == 0.0
    assert fn.mcc_at_k([1, 2, 3], {1}, 3, catalog_size=3) == 0.0
    assert fn.accuracy_at_k([], {1}, 3, catalog_size=4) == 0.75
    assert fn.fallout_at_k([], {1}, 3, catalog_size=4) == 0.0


@given(ROWS, st.integers(1, 8))
def test_fallout_of_the_list_is_that_of_torchmetrics(rows, k):
    torch = pytest.importorskip("torch")
    retrieval = pytest.importorskip("torchmetrics.functional.retrieval")
    flags = [flag for flag, _ in rows]
    n = len(flags)
    expected = retrieval.retrieval_fall_out(
        torch.arange(n, 0, -1).float(), torch.tensor(flags), top_k=min(k, n)
    )
    relevant = {i for i, flag in enumerate(flags) if flag}
    ours = fn.fallout_at_k(range(n), relevant | {99}, k, negatives="listed")
    assert (0.0 if math.isnan(ours) else ours) == pytest.approx(float(expected))


@given(ROWS)
def test_list_auc_is_roc_auc_of_scikit_learn(rows):
    flags, scores = in_order(rows)
    relevant = {i for i, flag in enumerate(flags) if flag} | {99}
    tied = fn.list_auc(range(len(flags)), relevant, scores=scores)
    ordered = fn.list_auc(range(len(flags)), relevant)
    if len(set(flags)) < 2:
        assert math.isnan(tied)
        assert math.isnan(ordered)
        return
    assert tied == close(sk.roc_auc_score(flags, scores))
    assert ordered == close(sk.roc_auc_score(flags, [-i for i in range(len(flags))]))


def test_discount_of_the_logarithm_of_the_rank():
    grades = {1: 3.0, 2: 2.0, 4: 1.0, 9: 3.0}
    # Gains 3, 2, 0, 1; discounts 1, 1, log2(3), 2; the ideal gains are 3, 3, 2, 1.
    assert fn.dcg([1, 2, 3, 4], grades, 4, discount="log") == 3 + 2 + 1 / 2
    ideal = 3 + 3 + 2 / math.log2(3) + 1 / 2
    assert fn.ndcg_at_k([1, 2, 3, 4], grades, 4, discount="log") == close(5.5 / ideal)
    full = fn.ndcg_at_k([1, 2, 3, 4], grades, 4, discount="log", ideal="full")
    assert full == close(5.5 / (3 + 3 + 3 / math.log2(3) + 3 / 2))
    # Base 3: no discount on the first three ranks.
    assert fn.dcg([1, 2, 9, 4], grades, 3, discount="log", log_base=3) == 8.0
    assert fn.ndcg_at_k([1, 9], grades, discount="log", gain="binary") < 1
    assert fn.ndcg_at_k([1, 9], grades, 2, discount="log") == 1.0


def test_rank_biased_precision_of_grades():
    grades = {1: 4.0, 3: 2.0, 9: 1.0, 5: -1.0}
    value = 0.5 * (1 + 0.5 * 0.25)
    assert fn.rbp([1, 2, 3, 5], grades, p=0.5, max_relevance=4) == close(value)
    ideal = 0.5 * (1 + 0.5 * 0.5 + 0.25 * 0.25)
    assert fn.rbp([1, 2, 3], grades, p=0.5, max_relevance=4, normaliser="ideal") == close(
        value / ideal
    )
    cut = fn.rbp([1, 2, 3], grades, 2, p=0.5, max_relevance=4, normaliser="ideal")
    assert cut == close(1 / (1 + 0.5 * 0.5))
    assert fn.rbp([1, 3, 9], grades, 3, max_relevance=4, normaliser="ideal") == 1.0
    assert fn.rbp([1, 2, 3], grades) == fn.rbp([1, 2, 3], {1, 3, 9})
    ones = dict.fromkeys((1, 3, 9), 1.0)
    for normaliser in ("none", "ideal"):
        binary = fn.rbp([1, 2, 3], ones, normaliser=normaliser)
        assert fn.rbp([1, 2, 3], ones, max_relevance=1, normaliser=normaliser) == close(binary)


@given(ROWS)
def test_average_precision_of_blocks_is_that_of_scikit_learn(rows):
    flags, scores = in_order(rows)
    if not any(flags):
        return
    items, relevant = range(len(flags)), {i for i, flag in enumerate(flags) if flag}
    ours = fn.average_precision(
        items, relevant, normaliser="relevant", ties="blocks", scores=scores
    )
    assert ours == close(sk.average_precision_score(flags, scores))
    if len(flags) > 1:  # one column is no multilabel target
        assert ours == close(sk.label_ranking_average_precision_score([flags], [scores]))


@given(ROWS, K)
def test_average_precision_over_ties_is_the_mean_over_all_orders(rows, k):
    flags, scores = in_order(rows[:5])
    items, relevant = list(range(len(flags))), {i for i, flag in enumerate(flags) if flag}
    orders = [
        order
        for order in permutations(items)
        if all(scores[a] >= scores[b] for a, b in pairwise(order))
    ]
    for normaliser in ("min", "relevant", "length"):
        values = [fn.average_precision(o, relevant, k, normaliser=normaliser) for o in orders]
        ours = fn.average_precision(items, relevant, k, normaliser=normaliser, scores=scores)
        assert ours == close(sum(values) / len(values))
    assert fn.average_precision(items, relevant, k, scores=scores) == close(
        fn.average_precision_score(flags, scores, k=k)
    )


def test_blocks_of_ties_by_hand():
    scores = [3.0, 2.0, 2.0, 2.0, 1.0]
    asked = {"ties": "blocks", "scores": scores}
    # Relevant: ranks 2 and 4 of one block that ends at rank 4, and rank 5.
    for k, total in ((1, 0), (2, 2 / 4), (3, 2 / 4), (4, 2 / 4 + 2 / 4), (5, 1 + 3 / 5)):
        ours = fn.average_precision(list("abcde"), set("bde"), k, normaliser="relevant", **asked)
        assert ours == close(total / 3)
    # Without ties both are the common definition.
    items, untied = list("abcde"), [5, 4, 3, 2, 1]
    common = fn.average_precision(items, set("bde"), 4)
    for ties in ("expected", "blocks"):
        assert fn.average_precision(items, set("bde"), 4, ties=ties, scores=untied) == close(common)


def test_interpolated_precision_by_hand():
    # Hits at ranks 2, 3 and 6 of four relevant items: precision 1/2, 2/3, 1/2; recall to 0.75.
    items, relevant = [1, 2, 3, 4, 5, 6], {2, 3, 6, 9}
    for level, expected in (
        (0.0, 2 / 3),
        (0.25, 2 / 3),
        (0.5, 2 / 3),
        (0.51, 1 / 2),
        (0.75, 1 / 2),
        (0.76, 0.0),
        (1.0, 0.0),
    ):
        assert fn.interpolated_precision_at_k(items, relevant, level=level) == expected
    assert fn.interpolated_precision_at_k(items, relevant, 2, level=0.25) == 0.5
    assert fn.interpolated_precision_at_k(items, relevant, 2, level=0.5) == 0.0
    assert fn.interpolated_precision_at_k(items, relevant) == close(
        (6 * (2 / 3) + 2 * (1 / 2)) / 11
    )
    assert fn.interpolated_precision_at_k([], {1}) == 0.0


@given(st.permutations(range(20)), st.sets(st.integers(0, 24), min_size=1), st.integers(1, 20))
def test_interpolated_precision_is_that_of_trec_eval(items, relevant, n):
    if len(relevant) in {3, 23}:  # there trec_eval asks for one hit fewer at level 0.7
        return
    truth = {"ann": {str(item): 1 for item in relevant}}
    run = {"ann": {str(item): -float(rank) for rank, item in enumerate(items[:n])}}
    names = {"11pt_avg", "iprec_at_recall"}
    theirs = pytrec_eval.RelevanceEvaluator(truth, names).evaluate(run)["ann"]
    assert fn.interpolated_precision_at_k(items[:n], relevant) == close(theirs["11pt_avg"])
    for level in (0.0, 0.1, 0.3, 0.7, 1.0):
        ours = fn.interpolated_precision_at_k(items, relevant, n, level=level)
        assert ours == close(theirs[f"iprec_at_recall_{level:.2f}"])


def test_where_trec_eval_rounds():
    truth = {"ann": {"a": 1, "b": 1, "c": 1}}
    run = {"ann": {"a": 3.0, "b": 2.0}}
    theirs = pytrec_eval.RelevanceEvaluator(truth, {"iprec_at_recall"}).evaluate(run)["ann"]
    assert theirs["iprec_at_recall_0.70"] == 1.0  # although the recall at the end is 2/3
    assert fn.interpolated_precision_at_k(["a", "b"], truth["ann"], level=0.7) == 0.0


@given(st.lists(st.tuples(st.floats(-15, 15), st.integers(0, 1)), min_size=1))
def test_log_loss_of_logits(pairs):
    probabilities = [(1 / (1 + math.exp(-logit)), label) for logit, label in pairs]
    assert fn.log_loss(pairs, scores="logits") == pytest.approx(
        sk.log_loss([y for _, y in pairs], [p for p, _ in probabilities], labels=[0, 1]),
        rel=1e-6,
        abs=1e-9,
    )


def test_log_loss_of_large_logits_is_not_clipped():
    assert fn.log_loss([(800.0, 0), (800.0, 1)], scores="logits") == 400.0
    assert fn.log_loss([(0.0, 1)], scores="logits") == close(math.log(2))
    assert math.isnan(fn.log_loss([], scores="logits"))


def extrapolated(first, second, p):
    """Agreement at each depth, the shorter list going on as at its end; then as at the last."""
    short, long = sorted((list(first), list(second)), key=len)
    at_end = len(set(short) & set(long[: len(short)])) / len(short)
    agreement = []
    for d in range(1, len(long) + 1):
        unseen = max(0, d - len(short))
        agreement.append((len(set(short[:d]) & set(long[:d])) + at_end * unseen) / d)
    agreement += [agreement[-1]] * 2000
    return (1 - p) * sum(p**i * value for i, value in enumerate(agreement))


@given(
    RANKINGS,
    st.permutations(range(8)),
    st.integers(1, 8),
    K,
    st.sampled_from([0.1, 0.5, 0.9, 0.98]),
)
def test_rank_biased_overlap(first, second, n, k, p):
    second = second[:n]
    a, b = first[:k], second[:k]
    ours = fn.rbo_at_k(first, second, k, p=p)
    assert ours == pytest.approx(extrapolated(a, b, p), abs=1e-9)
    assert ours == close(fn.rbo_at_k(second, first, k, p=p))
    lower = fn.rbo_at_k(first, second, k, p=p, form="lower")
    assert -1e-12 <= lower <= ours + 1e-12 <= 1 + 2e-12
    assert fn.rbo_at_k(first, first, k, p=p) == close(1.0)
    assert fn.rbo_at_k(first, first, k, p=p, form="lower") == close(1 - p ** len(a))


def test_rank_biased_overlap_by_hand():
    # X = 0, 2, 2 with S = (b, a) and L = (a, b, c).
    first, second, p = ["a", "b", "c"], ["b", "a"], 0.5
    lower = 0.5 * (0 + 0.5 * 1 + 0.25 * 2 / 3)
    assert fn.rbo_at_k(first, second, p=p, form="lower") == close(lower)
    second_sum = 0.5 * (2 * 1 / (2 * 3) * p**2)
    last = ((2 - 2) / 3 + 2 / 2) * p**3
    assert fn.rbo_at_k(first, second, p=p) == close(lower + second_sum + last)
    assert fn.rbo_at_k(["a"], ["b"]) == 0.0
    assert fn.rbo_at_k(["a", "b"], ["c", "a"], 1) == 0.0


@pytest.mark.parametrize(
    "value",
    [
        fn.accuracy_at_k([1], set(), catalog_size=4),
        fn.mcc_at_k([1], {1: 0}, catalog_size=4),
        fn.fallout_at_k([1], set(), catalog_size=4),
        fn.fallout_at_k([1], set(), negatives="listed"),
        fn.fallout_at_k([1], {1, 2}, catalog_size=2),
        fn.list_auc([], {1}),
        fn.list_auc([1], set()),
        fn.rbp([1], {}, max_relevance=4),
        fn.average_precision([1], set(), ties="blocks", scores=[1.0]),
        fn.interpolated_precision_at_k([1], set()),
        fn.rbo_at_k([1], []),
        fn.rbo_at_k([], [1], form="lower"),
    ],
)
def test_no_value(value):
    assert math.isnan(value)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: fn.accuracy_at_k([1, 2], {3}, catalog_size=2), ParameterError),
        (lambda: fn.mcc_at_k([1], {1}, catalog_size=1.5), ParameterError),
        (lambda: fn.fallout_at_k([1], {1}), ParameterError),
        (lambda: fn.fallout_at_k([1], {1}, negatives="all"), ParameterError),
        (lambda: fn.fallout_at_k([1], {1}, 0, negatives="listed"), ParameterError),
        (lambda: fn.list_auc([1, 2], {1}, scores=[1.0]), ParameterError),
        (lambda: fn.list_auc([1, 2], {1}, scores=[1.0, 2.0]), ScoreError),
        (lambda: fn.list_auc([1, 2], {1}, scores=[math.inf, 2.0]), ScoreError),
        (lambda: fn.dcg([1], {1}, discount="none"), ParameterError),
        (lambda: fn.ndcg_at_k([1], {1}, discount="none"), ParameterError),
        (lambda: fn.rbp([1], {1: 5}, max_relevance=4), ScoreError),
        (lambda: fn.rbp([1], {1: 5}, max_relevance=0), ParameterError),
        (lambda: fn.rbp([1], {1: 5}, max_relevance=math.inf), ParameterError),
        (lambda: fn.average_precision([1], {1}, ties="blocks"), ParameterError),
        (lambda: fn.average_precision([1], {1}, ties="first"), ParameterError),
        (lambda: fn.average_precision([1], {1}, scores=[1, 2]), ParameterError),
        (lambda: fn.average_precision([1, 2], {1}, scores=[1, 2]), ScoreError),
        (lambda: fn.interpolated_precision_at_k([1], {1}, level=1.1), ParameterError),
        (lambda: fn.interpolated_precision_at_k([1], {1}, level=math.nan), ParameterError),
        (lambda: fn.log_loss([(0.5, 1)], scores="odds"), ParameterError),
        (lambda: fn.rbo_at_k([1], [1], p=1), ParameterError),
        (lambda: fn.rbo_at_k([1], [1], p=0), ParameterError),
        (lambda: fn.rbo_at_k([1], [1], form="upper"), ParameterError),
        (lambda: fn.rbo_at_k([1], "ab"), InputError),
    ],
)
def test_bad_input(call, error):
    with pytest.raises(error):
        call()
