"""The settings and shared tables of a partial: only partials with the same ones are merged."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import polars as pl

from rankwise.core.hashing import digest_of
from rankwise.errors import ParameterError

__all__ = ["About"]


class About:
    """The settings of an evaluation, and the tables that all of its chunks share.

    Tables are hashed only when partials made from different objects are merged, or when a partial
    leaves the process: an evaluation in one process does not pay for it.

    Parameters
    ----------
    settings : mapping of str to str
        Every setting that can change a value.
    tables : mapping of str to polars.DataFrame
        The tables that all chunks share, by role.
    digests : mapping of str to str, optional
        Their hashes, if they are known.
    """

    def __init__(
        self, settings: Mapping[str, str], tables: Mapping[str, pl.DataFrame], digests: Mapping[str, str] | None = None
    ) -> None:
        self.settings = dict(settings)
        self._tables = dict(tables)
        if digests is not None:
            self.digests = dict(digests)

    @cached_property
    def digests(self) -> dict[str, str]:
        """The hash of each table, whatever the order of its rows and columns."""
        return {
            role: f"{len(frame):,} rows of {', '.join(sorted(frame.columns))}, "
            f"hash {digest_of([frame[name] for name in sorted(frame.columns)])}"
            for role, frame in self._tables.items()
        }

    def __reduce__(self) -> Any:
        return About, (self.settings, {}, self.digests)

    def check(self, other: About) -> None:
        """Raise unless both are about the same, naming the first difference."""
        if other is self:
            return
        for name in sorted({*self.settings, *other.settings}):
            mine, theirs = (about.settings.get(name, "nothing") for about in (self, other))
            if mine != theirs:
                raise ParameterError(
                    "only evaluators with the same measures and settings can be merged",
                    found=f"{name}: {theirs} beside {mine}",
                )
        if self._tables and _same_objects(self._tables, other._tables):
            return
        for role in sorted({*self.digests, *other.digests}):
            if self.digests.get(role) != other.digests.get(role):
                raise _other_table(role)


def _same_objects(left: Mapping[str, object], right: Mapping[str, object]) -> bool:
    return left.keys() == right.keys() and all(left[role] is right[role] for role in left)


def _other_table(role: str) -> ParameterError:
    if role == "truth":
        return ParameterError(
            "evaluators to merge must have the same ground truth, or must get it with each chunk",
            hint="give every evaluator the whole ground truth, or pass it to update(…)",
        )
    return ParameterError(
        f"evaluators to merge must have the same {role}", hint=f"give every evaluator all of the {role}"
    )
