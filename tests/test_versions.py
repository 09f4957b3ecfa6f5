"""The script that finds new versions of libraries knows every convention, and compares numbers."""

from __future__ import annotations

import runpy
from pathlib import Path

import rankwise as rw

SCRIPT = runpy.run_path(str(Path(__file__).parents[1] / "scripts" / "check_versions.py"))


def test_every_library_has_a_package():
    without = {
        "default",
        "trec_eval",
        "warprec-1.4",
    }  # rankwise, no package, and an earlier version
    assert {*SCRIPT["PACKAGES"]} == {*rw.conventions()} - without


def test_versions_are_compared_as_numbers():
    is_newer = SCRIPT["is_newer"]
    assert is_newer("0.10.0", "0.9.1")
    assert not is_newer("1.9.1", "1.9")  # what a convention does not tell apart
    assert not is_newer("0.5.11", "0.5.11")
    assert SCRIPT["version_run"](rw.conventions()["lenskit"].library) == "2026.3.0"


def test_a_newer_version_is_said_and_counted(monkeypatch, capsys):
    """Here the index has a newer ranx, no recbole, and for all others what was run."""
    conventions = rw.conventions()
    runs = {
        package: SCRIPT["version_run"](conventions[name].library)
        for name, package in SCRIPT["PACKAGES"].items()
    }
    there = runs | {"ranx": "0.4.0", "recbole": None}
    monkeypatch.setitem(SCRIPT["main"].__globals__, "newest", there.get)
    assert SCRIPT["main"]() == 1
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert lines["ranx"].endswith("newer")
    assert lines["recbole"].endswith("not on the index")
    assert sum(line.endswith("the same") for line in lines.values()) == len(lines) - 2
