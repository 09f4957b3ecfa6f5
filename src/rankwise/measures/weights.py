r"""Weights of relevant items, shared by all debiased measures.

A weighted measure defines the weight of every item and reports how much its value depends on few
of them: the effective sample size :math:`(\sum w)^2 / \sum w^2` of the weights of all relevant
items, the share of the largest weight, the clip, and the share of relevant items with a clipped
propensity.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rankwise.core.arrays import Array, namespace, refuse
from rankwise.core.block import Block
from rankwise.core.facts import POPULARITY, PROPENSITY
from rankwise.errors import ScoreError
from rankwise.measures.arithmetic import check_parameter
from rankwise.measures.input_kinds import Input
from rankwise.measures.item_sums import CatalogueSums, RelevantCount
from rankwise.measures.measure import Measure

__all__ = ["ByPropensity", "ByStratum", "ByWeight"]


@dataclass(frozen=True, kw_only=True, repr=False)
class ByWeight(Measure):
    """A measure whose relevant items are weighted."""

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The relevant items, also counted for the diagnostics of their weights."""
        return (*super().inputs, "relevant", RelevantCount())

    def weight(self, known: Block | CatalogueSums) -> Array:
        """Return the weight of every item."""
        raise NotImplementedError

    def diagnose(self, items: CatalogueSums) -> dict[str, float]:
        """Return how much depends on few weights."""
        count = items.sum(RelevantCount(), 0)
        relevant = count > 0
        weight, count = np.asarray(self.weight(items))[relevant], count[relevant]
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
                hint="give every ground truth item a propensity, or use propensity=popularity",
            ),
        )
        return weight


@dataclass(frozen=True, kw_only=True, repr=False)
class ByPropensity(ByWeight):
    """Relevant items count 1 / propensity: 1 over the probability that they are observed.

    Parameters
    ----------
    propensity : {"popularity", "given"}, default="popularity"
        Where propensities come from: estimated as (training users of the item / the largest such
        number) to the power of ``power``, or given in the column ``propensity`` of ``items``.
    power : float, default=0.5
        The exponent of the estimate, 0 or more; 0 gives all items the same propensity.
    clip : float, default=0.1
        The smallest propensity, in (0, 1]; smaller values are raised to it.
    """

    propensity: Literal["popularity", "given"] = "popularity"
    power: float = 0.5
    clip: float = 0.1

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        check_parameter(self, "clip", 0 < self.clip <= 1, "must lie in (0, 1]")
        check_parameter(self, "power", 0 <= self.power < math.inf, "must be 0 or more")

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The popularity in training, or the column of propensities."""
        source: Input = PROPENSITY if self.propensity == "given" else POPULARITY
        return (*super().inputs, source)

    def weight(self, known: Block | CatalogueSums) -> Array:
        """Return 1 / clipped propensity of every item."""
        propensity = self._propensity(known)
        return 1.0 / namespace(propensity).clip(propensity, min=float(self.clip))

    def diagnose(self, items: CatalogueSums) -> dict[str, float]:
        """Return how much depends on few weights, and on the clip."""
        count = items.sum(RelevantCount(), 0)
        below = np.asarray(self._propensity(items)) < self.clip
        total = float(np.sum(count))
        clipped = float(np.sum(count[below])) / total if total else math.nan
        return {**super().diagnose(items), "clip": float(self.clip), "clipped_share": clipped}

    def _propensity(self, known: Block | CatalogueSums) -> Array:
        if self.propensity == "given":
            return known[PROPENSITY].probability
        training = known[POPULARITY]
        return (training.count / training.most) ** float(self.power)


@dataclass(frozen=True, kw_only=True, repr=False)
class ByStratum(ByWeight):
    """Popular items count less.

    Parameters
    ----------
    gamma : float, default=1.0
        How strongly the probability that an interaction is observed grows with popularity, 0 or
        more; 0 weights all items alike.
    """

    gamma: float = 1.0

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The popularity in training."""
        return (*super().inputs, POPULARITY)

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        check_parameter(self, "gamma", 0 <= self.gamma < math.inf, "must be 0 or more")

    def weight(self, known: Block | CatalogueSums) -> Array:
        """Return the weight of every item; items never seen in training count as seen once."""
        training = known[POPULARITY]
        count = namespace(training.count).clip(training.count, min=1.0)
        return count ** (-float(self.gamma) / (float(self.gamma) + 1.0))
