"""The command line in another process."""

from __future__ import annotations

import os
import subprocess
import sys


def rankwise(folder, *arguments, stdin=None):
    return subprocess.run(
        [sys.executable, "-m", "rankwise", *map(str, arguments)],
        cwd=folder, capture_output=True, text=True, input=stdin, timeout=120,
        env={**os.environ, "COLUMNS": "100"},
    )  # fmt: skip
