"""How test differs from training: popularity, cold, filters, copies, heavy users (L10–L12, …)."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from rankwise.auditing.parts import PAIR, Parts
from rankwise.auditing.report import Check, verdict
from rankwise.splits.hashing import combined, hash_of_column

__all__ = ["cold", "copies", "filtered_before", "heavy_targets", "popularity_drift"]

_TOP = 10  # items that a list of the popular holds
_LEAST = 3  # items of a history before its repetition means something


def popularity_drift(parts: Parts) -> Check:
    """L10: whether the popular items of training are those of test."""
    from scipy.stats import spearmanr

    name = "popularity drift"
    counts = _counts(parts.train, "item", "train").join(
        _counts(parts.test, "item", "test"), on="item", how="full", coalesce=True
    ).fill_null(0)  # fmt: skip
    before, after = counts["train"].to_numpy(), counts["test"].to_numpy()
    said = f"Jensen-Shannon divergence {_divergence(before, after):.3f}"
    if len(counts) > 2 and np.ptp(before) and np.ptp(after):
        said += f", Spearman {spearmanr(before, after).statistic:.3f}"
    if not parts.has_times:
        return Check("L10", name, "pass", _divergence(before, after), said)
    moment = parts.train["time"].quantile(0.9, interpolation="nearest")
    recent = parts.train.filter(pl.col("time") >= moment)
    hits = [_share_of_top(part, parts.test) for part in (recent, parts.train)]
    lift = hits[0] / hits[1] if hits[1] else (float("inf") if hits[0] else 1.0)
    said += f"; the top {_TOP} of the last tenth of training hit {hits[0]:.2%} of test rows, "
    said += f"of all training {hits[1]:.2%}"
    return Check("L10", name, verdict(lift > parts.limits.recent_lift), lift, said)


def _counts(frame: pl.DataFrame, by: str, name: str) -> pl.DataFrame:
    return frame.group_by(by).agg(pl.len().cast(pl.Int64).alias(name))


def _share_of_top(known: pl.DataFrame, test: pl.DataFrame) -> float:
    top = _counts(known, "item", "rows").sort(["rows", "item"], descending=[True, False])
    return test.join(top.head(_TOP), on="item", how="semi").height / len(test)


def _divergence(first: Any, second: Any) -> float:
    """Return the Jensen-Shannon divergence of two counts, in bits: 0 the same, 1 disjoint."""
    p, q = first / first.sum(), second / second.sum()
    middle = (p + q) / 2

    def relative(of: Any) -> float:
        some = of > 0
        return float((of[some] * np.log2(of[some] / middle[some])).sum())

    return (relative(p) + relative(q)) / 2


def cold(parts: Parts) -> Check:
    """L11: test rows of users or items without training."""
    name = "cold users and items"
    roles = ["item"] if parts.claim == "users" else PAIR  # users without training are its point
    shares, found = [], pl.Series([False]).new_from_index(0, len(parts.test))
    for role in roles:
        unknown = ~parts.test[role].is_in(_known(parts, role)[role].implode())
        own = parts.test[role].filter(unknown).n_unique() / parts.test[role].n_unique()
        shares.append(f"{role}s {own:.2%} ({unknown.sum() / len(unknown):.2%} of rows)")
        found |= unknown
    share = int(found.sum()) / len(found)
    said = f"cold in test: {', '.join(shares)}; evaluate(warm_and_cold=True) shows both"
    status = verdict(share > parts.limits.cold_rows)
    return Check("L11", name, status, share, said, lambda: parts.test.filter(found))


def _known(parts: Parts, role: str) -> pl.DataFrame:
    """Return warm users or items: trained on, or, for users, with a history at prediction."""
    known = [parts.train.select(role)]
    if role == "user" and parts.history is not None:
        known.append(parts.history.select(role))
    return pl.concat(known).unique()


def filtered_before(parts: Parts) -> Check:
    """L12: a k-core or least count that holds over all parts, and not over training alone."""
    name = "filtered before the split"
    whole = pl.concat([part.select(PAIR) for part in parts.every])
    said, found = [], []
    for role in PAIR:
        least = int(_counts(whole, role, "rows")["rows"].min())  # type: ignore[arg-type]
        few = _counts(parts.train, role, "rows").filter(pl.col("rows") < least)
        if least > 1 and len(few):
            found.append(parts.train.join(few, on=role, how="semi"))
            said.append(f"every {role} has at least {least} rows over all parts, "
                        f"and {len(few):,} have less in training")  # fmt: skip
    rows = pl.concat(found).unique() if found else parts.train.head(0)
    text = "; ".join(said) or "no least count holds over all parts and fails in training"
    if found:
        text += f": a filter on training alone would change {len(rows):,} rows or more"
    return Check("L12", name, verdict(found), len(rows), text, lambda: rows)


def copies(parts: Parts) -> Check:
    """L15: users with exactly another user's items, and items listed twice."""
    name = "copies of users and items"
    pairs = pl.concat([parts.train.select(PAIR), parts.test.select(PAIR)]).unique()
    marks = [combined([hash_of_column(pairs["item"])], seed) for seed in (1, 2)]
    marked = pairs.with_columns(one=pl.Series(marks[0]), two=pl.Series(marks[1]))
    sets = marked.group_by("user").agg(pl.col("one", "two").sum(), items=pl.len())
    sets = sets.filter(pl.col("items") >= _LEAST)
    same = sets.filter(pl.len().over("one", "two", "items") > 1)
    share = len(same) / pairs["user"].n_unique()
    said = f"{len(same):,} users have exactly another's {_LEAST} items or more ({share:.2%})"
    listed = parts.extra.get("items")
    twice = pl.DataFrame()
    if listed is not None:
        text = [n for n, kind in listed.frame.schema.items() if kind == pl.String and n != "item"]
        title = next((n for n in text if listed.frame[n].n_unique() > len(listed.frame) // 2), None)
        if title is not None:
            twice = listed.frame.filter(pl.col(title).is_duplicated() & pl.col(title).is_not_null())
            said += f"; {len(twice):,} items share their {title} with another"
    status = verdict(share > parts.limits.same_history or len(twice))

    def rows() -> pl.DataFrame:
        return same.sort("one", "user").select("user", "items") if len(same) else twice

    return Check("L15", name, status, len(same), said, rows)


def heavy_targets(parts: Parts) -> Check:
    """L20: whether a few users, or one day, make up the test."""
    name = "targets in few hands"
    users = _counts(parts.test, "user", "rows").sort("rows", "user", descending=True)
    each = users["rows"]
    most = int(each[0]) / len(parts.test)
    median = float(np.median(each.to_numpy()))
    said = f"test rows a user: median {median:g}, most {each[0]:,} ({most:.2%} of all)"
    if len(users) < 2 / parts.limits.heavy:
        said += "; too few users for a limit"
        return Check("L20", name, "pass", most, said, lambda: users)
    day = 0.0
    if parts.has_times:
        assert parts.per_second is not None
        days = parts.test.select(day=(pl.col("time") / parts.per_second / 86400).floor())
        counts = _counts(days, "day", "rows")["rows"]
        day = int(counts.max()) / len(days) if len(counts) >= 2 / parts.limits.heavy else 0.0  # type: ignore[arg-type]
        said += f"; busiest of {len(counts):,} days {int(counts.max()) / len(days):.2%}"  # type: ignore[arg-type]
    status = verdict(max(most, day) > parts.limits.heavy)
    return Check("L20", name, status, max(most, day), said, lambda: users)
