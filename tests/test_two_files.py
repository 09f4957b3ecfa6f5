"""A new metric is two files: CONTRIBUTING's example in a copy of the repository, and all its tests."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = (
    pytest.mark.deep
)  # it runs the contract tests, which always run, in a process of its own

ROOT = Path(__file__).parents[1]


def test_two_files_and_nothing_else(tmp_path):
    code = re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)
    metric, test = (
        next(text for text in code if wanted in text)
        for wanted in ("class LastHit", "def test_last_hit")
    )
    copy = tmp_path / "copy"
    for part in ("src", "tests", "docs", "examples", "README.md", "pyproject.toml", "scripts"):
        source = ROOT / part
        ignored = shutil.ignore_patterns("__pycache__", ".*")
        shutil.copytree(source, copy / part, ignore=ignored) if source.is_dir() else shutil.copy(
            source, copy / part
        )
    (copy / "src" / "rankwise" / "metrics" / "last_hit.py").write_text(
        f'"""The last hit of a list."""\n\nfrom __future__ import annotations\n\n{metric}'
    )
    (copy / "tests" / "metrics" / "test_last_hit.py").write_text(test)
    environment = {**os.environ, "PYTHONPATH": str(copy / "src")}

    def run(*arguments):
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=copy,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    found = run("-c", "import rankwise; print(rankwise.__file__, rankwise.LastHit().cells)")
    assert str(copy) in found.stdout, found.stderr
    assert "last_hit" in found.stdout
    asked = "last_hit or layers or twin or range or matter or composed or choose or names"
    done = run(
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-n",
        "0",
        "--hypothesis-profile",
        "quick",
        "-k",
        asked,
        "tests/contract",
        "tests/test_layers.py",
        "tests/metrics/test_last_hit.py",
        "tests/metrics/test_against_functional.py",
        "tests/metrics/test_display.py",
        "tests/test_docs.py",
        "tests/cli/test_metrics.py",
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert re.search(r"\d{2,} passed", done.stdout)
