"""Compiled loops, if a compiler was available at installation, and the threads that run them.

NumPy needs several passes over memory where a loop needs one. The loops are in ``kernels.c``, which
does not use the API of Python, so that one library serves every Python version. Each function here
returns None if there is no library, or if the loops do not support the type of the arrays: the
caller then uses its NumPy twin, which is the reference and gives the same bits.

The environment variable ``RANKWISE_KERNELS=off`` disables the library.

`SIGNATURES` declares every function of the library: an argument of another type, or one too many,
raises before the loop reads memory.

Loops that read columns ask for memory half a page ahead, because a processor alone does not look as
far (a fifth of their time). A library compiled from other source than the file beside it has
another checksum and is not loaded. ``tests/core/test_kernels.py`` checks that loops and twins give
the same bits; ``tests/core/kernels_driver.c`` runs the loops under the address and
undefined-behaviour sanitizers.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from ctypes import c_double, c_int32, c_int64, c_uint8, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeAlias, TypeVar

import numpy as np

from rankwise.errors import UsageError

_STEP = 1 << 18
_process: list[int] = []
"""The process that first read a table, whose threads no forked process has."""
_T = TypeVar("_T")
_S = TypeVar("_S")


def default_threads() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_not_forked() -> None:
    """Raise in a process that was forked from one that had read tables already.

    Polars' threads do not survive a fork, and the child would wait for them without end.
    """
    if not _process:
        _process.append(os.getpid())
    elif _process[0] != os.getpid():
        raise UsageError(
            "this process was forked from one that had used rankwise, and its threads are gone",
            found=f"process {os.getpid()}, forked from {_process[0]}",
            hint='start processes with multiprocessing.get_context("spawn")',
        )


def map_threads(work: Callable[[_S], _T], jobs: Iterable[_S], threads: int) -> Iterator[_T]:
    """Yield the result of each job, done on several threads, in the order of the jobs.

    >>> list(map_threads(lambda job: job * 2, [1, 2, 3], 2))
    [2, 4, 6]
    """
    if threads == 1 or (isinstance(jobs, Sized) and len(jobs) < 2):  # a pool costs time
        yield from map(work, jobs)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(work, jobs)


def split_range(n: int, threads: int) -> list[tuple[int, int]]:
    """Return where the share of each thread starts and ends, of n things in a row.

    >>> split_range(7, 2)
    [(0, 3), (3, 7)]
    """
    edges = [at * n // threads for at in range(threads + 1)]
    return list(pairwise(edges))


class _BlasLimit:
    """How many contexts limit BLAS to one thread, and the limit to restore after the last."""

    lock = threading.Lock()
    depth = 0
    limits: Any = None
    controller: Any = None
    n_modules = 0

    @classmethod
    def libraries(cls) -> Any:
        """Return the controller of BLAS libraries, renewed after a module is imported."""
        from threadpoolctl import ThreadpoolController

        if cls.n_modules != len(sys.modules):
            cls.controller = ThreadpoolController()
            cls.n_modules = len(sys.modules)
        return cls.controller


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit each matrix product to one thread while several threads compute products.

    With threads of their own they would compete for processors, and could give another last
    digit. The limit holds for the process: the first context sets it, the last restores it.
    """
    with _BlasLimit.lock:
        if not _BlasLimit.depth:
            _BlasLimit.limits = _BlasLimit.libraries().limit(limits=1, user_api="blas")
        _BlasLimit.depth += 1
    try:
        yield
    finally:
        with _BlasLimit.lock:
            _BlasLimit.depth -= 1
            if not _BlasLimit.depth:
                _BlasLimit.limits.restore_original_limits()


def gather(values: np.ndarray[Any, Any], rows: np.ndarray[Any, Any], threads: int) -> Any:
    """Return ``values[rows]``, gathered on several threads to hide memory latency."""
    out = np.empty(len(rows), dtype=values.dtype)

    def work(first: int) -> None:
        chunk = slice(first, first + _STEP)
        np.take(values, rows[chunk], out=out[chunk], mode="clip")

    for _ in map_threads(work, range(0, len(rows), _STEP), threads):
        pass
    return out


Ints: TypeAlias = np.ndarray[tuple[int], np.dtype[Any]]
Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]

