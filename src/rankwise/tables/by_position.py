"""Arrays and matrices, whose rows and columns have positions in place of ids, to frames."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from rankwise.core.sparse import check_sparse
from rankwise.errors import DuplicateError, IdError, InputError
from rankwise.tables.columns import TableRole
from rankwise.tables.validation import check_exact

__all__ = ["RANKED", "from_array", "from_sparse", "masked", "number_column"]

RANKED = ("recommendations", "baseline")
"""Roles of tables that have a score in place of a relevance."""


def number_column(role: TableRole) -> str:
    """Return the column of the numbers of a source that does not name them."""
    return "score" if role in RANKED else "relevance"


def from_array(source: Any, role: TableRole) -> tuple[pl.DataFrame, int]:
    """Return item ids, one row per user, as a frame, and the number of padding entries (-1, "")."""
    rows = source if isinstance(source, list | tuple) else [source]
    if any(isinstance(row, np.ma.MaskedArray) for row in rows):
        raise masked(role)
    if role not in (*RANKED, "items"):
        raise InputError(
            f"{role}: an array, or a list of lists, does not say which user has which items",
            hint="pass a table, a list of tuples (user, item), or {user: {items}}",
        )
    try:
        array = np.asarray(source)
    except (TypeError, ValueError, RuntimeError) as error:  # rows of different lengths
        raise _ragged(role) from error
    if array.dtype == object and array.ndim == 2:
        raise InputError(
            f"{role}: a dense array holds item ids of one type, best first",
            found="values of several types",
            hint="rows of users and items are a table, or a list of tuples",
        )
    if array.dtype == object:
        raise _ragged(role)
    if array.ndim != 2:
        raise InputError(
            f"{role}: a dense array has one row per user",
            found=f"an array of shape {array.shape}",
            hint="pass item ids of shape (users, k)",
        )
    if array.dtype.kind not in "iuU":
        raise IdError(
            "a dense array holds item ids, best first",
            where=role,
            found=f"{array.dtype} values",
            hint="rank a score matrix with rw.rank(scores, k)",
        )
    if _may_be_pairs(array):
        raise InputError(
            f"{role}: this array may hold rows of user and item, or an ordered list for each user",
            found=f"shape {array.shape}, and each value of the first column on rows that follow one another",
            hint="pass rows as a table or as a list of tuples, lists as {user: [items]}",
        )
    users = np.repeat(np.arange(array.shape[0], dtype=np.int64), array.shape[1])
    frame = pl.DataFrame({"user": users, "item": array.ravel()})
    if array.dtype.kind == "U":
        empty = int((array == "").sum())  # what text is filled up with
        return (frame.filter(pl.col("item") != "") if empty else frame), empty
    padding = int((array == -1).sum())
    return (frame.filter(pl.col("item") != -1) if padding else frame), padding


def _may_be_pairs(array: Any) -> bool:
    """Return whether an array of two or three columns looks like users beside their items.

    Lists that are short and alike are no such rows: users do not have an item twice.
    """
    if array.shape[1] not in (2, 3) or len(array) < 4:
        return False
    first, changes = array[:, 0], array[1:, 0] != array[:-1, 0]
    grouped = len(np.unique(first)) == 1 + int(changes.sum()) < len(array)
    return grouped and len(np.unique(array[:, :2], axis=0)) == len(array)


def masked(role: TableRole) -> InputError:
    """Return the error for NumPy's masked arrays."""
    return InputError(
        f"{role}: the mask of a masked array is not read",
        hint="fill masked entries: with -1, which is padding, or drop them",
    )


def _ragged(role: TableRole) -> InputError:
    return InputError(
        f"{role}: the rows of the array have different lengths",
        hint="pass {user: [items]} instead, or fill short rows up with -1",
    )


def from_sparse(source: Any, role: TableRole) -> pl.DataFrame:
    """Return a SciPy sparse matrix of scores or relevances, users by items, as a frame.

    Every stored entry is a row, also when its value is 0.
    """
    check_sparse(source, f"the matrix of {role}")
    if role in (*RANKED, "truth"):
        _check_distinct(source, role)
    matrix = source.tocoo()
    number = pl.Series(number_column(role), matrix.data.astype(np.float64))
    if matrix.dtype.kind in "iu":
        check_exact(pl.Series(matrix.data), number, number.name, role)
    users, items = (pl.Series(index.astype(np.int64)) for index in matrix.coords)
    return pl.DataFrame([users.alias("user"), items.alias("item"), number])


def _check_distinct(matrix: Any, role: TableRole) -> None:
    """Raise if a matrix stores an entry in parts, which SciPy adds up wherever it reads them."""
    csr = matrix.tocsr()
    if csr.has_canonical_format and csr.nnz == matrix.nnz:
        return
    csr = csr.copy()
    csr.sum_duplicates()
    repeated = matrix.nnz - csr.nnz
    if repeated:
        raise DuplicateError(
            "a sparse matrix has several entries of one user and item",
            where=role,
            found=f"{repeated} such entries",
            hint="matrix.sum_duplicates() adds them up, as SciPy does",
        )
