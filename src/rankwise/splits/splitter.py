"""The base of all splitting rules: validation, filters, cold-start rows, and no empty part."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from inspect import signature
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
import polars as pl

from rankwise.core.arguments import Cold, Count, FilterOn, Number, Seen, TimeUnit, check_fields
from rankwise.core.arrays import at_least
from rankwise.core.ragged import runs
from rankwise.errors import EmptyError, ParameterError, ScoreError, nearest
from rankwise.messages import mention, parameter
from rankwise.splits.interactions import Mask, Rows, cut_rows, library_of, read_rows, spread
from rankwise.splits.sessions import Sessions
from rankwise.splits.split import Folds, Split, known_rows, plain
from rankwise.tables.columns import Columns, missing_column_error, where_in
from rankwise.tables.frames import from_arrow
from rankwise.tables.table import Table, one_line

Keep: TypeAlias = Literal["first", "last", "highest"]


_SHARE_ELSEWHERE = {
    "test_ratio",
    "test_size",
    "test_fraction",
    "test_frac",
    "fraction",
    "frac",
    "ratio",
}
"""What other libraries call the share of the test part."""


def _check_parameters(cls: type, given: Iterable[str]) -> None:
    """Raise if a rule or a filter has no parameter of a name that was given."""
    parameters = [*signature(cls.__init__).parameters.values()][1:]  # type: ignore[misc]
    allowed = [each.name for each in parameters]
    unknown = next((name for name in given if name not in allowed), None)
    if unknown is None or any(each.kind is each.VAR_KEYWORD for each in parameters):
        return
    meant = "share" if unknown in _SHARE_ELSEWHERE and "share" in allowed else unknown
    raise ParameterError(
        f"{cls.__name__} has no parameter {unknown!r}",
        found=", ".join(allowed),
        hint=nearest(meant, allowed),
    )


@dataclass(frozen=True)
class Filter:
    """Base class of filters, which select rows of a table."""

    def __new__(cls, *_: Any, **parameters: Any) -> Self:
        """Check the names of parameters, before the constructor takes them."""
        _check_parameters(cls, parameters)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        check_fields(self)

    @abstractmethod
    def keep(self, rows: Rows) -> Mask:
        """Return the mask of the rows that are kept."""

    def apply(
        self, interactions: Any, *, columns: Columns | None = None, time_format: str | None = None
    ) -> Any:
        """Return the rows of a table that are kept, in their order.

        Parameters
        ----------
        interactions : table, path, mapping or sparse matrix
            As for `Splitter`.
        columns : mapping of str to str or None, optional
            The column of each role, if its name is not recognised: ``{"user": "uid"}``.
        time_format : str, optional
            As for `Splitter`.

        Returns
        -------
        table
            In the library of the table that was passed.

        Raises
        ------
        EmptyError
            If no row is kept.
        """
        rows = read_rows(interactions, columns, None, time_format)
        mask = self.keep(rows)
        if not mask.any():
            raise EmptyError(f"{self!r} leaves no rows", found=f"{len(rows)} rows before")
        return cut_rows(interactions, mask, rows)

    def to_dict(self) -> dict[str, Any]:
        """Return the filter as plain values."""
        return {
            "filter": type(self).__name__,
            **{name: plain(value) for name, value in asdict(self).items()},
        }


@dataclass(frozen=True)
class KCore(Filter):
    """Keep the k-core: users and items with at least k rows among the kept rows.

    Rows are dropped until nothing changes. The result is unique, whatever the order of the steps.

    Parameters
    ----------
    k : int, default=5
        The minimum number of rows per user, and per item unless ``items`` is given.
    items : int, optional
        The minimum number of rows per item.

    Examples
    --------
    >>> len(KCore(2).apply({1: ["a", "b"], 2: ["a", "b"], 3: ["c"]}))
    4
    """

    k: Count = 5
    items: Count | None = None

    def keep(self, rows: Rows) -> Mask:
        """Return the mask of the rows that are kept."""
        least = ((rows.user, self.k), (rows.item, self.k if self.items is None else self.items))
        mask: Mask = np.ones(len(rows), dtype=bool)
        counts = [codes.count() for codes, _ in least]
        while True:
            few = np.zeros(len(rows), dtype=bool)
            for (codes, k), count in zip(least, counts, strict=True):
                few |= (count < k)[codes.of_row]
            dropped = np.flatnonzero(mask & few)
            if not len(dropped):
                return mask
            mask[dropped] = False
            for (codes, _), count in zip(least, counts, strict=True):
                count -= np.bincount(codes.of_row[dropped], minlength=len(count))


@dataclass(frozen=True)
class MinRows(Filter):
    """Keep users and items with a minimum number of rows in the unfiltered table, in one pass.

    Parameters
    ----------
    users, items : int, default=1
        The minimum number of rows per user and per item.

    Examples
    --------
    >>> MinRows(users=2).apply({1: ["a", "b"], 2: ["a"]})["user"].to_list()
    [1, 1]
    """

    users: Count = 1
    items: Count = 1

    def keep(self, rows: Rows) -> Mask:
        """Return the mask of the rows that are kept."""
        many = (rows.user.count() >= self.users)[rows.user.of_row]
        mask: Mask = many & (rows.item.count() >= self.items)[rows.item.of_row]
        return mask


@dataclass(frozen=True)
class MinRating(Filter):
    """Keep rows with a minimum rating.

    Parameters
    ----------
    least : float
        The minimum rating.

    Examples
    --------
    >>> MinRating(4).apply({1: {"a": 5, "b": 3}})["item"].to_list()
    ['a']
    """

    least: Number

    def keep(self, rows: Rows) -> Mask:
        """Return the mask of the rows that are kept."""
        mask: Mask = at_least(_ratings(rows), self.least)
        return mask


@dataclass(frozen=True)
class Deduplicate(Filter):
    """Keep one row per user-item pair.

    Parameters
    ----------
    keep_row : {"first", "last", "highest"}, default="first"
        Keep the earliest row, the latest, or the one with the highest rating. Ties are broken by a
        hash of the row's values, so that the order of the table has no influence.

    Examples
    --------
    >>> Deduplicate("highest").apply({1: [("a", 2.0), ("a", 5.0)]})["relevance"].to_list()
    [5.0]
    """

    keep_row: Keep = "first"

    def keep(self, rows: Rows) -> Mask:
        """Return the mask of the rows that are kept."""
        pair = rows.user.of_row.astype(np.int64) * rows.item.size + rows.item.of_row
        value = _ratings(rows) if self.keep_row == "highest" else rows.time.values
        order = rows.settled(np.lexsort((rows.key(0), value, pair)), value)
        edges = runs(pair[order])
        mask = np.zeros(len(rows), dtype=bool)
        mask[order[edges[:-1] if self.keep_row == "first" else edges[1:] - 1]] = True
        return mask


def _ratings(rows: Rows) -> Any:
    if "relevance" not in rows.table.frame.columns:
        raise missing_column_error(
            "there is no column for the rating, and this filter needs one", "relevance", rows.table
        )
    ratings = rows.table.frame["relevance"]
    missing = ratings.is_null() | (~ratings.is_finite() if ratings.dtype.is_float() else False)
    if missing.any():
        row = int(missing.arg_true()[0])
        raise missing_ratings(
            rows.table, f", user {rows.table.frame['user'][row]!r}", int(missing.sum())
        )
    return ratings.to_numpy()


def missing_ratings(table: Table, first: str, count: int) -> ScoreError:
    """Return the error of a filter by ratings for rows without one."""
    return ScoreError(
        "a rating is null, NaN or infinite, and this filter compares ratings",
        where=f"{where_in(table, 'relevance')}{first}",
        found=f"{count} such rows",
        hint="drop those rows, or fill in their rating",
    )


@dataclass
class Masks:
    """The rows that a rule assigns to each part before filters, and notes on the cut."""

    parts: dict[str, Mask]
    notes: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of_test(cls, test: Mask, notes: dict[str, Any] | None = None) -> Masks:
        """Return the masks of two parts: test, and all other rows for training."""
        return cls({"train": ~test, "test": test}, notes or {})

    def spread(self, kept: Mask) -> Masks:
        """Return masks of the kept rows as masks of all rows."""
        return Masks({name: spread(kept, mask) for name, mask in self.parts.items()}, self.notes)

    def of_sessions(self, sessions: Sessions) -> Masks:
        """Return masks of sessions as masks of their rows."""
        parts = {name: sessions.spread(mask) for name, mask in self.parts.items()}
        return Masks(parts, {**sessions.notes, **self.notes})


@dataclass(frozen=True, kw_only=True, repr=False)
class Splitter:
    """Base class of splitting rules: the options that all rules have.

    Parameters
    ----------
    validation : Splitter, optional
        A second rule, applied to the training rows of this one: its test part is the validation
        part.
    filters : sequence of Filter, default=()
        Filters of training rows, those that are left after the validation part is taken:
        `KCore`, `MinRating`, `MinRows`, `Deduplicate`.
    filter_on : {"train", "all"}, default="train"
        Filter training rows after the split, or all rows before it. With ``"all"`` test rows
        influence which training rows are kept, which is a leak.
    cold_users, cold_items : {"keep", "drop", "only"}, default="keep"
        What to do with validation and test rows of cold-start users (of whom no row is known before
        the part, see `Split.known`) and cold-start items (without training rows): keep them, drop
        them, or keep only them. ``split.users`` and ``split.items`` tell which are cold.
    seen : {"keep", "drop"}, default="keep"
        What to do with validation and test rows whose user has the same item among the rows that
        are known before the part.
    sessions : str, optional
        The column of sessions (baskets, visits), each of which stays whole. The rule then cuts
        sessions in place of rows: shares, numbers and folds are of sessions, so that
        ``LeaveOut(1, sessions="session_id")`` tests the last session of each user. A session has
        the time of its first row: a split in time puts it on the side on which it begins. Ids of
        sessions may begin anew for every user.

    Notes
    -----
    Options apply in this order: filters of ``filter_on="all"``; the rule; ``validation``;
    ``filters`` of training rows; ``cold_users``, ``cold_items`` and ``seen``, on validation and
    then on test.

    A share r is read as the decimal that was written, so that 0.29 of 50 rows is 15, although in
    binary 0.29·50 < 14.5. Random choices follow a hash of seed, user, item and time. Neither the
    order of the table nor its library nor its other rows have an influence. Rows of equal user,
    item and time are numbered in order of a hash of their remaining columns, and the number is
    part of the hash. Times are exact to the microsecond, and dates are in UTC.

    A session that begins before a split in time goes on in training. An audit then counts the
    training rows that are not before the first test row.
    """

    validation: Splitter | None = None
    filters: Sequence[Filter] = ()
    filter_on: FilterOn = "train"
    cold_users: Cold = "keep"
    cold_items: Cold = "keep"
    seen: Seen = "keep"
    sessions: str | None = None

    cuts_sessions: ClassVar[bool] = True
    """Whether the rule can cut whole sessions: not if it chooses by what single rows have."""

    def __new__(cls, *_: Any, **parameters: Any) -> Self:
        """Check the names of parameters, before the constructor takes them."""
        _check_parameters(cls, parameters)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        check_fields(self)
        if not isinstance(self.filters, list | tuple) or not all(
            isinstance(rule, Filter) for rule in self.filters
        ):
            raise ParameterError(
                "filters is a list of filters", found=repr(self.filters), hint="[KCore(5)]"
            )
        object.__setattr__(self, "filters", tuple(self.filters))
        if self.validation is not None and not isinstance(self.validation, SingleSplitter):
            raise ParameterError(
                "validation is a rule that gives one split",
                found=f"{self.validation!r}",
                hint="pass GlobalTime(…), LeaveOut(…), Holdout(…) or UserHoldout(…)",
            )
        if self.validation is not None and self.validation.has_extras:
            raise ParameterError(
                f"filters, {mention('cold_users')}, {mention('cold_items')} and seen belong to "
                "the outer rule",
                found=parameter("validation", self.validation),
                hint=f"give them to the rule that has {parameter('validation')}",
            )
        self._check_sessions()
        self._check()

    def _check_sessions(self) -> None:
        """Raise if sessions cannot stay whole; validation keeps them whole as well."""
        if self.sessions is None:
            return
        if not isinstance(self.sessions, str):
            raise ParameterError(
                "sessions is the name of a column", found=parameter("sessions", self.sessions)
            )
        if not self.cuts_sessions:
            raise ParameterError(
                f"{type(self).__name__} chooses rows by what they have, and cannot keep sessions "
                "whole",
                found=parameter("sessions", self.sessions),
                hint=f"take LeaveOut, Holdout, KFold, UserHoldout or GlobalTime with "
                f"{parameter('sessions')}",
            )
        if self.validation is not None and self.validation.sessions is None:
            object.__setattr__(self, "validation", replace(self.validation, sessions=self.sessions))

    def __repr__(self) -> str:
        return one_line(self.to_dict())

    @property
    def has_extras(self) -> bool:
        """Whether the rule does more than split into training and test."""
        drops = (self.cold_users, self.cold_items, self.seen) != ("keep", "keep", "keep")
        return bool(self.validation is not None or self.filters or drops)

    def _check(self) -> None:
        """Raise if a parameter is invalid that its type alone does not describe."""

    def to_dict(self) -> dict[str, Any]:
        """Return the rule and all its parameters as plain values.

        `rankwise.splits.from_dict` is the inverse.
        """
        out: dict[str, Any] = {"rule": type(self).__name__}
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name == "filters":
                value = [rule.to_dict() for rule in value]
            elif isinstance(value, Splitter):
                value = value.to_dict()
            unset = value is None and each.default is None
            if not unset and not (isinstance(value, list) and not value):
                out[each.name] = plain(value)
        return out

    def _finish(self, source: Any, rows: Rows, masks: Masks, rule: dict[str, Any]) -> Split:
        """Take validation from training, filter, handle cold-start rows, refuse empty parts."""
        parts, notes = masks.parts, dict(masks.notes)
        if self.validation is not None:
            refuse_empty(parts, rule, notes)
            parts, inner_notes = _with_validation(self.validation, rows, parts)
            notes |= {f"validation_{name}": value for name, value in inner_notes.items()}
        if self.filters and self.filter_on == "train":
            refuse_empty({"train": parts["train"]}, rule, notes)
            parts["train"] = self._filtered(rows, parts["train"], notes)
        for part in ("validation", "test"):
            if part in parts:
                parts[part] = self._without_cold(rows, parts, part, notes)
        refuse_empty(parts, rule, notes)
        return Split(source, rows, parts, rule, notes)

    def _filtered(self, rows: Rows, mask: Mask, notes: dict[str, Any]) -> Mask:
        for rule in self.filters:
            kept = spread(mask, rule.keep(rows.select(mask)))
            name = f"rows_filtered({type(rule).__name__})"
            notes[name] = notes.get(name, 0) + int(mask.sum() - kept.sum())
            mask = kept
            if not mask.any():
                raise EmptyError("the filters leave no rows", where=f"{rule!r}")
        return mask

    def _without_cold(
        self, rows: Rows, parts: dict[str, Mask], part: str, notes: dict[str, Any]
    ) -> Mask:
        """Return the rows of a part that stay under ``cold_users``, ``cold_items`` and ``seen``."""
        mask = parts[part]
        for role, action in (("user", self.cold_users), ("item", self.cold_items)):
            if action == "keep":
                continue
            codes = rows.user if role == "user" else rows.item
            warm = (codes.count(known_rows(parts, part, role)) > 0)[codes.of_row]
            kept = mask & (warm if action == "drop" else ~warm)
            dropped = "cold" if action == "drop" else "warm"
            notes[f"{part}_rows_of_{dropped}_{role}s_dropped"] = int(mask.sum() - kept.sum())
            mask = kept
        if self.seen == "drop":
            kept = mask & ~rows.pairs_in(mask, known_rows(parts, part, "user"))
            notes[f"{part}_rows_seen_dropped"] = int(mask.sum() - kept.sum())
            mask = kept
        return mask

    def _read(
        self, source: Any, columns: Columns | None, unit: TimeUnit | None, time_format: str | None
    ) -> tuple[Rows, Mask | None, dict[str, Any]]:
        """Return the rows, the mask of rows kept by filters on all rows (or None), and notes."""
        rows = read_rows(source, columns, unit, time_format)
        notes: dict[str, Any] = {}
        filters_all = self.filters and self.filter_on == "all"
        return (
            rows,
            self._filtered(rows, np.ones(len(rows), dtype=bool), notes) if filters_all else None,
            notes,
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class SingleSplitter(Splitter):
    """A rule that gives one split."""

    @property
    def has_two_parts(self) -> bool:
        """Whether the rule puts rows into training and test, and into no third part."""
        return True

    def split(
        self,
        interactions: Any,
        *,
        columns: Columns | None = None,
        time_unit: TimeUnit | None = None,
        time_format: str | None = None,
    ) -> Split:
        """Split a table.

        Parameters
        ----------
        interactions : table, path, mapping or sparse matrix
            One row per interaction, with user and item; rules that depend on time need a
            timestamp: numbers, dates, or dates as text.
        columns : mapping of str to str or None, optional
            The column of each role, if its name is not recognised: ``{"user": "uid"}``.
        time_unit : {"s", "ms", "us", "ns"}, optional
            The unit of numeric timestamps; by default guessed from their magnitude. Numbers below
            100,000 are rather days, years or steps: dates and lengths in text, such as ``"7d"``,
            then need it, as do columns of plain numbers that hold dates, or numbers ten years from
            the rest. The card states it.
        time_format : str, optional
            The format of dates that are written as text or as whole numbers, such as
            ``"%d/%m/%Y"``. Not needed for ISO 8601, nor where one format alone fits all rows; where
            day and month could be either, or years have two digits, an error asks for it. Whole
            numbers that are all dates, such as 20200914, are read as dates unless ``time_unit`` is
            given. The card states it.

        Returns
        -------
        Split

        Raises
        ------
        InputError
            If the table cannot be split by this rule, or a part would be empty.
        """
        source = _collected(interactions)
        rows, kept, notes = self._read(source, columns, time_unit, time_format)
        masks = self.masks(rows) if kept is None else self.masks(rows.select(kept)).spread(kept)
        return self._finish(source, rows, Masks(masks.parts, notes | masks.notes), self.to_dict())

    def masks(self, rows: Rows) -> Masks:
        """Return the rows of each part, with sessions whole if the rule keeps them so."""
        if self.sessions is None:
            return self._cut(rows)
        sessions = Sessions.of(rows, self.sessions)
        return self._cut(sessions.rows).of_sessions(sessions)

    @abstractmethod
    def _cut(self, rows: Rows) -> Masks:
        """Return the rows of each part."""


@dataclass(frozen=True, kw_only=True, repr=False)
class FoldSplitter(Splitter):
    """A rule that gives several splits."""

    def split(
        self,
        interactions: Any,
        *,
        columns: Columns | None = None,
        time_unit: TimeUnit | None = None,
        time_format: str | None = None,
    ) -> Folds:
        """Split a table several times; the parameters are as for `SingleSplitter.split`.

        Returns
        -------
        Folds
            A sequence of `Split`, each computed when it is indexed.
        """
        source = _collected(interactions)
        rows, kept, notes = self._read(source, columns, time_unit, time_format)
        count, cut = self._folds_of(rows if kept is None else rows.select(kept))
        rule = self.to_dict()

        def make(fold: int) -> Split:
            masks = cut(fold) if kept is None else cut(fold).spread(kept)
            all_notes = {"fold": fold, "folds": count, **notes, **masks.notes}
            return self._finish(source, rows, Masks(masks.parts, all_notes), rule)

        again = partial(self.split, columns=columns, time_unit=time_unit, time_format=time_format)
        return Folds(int(count), make, (again, (source,)))

    def _folds_of(self, rows: Rows) -> tuple[int, Callable[[int], Masks]]:
        """Return the number of folds and the function that cuts a fold, by session if required."""
        if self.sessions is None:
            return self._folds(rows)
        sessions = Sessions.of(rows, self.sessions)
        count, cut = self._folds(sessions.rows)
        return count, lambda fold: cut(fold).of_sessions(sessions)

    @abstractmethod
    def _folds(self, rows: Rows) -> tuple[int, Callable[[int], Masks]]:
        """Return the number of folds, and the function that cuts a fold."""


def _collected(source: Any) -> Any:
    """Return the result of a query, run once: a second run may return rows in another order."""
    if isinstance(source, pl.LazyFrame):
        return source.collect()
    is_series = not hasattr(source, "columns") and hasattr(source, "index")  # of pandas
    if hasattr(source, "__arrow_c_stream__") and library_of(source) is None and not is_series:
        return from_arrow(source, "interactions")
    return source


def _with_validation(
    rule: Splitter, rows: Rows, parts: dict[str, Mask]
) -> tuple[dict[str, Mask], dict[str, Any]]:
    """Return the parts after a second rule has split the training rows, and its notes."""
    assert isinstance(rule, SingleSplitter)
    train = parts["train"]
    masks = rule.masks(rows.select(train)).spread(train)
    inner = masks.parts
    out = {"train": inner.pop("train"), "validation": inner.pop("test")}
    out |= {f"validation_{name}": mask for name, mask in inner.items()}
    return {**out, **{name: mask for name, mask in parts.items() if name != "train"}}, masks.notes


def refuse_empty(parts: dict[str, Mask], rule: dict[str, Any], notes: dict[str, Any]) -> None:
    """Raise if there are no rows for training, validation or test."""
    for part, name in (("train", "training"), ("validation", "validation"), ("test", "test")):
        if part in parts and not parts[part].any():
            details = ", ".join(f"{note} {value}" for note, value in notes.items())
            sizes = ", ".join(f"{part} {mask.sum()}" for part, mask in parts.items())
            raise EmptyError(
                f"the {name} side of the split is empty",
                where=f"{rule['rule']}" + (f" ({details})" if details else ""),
                found=f"rows: {sizes}",
            )
