r"""Diversity inside one list: how far its items are from one another."""

from __future__ import annotations

import importlib
import math
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from rankwise.core.backend import count, namespace
from rankwise.core.facts import Categories, Fact, Features
from rankwise.errors import ParameterError
from rankwise.measures.kinds import PerUser
from rankwise.measures.measure import measure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rankwise.core.backend import Array
    from rankwise.core.block import Block

__all__ = ["IntraListDiversity"]

_CELLS = 1 << 19  # numbers of one work array: small enough for the cache


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
        if self.distance == "cosine":
            return _mean_cosine(block, self._vectors(block), k)
        return _mean_of_pairs(block, self._vectors(block), k, self._between)

    def _vectors(self, block: Block) -> Array:
        (fact,) = self.facts
        if fact.kind == "features":
            vector = block.fact(fact, Features).vector
            xp = namespace(vector)
            if self.distance != "cosine":
                return vector
            length = xp.sqrt(xp.sum(vector * vector, axis=1, keepdims=True))
            return vector / xp.where(length > 0, length, 1.0)
        named = block.fact(fact, Categories)
        xp = namespace(named.code)
        n, width = named.signature.shape[0], len(named.names)
        owner, category = named.of(xp.arange(n))
        member = count(owner * width + category, n * width)
        return xp.reshape(xp.astype(member, xp.float64), (n, width))

    def _between(self, vectors: Array) -> Array:
        """Distances between the items of some lists, shape (u, n, d) to (u, n, n)."""
        xp = namespace(vectors)
        if self.distance in ("jaccard", "euclidean"):
            product = vectors @ xp.matrix_transpose(vectors)
            own = xp.sum(vectors * vectors, axis=2)
            both = own[:, :, None] + own[:, None, :]
            if self.distance == "euclidean":
                return xp.sqrt(xp.clip(both - 2.0 * product, min=0.0))
            either = both - product
            return xp.where(either > 0, 1.0 - product / xp.where(either > 0, either, 1.0), 0.0)
        distance = self.distance if callable(self.distance) else _imported(str(self.distance))
        return xp.stack([xp.asarray(distance(vectors[u, ...])) for u in range(vectors.shape[0])])


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


def _lists(block: Block, rows: int) -> Iterator[tuple[Array, Array]]:
    """Yield the numbers of some users with lists of one length, and their items, (u, n)."""
    listed = block.rows("listed")
    xp = namespace(block.list_length)
    starts = xp.cumulative_sum(block.list_length) - block.list_length
    for length in xp.unique_values(block.list_length):
        n = int(length)
        if n == 0:
            continue
        (users,) = xp.nonzero(block.list_length == length)
        step = max(1, rows // n)
        for first in range(0, users.shape[0], step):
            some = users[first : first + step]
            at = xp.take(starts, some)[:, None] + xp.arange(n)[None, :]
            yield some, xp.reshape(xp.take(listed.item, xp.reshape(at, (-1,))), (-1, n))


def _mean_cosine(block: Block, unit: Array, k: Array) -> Array:
    """Return the mean of 1 - cosine: the squared length of the sum of unit vectors says it all."""
    xp = namespace(unit)
    out = xp.zeros((block.n_users, k.shape[0]), dtype=xp.float64)
    width = unit.shape[1]
    for users, items in _lists(block, max(1, _CELLS // max(width, 1))):
        for at, cutoff in enumerate(int(one) for one in k):
            n = min(cutoff, items.shape[1])
            if n < 2:
                continue
            own = xp.take(unit, xp.reshape(items[:, :n], (-1,)), axis=0)
            own = xp.reshape(own, (-1, n, width))
            total = xp.sum(own, axis=1)
            squares = xp.sum(total * total, axis=1) - xp.sum(xp.sum(own * own, axis=2), axis=1)
            out[users, at] = xp.clip(1.0 - squares / (n * (n - 1.0)), min=0.0)
    return out


def _mean_of_pairs(
    block: Block, vectors: Array, k: Array, between: Callable[[Array], Array]
) -> Array:
    """Return the mean of the distances of all pairs, from the matrix of each list."""
    xp = namespace(vectors)
    out = xp.zeros((block.n_users, k.shape[0]), dtype=xp.float64)
    width = vectors.shape[1]
    cutoffs = [int(one) for one in k]
    for users, items in _lists(block, max(1, _CELLS // 100)):
        n = min(max(cutoffs), items.shape[1])
        own = xp.take(vectors, xp.reshape(items[:, :n], (-1,)), axis=0)
        distances = between(xp.reshape(own, (-1, n, width)))
        # Each item's distances to those above it, so that every cut-off is a sum down the list.
        above = xp.sum(xp.tril(distances, k=-1), axis=2)
        total = xp.cumulative_sum(above, axis=1)
        for at, cutoff in enumerate(cutoffs):
            m = min(cutoff, n)
            if m > 1:
                out[users, at] = total[:, m - 1] / (m * (m - 1) / 2.0)
    return out
