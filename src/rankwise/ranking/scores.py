"""Sources of scores: a score matrix, factors or a function, with the ids of users and items.

Blocks hold a multiple of the users and items that BLAS processes at a time, so that all blocks are
computed alike. In float32 OpenBLAS still sums in a different order from row to row: items of equal
factors are certain to tie only in float64.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from rankwise.core.arguments import bounded
from rankwise.core.arrays import is_masked
from rankwise.core.ragged import Ints
from rankwise.core.texts import plain_strings
from rankwise.core.vocabularies import ascending_ranks, whole_numbers
from rankwise.errors import IdError, InputError, ParameterError, ScoreError
from rankwise.messages import call, parameter
from rankwise.tables.columns import names_of, plain_name
from rankwise.tables.containers import has_labels, is_frame, is_series, refuse_frame
from rankwise.tables.frames import parse_integers
from rankwise.tables.ids import align
from rankwise.tables.table import Table


class Labelled(NamedTuple):
    """A score matrix, and the ids of its rows and columns; None where they are numbered."""

    scores: Any
    user_ids: Any = None
    item_ids: Any = None


def read_labels(scores: Any, user_ids: Any, item_ids: Any) -> Labelled:
    """Return scores with the ids that label them, unless the caller names ids.

    A frame of Polars or pandas has one column per item, called by its id; users are a column called
    like one, or the index of pandas.
    """
    library = _library(scores, "scores")
    if library is None:
        return Labelled(scores, user_ids, item_ids)
    names = list(scores.columns)
    users = _id_columns(scores, "user")
    if users and _id_columns(scores, "item"):
        raise InputError(
            "scores: this table has one row per user and item, and is not a score matrix",
            found=f"columns {', '.join(map(repr, names[:5]))}",
            hint=f"pass it to {call('evaluate')} as it is, or a frame with one column per item "
            "here",
        )
    scores, rows = read_factor_labels(scores, None, "user", as_array=False)
    columns: Any = list(scores.columns)
    if library == "polars":  # its names are text, also where ids are numbers
        ids = parse_integers(pl.DataFrame({"item": pl.Series(columns, dtype=pl.String)}), ["item"])
        made_up = [f"column_{number}" for number in range(len(columns))]
        columns = None if columns == made_up else ids["item"]
    elif _counts_rows(scores.columns):
        columns = None
    return Labelled(
        _to_array(scores),
        rows if user_ids is None else user_ids,
        columns if item_ids is None else item_ids,
    )


def read_factor_labels(
    factors: Any, ids: Any, role: Literal["user", "item"], *, as_array: bool = True
) -> tuple[Any, Any]:
    """Return factors, one row per user or item, without their labels; and the ids that label rows.

    Labels are a column called like the ids, or the index of pandas; ids that are given come first.
    """
    library = _library(factors, f"{role}s")
    if library is None:
        return factors, ids
    rows: Any = None
    named = _id_columns(factors, role)
    if named:
        rows = list(factors[named[0]])
        factors = factors.drop(named[0]) if library == "polars" else factors.drop(columns=named[0])
    elif library == "pandas" and not _counts_rows(factors.index):
        rows = list(factors.index)
    return _to_array(factors) if as_array else factors, rows if ids is None else ids


def _to_array(frame: Any) -> Any:
    """Return a frame as an array, with floats where pandas keeps numbers in a type of its own."""
    values = frame.to_numpy()
    if values.dtype == object:
        with suppress(TypeError, ValueError):  # what is no number is refused as such
            return frame.astype("float64").to_numpy()
    return values


def _library(source: Any, where: str) -> str | None:
    """Return the library of a frame, None for arrays; raise if labels would be lost."""
    library = type(source).__module__.split(".")[0]
    if type(source).__name__ == "DataFrame" and library in ("polars", "pandas"):
        return library
    refuse_frame(source, where)
    if is_frame(source):
        raise InputError(
            f"{where}: labels are read from frames of Polars and pandas",
            found=f"{type(source).__module__}.{type(source).__qualname__}",
            hint="pass pl.DataFrame(source)",
        )
    if isinstance(source, np.ndarray) and source.dtype.names:
        raise InputError(
            f"{where}: a structured array has no rows of numbers",
            found=f"fields {', '.join(map(repr, source.dtype.names[:5]))}",
            hint="pass pl.DataFrame(array), whose columns are items, or a plain array",
        )
    return None


def _id_columns(frame: Any, role: Literal["user", "item"]) -> list[str]:
    """Return the columns named like ids; names of one or two letters are taken as items."""
    names = [name for name in frame.columns if isinstance(name, str) and len(plain_name(name)) > 2]
    return names_of(names, "users" if role == "user" else "items", role)


def _counts_rows(index: Any) -> bool:
    """Return whether labels of pandas are the numbers from 0."""
    return list(index) == list(range(len(index)))


Floats: TypeAlias = np.ndarray[Any, np.dtype[np.floating[Any]]]

PAD, ROWS = 64, 48
"""Blocks are padded to multiples of these numbers of items and users: the panels of BLAS have sides
that divide them, so that all blocks, of any size, are multiplied in the same way. Within a panel
OpenBLAS may still sum float32 products in another order from row to row; no difference was observed
in float64."""
_BFLOAT16 = np.dtype([("bfloat16", np.uint16)])
"""Numbers that NumPy lacks: the upper half of a float32. They stay as they are until a block is computed."""
_CHECKED = 1 << 14  # rows that are checked together


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
        out[: len(users), : self.n_items] = _as_floats(self.values[users], self.dtype)

    def pairs(self, users: Ints, items: Ints) -> Floats:
        """Look up cells."""
        return _as_floats(self.values[users, items], self.dtype)

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
        items = _as_floats(items, self.dtype)
        if bias is not None:
            items = np.column_stack([items, _as_floats(bias, self.dtype)])
        self._has_bias = bias is not None
        self.n_users, self.n_items = len(users), len(items)
        self._users = users
        self._items = _padded(items, rounded_up(self.n_items, PAD))

    def fill(self, users: Ints, out: Floats) -> None:
        """Multiply the factors of these users by the factors of all items."""
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
        factors = _as_floats(self._users[users], self.dtype)
        if not self._has_bias:
            return factors
        return np.column_stack([factors, np.ones(len(factors), self.dtype)])


class Computed(Scores):
    """Scores from a function of at most ``batch_size`` user codes, which returns shape (B, I)."""

    def __init__(
        self, function: Callable[[Ints], Floats], n_users: int, n_items: int, batch_size: int
    ) -> None:
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
        """Select columns of the function's scores."""
        return Computed(
            lambda users: self.function(users)[:, items], self.n_users, len(items), self.batch_size
        )


