"""Compiled loops, if a compiler was available when rankwise was installed.

NumPy needs several passes over memory where a loop needs one. The loops are in ``kernels.c``, which
does not use the API of Python, so that one library serves every Python version. Each function here
returns None if there is no library, or if the loops do not support the type of the arrays: the
caller then uses its NumPy twin, which is the reference and gives the same bits.

The environment variable ``RANKWISE_KERNELS=off`` disables the library.
"""

from __future__ import annotations

import ctypes
import os
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

__all__ = [
    "LIBRARY",
    "SOURCE",
    "bucket",
    "changes",
    "count",
    "count_above",
    "counts_up",
    "ends",
    "exact_parts",
    "loaded",
    "match",
    "place",
    "pointer",
    "positions",
    "ranks",
    "road",
    "row_digest",
    "scatter",
    "sums",
    "top",
    "turned_off",
]

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
_off: list[bool] = []


@cache
def _load() -> tuple[ctypes.CDLL | None, str]:
    """Return the library, or None, and which road is taken and why."""
    if os.environ.get("RANKWISE_KERNELS", "").lower() == "off":
        return None, "numpy (RANKWISE_KERNELS=off)"
    if not LIBRARY.exists():
        return None, "numpy (no kernels were compiled)"
    try:
        library = ctypes.CDLL(str(LIBRARY))
        built = ctypes.c_uint32(library.rw_source()).value
    except (OSError, AttributeError):  # of another platform, or damaged
        return None, "numpy (the compiled kernels cannot be loaded)"
    if built != zlib.crc32(SOURCE.read_bytes()):
        return None, "numpy (the compiled kernels are of another version: install again)"
    for name in (
        "rw_match_int32",
        "rw_match_int64",
        "rw_changes_int32",
        "rw_changes_int64",
        "rw_counts_up",
        "rw_exact_parts",
        "rw_odd_text",
        "rw_place",
        "rw_text_changes",
        "rw_top_float32",
        "rw_top_float64",
    ):
        getattr(library, name).restype = ctypes.c_int64
    for name in (
        "rw_above_pairs",
        "rw_bucket",
        "rw_count",
        "rw_count_float32",
        "rw_count_float64",
        "rw_differences",
        "rw_ends",
        "rw_positions",
        "rw_ranks",
        "rw_scatter",
        "rw_sums",
        "rw_id_numbers",
        "rw_text_hashes",
    ):
        getattr(library, name).restype = None
    library.rw_whole_columns.restype = library.rw_row_digest.restype = ctypes.c_uint64
    return library, "compiled"


def road() -> str:
    """Return ``"compiled"``, or ``"numpy"`` and why the compiled loops are not used."""
    return "numpy (turned off)" if _off else _load()[1]


@contextmanager
def turned_off() -> Iterator[None]:
    """Leave the compiled loops out, in all threads, to compare them with their twins."""
    _off.append(True)
    try:
        yield
    finally:
        _off.pop()


def loaded() -> Any:
    """Return the library, as ctypes loads it; None if it is not used."""
    return None if _off else _load()[0]


def match(
    items: Ints, starts: Ints, judged: Ints, judged_starts: Ints, groups: Ints
) -> tuple[Ints, Ints, Ints, Ints] | None:
    """Return matching rows, the judged row and list of each, and rows whose item comes again."""
    library, items = loaded(), _signed(items)
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
    repeated, n_repeated = np.empty(len(items), dtype=np.int64), ctypes.c_int64()
    in_order = ctypes.c_int64()
    found = getattr(library, f"rw_match_{items.dtype.name}")(
        pointer(np.ascontiguousarray(items)),
        pointer(_whole(starts)),
        ctypes.c_int64(len(starts) - 1),
        pointer(judged),
        pointer(_whole(judged_starts)),
        pointer(_whole(groups)),
        ctypes.c_int64(most),
        pointer(np.full(1 << bits, -1, dtype=np.int64)),
        ctypes.c_int32(bits),
        pointer(rows),
        pointer(judged_rows),
        pointer(lists),
        pointer(repeated),
        ctypes.byref(n_repeated),
        ctypes.byref(in_order),
    )
    if found < 0:
        return None
    rows, judged_rows = rows[:found], judged_rows[:found]
    if not in_order.value:
        order = np.argsort(rows)
        rows, judged_rows = rows[order], judged_rows[order]  # inside lists, which are in order
    return rows, judged_rows, lists[:found], np.sort(repeated[: n_repeated.value])


