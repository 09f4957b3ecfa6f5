"""Resampling by matrix products: random signs and bootstrap weights, bit-reproducible.

Replicates are computed in panels and users in blocks, both of fixed size, and every panel and
block has its own stream of random numbers. So a seed gives the same bits whatever the number of
threads and of panels at a time, and nothing larger than a panel times a block is held in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Literal, TypeAlias

import numpy as np

from rankwise.core.arguments import check_positive
from rankwise.core.threads import default_threads, each, one_blas_thread
from rankwise.errors import ParameterError
from rankwise.stats.differences import Floats

__all__ = ["Kind", "projections", "sums"]

Kind: TypeAlias = Literal["signs", "weights"]

_PANEL = 128  # replicates
_BLOCK = 4096  # users
_MOST = 10_000_000  # replicates: more would take hours, and change no digit that is shown
_EXACT = 2048  # users up to which bootstrap weights are exactly multinomial


@cache
def _poisson_table() -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Return 65,536 draws, as close to Poisson(1) as 16 bits allow, with mean exactly 1."""
    from scipy.stats import poisson

    counts = np.round(poisson.pmf(np.arange(9), 1) * 65536).astype(np.int64)
    from_two = counts[2:]
    counts[1] = 65536 - int((from_two * np.arange(2, 9)).sum())  # makes the mean 1
    counts[0] = 65536 - int(from_two.sum()) - counts[1]
    return np.repeat(np.arange(9, dtype=np.uint8), counts)


def _draw(kind: Kind, seed: int, panel: int, block: int, users: int) -> Floats:
    """Draw a panel of replicates for a block of users, shape (_PANEL, users)."""
    stream = np.random.Generator(np.random.SFC64(np.random.SeedSequence([seed, panel, block])))
    if kind == "signs":
        packed = np.frombuffer(stream.bytes(_PANEL * ((users + 7) // 8)), dtype=np.uint8)
        bits = np.unpackbits(packed.reshape(_PANEL, -1), axis=1, count=users)
        signs: Floats = bits.astype(np.float64) * 2 - 1
        return signs
    indices = np.frombuffer(stream.bytes(_PANEL * users * 2), dtype=np.uint16)
    weights: Floats = _poisson_table()[indices].reshape(_PANEL, users).astype(np.float64)
    return weights


def _draw_exact(seed: int, panel: int, users: int) -> Floats:
    """Draw multinomial bootstrap weights: each replicate draws as many users as there are."""
    stream = np.random.Generator(np.random.SFC64(np.random.SeedSequence([seed, panel])))
    drawn = stream.integers(0, users, (_PANEL, users)) + np.arange(_PANEL)[:, None] * users
    counts = np.bincount(drawn.ravel(), minlength=_PANEL * users)
    return counts.reshape(_PANEL, users).astype(np.float64)


def sums(
    columns: Floats, n_resamples: int, *, kind: Kind, seed: int, threads: int | None = None, batch: int | None = None
) -> Iterator[Floats]:
    """Yield weighted sums of columns over users, one panel of replicates at a time, shape (128, m).

    ``columns`` has one row per user. ``kind`` weights users by random signs, or by how often a
    bootstrap resample contains them: exactly n draws for up to 2,048 users, independent Poisson(1)
    counts above. Replicates are computed ``batch`` at a time, by default 128 per thread.
    """
    check_positive(n_resamples=n_resamples, threads=threads, batch=batch)
    if n_resamples > _MOST:
        raise ParameterError(f"at most {_MOST:,} resamples are drawn", found=f"n_resamples={n_resamples}")
    check_positive(least=0, seed=seed)
    at_once = threads or default_threads()
    at_once = max(1, min(at_once, -(-(batch or _PANEL * at_once) // _PANEL)))
    data = np.ascontiguousarray(columns, dtype=np.float64)
    users = len(data)

    def work(panel: int) -> Floats:
        if kind == "weights" and users <= _EXACT:
            return _draw_exact(seed, panel, users) @ data
        out = np.zeros((_PANEL, data.shape[1]))
        for block, first in enumerate(range(0, users, _BLOCK)):
            rows = data[first : first + _BLOCK]
            out += _draw(kind, seed, panel, block, len(rows)) @ rows
        return out

    n_panels = -(-n_resamples // _PANEL)
    with one_blas_thread():
        for first in range(0, n_panels, at_once):  # these are yielded before the next ones start
            panels = range(first, min(first + at_once, n_panels))
            for panel, replicates in zip(panels, each(work, panels, at_once), strict=True):
                yield replicates[: n_resamples - panel * _PANEL]


def projections(
    columns: Floats, n_resamples: int, *, kind: Kind, seed: int, threads: int | None = None, batch: int | None = None
) -> Floats:
    """Return all weighted sums at once, shape (n_resamples, m); see `sums`.

    Examples
    --------
    >>> ones = np.ones((10, 1))
    >>> projections(ones, 3, kind="weights", seed=0).ravel().tolist()
    [10.0, 10.0, 10.0]
    """
    panels = sums(columns, n_resamples, kind=kind, seed=seed, threads=threads, batch=batch)
    return np.concatenate(list(panels))
