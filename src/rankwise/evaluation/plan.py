"""`Plan`: the inputs that a list of metrics needs from every block, and its computation."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from rankwise.core.arrays import Array, is_tensor
from rankwise.core.block import Block
from rankwise.core.choices import Population
from rankwise.core.facts import HISTORY, Categories, Fact, Features, Groups, Popularity
from rankwise.core.measured import Measured
from rankwise.core.partial_columns import UserSum
from rankwise.core.row_sets import Needs
from rankwise.core.user_rules import EVERYONE, UserRule, UserRules
from rankwise.errors import MeasureError, ParameterError
from rankwise.measures.item_sums import ItemSum
from rankwise.measures.kinds import Accumulated, OfParts, PerUser, Pooled
from rankwise.measures.measure import Measure

__all__ = ["Plan", "sums_same_lists"]

_SAME_LISTS: dict[Population, str] = {
    "truth": "truth",
    "both": "truth",
    "judged": "judged",
    "judged_both": "judged",
    "recommended": "all",
    "all": "all",
}
"""Populations that have the same lists, because they differ in users without a list alone."""


@dataclass(frozen=True)
class Plan:
    """Measures in the order asked for, and the simple ones that they are made of."""

    measures: tuple[Measure, ...]
    rules: UserRules = EVERYONE
    """Who each measure is averaged over, and what it counts for other users."""
    by: tuple[str, ...] = ()
    """Columns of user groups that get values of their own."""
    exact: bool = False
    """Whether recommendations are exact ranks, which know the whole candidate set."""

    @cached_property
    def leaf_rules(self) -> dict[Measure, UserRule]:
        """The rule of every measure without cut-offs; parts have that of what they are parts of."""
        found: dict[Measure, UserRule] = {}

        def visit(measure: Measure, rule: UserRule) -> None:
            if found.setdefault(measure @ (), rule) != rule:
                raise MeasureError(
                    f"{measure @ ()} would be averaged over different users in the same evaluation",
                    found=f"{found[measure @ ()]} and {rule}",
                    hint="evaluate the measures that it is part of in two calls",
                )
            for part in measure.parts:
                visit(part, rule)

        for measure in self.measures:
            visit(measure, self.rules.of(str(measure @ ())))
        return found

    @cached_property
    def every(self) -> list[Measure]:
        """All measures, those that others are made of first, each once."""
        ordered: dict[Measure, None] = {}

        def visit(measure: Measure) -> None:
            for part in measure.parts:
                visit(part)
            ordered[measure] = None

        for measure in self.measures:
            visit(measure)
        return list(ordered)

    @cached_property
    def leaves(self) -> list[Measure]:
        """The measures that are computed on blocks."""
        return [measure for measure in self.every if not isinstance(measure, OfParts)]

    @property
    def reads_truth(self) -> bool:
        """Whether some measure compares lists with the ground truth."""
        return any(measure.reads_truth for measure in self.measures)

    @cached_property
    def needs(self) -> Needs:
        """What blocks must hold."""
        return frozenset[Any]().union(*(leaf.reads.rows - self.waived(leaf) for leaf in self.leaves))

    @cached_property
    def facts(self) -> dict[Fact[Any], str]:
        """What must be known, each with the first measure that needs it."""
        wanted: dict[Fact[Any], str] = {}
        for measure in self.every:
            waived = {HISTORY} if self.waived(measure) else set()
            for fact in measure.reads.facts:
                if fact not in waived:
                    wanted.setdefault(fact, str(measure))
        for item_sum, _ in self.item_sums:
            if item_sum.by:
                wanted.setdefault(Groups.of_users(item_sum.by), str(self.measures[0]))
        return wanted

    def waived(self, measure: Measure) -> Needs:
        """Return the inputs that a measure does not need because exact ranks contain them."""
        counts = self.exact and measure.counts_candidates
        return frozenset({"overlap_history"}) if counts else frozenset()

    @property
    def needs_catalogue(self) -> bool:
        """Whether some measure needs the size of the catalogue."""
        return any(
            leaf.reads.catalogue != "" and (leaf.reads.item_sums or not self.waived(leaf)) for leaf in self.leaves
        )

    @property
    def numbers_items(self) -> bool:
        """Whether something is kept, known or counted by item, so that items need numbers."""
        by_user = ("user_group", "history", "baseline")
        recommended = self.needs_catalogue or "recommended" in self.needs
        return recommended or any(fact.kind not in by_user for fact in self.facts)

    @property
    def compares_scores(self) -> bool:
        """Whether some measure compares scores with the ground truth, row by row."""
        return any({"judged", "scores"} <= {*leaf.inputs} for leaf in self.leaves)

    @cached_property
    def item_sums(self) -> list[tuple[ItemSum, int]]:
        """What is summed for every item, at every cut-off that some measure needs."""
        wanted: dict[tuple[ItemSum, int], None] = {}
        for leaf in self.leaves:
            sums = [*leaf.reads.item_sums]
            if isinstance(leaf, Accumulated):
                sums += [replace(s, by=column) for s in sums if not s.by for column in self.by]
            for item_sum in sums:
                cutoffs = leaf.ks if item_sum.has_cutoff else (0,)
                wanted |= dict.fromkeys((item_sum, k) for k in cutoffs)
        return list(wanted)

    def check_sums(self, evaluated: Population) -> None:
        """Raise if a measure sums over items for other users than those who are evaluated.

        Raises
        ------
        MeasureError
            Which is for evaluations in one piece; `rankwise.evaluate` makes several of them.
        """
        for measure in self.measures:
            population = self.rules.of(str(measure @ ())).population
            if not sums_same_lists(measure, population, evaluated):
                raise MeasureError(
                    f"{measure} is computed over other users than the measures beside it",
                    found=f"population {population!r} beside {evaluated!r}",
                    hint="evaluate it in a separate call, or all with rankwise.evaluate",
                )

    def check_missing_lists(self) -> None:
        """Raise if a missing list would count as the best value of a metric."""
        for leaf, rule in self.leaf_rules.items():
            of_lists = isinstance(leaf, PerUser | Pooled) and leaf.defined_for == "list"
            if of_lists and rule.without_list == "zero" and leaf.higher_is_better is False:
                raise ParameterError(
                    f"0 is the best value of {leaf}, and would reward lists that are missing",
                    found='without_list="zero"',
                    hint=f'evaluate {leaf} in a call of its own, with without_list="skip"',
                )

    @property
    def unweighted(self) -> list[str]:
        """The metrics that users' weights do not change, because they sum over items."""
        return [
            str(measure)
            for measure in self.measures
            if any(isinstance(leaf, Accumulated) for leaf in Plan((measure,)).leaves)
        ]

    def measure(self, block: Block) -> Measured:
        """Compute everything that the measures need of a block, in its array library."""
        return Measured(
            user=block.user,
            columns={"n_relevant": block.n_relevant, "list_length": block.list_length, **self._columns(block)},
            item_sums={
                column: sums for item_sum, k in self.item_sums for column, sums in item_sum.sums(block, k).items()
            },
            counts=self._counts(block),
        )

    def _columns(self, block: Block) -> dict[str, Array]:
        """Return values of users, and the sums of users that are pooled at the end."""
        columns: dict[str, Array] = {}
        for leaf in self.leaves:
            if isinstance(leaf, PerUser):
                values = leaf.values(block, leaf.ks)
                for cell, value in zip(leaf.cells, values, strict=True):
                    columns[cell] = self._defined(leaf, block, value)
            elif isinstance(leaf, Pooled):
                for cell, k in zip(leaf.cells, leaf.ks, strict=True):
                    for number, column in enumerate(leaf.sums(block, k)):
                        columns[str(UserSum(cell, number))] = column
        return columns

    def _defined(self, leaf: PerUser, block: Block, value: Array) -> Array:
        if leaf.defined_for == "user":
            return value
        defined = block.list_length > 0 if leaf.defined_for == "list" else block.n_relevant > 0
        xp = block.xp
        if not is_tensor(defined) and bool(xp.all(defined)):
            return value
        rule = self.leaf_rules[leaf @ ()]
        filled = rule.without_list if leaf.defined_for == "list" else rule.undefined
        return xp.where(defined, value, 0.0 if filled == "zero" else math.nan)

    def _counts(self, block: Block) -> dict[str, Array]:
        """Return what was counted: numbers, or arrays of one number that nobody has read yet."""
        counts = {"tied_rows": block.n_tied_rows, "hits": block.hits.gain.shape[0]}
        if self.compares_scores:
            judged = block.xp.sum(block.n_judged)
            counts["truth_rows_without_score"] = judged - block.judged.user.shape[0]
        return counts | _unknown(block)


