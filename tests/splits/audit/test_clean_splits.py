"""How often the audit warns of splits without a leak: at most one in ten, by simulation.

A split counts as clean if its rule keeps what it claims on data without leaks: rules that claim
time, on data with timestamps; others on data without. Each is audited with the lists of two models
and with features, all of training alone.
"""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import polars as pl
import pytest

import rankwise as rw
from clean_splits import IN_TIME, WITHOUT_TIME, interactions, split_of, warnings_of
from rankwise.models.recommenders import Popularity
from tools import deep

SMALL = (
    {"n_users": 200, "n_items": 300},
    {"n_users": 300, "n_items": 1500, "activity": 20.0},
    {"n_users": 500, "n_items": 150, "activity": 8.0},
    {"n_users": 800, "n_items": 1000, "spread": 1.2},
)
LARGE = (
    {"n_users": 2000, "n_items": 1000, "activity": 8.0},
    {"n_users": 5000, "n_items": 500, "activity": 5.0, "exponent": 0.8},
    {"n_users": 4000, "n_items": 2000},
)


def counted(found):
    """Return how often each check warned, for the message of a failure."""
    return Counter(code for codes in found for code in codes)


@pytest.mark.slow
@pytest.mark.parametrize("shapes", [SMALL[:2], *deep((SMALL[2:],))], ids=["two", "others"])
@pytest.mark.parametrize(("rules", "times"), [(IN_TIME, True), (WITHOUT_TIME, False)])
def test_few_clean_splits_warn(rules, times, shapes):
    """At most one in ten of some 15 splits: the Monte-Carlo error at one in ten is 0.08."""
    found = [
        codes
        for seed, shape in enumerate(shapes)
        for codes in warnings_of(shape, seed, rules, times=times)
    ]
    assert np.mean([bool(codes) for codes in found]) <= 0.1, counted(found)


def test_every_pass_says_what_was_looked_at():
    split = IN_TIME["two stages"].split(interactions(0, n_users=300, n_items=400, ratings=True))
    users = split.test["user"].unique().sort()
    lists = Popularity().fit(split.train).recommend(users, 10)
    rng = np.random.default_rng(0)
    found = rw.audit(
        split,
        claim="users",  # which these parts do not keep
        recommendations=lists,
        candidates=pl.DataFrame(
            {"user": np.repeat(users, 30), "item": rng.integers(0, 400, 30 * len(users))}
        ),
        items=pl.DataFrame({"item": range(400), "title": [f"item {i}" for i in range(400)]}),
        runs=pl.DataFrame({"run": ["a"], "part": ["test"], "purpose": ["report"]}),
    )
    ids = [split.train, split.test, pl.concat([split.train, split.test])]
    sizes = {len(rows) for rows in ids} | {
        rows[role].n_unique() for rows in ids for role in ("user", "item")
    }
    sizes |= {len(lists), 30 * len(users), 400, len(split.part("candidate_train")), len(users)}
    passes = {check.code: check.said for check in found.checks if check.status == "pass"}
    assert len(passes) >= 13
    passes.pop("L14")  # one evaluation
    for code, said in passes.items():
        numbers = {int(n.replace(",", "")) for n in re.findall(r"\b\d[\d,]*\b", said)}
        assert numbers & sizes, (code, said)


@pytest.mark.deep
@pytest.mark.parametrize("shape", LARGE, ids=str)
@pytest.mark.parametrize(("rules", "times"), [(IN_TIME, True), (WITHOUT_TIME, False)])
def test_few_large_clean_splits_warn(rules, times, shape):
    found = [codes for seed in range(2) for codes in warnings_of(shape, seed, rules, times=times)]
    assert np.mean([bool(codes) for codes in found]) <= 0.1, counted(found)


def test_drift_filters_and_cold_items_still_warn():
    """The limits are not so wide that nothing warns: what is not clean does."""
    rule = IN_TIME["one moment"]
    moving = interactions(0, n_users=800, n_items=1000, drift=400.0)
    cold = interactions(0, n_users=100, n_items=20_000, exponent=0.5)
    assert rw.audit(rule.split(moving))["L10"].status == "warn"
    assert rw.audit(rule.split(cold))["L11"].status == "warn"


@pytest.mark.parametrize("rule", WITHOUT_TIME.values(), ids=WITHOUT_TIME)
def test_with_timestamps_rules_that_do_not_claim_time_warn_of_the_future(rule):
    """That is a property of these splits, and not chance: training rows are later than test rows."""
    found = rw.audit(split_of(rule, interactions(0, n_users=300, n_items=300)))
    assert {"L3", "L8"} <= {check.code for check in found.checks if check.status == "warn"}
    assert not {check.code for check in found.checks if check.status in ("warn", "fail")} - {
        "L3",
        "L7",
        "L8",
        "L9",
        "L16",
    }
