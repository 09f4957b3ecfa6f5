"""Checks of parts: overlap, use of the test part, and how test differs from training."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from rankwise.errors import ColumnError, ParameterError
from rankwise.messages import call, parameter
from rankwise.splits.audit_parts import PAIR, Check, Parts, Status, rows_in
from rankwise.tables.columns import plain_name

Finding: TypeAlias = (
    "tuple[Status, float | None, str] | tuple[Status, float | None, str, "
    "Callable[[], pl.DataFrame]]"
)
"""The verdict of a check, the number that decides, the finding in words, and what returns the rows at fault."""
CHECKS: dict[str, Callable[[Parts], Check]] = {}
"""Every check, by its code."""


def check(
    code: str, name: str, *, timed: bool = False
) -> Callable[[Callable[[Parts], Finding]], Callable[[Parts], Finding]]:
    """Return a decorator that registers a check; a ``timed`` check needs timestamps to run.

    The docstring of a check is its entry in the documentation: what it finds, its worst verdict
    and the remedy.
    """

    def register(find: Callable[[Parts], Finding]) -> Callable[[Parts], Finding]:
        @wraps(find)
        def run(parts: Parts) -> Check:
            has_inputs = parts.has_times or not timed
            return Check(
                code,
                name,
                *(find(parts) if has_inputs else not_run("timestamps in train and test")),
            )

        CHECKS[code] = run
        return find

    return register


def not_run(needs: str) -> Finding:
    """Return the finding of a check whose required inputs were not given."""
    return "not run", None, f"needs {needs}"


def verdict(bad: object, otherwise: Status = "pass", *, worst: Status = "warn") -> Status:
    """Return the worst status if ``bad`` is true, non-zero or not empty."""
    return worst if bad else otherwise


def at_fault(rows: pl.DataFrame, finding: str, worst: Status = "warn") -> Finding:
    """Return the finding of a check that rows must not fail: their number decides."""
    return verdict(len(rows), worst=worst), len(rows), finding, lambda: rows


_TOP = 10  # length of the list of popular items
_ERRORS = 3  # standard errors within which a difference of hits may be chance
_DAYS = 20  # days of a test below which the busiest has a large share anyway


@check("L10", "popularity drift")
def popularity_drift(parts: Parts) -> Finding:
    """L10: whether the items that are popular in training are also popular in test.

    Finds: popularity drift: test rows hit by the ten most popular items of late training, over
    those hit by the ten of all training.

    Worst verdict: warn above 1.5, if the difference exceeds three standard errors.

    Remedy: Add a baseline of recent popularity to the comparison.
    """
    counts = (
        _counts(parts.train, "item", "train")
        .join(_counts(parts.test, "item", "test"), on="item", how="full", coalesce=True)
        .fill_null(0)
    )
    before, after = counts["train"].to_numpy(), counts["test"].to_numpy()
    finding = f"counts of {len(counts):,} items in training and test: "
    finding += f"Jensen-Shannon divergence {_divergence(before, after):.3f}"
    if len(counts) > 2 and np.ptp(before) and np.ptp(after):
        correlation = counts.select(pl.corr("train", "test", method="spearman")).item()
        finding += f", Spearman {correlation:.3f}"
    if not parts.has_times:
        return "pass", _divergence(before, after), finding
    moment = parts.train["time"].quantile(0.9, interpolation="nearest")
    recent = parts.train.filter(pl.col("time") >= moment)
    of_recent, of_all = (_hit_by_top(part, parts.test) for part in (recent, parts.train))
    hits = [float(hit.mean()) for hit in (of_recent, of_all)]
    lift = hits[0] / hits[1] if hits[1] else (float("inf") if hits[0] else 1.0)
    # Where all items are equally popular, few rows are hit, and twice as many by chance.
    more, fewer = int((of_recent & ~of_all).sum()), int((of_all & ~of_recent).sum())
    is_large = lift > parts.limits.recent_lift
    is_chance = more - fewer <= _ERRORS * math.sqrt(more + fewer)
    finding += f"; the top {_TOP} of the last tenth of training hit {hits[0]:.2%} of test rows, "
    finding += f"of all training {hits[1]:.2%}"
    if is_large and is_chance:
        finding += f", which may be chance (within {_ERRORS} standard errors)"
    return verdict(is_large and not is_chance), lift, finding


def _counts(frame: pl.DataFrame, by: str, name: str) -> pl.DataFrame:
    return frame.group_by(by).agg(pl.len().cast(pl.Int64).alias(name))


def _hit_by_top(train: pl.DataFrame, test: pl.DataFrame) -> Any:
    top = _counts(train, "item", "rows").sort(["rows", "item"], descending=[True, False])
    return test["item"].is_in(top["item"].head(_TOP).implode()).to_numpy()


def _divergence(first: Any, second: Any) -> float:
    """Return the Jensen-Shannon divergence of two counts in bits: 0 if equal, 1 if disjoint."""
    p, q = first / first.sum(), second / second.sum()
    middle = (p + q) / 2

    def entropy_to_middle(shares: Any) -> float:
        used = shares > 0
        return float((shares[used] * np.log2(shares[used] / middle[used])).sum())

    return (entropy_to_middle(p) + entropy_to_middle(q)) / 2


@check("L11", "cold users and items")
def cold(parts: Parts) -> Finding:
    """L11: test rows of cold-start users or items.

    Worst verdict: warn above 0.2.

    Remedy: Report warm and cold users side by side (`by=["history", "item:cold"]`).
    """
    roles = ["item"] if parts.claim == "users" else PAIR  # that claim is to have cold users
    shares, is_cold = [], pl.Series([False]).new_from_index(0, len(parts.test))
    for role in roles:
        unknown = ~parts.test[role].is_in(_warm(parts, role)[role].implode())
        share_of_ids = parts.test[role].filter(unknown).n_unique() / parts.test[role].n_unique()
        share_of_rows = unknown.sum() / len(unknown)
        shares.append(f"{role}s {share_of_ids:.2%} ({share_of_rows:.2%} of rows)")
        is_cold |= unknown
    share = int(is_cold.sum()) / len(is_cold)
    finding = f"cold in {len(parts.test):,} test rows: {', '.join(shares)}; "
    finding += f"{call('evaluate', by=['history', 'item:cold'])} shows both"
    return (
        verdict(share > parts.limits.cold_rows),
        share,
        finding,
        lambda: parts.test.filter(is_cold),
    )


def _warm(parts: Parts, role: str) -> pl.DataFrame:
    """Return warm users, of whom a row is known before the test part, or the items of training."""
    frames = parts.known if role == "user" else [parts.train]
    return pl.concat([frame.select(role) for frame in frames]).unique()


@check("L12", "filtered before the split")
def filtered_before(parts: Parts) -> Finding:
    """L12: a minimum-count (k-core) filter before splitting, or a rule with `filter_on="all"`.

    With such a filter, counts over all parts stop sharply at the minimum, and training counts do
    not. Also found is training that ends before test in which every user, or every item, has a
    test row, although a constant rate of rows would leave a few without.

    Worst verdict: warn if more than 10 users or items are expected just below the minimum, or
    without a test row, where there are none.

    Remedy: Filter training alone: `filters=[KCore(5)]` in the rule. Keep users and items
    without test rows.
    """
    looked, findings, frames = _find_rare_ids(parts)
    rows = pl.concat(frames).unique() if frames else parts.train.head(0)
    finding = "; ".join(findings or looked)
    if findings:
        finding += f": a filter on training alone would change {len(rows):,} rows or more"
    else:
        finding += "; no sharp cut there that training lacks"

    untested = {role: _expected_untested(parts, role) for role in PAIR}
    chosen = {role: n for role, n in untested.items() if n > parts.limits.missing}
    for role, expected in chosen.items():
        finding += f"; every {role} of training has a test row, where about {expected:,.0f} should "
        finding += "have none: test rows decided who is in training"
    if chosen and not findings:
        rows = parts.train
    return verdict(findings or chosen), len(rows), finding, lambda: rows


def _find_rare_ids(parts: Parts) -> tuple[list[str], list[str], list[pl.DataFrame]]:
    """Return the least counts over all parts, and where training alone has less, with its rows."""
    all_pairs = pl.concat([frame.select(PAIR) for frame in parts.named.values()])
    looked, findings, frames = [], [], []
    for role in PAIR:
        counts = _counts(all_pairs, role, "rows")["rows"].to_numpy()
        least, missing = int(counts.min()), _missing_below(counts)
        looked.append(f"{len(counts):,} {role}s have {least:,} or more rows over all parts")
        few = _counts(parts.train, role, "rows").filter(pl.col("rows") < least)
        if few.is_empty() or not (parts.filtered_before or missing > parts.limits.missing):
            continue
        why = f"about {missing:,.0f} are expected just below"
        if parts.filtered_before:
            why = "the rule filters all rows"
        frames.append(parts.train.join(few, on=role, how="semi"))
        findings.append(f"{looked[-1]}, {why}, and {len(few):,} have less in training")
    return looked, findings, frames


def _expected_untested(parts: Parts, role: str) -> float:
    """Return how many ids of training should have no test row, if all have one; else 0.

    Rows of an id come at a constant rate, so that n training rows are followed by none in test with
    the probability exp(−n r), with r the test rows, or their span, per training row. Rows that come
    in bursts leave more ids without. Where training goes on after the first test row, test is no
    later period, and every id may be meant to have a test row.
    """
    if not parts.has_times or parts.claim == "users":
        return 0.0
    if parts.train["time"].max() > parts.test["time"].min():  # type: ignore[operator]
        return 0.0
    counts = _counts(parts.train, role, "rows")
    if len(rows_in(counts, parts.test, role)) < len(counts):
        return 0.0
    test, train = (rows["time"].cast(pl.Float64).to_numpy() for rows in (parts.test, parts.train))
    spans = [float(np.ptp(test)), float(np.ptp(train))]
    rate = max(len(parts.test) / len(parts.train), spans[0] / spans[1] if spans[1] else math.inf)
    return float(np.exp(-rate * counts["rows"].to_numpy()).sum())


def _missing_below(counts: Any) -> float:
    """Return how many ids are expected just below the least count, where there are none.

    A filter cuts a distribution of counts off where it is dense; without one it thins out towards
    its least count. So the number of ids goes on below as it falls from the second step above the
    least count to the first. Nothing is below a count of one, and where all counts are equal, none
    were cut off.
    """
    least = int(counts.min())
    step = max(1, least // 10)
    if least < 2 or counts.max() < 2 * least:  # a narrow distribution has a sharp end of its own
        return 0.0
    first = int((counts < least + step).sum())
    second = int((counts < least + 2 * step).sum()) - first
    return first * min(1.0, first / second) if second else 0.0


@check("L20", "targets in few hands")
def heavy_targets(parts: Parts) -> Finding:
    """L20: one user, or one day, with a large share of the test rows.

    Worst verdict: warn above 0.1 and 20 times the mean; a day above 0.25.

    Remedy: Report the metric without them as well, or with `weights=`.
    """
    limits = parts.limits
    users = _counts(parts.test, "user", "rows").sort("rows", "user", descending=True)
    rows = users["rows"]
    most, median = int(rows[0]) / len(parts.test), float(np.median(rows.to_numpy()))
    finding = f"test rows per user: median {median:g}, most {rows[0]:,} ({most:.2%} of "
    finding += f"{len(parts.test):,} rows of {len(users):,} users)"
    # The heaviest of few users has a large share whatever he does: by that share alone, small
    # tests would always warn.
    is_heavy = most > max(limits.heavy, limits.heavy_mean / len(users))
    day = 0.0
    if parts.has_times:
        assert parts.per_second is not None
        days = parts.test.select(day=(pl.col("time") / parts.per_second / 86400).floor())
        counts = _counts(days, "day", "rows")["rows"]
        day = int(counts.max()) / len(days)  # type: ignore[arg-type]
        finding += f"; busiest of {len(counts):,} days {day:.2%}"
        if len(counts) < _DAYS:
            day, finding = 0.0, f"{finding}, too few days for a limit"
    return verdict(is_heavy or day > limits.busy_day), max(most, day), finding, lambda: users


_BLOCK = 3  # test-only ids from which it is no chance that they are the largest numbers


@check("L1", "same pair on both sides")
def same_pairs(parts: Parts) -> Finding:
    """L1: test rows whose user has the same item in training, validation or history.

    Ids are the same if they differ by a blank, capitals, leading zeros or a trailing `.0`.

    Worst verdict: fail (`repeats=True`: pass).

    Remedy: Remove these rows from training, or state that items are consumed repeatedly.
    """
    both = _known_rows(parts, PAIR)
    finding = f"{len(both):,} of {len(parts.test):,} test rows ({len(both) / len(parts.test):.2%})"
    finding += f" have their user and item among {_sizes(parts)}"
    if parts.repeats:
        return "pass", len(both), f"{finding}; {parameter('repeats', True)}"
    others = _written_otherwise(parts).join(both, on=both.columns, how="anti", nulls_equal=True)
    if len(others):
        row = others.row(0, named=True)
        finding += (
            f"; {len(others):,} more if ids are compared without blanks, capitals, zeros in front "
            f"and .0 behind, such as user {row['user']!r} and item {row['item']!r}"
        )
    return at_fault(pl.concat([both, others]), finding, "fail")


def _written_otherwise(parts: Parts) -> pl.DataFrame:
    """Return the test rows whose user and item are known, if ids that differ in form are one."""
    if pl.String not in (parts.test["user"].dtype, parts.test["item"].dtype):
        return parts.test[:0]
    forms = [_plain_form(name).alias(f"plain {name}") for name in PAIR]
    known = pl.concat([frame.select(PAIR) for frame in parts.known]).unique().select(forms)
    names = [f"plain {name}" for name in PAIR]
    return rows_in(parts.test.with_columns(forms), known, names).drop(names)


def _plain_form(name: str) -> pl.Expr:
    """Return ids without blanks around, capitals, zeros in front of a number and ``.0`` behind it."""
    text = pl.col(name).cast(pl.String).str.strip_chars().str.to_lowercase()
    return text.str.replace(r"^(\d+)\.0+$", "$1").str.replace(r"^0+(\d)", "$1")


@check("L2", "same event on both sides", timed=True)
def same_events(parts: Parts) -> Finding:
    """L2: the same user, item and time in test and in training, validation or history.

    Worst verdict: fail.

    Remedy: Remove the copies before you split: one event is in two files.
    """
    key = [*PAIR, "time"]
    both = _known_rows(parts, key)
    finding = (
        f"{len(both):,} of {len(parts.test):,} test rows are among {_sizes(parts)} with the "
        "same time"
    )
    return at_fault(both, finding, "fail")


def _known_rows(parts: Parts, key: list[str]) -> pl.DataFrame:
    """Return the test rows whose key also occurs among the rows known before them."""
    return rows_in(parts.test, pl.concat([frame.select(key) for frame in parts.known]), key)


def _sizes(parts: Parts) -> str:
    """Return the number of rows of each part except test, in words.

    For example "8 training and 2 validation rows".
    """
    names = {"train": "training"}
    sizes = [
        f"{len(frame):,} {names.get(name, name)}"
        for name, frame in parts.named.items()
        if name != "test"
    ]
    return " and ".join([", ".join(sizes[:-1]), sizes[-1]] if len(sizes) > 1 else sizes) + " rows"


@check("L4", "ids known only from test")
def drift_of_ids(parts: Parts) -> Finding:
    """L4: ids that were encoded over training and test together.

    Finds: ids in the model's `vocabulary=` that occur only in test. Without a vocabulary, a
    guess from ids without gaps over all parts: test-only ids are the largest, or items without
    rows should have left gaps.

    Worst verdict: fail; warn if guessed.

    Remedy: Build the vocabulary from training alone, and train again.
    """
    vocabulary = parts.extra.get("vocabulary")
    if vocabulary is None:
        return _dense_codes(parts)
    if not isinstance(vocabulary, Mapping) or not vocabulary or not set(vocabulary) <= set(PAIR):
        raise ParameterError(
            "vocabulary holds the ids that the model knows, by role",
            found=repr(list(vocabulary) if isinstance(vocabulary, Mapping) else vocabulary)[:80],
            hint='pass {"user": ids, "item": ids}, or one of them',
        )
    leaked, n_ids = [], 0
    for role in vocabulary:
        listed = _ids(vocabulary[role], role).cast(parts.train[role].dtype, strict=False)
        n_ids += len(listed)
        untrained = _untrained(parts, role)
        ids = untrained.filter(untrained.is_in(listed.implode())).cast(pl.String)
        leaked.append(ids.to_frame("id").with_columns(of=pl.lit(role)))
    both = pl.concat(leaked)
    finding = f"{len(both):,} test ids without a training row are in the model's vocabulary of "
    finding += f"{n_ids:,} ids"
    return at_fault(both, finding, "fail")


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


def _dense_codes(parts: Parts) -> Finding:
    """Guess L4 from numbers that run from 0 without a gap over all parts, but not over training.

    Ids that were numbered in the data's source may have no gap either. Two signs tell the two
    apart: test-only ids that are the largest of all, as numbers given after those of training are;
    and items whose counts say that some items must have no row, so that their ids are gaps.
    """
    numbered, looked = 0, []
    for role in PAIR:
        if not parts.train[role].dtype.is_integer():
            return not_run(f"{parameter('vocabulary')} of the model; text ids show nothing")
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
        finding += f"; their numbers show no sign of it; {parameter('vocabulary')} would tell"
    return verdict(numbered), numbered, finding


def _unseen(counts: pl.Series) -> float:
    """Return Chao's estimate of the number of ids that exist and have no row (Chao 1984)."""
    once, twice = int((counts == 1).sum()), int((counts == 2).sum())
    return once**2 / (2 * twice) if twice else once * (once - 1) / 2


