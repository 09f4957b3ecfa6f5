"""Categories of items: coverage, repetition, and how close their mix is to the history.

Diversity over the categories of relevant items: how many are covered, and how often repeated.

Categories come from a column of ``items`` with lists, or with text such as ``"war|drama"``; or from
one column per category, named together as ``categories="genre_*"``.

The mix of categories in a recommendation list: how broad it is, and how close to the history.

:math:`q_c` is the share of category c in the top k of a user's list. An item counts in equal shares
for its categories; items without categories are left out.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

from rankwise import functional as plain
from rankwise.blocks.block import Block, Categories, Cutoffs
from rankwise.core.arrays import Array, bincount, namespace
from rankwise.core.ragged import order_within
from rankwise.metrics.arithmetic import (
    ABOVE_1,
    BETWEEN_0_AND_1,
    IN_CLOSED_0_1,
    IN_OPEN_0_1,
    NOT_NEGATIVE,
    category_shares,
    discount,
    divide,
    geometric_discount,
    kullback_leibler,
    need_cutoff,
    or_nan,
    ratio,
    rows_above,
)
from rankwise.metrics.base import metric
from rankwise.metrics.inputs import Input
from rankwise.metrics.kinds import PerUser

__all__ = [
    "AlphaNDCG",
    "CalibrationError",
    "CategoryCount",
    "CategoryEntropy",
    "OverCategories",
    "SubtopicRecall",
]


class OverCategories(PerUser):
    """A value for every user that depends on the categories of items.

    Parameters
    ----------
    categories : str, default="categories"
        The column of ``items`` with the categories.
    """

    categories: str = "categories"

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The categories of items."""
        return (Categories.fact(self.categories),)

    def categories_of(self, block: Block) -> Categories:
        """Return the categories of items."""
        return block[Categories.fact(self.categories)]


@metric(
    "subtopic_recall",
    "srecall",
    range=(0, 1),
    higher_is_better=True,
    family="diversity",
    plain=plain.subtopic_recall_at_k,
)
class SubtopicRecall(OverCategories):
    r"""Share of the categories of the relevant items that the top k covers.

    .. math:: \frac{|C(L_u^k) \cap C(R_u)|}{|C(R_u)|}

    :math:`L_u^k` is the top k of the recommendation list of user u, :math:`R_u` are the user's
    relevant items, :math:`C` is the set of all categories of a set of items. Users whose relevant
    items have no category have no value. Tied items are taken in order of item id. Needs ``items``
    with categories.

    Parameters
    ----------
    of : {"list", "hits"}, default="list"
        The items whose categories count as covered: all items in the top k, or only the relevant
        items among them (as in WarpRec).
    over : {"relevant", "all"}, default="relevant"
        The categories that are to be covered: those of the relevant items, or all categories of
        ``items`` (as in Elliot).

    Notes
    -----
    Use it for whether a list covers the user's interests. Do not use it where items have many
    categories: such items cover everything, relevant or not.

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
    over: Literal["relevant", "all"] = "relevant"
    categories: str = "categories"

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The categories, the lists, and the relevant items."""
        judged: tuple[Input, ...] = ("judged",) if self.of == "hits" else ()
        return (*super().inputs, "recommended", "relevant", *judged)

    def value(self, block: Block, k: int) -> Array:
        """Return the share of covered categories, shape (U,)."""
        categories, relevant, xp = self.categories_of(block), block.relevant, block.xp
        of_relevant = categories.count(relevant.user, relevant.item, block.n_users)
        target = of_relevant > 0 if self.over == "relevant" else of_relevant >= 0
        total = xp.sum(xp.astype(target, xp.float64), axis=1)
        user, item = self._covering(block, k)
        listed = categories.count(user, item, block.n_users) > 0
        covered = xp.sum(xp.astype(listed & target, xp.float64), axis=1)
        return ratio(covered, total)

    def _covering(self, block: Block, k: int) -> tuple[Array, Array]:
        """Return user and item of the rows of the top k that cover their categories."""
        if self.of == "list":
            rows = block.recommended
            top = rows.rank <= k
            return rows.user[top], rows.item[top]
        judged = block.judged
        top = (judged.rank <= k) & (judged.relevant > 0)
        return judged.user[top], judged.item[top]


