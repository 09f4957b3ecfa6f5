"""Values of blocks, and the mergeable partial results that are made of them.

A partial has one row per user, one row per item if a metric sums over items, and counts. Rows
carry ids, not codes, so partials made in any process can be merged. Floats are summed only at the
end, with users in order of id: results are bit-identical, however the work was cut and merged.

Packed partials are one string of bytes: JSON for plain values, Arrow for tables. A hash of all
bytes comes first, so that bytes that were changed on their way are never parsed.

Columns are named here and nowhere else. Values of users have the name of their cell (``ndcg@10``).
Sums, which are only pooled at the end, have names that hold a JSON list, so that no name of a group
or a column can be mistaken.

``JobFingerprint`` is the question of a partial: every setting that can change a value, the columns
that facts come from, and a hash of each shared table. Tables are hashed only when partials of
different tables meet or a partial leaves the process.
"""

from __future__ import annotations

import hashlib
import io
import json
import operator
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from functools import cache, cached_property, reduce
from threading import Lock
from typing import Any, Self

import numpy as np
import polars as pl

from rankwise.blocks.encoded import Encoded
from rankwise.core.arrays import Array
from rankwise.core.digests import add_digests
from rankwise.core.hashing import digest_of
from rankwise.core.kernels import sorted_whole
from rankwise.core.ragged import runs
from rankwise.core.sample_counts import SampleCounts
from rankwise.core.saved_forms import PARTIAL, SavedForm
from rankwise.core.units import unit_keys
from rankwise.errors import DuplicateError, FileError, InputError, ParameterError


def pack(form: SavedForm, values: Any, frames: Mapping[str, pl.DataFrame]) -> bytes:
    """Return values and tables as bytes, with the name and the version of their form."""
    head = {"what": form.name, form.key: form.version, "values": values, "frames": list(frames)}
    parts = [json.dumps(head).encode()]
    for frame in frames.values():
        body = io.BytesIO()
        frame.write_ipc(body)
        parts.append(body.getvalue())
    packed = b"".join(len(part).to_bytes(8, "little") + part for part in parts)
    return hashlib.sha256(packed).digest() + packed


def unpack(form: SavedForm, data: bytes) -> tuple[Any, dict[str, pl.DataFrame]]:
    """Read the values and tables that `pack` wrote, upgraded to the current version of the form.

    Raises
    ------
    InputError
        If it is another form, of a version that cannot be read, cut short, or changed.
    """

    def part() -> bytes:
        return stream.read(int.from_bytes(stream.read(8), "little"))

    try:
        stream = io.BytesIO(data)
        digest = stream.read(hashlib.sha256().digest_size)
        if digest != hashlib.sha256(stream.getbuffer()[stream.tell() :]).digest():
            raise ValueError("the bytes were changed")
        head = json.loads(part())
        name, version = head["what"], form.version_of(head)
        if name == form.name:
            form.check(version, "packed bytes")
            frames = {name: pl.read_ipc(io.BytesIO(part())) for name in head["frames"]}
            upgraded: tuple[Any, dict[str, pl.DataFrame]] = form.upgrade(
                (head["values"], frames), version
            )
            return upgraded
    except FileError:
        raise
    except (
        OSError,
        ValueError,
        LookupError,
        TypeError,
        OverflowError,
        RecursionError,
        pl.exceptions.PolarsError,
        pl.exceptions.PanicException,
    ) as error:
        size = f"{len(data)} bytes" if isinstance(data, bytes) else type(data).__name__
        raise InputError(f"these bytes do not hold a {form.name}", found=size) from error
    raise InputError(f"these bytes hold something other than a {form.name}", found=f"a {name}")


