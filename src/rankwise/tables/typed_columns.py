r"""Which columns of a text file are read as numbers at once, and not as text that is cast later.

Ids are what the text says: ``007`` and ``+7`` are not 7. A column of ids is read as numbers only if
every field of it is written as numbers are. In most files a quick look finds nothing that plain
numbers do not have (a blank, a zero before other digits), so that whatever Polars reads as a whole
number is written as one; else a look at every field tells. Where these looks are not compiled, ids
are read as text, and become numbers afterwards if all of them are.
Scores and relevances are numbers however they are written; if they turn out not to be, the file is
read again as text, in which the mistake is located.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import reduce
from operator import and_
from typing import Any, TypeAlias, cast

import numpy as np
import polars as pl

from rankwise.core import kernels
from rankwise.core.threads import default_threads, each
from rankwise.tables.validation import EXACT

__all__ = ["Numbers", "are_numbers", "is_odd", "typed_columns"]

Numbers: TypeAlias = Callable[[Sequence[str]], Collection[str]]
"""Returns those of some columns that hold scores or relevances, whatever their text."""

_SAMPLE = 100  # lines that say which columns are worth a look
_DIGITS = 18  # of whole numbers: those with more may not fit 64 bits
_WHOLE = rf"(0|-?[1-9]\d{{0,{_DIGITS - 1}}})$"
_MOST = 60  # columns: there is a bit for each
_DECIMAL = r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$"


def typed_columns(
    text: bytes, separator: str, names: Sequence[str], numbers: Numbers, *, has_header: bool
) -> dict[str, Any]:
    r"""Return the types of the columns that are read as numbers.

    >>> text = b"user,item,score\n1,07,0.5\n2,08,1e3\n"
    >>> typed_columns(text, ",", ["user", "item", "score"], lambda names: names[2:],
    ...               has_header=True)["score"]
    Float64
    """
    names_differ = len({*names}) == len(names)
    if len(separator) != 1 or not names_differ or not 1 < len(names) <= _MOST:
        return {}
    start = text.find(b"\n") + 1 if has_header else 0
    header = text[: max(start - 1, 0)].decode(errors="replace").removesuffix("\r")
    if has_header and header.split(separator) != [*names]:
        return {}
    lines = text[start : start + (1 << 16)].decode(errors="replace").split("\n")[:-1][:_SAMPLE]
    fields = [line.rstrip("\r").split(separator) for line in lines]
    if not fields or any(len(line) != len(names) for line in fields):
        return {}

    def all_match(at: int, pattern: str) -> bool:
        return all(re.match(pattern, line[at]) for line in fields)

    scored = {*numbers(names)}
    wanted = {at for at in range(len(names)) if all_match(at, _WHOLE)}
    decimal = {
        name: pl.Float64
        for at, name in enumerate(names)
        if name in scored and at not in wanted and all_match(at, _DECIMAL)
    }
    whole = _whole(text, start, separator, len(names), wanted)
    if whole is None:
        return {}
    return {**decimal, **{names[at]: pl.Int64 for at in whole}}


def are_numbers(frame: pl.DataFrame, kinds: Mapping[str, Any]) -> bool:
    """Return whether columns that were read as numbers lost nothing of their text."""
    for name in kinds:
        column = frame[name]
        if column.null_count():
            return False
        if column.dtype == pl.Float64 and float(column.abs().max() or 0) >= EXACT:  # type: ignore[arg-type]
            return False  # a whole number may have more digits than a float
        if column.dtype == pl.Int64 and len(column):
            lowest, highest = cast("tuple[int, int]", (column.min(), column.max()))
            if not -(10**_DIGITS) < lowest <= highest < 10**_DIGITS:
                return False
    return True


def _whole(
    text: bytes, start: int, separator: str, columns: int, wanted: Collection[int]
) -> Collection[int] | None:
    """Return those of the wanted columns in which every field is a canonical whole number.

    Or whatever else is in a column that Polars then does not read as whole numbers. None if fields
    are in quotation marks.
    """
    threads = min(default_threads(), 2) if len(text) > 1 << 20 else 1
    middle = text.find(b"\n", (start + len(text)) // 2) + 1 or len(text)
    parts = [(start, middle), (middle, len(text))]
    if wanted and not any(each(lambda part: is_odd(text, *part, separator), parts, threads)):
        return wanted
    if b'"' in text:
        return None
    bits = sum(1 << at for at in wanted)
    found = each(lambda part: whole_columns(text, *part, separator, columns, bits), parts, threads)
    mask = reduce(and_, found)
    return [at for at in sorted(wanted) if mask >> at & 1]


def is_odd(text: bytes, first: int, stop: int, separator: str) -> bool:
    """Return whether a part of a text has what plain numbers do not have, as far as is known."""
    library = kernels.loaded()
    return library is None or bool(
        library.rw_odd_text(
            kernels.pointer(np.frombuffer(text, dtype=np.uint8)), ctypes.c_int64(len(text)),
            ctypes.c_int64(first), ctypes.c_int64(stop), ctypes.c_uint8(ord(separator)),
        )
    )  # fmt: skip


def whole_columns(
    text: bytes, start: int, stop: int, separator: str, columns: int, wanted: int
) -> int:
    """Return which of the wanted columns, a bit each, are whole numbers in a part of a text."""
    library = kernels.loaded()
    if library is None:
        return 0
    part = np.frombuffer(text, dtype=np.uint8)[start:stop]
    return int(
        library.rw_whole_columns(
            kernels.pointer(part), ctypes.c_int64(stop - start), ctypes.c_uint8(ord(separator)),
            ctypes.c_int64(columns), ctypes.c_uint64(wanted),
        )
    )  # fmt: skip
