"""Everything that a table may lie in: rows of (user, item, number) to a source of rankwise.

A container keeps the types of ids, or is text, in which whole numbers are written as words are. What
a container cannot hold it says by raising `CannotHoldError`.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import narwhals
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from polars.exceptions import PolarsError
from scipy import sparse

NUMBER = {"recommendations": "score", "truth": "relevance"}


class CannotHoldError(Exception):
    """A container has no place for these rows."""


@dataclass(frozen=True)
class Container:
    """How rows become a source.

    One that ``is_text`` has words for ids, of which those of JSON may also be numbers.
    """

    make: Callable[[pl.DataFrame, str, Any], Any]
    is_text: bool = False
    has_numbers: bool = False

    def __call__(self, frame, role, folder):
        try:
            return self.make(frame, NUMBER[role], folder)
        except (TypeError, ValueError, OverflowError, pa.ArrowException, PolarsError) as error:
            raise CannotHoldError from error


def _pandas(frame, **dtypes):
    return pd.DataFrame(frame.to_dict(as_series=False)).astype(dtypes)


def _by_user(frame, number):
    own = {}
    for user, item, value in frame.select("user", "item", number).rows():
        own.setdefault(user, []).append((item, value))
    return own


def _nested(frame, number):
    if frame.select("user", "item").is_duplicated().any():
        raise CannotHoldError
    return {user: dict(pairs) for user, pairs in _by_user(frame, number).items()}


def _sparse(kind):
    def make(frame, number, folder):
        if not (frame["user"].dtype.is_integer() and frame["item"].dtype.is_integer()):
            raise CannotHoldError
        cells = frame["user"].to_list(), frame["item"].to_list()
        if frame.select("user", "item").is_duplicated().any() or max(map(max, cells)) > 1000:
            raise CannotHoldError
        return kind((frame[number].cast(pl.Float64).to_numpy(), cells))

    return make


def _plain_cells(frame):
    """Raise unless every cell can stand between separators, as no quotes protect it."""
    text = frame.cast(pl.String)
    for column in text:
        if column.null_count() or column.str.contains(r"[\s:]|^$|^#").any():
            raise CannotHoldError
    return text


def _csv(separator):
    return lambda frame, number: frame.write_csv(separator=separator).encode()


def _lines(frame, number):
    return "".join(json.dumps(row) + "\n" for row in _records(frame)).encode()


def _records(frame):
    if any(dtype.is_decimal() for dtype in frame.dtypes):
        raise CannotHoldError
    return frame.to_dicts()


def _json(frame, number):
    return json.dumps(_records(frame)).encode()


def _json_nested(frame, number):
    if frame.schema["user"] != pl.String or frame.schema["item"] != pl.String:
        raise CannotHoldError
    return json.dumps(_nested(frame, number)).encode()


def _trec(frame, number):
    rows = _plain_cells(frame.select("user", "item", number)).rows()
    if number == "relevance":
        return "".join(f"{user} 0 {item} {value}\n" for user, item, value in rows).encode()
    # All ranks but one are lies: the order is said by the column that is named.
    return "".join(f"{user} Q0 {item} 1 {value} tag\n" for user, item, value in rows).encode()


def _movielens(frame, number):
    rows = _plain_cells(frame.select("user", "item", number)).rows()
    return "".join(f"{user}::{item}::{value}::0\n" for user, item, value in rows).encode()


def _recbole(frame, number):
    text = _plain_cells(frame.select("user", "item", number))
    text.columns = ["user_id:token", "item_id:token", "rating:float"]
    return text.write_csv(separator="\t").encode()


def _parquet(frame, number):
    stream = io.BytesIO()
    frame.write_parquet(stream)
    return stream.getvalue()


def _zip(data):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("table", data)
    return stream.getvalue()


PACKED = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zip": _zip}
FILES = {
    "table.csv": _csv(","),
    "table.tsv": _csv("\t"),
    "bars.txt": _csv("|"),
    "table.jsonl": _lines,
    "table.json": _json,
    "nested.json": _json_nested,
    "table.parquet": _parquet,
    "table.trec": _trec,
    "table.dat": _movielens,
    "table.inter": _recbole,
}
TYPED_FILES = ("table.jsonl", "table.parquet")


def _file(name, ending):
    def make(frame, number, folder):
        plain = "table.qrels" if (name, number) == ("table.trec", "relevance") else name
        path = folder / f"{number}-{plain}{ending}"
        path.write_bytes(PACKED[ending](FILES[name](frame, number)))
        return path

    return make


class Row(tuple):
    """A row with names in another order than that of its values' meaning, as Spark has it."""

    def asDict(self):  # noqa: N802 - Spark's name
        return dict(zip(self.__fields__, self, strict=True))


