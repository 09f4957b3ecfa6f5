"""Small data on which every option of an evaluation changes something, and the roads that evaluate it.

A *probe* is a value of an option, with a world and metrics for which it changes the result of the plain call. Probes
are found by search: values come from the declaration of the option, or, where it says text alone, from `VALUES`.
"""

from __future__ import annotations

import pickle
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import product
from pathlib import Path
from typing import Any, get_args, get_origin

import polars as pl
import yaml

import rankwise as rw
from command_line import rankwise_here
from rankwise.errors import RankwiseError
from rankwise.evaluation.plan import plan_passes
from rankwise.evaluation.settings import option_fields, option_types
from rankwise.experiments.experiment import read_experiment
from rankwise.experiments.run import execute
from rankwise.options import ROADS, SHORTHANDS, TABLES, Form, Road

ACCURACY = ("ndcg@3", "recall@3", "mrr@4")
METRICS = (*ACCURACY, "novelty@3", "coverage@3", "category_count@3")
OPEN = ("ndcg", "recall")
OVERLAP = ("overlap@3",)


@dataclass(frozen=True)
class World:
    """Tables, and the options that they need."""

    name: str
    tables: Mapping[str, pl.DataFrame]
    options: Mapping[str, Any] = field(default_factory=dict)

    def without(self, role: str) -> World:
        """Return the world without a table."""
        return replace(
            self, tables={name: table for name, table in self.tables.items() if name != role}
        )


