"""Leave-one-out over a matrix of users and items."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from rankwise.errors import EmptyError, InputError
from rankwise.splits.sizes import check_seed

__all__ = ["leave_one_out_cv"]


def leave_one_out_cv(user_item_matrix: Any, *, seed: int = 0) -> Iterator[tuple[Any, int, int]]:
    """Leave out one random item per user, one user after the other.

    Parameters
    ----------
    user_item_matrix : array or SciPy sparse matrix, shape (U, I)
        Nonzero entries are interactions.
    seed : int, default=0
        Decides which items; a user's item does not depend on the other users.

    Yields
    ------
    train : array or sparse matrix, shape (U, I)
        A copy of the matrix without that one interaction, dense or CSR like the matrix.
    user, item : int
        The user and the item left out. Users with fewer than two items are never tested: nothing
        would be known about them.

    Raises
    ------
    InputError
        If it is no matrix of numbers, or holds NaN.
    EmptyError
        If no user has two items.

    Notes
    -----
    Each copy costs the whole matrix; `LeaveOut` splits all users at once.

    Examples
    --------
    >>> matrix = np.array([[1, 1, 0], [0, 0, 1], [1, 0, 1]])
    >>> [(user, int(train.sum())) for train, user, item in leave_one_out_cv(matrix)]
    [(0, 4), (2, 4)]
    """
    check_seed(seed)
    sparse = hasattr(user_item_matrix, "tocsr")
    try:
        matrix: Any = user_item_matrix.tocsr(copy=True) if sparse else np.array(user_item_matrix)
    except ValueError as error:  # raised by NumPy for rows of different lengths
        raise InputError("the rows of the matrix have different lengths") from error
    if matrix.ndim != 2 or matrix.dtype.kind not in "iufb":
        raise InputError(
            "leave-one-out needs a matrix of numbers, users by items",
            found=f"shape {matrix.shape}, {matrix.dtype}",
        )
    if np.isnan(matrix.data if sparse else matrix).any():
        raise InputError("the matrix holds NaN", hint="what is not an interaction is 0")
    if sparse:
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    counts = np.diff(matrix.indptr) if sparse else (matrix != 0).sum(axis=1)
    if not (counts > 1).any():
        raise EmptyError("no user has two items, so none can be left out", where="matrix")
    return _leave_out(matrix, np.flatnonzero(counts > 1), int(seed), sparse=sparse)


def _leave_out(
    matrix: Any, users: Any, seed: int, *, sparse: bool
) -> Iterator[tuple[Any, int, int]]:
    for user in users.tolist():
        rng = np.random.default_rng([seed & (2**64 - 1), user])
        train = matrix.copy()
        if sparse:
            first, last = matrix.indptr[user], matrix.indptr[user + 1]
            entry = first + int(rng.integers(last - first))
            item = int(matrix.indices[entry])
            train.data[entry] = 0
            train.eliminate_zeros()
        else:
            items = np.flatnonzero(matrix[user])
            item = int(items[rng.integers(len(items))])
            train[user, item] = 0
        yield train, user, item
