"""Random evaluations for the soak: a world of the tests, metrics with cut-offs, and options of every kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, get_args

import polars as pl
from hypothesis import strategies as st
from spark_worlds import frames

import rankwise as rw
from metrics.test_against_functional import CATALOGUE, PER_USER, RATING
from metrics.test_against_functional_with_facts import TWINS, WHOLE, at
from rankwise.core.populations import PopulationName
from rankwise.options import Relevance, Ties, Undefined, WithoutList
from strategies import World, id_type, ids, numbered_worlds

PLAIN = [*PER_USER, *CATALOGUE, *RATING, *TWINS, *WHOLE]
OTHER = [
    "group_gap(recall)",
    "group_ratio(precision)",
    "user_mad_ranking",
    "user_mad_rating",
    "item_mad_rating",
    "mean_score",
    "classification(statistic=mcc,threshold=1)",
    "gini(exposure=geometric)",
    "item_mad_rating(misses=zero)",
    "complement(rmse)",
    "fcp",
    "xauc",
    "tn",
    "duplicate_rate",
    "quantile(ndcg)",
    "worst(of=map,share=0.3)",
    "geometric_mean(recall)",
    "complement(gini)",
    "ratio",
    "f(beta=2,of=means)",
    "euclidean_distance(of=means)",
    "hypervolume(metrics=[ndcg,gini],of=means)",
]
CUTOFFS = [1, 2, 3, 5, 10, 30]
"""The last is beyond the end of most lists."""
ORDERED_BY = ("rank", "score", "both", "rows")


@dataclass(frozen=True)
class Case:
    """One evaluation.

    Attributes
    ----------
    world : World
        Lists with scores, ground truth, and everything that a metric may need besides.
    metrics : tuple of str
        With their cut-offs.
    options : mapping
        Options of `rankwise.evaluate`.
    order : str
        The columns that order lists: one of ``ORDERED_BY``.
    users, items : list
        The ids of the users and items numbered 0, 1, … in the world, in the same order.
    narrow : bool
        Whether columns of ids have the smallest type that holds them.
    repeats : int
        Rows of the lists that occur twice.
    gaps : bool
        Whether ranks have gaps.
    """

    world: World
    metrics: tuple[str, ...]
    options: Mapping[str, Any]
    order: str
    users: list[Any]
    items: list[Any]
    narrow: bool
    repeats: int
    gaps: bool

    @property
    def text(self) -> bool:
        """Whether items have names."""
        return isinstance(self.items[0], str)

    @property
    def named(self) -> World:
        """The world with the ids of the case, which keep the order of its numbers."""
        return self.world.renamed(self.users.__getitem__, self.items.__getitem__)

    @cached_property
    def tables(self) -> dict[str, pl.DataFrame]:
        """The tables by role."""
        types = {
            name: id_type(values, narrow=self.narrow)
            for name, values in (("user", self.users), ("item", self.items))
        }
        return {
            role: table.cast({name: types[name] for name in types if name in table.columns})
            for role, table in self._wide_tables().items()
        }

    @cached_property
    def usable(self) -> tuple[str, ...]:
        """The metrics that can be evaluated together, all if none can: some refuse an option."""
        if self._works(*self.metrics):
            return self.metrics
        alone = tuple(metric for metric in self.metrics if self._works(metric))
        if not alone:
            return self.metrics
        return alone if self._works(*alone) else alone[:1]

    def _works(self, *metrics: str) -> bool:
        try:
            self.evaluate(self.tables, metrics)
        except rw.RankwiseError:
            return False
        return True

    def evaluate(
        self, tables: Mapping[str, Any], metrics: tuple[str, ...] | None = None, **more: Any
    ) -> rw.Result:
        """Evaluate in one thread with kernels: what the other roads are compared with."""
        options = {"threads": 1, **self.options, **more}
        names = self.usable if metrics is None else metrics
        side = {
            role: table
            for role, table in tables.items()
            if role not in ("recommendations", "truth")
        }
        return rw.evaluate(
            tables["recommendations"], tables["truth"], list(names), **side, **options
        )

    def _wide_tables(self) -> dict[str, pl.DataFrame]:
        world = self.named
        lists = _rows(world.lists, "score").with_columns(
            rank=pl.int_range(1, pl.len() + 1).over("user")
        )
        if self.gaps:
            lists = lists.with_columns(rank=pl.col("rank") * 2)
        ordering = {"rank": ["rank"], "score": ["score"], "both": ["rank", "score"], "rows": []}[
            self.order
        ]
        lists = lists.select("user", "item", *ordering)
        beside = world.around
        items = pl.DataFrame(
            beside["items"], schema_overrides={"genres": pl.List(pl.String), "group": pl.String}
        )
        users = pl.DataFrame(beside["users"], schema_overrides={"group": pl.String})
        reference = _rows(
            {u: dict.fromkeys(own, 1.0) for u, own in world.reference.items()}, "score"
        )
        return {
            "recommendations": pl.concat([lists, lists.head(self.repeats)]),
            "truth": _rows(world.truth, "relevance"),
            "train": _rows(
                {u: dict.fromkeys(own, 1.0) for u, own in world.train.items()}, "score"
            ).drop("score"),
            "items": items,
            "users": users.with_columns(
                weight=(pl.int_range(pl.len()) % 4 + 1) / 4, age=pl.int_range(pl.len()) % 3
            ),
            "reference": reference.select(
                "user", "item", rank=pl.int_range(1, pl.len() + 1).over("user")
            ),
        }

    def __str__(self) -> str:
        return "\n".join(
            f"  {name}: {value}"
            for name, value in (
                ("metrics", ", ".join(self.metrics)),
                ("options", dict(self.options)),
                (
                    "lists",
                    f"ordered by {self.order}, {self.repeats} repeated rows, gaps: {self.gaps}",
                ),
                *vars(self.world).items(),
            )
        )


def _rows(table: Mapping[Any, Mapping[Any, float]], value: str) -> pl.DataFrame:
    rows = [
        (user, item, float(number)) for user, own in table.items() for item, number in own.items()
    ]
    return pl.DataFrame(rows, schema=["user", "item", value], orient="row")


def _large(seed: int, users: int, items: int) -> World:
    """Return a world of the tables that Spark's tests use: many users, long tables, groups with gaps."""
    tables = frames(seed, users=users, items=items)

    def by_user(role: str, value: str) -> dict[int, dict[int, Any]]:
        out: dict[int, dict[int, Any]] = {}
        for user, item, number in tables[role].select("user", "item", value).iter_rows():
            out.setdefault(user, {})[item] = number
        return out

    def column(role: str, key: str, name: str) -> dict[int, Any]:
        return dict(tables[role].select(key, name).iter_rows())

    tables["train"] = tables["train"].with_columns(relevance=1.0)
    return World(
        by_user("recommendations", "score"),
        by_user("truth", "relevance"),
        {user: list(own) for user, own in by_user("train", "relevance").items()},
        {item: set(own) for item, own in column("items", "item", "genres").items()},
        column("items", "item", "features"),
        column("items", "item", "group"),
        column("users", "user", "group"),
        {user: list(own) for user, own in by_user("reference", "rank").items()},
        column("items", "item", "propensity"),
    )


