"""Coverage, list hygiene and rank-biased overlap: metrics of lists that no relevance enters.

Notation: :math:`L_u` is the recommendation list of user u, :math:`L_u^k` its top k, :math:`I` the
catalogue.

List hygiene: defects and descriptions of recommendation lists that no relevance enters.

Notation: :math:`L_u` is the recommendation list of user u, :math:`L_u^k` its top k. Most values are
means over users with a list.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from rankwise import functional as plain
from rankwise.blocks.block import IN_CATALOGUE, POPULARITY, Block
from rankwise.core.arrays import Array, bincount, namespace
from rankwise.metrics.arithmetic import (
    BETWEEN_0_AND_1,
    NOT_NEGATIVE,
    divide,
    geometric_discount,
    mean_of_top,
    n_in_top,
    need_cutoff,
    or_nan,
    shared_with_reference,
)
from rankwise.metrics.base import metric
from rankwise.metrics.kinds import Catalogue, PerUser
from rankwise.metrics.states import Floats

__all__ = [
    "CatalogCoverage",
    "ColdItemShare",
    "DuplicateRate",
    "ItemCoverage",
    "MeanScore",
    "NumRetrieved",
    "Overlap",
    "RankBiasedOverlap",
    "Repeated",
    "Unsatisfied",
    "UserCoverage",
    "UserCoverageAtN",
    "Validity",
]

WIDE = "the jackknife interval of distinct items is conservative: 1.3 to 1.7 times too wide"
"""The caveat of an interval that is too wide: no claim rests on it, so that short outputs leave it to long ones."""
"""Items that only one group of users has vary less than the jackknife takes them to."""


class _DistinctItems(Catalogue):
    """The number of items that are recommended at least once.

    References
    ----------
    Herlocker et al. 2004, Evaluating Collaborative Filtering Recommender Systems, ACM TOIS 22(1).
    """

    jackknife_caveat: ClassVar[str] = WIDE

    def value_from_counts(self, counts: Array, catalogue_size: int) -> float:
        """Return the number of items recommended at least once."""
        xp = namespace(counts)
        return float(xp.sum(xp.astype(counts > 0, xp.int64)))

    has_histogram = True

    def values_from_histograms(self, items: Array, catalogue_size: int) -> Floats:
        """Return the number of items with a positive count."""
        numbers: Floats = items[:, 1:].sum(axis=1).astype(np.float64)
        return numbers


@metric("item_coverage", range=(0, math.inf), higher_is_better=True, plain=plain.item_counts_at_k)
class ItemCoverage(_DistinctItems):
    r"""Number of distinct items in all users' top k.

    .. math:: |\bigcup_u L_u^k|

    :math:`L_u^k` is the top k of the recommendation list of user u. The value is at most the number
    of items.

    Notes
    -----
    Use it for the number of items that anyone is shown. Do not compare it at different numbers of
    users or different k. One random recommendation counts as much as a million.

    Examples
    --------
    >>> import rankwise as rw
    >>> recommendations = {0: [1, 2, 3], 1: [2, 3, 4], 2: [3, 4, 5]}
    >>> truth = {0: {1}, 1: {1}, 2: {1}}
    >>> rw.evaluate(recommendations, truth, "item_coverage@3")["item_coverage@3"]
    5.0
    """


@metric(
    "catalog_coverage",
    "coverage",
    "catalogue_coverage",
    range=(0, 1),
    higher_is_better=True,
    plain=plain.catalog_coverage,
)
class CatalogCoverage(_DistinctItems):
    r"""Share of the catalogue that is in at least one user's top k.

    .. math:: |\bigcup_u L_u^k| / |I|

    :math:`L_u^k` is the top k of the recommendation list of user u. The catalogue :math:`I` is
    ``items``, or by default all items seen. Recommended items outside ``items`` do not count; the
    result reports their number.

    Parameters
    ----------
    padding : int, default=0
        The number of never recommended items to add to the catalogue; 1 for RecBole's padding item.

    Notes
    -----
    Use it for the share of the catalogue that anyone is shown. Do not compare it at different
    numbers of users or different k: it grows with both. One random recommendation counts as much as
    a million.

    Examples
    --------
    >>> import rankwise as rw
    >>> recommendations = {0: [1, 2, 3], 1: [2, 3, 4], 2: [3, 4, 5]}
    >>> truth = {0: {1}, 1: {1}, 2: {1}}
    >>> result = rw.evaluate(recommendations, truth, "coverage@3", items=range(100))
    >>> result["coverage@3"]
    0.05
    """

    padding: Annotated[int, NOT_NEGATIVE] = 0

    def value_from_counts(self, counts: Array, catalogue_size: int) -> float:
        """Return the share of items recommended at least once."""
        return super().value_from_counts(counts, catalogue_size) / (catalogue_size + self.padding)

    def values_from_histograms(self, items: Array, catalogue_size: int) -> Floats:
        """Return the share of items with a positive count."""
        return super().values_from_histograms(items, catalogue_size) / (
            catalogue_size + self.padding
        )


class _OfAllUsers(PerUser):
    """A value of all users' lists, also of empty ones.

    References
    ----------
    Anelli et al. 2021, Elliot: a Comprehensive and Rigorous Framework, SIGIR.
    """

    defined_for = "user"
    reads_truth = False


@dataclass(frozen=True, kw_only=True, repr=False)
class _UserCount(_OfAllUsers):
    """The number of users whose list meets a condition, 1 or 0 for each user.

    Parameters
    ----------
    as_share : bool, default=False
        Return the share of the evaluated users instead of their number, in [0, 1].
    """

    as_share: bool = False

    @property
    def aggregate(self) -> Literal["mean", "sum"]:
        """The mean is the share of users, the sum their number."""
        return "mean" if self.as_share else "sum"


@metric("user_coverage", range=(0, math.inf), higher_is_better=True, plain=plain.user_coverage_at_k)
class UserCoverage(_UserCount):
    r"""Number of users with at least one item in their top k.

    .. math:: |\{u : L_u^k \neq \emptyset\}|

    :math:`L_u^k` is the top k of the recommendation list of user u. The value is at most the number
    of users.

    Notes
    -----
    Use it to see how many users get any recommendation, such as new ones. Do not use it alone: a
    list of one random item counts.

    Examples
    --------
    >>> import rankwise as rw
    >>> truth = {"ann": {1}, "bob": {2}}
    >>> rw.evaluate({"ann": [1, 3]}, truth, "user_coverage@2")["user_coverage@2"]
    1.0
    """

    def value(self, block: Block, k: int) -> Array:
        """Return 1 for users with a recommendation list, else 0, shape (U,)."""
        return block.xp.astype(block.list_length > 0, block.xp.float64)


@metric("num_retrieved", range=(0, math.inf), higher_is_better=True, plain=plain.num_retrieved_at_k)
class NumRetrieved(_OfAllUsers):
    r"""Mean number of items in the users' top k.

    .. math:: \min(k, |L_u|)

    :math:`L_u` is the recommendation list of user u. The mean over all evaluated users; a user
    without a list counts 0.

    Parameters
    ----------
    total : bool, default=False
        Return the sum over users instead of their mean (trec_eval's ``num_ret``).
    as_share : bool, default=False
        Divide the number by k, which must be given.

    Notes
    -----
    Use it to see whether lists are as long as they should be. Do not use it as quality: any model
    can fill its lists.

    Examples
    --------
    >>> import rankwise as rw
    >>> truth = {"ann": {1}, "bob": {2}}
    >>> rw.evaluate({"ann": [1, 3], "bob": [2]}, truth, "num_retrieved@2")["num_retrieved@2"]
    1.5
    """

    total: bool = False
    as_share: bool = False

    def require_cutoff(self) -> None:
        """Raise if the number is divided by k and there is no k."""
        need_cutoff(self, where=self.as_share, setting="as_share=true")

    @property
    def aggregate(self) -> Literal["mean", "sum"]:
        """The mean over users, or their sum."""
        return "sum" if self.total else "mean"

    def value(self, block: Block, k: int) -> Array:
        """Return the number of items in the top k, shape (U,)."""
        return n_in_top(block, k) / (k if self.as_share else 1)


@metric(
    "user_coverage_at_n",
    range=(0, math.inf),
    higher_is_better=True,
    cutoff="required",
    plain=plain.user_coverage_at_n,
)
class UserCoverageAtN(_OfAllUsers):
    r"""Number of users whose recommendation list has at least k items.

    .. math:: |\{u : |L_u| \ge k\}|

    :math:`L_u` is the recommendation list of user u. The value is at most the number of users.

    Notes
    -----
    Use it to see how many users get a complete list of k items. Do not use it alone: a list of k
    random items counts.

    Examples
    --------
    >>> import rankwise as rw
    >>> result = rw.evaluate({1: [1, 3], 2: [2]}, {1: {1}, 2: {2}}, "user_coverage_at_n@2")
    >>> result["user_coverage_at_n@2"]
    1.0
    """

    aggregate = "sum"

    def value(self, block: Block, k: int) -> Array:
        """Return 1 for users with at least k items, else 0, shape (U,)."""
        return block.xp.astype(block.list_length >= k, block.xp.float64)


class _OfList(PerUser):
    defined_for = "list"


@metric(
    "duplicate_rate",
    range=(0, 1),
    higher_is_better=False,
    cutoff="none",
    plain=plain.duplicate_rate,
    family="hygiene",
)
class DuplicateRate(_OfList):
    r"""Share of the recommendation list that repeats an item from a higher rank.

    .. math:: \frac{\text{rows that repeat an item}}{\text{rows of the list}}

    Needs ``duplicates="first"``: by default, a repeated item raises an error.

    Notes
    -----
    Use it to check lists of a system that may repeat items. Do not use it without
    ``duplicates="first"``: a repeated item is an error by default.

    References
    ----------
    Tamm, Damdinov & Vasilev 2021, Quality Metrics in Recommender Systems: Do We Calculate Metrics
    Consistently?, RecSys (the effect of duplicates on other metrics).

    Examples
    --------
    >>> import rankwise as rw
    >>> result = rw.evaluate({"ann": [1, 2, 1, 1]}, {"ann": {2}}, "duplicate_rate",
    ...                      duplicates="first")
    >>> result["duplicate_rate"]
    0.5
    """

    inputs = ("recommended",)  # it describes the rows of a list, of which none may be a placeholder

    def value(self, block: Block, k: int) -> Array:
        """Return the share of duplicates, shape (U,)."""
        xp = block.xp
        n_dropped = xp.astype(block.n_dropped, xp.float64)
        return divide(n_dropped, n_dropped + xp.astype(block.list_length, xp.float64))


@metric(
    "unsatisfied",
    range=(0, math.inf),
    higher_is_better=False,
    cutoff="required",
    plain=plain.unsatisfied_at_k,
    family="hygiene",
)
class Unsatisfied(_UserCount):
    r"""Number of users whose recommendation list has fewer than k items.

    .. math:: |\{u : |L_u| < k\}|

    :math:`L_u` is the recommendation list of user u; users without a list count. The value is at
    most the number of users.

    Notes
    -----
    Use it to find users without a complete list. Do not use it as quality: any model can fill its
    lists.

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

    def value(self, block: Block, k: int) -> Array:
        """Return 1 for users with fewer than k items, else 0, shape (U,)."""
        return block.xp.astype(block.list_length < k, block.xp.float64)


@metric(
    "repeated", range=(0, 1), higher_is_better=False, plain=plain.repeated_at_k, family="hygiene"
)
class Repeated(_OfList):
    r"""Share of the top k that is in the user's training history.

    .. math:: |L_u^k \cap H_u| / |L_u^k|

    :math:`L_u^k` is the top k of the recommendation list of user u, :math:`H_u` the user's training
    history. Repeats count as a defect, which they are not where repeated consumption is a goal.
    Needs ``train``.

    Notes
    -----
    Use it to find seen items in lists that should be new to the user. Do not use it where repeated
    consumption is a goal, such as music or groceries.

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
        return divide(block.count_overlap(block.overlap_history, k), n_in_top(block, k))


@metric(
    "cold_item_share",
    range=(0, 1),
    higher_is_better=None,
    plain=plain.cold_item_share_at_k,
    family="hygiene",
)
class ColdItemShare(_OfList):
    r"""Share of cold-start items in the top k: items without training interactions.

    .. math:: |\{i \in L_u^k : n_i = 0\}| / |L_u^k|

    :math:`L_u^k` is the top k of the recommendation list of user u, :math:`n_i` the number of
    training users of item i. Needs ``train``.

    Notes
    -----
    Use it to see whether new items are recommended at all. Do not use it as quality: a model may be
    right to leave them out, or unable to recommend them.

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
        return mean_of_top(block, is_cold, k)


@metric(
    "validity", range=(0, 1), higher_is_better=True, plain=plain.validity_at_k, family="hygiene"
)
class Validity(_OfList):
    r"""Share of the top k that is in the catalogue; the others are invented or outdated ids.

    .. math:: |L_u^k \cap C| / |L_u^k|

    :math:`L_u^k` is the top k of the recommendation list of user u, C the items of ``items``.
    Generative models decode ids that no item has; other metrics count them as items that nobody
    likes. Needs ``items``.

    Notes
    -----
    Use it to find invented or outdated ids, such as those of generative models. Do not use it
    without the complete catalogue as ``items``: missing items count as invalid.

    References
    ----------
    Rajput et al. 2023, Recommender Systems with Generative Retrieval, NeurIPS: invalid ids.

    Examples
    --------
    >>> import rankwise as rw
    >>> lists = {"ann": ["heat", "heat (1996)", "alien"]}
    >>> result = rw.evaluate(lists, {"ann": {"alien"}}, "validity@2", items=["heat", "alien", "jaws"])
    >>> result["validity@2"]
    0.5
    """

    inputs = ("recommended", IN_CATALOGUE)

    def value(self, block: Block, k: int) -> Array:
        """Return the share of items of the catalogue, shape (U,)."""
        inside, xp = block[IN_CATALOGUE].inside, block.xp
        is_valid = xp.astype(xp.take(inside, block.recommended.item), xp.float64)
        return mean_of_top(block, is_valid, k)


@metric("overlap", range=(0, 1), higher_is_better=None, plain=plain.overlap_at_k, family="hygiene")
class Overlap(_OfList):
    r"""Share of the top k that is also in the top k of a reference list.

    .. math:: |L_u^k \cap B_u^k| / |L_u^k|

    :math:`L_u^k` is the top k of the recommendation list of user u, :math:`B_u^k` the top k of the
    user's list in ``reference``, the recommendation lists of another system. Users without a
    reference list have no value. Equal to 1 minus ``unexpectedness``. Needs ``reference``.

    Parameters
    ----------
    denominator : {"length", "k", "union"}, default="length"
        The divisor: the number of items in the top k, k, or the number of items in at least one of
        the two (``"union"``, the Jaccard index).

    Notes
    -----
    Use it for how alike two systems are at the top, such as before and after a change. Do not use
    it as quality, or where the order matters (``rbo``).

    References
    ----------
    Jaccard 1901, Étude comparative de la distribution florale (the union); for lists: Webber,
    Moffat & Zobel 2010, A Similarity Measure for Indefinite Rankings, ACM TOIS 28(4).

    Examples
    --------
    >>> import rankwise as rw
    >>> name, other = "overlap@2", {"ann": [2, 1, 3]}
    >>> rw.evaluate({"ann": [1, 5]}, {"ann": {1}}, name, reference=other)[name]
    0.5
    """

    inputs = ("overlap_reference",)
    denominator: Literal["length", "k", "union"] = "length"

    def require_cutoff(self) -> None:
        """Raise if the sum is divided by k and there is no k."""
        need_cutoff(self, where=self.denominator == "k", setting="denominator=k")

    def value(self, block: Block, k: int) -> Array:
        """Return the share of common items, shape (U,)."""
        return shared_with_reference(block, k, self.denominator)


@metric(
    "mean_score",
    range=(-math.inf, math.inf),
    higher_is_better=None,
    plain=plain.mean_score_at_k,
    family="hygiene",
)
class MeanScore(_OfList):
    r"""Mean predicted score of the items in the top k.

    .. math:: \frac{1}{|L_u^k|} \sum_{i \in L_u^k} s_{ui}

    :math:`L_u^k` is the top k of the recommendation list of user u, :math:`s_{ui}` the score of
    item i. The value is in the unit of the scores. Needs recommendations with scores.

    Notes
    -----
    Use it to check the scale of scores, and whether it drifts. Do not use it as quality: scores are
    predictions, not outcomes.

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
        return mean_of_top(block, block.recommended.score, k)


@metric(
    "rbo",
    "rank_biased_overlap",
    range=(0, 1),
    higher_is_better=None,
    family="hygiene",
    plain=plain.rbo_at_k,
)
class RankBiasedOverlap(PerUser):
    r"""Rank-biased overlap of the top k with the top k of a reference list.

    .. math:: (1 - p) \left(\sum_{d=1}^{l} p^{d - 1} \frac{X_d}{d}
              + \sum_{d=s+1}^{l} p^{d - 1} \frac{X_s (d - s)}{s d}\right)
              + p^l \left(\frac{X_l - X_s}{l} + \frac{X_s}{s}\right)

    :math:`X_d` items are in the top d of both lists; :math:`l` is the length of the longer list,
    :math:`s` that of the shorter, both cut at k. Users without a reference list have no value.
    Equal lists score 1. Needs ``reference``.

    Parameters
    ----------
    p : float, default=0.9
        The persistence of the reader, in (0, 1): the first :math:`1 / (1 - p)` ranks weigh most.
    form : {"extrapolated", "lower"}, default="extrapolated"
        ``"extrapolated"`` is the formula above (equation 32 of the paper), which assumes that both
        lists continue to agree as they do at their ends. ``"lower"`` is the first sum alone, times
        :math:`1 - p`: a lower bound for all continuations of the lists.

    Notes
    -----
    Use it for how alike two rankings are, the first ranks most. Do not use it as quality. Do not
    compare values of different ``p``.

    References
    ----------
    Webber, Moffat & Zobel 2010, A Similarity Measure for Indefinite Rankings, ACM TOIS 28(4).

    Examples
    --------
    >>> import rankwise as rw
    >>> name, other = "rbo(p=0.5,form=lower)@2", {"ann": [2, 1, 3]}
    >>> rw.evaluate({"ann": [1, 2]}, {"ann": {1}}, name, reference=other)[name]
    0.25
    """

    inputs = ("overlap_reference",)
    defined_for = "list"
    p: Annotated[float, BETWEEN_0_AND_1] = 0.9
    form: Literal["extrapolated", "lower"] = "extrapolated"

    def value(self, block: Block, k: int) -> Array:
        """Return rank-biased overlap, shape (U,)."""
        xp, overlap, p = block.xp, block.overlap_reference, float(self.p)
        length, reference = block.top_length(k), xp.clip(overlap.length, max=k)
        short, longer = xp.minimum(length, reference), xp.maximum(length, reference)
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
    sums = np.concatenate([[0.0], np.cumsum(geometric_discount(depth, p) / depth)])
    return namespace(longer).asarray(sums, dtype=xp.float64)


def _sum(block: Block, user: Array, values: Array) -> Array:
    return bincount(user, block.xp.astype(values, block.xp.float64), block.n_users)