class JobFingerprint:
    """The settings of an evaluation, and the tables that all of its chunks share.

    Tables are hashed only when partials made from different objects are merged, or when a partial
    leaves the process: an evaluation in one process does not pay for it.

    Parameters
    ----------
    settings : mapping of str to str
        Every setting that can change a value.
    tables : mapping of str to polars.DataFrame
        The tables that all chunks share, by role.
    digests : mapping of str to str, optional
        Their hashes, if they are known.
    """

    def __init__(
        self,
        settings: Mapping[str, str],
        tables: Mapping[str, pl.DataFrame],
        digests: Mapping[str, str] | None = None,
    ) -> None:
        self.settings = dict(settings)
        self._tables = dict(tables)
        if digests is not None:
            self.digests = dict(digests)

    @property
    def frames(self) -> dict[str, pl.DataFrame]:
        """The tables by role, where they are in this process."""
        return self._tables

    @cached_property
    def digests(self) -> dict[str, str]:
        """The hash of each table, independent of the order of rows and columns."""
        return {
            role: f"{len(frame):,} rows of {', '.join(sorted(frame.columns))}, "
            f"hash {digest_of([frame[name] for name in sorted(frame.columns)])}"
            for role, frame in self._tables.items()
        }

    def __reduce__(self) -> Any:
        return JobFingerprint, (self.settings, {}, self.digests)

    def check(self, other: JobFingerprint) -> None:
        """Raise unless both are about the same, naming the first difference."""
        if other is self:
            return
        for name in sorted({*self.settings, *other.settings}):
            left, right = (about.settings.get(name, "nothing") for about in (self, other))
            if left != right:
                raise ParameterError(
                    "only evaluators with the same metrics and settings can be merged",
                    found=f"{name}: {right} beside {left}",
                )
        if self._tables and _same_objects(self._tables, other._tables):
            return
        for role in sorted({*self.digests, *other.digests}):
            if self.digests.get(role) != other.digests.get(role):
                raise _other_table(role)


def _same_objects(left: Mapping[str, object], right: Mapping[str, object]) -> bool:
    return left.keys() == right.keys() and all(left[role] is right[role] for role in left)


def _other_table(role: str) -> ParameterError:
    if role == "truth":
        return ParameterError(
            "evaluators to merge must have the same ground truth, or must get it with each chunk",
            hint="give every evaluator the whole ground truth, or pass it to update(…)",
        )
    return ParameterError(
        f"evaluators to merge must have the same {role}",
        hint=f"give every evaluator all of the {role}",
    )


