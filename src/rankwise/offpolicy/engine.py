"""The off-policy engine: `Job.of` checks options, `work` sums pieces, `finish` merges the sums.

A job and its partials can be pickled. A log is worked on in one piece, in several threads, chunk by
chunk from Parquet, or on Spark; the result has the same bits.

``exposures`` sorts rows by user, request and position, so that user sums have one order; all other
sums are exact; which requests are kept as the heaviest is decided by their weights under all
policies and never by their order; rows without ids are put in the order of their sums. So threads,
chunks of Parquet and buckets on Spark give the same bits. Policies become weights by row
(``policies``, ``sums.weights_of``), weights become sums by user and position (``sums``), and
everything that is printed is computed from these: values, differences and their lines of user sums
(``values``, ``intervals``), diagnostics and support (``support``), tables (``summary``). The tail
of an interval has one saddle point; Newton steps find it, and start from that of the last value.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from numbers import Real
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from rankwise.core.arguments import check_choice
from rankwise.core.arrays import ExactTotal
from rankwise.errors import ColumnError, InputError, ParameterError
from rankwise.findings.columns import table_of
from rankwise.findings.margins import Margin, check_margin
from rankwise.offpolicy.exposures import (
    KEYS,
    Log,
    OnMissing,
    check_outcomes,
    read_log,
    read_outcomes,
    request_of_several_users,
)
from rankwise.offpolicy.finding import LogFinding
from rankwise.offpolicy.policies import (
    TOLERANCE,
    Kind,
    Logged,
    MissingRows,
    OfTable,
    Policy,
    Situation,
    Uniform,
    as_policy,
    item_series,
)
from rankwise.offpolicy.predictions import Predictions, with_folds
from rankwise.offpolicy.result import LOGGED, NO_GROUP, OffPolicy
from rankwise.offpolicy.summary import Summary, per_user, positions_of
from rankwise.offpolicy.sums import Rows, Sums, sums_of, tail_length, weights_of
from rankwise.offpolicy.support import calibration_p
from rankwise.offpolicy.values import Estimator
from rankwise.stats.differences import Floats, check_level
from rankwise.stats.many_systems import Correction
from rankwise.tables.columns import Columns, quoted_columns
from rankwise.tables.table import Table

Slates: TypeAlias = Literal["auto", "interaction", "independent", "cascade_dr"]
_SHARE = "_share"
"""The column of propensities that are shares of the log."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of one call, checked."""

    baseline: str
    within: Sequence[str]
    propensities: Kind | None
    slates: Slates
    estimator: Estimator
    alpha: float
    correction: Correction
    margin: Margin
    missing: OnMissing
    reward_range: tuple[float, float] | None
    by: str | None

    def __post_init__(self) -> None:
        if isinstance(self.within, str):
            object.__setattr__(self, "within", (self.within,))
        if not isinstance(self.within, Sequence) or not all(
            isinstance(name, str) for name in self.within
        ):
            raise ParameterError(
                "within is columns of the exposures", found=f"within={self.within!r}"
            )
        if not isinstance(self.by, str | None):
            raise ParameterError("by is one column", found=f"by={self.by!r}")
        limits = self.reward_range
        if limits is not None and not _is_range(limits):
            raise ParameterError(
                "reward_range has the smallest and the largest reward",
                found=f"reward_range={limits!r}",
                hint="(0, 1)",
            )
        check_level("alpha", self.alpha)
        check_choice("slates", self.slates, Slates)
        check_choice("estimator", self.estimator, Estimator)
        check_choice("missing", self.missing, OnMissing)
        check_choice("correction", self.correction, Correction)
        if self.propensities is not None:
            check_choice("propensities", self.propensities, Kind)
        if isinstance(self.margin, Mapping):
            raise ParameterError("there is one reward, so one margin", found=repr(self.margin))
        if self.margin is not None:
            check_margin(self.margin)


