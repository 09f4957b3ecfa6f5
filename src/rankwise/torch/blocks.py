"""Ranked lists and side information as blocks, on the device of the lists."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl
import torch
from torch import Tensor

from rankwise.blocks.block import (
    Block,
    Fact,
    Facts,
    Groups,
    Ideal,
    ItemRows,
    JudgedRows,
    Needs,
    Overlap,
    RecommendedRows,
    RowSets,
)
from rankwise.blocks.hits import Hits, expect, resolve
from rankwise.core.arrays import at_least, checks_at_end, count, sum_whole
from rankwise.core.digests import id_words
from rankwise.core.ragged import Ints, UserItems, offsets
from rankwise.encoding.lists import IdSpace
from rankwise.encoding.side_information import SideTables, encode_side_information
from rankwise.errors import IdError, InputError
from rankwise.messages import parameter
from rankwise.options import IdType
from rankwise.ranking.scores import Axis
from rankwise.tables.ids import settle_all
from rankwise.tables.table import Table, TableRole, Tables
from rankwise.torch.ranked import ItemRanks, Ranked, TieOrder
from rankwise.torch.user_items import PAD, Rows, find, is_whole, place_of, read_rows, uncoalesced


@dataclass(frozen=True)
class UserIds:
    """The known users, and the ids that their numbers stand for.

    Attributes
    ----------
    ids : polars.Series
        The ids of the users that tables name, or all ``user_ids``.
    numbers : tensor of int or None
        The same ids, ascending, where users come as ids; None where they come as positions.
    """

    ids: pl.Series
    numbers: Tensor | None

    def codes(self, user: Tensor) -> Tensor:
        """Return the row of each user in user facts; one past the last for an unknown user."""
        size = len(self.ids)
        if self.numbers is None:
            return torch.where((user >= 0) & (user < size), user, size)
        if not size:
            return torch.zeros_like(user)
        at = torch.searchsorted(self.numbers, user).clamp(max=size - 1)
        return torch.where(self.numbers[at] == user, at, size)


@dataclass(frozen=True)
class _UserItems:
    """Items of users by code, in order of users; an unknown user has no items."""

    starts: Tensor
    items: Tensor

    def rows_of(self, code: Tensor) -> Rows:
        """Return the items of the given users; values are their places in the set, from 1."""
        first, lengths = self.starts[code], self.starts[code + 1] - self.starts[code]
        row = torch.repeat_interleave(lengths)
        place = torch.arange(row.shape[0], device=row.device) - (lengths.cumsum(0) - lengths)[row]
        item = self.items[first[row] + place]
        return uncoalesced(row, item, (place + 1).to(torch.float64), code.shape[0])


@dataclass(frozen=True)
class SideTensors:
    """Facts of items and users, and sets of items of users.

    Attributes
    ----------
    by_fact : mapping of Fact to object
        Facts by item and by row of ``users``.
    users : UserIds
        The users that the facts are about.
    user_items : dict of str to object
        The ``"history"`` of users, and the ``"reference"`` lists.
    id_rank : tensor of int or None
        The place of every item among the sorted ids; None where items are in this order.
    counts : dict of str to int
        What was out of the ordinary in the tables.
    item_words, user_words : tensor of int or None, default=None
        The word of every item's and every user's id in digests; None where ids are numbers.
    """

    by_fact: Facts
    users: UserIds
    user_items: Mapping[str, _UserItems]
    id_rank: Tensor | None
    counts: Mapping[str, int]
    item_words: Tensor | None = None
    user_words: Tensor | None = None


def settle_on_axes(tables: Tables, items: Axis | None, users: Axis | None) -> Tables:
    """Return tables whose ids have the types of the ids of rows and columns of tensors."""
    axes: dict[TableRole, Table] = {}
    if users is not None:
        axes["truth"] = Table(users.ids.to_frame("user"), "truth", "user_ids", "ids", {})
    if items is not None:
        axes["predictions"] = Table(items.ids.to_frame("item"), "truth", "item_ids", "ids", {})
    settled = settle_all({**axes, **tables.by_role})
    return tables.with_tables({role: settled[role] for role in tables.by_role})


def read_facts(
    facts: SideTables,
    tables: Tables,
    items: Axis | None,
    users: Axis | None,
    *,
    history: bool,
    id_type: IdType = "typed",
) -> SideTensors:
    """Return the facts that metrics need as tensors.

    ``items`` is None where nothing is known or counted by item, ``users`` where users come as ids;
    ``history`` is whether training histories are needed, and ``id_type`` whether ids order tied
    items as they are or as text.
    """
    user_ids = _users(tables, users)
    user_items, counts = _user_items(facts, tables, items, user_ids, history=history)
    by_fact: dict[Fact[Any], object] = {}
    if items is not None:
        by_fact |= facts.of_items(items.ids, similarities=True)
    for column, groups in facts.of_units(user_ids.ids.to_frame("user")).items():
        fact = Groups.of_users(column)
        by_fact[fact] = replace(groups, code=np.append(groups.code, facts.unknown(fact)))
    id_rank: Any = None
    if items is not None:
        id_rank = items.id_rank if id_type == "typed" else items.text_rank
    words: list[Any] = [
        None if axis is None else id_words(axis.ids).astype(np.int64) for axis in (items, users)
    ]
    arrays = SideTensors(by_fact, user_ids, user_items, id_rank, counts, *words)
    return map_arrays(arrays, _as_tensor)  # type: ignore[no-any-return]


def as_source(value: Any, role: str, items: Axis | None, users: Axis | None) -> Any:
    """Convert facts given as tensors to a source that `rankwise.evaluate` reads.

    Tensors name users and items by position. ``{"features": tensor, "group": tensor}`` has one
    entry per item or user, in order; training interactions are a sparse matrix, users by items, or
    pairs of user and item, shape (n, 2); reference lists have one row per user.
    """
    if isinstance(value, Tensor) and role in ("train", "reference"):
        user, item = _pairs(value.detach().cpu(), role)
        return pl.DataFrame(
            {"user": _ids_of(user, users, "user", role), "item": _ids_of(item, items, "item", role)}
        )
    if isinstance(value, Tensor):
        return value.detach().cpu().numpy()
    if not isinstance(value, Mapping) or not any(isinstance(x, Tensor) for x in value.values()):
        return value
    name, axis = ("user", users) if role == "users" else ("item", items)
    columns = {str(key): _column(column, f"{role}, {key!r}") for key, column in value.items()}
    if name not in columns:
        size = len(next(iter(columns.values())))
        _check_size(size, role, name, axis)
        columns = {name: np.arange(size) if axis is None else axis.ids, **columns}
    return pl.DataFrame(columns)


def is_by_position(value: Any, role: str) -> bool:
    """Return whether a source is tensors that name items by position: pairs, lists or columns."""
    if isinstance(value, Mapping):
        return (
            role == "items"
            and "item" not in value
            and any(isinstance(x, Tensor) for x in value.values())
        )
    return isinstance(value, Tensor) and role in ("train", "reference")


def check_positions(table: Table, items: Axis) -> None:
    """Raise unless the positions in a table from tensors are positions of these items."""
    if table.role == "items":
        _check_size(len(table.frame), "items", "item", items)
    else:
        _ids_of(
            torch.from_numpy(table.frame["item"].to_numpy(writable=True)), items, "item", table.role
        )


def _check_size(size: int, role: str, name: str, axis: Axis | None) -> None:
    """Raise unless columns have one entry per item or user."""
    if axis is not None and len(axis.ids) != size:
        raise InputError(
            f"{role} has one entry per {name}", found=f"{size} entries, {len(axis.ids)} {name}s"
        )


def _pairs(value: Tensor, role: str) -> tuple[Tensor, Tensor]:
    """Return the users and the items of interactions or of lists, by position."""
    if value.layout in (torch.sparse_csr, torch.sparse_coo):
        with checks_at_end():
            rows = read_rows(value, role, size=value.shape[0], n_items=None)
        return rows.row, rows.item
    if value.ndim == 2 and is_whole(value):
        if role == "reference":
            user, place = (value != PAD).nonzero(as_tuple=True)
            return user, value[user, place]
        if value.shape[1] == 2:
            return value[:, 0], value[:, 1]
    what = "lists of items, one row per user" if role == "reference" else "pairs of user and item"
    raise InputError(
        f"{role} as a tensor holds {what}, or it is a sparse matrix",
        found=f"{value.dtype} of shape {tuple(value.shape)}",
    )


def _ids_of(positions: Tensor, axis: Axis | None, name: str, role: str) -> pl.Series:
    """Return the ids that positions stand for."""
    numbers = pl.Series(positions.to(torch.int64).numpy())
    if axis is None:
        return numbers
    outside = numbers.filter((numbers < 0) | (numbers >= len(axis.ids)))
    if len(outside):
        raise IdError(
            f"{role} as a tensor names a {name} by a position that there is not",
            found=f"{outside[0]} of {len(axis.ids)} ({len(outside)} such entries)",
        )
    return axis.ids.gather(numbers)


def _column(values: Any, where: str) -> Any:
    """Return a column of a table; a row of bools becomes the positions of its true values."""
    if not isinstance(values, Tensor):
        return values
    if not values.ndim:
        raise InputError(
            "a column is a tensor with one entry each", where=where, found="a single number"
        )
    array = values.detach().cpu()
    if array.ndim == 2 and array.dtype == torch.bool:
        return [[str(at) for at in row.nonzero()[:, 0].tolist()] for row in array]
    return array.to(torch.float64).numpy() if array.dtype.is_floating_point else array.numpy()


def _users(tables: Tables, users: Axis | None) -> UserIds:
    if users is not None:
        return UserIds(users.ids, None)
    named = [
        t.frame["user"] for t in (tables.train, tables.users, tables.reference) if t is not None
    ]
    for ids in named:
        if not ids.dtype.is_integer():
            raise IdError(
                "users are whole numbers here, and a table names them in text",
                found=repr(ids[0]),
                hint=f"pass {parameter('user_ids')}, what the numbers stand for: "
                f"{parameter('users')} of update are then "
                "positions in it",
            )
    unique_ids = pl.concat([ids.cast(pl.Int64) for ids in named]).unique().sort() if named else None
    unique_ids = pl.Series("user", [], dtype=pl.Int64) if unique_ids is None else unique_ids
    return UserIds(unique_ids, torch.from_numpy(unique_ids.to_numpy(writable=True)))


def _user_items(
    facts: SideTables, tables: Tables, items: Axis | None, users: UserIds, *, history: bool
) -> tuple[dict[str, _UserItems], dict[str, int]]:
    """Return histories and reference lists by row of the known users."""
    kinds = {fact.kind for fact in facts.facts}
    facts_of_users: dict[Fact[Any], str] = {}
    if history or kinds & {"popularity", "similarity", "source"}:  # to count repeated rows
        facts_of_users[Fact("history")] = "exclude_seen"
    if "reference" in kinds:
        facts_of_users[Fact("reference")] = "the reference lists"
    if not facts_of_users or items is None:
        return {}, {}

    needed = SideTables(facts_of_users, {r: t for r, t in tables.by_role.items() if r != "truth"})
    ids = IdSpace([], [needed.tables[role] for role in needed.roles_with_ids], count_items=True)
    context = encode_side_information(needed, ids, "error", 1)
    counts = dict(context.counts)
    item_sets = {"history": context.history if history else None, "reference": context.reference}
    by_row: dict[str, _UserItems] = {}
    for name, sets in item_sets.items():
        if sets is None:
            continue
        user, item = _codes_of(sets, ids, users, items, name)
        matched = (user >= 0) & (item >= 0)
        if not matched.all():
            counts[f"{name}_rows_of_unknown_ids"] = int((~matched).sum())
        by_row[name] = _grouped_by_row(user[matched], item[matched], len(users.ids))
    return by_row, counts


def _codes_of(
    sets: UserItems, ids: IdSpace, users: UserIds, items: Axis, name: str
) -> tuple[Ints, Ints]:
    """Return the rows and the numbers of users and items of all pairs, -1 for unknown ones."""
    lengths = np.diff(sets.starts)
    owners = ids.users.decode(np.flatnonzero(lengths)).alias("user").to_frame()
    rows = Axis("user", users.ids, len(users.ids)).codes(Table(owners, "users", "users", "", {}))
    frame = pl.DataFrame({"item": ids.items.decode(sets.items)})
    return np.repeat(rows, lengths[lengths > 0]), items.codes(Table(frame, "train", name, "", {}))


def _grouped_by_row(user: Ints, item: Ints, n_users: int) -> _UserItems:
    order = np.argsort(user, kind="stable")
    starts = torch.from_numpy(offsets(np.bincount(user, minlength=n_users + 1)))
    return _UserItems(starts, torch.from_numpy(item[order].astype(np.int64)))


def _as_tensor(value: Any) -> Any:
    return torch.from_numpy(np.ascontiguousarray(value)) if isinstance(value, np.ndarray) else value


def map_arrays(value: Any, change: Callable[[Any], Any]) -> Any:
    """Apply a change to all arrays inside a value, and return the new value."""
    if isinstance(value, dict):
        return {key: map_arrays(entry, change) for key, entry in value.items()}
    if is_dataclass(value) and not isinstance(value, Fact | type):
        changed = {f.name: map_arrays(getattr(value, f.name), change) for f in fields(value)}
        return replace(value, **changed)
    return change(value)


_RANK_BOUND = 2**40  # more than any rank


def make_block(
    ranked: Ranked,
    *,
    code: Tensor,
    needs: Needs,
    order: TieOrder,
    facts: Facts,
    n_items: int | None,
    threshold: float | None,
    deepest: int,
) -> Block:
    """Return the block of a set of ranked lists.

    ``code`` is the row of each user in user facts, shape (B,); ``needs`` is what the block must
    hold beyond hits; ``n_items`` is None where nothing is counted by item; ``threshold`` is the
    minimum relevance of a relevant item; ``deepest`` is the lowest rank at which a hit counts.
    """
    judged, size = ranked.judged, ranked.user.shape[0]
    relevant = is_relevant(judged, threshold)

    def overlap(name: Literal["history", "reference"]) -> Overlap | None:
        needed = f"overlap_{name}" in needs
        return _overlap(ranked, ranked.item_sets[name], judged, relevant) if needed else None

    hit = relevant & (judged.first > 0)
    return Block(
        list_length=ranked.length,
        n_candidates=ranked.n_candidates,
        n_relevant=sum_whole(judged.rows.row, relevant, size),
        n_judged=count(judged.rows.row, size),
        n_dropped=torch.zeros_like(ranked.length),
        user=code,
        hits=_hits(ranked, judged, hit & (judged.first <= deepest), order),
        n_item_codes=n_items,
        ties=order.ties,
        row_sets=RowSets(
            ideal=_ideal(judged, relevant) if "ideal" in needs else None,
            judged=_judged(ranked, relevant, order) if "judged" in needs else None,
            recommended=_recommended(ranked, relevant) if "recommended" in needs else None,
            relevant=_items(judged, relevant) if "relevant" in needs else None,
            history=_items(ranked.item_sets["history"]) if "history" in needs else None,
            overlap_history=overlap("history"),
            overlap_reference=overlap("reference"),
        ),
        n_tied_rows=0 if ranked.n_tied is None else ranked.n_tied.sum(),
        n_hits=hit.sum(),
        facts=facts,
        limit=ranked.limit,
    )


def is_relevant(judged: ItemRanks, threshold: float | None) -> Tensor:
    """Return which rows of the ground truth are relevant."""
    value = judged.rows.value
    if value is None:
        return torch.ones_like(judged.rows.row, dtype=torch.bool)
    relevant: Tensor = value > 0 if threshold is None else at_least(value, threshold)
    return relevant


def _by_rank(ranks: ItemRanks, rows: Tensor, order: TieOrder) -> Tensor:
    """Return rows in order of user and rank; equal ranks in the order that breaks ties."""
    if not order.is_by_number:
        rows = rows[torch.argsort(order.of(ranks.rows.item[rows]), stable=True)]
    key = ranks.rows.row[rows] * _RANK_BOUND + ranks.first[rows]
    return rows[torch.argsort(key, stable=True)]


def _hits(ranked: Ranked, judged: ItemRanks, chosen: Tensor, order: TieOrder) -> Hits:
    rows = _by_rank(judged, chosen.nonzero()[:, 0], order)
    user, item, gain = (x[rows] for x in (judged.rows.row, judged.rows.item, judged.rows.gain))
    rank, last = judged.first[rows], judged.last[rows]
    if ranked.has_ties and order.ties == "expected":
        return expect(user, gain, item, rank, last, limit=ranked.limit)
    if ranked.has_ties:
        rank, gain, item = resolve(user, gain, item, rank, last, order.ties)
    ones = torch.ones(user.shape[0], dtype=torch.float64, device=user.device)
    return Hits(user, rank, ones, place_of(user).to(torch.float64), gain, item)


def _ideal(judged: ItemRanks, relevant: Tensor) -> Ideal | Literal["ones"]:
    if judged.rows.value is None:
        return "ones"
    rows = relevant.nonzero()[:, 0]
    rows = rows[torch.argsort(-judged.rows.value[rows], stable=True)]
    rows = rows[torch.argsort(judged.rows.row[rows], stable=True)]
    user = judged.rows.row[rows]
    return Ideal(user, place_of(user), judged.rows.value[rows])


def _judged(ranked: Ranked, relevant: Tensor, order: TieOrder) -> JudgedRows:
    judged = ranked.judged
    there = judged.place > 0
    if ranked.limit is not None:
        there = there & (judged.place <= ranked.limit)  # not what only ties with the last item
    rows = there.nonzero()[:, 0]
    # In the order of the list, which for tied scores is that of ids.
    placed = replace(judged, first=judged.place)
    rows = _by_rank(placed, rows, order)
    return JudgedRows(
        user=judged.rows.row[rows],
        rank=judged.place[rows],
        item=judged.rows.item[rows],
        truth=judged.rows.gain[rows],
        relevant=relevant[rows].to(torch.float64),
        n_negative=_negative(judged, relevant, ranked.user.shape[0]),
        score=None if judged.score is None else judged.score[rows],
        tie=judged.first[rows] if ranked.has_ties else None,
    )


def _negative(judged: ItemRanks, relevant: Tensor, size: int) -> Tensor:
    """Return how many rows of each user have a negative grade and are not relevant."""
    value = judged.rows.value
    negative = torch.zeros_like(relevant) if value is None else (value < 0) & ~relevant
    n_negative: Tensor = sum_whole(judged.rows.row, negative, size)
    return n_negative


def _recommended(ranked: Ranked, relevant: Tensor) -> RecommendedRows:
    size, kept = ranked.items.shape
    device = ranked.items.device
    user = torch.arange(size, device=device)[:, None].expand(size, kept).ravel()
    rank = torch.arange(1, kept + 1, device=device).expand(size, kept).ravel()
    item, score, label = ranked.items.ravel(), None, None
    if ranked.scores is not None:
        score = ranked.scores.ravel().to(torch.float64)
        label = _labels(ranked, relevant)
    if ranked.is_full:
        return RecommendedRows(user, rank, item, score, label)
    rows = (item >= 0).nonzero()[:, 0]
    score = None if score is None else score[rows]
    label = None if label is None else label[rows]
    return RecommendedRows(user[rows], rank[rows], item[rows], score, label)


def _labels(ranked: Ranked, relevant: Tensor) -> Tensor:
    """Return 1 for every relevant item of the lists, else 0."""
    size, kept = ranked.items.shape
    judged = ranked.judged
    here = relevant & (judged.place > 0) & (judged.place <= kept)
    cell = torch.where(here, judged.rows.row * kept + judged.place - 1, size * kept)
    label = torch.zeros(size * kept + 1, dtype=torch.float64, device=cell.device)
    return label.index_fill_(0, cell, 1.0)[:-1]


def _items(ranks: ItemRanks, keep: Tensor | None = None) -> ItemRows:
    rows = ranks.rows if keep is None else ranks.rows.chosen(keep.nonzero()[:, 0])
    gain = rows.gain if keep is not None else torch.ones_like(rows.row, dtype=torch.float64)
    return ItemRows(rows.row, rows.item, gain)


def _overlap(ranked: Ranked, ranks: ItemRanks, judged: ItemRanks, relevant: Tensor) -> Overlap:
    """Return the overlap of lists with a second set, whose values are places in that set."""
    size = ranked.user.shape[0]
    row, listed = ranks.rows.row, ranks.place > 0
    last = _RANK_BOUND if ranked.limit is None else ranked.limit
    rows = (listed & (ranks.place <= last)).nonzero()[:, 0]
    rows = rows[torch.argsort(row[rows] * _RANK_BOUND + ranks.place[rows], stable=True)]
    keys = judged.rows.key[relevant]
    in_truth = find(keys, ranks.rows.key) < keys.shape[0]
    elsewhere = ~listed & ~in_truth
    place_there = ranks.rows.value
    assert place_there is not None
    return Overlap(
        user=row[rows],
        rank=ranks.place[rows],
        item=ranks.rows.item[rows],
        rank_there=place_there[rows].to(torch.int64),
        length=count(row, size),
        n_elsewhere=sum_whole(row, elsewhere, size),
    )
