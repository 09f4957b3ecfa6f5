"""The public function: tables in, values and differences of policies out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from rankwise.comparison.comparison import Margin, check_margin
from rankwise.core.arguments import check_choice
from rankwise.errors import ColumnError, InputError, ParameterError
from rankwise.offpolicy.exposures import Log, OnMissing, read_log
from rankwise.offpolicy.policies import Kind, Logged, Policy, Situation, Uniform, as_policy, item_series
from rankwise.offpolicy.predictions import Predictions
from rankwise.offpolicy.result import OffPolicy
from rankwise.offpolicy.summary import LOGGED, Summary, per_user, positions_of
from rankwise.offpolicy.sums import Rows, sums_of, weights_of
from rankwise.offpolicy.support import calibration_p
from rankwise.offpolicy.values import Estimator
from rankwise.stats.differences import Floats, check_level
from rankwise.stats.many_systems import Correction
from rankwise.tables.columns import Columns, quoted_columns

__all__ = ["Slates", "Target", "off_policy"]

Target: TypeAlias = Any
"""A column of the exposures, a table, a dict of lists, or a policy of `rankwise.policies`."""
Slates: TypeAlias = Literal["auto", "interaction", "independent", "cascade_dr"]


def off_policy(
    exposures: Any,
    outcomes: Any = None,
    *,
    targets: Mapping[str, Target],
    baseline: str = LOGGED,
    propensity: Any = None,
    within: Sequence[str] = (),
    propensities: Kind | None = None,
    slates: Slates = "auto",
    estimator: Estimator = "auto",
    predictions: Any = None,
    items: Any = None,
    reward: Mapping[str, float] | None = None,
    reward_range: tuple[float, float] | None = None,
    window: Any = None,
    by: str | None = None,
    alpha: float = 0.05,
    correction: Correction = "holm",
    margin: Margin = None,
    missing: OnMissing = "error",
    columns: Columns | None = None,
) -> OffPolicy:
    """Estimate what other policies would have earned on logged requests, and whether that may be said.

    Values are self-normalised, differences are paired by user, and intervals hold for few and for rare rewards. Where
    the log cannot carry an estimate no number is returned: ``support`` is then "none", and ``reasons`` say why.

    Parameters
    ----------
    exposures : table or path
        One row per item that was shown: the item, and if they exist the request, user, position, propensity, reward
        and any columns of the context.
    outcomes : table or path, optional
        One row per outcome: request (or user and timestamp), item and reward. Without a reward each row counts 1.
    targets : mapping of str to target
        Policies by name: a column of the exposures with the probability of each row; a table of probabilities, or of
        recommendation lists; a dict of lists; or one of `rankwise.policies`.
    baseline : str, default="logged"
        The policy that the others are compared with.
    propensity : str, table or policy, optional
        The probability of what was shown: by default the column of the exposures. Another column, ``"uniform"``, a
        table or policy as for targets, or ``"shares"`` to estimate it from the log.
    within : sequence of str, default=()
        For ``"shares"``: the columns on which the logging policy depended, besides the position; for a regressor,
        further features.
    propensities : {"conditional", "prefix", "list", "marginal"}, optional
        For requests with several rows, what a row's propensity is of: its item after those above it, the list up to
        it, the full list, or its item at this position alone.
    slates : {"auto", "interaction", "independent", "cascade_dr"}, default="auto"
        The weight of a row: of the list up to it; of its item alone; or the first with predictions. By default the
        most reliable that the propensities allow.
    estimator : {"auto", "snips", "ips", "beta_ips", "sndr", "dr"}, default="auto"
        By default snips, or sndr with predictions.
    predictions : table, path or regressor, optional
        Predicted rewards by request (or context) and item, for sndr and dr, from other data or cross-fitted by user.
        A regressor with ``fit`` and ``predict``, as scikit-learn has them, is cross-fitted by user here, on the item
        and the numeric columns that join a target or stand in ``within``.
    items : iterable, optional
        All items that can be shown; by default those of the log.
    reward : mapping of str to float, optional
        The reward of each kind of outcome, ``{"click": 1, "buy": 10}``.
    reward_range : tuple of float, optional
        The smallest and the largest possible reward; by default 0 and 1 for clicks, else that of the log.
    window : str or timedelta, optional
        For outcomes without a request: how long after an exposure they count. By default one day.
    by : str, optional
        A column of the exposures: all values and differences also within its groups.
    alpha : float, default=0.05
        The significance level.
    correction : str, default="holm"
        The correction over the pairs with the baseline; other pairs are exploratory (bh).
    margin : float or str, optional
        The largest difference that does not matter: a number, or a share of the baseline such as ``"1%"``.
    missing : {"error", "drop", "logged"}, default="error"
        If over 1 % of the outcomes belong to no exposure, or a target says nothing about over 1 % of the rows: an
        error, leave them out, or let the target do as the log.
    columns : mapping of str to str or None, optional
        Names of columns that are not recognised: ``{"exposures.propensity": "p"}``.

    Returns
    -------
    OffPolicy

    Raises
    ------
    InputError
        If propensities or probabilities are none, or tables do not fit each other.
    ParameterError
        If the log has no propensities and no policy is declared, or an option is not possible.

    Examples
    --------
    >>> import rankwise as rw
    >>> log = rw.datasets.logged(users=300, seed=1)
    >>> result = rw.off_policy(log.exposures, targets={"new": "p_new"})
    >>> result.table["support"].to_list(), result.differences["verdict"].to_list()
    (['observed', 'sound'], ['better'])
    """
    options = _Options(
        baseline, within, propensities, slates, estimator, alpha, correction, margin, missing, reward_range, by
    )
    log = read_log(exposures, outcomes, columns, reward=reward, window=window, missing=missing)
    job = _Job(log, columns, options, dict(targets), propensity, predictions, items)
    return job.result()


@dataclass(frozen=True)
class _Options:
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


@dataclass
class _Job:
    """One call: the log, its policies, and what is computed from them once."""

    log: Log
    columns: Columns | None
    options: _Options
    targets: dict[str, Target]
    propensity: Any
    predictions: Any
    items: Any

    def __post_init__(self) -> None:
        if not self.targets or LOGGED in self.targets:
            raise ParameterError(
                "targets are policies by name" if not self.targets else "the logging policy is in every result",
                found=f"targets of the names {', '.join(map(repr, self.targets))}" if self.targets else "no target",
                hint='targets={"new": "p_new"}',
            )
        if self.options.baseline not in (LOGGED, *self.targets):
            raise ParameterError(
                f"there is no policy {self.options.baseline!r} for the baseline",
                found=", ".join([LOGGED, *self.targets]),
            )
        self.counts: dict[str, int] = dict(self.log.counts)
        self.tables: dict[Any, Any] = {}
        self.policies = {name: as_policy(target, self.columns) for name, target in self.targets.items()}

    @cached_property
    def catalogue(self) -> pl.Series:
        """The items that can be shown."""
        if self.items is not None:
            return item_series(self.items, self.log)
        return self.log.frame["item"].unique().sort()

    def situation(self, name: str) -> Situation:
        """Return what a policy is asked about."""
        missing = self.options.missing
        return Situation(self.log, self.columns, self.catalogue, missing, name, self.counts, self.tables)

    @cached_property
    def kind(self) -> Kind:
        """What the propensity of a row is of."""
        if not self.log.is_slate:
            return "conditional"
        if self.options.propensities is None:
            raise ParameterError(
                "requests have several rows: say what the propensity of a row is of",
                where=self.log.table.source,
                hint='propensities="conditional" (its item after those above it), "prefix" (the list up to it), '
                '"list" (the full list) or "marginal" (its item at this position)',
            )
        return self.options.propensities

    @property
    def weighting(self) -> str:
        """How rows of slates are weighted; empty where every request has one row."""
        if not self.log.is_slate:
            return ""
        if self.kind == "marginal":
            if self.options.slates not in ("auto", "independent"):
                raise ParameterError(
                    "propensities of items at a position allow independent positions only",
                    found=f"slates={self.options.slates!r}",
                )
            return "independent"
        if self.kind == "list":
            return "standard"
        if self.options.slates == "auto":
            return "interaction" if self.predictions is None else "cascade_dr"
        return self.options.slates

    @cached_property
    def estimator(self) -> Estimator:
        """The estimator by name."""
        chosen = self.options.estimator
        if chosen == "auto":
            return "snips" if self.predictions is None else "sndr"
        if chosen in ("sndr", "dr") and self.predictions is None:
            raise ParameterError(f"{chosen} needs predictions of the reward", hint="pass predictions=")
        if chosen not in ("sndr", "dr") and self.predictions is not None:
            raise ParameterError(f"{chosen} does not use predictions", hint='estimator="sndr" or "dr" does')
        if chosen == "beta_ips" and self.log.is_slate:
            raise ParameterError("beta_ips is for requests with one row", hint='estimator="snips" or "ips"')
        return chosen

    @cached_property
    def logging_policy(self) -> Policy | None:
        """The policy that made the log, where it is declared."""
        if isinstance(self.propensity, str) and self.propensity == "uniform":
            return Uniform()
        is_name = isinstance(self.propensity, str) and "." not in self.propensity
        return None if self.propensity is None or is_name else as_policy(self.propensity, self.columns)

    @property
    def estimated(self) -> bool:
        """Whether propensities are shares of the log."""
        return isinstance(self.propensity, str) and self.propensity == "shares"

    @cached_property
    def logged_probability(self) -> Floats:
        """The propensity of each row, checked."""
        frame, policy = self.log.frame, self.logging_policy
        if policy is not None:
            self._check_one_policy()
            values = policy.probabilities(self.situation("propensity"), self.kind)
            _check_propensities(values, self.log, "the declared policy")
            return np.asarray(values)
        if self.estimated:
            return _shares(self.log, self.options.within)
        name = "propensity" if self.propensity is None else str(self.propensity)
        if name not in frame.columns:
            raise _no_propensities(self.log, self.propensity)
        values = frame[name].cast(pl.Float64).fill_null(float("nan")).to_numpy()
        _check_propensities(values, self.log, f"column {self.log.table.columns.get(name, name)!r}")
        return values

    def _check_one_policy(self) -> None:
        """Raise if a log of several policies is declared to be of one."""
        if "policy" not in self.log.frame.columns:
            return
        names = self.log.frame["policy"].unique().sort().to_list()
        if len(names) > 1:
            raise ParameterError(
                "one policy is declared for a log of several",
                where=self.log.table.source,
                found=", ".join(map(repr, names[:5])),
                hint="log the propensity of each row under the policy that showed it, or evaluate one policy at a time",
            )

    @cached_property
    def rows(self) -> dict[str, Rows]:
        """The weights and predictions of each row under each policy."""
        model = (
            None
            if self.predictions is None
            else Predictions.of(self.predictions, self.situation("predictions"), self.features)
        )
        out, dropped = {}, np.zeros(self.log.rows, dtype=bool)
        zeros = np.zeros(self.log.rows)
        slates = "independent" if self.weighting == "independent" else "interaction"
        for name, policy in self.policies.items():
            situation = self.situation(name)
            p = np.asarray(policy.probabilities(situation, self.kind))
            if self.options.missing == "drop" and not isinstance(policy, Logged):
                dropped |= np.isnan(p)
            weight, before = weights_of(p, self.logged_probability, self.log, self.kind, slates)
            predicted, expected = (zeros, zeros) if model is None else model.of_policy(policy, situation)
            out[name] = Rows(weight, before, predicted, expected)
        if dropped.any():
            out = self._without(dropped, out)
        return out

    @property
    def features(self) -> list[str]:
        """The columns of the context for reward models: those of ``within``, and those that join a target."""
        keys = [*self.options.within]
        for name, policy in self.policies.items():
            distribution = policy.distribution(self.situation(name))
            keys += [] if distribution is None else [key for key in distribution[0] if key not in ("request", "user")]
        return [key for key in dict.fromkeys(keys) if key in self.log.frame.columns]

    def _without(self, dropped: Any, rows: dict[str, Rows]) -> dict[str, Rows]:
        """Return the rows without the requests that a target says nothing about, and drop these from the log."""
        requests = np.zeros(int(self.log.request[-1]) + 1, dtype=bool)
        requests[self.log.request[dropped]] = True
        kept = ~requests[self.log.request]
        if not kept.any():
            raise InputError("a target says nothing about any request", where=self.log.table.source)
        self.counts["requests left out because a target says nothing about them"] = int(requests.sum())
        propensity = self.logged_probability[kept]
        self.log = self.log.filter(pl.Series(kept))
        self.__dict__["logged_probability"] = propensity
        return {name: each.filter(kept) for name, each in rows.items()}

    @cached_property
    def range_(self) -> tuple[tuple[float, float], bool]:
        """The smallest and the largest reward, and whether they are those of the log."""
        low, high = float(self.log.reward.min()), float(self.log.reward.max())
        limits = self.options.reward_range
        if limits is not None:
            if low < limits[0] or high > limits[1]:
                row = int(np.flatnonzero((self.log.reward < limits[0]) | (self.log.reward > limits[1]))[0])
                raise InputError(
                    "a reward lies outside reward_range",
                    where=self.log.where(row),
                    found=f"{self.log.reward[row]:g}, outside {limits[0]:g} to {limits[1]:g}",
                )
            return (float(limits[0]), float(limits[1])), False
        if np.isin(self.log.reward, (0.0, 1.0)).all():
            return (0.0, 1.0), False
        return (min(low, 0.0), high), True

    def result(self) -> OffPolicy:
        """Return the result over all rows, and within groups."""
        rows, _ = self.rows, self.estimator
        head: dict[str, str | None] = {} if self.options.by is None else {"by": self.options.by, "group": None}
        summary = self._summary(self.log, rows, self.logged_probability, head)
        values = summary.values()
        table, supports = summary.table(values)
        tables, pairs = [table], [summary.differences(values, supports)]
        for group, mask in self._groups():
            kept = mask.to_numpy()
            inside = {name: each.filter(kept) for name, each in rows.items()}
            part = self._summary(self.log.filter(mask), inside, self.logged_probability[kept], {**head, "group": group})
            part_values = part.values()
            part_table, part_supports = part.table(part_values)
            tables.append(part_table)
            pairs.append(part.differences(part_values, part_supports))
        return OffPolicy(
            table=pl.concat(tables),
            differences=pl.concat(pairs),
            sensitivity=summary.sensitivity(values, supports, rows, self.log),
            positions=positions_of(values, supports),
            per_user=per_user(summary.sums),
            counts={name: count for name, count in self.counts.items() if count},
            sources={"exposures": self.log.table.card},
            settings=self._settings(),
        )

    def _groups(self) -> list[tuple[str, pl.Series]]:
        """Return each group of ``by`` with its rows."""
        by = self.options.by
        if by is None:
            return []
        if by not in self.log.frame.columns:
            raise ColumnError(f"there is no column {by!r} for by", found=quoted_columns(self.log.frame.columns))
        column = self.log.frame[by]
        return [
            (str(group), column.eq_missing(pl.Series([group], dtype=column.dtype))) for group in column.unique().sort()
        ]

    def _summary(self, log: Log, rows: dict[str, Rows], propensity: Floats, head: Mapping[str, str | None]) -> Summary:
        """Return the summary of some requests."""
        sums = sums_of(log, rows, propensity)
        p = math.nan  # shares fit by construction; in slates propensities depend on the items above
        if not self.estimated and (not log.is_slate or self.kind == "marginal"):
            p = calibration_p(sums.shown)
        options = self.options
        return Summary(
            sums=sums,
            estimator=self.estimator,
            reward_range=self.range_[0],
            baseline=options.baseline,
            alpha=options.alpha,
            correction=options.correction,
            margin=options.margin,
            head=head,
            mass=self.masses,
            estimated=self.estimated,
            marginal=log.is_slate and self.kind == "marginal",
            calibration_p=p,
        )

    @cached_property
    def masses(self) -> dict[str, float]:
        """The probability of each target on items that the log cannot show."""
        logging = self.logging_policy
        return {name: _mass(policy, logging, self.situation(name)) for name, policy in self.policies.items()}

    def _settings(self) -> dict[str, Any]:
        options = asdict(self.options) | {"within": list(self.options.within)}
        limits, from_log = self.range_
        return options | {
            "estimator": self.estimator,
            "slates": self.weighting,
            "propensities": self.kind if self.log.is_slate else None,
            "propensity": type(self.logging_policy).__name__
            if self.logging_policy
            else str(self.propensity or "column"),
            "targets": {name: type(policy).__name__ for name, policy in self.policies.items()},
            "reward_range": list(limits),
            "range_from_log": from_log,
        }


def _check_propensities(values: Floats, log: Log, where: str) -> None:
    """Raise if a row that was shown has a propensity of 0, above 1, or none."""
    with np.errstate(invalid="ignore"):
        bad = ~((values > 0) & (values <= 1.0 + 1e-9))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise InputError(
            "a propensity is the probability of what was shown: above 0 and at most 1",
            where=f"{log.where(row)}, {where}",
            found=f"{values[row]:g} ({int(bad.sum()):,} such rows)",
            hint="an item with propensity 0 cannot have been shown: check which list the propensity belongs to",
        )


def _no_propensities(log: Log, name: Any) -> InputError:
    return ColumnError(
        "there is no column for the propensity" if name is None else f"there is no column {name!r}",
        where=log.table.source,
        found=quoted_columns(log.table.frame.columns),
        hint='name it, columns={"exposures.propensity": "…"}; declare the policy, propensity="uniform" or a table; or '
        'estimate it, propensity="shares", within=[…]. A deterministic log says nothing about other items: explore '
        "first, for example by showing a random item in 5 % of the requests",
    )


def _shares(log: Log, within: Sequence[str]) -> Floats:
    """Return the share of each item at its position, within the columns on which the logging policy depended."""
    if not within:
        raise ParameterError(
            'propensity="shares" needs the columns on which the logging policy depended',
            hint='within=["segment"]; a column that is left out biases the estimate',
        )
    lacking = [name for name in within if name not in log.frame.columns]
    if lacking:
        raise ColumnError(f"there is no column {lacking[0]!r} for within", found=quoted_columns(log.frame.columns))
    if log.is_slate:
        raise ParameterError("shares are estimated for requests with one row", hint="pass the propensities")
    keys = [*within, *(["position"] if "position" in log.frame.columns else [])]
    share = pl.len().over([*keys, "item"]) / pl.len().over(keys)
    return log.frame.select(share.alias("share"))["share"].to_numpy()


def _mass(policy: Policy, logging: Policy | None, situation: Situation) -> float:
    """Return the mean probability of a target on items to which the logging policy gives 0; NaN if unknown."""
    target = policy.distribution(situation)
    ours = None if logging is None else logging.distribution(situation)
    if target is None or ours is None:
        return math.nan
    keys = list(dict.fromkeys([*target[0], *ours[0]]))
    log = situation.log.frame.with_columns(_all=pl.lit(0))
    contexts = log.group_by(keys or ["_all"]).agg(pl.len().alias("n"))
    shown = contexts.join(target[1], on=target[0], how="inner") if target[0] else contexts.join(target[1], how="cross")
    rest = ours[1].filter(pl.col("probability") > 0)
    outside = shown.join(rest, on=[*ours[0], "item"], how="anti")
    return float((outside["n"] * outside["probability"]).sum()) / situation.log.rows
