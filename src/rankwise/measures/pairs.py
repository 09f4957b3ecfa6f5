r"""Accuracy by pairs: how often a relevant item stands above one that is not.

For user u, :math:`n_u` is the number of candidates that are not relevant: the catalogue less what
the user has seen in training, less the relevant items. :math:`a_i` is how many of them stand above
the relevant item i. Candidates that are not in a list count as tied after it, so pairs of them are
worth one half; where scores tie, pairs are worth one half too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from rankwise.core.backend import bincount, count, namespace
from rankwise.measures.arithmetic import at_least_one, divide, or_nan
from rankwise.measures.kinds import PerUser, Pooled
from rankwise.measures.measure import measure

if TYPE_CHECKING:
    from rankwise.core.backend import Array
    from rankwise.core.block import Block, Judged
    from rankwise.core.engine import Needs

__all__ = ["AUC", "GAUC", "LAUC", "BPref", "PartialAUC"]


@measure(
    "bpref",
    range=(0, 1),
    higher_is_better=True,
    cutoff="none",
    needs=frozenset({"judged"}),
    family="accuracy",
)
class BPref(PerUser):
    r"""Binary preference: how few judged items that are not relevant stand above relevant ones.

    .. math:: \frac{1}{|R_u|} \sum_{i \in L_u \cap R_u}
              \left(1 - \frac{\min(n_i, |R_u|)}{\min(N_u, |R_u|)}\right)

    :math:`N_u` truth rows of the user are judged and not relevant, and :math:`n_i` of them stand
    above item i; items without a truth row are passed over. Range [0, 1]; higher is better.

    Parameters
    ----------
    without_judged : {"one", "undefined"}
        What a relevant item found is worth where nothing is judged not relevant: 1 (as trec_eval
        has it), or the user has no value (ranx).

    References
    ----------
    Buckley & Voorhees 2004, Retrieval Evaluation with Incomplete Information, SIGIR.

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": [1, 2, 3, 4]}, {"ann": {1: 1, 2: 0, 3: 1, 9: 0}}, "bpref")["bpref"]
    0.75
    """

    without_judged: Literal["one", "undefined"] = "one"

    def values(self, block: Block, k: Array) -> Array:
        """Return binary preference, shape (U, 1)."""
        rows = block.rows("judged")
        xp = namespace(block.list_length)
        wrong = 1.0 - rows.relevant
        per_user = bincount(rows.user, wrong, block.n_users)
        before = xp.cumulative_sum(per_user) - per_user
        above = xp.cumulative_sum(wrong) - xp.take(before, rows.user)
        relevant = xp.astype(block.n_relevant, xp.float64)
        judged = xp.astype(block.n_judged, xp.float64) - relevant
        worst = xp.take(xp.minimum(judged, relevant), rows.user)
        most = xp.take(relevant, rows.user)
        lost = divide(_mean_of_lost(block, rows, above, most), worst)
        total = bincount(rows.user, rows.relevant * (1.0 - lost), block.n_users)
        value = divide(total, relevant)
        return (or_nan(value, judged > 0) if self.without_judged == "undefined" else value)[:, None]


def _mean_of_lost(block: Block, rows: Judged, above: Array, most: Array) -> Array:
    """Return min(items that are not relevant above each row, most), its mean where scores tie.

    In a tied group with m of them, each number from 0 to m is as likely to be above an item.
    """
    xp = namespace(above)
    if rows.tie is None:
        return xp.minimum(above, most)
    wrong = 1.0 - rows.relevant
    # Rows of one user and one group stand together; number the groups.
    new = xp.ones(rows.rank.shape[0], dtype=xp.int64)
    same = (rows.user[1:] == rows.user[:-1]) & (rows.tie[1:] == rows.tie[:-1])
    new[1:] = xp.astype(~same, xp.int64)
    group = xp.cumulative_sum(new) - 1
    size = int(group[-1]) + 1 if group.shape[0] else 0
    inside = bincount(group, wrong, size)
    (heads,) = xp.nonzero(new)
    before = xp.take((above - wrong)[heads], group)
    m = xp.take(inside, group)
    if block.ties == "optimistic":
        return xp.minimum(before, most)
    if block.ties == "pessimistic":
        return xp.minimum(before + m, most)
    fewer = xp.clip(xp.minimum(most - before, m + 1.0), min=0.0)
    total = fewer * before + fewer * (fewer - 1.0) / 2.0 + (m + 1.0 - fewer) * most
    return total / (m + 1.0)


def _mean_of_left(block: Block, cutoff: int) -> Array:
    """Return for each relevant item max(0, k - irrelevant items above), its mean where it ties."""
    hits = block.hits
    xp = namespace(hits.nth)
    if hits.groups is None:
        return xp.clip(cutoff - (xp.astype(hits.rank, xp.float64) - hits.nth), min=0.0)
    groups = hits.groups
    heads = groups.starts[:-1]
    size = groups.starts[1:] - heads
    m = (size - count(groups.hits, len(heads)))[groups.hits]
    left = cutoff - (hits.rank[heads] - hits.nth[heads])[groups.hits]
    some = xp.clip(xp.minimum(left, m + 1.0), min=0.0)
    return (some * left - some * (some - 1.0) / 2.0) / (m + 1.0)


def _above(block: Block) -> Array:
    """How many items that are not relevant stand above each hit, times the chance of the hit."""
    hits = block.hits
    return hits.chance * (namespace(hits.nth).astype(hits.rank, hits.nth.dtype) - hits.nth)


class _Area(Pooled):
    """Shares of the irrelevant candidates below relevant items, added up."""

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
        """Return relevant items, hits, items above them, list length, and items masked."""
        xp = namespace(block.list_length)
        zero = xp.zeros((block.n_users, k.shape[0]), dtype=xp.float64)
        masked = zero
        if self.seen == "excluded":
            assert block.repeats is not None  # the plan sees to it
            masked = zero + xp.astype(block.repeats.apart, xp.float64)[:, None]
        return xp.stack(
            [
                zero + xp.astype(block.n_relevant, xp.float64)[:, None],
                block.sum_hits(block.hits.chance, k),
                block.sum_hits(_above(block), k),
                zero + xp.astype(block.list_length, xp.float64)[:, None],
                masked,
            ],
            axis=2,
        )

    def pool(self, sums: Array, catalogue_size: int) -> Array:
        """Return the area of each user."""
        return self._shares(sums, catalogue_size, unlisted=True) / at_least_one(sums[..., 0])

    def _shares(self, sums: Array, catalogue_size: int, *, unlisted: bool) -> Array:
        """Sum the shares of all relevant items; NaN where there is nothing to stand above."""
        xp = namespace(sums)
        relevant, hits, above, length, masked = (sums[..., j] for j in range(5))
        wrong = catalogue_size - relevant - masked
        if self.negatives == "one_more":
            wrong = wrong + 1.0
        total = hits * wrong - above
        if unlisted:
            total = total + (relevant - hits) * 0.5 * (wrong - (length - hits))
        shares = divide(total, wrong)
        return or_nan(xp.where(length > 0, shares, 0.0), (wrong > 0) & (relevant > 0))


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
        return self._shares(sums, catalogue_size, unlisted=False) / at_least_one(sums[..., 5])


@measure(
    "partial_auc",
    "pauc",
    range=(0, 1),
    higher_is_better=True,
    cutoff="required",
    family="accuracy",
)
class PartialAUC(PerUser):
    r"""Area under the ROC curve up to the first k items that are not relevant.

    .. math:: \frac{1}{k \, |R_u|} \sum_{i \in L_u \cap R_u} \max(0, k - a_i)

    Relevant items that are not in the list are below all of them. Range [0, 1]; higher is better.
    With tied scores ``positives="top"`` takes a tied item at its mean place.

    Parameters
    ----------
    positives : {"all", "top"}
        ``"top"`` takes only the first min(k, \|R_u\|) relevant items, and divides by their number.

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

    positives: Literal["all", "top"] = "all"

    def values(self, block: Block, k: Array) -> Array:
        """Return partial areas, shape (U, n_k)."""
        hits, xp = block.hits, namespace(block.list_length)
        columns = []
        for cutoff in (int(one) for one in k):
            share, relevant = _mean_of_left(block, cutoff) / cutoff, block.n_relevant
            if self.positives == "top":
                share = xp.where(hits.each(hits.nth) <= cutoff, share, xp.zeros_like(share))
                relevant = xp.clip(relevant, max=cutoff)
            total = bincount(hits.owner, share, block.n_users)
            columns.append(divide(total, relevant))
        return xp.stack(columns, axis=0).T
