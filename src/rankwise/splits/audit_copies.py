"""Checks of users, items and rows that are there twice: copies, repeated rows, shared codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from rankwise.core.hashing import combine_hashes, hash_of_column
from rankwise.core.ragged import Ints, offsets, ragged_rows
from rankwise.messages import parameter
from rankwise.splits.audit_checks import Finding, at_fault, check, not_run, verdict
from rankwise.splits.audit_parts import PAIR, Parts, rows_in
from rankwise.tables.catalogue import ItemNames

_LEAST = 3  # items of a history from which an equal one is looked at
_LEAST_NEAR = 10  # and a nearly equal one: one item more than these ten is a Jaccard of 0.91
_NEAR = 0.9  # Jaccard index of nearly equal histories
_BY_CHANCE = 1e-3  # users expected to have the same items if users chose independently
_BANDS, _ROWS = 6, 4  # minhashes: a pair with Jaccard 0.9 shares a band with probability 0.998
_ALIKE = 16  # of the 24 minhashes, which a pair with Jaccard 0.9 shares with probability 0.998
_NEXT = 4  # users compared with each user inside a band, in order of their number of items
_WORK = 5_000_000  # items of candidate pairs that are compared one by one


@check("L21", "repeated rows in a part")
def repeated_rows(parts: Parts) -> Finding:
    """L21: the same user and item twice in one part; with `repeats=True` at the same time.

    Worst verdict: warn.

    Remedy: Remove the copies, or state that items are consumed repeatedly.
    """
    key = [*PAIR, "time"] if parts.repeats and parts.has_times else PAIR
    what = "events (user, item and time)" if len(key) > len(PAIR) else "pairs of user and item"
    again, findings = [], []
    for part, frame in parts.named.items():
        extra = frame.filter(~pl.struct(key).is_first_distinct())
        again.append(extra.with_columns(part=pl.lit(part)))
        findings.append(f"{len(extra):,} of {len(frame):,} {part} rows")
    rows = pl.concat(again, how="diagonal_relaxed")
    finding = f"{what} that their part already has: {', '.join(findings)}"
    if parts.repeats and not parts.has_times:
        repeats = parameter("repeats", True)
        finding += f"; {repeats}, and without timestamps an event cannot be told from a repeat"
        return "pass", len(rows), finding, lambda: rows
    return at_fault(rows, finding)


@check("L24", "codes of several items")
def shared_codes(parts: Parts) -> Finding:
    """L24: whether a code, such as a semantic id, stands for several items.

    Finds: codes (`codes=`, for example semantic ids) that several items share; test rows of
    items without a code.

    Worst verdict: warn above 0.05 of the test rows.

    Remedy: Give each item its code: models cannot tell items of one code apart.
    """
    names: ItemNames | None = parts.extra.get("codes")
    if names is None:
        return not_run(f"{parameter('codes')} of the items")
    item = pl.col("named").cast(parts.test.schema["item"], strict=False)
    pairs = names.pairs.with_columns(item.alias("item")).drop_nulls("item")
    shared = pairs.filter(pl.col("item").n_unique().over("name") > 1)
    rows = rows_in(parts.test, shared, "item")
    without = len(parts.test) - len(rows_in(parts.test, pairs, "item"))
    share = len(rows) / len(parts.test)

    n_codes, n_items = pairs["name"].n_unique(), pairs["item"].n_unique()
    sizes = pairs.group_by("name").agg(pl.col("item").n_unique())["item"].to_list()
    finding = f"{n_codes:,} codes of {n_items:,} items, at most {max(sizes, default=0):,} of one "
    finding += "code; "
    finding += f"{share:.2%} of {len(parts.test):,} test rows are of items that share theirs"
    if without:
        finding += f", and {without:,} of items without a code"
    bad = share > parts.limits.shared_codes
    return verdict(bad), share, finding, lambda: shared.select("name", "item").sort("name", "item")


@check("L15", "copies of users and items")
def copies(parts: Parts) -> Finding:
    """L15: users with another user's items, or nearly so, beyond chance; items listed twice.

    Finds: pairs of users with exactly the same items (3 or more), or nearly so (10 or more,
    Jaccard index at least 0.9), beyond chance; items whose titles differ only by case and
    punctuation.

    Worst verdict: warn above 0.005.

    Remedy: Merge the copies, so that none is in both parts.
    """
    histories = _read_histories(parts)
    equal, (near, is_capped) = histories.equal(), histories.near()
    near &= ~equal
    n_copies, n_users = int((equal | near).sum()), len(histories.users)
    finding = f"of {n_users:,} users, {int(equal.sum()):,} have exactly another's {_LEAST} items "
    finding += f"or more, and {int(near.sum()):,} nearly another's {_LEAST_NEAR} or more (Jaccard "
    finding += f"index at least {_NEAR}), beyond chance ({n_copies / n_users:.2%})"
    finding += "; more pairs look alike than were compared" if is_capped else ""
    twice, about = _listed_twice(parts)
    items = parts.extra.get("items")
    of_items = 0.0 if items is None else len(twice) / max(1, len(items.frame))
    status = verdict(max(n_copies / n_users, of_items) > parts.limits.same_history)

    def rows() -> pl.DataFrame:
        frame = histories.users.with_columns(
            copy=pl.Series(np.where(equal, "equal", "near")), group=pl.Series(histories.sums[0])
        ).filter(pl.Series(equal | near))
        return frame.sort("copy", "group", "user").drop("group") if n_copies else twice

    return status, n_copies, finding + about, rows


def _listed_twice(parts: Parts) -> tuple[pl.DataFrame, str]:
    """Return the items that share a title with another item, and a sentence on them."""
    items = parts.extra.get("items")
    if items is None:
        return pl.DataFrame(), ""
    frame = items.frame
    text = [n for n, kind in frame.schema.items() if kind == pl.String and n != "item"]
    title = next((n for n in text if frame[n].n_unique() > len(frame) // 2), None)
    if title is None:
        return pl.DataFrame(), f"; none of {len(frame.columns) - 1} columns of items is a title"
    plain = pl.col(title).str.to_lowercase().str.replace_all(r"[^\p{L}\p{N}]+", "")
    twice = frame.filter(plain.is_duplicated() & (plain.str.len_chars() > 0))
    return twice, f"; {len(twice):,} of {len(frame):,} items share their {title} with another"


@dataclass(frozen=True, eq=False)
class _Histories:
    """The items of each user as codes, user by user, and two hash sums of each set."""

    users: pl.DataFrame
    codes: Ints
    starts: Ints
    hashes: Any  # one per item
    sums: tuple[Any, Any]
    surprise: Any  # how improbable each set is: minus the log of its probability

    @property
    def sizes(self) -> Ints:
        """The number of items of each user."""
        return np.diff(self.starts)

    def equal(self) -> Any:
        """Return a mask of the users with exactly another user's items, beyond chance."""
        improbable = (self.sizes >= _LEAST) & (self.surprise > self._explained())
        keys = pl.DataFrame({"a": self.sums[0], "b": self.sums[1], "size": self.sizes})
        return improbable & keys.is_duplicated().to_numpy()

    def near(self) -> tuple[Any, bool]:
        """Return a mask of near copies of another user's items, and whether pairs were skipped."""
        # A user shares nine of ten items: half of the surprise leaves room for which nine.
        chosen = np.flatnonzero(
            (self.sizes >= _LEAST_NEAR) & (self.surprise / 2 > self._explained())
        )
        out = np.zeros(len(self.users), dtype=bool)
        if len(chosen) < 2:
            return out, False
        first, second, is_capped = self._candidates(chosen)
        alike = self._jaccard(first, second) >= _NEAR
        out[first[alike]] = out[second[alike]] = True
        return out, is_capped

    def _explained(self) -> float:
        """Return the surprise of a set that another user has by chance once in 1,000 times."""
        return float(np.log(len(self.users) / _BY_CHANCE))

    def _candidates(self, chosen: Ints) -> tuple[Ints, Ints, bool]:
        """Return pairs of users with similar minhashes, and whether there were too many."""
        sizes = self.sizes[chosen]
        rows = ragged_rows(self.starts[chosen], sizes)
        codes, starts = self.codes[rows], offsets(sizes)[:-1]
        minima = np.empty((_BANDS * _ROWS, len(chosen)), dtype=np.uint64)
        for seed in range(len(minima)):
            minima[seed] = np.minimum.reduceat(combine_hashes([self.hashes], seed)[codes], starts)
        pairs = []
        for band in range(_BANDS):
            key = combine_hashes(list(minima[band * _ROWS : (band + 1) * _ROWS]), band)
            order = np.lexsort((sizes, key))
            for step in range(1, _NEXT + 1):
                first, second = order[:-step], order[step:]
                close = (key[first] == key[second]) & (sizes[first] >= _NEAR * sizes[second])
                pairs.append(np.sort(np.stack([first[close], second[close]], axis=1), axis=1))
        first, second = np.unique(np.concatenate(pairs), axis=0).T
        alike = (minima[:, first] == minima[:, second]).sum(axis=0) >= _ALIKE
        first, second = chosen[first[alike]], chosen[second[alike]]
        within = np.cumsum(self.sizes[first]) <= _WORK
        return first[within], second[within], not bool(within.all())

    def _jaccard(self, first: Ints, second: Ints) -> Any:
        if not len(first):
            return np.zeros(0)
        n_items = len(self.hashes)
        owner = np.repeat(np.arange(len(self.users)), self.sizes)
        keys = np.sort(owner * n_items + self.codes)
        sizes = self.sizes[first]
        rows = ragged_rows(self.starts[first], sizes)
        pairs = np.repeat(second, sizes) * n_items + self.codes[rows]
        place = np.minimum(np.searchsorted(keys, pairs), len(keys) - 1)
        both = np.add.reduceat((keys[place] == pairs).astype(np.int64), offsets(sizes)[:-1])
        return both / (sizes + self.sizes[second] - both)


def _read_histories(parts: Parts) -> _Histories:
    """Return the items of every user over all parts, each item once."""
    pairs = pl.concat([frame.select(PAIR) for frame in parts.named.values()]).unique()
    items = pairs.group_by("item").agg(users=pl.len()).with_row_index("code")
    rows = pairs.join(items, on="item").sort("user")
    users = rows.group_by("user", maintain_order=True).agg(items=pl.len())
    codes = rows["code"].to_numpy().astype(np.int64)
    starts = offsets(users["items"].to_numpy().astype(np.int64))
    hashes = hash_of_column(items["item"])
    sums = [np.add.reduceat(combine_hashes([hashes], seed)[codes], starts[:-1]) for seed in (1, 2)]
    shares = items["users"].to_numpy() / len(users)
    surprise = np.add.reduceat(-np.log(shares)[codes], starts[:-1])
    return _Histories(users, codes, starts, hashes, (sums[0], sums[1]), surprise)
