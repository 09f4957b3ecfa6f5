"""What was done with a split: features, tuning, candidates, models, stages (L13, L14, L17–L19)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankwise.auditing.parts import PAIR, Parts, rows_in
from rankwise.auditing.report import Check, not_run, verdict
from rankwise.errors import ColumnError
from rankwise.io.align import matching
from rankwise.splits.times import read_times

if TYPE_CHECKING:
    from rankwise.io.tables import Table

__all__ = ["candidate_order", "late_features", "stage_leaks", "too_good", "tuned_on_test"]

_KNN_ITEMS = 5000  # item neighbours hold items × items
_ROUNDED = 0.006  # statistics may be given in two places
_ASKED = 1000  # users that they are asked for


def late_features(parts: Parts) -> Check:
    """L13: features of after the event, and statistics that were counted with the test rows."""
    name = "features that know the test"
    said, found = [], []
    features: Table | None = parts.extra.get("features")
    if features is not None:
        late = _late(parts, features)
        found.append(late)
        said.append(
            f"{len(late):,} features are later than the first test row of their user or item"
        )
    for role in PAIR:
        own: Table | None = parts.extra.get(f"{role}s")
        if own is None:
            continue
        counted = [column for column in own.frame.columns if _counts_test(parts, own, role, column)]
        said.append(f"columns of {role}s that equal counts over training and test: "
                    f"{', '.join(counted) or 'none'}")  # fmt: skip
        found += [own.frame.select(role, *counted)] if counted else []
    if not said:
        return not_run("L13", name, "features= with timestamps, or items= and users=")
    bad = next((frame for frame in found if len(frame)), pl.DataFrame())
    status = verdict(len(bad), worst="fail")
    return Check("L13", name, status, sum(map(len, found)), "; ".join(said), lambda: bad)


def _late(parts: Parts, features: Table) -> pl.DataFrame:
    role = "user" if "user" in features.frame.columns else "item"
    if not parts.has_times:
        raise ColumnError("features with timestamps need test rows with timestamps")
    times = read_times(features, parts.extra.get("time_unit"))
    names = [name for name in features.frame.columns if name not in ("_at", "_first")]
    own = features.frame.select(names).with_columns(_at=pl.Series(times.values))
    first = parts.test.group_by(role).agg(_first=pl.col("time").min() / parts.per_second)
    ids = matching(features.with_frame(own), role, parts.test[role])
    later = pl.col("_at") / times.per_second > pl.col("_first")
    return ids.join(first, on=role, how="inner").filter(later).drop("_at", "_first")


def _counts_test(parts: Parts, table: Table, role: str, column: str) -> bool:
    """Say whether a column equals the number, or the mean rating, of rows of all parts."""
    kind = table.frame.schema[column]
    if column == role or not kind.is_numeric():
        return False
    own = matching(table, role, parts.train[role]).select(
        role, value=pl.col(column).cast(pl.Float64)
    )
    names = [role, *_rating(parts)]
    known, every = parts.train.select(names), pl.concat([parts.train, parts.test], how="diagonal")
    wholes = [every.select(names)]
    if parts.validation is not None:
        wholes.append(pl.concat([wholes[0], parts.validation.select(names)]))
    return any(_equals(own, role, known, whole) for whole in wholes)


def _equals(own: pl.DataFrame, role: str, known: pl.DataFrame, every: pl.DataFrame) -> bool:
    """Say whether values are the count or the mean of all parts, where training's is another."""
    rating = [name for name in known.columns if name != role]
    sums = [pl.len().cast(pl.Float64).alias("count"), *(pl.col(n).mean() for n in rating)]
    for number in ("count", *rating):
        values = [frame.group_by(role).agg(sums).select(role, **{name: pl.col(number)})
                  for name, frame in (("train", known), ("all", every))]  # fmt: skip
        compared = own.join(values[0], on=role, how="left").join(values[1], on=role, how="inner")
        apart = (pl.col("train").fill_null(-1.0) - pl.col("all")).abs() > 4 * _ROUNDED
        off = compared.filter(apart).select((pl.col("value") - pl.col("all")).abs())
        if len(off) >= 2 and off["value"].fill_null(1.0).max() <= _ROUNDED:  # type: ignore[operator]
            return True
    return False


def _rating(parts: Parts) -> list[str]:
    rated = all("relevance" in part.columns for part in (parts.train, parts.test))
    return ["relevance"] if rated else []


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
    said = f"{len(test):,} evaluations on test, {len(bad):,} of them to select or to stop"
    again = test.group_by("run").len().filter(pl.col("len") > 1)
    said += f"; {len(again):,} runs evaluated more than once" if len(again) else ""
    status = verdict(len(bad), verdict(len(again)), worst="fail")
    return Check("L14", name, status, len(bad), said, lambda: bad)


