"""How often a ground truth was used: systems and comparisons that were saved beside each other.

Who tries twenty systems on one test set and reports the best has made twenty comparisons, whatever the last call was
told. A saved result therefore counts the results and comparisons of the same ground truth that lie in the same folder,
and keeps the count of a result that it replaces. `rankwise.compare` says where systems have more company than it was
given, and corrects for it by ``earlier=``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

__all__ = ["Uses", "saved_uses", "truth_of"]

_RESULT, _COMPARISON, _KEY = "result.json", "comparison.json", "test_set"


@dataclass(frozen=True)
class Uses:
    """The systems that were evaluated on a ground truth, and the comparisons of them."""

    systems: int = 0
    comparisons: int = 0

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Uses:
        """Return what a provenance, or the settings of a comparison, record; nothing by default."""
        uses = content.get(_KEY, {})
        return cls(uses.get("systems", 0), uses.get("comparisons", 0))

    def recorded(self, **more: Any) -> dict[str, dict[str, Any]]:
        """Return the entry of a provenance, or of settings; empty without uses."""
        uses = {"systems": self.systems, "comparisons": self.comparisons}
        return {_KEY: {**uses, **more}} if self.systems or self.comparisons else {}

    def __or__(self, other: Uses) -> Uses:
        """Return the larger counts."""
        return Uses(max(self.systems, other.systems), max(self.comparisons, other.comparisons))


def truth_of(provenance: Mapping[str, Any]) -> str | None:
    """Return the digest of the ground truth; None if it is not known."""
    digest: str | None = provenance.get("digests", {}).get("truth")
    return digest


def saved_uses(folder: Path, provenance: Mapping[str, Any], per_user: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """Return the entry of the provenance of a result that is saved in a folder: the uses of its ground truth.

    They are those of the results and comparisons in the folder and beside it. A system is told from others by the
    hash of its users' values.
    """
    truth, uses = truth_of(provenance), Uses.of(provenance)
    if truth is None:
        return {}
    systems, comparisons = set(), 0
    for content in _saved_beside(folder, truth):
        uses |= Uses.of(content)
        comparisons += "truths" in content
        systems |= {content.get(_KEY, {}).get("system")} - {None}
    system = _hash(per_user)
    uses |= Uses(max(len(systems), uses.systems) + (system not in systems), comparisons)
    return uses.recorded(system=system)


def _saved_beside(folder: Path, truth: str) -> Iterator[Mapping[str, Any]]:
    """Yield the provenance or the settings of results and comparisons of a ground truth in a folder and beside it.

    What cannot be read is none.
    """
    try:
        folders = {path for path in folder.absolute().parent.iterdir() if path.is_dir()}
    except OSError:
        return
    for path in folders:
        for name, part in ((_RESULT, "provenance"), (_COMPARISON, "settings")):
            try:
                content = json.loads((path / name).read_bytes())[part]
                if truth == truth_of(content) or truth in content.get("truths", ()):
                    yield content
            except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
                continue


def _hash(per_user: pl.DataFrame) -> str:
    """Return a hash of the values of all users."""
    digest = hashlib.sha256()
    for column in per_user.iter_columns():
        if column.dtype.is_float():
            digest.update(column.name.encode())
            digest.update(column.to_numpy().data)
    return digest.hexdigest()[:16]
