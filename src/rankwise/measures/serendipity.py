r"""Serendipity: relevant recommendations that are unexpected, by popularity or by history."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias

from rankwise import functional as plain
from rankwise.core.arrays import Array, bincount, count, namespace
from rankwise.core.block import Block
from rankwise.core.facts import POPULARITY, SIMILARITY, Features, Similarity
from rankwise.core.row_sets import ItemRows
from rankwise.measures.arithmetic import divide, or_nan, retrieved, unit_vectors
from rankwise.measures.input_kinds import Input
from rankwise.measures.kinds import Pooled, Sums
from rankwise.measures.measure import measure

__all__ = ["Serendipity"]

_Adder: TypeAlias = Callable[[Array, int], Array]
_USERS = 256  # users whose histories are held as rows of one matrix


class _Sums(NamedTuple):
    length: Array
    """The number of items in the top k."""
    total: Array
    """The terms of warm items, summed; for form=popularity times the size of the catalogue."""
    n_cold: Array
    """The number of items never seen in training."""
    cold_ranks: Array
    """Their ranks, counted from 0, summed."""


@measure(
    "serendipity",
    range=(0, 2),
    higher_is_better=True,
    cutoff="required",
    family="novelty",
    plain=plain.serendipity_at_k,
)
class Serendipity(Pooled):
    r"""Unexpected relevant items: ranked above their popularity, or unlike the user's history.

    .. math:: \frac{1}{|L_u^k|} \sum_{i \le k} rel_i \cdot
              \max\left(\frac{|I| + 1 - i}{|I|} - \frac{|I| + 1 - pop_i}{|I|},\, 0\right)

    :math:`L_u^k` is the top k of the recommendation list of user u; :math:`rel_i` is 1 if the item
    at rank i is relevant, else 0; :math:`|I|` is the size of the catalogue; :math:`pop_i` is the
    item's popularity rank, where equally popular items share one rank and the next rank is one
    more. For items never seen in training the second fraction is 0. With ``form="history"``, an
    item counts 1 minus its mean cosine with the user's training items :math:`H_u`:

    .. math:: \frac{1}{|L_u^k|} \sum_{i \le k} rel_i \cdot
              \left(1 - \frac{1}{|H_u|} \sum_{h \in H_u} \cos(i, h)\right)

    Range [0, 2], and [0, 1] where cosines are not negative; higher is better. Needs ``train``.
    Tied items are taken in order of item id.

    Parameters
    ----------
    form : {"popularity", "history"}, default="popularity"
        The first formula (as in RecTools), or the second (as in recommenders), in which users
        without a training history have no value.
    relevance : {"binary", "none"}, default="binary"
        ``"binary"`` counts only relevant items; ``"none"`` counts all items, as if :math:`rel_i`
        were 1 (the default of recommenders), for all users with a list.
    similarity : {"cooccurrence", "features"}, default="cooccurrence"
        For ``form="history"``: cosines between the items' columns of training users, or between
        their feature vectors.
    features : str, default="features"
        The column of ``items`` with the feature vectors.

    References
    ----------
    Zhang et al. 2012, Auralist: Introducing Serendipity into Music Recommendation, WSDM;
    Murakami, Mori & Orihara 2008, Metrics for Evaluating the Serendipity of Recommendation Lists.

    Examples
    --------
    >>> import rankwise as rw
    >>> train = {"ann": [7], "bob": [7, 8], "cyd": [7, 9]}
    >>> rw.evaluate({"ann": [8, 9]}, {"ann": {8}}, "serendipity@2", train=train)["serendipity@2"]
    0.16667
    """

    form: Literal["popularity", "history"] = "popularity"
    relevance: Literal["binary", "none"] = "binary"
    similarity: Literal["cooccurrence", "features"] = "cooccurrence"
    features: str = "features"
    mean_of_users = True

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The lists or their judged rows, and popularity or the similarity to the history."""
        rows: Input = "judged" if self.relevance == "binary" else "recommended"
        if self.form == "popularity":
            return ("recommended", rows, "whole_catalogue", POPULARITY)
        alike: Input = SIMILARITY
        if self.similarity == "features":
            alike = Features.fact(self.features)
        return ("recommended", rows, "whole_catalogue", "history", alike)

    @property
    def reads_truth(self) -> bool:
        """Whether only relevant items count."""
        return self.relevance == "binary"

    @property
    def defined_for(self) -> Literal["relevance", "list", "user"]:
        """Users with relevant items, if only these count."""
        return "relevance" if self.relevance == "binary" else "list"

    def sums(self, block: Block, k: int) -> Sums:
        """Return the length of each list, and what its items come to, arrays of shape (U,)."""
        xp, length = block.xp, retrieved(block, k)
        user, rank, item, weight, add = self._counted_rows(block)
        if self.form == "history":
            has_history = block.count_rows(block.history) > 0
            total = add(weight * self._distance(block, user, item), k)
            return _Sums(or_nan(length, has_history), total, total * 0, total * 0)
        training = block[POPULARITY]
        expected = xp.take(training.popularity_rank, item)
        warm = xp.take(training.count, item) > 0
        gain = xp.where(warm, xp.clip(expected - rank, min=0.0), 0.0)
        cold = xp.where(warm, 0.0, weight)
        return _Sums(length, add(weight * gain, k), n_cold=add(cold, k), cold_ranks=add(cold * (rank - 1.0), k))

    def pool(self, sums: Sums, catalogue_size: int) -> Array:
        """Return the mean over the list; NaN without one."""
        s = _Sums(*sums)
        total = s.total
        if self.form == "popularity":  # for cold items the second fraction is 0
            total = (total + catalogue_size * s.n_cold - s.cold_ranks) / catalogue_size
        return or_nan(divide(total, s.length), s.length > 0)

    def _counted_rows(self, block: Block) -> tuple[Array, Array, Array, Array, _Adder]:
        """Return user, rank, item and weight of the rows that count, and what sums over them."""
        xp = block.xp
        if self.relevance == "binary":
            judged = block.judged
            rank = xp.astype(judged.rank, xp.float64)
            return judged.user, rank, judged.item, judged.relevant, block.sum_judged
        rows = block.recommended
        rank = xp.astype(rows.rank, xp.float64)
        return rows.user, rank, rows.item, xp.ones_like(rank), block.sum_recommended

    def _distance(self, block: Block, user: Array, item: Array) -> Array:
        """Return 1 minus each row's mean cosine with the user's history."""
        history, xp = block.history, block.xp
        size = xp.clip(block.count_rows(history), min=1.0)
        if self.similarity == "features":
            vector = unit_vectors(block[Features.fact(self.features)].vector)
            mean = _sum_vectors(block, history, vector) / size[:, None]
            return 1.0 - xp.sum(xp.take(vector, item, axis=0) * xp.take(mean, user, axis=0), axis=1)
        similarity = block[SIMILARITY]
        total = _sum_cosines(block, history, similarity, user, xp.take(similarity.row, item))
        return 1.0 - total / xp.take(size, user)


