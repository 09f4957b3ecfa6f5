"""`evaluate_model` and `evaluate_ratings`: a model or its predictions in, a `Result` out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal, TypeAlias, Unpack

import polars as pl

from rankwise.candidates import Candidates
from rankwise.core.arguments import check_choice, check_positive
from rankwise.core.kernels import check_not_forked
from rankwise.core.terminal import progress_bar
from rankwise.errors import ColumnError, EmptyError, InputError, ParameterError
from rankwise.evaluation.evaluate import evaluate_tables, read_inputs
from rankwise.evaluation.settings import (
    DEFAULT_METRICS,
    RATING_METRICS,
    RatingOptions,
    Settings,
    WholeOptions,
    takes_options,
)
from rankwise.evaluation.truth_slices import columns_of_truth
from rankwise.metrics.base import MetricLike
from rankwise.models.requests import ModelLists, Predictions, asks_many, check_model, request_lists
from rankwise.options import Population
from rankwise.ranking.pool import make_pool
from rankwise.ranking.rank import TieRule, rank_pool
from rankwise.ranking.scores import Computed
from rankwise.results.result import Result
from rankwise.tables.columns import ROLES, Columns, choose, plain_name, read_columns_of_truth, unreadable
from rankwise.tables.files import RawFile, read_file
from rankwise.tables.memory import from_mapping_of_columns, id_series, number_series, readable_columns
from rankwise.tables.read import from_file
from rankwise.tables.table import Recommendations, Table
from rankwise.tables.training import align, matching
from rankwise.tables.values import numbers_in_text

__all__ = ["evaluate_model", "evaluate_ratings", "predicted", "recommended"]


def recommended(
    model: Any,
    users: pl.Series,
    n: int,
    tables: Mapping[str, Table],
    *,
    exclude_seen: bool,
    many: bool,
    batch_size: int,
    progress: bool | None,
) -> tuple[Recommendations, dict[str, int], list[Any]]:
    """Return the lists from ``model.recommend``, counts of irregularities, and the failed users."""
    seen = matching(tables["train"], "user", users) if "train" in tables else None
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
    frame, counts = _clean(lists.frame(users), n, seen, tables, exclude_seen=exclude_seen)
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
    frame: pl.DataFrame, n: int, seen: pl.DataFrame | None, tables: Mapping[str, Table], *, exclude_seen: bool
) -> tuple[pl.DataFrame, Counter[str]]:
    """Drop duplicates, and seen items if excluded; cut lists at n; count irregularities."""
    counts: Counter[str] = Counter()
    kept = frame.filter(pl.struct("user", "item").is_first_distinct())
    counts["items_repeated"] = len(frame) - len(kept)
    lists = Recommendations(kept, "recommendations", "model", "lists of a model", {})
    if seen is not None:
        seen = _seen_pairs(seen, lists, tables["train"])
        if exclude_seen:
            unseen = kept.join(seen, on=["user", "item"], how="anti", maintain_order="left")
            counts["seen_items_taken_out"] = len(kept) - len(unseen)
            kept = unseen
            if kept.is_empty():
                raise EmptyError("every recommended item was seen in training", where="model")
    kept = kept.with_columns(rank=pl.int_range(1, pl.len() + 1).over("user"))
    kept = kept.filter(pl.col("rank") <= n)
    if seen is not None and not exclude_seen:
        counts["seen_items_recommended"] = len(kept.join(seen, on=["user", "item"], how="semi"))
    catalogue = [tables[role] for role in (["items"] if "items" in tables else ["train", "truth"]) if role in tables]
    if "items" in tables or "train" in tables:
        align([lists, *catalogue], "item")
        item_type = kept["item"].dtype
        catalogue_items = pl.concat([table.frame["item"].cast(item_type) for table in catalogue]).unique()
        counts["items_unknown"] = int((~kept["item"].is_in(catalogue_items.implode())).sum())
    lengths = kept.group_by("user").len()["len"].cast(pl.Int64)  # n may not fit 32 bits
    counts["users_with_too_few_items"] = int((lengths < n).sum())
    counts["users_with_too_few_items"] += frame["user"].n_unique() - len(lengths)
    return kept, counts


def predicted(
    model: Any,
    users: pl.Series,
    n: int,
    tables: Mapping[str, Table],
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
        train = matching(tables["train"], "user", users)
        seen = _seen_pairs(train, ranking.as_table(), tables["train"])
        recommended_again = ranking.frame.join(seen, on=["user", "item"], how="semi")
        counts["seen_items_recommended"] = len(recommended_again)
    return replace(ranking.as_table(), counts={}), dict(counts), list(predictions.failed)


def _seen_pairs(seen: pl.DataFrame, lists: Table, train: Table) -> pl.DataFrame:
    """Return the seen user-item pairs, items typed as in the lists; raise if none can match."""
    pairs = align([lists, train.with_frame(seen.select("user", "item"))], "item")[1].frame
    return pairs.cast({"item": lists.frame["item"].dtype})


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
    items, users
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
    check_choice("ties", ties, TieRule)
    check_positive(k=k, batch_size=batch_size)
    settings = Settings.read(metrics, options, WholeOptions)
    check_model(model)
    cutoffs = [cutoff for metric in settings.metrics for cutoff in metric.k]
    n = int(k) if k else max(cutoffs, default=0)
    if not n:
        raise ParameterError(
            "the number of requested items follows from the cut-offs, and there is none", hint="pass k="
        )
    tables = read_inputs(settings, truth=truth, train=train, items=items, users=users, required=("truth",))
    if exclude_seen and tables.train is None:
        raise ParameterError("exclude_seen needs training interactions", hint="pass train=")
    assert tables.truth is not None
    requested = _users_requested(tables.truth, settings.relevance_threshold, settings.population)
    present: dict[str, Table] = {r: t for r, t in tables.by_role.items() if r != "users"}
    if callable(getattr(model, "recommend", None)):
        if candidates is not None or ties != "expected":
            raise ParameterError(
                "a model with recommend() chooses its candidates, and their order, itself",
                hint="candidates= and ties= are for predict(), rw.rank and rw.rank_relevant",
            )
        lists, counts, lost = recommended(
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
        lists, counts, lost = predicted(
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
        catalogue = tables.items or _every_item([lists, *present.values()])
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


def _users_requested(truth: Table, threshold: float | None, population: Population) -> pl.Series:
    """Return the users whose lists are requested: only those who will be evaluated."""
    frame = truth.relevant(threshold) if population in ("truth", "both") else truth.frame
    return frame["user"].unique(maintain_order=True)


def _without(truth: Table, users: list[Any]) -> Table:
    gone = pl.Series("user", users, dtype=truth.frame["user"].dtype)
    return truth.with_frame(truth.frame.filter(~pl.col("user").is_in(gone.implode())))


def _every_item(tables: Iterable[Table]) -> Table:
    """Return the catalogue: every item that occurs in a table."""
    aligned = align(list(tables), "item")
    kind = pl.String if aligned[0].frame["item"].dtype == pl.String else pl.Int64
    items = pl.concat([table.trained.frame["item"].cast(kind) for table in aligned]).unique().sort()
    return Table(items.to_frame(), "items", "items", "every item seen", {"item": "item"})


_PREDICTED = ("prediction", "predicted", "predictedrating", "pred", "est", "estimate", "score")
_TRUE = ("rating", "true", "truerating", "rui", "actual", "relevance", "label", "target", "stars")


@takes_options(RatingOptions, relevance_threshold=3.5, population="all")
def evaluate_ratings(
    source: Any,
    metrics: MetricLike | Iterable[MetricLike] = RATING_METRICS,
    *,
    users: Any = None,
    items: Any = None,
    train: Any = None,
    **options: Unpack[RatingOptions],
) -> Result:
    """Evaluate predicted ratings: their errors, and the ranking of the rated items.

    Parameters
    ----------
    source : table, path, mapping or iterable
        A table with user, item, predicted and true rating; ``{user: [(predicted, true), …]}``,
        whose items are numbered; or ``Prediction`` tuples as Surprise's ``test()`` gives them,
        ``(uid, iid, r_ui, est, details)``.
    metrics : str, metric, or a list of them, default=RATING_METRICS
        Any metric. Each user's rated items are the candidate set, so ranking metrics measure the
        re-ranking of rated items.
    users, items, train
        As in `rankwise.evaluate`.
    %(options)s

    In ``columns``, ``score`` is the predicted and ``relevance`` the true rating. The default rating
    threshold is 3.5. By default every user is evaluated, so that errors are means over all rows.

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
    if "threshold" not in choices:
        choices.setdefault("relevance_threshold", 3.5)
    settings = Settings.read(metrics, choices, RatingOptions)
    check_not_forked()
    frame = _frame(source, {**columns_of_truth(settings), **(settings.columns or {})})
    sliced = [name for name in frame.columns if name not in ("user", "item", "score", "relevance")]
    rows = len(frame)
    if settings.duplicates == "first":  # whole rows: a prediction stays with its true rating
        frame = frame.sort("score", descending=True, maintain_order=True)
        frame = frame.unique(["user", "item"], keep="first", maintain_order=True)
    threshold = settings.relevance_threshold
    if threshold is not None and all(m.family == "rating" for m in settings.metrics):
        largest = float(frame["relevance"].max() or 0.0)  # type: ignore[arg-type]
        # Labels of 1 and 0 are clicks; where none is one, no row is relevant.
        threshold = min(threshold, largest) if largest > 0 else threshold
    settings = replace(settings, relevance_threshold=threshold, columns=_others(settings.columns))
    tables = read_inputs(
        settings,
        recommendations=frame.select("user", "item", "score"),
        truth=frame.select("user", "item", "relevance", *sliced),
        users=users,
        items=items,
        train=train,
    )
    assert tables.recommendations is not None
    counts = {"duplicates_dropped": rows - len(frame)}
    assert tables.truth is not None
    lists = replace(tables.recommendations, counts=counts, format="ratings")
    truth = replace(tables.truth, format="ratings")
    return evaluate_tables(settings, replace(tables, recommendations=lists, truth=truth))


