"""Files that are replaced atomically, their hashes, and the folder of a saved result.

A reader finds the previous content or the new content, and never a mixture. Whatever is written
first has a name of its own, with a stamp, and one rename puts it in place: the only step that is
atomic on POSIX and on Windows. Writers in a folder share a lock on it, so that a writer who gets
the lock alone knows that other files with a stamp were left by a writer that was killed, and
removes them.

In the folder of a saved result, ``result.json`` is replaced last, in one step, and names each data
file with its SHA-256. No name of a data file is used twice, so that a reader who has the old
``result.json`` finds the old data or none, and then reads the new one. Plain names would be
shorter, but two files of fixed names cannot be replaced in one step, and a link to a folder needs
rights on Windows.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import secrets
import shutil
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from rankwise.core.hashing import json_hash
from rankwise.core.saved_forms import RESULT, SavedForm, form_of_keys
from rankwise.core.terminal import as_json
from rankwise.errors import FileError, OutputError, RankwiseError

_STAMP = "[0-9a-f]{12}"
"""The pattern of stamps."""
_DAY = 86_400.0  # seconds after which a file is left over, where nobody can have the lock


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically; halves of characters, as paths may have, are escaped."""
    data = text.encode("utf-8", "backslashreplace")
    new_file(path, lambda part: part.write_bytes(data))


def append_text(path: Path, text: str) -> None:
    """Append a paragraph to a text file; a file that is not there begins with it.

    Raises
    ------
    OutputError
        If it cannot be written.
    """
    with output_errors(path):
        is_begun = path.is_file() and path.stat().st_size > 0
        data = ("\n" * is_begun + text).encode("utf-8", "backslashreplace")
        with path.open("ab") as stream:
            stream.write(data)


def new_file(path: Path, write: Callable[[Path], object]) -> None:
    """Write a temporary file beside the target, then replace the target.

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
        with workplace(path.parent, _parts_of(path.name)) as stamp:
            part = _part_of(path, stamp)
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
        with workplace(path.parent, _parts_of(path.name)) as stamp:
            part = _part_of(path, stamp)
            part.mkdir()
            yield part
            if path.exists():  # it stays the same folder: it may be somebody's working directory
                for file in part.iterdir():
                    file.replace(path / file.name)
            else:
                part.replace(path)


@contextlib.contextmanager
def workplace(
    folder: Path, temporary: str, in_use: Callable[[], Collection[str] | None] = frozenset
) -> Iterator[str]:
    """Yield a stamp for file names, then remove the files that are not in use.

    ``temporary`` is the pattern of what names with a stamp look like; everything else in the folder
    stays. ``in_use`` returns the names with a stamp that are in use, by default none; None if
    nobody can know, so that all of them stay.
    """
    stamp = secrets.token_hex(6)
    with _lock(folder) as is_only_writer:
        try:
            yield stamp
        finally:
            with contextlib.suppress(OSError):  # leftovers can wait for the next writer
                removable = "" if is_only_writer() else stamp  # any stamp, where nobody else writes
                used = in_use()  # after the lock: until then another writer may finish
                if used is not None:
                    _clean(folder, temporary, used, removable)


def _clean(folder: Path, temporary: str, used: Collection[str], removable: str) -> None:
    """Remove unused files that have a removable stamp or are old."""
    for file in folder.iterdir():
        is_left = removable in file.name or time.time() - file.stat().st_mtime > _DAY
        if is_left and re.fullmatch(temporary, file.name) and file.name not in used:
            _remove(file)


def _part_of(path: Path, stamp: str) -> Path:
    """Return the temporary file, or folder, that is to become ``path``."""
    return path.with_name(f".{path.name}.{stamp}.part")


def _parts_of(name: str) -> str:
    """Return the pattern of the names that `_part_of` gives, with any stamp."""
    return rf"\.{re.escape(name)}\.{_STAMP}\.part"


def _remove(file: Path) -> None:
    with contextlib.suppress(OSError):  # Windows keeps a file that somebody reads
        shutil.rmtree(file, ignore_errors=True) if file.is_dir() else file.unlink()


@contextlib.contextmanager
def _lock(folder: Path) -> Iterator[Callable[[], bool]]:
    """Share a lock on a folder; yield a function that returns whether no one else has a lock.

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
    """Convert write errors of the system and of Polars to `OutputError`."""
    try:
        yield
    except RankwiseError:
        raise
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).partition("\n")[0]
        raise OutputError(
            "this cannot be written", where=str(path), found=reason or None
        ) from error


