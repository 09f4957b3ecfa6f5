"""`TwoStage`: leakage-free splits for a candidate model and a ranker."""

from __future__ import annotations

from dataclasses import dataclass

from rankwise.errors import EmptyError, ParameterError
from rankwise.splits.entities import UserHoldout
from rankwise.splits.rows import Rows
from rankwise.splits.sizes import check_share
from rankwise.splits.splitter import Masks, SingleSplitter
from rankwise.splits.temporal import GlobalTime
from rankwise.splits.times import Length, Moment

__all__ = ["TwoStage"]


@dataclass(frozen=True, repr=False)
class TwoStage(SingleSplitter):
    """Split for a candidate model and a ranker: at two dates, and between these by users.

    ========================  ====================================================================
    part                      use
    ========================  ====================================================================
    ``candidate_train``       rows before the inner date: fit the candidate model, and generate
                              candidate sets for the users of the next two parts
    ``ranker_train``          rows between the dates: labels for fitting the ranker
    ``ranker_validation``     rows between the dates, of other users: labels for early stopping
    ``train``                 all rows before the outer date: refit the candidate model, and
                              exclude these items as seen
    ``test``                  rows from the outer date on: the final evaluation
    ========================  ====================================================================

    Scoring ``test`` with the model fitted on ``candidate_train``, or excluding only its items as
    seen, is the mistake that `rankwise.audit` reports as L19.

    Parameters
    ----------
    share, at, last
        The outer date, as for `GlobalTime`.
    inner_share, inner_at, inner_last
        The inner date, among the rows before the outer one; by default ``inner_share=0.3``.
    validation_share : float, default=0.2
        The share of the users between the dates whose rows are for validation, in (0, 1).
    warm_only : bool, default=True
        Leave users without rows in ``candidate_train`` out of the ranker's parts, because they have
        no candidate set.
    seed : int, default=0
        Random seed, which decides the users for validation.

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

    @property
    def has_two_parts(self) -> bool:
        """False: there are parts for both stages."""
        return False

    def _check(self) -> None:
        if (self.inner_share, self.inner_at, self.inner_last) == (None, None, None):
            object.__setattr__(self, "inner_share", 0.3)
        self._cuts()
        check_share("validation_share", self.validation_share)
        if self.validation is not None or self.filters:
            raise ParameterError(
                "two stages have parts of their own for validation, and take no filters",
                hint="filter the table first: KCore(5).apply(table)",
            )

    def _cuts(self) -> tuple[GlobalTime, GlobalTime]:
        outer = GlobalTime(self.share, self.at, self.last)
        return outer, GlobalTime(self.inner_share, self.inner_at, self.inner_last)

    def _cut(self, rows: Rows) -> Masks:
        outer_cut, inner_cut = self._cuts()
        outer = outer_cut._cut(rows)
        train = outer.parts["train"]
        if not train.any():
            raise EmptyError("the training side of the split is empty", where=f"{outer.notes}")
        inside = rows.select(train)
        inner = inner_cut._cut(inside)
        first, between = inner.parts["train"], inner.parts["test"]
        notes = {"moment": outer.notes["moment"], "inner_moment": inner.notes["moment"]}
        if self.warm_only:
            warm = (inside.user.count(first) > 0)[inside.user.of_row]
            notes["rows_of_cold_users_dropped"] = int((between & ~warm).sum())
            between = between & warm
        if not first.any() or not between.any():
            side = "before" if not first.any() else "from"
            raise EmptyError(f"there are no training rows {side} the inner moment", where=f"TwoStage ({notes})")
        by_users = UserHoldout(self.validation_share, fold_in=None, seed=self.seed)
        ranker = by_users._cut(inside.select(between)).spread(between).parts
        parts = {"candidate_train": first, "ranker_train": ranker["train"], "ranker_validation": ranker["test"]}
        for name, mask in parts.items():
            if not mask.any():
                raise EmptyError(
                    f"part {name} would be empty", where=f"TwoStage ({notes})", hint="choose another validation_share"
                )
        inner_parts = Masks(parts).spread(train).parts
        return Masks({"train": train, **inner_parts, "test": outer.parts["test"]}, notes)
