"""One tree of errors; each says what is wrong, where, what was found, and what to do.

RankwiseError
├── InputError            the data cannot be evaluated as it is (command line: exit 3)
│   ├── ColumnError       a column is missing, ambiguous or of a type that cannot serve
│   ├── IdError           user or item ids that are null, mixed, or of different types
│   ├── ScoreError        scores, ranks or relevances that are NaN, infinite or contradictory
│   ├── DuplicateError    the same item twice for one user
│   ├── EmptyError        nothing to evaluate
│   └── FileError         a file that cannot be read, or a line in it
├── UsageError            the question is wrong, not the data (command line: exit 2)
│   ├── MeasureError      an unknown measure, or one that needs something it was not given
│   └── ParameterError    a parameter outside what is allowed
└── OutputError           a result that cannot be written (command line: exit 2)
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = [
    "ColumnError", "DuplicateError", "EmptyError", "FileError", "IdError", "InputError",
    "MeasureError", "OutputError", "ParameterError", "RankwiseError", "ScoreError", "UsageError",
    "nearest",
]  # fmt: skip


class RankwiseError(Exception):
    """The root of the tree.

    Parameters
    ----------
    what : str
        What is wrong, in one sentence.
    where : str, optional
        The table, column, row, user or line.
    found : str, optional
        What stood there.
    hint : str, optional
        What would put it right.

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
        super().__init__(what)
        self.what = what
        self.where = where
        self.found = found
        self.hint = hint

    def __str__(self) -> str:
        rows = [("where: ", self.where), ("found: ", self.found), ("hint:  ", self.hint)]
        return "\n".join([self.what, *(f"  {label}{text}" for label, text in rows if text)])

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
    """A column is missing, ambiguous or of a type that cannot serve."""


class IdError(InputError):
    """User or item ids that are null, mixed, or of different types in two tables."""


class ScoreError(InputError):
    """Scores, ranks or relevances that are NaN, infinite or contradictory."""


class DuplicateError(InputError):
    """The same item twice for one user."""


class EmptyError(InputError):
    """Nothing is left to evaluate."""


class FileError(InputError):
    """A file that cannot be read, or a line in it that cannot."""


class UsageError(RankwiseError, ValueError):
    """The question is wrong, not the data."""


class MeasureError(UsageError):
    """An unknown measure, or one that needs something it was not given."""


class ParameterError(UsageError):
    """A parameter outside what is allowed."""


class OutputError(RankwiseError, OSError):
    """A result that cannot be written where it was asked for."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Say which known name was probably meant, as a hint; None if none is near.

    Examples
    --------
    >>> nearest("ndgc", ["ndcg", "recall"])
    "did you mean 'ndcg'?"
    """
    near = get_close_matches(name.lower(), list(known), n=1, cutoff=0.6)
    return f"did you mean '{near[0]}'?" if near else None
