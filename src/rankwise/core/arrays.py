"""Array functions for NumPy and PyTorch, sparse matrices, and exact sums of floats.

Metrics are written against the array API standard, so that the same code runs on NumPy and on
PyTorch.

An accelerator works asynchronously: reading a value (``int``, ``bool``, the size of a selection)
waits until all previous work is done. Functions that read values do so only for NumPy
(`is_tensor`), and checks of values wait until the end of a block (`check_none`, `checks_at_end`).

Sums of floats do not depend on the order of their terms. Users come in blocks, in pieces and from
several machines, and floats added in another order give another last digit. Sums over users that
are kept for every item are therefore sums of whole numbers: a value is split into its whole part,
multiples of 2^-26 and multiples of 2^-52, and each of the three is summed exactly. The error is at
most 2^-53 per term.

This is pre-rounding as in Demmel & Nguyen 2015, Parallel Reproducible Summation, IEEE Trans.
Computers 64(7), with fixed bit positions instead of positions chosen from the data.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self, TypeAlias

import array_api_compat
import numpy as np

from rankwise.core import kernels
from rankwise.errors import InputError, ScoreError

_UNIT = 1074  # every float is a whole multiple of 2^-1074
_CHUNK = 1 << 14  # values per step: few enough to stay in the cache
_CARRY = 15  # log2(2 * _CHUNK): room above the largest value for a sum without rounding
_MANTISSA = 53  # bits of a float
_LARGEST = 1000  # exponents from which that room does not fit in a float


@dataclass(frozen=True)
class ExactTotal:
    """An unrounded sum of floats, so that sums of shares add up exactly.

    Attributes
    ----------
    units : int, default=0
        The sum of the finite terms, in multiples of 2^-1074.
    beyond : float, default=0.0
        The sum of the other terms: infinite, or NaN.

    Examples
    --------
    >>> values = np.array([1e100, 1.0, -1e100])
    >>> ExactTotal.of(values).value, float(values.sum())
    (1.0, 0.0)
    >>> here, there = ExactTotal.of(values[:1]), ExactTotal.of(values[1:])
    >>> here + there == ExactTotal.of(values)
    True
    """

    units: int = 0
    beyond: float = 0.0

    @classmethod
    def of(cls, values: Any) -> Self:
        """Return the sum of an array, shape (n,), of numbers."""
        array = np.asarray(values, dtype=np.float64)
        few = kernels.exact_parts(array)
        if few is not None:
            return cls(sum(map(_units, few)))
        finite = np.isfinite(array)
        beyond = 0.0
        if not finite.all():
            with np.errstate(invalid="ignore"):  # infinities of both signs have no sum
                beyond = float(np.sum(array[~finite]))
            array = array[finite]
        chunks = (array[start : start + _CHUNK] for start in range(0, len(array), _CHUNK))
        return cls(sum(_units(part) for chunk in chunks for part in _exact_parts(chunk)), beyond)

    @classmethod
    def of_known(cls, values: Any) -> tuple[Self, int]:
        """Return the sum of the numbers of an array, shape (n,), that are not NaN, and their count.

        >>> total, count = ExactTotal.of_known(np.array([0.5, np.nan, 2.0]))
        >>> total.value, count
        (2.5, 2)
        """
        array = np.asarray(values, dtype=np.float64)
        few = kernels.exact_parts(array)  # where it succeeds, no number is NaN
        if few is not None:
            return cls(sum(map(_units, few))), len(array)
        known = array[~np.isnan(array)]
        return cls.of(known), len(known)

    @classmethod
    def of_products(cls, left: Any, right: Any) -> ExactTotal:
        """Return the sum of the products of two arrays, shape (n,), none of which is rounded.

        A product is the sum of its rounded value and of what rounding took away, which is a float
        as well (Dekker 1971, A Floating-Point Technique for Extending the Available Precision).

        >>> ExactTotal.of_products(np.array([1e8 + 1]), np.array([1e8 - 1])).value
        9999999999999999.0
        """
        a, b = (np.asarray(values, dtype=np.float64) for values in (left, right))
        product = a * b
        (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
        rest = a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)
        return cls.of(product) + cls.of(rest)

    def __add__(self, other: ExactTotal) -> ExactTotal:
        return ExactTotal(self.units + other.units, self.beyond + other.beyond)

    def __sub__(self, other: ExactTotal) -> ExactTotal:
        return ExactTotal(self.units - other.units, self.beyond - other.beyond)

    @property
    def exact(self) -> Fraction:
        """The sum of the finite terms as a fraction."""
        return Fraction(self.units, 1 << _UNIT)

    @property
    def value(self) -> float:
        """The float nearest to the sum."""
        if self.beyond != 0.0:
            return self.beyond
        try:
            return self.units / (1 << _UNIT)  # whole numbers divide with one rounding
        except OverflowError:
            return math.inf if self.units > 0 else -math.inf


def exact_bincount(
    index: Any, values: Any, size: int
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Sum values by index, rounding each sum once, independent of the order of rows.

    All rows together leave multiples of one unit, as in `_exact_parts`, so that each sum has few
    parts.

    >>> exact_bincount(np.array([0, 1, 0, 0]), np.array([1e100, 0.1, 1.0, -1e100]), 2)
    array([1. , 0.1])
    """
    largest = float(np.maximum(values.max(initial=0.0), -values.min(initial=0.0)))
    exponent, carry = math.frexp(largest)[1], len(values).bit_length()
    if not math.isfinite(largest) or exponent + carry > _LARGEST:
        by_index = np.split(
            values[np.argsort(index, kind="stable")],
            np.bincount(index, minlength=size).cumsum()[:-1],
        )
        return np.array([ExactTotal.of(each).value for each in by_index])
    parts = [np.zeros(size), np.zeros(size)]
    for first in range(0, len(values), _CHUNK):
        rest, rows, step = values[first : first + _CHUNK], index[first : first + _CHUNK], 0
        while rest.any():
            shift = math.ldexp(1.5, exponent + carry - step * (_MANTISSA - carry))
            multiples = (rest + shift) - shift
            if step == len(parts):
                parts.append(np.zeros(size))
            parts[step] += np.bincount(rows, multiples, size)
            rest, step = rest - multiples, step + 1
    if len(parts) == 2:
        return parts[0] + parts[1]  # a sum of two floats is rounded once
    return np.array([*map(math.fsum, zip(*parts, strict=True))])


