"""Decisions about two systems: success, guardrails, slices, on results of every road."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from hypothesis import strategies as st
from kinds import HAS_SPARK, PLAIN, SPARK, Comparison, Kind, Values
from said_tables import run_command, run_configuration, said_in, write
from world_tables import table, types_of

import rankwise as rw
from metrics.test_against_functional import PER_USER, plain_value
from rankwise.core import kernels
from strategies import ids

METRICS = ("ndcg@3", "recall@2", "mrr@4", "hit_rate@1", "precision@3")
SYSTEMS = ("old", "new")
CODES = (0, 1, 5)
"""The exit codes of decisions."""


@dataclass(frozen=True)
class Deciding:
    """Lists of two systems, and a rule.

    Attributes
    ----------
    lists : dict
        The items of each user, by the name of the system.
    truth : dict
        The relevant items of each user.
    teams : dict
        The team of each user.
    n_items : int
        The number of items.
    types : dict
        The type of each column of ids.
    metrics : tuple of str
        The metrics of the rule.
    rule : mapping
        Options of `rankwise.decide`.
    options : mapping
        Options of `rankwise.evaluate`.
    """

    lists: dict[str, dict[Any, list[Any]]]
    truth: dict[Any, list[Any]]
    teams: dict[Any, str]
    n_items: int
    types: dict[str, Any]
    metrics: tuple[str, ...]
    rule: Mapping[str, Any]
    options: Mapping[str, Any]

    def __str__(self) -> str:
        lines = [f"  rule: {dict(self.rule)}", f"  options: {dict(self.options)}"]
        lines += [f"  {name}: {own.to_dict(as_series=False)}" for name, own in self.tables.items()]
        return "\n".join(lines)

    @cached_property
    def tables(self) -> dict[str, pl.DataFrame]:
        """The tables by name; lists by the name of the system."""
        user, item = {"user": self.types["user"]}, {"item": self.types["item"]}
        lists = {
            name: [(u, i, rank) for u, own in lists.items() for rank, i in enumerate(own, 1)]
            for name, lists in self.lists.items()
        }
        return {
            **{name: table(rows, user | item | {"rank": pl.Int64}) for name, rows in lists.items()},
            "truth": table([(u, i) for u, own in self.truth.items() for i in own], user | item),
            "users": table([*self.teams.items()], user | {"team": pl.String}),
        }


@st.composite
def worlds(draw: st.DrawFn) -> Deciding:
    """Draw two systems, of which the second moves a relevant item to the front for some users."""
    size, gain = draw(st.sampled_from([2, 5, 40, 120])), draw(st.sampled_from([0.0, 0.1, 0.6]))
    users, items = draw(ids(size)), draw(ids(9))
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    truth, old, new = {}, {}, {}
    for user in users:
        order = rng.permutation(9).tolist()
        truth[user] = [items[at] for at in order[: rng.integers(1, 4)]]
        old[user] = [items[at] for at in rng.permutation(9)[: rng.integers(1, 6)]]
        new[user] = [items[at] for at in rng.permutation(9)[: rng.integers(1, 6)]]
        if rng.random() < gain:
            new[user] = [truth[user][0], *(item for item in old[user] if item != truth[user][0])]
    metrics = draw(st.lists(st.sampled_from(METRICS), min_size=1, max_size=3, unique=True))
    rule: dict[str, Any] = {"success": metrics[:1]}
    if len(metrics) > 1:
        margin = draw(st.sampled_from(["1%", "30%", 0.2]))
        rule["guardrails"] = {metrics[1]: margin}
    if len(metrics) > 2:
        rule["deterioration"] = metrics[2:]
    if draw(st.booleans()):
        rule |= {"slices": ["team"], "min_slice_size": draw(st.sampled_from([2, 10, 30]))}
    if draw(st.booleans()):
        rule["alpha"] = draw(st.sampled_from([0.01, 0.2]))
    options = {"by": ["team"], "population": draw(st.sampled_from(["truth", "all"]))}
    return Deciding(
        {"old": old, "new": new},
        truth,
        {
            user: str(team)
            for user, team in zip(users, rng.choice(["a", "b × c"], size), strict=True)
        },
        9,
        draw(types_of(user=users, item=items)),
        tuple(metrics),
        rule,
        options,
    )


def evaluated(world: Deciding, tables: Mapping[str, Any], **more: Any) -> dict[str, rw.Result]:
    """Return the result of each system."""
    options = {"threads": 1, "users": tables["users"], **world.options, **more}
    return {
        name: rw.evaluate(tables[name], tables["truth"], [*world.metrics], **options)
        for name in SYSTEMS
    }


def call(world: Deciding) -> rw.Decision:
    """Decide about results of one call each."""
    return rw.decide(evaluated(world, world.tables), **world.rule)


def said(decision: rw.Decision) -> Values:
    """Return what a decision says, except where its inputs were read."""
    values = said_in(decision.record)
    out = {name: value for name, value in values.items() if name not in ("inputs", "plans")}
    return {**out, "exit code": decision.exit_code}


def of_results(
    make: Callable[[Deciding, Path], Any],
) -> Callable[[Deciding, Path], Values]:
    """Return a road that decides about results that are made in some way."""

    def values(world: Deciding, folder: Path) -> Values:
        return said(rw.decide(make(world, folder), **world.rule))

    return values


def numpy_results(world: Deciding, _folder: Path) -> dict[str, rw.Result]:
    """Evaluate without compiled kernels."""
    with kernels.without_library():
        return evaluated(world, world.tables)


def threads_results(world: Deciding, _folder: Path) -> dict[str, rw.Result]:
    """Evaluate in three threads and blocks of two users."""
    return evaluated(world, world.tables, threads=3, block_size=2)


def shuffled_results(world: Deciding, _folder: Path) -> dict[str, rw.Result]:
    """Evaluate rows in another order."""
    tables = {
        name: own.sample(fraction=1, shuffle=True, seed=7) for name, own in world.tables.items()
    }
    return evaluated(world, tables)


def piece_results(world: Deciding, _folder: Path) -> dict[str, rw.Result]:
    """Evaluate two pieces of each system."""
    results = {}
    for name in SYSTEMS:
        evaluator = rw.Evaluator(
            [*world.metrics],
            truth=world.tables["truth"],
            users=world.tables["users"],
            **world.options,
        )
        lists = world.tables[name]
        users = lists["user"].unique().sort()
        for part in (users.gather_every(2), users.gather_every(2, 1)):
            evaluator.update(lists.filter(pl.col("user").is_in(part.implode())))
        results[name] = evaluator.result()
    return results


def compared_results(world: Deciding, _folder: Path) -> rw.Comparison:
    """Compare results first."""
    return rw.compare(evaluated(world, world.tables))


def saved_results(world: Deciding, folder: Path) -> dict[str, rw.Result]:
    """Save results, and load them."""
    results = evaluated(world, world.tables)
    return {name: rw.load(result.save(folder / name)) for name, result in results.items()}


def spark_results(world: Deciding, _folder: Path) -> dict[str, rw.Result]:
    """Evaluate on Spark."""
    from roads import session
    from spark_worlds import on_spark

    import rankwise.spark as rs

    sent = on_spark(session(), world.tables)
    options = {"users": sent["users"], "spark": session(), "buckets": 2, **world.options}
    return {
        name: rs.evaluate(sent[name], sent["truth"], [*world.metrics], **options)
        for name in SYSTEMS
    }


def by_command(world: Deciding, folder: Path, suffix: str) -> Values:
    """Evaluate and decide with the command line."""
    files = write(world.tables, folder, suffix)
    metrics = [text for metric in world.metrics for text in ("-m", metric)]
    options = ["--by", "team", "--population", world.options["population"]]
    for name in SYSTEMS:
        tables = [files[name], files["truth"], "--users", files["users"]]
        run_command(folder, "evaluate", *tables, *metrics, *options, "--save", name)
    rule = [f"--success={metric}" for metric in world.rule["success"]]
    rule += [f"--guardrail={m}={margin}" for m, margin in world.rule.get("guardrails", {}).items()]
    rule += [f"--deterioration={metric}" for metric in world.rule.get("deterioration", [])]
    rule += [f"--slices={by}" for by in world.rule.get("slices", [])]
    for name in ("min_slice_size", "alpha"):
        if name in world.rule:
            rule += [f"--{name.replace('_', '-')}", str(world.rule[name])]
    run_command(folder, "decide", *SYSTEMS, *rule, "--record", "decision.json", codes=CODES)
    return said(rw.Decision.load(folder / "decision.json"))


def cli_parquet(world: Deciding, folder: Path) -> Values:
    """Decide with the command line, from Parquet files."""
    return by_command(world, folder, "parquet")


def cli_csv(world: Deciding, folder: Path) -> Values:
    """Decide with the command line, from CSV files."""
    return by_command(world, folder, "csv")


def by_configuration(world: Deciding, folder: Path) -> Values:
    """Evaluate and decide with a configuration file."""
    files = write(world.tables, folder, "parquet")
    config = {
        "data": {"truth": files["truth"], "users": files["users"]},
        "systems": {name: files[name] for name in SYSTEMS},
        "evaluation": {"metrics": [*world.metrics], **world.options},
        "decision": json.loads(json.dumps(dict(world.rule))),
        "output": {"folder": "out", "report": False, "audit": False},
    }
    run_configuration(config, folder)
    return said(rw.Decision.load(folder / "out" / "decision.json"))


def plain(world: Deciding, decision: rw.Decision) -> Iterator[Comparison]:
    """Yield the means of each check and the outcome beside their plain definitions."""
    for check in decision.checks.to_dicts():
        users = [
            user
            for user in world.truth
            if check["group"] is None or world.teams[user] == check["group"]
        ]
        name, _, k = check["metric"].partition("@")
        means = {}
        for system, lists in world.lists.items():
            values = [
                plain_value(
                    PER_USER[name],
                    lists[user],
                    dict.fromkeys(world.truth[user], 1.0),
                    int(k),
                    world.n_items,
                )
                for user in users
            ]
            means[system] = math.fsum(values) / len(values)
        where = f"{check['metric']} of {check['role']} in {check['group']}"
        yield f"baseline {where}", check["mean_baseline"], means["old"]
        yield f"system {where}", check["mean_system"], means["new"]
        yield f"difference {where}", check["difference"], means["new"] - means["old"]
    yield "outcome", decision.outcome, _outcome(decision.checks.to_dicts())


def _outcome(checks: list[dict[str, Any]]) -> str:
    """Return the outcome of checks: ship if one success metric is better and guardrails hold."""
    if any(check["outcome"] == "failed" for check in checks):
        return "stop"
    is_better = any(c["role"] == "success" and c["outcome"] == "passed" for c in checks)
    holds = all(c["outcome"] == "passed" for c in checks if c["role"] == "guardrail")
    return "ship" if is_better and holds else "hold"


KIND = Kind(
    "decisions",
    worlds(),
    call,
    said,
    {
        "numpy": of_results(numpy_results),
        "threads": of_results(threads_results),
        "shuffled": of_results(shuffled_results),
        "pieces": of_results(piece_results),
        "comparison": of_results(compared_results),
        "saved": of_results(saved_results),
        "cli_parquet": cli_parquet,
        "cli_csv": cli_csv,
        "yaml": by_configuration,
        **({SPARK: of_results(spark_results)} if HAS_SPARK else {}),
    },
    {PLAIN: plain},
)
