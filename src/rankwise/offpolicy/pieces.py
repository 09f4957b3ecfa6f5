"""The sums of one piece of a log: what threads, chunks of a file and executors work on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from rankwise.core.arrays import ExactTotal
from rankwise.errors import ColumnError, InputError, ParameterError
from rankwise.messages import mention, parameter
from rankwise.offpolicy.exposures import KEYS, Log
from rankwise.offpolicy.job import SHARE, Job, check_column
from rankwise.offpolicy.policies import TOLERANCE, Logged, MissingRows, Policy, Situation
from rankwise.offpolicy.predictions import Predictions
from rankwise.offpolicy.sums import Rows, Sums, sums_of, tail_length, weights_of
from rankwise.stats.differences import Floats
from rankwise.tables.columns import quoted_columns


def work(job: Job, log: Log) -> Partial:
    """Return the sums and counts of a piece of the log."""
    has_slates = len(log.first) < log.rows
    is_slate = has_slates or bool(job.is_slate)
    start = log.first_position if job.first_position is None else job.first_position
    log = replace(log, is_slate=is_slate, first_position=start)
    return _Piece(replace(job, is_slate=is_slate), log).partial(has_slates)


@dataclass(frozen=True)
class Partial:
    """The sums and counts of one piece of a log, which holds whole users.

    Attributes
    ----------
    total : Sums or None
        The sums of all requests; None if there is none.
    groups : dict
        The sums of each group of ``by``.
    counts, of_tables : mapping of str to int
        What was counted of the rows, and of the tables of policies.
    gaps : mapping of str to MissingRows
        For each target the rows of which it says nothing.
    outcomes : polars.Series
        The rows of the outcomes that belong to an exposure.
    has_slates : bool
        Whether a request has several rows.
    policies : tuple of str
        The names of the policies that made the log, where it has them.
    source : mapping
        The card of the exposures.
    """

    total: Sums | None
    groups: dict[Any, Sums]
    counts: dict[str, int]
    of_tables: dict[str, int]
    gaps: dict[str, MissingRows]
    outcomes: pl.Series
    has_slates: bool
    policies: tuple[str, ...]
    source: dict[str, Any]


@dataclass(frozen=True)
class _Piece:
    """A piece of a log with whole users, and its rows as each policy sees them."""

    job: Job
    log: Log
    counts: dict[str, int] = field(default_factory=dict)
    of_tables: dict[str, int] = field(default_factory=dict)
    gaps: dict[str, MissingRows] = field(default_factory=dict)

    def situation(self, name: str) -> Situation:
        """Return the situation in which a policy is evaluated on this piece."""
        return replace(self.job.situation(self.log, name), gaps=self.gaps)

    def partial(self, has_slates: bool) -> Partial:
        """Return the sums and counts of the piece."""
        _ = self.job.weighting, self.job.estimator  # raise if the options do not fit
        self.counts.update(self.log.counts)
        if has_slates:
            late = self.log.frame["position"].to_numpy()[self.log.first] > self.log.first_position
            self.counts["requests that do not start at the first position"] = int(late.sum())
        propensity = self._propensity()
        self._check_rewards()
        rows = self._rows(propensity)
        log, by = self.log, self.job.options.by
        if self.job.options.missing == "drop":
            log, rows, propensity = self._without_gaps(rows, propensity)
        groups = {}
        for group, mask in [] if by is None else _groups_of(log, by):
            kept = mask.to_numpy()
            inside = {name: each.filter(kept) for name, each in rows.items()}
            groups[group] = self._sums(log.filter(mask), inside, propensity[kept])
        total = self._sums(log, rows, propensity) if log.rows else None
        names = (
            tuple(map(str, self.log.frame["policy"].unique()))
            if "policy" in self.log.frame.columns
            else ()
        )
        card = self.log.table.card
        return Partial(
            total,
            groups,
            self.counts,
            self.of_tables,
            self.gaps,
            log.outcomes,
            has_slates,
            names,
            card,
        )

    def _sums(self, log: Log, rows: Mapping[str, Rows], propensity: Floats) -> Sums:
        job = self.job
        masses = {
            name: _mass(policy, job.logging_policy, job.situation(log, name))
            for name, policy in job.policies.items()
        }
        return sums_of(
            log, rows, propensity, masses, tail_length(job.rows or log.rows), job.context(log)
        )

    def _asked(self, policy: Policy, name: str) -> Floats:
        """Return the probabilities under a policy, and add its counts under its name."""
        situation = self.situation(name)
        p = np.asarray(policy.probabilities(situation, self.job.kind), dtype=np.float64)
        self.counts.update({f"{name}: {what}": count for what, count in situation.counts.items()})
        self.of_tables.update(
            {f"{name}: {what}": count for what, count in situation.of_tables.items()}
        )
        return p

    def _propensity(self) -> Floats:
        """Return the propensity of each row, checked."""
        job, log = self.job, self.log
        if isinstance(job.propensity, Policy):
            values = self._asked(job.propensity, "propensity")
            _check_propensities(values, log, "the declared policy")
            return values
        name = SHARE if job.estimated else job.propensity
        if name not in log.frame.columns:
            raise _no_propensities(log, name)
        values = log.frame[name].cast(pl.Float64).fill_null(float("nan")).to_numpy()
        _check_propensities(values, log, f"column {log.table.columns.get(name, name)!r}")
        return values

    def _check_rewards(self) -> None:
        """Raise if a reward lies outside ``reward_range``."""
        limits, reward = self.job.options.reward_range, self.log.reward
        if limits is None:
            return
        outside = (reward < limits[0]) | (reward > limits[1])
        if outside.any():
            row = int(np.flatnonzero(outside)[0])
            raise InputError(
                f"a reward lies outside {mention('reward_range')}",
                where=self.log.where(row),
                found=f"{reward[row]:g}, outside {limits[0]:g} to {limits[1]:g}",
            )

    def _rows(self, propensity: Floats) -> dict[str, Rows]:
        """Return each policy's weights and predictions by row; weight NaN marks rows to drop."""
        job, log, model = self.job, self.log, self.job.predictions
        if model is not None and not isinstance(model, Predictions):
            model = Predictions.of(model, self.situation("predictions"), ())
        slates = "independent" if job.weighting == "independent" else "interaction"
        out = {}
        for name, policy in job.policies.items():
            p = self._asked(policy, name)
            weight, before = weights_of(p, propensity, log, job.kind, slates)
            if job.options.missing == "drop" and not isinstance(policy, Logged):
                weight[np.isnan(p)] = np.nan
            predicted, expected = (
                (None, None) if model is None else model.of_policy(policy, self.situation(name))
            )
            if (
                expected is not None and predicted is not None
            ):  # where a policy does as the log, so does the model
                expected = np.where(np.isnan(p), predicted, expected)
            out[name] = Rows(weight, before, predicted, expected)
        return out

    def _without_gaps(
        self, rows: dict[str, Rows], propensity: Floats
    ) -> tuple[Log, dict[str, Rows], Floats]:
        """Return the log without the requests of which a target says nothing."""
        log = self.log
        gap = np.any([np.isnan(each.weight) for each in rows.values()], axis=0)
        if not gap.any():
            return log, rows, propensity
        requests = np.zeros(len(log.first), dtype=bool)
        requests[log.request[gap]] = True
        self.counts["requests left out because a target says nothing about them"] = int(
            requests.sum()
        )
        kept = ~requests[log.request]
        return (
            log.filter(pl.Series(kept)),
            {n: each.filter(kept) for n, each in rows.items()},
            propensity[kept],
        )


