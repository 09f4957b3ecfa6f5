"""Accuracy by pairs at the top: binary preference and partial area."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from rankwise.core.backend import bincount, count, namespace
from rankwise.measures.arithmetic import divide, or_nan
from rankwise.measures.kinds import PerUser
from rankwise.measures.measure import measure

if TYPE_CHECKING:
    from rankwise.core.backend import Array
    from rankwise.core.block import Block, Judged

__all__ = ["BPref", "PartialAUC"]


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

    additive: ClassVar[bool] = True
    beyond_cut: ClassVar[bool] = True
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
        kept = rows.relevant * (1.0 - lost) * block.worth(rows.user, rows.item)
        total = bincount(rows.user, kept, block.n_users)
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

    additive: ClassVar[bool] = True
    beyond_cut: ClassVar[bool] = True
    positives: Literal["all", "top"] = "all"

    def values(self, block: Block, k: Array) -> Array:
        """Return partial areas, shape (U, n_k)."""
        hits, xp = block.hits, namespace(block.list_length)
        columns = []
        for cutoff in (int(one) for one in k):
            share, relevant = _mean_of_left(block, cutoff) / cutoff, block.n_relevant
            share = share * block.worth(hits.owner, hits.item)
            if self.positives == "top":
                share = xp.where(hits.each(hits.nth) <= cutoff, share, xp.zeros_like(share))
                relevant = xp.clip(relevant, max=cutoff)
            total = bincount(hits.owner, share, block.n_users)
            columns.append(divide(total, relevant))
        return xp.stack(columns, axis=0).T