LARGE = st.builds(_large, st.integers(0, 2**20), st.integers(2, 120), st.integers(12, 90))
SMALL = numbered_worlds(scores=True, judged=True)
UNGRADED = numbered_worlds(scores=True, graded=False)


@cache
def names_of(convention: str) -> tuple[str, ...]:
    """Return the names of metrics that a convention offers."""
    return tuple(
        entry.name for entry in rw.conventions()[convention].metrics.values() if not entry.refused
    )


@st.composite
def metrics(draw: st.DrawFn, convention: str | None) -> tuple[str, ...]:
    """Draw metrics with cut-offs, no two of which give the same value."""
    pool = [*PLAIN, *OTHER] if convention is None else names_of(convention)
    names = draw(st.lists(st.sampled_from(pool), min_size=1, max_size=10, unique=True))
    k = st.sampled_from(CUTOFFS)
    chosen: dict[str, str] = {}
    for name in names:
        try:
            text = _with_cutoff(name, draw(k), convention)
            cells = rw.conventions()[convention or "default"].parse(text).cells
        except rw.RankwiseError:  # a name that stands for a family of metrics
            continue
        if not any(cell in chosen for cell in cells):
            chosen |= dict.fromkeys(cells, text)
    return tuple(dict.fromkeys(chosen.values())) or ("ndcg@5",)


def _with_cutoff(name: str, k: int, convention: str | None) -> str:
    if convention is None:
        return at(name, k)
    metric = rw.conventions()[convention].parse(name)
    return name if metric.cutoff == "none" or metric.k else f"{name}@{k}"


@st.composite
def options(draw: st.DrawFn, order: str, convention: str | None) -> dict[str, Any]:
    """Draw the options of an evaluation; with a convention those that it does not decide."""
    often_default: dict[str, list[Any]] = {
        "by": [["group"], ["activity", "popularity"], ["age", "group"], ["history"]],
        "weights": ["weight"],
        "exclude_seen": [True],
        "jackknife": [2, 5],
    }
    always: dict[str, Any] = {}
    if convention is None:
        always = {"population": PopulationName, "undefined": Undefined, "without_list": WithoutList}
        often_default |= {
            "relevance_threshold": [0, 1, 2, 3, 4.5],
            "relevance": get_args(Relevance),
        }
        often_default |= {"catalogue": ["train"], "ids": ["text"]}
        if order in ("score", "both"):
            often_default |= {"score_precision": ["float32"], "ties": get_args(Ties)}
        if order == "both":
            often_default |= {"order_by": ["score"]}
    chosen = {name: draw(st.sampled_from(get_args(kind))) for name, kind in always.items()}
    for name, values in often_default.items():
        if draw(st.integers(0, 3)) == 3 or name == "ties":
            chosen[name] = draw(st.sampled_from(values))
    if chosen.get("ties") and order == "both" and "order_by" not in chosen:
        del chosen["ties"]  # ranks order these lists
    return chosen | ({} if convention is None else {"convention": convention})


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw a case."""
    order = draw(st.sampled_from(ORDERED_BY))
    names = [name for name in rw.conventions() if name != "default"]
    convention = draw(st.one_of(st.none(), st.none(), st.sampled_from(names)))
    chosen = draw(options(order, convention))
    repeats = draw(st.sampled_from([0, 0, 0, 2])) if convention is None else 0
    if repeats:
        chosen["duplicates"] = "first"
    gaps = order == "rank" and draw(st.booleans())
    if gaps and convention is None and draw(st.booleans()):
        chosen["ranks"] = "keep"
    return Case(
        draw(st.one_of(SMALL, UNGRADED, LARGE)),
        draw(metrics(convention)),
        chosen,
        order,
        draw(ids(150)),
        draw(ids(100)),
        draw(st.booleans()),
        repeats,
        gaps,
    )
