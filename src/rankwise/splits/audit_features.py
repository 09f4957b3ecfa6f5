"""The check of features that know the test: later than their rows, or computed with them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from rankwise.errors import ColumnError
from rankwise.messages import parameter
from rankwise.splits.audit_checks import Finding, check, not_run, verdict
from rankwise.splits.audit_parts import PAIR, Parts
from rankwise.tables.dates import dates_in
from rankwise.tables.ids import matching
from rankwise.tables.table import Table
from rankwise.tables.times import read_times

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
    """L13: features known only after the event, and columns computed with the test rows.

    Finds:

    - `features=` later than the test row
    - columns of `items=` or `users=` that increase or decrease with counts or mean ratings over
      test rows, also rounded or with noise, unless training orders ids in the same way
    - columns of users that hold their test item, or of items their test user
    - dates, also as text, in the test period, after everything known of the user or item before
      (`last_active`)
    - a column that tells which trained ids have test rows (`churned`), among ids with equally
      many training rows and a similar last time

    Worst verdict: fail at 0.95 of the order; at 0.3 of the users; at 0.5 of the dates.

    Remedy: Compute features from data known at the time of each row, and leave out the columns
    named.
    """
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
        return not_run(
            f"{parameter('features')} with timestamps, or {parameter('items')} and "
            f"{parameter('users')}"
        )
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
    if column.dtype == pl.String:
        column = dates_in(column, parts.extra.get("time_format"))
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
