"""Resampling by matrix products: signs and weights drawn in blocks, the same bits always.

Replicates are worked out in panels of a fixed size, users in blocks of a fixed size, and every
panel and block has a stream of random numbers of its own. So a seed gives the same bits whatever
the number of threads and of panels at a time, and nothing larger than a panel times a block is
held.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from rankwise.arguments import check_positive
from rankwise.core.parallel import default_threads, each, one_blas_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rankwise.stats.differences import Floats

__all__ = ["Kind", "projections", "sums"]

Kind: TypeAlias = Literal["signs", "weights"]

_PANEL = 128  # replicates
_BLOCK = 4096  # users
_FEW = 2048  # users up to which weights are drawn exactly


@cache
def _poisson_table() -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Return 65,536 draws that are Poisson(1) as nearly as 16 bits allow, with mean exactly 1."""
    from scipy.stats import poisson

    counts = np.round(poisson.pmf(np.arange(9), 1) * 65536).astype(np.int64)
    many = counts[2:]
    counts[1] = 65536 - int((many * np.arange(2, 9)).sum())  # so that the mean is 1
    counts[0] = 65536 - int(many.sum()) - counts[1]
    return np.repeat(np.arange(9, dtype=np.uint8), counts)


def _draw(kind: Kind, seed: int, panel: int, block: int, users: int) -> Floats:
    """Draw a panel of replicates for a block of users, shape (_PANEL, users)."""
    stream = np.random.Generator(np.random.SFC64(np.random.SeedSequence([seed, panel, block])))
    if kind == "signs":
        packed = np.frombuffer(stream.bytes(_PANEL * ((users + 7) // 8)), dtype=np.uint8)
        bits = np.unpackbits(packed.reshape(_PANEL, -1), axis=1, count=users)
        signs: Floats = bits.astype(np.float64) * 2 - 1
        return signs
    picked = np.frombuffer(stream.bytes(_PANEL * users * 2), dtype=np.uint16)
    weights: Floats = _poisson_table()[picked].reshape(_PANEL, users).astype(np.float64)
    return weights


def _few(seed: int, panel: int, users: int) -> Floats:
    """Draw exact bootstrap weights of few users: each replicate draws as many as there are."""
    stream = np.random.Generator(np.random.SFC64(np.random.SeedSequence([seed, panel])))
    drawn = stream.integers(0, users, (_PANEL, users)) + np.arange(_PANEL)[:, None] * users
    counts = np.bincount(drawn.ravel(), minlength=_PANEL * users)
    return counts.reshape(_PANEL, users).astype(np.float64)


def sums(
    columns: Floats,
    n_resamples: int,
    *,
    kind: Kind,
    seed: int,
    threads: int | None = None,
    batch: int | None = None,
) -> Iterator[Floats]:
    """Yield weighted sums of columns over users, a panel of replicates at a time.

    Parameters
    ----------
    columns : array, shape (n, m)
        What to add up, a row a user.
    n_resamples : int
        How many replicates.
    kind : {"signs", "weights"}
        Weigh users by random signs, or by how often a bootstrap draws them: exactly n draws for up
        to 2,048 users, independent Poisson(1) counts above.
    seed : int
        Decides the draws.
    threads : int, optional
        Threads to use; the result does not depend on it.
    batch : int, optional
        Replicates at work at a time, 128 a thread at least; the result does not depend on it.

    Yields
    ------
    array, shape (128, m) or what is left
        The sums of these replicates, in order.
    """
    check_positive(n_resamples=n_resamples, threads=threads, batch=batch)
    check_positive(least=0, seed=seed)
    at_once = threads or default_threads()
    at_once = max(1, min(at_once, -(-(batch or _PANEL * at_once) // _PANEL)))
    data = np.ascontiguousarray(columns, dtype=np.float64)
    users = len(data)

    def work(panel: int) -> Floats:
        if kind == "weights" and users <= _FEW:
            return _few(seed, panel, users) @ data
        out = np.zeros((_PANEL, data.shape[1]))
        for block, first in enumerate(range(0, users, _BLOCK)):
            part = data[first : first + _BLOCK]
            out += _draw(kind, seed, panel, block, len(part)) @ part
        return out

    panels = range(-(-n_resamples // _PANEL))
    with one_blas_thread():
        for panel, found in zip(panels, _in_turn(work, panels, at_once), strict=True):
            yield found[: n_resamples - panel * _PANEL]


def _in_turn(work: Callable[[int], Floats], panels: range, at_once: int) -> Iterator[Floats]:
    """Work on some panels at a time, and on no more: what is done is given away first."""
    for first in range(0, len(panels), at_once):
        yield from each(work, panels[first : first + at_once], at_once)


def projections(
    columns: Floats, n_resamples: int, *, kind: Kind, seed: int, threads: int | None = None,
    batch: int | None = None,
) -> Floats:  # fmt: skip
    """Return all weighted sums at once, shape (n_resamples, m); see `sums`.

    Examples
    --------
    >>> ones = np.ones((10, 1))
    >>> projections(ones, 3, kind="weights", seed=0).ravel().tolist()
    [10.0, 10.0, 10.0]
    """
    parts = sums(columns, n_resamples, kind=kind, seed=seed, threads=threads, batch=batch)
    return np.concatenate(list(parts))
