r"""Diversity: how evenly recommendations are spread over items.

:math:`c_j` is how often item j stands in a user's top k.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from rankwise.core.backend import namespace
from rankwise.errors import ParameterError
from rankwise.measures.kinds import Accumulated, Catalogue, Labelled
from rankwise.measures.measure import measure
from rankwise.measures.tallies import ItemSums, Tally

if TYPE_CHECKING:
    from rankwise.core.backend import Array
    from rankwise.core.block import Block
    from rankwise.core.engine import Needs

__all__ = ["Gini", "Personalization", "ShannonEntropy"]


@measure("gini", "gini_index", range=(0, 1), higher_is_better=False)
class Gini(Catalogue):
    r"""Gini index of how often items are recommended: 0 if all equally, 1 if only one.

    .. math:: \frac{\sum_{j=1}^{n} (2j - n - 1)\, c_j}{m \sum_j c_j}

    with counts in ascending order. Range [0, 1]; lower is more equal.

    Parameters
    ----------
    over : {"catalogue", "recommended"}
        ``"catalogue"``: all n items, those never recommended with a count of 0, and m = n - 1.
        ``"recommended"``: only items recommended at least once, and m = n.

    References
    ----------
    Fleder & Hosanagar 2009, Blockbuster Culture's Next Rise or Fall, Management Science 55(5).

    Examples
    --------
    >>> import rankwise as rw
    >>> recommendations = {0: [1, 2, 3], 1: [2, 3, 4], 2: [3, 4, 5]}
    >>> truth = {0: {1}, 1: {1}, 2: {1}}
    >>> measures = ["gini@3", "gini(over=recommended)@3"]
    >>> result = rw.evaluate(recommendations, truth, measures, items=range(100))
    >>> result["gini@3"], result["gini(over=recommended)@3"]
    (0.97082, 0.22222)
    """

    over: Literal["catalogue", "recommended"] = "catalogue"

    def of_counts(self, counts: Array, catalogue_size: int) -> float:
        """Return the index; NaN if nothing was recommended."""
        xp = namespace(counts)
        ordered = xp.sort(counts[counts > 0])
        shown = int(ordered.shape[0])
        n = shown if self.over == "recommended" else catalogue_size
        m = n if self.over == "recommended" else n - 1
        if not shown:
            return math.nan
        if m == 0:
            return 0.0
        # Items never shown come first and add nothing: the others have the last places. Whole
        # numbers all the way to the division, so the order of items cannot matter.
        place = xp.arange(n - shown + 1, n + 1, dtype=xp.int64)
        weighted = int(xp.sum((2 * place - n - 1) * xp.astype(ordered, xp.int64)))
        return weighted / (m * int(xp.sum(ordered)))


@measure("shannon_entropy", "entropy", range=(0, math.inf), higher_is_better=True)
class ShannonEntropy(Catalogue):
    r"""Shannon entropy of how recommendations are spread over items.

    .. math:: -\sum_j p_j \log p_j, \quad p_j = c_j / \sum_i c_i

    Range [0, log of the number of items]; higher is more even. In nats unless a base is given.

    Parameters
    ----------
    log_base : float or None
        The base of the logarithm; None: natural. 2 gives bits.
    normalised : bool
        Divide by the logarithm of the catalogue's size, which gives a value in [0, 1].

    References
    ----------
    Shannon 1948, A Mathematical Theory of Communication, Bell System Technical Journal 27.

    Examples
    --------
    >>> import rankwise as rw
    >>> recommendations = {0: [1, 2], 1: [3, 4]}
    >>> truth = {0: {1}, 1: {1}}
    >>> name = "entropy(log_base=2)@2"
    >>> rw.evaluate(recommendations, truth, name)[name]
    2.0
    """

    log_base: float | None = None
    normalised: bool = False

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        if self.log_base is not None and self.log_base <= 1:
            raise ParameterError(
                "shannon_entropy: log_base must be above 1", found=f"log_base={self.log_base}"
            )

    def of_counts(self, counts: Array, catalogue_size: int) -> float:
        """Return the entropy; NaN if nothing was recommended."""
        xp = namespace(counts)
        ordered = xp.astype(xp.sort(counts[counts > 0]), xp.float64)
        if not ordered.shape[0]:
            return math.nan
        share = ordered / xp.sum(ordered)
        nats = float(xp.sum(share * -xp.log(share)))
        if self.normalised:
            return nats / math.log(catalogue_size) if catalogue_size > 1 else 0.0
        return nats if self.log_base is None else nats / math.log(self.log_base)


class _Shares(Tally):
    """The entries of unit vectors: a list of n items has 1 / sqrt(n) for each of them."""

    name: ClassVar[str] = "shares"
    needs: ClassVar[Needs] = frozenset({"listed"})
    whole: ClassVar[bool] = False

    def rows(self, block: Block, k: int) -> tuple[Array, Array, Array | None]:
        """Return the rows of the lists."""
        listed = block.rows("listed")
        xp = namespace(listed.rank)
        near = listed.rank <= k
        length = xp.astype(xp.clip(block.list_length, max=k), xp.float64)
        user = listed.user[near]
        return user, listed.item[near], 1.0 / xp.sqrt(xp.take(length, user))


@measure("personalization", "inter_list_diversity", range=(0, 1), higher_is_better=True)
class Personalization(Accumulated):
    r"""How different the lists of two users are, on average over all pairs of users.

    .. math:: 1 - \frac{2}{U (U - 1)} \sum_{u < v}
              \frac{|L_u^k \cap L_v^k|}{\sqrt{|L_u^k| \, |L_v^k|}}

    The cosine of the two lists, which is the overlap over k where lists are full. Worked out from
    sums over items, in linear time. Range [0, 1]; higher is more personal. NaN for one user.

    References
    ----------
    Zhou et al. 2010, Solving the Apparent Diversity-Accuracy Dilemma of Recommender Systems,
    PNAS 107(10).

    Examples
    --------
    >>> import rankwise as rw
    >>> recommendations = {0: [1, 2], 1: [1, 3], 2: [1, 2]}
    >>> truth = {0: {1}, 1: {1}, 2: {1}}
    >>> rw.evaluate(recommendations, truth, "personalization@2")["personalization@2"]
    0.3333
    """

    needs_catalogue: ClassVar[Literal["", "counted", "whole"]] = "counted"

    @property
    def tallies(self) -> tuple[Tally, ...]:
        """The sum of all users' unit vectors."""
        return (_Shares(),)

    def of_items(self, items: ItemSums, k: int) -> Labelled:
        """Return one less the mean cosine."""
        users = items.n_listed
        if users < 2:
            return {"": math.nan}
        total = float(np.sum(np.sort(items.sum(_Shares(), k) ** 2)))
        overlap = (total - users) / (users * (users - 1.0))
        return {"": min(max(1.0 - overlap, 0.0), 1.0)}