def _is_range(limits: Any) -> bool:
    """Return whether limits are two numbers, the smaller one first."""
    is_pair = isinstance(limits, Sequence) and len(limits) == 2
    return (
        is_pair and all(isinstance(limit, Real) for limit in limits) and bool(limits[0] < limits[1])
    )


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
class Job:
    """The evaluation of a log: options, policies and the tables that all pieces share.

    Attributes
    ----------
    items : polars.Series or None
        The items that can be shown, where they matter.
    rows : int
        The number of rows of the log, or more.
    is_slate : bool or None
        Whether a request has several rows; None: each piece tells.
    first_position : int or None
        The first position of the log; None: each piece tells.
    """

    options: Options
    policies: dict[str, Policy]
    propensity: str | Policy
    predictions: Any
    outcomes: Table | None
    columns: Columns | None
    window: Any
    items: pl.Series | None = None
    rows: int = 0
    is_slate: bool | None = None
    first_position: int | None = None
    tables: dict[Any, Any] = field(default_factory=dict, repr=False)
    """The tables of policies, read and joined once in each process."""

    @classmethod
    def of(
        cls,
        options: Options,
        targets: Mapping[str, Any],
        propensity: Any,
        predictions: Any,
        outcomes: Any,
        columns: Columns | None,
        reward: Mapping[str, float] | None,
        window: Any,
    ) -> Job:
        """Check the arguments, and read all tables but the exposures."""
        if not isinstance(targets, Mapping):
            raise ParameterError(
                "targets are policies by name",
                found=repr(targets)[:80],
                hint='targets={"new": "p_new"}',
            )
        if not targets or LOGGED in targets:
            raise ParameterError(
                "targets are policies by name"
                if not targets
                else "the logging policy is in every result",
                found=f"targets of the names {', '.join(map(repr, targets))}"
                if targets
                else "no target",
                hint='targets={"new": "p_new"}',
            )
        if options.baseline not in (LOGGED, *targets):
            raise ParameterError(
                f"there is no policy {options.baseline!r} for the baseline",
                found=", ".join([LOGGED, *targets]),
            )
        policies = {
            name: as_policy(target, columns).with_tables_read(columns)
            for name, target in targets.items()
        }
        if isinstance(propensity, str) and propensity == "uniform":
            propensity = Uniform()
        elif propensity is None or (isinstance(propensity, str) and "." not in propensity):
            propensity = "propensity" if propensity is None else propensity
        else:
            propensity = as_policy(propensity, columns).with_tables_read(columns)
        if outcomes is None and (reward is not None or window is not None):
            raise ParameterError(
                "there are no outcomes",
                found="reward=" if reward is not None else "window=",
                hint="pass outcomes, or leave it out",
            )
        table = read_outcomes(outcomes, columns, reward)
        job = cls(options, policies, propensity, predictions, table, columns, window)
        _ = job.estimator  # raises before the log is read
        return job

    def __reduce__(self) -> Any:
        return Job, tuple(
            getattr(self, each.name) for each in fields(self) if each.name != "tables"
        )

    @property
    def needs_items(self) -> bool:
        """Whether a policy or a model depends on all items that can be shown."""
        return self.cross_fits or any(policy.needs_items for _, policy in self.all_policies)

    @property
    def all_policies(self) -> list[tuple[str, Policy]]:
        """The targets by name, with a declared logging policy under ``propensity``."""
        declared = [] if self.logging_policy is None else [("propensity", self.logging_policy)]
        return [*self.policies.items(), *declared]

    @property
    def logging_policy(self) -> Policy | None:
        """The logging policy; None unless ``propensity`` is a policy."""
        return self.propensity if isinstance(self.propensity, Policy) else None

    @property
    def cross_fits(self) -> bool:
        """Whether predictions come from a regressor."""
        return hasattr(self.predictions, "fit") and hasattr(self.predictions, "predict")

    @property
    def estimated(self) -> bool:
        """Whether propensities are shares of the log."""
        return isinstance(self.propensity, str) and self.propensity == "shares"

    def check_pieces(self) -> None:
        """Raise if the log is needed at once."""
        if self.estimated or self.cross_fits:
            raise ParameterError(
                'propensity="shares" needs the log at once'
                if self.estimated
                else "a regressor needs the log at once",
                hint="leave chunk_rows out, or add the column to the exposures before"
                if self.estimated
                else "leave chunk_rows out, or pass its predictions as a table",
            )

    def knowing(self, log: Log, items: Any) -> tuple[Job, Log]:
        """Return the job with facts of the whole log, and the log with its shares or folds."""
        catalogue = self.items
        if items is not None:
            catalogue = item_series(items, log.table)
        elif self.needs_items:
            catalogue = log.frame["item"].unique().sort()
        if self.estimated:
            share = pl.Series(_SHARE, _shares(log, self.options.within))
            log = replace(log, frame=log.frame.with_columns(share))
        job = replace(
            self,
            items=catalogue,
            rows=log.rows,
            is_slate=log.is_slate,
            first_position=log.first_position,
        )
        if self.cross_fits:
            log = with_folds(log)
            predictions = Predictions.of(
                job.predictions, job.situation(log, "predictions"), job.context(log)
            )
            job = replace(job, predictions=predictions)
        return job, log

    def knowing_ahead(self, items: pl.Series | None, rows: int, first_position: int) -> Job:
        """Return the job with facts of a whole log of which only pieces are read."""
        self.check_pieces()
        is_slate = self.options.propensities is not None
        return replace(
            self, items=items, rows=rows, is_slate=is_slate, first_position=first_position
        )

    def situation(self, log: Log, name: str) -> Situation:
        """Return the situation in which the policy called ``name`` is evaluated."""
        items = log.frame["item"].clear() if self.items is None else self.items
        return Situation(log, self.columns, items, name, tables=self.tables)

    def context(self, log: Log) -> list[str]:
        """Return the context columns: ``within``, ``by``, and the keys that join targets.

        All are known before an item is shown, so that they may be features of a reward, and strata
        of calibration.
        """
        for name in self.options.within:
            check_column(log, name, "within")
        names = [*self.options.within, *([] if self.options.by is None else [self.options.by])]
        for name, policy in self.all_policies:
            if isinstance(policy, OfTable):
                names += policy.read(self.situation(log, name))[1]
        return [
            name for name in dict.fromkeys(names) if name in log.frame.columns and name not in KEYS
        ]

    @property
    def kind(self) -> Kind:
        """The kind of the propensities; raises if requests have several rows and no kind is set."""
        if not self.is_slate:
            return "conditional"
        if self.options.propensities is None:
            raise ParameterError(
                "requests have several rows: say what the propensity of a row is of",
                hint='propensities="conditional" (its item after those above it), "prefix" (the '
                "list up to it), "
                '"list" (the full list) or "marginal" (its item at this position)',
            )
        return self.options.propensities

    @property
    def weighting(self) -> str:
        """How rows of slates are weighted; empty where every request has one row."""
        if not self.is_slate:
            return ""
        if self.kind == "marginal":
            if self.options.slates not in ("auto", "independent"):
                raise ParameterError(
                    "propensities of items at a position allow independent positions only",
                    found=f"slates={self.options.slates!r}",
                )
            return "independent"
        if self.options.slates == "independent":
            raise ParameterError(
                "independent positions need the propensity of each item at its position",
                found=f"propensities={self.kind!r}",
                hint='propensities="marginal", if these are such',
            )
        if self.kind == "list":
            if self.options.slates != "auto":
                raise ParameterError(
                    "propensities of lists weight every position by the full list",
                    found=f"slates={self.options.slates!r}",
                )
            return "standard"
        has_predictions = self.predictions is not None
        if self.options.slates == "cascade_dr" and not has_predictions:
            raise ParameterError(
                "cascade_dr needs predictions of the reward", hint="pass predictions="
            )
        if self.options.slates == "interaction" and has_predictions:
            raise ParameterError("interaction does not use predictions", hint='slates="cascade_dr"')
        return "cascade_dr" if has_predictions else "interaction"

    @property
    def estimator(self) -> Estimator:
        """The estimator by name."""
        chosen = self.options.estimator
        if chosen == "auto":
            return "snips" if self.predictions is None else "sndr"
        if chosen in ("sndr", "dr") and self.predictions is None:
            raise ParameterError(
                f"{chosen} needs predictions of the reward", hint="pass predictions="
            )
        if chosen not in ("sndr", "dr") and self.predictions is not None:
            raise ParameterError(
                f"{chosen} does not use predictions", hint='estimator="sndr" or "dr" does'
            )
        if chosen == "beta_ips" and self.is_slate:
            raise ParameterError(
                "beta_ips is for requests with one row", hint='estimator="snips" or "ips"'
            )
        return chosen

    def read(self, exposures: Any, first_row: int | None = None) -> Log:
        """Read the log of a table of exposures, or a piece that begins at ``first_row``."""
        return read_log(
            exposures, self.outcomes, self.columns, window=self.window, first_row=first_row
        )

    def work(self, log: Log) -> Partial:
        """Return the sums and counts of a piece of the log."""
        has_slates = len(log.first) < log.rows
        is_slate = has_slates or bool(self.is_slate)
        start = log.first_position if self.first_position is None else self.first_position
        log = replace(log, is_slate=is_slate, first_position=start)
        return _Piece(replace(self, is_slate=is_slate), log).partial(has_slates)

    def finish(
        self, partials: Iterable[Partial], source: Mapping[str, Any] | None = None
    ) -> OffPolicy:
        """Return the result of all pieces; the order of these does not matter.

        ``source`` is the card of the exposures, by default that of a piece.
        """
        parts = list(partials)
        counts, card = self._counts(parts), parts[0].source
        sums, keys = self._merged(parts)
        parts.clear()  # of a large log they are as large as what is merged
        limits, from_log = _range_of(self.options.reward_range, sums[0])
        by = self.options.by
        names = [NO_GROUP if key is None else str(key) for key in keys]
        heads = [{}] if by is None else [{"by": by, "group": group} for group in (None, *names)]
        summaries = [
            self._summary(each, limits, head) for each, head in zip(sums, heads, strict=True)
        ]
        values = [summary.values() for summary in summaries]
        tables, supports = zip(*map(Summary.table, summaries, values), strict=True)
        differences = map(Summary.differences, summaries, values, supports)
        findings = [finding for part in differences for finding in part]
        frames = {
            "table": pl.concat(tables),
            "differences": table_of(findings, LogFinding),
            "sensitivity": summaries[0].sensitivity(values[0], supports[0]),
            "positions": positions_of(values[0], supports[0]),
        }
        values.clear()  # of a large log they are as large as the sums
        return OffPolicy(
            **frames,
            per_user=per_user(sums[0], supports[0]),
            counts=counts,
            sources=self._sources(card if source is None else source),
            settings=self._settings(limits, from_log),
        )

    def _merged(self, parts: Sequence[Partial]) -> tuple[list[Sums], list[Any]]:
        """Return the sums of all requests and of each group of ``by``, and the groups in order."""
        totals = [part.total for part in parts if part.total is not None]
        if not totals:
            raise InputError(
                "a target says nothing about any request", where=parts[0].source["source"]
            )
        if self.options.propensities is not None and not any(part.has_slates for part in parts):
            raise ParameterError(
                "propensities= is for requests with several rows, and each has one",
                where=parts[0].source["source"],
                hint="leave propensities out",
            )
        names = sorted({name for part in parts for name in part.policies})
        if isinstance(self.propensity, Policy) and len(names) > 1:
            raise _several_policies(names, parts[0].source["source"])
        keys = (
            pl.Series(list(dict.fromkeys(key for part in parts for key in part.groups)))
            .sort()
            .to_list()
        )
        groups = [[part.groups[key] for part in parts if key in part.groups] for key in keys]
        return [Sums.merged(each) for each in (totals, *groups)], keys

    def _counts(self, parts: Sequence[Partial]) -> dict[str, int]:
        """Add up all pieces' counts; raise if over 1 % of outcomes or rows cannot be joined."""
        missing, counts = self.options.missing, Counter[str]()
        if self.outcomes is not None:
            joined = pl.concat([part.outcomes for part in parts])
            if joined.n_unique() < len(joined):
                raise request_of_several_users(parts[0].source["source"])
            counts.update(check_outcomes(self.outcomes, joined, missing))
        for part in parts:
            counts.update(part.counts)
        for name in dict.fromkeys(name for part in parts for name in part.gaps):
            first, *rest = (part.gaps[name] for part in parts if name in part.gaps)
            gap = sum(rest, first)
            if missing == "error":
                gap.check(name)
            counts[f"{name}: rows of which the target says nothing"] = gap.rows
        return {
            name: count for name, count in (counts | Counter(parts[0].of_tables)).items() if count
        }

    def _summary(
        self, sums: Sums, limits: tuple[float, float], head: Mapping[str, str | None]
    ) -> Summary:
        """Summarise a set of requests: all requests, or one group."""
        marginal = bool(self.is_slate) and self.kind == "marginal"
        # Shares fit by construction; in slates propensities depend on the items above.
        tested = not self.estimated and (not self.is_slate or marginal)
        options = self.options
        return Summary(
            sums=sums,
            estimator=self.estimator,
            reward_range=limits,
            baseline=options.baseline,
            alpha=options.alpha,
            correction=options.correction,
            margin=options.margin,
            head=head,
            estimated=self.estimated,
            marginal=marginal,
            calibration_p=calibration_p(sums.shown) if tested else math.nan,
        )

    def _sources(self, exposures: Mapping[str, Any]) -> dict[str, Any]:
        """Return the cards of all tables that were read."""
        cards = {"exposures": dict(exposures)}
        if self.outcomes is not None:
            cards["outcomes"] = self.outcomes.card
        tables = {
            name: policy.table for name, policy in self.all_policies if isinstance(policy, OfTable)
        }
        return cards | {
            name: table.card for name, table in tables.items() if isinstance(table, Table)
        }

    def _settings(self, limits: tuple[float, float], from_log: bool) -> dict[str, Any]:
        known = self.propensity
        return asdict(self.options) | {
            "within": list(self.options.within),
            "estimator": self.estimator,
            "slates": self.weighting,
            "propensities": self.kind if self.is_slate else None,
            "propensity": known if isinstance(known, str) else known.description,
            "targets": {name: policy.description for name, policy in self.policies.items()},
            "reward_range": list(limits),
            "range_from_log": from_log,
        }


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
        name = _SHARE if job.estimated else job.propensity
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
                "a reward lies outside reward_range",
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


