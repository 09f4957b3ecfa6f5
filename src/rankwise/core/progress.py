"""A progress bar for work that takes longer than a second, on a terminal and nowhere else."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from tqdm import tqdm

__all__ = ["progress_bar"]

_PATIENCE = 1.0


class _Hidden:
    """No bar, for which tqdm need not be loaded."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def update(self, steps: float) -> None:
        """Do nothing."""


def progress_bar(total: int, unit: str, *, shown: bool | None = None) -> tqdm[Any] | _Hidden:
    """Return a bar on stderr that appears after a second.

    Parameters
    ----------
    total : int
        Steps in all.
    unit : str
        What a step is.
    shown : bool or None, default=None
        True: always; False: never; None: if stderr is a terminal.
    """
    if shown is False or (shown is None and not sys.stderr.isatty()):
        return _Hidden()
    from tqdm import tqdm

    return tqdm(total=total, unit=f" {unit}", delay=_PATIENCE, leave=False)