def candidate_order(parts: Parts) -> Check:
    """L17: whether the place among the candidates gives the positives away."""
    name = "candidates give answers away"
    if parts.candidates is None:
        return not_run("L17", name, "candidates= in the order in which they are scored")
    placed = parts.candidates.with_columns(
        place=pl.int_range(pl.len()).over("user"), length=pl.len().over("user")
    ).filter(pl.col("length") > 1)
    positives = rows_in(placed, parts.test, PAIR)
    if positives.is_empty():
        return Check("L17", name, "warn", None, "no candidate is a test row: do the ids agree?")
    length, place = positives["length"].to_numpy(), positives["place"].to_numpy()
    at = place / (length - 1)
    # The mean place of n candidates in random order is 1/2, with variance (n + 1) / (12 (n - 1)).
    z = float((at - 0.5).sum()) / float(((length + 1) / (12 * (length - 1))).sum()) ** 0.5
    ends = f"{(at == 0).mean():.1%} of positives stand first, {(at == 1).mean():.1%} last"
    said = (
        f"{ends}; by chance {(1 / length).mean():.1%} each; mean place {at.mean():.3f}, z {z:.1f}"
    )
    return Check(
        "L17", name, verdict(abs(z) > parts.limits.candidate_z), z, said, lambda: positives
    )


def too_good(parts: Parts) -> Check:
    """L18: recommendations far better than the best list for everybody."""
    name = "too good to be true"
    if parts.lists is None:
        return not_run("L18", name, "recommendations")
    lists = parts.lists
    if "rank" in lists.columns:
        lists = lists.sort("user", "rank", maintain_order=True)
    elif "score" in lists.columns:
        lists = lists.sort(["user", "score"], descending=[False, True], maintain_order=True)
    lists = lists.with_columns(place=pl.int_range(pl.len()).over("user")).filter(
        pl.col("place") < 10
    )
    found = _recall(parts.test, lists)
    popular = parts.test.group_by("item").len().sort(["len", "item"], descending=[True, False])
    oracle = _recall(
        parts.test, parts.test.select("user").unique().join(popular.head(10), how="cross")
    )
    said = f"recall@10 {found:.4f}; of the ten most popular in test {oracle:.4f}"
    if parts.train["item"].n_unique() <= _KNN_ITEMS:
        said += f"; of item neighbours {_neighbours(parts):.4f}"
    else:
        said += f"; item neighbours not tried: more than {_KNN_ITEMS:,} items"
    ratio = found / oracle if oracle else float("inf")
    return Check("L18", name, verdict(ratio > parts.limits.too_good), ratio, said)


def _recall(test: pl.DataFrame, lists: pl.DataFrame) -> float:
    """Return the mean over test users of the share of their test items that are listed."""
    wanted = test.select(PAIR).unique()
    hit = rows_in(wanted, lists, PAIR).group_by("user").len("hit")
    each = wanted.group_by("user").len("all").join(hit, on="user", how="left").sort("user")
    return float((each["hit"].fill_null(0) / each["all"]).mean())  # type: ignore[arg-type]


def _neighbours(parts: Parts) -> float:
    from rankwise.models.baselines import ItemNeighbours

    users = parts.test["user"].unique().sort()
    some = users.gather(np.linspace(0, len(users) - 1, min(len(users), _ASKED)).astype(np.int64))
    lists = ItemNeighbours().fit(parts.train).recommend(some, 10)
    return _recall(parts.test.filter(pl.col("user").is_in(some.implode())), lists)


def stage_leaks(parts: Parts) -> Check:
    """L19: a ranker that learns from what the candidate model saw, and its kin."""
    name = "leaks between two stages"
    stages = parts.stages
    if "candidate_train" not in stages or "ranker_train" not in stages:
        return not_run("L19", name, "stages= with candidate_train and ranker_train")
    key = [*PAIR, "time"] if parts.has_times else PAIR
    first, ranker = stages["candidate_train"], stages["ranker_train"]
    checked = stages.get("ranker_validation")
    labels = ranker if checked is None else pl.concat([ranker.select(key), checked.select(key)])
    found: dict[str, Any] = {
        "ranker rows that the candidate model saw": rows_in(labels, first, key),
        "ranker rows that are test rows": rows_in(labels, parts.test, key),
    }
    if checked is not None:
        found["ranker users on both sides"] = rows_in(checked, ranker, ["user"])
    late = labels.filter(pl.col("time") <= first["time"].max()) if parts.has_times else labels[:0]
    found["ranker rows not after the candidate model's training"] = late
    missing = labels.join(parts.train.select(key), on=key, how="anti")
    found["ranker rows missing from train, which is refitted and gives the seen items"] = missing
    if parts.lists is not None:
        found["recommended items of the ranker's rows, not filtered as seen"] = rows_in(
            parts.lists, labels, PAIR
        )
    bad = {what: rows for what, rows in found.items() if len(rows)}
    said = "; ".join(f"{len(rows):,} {what}" for what, rows in bad.items()) or "none found"
    rows = next(iter(bad.values()), labels.head(0))
    status = verdict(bad, worst="fail")
    return Check("L19", name, status, sum(map(len, bad.values())), said, lambda: rows)