SOURCE = Path(__file__).with_name("kernels.c")
_SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
LIBRARY = SOURCE.with_name(f"_kernels{_SUFFIX}")
_ROOMY, _NEAR = 7, 14  # 2^7 slots per row of a list are quickest, while 2^14 of them stay near
_CHUNK = 1 << 14  # values that are summed at a time, as the source has it
_FEW = 64  # values that NumPy sums as fast
_ASIDE = 16  # items of a group that are a power of two apart would share few lines of the caches
_ROOM = 4  # times k items are kept for each user at most, where many scores are equal
MARK = (
    12  # lowest bits of the keys that the library sorts, which have no order, as the source has it
)
_off: list[bool] = []


@dataclass(frozen=True)
class ArrayPointer:
    """The pointer to a C-contiguous array of one dtype, as a type of argument.

    ``numpy.ctypeslib.ndpointer`` makes a call three times as slow.
    """

    dtype: np.dtype[Any]
    writable: bool = False

    def from_param(self, array: Any) -> c_void_p:
        """Return the pointer to an array, which lives as an argument until the call ends."""
        if isinstance(array, np.ndarray) and array.dtype == self.dtype and array.flags.c_contiguous:
            if array.flags.writeable or not self.writable:
                return c_void_p(array.ctypes.data)
            raise TypeError(f"expected a writable array of {self.dtype}")
        kind = getattr(array, "dtype", type(array).__name__)
        raise TypeError(f"expected a C-contiguous array of {self.dtype}, found {kind}")


@dataclass(frozen=True)
class ColumnPointers:
    """The pointers to several C-contiguous arrays of one dtype, as a type of argument."""

    column: ArrayPointer

    def from_param(self, columns: Sequence[Any]) -> Any:
        """Return the pointers to columns, which live as an argument until the call ends."""
        return (c_void_p * len(columns))(*map(self.column.from_param, columns))


_BYTES, _INT32, _INT64, _UINT64, _FLOAT32, _FLOAT64 = (
    ArrayPointer(np.dtype(name))
    for name in ("uint8", "int32", "int64", "uint64", "float32", "float64")
)
_OUT_BYTES, _OUT_INT32, _OUT_INT64, _OUT_UINT64, _OUT_FLOAT32, _OUT_FLOAT64 = (
    ArrayPointer(pointer.dtype, writable=True)
    for pointer in (_BYTES, _INT32, _INT64, _UINT64, _FLOAT32, _FLOAT64)
)
_TEXTS = (
    c_void_p,
    c_void_p,
)  # the addresses of string views and of the buffers behind them, of Arrow
_SHARE = c_int64, c_int64  # the first row, and the one after the last
_TEXT_TABLE = (  # slots, bits, known texts, pool and its room, how many are used, origins, codes
    _OUT_UINT64,
    c_int64,
    _OUT_UINT64,
    _OUT_BYTES,
    c_int64,
    _OUT_INT64,
    _OUT_INT64,
    _OUT_INT32,
)

