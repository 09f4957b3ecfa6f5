"""Diversity over all users and within lists, and serendipity.

Notation: :math:`L_u^k` is the top k of user u's recommendation list, :math:`c_j` the number of
users with item j in their top k.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np

from rankwise import functional as plain
from rankwise.blocks.block import (
    POPULARITY,
    SIMILARITY,
    Block,
    Categories,
    Features,
    ItemRows,
    Needs,
    Similarity,
)
from rankwise.core.arrays import Array, bincount, count, namespace
from rankwise.errors import ParameterError
from rankwise.metrics.arithmetic import (
    ABOVE_1,
    BETWEEN_0_AND_1,
    NAMED,
    NOT_NEGATIVE,
    CustomDistance,
    Distance,
    batches,
    discount,
    geometric_discount,
    n_in_top,
    or_nan,
    ratio,
    unit_vectors,
)
from rankwise.metrics.base import metric
from rankwise.metrics.inputs import (
    WIDEST,
    CatalogueSums,
    Input,
    ItemSum,
    ItemTerms,
    RecommendationCount,
)
from rankwise.metrics.kinds import Accumulated, Catalogue, PerUser, Pooled, Sums
from rankwise.metrics.states import CellValues, Floats

__all__ = [
    "Gini",
    "Herfindahl",
    "IntraListDiversity",
    "Personalization",
    "Serendipity",
    "ShannonEntropy",
]


@dataclass(frozen=True)
class _Exposure(ItemSum):
    """The attention at the ranks of each item in the top k; logarithmic without a patience."""

    patience: float | None = None

    name: ClassVar[str] = "exposure"
    needs: ClassVar[Needs] = frozenset({"recommended"})
    whole: ClassVar[bool] = False

    @property
    def key(self) -> str:
        """The name that distinguishes this sum from other item sums."""
        return f"exposure({'log' if self.patience is None else self.patience})"

    def rows(self, block: Block, k: int) -> ItemTerms:
        """Return the attention at each row of the top k."""
        rows, patience = block.recommended, self.patience
        attention = (
            discount(rows.rank) if patience is None else geometric_discount(rows.rank, patience)
        )
        return ItemTerms(rows.user, rows.item, attention, rows.rank <= k)


@metric("gini", "gini_index", range=(0, 1), higher_is_better=False, plain=plain.gini_coefficient)
class Gini(Catalogue):
    r"""Gini index of the items' recommendation counts: 0 if all are equal, 1 for a single item.

    .. math:: \frac{\sum_{j=1}^{n} (2j - n - 1)\, c_j}{m \sum_j c_j}

    :math:`c_j` is the number of users with an item in the top k, in ascending order over n items; m
    is n - 1 by default. The catalogue is ``items``, or by default all items seen. NaN if nothing
    was recommended.

    Parameters
    ----------
    over : {"catalogue", "recommended"}, default="catalogue"
        ``"catalogue"``: all n items of the catalogue, those never recommended with a count of 0,
        and m = n - 1. ``"recommended"``: only items recommended at least once, and m = n.
    corrected : bool, default=True
        Whether m = n - 1 over the catalogue: the value is then 1 if only one item is recommended.
        With false, m = n, and the value is then 1 - 1/n.
    padding : int, default=0
        The number of never recommended items to add to the catalogue; 1 for RecBole's padding item.
    exposure : {"count", "log", "geometric"}, default="count"
        What a recommendation at rank i adds to :math:`c_j`: 1; or :math:`1 / \log_2(i + 1)` or
        :math:`\gamma^{i - 1}`, which give exposure at the top of lists more weight.
    patience : float, default=0.5
        The probability :math:`\gamma` that a user reads on after each item, in (0, 1), for
        ``exposure="geometric"``.

    Notes
    -----
    Use it for how unevenly recommendations are spread over items; ``exposure=log`` weighs the top
    of lists more. Do not compare values over the catalogue and over recommended items: they are two
    metrics. Random lists are nearly even.

    References
    ----------
    Fleder & Hosanagar 2009, Blockbuster Culture's Next Rise or Fall, Management Science 55(5).

    Examples
    --------
    >>> import rankwise as rw
    >>> recommendations = {0: [1, 2, 3], 1: [2, 3, 4], 2: [3, 4, 5]}
    >>> truth = {0: {1}, 1: {1}, 2: {1}}
    >>> metrics = ["gini@3", "gini(over=recommended)@3"]
    >>> result = rw.evaluate(recommendations, truth, metrics, items=range(100))
    >>> result["gini@3"], result["gini(over=recommended)@3"]
    (0.97082, 0.22222)
    """

    over: Literal["catalogue", "recommended"] = "catalogue"
    exposure: Literal["count", "log", "geometric"] = "count"
    patience: Annotated[float, BETWEEN_0_AND_1] = 0.5
    corrected: bool = True
    padding: Annotated[int, NOT_NEGATIVE] = 0

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The sum by item: recommendation counts, or exposure."""
        if self.exposure == "count":
            return (RecommendationCount(),)
        return (_Exposure(patience=float(self.patience) if self.exposure == "geometric" else None),)

    def value_from_counts(self, counts: Array, catalogue_size: int) -> float:
        """Return the Gini index; NaN if nothing was recommended."""
        xp = namespace(counts)
        positive = counts[counts > 0]
        n_recommended = positive.shape[0]
        if not n_recommended:
            return math.nan
        if self.has_histogram and (largest := int(xp.max(positive))) <= WIDEST * n_recommended:
            items = count(xp.astype(positive, xp.int64), largest + 1)
            return float(self.values_from_histograms(items[None], catalogue_size)[0])
        n, m = self._sizes(n_recommended, catalogue_size)
        # Items never recommended come first and add nothing, so the others have the last positions.
        position, ordered = (
            xp.arange(n - n_recommended + 1, n + 1, dtype=xp.int64),
            xp.sort(positive),
        )
        return _index(xp.sum((2 * position - n - 1) * ordered).item(), m, xp.sum(ordered).item())

    @property
    def has_histogram(self) -> bool:
        """Whether each recommendation counts as 1."""
        return self.exposure == "count"

    def values_from_histograms(self, items: Array, catalogue_size: int) -> Floats:
        """Return the Gini index of each histogram of counts; items of equal counts are one term."""
        xp, positive = namespace(items), items[:, 1:]
        counts, n_recommended = (
            xp.arange(1, items.shape[1], dtype=xp.int64),
            xp.sum(positive, axis=1),
        )
        n, m = self._sizes(n_recommended, catalogue_size)
        last = (
            xp.cumulative_sum(positive, axis=1) + (n - n_recommended)[:, None]
        )  # the position of the last of them
        weighted = xp.sum(counts * positive * (2 * last - positive - n[:, None]), axis=1)
        total = xp.sum(counts * positive, axis=1)
        return np.array([*map(_index, weighted.tolist(), m.tolist(), total.tolist())])

    def _sizes(self, n_recommended: Any, catalogue_size: int) -> tuple[Any, Any]:
        """Return the number of compared items, and the divisor beside the sum of counts."""
        n = (
            n_recommended
            if self.over == "recommended"
            else 0 * n_recommended + catalogue_size + self.padding
        )
        return n, n - 1 if self.over == "catalogue" and self.corrected else n


