"""`evaluate` and `Evaluator`: the evaluation of recommendation lists, whole or in pieces."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, Unpack

import polars as pl

from rankwise.blocks.partial import Partial
from rankwise.core.populations import POPULATIONS
from rankwise.core.terminal import progress_bar
from rankwise.core.units import REQUEST
from rankwise.encoding.encoder import normalise
from rankwise.errors import MetricError, ParameterError
from rankwise.evaluation.alternatives import merge_alternatives
from rankwise.evaluation.engine import (
    evaluate_piece,
    finish,
    item_names,
    merge,
    prepare,
    work,
)
from rankwise.evaluation.input_warnings import check_dense, doubts, doubts_of_piece, low_ratings
from rankwise.evaluation.join_results import merge_results
from rankwise.evaluation.plan import check_scores, plan_passes, several_passes_error
from rankwise.evaluation.requests import PiecesByRequest, Requests, check_requests, with_attributes
from rankwise.evaluation.settings import (
    DEFAULT_METRICS,
    ListOptions,
    PieceOptions,
    Settings,
    check_population,
    check_taken,
    takes_options,
)
from rankwise.evaluation.slicing import crossed_users, with_bins, with_numbers
from rankwise.evaluation.truth_slices import TruthSlices, columns_of_truth
from rankwise.evaluation.user_table import assign_jackknife_groups
from rankwise.evaluation.users_once import UsersOnce
from rankwise.messages import mention, parameter
from rankwise.metrics.base import Metric, MetricLike
from rankwise.options import ANY_ROW, MeanOver, Ties
from rankwise.results.result import Result
from rankwise.tables.catalogue import codes_as_text
from rankwise.tables.columns import check_columns
from rankwise.tables.files import table_hash
from rankwise.tables.grades import no_truth_error, with_grades
from rankwise.tables.ids import settle_ids
from rankwise.tables.places import settle_empty_lists
from rankwise.tables.read import Chunks, check_shared_names, read_tables
from rankwise.tables.requests import (
    check_same_units,
    has_requests,
    unread_requests,
    without_requests,
)
from rankwise.tables.same_items import rename_items, same_items
from rankwise.tables.spelling import check_common_items
from rankwise.tables.storage import is_folder
from rankwise.tables.table import CARD_FILE, Recommendations, Table, TableRole, Tables
from rankwise.tables.training import exclude_seen


def read_inputs(
    settings: Settings,
    *,
    recommendations: Any = None,
    truth: Any = None,
    train: Any = None,
    items: Any = None,
    users: Any = None,
    reference: Any = None,
    required: Sequence[str] = (),
    later: Sequence[TableRole] = (),
) -> Tables:
    """Read everything that was given, a split in place of ground truth and training included.

    Columns must be those of the tables, or of tables that are read ``later``.
    """
    check_population(users)
    if settings.codes is not None:
        recommendations = codes_as_text(recommendations)
    if any(map(_may_be_split, (truth, train))):
        from rankwise.splits.reading import truth_and_train

        truth, train = truth_and_train(truth, train, settings.columns)
    sources: dict[TableRole, Any] = {
        "recommendations": recommendations,
        "truth": truth,
        "train": train,
        "items": items,
        "users": users,
        "reference": reference,
    }
    present = [role for role, source in sources.items() if source is not None or role in required]
    check_columns(settings.columns, [*present, *later], ("train", "items", "users", "reference"))
    tables = read_tables(
        {**columns_of_truth(settings), **(settings.columns or {})},
        required=required,
        progress=settings.progress,
        names_checked=not later,
        **sources,
    )
    if settings.same is not None:
        tables = rename_items(tables, same_items(settings.same, tables.items))
    tables = with_numbers(tables, settings.by)
    truth_with_grades = with_grades(tables.truth, settings.grades)
    return replace(tables, truth=truth_with_grades, users=with_bins(tables.users, settings.by))


def _may_be_split(source: Any) -> bool:
    """Return whether a table is a folder, or may be a split: one made by a loaded package."""
    is_path = isinstance(source, str | Path)
    is_given_folder = is_path and (is_folder(source) or Path(source).name == CARD_FILE)
    return is_given_folder or "rankwise.splits" in sys.modules


class Evaluator:
    """Evaluate in chunks, on one machine or many: `rankwise.evaluate` as an accumulator.

    The result is bit-identical to that of one call over all chunks. All rows of a user must be in
    the same chunk.

    Parameters
    ----------
    metrics : str, metric, or a list of them
        The metrics, as in `rankwise.evaluate`.
    truth : table, path, mapping or sparse matrix, optional
        The ground truth of all users; or pass that of each chunk to `update`.
    train, items, users, reference : optional
        As in `rankwise.evaluate`; all chunks share them.
    exact : bool, default=False
        Whether chunks are exact ranks from `rankwise.rank_relevant`.
    ties, codes, titles, mean_over, **options
        As in `rankwise.evaluate`, except ``exclude_seen``, ``cross``, ``jackknife`` and slices of
        relevant items in ``by``, which need all lists at once.

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
        metrics: MetricLike | Iterable[MetricLike],
        *,
        truth: Any = None,
        train: Any = None,
        items: Any = None,
        users: Any = None,
        reference: Any = None,
        ties: Ties | None = None,
        codes: str | Mapping[Any, Any] | None = None,
        titles: str | Mapping[Any, Any] | None = None,
        mean_over: MeanOver = "requests",
        exact: bool = False,
        **options: Unpack[PieceOptions],
    ) -> None:
        explicit = {
            "ties": ties,
            "codes": codes,
            "titles": titles,
            "mean_over": mean_over,
            "exact": exact,
        }
        settings = Settings.read(metrics, options, PieceOptions, **explicit)
        sources = {
            "truth": truth,
            "train": train,
            "items": items,
            "users": users,
            "reference": reference,
        }
        self._start(settings, sources)

    @classmethod
    def of(cls, settings: Settings, sources: Mapping[str, Any]) -> Self:
        """Return an evaluator from checked settings and the tables that all chunks share."""
        evaluator = cls.__new__(cls)
        evaluator._start(settings, sources)
        return evaluator

    def _start(self, settings: Settings, sources: Mapping[str, Any]) -> None:
        shared = read_inputs(settings, later=("recommendations", "truth"), **sources)
        shared = with_attributes(settings, normalise(shared, settings), None)
        self._shared = shared
        self._requests = (
            PiecesByRequest.of(settings, shared) if has_requests(shared.users) else None
        )
        self._job = prepare(settings, shared) if self._requests is None else self._requests.job
        self._partials: list[Partial] = []
        self._users = UsersOnce()
        self._without_hits: list[Tables] | None = []
        self._doubts: list[str] = []

    @property
    def shared(self) -> Tables:
        """The tables that all chunks share."""
        return self._shared

    def _take_requests(self) -> None:
        """Take lists of requests from now on, if there were no lists before."""
        if self._requests is None and not self._partials:
            self._requests = PiecesByRequest.of(self._job.settings, self._shared)
            self._job = self._requests.job

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
            If the data cannot be evaluated as it is, or a user came in an earlier chunk. The
            evaluator is left unchanged.
        """
        with self._unchanged_by_errors():
            return self._updated(recommendations, truth)

    def _updated(self, recommendations: Any, truth: Any) -> Self:
        settings = self._job.settings
        if settings.codes is not None:
            recommendations = codes_as_text(recommendations)
        columns = {**columns_of_truth(settings), **(settings.columns or {})}
        piece = read_tables(
            columns,
            required=("recommendations",),
            names_checked=False,
            recommendations=recommendations,
            truth=truth,
        )
        if self.shared.same is not None:
            piece = rename_items(piece, self.shared.same)
        check_shared_names(columns, {**self.shared.by_role, **piece.by_role})
        check_same_units([*piece.by_role.values(), *self.shared.by_role.values()], settings.columns)
        piece = replace(piece, truth=with_grades(piece.truth, settings.grades))
        truth = piece.truth or self.shared.truth
        if truth is None and settings.grades is not None:
            raise no_truth_error()
        check_dense(replace(self.shared, recommendations=piece.recommendations, truth=truth))
        if piece.recommendations is not None:
            check_requests(settings, piece.recommendations)
        if has_requests(piece.recommendations):
            self._take_requests()
        known = self._partials[0].id_types if self._partials else None
        if self._requests is None:
            self._job, partial = evaluate_piece(self._job, piece, known)
        else:
            self._requests, partial = self._requests.work(piece, known)
        without_hits = self._items_without_hits(piece, partial)
        warnings = doubts_of_piece(self.shared, piece, is_first=not self._partials)
        self._merged([partial])
        self._without_hits = without_hits
        self._doubts += warnings
        return self

    def _items_without_hits(self, piece: Tables, partial: Partial) -> list[Tables] | None:
        """Return the distinct items of all pieces so far if no piece has a hit, else None."""
        lists, settings = piece.recommendations, self._job.settings
        counts = {"hits": 0} | dict(partial.counts)
        if (
            self._without_hits is None
            or lists is None
            or not _may_lack_hits(settings, lists, counts)
        ):
            return None
        lists = lists.with_frame(lists.frame.select(pl.col("item").unique(maintain_order=True)))
        truth = piece.truth
        if truth is not None:
            truth = truth.with_frame(truth.frame.select(pl.col("item").unique(maintain_order=True)))
        return [*self._without_hits, Tables(recommendations=lists, truth=truth)]

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
        DuplicateError
            If a user is in two of them. The evaluator is left unchanged by all errors.
        """
        with self._unchanged_by_errors():
            return self._merged(others)

    def _merged(self, others: Sequence[Evaluator | Partial]) -> Self:
        partials: list[Partial] = []
        for other in others:
            if not isinstance(other, Evaluator | Partial):
                raise ParameterError(
                    "merge takes evaluators and partials", found=f"{type(other).__name__}"
                )
            partials += other._partials if isinstance(other, Evaluator) else [other]
        if any(partial.about.settings.get("by_request") == "True" for partial in partials):
            self._take_requests()
        for other in others:
            self._job.about.check(other._job.about if isinstance(other, Evaluator) else other.about)
        for partial in partials:
            (self._partials or partials)[0].check(partial)
        self._users = self._users.with_users(partials)
        self._partials += partials
        for other in others:
            both = (
                self._without_hits,
                getattr(other, "_without_hits", None),
            )  # items of a partial are not known
            self._without_hits = (
                None if both[0] is None or both[1] is None else [*both[0], *both[1]]
            )
            self._doubts += getattr(other, "_doubts", [])
        return self

    @contextmanager
    def _unchanged_by_errors(self) -> Iterator[None]:
        """Restore the job and the requests if an update or a merge fails."""
        before = self._job, self._requests
        try:
            yield
        except BaseException:
            self._job, self._requests = before
            raise

    def partial(self) -> Partial:
        """Return a mergeable partial of everything so far, which can be pickled and sent."""
        return merge(self._partials)

    def result(self) -> Result:
        """Return the result of everything so far; more may be added afterwards."""
        if self._requests is not None:
            result = self._requests.result(self._partials)
        else:
            result = finish(self._job, self._partials)
        if self._without_hits and result.counts.get("hits") == 0:
            self._check_common_items(self._without_hits)
        truth, warnings = self.shared.truth, list(self._doubts)
        warnings += low_ratings(truth, self._job.settings.relevance_threshold)
        if truth is not None and self._requests is None:
            warnings += unread_requests(
                replace(truth, frame=truth.frame.head(0).select("user")), truth
            )
        return _with_warnings(result, warnings)

    def _check_common_items(self, without_hits: list[Tables]) -> None:
        """Raise if no piece has a hit because no item of the lists is in another table."""
        pieces = [piece.by_role for piece in without_hits]
        shared = replace(
            self.shared, truth=self._requests.truth if self._requests else self.shared.truth
        )
        known = [piece["truth"] for piece in pieces if "truth" in piece] + _tables_of_items(shared)
        items = [piece["recommendations"].frame["item"].cast(pl.String) for piece in pieces]
        check_common_items(pl.concat(items), [table.frame["item"] for table in known], "the chunks")


