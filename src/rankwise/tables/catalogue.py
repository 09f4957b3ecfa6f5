"""The items that lists name: by id, by a code or by a title; and ids that no catalogue has.

Models that generate lists decode codes (semantic ids) or write titles. `ItemNames` turns both into
items: the items of one name tie, a name of no item keeps its place, and what was out of the
ordinary is counted. `outside_catalogue` finds the ids of lists that are no items, whoever made
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, TypeAlias

import numpy as np
import polars as pl

from rankwise.core.hashing import hash_of_column
from rankwise.core.texts import plain_strings
from rankwise.errors import ColumnError, IdError, ParameterError, nearest
from rankwise.messages import parameter
from rankwise.tables.columns import names_of
from rankwise.tables.ids import NO_ITEM
from rankwise.tables.places import are_places
from rankwise.tables.table import Recommendations, Table

NameKind: TypeAlias = Literal["codes", "titles"]
_BETWEEN = ","  # between the parts of a code that is a tuple
_AROUND = " \t\r\n.\"'“”‘’«»"  # what may stand around a title
_FIRST_ROWS = (
    1 << 17
)  # rows of the training interactions in which items of lists are looked for first


def named_items(option: NameKind, given: object) -> str | dict[str, list[Any]] | None:
    """Return the items of each name as plain values; return a column name or None unchanged.

    >>> named_items("codes", {(3, 5): "heat", "7": ["jaws", "alien"]})
    {'3,5': ['heat'], '7': ['jaws', 'alien']}
    """
    if given is None or isinstance(given, str):
        return given
    if not isinstance(given, Mapping) or not given:
        raise ParameterError(
            f"{option} is the name of a column of the items, or a mapping of each name to its item "
            "or items",
            found=parameter(option, given),
            hint=f"with {parameter('items')} as a table, "
            + parameter(option, "semantic_id" if option == "codes" else "title"),
        )
    items: dict[str, list[Any]] = {}
    for name, value in given.items():
        several = [*value] if isinstance(value, list | tuple | set | frozenset) else [value]
        items.setdefault(_as_text(name), []).extend(several)
    return items


def item_column(
    items: Table | None, column: str, asked: str, more: str | None = None
) -> tuple[Table, pl.Series]:
    """Return the items and the given column; raise if the items or the column are missing.

    ``more`` is the hint where no column has a name like this one.
    """
    if items is None:
        raise ParameterError(
            f"{asked} is by a column of the items",
            found="no items",
            hint=f"pass {parameter('items')}",
        )
    if column not in items.frame.columns:
        others = [name for name in items.frame.columns if name != "item"]
        raise ColumnError(
            f"there is no column {column!r}",
            where=items.source,
            found=", ".join(map(repr, others)) or "ids alone",
            hint=nearest(column, others) or more,
        )
    return items, items.frame[column]


def plain_ids(name: str, values: Any, what: str) -> pl.Series:
    """Return ids as 64-bit integers or text; raise for values of other types, or of several."""
    try:
        ids = pl.Series(name, values)
    except (TypeError, pl.exceptions.PolarsError) as error:
        raise IdError(f"{what} are of several types", found=str(error)[:80]) from error
    if not (ids.dtype.is_integer() or ids.dtype == pl.String):
        raise IdError(f"{what} are no ids", found=f"values of type {ids.dtype}")
    return ids if ids.dtype == pl.String else ids.cast(pl.Int64)


def _as_text(name: object) -> str:
    parts = name.tolist() if isinstance(name, np.ndarray) else name
    return _BETWEEN.join(map(str, parts)) if isinstance(parts, tuple | list) else str(parts)


def codes_as_text(source: Any) -> Any:
    """Convert codes that are tuples or arrays to text; return any other source unchanged.

    A pair whose second entry is a float, or whose first is a code of several parts, is a code with
    its score; any other tuple is a code.

    >>> codes_as_text({"ann": [(3, 5), ((3, 7), -0.5), ((3, 9), -1), "9"]})
    {'ann': ['3,5', ('3,7', -0.5), ('3,9', -1), '9']}
    """
    if isinstance(source, Mapping):
        return {
            key: [_entry(entry) for entry in entries] if _holds_codes(entries) else entries
            for key, entries in source.items()
        }
    if not hasattr(source, "__arrow_c_stream__"):
        return source
    frame = pl.DataFrame(source)
    nested = [
        name
        for name in names_of(frame.columns, "recommendations", "item")
        if frame.schema[name].is_nested()
    ]
    users = names_of(frame.columns, "recommendations", "user")
    for name in nested:
        kind = frame.schema[name]
        if isinstance(kind, pl.List | pl.Array) and kind.inner.is_nested():
            texts = pl.element().cast(pl.List(pl.String)).list.join(_BETWEEN)
            frame = frame.with_columns(pl.col(name).cast(pl.List(kind.inner)).list.eval(texts))
        elif (
            users and frame[users[0]].is_duplicated().any()
        ):  # else each row is the whole list of a user
            frame = frame.with_columns(pl.col(name).cast(pl.List(pl.String)).list.join(_BETWEEN))
    return frame


def _holds_codes(entries: object) -> bool:
    return isinstance(entries, list | tuple) or (
        isinstance(entries, np.ndarray) and entries.ndim == 2
    )


def _entry(entry: object) -> object:
    if isinstance(entry, np.ndarray):
        return _as_text(entry)
    if not isinstance(entry, tuple | list):
        return entry
    if len(entry) == 2 and (
        isinstance(entry[1], float) or isinstance(entry[0], tuple | list | np.ndarray)
    ):
        return (_as_text(entry[0]), entry[1])
    return _as_text(entry)


@dataclass(frozen=True, eq=False, repr=False)
class ItemNames:
    """The items that names stand for.

    Attributes
    ----------
    kind : {"codes", "titles"}
        What the names are; titles are compared without regard to case, to blanks, and to quotes
        around them.
    pairs : polars.DataFrame
        Every ``name`` and ``named`` item, once.
    is_text : bool
        Whether items were text in a file.
    """

    kind: NameKind
    pairs: pl.DataFrame
    is_text: bool = False

    @classmethod
    def of(cls, kind: NameKind, given: str | Mapping[str, list[Any]], items: Table | None) -> Self:
        """Return the names in a column of the items, or in a mapping that `named_items` checked."""
        if isinstance(given, str):
            return cls._of_column(kind, given, items)
        name = [name for name, several in given.items() for _ in several]
        several_items = [item for several in given.values() for item in several]
        named = plain_ids("named", several_items, f"the items of {kind}")
        names = _plain(kind, pl.Series("name", name, pl.String))
        return cls(kind, pl.DataFrame([names, named]).unique(maintain_order=True))

    @classmethod
    def _of_column(cls, kind: NameKind, column: str, items: Table | None) -> Self:
        table, values = item_column(items, column, f"{kind}={column!r}")
        pairs = pl.DataFrame(
            [_plain(kind, values).alias("name"), table.frame["item"].alias("named")]
        )
        return cls(kind, pairs.drop_nulls().unique(maintain_order=True), table.is_text)

    def translated(self, lists: Recommendations) -> tuple[Recommendations, list[str]]:
        """Translate lists of names to lists of items; also return up to five names without an item.

        Scores order the lists that are returned, so that the items of one name tie. A name of no
        item keeps its place, with an id that no item has, as often as a list has it. Of the items
        that a list names twice the first is kept.
        """
        if lists.is_exact:
            raise ParameterError(
                f"exact ranks are of items, and not of {self.kind}", where=lists.source
            )
        frame = lists.frame.with_row_index("row")
        frame = frame.with_columns(
            _plain(self.kind, frame["item"]).alias("name"), score=_score(frame)
        ).drop("item")
        frame = frame.drop("rank", strict=False)
        shared = self.pairs.filter(pl.col("name").is_duplicated())["name"].unique()
        unknown = frame["name"].filter(~frame["name"].is_in(self.pairs["name"].implode()))
        rows = frame.join(self.pairs, on="name", how="left", maintain_order="left_right")
        rows = rows.with_columns(named=self._with_placeholders(rows))
        rows, repeated = _first_of_each(rows)
        truncated = self._truncated(unknown)
        counts = {
            "shared": int(frame["name"].is_in(shared.implode()).sum()),
            "unknown": len(unknown) - truncated,
            "truncated": truncated,
            "repeated": repeated,
        }
        counted = {f"{self.kind}_{name}": count for name, count in counts.items() if count}
        items = rows.drop("row", "name").rename({"named": "item"})
        ordered = [
            "user",
            "item",
            *(name for name in items.columns if name not in ("user", "item")),
        ]
        changed = replace(
            lists,
            frame=items.select(ordered),
            counts={**lists.counts, **counted},
            is_text=self.is_text,
            k=None,
        )
        return changed, self._as_written(lists.frame["item"], unknown)

    def _as_written(self, names: pl.Series, unknown: pl.Series) -> list[str]:
        """Return up to five of the names that no item has, as lists have them."""
        plain = _plain(self.kind, names)
        rows = plain.is_in(unknown.implode()) & plain.is_first_distinct()
        return (
            (plain if names.dtype.is_nested() else names)
            .filter(rows)
            .head(5)
            .cast(pl.String)
            .to_list()
        )

    def _with_placeholders(self, rows: pl.DataFrame) -> pl.Series:
        """Return the item of each row; a name without an item gets a placeholder id."""
        known = rows["named"]
        if not known.null_count():
            return known
        names = _numbered(rows)
        if known.dtype == pl.String:
            placeholders = NO_ITEM + names
        else:
            placeholders = pl.Series(-1 - (hash_of_column(names) >> np.uint64(2)).astype(np.int64))
        return rows.select(pl.when(known.is_null()).then(placeholders).otherwise(known)).to_series()

    def _truncated(self, unknown: pl.Series) -> int:
        """Return how many names of no item are the beginning of a code."""
        if self.kind == "titles" or not len(unknown):
            return 0
        known = np.array(sorted(self.pairs["name"].to_list()), dtype=object)
        counts = unknown.value_counts()
        names = counts["name"].to_list()
        after = np.searchsorted(known, np.array(names, dtype=object))
        begins = [
            at < len(known) and known[at].startswith(name)
            for at, name in zip(after, names, strict=True)
        ]
        return int(counts["count"].filter(pl.Series(begins, dtype=pl.Boolean)).sum())


def _numbered(rows: pl.DataFrame) -> pl.Series:
    """Append the repetition number to repeated names of a list, so that each keeps its place."""
    unit = [name for name in ("user", "request") if name in rows.columns]
    before = pl.int_range(pl.len()).over(*unit, "name")
    again = pl.concat_str(pl.col("name"), pl.lit(NO_ITEM), before)
    return rows.select(pl.when(before == 0).then(pl.col("name")).otherwise(again).alias("name"))[
        "name"
    ]


def _plain(kind: NameKind, names: pl.Series) -> pl.Series:
    """Return names as they are compared; raise if they are of a type that has no text."""
    dtype = names.dtype.inner if isinstance(names.dtype, pl.List | pl.Array) else names.dtype
    if dtype.is_nested() or dtype in (pl.Binary, pl.Object, pl.Duration):
        raise ColumnError(
            f"column {names.name!r} does not hold {kind}",
            found=str(names.dtype),
            hint="write each as text, a number, or a list of the parts of a code",
        )
    names = plain_strings(names)
    if isinstance(names.dtype, pl.Array):
        names = names.cast(pl.List(names.dtype.inner))
    if isinstance(names.dtype, pl.List):
        names = names.cast(pl.List(pl.String)).list.join(_BETWEEN)
    text = names.cast(pl.String)
    if kind == "codes":
        return text.str.strip_chars()
    return (
        text.str.normalize("NFKC")
        .str.to_lowercase()
        .str.replace_all(r"\s+", " ")
        .str.strip_chars(_AROUND)
    )


def _score(frame: pl.DataFrame) -> pl.Expr:
    """Return scores that order lists as they are ordered."""
    if "rank" in frame.columns:
        return -pl.col("rank").cast(pl.Float64)
    return pl.col("score") if "score" in frame.columns else -pl.col("row").cast(pl.Float64)


def _first_of_each(rows: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Keep the best-scored row of each user and item; also count the names that lost an item."""
    keys = [name for name in ("user", "request", "named") if name in rows.columns]
    pair = pl.struct(keys)
    if not rows.select(pair.is_duplicated().any()).item():
        return rows, 0
    once = rows.sort("score", descending=True, maintain_order=True).unique(
        keys, keep="first", maintain_order=True
    )
    lost = rows.join(once.select("row", "named"), on=["row", "named"], how="anti")
    return once.sort("row", maintain_order=True), lost["row"].n_unique()


