"""Descriptions of measures for listings, pages and help, derived from the class alone."""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rankwise.measures import registry
from rankwise.measures.measure import Measure

__all__ = ["FAMILIES", "Description", "describe", "every_description"]

FAMILIES = {
    "accuracy": "Accuracy",
    "rating": "Rating error",
    "confusion": "Confusion counts",
    "coverage": "Coverage",
    "novelty": "Novelty",
    "diversity": "Diversity",
    "popularity": "Popularity bias",
    "debiased": "Debiased accuracy",
    "fairness": "Fairness",
    "multiobjective": "Multi-objective",
    "hygiene": "List hygiene",
}
"""The families in the order in which they are shown, and their titles."""

_INPUTS = {
    "popularity": "train", "history": "train", "similarity": "train", "source": "train",
    "baseline": "baseline", "categories": "items: categories", "features": "items: features",
    "item_group": "items: group", "propensity": "items: propensity", "user_group": "users: group",
}  # fmt: skip


@dataclass(frozen=True)
class Description:
    """The documented properties of a measure."""

    cls: type[Measure]

    @cached_property
    def text(self) -> str:
        """The docstring."""
        return inspect.getdoc(self.cls) or ""

    @property
    def summary(self) -> str:
        """The first line of the docstring."""
        return self.text.splitlines()[0] if self.text else ""

    @property
    def range(self) -> str:
        """The range as an interval: ``[0, 1]``, ``[0, inf)``."""
        low, high = self.cls.range
        left, right = "(" if math.isinf(low) else "[", ")" if math.isinf(high) else "]"
        return f"{left}{low:g}, {high:g}{right}"

    @property
    def better(self) -> str:
        """Which direction is better; a dash where neither is."""
        return {True: "higher", False: "lower", None: "–"}[self.cls.higher_is_better]

    @property
    def cutoff(self) -> str:
        """How a cut-off is written: ``@k``, ``[@k]`` if it is optional, or nothing."""
        return {"required": "@k", "optional": "[@k]", "none": ""}[self.cls.cutoff]

    @property
    def needs(self) -> list[str]:
        """The extra inputs beyond recommendations and ground truth, at default parameters."""
        measure = self.cls()
        parts = [measure, *measure.parts]
        inputs = {_INPUTS[fact.kind] for part in parts for fact in part.all_facts}
        if any("scores" in part.requires for part in parts):
            inputs.add("scores")
        return sorted(inputs)

    def as_dict(self) -> dict[str, Any]:
        """Return all properties as plain values that JSON can hold."""
        cls = self.cls
        return {
            "name": cls.name,
            "aliases": list(cls.aliases),
            "family": cls.family,
            "range": [None if math.isinf(end) else end for end in cls.range],
            "higher_is_better": cls.higher_is_better,
            "cutoff": cls.cutoff,
            "parameters": {key: _plain(value) for key, value in cls().parameters.items()},
            "needs": self.needs,
            "summary": self.summary,
        }


def describe(name: str) -> Description:
    """Describe the measure of a name or alias.

    >>> describe("nDCG").range, describe("nDCG").better, describe("ARP").needs
    ('[0, 1]', 'higher', ['train'])
    """
    return Description(registry.find(name))


def every_description() -> list[Description]:
    """Describe every measure, family by family, by name; plug-ins' own families come last."""
    order = {family: position for position, family in enumerate(FAMILIES)}
    measures = sorted(
        registry.every(), key=lambda cls: (order.get(cls.family, len(order)), cls.family, cls.name)
    )
    return [Description(cls) for cls in measures]


def _plain(value: object) -> object:
    return value if isinstance(value, bool | int | float | str | None) else str(value)
