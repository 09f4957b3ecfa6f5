"""Leakage in how a split is used: features, tuning, candidates, stages (L13, L14, L17–L19)."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from rankwise.errors import ColumnError
from rankwise.splits.audit.findings import Check, not_run, verdict
from rankwise.splits.audit.parts import PAIR, Parts, rows_in
from rankwise.splits.times import read_times
from rankwise.tables.align import matching
from rankwise.tables.table import Table

__all__ = ["candidate_order", "late_features", "stage_leaks", "too_good", "tuned_on_test"]

_KNN_ITEMS = 5000  # the limit of item neighbours, which hold an item-item matrix
_ROUNDED = 0.006  # statistics may be rounded to two decimals
_KNN_USERS = 1000  # users whom item neighbours are evaluated on


def late_features(parts: Parts) -> Check:
    """L13: features known only after the event, and statistics computed with the test rows."""
    name = "features that know the test"
    findings, frames = [], []
    features: Table | None = parts.extra.get("features")
    if features is not None:
        late = _late(parts, features)
        frames.append(late)
        findings.append(
            f"{len(late):,} features are later than the first test row of their user or item"
        )
    for role in PAIR:
        table: Table | None = parts.extra.get(f"{role}s")
        if table is None:
            continue
        columns = [name for name in table.frame.columns if _counts_test(parts, table, role, name)]
        findings.append(f"columns of {role}s that equal counts over training and test: "
                        f"{', '.join(columns) or 'none'}")  # fmt: skip
        frames += [table.frame.select(role, *columns)] if columns else []
    if not findings:
        return not_run("L13", name, "features= with timestamps, or items= and users=")
    bad = next((frame for frame in frames if len(frame)), pl.DataFrame())
    status = verdict(len(bad), worst="fail")
    return Check("L13", name, status, sum(map(len, frames)), "; ".join(findings), lambda: bad)


def _late(parts: Parts, features: Table) -> pl.DataFrame:
    """Return the features that are later than the first test row of their user or item."""
    role = "user" if "user" in features.frame.columns else "item"
    if not parts.has_times:
        raise ColumnError("features with timestamps need test rows with timestamps")
    times = read_times(features, parts.extra.get("time_unit"))
    names = [name for name in features.frame.columns if name not in ("_at", "_first")]
    timed = features.frame.select(names).with_columns(_at=pl.Series(times.values))
    first = parts.test.group_by(role).agg(_first=pl.col("time").min() / parts.per_second)
    matched = matching(features.with_frame(timed), role, parts.test[role])
    later = pl.col("_at") / times.per_second > pl.col("_first")
    return matched.join(first, on=role, how="inner").filter(later).drop("_at", "_first")


def _counts_test(parts: Parts, table: Table, role: str, column: str) -> bool:
    """Return whether a column equals the number, or the mean rating, of rows of all parts."""
    if column == role or not table.frame.schema[column].is_numeric():
        return False
    values = matching(table, role, parts.train[role]).select(
        role, value=pl.col(column).cast(pl.Float64)
    )
    rated = all("relevance" in part.columns for part in (parts.train, parts.test))
    names = [role, "relevance"] if rated else [role]
    train, both = parts.train.select(names), pl.concat([parts.train, parts.test], how="diagonal")
    wholes = [both.select(names)]
    if parts.validation is not None:
        wholes.append(pl.concat([wholes[0], parts.validation.select(names)]))
    return any(_equals(values, role, train, whole) for whole in wholes)


def _equals(values: pl.DataFrame, role: str, train: pl.DataFrame, whole: pl.DataFrame) -> bool:
    """Return whether values are the count or mean over all parts where that of training differs."""
    ratings = [name for name in train.columns if name != role]
    statistics = [pl.len().cast(pl.Float64).alias("count"), *(pl.col(n).mean() for n in ratings)]
    for statistic in ("count", *ratings):
        of_train, of_whole = (
            frame.group_by(role).agg(statistics).select(role, **{name: pl.col(statistic)})
            for name, frame in (("train", train), ("all", whole))
        )
        compared = values.join(of_train, on=role, how="left").join(of_whole, on=role, how="inner")
        apart = (pl.col("train").fill_null(-1.0) - pl.col("all")).abs() > 4 * _ROUNDED
        off = compared.filter(apart).select((pl.col("value") - pl.col("all")).abs())
        if len(off) >= 2 and off["value"].fill_null(1.0).max() <= _ROUNDED:  # type: ignore[operator]
            return True
    return False


def tuned_on_test(parts: Parts) -> Check:
    """L14: runs that were selected, or stopped, on the test part."""
    name = "tuned on test"
    log = parts.extra.get("runs")
    if log is None:
        return not_run("L14", name, "runs=, a log with columns run, part and purpose")
    missing = [column for column in ("run", "part", "purpose") if column not in log.columns]
    if missing:
        raise ColumnError("a log of runs has columns run, part and purpose", where="runs",
                          found=", ".join(log.columns))  # fmt: skip
    log = log.with_columns(pl.col("part", "purpose").cast(pl.String).fill_null("not said"))
    test = log.filter(pl.col("part") == "test")
    bad = test.filter(pl.col("purpose") != "report")
    finding = f"{len(test):,} evaluations on test, {len(bad):,} of them to select or to stop"
    repeated = test.group_by("run").len().filter(pl.col("len") > 1)
    finding += f"; {len(repeated):,} runs evaluated more than once" if len(repeated) else ""
    status = verdict(len(bad), verdict(len(repeated)), worst="fail")
    return Check("L14", name, status, len(bad), finding, lambda: bad)


def candidate_order(parts: Parts) -> Check:
    """L17: whether positions in the candidate set give the positives away."""
    name = "candidates give answers away"
    if parts.candidates is None:
        return not_run("L17", name, "candidates= in the order in which they are scored")
    ranked = parts.candidates.with_columns(
        place=pl.int_range(pl.len()).over("user"), length=pl.len().over("user")
    ).filter(pl.col("length") > 1)
    positives = rows_in(ranked, parts.test, PAIR)
    if positives.is_empty():
        return Check("L17", name, "warn", None, "no candidate is a test row: do the ids agree?")
    length = positives["length"].to_numpy()
    relative = positives["place"].to_numpy() / (length - 1)
    # In random order, the mean relative position is 1/2, its variance (n + 1) / (12 (n - 1)).
    z = float((relative - 0.5).sum()) / float(((length + 1) / (12 * (length - 1))).sum()) ** 0.5
    first, last = (relative == 0).mean(), (relative == 1).mean()
    finding = f"{first:.1%} of positives stand first, {last:.1%} last; by chance "
    finding += f"{(1 / length).mean():.1%} each; mean place {relative.mean():.3f}, z {z:.1f}"
    status = verdict(abs(z) > parts.limits.candidate_z)
    return Check("L17", name, status, z, finding, lambda: positives)


def too_good(parts: Parts) -> Check:
    """L18: recommendations far better than the best list for all users."""
    name = "too good to be true"
    if parts.lists is None:
        return not_run("L18", name, "recommendations")
    lists = parts.lists
    if "rank" in lists.columns:
        lists = lists.sort("user", "rank", maintain_order=True)
    elif "score" in lists.columns:
        lists = lists.sort(["user", "score"], descending=[False, True], maintain_order=True)
    recall = _recall(parts.test, lists.filter(pl.int_range(pl.len()).over("user") < 10))
    popular = parts.test.group_by("item").len().sort(["len", "item"], descending=[True, False])
    oracle = _recall(
        parts.test, parts.test.select("user").unique().join(popular.head(10), how="cross")
    )
    finding = f"recall@10 {recall:.4f}; of the ten most popular in test {oracle:.4f}"
    if parts.train["item"].n_unique() <= _KNN_ITEMS:
        finding += f"; of item neighbours {_recall_of_neighbours(parts):.4f}"
    else:
        finding += f"; item neighbours not tried: more than {_KNN_ITEMS:,} items"
    ratio = recall / oracle if oracle else float("inf")
    return Check("L18", name, verdict(ratio > parts.limits.too_good), ratio, finding)


def _recall(test: pl.DataFrame, lists: pl.DataFrame) -> float:
    """Return the mean over test users of the share of their test items that are recommended."""
    relevant = test.select(PAIR).unique()
    hits = rows_in(relevant, lists, PAIR).group_by("user").len("hit")
    users = relevant.group_by("user").len("all").join(hits, on="user", how="left").sort("user")
    return float((users["hit"].fill_null(0) / users["all"]).mean())  # type: ignore[arg-type]


def _recall_of_neighbours(parts: Parts) -> float:
    from rankwise.models.baselines import ItemNeighbours

    users = parts.test["user"].unique().sort()
    rows = np.linspace(0, len(users) - 1, min(len(users), _KNN_USERS)).astype(np.int64)
    sample = users.gather(rows)
    lists = ItemNeighbours().fit(parts.train).recommend(sample, 10)
    return _recall(parts.test.filter(pl.col("user").is_in(sample.implode())), lists)


def stage_leaks(parts: Parts) -> Check:
    """L19: leaks in a two-stage scheme, such as a ranker trained on the candidate model's rows."""
    name = "leaks between two stages"
    stages = parts.stages
    if "candidate_train" not in stages or "ranker_train" not in stages:
        return not_run("L19", name, "stages= with candidate_train and ranker_train")
    key = [*PAIR, "time"] if parts.has_times else PAIR
    first, ranker = stages["candidate_train"], stages["ranker_train"]
    validation = stages.get("ranker_validation")
    both = [part.select(key) for part in (ranker, validation) if part is not None]
    labels = ranker if validation is None else pl.concat(both)
    leaks: dict[str, Any] = {
        "ranker rows that the candidate model saw": rows_in(labels, first, key),
        "ranker rows that are test rows": rows_in(labels, parts.test, key),
    }
    if validation is not None:
        leaks["ranker users on both sides"] = rows_in(validation, ranker, ["user"])
    late = labels.filter(pl.col("time") <= first["time"].max()) if parts.has_times else labels[:0]
    leaks["ranker rows not after the candidate model's training"] = late
    missing = labels.join(parts.train.select(key), on=key, how="anti")
    leaks["ranker rows missing from train, which is refitted and gives the seen items"] = missing
    if parts.lists is not None:
        leaks["recommended items of the ranker's rows, not filtered as seen"] = rows_in(
            parts.lists, labels, PAIR
        )
    bad = {description: rows for description, rows in leaks.items() if len(rows)}
    finding = "; ".join(f"{len(rows):,} {what}" for what, rows in bad.items()) or "none found"
    rows = next(iter(bad.values()), labels.head(0))
    status = verdict(bad, worst="fail")
    return Check("L19", name, status, sum(map(len, bad.values())), finding, lambda: rows)
