"""The values of several results, user by user: aligned by id, with a rule for who is missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import polars as pl

from rankwise.errors import MeasureError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankwise.result import Result
    from rankwise.stats.differences import Floats

__all__ = ["Aligned", "Missing", "align_users", "check_ids", "main_measure"]

Missing: TypeAlias = Literal["error", "zero", "common"]


@dataclass(frozen=True, eq=False)
class Aligned:
    """Values of one measure for the same users, a column a result.

    Attributes
    ----------
    values : array, shape (n, k)
        The values; no NaN.
    users : int
        How many users any result has.
    undefined : int
        Users left out because no result has a value for them.
    dropped : int
        Users left out because some result has none.
    filled : int
        Values taken for 0, because a result has none.
    """

    values: Floats
    users: int
    undefined: int
    dropped: int
    filled: int

    @property
    def reasons(self) -> str:
        """Say who was left out, and why."""
        said = []
        if self.undefined:
            said.append(f"{self.undefined} without a value in any result")
        if self.dropped:
            said.append(f"{self.dropped} without a value in some result")
        if self.filled:
            said.append(f"{self.filled} missing values taken for 0")
        return ", ".join(said)


def check_ids(results: Mapping[str, Result]) -> None:
    """Raise unless users have ids of one kind in all results."""
    kinds = {name: result.per_user.schema["user"] for name, result in results.items()}
    if len({kind.is_integer() for kind in kinds.values()}) > 1:
        raise ParameterError(
            "users are integers in one result and strings in another, so none would match",
            found="; ".join(f"{name}: {kind}" for name, kind in kinds.items()),
            hint="give ids one type before evaluating",
        )


def main_measure(result: Result) -> str:
    """Return the measure that a question is about if nothing is said."""
    known = [cell for cell in result.values if result.is_mean_of_users(cell)]
    if not known:
        raise MeasureError("the result has no measure that is a mean of users",
                           found=", ".join(result.values))  # fmt: skip
    return "ndcg@10" if "ndcg@10" in known else known[0]


def align_users(results: Mapping[str, Result], measure: str, missing: Missing) -> Aligned:
    """Return the values of a measure for the same users in the same order."""
    check_ids(results)
    kind = next(iter(results.values())).per_user.schema["user"]
    kind = pl.Int64() if kind.is_integer() else kind
    frame: pl.DataFrame | None = None
    for at, result in enumerate(results.values()):
        own = result.per_user.select(
            pl.col("user").cast(kind), pl.col(measure).cast(pl.Float64).alias(str(at))
        )
        frame = own if frame is None else frame.join(own, on="user", how="full", coalesce=True)
    assert frame is not None
    names = [name for name in frame.columns if name != "user"]
    frame = frame.sort("user").with_columns(pl.col(names).fill_nan(None))
    values = frame.select(names).to_numpy().astype(np.float64)
    gaps = np.isnan(values)
    nowhere = gaps.all(axis=1)
    somewhere = gaps.any(axis=1) & ~nowhere
    if somewhere.any() and missing == "error":
        row = int(np.flatnonzero(somewhere)[0])
        lacking = [name for name, gap in zip(results, gaps[row], strict=True) if gap]
        raise ParameterError(
            f"some users have a value of {measure} in one result, and none in another",
            found=f"user {frame['user'][row]!r} has none in {', '.join(lacking)} "
            f"({int(somewhere.sum())} such users of {len(values)})",
            hint='missing="zero" takes it for 0, as for a list that was not delivered; '
            'missing="common" compares the users who have all values',
        )
    if missing == "zero":
        filled = int((gaps & ~nowhere[:, None]).sum())
        values = np.nan_to_num(values[~nowhere])
        return Aligned(values, len(gaps), int(nowhere.sum()), 0, filled)
    keep = ~(nowhere | somewhere)
    return Aligned(values[keep], len(gaps), int(nowhere.sum()), int(somewhere.sum()), 0)
