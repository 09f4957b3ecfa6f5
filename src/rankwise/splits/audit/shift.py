"""How test differs from training: popularity, cold start, filters, heavy users (L10–L12, L20)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl

from rankwise.splits.audit.findings import Check, verdict
from rankwise.splits.audit.parts import PAIR, Parts

__all__ = ["cold", "filtered_before", "heavy_targets", "popularity_drift"]

_TOP = 10  # length of the list of popular items
_ERRORS = 3  # standard errors within which a difference of hits may be chance
_DAYS = 20  # days of a test below which the busiest has a large share anyway


def popularity_drift(parts: Parts) -> Check:
    """L10: whether the items that are popular in training are also popular in test."""
    from scipy.stats import spearmanr

    name = "popularity drift"
    counts = (
        _counts(parts.train, "item", "train")
        .join(_counts(parts.test, "item", "test"), on="item", how="full", coalesce=True)
        .fill_null(0)
    )
    before, after = counts["train"].to_numpy(), counts["test"].to_numpy()
    finding = f"counts of {len(counts):,} items in training and test: "
    finding += f"Jensen-Shannon divergence {_divergence(before, after):.3f}"
    if len(counts) > 2 and np.ptp(before) and np.ptp(after):
        finding += f", Spearman {spearmanr(before, after).statistic:.3f}"
    if not parts.has_times:
        return Check("L10", name, "pass", _divergence(before, after), finding)
    moment = parts.train["time"].quantile(0.9, interpolation="nearest")
    recent = parts.train.filter(pl.col("time") >= moment)
    of_recent, of_all = (_hit_by_top(part, parts.test) for part in (recent, parts.train))
    hits = [float(hit.mean()) for hit in (of_recent, of_all)]
    lift = hits[0] / hits[1] if hits[1] else (float("inf") if hits[0] else 1.0)
    # Where all items are equally popular, few rows are hit, and twice as many by chance.
    more, fewer = int((of_recent & ~of_all).sum()), int((of_all & ~of_recent).sum())
    is_large = lift > parts.limits.recent_lift
    is_chance = more - fewer <= _ERRORS * math.sqrt(more + fewer)
    finding += f"; the top {_TOP} of the last tenth of training hit {hits[0]:.2%} of test rows, "
    finding += f"of all training {hits[1]:.2%}"
    if is_large and is_chance:
        finding += f", which may be chance (within {_ERRORS} standard errors)"
    return Check("L10", name, verdict(is_large and not is_chance), lift, finding)


def _counts(frame: pl.DataFrame, by: str, name: str) -> pl.DataFrame:
    return frame.group_by(by).agg(pl.len().cast(pl.Int64).alias(name))


def _hit_by_top(train: pl.DataFrame, test: pl.DataFrame) -> Any:
    """Return whether each test row is of one of the most popular items of some training rows."""
    top = _counts(train, "item", "rows").sort(["rows", "item"], descending=[True, False])
    return test["item"].is_in(top["item"].head(_TOP).implode()).to_numpy()


def _divergence(first: Any, second: Any) -> float:
    """Return the Jensen-Shannon divergence of two counts in bits: 0 if equal, 1 if disjoint."""
    p, q = first / first.sum(), second / second.sum()
    middle = (p + q) / 2

    def entropy_to_middle(shares: Any) -> float:
        used = shares > 0
        return float((shares[used] * np.log2(shares[used] / middle[used])).sum())

    return (entropy_to_middle(p) + entropy_to_middle(q)) / 2


def cold(parts: Parts) -> Check:
    """L11: test rows of cold-start users or items."""
    name = "cold users and items"
    roles = ["item"] if parts.claim == "users" else PAIR  # that claim is to have cold users
    shares, is_cold = [], pl.Series([False]).new_from_index(0, len(parts.test))
    for role in roles:
        unknown = ~parts.test[role].is_in(_warm(parts, role)[role].implode())
        share_of_ids = parts.test[role].filter(unknown).n_unique() / parts.test[role].n_unique()
        share_of_rows = unknown.sum() / len(unknown)
        shares.append(f"{role}s {share_of_ids:.2%} ({share_of_rows:.2%} of rows)")
        is_cold |= unknown
    share = int(is_cold.sum()) / len(is_cold)
    finding = f"cold in {len(parts.test):,} test rows: {', '.join(shares)}; "
    finding += "evaluate(warm_and_cold=True) shows both"
    status = verdict(share > parts.limits.cold_rows)
    return Check("L11", name, status, share, finding, lambda: parts.test.filter(is_cold))


def _warm(parts: Parts, role: str) -> pl.DataFrame:
    """Return warm users, of whom a row is known before the test part, or the items of training."""
    frames = parts.known if role == "user" else [parts.train]
    return pl.concat([frame.select(role) for frame in frames]).unique()


def filtered_before(parts: Parts) -> Check:
    """L12: whether a minimum-count (k-core) filter was applied before splitting."""
    name = "filtered before the split"
    whole = pl.concat([frame.select(PAIR) for frame in parts.named.values()])
    findings, looked, frames = [], [], []
    for role in PAIR:
        counts = _counts(whole, role, "rows")["rows"].to_numpy()
        least, missing = int(counts.min()), _missing_below(counts)
        looked.append(f"{len(counts):,} {role}s have {least:,} or more rows over all parts")
        few = _counts(parts.train, role, "rows").filter(pl.col("rows") < least)
        if len(few) and (parts.filtered_before or missing > parts.limits.missing):
            frames.append(parts.train.join(few, on=role, how="semi"))
            why = (
                "the rule filters all rows"
                if parts.filtered_before
                else (f"about {missing:,.0f} are expected just below")
            )
            findings.append(f"{looked[-1]}, {why}, and {len(few):,} have less in training")
    rows = pl.concat(frames).unique() if frames else parts.train.head(0)
    finding = "; ".join(findings or looked)
    if findings:
        finding += f": a filter on training alone would change {len(rows):,} rows or more"
    else:
        finding += "; no sharp cut there that training lacks"
    return Check("L12", name, verdict(findings), len(rows), finding, lambda: rows)


def _missing_below(counts: Any) -> float:
    """Return how many ids are expected just below the least count, where there are none.

    A filter cuts a distribution of counts off where it is dense; without one it thins out towards
    its least count. So the number of ids goes on below as it falls from the second step above the
    least count to the first. Nothing is below a count of one, and where all counts are equal, none
    were cut off.
    """
    least = int(counts.min())
    step = max(1, least // 10)
    if least < 2:
        return 0.0
    first = int((counts < least + step).sum())
    second = int((counts < least + 2 * step).sum()) - first
    return first * min(1.0, first / second) if second else 0.0


def heavy_targets(parts: Parts) -> Check:
    """L20: whether a few users, or one day, make up the test."""
    name = "targets in few hands"
    limits = parts.limits
    users = _counts(parts.test, "user", "rows").sort("rows", "user", descending=True)
    rows = users["rows"]
    most, median = int(rows[0]) / len(parts.test), float(np.median(rows.to_numpy()))
    finding = f"test rows per user: median {median:g}, most {rows[0]:,} ({most:.2%} of "
    finding += f"{len(parts.test):,} rows of {len(users):,} users)"
    # The heaviest of few users has a large share whatever he does: by that share alone, small
    # tests would always warn.
    is_heavy = most > max(limits.heavy, limits.heavy_mean / len(users))
    day = 0.0
    if parts.has_times:
        assert parts.per_second is not None
        days = parts.test.select(day=(pl.col("time") / parts.per_second / 86400).floor())
        counts = _counts(days, "day", "rows")["rows"]
        day = int(counts.max()) / len(days)  # type: ignore[arg-type]
        finding += f"; busiest of {len(counts):,} days {day:.2%}"
        if len(counts) < _DAYS:
            day, finding = 0.0, f"{finding}, too few days for a limit"
    status = verdict(is_heavy or day > limits.busy_day)
    return Check("L20", name, status, max(most, day), finding, lambda: users)
