"""The record of looks: one question, one plan, growing data."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import rankwise as rw
from command_line import rankwise_here
from rankwise.comparison.looks import record_interim_analysis
from rankwise.errors import FileError, ParameterError


def compared(n, shift=0.0, **options):
    rng = np.random.default_rng(3)
    old = rng.random(5000)[:n]
    new = np.clip(old + rng.normal(0, 0.1, 5000)[:n] + shift, 0, 1)
    frames = {
        name: pl.DataFrame({"user": range(n), "ndcg@10": values})
        for name, values in (("old", old), ("new", new))
    }
    results = {name: rw.from_per_user(frame) for name, frame in frames.items()}
    return rw.compare(results, baseline="old", **({"margin": 0.01} | options))


def test_looks_until_it_is_shown(tmp_path):
    file = tmp_path / "looks.json"
    outcomes = [record_interim_analysis(compared(n), file)[0].outcome for n in (200, 400, 5000)]
    assert outcomes == ["not shown", "not shown", "passed"]
    record = json.loads(file.read_text())["pairs"]["new − old: ndcg@10"]
    assert {look["confidence"] for look in record["looks"]} == {0.9}  # either side errs with alpha
    assert [look["users"] for look in record["looks"]] == [200, 400, 5000]
    (failed,) = record_interim_analysis(compared(5000, shift=-0.05), tmp_path / "other.json")
    assert failed.outcome == "failed"


def two(new, old, metric):
    frames = {"old": old, "new": new}
    tables = {
        name: pl.DataFrame({"user": range(len(old)), metric: values})
        for name, values in frames.items()
    }
    return {name: rw.from_per_user(table) for name, table in tables.items()}


def test_lower_is_better_turns_the_sides(tmp_path):
    old = np.random.default_rng(4).integers(0, 2, 2000) / 2
    for shift, outcome in ((0.25, "failed"), (-0.25, "passed")):
        comparison = rw.compare(
            two(old / 2 + 0.25 + shift, old / 2 + 0.25, "fallout@10"), baseline="old", margin="1%"
        )
        assert record_interim_analysis(comparison, tmp_path / outcome)[0].outcome == outcome


def test_a_share_of_the_baseline_is_tested_user_by_user(tmp_path):
    """A loss of just the margin, while the baseline's mean is not known exactly."""
    rng = np.random.default_rng(5)
    old = rng.integers(0, 2, 4000) * 1.0
    results = two(old * 0.8, old, "ndcg@10")
    for margin, outcome in (("19%", "failed"), ("30%", "passed")):
        (look,) = record_interim_analysis(
            rw.compare(results, baseline="old", margin=margin), tmp_path / margin
        )
        assert look.outcome == outcome


def test_a_rare_total_loss_is_not_passed(tmp_path):
    """Its tail was not drawn: all that was seen are small gains."""
    old = np.full(400, 0.5)
    gains = old + np.where(np.arange(400) % 3, 0.0, 0.005)
    comparison = rw.compare(two(gains, old, "ndcg@10"), baseline="old", margin=0.0005)
    (look,) = record_interim_analysis(comparison, tmp_path / "looks.json")
    assert look.outcome == "not shown"


def test_the_level_is_stated(tmp_path):
    (look,) = record_interim_analysis(compared(300, alpha=0.01), tmp_path / "looks.json")
    assert "98 % confidence sequence, valid at all looks" in look.why


def test_a_metric_without_bounds_has_no_valid_sequence(tmp_path):
    old = np.random.default_rng(4).random(500)
    comparison = rw.compare(two(old, old + 0.05, "rmse"), baseline="old", margin=0.1)
    with pytest.raises(ParameterError, match="rmse has no valid confidence sequence"):
        record_interim_analysis(comparison, tmp_path / "looks.json")
    assert not (tmp_path / "looks.json").exists()


@pytest.mark.parametrize("options", [{"margin": 0.02}, {"alpha": 0.4}, {"missing": "common"}])
def test_another_question_is_refused(tmp_path, options):
    file = tmp_path / "looks.json"
    record_interim_analysis(compared(1000), file)
    before = file.read_text()
    with pytest.raises(ParameterError, match="the settings differ from those of the first look"):
        record_interim_analysis(compared(2000, **options), file)
    assert file.read_text() == before


def test_what_is_refused(tmp_path):
    file = tmp_path / "looks.json"
    record_interim_analysis(compared(1000), file)
    with pytest.raises(ParameterError, match="must include the users of all earlier looks"):
        record_interim_analysis(compared(500), file)
    with pytest.raises(ParameterError, match="with a margin"):
        record_interim_analysis(compared(1000, margin=None), tmp_path / "b.json")
    for text in (
        "{}",
        "[]",
        "no",
        '{"version": 1, "pairs": []}',
        '{"version": 1, "pairs": {"a": 3}}',
    ):
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
    assert (
        "PASS  new is not inferior to baseline on ndcg@10.\n      look 1, 3,000 users"
        in done.stderr
    )
    close = [*gate, "--margin", "0.001", "--looks", "close.json"]
    done = rankwise_here(tmp_path, *close)
    assert (done.returncode, "not shown" in done.stderr) == (5, True)
    assert rankwise_here(tmp_path, *close, "--not-shown", "pass").returncode == 0
    done = rankwise_here(tmp_path, "compare", "new", "old", "--looks", "looks.json")
    assert done.returncode == 2


def test_a_value_of_all_lists_together_is_refused(tmp_path):
    lists = {
        "a": {user: [user % 5, 7] for user in range(40)},
        "b": {user: [user % 3, 7] for user in range(40)},
    }
    truth = {user: {7} for user in range(40)}
    results = {name: rw.evaluate(own, truth, "gini@2", jackknife=4) for name, own in lists.items()}
    comparison = rw.compare(results, baseline="a", margin=0.2)
    with pytest.raises(ParameterError, match="this value is of all lists together") as caught:
        record_interim_analysis(comparison, tmp_path / "looks.json")
    assert (caught.value.where, caught.value.found) == ("a", "gini@2")
    assert not (tmp_path / "looks.json").exists()
