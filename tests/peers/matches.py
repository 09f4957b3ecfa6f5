"""What a match of two measures is, and the arithmetic behind those that are not the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from ours import At

    Arithmetic: TypeAlias = Callable[[At], float]


@dataclass(frozen=True)
class Match:
    """What rankwise has for one measure of a library.

    Attributes
    ----------
    ours : str or None
        The measure without a cut-off, with the parameters that come nearest.
    default : str
        What one would write without knowing of conventions: the measure of that name, with no
        parameter but those that the library was asked for as well.
    view : str
        What it is evaluated on, one of `ours.VIEWS`.
    cell : str
        Which of a measure's cells, as ``item_group=a``.
    why : str
        Why the values differ, or why there is no counterpart.
    note : str
        What to know where the values are equal.
    arithmetic : callable or None
        Makes the library's value from ours, and so proves the reason.
    """

    ours: str | None
    default: str = ""
    view: str = "lists"
    cell: str = ""
    why: str = ""
    note: str = ""
    arithmetic: Arithmetic | None = None


def same(
    ours: str, default: str = "", *, view: str = "lists", cell: str = "", note: str = ""
) -> Match:
    """Match a measure that gives the library's number.

    Parameters
    ----------
    ours, default, view, cell, note
        As in `Match`; ``default`` is the measure without parameters if it is not given.

    Returns
    -------
    Match
    """
    return Match(ours, default or ours.partition("(")[0], view=view, cell=cell, note=note)


def differs(
    ours: str,
    why: str,
    arithmetic: Arithmetic | None = None,
    *,
    default: str = "",
    view: str = "lists",
) -> Match:
    """Match a measure that comes near, and does not give the library's number.

    Parameters
    ----------
    ours, why, arithmetic, default, view
        As in `Match`.

    Returns
    -------
    Match
    """
    default = default or ours.partition("(")[0]
    return Match(ours, default, view=view, why=why, arithmetic=arithmetic)


def missing(why: str, arithmetic: Arithmetic | None = None) -> Match:
    """Say that there is no counterpart.

    Parameters
    ----------
    why, arithmetic
        As in `Match`.

    Returns
    -------
    Match
    """
    return Match(None, why=why, arithmetic=arithmetic)


def accuracy(at: At) -> float:
    """Share of the pairs of a user and an item that are TP or TN."""
    right, wrong = at("tp") + at("tn"), at("fp") + at("fn")
    return right / (right + wrong)


def correlation(at: At) -> float:
    """Mean over users of the Matthews correlation of being recommended and being relevant."""
    n, relevant = at.n_items(), at.n_relevant()
    listed, hits = at.each("num_retrieved"), at.each("precision") * at.k
    above = hits * (n - listed - relevant + hits) - (listed - hits) * (relevant - hits)
    return float(np.mean(above / np.sqrt(listed * relevant * (n - listed) * (n - relevant))))


def share_of_interactions(at: At) -> float:
    """Popularity as a share of all training interactions."""
    return at("arp(denominator=length)") / at.ours.data.table("train").height


def found_r_precision(at: At) -> float:
    """R-precision within the top k, over users with a hit above that rank alone."""
    whole = at.n_relevant() <= at.k
    values = np.where(whole, at.each("r_precision"), at.each("recall"))
    return float(values[values > 0].mean())


def entropy_per_item(at: At) -> float:
    """Entropy over the number of distinct items."""
    return at("shannon_entropy") / at("item_coverage")


def unrepeated(at: At) -> float:
    """Share of users whose list repeats nothing."""
    return float(np.mean(at.each("duplicate_rate") == 0))


def gini_over_n(at: At) -> float:
    """Gini index that divides by n and not n - 1, the largest value of which is 1 - 1/n."""
    return at("gini") * (at.n_items() - 1) / at.n_items()


def mean_of_users(measure: str) -> Arithmetic:
    """Take the mean over users of what ours pools over rows."""
    return lambda at: float(np.nanmean(at.each(measure)))


def mean_of_ranks(measure: str) -> Arithmetic:
    """Take the mean of a measure at every cut-off from 1 to k."""
    return lambda at: float(np.mean([at(measure, k=k) for k in range(1, (at.k or 0) + 1)]))


def f_with_mean_precision(at: At) -> float:
    """Harmonic mean of nDCG and of the mean of precision at every rank, user by user."""
    first = at.each("ndcg(gain=exponential)")
    depths = range(1, (at.k or 0) + 1)
    second = np.mean([at.each("precision", k=k) for k in depths], axis=0)
    total = first + second
    return float(np.mean(np.where(total > 0, 2 * first * second / np.where(total, total, 1), 0)))


def categories_of_all(at: At) -> float:
    """Categories of hits over those of the catalogue: a user's share of its own, rescaled."""
    items = at.ours.data.table("items")
    genres = dict(zip(items["item"], items["genres"].str.split("|"), strict=True))
    own: dict[int, set[str]] = {}
    for user, item, _ in at.ours.data.table("truth").iter_rows():
        own.setdefault(user, set()).update(genres[item])
    n_own = np.array([len(own[user]) for user in sorted(own)])
    every = set().union(*genres.values())
    return float(np.mean(at.each("subtopic_recall(of=hits)") * n_own)) / len(every)


def rating_with_misses(at: At) -> float:
    """Mean score of an item where it is recommended, as 0 where it is not relevant."""
    by_score = at.seen_as("scores as relevance")
    return by_score("item_mad_ranking(gain=linear,discount=none)")


def distance_of_users(at: At) -> float:
    """Mean distance of users from utopia, the Gini index being the same for all."""
    ndcg, epc = at.each("ndcg(gain=exponential_plus_one)"), at.each("epc")
    return float(np.mean(np.sqrt((ndcg - 1) ** 2 + at("gini") ** 2 + (epc - 1) ** 2)))
