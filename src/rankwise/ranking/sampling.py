"""Negatives drawn for every user: once, from a seed, for all models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from rankwise.core.ids import whole_numbers
from rankwise.core.segments import Ints, bucket, offsets, ragged_rows
from rankwise.errors import EmptyError
from rankwise.io.align import align

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankwise.io.tables import Table

__all__ = ["Drawn", "draw"]

_CELLS = 1 << 23  # users times items held at a time where whole rows are drawn from
_ROUNDS = 20  # of drawing and passing over, before what is left is written out
_SPARSE = 4  # rejection is used where at least this many times what is wanted is left


@dataclass(frozen=True)
class Drawn:
    """Positives and negatives of every user, and what was out of the ordinary."""

    frame: pl.DataFrame
    eligible: pl.DataFrame
    counts: dict[str, int]


def draw(
    tables: Mapping[str, Table | None],
    n: int,
    seed: int,
    by: Literal["uniform", "popularity"],
    threshold: float | None,
    *,
    replacement: bool,
) -> Drawn:
    """Draw n items for every user with a relevant item, none that the user has already."""
    answers, train, catalogue = _aligned(tables)
    truth, relevant = answers.frame, answers.relevant(threshold)
    if relevant.is_empty():
        raise EmptyError("no item is relevant", where="truth", hint="lower the threshold")
    users = relevant["user"].unique().sort()
    own = [truth.select("user", "item"), *([] if train is None else [train])]
    taken = pl.concat(own).unique()
    code = pl.DataFrame({"user": users, "u": np.arange(len(users))})
    item = pl.DataFrame({"item": catalogue, "i": np.arange(len(catalogue))})
    taken = taken.join(code, on="user").join(item, on="item").sort("u", "i")
    starts, _ = bucket(taken["u"].to_numpy(), len(users))
    weights = None
    if by == "popularity":
        assert train is not None
        counts = train.unique().group_by("item").len()
        weights = item.join(counts, on="item", how="left", maintain_order="left")["len"]
    law = None if weights is None else weights.fill_null(0).to_numpy().astype(np.float64)
    drawing = _Drawing(taken["i"].to_numpy(), starts, len(catalogue), law)
    user, items = drawing.draw(n, np.random.default_rng(seed), replacement=replacement)
    negatives = pl.DataFrame({"user": users.gather(user), "item": catalogue.gather(items)})
    positives = relevant.select("user", "item").unique()
    frame = pl.concat([positives, negatives]).sort("user", "item")
    fewer = int((np.bincount(user, minlength=len(users)) < n).sum())
    eligible = pl.DataFrame({"user": users, "eligible": drawing.eligible})
    return Drawn(frame, eligible, {"users_with_fewer_negatives": fewer})


def _aligned(
    tables: Mapping[str, Table | None],
) -> tuple[Table, pl.DataFrame | None, pl.Series]:
    """Return truth, training and the catalogue in order, with ids of one kind."""
    given = [table for table in tables.values() if table is not None]
    for role in ("user", "item"):
        given = align(given, role)
    whole = {table.kind: table.frame for table in given}
    answers = next(table for table in given if table.kind == "truth")
    ids = [whole[kind]["item"] for kind in ("items",) if kind in whole] or [
        frame["item"] for frame in whole.values()
    ]
    kind = pl.String if ids[0].dtype == pl.String else pl.Int64
    of_user = pl.String if whole["truth"]["user"].dtype == pl.String else pl.Int64
    same = {"user": of_user, "item": kind}
    for frame in whole.values():
        for role in {"user", "item"} & set(frame.columns):
            if frame[role].dtype != pl.String:
                whole_numbers(frame[role])  # or say that they do not fit
    truth = answers.with_frame(answers.frame.cast(same))  # type: ignore[arg-type]
    train = whole["train"].select("user", "item").cast(same) if "train" in whole else None  # type: ignore[arg-type]
    return truth, train, pl.concat([column.cast(kind) for column in ids]).unique().sort()


@dataclass(frozen=True)
class _Drawing:
    """What must not be drawn, user by user, and the law of what is."""

    taken: Ints
    starts: Ints
    n_items: int
    law: np.ndarray[tuple[int], np.dtype[np.float64]] | None

    @property
    def eligible(self) -> Ints:
        """How many items are left for each user."""
        if self.law is None:
            left: Ints = self.n_items - np.diff(self.starts)
            return left
        lost = offsets(self.law[self.taken] > 0)[self.starts]
        return int((self.law > 0).sum()) - np.diff(lost)

    def draw(self, n: int, rng: np.random.Generator, *, replacement: bool) -> tuple[Ints, Ints]:
        """Draw up to n items a user: by rejection where much is left, else among all that is."""
        left = self.eligible
        few = left < _SPARSE * n
        some = np.flatnonzero(few & (left > 0))
        parts = [
            self._rejecting(np.flatnonzero(~few), n, rng, replacement=replacement),
            self._among(some, np.full(len(some), n), rng, again=replacement),
        ]
        user, item = (np.concatenate([part[j] for part in parts]) for j in (0, 1))
        order = np.argsort(user, kind="stable")
        return user[order], item[order]

    def _rejecting(
        self, users: Ints, n: int, rng: np.random.Generator, *, replacement: bool
    ) -> tuple[Ints, Ints]:
        """Draw, and draw again for what may not be drawn: the first n that may are kept.

        Passing over items that were drawn before is what drawing without replacement means, also
        where items are not alike.
        """
        width = self.n_items
        keys = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts)) * width + self.taken
        heads = None if self.law is None else np.cumsum(self.law)
        kept, done = np.empty(0, dtype=np.int64), [np.empty(0, dtype=np.int64)]
        lack = np.full(len(users), n)
        for _ in range(_ROUNDS):
            if not lack.any():
                break
            owner = np.repeat(np.arange(len(users)), lack)
            if heads is None:
                item = rng.integers(0, width, len(owner))
            else:
                item = np.searchsorted(heads, rng.random(len(owner)) * heads[-1], side="right")
            allowed = ~_among_sorted(users[owner] * width + item, keys)
            kept = np.concatenate([kept, (owner * width + item)[allowed]])
            if not replacement:
                _, first = np.unique(kept, return_index=True)
                kept = kept[np.sort(first)]
            has = np.bincount(kept // width, minlength=len(users))
            lack = np.where(lack > 0, n - has, 0)
            full = lack[kept // width] == 0
            done.append(kept[full])
            kept = kept[~full]
        found = np.concatenate([*done, kept])
        user, item = users[found // width], found % width
        if lack.any():  # what is left is hardly ever drawn: write it out
            late = np.flatnonzero(lack)
            more = self._among(users[late], lack[late], rng, kept=(user, item), again=replacement)
            user, item = (np.concatenate(pair) for pair in zip((user, item), more, strict=True))
        return user, item

    def _among(
        self,
        users: Ints,
        n: Ints,
        rng: np.random.Generator,
        *,
        kept: tuple[Ints, Ints] | None = None,
        again: bool,
    ) -> tuple[Ints, Ints]:
        """Draw n items for each of these users from everything that is left, written out."""
        step = max(1, _CELLS // self.n_items)
        out_user, out_item = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
        for first in range(0, len(users), step):
            chosen, wanted = users[first : first + step], n[first : first + step]
            weight = self._weights(chosen, None if again else kept)
            if again:
                for user, size, own in zip(chosen, wanted, weight, strict=True):
                    out_user.append(np.repeat(user, size))
                    out_item.append(rng.choice(self.n_items, size, p=own / own.sum()))
                continue
            # The smallest of exponential times, one an item, at rates as the weights.
            with np.errstate(divide="ignore"):
                time = rng.exponential(size=weight.shape) / weight
            order = np.argsort(time, axis=1)[:, : wanted.max()]
            good = np.take_along_axis(time, order, axis=1) < np.inf
            good &= np.arange(order.shape[1]) < wanted[:, None]
            row, column = np.nonzero(good)
            out_user.append(chosen[row])
            out_item.append(order[row, column])
        return np.concatenate(out_user), np.concatenate(out_item)

    def _weights(self, users: Ints, kept: tuple[Ints, Ints] | None) -> np.ndarray[Any, Any]:
        """Return the weight of every item for some users; 0 for what is theirs, or drawn."""
        law = np.ones(self.n_items) if self.law is None else self.law
        weight = np.tile(law, (len(users), 1))
        lengths = np.diff(self.starts)[users]
        rows = ragged_rows(self.starts[users], lengths)
        weight[np.repeat(np.arange(len(users)), lengths), self.taken[rows]] = 0.0
        if kept is not None:
            place = np.full(len(self.starts) - 1, -1)
            place[users] = np.arange(len(users))
            mine = place[kept[0]] >= 0
            weight[place[kept[0][mine]], kept[1][mine]] = 0.0
        return weight


def _among_sorted(values: Ints, ordered: Ints) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    if not len(ordered):
        return np.zeros(len(values), dtype=bool)
    at = np.searchsorted(ordered, values).clip(max=len(ordered) - 1)
    found: np.ndarray[tuple[int], np.dtype[np.bool_]] = ordered[at] == values
    return found
