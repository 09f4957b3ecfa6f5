"""Which mutants `scripts/mutate` makes of a source, and that each is another program on the same lines."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = '''"""Text is left as it is: 1 < 2."""
from typing import Literal

Side = Literal["left", "right"]
__all__ = ["share"]


def share(values: list[int], *, most: int = 3, side: Side = "left") -> float:
    if not values or len(values) >= most:
        raise ValueError(f"more than {most - 1}: {1 + 1}")
    n = max(len(values), 1)
    values[0] = 7
    values.sort()
    return (
        sum(values)
        / n
    )
'''
CHANGES = [
    ("2", "4"),  # the default
    ("", "and"),
    (">",),
    ("pass",),  # the error is not raised
    ("0", "2"),
    ("min",),
    ("-1", "1", "6", "8", "pass"),
    ("pass",),  # the list is not sorted
    ("*", "None"),
]


@pytest.fixture
def mutate(tmp_path, monkeypatch):
    loader = SourceFileLoader("mutate", str(ROOT / "scripts" / "mutate"))
    module = module_from_spec(spec_from_loader("mutate", loader))
    monkeypatch.setitem(sys.modules, "mutate", module)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    loader.exec_module(module)
    monkeypatch.setattr(module, "SOURCE", tmp_path)
    (tmp_path / "shares.py").write_text(SOURCE, "utf-8")
    return module


def test_the_mutants_of_a_source(mutate):
    mutants = mutate.mutants_of("shares")
    assert sorted(mutant.text for mutant in mutants) == sorted(
        text for texts in CHANGES for text in texts
    )
    for mutant in mutants:
        assert ast.dump(ast.parse(mutant.source())) != ast.dump(ast.parse(SOURCE))
        assert len(mutant.source().splitlines()) == len(SOURCE.splitlines())
    assert {mutant.line for mutant in mutate.mutants_of("shares.py:9")} == {9}


def test_a_mutant_is_run_by_its_statement_or_where_its_function_or_name_is_used(mutate, tmp_path):
    source = "STEP = 3\n\n\ndef steps(n: int = 2) -> int:\n    if n > 1:\n        n += STEP\n    return (\n        n\n        - STEP\n    )\n"
    (tmp_path / "steps.py").write_text(source, "utf-8")
    lines = {
        (mutant.line, mutant.text): sorted(mutant.lines) for mutant in mutate.mutants_of("steps")
    }
    assert lines[1, "4"] == [6, 9]
    assert lines[4, "3"] == [4, 5, 6, 7, 8, 9, 10]
    assert lines[5, ">="] == [5]
    assert lines[6, "pass"] == [6]
    assert lines[9, "+"] == [7, 8, 9, 10]


@pytest.mark.parametrize(
    ("lines", "text"), [([], ""), ([3, 4, 5, 9], "3-5 9"), ([1, 3], "1 3"), ([7, 8], "7-8")]
)
def test_lines_are_written_as_runs(mutate, lines, text):
    assert mutate.joined(lines) == text
    assert mutate.expanded(text) == lines


def test_a_sample_depends_on_the_seed_and_not_on_other_lines(mutate, tmp_path):
    def texts(seed):
        return [
            mutant.change()
            for mutant in sorted(mutate.mutants_of("shares"), key=lambda m: m.rank(seed))
        ]

    before = texts(1)
    assert before != texts(2)
    (tmp_path / "shares.py").write_text(SOURCE.replace("\n\ndef", "\n\nN = None\n\n\ndef"), "utf-8")
    assert texts(1) == before


def test_a_listed_mutant_is_left_out(mutate):
    entry = {
        "module": "shares.py",
        "before": "n = max(len(values), 1)",
        "after": "n = min(len(values), 1)",
    }
    listed = [mutant for mutant in mutate.mutants_of("shares") if mutate.is_listed(mutant, [entry])]
    assert [mutant.text for mutant in listed] == ["min"]
    every = [
        mutant
        for mutant in mutate.mutants_of("shares")
        if mutate.is_listed(mutant, [entry | {"after": "any"}])
    ]
    assert every == []


def test_every_listed_mutant_is_of_a_line_that_is_there():
    listed = tomllib.loads((ROOT / "scripts" / "equivalent_mutants.toml").read_text("utf-8"))[
        "mutant"
    ]
    for entry in listed:
        lines = (ROOT / "src" / "rankwise" / entry["module"]).read_text("utf-8").splitlines()
        assert entry["before"] in map(str.strip, lines), entry


def test_the_code_of_a_mutant_takes_the_place_of_its_function(mutate, tmp_path):
    namespace = {}
    exec(compile(SOURCE, str(tmp_path / "shares.py"), "exec", dont_inherit=True), namespace)
    share = namespace["share"]
    functions = {mutate.place_of(share.__code__): [share]}
    of_text = {mutant.text: mutant for mutant in mutate.mutants_of("shares")}
    assert not mutate.put_in_place(of_text["4"], functions)  # a default is no code of the function
    assert share([1, 2]) == 9 / 2
    assert mutate.put_in_place(of_text["None"], functions)
    assert share([1, 2]) is None


@pytest.mark.slow
def test_a_mutant_is_loaded_in_place_of_its_module(tmp_path):
    """Rows from the second on, or from the last, in a module that conftest.py has imported before any test."""
    source = (ROOT / "src/rankwise/core/kernels.py").read_text("utf-8").splitlines()
    line = next(at for at, text in enumerate(source, 1) if "range(0, len(rows), _STEP)" in text)
    target, tests = f"core/kernels.py:{line}", "tests/core/test_threads.py"
    command = [
        sys.executable,
        ROOT / "scripts" / "mutate",
        target,
        "--map",
        tmp_path / "map",
        "--tests",
        tests,
    ]
    run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert run.stdout.endswith(f"| {target} | 2 | 2 | 0 | 0 | 2 | 0 | 100% |\n"), run.stdout
