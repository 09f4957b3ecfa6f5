"""How test differs from training: popularity, cold start, filters, copies (L10–L12, L15, L20)."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from rankwise.core.hashing import combined, hash_of_column
from rankwise.splits.audit.findings import Check, verdict
from rankwise.splits.audit.parts import PAIR, Parts

__all__ = ["cold", "copies", "filtered_before", "heavy_targets", "popularity_drift"]

_TOP = 10  # length of the list of popular items
_LEAST = 3  # items of a history from which a copy of it is no coincidence


def popularity_drift(parts: Parts) -> Check:
    """L10: whether the items that are popular in training are also popular in test."""
    from scipy.stats import spearmanr

    name = "popularity drift"
    counts = _counts(parts.train, "item", "train").join(
        _counts(parts.test, "item", "test"), on="item", how="full", coalesce=True
    ).fill_null(0)  # fmt: skip
    before, after = counts["train"].to_numpy(), counts["test"].to_numpy()
    finding = f"Jensen-Shannon divergence {_divergence(before, after):.3f}"
    if len(counts) > 2 and np.ptp(before) and np.ptp(after):
        finding += f", Spearman {spearmanr(before, after).statistic:.3f}"
    if not parts.has_times:
        return Check("L10", name, "pass", _divergence(before, after), finding)
    moment = parts.train["time"].quantile(0.9, interpolation="nearest")
    recent = parts.train.filter(pl.col("time") >= moment)
    hits = [_share_of_top(part, parts.test) for part in (recent, parts.train)]
    lift = hits[0] / hits[1] if hits[1] else (float("inf") if hits[0] else 1.0)
    finding += f"; the top {_TOP} of the last tenth of training hit {hits[0]:.2%} of test rows, "
    finding += f"of all training {hits[1]:.2%}"
    return Check("L10", name, verdict(lift > parts.limits.recent_lift), lift, finding)


def _counts(frame: pl.DataFrame, by: str, name: str) -> pl.DataFrame:
    return frame.group_by(by).agg(pl.len().cast(pl.Int64).alias(name))


def _share_of_top(train: pl.DataFrame, test: pl.DataFrame) -> float:
    top = _counts(train, "item", "rows").sort(["rows", "item"], descending=[True, False])
    return test.join(top.head(_TOP), on="item", how="semi").height / len(test)


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
    finding = f"cold in test: {', '.join(shares)}; evaluate(warm_and_cold=True) shows both"
    status = verdict(share > parts.limits.cold_rows)
    return Check("L11", name, status, share, finding, lambda: parts.test.filter(is_cold))


def _warm(parts: Parts, role: str) -> pl.DataFrame:
    """Return warm users or items: those of training, and users known at prediction time."""
    frames = [parts.train.select(role)]
    if role == "user" and parts.history is not None:
        frames.append(parts.history.select(role))
    return pl.concat(frames).unique()


def filtered_before(parts: Parts) -> Check:
    """L12: whether a minimum-count (k-core) filter was applied before splitting."""
    name = "filtered before the split"
    whole = pl.concat([part.select(PAIR) for part in parts.all_parts])
    findings, frames = [], []
    for role in PAIR:
        least = int(_counts(whole, role, "rows")["rows"].min())  # type: ignore[arg-type]
        few = _counts(parts.train, role, "rows").filter(pl.col("rows") < least)
        if least > 1 and len(few):
            frames.append(parts.train.join(few, on=role, how="semi"))
            findings.append(f"every {role} has at least {least} rows over all parts, "
                            f"and {len(few):,} have less in training")  # fmt: skip
    rows = pl.concat(frames).unique() if frames else parts.train.head(0)
    finding = "; ".join(findings) or "no least count holds over all parts and fails in training"
    if findings:
        finding += f": a filter on training alone would change {len(rows):,} rows or more"
    return Check("L12", name, verdict(findings), len(rows), finding, lambda: rows)


def copies(parts: Parts) -> Check:
    """L15: users with exactly another user's items, and items listed twice."""
    name = "copies of users and items"
    pairs = pl.concat([parts.train.select(PAIR), parts.test.select(PAIR)]).unique()
    hashes = [combined([hash_of_column(pairs["item"])], seed) for seed in (1, 2)]
    hashed = pairs.with_columns(sum_1=pl.Series(hashes[0]), sum_2=pl.Series(hashes[1]))
    sets = hashed.group_by("user").agg(pl.col("sum_1", "sum_2").sum(), items=pl.len())
    sets = sets.filter(pl.col("items") >= _LEAST)
    same = sets.filter(pl.len().over("sum_1", "sum_2", "items") > 1)
    share = len(same) / pairs["user"].n_unique()
    finding = f"{len(same):,} users have exactly another's {_LEAST} items or more ({share:.2%})"
    items = parts.extra.get("items")
    twice = pl.DataFrame()
    if items is not None:
        text = [n for n, kind in items.frame.schema.items() if kind == pl.String and n != "item"]
        title = next((n for n in text if items.frame[n].n_unique() > len(items.frame) // 2), None)
        if title is not None:
            twice = items.frame.filter(pl.col(title).is_duplicated() & pl.col(title).is_not_null())
            finding += f"; {len(twice):,} items share their {title} with another"
    status = verdict(share > parts.limits.same_history or len(twice))

    def rows() -> pl.DataFrame:
        return same.sort("sum_1", "user").select("user", "items") if len(same) else twice

    return Check("L15", name, status, len(same), finding, rows)


def heavy_targets(parts: Parts) -> Check:
    """L20: whether a few users, or one day, make up the test."""
    name = "targets in few hands"
    users = _counts(parts.test, "user", "rows").sort("rows", "user", descending=True)
    rows = users["rows"]
    most = int(rows[0]) / len(parts.test)
    median = float(np.median(rows.to_numpy()))
    finding = f"test rows a user: median {median:g}, most {rows[0]:,} ({most:.2%} of all)"
    if len(users) < 2 / parts.limits.heavy:
        finding += "; too few users for a limit"
        return Check("L20", name, "pass", most, finding, lambda: users)
    day = 0.0
    if parts.has_times:
        assert parts.per_second is not None
        days = parts.test.select(day=(pl.col("time") / parts.per_second / 86400).floor())
        counts = _counts(days, "day", "rows")["rows"]
        busiest = int(counts.max()) / len(days)  # type: ignore[arg-type]
        day = busiest if len(counts) >= 2 / parts.limits.heavy else 0.0
        finding += f"; busiest of {len(counts):,} days {busiest:.2%}"
    status = verdict(max(most, day) > parts.limits.heavy)
    return Check("L20", name, status, max(most, day), finding, lambda: users)
