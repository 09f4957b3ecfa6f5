r"""Weights of relevant items: what debiased measures have in common.

A measure that is weighted names the weight of every item, and says afterwards how much rests on
few of them: the effective sample size :math:`(\sum w)^2 / \sum w^2` of the weights of all relevant
items, the share of the largest, the level of the clip and the share of the relevant items that it
touched.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from rankwise.core.backend import namespace
from rankwise.core.facts import Fact, Popularity, Propensity
from rankwise.errors import ParameterError, ScoreError
from rankwise.measures.measure import Measure
from rankwise.measures.tallies import ItemSums, Relevant, Tally

if TYPE_CHECKING:
    from rankwise.core.backend import Array
    from rankwise.core.facts import Facts

__all__ = ["ByPropensity", "ByStratum", "ByWeight"]


class ByWeight(Measure):
    """Relevant items count by weight."""

    needs_catalogue: ClassVar[Literal["", "counted", "whole"]] = "counted"

    @property
    def tallies(self) -> tuple[Tally, ...]:
        """The relevant items, to say what their weights come to."""
        return (Relevant(),)

    def weight(self, facts: Facts) -> Array:
        """Return the weight of every item."""
        raise NotImplementedError

    def diagnose(self, items: ItemSums) -> dict[str, float]:
        """Say how much rests on few weights."""
        count = items.sum(Relevant(), 0)
        known = count > 0
        weight, number = np.asarray(self.weight(items.facts))[known], count[known]
        total = float(np.sum(number * weight))
        square = float(np.sum(number * weight**2))
        return {
            "relevant_items": float(np.sum(number)),
            "effective_sample_size": total**2 / square if square else math.nan,
            "largest_weight_share": float(weight.max()) / total if total else math.nan,
        }

    def known(self, weight: Array) -> Array:
        """Raise if a relevant item has no weight."""
        xp = namespace(weight)
        missing = xp.isnan(weight)
        if bool(xp.any(missing)):
            raise ScoreError(
                f"{self.name}: a relevant item has no propensity",
                where="items",
                found=f"{int(xp.sum(xp.astype(missing, xp.int64)))} such rows",
                hint="give every item of the truth a propensity, or take those of training counts",
            )
        return weight


class ByPropensity(ByWeight):
    """Relevant items count one over the chance that they are observed.

    Classes of this kind have the parameters ``propensity``, ``power`` and ``clip``.
    """

    propensity: Literal["popularity", "given"] = "popularity"
    power: float = 0.5
    clip: float = 0.1

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        if not 0 < self.clip <= 1:
            raise ParameterError(f"{self.name}: clip lies in (0, 1]", found=f"clip={self.clip}")
        if not 0 <= self.power < math.inf:
            raise ParameterError(f"{self.name}: power is 0 or more", found=f"power={self.power}")

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Training, or the column of propensities."""
        return (self._source,)

    def weight(self, facts: Facts) -> Array:
        """Return one over the clipped propensity of every item."""
        chance = self._chance(facts)
        return 1.0 / namespace(chance).clip(chance, min=float(self.clip))

    def diagnose(self, items: ItemSums) -> dict[str, float]:
        """Say how much rests on few weights, and on the clip."""
        count = items.sum(Relevant(), 0)
        below = np.asarray(self._chance(items.facts)) < self.clip
        total = float(np.sum(count))
        clipped = float(np.sum(count[below])) / total if total else math.nan
        return {**super().diagnose(items), "clip": float(self.clip), "clipped_share": clipped}

    @property
    def _source(self) -> Fact:
        given = self.propensity == "given"
        return Fact("propensity", "propensity") if given else Fact("popularity")

    def _chance(self, facts: Facts) -> Array:
        found = facts[self._source]
        if isinstance(found, Propensity):
            return found.chance
        assert isinstance(found, Popularity)
        return (found.count / found.most) ** float(self.power)


class ByStratum(ByWeight):
    """Popular items count less. Classes of this kind have the parameter ``gamma``."""

    gamma: float = 1.0

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        if not 0 <= self.gamma < math.inf:
            raise ParameterError(f"{self.name}: gamma is 0 or more", found=f"gamma={self.gamma}")

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Training."""
        return (Fact("popularity"),)

    def weight(self, facts: Facts) -> Array:
        """Return the weight of every item."""
        known = facts[Fact("popularity")]
        assert isinstance(known, Popularity)
        count = namespace(known.count).clip(known.count, min=1.0)
        return count ** (-float(self.gamma) / (float(self.gamma) + 1.0))
