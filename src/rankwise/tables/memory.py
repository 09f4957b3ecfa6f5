"""Plain Python objects, arrays and matrices as frames."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from numbers import Real
from typing import Any

import numpy as np
import polars as pl

from rankwise.core.arrays import check_sparse, is_masked
from rankwise.errors import DuplicateError, FileError, IdError, InputError
from rankwise.tables.columns import (
    LOG_ROLES,
    ROLES,
    check_exact,
    may_have_names,
    names_of,
)
from rankwise.tables.containers import (
    has_labels,
    holds_records,
    is_series,
    read_labelled,
    record_of,
    refuse_frame_by_user,
)
from rankwise.tables.table import TableRole

RANKED = ("recommendations", "reference")
"""Roles of tables that have a score in place of a relevance."""


def number_column(role: TableRole) -> str:
    """Return the column of the numbers of a source that does not name them."""
    return "score" if role in RANKED else "relevance"


def from_array(source: Any, role: TableRole) -> tuple[pl.DataFrame, int]:
    """Return item ids, one row per user, as a frame, and the number of padding entries (-1, "")."""
    rows = source if isinstance(source, list | tuple) else [source]
    if any(is_masked(row) for row in rows):
        raise masked_array_error(role)
    _refuse_labelled_rows(rows, role)
    if role not in (*RANKED, "items"):
        raise InputError(
            f"{role}: an array, or a list of lists, does not say which user has which items",
            hint="pass a table, a list of tuples (user, item), or {user: {items}}",
        )

    array = _dense_array(source, role)
    users = np.repeat(np.arange(array.shape[0], dtype=np.int64), array.shape[1])
    frame = pl.DataFrame({"user": users, "item": array.ravel()})
    filler = "" if array.dtype.kind == "U" else -1  # what short lists are filled up with
    padding = int((array == filler).sum())
    return (frame.filter(pl.col("item") != filler) if padding else frame), padding


def _dense_array(source: Any, role: TableRole) -> np.ndarray[tuple[int, int], Any]:
    """Return item ids as an array of shape (U, K); raise if it may be anything else."""
    try:
        array = np.asarray(source)
    except (TypeError, ValueError, RuntimeError) as error:  # rows of different lengths
        raise _ragged_rows_error(role) from error
    if array.dtype == object and array.ndim == 2:
        raise InputError(
            f"{role}: a dense array holds item ids of one type, best first",
            found="values of several types",
            hint="rows of users and items are a table, or a list of tuples",
        )
    if array.dtype == object:
        raise _ragged_rows_error(role)
    if array.ndim != 2:
        raise InputError(
            f"{role}: a dense array has one row per user",
            found=f"an array of shape {array.shape}",
            hint="pass item ids of shape (users, k)",
        )
    if array.dtype.kind not in "iuU":
        raise IdError(
            "a dense array holds item ids, best first",
            where=role,
            found=f"{array.dtype} values",
            hint="rank a score matrix with rw.rank(scores, k)",
        )
    if _may_be_pairs(array):
        raise InputError(
            f"{role}: this array may hold rows of user and item, or an ordered list for each user",
            found=f"shape {array.shape}, and each value of the first column on rows that follow "
            "one another",
            hint="pass rows as a table or as a list of tuples, lists as {user: [items]}",
        )
    return array


def _refuse_labelled_rows(rows: Any, role: TableRole) -> None:
    """Raise if rows of an array are series with labels, as the rows of a frame are."""
    for number, row in enumerate(rows):
        if is_series(type(row)) and has_labels(row):
            raise InputError(
                f"{role}: rows of an array have no labels, and this series has some",
                where=f"row {number + 1}",
                found=f"labels {', '.join(map(repr, row.index.to_list()[:5]))}",
                hint="if these are rows of a frame, pass the frame; else {user: series} by user",
            )
        if not is_series(type(row)):
            return


def _may_be_pairs(array: Any) -> bool:
    """Return whether an array of two or three columns looks like users beside their items.

    Lists that are short and alike are no such rows: users do not have an item twice.
    """
    if array.shape[1] not in (2, 3) or len(array) < 4:
        return False
    first, changes = array[:, 0], array[1:, 0] != array[:-1, 0]
    grouped = len(np.unique(first)) == 1 + int(changes.sum()) < len(array)
    return grouped and len(np.unique(array[:, :2], axis=0)) == len(array)


def masked_array_error(role: TableRole) -> InputError:
    """Return the error for NumPy's masked arrays."""
    return InputError(
        f"{role}: the mask of a masked array is not read",
        hint="fill masked entries: with -1, which is padding, or drop them",
    )


