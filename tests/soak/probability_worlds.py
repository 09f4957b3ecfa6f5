"""Predicted probabilities of clicks: their loss, calibration and bins, on every road and by groups of users."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_args

import polars as pl
from evaluations import Evaluation, kind, refuses
from hypothesis import strategies as st
from kinds import SPARK, TORCH, Comparison
from world_tables import KINDS, table, types_of

import rankwise as rw
from rankwise import functional
from rankwise.core.populations import PopulationName
from road_worlds import World
from strategies import ids

EDGES = [0.1, 0.35, 0.9]
DEFINITIONS: dict[str, Callable[[list[tuple[float, float]]], float]] = {
    "log_loss": functional.log_loss,
    "brier": functional.brier_score,
    "calibration_ratio": functional.calibration_ratio,
    "normalised_entropy": functional.normalised_entropy,
    "ece": functional.expected_calibration_error,
    "ece(n_bins=3)": lambda pairs: functional.expected_calibration_error(pairs, n_bins=3),
    "ece(bins=equal_mass,n_bins=4)": lambda pairs: functional.expected_calibration_error(
        pairs, bins="equal_mass", n_bins=4
    ),
    "ece(edges=[0.1,0.35,0.9])": lambda pairs: functional.expected_calibration_error(
        pairs, edges=EDGES
    ),
    "ece(norm=l2)": lambda pairs: functional.expected_calibration_error(pairs, norm="l2"),
    "ece(debiased=true)": lambda pairs: functional.expected_calibration_error(pairs, debiased=True),
    "ece(debiased=true,norm=l2)": lambda pairs: functional.expected_calibration_error(
        pairs, debiased=True, norm="l2"
    ),
    "log_loss(scores=logits)": lambda pairs: functional.log_loss(pairs, scores="logits"),
    "ece(scores=logits)": lambda pairs: functional.expected_calibration_error(
        pairs, scores="logits"
    ),
}
"""The plain definition of each metric, of pairs of probability and label."""
OTHER = ("reliability_curve(n_bins=3)", "reliability_curve(bins=equal_mass,n_bins=2)")
CHANCES = (0.0, 0.1, 0.25, 1 / 3, 0.35, 0.5, 0.9, 0.999999, 1.0)
"""Some lie at the edges of bins."""
MASS = "equal_mass"


@dataclass(frozen=True)
class Predicted:
    """Items that were shown with a predicted probability, and clicks.

    Attributes
    ----------
    shown : dict
        The probability of each user and item that was shown.
    labels : dict
        The labels of some users and items; others were not clicked.
    teams : dict
        The team of each user.
    items : list
        All items.
    types : dict
        The type of each column of ids.
    metrics : tuple of str
        The metrics.
    options : mapping
        Options of `rankwise.evaluate`.
    """

    shown: dict[tuple[Any, Any], float]
    labels: dict[tuple[Any, Any], float]
    teams: dict[Any, Any]
    items: list[Any]
    types: dict[str, Any]
    metrics: tuple[str, ...]
    options: Mapping[str, Any]

    def __str__(self) -> str:
        return str(self.evaluation)

    @cached_property
    def evaluation(self) -> Evaluation:
        """The evaluation."""
        user, item = {"user": self.types["user"]}, {"item": self.types["item"]}
        lists = [(*pair, self.shown[pair]) for pair in sorted(self.shown)]
        truth = [(*pair, label) for pair, label in self.labels.items()]
        tables = {
            "recommendations": table(lists, user | item | {"score": pl.Float64}),
            "truth": table(truth, user | item | {"relevance": pl.Float64}),
            "users": table([*self.teams.items()], user | {"team": pl.String}).with_columns(
                weight=1.0 + pl.int_range(pl.len()) % 3
            ),
        }
        return Evaluation(World("probabilities", tables), self.metrics, self.options)

    def pairs(self, team: Any = ...) -> list[tuple[float, float]]:
        """Return the probabilities and labels of all rows, or of those of a team."""
        return [
            (chance, float(self.labels.get(pair, 0.0) > 0))
            for pair, chance in self.shown.items()
            if team is ... or self.teams[pair[0]] == team
        ]


@st.composite
def worlds(draw: st.DrawFn) -> Predicted:
    """Draw rows that were shown; one of them was clicked."""
    users, items = draw(ids(draw(st.integers(1, 5)))), draw(ids(7))
    rows = st.tuples(st.sampled_from(users), st.sampled_from(items))
    chance = st.one_of(st.sampled_from(CHANCES), st.floats(0, 1))
    shown = draw(st.dictionaries(rows, chance, min_size=1, max_size=25))
    labels = draw(
        st.dictionaries(
            st.one_of(st.sampled_from([*shown]), rows), st.sampled_from([0.0, 1.0]), max_size=15
        )
    )
    options: dict[str, Any] = {"population": draw(st.sampled_from(get_args(PopulationName)))}
    if draw(st.booleans()):
        options["by"] = ["team"]
    if draw(st.integers(0, 3)) == 3:
        options[draw(st.sampled_from(["jackknife", "min_size"]))] = 2
    if draw(st.integers(0, 5)) == 5:
        options["weights"] = "weight"
    names = st.sampled_from([*DEFINITIONS, *OTHER])
    return Predicted(
        shown,
        {**labels, next(iter(shown)): 1.0},
        {user: draw(st.sampled_from(KINDS)) for user in users},
        items,
        draw(types_of(user=users, item=items)),
        tuple(draw(st.lists(names, min_size=1, max_size=4, unique=True))),
        options,
    )


def plain(world: Predicted, result: rw.Result) -> Iterator[Comparison]:
    """Yield the values of all rows and of each team beside their plain definitions."""
    if "weights" in world.options:
        return
    for metric in world.metrics:
        if metric not in DEFINITIONS:
            continue
        definition, cell = DEFINITIONS[metric], rw.parse(metric).cells[0]
        yield metric, result[cell], definition(world.pairs())
        if "by" in world.options and MASS not in metric:  # whose bins are those of all rows
            assert result.slices is not None
            for team, value in result.slices.select("group", cell).iter_rows():
                rows = world.pairs(team)
                yield f"{metric} of {team!r}", value, definition(rows) if rows else math.nan


def on_tensors(world: Predicted, result: rw.Result) -> Iterator[Comparison]:
    """Yield the values of tensors in batches of two users beside those of tables."""
    import torch
    from tensor_worlds import sparse

    from rankwise.torch import Collection

    users = sorted(world.teams)
    scores = torch.full((len(users), len(world.items)), -torch.inf, dtype=torch.float64)
    labels = torch.full(scores.shape, torch.nan, dtype=torch.float64)
    for matrix, rows in ((scores, world.shown), (labels, world.labels)):
        for (user, item), value in rows.items():
            matrix[users.index(user), world.items.index(item)] = value
    collection = Collection(
        list(world.metrics),
        user_ids=users,
        item_ids=world.items,
        users=world.evaluation.tables["users"],
        **world.options,
    )
    for start in range(0, len(users), 2):
        part = slice(start, start + 2)
        collection.update(scores[part], sparse(labels[part]), users=torch.arange(len(users))[part])
    tensors = collection.result()
    for name in {**tensors.values, **result.values}:
        yield name, tensors.values.get(name, "none"), result.values.get(name, "none")
    if result.slices is not None:
        assert tensors.slices is not None
        for column in result.slices.columns:
            yield column, tensors.slices[column].to_list(), result.slices[column].to_list()


def refuses_bins(world: Predicted, road: str) -> bool:
    """Return whether bins of equal mass need all scores at once, which a road has not."""
    needs_all = any(MASS in metric for metric in world.metrics)
    return refuses(world, road) or (needs_all and road in ("pieces", "chunks", SPARK, TORCH))


KIND = kind("probabilities", worlds(), plain, tensors=on_tensors, refuses=refuses_bins)
