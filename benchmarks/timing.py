"""Times taken in turns, and the table they are reported in."""

from __future__ import annotations

import compileall
import gc
import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

import numpy as np

import rankwise

__all__ = ["Line", "claim_memory", "in_turns", "markdown", "ratio", "seconds", "write_bytecode"]

Job: TypeAlias = "Callable[[], object]"


@dataclass(frozen=True)
class Line:
    """One line of the table: what was found, beside what was aimed at."""

    what: str
    found: float
    unit: str = "×"
    least: float | None = None
    most: float | None = None
    note: str = ""

    @property
    def target(self) -> str:
        """The target as text."""
        if self.least is not None:
            return f"≥ {self.least:g}{self.unit}"
        return "–" if self.most is None else f"≤ {self.most:g}{self.unit}"

    @property
    def met(self) -> str:
        """Whether the target was met."""
        if self.least is None and self.most is None:
            return "–"
        low = self.least is None or self.found >= self.least
        return "yes" if low and (self.most is None or self.found <= self.most) else "no"


def markdown(lines: Iterable[Line]) -> str:
    """Write lines as a Markdown table."""
    rows = ["| what | found | target | met | note |", "|---|--:|--:|---|---|"]
    rows += [
        f"| {line.what} | {line.found:.2f}{line.unit} | {line.target} | {line.met} | {line.note} |"
        for line in lines
    ]
    return "\n".join(rows)


def write_bytecode() -> None:
    """Compile rankwise, as an installer does: else every new process may compile all of it anew.

    Python writes no bytecode if ``PYTHONDONTWRITEBYTECODE`` is set; an editable install then has
    none, and other libraries have.
    """
    compileall.compile_dir(Path(rankwise.__file__).parent, quiet=1)


def claim_memory(size: int) -> None:
    """Take memory of this many bytes and give it back, so that a run after it finds some ready.

    The host of a virtual machine takes back memory that no process uses; a page that it has to
    give again costs many times as much as one that the machine still has. Without this step, times
    would depend on what ran before.
    """
    np.ones(size, dtype=np.uint8)


def seconds(job: Job, memory: int = 0) -> float:
    """Time one run, with nothing left over from the one before, and so much memory ready."""
    gc.collect()
    if memory:
        claim_memory(memory)
    start = time.perf_counter()
    result = job()
    taken = time.perf_counter() - start
    del result  # only now: giving memory back is not part of the job
    return taken


def in_turns(jobs: Sequence[Job], times: int = 5, *, memory: int = 0) -> list[list[float]]:
    """Time jobs in turns, A B A B …, after one run of each to warm up.

    Parameters
    ----------
    jobs : sequence of callable
        What is timed.
    times : int, default=5
        Turns.
    memory : int, default=0
        Bytes that each run is to find ready (`claim_memory`): as many as it needs.

    Returns
    -------
    list of list of float
        For each job, its seconds in each turn.
    """
    for job in jobs:
        job()
    turns = [[seconds(job, memory) for job in jobs] for _ in range(times)]
    return [list(each) for each in zip(*turns, strict=True)]


def ratio(above: Sequence[float], below: Sequence[float]) -> float:
    """Return the median of the ratios of runs that stood next to each other."""
    return statistics.median(a / b for a, b in zip(above, below, strict=True))