def _ragged_rows_error(role: TableRole) -> InputError:
    return InputError(
        f"{role}: the rows of the array have different lengths",
        hint="pass {user: [items]} instead, or fill short rows up with -1",
    )


def from_sparse(source: Any, role: TableRole) -> pl.DataFrame:
    """Return a SciPy sparse matrix of scores or relevances, users by items, as a frame.

    Every stored entry is a row, also when its value is 0.
    """
    check_sparse(source, f"the matrix of {role}")
    if role in (*RANKED, "truth"):
        _check_distinct(source, role)
    matrix = source.tocoo()
    number = pl.Series(number_column(role), matrix.data.astype(np.float64))
    if matrix.dtype.kind in "iu":
        check_exact(pl.Series(matrix.data), number, number.name, role)
    users, items = (pl.Series(index.astype(np.int64)) for index in matrix.coords)
    return pl.DataFrame([users.alias("user"), items.alias("item"), number])


def _check_distinct(matrix: Any, role: TableRole) -> None:
    """Raise if a sparse matrix has duplicate entries, which SciPy adds up."""
    csr = matrix.tocsr()
    if csr.has_canonical_format and csr.nnz == matrix.nnz:
        return
    csr = csr.copy()
    csr.sum_duplicates()
    repeated = matrix.nnz - csr.nnz
    if repeated:
        raise DuplicateError(
            "a sparse matrix has several entries of one user and item",
            where=role,
            found=f"{repeated} such entries",
            hint="matrix.sum_duplicates() adds them up, as SciPy does",
        )


def from_mapping(source: Mapping[Any, Any], role: TableRole) -> tuple[pl.DataFrame, str]:
    """Return a mapping as a frame, and its layout.

    Layouts are ``{user: [items]}``, ``{user: item}``, ``{user: [(item, number)]}``,
    ``{user: {item: number}}`` and ``{user: [records]}``, columns by name; for users also
    ``{user: number}``, their weights; and for all tables columns by name,
    ``{"user": [...], "item": [...]}``. A number is a recommendation's score, else a relevance.
    """
    as_columns = _columns(source, role)
    if as_columns is not None:
        return as_columns, "columns"
    if role == "users":
        return _weights(source), "weights"

    users = list(source)
    items = _without_labels(users, list(source.values()), role)
    items, layout = _in_lists(items)
    examples = _example_of_each_type(items)
    _check_kinds(users, items, examples, role)
    lengths = _lengths(users, items, role)
    first = next((value for value, n in zip(items, lengths, strict=True) if n), None)
    if len({isinstance(example, Mapping) for example in examples.values()}) > 1:
        _check_alike(users, items, first, role)

    ids = _repeated(id_series("user", users, role), lengths)
    flat, numbers = list(chain.from_iterable(items)), None
    if isinstance(first, Mapping):
        layout = "{user: {item: number}}"
        numbers = list(chain.from_iterable(value.values() for value in items if len(value)))
    elif flat and record_of(flat[0]) is not None:
        return _records_by_user(ids, flat, role), "records by user"
    elif flat and isinstance(flat[0], tuple | list):
        layout = "{user: [(item, number)]}"
        flat, numbers = _pairs(flat, role)

    frame = pl.DataFrame({"user": ids, "item": id_series("item", flat, role)})
    if numbers is not None:
        frame = frame.with_columns(number_series(number_column(role), numbers, role))
    return frame, layout


def _in_lists(items: list[Any]) -> tuple[list[Any], str]:
    """Put items that stand alone into lists; also return the layout."""
    single = {kind for kind in _example_of_each_type(items) if _is_id(kind)}
    if not single:
        return items, "{user: [items]}"
    return [[value] if type(value) in single else value for value in items], "{user: item}"


def _example_of_each_type(values: Sequence[Any]) -> dict[type, Any]:
    """Return a value of each type: checks need no look at all values."""
    return dict(zip(map(type, values), values, strict=True))