@check("L5", "validation and test overlap")
def validation_overlap(parts: Parts) -> Finding:
    """L5: validation rows that are test or training rows, or lie in the test period.

    Finds: validation rows in test or training; if time is claimed, also in the test period.

    Worst verdict: fail.

    Remedy: Cut validation out of training, before the test period.
    """
    if parts.validation is None:
        return not_run("validation rows")
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
    return at_fault(rows, finding, "fail")


_SESSIONS = ("session", "sessionid", "basket", "basketid", "visit", "visitid")


def _begin_anew(frames: Sequence[pl.DataFrame], column: str) -> bool:
    """Return whether session ids begin anew for every user: several users of a part share an id."""
    pairs = (part.select("user", column).unique() for part in frames)
    return any(bool(pair[column].is_duplicated().any()) for pair in pairs)


@check("L6", "users or sessions shared")
def shared_users(parts: Parts) -> Finding:
    """L6: users, or sessions, in test and in training or validation.

    Finds: test users in training or validation, if users are claimed to be held out; sessions
    of test there.

    Worst verdict: fail.

    Remedy: Hold out whole users (`splits.UserHoldout`), or whole sessions (`sessions=` of every
    rule).
    """
    sessions = [
        column
        for column in parts.train.columns
        if plain_name(column) in _SESSIONS and column in parts.test.columns
    ]
    fitted, where = [parts.train], "training"
    if parts.validation is not None:
        fitted, where = [*fitted, parts.validation], "training or validation"
    shared, findings = [], []
    for column in sessions[:1]:
        text = pl.col(column).cast(pl.String)
        known = [frame for frame in fitted if column in frame.columns]
        key = ["user", column] if _begin_anew([*known, parts.test], column) else [column]
        rows = pl.concat([frame.select("user", text) for frame in known])
        both = rows_in(parts.test.with_columns(text), rows, key)
        shared.append(both)
        n_sessions = parts.test.select(key).n_unique()
        findings.append(
            f"{both.select(key).n_unique():,} of {n_sessions:,} test sessions in {where}"
        )
    if parts.claim == "users":
        both = rows_in(parts.test, pl.concat([frame.select("user") for frame in fitted]), "user")
        shared.append(both)
        n_users = parts.test["user"].n_unique()
        findings.append(f"{both['user'].n_unique():,} of {n_users:,} test users in {where}")
    if not findings:
        return not_run(
            f"a column of sessions, or {parameter('claim', 'users')} (strong generalisation)"
        )
    bad = pl.concat(shared, how="diagonal_relaxed").unique()
    return at_fault(bad, ", ".join(findings), "fail")


