r"""List hygiene: defects and descriptions of recommendation lists that no relevance enters.

Notation: :math:`L_u` is the recommendation list of user u, :math:`L_u^k` its top k. Most values are
means over users with a list.
"""

from __future__ import annotations

import math
from typing import Literal

from rankwise import functional as plain
from rankwise.core.arrays import Array
from rankwise.core.block import Block
from rankwise.core.facts import POPULARITY
from rankwise.measures.arithmetic import divide, need_cutoff, retrieved, shared_with_baseline
from rankwise.measures.kinds import PerUser
from rankwise.measures.measure import measure

__all__ = ["ColdItemShare", "DuplicateRate", "MeanScore", "Overlap", "Repeated", "Unsatisfied"]


class _OfList(PerUser):
    defined_for = "list"


@measure("duplicate_rate", range=(0, 1), higher_is_better=False, cutoff="none", plain=plain.duplicate_rate)
class DuplicateRate(_OfList):
    r"""Share of the recommendation list that repeats an item from a higher rank.

    .. math:: \frac{\text{rows that repeat an item}}{\text{rows of the list}}

    The mean over users with a list. Range [0, 1]; lower is better. Needs ``duplicates="first"``: by
    default, a repeated item raises an error.

    References
    ----------
    Tamm, Damdinov & Vasilev 2021, Quality Metrics in Recommender Systems: Do We Calculate Metrics
    Consistently?, RecSys (the effect of duplicates on other measures).

    Examples
    --------
    >>> import rankwise as rw
    >>> result = rw.evaluate({"ann": [1, 2, 1, 1]}, {"ann": {2}}, "duplicate_rate",
    ...                      duplicates="first")
    >>> result["duplicate_rate"]
    0.5
    """

    def value(self, block: Block, k: int) -> Array:
        """Return the share of duplicates, shape (U,)."""
        xp = block.xp
        n_dropped = xp.astype(block.n_dropped, xp.float64)
        return divide(n_dropped, n_dropped + xp.astype(block.list_length, xp.float64))


@measure("unsatisfied", range=(0, math.inf), higher_is_better=False, cutoff="required", plain=plain.unsatisfied_at_k)
class Unsatisfied(PerUser):
    r"""Number of users whose recommendation list has fewer than k items.

    .. math:: |\{u : |L_u| < k\}|

    :math:`L_u` is the recommendation list of user u; users without a list count. Range [0, number
    of users]; lower is better.

    Parameters
    ----------
    as_share : bool, default=False
        Return the share of the evaluated users instead of their number, in [0, 1].

    References
    ----------
    Anelli et al. 2021, Elliot: a Comprehensive and Rigorous Framework, SIGIR (its complement).

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": [1, 3], "bob": [2]}, {"ann": {1}, "bob": {2}}, "unsatisfied@2")[
    ...     "unsatisfied@2"]
    1.0
    """

    defined_for = "user"
    reads_truth = False
    as_share: bool = False

    @property
    def aggregate(self) -> Literal["mean", "sum"]:
        """The mean is the share of users, the sum their number."""
        return "mean" if self.as_share else "sum"

    def value(self, block: Block, k: int) -> Array:
        """Return 1 for users with fewer than k items, else 0, shape (U,)."""
        return block.xp.astype(block.list_length < k, block.xp.float64)


@measure("repeated", range=(0, 1), higher_is_better=False, plain=plain.repeated_at_k)
class Repeated(_OfList):
    r"""Share of the top k that is in the user's training history.

    .. math:: |L_u^k \cap H_u| / |L_u^k|

    :math:`L_u^k` is the top k of the recommendation list of user u, :math:`H_u` the user's training
    history. The mean over users with a list. Range [0, 1]; lower is better unless repeated
    consumption is wanted. Needs ``train``.

    References
    ----------
    Anderson et al. 2014, The Dynamics of Repeat Consumption, WWW (repeats as a goal).

    Examples
    --------
    >>> import rankwise as rw
    >>> train = {"ann": [1, 7]}
    >>> rw.evaluate({"ann": [1, 2]}, {"ann": {2}}, "repeated@2", train=train)["repeated@2"]
    0.5
    """

    inputs = ("overlap_history",)

    def value(self, block: Block, k: int) -> Array:
        """Return the share of seen items, shape (U,)."""
        return divide(block.count_overlap(block.overlap_history, k), retrieved(block, k))


