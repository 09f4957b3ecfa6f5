"""A plan: what a list of measures asks of every block."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from rankwise.core.facts import Fact
from rankwise.measures.kinds import Accumulated, Composed, Grouped, PerUser, Pooled

if TYPE_CHECKING:
    from rankwise.core.block import Block
    from rankwise.core.engine import Needs
    from rankwise.measures.measure import Measure
    from rankwise.measures.tallies import Tally

__all__ = ["Floats", "Plan", "Undefined"]

Floats: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float64]]
Undefined: TypeAlias = Literal["skip", "zero", "nan"]


@dataclass(frozen=True)
class Plan:
    """Measures in the order asked for, and the simple ones that they are made of."""

    measures: tuple[Measure, ...]
    undefined: Undefined = "skip"
    by: tuple[str, ...] = ()
    """Columns of user groups that are to have values of their own."""
    exact: bool = False
    """Whether what comes are exact ranks, which know all candidates."""

    @cached_property
    def every(self) -> list[Measure]:
        """All measures, those that others are made of first, each once."""
        found: dict[Measure, None] = {}

        def visit(measure: Measure) -> None:
            for part in measure.parts:
                visit(part)
            found[measure] = None

        for measure in self.measures:
            visit(measure)
        return list(found)

    @cached_property
    def leaves(self) -> list[Measure]:
        """The measures that are worked out on blocks."""
        return [one for one in self.every if not isinstance(one, Composed | Grouped)]

    @cached_property
    def needs(self) -> Needs:
        """What blocks must hold."""
        return frozenset[Any]().union(*(leaf.requires - self.waived(leaf) for leaf in self.leaves))

    @cached_property
    def facts(self) -> dict[Fact, Measure]:
        """What must be known, each with the first measure that needs it."""
        found: dict[Fact, Measure] = {}
        for measure in self.every:
            waived = {Fact("history")} if self.waived(measure) else set()
            for fact in measure.all_facts:
                if fact not in waived:
                    found.setdefault(fact, measure)
        for tally, _ in self.tallies:
            if tally.by:
                found.setdefault(Fact("user_group", tally.by), self.measures[0])
        return found

    def waived(self, measure: Measure) -> Needs:
        """Return what a measure does without, because exact ranks know it."""
        counts = self.exact and measure.ranks_candidates
        return frozenset({"repeats"}) if counts else frozenset()

    @property
    def needs_catalogue(self) -> bool:
        """Whether some measure needs the size of the catalogue."""
        return any(
            leaf.needs_catalogue != "" and (leaf.tallies or not self.waived(leaf))
            for leaf in self.leaves
        )

    @property
    def numbers_items(self) -> bool:
        """Whether something is kept, known or counted by item, so that items must be numbered."""
        by_user = ("user_group", "history", "baseline")
        listed = self.needs_catalogue or "listed" in self.needs
        return listed or any(fact.kind not in by_user for fact in self.facts)

    @property
    def compares_scores(self) -> bool:
        """Whether some measure holds scores against the truth, row by row."""
        return any({"judged", "scores"} <= leaf.needs for leaf in self.leaves)

    @cached_property
    def tallies(self) -> list[tuple[Tally, int]]:
        """What is added up for every item, at every cut-off that some measure asks for."""
        found: dict[tuple[Tally, int], None] = {}
        for leaf in self.leaves:
            own = [*leaf.tallies]
            if isinstance(leaf, Accumulated):
                own += [replace(t, by=column) for t in own if not t.by for column in self.by]
            for tally in own:
                cutoffs = leaf.ks if tally.has_cutoff else (0,)
                found |= dict.fromkeys((tally, k) for k in cutoffs)
        return list(found)

    def columns(self, block: Block) -> dict[str, Floats]:
        """Work out the columns of a block's users: values, and sums to be pooled."""
        out: dict[str, Floats] = {}
        for leaf in self.leaves:
            k = np.array(leaf.ks, dtype=np.int64)
            if isinstance(leaf, PerUser):
                values = self._defined(leaf, block, leaf.values(block, k))
                out |= {cell: values[:, at] for at, cell in enumerate(leaf.cells)}
            elif isinstance(leaf, Pooled):
                sums = leaf.sums(block, k)
                for at, cell in enumerate(leaf.cells):
                    out |= {f"{cell}#{j}": sums[:, at, j] for j in range(sums.shape[2])}
        return {name: np.ascontiguousarray(values) for name, values in out.items()}

    def item_sums(self, block: Block) -> dict[str, Any]:
        """Add up what is kept for every item."""
        last = math.inf if block.limit is None else block.limit
        return {
            f"{tally.column(k)}#{part}": sums
            for tally, k in self.tallies
            for part, sums in tally.sums(block, int(min(k, last))).items()
        }

    def _defined(self, leaf: PerUser, block: Block, values: Floats) -> Floats:
        if leaf.about == "user":
            return values
        has_value = block.list_length > 0 if leaf.about == "list" else block.n_relevant > 0
        if has_value.all():
            return values
        zero = leaf.about == "relevance" and self.undefined == "zero"
        return np.where(has_value[:, None], values, 0.0 if zero else math.nan)
