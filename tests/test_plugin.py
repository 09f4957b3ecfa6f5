"""A metric from another package: the one of CONTRIBUTING.md, found wherever metrics are."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # every test starts processes

ROOT = Path(__file__).parents[1]


@pytest.fixture
def installed(tmp_path):
    """The worked example as an installed package with an entry point, and a way to run it."""
    code, test, *_ = re.findall(
        r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL
    )
    site = tmp_path / "site"
    (site / "other-1.0.dist-info").mkdir(parents=True)
    (site / "other_metrics.py").write_text(code)
    (site / "test_other.py").write_text(test)
    (site / "other-1.0.dist-info" / "METADATA").write_text("Name: other\nVersion: 1.0\n")
    (site / "other-1.0.dist-info" / "entry_points.txt").write_text(
        "[rankwise.metrics]\nother = other_metrics\n"
    )

    def run(*command):
        done = subprocess.run(
            [sys.executable, *command],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(site)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout

    return run, site


def test_its_own_test_and_example(installed):
    run, site = installed
    out = run("-m", "pytest", "-q", "--doctest-modules", "-p", "no:cacheprovider", str(site))
    assert "2 passed" in out


def test_the_command_line(installed, tmp_path):
    run, _ = installed
    assert re.search(r"other_metrics +first_is_rare", run("-m", "rankwise", "metrics"))
    family = run("-m", "rankwise", "metrics", "other_metrics")
    assert re.search(r"first_is_rare\[@k\] +Share of users .*\n? *.*needs train", family)
    assert "[n_i_1 ≤ few]" in run("-m", "rankwise", "metrics", "first_is_rare")
    (tmp_path / "run.csv").write_text("user,item,rank\n1,5,1\n")
    (tmp_path / "truth.csv").write_text("user,item\n1,5\n")
    files = ("run.csv", "truth.csv", "--train", "truth.csv", "-m", "first-is-rare(few=2)")
    assert "first_is_rare(few=2)" in run("-m", "rankwise", "evaluate", *files)


def test_the_documentation(installed, tmp_path):
    run, _ = installed
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'docs' / 'generators')!r})\n"
        "from reference import index, page\n"
        "from rankwise.metrics.description import describe, every_description\n"
        "print(index(every_description()), page(describe('first_is_rare'), {}), sep='\\n====\\n')"
    )
    listing, page = run("-c", code).split("\n====\n")
    assert "first_is_rare" in listing
    assert "Extra inputs" in page
    assert "``train``" in page
    assert ".. math::" in page


def test_the_contract(installed):
    """The contract tests take it in, as they do every metric that is registered."""
    run, _ = installed
    tests = str(ROOT / "tests" / "contract")
    options = (
        "-q",
        "-n",
        "0",
        "--hypothesis-profile",
        "quick",
        "-c",
        str(ROOT / "pyproject.toml"),
        "--rootdir",
        str(ROOT),
    )
    out = run("-m", "pytest", *options, "-k", "first_is_rare or range", tests)
    assert re.search(r"[3-9] passed", out)
