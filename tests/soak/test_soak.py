"""The soak draws every kind of world, finds what differs, repeats it by its seed, and finds nothing on the fast roads."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest
from kinds import COMMANDS, SPARK

import soak
from tools import deep

FAST = tuple(road for road in soak.ROADS if road not in (*COMMANDS, SPARK))
KINDS = [
    *("lists", "requests", "slices", "crossed", "codes", "probabilities"),
    *("stages", "events", "logs", "decisions"),
]


FEW = ("events",)  # a kind whose small worlds are found soon


def soaked(seed, kind, roads=FAST):
    made = soak.Soak(roads, (kind,))
    made.run_seed(seed)
    return made


def test_there_are_these_kinds_of_worlds_with_roads_of_their_own():
    assert [*soak.KINDS] == KINDS
    for kind in soak.KINDS.values():
        assert {"cli_parquet", "cli_csv", "plain"} <= {*kind.names}
        assert kind.name == "events" or {"yaml", "numpy"} & {*kind.names}


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_worlds_of_every_kind_agree_on_the_fast_roads(name, monkeypatch, request):
    if request.config.getoption("--hypothesis-profile") != "deep":
        monkeypatch.setattr(soak, "WORLDS", 4)
    kind = soak.KINDS[name]
    made = soaked(2, kind)
    assert made.reported == set()
    assert made.worlds[name] > made.refused[name]
    taken = {road for road in FAST if made.comparisons[name, road]}
    assert taken >= {road for road in kind.roads if road in FAST} - {"pieces", "chunks"}


@pytest.mark.slow
@pytest.mark.parametrize("name", [*FEW, *deep(*(name for name in KINDS if name not in FEW))])
def test_a_road_that_differs_is_reported_with_its_seed_and_a_small_world(name, monkeypatch, capsys):
    kind = soak.KINDS[name]
    road, right = next(iter(kind.roads.items()))

    def wrong(world, folder):
        values = dict(right(world, folder) or {})
        return values | {next(iter(values)): "another value"} if values else None

    monkeypatch.setattr(soak, "SHRINKING", 0.1)
    made = soaked(1, replace(kind, roads={road: wrong}))
    assert {key[:2] for key in made.reported} == {(name, road)}
    printed = capsys.readouterr().out
    assert printed.startswith(f"seed 1 of {name} differs:\n  {road}: ")
    assert "'another value' beside" in printed
    assert soaked(1, replace(kind, roads={road: wrong})).reported


def turned_round(lists):
    return {unit: own[::-1] for unit, own in lists.items()}


def with_other_lists(world):
    return replace(world, lists=turned_round(world.lists))


def with_other_scores(case):
    lists = {
        user: {item: -score for item, score in reversed(own.items())}
        for user, own in case.world.lists.items()
    }
    return replace(case, world=replace(case.world, lists=lists))


def with_other_chances(world):
    return replace(world, shown={pair: 1 - chance for pair, chance in world.shown.items()})


def with_other_orders(world):
    return replace(world, orders={name: turned_round(own) for name, own in world.orders.items()})


def with_more_actions(world):
    return replace(world, actions=[*world.actions, *world.actions])


def with_other_rewards(world):
    table = "exposures" if world.outcomes is None else "outcomes"
    return replace(world, **{table: world.tables[table].with_columns(pl.col("reward") + 1)})


def with_another_system(world):
    lists = {name: turned_round(own) for name, own in world.lists.items()}
    return replace(world, lists=lists)


CHANGED = dict.fromkeys(KINDS, with_other_lists) | {
    "lists": with_other_scores,
    "probabilities": with_other_chances,
    "stages": with_other_orders,
    "events": with_more_actions,
    "logs": with_other_rewards,
    "decisions": with_another_system,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_plain_definitions_find_the_result_of_another_world(name, monkeypatch):
    kind, change = soak.KINDS[name], CHANGED[name]
    other = replace(kind, call=lambda world: kind.call(change(world)))
    monkeypatch.setattr(soak, "SHRINKING", 0.1)
    reported = set()
    for seed in range(1, 9):
        reported = reported or soaked(seed, other, ("plain",)).reported
    assert {key[:2] for key in reported} == {(name, "plain")}


@pytest.mark.slow
def test_a_refusal_that_names_no_road_is_reported(monkeypatch):
    kind = soak.KINDS["events"]

    def refuse(world, folder):
        raise soak.rw.RankwiseError("this road is closed")

    monkeypatch.setattr(soak, "SHRINKING", 0.1)
    made = soaked(1, replace(kind, roads={"pieces": refuse}))
    assert {key[:2] for key in made.reported} == {("events", "pieces")}
    made = soaked(1, replace(kind, refuses=lambda world, road: True), ("plain",))
    assert made.reported == {("events", "plain", "refusal")}


@pytest.mark.deep
def test_a_road_that_takes_what_the_call_refuses_is_reported(monkeypatch):
    kind = soak.KINDS["requests"]

    def refuse(world):
        raise soak.rw.RankwiseError("nothing is evaluated")

    monkeypatch.setattr(soak, "SHRINKING", 0.1)
    made = soaked(1, replace(kind, call=refuse), ("numpy",))
    assert made.reported == {("requests", "numpy", "refusal")}

    def fail(world):
        raise ZeroDivisionError

    assert {key[:2] for key in soaked(1, replace(kind, call=fail)).reported} == {
        ("requests", "call")
    }
