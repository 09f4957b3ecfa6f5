"""Accuracy by pairs: how often a relevant item ranks above one that is not relevant.

For user u, :math:`n_u` is the number of candidates that are not relevant: the catalogue minus the
items that the user has seen in training, minus the relevant items. :math:`a_i` is how many of them
rank above the relevant item i. Candidates outside the recommendation list count as tied at its end,
and a pair with tied scores counts one half.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

from rankwise import functional as plain
from rankwise.blocks.block import Block, JudgedRows
from rankwise.core.arrays import Array, bincount, count, namespace
from rankwise.core.ragged import TiedPairs, count_rises, count_wrong_pairs, order_within
from rankwise.metrics.arithmetic import (
    at_least_one,
    divide,
    n_in_top,
    or_nan,
    running_count,
    sums_by_user,
)
from rankwise.metrics.base import ValueKind, metric
from rankwise.metrics.inputs import Input
from rankwise.metrics.kinds import PerUser, Pooled, Sums, Weightable

_TIED_PAIRS: dict[str, TiedPairs] = {"optimistic": "right", "pessimistic": "wrong"}

__all__ = ["AUC", "GAUC", "LAUC", "BPref", "ListAUC", "PartialAUC"]


class _Sums(NamedTuple):
    """Per-user sums from which the area is computed; hits and relevant items are weighted."""

    n_relevant: Array
    """The number of relevant items, |R|."""
    relevant: Array
    """The weight of the relevant items: their number, unless a debiased metric weights them."""
    hits: Array
    """The weight of the hits in the top k."""
    above: Array
    """For each of these hits the number of irrelevant items above it, summed: the a_i."""
    n_hits: Array
    """The number of hits at any rank."""
    length: Array
    """The number of items in the list."""
    n_seen: Array
    """Items of the catalogue that are no candidates; NaN if the list ranks all candidates."""
    n_reached: Array
    """min(k, |R|)."""


@dataclass(frozen=True, kw_only=True, repr=False)
class _Area(Pooled, Weightable):
    """Sum over the relevant items of the share of irrelevant candidates ranked below each.

    Parameters
    ----------
    seen : {"excluded", "included"}, default="excluded"
        Whether items of the user's training history are excluded from the candidates; recommended
        and relevant items are always candidates. ``"excluded"`` needs ``train``.
    negatives : {"exact", "one_more"}, default="exact"
        The number of irrelevant candidates: :math:`n_u`, or :math:`n_u + 1` (as in Elliot and
        WarpRec).
    """

    counts_candidates = True
    reads_below_k = True
    defined_for = "relevance"
    mean_of_users = True
    seen: Literal["excluded", "included"] = "excluded"
    negatives: Literal["exact", "one_more"] = "exact"

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The catalogue and, if seen items are not candidates, the overlap of lists and history."""
        seen: tuple[Input, ...] = ("overlap_history",) if self.seen == "excluded" else ()
        return ("whole_catalogue", *seen)

    def sums(self, block: Block, k: int) -> Sums:
        """Return the sums from which the area of each user is computed, arrays of shape (U,)."""
        hits, xp = block.hits, block.xp
        n_relevant = xp.astype(block.n_relevant, xp.float64)
        return _Sums(
            n_relevant=n_relevant,
            relevant=n_relevant if block.weight is None else _relevant_weight(block),
            hits=block.sum_hits(hits.probability, k),
            above=block.sum_hits(hits.probability * hits.irrelevant_above, k),
            n_hits=bincount(hits.user, hits.tie_probability, block.n_users),
            length=xp.astype(block.list_length, xp.float64),
            n_seen=self._n_seen(block),
            n_reached=xp.astype(block.relevant_in_reach(k), xp.float64),
        )

    def _n_seen(self, block: Block) -> Array:
        xp = block.xp
        if block.n_candidates is not None:
            return xp.full((block.n_users,), math.nan, dtype=xp.float64)
        if self.seen == "included":
            return xp.zeros(block.n_users, dtype=xp.float64)
        return xp.astype(block.overlap_history.n_elsewhere, xp.float64)

    def pool(self, sums: Sums, catalogue_size: int) -> Array:
        """Return the area of each user: the mean share over all relevant items."""
        s = _Sums(*sums)
        n, beside = self._candidates(s, catalogue_size)
        # Relevant items that are not in the list tie with all candidates outside it.
        unlisted = (s.relevant - s.hits) * 0.5 * beside
        return self._share(s, s.hits * n - s.above + unlisted, n) / at_least_one(s.n_relevant)

    def _candidates(self, s: _Sums, catalogue_size: int) -> tuple[Array, Array]:
        """Return n_u, the irrelevant candidates, and how many of them are outside the list."""
        listed = s.length - s.n_hits
        xp = namespace(s.length)
        n = xp.where(xp.isnan(s.n_seen), listed, catalogue_size - s.n_relevant - s.n_seen)
        n = n + 1.0 if self.negatives == "one_more" else n
        return n, n - listed

    def _share(self, s: _Sums, below: Array, n: Array) -> Array:
        """Return the irrelevant candidates below relevant items over n_u; NaN without any."""
        xp = namespace(s.length)
        empty_ranking = xp.isnan(s.n_seen) & (s.length == 0)
        defined = (s.n_relevant > 0) & ((n > 0) | empty_ranking)
        return or_nan(xp.where(s.length > 0, divide(below, n), 0.0), defined)


