r"""Weights of relevant items, shared by all debiased measures.

A weighted measure defines the weight of every item and reports how much its value depends on few
of them: the effective sample size :math:`(\sum w)^2 / \sum w^2` of the weights of all relevant
items, the share of the largest, the clip and the share of the relevant items that it changed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rankwise.core.arrays import Array, namespace, refuse
from rankwise.core.facts import Fact, Facts, Popularity, Propensity
from rankwise.errors import ScoreError
from rankwise.measures.arithmetic import check_parameter
from rankwise.measures.item_sums import CatalogueSums, ItemSum, RelevantCount
from rankwise.measures.measure import POPULARITY, Measure

__all__ = ["ByPropensity", "ByStratum", "ByWeight"]


@dataclass(frozen=True, kw_only=True, repr=False)
class ByWeight(Measure):
    """A measure whose relevant items are weighted."""

    needs_catalogue = "counted"

    @property
    def item_sums(self) -> tuple[ItemSum, ...]:
        """The relevant items, for the diagnostics of their weights."""
        return (RelevantCount(),)

    def weight(self, facts: Facts) -> Array:
        """Return the weight of every item."""
        raise NotImplementedError

    def diagnose(self, items: CatalogueSums) -> dict[str, float]:
        """Return how much depends on few weights."""
        count = items.sum(RelevantCount(), 0)
        relevant = count > 0
        weight, count = np.asarray(self.weight(items.facts))[relevant], count[relevant]
        total = float(np.sum(count * weight))
        square = float(np.sum(count * weight**2))
        return {
            "relevant_items": float(np.sum(count)),
            "effective_sample_size": total**2 / square if square else math.nan,
            "largest_weight_share": float(weight.max()) / total if total else math.nan,
        }

    def checked(self, weight: Array) -> Array:
        """Return the weights of relevant items; raise if one has none."""
        xp = namespace(weight)
        missing = xp.isnan(weight)
        refuse(
            missing,
            lambda: ScoreError(
                f"{self.name}: a relevant item has no propensity",
                where="items",
                found=f"{int(xp.sum(xp.astype(missing, xp.int64)))} such rows",
                hint="give every item of the truth a propensity, or take those of training counts",
            ),
        )
        return weight


@dataclass(frozen=True, kw_only=True, repr=False)
class ByPropensity(ByWeight):
    """Relevant items count 1 / propensity, the probability that they are observed.

    Parameters
    ----------
    propensity : {"popularity", "given"}, default="popularity"
        Estimated from training counts, or given in the column ``propensity`` of ``items``.
    power : float, default=0.5
        The exponent of the training counts, 0 or more.
    clip : float, default=0.1
        The smallest propensity, in (0, 1]; smaller values are raised to it.
    """

    propensity: Literal["popularity", "given"] = "popularity"
    power: float = 0.5
    clip: float = 0.1

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        check_parameter(self, "clip", 0 < self.clip <= 1, "lies in (0, 1]")
        check_parameter(self, "power", 0 <= self.power < math.inf, "is 0 or more")

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The popularity in training, or the column of propensities."""
        return (self._source,)

    def weight(self, facts: Facts) -> Array:
        """Return 1 / clipped propensity of every item."""
        propensity = self._propensity(facts)
        return 1.0 / namespace(propensity).clip(propensity, min=float(self.clip))

    def diagnose(self, items: CatalogueSums) -> dict[str, float]:
        """Return how much depends on few weights, and on the clip."""
        count = items.sum(RelevantCount(), 0)
        below = np.asarray(self._propensity(items.facts)) < self.clip
        total = float(np.sum(count))
        clipped = float(np.sum(count[below])) / total if total else math.nan
        return {**super().diagnose(items), "clip": float(self.clip), "clipped_share": clipped}

    @property
    def _source(self) -> Fact:
        return Fact("propensity", "propensity") if self.propensity == "given" else POPULARITY

    def _propensity(self, facts: Facts) -> Array:
        source = facts[self._source]
        if isinstance(source, Propensity):
            return source.probability
        assert isinstance(source, Popularity)
        return (source.count / source.most) ** float(self.power)


@dataclass(frozen=True, kw_only=True, repr=False)
class ByStratum(ByWeight):
    """Popular items count less.

    Parameters
    ----------
    gamma : float, default=1.0
        How much likelier interactions with popular items are to be observed; 0 weights all alike.
    """

    gamma: float = 1.0
    facts = (POPULARITY,)

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        check_parameter(self, "gamma", 0 <= self.gamma < math.inf, "is 0 or more")

    def weight(self, facts: Facts) -> Array:
        """Return the weight of every item; items never seen in training count as seen once."""
        training = facts[POPULARITY]
        assert isinstance(training, Popularity)
        count = namespace(training.count).clip(training.count, min=1.0)
        return count ** (-float(self.gamma) / (float(self.gamma) + 1.0))
