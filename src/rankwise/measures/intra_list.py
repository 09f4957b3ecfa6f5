r"""Intra-list diversity: how far the items of one recommendation list are from one another."""

from __future__ import annotations

import math
from typing import Literal

from rankwise import functional as plain
from rankwise.core.arrays import Array
from rankwise.core.block import Block
from rankwise.core.facts import Categories, Features
from rankwise.errors import ParameterError
from rankwise.measures.batches import batches
from rankwise.measures.distances import NAMED, CustomDistance, Distance
from rankwise.measures.input_kinds import Input
from rankwise.measures.kinds import PerUser
from rankwise.measures.measure import measure

__all__ = ["IntraListDiversity"]

_DENSE = 1 << 24  # largest matrix of items times categories that is made for the whole catalogue
_SINGLE = {"zero": 0.0, "one": 1.0, "skip": math.nan}


@measure(
    "intra_list_diversity",
    "ild",
    range=(0, math.inf),
    higher_is_better=True,
    family="diversity",
    plain=plain.intra_list_diversity,
)
class IntraListDiversity(PerUser):
    r"""Mean distance between the items of the top k, over all pairs.

    .. math:: \frac{2}{n (n - 1)} \sum_{i < j} d(i, j), \quad i, j \in L_u^k, \; n = |L_u^k|

    :math:`L_u^k` is the top k of the recommendation list of user u, :math:`d` a distance. The mean
    over users with a list. Range [0, inf), [0, 1] for Jaccard and [0, 2] for cosine; higher is more
    diverse. Needs ``items`` with categories or features; an item without them has no categories, or
    a zero vector, whose cosine distance to every other item is 1.

    Parameters
    ----------
    distance : {"cosine", "jaccard", "euclidean"} or callable, default="cosine"
        Cosine and Euclidean distances are between feature vectors, Jaccard between sets of
        categories. A callable takes the feature vectors of n items, shape (n, d), and returns the
        distances, shape (n, n): ``lambda x: scipy.spatial.distance.cdist(x, x, "cityblock")``.
        Results name it as ``"module:function"``; this text is never run: to evaluate, pass the
        function itself.
    single : {"zero", "one", "skip"}, default="zero"
        The value of a list with one item: 0, 1, or no value.
    features : str, default="features"
        The column of ``items`` with the feature vectors.
    categories : str, default="categories"
        The column of ``items`` with the categories.

    References
    ----------
    Ziegler et al. 2005, Improving Recommendation Lists Through Topic Diversification, WWW;
    Smyth & McClave 2001, Similarity vs. Diversity, ICCBR.

    Examples
    --------
    >>> import rankwise as rw
    >>> items = {"item": [1, 2, 3], "genres": ["war", "war|drama", "drama"]}
    >>> name = "ild(distance=jaccard)@3"
    >>> rw.evaluate({"ann": [1, 2, 3]}, {"ann": {1}}, name, items=items)[name]
    0.66667
    """

    defined_for = "list"
    distance: object = "cosine"
    single: Literal["zero", "one", "skip"] = "zero"
    features: str = "features"
    categories: str = "categories"

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        named = isinstance(self.distance, str) and (self.distance in NAMED or ":" in self.distance)
        if not named and not callable(self.distance):
            raise ParameterError(
                f"{self.name}: distance must be one of {', '.join(NAMED)}, or a callable",
                found=f"distance={self.distance!r}",
            )

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The lists, and categories or feature vectors."""
        if self.distance == "jaccard":
            return ("recommended", Categories.fact(self.categories))
        return ("recommended", Features.fact(self.features))

    def value(self, block: Block, k: int) -> Array:
        """Return mean distances, shape (U,)."""
        distance, xp = self._distance(), block.xp
        vectors, rows = self._vectors(block)
        vectors = distance.prepare(vectors)
        width = vectors.shape[1]
        mean = xp.full((block.n_users,), _SINGLE[self.single], dtype=xp.float64)
        for users, items in batches(block, rows, k, lambda n: distance.work_size(n, width)):
            n = items.shape[1]
            chosen = xp.take(vectors, xp.reshape(items, (-1,)), axis=0)
            total = distance.sum(xp.reshape(chosen, (-1, n, width)))
            mean[users] = xp.clip(total / (n * (n - 1.0)), min=0.0)
        return mean

    def _distance(self) -> Distance:
        """Return what sums the distances of the items of lists."""
        if callable(self.distance):
            return CustomDistance(self.distance, self.name)
        if self.distance in NAMED:
            return NAMED[str(self.distance)]()
        raise ParameterError(
            f"{self.name}: a distance named in text is never run",
            found=f"distance={self.distance!r}",
            hint="pass the function itself: rw.IntraListDiversity(distance=function) @ 10",
        )

    def _vectors(self, block: Block) -> tuple[Array, Array]:
        """Return item vectors, (n, d), and the number of the vector of each recommended item.

        A vector has the item's features, or 1 for each of its categories.
        """
        item, xp = block.recommended.item, block.xp
        if self.distance != "jaccard":
            return block[Features.fact(self.features)].vector, item
        categories = block[Categories.fact(self.categories)]
        if block.n_items * len(categories.names) <= _DENSE:
            return categories.matrix(xp.arange(block.n_items)), item
        recommended, rows = xp.unique_inverse(item)
        return categories.matrix(recommended), rows
