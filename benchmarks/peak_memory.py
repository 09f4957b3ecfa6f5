"""The peak memory of this process; for programs that have nothing but Python as well."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

__all__ = ["peak_memory"]


def peak_memory() -> int:
    """Return the most bytes this process ever held at once.

    On Linux ``ru_maxrss`` starts from the peak of the parent, which may be the larger; the high
    water mark of the process itself does not.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
