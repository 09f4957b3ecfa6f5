"""The width of the terminal, which tables and texts for readers must not exceed."""

from __future__ import annotations

import shutil
import sys

__all__ = ["terminal_width"]


def terminal_width() -> int | None:
    """Return the number of columns of the terminal; None if output goes elsewhere.

    Files and pipes have no width: a line that programs read is not to be broken.
    """
    if sys.stdout is not None and sys.stdout.isatty():
        return shutil.get_terminal_size(fallback=(0, 0)).columns or None
    return None