def _unknown(block: Block) -> dict[str, Array]:
    """Count recommendations and users of which something is not known that measures use."""
    counts: dict[str, Array] = {}
    xp, rows = block.xp, block.row_sets
    for fact, known in block.facts.items():
        if rows.recommended is None:
            continue
        items = rows.recommended.item
        if isinstance(known, Popularity):
            counts["recommendations_of_cold_items"] = xp.sum(xp.take(known.count, items) == 0)
        elif isinstance(known, Features):
            counts[f"recommendations_without_{fact}"] = xp.sum(~xp.take(known.known, items))
        elif isinstance(known, Categories):
            empty = xp.take(known.signature, items) == 0
            counts[f"recommendations_without_{fact}"] = xp.sum(empty)
    if rows.overlap_history is not None:
        counts["users_without_history"] = xp.sum(rows.overlap_history.length == 0)
    elif rows.history is not None:
        counts["users_without_history"] = xp.sum(block.count_rows(rows.history) == 0)
    if rows.overlap_baseline is not None:
        counts["users_without_baseline"] = xp.sum(rows.overlap_baseline.length == 0)
    return counts


def sums_same_lists(measure: Measure, population: Population, evaluated: Population) -> bool:
    """Whether sums over items are the same for a population as for all evaluated users."""
    sums = [leaf for leaf in Plan((measure,)).leaves if isinstance(leaf, Accumulated)]
    if not sums or population == evaluated:
        return True
    same = _SAME_LISTS[population] == _SAME_LISTS[evaluated]
    return same and not any(leaf.reads_truth for leaf in sums)
