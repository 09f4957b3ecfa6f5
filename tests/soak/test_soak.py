"""The soak finds what differs, repeats it by its seed, and finds nothing on the fast roads."""

from __future__ import annotations

import pytest
import roads

import rankwise as rw
import soak

FAST = (*roads.FAST, soak.PLAIN)


def soaked(seed, *names):
    made = soak.Soak(names)
    made.run_seed(seed)
    return made


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_fast_roads_and_plain_definitions_agree(seed):
    made = soaked(seed, *FAST)
    assert made.reported == set()
    assert made.worlds > made.refused
    assert all(made.comparisons[road] for road in ("numpy", "threads", "shuffled"))


@pytest.mark.slow
def test_a_road_that_differs_is_reported_with_its_seed_and_a_small_world(monkeypatch, capsys):
    def wrong(case, tables, metrics):
        result = roads.base(case, tables, metrics)
        last = tables["recommendations"].height > 3
        return rw.evaluate({1: [1]}, {1: {1}}, "mrr") if last else result

    monkeypatch.setitem(roads.ROADS, "threads", wrong)
    monkeypatch.setattr(soak, "SHRINKING", 2.0)
    made = soaked(1, "threads")
    assert {road for road, _ in made.reported} == {"threads"}
    printed = capsys.readouterr().out
    assert printed.startswith("seed 1 differs:\n  threads: ")
    assert "\n  options: " in printed
    assert soaked(1, "threads").reported
