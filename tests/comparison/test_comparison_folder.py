"""Saved comparisons: read as they were written, whatever systems are called."""

from __future__ import annotations

import json
import math

import polars as pl
import pytest

import rankwise as rw
from rankwise.comparison.storage import HEAD, folder_names, is_comparison
from rankwise.core.hashing import json_hash
from rankwise.errors import FileError, OutputError

NAMES = ["../../x", "a/b", "a:b", "", "😀", "A/B", "con", "x" * 300, "..", "a\x00b"]
TRUTH = {user: {1, 2, 3} for user in range(40)}


def result(hits, **options):
    lists = {user: [1, 2, 9][: 1 + hits] if user % 5 > hits else [8, 7] for user in TRUTH}
    return rw.evaluate(lists, TRUTH, ["recall@2", "catalog_coverage@2"], **options)


@pytest.fixture(scope="module")
def comparison():
    return rw.compare({name: result(place % 4, jackknife=8) for place, name in enumerate(NAMES)})


def test_names_of_folders_are_safe_and_different():
    names = folder_names(NAMES)
    assert list(names) == NAMES
    assert len({name.lower() for name in names.values()}) == len(NAMES)
    for name in names.values():
        assert name.isascii()
        assert 0 < len(name) < 70
        assert not {*name} & {*'/\\:*?"<>| \x00'}
        assert name.strip(".") == name


@pytest.mark.parametrize("name", ["con", "NUL", "com1", "Lpt9.txt"])
def test_no_name_is_a_device_of_windows(name):
    assert folder_names([name])[name].split(".")[0].lower() != name.split(".")[0].lower()


def test_what_was_saved_is_read(comparison, tmp_path):
    folder = comparison.save(tmp_path / "new" / "folder")
    assert is_comparison(folder)
    assert not is_comparison(tmp_path)
    assert {path.parent for path in folder.rglob("result.json")} == {
        folder / "results" / name for name in folder_names(NAMES).values()
    }
    again = rw.Comparison.load(folder)
    assert again.table.equals(comparison.table, null_equal=True)
    assert again.values.equals(comparison.values, null_equal=True)
    assert again.design == comparison.design
    assert list(again.results) == NAMES
    for name in NAMES:
        assert dict(again.results[name]) == dict(comparison.results[name])
    undefined = again.table.filter(metric="catalog_coverage@2")
    assert undefined["wins"].null_count() == len(undefined) > 0
    assert undefined["d_z"].is_nan().all()


def test_infinity_is_read(comparison, tmp_path):
    table = comparison.table.with_columns(lift_high=pl.lit(math.inf), lift_low=pl.lit(-math.inf))
    saved = rw.Comparison(table, comparison.values, comparison.design, comparison.results)
    again = rw.Comparison.load(saved.save(tmp_path)).table
    assert (again["lift_high"] == math.inf).all()
    assert (again["lift_low"] == -math.inf).all()


@pytest.mark.parametrize("where", ["../outside", "/etc", "results/../../outside"])
def test_a_comparison_names_nothing_outside_its_folder(comparison, tmp_path, where):
    folder = comparison.save(tmp_path / "folder")
    comparison.results["a/b"].save(tmp_path / "outside")
    head = json.loads((folder / HEAD).read_text(encoding="utf-8"))
    head["results"]["a/b"]["folder"] = where
    del head["sha256"]
    head["sha256"] = json_hash(head)  # as somebody would who means it
    (folder / HEAD).write_text(json.dumps(head), encoding="utf-8")
    with pytest.raises(FileError, match="outside its folder"):
        rw.Comparison.load(folder)


def test_what_was_edited_since_is_an_error(comparison, tmp_path):
    folder = comparison.save(tmp_path)
    text = (folder / HEAD).read_text(encoding="utf-8")
    head = json.loads(text)
    head["pairs"][0]["verdict"] = "banana"
    (folder / HEAD).write_text(json.dumps(head), encoding="utf-8")
    with pytest.raises(FileError, match="changed after the comparison was saved"):
        rw.Comparison.load(folder)
    (folder / HEAD).write_text(json.dumps(json.loads(text)), encoding="utf-8")  # another layout
    rw.Comparison.load(folder)
    other = list(comparison.results.values())[1]
    part = json.loads(text)["results"][next(iter(comparison.results))]["folder"]
    other.save(folder / part)  # another result in its place
    with pytest.raises(FileError, match="changed after the comparison was saved"):
        rw.Comparison.load(folder)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        "null",
        '{"pairs": 3}',
        "\x00",
        "[" * 100_000,
        ('{"pairs": [], "values": [], "design": [], "results": 5}'),
        '{"pairs": [{}], "values": [], "design": {}, "results": {}}',
    ],
)
def test_damage_is_an_error_of_ours(tmp_path, content):
    (tmp_path / HEAD).write_text(content, encoding="utf-8")
    with pytest.raises(FileError, match="does not hold a saved comparison"):
        rw.Comparison.load(tmp_path)


def test_no_bytes_of_text(tmp_path):
    (tmp_path / HEAD).write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FileError, match="does not hold a saved comparison"):
        rw.Comparison.load(tmp_path)


def test_a_missing_folder(tmp_path):
    with pytest.raises(FileError, match="does not hold a saved comparison"):
        rw.Comparison.load(tmp_path / "missing")


def test_a_file_in_the_way(comparison, tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(OutputError):
        comparison.save(tmp_path / "file")
