"""What is there for tests, and what is said where it is not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import tools


@pytest.fixture
def bare(tmp_path, monkeypatch):
    """Only this folder is on the PATH."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    return tmp_path


def program(path: Path) -> str:
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.skipif(sys.platform == "win32", reason="programs have suffixes there")
def test_java_is_the_one_that_spark_starts(bare, monkeypatch):
    assert tools.java() is None
    on_path = program(bare / "bin" / "java")
    assert tools.java() == on_path
    monkeypatch.setenv("JAVA_HOME", str(bare / "gone"))
    assert tools.java() is None  # Spark does not look at the PATH then
    assert tools.java is tools.TOOLS["java"][0]
    at_home = program(bare / "jdk" / "bin" / "java")
    monkeypatch.setenv("JAVA_HOME", str(bare / "jdk"))
    assert tools.java() == at_home


def test_a_folder_is_no_library(tmp_path, monkeypatch):
    """As tests/torch would be PyTorch where PyTorch is not installed."""
    (tmp_path / "no_library_of_this_name").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    assert not tools.installed("no_library_of_this_name")
    assert not tools.installed("no_library_of_that_name")
    assert tools.installed("polars")


def test_what_is_required_must_be_there(bare, monkeypatch):
    monkeypatch.setenv("RANKWISE_REQUIRE", "")
    tools.check_required()
    monkeypatch.setenv("RANKWISE_REQUIRE", "java, pytest-is-no-tool")
    with pytest.raises(LookupError, match="names pytest-is-no-tool; known: "):
        tools.check_required()
    monkeypatch.setenv("RANKWISE_REQUIRE", " java")
    with pytest.raises(LookupError, match=r"what is not here: Spark \(no Java\)"):
        tools.check_required()


def test_the_last_line_says_what_is_not_tested(bare):
    environment = {"PATH": str(bare / "bin"), "PYTHONPATH": str(tools.ROOT / "src")}
    done = subprocess.run(
        [sys.executable, tools.__file__],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("not tested here: ")
    assert "Spark (no Java)" in done.stdout
    assert done.stdout.count("\n") == 1
    check = (tools.ROOT / "scripts" / "check").read_text()
    assert check.splitlines()[-2:] == ["python tests/tools.py", "exit $failed"]