def _with_warnings(result: Result, warnings: Sequence[str]) -> Result:
    """Put warnings before the existing warnings of a result, each once."""
    warnings = list(dict.fromkeys([*warnings, *result.provenance["doubts"]]))
    return replace(result, provenance={**result.provenance, "doubts": warnings})


@takes_options(ListOptions)
def evaluate(
    recommendations: Any,
    truth: Any = None,
    metrics: MetricLike | Iterable[MetricLike] = DEFAULT_METRICS,
    *,
    train: Any = None,
    items: Any = None,
    users: Any = None,
    reference: Any = None,
    chunk_rows: int | None = None,
    **options: Unpack[ListOptions],
) -> Result:
    """Evaluate recommendation lists against the ground truth.

    Parameters
    ----------
    recommendations : table, path, mapping, array or sparse matrix
        Recommendation lists, from `rankwise.rank` or any other source, or exact ranks from
        `rankwise.rank_relevant`. A table has one row per recommended item, with user and item;
        lists are ordered by its ``rank`` column, without one by decreasing ``score``, without
        either by the order of the rows. Also ``{user: [items]}``, ``{user: [(item, score)]}``, a
        dense array of item ids with one row per user, best first, or a SciPy sparse matrix of
        scores.
    truth : table, path, mapping, sparse matrix or Split, optional
        The ground truth: one row per held-out interaction, with user, item and optionally a
        ``relevance``; or ``{user: {items}}``, ``{user: {item: relevance}}``, or a sparse matrix of
        relevances. Of a `rankwise.splits.Split`, or the folder of one, the test part is the ground
        truth, the training part is ``train`` unless that is given, and the result keeps the card.
        Without a ground truth only metrics that describe lists are defined (coverage, Gini,
        novelty, diversity, popularity), and the users with a list are evaluated.
    metrics : str, metric, or a list of them, default=DEFAULT_METRICS
        The metrics: ``"ndcg@10"``, ``"recall@[5,10,20]"``, ``rw.NDCG(gain="exponential") @ 10``, ….
    train : table, path, mapping or Split, optional
        Training interactions, for the popularity of items and each user's training history. Their
        items belong to the catalogue. Of a split, or the folder of one, what is known before the
        test part.
    items : table, path, mapping, matrix or iterable of ids, optional
        The catalogue, with or without item data: categories, feature vectors, groups,
        propensities. ``{"item": [...], "genres": [...]}``, or the feature matrix of items that are
        numbered from 0. By default the catalogue is every item seen in train, truth and
        recommendations.
    users : table, path or mapping, optional
        One row per user: groups for ``by`` and for metrics of user groups, a column for
        ``weights``.
    reference : table, path or mapping, optional
        The recommendation lists of another system, in any form that recommendations may have, for
        metrics of the overlap of two systems' lists and of unexpectedness.
    chunk_rows : int, optional
        Read a Parquet file of recommendations, or a folder or list of them, in chunks of about this
        many rows, so that it need not fit in memory. Its rows must be grouped by user.
    %(options)s

    Returns
    -------
    Result
        Values by name, per-user values, counts, and everything needed to reproduce them.

    Raises
    ------
    InputError
        If the data cannot be evaluated as it is; the message says where and what to do.
    UsageError
        If a metric or option is unknown or invalid, or an input that a metric needs is missing.

    See Also
    --------
    evaluate_model : Request the lists from a model, and evaluate them.
    Evaluator : Evaluate in chunks, on one machine or many.
    compare : Compare two results or more.

    Notes
    -----
    Rules for lists apply in this order. Ids are replaced (``same``, ``codes``, ``titles``). Seen
    items and items without judgement are removed (``exclude_seen``, ``judged_only``). Gaps between
    ranks are closed or kept (``ranks``). Repeated items are dropped or keep their places
    (``duplicates``). ``depth`` cuts.

    A rating also reaches the threshold if both are equal in single precision: 0.7 stored as
    float32 is 0.69999999 as a double, and reaches 0.7. So formats, engines and joins that change
    the type of a column do not change results. Half precision counts as the decimal that it
    writes.

    Files of a folder, or of a list of paths, are read in the order of their paths and have the
    same columns. Names that begin with ``_`` or ``.`` are skipped, and folders named
    ``country=at`` give a column ``country``. Only Parquet files are read together. A result records
    one hash of all files, in any order. Only files of this machine are opened, never URLs.

    Ids of a text file are integers only if every one is written as an integer, so that ``01``
    stays text. Blanks around ids are removed and counted. The labels of a pandas Series by user are
    items if its values are floats; the named levels of an index are columns. One number beside a
    list of items, as a score or a rank, is an error, while a timestamp belongs to all items.
    Lists of a TREC run in which a lower rank has a higher score are counted.

    Examples
    --------
    >>> import rankwise as rw
    >>> result = rw.evaluate(
    ...     {"ann": ["a", "b", "c"], "bob": ["b", "d", "a"]},
    ...     {"ann": {"a", "c"}, "bob": {"d"}},
    ...     ["precision@2", "ndcg@3"],
    ... )
    >>> result["precision@2"]
    0.5
    >>> result.per_user["ndcg@3"].round(4).to_list()
    [0.9197, 0.6309]
    """
    requested_metrics, passes = plan_passes(metrics, options)
    if truth is None:
        passes = [without_truth(settings, options) for settings in passes]
    settings = passes[0]
    sources = {
        "truth": truth,
        "train": train,
        "items": items,
        "users": users,
        "reference": reference,
    }
    if chunk_rows is not None:
        check_taken("chunks", options)
        if len(passes) > 1:
            raise several_passes_error(passes)
        return _in_chunks(recommendations, chunk_rows, settings, sources)
    required = ("recommendations",)
    tables = read_inputs(settings, recommendations=recommendations, required=required, **sources)
    check_dense(tables)
    tables = normalise(
        tables, settings
    )  # once: passes differ only in choices that a metric may have of its own
    tables, unknown_names = _with_items_named(tables, settings, requested_metrics)
    tables = settle_ids(tables)
    tables = replace(tables, items_named=True)
    result = merge_results([evaluate_tables(each, tables) for each in passes], requested_metrics)
    return (
        replace(result, provenance=result.provenance | {"unknown_names": unknown_names})
        if unknown_names
        else result
    )


