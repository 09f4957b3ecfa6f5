"""A measure for readers: its family, range, better direction, inputs and parameters.

`Measure` shows itself in notebooks by this module, which would import `Measure` in a circle: it
takes anything with the attributes of `ShownMeasure` instead.
"""

from __future__ import annotations

import inspect
import math
from typing import Any, Literal, Protocol

from rankwise.core.block import Cutoffs
from rankwise.core.view import TableView, html
from rankwise.measures.input_kinds import Inputs

__all__ = ["FAMILIES", "ShownMeasure", "as_written", "better", "extra_inputs", "interval", "measure_html", "summary"]

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
    "popularity": "train",
    "history": "train",
    "similarity": "train",
    "source": "train",
    "baseline": "baseline",
    "categories": "items: categories",
    "features": "items: features",
    "item_group": "items: group",
    "propensity": "items: propensity",
    "user_group": "users: group",
}


class ShownMeasure(Protocol):
    """The attributes of `rankwise.Measure` that displays read."""

    @property
    def family(self) -> str:
        """The family, a key of `FAMILIES` unless a plug-in has its own."""

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest value."""

    @property
    def higher_is_better(self) -> bool | None:
        """The better direction; None if neither is."""

    @property
    def cutoff(self) -> Literal["required", "optional", "none"]:
        """Whether a cut-off must, may or must not be given."""

    @property
    def k(self) -> Cutoffs:
        """The cut-offs."""

    @property
    def parameters(self) -> dict[str, Any]:
        """Every parameter with its value."""

    @property
    def parts(self) -> tuple[ShownMeasure, ...]:
        """The measures that it is composed of."""

    @property
    def reads(self) -> Inputs:
        """The inputs that it declares."""

    @property
    def reads_truth(self) -> bool:
        """Whether it compares lists with the ground truth."""


def measure_html(measure: ShownMeasure) -> str:
    """Return a measure as tables for a notebook: what it is, and its parameters."""
    needs = ["recommendations", *(["ground truth"] if measure.reads_truth else [])]
    whole = {"required": "required", "optional": "none: the whole list", "none": "none"}
    rows = [
        ("definition", summary(type(measure))),
        ("family", FAMILIES.get(measure.family, measure.family)),
        ("range", interval(measure.range)),
        ("better", better(measure.higher_is_better, "neither direction")),
        ("cut-off k", ", ".join(map(str, measure.k)) or whole[measure.cutoff]),
        ("needs", ", ".join([*needs, *extra_inputs(measure)])),
    ]
    views = [TableView(["measure", str(measure)], rows, left=(0, 1))]
    if measure.parameters:
        defaults = type(measure)().parameters
        values = [(name, as_written(value), as_written(defaults[name])) for name, value in measure.parameters.items()]
        views.append(TableView(["parameter", "value", "default"], values, left=(0, 1, 2)))
    return html(*views)


def summary(cls: type[object]) -> str:
    """Return the first line of the docstring of a measure."""
    text = inspect.getdoc(cls)
    return text.splitlines()[0] if text else ""


def interval(ends: tuple[float, float]) -> str:
    """Return a range as an interval.

    >>> interval((0, 1)), interval((0, math.inf))
    ('[0, 1]', '[0, inf)')
    """
    low, high = ends
    left, right = "(" if math.isinf(low) else "[", ")" if math.isinf(high) else "]"
    return f"{left}{low:g}, {high:g}{right}"


def better(higher_is_better: bool | None, neither: str = "–") -> str:
    """Return which direction is better."""
    return {True: "higher", False: "lower", None: neither}[higher_is_better]


def extra_inputs(measure: ShownMeasure) -> list[str]:
    """Return the inputs that a measure needs beyond recommendations and ground truth."""
    parts = [measure, *measure.parts]
    inputs = {_INPUTS[fact.kind] for part in parts for fact in part.reads.facts}
    if any("scores" in part.reads.rows for part in parts):
        inputs.add("scores")
    return sorted(inputs)


def as_written(value: object) -> str:
    """Return the value of a parameter as one would write it.

    >>> as_written((1, True)), as_written(()), as_written(math.hypot)
    ('[1, true]', 'none', 'math:hypot')
    """
    if isinstance(value, tuple) and value:
        return f"[{', '.join(map(as_written, value))}]"
    if value is None or value == ():
        return "none"
    if callable(value):
        return f"{value.__module__}:{getattr(value, '__qualname__', value)}"
    return str(value).lower() if isinstance(value, bool) else str(value)
