r"""Accuracy by pairs: how often a relevant item stands above one that is not.

For user u, :math:`n_u` is the number of candidates that are not relevant: the catalogue less what
the user has seen in training, less the relevant items. :math:`a_i` is how many of them stand above
the relevant item i. Candidates that are not in a list count as tied after it, so pairs of them are
worth one half; where scores tie, pairs are worth one half too.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Literal

from rankwise.core.backend import bincount, namespace
from rankwise.measures.arithmetic import at_least_one, divide, or_nan
from rankwise.measures.kinds import Pooled
from rankwise.measures.measure import measure

if TYPE_CHECKING:
    from rankwise.core.backend import Array
    from rankwise.core.block import Block
    from rankwise.core.engine import Needs

__all__ = ["AUC", "GAUC", "LAUC"]


def _above(block: Block) -> Array:
    """How many items that are not relevant stand above each hit, times the chance of the hit."""
    hits = block.hits
    return hits.chance * (namespace(hits.nth).astype(hits.rank, hits.nth.dtype) - hits.nth)


class _Area(Pooled):
    """Shares of the irrelevant candidates below relevant items, added up."""

    additive: ClassVar[bool] = True
    ranks_candidates: ClassVar[bool] = True
    beyond_cut: ClassVar[bool] = True
    needs_catalogue: ClassVar[Literal["", "counted", "whole"]] = "whole"
    seen: Literal["excluded", "included"] = "excluded"
    negatives: Literal["exact", "one_more"] = "exact"

    @property
    def requires(self) -> Needs:
        """The history, if what was seen is no candidate."""
        return frozenset({"repeats"}) if self.seen == "excluded" else frozenset()

    @property
    def about(self) -> Literal["relevance", "list", "user"]:
        """It judges users with relevant items."""
        return "relevance"

    @property
    def mean_of_users(self) -> bool:
        """The value is a mean of users' own."""
        return True

    def sums(self, block: Block, k: Array) -> Array:
        """Return what each user adds, see `_shares`."""
        xp = namespace(block.list_length)
        zero = xp.zeros((block.n_users, k.shape[0]), dtype=xp.float64)
        relevant, length = (
            zero + xp.astype(counts, xp.float64)[:, None]
            for counts in (block.n_relevant, block.list_length)
        )
        worth = relevant
        if block.weight is not None:
            rows = block.rows("relevant")
            worth = zero + block.sum_rows(rows, block.worth(rows.user, rows.item))[:, None]
        if block.n_candidates is not None:
            masked = zero + math.nan  # all candidates were ranked
        elif self.seen == "excluded":
            assert block.repeats is not None  # the plan sees to it
            masked = zero + xp.astype(block.repeats.apart, xp.float64)[:, None]
        else:
            masked = zero
        hits = block.hits
        within = [block.sum_hits(own, k) for own in (hits.chance, _above(block))]
        found = zero + bincount(hits.user, hits.plain, block.n_users)[:, None]  # at any rank
        return xp.stack([relevant, worth, *within, found, length, masked], axis=2)

    def pool(self, sums: Array, catalogue_size: int) -> Array:
        """Return the area of each user."""
        return self._shares(sums, catalogue_size, unlisted=True) / at_least_one(sums[..., 0])

    def _shares(self, sums: Array, catalogue_size: int, *, unlisted: bool) -> Array:
        """Sum the shares of all relevant items; NaN where there is nothing to stand above.

        The sums are the number and the weight of relevant items; of those within the cut-off the
        weight, and how many others stand above them, by weight; how many are in the list at all;
        the length of the list; and how many items of the catalogue are no candidates, NaN where
        the list has all that are.
        """
        xp = namespace(sums)
        relevant, worth, hits, above, found, length, masked = (sums[..., j] for j in range(7))
        listed = length - found
        wrong = xp.where(xp.isnan(masked), listed, catalogue_size - relevant - masked)
        if self.negatives == "one_more":
            wrong = wrong + 1.0
        total = hits * wrong - above
        if unlisted:
            total = total + (worth - hits) * 0.5 * (wrong - listed)
        shares = divide(total, wrong)
        defined = (relevant > 0) & ((wrong > 0) | (xp.isnan(masked) & (length == 0)))
        return or_nan(xp.where(length > 0, shares, 0.0), defined)