def _others(columns: Columns | None) -> Columns | None:
    """Keep what names columns of users, items and train."""
    if columns is None:
        return None
    return {
        key: name
        for key, name in columns.items()
        if key.split(".")[0] in ("users", "items", "train", "group", "categories", "features")
    }


def _frame(source: Any, columns: Columns | None) -> pl.DataFrame:
    """Return user, item, score and relevance from any kind of source."""
    if isinstance(source, Mapping) and not _is_columns(source):
        return _from_users(source)
    if isinstance(source, str) or hasattr(source, "__fspath__"):
        return _from_file(read_file(source), columns)
    if isinstance(source, Mapping):
        source = from_mapping_of_columns(source, "interactions")
    if isinstance(source, pl.LazyFrame) or hasattr(source, "__arrow_c_stream__"):
        return _named(readable_columns(source, "ratings"), columns)
    if isinstance(source, Iterable):
        return _from_predictions(list(source))
    raise InputError(
        "ratings of this type are not supported",
        found=type(source).__name__,
        hint="pass a table, {user: [(predicted, true), …]}, or Surprise's predictions",
    )


def _from_file(raw: RawFile, columns: Columns | None) -> pl.DataFrame:
    """Read the file as lists and as truth: its rows are both."""
    named: dict[str, str | None] = {
        role: _find(raw.frame, role, columns) for role in ("user", "item", "score", "relevance")
    }
    lists = from_file(raw, "recommendations", {**named, "rank": None}).frame
    truth = from_file(raw, "truth", {**named, "timestamp": None}).frame
    sliced = _columns_of_slices(raw.frame, columns)
    typed = [column if (numbers := numbers_in_text(column)) is None else numbers for column in sliced]
    return lists.with_columns(truth["relevance"], *typed)


