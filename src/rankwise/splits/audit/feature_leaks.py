"""Features that know the test part (L13): late ones, statistics over test rows, and answers."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from rankwise.errors import ColumnError
from rankwise.splits.audit.findings import Check, not_run, verdict
from rankwise.splits.audit.parts import PAIR, Parts
from rankwise.splits.times import read_times
from rankwise.tables.align import matching
from rankwise.tables.table import Table

__all__ = ["feature_leaks"]

_ROUNDED = 0.006  # statistics may be rounded to two decimals
_LEAST_IDS = 10  # ids above and below others: fewer may stand in any order by chance
_IDS = 20_000  # ids that are compared in order
_LEAST_ANSWERS = 10  # ids whose feature is a test item of theirs
_TEXTS = (pl.String, pl.Categorical, pl.Enum)


def feature_leaks(parts: Parts) -> Check:
    """L13: features known only after the event, and columns computed with the test rows."""
    name = "features that know the test"
    findings, frames = [], []
    features: Table | None = parts.extra.get("features")
    if features is not None:
        late = _late(parts, features)
        frames.append(late)
        findings.append(
            f"{len(late):,} of {len(features.frame):,} features are later than the first test row of their user or item"
        )
    for role in PAIR:
        table: Table | None = parts.extra.get(f"{role}s")
        if table is None:
            continue
        leaks = _leaks(parts, table, role)
        names = [column for column in table.frame.columns if column != role]
        found = ", ".join(f"{column} ({why})" for column, why in leaks.items()) or "none"
        findings.append(
            f"of {len(names):,} columns of {table.frame[role].n_unique():,} {role}s, computed with test rows: {found}"
        )
        frames += [table.frame.select(role, *leaks)] if leaks else []
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
    times = read_times(features, parts.extra.get("time_unit"), parts.extra.get("time_format"))
    names = [name for name in features.frame.columns if name not in ("_at", "_first")]
    timed = features.frame.select(names).with_columns(_at=pl.Series(times.values))
    first = parts.test.group_by(role).agg(_first=pl.col("time").min() / parts.per_second)
    matched = matching(features.with_frame(timed), role, parts.test[role])
    later = pl.col("_at") / times.per_second > pl.col("_first")
    return matched.join(first, on=role, how="inner").filter(later).drop("_at", "_first")


def _leaks(parts: Parts, table: Table, role: str) -> dict[str, str]:
    """Return the columns of a table that leak the test part, each with what it leaks."""
    frame = matching(table, role, parts.train[role])
    columns = [name for name in frame.columns if name != role]
    statistics = _Statistics.read(parts, frame[role], role)
    out = {}
    for column in columns:
        why = None
        kind = frame.schema[column]
        if kind.is_numeric() or kind == pl.Boolean:
            values = frame[column].cast(pl.Float64).fill_nan(None)
            why = statistics.known_by(values, parts.limits.knows_test)
        if why is None and _is_answer(parts, frame, role, column):
            why = "the test user" if role == "item" else "the test item"
        if why is not None:
            out[column] = why
    return out


@dataclass(frozen=True)
class _Compared:
    """A statistic with test rows, those that training alone allows, and ids compared by them."""

    name: str
    leaked: Any
    known: list[Any]
    is_whole: bool
    pairs: tuple[Any, Any]
    side: Any  # 1 where the statistic of the first id is larger, -1 where that of the second is
    known_sides: list[Any]  # the same sign, for each statistic that training allows
    is_tested: Any  # whether both have test rows

    def telling(self, side: Any, limit: float) -> Any:
        """Return the pairs whose order test rows decide, in a column that orders pairs by ``side``.

        Training decides where one of its statistics orders ids as the column does. A column whose
        order is the reverse of a statistic of training, in at least a share ``limit`` of pairs, is
        compared with the reverse: if all users have as many rows, those with more rows in training
        have fewer in test.
        """
        decided = np.zeros(len(side), dtype=bool)
        for known in self.known_sides:
            ordered = (known != 0) & (side != 0)
            against = np.count_nonzero(ordered & (known == -side))
            is_reverse = against >= limit * np.count_nonzero(ordered)
            decided |= (-known if is_reverse else known) == self.side
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
        named = dict(parts.named)
        test = named.pop("test")
        names = [n for n in ("history", "validation") if n in named]
        known = [["train", *some] for size in range(len(names) + 1) for some in combinations(names, size)]
        rated = all("relevance" in frame.columns for frame in (parts.train, test))
        sums = {name: _sums(frame, ids, role, rated) for name, frame in parts.named.items()}
        occurs = np.flatnonzero(sum(counts for counts, _, _ in sums.values()) > 0)
        sums = {n: tuple(values[occurs] for values in own) for n, own in sums.items()}
        compared = []
        for statistic in ("count", "mean rating") if rated else ("count",):
            of_known = [_statistic(sums, some, statistic) for some in known]
            for some in [*known, []]:
                name = f"{statistic} over {' and '.join([*some, 'test'])}"
                leaked = _statistic(sums, [*some, "test"], statistic)
                tested = sums["test"][0] > 0
                compared.append(_compare(name, leaked, of_known, tested, bool(some)))
        return cls(compared, occurs)

    def known_by(self, values: pl.Series, limit: float) -> str | None:
        """Return the name of the statistic with test rows that a column is, or None."""
        column = values.to_numpy()[self.rows].astype(np.float64)
        column[np.isinf(column)] = np.nan
        if not len(column) or bool(np.isnan(column).all()):
            return None
        for compared in self.compared:
            if compared.is_whole and _equals(column, compared):
                return compared.name
        agreements = [(_agreement(column, compared, limit), compared) for compared in self.compared]
        agreement, best = max(agreements, key=lambda pair: pair[0])
        return f"{agreement:.0%} in the order of the {best.name}" if agreement else None


def _sums(frame: pl.DataFrame, ids: pl.Series, role: str, rated: bool) -> tuple[Any, Any, Any]:
    """Return the number of rows, the number of ratings and their sum, for each id."""
    given = pl.col("relevance").cast(pl.Float64) if rated and "relevance" in frame.columns else None
    rating = pl.lit(None, dtype=pl.Float64) if given is None else given
    rating = pl.when(rating.is_finite()).then(rating)  # others are no ratings
    own = frame.group_by(role).agg(n=pl.len(), rated=rating.count(), sum=rating.sum())
    joined = ids.to_frame(role).join(own, on=role, how="left", maintain_order="left")
    n, of_ratings, total = (joined[name].fill_null(0).cast(pl.Float64).to_numpy() for name in ("n", "rated", "sum"))
    return n, of_ratings, total


def _statistic(sums: dict[str, Any], names: list[str], statistic: str) -> Any:
    """Return the count, or the mean rating (NaN without ratings), of each id over some parts."""
    n, rated, total = (sum(sums[name][at] for name in names) for at in range(3))
    if statistic == "count":
        return n
    with np.errstate(invalid="ignore"):
        return np.round(total / np.where(rated > 0, rated, np.nan), 9)


def _compare(name: str, leaked: Any, known: list[Any], tested: Any, is_whole: bool) -> _Compared:
    """Return a statistic with pairs of ids, near and far from one another in training.

    In order of their statistic in training, ids are paired with the next one, two, four, … ids
    after them. Ids that training ties stand in a random order.
    """
    order = np.random.default_rng(0).permutation(len(leaked))[:_IDS]
    order = order[np.argsort(known[0][order], kind="stable")]
    steps = [2**power for power in range(max(1, len(order)).bit_length()) if 2**power < len(order)]
    none = np.zeros(0, dtype=np.int64)
    first = np.concatenate([none, *(order[:-step] for step in steps)])
    second = np.concatenate([none, *(order[step:] for step in steps)])
    side = _side(leaked, first, second)
    of_known = [_side(own, first, second) for own in known]
    ordered = (np.abs(side) == 1) & ~np.any([np.isnan(own) for own in of_known], axis=0)
    first, second = first[ordered], second[ordered]
    sides = [own[ordered] for own in of_known]
    both = tested[first] & tested[second]  # new items are in test alone, as their age tells
    return _Compared(name, leaked, known, is_whole, (first, second), side[ordered], sides, both)


def _side(values: Any, first: Any, second: Any) -> Any:
    """Return the sign of the difference of two ids; NaN if one of them has no value."""
    return np.sign(values[first] - values[second])


def _equals(column: Any, compared: _Compared) -> bool:
    """Return whether a column is a statistic with test rows, and none of training."""
    both_none = np.isnan(column) & np.isnan(compared.leaked)
    if not np.all(both_none | (np.abs(column - compared.leaked) <= _ROUNDED)):
        return False
    off = [np.abs(np.nan_to_num(own, nan=-1.0) - column) > 3 * _ROUNDED for own in compared.known]
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
    """Return whether enough ids are above others, and below others, in column and statistic."""
    first, second = (ids[telling] for ids in compared.pairs)
    for above in (side[telling] > 0, compared.side[telling] > 0):
        upper, lower = np.where(above, first, second), np.where(above, second, first)
        if min(len(np.unique(upper)), len(np.unique(lower))) < _LEAST_IDS:
            return False
    return True


def _is_answer(parts: Parts, frame: pl.DataFrame, role: str, column: str) -> bool:
    """Return whether a column of users holds their test items, or one of items its test users.

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
