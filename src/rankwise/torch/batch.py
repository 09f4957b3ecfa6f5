"""Read one batch: scores or lists with their ground truth, ranked in blocks of users."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from rankwise.core.arrays import checks_at_end, refuse
from rankwise.core.choices import ANY_ROW
from rankwise.core.row_sets import Needs
from rankwise.errors import InputError, ParameterError
from rankwise.torch.fact_tensors import FactTensors
from rankwise.torch.factors import Factors
from rankwise.torch.rank_scores import rank_lists, rank_scores
from rankwise.torch.ranked import Ranked
from rankwise.torch.spec import MetricSpec
from rankwise.torch.top import cells_of
from rankwise.torch.user_items import (
    PAD,
    Rows,
    check_device,
    check_lists,
    check_relevances,
    find,
    is_matrix,
    list_keys,
    read_rows,
    uncoalesced,
)

__all__ = ["Batch", "block_rows", "checked_scores", "read_batch"]

_CELLS = 1 << 26  # scores per block: larger batches are ranked a block of users at a time
_READ_BY: dict[str, Needs] = {
    "history": frozenset({"history", "overlap_history"}),
    "baseline": frozenset({"overlap_baseline"}),
}
"""The sets of items that users have, by what measures may need of them."""


@dataclass(frozen=True)
class Batch:
    """The scores or the lists of some users, and their ground truth.

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
    is_product : bool
        Whether ``scores`` were made here, of embeddings, and may be written to.
    """

    user: Tensor
    has_users: bool
    scores: Tensor | Factors | None
    items: Tensor | None
    mask: Tensor | None
    target: Rows
    exclude: Rows | None
    is_product: bool = False

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
        """The number of items that scores of all items tell; None for lists and for scores of candidates."""
        return None if self.scores is None or self.items is not None else self.scores.shape[1]

    def parts(self, step: int) -> Iterator[Batch]:
        """Yield consecutive users, so many at a time."""
        starts = range(0, self.size, step)
        targets = self.target.parts(step)
        excludes = [None] * len(starts) if self.exclude is None else self.exclude.parts(step)
        is_product = isinstance(self.scores, Factors)
        for first, target, exclude in zip(starts, targets, excludes, strict=True):
            rows = slice(first, first + step)
            scores = None if self.scores is None else self.scores[rows]
            items, mask = (None if x is None else x[rows] for x in (self.items, self.mask))
            yield Batch(self.user[rows], self.has_users, scores, items, mask, target, exclude, is_product)

    def rank(self, spec: MetricSpec, facts: FactTensors) -> Ranked:
        """Return the ranked lists."""
        from_scores, code = self.scores is not None, facts.users.codes(self.user)
        needs = spec.job(from_scores=from_scores).plan.needs
        names = [name for name in facts.user_items if needs & _READ_BY[name]]
        item_sets = {name: facts.user_items[name].rows_of(code) for name in names}
        excluded = [] if self.exclude is None else [self.exclude]
        if spec.exclude_seen:
            seen = item_sets.get("history")
            excluded.append(facts.user_items["history"].rows_of(code) if seen is None else seen)
        _check_threshold(spec, self.target)
        with checks_at_end():
            if from_scores:
                ranked = rank_scores(
                    self.user,
                    self.masked(excluded),
                    self.items,
                    self.target,
                    item_sets,
                    order=spec.tie_order(facts),
                    depth=spec.depth,
                    top=spec.top,
                )
            else:
                assert self.items is not None
                lists = _without(self.items, excluded)
                ranked = rank_lists(self.user, lists, self.target, item_sets)
                ranked = replace(ranked, n_taken_out=(lists != self.items).sum(1))
        has_candidates = from_scores and (self.items is not None or self.mask is not None)
        return replace(ranked, has_users=self.has_users, has_candidates=has_candidates)

    def masked(self, excluded: list[Rows]) -> Tensor:
        """Return a copy of the scores with -inf for items outside the candidate set.

        This is the copy that a block needs; without anything to mask there is none, nor for a
        product of embeddings.
        """
        scores = self.scores
        assert isinstance(scores, Tensor)
        is_ours = self.is_product
        if self.mask is not None:
            scores, is_ours = scores.masked_fill(~self.mask, -torch.inf), True
        for rows in excluded:
            scores, is_ours = scores if is_ours else scores.clone(), True
            row, column = cells_of(rows, self.items, scores.shape[1])
            scores[row, column] = -torch.inf
        return scores


def _check_threshold(spec: MetricSpec, target: Rows) -> None:
    """Raise if there is a threshold, and no relevance to compare with it."""
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
            found=f"relevance_threshold={threshold}, target of {target.dtype}",
            hint="keep the target in float32, or take a threshold between two grades",
        )


def block_rows(width: int, block_size: int | None) -> int:
    """Return the number of users per block, from the number of scores per user."""
    return block_size or max(1, _CELLS // max(1, width))


def read_batch(
    scores: Tensor | Factors,
    target: Tensor,
    *,
    users: Tensor | None,
    exclude: Tensor | None,
    candidates: Tensor | None,
    device: torch.device,
    spec: MetricSpec,
) -> Batch:
    """Check what `update` was given.

    Raises
    ------
    InputError
        If shapes or devices do not fit, or an item is unknown.
    """
    _check_tensors(scores, device, target=target, users=users, exclude=exclude, candidates=candidates)
    _check_precision(target, spec.settings.relevance_threshold)
    if isinstance(scores, Tensor):
        scores = checked_scores(scores)
    with checks_at_end():
        user = _read_users(users, scores.shape[0], device, spec)
        if isinstance(scores, Tensor) and not scores.dtype.is_floating_point:
            return _read_lists(scores, target, user, users is not None, exclude, candidates, spec)
        return _read_scored(scores, target, user, users is not None, exclude, candidates, spec)


def _check_tensors(scores: object, device: torch.device, **given: Tensor | None) -> None:
    """Raise unless everything is a tensor on the device of the metric."""
    if isinstance(scores, Factors):
        check_device("the embeddings", scores.users, device, "the metric")
        named: dict[str, object] = {**given}
    else:
        named = {"scores": scores, **given}
    for name, value in named.items():
        if name == "users" and value is not None and not isinstance(value, Tensor):
            raise InputError(
                "users is not a tensor",
                found=type(value).__name__,
                hint="ids in text: pass them as user_ids=, and positions in these to update",
            )
        if value is not None or name in ("scores", "target"):
            check_device(name, value, device, "the metric")


def _read_scored(
    scores: Tensor | Factors,
    target: Tensor,
    user: Tensor,
    has_users: bool,
    exclude: Tensor | None,
    candidates: Tensor | None,
    spec: MetricSpec,
) -> Batch:
    items = mask = None
    size, width = shape = (scores.shape[0], scores.shape[1])
    n_items = spec.n_columns
    if candidates is not None:
        items, mask = _read_candidates(candidates, shape, n_items)
    if items is None and n_items not in (None, width):
        raise InputError(
            "scores have one column for each item",
            found=f"{width} columns, {n_items} items",
            hint="where scores are of some items, pass these as candidates=; without n_items=, the first batch tells "
            "the number of items",
        )
    n_items = width if items is None else n_items
    if items is not None and target.layout == torch.strided and tuple(target.shape) == shape:
        judged = _read_labels(target, items)
    else:
        judged = read_rows(target, "target", size=size, n_items=n_items, dense=shape)
    excluded = None
    if exclude is not None and items is not None and _marks_candidates(exclude, shape):
        excluded = _read_labels(exclude, items)
    elif exclude is not None:
        dense = shape if items is None else None
        excluded = read_rows(exclude, "exclude", size=size, n_items=n_items, dense=dense)
    return Batch(user, has_users, scores, items, mask, judged, excluded)


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
    items: Tensor,
    target: Tensor,
    user: Tensor,
    has_users: bool,
    exclude: Tensor | None,
    candidates: Tensor | None,
    spec: MetricSpec,
) -> Batch:
    if candidates is not None:
        raise InputError(
            "candidates go with scores", found="ready lists, which are whole numbers", hint="pass scores as floats"
        )
    if spec.settings.ties not in (None, "input"):
        raise ParameterError(
            f"ties={spec.settings.ties!r} needs lists that are ordered by score",
            found="ready lists, which are whole numbers",
            hint="leave ties out, or pass scores",
        )
    n_items, size = spec.n_columns, items.shape[0]
    if n_items is None and target.ndim == 2 and is_matrix(target):
        n_items = target.shape[1]  # one column per item: lists name no others
    judged = read_rows(target, "target", size=size, n_items=n_items)
    excluded = None
    if exclude is not None:
        excluded = read_rows(exclude, "exclude", size=size, n_items=n_items)
    items = items.to(torch.int64)
    check_lists(items, "lists", n_items)
    return Batch(user, has_users, None, items, None, judged, excluded)


def _read_users(users: Tensor | None, size: int, device: torch.device, spec: MetricSpec) -> Tensor:
    if users is None:
        if spec.needs_users:
            raise InputError(
                "a measure or an option needs user data, so users= is required",
                found="no users",
                hint="pass users= to update",
            )
        return torch.arange(size, device=device)
    is_whole = not (users.dtype.is_floating_point or users.dtype.is_complex)
    is_whole = is_whole and users.dtype not in (torch.bool, torch.uint64)
    if users.shape != (size,) or not is_whole or users.layout != torch.strided:
        raise InputError(
            "users are whole numbers, one for each row of the scores or lists",
            found=f"{users.dtype} of shape {tuple(users.shape)}, {size} rows",
        )
    users = users.to(torch.int64)
    if spec.users is not None:
        n_users = len(spec.users.ids)
        outside = (users < 0) | (users >= n_users)
        refuse(
            outside,
            lambda: InputError("users are positions in user_ids", found=f"{int(users[outside][0])} of {n_users}"),
        )
    return users


def _read_candidates(candidates: Tensor, shape: tuple[int, int], n_items: int | None) -> tuple[Tensor | None, Tensor]:
    """Return the item of every score (None: columns are items), and which are candidates."""
    if tuple(candidates.shape) != shape:
        raise InputError(
            "candidates have the shape of the scores: which of them count, or the items that they are of",
            found=f"{tuple(candidates.shape)} and {shape}",
        )
    if candidates.dtype == torch.bool and candidates.layout == torch.strided:
        return None, candidates
    is_whole = not (candidates.dtype.is_floating_point or candidates.dtype.is_complex)
    if not is_whole or candidates.layout != torch.strided:
        raise InputError("candidates are bools or whole numbers", found=str(candidates.dtype))
    items = candidates.to(torch.int64)
    check_lists(items, "candidates", n_items)
    return items, items != PAD


def _marks_candidates(values: Tensor, shape: tuple[int, int]) -> bool:
    """Whether a tensor has one mark for each candidate: a bool or a float."""
    is_mark = values.dtype == torch.bool or values.dtype.is_floating_point
    return values.layout == torch.strided and tuple(values.shape) == shape and is_mark


def _read_labels(target: Tensor, items: Tensor) -> Rows:
    """Return the ground truth from one label for each candidate."""
    check_relevances(target, "target")
    row, column = ((target != 0) & (items != PAD)).nonzero(as_tuple=True)
    value = None if target.dtype == torch.bool else target[row, column].to(torch.float64)
    return uncoalesced(row, items[row, column], value, target.shape[0])


def _without(items: Tensor, excluded: list[Rows]) -> Tensor:
    """Return ready lists with padding for what is excluded."""
    for rows in excluded:
        there = find(rows.key, list_keys(items)) < rows.row.shape[0]
        items = torch.where(there, PAD, items)
    return items
