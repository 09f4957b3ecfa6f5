"""`Evaluator`: `rankwise.evaluate` in chunks, on one machine or many."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Self, Unpack

from rankwise.core.choices import Ties
from rankwise.core.partial import Partial
from rankwise.errors import ParameterError
from rankwise.evaluation.doubts import check_dense
from rankwise.evaluation.option_sets import PieceOptions
from rankwise.evaluation.read_inputs import read_inputs
from rankwise.evaluation.settings import Settings
from rankwise.evaluation.signatures import takes_options
from rankwise.evaluation.work import finish, merge, prepare, work
from rankwise.measures.read import MeasureLike
from rankwise.results.result import Result
from rankwise.tables.read import read_tables
from rankwise.tables.table import Tables

__all__ = ["Evaluator"]


class Evaluator:
    """Evaluate in chunks, on one machine or many: `rankwise.evaluate` as an accumulator.

    The result is bit-identical to that of one call over all chunks. All rows of a user must be in
    the same chunk.

    Parameters
    ----------
    measures : str, measure, or a list of them
        The metrics, as in `rankwise.evaluate`.
    truth : table, path, mapping or sparse matrix, optional
        The ground truth of all users; or pass that of each chunk to `update`.
    train, items, users, baseline : optional
        As in `rankwise.evaluate`; all chunks share them.
    exact : bool, default=False
        Whether chunks are exact ranks from `rankwise.rank_relevant`.
    ties, **options
        As in `rankwise.evaluate`, except ``k``, ``exclude_seen``, ``warm_and_cold`` and
        ``jackknife``, which need all lists at once or change the tables.

    See Also
    --------
    evaluate : Evaluate everything in one call; ``chunk_rows`` reads a Parquet file in chunks.
    read_chunks : Read a Parquet file in chunks, without splitting users.

    Examples
    --------
    >>> import rankwise as rw
    >>> truth = {"ann": {1}, "bob": {2}}
    >>> evaluator = rw.Evaluator(["recall@2"], truth=truth)
    >>> evaluator.update({"ann": [1, 3]}).update({"bob": [3, 4]}).result()["recall@2"]
    0.5

    On several machines, each of which evaluates some of the users; their partials are merged:

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
        sources = {"truth": truth, "train": train, "items": items, "users": users, "baseline": baseline}
        self._start(settings, sources)

    @classmethod
    def of(cls, settings: Settings, sources: Mapping[str, Any]) -> Self:
        """Return an evaluator from checked settings and the tables that all chunks share."""
        evaluator = cls.__new__(cls)
        evaluator._start(settings, sources)
        return evaluator

    def _start(self, settings: Settings, sources: Mapping[str, Any]) -> None:
        self._job = prepare(settings, read_inputs(settings, **sources))
        self._partials: list[Partial] = []

    @property
    def reference(self) -> Tables:
        """The tables that all chunks share."""
        return self._job.reference

    def update(self, recommendations: Any, truth: Any = None) -> Self:
        """Add a chunk: the recommendation lists of some users.

        Parameters
        ----------
        recommendations : table, path, mapping, array or sparse matrix
            The lists, or with ``exact=True`` the ranks, of users who are in no other chunk.
        truth : table, path, mapping or sparse matrix, optional
            The ground truth of these users, if the evaluator was made without one.

        Returns
        -------
        Evaluator
            Itself.

        Raises
        ------
        InputError
            If the data cannot be evaluated as it is. The evaluator is left unchanged.
        """
        piece = read_tables(
            self._job.settings.columns, required=("recommendations",), recommendations=recommendations, truth=truth
        )
        truth = piece.truth or self.reference.truth
        check_dense(replace(self.reference, recommendations=piece.recommendations, truth=truth))
        return self.merge(work(self._job, piece))

    def merge(self, *others: Evaluator | Partial) -> Self:
        """Add the partials of other evaluators, which may come from other machines.

        Parameters
        ----------
        *others : Evaluator or Partial
            Evaluators, or their `partial`, with the same settings and tables, for other users.

        Returns
        -------
        Evaluator
            Itself.

        Raises
        ------
        ParameterError
            If their settings or tables differ from those of this evaluator.
        """
        partials: list[Partial] = []
        for other in others:
            if not isinstance(other, Evaluator | Partial):
                raise ParameterError("merge takes evaluators and partials", found=f"{type(other).__name__}")
            partials += other._partials if isinstance(other, Evaluator) else [other]
        for other in others:
            self._job.about.check(other._job.about if isinstance(other, Evaluator) else other.about)
        for partial in partials:
            (self._partials or partials)[0].check(partial)
        self._partials += partials
        return self

    def partial(self) -> Partial:
        """Return a mergeable partial of everything so far, which can be pickled and sent."""
        return merge(self._partials)

    def result(self) -> Result:
        """Return the result of everything so far; more may be added afterwards."""
        return finish(self._job, self._partials)
