"""Running plans: every block of an encoded piece is measured, on several threads."""

from __future__ import annotations

from itertools import accumulate

from rankwise.core.cut import cut, parts
from rankwise.core.encoded import Encoded
from rankwise.core.measured import Joined, Measured
from rankwise.core.progress import progress_bar
from rankwise.core.threads import each, one_blas_thread
from rankwise.evaluation.plan import Plan

__all__ = ["run"]


def run(
    encoded: Encoded, plan: Plan, *, threads: int = 1, block_size: int | None = None, progress: bool | None = False
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
    jobs = list(parts(encoded, block_size, threads))
    counted = encoded.is_counted(encoded.lists.user)
    users = (int(counted[job].sum()) if isinstance(job, slice) else len(job) for job in jobs)
    firsts = list(accumulate(users, initial=0))  # the users evaluated before each block, and after the last
    joined = Joined(firsts)

    def measure(job: int) -> int:
        joined.add(plan.measure(cut(encoded, jobs[job])), job)
        return firsts[job + 1] - firsts[job]

    with one_blas_thread(), progress_bar(firsts[-1], "users", shown=progress) as bar:
        for n_users in each(measure, range(len(jobs)), threads):
            bar.update(n_users)
    return joined.measured()
