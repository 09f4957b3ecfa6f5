"""Running plans: every block of an encoded piece is measured, on several threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from rankwise.core.cut import Part, cut, find, parts
from rankwise.core.encoded import Encoded
from rankwise.core.measured import Joined, Measured
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
    firsts = _first_users(encoded, jobs)
    joined = Joined(firsts)

    def measure(job: int) -> int:
        joined.add(plan.measure(cut(encoded, jobs[job])), job)
        return firsts[job + 1] - firsts[job]

    with one_blas_thread(), progress_bar(firsts[-1], "users", shown=progress) as bar:
        for users in each(measure, range(len(jobs)), threads):
            bar.update(users)
    return joined.measured()


def run_together(readings: Sequence[Reading], *, threads: int = 1, block_size: int | None = None) -> list[Measured]:
    """Measure the same rows as several evaluations read them: lists are matched once.

    The evaluations may differ in what is relevant, who is evaluated, how ties are ordered and what
    is measured.
    """
    narrowest = min((r.encoded for r in readings), key=lambda e: (e.most_users, e.most_rows))
    listed = [p for p in parts(narrowest, block_size, threads) if isinstance(p, slice)]
    unlisted = [[p for p in parts(one.encoded, block_size) if not isinstance(p, slice)] for one in readings]
    joined = [
        Joined(_first_users(one.encoded, [*listed, *others])) for one, others in zip(readings, unlisted, strict=True)
    ]

    def measure(job: int) -> None:
        found = find(narrowest, listed[job])
        for one, whole in zip(readings, joined, strict=True):
            whole.add(one.plan.measure(found.block(one.encoded)), job)

    with one_blas_thread():
        list(each(measure, range(len(listed)), threads))
        for one, others, whole in zip(readings, unlisted, joined, strict=True):
            for job, part in enumerate(others, start=len(listed)):
                whole.add(one.plan.measure(cut(one.encoded, part)), job)
    return [whole.measured() for whole in joined]


def _first_users(encoded: Encoded, jobs: list[Part]) -> list[int]:
    """Return how many users are evaluated before each part, and after the last."""
    counted = encoded.is_counted(encoded.lists.user)
    users = (int(counted[job].sum()) if isinstance(job, slice) else len(job) for job in jobs)
    return list(accumulate(users, initial=0))
