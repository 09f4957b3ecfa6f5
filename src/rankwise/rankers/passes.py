"""One pass over the rows of a ranker: prepared once, evaluated for the scores of each round.

The rows of a query are its list and its ground truth, so that nothing has to be matched. What does
not follow from scores is kept: who is evaluated, which rows are relevant, and the ideal lists.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from rankwise.blocks.block import WHOLE_LIST, Block
from rankwise.blocks.encoded import Encoded, MatchedLists, assemble, ideal_of
from rankwise.blocks.lists import Lists, Truth
from rankwise.blocks.matching import Matches, Ranks
from rankwise.blocks.partial import BlockValues
from rankwise.blocks.rank_rows import rank_rows
from rankwise.core.arrays import Array
from rankwise.core.kernels import default_threads, map_threads
from rankwise.core.populations import POPULATIONS
from rankwise.core.ragged import Ints
from rankwise.errors import MetricError
from rankwise.evaluation.engine import Job, partial_of, prepare
from rankwise.evaluation.settings import Settings
from rankwise.evaluation.summary import summarise
from rankwise.metrics.states import UserFrame
from rankwise.metrics.values import finalise, reduce_users
from rankwise.options import Ties
from rankwise.results.result import Result
from rankwise.tables.table import Recommendations, Table, Tables

_FEW = 1 << 18  # rows that no thread is started for
_ROW_SETS = {"ideal", "judged", "relevant", "scores"}
"""The sets of rows that metrics may read: those of judged items, with their scores."""


@dataclass(frozen=True, eq=False, repr=False)
class QueryIds:
    """The ids of queries, by their numbers: the vocabulary of whom lists belong to."""

    ids: pl.Series

    @property
    def size(self) -> int:
        """The number of queries."""
        return len(self.ids)

    def encode(self, numbers: pl.Series, *, threads: int = 1) -> Ints:
        """Return the numbers of queries, which are their codes."""
        return numbers.to_numpy()

    def decode(self, codes: Ints) -> pl.Series:
        """Return the id of each query."""
        return self.ids.gather(pl.Series(codes, dtype=pl.UInt32))

    def sort_keys(self, codes: Ints) -> Ints:
        """Return the codes: queries are in the order in which they come."""
        return codes


@dataclass(frozen=True, eq=False, repr=False)
class _Part:
    """Consecutive queries that one thread evaluates."""

    queries: slice
    number: Ints
    """The number of each query in the block, -1 if it is not evaluated."""
    ideal: Any
    """The ideal lists of the evaluated queries; None if no metric reads them."""


@dataclass(frozen=True, eq=False, repr=False)
class RankerPass:
    """One pass over rows, for metrics of one setting.

    Parameters
    ----------
    settings : Settings
        What is asked.
    truth : Truth
        The rows by query, in the order in which they come.
    table : Table
        The same as a table, by which results are compared.
    ids : QueryIds
        The ids of the queries.
    weights : array of float, shape (U,), or None
        The weight of each query.
    """

    settings: Settings
    truth: Truth
    table: Table
    ids: QueryIds
    weights: Array | None

    def __post_init__(self) -> None:
        for leaf in {leaf for metric in self.settings.metrics for leaf in metric.leaves}:
            if not leaf.reads.rows <= _ROW_SETS or leaf.reads.facts or leaf.reads.catalogue:
                raise MetricError(
                    f"{leaf} reads more than the judged rows of a query",
                    found=str(leaf),
                    hint="evaluate lists with rw.evaluate, which takes items, training and the "
                    "catalogue",
                )

    @cached_property
    def job(self) -> Job:
        """The question, and the ground truth with its digest."""
        return prepare(self.settings, Tables(truth=self.table))

    @cached_property
    def ties(self) -> Ties:
        """How equal scores are ordered."""
        return self.settings.ties or "expected"

    @cached_property
    def evaluated(self) -> Any:
        """Whether each query is evaluated."""
        everyone = np.ones(self.ids.size, dtype=bool)
        return POPULATIONS[self.settings.evaluated].includes(
            relevant=self.truth.n_relevant > 0, listed=everyone, judged=everyone
        )

    @cached_property
    def wanted(self) -> Any:
        """The rows whose ranks are read: relevant ones, or all of evaluated queries."""
        if "judged" in self.job.plan.needs or self.truth.relevant is None:
            return np.ones(len(self.truth.items), dtype=bool)
        return self.truth.relevant

    @cached_property
    def deepest(self) -> int:
        """The lowest rank that counts."""
        return WHOLE_LIST if "judged" in self.job.plan.needs else int(self.job.plan.deepest)

    @cached_property
    def parts(self) -> list[_Part]:
        """The queries of each thread."""
        starts, threads = self.truth.starts, self.settings.threads or default_threads()
        n_parts = max(1, min(threads, int(starts[-1]) // _FEW))
        edges = np.searchsorted(starts, np.linspace(0, starts[-1], n_parts + 1)).tolist()
        edges[0], edges[-1] = 0, self.ids.size
        return [self._part(slice(first, stop)) for first, stop in pairwise(edges) if first < stop]

    def _part(self, queries: slice) -> _Part:
        evaluated = self.evaluated[queries]
        number = np.where(evaluated, np.cumsum(evaluated) - 1, -1)
        groups = np.arange(queries.start, queries.stop)[evaluated]
        reads_ideal = "ideal" in self.job.plan.needs
        return _Part(queries, number, ideal_of(self.truth, groups) if reads_ideal else None)

    def encode(self, scores: Array) -> Encoded:
        """Return scores and ground truth as the engine has them."""
        lists = Lists(
            self.truth.user, self.truth.starts, self.truth.items, scores, has_ties=self._is_open
        )
        return Encoded(
            lists=lists,
            truth=self.truth,
            evaluated=self.evaluated,
            unlisted=np.empty(0, dtype=np.int64),
            ties=self.ties if self._is_open else "input",
            needs=self.job.plan.needs - {"ideal"},
            users=self.ids,
            items=self.ids,
            deepest=int(self.job.plan.deepest),
        )

    @property
    def _is_open(self) -> bool:
        return self.ties in ("expected", "optimistic", "pessimistic")

    def values(self, scores: Array) -> dict[str, float]:
        """Return the value of each metric for finite scores, shape (n,)."""
        columns = self._measure(scores, self.deepest).columns
        weights = None if self.weights is None else self.weights[self.evaluated]
        users = UserFrame(
            pl.DataFrame(columns),
            weights,
            rules=self.settings.rules,
            evaluated=self.settings.evaluated,
        )
        metrics = self.settings.metrics
        totals = reduce_users(metrics, users)
        return finalise(
            metrics, totals, None, group_names={}, catalogue_size=0, rules=self.settings.rules
        )

    def result(self, scores: Array) -> Result:
        """Return the result for finite scores, shape (n,)."""
        encoded, measured = self.encode(scores), self._measure(scores, WHOLE_LIST)
        without = int((self.truth.n_relevant == 0).sum())
        encoded.counts.update(
            rows=len(scores),
            lists=self.ids.size,
            truth_rows=len(scores),
            lists_without_relevant_items=without,
            truth_users_without_relevant_items=without,
        )
        piece = Tables(recommendations=self._lists(scores))
        return summarise(partial_of(self.job, piece, encoded, measured), self.job)

    def _lists(self, scores: Array) -> Recommendations:
        """Return the rows with their scores as a table, for the card of the result."""
        frame = self.table.frame.select("user", "item").with_columns(score=pl.Series(scores))
        columns = {**self.table.columns, "score": "score"}
        del columns["relevance"]
        return Recommendations(frame, "recommendations", "scores", "rows", columns)

    def _measure(self, scores: Array, deepest: int) -> BlockValues:
        """Return the values of every evaluated query."""
        encoded = self.encode(scores)

        def measure(part: _Part) -> BlockValues:
            return self.job.plan.block_values(self._block(encoded, part, deepest))

        threads = self.settings.threads or default_threads()
        return _joined([*map_threads(measure, self.parts, threads)])

    def _block(self, encoded: Encoded, part: _Part, deepest: int) -> Block:
        assert encoded.lists.scores is not None
        starts, queries = self.truth.starts, part.queries
        ranked, n_tied = rank_rows(encoded.lists.scores, starts, self.wanted, deepest, queries)
        rank, tied = ranked.rank, None
        if self.ties == "item_desc":  # rows are numbered, so that the last of a tie comes first
            rank = ranked.first + ranked.last - ranked.rank
        elif self._is_open and n_tied:
            tied = ranked.first, ranked.last

        first_row = int(starts[queries.start])
        matches = Matches(
            ranked.row - first_row,
            ranked.row,
            ranked.group - queries.start,
            np.empty(0, dtype=np.int64),
        )
        if self.ties == "item_desc" and n_tied:
            order = np.lexsort((rank, ranked.group))
            rank, matches = rank[order], matches.take(order)
        ranks = Ranks(None, rank, tied, n_tied if self._is_open else 0)
        lists = encoded.lists.part(queries)
        groups = np.arange(queries.start, queries.stop)
        matched = MatchedLists(lists, groups, matches, ranks, part.number)
        block = assemble(encoded, matched)
        if part.ideal is None:
            return block
        return replace(block, row_sets=replace(block.row_sets, ideal=part.ideal))


def _joined(parts: Sequence[BlockValues]) -> BlockValues:
    """Return the values of consecutive blocks as those of one."""
    if len(parts) == 1:
        return parts[0]
    columns = {
        name: np.concatenate([part.columns[name] for part in parts]) for name in parts[0].columns
    }
    counts = {name: sum(part.counts[name] for part in parts) for name in parts[0].counts}
    users = np.concatenate([part.user for part in parts])
    return BlockValues(user=users, columns=columns, item_sums={}, counts=counts)
