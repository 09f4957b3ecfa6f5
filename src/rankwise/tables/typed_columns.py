r"""Which columns of a text file are read as numbers at once, and not as text that is cast later.

Ids are what the text says: ``007`` and ``+7`` are not 7. A column of ids is read as numbers only if
every field of it is written as numbers are, which one look at the bytes of the file tells. Where
that look is not compiled, ids are read as text, and become numbers afterwards if all of them are.
Scores and relevances are numbers however they are written; if they turn out not to be, the file is
read again as text, in which the mistake is located.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import reduce
from operator import and_
from typing import Any, TypeAlias

import polars as pl

from rankwise.core import kernels
from rankwise.core.threads import default_threads, each
from rankwise.core.vocabulary import WHOLE_NUMBER
from rankwise.tables.validation import EXACT

__all__ = ["Numbers", "are_numbers", "typed_columns"]

Numbers: TypeAlias = Callable[[Sequence[str]], Collection[str]]
"""Returns those of some columns that hold scores or relevances, whatever their text."""

_SAMPLE = 100  # lines that say which columns are worth a look
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
    if len(separator) != 1 or not names_differ or not 1 < len(names) <= _MOST or b'"' in text:
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
    wanted = {at for at in range(len(names)) if all_match(at, WHOLE_NUMBER)}
    decimal = {
        name: pl.Float64
        for at, name in enumerate(names)
        if name in scored and at not in wanted and all_match(at, _DECIMAL)
    }
    whole = _whole(text, start, separator, len(names), wanted)
    return {**decimal, **{names[at]: pl.Int64 for at in whole}}


def are_numbers(frame: pl.DataFrame, kinds: Mapping[str, Any]) -> bool:
    """Return whether columns that were read as numbers lost nothing of their text."""
    for name in kinds:
        column = frame[name]
        if column.null_count():
            return False
        if column.dtype == pl.Float64 and float(column.abs().max() or 0) >= EXACT:  # type: ignore[arg-type]
            return False  # a whole number may have more digits than a float
    return True


def _whole(
    text: bytes, start: int, separator: str, columns: int, wanted: Collection[int]
) -> list[int]:
    """Return those of the wanted columns in which every field is a canonical whole number."""
    bits = sum(1 << at for at in wanted)
    middle = text.find(b"\n", (start + len(text)) // 2) + 1 or len(text)
    found = each(
        lambda job: kernels.whole_columns(text, *job, separator, columns, bits),
        [(start, middle), (middle, len(text))],
        min(default_threads(), 2) if len(text) > 1 << 20 else 1,
    )
    mask = reduce(and_, (part or 0 for part in found))
    return [at for at in sorted(wanted) if mask >> at & 1]