def changes(ids: Ints, first: int, stop: int) -> Ints | None:
    """Return the rows from ``first``, at least 1, up to ``stop`` whose id is not that before."""
    library, ids = loaded(), _signed(ids)
    if library is None or ids.dtype not in (np.int32, np.int64) or not ids.flags.c_contiguous:
        return None
    rows = np.empty(max(stop - first, 0), dtype=np.int64)
    found = getattr(library, f"rw_changes_{ids.dtype.name}")(
        pointer(ids), ctypes.c_int64(first), ctypes.c_int64(stop), pointer(rows)
    )
    return rows[:found]


def counts_up(rank: Ints, starts: Ints, first: int, stop: int, base: int) -> bool | None:
    """Return whether ranks count 1, 2, 3, … down some lists, or from another ``base``."""
    library = loaded()
    if library is None or rank.dtype != np.int64 or not rank.flags.c_contiguous:
        return None
    return bool(library.rw_counts_up(pointer(rank), pointer(_whole(starts)), *map(ctypes.c_int64, (first, stop, base))))


def count(codes: Ints, first: int, stop: int, size: int) -> Ints | None:
    """Return how often each code below ``size`` occurs among some rows."""
    library = loaded()
    if library is None or codes.dtype != np.int64 or not codes.flags.c_contiguous:
        return None
    counts = np.zeros(size, dtype=np.int64)
    library.rw_count(pointer(codes), ctypes.c_int64(first), ctypes.c_int64(stop), pointer(counts))
    return counts


def bucket(codes: Ints, starts: Ints) -> Ints:
    """Return row numbers grouped by code, whose rows start at ``starts``.

    Only after `count` of the same codes.
    """
    order, following = np.empty(len(codes), dtype=np.int64), starts[:-1].copy()
    loaded().rw_bucket(pointer(codes), ctypes.c_int64(len(codes)), pointer(following), pointer(order))
    return order


def scatter(
    codes: Ints, items: Ints, scores: Floats, share: tuple[int, int], place: Ints, out: tuple[Ints, Floats]
) -> None:
    """Write the items and scores of some rows to the next ``place`` of their code.

    Only after `count` of the same codes; items are whole numbers of 64 bits that fit 31, scores
    floats of 64 bits.
    """
    loaded().rw_scatter(
        pointer(codes),
        pointer(np.ascontiguousarray(items)),
        pointer(np.ascontiguousarray(scores)),
        *map(ctypes.c_int64, share),
        pointer(place),
        *map(pointer, out),
    )


def place(codes: Ints, rank: Ints, items: Ints, share: tuple[int, int], starts: Ints, out: Ints, base: int) -> bool:
    """Write items to the place of their rank, from ``base``; whether all ranks are of a list.

    Only after `count` of the same codes; ranks and items have 64 bits, and items fit 31.
    """
    found = loaded().rw_place(
        pointer(codes),
        pointer(np.ascontiguousarray(rank)),
        pointer(np.ascontiguousarray(items)),
        *map(ctypes.c_int64, share),
        pointer(starts),
        ctypes.c_int64(base),
        pointer(out),
    )
    return bool(found)


def count_above(scores: Any, judged: Any, starts: Ints) -> tuple[Ints, Ints] | None:
    """Return how many scores of its row are above each judged score, and how many are equal.

    The judged scores of each row stand one row after the other.
    """
    stride = _stride(scores)
    if stride is None:
        return None
    above, equal = np.zeros(len(judged), dtype=np.int64), np.zeros(len(judged), dtype=np.int64)
    getattr(loaded(), f"rw_count_{scores.dtype.name}")(
        pointer(scores),
        ctypes.c_int64(stride),
        ctypes.c_int64(scores.shape[1]),
        pointer(_whole(starts)),
        ctypes.c_int64(len(scores)),
        pointer(np.ascontiguousarray(judged, dtype=scores.dtype)),
        pointer(above),
        pointer(equal),
    )
    return above, equal


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
    found = getattr(loaded(), f"rw_top_{scores.dtype.name}")(
        pointer(scores),
        *map(ctypes.c_int64, (stride, width, n, groups, k, room)),
        *map(pointer, (keys, items, best, lengths)),
    )
    return None if found < 0 else (lengths, items[:found], best[:found])


