"""The card of a split that lies beside a file of one of its parts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rankwise.errors import FileError

__all__ = ["CARD_FILE", "CARD_VERSION", "card_beside", "read_card"]

CARD_FILE = "split.json"
CARD_VERSION = 1
"""Of the card: raised when a reader of the old form could not read the new one."""


def read_card(folder: Path) -> dict[str, Any] | None:
    """Read the card in a folder; None if there is none.

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
    """Return the card that lies beside a file, if the file is the one that the card speaks of."""
    path = Path(file)
    try:
        card = read_card(path.parent)
    except FileError:
        return None  # some other split.json: it says nothing of this file
    return card if card is not None and card["files"].get(path.name) == sha256 else None
