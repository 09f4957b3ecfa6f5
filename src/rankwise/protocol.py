"""Which candidates lists were ranked from: a number speaks of them as much as of the model."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Protocol"]


@dataclass(frozen=True)
class Protocol:
    """How candidates were chosen.

    Attributes
    ----------
    candidates : str
        What was ranked, in words: ``"catalogue less seen"``, ``"given items"``, ….
    negatives : int or None
        How many negatives were sampled for each user; None where nothing was sampled.
    seed : int or None
        The seed of the sample.
    by : str
        The law that negatives were drawn by: ``"uniform"`` or ``"popularity"``.
    replacement : bool
        Whether a negative could be drawn twice.
    relevance_threshold : float or None
        The relevance from which items were positives of the sample.
    digest : str or None
        A hash of the candidates of all users; None for the catalogue.

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

    @property
    def sampled(self) -> bool:
        """Whether the candidates are a sample, so that values are not those of the catalogue."""
        return self.negatives is not None

    @property
    def label(self) -> str:
        """What every display of a number over a sample says; empty for exact ones."""
        if not self.sampled:
            return ""
        law = f", by {self.by}" if self.by not in ("", "uniform") else ""
        again = ", with replacement" if self.replacement else ""
        return f"sampled (m={self.negatives}, seed={self.seed}{law}{again})"

    def write(self) -> str:
        """Write it as text, the same for the same protocol."""
        return json.dumps(self.to_dict(), sort_keys=True)

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Read what `write` wrote; None for nothing."""
        return cls(**json.loads(text)) if text else None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return asdict(self)

    @classmethod
    def of(cls, saved: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote."""
        return cls(**saved)