def open_scores(scores: Any, users: Any, items: Any, bias: Any) -> Scores:
    """Return scores from a score matrix, or from user and item factors with an optional bias."""
    if isinstance(scores, Scores):
        return scores
    sources = {"scores": scores, "users": users, "items": items}
    is_passed = {name: source is not None for name, source in sources.items()}
    if list(is_passed.values()) not in ([True, False, False], [False, True, True]):
        raise ParameterError(
            f"pass either scores, users by items, or the factors {parameter('users')} and "
            f"{parameter('items')}",
            found=", ".join(
                f"{name} {'' if passed else 'not '}given" for name, passed in is_passed.items()
            ),
        )
    if scores is None:
        return _open_factors(users, items, bias)
    if bias is not None:
        raise ParameterError(
            f"{parameter('bias')} goes with factors; add it to the scores yourself"
        )
    return Matrix(_array("scores", scores, 2))


def _open_factors(users: Any, items: Any, bias: Any) -> Factors:
    """Return factors, with an optional bias of the items; raise if their shapes do not fit."""
    user, item = _array("users", users, 2), _array("items", items, 2)
    if user.shape[1] != item.shape[1]:
        raise InputError(
            "factors of users and items have different lengths",
            found=f"users {user.shape}, items {item.shape}",
            hint="both have one row per user or item, and one column per dimension",
        )
    if is_series(type(bias)) and has_labels(bias):
        raise InputError(
            "bias: the labels of a series are not read",
            found=f"labels {', '.join(map(repr, bias.index.to_list()[:5]))}",
            hint="bring it into the order of the items: bias.loc[item_ids].to_numpy()",
        )
    item_bias = None if bias is None else _array("bias", bias, 1)
    if item_bias is not None and len(item_bias) != len(item):
        raise InputError(
            "bias has one value per item", found=f"{len(item_bias)} values, {len(item)} items"
        )
    factors = Factors(user, item, item_bias)
    _check_size(user, item, item_bias, factors.dtype)
    return factors


