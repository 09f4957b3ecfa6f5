"""The card of a split: what it takes to know which split it was, and how far to trust it."""

from __future__ import annotations

import hashlib
import json
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwise._version import __version__
from rankwise.io.cards import CARD_VERSION
from rankwise.splits.rows import pieces

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankwise.splits.rows import Mask, Rows

__all__ = [
    "CARD_VERSION",
    "card_text",
    "future_shares",
    "in_words",
    "make_card",
    "one_line",
    "torn_users",
]


def one_line(rule: Mapping[str, Any]) -> str:
    """Write a rule on one line, without what is left at its default."""
    usual = {"filter_on": "train", "cold_users": "keep", "cold_items": "keep", "seen": "keep"}
    given = [
        f"{name}={one_line(value) if isinstance(value, dict) else repr(value)}"
        for name, value in rule.items()
        if name != "rule" and (name not in usual or usual[name] != value)
    ]
    return f"{rule.get('rule', 'split')}({', '.join(given)})"


def make_card(
    rows: Rows, masks: Mapping[str, Mask], rule: Mapping[str, Any], found: Mapping[str, Any]
) -> dict[str, Any]:
    """Return everything that says what a split is, as plain values."""
    parts = {name: _part(rows, mask) for name, mask in masks.items()}
    own = [f"{name} {part['digest']}" for name, part in sorted(parts.items())]
    used = np.zeros(len(rows), dtype=bool)
    for mask in masks.values():
        used |= mask
    card: dict[str, Any] = {
        "card_version": CARD_VERSION,
        "rankwise": __version__,
        "id": hashlib.sha256("\n".join(own).encode()).hexdigest(),
        "rule": dict(rule),
        "order": "time, then a hash of user, item and time",
        "rounding": "to the nearest, halves up",
        "input": {
            "source": rows.table.source,
            "sha256": rows.table.sha256,
            "rows": len(rows),
            "rows_unused": int((~used).sum()),
            "columns": rows.table.columns,
        },
        "found": {name: plain(value) for name, value in found.items()},
        "parts": parts,
        "cold": {
            name: _cold(rows, masks, name) for name in ("validation", "test") if name in masks
        },
    }
    if rows.has_times:
        card["time"] = {"unit": rows.time.unit, "unit_known_as": rows.time.said}
        card |= {"time": card["time"] | _in_time(rows, masks["train"], masks["test"])}
    return card


def _part(rows: Rows, mask: Mask) -> dict[str, Any]:
    users, items = (int((codes.count(mask) > 0).sum()) for codes in (rows.user, rows.item))
    count = int(mask.sum())
    out: dict[str, Any] = {
        "rows": count,
        "users": users,
        "items": items,
        "density": count / (users * items) if count else 0.0,
        "digest": _digest(rows, mask),
    }
    ends = rows.moments(mask)
    if ends is not None:
        out |= {"first": rows.time.show(ends[0]), "last": rows.time.show(ends[1])}
    return out


def known_rows(masks: Mapping[str, Mask], part: str, role: str) -> Mask:
    """Return the rows that make a user or an item of a part warm.

    An item is warm if it was trained on; a user also if something is known of him when he is
    predicted: part ``history`` for test users, ``validation_history`` for those of validation.
    """
    history = masks.get("history" if part == "test" else f"{part}_history")
    if role == "item" or history is None:
        return masks["train"]
    return masks["train"] | history


def _digest(rows: Rows, mask: Mask) -> str:
    """Hash user, item and moment of all rows, whatever their order: two sums of 64-bit hashes."""
    sums = [0, 0]
    for part in pieces(len(rows)):
        own = part.start + np.flatnonzero(mask[part])
        for seed in (1, 2):
            sums[seed - 1] += int(rows.key(seed, own).sum(dtype=np.uint64))
    return "".join(f"{number % 2**64:016x}" for number in sums)


