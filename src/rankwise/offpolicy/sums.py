"""User sums of a log, the basis of all results; sums of pieces with whole users can be merged.

Sums by user have one order, that of the user's rows; all others are exact or do not depend on an
order. So the sums of a log have the same bits for every order of its rows, and in any number of
pieces.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from rankwise.core.arrays import ExactTotal
from rankwise.errors import DuplicateError
from rankwise.offpolicy.estimators import MODEL_BASED
from rankwise.offpolicy.exposures import Log, hashes_of
from rankwise.offpolicy.policies import Kind, running
from rankwise.stats.differences import Floats

CLIPS = np.array(
    [1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 70, 100, 200, 500, 1000, 1e4, 1e6],
    dtype=np.float64,
)
"""The clips of the sensitivity curve."""
_HEAVIEST = 64
"""Number of requests with the largest, and with the smallest, weight that are kept for each policy."""
_BLOCK = 1024
_STRATA = 8
"""The binary digits of the number of strata of contexts."""
_CODE_BITS = 44
"""The bits of 1 / propensity that calibration ignores: 8 of its 52 digits are left."""


@dataclass(frozen=True)
class Rows:
    """The rows of a log as one policy sees them.

    Attributes
    ----------
    weight : array, shape (rows,)
        The weight of each row: of the item, or of the list up to it.
    before : array, shape (rows,), or None
        The weight of the list above each row; None where all are 1.
    predicted, expected : array, shape (rows,), or None
        The prediction of the reward of the row's item, and its mean over the policy's items; None
        without predictions.
    """

    weight: Floats
    before: Floats | None = None
    predicted: Floats | None = None
    expected: Floats | None = None

    def filter(self, kept: Any) -> Rows:
        """Return the rows of a mask."""
        parts = (self.weight, self.before, self.predicted, self.expected)
        return Rows(*(None if part is None else part[kept] for part in parts))  # type: ignore[arg-type]

    def columns(self) -> list[Floats | None]:
        """Return weight, prediction, weight above and expected prediction of each row."""
        return [self.weight, self.predicted, self.before, self.expected]


def weights_of(
    probability: Floats, propensity: Floats, log: Log, kind: Kind, slates: str
) -> tuple[Floats, Floats | None]:
    """Return the weight of each row and of the list above; 1 where a policy follows the log."""
    ratio = probability / propensity
    if math.isnan(float(ratio.sum())):
        ratio[np.isnan(ratio)] = 1.0
    if not log.is_slate or slates == "independent" or kind in ("list", "marginal"):
        return ratio, None
    weight = running(np.multiply, ratio, log) if kind == "conditional" else ratio
    before = np.ones_like(weight)
    later = np.flatnonzero(log.place > 0)
    before[later] = weight[later - 1]
    return weight, before


@dataclass(frozen=True)
class PolicySums:
    """The sums of one policy; arrays of users by position, and of the kept requests by position.

    Attributes
    ----------
    weight, reward : array, shape (users, positions)
        Σ w and Σ w (r − q).
    expected, before : array, shape (users, positions), or None
        With predictions Σ w' dm and Σ w', where w' is the weight of the list above; `before` is
        None where all are 1.
    kept : array, shape (4, requests, positions)
        Weight, prediction, weight above and expected prediction of the kept requests; 0 at
        positions they lack.
    clips : array of object, shape (4, clips, positions)
        Number of rows, and the exact Σ w (r − q), Σ w and Σ (r − q), of the rows in each interval
        of weights.
    full : array of object, shape (2, positions)
        In slates the exact Σ w r and Σ w, with the weight of the full list at every position.
    models : mapping of (str, float or None) to ExactTotal
        With predictions, the exact sum of each estimator that relies on them, by its name and
        parameter.
    outside : ExactTotal or None
        Over all requests, the probability of items that the log cannot show; None if unknown.
    largest : float
        The largest weight.
    squares, entropy : ExactTotal
        Σ w² and Σ w log w of all rows.
    unused : int
        Number of requests of weight 0.
    tail : array
        The largest weights, in order.
    """

    weight: Floats
    reward: Floats
    expected: Floats | None
    before: Floats | None
    kept: Floats
    clips: Any
    full: Any
    models: dict[tuple[str, float | None], ExactTotal]
    outside: ExactTotal | None
    largest: float
    squares: ExactTotal
    entropy: ExactTotal
    unused: int
    tail: Floats


@dataclass(frozen=True)
class Sums:
    """The sums of a log, or of a piece with whole users.

    Attributes
    ----------
    users : polars.Series or None
        The users, in order; None where every row is a user of its own, before pieces are merged.
    requests : array, shape (users,)
        Number of requests.
    rows, reward : array, shape (users, positions)
        Number of rows and sum of rewards.
    policies : mapping of str to PolicySums
        The sums of each policy.
    present : array of bool, shape (requests, positions)
        Which positions the kept requests have.
    reward_range : tuple of float
        The smallest and the largest reward.
    binary : bool
        Whether every reward is 0 or 1.
    shown : polars.DataFrame
        ``item``, ``place``, ``stratum`` of the context, ``code`` (of 1 / propensity) and ``rows``,
        for the calibration of items.
    """

    users: pl.Series | None
    requests: Floats
    rows: Floats
    reward: Floats
    policies: dict[str, PolicySums]
    present: Any
    reward_range: tuple[float, float]
    binary: bool
    shown: pl.DataFrame

    @property
    def n(self) -> int:
        """The number of requests."""
        return int(self.requests.sum())

    @classmethod
    def merged(cls, parts: Sequence[Sums]) -> Sums:
        """Merge the sums of all pieces, in any order of pieces; users are sorted."""
        width = max(part.rows.shape[1] for part in parts)
        requests = np.concatenate([part.requests for part in parts])
        rows = _stacked([part.rows for part in parts], width)
        reward = _stacked([part.reward for part in parts], width)
        present = _stacked([part.present for part in parts], width)

        users = _concat_users(parts)
        order = _order_of(users)
        if users is None:
            order = _sort_by_sums(parts, rows, reward)
            users = pl.Series("user", np.arange(len(order)))
        if order is not None:
            users = users[order]
            requests, rows, reward = requests[order], rows[order], reward[order]

        kept = {name: _concat_kept(parts, name, width) for name in parts[0].policies}
        chosen = _choose_requests(present, list(kept.values()))
        tail = tail_length(int(sum(part.rows.sum() for part in parts)))
        policies = {
            name: _merge_policy(parts, name, width, order, values[:, chosen], tail)
            for name, values in kept.items()
        }

        lows, highs = zip(*(part.reward_range for part in parts), strict=True)
        return cls(
            users=users,
            requests=requests,
            rows=rows,
            reward=reward,
            policies=policies,
            present=present[chosen],
            reward_range=(min(lows), max(highs)),
            binary=all(part.binary for part in parts),
            shown=_merge_shown([part.shown for part in parts]),
        )


def over_positions(values: Any) -> Any:
    """Return the sum over the positions, which is no copy where there is one."""
    return values[:, 0] if values.shape[1] == 1 else values.sum(1)


def _padded(values: Any, width: int) -> Any:
    """Return an array with columns for all positions."""
    short = width - values.shape[-1]
    return np.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, short)]) if short else values


def _stacked(parts: Sequence[Any], width: int) -> Any:
    """Stack the arrays of all pieces, padded to the same number of positions."""
    return (
        np.concatenate([_padded(part, width) for part in parts])
        if len(parts) > 1
        else _padded(parts[0], width)
    )


def _order_of(users: pl.Series | None) -> Any:
    """Return the order that sorts users, None if sorted; raise if a user is in two pieces."""
    if users is None or users.is_sorted():
        order = None
    else:
        order = users.arg_sort().to_numpy()
        users = users[order]
    if users is not None and (users == users.shift()).any():
        raise DuplicateError(
            "the rows of a user came in two chunks",
            where=f"user {users.filter(users == users.shift())[0]!r}",
            hint="pass all rows of a user in one chunk (sort the table by user)",
        )
    return order


def _concat_users(parts: Sequence[Sums]) -> pl.Series | None:
    """Return the users of all pieces; None where every row is a user of its own."""
    if parts[0].users is None:
        return None
    return pl.concat([part.users for part in parts if part.users is not None])


def _sort_by_sums(parts: Sequence[Sums], rows: Floats, reward: Floats) -> Any:
    """Return the order of rows that are users of their own: their place in a log means nothing."""
    sums = [rows, reward]
    for name, first in parts[0].policies.items():
        for each in ("weight", "reward", "expected"):
            if getattr(first, each) is not None:
                arrays = [getattr(part.policies[name], each) for part in parts]
                sums.append(_stacked(arrays, rows.shape[1]))
    return np.lexsort(np.column_stack(sums).T)


def _concat_kept(parts: Sequence[Sums], name: str, width: int) -> Floats:
    """Return the kept requests of one policy in all pieces."""
    kept = [_padded(part.policies[name].kept, width) for part in parts]
    return np.concatenate(kept, axis=1)


def _choose_requests(present: Any, kept: Sequence[Floats]) -> Any:
    """Return the requests of all pieces with the largest and smallest weights of each policy."""
    cells = [*present.T, *(column for each in kept for table in each for column in table.T)]
    return _extremes([each[0].max(axis=1, initial=0.0) for each in kept], lambda: cells)


def _merge_shown(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Add up the rows of each item, place, stratum and code."""
    shown = parts[0]
    for part in parts[1:]:  # one by one: together they are larger than the sums of users
        both = pl.concat([shown, part])
        shown = both.group_by("item", "place", "stratum", "code").agg(pl.col("rows").sum())
    return shown.sort("item", "place", "stratum", "code")


