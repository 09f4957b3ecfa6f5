from __future__ import annotations

import hashlib
import json

import polars as pl
import pytest

from rankwise.blocks.partial import pack, unpack
from rankwise.core.saved_forms import BUCKET_USERS, PARTIAL
from rankwise.errors import FileError, InputError

FRAME = pl.DataFrame({"user": ["ann", "bob"], "hits": [1.5, 2.0]})
PACKED = pack(PARTIAL, {"users": 2}, {"users": FRAME, "none": FRAME[:0]})


def test_what_is_packed_comes_back():
    values, frames = unpack(PARTIAL, PACKED)
    assert values == {"users": 2}
    assert frames["users"].equals(FRAME)
    assert frames["none"].equals(FRAME[:0])


@pytest.mark.parametrize("flip", [1, 128])
def test_no_byte_can_be_changed(flip):
    for at in range(len(PACKED)):
        changed = bytearray(PACKED)
        changed[at] ^= flip
        with pytest.raises(InputError, match="do not hold a partial"):
            unpack(PARTIAL, bytes(changed))


@pytest.mark.parametrize("size", [*range(64), len(PACKED) - 1])
def test_nor_be_missing(size):
    with pytest.raises(InputError, match="do not hold a partial"):
        unpack(PARTIAL, PACKED[:size])


HEAD = {"what": "partial", "version": PARTIAL.version, "values": None, "frames": []}


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
        unpack(PARTIAL, hashlib.sha256(body).digest() + body)


def test_bytes_of_another_form():
    with pytest.raises(InputError, match="something other than a users of a bucket"):
        unpack(BUCKET_USERS, PACKED)


def test_the_version_is_read_before_the_tables():
    head = json.dumps({"what": "partial", "version": PARTIAL.version + 1}).encode()
    body = len(head).to_bytes(8, "little") + head
    with pytest.raises(FileError, match=f"reads {PARTIAL.version}\\n.*use a newer rankwise"):
        unpack(PARTIAL, hashlib.sha256(body).digest() + body)
