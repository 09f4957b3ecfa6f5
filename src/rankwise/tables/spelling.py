"""Ids that differ only in spelling: leading zeros, trailing ``.0``, prefix, blanks, capitals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from rankwise.errors import IdError

_ZEROS = r"^(-?)0+(\d)"
_DECIMALS = r"^(-?\d+)\.0+$"
_PREFIX = r"^\D*[^\d-]\D*?(\d+)$"  # the sign of a number is none
_SPELLINGS: dict[str, tuple[tuple[str, str], ...]] = {
    "without leading zeros": ((_ZEROS, "$1$2"),),
    "without a trailing .0": ((_DECIMALS, "$1"),),
    "without blanks around them": ((r"^\s+|\s+$", ""),),
    "without their prefix": ((_PREFIX, "$1"),),
    "without their prefix and leading zeros": ((_PREFIX, "$1"), (_ZEROS, "$1$2")),
    "without a trailing .0 and leading zeros": ((_DECIMALS, "$1"), (_ZEROS, "$1$2")),
}
_CAPITALS = "in lower case"
_LOOKS = (r"^-?0\d", r"\.0+$", r"^\s|\s$", r"^\D", r"[A-Z]", r"[a-z]")
"""What ids look like: if no id of a sample does on one side, and some do on the other, both may be meant alike."""
_ROWS = 500  # of a sample
_LEAST_SHARE = 0.01  # of the ids, that another spelling makes agree
_CHANCE = 1000  # draws of items, of which one would have none in common


@dataclass(frozen=True)
class Spelling:
    """A change of spelling by which ids would agree with ids of another table.

    Attributes
    ----------
    words : str
        What has to be left out, such as ``"without leading zeros"``.
    ids : int
        How many ids would agree that do not.
    total : int
        The number of distinct ids.
    example : tuple of str
        One of them, and the id of the other table.
    """

    words: str
    ids: int
    total: int
    example: tuple[str, str]

    def __str__(self) -> str:
        one, other = self.example
        return (
            f"{self.ids:,} of {self.total:,} would agree {self.words}, such as {one!r} and "
            f"{other!r}"
        )


def other_spelling(ids: pl.Series, others: pl.Series) -> Spelling | None:
    """Return the spelling by which most unknown ids would agree with ``others``; else None.

    >>> print(other_spelling(pl.Series(["0012", "7"]), pl.Series(["12", "7", "9"])))
    1 of 2 would agree without leading zeros, such as '0012' and '12'
    >>> other_spelling(pl.Series(["12", "7"]), pl.Series(["13", "7"])) is None
    True
    """
    left, right = (
        column.cast(pl.String).drop_nulls().unique(maintain_order=True) for column in (ids, others)
    )
    unknown = left.filter(~left.is_in(right.implode()))
    found = [
        spelling
        for words in (*_SPELLINGS, _CAPITALS)
        if (spelling := _tried(words, unknown, left, right))
    ]
    return max(found, key=lambda spelling: spelling.ids, default=None)


def _tried(words: str, unknown: pl.Series, ids: pl.Series, others: pl.Series) -> Spelling | None:
    """Try a spelling; return None if too few of the unknown ids agree with ``others``."""
    left = pl.DataFrame({"one": unknown, "plain": _spelled(unknown, words)})
    right = pl.DataFrame({"other": others, "plain": _spelled(others, words)}).unique(
        "plain", keep="first"
    )
    agreeing = left.join(right, on="plain", how="inner", maintain_order="left")
    if agreeing.is_empty() or len(agreeing) < _LEAST_SHARE * len(ids):
        return None
    return Spelling(words, len(agreeing), len(ids), (agreeing["one"][0], agreeing["other"][0]))


def _spelled(ids: pl.Series, words: str) -> pl.Series:
    if words == _CAPITALS:
        return ids.str.to_lowercase()
    for pattern, text in _SPELLINGS[words]:
        ids = ids.str.replace_all(pattern, text)
    return ids


def have_one_look(ids: pl.Series, others: pl.Series) -> bool:
    """Return whether samples of both ids look alike, so that no other spelling needs a try.

    Whole numbers are written in one way, and cost nothing here.
    """
    if ids.dtype.is_integer() and others.dtype.is_integer():
        return True
    return _looks_of(ids) == _looks_of(others)


def _looks_of(ids: pl.Series) -> tuple[bool, ...]:
    """Return for each look whether an id of a sample has it."""
    sample = ids.gather_every(max(1, len(ids) // _ROWS)).cast(pl.String).to_frame("id")
    looks = [pl.col("id").str.contains(look).any().alias(look) for look in _LOOKS]
    return sample.select(looks).row(0)


def examples_of(ids: pl.Series) -> str:
    """Return two distinct ids for a message."""
    return " and ".join(repr(value) for value in ids.head(2).to_list())


def _ways(ids: int, others: int) -> int:
    """Count the ways to deal all ids to the two tables, up to a limit."""
    ids, others = min(ids, _CHANCE), min(others, _CHANCE)
    return _CHANCE if min(ids, others) > _CHANCE.bit_length() else math.comb(ids + others, ids)


def check_common_items(recommended: pl.Series, known: Sequence[pl.Series], where: str) -> None:
    """Raise if lists have no item in common with any table, which can hardly be chance.

    Parameters
    ----------
    recommended : polars.Series
        The items of lists.
    known : sequence of polars.Series
        The items of the ground truth, and of training and the items where these are known.
    where : str
        The source of the lists.
    """
    ids = recommended.unique(maintain_order=True)
    others = pl.concat([column.cast(pl.String) for column in known]).unique(maintain_order=True)
    if ids.cast(pl.String).is_in(others.implode()).any():
        return
    spelling = other_spelling(ids, others)
    if spelling is None and _ways(len(ids), len(others)) < _CHANCE:
        return
    raise IdError(
        "no recommended item is in the ground truth, nor in any other table that was passed",
        where=where,
        found=f"{len(ids):,} recommended items, such as {examples_of(ids)}, and {len(others):,} "
        "known ones, such as "
        f"{examples_of(known[0].unique(maintain_order=True))}",
        hint="name items in the same way in all tables"
        if spelling is None
        else f"name items in the same way in all tables: {spelling}",
    )
