"""Filters on interactions."""

from __future__ import annotations

import polars as pl

from rankwise.errors import EmptyError, ParameterError

__all__ = ["k_core"]


def k_core(interactions: pl.DataFrame, k: int) -> pl.DataFrame:
    """Keep users and items with at least k interactions among what is kept, to the fixpoint.

    Parameters
    ----------
    interactions : polars.DataFrame
        Columns ``user`` and ``item``, one row an interaction.
    k : int
        The least number of interactions of every user and every item that stays.

    Returns
    -------
    polars.DataFrame
        Rows in the order in which they came.

    Raises
    ------
    EmptyError
        If nothing is left.

    Examples
    --------
    >>> table = pl.DataFrame({"user": [1, 1, 2, 2, 3], "item": [1, 2, 1, 2, 3]})
    >>> len(k_core(table, 2))
    4
    """
    if k < 1:
        raise ParameterError("k must be a whole number from 1", found=str(k))
    kept, before = interactions, -1
    while len(kept) != before:
        before = len(kept)
        for column in ("user", "item"):
            kept = kept.filter(pl.len().over(column) >= k)
    if kept.is_empty():
        raise EmptyError(f"the {k}-core is empty", found=f"{len(interactions)} rows before")
    return kept
