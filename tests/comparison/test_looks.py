"""The record of looks: one question, one plan, growing data."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import rankwise as rw
from command_line import rankwise_here
from rankwise.comparison.decision import record_interim_analysis
from rankwise.errors import FileError, ParameterError


def compared(n, shift=0.0, **options):
    rng = np.random.default_rng(3)
    old = rng.random(5000)[:n]
    new = old + rng.normal(0, 0.1, 5000)[:n] + shift
    frames = {
        name: pl.DataFrame({"user": range(n), "ndcg@10": values}) for name, values in (("old", old), ("new", new))
    }
    results = {name: rw.from_per_user(frame) for name, frame in frames.items()}
    return rw.compare(results, baseline="old", **({"margin": 0.01} | options))


def test_looks_until_it_is_shown(tmp_path):
    file = tmp_path / "looks.json"
    outcomes = [record_interim_analysis(compared(n), file)[0].outcome for n in (200, 400, 5000)]
    assert outcomes == ["not shown", "not shown", "passed"]
    record = json.loads(file.read_text())["pairs"]["new − old: ndcg@10"]
    assert record["planned"] == 800  # fixed with the first look
    assert [look["users"] for look in record["looks"]] == [200, 400, 5000]
    (failed,) = record_interim_analysis(compared(5000, shift=-0.05), tmp_path / "other.json")
    assert failed.outcome == "failed"


def test_lower_is_better_turns_the_sides(tmp_path):
    rng = np.random.default_rng(4)
    old = rng.random(5000)
    frames = [
        pl.DataFrame({"user": range(5000), "rmse": values}) for values in (old, old + 0.05 + rng.normal(0, 0.1, 5000))
    ]
    results = dict(zip(("old", "new"), map(rw.from_per_user, frames), strict=True))
    found = rw.compare(results, baseline="old", margin="1%")
    assert record_interim_analysis(found, tmp_path / "a.json")[0].outcome == "failed"


@pytest.mark.parametrize("options", [{"margin": 0.02}, {"alpha": 0.4}, {"missing": "common"}])
def test_another_question_is_refused(tmp_path, options):
    file = tmp_path / "looks.json"
    record_interim_analysis(compared(1000), file)
    before = file.read_text()
    with pytest.raises(ParameterError, match="the settings differ from those of the first look"):
        record_interim_analysis(compared(2000, **options), file)
    with pytest.raises(ParameterError, match="planned: 4000 before, 7 now"):
        record_interim_analysis(compared(2000), file, planned=7)
    assert file.read_text() == before


def test_what_is_refused(tmp_path):
    file = tmp_path / "looks.json"
    record_interim_analysis(compared(1000), file)
    with pytest.raises(ParameterError, match="must include the users of all earlier looks"):
        record_interim_analysis(compared(500), file)
    with pytest.raises(ParameterError, match="with a margin"):
        record_interim_analysis(compared(1000, margin=None), tmp_path / "b.json")
    for text in ("{}", "[]", "no", '{"version": 2, "pairs": []}', '{"version": 2, "pairs": {"a": 3}}'):
        file.write_text(text)
        with pytest.raises(FileError, match="no record of looks"):
            record_interim_analysis(compared(1000), file)
        assert file.read_text() == text


def test_the_command_line(tmp_path):
    for name, result in compared(3000).results.items():
        result.save(tmp_path / name)
    gate = ["compare", "new", "--no-regression", "old", "-m", "ndcg@10"]
    done = rankwise_here(tmp_path, *gate, "--margin", "0.02", "--looks", "looks.json")
    assert done.returncode == 0, done.stderr
    assert "passed: new against baseline in ndcg@10: look 1, 3,000 users" in done.stderr
    close = [*gate, "--margin", "0.001", "--looks", "close.json", "--planned-users", "9000"]
    done = rankwise_here(tmp_path, *close)
    assert (done.returncode, "not shown" in done.stderr) == (1, True)
    assert rankwise_here(tmp_path, *close, "--not-shown", "pass").returncode == 0
    assert json.loads((tmp_path / "close.json").read_text())["pairs"].popitem()[1]["planned"] == 9000
    done = rankwise_here(tmp_path, "compare", "new", "old", "--looks", "looks.json")
    assert done.returncode == 2
