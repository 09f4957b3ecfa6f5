"""The audit of a split, whoever made it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from rankwise.arguments import check_choice
from rankwise.auditing import overlap, pipeline, shift, timing
from rankwise.auditing.parts import Claim, Limits, read_parts
from rankwise.auditing.report import Audit
from rankwise.io.tables import Table, read_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rankwise.io.columns import Columns
    from rankwise.splits.times import TimeUnit

__all__ = ["audit"]

_CHECKS = (
    overlap.same_pairs, overlap.same_events, timing.boundary, overlap.drift_of_ids,
    overlap.validation_overlap, overlap.shared_users, timing.future_items, timing.future_data,
    timing.horizon, shift.popularity_drift, shift.cold, shift.filtered_before,
    pipeline.late_features, pipeline.tuned_on_test, shift.copies, timing.torn,
    pipeline.candidate_order, pipeline.too_good, pipeline.stage_leaks, shift.heavy_targets,
)  # fmt: skip


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
    candidates: Any = None,
    runs: Any = None,
    stages: Mapping[str, Any] | None = None,
    columns: Columns | None = None,
    time_unit: TimeUnit | None = None,
    limits: Limits | None = None,
) -> Audit:
    """Look for leaks and traps in a split: checks L1 to L20, each with a verdict and a number.

    Parameters
    ----------
    train : table, path, mapping, Split or folder
        The training rows; or a split, or a folder that holds one, with all its parts.
    test, validation : table, path or mapping, optional
        The other parts.
    recommendations : table, path or mapping, optional
        Lists that were made for the test users (L7, L18, L19).
    claim : {"time", "users", "none"}, optional
        What the split claims: nothing in training is later than anything in test; or test users
        have no training rows. What breaks a claim fails; without one it warns. Taken from the
        card of a split of ours.
    repeats : bool
        Users may have an item again (L1 then passes).
    items, users : table or path, optional
        What models know about items and users (L13, L15).
    features : table or path, optional
        Rows of a user or an item with a timestamp: when each feature was known (L13).
    vocabulary : mapping of "user" and "item" to ids, optional
        The ids that the model has numbers for, or ``{id: number}`` (L4).
    candidates : table or path, optional
        Candidates of each user in the order in which they are scored (L17).
    runs : table or path, optional
        A log with columns ``run``, ``part`` (train, validation, test) and ``purpose``
        (``report``, or anything else such as select and stop) (L14).
    stages : mapping of str to table, optional
        ``candidate_train``, ``ranker_train``, ``ranker_validation`` of a two-stage scheme (L19).
    columns : mapping of str to str or None, optional
        Which column has which role, where the names do not say so.
    time_unit : {"s", "ms", "us", "ns"}, optional
        What numbers in timestamps count.
    limits : Limits, optional
        From where on checks warn.

    Returns
    -------
    Audit

    Raises
    ------
    InputError
        If a table cannot be read.

    Examples
    --------
    >>> import polars as pl
    >>> from rankwise.splits import GlobalTime
    >>> rows = {"user": [1, 2, 1, 2], "item": [1, 1, 2, 3], "timestamp": [1, 2, 3, 4]}
    >>> found = audit(GlobalTime(share=0.5).split(pl.DataFrame(rows)))
    >>> found["L3"].status, found["L8"].value, found.failed
    ('pass', 0.0, False)
    """
    if claim is not None:
        check_choice("claim", claim, Claim)
    extra = {
        "items": None if items is None else read_table(items, "items", columns),
        "users": None if users is None else read_table(users, "users", columns),
        "features": None if features is None else _features(features, columns),
        "vocabulary": vocabulary,
        "runs": None if runs is None else _log(runs),
    }
    parts = read_parts(
        {"train": train, "test": test, "validation": validation, "lists": recommendations,
         "candidates": candidates},
        claim=claim, repeats=repeats, limits=limits or Limits(), stages=stages, columns=columns,
        time_unit=time_unit, extra=extra,
    )  # fmt: skip
    return Audit(tuple(check(parts) for check in _CHECKS))


def _features(source: Any, columns: Columns | None) -> Table:
    """Read features of users, or else of items; their timestamps keep their column."""
    frame = _frame(source)
    kind: Any = (
        "users" if any(name.lower().startswith("user") for name in frame.columns) else "items"
    )
    table = read_table(frame, kind, columns)
    if "timestamp" in table.frame.columns:
        return table
    known = ("time", "date", "datetime", "ts", "at")
    named = [name for name in table.frame.columns if name.lower() in known]
    frame = table.frame.rename({named[0]: "timestamp"}) if named else table.frame
    return table.with_frame(frame)


def _log(source: Any) -> pl.DataFrame:
    return _frame(source)


def _frame(source: Any) -> pl.DataFrame:
    from rankwise.io.files import read_file

    if isinstance(source, pl.DataFrame):
        return source
    if hasattr(source, "__arrow_c_stream__") or isinstance(source, dict):
        return pl.DataFrame(source)
    return read_file(source).frame
