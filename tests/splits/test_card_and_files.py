"""What a split says of itself, and whether it comes back from files."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
import split_reference as plain
from command_line import rankwise_here
from rankwise import splits
from rankwise.errors import EmptyError, FileError, OutputError, ParameterError
from rankwise.splits.reading import truth_and_train
from rankwise.splits.split import future_shares, torn_users
from rankwise.tables.table import card_text, read_json

ROWS = {
    "user": [1, 1, 1, 2, 2, 3, 3, 4],
    "item": [10, 11, 12, 10, 12, 11, 13, 14],
    "timestamp": [1, 2, 6, 3, 6, 4, 7, 8],
    "rating": [1.0, 2.0, 3.0, 4.0, 5.0, 1.0, 2.0, 3.0],
    "device": ["tv", "phone", None, "tv", "tv", "tv", "phone", "tv"],
}
TABLE = pl.DataFrame(ROWS)


def test_card_by_hand():
    card = splits.GlobalTime(at=6).split(TABLE).card
    train, test = card["parts"]["train"], card["parts"]["test"]
    assert (train["rows"], train["users"], train["items"]) == (4, 3, 2)
    assert train["density"] == 4 / 6
    assert (train["first"], train["last"], test["first"], test["last"]) == (1, 4, 6, 8)
    # Of users 1 to 4 the last is new; items 12, 13 and 14 are new: all rows are cold.
    assert card["cold"]["test"] == {
        "users": 1,
        "share_of_users": 0.25,
        "items": 3,
        "share_of_items": 1.0,
        "rows": 4,
        "share_of_rows": 1.0,
    }
    assert card["time"]["gap_seconds"] == 2
    assert card["time"]["test_span_seconds"] == 2
    assert card["time"]["target_after_train_seconds"] == {"median": 2.5, "p95": pytest.approx(3.85)}
    assert card["time"]["leak_index"] == {"mean": 0, "max": 0}
    assert card["rule"]["at"] == 6
    assert json.loads(json.dumps(card)) == card


def test_leak_index_by_hand():
    card = splits.LeaveOut(1).split(TABLE).card
    # Left out: (1, 6), (2, 6), (3, 7). Training: 1, 2, 3, 4, 8 (user 4 has one row alone).
    assert card["found"] == {"users_too_short": 1}
    assert card["time"]["leak_index"] == {"mean": pytest.approx(0.2), "max": pytest.approx(0.2)}
    assert card["time"]["gap_seconds"] == -2


@given(plain.tables(min_size=3), st.floats(0.2, 0.8), st.integers(0, 3))
def test_card_of_any_split(table, share, seed):
    try:
        split = splits.Holdout(round(share, 2), seed=seed).split(table)
    except EmptyError:
        return
    train, test, card = split.train, split.test, split.card
    leaks = plain.leak(train["timestamp"].to_list(), test["timestamp"].to_list())
    found = future_shares(*(part["timestamp"].sort().to_numpy() for part in (train, test)))
    assert found == pytest.approx(leaks)
    assert card["time"]["leak_index"]["mean"] == pytest.approx(float(np.mean(leaks)))
    for role in ("user", "item"):
        cold = set(test[role]) - set(train[role])
        assert card["cold"]["test"][f"{role}s"] == len(cold)
    rows = sum(
        r[0] not in set(train["user"]) or r[1] not in set(train["item"]) for r in test.rows()
    )
    assert card["cold"]["test"]["rows"] == rows
    torn = [
        max(train.filter(pl.col("user") == user)["timestamp"], default=None)
        == min(test.filter(pl.col("user") == user)["timestamp"])
        for user in set(test["user"])
    ]
    assert torn_users(split.rows, split.masks["train"], split.masks["test"]) == np.mean(torn)
    for name in ("train", "test"):
        assert card["parts"][name]["rows"] == len(split.part(name))
        assert card["parts"][name]["items"] == split.part(name)["item"].n_unique()


def test_cards_tell_splits_apart():
    first = splits.Holdout(0.5).split(TABLE)
    assert first.card["id"] == splits.Holdout(0.5).split(TABLE.reverse()).card["id"]
    assert first.card["id"] != splits.Holdout(0.5, seed=1).split(TABLE).card["id"]
    swapped = TABLE.with_columns(item=pl.col("item") + 1)
    assert first.card["id"] != splits.Holdout(0.5).split(swapped).card["id"]


@pytest.mark.parametrize("form", ["parquet", "csv", "recbole", "elliot", "warprec"])
@pytest.mark.parametrize("validation", [None, splits.LeaveOut(1)])
def test_round_trip(tmp_path, form, validation):
    split = splits.GlobalTime(at=6, validation=validation).split(TABLE)
    again = splits.read(split.save(tmp_path / "movies", format=form))
    assert again.card == split.card
    assert set(again.masks) == set(split.masks)
    for name, mask in split.masks.items():
        part = again.part(name)
        rating = next(column for column in part.columns if column.startswith("rating"))
        rows = zip(*(part[column] for column in again.rows.table.columns.values()), strict=True)
        expected = TABLE.filter(pl.Series(mask)).select("user", "item", "rating", "timestamp")
        assert sorted(rows) == sorted(expected.rows())
        assert part[rating].dtype == pl.Float64
    if form in ("parquet", "csv"):
        assert again.train["device"].to_list() == split.train["device"].to_list()


def test_layouts(tmp_path):
    split = splits.GlobalTime(at=6, validation=splits.LeaveOut(1)).split(TABLE)

    def names(form):
        folder = split.save(tmp_path / form, format=form)
        return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())

    assert names("parquet") == ["split.json", "test.parquet", "train.parquet", "validation.parquet"]
    assert names("recbole") == [
        "recbole.test.inter",
        "recbole.train.inter",
        "recbole.valid.inter",
        "split.json",
    ]
    assert names("elliot") == ["0/0/train.tsv", "0/0/val.tsv", "0/split.json", "0/test.tsv"]
    assert names("warprec") == ["split.json", "test.tsv", "train.tsv", "validation.tsv"]
    head = (tmp_path / "recbole/recbole.train.inter").read_text().splitlines()[0]
    assert head == "user_id:token\titem_id:token\trating:float\ttimestamp:float"
    assert (
        (tmp_path / "warprec/train.tsv").read_text().startswith("user_id\titem_id\trating\ttimesta")
    )
    assert (tmp_path / "elliot/0/test.tsv").read_text().splitlines()[0].split("\t")[0].isdigit()


def test_folders_of_others(tmp_path):
    """Elliot's nested folds without a header, WarpRec's folds beside one test file, plain CSV."""
    rows = "1\t10\t4.0\t1\n2\t11\t3.0\t2\n"
    elliot = tmp_path / "elliot"
    for fold in ("0/0", "0/1", "1/0"):
        (elliot / fold).mkdir(parents=True)
        (elliot / fold / "train.tsv").write_text(rows)
        (elliot / fold / "val.tsv").write_text("1\t12\t5.0\t3\n")
    for fold in ("0", "1"):
        (elliot / fold / "test.tsv").write_text("2\t12\t5.0\t4\n")
    folds = splits.read(elliot)
    assert len(folds) == 3
    assert folds[1].validation.rows() == [(1, 12, 5.0, 3)]
    assert folds[2].test.rows() == [(2, 12, 5.0, 4)]

    warprec = tmp_path / "warprec"
    head = "user_id\titem_id\trating\ttimestamp\n"
    for fold in ("1", "2"):
        (warprec / fold).mkdir(parents=True)
        (warprec / fold / "train.tsv").write_text(head + rows)
        (warprec / fold / "validation.tsv").write_text(head + "1\t12\t5.0\t3\n")
    for name in ("train", "test"):
        (warprec / f"{name}.tsv").write_text(head + rows)
    folds = splits.read(warprec)
    assert [set(split.masks) for split in folds] == [{"train", "validation", "test"}] * 2

    csv = tmp_path / "csv"
    csv.mkdir()
    (csv / "train.csv").write_text("userId,movieId\n007,0104257\n8,12\n")
    (csv / "test.csv").write_text("userId,movieId\n8,15\n")
    split = splits.read(csv)
    assert split.test["userId"].to_list() == ["8"]  # text in one part is text in all
    assert split.card["rule"]["rule"] == "read"


def test_folds_of_ours(tmp_path):
    folds = splits.KFold(3).split(TABLE)
    again = splits.read(folds.save(tmp_path / "folds"))
    assert [split.card for split in again] == [split.card for split in folds]
    with pytest.raises(ParameterError, match="no files for several folds"):
        folds.save(tmp_path / "other", format="recbole")


@pytest.mark.parametrize(
    "error",
    [OSError(28, "No space left on device"), pl.exceptions.ComputeError("No space left on device")],
)
def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch, error):
    def full(*_):
        raise error

    monkeypatch.setattr(pl.DataFrame, "write_parquet", full)
    with pytest.raises(OutputError, match="No space left on device"):
        splits.LeaveOut(1).split(TABLE).save(tmp_path / "out")
    assert not list(tmp_path.iterdir())
    with pytest.raises(ParameterError, match="folder must be a path"):
        splits.LeaveOut(1).split(TABLE).save(None)


@pytest.mark.parametrize("form", ["parquet", "csv", "recbole", "elliot", "warprec"])
def test_a_split_takes_the_place_of_another_one(tmp_path, form):
    folder, rule = tmp_path / "out", splits.LeaveOut(1)
    rule.split(TABLE).save(folder, format=form)
    folder.joinpath("empty").mkdir()
    again = splits.LeaveOut(1, "random", seed=5).split(TABLE)
    again.save(folder, format="csv", overwrite=True)
    fresh = again.save(tmp_path / "fresh", format="csv")
    assert sorted(path.name for path in folder.rglob("*")) == sorted(
        path.name for path in fresh.rglob("*")
    )
    assert splits.read(folder).card["id"] == again.card["id"]
    folds = splits.KFold(2).split(TABLE)
    folds.save(folder, overwrite=True)
    assert sorted(path.name for path in folder.iterdir()) == ["0", "1"]
    folds.save(folder, overwrite=True)
    assert splits.read(folder / "1").card["id"] == folds[1].card["id"]


@pytest.mark.parametrize("other", ["notes.txt", "deep/notes.txt", "split.json"])
def test_files_that_are_no_split_are_never_replaced(tmp_path, other):
    folder = tmp_path / "out"
    if other != "split.json":
        splits.LeaveOut(1).split(TABLE).save(folder)
    folder.joinpath(other).parent.mkdir(parents=True, exist_ok=True)
    folder.joinpath(other).write_text("{}")
    before = sorted(folder.rglob("*"))
    with pytest.raises(OutputError, match="other files than those of a split"):
        splits.LeaveOut(1).split(TABLE).save(folder, overwrite=True)
    assert sorted(folder.rglob("*")) == before


def test_files_that_do_not_fit(tmp_path):
    folder = splits.LeaveOut(1).split(TABLE).save(tmp_path / "out")
    with pytest.raises(OutputError, match="new or empty"):
        splits.LeaveOut(1).split(TABLE).save(folder)
    TABLE.write_parquet(folder / "train.parquet")
    with pytest.raises(FileError, match="differs from its card"):
        splits.read(folder)
    (folder / "train.parquet").unlink()
    (folder / "split.json").unlink()
    with pytest.raises(FileError, match="no file of the train part"):
        splits.read(folder)
    for text in ("{}", "[]", "5"):
        (folder / "split.json").write_text(text)
        with pytest.raises(FileError, match="not the card of a split"):
            splits.read(folder)
    with pytest.raises(FileError, match="no such folder"):
        splits.read(tmp_path / "nowhere")
    two = tmp_path / "two"
    two.mkdir()
    for name in ("train.csv", "train.tsv", "test.csv"):
        (two / name).write_text("user,item\n1,2\n")
    with pytest.raises(FileError, match="two files could be the train part"):
        splits.read(two)
    (two / "train.tsv").unlink()
    (two / "train.csv").write_text("user,item,timestamp\n1,2,3\n")
    with pytest.raises(FileError, match="not every part has a timestamp"):
        splits.read(two)


def test_card_travels(tmp_path):
    split = splits.GlobalTime(at=6).split(TABLE)
    lists = {user: [12, 13] for user in (1, 2, 3, 4)}
    metrics = ["recall@2", "novelty@2"]
    result = rw.evaluate(lists, split, metrics)
    assert result.split == split.card
    assert "split: GlobalTime(at=6" in result.notes[-1]
    by_hand = rw.evaluate(lists, split.test, metrics, train=split.train)
    assert by_hand.values == result.values
    assert by_hand.split is None
    folder = split.save(tmp_path / "split")
    for truth in (folder, folder / "test.parquet"):
        again = rw.evaluate(lists, truth, "recall@2")
        assert again.split["id"] == split.card["id"]
        assert again["recall@2"] == result["recall@2"]
    assert rw.load(result.save(tmp_path / "result")).split == split.card
    pieces = rw.Evaluator(metrics, truth=split).update({1: [12, 13], 2: [12, 13]})
    assert pieces.update({3: [12, 13], 4: [12, 13]}).result().split == split.card


def test_a_changed_file_has_no_card(tmp_path):
    folder = splits.GlobalTime(at=6).split(TABLE).save(tmp_path / "split")
    TABLE.write_parquet(folder / "test.parquet")
    assert rw.evaluate({1: [12]}, folder / "test.parquet", "recall@2").split is None


def test_results_of_different_splits_are_not_compared():
    lists = {user: [12, 13] for user in (1, 2, 3, 4)}
    one = rw.evaluate(lists, splits.GlobalTime(at=6).split(TABLE), "recall@2")
    other = rw.evaluate(lists, splits.LeaveOut(1).split(TABLE), "recall@2")
    again = rw.evaluate(lists, splits.GlobalTime(at=6).split(TABLE.reverse()), "recall@2")
    assert rw.compare({"one": one, "again": again}) is not None
    with pytest.raises(ParameterError, match="different splits") as caught:
        rw.compare({"one": one, "other": other})
    assert "GlobalTime" in str(caught.value)
    assert "LeaveOut" in str(caught.value)
    assert rw.compare({"one": one, "again": again}, force=True) is not None


def test_train_may_be_a_split_or_its_folder(tmp_path):
    rows = pl.DataFrame(
        {"user": [1, 1, 1, 2, 2, 2], "item": [5, 6, 7, 5, 7, 8], "timestamp": [1, 2, 9, 3, 4, 8]}
    )
    split = rw.splits.GlobalTime(at=5).split(rows)
    lists, truth = {1: [5, 7], 2: [6, 8]}, {1: [7], 2: [8]}
    folder = split.save(tmp_path / "split")
    lists_table = pl.DataFrame({"user": [1, 1, 2, 2], "item": [5, 7, 6, 8], "rank": [1, 2, 1, 2]})
    lists_table.write_csv(tmp_path / "run.csv")
    split.test.write_csv(tmp_path / "truth.csv")
    values = rw.evaluate(lists, truth, "arp@2", train=split.train).values
    for train in (split, folder, str(folder)):
        assert rw.evaluate(lists, truth, "arp@2", train=train).values == values
    done = rankwise_here(
        tmp_path,
        "evaluate",
        "run.csv",
        "truth.csv",
        "-m",
        "arp@2",
        "--train",
        "split",
        "--format",
        "csv",
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.splitlines()[1].split(",")[3]) == values["arp@2"]


def test_folds_are_not_a_truth():
    with pytest.raises(ParameterError, match="one after the other"):
        rw.evaluate({1: [2]}, splits.KFold(2).split(TABLE), "recall@2")
    with pytest.raises(ParameterError, match="one after the other"):
        rw.evaluate({1: [2]}, {1: [2]}, "arp@2", train=splits.KFold(2).split(TABLE))


def test_warm_and_cold_side_by_side():
    split = splits.GlobalTime(at=6).split(TABLE)
    assert split.users.rows() == [
        (1, "warm", 2, 1),
        (2, "warm", 1, 1),
        (3, "warm", 1, 1),
        (4, "cold", 0, 1),
    ]
    assert dict(split.items.select("item", "history").rows())[10] == "warm"
    result = rw.evaluate({1: [12], 4: [14]}, split, "recall@1", users=split.users, by="history")
    assert dict(result.slices.select("group", "recall@1").rows()) == {
        "cold": 1.0,
        "warm": pytest.approx(1 / 3),
    }


def test_rules_as_plain_values(tmp_path):
    rules = [
        splits.GlobalTime(last="14d", gap="1d", validation=splits.UserHoldout(0.1)),
        splits.LeaveOut(
            3, "random", short="drop", seed=4, filters=[splits.KCore(2), splits.MinRating(3)]
        ),
        splits.TwoStage(last="14d"),
        splits.UserKFold(3, fold_in=splits.LeaveOut(2)),
        splits.UserHoldout(0.3, fold_in=None),
        splits.StratifiedKFold(4, by="device"),
        splits.LeavePOut(2, draws=5, cold_users="drop"),
    ]
    for rule in rules:
        assert splits.from_dict(json.loads(json.dumps(rule.to_dict()))) == rule
    with pytest.raises(ParameterError, match="did you mean 'GlobalTime'"):
        splits.from_dict({"rule": "GlobalTimes"})
    with pytest.raises(ParameterError, match="no parameter 'ratio'"):
        splits.from_dict({"rule": "GlobalTime", "ratio": 0.2})
    with pytest.raises(ParameterError, match="no filter 'Core'"):
        splits.from_dict({"rule": "LeaveOut", "filters": [{"filter": "Core"}]})


def saved(folder, change):
    """Save a split, and write its card anew after a change: as its writer would have written it."""
    folder = splits.LeaveOut(1).split(TABLE).save(folder / "out")
    card = json.loads((folder / "split.json").read_text())
    del card["sha256"]
    change(card)
    (folder / "split.json").write_text(card_text(card))
    return folder


def test_a_card_is_read_as_it_was_written(tmp_path):
    folder = saved(tmp_path, lambda card: None)
    assert splits.read(folder).card == splits.LeaveOut(1).split(TABLE).card
    text = (folder / "split.json").read_text()
    for old, new in (('"n": 1', '"n": 2'), ('"rows": 3', '"rows": 4'), ('"id": "', '"id": "0')):
        assert old in text
        (folder / "split.json").write_text(text.replace(old, new))
        with pytest.raises(FileError, match="was changed after it was written"):
            splits.read(folder)


@pytest.mark.parametrize(
    "name", ["../secret", "{}/secret", "link", "link/../secret", "\0", "x" * 999]
)
def test_a_card_names_files_of_its_folder_alone(tmp_path, monkeypatch, name):
    (tmp_path / "secret").write_text("user,item\n1,2\n")
    name = name.replace("{}", str(tmp_path))

    def change(card):
        card["files"] = {name: card["files"]["test.parquet"]}

    folder = saved(tmp_path, change)
    (folder / "link").symlink_to(tmp_path / "secret")
    monkeypatch.setattr("rankwise.splits.reading.file_hash", lambda path: pytest.fail(f"{path}"))
    with pytest.raises(
        FileError, match=r"outside its folder|no such file|cannot be read"
    ) as caught:
        splits.read(folder)
    assert "1,2" not in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        lambda card: card.update(files=[]),
        lambda card: card.update(files={"train.parquet": 5}),
        lambda card: card["files"].clear(),
        lambda card: card["files"].pop("test.parquet"),
        lambda card: card["parts"].pop("test"),
        lambda card: card["parts"]["test"].update(rows="many"),
        lambda card: card.update(input={}),
        lambda card: card["input"].update(columns={"user": 5}),
        lambda card: card["time"].update(unit="week"),
        lambda card: card.update(time=[]),
        lambda card: card.update(id=7),
        lambda card: card.update(found=deep(11)),
    ],
)
def test_a_card_that_was_made_up(tmp_path, change):
    with pytest.raises(FileError, match=r"the card of this split|nested too deeply"):
        splits.read(saved(tmp_path, change))


def deep(levels):
    value = {"rule": "LeaveOut"}
    for _ in range(levels):
        value = {"rule": "GlobalTime", "share": 0.2, "validation": value}
    return value


@pytest.mark.slow
@pytest.mark.parametrize("levels", [12, 100_000])
def test_rules_within_rules(levels):
    with pytest.raises(ParameterError, match="nested too deeply"):
        splits.from_dict(deep(levels))


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "[" * 50 + "]" * 50, '{"a":' * 9999, " " * 2**25, "\xff"]
)
def test_settings_have_bounds(tmp_path, text):
    for name in ("split.json", "train.csv", "test.csv"):
        (tmp_path / name).write_text(text, encoding="latin-1")
    with pytest.raises(FileError, match=r"nested too deeply|not JSON|too large"):
        splits.read(tmp_path)
    with pytest.raises(FileError, match=r"nested too deeply|not JSON|too large"):
        read_json(tmp_path / "split.json")


def test_folders_that_hold_themselves(tmp_path):
    for name in ("train.csv", "test.csv"):
        (tmp_path / name).write_text("user,item\n1,2\n")
    for name in "01":
        (tmp_path / name).symlink_to(tmp_path)
    assert len(splits.read(tmp_path)) == 4
    (tmp_path / "²").mkdir()  # a digit that is no number
    assert len(splits.read(tmp_path)) == 4


def test_paths_that_are_none(tmp_path):
    with pytest.raises(FileError, match=r"cannot be read|no such folder"):
        splits.read(tmp_path / ("x" * 999))
    assert truth_and_train("x" * 999, None) == ("x" * 999, None)  # no folder: a file, or no path
