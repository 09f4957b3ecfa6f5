from __future__ import annotations

import errno
import os
import re
import time

import polars as pl
import pytest

from rankwise.errors import OutputError
from rankwise.tables.storage import new_file, new_folder, workplace, write_text

LEFT = "0123456789ab"
FULL = OSError(errno.ENOSPC, "No space left on device")


def file(path, text="new"):
    write_text(path, text)


def folder(path, text="new"):
    with new_folder(path) as part:
        (part / "inner").mkdir()
        (part / "inner" / "a").write_text(text)


def content(path):
    return (path / "inner" / "a" if path.is_dir() else path).read_text()


@pytest.mark.parametrize("write", [file, folder])
def test_what_a_killed_writer_left_goes(tmp_path, write):
    left = tmp_path / f".out.{LEFT}.part"
    left.mkdir() if write is folder else left.touch()
    kept = [".other.0123456789ab.part", ".out.part", "out.0123456789ab.part"]
    for name in kept:
        (tmp_path / name).touch()
    write(tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*kept, "out"])
    assert content(tmp_path / "out") == "new"


def test_the_file_of_another_writer_at_work_stays(tmp_path):
    def overtaken(part):
        write_text(tmp_path / "out", "theirs")
        assert part.read_text() == "mine"

    new_file(tmp_path / "out", lambda part: (part.write_text("mine"), overtaken(part)))
    assert content(tmp_path / "out") == "mine"
    assert len(list(tmp_path.iterdir())) == 1


def test_what_is_in_use_is_asked_while_nobody_else_can_finish(tmp_path):
    """Asked before, the answer may miss the file that another writer puts to use meanwhile."""
    fcntl = pytest.importorskip("fcntl")
    others = []

    def in_use():
        descriptor = os.open(tmp_path, os.O_RDONLY)
        try:
            with pytest.raises(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            others.append("wait")
        finally:
            os.close(descriptor)
        return frozenset()

    with workplace(tmp_path, "x", in_use):
        pass
    assert others == ["wait"]


def test_without_locks_only_old_files_go(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")

    def refused(*_):
        raise OSError(errno.ENOTSUP, "no locks here")

    monkeypatch.setattr(fcntl, "flock", refused)
    old, fresh = (tmp_path / f".out.{digit * 12}.part" for digit in "01")
    old.touch()
    fresh.touch()
    week_ago = time.time() - 7 * 86_400
    os.utime(old, (week_ago, week_ago))
    file(tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == [fresh.name, "out"]


@pytest.mark.parametrize("error", [FULL, pl.exceptions.ComputeError(f"parquet: {FULL}\nmore")])
@pytest.mark.parametrize("kind", [new_file, new_folder])
def test_a_write_that_fails_leaves_what_was_there(tmp_path, kind, error):
    (tmp_path / "out").write_text("old")

    def fails(part):
        raise error

    def in_folder(path, fails):
        with new_folder(path) as part:
            fails(part)

    with pytest.raises(OutputError, match=r"No space left on device\)?$"):
        (new_file if kind is new_file else in_folder)(tmp_path / "out", fails)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert content(tmp_path / "out") == "old"


def test_our_own_errors_are_not_wrapped(tmp_path):
    with pytest.raises(OutputError, match=re.compile("^mine$")), new_folder(tmp_path / "out"):
        raise OutputError("mine")


@pytest.mark.parametrize("exists", [True, False])
def test_a_folder_is_as_any_other(tmp_path, exists):
    (tmp_path / "usual").mkdir()
    if exists:
        (tmp_path / "out").mkdir()
        number = (tmp_path / "out").stat().st_ino
    folder(tmp_path / "out")
    assert (tmp_path / "out").stat().st_mode == (tmp_path / "usual").stat().st_mode
    assert not exists or (tmp_path / "out").stat().st_ino == number


def test_links_are_followed_and_devices_written_to(tmp_path):
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    file(tmp_path / "link")
    assert content(tmp_path / "target") == "new"
    assert (tmp_path / "link").is_symlink()
    file(tmp_path.joinpath("/dev/null"))
    file(tmp_path / "half", "a\udcffb")
    assert content(tmp_path / "half") == "a\\udcffb"
