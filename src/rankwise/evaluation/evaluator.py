"""The evaluator: `rankwise.evaluate` fed in pieces, on one machine or on many."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Self, Unpack

from rankwise.core.choices import Ties
from rankwise.core.partial import Partial
from rankwise.errors import ParameterError
from rankwise.evaluation.doubts import check_dense
from rankwise.evaluation.option_sets import PieceOptions
from rankwise.evaluation.settings import Settings
from rankwise.evaluation.signatures import takes_options
from rankwise.evaluation.work import finish, merge, prepare, read_inputs, work
from rankwise.measures.read import MeasureLike
from rankwise.results.result import Result
from rankwise.tables.read import read_tables
from rankwise.tables.table import Tables

__all__ = ["Evaluator"]


class Evaluator:
    """`rankwise.evaluate` fed in pieces, on one machine or on many.

    All parameters are those of `rankwise.evaluate`, and ``exact``, which says that pieces are
    exact ranks from `rankwise.rank_relevant`. Truth is given once here, or with every piece; either
    way all rows of a user belong in one piece. The result has the same bits as one call over
    everything.

    Examples
    --------
    >>> import rankwise as rw
    >>> truth = {"ann": {1}, "bob": {2}}
    >>> evaluator = rw.Evaluator(["recall@2"], truth=truth)
    >>> evaluator.update({"ann": [1, 3]}).update({"bob": [3, 4]}).result()["recall@2"]
    0.5

    On several machines, each with its part of the users; partials are merged:

    >>> here = rw.Evaluator(["recall@2"]).update({"ann": [1, 3]}, {"ann": {1}})
    >>> there = rw.Evaluator(["recall@2"]).update({"bob": [3, 4]}, {"bob": {2}})
    >>> here.merge(there).result()["recall@2"]
    0.5
    """

    @takes_options(PieceOptions)
    def __init__(
        self,
        measures: MeasureLike | Iterable[MeasureLike],
        *,
        truth: Any = None,
        train: Any = None,
        items: Any = None,
        users: Any = None,
        baseline: Any = None,
        ties: Ties | None = None,
        exact: bool = False,
        **options: Unpack[PieceOptions],
    ) -> None:
        settings = Settings.read(measures, options, PieceOptions, ties=ties, exact=exact)
        sources = {"truth": truth, "train": train, "items": items, "users": users,
                   "baseline": baseline}  # fmt: skip
        self._start(settings, sources)

    @classmethod
    def of(cls, settings: Settings, sources: Mapping[str, Any]) -> Self:
        """Return an evaluator with settings that are read, and the tables all pieces share."""
        evaluator = cls.__new__(cls)
        evaluator._start(settings, sources)
        return evaluator

    def _start(self, settings: Settings, sources: Mapping[str, Any]) -> None:
        self._job = prepare(settings, read_inputs(settings, **sources))
        self._partials: list[Partial] = []

    @property
    def reference(self) -> Tables:
        """The tables that all pieces share."""
        return self._job.reference

    def update(self, recommendations: Any, truth: Any = None) -> Self:
        """Add the lists of some users; with ``truth``, also what is relevant to them.

        Raises
        ------
        InputError
            If the data cannot be evaluated as it is. The evaluator is then as it was before.
        """
        piece = read_tables(
            self._job.settings.columns, required=("recommendations",),
            recommendations=recommendations, truth=truth,
        )  # fmt: skip
        truth = piece.truth or self.reference.truth
        check_dense(replace(self.reference, recommendations=piece.recommendations, truth=truth))
        return self.merge(work(self._job, piece))

    def merge(self, *others: Evaluator | Partial) -> Self:
        """Add what other evaluators, or partials from elsewhere, have computed.

        Raises
        ------
        ParameterError
            If they answer another question: other settings, or other tables.
        """
        partials: list[Partial] = []
        for other in others:
            if not isinstance(other, Evaluator | Partial):
                raise ParameterError(
                    "evaluators and partials are merged", found=f"{type(other).__name__}"
                )
            partials += other._partials if isinstance(other, Evaluator) else [other]
        for other in others:
            self._job.about.check(other._job.about if isinstance(other, Evaluator) else other.about)
        for partial in partials:
            (self._partials or partials)[0].check(partial)
        self._partials += partials
        return self

    def partial(self) -> Partial:
        """Return what has been computed so far, to be sent elsewhere and merged there."""
        return merge(self._partials)

    def result(self) -> Result:
        """Return the result of everything so far; more may be added afterwards."""
        return finish(self._job, self._partials)
