r"""Coverage: how many items of the catalogue, and how many users, recommendations reach.

Notation: :math:`L_u` is the recommendation list of user u, :math:`L_u^k` its top k, :math:`I` the
catalogue.
"""

from __future__ import annotations

import math
from typing import ClassVar, Literal

from rankwise import functional as plain
from rankwise.core.arrays import Array, namespace
from rankwise.core.block import Block
from rankwise.measures.arithmetic import check_parameter, retrieved
from rankwise.measures.kinds import Catalogue, PerUser
from rankwise.measures.measure import measure

__all__ = ["CatalogCoverage", "ItemCoverage", "NumRetrieved", "UserCoverage", "UserCoverageAtN"]


_WIDE = "of distinct items the jackknife interval is 1.3 to 1.7 times as wide as it needs to be"
"""Items that only one group of users has vary less than the jackknife takes them to."""


@measure("item_coverage", range=(0, math.inf), higher_is_better=True, plain=plain.item_counts_at_k)
class ItemCoverage(Catalogue):
    r"""Number of distinct items in all users' top k.

    .. math:: |\bigcup_u L_u^k|

    :math:`L_u^k` is the top k of the recommendation list of user u. Range [0, number of items];
    higher is better.

    References
    ----------
    Herlocker et al. 2004, Evaluating Collaborative Filtering Recommender Systems, ACM TOIS 22(1).

    Examples
    --------
    >>> import rankwise as rw
    >>> recommendations = {0: [1, 2, 3], 1: [2, 3, 4], 2: [3, 4, 5]}
    >>> truth = {0: {1}, 1: {1}, 2: {1}}
    >>> rw.evaluate(recommendations, truth, "item_coverage@3")["item_coverage@3"]
    5.0
    """

    jackknife_caveat: ClassVar[str] = _WIDE

    def of_counts(self, counts: Array, catalogue_size: int) -> float:
        """Return the number of items recommended at least once."""
        xp = namespace(counts)
        return float(xp.sum(xp.astype(counts > 0, xp.int64)))


@measure(
    "catalog_coverage",
    "coverage",
    "catalogue_coverage",
    range=(0, 1),
    higher_is_better=True,
    plain=plain.catalog_coverage,
)
class CatalogCoverage(Catalogue):
    r"""Share of the catalogue that is in at least one user's top k.

    .. math:: |\bigcup_u L_u^k| / |I|

    :math:`L_u^k` is the top k of the recommendation list of user u. The catalogue :math:`I` is
    ``items``, or by default all items seen. Range [0, 1]; higher is better. Recommended items
    outside ``items`` do not count; the result reports their number.

    Parameters
    ----------
    padding : int, default=0
        The number of never recommended items to add to the catalogue; 1 for RecBole's padding item.

    References
    ----------
    Herlocker et al. 2004, Evaluating Collaborative Filtering Recommender Systems, ACM TOIS 22(1).

    Examples
    --------
    >>> import rankwise as rw
    >>> recommendations = {0: [1, 2, 3], 1: [2, 3, 4], 2: [3, 4, 5]}
    >>> truth = {0: {1}, 1: {1}, 2: {1}}
    >>> result = rw.evaluate(recommendations, truth, "coverage@3", items=range(100))
    >>> result["coverage@3"]
    0.05
    """

    jackknife_caveat: ClassVar[str] = _WIDE
    padding: int = 0

    def __post_init__(self) -> None:
        """Check the padding."""
        super().__post_init__()
        check_parameter(self, "padding", self.padding >= 0, "must be 0 or more")

    def of_counts(self, counts: Array, catalogue_size: int) -> float:
        """Return the share of items recommended at least once."""
        xp = namespace(counts)
        n_recommended = float(xp.sum(xp.astype(counts > 0, xp.int64)))
        return n_recommended / (catalogue_size + self.padding)


class _OfAllUsers(PerUser):
    defined_for = "user"
    reads_truth = False


@measure("user_coverage", range=(0, math.inf), higher_is_better=True, plain=plain.user_coverage_at_k)
class UserCoverage(_OfAllUsers):
    r"""Number of users with at least one item in their top k.

    .. math:: |\{u : L_u^k \neq \emptyset\}|

    :math:`L_u^k` is the top k of the recommendation list of user u. Range [0, number of users];
    higher is better.

    Parameters
    ----------
    as_share : bool, default=False
        Return the share of the evaluated users instead of their number, in [0, 1].

    References
    ----------
    Anelli et al. 2021, Elliot: a Comprehensive and Rigorous Framework, SIGIR.

    Examples
    --------
    >>> import rankwise as rw
    >>> truth = {"ann": {1}, "bob": {2}}
    >>> rw.evaluate({"ann": [1, 3]}, truth, "user_coverage@2")["user_coverage@2"]
    1.0
    """

    as_share: bool = False

    @property
    def aggregate(self) -> Literal["mean", "sum"]:
        """The mean is the share of users, the sum their number."""
        return "mean" if self.as_share else "sum"

    def value(self, block: Block, k: int) -> Array:
        """Return 1 for users with a recommendation list, else 0, shape (U,)."""
        return block.xp.astype(block.list_length > 0, block.xp.float64)


@measure("num_retrieved", range=(0, math.inf), higher_is_better=True, plain=plain.num_retrieved_at_k)
class NumRetrieved(_OfAllUsers):
    r"""Mean number of items in the users' top k.

    .. math:: \min(k, |L_u|)

    :math:`L_u` is the recommendation list of user u. The mean over all evaluated users; a user
    without a list counts 0. Range [0, k]; higher is better.

    References
    ----------
    Anelli et al. 2021, Elliot: a Comprehensive and Rigorous Framework, SIGIR.

    Examples
    --------
    >>> import rankwise as rw
    >>> truth = {"ann": {1}, "bob": {2}}
    >>> rw.evaluate({"ann": [1, 3], "bob": [2]}, truth, "num_retrieved@2")["num_retrieved@2"]
    1.5
    """

    def value(self, block: Block, k: int) -> Array:
        """Return the number of items in the top k, shape (U,)."""
        return retrieved(block, k)


@measure(
    "user_coverage_at_n", range=(0, math.inf), higher_is_better=True, cutoff="required", plain=plain.user_coverage_at_n
)
class UserCoverageAtN(_OfAllUsers):
    r"""Number of users whose recommendation list has at least k items.

    .. math:: |\{u : |L_u| \ge k\}|

    :math:`L_u` is the recommendation list of user u. Range [0, number of users]; higher is better.

    References
    ----------
    Anelli et al. 2021, Elliot: a Comprehensive and Rigorous Framework, SIGIR.

    Examples
    --------
    >>> import rankwise as rw
    >>> result = rw.evaluate({1: [1, 3], 2: [2]}, {1: {1}, 2: {2}}, "user_coverage_at_n@2")
    >>> result["user_coverage_at_n@2"]
    1.0
    """

    aggregate = "sum"

    def value(self, block: Block, k: int) -> Array:
        """Return 1 for users with at least k items, else 0, shape (U,)."""
        return block.xp.astype(block.list_length >= k, block.xp.float64)
