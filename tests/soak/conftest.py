"""What starts as a script, and what only it imports."""

from __future__ import annotations

from tools import installed

# The worlds of Spark's tests, and those of tensors, are among its own.
collect_ignore = [
    f"{name}.py" for name in ("plain_values", "random_worlds", "roads", "soak", "torch_road")
]
collect_ignore_glob = [] if installed("pyspark") and installed("torch") else ["test_*.py"]
