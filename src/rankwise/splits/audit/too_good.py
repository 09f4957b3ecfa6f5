"""Recommendations too good to be true (L18): implausibly accurate, sampled, or ordered like test counts."""

from __future__ import annotations

import numpy as np
import polars as pl

from rankwise.core.sample_counts import SampleCounts
from rankwise.splits.audit.findings import Check, not_run, verdict
from rankwise.splits.audit.parts import PAIR, Parts, rows_in

__all__ = ["too_good"]

_TOP = 10  # places of a list that are looked at
_USERS = 1000  # users for whom item neighbours are evaluated, and whose lists are ordered
_ITEMS = 2000  # the most popular items, which neighbours may recommend: they hold a matrix of them
_LEAST_USERS = 20  # below, lists may be perfect by luck
_LEAST_PAIRS = 3  # pairs of items that training orders otherwise: fewer agree by luck
_LEAST_ORDERED = 10  # pairs inside lists that counts in test order: a list of five has ten
_LISTED = 200  # different items in lists that may be those of a popularity


def too_good(parts: Parts) -> Check:
    """L18: recommendations far better than what models reach, among sampled negatives, or ordered as test is."""
    name = "too good to be true"
    if parts.lists is None:
        return not_run("L18", name, "recommendations")
    lists = _in_order(parts.lists).filter(pl.col("place") < _TOP)
    places = lists.group_by("user").agg(places=pl.len())
    asked = parts.test.select(PAIR).unique().join(places, on="user", how="left")
    asked = asked.with_columns(pl.col("places").fill_null(0))
    recall = _recall(asked, lists)
    if not places["user"].is_in(asked["user"].unique().implode()).any():
        return Check("L18", name, "warn", recall, "no list is of a test user: do the ids agree?")
    reached = _reached(parts, asked)
    best = max(reached.values())
    ratio = recall / best if best else (float("inf") if recall else 0.0)
    most = _most(asked)
    gain = (recall - best) / (most - best) if most > best else 0.0
    ordered, told, pairs = _follows(parts, lists)
    probes = "; ".join(f"{what} {value:.4f}" for what, value in reached.items())
    n_users = asked["user"].n_unique()
    finding = f"recall@{_TOP} {recall:.4f} over {n_users:,} test users, {len(places):,} lists "
    finding += f"(at most {most:.4f} in their places); {probes}; of {pairs:,} or more pairs of "
    finding += f"items that training orders otherwise, {told:.1%} stand as counts in test do"
    if n_users < _LEAST_USERS:
        finding += "; too few users for a limit"
        return Check("L18", name, "pass", ratio, finding)
    negatives = SampleCounts.of_lists(parts.lists, parts.test).sampled_negatives
    if negatives is not None:
        finding += f"; the lists look like test items among {negatives:,} sampled negatives, and the recall of such "
        finding += "lists is no recall of a ranking of all items"
    limits = parts.limits
    bad = ratio > limits.too_good or gain > limits.too_near
    copied = pairs >= _LEAST_PAIRS and min(ordered, told) >= limits.test_order
    return Check("L18", name, verdict(bad or copied or negatives is not None), ratio, finding)


def _in_order(lists: pl.DataFrame) -> pl.DataFrame:
    """Return the lists, best first, each row with its place from 0."""
    if "rank" in lists.columns:
        lists = lists.sort("user", "rank", maintain_order=True)
    elif "score" in lists.columns:
        lists = lists.sort(["user", "score"], descending=[False, True], maintain_order=True)
    return lists.select(*PAIR, place=pl.int_range(pl.len()).over("user"))


def _recall(asked: pl.DataFrame, lists: pl.DataFrame) -> float:
    """Return the mean over test users of the share of their test items that are recommended.

    Lists are cut to as many places as the lists under audit give the user.
    """
    placed = asked.join(lists, on=PAIR, how="inner").filter(pl.col("place") < pl.col("places"))
    hits = placed.group_by("user").agg(hit=pl.col("item").n_unique())
    users = asked.group_by("user").len("all").join(hits, on="user", how="left").sort("user")
    return float((users["hit"].fill_null(0) / users["all"]).mean())  # type: ignore[arg-type]


