"""Atomic writes: a reader finds the previous content or the new content, and never a mixture.

Whatever is written first has a name of its own, with a stamp, and one rename puts it in place: the
only step that is atomic on POSIX and on Windows. Writers in a folder share a lock on it, so that a
writer who gets the lock alone knows that other files with a stamp were left by a writer that was
killed, and removes them.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import sys
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import polars as pl

from rankwise.errors import OutputError, RankwiseError

__all__ = ["STAMP", "new_file", "new_folder", "output_errors", "workplace", "write_text"]

STAMP = "[0-9a-f]{12}"
"""The pattern of stamps."""
_DAY = 86_400.0  # seconds after which a file is left over, where nobody can have the lock


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically; halves of characters, as paths may have, are escaped."""
    data = text.encode("utf-8", "backslashreplace")
    new_file(path, lambda part: part.write_bytes(data))


def new_file(path: Path, write: Callable[[Path], object]) -> None:
    """Let ``write`` fill a temporary file beside the target, then replace the target with it.

    Links are followed; devices and pipes are written to directly.

    Raises
    ------
    OutputError
        If it cannot be written.
    """
    with output_errors(path):
        path = path.resolve()
        if path.exists() and not path.is_file():
            write(path)
            return
        with workplace(path.parent, _parts(path)) as stamp:
            part = path.with_name(f".{path.name}.{stamp}.part")
            write(part)
            part.replace(path)


@contextlib.contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary folder that becomes ``path``, which is new or empty.

    Raises
    ------
    OutputError
        If it cannot be written.
    """
    with output_errors(path):
        path = path.resolve()
        path.parent.mkdir(parents=True, exist_ok=True)
        with workplace(path.parent, _parts(path)) as stamp:
            part = path.with_name(f".{path.name}.{stamp}.part")
            part.mkdir()
            yield part
            if path.exists():  # it stays the same folder: it may be somebody's working directory
                for file in part.iterdir():
                    file.replace(path / file.name)
            else:
                part.replace(path)


@contextlib.contextmanager
def workplace(
    folder: Path, temporary: re.Pattern[str], in_use: Callable[[], Collection[str] | None] = frozenset
) -> Iterator[str]:
    """Yield a stamp for the names of files, then remove those that are not in use.

    Parameters
    ----------
    folder : Path
        Where they are written.
    temporary : re.Pattern
        What names with a stamp look like; everything else stays.
    in_use : callable, optional
        Returns the names with a stamp that are in use, by default none; None if nobody can know,
        so that all of them stay.
    """
    stamp = secrets.token_hex(6)
    with _lock(folder) as alone:
        try:
            yield stamp
        finally:
            with contextlib.suppress(OSError):  # leftovers can wait for the next writer
                known = "" if alone() else stamp  # every stamp is known to one who is alone
                used = in_use()  # after the lock: until then another writer may finish
                if used is not None:
                    _clean(folder, temporary, used, known)


def _clean(folder: Path, temporary: re.Pattern[str], used: Collection[str], known: str) -> None:
    """Remove files that are not in use: those of a known stamp, and old ones."""
    for file in folder.iterdir():
        left = known in file.name or time.time() - file.stat().st_mtime > _DAY
        if left and temporary.fullmatch(file.name) and file.name not in used:
            _remove(file)


def _parts(path: Path) -> re.Pattern[str]:
    return re.compile(rf"\.{re.escape(path.name)}\.{STAMP}\.part")


def _remove(file: Path) -> None:
    if file.is_dir():
        shutil.rmtree(file, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):  # Windows keeps a file that somebody reads
            file.unlink()


@contextlib.contextmanager
def _lock(folder: Path) -> Iterator[Callable[[], bool]]:
    """Share a lock on a folder; yield a function that returns whether no one else has it.

    Windows, and some file systems of networks, have no such lock: then nobody can know.
    """
    if sys.platform == "win32":
        yield lambda: False
        return
    import fcntl

    with contextlib.ExitStack() as stack:

        def locked(kind: int) -> bool:
            with contextlib.suppress(OSError):
                fcntl.flock(descriptor, kind)
                return True
            return False

        shared = False
        with contextlib.suppress(OSError):  # one may write into a folder that one cannot read
            descriptor = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, descriptor)
            shared = locked(fcntl.LOCK_SH)
        yield lambda: shared and locked(fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextlib.contextmanager
def output_errors(path: Path) -> Iterator[None]:
    """Raise an `OutputError` where the system, or Polars for it, says that it cannot write."""
    try:
        yield
    except RankwiseError:
        raise
    except (OSError, pl.exceptions.PolarsError) as error:
        found = (getattr(error, "strerror", None) or str(error)).splitlines()
        raise OutputError("this cannot be written", where=str(path), found=found[0] if found else None) from error
