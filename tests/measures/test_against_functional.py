"""Every measure against its plain-Python twin, on random ragged data."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from rankwise import functional as fn
from rankwise.measures import registry
from rankwise.measures.kinds import Catalogue, Composed, PerUser, Pooled
from strategies import evaluations

from .test_against_functional_with_facts import twins

K = st.integers(1, 12)


def relevant(truth):
    return {item for item, value in truth.items() if value > 0}


# A twin takes (list, {item: relevance}, k); under each measure's variants.
PER_USER = {
    "precision": lambda items, t, k: fn.precision_at_k(items, relevant(t), k),
    "precision(denominator=length)": lambda items, t, k: fn.precision_at_k(
        items, relevant(t), k, denominator="length"
    ),
    "recall": lambda items, t, k: fn.recall_at_k(items, relevant(t), k),
    "recall(denominator=capped)": lambda items, t, k: fn.recall_at_k(
        items, relevant(t), k, denominator="capped"
    ),
    "f": lambda items, t, k: fn.f1_at_k(items, relevant(t), k),
    "f(beta=2)": lambda items, t, k: fn.f1_at_k(items, relevant(t), k, beta=2),
    "hit_rate": lambda items, t, k: fn.hit_rate_at_k(items, relevant(t), k),
    "mrr": lambda items, t, k: fn.reciprocal_rank_at_k(items, relevant(t), k),
    **{
        f"map(normaliser={n})": lambda items, t, k, n=n: fn.average_precision_at_k(
            items, relevant(t), k, normaliser=n
        )
        for n in ("k", "relevant", "hits", "length", "min_length")
    },
    "arhr": lambda items, t, k: fn.arhr_at_k(items, relevant(t), k),
    "ncrr": lambda items, t, k: fn.ncrr_at_k(items, relevant(t), k),
    "map": lambda items, t, k: fn.average_precision_at_k(items, relevant(t), k),
    "mar": lambda items, t, k: fn.average_recall_at_k(items, relevant(t), k),
    **{
        f"{name}(gain={g})": lambda items, t, k, g=g, twin=twin: twin(items, t, k, gain=g)
        for name, twin in (("cg", fn.cg_at_k), ("dcg", fn.dcg_at_k), ("ndcg", fn.ndcg_at_k))
        for g in ("linear", "exponential", "binary", "exponential_plus_one")
    },
    "dcg(log_base=3)": lambda items, t, k: fn.dcg_at_k(items, t, k, log_base=3),
    "ndcg(ideal=full)": lambda items, t, k: fn.ndcg_at_k(items, t, k, ideal="full"),
    "ndcg_binary": lambda items, t, k: fn.ndcg_at_k(items, t, k, gain="binary"),
    "r_precision": lambda items, t, k: fn.r_precision(items, relevant(t)),
    "rbp": lambda items, t, k: fn.rbp(items, relevant(t), k),
    "rbp(normaliser=ideal)": lambda items, t, k: fn.rbp(items, relevant(t), k, normaliser="ideal"),
    "rbp(p=0.5)": lambda items, t, k: fn.rbp(items, relevant(t), k, p=0.5),
    "err(max_relevance=4)": lambda items, t, k: fn.err_at_k(items, t, k, max_relevance=4),
    "tp": lambda items, t, k: fn.confusion_at_k(items, relevant(t), k, catalog_size=12)["tp"],
    "fp": lambda items, t, k: fn.confusion_at_k(items, relevant(t), k, catalog_size=12)["fp"],
    "fn": lambda items, t, k: fn.confusion_at_k(items, relevant(t), k, catalog_size=12)["fn"],
    "user_coverage": lambda items, t, k: fn.user_coverage_at_k(items, k),
    "num_retrieved": lambda items, t, k: fn.num_retrieved_at_k(items, k),
    "user_coverage_at_n": lambda items, t, k: fn.user_coverage_at_n(items, k),
}
CATALOGUE = {
    "item_coverage": lambda lists, k: len(fn.item_counts_at_k(lists, k)),
    "catalog_coverage": lambda lists, k: fn.catalog_coverage(lists, 12, k),
    "gini": lambda lists, k: fn.gini_coefficient(lists, k, catalog_size=12),
    "gini(over=recommended)": lambda lists, k: fn.gini_coefficient(lists, k, over="recommended"),
    "herfindahl": fn.herfindahl_index,
    "shannon_entropy": fn.shannon_entropy,
    "shannon_entropy(log_base=2)": lambda lists, k: fn.shannon_entropy(lists, k, log_base=2),
}
RATING = {
    "mae": fn.mean_absolute_error,
    "mse": fn.mean_squared_error,
    "rmse": fn.root_mean_squared_error,
    "r2": fn.r2,
    "explained_variance": fn.explained_variance,
}
SPECIAL = {"fcp", "log_loss", "tn"}


def test_every_measure_has_a_twin():
    here = {rw.parse(n).name for n in (*PER_USER, *CATALOGUE, *RATING)} | SPECIAL
    assert here | twins() == set(registry.names())


def at(name, k):
    return str(rw.parse(name) if name in ("r_precision",) else rw.parse(name) @ k)


def same(ours, theirs):
    return ours == pytest.approx(theirs, rel=1e-11, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("name", PER_USER)
@given(evaluations(judged=True), K)
def test_per_user(name, data, k):
    lists, truth = data
    cell = at(name, k)
    kind = type(rw.parse(name))
    assert issubclass(kind, PerUser | Composed)
    result = rw.evaluate(lists, truth, cell, population="all")
    for user, own in zip(result.per_user["user"], result.per_user[cell], strict=True):
        known = truth.get(user, {})
        expected = PER_USER[name](lists.get(user, []), known, k)
        if getattr(kind, "defined_for", "relevance") == "relevance" and not relevant(known):
            expected = math.nan
        assert same(own, expected), (user, own, expected)


@pytest.mark.parametrize("name", CATALOGUE)
@given(evaluations(), K)
def test_catalogue(name, data, k):
    lists, truth = data
    assert issubclass(type(rw.parse(name)), Catalogue)
    cell = at(name, k)
    result = rw.evaluate(lists, truth, cell, population="all", items=range(12))
    assert same(result[cell], CATALOGUE[name](lists, k))


def pairs_of(lists, truth):
    return {
        user: [(score, truth[user][item]) for item, score in own.items() if item in truth[user]]
        for user, own in lists.items()
        if user in truth
    }


@pytest.mark.parametrize("name", RATING)
@given(evaluations(scores=True, judged=True))
def test_rating(name, data):
    lists, truth = data
    assert issubclass(type(rw.parse(name)), Pooled)
    pairs = pairs_of(lists, truth)
    result = rw.evaluate(lists, truth, name, population="all")
    assert result[name] == pytest.approx(
        RATING[name]([pair for own in pairs.values() for pair in own]), rel=1e-9, nan_ok=True
    )
    for user, own in zip(result.per_user["user"], result.per_user[name], strict=True):
        assert own == pytest.approx(RATING[name](pairs.get(user, [])), rel=1e-9, nan_ok=True)


@given(evaluations(scores=True, judged=True))
def test_fcp(data):
    lists, truth = data
    expected = fn.fraction_of_concordant_pairs(pairs_of(lists, truth))
    assert same(rw.evaluate(lists, truth, "fcp", population="all")["fcp"], expected)


@given(evaluations(scores=True, judged=True))
def test_log_loss(data):
    lists, truth = data
    chances = {u: {i: (s + 0.5) / 4 for i, s in own.items()} for u, own in lists.items()}
    pairs = [
        (chance, truth.get(user, {}).get(item, 0) > 0)
        for user, own in chances.items()
        for item, chance in own.items()
    ]
    result = rw.evaluate(chances, truth, "log_loss", population="all")
    assert same(result["log_loss"], fn.log_loss(pairs))


@given(evaluations(judged=True), K)
def test_tn(data, k):
    lists, truth = data
    cell = f"tn@{k}"
    result = rw.evaluate(lists, truth, cell, population="all", items=range(12))
    users = result.per_user["user"].to_list()
    expected = [
        fn.confusion_at_k(lists.get(u, []), relevant(truth.get(u, {})), k, catalog_size=12)["tn"]
        for u in users
    ]
    assert result.per_user[cell].to_list() == expected
    assert result[cell] == sum(expected)
