"""What is evaluated on a log: options, policies and tables, settled once for all of its pieces.

`Job.of` checks options, `pieces.work` sums one piece, `merge.finish` merges the sums. A job and its
partials can be pickled. A log is worked on in one piece, in several threads, chunk by chunk from
Parquet, or on Spark; the result has the same bits.

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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import polars as pl

from rankwise.errors import ColumnError, ParameterError
from rankwise.messages import mention, parameter
from rankwise.offpolicy.exposures import (
    KEYS,
    Log,
    read_log,
    read_outcomes,
)
from rankwise.offpolicy.options import Options
from rankwise.offpolicy.policies import (
    Kind,
    OfTable,
    Policy,
    Situation,
    Uniform,
    as_policy,
    item_series,
)
from rankwise.offpolicy.predictions import Predictions, with_folds
from rankwise.offpolicy.result import LOGGED
from rankwise.offpolicy.values import Estimator
from rankwise.stats.differences import Floats
from rankwise.tables.columns import Columns, quoted_columns
from rankwise.tables.table import Table

SHARE = "_share"
"""The column of propensities that are shares of the log."""


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
        check_request(targets, options.baseline, reward, window, has_outcomes=outcomes is not None)
        policies = {
            name: as_policy(target, columns).with_tables_read(columns)
            for name, target in targets.items()
        }
        propensity = _read_propensity(propensity, columns)
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
                f"{parameter('propensity', 'shares')} needs the log at once"
                if self.estimated
                else "a regressor needs the log at once",
                hint=f"leave {mention('chunk_rows')} out, or add the column to the exposures before"
                if self.estimated
                else f"leave {mention('chunk_rows')} out, or pass its predictions as a table",
            )

    def knowing(self, log: Log, items: Any) -> tuple[Job, Log]:
        """Return the job with facts of the whole log, and the log with its shares or folds."""
        catalogue = self.items
        if items is not None:
            catalogue = item_series(items, log.table)
        elif self.needs_items:
            catalogue = log.frame["item"].unique().sort()
        if self.estimated:
            share = pl.Series(SHARE, shares_of(log, self.options.within))
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
                hint=f"{parameter('propensities', 'conditional')} (its item after those above it), "
                '"prefix" (the list up to it), "list" (the full list) or "marginal" (its item at '
                "this position)",
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
                    found=parameter("slates", self.options.slates),
                )
            return "independent"
        if self.options.slates == "independent":
            raise ParameterError(
                "independent positions need the propensity of each item at its position",
                found=parameter("propensities", self.kind),
                hint=f"{parameter('propensities', 'marginal')}, if these are such",
            )
        if self.kind == "list":
            if self.options.slates != "auto":
                raise ParameterError(
                    "propensities of lists weight every position by the full list",
                    found=parameter("slates", self.options.slates),
                )
            return "standard"
        has_predictions = self.predictions is not None
        if self.options.slates == "cascade_dr" and not has_predictions:
            raise ParameterError(
                "cascade_dr needs predictions of the reward",
                hint=f"pass {parameter('predictions')}",
            )
        if self.options.slates == "interaction" and has_predictions:
            raise ParameterError(
                "interaction does not use predictions", hint=parameter("slates", "cascade_dr")
            )
        return "cascade_dr" if has_predictions else "interaction"

    @property
    def estimator(self) -> Estimator:
        """The estimator by name."""
        chosen = self.options.estimator
        if chosen == "auto":
            return "snips" if self.predictions is None else "sndr"
        if chosen in ("sndr", "dr") and self.predictions is None:
            raise ParameterError(
                f"{chosen} needs predictions of the reward", hint=f"pass {parameter('predictions')}"
            )
        if chosen not in ("sndr", "dr") and self.predictions is not None:
            raise ParameterError(
                f"{chosen} does not use predictions",
                hint=f'{parameter("estimator", "sndr")} or "dr" does',
            )
        if chosen == "beta_ips" and self.is_slate:
            raise ParameterError(
                "beta_ips is for requests with one row",
                hint=f'{parameter("estimator", "snips")} or "ips"',
            )
        return chosen

    def read(self, exposures: Any, first_row: int | None = None) -> Log:
        """Read the log of a table of exposures, or a piece that begins at ``first_row``."""
        return read_log(
            exposures, self.outcomes, self.columns, window=self.window, first_row=first_row
        )


def check_request(
    targets: Any,
    baseline: str,
    reward: Mapping[str, float] | None,
    window: Any,
    *,
    has_outcomes: bool,
) -> None:
    """Raise for names and options that no log can mend."""
    _check_targets(targets)
    if baseline not in (LOGGED, *targets):
        raise ParameterError(
            f"there is no policy {baseline!r} for the baseline", found=", ".join([LOGGED, *targets])
        )
    if not has_outcomes and (reward is not None or window is not None):
        raise ParameterError(
            "there are no outcomes",
            found=parameter("reward") if reward is not None else parameter("window"),
            hint=f"pass {parameter('outcomes')}, or leave it out",
        )


def _check_targets(targets: Any) -> None:
    """Raise unless targets are policies by name, none of which is the name of the log's own."""
    hint = parameter("targets", {"new": "p_new"})
    if not isinstance(targets, Mapping):
        raise ParameterError("targets are policies by name", found=repr(targets)[:80], hint=hint)
    if not targets:
        raise ParameterError("targets are policies by name", found="no target", hint=hint)
    if LOGGED in targets:
        raise ParameterError(
            "the logging policy is in every result",
            found=f"targets of the names {', '.join(map(repr, targets))}",
            hint=hint,
        )


def _read_propensity(propensity: Any, columns: Columns | None) -> str | Policy:
    """Return the column of propensities, or the policy that made the log with its tables."""
    if propensity is None:
        return "propensity"
    if isinstance(propensity, str) and propensity == "uniform":
        return Uniform()
    if isinstance(propensity, str) and "." not in propensity:
        return propensity
    return as_policy(propensity, columns).with_tables_read(columns)


def check_column(log: Log, name: str, option: str) -> None:
    """Raise if the exposures have no column that an option names."""
    if name not in log.frame.columns or name.startswith("_"):
        named = [column for column in log.frame.columns if not column.startswith("_")]
        raise ColumnError(
            f"there is no column {name!r} for {option}",
            where=log.table.source,
            found=quoted_columns(named),
        )


def several_policies(names: Sequence[str], where: str) -> ParameterError:
    """Return the error for a log of several policies of which one is declared."""
    return ParameterError(
        "one policy is declared for a log of several",
        where=where,
        found=", ".join(map(repr, names[:5])),
        hint="log the propensity of each row under the policy that showed it, or evaluate one "
        "policy at a time",
    )


def shares_of(log: Log, within: Sequence[str]) -> Floats:
    """Return each row's share of its item at its position, given the columns ``within``."""
    if not within:
        raise ParameterError(
            f"{parameter('propensity', 'shares')} needs the columns on which the logging policy "
            "depended",
            hint=f"{parameter('within', ['segment'])}; a column that is left out biases the "
            "estimate",
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
