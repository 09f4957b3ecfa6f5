"""Kernels for half-precision products of embeddings; Triton comes with PyTorch for CUDA.

Scores are never written as a whole: `largest_of_groups` multiplies all users by all items, and
keeps the largest score of every group of consecutive items. `group_scores` computes the scores of
some groups of some users.
"""

from __future__ import annotations

import torch
import triton
from torch import Tensor
from triton import language as tl

_ROWS, _COLUMNS, _WARPS, _STAGES = (
    128,
    64,
    4,
    3,
)  # users and items of a tile; the fastest of ten on an H200
_MINUS_INFINITY = tl.constexpr(float("-inf"))


def largest_of_groups(users: Tensor, items: Tensor, bias: Tensor | None, size: int) -> Tensor:
    """Return the largest score of every group of items.

    Parameters
    ----------
    users, items : tensor of float16 or bfloat16, shapes (U, d) and (I, d)
        The embeddings, contiguous.
    bias : tensor of float32, shape (I,), or None
        Added to the scores of each item.
    size : int
        The items of a group, a power of two up to 128.

    Returns
    -------
    tensor of float32, shape (U, G)
        G is the number of groups; the last may have fewer items.
    """
    n_users, n_groups = len(users), triton.cdiv(len(items), size)
    out = torch.empty((n_users, n_groups), dtype=torch.float32, device=users.device)
    _largest_of_groups[(triton.cdiv(n_users, _ROWS),)](
        users,
        items,
        items if bias is None else bias,
        out,
        n_users,
        len(items),
        n_groups,
        users.shape[1],
        power=_power(users.shape[1]),
        size=size,
        rows=_ROWS,
        columns=_COLUMNS,
        has_bias=bias is not None,
        num_warps=_WARPS,
        num_stages=_STAGES,
    )
    return out


def group_scores(
    users: Tensor,
    items: Tensor,
    bias: Tensor | None,
    rows: Tensor,
    groups: Tensor,
    bits: Tensor | None,
    size: int,
) -> Tensor:
    """Return the scores of groups of items; a score does not depend on the rest of the call.

    Parameters
    ----------
    users, items, bias, size
        As in `largest_of_groups`, with groups of at most 32 items.
    rows, groups : tensor of int, shape (n,)
        The number of a user, and of a group.
    bits : tensor of int, shape (n,), or None
        A bit for each item of the group, of which the lowest is the first: 1 excludes the item.

    Returns
    -------
    tensor of float32, shape (n, size)
        -inf for what is excluded, and after the last item.
    """
    out = torch.empty((len(rows), size), dtype=torch.float32, device=users.device)
    if len(rows):
        _group_scores[(len(rows),)](
            users,
            items,
            items if bias is None else bias,
            *(x.contiguous() for x in (rows, groups, rows if bits is None else bits)),
            out,
            len(items),
            users.shape[1],
            power=_power(users.shape[1]),
            size=size,
            has_bias=bias is not None,
            has_bits=bits is not None,
            num_warps=1,
        )
    return out


def _power(dimensions: int) -> int:
    """Return the power of two that a kernel multiplies, at least the 16 of tensor cores."""
    return max(16, 1 << (dimensions - 1).bit_length())


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _largest_of_groups(
    users: tl.tensor,
    items: tl.tensor,
    bias: tl.tensor,
    out: tl.tensor,
    n_users: tl.tensor,
    n_items: tl.tensor,
    n_groups: tl.tensor,
    dimensions: tl.tensor,
    power: tl.constexpr,
    size: tl.constexpr,
    rows: tl.constexpr,
    columns: tl.constexpr,
    has_bias: tl.constexpr,
) -> None:
    """Go through all items with a tile of users."""
    row = tl.program_id(0).to(tl.int64) * rows + tl.arange(0, rows)
    at = tl.arange(0, power)
    is_user, is_dimension = row < n_users, at < dimensions
    left = tl.load(
        users + row[:, None] * dimensions + at[None, :],
        mask=is_user[:, None] & is_dimension[None, :],
        other=0.0,
    )
    for first in range(0, n_items, columns):
        column = first + tl.arange(0, columns)
        is_item = column < n_items
        right = tl.load(
            items + column[None, :].to(tl.int64) * dimensions + at[:, None],
            mask=is_item[None, :] & is_dimension[:, None],
            other=0.0,
        )
        scores = tl.dot(left, right)
        if has_bias:
            scores += tl.load(bias + column, mask=is_item, other=0.0)[None, :]
        scores = tl.where(is_item[None, :], scores, _MINUS_INFINITY)
        group = first // size + tl.arange(0, columns // size)
        tl.store(
            out + row[:, None] * n_groups + group[None, :],
            tl.max(tl.reshape(scores, (rows, columns // size, size)), axis=2),
            mask=is_user[:, None] & (group < n_groups)[None, :],
        )


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _group_scores(
    users: tl.tensor,
    items: tl.tensor,
    bias: tl.tensor,
    rows: tl.tensor,
    groups: tl.tensor,
    bits: tl.tensor,
    out: tl.tensor,
    n_items: tl.tensor,
    dimensions: tl.tensor,
    power: tl.constexpr,
    size: tl.constexpr,
    has_bias: tl.constexpr,
    has_bits: tl.constexpr,
) -> None:
    """Compute the scores of one group of one user."""
    pair = tl.program_id(0).to(tl.int64)
    at, place = tl.arange(0, power), tl.arange(0, size)
    item = tl.load(groups + pair) * size + place
    is_item, is_dimension = item < n_items, at < dimensions
    left = tl.load(users + tl.load(rows + pair) * dimensions + at, mask=is_dimension, other=0.0)
    right = tl.load(
        items + item[:, None] * dimensions + at[None, :],
        mask=is_item[:, None] & is_dimension[None, :],
        other=0.0,
    )
    scores = tl.sum(right.to(tl.float32) * left.to(tl.float32)[None, :], axis=1)
    if has_bias:
        scores += tl.load(bias + item, mask=is_item, other=0.0)
    if has_bits:
        is_item = is_item & (((tl.load(bits + pair) >> place) & 1) == 0)
    tl.store(out + pair * size + place, tl.where(is_item, scores, _MINUS_INFINITY))
