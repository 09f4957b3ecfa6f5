"""The folder of a saved result: ``result.json``, and the data files that it names.

``result.json`` is replaced last, in one step, and names each data file with its SHA-256. No name of
a data file is used twice, so that a reader who has the old ``result.json`` finds the old data or
none, and then reads the new one. Plain names would be shorter, but two files of fixed names cannot
be replaced in one step, and a link to a folder needs rights on Windows.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from rankwise.core.view import as_json
from rankwise.errors import FileError
from rankwise.tables.atomic_files import STAMP, output_errors, workplace
from rankwise.tables.on_disk import file_hash, json_hash

__all__ = ["read_folder", "write_folder"]

_HEAD = "result.json"
_DATA = rf"[a-z_]+-{STAMP}\.parquet"
_OURS = re.compile(rf"{_DATA}|\.{re.escape(_HEAD)}\.{STAMP}\.part")
_ATTEMPTS = 50  # of a reader whom writers overtake


def write_folder(folder: Path, values: dict[str, Any], frames: Mapping[str, pl.DataFrame]) -> None:
    """Write values, as JSON has them, and tables, which replace those of an older result.

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
        part = folder / f".{_HEAD}.{stamp}.part"
        text = as_json({**head, "sha256": json_hash(json.loads(as_json(head)))})
        part.write_text(text, encoding="utf-8")
        replaced = _in_use(folder)
        part.replace(folder / _HEAD)
        for name in replaced or ():
            with contextlib.suppress(OSError):  # Windows keeps a file that somebody reads
                (folder / name).unlink()


def read_folder(folder: Path, version: int) -> tuple[dict[str, Any], dict[str, pl.DataFrame]]:
    """Read what `write_folder` wrote, with ``schema_version`` among its values.

    Raises
    ------
    FileError
        If it is something else, of another version, or not as it was written.
    """
    gone: FileNotFoundError | None = None
    for _ in range(_ATTEMPTS):
        head = _read_head(folder, version)
        try:
            return head, {name: _read_data(folder, file) for name, file in head["files"].items()}
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


def _read_head(folder: Path, version: int) -> dict[str, Any]:
    """Return the content of ``result.json``, if it is as it was written."""
    path = folder / _HEAD
    try:
        if path.exists() and not path.is_file():
            raise ValueError(f"{_HEAD} is no regular file")
        head: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        found, digest = head["schema_version"], head.pop("sha256", None)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise FileError(
            "this folder does not hold a saved result",
            where=str(folder),
            found=str(error).splitlines()[0] if str(error) else type(error).__name__,
            hint=f"Result.save writes {_HEAD} and the files that it names",
        ) from error
    if found != version:
        raise FileError(
            "this result was saved by another version of rankwise",
            where=str(path),
            found=f"schema {found!r}, this version reads {version}",
        )
    if digest != json_hash(head) or not _names_data(head):
        raise _changed(path)
    return head


def _names_data(head: Any) -> bool:
    """Return whether the content of ``result.json`` names files of data, and no others."""
    files = head.get("files") if isinstance(head, dict) else None
    return isinstance(files, dict) and all(
        isinstance(file, dict) and re.fullmatch(_DATA, str(file.get("name"))) for file in files.values()
    )


def _read_data(folder: Path, file: Mapping[str, str]) -> pl.DataFrame:
    """Return a table, if it is as it was written."""
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
