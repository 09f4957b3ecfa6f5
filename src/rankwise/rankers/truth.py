"""The ground truth of a ranker, prepared once: labels, and which rows belong to one query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl

from rankwise.blocks.lists import arrange_truth
from rankwise.convention.convention import Convention
from rankwise.core.arrays import Array
from rankwise.core.ragged import Ints, offsets
from rankwise.errors import InputError, ParameterError, ScoreError, nearest
from rankwise.evaluation.join_results import merge_results
from rankwise.evaluation.plan import plan_passes
from rankwise.messages import parameter
from rankwise.metrics.base import Metric, MetricLike
from rankwise.rankers.passes import QueryIds, RankerPass
from rankwise.results.result import Result
from rankwise.tables.table import Table

OPTIONS = (
    "convention",
    "relevance_threshold",
    "threshold",
    "relevance",
    "population",
    "undefined",
    "ties",
    "score_precision",
    "k",
    "threads",
)
"""The options of `rankwise.evaluate` that mean something for rows of scores and labels."""


def _listed(metrics: MetricLike | Iterable[MetricLike]) -> list[MetricLike]:
    """Return metrics as a list, which can be read twice and has its content as its name."""
    return [metrics] if isinstance(metrics, str | Metric | type) else list(metrics)


class RankerTruth:
    """Labels of rows and the queries that they belong to, prepared for many rounds of scores.

    The rows of a query are its list and its ground truth: nothing exists outside of them. What does
    not depend on scores is worked out once for each set of metrics, so that a round of training
    costs a sort within queries and little more. The values are those of `rankwise.evaluate` of the
    same rows, to the last bit.

    Parameters
    ----------
    labels : array of float, shape (n,)
        The relevance of each row, finite; above 0, or from a threshold on, it is relevant.
    group : sequence of int, shape (U,), optional
        The number of rows of each query, in order, as LightGBM and XGBoost take it.
    qid : array, shape (n,), optional
        The query of each row, as XGBoost (``qid``) and CatBoost (``group_id``) take it; the rows of
        a query need not stand together. Give either this or ``group``.
    weights : array of float, optional
        The weight of each query, shape (U,), or of each row, shape (n,), the same for all rows of a
        query; 0 or more.

    Raises
    ------
    InputError
        If the sizes of groups do not add up to the rows, or a label or weight cannot be used.

    See Also
    --------
    evaluate_rows : One evaluation of scores and labels.
    rankwise.evaluate : Lists of items, and a ground truth with items outside of them.

    Examples
    --------
    >>> from rankwise.rankers import RankerTruth
    >>> truth = RankerTruth([1, 0, 0, 2, 0, 1], qid=["a", "a", "a", "b", "b", "b"])
    >>> result = truth.evaluate([0.5, 0.7, 0.1, 0.9, 0.2, 0.4], "ndcg@3")
    >>> result["ndcg@3"]
    0.8155
    >>> result.per_user["user"].to_list()
    ['a', 'b']
    """

    def __init__(
        self,
        labels: Any,
        *,
        group: Any = None,
        qid: Any = None,
        weights: Any = None,
    ) -> None:
        self.labels = _numbers("labels", labels)
        if (group is None) == (qid is None):
            raise ParameterError(
                "rows belong to queries by the sizes of groups or by an id for each row",
                found="both" if group is not None else "neither",
                hint=f"pass {parameter('group', [3, 2])} or {parameter('qid', ['a', 'a', 'b'])}",
            )
        self._order: Ints | None = None
        if group is not None:
            sizes = _sizes(group, len(self.labels))
            ids = pl.Series("user", np.arange(len(sizes)))
        else:
            ids, sizes, self._order = _queries(qid, len(self.labels))
        self._starts: Ints = offsets(sizes)
        self._ids = QueryIds(ids)
        if self._order is not None:
            self.labels = self.labels[self._order]
        self.weights = None if weights is None else self._weights_of(weights)
        self._passes: dict[str, list[RankerPass]] = {}

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.labels)

    def __repr__(self) -> str:
        weighted = "" if self.weights is None else ", weighted"
        return f"RankerTruth({len(self):,} rows, {self.n_queries:,} queries{weighted})"

    @property
    def n_queries(self) -> int:
        """The number of queries."""
        return self._ids.size

    def evaluate(
        self, scores: Any, metrics: MetricLike | Iterable[MetricLike], **options: Any
    ) -> Result:
        """Evaluate the scores of all rows.

        Parameters
        ----------
        scores : array of float, shape (n,)
            The finite score of each row, in the order of the labels: a larger one ranks above.
        metrics : str, metric, or a list of them
            Metrics of judged rows: accuracy, ``list_auc``, ``bpref``, ``xauc``, rating errors.
        **options : object
            ``convention``, ``relevance_threshold`` (or ``threshold``), ``relevance``,
            ``population``, ``undefined``, ``ties``, ``score_precision``, ``k``, ``threads`` of
            `rankwise.evaluate`.

        Returns
        -------
        Result
            One row per query in ``per_user``; its ``user`` is the id of the query.

        Raises
        ------
        InputError
            If a score is missing or not finite.
        UsageError
            If a metric reads more than judged rows, or an option means nothing for rows.
        """
        metrics = _listed(metrics)
        passes = self._passes_of(metrics, options)
        results = [one.result(self._scores_for(one, scores)) for one in passes]
        asked = plan_passes(metrics, self._choices(options))[0]
        return merge_results(results, asked)

    def values(
        self, scores: Any, metrics: MetricLike | Iterable[MetricLike], **options: Any
    ) -> dict[str, float]:
        """Return the value of each metric alone, as fast as a round of training needs it.

        The parameters are those of `evaluate`; the keys are the names of the metrics as rankwise
        writes them.
        """
        values: dict[str, float] = {}
        for one in self._passes_of(_listed(metrics), options):
            values |= one.values(self._scores_for(one, scores))
        return values

    def _passes_of(self, metrics: list[MetricLike], options: Mapping[str, Any]) -> list[RankerPass]:
        """Return the passes of metrics and options, made at their first use."""
        for name in options:
            if name not in OPTIONS:
                raise ParameterError(
                    f"rows of scores and labels have no option {name!r}",
                    found=", ".join(options),
                    hint=nearest(name, OPTIONS)
                    or f"one of {', '.join(OPTIONS)}; rw.evaluate has "
                    "the others, for lists of items",
                )
        chosen = {
            name: value.to_dict() if isinstance(value, Convention) else value
            for name, value in options.items()
        }
        key = f"{metrics!r} {sorted(chosen.items())!r}"
        if key not in self._passes:
            _, passes = plan_passes(metrics, self._choices(options))
            self._passes[key] = [self._pass_of(settings) for settings in passes]
        return self._passes[key]

    def _choices(self, options: Mapping[str, Any]) -> dict[str, Any]:
        choices = dict(options)
        if self.weights is not None:
            ids = self._ids.ids.to_list()
            choices["weights"] = dict(zip(ids, self.weights.tolist(), strict=True))
        return choices

    def _pass_of(self, settings: Any) -> RankerPass:
        numbers = np.repeat(np.arange(self.n_queries), np.diff(self._starts))
        truth = arrange_truth(
            pl.Series(numbers),
            np.arange(len(self)),
            self.labels,
            vocabulary=self._ids,
            threshold=settings.relevance_threshold,
        )
        return RankerPass(settings, truth, self._table, self._ids, self.weights)

    @property
    def _table(self) -> Table:
        """The rows as a table of ground truth: what results are compared by."""
        rows = np.repeat(np.arange(self.n_queries), np.diff(self._starts))
        frame = pl.DataFrame(
            {
                "user": self._ids.decode(rows),
                "item": np.arange(len(self)) if self._order is None else self._order,
                "relevance": self.labels,
            }
        )
        columns = {"user": "qid", "item": "row", "relevance": "label"}
        return Table(frame, "truth", "labels", "rows", columns)

    def _scores_for(self, one: RankerPass, scores: Any) -> Array:
        """Return checked scores in the order of queries, at the precision of a pass."""
        numbers = _numbers("scores", scores, size=len(self))
        if one.settings.score_precision == "float32":
            numbers = numbers.astype(np.float32).astype(np.float64)
        return numbers if self._order is None else numbers[self._order]

    def _weights_of(self, weights: Any) -> Array:
        """Return one weight per query."""
        numbers = _numbers("weights", weights)
        if len(numbers) == len(self) != self.n_queries:
            numbers = numbers if self._order is None else numbers[self._order]
            first = numbers[self._starts[:-1]]
            differ = numbers != np.repeat(first, np.diff(self._starts))
            if differ.any():
                row = int(differ.argmax())
                raise InputError(
                    "the rows of a query have different weights",
                    where=f"weights, row {row}",
                    found=f"{numbers[row]:g}",
                    hint="a query has one weight; pass one per query",
                )
            numbers = first
        if len(numbers) != self.n_queries:
            raise InputError(
                "there is one weight per query, or one per row",
                where="weights",
                found=f"{len(numbers):,} weights, {self.n_queries:,} queries, {len(self):,} rows",
            )
        if (numbers < 0).any():
            raise InputError("a weight is 0 or more", where="weights", found=f"{numbers.min():g}")
        return numbers


def evaluate_rows(
    scores: Any,
    labels: Any,
    metrics: MetricLike | Iterable[MetricLike],
    *,
    group: Any = None,
    qid: Any = None,
    weights: Any = None,
    **options: Any,
) -> Result:
    """Evaluate a ranker from scores and labels of rows, as LightGBM, XGBoost and CatBoost have them.

    Parameters
    ----------
    scores, labels : array of float, shape (n,)
        The score and the relevance of each row.
    metrics : str, metric, or a list of them
        Metrics of judged rows; with ``convention="lightgbm"`` or a related one in the spelling of the
        library.
    group, qid, weights
        As in `RankerTruth`, which is prepared once where the same labels are used again.
    **options : object
        As in `RankerTruth.evaluate`.

    Returns
    -------
    Result

    Raises
    ------
    InputError
        If rows, groups and weights do not belong together.
    UsageError
        If a metric reads more than judged rows, or an option means nothing for rows.

    Examples
    --------
    >>> from rankwise.rankers import evaluate_rows
    >>> scores, labels = [0.5, 0.7, 0.1, 0.9, 0.2], [1, 0, 0, 0, 0]
    >>> evaluate_rows(scores, labels, "ndcg@3", group=[3, 2])["ndcg@3"]
    0.6309
    >>> result = evaluate_rows(scores, labels, "ndcg@3", group=[3, 2], convention="lightgbm")
    >>> [round(value, 4) for value in result.values.values()]  # 1 for the query without a positive
    [0.8155]
    """
    return RankerTruth(labels, group=group, qid=qid, weights=weights).evaluate(
        scores, metrics, **options
    )


def _numbers(name: str, values: Any, *, size: int | None = None) -> Array:
    """Return finite numbers as one array of floats."""
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} are numbers", where=name, found=repr(values)[:60]) from None
    if numbers.ndim == 2 and 1 in numbers.shape:
        numbers = numbers.ravel()
    if numbers.ndim != 1 or (size is not None and len(numbers) != size):
        raise InputError(
            f"{name} are one number per row",
            where=name,
            found=f"shape {numbers.shape}" + ("" if size is None else f", {size:,} rows"),
        )
    finite = np.isfinite(numbers)
    if not finite.all():
        row = int(finite.argmin())
        raise ScoreError(
            f"{name} are finite numbers",
            where=f"{name}, row {row}",
            found=f"{numbers[row]} ({int((~finite).sum())} such rows)",
        )
    return np.ascontiguousarray(numbers)


def _sizes(group: Any, n_rows: int) -> Ints:
    """Return the sizes of groups, checked."""
    sizes = _numbers("group", group)
    whole: Ints = sizes.astype(np.int64)
    bad = (sizes != whole) | (whole < 1)
    if bad.any():
        at = int(bad.argmax())
        raise InputError(
            "the size of a group is a whole number of 1 or more",
            where=f"group, query {at}",
            found=f"{sizes[at]:g}",
        )
    if int(whole.sum()) != n_rows:
        raise InputError(
            "the sizes of groups do not add up to the number of rows",
            where="group",
            found=f"{int(whole.sum()):,} in {len(whole):,} groups, {n_rows:,} labels",
            hint=f"ids of rows are {parameter('qid')}",
        )
    return whole


def _queries(qid: Any, n_rows: int) -> tuple[pl.Series, Ints, Ints | None]:
    """Return the ids of queries as they come, their sizes, and the order of rows by query.

    The order is None if the rows of each query stand together.
    """
    ids = pl.Series("user", np.asarray(qid).ravel() if not isinstance(qid, pl.Series) else qid)
    if len(ids) != n_rows or ids.null_count():
        raise InputError(
            "there is one query id per row",
            where="qid",
            found=f"{len(ids):,} ids, {ids.null_count()} of them null, {n_rows:,} labels",
        )
    distinct = ids.unique(maintain_order=True)
    numbers = pl.Series(np.arange(len(distinct)))
    code = ids.replace_strict(distinct, numbers, return_dtype=pl.Int64).to_numpy()
    sizes = np.bincount(code, minlength=len(distinct))
    together = bool((np.diff(code) >= 0).all())
    return distinct, sizes, None if together else np.argsort(code, kind="stable")