def _index(weighted: float, m: int, total: float) -> float:
    if not total:
        return math.nan
    return weighted / (m * total) if m else 0.0


@metric(
    "herfindahl",
    "hhi",
    "herfindahl_index",
    range=(0, 1),
    higher_is_better=False,
    plain=plain.herfindahl_index,
)
class Herfindahl(Catalogue):
    r"""Herfindahl index: probability that two random recommendations are of the same item.

    .. math:: \sum_j p_j^2, \quad p_j = c_j / \sum_i c_i

    :math:`c_j` is the number of users with item j in the top k. The value is at least 1 / number of
    items. NaN if nothing was recommended. Its inverse is the effective number of items: as many
    items with equal counts have the same index.

    Notes
    -----
    Use it for concentration as an effective number of items, its inverse. Do not compare it between
    catalogues or numbers of users: its smallest value depends on both.

    References
    ----------
    Hirschman 1964, The Paternity of an Index, American Economic Review 54(5); Adomavicius & Kwon
    2012, Improving Aggregate Recommendation Diversity Using Ranking-Based Techniques, IEEE TKDE
    24(5).

    Examples
    --------
    >>> import rankwise as rw
    >>> lists, truth = {0: [1, 2], 1: [1, 3]}, {0: {1}, 1: {1}}
    >>> rw.evaluate(lists, truth, "herfindahl@2")["herfindahl@2"]
    0.375
    """

    def value_from_counts(self, counts: Array, catalogue_size: int) -> float:
        """Return the sum of squared shares; NaN if nothing was recommended."""
        xp = namespace(counts)
        total = int(xp.sum(xp.astype(counts, xp.int64)))
        if not total:
            return math.nan
        ordered = xp.sort(counts[counts > 0])  # the order of items cannot matter
        return float(xp.sum((xp.astype(ordered, xp.float64) / total) ** 2))