@check("L14", "tuned on test")
def tuned_on_test(parts: Parts) -> Finding:
    """L14: runs that were selected, or stopped, on the test part.

    Finds: runs selected on test, or tested twice, in a log (`runs=`).

    Worst verdict: fail; warn.

    Remedy: Choose on validation, and test once. Compare all candidates in one call.
    """
    log = parts.extra.get("runs")
    if log is None:
        return not_run(f"{parameter('runs')}, a log with columns run, part and purpose")
    missing = [column for column in ("run", "part", "purpose") if column not in log.columns]
    if missing:
        raise ColumnError(
            "a log of runs has columns run, part and purpose",
            where="runs",
            found=", ".join(log.columns),
        )
    log = log.with_columns(pl.col("part", "purpose").cast(pl.String).fill_null("not said"))
    test = log.filter(pl.col("part") == "test")
    bad = test.filter(pl.col("purpose") != "report")
    finding = f"{len(test):,} evaluations on test of {len(log):,} in the log, {len(bad):,} of them "
    finding += "to select or to stop"
    repeated = test.group_by("run").len().filter(pl.col("len") > 1)
    finding += f"; {len(repeated):,} runs evaluated more than once" if len(repeated) else ""
    status = verdict(len(bad), verdict(len(repeated)), worst="fail")
    return status, len(bad), finding, lambda: bad


