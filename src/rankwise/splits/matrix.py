"""Splits of arrays without ids: by a column of timestamps, and leave-one-out of a matrix."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
import polars as pl

from rankwise.core.sparse import checked_csr
from rankwise.errors import ColumnError, EmptyError, InputError, ParameterError, nearest
from rankwise.splits.sizes import check_seed

__all__ = ["leave_one_out_cv", "rows_of_array"]


def rows_of_array(array: Any, timestamp_col: str | int) -> tuple[pl.DataFrame, str]:
    """Return the rows of an array as a table for splits in time, and the name of its timestamps.

    Users and items are all the same: what is split at one moment depends on time alone.

    Raises
    ------
    ColumnError
        If the array has no such column, or it holds no times.

    Examples
    --------
    >>> rows_of_array(np.array([[7, 30], [8, 10]]), -1)[0]["-1"].to_list()
    [30, 10]
    """
    column = _column_of_array(array, timestamp_col)
    name = str(timestamp_col)
    if column.dtype.kind == "M" and column.dtype != "datetime64[ns]":
        column = column.astype("datetime64[us]")  # Polars knows no days and seconds
    try:
        times = pl.Series(name, column.tolist() if column.dtype == object else column)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
        raise ColumnError(
            "timestamps are numbers or dates", where=f"interactions, column {name!r}", found=str(column.dtype)
        ) from error
    for dtype in (pl.Int64, pl.Float64):  # one text in an array makes its numbers text
        if times.dtype == pl.String and not times.cast(dtype, strict=False).null_count():
            times = times.cast(dtype)
    same = np.zeros(len(column), dtype=np.int64)
    return pl.DataFrame({"user": same, "item": same}).with_columns(times), name


def _column_of_array(array: Any, at: Any) -> Any:
    """Return a column of a matrix by number, or of a structured array by name."""
    if np.ma.isMaskedArray(array):
        raise InputError("the array of interactions is masked, and its mask would be ignored")
    names = array.dtype.names
    if array.ndim != (2 if names is None else 1):
        raise InputError(
            "an array of interactions has one row per interaction, and its columns", found=f"shape {array.shape}"
        )
    if names is not None:
        if at not in names:
            raise ColumnError(
                f"there is no column {at!r}", found=", ".join(map(repr, names)), hint=nearest(str(at), names)
            )
        return array[at]
    if isinstance(at, bool) or not isinstance(at, Integral):
        raise ParameterError(
            "the columns of an array have numbers",
            found=f"timestamp_col={at!r}",
            hint="timestamp_col=2 is the third column",
        )
    if not -array.shape[1] <= at < array.shape[1]:
        raise ColumnError(f"there is no column {at}", found=f"{array.shape[1]} columns")
    return np.asarray(array)[:, at]


def leave_one_out_cv(user_item_matrix: Any, *, seed: int = 0) -> Iterator[tuple[Any, Any]]:
    """Yield leave-one-out splits of a matrix: one random item of one user at a time.

    Parameters
    ----------
    user_item_matrix : array or SciPy sparse matrix, shape (U, I)
        The entries of a sparse matrix are interactions, also those that are stored with the value
        0, as in every rule and table; of a dense array, the entries other than 0.
    seed : int, default=0
        Random seed; a user's item does not depend on the other users.

    Yields
    ------
    train : array or sparse matrix, shape (U, I)
        A copy of the matrix without this interaction, dense or CSR like the matrix.
    test : array or sparse matrix, shape (U, I)
        Only this interaction, with its value: ``(user,), (item,) = test.nonzero()``, unless the
        value is a stored 0, which ``test.tocoo().coords`` has. There is one pair for each user with
        at least two items, so that every user keeps training interactions.

    Raises
    ------
    InputError
        If it is not a matrix of real numbers, contains NaN, is masked or is corrupt.
    EmptyError
        If no user has two items.

    Notes
    -----
    Each copy costs the whole matrix; `LeaveOut` splits all users at once.

    Examples
    --------
    >>> matrix = np.array([[1, 1, 0], [0, 0, 1], [1, 0, 5]])
    >>> for train, test in leave_one_out_cv(matrix):
    ...     (user,), (item,) = test.nonzero()
    ...     print(user, item, test[user, item], train.sum())
    0 1 1 8
    2 2 5 4
    """
    check_seed(seed)
    sparse = hasattr(user_item_matrix, "tocsr")
    matrix = checked_csr(user_item_matrix, "the matrix") if sparse else _dense(user_item_matrix)
    if np.isnan(matrix.data if sparse else matrix).any():
        raise InputError("the matrix holds NaN", hint="write 0 where there is no interaction")
    counts = np.diff(matrix.indptr) if sparse else (matrix != 0).sum(axis=1)
    if not (counts > 1).any():
        raise EmptyError("no user has two items, so none can be left out", where="matrix")
    return _leave_out(matrix, np.flatnonzero(counts > 1), int(seed), sparse=sparse)


def _dense(matrix: Any) -> Any:
    """Return a copy of a matrix as an array of two dimensions."""
    if np.ma.isMaskedArray(matrix):
        raise InputError("the matrix is masked, and its mask would be ignored", hint="pass matrix.filled(0)")
    try:
        array = np.array(matrix)
    except ValueError as error:  # raised by NumPy for rows of different lengths
        raise InputError("the rows of the matrix have different lengths") from error
    if array.ndim != 2 or array.dtype.kind not in "iufb":
        raise InputError(
            "leave-one-out needs a matrix of numbers, users by items", found=f"shape {array.shape}, {array.dtype}"
        )
    return array


def _leave_out(matrix: Any, users: Any, seed: int, *, sparse: bool) -> Iterator[tuple[Any, Any]]:
    for user in users.tolist():
        rng = np.random.default_rng([seed & (2**64 - 1), user])
        if sparse:
            first, last = matrix.indptr[user], matrix.indptr[user + 1]
            entry = first + int(rng.integers(last - first))
            place = ([user], matrix.indices[entry : entry + 1])
            test = type(matrix)((matrix.data[entry : entry + 1], place), shape=matrix.shape)
            ends = matrix.indptr - (np.arange(len(matrix.indptr)) > user)
            kept = (np.delete(matrix.data, entry), np.delete(matrix.indices, entry), ends)
            train = type(matrix)(kept, shape=matrix.shape)
        else:
            items = np.flatnonzero(matrix[user])
            item = int(items[rng.integers(len(items))])
            test = np.zeros_like(matrix)
            test[user, item] = matrix[user, item]
            train = matrix.copy()
            train[user, item] = 0
        yield train, test
