"""The card of a split, ``split.json``: what it is, and which files it belongs to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rankwise.errors import FileError

__all__ = ["CARD_FILE", "CARD_VERSION", "card_beside", "in_words", "one_line", "read_card"]

CARD_FILE = "split.json"
CARD_VERSION = 1
"""Version of the schema: raised when a reader of the old schema could not read the new one."""
_DEFAULTS = {"filter_on": "train", "cold_users": "keep", "cold_items": "keep", "seen": "keep"}


def read_card(folder: Path) -> dict[str, Any] | None:
    """Return the card in a folder; None if there is none.

    Raises
    ------
    FileError
        If there is a file of that name that is no card.
    """
    path = folder / CARD_FILE
    if not path.is_file():
        return None
    try:
        card: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if card["card_version"] != CARD_VERSION:
            raise FileError(
                "this split was saved by another version of rankwise", where=str(path),
                found=f"card {card['card_version']}, this version reads {CARD_VERSION}",
            )  # fmt: skip
        plain = all(isinstance(card[name], dict) for name in ("files", "rule", "found", "parts"))
        if plain and isinstance(card["id"], str):
            return card
    except FileError:
        raise
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise FileError("this is not the card of a split", where=str(path))


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
