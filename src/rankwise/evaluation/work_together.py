"""One piece for several jobs: rows that jobs read alike are encoded and matched once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rankwise.core.partial import Partial
from rankwise.core.threads import default_threads
from rankwise.evaluation.preconditions import check_piece
from rankwise.evaluation.run import Reading, run_together
from rankwise.evaluation.work import Job, complete, partial_of, with_truth
from rankwise.tables.table import Recommendations, Tables

__all__ = ["work_together"]


def work_together(jobs: Sequence[Job], recommendations: Recommendations) -> list[Partial]:
    """Evaluate all lists for several jobs that read rows alike, and users without a list.

    Lists are encoded and matched once. Each job has the ground truth, and the jobs' settings may
    differ in what is relevant, who is evaluated, how ties are ordered and what is measured
    (`Encoder.reads_rows` says whether rows are read alike).
    """
    first, *others = jobs
    piece = first.settings.readings.of(with_truth(first, Tables(recommendations=recommendations)))
    threads = first.settings.threads or default_threads()
    for job in jobs:
        check_piece(job.plan, recommendations, job.settings.relevance_threshold)
    encoded = first.encoder.encode(piece, threads=threads)
    others = [replace(job, encoder=job.encoder.beside(first.encoder)) for job in others]
    readings = [Reading(encoded, first.plan)] + [
        Reading(job.encoder.encode(piece, threads=threads, like=encoded), job.plan) for job in others
    ]
    measured = run_together(readings, threads=threads, block_size=first.settings.block_size)
    return [
        complete(job, [partial_of(job, piece, one.encoded, found)])
        for job, one, found in zip([first, *others], readings, measured, strict=True)
    ]
