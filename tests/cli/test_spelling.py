"""What the library says of its parameters, as the command line says it of its options."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from rankwise.cli.main import cli, in_options, with_option_names
from rankwise.errors import MetricError

MESSAGES = Path(__file__).parents[1] / "error_messages.txt"


def command(name):
    return cli.get_command(click.Context(cli), name)


@pytest.mark.parametrize(
    ("name", "python", "ours"),
    [
        ("evaluate", 'columns={"truth.relevance": "stars"}', "--column truth.relevance=stars"),
        ("evaluate", 'columns={"a": "x", "b": None}', "--column a=x --column b="),
        ("evaluate", 'say which: columns={"user": "…"}', "say which: --column user=…"),
        ("evaluate", 'where columns={"a.score": None} says', "where --column a.score= says"),
        ("evaluate", "pass train=, or items=", "pass --train FILE, or --items FILE"),
        (
            "evaluate",
            "who counts is population=",
            "who counts is --population truth|both|recommended|judged|judged_both|all",
        ),
        ("evaluate", "keep one with duplicates='first'.", "keep one with --duplicates first."),
        ("evaluate", 'metrics=["ndcg@10", "mrr"], say', "--metric ndcg@10 --metric mrr, say"),
        ("evaluate", 'by="my group"', "--by 'my group'"),
        ("evaluate", "relevance_threshold=3.5", "--threshold 3.5"),
        (
            "evaluate",
            "exclude_seen and judged_only need train",
            "--exclude-seen and --judged-only need train",
        ),
        ("evaluate", "exclude_seen=True, progress=False", "--exclude-seen, --no-progress"),
        (
            "evaluate",
            "rw.evaluate(…, jackknife=64) does",
            "rankwise evaluate … --jackknife 64 does",
        ),
        ("compare", "evaluate with jackknife=64", "evaluate with --jackknife 64"),
        ("compare", 'missing="common" or force=True', "--missing common or --force"),
        ("split", "share=, at= or last=", "--test-ratio FLOAT, --at TEXT or --last TEXT"),
        ("split", 'write it with format="csv"', "write it with --format csv"),
        ("audit", "rankwise.evaluate(judged_only=True)", "rankwise evaluate … --judged-only"),
        ("audit", "needs stages= with a", "needs --stage NAME=FILE with a"),
        # Not options: parameters of metrics, columns, words, what only Python has.
        (
            "evaluate",
            "write err(max_relevance=5)@10, of=means",
            "write err(max_relevance=5)@10, of=means",
        ),
        ("evaluate", "f(by=x,weights=2)@3 of 'train='", "f(by=x,weights=2)@3 of 'train='"),
        ("evaluate", "train, items, users and by", "train, items, users and by"),
        ("evaluate", "per_user.parquet, .per_user(…)", "per_user.parquet, .per_user(…)"),
        ("evaluate", "rw.rank takes k=", "rw.rank takes k="),
    ],
)
def test_spelling(name, python, ours):
    assert in_options(python, command(name), cli) == ours


@pytest.mark.parametrize("name", ["audit", "compare", "evaluate", "split"])
def test_no_hint_names_an_option_as_python_does(name):
    options = {option.name for option in command(name).params if isinstance(option, click.Option)}
    spelled = 0
    for hint in re.findall(r"^  hint:  (.*)", MESSAGES.read_text(encoding="utf-8"), re.MULTILINE):
        ours = in_options(hint, command(name), cli)
        spelled += ours != hint
        assert options.isdisjoint(re.findall(r"(?<![\w(,.-])(\w+)=", ours)), ours
        assert options.isdisjoint(re.findall(r"(?<![\w-])\w+_\w+(?![\w.(=])", ours)), ours
    assert spelled >= 10


@pytest.mark.parametrize(
    ("python", "ours"),
    [
        ("keep one with duplicates='first'.", "keep one with evaluation: {duplicates: first}."),
        (
            'say which: columns={"truth:event": "…"}',
            "say which: evaluation: {columns: {truth:event: …}}",
        ),
        ('columns={"timestamp": None}', "evaluation: {columns: {timestamp: null}}"),
        ("pass train=, or items=", "pass data: {train: …}, or data: {items: …}"),
        ("exclude_seen=True needs train", "evaluation: {exclude_seen: true} needs train"),
        ("mean_over is of requests", "evaluation.mean_over is of requests"),
        (
            'missing="common" or force=True',
            "comparison: {missing: common} or comparison: {force: true}",
        ),
        ('by=["a", "b"]', "evaluation: {by: [a, b]}"),
        ("err(max_relevance=5)@10, of=means", "err(max_relevance=5)@10, of=means"),
    ],
)
def test_a_configuration_file_is_told_its_keys(python, ours):
    for name in ("run", "check", "plan"):
        error = with_option_names(MetricError("no", hint=python, found=python), command(name), cli)
        assert (error.hint, error.found) == (ours, python)


def test_data_is_left_alone():
    error = MetricError("no train=", where="by=1.csv", found="by=2", hint="pass train=")
    ours = with_option_names(error, command("evaluate"), cli)
    assert (ours.what, ours.where, ours.found) == ("no --train FILE", "by=1.csv", "by=2")
    assert (type(ours), ours.hint) == (MetricError, "pass --train FILE")