@metric(
    "alpha_ndcg",
    range=(0, 1),
    higher_is_better=True,
    cutoff="required",
    family="diversity",
    plain=plain.alpha_ndcg_at_k,
)
class AlphaNDCG(OverCategories):
    r"""nDCG that rewards a category less each time that the list repeats it.

    .. math:: \alpha\text{-}DCG@k = \sum_{i \le k} \frac{rel_i}{\log_2(i + 1)}
              \sum_{c \in C(i)} (1 - \alpha)^{m_{c,i}}

    :math:`rel_i` is 1 if the item at rank i is relevant, else 0; :math:`C(i)` are its categories;
    :math:`m_{c,i}` is the number of relevant items above rank i with category c. The value is this
    sum divided by the same sum for the ideal list, which is built greedily from the relevant items:
    the next item is always the one that adds most. (A list that beats the greedy one, which need
    not be optimal, scores 1.) Users whose relevant items have no category have no value. Tied items
    are taken in order of item id. Needs ``items`` with categories.

    Parameters
    ----------
    alpha : float, default=0.5
        The share of its gain that a category loses with each repetition, in [0, 1].

    Notes
    -----
    Use it where a list should serve several interests, each with relevant items. Do not use it
    where items differ widely in their number of categories: items with many categories win.

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

    alpha: Annotated[float, IN_CLOSED_0_1] = 0.5
    categories: str = "categories"

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The categories, the judged items of the lists, and the relevant items."""
        return (*super().inputs, "judged", "relevant")

    def values(self, block: Block, k: Cutoffs) -> Array:
        """Return alpha-nDCG at each cut-off, from one ideal list, each of shape (U,)."""
        categories, rows, xp = self.categories_of(block), block.judged, block.xp
        hit = rows.relevant > 0
        user, rank, item = rows.user[hit], rows.rank[hit], rows.item[hit]
        terms = _gains(block, categories, user, item, self.alpha) * discount(rank)
        ideal_user, ideal_rank, ideal_gain = _ideal(block, categories, self.alpha, max(k))
        ideal_terms = ideal_gain * discount(ideal_rank)
        values = []
        for cutoff in k:
            top, ideal_top = rank <= cutoff, ideal_rank <= cutoff
            ideal = bincount(ideal_user[ideal_top], ideal_terms[ideal_top], block.n_users)
            value = divide(bincount(user[top], terms[top], block.n_users), ideal)
            values.append(or_nan(xp.clip(value, max=1.0), ideal > 0))
        return values


def _gains(block: Block, categories: Categories, user: Array, item: Array, alpha: float) -> Array:
    """Return the gain of each hit, given the hits above; rows in order of user and rank."""
    xp = namespace(user)
    seen = xp.zeros(block.n_users * len(categories.names), dtype=xp.float64)
    gain = xp.zeros(user.shape[0], dtype=xp.float64)
    position = rows_above(user)
    deepest = int(xp.max(position)) if position.shape[0] else -1
    for nth in range(deepest + 1):  # all users' first hits together, then their second hits, …
        (rows,) = xp.nonzero(position == nth)
        owner, cell = categories.cells(user[rows], item[rows])
        gain[rows] = bincount(owner, (1.0 - alpha) ** xp.take(seen, cell), rows.shape[0])
        seen[cell] += 1.0
    return gain


