"""Scores from embeddings: products for blocks of users, and shortlists of the top items.

Lists of k items need few of the scores of a large catalogue. A shortlist has the best items of
every user: more than k, so that it shows which items tie with the last. On a GPU, embeddings in
half precision are multiplied by kernels of Triton where this is installed: a matrix of all scores
takes longer to write and to read than to multiply, so only the largest score of every group of
items is kept, and the scores of the groups with the largest are computed again. The top k of a user
are in the k groups with the largest scores. Both kernels round, in other orders; a user for whom
the last score does not lie above all other groups by more than both can be wrong gets the scores of
all items.
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import torch
from torch import Tensor

from rankwise.errors import InputError, ParameterError
from rankwise.messages import parameter
from rankwise.torch.ranked import Scored, TieOrder
from rankwise.torch.user_items import PAD, Rows, check_device, find

CELLS = 1 << 26
"""Scores per block: larger batches are ranked a block of users at a time."""
_SPARE = 8  # items of a shortlist beyond the one that follows the last: items that may tie with it
_GROUP = 32  # items of which one score is kept
_WORTH = 8  # times as many items as a shortlist holds, from which one pays
_WIDEST = 128  # dimensions up to which the tiles of a kernel fit into the memory of every multiprocessor since 2020
_CAPABILITY = 8, 0  # of the first processors that multiply bfloat16

_HALF = (torch.float16, torch.bfloat16)


@dataclass(frozen=True)
class Factors:
    """User and item embeddings, whose products are scores.

    Attributes
    ----------
    users, items : tensor of float, shapes (U, d) and (I, d)
        The embeddings, in the precision of the product.
    bias : tensor of float, shape (I,), or None
        Added to the scores of each item.
    """

    users: Tensor
    items: Tensor
    bias: Tensor | None

    @property
    def shape(self) -> torch.Size:
        """The number of users and of items."""
        return torch.Size((self.users.shape[0], self.items.shape[0]))

    @property
    def device(self) -> torch.device:
        """Where the embeddings are."""
        return self.users.device

    def __getitem__(self, rows: slice) -> Factors:
        return replace(self, users=self.users[rows])

    def pairs(self, rows: Rows) -> Tensor:
        """Return the score of each user and item, shape (n,)."""
        kind = torch.promote_types(self.users.dtype, torch.float32)
        scores = (self.users[rows.row].to(kind) * self.items[rows.item].to(kind)).sum(1)
        return scores if self.bias is None else scores + self.bias[rows.item]

    def product(self) -> Tensor:
        """Return all scores, shape (U, I)."""
        scores = _product(self.users, self.items)
        return scores if self.bias is None else scores + self.bias


def read_factors(
    users: Tensor, items: Tensor, bias: Tensor | None, dtype: torch.dtype | None
) -> Factors:
    """Return embeddings and item biases as ``dtype``; None keeps the type of the embeddings.

    Raises
    ------
    InputError
        If shapes or devices do not fit.
    """
    tensors = [("users", users, 2), ("items", items, 2)]
    tensors += [] if bias is None else [("bias", bias, 1)]
    for name, value, dimensions in tensors:
        device = users.device if isinstance(users, Tensor) else torch.device("cpu")
        check_device(name, value, device, "users")
        if value.ndim != dimensions or value.layout != torch.strided:
            raise InputError(
                f"{name} is a dense tensor of {dimensions} dimensions",
                found=f"shape {tuple(value.shape)}, {value.layout}",
            )
        if not value.dtype.is_floating_point:
            raise InputError(f"{name} holds floats", found=str(value.dtype))
    if users.shape[1] != items.shape[1]:
        raise InputError(
            "embeddings of users and items have different lengths",
            found=f"users {tuple(users.shape)}, items {tuple(items.shape)}",
        )
    if bias is not None and bias.shape[0] != items.shape[0]:
        raise InputError(
            "bias has one value per item", found=f"{bias.shape[0]} values, {items.shape[0]} items"
        )
    kind = torch.promote_types(users.dtype, items.dtype) if dtype is None else dtype
    if kind not in (*_HALF, torch.float32, torch.float64):
        raise ParameterError(
            "dtype is one of float16, bfloat16, float32, float64", found=parameter("dtype", dtype)
        )
    users, items = users.detach().to(kind), items.detach().to(kind)
    of_scores = torch.float32 if kind in _HALF else kind
    return Factors(users, items, None if bias is None else bias.detach().to(of_scores))


def _product(users: Tensor, items: Tensor) -> Tensor:
    """Return the product, (B, I); in float32 for half precision, whose scores would often tie."""
    if users.dtype not in _HALF:
        return users @ items.T
    if users.device.type == "cuda":
        with suppress(TypeError):  # PyTorch before 2.8 knows no other type for the result
            # Tensor cores multiply in half precision and add in float32.
            return torch.mm(users, items.T, out_dtype=torch.float32)
    return users.to(torch.float32) @ items.to(torch.float32).T


@cache
def product_kernels() -> Any:
    """Return the module of kernels; None where Triton is not installed."""
    try:
        from rankwise.torch import triton_products as kernels
    except ImportError:
        return None
    return kernels


@dataclass(frozen=True)
class Shortlist(Scored):
    """The best items of every user, among which is everything that lists of a certain length show.

    Attributes
    ----------
    excluded : Rows or None
        Items that are no candidates; every other item that is not listed is one, further down.
    unbounded : Factors or None
        The embeddings, where a score may be -inf, which excludes the item as well.
    """

    excluded: Rows | None = None
    unbounded: Factors | None = None

    def has_candidates(self, rows: Rows) -> Tensor:
        """Whether each item is a candidate."""
        here = torch.ones_like(rows.item, dtype=torch.bool)
        if self.excluded is not None:
            here = find(self.excluded.key, rows.key) == self.excluded.row.shape[0]
        return here if self.unbounded is None else here & (self.unbounded.pairs(rows) > -torch.inf)


def shortlist_rows(scores: object, depth: int | None) -> int:
    """Return how many users' shortlists are ranked together; 0 if full scores are better."""
    if not isinstance(scores, Factors) or depth is None or scores.shape[1] < _WORTH * _width(depth):
        return 0
    return max(1, CELLS // (8 * _width(depth)))


def shortlist(
    factors: Factors, excluded: Rows | None, depth: int, order: TieOrder
) -> Shortlist | None:
    """Return shortlists for lists of length ``depth``; None if ties at the cut exceed them."""
    width, (size, n_items) = _width(depth), factors.shape
    rounding = _rounding(factors)  # None: the product shows which scores are infinite or no numbers
    kernels = None if rounding is None else _kernels_for(factors, width)
    n_groups = -(-n_items // _GROUP)
    step = max(1, CELLS // (n_items if kernels is None else n_groups + 3 * _GROUP * width))
    starts = range(0, max(1, size), step)
    blocks = [None] * len(starts) if excluded is None else excluded.parts(step)
    tops = []
    for first, rows in zip(starts, blocks, strict=True):
        users = slice(first, first + step)
        if kernels is None or rounding is None:
            tops.append(_top_of_product(factors[users], rows, width))
        else:
            tops.append(_Groups(kernels, factors[users], rows, width).top(rounding[users]))
    scores, items = (torch.cat(columns) for columns in zip(*tops, strict=True))
    if not bool(((scores[:, depth] > scores[:, -1]) | (scores[:, -1] == -torch.inf)).all()):
        return None
    items = torch.where(scores > -torch.inf, items, PAD)
    by_id = torch.argsort(order.of(items), dim=1)
    return Shortlist(
        scores.gather(1, by_id),
        items.gather(1, by_id),
        excluded,
        factors if rounding is None else None,
    )


def _width(depth: int) -> int:
    """Return how many items a shortlist holds."""
    return depth + 1 + _SPARE


def _top_of_product(factors: Factors, excluded: Rows | None, width: int) -> tuple[Tensor, Tensor]:
    scores = factors.product()
    if excluded is not None:
        scores[excluded.row, excluded.item] = -torch.inf
    scores, items = scores.topk(width, dim=1)
    return scores, items


def _kernels_for(factors: Factors, width: int) -> Any:
    """Return the kernels that multiply these embeddings; None: PyTorch does."""
    is_small = factors.users.dtype in _HALF and factors.users.shape[1] <= _WIDEST
    is_large = factors.shape[1] >= _WORTH * _GROUP * width
    return (
        usable_kernels(factors.device)
        if is_small and is_large and factors.device.type == "cuda"
        else None
    )


@cache
def usable_kernels(device: torch.device) -> Any:
    """Return the kernels if the GPU runs them; None, with a warning, if they do not compile."""
    kernels = product_kernels()
    if (
        kernels is None
        or torch.version.hip
        or torch.cuda.get_device_capability(device) < _CAPABILITY
    ):
        return None
    one = torch.ones((1, _WIDEST), dtype=torch.float16, device=device)
    try:
        kernels.largest_of_groups(one, one, None, _GROUP)
    except Exception as error:  # noqa: BLE001 - of Triton, of the C compiler that it needs, of a driver
        reason = f"Triton cannot compile kernels, so rankings from embeddings take longer: {error}"
        warnings.warn(reason, RuntimeWarning, stacklevel=2)
        return None
    return kernels


def _rounding(factors: Factors) -> Tensor | None:
    """Return how far two scores of an item may differ, by user, (U,); None if any is not finite.

    A sum of d products in float32 is off by at most d 2^-24 of the product of both lengths. Tensor
    cores align what they add to the largest term, and cut off the rest: 2^-22 is ample for them.
    """
    users, items = (x.to(torch.float32).norm(dim=1) for x in (factors.users, factors.items))
    product, bias = (
        users * items.max(),
        torch.zeros_like(items) if factors.bias is None else factors.bias.abs(),
    )
    rounding = 2.0**-21 * (factors.users.shape[1] * product + bias.max())
    return rounding if bool(torch.isfinite(2.0**22 * rounding).all()) else None


class _Groups:
    """The largest score of every group of consecutive items, from which users' top is found.

    Parameters
    ----------
    kernels : module
        What multiplies.
    factors : Factors
        The embeddings of some users, and of all items.
    excluded : Rows or None
        Items that are no candidates.
    width : int
        How many items of every user are returned, of which all but the last few are certain.
    """

    def __init__(self, kernels: Any, factors: Factors, excluded: Rows | None, width: int) -> None:
        self.kernels, self.width = kernels, width
        self.arrays = (factors.users.contiguous(), factors.items.contiguous(), factors.bias)
        self.n_groups = -(-factors.shape[1] // _GROUP)
        self.step = max(1, CELLS // factors.shape[1])
        self.keys: Tensor | None = None
        if excluded is not None and len(excluded.row):
            is_new = torch.ones_like(excluded.row)
            is_new[1:] = excluded.key[1:] != excluded.key[:-1]
            groups = excluded.row * self.n_groups + excluded.item // _GROUP
            self.keys, at = torch.unique_consecutive(groups, return_inverse=True)
            self.bits = torch.zeros_like(self.keys).index_add_(
                0, at, is_new << excluded.item % _GROUP
            )

    def top(self, rounding: Tensor) -> tuple[Tensor, Tensor]:
        """Return scores and items of the top, best first, shapes (B, width)."""
        largest = self.kernels.largest_of_groups(*self.arrays, _GROUP)
        if self.keys is not None:
            scores = self._scores(self.keys // self.n_groups, self.keys % self.n_groups)
            largest.view(-1)[self.keys] = scores.amax(1)
        most, groups = largest.topk(self.width + 1, dim=1)
        users = torch.arange(len(groups), device=groups.device)
        scores, items = self._top_among(users, groups[:, :-1])
        bound = most[:, -1]
        is_certain = (scores[:, -1 - _SPARE] > bound + rounding) | (bound == -torch.inf)
        every = torch.arange(self.n_groups, device=groups.device)
        for part in (~is_certain).nonzero()[:, 0].split(self.step):
            scores[part], items[part] = self._top_among(part, every.expand(len(part), -1))
        return scores, items

    def _top_among(self, users: Tensor, groups: Tensor) -> tuple[Tensor, Tensor]:
        """Return the top of the given users among their groups, shape (n, m)."""
        rows = users[:, None].expand_as(groups)
        scores = self._scores(rows.reshape(-1), groups.reshape(-1)).view(
            len(users), groups.shape[1] * _GROUP
        )
        scores, columns = scores.topk(self.width, dim=1)
        return scores, groups.gather(1, columns // _GROUP) * _GROUP + columns % _GROUP

    def _scores(self, rows: Tensor, groups: Tensor) -> Tensor:
        """Return scores by user and item group, -inf for excluded items; shape (n, 32)."""
        bits = None
        if self.keys is not None:
            at = find(self.keys, rows * self.n_groups + groups)
            bits = torch.cat([self.bits, self.bits.new_zeros(1)])[at]
        scores: Tensor = self.kernels.group_scores(*self.arrays, rows, groups, bits, _GROUP)
        return scores