@metric(
    "shannon_entropy",
    "entropy",
    range=(0, math.inf),
    higher_is_better=True,
    plain=plain.shannon_entropy,
)
class ShannonEntropy(Catalogue):
    r"""Shannon entropy of the distribution of recommendations over items.

    .. math:: -\sum_j p_j \log p_j, \quad p_j = c_j / \sum_i c_i

    :math:`c_j` is the number of users with item j in the top k. The value is at most the logarithm
    of the number of items. NaN if nothing was recommended.

    Parameters
    ----------
    log_base : float or None, default=None
        The base of the logarithm, above 1; None is the natural logarithm (nats), 2 gives bits.
    normalised : bool, default=False
        Divide by the logarithm of the catalogue size, which gives a value in [0, 1].

    Notes
    -----
    Use it for how evenly recommendations are spread over items; ``normalised=true`` lies between 0
    and 1. Do not compare it between catalogues, or without the base of the logarithm.

    References
    ----------
    Shannon 1948, A Mathematical Theory of Communication, Bell System Technical Journal 27.

    Examples
    --------
    >>> import rankwise as rw
    >>> recommendations = {0: [1, 2], 1: [3, 4]}
    >>> truth = {0: {1}, 1: {1}}
    >>> name = "entropy(log_base=2)@2"
    >>> rw.evaluate(recommendations, truth, name)[name]
    2.0
    """

    log_base: Annotated[float | None, ABOVE_1] = None
    normalised: bool = False

    def value_from_counts(self, counts: Array, catalogue_size: int) -> float:
        """Return the entropy; NaN if nothing was recommended."""
        xp = namespace(counts)
        ordered = xp.astype(xp.sort(counts[counts > 0]), xp.float64)
        if not ordered.shape[0]:
            return math.nan
        share = ordered / xp.sum(ordered)
        nats = float(xp.sum(share * -xp.log(share)))
        if self.normalised:
            return nats / math.log(catalogue_size) if catalogue_size > 1 else 0.0
        return nats if self.log_base is None else nats / math.log(self.log_base)


class _UnitVectorSum(ItemSum):
    """The sum of the users' unit vectors: a top k of n items has 1 / sqrt(n) for each of them."""

    name: ClassVar[str] = "shares"
    needs: ClassVar[Needs] = frozenset({"recommended"})
    whole: ClassVar[bool] = False

    def rows(self, block: Block, k: int) -> ItemTerms:
        """Return the vector entry of each row of the top k."""
        rows = block.recommended
        xp = namespace(rows.rank)
        length = xp.astype(xp.clip(block.list_length, max=k), xp.float64)
        entry = 1.0 / xp.sqrt(xp.take(length, rows.user))
        return ItemTerms(rows.user, rows.item, entry, rows.rank <= k)


