"""Saved results: the old one or the new one, never a mixture, and nothing that was changed."""

from __future__ import annotations

import errno
import json
import math
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import rankwise as rw
from rankwise.errors import FileError, OutputError, ParameterError
from rankwise.results.storage import open_result


def evaluated(hits=1, jackknife=2):
    """Return a result whose value, users' values and replicates tell how many users have a hit."""
    lists = {user: [1 if user < hits else 2] for user in range(8)}
    truth = {user: {1} for user in range(8)}
    users = {"user": range(8), "team": ["x", "y"] * 4}
    return rw.evaluate(
        lists, truth, ["recall@1", "gini@1"], jackknife=jackknife, users=users, by="team"
    )


def saved_hits(folder):
    """Return how many users have a hit in a saved result, all of which belongs together."""
    result = rw.load(folder)
    hits = round(8 * result["recall@1"])
    assert result.per_user["recall@1"].sum() == hits
    assert result.replicates.equals(evaluated(hits).replicates)
    return hits


def names(folder):
    return sorted(file.name.split("-")[0] for file in folder.iterdir())


WHOLE = ["per_user", "replicates", "result.json"]


def test_a_result_that_replaces_another_leaves_nothing_of_it(tmp_path):
    evaluated().save(tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    evaluated(3, jackknife=None).save(tmp_path)
    back = rw.load(tmp_path)
    assert back.replicates is None
    assert back["recall@1"] == 3 / 8
    assert names(tmp_path) == ["notes.txt", "per_user", "result.json"]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_lacks_survive(tmp_path, value):
    result = evaluated()
    slices = result.slices.with_columns(pl.lit(value).alias("recall@1"))
    result = replace(result, values={"recall@1": value}, slices=slices)
    assert not {"NaN", "Infinity"} & set(result.export("json").split())
    back = rw.load(result.save(tmp_path))
    assert str(back["recall@1"]) == str(value)
    assert back.slices.equals(slices)


STEPS = [
    (pl.DataFrame, "write_parquet", 0),
    (pl.DataFrame, "write_parquet", 1),
    (Path, "write_text", 0),
    (Path, "replace", 0),
]
FULL = OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("error", [FULL, pl.exceptions.ComputeError(f"parquet: {FULL}")])
@pytest.mark.parametrize(("owner", "step", "at"), STEPS)
def test_a_save_that_fails_leaves_the_old_result(tmp_path, monkeypatch, owner, step, at, error):
    def fails(target, *arguments, **options):
        calls.append(step)
        if len(calls) > at:
            raise error
        return original(target, *arguments, **options)

    evaluated().save(tmp_path / "old")
    calls, original = [], getattr(owner, step)
    with monkeypatch.context() as patch:
        patch.setattr(owner, step, fails)
        for folder in ("old", "new"):
            with pytest.raises(OutputError, match="cannot be written") as caught:
                evaluated(3).save(tmp_path / folder)
            assert "No space left" in str(caught.value)
    assert names(tmp_path) == ["old"]
    assert names(tmp_path / "old") == WHOLE
    assert saved_hits(tmp_path / "old") == 1


def process(folder, code):
    """Start a process that runs code with the helpers of this file."""
    head = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
    return subprocess.Popen(
        [sys.executable, "-c", head + "from test_saving import *\n" + code], cwd=folder
    )


@pytest.mark.slow
@pytest.mark.parametrize(("owner", "step", "at"), STEPS)
def test_the_next_save_removes_what_a_killed_one_left(tmp_path, owner, step, at):
    folder = evaluated().save(tmp_path)
    code = f"""
owner = {"pl.DataFrame" if owner is pl.DataFrame else "Path"}
original, calls = owner.{step}, []
def dies(target, *arguments, **options):
    calls.append(1)
    if len(calls) > {at}:
        os.kill(os.getpid(), 9)
    return original(target, *arguments, **options)
owner.{step} = dies
evaluated(5).save(".")
"""
    assert process(folder, code).wait(60) == -9
    assert saved_hits(folder) == 1
    if (step, at) != ("write_parquet", 0):
        assert names(folder) != WHOLE
    evaluated(3).save(folder)
    assert saved_hits(folder) == 3
    assert names(folder) == WHOLE


@pytest.mark.slow
@pytest.mark.parametrize("times", [10, pytest.param(1000, marks=pytest.mark.deep)])
def test_a_reader_beside_two_writers_reads_whole_results(tmp_path, times):
    folder = evaluated().save(tmp_path / "out")
    code = "results = [evaluated(hits) for hits in {hits}]\nwhile True:\n    [r.save('out') for r in results]"
    writers = [process(tmp_path, code.format(hits=hits)) for hits in ((1, 2), (3, 4))]
    try:
        seen, end = set(), time.monotonic() + 30
        while len(seen) < 4 and time.monotonic() < end:
            seen.add(saved_hits(folder))
        assert seen == {1, 2, 3, 4}
        for _ in range(times):
            assert saved_hits(folder) in seen
    finally:
        for writer in writers:
            writer.kill()
            writer.wait()
    evaluated().save(folder)
    assert names(folder) == WHOLE


def test_the_files_of_another_writer_at_work_stay(tmp_path, monkeypatch):
    """Of what lies there without a name in ``result.json``, only a writer alone knows."""
    original = pl.DataFrame.write_parquet

    def overtaken(frame, path):
        original(frame, path)
        if "replicates" in path.name:
            monkeypatch.setattr(pl.DataFrame, "write_parquet", original)
            evaluated(5).save(tmp_path)

    monkeypatch.setattr(pl.DataFrame, "write_parquet", overtaken)
    evaluated(3).save(tmp_path)
    assert saved_hits(tmp_path) == 3
    assert names(tmp_path) == WHOLE


def test_a_reader_who_is_overtaken_reads_the_new_result(tmp_path, monkeypatch):
    evaluated(1).save(tmp_path)
    original = Path.read_bytes

    def overtaken(path):
        monkeypatch.setattr(Path, "read_bytes", original)
        evaluated(5).save(tmp_path)
        return original(path)

    monkeypatch.setattr(Path, "read_bytes", overtaken)
    assert saved_hits(tmp_path) == 5


def edits(value):
    """Yield copies of a JSON value with one thing changed, at every place."""
    yield None
    yield "other"
    yield {}
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield value + 1
        yield 10**400
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield {name: other for name, other in value.items() if name != key}
            yield from ({**value, key: edit} for edit in edits(inner))
    elif isinstance(value, list):
        yield value[:-1]
        for at, inner in enumerate(value):
            yield from ([*value[:at], edit, *value[at + 1 :]] for edit in edits(inner))


def test_every_edit_of_result_json_is_found(tmp_path):
    folder = evaluated().save(tmp_path)
    head = folder / "result.json"
    data = json.loads(head.read_text())
    head.write_text(json.dumps(data, sort_keys=True))  # the layout is nobody's concern
    assert saved_hits(folder) == 1
    count = 0
    for edited in edits(data):
        if edited != data:
            head.write_text(json.dumps(edited))
            with pytest.raises(FileError):
                rw.load(folder)
            count += 1
    assert count > 300


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[" * 100_000, "does not hold a saved result"),
        ('{"a":' * 100_000, "does not hold a saved result"),
        ("[]", "does not hold a saved result"),
        ("\ud800".encode("utf-8", "surrogatepass"), "does not hold a saved result"),
        ("9" * 10_000, "does not hold a saved result"),
        ('{"schema_version": 99}', "another version"),
        ('{"schema_version": 1}', "was changed"),
    ],
)
def test_other_content(tmp_path, content, said):
    head = evaluated().save(tmp_path) / "result.json"
    head.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(FileError, match=said):
        rw.load(tmp_path)
    evaluated(5).save(tmp_path)
    assert saved_hits(tmp_path) == 5


