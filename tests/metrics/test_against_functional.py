"""Every metric against its plain-Python twin, on random ragged data."""

from __future__ import annotations

import inspect
import math
import typing
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from rankwise import functional as fn
from rankwise.metrics import registry
from rankwise.metrics.kinds import Catalogue, PerUser, Pooled
from strategies import catalogue_of, evaluations, examples, fewer

from .test_against_functional_with_facts import twins

K = st.integers(1, 12)


def relevant(truth):
    return {item for item, value in truth.items() if value > 0}


# Parameters that are tried beside the choices that a metric lists.
MORE = {
    "f": [{"beta": 2}],
    "cg": [{"denominator": "length", "gain": "exponential"}],
    "dcg": [{"log_base": 3}, {"log_base": 3, "discount": "log"}],
    "ndcg": [{"discount": "log", "gain": "exponential"}, {"ideal": "full", "discount": "log"}],
    "rbp": [{"p": 0.5}, {"max_relevance": 4}, {"max_relevance": 5, "normaliser": "ideal"}],
    "err": [{"max_relevance": 4}, {"max_relevance": 4, "decay": 0.85}],
    "iprec": [{"level": 0}, {"level": 0.3}, {"level": 1}],
}
# What a plain definition of one list may ask for.
DATA = {"recommended", "relevant", "relevance_scores", "judged", "k", "catalog_size", "scores"}
# Choices for relevances that are probabilities: tested in test_second_stage.
OF_PROBABILITIES = {("err", "stop")}
# Whose default is not for graded relevance.
GRADED_ONLY = {"err"}
# A list for a value, and a count over all users.
NOT_OF_A_LIST = {"condensed", "tn"}


def is_of_a_list(cls):
    """Whether the plain definition is called with one list and what is judged of it."""
    asked = inspect.signature(cls.plain).parameters
    data = {n for n, p in asked.items() if p.default is p.empty}
    of_users = issubclass(cls, PerUser | Pooled) or cls.name == "f"
    return "recommended" in data <= DATA and of_users and cls.name not in NOT_OF_A_LIST


def variants(cls):
    """The metric with its defaults, with each choice that its plain definition has too, and more."""
    asked = inspect.signature(cls.plain).parameters
    if cls.name not in GRADED_ONLY:
        yield {}
    for parameter, kind in typing.get_type_hints(cls).items():
        if (cls.name, parameter) in OF_PROBABILITIES:
            continue
        if parameter in asked and parameter in cls().parameters:
            for choice in typing.get_args(kind) if typing.get_origin(kind) is Literal else ():
                if choice != cls().parameters[parameter]:
                    yield {parameter: choice}
    yield from MORE.get(cls.name, [])


PER_USER = {
    str(cls(**options)): cls(**options)
    for cls in registry.all_metrics()
    if cls.plain and is_of_a_list(cls)
    for options in variants(cls)
}


def plain_value(metric, items, known, k, catalog_size=12):
    """Return what the plain definition of a metric gives for one user."""
    cls = type(metric)
    asked = inspect.signature(cls.plain).parameters
    data = {
        "recommended": items,
        "relevant": {i: v for i, v in known.items() if v > 0},
        "relevance_scores": known,
        "judged": known,
        "catalog_size": catalog_size,
        "scores": range(len(items), 0, -1),
    }
    data |= {} if cls.cutoff == "none" else {"k": k}
    options = {**metric.parameters, **cls.fixed, **data}
    value = cls.plain(**{name: options[name] for name in asked if name in options})
    return value[cls.name] if isinstance(value, dict) else value


def catalogue_twins(size):
    """Return the plain definitions of metrics of the whole catalogue, of so many items."""
    return {
        "item_coverage": lambda lists, k: len(fn.item_counts_at_k(lists, k)),
        "catalog_coverage": lambda lists, k: fn.catalog_coverage(lists, size, k),
        "gini": lambda lists, k: fn.gini_coefficient(lists, k, catalog_size=size),
        "gini(corrected=false,padding=2)": lambda lists, k: fn.gini_coefficient(
            lists, k, catalog_size=size, corrected=False, padding=2
        ),
        "catalog_coverage(padding=2)": lambda lists, k: fn.catalog_coverage(
            lists, size, k, padding=2
        ),
        "gini(exposure=log)": lambda lists, k: fn.gini_coefficient(
            lists, k, catalog_size=size, exposure="log"
        ),
        "gini(exposure=geometric,patience=0.85)": lambda lists, k: fn.gini_coefficient(
            lists, k, catalog_size=size, exposure="geometric", patience=0.85
        ),
        "gini(over=recommended)": lambda lists, k: fn.gini_coefficient(
            lists, k, over="recommended"
        ),
        "herfindahl": fn.herfindahl_index,
        "shannon_entropy": fn.shannon_entropy,
        "shannon_entropy(log_base=2)": lambda lists, k: fn.shannon_entropy(lists, k, log_base=2),
    }


