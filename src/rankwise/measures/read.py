"""Measures from text, objects or classes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, TypeAlias

from rankwise.core.arguments import bounded
from rankwise.errors import MeasureError
from rankwise.measures.measure import Measure
from rankwise.measures.parsing import parse_text, several_measures

__all__ = ["MeasureLike", "Reader", "one_by_one", "parse", "parse_all"]

MeasureLike: TypeAlias = "str | Measure | type[Measure]"


class Reader(Protocol):
    """A reader of measures with its own notation: a convention."""

    def read(self, text: str) -> list[Measure]:
        """Return the measures that a text names."""

    def check_object(self, measure: Measure) -> None:
        """Raise if an object would mean another measure as text."""


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
    measures: MeasureLike | Iterable[MeasureLike], reader: Reader | None = None, *, cutoffs: bool = True
) -> tuple[Measure, ...]:
    """Return the measures that are given as text, objects or classes, in a list or alone.

    Without ``cutoffs`` also measures that need a cut-off may have none. A ``reader`` says what text
    means; by default it means what rankwise writes.

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
            out += parse_text(entry) if reader is None else reader.read(entry)
        elif isinstance(entry, Measure) or (isinstance(entry, type) and issubclass(entry, Measure)):
            out.append(entry if isinstance(entry, Measure) else entry())
            if reader is not None:
                reader.check_object(out[-1])
        else:
            raise MeasureError(
                "a measure is text or a measure object",
                found=f"{entry!r} ({type(entry).__name__})",
                hint='write "ndcg@10" or rankwise.NDCG() @ 10',
            )
    if not out:
        raise MeasureError("no measure was requested", hint='pass a measure, such as measures=["ndcg@10"]')
    cells: set[str] = set()
    for measure in out:
        if cutoffs:
            measure.require_cutoff()
        twice = cells.intersection(measure.cells)
        if twice:
            raise MeasureError("duplicate measure", found=min(twice))
        cells.update(measure.cells)
    return tuple(out)


def one_by_one(texts: Iterable[str]) -> list[str]:
    """Return measures one by one, each at one cut-off, in whatever language they are.

    >>> one_by_one(["ndcg@5,10, f(first=map,second=dcg(gain=binary))@[1]"])
    ['ndcg@5', 'ndcg@10', 'f(first=map,second=dcg(gain=binary))@1']
    """
    out: list[str] = []
    for text in texts if isinstance(texts, Iterable) else [texts]:
        if not isinstance(text, str):
            raise MeasureError(
                "measures must be text here: each convention has its own notation",
                found=f"{text!r} ({type(text).__name__})",
                hint='write "ndcg@10"',
            )
        for part in _top_level(text):
            name, _, cutoffs = part.rpartition("@")
            if part.isdecimal() and out:  # ndcg@5,10: another cut-off of the same measure
                name, cutoffs = out[-1].rpartition("@")[0], part
            if cutoffs.startswith("[") and cutoffs.endswith("]"):
                out += [f"{name}@{k.strip()}" for k in cutoffs[1:-1].split(",")]
            else:
                out.append(f"{name}@{cutoffs}" if name else part)
    if not out:
        raise MeasureError("no measure was requested", hint='pass a measure, such as measures=["ndcg@10"]')
    return out


def _top_level(text: str) -> list[str]:
    """Return the parts between commas that are outside brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]
