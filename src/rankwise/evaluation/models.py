"""`evaluate_model` and `evaluate_ratings`: a model or its predictions in, a `Result` out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias, Unpack

import numpy as np
import polars as pl

from rankwise.candidates import Candidates
from rankwise.core.arguments import check_choice, check_positive
from rankwise.core.kernels import check_not_forked
from rankwise.core.populations import POPULATIONS, PopulationName
from rankwise.core.terminal import progress_bar
from rankwise.core.units import REQUEST
from rankwise.errors import (
    ColumnError,
    DuplicateError,
    EmptyError,
    InputError,
    ParameterError,
    nearest,
)
from rankwise.evaluation.evaluate import evaluate_tables, read_inputs, with_doubts
from rankwise.evaluation.input_warnings import LARGEST_OF_FIVE_STARS
from rankwise.evaluation.settings import (
    DEFAULT_METRICS,
    RATING_METRICS,
    RatingOptions,
    Settings,
    WholeOptions,
    check_taken,
    takes_options,
)
from rankwise.evaluation.truth_slices import columns_of_truth
from rankwise.messages import Message, mention, parameter
from rankwise.metrics.base import Metric, MetricLike
from rankwise.models.requests import ModelLists, Predictions, asks_many, check_model, request_lists
from rankwise.options import Duplicates, MeanOver
from rankwise.ranking.pool import make_pool
from rankwise.ranking.rank import TieRule, rank_pool
from rankwise.ranking.scores import Computed
from rankwise.results.result import Result
from rankwise.tables.columns import (
    ROLES,
    Columns,
    check_columns,
    names_of,
    object_column_error,
    overrides_for,
    plain_name,
    read_columns_of_truth,
)
from rankwise.tables.containers import holds_records, record_of, refuse_frame
from rankwise.tables.files import RawFile, read_file
from rankwise.tables.frames import readable_columns
from rankwise.tables.ids import settle_all, settle_ids
from rankwise.tables.memory import columns_of, from_mapping_of_columns, id_series, number_series
from rankwise.tables.read import from_file
from rankwise.tables.table import Recommendations, Table, TableRole
from rankwise.tables.values import numbers_in_text


def lists_from_recommend(
    model: Any,
    users: pl.Series,
    n: int,
    tables: Mapping[TableRole, Table],
    *,
    exclude_seen: bool,
    many: bool,
    batch_size: int,
    progress: bool | None,
) -> tuple[Recommendations, dict[str, int], list[Any]]:
    """Return the lists from ``model.recommend``, counts of irregularities, and the failed users."""
    seen = tables["train"].frame if "train" in tables else None
    n_seen: dict[Any, int] = {}
    if exclude_seen and seen is not None:
        n_seen = dict(seen.group_by("user").agg(pl.col("item").n_unique()).iter_rows())
    with progress_bar(len(users), "users", shown=progress) as bar:
        lists = request_lists(
            model,
            users.to_list(),
            lambda batch: n + max(n_seen.get(user, 0) for user in batch),
            item_type=_item_type(tables["truth"]),
            many=many,
            batch_size=batch_size,
            advance=bar.update,
        )
    if not any(items for items, _ in lists.lists):
        raise _no_lists(lists)
    frame, counts = _clean(lists.frame(users), n, tables, exclude_seen=exclude_seen)
    counts["users_model_failed_for"] = len(lists.failed)
    counts["users_with_too_few_items"] += sum(not items for items, _ in lists.lists)
    counts["users_with_too_many_items"] = lists.too_long
    columns = {name: name for name in frame.columns}
    table = Recommendations(frame, "recommendations", "model", "lists of a model", columns)
    return table, counts, list(lists.failed)


def _item_type(truth: Table) -> type | None:
    """Return the required type of items; None, for either, if integers were text in a file."""
    if truth.frame["item"].dtype == pl.String:
        return str
    return None if truth.is_text else int


def _no_lists(lists: ModelLists) -> EmptyError:
    first = next(iter(lists.failed.items()), None)
    return EmptyError(
        "the model returned no recommendations for any user",
        found=f"{len(lists.failed)} of {len(lists.failed) + len(lists.users)} users failed"
        + (f", the first, {first[0]!r}, with {first[1]}" if first else ""),
    )


def _clean(
    frame: pl.DataFrame,
    n: int,
    tables: Mapping[TableRole, Table],
    *,
    exclude_seen: bool,
) -> tuple[pl.DataFrame, Counter[str]]:
    """Drop duplicates, and seen items if excluded; cut lists at n; count irregularities."""
    counts: Counter[str] = Counter()
    kept = frame.filter(pl.struct("user", "item").is_first_distinct())
    counts["items_repeated"] = len(frame) - len(kept)
    lists = Recommendations(kept, "recommendations", "model", "lists of a model", {})
    tables = settle_all({**tables, "recommendations": lists})
    kept = tables["recommendations"].frame
    seen = tables["train"].frame if "train" in tables else None
    if seen is not None and exclude_seen:
        unseen = kept.join(seen, on=["user", "item"], how="anti", maintain_order="left")
        counts["seen_items_taken_out"] = len(kept) - len(unseen)
        kept = unseen
        if kept.is_empty():
            raise EmptyError("every recommended item was seen in training", where="model")
    kept = kept.with_columns(rank=pl.int_range(1, pl.len() + 1).over("user"))
    kept = kept.filter(pl.col("rank") <= n)
    if seen is not None and not exclude_seen:
        counts["seen_items_recommended"] = len(kept.join(seen, on=["user", "item"], how="semi"))
    if "items" in tables or "train" in tables:
        roles: tuple[TableRole, ...] = ("items",) if "items" in tables else ("train", "truth")
        known = pl.concat([tables[role].frame["item"] for role in roles if role in tables])
        counts["items_unknown"] = int((~kept["item"].is_in(known.unique().implode())).sum())
    lengths = kept.group_by("user").len()["len"].cast(pl.Int64)  # n may not fit 32 bits
    counts["users_with_too_few_items"] = int((lengths < n).sum())
    counts["users_with_too_few_items"] += frame["user"].n_unique() - len(lengths)
    return kept, counts


def lists_from_predict(
    model: Any,
    users: pl.Series,
    n: int,
    tables: Mapping[TableRole, Table],
    *,
    exclude_seen: bool,
    candidates: Candidates | None,
    ties: TieRule,
    batch_size: int,
    progress: bool | None,
) -> tuple[Recommendations, dict[str, int], list[Any]]:
    """Return the lists from the scores of ``model.predict``, irregularities, and failed users."""
    item_ids = tables["items"].frame["item"] if "items" in tables else None
    predictions = Predictions(model, users.to_list(), 0 if item_ids is None else len(item_ids))
    pool = make_pool(
        Computed(predictions.scores, len(users), predictions.width, batch_size),
        None,
        None,
        None,
        exclude=tables["train"] if exclude_seen else None,
        candidates=candidates,
        user_ids=users,
        item_ids=item_ids,
        only=None,
        columns=None,
    )
    try:
        ranking = rank_pool(pool, n, ties, 1, progress)
    except EmptyError as error:
        if len(predictions.failed) < len(users):
            raise
        raise predictions.no_scores() from error
    counts = Counter(ranking.counts)
    counts["users_model_failed_for"] = len(predictions.failed)
    counts["users_with_nothing_to_rank"] -= len(predictions.failed)
    counts["users_with_too_few_items"] = counts["users_with_nothing_to_rank"]
    counts["users_with_too_few_items"] += counts.pop("lists_shorter_than_k")
    if "train" in tables and not exclude_seen:
        lists, train = (
            table.frame
            for table in settle_all(
                {"recommendations": ranking.as_table(), "train": tables["train"]}
            ).values()
        )
        again = lists.join(train, on=["user", "item"], how="semi")
        counts["seen_items_recommended"] = len(again)
    return replace(ranking.as_table(), counts={}), dict(counts), list(predictions.failed)


Failed: TypeAlias = Literal["zero", "leave_out"]


@takes_options(WholeOptions)
def evaluate_model(
    model: Any,
    truth: Any,
    metrics: MetricLike | Iterable[MetricLike] = DEFAULT_METRICS,
    *,
    k: int | None = None,
    train: Any = None,
    items: Any = None,
    users: Any = None,
    reference: Any = None,
    exclude_seen: bool = False,
    candidates: Candidates | None = None,
    ties: TieRule = "expected",
    failed: Failed = "zero",
    many: bool | None = None,
    batch_size: int = 1024,
    **options: Unpack[WholeOptions],
) -> Result:
    """Request a model's recommendation lists for the users of the ground truth, and evaluate them.

    Lists are requested only for users whom ``population`` evaluates.

    Parameters
    ----------
    model : object
        An object with one of these methods. ``recommend(user_id, n)`` returns items or (item,
        score) pairs, best first; their order is kept. ``recommend(user_ids, n)`` returns one list
        per user, ``{user: list}``, a table, or two arrays (items, scores) with one row per user.
        ``predict(user_ids)`` returns a score for every item, in the order of ``items``.
        `rankwise.models` wraps models of other libraries.
    truth : table, path, mapping or sparse matrix
        The ground truth, in any form that `rankwise.evaluate` takes.
    metrics : str, metric, or a list of them, default=DEFAULT_METRICS
        The metrics.
    k : int, optional
        Number of items to request per user; by default the largest cut-off of the metrics.
        Metrics without a cut-off are computed over lists of this length.
    train : table, path or mapping, optional
        Training interactions, as in `rankwise.evaluate`; recommended items that the user has in
        ``train`` are counted.
    items, users, reference
        As in `rankwise.evaluate`. For ``predict``, ``items`` are the ids of its columns, which by
        default are numbered from 0.
    exclude_seen : bool, default=False
        Remove items of ``train`` from the lists; correspondingly more items are requested.
    candidates : Candidates, optional
        The candidate sets to rank, from `rankwise.candidates`. Only for ``predict``: a model with
        ``recommend`` chooses its candidates itself.
    ties : {"expected", "item", "item_desc"}, default="expected"
        How tied scores are ordered, only for ``predict``; see `rankwise.rank`.
    failed : {"zero", "leave_out"}, default="zero"
        What happens to a user for whom the model raises or returns malformed output. ``"zero"``:
        the user has no list and scores 0 (where ``population`` evaluates users without a list);
        ``"leave_out"``: the user is not evaluated. Failures are logged and counted either way.
    many : bool, optional
        Whether ``recommend`` takes many users at once; by default if its first parameter is called
        ``users``, ``user_ids``, ``uids``, ``user_list`` or ``queries``. If a call for many users
        raises, the lists are requested user by user.
    batch_size : int, default=1024
        Number of users per call.
    %(options)s

    Returns
    -------
    Result
        Its ``counts`` hold the number of users for whom the model failed
        (``users_model_failed_for``), returned too few items (``users_with_too_few_items``) or too
        many (``users_with_too_many_items``; only the first are evaluated); and the number of items
        that were repeated (and dropped), seen in training, or unknown. Items are unknown if they
        are not in ``items``; without ``items``, if they are neither in ``train`` nor in the ground
        truth. Counts of 0 are left out.

    Raises
    ------
    InputError
        If the data cannot be evaluated as it is, or the model fails for every user.
    UsageError
        If a metric or option is unknown or invalid, or the model has none of the methods.

    See Also
    --------
    evaluate : Evaluate lists that exist already.
    rank : Rank a score matrix, or user and item factors.

    Examples
    --------
    >>> import rankwise as rw
    >>> class Model:
    ...     def recommend(self, user_id, n):
    ...         return [("a", 0.9), ("b", 0.5), ("b", 0.4)][:n]
    >>> result = rw.evaluate_model(Model(), {"ann": {"a"}, "bob": {"c"}}, "recall@3")
    >>> result["recall@3"], result.counts["items_repeated"]
    (0.5, 2)
    """
    check_choice("failed", failed, Failed)
    check_taken("model", {"ties": ties})
    check_choice("ties", ties, TieRule)
    check_positive(k=k, batch_size=batch_size)
    settings = Settings.read(metrics, options, WholeOptions)
    check_model(model)
    n = _n_requested(settings.metrics, k)
    tables = read_inputs(
        settings,
        truth=truth,
        train=train,
        items=items,
        users=users,
        reference=reference,
        required=("truth",),
    )
    tables = settle_ids(tables)
    if exclude_seen and tables.train is None:
        raise ParameterError(
            f"{mention('exclude_seen')} needs training interactions",
            hint=f"pass {parameter('train')}",
        )
    assert tables.truth is not None
    requested = _users_requested(tables.truth, settings.relevance_threshold, settings.evaluated)
    present = {role: t for role, t in tables.by_role.items() if role not in ("users", "reference")}
    if callable(getattr(model, "recommend", None)):
        if candidates is not None or ties != "expected":
            raise ParameterError(
                "a model with recommend() chooses its candidates, and their order, itself",
                hint=f"{parameter('candidates')} and {parameter('ties')} are for predict(), "
                "rw.rank and rw.rank_relevant",
            )
        lists, counts, lost = lists_from_recommend(
            model,
            requested,
            n,
            present,
            exclude_seen=exclude_seen,
            many=asks_many(model) if many is None else many,
            batch_size=batch_size,
            progress=settings.progress,
        )
    else:
        lists, counts, lost = lists_from_predict(
            model,
            requested,
            n,
            present,
            exclude_seen=exclude_seen,
            candidates=candidates,
            ties=ties,
            batch_size=batch_size,
            progress=settings.progress,
        )
    if failed == "leave_out" and lost:
        # Items of users who are left out belong to the catalogue all the same.
        catalogue = tables.items or _every_item({**present, "recommendations": lists})
        tables = replace(tables, items=catalogue, truth=_without(tables.truth, lost))
    lists = replace(lists, counts={**lists.counts, **counts})
    result = evaluate_tables(settings, replace(tables, recommendations=lists))
    about = {
        "type": f"{type(model).__module__}.{type(model).__qualname__}",
        "asked_for": n,
        "exclude_seen": exclude_seen,
        "failed": failed,
    }
    return replace(result, provenance={**result.provenance, "model": about})


def _n_requested(metrics: Sequence[Metric], k: int | None) -> int:
    """Return the number of items to request for a user: ``k``, or the largest cut-off.

    Raises
    ------
    ParameterError
        If there is neither.
    """
    n = int(k) if k else max((cutoff for metric in metrics for cutoff in metric.k), default=0)
    if not n:
        raise ParameterError(
            "the number of requested items follows from the cut-offs, and there is none",
            hint=f"pass {parameter('k')}",
        )
    return n


def _users_requested(
    truth: Table, threshold: float | None, population: PopulationName
) -> pl.Series:
    """Return the users whose lists are requested: only users who will be evaluated."""
    needs_relevant = POPULATIONS[population].needs_relevant
    frame = truth.relevant(threshold) if needs_relevant else truth.frame
    return frame["user"].unique(maintain_order=True)


def _without(truth: Table, users: list[Any]) -> Table:
    gone = pl.Series("user", users, dtype=truth.frame["user"].dtype)
    return truth.with_frame(truth.frame.filter(~pl.col("user").is_in(gone.implode())))


def _every_item(tables: Mapping[TableRole, Table]) -> Table:
    """Return the catalogue: every item that occurs in a table."""
    settled = settle_all(tables).values()
    items = pl.concat([table.trained.frame["item"] for table in settled]).unique().sort()
    return Table(items.to_frame(), "items", "items", "every item seen", {"item": "item"})


_PREDICTED = ("prediction", "predicted", "predictedrating", "pred", "est", "estimate", "score")
RATING_THRESHOLD = 3.5
"""The rating from which on an item is relevant, where nothing else is said."""
_TRUE = ("rating", "true", "truerating", "rui", "actual", "relevance", "label", "target", "stars")


@takes_options(RatingOptions, relevance_threshold=RATING_THRESHOLD, population="all")
def evaluate_ratings(
    source: Any,
    metrics: MetricLike | Iterable[MetricLike] = RATING_METRICS,
    *,
    users: Any = None,
    items: Any = None,
    train: Any = None,
    reference: Any = None,
    mean_over: MeanOver = "requests",
    **options: Unpack[RatingOptions],
) -> Result:
    """Evaluate predicted ratings: their errors, and the ranking of the rated items.

    In ``columns``, ``score`` is the predicted and ``relevance`` the true rating. The default rating
    threshold is 3.5; of metrics of probabilities (``log_loss``, ``ece``, …) labels are clicks, and
    every label above 0 is one. By default every user is evaluated, so that errors are means over
    all rows. A column of requests or impressions beside the user is read as `rankwise.evaluate`
    reads it: one user may then rate one item in several of them.

    Parameters
    ----------
    source : table, path, mapping or iterable
        A table with user, item, predicted and true rating; ``{user: [(predicted, true), …]}``,
        whose items are numbered; or ``Prediction`` tuples as Surprise's ``test()`` gives them,
        ``(uid, iid, r_ui, est, details)``.
    metrics : str, metric, or a list of them, default=RATING_METRICS
        Any metric. Each user's rated items are the candidate set, so ranking metrics measure the
        re-ranking of rated items.
    users, items, train, reference, mean_over
        As in `rankwise.evaluate`.
    %(options)s

    Returns
    -------
    Result
        Metrics are averaged over the orders of equal predictions. Users without relevant items
        have no accuracy, and are counted. By default `rankwise.compute_metrics` differs in two
        ways: its ndcg has binary gains (here ``ndcg(gain=binary)``), and its precision and hit rate
        of users without relevant items are 0 (here with ``undefined="zero"``).

    Raises
    ------
    InputError
        If the ratings cannot be read, or a prediction has no true rating.
    UsageError
        If a metric or option is unknown or invalid.

    Examples
    --------
    >>> import rankwise as rw
    >>> rated = {"user": ["ann"] * 3, "item": [1, 2, 3], "prediction": [4.5, 4, 3],
    ...          "rating": [5, 2, 4]}
    >>> import polars as pl
    >>> result = rw.evaluate_ratings(pl.DataFrame(rated), ["rmse", "precision@2"])
    >>> result["rmse"], result["precision@2"]
    (1.3229, 0.5)
    """
    choices: dict[str, Any] = dict(options)
    if options.get("convention") is None:  # which has a population
        choices.setdefault("population", "all")
    settings = Settings.read(metrics, choices, RatingOptions, mean_over=mean_over)
    check_not_forked()
    sources: dict[TableRole, Any] = {
        "users": users,
        "items": items,
        "train": train,
        "reference": reference,
    }
    sources = {role: table for role, table in sources.items() if table is not None}
    _check_columns(settings.columns, sources)
    frame, request = _frame(source, {**columns_of_truth(settings), **(settings.columns or {})})
    sliced = [name for name in frame.columns if name not in _RATED]
    warnings: list[str] = []
    if not {"threshold", "relevance_threshold"} & options.keys():
        labels = frame["relevance"].cast(pl.Float64, strict=False)
        choices["relevance_threshold"] = _default_threshold(settings.metrics, labels)
        settings = Settings.read(metrics, choices, RatingOptions, mean_over=mean_over)
        warnings = _label_warnings(settings.metrics, labels)
    rows, unit = len(frame), [name for name in ("user", REQUEST) if name in frame.columns]
    frame = _take_first_ratings(frame, unit, settings.duplicates)
    settings = replace(settings, columns=_others(settings.columns, sources))
    tables = read_inputs(
        settings,
        recommendations=frame.select(*unit, "item", "score"),
        truth=frame.select(*unit, "item", "relevance", *sliced),
        **sources,
    )
    assert tables.recommendations is not None
    counts = {"duplicates_dropped": rows - len(frame)}
    assert tables.truth is not None
    named = {} if request is None else {REQUEST: request}
    columns = [table.columns | named for table in (tables.recommendations, tables.truth)]
    lists = replace(tables.recommendations, counts=counts, format="ratings", columns=columns[0])
    truth = replace(tables.truth, format="ratings", columns=columns[1])
    result = evaluate_tables(settings, replace(tables, recommendations=lists, truth=truth))
    return with_doubts(result, warnings) if warnings else result


def _take_first_ratings(
    frame: pl.DataFrame, unit: list[str], duplicates: Duplicates
) -> pl.DataFrame:
    """Return the rows with each item once for a user, or for a request; raise if one repeats.

    With ``duplicates="first"`` the row of the highest prediction stays, with its true rating.
    """
    if duplicates == "first":
        frame = frame.sort("score", descending=True, maintain_order=True)
        return frame.unique([*unit, "item"], keep="first", maintain_order=True)
    _check_rated_once(frame, unit)
    return frame


def _default_threshold(metrics: Sequence[Metric], labels: pl.Series) -> float | None:
    """Return the default rating threshold: 3.5, or None where metrics compare clicks.

    Raises
    ------
    ParameterError
        If some metrics read labels as clicks, others as ratings, and it makes a difference.
    """
    clicks = [metric for metric in metrics if any(leaf.compares_clicks for leaf in metric.leaves)]
    if not clicks:
        return RATING_THRESHOLD
    ratings = [metric for metric in metrics if metric not in clicks and metric.family != "rating"]
    between = ((labels > 0) & (labels < RATING_THRESHOLD)).sum()
    if ratings and between and (labels >= RATING_THRESHOLD).any():
        raise ParameterError(
            f"{clicks[0]} takes every label above 0 for a click, {ratings[0]} labels from "
            f"{RATING_THRESHOLD:g}",
            where="ratings",
            found=f"{int(between):,} labels above 0 and below {RATING_THRESHOLD:g}, no "
            f"{parameter('threshold')}",
            hint=f"say from which label on a row is relevant, such as "
            f"{parameter('threshold', 4)}, or "
            f"{parameter('threshold', None)} for all above 0",
        )
    return None


def _label_warnings(metrics: Sequence[Metric], labels: pl.Series) -> list[str]:
    """Return a warning about click labels other than 0 and 1, or about ratings above 5."""
    if labels.is_empty():
        return []  # an error, when the tables are read
    values = labels.to_numpy()
    low, high = float(values.min()), float(values.max())
    if any(leaf.compares_clicks for metric in metrics for leaf in metric.leaves):
        is_doubtful = not labels.is_in([0.0, 1.0]).all()
        rule, share = "above 0 is a click", np.mean(values > 0)
    else:
        reads_relevance = any(metric.family != "rating" for metric in metrics)
        is_doubtful = reads_relevance and high > LARGEST_OF_FIVE_STARS
        rule, share = f"from {RATING_THRESHOLD:g} is relevant", np.mean(values >= RATING_THRESHOLD)
    if not is_doubtful:
        return []
    return [
        Message(
            f"labels run from {low:g} to {high:g}, and every label {rule} ({share:.0%} of the "
            f"rows): {parameter('threshold')} sets another rule"
        )
    ]


def _check_rated_once(frame: pl.DataFrame, unit: Sequence[str]) -> None:
    """Raise if a user has several rows of one item, in one request."""
    repeated = frame.select(*unit, "item").is_duplicated()
    if not repeated.any():
        return
    first = frame.filter(repeated).row(0, named=True)
    where = f"ratings, user {first['user']!r}" + (
        f", request {first[REQUEST]!r}" if REQUEST in unit else ""
    )
    ways = (
        f"number the impressions, and name that column: {parameter('columns', {'request': '…'})}"
        if REQUEST not in unit
        else "give every impression a number of its own"
    )
    raise DuplicateError(
        "an item is rated twice" + (" in one request" if REQUEST in unit else " by one user"),
        where=f"{where}, item {first['item']!r}",
        found=f"{int(repeated.sum()):,} rows of items that are rated more than once",
        hint=f"if each row is an impression of its own, {ways}; "
        f"{parameter('duplicates', 'first')} keeps the row "
        "with the highest "
        "prediction, whatever its label",
    )


_RATED = ("user", "item", "score", "relevance", REQUEST)
"""The columns of a table of ratings."""


def _check_columns(columns: Columns | None, roles: Iterable[TableRole]) -> None:
    """Raise if ``columns`` has a name that fits neither the ratings nor another given table."""
    named = dict(columns or {})
    for role in ("recommendations", "truth"):
        for name in _RATED:
            named.pop(f"{role}.{name}", None)
    for name in _RATED:
        named.pop(name, None)
    check_columns(named, roles, ("train", "items", "users", "reference"))


def _others(columns: Columns | None, roles: Iterable[TableRole]) -> Columns:
    """Return the entries of ``columns`` for other tables; the ratings have standard names."""
    return {
        f"{role}.{name}": column
        for role in roles
        for name, column in overrides_for(columns, role).items()
    }


def _frame(source: Any, columns: Columns | None) -> tuple[pl.DataFrame, str | None]:
    """Return user, item, score and relevance from any source, and the request column, if any."""
    if isinstance(source, Mapping) and not _is_columns(source):
        return _from_users(source), None
    if isinstance(source, str) or hasattr(source, "__fspath__"):
        raw = read_file(source)
        request = _find_request(raw.frame.columns, columns)
        return _from_file(raw, columns, request), request
    refuse_frame(source, "ratings")
    if isinstance(source, Mapping):
        source = from_mapping_of_columns(source, "interactions")
    if isinstance(source, list | tuple) and _are_records(source):
        source = from_mapping_of_columns(columns_of(source), "interactions")
    if isinstance(source, pl.LazyFrame) or hasattr(source, "__arrow_c_stream__"):
        frame = readable_columns(source, "ratings")
        request = _find_request(frame.columns, columns)
        return _named(frame, columns, request), request
    if isinstance(source, Iterable):
        return _from_predictions(list(source)), None
    raise InputError(
        "ratings of this type are not supported",
        found=type(source).__name__,
        hint="pass a table, {user: [(predicted, true), …]}, or Surprise's predictions",
    )


_SURPRISE = ("uid", "iid", "r_ui", "est", "details")
"""The fields of Surprise's predictions."""


