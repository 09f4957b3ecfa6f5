"""Measures are loaded when they are asked for; no other can take the name of one meanwhile."""

from __future__ import annotations

import subprocess
import sys

START = """
import sys
import rankwise as rw
from rankwise.errors import ParameterError
from rankwise.measures import registry

def loaded(*modules):
    return [f"rankwise.measures.{name}" in sys.modules for name in modules]
"""


def run(code):
    done = subprocess.run(
        [sys.executable, "-c", START + code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_an_evaluation_loads_the_measures_that_it_asks_for():
    run("""
names = ["precision@1", "recall@1", "ndcg@1", "map@1", "mrr", "hit_rate@1"]
rw.evaluate({"ann": [1]}, {"ann": {1}}, names)
assert loaded("accuracy", "coverage", "hygiene") == [True, False, False]
assert rw.parse("catalog_coverage@1").name == "catalog_coverage"
assert loaded("coverage", "hygiene") == [True, True]
""")


def test_a_name_is_taken_before_its_measure_is_loaded():
    run("""
other = type("Other", (registry.Registered,), {"name": "gini", "family": "coverage"})
try:
    registry.add(other)
except ParameterError as error:
    assert "two measures are called 'gini'" in str(error)
else:
    raise AssertionError("it took the name")
assert registry.find("gini") is not other
""")