def _texts(tables: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return tables whose ids are text."""
    signs = {"user": "u", "item": "i"}
    return {
        role: frame.with_columns(
            (pl.lit(sign) + pl.col(name).cast(pl.String).str.zfill(2)).alias(name)
            for name, sign in signs.items()
            if name in frame.columns
        )
        for role, frame in tables.items()
    }


def _base() -> dict[str, pl.DataFrame]:
    """Return users of every kind: with and without a list, a relevant item, a row of the ground truth, a history."""
    lists, truth, train, reference = [], [], [], []
    for user in range(12):
        for place in range(6):
            item = (user * 5 + place * (3 + user % 2)) % 15
            lists.append((user, item, [0.9, 0.7, 0.7, 0.7, 0.4, 0.4][place] + (user % 3) / 7))
            reference.append((user, (item + place % 2) % 15, place + 1))
        for place in range(4):
            grade = [3.0, 1.0, 0.0, 5.0][(user + place) % 4]
            truth.append((user, (user * 5 + place * 4 + (user % 3)) % 15, grade))
        train += [(user, (user * 5 + 7 * place + 3) % 13) for place in range(3)]
    frame = pl.DataFrame
    users = {
        "user": range(14),
        "country": ["AT", "DE", "FR"][:3] * 4 + ["AT", "DE"],
        "plan": ["a", "b"] * 7,
    }
    users |= {"w": [1.0, 2.0, 0.5, 3.0, 1.5, 0.25, 4.0] * 2}
    items = {
        "item": range(16),
        "genre": [["x"], ["y"], ["x", "z"], []] * 4,
        "code": [f"c{n}" for n in range(16)],
    }
    items |= {"title": [f"Title {n}" for n in range(16)], "kind": ["k", "l", "m", "k"] * 4}
    return {
        "recommendations": frame(lists, ["user", "item", "score"], orient="row")
        .unique(["user", "item"], keep="first", maintain_order=True)
        .filter(pl.col("user") != 10),
        "truth": frame(truth, ["user", "item", "relevance"], orient="row")
        .unique(["user", "item"], keep="first", maintain_order=True)
        .filter(pl.col("user") != 11)
        .with_columns(relevance=pl.when(pl.col("user") == 9).then(0.0).otherwise("relevance")),
        "train": frame(train, ["user", "item"], orient="row")
        .unique(maintain_order=True)
        .filter(pl.col("user") != 4),
        "items": frame(items),
        "users": frame(users),
        "reference": frame(reference, ["user", "item", "rank"], orient="row").unique(
            ["user", "item"], keep="first", maintain_order=True
        ),
    }


def worlds(*, text: bool) -> list[World]:
    """Return the worlds in which probes are looked for, the simplest first."""
    tables = _texts(_base()) if text else _base()
    lists, truth = tables["recommendations"], tables["truth"]
    rank = pl.int_range(1, pl.len() + 1).over("user")
    ranked = lists.with_columns(
        rank=rank + (rank > 2).cast(pl.Int64), score=-(pl.col("score") * 7 % 1.3)
    )
    close = lists.with_columns(score=0.5 + rank.reverse().over("user") * 1e-10)
    requests = pl.concat(
        [
            lists.with_columns(request=pl.lit(1)),
            lists.filter(
                pl.col("item").cast(pl.String).str.slice(-1).is_in(["1", "4", "7", "8"])
            ).with_columns(request=pl.lit(2)),
        ]
    ).sort("user", "request", maintain_order=True)
    events = truth.select(
        "user",
        "item",
        event=pl.col("relevance").replace_strict({0: "view", 1: "cart", 3: "buy", 5: "buy"}),
    )
    events = pl.concat(
        [events, events.filter(pl.col("event") == "buy").with_columns(event=pl.lit("view"))]
    )
    names = tables["items"].select("item", "code", "title")
    named = lists.join(names, "item", "left", maintain_order="left").with_columns(rank=rank)
    channels = truth.with_columns(
        channel=pl.when(pl.col("relevance") > 2).then(pl.lit("app")).otherwise(pl.lit("web"))
    )
    known = _known(tables)

    works = tables["items"].with_columns(
        work=pl.when(pl.int_range(pl.len()) % 3 == 0).then(pl.col("item").shift(-1))
    )

    def once(role: str) -> pl.DataFrame:
        """Return lists that have one item of each work."""
        work = pl.coalesce("work", "item")
        named = tables[role].join(works.select("item", "work"), on="item", maintain_order="left")
        first = named.filter(pl.struct("user", work).is_first_distinct())
        return first.drop("work")

    whole = lists.group_by("user", maintain_order=True).agg("item")
    is_empty = pl.col("user").cast(pl.String).str.contains("[37]$")
    whole = whole.with_columns(items=pl.when(is_empty).then([]).otherwise("item")).drop("item")

    def world(name: str, **changed: pl.DataFrame) -> World:
        return World(name, known | changed)

    return [
        world("scored"),
        world("ranked", recommendations=ranked),
        world("close", recommendations=close),
        world("requests", recommendations=requests),
        world(
            "repeated",
            recommendations=pl.concat([lists, lists.head(9).with_columns(score=pl.lit(0.1))]).sort(
                "user", maintain_order=True
            ),
        ),
        world("events", truth=events),
        world("channels", truth=channels),
        world("evidence", recommendations=ranked, truth=channels),
        world("codes", recommendations=named.select("user", "rank", item="code")),
        world("titles", recommendations=named.select("user", "rank", item="title")),
        world(
            "works", items=works, **{role: once(role) for role in ("recommendations", "reference")}
        ),
        replace(world("whole lists", recommendations=whole), options={"population": "both"}),
        world("renamed", recommendations=lists.rename({"user": "who", "item": "what"})),
    ]


def _known(tables: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the tables as they are, in the order of the arguments."""
    return {role: tables[role] for role in ("recommendations", "truth", *TABLES)}


def values_of(name: str) -> list[Any]:
    """Return values that an option may have, from its declaration."""
    if name in VALUES:
        return VALUES[name]
    entry, kind = option_fields()[name], option_types()[name]
    members = [member for member in get_args(kind) or (kind,) if member is not type(None)]
    choices = entry.metadata.get("choices") or (kind if get_origin(kind) is not None else None)
    if (
        choices is not None
        and get_args(choices)
        and all(isinstance(one, str) for one in get_args(choices))
    ):
        return [one for one in get_args(choices) if one != entry.default]
    if bool in members:
        return [not entry.default]
    if int in members:
        return [number for number in (2, 3, 1) if number >= entry.metadata.get("least", 1)]
    if float in members:
        return [2.0, 4.0]
    raise AssertionError(
        f"option {name!r} has no value that follows from its declaration: add some to VALUES"
    )


VALUES: dict[str, list[Any]] = {
    "by": ["country", "activity"],
    "weights": ["w"],
    "codes": ["code"],
    "titles": ["title"],
    "same": ["work"],
    "columns": [
        {"user": "who", "item": "what"},
        {"recommendations.user": "who", "recommendations.item": "what"},
    ],
    "convention": ["trec_eval", "ranx"],
    "relevance": ["any", "graded"],
    "ties": ["item", "item_desc"],
    "alternatives": ["channel"],
}
"""Values of options whose declaration says only that they are text, names or mappings."""
FORMS: dict[str, list[Any]] = {
    "relevance={event: grade}": [{"view": 0, "cart": 1, "buy": 3}],
    'ties="input", "optimistic" or "pessimistic"': ["input", "optimistic", "pessimistic"],
    'by="item:cold"': ["item:cold"],
    'duplicates="keep"': ["keep"],
    'by="item:…", "truth:…" or "repeat"': ["item:kind", "truth:channel", "repeat"],
    "weights={user: weight}": [
        lambda tables: dict(tables["users"].select("user", "w").iter_rows())
    ],
    "codes={…}": [lambda tables: dict(tables["items"].select("code", "item").iter_rows())],
    "same={…}": [
        lambda tables: dict(tables["items"].select("item", "work").drop_nulls().iter_rows())
    ],
    "titles={…}": [lambda tables: dict(tables["items"].select("title", "item").iter_rows())],
}
"""Values of the forms that options declare."""
BESIDE: dict[str, dict[str, Any]] = {
    "cross": {"by": ["country", "plan"]},
    "min_size": {"by": ["country"]},
    "undefined": {"population": "all"},
    "users": {"by": ["country"]},
}
"""Options that others need beside them."""


WORLD_OF = {
    "codes": "codes",
    "titles": "titles",
    "alternatives": "evidence",
    "same": "works",
    "empty_lists": "whole lists",
}
"""The world of options that mean something in it alone."""


@dataclass(frozen=True)
class Probe:
    """An option with a value that changes the plain result in a world, which knows it or not."""

    row: str
    option: str
    value: Any
    world: World
    metrics: tuple[str, ...]
    moves: bool = True

    @property
    def options(self) -> dict[str, Any]:
        """The options to evaluate with."""
        given = {} if self.option in TABLES else {self.option: self.value}
        return {**self.world.options, **BESIDE.get(self.option, {}), **given}

    @cached_property
    def result(self) -> rw.Result:
        """The result of the plain call."""
        return plain(self.world, self.metrics, self.options)


def rows() -> dict[str, tuple[str, Form | None]]:
    """Return the rows of the matrix: each option, each form that fewer roads take, and each table."""
    out: dict[str, tuple[str, Form | None]] = {}
    for name, entry in option_fields().items():
        out[name] = (name, None)
        out |= {form.text: (name, form) for form in entry.metadata["forms"]}
    return (
        out | {name: (name, None) for name in SHORTHANDS} | {name: (name, None) for name in TABLES}
    )


def refused_on(row: str) -> Mapping[Road, str]:
    """Return the roads that refuse a row, by the declaration."""
    name, form = rows()[row]
    if name in TABLES:
        return TABLES[name]
    if name in SHORTHANDS:
        return SHORTHANDS[name]
    refused = option_fields()[name].metadata["not_on"]
    return refused if form is None else refused | form.not_on


def plain(world: World, metrics: tuple[str, ...], options: Mapping[str, Any]) -> rw.Result:
    """Evaluate with the plain call."""
    tables = dict(world.tables)
    lists, truth = tables.pop("recommendations"), tables.pop("truth")
    return rw.evaluate(lists, truth, list(metrics), **tables, **options)


def outcome(call: Callable[[], rw.Result]) -> dict[str, Any] | str:
    """Return what a result says, or the error of ours."""
    try:
        return said(call())
    except RankwiseError as error:
        return f"{type(error).__name__}: {error.what}"


def said(result: rw.Result) -> dict[str, Any]:
    """Return everything of a result that an option may change, bit by bit."""
    settings = result.provenance["settings"]
    tables = {"per_user": result.per_user, "slices": result.slices, "replicates": result.replicates}
    return {
        "values": {name: _bits(value) for name, value in result.values.items()},
        **{name: None if table is None else _rows(table) for name, table in tables.items()},
        "counts": dict(sorted(result.counts.items())),
        "small": settings.get("min_size"),
        "settings": dict(sorted(settings.items())),
    }


def _bits(value: float) -> str:
    return float(value).hex()


def _rows(table: pl.DataFrame) -> dict[str, list[Any]]:
    columns = sorted(table.columns)
    keys = [name for name in ("by", "group", "user", "request") if name in columns]
    table = table.select(columns)
    table = table.sort(*keys) if "user" in columns else table
    return {
        name: [
            _bits(value) if isinstance(value, float) else str(value)
            for value in table[name].to_list()
        ]
        for name in columns
    }


@cache
def probe(row: str, *, text: bool) -> Probe | None:
    """Return the first value, world and metrics for which a row changes the plain result; None without any."""
    name, form = rows()[row]
    entry = option_fields().get(name)
    moves = entry is None or entry.metadata["not_compared"] != "it moves no value"
    if name in TABLES:
        values: list[Any] = [None]
    elif name == "k":
        values = [2]
    elif name == "threshold":
        values = [2.0]
    else:
        values = values_of(name) if form is None else FORMS[row]
    sets = (OPEN,) if name == "k" else (METRICS, ACCURACY, OVERLAP)
    chosen = [world for world in worlds(text=text) if WORLD_OF.get(name, world.name) == world.name]
    for world, metrics, value in product(chosen, sets, values):
        given = value(world.tables) if callable(value) else value
        found = Probe(row, name, given, world, metrics, moves)
        before = world.without(name) if name in TABLES else world
        without = {key: one for key, one in found.options.items() if key != name}
        after = outcome(lambda: found.result)  # noqa: B023 - called at once
        if isinstance(after, str) or (
            after["slices"] is None and form is not None and name == "by"
        ):
            continue
        first = outcome(lambda: plain(before, metrics, without))  # noqa: B023
        if (_without_settings(after) != _without_settings(first)) == moves:
            return found
    return None


def _without_settings(what: Any) -> Any:
    return (
        what
        if isinstance(what, str)
        else {name: value for name, value in what.items() if name != "settings"}
    )


# --- The roads -------------------------------------------------------------------------------------------------------


def _around(world: World) -> dict[str, Any]:
    return {
        role: table
        for role, table in world.tables.items()
        if role not in ("recommendations", "truth")
    }


def _users_of(probe: Probe) -> str:
    return "who" if "who" in probe.world.tables["recommendations"].columns else "user"


def by_pieces(probe: Probe, _folder: Path) -> rw.Result:
    """Evaluate up to three pieces, whose partials are pickled and merged."""
    lists, user = probe.world.tables["recommendations"], _users_of(probe)
    users = lists[user].unique().sort()
    evaluators = []
    for part in range(min(3, len(users))):
        evaluator = rw.Evaluator(
            list(probe.metrics),
            truth=probe.world.tables["truth"],
            **_around(probe.world),
            **probe.options,
        )
        own = pl.col(user).is_in(users.gather_every(3, part).implode())
        evaluators.append(evaluator.update(lists.filter(own)))
    first, *rest = evaluators[::-1]
    return first.merge(*(pickle.loads(pickle.dumps(one.partial())) for one in rest)).result()


def by_chunks(probe: Probe, folder: Path) -> rw.Result:
    """Evaluate chunks of a Parquet file."""
    path = folder / "lists.parquet"
    probe.world.tables["recommendations"].write_parquet(path, row_group_size=5)
    truth = probe.world.tables["truth"]
    return rw.evaluate(
        path, truth, list(probe.metrics), chunk_rows=7, **_around(probe.world), **probe.options
    )


def _written(probe: Probe, folder: Path, suffix: str = "parquet") -> dict[str, str]:
    """Write the tables, those that hold lists as Parquet, and return the names of their files."""
    files = {}
    for role, table in probe.world.tables.items():
        is_nested = any(dtype.is_nested() for dtype in table.dtypes)
        files[role] = f"{role}.{'parquet' if is_nested else suffix}"
        write = table.write_csv if files[role].endswith("csv") else table.write_parquet
        write(folder / files[role])
    return files


def by_command(probe: Probe, folder: Path, suffix: str = "parquet") -> rw.Result:
    """Evaluate files with the command line, and load the result that it saves."""
    files = _written(probe, folder, suffix)
    arguments = [files.pop("recommendations"), files.pop("truth"), "--save", "saved"]
    for role, path in files.items():
        arguments += [f"--{role}", path]
    for metric in probe.metrics:
        arguments += ["-m", metric]
    for name, value in probe.options.items():
        arguments += flags(name, value)
    done = rankwise_here(folder, "evaluate", *arguments)
    if done.returncode:
        raise RankwiseError(done.stderr)
    return rw.load(folder / "saved")


def flags(name: str, value: Any) -> list[str]:
    """Return an option as the command line has it."""
    entry = option_fields().get(name)
    if name == "k":
        return ["-k", str(value)]
    flag = (
        "--" + name.replace("_", "-")
        if entry is None
        else entry.metadata.get("flag", "--" + name.replace("_", "-"))
    )
    if name == "columns":
        return [text for role, column in value.items() for text in ("--column", f"{role}={column}")]
    if isinstance(value, Mapping):
        return [text for event, grade in value.items() for text in ("--grade", f"{event}={grade}")]
    if isinstance(value, bool):
        return [flag] if value else [f"--no-{flag[2:]}"]
    several = value if isinstance(value, list) else [value]
    return [text for one in several for text in (flag, str(one))]


def by_configuration(probe: Probe, folder: Path) -> rw.Result:
    """Evaluate by a configuration file, and again by the file that is resolved from it."""
    return _configured(probe, folder, {})


def _configured(probe: Probe, folder: Path, more: Mapping[str, Any]) -> rw.Result:
    files = _written(probe, folder)
    lists = files.pop("recommendations")
    options = {
        name: dict(value) if isinstance(value, Mapping) else value
        for name, value in probe.options.items()
    }
    config = {
        "data": files,
        "systems": {"a": lists},
        "evaluation": {"metrics": list(probe.metrics), **options},
        "output": {"report": False, "audit": False},
        **more,
    }
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(config, sort_keys=False))
    first = execute(read_experiment(path))
    result = first.results["a"]
    again = execute(read_experiment(first.folder / "config.yaml")).results["a"]
    differences = differing(said(result), said(again))
    assert not differences, f"the resolved configuration gives another result: {differences}"
    shutil.rmtree(first.folder)
    return result


