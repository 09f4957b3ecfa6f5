"""The tree of errors; each error states the problem, the place, the value found, and the fix.

RankwiseError
├── InputError            the data cannot be evaluated as it is (command line: exit 3)
│   ├── ColumnError       a column is missing, ambiguous or of an unsuitable type
│   ├── IdError           user or item ids that are null, mixed, or of different types
│   ├── ScoreError        scores, ranks or relevances that are NaN, infinite or contradictory
│   ├── DuplicateError    duplicate items of one user
│   ├── EmptyError        nothing to evaluate
│   └── FileError         a file that cannot be read, or a line in it
├── UsageError            the call is wrong, not the data (command line: exit 2)
│   ├── MetricError       an unknown metric, or one whose inputs are missing
│   │   └── MissingValueError   a value that a result does not have; a KeyError as well
│   ├── ParameterError    a parameter whose value is not allowed
│   └── ConfigError       mistakes in a configuration file, all at once
└── OutputError           a result that cannot be written (command line: exit 6)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Self

from rankwise.messages import Message, Parameter, Reference, printable

__all__ = [
    "ColumnError",
    "ConfigError",
    "DuplicateError",
    "EmptyError",
    "FileError",
    "IdError",
    "InputError",
    "MetricError",
    "MissingValueError",
    "OutputError",
    "ParameterError",
    "RankwiseError",
    "ScoreError",
    "UsageError",
    "nearest",
    "nearest_name",
]

_LONGEST = 600  # characters of one line of a message


class RankwiseError(Exception):
    """Base class of all errors that rankwise raises.

    Parameters
    ----------
    what : str
        What is wrong, in one sentence.
    where : str, optional
        The table, column, row, user or line.
    found : str, optional
        What was found there.
    hint : str, optional
        How to fix it.

    Notes
    -----
    Each is a `rankwise.messages.Message`: it knows which parameters it names, and with which
    values.

    Examples
    --------
    >>> print(RankwiseError("a score is NaN", where="row 3", hint="drop it or give it a value"))
    a score is NaN
      where: row 3
      hint:  drop it or give it a value
    """

    def __init__(
        self,
        what: str,
        *,
        where: str | None = None,
        found: str | None = None,
        hint: str | None = None,
    ) -> None:
        self.what = Message(what)
        self.where = where
        self.found = None if found is None else Message(found)
        self.hint = None if hint is None else Message(hint)
        super().__init__(self.what)

    def spelled(self, spell: Callable[[Parameter | Reference], str]) -> Self:
        """Return the error with parameters and functions as a road spells them."""
        found = None if self.found is None else self.found.spelled(spell)
        hint = None if self.hint is None else self.hint.spelled(spell)
        return type(self)(self.what.spelled(spell), where=self.where, found=found, hint=hint)

    def __str__(self) -> str:
        rows = [("where: ", self.where), ("found: ", self.found), ("hint:  ", self.hint)]
        lines = [self.what, *(f"  {label}{text}" for label, text in rows if text)]
        return "\n".join(_shortened(printable(line)) for line in lines)

    def __reduce__(self) -> tuple[object, ...]:
        # Keyword-only arguments do not survive the default pickling of exceptions, and errors
        # must be able to cross a process boundary.
        return (_rebuild, (type(self), self.what, self.where, self.found, self.hint))


def _rebuild(
    kind: type[RankwiseError], what: str, where: str | None, found: str | None, hint: str | None
) -> RankwiseError:
    return kind(what, where=where, found=found, hint=hint)


class InputError(RankwiseError, ValueError):
    """The data cannot be evaluated as it is."""


class ColumnError(InputError):
    """A column is missing, ambiguous or of an unsuitable type."""


class IdError(InputError):
    """User or item ids are null, mixed, or of different types in two tables."""


class ScoreError(InputError):
    """Scores, ranks or relevances are NaN, infinite or contradictory."""


class DuplicateError(InputError):
    """An item occurs twice for one user, or a user in two chunks."""


class EmptyError(InputError):
    """Nothing is left to evaluate: a table is empty, or no item is relevant."""


class FileError(InputError):
    """A file, or a line of a file, cannot be read."""


class UsageError(RankwiseError, ValueError):
    """The call is wrong, not the data."""


class MetricError(UsageError):
    """A metric is unknown, or a required input is missing."""


class MissingValueError(MetricError, KeyError):
    """A result does not have the value; also a `KeyError`, as mappings raise."""


class ParameterError(UsageError):
    """The value of a parameter is not allowed."""


class ConfigError(UsageError):
    """Mistakes in a configuration file, each with its line and its path in the file.

    Parameters
    ----------
    what : str
        The number of mistakes, in words.
    where : str, optional
        The file.
    mistakes : sequence of str, default=()
        One line each.

    Examples
    --------
    >>> print(ConfigError("a mistake", where="a.yaml", mistakes=["line 2, engine: no such engine"]))
    a mistake
      where: a.yaml
      line 2, engine: no such engine
    """

    def __init__(
        self,
        what: str,
        *,
        where: str | None = None,
        found: str | None = None,
        hint: str | None = None,
        mistakes: Iterable[str] = (),
    ) -> None:
        super().__init__(what, where=where, found=found, hint=hint)
        self.mistakes = tuple(mistakes)

    def spelled(self, spell: Callable[[Parameter | Reference], str]) -> Self:
        """Return the error as it is: it speaks of keys of the file, whatever command read it."""
        return self

    def __str__(self) -> str:
        lines = (_shortened(printable(line)) for line in self.mistakes)
        return "\n".join([super().__str__(), *(f"  {line}" for line in lines)])

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_config, (self.what, self.where, self.found, self.hint, self.mistakes)


def _rebuild_config(
    what: str, where: str | None, found: str | None, hint: str | None, mistakes: tuple[str, ...]
) -> ConfigError:
    return ConfigError(what, where=where, found=found, hint=hint, mistakes=mistakes)


class OutputError(RankwiseError, OSError):
    """A result cannot be written to the requested place."""


def _shortened(line: str) -> str:
    """Return a line without its middle if too long, for example because of a long id."""
    if len(line) <= _LONGEST:
        return line
    return f"{line[: _LONGEST - 100]} … {line[-60:]} ({len(line):,} characters)"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return a hint with the known name that was probably meant; None if no name is similar.

    Examples
    --------
    >>> nearest("ndgc", ["ndcg", "recall"])
    "did you mean 'ndcg'?"
    """
    near = nearest_name(name, known)
    return None if near is None else f"did you mean '{near}'?"


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that was probably meant; None if no name is similar."""
    from difflib import get_close_matches  # only errors need it

    near = get_close_matches(name.lower(), list(known), n=1, cutoff=0.6)
    return near[0] if near else None