def _without_labels(users: Sequence[Any], items: list[Any], role: TableRole) -> list[Any]:
    """Convert labelled series of users to lists, or to dicts of item to number.

    Raises if labels may be items or not, and for frames.
    """
    kinds = {*map(type, items)}
    for kind in kinds:
        user, value = next(
            (user, value) for user, value in zip(users, items, strict=True) if type(value) is kind
        )
        refuse_frame_by_user(user, value, role)
    if not any(map(is_series, kinds)):
        return items
    return [
        read_labelled(value, role, f"user {user!r}") if is_series(type(value)) else value
        for user, value in zip(users, items, strict=True)
    ]


def _lengths(users: Sequence[Any], items: Sequence[Any], role: TableRole) -> list[int]:
    """Return how many items each user has; raise for arrays of no dimension, which have none."""
    try:
        return list(map(len, items))
    except TypeError:
        user, value = next(
            (u, v) for u, v in zip(users, items, strict=True) if not getattr(v, "ndim", 1)
        )
        raise _no_items_error(user, value, role) from None


def _no_items_error(user: Any, value: Any, role: TableRole) -> InputError:
    return InputError(
        f"{role}: each user needs an item or a list of items",
        where=f"user {user!r}",
        found=f"{value!r} ({type(value).__name__})",
    )


def _repeated(ids: pl.Series, lengths: list[int]) -> pl.Series:
    """Repeat each id by its length: whole numbers directly, other ids by row number."""
    if ids.dtype == pl.Int64 and not ids.null_count():
        return pl.Series(ids.name, np.repeat(ids.to_numpy(), lengths))
    return ids.gather(np.repeat(np.arange(len(ids)), lengths))


def _records_by_user(users: pl.Series, records: list[Any], role: TableRole) -> pl.DataFrame:
    """Return one row per record, with the columns by name and the user."""
    rows = _as_records(records)
    if rows is None:
        odd = next(record for record in records if record_of(record) is None)
        raise InputError(
            f"{role}: lists hold items, (item, number) pairs or records, and these hold several of "
            "them",
            found=f"{records[0]!r} and {odd!r}",
        )
    frame = from_mapping_of_columns(columns_of(rows), role)
    names = names_of(frame.columns, role, "user")
    if names:
        raise InputError(
            f"{role}: records by user have a user of their own",
            where=f"user {users[0]!r}",
            found=repr(records[0])[:80],
            hint=f"drop {names[0]!r}, or pass all records as one list",
        )
    return frame.insert_column(0, users)


def _columns(source: Mapping[Any, Any], role: TableRole) -> pl.DataFrame | None:
    """Return columns by name as a frame; None if the mapping is not of this layout."""
    ids = _ids_of_role(role)
    columns = _columns_of_ids(source, role, ids)
    if len(columns) < len(ids) or not all(_is_column(source[name]) for name in columns):
        if role == "items":
            raise InputError(
                "items: a mapping is read as columns by name, one of them the item",
                found=f"keys {', '.join(map(repr, list(source)[:5]))}",
                hint='pass {"item": [...], "genres": [...]}, a table, or the ids of the catalogue',
            )
        return None

    lengths = {name: len(source[name]) for name in columns}
    if len(set(lengths.values())) > 1:
        raise InputError(
            f"{role}: this is read as columns by name, which have one length; or as users called "
            f"{' and '.join(map(repr, columns))}, each with a list",
            found=", ".join(f"{name!r}: {length} values" for name, length in lengths.items()),
            hint="pass a table, which is unambiguous",
        )
    return from_mapping_of_columns(source, role)


def _ids_of_role(role: TableRole) -> list[str]:
    """Return the columns of ids that a table of a role has at least."""
    if role in ("users", "items"):
        return [role[:-1]]
    return ["item"] if role in LOG_ROLES else ["user", "item"]


def _columns_of_ids(source: Mapping[Any, Any], role: TableRole, ids: Sequence[str]) -> list[str]:
    """Return the keys of a mapping that are names of columns of ids, or hold lists beside a user."""
    has_names = any(issubclass(kind, str) for kind in {*map(type, source)})
    names = [name for name in source if isinstance(name, str)] if has_names else []
    if not may_have_names(names, role, ids):
        return []  # of users, mostly
    columns = [name for column in ids for name in names_of(names, role, column)]
    if len(columns) == 1 and len(ids) == 2 and names_of(columns, role, "user"):
        columns += [name for name in names if name not in columns and _holds_lists(source[name])]
    return columns


