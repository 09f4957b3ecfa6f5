r"""Serendipity: what is found although nobody would have looked for it there."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from rankwise.core.backend import bincount, count, namespace
from rankwise.core.facts import Fact, Features, Popularity, Similarity
from rankwise.measures.arithmetic import divide, or_nan, retrieved, unit_vectors
from rankwise.measures.kinds import Pooled
from rankwise.measures.measure import measure

if TYPE_CHECKING:
    from rankwise.core.backend import Array
    from rankwise.core.block import Block, Rows
    from rankwise.core.engine import Needs

__all__ = ["Serendipity"]

_POPULARITY = Fact("popularity")


@measure("serendipity", range=(0, 2), higher_is_better=True, cutoff="required", family="novelty")
class Serendipity(Pooled):
    r"""Relevant items that a popularity baseline would not have put so high; or unlike the past.

    .. math:: \frac{1}{|L_u^k|} \sum_{i \le k} rel_i \cdot
              \max\left(\frac{|I| + 1 - i}{|I|} - \frac{|I| + 1 - pop_i}{|I|},\, 0\right)

    where :math:`pop_i` is the item's place by popularity, counted in distinct popularities; for
    items never seen in training the second fraction is 0. With ``form="history"``, one less the
    item's mean cosine with the user's training items:

    .. math:: \frac{1}{|L_u^k|} \sum_{i \in L_u^k}
              \left(1 - \frac{1}{|H_u|} \sum_{h \in H_u} \cos(i, h)\right)

    Range [0, 2], and [0, 1] where cosines are not negative; higher is better. Needs ``train``.
    Tied items are taken in order of item id.

    Parameters
    ----------
    form : {"popularity", "history"}
        As RecTools has it, or as recommenders has it. Users without a history have no value in the
        second.
    relevance : {"binary", "none"}
        Whether only relevant items count. (recommenders: none unless told otherwise.)
    similarity : {"cooccurrence", "features"}
        For ``"history"``: cosines of the items' columns of training users, or of feature vectors.
    features : str
        The column of ``items`` with the vectors.

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

    needs_catalogue: ClassVar[Literal["", "counted", "whole"]] = "whole"

    @property
    def requires(self) -> Needs:
        """Lists, what of them is judged, and for one form the history."""
        past: Needs = frozenset({"profile"} if self.form == "history" else ())
        return past | {"listed", "judged"}

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Popularity, or what makes items alike."""
        if self.form == "popularity":
            return (_POPULARITY,)
        return (Fact("similarity"),) if self.similarity == "cooccurrence" else (
            Fact("features", self.features),
        )  # fmt: skip

    @property
    def about(self) -> Literal["relevance", "list", "user"]:
        """It judges users with relevant items, if only these count."""
        return "relevance" if self.relevance == "binary" else "list"

    @property
    def mean_of_users(self) -> bool:
        """The value is a mean of users' own."""
        return True

    def sums(self, block: Block, k: Array) -> Array:
        """Return list length, what is known to be added, and what catalogue size will decide."""
        xp = namespace(block.list_length)
        name: Literal["judged", "listed"] = "judged" if self.relevance == "binary" else "listed"
        rows = block.rows(name)
        weight = (
            rows.relevant if name == "judged" else xp.ones(rows.rank.shape[0], dtype=xp.float64)
        )
        add = block.sum_judged if name == "judged" else block.sum_listed
        if self.form == "history":
            near = or_nan(retrieved(block, k), self._has_past(block)[:, None])
            sums = [near, add(weight * self._unlike(block, rows), k)]
            return xp.stack([*sums, sums[1] * 0, sums[1] * 0], axis=2)
        known = block.fact(_POPULARITY, Popularity)
        place, rank = xp.take(known.place, rows.item), xp.astype(rows.rank, xp.float64)
        warm = xp.take(known.count, rows.item) > 0
        ahead = xp.where(warm, xp.clip(place - rank, min=0.0), 0.0)
        cold = xp.where(warm, 0.0, weight)
        terms = [add(one, k) for one in (weight * ahead, cold, cold * (rank - 1.0))]
        return xp.stack([retrieved(block, k), *terms], axis=2)

    def pool(self, sums: Array, catalogue_size: int) -> Array:
        """Return the mean over the list; NaN without one."""
        length, total = sums[..., 0], sums[..., 1]
        if self.form == "popularity":  # items never seen were expected nowhere
            total = (total + catalogue_size * sums[..., 2] - sums[..., 3]) / catalogue_size
        return or_nan(divide(total, length), length > 0)

    def _has_past(self, block: Block) -> Array:
        rows = block.rows("profile")
        return block.count_rows(rows) > 0

    def _unlike(self, block: Block, rows: object) -> Array:
        """One less each row's mean cosine with the user's history."""
        past = block.rows("profile")
        xp = namespace(block.list_length)
        user, item = rows.user, rows.item  # type: ignore[attr-defined]
        size = xp.clip(block.count_rows(past), min=1.0)
        if self.similarity == "features":
            vector = unit_vectors(block.fact(Fact("features", self.features), Features).vector)
            mean = _sum_vectors(block, past, vector) / size[:, None]
            return 1.0 - xp.sum(xp.take(vector, item, axis=0) * xp.take(mean, user, axis=0), axis=1)
        alike = block.fact(Fact("similarity"), Similarity)
        cosine = alike.cosine
        own = _Past(xp.take(alike.place, past.item), past.user, block.n_users)
        return 1.0 - own.sum(cosine, xp.take(alike.place, item), user) / xp.take(size, user)


def _sum_vectors(block: Block, rows: Rows, vector: Array) -> Array:
    """Sum the vectors of each user's items, shape (U, d); rounded, so that no order matters."""
    xp = namespace(vector)
    rounded = xp.round(vector * 2.0**40) / 2.0**40
    columns = [
        bincount(rows.user, xp.take(rounded[:, j], rows.item), block.n_users)
        for j in range(vector.shape[1])
    ]
    return xp.stack(columns, axis=1)


class _Past:
    """The histories of some users, to be summed over without a row for every pair of items.

    Cosines come rounded to multiples of 2^-38 (`rankwise.knowledge.build.similarity`): their sums
    are then exact, and a matrix product gives the same digits however users are cut into blocks.
    """

    _USERS = 256

    def __init__(self, item: Array, user: Array, n_users: int) -> None:
        self.item, self.user, self.n_users = item, user, n_users

    def sum(self, cosine: Array, item: Array, user: Array) -> Array:
        """Sum the cosines of each row's item with all items of its user's history."""
        xp = namespace(cosine)
        parts, width = [], cosine.shape[0]
        for first in range(0, self.n_users, self._USERS):
            own = (self.user >= first) & (self.user < first + self._USERS)
            here = (user >= first) & (user < first + self._USERS)
            n = min(self._USERS, self.n_users - first)
            cell = (self.user[own] - first) * width + self.item[own]
            held = xp.reshape(count(cell, n * width), (n, width))
            total = xp.astype(held, xp.float64) @ cosine
            flat = (user[here] - first) * width + item[here]
            parts.append(xp.take(xp.reshape(total, (-1,)), flat))
        return xp.concat(parts) if parts else xp.zeros(0, dtype=xp.float64)
