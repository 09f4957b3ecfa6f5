"""The card of a split: which split it is, what its parts hold, and how much it leaks."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import date, timedelta
from functools import reduce
from operator import or_
from typing import Any

import numpy as np

from rankwise.core.version import __version__
from rankwise.splits.rows import Mask, Rows, chunks
from rankwise.tables.cards import CARD_VERSION
from rankwise.tables.table import Table

_KNOWN = {
    "test": ("train", "validation", "validation_history", "history"),
    "validation": ("train", "validation_history"),
}
"""The parts whose rows a user has before each part that is predicted."""

__all__ = ["card_of", "future_shares", "known_rows", "make_card", "plain", "torn_users"]


def make_card(
    rows: Rows, masks: Mapping[str, Mask], rule: Mapping[str, Any], notes: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the description of a split as plain values, ready for JSON."""
    parts = {name: _part(rows, mask) for name, mask in masks.items()}
    used = np.zeros(len(rows), dtype=bool)
    for mask in masks.values():
        used |= mask
    card = card_of(rows.table, len(rows), int((~used).sum()), rule, notes, parts)
    card["cold"] = {part: _cold(rows, masks, part) for part in ("validation", "test") if part in masks}
    if rows.has_times:
        unit = {"unit": rows.time.unit, "unit_known_as": rows.time.unit_source}
        unit |= {} if rows.time.time_format is None else {"format": rows.time.time_format}
        card["time"] = unit | _in_time(rows, masks["train"], masks["test"])
    return card


def card_of(
    table: Table,
    rows: int,
    unused: int,
    rule: Mapping[str, Any],
    notes: Mapping[str, Any],
    parts: Mapping[str, Mapping[str, Any]],
) -> dict[str, Any]:
    """Return what a card says of a split whose parts are described, before cold and time."""
    digests = [f"{name} {part['digest']}" for name, part in sorted(parts.items())]
    return {
        "card_version": CARD_VERSION,
        "rankwise": __version__,
        "id": hashlib.sha256("\n".join(digests).encode()).hexdigest(),
        "rule": dict(rule),
        "order": "time, then a hash of user, item and time",
        "rounding": "to the nearest, halves up",
        "input": {
            "source": table.source,
            "sha256": table.sha256,
            "rows": rows,
            "rows_unused": unused,
            "columns": table.columns,
        },
        "found": {name: plain(value) for name, value in notes.items()},
        "parts": dict(parts),
        "known": {part: [name for name in _KNOWN[part] if name in parts] for part in _KNOWN if part in parts},
    }


def _part(rows: Rows, mask: Mask) -> dict[str, Any]:
    """Return the size, density, digest and time range of a part."""
    users, items = (int((codes.count(mask) > 0).sum()) for codes in (rows.user, rows.item))
    count = int(mask.sum())
    part: dict[str, Any] = {
        "rows": count,
        "users": users,
        "items": items,
        "density": rows.count_pairs(mask) / (users * items) if count else 0.0,
        "digest": _digest(rows, mask),
    }
    ends = rows.time_range(mask)
    if ends is not None:
        part |= {"first": rows.time.show(ends[0]), "last": rows.time.show(ends[1])}
    return part


def known_rows(masks: Mapping[str, Mask], part: str, role: str) -> Mask:
    """Return the rows that are known of a user, or of an item, before a part that is predicted.

    A user's rows of training, history and, before the test part, validation are what the user had:
    they are masked, and make the user warm. An item is known from training alone, as models are.
    """
    if role == "item":
        return masks["train"]
    return reduce(or_, (masks[name] for name in _KNOWN[part] if name in masks))


def _digest(rows: Rows, mask: Mask) -> str:
    """Return a digest of user, item and time of all rows, in any order: two sums of hashes."""
    sums = [0, 0]
    for chunk in chunks(len(rows)):
        chosen = chunk.start + np.flatnonzero(mask[chunk])
        for seed in (1, 2):
            sums[seed - 1] += int(rows.key(seed, chosen).sum(dtype=np.uint64))
    return "".join(f"{number % 2**64:016x}" for number in sums)


def _cold(rows: Rows, masks: Mapping[str, Mask], name: str) -> dict[str, Any]:
    """Return the numbers and shares of cold-start users, cold-start items and their rows."""
    mask = masks[name]
    cold_rows: list[Mask] = []
    counts: dict[str, Any] = {}
    for role, codes in (("user", rows.user), ("item", rows.item)):
        known = codes.count(known_rows(masks, name, role)) > 0
        present = codes.count(mask) > 0
        counts[f"{role}s"] = int((present & ~known).sum())
        counts[f"share_of_{role}s"] = float((present & ~known).sum() / present.sum())
        cold_rows.append(~known[codes.of_row[mask]])
    either = cold_rows[0] | cold_rows[1]
    return counts | {"rows": int(either.sum()), "share_of_rows": float(either.mean())}


def _in_time(rows: Rows, train: Mask, test: Mask) -> dict[str, Any]:
    """Return gap, spans, horizon, leak index and the share of users cut between equal times."""
    time = rows.time
    before, after = time.values[train], time.values[test]
    for values in (before, after):
        values.sort()
    future = future_shares(before, after)
    since = after - before[-1]
    return {
        "gap_seconds": time.seconds(after[0] - before[-1]),
        "test_span_seconds": time.seconds(after[-1] - after[0]),
        "train_span_seconds": time.seconds(before[-1] - before[0]),
        "target_after_train_seconds": {
            "median": time.seconds(np.median(since)),
            "p95": time.seconds(np.quantile(since, 0.95)),
        },
        "leak_index": {"mean": float(future.mean()), "max": float(future.max())},
        "share_of_users_cut_between_equal_times": torn_users(rows, train, test),
    }


def future_shares(train: Any, test: Any) -> Any:
    """Return, for each test time in ascending order, the share of training rows after it.

    >>> future_shares(np.array([1, 2, 3, 4]), np.array([2, 5])).tolist()
    [0.5, 0.0]
    """
    if train.max() <= test.min():
        return np.zeros(len(test))
    ordered = np.sort(test)  # neighbours are then looked up in the same places, which are cached
    return 1.0 - np.searchsorted(np.sort(train), ordered, side="right") / len(train)


def torn_users(rows: Rows, train: Mask, test: Mask) -> float:
    """Return the share of test users whose last training time is their first test time."""
    codes, time = rows.user.of_row, rows.time.values
    whole = np.iinfo(np.int64)
    ends = (whole.min, whole.max) if time.dtype.kind == "i" else (-np.inf, np.inf)
    last, first = (np.full(rows.user.size, end, time.dtype) for end in ends)
    for chunk in chunks(len(rows)):
        in_train, in_test = train[chunk], test[chunk]
        np.maximum.at(last, codes[chunk][in_train], time[chunk][in_train])
        np.minimum.at(first, codes[chunk][in_test], time[chunk][in_test])
    users = np.flatnonzero(rows.user.count(test))
    return float((last[users] == first[users]).mean())


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it: a Python number, or text for dates and durations."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        dtype = "datetime64" if isinstance(value, np.datetime64) else "timedelta64"
        value = value.astype(f"{dtype}[us]").item()
    if isinstance(value, timedelta):
        return f"{value // timedelta(microseconds=1)}us"
    if isinstance(value, date):  # a datetime is a date
        return value.isoformat()
    return value.item() if isinstance(value, np.generic) else value
