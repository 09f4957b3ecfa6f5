"""The contest with other libraries: it is complete, and no time counts unless values agree."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(scope="module")
def contest():
    before = [*sys.path]
    sys.path[:0] = [str(BENCHMARKS), str(BENCHMARKS / "contest")]
    import contest_page
    import environments
    import run

    yield run, environments, contest_page
    sys.path[:] = before


def test_every_peer_has_an_environment_a_program_and_a_name(contest):
    run, environments, page = contest
    assert {*environments.PEERS} | {"plain_python", "polars"} == {*run.OPPONENTS} == {*page.NAMES}
    for peer in run.OPPONENTS:
        assert (BENCHMARKS / "contest" / f"with_{peer}.py").exists()
    assert {one.task for one in run.OPPONENTS.values()} == {*page.TASKS}


def test_instructions_of_every_case_are_on_record():
    """A case that is renamed or new is recorded, on both roads, or the check would pass over it."""
    source = (BENCHMARKS / "instructions.py").read_text("utf-8")
    cases = {"first-call", *re.findall(r'^        "([\w-]+)": partial\(', source, re.MULTILINE)}
    record = json.loads((BENCHMARKS / "instructions.json").read_text("utf-8"))
    assert len(cases) == 14
    assert {*record} == {"versions", "compiled", "numpy"}
    assert {*record["compiled"]} == {*record["numpy"]} == cases


VALUES = {"precision@10": 0.25, "recall@10": 0.5}


@pytest.mark.slow
def test_a_peer_is_measured_only_if_its_values_agree(contest, tmp_path, monkeypatch):
    run, _, _ = contest
    run.write_data("small", tmp_path)
    found = run.against("plain_python", tmp_path, 1, 0)
    assert {*found["ratio"]} == {*run.STEPS}
    assert len(found["metrics"]) == 6
    assert found["peer"]["later call"] > 0
    other = {name: value * (1 + 1e-6) for name, value in VALUES.items()}
    monkeypatch.setattr(run, "run", lambda *_: {**found["peer"], "values": next(values)})
    values = iter([VALUES, other])
    with pytest.raises(run.CannotRunError, match="other values: precision@10"):
        run.against("plain_python", tmp_path, 1, 0)
