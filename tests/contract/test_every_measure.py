"""What holds for every measure in the registry, present and future."""

from __future__ import annotations

import inspect
import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from rankwise.measures import registry
from rankwise.measures.kinds import PerUser
from strategies import as_frame, evaluations

EVERY = registry.every()
NAMES = [cls.name for cls in EVERY]
# What a measure needs to be worth asking: the top of the scale, chances for scores.
SPECIAL = {"err": {"max_relevance": 4.0}}


def cell_of(cls, k=3):
    measure = cls(**SPECIAL.get(cls.name, {}))
    return str(measure if cls.cutoff == "none" else measure @ k)


CELLS = [cell_of(cls) for cls in EVERY]


def chances(lists):
    """Distinct scores in (0, 1), so that every measure can be asked and no score ties."""
    return {
        user: {item: (score + 1 + item / 50) / 6 for item, score in own.items()}
        for user, own in lists.items()
    }


def run(lists, truth, **options):
    return rw.evaluate(lists, truth, CELLS, population="all", items=range(12), **options)


def same(ours, theirs):
    return all(
        np.array_equal(ours.values[cell], theirs.values[cell], equal_nan=True) for cell in CELLS
    )


@given(evaluations(scores=True, judged=True))
def test_values_are_within_the_range(data):
    lists, truth = data
    result = run(chances(lists), truth)
    for cls, cell in zip(EVERY, CELLS, strict=True):
        low, high = cls.range
        own = [result[cell]]
        if cell in result.per_user.columns:
            own += result.per_user[cell].to_list()
        for value in own:
            assert math.isnan(value) or low - 1e-12 <= value <= high + 1e-12, (cell, value)


@given(evaluations(scores=True, judged=True), st.integers(1, 3), st.integers(1, 7), st.randoms())
def test_how_the_work_is_cut_does_not_matter(data, threads, block, shuffled):
    lists, truth = data
    lists = chances(lists)
    whole = run(lists, truth)
    assert same(whole, run(lists, truth, threads=threads, block_size=block))
    users = list(lists)
    shuffled.shuffle(users)
    assert same(whole, run({user: lists[user] for user in users}, truth))


@given(evaluations(scores=True, judged=True))
def test_names_of_users_do_not_matter(data):
    lists, truth = data
    lists = chances(lists)
    renamed = [{f"{u:03}": own for u, own in table.items()} for table in (lists, truth)]
    assert same(run(lists, truth), run(*renamed))


@given(evaluations())
def test_doubling_all_users_leaves_means_alone(data):
    lists, truth = data
    cells = [
        cell
        for cls, cell in zip(EVERY, CELLS, strict=True)
        if issubclass(cls, PerUser) and cls().aggregate == "mean"
    ]
    twice = [table | {u + 100: own for u, own in table.items()} for table in (lists, truth)]
    once = rw.evaluate(as_frame(lists), truth, cells, population="all")
    both = rw.evaluate(as_frame(twice[0]), twice[1], cells, population="all")
    for cell in cells:
        assert both[cell] == pytest.approx(once[cell], rel=1e-12, nan_ok=True)


@pytest.mark.parametrize("name", NAMES)
def test_the_ideal_list_has_the_best_value(name):
    cls = registry.find(name)
    if not (issubclass(cls, PerUser) and cls.about == "relevance" and cls.range[1] == 1):
        return
    if name in ("mar", "rbp", "err"):  # their best depends on the number of relevant items
        return
    assert rw.evaluate({1: [4, 5, 6]}, {1: {4: 3, 5: 2, 6: 1}}, cell_of(cls))[cell_of(cls)] == 1.0


@pytest.mark.parametrize("name", NAMES)
def test_the_docstring_says_what_it_must(name):
    cls = registry.find(name)
    text = inspect.getdoc(cls)
    assert text is not None
    assert len(text.splitlines()[0]) <= 100
    assert text.splitlines()[0].endswith(".")
    for part in (".. math::", "References\n----------", "Examples\n--------", ">>> "):
        assert part in text, part
    assert re.search(r"Range \[|Range\n\[|Range \(", text.replace("\n", " ")), "no range"
    better = {True: "higher is", False: "lower is"}.get(cls.higher_is_better)
    if better:
        assert better in text
    for parameter in cls().parameters:
        assert parameter in text.split("Parameters", 1)[1].split("References")[0], parameter


@pytest.mark.parametrize("name", NAMES)
def test_text_and_object_agree(name):
    measure = registry.find(name)()
    assert rw.parse(str(measure)) == measure
    for alias in measure.aliases:
        assert rw.parse(alias) == measure
