"""Leakage in time: boundary, items and data of the future, horizon, ties (L3, L7–L9, L16)."""

from __future__ import annotations

import numpy as np
import polars as pl

from rankwise.splits.audit.findings import Check, Status, not_run, verdict
from rankwise.splits.audit.parts import Parts
from rankwise.splits.card import future_shares

__all__ = ["boundary", "future_data", "future_items", "horizon", "torn"]

_TIMES = "timestamps in train and test"


def boundary(parts: Parts) -> Check:
    """L3: training rows at or after the first test row."""
    name = "training before test"
    if not parts.has_times:
        return not_run("L3", name, _TIMES)
    first, last = parts.test["time"].min(), parts.train["time"].max()
    late = parts.train.filter(pl.col("time") > first)
    tied = parts.train.filter(pl.col("time") == first).height
    overlap = max(0.0, parts.seconds(last - first))  # type: ignore[operator]
    finding = f"of {len(parts.train):,} training rows {len(late):,} after the first test row, "
    finding += f"{tied:,} at the same time; "
    finding += f"the parts overlap by {_span(overlap)}"
    worst: Status = "fail" if parts.claim == "time" else "warn"
    bad = parts.train.filter(pl.col("time") >= first)
    return Check("L3", name, verdict(len(bad), worst=worst), len(bad), finding, lambda: bad)


def future_items(parts: Parts) -> Check:
    """L7: recommended items, or test items, that did not exist yet."""
    name = "items of the future"
    if not parts.has_times:
        return not_run("L7", name, _TIMES)
    first = pl.concat([part.select("item", "time") for part in parts.all_parts])
    first = first.group_by("item").agg(first=pl.col("time").min())
    end = parts.train["time"].max()
    new = parts.test.join(first.filter(pl.col("first") > end), on="item", how="semi")
    share = len(new) / len(parts.test)
    finding = f"{share:.2%} of {len(parts.test):,} test rows are of items that appear after training"
    if parts.lists is None:
        status = verdict(share > parts.limits.cold_rows)
        return Check("L7", name, status, share, f"{finding}; recommendations would tell more", lambda: new)
    asked = parts.test.group_by("user").agg(asked=pl.col("time").min())
    lists = parts.lists.join(asked, on="user", how="inner").join(first, on="item", how="left")
    bad = lists.filter(pl.col("first") > pl.col("asked"))
    exposed = len(bad) / max(1, len(lists))
    exposure = f"{exposed:.2%} of {len(lists):,} recommendations to test users are of items first "
    exposure += "seen after the user's test"
    return Check("L7", name, verdict(len(bad)), exposed, f"{exposure}; {finding}", lambda: bad)


def future_data(parts: Parts) -> Check:
    """L8: the share of training rows after each test row."""
    name = "leak index"
    if not parts.has_times:
        return not_run("L8", name, _TIMES)
    train, test = (part["time"].sort().to_numpy() for part in (parts.train, parts.test))
    shares = future_shares(train, test)
    mean = float(shares.mean())
    finding = f"of {len(train):,} training rows, those after a test row: mean {mean:.2%}, most "
    finding += f"{shares.max():.2%} over {len(test):,} test rows"
    worst: Status = "fail" if parts.claim == "time" else "warn"
    bad = parts.test.filter(pl.col("time") < parts.train["time"].max())
    return Check("L8", name, verdict(mean > 0, worst=worst), mean, finding, lambda: bad)


def horizon(parts: Parts) -> Check:
    """L9: the time between the end of training and the test rows."""
    name = "horizon"
    if not parts.has_times:
        return not_run("L9", name, _TIMES)
    test, train = parts.test["time"].to_numpy(), parts.train["time"].to_numpy()
    # Differences of Python's numbers and of floats: those of 64-bit integers may overflow.
    spans = [parts.seconds(times.max().item() - times.min().item()) for times in (test, train)]
    ratio = spans[0] / spans[1] if spans[1] else (float("inf") if spans[0] else 0.0)
    since = test.astype(np.float64) - float(train.max())
    median, far = (parts.seconds(np.quantile(since, level)) for level in (0.5, 0.95))
    finding = f"{len(test):,} test rows span {_span(spans[0])}, {len(train):,} training rows "
    finding += f"{_span(spans[1])}; targets lie "
    finding += f"{_span(median)} (median), {_span(far)} (95 %) past the end of training"
    return Check("L9", name, verdict(ratio > parts.limits.test_span), ratio, finding)


def torn(parts: Parts) -> Check:
    """L16: test users who are cut between rows of equal time."""
    name = "cut between equal times"
    if not parts.has_times:
        return not_run("L16", name, _TIMES)
    last = parts.train.group_by("user").agg(last=pl.col("time").max())
    first = parts.test.group_by("user").agg(first=pl.col("time").min())
    bad = first.join(last, on="user").filter(pl.col("last") == pl.col("first"))
    share = len(bad) / len(first)
    finding = f"for {len(bad):,} of {len(first):,} test users the order of equal times decided"
    return Check("L16", name, verdict(share > parts.limits.torn), share, finding, lambda: bad)


def _span(seconds: float) -> str:
    sign, size = "-" if seconds < 0 else "", abs(seconds)
    for limit, unit in ((2 * 86400, "days"), (2 * 3600, "hours"), (120, "minutes")):
        if size >= limit:
            return f"{sign}{size / (limit / 2):.1f} {unit}"
    return f"{sign}{size:g} s"
