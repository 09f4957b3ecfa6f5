"""Verdicts: a measure of a library held against its counterpart in rankwise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ours import At, Ours, plainly

import rankwise as rw

if TYPE_CHECKING:
    from matches import Match

Values: TypeAlias = dict[int | None, float]

KINDS = ("equal", "differs", "no counterpart", "no value", "wrong")


class Tolerance(NamedTuple):
    """How far apart equal values may be.

    Attributes
    ----------
    relative, absolute : float
        As in `math.isclose`.
    """

    relative: float
    absolute: float

    def near(self, left: Values, right: Values) -> bool:
        """Say whether two measures have the same values at every cut-off.

        Parameters
        ----------
        left, right : dict
            Values by cut-off.

        Returns
        -------
        bool
        """
        return all(
            math.isclose(value, right[k], rel_tol=self.relative, abs_tol=self.absolute)
            for k, value in left.items()
        )


@dataclass(frozen=True, kw_only=True)
class Row:
    """One measure of a library beside rankwise's.

    Attributes
    ----------
    measure : str
        The library's name of it.
    kind, verdict : str
        One of `KINDS`, and the same for readers, with the reason.
    theirs, values : dict
        The library's values and rankwise's by cut-off, None where there is none.
    ours, view : str
        rankwise's measure with its parameters, and what it was evaluated on.
    default : str
        Whether rankwise's default gives the library's values: ``same`` or ``differs``.
    """

    measure: str
    kind: str
    verdict: str
    theirs: Values
    values: Values
    ours: str = ""
    view: str = ""
    default: str = ""

    @property
    def difference(self) -> str:
        """The largest relative difference, as text."""
        found = [
            abs(theirs - self.values[k]) / (max(abs(theirs), abs(self.values[k])) or 1)
            for k, theirs in self.theirs.items()
            if k in self.values
        ]
        return f"{max(found):.1e}" if found else ""


@dataclass(frozen=True)
class Judge:
    """What verdicts rest on.

    Attributes
    ----------
    ours : Ours
        rankwise's values.
    tolerance : Tolerance
        How far apart equal values may be.
    """

    ours: Ours
    tolerance: Tolerance

    def judge(self, name: str, theirs: Values, match: Match) -> Row:
        """Hold a measure against its counterpart.

        Parameters
        ----------
        name : str
            The library's name of it.
        theirs : dict
            The library's values by cut-off.
        match : Match
            What rankwise has for it.

        Returns
        -------
        Row
        """
        if match.ours is None:
            kind, verdict = self._explain("no counterpart", theirs, match)
            return Row(measure=name, kind=kind, verdict=verdict, theirs=theirs, values={})
        values = self._evaluate(match.ours, match.view, match.cell, theirs)
        defaults = self._evaluate(match.default, plainly(match.view), match.cell, theirs)
        equal = self.tolerance.near(theirs, values)
        if match.why:
            kind, verdict = self._explain("differs", theirs, match)
            verdict = f"{'equal here, ' * equal}{verdict}"
        elif equal:
            kind, verdict = "equal", f"equal: {match.note}" if match.note else "equal"
        else:
            kind, verdict = "wrong", "NOT EQUAL"
        return Row(
            measure=name,
            kind=kind,
            verdict=verdict,
            theirs=theirs,
            values=values,
            ours=str(rw.parse(match.ours)) + (f"[{match.cell}]" if match.cell else ""),
            view=match.view,
            default="same" if self.tolerance.near(theirs, defaults) else "differs",
        )

    def _evaluate(self, measure: str, view: str, cell: str, theirs: Values) -> Values:
        return {k: At(self.ours, view, k)(measure, cell=cell) for k in theirs}

    def _explain(self, kind: str, theirs: Values, match: Match) -> tuple[str, str]:
        """Give the reason, and try the arithmetic that proves it if there is one."""
        verdict = f"{kind}: {match.why}"
        if match.arithmetic is None:
            return kind, verdict
        made = {k: match.arithmetic(At(self.ours, match.view, k)) for k in theirs}
        if self.tolerance.near(theirs, made):
            return kind, f"{verdict} [checked]"
        return "wrong", f"{verdict} [WRONG: that would be {list(made.values())}]"