def _with_items_named(
    tables: Tables, settings: Settings, metrics: Iterable[Metric]
) -> tuple[Tables, list[str]]:
    """Map codes or titles in lists to items; also return up to five names without an item."""
    names, lists = item_names(settings, tables.items), tables.recommendations
    if names is None or lists is None:
        return tables, []
    check_scores((leaf for metric in metrics for leaf in metric.leaves), lists)
    lists, unknown = names.translated(lists)
    return replace(tables, recommendations=lists), unknown


def without_truth(settings: Settings, options: Mapping[str, Any]) -> Settings:
    """Return the settings without a ground truth: the users with a list are evaluated.

    ``options`` are those that were given, of which a population must not need a ground truth.
    """
    for metric in settings.metrics:
        check_reads_no_truth(metric)
    if settings.grades is not None:
        raise no_truth_error()
    has_threshold = settings.relevance_threshold not in (None, ANY_ROW)
    population = POPULATIONS.get(options.get("population", ""))
    if has_threshold or (population is not None and population.needs_truth):
        raise ParameterError(
            "without a ground truth there are no relevant items",
            found=f"{parameter('relevance_threshold', settings.relevance_threshold)}, "
            f"{parameter('population', settings.population)}",
            hint=f"leave {mention('relevance_threshold')} out, and take "
            f"{parameter('population', 'recommended')}",
        )
    return replace(settings, population="recommended", exceptions=())


