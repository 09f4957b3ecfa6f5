"""How often looks at growing data are wrong, and how many users they need: three ways to look.

``python simulations/claims.py`` prints the tables of which docs/simulations.md has a part; alone some ten
seconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.stats import t

from rankwise.stats.confidence_sequences import log_capital

Counts: TypeAlias = Any
SAMPLES = 2000  # a share of 0.05 has a standard error of 0.005
ALPHA = 0.05  # of each side


@dataclass(frozen=True)
class World:
    """Differences of two systems: what some users gain or lose, and the others 0."""

    name: str
    values: tuple[float, ...]
    shares: tuple[float, ...]
    margin: float = 0.0

    def looks(self, users: Any, samples: int, seed: int = 0) -> Counts:
        """Return how often each value and 0 were seen at each look, shape (samples, looks, values)."""
        shares = np.array([*self.shares, 1 - sum(self.shares)])
        rng, new = np.random.default_rng(seed), np.diff(users, prepend=0)
        return np.stack([rng.multinomial(n, shares, samples) for n in new], axis=1).cumsum(axis=1)

    @property
    def gains(self) -> Any:
        """The values and 0."""
        return np.array([*self.values, 0.0])


# A side is False where it shows that the mean is larger than a number at none of the looks.
Side: TypeAlias = Callable[[Any, Counts, float], Any]


def moments(values: Any, counts: Counts) -> tuple[Any, Any, Any, Any]:
    """Return the number of users, mean, standard deviation and skewness at each look."""
    n = counts.sum(axis=-1)
    mean = counts @ values / n
    centred = values - mean[..., None]
    square, cube = ((counts * centred**power).sum(axis=-1) / n for power in (2, 3))
    with np.errstate(divide="ignore", invalid="ignore"):
        return n, mean, np.sqrt(square * n / (n - 1)), cube / square**1.5


def by_t(values: Any, counts: Counts, null: float) -> Any:
    """Return whether an ordinary one-sided t limit lies above ``null``."""
    n, mean, deviation, _ = moments(values, counts)
    return mean - t.ppf(1 - ALPHA, n - 1) * deviation / np.sqrt(n) > null


def by_central_limit(values: Any, counts: Counts, null: float) -> Any:
    """Return the same for the sequence of Waudby-Smith et al. 2024, which is normal in the limit."""
    n, mean, deviation, skewness = moments(values, counts)
    alpha, planned = 2 * ALPHA, 4 * n[:, :1]
    rho = (-2 * math.log(alpha) + math.log(1 - 2 * math.log(alpha))) / planned
    half = deviation * np.sqrt(
        2 * (n * rho + 1) / (n**2 * rho) * np.log(np.sqrt(n * rho + 1) / alpha)
    )
    valid = (n >= 100) & (deviation > 0) & (n >= 25 * (np.abs(skewness) + 2 * np.sqrt(6 / n)) ** 2)
    return valid & (mean - half > null)


def by_betting(values: Any, counts: Counts, null: float) -> Any:
    """Return the same for `rankwise.stats.confidence_sequence` of differences between -1 and 1."""
    return log_capital((values + 1) / 2, counts, (null + 1) / 2) > -math.log(ALPHA)


SIDES: dict[str, Side] = {"t": by_t, "central limit": by_central_limit, "betting": by_betting}
HUNDREDS = np.arange(100, 2501, 100)
WRONG = [  # with the claim that is wrong there: that the mean is above minus the margin, or below 0
    World("-.1 for 20 %, +1 for 2 %", (0.1, -1.0), (0.2, 0.02)),
    World("+1 and -1 for 12.5 % each", (1.0, -1.0), (0.125, 0.125)),
    World("+.005 for 30 %, -1 for .2 %", (0.005, -1.0), (0.3, 0.002), 0.0005),
    World("+.02 for 40 %, -1 for 1 %", (0.02, -1.0), (0.4, 0.01), 0.002),
    World("+.01 for 10 %, -.5 for .3 %", (0.01, -0.5), (0.1, 0.003), 0.0005),
]
HARMLESS = [
    World("±.05 for 20 % each", (0.05, -0.05), (0.2, 0.2), 0.01),
    World("±.3 for 10 % each", (0.3, -0.3), (0.1, 0.1), 0.01),
    World("±1 for 5 % each", (1.0, -1.0), (0.05, 0.05), 0.02),
    World("+.05 for 40 %, -.05 for 20 %", (0.05, -0.05), (0.4, 0.2), 0.01),
]


def false_alarms(world: World, looks: int, samples: int = SAMPLES) -> dict[str, float]:
    """Return how often each way shows a false claim at one of the looks, a hundred users apart."""
    counts = world.looks(HUNDREDS[:looks], samples)
    # A hair above the truth: exactly there rounding would decide.
    null = -world.margin + 1e-12
    return {
        name: float(side(world.gains, counts, null).any(axis=1).mean())
        for name, side in SIDES.items()
    }


def users_until_shown(world: World, samples: int = SAMPLES // 4) -> dict[str, float]:
    """Return the median number of users at which each way shows that no margin is lost."""
    users = np.unique(np.round(100 * 1.1 ** np.arange(75))).astype(int)
    counts, median = world.looks(users, samples), {}
    for name, side in SIDES.items():
        shown = side(world.gains, counts, -world.margin)
        first = np.where(shown.any(axis=1), users[shown.argmax(axis=1)], math.inf)
        median[name] = float(np.median(first))
    return median


def main() -> None:
    """Print the tables."""
    print(f"false claims at looks a hundred users apart, nominal {ALPHA}: {', '.join(SIDES)}")
    for world in WRONG:
        shares = [
            " ".join(f"{share:6.3f}" for share in false_alarms(world, looks).values())
            for looks in (20, 25)
        ]
        print(f"  {world.name:28} 20 looks {shares[0]}   25 looks {shares[1]}")
    print(f"users at which half of the systems are shown to lose no margin: {', '.join(SIDES)}")
    for world in HARMLESS:
        users = " ".join(f"{number:8,.0f}" for number in users_until_shown(world).values())
        print(f"  {world.name:28} margin {world.margin}: {users}")


if __name__ == "__main__":
    main()
