"""Simulated interactions without any leak, and splits of them that keep what they claim.

Items follow a Zipf law, the activity of users is lognormal, times are uniform. With ``drift`` the
popularity of items moves: half the items lose, and half gain, up to that factor over the period.
Of every four items that a user takes one after the other, the one of the smaller number comes first:
the order in time tells something, as it does in real data.
"""

from __future__ import annotations

import numpy as np
import polars as pl

import rankwise as rw
from rankwise import splits
from rankwise.models.recommenders import ItemNeighbours, Popularity

PERIOD = 180 * 86_400  # half a year, in seconds

IN_TIME = {
    "one moment": splits.GlobalTime(share=0.2),
    "one moment, validation": splits.GlobalTime(share=0.1, validation=splits.GlobalTime(share=0.1)),
    "one moment, last days": splits.GlobalTime(last="30d"),
    "one moment, first target": splits.GlobalTime(share=0.2, target="first"),
    "one moment, last target": splits.GlobalTime(share=0.2, target="last"),
    "windows": splits.TimeWindows(test="14d", n_splits=2, train="100d"),
    "two stages": splits.TwoStage(last="20d"),
    "successive targets": splits.SuccessiveTargets(share=0.2),
}
"""Rules that claim time, for data with timestamps."""
WITHOUT_TIME = {
    "held-out users": splits.UserHoldout(0.2),
    "held-out users in folds": splits.UserKFold(5),
    "random rows": splits.Holdout(0.2),
    "random rows of each user": splits.Holdout(0.2, per="user"),
    "leave one out": splits.LeaveOut(1, "random"),
    "folds": splits.KFold(5),
}
"""Rules that claim users or nothing, for data without timestamps."""


def interactions(
    seed: int,
    *,
    n_users: int,
    n_items: int,
    activity: float = 20.0,
    spread: float = 1.0,
    exponent: float = 1.0,
    drift: float = 1.0,
    times: bool = True,
    ratings: bool = False,
) -> pl.DataFrame:
    """Return one row per user and item: ``activity`` is the median number of rows per user."""
    rng = np.random.default_rng([seed, n_users, n_items])
    rows = np.clip(rng.lognormal(np.log(activity), spread, n_users), 1, n_items / 2).astype(int)
    user = np.repeat(np.arange(n_users), 3 * rows)  # more than are needed: doubles are dropped
    time = rng.integers(0, PERIOD, len(user))
    popularity = np.arange(1, n_items + 1.0) ** -exponent
    trend = rng.choice([-1.0, 1.0], n_items)
    item = _drawn(rng, popularity, trend * np.log(drift) / 2, time / PERIOD)
    table = pl.DataFrame({"user": user, "item": rng.permutation(n_items)[item]})
    if times:
        table = table.with_columns(timestamp=1_600_000_000 + pl.Series(time))
    table = table.unique(["user", "item"], keep="first", maintain_order=True)
    table = table.filter(
        pl.int_range(pl.len()).over("user") < pl.Series(rows).gather(table["user"])
    )
    if times:
        table = _in_sequence(table)
    if ratings:
        quality = rng.normal(3.5, 0.7, n_items)
        values = np.round(quality[table["item"]] + rng.normal(0, 1, len(table)))
        table = table.with_columns(rating=pl.Series(np.clip(values, 1, 5)))
    return table


def _in_sequence(table):
    """Return a table whose users take four items in a row in the order of their numbers."""
    table = table.sort("user", "timestamp")
    block = (pl.int_range(pl.len()).over("user") // 4).alias("block")
    moments = table.with_columns(block).sort("user", "block", "timestamp")["timestamp"]
    return (
        table.with_columns(block)
        .sort("user", "block", "item")
        .select("user", "item")
        .with_columns(moments)
    )


def _drawn(rng, popularity, slope, moment, steps=20):
    """Return one item per moment in [0, 1); the popularity of an item changes by its slope."""
    out = np.empty(len(moment), dtype=np.int64)
    step = (moment * steps).astype(int)
    for at in range(steps):
        now = popularity * np.exp(slope * (2 * (at + 0.5) / steps - 1))
        rows = np.flatnonzero(step == at)
        out[rows] = rng.choice(len(popularity), len(rows), p=now / now.sum())
    return out


def split_of(rule, table):
    """Return the split of a rule; of a rule with folds, the first."""
    found = rule.split(table)
    return found[0] if isinstance(found, splits.Folds) else found


def audited(split, model, seed):
    """Return the audit of a split with lists and features that know training alone."""
    train, users = split.train, split.test["user"].unique().sort()
    items = train.group_by("item").agg(log_count=pl.len().log1p()).sort("item")
    random = np.random.default_rng(seed).random(len(items))
    items = items.with_columns(year=(1950 + 70 * pl.Series(random)).floor())
    own = train.group_by("user").agg(n=pl.len(), last=pl.col("item").last()).sort("user")
    lists = model.fit(train.select("user", "item")).recommend(users, 10)
    recommendations = lists if len(lists) else None  # neighbours have none for cold-start users
    return rw.audit(split, recommendations=recommendations, items=items, users=own)


def warnings_of(shape, seed, rules, *, times):
    """Return the codes of the checks that warn, for the split of each rule of simulated data.

    Drift and the model alternate with the seed; ``shape`` has the options of `interactions`.
    """
    drift, model = ((1.0, Popularity()), (2.0, ItemNeighbours()))[seed % 2]
    options = {"drift": drift, "ratings": seed % 4 < 2, **shape}
    table = interactions(seed, times=times, **options)
    of_rules = (audited(split_of(rule, table), model, seed).checks for rule in rules.values())
    return [[c.code for c in checks if c.status in ("warn", "fail")] for checks in of_rules]
