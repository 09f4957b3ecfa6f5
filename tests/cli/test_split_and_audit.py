"""``rankwise split`` and ``rankwise audit`` as their users meet them."""

from __future__ import annotations

import json

import polars as pl
import pytest

import rankwise as rw
from command_line import rankwise, rankwise_here

ROWS = "user,item,rating,timestamp,device\n" + "".join(
    f"{user},{(user * 3 + at) % 7},{at % 5 + 1},{1_380_000_000 + at * 9000 + user},tv\n"
    for user in range(6)
    for at in range(5)
)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "ratings.csv").write_text(ROWS)
    return tmp_path


@pytest.mark.slow
def test_split_by_time(folder):
    done = rankwise(
        folder, "split", "ratings.csv", "--by", "time", "--test-ratio", "0.2", "-o", "out"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].startswith("GlobalTime(share=0.2")
    train, test = (
        pl.read_parquet(folder / "out" / f"{name}.parquet") for name in ("train", "test")
    )
    assert (len(train), len(test)) == (24, 6)
    assert train["timestamp"].max() < test["timestamp"].min()
    assert set(train.columns) == {"user", "item", "rating", "timestamp", "device"}
    split = rw.splits.GlobalTime(share=0.2).split(folder / "ratings.csv")
    card = json.loads((folder / "out" / "split.json").read_text())
    assert card["id"] == split.card["id"]
    again = rankwise_here(folder, "split", "ratings.csv", "--rule", "out/split.json", "-o", "again")
    assert again.stdout == done.stdout
    twice = rankwise_here(folder, "split", "ratings.csv", "-o", "out")
    assert twice.returncode == 6
    assert "new or empty" in twice.stderr
    assert "--overwrite replaces a split" in twice.stderr
    half = rankwise_here(
        folder, "split", "ratings.csv", "--test-ratio", "0.5", "-o", "out", "--overwrite"
    )
    assert half.returncode == 0, half.stderr
    assert len(pl.read_parquet(folder / "out" / "test.parquet")) == 15


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        (["--by", "time", "--at", "best"], rw.splits.GlobalTime(at="best")),
        (["--by", "time", "--at", "1380020000"], rw.splits.GlobalTime(at=1380020000)),
        (
            ["--by", "time", "--last", "3h", "--gap", "1h"],
            rw.splits.GlobalTime(last="3h", gap="1h"),
        ),
        (
            ["--validation-ratio", "0.3"],
            rw.splits.GlobalTime(share=0.2, validation=rw.splits.GlobalTime(share=0.3)),
        ),
        (["--by", "last", "--n", "2"], rw.splits.LeaveOut(2)),
        (["--by", "random", "--n", "1", "--seed", "3"], rw.splits.LeaveOut(1, "random", seed=3)),
        (
            ["--by", "last", "--test-ratio", "0.4", "--validation-ratio", "0.3"],
            rw.splits.Holdout(
                0.4, "user", "last", validation=rw.splits.Holdout(0.3, "user", "last")
            ),
        ),
        (["--by", "random", "--seed", "3"], rw.splits.Holdout(0.2, seed=3)),
        (["--by", "random", "--per-user", "--test-ratio", "0.4"], rw.splits.Holdout(0.4, "user")),
        (["--by", "users", "--test-ratio", "0.5"], rw.splits.UserHoldout(0.5)),
        (["--by", "items", "--cold-items", "only"], rw.splits.ItemHoldout(0.2, cold_items="only")),
        (["--by", "two-stage", "--last", "3h"], rw.splits.TwoStage(last="3h")),
        (
            ["--k-core", "2", "--min-rating", "2"],
            rw.splits.GlobalTime(share=0.2, filters=[rw.splits.MinRating(2.0), rw.splits.KCore(2)]),
        ),
    ],
)
def test_every_rule(folder, options, rule):
    done = rankwise_here(folder, "split", "ratings.csv", "-o", "out", *options)
    assert done.returncode == 0, done.stderr
    card = json.loads((folder / "out" / "split.json").read_text())
    assert card["id"] == rule.split(folder / "ratings.csv").card["id"]
    assert rw.splits.from_dict(card["rule"]) == rule


