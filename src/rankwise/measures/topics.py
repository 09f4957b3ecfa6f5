r"""Diversity over item categories: coverage of relevant categories, redundancy, calibration.

Categories come from a column of ``items``: lists, text such as ``"war|drama"``, or a column for
each category, named together as ``categories="genre_*"``.
"""

from __future__ import annotations

import math
from typing import Any, Literal

from rankwise import functional as plain
from rankwise.core.arrays import Array, bincount, namespace
from rankwise.core.block import Block, Cutoffs
from rankwise.core.facts import Categories, Fact
from rankwise.measures.arithmetic import check_parameter, discount, divide, or_nan
from rankwise.measures.kinds import PerUser
from rankwise.measures.measure import measure

__all__ = ["AlphaNDCG", "CalibrationError", "SubtopicRecall"]


class _OverCategories(PerUser):
    categories: str = "categories"

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The categories of items."""
        return (Fact("categories", self.categories),)

    def _categories(self, block: Block) -> Categories:
        return block.fact(self.facts[0], Categories)


@measure("subtopic_recall", "srecall", range=(0, 1), higher_is_better=True,
         needs=frozenset({"recommended", "judged", "relevant"}), family="diversity",
         plain=plain.subtopic_recall_at_k)  # fmt: skip
class SubtopicRecall(_OverCategories):
    r"""Share of the categories of the relevant items that the top k covers.

    .. math:: \frac{|C(L_u^k) \cap C(R_u)|}{|C(R_u)|}

    :math:`C` is the set of all categories of a set of items. Users whose relevant items have no
    category have no value. Range [0, 1]; higher is better. Tied items are taken in order of item
    id. Needs ``items`` with categories.

    Parameters
    ----------
    of : {"list", "hits"}, default="list"
        Whose categories count as covered: those of all items in the top k, or of the relevant
        items among them (as in WarpRec).
    categories : str, default="categories"
        The column of ``items`` with the categories.

    References
    ----------
    Zhai, Cohen & Lafferty 2003, Beyond Independent Relevance: Methods and Evaluation Metrics for
    Subtopic Retrieval, SIGIR.

    Examples
    --------
    >>> import rankwise as rw
    >>> items = {"item": [1, 2, 3], "genres": ["war", "drama", "war|comedy"]}
    >>> rw.evaluate({"ann": [1, 2]}, {"ann": {3}}, "srecall@2", items=items)["srecall@2"]
    0.5
    """

    of: Literal["list", "hits"] = "list"
    categories: str = "categories"

    def values(self, block: Block, k: Cutoffs) -> Array:
        """Return the share of covered categories, shape (U, n_k)."""
        categories, relevant = self._categories(block), block.rows("relevant")
        xp = namespace(block.list_length)
        target = categories.count(relevant.user, relevant.item, block.n_users) > 0
        total = xp.sum(xp.astype(target, xp.float64), axis=1)
        rows: Any = block.rows("recommended" if self.of == "list" else "judged")
        columns = []
        for cutoff in k:
            top = rows.rank <= cutoff
            top = top if self.of == "list" else top & (rows.relevant > 0)
            listed = categories.count(rows.user[top], rows.item[top], block.n_users) > 0
            covered = xp.sum(xp.astype(listed & target, xp.float64), axis=1)
            columns.append(or_nan(divide(covered, total), total > 0))
        return xp.stack(columns, axis=0).T


@measure("alpha_ndcg", range=(0, 1), higher_is_better=True, cutoff="required",
         needs=frozenset({"judged", "relevant"}), family="diversity",
         plain=plain.alpha_ndcg_at_k)  # fmt: skip
class AlphaNDCG(_OverCategories):
    r"""nDCG that rewards a category less each time that the list repeats it.

    .. math:: \alpha\text{-}DCG@k = \sum_{i \le k} \frac{rel_i}{\log_2(i + 1)}
              \sum_{c \in C(i)} (1 - \alpha)^{m_{c,i}}

    :math:`m_{c,i}` is the number of relevant items above rank i with category c. Normalised by the
    :math:`\alpha\text{-}DCG` of an ideal list, built greedily from the relevant items: always the
    item that adds most. (A list that beats the greedy one, which need not be optimal, scores 1.)
    Users whose relevant items have no category have no value. Range [0, 1]; higher is better. Tied
    items are taken in order of item id. Needs ``items`` with categories.

    Parameters
    ----------
    alpha : float, default=0.5
        The share of its gain that a category loses at each repetition, in [0, 1].
    categories : str, default="categories"
        The column of ``items`` with the categories.

    References
    ----------
    Clarke et al. 2008, Novelty and Diversity in Information Retrieval Evaluation, SIGIR.

    Examples
    --------
    >>> import rankwise as rw
    >>> items = {"item": [1, 2, 3], "genres": ["war", "war", "drama"]}
    >>> truth = {"ann": {1, 2, 3}}
    >>> rw.evaluate({"ann": [1, 2, 3]}, truth, "alpha_ndcg@2", items=items)["alpha_ndcg@2"]
    0.80657
    """

    alpha: float = 0.5
    categories: str = "categories"

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        check_parameter(self, "alpha", 0 <= self.alpha <= 1, "lies in [0, 1]")

    def values(self, block: Block, k: Cutoffs) -> Array:
        """Return alpha-nDCG, shape (U, n_k)."""
        categories, rows = self._categories(block), block.rows("judged")
        xp = namespace(block.list_length)
        hit = rows.relevant > 0
        user, rank, item = rows.user[hit], rows.rank[hit], rows.item[hit]
        terms = _gains(block, categories, user, item, self.alpha) * discount(rank)
        ideal_user, ideal_rank, ideal_gain = _ideal(block, categories, self.alpha, max(k))
        ideal_terms = ideal_gain * discount(ideal_rank)
        columns = []
        for cutoff in k:
            top, ideal_top = rank <= cutoff, ideal_rank <= cutoff
            ideal = bincount(ideal_user[ideal_top], ideal_terms[ideal_top], block.n_users)
            value = divide(bincount(user[top], terms[top], block.n_users), ideal)
            columns.append(or_nan(xp.clip(value, max=1.0), ideal > 0))
        return xp.stack(columns, axis=0).T


def _positions(user: Array) -> Array:
    """Return how many rows of the same user precede each row; users are in order."""
    xp = namespace(user)
    return xp.arange(user.shape[0]) - xp.searchsorted(user, user)


def _gains(block: Block, categories: Categories, user: Array, item: Array, alpha: float) -> Array:
    """Return the gain of each hit after the hits above it; rows in order of user and rank."""
    xp = namespace(user)
    width = len(categories.names)
    seen = xp.zeros(block.n_users * width, dtype=xp.float64)
    gain = xp.zeros(user.shape[0], dtype=xp.float64)
    position = _positions(user)
    deepest = int(xp.max(position)) if position.shape[0] else -1
    for nth in range(deepest + 1):  # all users' first hits together, then their second hits, …
        (rows,) = xp.nonzero(position == nth)
        owner, category = categories.of(item[rows])
        cell = xp.take(user[rows], owner) * width + category
        gain[rows] = bincount(owner, (1.0 - alpha) ** xp.take(seen, cell), rows.shape[0])
        seen[cell] += 1.0
    return gain


def _ideal(block: Block, categories: Categories, alpha: float, k: int) -> tuple[Array, ...]:
    """Return user, rank and gain of the greedy ideal lists of length k."""
    relevant = block.rows("relevant")
    xp = namespace(relevant.user)
    # Equal gains are ordered by the sets of categories, so that item ids do not matter.
    order = xp.argsort(xp.take(categories.signature, relevant.item), stable=True)
    order = xp.take(order, xp.argsort(xp.take(relevant.user, order), stable=True))
    user, item = xp.take(relevant.user, order), xp.take(relevant.item, order)
    width = len(categories.names)
    seen = xp.zeros(block.n_users * width, dtype=xp.float64)
    users, ranks, gains = [user[:0]], [user[:0]], [xp.zeros(0, dtype=xp.float64)]
    for rank in range(1, k + 1):
        if not user.shape[0]:
            break
        owner, category = categories.of(item)
        cell = xp.take(user, owner) * width + category
        gain = bincount(owner, (1.0 - alpha) ** xp.take(seen, cell), user.shape[0])
        # Of each user's rows the first one of largest gain.
        by_gain = xp.argsort(-gain, stable=True)
        by_user = xp.take(by_gain, xp.argsort(xp.take(user, by_gain), stable=True))
        chosen = by_user[_positions(xp.take(user, by_user)) == 0]
        users.append(user[chosen])
        ranks.append(xp.full_like(user[chosen], rank))
        gains.append(gain[chosen])
        owner, category = categories.of(item[chosen])
        seen[xp.take(user[chosen], owner) * width + category] += 1.0
        left = xp.ones(user.shape[0], dtype=xp.bool)
        left[chosen] = False
        user, item = user[left], item[left]
    return xp.concat(users), xp.concat(ranks), xp.concat(gains)


@measure("calibration_error", "calibration", range=(0, math.inf), higher_is_better=False,
         needs=frozenset({"recommended", "history"}), family="diversity",
         plain=plain.calibration_error_at_k)  # fmt: skip
class CalibrationError(_OverCategories):
    r"""Kullback-Leibler divergence of the list's category distribution from the user's history.

    .. math:: \sum_c p_c \ln \frac{p_c}{(1 - \alpha) q_c + \alpha p_c}

    In nats: :math:`p_c` is the share of category c in the user's training items, :math:`q_c` in the
    top k. An item counts in equal shares for its categories; items without categories are left
    out, and users without other items in history or list have no value. Range [0, inf); lower is
    better calibrated. Needs ``train``, and ``items`` with categories.

    Parameters
    ----------
    alpha : float, default=0.01
        The weight of p in its mixture with q, in (0, 1): it keeps the logarithm finite.
    categories : str, default="categories"
        The column of ``items`` with the categories.

    References
    ----------
    Steck 2018, Calibrated Recommendations, RecSys.

    Examples
    --------
    >>> import rankwise as rw
    >>> items = {"item": [1, 2, 3, 4], "genres": ["war", "drama", "war", "drama"]}
    >>> name, train = "calibration_error@2", {"ann": [1, 2]}
    >>> rw.evaluate({"ann": [3, 4]}, {"ann": {3}}, name, items=items, train=train)[name]
    0.0
    """

    defined_for = "list"
    alpha: float = 0.01
    categories: str = "categories"

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        check_parameter(self, "alpha", 0 < self.alpha < 1, "lies in (0, 1)")

    def values(self, block: Block, k: Cutoffs) -> Array:
        """Return divergences, shape (U, n_k)."""
        categories, rows = self._categories(block), block.rows("recommended")
        history = block.rows("history")
        xp = namespace(block.list_length)
        p, has_history = _shares(categories, history.user, history.item, block.n_users)
        columns = []
        for cutoff in k:
            top = rows.rank <= cutoff
            q, has_list = _shares(categories, rows.user[top], rows.item[top], block.n_users)
            mixed = (1.0 - self.alpha) * q + self.alpha * p
            ratio = p / xp.where(p > 0, mixed, 1.0)
            terms = p * xp.log(xp.where(p > 0, ratio, 1.0))
            value = xp.clip(xp.sum(terms, axis=1), min=0.0)
            columns.append(or_nan(value, has_history & has_list))
        return xp.stack(columns, axis=0).T


def _shares(categories: Categories, user: Array, item: Array, n_users: int) -> tuple[Array, Array]:
    """Return the share of every category among each user's items, and which users have any."""
    xp = namespace(item)
    owner, category = categories.of(item)
    size = bincount(owner, xp.ones(owner.shape[0], dtype=xp.float64), item.shape[0])
    width = len(categories.names)
    cell = xp.take(user, owner) * width + category
    # Multiples of 2^-40, whose sums do not depend on the order of a user's items.
    part = xp.round(2.0**40 / xp.take(size, owner)) / 2.0**40
    sums = xp.reshape(bincount(cell, part, n_users * width), (n_users, width))
    total = xp.sum(sums, axis=1)
    return sums / xp.where(total > 0, total, 1.0)[:, None], total > 0