def _are_records(rows: Sequence[Any]) -> bool:
    """Return whether all rows have named fields, and are not Surprise's predictions."""
    if not rows or getattr(rows[0], "_fields", None) == _SURPRISE:
        return False
    return holds_records({*map(type, rows)}) and all(record_of(row) is not None for row in rows)


def _from_file(raw: RawFile, columns: Columns | None, request: str | None) -> pl.DataFrame:
    """Read the file as lists and as truth: its rows are both."""
    named: dict[str, str | None] = {
        role: _find(raw.frame, role, columns) for role in ("user", "item", "score", "relevance")
    }
    lists = from_file(raw, "recommendations", {**named, REQUEST: request, "rank": None}).frame
    truth = from_file(raw, "truth", {**named, REQUEST: request, "timestamp": None}).frame
    sliced = _columns_of_slices(raw.frame, columns)
    typed = [
        column if (numbers := numbers_in_text(column)) is None else numbers for column in sliced
    ]
    return lists.with_columns(truth["relevance"], *typed)


def _is_columns(source: Mapping[Any, Any]) -> bool:
    return any(isinstance(name, str) and plain_name(name) in _PREDICTED for name in source)


def _from_users(source: Mapping[Any, Any]) -> pl.DataFrame:
    rows = []
    for user, pairs in source.items():
        if not isinstance(pairs, list | tuple) or not pairs:
            raise InputError(
                "a user has ratings: (predicted, true) pairs",
                where=f"user {user!r}",
                found=repr(pairs)[:60],
            )
        for item, pair in enumerate(pairs):
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise InputError(
                    "ratings of a user are (predicted, true) pairs",
                    where=f"user {user!r}",
                    found=repr(pair),
                )
            rows.append((user, item, pair[0], pair[1]))
    return _rows(rows)


