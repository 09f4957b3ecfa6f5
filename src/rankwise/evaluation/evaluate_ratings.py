"""Predicted and true ratings: one table is both the lists and the ground truth."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Unpack

import polars as pl

from rankwise.core.threads import check_not_forked
from rankwise.errors import ColumnError, EmptyError, InputError
from rankwise.evaluation.evaluate import evaluate_tables
from rankwise.evaluation.option_sets import RatingOptions
from rankwise.evaluation.read_inputs import read_inputs
from rankwise.evaluation.settings import RATING_MEASURES, Settings
from rankwise.evaluation.signatures import takes_options
from rankwise.measures.read import MeasureLike
from rankwise.results.result import Result
from rankwise.tables.columns import ROLES, Columns, choose, plain_name
from rankwise.tables.files import RawFile, read_file
from rankwise.tables.frames import readable_columns
from rankwise.tables.in_memory import from_mapping_of_columns, id_series, number_series
from rankwise.tables.read import from_file
from rankwise.tables.validation import unreadable

__all__ = ["evaluate_ratings"]

_PREDICTED = ("prediction", "predicted", "predictedrating", "pred", "est", "estimate", "score")
_TRUE = ("rating", "true", "truerating", "rui", "actual", "relevance", "label", "target", "stars")


@takes_options(RatingOptions, relevance_threshold=3.5, population="all")
def evaluate_ratings(
    source: Any,
    measures: MeasureLike | Iterable[MeasureLike] = RATING_MEASURES,
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
    measures : str, measure, or a list of them, default=RATING_MEASURES
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
    given: dict[str, Any] = dict(options)
    if options.get("convention") is None:  # which has a population
        given.setdefault("population", "all")
    if "threshold" not in given:
        given.setdefault("relevance_threshold", 3.5)
    settings = Settings.read(measures, given, RatingOptions)
    check_not_forked()
    frame = _frame(source, settings.columns)
    rows = len(frame)
    if settings.duplicates == "first":  # whole rows: a prediction stays with its true rating
        frame = frame.sort("score", descending=True, maintain_order=True)
        frame = frame.unique(["user", "item"], keep="first", maintain_order=True)
    threshold = settings.relevance_threshold
    if threshold is not None and all(m.family == "rating" for m in settings.measures):
        threshold = min(threshold, float(frame["relevance"].max() or 0.0))  # type: ignore[arg-type]
    settings = replace(settings, relevance_threshold=threshold, columns=_others(settings.columns))
    tables = read_inputs(
        settings,
        recommendations=frame.select("user", "item", "score"),
        truth=frame.select("user", "item", "relevance"),
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
    return lists.with_columns(truth["relevance"])


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
    return frame.select(pl.col(name).alias(role) for role, name in names.items())


def _find(frame: pl.DataFrame, role: str, columns: Columns | None) -> str:
    """Find the column of a role by what the caller says, else by name."""
    given = choose(columns, "recommendations") | choose(columns, "truth")
    if given.get(role):
        names = [given[role]] if given[role] in frame.columns else []
    else:
        known = {**ROLES["recommendations"], "score": _PREDICTED, "relevance": _TRUE}[role]
        names = [name for name in frame.columns if plain_name(name) in known]
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
