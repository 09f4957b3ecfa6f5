"""Every command that a help text or the demo shows runs as it stands; pages have tests/test_pages.py."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from itertools import chain

import click
import polars as pl
import pytest
from click.testing import CliRunner

import rankwise as rw
from command_line import rankwise_here
from rankwise.cli.main import cli
from rankwise.cli.run import NEXT
from rankwise.errors import UsageError
from rankwise.experiments import demo
from tools import deep

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("demo")]


def examples():
    """Return the examples of every help text, by command."""
    context = click.Context(cli)
    commands = {name: cli.get_command(context, name) for name in cli.list_commands(context)}
    return {
        name: re.findall(r"^  (rankwise .*)", command.epilog, re.MULTILINE)
        for name, command in {"": cli, **commands}.items()
    }


SHOWN = list(dict.fromkeys(chain(NEXT, *examples().values())))


@pytest.fixture(scope="module")
def demo_copy(saved_demo, tmp_path_factory):
    """A copy of the demo's folder, in which commands may leave files."""
    return shutil.copytree(saved_demo[0], tmp_path_factory.mktemp("shown") / "rankwise-demo")


def test_the_demo(saved_demo):
    folder, done = saved_demo
    values = {
        name: rw.load(folder / "results" / name)["ndcg@10"]
        for name in ("random", "popularity", "neighbours")
    }
    assert values["random"] < values["popularity"] < values["neighbours"]
    assert done.stderr.endswith(
        "".join(f"\n  {line}" for line in ("cd rankwise-demo", *NEXT)) + "\n"
    )
    households = pl.read_csv(folder / "users.csv").group_by("household").len()["len"]
    assert (households.min(), households.max(), households.sum()) == (1, 5, 1500)
    before = {path: path.read_bytes() for path in folder.rglob("*.csv")}
    assert len(before) == 14
    again = rankwise_here(folder.parent, "demo")  # into the same folder
    assert (again.returncode or 0, again.stdout) == (0, done.stdout), again.stderr
    assert {path: path.read_bytes() for path in folder.rglob("*.csv")} == before


@pytest.mark.deep  # the demo with all extras always runs
def test_the_demo_without_an_extra(tmp_path, monkeypatch):
    """It proposes nothing that the installation cannot run."""

    def not_installed(folder):
        raise ImportError("No module named 'yaml'")

    def no_report(outcome, comparison):
        raise UsageError("x", hint='pip install "rankwise[report]"')

    monkeypatch.setattr(demo, "configuration", not_installed)
    monkeypatch.setattr(demo, "page", no_report)
    done = CliRunner().invoke(cli, ["demo", "--save", str(tmp_path / "here")])
    assert done.exit_code == 0
    assert 'pip install "rankwise[config]"' in done.stderr
    assert "rankwise run" not in done.stderr
    assert 'no report: pip install "rankwise[report]"' in done.stderr
    assert "report.html" not in done.stderr
    assert NEXT[0] in done.stderr
    assert not (tmp_path / "here" / "config.yaml").exists()


def test_files_and_tables_in_memory_have_the_same_result(saved_demo):
    folder, _ = saved_demo
    saved = rw.load(folder / "results" / "neighbours")
    read = rw.evaluate(
        folder / "runs" / "neighbours.csv",
        folder / "split",
        list(saved.values),
        relevance_threshold=4,
        items=folder / "items.csv",
    )
    assert read.values == saved.values
    assert read.split["id"] == saved.split["id"]


def test_every_help_has_examples():
    for name, lines in examples().items():
        assert lines
        assert all(line.startswith(f"rankwise {name}".strip()) for line in lines)
        assert all(len(line) <= 76 for line in lines)  # 80 columns, less those before it


DEMOS = [line for line in SHOWN if line.startswith("rankwise demo")]  # test_the_demo always runs


@pytest.mark.parametrize("line", [*(line for line in SHOWN if line not in DEMOS), *deep(*DEMOS)])
def test_shown_commands_run(demo_copy, line):
    program, *arguments = shlex.split(line, comments=True)
    assert program == "rankwise"
    done = rankwise_here(demo_copy, *arguments)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize(
    ("folder", "holds", "said"),
    [
        (
            "results/neighbours",
            "a saved result",
            ["date: 20", "ndcg@10: 0.0", "relevance_threshold: 4.0"],
        ),
        ("split", "a split", ["rule: GlobalTime", "share: 0.2", "moment: 17", "rows: 44125"]),
    ],
)
def test_inspecting_a_folder(saved_demo, folder, holds, said):
    text = rankwise_here(saved_demo[0], "inspect", folder).stdout
    assert all(part in text for part in [f"holds: {holds}", *said])
    facts = json.loads(rankwise_here(saved_demo[0], "inspect", folder, "--format", "json").stdout)
    assert facts["holds"] == holds


def test_inspecting_another_folder(saved_demo):
    done = rankwise_here(saved_demo[0], "inspect", "runs")
    assert (done.returncode, "neither a saved result nor a split" in done.stderr) == (3, True)
    assert "to inspect one table, pass its file, as runs/neighbours.csv" in done.stderr