def _ideal(block: Block, categories: Categories, alpha: float, k: int) -> tuple[Array, ...]:
    """Return user, rank and gain of the greedy ideal lists of length k."""
    relevant = block.relevant
    xp = namespace(relevant.user)
    # Equal gains are ordered by the sets of categories, so that item ids do not matter.
    order = order_within(relevant.user, xp.take(categories.signature, relevant.item))
    user, item = xp.take(relevant.user, order), xp.take(relevant.item, order)
    seen = xp.zeros(block.n_users * len(categories.names), dtype=xp.float64)
    users, ranks, gains = [user[:0]], [user[:0]], [xp.zeros(0, dtype=xp.float64)]
    for rank in range(1, k + 1):
        if not user.shape[0]:
            break
        owner, cell = categories.cells(user, item)
        gain = bincount(owner, (1.0 - alpha) ** xp.take(seen, cell), user.shape[0])
        # Of each user's rows the first one of largest gain.
        by_user = order_within(user, -gain)
        chosen = by_user[rows_above(xp.take(user, by_user)) == 0]
        users.append(user[chosen])
        ranks.append(xp.full_like(user[chosen], rank))
        gains.append(gain[chosen])
        _, cell = categories.cells(user[chosen], item[chosen])
        seen[cell] += 1.0
        left = xp.ones(user.shape[0], dtype=xp.bool)
        left[chosen] = False
        user, item = user[left], item[left]
    return xp.concat(users), xp.concat(ranks), xp.concat(gains)


