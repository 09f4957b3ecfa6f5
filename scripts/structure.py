"""Print the size of the project, and through how many files a small call runs: ``python scripts/structure.py``.

A call is traced with ``sys.setprofile``: the functions of rankwise that it enters, their files, and
how often the file changes from one entered function to the next.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import rankwise as rw

SOURCE = Path(rw.__file__).parent
METRICS = ["ndcg@10", "recall@10", "catalog_coverage@10"]


def trace(call: Callable[[], Any]) -> str:
    """Return how many functions and files a call enters, and how often the file changes."""
    entered: list[tuple[str, str]] = []

    def record(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(str(SOURCE)):
            entered.append((frame.f_code.co_filename, frame.f_code.co_qualname))

    call()  # what is loaded and remembered at the first call is not counted
    sys.setprofile(record)
    try:
        call()
    finally:
        sys.setprofile(None)
    files = [file for file, _ in entered]
    changes = sum(before != after for before, after in pairwise(files))
    return f"{len(set(entered))} functions, {len(set(files))} files, {changes} changes of file"


def main() -> None:
    """Print the figures."""
    lines = [len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCE.rglob("*.py")]
    print(f"{len(lines)} modules, {sum(lines):,} lines, mean {statistics.mean(lines):.0f}, largest {max(lines)}")
    truth = {user: {1, 2} for user in range(20)}
    lists = {"a": {user: [1, 3] for user in truth}, "b": {user: [1, 2 + user % 2] for user in truth}}
    print("evaluate:", trace(lambda: rw.evaluate(lists["a"], truth, METRICS)))
    results = {name: rw.evaluate(rows, truth, METRICS) for name, rows in lists.items()}
    print("compare:", trace(lambda: rw.compare(results)))
    print("compare and show:", trace(lambda: repr(rw.compare(results))))


if __name__ == "__main__":
    main()
