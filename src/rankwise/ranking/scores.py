"""Sources of scores: a score matrix, factors, or a function; always read in blocks of users."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from rankwise.core.ragged import Ints
from rankwise.errors import InputError, ParameterError, ScoreError

__all__ = ["PAD", "ROWS", "Computed", "Factors", "Floats", "Matrix", "Scores", "open_scores", "rounded_up"]

Floats: TypeAlias = np.ndarray[Any, np.dtype[np.floating[Any]]]

PAD, ROWS = 64, 48
"""Blocks are padded to multiples of these numbers of items and users: the panels of BLAS have sides
that divide them, so that all blocks, of any size, are multiplied in the same way. Within a panel
OpenBLAS may still sum float32 products in another order from row to row; no difference was observed
in float64."""


class Scores(ABC):
    """A score for every user and item, computed on request, in the precision of the input."""

    n_users: int
    n_items: int
    dtype: np.dtype[np.floating[Any]]

    @abstractmethod
    def fill(self, users: Ints, out: Floats) -> None:
        """Write the scores of B users into ``out``, shape (at least B, at least I).

        Cells of ``out`` beyond the users and the items are undefined afterwards.
        """

    @abstractmethod
    def pairs(self, users: Ints, items: Ints) -> Floats:
        """Return the score of each user-item pair, shape (n,)."""

    @abstractmethod
    def subset(self, items: Ints) -> Scores:
        """Return the scores of the given items, in their order."""


class Matrix(Scores):
    """A score matrix, users by items; minus infinity excludes an item from the candidate set."""

    def __init__(self, values: np.ndarray[Any, Any]) -> None:
        self.values = values
        self.n_users, self.n_items = values.shape
        self.dtype = _float_type(values)

    def fill(self, users: Ints, out: Floats) -> None:
        """Copy rows, as floats."""
        out[: len(users), : self.n_items] = self.values[users]

    def pairs(self, users: Ints, items: Ints) -> Floats:
        """Look up cells."""
        return self.values[users, items].astype(self.dtype)

    def subset(self, items: Ints) -> Matrix:
        """Copy columns."""
        return Matrix(self.values[:, items])


class Factors(Scores):
    """User factors times item factors, with an optional bias per item.

    The bias is one more dimension, in which every user has 1: this saves a pass over the scores.
    """

    def __init__(self, users: Floats, items: Floats, bias: Floats | None = None) -> None:
        arrays = [users, items, *([] if bias is None else [bias])]
        self.dtype = np.result_type(*(_float_type(values) for values in arrays))
        if bias is not None:
            items = np.column_stack([items, bias])
        self._has_bias = bias is not None
        self.n_users, self.n_items = len(users), len(items)
        self._users = users
        self._items = _padded(items.astype(self.dtype, copy=False), rounded_up(self.n_items, PAD))

    def fill(self, users: Ints, out: Floats) -> None:
        """Multiply the factors of these users by those of all items."""
        factors = _padded(self._user_factors(users), len(out))
        np.matmul(factors, self._items.T, out=out[:, : len(self._items)])

    def pairs(self, users: Ints, items: Ints) -> Floats:
        """Multiply pair by pair."""
        return np.asarray(np.einsum("nd,nd->n", self._user_factors(users), self._items[items]))

    def subset(self, items: Ints) -> Factors:
        """Copy the factors of these items."""
        out = Factors.__new__(Factors)
        out.dtype, out._has_bias, out._users = self.dtype, self._has_bias, self._users
        out.n_users, out.n_items = self.n_users, len(items)
        out._items = _padded(self._items[items], rounded_up(len(items), PAD))
        return out

    def _user_factors(self, users: Ints) -> Floats:
        factors = self._users[users].astype(self.dtype, copy=False)
        if not self._has_bias:
            return factors
        return np.column_stack([factors, np.ones(len(factors), self.dtype)])


class Computed(Scores):
    """Scores from a function of at most ``batch_size`` user codes, which returns shape (B, I)."""

    def __init__(self, function: Callable[[Ints], Floats], n_users: int, n_items: int, batch_size: int) -> None:
        self.function, self.batch_size = function, batch_size
        self.n_users, self.n_items, self.dtype = n_users, n_items, np.dtype(np.float64)

    def fill(self, users: Ints, out: Floats) -> None:
        """Call the function."""
        for first in range(0, len(users), self.batch_size):
            batch = users[first : first + self.batch_size]
            out[first : first + len(batch), : self.n_items] = self.function(batch)

    def pairs(self, users: Ints, items: Ints) -> Floats:
        """Call the function once per user, and look up cells."""
        distinct, row = np.unique(users, return_inverse=True)
        values = np.empty(len(users))
        for first in range(0, len(distinct), self.batch_size):
            scores = self.function(distinct[first : first + self.batch_size])
            pairs = np.flatnonzero((row >= first) & (row < first + self.batch_size))
            values[pairs] = scores[row[pairs] - first, items[pairs]]
        return values

    def subset(self, items: Ints) -> Computed:
        """Look up columns of what the function returns."""
        return Computed(lambda users: self.function(users)[:, items], self.n_users, len(items), self.batch_size)


def open_scores(scores: Any, users: Any, items: Any, bias: Any) -> Scores:
    """Return scores from a score matrix, or from user and item factors with an optional bias."""
    if isinstance(scores, Scores):
        return scores
    given = {"scores": scores is not None, "users": users is not None, "items": items is not None}
    if list(given.values()) not in ([True, False, False], [False, True, True]):
        raise ParameterError(
            "pass either scores, users by items, or the factors users= and items=",
            found=", ".join(f"{name} {'' if here else 'not '}given" for name, here in given.items()),
        )
    if scores is not None:
        if bias is not None:
            raise ParameterError("bias= goes with factors; add it to the scores yourself")
        return Matrix(_array("scores", scores, 2))
    user, item = _array("users", users, 2), _array("items", items, 2)
    if user.shape[1] != item.shape[1]:
        raise InputError(
            "factors of users and items have different lengths",
            found=f"users {user.shape}, items {item.shape}",
            hint="both have one row per user or item, and one column per dimension",
        )
    item_bias = None if bias is None else _array("bias", bias, 1)
    if item_bias is not None and len(item_bias) != len(item):
        raise InputError("bias has one value per item", found=f"{len(item_bias)} values, {len(item)} items")
    for name, values in (("users", user), ("items", item), ("bias", item_bias)):
        if values is not None:
            _check_finite(name, values)
    source = Factors(user, item, item_bias)
    _check_size(user, item, item_bias, source.dtype)
    return source


def _array(name: str, values: Any, dimensions: int) -> np.ndarray[Any, Any]:
    """Return dense numbers of so many dimensions; raise for anything else."""
    if hasattr(values, "tocoo"):
        raise InputError(
            f"{name}: a sparse matrix does not hold a score for every item",
            hint="pass it to rw.evaluate as it is, or a dense matrix here",
        )
    if isinstance(values, np.ma.MaskedArray):
        raise InputError(f"{name}: a masked array is not supported", hint="replace masked scores with minus infinity")
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:  # RuntimeError: a tensor with gradients
        raise InputError(f"{name} is not an array", found=str(error).splitlines()[0]) from error
    if array.dtype.kind not in "fiub" or array.ndim != dimensions or 0 in array.shape:
        shapes = {"scores": "(n_users, n_items)", "bias": "(n_items,)"}
        raise InputError(
            f"{name} must be numbers of shape {shapes.get(name, '(n, d)')}",
            found=f"{array.dtype} of shape {array.shape}",
        )
    if array.dtype.kind in "iu" and not _is_exact(array):
        raise ScoreError(
            f"{name}: whole numbers are too large to be told apart as floats",
            found=f"up to {array.max()}, above 2^53",
            hint="subtract the smallest from all",
        )
    return array


def _is_exact(array: np.ndarray[Any, Any]) -> bool:
    """Return whether whole numbers keep all digits as floats."""
    if int(array.min()) >= -(2**53) and int(array.max()) <= 2**53:
        return True
    return bool((array.astype(np.float64).astype(np.longdouble) == array).all())


def _float_type(values: np.ndarray[Any, Any]) -> np.dtype[Any]:
    """Return the float type for computing with these values: float32 for float16 and float32."""
    small = values.dtype in (np.float16, np.float32)
    return np.dtype(np.float32 if small else np.float64)


def _check_size(user: Floats, item: Floats, bias: Floats | None, dtype: np.dtype[Any]) -> None:
    """Raise if a product could overflow: minus infinity would exclude the item."""
    largest = [float(np.abs(values).max()) for values in (user, item)]
    bound = largest[0] * largest[1] * user.shape[1]
    bound += 0.0 if bias is None else float(np.abs(bias).max())
    if bound >= float(np.finfo(dtype).max):
        raise ScoreError(
            "the products of these factors may be too large for their kind of float",
            found=f"{dtype} numbers up to {max(largest):g}",
            hint="scale the factors down, or pass them as float64",
        )


def _check_finite(name: str, values: Floats) -> None:
    bad = ~np.isfinite(values)
    if bad.any():
        row = int(np.argwhere(bad)[0][0])
        raise ScoreError(
            f"{name} holds a number that is NaN or infinite",
            where=f"{name}, row {row}",
            found=f"{values[bad][0]} ({int(bad.sum())} such numbers)",
            hint="find out why the model gives no number",
        )


def rounded_up(size: int, step: int) -> int:
    """Return the smallest multiple of ``step`` that is at least ``size``."""
    return -(-size // step) * step


def _padded(values: Floats, rows: int) -> Floats:
    """Return a contiguous array of so many rows, with zeros appended."""
    if len(values) == rows:
        return np.ascontiguousarray(values)
    out = np.zeros((rows, values.shape[1]), dtype=values.dtype)
    out[: len(values)] = values
    return out
