"""What matching and ranking hits cost in ways that were kept and ways that were not: milliseconds.

``python benchmarks/matching.py`` runs each on the 13.8 million rows of MovieLens' shape, in turns,
in one thread, after it was seen that they agree. With NPY_DISABLE_CPU_FEATURES NumPy sorts as on
processors that do not sort many numbers at once.
"""

from __future__ import annotations

import statistics

import numpy as np
import workload
from timing import in_turns

from rankwise.blocks.matching import match
from rankwise.core import kernels

LENGTH, AT_ONCE = workload.LIST_LENGTH, 4096
NOTHING = np.uint32(0xFFFFFFFF)


def hits_by_sorting(items: workload.Ints, judged: workload.Ints, starts: workload.Ints) -> int:
    """Count hits: items of list and ground truth in one row, packed with their column, sorted."""
    hits, lists = 0, len(items) // LENGTH
    for first in range(0, lists, AT_ONCE):
        last = min(first + AT_ONCE, lists)
        counts = np.diff(starts[first : last + 1])
        rows = np.full((last - first, LENGTH + int(counts.max())), NOTHING)
        listed = items[first * LENGTH : last * LENGTH].reshape(-1, LENGTH).astype(np.uint32)
        rows[:, :LENGTH] = listed << 8 | np.arange(LENGTH, dtype=np.uint32)
        column = np.arange(starts[first], starts[last]) - np.repeat(starts[first:last], counts)
        packed = judged[starts[first] : starts[last]].astype(np.uint32) << 8
        rows[np.repeat(np.arange(last - first), counts), LENGTH + column] = packed | 255
        rows.sort(axis=1)
        same = (rows[:, 1:] ^ rows[:, :-1]) < 256
        hits += int(np.count_nonzero(same & (rows[:, 1:] != NOTHING)))
    return hits


def main() -> None:
    """Print the table."""
    work = workload.movielens()
    items, judged = work.recs["item"].to_numpy(), work.truth["item"].to_numpy()
    lists = len(items) // LENGTH
    starts = np.searchsorted(work.truth["user"].to_numpy(), np.arange(lists + 1))
    edges = np.arange(0, len(items) + 1, LENGTH)
    scores = np.random.default_rng(0).random((lists, LENGTH))

    def table() -> int:
        with kernels.without_library():
            return len(match(items, edges, judged, starts).rows)

    def road() -> int:
        return len(match(items, edges, judged, starts).rows)

    rows = match(items, edges, judged, starts).rows
    assert hits_by_sorting(items, judged, starts) == table() == road() == len(rows)
    jobs = {
        f"match: {kernels.implementation()}": road,
        "match: hash table of NumPy": table,
        "match: packed rows sorted": lambda: hits_by_sorting(items, judged, starts),
        "scores of all lists sorted": lambda: scores.copy().sort(axis=1),
        "scores above each hit counted": lambda: (
            scores[rows // LENGTH] > scores.ravel()[rows][:, None]
        ).sum(axis=1),
    }
    for name, taken in zip(jobs, in_turns([*jobs.values()]), strict=True):
        print(f"| {name} | {1000 * statistics.median(taken):.0f} ms |")


if __name__ == "__main__":
    main()