ADDED = ("rows", "ids_trimmed")
"""The numbers that add up over the cards of a table that came in chunks."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Partial:
    """The mergeable result of a set of users, for pickling or writing in Arrow's format.

    Attributes
    ----------
    users : polars.DataFrame
        One row per evaluated user or request: ``user``, ``request`` if lists belong to requests,
        and the columns of the metrics.
    about : JobFingerprint
        The settings of the evaluation and the tables that all chunks share.
    items : polars.DataFrame or None
        One row per item that was seen: ``item`` and the sums that metrics need.
    group_items : polars.DataFrame or None
        Sums by item in groups of users, where they are not 0: ``sum``, ``group``, ``item``,
        ``value``; all rows of a sum and a group are together.
    counts : dict of str to int
        Counts that add up over chunks: rows read, users without ground truth, ties, ….
    outside : polars.DataFrame or None
        The users or requests that have a list and are not evaluated: their lists must be in one
        chunk as well.
    protocol : str
        The candidate set that the lists were ranked from, as JSON; empty if unknown.
    ties : tuple of str
        How equal scores were ordered.
    inputs : dict of str to tuple of dict
        Source, format, rows and hash of the tables that came in chunks, by role.
    shared_counts : dict of str to int
        Counts of the tables that all chunks share, equal in each.
    digests : dict of str to int
        Digests of the rows of tables that came in chunks (`rankwise.core.digests`), which add up.
    sample : SampleCounts
        What tells lists of sampled negatives from others, if nothing says what lists were ranked
        from.
    outside_catalogue : polars.Series or None
        The distinct ids of lists that are no items of the catalogue, if there are any.
    """

    users: pl.DataFrame
    about: JobFingerprint
    items: pl.DataFrame | None = None
    group_items: pl.DataFrame | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    outside: pl.DataFrame | None = None
    protocol: str = ""
    ties: tuple[str, ...] = ()
    inputs: Mapping[str, tuple[dict[str, Any], ...]] = field(default_factory=dict)
    shared_counts: Mapping[str, int] = field(default_factory=dict)
    digests: Mapping[str, int] = field(default_factory=dict)
    sample: SampleCounts = field(default_factory=SampleCounts)
    outside_catalogue: pl.Series | None = None

    @property
    def id_types(self) -> dict[str, pl.DataType]:
        """The types of users, of requests if there are any, and of items if they are counted."""
        types = {name: self.users.schema[name] for name in unit_keys(self.users)}
        return types if self.items is None else types | {"item": self.items.schema["item"]}

    def merge(self, *others: Partial) -> Partial:
        """Merge with the partials of other users, in any order, into the partial of all users.

        Raises
        ------
        ParameterError
            If metrics, settings or shared tables differ.
        DuplicateError
            If a user is in two of them.
        """
        partials = [self, *others]
        for partial in partials:
            self.check(partial)

        def of_all(name: str) -> list[Any]:
            return [getattr(partial, name) for partial in partials]

        keys = unit_keys(self.users)
        users = _in_order(of_all("users"), keys)
        with_list = [frame for frame in of_all("outside") if frame is not None]
        outside = _in_order(with_list, keys) if with_list else None
        if others:  # users of one partial are checked when they come
            _check_once(users.select(keys))
            _check_once(outside)

        items = _sum_rows(of_all("items"), ["item"])
        return replace(
            self,
            users=users,
            outside=outside,
            items=None if items is None else items.sort("item"),
            group_items=_sum_rows(of_all("group_items"), ["sum", "group", "item"]),
            outside_catalogue=_distinct(of_all("outside_catalogue")),
            counts=_sum_counts(of_all("counts")),
            shared_counts=reduce(operator.or_, of_all("shared_counts")),
            digests=_sum_digests(of_all("digests")),
            ties=tuple(sorted(set().union(*of_all("ties")))),
            inputs=_merged_cards(of_all("inputs")),
            sample=SampleCounts.merged(of_all("sample")),
        )

    def check(self, other: Partial) -> None:
        """Raise unless two partials can be merged."""
        self.about.check(other.about)
        if other.protocol != self.protocol:
            raise ParameterError(
                "chunks of one evaluation were ranked from different candidate sets",
                found=f"{other.protocol or 'unknown'} and {self.protocol or 'unknown'}",
            )
        for left, right in ((self.users, other.users), (self.items, other.items)):
            if _schema(left) != _schema(right):
                raise ParameterError(
                    "these partials are not of the same metrics, or not of the same type of id",
                    found=f"{_schema(right)} beside {_schema(left)}",
                )

    def to_bytes(self) -> bytes:
        """Write the partial in Arrow's IPC format, to be sent elsewhere and read again."""
        frames = {
            "users": self.users,
            "items": self.items,
            "group_items": self.group_items,
            "outside": self.outside,
        }
        if self.outside_catalogue is not None:
            frames["outside_catalogue"] = self.outside_catalogue.to_frame("item")
        frames |= {"sample_negatives": self.sample.negatives, "sample_items": self.sample.items}
        values = {
            "settings": self.about.settings,
            "digests": self.about.digests,
            "counts": dict(self.counts),
            "protocol": self.protocol,
            "ties": self.ties,
            "inputs": dict(self.inputs),
            "shared_counts": dict(self.shared_counts),
            "row_digests": dict(self.digests),
            "sample": {"relevant": self.sample.relevant, "hits": self.sample.hits},
        }
        present = {name: frame for name, frame in frames.items() if frame is not None}
        return pack(PARTIAL, values, present)

    @classmethod
    def from_bytes(cls, data: bytes) -> Partial:
        """Read a partial that `to_bytes` wrote.

        Raises
        ------
        InputError
            If it is damaged, or of another version of rankwise.
        """
        values, frames = unpack(PARTIAL, data)
        return cls(
            users=frames["users"],
            about=JobFingerprint(values["settings"], {}, values["digests"]),
            items=frames.get("items"),
            group_items=frames.get("group_items"),
            counts=values["counts"],
            outside=frames.get("outside"),
            protocol=values["protocol"],
            ties=tuple(values["ties"]),
            inputs={role: tuple(cards) for role, cards in values["inputs"].items()},
            shared_counts=values["shared_counts"],
            digests=values["row_digests"],
            sample=SampleCounts(
                **values["sample"],
                negatives=frames["sample_negatives"],
                items=frames["sample_items"],
            ),
            outside_catalogue=frames["outside_catalogue"]["item"]
            if "outside_catalogue" in frames
            else None,
        )


