"""Judged items of lists: their share, and measures of lists reduced to them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar

from rankwise import functional as plain
from rankwise.core.arrays import Array, bincount
from rankwise.core.block import Block, Cutoffs
from rankwise.core.hits import Hits
from rankwise.errors import ParameterError
from rankwise.measures.arithmetic import divide, retrieved, rows_above
from rankwise.measures.graded import NDCG
from rankwise.measures.input_kinds import Input
from rankwise.measures.kinds import OfMeasure, PerUser
from rankwise.measures.measure import Measure, measure

__all__ = ["Condensed", "Judged"]


@measure("judged", range=(0, 1), higher_is_better=None, family="hygiene", plain=plain.judged_at_k)
class Judged(PerUser):
    r"""Share of the top k that has a row in the ground truth, relevant or not.

    .. math:: |L_u^k \cap J_u| / |L_u^k|

    :math:`L_u^k` is the top k of the recommendation list of user u, :math:`J_u` are the user's
    judged items: those with a ground truth row. Where the share is low, accuracy measures mostly
    count unjudged items as irrelevant. Range [0, 1]; neither direction counts as better. The mean
    over users with a list.

    References
    ----------
    Sakai 2007, Alternatives to Bpref, SIGIR; ir_measures, ``Judged``.

    Examples
    --------
    >>> import rankwise as rw
    >>> rw.evaluate({"ann": [1, 2, 3, 4]}, {"ann": {1: 5, 2: 0}}, "judged@4")["judged@4"]
    0.5
    """

    inputs = ("judged",)
    defined_for = "list"
    reads_truth = True

    def value(self, block: Block, k: int) -> Array:
        """Return the share of judged items, shape (U,)."""
        ones = block.xp.ones_like(block.judged.relevant)
        return divide(block.sum_judged(ones, k), retrieved(block, k))


@measure("condensed", range=(0, math.inf), higher_is_better=True, family="accuracy", plain=plain.condensed)
class Condensed(OfMeasure, PerUser):
    r"""A measure of condensed lists: unjudged items are removed before ranks are counted.

    .. math:: m@k \left(L_u \cap J_u\right)

    :math:`m` is the measure, :math:`L_u` the recommendation list of user u, reduced to the judged
    items :math:`J_u`, those with a ground truth row, relevant or not, in the order of the list.
    Tied items are taken in order of item id. Range [0, inf), the range of the measure; higher is
    better.

    Parameters
    ----------
    of : measure, default=ndcg
        A per-user measure that reads only hits: ndcg, map, recall, precision, mrr, rbp, err.

    References
    ----------
    Sakai 2007, Alternatives to Bpref, SIGIR.

    Examples
    --------
    >>> import rankwise as rw
    >>> truth = {"ann": {1: 1, 2: 0, 3: 1}}
    >>> name = "condensed(of=mrr)@2"
    >>> rw.evaluate({"ann": [8, 9, 2, 1]}, truth, name)[name]
    0.5
    """

    reads_below_k = True
    done: ClassVar[str] = "condensed"
    of: Measure = NDCG()

    def _check_of(self) -> None:
        reads = self.of.reads.rows | set(self.of.reads.facts)
        hits_alone = isinstance(self.of, PerUser) and self.of.defined_for == "relevance"
        if not hits_alone or reads - {"ideal"}:
            raise ParameterError(
                f"{self.name}: {self.of.name} reads more than the hits of a list",
                found=str(self.of),
                hint="ndcg, map, recall, precision, mrr, rbp and err do not",
            )

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The judged items of the lists, and what the measure needs."""
        return ("judged", *super().inputs)

    def values(self, block: Block, k: Cutoffs) -> list[Array]:
        """Return the values of the condensed lists at every cut-off, each of shape (U,)."""
        assert isinstance(self.of, PerUser)
        return self.of.values(_condense(block), k)


def _condense(block: Block) -> Block:
    """Return the block of the same users with lists of their judged items alone."""
    rows, xp = block.judged, block.xp
    length = bincount(rows.user, xp.ones_like(rows.relevant), block.n_users)
    rank = rows_above(rows.user) + 1
    (hit,) = xp.nonzero(rows.relevant > 0)
    user = rows.user[hit]
    hits = Hits(
        user,
        rank[hit],
        xp.ones(user.shape[0], dtype=xp.float64),
        xp.astype(rows_above(user) + 1, xp.float64),
        rows.truth[hit],
        rows.item[hit],
    )
    length = xp.astype(length, xp.int64)
    return replace(block, list_length=length, hits=hits, limit=None)
