"""`Definition`: one metric with all choices that determine its value, ready to be evaluated."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Self

from rankwise.convention.convention import Convention
from rankwise.evaluation.evaluate import evaluate_tables, without_truth
from rankwise.evaluation.settings import Settings
from rankwise.measures.measure import Measure
from rankwise.results.result import Result
from rankwise.tables.table import Tables

__all__ = ["CHOICE_NAMES", "Definition", "evaluated"]

CHOICE_NAMES = (
    "population",
    "undefined",
    "without_list",
    "relevance",
    "ties",
    "order_by",
    "ids",
    "score_precision",
    "catalogue",
    "duplicates",
)
"""The choices beside the parameters of the measure."""
_DEFAULT = Convention("default")


@dataclass(frozen=True)
class Definition:
    """One measure with every choice that decides its number.

    Attributes
    ----------
    measure : Measure
        The measure with its parameters, at one cut-off or none.
    choices : tuple
        The value of each of `CHOICE_NAMES`.
    """

    measure: Measure
    choices: tuple[Any, ...]

    @classmethod
    def under(cls, text: str, convention: Convention | None) -> Self:
        """Return the definition of a metric that is given as text; None: rankwise's defaults.

        Raises
        ------
        MeasureError
            If the convention has no such measure, or the measure needs a cut-off and has none.
        """
        convention = convention or _DEFAULT
        measure = convention.parse(text)
        measure.require_cutoff()
        chosen = convention.choices_of(measure)
        chosen["ties"] = chosen["ties"] or "expected"
        return cls(measure, tuple(chosen[name] for name in CHOICE_NAMES))

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the measure and the other choices, by name."""
        named = {"measure": self.measure.name, **self.measure.parameters}
        return named | dict(zip(CHOICE_NAMES, self.choices, strict=True))

    def differences(self, other: Definition) -> dict[str, tuple[Any, Any]]:
        """Return the choices that differ, with both values.

        Measures of different names differ in one choice, ``"measure"``, whatever their parameters.
        """
        if self.measure.name != other.measure.name:
            texts = str(self.measure @ ()), str(other.measure @ ())
            return {"measure": texts} | self._of_choices(other)
        mine, theirs = self.measure.parameters, other.measure.parameters
        changed = {name: (mine[name], theirs[name]) for name in mine if mine[name] != theirs[name]}
        return changed | self._of_choices(other)

    def _of_choices(self, other: Definition) -> dict[str, tuple[Any, Any]]:
        pairs = zip(CHOICE_NAMES, self.choices, other.choices, strict=True)
        return {name: (mine, theirs) for name, mine, theirs in pairs if mine != theirs}

    def mixed(self, other: Definition, names: Collection[str]) -> Definition:
        """Return this definition with some of its choices taken from another one."""
        measure = self.measure
        if "measure" in names:
            measure = other.measure
        elif self.measure.name == other.measure.name:
            known = {field.name for field in fields(measure)} - {"k"}
            taken = {name: getattr(other.measure, name) for name in known & set(names)}
            measure = replace(measure, **taken)
        choices = tuple(
            theirs if name in names else mine
            for name, mine, theirs in zip(CHOICE_NAMES, self.choices, other.choices, strict=True)
        )
        return Definition(measure, choices)

    def settings(self, options: Mapping[str, Any]) -> Settings:
        """Return the settings of an evaluation of this measure alone."""
        chosen = dict(zip(CHOICE_NAMES, self.choices, strict=True))
        if options.get("relevance_threshold") is not None:
            chosen["relevance"] = "positive"
        return Settings(measures=(self.measure,), ties_if_scored=True, **{**chosen, **options})

    def evaluate(self, tables: Tables, options: Mapping[str, Any]) -> Result:
        """Evaluate the measure on tables that are read already."""
        return evaluated(self.settings(options), tables)


def evaluated(settings: Settings, tables: Tables) -> Result:
    """Evaluate tables that are read already, with or without a ground truth."""
    return evaluate_tables(settings if tables.truth else without_truth(settings), tables)