def _array(name: str, values: Any, dimensions: int) -> np.ndarray[Any, Any]:
    """Return dense numbers of so many dimensions; raise for anything else."""
    if hasattr(values, "tocoo"):
        raise InputError(
            f"{name}: a sparse matrix does not hold a score for every item",
            hint=f"pass it to {call('evaluate')} as it is, or a dense matrix here",
        )
    if is_masked(values):
        raise InputError(
            f"{name}: a masked array is not supported",
            hint="replace masked scores with minus infinity",
        )
    try:
        array = np.asarray(_bits(values))
    except (TypeError, ValueError, RuntimeError) as error:  # RuntimeError: a tensor with gradients
        raise InputError(f"{name} is not an array", found=str(error).splitlines()[0]) from error
    is_number = array.dtype.kind in "fiub" or array.dtype == _BFLOAT16
    if not is_number or array.ndim != dimensions or 0 in array.shape:
        shapes = {"scores": "(n_users, n_items)", "bias": "(n_items,)"}
        raise InputError(
            f"{name} must be numbers of shape {shapes.get(name, '(n, d)')}",
            found=f"{'bfloat16' if array.dtype == _BFLOAT16 else array.dtype} of shape "
            f"{array.shape}",
        )
    if array.dtype.kind in "iu" and not _is_exact(array):
        raise ScoreError(
            f"{name}: whole numbers are too large to be told apart as floats",
            found=f"up to {array.max()}, above 2^53",
            hint="subtract the smallest from all",
        )
    return array


def _bits(values: Any) -> Any:
    """Return bfloat16 numbers of PyTorch or ml_dtypes as their bits; else the values as given."""
    kind = str(getattr(values, "dtype", ""))
    if (
        kind == "torch.bfloat16"
        and str(values.layout) == "torch.strided"
        and values.ndim
        and not values.requires_grad
    ):
        return values.view(values[:0].short().dtype).numpy().view(_BFLOAT16)
    return values.view(_BFLOAT16) if kind == "bfloat16" else values


