"""Where the tables of a saved result lie: absolute paths, and paths from the folder of the result.

A result that is moved alone finds its tables by their absolute paths, and a result that is moved
together with them by the others. The card of a table, ``{"file": {"paths": […]}}``, has absolute
paths in memory, and both kinds in a saved result.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


def saved_inputs(provenance: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return the cards of tables for a result in a folder, with paths from there as well."""

    def also_from_folder(paths: list[str]) -> list[str]:
        return [*paths, *(text for path in paths if (text := _path_from(folder, path)))]

    return _with_paths(provenance, also_from_folder)


def loaded_inputs(provenance: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return the cards of tables of a result that lies in a folder, with absolute paths."""

    def made_absolute(paths: list[str]) -> list[str]:
        return [os.path.abspath(folder / path) for path in paths]  # noqa: PTH100 - links stay

    return _with_paths(provenance, made_absolute)


def _with_paths(
    provenance: Mapping[str, Any], change: Callable[[list[str]], list[str]]
) -> dict[str, Any]:
    """Return the cards of tables with other paths, each once."""
    inputs = {}
    for role, card in provenance.get("inputs", {}).items():
        file = card.get("file")
        if file is not None:
            paths = dict.fromkeys(change(list(file["paths"])))
            card = {**card, "file": {**file, "paths": [*paths]}}
        inputs[role] = card
    return inputs


def _path_from(folder: Path, path: str) -> str | None:
    """Return the path from a folder, as all systems write it; None on another drive."""
    try:
        relative = os.path.relpath(path, os.path.abspath(folder))  # noqa: PTH100 - links stay
    except ValueError:
        return None
    return Path(relative).as_posix()
