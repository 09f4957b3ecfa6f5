"""``rankwise report``: results in, one page out."""

from __future__ import annotations

import re
import shutil

import polars as pl
import pytest

import rankwise as rw
from command_line import rankwise, rankwise_here

TRUTH = {user: [1, 2] for user in range(30)}
RUNS = {"a": {user: [1, 3] for user in TRUTH}, "b": {user: [1, 2 + user % 2] for user in TRUTH}}


def table(lists):
    rows = [(user, item) for user, items in lists.items() for item in items]
    return pl.DataFrame(rows, schema=["user", "item"], orient="row")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    for name, lists in (RUNS | {"truth": TRUTH, "train": TRUTH}).items():
        table(lists).write_csv(folder / f"{name}.csv")
    pl.DataFrame({"item": [1, 2, 3], "title": ["One", "Two", "Три"]}).write_csv(
        folder / "items.csv"
    )
    made = {
        name: rw.evaluate(folder / f"{name}.csv", folder / "truth.csv", ["recall@[2,3]"])
        for name in RUNS
    }
    for name, result in made.items():
        result.save(folder / "results" / name)
        result.per_user.write_csv(folder / f"{name}-users.csv")
    rw.compare(made, baseline="a").save(folder / "compared")
    return folder


def run(folder, tmp_path, *arguments):
    return rankwise_here(folder, "report", *arguments, "-o", tmp_path / "page.html")


def test_results(folder, tmp_path):
    done = run(folder, tmp_path, "results/a", "results/b", "--items", "items.csv")
    assert (done.returncode or 0, done.stdout) == (0, f"{tmp_path / 'page.html'}\n")
    assert (
        "without the audit: the result was evaluated without training interactions (pass --train "
        "FILE)\n" in done.stderr
    )
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "b beats a on recall@" in page
    assert "Три" in page


@pytest.mark.slow
def test_one_result_with_names_and_files(folder, tmp_path):
    done = run(
        folder,
        tmp_path,
        "mine=results/a",
        "--title",
        "A <title>",
        "--recommendations",
        "mine=a.csv",
        "--train",
        "train.csv",
        "--truth",
        "truth.csv",
        "--audit",
        "--assets",
        tmp_path / "assets",
    )
    assert not done.returncode, done.stderr
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<title>A &lt;title&gt;</title>" in page
    assert "checks for leakage" in page
    files = sorted(path.name for path in (tmp_path / "assets").iterdir())
    assert f"{len(files)} files in" in done.stderr
    kinds = {name.rsplit(".", 1)[1] for name in files if name.startswith("curve-")}
    assert kinds == {"csv", "svg", "png"}


@pytest.mark.slow
def test_tables_of_users(folder, tmp_path):
    assert not run(folder, tmp_path, "a-users.csv", "b-users.csv").returncode
    assert "b-users beats a-users" in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_saved_comparison(folder, tmp_path):
    assert not run(folder, tmp_path, "compared").returncode
    first = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "b beats a on recall@" in first
    assert not run(folder, tmp_path, "compared", "--primary", "recall@3").returncode
    assert "b beats a on recall@3" in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "Missing argument"),
        (["results/c"], "results/c"),
        (["results/a", "results/a"], "two systems are called"),
        (["results/a", "results/b", "--baseline", "x"], "there is no result"),
        (["results/a", "--primary", "ndcg@3"], "ndcg@3"),
        (["results/a", "--recommendations", "x=a.csv"], "is not a result"),
    ],
)
def test_wrong_questions(folder, tmp_path, arguments, says):
    done = run(folder, tmp_path, *arguments)
    assert done.returncode in (2, 3)
    assert says in done.stderr
    assert not (tmp_path / "page.html").exists()