SIGNATURES: dict[str, tuple[tuple[Any, ...], Any]] = {
    "rw_source": ((), c_uint32),
    **{
        f"rw_match_{ids.dtype}": (
            (
                ids,
                _INT64,
                c_int64,
                _INT64,
                _INT64,
                _INT64,
                c_int64,
                _OUT_INT64,
                c_int32,
                *6 * (_OUT_INT64,),
            ),
            c_int64,
        )
        for ids in (_INT32, _INT64)
    },
    **{
        f"rw_changes_{ids.dtype}": ((ids, *_SHARE, _OUT_INT64), c_int64) for ids in (_INT32, _INT64)
    },
    "rw_text_changes": ((*_TEXTS, *_SHARE, _OUT_INT64), c_int64),
    "rw_text_codes": ((*_TEXTS, *_SHARE, *_TEXT_TABLE), c_int64),
    "rw_text_codes_at": ((*_TEXTS, *_SHARE, *_TEXT_TABLE, _INT64), c_int64),
    "rw_text_lookup": (
        (*_TEXTS, *_SHARE, _UINT64, c_int64, _OUT_UINT64, _BYTES, _OUT_INT32, _OUT_INT64),
        c_int64,
    ),
    "rw_spread_slots": ((_UINT64, c_int64, _OUT_UINT64, c_int64), None),
    "rw_id_numbers": ((*_TEXTS, *_SHARE, _OUT_INT64), None),
    "rw_row_digest": ((ColumnPointers(_UINT64), _UINT64, c_int64, c_int64, c_uint64), c_uint64),
    "rw_ends": ((_INT64, _INT64, c_int64, _INT64, c_int64, c_int64, _OUT_INT64), None),
    "rw_positions": ((_INT64, c_int64, _OUT_FLOAT64), None),
    "rw_sums": ((_INT64, _FLOAT64, c_int64, _INT64, c_int64, _OUT_FLOAT64, _OUT_FLOAT64), None),
    "rw_tied_rows": ((*6 * (_INT64,), c_int64, *2 * (_OUT_INT64,), *2 * (_OUT_FLOAT64,)), None),
    "rw_tied_first": ((*4 * (_INT64,), c_int64, _OUT_FLOAT64), None),
    "rw_counts_up": ((_INT64, _INT64, *_SHARE, c_int64), c_int64),
    "rw_exact_parts": ((_FLOAT64, c_int64, _OUT_FLOAT64), c_int64),
    "rw_odd_text": ((_BYTES, c_int64, *_SHARE, c_uint8), c_int64),
    "rw_whole_columns": ((_BYTES, c_int64, c_uint8, c_int64, c_uint64), c_uint64),
    **{
        f"rw_count_{scores.dtype}": (
            (scores, c_int64, c_int64, _INT64, c_int64, scores, *3 * (_OUT_INT64,)),
            c_int64,
        )
        for scores in (_FLOAT32, _FLOAT64)
    },
    **{
        f"rw_top_{scores.dtype}": (
            (scores, *6 * (c_int64,), keys, _OUT_INT32, best, _OUT_INT64),
            c_int64,
        )
        for scores, keys, best in (
            (_FLOAT32, _OUT_INT32, _OUT_FLOAT32),
            (_FLOAT64, _OUT_INT64, _OUT_FLOAT64),
        )
    },
    "rw_count": ((_INT64, *_SHARE, _OUT_INT64), None),
    "rw_bucket": ((_INT64, c_int64, _OUT_INT64, _OUT_INT64), None),
    "rw_scatter": ((_INT64, _INT64, _FLOAT64, *_SHARE, _OUT_INT64, _OUT_INT32, _OUT_FLOAT64), None),
    "rw_place": ((_INT64, _INT64, _INT64, *_SHARE, _INT64, c_int64, _OUT_INT32), c_int64),
    "rw_ranks": ((_FLOAT64, _INT64, _INT64, _INT64, _INT64, c_int64, _OUT_INT64), None),
    "rw_differences": (
        (ColumnPointers(_FLOAT64), c_int64, _INT64, _FLOAT64, *_SHARE, _OUT_FLOAT64),
        None,
    ),
    "rw_bins": ((_FLOAT64, _FLOAT64, c_int64, c_int64, c_double, c_double, _OUT_FLOAT64), None),
    "rw_saddle": ((_FLOAT64, _FLOAT64, c_int64, c_double, _OUT_FLOAT64), None),
    "rw_saddle_rows": ((_FLOAT64, _FLOAT64, c_int64, *_SHARE, _OUT_FLOAT64), None),
    "rw_losses": (
        (_FLOAT64, _FLOAT64, c_int64, _FLOAT64, *_SHARE, _OUT_FLOAT64),
        None,
    ),
    "rw_saddles": (
        (
            ColumnPointers(_FLOAT64),
            c_int64,
            c_int64,
            _FLOAT64,
            _FLOAT64,
            c_double,
            c_int64,
            c_int64,
            *_SHARE,
            *3 * (_OUT_FLOAT64,),
        ),
        None,
    ),
    "rw_weights": (
        (_FLOAT64, _FLOAT64, c_int64, _FLOAT64, *_SHARE, _OUT_FLOAT64),
        None,
    ),
    "rw_sort_keys": ((_OUT_UINT64, c_int64, _OUT_UINT64), None),
    "rw_above": ((_UINT64, c_int64, _INT64, c_int64, _OUT_INT64, _OUT_INT64), None),
    "rw_rank_rows": (
        (
            _FLOAT64,
            _INT64,
            _BYTES,
            c_int64,
            *_SHARE,
            c_int64,
            _OUT_UINT64,
            *7 * (_OUT_INT64,),
        ),
        c_int64,
    ),
}
"""The types of the arguments and of the result of each function, in the order of ``kernels.c``."""


@cache
def _load() -> tuple[SimpleNamespace | None, str]:
    """Return the functions of the library, or None, and which road is taken and why."""
    if os.environ.get("RANKWISE_KERNELS", "").lower() == "off":
        return None, "numpy (RANKWISE_KERNELS=off)"
    if not LIBRARY.exists():
        return None, "numpy (no kernels were compiled)"
    try:
        library = ctypes.CDLL(str(LIBRARY))
        built = _function(library, "rw_source")()
    except (OSError, AttributeError):  # of another platform, or damaged
        return None, "numpy (the compiled kernels cannot be loaded)"
    if built != zlib.crc32(SOURCE.read_bytes()):
        return None, "numpy (the compiled kernels are of another version: install again)"
    return SimpleNamespace(**{name: _function(library, name) for name in SIGNATURES}), "compiled"


