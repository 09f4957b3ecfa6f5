"""`rank` and `rank_relevant`: rankings on the device, from scores or from embeddings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch
from torch import Tensor

from rankwise.core.arguments import check_choice, check_positive, described
from rankwise.core.arrays import checks_at_end
from rankwise.errors import InputError, ParameterError
from rankwise.messages import parameter
from rankwise.torch.batch import Batch, checked_scores
from rankwise.torch.factors import Factors, read_factors
from rankwise.torch.ranked import Ranked, TieOrder
from rankwise.torch.user_items import Rows, check_device, read_rows

TieRule: TypeAlias = Literal["item", "item_desc"]
_SHARED = {
    "scores": """\
scores : tensor of float, shape (U, I), optional
    The scores; minus infinity excludes an item from the candidate set.
users, items : tensor of float, shapes (U, d) and (I, d), optional
    Embeddings, instead of scores: scores are their inner products, computed for blocks of users.
bias : tensor of float, shape (I,), optional
    Item biases, added to the products.
exclude : tensor, optional
    Items that are not ranked: a mask of bool, shape (U, I), a sparse CSR or COO matrix, or lists of
    items padded with -1, shape (U, E).""",
    "running": """\
dtype : torch.dtype, optional
    The precision of the product; by default that of the embeddings. In half precision the
    embeddings are rounded, but products are added up and kept in float32, because scores in half
    precision would often tie.
