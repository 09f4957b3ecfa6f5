"""What a metric is asked, settled once: the job, its facts, and what its states hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypedDict

import polars as pl

import torch
from rankwise.core.arrays import checks_at_end
from rankwise.core.block import Needs
from rankwise.core.choices import Population, Ties, Undefined
from rankwise.core.measured import Measured
from rankwise.core.partial_columns import ItemColumn
from rankwise.errors import MeasureError, ParameterError
from rankwise.evaluation.plan import Plan
from rankwise.evaluation.settings import Settings
from rankwise.evaluation.work import Job, prepare, read_inputs
from rankwise.ranking.axes import Axis
from rankwise.tables.table import Tables
from rankwise.torch.cut import cut, is_relevant
from rankwise.torch.known import Known, as_source, know
from rankwise.torch.rank_scores import rank_scores
from rankwise.torch.ranked import Order, Ranked
from rankwise.torch.user_items import Rows
from torch import Tensor

__all__ = ["COUNTS", "KINDS", "Asked", "MetricOptions", "Sums"]

KINDS = ("from_scores", "from_lists", "with_users", "without_users", "graded")
COUNTS = ("rows", "lists", "lists_without_relevant_items", "lists_shorter_than_k", "truth_rows",
          "users_repeated", *KINDS)  # fmt: skip
"""What is counted beside what measures count; the last five are lists, by how they were given."""


class MetricOptions(TypedDict, total=False):
    """The options of `rankwise.evaluate` that a metric takes."""

    k: int | list[int] | None
    threshold: float | None
    relevance_threshold: float | None
    population: Population
    undefined: Undefined
    ties: Ties | None
    by: str | list[str]
    weights: str | Mapping[Any, float] | None


@dataclass(frozen=True)
class Sums:
    """What some lists add to the states.

    Attributes
    ----------
    user : tensor of int, shape (B,)
        The users.
    columns : tensor of float, shape (B, n_columns)
        Their values, in the order of `Asked.columns`; NaN for users who are not evaluated.
    items : tensor of int, shape (n_sums, n_items)
        Sums by item, in the order of `Asked.item_sums`.
    counts : tensor of int, shape (n_counts,)
        In the order of `Asked.counts`.
    """

    user: Tensor
    columns: Tensor
    items: Tensor
    counts: Tensor


@dataclass(frozen=True, eq=False)
class Asked:
    """Everything that a metric knows before it sees any list.

    Parameters
    ----------
    settings : Settings
        The measures and options.
    tables : Tables
        The tables that facts come from, and the catalogue.
    axis : Axis or None
        The ids of items, if their number is known.
    list_length : int or None
        The length at which rankings are cut; None: as long as some measure needs.
    user_ids : tuple or None
        What the numbers of users stand for.
    exclude_seen : bool
        Whether training interactions are taken out of the rankings.
    negatives : int or None
        The number of sampled negatives among the candidates of every user, if these are a sample.
    """

    settings: Settings
    tables: Tables
    axis: Axis | None
    list_length: int | None
    user_ids: tuple[Any, ...] | None
    exclude_seen: bool
    negatives: int | None

    @classmethod
    def read(
        cls, measures: Any, options: Mapping[str, Any], *, n_items: int | None, item_ids: Any,
        user_ids: Any, train: Any, items: Any, users: Any, baseline: Any, exclude_seen: bool,
        list_length: int | None, negatives: int | None,
    ) -> Asked:  # fmt: skip
        """Check the options, and read the tables."""
        settings = Settings.read(measures, options, MetricOptions)
        item_ids = None if item_ids is None else list(item_ids)
        if item_ids is not None and n_items not in (None, len(item_ids)):
            raise ParameterError(
                "item_ids has an id for every item",
                found=f"{len(item_ids)} ids, n_items={n_items}",
            )
        size = n_items if item_ids is None else len(item_ids)
        axis = None if size is None else Axis("item", item_ids, size)
        user_ids = None if user_ids is None else tuple(user_ids)
        known_users = None if user_ids is None else pl.Series("user", list(user_ids))
        item_series = None if axis is None else axis.ids
        sources = {
            "train": as_source(train, "train", None),
            "items": as_source(items, "items", item_series),
            "users": as_source(users, "users", known_users),
            "baseline": as_source(baseline, "baseline", None),
        }
        if sources["items"] is None and axis is not None:  # the catalogue is every column
            sources["items"] = axis.ids.to_frame("item")
        tables = read_inputs(settings, **sources)
        return cls(settings, tables, axis, list_length, user_ids, exclude_seen, negatives)

    def __post_init__(self) -> None:
        if self.list_length is not None and self.list_length < 1:
            raise ParameterError("lists have a length of 1 or more",
                                 found=f"list_length={self.list_length}")  # fmt: skip
        if self.exclude_seen and self.tables.train is None:
            raise ParameterError("exclude_seen needs training interactions", hint="pass train=")
        plan = self.plan
        for leaf in plan.leaves if self.negatives is not None and not self.is_complete else ():
            if leaf.counts_candidates:
                raise MeasureError(
                    f"{leaf} counts all items that a user has not seen, and lists of a sample were "
                    "cut",
                    found=f"list_length={self.list_length}, negatives={self.negatives}",
                    hint="leave list_length out",
                )
        known = any(fact.kind != "user_group" for fact in plan.facts)
        if self.axis is None and (plan.needs_catalogue or known or self.exclude_seen):
            raise ParameterError(
                f"{', '.join(map(str, plan.measures))}: items are counted, or something is known "
                "about them, so their number is needed",
                hint="pass n_items=, or item_ids= with the ids of all columns",
            )

    @cached_property
    def plan(self) -> Plan:
        """The plan for complete rankings, which knows most."""
        return Plan(self.settings.measures, self.settings.undefined, self.settings.by,
                    exact=self.is_complete)  # fmt: skip

    @cached_property
    def deepest(self) -> int | None:
        """The largest cut-off; None where a measure looks at the whole ranking."""
        plan = Plan(self.settings.measures)
        if any(leaf.reads_below_k or not leaf.k for leaf in plan.leaves):
            return None
        return max(k for leaf in plan.leaves for k in leaf.k)

    @property
    def depth(self) -> int | None:
        """The length of ranked lists; None: all candidates are ranked."""
        return self.deepest if self.list_length is None else self.list_length

    @property
    def is_complete(self) -> bool:
        """Whether scores are ranked to the last candidate."""
        return self.depth is None

    @cached_property
    def top(self) -> int:
        """How many items of a complete ranking some measure looks at one by one."""
        wanted = {"recommended", "overlap_history", "overlap_baseline"}
        leaves = [leaf for leaf in self.plan.leaves if leaf.requires & wanted]
        if any(not leaf.k for leaf in leaves):
            return 2**31
        return max((k for leaf in leaves for k in leaf.k), default=1)

    @cached_property
    def job(self) -> Job:
        """The job for ranked scores."""
        return self._job(complete=self.is_complete)

    @cached_property
    def list_job(self) -> Job:
        """The job for ready lists, which end where they end."""
        return self._job(complete=False) if self.is_complete else self.job

    def _job(self, *, complete: bool) -> Job:
        settings = replace(self.settings, exact=complete)
        return prepare(settings, self.tables, complete=complete)

    @cached_property
    def known(self) -> Known:
        """The facts, on the processor."""
        return know(self.job.facts, self.tables, self.axis, self.user_ids)

    @property
    def ties(self) -> Ties:
        """How equal scores are ordered."""
        return self.settings.ties or "expected"

    @property
    def n_items(self) -> int:
        """The number of items, where they are counted."""
        return 0 if self.axis is None or not self.plan.numbers_items else len(self.axis.ids)

    @cached_property
    def _empty(self) -> Measured:
        """What measures give for no users: the names of everything."""
        none, scores = torch.zeros(0, dtype=torch.int64), torch.zeros((0, 1))
        rows = Rows(none, none, scores[:, 0].to(torch.float64), 0)
        others = dict.fromkeys(self.known.sets, rows)
        ranked = rank_scores(none, scores, None, rows, others, order=self.order(self.known),
                             depth=self.depth, top=self.top)  # fmt: skip
        return self._measure(ranked, self.known, self.job.plan, from_scores=True)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of the values of users."""
        return tuple(self._empty.columns)

    @cached_property
    def item_sums(self) -> tuple[ItemColumn, ...]:
        """What is summed for items."""
        return tuple(self._empty.item_sums) if self.plan.needs_catalogue else ()

    @cached_property
    def counts(self) -> tuple[str, ...]:
        """What is counted."""
        return (*COUNTS, *self._empty.counts)

    def order(self, known: Known) -> Order:
        """Return how ties are broken."""
        return Order(self.ties, known.id_rank)

    @property
    def needs_users(self) -> bool:
        """Whether it must be known who the users are."""
        by_user = ("user_group", "history", "baseline")
        facts = any(fact.kind in by_user for fact in self.plan.facts)
        options = self.settings.by or self.settings.weights is not None or self.exclude_seen
        return facts or bool(options)

    def needs(self, *, from_scores: bool) -> Needs:
        """Return what blocks must hold."""
        return (self.job if from_scores else self.list_job).plan.needs

    def sums(self, ranked: Ranked, known: Known, *, from_scores: bool, with_users: bool) -> Sums:
        """Measure some lists; users who are not evaluated have no values."""
        plan = (self.job if from_scores else self.list_job).plan
        self._check(plan, ranked, from_scores=from_scores)
        relevant = is_relevant(ranked.judged, self.settings.relevance_threshold)
        zeros = torch.zeros_like(ranked.length)
        n_relevant = zeros.index_add(0, ranked.judged.rows.row, relevant.to(torch.int64))
        has_list, has_relevant = ranked.length > 0, n_relevant > 0
        counted = {
            "truth": has_relevant, "both": has_relevant & has_list, "recommended": has_list,
            "all": has_relevant | has_list,
        }[self.settings.population]  # fmt: skip
        size, short = ranked.user.shape[0], torch.zeros_like(has_list)
        if from_scores and self.depth is not None:
            short = has_list & (ranked.length < self.depth)
        counts = {
            "rows": ranked.length.sum(), "lists": has_list.sum(),
            "lists_without_relevant_items": (has_list & ~has_relevant).sum(),
            "lists_shorter_than_k": short.sum(),
            "truth_rows": ranked.judged.rows.row.shape[0],
            "from_scores" if from_scores else "from_lists": size,
            "with_users" if with_users else "without_users": size,
            "graded": 0 if ranked.judged.rows.value is None else size,
        }  # fmt: skip
        rows = None if bool(counted.all()) else counted.nonzero()[:, 0]
        part = ranked if rows is None else ranked.select(rows)
        measured = self._measure(part, known, plan, from_scores=from_scores)
        counts |= dict(measured.counts)
        values = torch.stack(
            [measured.columns[name].to(torch.float64) for name in self.columns], dim=1
        )
        if rows is not None:
            columns = values.new_full((size, values.shape[1]), torch.nan)
            columns[rows] = values
            values = columns
        items = [measured.item_sums[name] for name in self.item_sums]
        device = ranked.user.device
        return Sums(
            user=ranked.user,
            columns=values,
            items=torch.stack(items) if items else values.new_zeros((0, 0), dtype=torch.int64),
            counts=torch.stack([
                torch.as_tensor(counts.get(name, 0), dtype=torch.int64, device=device)
                for name in self.counts
            ]),
        )  # fmt: skip

    def _check(self, plan: Plan, ranked: Ranked, *, from_scores: bool) -> None:
        """Raise if a measure looks at what these lists do not have."""
        for leaf in plan.leaves:
            if not from_scores and "scores" in leaf.requires:
                raise MeasureError(
                    f"{leaf.name} needs predicted scores", found="lists of items",
                    hint="pass scores to update",
                )  # fmt: skip
            if ranked.cut_in_tie is not None and leaf.reads_below_k:
                raise MeasureError(
                    f"{leaf} cannot tell what ties with the last item of a list from what follows "
                    "it",
                    found=f"list_length={self.list_length}, and scores that tie there",
                    hint="leave list_length out: all candidates are ranked then",
                )

    def _measure(self, ranked: Ranked, known: Known, plan: Plan, *, from_scores: bool) -> Measured:
        order = self.order(known) if from_scores else Order("input", known.id_rank)
        # Measures make arrays without saying where; here they are made beside the lists.
        with torch.device(ranked.user.device), checks_at_end():
            block = cut(
                ranked, code=known.users.codes(ranked.user), needs=plan.needs, order=order,
                facts=known.facts, n_items=self.n_items,
                threshold=self.settings.relevance_threshold,
            )  # fmt: skip
            return plan.measure(block)