def test_folds(folder):
    done = rankwise_here(
        folder,
        "split",
        "ratings.csv",
        "--by",
        "windows",
        "--window",
        "3h",
        "--folds",
        "2",
        "-o",
        "out",
        "--format",
        "csv",
    )
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (folder / "out" / "1").iterdir()) == [
        "split.json",
        "test.csv",
        "train.csv",
    ]


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--by", "time", "--n", "2"], 2, "takes no --n"),
        (["--test-ratio", "2"], 2, "must lie between 0 and 1"),
        (["--by", "folds", "--folds", "99"], 3, "99 folds need at least 99 rows"),
        (["--column", "timestamp=when"], 3, "no column 'when'"),
        (["--by", "users", "--validation-ratio", "0.2"], 2, "takes no --validation-ratio"),
        (["--by", "last", "--n", "2", "--test-ratio", "0.2"], 2, "--n or --test-ratio"),
        (["--by", "windows", "--window", "0"], 2, "longer than 0"),
        (["--rule", "ratings.csv"], 3, "this is not a rule"),
        (["--rule", "ratings.csv", "--n", "2"], 2, "leave --n out"),
        (
            ["--by", "two-stage", "--last", "3h", "--format", "recbole"],
            2,
            "no files for these parts",
        ),
    ],
)
def test_what_split_refuses(folder, options, code, said):
    done = rankwise_here(folder, "split", "ratings.csv", "-o", "out", *options)
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert not (folder / "out").exists()


def test_evaluate_on_a_split_folder(folder):
    rankwise_here(folder, "split", "ratings.csv", "-o", "out")
    (folder / "run.csv").write_text("user,item,score\n1,5,0.9\n2,3,0.5\n")
    done = rankwise_here(
        folder,
        "evaluate",
        "run.csv",
        "out",
        "-m",
        "recall@2",
        "-m",
        "novelty@2",
        "--format",
        "json",
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["provenance"]["split"]["rule"]["share"] == 0.2
    assert said["provenance"]["inputs"]["train"]["rows"] == 24


@pytest.mark.slow
def test_audit(folder):
    rankwise_here(folder, "split", "ratings.csv", "-o", "out")
    done = rankwise_here(folder, "audit", "out")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(("No leak found. ", "No check failed. "))
    assert rankwise_here(folder, "audit", "out", "-q").stdout == done.stdout.splitlines()[0] + "\n"
    full = " ".join(rankwise_here(folder, "audit", "out", "-v").stdout.split())
    assert "PASS L1" in full
    assert "needs --features FILE with timestamps, or --items FILE and --users FILE" in full
    files = ["out/train.parquet", "out/test.parquet"]
    assert rankwise_here(folder, "audit", *files, "--claim", "time").stdout == done.stdout
    failed = rankwise(folder, "audit", *reversed(files), "--claim", "time", "--format", "json")
    assert failed.returncode == 1
    said = {check["code"]: check["status"] for check in json.loads(failed.stdout)["checks"]}
    assert said["L3"] == said["L8"] == "fail"
    rows = rankwise_here(folder, "audit", *reversed(files), "--rows", "L3")
    assert len(rows.stdout.splitlines()) == 1 + 6


def test_what_audit_refuses(folder):
    assert rankwise_here(folder, "audit", "ratings.csv").returncode == 2
    assert rankwise_here(folder, "audit", "ratings.csv", "none.csv").returncode == 3
    assert "NAME=FILE" in rankwise_here(folder, "audit", "a", "b", "--stage", "x").stderr


@pytest.mark.parametrize(
    ("times", "clock"),
    [
        ([str(at * 86_400_000) for at in range(20)], ["--time-unit", "ms"]),
        ([f"{at % 12 + 1:02}/{at + 1:02}/2020" for at in range(20)], ["--time-format", "%m/%d/%Y"]),
    ],
)
def test_a_card_splits_again_by_the_clock_that_was_given(tmp_path, times, clock):
    rows = [f"{at % 2},{at},{time}" for at, time in enumerate(times)]
    (tmp_path / "log.csv").write_text("\n".join(["user,item,timestamp", *rows]), "utf-8")
    by_time = ["split", "log.csv", "--by", "time", "--last", "5d", *clock]
    first = rankwise_here(tmp_path, *by_time, "-o", "parts")
    assert first.returncode == 0, first.stderr
    again = rankwise_here(tmp_path, "split", "log.csv", "--rule", "parts/split.json", "-o", "again")
    assert again.returncode == 0, again.stderr
    cards = [
        json.loads((tmp_path / name / "split.json").read_text()) for name in ("parts", "again")
    ]
    assert cards[0]["id"] == cards[1]["id"]