def _relevant_weight(block: Block) -> Array:
    """Return the total weight of the relevant items, shape (U,)."""
    rows = block.relevant
    return block.sum_rows(rows, block.item_weight(rows.user, rows.item))


@metric(
    "auc", range=(0, 1), higher_is_better=True, cutoff="none", family="accuracy", plain=plain.auc
)
class AUC(_Area):
    r"""Area under the ROC curve: probability that a relevant item ranks above an irrelevant one.

    .. math:: \frac{1}{\sum_u |R_u|} \sum_u \sum_{i \in R_u} \frac{n_u - a_i}{n_u}

    :math:`R_u` are the relevant items of user u; :math:`n_u` candidates are not relevant: the
    catalogue minus the user's training items, minus the relevant items. :math:`a_i` of them rank
    above the relevant item i; a tied pair counts one half, and candidates outside the list count as
    tied at its end.

    The mean over the relevant items of all users: the weight of a user is the number of relevant
    items. A user without a list scores 0. A random ranking scores 0.5. The catalogue is ``items``,
    or by default all items seen.

    Notes
    -----
    Use it to see how well scores order the whole catalogue, with the same weight for each relevant
    item. Do not use it for what users see: the middle of the ranking decides it, active users weigh
    more, and lists that end early leave the rest tied at 0.5.

    References
    ----------
    Rendle et al. 2009, BPR: Bayesian Personalized Ranking from Implicit Feedback, UAI.

    Examples
    --------
    >>> import rankwise as rw
    >>> name = "auc(seen=included)"
    >>> rw.evaluate({"ann": [1, 2, 3]}, {"ann": {1, 3}}, name, items=range(6))[name]
    0.875
    """

    @property
    def value_kind(self) -> ValueKind:
        """The kind of the value: a weighted mean."""
        return "weighted mean"

    def user_weights(self, sums: Sums) -> Array | None:
        """Weight users by their number of relevant items."""
        return _Sums(*sums).n_relevant