class _ListedCategories(OverCategories):
    """A function of the categories of the top k."""

    defined_for = "list"

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The categories and the lists."""
        return (*super().inputs, "recommended")


@metric(
    "calibration_error",
    "calibration",
    range=(0, math.inf),
    higher_is_better=False,
    family="diversity",
    plain=plain.calibration_error_at_k,
)
class CalibrationError(_ListedCategories):
    r"""Kullback-Leibler divergence of the list's category distribution from the user's history.

    .. math:: \sum_c p_c \ln \frac{p_c}{(1 - \alpha) q_c + \alpha p_c}

    In nats: :math:`p_c` is the share of category c in the user's training items, :math:`q_c` in the
    top k. An item counts in equal shares for its categories; items without categories are left out.
    Users without a categorised item in the training history or in the top k have no value. Needs
    ``train``, and ``items`` with categories.

    Parameters
    ----------
    alpha : float, default=0.01
        The weight of p in its mixture with q, in (0, 1), which keeps the logarithm finite.

    Notes
    -----
    Use it for whether a list has the user's categories in the user's proportions. Do not use it at
    a small k, where no list can match the proportions, or for users without a history. It is
    unrelated to ``ece``.

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

    alpha: Annotated[float, IN_OPEN_0_1] = 0.01
    categories: str = "categories"

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The categories, the lists, and the training interactions."""
        return (*super().inputs, "history")

    def value(self, block: Block, k: int) -> Array:
        """Return the divergence of each list from the history, shape (U,)."""
        categories, history, rows = self.categories_of(block), block.history, block.recommended
        top = rows.rank <= k
        p, has_history = category_shares(categories, history.user, history.item, block.n_users)
        q, has_list = category_shares(categories, rows.user[top], rows.item[top], block.n_users)
        mixed = (1.0 - self.alpha) * q + self.alpha * p
        return or_nan(kullback_leibler(p, mixed), has_history & has_list)


@metric(
    "category_entropy",
    range=(0, math.inf),
    higher_is_better=True,
    family="diversity",
    plain=plain.category_entropy_at_k,
)
class CategoryEntropy(_ListedCategories):
    r"""Shannon entropy of the category distribution of the top k.

    .. math:: -\sum_c q_c \log q_c

    :math:`q_c` is the share of category c in the top k; an item counts in equal shares for its
    categories, and items without categories are left out. Users without a categorised item in the
    top k have no value. The value is at most the logarithm of the number of categories. Needs
    ``items`` with categories.

    Parameters
    ----------
    log_base : float or None, default=None
        The base of the logarithm, above 1; None is the natural logarithm (nats), 2 gives bits.
    weight : {"equal", "geometric"}, default="equal"
        How much an item counts: 1, or :math:`\gamma^{i - 1}` at rank i, where :math:`\gamma` is the
        patience of users.
    patience : float, default=0.5
        The probability :math:`\gamma` that a user reads on after each item, in (0, 1), for
        ``weight="geometric"``.
    smoothing : float, default=0.0
        A number that is added to the total of every category before shares are taken, 0 or more.

    Notes
    -----
    Use it for how evenly a list is spread over categories. Do not use it without accuracy beside
    it: random lists are the broadest. State the base of the logarithm.

    References
    ----------
    Shannon 1948, A Mathematical Theory of Communication, Bell System Technical Journal 27; for
    lists: LensKit, ``Entropy`` and ``RankBiasedEntropy``, in bits, smoothed by 1e-6.

    Examples
    --------
    >>> import rankwise as rw
    >>> items = {"item": [1, 2, 3], "genres": ["war", "war|drama", "drama"]}
    >>> name = "category_entropy(log_base=2)@3"
    >>> rw.evaluate({"ann": [1, 2, 3]}, {"ann": {1}}, name, items=items)[name]
    1.0
    """

    log_base: Annotated[float | None, ABOVE_1] = None
    weight: Literal["equal", "geometric"] = "equal"
    patience: Annotated[float, BETWEEN_0_AND_1] = 0.5
    smoothing: Annotated[float, NOT_NEGATIVE] = 0.0
    categories: str = "categories"

    def value(self, block: Block, k: int) -> Array:
        """Return the entropy of each list, shape (U,)."""
        rows, xp = block.recommended, block.xp
        top, categories = rows.rank <= k, self.categories_of(block)
        weight = (
            geometric_discount(rows.rank[top], self.patience)
            if self.weight == "geometric"
            else None
        )
        q, has_list = category_shares(
            categories,
            rows.user[top],
            rows.item[top],
            block.n_users,
            weight=weight,
            smoothing=self.smoothing,
        )
        nats = xp.sum(-q * xp.log(xp.where(q > 0, q, 1.0)), axis=1)
        scale = 1.0 if self.log_base is None else math.log(self.log_base)
        return or_nan(xp.clip(nats, min=0.0) / scale, has_list)


@metric(
    "category_count",
    range=(0, math.inf),
    higher_is_better=True,
    family="diversity",
    plain=plain.category_count_at_k,
)
class CategoryCount(_ListedCategories):
    r"""Number of distinct categories in the top k.

    .. math:: |C(L_u^k)|

    :math:`L_u^k` is the top k of the recommendation list of user u, :math:`C` the set of all
    categories of a set of items. Needs ``items`` with categories.

    Parameters
    ----------
    as_share : bool, default=False
        Divide the number by k, which must be given (as in RePlay).

    Notes
    -----
    Use it for how many categories a list has. Do not use it without accuracy beside it: random
    lists are the broadest.

    References
    ----------
    Zhai, Cohen & Lafferty 2003, Beyond Independent Relevance: Methods and Evaluation Metrics for
    Subtopic Retrieval, SIGIR (subtopic coverage).

    Examples
    --------
    >>> import rankwise as rw
    >>> items = {"item": [1, 2, 3], "genres": ["war", "war|drama", "comedy"]}
    >>> name = "category_count@2"
    >>> rw.evaluate({"ann": [1, 2, 3]}, {"ann": {1}}, name, items=items)[name]
    2.0
    """

    as_share: bool = False
    categories: str = "categories"

    def require_cutoff(self) -> None:
        """Raise if the number is divided by k and there is no k."""
        need_cutoff(self, where=self.as_share, setting="as_share=true")

    def value(self, block: Block, k: int) -> Array:
        """Return the number of categories of each list, shape (U,)."""
        rows, xp = block.recommended, block.xp
        top, categories = rows.rank <= k, self.categories_of(block)
        counts = categories.count(rows.user[top], rows.item[top], block.n_users)
        return xp.sum(xp.astype(counts > 0, xp.float64), axis=1) / (k if self.as_share else 1)
