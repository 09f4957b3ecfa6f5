r"""Diversity over all users: how evenly recommendations are spread over items.

Notation: :math:`L_u^k` is the top k of user u's recommendation list, :math:`c_j` the number of
users with item j in their top k.
"""

from __future__ import annotations

import math
from typing import ClassVar, Literal

import numpy as np

from rankwise import functional as plain
from rankwise.core.arrays import Array, namespace
from rankwise.core.block import Block
from rankwise.core.row_sets import Needs
from rankwise.measures.arithmetic import check_parameter, discount
from rankwise.measures.input_kinds import Input
from rankwise.measures.item_sums import CatalogueSums, ItemSum, ItemTerms, RecommendationCount
from rankwise.measures.kinds import Accumulated, Catalogue, Values
from rankwise.measures.measure import measure

__all__ = ["Gini", "Herfindahl", "Personalization", "ShannonEntropy"]


class _DiscountedExposure(ItemSum):
    """The discounts of the ranks at which each item is recommended, in the top k."""

    name: ClassVar[str] = "exposure(log)"
    needs: ClassVar[Needs] = frozenset({"recommended"})
    whole: ClassVar[bool] = False

    def rows(self, block: Block, k: int) -> ItemTerms:
        """Return the discount of each row of the top k."""
        rows = block.recommended
        return ItemTerms(rows.user, rows.item, discount(rows.rank), rows.rank <= k)


@measure("gini", "gini_index", range=(0, 1), higher_is_better=False, plain=plain.gini_coefficient)
class Gini(Catalogue):
    r"""Gini index of the items' recommendation counts: 0 if all are equal, 1 for a single item.

    .. math:: \frac{\sum_{j=1}^{n} (2j - n - 1)\, c_j}{m \sum_j c_j}

    :math:`c_j` is the number of users with an item in the top k, in ascending order over n items;
    m is n - 1 by default. Range [0, 1]; lower is more equal. The catalogue is ``items``, or by
    default all items seen. NaN if nothing was recommended.

    Parameters
    ----------
    over : {"catalogue", "recommended"}, default="catalogue"
        ``"catalogue"``: all n items of the catalogue, those never recommended with a count of 0,
        and m = n - 1. ``"recommended"``: only items recommended at least once, and m = n.
    corrected : bool, default=True
        Whether m = n - 1 over the catalogue: the value is then 1 if only one item is recommended.
        With false, m = n, and the value is then 1 - 1/n.
    padding : int, default=0
        The number of never recommended items to add to the catalogue; 1 for RecBole's padding item.
    exposure : {"count", "log"}, default="count"
        What a recommendation at rank i adds to :math:`c_j`: 1, or :math:`1 / \log_2(i + 1)`, which
        gives exposure at the top of lists more weight.

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
    exposure: Literal["count", "log"] = "count"
    corrected: bool = True
    padding: int = 0

    def __post_init__(self) -> None:
        """Check the padding."""
        super().__post_init__()
        check_parameter(self, "padding", self.padding >= 0, "must be 0 or more")

    @property
    def inputs(self) -> tuple[Input, ...]:
        """What is summed for each item."""
        return (RecommendationCount() if self.exposure == "count" else _DiscountedExposure(),)

    def of_items(self, items: CatalogueSums, k: int) -> Values:
        """Return the Gini index of the exposure of items."""
        (exposure,) = self.reads.item_sums
        return Values(self.of_counts(items.sum(exposure, k), items.size))

    def of_counts(self, counts: Array, catalogue_size: int) -> float:
        """Return the Gini index; NaN if nothing was recommended."""
        xp = namespace(counts)
        ordered = xp.sort(counts[counts > 0])
        n_recommended = int(ordered.shape[0])
        n = n_recommended if self.over == "recommended" else catalogue_size + self.padding
        m = n - 1 if self.over == "catalogue" and self.corrected else n
        if not n_recommended:
            return math.nan
        if m == 0:
            return 0.0
        # Items never recommended come first and add nothing, so the others have the last positions.
        position = xp.arange(n - n_recommended + 1, n + 1, dtype=xp.int64)
        if self.exposure == "log":
            weighted = float(xp.sum((2 * position - n - 1) * ordered))
            return weighted / (m * float(xp.sum(ordered)))
        # Sums of whole numbers up to the division: the order of items cannot matter.
        weighted = int(xp.sum((2 * position - n - 1) * xp.astype(ordered, xp.int64)))
        return weighted / (m * int(xp.sum(ordered)))


@measure("herfindahl", "hhi", "herfindahl_index", range=(0, 1), higher_is_better=False, plain=plain.herfindahl_index)
class Herfindahl(Catalogue):
    r"""Herfindahl index: probability that two random recommendations are of the same item.

    .. math:: \sum_j p_j^2, \quad p_j = c_j / \sum_i c_i

    :math:`c_j` is the number of users with item j in the top k. Range [1 / number of items, 1];
    lower is more even. NaN if nothing was recommended. Its inverse is the effective number of
    items: as many items with equal counts have the same index.

    References
    ----------
    Hirschman 1964, The Paternity of an Index, American Economic Review 54(5); Adomavicius & Kwon
    2012, Improving Aggregate Recommendation Diversity Using Ranking-Based Techniques, IEEE TKDE
    24(5).

    Examples
    --------
    >>> import rankwise as rw
    >>> lists, truth = {0: [1, 2], 1: [1, 3]}, {0: {1}, 1: {1}}
    >>> rw.evaluate(lists, truth, "herfindahl@2")["herfindahl@2"]
    0.375
    """

    def of_counts(self, counts: Array, catalogue_size: int) -> float:
        """Return the sum of squared shares; NaN if nothing was recommended."""
        xp = namespace(counts)
        total = int(xp.sum(xp.astype(counts, xp.int64)))
        if not total:
            return math.nan
        ordered = xp.sort(counts[counts > 0])  # the order of items cannot matter
        return float(xp.sum((xp.astype(ordered, xp.float64) / total) ** 2))


@measure("shannon_entropy", "entropy", range=(0, math.inf), higher_is_better=True, plain=plain.shannon_entropy)
class ShannonEntropy(Catalogue):
    r"""Shannon entropy of the distribution of recommendations over items.

    .. math:: -\sum_j p_j \log p_j, \quad p_j = c_j / \sum_i c_i

    :math:`c_j` is the number of users with item j in the top k. Range [0, log of the number of
    items]; higher is more even. NaN if nothing was recommended.

    Parameters
    ----------
    log_base : float or None, default=None
        The base of the logarithm, above 1; None is the natural logarithm (nats), 2 gives bits.
    normalised : bool, default=False
        Divide by the logarithm of the catalogue size, which gives a value in [0, 1].

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
        allowed = self.log_base is None or not self.log_base <= 1
        check_parameter(self, "log_base", allowed, "must be above 1")

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