def outside_catalogue(lists: Recommendations, catalogue: Iterable[Table]) -> pl.Series:
    """Return the distinct ids of lists that no table of the catalogue has."""
    ids = _distinct_numbers(lists.frame["item"])
    for table in catalogue:
        if ids.is_empty():
            break
        for part in _parts(table.frame["item"]):
            ids = ids.filter(~ids.is_in(_distinct_numbers(part).unique().implode()))
            if ids.is_empty():
                break
    outside = ids.unique()
    return outside.filter(~are_places(outside))


def _distinct_numbers(ids: pl.Series) -> pl.Series:
    """Deduplicate small whole numbers; return other ids unchanged, as these would cost more."""
    if not ids.dtype.is_integer() or ids.is_empty():
        return ids
    numbers = ids.to_numpy()
    if numbers.min() < 0 or numbers.max() >= max(1 << 20, 4 * len(numbers)):
        return ids
    occurs = np.zeros(int(numbers.max()) + 1, dtype=bool)
    occurs[numbers] = True
    return pl.Series("item", np.flatnonzero(occurs)).cast(ids.dtype)


def _parts(ids: pl.Series) -> Iterator[pl.Series]:
    """Yield longer and longer parts: most lists hold items that come soon."""
    first, size = 0, _FIRST_ROWS
    while first < len(ids):
        yield ids[first : first + size]
        first, size = first + size, 4 * size
