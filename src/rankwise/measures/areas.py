r"""Accuracy by pairs: how often a relevant item ranks above one that is not relevant.

For user u, :math:`n_u` is the number of candidates that are not relevant: the catalogue minus the
items that the user has seen in training, minus the relevant items. :math:`a_i` is how many of them
rank above the relevant item i. Candidates outside the recommendation list count as tied at its end,
and a pair with tied scores counts one half.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from rankwise import functional as plain
from rankwise.core.arrays import Array, bincount, namespace
from rankwise.core.block import Block, Cutoffs, Needs
from rankwise.measures.arithmetic import at_least_one, divide, or_nan
from rankwise.measures.kinds import Pooled
from rankwise.measures.measure import measure

__all__ = ["AUC", "GAUC", "LAUC"]


def _negatives_above(block: Block) -> Array:
    """Return the number of irrelevant items above each hit, times the probability of the hit."""
    hits = block.hits
    return hits.probability * (
        namespace(hits.position).astype(hits.rank, hits.position.dtype) - hits.position
    )


@dataclass(frozen=True, kw_only=True, repr=False)
class _Area(Pooled):
    """For each relevant item, the share of the irrelevant candidates below it, summed.

    Parameters
    ----------
    seen : {"excluded", "included"}, default="excluded"
        Whether items of the user's training history are candidates; recommended and relevant items
        always are. ``"excluded"`` needs ``train``.
    negatives : {"exact", "one_more"}, default="exact"
        ``"one_more"`` takes :math:`n_u + 1` for :math:`n_u` (as Elliot and WarpRec do).
    """

    additive = True
    counts_candidates = True
    reads_below_k = True
    needs_catalogue = "whole"
    defined_for = "relevance"
    mean_of_users = True
    seen: Literal["excluded", "included"] = "excluded"
    negatives: Literal["exact", "one_more"] = "exact"

    @property
    def requires(self) -> Needs:
        """The overlap with the history, if seen items are not candidates."""
        return frozenset({"overlap_history"}) if self.seen == "excluded" else frozenset()

    def sums(self, block: Block, k: Cutoffs) -> Array:
        """Return the seven sums of each user that `_shares` reads, shape (U, n_k, 7)."""
        xp = namespace(block.list_length)
        zero = xp.zeros((block.n_users, len(k)), dtype=xp.float64)
        n_relevant, length = (
            zero + xp.astype(counts, xp.float64)[:, None]
            for counts in (block.n_relevant, block.list_length)
        )
        weight = n_relevant
        if block.weight is not None:
            rows = block.rows("relevant")
            weight = zero + block.sum_rows(rows, block.item_weight(rows.user, rows.item))[:, None]
        if block.n_candidates is not None:
            masked = zero + math.nan  # the list ranks all candidates
        elif self.seen == "excluded":
            masked = zero + xp.astype(block.overlap["history"].n_elsewhere, xp.float64)[:, None]
        else:
            masked = zero
        hits = block.hits
        within = [block.sum_hits(row, k) for row in (hits.probability, _negatives_above(block))]
        n_hits = zero + bincount(hits.user, hits.unweighted, block.n_users)[:, None]  # at any rank
        return xp.stack([n_relevant, weight, *within, n_hits, length, masked], axis=2)

    def pool(self, sums: Array, catalogue_size: int) -> Array:
        """Return the area of each user."""
        return self._shares(sums, catalogue_size, unlisted=True) / at_least_one(sums[..., 0])

    def _shares(self, sums: Array, catalogue_size: int, *, unlisted: bool) -> Array:
        """Sum the shares over the user's relevant items; NaN without irrelevant candidates.

        The sums are: the number and the total weight of relevant items; the weight of the hits in
        the top k, and the weighted number of irrelevant items above these; the number of hits at
        any rank; the length of the list; and the number of catalogue items that are no candidates,
        NaN where the list ranks all candidates.
        """
        xp = namespace(sums)
        n_relevant, weight, hit_weight, above, n_hits, length, masked = (
            sums[..., j] for j in range(7)
        )
        listed_negatives = length - n_hits
        n_negatives = xp.where(
            xp.isnan(masked), listed_negatives, catalogue_size - n_relevant - masked
        )
        if self.negatives == "one_more":
            n_negatives = n_negatives + 1.0
        below = hit_weight * n_negatives - above
        if unlisted:
            below = below + (weight - hit_weight) * 0.5 * (n_negatives - listed_negatives)
        shares = divide(below, n_negatives)
        defined = (n_relevant > 0) & ((n_negatives > 0) | (xp.isnan(masked) & (length == 0)))
        return or_nan(xp.where(length > 0, shares, 0.0), defined)


@measure("auc", range=(0, 1), higher_is_better=True, cutoff="none", family="accuracy",
         plain=plain.auc)  # fmt: skip
class AUC(_Area):
    r"""Area under the ROC curve: probability that a relevant item ranks above an irrelevant one.

    .. math:: \frac{1}{\sum_u |R_u|} \sum_u \sum_{i \in R_u} \frac{n_u - a_i}{n_u}

    The mean over the relevant items of all users, so a user's weight is the number of its relevant
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

    def user_weights(self, sums: Array) -> Array | None:
        """Weight users by their number of relevant items."""
        return sums[..., 0]


@measure("gauc", "grouped_auc", range=(0, 1), higher_is_better=True, cutoff="none",
         family="accuracy", plain=plain.auc)  # fmt: skip
class GAUC(_Area):
    r"""Area under the ROC curve of each user, averaged over users.

    .. math:: \frac{1}{|R_u|} \sum_{i \in R_u} \frac{n_u - a_i}{n_u}

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


@measure("lauc", "limited_auc", range=(0, 1), higher_is_better=True, cutoff="required",
         family="accuracy", plain=plain.limited_auc_at_k)  # fmt: skip
class LAUC(_Area):
    r"""Limited area under the ROC curve: only the relevant items in the top k count.

    .. math:: \frac{1}{\min(|R_u|, k)} \sum_{i \in R_u \cap L_u^k} \frac{n_u - a_i}{n_u}

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

    def sums(self, block: Block, k: Cutoffs) -> Array:
        """Return the seven sums of the area and min(relevant items, k), shape (U, n_k, 8)."""
        xp = namespace(block.list_length)
        capped = block.relevant_in_reach(k)
        capped = xp.astype(capped, xp.float64)[:, :, None]
        return xp.concat([super().sums(block, k), capped], axis=2)

    def pool(self, sums: Array, catalogue_size: int) -> Array:
        """Return the limited area of each user."""
        return self._shares(sums, catalogue_size, unlisted=False) / at_least_one(sums[..., 7])
