"""How often a ground truth was used: systems and comparisons saved in neighbouring folders.

Who tries twenty systems on one test set and reports the best has made twenty comparisons, whatever
the last call was told. Results therefore count, when they are saved and when they are loaded, the
results and comparisons of the same ground truth that lie in the same folder, and keep the count of
a result that they replace. `rankwise.compare` says where systems have more company than it was
given, and corrects for it by ``earlier=``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from rankwise.tables.storage import file_state

_RESULT, _COMPARISON, _KEY = "result.json", "comparison.json", "test_set"


@dataclass(frozen=True, eq=False, repr=False)
class Uses:
    """The systems that were evaluated on a ground truth, and the comparisons of them."""

    systems: int = 0
    comparisons: int = 0

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Uses:
        """Return the uses in a provenance or in the design of a comparison; zero by default."""
        uses = content.get(_KEY, {})
        return cls(int(uses.get("systems", 0)), int(uses.get("comparisons", 0)))

    def recorded(self, **more: Any) -> dict[str, dict[str, Any]]:
        """Return the entry of a provenance; empty without uses."""
        uses = {"systems": self.systems, "comparisons": self.comparisons}
        return {_KEY: {**uses, **more}} if self.systems or self.comparisons else {}

    def __or__(self, other: Uses) -> Uses:
        """Return the larger counts."""
        return Uses(max(self.systems, other.systems), max(self.comparisons, other.comparisons))


def truth_of(provenance: Mapping[str, Any]) -> str | None:
    """Return the digest of the ground truth; None if unknown."""
    digest: str | None = provenance.get("digests", {}).get("truth")
    return digest


def saved_uses(
    folder: Path, provenance: Mapping[str, Any], per_user: pl.DataFrame
) -> dict[str, dict[str, Any]]:
    """Return the provenance entry of a result to be saved: the uses of its ground truth.

    They are those of the results and comparisons in the folder and beside it. A system is told from
    others by the hash of its file of lists, else by that of its users' values: other metrics of the
    same file are the same system.
    """
    truth, uses = truth_of(provenance), Uses.of(provenance)
    if truth is None:
        return {}
    systems, comparisons = set(), 0
    for record in _saved_beside(folder):
        if truth in record.truths:
            uses |= record.uses
            comparisons += not record.system
            systems |= {record.system} - {""}
    system = _file_of_lists(provenance) or _hash(per_user)
    uses |= Uses(max(len(systems), uses.systems) + (system not in systems), comparisons)
    return uses.recorded(system=system)


@dataclass(frozen=True, eq=False, repr=False)
class _Record:
    """The ground truths, uses and system of a saved result; a comparison has no system."""

    truths: frozenset[str] = frozenset()
    uses: Uses = Uses()
    system: str = ""


def _saved_beside(folder: Path) -> Iterator[_Record]:
    """Yield the records of results and comparisons in a folder and in its siblings."""
    try:
        folders = {path for path in folder.absolute().parent.iterdir() if path.is_dir()}
    except OSError:
        return
    for path in folders:
        for name in (_RESULT, _COMPARISON):
            state = file_state(path / name)
            if state is not None:
                yield _record(str(path / name), state)


@lru_cache(maxsize=10_000)
def _record(path: str, _state: tuple[int, int, int]) -> _Record:
    """Return the record of a file, empty if unreadable; ``_state`` is a part of the cache key."""
    try:
        content = json.loads(Path(path).read_bytes())
        if path.endswith(_RESULT):
            provenance = content["provenance"]
            system = provenance[_KEY]["system"]
            if not isinstance(system, str):
                raise TypeError("a hash is text")
            return _Record(frozenset({truth_of(provenance) or ""}), Uses.of(provenance), system)
        design = content["design"]
        return _Record(frozenset(map(str, design["truths"])), Uses.of(design))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return _Record()


def _file_of_lists(provenance: Mapping[str, Any]) -> str:
    """Return the hash of the file of recommendation lists; empty if they came from elsewhere."""
    card = provenance.get("inputs", {}).get("recommendations", {})
    return str(card.get("sha256") or "")[:16]


def _hash(per_user: pl.DataFrame) -> str:
    """Return a hash of the values of all users."""
    digest = hashlib.sha256()
    for column in per_user.iter_columns():
        if column.dtype.is_float():
            digest.update(column.name.encode())
            digest.update(column.to_numpy().data)
    return digest.hexdigest()[:16]