def _function(library: ctypes.CDLL, name: str) -> Any:
    """Return a function of the library with its signature."""
    arguments, result = SIGNATURES[name]
    flags = tuple(
        (1,) for _ in arguments
    )  # only with flags does ctypes refuse an argument too many
    return ctypes.CFUNCTYPE(result, *arguments)((name, library), flags)


def implementation() -> str:
    """Return ``"compiled"``, or ``"numpy"`` and why the compiled loops are not used."""
    return "numpy (turned off)" if _off else _load()[1]


@contextmanager
def without_library() -> Iterator[None]:
    """Leave the compiled loops out, in all threads, to compare them with their twins."""
    _off.append(True)
    try:
        yield
    finally:
        _off.pop()


def load() -> Any:
    """Return the compiled functions, as in `SIGNATURES`; None if the library is not in use."""
    return None if _off else _load()[0]


def match(
    items: Ints, starts: Ints, judged: Ints, judged_starts: Ints, groups: Ints
) -> tuple[Ints, Ints, Ints, Ints] | None:
    """Return matching rows, the judged row and list of each, and rows whose item comes again."""
    library, items = load(), _signed(items)
    if library is None:
        return None
    if items.dtype not in (np.int32, np.int64):
        items = items.astype(np.int64)
    longest = int(np.diff(starts).max(initial=0))
    bits = max(longest.bit_length() + 1, min((longest << _ROOMY).bit_length(), _NEAR))
    judged = np.ascontiguousarray(_signed(judged), dtype=np.int64)
    chosen = groups if groups.min(initial=0) >= 0 else groups[groups >= 0]
    most = int(judged_starts[chosen + 1].sum() - judged_starts[chosen].sum())
    rows, judged_rows, lists = (np.empty(most, dtype=np.int64) for _ in range(3))
    repeated = np.empty(len(items), dtype=np.int64)
    n_repeated, in_order = np.zeros((2, 1), dtype=np.int64)
    matches = getattr(library, f"rw_match_{items.dtype.name}")(
        np.ascontiguousarray(items),
        _whole(starts),
        len(starts) - 1,
        judged,
        _whole(judged_starts),
        _whole(groups),
        most,
        np.full(1 << bits, -1, dtype=np.int64),
        bits,
        rows,
        judged_rows,
        lists,
        repeated,
        n_repeated,
        in_order,
    )
    if matches < 0:
        return None
    rows, judged_rows = rows[:matches], judged_rows[:matches]
    if not in_order[0]:
        order = np.argsort(rows)
        rows, judged_rows = rows[order], judged_rows[order]  # inside lists, which are in order
    return rows, judged_rows, lists[:matches], np.sort(repeated[: n_repeated[0]])


def changes(ids: Ints, first: int, stop: int) -> Ints | None:
    """Return the rows from ``first``, at least 1, up to ``stop`` whose id is not that before."""
    library, ids = load(), _signed(ids)
    if library is None or ids.dtype not in (np.int32, np.int64) or not ids.flags.c_contiguous:
        return None
    rows = np.empty(max(stop - first, 0), dtype=np.int64)
    count = getattr(library, f"rw_changes_{ids.dtype.name}")(ids, first, stop, rows)
    return rows[:count]


def counts_up(rank: Ints, starts: Ints, first: int, stop: int, base: int) -> bool | None:
    """Return whether the ranks of each list count up by 1 from ``base``."""
    library = load()
    if library is None or rank.dtype != np.int64 or not rank.flags.c_contiguous:
        return None
    return bool(library.rw_counts_up(rank, _whole(starts), first, stop, base))


def count(codes: Ints, first: int, stop: int, size: int) -> Ints | None:
    """Count each code below ``size`` in rows ``first`` to ``stop``."""
    library = load()
    if library is None or codes.dtype != np.int64 or not codes.flags.c_contiguous:
        return None
    counts = np.zeros(size, dtype=np.int64)
    library.rw_count(codes, first, stop, counts)
    return counts


def bucket(codes: Ints, starts: Ints) -> Ints:
    """Return row numbers grouped by code, whose rows start at ``starts``.

    Only after `count` of the same codes.
    """
    order, following = np.empty(len(codes), dtype=np.int64), starts[:-1].copy()
    load().rw_bucket(codes, len(codes), following, order)
    return order


