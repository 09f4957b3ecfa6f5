"""The interval of a value: of a mean by its users, of anything else by the jackknife."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from rankwise.arguments import check_choice
from rankwise.errors import MeasureError, ParameterError
from rankwise.stats.bootstrap import bootstrap, usual_interval
from rankwise.stats.clusters import jackknife
from rankwise.stats.paired import t_interval

if TYPE_CHECKING:
    from rankwise.result import Result
    from rankwise.stats.differences import Interval

__all__ = ["IntervalMethod", "interval_of"]

IntervalMethod: TypeAlias = Literal[
    "auto", "t", "bca", "percentile", "basic", "studentised", "jackknife"
]


def interval_of(
    result: Result,
    cell: str,
    confidence: float,
    method: IntervalMethod,
    n_resamples: int,
    seed: int,
) -> Interval:
    """Return the interval of a value of a result; see `Result.interval`."""
    check_choice("method", method, IntervalMethod)
    if method != "jackknife" and result.is_mean_of_users(cell):
        values = result.per_user[cell].drop_nans().to_numpy()
        if method == "t":
            return t_interval(values, confidence=confidence)
        if method == "auto":
            return usual_interval(values, confidence=confidence, n_resamples=n_resamples, seed=seed)
        return bootstrap(
            values, method=method, confidence=confidence, n_resamples=n_resamples, seed=seed
        )
    if result.replicates is None or cell not in result.replicates.columns:
        raise MeasureError(
            f"{cell} is no mean of users, so its interval needs the jackknife",
            found="no jackknife replicates" + (" of it" if result.replicates is not None else ""),
            hint="evaluate(…, jackknife=64) works it out without each of 64 groups of users",
        )
    if method not in ("auto", "jackknife"):
        raise ParameterError(
            f"drawing users again says nothing of {cell}",
            found=f"method={method!r}",
            hint="a draw leaves a third of the users out, and with them their items; "
            'method="jackknife" is right',
        )
    return jackknife(result.values[cell], result.replicates[cell].to_numpy(), confidence=confidence)