def from_mapping_of_columns(source: Mapping[Any, Any], where: str) -> pl.DataFrame:
    """Convert ``{name: values}`` to a frame; values of mixed types become objects."""
    columns = [series_from_values(str(name), values, where) for name, values in source.items()]
    try:
        return pl.DataFrame(columns)
    except pl.exceptions.PolarsError as error:
        raise InputError(
            f"{where}: these columns do not make a table", found=str(error).splitlines()[0]
        ) from error


def series_from_values(name: str, values: Any, where: str) -> pl.Series:
    """Convert values to a column; whole numbers mixed with floats become floats, also in lists.

    Values that have no type in common stay Python's objects: `object_column_error` is raised if the column
    is needed.
    """
    column = _values(values)
    _check_no_padding(name, column, where)
    if isinstance(column, list) and _is_named_tuple(_first_value(column)):
        column = [_as_mapping(value) for value in column]

    first = _first_value(column) if isinstance(column, list) else None
    if isinstance(first, list | tuple | np.ndarray):
        return _lists_of(name, column, where)
    if isinstance(first, Mapping) and _all_are(Mapping, column):
        return _records_of(name, column, where)
    try:
        return pl.Series(name, column)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        if _all_are(Real, column):
            return number_series(name, column, where)
        return pl.Series(name, list(column), dtype=pl.Object)


def _check_no_padding(name: str, column: Any, where: str) -> None:
    """Raise if rows of an array in a column hold -1, as padding does."""
    if not isinstance(column, np.ndarray) or column.ndim != 2 or column.dtype.kind != "i":
        return
    n_padding = int((column == -1).sum())
    if n_padding:
        raise InputError(
            f"{where}: the rows of an array in a column are lists of one length, and -1 is no item",
            where=f"column {name!r}",
            found=f"{n_padding} times -1",
            hint="if it is padding, pass lists without it: [row[row != -1].tolist() for row in "
            "array]",
        )


def _first_value(column: list[Any]) -> Any:
    """Return the first value that is not None, or None."""
    return next((value for value in column if value is not None), None)


def _is_named_tuple(value: Any) -> bool:
    """Return whether a value is a named tuple."""
    return isinstance(value, tuple) and record_of(value) is not None


def _all_are(kind: type | tuple[type, ...], column: Iterable[Any]) -> bool:
    """Return whether all values that are not None are of a kind."""
    return all(value is None or isinstance(value, kind) for value in column)


def _lists_of(name: str, column: list[Any], where: str) -> pl.Series:
    """Return a column of lists.

    Polars takes the type of the first list for all of them: fractions in others would be cut off.
    """
    lists = [value.tolist() if isinstance(value, np.ndarray) else value for value in column]
    if are_records(lists):
        lists = [value and [_as_mapping(record) for record in value] for value in lists]
    if not _all_are((list, tuple), lists):
        return pl.Series(name, column, dtype=pl.Object)
    flat = series_from_values(
        name, list(chain.from_iterable(value or () for value in lists)), where
    )
    if flat.dtype == pl.Object:
        return pl.Series(name, column, dtype=pl.Object)

    numbers = np.arange(len(lists))
    owner = np.repeat(numbers, [len(value or ()) for value in lists])
    items = pl.DataFrame({"row": owner, "list": flat})
    grouped = items.group_by("row", maintain_order=True).agg("list")
    rows = pl.DataFrame({"row": numbers, "is_null": [value is None for value in lists]})
    rows = rows.join(grouped, on="row", how="left", maintain_order="left")
    present = pl.when(pl.col("is_null").not_()).then(pl.col("list").fill_null([]))
    return rows.select(present.alias(name))[name]


NESTED = (list, tuple, np.ndarray)
_COLUMN = (list, np.ndarray)


def first_of(cells: Iterable[Any]) -> Any:
    """Return the first value that is no gap, which tells of all; None if there is none."""
    return next((cell for cell in cells if not _is_gap(cell)), None)


