"""Micro-averages: the sums of all users over one another, instead of the mean of users' values."""

from __future__ import annotations

from rankwise import functional as plain
from rankwise.core.arrays import Array
from rankwise.core.block import Block
from rankwise.errors import ParameterError
from rankwise.measures.accuracy import Recall
from rankwise.measures.arithmetic import divide, or_nan
from rankwise.measures.hit_sums import RunningSum
from rankwise.measures.input_kinds import Input
from rankwise.measures.kinds import Pooled, Sums, at_cutoffs
from rankwise.measures.measure import Measure, measure

__all__ = ["MicroAverage"]


@measure("micro", "micro_average", range=(0, float("inf")), higher_is_better=True,
         family="accuracy", plain=plain.micro)  # fmt: skip
class MicroAverage(Pooled):
    r"""Micro-average of a measure: the sum of users' numerators over that of their denominators.

    .. math:: \frac{\sum_u S_u(k)}{\sum_u N_u(k)}

    :math:`S_u / N_u` is the measure: for recall, hits over relevant items. Users with many relevant
    items weigh more. Only users with relevant items count. Range [0, inf), that of the measure;
    higher is better.

    Parameters
    ----------
    of : measure, default=recall(denominator=capped)
        A measure that is a sum over hits divided by something: recall, precision, map, ndcg, rbp.
        The default, hits over min(k, \|R_u\|), is what implicit calls precision.

    References
    ----------
    Manning, Raghavan & Schütze 2008, Introduction to Information Retrieval, section 13.6;
    implicit, ``precision_at_k``.

    Examples
    --------
    >>> import rankwise as rw
    >>> lists, truth = {"ann": [1, 2], "bob": [3, 4]}, {"ann": {1, 2}, "bob": {9}}
    >>> rw.evaluate(lists, truth, "micro(recall)@2")["micro(of=recall)@2"]
    0.66667
    """

    of: Measure = Recall(denominator="capped")

    def __post_init__(self) -> None:
        """Check that the measure is a sum that is divided."""
        super().__post_init__()
        if self.of.k:
            raise ParameterError(
                f"{self.name}: its measure takes the cut-off of {self.name}",
                found=str(self.of), hint=f"write {self.name}(…)@10",
            )  # fmt: skip
        if not isinstance(self.of, RunningSum):
            raise ParameterError(
                f"{self.name}: {self.of.name} is not a sum over hits",
                found=str(self.of), hint="recall, precision, ndcg, map, mrr and rbp are",
            )  # fmt: skip
        if self.k and self.of.cutoff == "none":
            raise ParameterError(f"{self.name}: {self.of.name} has no cut-off", found=str(self))

    @property
    def inputs(self) -> tuple[Input, ...]:
        """What the measure needs."""
        return self.of.inputs

    defined_for = "relevance"

    def require_cutoff(self) -> None:
        """Raise if the measure needs a cut-off and there is none."""
        at_cutoffs(self.of, self.k).require_cutoff()

    def sums(self, block: Block, k: int) -> Sums:
        """Return numerator and denominator of every user, shape (U,) both."""
        assert isinstance(self.of, RunningSum)
        counts = block.xp.astype(block.n_relevant > 0, block.xp.float64)
        above, below = self.of.ratio(block, block.sum_hits(self.of.terms(block), k), k)
        return above * counts, below * counts

    def pool(self, sums: Sums, catalogue_size: int) -> Array:
        """Return the ratio of the sums; NaN if nothing divides."""
        above, below = sums
        return or_nan(divide(above, below), below > 0)