@metric(
    "gauc",
    "grouped_auc",
    range=(0, 1),
    higher_is_better=True,
    cutoff="none",
    family="accuracy",
    plain=plain.auc,
)
class GAUC(_Area):
    r"""Area under the ROC curve of each user, averaged over users.

    .. math:: \frac{1}{|R_u|} \sum_{i \in R_u} \frac{n_u - a_i}{n_u}

    :math:`R_u` are the relevant items of user u; :math:`n_u` candidates are not relevant: the
    catalogue minus the user's training items, minus the relevant items. :math:`a_i` of them rank
    above the relevant item i; a tied pair counts one half, and candidates outside the list count as
    tied at its end.

    A user without a list scores 0. A random ranking scores 0.5. The catalogue is ``items``, or by
    default all items seen.

    Notes
    -----
    Use it to see how well scores order all candidates of a user, such as the items of a ranking
    model's request. Do not use it for lists of ten from a large catalogue: all items outside them
    are tied, and the value stays near 0.5.

    References
    ----------
    Zhou et al. 2018, Deep Interest Network for Click-Through Rate Prediction, KDD.

    Examples
    --------
    >>> import rankwise as rw
    >>> name = "gauc(seen=included)"
    >>> rw.evaluate({"ann": [1, 2, 3]}, {"ann": {1, 3}}, name, items=range(6))[name]
    0.875
    """


@metric(
    "lauc",
    "limited_auc",
    range=(0, 1),
    higher_is_better=True,
    cutoff="required",
    family="accuracy",
    plain=plain.limited_auc_at_k,
)
class LAUC(_Area):
    r"""Limited area under the ROC curve: only the relevant items in the top k count.

    .. math:: \frac{1}{\min(|R_u|, k)} \sum_{i \in R_u \cap L_u^k} \frac{n_u - a_i}{n_u}

    :math:`L_u^k` is the top k of the recommendation list of user u, :math:`R_u` are the user's
    relevant items; :math:`n_u` candidates are not relevant: the catalogue minus the user's training
    items, minus the relevant items. :math:`a_i` of them rank above the relevant item i; a tied pair
    counts one half. A user without a list scores 0.

    The catalogue is ``items``, or by default all items seen.

    Notes
    -----
    Use it for the order of candidates where only the relevant items in the top k should count. Do
    not compare it with ``gauc`` or ``partial_auc``, and state its definition: the name is little
    known.

    References
    ----------
    Schröder, Thiele & Lehner 2011, Setting Goals and Choosing Metrics for Recommender System
    Evaluations, UCERSTI at RecSys.

    Examples
    --------
    >>> import rankwise as rw
    >>> name = "lauc(seen=included)@2"
    >>> rw.evaluate({"ann": [1, 2, 3]}, {"ann": {1, 3}}, name, items=range(6))[name]
    0.5
    """

    def pool(self, sums: Sums, catalogue_size: int) -> Array:
        """Return the limited area of each user: unlisted relevant items add nothing."""
        s = _Sums(*sums)
        n, _ = self._candidates(s, catalogue_size)
        return self._share(s, s.hits * n - s.above, n) / at_least_one(s.n_reached)


