"""Summaries for pull requests: the verdict first, checks, the users that moved most, on every outcome."""

from __future__ import annotations

import re

import polars as pl
import pytest

import rankwise as rw
from command_line import rankwise_here
from rankwise.core.terminal import TableView, latex, markdown

TRUTH = {user: {1, 2} for user in range(200)}
BASE = {user: [1, 3] for user in TRUTH}
BETTER = BASE | {user: [1, 2] for user in range(120)}
WORSE = BASE | {user: [3, 4] for user in range(120)}
MIXED = BASE | {user: [1, 2] for user in range(3)} | {user: [4, 3] for user in range(3, 7)}


def evaluated(lists):
    return rw.evaluate(lists, TRUTH, ["recall@2", "mrr@2"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    for name, lists in {"base": BASE, "better": BETTER, "worse": WORSE, "mixed": MIXED}.items():
        evaluated(lists).save(folder / name)
    evaluated(MIXED).per_user.write_csv(folder / "mixed.csv")
    return folder


@pytest.fixture
def summary(tmp_path):
    return tmp_path / "summary.md"


def decide(folder, system, summary, *more):
    options = ["--success", "recall@2", "--summary", summary, *more]
    return rankwise_here(folder, "decide", "base", system, *options)


@pytest.mark.parametrize(
    ("system", "word", "code"), [("better", "SHIP", 0), ("worse", "STOP", 1), ("mixed", "HOLD", 5)]
)
def test_a_decision_is_summarised_on_every_outcome(folder, summary, system, word, code):
    done = decide(folder, system, summary)
    assert done.returncode == code, done.stderr
    first, blank, *rest = summary.read_text().splitlines()
    assert first.startswith(f"**{word}** ")
    assert blank == ""
    assert any(re.match(r"\| +recall@2 +\| +200 \|", line) for line in rest)


def test_the_first_line_is_the_verdict_that_is_printed(folder, summary):
    done = decide(folder, "better", summary, "-q")
    printed = " ".join(done.stdout.split()).replace("SHIP", "**SHIP**")
    assert summary.read_text().splitlines()[0] == printed


def test_the_users_that_moved_most_are_listed_with_both_values(folder, summary):
    decide(folder, "mixed", summary)
    text = summary.read_text()
    assert "4 users lose, 3 gain, 193 see no difference in recall@2 between base and mixed." in text
    rows = [line for line in text.splitlines() if re.match(r"\| \d+ ", line)]
    assert [row.split("|")[1].strip() for row in rows] == list("3456012")
    assert [cell.strip() for cell in rows[0].split("|")[2:5]] == ["0.500", "0", "−0.500"]


def test_a_table_of_per_user_values_has_movers_as_well(folder, summary):
    decide(folder, "mixed.csv", summary)
    assert "4 users lose, 3 gain" in summary.read_text()


def test_a_summary_is_appended_to_what_earlier_steps_wrote(folder, summary):
    summary.write_text("# Before\n")
    decide(folder, "better", summary)
    decide(folder, "worse", summary)
    lines = summary.read_text().splitlines()
    assert lines[:2] == ["# Before", ""]
    assert [line[:8] for line in lines if line.startswith("**")] == ["**SHIP**", "**STOP**"]
    worse = next(at for at, line in enumerate(lines) if line.startswith("**STOP**"))
    assert lines[worse - 1] == ""  # a paragraph of its own


def test_a_summary_that_cannot_be_written_is_an_error_of_output(folder, tmp_path):
    done = decide(folder, "better", tmp_path / "nowhere" / "summary.md")
    assert done.returncode == 6
    assert "this cannot be written" in done.stderr
    gate = ["compare", "better", "--no-regression", "base", "-m", "recall@2"]
    assert rankwise_here(folder, *gate, "--summary", tmp_path).returncode == 6


def test_the_method_has_the_same_content(folder, summary):
    results = {name: evaluated(lists) for name, lists in (("base", BASE), ("mixed", MIXED))}
    decision = rw.decide(results, success="recall@2")
    decide(folder, "mixed", summary)
    assert decision.summary(results) == summary.read_text()
    compared = rw.compare(results, baseline="base")
    assert rw.decide(compared, success="recall@2").summary(compared) == summary.read_text()
    alone = decision.summary()
    assert summary.read_text().startswith(alone.rstrip("\n"))
    assert "users lose" not in alone


def test_a_saved_decision_has_a_summary_without_users(folder, tmp_path):
    results = {name: evaluated(lists) for name, lists in (("base", BASE), ("mixed", MIXED))}
    decision = rw.decide(results, success="recall@2")
    loaded = rw.Decision.load(decision.save(tmp_path / "decision.json"))
    assert loaded.summary() == decision.summary()


def test_logged_requests_have_no_users_to_list():
    log = {"item": [1, 2] * 60, "propensity": [0.5] * 120, "click": [1, 0] * 60}
    values = rw.off_policy(log | {"p_new": [1.0, 0.0] * 60}, targets={"new": "p_new"})
    decision = rw.decide(values, success="reward")
    assert decision.summary({"reward": values}) == decision.summary()


def test_movers_are_of_the_first_success_metric_that_is_a_mean_over_users():
    items = {"item": list(range(9))}
    results = {
        name: rw.evaluate(lists, TRUTH, ["coverage@2", "recall@2"], items=items, jackknife=8)
        for name, lists in (("base", BASE), ("mixed", MIXED))
    }
    text = rw.decide(results, success=["coverage@2", "recall@2"]).summary(results)
    assert "see no difference in recall@2" in text
    alone = rw.decide(results, success="coverage@2").summary(results)
    assert "see no difference" not in alone


def test_a_gate_is_summarised_with_the_gravest_outcome_first(folder, summary):
    gate = ["compare", "better", "worse", "mixed", "--no-regression", "base", "-m", "recall@2"]
    done = rankwise_here(folder, *gate, "--summary", summary)
    assert done.returncode == 1
    text = summary.read_text()
    words = re.findall(r"^\*\*(\w+)\*\*", text, re.MULTILINE)
    assert words == ["FAIL", "OPEN", "PASS"]
    assert text.startswith("**FAIL** worse is worse than baseline on recall@2.")
    assert "| recall@2 | better − baseline |" in text
    assert text.count("see no difference in recall@2") == 3
    assert "pass --margin, the largest loss" in " ".join(done.stderr.split())


def test_a_gate_over_seeds_lists_no_users(folder, summary):
    seeds = ["new=better", "new=mixed"]
    gate = ["compare", *seeds, "--no-regression", "base", "-m", "recall@2", "--summary", summary]
    assert rankwise_here(folder, *gate).returncode in (0, 1, 5)
    assert "see no difference" not in summary.read_text()


def test_a_summary_of_a_comparison_needs_a_gate(folder, summary):
    done = rankwise_here(folder, "compare", "base", "better", "--summary", summary)
    assert done.returncode == 2
    assert "--summary needs --no-regression" in done.stderr


def test_fixed_limits_are_summarised_with_those_that_fail_first(tmp_path, summary):
    pl.DataFrame({"user": [1, 2], "item": [5, 6]}).write_csv(tmp_path / "truth.csv")
    pl.DataFrame({"user": [1, 2], "item": [5, 7]}).write_csv(tmp_path / "lists.csv")
    command = ["evaluate", "lists.csv", "truth.csv", "-m", "recall@1", "--summary", summary]
    assert rankwise_here(tmp_path, *command).returncode == 2
    limits = ["--require", "recall@1 >= 0.4", "--require", "recall@1 >= 0.6"]
    assert rankwise_here(tmp_path, *command, *limits).returncode == 1
    first, _, second, _, head, *_ = summary.read_text().splitlines()
    assert first == r"**FAIL** recall@1 = 0.5, required \>= 0.6"
    assert second == r"**PASS** recall@1 = 0.5, required \>= 0.4"
    assert head.startswith("| metric |")


HOSTILE = ["a|b", "<img src=x>", "two\nlines", "@everyone", "#1", "[x](http://y)", "*b*"]


def test_ids_are_no_markup_in_a_summary():
    users = [*HOSTILE, *(f"u{number}" for number in range(60))]
    tables = {
        "old|er": pl.DataFrame({"user": users, "recall@2": [0.5] * len(users)}),
        "new": pl.DataFrame(
            {"user": users, "recall@2": [0.0] * len(HOSTILE) + [0.5] * (len(users) - len(HOSTILE))}
        ),
    }
    results = {name: rw.from_per_user(table) for name, table in tables.items()}
    text = rw.decide(results, success="recall@2").summary(results)
    assert r"old\|er" in text
    assert not re.search(r"(?<!\\)<img", text)
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} <= {6, 7}


def test_forges_take_no_id_for_a_person_or_an_issue():
    users = ["@ann", "#12", "bob"] + [f"u{number}" for number in range(30)]
    tables = {
        name: pl.DataFrame({"user": users, "recall@10": [value] * 3 + [0.5] * 30})
        for name, value in (("old", 0.5), ("new", 0.0))
    }
    results = {name: rw.from_per_user(table) for name, table in tables.items()}
    text = rw.decide(results, success="recall@10").summary(results)
    assert "| @<!-- -->ann " in text
    assert r"| \#<!-- -->12 " in text
    assert "see no difference in recall@10 between" in text


def test_a_verdict_is_a_paragraph_in_markdown_and_a_comment_in_latex():
    views = [TableView((), (), ["n"], caption="It is so."), TableView(["a"], [["1"]])]
    assert markdown(*views) == "It is so.\n\nn\n\n| a   |\n| --- |\n| 1   |\n"
    assert latex(*views).startswith("% It is so.\n\n% n\n\n\\begin{table}")