def test_a_split_is_named_by_its_folder_or_its_card(folder, tmp_path):
    rows = {"user": [*range(30)] * 2, "item": [3] * 30 + [1] * 30, "timestamp": range(60)}
    rw.splits.GlobalTime(share=0.5).split(pl.DataFrame(rows)).save(tmp_path / "split")
    for source in (tmp_path / "split", tmp_path / "split" / "split.json"):
        both = ["results/a", "results/b", "--train", source, "--truth", source]
        done = run(folder, tmp_path, *both)
        assert not done.returncode, done.stderr
        assert "without the audit" not in done.stderr
        assert "without users by activity" not in done.stderr
    done = run(folder, tmp_path, *both, "--no-audit")
    assert "without the audit: the split was not audited (pass --audit)\n" in done.stderr


@pytest.mark.slow
@pytest.mark.xdist_group("demo")
def test_a_page_of_saved_results_is_that_of_the_run_which_saved_them(saved_demo, tmp_path):
    demo = tmp_path / "demo"
    shutil.copytree(saved_demo[0], demo)
    config = demo / "config.yaml"
    config.write_text(
        config.read_text("utf-8").replace("  random: runs/random.csv\n", ""), encoding="utf-8"
    )
    assert not rankwise_here(demo, "run", "config.yaml").returncode
    results = [f"rankwise-results/results/{name}" for name in ("popularity", "neighbours")]
    done = run(demo, tmp_path, *results)
    assert not done.returncode, done.stderr
    page = (tmp_path / "page.html").read_bytes()
    assert page == (demo / "rankwise-results" / "report.html").read_bytes()

    done = run(demo, tmp_path, "results/popularity", "results/neighbours")  # as `demo` saved them
    others = (tmp_path / "page.html").read_text("utf-8")
    assert done.stderr.count("without ") == 1
    assert parts_of(others) == parts_of(page.decode("utf-8"))
    assert str(tmp_path) not in others


def parts_of(page):
    """Return the sections of a page, and its gaps."""
    return re.findall(r'<section[^>]* id="([\w-]+)"', page), re.findall(
        r"<dt data-gap>(.*?)</dt>", page
    )


@pytest.mark.slow
def test_columns_are_named(folder, tmp_path):
    table(TRUTH).rename({"user": "who", "item": "what"}).write_csv(tmp_path / "odd.csv")
    columns = ["--column", "truth.user=who", "--column", "truth.item=what"]
    both = ["results/a", "results/b", "--truth", tmp_path / "odd.csv"]
    assert "without examples of users" not in run(folder, tmp_path, *both, *columns).stderr
    assert "without examples of users" in run(folder, tmp_path, *both).stderr


def test_a_page_that_cannot_be_written(folder, tmp_path):
    done = rankwise_here(folder, "report", "results/a", "-o", tmp_path / "no" / "page.html")
    assert done.returncode == 6
    assert "cannot be written" in done.stderr


@pytest.mark.slow
def test_files_are_utf_8_whatever_the_locale(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.setenv("PYTHONUTF8", "0")
    monkeypatch.setenv("PYTHONCOERCECLOCALE", "0")
    done = rankwise(
        folder,
        "report",
        "results/a",
        "results/b",
        "--items",
        "items.csv",
        "-o",
        tmp_path / "page.html",
        "--assets",
        tmp_path / "assets",
    )
    assert done.returncode == 0, done.stderr
    assert "Три" in (tmp_path / "page.html").read_bytes().decode("utf-8")
    assert "b − a" in (tmp_path / "assets" / "differences.csv").read_bytes().decode("utf-8")


def test_a_recorded_decision_is_the_verdict_of_the_page(folder, tmp_path):
    results = ("results/a", "results/b")
    rule = ("--success", "recall@2", "--record", tmp_path / "decision.json")
    decided = rankwise_here(folder, "decide", *results, *rule)
    done = run(folder, tmp_path, *results, "--decision", tmp_path / "decision.json")
    assert done.returncode == 0
    page = (tmp_path / "page.html").read_text("utf-8")
    verdict = decided.stdout.split("\n\n")[0].split("  ", 1)[1]
    assert " ".join(verdict.split()) in page
    assert 'id="decision"' in page