def check_reads_no_truth(metric: Metric) -> None:
    """Raise if a metric compares lists with the ground truth, which there is none of."""
    if metric.reads_truth:
        raise MetricError(
            f"{metric} needs a ground truth",
            found="no truth",
            hint="pass one, or ask for what describes lists: coverage, Gini, novelty, …",
        )


def evaluate_tables(settings: Settings, tables: Tables) -> Result:
    """Evaluate tables that are read already, all users in one chunk."""
    check_whole(settings, tables.train)
    tables = whole = _with_settled_ids(settings, tables)
    lists = tables.recommendations
    assert lists is not None
    warnings = [*doubts(tables), *low_ratings(tables.truth, settings.relevance_threshold)]

    settings = replace(settings, exact=lists.is_exact)
    tables = replace(
        tables, recommendations=settle_empty_lists(lists, present=settings.empty_lists == "present")
    )
    requests = Requests.of(settings, tables)
    settings, tables = _adjusted(settings, tables)
    tables = merge_alternatives(settings, tables)  # of what is left, by the items' own names
    slices, settings, tables = TruthSlices.of(settings, tables)
    if requests is not None:
        tables = requests.number_requests(tables)
    elif tables.truth is not None:
        tables = replace(tables, truth=without_requests(tables.truth))

    result = with_doubts(_in_one_piece(settings, tables), warnings)
    _check_hits(settings, whole, result)
    result = slices.add_to(result, settings, tables, _in_one_piece)
    return result if requests is None else requests.describe_requests(result)