def _merge_policy(
    pieces: Sequence[Sums], name: str, width: int, order: Any, kept: Floats, tail: int
) -> PolicySums:
    """Return the sums of one policy over all pieces."""
    parts = [piece.policies[name] for piece in pieces]

    def by_user(name: str) -> Any:
        if getattr(parts[0], name) is None:
            return None
        values = _stacked([getattr(part, name) for part in parts], width)
        return values if order is None else values[order]

    masses = [part.outside for part in parts]
    known = [mass for mass in masses if mass is not None]
    return PolicySums(
        weight=by_user("weight"),
        reward=by_user("reward"),
        expected=by_user("expected"),
        before=by_user("before"),
        kept=kept,
        clips=_added([part.clips for part in parts], width),
        full=_added([part.full for part in parts], width),
        models={key: _total(part.models[key] for part in parts) for key in parts[0].models},
        outside=_total(known) if len(known) == len(parts) else None,
        largest=max(part.largest for part in parts),
        squares=_total(part.squares for part in parts),
        entropy=_total(part.entropy for part in parts),
        unused=sum(part.unused for part in parts),
        tail=_largest_values(np.concatenate([part.tail for part in parts]), tail),
    )


def _total(totals: Iterable[ExactTotal]) -> ExactTotal:
    return sum(totals, ExactTotal())


