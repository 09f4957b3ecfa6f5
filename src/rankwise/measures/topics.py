r"""Diversity over categories: which of a user's interests a list covers, and in what proportion.

Categories come from a column of ``items``: lists, text such as ``"war|drama"``, or a column for
each category, named together as ``categories="genre_*"``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from rankwise.core.backend import bincount, namespace
from rankwise.core.facts import Categories, Fact
from rankwise.errors import ParameterError
from rankwise.measures.arithmetic import discount, divide, or_nan
from rankwise.measures.kinds import PerUser
from rankwise.measures.measure import measure

if TYPE_CHECKING:
    from rankwise.core.backend import Array
    from rankwise.core.block import Block

__all__ = ["AlphaNDCG", "CalibrationError", "SubtopicRecall"]


class _OverCategories(PerUser):
    categories: str = "categories"

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The categories of items."""
        return (Fact("categories", self.categories),)

    def _named(self, block: Block) -> Categories:
        return block.fact(self.facts[0], Categories)


@measure(
    "subtopic_recall",
    "srecall",
    range=(0, 1),
    higher_is_better=True,
    needs=frozenset({"listed", "judged", "relevant"}),
    family="diversity",
)
class SubtopicRecall(_OverCategories):
    r"""Share of the categories of the relevant items that the top k covers.

    .. math:: \frac{|C(L_u^k) \cap C(R_u)|}{|C(R_u)|}

    :math:`C` are all categories of some items. Users whose relevant items have none have no value.
    Range [0, 1]; higher is better. Tied items are taken in order of item id.

    Parameters
    ----------
    of : {"list", "hits"}
        Whose categories count as covered: those of all items in the top k, or of the relevant ones
        alone (as WarpRec has it).
    categories : str
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

    def values(self, block: Block, k: Array) -> Array:
        """Return shares of categories, shape (U, n_k)."""
        named, relevant = self._named(block), block.rows("relevant")
        xp = namespace(block.list_length)
        wanted = named.count(relevant.user, relevant.item, block.n_users) > 0
        total = xp.sum(xp.astype(wanted, xp.float64), axis=1)
        rows: Any = block.rows("listed" if self.of == "list" else "judged")
        columns = []
        for cutoff in k:
            near = rows.rank <= cutoff
            near = near if self.of == "list" else near & (rows.relevant > 0)
            seen = named.count(rows.user[near], rows.item[near], block.n_users) > 0
            covered = xp.sum(xp.astype(seen & wanted, xp.float64), axis=1)
            columns.append(or_nan(divide(covered, total), total > 0))
        return xp.stack(columns, axis=0).T


@measure(
    "alpha_ndcg",
    range=(0, 1),
    higher_is_better=True,
    cutoff="required",
    needs=frozenset({"judged", "relevant"}),
    family="diversity",
)
class AlphaNDCG(_OverCategories):
    r"""nDCG in which a category is worth less every time that the list comes back to it.

    .. math:: \alpha\text{-}DCG@k = \sum_{i \le k} \frac{rel_i}{\log_2(i + 1)}
              \sum_{c \in C(i)} (1 - \alpha)^{m_{c,i}}

    :math:`m_{c,i}` is how many relevant items above rank i have category c. Divided by the same of
    an ideal list, built greedily from the relevant items: always the one that adds most. Users
    whose relevant items have no category have no value. Range [0, 1]; higher is better. Tied items
    are taken in order of item id. (The greedy list need not be the very best; a list that beats it
    scores 1.)

    Parameters
    ----------
    alpha : float
        How much a category loses each time, in [0, 1].
    categories : str
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
        if not 0 <= self.alpha <= 1:
            raise ParameterError("alpha_ndcg: alpha lies in [0, 1]", found=f"alpha={self.alpha}")

    def values(self, block: Block, k: Array) -> Array:
        """Return alpha-nDCG, shape (U, n_k)."""
        named, rows = self._named(block), block.rows("judged")
        xp = namespace(block.list_length)
        hit = rows.relevant > 0
        user, rank, item = rows.user[hit], rows.rank[hit], rows.item[hit]
        last = int(max(int(one) for one in k))
        found = _gains_down(block, named, user, item, self.alpha) * discount(rank)
        ideal_user, ideal_rank, gains = _greedy(block, named, self.alpha, last)
        best = gains * discount(ideal_rank)
        columns = []
        for cutoff in k:
            own, top = rank <= cutoff, ideal_rank <= cutoff
            total = bincount(ideal_user[top], best[top], block.n_users)
            value = divide(bincount(user[own], found[own], block.n_users), total)
            columns.append(or_nan(xp.clip(value, max=1.0), total > 0))
        return xp.stack(columns, axis=0).T


def _places(user: Array) -> Array:
    """Return how many rows of the same user stand before each row; users are in order."""
    xp = namespace(user)
    at = xp.arange(user.shape[0])
    return at - xp.searchsorted(user, user)