@check("L17", "candidates give answers away")
def candidate_order(parts: Parts) -> Finding:
    """L17: whether positions in the candidate set give the positives away.

    Finds: relevant items at the start or the end of the candidate set (`candidates=`): a model
    that gives equal scores then looks good.

    Worst verdict: warn above |z| of 5.

    Remedy: Shuffle each candidate set, or sort it by id.
    """
    if parts.candidates is None:
        return not_run(f"{parameter('candidates')} in the order in which they are scored")
    ranked = parts.candidates.with_columns(
        place=pl.int_range(pl.len()).over("user"), length=pl.len().over("user")
    ).filter(pl.col("length") > 1)
    positives = rows_in(ranked, parts.test, PAIR)
    if positives.is_empty():
        return "warn", None, "no candidate is a test row: do the ids agree?"
    length = positives["length"].to_numpy()
    relative = positives["place"].to_numpy() / (length - 1)
    # In random order, the mean relative position is 1/2, its variance (n + 1) / (12 (n - 1)).
    z = float((relative - 0.5).sum()) / float(((length + 1) / (12 * (length - 1))).sum()) ** 0.5
    first, last = (relative == 0).mean(), (relative == 1).mean()
    finding = f"of {len(positives):,} positives among {len(ranked):,} candidates of "
    finding += (
        f"{ranked['user'].n_unique():,} users {first:.1%} stand first, {last:.1%} last; by chance "
    )
    finding += f"{(1 / length).mean():.1%} each; mean place {relative.mean():.3f}, z {z:.1f}"
    return verdict(abs(z) > parts.limits.candidate_z), z, finding, lambda: positives