def in_order(probe: Probe) -> World:
    """Return the lists without ranks and scores, of the users whom a model is asked for."""
    lists = probe.world.tables["recommendations"]
    if "who" in lists.columns:
        lists = lists.rename({"who": "user", "what": "item"})
    by = "rank" if "rank" in lists.columns else "score"
    lists = lists.sort("user", by, descending=[False, by == "score"], maintain_order=True)
    lists = lists.unique(["user", "item"], keep="first", maintain_order=True).select("user", "item")
    lists = lists.filter(pl.col("user").is_in(_asked(probe).implode()))
    longest = max(int(metric.partition("@")[2] or 6) for metric in probe.metrics)
    lists = lists.group_by("user", maintain_order=True).head(longest)
    lists = lists.with_columns(rank=pl.int_range(1, pl.len() + 1).over("user"))
    return replace(probe.world, tables={**probe.world.tables, "recommendations": lists})


def _asked(probe: Probe) -> pl.Series:
    """Return the users whose lists a model is asked for: those who can be evaluated."""
    truth = probe.world.tables["truth"]
    settings = plan_passes(list(probe.metrics), probe.options)[1][0]
    if settings.population not in ("truth", "both"):
        return truth["user"]
    relevance = pl.lit(1.0)
    if "relevance" in truth.columns:
        relevance = pl.col("relevance")
    if settings.grades is not None:
        relevance = pl.col("event").replace_strict(dict(settings.grades))
    threshold = settings.relevance_threshold
    return truth.filter(relevance > 0 if threshold is None else relevance >= threshold)["user"]