class _UnitVectorSum(ItemSum):
    """The sum of the users' unit vectors: a top k of n items has 1 / sqrt(n) for each of them."""

    name: ClassVar[str] = "shares"
    needs: ClassVar[Needs] = frozenset({"recommended"})
    whole: ClassVar[bool] = False

    def rows(self, block: Block, k: int) -> ItemTerms:
        """Return the vector entry of each row of the top k."""
        rows = block.recommended
        xp = namespace(rows.rank)
        length = xp.astype(xp.clip(block.list_length, max=k), xp.float64)
        entry = 1.0 / xp.sqrt(xp.take(length, rows.user))
        return ItemTerms(rows.user, rows.item, entry, rows.rank <= k)


@measure(
    "personalization", "inter_list_diversity", range=(0, 1), higher_is_better=True, plain=plain.personalization_at_k
)
class Personalization(Accumulated):
    r"""Mean dissimilarity of two users' recommendation lists, over all pairs of users.

    .. math:: 1 - \frac{2}{U (U - 1)} \sum_{u < v}
              \frac{|L_u^k \cap L_v^k|}{\sqrt{|L_u^k| \, |L_v^k|}}

    :math:`L_u^k` is the top k of the recommendation list of user u, U the number of users with a
    list. This is 1 minus the mean cosine similarity; for lists of k items, the cosine is the number
    of common items over k. It is computed from sums over items, in linear time. Range [0, 1];
    higher is more personalised. NaN for fewer than two users with a list.

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

    inputs = (_UnitVectorSum(),)

    def of_items(self, items: CatalogueSums, k: int) -> Values:
        """Return 1 minus the mean cosine similarity."""
        n_users = items.n_listed
        if n_users < 2:
            return Values(math.nan)
        total = float(np.sum(np.sort(items.sum(_UnitVectorSum(), k) ** 2)))
        cosine = (total - n_users) / (n_users * (n_users - 1.0))
        return Values(min(max(1.0 - cosine, 0.0), 1.0))
