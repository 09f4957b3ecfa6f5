"""What a command loads before it works: the start of what a user runs ten times a day."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.xdist_group("demo")

HEAVY = ("numpy", "polars", "scipy", "scipy.stats", "pydantic", "altair", "pandas", "torch", "rich")
COMMANDS = {
    "--help": set(),
    "init --help": set(),
    "compare --help": {"numpy", "polars"},
    "metrics": {"numpy", "polars"},
    "metrics ndcg": {"numpy", "polars"},
    "conventions": {"numpy", "polars"},
    "inspect users.csv": {"numpy", "polars"},
    "audit split": {"numpy", "polars"},
    "evaluate runs/random.csv split -m ndcg@10 --threshold 4": {"numpy", "polars"},
    "compare results/random results/popularity -m ndcg@10": {"numpy", "polars", "scipy"},
    "decide results/random results/popularity --success ndcg@10": {"numpy", "polars", "scipy"},
    "check config.yaml": {"numpy", "polars", "pydantic"},
    "report results/popularity -o page.html": {"numpy", "polars", "scipy", "altair"},
}
"""The libraries that each command loads, of those that take long."""
CODE = """
import json, sys
from rankwise.cli.main import _run
code = _run(sys.argv[1:])
print(json.dumps([code, sorted(sys.modules)]))
"""


def modules_of(folder, command):
    done = subprocess.run(
        [sys.executable, "-c", CODE, *command.split()],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    code, modules = json.loads(done.stdout.splitlines()[-1])
    assert code == 0, done.stderr
    return {*modules}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_loads_what_it_needs(saved_demo, command):
    loaded = modules_of(saved_demo[0], command)
    assert {name for name in HEAVY if name in loaded} == COMMANDS[command]


@pytest.mark.parametrize("command", ["metrics ndcg", "conventions", "ship results/random s.json"])
def test_a_command_that_evaluates_nothing_loads_no_engine(saved_demo, command):
    loaded = modules_of(saved_demo[0], command)
    assert not [
        name for name in ("rankwise.encoding", "rankwise.evaluation.engine") if name in loaded
    ]
