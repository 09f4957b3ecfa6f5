"""The settings, facts and options of a metric, fixed when it is created."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import Any, TypedDict

from rankwise.convention.convention import Convention
from rankwise.core.choices import Population, Relevance, Ties, Undefined, WithoutList
from rankwise.errors import MeasureError, ParameterError
from rankwise.evaluation.plan import Plan
from rankwise.evaluation.read_inputs import read_inputs
from rankwise.evaluation.settings import Settings
from rankwise.evaluation.work import Job, prepare
from rankwise.ranking.axes import Axis
from rankwise.tables.columns import TableRole
from rankwise.tables.table import Tables
from rankwise.torch.fact_tensors import FactTensors, as_source, check_positions, is_by_position, read_facts
from rankwise.torch.ranked import TieOrder

__all__ = ["MetricOptions", "MetricSpec"]


class MetricOptions(TypedDict, total=False):
    """The options of `rankwise.evaluate` that a metric takes."""

    k: int | list[int] | None
    threshold: float | None
    relevance_threshold: float | None
    relevance: Relevance
    convention: str | Convention | None
    population: Population
    undefined: Undefined
    without_list: WithoutList
    ties: Ties | None
    by: str | list[str]
    weights: str | Mapping[Any, float] | None


@dataclass(frozen=True, eq=False)
class MetricSpec:
    """What a metric knows before it sees any list.

    Parameters
    ----------
    settings : Settings
        The measures and options.
    tables : Tables
        The tables that facts come from, and the catalogue.
    items, users : Axis or None
        What the numbers of items and users stand for; None where it is not said.
    by_position : tuple of str
        The tables that were tensors, which name items by position.
    list_length : int or None
        The length at which rankings are cut; None: as long as some measure needs.
    exclude_seen : bool
        Whether training interactions are taken out of the rankings.
    negatives : int or None
        The number of sampled negatives among the candidates of every user, if these are a sample.
    """

    settings: Settings
    tables: Tables
    items: Axis | None
    users: Axis | None
    by_position: tuple[TableRole, ...]
    list_length: int | None
    exclude_seen: bool
    negatives: int | None

    @classmethod
    def read(
        cls,
        measures: Any,
        options: Mapping[str, Any],
        *,
        n_items: int | None,
        item_ids: Any,
        user_ids: Any,
        train: Any,
        items: Any,
        users: Any,
        baseline: Any,
        exclude_seen: bool,
        list_length: int | None,
        negatives: int | None,
    ) -> MetricSpec:
        """Check the options, and read the tables."""
        settings = Settings.read(measures, options, MetricOptions)
        item_ids = None if item_ids is None else list(item_ids)
        if item_ids is not None and n_items not in (None, len(item_ids)):
            raise ParameterError("item_ids has an id for every item", found=f"{len(item_ids)} ids, n_items={n_items}")
        size = n_items if item_ids is None else len(item_ids)
        item_axis = None if size is None else Axis("item", item_ids, size)
        user_ids = None if user_ids is None else list(user_ids)
        user_axis = None if user_ids is None else Axis("user", user_ids, len(user_ids))
        given: dict[TableRole, Any] = {"train": train, "items": items, "users": users, "baseline": baseline}
        by_position = tuple(role for role, value in given.items() if is_by_position(value, role))
        sources: dict[str, Any] = {role: as_source(value, role, item_axis, user_axis) for role, value in given.items()}
        if sources["items"] is None and item_axis is not None:  # the catalogue is every column
            sources["items"] = item_axis.ids.to_frame("item")
        tables = read_inputs(settings, **sources)
        return cls(settings, tables, item_axis, user_axis, by_position, list_length, exclude_seen, negatives)

    def __post_init__(self) -> None:
        if self.exclude_seen and self.tables.train is None:
            raise ParameterError("exclude_seen needs training interactions", hint="pass train=")
        self._check_sample()

    @property
    def lacks_items(self) -> bool:
        """Whether items are counted, have side information or order ties by id, and their number is not known yet."""
        orders_text = self.settings.ties in ("item", "item_desc") and self.settings.ids == "text"
        has_facts = any(fact.kind != "user_group" for fact in self.plan.facts)
        return self.items is None and (self.plan.needs_catalogue or has_facts or self.exclude_seen or orders_text)

    def with_items(self, n_items: int) -> MetricSpec:
        """Return the spec for items that are numbered from 0, as `read` does with their number."""
        axis, tables = Axis("item", None, n_items), self.tables
        if tables.items is None:
            tables = replace(tables, items=read_inputs(self.settings, items=axis.ids.to_frame("item")).items)
        return replace(self, items=axis, tables=tables)

    def with_scored_items(self, n_items: int | None) -> MetricSpec:
        """Return the spec for the items of the first scores.

        Raises
        ------
        ParameterError
            If there is no such number, because the first batch has ready lists or scores of candidates.
        InputError
            If tensors name items by other positions.
        """
        if n_items is None:
            raise ParameterError(
                f"{', '.join(map(str, self.plan.measures))}: items are counted, have side information or order ties "
                "by id, so their number is needed",
                found="a first batch of ready lists, or of scores of candidates, which do not tell it",
                hint="pass n_items=, or item_ids= with the ids of all items; or scores with one column per item first",
            )
        spec = self.with_items(n_items)
        assert spec.items is not None
        for role in self.by_position:
            check_positions(spec.tables.by_role[role], spec.items)
        return spec

    def _check_sample(self) -> None:
        """Raise if a measure counts all candidates, and lists of a sample are cut."""
        if self.negatives is None or self.is_complete:
            return
        for leaf in self.plan.leaves:
            if leaf.counts_candidates:
                raise MeasureError(
                    f"{leaf} counts all items that a user has not seen, and lists of a sample were cut",
                    found=f"list_length={self.list_length}, negatives={self.negatives}",
                    hint="leave list_length out",
                )

    @property
    def n_columns(self) -> int | None:
        """The number of items, and of columns of scores; None if it is not given."""
        return None if self.items is None else len(self.items.ids)

    @property
    def n_items(self) -> int | None:
        """The number of items where something is counted by item, else None."""
        return self.n_columns if self.plan.numbers_items else None

    @cached_property
    def plan(self) -> Plan:
        """The plan for ranked scores."""
        return Plan(self.settings.measures, self.settings.rules, self.settings.by, exact=self.is_complete)

    @cached_property
    def depth(self) -> int | None:
        """The length of ranked lists: the largest cut-off; None: all candidates are ranked."""
        if self.list_length is not None:
            return self.list_length
        leaves = Plan(self.settings.measures).leaves
        if any(leaf.reads_below_k or not leaf.k for leaf in leaves):
            return None
        return max(k for leaf in leaves for k in leaf.k)

    @property
    def is_complete(self) -> bool:
        """Whether scores are ranked to the last candidate."""
        return self.depth is None

    @cached_property
    def top(self) -> int:
        """How many items of a complete ranking some measure looks at one by one."""
        wanted = {"recommended", "overlap_history", "overlap_baseline"}
        leaves = [leaf for leaf in self.plan.leaves if leaf.reads.rows & wanted]
        if any(not leaf.k for leaf in leaves):
            return 2**31
        return max((k for leaf in leaves for k in leaf.k), default=1)

    def job(self, *, from_scores: bool) -> Job:
        """Return the job for ranked scores, or for ready lists, which end where they end."""
        return self._ranking_job if from_scores or not self.is_complete else self._list_job

    @cached_property
    def _ranking_job(self) -> Job:
        settings = replace(self.settings, exact=self.is_complete)
        return prepare(settings, self.tables, complete=self.is_complete)

    @cached_property
    def _list_job(self) -> Job:
        return prepare(self.settings, self.tables)

    @cached_property
    def facts(self) -> FactTensors:
        """What measures need to know, on the processor."""
        listed = Plan(self.settings.measures).needs & {"history", "overlap_history"}
        return read_facts(
            self.job(from_scores=True).facts,
            self.tables,
            self.items,
            self.users,
            history=self.tables.train is not None and (self.exclude_seen or bool(listed)),
            id_type=self.settings.ids,
        )

    def ties(self, *, from_scores: bool) -> Ties:
        """Return how equal scores are ordered; ready lists are in order."""
        return (self.settings.ties or "expected") if from_scores else "input"

    def tie_order(self, facts: FactTensors, *, from_scores: bool = True) -> TieOrder:
        """Return how ties are broken."""
        ties = self.ties(from_scores=from_scores)
        return TieOrder(ties, None if ties == "input" else facts.id_rank)

    @property
    def needs_users(self) -> bool:
        """Whether ``users=`` is required in updates."""
        by_user = ("user_group", "history", "baseline")
        has_facts = any(fact.kind in by_user for fact in self.plan.facts)
        options = self.settings.by or self.settings.weights is not None or self.exclude_seen
        return has_facts or bool(options)

    @cached_property
    def digest(self) -> str:
        """A short hash of everything that can move a number."""
        about = self._ranking_job.about
        parts = [
            *sorted(about.settings.items()),
            *sorted(about.digests.items()),
            self.list_length,
            self.exclude_seen,
            self.negatives,
        ]
        return sha256(repr(parts).encode()).hexdigest()[:16]
