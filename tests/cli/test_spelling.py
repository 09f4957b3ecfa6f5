"""What the library says of its parameters, as commands and configuration files say it."""

from __future__ import annotations

import ast
import pickle
import re
from pathlib import Path

import click
import pytest

from rankwise.cli.main import cli
from rankwise.cli.spelling import spelling_of
from rankwise.errors import MetricError
from rankwise.messages import Message, call, mention, parameter

SOURCE = Path(__file__).parents[2] / "src" / "rankwise"


def command(name):
    return cli.get_command(click.Context(cli), name)


def spelled(name, text):
    return Message(text).spelled(spelling_of(command(name), cli))


@pytest.mark.parametrize(
    ("name", "text", "python", "ours"),
    [
        (
            "evaluate",
            parameter("columns", {"truth.relevance": "stars", "rank": None}),
            'columns={"truth.relevance": "stars", "rank": None}',
            "--column truth.relevance=stars --column rank=",
        ),
        (
            "evaluate",
            f"say which: {parameter('columns', {'user': '…'})}",
            'say which: columns={"user": "…"}',
            "say which: --column user=…",
        ),
        (
            "evaluate",
            f"pass {parameter('train')}, or {parameter('items')}",
            "pass train=, or items=",
            "pass --train FILE, or --items FILE",
        ),
        ("claim", parameter("bounds", (0, 10)), "bounds=(0, 10)", "--bounds 0 10"),
        (
            "evaluate",
            parameter("population"),
            "population=",
            "--population truth|both|recommended|judged|judged_both|all",
        ),
        (
            "evaluate",
            f"keep one with {parameter('duplicates', 'first')}.",
            'keep one with duplicates="first".',
            "keep one with --duplicates first.",
        ),
        (
            "evaluate",
            parameter("metrics", ["ndcg@10", "mrr"]),
            'metrics=["ndcg@10", "mrr"]',
            "--metric ndcg@10 --metric mrr",
        ),
        ("evaluate", parameter("by", "my group"), 'by="my group"', "--by 'my group'"),
        ("evaluate", parameter("threshold", 3.5), "threshold=3.5", "--threshold 3.5"),
        (
            "evaluate",
            f"{mention('exclude_seen')} and {mention('judged_only')} need train",
            "exclude_seen and judged_only need train",
            "--exclude-seen and --judged-only need train",
        ),
        (
            "evaluate",
            f"{parameter('exclude_seen', True)}, {parameter('progress', False)}",
            "exclude_seen=True, progress=False",
            "--exclude-seen, --no-progress",
        ),
        (
            "compare",
            f"{call('evaluate', jackknife=64)} does",
            "rankwise.evaluate(…, jackknife=64) does",
            "rankwise evaluate … --jackknife 64 does",
        ),
        (
            "decide",
            f"{call('off_policy')} takes it",
            "rankwise.off_policy takes it",
            "rankwise off-policy takes it",
        ),
        (
            "compare",
            f"{parameter('missing', 'common')} or {parameter('force', True)}",
            'missing="common" or force=True',
            "--missing common or --force",
        ),
        (
            "split",
            f"{parameter('share')}, {parameter('at')} or {parameter('last')}",
            "share=, at= or last=",
            "--test-ratio FLOAT, --at TEXT or --last TEXT",
        ),
        ("audit", parameter("stages"), "stages=", "--stage NAME=FILE"),
        # What only Python has is spelled as in Python.
        ("evaluate", parameter("n_items", 5), "n_items=5", "n_items=5"),
        ("evaluate", call("rank_relevant"), "rankwise.rank_relevant", "rankwise.rank_relevant"),
        ("evaluate", "the train= of it, by=1.csv", "the train= of it, by=1.csv", None),
    ],
)
def test_a_command_names_its_options(name, text, python, ours):
    assert Message(text) == python
    assert spelled(name, text) == (python if ours is None else ours)


@pytest.mark.parametrize(
    ("text", "ours"),
    [
        (parameter("duplicates", "first"), "evaluation: {duplicates: first}"),
        (parameter("columns", {"truth:event": "…"}), "evaluation: {columns: {truth:event: …}}"),
        (parameter("columns", {"timestamp": None}), "evaluation: {columns: {timestamp: null}}"),
        (
            f"pass {parameter('train')}, or {parameter('items')}",
            "pass data: {train: …}, or data: {items: …}",
        ),
        (
            f"{parameter('exclude_seen', True)} needs train",
            "evaluation: {exclude_seen: true} needs train",
        ),
        (f"{mention('mean_over')} is of requests", "evaluation.mean_over is of requests"),
        (parameter("missing", "common"), "comparison: {missing: common}"),
        (parameter("by", ["a", "b c"]), 'evaluation: {by: [a, "b c"]}'),
        (call("evaluate", jackknife=64), "evaluation: {jackknife: 64}"),
        (call("compare"), "rankwise.compare"),
        (parameter("guardrails", {"recall@10": "%"}), 'decision: {guardrails: {recall@10: "%"}}'),
    ],
)
def test_a_configuration_file_is_told_its_keys(text, ours):
    for name in ("run", "check", "plan"):
        assert spelled(name, text) == ours


def test_an_error_is_spelled_whole_and_knows_its_parameters():
    error = MetricError(
        f"no {mention('relevance_threshold')}",
        where="by=1.csv",
        found=parameter("by", ["x"]),
        hint=f"pass {parameter('train')}",
    )
    assert str(error) == (
        'no relevance_threshold\n  where: by=1.csv\n  found: by=["x"]\n  hint:  pass train='
    )
    assert [(each.name, each.value) for each in error.found.parameters] == [("by", ["x"])]

    ours = pickle.loads(pickle.dumps(error)).spelled(spelling_of(command("evaluate"), cli))
    assert type(ours) is MetricError
    assert str(ours) == (
        "no --threshold\n  where: by=1.csv\n  found: --by x\n  hint:  pass --train FILE"
    )


def test_marks_of_strangers_are_blanked():
    error = MetricError("an id", found="\x02", hint="a\x03b")
    assert str(error) == "an id\n  found:  \n  hint:  a b"


def parameters_of_the_library():
    """Return the parameters that public functions and classes have."""
    names = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                given = node.args
                names |= {each.arg for each in [*given.args, *given.kwonlyargs]}
            elif isinstance(node, ast.ClassDef):
                names |= {
                    each.target.id
                    for each in node.body
                    if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
                }
    return names


def calls_in_the_library():
    """Return what functions are called with, but for metrics, which have a language of their own."""
    return [
        node
        for path in SOURCE.rglob("*.py")
        if "metrics" not in path.relative_to(SOURCE).parts
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
    ]


def test_messages_name_parameters_that_there_are():
    known = parameters_of_the_library()
    named = {
        node.args[0].value
        for node in calls_in_the_library()
        if getattr(node.func, "id", "") in ("parameter", "mention")
        and isinstance(node.args[0], ast.Constant)
    }
    assert len(named) >= 80
    assert named <= known, named - known


def test_no_message_names_an_option_unmarked():
    """A parameter with a value in plain text would be spelled as in Python on every road."""
    options = {
        option.name
        for name in ("audit", "compare", "decide", "evaluate", "off-policy", "split")
        for option in command(name).params
        if isinstance(option, click.Option)
    }
    for node in calls_in_the_library():
        if not getattr(node.func, "id", "").endswith("Error"):
            continue
        for text in ast.walk(node):
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                outside = re.sub(r"\([^()]*\)", "", text.value)  # of Python's own classes
                names = set(re.findall(r"(?<![(\w])(\w+)=", outside))
                assert options.isdisjoint(names), (node.lineno, text.value)
