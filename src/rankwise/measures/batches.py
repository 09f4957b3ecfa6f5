"""Lists of equal length, so many at a time that what is computed of them stays in the cache."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rankwise.core.arrays import Array, namespace
from rankwise.core.block import Block

__all__ = ["batches"]

_CELLS = 1 << 18  # numbers in one work array: small enough for the cache


def batches(block: Block, rows: Array, cutoff: int, work_size: Callable[[int], int]) -> Iterator[tuple[Array, Array]]:
    """Yield batches of users with equally many items in the top k, at least two.

    Parameters
    ----------
    block : Block
        The users and the lengths of their lists.
    rows : array
        A value for each row of all lists.
    cutoff : int
        The cut-off k.
    work_size : callable
        Returns the size of the work array that a list of n items needs.

    Yields
    ------
    users : array of int, shape (u,)
        The users.
    values : array, shape (u, n)
        The values of the rows of their top k.
    """
    xp = namespace(block.list_length)
    starts = xp.cumulative_sum(block.list_length) - block.list_length
    length = xp.clip(block.list_length, max=cutoff)
    lengths = sorted({min(n, cutoff) for n in block.list_lengths})
    for n in lengths:
        if n < 2:
            continue
        users = xp.nonzero(length == n)[0] if len(lengths) > 1 else xp.arange(block.n_users)
        step = max(1, _CELLS // work_size(n))
        for first in range(0, users.shape[0], step):
            batch = users[first : first + step]
            index = xp.take(starts, batch)[:, None] + xp.arange(n)[None, :]
            yield batch, xp.reshape(xp.take(rows, xp.reshape(index, (-1,))), (-1, n))