def _as_floats(values: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> Floats:
    """Return numbers as floats of a type."""
    if values.dtype == _BFLOAT16:
        values = (values["bfloat16"].astype(np.uint32) << 16).view(np.float32)
    return values.astype(dtype, copy=False)


def _is_exact(array: np.ndarray[Any, Any]) -> bool:
    """Return whether whole numbers keep all digits as floats."""
    if int(array.min()) >= -(2**53) and int(array.max()) <= 2**53:
        return True
    return bool((array.astype(np.float64).astype(np.longdouble) == array).all())


def _float_type(values: np.ndarray[Any, Any]) -> np.dtype[Any]:
    """Return the float type for computing with these values: float32 for float16 and float32."""
    small = values.dtype in (np.float16, np.float32, _BFLOAT16)
    return np.dtype(np.float32 if small else np.float64)


def _check_size(user: Floats, item: Floats, bias: Floats | None, dtype: np.dtype[Any]) -> None:
    """Raise if a number is not finite, or a product could overflow and exclude the item."""
    arrays = {"users": user, "items": item, **({} if bias is None else {"bias": bias})}
    largest = {name: _largest(name, values) for name, values in arrays.items()}
    bound = largest["users"] * largest["items"] * user.shape[1] + largest.get("bias", 0.0)
    if bound >= float(np.finfo(dtype).max):
        raise ScoreError(
            "the products of these factors may be too large for their kind of float",
            found=f"{dtype} numbers up to {max(largest['users'], largest['items']):g}",
            hint="scale the factors down, or pass them as float64",
        )


def _largest(name: str, values: Floats) -> float:
    """Return the largest number without its sign; raise if one is not finite."""
    largest = 0.0
    for first in range(0, len(values), _CHECKED):
        part = _as_floats(values[first : first + _CHECKED], _float_type(values))
        largest = max(largest, -float(part.min()), float(part.max()))
        bad = ~np.isfinite(part)
        if bad.any():
            row = first + int(np.argwhere(bad)[0][0])
            everywhere = ~np.isfinite(_as_floats(values, _float_type(values)))
            raise ScoreError(
                f"{name} holds a number that is NaN or infinite",
                where=f"{name}, row {row}",
                found=f"{part[bad][0]} ({int(everywhere.sum())} such numbers)",
                hint="find out why the model gives no number",
            )
    return largest


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


class Axis:
    """The ids along one axis of a score matrix, in order; by default the numbers from 0.

    >>> Axis("item", ["b", "a"], 2).ids.to_list()
    ['b', 'a']
    """

    def __init__(self, role: Literal["user", "item"], ids: Iterable[Any] | None, size: int) -> None:
        self.role = role
        self.numbered = ids is None
        name = f"{role}_ids"
        self.ids = pl.Series(role, np.arange(size)) if ids is None else read_ids(role, ids, name)
        if len(self.ids) != size:
            raise ParameterError(
                f"{name} must have one id for every {role} with scores",
                found=f"{len(self.ids)} ids, {size} {role}s",
            )
        if self.ids.n_unique() < size:
            raise IdError(
                f"two {role}s have the same id",
                where=name,
                found=repr(self.ids.filter(self.ids.is_duplicated())[0]),
            )

    def codes(self, table: Table) -> Ints:
        """Return the position on this axis of the id in each table row, -1 for an unknown id.

        A negative id where ids are numbers from 0 raises: it is padding, in most cases.
        """
        ids = table.frame[self.role]
        if self.numbered and ids.dtype.is_integer():
            codes = whole_numbers(ids).to_numpy()
            # Viewed as unsigned, negative numbers are huge: one pass checks both bounds.
            if not len(codes) or codes.view(np.uint64).max() < len(self.ids):
                return codes
            if codes.min() < 0:
                row = int(np.argmax(codes < 0))
                raise IdError(
                    f"{self.role}s are numbers from 0, and a code is negative",
                    where=f"{table.source}, row {row + 1}",
                    found=f"{codes[row]} ({int((codes < 0).sum())} such rows)",
                    hint=f"drop padding, or name the rows and columns with "
                    f"{parameter('user_ids')} and {parameter('item_ids')}",
                )
            return np.where(codes < len(self.ids), codes, -1)
        if self.numbered and not table.is_text:
            raise IdError(
                f"{self.role}s of the scores are numbered from 0, but these ids are not numbers",
                where=table.source,
                found=repr(ids[0]) if len(ids) else str(ids.dtype),
                hint=f"pass {parameter(f'{self.role}_ids')}, the ids of rows and columns in order"
                + (f" (to evaluate_model: {parameter('items')})" if self.role == "item" else ""),
            )
        axis = Table(self.ids.to_frame(), "items", f"{self.role}_ids", "ids", {})
        rows = align([axis, table], self.role)[1].frame.select(self.role).with_row_index("row")
        codes_of_ids = pl.DataFrame({self.role: self.ids, "code": np.arange(len(self.ids))})
        if self.ids.dtype != pl.String:
            rows = rows.with_columns(whole_numbers(rows[self.role]))
            codes_of_ids = codes_of_ids.with_columns(whole_numbers(self.ids))
        matched = rows.join(codes_of_ids, on=self.role, how="inner")
        codes = np.full(len(ids), -1, dtype=np.int64)
        codes[matched["row"].to_numpy()] = matched["code"].to_numpy()
        return codes

    @cached_property
    def id_rank(self) -> Ints | None:
        """The rank of each code's id among the sorted ids; None if codes are already sorted."""
        return _ranks(self.ids)

    @property
    def text_rank(self) -> Ints | None:
        """The same with ids sorted as text."""
        return _ranks(self.ids.cast(pl.String))

    def subset(self, codes: Ints) -> Axis:
        """Return the axis of the given rows or columns."""
        return Axis(self.role, self.ids.gather(codes), len(codes))


def _ranks(ids: pl.Series) -> Ints | None:
    return None if ids.is_sorted() else ascending_ranks(ids)


def read_ids(role: str, ids: Iterable[Any], where: str) -> pl.Series:
    """Return ids as a series of integers or strings; raise if they are neither or mixed."""
    try:
        not_ids = isinstance(ids, str | bytes | pl.DataFrame)
        is_column = isinstance(ids, pl.Series) or hasattr(ids, "__arrow_c_array__")
        is_column = is_column or hasattr(ids, "__arrow_c_stream__")
        values = [None] if not_ids else ids if is_column else bounded(where, ids)
        series = pl.Series(role, values, strict=True)
    except (TypeError, OverflowError, pl.exceptions.PolarsError):
        series = pl.Series(role, [None])
    if not len(series):
        series = series.cast(pl.Int64)
    series = plain_strings(series)
    if series.null_count() or not (series.dtype.is_integer() or series.dtype == pl.String):
        raise IdError(
            "ids are integers or strings, and all of one kind", where=where, found=str(series.dtype)
        )
    return series.alias(role)
