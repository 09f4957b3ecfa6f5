"""The options of an evaluation by name and type, for the functions that take them.

`Settings` has the default, the check and the description of each; here is which function takes
which.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypedDict, get_type_hints

from rankwise.core.choices import (
    CatalogueRule,
    Duplicates,
    IdType,
    OrderBy,
    Population,
    Ranks,
    Relevance,
    ScorePrecision,
    Ties,
    Undefined,
    WithoutList,
)

if TYPE_CHECKING:
    from rankwise.convention.convention import Convention

__all__ = ["ListOptions", "PieceOptions", "RatingOptions", "TableOptions", "WholeOptions", "option_types"]


class TableOptions(TypedDict, total=False):
    """Options that say how tables are read, whatever the convention."""

    threshold: float | None
    relevance_threshold: float | None
    columns: Mapping[str, str | None] | None
    threads: int | None


class PieceOptions(TypedDict, total=False):
    """Options of every evaluation, also of one in pieces."""

    threshold: float | None
    relevance_threshold: float | None
    relevance: Relevance
    convention: str | Convention | None
    population: Population
    undefined: Undefined
    without_list: WithoutList
    duplicates: Duplicates
    ranks: Ranks
    order_by: OrderBy
    ids: IdType
    score_precision: ScorePrecision
    catalogue: CatalogueRule
    by: str | Sequence[str]
    weights: str | Mapping[Any, float] | None
    columns: Mapping[str, str | None] | None
    threads: int | None
    block_size: int | None
    progress: bool | None


class WholeOptions(PieceOptions, total=False):
    """Options that also need all lists at once."""

    warm_and_cold: bool
    jackknife: int | None


class RatingOptions(WholeOptions, total=False):
    """Options that also give cut-offs to measures; `rankwise.evaluate_model` has another k."""

    k: int | Sequence[int] | None


class ListOptions(RatingOptions, total=False):
    """Options that also concern how the lists themselves are read."""

    ties: Ties | None
    exclude_seen: bool


@cache
def option_types() -> dict[str, Any]:
    """Return the type of each option, by name."""
    from rankwise.convention.convention import Convention  # needs the measures

    return get_type_hints(ListOptions, localns={"Convention": Convention})
