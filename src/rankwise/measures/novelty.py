r"""Novelty: how far recommendations are from what everyone knows, or what the user has.

:math:`n_i` is the number of training users of item i, :math:`N` the sum of these numbers,
:math:`|U|` the number of training users. In logarithms an item never seen in training counts as
seen by one user; the result says how many of the recommendations are such.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Literal

from rankwise.core.backend import namespace
from rankwise.core.facts import Fact, Popularity
from rankwise.measures.arithmetic import (
    discount,
    discounts,
    divide,
    gain_of,
    listed_denominator,
    need_cutoff,
    shared_with_baseline,
)
from rankwise.measures.kinds import PerUser
from rankwise.measures.measure import measure

if TYPE_CHECKING:
    from rankwise.core.backend import Array
    from rankwise.core.block import Block

__all__ = ["EFD", "EPC", "Novelty", "Surprisal", "Unexpectedness"]

_POPULARITY = Fact("popularity")


def _chance(block: Block, popularity: Literal["users", "interactions"], *, least: float) -> Array:
    """How likely it is that a user, or an interaction, is of each item."""
    known = block.fact(_POPULARITY, Popularity)
    xp = namespace(known.count)
    total = known.n_users if popularity == "users" else known.n_interactions
    return xp.clip(known.count, min=least) / total


class _Found(PerUser):
    """The worth of relevant items by how little known they are, as a share of the top k."""

    additive: ClassVar[bool] = True
    popularity: Literal["users", "interactions"] = "users"
    relevance: Literal["binary", "discounted", "discounted_plus_one"] = "binary"

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Training."""
        return (_POPULARITY,)

    def values(self, block: Block, k: Array) -> Array:
        """Return discounted sums over the hits, shape (U, n_k)."""
        hits, xp = block.hits, namespace(block.list_length)
        worth = xp.take(self._worth(block), hits.item)
        if self.relevance != "binary":
            plus_one = self.relevance == "discounted_plus_one"
            gain = gain_of("exponential_plus_one" if plus_one else "exponential", hits.gain)
            worth = worth * gain
        terms = hits.chance * hits.mean(worth) * discount(hits.rank)
        return block.sum_hits(terms, k) / discounts(k)[None, :]

    def _worth(self, block: Block) -> Array:
        raise NotImplementedError


@measure("efd", range=(0, math.inf), higher_is_better=True, cutoff="required")
class EFD(_Found):
    r"""Expected free discovery: how surprising the relevant items in the top k are, in bits.

    .. math:: \frac{1}{C} \sum_{i \le k} \frac{rel_i \cdot (-\log_2 p_i)}{\log_2(i + 1)},
              \quad C = \sum_{i \le k} \frac{1}{\log_2(i + 1)}

    Range [0, inf); higher is better. Needs ``train``.

    Parameters
    ----------
    popularity : {"users", "interactions"}
        :math:`p_i` is :math:`n_i / |U|`, or :math:`n_i / N` (as WarpRec and Elliot compute it).
    relevance : {"binary", "discounted", "discounted_plus_one"}
        A relevant item counts 1, :math:`2^{rel} - 1`, or :math:`2^{rel + 1} - 1` (WarpRec).

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

    popularity: Literal["users", "interactions"] = "users"
    relevance: Literal["binary", "discounted", "discounted_plus_one"] = "binary"

    def _worth(self, block: Block) -> Array:
        chance = _chance(block, self.popularity, least=1.0)
        return -namespace(chance).log2(chance)


@measure("epc", range=(0, math.inf), higher_is_better=True, cutoff="required")
class EPC(_Found):
    r"""Expected popularity complement: how unknown the relevant items in the top k are.

    .. math:: \frac{1}{C} \sum_{i \le k} \frac{rel_i \cdot (1 - p_i)}{\log_2(i + 1)},
              \quad C = \sum_{i \le k} \frac{1}{\log_2(i + 1)}

    Range [0, inf), [0, 1] where relevance is binary; higher is better. Needs ``train``.

    Parameters
    ----------
    popularity : {"users", "interactions"}
        :math:`p_i` is :math:`n_i / |U|`, or :math:`n_i / N`.
    relevance : {"binary", "discounted", "discounted_plus_one"}
        A relevant item counts 1, :math:`2^{rel} - 1`, or :math:`2^{rel + 1} - 1` (WarpRec).

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

    popularity: Literal["users", "interactions"] = "users"
    relevance: Literal["binary", "discounted", "discounted_plus_one"] = "binary"

    def _worth(self, block: Block) -> Array:
        return 1.0 - _chance(block, self.popularity, least=0.0)


