r"""Novelty: how unfamiliar recommended items are, by training popularity or to a baseline run.

:math:`n_i` is the number of training users of item i, :math:`N` the sum of these numbers,
:math:`|U|` the number of training users. Inside logarithms a cold item, never seen in training,
counts as seen by one user; the result counts the recommendations of cold items.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rankwise import functional as plain
from rankwise.core.arrays import Array, namespace
from rankwise.core.block import Block
from rankwise.core.facts import POPULARITY
from rankwise.measures.arithmetic import (
    discount,
    divide,
    gain_of,
    listed_denominator,
    need_cutoff,
    or_nan,
    running_sum,
    shared_with_baseline,
)
from rankwise.measures.hit_sums import HitSum
from rankwise.measures.kinds import PerUser
from rankwise.measures.measure import measure

Cold: TypeAlias = Literal["rarest", "skip", "zero"]

__all__ = ["EFD", "EPC", "Novelty", "Surprisal", "Unexpectedness"]


def _probability(block: Block, popularity: Literal["users", "interactions"], *, min_count: float) -> Array:
    """Return :math:`p_i`, the share of training users or interactions that each item has."""
    training = block[POPULARITY]
    total = training.n_users if popularity == "users" else training.n_interactions
    return namespace(training.count).clip(training.count, min=min_count) / total


@dataclass(frozen=True, kw_only=True, repr=False)
class _NovelHits(HitSum):
    r"""The discounted novelty of the hits, as a share of the largest sum of discounts.

    Parameters
    ----------
    popularity : {"users", "interactions"}, default="users"
        :math:`p_i` is the number of training users of item i over the number of training users, or
        over the number of training interactions (as in WarpRec and Elliot).
    relevance : {"binary", "discounted", "discounted_plus_one"}, default="binary"
        A relevant item counts 1, :math:`2^{rel} - 1`, or :math:`2^{rel + 1} - 1` (as in WarpRec).
    """

    inputs = (POPULARITY,)
    popularity: Literal["users", "interactions"] = "users"
    relevance: Literal["binary", "discounted", "discounted_plus_one"] = "binary"

    def terms(self, block: Block) -> Array:
        """Return the discounted novelty of each hit."""
        hits, xp = block.hits, block.xp
        novelty = xp.take(self._novelty(block), hits.item)
        if self.relevance != "binary":
            plus_one = self.relevance == "discounted_plus_one"
            gain = gain_of("exponential_plus_one" if plus_one else "exponential", hits.gain)
            novelty = novelty * gain
        return hits.probability * hits.to_rows(novelty) * discount(hits.rank)

    def scale(self, k: Array) -> Array:
        """Return the sum of the discounts of the first k ranks."""
        return running_sum(discount, k)

    def _novelty(self, block: Block) -> Array:
        """Return the novelty of every item."""
        raise NotImplementedError


@measure("efd", range=(0, math.inf), higher_is_better=True, cutoff="required", plain=plain.efd_at_k)
class EFD(_NovelHits):
    r"""Expected free discovery: self-information of the relevant items in the top k, in bits.

    .. math:: \frac{1}{C} \sum_{i \le k} \frac{rel_i \cdot (-\log_2 p_i)}{\log_2(i + 1)},
              \quad C = \sum_{i \le k} \frac{1}{\log_2(i + 1)}

    :math:`rel_i` is 1 if the item at rank i is relevant, else 0; :math:`p_i` is the share of
    training users who have it. An item never seen in training counts as seen by one user. Range
    [0, inf); higher is better. Needs ``train``.

    References
    ----------
    Vargas & Castells 2011, Rank and Relevance in Novelty and Diversity Metrics for Recommender
    Systems, RecSys.

    Examples
    --------
    >>> import rankwise as rw
    >>> train = {"ann": [7], "bob": [7, 8], "cyd": [7], "dan": [7]}
    >>> rw.evaluate({"ann": [8, 9]}, {"ann": {8}}, "efd@1", train=train)["efd@1"]
    2.0
    """

    def _novelty(self, block: Block) -> Array:
        probability = _probability(block, self.popularity, min_count=1.0)
        return -namespace(probability).log2(probability)


@measure("epc", range=(0, math.inf), higher_is_better=True, cutoff="required", plain=plain.epc_at_k)
class EPC(_NovelHits):
    r"""Expected popularity complement: how unpopular the relevant items in the top k are.

    .. math:: \frac{1}{C} \sum_{i \le k} \frac{rel_i \cdot (1 - p_i)}{\log_2(i + 1)},
              \quad C = \sum_{i \le k} \frac{1}{\log_2(i + 1)}

    :math:`rel_i` is 1 if the item at rank i is relevant, else 0; :math:`p_i` is the share of
    training users who have it. Range [0, inf), [0, 1] for ``relevance="binary"``; higher is better.
    Needs ``train``.

    References
    ----------
    Vargas & Castells 2011, Rank and Relevance in Novelty and Diversity Metrics for Recommender
    Systems, RecSys.

    Examples
    --------
    >>> import rankwise as rw
    >>> train = {"ann": [7], "bob": [7, 8], "cyd": [7], "dan": [7]}
    >>> rw.evaluate({"ann": [8, 9]}, {"ann": {8}}, "epc@1", train=train)["epc@1"]
    0.75
    """

    def _novelty(self, block: Block) -> Array:
        return 1.0 - _probability(block, self.popularity, min_count=0.0)


class _ListMean(PerUser):
    """A mean over the top k: divided by the number of its items, or by k."""

    defined_for = "list"
    denominator: Literal["length", "k"] = "length"

    def require_cutoff(self) -> None:
        """Raise if the sum is to be divided by k and there is no k."""
        need_cutoff(self, where=self.denominator == "k", setting="denominator=k")


def _self_information(block: Block, popularity: Literal["users", "interactions"]) -> Array:
    """Return the self-information of every row of the lists, in bits; cold items are the rarest."""
    probability = _probability(block, popularity, min_count=1.0)
    return block.xp.take(-block.xp.log2(probability), block.recommended.item)


def _mean_of_bits(
    block: Block, bits: Array, k: int, denominator: Literal["length", "k"], cold: Cold, *, discounted: bool
) -> Array:
    """Return the mean of a value of every row of the top k, weighted by rank if discounted."""
    rows, xp = block.recommended, block.xp
    if not discounted:
        total = listed_denominator(block, k, denominator)
    elif denominator == "k":
        total = xp.full((block.n_users,), float(running_sum(discount, k)), dtype=xp.float64)
    else:
        total = block.sum_recommended(discount(rows.rank), k)
    terms = bits * discount(rows.rank) if discounted else bits
    if cold == "rarest":
        return divide(block.sum_recommended(terms, k), total)
    warm = xp.astype(xp.take(block[POPULARITY].count, rows.item) > 0, xp.float64)
    value = block.sum_recommended(terms * warm, k)
    if cold == "zero":
        return divide(value, total)
    weight = discount(rows.rank) if discounted else xp.ones_like(bits)
    left = block.sum_recommended(weight * warm, k)
    if denominator == "k":
        left = total - block.sum_recommended(weight * (1.0 - warm), k)
    return or_nan(divide(value, left), block.sum_recommended(warm, k) > 0)


@measure("novelty", "miuf", "self_information", range=(0, math.inf), higher_is_better=True, plain=plain.novelty_at_k)
class Novelty(_ListMean):
    r"""Mean self-information of the items in the top k, in bits.

    .. math:: \frac{1}{|L_u^k|} \sum_{i \in L_u^k} -\log_2 \frac{n_i}{|U|}

    :math:`L_u^k` is the top k of the recommendation list of user u, :math:`n_i` the number of
    training users of item i, :math:`|U|` the number of all training users. The mean over users with
    a list. Range [0, inf); higher is more novel. Needs ``train``.

    Parameters
    ----------
    popularity : {"users", "interactions"}, default="users"
        The probability of an item: :math:`n_i / |U|`, or :math:`n_i / N` with N the number of
        training interactions.
    discount : {"none", "log"}, default="none"
        ``"log"`` weights the item at rank i by :math:`1 / \log_2(i + 1)`.
    denominator : {"length", "k"}, default="length"
        The divisor: the number of items in the top k, or k. With a discount, it is the sum of the
        discounts of these ranks.
    cold : {"rarest", "skip", "zero"}, default="rarest"
        How an item without training users counts: as if it had one; not at all, neither in the sum
        nor in the divisor; or as 0.

    References
    ----------
    Zhou et al. 2010, Solving the Apparent Diversity-Accuracy Dilemma of Recommender Systems,
    PNAS 107(10).

    Examples
    --------
    >>> import rankwise as rw
    >>> train = {"ann": [7], "bob": [7, 8], "cyd": [7], "dan": [7]}
    >>> rw.evaluate({"ann": [8, 7]}, {"ann": {8}}, "novelty@2", train=train)["novelty@2"]
    1.0
    """

    inputs = ("recommended", POPULARITY)
    popularity: Literal["users", "interactions"] = "users"
    discount: Literal["none", "log"] = "none"
    denominator: Literal["length", "k"] = "length"
    cold: Cold = "rarest"

    def value(self, block: Block, k: int) -> Array:
        """Return mean self-information, shape (U,)."""
        bits = _self_information(block, self.popularity)
        logs = self.discount == "log"
        return _mean_of_bits(block, bits, k, self.denominator, self.cold, discounted=logs)


@measure("surprisal", range=(0, 1), higher_is_better=True, plain=plain.surprisal_at_k)
class Surprisal(_ListMean):
    r"""Mean self-information of the items in the top k, as a share of the largest possible.

    .. math:: \frac{1}{|L_u^k|} \sum_{i \in L_u^k} \frac{-\log_2 (n_i / |U|)}{\log_2 |U|}

    :math:`L_u^k` is the top k of the recommendation list of user u, :math:`n_i` the number of
    training users of item i, :math:`|U|` the number of all training users. The mean over users with
    a list. Range [0, 1]; higher is more novel. Needs ``train``.

    Parameters
    ----------
    denominator : {"length", "k"}, default="length"
        The divisor: the number of items in the top k, or k.
    cold : {"rarest", "skip", "zero"}, default="rarest"
        How an item without training users counts: as if it had one; not at all, neither in the sum
        nor in the divisor; or as 0.

    References
    ----------
    Zhou et al. 2010, Solving the Apparent Diversity-Accuracy Dilemma of Recommender Systems,
    PNAS 107(10).

    Examples
    --------
    >>> import rankwise as rw
    >>> train = {"ann": [7], "bob": [7, 8], "cyd": [7], "dan": [7]}
    >>> rw.evaluate({"ann": [8, 7]}, {"ann": {8}}, "surprisal@2", train=train)["surprisal@2"]
    0.5
    """

    inputs = ("recommended", POPULARITY)
    denominator: Literal["length", "k"] = "length"
    cold: Cold = "rarest"

    def value(self, block: Block, k: int) -> Array:
        """Return mean surprisal, shape (U,)."""
        bits, most = _self_information(block, "users"), math.log2(block[POPULARITY].n_users)
        share = bits / most if most else block.xp.zeros_like(bits)
        return _mean_of_bits(block, share, k, self.denominator, self.cold, discounted=False)


@measure("unexpectedness", range=(0, 1), higher_is_better=True, plain=plain.unexpectedness_at_k)
class Unexpectedness(_ListMean):
    r"""Share of the top k that is not in the top k of a baseline run.

    .. math:: 1 - |L_u^k \cap B_u^k| / |L_u^k|

    :math:`L_u^k` is the top k of the recommendation list of user u, :math:`B_u^k` the top k of the
    user's list in ``baseline``. The mean over users with both lists. Range [0, 1]; higher is less
    expected. Needs ``baseline``.

    Parameters
    ----------
    denominator : {"length", "k"}, default="length"
        The divisor: the number of items in the top k, or k.

    References
    ----------
    Murakami, Mori & Orihara 2008, Metrics for Evaluating the Serendipity of Recommendation Lists,
    JSAI 2007.

    Examples
    --------
    >>> import rankwise as rw
    >>> popular = {"ann": [1, 2, 3]}
    >>> name = "unexpectedness@3"
    >>> rw.evaluate({"ann": [1, 8, 9]}, {"ann": {8}}, name, baseline=popular)[name]
    0.6667
    """

    inputs = ("overlap_baseline",)
    denominator: Literal["length", "k"] = "length"

    def value(self, block: Block, k: int) -> Array:
        """Return the share of unexpected items, shape (U,)."""
        return 1.0 - shared_with_baseline(block, k, self.denominator)
