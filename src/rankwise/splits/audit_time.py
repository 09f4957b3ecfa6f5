"""Checks of time: training before test, how far apart they are, and what order times tell."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl

from rankwise.splits.audit_checks import Finding, at_fault, check, not_run, verdict
from rankwise.splits.audit_parts import Parts, Status
from rankwise.splits.split import future_shares

_UNIT = 100.0  # times between the last of one unit and the first of the next
_LEAST_OF_UNIT = 0.001  # the share of rows in the smaller unit: fewer are odd dates


@check("L3", "training before test", timed=True)
def boundary(parts: Parts) -> Finding:
    """L3: training rows not before the first test row, and how many at exactly its time.

    Worst verdict: fail if time is claimed, else warn.

    Remedy: Split at one moment for all users (`splits.GlobalTime`), or do not claim time.
    """
    first, last = parts.test["time"].min(), parts.train["time"].max()
    late = parts.train.filter(pl.col("time") > first)
    tied = parts.train.filter(pl.col("time") == first).height
    overlap = max(0.0, parts.seconds(last - first))  # type: ignore[operator]
    finding = f"of {len(parts.train):,} training rows {len(late):,} after the first test row, "
    finding += f"{tied:,} at the same time; "
    finding += f"the parts overlap by {_span(overlap)}"
    worst: Status = "fail" if parts.claim == "time" else "warn"
    bad = parts.train.filter(pl.col("time") >= first)
    return at_fault(bad, finding, worst)


@check("L7", "items of the future", timed=True)
def future_items(parts: Parts) -> Finding:
    """L7: recommended items, or test items, that did not exist yet.

    Finds: recommendations of items that did not exist yet; without recommendations, test rows
    of items that first appear after training.

    Worst verdict: warn; test rows above 0.2.

    Remedy: Train and recommend with the items that existed at the user's cut, or split at one
    moment.
    """
    first = pl.concat([part.select("item", "time") for part in parts.all_parts])
    first = first.group_by("item").agg(first=pl.col("time").min())
    end = parts.train["time"].max()
    new = parts.test.join(first.filter(pl.col("first") > end), on="item", how="semi")
    share = len(new) / len(parts.test)
    finding = (
        f"{share:.2%} of {len(parts.test):,} test rows are of items that appear after training"
    )
    if parts.lists is None:
        status = verdict(share > parts.limits.cold_rows)
        return status, share, f"{finding}; recommendations would tell more", lambda: new
    tested = parts.test.group_by("user").agg(asked=pl.col("time").min())
    lists = parts.lists.join(tested, on="user", how="inner").join(first, on="item", how="left")
    bad = lists.filter(pl.col("first") > pl.col("asked"))
    exposed = len(bad) / max(1, len(lists))
    exposure = f"{exposed:.2%} of {len(lists):,} recommendations to test users are of items first "
    exposure += "seen after the user's test"
    return verdict(len(bad)), exposed, f"{exposure}; {finding}", lambda: bad


@check("L8", "leak index", timed=True)
def future_data(parts: Parts) -> Finding:
    """L8: the leak index: the share of training rows later than a test row, averaged over test rows.

    Worst verdict: fail if time is claimed, else warn.

    Remedy: Split at one moment, where the claim is about the future. For a random holdout, say
    that it does not claim time.
    """
    train, test = (part["time"].sort().to_numpy() for part in (parts.train, parts.test))
    shares = future_shares(train, test)
    mean = float(shares.mean())
    finding = f"of {len(train):,} training rows, those after a test row: mean {mean:.2%}, most "
    finding += f"{shares.max():.2%} over {len(test):,} test rows"
    worst: Status = "fail" if parts.claim == "time" else "warn"
    bad = parts.test.filter(pl.col("time") < parts.train["time"].max())
    return verdict(mean > 0, worst=worst), mean, finding, lambda: bad


@check("L9", "horizon", timed=True)
def horizon(parts: Parts) -> Finding:
    """L9: the time span of test over that of training, and how far test rows lie after training.

    Worst verdict: warn above 0.5.

    Remedy: Test a shorter period, or train the model again within it (`splits.TimeWindows`).
    """
    test, train = parts.test["time"].to_numpy(), parts.train["time"].to_numpy()
    # Differences of Python's numbers and of floats: those of 64-bit integers may overflow.
    spans = [parts.seconds(times.max().item() - times.min().item()) for times in (test, train)]
    ratio = spans[0] / spans[1] if spans[1] else (float("inf") if spans[0] else 0.0)
    since = test.astype(np.float64) - float(train.max())
    median, far = (parts.seconds(np.quantile(since, level)) for level in (0.5, 0.95))
    finding = f"{len(test):,} test rows span {_span(spans[0])}, {len(train):,} training rows "
    finding += f"{_span(spans[1])}; targets lie "
    finding += f"{_span(median)} (median), {_span(far)} (95 %) past the end of training"
    return verdict(ratio > parts.limits.test_span), ratio, finding


@check("L16", "cut between equal times", timed=True)
def torn(parts: Parts) -> Finding:
    """L16: test users who are cut between rows of equal time.

    Finds: test users whose last row before test, in training, validation or history, and first
    test row have the same time.

    Worst verdict: warn above 0.01.

    Remedy: Use exact times, or cut between days.
    """
    known = [frame.select("user", "time") for frame in parts.known if "time" in frame.columns]
    last = pl.concat(known).group_by("user").agg(last=pl.col("time").max())
    first = parts.test.group_by("user").agg(first=pl.col("time").min())
    bad = first.join(last, on="user").filter(pl.col("last") == pl.col("first"))
    share = len(bad) / len(first)
    finding = f"for {len(bad):,} of {len(first):,} test users the order of equal times decided"
    return verdict(share > parts.limits.torn), share, finding, lambda: bad


@check("L22", "times that tell an order")
def times_in_order(parts: Parts) -> Finding:
    """L22: whether times can order rows: they exist, are more than one, and are in one unit.

    Finds: times without an order: none at all, one for every row, seconds and milliseconds in
    one column, or one time of many rows and users, as from an import.

    Worst verdict: fail if time is claimed, else warn.

    Remedy: Give each row its exact time, in one unit.
    """
    if not parts.has_times:
        if parts.claim == "time":
            return "fail", None, "the split claims to be in time, and its rows have no times"
        return not_run("timestamps in train and test")
    moments = parts.train["time"].n_unique()
    times = pl.concat([frame["time"].cast(pl.Float64) for frame in parts.all_parts]).abs()
    times = times.filter(times > 0).sort()
    finding = f"{len(parts.train):,} training rows have {moments:,} different times"
    if moments == 1 and len(parts.train) > 1:
        return (
            verdict(True, worst="fail" if parts.claim == "time" else "warn"),
            moments,
            f"{finding}: no order",
        )
    pile = _pile_of_one_time(parts.train)
    if pile is not None:
        rows, users = pile
        return "warn", rows, f"{finding}; {rows:,} rows of {users:,} users have one: an import?"
    ratios = (times / times.shift(1)).fill_null(1.0)
    at = int(ratios.arg_max() or 0)
    if min(at, len(times) - at) > _LEAST_OF_UNIT * len(times):
        ratio = float(times[at:].median()) / float(times[:at].median())  # type: ignore[arg-type]
        unit = 1000.0 ** round(math.log(ratio, 1000))
        if unit > 1 and 0.5 < ratio / unit < 2 and float(ratios[at]) > _UNIT:
            finding += (
                f"; {at:,} of {len(times):,} times are about {unit:,.0f} times smaller than "
                "the others"
            )
            return "warn", ratio, f"{finding}: seconds and milliseconds in one column?"
    return "pass", moments, finding


@check("L23", "order of users' rows", timed=True)
def order_of_rows(parts: Parts) -> Finding:
    """L23: whether the order of users' rows in time tells more than a shuffled order.

    Where users see or choose items one after the other, the same two items follow one another more
    often than in shuffled histories (Klenitskiy et al. 2024, Does It Look Sequential?). Times that
    were shuffled, rounded or given by an import have no such pairs.

    Finds: times without a sequence: in users' histories the same two items are consecutive no
    more often than in shuffled histories (20 shuffles, of at most 500,000 training rows).

    Worst verdict: warn below 3 standard errors, if at least 200 repetitions are expected by
    chance.

    Remedy: Look where the times come from: an import, a rounding, a join. Do not compare
    sequential models on them.
    """
    histories = _histories_in_time(parts.train)
    rng = np.random.default_rng(0)
    observed = _repetitions(*histories)
    shuffled = np.array([_repetitions(*_shuffled(*histories, rng)) for _ in range(_SHUFFLES)])
    mean, deviation = float(shuffled.mean()), float(shuffled.std(ddof=1))
    rows = len(histories[0])
    finding = f"in {rows:,} training rows the same two items follow one another {observed:,} times "
    finding += f"again, in shuffled histories {mean:,.0f} times"
    if mean < _LEAST_REPETITIONS:
        return "pass", None, f"{finding}: too few to tell whether times carry an order"
    z = (observed - mean) / max(deviation, math.sqrt(mean))
    if z >= _TOLD:
        return "pass", z, finding
    return "warn", z, f"{finding}: times carry no order that a sequential model could learn"


_SHUFFLES = 20
_SAMPLED = 500_000  # training rows of users who are looked at
_LEAST_REPETITIONS = 200  # in shuffled histories: fewer hide an order
_TOLD = 3.0  # standard errors above shuffled histories


def _histories_in_time(train: pl.DataFrame) -> tuple[Any, Any]:
    """Return codes of users and of items, user by user in time, of a sample of users."""
    rows = train.select("user", "item", "time")
    if len(rows) > _SAMPLED:
        users = rows["user"].unique().sort().shuffle(seed=0)
        users = users.head(max(1, len(users) * _SAMPLED // len(rows)))
        rows = rows.filter(pl.col("user").is_in(users.implode()))
    rows = rows.sort("user", "time", maintain_order=True)
    codes = (rows[role].rank("dense").to_numpy().astype(np.int64) - 1 for role in ("user", "item"))
    return next(codes), next(codes)


def _shuffled(users: Any, items: Any, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return histories whose items are in a random order."""
    return users, items[np.lexsort((rng.random(len(users)), users))]