def _merged_cards(
    inputs: Sequence[Mapping[str, tuple[dict[str, Any], ...]]],
) -> dict[str, tuple[dict[str, Any], ...]]:
    """Merge the cards of chunks: cards that differ only in their sizes become one."""
    out: dict[str, dict[str, dict[str, Any]]] = {}
    for roles in inputs:
        for role, cards in roles.items():
            for card in cards:
                key = repr({name: value for name, value in card.items() if name not in ADDED})
                card_before = out.setdefault(role, {}).get(key)
                sums = {
                    name: card[name] + (card_before[name] if card_before else 0) for name in ADDED
                }
                out[role][key] = {**card, **sums}
    return {role: tuple(cards[key] for key in sorted(cards)) for role, cards in out.items()}


def _in_order(frames: Sequence[pl.DataFrame], keys: Sequence[str]) -> pl.DataFrame:
    """Concatenate rows in the order of their units."""
    frame = frames[0] if len(frames) == 1 else pl.concat(frames, rechunk=True)
    is_sorted = len(keys) == 1 and frame[keys[0]].is_sorted()
    return frame if is_sorted else frame.sort(keys)


def _sum_rows(frames: Sequence[pl.DataFrame | None], keys: Sequence[str]) -> pl.DataFrame | None:
    """Sum the rows with equal keys, which one frame has once; None without frames."""
    present = [frame for frame in frames if frame is not None]
    if len(present) < 2:
        return present[0] if present else None
    return pl.concat(present).group_by(keys).sum().sort(keys)


def _sum_counts(counts: Iterable[Mapping[str, int]]) -> Counter[str]:
    """Sum counts by name."""
    return sum(map(Counter, counts), Counter[str]())


def _sum_digests(digests: Sequence[Mapping[str, int]]) -> dict[str, int]:
    """Sum the digests of tables by name, as 64-bit integers."""
    names = sorted(set().union(*digests))
    return {name: add_digests(own.get(name, 0) for own in digests) for name in names}


def _check_once(units: pl.DataFrame | None) -> None:
    """Raise if a user or a request occurs twice among units that are in order."""
    if units is None or len(units) < 2:
        return
    above, below = units[:-1], units[1:]
    same = [above[name].eq_missing(below[name]) for name in units.columns]
    again = reduce(operator.and_, same)
    if again.any():
        raise twice_error(below.filter(again).row(0))


def twice_error(unit: Sequence[object]) -> DuplicateError:
    """Return the error for a user, or a user and a request, who came in two chunks."""
    user, *request = unit
    name = user if not request else f"{user}, request {'' if request[0] is None else request[0]}"
    return DuplicateError(
        "the rows of a user came in two chunks",
        where=f"user {name!r}",
        hint="pass all rows of a user in one chunk (sort the table by user)",
    )


def _distinct(ids: Sequence[pl.Series | None]) -> pl.Series | None:
    """Return the distinct ids in order, as text if any are text; None without ids."""
    present = [one for one in ids if one is not None]
    if not present:
        return None
    kind = pl.String() if any(one.dtype == pl.String for one in present) else present[0].dtype
    return pl.concat([one.cast(kind) for one in present]).unique().sort()


def _schema(frame: pl.DataFrame | None) -> str:
    return "nothing" if frame is None else str(frame.schema)


class _Name:
    def __str__(self) -> str:
        return json.dumps(astuple(self), ensure_ascii=False)  # type: ignore[call-overload]

    @classmethod
    @cache
    def read(cls, name: str) -> Self:
        """Read the name of a column."""
        return cls(*json.loads(name))


@dataclass(frozen=True)
class UserSum(_Name):
    """A sum of every user: the cell for which sums are pooled, and the number of the sum there.

    >>> UserSum.read(str(UserSum("rmse", 0)))
    UserSum(cell='rmse', number=0)
    """

    cell: str
    number: int


@dataclass(frozen=True)
class ItemColumn(_Name):
    """A sum of every item.

    Attributes
    ----------
    key : str
        What is summed.
    k : int
        The cut-off; 0 where there is none.
    by, group : str, default=""
        The column of user groups and the group that is summed over; empty for all users.
    part : str, default=""
        Which part of an exact sum; empty for whole numbers.
    """

    key: str
    k: int
    by: str = ""
    group: str = ""
    part: str = ""


_ROOMY = 8  # places for each row, up to which counting is cheaper than sorting
ONES: Mapping[str, Any] = {}
"""Stands for ones, which need no array."""


def _sums_from(values: Any, starts: Any) -> Any:
    """Return the sum of the values from each start to the next."""
    return np.add.reduceat(values, starts) if len(starts) else values[:0]