def _with_settled_ids(settings: Settings, tables: Tables) -> Tables:
    """Return tables in which each kind of id has one type, attributes of requests by request."""
    tables = normalise(tables, settings)
    lists = tables.recommendations
    if lists is not None and has_requests(lists):
        tables = with_attributes(settings, tables, lists.columns.get(REQUEST, REQUEST))
    return settle_ids(tables)


def _check_hits(settings: Settings, tables: Tables, result: Result) -> None:
    """Raise if there is no hit because no item of the lists is in another table."""
    lists = tables.recommendations
    if lists is not None and _may_lack_hits(settings, lists, result.counts):
        known = [table.frame["item"] for table in _tables_of_items(tables)]
        check_common_items(lists.frame["item"], known, lists.source)


def _may_lack_hits(settings: Settings, lists: Recommendations, counts: Mapping[str, int]) -> bool:
    """Return whether there is no hit, and items could be named otherwise in lists of ids."""
    has_ids = settings.item_names is None and not lists.is_exact and lists.format != "ratings"
    return has_ids and counts.get("hits") == 0


def _tables_of_items(tables: Tables) -> list[Table]:
    """Return the tables that say which items there are, the ground truth first."""
    every = (tables.truth, tables.train, tables.items)
    return [table for table in every if table is not None and not table.frame.is_empty()]


