"""The check of recommendation lists that are too good to be true."""

from __future__ import annotations

import numpy as np
import polars as pl

from rankwise.core.sample_counts import SampleCounts
from rankwise.splits.audit_checks import Finding, check, not_run, verdict
from rankwise.splits.audit_parts import PAIR, Parts, rows_in

_TOP = 10  # places of a list that are looked at


_USERS = 1000  # users for whom item neighbours are evaluated, and whose lists are ordered


_ITEMS = 2000  # the most popular items, which neighbours may recommend: they hold a matrix of them


_LEAST_USERS = 20  # below, lists may be perfect by luck


_LEAST_PAIRS = 3  # pairs of items that training orders otherwise: fewer agree by luck


_LEAST_ORDERED = 10  # pairs inside lists that counts in test order: a list of five has ten


_LISTED = 200  # different items in lists that may be those of a popularity


@check("L18", "too good to be true")
def too_good(parts: Parts) -> Finding:
    """L18: recommendations far better than baselines, among sampled negatives, or in test order.

    Finds:

    - recommendations far better than the most popular test items and item neighbours, or most
      of the way to perfect lists; `repeats=True` adds the user's most frequent items to these
      baselines
    - lists that look like test items among sampled negatives, whose recall is no recall of a
      ranking
    - lists ordered by test counts, where training orders items differently

    Worst verdict: warn above 5 times, 0.5 of the way, 0.95 of the order; if lists look sampled.

    Remedy: Look for test rows in the training data or the features of the model, before you
    believe the number.
    """
    if parts.lists is None:
        return not_run("recommendations")
    lists = _in_order(parts.lists).filter(pl.col("place") < _TOP)
    places = lists.group_by("user").agg(places=pl.len())
    targets = parts.test.select(PAIR).unique().join(places, on="user", how="left")
    targets = targets.with_columns(pl.col("places").fill_null(0))
    recall = _recall(targets, lists)
    if not places["user"].is_in(targets["user"].unique().implode()).any():
        return "warn", recall, "no list is of a test user: do the ids agree?"
    reached = _reached(parts, targets)
    best = max(reached.values())
    ratio = recall / best if best else (float("inf") if recall else 0.0)
    users = targets.group_by("user").agg(pl.len().alias("all"), pl.col("places").first())
    # The recall of lists that hold nothing but the user's test items.
    most = float((users.select(pl.min_horizontal("all", "places") / pl.col("all"))).mean().item())
    gain = (recall - best) / (most - best) if most > best else 0.0
    ordered, told, pairs = _follows(parts, lists)
    probes = "; ".join(f"{what} {value:.4f}" for what, value in reached.items())
    n_users = targets["user"].n_unique()
    finding = f"recall@{_TOP} {recall:.4f} over {n_users:,} test users, {len(places):,} lists "
    finding += f"(at most {most:.4f} in their places); {probes}; of {pairs:,} or more pairs of "
    finding += f"items that training orders otherwise, {told:.1%} stand as counts in test do"
    n_items = pl.concat([frame.select("item") for frame in (*parts.all_parts, parts.lists)])[
        "item"
    ].n_unique()
    few = "users" if n_users < _LEAST_USERS else "items" if n_items <= 2 * _TOP else ""
    if few:
        finding += f"; too few {few} for a limit"
        return "pass", ratio, finding
    negatives = SampleCounts.of_lists(parts.lists, parts.test).sampled_negatives
    if negatives is not None:
        finding += (
            f"; the lists look like test items among {negatives:,} sampled negatives, and "
            "the recall of such "
        )
        finding += "lists is no recall of a ranking of all items"
    limits = parts.limits
    bad = ratio > limits.too_good or gain > limits.too_near
    copied = pairs >= _LEAST_PAIRS and min(ordered, told) >= limits.test_order
    return verdict(bad or copied or negatives is not None), ratio, finding


def _in_order(lists: pl.DataFrame) -> pl.DataFrame:
    """Return the lists, best first, each row with its place from 0."""
    if "rank" in lists.columns:
        lists = lists.sort("user", "rank", maintain_order=True)
    elif "score" in lists.columns:
        lists = lists.sort(["user", "score"], descending=[False, True], maintain_order=True)
    return lists.select(*PAIR, place=pl.int_range(pl.len()).over("user"))


def _recall(targets: pl.DataFrame, lists: pl.DataFrame) -> float:
    """Return the mean over test users of the share of their test items that are recommended.

    Lists are cut to as many places as the lists under audit give the user.
    """
    placed = targets.join(lists, on=PAIR, how="inner").filter(pl.col("place") < pl.col("places"))
    hits = placed.group_by("user").agg(hit=pl.col("item").n_unique())
    users = targets.group_by("user").len("all").join(hits, on="user", how="left").sort("user")
    return float((users["hit"].fill_null(0) / users["all"]).mean())  # type: ignore[arg-type]