def _from_predictions(source: list[Any]) -> pl.DataFrame:
    rows = []
    for number, one in enumerate(source, start=1):
        if not isinstance(one, tuple | list) or len(one) not in (4, 5):
            raise InputError(
                "predictions are tuples (user, item, true, predicted, details)",
                where=f"prediction {number}",
                found=repr(one)[:80],
            )
        if one[2] is None:
            raise InputError(
                "a prediction has no true rating",
                where=f"prediction {number}, user {one[0]!r}",
                found="r_ui is None",
                hint="evaluate model.test(testset), not predictions for an anti-test set",
            )
        rows.append((one[0], one[1], one[3], one[2]))
    return _rows(rows)


def _rows(rows: list[tuple[Any, Any, Any, Any]]) -> pl.DataFrame:
    if not rows:
        raise EmptyError("there are no ratings")
    users, items, predicted, true = zip(*rows, strict=True)
    return pl.DataFrame(
        [
            id_series("user", list(users), "interactions"),
            id_series("item", list(items), "interactions"),
            number_series("score", list(predicted), "recommendations"),
            number_series("relevance", list(true), "truth"),
        ]
    )


def _named(frame: pl.DataFrame, columns: Columns | None, request: str | None) -> pl.DataFrame:
    names = {role: _find(frame, role, columns) for role in ("user", "item", "score", "relevance")}
    for name in names.values():
        if frame.schema[name] == pl.Object:
            raise object_column_error(frame[name], "ratings")
    if request is not None:
        names = {**names, REQUEST: request}
    sliced = _columns_of_slices(frame, columns)
    return frame.select(pl.col(name).alias(role) for role, name in names.items()).with_columns(
        sliced
    )


