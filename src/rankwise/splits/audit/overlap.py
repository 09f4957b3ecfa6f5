"""Overlap of parts: pairs, events, ids, users and sessions (L1, L2, L4 to L6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from rankwise.errors import ParameterError
from rankwise.splits.audit.findings import Check, not_run, verdict
from rankwise.splits.audit.parts import PAIR, Parts, rows_in
from rankwise.tables.columns import plain_name

__all__ = ["drift_of_ids", "same_events", "same_pairs", "shared_users", "validation_overlap"]


def same_pairs(parts: Parts) -> Check:
    """L1: test rows whose user has the same item in training."""
    both = rows_in(parts.test, parts.train, PAIR)
    repeats = len(parts.test) - parts.test.select(PAIR).n_unique()
    finding = f"{len(both):,} of {len(parts.test):,} test rows ({len(both) / len(parts.test):.2%})"
    finding += f", {repeats:,} pairs again within test" if repeats else ""
    name = "same pair on both sides"
    if parts.repeats:
        return Check("L1", name, "pass", len(both), f"{finding}; repeats=True")
    return Check("L1", name, verdict(len(both), worst="fail"), len(both), finding, lambda: both)


def same_events(parts: Parts) -> Check:
    """L2: identical user, item and time in training and test."""
    name = "same event on both sides"
    if not parts.has_times:
        return not_run("L2", name, "timestamps in train and test")
    key = [*PAIR, "time"]
    both = rows_in(parts.test, parts.train, key)
    finding = f"{len(both):,} test rows stand in training with the same time"
    return Check("L2", name, verdict(len(both), worst="fail"), len(both), finding, lambda: both)


def drift_of_ids(parts: Parts) -> Check:
    """L4: ids that were encoded over training and test together."""
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
    leaked = []
    for role in vocabulary:
        known = _ids(vocabulary[role], role).cast(parts.train[role].dtype, strict=False)
        untrained = _untrained(parts, role)
        ids = untrained.filter(untrained.is_in(known.implode())).cast(pl.String)
        leaked.append(ids.to_frame("id").with_columns(of=pl.lit(role)))
    both = pl.concat(leaked)
    finding = f"{len(both):,} ids without a training row are in the model's vocabulary"
    return Check("L4", name, verdict(len(both), worst="fail"), len(both), finding, lambda: both)


def _ids(source: Any, role: str) -> pl.Series:
    try:
        return pl.Series(list(source), strict=True)
    except (TypeError, pl.exceptions.PolarsError) as error:
        raise ParameterError(
            "the ids of a vocabulary are all integers or all strings", where=f"{role}s"
        ) from error


def _untrained(parts: Parts, role: str) -> pl.Series:
    """Return the ids of test users or items without training rows."""
    ids = parts.test[role].unique()
    return ids.filter(~ids.is_in(parts.train[role].unique().implode()))


def _dense_codes(parts: Parts, name: str) -> Check:
    """Guess L4 from ids that run from 0 without a gap over all parts, but not over training."""
    n_untrained = 0  # of users and of items: raw ids may have no gaps either, but start at 1
    for role in PAIR:
        if not parts.train[role].dtype.is_integer():
            return not_run("L4", name, "vocabulary= of the model; text ids show nothing")
        ids = pl.concat([part[role] for part in parts.all_parts]).unique()
        if ids.min() != 0 or ids.max() != len(ids) - 1:
            return Check("L4", name, "pass", 0, "no sign of it; vocabulary= would tell")
        n_untrained += len(_untrained(parts, role))
    finding = f"ids run from 0 without a gap over all parts, and {n_untrained:,} of them not in "
    finding += "training: numbered with the test rows?"
    return Check("L4", name, verdict(n_untrained), n_untrained, finding)


def validation_overlap(parts: Parts) -> Check:
    """L5: validation rows that are test or training rows, or lie in the test period."""
    name = "validation and test overlap"
    if parts.validation is None:
        return not_run("L5", name, "validation rows")
    key = [*PAIR, "time"] if parts.has_times else PAIR
    in_test = rows_in(parts.validation, parts.test, key)
    in_train = rows_in(parts.validation, parts.train, key)
    finding = f"{len(in_test):,} rows in both, {len(in_train):,} validation rows in training"
    bad = [in_test, in_train]
    if parts.has_times:
        late = parts.validation.filter(pl.col("time") >= parts.test["time"].min())
        finding += f", {len(late):,} not before the first test row"
        bad += [late] if parts.claim == "time" else []
    rows = pl.concat(bad).unique()
    return Check("L5", name, verdict(len(rows), worst="fail"), len(rows), finding, lambda: rows)


def shared_users(parts: Parts) -> Check:
    """L6: users, or sessions, in both training and test."""
    name = "users or sessions shared"
    sessions = [
        column for column in parts.train.columns
        if plain_name(column) in ("session", "sessionid", "basket", "basketid")
        and column in parts.test.columns
    ]  # fmt: skip
    shared, findings = [], []
    for column in sessions[:1]:
        text = pl.col(column).cast(pl.String)
        both = rows_in(parts.test.with_columns(text), parts.train.select(text), column)
        shared.append(both)
        findings.append(f"{both[column].n_unique():,} sessions on both sides")
    if parts.claim == "users":
        both = rows_in(parts.test, parts.train, "user")
        shared.append(both)
        findings.append(f"{both['user'].n_unique():,} test users in training")
    if not findings:
        return not_run("L6", name, "a column of sessions, or claim='users' (strong generalisation)")
    bad = pl.concat(shared, how="diagonal_relaxed").unique()
    status = verdict(len(bad), worst="fail")
    return Check("L6", name, status, len(bad), ", ".join(findings), lambda: bad)
