"""Tensors to rows of users and items.

Whatever form they have (a dense matrix, sparse CSR or COO, padded lists of items), they become
rows of a user of the batch and an item, sorted, so that one search finds which are common to two
sets of rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from rankwise.core.arrays import check_none
from rankwise.errors import DuplicateError, IdError, InputError, RankwiseError, ScoreError

PAD = -1
"""Marks a place of a padded list that holds no item."""
_SPAN = 2**31
"""Keys are row * _SPAN + item: items lie below it."""


@dataclass(frozen=True)
class Rows:
    """Items of a batch of users, in order of user and item.

    Attributes
    ----------
    row, item : tensor of int, shape (n,)
        The position of the user in the batch, and the item.
    value : tensor of float, shape (n,), or None
        The relevance of each; None: all are 1.
    size : int
        The number of users of the batch.
    """

    row: Tensor
    item: Tensor
    value: Tensor | None
    size: int

    @cached_property
    def key(self) -> Tensor:
        """A number for each user and item, ascending."""
        return key_of(self.row, self.item)

    @property
    def gain(self) -> Tensor:
        """The relevance of each item: 1 if relevance is binary."""
        if self.value is not None:
            return self.value
        return torch.ones(self.row.shape[0], dtype=torch.float64, device=self.row.device)

    def parts(self, step: int) -> Iterator[Rows]:
        """Yield the rows of consecutive users, so many at a time, who are numbered anew."""
        if step >= self.size:
            yield self
            return
        starts = range(0, self.size, step)
        firsts = torch.arange(0, self.size, step, device=self.row.device)
        edges = [*torch.searchsorted(self.row, firsts).tolist(), self.row.shape[0]]
        for first, start, stop in zip(starts, edges[:-1], edges[1:], strict=True):
            rows = slice(start, stop)
            value = None if self.value is None else self.value[rows]
            size = min(step, self.size - first)
            yield Rows(self.row[rows] - first, self.item[rows], value, size)

    def together(self, other: Rows) -> Rows:
        """Return the rows of both, without relevances."""
        row, item = torch.cat([self.row, other.row]), torch.cat([self.item, other.item])
        return uncoalesced(row, item, None, self.size)

    def chosen(self, keep: Tensor) -> Rows:
        """Return the rows with the given numbers."""
        value = None if self.value is None else self.value[keep]
        return Rows(self.row[keep], self.item[keep], value, self.size)


def key_of(row: Tensor, item: Tensor) -> Tensor:
    """Return a number for each user and item; padding has one that no item has.

    Items are clamped: what is outside the catalogue is refused later, and must not go astray now.
    """
    return row * _SPAN + item.clamp(-1, _SPAN - 2).bitwise_and(_SPAN - 1)


def list_keys(items: Tensor) -> Tensor:
    """Return the key of every place of padded lists, shape (B, K)."""
    return key_of(torch.arange(items.shape[0], device=items.device)[:, None], items)


def place_of(user: Tensor) -> Tensor:
    """Return the place of every row among the rows of its user, from 1; users ascend."""
    places = torch.arange(1, user.shape[0] + 1, device=user.device)
    return places - torch.searchsorted(user, user)


def find(keys: Tensor, sought: Tensor) -> Tensor:
    """Return the index of each sought key among ascending keys; their number if absent."""
    at = torch.searchsorted(keys, sought)
    if not keys.shape[0]:
        return at
    there = keys[at.clamp(max=keys.shape[0] - 1)] == sought
    return torch.where(there, at, keys.shape[0])


def read_rows(
    values: Tensor,
    name: str,
    *,
    size: int,
    n_items: int | None,
    dense: tuple[int, ...] | None = None,
) -> Rows:
    """Return the rows of a tensor in any of the forms.

    What a sparse matrix stores is a row, also when its value is 0.

    Parameters
    ----------
    values : tensor
        Dense relevance (bool or float, or integers of the shape ``dense``), a sparse CSR or COO
        matrix, lists of items padded with -1, shape (B, T), or one item per user, shape (B,).
    name : str
        What it is, for messages.
    size : int
        The number of users of the batch, B.
    n_items : int or None
        The number of items; None where it is not known.
    dense : tuple of int, optional
        The shape of the scores: whole numbers of this shape are relevances, not items.

    Raises
    ------
    InputError
        If it is none of these.
    """
    _check_form(values, name, size)
    width: int | None = values.shape[-1]
    if _is_sparse(values):
        rows = _from_sparse(values, name)
    elif _holds_relevances(values) or tuple(values.shape) == dense:
        check_relevances(values, name)
        rows = _from_dense(values)
    else:
        lists = (values if values.ndim == 2 else values[:, None]).to(torch.int64)
        row, place = (lists != PAD).nonzero(as_tuple=True)
        rows, width = uncoalesced(row, lists[row, place], None, size), None

    if width is not None and n_items is not None and width != n_items:
        raise InputError(
            f"{name} has one column for each item",
            found=f"{width} columns, {n_items} items",
            hint="lists of item numbers are whole numbers, padded with -1",
        )
    _check(rows, name, n_items)
    return rows


def _is_sparse(values: Tensor) -> bool:
    """Return whether a tensor stores only some of its cells, in CSR or COO."""
    return values.layout in (torch.sparse_csr, torch.sparse_coo)


def _check_form(values: Tensor, name: str, size: int) -> None:
    """Raise unless a tensor has numbers in one of the forms, with a row for each user."""
    is_sparse = _is_sparse(values)
    if values.dtype.is_complex or not (is_sparse or values.layout == torch.strided):
        raise InputError(
            f"{name} is neither a dense tensor of numbers nor CSR or COO",
            found=f"{values.dtype}, {values.layout}",
        )
    if values.shape == (size,) and not is_sparse and _holds_relevances(values):
        raise InputError(
            f"{name}: one item per user is a whole number",
            found=str(values.dtype),
            hint="pass .long()",
        )
    one_each = values.ndim == 1 and not is_sparse
    if values.shape[:1] != (size,) or not (values.ndim == 2 or one_each):
        raise InputError(
            f"{name} has one row for each row of the scores or lists",
            found=f"shape {tuple(values.shape)}, {size} rows of scores or lists",
        )


def uncoalesced(row: Tensor, item: Tensor, value: Tensor | None, size: int) -> Rows:
    """Return rows in any order as sorted rows."""
    order = torch.argsort(key_of(row, item), stable=True)
    return Rows(row[order], item[order], None if value is None else value[order], size)


def check_device(name: str, value: object, device: torch.device, of: str) -> None:
    """Raise unless something is a tensor on a device."""
    if not isinstance(value, Tensor):
        raise InputError(
            f"{name} is not a tensor", found=type(value).__name__, hint="pass torch.as_tensor(…)"
        )
    if value.device != device:
        raise InputError(
            f"{name} and {of} are on different devices",
            found=f"{value.device} and {device}",
            hint="move both to one device: .to(device) works on tensors and on metrics",
        )


def _from_sparse(values: Tensor, name: str) -> Rows:
    if values.layout == torch.sparse_coo:
        if values.sparse_dim() != 2 or values.dense_dim():
            raise InputError(
                f"{name}: a COO tensor has two sparse dimensions, users and items",
                found=f"{values.sparse_dim()} and {values.dense_dim()} dense",
            )
        stored_twice = values._nnz() - values.coalesce()._nnz()
        if stored_twice:
            raise DuplicateError(
                f"{name} names an item twice for one user",
                found=f"{stored_twice} entries of the COO tensor",
                hint="coalesce() adds repeated entries up",
            )
        values = values.coalesce()
        row, item = values.indices()
    else:
        edges = values.crow_indices()
        numbers = torch.arange(values.shape[0], device=values.device)
        item = values.col_indices()
        row = torch.repeat_interleave(numbers, edges.diff(), output_size=item.shape[0])
    stored = values.values()
    row, item = row.to(torch.int64), item.to(torch.int64)
    if stored.dtype == torch.bool and bool(stored.all()):
        return uncoalesced(row, item, None, values.shape[0])
    if stored.dtype.is_floating_point:
        check_relevances(stored, name)
    return uncoalesced(row, item, stored.to(torch.float64), values.shape[0])


def is_matrix(values: Tensor) -> bool:
    """Whether a tensor has one column per item, by its layout or type."""
    return values.layout != torch.strided or _holds_relevances(values)


def is_whole(values: Tensor) -> bool:
    """Whether a tensor holds whole numbers, by its type."""
    return not (_holds_relevances(values) or values.dtype.is_complex)


def _holds_relevances(values: Tensor) -> bool:
    """Whether a dense tensor has a relevance for every item, by its type: not item numbers."""
    return values.dtype == torch.bool or values.dtype.is_floating_point


def _from_dense(values: Tensor) -> Rows:
    if not _holds_relevances(values):
        values = values.to(torch.int64)  # unsigned numbers have few operations
    row, item = _true_cells(values) if values.dtype == torch.bool else values.nonzero(as_tuple=True)
    value = None if values.dtype == torch.bool else values[row, item].to(torch.float64)
    return Rows(row, item, value, values.shape[0])


def _true_cells(values: Tensor) -> tuple[Tensor, ...]:
    """Return rows and columns of true cells, which are few: eight cells are read together."""
    width = values.shape[1]
    if width % 8 or not values.is_contiguous() or values.storage_offset() % 8:
        return values.nonzero(as_tuple=True)
    row, word = values.view(torch.int64).nonzero(as_tuple=True)
    at, bit = values.view(-1, width // 8, 8)[row, word].nonzero(as_tuple=True)
    return row[at], word[at] * 8 + bit


def check_relevances(values: Tensor, name: str) -> None:
    """Refuse relevances that are not finite, and negative whole numbers, which are padding."""
    if values.dtype.is_floating_point:
        check_none(
            ~torch.isfinite(values),
            lambda: ScoreError(
                f"{name} holds a relevance that is NaN or infinite",
                found=f"{int((~torch.isfinite(values)).sum())} such entries",
            ),
        )
    elif values.dtype.is_signed:
        check_none(
            values < 0,
            lambda: ScoreError(
                f"{name} has whole numbers in the shape of the scores, which are relevances, and "
                "some are negative",
                found=f"{int((values < 0).sum())} such entries",
                hint="lists of items need another width than the scores: pad them with one more -1",
            ),
        )


def check_lists(items: Tensor, name: str, n_items: int | None) -> None:
    """Refuse padded lists, shape (B, K), with an item outside the catalogue or twice in a list."""
    most = _SPAN - 1 if n_items is None else n_items
    outside = (items >= most) | (items < PAD)
    ordered = items.sort(dim=1).values
    same = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != PAD)

    def no_item() -> RankwiseError:
        row, place = outside.nonzero()[0].tolist()
        return _no_item(
            f"{name} name",
            f"row {row} of the batch, place {place + 1}",
            int(items[row, place]),
            most,
        )

    def repeated() -> RankwiseError:
        row, place = same.nonzero()[0].tolist()
        return DuplicateError(
            f"{name} name an item twice for one user",
            where=f"row {row} of the batch",
            found=f"item {int(ordered[row, place])} more than once",
            hint="whole numbers are items, best first; pass scores as floats"
            if name == "lists"
            else "drop the repetition: negatives are drawn without replacement",
        )

    check_none(outside, no_item)
    check_none(same, repeated)


def _check(rows: Rows, name: str, n_items: int | None) -> None:
    """Refuse items outside the catalogue, and relevant items that are repeated."""
    most = _SPAN - 1 if n_items is None else n_items

    def outside() -> RankwiseError:
        bad = ((rows.item < 0) | (rows.item >= most)).nonzero()[0, 0]
        return _no_item(
            f"{name} names", f"row {int(rows.row[bad])} of the batch", int(rows.item[bad]), most
        )

    def repeated() -> RankwiseError:
        bad = (rows.key[1:] == rows.key[:-1]).nonzero()[0, 0]
        return DuplicateError(
            f"{name} names an item twice for one user",
            where=f"row {int(rows.row[bad])} of the batch",
            found=f"item {int(rows.item[bad])}",
            hint="whole numbers are items, in scores too: pass relevances and scores as floats; "
            "padding is -1, not 0",
        )

    check_none((rows.item < 0) | (rows.item >= most), outside)
    if name == "target":  # what is excluded twice is excluded
        check_none(rows.key[1:] == rows.key[:-1], repeated)


def _no_item(names: str, where: str, item: int, n_items: int) -> IdError:
    return IdError(
        f"{names} an item outside the catalogue",
        where=where,
        found=f"item {item} of {n_items}",
        hint=f"items are numbers from 0 to {n_items - 1}; {PAD} is padding",
    )