class _Listed:
    def __init__(self, lists: pl.DataFrame) -> None:
        self.lists = dict(lists.group_by("user", maintain_order=True).agg("item").iter_rows())

    def recommend(self, user: Any, n: int) -> list[Any]:
        return list(self.lists.get(user, [])[:n])


def by_model(probe: Probe, _folder: Path) -> rw.Result:
    """Evaluate a model that answers with the lists."""
    world, options = in_order(probe), dict(probe.options)
    tables = dict(world.tables)
    lists, truth = tables.pop("recommendations"), tables.pop("truth")
    if "columns" in options:
        tables["users"] = tables["users"].rename({"user": "who"})
        options["columns"] = {"users.user": "who"}
    more = {"k": 6} if probe.metrics == OPEN and "k" not in options else {}
    return rw.evaluate_model(
        _Listed(lists), truth, list(probe.metrics), **tables, **more, **options
    )


def rated(probe: Probe) -> World:
    """Return the ratings of the items in the lists, those that nobody judged with a relevance of 0."""
    lists, truth = probe.world.tables["recommendations"], probe.world.tables["truth"]
    if "who" in lists.columns:
        lists = lists.rename({"who": "user", "what": "item"})
    if "relevance" not in truth.columns:
        truth = truth.with_columns(relevance=pl.lit(1.0))
    unit = [name for name in ("user", "request") if name in lists.columns]
    pair = [*(name for name in unit if name in truth.columns), "item"]
    scored = (
        lists
        if "score" in lists.columns
        else lists.with_columns(score=-pl.col("rank").cast(pl.Float64))
    )
    both = scored.join(
        truth.unique(pair, keep="first", maintain_order=True), pair, "left", maintain_order="left"
    )
    both = both.with_columns(pl.col("relevance").fill_null(0.0))
    tables = {**probe.world.tables, "recommendations": both.select(*unit, "item", "score")}
    return replace(
        probe.world,
        tables={
            **tables,
            "truth": both.select(
                *unit, "item", "relevance", *[n for n in ["channel"] if n in both.columns]
            ),
        },
    )