@pytest.mark.parametrize("file", ["per_user", "replicates"])
def test_data_files_that_were_changed(tmp_path, file):
    evaluated().save(tmp_path)
    (data,) = tmp_path.glob(f"{file}-*.parquet")
    pl.read_parquet(data).with_columns(pl.lit(0.5).alias("recall@1")).write_parquet(data)
    with pytest.raises(FileError, match="was changed"):
        rw.load(tmp_path)
    data.unlink()
    with pytest.raises(FileError, match="is gone"):
        rw.load(tmp_path)


def rewrite(head, **changed):
    from rankwise.core.hashing import json_hash

    data = {**json.loads(head.read_text()), **changed}
    del data["sha256"]
    head.write_text(json.dumps({**data, "sha256": json_hash(data)}))


@pytest.mark.parametrize("name", ["../out/per_user-0123456789ab.parquet", "/etc/passwd", None, 3])
def test_only_files_of_the_folder_are_opened(tmp_path, name):
    head = evaluated().save(tmp_path) / "result.json"
    rewrite(head, files={"per_user": {"name": name, "sha256": "0"}})
    with pytest.raises(FileError, match="was changed"):
        rw.load(tmp_path)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("values", None, "lacks a part"),
        ("values", ["recall@1"], "lacks a part"),
        ("slices", [], "lacks a part"),
        ("diagnostics", {"ips": 3}, "lacks a part"),
        ("files", {}, "lacks a part"),
        ("provenance", {}, "lacks a part"),
        ("provenance", {"settings": {"metrics": ["nonsense"]}}, "a metric .* not known here"),
    ],
)
def test_another_hand_that_writes_hashes(tmp_path, key, value, said):
    head = evaluated().save(tmp_path) / "result.json"
    rewrite(head, **{key: value})
    with pytest.raises(FileError, match=said):
        rw.load(tmp_path)


@pytest.mark.parametrize("path", [None, 5, "", "a\0b", b"out"])
def test_what_is_no_path(path):
    for use in (evaluated().save, rw.load, open_result):
        with pytest.raises(ParameterError, match="must be a path"):
            use(path)


def test_places_that_cannot_be_written_or_read(tmp_path):
    (tmp_path / "file").write_text("in the way")
    for place in (tmp_path / "file", tmp_path / "file" / "out", tmp_path / ("x" * 300)):
        with pytest.raises(OutputError, match="cannot be written"):
            evaluated().save(place)
        with pytest.raises(
            FileError, match=r"does not hold a saved decision|nothing that rankwise has saved"
        ):
            rw.load(place)
    assert names(tmp_path) == ["file"]
    (tmp_path / "result.json").symlink_to("/dev/zero")
    with pytest.raises(FileError, match="regular"):
        rw.load(tmp_path)


def test_paths_that_are_no_text(tmp_path):
    run = Path(os.fsdecode(os.fsencode(tmp_path) + b"/r\xff.csv"))
    run.write_text("user,item\n1,5\n")
    result = rw.evaluate(run, {1: {5}}, "mrr")
    assert (
        rw.load(result.save(tmp_path / "out")).provenance["inputs"] == result.provenance["inputs"]
    )