class _OfLists(PerUser):
    about: ClassVar[Literal["relevance", "list", "user"]] = "list"
    denominator: Literal["length", "k"] = "length"

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Training."""
        return (_POPULARITY,)

    def require_cutoff(self) -> None:
        """Raise if the sum is to be divided by k and there is no k."""
        need_cutoff(self, where=self.denominator == "k", said="denominator=k")


@measure(
    "novelty",
    "miuf",
    "self_information",
    range=(0, math.inf),
    higher_is_better=True,
    needs=frozenset({"listed"}),
)
class Novelty(_OfLists):
    r"""Mean self-information of the items in the top k, in bits.

    .. math:: \frac{1}{|L_u^k|} \sum_{i \in L_u^k} -\log_2 \frac{n_i}{|U|}

    Range [0, inf); higher is more novel. Needs ``train``.

    Parameters
    ----------
    popularity : {"users", "interactions"}
        :math:`n_i / |U|` or :math:`n_i / N`.
    discount : {"none", "log"}
        ``"log"`` weighs the item at rank i by :math:`1 / \log_2(i + 1)`.
    denominator : {"length", "k"}
        What divides: the number of items in the top k, or k (the sum of their weights, with a
        discount).

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

    popularity: Literal["users", "interactions"] = "users"
    discount: Literal["none", "log"] = "none"
    denominator: Literal["length", "k"] = "length"

    def values(self, block: Block, k: Array) -> Array:
        """Return mean self-information, shape (U, n_k)."""
        rows = block.rows("listed")
        xp = namespace(block.list_length)
        chance = _chance(block, self.popularity, least=1.0)
        bits = xp.take(-xp.log2(chance), rows.item)
        if self.discount == "none":
            return divide(block.sum_listed(bits, k), listed_denominator(block, k, self.denominator))
        weight = discount(rows.rank)
        if self.denominator == "k":
            return block.sum_listed(bits * weight, k) / discounts(k)[None, :]
        return divide(block.sum_listed(bits * weight, k), block.sum_listed(weight, k))


@measure("surprisal", range=(0, 1), higher_is_better=True, needs=frozenset({"listed"}))
class Surprisal(_OfLists):
    r"""Mean self-information of the items in the top k, as a share of the largest possible.

    .. math:: \frac{1}{|L_u^k|} \sum_{i \in L_u^k} \frac{-\log_2 (n_i / |U|)}{\log_2 |U|}

    Range [0, 1]; higher is more novel. Needs ``train``.

    Parameters
    ----------
    denominator : {"length", "k"}
        What divides: the number of items in the top k, or k.

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

    denominator: Literal["length", "k"] = "length"

    def values(self, block: Block, k: Array) -> Array:
        """Return mean surprisal, shape (U, n_k)."""
        rows = block.rows("listed")
        xp = namespace(block.list_length)
        most = math.log2(block.fact(_POPULARITY, Popularity).n_users)
        bits = xp.take(-xp.log2(_chance(block, "users", least=1.0)), rows.item)
        terms = bits / most if most else xp.zeros_like(bits)
        return divide(block.sum_listed(terms, k), listed_denominator(block, k, self.denominator))


@measure("unexpectedness", range=(0, 1), higher_is_better=True, needs=frozenset({"baseline"}))
class Unexpectedness(PerUser):
    r"""Share of the top k that is not in the top k of another run.

    .. math:: 1 - |L_u^k \cap B_u^k| / |L_u^k|

    :math:`B_u` is the user's list in ``baseline``; users without one have no value. Range [0, 1];
    higher is less expected.

    Parameters
    ----------
    denominator : {"length", "k"}
        What divides: the number of items in the top k, or k.

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

    about: ClassVar[Literal["relevance", "list", "user"]] = "list"
    denominator: Literal["length", "k"] = "length"

    def require_cutoff(self) -> None:
        """Raise if the sum is to be divided by k and there is no k."""
        need_cutoff(self, where=self.denominator == "k", said="denominator=k")

    def values(self, block: Block, k: Array) -> Array:
        """Return the share that is new, shape (U, n_k)."""
        return 1.0 - shared_with_baseline(block, k, self.denominator)
