"""The row of a difference between two policies on logged impressions."""

from __future__ import annotations

from dataclasses import dataclass

from rankwise.findings.finding import Finding


@dataclass(frozen=True)
class PairSupport:
    """How well the log supports both policies.

    ``flips_at`` is the largest clip of the weights at which the sign of the difference turns; None
    if no clip turns it.
    """

    support_baseline: str | None = None
    support_system: str | None = None
    flips_at: float | None = None


@dataclass(frozen=True, kw_only=True)
class LogFinding(Finding):
    """A finding of a log: the difference in reward of two policies, with their support."""

    support: PairSupport = PairSupport()
