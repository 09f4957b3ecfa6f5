"""Two stages: candidates of several sources, a ranker's order of them, the final list."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl
from hypothesis import strategies as st
from kinds import PLAIN, Comparison, Kind, Values
from said_tables import run_command, run_configuration, said_in, say, write
from world_tables import KINDS, Lists, Relevances, chosen_lists, relevances, table, types_of

import rankwise as rw
from metrics.test_against_functional import PER_USER, plain_value
from rankwise.core import kernels
from rankwise.evidence.stages import FINAL, RANKED, Stages
from strategies import ids

METRICS = ("recall@2", "ndcg@3", "mrr@4", "hit_rate@1", "precision@2")
SIDE = ("users", "items", "train")


@dataclass(frozen=True)
class Staged:
    """Candidates, orders of them, and ground truth.

    Attributes
    ----------
    sources : dict
        The candidates of each user, by the name of the source.
    orders : dict
        The lists of the ranker (``"ranked"``) and those that are shown (``"final"``).
    truth : dict
        The relevances of each user.
    train : dict
        The training items of each user.
    teams, genres : dict
        The team of each user, and the genre of each item.
    types : dict
        The type of each column of ids.
    metrics : tuple of str
        With their cut-offs.
    options : mapping
        Options of `rankwise.stages`.
    """

    sources: dict[str, Lists]
    orders: dict[str, Lists]
    truth: Relevances
    train: Lists
    teams: dict[Any, Any]
    genres: dict[Any, Any]
    types: dict[str, Any]
    metrics: tuple[str, ...]
    options: Mapping[str, Any]

    def __str__(self) -> str:
        lines = [f"  metrics: {', '.join(self.metrics)}", f"  options: {dict(self.options)}"]
        lines += [f"  {role}: {own.to_dict(as_series=False)}" for role, own in self.tables.items()]
        return "\n".join(lines)

    @cached_property
    def tables(self) -> dict[str, pl.DataFrame]:
        """The tables by role; sources by their names."""
        user, item = {"user": self.types["user"]}, {"item": self.types["item"]}

        def ranked(lists: Lists) -> pl.DataFrame:
            rows = [(u, i, rank) for u, own in lists.items() for rank, i in enumerate(own, 1)]
            return table(rows, user | item | {"rank": pl.Int64})

        truth = [(u, i, value) for u, own in self.truth.items() for i, value in own.items()]
        train = [(u, i) for u, own in self.train.items() for i in own]
        return {
            **{name: ranked(lists) for name, lists in {**self.sources, **self.orders}.items()},
            "truth": table(truth, user | item | {"relevance": pl.Float64}),
            "train": table(train, user | item),
            "users": table([*self.teams.items()], user | {"team": pl.String}),
            "items": table([*self.genres.items()], item | {"genre": pl.String}),
        }

    @property
    def relevant(self) -> dict[Any, list[Any]]:
        """The relevant items of users who have any."""
        least = self.options.get("relevance_threshold", 0.5)
        items = {u: [i for i, v in own.items() if v >= least] for u, own in self.truth.items()}
        return {user: own for user, own in items.items() if own}

    @property
    def k(self) -> int:
        """The largest cut-off, which says what is shown."""
        return max(int(metric.partition("@")[2]) for metric in self.metrics)


@st.composite
def worlds(draw: st.DrawFn) -> Staged:
    """Draw one or two sources, and one or both orders."""
    users, items = draw(ids(draw(st.integers(1, 4)))), draw(ids(9))
    lists = chosen_lists(users, items)
    sources = draw(st.sampled_from([("als",), ("als", "new")]))
    orders = draw(st.sampled_from([("ranked",), ("final",), ("ranked", "final")]))
    options: dict[str, Any] = {}
    if draw(st.booleans()):
        options["relevance_threshold"] = draw(st.sampled_from([1, 2, 2.5]))
    if draw(st.booleans()):
        options["by"] = draw(
            st.lists(st.sampled_from(["team", "item:genre", "item:cold", "repeat"]), unique=True)
        )
    return Staged(
        {name: draw(lists) for name in sources},
        {name: draw(lists) for name in orders},
        draw(relevances(users, items)),
        draw(lists),
        {user: draw(st.sampled_from(KINDS)) for user in users},
        {item: draw(st.sampled_from(["war", "below 5", None])) for item in items},
        draw(types_of(user=users, item=items)),
        tuple(draw(st.lists(st.sampled_from(METRICS), min_size=1, max_size=3, unique=True))),
        options,
    )


def told(world: Staged, tables: Mapping[str, Any]) -> Stages:
    """Return what the stages of tables lose."""
    sources = {name: tables[name] for name in world.sources}
    given = {name: tables[name] for name in (*world.orders, *SIDE)}
    return rw.stages(sources, tables["truth"], [*world.metrics], **given, **world.options)


def call(world: Staged) -> Stages:
    """Tell stages in one call."""
    return told(world, world.tables)


def numpy(world: Staged, _folder: Path) -> Values:
    """Tell stages without compiled kernels."""
    with kernels.without_library():
        return say(call(world))


def shuffled(world: Staged, _folder: Path) -> Values:
    """Tell stages from rows in another order."""
    tables = {
        role: own.sample(fraction=1, shuffle=True, seed=7) for role, own in world.tables.items()
    }
    return say(told(world, tables))


def saved(world: Staged, folder: Path) -> Values:
    """Save the result, and load it."""
    return say(rw.load(call(world).save(folder / "saved")))


def _command(world: Staged, folder: Path, suffix: str) -> Values:
    files = write(world.tables, folder, suffix)
    arguments = [f"{name}={files[name]}" for name in world.sources]
    for name in ("truth", *world.orders, *SIDE):
        arguments += [f"--{name}", files[name]]
    for metric in world.metrics:
        arguments += ["-m", metric]
    for by in world.options.get("by", []):
        arguments += ["--by", by]
    if "relevance_threshold" in world.options:
        arguments += ["--threshold", str(world.options["relevance_threshold"])]
    run_command(folder, "stages", *arguments, "--save", "saved")
    return say(rw.load(folder / "saved"))


def cli_parquet(world: Staged, folder: Path) -> Values:
    """Tell stages with the command line, from Parquet files."""
    return _command(world, folder, "parquet")


def cli_csv(world: Staged, folder: Path) -> Values:
    """Tell stages with the command line, from CSV files."""
    return _command(world, folder, "csv")


def by_configuration(world: Staged, folder: Path) -> Values:
    """Tell stages with a configuration file."""
    files = write(world.tables, folder, "parquet")
    threshold = {
        name: value for name, value in world.options.items() if name == "relevance_threshold"
    }
    orders = {name: files[name] for name in world.orders}
    config = {
        "data": {name: files[name] for name in ("truth", *SIDE)},
        "systems": orders,
        "evaluation": {"metrics": [*world.metrics], **threshold},
        "stages": {
            "sources": {name: files[name] for name in world.sources},
            **orders,
            "metrics": [*world.metrics],
            **({"by": world.options["by"]} if "by" in world.options else {}),
        },
        "output": {"folder": "out", "report": False, "audit": False},
    }
    run_configuration(config, folder)
    data = json.loads((folder / "out" / "stages.json").read_text())
    assert data["settings"].pop("plans") == []
    return {**said_in(data), "per user": say(call(world))["per user"]}


def plain(world: Staged, result: Stages) -> Iterator[Comparison]:
    """Yield the share of each fate and the values of orders beside their plain definitions."""
    relevant, k = world.relevant, world.k
    last = world.orders.get("final", world.orders.get("ranked"))
    shares: dict[str, list[float]] = {}
    for user, items in relevant.items():
        fates = [_fate(world, user, item, last or {}, k) for item in items]
        for fate in result.losses["fate"].unique():
            shares.setdefault(fate, []).append(fates.count(fate) / len(fates))
    rows = result.losses.filter(pl.col("by").is_null())
    for fate, share in rows.select("fate", "share").iter_rows():
        yield f"share {fate}", share, math.fsum(shares[fate]) / len(relevant)

    values = {(stage, metric): value for stage, metric, value in result.table[:, :3].iter_rows()}
    stages = {"ranked": RANKED, "final": FINAL}
    for name, lists in world.orders.items():
        for metric in world.metrics:
            definition, _, cut = metric.partition("@")
            each = [
                plain_value(
                    PER_USER[definition],
                    lists.get(user, []),
                    {item: world.truth[user][item] for item in items},
                    int(cut),
                    len(world.genres),
                )
                for user, items in relevant.items()
            ]
            yield f"{metric} of {name}", values[stages[name], metric], math.fsum(each) / len(each)


def _fate(world: Staged, user: Any, item: Any, last: Lists, k: int) -> str:
    """Return the fate of a relevant item."""
    if item in last.get(user, [])[:k]:
        return "shown"
    if not any(item in lists.get(user, []) for lists in world.sources.values()):
        return "never retrieved"
    if "ranked" not in world.orders:
        return "not shown"
    is_below = item not in world.orders["ranked"].get(user, [])[:k]
    return f"ranked below {k}" if is_below else "filtered"


KIND = Kind(
    "stages",
    worlds(),
    call,
    say,
    {
        "numpy": numpy,
        "shuffled": shuffled,
        "saved": saved,
        "cli_parquet": cli_parquet,
        "cli_csv": cli_csv,
        "yaml": by_configuration,
    },
    {PLAIN: plain},
)
