r"""Accuracy by pairs: how often a relevant item ranks above one that is not relevant.

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
from rankwise.core.arrays import Array, bincount, namespace
from rankwise.core.block import Block
from rankwise.measures.arithmetic import at_least_one, divide, or_nan
from rankwise.measures.input_kinds import Input
from rankwise.measures.kinds import Pooled, Sums, Weightable
from rankwise.measures.measure import ValueKind, measure

__all__ = ["AUC", "GAUC", "LAUC"]


class _Sums(NamedTuple):
    """What the area of a user is computed from; hits and relevant items count by their weight."""

    n_relevant: Array
    """The number of relevant items, |R|."""
    relevant: Array
    """The weight of the relevant items: their number, unless a debiased measure weights them."""
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
class _Area(Weightable, Pooled):
    """For each relevant item, the share of the irrelevant candidates below it, summed.

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
        """The catalogue and, if seen items are not candidates, what lists share with them."""
        seen: tuple[Input, ...] = ("overlap_history",) if self.seen == "excluded" else ()
        return ("whole_catalogue", *seen)

    def sums(self, block: Block, k: int) -> Sums:
        """Return what the area of each user is computed from, arrays of shape (U,)."""
        hits, xp = block.hits, block.xp
        n_relevant = xp.astype(block.n_relevant, xp.float64)
        return _Sums(
            n_relevant=n_relevant,
            relevant=n_relevant if block.weight is None else _relevant_weight(block),
            hits=block.sum_hits(hits.probability, k),
            above=block.sum_hits(hits.probability * hits.irrelevant_above, k),
            n_hits=bincount(hits.user, hits.unweighted, block.n_users),
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


@measure("auc", range=(0, 1), higher_is_better=True, cutoff="none", family="accuracy", plain=plain.auc)
class AUC(_Area):
    r"""Area under the ROC curve: probability that a relevant item ranks above an irrelevant one.

    .. math:: \frac{1}{\sum_u |R_u|} \sum_u \sum_{i \in R_u} \frac{n_u - a_i}{n_u}

    :math:`R_u` are the relevant items of user u; :math:`n_u` candidates are not relevant: the
    catalogue minus the user's training items, minus the relevant items. :math:`a_i` of them rank
    above the relevant item i; a tied pair counts one half, and candidates outside the list count as
    tied at its end.

    The mean over the relevant items of all users: the weight of a user is the number of relevant
    items. A user without a list scores 0. Range [0, 1]; higher is better; a random ranking scores
    0.5. The catalogue is ``items``, or by default all items seen.

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
        """What the value is made of."""
        return "weighted mean"

    def user_weights(self, sums: Sums) -> Array | None:
        """Weight users by their number of relevant items."""
        return _Sums(*sums).n_relevant


@measure("gauc", "grouped_auc", range=(0, 1), higher_is_better=True, cutoff="none", family="accuracy", plain=plain.auc)
class GAUC(_Area):
    r"""Area under the ROC curve of each user, averaged over users.

    .. math:: \frac{1}{|R_u|} \sum_{i \in R_u} \frac{n_u - a_i}{n_u}

    :math:`R_u` are the relevant items of user u; :math:`n_u` candidates are not relevant: the
    catalogue minus the user's training items, minus the relevant items. :math:`a_i` of them rank
    above the relevant item i; a tied pair counts one half, and candidates outside the list count as
    tied at its end.

    A user without a list scores 0. Range [0, 1]; higher is better; a random ranking scores 0.5.
    The catalogue is ``items``, or by default all items seen.

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


@measure(
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

    Range [0, 1]; higher is better. The catalogue is ``items``, or by default all items seen.

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
