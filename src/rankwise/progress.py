"""A progress bar for work that takes longer than a second, on a terminal and nowhere else."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

__all__ = ["Progress"]

_PATIENCE = 1.0


class Progress:
    """Counts steps; shows a bar on stderr once a second has passed.

    Parameters
    ----------
    total : int
        Steps in all.
    unit : str
        What a step is.
    shown : bool or None
        True: always; False: never; None: if stderr is a terminal.
    """

    def __init__(self, total: int, unit: str, *, shown: bool | None = None) -> None:
        self._total = total
        self._unit = unit
        self._shown = sys.stderr.isatty() if shown is None else shown
        self._forced = shown is True
        self._done = 0
        self._start = time.monotonic()
        self._bar: RichProgress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, steps: int) -> None:
        """Count some steps as done."""
        self._done += steps
        if not self._shown:
            return
        if self._bar is None and time.monotonic() - self._start > _PATIENCE:
            self._open()
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=self._done)

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        self._bar = RichProgress(
            TextColumn("evaluating"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn(self._unit),
            TimeRemainingColumn(),
            console=Console(stderr=True, force_terminal=True if self._forced else None),
            transient=True,
        )
        self._task = self._bar.add_task(self._unit, total=self._total)
        self._bar.start()
