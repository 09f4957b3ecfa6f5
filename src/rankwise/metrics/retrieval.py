r"""Metrics of information retrieval as in trec_eval: judgements of a pool, gains, counts.

Notation: :math:`L_u^k` is the top k of the recommendation list of user u, :math:`R_u` the user's
relevant items. A ground truth row of grade 0 is judged not relevant; an item with a grade below 0
is in the pool, but not judged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from rankwise import functional as plain
from rankwise.blocks.block import JUDGED_ANYWHERE, Block
from rankwise.core.arrays import Array, bincount
from rankwise.errors import ParameterError
from rankwise.metrics.arithmetic import (
    ABOVE_0,
    BETWEEN_0_AND_1,
    NOT_NEGATIVE,
    Gain,
    divide,
    geometric_discount,
    n_in_top,
    or_nan,
    running_count,
)
from rankwise.metrics.base import metric, show_value
from rankwise.metrics.graded import check_gains
from rankwise.metrics.inputs import Input
from rankwise.metrics.kinds import PerUser, Pooled, Sums

__all__ = [
    "Grade",
    "Hole",
    "InferredAveragePrecision",
    "LogitAveragePrecision",
    "NDCGAtLevels",
    "NDCGAtRelevant",
    "NormalisedGain",
    "NumJudgedIrrelevant",
    "NumRelevant",
    "NumUsers",
    "RBPResidual",
    "Unjudged",
    "Utility",
]


class _Count(PerUser):
    """A number, summed over users.

    References
    ----------
    Buckley 1991, trec_eval, ``num_q``, ``num_rel`` and ``num_nonrel_judged_ret``.
    """

    defined_for = "user"
    aggregate = "sum"


@metric(
    "num_users",
    range=(0, math.inf),
    higher_is_better=None,
    cutoff="none",
    family="confusion",
    plain=plain.num_users,
)
class NumUsers(_Count):
    r"""Number of evaluated users.

    .. math:: \sum_u 1

    The population of the evaluation decides which users count.

    Notes
    -----
    Use it to state how many users a value is a mean of. Do not use it to compare systems: the
    ground truth and ``population=`` decide it.

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": [1, 3]}, {"ann": {1}, "bob": {3}}, "num_users")["num_users"]
    2.0
    """

    reads_truth = False

    def value(self, block: Block, k: int) -> Array:
        """Return 1 for every user, shape (U,)."""
        return block.xp.ones(block.n_users, dtype=block.xp.float64)


@metric(
    "num_relevant",
    range=(0, math.inf),
    higher_is_better=None,
    cutoff="none",
    family="confusion",
    plain=plain.num_relevant,
)
class NumRelevant(_Count):
    r"""Number of relevant items, recommended or not, over all users.

    .. math:: \sum_u |R_u|

    :math:`R_u` are the relevant items of user u.

    Notes
    -----
    Use it to describe the ground truth: how many relevant items there are. Do not use it to compare
    systems: it does not depend on the lists.

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": [1, 3, 5]}, {"ann": {1, 5, 10}}, "num_relevant")["num_relevant"]
    3.0
    """

    def value(self, block: Block, k: int) -> Array:
        """Return the number of relevant items, shape (U,)."""
        return block.xp.astype(block.n_relevant, block.xp.float64)


@metric(
    "num_judged_irrelevant",
    range=(0, math.inf),
    higher_is_better=False,
    family="confusion",
    plain=plain.num_judged_irrelevant_at_k,
)
class NumJudgedIrrelevant(_Count):
    r"""Number of recommended items that are judged not relevant, over all users.

    .. math:: \sum_u |\{i \in L_u^k \setminus R_u : g_{ui} \ge 0\}|

    :math:`L_u^k` is the top k of the recommendation list of user u, :math:`R_u` are the user's
    relevant items, :math:`g_{ui}` is the grade of item i. Items without a ground truth row do not
    count.

    Notes
    -----
    Use it to see how many recommendations are known to be wrong, not merely unjudged. Do not use it
    with positive feedback alone: it is 0 for every system.

    Examples
    --------
    >>> import rankwise as rw
    >>> name = "num_judged_irrelevant@3"
    >>> rw.evaluate({"ann": [1, 3, 5]}, {"ann": {1: 2, 3: 0}}, name)[name]
    1.0
    """

    inputs = ("judged",)

    def value(self, block: Block, k: int) -> Array:
        """Return the number of items that are judged not relevant, shape (U,)."""
        return block.sum_judged((1.0 - block.judged.relevant) * _is_judged(block), k)


def _is_judged(block: Block) -> Array:
    """Return 1 for rows of the pool that are judged: relevant, or of grade 0 or more."""
    rows, xp = block.judged, block.xp
    return xp.astype((rows.truth >= 0) | (rows.relevant > 0), xp.float64)


@metric(
    "unjudged",
    "unj",
    range=(0, 1),
    higher_is_better=None,
    cutoff="required",
    family="hygiene",
    plain=plain.unjudged_at_k,
)
class Unjudged(PerUser):
    r"""Number of items in the top k that are not judged, divided by k.

    .. math:: |L_u^k \setminus J_u| / k

    :math:`L_u^k` is the top k of the recommendation list of user u, :math:`J_u` are the user's
    judged items: those with a ground truth row of grade 0 or more. Where the share is high, the
    ground truth says little about the list.

    Notes
    -----
    Use it to see how little of the lists the ground truth knows, over k places. Do not use it as
    quality. Short lists have fewer unjudged items.

    References
    ----------
    Soboroff 2023, trec_eval 10, ``unj``.

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": [1, 2, 3, 4]}, {"ann": {1: 5, 2: 0}}, "unjudged@4")["unjudged@4"]
    0.5
    """

    inputs = ("judged",)
    defined_for = "list"
    reads_truth = True

    def value(self, block: Block, k: int) -> Array:
        """Return the share of k items, shape (U,)."""
        return (n_in_top(block, k) - block.sum_judged(_is_judged(block), k)) / k


@metric(
    "hole",
    range=(0, 1),
    higher_is_better=None,
    cutoff="required",
    family="hygiene",
    plain=plain.hole_at_k,
)
class Hole(PerUser):
    r"""Number of items in the top k that are judged for nobody, divided by k.

    .. math:: |L_u^k \setminus \bigcup_v J_v| / k

    :math:`L_u^k` is the top k of the recommendation list of user u, :math:`J_v` are the judged
    items of user v: those with a ground truth row. The union is over all users of the ground truth,
    evaluated or not. Needs the ground truth of all users at once.

    Notes
    -----
    Use it to see how much a system retrieves that no pool of judgements has seen, as new kinds of
    retrievers do. Do not use it as quality, or where ground truth is positive feedback: any item
    that somebody liked counts as judged.

    References
    ----------
    Thakur et al. 2021, BEIR: A Heterogeneous Benchmark for Zero-shot Evaluation of Information
    Retrieval Models, NeurIPS, ``Hole@k``.

    Examples
    --------
    >>> import rankwise as rw
    >>> truth = {"ann": {1: 1}, "bob": {2: 0, 5: 1}}
    >>> rw.evaluate({"ann": [1, 2, 3, 4], "bob": [5]}, truth, "hole@4").per_user["hole@4"].to_list()
    [0.5, 0.0]
    """

    inputs = ("recommended", JUDGED_ANYWHERE)
    defined_for = "list"
    reads_truth = True

    def value(self, block: Block, k: int) -> Array:
        """Return the share of k items, shape (U,)."""
        known = block.xp.take(block[JUDGED_ANYWHERE].inside, block.recommended.item)
        return block.sum_recommended(1.0 - block.xp.astype(known, block.xp.float64), k) / k


@metric(
    "grade",
    range=(-math.inf, math.inf),
    higher_is_better=True,
    cutoff="required",
    family="hygiene",
    plain=plain.grade_at_k,
)
class Grade(PerUser):
    r"""Relevance of the item at rank k, over users whose item there has a ground truth row.

    .. math:: g_{u i_k}

    :math:`g_{ui}` is the relevance of item i for user u, :math:`i_k` the item at rank k. Tied items
    are taken in order of item id. ``grade@[1,2,3]`` shows how relevance falls down the lists.

    Notes
    -----
    Use it to see how relevance falls down the lists, rank by rank. Do not use it where few items
    are judged: the mean is over users whose item at that rank is.

    References
    ----------
    Buckley 1991, trec_eval, ``relstring``.

    Examples
    --------
    >>> import rankwise as rw
    >>> truth = {"ann": {1: 2, 2: 0}, "bob": {2: 4}}
    >>> rw.evaluate({"ann": [1, 2], "bob": [2, 1]}, truth, "grade@1")["grade@1"]
    3.0
    """

    inputs = ("judged",)
    defined_for = "list"
    reads_truth = True

    def value(self, block: Block, k: int) -> Array:
        """Return the relevance of the item at rank k, NaN without one, shape (U,)."""
        rows, xp = block.judged, block.xp
        here = xp.astype(rows.rank == k, xp.float64)
        grade = bincount(rows.user, here * rows.truth, block.n_users)
        return or_nan(grade, bincount(rows.user, here, block.n_users) > 0)


@metric(
    "rbp_residual",
    "rbp_resid",
    range=(0, 1),
    higher_is_better=None,
    family="hygiene",
    plain=plain.rbp_residual,
)
class RBPResidual(PerUser):
    r"""Residual of rank-biased precision: its increase if all unjudged items were relevant.

    .. math:: 1 - (1 - p) \sum_{i \le k, \; i \in J_u} p^{i - 1}

    The sum is over the ranks i of judged items :math:`J_u`, those with a ground truth row of grade
    0 or more. It includes the tail below the list, or below k.

    Parameters
    ----------
    p : float, default=0.8
        The persistence of the user, as in ``rbp``.
    tail : bool, default=True
        Whether the tail counts if all recommended items are judged; if not, the value is then 0 (as
        in trec_eval).

    Notes
    -----
    Use it for how much ``rbp`` could rise if unjudged items were relevant. Do not use it as
    quality: it tells how far to trust ``rbp``.

    References
    ----------
    Moffat & Zobel 2008, Rank-Biased Precision for Measurement of Retrieval Effectiveness, ACM TOIS
    27(1).

    Examples
    --------
    >>> import rankwise as rw
    >>> name = "rbp_residual(p=0.5)"
    >>> rw.evaluate({"ann": [1, 2, 3]}, {"ann": {1: 1, 2: 0}}, name)[name]
    0.25
    """

    inputs = ("judged",)
    defined_for = "list"
    reads_truth = True
    p: Annotated[float, BETWEEN_0_AND_1] = 0.8
    tail: bool = True

    def value(self, block: Block, k: int) -> Array:
        """Return the residual, shape (U,)."""
        xp, judged = block.xp, _is_judged(block)
        weight = (1.0 - self.p) * geometric_discount(block.judged.rank, self.p)
        residual = 1.0 - block.sum_judged(judged * weight, k)
        if self.tail:
            return residual
        complete = block.sum_judged(judged, k) == n_in_top(block, k)
        return xp.where(complete, xp.zeros_like(residual), residual)


@metric(
    "logit_average_precision",
    "yaap",
    range=(-math.inf, math.inf),
    higher_is_better=True,
    cutoff="none",
    family="accuracy",
    plain=plain.logit_average_precision,
)
class LogitAveragePrecision(PerUser):
    r"""Smoothed logit of average precision, whose mean shows differences near 0 and 1.

    .. math:: \ln \frac{1 + s}{1 + |R_u| - s}, \quad s = \sum_i P@i \cdot rel_i

    :math:`P@i` is the precision at i, :math:`rel_i` is 1 if the item at rank i is relevant, else 0;
    :math:`|R_u|` is the number of relevant items. Tied items are taken in order of item id.

    Notes
    -----
    Use it to test systems on hard queries, where average precision is near 0 and means hide
    improvements. Do not use it as the value that a reader sees: it is not a share, and has no
    bounds.

    References
    ----------
    Robertson 2012, On Smoothing Average Precision, ECIR.

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": [1, 2, 3]}, {"ann": {1, 3}}, "yaap")["yaap"]
    0.69315
    """

    inputs = ("judged",)

    def value(self, block: Block, k: int) -> Array:
        """Return the logit, shape (U,)."""
        rows, xp = block.judged, block.xp
        precision = rows.relevant * (_above(block, rows.relevant) + 1.0) / rows.rank
        total = bincount(rows.user, precision, block.n_users)
        return xp.log((1.0 + total) / (1.0 + block.n_relevant - total))


def _above(block: Block, counted: Array) -> Array:
    """Return how many of the counted rows are above each row of ``judged``, in the same list."""
    return running_count(block.judged.user, counted, block.n_users) - counted


@metric(
    "inferred_average_precision",
    "infap",
    range=(0, 1),
    higher_is_better=True,
    cutoff="none",
    family="accuracy",
    plain=plain.inferred_average_precision,
)
class InferredAveragePrecision(PerUser):
    r"""Average precision estimated from judgements of a random sample of the pool.

    .. math:: \frac{1}{|R_u|} \sum_{i \in L_u \cap R_u} \frac{1}{r_i} \left(1 + d_i
              \frac{a_i + \epsilon}{a_i + n_i + 2 \epsilon}\right)

    Of the items above the relevant item i at rank :math:`r_i`, :math:`a_i` are relevant,
    :math:`n_i` judged not relevant, and :math:`d_i` in the pool, judged or not: of a grade below 0,
    they are not judged. Items outside the pool count as not relevant. Equal to average precision
    where the whole pool is judged, except for :math:`\epsilon`. Tied items are taken in order of
    item id.

    Parameters
    ----------
    epsilon : float, default=1e-05
        The smoothing :math:`\epsilon`, above 0.

    Notes
    -----
    Use it where a random sample of the pool is judged, as in some TREC tracks. Do not use it where
    all items are judged (``map``), or where the judged items are not a random sample, such as
    clicks.

    References
    ----------
    Yilmaz & Aslam 2006, Estimating Average Precision with Incomplete and Imperfect Judgments, CIKM.

    Examples
    --------
    >>> import rankwise as rw
    >>> truth = {"ann": {1: -1, 2: 0, 4: 1, 9: 1}}
    >>> rw.evaluate({"ann": [1, 2, 3, 4]}, truth, "infap")["infap"]
    0.125
    """

    inputs = ("judged",)
    epsilon: Annotated[float, ABOVE_0] = 1e-5

    def value(self, block: Block, k: int) -> Array:
        """Return the estimate, shape (U,)."""
        rows, xp = block.judged, block.xp
        relevant = _above(block, rows.relevant)
        judged, pooled = (
            _above(block, _is_judged(block)),
            _above(block, xp.ones_like(rows.relevant)),
        )
        share = (relevant + self.epsilon) / (judged + 2.0 * self.epsilon)
        terms = rows.relevant * (1.0 + pooled * share) / rows.rank
        return divide(bincount(rows.user, terms, block.n_users), block.n_relevant)


@metric(
    "utility",
    range=(-math.inf, math.inf),
    higher_is_better=True,
    family="confusion",
    plain=plain.utility_at_k,
)
class Utility(Pooled):
    r"""Weighted sum of true and false positives and negatives, averaged over users.

    .. math:: w_1 \, TP + w_2 \, FP + w_3 \, FN + w_4 \, TN

    TP and FP are the relevant and the other items of the top k, FN the relevant items outside it,
    and TN the items of the catalogue that are neither.

    Parameters
    ----------
    weights : list of float, default=[1, -1, 0, 0]
        The worth of an item of each kind: :math:`w_1` to :math:`w_4`.
    n_items : float or None, default=None
        The number of items of the catalogue; None: that of ``items``, or of all items seen.

    Notes
    -----
    Use it where a hit, a miss and a wrong recommendation have known worth, such as money. Do not
    use it with the default weights as if they were costs: they are 1 and −1 by convention.

    References
    ----------
    Lewis 1995, Evaluating and Optimizing Autonomous Text Classification Systems, SIGIR; trec_eval,
    ``utility``.

    Examples
    --------
    >>> import rankwise as rw
    >>> name = "utility(weights=[2,-1,-0.5,0])"
    >>> rw.evaluate({"ann": [1, 3, 5, 7]}, {"ann": {1, 10}}, name)[name]
    -1.5
    """

    weights: tuple[float, ...] = (1.0, -1.0, 0.0, 0.0)
    n_items: Annotated[float | None, NOT_NEGATIVE] = None
    mean_of_users = True

    def __post_init__(self) -> None:
        """Check that there are four weights."""
        super().__post_init__()
        if len(self.weights) != 4:
            raise ParameterError(
                f"{self.name}: there are four weights, of TP, FP, FN and TN",
                found=f"weights={show_value(self.weights)}",
                hint="write weights=[1,-1,0,0]",
            )

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The catalogue, if true negatives count."""
        return ("whole_catalogue",) if self.weights[3] and self.n_items is None else ()

    def sums(self, block: Block, k: int) -> Sums:
        """Return the numbers of hits, of items in the top k, and of relevant items, (U,) each."""
        relevant = block.xp.astype(block.n_relevant, block.xp.float64)
        return block.sum_hits(block.hits.probability, k), n_in_top(block, k), relevant

    def pool(self, sums: Sums, catalogue_size: int) -> Array:
        """Return the weighted sum."""
        hits, n_listed, n_relevant = sums
        n_items = float(catalogue_size) if self.n_items is None else self.n_items
        cells = (hits, n_listed - hits, n_relevant - hits, n_items + hits - n_listed - n_relevant)
        total = self.weights[0] * cells[0]
        for weight, cell in zip(self.weights[1:], cells[1:], strict=True):
            total = total + weight * cell
        return total


