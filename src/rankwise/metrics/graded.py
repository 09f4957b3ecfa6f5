"""Accuracy with graded relevance: gains that grow with the relevance of the recommended items.

Notation: :math:`g_i` is the gain of the item at rank i, computed from its relevance, 0 if the item
is not relevant; :math:`rel_i` is 1 if it is relevant, else 0. Users without relevant items in the
ground truth have no value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

from rankwise import functional as plain
from rankwise.blocks.block import WHOLE_LIST, Block, Cutoffs, Ideal
from rankwise.blocks.hits import Hits
from rankwise.core.arrays import Array, bincount, check_none, namespace
from rankwise.core.ragged import order_within
from rankwise.errors import ParameterError, ScoreError
from rankwise.metrics.arithmetic import (
    ABOVE_0,
    ABOVE_1,
    BETWEEN_0_AND_1,
    Gain,
    Limits,
    discount,
    divide,
    gain_of,
    geometric_discount,
    n_in_top,
    need_cutoff,
    rows_above,
    running_sum,
)
from rankwise.metrics.base import Metric, metric, preset, show_value
from rankwise.metrics.composite_kinds import DerivedMetric
from rankwise.metrics.inputs import Input
from rankwise.metrics.kinds import HitSum, PerUser, ShareOfRelevant

__all__ = ["CG", "DCG", "ERR", "NDCG", "RBP", "Condensed", "Judged", "NDCGBinary"]


@dataclass(frozen=True, kw_only=True, repr=False)
class _Gained(HitSum):
    r"""A sum of gains.

    Parameters
    ----------
    gain : {"linear", "exponential", "binary", "exponential_plus_one"}, default="linear"
        The gain of a relevant item: its relevance, :math:`2^{rel} - 1`, 1, or
        :math:`2^{rel + 1} - 1` (as in WarpRec).
    gains : list of float, default=none
        Other gains for the grades 1, 2, …, each 0 or more: ``gains=[3,9]``. Other grades keep the
        gain that ``gain`` gives.
    """

    gain: Gain = "linear"
    gains: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Check the gains."""
        super().__post_init__()
        check_gains(self, self.gains)

    def gain_of(self, relevance: Array) -> Array:
        """Return the gains of relevant items."""
        by_kind = gain_of(self.gain, relevance)
        if not self.gains:
            return by_kind
        xp = namespace(relevance)
        grade = xp.clip(xp.floor(relevance), min=1.0, max=float(len(self.gains)))
        of_grade = xp.take(xp.asarray(self.gains, dtype=xp.float64), xp.astype(grade, xp.int64) - 1)
        return xp.where(relevance == grade, of_grade, by_kind)

    def terms(self, block: Block) -> Array:
        """Return the gain of each hit."""
        return block.hits.probability * block.hits.to_rows(self.gain_of(block.hits.gain))


@dataclass(frozen=True, kw_only=True, repr=False)
class _Discounted(_Gained):
    r"""A sum of gains that are discounted by rank.

    Parameters
    ----------
    log_base : float, default=2.0
        The base b of the logarithm, above 1. In nDCG it cancels out, except for rounding, unless
        ``discount="log"``.
    discount : {"log_plus_one", "log", "rank"}, default="log_plus_one"
        The divisor of the gain at rank i: :math:`\log_b(i + 1)`; or :math:`\max(1, \log_b i)`,
        which discounts nothing down to rank b (Järvelin & Kekäläinen 2002; LensKit); or i itself,
        where the first ranks matter far more than the others (CatBoost's
        ``denominator=Position``).
    """

    log_base: Annotated[float, ABOVE_1] = 2.0
    discount: Literal["log_plus_one", "log", "rank"] = "log_plus_one"

    def discount_of(self, rank: Array) -> Array:
        """Return the discounts of ranks."""
        if self.discount == "log_plus_one":
            return discount(rank, self.log_base)
        xp = namespace(rank)
        if self.discount == "rank":
            return 1.0 / xp.astype(rank, xp.float64)
        logarithm = xp.log2(xp.astype(rank, xp.float64)) / math.log2(self.log_base)
        return 1.0 / xp.clip(logarithm, min=1.0)

    def terms(self, block: Block) -> Array:
        """Return the gain of each hit, discounted by its rank."""
        return super().terms(block) * self.discount_of(block.hits.rank)