@measure("cold_item_share", range=(0, 1), higher_is_better=None, plain=plain.cold_item_share_at_k)
class ColdItemShare(_OfList):
    r"""Share of cold-start items in the top k: items without training interactions.

    .. math:: |\{i \in L_u^k : n_i = 0\}| / |L_u^k|

    :math:`L_u^k` is the top k of the recommendation list of user u, :math:`n_i` the number of
    training users of item i. The mean over users with a list. Range [0, 1]; neither direction
    counts as better. Needs ``train``.

    References
    ----------
    Schein et al. 2002, Methods and Metrics for Cold-Start Recommendations, SIGIR.

    Examples
    --------
    >>> import rankwise as rw
    >>> name, train = "cold_item_share@2", {"ann": [1, 7]}
    >>> rw.evaluate({"ann": [1, 2]}, {"ann": {2}}, name, train=train)[name]
    0.5
    """

    inputs = ("recommended", POPULARITY)

    def value(self, block: Block, k: int) -> Array:
        """Return the share of cold-start items, shape (U,)."""
        cold, xp = block[POPULARITY].count == 0, block.xp
        is_cold = xp.astype(xp.take(cold, block.recommended.item), xp.float64)
        return divide(block.sum_recommended(is_cold, k), retrieved(block, k))


@measure("overlap", range=(0, 1), higher_is_better=None, plain=plain.overlap_at_k)
class Overlap(_OfList):
    r"""Share of the top k that is also in the baseline's top k.

    .. math:: |L_u^k \cap B_u^k| / |L_u^k|

    :math:`L_u^k` is the top k of the recommendation list of user u, :math:`B_u^k` the top k of the
    user's list in ``baseline``, the recommendations of another run. The mean over users with both
    lists. Range [0, 1]; neither direction counts as better. Equal to 1 minus ``unexpectedness``.
    Needs ``baseline``.

    Parameters
    ----------
    denominator : {"length", "k", "union"}, default="length"
        The divisor: the number of items in the top k, k, or the number of items in at least one of
        the two (``"union"``, the Jaccard index).

    References
    ----------
    Jaccard 1901, Étude comparative de la distribution florale (the union); for lists: Webber,
    Moffat & Zobel 2010, A Similarity Measure for Indefinite Rankings, ACM TOIS 28(4).

    Examples
    --------
    >>> import rankwise as rw
    >>> name, other = "overlap@2", {"ann": [2, 1, 3]}
    >>> rw.evaluate({"ann": [1, 5]}, {"ann": {1}}, name, baseline=other)[name]
    0.5
    """

    inputs = ("overlap_baseline",)
    denominator: Literal["length", "k", "union"] = "length"

    def require_cutoff(self) -> None:
        """Raise if the sum is divided by k and there is no k."""
        need_cutoff(self, where=self.denominator == "k", setting="denominator=k")

    def value(self, block: Block, k: int) -> Array:
        """Return the share of common items, shape (U,)."""
        return shared_with_baseline(block, k, self.denominator)


@measure("mean_score", range=(-math.inf, math.inf), higher_is_better=None, plain=plain.mean_score_at_k)
class MeanScore(_OfList):
    r"""Mean predicted score of the items in the top k.

    .. math:: \frac{1}{|L_u^k|} \sum_{i \in L_u^k} s_{ui}

    :math:`L_u^k` is the top k of the recommendation list of user u, :math:`s_{ui}` the score of
    item i. The mean over users with a list. Range (-inf, inf), in the unit of the scores; neither
    direction counts as better. Needs recommendations with scores.

    References
    ----------
    Deldjoo et al. 2021, A Flexible Framework for Evaluating User and Item Fairness in Recommender
    Systems, UMUAI 31.

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": {1: 5.0, 2: 3.0}}, {"ann": {1}}, "mean_score@2")["mean_score@2"]
    4.0
    """

    inputs = ("recommended", "scores")

    def value(self, block: Block, k: int) -> Array:
        """Return the mean score, shape (U,)."""
        return divide(block.sum_recommended(block.recommended.score, k), retrieved(block, k))