@dataclass(frozen=True, kw_only=True, repr=False)
class _Gained(PerUser):
    r"""A function of the gains of a list and of its ideal list, from the plain definition.

    Parameters
    ----------
    gain : {"linear", "exponential", "binary", "exponential_plus_one"}, default="linear"
        The gain of a relevant item: its relevance, :math:`2^{rel} - 1`, 1, or
        :math:`2^{rel + 1} - 1`.
    gains : list of float, default=none
        Other gains for the grades 1, 2, …, each 0 or more: ``gains=[3,9]``.
    """

    gain: Gain = "linear"
    gains: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Check the gains."""
        super().__post_init__()
        check_gains(self, self.gains)


@metric(
    "normalised_gain",
    "g",
    range=(0, 1),
    higher_is_better=True,
    cutoff="none",
    family="accuracy",
    plain=plain.normalised_gain,
)
class NormalisedGain(_Gained):
    r"""Gain of the items, discounted by the gain that is missed above them, over the gain possible.

    .. math:: \frac{1}{\sum_j g^*_j} \sum_i \frac{g_i}
              {\log_2 \left(2 + \sum_{j \le i} \max(1, g^*_j) - \sum_{j \le i} g_j\right)}

    :math:`g_i` is the gain of the item at rank i, :math:`g^*_j` that of the ideal list. With
    ``gain=binary`` the logarithm is of 2 plus the number of irrelevant items above. Tied items are
    taken in order of item id.

    Notes
    -----
    Use it to get trec_eval's G and binG. Do not use it as the only metric of a study: hardly anyone
    can read its values.

    References
    ----------
    Buckley 2008, trec_eval, ``G`` and ``binG``.

    Examples
    --------
    >>> import rankwise as rw
    >>> name = "normalised_gain"
    >>> rw.evaluate({"ann": [1, 2, 3]}, {"ann": {1: 2, 3: 1}}, name)[name]
    0.87698
    """


@metric(
    "ndcg_at_relevant",
    "ndcg_rel",
    range=(0, 1),
    higher_is_better=True,
    cutoff="none",
    family="accuracy",
    plain=plain.ndcg_at_relevant,
)
class NDCGAtRelevant(_Gained):
    r"""Mean of nDCG at the rank of each relevant item.

    .. math:: \frac{1}{|R_u|} \sum_{i \in R_u} nDCG@r_i

    :math:`r_i` is the rank of the relevant item i in the list; for an item that is not recommended,
    nDCG is of the whole list. Tied items are taken in order of item id.

    Notes
    -----
    Use it to get trec_eval's ndcg_rel, which looks at the ranks of relevant items alone. Do not use
    it where lists are shown at a fixed length: ``ndcg@k`` has that cut-off.

    References
    ----------
    Buckley 2008, trec_eval, ``ndcg_rel``.

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": [1, 2, 3]}, {"ann": {1, 3}}, "ndcg_rel")["ndcg_rel"]
    0.95986
    """


@metric(
    "ndcg_at_levels",
    "rndcg",
    range=(0, 1),
    higher_is_better=True,
    cutoff="none",
    family="accuracy",
    plain=plain.ndcg_at_levels,
)
class NDCGAtLevels(_Gained):
    r"""Mean of nDCG at the ranks where the gain of the ideal list falls.

    .. math:: \frac{1}{|C|} \sum_{k \in C} nDCG@k, \quad C = \{k : g^*_k > g^*_{k + 1}\}

    :math:`g^*_k` is the gain at rank k of the ideal list, 0 below its end. If the list has more
    than :math:`|R_u| + 1` items, its length is one more rank in C. Tied items are taken in order of
    item id.

    Notes
    -----
    Use it to get trec_eval's Rndcg, in which each user has cut-offs of its own. Do not use it where
    lists are shown at a fixed length: ``ndcg@k`` has that cut-off.

    References
    ----------
    Buckley 2008, trec_eval, ``Rndcg``.

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": [1, 2, 3, 4, 5]}, {"ann": {1: 2, 3: 1}}, "rndcg")["rndcg"]
    0.90348
    """
