"""What `update` is given: checked, in one form, and ranked a block of users at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from rankwise.core.arrays import checks_at_end, refuse
from rankwise.errors import DuplicateError, IdError, InputError, ParameterError, RankwiseError
from rankwise.torch.factors import Factors
from rankwise.torch.job import Asked
from rankwise.torch.known import Known
from rankwise.torch.rank_scores import rank_lists, rank_scores
from rankwise.torch.ranked import Ranked
from rankwise.torch.top import cells_of
from rankwise.torch.user_items import PAD, Rows, check_device, find, key_of, read_rows, uncoalesced
from torch import Tensor

__all__ = ["Batch", "block_rows", "read_batch"]

_CELLS = 1 << 26  # scores per block: larger batches are ranked a block of users at a time
_SETS = {"history": ("history", "overlap_history"), "baseline": ("overlap_baseline",)}


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

    def part(self, first: int, last: int) -> Batch:
        """Return consecutive users."""
        rows = slice(first, last)
        scores = None if self.scores is None else self.scores[rows]
        items, mask = (None if x is None else x[rows] for x in (self.items, self.mask))
        if (first, last) == (0, self.size):
            return replace(self, scores=scores)
        exclude = None if self.exclude is None else self.exclude.part(first, last)
        return Batch(self.user[rows], self.has_users, scores, items, mask,
                     self.target.part(first, last), exclude)  # fmt: skip

    def rank(self, asked: Asked, known: Known) -> Ranked:
        """Return the ranked lists."""
        code, needs = known.users.codes(self.user), asked.needs(from_scores=self.scores is not None)
        sets = {name for name in known.sets if needs & {*_SETS[name]}}
        excluded = [] if self.exclude is None else [self.exclude]
        others = {name: known.sets[name].rows_of(code) for name in sets}
        if asked.exclude_seen:
            excluded.append(others.get("history") or known.sets["history"].rows_of(code))
        n_items = None if asked.axis is None else len(asked.axis.ids)
        with checks_at_end():
            if self.scores is None:
                assert self.items is not None
                items = _without(self.items, excluded)
                return rank_lists(self.user, items, self.target, others, n_items)
            return rank_scores(
                self.user, self.masked(excluded), self.items, self.target, others,
                order=asked.order(known), depth=asked.depth, top=asked.top,
            )  # fmt: skip

    def masked(self, excluded: list[Rows]) -> Tensor:
        """Return the scores with -inf for what is no candidate; the scores given stay as they are.

        This is the copy that a block needs; without anything to mask there is none.
        """
        scores = self.scores
        assert isinstance(scores, Tensor)
        if self.mask is not None:
            scores = scores.masked_fill(~self.mask, -torch.inf)
        for rows in excluded:
            if scores is self.scores:
                scores = scores.clone()
            row, column = cells_of(rows, self.items, scores.shape[1])
            scores[row, column] = -torch.inf
        return scores


def block_rows(width: int, block_size: int | None) -> int:
    """Return how many users a block has, whose scores of each are so many."""
    return block_size or max(1, _CELLS // max(1, width))


def read_batch(
    scores: Tensor | Factors, target: Tensor, *, users: Tensor | None, exclude: Tensor | None,
    candidates: Tensor | None, device: torch.device, asked: Asked,
) -> Batch:  # fmt: skip
    """Check what `update` was given.

    Raises
    ------
    InputError
        If shapes or devices do not fit, or an item is unknown.
    """
    given = [("target", target), ("users", users), ("exclude", exclude),
             ("candidates", candidates)]  # fmt: skip
    if not isinstance(scores, Factors):
        given.insert(0, ("scores", scores))
    for name, value in given:
        if isinstance(value, Tensor):
            check_device(name, value, device, "the metric")
        elif value is not None:
            raise InputError(f"{name} is not a tensor", found=type(value).__name__,
                             hint="pass torch.as_tensor(…)")  # fmt: skip
    if isinstance(scores, Tensor):
        scores = _checked_scores(scores)
    else:
        check_device("the embeddings", scores.users, device, "the metric")
    size = scores.shape[0]
    n_items = None if asked.axis is None else len(asked.axis.ids)
    with checks_at_end():
        user = _read_users(users, size, device, asked)
        if isinstance(scores, Tensor) and not scores.dtype.is_floating_point:
            return _read_lists(scores, target, user, users is not None, exclude, candidates, asked)
        items = mask = None
        if candidates is not None:
            items, mask = _read_candidates(candidates, scores, n_items)
        if items is None and n_items is not None and scores.shape[1] != n_items:
            raise InputError(
                "scores have one column for each item",
                found=f"{scores.shape[1]} columns, {n_items} items",
                hint="where scores are of some items, pass these as candidates=",
            )
        if items is None:
            n_items = scores.shape[1]
        aligned = items is not None and target.layout == torch.strided and (
            target.shape == scores.shape
        )  # fmt: skip
        if aligned and items is not None:
            judged = _read_labels(target, items)
        else:
            judged = read_rows(target, "target", size=size, n_items=n_items,
                               dense=tuple(scores.shape))  # fmt: skip
        excluded = None
        if exclude is not None:
            excluded = read_rows(exclude, "exclude", size=size, n_items=n_items,
                                 dense=tuple(scores.shape))  # fmt: skip
        return Batch(user, users is not None, scores, items, mask, judged, excluded)


def _checked_scores(scores: Tensor) -> Tensor:
    """Return scores without gradients; raise unless they are scores or lists by their shape."""
    is_number = not (scores.dtype == torch.bool or scores.dtype.is_complex)
    if scores.ndim != 2 or not is_number or scores.layout != torch.strided:
        raise InputError(
            "scores are floats, one row per user and one column per item; lists are whole numbers, "
            "one row per user, best first",
            found=f"{scores.dtype} of shape {tuple(scores.shape)}",
        )
    return scores.detach()


def _read_lists(
    items: Tensor, target: Tensor, user: Tensor, has_users: bool, exclude: Tensor | None,
    candidates: Tensor | None, asked: Asked,
) -> Batch:  # fmt: skip
    if candidates is not None:
        raise InputError("candidates go with scores", found="ready lists, which are whole numbers",
                         hint="pass scores as floats")  # fmt: skip
    if asked.settings.ties not in (None, "input"):
        raise ParameterError(
            f"ties={asked.settings.ties!r} needs lists that are ordered by score",
            found="ready lists, which are whole numbers", hint="leave ties out, or pass scores",
        )  # fmt: skip
    n_items, size = None if asked.axis is None else len(asked.axis.ids), items.shape[0]
    judged = read_rows(target, "target", size=size, n_items=n_items)
    excluded = None
    if exclude is not None:
        excluded = read_rows(exclude, "exclude", size=size, n_items=n_items)
    return Batch(user, has_users, None, items.to(torch.int64), None, judged, excluded)


def _read_users(users: Tensor | None, size: int, device: torch.device, asked: Asked) -> Tensor:
    if users is None:
        if asked.needs_users:
            raise InputError(
                "something is known or asked of users, so it must be said who they are",
                found="no users", hint="pass users= to update",
            )  # fmt: skip
        return torch.arange(size, device=device)
    if users.shape != (size,) or users.dtype.is_floating_point or users.dtype == torch.bool:
        raise InputError(
            "users are whole numbers, one for each row of the scores or lists",
            found=f"{users.dtype} of shape {tuple(users.shape)}, {size} rows",
        )
    users = users.to(torch.int64)
    if asked.user_ids is not None:
        n_users = len(asked.user_ids)
        outside = (users < 0) | (users >= n_users)
        refuse(
            outside,
            lambda: InputError(
                "users are positions in user_ids", found=f"{int(users[outside][0])} of {n_users}"
            ),
        )
    return users


def _read_candidates(
    candidates: Tensor, scores: Tensor | Factors, n_items: int | None
) -> tuple[Tensor | None, Tensor]:
    """Return the item of every score (None: columns are items), and which are candidates."""
    if candidates.shape != scores.shape:
        raise InputError(
            "candidates have the shape of the scores: which of them count, or the items that they "
            "are of",
            found=f"{tuple(candidates.shape)} and {tuple(scores.shape)}",
        )
    if candidates.dtype == torch.bool:
        return None, candidates
    if candidates.dtype.is_floating_point:
        raise InputError("candidates are bools or whole numbers", found=str(candidates.dtype))
    items = candidates.to(torch.int64)
    most = 2**31 - 1 if n_items is None else n_items
    outside = (items < PAD) | (items >= most)
    refuse(
        outside,
        lambda: IdError(
            "candidates name an item outside the catalogue",
            found=f"item {int(items[outside][0])} of {most}",
        ),
    )
    ordered = items.sort(dim=1).values
    same = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != PAD)

    def repeated() -> RankwiseError:
        row, place = same.nonzero()[0].tolist()
        return DuplicateError(
            "candidates name an item twice for one user", where=f"row {row} of the batch",
            found=f"item {int(ordered[row, place])}", hint="draw negatives without replacement",
        )  # fmt: skip

    refuse(same, repeated)
    return items, items != PAD


def _read_labels(target: Tensor, items: Tensor) -> Rows:
    """Return the ground truth from one label for each candidate."""
    row, column = ((target != 0) & (items != PAD)).nonzero(as_tuple=True)
    value = None if target.dtype == torch.bool else target[row, column].to(torch.float64)
    return uncoalesced(row, items[row, column], value, target.shape[0])


def _without(items: Tensor, excluded: list[Rows]) -> Tensor:
    """Return ready lists with padding for what is excluded."""
    row = torch.arange(items.shape[0], device=items.device)[:, None].expand_as(items)
    for rows in excluded:
        there = find(rows.key, key_of(row, items)) < rows.row.shape[0]
        items = torch.where(there, PAD, items)
    return items
