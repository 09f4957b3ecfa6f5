"""What stands on both sides: pairs, events, ids, users, sessions (L1, L2, L4 to L6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from rankwise.auditing.parts import PAIR, Parts, rows_in
from rankwise.auditing.report import Check, not_run, verdict
from rankwise.errors import ParameterError
from rankwise.io.columns import plain_name

__all__ = ["drift_of_ids", "same_events", "same_pairs", "shared_users", "validation_overlap"]


def same_pairs(parts: Parts) -> Check:
    """L1: test rows whose user has the same item in training."""
    both = rows_in(parts.test, parts.train, PAIR)
    again = len(parts.test) - parts.test.select(PAIR).n_unique()
    said = f"{len(both):,} of {len(parts.test):,} test rows ({len(both) / len(parts.test):.2%})"
    said += f", {again:,} pairs again within test" if again else ""
    if parts.repeats:
        return Check("L1", "same pair on both sides", "pass", len(both), f"{said}; repeats=True")
    status = verdict(len(both), worst="fail")
    return Check("L1", "same pair on both sides", status, len(both), said, lambda: both)


def same_events(parts: Parts) -> Check:
    """L2: identical user, item and time in training and test."""
    name = "same event on both sides"
    if not parts.has_times:
        return not_run("L2", name, "timestamps in train and test")
    key = [*PAIR, "time"]
    both = rows_in(parts.test, parts.train, key)
    said = f"{len(both):,} test rows stand in training with the same time"
    return Check("L2", name, verdict(len(both), worst="fail"), len(both), said, lambda: both)


def drift_of_ids(parts: Parts) -> Check:
    """L4: ids that were numbered over training and test together."""
    name = "ids known only from test"
    vocabulary = parts.extra.get("vocabulary")
    if vocabulary is None:
        return _dense_codes(parts, name)
    if not isinstance(vocabulary, Mapping) or not vocabulary or not set(vocabulary) <= set(PAIR):
        raise ParameterError(
            "vocabulary holds the ids that the model knows, by role",
            found=repr(list(vocabulary) if isinstance(vocabulary, Mapping) else vocabulary)[:80],
            hint='pass {"user": ids, "item": ids}, or one of them',
        )
    found = []
    for role in vocabulary:
        known = _ids(vocabulary[role], role).cast(parts.train[role].dtype, strict=False)
        fresh = _fresh(parts, role)
        found.append(
            fresh.filter(fresh.is_in(known.implode()))
            .cast(pl.String)
            .to_frame("id")
            .with_columns(of=pl.lit(role))
        )
    both = pl.concat(found) if found else pl.DataFrame()
    said = f"{len(both):,} ids without a training row are in the model's vocabulary"
    return Check("L4", name, verdict(len(both), worst="fail"), len(both), said, lambda: both)


def _ids(source: Any, role: str) -> pl.Series:
    try:
        return pl.Series(list(source), strict=True)
    except (TypeError, pl.exceptions.PolarsError) as error:
        raise ParameterError(
            "the ids of a vocabulary are all integers or all strings", where=f"{role}s"
        ) from error


def _fresh(parts: Parts, role: str) -> pl.Series:
    asked = parts.test[role].unique()
    return asked.filter(~asked.is_in(parts.train[role].unique().implode()))


def _dense_codes(parts: Parts, name: str) -> Check:
    """Guess it from ids that run from 0 without a gap over all parts, and not over training.

    Only where users and items both do: raw ids may be gapless too, but then they start at 1.
    """
    fresh = 0
    for role in PAIR:
        if not parts.train[role].dtype.is_integer():
            return not_run("L4", name, "vocabulary= of the model; text ids show nothing")
        every = pl.concat([part[role] for part in parts.every]).unique()
        if every.min() != 0 or every.max() != len(every) - 1:
            said = "no sign of it; vocabulary= would tell"
            return Check("L4", name, "pass", 0, said)
        fresh += len(_fresh(parts, role))
    said = f"ids run from 0 without a gap over all parts, and {fresh:,} of them not in training: "
    said += "numbered with the test rows?"
    return Check("L4", name, verdict(fresh), fresh, said)


def validation_overlap(parts: Parts) -> Check:
    """L5: validation rows that are test rows, or lie in the test period under a claim of time."""
    name = "validation and test overlap"
    if parts.validation is None:
        return not_run("L5", name, "validation rows")
    key = [*PAIR, "time"] if parts.has_times else PAIR
    both = rows_in(parts.validation, parts.test, key)
    learned = rows_in(parts.validation, parts.train, key)
    said = f"{len(both):,} rows in both, {len(learned):,} validation rows in training"
    bad = [both, learned]
    if parts.has_times:
        late = parts.validation.filter(pl.col("time") >= parts.test["time"].min())
        said += f", {len(late):,} not before the first test row"
        bad += [late] if parts.claim == "time" else []
    found = pl.concat(bad).unique()
    return Check("L5", name, verdict(len(found), worst="fail"), len(found), said, lambda: found)


def shared_users(parts: Parts) -> Check:
    """L6: users, or sessions, on both sides."""
    name = "users or sessions shared"
    session = [
        column for column in parts.train.columns
        if plain_name(column) in ("session", "sessionid", "basket", "basketid")
        and column in parts.test.columns
    ]  # fmt: skip
    found, said = [], []
    for column in session[:1]:
        text = pl.col(column).cast(pl.String)
        both = rows_in(parts.test.with_columns(text), parts.train.select(text), column)
        found.append(both)
        said.append(f"{both[column].n_unique():,} sessions on both sides")
    if parts.claim == "users":
        both = rows_in(parts.test, parts.train, "user")
        found.append(both)
        said.append(f"{both['user'].n_unique():,} test users in training")
    if not said:
        return not_run("L6", name, "a column of sessions, or claim='users' (strong generalisation)")
    bad = pl.concat(found, how="diagonal_relaxed").unique()
    status = verdict(len(bad), worst="fail")
    return Check("L6", name, status, len(bad), ", ".join(said), lambda: bad)
