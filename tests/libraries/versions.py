"""What ``scripts/check-libraries`` ran with: a row for the table of README.md, which ``write`` replaces."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

NAMES = {
    "implicit": "implicit",
    "surprise": "scikit-surprise",
    "cornac": "cornac",
    "lightfm": "lightfm",
    "lenskit": "lenskit",
    "rectools": "rectools",
    "lightgbm": "lightgbm",
    "xgboost": "xgboost-cpu",
    "catboost": "catboost",
    "sklearn": "scikit-learn",
}
HEAD = "| library | version | Python | NumPy | pandas | PyTorch |"
PAGE = Path(__file__).with_name("README.md")


def row(library: str) -> str:
    """Return the versions that this environment has."""
    versions = [_version(name) for name in (NAMES[library], "numpy", "pandas", "torch")]
    return f"| {NAMES[library]} | {versions[0]} | {platform.python_version()} | {' | '.join(versions[1:])} |"


def _version(name: str) -> str:
    try:
        return version(name).partition("+")[0]
    except PackageNotFoundError:
        return ""


def write(new: str) -> None:
    """Put a row in the place of the one of the same library."""
    lines = PAGE.read_text(encoding="utf-8").split("\n")
    start = lines.index(HEAD) + 2
    stop = next(at for at in range(start, len(lines)) if not lines[at].startswith("|"))
    rows = {line.split("|")[1]: line for line in (*lines[start:stop], new)}
    order = [f" {name} " for name in NAMES.values()]
    lines[start:stop] = sorted(rows.values(), key=lambda line: order.index(line.split("|")[1]))
    PAGE.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    write(row(sys.argv[1]))