def by_ratings(probe: Probe, _folder: Path) -> rw.Result:
    """Evaluate predicted ratings."""
    world, options = rated(probe), dict(probe.options)
    lists, truth = world.tables["recommendations"], world.tables["truth"]
    ratings = lists.with_columns(rating=truth["relevance"]).rename({"score": "prediction"})
    if "columns" in options:
        ratings = ratings.rename({"user": "who", "item": "what"})
        options["columns"] = {"recommendations.user": "who", "recommendations.item": "what"}
    return rw.evaluate_ratings(ratings, list(probe.metrics), **_around(world), **options)


EVALUATED: dict[Road, Callable[[Probe, Path], rw.Result]] = {
    "pieces": by_pieces,
    "chunks": by_chunks,
    "command": by_command,
    "configuration": by_configuration,
    "model": by_model,
    "ratings": by_ratings,
}
"""What evaluates a probe on each road that needs neither Spark nor PyTorch."""


def expected(road: Road, probe: Probe) -> rw.Result:
    """Return the result of the plain call for what a road sees."""
    if road not in ("model", "ratings"):
        return probe.result
    world, options = probe.world, dict(probe.options)
    if road == "model":
        world = in_order(probe)
        options.pop("columns", None)
    if road == "ratings":
        world = rated(probe)
        options.pop("columns", None)
        convention = options.get("convention") is not None
        options = {**({} if convention else {"population": "all"}), **options}
        if not {"threshold", "relevance_threshold"} & {*options}:
            options["relevance_threshold"] = 3.5
    return plain(world, probe.metrics, options)