@metric(
    "personalization",
    "inter_list_diversity",
    range=(0, 1),
    higher_is_better=True,
    plain=plain.personalization_at_k,
)
class Personalization(Accumulated):
    r"""Mean dissimilarity of two users' recommendation lists, over all pairs of users.

    .. math:: 1 - \frac{2}{U (U - 1)} \sum_{u < v}
              \frac{|L_u^k \cap L_v^k|}{\sqrt{|L_u^k| \, |L_v^k|}}

    :math:`L_u^k` is the top k of the recommendation list of user u, U the number of users with a
    list. This is 1 minus the mean cosine similarity; for lists of k items, the cosine is the number
    of common items over k. It is computed from sums over items, in linear time. NaN for fewer than
    two users with a list.

    Notes
    -----
    Use it for whether different users are shown different items. Do not use it as quality: random
    lists score highest, and leaving out seen items alone gives a value above 0.

    References
    ----------
    Zhou et al. 2010, Solving the Apparent Diversity-Accuracy Dilemma of Recommender Systems, PNAS
    107(10).

    Examples
    --------
    >>> import rankwise as rw
    >>> recommendations = {0: [1, 2], 1: [1, 3], 2: [1, 2]}
    >>> truth = {0: {1}, 1: {1}, 2: {1}}
    >>> rw.evaluate(recommendations, truth, "personalization@2")["personalization@2"]
    0.3333
    """

    inputs = (_UnitVectorSum(),)

    def value_from_items(self, items: CatalogueSums, k: int) -> CellValues:
        """Return 1 minus the mean cosine similarity."""
        n_users = items.n_listed
        if n_users < 2:
            return CellValues(math.nan)
        total = float(np.sum(np.sort(items.sum(_UnitVectorSum(), k) ** 2)))
        cosine = (total - n_users) / (n_users * (n_users - 1.0))
        return CellValues(min(max(1.0 - cosine, 0.0), 1.0))


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


@metric(
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

    Values are in [0, 1] where cosines are not negative. Needs ``train``. Tied items are taken in
    order of item id.

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

    Notes
    -----
    Use it for hits that a popularity ranking would have missed, or that differ from the user's
    history. Do not compare its two forms, or values of different training data. With few hits it is
    close to 0 for every model.

    References
    ----------
    Zhang et al. 2012, Auralist: Introducing Serendipity into Music Recommendation, WSDM; Murakami,
    Mori & Orihara 2008, Metrics for Evaluating the Serendipity of Recommendation Lists.

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
        """Return the length of each list, and the sums over its items, arrays of shape (U,)."""
        xp, length = block.xp, n_in_top(block, k)
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
        return _Sums(
            length,
            add(weight * gain, k),
            n_cold=add(cold, k),
            cold_ranks=add(cold * (rank - 1.0), k),
        )

    def pool(self, sums: Sums, catalogue_size: int) -> Array:
        """Return the mean over the list; NaN without one."""
        s = _Sums(*sums)
        total = s.total
        if self.form == "popularity":  # for cold items the second fraction is 0
            total = (total + catalogue_size * s.n_cold - s.cold_ranks) / catalogue_size
        return ratio(total, s.length)

    def _counted_rows(self, block: Block) -> tuple[Array, Array, Array, Array, _Adder]:
        """Return user, rank, item and weight of the rows that count, and the function for sums."""
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
        bincount(history.user, xp.take(rounded[:, j], history.item), block.n_users)
        for j in range(vector.shape[1])
    ]
    return xp.stack(columns, axis=1)


