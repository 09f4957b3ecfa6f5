"""Tables and plain values in one string of bytes: JSON for the values, Arrow for the tables.

A hash of all bytes comes first, so that bytes that were changed on their way are never parsed.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from typing import Any

import polars as pl

from rankwise.errors import InputError

__all__ = ["pack", "unpack"]


def pack(what: str, version: int, values: Any, frames: Mapping[str, pl.DataFrame]) -> bytes:
    """Write values and tables, with the name and the version of their schema."""
    head = {"what": what, "version": version, "values": values, "frames": list(frames)}
    parts = [json.dumps(head).encode()]
    for frame in frames.values():
        body = io.BytesIO()
        frame.write_ipc(body)
        parts.append(body.getvalue())
    packed = b"".join(len(part).to_bytes(8, "little") + part for part in parts)
    return hashlib.sha256(packed).digest() + packed


def unpack(what: str, version: int, data: bytes) -> tuple[Any, dict[str, pl.DataFrame]]:
    """Read what `pack` wrote.

    Raises
    ------
    InputError
        If it is something else, of another version, cut short, or changed.
    """

    def part() -> bytes:
        return stream.read(int.from_bytes(stream.read(8), "little"))

    try:
        stream = io.BytesIO(data)
        digest = stream.read(hashlib.sha256().digest_size)
        if digest != hashlib.sha256(stream.getbuffer()[stream.tell() :]).digest():
            raise ValueError("the bytes were changed")
        head = json.loads(part())
        known = head["what"], head["version"]
        if known == (what, version):
            return head["values"], {name: pl.read_ipc(io.BytesIO(part())) for name in head["frames"]}
    except (
        OSError,
        ValueError,
        LookupError,
        TypeError,
        OverflowError,
        RecursionError,
        pl.exceptions.PolarsError,
        pl.exceptions.PanicException,
    ) as error:
        size = f"{len(data)} bytes" if isinstance(data, bytes) else type(data).__name__
        raise InputError(f"these bytes do not hold a {what}", found=size) from error
    raise InputError(
        f"these bytes hold something other than a {what} of this version of rankwise",
        found=f"{known[0]}, version {known[1]}; this version reads {what}, version {version}",
    )
