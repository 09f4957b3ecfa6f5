from __future__ import annotations

import hashlib
import json

import polars as pl
import pytest

from rankwise.blocks.partial import pack, unpack
from rankwise.errors import InputError

FRAME = pl.DataFrame({"user": ["ann", "bob"], "hits": [1.5, 2.0]})
PACKED = pack("partial", 3, {"users": 2}, {"users": FRAME, "none": FRAME[:0]})


def test_what_is_packed_comes_back():
    values, frames = unpack("partial", 3, PACKED)
    assert values == {"users": 2}
    assert frames["users"].equals(FRAME)
    assert frames["none"].equals(FRAME[:0])


@pytest.mark.parametrize("flip", [1, 128])
def test_no_byte_can_be_changed(flip):
    for at in range(len(PACKED)):
        changed = bytearray(PACKED)
        changed[at] ^= flip
        with pytest.raises(InputError, match="do not hold a partial"):
            unpack("partial", 3, bytes(changed))


@pytest.mark.parametrize("size", [*range(64), len(PACKED) - 1])
def test_nor_be_missing(size):
    with pytest.raises(InputError, match="do not hold a partial"):
        unpack("partial", 3, PACKED[:size])


HEAD = {"what": "partial", "version": 3, "values": None, "frames": []}


@pytest.mark.parametrize(
    "head",
    [
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"9" * 9_999,
        b"\xff",
        b"null",
        b"5",
        b'"x"',
        b"{}",
        {**HEAD, "frames": None},
        {**HEAD, "frames": ["users"]},
        {**HEAD, "frames": [[]]},
    ],
)
def test_another_hand_that_writes_hashes(head):
    head = head if isinstance(head, bytes) else json.dumps(head).encode()
    body = len(head).to_bytes(8, "little") + head
    with pytest.raises(InputError, match="do not hold a partial"):
        unpack("partial", 3, hashlib.sha256(body).digest() + body)


@pytest.mark.parametrize(("what", "version"), [("job", 3), ("partial", 2)])
def test_bytes_of_something_else(what, version):
    with pytest.raises(InputError, match="something other than"):
        unpack(what, version, PACKED)