def _in_one_piece(settings: Settings, tables: Tables) -> Result:
    """Evaluate tables that are adjusted, all users in one chunk."""
    job = prepare(settings, replace(tables, recommendations=None))
    return finish(job, [work(job, Tables(recommendations=tables.recommendations))])


def with_doubts(result: Result, warnings: list[str]) -> Result:
    """Return the result with doubts about its inputs, also if most users have no list."""
    if 2 * result.counts["users_without_list"] > result.counts["users"]:
        warnings = [
            *warnings,
            "most users have no list: do recommendations and ground truth name users alike?",
        ]
    return _with_warnings(result, warnings)


def check_whole(settings: Settings, train: object) -> None:
    """Raise if seen items are excluded, and there are no training interactions."""
    if settings.exclude_seen and train is None:
        raise ParameterError(
            f"{mention('exclude_seen')} needs training interactions",
            found="no train",
            hint=f"pass {parameter('train')}",
        )


def _adjusted(settings: Settings, tables: Tables) -> tuple[Settings, Tables]:
    """Deal users to jackknife groups, exclude seen items, and set all scores."""
    if settings.jackknife is not None:
        tables = assign_jackknife_groups(tables, settings.jackknife, settings.relevance_threshold)
    if settings.exclude_seen:
        recommendations, train, truth = tables.recommendations, tables.train, tables.truth
        assert recommendations is not None
        assert train is not None
        tables = replace(tables, recommendations=exclude_seen(recommendations, train, truth))
    settings, tables = crossed_users(settings, tables)
    assert tables.recommendations is not None
    lists = tables.recommendations.frame
    if "score" in lists.columns:
        scores = lists["score"].cast(pl.Float64).to_numpy()
        settings = replace(
            settings, metrics=tuple(metric.with_scores(scores) for metric in settings.metrics)
        )
    return settings, replace(tables, is_adjusted=True)


def _in_chunks(source: Any, rows: int, settings: Settings, sources: dict[str, Any]) -> Result:
    """Evaluate a Parquet file in chunks, and hash the file meanwhile."""
    chunks = Chunks(source, rows, settings.columns)
    evaluator = Evaluator.of(replace(settings, progress=False), sources)
    warnings: list[str] | None = None
    with (
        ThreadPoolExecutor(1) as pool,
        progress_bar(chunks.total, "rows", shown=settings.progress) as bar,
    ):
        digest = pool.submit(table_hash, chunks.path)
        for chunk in chunks:
            if warnings is None:
                assert isinstance(chunk, Recommendations)
                warnings = doubts(replace(evaluator.shared, recommendations=chunk))
            evaluator.update(chunk)
            bar.update(len(chunk.frame))
        result = evaluator.result()
    card = {**result.provenance["inputs"]["recommendations"], "sha256": digest.result()}
    inputs = {**result.provenance["inputs"], "recommendations": card}
    return with_doubts(
        replace(result, provenance={**result.provenance, "inputs": inputs}), warnings or []
    )