def _is_gap(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float) and cell != cell)


def are_records(column: Collection[Any]) -> bool:
    """Return whether lists hold records whose fields have names: named tuples, or Spark's rows."""
    nested = {kind for kind in {*map(type, column)} if issubclass(kind, NESTED)}
    first = (
        next((value for value in column if type(value) in nested and len(value)), [None])
        if nested
        else [None]
    )
    return _is_named_tuple(first[0])


def _as_mapping(record: Any) -> Any:
    fields = record_of(record)
    return record if fields is None else fields


def _as_records(rows: Collection[Any]) -> list[Mapping[Any, Any]] | None:
    """Return rows as mappings of field names to values; None if a row has no field names."""
    records = [record_of(row) for row in rows]
    named = [record for record in records if record is not None]
    return named if len(named) == len(records) else None


def _records_of(name: str, column: list[Any], where: str) -> pl.Series:
    """Return a column of records, each of whose fields is read as a column is."""
    fields = dict.fromkeys(chain.from_iterable(value for value in column if value is not None))
    if not all(isinstance(field, str) for field in fields):
        return _maps_of(name, column, where)
    values = {str(field): [(value or {}).get(field) for value in column] for field in fields}
    columns = [series_from_values(field, cells, where) for field, cells in values.items()]
    if not columns or any(one.dtype == pl.Object for one in columns):
        return pl.Series(name, column, dtype=pl.Object)
    return pl.DataFrame(columns).to_struct(name)


def _maps_of(name: str, column: list[Any], where: str) -> pl.Series:
    """Convert dicts whose keys are not field names to lists of entries with a key and a value."""
    entries = [
        None if value is None else [{"key": key, "value": number} for key, number in value.items()]
        for value in column
    ]
    return _lists_of(name, entries, where)


def refuse_tuples(
    columns: Mapping[Any, Any], role: TableRole, overrides: Mapping[str, str | None]
) -> None:
    """Raise if a column of ids holds tuples, each of which may be one id of several parts.

    Polars and Arrow have no tuples: they would become lists of items.
    """
    for name, values in columns.items():
        plain = str(name)
        is_id = plain in (overrides.get("user"), overrides.get("item")) or any(
            names_of([one], role, column)
            for one in (plain, plain.removesuffix("s"))
            for column in ("user", "item")
            if column in ROLES[role]
        )
        if not is_id:
            continue
        cells = values.values() if isinstance(values, Mapping) else values
        for row, cell in enumerate(cells, start=1):
            if isinstance(cell, tuple):
                raise tuple_id_error(cell, f"{role}, column {plain!r}, row {row}")
            if not _is_gap(cell):
                break  # the first that is no gap tells of all


def tuple_id_error(value: Sequence[Any], where: str) -> IdError:
    """Return the error for an id of several parts, such as the codes of a semantic id."""
    return IdError(
        "ids are integers or strings, and this is a tuple",
        where=where,
        found=repr(value)[:80],
        hint='join its codes into one text, "-".join(map(str, codes)); if it is a list of items, '
        "make it a list",
    )


def _is_column(values: object) -> bool:
    return hasattr(values, "__len__") and not isinstance(values, str | bytes | set | frozenset)


def _holds_lists(values: object) -> bool:
    if isinstance(values, np.ndarray) and values.ndim == 2:
        return True
    return (
        isinstance(values, list | tuple)
        and bool(values)
        and isinstance(values[0], list | tuple | np.ndarray)
    )


def _values(column: Any) -> Any:
    """Return the values of a column; pandas' JSON has them by number of row."""
    if isinstance(column, Mapping):
        return list(column.values())
    if isinstance(column, np.ndarray) and column.dtype == object:
        return column.tolist()
    if isinstance(column, list | tuple):
        sets = (set, frozenset)
        return [sorted(value, key=str) if isinstance(value, sets) else value for value in column]
    return column


def _weights(source: Mapping[Any, Any]) -> pl.DataFrame:
    weights = list(source.values())
    wrong = next((w for w in weights if not isinstance(w, Real)), None)
    if wrong is not None:
        raise InputError(
            "users: a mapping holds a weight for each user, or columns by name",
            found=f"{wrong!r}",
            hint='pass {user: weight}, {"user": [...], "group": [...]}, or a table',
        )
    values = number_series("weight", weights, "users")
    return pl.DataFrame({"user": id_series("user", list(source), "users"), "weight": values})


