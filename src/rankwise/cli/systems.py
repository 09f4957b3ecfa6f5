"""The paths of systems on the command line: one result, several seeds, several data sets."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from glob import glob
from pathlib import Path
from typing import Any

import click

from rankwise.cli.options import _R
from rankwise.results.result import Result

EVALUATE_COMMAND = "rankwise evaluate LISTS TRUTH --save DIR"


def open_system(path: str, hint: str = f"evaluate them first: {EVALUATE_COMMAND}") -> Result:
    """Return a saved result or a table of per-user values; raise for recommendation lists."""
    from rankwise.errors import ColumnError
    from rankwise.results.per_user import LISTS
    from rankwise.results.storage import open_result

    try:
        return open_result(path)
    except ColumnError as error:
        if error.what != LISTS:
            raise
        raise ColumnError(
            "these are recommendation lists", where=error.where, found=error.found, hint=hint
        ) from error


def name_and_path(
    ctx: click.Context, text: str, shape: str = "[NAME=]PATH"
) -> tuple[str, str, bool]:
    """Split ``[NAME=]PATH`` into name (default: the file's), path, and whether NAME was given."""
    from rankwise.tables.formats import plain_stem

    name, equals, path = text.partition("=")
    if not equals or os.path.exists(text):  # noqa: PTH110 - Path.exists raises where a path is too long
        return plain_stem(text), text, False
    if not name or not path:
        raise click.UsageError(f"{text!r} is not {shape}", ctx)
    return name, path, True


def named_paths(
    ctx: click.Context, systems: tuple[str, ...], read: Callable[[str], _R]
) -> dict[str, _R]:
    """Read each ``[NAME=]PATH``, and return the values by name."""
    out: dict[str, _R] = {}
    for text in systems:
        name, path, _ = name_and_path(ctx, text)
        if name in out:
            raise click.UsageError(f"two systems are called {name!r}; pass NAME=PATH", ctx)
        out[name] = read(path)
    return out


_SHAPE = "[NAME=]PATH or NAME@DATA=PATH"


def read_systems(
    ctx: click.Context, systems: tuple[str, ...], read: Callable[[str], Result]
) -> dict[str, Any]:
    """Return the results of each system, as `rankwise.compare` takes them.

    ``NAME=PATH`` may come several times, once per seed. ``NAME@DATA=PATH`` is the result on one
    data set.
    """
    results_of: dict[str, dict[str, list[Result]]] = {}
    named: dict[str, bool] = {}
    seen: dict[tuple[str, str], list[str]] = {}
    for text in systems:
        name, data_set, path, has_name = _parts(ctx, text)
        results = read_seeds(ctx, path, read)
        by_set = results_of.setdefault(name, {})
        if data_set in by_set and not (has_name and named[name]):
            raise click.UsageError(f"two systems are called {name!r}; say NAME=PATH", ctx)
        named[name] = has_name and named.get(name, True)
        paths = seen.setdefault((name, data_set), [])
        if os.path.realpath(path) in paths:
            raise click.UsageError(f"{path!r} is given twice for {name!r}", ctx)
        paths.append(os.path.realpath(path))
        by_set.setdefault(data_set, []).extend(results)
    if any("" in by_set and len(by_set) > 1 for by_set in results_of.values()):
        raise click.UsageError("name the data set of every result: NAME@DATA=PATH", ctx)
    by_system = {
        name: {
            data_set: seeds[0] if len(seeds) == 1 else seeds for data_set, seeds in by_set.items()
        }
        for name, by_set in results_of.items()
    }  # without the levels that there is only one of
    return {name: by_set.get("", by_set) for name, by_set in by_system.items()}


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
    """Return a sort key that puts seed 2 before seed 10."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", path)]
