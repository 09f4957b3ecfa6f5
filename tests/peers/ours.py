"""rankwise on the random data, from what each library works from.

A view is what `rankwise.evaluate` is handed: the lists of 20, the full rankings, or the same data
put in another way, where that is what gives a library's number.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

import rankwise as rw

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Array: TypeAlias = np.ndarray[Any, Any]
Inputs: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Data:
    """The files that ``random_data.py`` wrote.

    Attributes
    ----------
    folder : Path
        Where they are.
    """

    folder: Path

    def table(self, name: str) -> pl.DataFrame:
        """Read one of the tables, by its file's name without the ending."""
        return pl.read_csv(self.folder / f"{name}.csv")

    @cached_property
    def seen(self) -> Array:
        """Who has what in train, users × items."""
        train = self.table("train")
        seen = np.zeros(self.scores.shape, dtype=bool)
        seen[train["user"], train["item"]] = True
        return seen

    @cached_property
    def scores(self) -> Array:
        """Scores, users × items."""
        return np.asarray(np.load(self.folder / "scores.npy"))

    @cached_property
    def rankings(self) -> pl.DataFrame:
        """Every user's unseen items with their scores."""
        users, items = np.nonzero(~self.seen)
        return pl.DataFrame({"user": users, "item": items, "score": self.scores[users, items]})

    def items(self, features: Array) -> pl.DataFrame:
        """Join groups and genres of items with a vector of features each."""
        vectors = pl.Series("features", features.astype(float).tolist())
        return self.table("items").with_columns(vectors)


def lists(data: Data) -> Inputs:
    """The 20 best unseen items of every user, and all that is known."""
    return {
        "recommendations": data.table("lists"),
        "truth": data.table("truth"),
        "train": data.table("train"),
        "items": data.items(np.load(data.folder / "features.npy")),
        "users": data.table("users"),
        "baseline": data.table("baseline"),
    }


def full(data: Data) -> Inputs:
    """All unseen items of every user by score."""
    return lists(data) | {"recommendations": data.rankings}


def from_3(data: Data) -> Inputs:
    """Full rankings; ratings from 3 on are relevant."""
    return full(data) | {"relevance_threshold": 3}


def from_3_as_1(data: Data) -> Inputs:
    """Full rankings; a rating of 3 counts as 1, those below are not relevant."""
    return full(data) | {"truth": data.table("truth").with_columns(pl.col("rating") - 2)}


def logistic(data: Data) -> Inputs:
    """Full rankings; scores are made chances by the logistic function."""
    chances = data.rankings.with_columns(score=1 / (1 + (-pl.col("score")).exp()))
    return full(data) | {"recommendations": chances}


def one_user(data: Data) -> Inputs:
    """Every unseen pair of a user and an item as an item of one and the same user."""
    n_items = data.scores.shape[1]
    pair = {"item": pl.col("user") * n_items + pl.col("item"), "user": pl.lit(0)}
    pairs = data.rankings.with_columns(**pair)
    truth = data.table("truth").with_columns(**pair)
    return {"recommendations": pairs, "truth": truth, "items": pairs["item"].to_list()}


def padded(data: Data) -> Inputs:
    """The lists, and one item more in the catalogue."""
    return lists(data) | {"items": list(range(data.scores.shape[1] + 1))}


def users_as_features(data: Data) -> Inputs:
    """The lists; the features of an item say which users have it in train."""
    return lists(data) | {"items": data.items(data.seen.T)}


def genres_as_features(data: Data) -> Inputs:
    """The lists; the features of an item say which genres it has."""
    genres = data.table("items")["genres"].str.split("|").to_list()
    names = sorted({name for own in genres for name in own})
    flags = np.array([[name in own for name in names] for own in genres])
    return lists(data) | {"items": data.items(flags)}


def scores_as_relevance(data: Data) -> Inputs:
    """The lists; a truth row is as relevant as its score is high."""
    truth = data.table("truth")
    scores = pl.Series("relevance", data.scores[truth["user"], truth["item"]])
    return lists(data) | {"truth": truth.select("user", "item").with_columns(scores)}


def baseline_as_truth(data: Data) -> Inputs:
    """The lists; relevant is what the baseline recommends."""
    return lists(data) | {"truth": data.table("baseline").select("user", "item")}


VIEWS: dict[str, Callable[[Data], Inputs]] = {
    "lists": lists,
    "full": full,
    "from 3": from_3,
    "from 3 as 1": from_3_as_1,
    "logistic": logistic,
    "one user": one_user,
    "padded": padded,
    "users as features": users_as_features,
    "genres as features": genres_as_features,
    "scores as relevance": scores_as_relevance,
    "baseline as truth": baseline_as_truth,
}
FULL = ("full", "logistic", "one user")
FROM_3 = ("from 3", "from 3 as 1")


def plainly(view: str) -> str:
    """Name the view in which nothing is put in another way: what one would hand to rankwise."""
    return "full" if view in FULL else "from 3" if view in FROM_3 else "lists"


def hamming(vectors: Array) -> Array:
    """Count the features in which two items differ, for every pair."""
    return np.asarray(np.abs(vectors[:, None, :] - vectors[None, :, :]).sum(axis=2))


@dataclass
class Ours:
    """rankwise's values, worked out when they are asked for.

    Attributes
    ----------
    data : Data
        What to evaluate.
    """

    data: Data
    views: dict[str, Inputs] = field(default_factory=dict)
    results: dict[tuple[str, str], rw.Result] = field(default_factory=dict)

    def inputs(self, view: str) -> Inputs:
        """Make a view, once."""
        if view not in self.views:
            self.views[view] = VIEWS[view](self.data)
        return self.views[view]

    def evaluate(self, name: str, view: str) -> rw.Result:
        """Evaluate one measure at one cut-off, once."""
        if (name, view) not in self.results:
            self.results[name, view] = rw.evaluate(measures=name, **self.inputs(view))
        return self.results[name, view]


def with_cutoff(measure: str, k: int | None) -> str:
    """Write a measure with a cut-off, if it takes one."""
    parsed = rw.parse(measure)
    return str(parsed if k is None or parsed.cutoff == "none" else parsed @ k)


@dataclass(frozen=True)
class At:
    """rankwise's values at one cut-off and in one view.

    Attributes
    ----------
    ours : Ours
        Where the values come from.
    view : str
        One of `VIEWS`.
    k : int or None
        The cut-off.
    """

    ours: Ours
    view: str
    k: int | None

    def __call__(self, measure: str, *, cell: str = "", k: int | None = None) -> float:
        """Return the value of a measure, or of one of its cells."""
        name = with_cutoff(measure, k or self.k)
        return self.ours.evaluate(name, self.view)[f"{name}[{cell}]" if cell else name]

    def each(self, measure: str, k: int | None = None) -> Array:
        """Return the value of every user."""
        name = with_cutoff(measure, k or self.k)
        return self.ours.evaluate(name, self.view).per_user[name].to_numpy()

    def n_relevant(self) -> Array:
        """Count every user's relevant items."""
        return self.ours.evaluate("precision@1", self.view).per_user["n_relevant"].to_numpy()

    def n_items(self) -> int:
        """Count the catalogue."""
        return len(self.ours.inputs(self.view)["items"])

    def seen_as(self, view: str) -> At:
        """Take another view."""
        return At(self.ours, view, self.k)