def scatter(
    codes: Ints,
    items: Ints,
    scores: Floats,
    share: tuple[int, int],
    place: Ints,
    out: tuple[Ints, Floats],
) -> None:
    """Write the items and scores of a share of rows to the next ``place`` of their code.

    Only after `count` of the same codes; items are whole numbers of 64 bits that fit 31, scores
    floats of 64 bits.
    """
    load().rw_scatter(
        codes, np.ascontiguousarray(items), np.ascontiguousarray(scores), *share, place, *out
    )


def place(
    codes: Ints, rank: Ints, items: Ints, share: tuple[int, int], starts: Ints, out: Ints, base: int
) -> bool:
    """Write items to the place of their rank, from ``base``; whether all ranks are of a list.

    Only after `count` of the same codes; ranks and items have 64 bits, and items fit 31.
    """
    count = load().rw_place(
        codes, np.ascontiguousarray(rank), np.ascontiguousarray(items), *share, starts, base, out
    )
    return bool(count)


def count_above(scores: Any, judged: Any, starts: Ints) -> tuple[Ints, Ints, Ints] | None:
    """Count the scores of each row, and the scores above and equal to each judged score.

    The judged scores of each row stand one row after the other; minus infinity is no score. None
    also where a score is NaN or infinity.
    """
    stride = _stride(scores)
    if stride is None:
        return None
    lengths, (above, equal) = (
        np.zeros(len(scores), dtype=np.int64),
        np.zeros((2, len(judged)), dtype=np.int64),
    )
    judged = np.ascontiguousarray(judged, dtype=scores.dtype)
    are_numbers = getattr(load(), f"rw_count_{scores.dtype.name}")(
        scores[:1],
        stride,
        scores.shape[1],
        _whole(starts),
        len(scores),
        judged,
        lengths,
        above,
        equal,
    )
    return (lengths, above, equal) if are_numbers else None


def top(scores: Any, k: int, groups: int) -> tuple[Ints, Ints, Any] | None:
    """Return how many items each row of scores has, then the items and their scores.

    They are the k largest scores of each row, and those equal to the k-th, in no order; minus
    infinity is no score. Items are dealt into about so many groups. None also where a score is NaN
    or infinity, or very many are equal.
    """
    stride, (n, width) = _stride(scores), scores.shape
    if stride is None:
        return None
    groups, room = min(groups + _ASIDE, width), n * min(_ROOM * k, width) + width
    items, best = np.empty(room, dtype=np.int32), np.empty(room, dtype=scores.dtype)
    lengths, keys = np.empty(n, dtype=np.int64), np.empty(width, f"i{scores.itemsize}")
    count = getattr(load(), f"rw_top_{scores.dtype.name}")(
        scores[:1], stride, width, n, groups, k, room, keys, items, best, lengths
    )
    return None if count < 0 else (lengths, items[:count], best[:count])


def _stride(scores: Any) -> int | None:
    """Return how many numbers rows of scores are apart; None if the loops do not take them.

    The loops take the first row, which is C-contiguous, and reach the rest by this stride.
    """
    if load() is None or scores.dtype not in (np.float32, np.float64):
        return None
    if scores.strides[1] != scores.itemsize or scores.strides[0] % scores.itemsize:
        return None
    return int(scores.strides[0]) // int(scores.itemsize)


def ranks(scores: Floats, numbers: Ints, starts: Ints, rows: Ints, lists: Ints) -> Ints | None:
    """Return the ranks of rows in their lists: by falling score, then by rising number."""
    library = load()
    if library is None or scores.dtype != np.float64:
        return None
    out = np.empty(len(rows), dtype=np.int64)
    library.rw_ranks(
        np.ascontiguousarray(scores),
        _whole(numbers),
        _whole(starts),
        _whole(rows),
        _whole(lists),
        len(rows),
        out,
    )
    return out


