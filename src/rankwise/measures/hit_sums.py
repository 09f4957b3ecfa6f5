r"""Measures that are sums over hits: one definition gives the value, the curve and the weighting.

The value of user u at cut-off k is :math:`S_u(k) / (N_u(k) \, s(k))`: the terms of the hits in the
top k, summed, over a norm of the user and a scale that is the same for all users.
"""

from __future__ import annotations

from dataclasses import dataclass

from rankwise.core.arrays import Array
from rankwise.core.block import Block, Cutoffs
from rankwise.errors import MeasureError
from rankwise.measures.arithmetic import divide
from rankwise.measures.kinds import PerUser, Weightable

__all__ = ["HitSum", "RunningSum"]


@dataclass(frozen=True, kw_only=True, repr=False)
class RunningSum(PerUser):
    """A sum down the list over a norm: each rank at which a relevant item may stand adds a term."""

    def terms(self, block: Block) -> Array:
        """Return what each row of the hits adds, shape (n,)."""
        raise MeasureError(f"{self.name} does not define the terms of its sum")

    def norm(self, block: Block, k: int) -> Array | None:
        """Return what each user's sum is divided by, shape (U,); None: nothing."""
        return None

    def scale(self, k: Array) -> Array:
        """Return what all users' sums are divided by, for a cut-off or an array of them."""
        return 1.0

    @property
    def norm_is_settled(self) -> bool:
        """Whether the norm changes no more once k exceeds the number of relevant items."""
        return True

    def values(self, block: Block, k: Cutoffs) -> list[Array]:
        """Return the values at every cut-off, each of shape (U,)."""
        sums = block.sum_hits_at(self.terms(block), k)
        ratios = (self.ratio(block, *one) for one in zip(sums, k, strict=True))
        return [divide(above, below) for above, below in ratios]

    def ratio(self, block: Block, sums: Array, k: int) -> tuple[Array, Array]:
        """Return numerator and denominator of every user's value, shape (U,) both."""
        norm, scale = self.norm(block, k), self.scale(k)
        if norm is None:
            return sums, block.xp.full((block.n_users,), float(scale), dtype=block.xp.float64)
        return sums, norm * scale


class HitSum(Weightable, RunningSum):
    """A running sum in which each relevant item has a term of its own, that can be weighted.

    Terms are multiplied by ``block.hits.probability``, which holds the weight of each hit and,
    where scores tie, the probability that a relevant item has the rank.
    """
