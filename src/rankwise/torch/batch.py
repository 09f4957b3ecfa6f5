"""One batch of scores or lists, ranked in blocks of users under the settings of a metric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from itertools import repeat
from typing import Any, TypeAlias

import torch
from torch import Tensor

from rankwise.blocks.block import Needs
from rankwise.core.arrays import check_none, checks_at_end
from rankwise.errors import InputError, MetricError, ParameterError
from rankwise.evaluation.engine import Job, prepare
from rankwise.evaluation.evaluate import read_inputs
from rankwise.evaluation.plan import Plan
from rankwise.evaluation.settings import AveragingOptions, Settings
from rankwise.messages import mention, parameter
from rankwise.options import ANY_ROW, Ties
from rankwise.ranking.scores import Axis
from rankwise.tables.table import TableRole, Tables
from rankwise.torch.blocks import (
    SideTensors,
    as_source,
    check_positions,
    is_by_position,
    read_facts,
    settle_on_axes,
)
from rankwise.torch.factors import CELLS, Factors, shortlist, shortlist_rows
from rankwise.torch.ranked import Ranked, Scored, TieOrder, cells_of, rank_lists, rank_scores
from rankwise.torch.user_items import (
    PAD,
    Rows,
    check_device,
    check_lists,
    check_relevances,
    find,
    is_matrix,
    is_whole,
    list_keys,
    read_rows,
    uncoalesced,
)


class MetricOptions(AveragingOptions, total=False):
    """The options of `rankwise.evaluate` that a metric takes."""

    k: int | list[int] | None
    ties: Ties | None
    by: str | list[str]
    min_size: int
    weights: str | Mapping[Any, float] | None
    columns: Mapping[str, str | None] | None


@dataclass(frozen=True, eq=False)
class MetricSpec:
    """The settings and tables of a metric, before any list is seen.

    Parameters
    ----------
    settings : Settings
        The metrics and options.
    tables : Tables
        The tables that facts come from, and the catalogue.
    items, users : Axis or None
        What the numbers of items and users stand for; None where it is not said.
    by_position : tuple of str
        The tables that were tensors, which name items by position.
    list_length : int or None
        The length at which rankings are cut; None: as long as some metric needs.
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
        metrics: Any,
        options: Mapping[str, Any],
        raw: Mapping[TableRole, Any],
        *,
        n_items: int | None,
        item_ids: Any,
        user_ids: Any,
        exclude_seen: bool,
        list_length: int | None,
        negatives: int | None,
    ) -> MetricSpec:
        """Check the options, and read the tables from the arguments, ``raw``."""
        settings = Settings.read(metrics, options, MetricOptions)
        item_ids = None if item_ids is None else list(item_ids)
        if item_ids is not None and n_items not in (None, len(item_ids)):
            raise ParameterError(
                "item_ids has an id for every item",
                found=f"{len(item_ids)} ids, {parameter('n_items', n_items)}",
            )
        size = n_items if item_ids is None else len(item_ids)
        item_axis = None if size is None else Axis("item", item_ids, size)
        user_ids = None if user_ids is None else list(user_ids)
        user_axis = None if user_ids is None else Axis("user", user_ids, len(user_ids))
        by_position = tuple(role for role, value in raw.items() if is_by_position(value, role))
        sources: dict[str, Any] = {
            role: as_source(value, role, item_axis, user_axis) for role, value in raw.items()
        }
        if sources["items"] is None and item_axis is not None:  # the catalogue is every column
            sources["items"] = item_axis.ids.to_frame("item")
        tables = settle_on_axes(read_inputs(settings, **sources), item_axis, user_axis)
        return cls(
            settings,
            tables,
            item_axis,
            user_axis,
            by_position,
            list_length,
            exclude_seen,
            negatives,
        )

    def __post_init__(self) -> None:
        if self.exclude_seen and self.tables.train is None:
            raise ParameterError(
                f"{mention('exclude_seen')} needs training interactions",
                hint=f"pass {parameter('train')}",
            )
        self._check_sample()

    @property
    def lacks_items(self) -> bool:
        """Whether a still unknown number of items is needed for counts, facts or tie order."""
        orders_text = self.settings.ties in ("item", "item_desc") and self.settings.ids == "text"
        has_facts = any(fact.kind != "user_group" for fact in self.plan.facts)
        return self.items is None and (
            self.plan.needs_catalogue or has_facts or self.exclude_seen or orders_text
        )

    def with_items(self, n_items: int) -> MetricSpec:
        """Return the spec for items that are numbered from 0, as `read` does with their number."""
        axis, tables = Axis("item", None, n_items), self.tables
        if tables.items is None:
            tables = replace(
                tables,
                items=read_inputs(
                    replace(self.settings, columns=None), items=axis.ids.to_frame("item")
                ).items,
            )
        return replace(self, items=axis, tables=settle_on_axes(tables, axis, self.users))

    def with_scored_items(self, n_items: int | None) -> MetricSpec:
        """Return the spec for the items of the first scores.

        Raises
        ------
        ParameterError
            If there is no such number, because the first batch has ready lists or scores of
            candidates.
        InputError
            If tensors name items by other positions.
        """
        if n_items is None:
            raise ParameterError(
                f"{', '.join(map(str, self.plan.metrics))}: items are counted, have side "
                "information or order ties "
                "by id, so their number is needed",
                found="a first batch of ready lists, or of scores of candidates, which do not tell "
                "it",
                hint=f"pass {parameter('n_items')}, or {parameter('item_ids')} with the ids of "
                "all items; or scores with one "
                "column per item first",
            )
        spec = self.with_items(n_items)
        assert spec.items is not None
        for role in self.by_position:
            check_positions(spec.tables.by_role[role], spec.items)
        return spec

    def _check_sample(self) -> None:
        """Raise if a metric counts all candidates, and lists of a sample are cut."""
        if self.negatives is None or self.is_complete:
            return
        for leaf in self.plan.leaves:
            if leaf.counts_candidates:
                raise MetricError(
                    f"{leaf} counts all items that a user has not seen, and lists of a sample were "
                    "cut",
                    found=f"{parameter('list_length', self.list_length)}, "
                    f"{parameter('negatives', self.negatives)}",
                    hint="leave list_length out",
                )

    @property
    def n_columns(self) -> int | None:
        """The number of items, and of columns of scores; None if not given."""
        return None if self.items is None else len(self.items.ids)

    @property
    def n_items(self) -> int | None:
        """The number of items where something is counted by item, else None."""
        return self.n_columns if self.plan.numbers_items else None

    @cached_property
    def plan(self) -> Plan:
        """The plan for ranked scores."""
        return Plan(
            self.settings.metrics, self.settings.rules, self.settings.by, exact=self.is_complete
        )

    @cached_property
    def depth(self) -> int | None:
        """The length of ranked lists: the largest cut-off; None: all candidates are ranked."""
        if self.list_length is not None:
            return self.list_length
        leaves = Plan(self.settings.metrics).leaves
        if any(leaf.reads_below_k or not leaf.k for leaf in leaves):
            return None
        return max(k for leaf in leaves for k in leaf.k)

    @property
    def is_complete(self) -> bool:
        """Whether scores are ranked to the last candidate."""
        return self.depth is None

    @cached_property
    def top(self) -> int:
        """The number of top items of a complete ranking that metrics read one by one."""
        row_sets = {"recommended", "overlap_history", "overlap_reference"}
        leaves = [leaf for leaf in self.plan.leaves if leaf.reads.rows & row_sets]
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
    def facts(self) -> SideTensors:
        """The side information that metrics need, on the CPU."""
        listed = Plan(self.settings.metrics).needs & {"history", "overlap_history"}
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

    def tie_order(self, facts: SideTensors, *, from_scores: bool = True) -> TieOrder:
        """Return how ties are broken."""
        ties = self.ties(from_scores=from_scores)
        return TieOrder(ties, None if ties == "input" else facts.id_rank)

    @property
    def needs_users(self) -> bool:
        """Whether ``users=`` is required in updates."""
        by_user = ("user_group", "history", "reference")
        has_facts = any(fact.kind in by_user for fact in self.plan.facts)
        options = self.settings.by or self.settings.weights is not None or self.exclude_seen
        return has_facts or bool(options)

    @cached_property
    def described(self) -> dict[str, str]:
        """All settings that can move a number, and a short digest of each table, as text."""
        about = self._ranking_job.about
        tables = {
            role: sha256(repr(digest).encode()).hexdigest()[:12]
            for role, digest in sorted(about.digests.items())
        }
        settings = {
            name: value
            for name, value in sorted(about.settings.items())
            if value not in ("null", "None", "")
        }
        own = {
            "list_length": self.list_length,
            "exclude_seen": self.exclude_seen,
            "negatives": self.negatives,
        }
        return {**settings, **tables, **{name: str(value) for name, value in own.items()}}

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


