"""What a log would detect, and which outcomes a window is about."""

from __future__ import annotations

from datetime import datetime, timedelta

import polars as pl
import pytest

import rankwise as rw
from rankwise.errors import ParameterError


def test_what_would_be_detected_has_room_for_an_unseen_request():
    shown = 0
    for seed in range(1, 9):
        log = rw.datasets.logged(users=800, seed=seed)
        found = rw.off_policy(log.exposures, targets={"new": "p_new"}, reward_range=(0, 100))
        row = found.differences.row(0, named=True)
        assert row["minimum_detectable"] > row["difference"] - row["low"]
        shown += row["verdict"] == "better"
        true = log.truth["new"] - log.truth["logged"]
        assert row["minimum_detectable"] > true
    assert shown == 0


def test_a_window_beside_requests_is_refused():
    log, start = rw.datasets.logged(users=100, seed=1), datetime(2025, 1, 1)
    exposures = log.exposures.drop("click").with_columns(timestamp=pl.lit(start))
    clicks = log.exposures.filter(pl.col("click") == 1).select("request", "user", "item")
    late = clicks.with_columns(timestamp=pl.lit(start + timedelta(days=30)))
    with pytest.raises(ParameterError, match="belong to the request that they name"):
        rw.off_policy(exposures, late, targets={"new": "p_new"}, window="1h")
    assert rw.off_policy(exposures, late, targets={"new": "p_new"}).table.height
