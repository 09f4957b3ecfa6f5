"""rankwise's metrics where LightGBM, XGBoost, CatBoost and scikit-learn train and select models.

None of these libraries is imported: what they call is a function or an object of a known form. What
a tool does not hand over, the groups of CatBoost's sets, is passed at construction.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from rankwise.errors import InputError, MetricError, ParameterError
from rankwise.evaluation.plan import plan_passes
from rankwise.messages import parameter
from rankwise.metrics.base import Metric, MetricLike
from rankwise.rankers.truth import RankerTruth


def _asked(
    metrics: MetricLike | Iterable[MetricLike], options: dict[str, Any]
) -> list[tuple[str, Metric]]:
    """Return each value that is asked for: its name, and its metric with one cut-off or none."""
    requested, _ = plan_passes(metrics, options)
    return [(cell, metric) for metric in requested for cell in metric.cells]


def _direction(name: str, metric: Metric) -> bool:
    """Return whether higher values of a metric are better; raise if neither direction is."""
    if metric.higher_is_better is None:
        raise MetricError(
            f"training needs a better direction, and {name} has none",
            found=name,
            hint="choose a metric such as ndcg@10",
        )
    return metric.higher_is_better


def _single(metric: MetricLike, options: dict[str, Any], rule: str) -> tuple[str, bool]:
    """Return the name and the direction of one value; raise with the rule if there are several."""
    asked = _asked(metric, dict(options))
    if len(asked) != 1:
        raise ParameterError(
            rule,
            found=", ".join(name for name, _ in asked),
            hint="train with one metric, and evaluate the others afterwards",
        )
    ((name, parsed),) = asked
    return name, _direction(name, parsed)


class _Prepared:
    """The ground truths of the data sets of one training, each prepared at its first round.

    A data set is known by its object, or by its labels and groups where a tool hands over arrays
    alone.
    """

    def __init__(self) -> None:
        self._truths: dict[Any, tuple[Any, RankerTruth]] = {}

    def of_object(self, data: Any, make: Callable[[], RankerTruth]) -> RankerTruth:
        """Return the ground truth of a data set that a tool passes in every round."""
        known = self._truths.get(id(data))
        if known is None or known[0] is not data:
            self._truths[id(data)] = known = data, make()
        return known[1]

    def of_arrays(self, arrays: Sequence[Any], make: Callable[[], RankerTruth]) -> RankerTruth:
        """Return the ground truth of arrays, which are compared by their content."""
        digest = hashlib.blake2b(digest_size=16)
        for array in arrays:
            digest.update(b"" if array is None else np.ascontiguousarray(array).tobytes())
        key = digest.digest()
        if key not in self._truths:
            self._truths[key] = None, make()
        return self._truths[key][1]


class LightGBMMetric:
    """Metrics for LightGBM: ``feval`` of ``lgb.train``, and ``eval_metric`` of ``LGBMRanker.fit``.

    LightGBM passes groups and weights itself. Several metrics are one call per round. Early
    stopping follows the first metric of all that LightGBM evaluates, unless its callback has
    ``first_metric_only=False``: set ``metric="None"`` to leave LightGBM's own metrics out.

    Parameters
    ----------
    metrics : str, metric, or a list of them
        Metrics of judged rows.
    **options : object
        As in `RankerTruth.evaluate`: ``convention="lightgbm"`` gives LightGBM's own numbers.

    Raises
    ------
    MetricError
        If neither direction of a metric is better.

    Examples
    --------
    >>> from rankwise.rankers import LightGBMMetric
    >>> feval = LightGBMMetric(["ndcg@10", "recall@10"])
    >>> feval.names
    ['ndcg@10', 'recall@10']

    ``lgb.train(params | {"metric": "None"}, train, valid_sets=[valid], feval=feval)`` trains with
    it, and ``LGBMRanker().fit(…, eval_metric=feval.eval_metric)``.
    """

    def __init__(self, metrics: MetricLike | Iterable[MetricLike], **options: Any) -> None:
        self.metrics, self.options = metrics, options
        asked = _asked(metrics, dict(options))
        self.names = [name for name, _ in asked]
        self._higher = [_direction(name, metric) for name, metric in asked]
        self._prepared = _Prepared()

    def __call__(self, scores: Any, data: Any) -> list[tuple[str, float, bool]]:
        """Return name, value and direction of each metric for a LightGBM ``Dataset``."""

        def make() -> RankerTruth:
            group, weights = data.get_group(), data.get_weight()
            if group is None:
                raise InputError(
                    "the data set has no groups, and a metric is of the rows of a query",
                    where="LightGBM Dataset",
                    hint="lgb.Dataset(…, group=sizes)",
                )
            return RankerTruth(data.get_label(), group=group, weights=weights)

        return self._rows(self._prepared.of_object(data, make), scores)

    def eval_metric(
        self, y_true: Any, y_pred: Any, weight: Any, group: Any
    ) -> list[tuple[str, float, bool]]:
        """Return the same from the arrays that ``LGBMRanker.fit`` passes."""
        weight = None if weight is None or not len(weight) else weight
        truth = self._prepared.of_arrays(
            (y_true, group, weight), lambda: RankerTruth(y_true, group=group, weights=weight)
        )
        return self._rows(truth, y_pred)

    def _rows(self, truth: RankerTruth, scores: Any) -> list[tuple[str, float, bool]]:
        values = truth.values(scores, self.metrics, **self.options)
        return [
            (name, values[name], higher)
            for name, higher in zip(self.names, self._higher, strict=True)
        ]


class XGBoostMetric:
    """One metric for XGBoost: ``custom_metric`` of ``xgb.train``, and ``eval_metric`` of ``XGBRanker``.

    ``xgb.train`` passes whole data sets with their groups and weights, and shows rankwise's value.
    ``XGBRanker`` (of XGBoost 3.2) calls the metric query by query and takes the mean itself, with
    the number of rows of each query as its weight and 1 for a query of one row: this is another
    number than that of ``xgb.train``, and needs a metric with a value for every query, such as
    ``ndcg(without_relevant=one)@10``. XGBoost hands values on as text of six digits. Early stopping
    has to be told the direction:
    ``xgb.callback.EarlyStopping(rounds=5, metric_name=metric.name, maximize=metric.higher_is_better)``.

    Parameters
    ----------
    metric : str or metric
        A metric of judged rows with one cut-off.
    **options : object
        As in `RankerTruth.evaluate`.

    Raises
    ------
    MetricError
        If neither direction of the metric is better.
    ParameterError
        If several metrics are given: XGBoost takes one.

    Examples
    --------
    >>> from rankwise.rankers import XGBoostMetric
    >>> metric = XGBoostMetric("ndcg@10", convention="xgboost")
    >>> metric.name, metric.higher_is_better
    ('ndcg(gain=exponential,without_relevant=one)@10', True)
    """

    def __init__(self, metric: MetricLike, **options: Any) -> None:
        self.metric, self.options = metric, options
        self.name, self.higher_is_better = _single(
            metric, options, "XGBoost takes one value per call"
        )
        self._prepared = _Prepared()

    @property
    def __name__(self) -> str:
        """The name that ``XGBRanker`` shows."""
        return self.name

    def __call__(self, first: Any, second: Any) -> Any:
        """Return name and value for predictions and a ``DMatrix``, or the value of one query.

        ``xgb.train`` passes (predictions, DMatrix), ``XGBRanker`` the labels and scores of a query.
        """
        if hasattr(second, "get_label"):
            truth = self._prepared.of_object(second, lambda: _truth_of_matrix(second))
            return self.name, self._value(truth, first)

        # Every query of XGBRanker counts, and a metric may have a value without a positive.
        options = {"population": "judged", **self.options}
        if self.options.get("convention") is not None:
            options = self.options
        of_query = RankerTruth(first, group=[len(first)])
        value = of_query.values(second, self.metric, **options)[self.name]
        if math.isnan(value):
            raise MetricError(
                f"XGBRanker takes the mean over all queries, and {self.name} has no value for one",
                found=f"a query of {len(first)} rows without a positive",
                hint=f"{parameter('undefined', 'zero')} counts it 0; ndcg and map have a value with "
                "without_relevant=one",
            )
        return value

    def _value(self, truth: RankerTruth, scores: Any) -> float:
        return truth.values(scores, self.metric, **self.options)[self.name]


def _truth_of_matrix(matrix: Any) -> RankerTruth:
    """Return the ground truth of an XGBoost ``DMatrix``."""
    offsets = np.asarray(matrix.get_uint_info("group_ptr"), dtype=np.int64)
    if len(offsets) < 2:
        raise InputError(
            "the data set has no groups, and a metric is of the rows of a query",
            where="XGBoost DMatrix",
            hint="matrix.set_group(sizes), or qid= at construction",
        )
    weights = matrix.get_weight()
    return RankerTruth(
        matrix.get_label(), group=np.diff(offsets), weights=weights if len(weights) else None
    )


class CatBoostMetric:
    """A metric for CatBoost: an object for ``eval_metric`` or ``custom_metric`` of its rankers.

    CatBoost passes neither groups nor the data set: give the sizes of the groups of the training
    and of each evaluation set as ``groups``. A set is known by its number of rows. The name that
    CatBoost shows is that of the class.

    Parameters
    ----------
    metric : str or metric
        A metric of judged rows with one cut-off.
    groups : list of sequence of int
        The sizes of groups of each set, of which no two have as many rows.
    **options : object
        As in `RankerTruth.evaluate`.

    Raises
    ------
    MetricError
        If neither direction of the metric is better.
    ParameterError
        If several metrics are given, or two sets have as many rows.

    Examples
    --------
    >>> from rankwise.rankers import CatBoostMetric
    >>> metric = CatBoostMetric("ndcg@10", groups=[[3, 2], [2]])
    >>> metric.is_max_optimal()
    True
    >>> metric.evaluate([[0.5, 0.7, 0.1, 0.9, 0.2]], [1, 0, 0, 2, 0], None)
    (0.8154648767857288, 1.0)
    """

    def __init__(
        self, metric: MetricLike, *, groups: Sequence[Sequence[int]], **options: Any
    ) -> None:
        self.metric, self.options = metric, options
        self.name, self.higher_is_better = _single(
            metric, options, "CatBoost takes one value per metric"
        )
        self._groups = {int(np.sum(sizes)): sizes for sizes in groups}
        if len(self._groups) < len(groups):
            raise ParameterError(
                "CatBoost does not say which set it evaluates, and two sets have as many rows",
                found=f"{len(groups)} sets of {', '.join(str(n) for n in self._groups)} rows",
                hint="leave a query out of one of them",
            )
        self._prepared = _Prepared()

    def is_max_optimal(self) -> bool:
        """Return whether higher values are better."""
        return self.higher_is_better

    def evaluate(self, approxes: Any, target: Any, weight: Any) -> tuple[float, float]:
        """Return the value of all queries as an error, and a weight of 1."""
        scores, labels = (np.asarray(each, dtype=np.float64) for each in (approxes[0], target))
        weights = None if weight is None else np.asarray(weight, dtype=np.float64)
        truth = self._prepared.of_arrays((labels, weights), lambda: self._truth_of(labels, weights))
        value = truth.values(scores, self.metric, **self.options)[self.name]
        return float(value), 1.0

    def get_final_error(self, error: float, weight: float) -> float:
        """Return the value: that of all queries is computed at once."""
        return error / weight if weight else error

    def _truth_of(self, labels: Any, weights: Any) -> RankerTruth:
        if len(labels) not in self._groups:
            raise InputError(
                "no groups were given for a set of so many rows",
                where="CatBoostMetric",
                found=f"{len(labels):,} rows; groups of {', '.join(map(str, self._groups))} rows",
                hint=f"pass {parameter('groups')} with the sizes for each set",
            )
        return RankerTruth(labels, group=self._groups[len(labels)], weights=weights)


class SklearnMetric:
    """A score function for ``sklearn.metrics.make_scorer``, which needs the query of each row.

    scikit-learn passes it with metadata routing: ``sklearn.set_config(enable_metadata_routing=True)``,
    then ``make_scorer(SklearnMetric("ndcg@10")).set_score_request(qid=True)`` as ``scoring=``, and
    ``search.fit(X, y, qid=qid)``. Of a metric whose lower values are better say
    ``make_scorer(metric, greater_is_better=metric.higher_is_better)``.

    Parameters
    ----------
    metric : str or metric
        A metric of judged rows with one cut-off.
    **options : object
        As in `RankerTruth.evaluate`.

    Raises
    ------
    MetricError
        If neither direction of the metric is better.
    ParameterError
        If several metrics are given.

    Examples
    --------
    >>> from rankwise.rankers import SklearnMetric
    >>> metric = SklearnMetric("ndcg@3")
    >>> metric([1, 0, 0, 2, 0], [0.5, 0.7, 0.1, 0.9, 0.2], qid=[0, 0, 0, 1, 1])
    0.8154648767857288
    """

    def __init__(self, metric: MetricLike, **options: Any) -> None:
        self.metric, self.options = metric, options
        self.name, self.higher_is_better = _single(metric, options, "a scorer has one value")
        self._prepared = _Prepared()

    def __call__(self, y_true: Any, y_pred: Any, *, qid: Any) -> float:
        """Return the value for the labels, scores and queries of rows."""
        truth = self._prepared.of_arrays(
            (y_true, np.asarray(qid).astype(str)), lambda: RankerTruth(y_true, qid=qid)
        )
        return truth.values(y_pred, self.metric, **self.options)[self.name]