def check_gains(metric: Metric, gains: tuple[float, ...]) -> None:
    """Raise if a gain of a grade is negative."""
    if any(gain < 0 for gain in gains):
        raise ParameterError(
            f"{metric.name}: a gain must be 0 or more",
            found=f"gains={show_value(gains)}",
            hint="write gains=[3,9]",
        )


def check_grades(metric: Metric, relevance: Array, largest: float) -> None:
    """Raise if a relevance is above the largest grade of the scale."""
    check_none(
        relevance > largest,
        lambda: ScoreError(
            f"{metric.name}: a relevance is above the largest grade",
            where="truth",
            found=f"{float(namespace(relevance).max(relevance)):g} > {largest:g}",
            hint=f"write {metric.name}(max_relevance=5)@10 for a scale that ends at 5",
        ),
    )


def check_probabilities(metric: Metric, relevance: Array) -> None:
    """Raise if a relevance that is a probability is above 1."""
    check_none(
        relevance > 1,
        lambda: ScoreError(
            f"{metric.name}: a relevance above 1 is no probability to stop",
            where="truth",
            found=f"{float(namespace(relevance).max(relevance)):g}",
            hint=f"divide the labels by the largest grade, or write "
            f"{metric.name}(max_relevance=4)@10 for grades up to 4",
        ),
    )


@metric("cg", range=(0, math.inf), higher_is_better=True, family="accuracy", plain=plain.cg_at_k)
class CG(_Gained):
    r"""Cumulative gain: the sum of the gains in the top k.

    .. math:: CG@k = \sum_{i \le k} g_i

    :math:`g_i` is the gain of the item at rank i, 0 if it is not relevant.

    Parameters
    ----------
    denominator : {"none", "length"}, default="none"
        ``"length"`` divides by min(k, list length): the mean gain of the items shown (CatBoost's
        ``AverageGain``).

    Notes
    -----
    Use it as the plain total of the relevance that a list delivers. Do not use it where the rank
    matters, or to compare users with different numbers of relevant items.

    References
    ----------
    Järvelin & Kekäläinen 2002, Cumulated Gain-Based Evaluation of IR Techniques, ACM TOIS 20(4).

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": [1, 2, 3]}, {"ann": {1: 3, 3: 2}}, "cg@3")["cg@3"]
    5.0
    """

    denominator: Literal["none", "length"] = "none"

    def norm(self, block: Block, k: int) -> Array | None:
        """Return the number of items in the top k, for denominator=length."""
        return block.top_length(k) if self.denominator == "length" else None

    @property
    def norm_is_settled(self) -> bool:
        """Whether the norm does not follow the length of the list."""
        return self.denominator == "none"


@metric("dcg", range=(0, math.inf), higher_is_better=True, family="accuracy", plain=plain.dcg)
class DCG(_Discounted):
    r"""Discounted cumulative gain: the sum of the gains in the top k, discounted by rank.

    .. math:: DCG@k = \sum_{i \le k} \frac{g_i}{\log_b(i + 1)}

    :math:`g_i` is the gain of the item at rank i, 0 if it is not relevant.

    Notes
    -----
    Use it for graded relevance where a user with more to gain should count more. Do not use it to
    compare data sets, or users with different numbers of relevant items: ``ndcg`` does.

    References
    ----------
    Järvelin & Kekäläinen 2002, Cumulated Gain-Based Evaluation of IR Techniques, ACM TOIS 20(4);
    Burges et al. 2005, Learning to Rank using Gradient Descent, ICML (exponential gain).

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": [1, 2, 3]}, {"ann": {1, 3}}, "dcg@3")["dcg@3"]
    1.5
    """


