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


def test_every_metric_has_recorded_numbers():
    names = {cell.partition("@")[0].partition("[")[0].partition("(")[0] for cell in RECORDED["scores"]}
    assert names == {cls.name for cls in registry.every() if cls.__module__.startswith("rankwise.")}


def test_the_numbers_are_those_recorded():
    backend = kernels.road().split()[0]
    line = check_numbers.check(backend)
    assert f"({kernels.road()})" in line
    assert line.endswith(f" {sum(map(len, RECORDED.values()))} numbers are right")


def test_a_wheel_without_kernels_is_checked_by_itself(tmp_path):
    """As a program, with nothing of the tests on its path."""
    command = [sys.executable, check_numbers.__file__, "numpy"]
    environment = {**os.environ, "RANKWISE_KERNELS": "off"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "(numpy (RANKWISE_KERNELS=off)): " in done.stdout


def test_another_backend_than_expected_is_an_error():
    other = {"compiled": "numpy", "numpy": "compiled"}[kernels.road().split()[0]]
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
    imports = [line for line in Path(check_numbers.__file__).read_text().splitlines() if line.startswith("from ")]
    assert {line.split()[1].split(".")[0] for line in imports} <= {"rankwise", *sys.stdlib_module_names}