def _added(parts: Sequence[Any], width: int) -> Any:
    """Return the sum of arrays of exact totals, which may have fewer positions."""
    out = np.full((*parts[0].shape[:-1], width), ExactTotal(), dtype=object)
    for part in parts:
        out[..., : part.shape[-1]] += part
    return out


def sums_of(
    log: Log,
    rows: Mapping[str, Rows],
    propensity: Floats,
    masses: Mapping[str, ExactTotal | None],
    tail: int,
    context: Sequence[str] = (),
) -> Sums:
    """Return the sums of a log under several policies.

    Parameters
    ----------
    log : Log
        The rows.
    rows : mapping of str to Rows
        The rows as each policy sees them.
    propensity : array, shape (rows,)
        The propensity of each row.
    masses : mapping of str to ExactTotal or None
        `PolicySums.outside`.
    tail : int
        The number of largest weights to keep.
    context : sequence of str
        The columns of the context, within which items are calibrated as well.
    """
    place, first = log.place, log.first
    n_users, width = log.n_users, int(place.max(initial=0)) + 1 if log.is_slate else 1
    cell = log.user * width + place if log.is_slate else log.user
    ones = np.broadcast_to(1.0, log.rows)

    def by_user(values: Any) -> Any:
        return (
            np.bincount(cell, values, n_users * width)
            .reshape(n_users, width)
            .astype(np.float64, copy=False)
        )

    def cells() -> Iterable[Floats]:
        columns = [
            ones,
            *(column for each in rows.values() for column in each.columns() if column is not None),
        ]
        return (
            by_place for column in columns for by_place in _by_request(column, log, width, None).T
        )

    kept = _extremes([_heaviest(each.weight, log) for each in rows.values()], cells)
    counts = by_user(None)
    low, high = (float(limit(log.reward)) for limit in (np.min, np.max))
    users = log.frame["user"].gather(log.first_of_users) if "user" in log.frame.columns else None
    return Sums(
        None if users is None else users.rename("user"),
        counts[:, 0]
        if not log.is_slate
        else np.bincount(log.user[first], minlength=n_users).astype(np.float64),
        counts,
        by_user(log.reward),
        {
            name: _policy_sums(each, log, width, by_user, kept, masses[name], tail)
            for name, each in rows.items()
        },
        _by_request(ones, log, width, kept) > 0,
        (low, high),
        bool(
            np.isin((low, high), (0.0, 1.0)).all()
            and ((log.reward == 0.0) | (log.reward == 1.0)).all()
        ),
        _shown(log, propensity, context),
    )


