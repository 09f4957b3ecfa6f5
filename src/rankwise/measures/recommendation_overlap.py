"""Rank-biased overlap: how much two rankings agree, with most weight at the top."""

from __future__ import annotations

from typing import Literal

import numpy as np

from rankwise import functional as plain
from rankwise.core.arrays import Array, bincount, namespace
from rankwise.core.block import Block
from rankwise.measures.arithmetic import check_parameter, or_nan
from rankwise.measures.kinds import PerUser
from rankwise.measures.measure import measure

__all__ = ["RankBiasedOverlap"]


@measure("rbo", "rank_biased_overlap", range=(0, 1), higher_is_better=None, family="hygiene", plain=plain.rbo_at_k)
class RankBiasedOverlap(PerUser):
    r"""Rank-biased overlap of the top k with the baseline's top k.

    .. math:: (1 - p) \left(\sum_{d=1}^{l} p^{d - 1} \frac{X_d}{d}
              + \sum_{d=s+1}^{l} p^{d - 1} \frac{X_s (d - s)}{s d}\right)
              + p^l \left(\frac{X_l - X_s}{l} + \frac{X_s}{s}\right)

    :math:`X_d` items are in the top d of both lists; :math:`l` is the length of the longer list,
    :math:`s` that of the shorter, both cut at k. Users without a baseline list have no value. Range
    [0, 1]; 1 for equal lists; neither direction counts as better. Needs ``baseline``.

    Parameters
    ----------
    p : float, default=0.9
        The persistence of the reader, in (0, 1): the first :math:`1 / (1 - p)` ranks weigh most.
    form : {"extrapolated", "lower"}, default="extrapolated"
        ``"extrapolated"`` is the formula above (equation 32 of the paper), which assumes that both
        lists continue to agree as they do at their ends. ``"lower"`` is the first sum alone, times
        :math:`1 - p`: a lower bound for all continuations of the lists.

    References
    ----------
    Webber, Moffat & Zobel 2010, A Similarity Measure for Indefinite Rankings, ACM TOIS 28(4).

    Examples
    --------
    >>> import rankwise as rw
    >>> name, other = "rbo(p=0.5,form=lower)@2", {"ann": [2, 1, 3]}
    >>> rw.evaluate({"ann": [1, 2]}, {"ann": {1}}, name, baseline=other)[name]
    0.25
    """

    inputs = ("overlap_baseline",)
    defined_for = "list"
    p: float = 0.9
    form: Literal["extrapolated", "lower"] = "extrapolated"

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        check_parameter(self, "p", 0 < self.p < 1, "must lie between 0 and 1")

    def value(self, block: Block, k: int) -> Array:
        """Return rank-biased overlap, shape (U,)."""
        xp, overlap, p = block.xp, block.overlap_baseline, float(self.p)
        ours, theirs = block.top_length(k), xp.clip(overlap.length, max=k)
        short, longer = xp.minimum(ours, theirs), xp.maximum(ours, theirs)
        # An item that is in both top d from depth m on adds p^(d-1) / d at each depth from m to l.
        depth = xp.maximum(overlap.rank, overlap.rank_there)
        last = xp.take(longer, overlap.user)
        weights = _geometric_over_depth(block, longer, p)
        start = xp.clip(depth, max=last + 1) - 1  # nothing if it is not in both within k
        added = xp.clip(xp.take(weights, last) - xp.take(weights, start), min=0.0)
        lower = (1.0 - p) * _sum(block, overlap.user, added)
        defined = short > 0
        if self.form == "lower":
            return or_nan(lower, defined)
        s, n = (xp.astype(xp.clip(x, min=1), xp.float64) for x in (short, longer))
        at_short = _sum(block, overlap.user, depth <= xp.take(short, overlap.user))
        at_end = _sum(block, overlap.user, depth <= last)
        # Below its end the shorter list agrees as at its end: the sum of p^(d-1) (d - s) / d.
        steps = p**s * (1.0 - p ** (n - s)) / (1.0 - p)
        between = steps - s * (xp.take(weights, longer) - xp.take(weights, short))
        continued = (1.0 - p) * at_short / s * between
        return or_nan(lower + continued + ((at_end - at_short) / n + at_short / s) * p**n, defined)


def _geometric_over_depth(block: Block, longer: Array, p: float) -> Array:
    """Return the running sum of p^(d-1) / d, from 0 at depth 0 to the longest list."""
    xp = block.xp
    deepest = int(xp.max(longer)) if block.n_users else 0
    depth = np.arange(1, deepest + 1)
    sums = np.concatenate([[0.0], np.cumsum(p ** (depth - 1.0) / depth)])
    return namespace(longer).asarray(sums, dtype=xp.float64)


def _sum(block: Block, user: Array, values: Array) -> Array:
    return bincount(user, block.xp.astype(values, block.xp.float64), block.n_users)
