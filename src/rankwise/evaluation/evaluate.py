"""`evaluate`: recommendations and ground truth in, a `Result` out."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Unpack

from rankwise.core.choices import ANY_ROW
from rankwise.core.progress import progress_bar
from rankwise.errors import MeasureError, ParameterError
from rankwise.evaluation.doubts import check_dense, doubts
from rankwise.evaluation.evaluator import Evaluator
from rankwise.evaluation.jackknife import deal_groups
from rankwise.evaluation.option_sets import ListOptions
from rankwise.evaluation.questions import joined, questions, several_questions
from rankwise.evaluation.read_inputs import read_inputs
from rankwise.evaluation.settings import DEFAULT_MEASURES, Settings
from rankwise.evaluation.signatures import takes_options
from rankwise.evaluation.warm_cold import warm_and_cold_truth, with_history, with_item_slices
from rankwise.evaluation.work import finish, prepare, work
from rankwise.measures.measure import Measure
from rankwise.measures.read import MeasureLike
from rankwise.results.group_columns import HISTORY
from rankwise.results.result import Result
from rankwise.tables.chunks import Chunks
from rankwise.tables.parts import table_hash
from rankwise.tables.seen import take_out_seen
from rankwise.tables.table import Recommendations, Table, Tables

__all__ = ["check_reads_no_truth", "check_whole", "evaluate", "evaluate_tables", "with_doubts", "without_truth"]

_OF_TRUTH = ("both", "judged", "judged_both")
"""Populations that need a ground truth."""


@takes_options(ListOptions)
def evaluate(
    recommendations: Any,
    truth: Any = None,
    measures: MeasureLike | Iterable[MeasureLike] = DEFAULT_MEASURES,
    *,
    train: Any = None,
    items: Any = None,
    users: Any = None,
    baseline: Any = None,
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
    measures : str, measure, or a list of them, default=DEFAULT_MEASURES
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
    baseline : table, path or mapping, optional
        The lists of another run, in any form that recommendations may have, for metrics of the
        overlap of two runs.
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
    wanted, asked = questions(measures, options)
    if truth is None:
        asked = [without_truth(settings) for settings in asked]
    settings = asked[0]
    sources = {"truth": truth, "train": train, "items": items, "users": users, "baseline": baseline}
    if chunk_rows is not None:
        check_whole(settings, train=train, chunk_rows=chunk_rows)
        if len(asked) > 1:
            raise several_questions(asked)
        return _in_chunks(recommendations, chunk_rows, settings, sources)
    required = ("recommendations",)
    tables = read_inputs(settings, recommendations=recommendations, required=required, **sources)
    check_dense(tables)
    normalised = {each.readings: each.readings.of(tables) for each in asked}  # tables that passes share
    return joined([evaluate_tables(each, normalised[each.readings]) for each in asked], wanted)


def without_truth(settings: Settings) -> Settings:
    """Return the settings without a ground truth: the users with a list are evaluated."""
    for measure in settings.measures:
        check_reads_no_truth(measure)
    given = settings.relevance_threshold not in (None, ANY_ROW)
    if given or (settings.convention is None and settings.population in _OF_TRUTH):
        raise ParameterError(
            "without a ground truth there are no relevant items",
            found=f"relevance_threshold={settings.relevance_threshold}, population={settings.population!r}",
            hint='leave relevance_threshold out, and take population="recommended"',
        )
    return replace(settings, population="recommended", exceptions=())


def check_reads_no_truth(measure: Measure) -> None:
    """Raise if a measure compares lists with the ground truth, which there is none of."""
    if measure.reads_truth:
        raise MeasureError(
            f"{measure} needs a ground truth",
            found="no truth",
            hint="pass one, or ask for what describes lists: coverage, Gini, novelty, …",
        )


def evaluate_tables(settings: Settings, tables: Tables) -> Result:
    """Evaluate tables that are read already, all users in one chunk."""
    check_whole(settings, train=tables.train, chunk_rows=None)
    assert tables.recommendations is not None
    said = doubts(tables)
    settings = replace(settings, exact=tables.recommendations.is_exact)
    settings, tables = _adjusted(settings, tables)
    piece = Tables(recommendations=tables.recommendations)
    job = prepare(settings, replace(tables, recommendations=None))
    result = finish(job, [work(job, piece)])
    result = with_doubts(result, said)
    if not settings.warm_and_cold:
        return result

    def again(truth: Table) -> Result:
        alone = replace(settings, by=(), jackknife=None)
        job = prepare(alone, replace(tables, recommendations=None, truth=truth))
        return finish(job, [work(job, piece)])

    assert tables.truth is not None
    assert tables.train is not None
    return with_item_slices(result, warm_and_cold_truth(tables.truth, tables.train), again)


def with_doubts(result: Result, said: list[str]) -> Result:
    """Return the result with doubts about its inputs, also if most users have no list."""
    if 2 * result.counts["users_without_list"] > result.counts["users"]:
        said = [*said, "most users have no list: do recommendations and ground truth name users alike?"]
    return replace(result, provenance={**result.provenance, "doubts": [*said, *result.provenance["doubts"]]})


def check_whole(settings: Settings, *, train: object, chunk_rows: int | None) -> None:
    """Raise if an option needs all lists at once, or training interactions, and lacks them."""
    if settings.jackknife is not None and chunk_rows is not None:
        raise ParameterError(
            "jackknife needs all lists at once", found=f"chunk_rows={chunk_rows}", hint="leave chunk_rows out"
        )
    seen = settings.exclude_seen or settings.warm_and_cold
    if seen and (train is None or chunk_rows is not None):
        raise ParameterError(
            "exclude_seen and warm_and_cold need training interactions, and all lists at once",
            found="no train" if train is None else f"chunk_rows={chunk_rows}",
            hint="pass train=" if train is None else "leave chunk_rows out",
        )


def _adjusted(settings: Settings, tables: Tables) -> tuple[Settings, Tables]:
    """Deal users to jackknife groups, remove seen items, and say who has a training history."""
    if settings.jackknife is not None:
        tables = deal_groups(tables, settings.jackknife, settings.relevance_threshold)
    if settings.exclude_seen:
        recommendations, train, truth = tables.recommendations, tables.train, tables.truth
        assert recommendations is not None
        assert train is not None
        tables = replace(tables, recommendations=take_out_seen(recommendations, train, truth))
    if settings.warm_and_cold:
        tables = with_history(tables)
        settings = replace(settings, by=(*settings.by, HISTORY))
    return replace(settings, adjusted=True), tables


def _in_chunks(source: Any, rows: int, settings: Settings, sources: dict[str, Any]) -> Result:
    """Evaluate Parquet piece by piece, and hash it meanwhile."""
    chunks = Chunks(source, rows, settings.columns)
    evaluator = Evaluator.of(replace(settings, progress=False), sources)
    said: list[str] | None = None
    with ThreadPoolExecutor(1) as pool, progress_bar(chunks.total, "rows", shown=settings.progress) as bar:
        digest = pool.submit(table_hash, chunks.path)
        for chunk in chunks:
            if said is None:
                assert isinstance(chunk, Recommendations)
                said = doubts(replace(evaluator.reference, recommendations=chunk))
            evaluator.update(chunk)
            bar.update(len(chunk.frame))
        result = evaluator.result()
    card = {**result.provenance["inputs"]["recommendations"], "sha256": digest.result()}
    inputs = {**result.provenance["inputs"], "recommendations": card}
    return with_doubts(replace(result, provenance={**result.provenance, "inputs": inputs}), said or [])
