"""Judged items of lists: how many there are, and measures of lists that hold them alone."""

from __future__ import annotations

from dataclasses import replace

from rankwise import functional as plain
from rankwise.core.arrays import Array, bincount
from rankwise.core.block import Block, Cutoffs
from rankwise.core.hits import Hits
from rankwise.errors import ParameterError
from rankwise.measures.arithmetic import divide, retrieved
from rankwise.measures.graded import NDCG
from rankwise.measures.input_kinds import Input
from rankwise.measures.kinds import PerUser, at_cutoffs
from rankwise.measures.measure import Measure, measure

__all__ = ["Condensed", "Judged"]


@measure("judged", range=(0, 1), higher_is_better=None, family="hygiene",
         plain=plain.judged_at_k)  # fmt: skip
class Judged(PerUser):
    r"""Share of the top k that has a row in the ground truth, relevant or not.

    .. math:: |L_u^k \cap J_u| / |L_u^k|

    :math:`J_u` are the judged items of user u. Where it is low, measures mostly count unjudged
    items as irrelevant. Range [0, 1]; neither direction counts as better.

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


@measure("condensed", range=(0, float("inf")), higher_is_better=True, family="accuracy",
         plain=plain.condensed)  # fmt: skip
class Condensed(PerUser):
    r"""A measure of condensed lists: unjudged items are taken out before ranks count.

    .. math:: m@k \left(L_u \cap J_u\right)

    :math:`J_u` are the items of user u with a row in the ground truth, relevant or not, in the
    order of the list. Tied items are taken in order of item id. Range [0, inf), that of the
    measure; higher is better.

    Parameters
    ----------
    of : measure, default=ndcg
        A measure of users that reads hits alone: ndcg, map, recall, precision, mrr, rbp, err.

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
    of: Measure = NDCG()

    def __post_init__(self) -> None:
        """Check that the measure reads nothing but hits."""
        super().__post_init__()
        if self.of.k:
            raise ParameterError(
                f"{self.name}: its measure takes the cut-off of {self.name}",
                found=str(self.of), hint=f"write {self.name}(…)@10",
            )  # fmt: skip
        reads = self.of.reads.rows | set(self.of.reads.facts)
        hits_alone = isinstance(self.of, PerUser) and self.of.defined_for == "relevance"
        if not hits_alone or reads - {"ideal"}:
            raise ParameterError(
                f"{self.name}: {self.of.name} reads more than the hits of a list",
                found=str(self.of), hint="ndcg, map, recall, precision, mrr, rbp and err do not",
            )  # fmt: skip
        if self.k and self.of.cutoff == "none":
            raise ParameterError(f"{self.name}: {self.of.name} has no cut-off", found=str(self))

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The judged items of the lists, and what the measure needs."""
        return ("judged", *self.of.inputs)

    def require_cutoff(self) -> None:
        """Raise if the measure needs a cut-off and there is none."""
        at_cutoffs(self.of, self.k).require_cutoff()

    def values(self, block: Block, k: Cutoffs) -> list[Array]:
        """Return the values of the condensed lists at every cut-off, each of shape (U,)."""
        assert isinstance(self.of, PerUser)
        return self.of.values(_condense(block), k)


def _condense(block: Block) -> Block:
    """Return the block of the same users with lists of their judged items alone."""
    rows, xp = block.judged, block.xp
    ones = xp.ones_like(rows.relevant)
    length = xp.astype(bincount(rows.user, ones, block.n_users), xp.int64)
    first = xp.cumulative_sum(length) - length
    rank = xp.arange(rows.user.shape[0]) - xp.take(first, rows.user) + 1
    (hit,) = xp.nonzero(rows.relevant > 0)
    n_hits = xp.astype(bincount(rows.user, rows.relevant, block.n_users), xp.int64)
    first_hit = xp.cumulative_sum(n_hits) - n_hits
    user = rows.user[hit]
    position = xp.arange(user.shape[0]) - xp.take(first_hit, user) + 1
    hits = Hits(
        user, rank[hit], xp.ones(user.shape[0], dtype=xp.float64),
        xp.astype(position, xp.float64), rows.truth[hit], rows.item[hit],
    )  # fmt: skip
    return replace(block, list_length=length, hits=hits, limit=None, _rows={})