def _rows(frame):
    """Return rows with the item first, and the user last."""
    made = []
    for values in frame.select(reversed(frame.columns)).rows():
        row = Row(values)
        row.__fields__ = [*reversed(frame.columns)]
        made.append(row)
    return made


def _structured(frame):
    if any(column.null_count() or column.dtype in (pl.Int128, pl.UInt128) for column in frame):
        raise CannotHoldError
    if any(dtype.is_decimal() for dtype in frame.dtypes):
        raise CannotHoldError
    columns = {
        column.name: np.asarray(column.to_list()) for column in reversed(frame.get_columns())
    }
    if any(values.dtype.kind not in "iufbU" for values in columns.values()):
        raise CannotHoldError
    array = np.empty(len(frame), [(name, values.dtype) for name, values in columns.items()])
    for name, values in columns.items():
        array[name] = values
    return array


def _maps(frame, number):
    """Return one row per user, with a map of items to numbers."""
    if (
        any(column.null_count() for column in frame)
        or frame.select("user", "item").is_duplicated().any()
    ):
        raise CannotHoldError
    entry = pl.struct(key="item", value=pl.col(number))
    return frame.group_by("user", maintain_order=True).agg(entry.alias("top"))


def _labelled(frame, number):
    """Return a series by user, of which items are the labels and the values floats."""
    if frame[number].null_count():
        raise CannotHoldError
    return {user: _series_of(pairs) for user, pairs in _nested(frame, number).items()}


def _series_of(numbers):
    """Return a series whose labels are no numbers of rows, also where items are 0, 1, 2, …."""
    return pd.Series(
        list(numbers.values()), index=pd.Index(list(numbers), dtype=object), dtype=float
    )


MEMORY: dict[str, Callable[[pl.DataFrame, str, Any], Any]] = {
    "polars": lambda frame, number, _: frame,
    "lazy polars": lambda frame, number, _: frame.lazy(),
    "polars categorical": lambda frame, number, _: frame.with_columns(
        pl.col(pl.String).cast(pl.Categorical)
    ),
    "polars enum": lambda frame, number, _: frame.with_columns(
        column.cast(pl.Enum(column.drop_nulls().unique()))
        for column in frame.select(pl.col(pl.String))
    ),
    "pandas": lambda frame, number, _: _pandas(frame),
    "pandas of Arrow": lambda frame, number, _: frame.to_pandas(use_pyarrow_extension_array=True),
    "pandas nullable": lambda frame, number, _: _pandas(frame).convert_dtypes(),
    "pandas categorical": lambda frame, number, _: _pandas(frame, user="category", item="category"),
    "pandas with an index": lambda frame, number, _: _pandas(frame).set_index("user"),
    "pandas with any index": lambda frame, number, _: _pandas(frame).set_index(
        pd.Index(np.arange(len(frame)) * 7 % 5)
    ),
    "pandas series": lambda frame, number, _: _pandas(frame).set_index(["user", "item"])[number],
    "pyarrow": lambda frame, number, _: pa.table(frame.to_dict(as_series=False)),
    "pyarrow chunks": lambda frame, number, _: pa.concat_tables(
        [frame[:1].to_arrow(), frame[1:].to_arrow()]
    ),
    "columns": lambda frame, number, _: frame.to_dict(as_series=False),
    "columns of arrays": lambda frame, number, _: {c.name: c.to_numpy() for c in frame},
    "pairs": lambda frame, number, _: _by_user(frame, number),
    "mapping": lambda frame, number, _: _nested(frame, number),
    "tuples": lambda frame, number, _: frame.select("user", "item", number).rows(),
    "records": lambda frame, number, _: frame.to_dicts(),
    "rows with names": lambda frame, number, _: _rows(frame),
    "structured array": lambda frame, number, _: _structured(frame),
    "maps by user": lambda frame, number, _: _maps(frame, number),
    "labelled series by user": lambda frame, number, _: _labelled(frame, number),
    "narwhals": lambda frame, number, _: narwhals.from_native(frame),
    "sparse csr": _sparse(sparse.csr_array),
    "sparse csc matrix": _sparse(sparse.csc_matrix),
    "sparse coo": _sparse(sparse.coo_array),
}

CONTAINERS = {name: Container(make) for name, make in MEMORY.items()} | {
    f"{name}{ending}": Container(
        _file(name, ending), name not in TYPED_FILES, name.endswith(".json")
    )
    for name in FILES
    for ending in (PACKED if name in ("table.csv", "table.parquet") else [""])
}