def _halves(values: Any) -> tuple[Any, Any]:
    """Split floats in two of 26 bits, whose products are exact."""
    shifted = values * 134217729.0  # 2^27 + 1
    high = shifted - (shifted - values)
    return high, values - high


def _units(value: float) -> int:
    numerator, denominator = float(value).as_integer_ratio()
    return numerator * ((1 << _UNIT) // denominator)


def _exact_parts(values: np.ndarray[Any, np.dtype[np.float64]]) -> Iterator[float]:
    """Yield floats with the same sum as these values, of which there are few.

    Adding a large power of two to every value and taking it away again leaves multiples of one
    unit, few enough for their sum to need no rounding; what they leave of the values is summed in
    the next step. This is the extraction of Rump, Ogita & Oishi 2008, Accurate Floating-Point
    Summation Part I, SIAM J. Sci. Comput. 31(1).
    """
    rest = values
    while largest := max(float(rest.max()), -float(rest.min())):
        exponent = math.frexp(largest)[1]
        if exponent > _LARGEST:
            yield from rest.tolist()
            return
        shift = math.ldexp(1.5, exponent + _CARRY)
        multiples = (rest + shift) - shift
        yield float(multiples.sum())
        rest = rest - multiples


def check_sparse(matrix: Any, name: str) -> None:
    """Raise unless a SciPy sparse matrix has real numbers, and its indices lie inside.

    SciPy trusts the indices of a matrix: one outside the shape reads or writes foreign memory.

    Raises
    ------
    InputError
        If it is not a matrix of real numbers, or an index lies outside.
    """
    if matrix.ndim != 2 or matrix.dtype.kind not in "iufb":
        raise InputError(
            f"{name} is not a matrix of real numbers", found=f"shape {matrix.shape}, {matrix.dtype}"
        )
    try:
        _check_indices(matrix)
    except (TypeError, ValueError, IndexError) as error:
        raise InputError(f"{name} is a corrupt sparse matrix", found=str(error)) from error


def checked_csr(matrix: Any, name: str) -> Any:
    """Return a SciPy sparse matrix as a new CSR matrix without repeated entries.

    Raises
    ------
    InputError
        If it is not a matrix of real numbers, or an index lies outside.

    Examples
    --------
    >>> from scipy.sparse import coo_array
    >>> checked_csr(coo_array(([1, 2], ([0, 0], [1, 1])), shape=(1, 2)), "matrix").data.tolist()
    [3]
    """
    check_sparse(matrix, name)
    csr = matrix.tocsr(copy=True)
    check_sparse(csr, name)
    csr.sum_duplicates()
    return csr


def _check_indices(matrix: Any) -> None:
    """Raise a ValueError if an index lies outside the matrix."""
    if hasattr(matrix, "check_format"):  # compressed by row, column or block
        for indices in (matrix.indices, matrix.indptr):
            if indices.dtype.kind != "i":
                raise ValueError(f"indices of type {indices.dtype}")
        matrix.check_format(full_check=True)
    for indices, size in zip(getattr(matrix, "coords", ()), matrix.shape, strict=False):
        if len(indices) and not 0 <= indices.min() <= indices.max() < size:
            raise ValueError(f"indices from {indices.min()} to {indices.max()} of {size}")


Array: TypeAlias = Any
"""An array of any library that follows the array API standard."""

_CHECKS: ContextVar[list[tuple[Array, Callable[[], Exception]]] | None] = ContextVar(
    "checks", default=None
)


def namespace(*arrays: Array) -> Any:
    """Return the array API namespace that the arrays belong to."""
    # NumPy follows the standard itself from 2.1 on; loading the wrapper for it takes 60 ms.
    if all(type(array) is np.ndarray for array in arrays):
        return np
    return array_api_compat.array_namespace(*arrays)


def bincount(index: Array, weights: Array, size: int) -> Array:
    """Return sums of weights by index, each sum taken in the order of the rows.

    Both NumPy and PyTorch on the CPU add one row after the other, so a sum depends on nothing but
    its own rows: results are therefore independent of how users are cut into blocks.

    Parameters
    ----------
    index : array of int, shape (n,)
        The sum that each weight is added to; values in [0, size).
    weights : array of float, shape (n,)
        What is added.
    size : int
        The number of sums.

    Returns
    -------
    array of float, shape (size,)
        The sums; 0 where no row points.

    Examples
    --------
    >>> import numpy as np
    >>> bincount(np.array([0, 2, 0]), np.array([1.0, 2.0, 3.0]), 3)
    array([4., 0., 2.])
    """
    xp = namespace(index, weights)
    if _is_on_accelerator(index):
        # `bincount` would add in any order there, and wait for the largest index. This sorts by
        # index, stably: a sum depends on its own rows alone, and has the same bits every time.
        sums = xp.zeros(size, dtype=xp.float64, device=index.device)
        return sums.index_put_((index,), weights.to(sums.dtype), accumulate=True)
    # NumPy's sums of no rows are whole numbers.
    return xp.astype(xp.bincount(index, weights=weights, minlength=size), xp.float64, copy=False)


def count(index: Array, size: int) -> Array:
    """Return how often each number in [0, size) occurs in an array.

    Examples
    --------
    >>> import numpy as np
    >>> count(np.array([0, 2, 0]), 4).tolist()
    [2, 0, 1, 0]
    """
    if is_tensor(index):
        return sum_whole(index, namespace(index).ones_like(index), size)
    return namespace(index).bincount(index, minlength=size)


def sum_whole(index: Array, weights: Array, size: int) -> Array:
    """Return sums of whole numbers by index; any order of adding gives the same.

    Examples
    --------
    >>> import numpy as np
    >>> sum_whole(np.array([0, 2, 0]), np.array([1, 2, 3]), 3).tolist()
    [4, 0, 2]
    """
    xp = namespace(index, weights)
    weights = xp.astype(weights, xp.int64, copy=False)
    if is_tensor(index):  # `bincount` would wait for the largest index
        return weights.new_zeros(size).index_add_(0, index, weights)
    return xp.astype(xp.bincount(index, weights=weights, minlength=size), xp.int64)


def is_masked(values: object) -> bool:
    """Return whether values are a masked array of NumPy, whose module is not loaded to say no."""
    # Another thread may be loading it: until it is done, nobody has such an array.
    masked = getattr(sys.modules.get("numpy.ma"), "MaskedArray", None)
    return masked is not None and isinstance(values, masked)


def is_tensor(array: Array) -> bool:
    """Whether an array is a tensor of PyTorch, whose values may be on an accelerator.

    Tensors on the CPU are treated in the same way, so that the code for accelerators is tested.
    """
    return bool(array_api_compat.is_torch_array(array))


def check_none(bad: Array, error: Callable[[], Exception]) -> None:
    """Raise if any entry is true: at once, or at the end of `checks_at_end` for tensors.

    Parameters
    ----------
    bad : array of bool
        True where a value is not allowed.
    error : callable
        Returns the error; it may read values.
    """
    checks = _CHECKS.get()
    any_bad = namespace(bad).any(bad)
    if checks is not None and is_tensor(bad):
        checks.append((any_bad, error))
    elif bool(any_bad):
        raise error()


@contextmanager
def checks_at_end() -> Iterator[None]:
    """Read all checks of tensors together, at the end; the first that fails raises.

    The code inside must tolerate bad values: an index is clamped before it is used. An error inside
    drops the checks. Never ``yield`` inside: the caller would run without checks.
    """
    checks: list[tuple[Array, Callable[[], Exception]]] = []
    token = _CHECKS.set(checks)
    try:
        yield
    finally:
        _CHECKS.reset(token)
    if checks:
        failed = namespace(checks[0][0]).stack([flag for flag, _ in checks]).tolist()
        for is_bad, (_, error) in zip(failed, checks, strict=True):
            if is_bad:
                raise error()


def _is_on_accelerator(array: Array) -> bool:
    return is_tensor(array) and array_api_compat.device(array).type != "cpu"


LARGEST = 2.0**30
"""The largest term: sums of 2^31 such terms, and of 2^23 in one block, are still exact."""
_UNITS = {"whole": 1.0, "middle": 2.0**26, "low": 2.0**52}
EXACT_PARTS = tuple(_UNITS)
"""The parts of a sum that `exact_sums` gives."""


def exact_sums(index: Array, values: Array, size: int) -> dict[str, Array]:
    """Return sums of values by index, as whole numbers that add up exactly.

    Parameters
    ----------
    index : array of int, shape (n,)
        The sum that each value is added to; in [0, size).
    values : array of float, shape (n,)
        What is added, each within `LARGEST` of 0.
    size : int
        The number of sums.

    Returns
    -------
    dict of str to array of int, shape (size,)
        Three parts, each to be added up separately and read by `read_sums`.

    Raises
    ------
    ScoreError
        If a value is too large.

    Examples
    --------
    >>> parts = exact_sums(np.array([0, 0]), np.array([0.1, 0.2]), 1)
    >>> float(read_sums(parts)[0])
    0.3
    """
    xp = namespace(values)
    check_none(
        xp.abs(values) > LARGEST,
        lambda: ScoreError(
            "a score or a gain is too large to be added up exactly over users",
            found=f"{float(xp.max(xp.abs(values))):g}, at most {LARGEST:g}",
            hint="divide all of them by a power of two",
        ),
    )
    sums, remainder = {}, values
    for name, unit in _UNITS.items():
        part = xp.round(remainder * unit)
        sums[name] = sum_whole(index, part, size)
        remainder = remainder - part / unit
    return sums


def read_sums(parts: Mapping[str, Array]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the sums, as floats, from their exact parts."""
    high, middle, low = (np.asarray(parts[name]) / unit for name, unit in _UNITS.items())
    total: np.ndarray[tuple[int], np.dtype[np.float64]] = high + (middle + low)
    return total


def at_least(relevance: Any, threshold: float) -> Any:
    """Return which relevances reach a threshold, as an array, expression or column like the input.

    A relevance reaches the threshold if it is at least the threshold, or is the threshold in single
    precision: 0.7 stored as float32 is 0.69999999 as a double, and still 0.7. The data type of the
    column is not asked, because engines and file formats widen it on the way.

    >>> at_least(np.array([np.float32(0.7), 0.699999]), 0.7)
    array([ True, False])
    """
    with np.errstate(over="ignore"):
        single = float(np.float32(threshold))
    if single >= threshold or single == 0 or np.isinf(single):
        return relevance >= threshold
    return (relevance >= threshold) | (relevance == single)


@dataclass(frozen=True, eq=False, repr=False)
class SortedValues:
    """Values of users in any order; results computed from them must not depend on the order.

    Examples
    --------
    >>> values = SortedValues((np.array([2.0, 1.0]),)) + SortedValues() + SortedValues((np.array([0.5]),))
    >>> values.ascending
    array([0.5, 1. , 2. ])
    """

    parts: tuple[np.ndarray[tuple[int], np.dtype[np.float64]], ...] = ()

    def __add__(self, other: SortedValues) -> SortedValues:
        return SortedValues(self.parts + other.parts)

    @property
    def ascending(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """All values in ascending order."""
        return np.sort(np.concatenate(self.parts)) if self.parts else np.empty(0)