@metric(
    "ndcg",
    "ndcg_cut",
    range=(0, 1),
    higher_is_better=True,
    family="accuracy",
    plain=plain.ndcg_at_k,
)
class NDCG(ShareOfRelevant, _Discounted):
    r"""Normalised DCG: the discounted cumulative gain divided by that of the ideal list.

    .. math:: nDCG@k = DCG@k / IDCG@k,
              \quad DCG@k = \sum_{i \le k} \frac{g_i}{\log_b(i + 1)}

    :math:`g_i` is the gain of the item at rank i, 0 if it is not relevant. IDCG, the ideal DCG, is
    the same sum for the ideal list: all relevant items of the user in decreasing gain, cut at k.

    Parameters
    ----------
    ideal : {"relevant", "full", "length", "uncut"}, default="relevant"
        The ideal list: the user's relevant items, cut at k; or k items with the user's largest
        gain, even if the user has fewer relevant items (``"full"``, which needs a cut-off); or no
        more relevant items than the list shows, which does not penalise short lists (``"length"``,
        as in MLflow); or all relevant items, also below k, so that a short k cannot reach 1
        (``"uncut"``, as in LlamaIndex and Haystack where lists are cut beforehand).

    Notes
    -----
    Use it as the primary metric of a ranked list, with binary or graded relevance. Do not compare
    it between papers or libraries without the gain, the ideal list and the users counted: linear
    and exponential gain rank models differently.

    References
    ----------
    Järvelin & Kekäläinen 2002, Cumulated Gain-Based Evaluation of IR Techniques, ACM TOIS 20(4).

    Examples
    --------
    >>> import rankwise as rw
    >>> truth = {"ann": {1: 3, 2: 2, 3: 3, 5: 1, 6: 2}}
    >>> metrics = ["ndcg@6", "ndcg(gain=exponential)@6"]
    >>> result = rw.evaluate({"ann": [1, 2, 3, 4, 5, 6]}, truth, metrics)
    >>> result["ndcg@6"], result["ndcg(gain=exponential)@6"]
    (0.96081, 0.94881)
    """

    inputs = ("ideal",)
    ideal: Literal["relevant", "full", "length", "uncut"] = "relevant"

    def require_cutoff(self) -> None:
        """Raise if the ideal list fills all k ranks and there is no k."""
        need_cutoff(self, where=self.ideal == "full", setting="ideal=full")

    def norm(self, block: Block, k: int) -> Array:
        """Return the DCG of the ideal list; for ideal=full the user's largest gain."""
        if self.ideal == "full":
            return _by_gain(block, self).sum_ideal(self.gain_of, block.xp.ones_like, 1)
        last = {"length": block.top_length(k), "uncut": WHOLE_LIST}.get(self.ideal, k)
        return _by_gain(block, self).sum_ideal(self.gain_of, self.discount_of, last)

    @property
    def norm_is_settled(self) -> bool:
        """Whether the norm changes no more once k exceeds the number of relevant items."""
        return self.ideal in ("relevant", "full")

    def scale(self, k: Array) -> Array:
        """Return the sum of the first k discounts, for ideal=full."""
        if self.ideal != "full":
            return 1.0
        return running_sum(self.discount_of, k)


def _by_gain(block: Block, metric: _Gained) -> Block:
    """Sort ideal lists by decreasing gain where the gain does not increase with relevance."""
    ideal = block.row_sets.ideal
    if not metric.gains or not isinstance(ideal, Ideal):
        return block
    xp = block.xp
    order = order_within(ideal.user, -metric.gain_of(ideal.gain))
    ordered = replace(ideal, gain=xp.take(ideal.gain, order))  # users and ranks are in order
    return replace(block, row_sets=replace(block.row_sets, ideal=ordered))