def _reached(parts: Parts, targets: pl.DataFrame) -> dict[str, float]:
    """Return the recall of the best lists that are made without knowing the users' test items."""
    users = targets.select("user").unique()
    popular = parts.test.group_by("item").len().sort(["len", "item"], descending=[True, False])
    oracle = users.join(popular.head(_TOP).with_row_index("place"), how="cross")
    out = {f"of the {_TOP} most popular in test": _recall(targets, oracle)}
    history = pl.concat([frame.select(PAIR) for frame in parts.known])
    if parts.repeats:
        frequent = (
            history.group_by(PAIR)
            .len()
            .sort(["user", "len", "item"], descending=[False, True, False])
        )
        frequent = frequent.with_columns(place=pl.int_range(pl.len()).over("user"))
        out["of the user's most frequent items"] = _recall(targets, frequent)
    what = f"of item neighbours among {min(_ITEMS, history['item'].n_unique()):,} items"
    return out | {what: _recall_of_neighbours(history, targets)}


def _recall_of_neighbours(history: pl.DataFrame, targets: pl.DataFrame) -> float:
    from rankwise.models.recommenders import ItemNeighbours

    popular = history.group_by("item").len().sort(["len", "item"], descending=[True, False])
    users = _sample(targets["user"])
    targets = targets.filter(pl.col("user").is_in(users.implode()))
    lists = (
        ItemNeighbours().fit(rows_in(history, popular.head(_ITEMS), "item")).recommend(users, _TOP)
    )
    return _recall(targets, lists.with_columns(place=pl.col("rank") - 1))


def _sample(users: pl.Series) -> pl.Series:
    """Return at most a given number of users, evenly spread over their ids."""
    ids = users.unique().sort()
    return ids.gather(np.linspace(0, len(ids) - 1, min(len(ids), _USERS)).astype(np.int64))


def _follows(parts: Parts, lists: pl.DataFrame) -> tuple[float, float, int]:
    """Return the shares of pairs of items in the order of their counts in test, and their number.

    The first share is of pairs in a list. The second is of those, and of listed items above others,
    that training orders otherwise: all of its rows, the last tenth, or as many last rows as test
    has. The smallest of these three counts, and the number is that of the order with the fewest
    such pairs. A pair counts once, whatever the number of lists that have it, so lists that are the
    same for all users weigh no more than one.
    """
    sample = lists.filter(pl.col("user").is_in(_sample(lists["user"]).implode()))
    pairs = sample.join(sample, on="user").filter(pl.col("place") < pl.col("place_right"))
    inside = pairs.select(above="item", below="item_right").unique()
    of_inside = _sides(inside, parts.test)
    if (of_inside != 0).sum() < _LEAST_ORDERED:
        return 0.0, 0.0, 0
    pairs = pl.concat([inside, _unlisted(parts, sample["item"].unique())])
    of_test = _sides(pairs, parts.test)
    pairs, of_test = pairs.filter(of_test != 0), of_test.filter(of_test != 0)
    windows = [parts.train]
    if parts.has_times:  # a model may know what is popular of late
        late = parts.train.sort("time", descending=True)
        windows += [late.head(len(late) // 10), late.head(len(parts.test))]
    followed = of_test > 0
    differing = [followed.filter(_sides(pairs, window) != of_test) for window in windows]
    ordered = _share(of_inside.filter(of_inside != 0) > 0)
    return ordered, min(map(_share, differing)), min(map(len, differing))


def _unlisted(parts: Parts, listed: pl.Series) -> pl.DataFrame:
    """Return pairs of a listed item above a popular one that is in no list.

    Lists with many different items are of no popularity, and get none.
    """
    if len(listed) > _LISTED:
        return pl.DataFrame(schema={"above": listed.dtype, "below": listed.dtype})
    tops = [
        part["item"].value_counts().top_k(_LISTED, by="count")["item"]
        for part in (parts.train, parts.test)
    ]
    popular = pl.concat(tops).unique()
    unlisted = popular.filter(~popular.is_in(listed.implode()))
    return listed.to_frame("above").join(unlisted.to_frame("below"), how="cross")


def _sides(pairs: pl.DataFrame, rows: pl.DataFrame) -> pl.Series:
    """Return 1 where the upper item has more rows, -1 where fewer, and 0 in a tie."""
    counts = rows.group_by("item").agg(n=pl.len().cast(pl.Int64))
    upper, lower = (
        pairs.select(item=name).join(counts, on="item", how="left", maintain_order="left")["n"]
        for name in ("above", "below")
    )
    return (upper.fill_null(0) - lower.fill_null(0)).sign()


def _share(flags: pl.Series) -> float:
    return float(flags.mean() or 0.0)  # type: ignore[arg-type]
