r"""Several objectives in one number: distance to the ideal point, or dominated hypervolume."""

from __future__ import annotations

import math
from typing import Literal

from rankwise import functional as plain
from rankwise.core.arrays import Array, namespace
from rankwise.errors import ParameterError
from rankwise.measures.accuracy import Recall
from rankwise.measures.graded import NDCG
from rankwise.measures.kinds import Composed, at_cutoffs
from rankwise.measures.measure import Measure, measure

__all__ = ["EuclideanDistance", "Hypervolume"]


class _Objectives(Composed):
    measures: tuple[Measure, ...] = (NDCG(), Recall())

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        if not self.measures:
            raise ParameterError(f"{self.name} needs measures", hint=f"write {self.name}([ndcg,recall])@10")

    @property
    def parts(self) -> tuple[Measure, ...]:
        """The objectives at the cut-offs of this measure."""
        return tuple(at_cutoffs(part, self.k) for part in self.measures)

    def _point(self, name: str, given: tuple[float, ...], *, best: bool) -> tuple[float, ...]:
        """Return the reference point: the given numbers, or the best or worst end of each range."""
        if given:
            if len(given) != len(self.measures):
                raise ParameterError(
                    f"{self.name}: {name} must have one number per measure",
                    found=f"{len(given)} numbers for {len(self.measures)} measures",
                )
            return given
        ends = []
        for part in self.measures:
            if part.higher_is_better is None:
                raise self._missing(name, part, "has no better direction")
            end = part.range[1 if part.higher_is_better == best else 0]
            if math.isinf(end):
                raise self._missing(name, part, "has an infinite range")
            ends.append(float(end))
        return tuple(ends)

    def _missing(self, name: str, part: Measure, why: str) -> ParameterError:
        return ParameterError(
            f"{self.name} needs {name}: {part.name} {why}",
            found=str(self),
            hint=f"write {name}=[…] with one number per measure",
        )


@measure(
    "euclidean_distance", "euc_distance", range=(0, math.inf), higher_is_better=False, plain=plain.euclidean_distance
)
class EuclideanDistance(_Objectives):
    r"""Euclidean distance from the values of several measures to the ideal point (utopia).

    .. math:: \sqrt{\sum_j (s_j - u_j)^2}

    :math:`s_j` is the value of measure j, :math:`u_j` its ideal value. Range [0, inf); lower is
    better. Measures are not rescaled: the one with the largest scale dominates.

    Parameters
    ----------
    measures : list of measure, default=[ndcg, recall]
        The objectives: ``euclidean_distance([ndcg,epc],utopia=[1,1])@10``.
    utopia : list of float, optional
        The ideal value of each measure. Default: the best end of its range.
    of : {"users", "means"}, default="users"
        ``"users"``: computed for every user, then averaged over users. ``"means"``: computed once,
        from the measures' values over all users.

    References
    ----------
    Paparella et al. 2023, Post-hoc Selection of Pareto-Optimal Solutions in Search and
    Recommendation, CIKM.

    Examples
    --------
    >>> import rankwise as rw
    >>> name = "euclidean_distance([precision,recall])@2"
    >>> rw.evaluate({"ann": [1, 2]}, {"ann": {1}}, name)[rw.parse(name)]
    0.5
    """

    measures: tuple[Measure, ...] = (NDCG(), Recall())
    utopia: tuple[float, ...] = ()
    of: Literal["users", "means"] = "users"

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        self._point("utopia", self.utopia, best=True)

    def combine(self, *values: Array) -> Array:
        """Return the distance, elementwise."""
        utopia = self._point("utopia", self.utopia, best=True)
        squares = [(value - best) ** 2 for value, best in zip(values, utopia, strict=True)]
        total = squares[0]
        for square in squares[1:]:
            total = total + square
        return namespace(total).sqrt(total)


@measure("hypervolume", range=(0, math.inf), higher_is_better=True, plain=plain.hypervolume)
class Hypervolume(_Objectives):
    r"""Volume of the box between the values of several measures and the nadir point.

    .. math:: \prod_j \max(0, s_j - n_j), \text{ with } n_j - s_j \text{ where lower is better}

    :math:`s_j` is the value of measure j, :math:`n_j` its nadir, the worst acceptable value. Range
    [0, inf); higher is better. 0 if at least one measure is no better than its nadir.

    Parameters
    ----------
    measures : list of measure, default=[ndcg, recall]
        The objectives: ``hypervolume([ndcg,gini],nadir=[0,1],of=means)@10``.
    nadir : list of float, optional
        The worst acceptable value of each measure. Default: the worst end of its range.
    directions : list of bool, optional
        Whether higher is better, for each measure. Default: the measure's own direction.
    of : {"users", "means"}, default="users"
        ``"users"``: computed for every user, then averaged over users. ``"means"``: computed once,
        from the measures' values over all users.

    References
    ----------
    Zitzler & Thiele 1999, Multiobjective Evolutionary Algorithms: A Comparative Case Study and the
    Strength Pareto Approach, IEEE Trans. Evolutionary Computation 3(4).

    Examples
    --------
    >>> import rankwise as rw
    >>> name = "hypervolume([precision,recall])@2"
    >>> rw.evaluate({"ann": [1, 2]}, {"ann": {1}}, name)[rw.parse(name)]
    0.5
    """

    measures: tuple[Measure, ...] = (NDCG(), Recall())
    nadir: tuple[float, ...] = ()
    directions: tuple[bool, ...] = ()
    of: Literal["users", "means"] = "users"

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        self._point("nadir", self.nadir, best=False)
        if self.directions and len(self.directions) != len(self.measures):
            raise ParameterError(
                "hypervolume: directions must have one entry per measure",
                found=f"{len(self.directions)} for {len(self.measures)} measures",
            )

    def combine(self, *values: Array) -> Array:
        """Return the volume, elementwise."""
        nadir = self._point("nadir", self.nadir, best=False)
        higher = self.directions or tuple(bool(part.higher_is_better) for part in self.measures)
        volume: Array = None
        for value, worst, upwards in zip(values, nadir, higher, strict=True):
            side = value - worst if upwards else worst - value
            xp = namespace(side)
            side = xp.where(side < 0, xp.zeros_like(side), side)  # NaN stays NaN
            volume = side if volume is None else volume * side
        return volume
