"""Splits by time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankwise.errors import ColumnError, EmptyError, ParameterError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["time_based_split"]


def time_based_split(
    interactions: pl.DataFrame, timestamp_col: str = "timestamp", test_ratio: float = 0.2
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Split at one moment for everybody: what came before is training, the rest is test.

    The moment is the time of the first of the last ``round(test_ratio * n)`` rows in order of
    time, of n in all. Rows of that very moment are all test rows, so rows of equal time are never
    torn apart and the order of the table does not matter.

    Parameters
    ----------
    interactions : polars.DataFrame
        One row an interaction.
    timestamp_col : str
        A column of numbers or dates, without nulls.
    test_ratio : float
        The share of the rows for testing, in (0, 1).

    Returns
    -------
    train, test : polars.DataFrame
        Rows in the order in which they came.

    Raises
    ------
    ColumnError
        If the column is missing, or cannot be ordered in time.
    EmptyError
        If one side would be empty.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"user": [1, 1, 2], "item": [1, 2, 1], "timestamp": [30, 10, 20]})
    >>> train, test = time_based_split(table, test_ratio=0.4)
    >>> train["timestamp"].to_list(), test["timestamp"].to_list()
    ([10, 20], [30])
    """
    if not 0 < test_ratio < 1:
        raise ParameterError("test_ratio must lie between 0 and 1", found=str(test_ratio))
    if timestamp_col not in interactions.columns:
        raise ColumnError(
            f"there is no column {timestamp_col!r}",
            where="interactions",
            found=", ".join(map(repr, interactions.columns)),
        )
    time = interactions[timestamp_col]
    if not (time.dtype.is_numeric() or time.dtype.is_temporal()) or time.null_count():
        raise ColumnError(
            "timestamps must be numbers or dates, without nulls",
            where=f"interactions, column {timestamp_col!r}",
            found=f"{time.dtype}, {time.null_count()} nulls",
        )
    first = len(time) - max(1, round(test_ratio * len(time)))
    moment = time.sort()[first]
    train, test = interactions.filter(time < moment), interactions.filter(time >= moment)
    if train.is_empty() or test.is_empty():
        side = "training" if train.is_empty() else "test"
        raise EmptyError(f"the {side} side of the split is empty", where=f"split at {moment}")
    return train, test