def _heaviest(weight: Floats, log: Log) -> Floats:
    """Return the largest weight of each request."""
    return np.maximum.reduceat(weight, log.first) if log.is_slate else weight


def _extremes(heaviest: Sequence[Floats], cells: Callable[[], Iterable[Floats]]) -> Any:
    """Return the requests with the largest and smallest weights of each policy.

    Which of equal requests are kept is decided by the weights of the other policies, and then by
    all ``cells``: the order of the requests does not matter.
    """
    size = len(heaviest[0])
    if size <= 2 * _HEAVIEST:
        return np.arange(size)
    kept = []
    for at, weight in enumerate(heaviest):
        others = [other for number, other in enumerate(heaviest) if number != at]
        kept += [_first_of(sign, [weight, *others], cells) for sign in (1.0, -1.0)]
    return np.unique(np.concatenate(kept))


def _first_of(sign: float, keys: Sequence[Floats], cells: Callable[[], Iterable[Floats]]) -> Any:
    """Return the requests with the largest or smallest keys; later keys break ties."""
    rows, left, kept = None, _HEAVIEST, []

    def each_key() -> Iterable[Floats]:
        yield from keys
        yield from cells()

    for key in each_key():
        values = sign * (key if rows is None else key[rows])
        limit = _largest_values(values, left)[0]
        above, equal = np.flatnonzero(values > limit), np.flatnonzero(values == limit)
        kept.append(above if rows is None else rows[above])
        left -= len(above)
        rows = equal if rows is None else rows[equal]
        if len(rows) <= left:
            break
    return np.concatenate([*kept, rows[:left]])  # type: ignore[index]