CATALOGUE = catalogue_twins(12)
RATING = {
    "mae": fn.mean_absolute_error,
    "mse": fn.mean_squared_error,
    "rmse": fn.root_mean_squared_error,
    "r2": fn.r2,
    "explained_variance": fn.explained_variance,
}
# Tested in other places: sums over users, and statistics over users (test_over_users).
SPECIAL = {
    "classification",
    "fcp",
    "xauc",
    "tn",
    "quantile",
    "worst",
    "geometric_mean",
    "complement",
    "ratio",
}
# Tested in test_probability.
PROBABILITY = {
    "log_loss",
    "normalised_entropy",
    "calibration_ratio",
    "ece",
    "brier",
    "reliability_curve",
}


def test_every_metric_has_a_twin():
    here = {rw.parse(n).name for n in (*PER_USER, *CATALOGUE, *RATING)} | SPECIAL | PROBABILITY
    assert here | twins() == set(registry.names())


def at(name, k):
    return str(rw.parse(name) @ k)


def same(ours, theirs):
    return ours == pytest.approx(theirs, rel=1e-11, abs=1e-12, nan_ok=True)


def check_per_user(metrics, data, k):
    lists, truth = data
    cells = {str(metric if metric.cutoff == "none" else metric @ k): metric for metric in metrics}
    result = rw.evaluate(lists, truth, [*cells], population="all", items=catalogue_of(lists, truth))
    for cell, metric in cells.items():
        about = "relevance" if metric.needs_relevant else metric.defined_for
        values = result.per_user[cell] if cell in result.per_user.columns else []
        for user, own in zip(result.per_user["user"], values, strict=bool(len(values))):
            items, known = list(lists.get(user, [])), truth.get(user, {})
            expected = plain_value(metric, items, known, k)
            nothing = not relevant(known) if about == "relevance" else not items
            if about in ("relevance", "list") and nothing:
                expected = math.nan
            assert same(own, expected), (cell, user, own, expected)


@fewer(30)
@given(evaluations(judged=True), K)
def test_per_user(data, k):
    """All metrics in one evaluation, so that each sees many worlds."""
    check_per_user(PER_USER.values(), data, k)


@pytest.mark.parametrize("name", PER_USER)
@examples(3)
@given(evaluations(judged=True), K)
def test_one_metric_per_user(name, data, k):
    """Alone: a metric that forgets to declare an input is right beside others that declare it."""
    check_per_user([PER_USER[name]], data, k)


@pytest.mark.parametrize("name", CATALOGUE)
@fewer(12)
@given(evaluations(), K)
def test_catalogue(name, data, k):
    lists, truth = data
    assert issubclass(type(rw.parse(name)), Catalogue)
    cell = at(name, k)
    result = rw.evaluate(lists, truth, cell, population="all", items=catalogue_of(lists, truth))
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
    for average in ("pairs", "users"):
        expected = fn.fraction_of_concordant_pairs(pairs_of(lists, truth), average=average)
        name = f"fcp(average={average})"
        assert same(rw.evaluate(lists, truth, name, population="all")[name], expected)


@given(evaluations(scores=True, judged=True))
def test_xauc(data):
    lists, truth = data
    pairs = pairs_of(lists, truth)
    for average in ("users", "rows", "pairs"):
        name = f"xauc(average={average})"
        result = rw.evaluate(lists, truth, name, population="all", undefined="skip")
        assert same(result[name], fn.extended_auc(pairs, average=average))


STATISTICS = typing.get_args(typing.get_type_hints(rw.metrics.Classification)["statistic"])


@given(evaluations(scores=True, judged=True))
def test_classification(data):
    lists, truth = data
    chances = {u: {i: (s + 0.5) / 4 for i, s in own.items()} for u, own in lists.items()}
    pairs = {
        u: [(p, truth.get(u, {}).get(i, 0) > 0) for i, p in own.items()]
        for u, own in chances.items()
    }
    cells = {
        f"classification(statistic={statistic},threshold={threshold})": (statistic, threshold)
        for statistic in STATISTICS
        for threshold in (0.5, 0.3, None)
    }
    result = rw.evaluate(chances, truth, [*cells], population="all")
    for cell, (statistic, threshold) in cells.items():
        everyone = [pair for own in pairs.values() for pair in own]
        expected = fn.classification(everyone, statistic=statistic, threshold=threshold)
        assert same(result[cell], expected), cell
        for user, value in zip(
            result.per_user["user"], result.per_user[str(rw.parse(cell))], strict=True
        ):
            assert same(
                value,
                fn.classification(pairs.get(user, []), statistic=statistic, threshold=threshold),
            ), cell


@given(evaluations(judged=True), K)
def test_tn(data, k):
    lists, truth = data
    cell = f"tn@{k}"
    result = rw.evaluate(lists, truth, cell, population="all", items=catalogue_of(lists, truth))
    users = result.per_user["user"].to_list()
    expected = [
        fn.confusion_at_k(lists.get(u, []), relevant(truth.get(u, {})), k, catalog_size=12)["tn"]
        for u in users
    ]
    assert result.per_user[cell].to_list() == expected
    assert result[cell] == sum(expected)