def read_object(path: Path, most_bytes: int = 1 << 24) -> dict[str, Any]:
    """Return the JSON object of a file of so many bytes at most; empty for anything else."""
    try:
        if not path.is_file() or path.stat().st_size > most_bytes:
            return {}
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def refuse_replacing(file: Path, what: str, is_ours: Callable[[Mapping[str, Any]], bool]) -> None:
    """Raise unless a file is missing, empty, or of the kind that is to be written there.

    Raises
    ------
    OutputError
        If it is of another kind, such as an input.
    """
    is_filled = file.is_file() and file.stat().st_size > 0
    if is_filled and not is_ours(read_object(file)):
        raise OutputError(
            f"this file is not {what}, and would be replaced",
            where=str(file),
            hint="name another file",
        )


def file_hash(path: str | Path) -> str:
    """Return the SHA-256 of a file."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def file_state(path: Path) -> tuple[int, int, int] | None:
    """Return inode, size and modification time of a file, to detect changes; None if no file."""
    try:
        state = path.stat() if path.is_file() else None
    except (OSError, ValueError):  # a name that no file can have
        return None
    return None if state is None else (state.st_ino, state.st_size, state.st_mtime_ns)


def is_folder(path: str | Path) -> bool:
    """Return whether a path is a folder; False for a name that no file can have."""
    return os.path.isdir(path)  # noqa: PTH112 - Path.is_dir raises where a path is too long


def is_parquet(path: Path) -> bool:
    """Return whether a file is Parquet, by its first bytes or its name."""
    if path.suffix in (".parquet", ".pq"):
        return True
    try:
        with path.open("rb") as stream:
            return stream.read(4) == b"PAR1"
    except OSError:
        return False


def polars_path(path: Path) -> str | None:
    """Return a path that Polars takes literally, ``~`` included; None if not in UTF-8."""
    text = str(path.absolute())
    try:
        text.encode()
    except UnicodeEncodeError:
        return None
    return text


_HEAD = "result.json"
_DATA = rf"[a-z_]+-{_STAMP}\.parquet"
_OURS = f"{_DATA}|{_parts_of(_HEAD)}"
_ATTEMPTS = 50  # of a reader whom writers overtake


def write_folder(folder: Path, values: dict[str, Any], frames: Mapping[str, pl.DataFrame]) -> None:
    """Write values as JSON and tables as Parquet, which replace an older result.

    Raises
    ------
    OutputError
        If they cannot be written; an older result is then untouched.
    """
    with output_errors(folder), contextlib.ExitStack() as stack:
        if not folder.exists():
            folder.mkdir(parents=True, exist_ok=True)
            stack.callback(_remove_empty, folder)
        stamp = stack.enter_context(workplace(folder, _OURS, lambda: _in_use(folder)))
        files = {}
        for name, frame in frames.items():
            path = folder / f"{name}-{stamp}.parquet"
            frame.write_parquet(path)
            files[name] = {"name": path.name, "sha256": file_hash(path)}
        head = {**values, "files": files}
        part = _part_of(folder / _HEAD, stamp)
        text = as_json({**head, "sha256": json_hash(json.loads(as_json(head)))})
        part.write_text(text, encoding="utf-8")
        replaced = _in_use(folder)
        part.replace(folder / _HEAD)
        for name in replaced or ():
            with contextlib.suppress(OSError):  # Windows keeps a file that somebody reads
                (folder / name).unlink()


def read_folder(
    folder: Path, form: SavedForm = RESULT
) -> tuple[dict[str, Any], dict[str, pl.DataFrame]]:
    """Return the values and tables that `write_folder` wrote, as the current version has them.

    Raises
    ------
    FileError
        If it is something else, of another version, or not as it was written.
    """
    gone: FileNotFoundError | None = None
    for _ in range(_ATTEMPTS):
        head = _read_head(folder, form)
        try:
            frames = {name: _read_data(folder, file) for name, file in head["files"].items()}
            current: tuple[dict[str, Any], dict[str, pl.DataFrame]] = form.upgrade(
                (head, frames), form.version_of(head)
            )
            return current
        except FileNotFoundError as error:  # a writer has replaced the result in the meantime
            if gone is not None and gone.filename == error.filename:
                break
            gone = error
    raise FileError(
        f"a file that {_HEAD} names is gone",
        where=str(folder),
        found=None if gone is None else f"no {Path(gone.filename).name}",
        hint="keep the files of a result in one folder, and copy them together",
    ) from gone


def _check_form(head: Mapping[str, Any], form: SavedForm) -> None:
    """Raise if a file is of another form, which `rankwise.load` reads."""
    other = form_of_keys(head.keys())
    if other is not None and other is not form:
        raise ValueError(f"it is of the form {other.name!r}, which {other.writer} wrote")


def _read_head(folder: Path, form: SavedForm) -> dict[str, Any]:
    """Read ``result.json``, and check its version and hash."""
    path = folder / _HEAD
    try:
        if path.exists() and not path.is_file():
            raise ValueError(f"{_HEAD} is no regular file")
        head: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        _check_form(head, form)
        version, digest = form.version_of(head), head.pop("sha256", None)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise FileError(
            f"this folder does not hold a saved {form.name}",
            where=str(folder),
            found=str(error).splitlines()[0] if str(error) else type(error).__name__,
            hint=f"{form.writer} writes {_HEAD} and the files that it names",
        ) from error
    form.check(version, str(path), written_by=_writer(head))
    if digest != json_hash(head) or not _names_data(head):
        raise _changed(path)
    return head


def _writer(head: Any) -> Any:
    """Return the rankwise version that a result names; None without a version."""
    try:
        return head["provenance"]["versions"]["rankwise"]
    except (LookupError, TypeError):
        return None


def _names_data(head: Any) -> bool:
    """Return whether ``result.json`` names only data files."""
    files = head.get("files") if isinstance(head, dict) else None
    return isinstance(files, dict) and all(
        isinstance(file, dict) and re.fullmatch(_DATA, str(file.get("name")))
        for file in files.values()
    )


def _read_data(folder: Path, file: Mapping[str, str]) -> pl.DataFrame:
    """Read a table of a result; raise if its hash differs from ``result.json``."""
    path = folder / file["name"]
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise FileError("this cannot be read", where=str(path), found=error.strerror) from error
    if hashlib.sha256(data).hexdigest() != file.get("sha256"):
        raise _changed(path)
    return pl.read_parquet(io.BytesIO(data))


def _changed(path: Path) -> FileError:
    return FileError(
        "this file was changed after the result was saved",
        where=str(path),
        hint="a result is read as it was written: restore the file, or evaluate and save again",
    )


def _in_use(folder: Path) -> set[str] | None:
    """Return the names of the data files of the result in a folder; None if nobody can know."""
    try:
        head = json.loads((folder / _HEAD).read_bytes())
    except FileNotFoundError:
        return set()
    except (OSError, ValueError, RecursionError):
        return None
    return {file["name"] for file in head["files"].values()} if _names_data(head) else None


def _remove_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):  # it holds the result
        folder.rmdir()