def _largest_values(values: Floats, count: int) -> Floats:
    """Return the ``count`` largest values in increasing order, without sorting all values."""
    if len(values) > 64 * _BLOCK and count < len(values) // _BLOCK:
        whole = len(values) - len(values) % _BLOCK
        tops = values[:whole].reshape(-1, _BLOCK).max(axis=1)
        limit = np.partition(tops, len(tops) - count)[len(tops) - count]
        values = values[values >= limit]
    if count < len(values):
        values = np.partition(values, len(values) - count)[len(values) - count :]
    return np.sort(values)


def _by_request(values: Any, log: Log, width: int, kept: Any) -> Floats:
    """Return values of the kept requests, or of all, shape (requests, positions)."""
    if not log.is_slate:
        column: Floats = values[:, None] if kept is None else values[kept][:, None]
        return column
    if kept is None:
        kept = np.arange(len(log.first))
    out = np.zeros((len(kept), width))
    chosen = np.full(len(log.first), -1)
    chosen[kept] = np.arange(len(kept))
    inside = np.flatnonzero(chosen[log.request] >= 0)
    out[chosen[log.request[inside]], log.place[inside]] = values[inside]
    return out


def _policy_sums(
    rows: Rows, log: Log, width: int, by_user: Any, kept: Any, mass: ExactTotal | None, tail: int
) -> PolicySums:
    weight, reward = rows.weight, log.reward
    heaviest = _heaviest(weight, log)
    positive = weight[weight > 0]
    modelled = rows.predicted is not None
    residual = reward if rows.predicted is None else reward - rows.predicted
    models: dict[tuple[str, float | None], ExactTotal] = {}
    if modelled and not log.is_slate:
        models = {
            k: ExactTotal.of(rows.expected + change(weight, x) * residual)
            for k, (change, x) in MODEL_BASED.items()
        }
    tables = [
        np.zeros((len(kept), width)) if c is None else _by_request(c, log, width, kept)
        for c in rows.columns()
    ]
    if rows.before is None:
        tables[2] = _by_request(np.broadcast_to(1.0, log.rows), log, width, kept)
    expected = rows.expected
    if expected is not None and rows.before is not None:
        expected = rows.before * expected
    return PolicySums(
        weight=by_user(weight),
        reward=by_user(weight * residual),
        expected=None if expected is None else by_user(expected),
        before=by_user(rows.before) if modelled and rows.before is not None else None,
        kept=np.stack(tables),
        clips=_clip_sums(weight, residual, log, width),
        full=_full_list_sums(weight, log, width),
        models=models,
        outside=mass,
        largest=float(weight.max()),
        squares=ExactTotal.of(weight * weight),
        entropy=ExactTotal.of(positive * np.log(positive)),
        unused=int((heaviest == 0).sum()),
        tail=_largest_values(weight, tail),
    )


def tail_length(n: int) -> int:
    """Return min(0.2 n, 3 √n) rounded up, plus 1: the Pareto tail and the weight below the tail."""
    return int(np.ceil(min(0.2 * n, 3 * np.sqrt(n)))) + 1


def _clip_sums(weight: Any, reward: Any, log: Log, width: int) -> Any:
    """Return row counts and exact Σ w r, Σ w and Σ r, by interval of weights and position."""
    cell = np.searchsorted(CLIPS, weight).astype(np.int32)
    cell = cell * width + log.place if log.is_slate else cell
    size = (len(CLIPS) + 1) * width
    rewarded = np.flatnonzero(reward)
    out = [
        np.array(
            [ExactTotal.of([count]) for count in np.bincount(cell, minlength=size)], dtype=object
        )
    ]
    out.append(_totals_by(cell[rewarded], (weight * reward)[rewarded], size))
    out += [_totals_by(cell, weight, size), _totals_by(cell[rewarded], reward[rewarded], size)]
    return np.stack(out).reshape(4, len(CLIPS) + 1, width)


