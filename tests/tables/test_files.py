"""Files as people have them are read; what cannot be is an error that says where and why."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import json
import lzma
import os
import zipfile

import polars as pl
import pytest

import rankwise as rw
from rankwise.errors import FileError, IdError, InputError
from rankwise.tables import files, formats

CSV = "user,item,score\n1,3,0.9\n1,1,0.2\n2,2,0.5\n"
TRUTH = {1: {1: 2.0}, 2: {2: 1.0, 3: 3.0}}
CELLS = ["ndcg@2", "recall@2", "cg@2", "gini@2"]


@pytest.fixture
def expected():
    return rw.evaluate({1: [3, 1], 2: [2]}, TRUTH, CELLS).values


def zipped(data, *names):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in names or ("run.csv",):
            archive.writestr(name, data)
    return packed.getvalue()


ROWS = [
    {"user": 1, "item": 3, "score": 0.9},
    {"user": 1, "item": 1, "score": 0.2},
    {"user": 2, "item": 2, "score": 0.5},
]
SCORES = {"1": {"3": 0.9, "1": 0.2}, "2": {"2": 0.5}}
TREC = "1 Q0 3 1 0.9 my best run\n1 Q0 1 2 0.2 my best run\n2 Q0 2 1 0.5 my best run\n"
RUNS = {
    "run.csv.bz2": bz2.compress(CSV.encode()),
    "run.csv.xz": lzma.compress(CSV.encode()),
    "run.csv.gz": gzip.compress(CSV.encode()),
    "run.zip": zipped(CSV),
    "mac.zip": zipped(CSV, "run.csv", "__MACOSX/._run.csv"),
    "utf16.csv": CSV.encode("utf-16"),
    "mac.csv": CSV.replace("\n", "\r").encode(),
    "windows.csv": CSV.replace("\n", "\r\n").encode(),
    "blanks.csv": CSV.replace(",", " , ").encode(),
    "wide.csv": f"user,item,score,{'x' * 70_000}\n1,3,.9,\n1,1,.2,\n2,2,.5,\n".encode(),
    "records.json": json.dumps(ROWS).encode(),
    "indented.json": json.dumps(ROWS, indent=2).encode(),
    "ranx.json": json.dumps(SCORES).encode(),
    "lists.json": b'{"1": [3, 1], "2": [2]}',
    "columns.json": pl.DataFrame(ROWS).to_pandas().to_json().encode(),
    "lines.json": "\n".join(map(json.dumps, ROWS)).encode(),
    "scores.json": json.dumps(
        {user: list(items.items()) for user, items in SCORES.items()}
    ).encode(),
    "tagged.trec": TREC.encode(),
    "input.BM25": TREC.encode(),
    "commas.trec": TREC.replace("my best", "my,best").encode(),
}


@pytest.mark.parametrize("name", RUNS)
def test_runs(name, tmp_path, expected):
    (tmp_path / name).write_bytes(RUNS[name])
    assert rw.evaluate(tmp_path / name, TRUTH, CELLS).values == expected


@pytest.mark.parametrize(
    "name", ["qrels.trec8.adhoc", "judged.qrel", "qrels.txt", "qrels", "judged.trec"]
)
def test_judgements_as_nist_names_them(name, tmp_path, expected):
    (tmp_path / name).write_text("# topic 1\n1 0 1 2  # sure\n\n2 0 2 1\n# topic 2\n2 0 3 3\n")
    assert rw.evaluate({1: [3, 1], 2: [2]}, tmp_path / name, CELLS).values == expected


BAD = {
    "two.csv": (b"user,item,item\n1,2,3\n", "two columns of this file have the same name"),
    "under.csv": (b"user,item,score\n1,2,1_0\n", "column 'score' is not a number"),
    "utf16.csv": ("user,item\n1,2\n".encode("utf-16-le"), "neither text nor Parquet"),
    "nul.csv": (b"\0" * 100, "neither text nor Parquet"),
    "nul in the header.csv": (b"user,item,score\0\n1,2,0.5\n1,3,0.4\n", "neither text nor Parquet"),
    "like zlib.csv": (b"x^,user,item\n1,2,3\n", "this text file cannot be read"),
    "like zlib.inter": (
        b"x^:token\tuser_id:token\titem_id:token\n1\t2\t3\n",
        "this text file cannot be read",
    ),
    "notes.txt": (b"recommendations\nfollow\n", "the format of this file was not recognised"),
    "quote.csv": (b'user,item\nu"1,i1\nb,c\n', "a quotation mark inside a field"),
    "several.zip": (zipped("x", "a.csv", "b.csv"), "a zip archive holds one table"),
    "cut.zip": (zipped(CSV)[:60], "damaged or cut short"),
    "cut.csv.xz": (lzma.compress(CSV.encode() * 99)[:-20], "damaged or cut short"),
    "cut.csv.bz2": (bz2.compress(CSV.encode() * 99)[:-20], "damaged or cut short"),
    "fake.csv.zst": (b"\x28\xb5\x2f\xfd" + b"x" * 20, "Zstandard|damaged"),
    "twice.json": (b'{"1": [3], "1": [4]}', "duplicate key"),
    "cut.json": (b'{"1": [3', "this is not JSON"),
    "number.json": (b"5", "does not hold a table"),
    "array.json": (b"[[1, 2], [3, 4]]", "does not hold a table"),
    "deep.json": (b"[" * 100_000 + b"]" * 100_000, "nested too deeply"),
    "deep.jsonl": (b'{"user": 1, "item": ' + b"[" * 5000 + b"]" * 5000 + b"}", "nested too deeply"),
    "objects.jsonl": (b'{"a": ' * 5000 + b"1" + b"}" * 5000, "nested too deeply"),
    "both.jsonl": (b'{"user": 1, "item": 2, "items": [3]}\n', "two columns could be the item"),
    "ids.csv": (b"user,item\na,1\na ,2\n", "two ids differ only by blanks"),
    "large.csv": (b"user,item,score\n1,2,9007199254740993\n1,3,9007199254740992\n", "told apart"),
    "mixed.csv": (
        b"user,item,score\n1,2,9007199254740993\n1,3,9007199254740992\n1,4,.5\n",
        "told apart",
    ),
    "latin.csv": (b"user\xe1,item\n1,2\n", "line is malformed: not in UTF-8"),
    "latin.trec": (b"1 Q0 2 1 1 t\n\xe1 Q0 3 1 1 t\n", "line is malformed: not in UTF-8"),
    "name.csv": (b"user,item," + b"x" * 200_000 + b"\n1,2,3\n", "the first line is no header"),
    "long.csv": (
        b"user,item,score\n" + b"x" * 200_000 + b",1,z\n",
        "column 'score' is not a number",
    ),
    "cut.csv": (b"user,item,score\n" + b"x" * 200_000 + b",1,2\n1,2\n", "score"),
    "head.csv": (b'us"er,item\n1,2\n1,3\n', "a quotation mark inside a field"),
    "lines.inter": (
        "user_id:token\tx\u2028y:token\titem_id:token\trating:float\n1\t5\t6\n".encode(),
        "a line is malformed: 4 fields are expected",
    ),
    "keys.jsonl": (b'{"user": 1, "item": 2, "item": 3}\n', "duplicate key 'item'"),
    "nan.jsonl": (b'{"user": 1, "item": 2, "score": NaN}\n', "not JSON"),
    "name.zip": (zipped(CSV).replace(b"run.csv", b"sun.csv", 1), "damaged or cut short"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files(name, tmp_path):
    content, match = BAD[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=match):
        rw.evaluate(tmp_path / name, {1: {2}})


def test_a_bad_number_in_json_is_located_by_its_row(tmp_path):
    (tmp_path / "run.json").write_text(
        '[{"user": 1, "item": 2, "score": "0.5"},\n {"user": 1, "item": 3, "score": "high"}]'
    )
    with pytest.raises(InputError, match="column 'score' is not a number") as raised:
        rw.evaluate(tmp_path / "run.json", {1: {2}})
    assert raised.value.where.endswith("run.json, row 2")


def test_blanks_around_ids_are_removed_and_said(tmp_path):
    (tmp_path / "run.csv").write_text("user,item\nann, x\nann,y\n")
    result = rw.evaluate(tmp_path / "run.csv", {"ann": {"x"}}, "mrr")
    assert result["mrr"] == 1.0
    assert "blanks around ids removed: 1" in result.notes[-1]


@pytest.mark.parametrize("name", ["run[1].parquet", "run*.parquet"])
def test_a_path_is_no_pattern(name, tmp_path):
    """As a pattern, ``run[1].parquet`` is another file: ``run1.parquet``."""
    pl.DataFrame({"user": [1], "item": [9]}).write_parquet(tmp_path / "run1.parquet")
    pl.DataFrame({"user": [1], "item": [2]}).write_parquet(tmp_path / name)
    assert rw.evaluate(tmp_path / name, {1: {2}}, "mrr")["mrr"] == 1.0
    assert rw.evaluate(tmp_path / name, {1: {2}}, "mrr", chunk_rows=5)["mrr"] == 1.0


@pytest.mark.parametrize("rows", [None, 10])
@pytest.mark.parametrize(
    "address", ["http://169.254.169.254/x.parquet", "s3://bucket/x.parquet", "gs://b/x.parquet"]
)
def test_addresses_are_never_opened(address, rows, monkeypatch):
    monkeypatch.setattr(pl, "scan_parquet", lambda *_, **__: pytest.fail("opened"))
    monkeypatch.setattr(pl, "read_parquet", lambda *_, **__: pytest.fail("opened"))
    with pytest.raises(FileError, match="no such file") as raised:
        rw.evaluate(address, {1: {2}}, chunk_rows=rows)
    assert "not opened" in raised.value.hint


@pytest.mark.skipif(os.name == "nt", reason="names of files are text there")
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_names_of_files_that_are_no_text(tmp_path, suffix):
    path = tmp_path / os.fsdecode(b"n\xff" + suffix.encode())
    lists = pl.DataFrame({"user": [1, 1], "item": [3, 4], "score": [0.5, 0.25]})
    path.write_bytes(b"")
    with path.open("wb") as stream:
        (lists.write_csv if suffix == ".csv" else lists.write_parquet)(stream)
    assert rw.evaluate(path, {1: {4}}, "mrr")["mrr"] == 0.5


def test_standard_input_twice_is_read_once(monkeypatch):
    text = b"user,item\n" + b"1,2\n" * 100
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    with pytest.raises(FileError, match="the file is empty"):
        rw.evaluate("-", "-", "mrr", duplicates="first")


@pytest.mark.parametrize("path", ["x" * 5000, "a\0b", "/dev/zero", "/dev/urandom", "."])
def test_paths_that_cannot_be_opened(path):
    with pytest.raises(FileError):
        rw.evaluate(path, {1: {2}})


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() == 0, reason="root reads everything")
def test_a_file_without_permission(tmp_path):
    (tmp_path / "run.csv").write_text(CSV)
    (tmp_path / "run.csv").chmod(0)
    with pytest.raises(FileError, match="cannot be opened"):
        rw.evaluate(tmp_path / "run.csv", TRUTH)


@pytest.mark.slow
def test_what_unpacks_without_metric_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "_SMALL", 2**20)
    for pack, name in ((gzip.compress, "run.csv.gz"), (bz2.compress, "run.csv.bz2")):
        (tmp_path / name).write_bytes(pack(b"user,item\n" + b"1,2\n" * 2**22))
        with pytest.raises(FileError, match="unpacks to far more than tables do"):
            rw.evaluate(tmp_path / name, {1: {2}})
    (tmp_path / "run.csv.gz").write_bytes(gzip.compress(CSV.encode()))
    assert rw.evaluate(tmp_path / "run.csv.gz", TRUTH, "recall@2")["recall@2"] == 0.75


def test_what_does_not_fit_the_memory_is_refused(tmp_path, monkeypatch):
    (tmp_path / "run.csv").write_text(CSV)
    monkeypatch.setattr(formats, "_memory", lambda: 20)
    with pytest.raises(FileError, match="too large to be read"):
        rw.evaluate(tmp_path / "run.csv", TRUTH)


def test_damaged_parquet_never_escapes(tmp_path):
    """Polars panics, which no `except Exception` catches, on some damaged files."""
    path = tmp_path / "run.parquet"
    pl.DataFrame({"user": [1, 2] * 50, "item": ["x", "y"] * 50}).write_parquet(path)
    whole = path.read_bytes()
    for position in range(0, len(whole), max(1, len(whole) // 60)):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 0x55]) + whole[position + 1 :])
        try:
            rw.evaluate(path, {1: {"x"}}, "mrr", duplicates="first")
        except (InputError, IdError):
            continue


@pytest.mark.parametrize("name", ["run.csv", "run.parquet"])
@pytest.mark.parametrize("change", ["nothing", "written to", "removed"])
def test_a_file_that_changes_while_it_is_read(tmp_path, monkeypatch, name, change):
    path, lists = tmp_path / name, pl.DataFrame({"user": [1], "item": [2], "score": [0.5]})
    (lists.write_csv if name == "run.csv" else lists.write_parquet)(path)
    data = path.read_bytes()
    read_all = files.RawFile

    def change_it(*args, **options):
        if change == "removed":
            path.unlink(missing_ok=True)
        elif change == "written to":
            path.write_bytes(data + b"1,3,0.25\n")
        return read_all(*args, **options)

    monkeypatch.setattr(files, "RawFile", change_it)  # made once the table is read
    if change == "nothing":
        assert files.read_file(path).sha256 == hashlib.sha256(data).hexdigest()
    else:
        with pytest.raises(FileError, match="changed while it was read"):
            files.read_file(path)
