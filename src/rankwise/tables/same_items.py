"""Items that are one item under several ids: chunks of a document, editions of a book, variants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from rankwise.core.units import unit_keys
from rankwise.errors import IdError, ParameterError
from rankwise.messages import mention, parameter
from rankwise.tables.catalogue import item_column, plain_ids
from rankwise.tables.table import Recommendations, SameItems, Table, Tables

_WHAT = "the ids of items that are the same"


def same_items(same: str | Mapping[Any, Any], items: Table | None) -> SameItems:
    """Return the ids in a column of the items, or those of a mapping.

    Raises
    ------
    ColumnError, ParameterError
        If there is no such column.
    IdError
        If ids are neither integers nor text, or of several types.
    ParameterError
        If ids stand for one another in a circle.
    """
    if not isinstance(same, str):
        columns = [
            plain_ids("item", [*same], _WHAT),
            plain_ids("same", [*same.values()], _WHAT),
        ]
        return SameItems(_follow(pl.DataFrame(columns)))

    table, values = item_column(items, same, f"same={same!r}")
    pairs = pl.DataFrame([table.frame["item"], plain_ids("same", values, _WHAT)])
    return SameItems(_follow(pairs.drop_nulls()), table.is_text)


def rename_items(tables: Tables, same: SameItems) -> Tables:
    """Return tables in which each item has one id.

    Of several ground truth rows of one item and user the one of the largest relevance is kept.
    Items that a list has several times are left to ``duplicates=``.
    """
    renamed = {
        role: _with_one_id(table, same)
        for role, table in tables.by_role.items()
        if "item" in table.frame.columns
    }
    return replace(tables.with_tables(renamed), same=same)


def _with_one_id(table: Table, same: SameItems) -> Table:
    """Return a table in which each item has one id, and one row where it has one row per id."""
    if isinstance(table, Recommendations) and table.is_exact:
        raise ParameterError(
            "exact ranks count each id as an item of its own",
            where=table.source,
            found=parameter("same"),
            hint="rank items under the id that holds",
        )
    table, pairs = _of_one_type(table, same)
    frame = table.frame.join(pairs, on="item", how="left", maintain_order="left")
    frame = frame.with_columns(same=pl.coalesce("same", "item"))

    rows = frame
    if table.role == "truth":
        best = [pl.col("relevance")] if "relevance" in frame.columns else []
        rows = _rows_of_best_id(frame, [*unit_keys(frame), "same"], best)
    elif table.role == "items":
        rows = _rows_of_best_id(frame, ["same"], [pl.col("item") == pl.col("same")])

    n_merged = len(frame) - len(rows)
    counts = {**table.counts, "same_merged": n_merged} if n_merged else table.counts
    renamed = rows.with_columns(item="same").select(table.frame.columns)
    return replace(table, frame=renamed, counts=counts)


def _rows_of_best_id(frame: pl.DataFrame, keys: list[str], best: list[pl.Expr]) -> pl.DataFrame:
    """Return the rows of one id for all equal keys: of the best row, or else of the first."""
    ordered = frame.sort(best, descending=True, maintain_order=True) if best else frame
    ids = ordered.group_by(keys, maintain_order=True).agg(best_id=pl.first("item"))
    rows = frame.join(ids, on=keys, how="left", maintain_order="left")
    return rows.filter(pl.col("item") == pl.col("best_id"))


def _of_one_type(table: Table, same: SameItems) -> tuple[Table, pl.DataFrame]:
    """Return the table and the pairs with ids of one type; numbers that were text may be text."""
    ids, pairs = table.frame["item"], same.pairs
    is_text = pairs.schema["item"] == pl.String
    if ids.dtype == pl.String and (is_text or same.is_text):
        return table, pairs.cast(pl.String)
    if ids.dtype.is_integer() and not is_text:
        kind = _wide_integer(ids, *pairs)
        wide = table if ids.dtype == kind else table.with_ids("item", ids.cast(kind))
        return wide, pairs.cast(kind)
    if ids.dtype.is_integer() and table.is_text:
        return table.with_ids("item", ids.cast(pl.String)), pairs
    raise IdError(
        "ids of items, and those that stand for another, are of different types",
        where=table.source,
        found=f"{ids.dtype} and {pairs.schema['item']}",
        hint=f"give both one type in {mention('same')}",
    )


def _wide_integer(*columns: pl.Series) -> pl.DataType:
    """Return a type that holds all ids: of the list's own type a target may be none."""
    if len({column.dtype for column in columns}) == 1:
        return columns[0].dtype
    largest = max((int(column.max() or 0) for column in columns), default=0)  # type: ignore[arg-type]
    return pl.Int64() if largest < 1 << 63 else pl.Int128()


def check_same(same: object) -> None:
    """Raise unless the ids are a column name, or a mapping of each id to the id that holds."""
    if not (same is None or isinstance(same, str) or (isinstance(same, Mapping) and same)):
        raise ParameterError(
            "items that are the same are a column of the items, or a mapping of each id to the id "
            "that holds",
            found=parameter("same", same),
            hint=f"with {parameter('items')} as a table, {parameter('same', 'document')}",
        )


def _follow(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return pairs whose second id stands for itself.

    >>> _follow(pl.DataFrame({"item": ["a", "b", "c"], "same": ["b", "c", "c"]})).rows()
    [('a', 'c'), ('b', 'c')]
    """
    if pairs.schema["item"] != pairs.schema["same"]:
        is_whole = all(dtype.is_integer() for dtype in pairs.dtypes)
        pairs = pairs.cast(_wide_integer(*pairs) if is_whole else pl.String)
    holds = dict(pairs.filter(pl.col("item") != pl.col("same")).iter_rows())
    ends = {}
    for item in holds:
        seen, end = {item}, holds[item]
        while end in holds and end not in seen:
            seen.add(end)
            end = holds[end]
        if end in seen:
            raise ParameterError(
                "these items stand for one another, so that none of their ids holds",
                found=", ".join(map(repr, sorted(seen, key=str)[:5])),
                hint="map every id to the one that holds",
            )
        ends[item] = end
    return pl.DataFrame(
        [[*ends], [*ends.values()]],
        schema={"item": pairs.schema["item"], "same": pairs.schema["item"]},
    )
