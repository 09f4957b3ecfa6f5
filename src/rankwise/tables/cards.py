"""The card of a split, ``split.json``: what it is, and which files it belongs to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from rankwise.core.choices import TimeUnit
from rankwise.errors import FileError
from rankwise.tables.on_disk import json_hash

__all__ = [
    "CARD_FILE",
    "CARD_VERSION",
    "card_beside",
    "card_text",
    "in_words",
    "is_card",
    "is_deep",
    "one_line",
    "read_card",
    "read_json",
]

CARD_FILE = "split.json"
CARD_VERSION = 1
"""Version of the schema: raised when a reader of the old schema could not read the new one."""
_DEFAULTS = {"filter_on": "train", "cold_users": "keep", "cold_items": "keep", "seen": "keep"}
_LARGEST = 1 << 24  # bytes of a file of settings: more is none, or has no end
_DEEPEST = 10  # levels of values within values; a card has six


def read_json(path: Path) -> Any:
    """Return the values in a file of settings.

    Raises
    ------
    FileError
        If it cannot be read, or holds more than settings do.
    """
    try:
        with path.open("rb") as stream:
            data = stream.read(_LARGEST + 1)
    except OSError as error:
        raise FileError("this file cannot be read", where=str(path), found=error.strerror) from error
    if len(data) > _LARGEST:
        raise FileError(
            "this file is too large to hold settings", where=str(path), found=f"more than {_LARGEST:,} bytes"
        )
    try:
        value = json.loads(data)
        if is_deep(value):
            raise RecursionError
    except RecursionError as error:
        raise FileError("this JSON is nested too deeply", where=str(path)) from error
    except ValueError as error:
        raise FileError("this is not JSON", where=str(path), found=str(error)[:80]) from error
    return value


def is_deep(value: Any) -> bool:
    """Return whether plain values are nested so deeply that reading them might not end.

    >>> is_deep({"a": [1]}), is_deep([[[[[[[[[[[]]]]]]]]]]])
    (False, True)
    """
    level = [value]
    for _ in range(_DEEPEST):
        inner = [
            one.values() if isinstance(one, Mapping) else one
            for one in level
            if isinstance(one, Mapping | list | tuple)
        ]
        level = [value for values in inner for value in values]
    return any(isinstance(one, Mapping | list | tuple) for one in level)


def read_card(folder: Path) -> dict[str, Any] | None:
    """Return the card in a folder; None if there is none.

    Raises
    ------
    FileError
        If there is a file of that name that is no card, or was changed after it was written.
    """
    path = folder / CARD_FILE
    if not path.is_file():
        return None
    card = read_json(path)
    if not isinstance(card, dict) or "card_version" not in card:
        raise FileError("this is not the card of a split", where=str(path))
    if card["card_version"] != CARD_VERSION:
        raise FileError(
            "this split was saved by another version of rankwise",
            where=str(path),
            found=f"card {card['card_version']!r}, this version reads {CARD_VERSION}",
        )
    if card.pop("sha256", None) != json_hash(card) or not is_card(card) or "files" not in card:
        raise FileError(
            "the card of this split was changed after it was written",
            where=str(path),
            hint=f"restore {CARD_FILE}; without it, the files are recognised by their names",
        )
    return card


def is_card(value: Any) -> bool:
    """Return whether a value has everything that is read from a card."""
    if not isinstance(value, dict) or is_deep(value) or not isinstance(value.get("id"), str):
        return False
    if not all(isinstance(value.get(name), dict) for name in ("input", "rule", "found", "parts")):
        return False
    parts, time = value["parts"], value.get("time", {"unit": "s"})
    rows = [part.get("rows") if isinstance(part, dict) else None for part in parts.values()]
    texts = (value["input"].get("columns"), value.get("files", {}))
    return (
        {"train", "test"} <= parts.keys()
        and all(type(count) is int for count in rows)
        and isinstance(time, dict)
        and time.get("unit") in get_args(TimeUnit)
        and all(isinstance(names, dict) for names in texts)
        and all(isinstance(text, str) for names in texts for text in names.values())
    )


def card_text(card: Mapping[str, Any]) -> str:
    """Return a card as JSON, with a hash of itself."""
    with_hash = {**card, "sha256": json_hash(card)}
    return json.dumps(with_hash, indent=2, ensure_ascii=False) + "\n"


def card_beside(file: str | Path, sha256: str) -> dict[str, Any] | None:
    """Return the card in the folder of a file, if the card lists the file with this hash."""
    path = Path(file)
    try:
        card = read_card(path.parent)
    except FileError:
        return None  # another program's split.json: it tells nothing about this file
    return card if card is not None and card["files"].get(path.name) == sha256 else None


def one_line(rule: Mapping[str, Any]) -> str:
    """Return a splitting rule on one line, without parameters at their default."""
    parameters = [
        f"{name}={one_line(value) if isinstance(value, dict) else repr(value)}"
        for name, value in rule.items()
        if name != "rule" and (name not in _DEFAULTS or _DEFAULTS[name] != value)
    ]
    return f"{rule.get('rule', 'split')}({', '.join(parameters)})"


def in_words(card: Mapping[str, Any]) -> str:
    """Return on one line which split a card describes: rule, moment, test rows and id."""
    test = card["parts"]["test"]
    moment = card["found"].get("moment")
    when = "" if moment is None else f" at {moment}"
    return f"{one_line(card['rule'])}{when}, {test['rows']} test rows, id {card['id'][:12]}"
