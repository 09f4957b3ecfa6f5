"""Atomic writes: a file or folder has either its new content or its previous content."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from rankwise.errors import OutputError

__all__ = ["new_file", "new_folder", "write_text"]


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    new_file(path, lambda part: part.write_text(text, encoding="utf-8"))


def new_file(path: Path, write: Callable[[Path], object]) -> None:
    """Let ``write`` fill a temporary file beside the target, then replace the target with it.

    Links are followed; devices and pipes are written to directly.

    Raises
    ------
    OutputError
        If it cannot be written.
    """
    path = path.resolve()
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        if path.exists() and not path.is_file():
            write(path)
            return
        write(part)
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise _unwritable(path, error) from error


@contextlib.contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary folder whose files move to ``path`` when all of them are written.

    Raises
    ------
    OutputError
        If they cannot be written.
    """
    part = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
        yield part
        path.mkdir(exist_ok=True)
        for file in part.iterdir():
            file.replace(path / file.name)
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        if part is not None:
            shutil.rmtree(part, ignore_errors=True)


def _unwritable(path: Path, error: OSError) -> OutputError:
    return OutputError(
        "this cannot be written", where=str(path), found=error.strerror or str(error)
    )
