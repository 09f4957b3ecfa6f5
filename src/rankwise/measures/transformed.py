r"""Values of other measures turned round or divided, as some libraries report them."""

from __future__ import annotations

import math
from typing import ClassVar, Literal

from rankwise import functional as plain
from rankwise.core.arrays import Array, namespace
from rankwise.measures.coverage import ItemCoverage
from rankwise.measures.diversity import Gini, ShannonEntropy
from rankwise.measures.kinds import Composed, PerUser, Pooled, at_cutoffs
from rankwise.measures.measure import Measure, measure

__all__ = ["Complement", "Ratio"]


@measure("complement", range=(-math.inf, math.inf), higher_is_better=None,
         family="multiobjective", plain=plain.complement)  # fmt: skip
class Complement(Composed):
    r"""One minus the value of another measure.

    .. math:: 1 - m

    Of every user where the measure has a value for each user, otherwise of the one value. Range
    (-inf, inf), that of the measure turned round; lower is better where higher is better for the
    measure, and the other way round. What the measure means is the same under every convention.

    Parameters
    ----------
    measure : measure, default=gini
        The measure: ``complement(gini)@10`` is the Gini diversity index of Elliot.

    References
    ----------
    Anelli et al. 2021, Elliot: A Comprehensive and Rigorous Framework for Reproducible Recommender
    Systems Evaluation, SIGIR.

    Examples
    --------
    >>> import rankwise as rw
    >>> lists, truth = {"ann": [1, 2], "bob": [1, 3]}, {"ann": {1}, "bob": {3}}
    >>> result = rw.evaluate(lists, truth, ["gini@2", "complement(gini)@2"])
    >>> result["gini@2"], result["complement(gini)@2"]
    (0.25, 0.75)
    """

    measure: Measure = Gini()
    parts_as_written: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Turn the direction of the measure round."""
        super().__post_init__()
        better = self.measure.higher_is_better
        object.__setattr__(self, "higher_is_better", None if better is None else not better)

    @property
    def of(self) -> Literal["users", "means"]:
        """Whether each user has a value."""
        part = self.measure
        per_user = isinstance(part, PerUser | Pooled) or (
            isinstance(part, Composed) and part.of == "users"
        )
        return "users" if per_user else "means"

    @property
    def parts(self) -> tuple[Measure, ...]:
        """The measure at the cut-offs of this one."""
        return (at_cutoffs(self.measure, self.k),)

    def combine(self, *values: Array) -> Array:
        """Return one minus the values, elementwise."""
        return 1.0 - values[0]


@measure("ratio", range=(-math.inf, math.inf), higher_is_better=None,
         family="multiobjective", plain=plain.ratio)  # fmt: skip
class Ratio(Composed):
    r"""Value of one measure divided by that of another.

    .. math:: m_1 / m_2

    Range (-inf, inf); neither direction counts as better. NaN where the second is 0. What the
    measures mean is the same under every convention.

    Parameters
    ----------
    first : measure, default=shannon_entropy
        The measure that is divided.
    second : measure, default=item_coverage
        The measure that it is divided by: with the defaults the entropy per recommended item, which
        RecBole calls Shannon entropy.
    of : {"means", "users"}, default="means"
        ``"means"``: once, from the measures' results. ``"users"``: for every user, then the mean.

    References
    ----------
    Zhao et al. 2022, RecBole 2.0: Towards a More Up-to-Date Recommendation Library, CIKM.

    Examples
    --------
    >>> import rankwise as rw
    >>> lists, truth = {"ann": [1, 2], "bob": [1, 3]}, {"ann": {1}, "bob": {3}}
    >>> name = "ratio(first=recall,second=precision)@2"
    >>> rw.evaluate(lists, truth, name)[name]
    2.0
    """

    first: Measure = ShannonEntropy()
    second: Measure = ItemCoverage()
    of: Literal["means", "users"] = "means"
    parts_as_written: ClassVar[bool] = True

    @property
    def parts(self) -> tuple[Measure, ...]:
        """The measures at the cut-offs of this one."""
        return at_cutoffs(self.first, self.k), at_cutoffs(self.second, self.k)

    def combine(self, *values: Array) -> Array:
        """Return the quotient, elementwise; NaN where the divisor is 0."""
        first, second = values
        xp = namespace(first)
        nothing = xp.full_like(first, math.nan)
        return xp.where(second == 0, nothing, first / xp.where(second == 0, nothing, second))
