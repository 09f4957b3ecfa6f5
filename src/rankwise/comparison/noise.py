"""The noise between runs of systems with one run each, as a part of the variance of a difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from rankwise.errors import ParameterError
from rankwise.messages import call, parameter
from rankwise.stats.noise_floor import NoiseFloor
from rankwise.stats.variance_components import Part, VarianceComponents


@runtime_checkable
class Noise(Protocol):
    """What several runs of a system tell of its noise, as `rankwise.stability` returns it."""

    @property
    def systems(self) -> list[str]:
        """The names of the systems; the noise of one stands for that of every system."""

    def noise_of(self, system: str, metric: str) -> NoiseFloor | None:
        """Return the noise of a system on a metric; None if it is not known."""


def check_noise(noise: object, systems: Sequence[str]) -> None:
    """Raise unless the noise of every system with one run is known."""
    if noise is None:
        return
    if not isinstance(noise, Noise):
        raise ParameterError(
            f"noise is what {call('stability')} returns", found=parameter("noise", noise)
        )
    absent = [name for name in systems if name not in noise.systems]
    if len(noise.systems) > 1 and absent:
        raise ParameterError(
            "noise names several systems, and not all that are compared",
            found=f"without {', '.join(absent)}; {', '.join(noise.systems)} are known",
            hint="pass the noise of one system for all, or of every system by its name",
        )


def runs_known(noise: Noise | None, systems: Sequence[str], metric: str) -> dict[str, int]:
    """Return the number of runs that the noise of each system on a metric is known from."""
    if noise is None:
        return {}
    found = {name: noise.noise_of(name, metric) for name in systems}
    return {name: one.runs for name, one in found.items() if one is not None}


@dataclass(frozen=True)
class RunNoise:
    """The noise between runs of a pair on a metric.

    Attributes
    ----------
    baseline, system : NoiseFloor or None
        That of each system; None for a system with several runs, whose runs tell it.
    is_shared : bool
        Whether both are of one estimate.
    """

    baseline: NoiseFloor | None
    system: NoiseFloor | None
    is_shared: bool

    @property
    def of_each(self) -> tuple[float, float]:
        """What runs add to the variance of the mean of the system, and of the baseline."""
        added = (
            0.0 if noise is None else noise.deviation**2 - min(noise.deviation**2, noise.residual)
            for noise in (self.system, self.baseline)
        )
        return next(added), next(added)

    def added_to(self, variance: VarianceComponents, factor: float) -> VarianceComponents:
        """Return a variance with that between runs; ``factor`` scales the baseline.

        The part of users has the noise of their answers already: what runs add of it is taken off,
        so that it counts once.
        """
        parts: list[Part] = []
        counted = 0.0
        for noise, scale in ((self.system, 1.0), (self.baseline, factor)):
            if noise is not None:
                between = (scale * noise.deviation) ** 2
                parts.append((between, noise.runs - 1))
                counted += min(between, scale**2 * noise.residual)
        if self.is_shared:  # one estimate, twice: its degrees of freedom do not add up
            parts = [(sum(part for part, _ in parts), parts[0][1])]
        users, freedom = variance.users
        return VarianceComponents((max(users - counted, 0.0), freedom), (*variance.seeds, *parts))