def _is_id(kind: type) -> bool:
    """Return whether values of a type are one id, which stands for a list of one."""
    return issubclass(kind, str | int | np.integer) and not issubclass(kind, bool)


def _pairs(flat: list[Any], role: TableRole) -> tuple[list[Any], list[Any]]:
    """Return the first and the second values of pairs."""
    are_pairs = all(issubclass(kind, tuple | list) for kind in {*map(type, flat)})
    if are_pairs and {*map(len, flat)} == {2}:
        return [item for item, _ in flat], [number for _, number in flat]

    odd = [pair for pair in flat if not isinstance(pair, tuple) or len(pair) != 2]
    parts = next((pair for pair in odd if isinstance(pair, tuple) and len(pair) > 2), None)
    if parts is not None:
        raise tuple_id_error(parts, role)
    raise InputError(
        f"{role}: lists hold items or (item, number) pairs, not both", found=repr(odd[0])
    )


def _check_kinds(
    users: Sequence[Any], items: Sequence[Any], examples: Mapping[type, Any], role: TableRole
) -> None:
    """Raise if a user's value has an unreadable type, or is a set where order matters."""
    for kind, example in examples.items():
        if is_masked(example):
            raise masked_array_error(role)
        is_record = not isinstance(example, Mapping) and record_of(example) is not None
        readable = not isinstance(example, bytes) and hasattr(example, "__len__") and not is_record
        if readable and not (role in RANKED and isinstance(example, set | frozenset)):
            continue
        user, value = next(
            (user, value) for user, value in zip(users, items, strict=True) if type(value) is kind
        )
        if readable:
            raise InputError(
                f"{role}: a set has no order",
                where=f"user {user!r}",
                hint="pass a list, best first, or (item, score) pairs",
            )
        raise _no_items_error(user, value, role)
    if tuple in examples:
        _refuse_two_columns(users, items, role)


def _refuse_two_columns(users: Sequence[Any], items: Sequence[Any], role: TableRole) -> None:
    """Raise if a user's value may be a pair of lists, items and numbers, as models return them."""
    for user, value in zip(users, items, strict=True):
        if (
            type(value) is not tuple
            or len(value) != 2
            or not all(isinstance(part, _COLUMN) for part in value)
        ):
            continue
        if all(len(part) == len(value[0]) for part in value) and all(
            _is_id(type(item)) for item in value[0]
        ):
            raise InputError(
                f"{role}: these two lists may be the items and their numbers, or two (item, "
                "number) pairs",
                where=f"user {user!r}",
                found=repr(value)[:80],
                hint="pass pairs as tuples in a list: [(item, number), …]; of two lists: "
                "list(zip(items, numbers))",
            )


def _check_alike(users: Sequence[Any], items: Sequence[Any], first: Any, role: TableRole) -> None:
    """Raise if users have lists and dicts of numbers mixed."""
    for user, value in zip(users, items, strict=True):
        if len(value) and isinstance(value, Mapping) != isinstance(first, Mapping):
            raise InputError(
                f"{role}: users have lists, or dicts of item to number, not both",
                where=f"user {user!r}",
                found=type(value).__name__,
            )


def id_series(column: str, values: list[Any], role: TableRole) -> pl.Series:
    """Return ids, all integers or all strings, as a column."""
    try:
        return pl.Series(column, values, strict=True)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
        types = sorted({type(value).__name__ for value in values})
        if types == ["int"]:  # of which one is beyond 64 bits, as the check of ids says
            with contextlib.suppress(OverflowError, pl.exceptions.PolarsError):
                return pl.Series(column, values, dtype=pl.Int128)
        # An integer beyond 128 bits, or text that is no Unicode, if there is only one type.
        reason = f": {str(error).splitlines()[0]}" if len(types) == 1 else ""
        raise IdError(
            "ids are integers or strings, and all of one kind",
            where=f"{role}, {column}",
            found=" and ".join(types) + reason,
        ) from None


