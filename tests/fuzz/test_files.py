"""Damaged files of every format: the number of what Python's own readers find in them, or an error.

Compressed files carry checksums: what is damaged there has the number of the whole file, or none.
"""

from __future__ import annotations

import csv
import io
import json
import time

import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from fuzz.containers import CONTAINERS, FILES, PACKED
from fuzz.oracle import METRICS
from fuzz.reading import Reading
from fuzz.test_tables import assert_agree, expected
from rankwise.errors import InputError

LISTS = pl.DataFrame(
    {
        "user": ["ann", "ann", "ann", "bob", "bob", "cyd"],
        "item": ["x", "y", "z", "x", "w", "z"],
        "score": [0.5, 2.25, 2.25, 1.0, 3.0, 1.5],
    }
)
NUMBERED = LISTS.with_columns(
    user=pl.col("user").rank("dense").cast(pl.Int64),
    item=pl.col("item").rank("dense").cast(pl.Int64),
)
TRUTH = [("ann", "y", 2.0), ("ann", "w", 1.0), ("bob", "w", 3.0), ("cyd", "x", 1.0)]
NUMBERED_TRUTH = [(1, 3, 2.0), (1, 1, 1.0), (2, 1, 3.0), (3, 2, 1.0)]
SECONDS = 5


@st.composite
def damaged(draw, data):
    """Draw what becomes of bytes that are flipped, cut, inserted, repeated or zeroed."""
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, max(len(data) - 1, 0)))
        n = draw(st.integers(1, 12))
        part = data[at : at + n]
        change = draw(
            st.sampled_from(
                [
                    bytes(byte ^ 1 << draw(st.integers(0, 7)) for byte in part[:1]) + part[1:],
                    b"",
                    part + part,
                    part + draw(st.binary(max_size=4)),
                    part * draw(st.integers(2, 99)),
                    bytes(n),
                    b'"' + part,
                    b"\n" + part,
                    b"," + part,
                    b"-" + part,
                    b"1" + part,
                    part[::-1],
                    part.upper(),
                ]
            )
        )
        data = data[:at] + change + data[draw(st.sampled_from([at + n] * 9 + [len(data)])) :]
    return data


def outcome(path, truth):
    """Return the values, or None for an error of rankwise; nothing takes longer than a while."""
    begun = time.process_time()
    try:
        return rw.evaluate(path, truth, METRICS, columns={"recommendations.rank": None}).values
    except InputError:
        return None
    finally:
        assert time.process_time() - begun < SECONDS


def columns_of(head):
    """Return where the columns stand that are found by their names, of which letters count."""
    plain = ["".join(filter(str.isalnum, name.lower())) for name in head]
    return [plain.index(column) for column in ("user", "item", "score")]


def read_csv(data, separator):
    lines = csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), delimiter=separator)
    head, *rows = [row for row in lines if row]
    at = columns_of(head)
    assert all(len(row) == len(head) for row in rows)
    return [(row[at[0]], row[at[1]], float(row[at[2]])) for row in rows]


def read_lines(data):
    rows = [
        json.loads(line, object_pairs_hook=each_once) for line in data.splitlines() if line.strip()
    ]
    return [(row["user"], row["item"], float(row["score"])) for row in rows]


def each_once(pairs):
    assert len(dict(pairs)) == len(pairs)
    return dict(pairs)


def read_trec(data):
    lines = [line for line in data.decode().split("\n") if line.split() and line.lstrip()[0] != "#"]
    fields = [line.replace("\t", " ").strip(" \r").split(" ") for line in lines]
    return [(row[0], row[2], float(row[4])) for row in ([f for f in row if f] for row in fields)]


def read_parquet(data):
    table = pq.read_table(io.BytesIO(data))
    frame = table.select(columns_of(table.column_names))
    return list(zip(*frame.to_pydict().values(), strict=True))


READERS = {
    "table.csv": lambda data: read_csv(data, ","),
    "table.tsv": lambda data: read_csv(data, "\t"),
    "table.jsonl": read_lines,
    "table.trec": read_trec,
    "table.parquet": read_parquet,
}


@pytest.mark.parametrize("numbered", [False, True])
@pytest.mark.parametrize("name", FILES)
@given(data=st.data())
def test_damaged_files(name, numbered, data, tmp_path_factory):
    path = tmp_path_factory.mktemp("files") / name
    frame, truth = (NUMBERED, NUMBERED_TRUTH) if numbered else (LISTS, TRUTH)
    if name == "nested.json":
        frame, truth = LISTS, TRUTH
    content = data.draw(damaged(FILES[name](frame, "score")))
    path.write_bytes(content)
    found = outcome(path, truth)
    if found is None or name not in READERS or b"\r" in content:  # a line end to some readers
        return
    try:
        rows = READERS[name](content)
    except Exception as error:
        if name == "table.parquet":  # which has no checksums, and readers of different severity
            return
        raise AssertionError(f"a number of what Python's reader refuses: {error!r}") from error
    reading = Reading(rows, CONTAINERS[name].is_text)
    assert_agree(found, expected(reading, Reading(truth, is_text=False)))


@pytest.mark.parametrize("ending", [ending for ending in PACKED if ending])
@given(data=st.data())
def test_damaged_compressed_files(ending, data, tmp_path_factory):
    path = tmp_path_factory.mktemp("files") / f"table.csv{ending}"
    plain = FILES["table.csv"](LISTS, "score")
    path.write_bytes(data.draw(damaged(PACKED[ending](plain))))
    found = outcome(path, TRUTH)
    if found is not None:
        assert_agree(found, expected(Reading(LISTS.rows(), True), Reading(TRUTH, False)))


@pytest.mark.parametrize("ending", PACKED)
@given(
    content=st.binary(max_size=300),
    prefix=st.sampled_from(
        [b"", b"PAR1", b"[", b"{", b"\x1f\x8b", b"BZh9", b"PK\x03\x04", b"\xff\xfe", b"user,item\n"]
    ),
)
def test_files_of_any_bytes(ending, content, prefix, tmp_path_factory):
    path = tmp_path_factory.mktemp("files") / f"table.csv{ending}"
    path.write_bytes(prefix + content)
    found = outcome(path, TRUTH)
    if found is not None:  # bytes that are a table name no user of the truth
        assert not any(found.values())