def _sum_vectors(block: Block, history: ItemRows, vector: Array) -> Array:
    """Sum the vectors of each history, (U, d); rounded, so that the order does not matter."""
    xp = namespace(vector)
    rounded = xp.round(vector * 2.0**40) / 2.0**40
    columns = [
        bincount(history.user, xp.take(rounded[:, j], history.item), block.n_users) for j in range(vector.shape[1])
    ]
    return xp.stack(columns, axis=1)


def _sum_cosines(block: Block, history: ItemRows, similarity: Similarity, user: Array, row: Array) -> Array:
    """Sum the cosines of each row's item with all items of its user's history, shape (n,).

    The pairs of items are never materialised. Cosines come rounded to multiples of 2^-38 (see
    `rankwise.encoding.fact_arrays.similarity`): their sums are then exact, and a matrix product
    gives the same digits however users are divided into blocks.
    """
    xp = namespace(similarity.cosine)
    history_row = xp.take(similarity.row, history.item)
    parts, width = [], similarity.cosine.shape[0]
    for first in range(0, block.n_users, _USERS):
        n = min(_USERS, block.n_users - first)
        held = (history.user >= first) & (history.user < first + n)
        here = (user >= first) & (user < first + n)
        cell = (history.user[held] - first) * width + history_row[held]
        counts = xp.reshape(count(cell, n * width), (n, width))
        total = xp.astype(counts, xp.float64) @ similarity.cosine
        flat = (user[here] - first) * width + row[here]
        parts.append(xp.take(xp.reshape(total, (-1,)), flat))
    return xp.concat(parts) if parts else xp.zeros(0, dtype=xp.float64)
