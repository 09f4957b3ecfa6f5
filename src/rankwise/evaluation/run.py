"""Running a plan: every block of an encoded piece is measured, on several threads."""

from __future__ import annotations

from collections.abc import Iterator

from rankwise.core.cut import Part, cut, parts
from rankwise.core.encoded import Encoded
from rankwise.core.measured import Measured
from rankwise.core.progress import progress_bar
from rankwise.core.threads import each, one_blas_thread
from rankwise.evaluation.plan import Plan

__all__ = ["run"]


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
            for block in each(measure, list(parts(encoded, block_size)), threads):
                yield block
                bar.update(len(block.user))

    with one_blas_thread():
        return Measured.join(measured())
