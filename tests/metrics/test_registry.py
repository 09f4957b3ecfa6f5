"""Metrics are loaded when they are asked for; no other can take the name of one meanwhile."""

from __future__ import annotations

import subprocess
import sys

import pytest

START = """
import sys
import rankwise as rw
from rankwise.errors import ParameterError
from rankwise.metrics import registry

def loaded(*modules):
    return [f"rankwise.metrics.{name}" in sys.modules for name in modules]
"""


def run(code):
    done = subprocess.run(
        [sys.executable, "-c", START + code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_an_evaluation_loads_the_metrics_that_it_asks_for():
    run("""
names = ["precision@1", "recall@1", "ndcg@1", "map@1", "mrr", "hit_rate@1"]
rw.evaluate({"ann": [1]}, {"ann": {1}}, names)
assert loaded("accuracy", "coverage", "diversity") == [True, False, False]
assert rw.parse("catalog_coverage@1").name == "catalog_coverage"
assert loaded("coverage", "diversity") == [True, True]
""")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Other", "Gini"])
def test_a_name_is_taken_before_its_metric_is_loaded(name):
    run(
        f"name = {name!r}"
        """
other = type(name, (registry.Registered,), {"name": "gini", "family": "coverage"})
assert loaded("coverage") == [False]
try:
    registry.add(other)
except ParameterError as error:
    assert "two metrics are called 'gini'" in str(error)
else:
    raise AssertionError("it took the name")
assert registry.find("gini") is not other
"""
    )


def test_a_metric_defined_again_takes_the_place_of_the_first():
    run("""
def define():
    class Other(registry.Registered):
        name, family = "other", "coverage"
    registry.add(Other)
    return Other

first, second = define(), define()
assert registry.find("other") is second is not first
""")
