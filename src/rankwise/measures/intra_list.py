r"""Intra-list diversity: how far the items of one recommendation list are from one another."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from rankwise import functional as plain
from rankwise.core.arrays import Array, count, namespace
from rankwise.core.block import Block
from rankwise.core.facts import Categories, Features
from rankwise.errors import ParameterError
from rankwise.measures.arithmetic import unit_vectors
from rankwise.measures.input_kinds import Input
from rankwise.measures.kinds import PerUser
from rankwise.measures.measure import measure

__all__ = ["IntraListDiversity"]

_DENSE = 1 << 24  # largest matrix of items times categories that is made for the whole catalogue
_CELLS = 1 << 17  # numbers in one work array: small enough for the cache


@measure("intra_list_diversity", "ild", range=(0, math.inf), higher_is_better=True,
         family="diversity", plain=plain.intra_list_diversity)  # fmt: skip
class IntraListDiversity(PerUser):
    r"""Mean distance between the items of the top k, over all pairs.

    .. math:: \frac{2}{n (n - 1)} \sum_{i < j} d(i, j), \quad i, j \in L_u^k, \; n = |L_u^k|

    0 for a list of one item. Range [0, inf), [0, 1] for Jaccard and [0, 2] for cosine; higher is
    more diverse. Needs ``items`` with categories or features; an item without them has no
    categories, or a zero vector, whose cosine distance to every other item is 1.

    Parameters
    ----------
    distance : {"cosine", "jaccard", "euclidean"} or callable, default="cosine"
        Cosine and Euclidean distances are between feature vectors, Jaccard between sets of
        categories. A callable takes the feature vectors of n items, shape (n, d), and returns the
        distances, shape (n, n): ``lambda x: scipy.spatial.distance.cdist(x, x, "cityblock")``.
        Results name it ``"module:function"``; that text alone runs no code, and cannot be
        evaluated.
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
    features: str = "features"
    categories: str = "categories"

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        names = ("cosine", "jaccard", "euclidean")
        named = isinstance(self.distance, str) and ":" in self.distance
        if self.distance not in names and not named and not callable(self.distance):
            raise ParameterError(
                f"{self.name}: distance must be one of {', '.join(names)}, or a callable",
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
        if isinstance(self.distance, str) and ":" in self.distance:
            raise ParameterError(
                f"{self.name}: a distance that is named in text is not run",
                found=f"distance={self.distance!r}",
                hint="pass the function itself: rw.IntraListDiversity(distance=function) @ 10",
            )
        item = block.recommended.item
        xp = namespace(item)
        items, rows = xp.arange(block.n_items), item
        if self.distance == "jaccard":
            n_categories = len(block[Categories.fact(self.categories)].names)
            if block.n_items * n_categories > _DENSE:
                items, rows = xp.unique_inverse(item)  # only recommended items
        vectors = self._vectors(block, items)
        width = vectors.shape[1]
        out = xp.zeros(block.n_users, dtype=xp.float64)
        for users, chosen in _batches(block, rows, k, self._work_size(width)):
            n = chosen.shape[1]
            flat = xp.take(vectors, xp.reshape(chosen, (-1,)), axis=0)
            total = self._sum_distances(xp.reshape(flat, (-1, n, width)))
            out[users] = xp.clip(total / (n * (n - 1.0)), min=0.0)
        return out

    def _work_size(self, width: int) -> Callable[[int], int]:
        """Return how many numbers one list takes in a work array, by its length."""
        return lambda n: n * width if self.distance == "cosine" else n * max(n, width)

    def _vectors(self, block: Block, items: Array) -> Array:
        """Return each item's feature vector, or 1 for each of its categories, shape (n, d)."""
        if self.distance != "jaccard":
            vector = block[Features.fact(self.features)].vector
            vector = namespace(vector).take(vector, items, axis=0)
            return unit_vectors(vector) if self.distance == "cosine" else vector
        categories = block[Categories.fact(self.categories)]
        xp = namespace(categories.code)
        n, width = items.shape[0], len(categories.names)
        owner, category = categories.of(items)
        member = count(owner * width + category, n * width)
        return xp.reshape(xp.astype(member, xp.float64), (n, width))

    def _sum_distances(self, vectors: Array) -> Array:
        """Sum the distances over ordered pairs of the items of each list, (u, n, d) to (u,)."""
        xp = namespace(vectors)
        n = vectors.shape[1]
        if self.distance == "cosine":  # the squared sum holds all pairs, and each item with itself
            total = xp.sum(vectors, axis=1)
            squares = xp.sum(total * total, axis=1)
            diagonal = xp.sum(xp.sum(vectors * vectors, axis=2), axis=1)
            return n * (n - 1.0) - (squares - diagonal)
        if callable(self.distance) or self.distance not in ("jaccard", "euclidean"):
            return self._sum_custom_distances(vectors)
        product = vectors @ xp.matrix_transpose(vectors)
        size = xp.asarray(xp.linalg.diagonal(product), copy=True)  # the product changes below
        if self.distance == "euclidean":
            product *= -2.0
            product += size[:, :, None]
            product += size[:, None, :]
            return _sum_matrix(xp.sqrt(xp.clip(product, min=0.0)))
        # Two empty sets have distance 0, and their product, subtracted below, is 0 as well.
        empty = xp.sum(xp.astype(size == 0, xp.float64), axis=1)
        union = size[:, :, None] + size[:, None, :]
        union -= product
        product /= xp.clip(union, min=1.0)
        return n * (n - 1.0) - empty * (empty - 1.0) - (_sum_matrix(product) - (n - empty))

    def _sum_custom_distances(self, vectors: Array) -> Array:
        xp = namespace(vectors)
        distance = self.distance
        assert callable(distance)
        n, totals = vectors.shape[1], []
        for index in range(vectors.shape[0]):
            matrix = xp.asarray(distance(vectors[index, ...]), dtype=xp.float64)
            if matrix.shape != (n, n):
                raise ParameterError(
                    f"{self.name}: a distance takes n vectors, shape (n, d), and returns (n, n)",
                    found=f"shape {tuple(matrix.shape)} for n = {n}",
                )
            totals.append(xp.sum(matrix) - xp.sum(xp.linalg.diagonal(matrix)))
        return xp.stack(totals)


def _sum_matrix(matrices: Array) -> Array:
    """Sum each matrix, row by row: (u, n, n) to (u,)."""
    xp = namespace(matrices)
    return xp.sum(xp.sum(matrices, axis=2), axis=1)


def _batches(
    block: Block, rows: Array, cutoff: int, work_size: Callable[[int], int]
) -> Iterator[tuple[Array, Array]]:
    """Yield users with equally many items n in the top k, and the rows of these items, (u, n)."""
    xp = namespace(block.list_length)
    starts = xp.cumulative_sum(block.list_length) - block.list_length
    length = xp.clip(block.list_length, max=cutoff)
    lengths = sorted({min(n, cutoff) for n in block.list_lengths})
    for n in lengths:
        if n < 2:
            continue
        users = xp.nonzero(length == n)[0] if len(lengths) > 1 else xp.arange(block.n_users)
        step = max(1, _CELLS // work_size(n))
        for first in range(0, users.shape[0], step):
            batch = users[first : first + step]
            index = xp.take(starts, batch)[:, None] + xp.arange(n)[None, :]
            yield batch, xp.reshape(xp.take(rows, xp.reshape(index, (-1,))), (-1, n))
