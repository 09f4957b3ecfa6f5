r"""Diversity inside one list: how far its items are from one another."""

from __future__ import annotations

import importlib
import math
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from rankwise.core.backend import count, namespace
from rankwise.core.facts import Categories, Fact, Features
from rankwise.errors import ParameterError
from rankwise.measures.arithmetic import unit_vectors
from rankwise.measures.kinds import PerUser
from rankwise.measures.measure import measure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rankwise.core.backend import Array
    from rankwise.core.block import Block

__all__ = ["IntraListDiversity"]

_DENSE = 1 << 24  # items times categories that may stand in one matrix without a thought
_CELLS = 1 << 17  # numbers of one work array: small enough for the cache


@measure(
    "intra_list_diversity",
    "ild",
    range=(0, math.inf),
    higher_is_better=True,
    needs=frozenset({"listed"}),
    family="diversity",
)
class IntraListDiversity(PerUser):
    r"""Mean distance between the items of the top k, over all pairs.

    .. math:: \frac{2}{n (n - 1)} \sum_{i < j} d(i, j), \quad i, j \in L_u^k, \; n = |L_u^k|

    0 for a list of one item. Range [0, inf), [0, 1] for Jaccard and [0, 2] for cosine; higher is
    more diverse. Needs ``items`` with categories or features; items without have no categories, or
    a vector of zeros, whose cosine distance to everything is 1.

    Parameters
    ----------
    distance : {"cosine", "jaccard", "euclidean"} or callable
        Cosine and Euclidean distances are between feature vectors, Jaccard between sets of
        categories. A callable takes the vectors of n items, shape (n, d), and returns their
        distances, shape (n, n), as ``lambda x: scipy.spatial.distance.cdist(x, x, "cityblock")``
        does; in text it is named as ``"module:function"``.
    features : str
        The column of ``items`` with the vectors.
    categories : str
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

    about: ClassVar[Literal["relevance", "list", "user"]] = "list"
    distance: object = "cosine"
    features: str = "features"
    categories: str = "categories"

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        known = ("cosine", "jaccard", "euclidean")
        named = isinstance(self.distance, str) and ":" in self.distance
        if self.distance not in known and not named and not callable(self.distance):
            raise ParameterError(
                f"{self.name}: distance must be one of {', '.join(known)}, or a callable",
                found=f"distance={self.distance!r}",
            )

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Categories or features."""
        if self.distance == "jaccard":
            return (Fact("categories", self.categories),)
        return (Fact("features", self.features),)

    def values(self, block: Block, k: Array) -> Array:
        """Return mean distances, shape (U, n_k)."""
        listed = block.rows("listed")
        xp = namespace(listed.item)
        known, row = xp.arange(block.n_items), listed.item
        if self.distance == "jaccard" and block.n_items * self._width(block) > _DENSE:
            known, row = xp.unique_inverse(listed.item)  # only what stands in some list
        vectors = self._vectors(block, known)
        out = xp.zeros((block.n_users, k.shape[0]), dtype=xp.float64)
        for at, cutoff in enumerate(int(one) for one in k):
            for users, items in _lists(block, row, cutoff, self._cells(vectors.shape[1])):
                n = items.shape[1]
                own = xp.take(vectors, xp.reshape(items, (-1,)), axis=0)
                total = self._total(xp.reshape(own, (-1, n, vectors.shape[1])))
                out[users, at] = xp.clip(total / (n * (n - 1.0)), min=0.0)
        return out

    def _width(self, block: Block) -> int:
        return len(block.fact(self.facts[0], Categories).names)

    def _cells(self, width: int) -> Callable[[int], int]:
        """Return how many numbers are worked on for a list of some length."""
        return lambda n: n * width if self.distance == "cosine" else n * max(n, width)

    def _vectors(self, block: Block, items: Array) -> Array:
        (fact,) = self.facts
        if fact.kind == "features":
            vector = block.fact(fact, Features).vector
            xp = namespace(vector)
            vector = xp.take(vector, items, axis=0)
            return unit_vectors(vector) if self.distance == "cosine" else vector
        named = block.fact(fact, Categories)
        xp = namespace(named.code)
        n, width = items.shape[0], len(named.names)
        owner, category = named.of(items)
        member = count(owner * width + category, n * width)
        return xp.reshape(xp.astype(member, xp.float64), (n, width))

    def _total(self, vectors: Array) -> Array:
        """Sum the distances over ordered pairs of the items of some lists, (u, n, d) to (u,)."""
        xp = namespace(vectors)
        n = vectors.shape[1]
        if self.distance == "cosine":  # the length of the sum of unit vectors says it all
            total = xp.sum(vectors, axis=1)
            squares = xp.sum(total * total, axis=1)
            own = xp.sum(xp.sum(vectors * vectors, axis=2), axis=1)
            return n * (n - 1.0) - (squares - own)
        if callable(self.distance) or self.distance not in ("jaccard", "euclidean"):
            return self._total_of_callable(vectors)
        product = vectors @ xp.matrix_transpose(vectors)
        size = xp.asarray(xp.linalg.diagonal(product), copy=True)  # the product changes below
        if self.distance == "euclidean":
            product *= -2.0
            product += size[:, :, None]
            product += size[:, None, :]
            return _sum_matrix(xp.sqrt(xp.clip(product, min=0.0)))
        # Of two empty sets the distance is 0, and so is the product that is taken away below.
        empty = xp.sum(xp.astype(size == 0, xp.float64), axis=1)
        either = size[:, :, None] + size[:, None, :]
        either -= product
        product /= xp.clip(either, min=1.0)
        return n * (n - 1.0) - empty * (empty - 1.0) - (_sum_matrix(product) - (n - empty))

    def _total_of_callable(self, vectors: Array) -> Array:
        xp = namespace(vectors)
        distance = self.distance if callable(self.distance) else _imported(str(self.distance))
        n, totals = vectors.shape[1], []
        for at in range(vectors.shape[0]):
            matrix = xp.asarray(distance(vectors[at, ...]), dtype=xp.float64)
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


def _imported(name: str) -> Callable[[Any], Any]:
    module, _, attribute = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ParameterError(
            "the distance cannot be imported", found=name, hint="write 'module:function'"
        ) from error
    if not callable(found):
        raise ParameterError("the distance is not a function", found=name)
    return found  # type: ignore[no-any-return]


def _lists(
    block: Block, row: Array, cutoff: int, cells: Callable[[int], int]
) -> Iterator[tuple[Array, Array]]:
    """Yield the numbers of some users with as many items in the top k, and their rows, (u, n)."""
    xp = namespace(block.list_length)
    starts = xp.cumulative_sum(block.list_length) - block.list_length
    length = xp.clip(block.list_length, max=cutoff)
    for n in (int(one) for one in xp.unique_values(length)):
        if n < 2:
            continue
        (users,) = xp.nonzero(length == n)
        step = max(1, _CELLS // cells(n))
        for first in range(0, users.shape[0], step):
            some = users[first : first + step]
            at = xp.take(starts, some)[:, None] + xp.arange(n)[None, :]
            yield some, xp.reshape(xp.take(row, xp.reshape(at, (-1,))), (-1, n))