@measure("auc", range=(0, 1), higher_is_better=True, cutoff="none", family="accuracy")
class AUC(_Area):
    r"""Area under the ROC curve: the chance that a relevant item stands above one that is not.

    .. math:: \frac{1}{\sum_u |R_u|} \sum_u \sum_{i \in R_u} \frac{n_u - a_i}{n_u}

    Over all relevant items of all users: a user counts as often as it has relevant items. A user
    without a list scores 0. Range [0, 1]; higher is better, 0.5 is chance.

    Parameters
    ----------
    seen : {"excluded", "included"}
        Whether items of the user's training history are candidates, unless the list or the truth
        holds them. ``"excluded"`` needs ``train``.
    negatives : {"exact", "one_more"}
        ``"one_more"`` takes :math:`n_u + 1` for :math:`n_u` (as Elliot and WarpRec do).

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

    seen: Literal["excluded", "included"] = "excluded"
    negatives: Literal["exact", "one_more"] = "exact"

    def weigh(self, sums: Array) -> Array | None:
        """Weigh users by their relevant items."""
        return sums[..., 0]


@measure(
    "gauc", "grouped_auc", range=(0, 1), higher_is_better=True, cutoff="none", family="accuracy"
)
class GAUC(_Area):
    r"""Area under the ROC curve of each user, then the mean.

    .. math:: \frac{1}{|R_u|} \sum_{i \in R_u} \frac{n_u - a_i}{n_u}

    A user without a list scores 0. Range [0, 1]; higher is better, 0.5 is chance.

    Parameters
    ----------
    seen : {"excluded", "included"}
        Whether items of the user's training history are candidates, unless the list or the truth
        holds them. ``"excluded"`` needs ``train``.
    negatives : {"exact", "one_more"}
        ``"one_more"`` takes :math:`n_u + 1` for :math:`n_u` (as Elliot and WarpRec do).

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

    seen: Literal["excluded", "included"] = "excluded"
    negatives: Literal["exact", "one_more"] = "exact"


@measure(
    "lauc", "limited_auc", range=(0, 1), higher_is_better=True, cutoff="required", family="accuracy"
)
class LAUC(_Area):
    r"""Limited area under the ROC curve: of the relevant items in the top k alone.

    .. math:: \frac{1}{\min(|R_u|, k)} \sum_{i \in R_u \cap L_u^k} \frac{n_u - a_i}{n_u}

    Range [0, 1]; higher is better.

    Parameters
    ----------
    seen : {"excluded", "included"}
        Whether items of the user's training history are candidates, unless the list or the truth
        holds them. ``"excluded"`` needs ``train``.
    negatives : {"exact", "one_more"}
        ``"one_more"`` takes :math:`n_u + 1` for :math:`n_u` (as Elliot and WarpRec do).

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

    seen: Literal["excluded", "included"] = "excluded"
    negatives: Literal["exact", "one_more"] = "exact"

    def sums(self, block: Block, k: Array) -> Array:
        """Return the sums of the area and min(relevant items, k)."""
        xp = namespace(block.list_length)
        capped = xp.minimum(block.n_relevant[:, None], k[None, :])
        capped = xp.astype(capped, xp.float64)[:, :, None]
        return xp.concat([super().sums(block, k), capped], axis=2)

    def pool(self, sums: Array, catalogue_size: int) -> Array:
        """Return the limited area of each user."""
        return self._shares(sums, catalogue_size, unlisted=False) / at_least_one(sums[..., 7])