def _columns_of_slices(frame: pl.DataFrame, columns: Columns | None) -> list[pl.Series]:
    """Return the columns by which rows are sliced, under the names that slices have for them."""
    of_truth = {key: name for key, name in (columns or {}).items() if key.startswith("truth:")}
    named = read_columns_of_truth(frame.columns, of_truth, "ratings")
    plain = {key.removeprefix("truth:"): name for key, name in named.items()}
    return [frame[name].alias(key) for key, name in plain.items() if key not in _RATED]


def _find_request(names: Sequence[str], columns: Columns | None) -> str | None:
    """Find the request column from ``columns``, else by name; None if there is none."""
    chosen = overrides_for(columns, "recommendations") | overrides_for(columns, "truth")
    if REQUEST in chosen:
        name = chosen[REQUEST]
        if name is not None and name not in names:
            raise ColumnError(
                f"there is no column {name!r} for the request",
                where="ratings",
                found=", ".join(map(repr, names)),
                hint=nearest(name, names),
            )
        return name
    taken = {name for name in chosen.values() if name is not None}
    user = _find_names(names, "user", columns)
    matches = names_of(
        [name for name in names if name not in taken and name not in user],
        "recommendations",
        REQUEST,
    )
    if len(matches) > 1:
        raise ColumnError(
            "more than one column may be the request",
            where="ratings",
            found=", ".join(map(repr, matches)),
            hint=f"say which: {parameter('columns', {'request': matches[0]})}; or that none is: "
            f"{parameter('columns', {'request': None})}",
        )
    return matches[0] if matches else None


def _find(frame: pl.DataFrame, role: str, columns: Columns | None) -> str:
    """Find the column of a role from ``columns``, else by name."""
    names = _find_names(frame.columns, role, columns)
    if len(names) != 1:
        words = {"score": "predicted rating", "relevance": "true rating"}.get(role, role)
        raise ColumnError(
            f"no column is the {words}"
            if not names
            else f"more than one column may be the {words}",
            where="ratings",
            found=", ".join(map(repr, names or frame.columns)),
            hint=f"say which: {parameter('columns', {role: '…'})}",
        )
    return names[0]


def _find_names(names: Sequence[str], role: str, columns: Columns | None) -> list[str]:
    """Return the columns that may have a role."""
    chosen = (overrides_for(columns, "recommendations") | overrides_for(columns, "truth")).get(role)
    if chosen:
        return [chosen] if chosen in names else []
    usual_names = {**ROLES["recommendations"], "score": _PREDICTED, "relevance": _TRUE}[role]
    matches = [name for name in names if plain_name(name) in usual_names]
    if role == "relevance" and len(matches) > 1:
        return ["rating"] if "rating" in matches else []
    return matches
