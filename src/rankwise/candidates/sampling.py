"""Sampled negatives: drawn once per user from a seed, the same for all models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from rankwise.core.ragged import Ints, bucket, offsets, ragged_rows
from rankwise.core.vocabulary import whole_numbers
from rankwise.errors import EmptyError
from rankwise.tables.align import align
from rankwise.tables.table import Table

__all__ = ["Drawn", "draw"]

_CELLS = 1 << 23  # size of the blocks of users times items for drawing from a dense matrix
_ROUNDS = 20  # of rejection sampling, before the rest is drawn from a dense matrix
_SPARSE = 4  # rejection sampling needs at least this many times n eligible items


@dataclass(frozen=True)
class Drawn:
    """The positives and negatives of every user, the number of eligible items, and counts."""

    frame: pl.DataFrame
    eligible: pl.DataFrame
    counts: dict[str, int]


def draw(
    tables: Mapping[str, Table | None],
    n: int,
    seed: int,
    power: float | None,
    threshold: float | None,
    *,
    replacement: bool,
) -> Drawn:
    """Draw n negatives for every user with a relevant item, from the items unknown to the user.

    Items are drawn by their number of training users to the power of ``power``; None: uniformly.
    """
    truth, train, known_before, catalogue = _aligned(tables)
    relevant = truth.relevant(threshold)
    if relevant.is_empty():
        raise EmptyError("no item is relevant", where="truth", hint="lower the threshold")
    users = relevant["user"].unique().sort()
    interactions = [truth.frame.select("user", "item"), *([] if known_before is None else [known_before])]
    known = pl.concat(interactions).unique()
    user_codes = pl.DataFrame({"user": users, "u": np.arange(len(users))})
    item_codes = pl.DataFrame({"item": catalogue, "i": np.arange(len(catalogue))})
    known = known.join(user_codes, on="user").join(item_codes, on="item").sort("u", "i")
    starts, _ = bucket(known["u"].to_numpy(), len(users))
    weights = None
    if power is not None:
        assert train is not None
        popularity = train.unique().group_by("item").len()
        counts = item_codes.join(popularity, on="item", how="left", maintain_order="left")["len"]
        weights = counts.fill_null(0).to_numpy().astype(np.float64) ** power
    sampler = _Sampler(known["i"].to_numpy(), starts, len(catalogue), weights)
    user, item = sampler.draw(n, np.random.default_rng(seed), replacement=replacement)
    negatives = pl.DataFrame({"user": users.gather(user), "item": catalogue.gather(item)})
    positives = relevant.select("user", "item").unique()
    frame = pl.concat([positives, negatives]).sort("user", "item")
    fewer = int((np.bincount(user, minlength=len(users)) < n).sum())
    eligible = pl.DataFrame({"user": users, "eligible": sampler.eligible})
    return Drawn(frame, eligible, {"users_with_fewer_negatives": fewer})


def _aligned(tables: Mapping[str, Table | None]) -> tuple[Table, pl.DataFrame | None, pl.DataFrame | None, pl.Series]:
    """Return truth, training and known interactions, and the sorted catalogue, with ids aligned."""
    aligned = [table for table in tables.values() if table is not None]
    for role in ("user", "item"):
        aligned = align(aligned, role)
    frames = {table.role: table.frame for table in aligned}
    trained = {table.role: table.trained.frame for table in aligned}
    truth = next(table for table in aligned if table.role == "truth")
    sources = [frames["items"]] if "items" in frames else list(trained.values())
    ids = [frame["item"] for frame in sources]
    item_type = pl.String if ids[0].dtype == pl.String else pl.Int64
    user_type = pl.String if truth.frame["user"].dtype == pl.String else pl.Int64
    types: Any = {"user": user_type, "item": item_type}
    for frame in frames.values():
        for role in {"user", "item"} & set(frame.columns):
            if frame[role].dtype != pl.String:
                whole_numbers(frame[role])  # raises if an id does not fit 64 bits
    truth = truth.with_frame(truth.frame.cast(types))
    train, known = (
        rows["train"].select("user", "item").cast(types) if "train" in rows else None for rows in (trained, frames)
    )
    return truth, train, known, pl.concat([column.cast(item_type) for column in ids]).unique().sort()


@dataclass(frozen=True)
class _Sampler:
    """Each user's known items, which are not drawn, and the weights of items (None: uniform)."""

    known: Ints
    starts: Ints
    n_items: int
    weights: np.ndarray[tuple[int], np.dtype[np.float64]] | None

    @property
    def eligible(self) -> Ints:
        """The number of items that can be drawn for each user."""
        if self.weights is None:
            eligible: Ints = self.n_items - np.diff(self.starts)
            return eligible
        known = offsets(self.weights[self.known] > 0)[self.starts]
        return int((self.weights > 0).sum()) - np.diff(known)

    def draw(self, n: int, rng: np.random.Generator, *, replacement: bool) -> tuple[Ints, Ints]:
        """Draw up to n items per user: by rejection if many are eligible, else from dense rows."""
        eligible = self.eligible
        few = eligible < _SPARSE * n
        dense = np.flatnonzero(few & (eligible > 0))
        draws = [
            self._by_rejection(np.flatnonzero(~few), n, rng, replacement=replacement),
            self._from_dense(dense, np.full(len(dense), n), rng, replacement=replacement),
        ]
        user, item = (np.concatenate(columns) for columns in zip(*draws, strict=True))
        order = np.argsort(user, kind="stable")
        return user[order], item[order]

    def _by_rejection(self, users: Ints, n: int, rng: np.random.Generator, *, replacement: bool) -> tuple[Ints, Ints]:
        """Draw n items per user: draw in rounds, reject known items, and keep the first n others.

        Rejecting repeated items is exactly drawing without replacement, also for unequal weights.
        """
        width = self.n_items
        keys = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts)) * width + self.known
        cumulative = None if self.weights is None else np.cumsum(self.weights)
        kept, done = np.empty(0, dtype=np.int64), [np.empty(0, dtype=np.int64)]
        missing = np.full(len(users), n)
        for _ in range(_ROUNDS):
            if not missing.any():
                break
            owner = np.repeat(np.arange(len(users)), missing)
            if cumulative is None:
                item = rng.integers(0, width, len(owner))
            else:
                points = rng.random(len(owner)) * cumulative[-1]
                item = np.searchsorted(cumulative, points, side="right")
            allowed = ~_is_in_sorted(users[owner] * width + item, keys)
            kept = np.concatenate([kept, (owner * width + item)[allowed]])
            if not replacement:
                _, first = np.unique(kept, return_index=True)
                kept = kept[np.sort(first)]
            counts = np.bincount(kept // width, minlength=len(users))
            missing = np.where(missing > 0, n - counts, 0)
            complete = missing[kept // width] == 0
            done.append(kept[complete])
            kept = kept[~complete]
        drawn = np.concatenate([*done, kept])
        user, item = users[drawn // width], drawn % width
        if missing.any():  # the eligible items have small weights: too many rejections
            rest = np.flatnonzero(missing)
            more = self._from_dense(users[rest], missing[rest], rng, drawn=(user, item), replacement=replacement)
            user, item = (np.concatenate(pair) for pair in zip((user, item), more, strict=True))
        return user, item

    def _from_dense(
        self,
        users: Ints,
        n: Ints,
        rng: np.random.Generator,
        *,
        drawn: tuple[Ints, Ints] | None = None,
        replacement: bool,
    ) -> tuple[Ints, Ints]:
        """Draw n items for each of these users from a dense matrix of weights."""
        step = max(1, _CELLS // self.n_items)
        out_user, out_item = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
        for first in range(0, len(users), step):
            block, sizes = users[first : first + step], n[first : first + step]
            weights = self._dense_weights(block, None if replacement else drawn)
            if replacement:
                for user, size, row in zip(block, sizes, weights, strict=True):
                    out_user.append(np.repeat(user, size))
                    out_item.append(rng.choice(self.n_items, size, p=row / row.sum()))
                continue
            # Exponential arrival times with the weights as rates: the first n items to arrive.
            with np.errstate(divide="ignore"):
                time = rng.exponential(size=weights.shape) / weights
            order = np.argsort(time, axis=1)[:, : sizes.max()]
            kept = np.take_along_axis(time, order, axis=1) < np.inf
            kept &= np.arange(order.shape[1]) < sizes[:, None]
            rows, columns = np.nonzero(kept)
            out_user.append(block[rows])
            out_item.append(order[rows, columns])
        return np.concatenate(out_user), np.concatenate(out_item)

    def _dense_weights(self, users: Ints, drawn: tuple[Ints, Ints] | None) -> np.ndarray[Any, Any]:
        """Return the weight of every item for these users; 0 for known and drawn items."""
        row = np.ones(self.n_items) if self.weights is None else self.weights
        weights = np.tile(row, (len(users), 1))
        lengths = np.diff(self.starts)[users]
        rows = ragged_rows(self.starts[users], lengths)
        weights[np.repeat(np.arange(len(users)), lengths), self.known[rows]] = 0.0
        if drawn is not None:
            user, item = drawn
            positions = np.full(len(self.starts) - 1, -1)
            positions[users] = np.arange(len(users))
            kept = positions[user] >= 0
            weights[positions[user[kept]], item[kept]] = 0.0
        return weights


def _is_in_sorted(values: Ints, ordered: Ints) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    if not len(ordered):
        return np.zeros(len(values), dtype=bool)
    nearest = np.searchsorted(ordered, values).clip(max=len(ordered) - 1)
    is_in: np.ndarray[tuple[int], np.dtype[np.bool_]] = ordered[nearest] == values
    return is_in
