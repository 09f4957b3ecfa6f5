"""The evaluator: the road in pieces, each piece a partial, merged at the end."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rankwise.arguments import (
    Population,
    check_choice,
    check_number,
    check_population,
    check_positive,
    check_scores,
    ties_for,
)
from rankwise.core.engine import Setting
from rankwise.core.ids import HashCollision
from rankwise.core.lists import Lists, Ties
from rankwise.core.parallel import default_threads
from rankwise.core.partial import Partial
from rankwise.errors import EmptyError, ParameterError
from rankwise.exact import check_exact, check_pieces, lists_of_ranks, no_ranks
from rankwise.io.tables import Table, read_table
from rankwise.knowledge import Knowledge
from rankwise.measures.parsing import parse_all
from rankwise.measures.plan import Plan, Undefined
from rankwise.merging import check_same_settings, check_same_tables
from rankwise.opening import open_split
from rankwise.prepare import (
    Duplicates,
    Vocabularies,
    confirmation,
    make_lists,
    make_truth,
    who_counts,
)
from rankwise.protocol import Protocol
from rankwise.running import run
from rankwise.summary import Asked, summarise
from rankwise.surroundings import Surroundings, make_surroundings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rankwise.core.truth import Truth
    from rankwise.io.columns import Columns, Kind
    from rankwise.measures.parsing import MeasureLike
    from rankwise.result import Result

__all__ = ["Duplicates", "Evaluator", "Population"]


class Evaluator:
    """`rankwise.evaluate` fed in pieces, on one machine or on many.

    All parameters are those of `rankwise.evaluate`, and ``exact``, which says that pieces are
    exact ranks from `rankwise.rank_relevant`. Truth is given once here, or with every piece; either
    way all rows of a user belong in one piece. The result has the same bits as one call over
    everything.

    Examples
    --------
    >>> import rankwise as rw
    >>> truth = {"ann": {1}, "bob": {2}}
    >>> evaluator = rw.Evaluator(["recall@2"], truth=truth)
    >>> evaluator.update({"ann": [1, 3]}).update({"bob": [3, 4]}).result()["recall@2"]
    0.5

    On several machines, with each its users, and merged where the partials meet:

    >>> here = rw.Evaluator(["recall@2"]).update({"ann": [1, 3]}, {"ann": {1}})
    >>> there = rw.Evaluator(["recall@2"]).update({"bob": [3, 4]}, {"bob": {2}})
    >>> here.merge(there).result()["recall@2"]
    0.5
    """

    def __init__(
        self,
        measures: MeasureLike | Iterable[MeasureLike],
        *,
        truth: Any = None,
        train: Any = None,
        items: Any = None,
        users: Any = None,
        baseline: Any = None,
        relevance_threshold: float | None = None,
        population: Population = "truth",
        undefined: Undefined = "skip",
        ties: Ties | None = None,
        duplicates: Duplicates = "error",
        by: str | Sequence[str] = (),
        weights: str | Mapping[Any, float] | None = None,
        columns: Columns | None = None,
        exact: bool = False,
        threads: int | None = None,
        block_size: int | None = None,
        progress: bool | None = None,
    ) -> None:
        check_choice("undefined", undefined, Undefined)
        check_choice("duplicates", duplicates, Duplicates)
        check_choice("ties", "input" if ties is None else ties, Ties)
        check_population(population, users)
        check_number("relevance_threshold", relevance_threshold)
        check_positive(threads=threads, block_size=block_size)
        self._threshold = None if relevance_threshold is None else float(relevance_threshold)
        self._population = population
        self._ties = ties
        self._duplicates: Duplicates = duplicates
        self._columns = columns
        self._threads = threads or default_threads()
        self._block_size = block_size
        self._progress = progress
        truth, train = open_split(truth, train)
        asked = parse_all(measures)
        self._asked = Asked.read(users, by, weights, columns)
        self._plan = Plan(asked, undefined, self._asked.by, exact)
        given: dict[Kind, Any] = {"train": train, "items": items, "baseline": baseline}
        self._tables = {kind: read_table(of, kind, columns) for kind, of in given.items()
                        if of is not None}  # fmt: skip
        if self._asked.users is not None:
            self._tables["users"] = self._asked.users
        if exact:
            check_exact(self._plan, self._tables)
        self._knowledge = Knowledge(self._plan.facts, self._tables, columns)
        self._vocabularies: Vocabularies | None = None
        self._truth_table = None if truth is None else read_table(truth, "truth", columns)
        self._truth: Truth | None = None
        self._truth_tally: Counter[str] = Counter()
        self._parts: list[Partial] = []
        self._around: tuple[tuple[Vocabularies, int, int], Surroundings] | None = None
        self._inputs: dict[str, Table] = {}
        self._ties_used: set[Ties] = set()

    def update(self, recommendations: Any, truth: Any = None) -> Self:
        """Add the lists of some users; with ``truth``, also what is relevant to them.

        Raises
        ------
        InputError
            If the data cannot be evaluated as it is. The evaluator is then as it was before.
        """
        if (truth is None) == (self._truth_table is None):
            raise ParameterError(
                "truth is given once to the Evaluator or with every piece, and only one of these",
                hint="pass truth to Evaluator(…) or to update(…)",
            )
        listed = read_table(recommendations, "recommendations", self._columns)
        if truth is None:
            self._add(listed, self._truth_table, whole_truth=False)
        else:
            self._add(listed, read_table(truth, "truth", self._columns), whole_truth=True)
        return self

    def merge(self, *others: Evaluator | Partial) -> Self:
        """Add what other evaluators, or partials from elsewhere, have worked out."""
        parts: list[Partial] = []
        evaluators = [other for other in others if isinstance(other, Evaluator)]
        for other in others:
            parts += [other] if isinstance(other, Partial) else other._parts
        for evaluator in evaluators:
            check_same_settings(self._settings, evaluator._settings)
            check_same_tables(
                {"truth": self._truth_table, **self._tables},
                {"truth": evaluator._truth_table, **evaluator._tables},
            )
        for part in parts:
            (self._parts or parts)[0].check_protocol(part.protocol)
        self._parts += parts
        for other in evaluators:
            self._truth_tally = self._truth_tally or Counter(other._truth_tally)
            self._knowledge.counts.update(other._knowledge.counts)
            self._inputs = {**other._inputs, **self._inputs}
            self._ties_used |= other._ties_used
        return self

    def partial(self) -> Partial:
        """Return what has been worked out so far, to be sent elsewhere and merged there."""
        if not self._parts:
            raise EmptyError("nothing has been evaluated yet", hint="call update(…) first")
        return self._parts[0].merge(*self._parts[1:])

    def result(self) -> Result:
        """Return the result of everything so far; more may be added afterwards."""
        merged = self.partial()
        if self._truth_table is not None and self._population in ("truth", "all"):
            merged = self._with_unlisted(merged)
        if not len(merged.users) or not (merged.users["list_length"] > 0).any():
            raise EmptyError(
                "no user that counts has a list",
                found=f"{merged.tally.get('lists', 0)} lists, "
                f"{len(merged.users)} users that count (population={self._population!r})",
                hint="do recommendations and truth name users in the same way?",
            )
        return summarise(
            self._plan,
            replace(merged, tally=dict(Counter(merged.tally) + self._truth_tally)),
            inputs=self._inputs,
            asked=self._asked,
            knowledge=self._knowledge,
            settings={
                **self._settings,
                "ties": "+".join(sorted(self._ties_used)),
                "catalogue": "given" if "items" in self._tables else "every item seen",
            },
            protocol=Protocol.read(merged.protocol),
        )

    @property
    def _settings(self) -> dict[str, Any]:
        return {
            "measures": [str(measure) for measure in self._plan.measures],
            "population": self._population,
            "undefined": self._plan.undefined,
            "relevance_threshold": self._threshold,
            "duplicates": self._duplicates,
            "ties": self._ties,
            "by": list(self._asked.by),
            "exact": self._plan.exact,
        }

    def _add(self, listed: Table, truth_table: Table | None, *, whole_truth: bool) -> None:
        assert truth_table is not None
        check_pieces(self._plan, listed, self._threshold)
        ties = ties_for(listed, self._ties)
        check_scores(self._plan, listed)
        # Items whose order and number nobody asks for may be compared by hash.
        numbered = self._plan.numbers_items
        plain = not numbered and not self._plan.facts
        hashed = plain and ties == "input" and self._duplicates == "error"
        for try_hashes in (True, False) if hashed else (False,):
            words, truth = self._vocabularies, self._truth
            if whole_truth or words is None or (words.hashed and not try_hashes):
                words = Vocabularies(
                    [listed, truth_table, *self._coded.values()],
                    count_items=numbered,
                    hashed=try_hashes,
                )
                truth = None
            try:
                self._add_aligned(listed, truth_table, words, truth, ties, whole=whole_truth)
            except HashCollision:
                continue
            break

    def _add_aligned(
        self,
        listed: Table,
        truth_table: Table,
        words: Vocabularies,
        truth: Truth | None,
        ties: Ties,
        *,
        whole: bool,
    ) -> None:
        coded = self._coded
        listed, truth_table, *others = words.align([listed, truth_table, *coded.values()])
        tally: Counter[str] = Counter()
        truth_tally = tally if whole else Counter(self._truth_tally)
        if truth is None:
            truth_tally.clear()
            truth = make_truth(truth_table, words, self._threshold, self._duplicates, truth_tally)
        if self._plan.exact:
            lists = lists_of_ranks(listed, truth_table, words, ties, tally)
        else:
            lists = make_lists(listed, words, ties, self._duplicates, tally, self._threads)
            lists = replace(lists, limit=listed.k)
        tally.update(listed.counts)
        counted = who_counts(self._population, lists, truth, words.users.size, tally)
        around = self._surroundings(words, dict(zip(coded, others, strict=True)))
        setting = Setting(
            lists, truth, counted, ties, self._plan.needs, words.users, words.items,
            self._block_size, confirmation(words, listed, truth_table, lists, truth),
            around.facts, around.history, around.baseline,
        )  # fmt: skip
        missing = np.empty(0, dtype=np.int64)
        if whole and self._population in ("truth", "all"):
            missing = np.setdiff1d(np.flatnonzero(counted), lists.user)
        part = run(
            setting,
            self._plan,
            without_list=missing,
            seen_items=[lists.items, truth.items, *words.train_items],
            tally=tally,
            threads=self._threads,
            progress=self._progress,
        )
        # Only now that all has gone well does the evaluator change.
        part = replace(part, protocol="" if listed.protocol is None else listed.protocol.write())
        (self._parts or [part])[0].check_protocol(part.protocol)
        self._parts.append(part)
        self._vocabularies = words
        if not whole:
            self._truth, self._truth_tally = truth, truth_tally
        self._inputs |= {"recommendations": listed, "truth": truth_table}
        self._ties_used.add(ties)

    @property
    def _coded(self) -> dict[Kind, Table]:
        """The tables beside lists and truth whose ids get codes."""
        coded = self._knowledge.coded
        return {kind: own for kind, own in self._tables.items() if kind in coded or kind == "train"}

    def _surroundings(self, words: Vocabularies, tables: dict[Kind, Table]) -> Surroundings:
        """Turn what is known into codes; once, unless a piece brings ids that are new."""
        if not self._plan.facts:
            return Surroundings({})
        if self._around is None or self._around[0] != (words, words.users.size, words.items.size):
            around = make_surroundings(
                self._knowledge, tables, words, self._duplicates, self._threads
            )
            self._around = (words, words.users.size, words.items.size), around
        return self._around[1]

    def _with_unlisted(self, merged: Partial) -> Partial:
        """Add the users of the truth who never got a list."""
        words, truth, coded = self._vocabularies, self._truth, self._coded
        if words is None or truth is None:  # all pieces came from other evaluators
            words = Vocabularies(
                [self._truth_table, *coded.values()], count_items=self._plan.numbers_items
            )
            table, *_ = words.align([self._truth_table, *coded.values()])
            self._truth_tally = Counter()
            truth = make_truth(table, words, self._threshold, self._duplicates, self._truth_tally)
        codes = truth.user[truth.n_relevant > 0]
        if self._population == "truth" and len(merged.users) == len(codes):
            return merged  # everyone who counts has been seen
        listed = merged.users["user"].implode()
        missing = codes[~words.users.decode(codes).is_in(listed).to_numpy()]
        if not len(missing):
            return merged
        _, *others = words.align([self._truth_table, *coded.values()])
        around = self._surroundings(words, dict(zip(coded, others, strict=True)))
        nobody = no_ranks() if self._plan.exact else Lists.none()
        setting = Setting(
            nobody, truth, np.zeros(0, dtype=bool), "input", self._plan.needs, words.users,
            words.items, None, None, around.facts, around.history, around.baseline,
        )  # fmt: skip
        rest = run(
            setting,
            self._plan,
            without_list=missing,
            seen_items=[truth.items] if self._plan.needs_catalogue else [],
            tally=Counter(),
            threads=1,
            progress=False,
        )
        return merged.merge(replace(rest, protocol=merged.protocol))