@check("L19", "leaks between two stages")
def stage_leaks(parts: Parts) -> Finding:
    """L19: leaks in a two-stage scheme, such as a ranker trained on the candidate model's rows.

    Finds: two stages (`stages=`): ranker rows that the candidate model saw, ranker users in
    both training and validation, ranker rows missing from the rows for refitting and filtering
    seen items.

    Worst verdict: fail.

    Remedy: Train the ranker on rows that the candidate model has not seen, and refit on all
    rows of training.
    """
    stages = parts.stages
    if "candidate_train" not in stages or "ranker_train" not in stages:
        return not_run(f"{parameter('stages')} with candidate_train and ranker_train")
    key = [*PAIR, "time"] if parts.has_times else PAIR
    first, ranker = stages["candidate_train"], stages["ranker_train"]
    validation = stages.get("ranker_validation")
    both = [part.select(key) for part in (ranker, validation) if part is not None]
    labels = ranker if validation is None else pl.concat(both)
    leaks: dict[str, Any] = {
        "ranker rows that the candidate model saw": rows_in(labels, first, key),
        "ranker rows that are test rows": rows_in(labels, parts.test, key),
    }
    if validation is not None:
        leaks["ranker users on both sides"] = rows_in(validation, ranker, ["user"])
    late = labels.filter(pl.col("time") <= first["time"].max()) if parts.has_times else labels[:0]
    leaks["ranker rows not after the candidate model's training"] = late
    missing = labels.join(parts.train.select(key), on=key, how="anti")
    leaks["ranker rows missing from train, which is refitted and gives the seen items"] = missing
    if parts.lists is not None:
        leaks["recommended items of the ranker's rows, not filtered as seen"] = rows_in(
            parts.lists, labels, PAIR
        )
    bad = {description: rows for description, rows in leaks.items() if len(rows)}
    finding = "; ".join(f"{len(rows):,} {what}" for what, rows in bad.items()) or "no leak"
    finding += f" among {len(labels):,} ranker rows and {len(first):,} of the candidate model"
    rows = next(iter(bad.values()), labels.head(0))
    return verdict(bad, worst="fail"), sum(map(len, bad.values())), finding, lambda: rows
