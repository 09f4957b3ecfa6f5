r"""Which columns of a text file are read as numbers at once, and not as text that is cast later.

Ids are what the text says: ``007`` and ``+7`` are not 7. A column of ids is read as numbers only if
every field of it is written as numbers are. Which columns may be is seen in the first lines. Then,
while Polars reads the text, every byte of it is looked at: in most files a quick look finds nothing
that plain numbers do not have (a blank, a zero before other digits), so that whatever Polars reads
as a whole number is written as one; from where it finds something on, a look at every field tells.
Where these looks are not compiled, ids are read as text, and become numbers afterwards if all of
them are. Scores and relevances are numbers however they are written; if they turn out not to be,
the text is read again as text, in which the mistake is located.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, cast

import numpy as np
import polars as pl

from rankwise.core import kernels
from rankwise.tables.validation import EXACT

__all__ = ["Numbers", "Readable", "are_numbers", "expected_types", "is_odd", "look_at"]

Numbers: TypeAlias = Callable[[Sequence[str]], Collection[str]]
"""Returns those of some columns that hold scores or relevances, whatever their text."""

_SAMPLE = 100  # lines that say which columns are worth a look
_DIGITS = 18  # of whole numbers: those with more may not fit 64 bits
_WHOLE = rf"(0|-?[1-9]\d{{0,{_DIGITS - 1}}})$"
_MOST = 60  # columns: there is a bit for each
_DECIMAL = r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$"
_BLOCK = 1 << 19  # bytes that are looked at together, while they are in the cache


def expected_types(
    head: bytes, separator: str, names: Sequence[str], numbers: Numbers, *, has_header: bool
) -> dict[str, Any]:
    r"""Return the types of the columns that are numbers in the first lines of a text.

    >>> head = b"user,item,score\n1,07,0.5\n2,08,1e3\n"
    >>> expected_types(head, ",", ["user", "item", "score"], lambda names: names[2:],
    ...                has_header=True)["score"]
    Float64
    """
    names_differ = len({*names}) == len(names)
    if len(separator) != 1 or not names_differ or not 1 < len(names) <= _MOST:
        return {}
    start = head.find(b"\n") + 1 if has_header else 0
    header = head[: max(start - 1, 0)].decode(errors="replace").removesuffix("\r")
    if b'"' in head or (has_header and header.split(separator) != [*names]):
        return {}
    lines = head[start:].decode(errors="replace").split("\n")[:-1][:_SAMPLE]
    fields = [line.rstrip("\r").split(separator) for line in lines]
    if not fields or any(len(line) != len(names) for line in fields):
        return {}

    def all_match(at: int, pattern: str) -> bool:
        return all(re.match(pattern, line[at]) for line in fields)

    scored = {*numbers(names)}
    whole = {name for at, name in enumerate(names) if all_match(at, _WHOLE)}
    types: dict[str, Any] = {
        name: pl.Float64
        for at, name in enumerate(names)
        if name in scored and name not in whole and all_match(at, _DECIMAL)
    }
    if kernels.loaded() is not None:
        types |= {name: pl.Int64 for name in names if name in whole}
    return types


class Readable(Protocol):
    """A stream of bytes."""

    def readinto(self, buffer: memoryview, /) -> int | None:
        """Fill a buffer with the next bytes, and return how many there are."""


def look_at(
    stream: Readable, separator: str, names: Sequence[str], types: Mapping[str, Any], *, has_header: bool
) -> set[str] | None:
    """Return which columns that are expected to hold whole numbers do, in every field.

    Or hold whatever else, which Polars then does not read as whole numbers. None if the text has
    quotation marks or NUL bytes, so that it is not read as numbers.
    """
    fields, buffer, kept = _Fields(separator, names, types), bytearray(_BLOCK), 0
    view, is_first = memoryview(buffer), has_header
    while count := stream.readinto(view[kept:]):
        filled = kept + count
        end = buffer.rfind(b"\n", 0, filled) + 1
        fields.see(buffer, buffer.find(b"\n", 0, end) + 1 if is_first else 0, end)
        is_first, kept = is_first and not end, filled - end
        if kept == _BLOCK:  # a line that is longer than a block
            fields.is_plain, kept = False, 0
        buffer[:kept] = buffer[filled - kept : filled]
    fields.see(buffer, 0, kept)
    return fields.whole


class _Fields:
    """The fields of a text, seen in blocks of whole lines."""

    def __init__(self, separator: str, names: Sequence[str], types: Mapping[str, Any]) -> None:
        self.separator, self.names = separator, names
        self.mask = sum(1 << at for at, name in enumerate(names) if types.get(name) == pl.Int64)
        self.is_odd = not self.mask  # then there is nothing to look for but marks
        self.is_plain = True

    def see(self, buffer: bytearray, first: int, stop: int) -> None:
        """Look at a block."""
        if not self.is_plain or first == stop:
            return
        part = memoryview(buffer)[first:stop]
        self.is_odd = self.is_odd or is_odd(part, 0, len(part), self.separator)
        if not self.is_odd:
            return
        self.is_plain = buffer.find(b'"', first, stop) < 0 and buffer.find(b"\0", first, stop) < 0
        if self.mask:
            self.mask = whole_columns(part, self.separator, len(self.names), self.mask)

    @property
    def whole(self) -> set[str] | None:
        """The columns of canonical whole numbers; None if the text is not plain."""
        if not self.is_plain:
            return None
        return {name for at, name in enumerate(self.names) if self.mask >> at & 1}


def are_numbers(frame: pl.DataFrame, kinds: Mapping[str, Any]) -> bool:
    """Return whether columns that were read as numbers lost nothing of their text."""
    for name in kinds:
        column = frame[name]
        if column.null_count():
            return False
        if column.dtype == pl.Float64 and len(column):
            lowest, highest = cast("tuple[float, float]", (column.min(), column.max()))
            if not -EXACT < lowest <= highest < EXACT:
                return False  # a whole number may have more digits than a float
    return True


def is_odd(text: bytes | memoryview, first: int, stop: int, separator: str) -> bool:
    """Return whether a part of a text has what plain numbers do not have, as far as is known."""
    library = kernels.loaded()
    return library is None or bool(
        library.rw_odd_text(np.frombuffer(text, dtype=np.uint8), len(text), first, stop, ord(separator))
    )


def whole_columns(text: bytes | memoryview, separator: str, columns: int, wanted: int) -> int:
    """Return which of the wanted columns, a bit each, are whole numbers in some lines."""
    library = kernels.loaded()
    if library is None:
        return 0
    return int(
        library.rw_whole_columns(np.frombuffer(text, dtype=np.uint8), len(text), ord(separator), columns, wanted)
    )