def _stride(scores: Any) -> int | None:
    """Return how many numbers rows of scores are apart; None if the loops do not take them."""
    if loaded() is None or scores.dtype not in (np.float32, np.float64):
        return None
    if scores.strides[1] != scores.itemsize or scores.strides[0] % scores.itemsize:
        return None
    return int(scores.strides[0]) // int(scores.itemsize)


def ranks(scores: Floats, numbers: Ints, starts: Ints, rows: Ints, lists: Ints) -> Ints | None:
    """Return the rank of some rows in their lists: by falling score, then by rising number."""
    library = loaded()
    if library is None or scores.dtype != np.float64:
        return None
    out = np.empty(len(rows), dtype=np.int64)
    library.rw_ranks(
        pointer(np.ascontiguousarray(scores)),
        pointer(_whole(numbers)),
        pointer(_whole(starts)),
        pointer(_whole(rows)),
        pointer(_whole(lists)),
        ctypes.c_int64(len(rows)),
        pointer(out),
    )
    return out


def exact_parts(values: Floats) -> list[float] | None:
    """Return few numbers with the same exact sum, if all values are finite and none is huge."""
    library = loaded()
    if library is None or len(values) < _FEW:
        return None
    parts = np.empty(64 * (len(values) // _CHUNK + 1))
    found = library.rw_exact_parts(pointer(np.ascontiguousarray(values)), ctypes.c_int64(len(values)), pointer(parts))
    return None if found < 0 else parts[:found].tolist()


def ends(user: Ints, rank: Ints, cutoffs: Sequence[int], n_users: int) -> Any:
    """Return where each user's rows end at ascending cut-offs, shape (cutoffs, U), 0 for no row.

    Rows are in order of user and rank.
    """
    library = loaded()
    if library is None or user.dtype != np.int64 or rank.dtype != np.int64:
        return None
    out = np.zeros((len(cutoffs), n_users), dtype=np.int64)
    library.rw_ends(
        pointer(_whole(user)),
        pointer(_whole(rank)),
        ctypes.c_int64(len(user)),
        pointer(np.array(cutoffs, dtype=np.int64)),
        ctypes.c_int64(len(cutoffs)),
        ctypes.c_int64(n_users),
        pointer(out),
    )
    return out


def positions(user: Ints) -> Floats | None:
    """Return the number of each row among those of its user, from 1; rows are in order of user."""
    library = loaded()
    if library is None or user.dtype != np.int64:
        return None
    out = np.empty(len(user))
    library.rw_positions(pointer(_whole(user)), ctypes.c_int64(len(user)), pointer(out))
    return out


def sums(user: Ints, values: Floats, ends: Ints) -> Floats | None:
    """Return the sums of each user's values up to the ends that `ends` found, in their shape."""
    library = loaded()
    if library is None or values.dtype != np.float64:
        return None
    out, running = np.empty(ends.shape), np.empty(len(user) + 1)
    library.rw_sums(
        pointer(_whole(user)),
        pointer(np.ascontiguousarray(values)),
        ctypes.c_int64(len(user)),
        pointer(ends),
        ctypes.c_int64(ends.size),
        pointer(running),
        pointer(out),
    )
    return out


def row_digest(columns: Sequence[Ints], factors: Ints, start: int) -> int | None:
    """Return the sum of the hashes of rows of words, modulo 2^64."""
    library = loaded()
    if library is None:
        return None
    columns = [np.ascontiguousarray(column) for column in columns]
    total: int = library.rw_row_digest(
        pointer(np.array([column.ctypes.data for column in columns], dtype=np.uint64)),
        pointer(factors),
        ctypes.c_int64(len(columns)),
        ctypes.c_int64(len(columns[0])),
        ctypes.c_uint64(start),
    )
    return total


def _signed(values: Ints) -> Ints:
    """Return unsigned integers of 64 bits as signed ones of the same bits."""
    if values.dtype.kind == "u" and values.dtype.itemsize == 8:
        return values.view(np.int64)
    return values


def _whole(starts: Ints) -> Ints:
    return np.ascontiguousarray(starts, dtype=np.int64)


def pointer(array: np.ndarray[Any, Any]) -> ctypes.c_void_p:
    """Return a pointer that keeps its array alive."""
    place = ctypes.c_void_p(array.ctypes.data)
    place.array = array  # type: ignore[attr-defined]
    return place