_READ_BY: dict[str, Needs] = {
    "history": frozenset({"history", "overlap_history"}),
    "reference": frozenset({"overlap_reference"}),
}
"""The sets of items that users have, by what metrics may need of them."""


@dataclass(frozen=True)
class Batch:
    """A batch of users: their scores or lists, and their ground truth.

    Attributes
    ----------
    user : tensor of int, shape (B,)
        The users; numbers from 0 where none are given.
    has_users : bool
        Whether they are given.
    scores : tensor of float or Factors, shape (B, C), or None
        The scores, what makes them, or None for ready lists.
    items : tensor of int, shape (B, C), or None
        Ready lists, or the items that scores are of; None where columns are items.
    mask : tensor of bool, shape (B, C), or None
        Which scores are those of candidates.
    target : Rows
        The ground truth.
    exclude : Rows or None
        Items that are not ranked.
    """

    user: Tensor
    has_users: bool
    scores: Tensor | Factors | None
    items: Tensor | None
    mask: Tensor | None
    target: Rows
    exclude: Rows | None

    @property
    def size(self) -> int:
        """The number of users."""
        return self.user.shape[0]

    @property
    def width(self) -> int:
        """The number of scores or list items of a user."""
        columns = self.items if self.scores is None else self.scores
        assert columns is not None
        return columns.shape[1]

    @property
    def n_items(self) -> int | None:
        """The number of items, if scores cover all items; None for lists and candidates."""
        return None if self.scores is None or self.items is not None else self.scores.shape[1]

    def blocks(self, depth: int | None, block_size: int | None) -> Iterator[Batch]:
        """Yield consecutive users, so many at a time as are given, or as suit lists of a length."""
        return self.parts(block_size or (shortlist_rows(self.scores, depth) or self._rows))

    @property
    def _rows(self) -> int:
        """The number of users with as many scores as a block has."""
        return max(1, CELLS // max(1, self.width))

    def parts(self, step: int) -> Iterator[Batch]:
        """Yield consecutive users, so many at a time."""
        starts = range(0, max(1, self.size), step)  # a part of no users has shapes
        targets = self.target.parts(step)
        excludes = [None] * len(starts) if self.exclude is None else self.exclude.parts(step)
        for first, target, exclude in zip(starts, targets, excludes, strict=True):
            rows = slice(first, first + step)
            scores = None if self.scores is None else self.scores[rows]
            items, mask = (None if x is None else x[rows] for x in (self.items, self.mask))
            yield Batch(self.user[rows], self.has_users, scores, items, mask, target, exclude)

    def rank(self, spec: MetricSpec, facts: SideTensors) -> Iterator[Ranked]:
        """Yield the ranked lists."""
        from_scores, code = self.scores is not None, facts.users.codes(self.user)
        needs = spec.job(from_scores=from_scores).plan.needs
        names = [name for name in facts.user_items if needs & _READ_BY[name]]
        item_sets = {name: facts.user_items[name].rows_of(code) for name in names}
        batch = self
        if spec.exclude_seen:
            seen = item_sets.get("history")
            seen = facts.user_items["history"].rows_of(code) if seen is None else seen
            batch = replace(
                self, exclude=seen if self.exclude is None else self.exclude.together(seen)
            )
        _check_threshold(spec, self.target)
        with checks_at_end():
            if from_scores:
                order = spec.tie_order(facts)
                ranked = [
                    *batch.rank_scores(item_sets, order=order, depth=spec.depth, top=spec.top)
                ]
            else:
                assert self.items is not None
                lists = _without(self.items, batch.exclude)
                of_lists = rank_lists(self.user, lists, self.target, item_sets)
                ranked = [replace(of_lists, n_taken_out=(lists != self.items).sum(1))]
        has_candidates = from_scores and (self.items is not None or self.mask is not None)
        for block in ranked:
            yield replace(block, has_users=self.has_users, has_candidates=has_candidates)

    def rank_scores(
        self, item_sets: dict[str, Rows], *, order: TieOrder, depth: int | None, top: int
    ) -> Iterator[Ranked]:
        """Yield the ranked candidates of the users, in parts where shortlists do not suffice."""
        options: Any = {"order": order, "depth": depth, "top": top}
        scored: Scored | None = None
        if (
            depth is not None
            and isinstance(self.scores, Factors)
            and shortlist_rows(self.scores, depth)
        ):
            scored = shortlist(self.scores, self.exclude, depth, order)
            if scored is None and self.size > self._rows:
                sets = zip(*(rows.parts(self._rows) for rows in item_sets.values()), strict=True)
                for part, rows in zip(
                    self.parts(self._rows), sets if item_sets else repeat(()), strict=False
                ):
                    yield from part.rank_scores(dict(zip(item_sets, rows, strict=True)), **options)
                return
        scored = Scored.of(self._masked(), self.items, order) if scored is None else scored
        yield rank_scores(self.user, scored, self.target, item_sets, **options)

    def _masked(self) -> Tensor:
        """Return a copy of the scores with -inf for items outside the candidate set.

        This is the copy that a block needs; without anything to mask there is none, nor for a
        product of embeddings.
        """
        scores = self.scores
        assert scores is not None
        is_ours = isinstance(scores, Factors)
        if isinstance(scores, Factors):
            scores = scores.product()
        if self.mask is not None:
            scores, is_ours = scores.masked_fill(~self.mask, -torch.inf), True
        if self.exclude is not None:
            scores = scores if is_ours else scores.clone()
            row, column = cells_of(self.exclude, self.items, scores.shape[1])
            scores[row, column] = -torch.inf
        return scores


def _check_threshold(spec: MetricSpec, target: Rows) -> None:
    """Raise if there is a threshold, and the target has no relevances to compare."""
    if spec.settings.relevance_threshold not in (None, ANY_ROW) and target.value is None:
        raise InputError(
            "a relevance threshold needs a target with relevances",
            found="bools, or lists of items",
            hint="leave the threshold out: without relevances every item of the target is relevant",
        )


def _check_precision(target: Tensor, threshold: float | None) -> None:
    """Raise if grades of half precision cannot be compared with the threshold."""
    if threshold is None or not target.dtype.is_floating_point or target.dtype.itemsize > 2:
        return
    if float(torch.tensor(threshold, dtype=target.dtype)) != threshold:
        raise InputError(
            "the relevance threshold is no number of the target's half precision",
            found=f"{parameter('relevance_threshold', threshold)}, target of {target.dtype}",
            hint="keep the target in float32, or take a threshold between two grades",
        )


def read_batch(
    spec: MetricSpec,
    device: torch.device,
    scores: Tensor | Factors,
    target: Tensor,
    users: Tensor | None,
    exclude: Tensor | None,
    candidates: Tensor | None,
) -> Batch:
    """Check the arguments of `update`, and return them as a batch.

    Raises
    ------
    InputError
        If shapes or devices do not fit, or an item is unknown.
    """
    _check_tensors(
        scores, device, target=target, users=users, exclude=exclude, candidates=candidates
    )
    _check_precision(target, spec.settings.relevance_threshold)
    if isinstance(scores, Tensor):
        scores = checked_scores(scores)
    with checks_at_end():
        user = _read_users(users, scores.shape[0], device, spec)
        is_list = isinstance(scores, Tensor) and not scores.dtype.is_floating_point
        read: Any = _read_lists if is_list else _read_scored
        return Batch(user, users is not None, *read(spec, scores, target, exclude, candidates))


def _check_tensors(scores: object, device: torch.device, **rest: Tensor | None) -> None:
    """Raise unless everything is a tensor on the device of the metric."""
    name, value = (
        ("the embeddings", scores.users) if isinstance(scores, Factors) else ("scores", scores)
    )
    check_device(name, value, device, "the metric")
    for name, value in rest.items():
        if name == "users" and value is not None and not isinstance(value, Tensor):
            raise InputError(
                "users is not a tensor",
                found=type(value).__name__,
                hint=f"ids in text: pass them as {parameter('user_ids')}, and positions in these "
                "to update",
            )
        if value is not None or name == "target":
            check_device(name, value, device, "the metric")


_Parts: TypeAlias = tuple[Tensor | Factors | None, Tensor | None, Tensor | None, Rows, Rows | None]
"""The fields of a `Batch` from ``scores`` to ``exclude``."""


def _read_scored(
    spec: MetricSpec,
    scores: Tensor | Factors,
    target: Tensor,
    exclude: Tensor | None,
    candidates: Tensor | None,
) -> _Parts:
    items = mask = None
    if candidates is not None:
        shape = (scores.shape[0], scores.shape[1])
        items, mask = _read_candidates(candidates, shape, spec.n_columns)
    if items is None:
        judged, excluded = _read_of_all_items(spec, scores, target, exclude)
    else:
        judged, excluded = _read_of_some_items(spec, items, target, exclude)
    return scores, items, mask, judged, excluded


def _read_of_all_items(
    spec: MetricSpec, scores: Tensor | Factors, target: Tensor, exclude: Tensor | None
) -> tuple[Rows, Rows | None]:
    """Read ground truth and excluded items beside scores with one column for each item."""
    size, width = shape = (scores.shape[0], scores.shape[1])
    if spec.n_columns not in (None, width):
        raise InputError(
            "scores have one column for each item",
            found=f"{width} columns, {spec.n_columns} items",
            hint=f"where scores are of some items, pass these as {parameter('candidates')}; "
            f"without {parameter('n_items')}, the "
            "first batch tells the number of items",
        )
    judged = read_rows(target, "target", size=size, n_items=width, dense=shape)
    if exclude is None:
        return judged, None
    return judged, read_rows(exclude, "exclude", size=size, n_items=width, dense=shape)


def _read_of_some_items(
    spec: MetricSpec, items: Tensor, target: Tensor, exclude: Tensor | None
) -> tuple[Rows, Rows | None]:
    """Read ground truth and excluded items beside scores of these items, one row per user."""
    size, _ = shape = (items.shape[0], items.shape[1])
    if target.layout == torch.strided and tuple(target.shape) == shape:
        judged = _read_labels(target, items)
    else:
        judged = read_rows(target, "target", size=size, n_items=spec.n_columns, dense=shape)
    if exclude is None:
        return judged, None
    if _marks_candidates(exclude, shape):
        return judged, _read_labels(exclude, items)
    return judged, read_rows(exclude, "exclude", size=size, n_items=spec.n_columns, dense=None)


def checked_scores(scores: Tensor) -> Tensor:
    """Return scores without gradients; raise unless they are scores or lists by their shape."""
    is_number = not (scores.dtype == torch.bool or scores.dtype.is_complex)
    is_matrix = scores.layout == torch.strided and scores.ndim == 2 and scores.shape[1] > 0
    if not is_matrix or not is_number:
        raise InputError(
            "scores are floats, one row per user and one column per item; lists are whole numbers, "
            "one row per user, best first",
            found=f"{scores.dtype} of shape {tuple(scores.shape)}",
        )
    scores = scores.detach()
    # Types of 8 bits are for storage: nothing is computed in them.
    is_small = scores.dtype.is_floating_point and scores.dtype.itemsize == 1
    return scores.to(torch.float32) if is_small else scores


def _read_lists(
    spec: MetricSpec,
    items: Tensor,
    target: Tensor,
    exclude: Tensor | None,
    candidates: Tensor | None,
) -> _Parts:
    if candidates is not None:
        raise InputError(
            "candidates go with scores",
            found="ready lists, which are whole numbers",
            hint="pass scores as floats",
        )
    if spec.settings.ties not in (None, "input") and not spec.settings.ties_if_scored:
        raise ParameterError(
            f"{parameter('ties', spec.settings.ties)} needs lists that are ordered by score",
            found="ready lists, which are whole numbers",
            hint="leave ties out, or pass scores",
        )
    n_items, size = spec.n_columns, items.shape[0]
    if n_items is None and target.ndim == 2 and is_matrix(target):
        n_items = target.shape[1]  # one column per item: lists name no others
    judged = read_rows(target, "target", size=size, n_items=n_items)
    excluded = (
        None if exclude is None else read_rows(exclude, "exclude", size=size, n_items=n_items)
    )
    items = items.to(torch.int64)
    check_lists(items, "lists", n_items)
    return None, items, None, judged, excluded


def _read_users(users: Tensor | None, size: int, device: torch.device, spec: MetricSpec) -> Tensor:
    if users is None:
        if spec.needs_users:
            raise InputError(
                f"a metric or an option needs user data, so {parameter('users')} is required",
                found="no users",
                hint=f"pass {parameter('users')} to update",
            )
        return torch.arange(size, device=device)
    if (
        users.shape != (size,)
        or not is_whole(users)
        or users.dtype == torch.uint64
        or users.layout != torch.strided
    ):
        raise InputError(
            "users are whole numbers, one for each row of the scores or lists",
            found=f"{users.dtype} of shape {tuple(users.shape)}, {size} rows",
        )
    users = users.to(torch.int64)
    if spec.users is not None:
        n_users = len(spec.users.ids)
        outside = (users < 0) | (users >= n_users)
        check_none(
            outside,
            lambda: InputError(
                "users are positions in user_ids", found=f"{int(users[outside][0])} of {n_users}"
            ),
        )
    return users


def _read_candidates(
    candidates: Tensor, shape: tuple[int, int], n_items: int | None
) -> tuple[Tensor | None, Tensor]:
    """Return the item of every score (None: columns are items), and which are candidates."""
    if tuple(candidates.shape) != shape:
        raise InputError(
            "candidates have the shape of the scores: which of them count, or the items that they "
            "are of",
            found=f"{tuple(candidates.shape)} and {shape}",
        )
    if candidates.dtype == torch.bool and candidates.layout == torch.strided:
        return None, candidates
    if not is_whole(candidates) or candidates.layout != torch.strided:
        raise InputError("candidates are bools or whole numbers", found=str(candidates.dtype))
    items = candidates.to(torch.int64)
    check_lists(items, "candidates", n_items)
    return items, items != PAD


def _marks_candidates(values: Tensor, shape: tuple[int, int]) -> bool:
    """Whether a tensor has one mark for each candidate: a bool or a float."""
    return values.layout == torch.strided and tuple(values.shape) == shape and is_matrix(values)


def _read_labels(target: Tensor, items: Tensor) -> Rows:
    """Return the ground truth from one label for each candidate."""
    check_relevances(target, "target")
    row, column = ((target != 0) & (items != PAD)).nonzero(as_tuple=True)
    value = None if target.dtype == torch.bool else target[row, column].to(torch.float64)
    return uncoalesced(row, items[row, column], value, target.shape[0])


def _without(items: Tensor, excluded: Rows | None) -> Tensor:
    """Replace excluded items in ready lists by padding."""
    if excluded is None:
        return items
    return torch.where(find(excluded.key, list_keys(items)) < excluded.row.shape[0], PAD, items)
