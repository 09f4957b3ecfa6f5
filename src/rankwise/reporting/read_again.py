"""The tables that results were evaluated from, read again from their files if these are unchanged.

A result keeps no tables, but where they were read, their columns and their hash. A file that is
gone or was changed is never read: the report says so, and which option brings the table back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rankwise.errors import MetricError, RankwiseError
from rankwise.reporting.hints import pass_hint
from rankwise.results.result import Result
from rankwise.splits.reading import read, split_hash
from rankwise.splits.split import Split, hash_of_part
from rankwise.tables.columns import ROLES
from rankwise.tables.files import folder_of_list, is_table_folder, read_file, table_hash
from rankwise.tables.formats import Declared
from rankwise.tables.grades import with_grades
from rankwise.tables.read import read_table
from rankwise.tables.storage import file_state, is_folder
from rankwise.tables.table import Table, TableRole, names_no_columns

_WORDS: Mapping[str, str] = {
    "recommendations": "the recommendation lists",
    "truth": "the ground truth",
    "train": "the training interactions",
    "items": "the items",
}
_OF_TRUTH = "truth:"


@dataclass(frozen=True, eq=False, repr=False)
class SavedTables:
    """Reads the tables of results again; each split is read once."""

    _splits: dict[tuple[Any, ...], Split] = field(default_factory=dict)

    def read(self, result: Result, role: TableRole) -> Table:
        """Return a table that a result was evaluated from.

        Raises
        ------
        RankwiseError
            If the table was passed from memory, or its file is gone or was changed.
        """
        card = result.provenance.get("inputs", {}).get(role)
        if card is None:
            raise MetricError(
                f"the result was evaluated without {_WORDS[role].removeprefix('the ')}",
                hint=pass_hint(role),
            )

        grades = result.provenance["settings"].get("grades") if role == "truth" else None
        path, columns = _unchanged_path(card, role), _columns_of(card, role)
        if grades is not None:
            columns["truth.relevance"] = None  # events have it

        if _is_split(path):
            table = self._split(path, columns).as_table(role, columns)
        else:
            declared = card["file"].get("declared")
            layout = None if declared is None else Declared.from_dict(declared)
            source = str(path) if layout is None else read_file(path, layout)
            table = read_table(source, role, columns)

        return with_grades(table, grades) or table

    def _split(self, path: Path, columns: Mapping[str, str | None]) -> Split:
        """Return the split in a folder, whose parts have their columns in common."""
        named = [(key.partition(".")[2], name) for key, name in columns.items()]
        names = {column: name for column, name in named if column and name is not None}
        key = (path, *sorted(names.items()))
        if key not in self._splits:
            split = read(path, columns=names)
            assert isinstance(split, Split)  # the hash of several folds is refused
            self._splits[key] = split
        return self._splits[key]


def _unchanged_path(card: Mapping[str, Any], role: TableRole) -> Path:
    """Return where a table still lies as it was; raise if it does not."""
    words, source, hint = _WORDS[role], card.get("source"), pass_hint(role)
    paths = [Path(path) for path in (card.get("file") or {"paths": ()})["paths"]]
    if not paths or card.get("sha256") is None:
        raise MetricError(
            f"{words}: a table was passed, or came in pieces, which a result does not keep",
            hint=hint,
        )

    present = [path for path in paths if file_state(path) is not None or is_folder(path)]
    if not present:
        raise MetricError(f"{words}: the file is not there any more: {source}", hint=hint)
    for path in present:
        if _hash_of(path, role) == card["sha256"]:
            return path
    if folder_of_list(str(source)) is not None:
        raise MetricError(
            f"{words} came from a list of paths, and their folder has other files now: {source}",
            hint=hint,
        )
    raise MetricError(f"{words}: the file was changed since the evaluation: {source}", hint=hint)


def _hash_of(path: Path, role: TableRole) -> str | None:
    """Return the hash of a file, a table's folder or a part of a split; None for a damaged one."""
    try:
        return hash_of_part(split_hash(path), role) if _is_split(path) else table_hash(path)
    except (OSError, RankwiseError):
        return None


def _is_split(path: Path) -> bool:
    return is_folder(path) and not is_table_folder(path)


def _columns_of(card: Mapping[str, Any], role: TableRole) -> dict[str, str | None]:
    """Return the columns that were read of a table, None for those that were not used."""
    used: Mapping[str, str] = {} if names_no_columns(card["format"]) else card["columns"]
    columns: dict[str, str | None] = {
        f"{role}.{name}": used.get(name) for name in ROLES[role] if name not in card["columns"]
    }
    for name, column in used.items():
        if name.startswith(_OF_TRUTH):
            columns[name] = column
        elif name in ROLES[role]:
            columns[f"{role}.{name}"] = column
    return columns
