"""The pointer to the result that shipped last: a small file that names it, with its digest."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankwise.core import __version__
from rankwise.core.saved_forms import SHIPPED, form_of_keys
from rankwise.core.terminal import as_json
from rankwise.errors import FileError
from rankwise.tables.storage import file_hash, read_object, refuse_replacing, write_text

_LARGEST = 1 << 16  # bytes of a pointer; a table of per-user values in JSON may be larger
_BEGIN = "name the result in production: rankwise ship RESULT FILE"


@dataclass(frozen=True)
class Shipped:
    """The result that shipped last, as a pointer names it.

    Attributes
    ----------
    file : Path
        The pointer.
    result : Path
        The folder of the saved result, or the table of per-user values.
    result_sha256 : str
        The hash of its ``result.json``, which has the hashes of the other files, or of the table.
    decision_sha256 : str or None
        The digest of the decision that moved the pointer; None if it was moved by hand.
    """

    file: Path
    result: Path
    result_sha256: str
    decision_sha256: str | None = None

    def checked_result(self) -> Path:
        """Return the path of the result.

        Raises
        ------
        FileError
            If the result is gone, or not what it was when it shipped.
        """
        head = _head_of(self.result)
        if not head.is_file():
            raise FileError(
                "the result that shipped last is gone",
                where=str(self.file),
                found=f"no {self.result}",
                hint=f"keep it beside the pointer, or {_BEGIN}",
            )
        if file_hash(head) != self.result_sha256:
            raise FileError(
                "this result was changed after it had shipped",
                where=str(self.result),
                found=f"another hash than {self.file} has",
                hint=f"save every result in a folder of its own, and {_BEGIN}",
            )
        return self.result


def is_shipped(path: Path) -> bool:
    """Return whether a path is a pointer to the result that shipped last."""
    return form_of_keys(_content_of(path).keys()) is SHIPPED


def read_shipped(path: Path) -> Shipped:
    """Read a pointer.

    Raises
    ------
    FileError
        If it is of another version, or lacks a part.
    """
    content = _content_of(path)
    version = content.get(SHIPPED.key)
    SHIPPED.check(version, str(path), written_by=content.get("rankwise"))
    content = SHIPPED.upgrade(content, version)
    try:
        result, digest, decision = (
            content[name] for name in ("result", "result_sha256", "decision_sha256")
        )
        return Shipped(path, path.parent / result, str(digest), decision)
    except (LookupError, TypeError) as error:
        raise FileError(
            "this pointer to the result that shipped last lacks a part",
            where=str(path),
            found=f"{error!r}",
            hint=_BEGIN,
        ) from error


def write_shipped(file: Path, result: Path, *, decision_sha256: str | None = None) -> Shipped:
    """Make a pointer name a result, in one step; a pointer in the place of a result is followed.

    Raises
    ------
    OutputError
        If the file cannot be written, or is something else than a pointer.
    FileError
        If a pointer is followed whose result is gone, or was changed.
    """
    refuse_replacing(file, "a pointer to what shipped", lambda content: SHIPPED.key in content)
    if is_shipped(result):
        result = read_shipped(result).checked_result()
    result = result.parent if result.name == "result.json" else result

    shipped = Shipped(file, result, file_hash(_head_of(result)), decision_sha256)
    content = {
        SHIPPED.key: SHIPPED.version,
        "rankwise": __version__,
        "result": _path_from(file, result),
        "result_sha256": shipped.result_sha256,
        "decision_sha256": decision_sha256,
    }
    write_text(file, as_json(content))
    return shipped


def refuse_missing_pointer(path: Path) -> None:
    """Raise if a file that could be a pointer does not exist.

    Raises
    ------
    FileError
        If there is no such file; it says how to begin one.
    """
    if path.suffix == ".json" and not path.exists():
        raise FileError(
            "there is no such file",
            where=str(path),
            hint=f"if it is to name the result that shipped last, begin it: rankwise ship RESULT "
            f"{path}",
        )


def _head_of(result: Path) -> Path:
    """Return the file whose hash stands for a result."""
    return result / "result.json" if result.is_dir() else result


def _path_from(file: Path, result: Path) -> str:
    """Return the path of a result as seen from the folder of a pointer."""
    target = result.resolve()
    try:
        return Path(os.path.relpath(target, file.resolve().parent)).as_posix()
    except ValueError:  # another drive on Windows
        return target.as_posix()


def _content_of(path: Path) -> dict[str, Any]:
    """Return the JSON object of a small file; empty for anything else."""
    return read_object(path, _LARGEST) if path.suffix == ".json" else {}
