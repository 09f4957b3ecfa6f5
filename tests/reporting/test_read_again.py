"""Tables that results were evaluated from, read again for a report: the same, or not at all."""

from __future__ import annotations

import re
import shutil

import polars as pl
import pytest

import rankwise as rw
from rankwise.cli.main import cli
from rankwise.datasets import synthetic
from rankwise.reporting.hints import COMMANDS
from rankwise.reporting.read_again import SavedTables
from rankwise.splits import GlobalTime, LeaveOut
from rankwise.tables.files import read_file
from rankwise.tables.formats import Declared

METRICS = ["ndcg@[2,4]", "catalog_coverage@4"]
PARTS = ("users by activity", "examples of users", "the exposure of items", "the audit")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "work"
    data = synthetic(n_users=60, n_items=40, seed=1)
    split = GlobalTime(share=0.2).split(data.interactions)
    split.save(folder / "split", format="csv")
    data.items.write_csv(folder / "items.csv")
    users = split.test["user"].unique().sort()
    for at, name in enumerate(("one", "other")):
        lists = rw.models.Random(seed=at).fit(split.train).recommend(users, 4)
        lists.write_csv(folder / f"{name}.csv")
    return folder


@pytest.fixture
def work(made, tmp_path):
    """A folder with a split and lists, and results that were evaluated from them by relative paths."""
    shutil.copytree(made, tmp_path / "work")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path / "work")
        for name in ("one", "other"):
            result = rw.evaluate(
                f"{name}.csv", "split", METRICS, items="items.csv", relevance_threshold=3
            )
            result.save(f"results/{name}")
    return tmp_path / "work"


def page_of(folder, **tables):
    return rw.report(
        {name: rw.load(folder / "results" / name) for name in ("one", "other")}, **tables
    )


def gap(page, title):
    return next(gap for gap in page.gaps if gap.title == title)


def test_a_result_knows_where_its_tables_lie(work):
    inputs = rw.load(work / "results" / "one").provenance["inputs"]
    assert {role: card["file"]["paths"] for role, card in inputs.items()} == {
        "recommendations": [str(work / "one.csv")],
        "truth": [str(work / "split")],
        "train": [str(work / "split")],
        "items": [str(work / "items.csv")],
    }
    assert all(len(card["sha256"]) == 64 for card in inputs.values())
    assert inputs["truth"]["columns"]["relevance"] == "rating"
    assert '"../../split"' in (work / "results" / "one" / "result.json").read_text("utf-8")


def test_every_part_is_made_from_the_files_of_the_results(work):
    assert page_of(work).missing.keys() == {"metrics of groups"}


def test_results_that_are_moved_with_their_tables_find_them(work, tmp_path):
    moved = work.rename(tmp_path / "elsewhere")
    assert page_of(moved).missing.keys() == {"metrics of groups"}


def test_results_that_are_moved_alone_find_their_tables(work, tmp_path):
    (work / "results").rename(tmp_path / "results")
    assert page_of(tmp_path).missing.keys() == {"metrics of groups"}


def test_a_result_that_is_moved_and_saved_again_finds_both_places(work, tmp_path):
    moved = work.rename(tmp_path / "elsewhere")
    again = rw.load(rw.load(moved / "results" / "one").save(tmp_path / "again"))
    paths = again.provenance["inputs"]["truth"]["file"]["paths"]
    assert paths == [str(work / "split"), str(moved / "split")]
    assert "the audit" not in rw.report(again).missing


def test_a_file_that_was_changed_is_not_read(work):
    path = work / "one.csv"
    path.write_text(path.read_text("utf-8").replace("\n", " \n", 1), encoding="utf-8")
    page = page_of(work)
    why = "the recommendation lists: the file was changed since the evaluation: one.csv"
    assert page.missing["examples of users"] == f"{why} (pass recommendations=)"
    filled = gap(page, "examples of users")
    assert filled.text == f"{why}."
    assert filled.command == "rankwise report … --recommendations NAME=FILE"
    assert filled.text in page.html
    assert "examples of users" not in page_of(work, recommendations={"one": path}).missing


@pytest.mark.parametrize("part", ["train", "test"])
def test_a_split_of_which_a_file_was_changed_is_not_read(work, part):
    with (work / "split" / f"{part}.csv").open("a", encoding="utf-8") as stream:
        stream.write("u1,i1,5,1767181715\n")
    page = page_of(work)
    assert "the file was changed since the evaluation: t" in page.missing["users by activity"]
    assert gap(page, "the audit").command == "rankwise report … --train FILE"


def test_a_changed_split_without_a_card_is_not_read(work):
    (work / "split" / "split.json").unlink()
    assert "the audit" not in page_of(work).missing  # the files are the same
    path = work / "split" / "test.csv"
    path.write_text("\n".join(path.read_text("utf-8").splitlines()[:-1]), encoding="utf-8")
    assert "was changed" in page_of(work).missing["the audit"]


def test_files_that_are_gone_are_named_as_they_were_passed(work):
    shutil.rmtree(work / "split")
    (work / "one.csv").unlink()
    page = page_of(work)
    assert (
        gap(page, "users by activity").text
        == "the training interactions: the file is not there any more: train part of split."
    )
    assert gap(page, "the exposure of one").text.endswith("not there any more: one.csv.")
    assert str(work) not in page.html


def test_a_changed_copy_beside_the_result_does_not_hide_the_unchanged_table(work, tmp_path):
    shutil.copytree(work / "results", tmp_path / "other" / "results")
    (tmp_path / "other" / "one.csv").write_text("user,item\n1,2\n", encoding="utf-8")
    assert page_of(tmp_path / "other").missing.keys() == {"metrics of groups"}


