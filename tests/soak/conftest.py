"""What starts as a script, and what only it imports."""

from __future__ import annotations

from pathlib import Path

from tools import installed

# The worlds of Spark's tests, and those of tensors, are among its own.
collect_ignore = [
    path.name
    for path in Path(__file__).parent.glob("*.py")
    if not path.name.startswith(("test_", "conftest"))
]
collect_ignore_glob = [] if installed("pyspark") and installed("torch") else ["test_*.py"]