@dataclass(frozen=True, eq=False, repr=False)
class GroupSums:
    """A sum of every item in every group of users, most of which are 0 and not kept.

    Attributes
    ----------
    column : ItemColumn
        What is summed, by which column of users.
    names : tuple of str
        The groups.
    n_items : int
        The number of items.
    index : array of int, shape (n,)
        The number of the group times the number of items, plus the item; may be repeated.
    parts : mapping of str to array of int, shape (n,)
        What is added there, for each part of an exact sum; `ONES` if it is 1 everywhere.
    """

    column: ItemColumn
    names: tuple[str, ...]
    n_items: int
    index: Any
    parts: Mapping[str, Any]

    def frame(self, items: Any) -> pl.DataFrame:
        """Return one row per part, group and item, in this order; ``items`` decodes their codes."""
        index, parts = self._added()
        size = np.diff(np.searchsorted(index, np.arange(len(self.names) + 1) * self.n_items))
        code = np.repeat(np.arange(len(self.names)), size)
        item = items.decode(index - code * self.n_items)
        group = pl.Series("group", self.names, pl.String).cast(pl.Categorical).gather(code)
        rows = pl.DataFrame({"group": group, "item": item})
        return pl.concat(
            rows.select(
                pl.lit(str(replace(self.column, part=part)), pl.Categorical).alias("sum"),
                pl.all(),
                pl.Series("value", sums, pl.Int64),
            )
            for part, sums in parts.items()
        )

    def _added(self) -> tuple[Any, dict[str, Any]]:
        """Return the distinct places in order, and the total of each place."""
        places = len(self.names) * self.n_items
        if self.parts is ONES and places <= _ROOMY * len(self.index):
            counts = np.bincount(self.index, minlength=places)
            index = np.flatnonzero(counts > 0)  # of truth values: many times as fast as of numbers
            return index, {"": counts[index]}
        if self.parts is ONES:
            ordered = sorted_whole(self.index)
            starts = runs(ordered)
            return ordered[starts[:-1]], {"": np.diff(starts)}
        order = np.argsort(self.index, kind="stable")
        ordered = self.index[order]
        first = runs(ordered)[:-1]
        return ordered[first], {
            part: _sums_from(values[order], first) for part, values in self.parts.items()
        }

    @classmethod
    def from_dense(cls, columns: Mapping[ItemColumn, Any]) -> list[GroupSums]:
        """Return sums of which every group and item has a place, in arrays of shape (n_items,)."""
        groups: dict[ItemColumn, dict[str, dict[str, Any]]] = {}
        for column, values in columns.items():
            plain = replace(column, group="", part="")
            groups.setdefault(plain, {}).setdefault(column.group, {})[column.part] = values
        sums = []
        for column, by_group in groups.items():
            names, parts = tuple(by_group), list(next(iter(by_group.values())))
            stacked = {
                part: np.concatenate([by_group[name][part] for name in names]) for part in parts
            }
            index = np.flatnonzero(np.any([values != 0 for values in stacked.values()], axis=0))
            kept = {part: values[index] for part, values in stacked.items()}
            sums.append(
                cls(column, names, len(next(iter(stacked.values()))) // len(names), index, kept)
            )
        return sums

    @classmethod
    def concat(cls, sums: Sequence[GroupSums]) -> GroupSums:
        """Return the sums of several blocks together."""
        first, parts = sums[0], sums[0].parts
        if parts is not ONES:
            parts = {part: np.concatenate([one.parts[part] for one in sums]) for part in parts}
        return replace(first, index=np.concatenate([one.index for one in sums]), parts=parts)


_USER = ""
"""Stands for the users among columns, none of which has this name."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class BlockValues:
    """Metric values of a block, as arrays of the library that the block uses.

    Attributes
    ----------
    user : array of int, shape (U,)
        The code of each user.
    columns : dict of str to array, shape (U,)
        Values of users, and sums that are pooled at the end.
    item_sums : dict of ItemColumn to array of int, shape (n_items,)
        Sums by item code.
    counts : dict of str to int or array
        What was counted on the way; tensors are numbers that nobody has waited for yet.
    group_sums : dict of ItemColumn to GroupSums
        Sums by item in the groups of users that have values of their own.
    """

    user: Array
    columns: dict[str, Array]
    item_sums: dict[ItemColumn, Array]
    counts: Mapping[str, Any]
    group_sums: Mapping[ItemColumn, GroupSums] = field(default_factory=dict)

    def to_partial(
        self,
        encoded: Encoded,
        about: JobFingerprint,
        *,
        protocol: str = "",
        inputs: Mapping[str, Sequence[dict[str, Any]]] | None = None,
        with_items: bool = False,
    ) -> Partial:
        """Turn codes into ids.

        Parameters
        ----------
        encoded : Encoded
            What the blocks were cut from: it knows the ids.
        about : JobFingerprint
            What was asked, of which tables.
        protocol : str, default=""
            Which candidate set lists were ranked from, as JSON.
        inputs : mapping of str to list of dict, optional
            The cards of the tables of this piece, by role.
        with_items : bool, default=False
            Whether items are counted: the catalogue is then every item seen.
        """
        columns = {name: np.asarray(values) for name, values in self.columns.items()}
        users = encoded.units_of(np.asarray(self.user)).hstack(
            [pl.Series(name, values) for name, values in columns.items()]
        )
        listed = encoded.lists.user
        outside = listed[~encoded.is_evaluated(listed)]
        return Partial(
            users=users,
            items=self._items(encoded) if with_items else None,
            group_items=pl.concat(sums.frame(encoded.items) for sums in self.group_sums.values())
            if with_items and self.group_sums
            else None,
            counts=encoded.counts + Counter(self.counts),
            outside=encoded.units_of(outside) if len(outside) else None,
            protocol=protocol,
            about=about,
            ties=(encoded.ties,) if len(listed) else (),
            inputs={role: tuple(cards) for role, cards in (inputs or {}).items()},
            shared_counts=dict(encoded.shared_counts),
        )

    def _items(self, encoded: Encoded) -> pl.DataFrame:
        seen = np.zeros(encoded.items.size, dtype=bool)
        for codes in encoded.seen_items:
            seen[codes] = True
        items = np.flatnonzero(seen)
        return pl.DataFrame(
            {
                "item": encoded.items.decode(items),
                **{
                    str(column): np.asarray(values)[items].astype(np.int64)
                    for column, values in self.item_sums.items()
                },
            }
        )


class BlockCollector:
    """The users of several blocks, put together as blocks come, by the threads that have them.

    A block that is copied when it comes leaves its memory to the next one.

    Parameters
    ----------
    firsts : sequence of int
        How many users come before each block, and how many there are in all.
    """

    def __init__(self, firsts: Sequence[int]) -> None:
        self._firsts, self._lock = firsts, Lock()
        self._columns: dict[str, Any] = {}
        self._wider: list[tuple[str, int, Any]] = []
        self._sums: dict[ItemColumn, Array] = {}
        self._group_sums: dict[ItemColumn, list[GroupSums]] = {}
        self._counts: Counter[str] = Counter()

    def add(self, block: BlockValues, number: int) -> None:
        """Add the block with this number."""
        first = self._firsts[number]
        columns = {
            name: np.asarray(values)
            for name, values in {_USER: block.user, **block.columns}.items()
        }
        with self._lock:
            for name, values in columns.items():
                if name not in self._columns:
                    self._columns[name] = np.empty(self._firsts[-1], values.dtype)
            for column, values in block.item_sums.items():
                sums = self._sums
                sums[column] = sums[column] + values if column in sums else values
            for column, group_sums in block.group_sums.items():
                self._group_sums.setdefault(column, []).append(group_sums)
            self._counts.update({name: int(count) for name, count in block.counts.items()})
        for name, values in columns.items():
            all_users = self._columns[name]
            if all_users.dtype == values.dtype:
                all_users[first : first + len(values)] = values
            else:  # no other thread may be writing when it is replaced
                self._wider.append((name, first, values))

    def collect(self) -> BlockValues:
        """Return all users, once the last block was added."""
        columns = self._columns
        for name, first, values in self._wider:
            columns[name] = columns[name].astype(np.result_type(columns[name], values), copy=False)
            columns[name][first : first + len(values)] = values
        self._wider.clear()
        others = {name: values for name, values in columns.items() if name != _USER}
        group_sums = {column: GroupSums.concat(sums) for column, sums in self._group_sums.items()}
        return BlockValues(
            user=columns[_USER],
            columns=others,
            item_sums=self._sums,
            counts=self._counts,
            group_sums=group_sums,
        )