block_size : int, optional
    Users per block; by default as many as have 67 million scores.""",
}


@dataclass(frozen=True)
class TopItems:
    """The top k items of every user.

    Attributes
    ----------
    items : tensor of int, shape (U, k)
        Item positions, best first; -1 after the end of a list.
    scores : tensor of float, shape (U, k)
        Their scores; -inf after the end of a list.
    n_tied : int
        Number of lists with tied scores, within the top k or across its end.
    """

    items: Tensor
    scores: Tensor
    n_tied: int


@dataclass(frozen=True)
class RelevantRanks:
    """The ranks of relevant items among all candidates.

    Attributes
    ----------
    user, item : tensor of int, shape (n,)
        The positions of the user and of the item; rows are sorted by both.
    first, last : tensor of int, shape (n,)
        The first and last rank that the item may have, from 1: equal unless scores tie; 0 if the
        item is not a candidate.
    score : tensor of float, shape (n,)
        The score; NaN if the item is not a candidate.
    n_candidates : tensor of int, shape (U,)
        The number of candidates of each user.
    top : TopItems or None
        The top k, if ``k`` was given.
    """

    user: Tensor
    item: Tensor
    first: Tensor
    last: Tensor
    score: Tensor
    n_candidates: Tensor
    top: TopItems | None

    @property
    def n_tied(self) -> int:
        """Number of relevant items that tie with another candidate."""
        return int((self.last > self.first).sum())


@described(**_SHARED)
def rank(
    scores: Tensor | None = None,
    k: int | None = None,
    *,
    users: Tensor | None = None,
    items: Tensor | None = None,
    bias: Tensor | None = None,
    exclude: Tensor | None = None,
    ties: TieRule = "item",
    dtype: torch.dtype | None = None,
    block_size: int | None = None,
) -> TopItems:
    """Return the top k items of every user, on the device of the scores or embeddings.

    Parameters
    ----------
    %(scores)s
    k : int
        The length of the lists; required.
    ties : {"item", "item_desc"}, default="item"
        Tied scores are ordered by item position, ascending or descending, on every device.
    %(running)s

    Returns
    -------
    TopItems

    Raises
    ------
    InputError
        If shapes or devices do not match, or a score is NaN.

    See Also
    --------
    rank_relevant : Exact ranks of the relevant items.

    Examples
    --------
    >>> import torch
    >>> from rankwise.torch import rank
    >>> users = torch.tensor([[1.0, 0.0]])
    >>> items = torch.tensor([[0.2, 1.0], [0.9, 0.0], [0.9, 1.0]])
    >>> rank(users=users, items=items, k=2).items
    tensor([[1, 2]])
    """
    check_choice("ties", ties, TieRule)
    if k is None:
        raise ParameterError(
            "k, the length of the lists, is required", found="no k", hint="rank(scores, 10)"
        )
    check_positive(k=k, block_size=block_size)
    source = _source(scores, users, items, bias, dtype)
    none = torch.zeros(0, dtype=torch.int64, device=source.device)
    empty = Rows(none, none, None, source.shape[0])
    ranked = _blocks(source, empty, exclude, TieOrder(ties), int(k), int(k), block_size)
    return _top([_top_of(block) for block in ranked])


@described(**_SHARED)
def rank_relevant(
    scores: Tensor | None = None,
    *,
    target: Tensor,
    users: Tensor | None = None,
    items: Tensor | None = None,
    bias: Tensor | None = None,
    exclude: Tensor | None = None,
    k: int | None = None,
    dtype: torch.dtype | None = None,
    block_size: int | None = None,
) -> RelevantRanks:
    """Return the exact rank of every relevant item, by counting the candidates ranked above.

    Parameters
    ----------
    %(scores)s
    target : tensor
        The relevant items, in any form of ``exclude``, or one item per user, shape (U,).
    k : int, optional
        Also return the top k, from the same scores.
    %(running)s

    Returns
    -------
    RelevantRanks

    Raises
    ------
    InputError
        If shapes or devices do not match, or a score is NaN.

    See Also
    --------
    rank : The top k items of every user.

    Examples
    --------
    >>> import torch
    >>> from rankwise.torch import rank_relevant
    >>> scores = torch.tensor([[0.9, 0.1, 0.5, 0.5], [0.2, 0.8, 0.4, 0.0]])
    >>> ranks = rank_relevant(scores, target=torch.tensor([2, 0]))
    >>> ranks.first.tolist(), ranks.last.tolist()
    ([2, 3], [3, 3])
    """
    check_positive(k=k, block_size=block_size)
    source = _source(scores, users, items, bias, dtype)
    check_device("target", target, source.device, "the scores")
    with checks_at_end():
        rows = read_rows(
            target,
            "target",
            size=source.shape[0],
            n_items=source.shape[1],
            dense=tuple(source.shape),
        )
    top = 1 if k is None else int(k)
    blocks, first = [], 0
    for ranked in _blocks(source, rows, exclude, TieOrder("expected"), None, top, block_size):
        judged = ranked.judged
        assert judged.score is not None
        assert ranked.n_candidates is not None
        row = judged.rows.row + first
        parts = (
            row,
            judged.rows.item,
            judged.first,
            judged.last,
            judged.score,
            ranked.n_candidates,
        )
        blocks.append((parts, None if k is None else _top_of(ranked)))
        first += ranked.user.shape[0]
    user, item, low, high, score, n_candidates = (
        torch.cat(column) for column in zip(*(parts for parts, _ in blocks), strict=True)
    )
    tops = [of_block for _, of_block in blocks if of_block is not None]
    return RelevantRanks(user, item, low, high, score, n_candidates, _top(tops) if tops else None)


def _source(
    scores: Tensor | None,
    users: Tensor | None,
    items: Tensor | None,
    bias: Tensor | None,
    dtype: torch.dtype | None,
) -> Tensor | Factors:
    """Return the scores, or the factors that they are computed from."""
    passed = [value is not None for value in (scores, users, items)]
    if passed not in ([True, False, False], [False, True, True]):
        raise ParameterError(
            f"pass either scores, users by items, or the embeddings {parameter('users')} and "
            f"{parameter('items')}"
        )
    if users is not None and items is not None:
        return read_factors(users, items, bias, dtype)
    if bias is not None or dtype is not None:
        raise ParameterError(f"{parameter('bias')} and {parameter('dtype')} go with embeddings")
    if isinstance(scores, Tensor) and scores.dtype.is_floating_point:
        return checked_scores(scores)
    kind = str(scores.dtype) if isinstance(scores, Tensor) else type(scores).__name__
    raise InputError(
        "scores are a tensor of floats, one row per user and one column per item", found=kind
    )


def _blocks(
    source: Tensor | Factors,
    target: Rows,
    exclude: Tensor | None,
    order: TieOrder,
    depth: int | None,
    top: int,
    block_size: int | None,
) -> Iterator[Ranked]:
    """Yield the ranked lists of a block of users at a time."""
    size, n_items = shape = (source.shape[0], source.shape[1])
    excluded = None
    if exclude is not None:
        check_device("exclude", exclude, source.device, "the scores")
        with checks_at_end():
            excluded = read_rows(exclude, "exclude", size=size, n_items=n_items, dense=shape)
    users = torch.arange(size, device=source.device)
    batch = Batch(users, False, source, None, None, target, excluded)
    for part in batch.blocks(depth, block_size):
        with torch.no_grad(), checks_at_end():
            ranked = [*part.rank_scores({}, order=order, depth=depth, top=top)]
        yield from ranked


def _top_of(ranked: Ranked) -> tuple[Tensor, Tensor, Tensor]:
    assert ranked.scores is not None
    scores = ranked.scores
    equal = ((scores[:, 1:] == scores[:, :-1]) & (scores[:, 1:] > -torch.inf)).any(1)
    at_end = torch.zeros_like(equal) if ranked.cut_in_tie is None else ranked.cut_in_tie
    return ranked.items, scores, (equal | at_end).sum()


def _top(blocks: list[tuple[Tensor, Tensor, Tensor]]) -> TopItems:
    items, scores, tied = zip(*blocks, strict=True)
    return TopItems(torch.cat(items), torch.cat(scores), int(torch.stack(tied).sum()))
