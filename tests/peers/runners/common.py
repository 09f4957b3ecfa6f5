"""What every runner shares: reading the data set, and the one JSON object that comes out.

Run by the interpreter of the library at hand, so it needs numpy and pandas and nothing else.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import math
import os
import sys
import warnings
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Array: TypeAlias = np.ndarray[Any, Any]
Nested: TypeAlias = dict[str, dict[str, float]]


@dataclass(frozen=True)
class Data:
    """The files that ``random_data.py`` wrote.

    Attributes
    ----------
    folder : Path
        Where they are.
    """

    folder: Path

    def table(self, name: str) -> pd.DataFrame:
        """Read one of the tables.

        Parameters
        ----------
        name : str
            The file's name without its ending.

        Returns
        -------
        pandas.DataFrame
            A new frame, so that a library that writes into its input spoils no other measure.
        """
        return pd.read_csv(self.folder / f"{name}.csv")

    def nested(self, name: str, value: str, kind: type) -> Nested:
        """Read a table as a dictionary of dictionaries, ids as text.

        Parameters
        ----------
        name : str
            ``lists`` or ``truth``.
        value : str
            The column of values.
        kind : type
            What the values are.

        Returns
        -------
        dict
            ``{user: {item: value}}``.
        """
        nested: Nested = {}
        rows = self.table(name)
        for user, item, number in zip(rows["user"], rows["item"], rows[value], strict=True):
            nested.setdefault(str(user), {})[str(item)] = kind(number)
        return nested

    def matrix(self, name: str) -> Array:
        """Spread a table of ratings over users × items, 0 where there is none.

        Parameters
        ----------
        name : str
            ``train`` or ``truth``.

        Returns
        -------
        numpy.ndarray
            The ratings.
        """
        table = self.table(name)
        ratings = np.zeros(self.scores.shape)
        ratings[table["user"], table["item"]] = table["rating"]
        return ratings

    @cached_property
    def scores(self) -> Array:
        """Scores of every user for every item."""
        return np.asarray(np.load(self.folder / "scores.npy"))

    @cached_property
    def features(self) -> Array:
        """A vector for every item."""
        return np.asarray(np.load(self.folder / "features.npy"))

    @cached_property
    def masked(self) -> Array:
        """Scores, with -inf for the items of the user's train."""
        return np.where(self.matrix("train") > 0, -np.inf, self.scores)

    @cached_property
    def genres(self) -> pd.DataFrame:
        """A row an item, a column a genre, 1 where the item has it."""
        return self.table("items").set_index("item")["genres"].str.get_dummies("|")


@dataclass
class Report:
    """Values of one library, and what it could not compute.

    Attributes
    ----------
    library, version : str
        What was run.
    values : dict
        A number for every name.
    failed : dict
        Why there is no number, for every other name.
    """

    library: str
    version: str
    values: dict[str, float] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, value: Any) -> None:
        """Take a value under a name; one that is no number counts as failed.

        Parameters
        ----------
        name : str
            The library's own name, with parameters and cutoff.
        value : number or array of one number
            What the library returned.
        """
        number = float(value)
        if math.isfinite(number):
            self.values[name] = number
        else:
            self.failed[name] = f"the value is {number}"

    def measure(self, name: str, compute: Callable[[], Any]) -> None:
        """Compute a value and take it, or the reason why that raised.

        Parameters
        ----------
        name : str
            As in `add`.
        compute : callable
            Asks the library for the value.
        """
        with self.guard(name):
            self.add(name, compute())

    @contextlib.contextmanager
    def guard(self, name: str) -> Iterator[None]:
        """Turn what a library raises into an entry of `failed`.

        Parameters
        ----------
        name : str
            What was to be computed.
        """
        try:
            yield
        except Exception as error:  # noqa: BLE001 - whatever a library raises is a finding
            self.failed[name] = f"{type(error).__name__}: {error}"


@contextlib.contextmanager
def only_writer() -> Iterator[TextIO]:
    """Keep stdout for the caller; what anything else writes there goes to stderr.

    Below Python, for a library's logger may hold the stream that it found when it was imported.

    Yields
    ------
    file
        The real stdout.
    """
    sys.stdout.flush()
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as stdout:
        os.dup2(2, 1)
        try:
            yield stdout
        finally:
            stdout.flush()
            sys.stdout.flush()
            os.dup2(stdout.fileno(), 1)


def main(library: str, version: str, run: Callable[[Data, list[int], Report], None]) -> None:
    """Read the command line, run the library, print its values.

    Parameters
    ----------
    library, version : str
        What is run.
    run : callable
        Takes the data, the cutoffs and the report to fill.
    """
    parser = argparse.ArgumentParser(description=f"Compute the measures of {library}.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--k", type=int, nargs="+", default=[5, 10])
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    report = Report(library, version)
    with only_writer() as stdout:
        run(Data(arguments.folder), arguments.k, report)
        json.dump(vars(report), stdout, indent=1)
        stdout.write("\n")
