"""`audit`: check a split from any source for leakage (L1 to L22).

One function per check, all over the same ``Parts``: ids of one type, one clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from rankwise.core.arguments import Claim, TimeUnit, check_choice
from rankwise.core.sample_counts import SampleCounts
from rankwise.errors import ColumnError, InputError
from rankwise.splits.audit_checks import CHECKS, Finding, check, not_run, verdict
from rankwise.splits.audit_parts import PAIR, Audit, Limits, Parts, read_parts, rows_in
from rankwise.splits.interactions import read_times
from rankwise.tables.columns import ROLES, Columns, check_columns, plain_name, quoted_columns
from rankwise.tables.files import RawFile, read_file
from rankwise.tables.frames import from_arrow, parse_numbers
from rankwise.tables.ids import matching
from rankwise.tables.read import read_table
from rankwise.tables.table import Table, TableRole

_TOP = 10  # places of a list that are looked at
_USERS = 1000  # users for whom item neighbours are evaluated, and whose lists are ordered
_ITEMS = 2000  # the most popular items, which neighbours may recommend: they hold a matrix of them
_LEAST_USERS = 20  # below, lists may be perfect by luck
_LEAST_PAIRS = 3  # pairs of items that training orders otherwise: fewer agree by luck
_LEAST_ORDERED = 10  # pairs inside lists that counts in test order: a list of five has ten
_LISTED = 200  # different items in lists that may be those of a popularity


@check("L18", "too good to be true")
def too_good(parts: Parts) -> Finding:
    """L18: recommendations far better than baselines, among sampled negatives, or in test order."""
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


_ROUNDED = 0.006  # statistics may be rounded to two decimals
_LEAST_IDS = 10  # ids above and below others: fewer may stand in any order by chance
_IDS = 20_000  # ids that are compared in order
_LEAST_ANSWERS = 10  # ids whose feature is a test item of theirs
_LEAST_TOLD = (
    20  # ids compared with others, below which a column tells by luck which of them have test rows
)
_MOMENTS = 5  # groups by the time when an id was last seen, within which ids are compared
_TEXTS = (pl.String, pl.Categorical, pl.Enum)


@check("L13", "features that know the test")
def feature_leaks(parts: Parts) -> Finding:
    """L13: features known only after the event, and columns computed with the test rows."""
    findings, frames = [], []
    features: Table | None = parts.extra.get("features")
    if features is not None:
        late = _late(parts, features)
        frames.append(late)
        findings.append(
            f"{len(late):,} of {len(features.frame):,} features are later than the first test row "
            "of their user or item"
        )
    for role in PAIR:
        table: Table | None = parts.extra.get(f"{role}s")
        if table is None:
            continue
        leaks = _leaks(parts, table, role)
        names = [column for column in table.frame.columns if column != role]
        leaking = ", ".join(f"{column} ({why})" for column, why in leaks.items()) or "none"
        findings.append(
            f"of {len(names):,} columns of {table.frame[role].n_unique():,} {role}s, computed with "
            f"test rows: {leaking}"
        )
        frames += [table.frame.select(role, *leaks)] if leaks else []
    if not findings:
        return not_run("features= with timestamps, or items= and users=")
    bad = next((frame for frame in frames if len(frame)), pl.DataFrame())
    return verdict(len(bad), worst="fail"), sum(map(len, frames)), "; ".join(findings), lambda: bad


def _late(parts: Parts, features: Table) -> pl.DataFrame:
    """Return the features that are later than the first test row of their user or item."""
    role = "user" if "user" in features.frame.columns else "item"
    if not parts.has_times:
        raise ColumnError("features with timestamps need test rows with timestamps")
    times = read_times(features, parts.extra.get("time_unit"), parts.extra.get("time_format"))
    names = [name for name in features.frame.columns if name not in ("_at", "_first")]
    timed = features.frame.select(names).with_columns(_at=pl.Series(times.values))
    first = parts.test.group_by(role).agg(_first=pl.col("time").min() / parts.per_second)
    matched = matching(features.with_frame(timed), role, parts.test[role])
    later = pl.col("_at") / times.per_second > pl.col("_first")
    return matched.join(first, on=role, how="inner").filter(later).drop("_at", "_first")


def _leaks(parts: Parts, table: Table, role: str) -> dict[str, str]:
    """Return the columns of a table that leak the test part, each with the leaked information."""
    frame = matching(table, role, parts.train[role])
    statistics = _Statistics.read(parts, frame[role], role)
    out = {}
    for column, kind in frame.schema.items():
        if column == role:
            continue
        why = None
        if kind.is_numeric() or kind == pl.Boolean:
            values = frame[column].cast(pl.Float64).fill_nan(None)
            why = statistics.known_by(values, parts.limits.knows_test)
        if why is None and _is_answer(parts, frame, role, column):
            why = "the test user" if role == "item" else "the test item"
        if why is None:
            why = _knows_moments(parts, frame, role, column) or _knows_who(
                parts, frame, role, column
            )
        if why is not None:
            out[column] = why
    return out


def _knows_moments(parts: Parts, frame: pl.DataFrame, role: str, column: str) -> str | None:
    """Describe how a column of moments leaks the test period (last activity, say); None if not.

    Of ids with rows on both sides, a moment in the test period that is later than all that was
    known of the id before was seen in test rows. Of a column that has nothing to do with them few
    moments lie there.
    """
    ticks = _ticks(parts, frame[column])
    if ticks is None:
        return None
    known = pl.concat([rows.select(role, "time") for rows in parts.known if "time" in rows.columns])
    last = known.group_by(role).agg(last=pl.col("time").max())
    both = (
        frame.select(role, ticks.alias("moment"))
        .join(last, on=role)
        .join(parts.test.select(role).unique(), on=role)
    )
    if len(both) < _LEAST_ANSWERS:
        return None
    end = parts.test["time"].max()
    inside = both.filter((pl.col("moment") > pl.col("last")) & (pl.col("moment") <= end))
    if len(inside) <= parts.limits.moments * len(both):
        return None
    return (
        f"of {len(both):,} with rows on both sides {len(inside):,} moments lie in the test period"
    )


def _ticks(parts: Parts, column: pl.Series) -> pl.Series | None:
    """Return a column of moments as ticks of the parts; None without moments, or without times."""
    if parts.per_second is None:
        return None
    if column.dtype in (pl.Date, pl.Datetime):
        seconds = column.cast(pl.Datetime("us")).to_physical() / 1e6
        return seconds * parts.per_second
    if not column.dtype.is_numeric():
        return None
    first, end = (
        float(rows["time"].cast(pl.Float64).quantile(q) or 0.0)
        for rows, q in ((parts.train, 0.0), (parts.test, 1.0))
    )
    # Numbers are moments only where times are far from 0, as those since 1970 are, and these
    # numbers are among them.
    spread = end - first
    values = column.cast(pl.Float64).drop_nulls()
    is_moment = (
        first > 10 * spread
        and len(values)
        and values.is_between(first - spread, end + spread).mean() == 1.0
    )
    return column.cast(pl.Float64) if is_moment else None


def _knows_who(parts: Parts, frame: pl.DataFrame, role: str, column: str) -> str | None:
    """Describe how a column tells, beyond training, which trained ids have test rows; None if not.

    Ids are compared within groups that have equally many training rows and were last seen at about
    the same time: the share of pairs, one with a test row and one without, that the column orders
    the same way, unless the time itself orders them so. Groups weigh as in the test of van Elteren
    (1960): a group of one id with a test row and many without weighs about 1, so that the sum
    counts what is told and not pairs.
    """
    kind = frame.schema[column]
    if not (kind.is_numeric() or kind == pl.Boolean):
        return None
    seen = pl.col("time").max() if parts.has_times else pl.lit(0)
    known = parts.train.group_by(role).agg(rows=pl.len(), seen=seen)
    tested = parts.test.select(role).unique().with_columns(tested=pl.lit(1))
    value = pl.col(column).cast(pl.Float64).fill_nan(None)
    ids = frame.select(role, value.alias("value")).drop_nulls().unique(role).join(known, on=role)
    ids = ids.join(tested, on=role, how="left").with_columns(pl.col("tested").fill_null(0))
    moment = (pl.col("seen").rank("ordinal") * _MOMENTS / (pl.len() + 1)).floor()
    groups = ids.with_columns(moment=moment).with_columns(
        pl.col("value", "seen").rank().over("rows", "moment")
    )
    above = pl.col("value", "seen") * pl.col("tested")
    n = pl.col("tested").sum().cast(pl.Float64)
    sums = groups.group_by("rows", "moment").agg(above.sum(), n=n, others=pl.len() - n)
    sums = sums.filter((pl.col("n") > 0) & (pl.col("others") > 0))
    pairs, least = sums["n"] * sums["others"], sums["n"] * (sums["n"] + 1) / 2
    weight = pairs / (sums["n"] + sums["others"] + 1)
    if float(weight.sum()) < _LEAST_TOLD:
        return None
    weight /= float(weight.sum())
    shares = [float(((sums[name] - least) / pairs * weight).sum()) for name in ("value", "seen")]
    told, by_time = (max(share, 1.0 - share) for share in shares)
    if told < parts.limits.knows_test or by_time >= parts.limits.knows_test:
        return None
    return (
        f"which of {len(ids):,} trained {role}s have test rows, in {told:.0%} of pairs that "
        "training does not tell"
    )


@dataclass(frozen=True)
class _Compared:
    """A statistic with test rows, the statistics that training allows, and ids to compare."""

    name: str
    leaked: Any
    allowed: list[Any]
    is_total: bool
    pairs: tuple[Any, Any]
    side: Any  # 1 where the statistic of the first id is larger, -1 where that of the second is
    allowed_sides: list[Any]  # the same sign, for each statistic that training allows
    is_tested: Any  # whether both have test rows

    def telling(self, side: Any, limit: float) -> Any:
        """Return the pairs whose order test rows decide, in a column that orders pairs by ``side``.

        Training decides where one of its statistics orders ids as the column does. A column whose
        order is the reverse of a statistic of training, in at least a share ``limit`` of pairs, is
        compared with the reverse: if all users have as many rows, those with more rows in training
        have fewer in test.
        """
        decided = np.zeros(len(side), dtype=bool)
        for allowed in self.allowed_sides:
            ordered = (allowed != 0) & (side != 0)
            against = np.count_nonzero(ordered & (allowed == -side))
            is_reverse = against >= limit * np.count_nonzero(ordered)
            decided |= (-allowed if is_reverse else allowed) == self.side
        return (side != 0) & self.is_tested & ~decided


@dataclass(frozen=True)
class _Statistics:
    """Counts and mean ratings of the ids of a table, with and without test rows.

    A column that is any increasing or decreasing function of a statistic orders ids as that
    does. Of pairs that training ties, or orders the other way, a column computed from training
    orders none as the statistic with test rows does, and an unrelated one a half.
    """

    compared: list[_Compared]
    rows: Any  # rows of the table whose id occurs in some part

    @classmethod
    def read(cls, parts: Parts, ids: pl.Series, role: str) -> _Statistics:
        """Return the statistics of the ids of a table."""
        names = [name for name in ("history", "validation") if name in parts.named]
        allowed = [
            ["train", *more] for size in range(len(names) + 1) for more in combinations(names, size)
        ]
        rated = all("relevance" in frame.columns for frame in (parts.train, parts.test))
        sums = {name: _sums(frame, ids, role, rated) for name, frame in parts.named.items()}
        occurs = np.flatnonzero(sum(counts for counts, _, _ in sums.values()) > 0)
        sums = {name: tuple(values[occurs] for values in of_part) for name, of_part in sums.items()}
        compared = []
        for statistic in ("count", "mean rating") if rated else ("count",):
            of_training = [_statistic(sums, sources, statistic) for sources in allowed]
            for sources in [*allowed, []]:
                name = f"{statistic} over {' and '.join([*sources, 'test'])}"
                leaked = _statistic(sums, [*sources, "test"], statistic)
                compared.append(
                    _compare(name, leaked, of_training, sums["test"][0] > 0, bool(sources))
                )
        return cls(compared, occurs)

    def known_by(self, values: pl.Series, limit: float) -> str | None:
        """Return the name of the statistic with test rows that a column is, or None."""
        column = values.to_numpy()[self.rows].astype(np.float64)
        column[np.isinf(column)] = np.nan
        if not len(column) or bool(np.isnan(column).all()):
            return None
        for compared in self.compared:
            if compared.is_total and _equals(column, compared):
                return compared.name
        agreements = [(_agreement(column, compared, limit), compared) for compared in self.compared]
        agreement, best = max(agreements, key=lambda pair: pair[0])
        return f"{agreement:.0%} in the order of the {best.name}" if agreement else None


def _sums(frame: pl.DataFrame, ids: pl.Series, role: str, rated: bool) -> tuple[Any, Any, Any]:
    """Return the number of rows, the number of ratings and their sum, for each id."""
    has_ratings = rated and "relevance" in frame.columns
    rating = pl.col("relevance").cast(pl.Float64) if has_ratings else pl.lit(None, dtype=pl.Float64)
    rating = pl.when(rating.is_finite()).then(rating)  # others are no ratings
    sums = frame.group_by(role).agg(n=pl.len(), rated=rating.count(), sum=rating.sum())
    joined = ids.to_frame(role).join(sums, on=role, how="left", maintain_order="left")
    n, of_ratings, total = (
        joined[name].fill_null(0).cast(pl.Float64).to_numpy() for name in ("n", "rated", "sum")
    )
    return n, of_ratings, total


def _statistic(sums: dict[str, Any], names: list[str], statistic: str) -> Any:
    """Return the count, or the mean rating (NaN without ratings), of each id over parts."""
    n, rated, total = (sum(sums[name][at] for name in names) for at in range(3))
    if statistic == "count":
        return n
    with np.errstate(invalid="ignore"):
        return np.round(total / np.where(rated > 0, rated, np.nan), 9)


def _compare(name: str, leaked: Any, allowed: list[Any], tested: Any, is_total: bool) -> _Compared:
    """Return a statistic with pairs of ids, near and far from one another in training.

    In order of their statistic in training, ids are paired with the next one, two, four, … ids
    after them. Ids that training ties stand in a random order.
    """
    order = np.random.default_rng(0).permutation(len(leaked))[:_IDS]
    order = order[np.argsort(allowed[0][order], kind="stable")]
    steps = [2**power for power in range(max(1, len(order)).bit_length()) if 2**power < len(order)]
    none = np.zeros(0, dtype=np.int64)
    first = np.concatenate([none, *(order[:-step] for step in steps)])
    second = np.concatenate([none, *(order[step:] for step in steps)])
    side = _side(leaked, first, second)
    sides = [_side(values, first, second) for values in allowed]
    ordered = (np.abs(side) == 1) & ~np.isnan(sides).any(axis=0)
    first, second = first[ordered], second[ordered]
    sides = [values[ordered] for values in sides]
    both = tested[first] & tested[second]  # new items are in test alone, as their age tells
    return _Compared(name, leaked, allowed, is_total, (first, second), side[ordered], sides, both)


def _side(values: Any, first: Any, second: Any) -> Any:
    """Return the sign of the difference of two ids; NaN if an id has no value."""
    return np.sign(values[first] - values[second])


def _equals(column: Any, compared: _Compared) -> bool:
    """Return whether a column is a statistic with test rows, and none of training."""
    both_none = np.isnan(column) & np.isnan(compared.leaked)
    if not np.all(both_none | (np.abs(column - compared.leaked) <= _ROUNDED)):
        return False
    off = [
        np.abs(np.nan_to_num(values, nan=-1.0) - column) > 3 * _ROUNDED
        for values in compared.allowed
    ]
    return all(int(apart.sum()) >= 2 for apart in off)


def _agreement(column: Any, compared: _Compared, limit: float) -> float:
    """Return how well a column keeps a statistic's order, also where training does not, or 0.

    That is the smaller of two shares of pairs of ids: of all, and of those that tell training
    from the statistic with test rows. Pairs that the column ties say nothing. It is 0 below the
    limit, and where few ids decide.
    """
    first, second = compared.pairs
    side = np.nan_to_num(_side(column, first, second))
    if not side.any():
        return 0.0
    agrees = side == compared.side
    used = side != 0
    share = float(agrees[used].mean())
    if share < 0.5:
        side, agrees, share = -side, used & ~agrees, 1.0 - share
    if share < limit:  # as of most columns
        return 0.0
    telling = compared.telling(side, limit)
    if not telling.any():
        return 0.0
    agreement = min(share, float(agrees[telling].mean()))
    return agreement if agreement >= limit and _is_enough(telling, side, compared) else 0.0


def _is_enough(telling: Any, side: Any, compared: _Compared) -> bool:
    """Return whether enough ids are above, and enough below, in both column and statistic."""
    first, second = (ids[telling] for ids in compared.pairs)
    for above in (side[telling] > 0, compared.side[telling] > 0):
        upper, lower = np.where(above, first, second), np.where(above, second, first)
        if min(len(np.unique(upper)), len(np.unique(lower))) < _LEAST_IDS:
            return False
    return True


def _is_answer(parts: Parts, frame: pl.DataFrame, role: str, column: str) -> bool:
    """Return whether a column holds the test items of users, or the test users of items.

    Values that stand in the id's own training rows say nothing. What remains is compared with
    the values of other ids: popular items are test items of many users.
    """
    other = "item" if role == "user" else "user"
    kind = frame.schema[column]
    if not (kind.is_integer() or kind.is_float() or kind in _TEXTS):
        return False
    value = pl.col(column).cast(pl.String) if kind in _TEXTS else pl.col(column)
    value = value.cast(parts.test.schema[other], strict=False).alias(other)
    values = frame.select(role, value).drop_nulls()
    test = parts.test.select(PAIR).unique()
    values = values.join(test.select(role).unique(), on=role, how="semi")
    for rows in parts.known:
        values = values.join(rows.select(PAIR), on=PAIR, how="anti")
    hits = len(values.join(test, on=PAIR, how="semi"))
    if hits < _LEAST_ANSWERS:
        return False
    tested = test.join(values.select(role), on=role, how="semi").group_by(other).len("n_test")
    both = values.group_by(other).len("n").join(tested, on=other)
    by_chance = float((both["n"] / len(values) * (both["n_test"] / len(values))).sum())
    return hits / len(values) - by_chance > parts.limits.answers


def audit(
    train: Any,
    test: Any = None,
    validation: Any = None,
    recommendations: Any = None,
    *,
    claim: Claim | None = None,
    repeats: bool = False,
    items: Any = None,
    users: Any = None,
    features: Any = None,
    vocabulary: Mapping[str, Iterable[Any]] | None = None,
    candidates: Any = None,
    runs: Any = None,
    stages: Mapping[str, Any] | None = None,
    columns: Columns | None = None,
    time_unit: TimeUnit | None = None,
    time_format: str | None = None,
    limits: Limits | None = None,
) -> Audit:
    """Check a split for leakage and common mistakes: L1 to L22, each with a verdict and a number.

    Parameters
    ----------
    train : table, path, mapping, Split or folder
        The training rows; or a split with all its parts, or the folder of one.
    test, validation : table, path or mapping, optional
        The test and validation rows.
    recommendations : table, path or mapping, optional
        Recommendation lists of the test users (L7, L18, L19).
    claim : {"time", "users", "none"}, optional
        The property that the split claims. ``"time"``: no training row is later than a test row;
        ``"users"``: test users have no training rows. A violated claim fails; without a claim the
        check warns. By default the claim follows from the rule of a `Split`.
    repeats : bool, default=False
        Whether users may consume an item more than once (L1 then passes).
    items, users : table or path, optional
        Features of items and users that models use (L13, L15).
    features : table or path, optional
        Rows of a user or an item with a timestamp: when each feature became known (L13).
    vocabulary : mapping of "user" and "item" to ids, optional
        The ids in the model's vocabulary, or ``{id: number}`` (L4).
    candidates : table or path, optional
        The candidate set of each user in the order in which it is scored (L17).
    runs : table or path, optional
        A log of evaluations with columns ``run``, ``part`` (train, validation, test) and
        ``purpose`` (``report``, or anything else such as select and stop) (L14).
    stages : mapping of str to table, optional
        ``candidate_train``, ``ranker_train``, ``ranker_validation`` of a two-stage scheme (L19).
    columns : mapping of str to str or None, optional
        The column of each role, if its name is not recognised.
    time_unit : {"s", "ms", "us", "ns"}, optional
        The unit of numeric timestamps; by default guessed from their magnitude.
    time_format : str, optional
        The format of dates that are written as text or as whole numbers, such as ``"%d/%m/%Y"``;
        needed where several formats fit the rows of all parts.
    limits : Limits, default=Limits()
        The thresholds above which checks warn.

    Returns
    -------
    Audit

    Raises
    ------
    InputError
        If a table cannot be read.
    ParameterError
        If the test part is missing, or an option is invalid.

    Examples
    --------
    >>> import polars as pl
    >>> from rankwise.splits import GlobalTime
    >>> rows = {"user": [1, 2, 1, 2], "item": [1, 1, 2, 3], "timestamp": [1, 2, 3, 4]}
    >>> result = audit(GlobalTime(share=0.5).split(pl.DataFrame(rows)))
    >>> result["L3"].status, result["L8"].value, result.failed
    ('pass', 0.0, False)
    """
    if claim is not None:
        check_choice("claim", claim, Claim)
    lists = [source for source in (recommendations, candidates) if source is not None]
    read: dict[TableRole, Any] = {"recommendations": lists or None, "items": items, "users": users}
    if features is not None:  # of users or of items
        read |= {"items": features, "users": features}
    given = [role for role, source in read.items() if source is not None]
    check_columns(columns, ["interactions", *given], ("items", "users"))
    extra = {
        "items": None if items is None else _read_typed(items, "items", columns),
        "users": None if users is None else _read_typed(users, "users", columns),
        "features": None if features is None else _read_features(features, columns),
        "vocabulary": vocabulary,
        "runs": None if runs is None else _read_frame(runs, "runs"),
        "time_unit": time_unit,
        "time_format": time_format,
    }
    parts = read_parts(
        {
            "train": train,
            "test": test,
            "validation": validation,
            "lists": recommendations,
            "candidates": candidates,
        },
        claim=claim,
        repeats=repeats,
        limits=limits or Limits(),
        stages=stages,
        columns=columns,
        time_unit=time_unit,
        time_format=time_format,
        extra=extra,
    )
    return Audit(
        tuple(CHECKS[code](parts) for code in sorted(CHECKS, key=lambda code: int(code[1:])))
    )


def _read_typed(source: Any, role: Literal["items", "users"], columns: Columns | None) -> Table:
    """Return the table of items or users, with numeric text columns of a file as numbers."""
    table = read_table(source, role, columns)
    return (
        table.with_frame(parse_numbers(table.frame, table.frame.columns))
        if table.is_text
        else table
    )


def _read_features(source: Any, columns: Columns | None) -> Table:
    """Return features of users, or else of items, with the column ``timestamp``."""
    raw = read_file(source) if isinstance(source, str | Path) else source
    names = raw.frame.columns if isinstance(raw, RawFile) else _read_frame(raw, "features").columns
    of_users = any(plain_name(name) in ROLES["users"]["user"] for name in names)
    table = _read_typed(raw, "users" if of_users else "items", columns)
    time_names = ROLES["truth"]["timestamp"]
    times = [name for name in table.frame.columns if plain_name(name) in time_names]
    if not times:
        raise ColumnError(
            "features say when each was known, in a column for the time",
            where=table.source,
            found=quoted_columns(table.frame.columns),
        )
    return table.with_frame(table.frame.rename({times[0]: "timestamp"}))


def _read_frame(source: Any, name: str) -> pl.DataFrame:
    if isinstance(source, str | Path):
        return read_file(source).frame
    if isinstance(source, dict):
        try:
            return pl.DataFrame(source)
        except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
            raise InputError(f"{name}: these columns do not make a table") from error
    if not hasattr(source, "__arrow_c_stream__"):
        raise InputError(f"{name}: neither a table nor a file", found=type(source).__name__)
    return from_arrow(source, name)