def test_each_part_that_can_be_had_has_its_command_on_the_page():
    few = {name: rw.evaluate({1: [7], 2: [8]}, {1: [7], 2: [7]}, "ndcg@1") for name in "ab"}
    page = rw.report(few)
    commands = [gap(page, title).command for title in page.missing]
    assert all(command.startswith("rankwise ") for command in commands)
    assert "(pass " not in page.html
    assert "(ask for " not in page.html


@pytest.mark.parametrize("command", COMMANDS.values())
def test_commands_on_the_page_have_their_options(command):
    name, options = command.split()[1], re.findall(r"(?<= )--?\w+", command)
    known = [option for each in cli.get_command(None, name).params for option in each.opts]
    assert {*options} <= {*known}


def test_a_page_names_no_path_that_was_not_passed(work):
    assert str(work) not in page_of(work).html


def test_a_split_may_be_named_by_its_folder_or_its_card(work):
    shutil.move(work / "split", work / "again")
    assert set(PARTS) & page_of(work).missing.keys()
    for source in (work / "again", work / "again" / "split.json", str(work / "again/split.json")):
        page = page_of(work, truth=source, train=source)
        assert not set(PARTS) & page.missing.keys()
    assert rw.evaluate(work / "one.csv", work / "again" / "split.json").split is not None


def test_columns_are_those_of_the_evaluation(tmp_path):
    rows = {"who": [1, 1, 2], "what": [7, 8, 7], "rating": [5, 0, 0]}
    pl.DataFrame(rows).write_csv(tmp_path / "truth.csv")
    columns = {"truth.user": "who", "truth.item": "what"}
    lists = {1: [7], 2: [7]}
    for relevance, rows in ((None, 3), ("rating", 1)):
        result = rw.evaluate(
            lists,
            tmp_path / "truth.csv",
            "recall@1",
            columns={**columns, "truth.relevance": relevance},
        )
        again = SavedTables().read(result, "truth")
        assert again.columns == result.provenance["inputs"]["truth"]["columns"]
        assert len(again.relevant(None)) == rows


def test_a_format_that_was_declared_is_declared_again(tmp_path):
    (tmp_path / "truth.txt").write_text("1;7\n2;8\n", encoding="utf-8")
    declared = Declared("csv", ";", ("item", "user"))
    truth = read_file(tmp_path / "truth.txt", declared)
    result = rw.evaluate({7: [1], 8: [1]}, truth, "recall@1")
    again = SavedTables().read(rw.load(result.save(tmp_path / "result")), "truth")
    assert again.frame.select("user", "item").rows() == [(7, 1), (8, 2)]


def test_grades_of_events_are_those_of_the_evaluation(tmp_path):
    rows = {"user": [1, 1, 2], "item": [7, 8, 7], "event": ["view", "buy", "view"]}
    pl.DataFrame(rows).write_csv(tmp_path / "truth.csv")
    result = rw.evaluate(
        {1: [7], 2: [7]}, tmp_path / "truth.csv", "recall@1", relevance={"view": 0, "buy": 3}
    )
    assert SavedTables().read(result, "truth").frame["relevance"].to_list() == [0, 3, 0]


def test_known_rows_of_a_split_stay_apart_from_its_training(tmp_path):
    rows = {"user": [1, 1, 1, 2, 2, 2], "item": [5, 6, 7, 6, 7, 8], "timestamp": range(6)}
    LeaveOut(1, validation=LeaveOut(1)).split(pl.DataFrame(rows)).save(tmp_path / "split")
    result = rw.evaluate({1: [7], 2: [8]}, tmp_path / "split", "recall@1")
    again = SavedTables().read(result, "train")
    assert (len(again.frame), len(again.trained.frame)) == (4, 2)


def test_folds_are_read_again_one_by_one(tmp_path):
    rows = {"user": [1, 2, 3, 4] * 2, "item": [5, 6, 7, 8, 6, 7, 8, 5]}
    folds = rw.splits.KFold(2).split(pl.DataFrame(rows))
    folds.save(tmp_path / "folds")
    fold = rw.splits.read(tmp_path / "folds")[1]
    users = fold.test["user"].unique()
    result = rw.evaluate({user: [5, 6] for user in users}, fold, "recall@2")
    again = SavedTables().read(result, "truth")
    assert again.frame.sort("user", "item").equals(
        fold.test.select("user", "item").sort("user", "item")
    )


def test_pieces_are_not_read_again(tmp_path):
    for user in (1, 2):
        pl.DataFrame({"user": [user], "item": [7]}).write_csv(tmp_path / f"{user}.csv")
    evaluator = rw.Evaluator("recall@1", truth={1: [7], 2: [8]})
    result = evaluator.update(tmp_path / "1.csv").update(tmp_path / "2.csv").result()
    assert "came in pieces" in rw.report(result).missing["the exposure of items"]
    whole = rw.Evaluator("recall@1", truth={1: [7]}).update(tmp_path / "1.csv").result()
    assert "the exposure of items" not in rw.report(whole).missing


def test_tables_from_memory_keep_saying_so():
    result = rw.evaluate({1: [7]}, {1: [7]}, "recall@1", train={1: [8]})
    assert all("file" not in card for card in result.provenance["inputs"].values())
    page = rw.report(result)
    why = "the training interactions: a table was passed, or came in pieces, which a result does not keep"
    assert page.missing["the audit"] == f"{why} (pass train=)"
    assert "the audit" not in rw.report(result, truth={1: [7]}, train={1: [8]}).missing


def test_the_audit_can_be_left_out(work):
    assert page_of(work, audit=False).missing["the audit"] == (
        "the split was not audited (pass audit=True)"
    )
    assert "the audit" not in page_of(work, audit=True).missing
