"""Predicted rewards: a table by context and item, or a regressor that is cross-fitted by user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from rankwise.errors import InputError, ParameterError
from rankwise.offpolicy.exposures import Log, hashes_of
from rankwise.offpolicy.policies import Logged, OfTable, Policy, Situation
from rankwise.stats.differences import Floats
from rankwise.tables.columns import missing_column_error

_FOLDS = 5


@dataclass(frozen=True)
class Predictions(OfTable):
    """Predictions of the reward by the columns ``keys`` and item.

    Attributes
    ----------
    table : polars.DataFrame
        The keys, ``item`` and ``reward``.
    keys : list of str
        The columns that join it with the log.
    """

    table: pl.DataFrame
    keys: Sequence[str]

    @classmethod
    def of(cls, source: Any, situation: Situation, features: Sequence[str]) -> Predictions:
        """Read predictions from a table, or cross-fit a regressor of features by user.

        Features are columns of the context: one that depends on the item that was shown would bias
        the estimate.
        """
        if hasattr(source, "fit") and hasattr(source, "predict"):
            return cls(*_cross_fitted(source, situation, features))
        table, keys = _Source(source).read(situation, "predictions")
        if "reward" not in table.frame.columns:
            raise missing_column_error(
                "predictions have a column for the reward", "predictions.reward", table
            )
        return cls(table.frame.select(*keys, "item", "reward"), keys)

    def of_policy(self, policy: Policy, situation: Situation) -> tuple[Floats, Floats]:
        """Return the prediction of each row's item, and its mean over the items of a policy."""
        if isinstance(policy, Logged):
            return np.zeros(situation.log.rows), np.zeros(situation.log.rows)
        distribution = policy.distribution(situation)
        if distribution is None:
            raise ParameterError(
                "predictions need the probabilities of all items, which the target "
                f"{situation.name} does not tell",
                found=type(policy).__name__,
                hint="pass a table of probabilities, rw.policies.Probabilities, or leave "
                "predictions out",
            )
        log, keys = situation.log, list(self.keys)
        ours = log.frame.select(*keys, "item")
        predicted = ours.join(
            self.table, on=[*keys, "item"], how="left", maintain_order="left", nulls_equal=True
        )["reward"]
        if predicted.null_count():
            row = int(predicted.is_null().arg_true()[0])
            raise InputError(
                "an item that was shown has no prediction",
                where=log.where(row),
                found=f"{predicted.null_count():,} such rows, joined by "
                f"{', '.join([*keys, 'item'])}",
            )
        return predicted.to_numpy(), self._expected(*distribution, log)

    def _expected(self, target_keys: Sequence[str], target: pl.DataFrame, log: Log) -> Floats:
        """Return for each row the mean prediction over a distribution of items."""
        keys = list(dict.fromkeys([*target_keys, *self.keys])) or ["_all"]
        frame = log.frame.with_columns(_all=pl.lit(0))
        contexts = frame.select(keys).unique()
        on = list(target_keys)
        items = (
            contexts.join(target, on=on, how="inner", nulls_equal=True)
            if on
            else contexts.join(target, how="cross")
        )
        items = items.filter(pl.col("probability") > 0)
        items = items.join(self.table, on=[*self.keys, "item"], how="left", nulls_equal=True)
        if items["reward"].null_count():
            row = items.filter(pl.col("reward").is_null()).sort(*keys, "item").row(0, named=True)
            raise InputError(
                "an item that a target shows has no prediction",
                where=", ".join(f"{key} {row[key]!r}" for key in (*keys, "item") if key != "_all"),
                found=f"{items['reward'].null_count():,} items and contexts",
            )
        value = (pl.col("probability") * pl.col("reward")).sort_by("item").sum()
        sums = items.group_by(keys).agg(value.alias("value"))
        values = frame.select(keys).join(
            sums, on=keys, how="left", maintain_order="left", nulls_equal=True
        )["value"]
        return values.fill_null(0).to_numpy()


@dataclass(frozen=True)
class _Source(OfTable):
    table: Any


def _cross_fitted(
    regressor: Any, situation: Situation, features: Sequence[str]
) -> tuple[pl.DataFrame, list[str]]:
    """Predict rewards by fold of users, context and item, with models of the remaining folds."""
    from copy import deepcopy

    log = situation.log
    numeric = [name for name in features if log.frame.schema[name].is_numeric()]
    fold = with_folds(log).frame[_FOLD].to_numpy()
    items = situation.items
    contexts = log.frame.select(pl.Series(_FOLD, fold), *numeric).unique(maintain_order=True)
    grid = contexts.join(pl.DataFrame({"item": items}), how="cross")
    rewards = np.zeros(len(grid))
    design = _design(grid, numeric, items)
    rows = _design(log.frame, numeric, items)
    for number in range(_FOLDS):
        inside = grid[_FOLD].to_numpy() == number
        if not inside.any():
            continue
        model = deepcopy(regressor).fit(rows[fold != number], log.reward[fold != number])
        rewards[inside] = model.predict(design[inside])
    keys = [_FOLD, *numeric]
    return grid.select(*keys, "item", reward=pl.Series(rewards)), keys


_FOLD = "_fold"


def with_folds(log: Log) -> Log:
    """Return the log with the fold of each row; pieces of a log keep the folds of the whole log."""
    if _FOLD in log.frame.columns:
        return log
    return replace(log, frame=log.frame.with_columns(pl.Series(_FOLD, _folds(log))))


def _folds(log: Log) -> Any:
    """Return the fold of each row: a hash of its user, or of its place in a log without users."""
    users = log.frame["user"] if "user" in log.frame.columns else pl.Series(log.user)
    return ((hashes_of(users) >> np.uint64(40)) % np.uint64(_FOLDS)).astype(np.int64)


def _design(frame: pl.DataFrame, numeric: Sequence[str], items: pl.Series) -> Any:
    """Return the features of rows: numbers of the context, and one column per item."""
    codes = (
        frame["item"]
        .to_frame()
        .join(
            items.alias("item").to_frame().with_row_index("_code"),
            on="item",
            how="left",
            maintain_order="left",
        )["_code"]
    )
    columns = [frame[name].cast(pl.Float64).to_numpy() for name in numeric]
    one_hot = (codes.to_numpy()[:, None] == np.arange(len(items))).astype(np.float64)
    return np.column_stack([*columns, one_hot])