def check_column(log: Log, name: str, option: str) -> None:
    """Raise if the exposures have no column that an option names."""
    if name not in log.frame.columns or name.startswith("_"):
        named = [column for column in log.frame.columns if not column.startswith("_")]
        raise ColumnError(
            f"there is no column {name!r} for {option}",
            where=log.table.source,
            found=quoted_columns(named),
        )


def _range_of(limits: tuple[float, float] | None, sums: Sums) -> tuple[tuple[float, float], bool]:
    """Return the range of rewards, and whether the log determines this range."""
    if limits is not None:
        return (float(limits[0]), float(limits[1])), False
    if sums.binary:
        return (0.0, 1.0), False
    low, high = sums.reward_range
    return (min(low, 0.0), high), True


def _several_policies(names: Sequence[str], where: str) -> ParameterError:
    return ParameterError(
        "one policy is declared for a log of several",
        where=where,
        found=", ".join(map(repr, names[:5])),
        hint="log the propensity of each row under the policy that showed it, or evaluate one "
        "policy at a time",
    )


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
        hint='name it, columns={"exposures.propensity": "…"}; declare the policy, '
        'propensity="uniform" or a table; or '
        'estimate it, propensity="shares", within=[…]. A deterministic log says nothing about '
        "other items: explore "
        "first, for example by showing a random item in 5 % of the requests",
    )


def _shares(log: Log, within: Sequence[str]) -> Floats:
    """Return each row's share of its item at its position, given the columns ``within``."""
    if not within:
        raise ParameterError(
            'propensity="shares" needs the columns on which the logging policy depended',
            hint='within=["segment"]; a column that is left out biases the estimate',
        )
    lacking = [name for name in within if name not in log.frame.columns]
    if lacking:
        raise ColumnError(
            f"there is no column {lacking[0]!r} for within", found=quoted_columns(log.frame.columns)
        )
    if log.is_slate:
        raise ParameterError(
            "shares are estimated for requests with one row", hint="pass the propensities"
        )
    keys = [*within, *(["position"] if "position" in log.frame.columns else [])]
    share = pl.len().over([*keys, "item"]) / pl.len().over(keys)
    return log.frame.select(share.alias("share"))["share"].to_numpy()


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