def _groups_of(log: Log, by: str) -> list[tuple[Any, pl.Series]]:
    """Return each group of a column with its rows; raise if requests are in several."""
    check_column(log, by, "by")
    if by in (*KEYS, "reward"):
        raise ParameterError(
            f"groups by {by} are not known before an item is shown",
            hint="name a column of the context",
        )
    column = log.frame[by].fill_nan(None) if log.frame[by].dtype.is_float() else log.frame[by]
    if log.is_slate and column.ne_missing(column.gather(log.first[log.request])).any():
        raise InputError(
            f"a request is in several groups by {by}",
            where=log.where(
                int(column.ne_missing(column.gather(log.first[log.request])).arg_true()[0])
            ),
            hint="name a column that has one value per request",
        )
    groups = column.unique().to_list()
    return [(group, column.eq_missing(pl.Series([group], dtype=column.dtype))) for group in groups]


def _check_propensities(values: Floats, log: Log, where: str) -> None:
    """Raise if a row that was shown has a propensity of 0, above 1, or none."""
    with np.errstate(invalid="ignore"):
        bad = ~((values > 0) & (values <= 1.0 + TOLERANCE))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise InputError(
            "a propensity is the probability of what was shown: above 0 and at most 1",
            where=f"{log.where(row)}, {where}",
            found=f"{values[row]:g} ({int(bad.sum()):,} such rows)",
            hint="an item with propensity 0 cannot have been shown: check which list the "
            "propensity belongs to",
        )


def _no_propensities(log: Log, name: Any) -> InputError:
    return ColumnError(
        "there is no column for the propensity"
        if name == "propensity"
        else f"there is no column {name!r}",
        where=log.table.source,
        found=quoted_columns(log.table.frame.columns),
        hint=f"name it, {parameter('columns', {'exposures.propensity': '…'})}; declare the "
        f"policy, {parameter('propensity', 'uniform')} or a table; or estimate it, "
        f"{parameter('propensity', 'shares')}, {parameter('within', ['…'])}. A deterministic log "
        "says nothing about other items: explore first, for example by showing a random item in "
        "5 % of the requests",
    )


def _mass(policy: Policy, logging: Policy | None, situation: Situation) -> ExactTotal | None:
    """Sum over rows the target's probability of items that the log cannot show; None if unknown."""
    ours = None if logging is None else logging.distribution(situation)
    target = None if ours is None else policy.distribution(situation)
    if target is None or ours is None:
        return None
    keys = list(dict.fromkeys([*target[0], *ours[0]]))
    log = situation.log.frame.with_columns(_all=pl.lit(0))
    contexts = log.group_by(keys or ["_all"]).agg(pl.len().alias("n"))
    if target[0]:
        shown = contexts.join(target[1], on=target[0], how="inner", nulls_equal=True)
    else:
        shown = contexts.join(target[1], how="cross")
    possible = ours[1].filter(pl.col("probability") > 0)
    outside = shown.join(possible, on=[*ours[0], "item"], how="anti", nulls_equal=True)
    return ExactTotal.of_products(
        outside["n"].cast(pl.Float64).to_numpy(), outside["probability"].to_numpy()
    )
