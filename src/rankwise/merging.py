"""Whether evaluators may be merged: the same question, asked of the same tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankwise.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankwise.io.tables import Table

__all__ = ["check_same_settings", "check_same_tables"]


def check_same_settings(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> None:
    """Raise unless two evaluators ask the same."""
    if mine != theirs:
        raise ParameterError(
            "only evaluators with the same measures and settings can be merged",
            found=f"{theirs} beside {mine}",
        )


def check_same_tables(mine: Mapping[Any, Table | None], theirs: Mapping[Any, Table | None]) -> None:
    """Raise unless two evaluators were given the same tables."""
    if not _same(mine.get("truth"), theirs.get("truth")):
        raise ParameterError(
            "evaluators that are merged have the same truth, or were given it with each piece",
            hint="give every evaluator all of the truth, or pass it to update(…)",
        )
    for kind in sorted({*mine, *theirs}):
        if not _same(mine.get(kind), theirs.get(kind)):
            raise ParameterError(
                f"evaluators that are merged were given the same {kind}",
                hint=f"give every evaluator all of the {kind}",
            )


def _same(mine: Table | None, theirs: Table | None) -> bool:
    if mine is None or theirs is None:
        return mine is theirs
    return mine is theirs or mine.frame.equals(theirs.frame)