def number_series(column: str, values: list[Any], where: str) -> pl.Series:
    """Convert numbers to a column of floats; raise if a value is not a number."""
    try:
        if {*map(type, values)} <= {int, float}:
            number = pl.Series(column, np.array(values, dtype=np.float64))
        else:
            number = pl.Series(
                column, [None if value is None else float(value) for value in values], pl.Float64
            )
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"{where}: the {column} must be a number", found=str(error).splitlines()[0]
        ) from error
    check_exact(values, number, column, where)
    return number


def types_of_rows(source: Sequence[Any]) -> set[type]:
    """Return the types of rows that are all tuples or records; an empty set for any other list."""
    types = {*map(type, source)}
    return (
        types if all(issubclass(kind, tuple) or holds_records([kind]) for kind in types) else set()
    )


def from_rows(
    source: Sequence[Any], kinds: Collection[type], role: TableRole
) -> tuple[pl.DataFrame, str]:
    """Convert rows, tuples or records by name, to a frame; also return the name of their layout."""
    records = _as_records(source) if holds_records(kinds) else None
    if records is not None:
        return from_mapping_of_columns(columns_of(records), role), "records"
    _refuse_rows_of_frames(source, role)
    if not all(issubclass(kind, tuple) for kind in kinds) or {*map(len, source)} not in ({2}, {3}):
        odd = next(
            (row for row in source if not isinstance(row, tuple) or len(row) not in (2, 3)),
            source[0],
        )
        raise InputError(
            f"{role}: rows are tuples (user, item), or (user, item, number), all of one length",
            found=repr(odd)[:80],
            hint="a list for each user is a list, not a tuple",
        )
    users, items = ([row[at] for row in source] for at in (0, 1))
    frame = pl.DataFrame(
        {"user": id_series("user", users, role), "item": id_series("item", items, role)}
    )
    if len(source[0]) == 2:
        return frame, "[(user, item)]"
    numbers = number_series(number_column(role), [row[2] for row in source], role)
    return frame.with_columns(numbers), "[(user, item, number)]"


def _refuse_rows_of_frames(source: Sequence[Any], role: TableRole) -> None:
    """Raise for the rows of `iterrows`, each of which is a label and a series."""
    first = source[0]
    if isinstance(first, tuple) and any(is_series(type(cell)) for cell in first):
        raise InputError(
            f"{role}: rows of a frame are read from the frame",
            found="tuples of a label and a series",
            hint="pass the frame itself, or [*df.itertuples(index=False)]",
        )


def columns_of(records: Iterable[Any]) -> dict[Any, list[Any]]:
    """Return records as columns by name, None where a record lacks a field."""
    rows = [_as_mapping(record) for record in records]
    return {
        name: [row.get(name) for row in rows] for name in dict.fromkeys(chain.from_iterable(rows))
    }


def _one_row_per_user(document: Mapping[str, Any], frame: pl.DataFrame) -> pl.DataFrame:
    """Return rows of users as lists by user, in the order of a document, empty ones included."""
    lists = frame.group_by("user", maintain_order=True).all()
    users = pl.DataFrame({"user": [*document]})
    whole = users.join(lists, on="user", how="left", maintain_order="left")
    return whole.with_columns(pl.exclude("user").fill_null([]))


def from_document(document: Any, where: str) -> pl.DataFrame:
    """Return a JSON document as a frame: records, one record, columns, or a mapping by user.

    The numbers of ``{user: {item: number}}`` are in a column ``score``, which also says relevance.
    """
    if isinstance(document, list) and types_of_rows(document):
        return from_mapping_of_columns(columns_of(document), where)
    if isinstance(document, dict) and document:
        names = list(document)
        user = names_of(names, "truth", "user")
        if user and not isinstance(document[user[0]], list | dict):
            return from_mapping_of_columns(columns_of([document]), where)
        try:
            frame, layout = from_mapping(document, "recommendations")
            if layout != "columns" and any(own in ([], {}) for own in document.values()):
                return _one_row_per_user(document, frame)
            return frame
        except InputError as error:
            raise FileError(error.what, where=where, found=error.found, hint=error.hint) from error
    raise FileError(
        "this JSON does not hold a table",
        where=where,
        found=f"{type(document).__name__}: {str(document)[:60]}",
        hint='write records [{"user": …, "item": …}, …], or {user: [items]}, or {user: {item: '
        "number}}",
    )
