"""Containers of other libraries, recognised without imports: records, labelled series, frames.

A record is read by the names of its fields, a series by its labels where they are ids. What cannot
be read without a guess is refused with the call that makes it readable.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping
from typing import Any, Literal

import numpy as np
import polars as pl

from rankwise.core.arrays import is_masked
from rankwise.errors import ColumnError, InputError
from rankwise.tables.columns import LOG_ROLES, ROLES, names_of
from rankwise.tables.table import TableRole

_WAYS_OUT = {
    "collect": "collect it first: source.collect()",
    "compute": "compute it first: source.compute()",
    "to_pyarrow": "pass its table: source.to_pyarrow()",
    "to_polars": "pass its table: source.to_polars()",
    "to_arrow": "pass its table: source.to_arrow()",
    "to_pandas": "pass its frame: source.to_pandas()",
    "to_dataframe": "pass its frame: source.to_dataframe()",
}
"""Methods of frames that rankwise does not read, and the hint that follows from each."""

_LIST = r"^\[.*\]$|^\{.*\}$"
_LOOKED_AT = 100  # texts, whether they are lists


def record_of(row: Any) -> Mapping[Any, Any] | None:
    """Return the fields of a record by name; None if fields have no names.

    Records are mappings, named tuples, and rows of Spark, sqlite3 or SQLAlchemy.

    >>> from collections import namedtuple
    >>> record_of(namedtuple("Row", "item user")(5, "ann")), record_of(("ann", 5))
    ({'item': 5, 'user': 'ann'}, None)
    """
    if isinstance(row, Mapping):
        return row
    if hasattr(row, "asDict"):
        with contextlib.suppress(
            TypeError
        ):  # a row of Spark that was made without names is a plain tuple
            by_name: Mapping[Any, Any] = row.asDict()
            return by_name
        return None
    if hasattr(row, "_asdict"):
        fields: Mapping[Any, Any] = row._asdict()
        return fields
    if _has_keys(type(row)):
        return dict(zip(row.keys(), row, strict=True))
    return None


def holds_records(kinds: Collection[type]) -> bool:
    """Return whether any of the types is a record type."""
    return any(
        issubclass(kind, Mapping)
        or hasattr(kind, "_asdict")
        or hasattr(kind, "asDict")
        or _has_keys(kind)
        for kind in kinds
    )


def _has_keys(kind: type) -> bool:
    """Return whether a type has keys like rows of sqlite3, but is no mapping and no table."""
    return hasattr(kind, "keys") and hasattr(kind, "__getitem__") and not hasattr(kind, "items")


def is_series(kind: type) -> bool:
    """Return whether a type is a series with labels, as in pandas."""
    return (
        kind.__name__ == "Series" and hasattr(kind, "reset_index") and not hasattr(kind, "compute")
    )


def has_labels(series: Any) -> bool:
    """Return whether the labels of a series differ from the numbers of its rows."""
    index = series.index
    return index.nlevels > 1 or not (
        index.dtype.kind in "iu" and np.array_equal(index.to_numpy(), np.arange(len(index)))
    )


def read_labelled(series: Any, role: TableRole, where: str) -> list[Any] | dict[Any, Any]:
    """Return the items of a series: its values, best first, or its labels with values as numbers.

    Raises
    ------
    InputError
        If both may be items.
    """
    meaning = _meaning(series, role)
    if meaning == "values":
        values: list[Any] = series.to_list()
        return values
    if meaning is None:
        raise InputError(
            f"{role}: the labels of this series may be its items, or its values may be",
            where=where,
            found=f"label {series.index.to_list()[0]!r} beside value {series.to_list()[0]!r}",
            hint="if the values are the items, pass series.to_list(); if the labels are, "
            "series.to_dict()",
        )
    if not series.index.is_unique:
        label = series.index[series.index.duplicated()][0]
        raise InputError(
            f"{role}: the labels of this series are its items, and one stands twice",
            where=where,
            found=repr(label),
        )
    return dict(zip(series.index, series, strict=True))


def _meaning(series: Any, role: TableRole) -> Literal["values", "labels"] | None:
    """Return whether the items of a series are its values or its labels; None if ambiguous."""
    if not len(series) or not has_labels(series):
        return "values"
    if series.index.nlevels > 1:
        return None
    for name, meaning in ((series.name, "values"), (series.index.name, "labels")):
        if isinstance(name, str) and names_of([name], role, "item"):
            return meaning  # type: ignore[return-value]
    if series.dtype.kind in "fb":
        return "labels"
    # A catalogue is ids; numbers by item, as `value_counts` gives them, have labels with a name.
    are_ids = isinstance(series.iloc[0], str) or role == "items"
    return "values" if are_ids and series.index.dtype.kind in "iu" else None


def is_frame(source: Any) -> bool:
    """Return whether an object is a frame or a labelled array, judged by its type."""
    kind = type(source)
    if isinstance(source, np.ndarray | Mapping | str | bytes | pl.LazyFrame) or is_series(kind):
        return False
    has_names = any(
        hasattr(kind, name) for name in ("columns", "column_names", "schema", "dims", "compute")
    )
    return has_names and (
        hasattr(kind, "__arrow_c_stream__") or any(hasattr(kind, name) for name in _WAYS_OUT)
    )


def refuse_frame(source: Any, where: str) -> None:
    """Raise for a frame without Arrow's interface, which would be read as an array."""
    if not is_frame(source) or hasattr(type(source), "__arrow_c_stream__"):
        return
    kind = type(source)
    hint = next(hint for name, hint in _WAYS_OUT.items() if hasattr(kind, name))
    if hasattr(kind, "toPandas"):  # Spark, which has collect() as well
        hint = (
            "evaluate it on Spark, rankwise.spark.evaluate, or pass what fits memory: "
            "source.toPandas()"
        )
    raise InputError(
        "a frame of this library is not read as it is",
        where=where,
        found=f"{kind.__module__}.{kind.__qualname__}",
        hint=hint,
    )