def _sum_cosines(
    block: Block, history: ItemRows, similarity: Similarity, user: Array, row: Array
) -> Array:
    """Sum the cosines of each row's item with all items of its user's history, shape (n,).

    The pairs of items are never materialised. Cosines come rounded to multiples of 2^-38 (see
    `rankwise.encoding.side_information`): their sums are then exact, and a matrix product gives the
    same digits however users are divided into blocks.
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


_COOCCURRENCE = "cooccurrence"
_DENSE = 1 << 24  # largest matrix of items times categories that is made for the whole catalogue
_SINGLE = {"zero": 0.0, "one": 1.0, "skip": math.nan}


@metric(
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

    :math:`L_u^k` is the top k of the recommendation list of user u, :math:`d` a distance. Values
    are in [0, 1] for Jaccard and co-occurrence, and in [0, 2] for cosine. Needs ``items`` with
    categories or features, or ``train`` for co-occurrence; an item without them has no categories,
    or a zero vector, whose cosine distance to every other item is 1. A list of several items of
    which none has any has no value.

    Parameters
    ----------
    distance : {"cosine", "jaccard", "euclidean", "hamming", "cooccurrence"} or callable, default="cosine"
        Cosine and Euclidean distances are between feature vectors, as is Hamming, the number of
        features that differ; Jaccard is between sets of categories, co-occurrence is the cosine
        distance between the items' columns of training users. A callable takes the feature vectors
        of n items, shape (n, d), and returns the distances, shape (n, n):
        ``lambda x: scipy.spatial.distance.cdist(x, x, "cityblock")``. Results name it as
        ``"module:function"``; this text is never run: to evaluate, pass the function itself.
    single : {"zero", "one", "skip"}, default="zero"
        The value of a list with one item: 0, 1, or no value.
    features : str, default="features"
        The column of ``items`` with the feature vectors.
    categories : str, default="categories"
        The column of ``items`` with the categories.

    Notes
    -----
    Use it for how different the items of one list are. Do not compare distances: cosine, Jaccard
    and Euclidean values, and those of other features, are different scales.

    References
    ----------
    Ziegler et al. 2005, Improving Recommendation Lists Through Topic Diversification, WWW; Smyth &
    McClave 2001, Similarity vs. Diversity, ICCBR.

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
        names = (*NAMED, _COOCCURRENCE)
        named = isinstance(self.distance, str) and (self.distance in names or ":" in self.distance)
        if not named and not callable(self.distance):
            raise ParameterError(
                f"{self.name}: distance must be one of {', '.join(names)}, or a callable",
                found=f"distance={self.distance!r}",
            )

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The lists, and categories, feature vectors or similarities."""
        if self.distance == _COOCCURRENCE:
            return ("recommended", SIMILARITY)
        if self.distance == "jaccard":
            return ("recommended", Categories.fact(self.categories))
        return ("recommended", Features.fact(self.features))

    def value(self, block: Block, k: int) -> Array:
        """Return mean distances, shape (U,)."""
        xp = block.xp
        mean = xp.full((block.n_users,), _SINGLE[self.single], dtype=xp.float64)
        for users, n, total in (
            self._unlike(block, k) if self.distance == _COOCCURRENCE else self._distant(block, k)
        ):
            mean[users] = xp.clip(total / (n * (n - 1.0)), min=0.0)
        n_described = block.sum_recommended(
            xp.take(self._is_described(block), block.recommended.item), k
        )
        return xp.where((block.top_length(k) > 1) & (n_described == 0), xp.nan, mean)

    def _is_described(self, block: Block) -> Array:
        """Return 1.0 for items with categories, features or similarities, else 0.0, (n_items,)."""
        xp = block.xp
        if self.distance == _COOCCURRENCE:
            similarity = block[SIMILARITY]
            described = similarity.row < similarity.cosine.shape[0] - 1
        elif self.distance == "jaccard":
            categories = block[Categories.fact(self.categories)]
            described = categories.starts[1:] > categories.starts[:-1]
        else:
            described = block[Features.fact(self.features)].known
        return xp.astype(described, xp.float64)

    def _distant(self, block: Block, k: int) -> Iterator[tuple[Array, int, Array]]:
        """Yield users with n items each, n, and the sums of distances of their items' vectors."""
        distance, xp = self._distance(), block.xp
        vectors, rows = self._vectors(block)
        vectors = distance.prepare(vectors)
        width = vectors.shape[1]
        for users, items in batches(block, rows, k, lambda n: distance.work_size(n, width)):
            n = items.shape[1]
            chosen = xp.take(vectors, xp.reshape(items, (-1,)), axis=0)
            yield users, n, distance.sum(xp.reshape(chosen, (-1, n, width)))

    @staticmethod
    def _unlike(block: Block, k: int) -> Iterator[tuple[Array, int, Array]]:
        """Yield the same for the distances of the items' columns of training users."""
        similarity, xp = block[SIMILARITY], block.xp
        width, cosines = similarity.cosine.shape[0], xp.reshape(similarity.cosine, (-1,))
        for users, row in batches(
            block, xp.take(similarity.row, block.recommended.item), k, lambda n: n * n
        ):
            n = row.shape[1]
            pairs = xp.reshape(row[:, :, None] * width + row[:, None, :], (-1,))
            own = xp.reshape(row * (width + 1), (-1,))
            total, diagonal = (
                xp.sum(xp.reshape(xp.take(cosines, cells), (row.shape[0], -1)), axis=1)
                for cells in (pairs, own)
            )
            yield users, n, n * (n - 1.0) - (total - diagonal)

    def _distance(self) -> Distance:
        """Return the distance between the items of a list."""
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
