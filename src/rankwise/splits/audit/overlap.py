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

_BLOCK = 3  # test-only ids from which it is no chance that they are the largest numbers


def same_pairs(parts: Parts) -> Check:
    """L1: test rows whose user has the same item in training, validation or history."""
    both = _known_rows(parts, PAIR)
    finding = f"{len(both):,} of {len(parts.test):,} test rows ({len(both) / len(parts.test):.2%})"
    finding += f" have their user and item among {_sizes(parts)}"
    name = "same pair on both sides"
    if parts.repeats:
        return Check("L1", name, "pass", len(both), f"{finding}; repeats=True")
    return Check("L1", name, verdict(len(both), worst="fail"), len(both), finding, lambda: both)


def same_events(parts: Parts) -> Check:
    """L2: identical user, item and time in test and in training, validation or history."""
    name = "same event on both sides"
    if not parts.has_times:
        return not_run("L2", name, "timestamps in train and test")
    key = [*PAIR, "time"]
    both = _known_rows(parts, key)
    finding = f"{len(both):,} of {len(parts.test):,} test rows are among {_sizes(parts)} with the same time"
    return Check("L2", name, verdict(len(both), worst="fail"), len(both), finding, lambda: both)


def _known_rows(parts: Parts, key: list[str]) -> pl.DataFrame:
    """Return the test rows whose key also occurs among the rows known before them."""
    return rows_in(parts.test, pl.concat([frame.select(key) for frame in parts.known]), key)


def _sizes(parts: Parts) -> str:
    """Return the numbers of rows in training and in the other parts that are known before test.

    For example "8 training and 2 validation rows".
    """
    names = {"train": "training"}
    sizes = [f"{len(frame):,} {names.get(name, name)}" for name, frame in parts.named.items() if name != "test"]
    return " and ".join([", ".join(sizes[:-1]), sizes[-1]] if len(sizes) > 1 else sizes) + " rows"


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
    leaked, n_known = [], 0
    for role in vocabulary:
        known = _ids(vocabulary[role], role).cast(parts.train[role].dtype, strict=False)
        n_known += len(known)
        untrained = _untrained(parts, role)
        ids = untrained.filter(untrained.is_in(known.implode())).cast(pl.String)
        leaked.append(ids.to_frame("id").with_columns(of=pl.lit(role)))
    both = pl.concat(leaked)
    finding = f"{len(both):,} test ids without a training row are in the model's vocabulary of "
    finding += f"{n_known:,} ids"
    return Check("L4", name, verdict(len(both), worst="fail"), len(both), finding, lambda: both)


def _ids(source: Any, role: str) -> pl.Series:
    try:
        return pl.Series(list(source), strict=True)
    except (TypeError, pl.exceptions.PolarsError) as error:
        raise ParameterError("the ids of a vocabulary are all integers or all strings", where=f"{role}s") from error


def _untrained(parts: Parts, role: str) -> pl.Series:
    """Return the ids of test users or items without training rows."""
    ids = parts.test[role].unique()
    return ids.filter(~ids.is_in(parts.train[role].unique().implode()))


def _dense_codes(parts: Parts, name: str) -> Check:
    """Guess L4 from numbers that run from 0 without a gap over all parts, but not over training.

    Ids that were numbered in the data's source may have no gap either. Two signs tell the two
    apart: test-only ids that are the largest of all, as numbers given after those of training are;
    and items whose counts say that some items must have no row, so that their ids are gaps.
    """
    numbered, looked = 0, []
    for role in PAIR:
        if not parts.train[role].dtype.is_integer():
            return not_run("L4", name, "vocabulary= of the model; text ids show nothing")
        counts = pl.concat([part.select(role) for part in parts.all_parts])[role].value_counts()
        untrained = _untrained(parts, role)
        looked.append(f"{len(untrained):,} of {len(counts):,} {role}s")
        ids = counts[role]
        if len(untrained) and ids.min() == 0 and ids.max() == len(ids) - 1:
            last = untrained.min() > parts.train[role].max()  # type: ignore[operator]
            by_rows = role == "item" and _unseen(counts["count"]) > parts.limits.unseen
            numbered += len(untrained) if (last and len(untrained) >= _BLOCK) or by_rows else 0
    finding = f"{' and '.join(looked)} are only in test or validation"
    if numbered:
        finding += f"; ids run from 0 without a gap over all parts, so {numbered:,} of them were "
        finding += "numbered with the test rows"
    else:
        finding += "; their numbers show no sign of it; vocabulary= would tell"
    return Check("L4", name, verdict(numbered), numbered, finding)


def _unseen(counts: pl.Series) -> float:
    """Return Chao's estimate of the number of ids that exist and have no row (Chao 1984)."""
    once, twice = int((counts == 1).sum()), int((counts == 2).sum())
    return once**2 / (2 * twice) if twice else once * (once - 1) / 2


def validation_overlap(parts: Parts) -> Check:
    """L5: validation rows that are test or training rows, or lie in the test period."""
    name = "validation and test overlap"
    if parts.validation is None:
        return not_run("L5", name, "validation rows")
    key = [*PAIR, "time"] if parts.has_times else PAIR
    in_test = rows_in(parts.validation, parts.test, key)
    in_train = rows_in(parts.validation, parts.train, key)
    finding = f"of {len(parts.validation):,} validation rows {len(in_test):,} are in test, "
    finding += f"{len(in_train):,} in training"
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
        column
        for column in parts.train.columns
        if plain_name(column) in ("session", "sessionid", "basket", "basketid") and column in parts.test.columns
    ]
    shared, findings = [], []
    for column in sessions[:1]:
        text = pl.col(column).cast(pl.String)
        both = rows_in(parts.test.with_columns(text), parts.train.select(text), column)
        shared.append(both)
        n_sessions = parts.test[column].n_unique()
        findings.append(f"{both[column].n_unique():,} of {n_sessions:,} test sessions in training")
    if parts.claim == "users":
        both = rows_in(parts.test, parts.train, "user")
        shared.append(both)
        n_users = parts.test["user"].n_unique()
        findings.append(f"{both['user'].n_unique():,} of {n_users:,} test users in training")
    if not findings:
        return not_run("L6", name, "a column of sessions, or claim='users' (strong generalisation)")
    bad = pl.concat(shared, how="diagonal_relaxed").unique()
    status = verdict(len(bad), worst="fail")
    return Check("L6", name, status, len(bad), ", ".join(findings), lambda: bad)
