"""The candidate sets that lists were ranked from: values depend on them, as on the model."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

__all__ = ["INFERRED", "PASSED", "Protocol"]

INFERRED = "negatives, to judge by the lists"
"""Candidates of lists that came from a table and look like relevant items among sampled negatives."""
PASSED = "those passed with the scores"
"""Candidates that came beside scores: nothing says how they were chosen."""


@dataclass(frozen=True)
class Protocol:
    """How the candidate set of each user was chosen.

    Attributes
    ----------
    candidates : str
        The candidates, in words: ``"catalogue less seen"``, ``"given items"``, ….
    negatives : int or None, default=None
        Number of sampled negatives per user; None where nothing was sampled.
    seed : int or None, default=None
        The seed of the sample.
    by : str, default=""
        The distribution of sampled negatives: ``"uniform"`` or ``"popularity"``.
    replacement : bool, default=False
        Whether negatives were drawn with replacement.
    digest : str or None, default=None
        A hash of the candidates of all users; None for the catalogue.
    relevance_threshold : float or None, default=None
        Minimum relevance of the positives of a sample.
    power : float, default=1.0
        The exponent of the number of training users, where negatives were drawn by popularity.

    Examples
    --------
    >>> Protocol("sampled", negatives=100, seed=42).label
    'sampled (m=100, seed=42)'
    """

    candidates: str
    negatives: int | None = None
    seed: int | None = None
    by: str = ""
    replacement: bool = False
    digest: str | None = None
    relevance_threshold: float | None = None
    power: float = 1.0

    @property
    def sampled(self) -> bool:
        """Whether candidates are a sample, so that values differ from those of the catalogue."""
        return self.negatives is not None

    @property
    def label(self) -> str:
        """The label of all values computed from sampled negatives; else empty."""
        if not self.sampled:
            return ""
        seed = "" if self.seed is None else f", seed={self.seed}"
        power = "" if self.power == 1 else f"^{self.power:g}"
        by = f", by {self.by}{power}" if self.by not in ("", "uniform") else ""
        replacement = ", with replacement" if self.replacement else ""
        inferred = "looks " if self.candidates == INFERRED else ""
        return f"{inferred}sampled (m={self.negatives}{seed}{by}{replacement})"

    @classmethod
    def of_label(cls, label: str) -> Self | None:
        """Return what a label says of a sample; None for text that is no label.

        >>> Protocol.of_label("sampled (m=100, seed=42, by popularity^0.75)").power
        0.75
        """
        match = re.fullmatch(
            r"(looks )?sampled \(m=(\d+)(?:, seed=(\d+))?(?:, by (\w+)(?:\^(\S+?))?)?(, with replacement)?\)", label
        )
        if match is None:
            return None
        inferred, negatives, seed, by, power, replacement = match.groups()
        return cls(
            "sampled" if inferred is None else INFERRED,
            int(negatives),
            None if seed is None else int(seed),
            by or "",
            replacement is not None,
            power=float(power or 1),
        )

    def write(self) -> str:
        """Return the protocol as text: equal text for equal protocols."""
        return json.dumps(self.to_dict(), sort_keys=True)

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Return the protocol that `write` wrote; None for empty text."""
        return cls(**json.loads(text)) if text else None

    def to_dict(self) -> dict[str, Any]:
        """Return the protocol as plain values, for JSON."""
        return asdict(self)

    @classmethod
    def of(cls, saved: Mapping[str, Any]) -> Self:
        """Return the protocol from the values of `to_dict`."""
        return cls(**saved)