COUNTED = (
    "users",
    "users_without_list",
    "users_without_relevant_items",
    "hits",
    "truth_rows",
    "truth_rows_merged",
)
"""The counts of what is evaluated; others depend on how lists come."""
OF_ROAD: dict[Road, tuple[str, ...]] = {"model": ("exclude_seen",)}
"""Settings that a road says elsewhere."""


def comparable(road: Road, what: Mapping[str, Any]) -> dict[str, Any]:
    """Return what two roads must say alike."""
    settings = {
        name: value for name, value in what["settings"].items() if name not in OF_ROAD.get(road, ())
    }
    counts = what["counts"]
    if road in ("model", "ratings"):
        counts = {name: counts[name] for name in COUNTED if name in counts}
    return {**what, "settings": settings, "counts": counts}


def differing(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    """Return in what two results differ."""
    return [
        f"{name}: {_first_difference(ours[name], theirs[name])}"
        for name in ours
        if ours[name] != theirs.get(name)
    ]


def _first_difference(left: Any, right: Any) -> str:
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        keys = [key for key in {**left, **right} if left.get(key) != right.get(key)]
        return ", ".join(
            f"{key}: {str(left.get(key))[:200]} | {str(right.get(key))[:200]}" for key in keys[:4]
        )
    return f"{str(left)[:200]} | {str(right)[:200]}"


def cells() -> Iterator[tuple[str, Road]]:
    """Yield every row and road of the matrix."""
    for row in rows():
        for road in ROADS:
            if road != "evaluate":
                yield row, road
