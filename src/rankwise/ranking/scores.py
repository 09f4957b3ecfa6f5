"""Where scores come from: a matrix, factors, or a function; always a block of users at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from rankwise.errors import InputError, ParameterError, ScoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankwise.core.segments import Ints

__all__ = ["PAD", "ROWS", "Computed", "Factors", "Floats", "Matrix", "Scores", "open_scores",
           "rounded_up"]  # fmt: skip

Floats: TypeAlias = np.ndarray[Any, np.dtype[np.floating[Any]]]

PAD, ROWS = 64, 48
"""Blocks hold a multiple of so many items and of so many users: BLAS works on panels whose sides
divide these, so that no block is worked on otherwise than the others, whatever its size. Inside a
panel OpenBLAS may still sum float32 products in another order from row to row; float64 was not
seen to differ."""


class Scores(ABC):
    """A score for every user and item, worked out when asked for.

    Attributes
    ----------
    n_users, n_items : int
        The shape of the matrix that is never made.
    dtype : numpy.dtype
        float32 or float64: scores keep the precision that they came in.
    """

    n_users: int
    n_items: int
    dtype: np.dtype[np.floating[Any]]

    @abstractmethod
    def fill(self, users: Ints, out: Floats) -> None:
        """Write the scores of some users into ``out``, shape (at least B, at least I).

        What lies beyond the users and the items may hold anything afterwards.
        """

    @abstractmethod
    def pairs(self, users: Ints, items: Ints) -> Floats:
        """Return the score of each pair of user and item, shape (n,)."""

    @abstractmethod
    def only(self, items: Ints) -> Scores:
        """Return the scores of some items alone."""


class Matrix(Scores):
    """A matrix of scores, users by items; minus infinity marks what is no candidate."""

    def __init__(self, values: np.ndarray[Any, Any]) -> None:
        self.values = values
        self.n_users, self.n_items = values.shape
        self.dtype = _floating(values)

    def fill(self, users: Ints, out: Floats) -> None:
        """Copy rows, as floats."""
        out[: len(users), : self.n_items] = self.values[users]

    def pairs(self, users: Ints, items: Ints) -> Floats:
        """Look up cells."""
        return self.values[users, items].astype(self.dtype)

    def only(self, items: Ints) -> Matrix:
        """Copy columns."""
        return Matrix(self.values[:, items])


class Factors(Scores):
    """Users' factors times items' factors, with an optional bias for each item.

    The bias is one more dimension, in which every user has 1: no further pass over the scores.
    """

    def __init__(self, users: Floats, items: Floats, bias: Floats | None = None) -> None:
        given = [users, items, *([] if bias is None else [bias])]
        self.dtype = np.result_type(*(_floating(values) for values in given))
        if bias is not None:
            items = np.column_stack([items, bias])
        self._ones = bias is not None
        self.n_users, self.n_items = len(users), len(items)
        self._users = users
        self._items = _padded(items.astype(self.dtype, copy=False), rounded_up(self.n_items, PAD))

    def fill(self, users: Ints, out: Floats) -> None:
        """Multiply."""
        own = _padded(self._of(users), len(out))
        np.matmul(own, self._items.T, out=out[:, : len(self._items)])

    def pairs(self, users: Ints, items: Ints) -> Floats:
        """Multiply pair by pair."""
        return np.asarray(np.einsum("nd,nd->n", self._of(users), self._items[items]))

    def only(self, items: Ints) -> Factors:
        """Copy the factors of these items."""
        out = Factors.__new__(Factors)
        out.dtype, out._ones, out._users = self.dtype, self._ones, self._users
        out.n_users, out.n_items = self.n_users, len(items)
        out._items = _padded(self._items[items], rounded_up(len(items), PAD))
        return out

    def _of(self, users: Ints) -> Floats:
        own = self._users[users].astype(self.dtype, copy=False)
        return np.column_stack([own, np.ones(len(own), self.dtype)]) if self._ones else own


class Computed(Scores):
    """Scores that a function gives, for at most ``most`` users at a time, shape (B, I)."""

    def __init__(
        self, function: Callable[[Ints], Floats], n_users: int, n_items: int, most: int
    ) -> None:
        self.function, self.most = function, most
        self.n_users, self.n_items, self.dtype = n_users, n_items, np.dtype(np.float64)

    def fill(self, users: Ints, out: Floats) -> None:
        """Call the function."""
        for first in range(0, len(users), self.most):
            some = users[first : first + self.most]
            out[first : first + len(some), : self.n_items] = self.function(some)

    def pairs(self, users: Ints, items: Ints) -> Floats:
        """Call the function for each user once, and look cells up."""
        everyone, row = np.unique(users, return_inverse=True)
        found = np.empty(len(users))
        for first in range(0, len(everyone), self.most):
            scores = self.function(everyone[first : first + self.most])
            near = np.flatnonzero((row >= first) & (row < first + self.most))
            found[near] = scores[row[near] - first, items[near]]
        return found

    def only(self, items: Ints) -> Computed:
        """Look columns up."""
        return Computed(lambda u: self.function(u)[:, items], self.n_users, len(items), self.most)


def open_scores(scores: Any, users: Any, items: Any, bias: Any) -> Scores:
    """Take a matrix, or factors of users and items with an optional bias of items.

    Raises
    ------
    ParameterError
        If neither or both are given.
    InputError
        If shapes do not fit, or a factor is NaN or infinite.
    """
    factors = {"users": users, "items": items}
    missing = [name for name, value in factors.items() if value is None]
    if isinstance(scores, Scores):
        return scores
    if (scores is None) == bool(missing) or (scores is not None and len(missing) < 2):
        raise ParameterError(
            "pass either scores, users by items, or the factors users= and items=",
            found=f"scores {'not given' if scores is None else 'given'}, "
            + ", ".join(
                f"{name} {'not ' if v is None else ''}given" for name, v in factors.items()
            ),
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
            hint="both have a row each and a column a dimension",
        )
    own = None if bias is None else _array("bias", bias, 1)
    if own is not None and len(own) != len(item):
        raise InputError(
            "bias has one value an item", found=f"{len(own)} values, {len(item)} items"
        )
    for name, values in (("users", user), ("items", item), ("bias", own)):
        if values is not None:
            _check_finite(name, values)
    made = Factors(user, item, own)
    _check_size(user, item, own, made.dtype)
    return made


def _array(name: str, values: Any, dimensions: int) -> np.ndarray[Any, Any]:
    if hasattr(values, "tocoo"):
        raise InputError(
            f"{name}: a sparse matrix does not hold a score for every item",
            hint="pass it to rw.evaluate as it is, or a dense matrix here",
        )
    if isinstance(values, np.ma.MaskedArray):
        raise InputError(f"{name}: masks are not looked at",
                         hint="fill what is masked with minus infinity")  # fmt: skip
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:  # RuntimeError: a tensor with gradients
        raise InputError(f"{name} is not an array", found=str(error).splitlines()[0]) from error
    if array.dtype.kind not in "fiub" or array.ndim != dimensions or 0 in array.shape:
        raise InputError(
            f"{name} must be numbers of shape "
            + {2: "(n_users, n_items)" if name == "scores" else "(n, d)", 1: "(n_items,)"}[
                dimensions
            ],
            found=f"{array.dtype} of shape {array.shape}",
        )
    return array


def _floating(values: np.ndarray[Any, Any]) -> np.dtype[Any]:
    """Return the kind of float that values are worked with in."""
    small = values.dtype in (np.float16, np.float32)
    return np.dtype(np.float32 if small else np.float64)


def _check_size(user: Floats, item: Floats, bias: Floats | None, dtype: np.dtype[Any]) -> None:
    """Raise if a product could pass the largest float: minus infinity would mean no candidate."""
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
    """Round up to whole steps."""
    return -(-size // step) * step


def _padded(values: Floats, rows: int) -> Floats:
    """Add rows of zeros."""
    if len(values) == rows:
        return np.ascontiguousarray(values)
    out = np.zeros((rows, values.shape[1]), dtype=values.dtype)
    out[: len(values)] = values
    return out