@metric(
    "bpref",
    range=(0, 1),
    higher_is_better=True,
    cutoff="none",
    family="accuracy",
    plain=plain.bpref,
)
class BPref(PerUser, Weightable):
    r"""Binary preference: how few items judged not relevant are ranked above relevant items.

    .. math:: \frac{1}{|R_u|} \sum_{i \in L_u \cap R_u}
              \left(1 - \frac{\min(n_i, |R_u|)}{\min(N_u, |R_u|)}\right)

    :math:`L_u` is the recommendation list of user u, :math:`R_u` are the user's relevant items.
    :math:`N_u` items of the user are judged not relevant, and :math:`n_i` of them are ranked above
    item i; items that are not judged are skipped.

    Parameters
    ----------
    without_judged : {"one", "undefined"}, default="one"
        What a user without ground truth items that are not relevant has: 1 for each recommended
        relevant item (as in trec_eval), or no value, whatever was recommended.
    negative_grades : {"irrelevant", "unjudged"}, default="irrelevant"
        How ground truth rows with a grade below 0 that are not relevant count: as judged not
        relevant, or as not judged (as in trec_eval).

    Notes
    -----
    Use it where only some items are judged, and some of these are judged not relevant. Do not use
    it with positive feedback alone: without items judged not relevant, every recommended relevant
    item counts 1.

    References
    ----------
    Buckley & Voorhees 2004, Retrieval Evaluation with Incomplete Information, SIGIR.

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": [1, 2, 3, 4]}, {"ann": {1: 1, 2: 0, 3: 1, 9: 0}}, "bpref")["bpref"]
    0.75
    """

    inputs = ("judged",)
    reads_below_k = True
    without_judged: Literal["one", "undefined"] = "one"
    negative_grades: Literal["irrelevant", "unjudged"] = "irrelevant"

    def value(self, block: Block, k: int) -> Array:
        """Return binary preference, shape (U,)."""
        rows, xp = block.judged, block.xp
        irrelevant = self._irrelevant(rows)
        above = running_count(rows.user, irrelevant, block.n_users)
        n_relevant = xp.astype(block.n_relevant, xp.float64)
        n_irrelevant = xp.astype(block.n_judged, xp.float64) - n_relevant
        if self.negative_grades == "unjudged":
            n_irrelevant = n_irrelevant - rows.n_negative
        bound = xp.take(xp.minimum(n_irrelevant, n_relevant), rows.user)
        limit = xp.take(n_relevant, rows.user)
        loss = divide(_mean_above(block, rows, irrelevant, above, limit), bound)
        terms = rows.relevant * (1.0 - loss) * block.item_weight(rows.user, rows.item)
        value = divide(bincount(rows.user, terms, block.n_users), n_relevant)
        if self.without_judged == "undefined":
            value = or_nan(value, n_irrelevant > 0)
        return value

    def _irrelevant(self, rows: JudgedRows) -> Array:
        """Return 1 where a recommended item is judged not relevant, else 0."""
        irrelevant = 1.0 - rows.relevant
        if self.negative_grades == "irrelevant":
            return irrelevant
        xp = namespace(irrelevant)
        return irrelevant * xp.astype(rows.truth >= 0, xp.float64)


def _mean_above(
    block: Block, rows: JudgedRows, irrelevant: Array, above: Array, limit: Array
) -> Array:
    """Return min(irrelevant items above each row, limit); its expectation where scores tie.

    In a tied group with m irrelevant items, each number from 0 to m of them is equally likely to be
    above an item.
    """
    xp = namespace(above)
    if rows.tie is None:
        return xp.minimum(above, limit)
    # Rows of one user and one tied group are adjacent; number the groups.
    new = xp.ones(rows.rank.shape[0], dtype=xp.int64)
    same = (rows.user[1:] == rows.user[:-1]) & (rows.tie[1:] == rows.tie[:-1])
    new[1:] = xp.astype(~same, xp.int64)
    group = xp.cumulative_sum(new) - 1
    n_groups = int(group[-1]) + 1 if group.shape[0] else 0
    m = xp.take(bincount(group, irrelevant, n_groups), group)
    (heads,) = xp.nonzero(new)
    before = xp.take((above - irrelevant)[heads], group)
    if block.ties == "optimistic":
        return xp.minimum(before, limit)
    if block.ties == "pessimistic":
        return xp.minimum(before + m, limit)
    # This many of the m + 1 equally likely numbers stay below the limit.
    n_below = xp.clip(xp.minimum(limit - before, m + 1.0), min=0.0)
    total = n_below * before + n_below * (n_below - 1.0) / 2.0 + (m + 1.0 - n_below) * limit
    return total / (m + 1.0)