@preset("ndcg_binary", "ndcg_rendle_2020", family="accuracy", fixed={"gain": "binary"})
class NDCGBinary(NDCG):
    r"""Normalised DCG with binary relevance: the preset ``ndcg(gain=binary)``.

    .. math:: \frac{\sum_{i \le k} rel_i / \log_2(i + 1)}
              {\sum_{i \le \min(k, |R_u|)} 1 / \log_2(i + 1)}

    :math:`rel_i` is 1 if the item at rank i is relevant, else 0; :math:`|R_u|` is the number of
    relevant items of user u.

    Notes
    -----
    Use it where grades should not count, or where one of several data sets has none. Do not compare
    it with ``ndcg`` of graded relevance: the two rank models differently.

    References
    ----------
    Krichene & Rendle 2020, On Sampled Metrics for Item Recommendation, KDD.

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": [1, 2, 3]}, {"ann": {1: 5, 3: 1}}, "ndcg_binary@3")["ndcg_binary@3"]
    0.91972
    """


@metric("rbp", range=(0, 1), higher_is_better=True, family="accuracy", plain=plain.rbp)
class RBP(HitSum):
    r"""Rank-biased precision: after each item, the user reads on with probability p.

    .. math:: RBP@k = (1 - p) \sum_{i \le k} g_i \, p^{i - 1}

    :math:`g_i` is 1 if the item at rank i is relevant (with ``max_relevance``, its relevance /
    max_relevance), else 0. Even an ideal list scores less than 1, except with
    ``normaliser="ideal"``.

    Parameters
    ----------
    p : float, default=0.8
        The persistence of the user: the probability of reading on, in (0, 1).
    normaliser : {"none", "ideal"}, default="none"
        ``"ideal"`` divides by the value of the ideal list, with the relevant items in decreasing
        gain: :math:`1 - p^{\min(k, |R_u|)}` where relevance is binary.
    max_relevance : float or None, default=None
        The largest grade of the rating scale, for graded relevance; None: relevance is binary.
    top_grade : {"max_relevance", "largest", "none"}, default="max_relevance"
        What relevance is divided by: ``max_relevance``; or the largest relevance of the user's
        items, if that is above 1, for graded relevance without a scale (trec_eval 10); or nothing,
        so that :math:`g_i` is the relevance and values above 1 are possible (as in ranx).

    Notes
    -----
    Use it where you know how far users read, or need to know how much unjudged items could change
    (``rbp_residual``). Do not read it as a share of an ideal list, which scores less than 1. Do not
    compare values of different ``p``.

    References
    ----------
    Moffat & Zobel 2008, Rank-Biased Precision for Measurement of Retrieval Effectiveness, ACM TOIS
    27(1).

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": [1, 2, 3]}, {"ann": {1, 3}}, "rbp")["rbp"]
    0.328
    """

    p: Annotated[float, BETWEEN_0_AND_1] = 0.8
    normaliser: Literal["none", "ideal"] = "none"
    max_relevance: Annotated[float | None, ABOVE_0] = None
    top_grade: Literal["max_relevance", "largest", "none"] = "max_relevance"

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The ideal list, if that is the normaliser or has the largest relevance."""
        return ("ideal",) if self.normaliser == "ideal" or self.top_grade == "largest" else ()

    def _largest(self, block: Block) -> Array:
        """Return the divisor: the largest relevance of each user, at least 1, shape (U,)."""
        xp = block.xp
        return xp.clip(block.sum_ideal(_itself, xp.ones_like, 1), min=1.0)

    def terms(self, block: Block) -> Array:
        """Return the probability that a user stops at the rank of each hit."""
        hits, xp = block.hits, block.xp
        weight = (1.0 - self.p) * geometric_discount(hits.rank, self.p)
        if self.top_grade == "largest":
            gain = hits.gain / xp.take(self._largest(block), hits.owner)
            return hits.probability * hits.to_rows(gain) * weight
        if self.top_grade == "none":
            return hits.probability * hits.to_rows(hits.gain) * weight
        if self.max_relevance is None:
            return hits.probability * weight
        check_grades(self, hits.gain, self.max_relevance)
        return hits.probability * hits.to_rows(hits.gain / self.max_relevance) * weight

    def norm(self, block: Block, k: int) -> Array | None:
        """Return the value of the ideal list, for normaliser=ideal."""
        if self.normaliser == "none":
            return None
        if self.top_grade == "largest":
            total = block.sum_ideal(_itself, self._attention, k)
            return (1.0 - self.p) * total / self._largest(block)
        if self.top_grade == "max_relevance" and self.max_relevance is None:
            xp = block.xp
            return 1.0 - self.p ** xp.astype(block.relevant_in_reach(k), xp.float64)
        return (1.0 - self.p) * block.sum_ideal(self._share_of_top, self._attention, k)

    def _attention(self, rank: Array) -> Array:
        """Return the probability that a user reads as far as a rank."""
        return geometric_discount(rank, self.p)

    def _share_of_top(self, gain: Array) -> Array:
        """Return a gain as a share of the top grade, if one is stated."""
        if self.top_grade == "none" or self.max_relevance is None:
            return gain
        return gain / self.max_relevance


def _itself(gain: Array) -> Array:
    """Return a gain as it is: `Block.sum_ideal` knows its functions again, and no lambda."""
    return gain


@metric("err", range=(0, 1), higher_is_better=True, family="accuracy", plain=plain.err_at_k)
class ERR(PerUser):
    r"""Expected reciprocal rank of the item that satisfies the user, who then stops.

    .. math:: ERR@k = \sum_{i \le k} \frac{S_i}{i} \prod_{j < i} (1 - S_j),
              \quad S_i = \frac{2^{g_i} - 1}{2^{g_{max}}}

    :math:`S_i` is the probability that the item at rank i satisfies the user, :math:`g_i` its
    relevance, 0 if it is not relevant.

    Parameters
    ----------
    max_relevance : float, default=1.0
        :math:`g_{max}`, the largest grade of the rating scale, which need not occur in the data.
        The default is for binary relevance. A hit of larger relevance raises an error.
    stop : {"grade", "relevance"}, default="grade"
        The probability :math:`S_i`: that of the grade, as above; or the relevance itself, where
        labels are probabilities in [0, 1] already (as in CatBoost). A label above 1 raises an
        error.
    decay : float or None, default=None
        The chance d, in (0, 1], to look further after an item that did not satisfy. The item at
        rank i then counts :math:`d^{i - 1}` in place of 1 / i: with ``stop=relevance`` and
        ``decay=0.85`` the value is Yandex's pFound.

    Notes
    -----
    Use it for graded relevance where one good item ends the search. Do not use it where users want
    several items: below an item of the top grade hardly anything counts. Do not leave
    ``max_relevance`` at 1 for graded data.

    References
    ----------
    Chapelle et al. 2009, Expected Reciprocal Rank for Graded Relevance, CIKM; CatBoost, ``PFound``.

    Examples
    --------
    >>> import rankwise as rw
    >>> truth = {"ann": {1: 3, 2: 2}}
    >>> rw.evaluate({"ann": [2, 1]}, truth, "err(max_relevance=4)@2")["err(max_relevance=4)@2"]
    0.36523
    >>> pfound = "err(stop=relevance,decay=0.85)@2"
    >>> rw.evaluate({"ann": [2, 1]}, {"ann": {1: 0.4, 2: 0.5}}, pfound)[pfound]
    0.67
    """

    max_relevance: Annotated[
        float, Limits("must lie between 0 and 1000", lambda x: 0 < x <= 1000)
    ] = 1.0
    stop: Literal["grade", "relevance"] = "grade"
    decay: Annotated[
        float | None, Limits("must lie in (0, 1]", lambda x: x is None or 0 < x <= 1)
    ] = None

    def _stop_probability(self, relevance: Array) -> Array:
        """Return the probability that an item of each relevance satisfies the user."""
        if self.stop == "relevance":
            check_probabilities(self, relevance)
            return relevance
        largest = float(self.max_relevance)
        check_grades(self, relevance, largest)
        return gain_of("exponential", relevance) / 2.0**largest

    def values(self, block: Block, k: Cutoffs) -> Array:
        """Return expected reciprocal rank at each cut-off, from one pass down the lists."""
        hits = block.hits
        stops = hits.cascade(self._stop_probability(hits.gain), max(k))
        if self.decay is None:
            return block.sum_hits_at(stops / hits.rank, k)
        return block.sum_hits_at(stops * geometric_discount(hits.rank, self.decay), k)


@metric("judged", range=(0, 1), higher_is_better=None, family="hygiene", plain=plain.judged_at_k)
class Judged(PerUser):
    r"""Share of the top k that has a row in the ground truth, relevant or not.

    .. math:: |L_u^k \cap J_u| / |L_u^k|

    :math:`L_u^k` is the top k of the recommendation list of user u, :math:`J_u` are the user's
    judged items: those with a ground truth row. Where the share is low, accuracy metrics mostly
    count unjudged items as irrelevant.

    Notes
    -----
    Use it to see how much of the lists the ground truth knows. Do not use it as quality. Where it
    is low, accuracy counts unjudged items as irrelevant.

    References
    ----------
    Sakai 2007, Alternatives to Bpref, SIGIR; ir_measures, ``Judged``.

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": [1, 2, 3, 4]}, {"ann": {1: 5, 2: 0}}, "judged@4")["judged@4"]
    0.5
    """

    inputs = ("judged",)
    defined_for = "list"
    reads_truth = True

    def value(self, block: Block, k: int) -> Array:
        """Return the share of judged items, shape (U,)."""
        ones = block.xp.ones_like(block.judged.relevant)
        return divide(block.sum_judged(ones, k), n_in_top(block, k))


@metric(
    "condensed",
    range=(0, math.inf),
    higher_is_better=True,
    family="accuracy",
    plain=plain.condensed,
)
class Condensed(DerivedMetric, PerUser):
    r"""A metric of condensed lists: unjudged items are removed before ranks are counted.

    .. math:: m@k \left(L_u \cap J_u\right)

    :math:`m` is the metric, :math:`L_u` the recommendation list of user u, reduced to the judged
    items :math:`J_u`, those with a ground truth row, relevant or not, in the order of the list.
    Tied items are taken in order of item id. The value lies in the range of the metric.

    Parameters
    ----------
    of : metric, default=ndcg
        A per-user metric that reads only hits: ndcg, map, recall, precision, mrr, rbp, err.

    Notes
    -----
    Use it to see how a ranking orders the judged items where few items are judged. Do not compare
    it with values of whole lists: condensed lists are shorter, so their values are higher.

    References
    ----------
    Sakai 2007, Alternatives to Bpref, SIGIR.

    Examples
    --------
    >>> import rankwise as rw
    >>> truth = {"ann": {1: 1, 2: 0, 3: 1}}
    >>> name = "condensed(of=mrr)@2"
    >>> rw.evaluate({"ann": [8, 9, 2, 1]}, truth, name)[name]
    0.5
    """

    reads_below_k = True
    done: ClassVar[str] = "condensed"
    of: Metric = NDCG()

    def _check_of(self) -> None:
        reads = self.of.reads.rows | set(self.of.reads.facts)
        if not self.of.measures_values or self.of.defined_for != "relevance" or reads - {"ideal"}:
            raise ParameterError(
                f"{self.name}: {self.of.name} reads more than the hits of a list",
                found=str(self.of),
                hint="ndcg, map, recall, precision, mrr, rbp and err do not",
            )

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The judged items of the lists, and the inputs of the metric."""
        return ("judged", *super().inputs)

    def values(self, block: Block, k: Cutoffs) -> Array:
        """Return the values of the condensed lists at every cut-off, each of shape (U,)."""
        return self.of.values(_condense(block), k)


def _condense(block: Block) -> Block:
    """Return the block of the same users with lists of their judged items alone."""
    rows, xp = block.judged, block.xp
    length = bincount(rows.user, xp.ones_like(rows.relevant), block.n_users)
    rank = rows_above(rows.user) + 1
    (hit,) = xp.nonzero(rows.relevant > 0)
    user = rows.user[hit]
    hits = Hits(
        user,
        rank[hit],
        xp.ones(user.shape[0], dtype=xp.float64),
        xp.astype(rows_above(user) + 1, xp.float64),
        rows.truth[hit],
        rows.item[hit],
    )
    length = xp.astype(length, xp.int64)
    return replace(block, list_length=length, hits=hits, limit=None)
