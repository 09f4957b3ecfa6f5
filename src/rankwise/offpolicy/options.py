"""The options of an off-policy evaluation, checked alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, TypeAlias

from rankwise.core.arguments import check_choice
from rankwise.errors import ParameterError
from rankwise.findings.margins import Margin, check_margin
from rankwise.messages import mention, parameter
from rankwise.offpolicy.exposures import OnMissing
from rankwise.offpolicy.policies import Kind
from rankwise.offpolicy.values import Estimator
from rankwise.stats.differences import check_level
from rankwise.stats.many_systems import Correction

Slates: TypeAlias = Literal["auto", "interaction", "independent", "cascade_dr"]


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of one call, checked."""

    baseline: str
    within: Sequence[str]
    propensities: Kind | None
    slates: Slates
    estimator: Estimator
    alpha: float
    correction: Correction
    margin: Margin
    missing: OnMissing
    reward_range: tuple[float, float] | None
    by: str | None

    def __post_init__(self) -> None:
        if isinstance(self.within, str):
            object.__setattr__(self, "within", (self.within,))
        if not isinstance(self.within, Sequence) or not all(
            isinstance(name, str) for name in self.within
        ):
            raise ParameterError(
                "within is columns of the exposures", found=parameter("within", self.within)
            )
        if not isinstance(self.by, str | None):
            raise ParameterError("by is one column", found=parameter("by", self.by))
        limits = self.reward_range
        if limits is not None and not _is_range(limits):
            raise ParameterError(
                f"{mention('reward_range')} has the smallest and the largest reward",
                found=parameter("reward_range", limits),
                hint="(0, 1)",
            )
        check_level("alpha", self.alpha)
        check_choice("slates", self.slates, Slates)
        check_choice("estimator", self.estimator, Estimator)
        check_choice("missing", self.missing, OnMissing)
        check_choice("correction", self.correction, Correction)
        if self.propensities is not None:
            check_choice("propensities", self.propensities, Kind)
        if isinstance(self.margin, Mapping):
            raise ParameterError("there is one reward, so one margin", found=repr(self.margin))
        if self.margin is not None:
            check_margin(self.margin)


def _is_range(limits: Any) -> bool:
    """Return whether limits are two numbers, the smaller one first."""
    is_pair = isinstance(limits, Sequence) and len(limits) == 2
    return (
        is_pair and all(isinstance(limit, Real) for limit in limits) and bool(limits[0] < limits[1])
    )
