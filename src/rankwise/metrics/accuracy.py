"""Accuracy of recommendation lists: the share of relevant items found, and how early.

Notation: :math:`L_u^k` is the top k of user u's recommendation list, :math:`R_u` the user's
relevant items in the ground truth. Unless a docstring states otherwise, the result is the mean over
users; users without relevant items have no value.

Reciprocal ranks: one over the rank of the first hit, or of every hit.

Notation: :math:`R_u` are the relevant items of user u, :math:`rel_i` is 1 if the item at rank i is
relevant, else 0. Users without relevant items have no value.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np

from rankwise import functional as plain
from rankwise.blocks.block import Block, Cutoffs
from rankwise.core.arrays import Array, bincount, namespace
from rankwise.core.ragged import order_within
from rankwise.errors import ParameterError
from rankwise.functional.accuracy import ELEVEN_LEVELS
from rankwise.metrics.arithmetic import (
    ABOVE_0,
    IN_CLOSED_0_1,
    Limits,
    at_least_one,
    divide,
    need_cutoff,
    or_nan,
    running_count,
)
from rankwise.metrics.base import Metric, metric, preset, show_value
from rankwise.metrics.composite_kinds import Composed
from rankwise.metrics.kinds import HitSum, PerUser, RunningSum, ShareOfRelevant, at_cutoffs

__all__ = [
    "ARHR",
    "NCRR",
    "AveragePrecision",
    "AverageRecall",
    "Complete",
    "F",
    "HitRate",
    "InterpolatedPrecision",
    "LabelRankingAveragePrecision",
    "MeanPrecision",
    "MeanRecall",
    "Precision",
    "RPrecision",
    "Recall",
    "ReciprocalRank",
]


@metric(
    "precision",
    "p",
    range=(0, 1),
    higher_is_better=True,
    cutoff="required",
    plain=plain.precision_at_k,
)
class Precision(HitSum):
    r"""Share of the top k that is relevant.

    .. math:: P@k = |R_u \cap L_u^k| / k

    :math:`L_u^k` is the top k of the recommendation list of user u, :math:`R_u` are the user's
    relevant items.

    Parameters
    ----------
    denominator : {"k", "length"}, default="k"
        ``"k"``: a list shorter than k scores as if filled up with irrelevant items. ``"length"``:
        divide by min(k, list length), which does not penalise short lists.

    Notes
    -----
    Use it for the share of shown items that is relevant, every place counting the same. Do not use
    it where users have fewer than k relevant items: with 3 of them it cannot exceed 3/k, whatever
    the model.

    References
    ----------
    Cleverdon, Mills & Keen 1966, Factors Determining the Performance of Indexing Systems.

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": [1, 3, 5, 7, 9]}, {"ann": {1, 5, 10}}, "precision@5")["precision@5"]
    0.4
    """

    denominator: Literal["k", "length"] = "k"

    def terms(self, block: Block) -> Array:
        """Return 1 for each hit."""
        return block.hits.probability

    def norm(self, block: Block, k: int) -> Array | None:
        """Return the number of items in the top k, for denominator=length."""
        return block.top_length(k) if self.denominator == "length" else None

    def scale(self, k: Array) -> Array:
        """Return k, unless the denominator is the length."""
        return k if self.denominator == "k" else 1.0

    @property
    def norm_is_settled(self) -> bool:
        """Whether the norm does not follow the length of the list."""
        return self.denominator == "k"


@metric("recall", "r", range=(0, 1), higher_is_better=True, plain=plain.recall_at_k)
class Recall(ShareOfRelevant):
    r"""Share of the relevant items that is in the top k.

    .. math:: R@k = |R_u \cap L_u^k| / |R_u|

    :math:`L_u^k` is the top k of the recommendation list of user u, :math:`R_u` are the user's
    relevant items.

    Parameters
    ----------
    denominator : {"relevant", "capped", "min_length"}, default="relevant"
        ``"relevant"``: divide by \|R_u\|. ``"capped"``: divide by min(k, \|R_u\|), so that a top k
        with only relevant items scores 1. ``"min_length"``: the same, and also for a list shorter
        than k (trec_eval's ``set_relative_P``).

    Notes
    -----
    Use it for the share of relevant items that is recommended, above all in the retrieval stage. Do
    not use it at a k below the number of relevant items: such users cannot reach 1.
    ``denominator=capped`` lets them, and is another number.

    References
    ----------
    Cleverdon, Mills & Keen 1966, Factors Determining the Performance of Indexing Systems.

    Examples
    --------
    >>> import rankwise as rw
    >>> result = rw.evaluate({"ann": [1, 3, 5, 7, 9]}, {"ann": {1, 5, 10}}, "recall@5")
    >>> result["recall@5"]
    0.6667
    """

    denominator: Literal["relevant", "capped", "min_length"] = "relevant"

    def terms(self, block: Block) -> Array:
        """Return 1 for each hit."""
        return block.hits.probability

    def norm(self, block: Block, k: int) -> Array:
        """Return the number of relevant items; ``denominator`` may cap at k or the list length."""
        if self.denominator == "min_length":
            return block.xp.minimum(block.n_relevant, block.top_length(k))
        return block.relevant_in_reach(k) if self.denominator == "capped" else block.n_relevant

    @property
    def norm_is_settled(self) -> bool:
        """Whether the norm does not follow the length of the list."""
        return self.denominator != "min_length"


@metric(
    "f",
    "f1",
    range=(0, 1),
    higher_is_better=True,
    cutoff="required",
    family="accuracy",
    plain=plain.f1_at_k,
)
class F(Composed):
    r"""Weighted harmonic mean of precision and recall, or of any two metrics.

    .. math:: F_\beta@k = \frac{(1 + \beta^2) m_1 m_2}{\beta^2 m_1 + m_2}

    :math:`m_1` and :math:`m_2` are the values of the two metrics, by default precision and recall;
    0 where both are 0. With tied scores, it combines the expected values of the two metrics.

    Parameters
    ----------
    beta : float, default=1.0
        The weight of the second metric: above 1 it counts more than the first.
    of : {"users", "means"}, default="users"
        ``"users"`` combines the two values of each user, then averages over users. ``"means"``
        combines the two means over users, once.
    first : metric, default=precision
        The first metric, :math:`m_1`.
    second : metric, default=recall
        The second metric, :math:`m_2`.

    Notes
    -----
    Use it where one number has to balance precision and recall. Do not use it in place of the two:
    it does not tell which of them moved.

    References
    ----------
    van Rijsbergen 1979, Information Retrieval, chapter 7.

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": [1, 3, 5, 7, 9]}, {"ann": {1, 5, 10}}, "f1@5")["f@5"]
    0.5
    >>> str(rw.parse("f(first=ndcg, second=map, beta=0.5)@10"))
    'f(beta=0.5,first=ndcg,second=map)@10'
    """

    beta: Annotated[float, Limits("must lie between 0 and 1e100", lambda x: 0 <= x <= 1e100)] = 1.0
    of: Literal["users", "means"] = "users"
    first: Metric = Precision()
    second: Metric = Recall()

    @property
    def parts(self) -> tuple[Metric, ...]:
        """The two metrics at the cut-offs of this one."""
        return at_cutoffs(self.first, self.k), at_cutoffs(self.second, self.k)

    def combine(self, *values: Array) -> Array:
        """Return the weighted harmonic mean, elementwise."""
        first, second = values
        square = float(self.beta) ** 2
        xp = namespace(first)
        top, bottom = (1 + square) * first * second, square * first + second
        # `bottom == 0` is false for NaN: where one part is undefined, so is the harmonic mean.
        return xp.where(bottom == 0, xp.zeros_like(top), top / xp.where(bottom == 0, 1.0, bottom))


@metric(
    "hit_rate", "hit", "hr", "success", range=(0, 1), higher_is_better=True, plain=plain.hit_rate
)
class HitRate(RunningSum):
    r"""Share of users with a relevant item in the top k.

    .. math:: HR@k = [R_u \cap L_u^k \neq \emptyset]

    1 for a user with any of the relevant items :math:`R_u` in the top k :math:`L_u^k`, else 0.

    Notes
    -----
    Use it where one good item is enough, or one item per user is held out. Do not use it where
    users have many relevant items: it is then close to 1 for any model, and says nothing of rank.
    With one held-out item it is recall.

    References
    ----------
    Deshpande & Karypis 2004, Item-Based Top-N Recommendation Algorithms, ACM TOIS 22(1).

    Examples
    --------
    >>> import rankwise as rw
    >>> recommendations = {"ann": [1, 3], "bob": [7, 8]}
    >>> rw.evaluate(recommendations, {"ann": {3}, "bob": {9}}, "hit_rate@2")["hit_rate@2"]
    0.5
    """

    def terms(self, block: Block) -> Array:
        """Return 1 for the first hit of each user, 0 for later hits."""
        return block.hits.first()


@metric(
    "complete",
    "full_recall",
    "recall_all",
    "allrel",
    range=(0, 1),
    higher_is_better=True,
    plain=plain.complete_at_k,
)
class Complete(PerUser):
    r"""Share of users all of whose relevant items are in the top k.

    .. math:: [R_u \subseteq L_u^k]

    1 for a user with all of the relevant items :math:`R_u` in the top k :math:`L_u^k`, else 0. With
    tied scores, the probability of it over all orders of the tied items.

    Notes
    -----
    Use it where part of the evidence is worth nothing: questions that need every passage, bundles,
    the parts of a repair. Do not use it at a k below the number of relevant items: such users
    score 0, whatever the model.

    References
    ----------
    Yang et al. 2018, HotpotQA: A Dataset for Diverse, Explainable Multi-hop Question Answering,
    EMNLP (questions answered from all of several passages).

    Examples
    --------
    >>> import rankwise as rw
    >>> recommendations = {"ann": [1, 2, 3], "bob": [1, 2, 3]}
    >>> rw.evaluate(recommendations, {"ann": {1, 3}, "bob": {1, 9}}, "complete@3")["complete@3"]
    0.5
    """

    def value(self, block: Block, k: int) -> Array:
        """Return the probability that all relevant items are in the top k, shape (U,)."""
        xp, hits = block.xp, block.hits
        if hits.groups is None:
            found = block.sum_hits(xp.ones_like(hits.probability), k)
            return xp.astype(found == block.n_relevant, xp.float64)
        owner = hits.user[hits.groups.starts[:-1]]
        lost = 1.0 - hits.groups_within(k if block.limit is None else min(k, block.limit))
        # A cut-off splits one tied group of a user at most, so that the product is this sum.
        together = xp.clip(1.0 - bincount(owner, lost, block.n_users), min=0.0)
        in_list = bincount(hits.owner, xp.ones_like(hits.gain), block.n_users)
        return xp.where(in_list == block.n_relevant, together, xp.zeros_like(together))


@metric(
    "map",
    "ap",
    "average_precision",
    range=(0, 1),
    higher_is_better=True,
    plain=plain.average_precision,
)
class AveragePrecision(ShareOfRelevant):
    r"""Mean of the precision at the rank of each relevant item.

    .. math:: AP@k = \frac{1}{norm} \sum_{i \le k} P@i \cdot rel_i

    :math:`P@i` is the precision at i, :math:`rel_i` is 1 if the item at rank i is relevant, else 0;
    norm is :math:`\min(|R_u|, k)` by default, with :math:`|R_u|` the user's number of relevant
    items.

    Parameters
    ----------
    normaliser : {"min", "k", "relevant", "hits", "length", "min_length"}, default="min"
        The norm: min(\|R_u\|, k), k, \|R_u\|, the number of hits in the top k (with tied scores,
        the expected sum over the expected number of hits), the number of items in the top k, or the
        smaller of this number and \|R_u\|.
    ties : {"expected", "blocks"}, default="expected"
        How tied scores count if the evaluation has ``ties="expected"``: ``"expected"`` is the mean
        over all orders of the tied items; ``"blocks"`` gives every relevant item of a tied block
        the precision at the end of the block (as in scikit-learn).

    Notes
    -----
    Use it for one number over the ranks of all relevant items, where relevance is binary. Do not
    compare it between libraries without the normaliser: min(relevant, k), relevant, k and hits are
    all in use.

    References
    ----------
    Buckley & Voorhees 2000, Evaluating Evaluation Measure Stability, SIGIR.

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": [1, 2, 3, 4, 5]}, {"ann": {1, 3, 5}}, "map@5")["map@5"]
    0.7556
    """

    normaliser: Literal["min", "k", "relevant", "hits", "length", "min_length"] = "min"
    ties: Literal["expected", "blocks"] = "expected"

    def require_cutoff(self) -> None:
        """Raise if the sum is divided by k and there is no k."""
        need_cutoff(self, where=self.normaliser == "k", setting="normaliser=k")

    def terms(self, block: Block) -> Array:
        """Return the precision at the rank of each hit: hits so far over the rank."""
        hits = block.hits
        if self.ties == "blocks" and hits.groups is not None:
            position, rank = hits.tied_group_ends(hits.groups)
            return hits.probability * position / rank
        return hits.probability * hits.position / hits.rank

    def norm(self, block: Block, k: int) -> Array | None:
        """Return the number that ``normaliser`` names."""
        if self.normaliser == "k":
            return None
        if self.normaliser == "relevant":
            return block.n_relevant
        if self.normaliser == "hits":
            return block.sum_hits(block.hits.tie_probability, k)
        if self.normaliser == "length":
            return block.top_length(k)
        if self.normaliser == "min_length":
            return block.xp.minimum(block.relevant_in_reach(k), block.top_length(k))
        return block.relevant_in_reach(k)

    def scale(self, k: Array) -> Array:
        """Return k, if that is the normaliser."""
        return k if self.normaliser == "k" else 1.0

    @property
    def norm_is_settled(self) -> bool:
        """Whether the norm follows neither the list nor its hits."""
        return self.normaliser in ("min", "k", "relevant")


@preset(
    "lrap",
    "label_ranking_average_precision",
    family="accuracy",
    fixed={"ties": "blocks", "normaliser": "relevant"},
)
class LabelRankingAveragePrecision(AveragePrecision):
    r"""Label ranking average precision: the preset ``map(ties=blocks,normaliser=relevant)``.

    .. math:: \frac{1}{|R_u|} \sum_{i \in L_u \cap R_u}
              \frac{|\{j \in R_u : s_{uj} \ge s_{ui}\}|}{|\{j \in L_u : s_{uj} \ge s_{ui}\}|}

    :math:`L_u` is the recommendation list of user u, :math:`R_u` are the user's relevant items,
    :math:`s_{ui}` is the score of item i. Relevant items outside the list count 0.

    Notes
    -----
    Use it to get the number of scikit-learn for several labels per sample. Do not use it to compare
    with ``map`` of other libraries: tied scores and long ground truths count in another way.

    References
    ----------
    Tsoumakas, Katakis & Vlahavas 2010, Mining Multi-label Data, Data Mining and Knowledge Discovery
    Handbook; scikit-learn, ``label_ranking_average_precision_score``.

    Examples
    --------
    >>> import rankwise as rw
    >>> lists = {"ann": {1: 0.75, 2: 0.5, 3: 0.5, 4: 0.25}}
    >>> rw.evaluate(lists, {"ann": {1, 3}}, "lrap")["lrap"]
    0.83333
    """


@metric(
    "mar", "average_recall", range=(0, 1), higher_is_better=True, plain=plain.average_recall_at_k
)
class AverageRecall(HitSum):
    r"""Mean of the recall at the rank of each relevant item.

    .. math:: AR@k = \frac{1}{\min(|R_u|, k)} \sum_{i \le k} R@i \cdot rel_i

    :math:`R@i` is the recall at i, :math:`rel_i` is 1 if the item at rank i is relevant, else 0. An
    ideal list scores less than 1 if :math:`|R_u| > 1`: :math:`(\min(|R_u|, k) + 1) / (2 |R_u|)`.

    Notes
    -----
    Use it for how early recall is gained, if a report you compare with has it. Do not read it as a
    share: an ideal list scores less than 1 where a user has several relevant items.

    References
    ----------
    Anelli et al. 2021, Elliot: a Comprehensive and Rigorous Framework, SIGIR.

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": [1, 2, 3]}, {"ann": {1, 3}}, "mar@3")["mar@3"]
    0.75
    """

    def terms(self, block: Block) -> Array:
        """Return the number of hits down to the rank of each hit."""
        return block.hits.probability * block.hits.position

    def norm(self, block: Block, k: int) -> Array:
        """Return the number of relevant items, times the number that fits into the top k."""
        return block.n_relevant * block.relevant_in_reach(k)


@metric(
    "mean_precision",
    range=(0, 1),
    higher_is_better=True,
    cutoff="required",
    plain=plain.mean_precision_at_k,
)
class MeanPrecision(PerUser):
    r"""Mean of the precision at every rank from 1 to k.

    .. math:: \frac{1}{k} \sum_{i=1}^{k} P@i

    :math:`P@i` is the precision at i. Unlike ``map``, it has a term for every rank, with a hit or
    without.

    Notes
    -----
    Use it for one number over all cut-offs up to k; Elliot calls it MAP. Do not report it as MAP:
    it has a term for every rank. It reaches 1 only if all k items are relevant.

    References
    ----------
    Anelli et al. 2021, Elliot: a Comprehensive and Rigorous Framework, SIGIR (``MAP``).

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": [1, 2]}, {"ann": {1}}, "mean_precision@2")["mean_precision@2"]
    0.75
    """

    def value(self, block: Block, k: int) -> Array:
        """Return the mean precision, shape (U,)."""
        hits, xp = block.hits, block.xp
        # A hit at rank r adds 1/i at every rank i from r to k.
        sums = np.cumsum(1.0 / np.arange(k, 0, -1))[::-1]
        terms = xp.take(xp.asarray(sums.copy(), dtype=xp.float64), xp.clip(hits.rank, max=k) - 1)
        return block.sum_hits(hits.probability * terms, k) / k


@metric(
    "mean_recall",
    range=(0, 1),
    higher_is_better=True,
    cutoff="required",
    plain=plain.mean_recall_at_k,
)
class MeanRecall(PerUser):
    r"""Mean of the recall at every rank from 1 to k: area under the curve of recall over ranks.

    .. math:: \frac{1}{k} \sum_{i=1}^{k} R@i

    :math:`R@i` is the recall at i. Unlike ``mar``, it has a term for every rank, with a hit or
    without.

    Notes
    -----
    Use it for one number over all cut-offs up to k; Elliot calls it MAR. Do not read it as a share
    of an ideal list: it reaches 1 only if the one relevant item is first.

    References
    ----------
    Anelli et al. 2021, Elliot: a Comprehensive and Rigorous Framework, SIGIR (``MAR``).

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": [1, 2]}, {"ann": {2, 3}}, "mean_recall@2")["mean_recall@2"]
    0.25
    """

    def value(self, block: Block, k: int) -> Array:
        """Return the mean recall, shape (U,)."""
        hits, xp = block.hits, block.xp
        n_ranks = k + 1.0 - xp.astype(hits.rank, xp.float64)  # from that of the hit to k
        return divide(block.sum_hits(hits.probability * n_ranks, k), k * block.n_relevant)


@metric("r_precision", "rprec", range=(0, 1), higher_is_better=True, plain=plain.r_precision)
class RPrecision(HitSum):
    r"""Precision at a cut-off equal to the user's number of relevant items.

    .. math:: |R_u \cap L_u^{c}| / c, \quad c = |R_u|

    :math:`R_u` are the relevant items of user u, :math:`L_u^c` is the top c of the recommendation
    list. With a cut-off k, only hits in the top k count.

    Parameters
    ----------
    multiple : float, default=1.0
        The cut-off as a multiple of :math:`|R_u|`, above 0:
        :math:`c = \lfloor multiple \cdot |R_u| + 0.9 \rfloor` (trec_eval's ``Rprec_mult``).
    without_hit : {"zero", "undefined"}, default="zero"
        The value of a user without a hit: 0, or none, so that the mean is over users with a hit (as
        in recommenders).

    Notes
    -----
    Use it where users differ widely in the number of relevant items, and no cut-off suits all. Do
    not use it where lists are shorter than that number. With one relevant item it is precision at
    1.

    References
    ----------
    Buckley & Voorhees 2000, Evaluating Evaluation Measure Stability, SIGIR.

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": [1, 2, 3]}, {"ann": {1, 3}}, "r_precision")["r_precision"]
    0.5
    """

    multiple: Annotated[float, ABOVE_0] = 1.0
    without_hit: Literal["zero", "undefined"] = "zero"

    def values(self, block: Block, k: Cutoffs) -> Array:
        """Return the values at every cut-off, each of shape (U,)."""
        values = super().values(block, k)
        return (
            values if self.without_hit == "zero" else [or_nan(value, value > 0) for value in values]
        )

    def _cutoff(self, block: Block) -> Array:
        if self.multiple == 1.0:
            return block.n_relevant
        xp = block.xp
        return xp.floor(self.multiple * xp.astype(block.n_relevant, xp.float64) + 0.9)

    def terms(self, block: Block) -> Array:
        """Return 1 for each hit in the first R ranks."""
        hits, xp = block.hits, block.xp
        return hits.probability * (hits.rank <= xp.take(self._cutoff(block), hits.user))

    def norm(self, block: Block, k: int) -> Array:
        """Return the number of relevant items, or its multiple."""
        return self._cutoff(block)


@metric(
    "mrr",
    "rr",
    "reciprocal_rank",
    "recip_rank",
    range=(0, 1),
    higher_is_better=True,
    family="accuracy",
    plain=plain.reciprocal_rank,
)
class ReciprocalRank(RunningSum):
    r"""One over the rank of the first relevant item.

    .. math:: RR@k = 1 / \min\{i \le k : rel_i = 1\}

    :math:`rel_i` is 1 if the item at rank i is relevant, else 0. The value is 0 if no relevant item
    is in the top k.

    Notes
    -----
    Use it where users look for one item: known-item search, the next item of a session. Do not use
    it where several items are relevant: it sees nothing after the first hit, and its jump from 1 to
    1/2 makes it noisy.

    References
    ----------
    Voorhees 1999, The TREC-8 Question Answering Track Report.

    Examples
    --------
    >>> import rankwise as rw
    >>> recommendations = {"ann": [1, 2, 3], "bob": [1, 2, 3], "cyd": [1, 2, 3]}
    >>> rw.evaluate(recommendations, {"ann": {1}, "bob": {3}, "cyd": {9}}, "mrr@3")["mrr@3"]
    0.4444
    """

    def terms(self, block: Block) -> Array:
        """Return one over the rank of the first hit of each user, 0 for later hits."""
        return block.hits.first() / block.hits.rank


class _ReciprocalRanks(HitSum):
    """A sum of one over the rank of every hit."""

    def terms(self, block: Block) -> Array:
        """Return one over the rank of each hit."""
        return block.hits.probability / block.hits.rank


@metric(
    "arhr",
    "rhr",
    range=(0, math.inf),
    higher_is_better=True,
    family="accuracy",
    plain=plain.arhr_at_k,
)
class ARHR(_ReciprocalRanks):
    r"""Average reciprocal hit rank: the sum of one over the rank of every hit in the top k.

    .. math:: ARHR@k = \sum_{i \le k} rel_i / i

    :math:`rel_i` is 1 if the item at rank i is relevant, else 0. The same as ``mrr`` for users with
    one relevant item.

    Parameters
    ----------
    normaliser : {"none", "relevant", "hits"}, default="none"
        ``"relevant"`` divides by the number of relevant items: the mean reciprocal rank of all of
        them. ``"hits"`` divides by the number of hits in the top k: the mean reciprocal rank of
        what was found, which does not penalise misses (LlamaIndex's granular MRR); with tied
        scores, the expected sum over the expected number.

    Notes
    -----
    Use it where every hit counts, the first ranks most, and the total matters. Do not use it to
    compare users or data sets with different numbers of relevant items: it is not normalised, as
    ``ncrr`` is.

    References
    ----------
    Deshpande & Karypis 2004, Item-Based Top-N Recommendation Algorithms, ACM TOIS 22(1).

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": [1, 2, 3, 4]}, {"ann": {1, 4}}, "arhr@4")["arhr@4"]
    1.25
    """

    normaliser: Literal["none", "relevant", "hits"] = "none"

    def norm(self, block: Block, k: int) -> Array | None:
        """Return the number of relevant items or of hits, for these normalisers."""
        if self.normaliser == "hits":
            return block.sum_hits(block.hits.tie_probability, k)
        return block.n_relevant if self.normaliser == "relevant" else None

    @property
    def norm_is_settled(self) -> bool:
        """Whether the norm does not follow the hits of the list."""
        return self.normaliser != "hits"


@metric("ncrr", range=(0, 1), higher_is_better=True, family="accuracy", plain=plain.ncrr_at_k)
class NCRR(_ReciprocalRanks):
    r"""Normalised cumulative reciprocal rank: ARHR divided by that of the ideal list.

    .. math:: NCRR@k = \frac{\sum_{i \le k} rel_i / i}{\sum_{i \le \min(k, |R_u|)} 1 / i}

    :math:`rel_i` is 1 if the item at rank i is relevant, else 0; :math:`|R_u|` is the number of
    relevant items of user u. Equal to nDCG with binary relevance and the discount 1 / i.

    Notes
    -----
    Use it for the ranks of all relevant items where the first ranks matter far more than the
    others. Do not use it where users read on: the first of three places has more than half of the
    weight.

    References
    ----------
    Salah, Truong & Lauw 2020, Cornac: A Comparative Framework for Multimodal Recommender Systems,
    JMLR 21(95), whose ideal list is no longer than the list itself.

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": [1, 2, 3, 4]}, {"ann": {1, 4}}, "ncrr@4")["ncrr@4"]
    0.83333
    """

    inputs = ("ideal",)

    def norm(self, block: Block, k: int) -> Array:
        """Return the sum of one over the rank for the ideal list."""
        return block.sum_ideal(block.xp.ones_like, _reciprocal, k)


def _reciprocal(rank: Array) -> Array:
    """Return 1 over each rank."""
    return 1.0 / rank


@metric(
    "iprec",
    "interpolated_precision",
    range=(0, 1),
    higher_is_better=True,
    family="accuracy",
    plain=plain.interpolated_precision_at_k,
)
class InterpolatedPrecision(PerUser):
    r"""Interpolated precision at a recall, or averaged over 11 recalls from 0 to 1.

    .. math:: \max \{P@i : i \le k, \; R@i \ge level\}

    :math:`P@i` and :math:`R@i` are precision and recall at i. 0 if the recall at k is below the
    level. Tied items are taken in order of item id.

    Parameters
    ----------
    level : float or None, default=None
        The recall level, in [0, 1]; None: the mean over ``levels``.
    levels : list of float, default=[0, 0.1, ..., 1]
        The recall levels of the mean, each in [0, 1]; used without ``level``.
    rounding : {"exact", "trec_eval", "nearest"}, default="exact"
        The number of hits that reaches a level, with R the number of relevant items: ``"exact"`` is
        at least level times R; ``"nearest"`` is level times R rounded to the nearest whole number
        (trec_eval 10); ``"trec_eval"`` is :math:`\lfloor level \cdot R + 0.9 \rfloor` in floating
        point (trec_eval up to version 9). For multiples of 0.1 the latter agrees with ``"exact"``,
        except at level 0.7 with R = 3, where it requires 2 hits instead of 3.

    Notes
    -----
    Use it for precision at a recall that the task demands, and for the classical 11-point curve. Do
    not use it for short lists: a recall that is not reached within k scores 0.

    References
    ----------
    Manning, Raghavan & Schütze 2008, Introduction to Information Retrieval, section 8.4; trec_eval,
    ``iprec_at_recall`` and ``11pt_avg``.

    Examples
    --------
    >>> import rankwise as rw
    >>> names = ["iprec(level=0.5)", "iprec"]
    >>> result = rw.evaluate({"ann": [1, 2, 3, 4]}, {"ann": {1, 4}}, names)
    >>> result["iprec(level=0.5)"], result["iprec"]
    (1.0, 0.77273)
    """

    inputs = ("judged",)
    level: Annotated[float | None, IN_CLOSED_0_1] = None
    levels: tuple[float, ...] = ELEVEN_LEVELS
    rounding: Literal["exact", "trec_eval", "nearest"] = "exact"

    def __post_init__(self) -> None:
        """Check the levels."""
        super().__post_init__()
        if not self.levels or not all(0 <= level <= 1 for level in self.levels):
            raise ParameterError(
                f"{self.name}: levels must lie in [0, 1]",
                found=f"levels={show_value(self.levels)}",
                hint="levels=[0.2,0.5,0.8]",
            )

    def value(self, block: Block, k: int) -> Array:
        """Return interpolated precision, shape (U,)."""
        rows, xp = block.judged, block.xp
        within = xp.where(rows.rank <= k, rows.relevant, xp.zeros_like(rows.relevant))
        hits = running_count(rows.user, within, block.n_users)
        n_relevant = xp.astype(at_least_one(xp.take(block.n_relevant, rows.user)), xp.float64)
        precision = within * hits / rows.rank
        n_rows = bincount(rows.user, xp.ones_like(within), block.n_users)
        levels = self.levels if self.level is None else (float(self.level),)
        total = xp.zeros(block.n_users, dtype=xp.float64)
        for level in levels:
            if self.rounding == "exact":
                reached = hits / n_relevant >= level
            else:
                reached = hits >= xp.floor(
                    level * n_relevant + (0.9 if self.rounding == "trec_eval" else 0.5)
                )
            enough = xp.where(reached, precision, xp.zeros_like(precision))
            total = total + _largest_of_each(rows.user, enough, n_rows)
        return total / len(levels)


def _largest_of_each(user: Array, values: Array, n_rows: Array) -> Array:
    """Return the largest value of each user's rows, 0 without rows; rows in order of user."""
    if not values.shape[0]:
        return n_rows * 0.0
    xp, order = namespace(values), order_within(user, values)
    last = xp.astype(xp.cumulative_sum(n_rows), xp.int64) - 1
    largest = xp.take(xp.take(values, order), xp.clip(last, min=0))
    return xp.where(n_rows > 0, largest, 0.0)
