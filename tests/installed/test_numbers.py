"""The check that workflows run on every wheel, in the working copy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from installed import check_numbers
from rankwise.core import kernels
from rankwise.metrics import registry

RECORDED = json.loads(check_numbers.RECORDED.read_text(encoding="utf-8"))


def test_the_numbers_are_those_recorded():
    """With and without kernels. A new metric is recorded with its release: until then it has no number here."""
    numbers = check_numbers.compute_numbers()
    with kernels.without_library():
        assert check_numbers.compute_numbers() == numbers
    lines = check_numbers.differences(numbers, RECORDED)
    assert [line for line in lines if not line.endswith("recorded nan")] == []
    names = {
        cell.partition("@")[0].partition("[")[0].partition("(")[0] for cell in RECORDED["scores"]
    }
    assert len(names) > 100
    assert names <= {cls.name for cls in registry.all_metrics()}


@pytest.mark.slow
def test_the_program_needs_nothing_beside_it(tmp_path):
    """It runs from another folder, and says with its exit code what is wrong."""
    command = [sys.executable, check_numbers.__file__, "compiled"]
    environment = {**os.environ, "RANKWISE_KERNELS": "off"}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 1
    assert "'numpy (RANKWISE_KERNELS=off)', not 'compiled'" in done.stderr


def test_another_backend_than_expected_is_an_error():
    other = {"compiled": "numpy", "numpy": "compiled"}[kernels.implementation().split()[0]]
    with pytest.raises(SystemExit, match=f"not '{other}'"):
        check_numbers.check(other)


def test_wrong_and_missing_numbers_are_named():
    recorded = {"scores": {"ndcg@2": 0.25, "auc": 0.5, "mrr": 1 / 3}}
    numbers = {"scores": {"ndcg@2": 0.25 + 1e-6, "mrr": 1 / 3 + 1e-15, "map": 0.75}}
    assert check_numbers.differences(numbers, recorded) == [
        "scores auc: nan, recorded 0.5",
        "scores map: 0.75, recorded nan",
        "scores ndcg@2: 0.250001, recorded 0.25",
    ]


def test_nothing_of_the_tests_is_needed_to_check_a_wheel():
    imports = [
        line
        for line in Path(check_numbers.__file__).read_text().splitlines()
        if line.startswith("from ")
    ]
    assert {line.split()[1].split(".")[0] for line in imports} <= {
        "rankwise",
        *sys.stdlib_module_names,
    }