def _mean_below(block: Block, cutoff: int) -> Array:
    """Return max(0, k - irrelevant items above) of each hit; its expectation where scores tie."""
    hits = block.hits
    xp = namespace(hits.position)
    if hits.groups is None:
        return xp.clip(cutoff - hits.irrelevant_above, min=0.0)
    groups = hits.groups
    heads = groups.starts[:-1]
    size = groups.starts[1:] - heads
    m = (size - count(groups.hits, len(heads)))[groups.hits]
    left = cutoff - (hits.rank[heads] - hits.position[heads])[groups.hits]
    n_positive = xp.clip(xp.minimum(left, m + 1.0), min=0.0)
    return (n_positive * left - n_positive * (n_positive - 1.0) / 2.0) / (m + 1.0)


@metric(
    "partial_auc",
    "pauc",
    range=(0, 1),
    higher_is_better=True,
    cutoff="required",
    family="accuracy",
    plain=plain.partial_auc_at_k,
)
class PartialAUC(PerUser, Weightable):
    r"""Area under the ROC curve up to the first k items that are not relevant.

    .. math:: \frac{1}{k \, |R_u|} \sum_{i \in L_u \cap R_u} \max(0, k - a_i)

    :math:`L_u` is the recommendation list of user u, :math:`R_u` are the user's relevant items,
    :math:`a_i` irrelevant items are ranked above item i; relevant items outside the list count 0.

    Parameters
    ----------
    positives : {"all", "top"}, default="all"
        The relevant items that count: all, or the first min(k, \|R_u\|) in the list, whose sum is
        then divided by min(k, \|R_u\|) instead of \|R_u\|. With tied scores, ``"top"`` counts a
        tied item by its mean position among the relevant items.

    Notes
    -----
    Use it for the order of items above the first k irrelevant ones. Do not use it for lists with
    fewer than k irrelevant items, and state its definition: the name has several.

    References
    ----------
    McClish 1989, Analyzing a Portion of the ROC Curve, Medical Decision Making 9(3); at the top of
    lists: Shi et al. 2023, On the Theories Behind Hard Negative Sampling for Recommendation, WWW.

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": [1, 2, 3]}, {"ann": {1, 3}}, "partial_auc@2")["partial_auc@2"]
    0.75
    """

    reads_below_k = True
    positives: Literal["all", "top"] = "all"

    def value(self, block: Block, k: int) -> Array:
        """Return partial areas, shape (U,)."""
        hits, xp = block.hits, block.xp
        share, n_relevant = _mean_below(block, k) / k, block.n_relevant
        share = share * block.item_weight(hits.owner, hits.item)
        if self.positives == "top":
            top = hits.to_items(hits.position) <= k
            share = xp.where(top, share, xp.zeros_like(share))
            n_relevant = block.relevant_in_reach(k)
        return divide(bincount(hits.owner, share, block.n_users), n_relevant)


