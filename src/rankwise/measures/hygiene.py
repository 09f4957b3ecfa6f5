r"""List hygiene: what is wrong with lists before anyone asks whether they are good."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Literal

from rankwise.core.backend import namespace
from rankwise.core.facts import Fact, Popularity
from rankwise.measures.arithmetic import divide, need_cutoff, retrieved, shared_with_baseline
from rankwise.measures.kinds import PerUser
from rankwise.measures.measure import measure

if TYPE_CHECKING:
    from rankwise.core.backend import Array
    from rankwise.core.block import Block

__all__ = [
    "ColdItemShare",
    "DuplicateRate",
    "MeanScore",
    "Overlap",
    "Repeated",
    "Unsatisfied",
]


class _OfList(PerUser):
    about: ClassVar[Literal["relevance", "list", "user"]] = "list"


@measure("duplicate_rate", range=(0, 1), higher_is_better=False, cutoff="none")
class DuplicateRate(_OfList):
    r"""Share of a list that repeats an item from further up.

    .. math:: \frac{\text{rows that repeat an item}}{\text{rows of the list}}

    Without ``duplicates="first"`` a repeated item is an error, and there is nothing to measure.
    Range [0, 1]; lower is better.

    References
    ----------
    Tamm, Damdinov & Vasilev 2021, Quality Metrics in Recommender Systems: Do We Calculate Metrics
    Consistently?, RecSys (what repetitions do to other measures).

    Examples
    --------
    >>> import rankwise as rw
    >>> result = rw.evaluate({"ann": [1, 2, 1, 1]}, {"ann": {2}}, "duplicate_rate",
    ...                      duplicates="first")
    >>> result["duplicate_rate"]
    0.5
    """

    def values(self, block: Block, k: Array) -> Array:
        """Return shares of repetitions, shape (U, 1)."""
        xp = namespace(block.list_length)
        dropped = xp.astype(block.n_dropped, xp.float64)
        return divide(dropped, dropped + xp.astype(block.list_length, xp.float64))[:, None]


@measure("unsatisfied", range=(0, math.inf), higher_is_better=False, cutoff="required")
class Unsatisfied(PerUser):
    r"""Number of users with less than k items.

    .. math:: |\{u : |L_u| < k\}|

    Range [0, number of users]; lower is better.

    Parameters
    ----------
    as_share : bool
        Return the share of the users that count, in [0, 1].

    References
    ----------
    Anelli et al. 2021, Elliot: a Comprehensive and Rigorous Framework, SIGIR (its complement).

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": [1, 3], "bob": [2]}, {"ann": {1}, "bob": {2}}, "unsatisfied@2")[
    ...     "unsatisfied@2"]
    1.0
    """

    about: ClassVar[Literal["relevance", "list", "user"]] = "user"
    as_share: bool = False

    @property
    def aggregate(self) -> Literal["mean", "sum"]:
        """A number of users, or a share of them."""
        return "mean" if self.as_share else "sum"

    def values(self, block: Block, k: Array) -> Array:
        """Return 1 for users with a short list or none, shape (U, n_k)."""
        xp = namespace(block.list_length)
        return xp.astype(block.list_length[:, None] < k[None, :], xp.float64)


@measure("repeated", range=(0, 1), higher_is_better=False, needs=frozenset({"repeats"}))
class Repeated(_OfList):
    r"""Share of the top k that the user has already had in training.

    .. math:: |L_u^k \cap H_u| / |L_u^k|

    Range [0, 1]; lower is better unless repeats are wanted. Needs ``train``.

    References
    ----------
    Anderson et al. 2014, The Dynamics of Repeat Consumption, WWW (where repeats are wanted).

    Examples
    --------
    >>> import rankwise as rw
    >>> train = {"ann": [1, 7]}
    >>> rw.evaluate({"ann": [1, 2]}, {"ann": {2}}, "repeated@2", train=train)["repeated@2"]
    0.5
    """

    def values(self, block: Block, k: Array) -> Array:
        """Return shares of items seen, shape (U, n_k)."""
        assert block.repeats is not None  # the plan sees to it
        return divide(block.count_shared(block.repeats, k), retrieved(block, k))


@measure("cold_item_share", range=(0, 1), higher_is_better=None, needs=frozenset({"listed"}))
class ColdItemShare(_OfList):
    r"""Share of the top k that nobody has had in training.

    .. math:: |\{i \in L_u^k : n_i = 0\}| / |L_u^k|

    Range [0, 1]; it describes, and judges nothing. Needs ``train``.

    References
    ----------
    Schein et al. 2002, Methods and Metrics for Cold-Start Recommendations, SIGIR.

    Examples
    --------
    >>> import rankwise as rw
    >>> name, train = "cold_item_share@2", {"ann": [1, 7]}
    >>> rw.evaluate({"ann": [1, 2]}, {"ann": {2}}, name, train=train)[name]
    0.5
    """

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Training."""
        return (Fact("popularity"),)

    def values(self, block: Block, k: Array) -> Array:
        """Return shares of items never seen, shape (U, n_k)."""
        cold = block.fact(Fact("popularity"), Popularity).count == 0
        xp = namespace(cold)
        here = xp.astype(xp.take(cold, block.rows("listed").item), xp.float64)
        return divide(block.sum_listed(here, k), retrieved(block, k))


@measure("overlap", range=(0, 1), higher_is_better=None, needs=frozenset({"baseline"}))
class Overlap(_OfList):
    r"""Share of the top k that is also in the top k of another run.

    .. math:: |L_u^k \cap B_u^k| / |L_u^k|

    :math:`B_u` is the user's list in ``baseline``; users without one have no value. Range [0, 1];
    it describes, and judges nothing. One less ``unexpectedness``.

    Parameters
    ----------
    denominator : {"length", "k", "union"}
        What divides: the number of items in the top k, k, or the number of items in either top k.

    References
    ----------
    Jaccard 1901, Étude comparative de la distribution florale (the union); for lists: Webber,
    Moffat & Zobel 2010, A Similarity Measure for Indefinite Rankings, ACM TOIS 28(4).

    Examples
    --------
    >>> import rankwise as rw
    >>> name, other = "overlap@2", {"ann": [2, 1, 3]}
    >>> rw.evaluate({"ann": [1, 5]}, {"ann": {1}}, name, baseline=other)[name]
    0.5
    """

    denominator: Literal["length", "k", "union"] = "length"

    def require_cutoff(self) -> None:
        """Raise if the sum is to be divided by k and there is no k."""
        need_cutoff(self, where=self.denominator == "k", said="denominator=k")

    def values(self, block: Block, k: Array) -> Array:
        """Return shares of items in common, shape (U, n_k)."""
        return shared_with_baseline(block, k, self.denominator)


@measure("mean_score", range=(-math.inf, math.inf), higher_is_better=None,
         needs=frozenset({"listed", "scores"}))  # fmt: skip
class MeanScore(_OfList):
    r"""Mean score of the items in the top k.

    .. math:: \frac{1}{|L_u^k|} \sum_{i \in L_u^k} s_{ui}

    Range (-inf, inf), in the unit of the scores; it describes, and judges nothing.

    References
    ----------
    Deldjoo et al. 2021, A Flexible Framework for Evaluating User and Item Fairness in Recommender
    Systems, UMUAI 31.

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": {1: 5.0, 2: 3.0}}, {"ann": {1}}, "mean_score@2")["mean_score@2"]
    4.0
    """

    def values(self, block: Block, k: Array) -> Array:
        """Return mean scores, shape (U, n_k)."""
        score = block.rows("listed").score
        return divide(block.sum_listed(score, k), retrieved(block, k))
