"""Arguments held against what they may be, before any work is done."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from rankwise.errors import MeasureError, ParameterError

if TYPE_CHECKING:
    from rankwise.core.lists import Ties
    from rankwise.io.tables import Table
    from rankwise.measures.plan import Plan

__all__ = [
    "Population",
    "check_choice",
    "check_count",
    "check_flag",
    "check_number",
    "check_population",
    "check_positive",
    "check_scores",
    "ties_for",
]

Population: TypeAlias = Literal["truth", "both", "recommended", "all"]


def check_choice(name: str, value: object, kind: Any) -> None:
    """Raise unless a value is one of a `Literal`."""
    if not isinstance(value, str) or value not in get_args(kind):
        raise ParameterError(
            f"{name} must be one of {', '.join(get_args(kind))}", found=f"{name}={value!r}"
        )


def check_population(population: object, users: object) -> None:
    """Raise unless the population is one of the rules, named by its own parameter."""
    if isinstance(users, str) and users in get_args(Population):
        raise ParameterError(
            "users= takes a table of users; who counts is population=",
            found=f"users={users!r}",
            hint=f'write population="{users}"',
        )
    check_choice("population", population, Population)


def check_number(name: str, value: object) -> None:
    """Raise unless a value is None or a finite number."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if value is not None and not (number and math.isfinite(float(value))):  # type: ignore[arg-type]
        raise ParameterError(f"{name} must be a number", found=f"{name}={value!r}")


def check_count(*, least: int = 1, **values: object) -> None:
    """Raise unless each value is a whole number, by default from 1."""
    for name, value in values.items():
        whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if not whole or not least <= value < 2**62:  # type: ignore[operator]
            raise ParameterError(
                f"{name} must be a whole number from {least}", found=f"{name}={value!r}"
            )


def check_flag(**values: object) -> None:
    """Raise unless each value is true or false."""
    for name, value in values.items():
        if not isinstance(value, bool | np.bool_):
            raise ParameterError(f"{name} must be True or False", found=f"{name}={value!r}")


def check_positive(*, least: int = 1, **values: int | None) -> None:
    """Raise unless each value is None or a whole number, by default from 1."""
    check_count(least=least, **{name: own for name, own in values.items() if own is not None})


def ties_for(listed: Table, ties: Ties | None) -> Ties:
    """Say how equal scores of these lists are ordered; raise if nothing is ordered by score."""
    by_score = "score" in listed.frame.columns and "rank" not in listed.frame.columns
    if ties not in (None, "input") and not by_score:
        raise ParameterError(
            f"ties={ties!r} needs lists that are ordered by score",
            found=f"columns {', '.join(listed.frame.columns)}",
            hint='leave ties out, or leave the rank column unused: columns={"rank": None}',
        )
    return ties or ("expected" if by_score else "input")


def check_scores(plan: Plan, listed: Table) -> None:
    """Raise if a measure needs scores and these lists have none."""
    if "score" in listed.frame.columns:
        return
    for leaf in plan.leaves:
        if "scores" in leaf.requires:
            raise MeasureError(
                f"{leaf.name} needs predicted scores",
                where=listed.source,
                found=f"columns {', '.join(listed.frame.columns)}",
                hint="pass recommendations with a score column",
            )