@metric(
    "list_auc",
    "auroc",
    range=(0, 1),
    higher_is_better=True,
    family="accuracy",
    plain=plain.list_auc,
)
class ListAUC(PerUser):
    r"""Area under the ROC curve of the items in the top k alone.

    .. math:: \frac{1}{|L_u^k \cap R_u| \, |L_u^k \setminus R_u|} \sum_{i \in L_u^k \cap R_u}
              |\{j \in L_u^k \setminus R_u : rank_j > rank_i\}|

    :math:`L_u^k` is the top k of the recommendation list of user u, :math:`R_u` are the user's
    relevant items. The value is the probability that a relevant item of the top k ranks above an
    irrelevant one. Tied scores count one half without a cut-off; with one, tied items are taken in
    order of item id. For the area over all candidates, see ``gauc``.

    Parameters
    ----------
    one_class : {"undefined", "zero", "by_class"}, default="undefined"
        The value of a user whose top k has only relevant or only irrelevant items: none; 0 (as in
        TorchMetrics); or 1 if all are relevant, else 0 (as in RePlay).
    pairs : {"relevant", "graded"}, default="relevant"
        The pairs that are compared: of a relevant and an irrelevant item; or of any two judged
        items of different relevance, the larger of which should rank above the other (CatBoost's
        ``QueryAUC:type=Ranking``). An item without a row in the ground truth has no grade, and is
        in no pair.

    Notes
    -----
    Use it for the order of the items that were shown, such as the clicked and other items of one
    impression. Do not use it for retrieval: it ignores the relevant items that the list misses, so
    one hit above one miss scores 1.

    References
    ----------
    Hanley & McNeil 1982, The Meaning and Use of the Area under a ROC Curve, Radiology 143(1);
    TorchMetrics, ``RetrievalAUROC`` (0 where it is undefined); RePlay, ``RocAuc``.

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": [1, 2, 3]}, {"ann": {1, 3, 9}}, "list_auc")["list_auc"]
    0.5
    """

    one_class: Literal["undefined", "zero", "by_class"] = "undefined"
    pairs: Literal["relevant", "graded"] = "relevant"

    @property
    def reads_below_k(self) -> bool:  # type: ignore[override]
        """Whether irrelevant items of the whole list are counted."""
        return not self.k

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The judged items, if their grades count, or there is a cut-off that ties may cross."""
        return ("judged",) if self.k or self.pairs == "graded" else ()

    def value(self, block: Block, k: int) -> Array:
        """Return the area, shape (U,)."""
        if self.pairs == "graded":
            return self._graded_area(block, k)
        n_hits, wrong = self._in_the_list(block) if not self.k else self._in_the_top(block, k)
        n_misses = n_in_top(block, k) - n_hits
        n_pairs = n_hits * n_misses
        return self._share_right(n_pairs - wrong, n_pairs, (n_misses < 0.5) & (n_hits > 0.5))

    def _share_right(self, right: Array, n_pairs: Array, all_relevant: Array) -> Array:
        """Return the share of right pairs; without a pair the value of ``one_class``."""
        area = divide(right, n_pairs)
        if self.one_class == "zero":
            return area
        if self.one_class == "undefined":
            return or_nan(area, n_pairs > 0.5)
        xp = namespace(area)
        return xp.where(all_relevant, xp.ones_like(area), area)

    def _graded_area(self, block: Block, k: int) -> Array:
        """Return the share of pairs of different grades in the right order, shape (U,)."""
        rows, xp = block.judged, block.xp
        (near,) = xp.nonzero(rows.rank <= k)
        user, grade, relevant = rows.user[near], rows.truth[near], rows.relevant[near]

        ascending = order_within(user, grade)
        n_pairs = count_rises(user, xp.take(grade, ascending), block.n_users)
        if rows.tie is None or self.k:  # a cut-off takes tied items in order of item id
            wrong = count_rises(user, grade, block.n_users)
        else:
            tied = _TIED_PAIRS.get(block.ties, "half")
            wrong = count_wrong_pairs(user, rows.tie[near], grade, block.n_users, tied=tied)

        n_rows, n_hits = sums_by_user(block, user, xp.ones_like(relevant), relevant)
        return self._share_right(n_pairs - wrong, n_pairs, (n_rows > 0) & (n_hits == n_rows))

    @staticmethod
    def _in_the_list(block: Block) -> tuple[Array, Array]:
        """Return the numbers of hits, and of pairs of a hit and a higher miss, shape (U,) both."""
        hits = block.hits
        n_hits = bincount(hits.user, hits.probability, block.n_users)
        return n_hits, bincount(hits.user, hits.probability * hits.irrelevant_above, block.n_users)

    @staticmethod
    def _in_the_top(block: Block, k: int) -> tuple[Array, Array]:
        """Return the same numbers for the top k, with tied items in order of item id."""
        rows, xp = block.judged, block.xp
        hit = rows.relevant * xp.astype(rows.rank <= k, xp.float64)
        position = running_count(rows.user, hit, block.n_users)
        above = hit * (xp.astype(rows.rank, xp.float64) - position)
        n_hits, wrong = sums_by_user(block, rows.user, hit, above)
        return n_hits, wrong