def _is_columns(source: Mapping[Any, Any]) -> bool:
    return any(isinstance(name, str) and plain_name(name) in _PREDICTED for name in source)


def _from_users(source: Mapping[Any, Any]) -> pl.DataFrame:
    rows = []
    for user, pairs in source.items():
        if not isinstance(pairs, list | tuple) or not pairs:
            raise InputError(
                "a user has ratings: (predicted, true) pairs", where=f"user {user!r}", found=repr(pairs)[:60]
            )
        for item, pair in enumerate(pairs):
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise InputError(
                    "ratings of a user are (predicted, true) pairs", where=f"user {user!r}", found=repr(pair)
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


def _named(frame: pl.DataFrame, columns: Columns | None) -> pl.DataFrame:
    names = {role: _find(frame, role, columns) for role in ("user", "item", "score", "relevance")}
    for name in names.values():
        if frame.schema[name] == pl.Object:
            raise unreadable(frame[name], "ratings")
    sliced = _columns_of_slices(frame, columns)
    return frame.select(pl.col(name).alias(role) for role, name in names.items()).with_columns(sliced)


def _columns_of_slices(frame: pl.DataFrame, columns: Columns | None) -> list[pl.Series]:
    """Return the columns by which rows are sliced, under the names that slices have for them."""
    of_truth = {key: name for key, name in (columns or {}).items() if key.startswith("truth:")}
    named = read_columns_of_truth(frame.columns, of_truth, "ratings")
    plain = {key.removeprefix("truth:"): name for key, name in named.items()}
    return [frame[name].alias(key) for key, name in plain.items() if key not in ("user", "item", "score", "relevance")]


def _find(frame: pl.DataFrame, role: str, columns: Columns | None) -> str:
    """Find the column of a role by what the caller says, else by name."""
    columns_by_role = choose(columns, "recommendations") | choose(columns, "truth")
    if columns_by_role.get(role):
        names = [columns_by_role[role]] if columns_by_role[role] in frame.columns else []
    else:
        usual_names = {**ROLES["recommendations"], "score": _PREDICTED, "relevance": _TRUE}[role]
        names = [name for name in frame.columns if plain_name(name) in usual_names]
        if role == "relevance" and len(names) > 1:
            names = names[:0] if "rating" not in names else ["rating"]
    if len(names) != 1 or names[0] is None:
        words = {"score": "predicted rating", "relevance": "true rating"}.get(role, role)
        raise ColumnError(
            f"no column is the {words}" if not names else f"more than one column may be the {words}",
            where="ratings",
            found=", ".join(map(repr, names or frame.columns)),
            hint=f'say which: columns={{"{role}": …}}',
        )
    return names[0]
