"""Off-policy values on Spark are those of one process, to the bit."""

from __future__ import annotations

import polars as pl
import pytest

import rankwise as rw
from rankwise.errors import EmptyError, InputError, ParameterError
from rankwise.spark.tables import send

rs = pytest.importorskip("rankwise.spark")

LOG = rw.datasets.logged(users=150, seed=4)
SLATES = rw.datasets.logged(users=60, positions=3, items=6, interaction=0.5, seed=2).exposures
TARGETS = {
    "new": "p_new",
    "even": rw.policies.Uniform(),
    "table": LOG.policies.select("segment", "item", probability="p_new"),
}


def assert_same(there, here):
    for name in ("table", "differences", "sensitivity", "positions", "per_user"):
        one, other = getattr(there, name), getattr(here, name)
        assert one.equals(other.cast(dict(one.schema)), null_equal=True), name
    assert (there.counts, there.settings) == (here.counts, here.settings)
    assert there.sources["exposures"]["rows"] == here.sources["exposures"]["rows"]


def test_the_bits_of_one_process(spark):
    here = rw.off_policy(LOG.exposures, targets=TARGETS, by="segment")
    assert_same(
        rs.off_policy(send(spark, LOG.exposures), targets=TARGETS, by="segment", buckets=3), here
    )


def test_slates_and_text(spark):
    frame = SLATES.with_columns(pl.format("u{}", "user").alias("user"))
    here = rw.off_policy(frame, targets={"new": "p_new"}, propensities="conditional")
    there = rs.off_policy(
        send(spark, frame), targets={"new": "p_new"}, propensities="conditional", buckets=2
    )
    assert_same(there, here)


def test_outcomes_of_a_spark_table(spark):
    exposures = LOG.exposures.drop("click")
    clicks = LOG.exposures.filter(click=1).select("request", "item")
    there = rs.off_policy(
        send(spark, exposures), send(spark, clicks), targets={"new": "p_new"}, buckets=2
    )
    assert_same(there, rw.off_policy(exposures, clicks, targets={"new": "p_new"}))


def test_rows_without_ids(spark):
    frame = LOG.exposures.drop("user", "request")
    there = rs.off_policy(send(spark, frame), targets={"new": "p_new"}, buckets=3)
    here = rw.off_policy(frame, targets={"new": "p_new"})
    assert there.table.equals(here.table)
    assert there.differences.equals(here.differences)


def test_errors_come_back(spark):
    bad = LOG.exposures.with_columns(propensity=pl.lit(0.0))
    with pytest.raises(InputError, match="above 0 and at most 1"):
        rs.off_policy(send(spark, bad), targets={"new": "p_new"}, buckets=1)
    with pytest.raises(EmptyError, match="exposures"):
        rs.off_policy(send(spark, bad.clear()), targets={"new": "p_new"}, buckets=1)
    with pytest.raises(ParameterError, match="needs the log at once"):
        rs.off_policy(
            send(spark, bad), targets={"new": "p_new"}, propensity="shares", within=["segment"]
        )
    with pytest.raises(ParameterError, match="threads is for one process"):
        rs.off_policy(send(spark, bad), targets={"new": "p_new"}, threads=2)
