"""Populations: the users over whom a metric is averaged.

A population is the users who have a relevant item, a list, a row of the ground truth, or several of
these. It decides which users are evaluated, which lists are read, and what a result says of them.

>>> POPULATIONS["both"].words
'with a relevant item and a list'
>>> widest_population(["both", "recommended"]), widest_population(["truth", "recommended"])
('recommended', 'all')
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any, Literal, TypeAlias

PopulationName: TypeAlias = Literal["truth", "both", "recommended", "judged", "judged_both", "all"]


@dataclass(frozen=True)
class Population:
    """The users who have all of some things, or any of them.

    Attributes
    ----------
    name : str
        The name of the option's value.
    needs : frozenset of {"relevant", "list", "judged"}
        What these users have: a relevant item, a list, a row in the ground truth.
    words : str
        What is said of the users.
    needs_all : bool, default=True
        Whether users have all of these, or any.
    """

    name: PopulationName
    needs: frozenset[Literal["relevant", "list", "judged"]]
    words: str
    needs_all: bool = True

    def includes(self, *, relevant: Any, listed: Any, judged: Any) -> Any:
        """Return which users belong to the population.

        Parameters
        ----------
        relevant, listed, judged : array of bool, shape (U,)
            Whether each user has a relevant item, a list, and a row in the ground truth.

        Returns
        -------
        array of bool, shape (U,)
        """
        has = {"relevant": relevant, "list": listed, "judged": judged}
        combine = operator.and_ if self.needs_all else operator.or_
        return reduce(combine, [has[need] for need in sorted(self.needs)])

    def knows(self, other: Population) -> bool:
        """Return whether an evaluation of these users can tell which of them are the other's.

        It has all users of the other population, and asks who is judged only if it needs that.
        """
        if "judged" in other.needs and "judged" not in self.needs:
            return self == other
        theirs = other.needs | {"judged"} if "relevant" in other.needs else other.needs
        if self.needs_all:
            return other.needs_all and self.needs <= theirs
        return not (other.needs_all and self.needs.isdisjoint(theirs))

    @property
    def needs_list(self) -> bool:
        """Whether users without a list are left out."""
        return self.needs_all and "list" in self.needs

    @property
    def needs_relevant(self) -> bool:
        """Whether users without a relevant item are left out."""
        return self.needs_all and "relevant" in self.needs

    @property
    def needs_truth(self) -> bool:
        """Whether nobody belongs to it without a ground truth."""
        return self.needs_all and self.needs != {"list"}

    @property
    def needs_of_lists(self) -> frozenset[str]:
        """The needs of users with a list beside the list: equal for populations of equal lists."""
        return self.needs - {"list"} if self.needs_all else frozenset()


POPULATIONS: dict[str, Population] = {
    population.name: population
    for population in (
        Population("both", frozenset({"relevant", "list"}), "with a relevant item and a list"),
        Population("truth", frozenset({"relevant"}), "with a relevant item"),
        Population("recommended", frozenset({"list"}), "with a list"),
        Population(
            "judged_both",
            frozenset({"judged", "list"}),
            "in the ground truth, with or without a relevant item, and with a list",
        ),
        Population(
            "judged",
            frozenset({"judged"}),
            "in the ground truth, with or without a relevant item",
        ),
        Population(
            "all",
            frozenset({"relevant", "list"}),
            "with a relevant item or a list",
            needs_all=False,
        ),
    )
}
"""The populations by name, the narrowest first."""


def widest_population(names: Iterable[PopulationName]) -> PopulationName | None:
    """Return the narrowest population that knows all of these; None if there is none.

    >>> widest_population(["judged", "recommended"]) is None
    True
    """
    wanted = [POPULATIONS[name] for name in set(names)]
    for candidate in POPULATIONS.values():
        if all(candidate.knows(population) for population in wanted):
            return candidate.name
    return None
