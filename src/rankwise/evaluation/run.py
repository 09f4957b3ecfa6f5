"""Running plans: every block of an encoded piece is measured, on several threads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rankwise.core.cut import Part, cut, find, parts
from rankwise.core.encoded import Encoded
from rankwise.core.measured import Measured
from rankwise.core.progress import progress_bar
from rankwise.core.threads import each, one_blas_thread
from rankwise.evaluation.plan import Plan

__all__ = ["Reading", "run", "run_together"]


@dataclass(frozen=True)
class Reading:
    """Rows as one evaluation reads them, and what it measures."""

    encoded: Encoded
    plan: Plan


def run(
    encoded: Encoded,
    plan: Plan,
    *,
    threads: int = 1,
    block_size: int | None = None,
    progress: bool | None = False,
) -> Measured:
    """Measure every evaluated user.

    Parameters
    ----------
    encoded : Encoded
        Lists and ground truth.
    plan : Plan
        The measures.
    threads : int, default=1
        Threads to use; the result does not depend on it.
    block_size : int, optional
        Users per block; by default chosen from the sizes.
    progress : bool or None, default=False
        Whether to show a progress bar; None: on a terminal, after a second.
    """

    def measure(part: Part) -> Measured:
        return plan.measure(cut(encoded, part))

    def measured() -> Iterator[Measured]:
        with progress_bar(len(encoded.lists.user), "users", shown=progress) as bar:
            for block in each(measure, list(parts(encoded, block_size, threads)), threads):
                yield block
                bar.update(len(block.user))

    with one_blas_thread():
        return Measured.join(measured(), _users_of(encoded))


def run_together(
    readings: Sequence[Reading], *, threads: int = 1, block_size: int | None = None
) -> list[Measured]:
    """Measure the same rows as several evaluations read them: lists are matched once.

    The evaluations may differ in what is relevant, who is evaluated, how ties are ordered and what
    is measured.
    """
    narrowest = min((r.encoded for r in readings), key=lambda e: (e.most_users, e.most_rows))
    listed = [p for p in parts(narrowest, block_size, threads) if isinstance(p, slice)]

    def measure(part: slice) -> list[Measured]:
        found = find(narrowest, part)
        return [one.plan.measure(found.block(one.encoded)) for one in readings]

    with one_blas_thread():
        blocks = [list(some) for some in zip(*each(measure, listed, threads), strict=True)]
        blocks = blocks or [[] for _ in readings]
        for one, some in zip(readings, blocks, strict=True):
            unlisted = [p for p in parts(one.encoded, block_size) if not isinstance(p, slice)]
            some += [one.plan.measure(cut(one.encoded, part)) for part in unlisted]
        return [
            Measured.join(some, _users_of(one.encoded))
            for one, some in zip(readings, blocks, strict=True)
        ]


def _users_of(encoded: Encoded) -> int:
    """Return the number of users with a list or without one, evaluated or not."""
    return len(encoded.lists.user) + len(encoded.unlisted)