def _gains_down(block: Block, named: Categories, user: Array, item: Array, alpha: float) -> Array:
    """Return what each hit adds after those above it; rows in order of user and rank."""
    xp = namespace(user)
    width = len(named.names)
    seen = xp.zeros(block.n_users * width, dtype=xp.float64)
    out = xp.zeros(user.shape[0], dtype=xp.float64)
    place = _places(user)
    deepest = int(xp.max(place)) if place.shape[0] else -1
    for nth in range(deepest + 1):  # everyone's first hits together, then everyone's second, …
        (rows,) = xp.nonzero(place == nth)
        owner, category = named.of(item[rows])
        cell = xp.take(user[rows], owner) * width + category
        out[rows] = bincount(owner, (1.0 - alpha) ** xp.take(seen, cell), rows.shape[0])
        seen[cell] += 1.0
    return out


def _greedy(block: Block, named: Categories, alpha: float, last: int) -> tuple[Array, Array, Array]:
    """Return user, rank and gain of the greedy ideal lists."""
    relevant = block.rows("relevant")
    xp = namespace(relevant.user)
    # Equal gains are decided by the sets of categories, so that ids do not matter.
    order = xp.argsort(xp.take(named.signature, relevant.item), stable=True)
    order = xp.take(order, xp.argsort(xp.take(relevant.user, order), stable=True))
    user, item = xp.take(relevant.user, order), xp.take(relevant.item, order)
    width = len(named.names)
    seen = xp.zeros(block.n_users * width, dtype=xp.float64)
    users, ranks, gains = [user[:0]], [user[:0]], [xp.zeros(0, dtype=xp.float64)]
    for rank in range(1, last + 1):
        if not user.shape[0]:
            break
        owner, category = named.of(item)
        cell = xp.take(user, owner) * width + category
        gain = bincount(owner, (1.0 - alpha) ** xp.take(seen, cell), user.shape[0])
        # Of each user's rows the first of those with the largest gain.
        by_gain = xp.argsort(-gain, stable=True)
        by_user = xp.take(by_gain, xp.argsort(xp.take(user, by_gain), stable=True))
        chosen = by_user[_places(xp.take(user, by_user)) == 0]
        users.append(user[chosen])
        ranks.append(xp.full_like(user[chosen], rank))
        gains.append(gain[chosen])
        own, categories = named.of(item[chosen])
        seen[xp.take(user[chosen], own) * width + categories] += 1.0
        left = xp.ones(user.shape[0], dtype=xp.bool)
        left[chosen] = False
        user, item = user[left], item[left]
    return xp.concat(users), xp.concat(ranks), xp.concat(gains)


@measure(
    "calibration_error",
    "calibration",
    range=(0, math.inf),
    higher_is_better=False,
    needs=frozenset({"listed", "profile"}),
    family="diversity",
)
class CalibrationError(_OverCategories):
    r"""How far the categories of the list are from those of the user's history.

    .. math:: \sum_c p_c \ln \frac{p_c}{(1 - \alpha) q_c + \alpha p_c}

    The Kullback-Leibler divergence, in nats: :math:`p_c` is the share of category c in the user's
    training items, :math:`q_c` in the top k; every item shares itself equally among its categories,
    and items without any are left out. Users without such items in history or list have no value.
    Range [0, inf); lower is better calibrated. Needs ``train``.

    Parameters
    ----------
    alpha : float
        How much of p is mixed into q so that the logarithm is finite, in (0, 1).
    categories : str
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

    about: ClassVar[Literal["relevance", "list", "user"]] = "list"
    alpha: float = 0.01
    categories: str = "categories"

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        if not 0 < self.alpha < 1:
            raise ParameterError(
                "calibration_error: alpha lies in (0, 1)", found=f"alpha={self.alpha}"
            )

    def values(self, block: Block, k: Array) -> Array:
        """Return divergences, shape (U, n_k)."""
        named, listed, past = self._named(block), block.rows("listed"), block.rows("profile")
        xp = namespace(block.list_length)
        p, has_past = _shares(named, past.user, past.item, block.n_users)
        columns = []
        for cutoff in k:
            near = listed.rank <= cutoff
            q, has_list = _shares(named, listed.user[near], listed.item[near], block.n_users)
            mixed = (1.0 - self.alpha) * q + self.alpha * p
            ratio = p / xp.where(p > 0, mixed, 1.0)
            terms = p * xp.log(xp.where(p > 0, ratio, 1.0))
            value = xp.clip(xp.sum(terms, axis=1), min=0.0)
            columns.append(or_nan(value, has_past & has_list))
        return xp.stack(columns, axis=0).T


def _shares(named: Categories, user: Array, item: Array, n_users: int) -> tuple[Array, Array]:
    """Return the share of every category among each user's items, and who has any."""
    xp = namespace(item)
    owner, category = named.of(item)
    each = bincount(owner, xp.ones(owner.shape[0], dtype=xp.float64), item.shape[0])
    width = len(named.names)
    cell = xp.take(user, owner) * width + category
    # Multiples of 2^-40, whose sums do not depend on the order of a user's items.
    part = xp.round(2.0**40 / xp.take(each, owner)) / 2.0**40
    sums = xp.reshape(bincount(cell, part, n_users * width), (n_users, width))
    total = xp.sum(sums, axis=1)
    return sums / xp.where(total > 0, total, 1.0)[:, None], total > 0
