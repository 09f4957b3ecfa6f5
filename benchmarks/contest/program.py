"""What the programs of the contest share: their input, the clock, and the JSON that they print.

A program is run by the interpreter of its library, so this file needs NumPy and nothing else. It
imports its library, makes the library's input of columns that lie in memory, and evaluates a few
times. Each step is timed in a process that does nothing besides.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import os
import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1]))

from peak_memory import peak_memory

sys.path.pop()  # libraries that look for PyTorch would find the folder of that name there

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Data", "compete"]

Array: TypeAlias = "np.ndarray[Any, Any]"
Task: TypeAlias = Literal["lists", "factors"]


class Data:
    """Columns of tables, or factors, which ``data.py`` wrote; read before any clock runs.

    Users and items are numbers from 0. Lists are the best first, as their scores say.

    Parameters
    ----------
    folder : Path
        Where the files are.
    task : {"lists", "factors"}
        Whether lists and ground truth are needed, or factors, training rows and ground truth.
    """

    def __init__(self, folder: Path, task: Task) -> None:
        tables = ("recs", "truth") if task == "lists" else ("train", "truth")
        self._columns = {
            table: {
                path.stem.partition(".")[2]: np.load(path)
                for path in sorted(folder.glob(f"{table}.*.npy"), reverse=True)
            }
            for table in tables
        }
        if task == "factors":
            self.users: Array = np.load(folder / "users.npy")
            self.items: Array = np.load(folder / "items.npy")

    def columns(self, table: str) -> dict[str, Array]:
        """Return ``user``, ``item`` and, of recommendations, ``score``."""
        return dict(self._columns[table])

    def nested(self, table: str, value: str | None = None) -> dict[str, dict[str, Any]]:
        """Return ``{user: {item: value}}`` with text ids; without a column of values they are 1."""
        columns = self.columns(table)
        users, items = (columns[name].astype(str).tolist() for name in ("user", "item"))
        values = columns[value].tolist() if value else [1] * len(users)
        made: dict[str, dict[str, Any]] = {}
        for user, item, number in zip(users, items, values, strict=True):
            made.setdefault(user, {})[item] = number
        return made


def compete(
    load: Callable[[], Any],
    build: Callable[[Any, Data], Any],
    evaluate: Callable[[Any, Any], dict[str, float]],
    task: Task = "lists",
) -> None:
    """Run the steps of a program and print what they took, and the values.

    Parameters
    ----------
    load : callable
        Imports the library and returns it.
    build : callable
        Takes the library and the data; returns the library's input.
    evaluate : callable
        Takes the library and its input; returns values under the names of the convention.
    task : {"lists", "factors"}, default="lists"
        What ``build`` needs, as for `Data`.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=20.0, help="no further call after these")
    options, _ = parser.parse_known_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    with _only_writer() as stdout:
        data = Data(options.folder, task)
        library, imported = _timed(load)
        given, built = _timed(lambda: build(library, data))
        values, first = _timed(lambda: evaluate(library, given))
        later: list[float] = []
        while len(later) < 3 and first + sum(later) < options.seconds:
            later.append(_timed(lambda: evaluate(library, given))[1])
        found = {
            "import": imported,
            "construction": built,
            "first call": first,
            "later call": sorted(later)[len(later) // 2] if later else None,
            "memory": peak_memory(),
            "values": values,
        }
        json.dump(found, stdout)


def _timed(step: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    made = step()
    return made, time.perf_counter() - start


@contextlib.contextmanager
def _only_writer() -> Any:
    """Keep stdout for the caller; what libraries print goes to stderr."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as stdout:
        os.dup2(2, 1)
        yield stdout
        stdout.flush()
        sys.stdout.flush()
