"""The users whom a value is averaged over, and the values of users without items or lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rankwise.core.choices import Population, Undefined, WithoutList

__all__ = ["BY_DEFAULT", "EVERYONE", "UserRule", "UserRules", "members", "population_of_all"]


def members(population: Population, relevant: Any, listed: Any, judged: Any) -> Any:
    """Return which users belong to a population.

    Parameters
    ----------
    population : str
        The population.
    relevant, listed, judged : array of bool, shape (U,)
        Whether each user has a relevant item, a list, and a row in the ground truth.
    """
    if population == "truth":
        return relevant
    if population == "both":
        return relevant & listed
    if population == "recommended":
        return listed
    if population == "judged":
        return judged
    if population == "judged_both":
        return listed & judged
    return relevant | listed


@dataclass(frozen=True)
class UserRule:
    """Who one measure is averaged over, and what a user counts whom it is not defined for."""

    population: Population = "truth"
    undefined: Undefined = "skip"
    without_list: WithoutList = "skip"

    def includes(self, evaluated: Population, n_relevant: Any, list_length: Any) -> Any:
        """Return which of the evaluated users belong to the population, shape (U,).

        Parameters
        ----------
        evaluated : str
            The population of all evaluated users, which includes this one.
        n_relevant, list_length : array of int, shape (U,)
            Relevant items of each user, and items recommended.

        Returns
        -------
        array of bool or None
            None if they all belong to it.
        """
        if self.population == evaluated:
            return None
        judged = evaluated in ("judged", "judged_both")  # they all are, or nobody asks
        return members(self.population, n_relevant > 0, list_length > 0, judged)

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> UserRule:
        """Return the rule that options say."""
        return cls(options["population"], options["undefined"], options["without_list"])

    @property
    def counts_irrelevant(self) -> bool:
        """Whether users without relevant items belong to the population."""
        return self.population not in ("truth", "both")


@dataclass(frozen=True)
class UserRules:
    """One rule for all measures, and the exceptions by name of the measure without cut-offs."""

    default: UserRule = field(default_factory=UserRule)
    exceptions: Mapping[str, UserRule] = field(default_factory=dict)

    def of(self, measure: str) -> UserRule:
        """Return the rule of a measure."""
        return self.exceptions.get(measure, self.default)


BY_DEFAULT = UserRule()
EVERYONE = UserRules()

_WIDER: dict[Population, tuple[Population, ...]] = {
    "both": ("truth", "recommended", "judged_both", "judged", "all"),
    "truth": ("judged", "all"),
    "recommended": ("all",),
    "judged_both": ("judged",),
    "judged": (),
    "all": (),
}
"""The populations that include each one, the narrowest first."""


def population_of_all(populations: Iterable[Population]) -> Population | None:
    """Return the narrowest population that includes all of these; None if there is none.

    >>> population_of_all(["both", "recommended"]), population_of_all(["truth", "recommended"])
    ('recommended', 'all')
    >>> population_of_all(["judged", "recommended"]) is None
    True
    """
    wanted = set(populations)
    for candidate in _WIDER:
        if all(one == candidate or candidate in _WIDER[one] for one in wanted):
            return candidate
    return None