def rank_rows(
    scores: Floats, starts: Ints, wanted: Ints, deepest: int, first: int, stop: int
) -> tuple[Ints, int] | None:
    """Return the wanted rows of some groups in order of group and rank, and the number of ties.

    Rows are ranked by falling score, those of equal scores as they come. The first array has five
    rows: the row, its group, its rank, and the first and last rank of the rows with its score.
    Rows whose first rank is below ``deepest`` are left out, and ties below it are not counted.
    """
    library = load()
    if library is None:
        return None
    rows = slice(starts[first], starts[stop])
    size = int(np.count_nonzero(wanted[rows]))
    longest = int(np.diff(starts[first : stop + 1]).max(initial=0))
    out, n_tied = np.empty((5, size), dtype=np.int64), np.zeros(1, dtype=np.int64)
    written = library.rw_rank_rows(
        scores,
        starts,
        wanted,
        deepest,
        first,
        stop,
        longest,
        np.empty(2 * longest, dtype=np.uint64),
        np.empty(2 * longest, dtype=np.int64),
        *out,
        n_tied,
    )
    return out[:, :written], int(n_tied[0])


def exact_parts(values: Floats) -> list[float] | None:
    """Return few numbers with the same exact sum, if all values are finite and none is huge."""
    library = load()
    if library is None or len(values) < _FEW:
        return None
    parts = np.empty(64 * (len(values) // _CHUNK + 1))
    count = library.rw_exact_parts(np.ascontiguousarray(values), len(values), parts)
    return None if count < 0 else parts[:count].tolist()


def ends(user: Ints, rank: Ints, cutoffs: Sequence[int], n_users: int) -> Any:
    """Return where each user's rows end at ascending cut-offs, shape (cutoffs, U), 0 for no row.

    Rows are in order of user and rank.
    """
    library = load()
    if library is None or user.dtype != np.int64 or rank.dtype != np.int64:
        return None
    out = np.zeros((len(cutoffs), n_users), dtype=np.int64)
    library.rw_ends(
        _whole(user),
        _whole(rank),
        len(user),
        np.array(cutoffs, dtype=np.int64),
        len(cutoffs),
        n_users,
        out,
    )
    return out


def positions(user: Ints) -> Floats | None:
    """Count the rows of each user up from 1; rows are in order of user."""
    library = load()
    if library is None or user.dtype != np.int64:
        return None
    out = np.empty(len(user))
    library.rw_positions(_whole(user), len(user), out)
    return out


def sums(user: Ints, values: Floats, ends: Ints) -> Floats | None:
    """Return the sums of each user's values up to the ends that `ends` found, in their shape."""
    library = load()
    if library is None or values.dtype != np.float64:
        return None
    out, running = np.empty(ends.shape), np.empty(len(user) + 1)
    library.rw_sums(
        _whole(user), np.ascontiguousarray(values), len(user), ends, ends.size, running, out
    )
    return out


def tied_rows(
    owner: Ints, first: Ints, above: Ints, size: Ints, n_hits: Ints, starts: Ints
) -> tuple[Ints, Ints, Floats, Floats] | None:
    """Return user, rank, probability and position of the rows of tied groups."""
    library = load()
    if library is None:
        return None
    user, rank = np.empty((2, starts[-1]), dtype=np.int64)
    probability, position = np.empty((2, starts[-1]))
    groups = map(_whole, (owner, first, above, size, n_hits, starts))
    library.rw_tied_rows(*groups, len(size), user, rank, probability, position)
    return user, rank, probability, position


def tied_first(depth: Ints, size: Ints, n_hits: Ints, starts: Ints) -> Floats | None:
    """Return the probability that a user's first hit is at each row of tied groups."""
    library = load()
    if library is None:
        return None
    first = np.empty(starts[-1])
    library.rw_tied_first(*map(_whole, (depth, size, n_hits, starts)), len(size), first)
    return first


def sorted_whole(values: Ints) -> Ints:
    """Sort whole numbers from 0, below 2^52; without compiled loops, by NumPy's sort."""
    library = load()
    if library is None:
        return np.sort(values)
    keys = np.left_shift(values, MARK, dtype=np.int64).view(np.uint64)
    library.rw_sort_keys(keys, len(keys), np.empty_like(keys))
    return np.right_shift(keys, MARK, out=keys).view(np.int64)


def row_digest(columns: Sequence[Ints], factors: Ints, start: int) -> int | None:
    """Return the sum of the hashes of rows of words, modulo 2^64."""
    library = load()
    if library is None:
        return None
    columns = [*map(np.ascontiguousarray, columns)]
    total: int = library.rw_row_digest(columns, factors, len(columns), len(columns[0]), start)
    return total


def _signed(values: Ints) -> Ints:
    """Return unsigned integers of 64 bits as signed ones of the same bits."""
    if values.dtype.kind == "u" and values.dtype.itemsize == 8:
        return values.view(np.int64)
    return values


def _whole(starts: Ints) -> Ints:
    return np.ascontiguousarray(starts, dtype=np.int64)