def _most(asked: pl.DataFrame) -> float:
    """Return the recall of lists that hold nothing but the user's test items."""
    users = asked.group_by("user").agg(pl.len().alias("all"), pl.col("places").first())
    return float((users.select(pl.min_horizontal("all", "places") / pl.col("all"))).mean().item())


def _reached(parts: Parts, asked: pl.DataFrame) -> dict[str, float]:
    """Return the recall of the best lists that are made without knowing the users' test items."""
    users = asked.select("user").unique()
    popular = parts.test.group_by("item").len().sort(["len", "item"], descending=[True, False])
    oracle = users.join(popular.head(_TOP).with_row_index("place"), how="cross")
    out = {f"of the {_TOP} most popular in test": _recall(asked, oracle)}
    known = pl.concat([frame.select(PAIR) for frame in parts.known])
    if parts.repeats:
        own = known.group_by(PAIR).len().sort(["user", "len", "item"], descending=[False, True, False])
        own = own.with_columns(place=pl.int_range(pl.len()).over("user"))
        out["of the user's most frequent items"] = _recall(asked, own)
    what = f"of item neighbours among {min(_ITEMS, known['item'].n_unique()):,} items"
    return out | {what: _recall_of_neighbours(known, asked)}


def _recall_of_neighbours(known: pl.DataFrame, asked: pl.DataFrame) -> float:
    from rankwise.models.baselines import ItemNeighbours

    popular = known.group_by("item").len().sort(["len", "item"], descending=[True, False])
    users = _sample(asked["user"])
    asked = asked.filter(pl.col("user").is_in(users.implode()))
    fitted = ItemNeighbours().fit(rows_in(known, popular.head(_ITEMS), "item"))
    lists = fitted.recommend(users, _TOP)
    return _recall(asked, lists.with_columns(place=pl.col("rank") - 1))


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
    some = lists.filter(pl.col("user").is_in(_sample(lists["user"]).implode()))
    pairs = some.join(some, on="user").filter(pl.col("place") < pl.col("place_right"))
    inside = pairs.select(above="item", below="item_right").unique()
    of_inside = _sides(inside, parts.test)
    if (of_inside != 0).sum() < _LEAST_ORDERED:
        return 0.0, 0.0, 0
    pairs = pl.concat([inside, _unlisted(parts, some["item"].unique())])
    of_test = _sides(pairs, parts.test)
    pairs, of_test = pairs.filter(of_test != 0), of_test.filter(of_test != 0)
    windows = [parts.train]
    if parts.has_times:  # a model may know what is popular of late
        late = parts.train.sort("time", descending=True)
        windows += [late.head(len(late) // 10), late.head(len(parts.test))]
    followed = of_test > 0
    others = [followed.filter(_sides(pairs, window) != of_test) for window in windows]
    ordered = _share(of_inside.filter(of_inside != 0) > 0)
    return ordered, min(map(_share, others)), min(map(len, others))


def _unlisted(parts: Parts, listed: pl.Series) -> pl.DataFrame:
    """Return pairs of a listed item above a popular one that is in no list.

    Lists with many different items are of no popularity, and get none.
    """
    empty = pl.DataFrame(schema={"above": listed.dtype, "below": listed.dtype})
    if len(listed) > _LISTED:
        return empty
    tops = [part["item"].value_counts().top_k(_LISTED, by="count")["item"] for part in (parts.train, parts.test)]
    others = pl.concat(tops).unique()
    others = others.filter(~others.is_in(listed.implode()))
    return listed.to_frame("above").join(others.to_frame("below"), how="cross")


def _sides(pairs: pl.DataFrame, rows: pl.DataFrame) -> pl.Series:
    """Return 1 where the upper item has more rows, -1 where it has fewer, 0 where they tie."""
    counts = rows.group_by("item").agg(n=pl.len().cast(pl.Int64))
    upper, lower = (
        pairs.select(item=name).join(counts, on="item", how="left", maintain_order="left")["n"]
        for name in ("above", "below")
    )
    return (upper.fill_null(0) - lower.fill_null(0)).sign()


def _share(flags: pl.Series) -> float:
    return float(flags.mean() or 0.0)  # type: ignore[arg-type]
