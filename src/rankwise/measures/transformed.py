r"""Complements and ratios of other measures' values, as some libraries report them."""

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


@measure(
    "complement", range=(-math.inf, math.inf), higher_is_better=None, family="multiobjective", plain=plain.complement
)
class Complement(Composed):
    r"""One minus the value of another measure.

    .. math:: 1 - m

    :math:`m` is the value of the measure: for every user, then averaged over users, if the measure
    has per-user values. Range (-inf, inf), 1 minus the range of the measure; lower is better where
    higher is better for the measure, and vice versa. No convention changes the definition of the
    measure.

    Parameters
    ----------
    measure : measure, default=gini
        Any measure: ``complement(gini)@10`` is the Gini diversity index of Elliot.

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
        per_user = isinstance(part, PerUser | Pooled) or (isinstance(part, Composed) and part.of == "users")
        return "users" if per_user else "means"

    @property
    def parts(self) -> tuple[Measure, ...]:
        """The measure at the cut-offs of this one."""
        return (at_cutoffs(self.measure, self.k),)

    def combine(self, *values: Array) -> Array:
        """Return one minus the values, elementwise."""
        return 1.0 - values[0]


@measure("ratio", range=(-math.inf, math.inf), higher_is_better=None, family="multiobjective", plain=plain.ratio)
class Ratio(Composed):
    r"""Value of one measure divided by that of another.

    .. math:: m_1 / m_2

    :math:`m_1` and :math:`m_2` are the values of the two measures. NaN where the second is 0. Range
    (-inf, inf); neither direction counts as better. No convention changes the definitions of the
    measures.

    Parameters
    ----------
    first : measure, default=shannon_entropy
        The dividend.
    second : measure, default=item_coverage
        The divisor. The defaults give the entropy per recommended item, which RecBole calls Shannon
        entropy.
    of : {"means", "users"}, default="means"
        ``"means"``: computed once, from the measures' values over all users. ``"users"``: computed
        for every user, then averaged over users.

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
