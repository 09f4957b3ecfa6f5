"""A comparison in Spark is that of `rankwise.compare` with t tests, from sums."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import rankwise as rw
from rankwise.errors import ParameterError
from rankwise.options import compared_options
from rankwise.spark.tables import send
from rankwise.stats import paired_t
from rankwise.stats.differences import Differences
from rankwise.stats.paired_tests import t_interval_of, t_test
from rankwise.stats.variance_components import PairSums

rs = pytest.importorskip("rankwise.spark")

USERS = 1_200
METRICS = ["ndcg@5", "recall@5", "gini@5"]


@pytest.fixture(scope="module")
def systems():
    """Lists of three systems for the same users, one of them without a few users."""
    rng = np.random.default_rng(5)
    truth = pl.DataFrame(
        {"user": np.repeat(np.arange(USERS), 3), "item": rng.integers(0, 40, 3 * USERS)}
    ).unique()
    lists = {}
    for name, share in (("one", 0.2), ("two", 0.35), ("three", 0.2)):
        items = np.array([rng.permutation(40)[:5] for _ in range(USERS)])
        hit = rng.random(USERS) < share
        items[hit, 0] = 40 + np.flatnonzero(hit)
        own = pl.DataFrame(
            {
                "user": np.repeat(np.arange(USERS), 5),
                "item": items.ravel(),
                "rank": np.tile(np.arange(1, 6), USERS),
            }
        )
        lists[name] = own
    extra = pl.DataFrame({"user": np.arange(USERS), "item": 40 + np.arange(USERS)})
    return lists, pl.concat([truth, extra])


def test_why_a_value_is_not_compared(spark):
    """With a jackknife and without groups: the way out is the other function, not the jackknife."""
    lists = {"ann": [4, 5], "bob": [5, 6]}
    pair = [
        rs.evaluate(
            lists, {"ann": [5], "bob": [6]}, ["coverage@2", "mrr"], jackknife=2, spark=spark
        )
        for _ in "AB"
    ]
    (reason,) = rs.compare(*pair).design.not_compared.values()
    assert "rankwise.compare takes it" in reason
    assert "groups" not in reason
    assert "catalog_coverage@2" in rw.compare(*pair).table["metric"].to_list()


@pytest.mark.slow
def test_it_is_the_comparison_of_one_process(spark, systems):
    lists, truth = systems
    there = {
        name: rs.evaluate(
            send(spark, own), send(spark, truth), METRICS, spark=spark, buckets=2, collect=False
        )
        for name, own in lists.items()
    }
    here = {name: rw.evaluate(own, truth, METRICS) for name, own in lists.items()}
    ours = rs.compare(there, baseline="one", margin=0.01)
    theirs = rw.compare(here, baseline="one", margin=0.01)
    assert not any(result.is_collected for result in there.values())
    assert ours.design.not_compared.keys() == theirs.design.not_compared.keys()
    assert ours.table.columns == theirs.table.columns
    of_margins = {name for name in theirs.table.columns if name.startswith("margin_")}
    of_users = {
        "p_equivalence",
        "p_equivalence_adjusted",
        "p_non_inferior",
        "users_needed",
        "within_margin",
        "flags",
    }
    of_users |= of_margins  # which bounded means of users invert
    of_users |= {"users_for_any_low", "users_for_any_high"}
    of_histograms = {"p", "p_adjusted", "low", "high", "largest_loss", "minimum_detectable"}
    of_histograms |= {f"{end}_{kind}" for end in ("low", "high") for kind in ("alone", "together")}
    of_histograms |= {"lift_low", "lift_high", "condition"}
    assert any(
        "margin tested by t" in flag for flag in ours["two"]["flags"]
    )  # sums do not tell of rare losses
    for column in theirs.table.columns:
        if column in of_users:
            continue
        if column == "cliffs_delta":
            assert ours.table[column].is_nan().all()
        elif column in of_histograms:
            np.testing.assert_allclose(ours.table[column], theirs.table[column], rtol=0.01)
        elif theirs.table[column].dtype == pl.Float64:
            np.testing.assert_allclose(ours.table[column], theirs.table[column], rtol=1e-9)
        else:
            assert ours.table[column].equals(theirs.table[column], null_equal=True), column
    assert ours["two"]["verdict"] == "better"
    assert "two" in str(ours)


def test_every_option_that_moves_a_number_is_compared(spark, systems):
    lists, truth = systems
    whole = rs.evaluate(
        send(spark, lists["one"]), send(spark, truth), "recall@5", spark=spark, ties=None
    )
    for name, entry in compared_options().items():
        if entry.metadata["agreement"] == "where_read":
            continue  # recall reads no catalogue
        sides = []
        for value in ("one", "other"):
            settings = {**whole.provenance["settings"], name: value, "ties_given": True}
            affected = dict.fromkeys(entry.metadata["counted"], 1)
            counts = {**whole.counts, **affected}
            sides.append(
                replace(whole, counts=counts, provenance={**whole.provenance, "settings": settings})
            )
        with pytest.raises(ParameterError, match=f"different settings of {name}\n"):
            rs.compare(*sides)


def test_missing_users(spark, systems):
    lists, truth = systems
    whole = rs.evaluate(send(spark, lists["one"]), send(spark, truth), "recall@5", spark=spark)
    some = lists["two"].filter(pl.col("user") >= 10)
    part = rs.evaluate(
        send(spark, some), send(spark, truth), "recall@5", spark=spark, population="both"
    )
    with pytest.raises(ParameterError, match="different settings of population"):
        rs.compare(whole, part)
    with pytest.raises(ParameterError, match="a value of recall@5 in one result"):
        rs.compare(whole, part, force=True)
    assert rs.compare(whole, part, force=True, missing="common")["B"]["users"] == USERS - 10
    zero = rs.compare(whole, part, force=True, missing="zero")["B"]
    assert zero["users"] == USERS
    assert "10 missing values taken for 0" in zero["dropped_because"]


def test_what_cannot_be_compared(spark, systems):
    lists, truth = systems
    one = rs.evaluate(send(spark, lists["one"]), send(spark, truth), "recall@5", spark=spark)
    other = truth.filter(pl.col("user") != 7)
    extra = pl.concat([other, pl.DataFrame({"user": [7], "item": [3]})])
    two = rs.evaluate(send(spark, lists["two"]), send(spark, extra), "recall@5", spark=spark)
    with pytest.raises(ParameterError, match="different truths"):
        rs.compare(one, two)
    with pytest.raises(ParameterError, match="can be compared in Spark"):
        rs.compare(one, rw.evaluate(lists["two"], truth, "recall@5"))
    with pytest.raises(ParameterError, match="correction"):
        rs.compare(one, one, correction="tukey")


def test_sums_tell_what_pairs_tell():
    rng = np.random.default_rng(1)
    x, y = 1e6 + rng.random(500), 1e6 + rng.random(500)
    pairs = Differences(x, y)
    parts = [PairSums.of(Differences(x[i::3], y[i::3])) for i in range(3)]
    sums = parts[2] + parts[0] + parts[1]
    assert t_test(sums).p == pytest.approx(paired_t(x, y).p, rel=1e-9)
    low, high = t_interval_of(sums, confidence=0.95)
    assert (low, high) == pytest.approx(tuple(t_interval_of(pairs, confidence=0.95)), rel=1e-9)
    np.testing.assert_allclose(sums.covariance, pairs.covariance, rtol=1e-9)
    same = PairSums.of(Differences(x, x))
    assert t_test(same).p == 1.0
    assert same.flags == ("identical",)
    assert PairSums.of(Differences(x, x - 1)).deviation == 0.0
