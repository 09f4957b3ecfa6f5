r"""The mix of categories in a recommendation list: how broad it is, and how close to the history.

:math:`q_c` is the share of category c in the top k of a user's list. An item counts in equal shares
for its categories; items without categories are left out.
"""

from __future__ import annotations

import math

from rankwise import functional as plain
from rankwise.core.arrays import Array
from rankwise.core.block import Block
from rankwise.measures.arithmetic import check_parameter, or_nan
from rankwise.measures.divergences import category_shares, kullback_leibler
from rankwise.measures.input_kinds import Input
from rankwise.measures.measure import measure
from rankwise.measures.topics import OverCategories

__all__ = ["CalibrationError", "CategoryCount", "CategoryEntropy"]


@measure(
    "calibration_error",
    "calibration",
    range=(0, math.inf),
    higher_is_better=False,
    family="diversity",
    plain=plain.calibration_error_at_k,
)
class CalibrationError(OverCategories):
    r"""Kullback-Leibler divergence of the list's category distribution from the user's history.

    .. math:: \sum_c p_c \ln \frac{p_c}{(1 - \alpha) q_c + \alpha p_c}

    In nats: :math:`p_c` is the share of category c in the user's training items, :math:`q_c` in the
    top k. An item counts in equal shares for its categories; items without categories are left out.
    Users without a categorised item in the training history or in the top k have no value. The mean
    over users with a list. Range [0, inf); lower is better calibrated. Needs ``train``, and
    ``items`` with categories.

    Parameters
    ----------
    alpha : float, default=0.01
        The weight of p in its mixture with q, in (0, 1), which keeps the logarithm finite.
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
        check_parameter(self, "alpha", 0 < self.alpha < 1, "must lie in (0, 1)")

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The categories, the lists, and the training interactions."""
        return (*super().inputs, "recommended", "history")

    def value(self, block: Block, k: int) -> Array:
        """Return the divergence of each list from the history, shape (U,)."""
        categories, history, rows = self.categories_of(block), block.history, block.recommended
        top = rows.rank <= k
        p, has_history = category_shares(categories, history.user, history.item, block.n_users)
        q, has_list = category_shares(categories, rows.user[top], rows.item[top], block.n_users)
        mixed = (1.0 - self.alpha) * q + self.alpha * p
        return or_nan(kullback_leibler(p, mixed), has_history & has_list)


@measure(
    "category_entropy",
    range=(0, math.inf),
    higher_is_better=True,
    family="diversity",
    plain=plain.category_entropy_at_k,
)
class CategoryEntropy(OverCategories):
    r"""Shannon entropy of the category distribution of the top k.

    .. math:: -\sum_c q_c \log q_c

    :math:`q_c` is the share of category c in the top k; an item counts in equal shares for its
    categories, and items without categories are left out. Users without a categorised item in the
    top k have no value. The mean over users with a list. Range [0, inf), at most the logarithm of
    the number of categories; higher is more diverse. Needs ``items`` with categories.

    Parameters
    ----------
    log_base : float or None, default=None
        The base of the logarithm, above 1; None is the natural logarithm (nats), 2 gives bits.
    categories : str, default="categories"
        The column of ``items`` with the categories.

    References
    ----------
    Shannon 1948, A Mathematical Theory of Communication, Bell System Technical Journal 27; for
    lists: LensKit, ``Entropy``, in bits, where each category of an item counts 1.

    Examples
    --------
    >>> import rankwise as rw
    >>> items = {"item": [1, 2, 3], "genres": ["war", "war|drama", "drama"]}
    >>> name = "category_entropy(log_base=2)@3"
    >>> rw.evaluate({"ann": [1, 2, 3]}, {"ann": {1}}, name, items=items)[name]
    1.0
    """

    defined_for = "list"
    log_base: float | None = None
    categories: str = "categories"

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        allowed = self.log_base is None or not self.log_base <= 1
        check_parameter(self, "log_base", allowed, "must be above 1")

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The categories and the lists."""
        return (*super().inputs, "recommended")

    def value(self, block: Block, k: int) -> Array:
        """Return the entropy of each list, shape (U,)."""
        rows, xp = block.recommended, block.xp
        top, categories = rows.rank <= k, self.categories_of(block)
        q, has_list = category_shares(categories, rows.user[top], rows.item[top], block.n_users)
        nats = xp.sum(-q * xp.log(xp.where(q > 0, q, 1.0)), axis=1)
        scale = 1.0 if self.log_base is None else math.log(self.log_base)
        return or_nan(xp.clip(nats, min=0.0) / scale, has_list)


@measure(
    "category_count", range=(0, math.inf), higher_is_better=True, family="diversity", plain=plain.category_count_at_k
)
class CategoryCount(OverCategories):
    r"""Number of distinct categories in the top k.

    .. math:: |C(L_u^k)|

    :math:`L_u^k` is the top k of the recommendation list of user u, :math:`C` the set of all
    categories of a set of items. The mean over users with a list. Range [0, number of categories];
    higher is more diverse. Needs ``items`` with categories.

    Parameters
    ----------
    categories : str, default="categories"
        The column of ``items`` with the categories.

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

    defined_for = "list"
    categories: str = "categories"

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The categories and the lists."""
        return (*super().inputs, "recommended")

    def value(self, block: Block, k: int) -> Array:
        """Return the number of categories of each list, shape (U,)."""
        rows, xp = block.recommended, block.xp
        top, categories = rows.rank <= k, self.categories_of(block)
        counts = categories.count(rows.user[top], rows.item[top], block.n_users)
        return xp.sum(xp.astype(counts > 0, xp.float64), axis=1)
