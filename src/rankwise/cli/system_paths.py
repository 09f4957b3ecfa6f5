"""The systems of ``rankwise compare``: one result, one per seed, on one data set or several."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rankwise.cli.options import name_and_path

if TYPE_CHECKING:
    from rankwise.results.result import Result

__all__ = ["read_seeds", "read_systems"]

_SHAPE = "[NAME=]PATH or NAME@DATA=PATH"


def read_systems(ctx: click.Context, systems: tuple[str, ...], read: Callable[[str], Result]) -> dict[str, Any]:
    """Return the results of each system, as `rankwise.compare` takes them.

    ``NAME=PATH`` may come several times, once per seed. ``NAME@DATA=PATH`` is the result on one
    data set.
    """
    found: dict[str, dict[str, list[Result]]] = {}
    named: dict[str, bool] = {}
    seen: dict[tuple[str, str], list[str]] = {}
    for text in systems:
        name, data_set, path, has_name = _parts(ctx, text)
        results = read_seeds(ctx, path, read)
        by_set = found.setdefault(name, {})
        if data_set in by_set and not (has_name and named[name]):
            raise click.UsageError(f"two systems are called {name!r}; say NAME=PATH", ctx)
        named[name] = has_name and named.get(name, True)
        known = seen.setdefault((name, data_set), [])
        if os.path.realpath(path) in known:
            raise click.UsageError(f"{path!r} is given twice for {name!r}", ctx)
        known.append(os.path.realpath(path))
        by_set.setdefault(data_set, []).extend(results)
    if any("" in by_set and len(by_set) > 1 for by_set in found.values()):
        raise click.UsageError("name the data set of every result: NAME@DATA=PATH", ctx)
    return {name: _simplest(by_set) for name, by_set in found.items()}


def _parts(ctx: click.Context, text: str) -> tuple[str, str, str, bool]:
    """Return system, data set and path, and whether the system was named."""
    name, path, has_name = name_and_path(ctx, text, _SHAPE)
    if not has_name:
        return name, "", path, False
    name, at, data_set = name.partition("@")
    if not name or (at and not data_set):
        raise click.UsageError(f"{text!r} is not {_SHAPE}", ctx)
    return name, data_set, path, True


def read_seeds(ctx: click.Context, path: str, read: Callable[[str], Result]) -> list[Result]:
    """Return the results of a path: of a pattern, or of a folder of results, one per seed."""
    # Where a path is too long, functions of os say that there is none; those of Path raise.
    if not os.path.exists(path) and re.search(r"[*?\[]", path):  # noqa: PTH110
        paths = sorted(glob(path), key=_in_order)  # noqa: PTH207 - a Path drops the ./ of a name
        if not paths:
            raise click.UsageError(f"no file or folder matches {path!r}", ctx)
        return [read(one) for one in paths]
    if os.path.isdir(path) and not _is_result(Path(path)):  # noqa: PTH112
        inside = sorted((str(f) for f in Path(path).iterdir() if _is_result(f)), key=_in_order)
        if inside:
            return [read(one) for one in inside]
    return [read(path)]


def _is_result(path: Path) -> bool:
    """Return whether a folder holds a saved result, or a comparison, which is none."""
    return any((path / name).is_file() for name in ("result.json", "comparison.json"))


def _in_order(path: str) -> list[tuple[int, str]]:
    """Return what sorts seed 2 before seed 10."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", path)]


def _simplest(by_set: dict[str, list[Result]]) -> Any:
    """Return results without the levels that there is only one of."""
    results = {name: some[0] if len(some) == 1 else some for name, some in by_set.items()}
    return results.get("", results)
