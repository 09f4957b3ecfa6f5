"""Hostile text of metrics, in Python and on the command line: metrics, or an error of ours."""

from __future__ import annotations

import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from command_line import rankwise_here
from fuzz.test_exports import NASTY, obeyed
from rankwise.errors import UsageError
from rankwise.metrics.base import Metric
from rankwise.metrics.registry import find, names
from strategies import fewer

NAMES = sorted(names())
NUMBERS = [
    "0",
    "1",
    "5",
    "-1",
    "1.5",
    "1e308",
    "1e999",
    "-1e999",
    "2**63",
    str(2**63),
    "9" * 5000,
    "1_000",
    "0x10",
    "True",
    "None",
    "1j",
    "''",
    "()",
    "nan",
    "inf",
    "{}",
    "[1,2]",
    "[]",
]
PIECES = [
    *NAMES[:9],
    *NUMBERS,
    *"@()[]{},=.:*'\"\\ -+/#;\n",
    "gain=",
    "k=",
    "of=",
    "distance=",
    "lambda:0",
    "__import__('os')",
    "ndcg",
    "ild(distance='os:system')",
    "ndcg@5",
    "é",
    "\ud800",
    *NASTY,
]
SECONDS = 5


def described(text):
    """Return the metric of a text; None for an error of rankwise."""
    begun = time.process_time()
    try:
        return rw.parse(text)
    except UsageError as error:
        assert obeyed(str(error)) == []
        return None
    finally:
        assert time.process_time() - begun < SECONDS


def assert_is_what_it_says(text):
    metric = described(text)
    if metric is not None:
        assert isinstance(metric, Metric)
        assert described(str(metric)) == metric


@given(parts=st.lists(st.sampled_from(PIECES), max_size=12))
def test_pieces_of_text(parts):
    assert_is_what_it_says("".join(parts))


@given(text=st.text(max_size=40))
def test_any_text(text):
    assert_is_what_it_says(text)


@pytest.mark.parametrize("name", NAMES)
@fewer(12)
@given(data=st.data())
def test_parameters_of_every_metric(name, data):
    known = [*find(name).__dataclass_fields__, "nothing"]
    value = st.sampled_from([*NUMBERS, "linear", "ndcg", "users", "'x'"])
    given_ = data.draw(st.dictionaries(st.sampled_from(known), value, max_size=3))
    inner = ",".join(f"{field}={value}" for field, value in given_.items())
    cutoff = data.draw(st.sampled_from(["", "@5", "@[1,3]", "@0", f"@{2**63}", "@x", "@1.5"]))
    text = f"{name}({inner}){cutoff}"
    assert_is_what_it_says(text)
    metric = described(text)
    if metric is None:
        return
    try:
        result = rw.evaluate(
            {1: [(5, 3.0), (6, 2.0)]},
            {1: {6: 4.0}},
            metric,
            train={1: [6, 7]},
            items={"item": [5, 6, 7], "group": ["a", "b", "a"]},
            users={"user": [1], "group": ["x"]},
            reference={1: [6]},
        )
    except rw.RankwiseError:
        return
    low, high = metric.range
    for value in [result[cell] for cell in metric.cells if cell in result]:
        assert math.isnan(value) or low - 1e-9 <= value <= high + 1e-9


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("run")
    (made / "run.csv").write_text("user,item,score\na,x,2\na,y,1\n")
    (made / "truth.csv").write_text("user,item\na,y\n")
    return made


@given(
    parts=st.lists(st.sampled_from([one for one in PIECES if "\ud800" not in one]), max_size=6),
    gate=st.sampled_from(["", "mrr > 0.4", "mrr > 0.6", "mrr > x", "mrr@", "> 1"]),
)
def test_the_command_line_ends_as_its_help_says(parts, gate, folder):
    gates = ["--require", gate] if gate else []
    run = rankwise_here(folder, "evaluate", "run.csv", "truth.csv", "-m", "".join(parts), *gates)
    assert run.returncode in (0, 1, 2, 3)
    assert (run.returncode == 1) == ("failed: mrr" in run.stderr)
    assert bool(run.stdout) == (run.returncode < 2)
    assert "Traceback" not in run.stderr
    assert obeyed(run.stdout + run.stderr) == []