def _repetitions(users: Any, items: Any) -> int:
    """Return how many pairs of places have the same two items one after the other."""
    n_items = int(items.max(initial=0)) + 1
    pairs = (items[:-1] * n_items + items[1:])[users[1:] == users[:-1]]
    _, counts = np.unique(pairs, return_counts=True)
    return int((counts * (counts - 1) // 2).sum())


_PILE, _HIGHER = 0.05, 10.0
"""The share of rows of one time that are a pile, and how much more they are than of any other."""


def _pile_of_one_time(train: pl.DataFrame) -> tuple[int, int] | None:
    """Return the rows and users of one time that stands out, as of an import; None if none does."""
    counts = train["time"].value_counts(sort=True)
    if len(counts) < 2:
        return None
    first, second = counts["count"][:2].to_list()
    if first < _PILE * len(train) or first < _HIGHER * second:
        return None
    users = train.filter(pl.col("time") == counts["time"][0])["user"].n_unique()
    return (first, users) if users > 1 else None


def _span(seconds: float) -> str:
    sign, size = "-" if seconds < 0 else "", abs(seconds)
    for limit, unit in ((2 * 86400, "days"), (2 * 3600, "hours"), (120, "minutes")):
        if size >= limit:
            return f"{sign}{size / (limit / 2):.1f} {unit}"
    return f"{sign}{size:g} s"
