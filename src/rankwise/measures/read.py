"""Measures from whatever names them: text, objects or classes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from rankwise.core.arguments import bounded
from rankwise.errors import MeasureError
from rankwise.measures.measure import Measure
from rankwise.measures.parsing import parse_text, several_measures

__all__ = ["MeasureLike", "parse", "parse_all"]

MeasureLike: TypeAlias = "str | Measure | type[Measure]"


def parse(text: str) -> Measure:
    """Return the measure that a text names.

    Examples
    --------
    >>> parse("nDCG(gain=exponential) @ 10")
    NDCG(gain='exponential') @ 10
    >>> str(parse("R@5,10"))
    'recall@[5,10]'
    """
    measures = parse_text(text)
    if len(measures) != 1:
        raise several_measures(text)
    measure: Measure = measures[0]
    return measure


def parse_all(
    measures: MeasureLike | Iterable[MeasureLike], *, cutoffs: bool = True
) -> tuple[Measure, ...]:
    """Return the measures that are given as text, objects or classes, in a list or alone.

    Without ``cutoffs`` also measures that need a cut-off may have none.

    Examples
    --------
    >>> [str(m) for m in parse_all(["ndcg@10", "recall@5,10"])]
    ['ndcg@10', 'recall@[5,10]']
    """
    several: Any = measures
    if isinstance(measures, str | Measure | type) or not hasattr(measures, "__iter__"):
        several = [measures]
    given = bounded("measures", several, 10_000)
    out: list[Measure] = []
    for entry in given:
        if isinstance(entry, str):
            out += parse_text(entry)
        elif isinstance(entry, type) and issubclass(entry, Measure):
            out.append(entry())
        elif isinstance(entry, Measure):
            out.append(entry)
        else:
            raise MeasureError(
                "a measure is text or a measure object",
                found=f"{entry!r} ({type(entry).__name__})",
                hint='write "ndcg@10" or rankwise.NDCG() @ 10',
            )
    if not out:
        raise MeasureError("no measure was asked for", hint='pass measures=["ndcg@10"], say')
    cells: set[str] = set()
    for measure in out:
        if cutoffs:
            measure.require_cutoff()
        twice = cells.intersection(measure.cells)
        if twice:
            raise MeasureError("a measure was asked for twice", found=min(twice))
        cells.update(measure.cells)
    return tuple(out)
