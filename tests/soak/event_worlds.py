"""Interleaving experiments: tables of exposures and outcomes, and click events of every form (UBI)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl
from hypothesis import strategies as st
from kinds import PLAIN, Comparison, Kind, Values
from said_tables import run_command, say, write
from world_tables import table, types_of

import rankwise as rw
from strategies import NAMES, ids

REWARDS = (None, {"click": 1}, {"click": 0.1, "buy": 0.7}, {"buy": 3})
TEAMS = st.one_of(
    st.sampled_from([["A", "B"], ["base", "new"], ["a", "b", "c"]]),
    st.lists(st.sampled_from(NAMES), min_size=2, max_size=3, unique=True),
)


@dataclass(frozen=True)
class Experiment:
    """An interleaving experiment.

    Attributes
    ----------
    shown : dict
        The items that each query and user was shown, in order, with their teams.
    actions : list
        The action, query, user and item of each outcome.
    types : dict
        The type of each column of ids.
    options : mapping
        Options of `rankwise.interleaving`.
    """

    shown: dict[tuple[Any, Any], list[tuple[Any, str]]]
    actions: list[tuple[str, Any, Any, Any]]
    types: dict[str, Any]
    options: Mapping[str, Any]

    def __str__(self) -> str:
        shown = f"  shown: {self.shown}"
        return (
            f"{shown}\n  actions: {self.actions}\n  types: {self.types}\n  options: {self.options}"
        )

    @cached_property
    def tables(self) -> dict[str, pl.DataFrame]:
        """The exposures and the outcomes."""
        request = {"request": self.types["request"], "user": self.types["user"]}
        item = {"item": self.types["item"]}
        shown = [
            (*key, place, *each)
            for key, own in self.shown.items()
            for place, each in enumerate(own, 1)
        ]
        outcomes = [(query, one, kind) for kind, query, _, one in self.actions]
        of_outcomes = {"request": self.types["request"], **item, "kind": pl.String}
        return {
            "exposures": table(
                shown, request | {"position": pl.Int64} | item | {"team": pl.String}
            ),
            "outcomes": table(outcomes, of_outcomes),
        }

    @property
    def rewards(self) -> Mapping[str, float]:
        """The reward of each action."""
        return self.options.get("reward", {"click": 1})

    @cached_property
    def events(self) -> list[dict[str, Any]]:
        """The click events, nested."""
        impressions = [
            _event("impression", *key, item, team=team, ordinal=place)
            for key, own in self.shown.items()
            for place, (item, team) in enumerate(own, 1)
        ]
        return impressions + [_event(*each) for each in self.actions]

    @property
    def flat(self) -> pl.DataFrame:
        """The click events in flat columns."""
        rows = [
            (
                event["action_name"],
                event["query_id"],
                event["client_id"],
                event["event_attributes"]["object"]["object_id"],
                event["event_attributes"]["object"]["search_config"],
                event["event_attributes"]["position"]["ordinal"],
            )
            for event in self.events
        ]
        types = {
            "action_name": pl.String,
            "query_id": self.types["request"],
            "client_id": self.types["user"],
            "object_id": self.types["item"],
            "search_config": pl.String,
            "ordinal": pl.Int64,
        }
        return table(rows, types)


def _event(
    action: str, query: Any, client: Any, item: Any, *, team: str | None = None, ordinal: Any = None
) -> dict[str, Any]:
    return {
        "action_name": action,
        "query_id": query,
        "client_id": client,
        "event_attributes": {
            "object": {"object_id": item, "search_config": team},
            "position": {"ordinal": ordinal},
        },
    }


@st.composite
def worlds(draw: st.DrawFn) -> Experiment:
    """Draw queries of some users, and clicks and purchases of the items that they were shown."""
    users = draw(ids(draw(st.integers(1, 6))))
    queries, items, teams = draw(ids(7)), draw(ids(6)), draw(TEAMS)
    shown = {}
    for query in queries[: draw(st.integers(1, 7))]:
        listed = draw(st.lists(st.sampled_from(items), min_size=2, max_size=5, unique=True))
        drafted = [(item, draw(st.sampled_from(teams))) for item in listed]
        shown[query, draw(st.sampled_from(users))] = drafted
    first = next(iter(shown))
    shown[first] = [(item, teams[at % len(teams)]) for at, (item, _) in enumerate(shown[first])]
    rows = [(*key, item) for key, own in shown.items() for item, _ in own]
    clicked = st.tuples(st.sampled_from(["click", "buy"]), st.sampled_from(rows))
    actions = [(kind, *row) for kind, row in draw(st.lists(clicked, max_size=12))]
    actions += [(kind, *rows[0]) for kind in ("click", "buy")]
    options: dict[str, Any] = {}
    reward = draw(st.sampled_from(REWARDS))
    if reward is not None:
        options["reward"] = reward
    if draw(st.booleans()):
        options["credit"] = "winner"
    return Experiment(
        shown, actions, draw(types_of(user=users, request=queries, item=items)), options
    )


def call(world: Experiment) -> rw.Interleaving:
    """Test an experiment from exposures and outcomes with a reward."""
    return tested(world, **world.tables)


def tested(world: Experiment, exposures: Any, outcomes: Any) -> rw.Interleaving:
    """Test an experiment from tables; outcomes without a reward are left out."""
    rewarded = outcomes.filter(pl.col("kind").is_in([*world.rewards]))
    return rw.interleaving(exposures, rewarded, **{"reward": world.rewards, **world.options})


def said(result: rw.Interleaving) -> Values:
    """Return what a result says, except the counts and rewards, which events have otherwise."""
    values = say(result)
    settings = {name: value for name, value in values["settings"].items() if name != "reward"}
    return {**values, "settings": settings, "counts": None}


def shuffled(world: Experiment, _folder: Path) -> Values:
    """Test an experiment from rows in another order."""
    tables = {
        role: own.sample(fraction=1, shuffle=True, seed=7) for role, own in world.tables.items()
    }
    return said(tested(world, **tables))


def of_events(
    write_events: Callable[[Experiment, Path], Any],
) -> Callable[[Experiment, Path], Values]:
    """Return a road that reads click events in some form."""

    def values(world: Experiment, folder: Path) -> Values:
        return said(rw.interleaving(write_events(world, folder), **world.options))

    return values


def nested_lines(world: Experiment, folder: Path) -> Path:
    """Write nested events as lines of JSON."""
    path = folder / "events.ndjson"
    path.write_text("\n".join(map(json.dumps, world.events)), encoding="utf-8")
    return path


def nested_document(world: Experiment, folder: Path) -> Path:
    """Write nested events as one JSON document."""
    path = folder / "events.json"
    path.write_text(json.dumps(world.events), encoding="utf-8")
    return path


def flat_parquet(world: Experiment, folder: Path) -> Path:
    """Write flat events as Parquet, in another order."""
    path = folder / "events.parquet"
    world.flat.sample(fraction=1, shuffle=True, seed=5).write_parquet(path)
    return path


def flat_csv(world: Experiment, folder: Path) -> Path:
    """Write flat events as CSV."""
    path = folder / "events.csv"
    world.flat.write_csv(path)
    return path


def saved(world: Experiment, folder: Path) -> Values:
    """Save the result, and load it."""
    return said(rw.load(call(world).save(folder / "saved")))


def _command(world: Experiment, folder: Path, suffix: str) -> Values:
    rewarded = world.tables["outcomes"].filter(pl.col("kind").is_in([*world.rewards]))
    files = write({**world.tables, "outcomes": rewarded}, folder, suffix)
    arguments = [files["exposures"], files["outcomes"]]
    for kind, reward in world.rewards.items():
        arguments += ["--reward", f"{kind}={reward}"]
    if "credit" in world.options:
        arguments += ["--credit", world.options["credit"]]
    run_command(folder, "interleaving", *arguments, "--save", "saved")
    return said(rw.load(folder / "saved"))


def cli_parquet(world: Experiment, folder: Path) -> Values:
    """Test an experiment with the command line, from Parquet files."""
    return _command(world, folder, "parquet")


def cli_csv(world: Experiment, folder: Path) -> Values:
    """Test an experiment with the command line, from CSV files."""
    return _command(world, folder, "csv")


def plain(world: Experiment, result: rw.Interleaving) -> Iterator[Comparison]:
    """Yield the credit of each user's teams beside sums in plain Python."""
    teams = result.settings["teams"]
    credit = {(user, team): 0.0 for _, user in world.shown for team in teams}
    for (query, user), own in world.shown.items():
        team_of = dict(own)
        earned = dict.fromkeys(teams, 0.0)
        for kind, other, _, item in world.actions:
            if other == query and kind in world.rewards:
                earned[team_of[item]] += world.rewards[kind]
        if "credit" in world.options:
            least = max(earned.values()) - 1e-12 * max(map(abs, earned.values()))
            winners = [team for team, value in earned.items() if value >= least]
            earned = {team: float([team] == winners) for team in earned}
        for team, value in earned.items():
            credit[user, team] += value
    for row in result.per_user.to_dicts():
        for team in teams:
            yield f"credit of {team} of {row['user']}", row[team], credit[row["user"], team]


KIND = Kind(
    "events",
    worlds(),
    call,
    said,
    {
        "shuffled": shuffled,
        "saved": saved,
        "events_nested": of_events(lambda world, _folder: world.events),
        "events_flat": of_events(lambda world, _folder: world.flat),
        "events_ndjson": of_events(nested_lines),
        "events_json": of_events(nested_document),
        "events_parquet": of_events(flat_parquet),
        "events_csv": of_events(flat_csv),
        "cli_parquet": cli_parquet,
        "cli_csv": cli_csv,
    },
    {PLAIN: plain},
)
