"""Two stages: a model that finds candidates, a ranker that orders them, and no leak between."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rankwise.arguments import check_flag
from rankwise.errors import EmptyError, ParameterError
from rankwise.splits.entities import UserHoldout
from rankwise.splits.rows import spread
from rankwise.splits.sizes import check_seed, check_share
from rankwise.splits.splitter import Cut, SingleSplitter
from rankwise.splits.temporal import check_moment, cut_at_moment

if TYPE_CHECKING:
    from rankwise.splits.rows import Mask, Rows
    from rankwise.splits.times import Length, Moment

__all__ = ["TwoStage"]


@dataclass(frozen=True, repr=False)
class TwoStage(SingleSplitter):
    """Split for a candidate model and a ranker: in time, again in time, and then by users.

    ========================  ====================================================================
    part                      use
    ========================  ====================================================================
    ``candidate_train``       rows before the inner moment: fit the candidate model, and let it
                              name candidates for the users of the next two parts
    ``ranker_train``          rows between the moments of some users: labels to fit the ranker on
    ``ranker_validation``     rows between the moments of the other users: labels to stop it on
    ``train``                 all rows before the outer moment: refit the candidate model, and take
                              what users have seen from here
    ``test``                  rows from the outer moment on: the final evaluation
    ========================  ====================================================================

    Scoring ``test`` with the model fitted on ``candidate_train``, or filtering only its items as
    seen, is the slip that `rankwise.audit` finds as L19.

    Parameters
    ----------
    share, at, last
        The outer moment, as for `GlobalTime`.
    inner_share, inner_at, inner_last
        The inner moment, among the rows before the outer one; by default the last 0.3 of them.
    validation_share : float
        The share of users between the moments whose rows are for validation, in (0, 1).
    warm_only : bool
        Leave users out of the ranker's parts who have no rows in ``candidate_train``: no candidates
        can be found for them.
    seed : int
        Decides which users are for validation.

    Examples
    --------
    >>> import polars as pl
    >>> times = [1, 2, 3, 4, 5, 6]
    >>> table = pl.DataFrame({"user": [1, 2] * 3, "item": [1, 1, 2, 2, 3, 3], "timestamp": times})
    >>> split = TwoStage(at=5, inner_at=3, validation_share=0.5).split(table)
    >>> {name: int(mask.sum()) for name, mask in split.masks.items()}
    {'train': 4, 'candidate_train': 2, 'ranker_train': 1, 'ranker_validation': 1, 'test': 2}
    """

    share: float | None = None
    at: Moment | None = None
    last: Length | None = None
    inner_share: float | None = None
    inner_at: Moment | None = None
    inner_last: Length | None = None
    validation_share: float = 0.2
    warm_only: bool = True
    seed: int = 0

    def _check(self) -> None:
        check_moment(self.share, self.at, self.last)
        if (self.inner_share, self.inner_at, self.inner_last) == (None, None, None):
            object.__setattr__(self, "inner_share", 0.3)
        check_moment(self.inner_share, self.inner_at, self.inner_last)
        check_share("validation_share", self.validation_share)
        check_flag(warm_only=self.warm_only)
        check_seed(self.seed)
        if self.validation is not None or self.filters:
            raise ParameterError(
                "two stages have parts of their own for validation, and take no filters",
                hint="filter the table first: KCore(5).apply(table)",
            )

    def _cut(self, rows: Rows) -> Cut:
        outer = cut_at_moment(rows, self.share, self.at, self.last)
        train = outer.masks["train"]
        if not train.any():
            raise EmptyError("the training side of the split is empty", where=f"{outer.found}")
        inside = rows.select(train)
        inner = cut_at_moment(inside, self.inner_share, self.inner_at, self.inner_last)
        first, between = inner.masks["train"], inner.masks["test"]
        found = {"moment": outer.found["moment"], "inner_moment": inner.found["moment"]}
        if self.warm_only:
            warm = (inside.user.count(first) > 0)[inside.user.of_row]
            found["rows_of_cold_users_dropped"] = int((between & ~warm).sum())
            between = between & warm
        if not first.any() or not between.any():
            side = "before" if not first.any() else "from"
            raise EmptyError(
                f"there are no training rows {side} the inner moment", where=f"TwoStage ({found})"
            )
        users = UserHoldout(self.validation_share, fold_in=None, seed=self.seed)
        ranker = users._cut(inside.select(between))
        parts: dict[str, Mask] = {
            "candidate_train": first,
            "ranker_train": spread(between, ranker.masks["train"]),
            "ranker_validation": spread(between, ranker.masks["test"]),
        }
        for name, mask in parts.items():
            if not mask.any():
                raise EmptyError(f"part {name} would be empty", where=f"TwoStage ({found})",
                                 hint="choose another validation_share")  # fmt: skip
        inner_parts = {name: spread(train, mask) for name, mask in parts.items()}
        return Cut({"train": train, **inner_parts, "test": outer.masks["test"]}, found)