def _cold(rows: Rows, masks: Mapping[str, Mask], name: str) -> dict[str, Any]:
    """Count users, items and rows of a part that are cold."""
    mask = masks[name]
    cold: list[Mask] = []
    out: dict[str, Any] = {}
    for role, codes in (("user", rows.user), ("item", rows.item)):
        known = codes.count(known_rows(masks, name, role)) > 0
        asked = codes.count(mask) > 0
        out[f"{role}s"] = int((asked & ~known).sum())
        out[f"share_of_{role}s"] = float((asked & ~known).sum() / asked.sum())
        cold.append(~known[codes.of_row[mask]])
    either = cold[0] | cold[1]
    return out | {"rows": int(either.sum()), "share_of_rows": float(either.mean())}


def _in_time(rows: Rows, train: Mask, test: Mask) -> dict[str, Any]:
    """Return gap, horizon, leak index and the users whose cut lies between equal moments."""
    time = rows.time
    before, after = time.values[train], time.values[test]
    for own in (before, after):
        own.sort()
    future = future_shares(before, after)
    since = after - before[-1]
    return {
        "gap_seconds": time.seconds(after[0] - before[-1]),
        "test_span_seconds": time.seconds(after[-1] - after[0]),
        "train_span_seconds": time.seconds(before[-1] - before[0]),
        "target_after_train_seconds": {
            "median": time.seconds(np.median(since)), "p95": time.seconds(np.quantile(since, 0.95)),
        },
        "leak_index": {"mean": float(future.mean()), "max": float(future.max())},
        "share_of_users_cut_between_equal_times": torn_users(rows, train, test),
    }  # fmt: skip


def future_shares(train: Any, test: Any) -> Any:
    """Return, for each test moment, the share of training rows that happened later.

    Both in order of time.

    >>> future_shares(np.array([1, 2, 3, 4]), np.array([2, 5])).tolist()
    [0.5, 0.0]
    """
    if train.max() <= test.min():
        return np.zeros(len(test))
    ordered = np.sort(test)  # neighbours look in the same places, which the cache then holds
    return 1.0 - np.searchsorted(np.sort(train), ordered, side="right") / len(train)


def torn_users(rows: Rows, train: Mask, test: Mask) -> float:
    """Return the share of test users whose last training moment is their first test moment.

    For them only the order among equal moments decided what is training and what is test.
    """
    codes, time, size = rows.user.of_row, rows.time.values, rows.user.size
    last = np.full(size, np.iinfo(np.int64).min if time.dtype.kind == "i" else -np.inf, time.dtype)
    first = np.full(size, np.iinfo(np.int64).max if time.dtype.kind == "i" else np.inf, time.dtype)
    for part in pieces(len(rows)):
        of_train, of_test = train[part], test[part]
        np.maximum.at(last, codes[part][of_train], time[part][of_train])
        np.minimum.at(first, codes[part][of_test], time[part][of_test])
    users = np.flatnonzero(rows.user.count(test))
    return float((last[users] == first[users]).mean())


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it: NumPy's as Python's, dates and lengths as text."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        kind = "datetime64" if isinstance(value, np.datetime64) else "timedelta64"
        value = value.astype(f"{kind}[us]").item()
    if isinstance(value, timedelta):
        return f"{value // timedelta(microseconds=1)}us"
    if isinstance(value, date):  # a datetime is one
        return value.isoformat()
    return value.item() if isinstance(value, np.generic) else value


def card_text(card: Mapping[str, Any]) -> str:
    """Write a card as JSON."""
    return json.dumps(card, indent=2, ensure_ascii=False) + "\n"


def in_words(card: Mapping[str, Any]) -> str:
    """Say which split a card is of, on one line."""
    test = card["parts"]["test"]
    moment = card["found"].get("moment")
    at = "" if moment is None else f" at {moment}"
    return f"{one_line(card['rule'])}{at}, {test['rows']} test rows, id {card['id'][:12]}"
