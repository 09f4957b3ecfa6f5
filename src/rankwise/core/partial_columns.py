"""The names of a partial's columns: written and read here, and nowhere else.

Values of users have the name of their cell (``ndcg@10``). Sums, which are only pooled at the end,
have names that hold a JSON list, so that no name of a group or a column can be mistaken.
"""

from __future__ import annotations

import json
from dataclasses import astuple, dataclass
from functools import cache
from typing import Self

__all__ = ["ItemColumn", "UserSum"]


class _Name:
    def __str__(self) -> str:
        return json.dumps(astuple(self), ensure_ascii=False)  # type: ignore[call-overload]

    @classmethod
    @cache
    def read(cls, name: str) -> Self:
        """Read the name of a column."""
        return cls(*json.loads(name))


@dataclass(frozen=True)
class UserSum(_Name):
    """A sum of every user: which cell it is pooled for, and its number there.

    >>> UserSum.read(str(UserSum("rmse", 0)))
    UserSum(cell='rmse', number=0)
    """

    cell: str
    number: int


@dataclass(frozen=True)
class ItemColumn(_Name):
    """A sum of every item.

    Attributes
    ----------
    key : str
        What is summed.
    k : int
        The cut-off; 0 where there is none.
    by, group : str, default=""
        The column of user groups and the group that is summed over; empty for all users.
    part : str, default=""
        Which part of an exact sum; empty for whole numbers.
    """

    key: str
    k: int
    by: str = ""
    group: str = ""
    part: str = ""