def _totals_by(cell: Any, values: Any, size: int) -> Any:
    """Return the exact sum of the values of each cell."""
    order = np.argsort(cell.astype(np.int16) if size < 2**15 else cell, kind="stable")
    ends = np.cumsum(np.bincount(cell, minlength=size))[:-1]
    return np.array([ExactTotal.of(part) for part in np.split(values[order], ends)], dtype=object)


def _full_list_sums(weight: Any, log: Log, width: int) -> Any:
    """Return the exact Σ w r and Σ w by position, weighted by the full list at every position."""
    if not log.is_slate:
        return np.full((2, width), ExactTotal(), dtype=object)
    last = np.append(log.first[1:], log.rows) - 1
    full = weight[last][log.request]
    return np.stack([_totals_by(log.place, values, width) for values in (full * log.reward, full)])


def _shown(log: Log, propensity: Any, context: Sequence[str]) -> pl.DataFrame:
    """Return how often each item was shown at each place, in each stratum, with each propensity."""
    bits = np.divide(1.0, propensity).view(np.int64)
    bits += 1 << (_CODE_BITS - 1)
    bits >>= _CODE_BITS  # few distinct values, with 8 binary digits
    columns = {"item": log.frame["item"], "code": pl.Series(bits)}
    if "position" in log.frame.columns or log.is_slate:
        columns["place"] = (
            log.frame["position"] if "position" in log.frame.columns else pl.Series(log.place)
        )
    if context:
        columns["stratum"] = _strata(log, context)
    numbers, values = zip(*map(_numbered, columns.values()), strict=True)
    sizes = [len(each) for each in values]
    cell = numbers[-1]
    for number, size in zip(numbers[-2::-1], sizes[-2::-1], strict=True):
        cell = cell * size + number
    if math.prod(sizes) < 4 * log.rows + 2**20:
        counts = np.bincount(cell)
        cell = np.flatnonzero(counts)
        counts = counts[cell]
    else:
        cell, counts = np.unique(cell, return_counts=True)
    numbers = np.unravel_index(cell, sizes[::-1])[::-1]
    shown = {
        name: each.gather(number)
        for name, each, number in zip(columns, values, numbers, strict=True)
    }
    whole = {
        name: shown.get(name, pl.zeros(len(counts), eager=True))
        for name in ("item", "place", "stratum", "code")
    }
    types = {"place": pl.Int64, "stratum": pl.Int16, "code": pl.Int32}
    return pl.DataFrame({**whole, "rows": counts}).cast(types)  # type: ignore[arg-type]


def _strata(log: Log, context: Sequence[str]) -> pl.Series:
    """Return the stratum of each row: a hash of its context, with few values."""
    known = log.frame.select(context).unique()
    text = pl.concat_str(
        [pl.col(name).cast(pl.String).fill_null("") for name in context], separator="\x1f"
    )
    stratum = hashes_of(known.select(text.alias("key"))["key"]) >> np.uint64(64 - _STRATA)
    known = known.with_columns(_stratum=pl.Series(stratum.astype(np.int64)))
    rows = log.frame.select(context).join(
        known, on=context, how="left", maintain_order="left", nulls_equal=True
    )
    return rows["_stratum"]


def _numbered(column: pl.Series) -> tuple[Any, pl.Series]:
    """Encode the values of a column as numbers from 0; also return the values by number."""
    if column.dtype.is_integer():
        low, high = int(column.min()), int(column.max())  # type: ignore[arg-type]
        if high - low < len(column) + 2**16:
            # Differences of narrow integers, and what follows the largest integer, have no room.
            numbers = column.cast(pl.Int64).to_numpy() - low
            return numbers, pl.Series(low + np.arange(high - low + 1)).cast(column.dtype)
    values = column.unique().sort()
    return values.search_sorted(column).to_numpy().astype(np.int64), values


def inverse_propensity(code: Any) -> Floats:
    """Return 1 / propensity of the codes of `Sums.shown`."""
    out: Floats = (np.asarray(code, dtype=np.int64) << _CODE_BITS).view(np.float64)
    return out