def refuse_frame_by_user(user: Any, frame: Any, role: TableRole) -> None:
    """Raise for a frame in the place of a user's items."""
    refuse_frame(frame, f"{role}, user {user!r}")
    if not is_frame(frame):
        return
    hint = "pass one table of all users, with a column for the user"
    if hasattr(frame, "reset_index"):
        hint += ': pd.concat(frames, names=["user"]).reset_index("user")'
    elif isinstance(frame, pl.DataFrame):
        hint += (
            ": pl.concat(frame.with_columns(user=pl.lit(user)) for user, frame in frames.items())"
        )
    elif type(frame).__module__.startswith("datasets"):
        hint = f"pass one of them: source[{user!r}]"
    raise InputError(
        f"{role}: a mapping has items for each user, and this one a frame",
        where=f"key {user!r}",
        found=f"{type(frame).__module__.split('.')[0]}.{type(frame).__qualname__}",
        hint=hint,
    )


def structured_columns(array: Any, role: TableRole) -> dict[str, Any]:
    """Return the fields of a structured array of NumPy as columns by name."""
    if is_masked(array) or array.ndim != 1:
        raise InputError(
            f"{role}: a structured array has one row per record, and no mask",
            found=f"an array of shape {array.shape}",
            hint="pass array.ravel(), or fill masked entries",
        )
    return {name: array[name] for name in array.dtype.names}


def with_levels(series: Any, number: str, where: str) -> Any:
    """Convert a pandas Series with a multi-level index to a frame; drop repeated levels.

    ``number`` is the name of its values. `nlargest` of groups repeats the levels by which it
    grouped.
    """
    series = with_distinct_levels(series, where)
    if number in series.index.names:
        raise _same_name(f"a level of the index and the values are both called {number!r}", where)
    return series.reset_index(name=number)


def with_distinct_levels(source: Any, where: str) -> Any:
    """Drop repeated index levels of a pandas object; raise if levels of one name differ."""
    levels = [*source.index.names]
    repeated = [at for at, name in enumerate(levels) if name is not None and name in levels[:at]]
    for at in repeated:
        first = source.index.get_level_values(levels.index(levels[at]))
        if not (first == source.index.get_level_values(at)).all():
            raise _same_name(
                f"two levels of the index are called {levels[at]!r}, and differ", where
            )
    return source.droplevel(repeated) if repeated else source


def _same_name(what: str, where: str) -> ColumnError:
    return ColumnError(
        what, where=where, hint="name the levels of the index apart: rename_axis([…])"
    )


def list_in_text(
    frame: pl.DataFrame, role: TableRole, overrides: Mapping[str, str | None]
) -> str | None:
    """Return the item column if each user has one row, with a list written as text; else None."""
    if not {"user", "item"} <= ROLES[role].keys() or role in LOG_ROLES:
        return None
    users = [overrides["user"]] if overrides.get("user") else names_of(frame.columns, role, "user")
    texts = [
        name for name, dtype in frame.schema.items() if dtype == pl.String and name not in users
    ]
    for name in texts:
        if not _may_be_items(name, role, overrides):
            continue
        text = frame[name].drop_nulls().head(_LOOKED_AT).str.strip_chars()
        if not len(text) or not text.str.contains(_LIST).all():
            continue
        if not any(frame[user].is_duplicated().any() for user in users if user in frame.columns):
            return name
    return None


def _may_be_items(name: str, role: TableRole, overrides: Mapping[str, str | None]) -> bool:
    if overrides.get("item") is not None:
        return name == overrides["item"]
    return any(names_of([one], role, "item") for one in (name, name.removesuffix("s")))
