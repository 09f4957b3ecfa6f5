"""`audit`: check a split from any source for leakage (L1 to L24).

One function per check, all over the same ``Parts``: ids of one type, one clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from rankwise.core.arguments import Claim, TimeUnit, check_choice
from rankwise.errors import ColumnError, InputError
from rankwise.splits import (  # noqa: F401 - they register checks
    audit_copies,
    audit_features,
    audit_lists,
    audit_time,
)
from rankwise.splits.audit_checks import CHECKS
from rankwise.splits.audit_parts import Audit, Limits, read_parts
from rankwise.tables.catalogue import ItemNames, named_items
from rankwise.tables.columns import ROLES, Columns, check_columns, plain_name, quoted_columns
from rankwise.tables.files import RawFile, read_file
from rankwise.tables.frames import from_arrow, parse_numbers
from rankwise.tables.read import read_table
from rankwise.tables.table import Table, TableRole


def audit(
    train: Any,
    test: Any = None,
    validation: Any = None,
    recommendations: Any = None,
    *,
    claim: Claim | None = None,
    repeats: bool = False,
    items: Any = None,
    users: Any = None,
    features: Any = None,
    vocabulary: Mapping[str, Iterable[Any]] | None = None,
    codes: str | Mapping[Any, Any] | None = None,
    candidates: Any = None,
    runs: Any = None,
    stages: Mapping[str, Any] | None = None,
    columns: Columns | None = None,
    time_unit: TimeUnit | None = None,
    time_format: str | None = None,
    limits: Limits | None = None,
) -> Audit:
    """Check a split for leakage and common mistakes: L1 to L24, each with a verdict and a number.

    Parameters
    ----------
    train : table, path, mapping, Split or folder
        The training rows; or a split with all its parts, or the folder of one.
    test, validation : table, path or mapping, optional
        The test and validation rows.
    recommendations : table, path or mapping, optional
        Recommendation lists of the test users (L7, L18, L19).
    claim : {"time", "users", "none"}, optional
        The property that the split claims. ``"time"``: no training row is later than a test row;
        ``"users"``: test users have no training rows. A violated claim fails; without a claim the
        check warns. By default the claim follows from the rule of a `Split`.
    repeats : bool, default=False
        Whether users may consume an item more than once (L1 then passes).
    items, users : table or path, optional
        Features of items and users that models use (L13, L15).
    features : table or path, optional
        Rows of a user or an item with a timestamp: when each feature became known (L13).
    vocabulary : mapping of "user" and "item" to ids, optional
        The ids in the model's vocabulary, or ``{id: number}`` (L4).
    codes : str or mapping, optional
        The code of each item, such as a semantic id, as for `rankwise.evaluate`: a column of
        ``items``, or a mapping of each code to its item or items (L24).
    candidates : table or path, optional
        The candidate set of each user in the order in which it is scored (L17).
    runs : table or path, optional
        A log of evaluations with columns ``run``, ``part`` (train, validation, test) and
        ``purpose`` (``report``, or anything else such as select and stop) (L14).
    stages : mapping of str to table, optional
        ``candidate_train``, ``ranker_train``, ``ranker_validation`` of a two-stage scheme (L19).
    columns : mapping of str to str or None, optional
        The column of each role, if its name is not recognised.
    time_unit : {"s", "ms", "us", "ns"}, optional
        The unit of numeric timestamps; by default guessed from their magnitude.
    time_format : str, optional
        The format of dates that are written as text or as whole numbers, such as ``"%d/%m/%Y"``;
        needed where several formats fit the rows of all parts.
    limits : Limits, default=Limits()
        The thresholds above which checks warn.

    Returns
    -------
    Audit

    Raises
    ------
    InputError
        If a table cannot be read.
    ParameterError
        If the test part is missing, or an option is invalid.

    Examples
    --------
    >>> import polars as pl
    >>> from rankwise.splits import GlobalTime
    >>> rows = {"user": [1, 2, 1, 2], "item": [1, 1, 2, 3], "timestamp": [1, 2, 3, 4]}
    >>> result = audit(GlobalTime(share=0.5).split(pl.DataFrame(rows)))
    >>> result["L3"].status, result["L8"].value, result.failed
    ('pass', 0.0, False)
    """
    if claim is not None:
        check_choice("claim", claim, Claim)
    lists = [source for source in (recommendations, candidates) if source is not None]
    read: dict[TableRole, Any] = {"recommendations": lists or None, "items": items, "users": users}
    if features is not None:  # of users or of items
        read |= {"items": features, "users": features}
    given = [role for role, source in read.items() if source is not None]
    check_columns(columns, ["interactions", *given], ("items", "users"))
    item_table = None if items is None else read_table(items, "items", columns)
    user_table = None if users is None else read_table(users, "users", columns)
    named = named_items("codes", codes)
    extra = {
        "items": None if item_table is None else _typed(item_table),
        "codes": None if named is None else ItemNames.of("codes", named, item_table),
        "users": None if user_table is None else _typed(user_table),
        "features": None if features is None else _read_features(features, columns),
        "vocabulary": vocabulary,
        "runs": None if runs is None else _read_frame(runs, "runs"),
        "time_unit": time_unit,
        "time_format": time_format,
    }
    parts = read_parts(
        {
            "train": train,
            "test": test,
            "validation": validation,
            "lists": recommendations,
            "candidates": candidates,
        },
        claim=claim,
        repeats=repeats,
        limits=limits or Limits(),
        stages=stages,
        columns=columns,
        time_unit=time_unit,
        time_format=time_format,
        extra=extra,
    )
    return Audit(
        tuple(CHECKS[code](parts) for code in sorted(CHECKS, key=lambda code: int(code[1:])))
    )


def _typed(table: Table) -> Table:
    """Return a table of items or users, with numeric text columns of a file as numbers."""
    return (
        table.with_frame(parse_numbers(table.frame, table.frame.columns))
        if table.is_text
        else table
    )


def _read_features(source: Any, columns: Columns | None) -> Table:
    """Return features of users, or else of items, with the column ``timestamp``."""
    raw = read_file(source) if isinstance(source, str | Path) else source
    names = raw.frame.columns if isinstance(raw, RawFile) else _read_frame(raw, "features").columns
    of_users = any(plain_name(name) in ROLES["users"]["user"] for name in names)
    table = _typed(read_table(raw, "users" if of_users else "items", columns))
    time_names = ROLES["truth"]["timestamp"]
    times = [name for name in table.frame.columns if plain_name(name) in time_names]
    if not times:
        raise ColumnError(
            "features say when each was known, in a column for the time",
            where=table.source,
            found=quoted_columns(table.frame.columns),
        )
    return table.with_frame(table.frame.rename({times[0]: "timestamp"}))


def _read_frame(source: Any, name: str) -> pl.DataFrame:
    if isinstance(source, str | Path):
        return read_file(source).frame
    if isinstance(source, dict):
        try:
            return pl.DataFrame(source)
        except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
            raise InputError(f"{name}: these columns do not make a table") from error
    if not hasattr(source, "__arrow_c_stream__"):
        raise InputError(f"{name}: neither a table nor a file", found=type(source).__name__)
    return from_arrow(source, name)
