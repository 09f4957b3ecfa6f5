"""Synchronise processes; users who occur twice, in one process or in several, count once.

``DistributedSampler`` fills up the last batches with users whom another process has as well. Their
rows are removed, and their share of sums and counts is subtracted. Shares can be computed again for
the last update of each process alone, whose lists are kept: that is where such users come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Literal, TypeAlias

import torch
from torch import Tensor

from rankwise.errors import DuplicateError, InputError
from rankwise.torch.ranked import Ranked
from rankwise.torch.user_items import PAD

__all__ = [
    "Gather",
    "RepeatRule",
    "Repeats",
    "States",
    "common_n_items",
    "distinct",
    "gathered",
    "repeated_rows",
    "signatures",
    "without_repeats",
]

RepeatRule: TypeAlias = Literal["error", "first"]

Gather: TypeAlias = Callable[[Tensor], list[Tensor]]
"""Returns a tensor of every process, in the order of processes."""

States: TypeAlias = dict[str, Tensor]
"""``users``, ``columns``, ``signatures`` with a row per list; ``sums``, ``counts``; ``n_items`` if scores tell it."""
_FACTORS = (-7046029254386353131, -4417276706812531889, 1609587929392839161)


@dataclass(frozen=True)
class Repeats:
    """What to do with users who occur twice.

    Attributes
    ----------
    rule : {"error", "first"}
        Whether lists that differ are an error, or the first of them counts.
    n_last : int
        How many of the last rows came in the last update.
    take_back : callable
        Takes rows of the last update, by position; returns what they added to sums and counts.
    """

    rule: RepeatRule
    n_last: int
    take_back: Callable[[Tensor], tuple[Tensor, Tensor]]


def signatures(ranked: Ranked) -> Tensor:
    """Return a number for every list and its ground truth: equal for equal ones, shape (B,)."""
    place = torch.arange(1, ranked.items.shape[1] + 1, device=ranked.items.device)
    lists = _mixed(ranked.items * _FACTORS[0] + place)
    lists = torch.where(ranked.items == PAD, 0, lists).sum(1)
    judged = ranked.judged
    truth = _mixed(judged.rows.item * _FACTORS[1] + judged.rows.gain.view(torch.int64))
    truth = _mixed(truth + judged.first * _FACTORS[0] + judged.last)
    return lists.index_add(0, judged.rows.row, truth)


def _mixed(number: Tensor) -> Tensor:
    number = (number ^ (number >> 29)) * _FACTORS[2]
    return number ^ (number >> 32)


def distinct(ranked: list[Ranked], rule: RepeatRule) -> tuple[list[Ranked], list[Tensor], int]:
    """Return the lists of an update without users who come twice in it.

    Returns
    -------
    ranked : list of Ranked
        The lists.
    signed : list of tensor
        Their signatures.
    n_repeated : int
        How many lists were left out.

    Raises
    ------
    DuplicateError
        If two lists of a user differ.
    """
    signed = [signatures(block) for block in ranked]
    users = torch.cat([block.user for block in ranked])
    keys = torch.stack([users, torch.cat(signed), torch.ones_like(users)], dim=1)
    repeated = repeated_rows(keys, rule)
    n = int(repeated.sum())
    if not n:
        return ranked, signed, 0
    kept = [(~part).nonzero()[:, 0] for part in torch.split(repeated, [block.user.shape[0] for block in ranked])]
    ranked = [block.select(rows) for block, rows in zip(ranked, kept, strict=True)]
    return ranked, [sign[rows] for sign, rows in zip(signed, kept, strict=True)], n


def without_repeats(
    states: States, repeats: Repeats, gather: Gather | None = None, rank: int = 0
) -> tuple[States, int]:
    """Return the states of this process without users who came before, and how many these were.

    Parameters
    ----------
    states : dict of str to tensor
        The states of this process.
    repeats : Repeats
        What to do with such users.
    gather : callable, optional
        Returns a tensor of every process, in a list; None: there is one process.
    rank : int, default=0
        The place of this process in that list.

    Raises
    ------
    DuplicateError
        If their lists differ.
    InputError
        If what they added to sums is not known any more.

    Notes
    -----
    All that raises here depends on what was gathered: all processes raise, or none.
    """
    n = states["users"].shape[0]
    is_last = torch.arange(n, device=states["users"].device) >= n - repeats.n_last
    keys = torch.stack([states["users"], states["signatures"], is_last.to(torch.int64)], dim=1)
    parts = [keys] if gather is None else gather(keys)
    first = sum(part.shape[0] for part in parts[:rank])
    mine = repeated_rows(torch.cat(parts), repeats.rule)[first : first + n]
    rows = mine.nonzero()[:, 0]
    if not len(rows):
        return states, 0
    sums, counts = repeats.take_back(rows - (n - repeats.n_last))
    out = {name: states[name][~mine] for name in ("users", "columns", "signatures")}
    out |= {"sums": states["sums"] - sums, "counts": states["counts"] - counts}
    return states | out, len(rows)


def gathered(states: States, gather: Gather) -> States:
    """Return the states of all processes: rows one after the other, sums added, and their number of items."""
    numbers: States = {}
    if "n_items" in states:  # checked first: sums of different numbers cannot be added
        numbers["n_items"] = torch.full_like(states["n_items"], common_n_items(gather(states["n_items"])))
    rows = {name: torch.cat(gather(states[name])) for name in ("users", "columns", "signatures")}
    sums = {name: reduce(torch.add, gather(states[name])) for name in ("sums", "counts")}
    return rows | sums | numbers


def common_n_items(numbers: Iterable[Tensor]) -> int:
    """Return the number of items of several states; 0 where none knows it.

    Raises
    ------
    InputError
        If two numbers differ.
    """
    sizes = sorted({*map(int, numbers)} - {0})
    if len(sizes) > 1:
        raise InputError(
            "scores of different numbers of items belong to one evaluation",
            found=" and ".join(f"{size} items" for size in sizes),
            hint="evaluate every catalogue with a metric of its own; where scores are of some items, pass n_items= "
            "to the metric, and these items as candidates= to update",
        )
    return max(sizes, default=0)


def repeated_rows(keys: Tensor, rule: RepeatRule) -> Tensor:
    """Return which rows are those of users who have another row that is kept, shape (n,).

    The row that is kept is the first that cannot be taken back, else the first.

    Parameters
    ----------
    keys : tensor of int, shape (n, 3)
        User, signature, and 1 for a list that can be taken back.
    rule : {"error", "first"}
        Whether lists of a user that differ are an error.
    """
    user, signature, is_last = keys.unbind(dim=1)
    order = torch.argsort(is_last, stable=True)
    order = order[torch.argsort(user[order], stable=True)]
    again = torch.zeros_like(user, dtype=torch.bool)
    again[1:] = user[order][1:] == user[order][:-1]
    if not bool(again.any()):
        return again
    heads = torch.where(again, 0, torch.arange(len(user), device=user.device)).cummax(0).values
    differ = again & (signature[order] != signature[order][heads])
    if rule == "error" and bool(differ.any()):
        raise DuplicateError(
            "a user came twice, with different lists or ground truth",
            where=f"user {int(user[order][differ][0])}",
            found=f"{int(differ.sum())} such lists",
            hint="reset() before another epoch is evaluated; give every user once; or pass "
            'repeated_users="first" to count the first list (scores may differ in their last '
            "digits where batches differ in size)",
        )
    lost = again & (is_last[order] == 0)
    if bool(lost.any()):
        raise InputError(
            "a user came again after other updates, and sums and counts hold both lists",
            where=f"user {int(user[order][lost][0])}",
            found=f"{int(lost.sum())} such lists",
            hint="only users of the last update of a process can be taken back; give every user "
            "once, or reset() before evaluating again",
        )
    repeated = torch.zeros_like(again)
    repeated[order] = again
    return repeated
