"""`validate_metrics`: which offline metrics predict online effects, from past launches."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from rankwise.core.saved_forms import LAUNCHES
from rankwise.core.terminal import (
    Detail,
    TableView,
    format_number,
    level_text,
    percent,
    signed,
)
from rankwise.errors import ColumnError, DuplicateError, EmptyError, ParameterError, nearest
from rankwise.findings.tables import ResultTable
from rankwise.findings.words import limits_text
from rankwise.messages import mention, parameter
from rankwise.stats.differences import Interval, check_level
from rankwise.stats.errors_in_variables import (
    MethodOfMoments,
    TrueEffects,
    cross_validated_prediction,
    method_of_moments,
    slopes_without_each,
    true_effects,
)
from rankwise.stats.many_systems import adjust
from rankwise.tables.files import read_study_table

_FEWEST = 8  # launches below which nothing is concluded
_FOR_COMPOSITES, _FEW = 20, 30
_ERROR, _SHARED = "_se", "_covariance"
_COMPOSITE = "composite of all"
_NO_DOMINANCE = {
    "dominant_launch": None,
    "slope_without": math.nan,
    "slope_without_low": math.nan,
    "slope_without_high": math.nan,
}
_Verdict: TypeAlias = Literal["follows", "opposes", "cannot tell"]


@dataclass(frozen=True, eq=False, repr=False)
class MetricValidation(ResultTable):
    """The result of `rankwise.validate_metrics`.

    Attributes
    ----------
    table : polars.DataFrame
        One row per offline metric: the ``slope`` of true online on true offline effects and their
        ``correlation``, each with limits; ``p`` of a slope of 0 and ``p_adjusted`` (Holm over the
        metrics); ``verdict``: ``follows`` or ``opposes`` if the slope is shown to be positive or
        negative, else ``cannot tell``; ``more_launches`` that would probably show it;
        ``sign_agreement``, the probability that a launch's true effects agree in sign, and
        ``same_signs``, how many observed ones do; ``worth_testing``, the true offline effect from
        which the online effect is positive with probability 0.8; ``reliability`` of the offline
        differences; ``dominant_launch``, the row of a launch without which the slope is outside of
        its interval (null if there is none), and that slope, ``slope_without``, with limits; and,
        beside these, the slopes ``naive``, ``total_covariance`` with its ``fieller`` set, and
        ``liml``.
    prediction : polars.DataFrame or None
        From 20 launches and with several metrics: for each metric and the composite of all, its
        ``weight`` and the ``share`` of the variance of true online effects that it predicts in
        launches left out.
    settings : dict
        The options, and where the errors' covariances come from.
    """

    table: pl.DataFrame
    prediction: pl.DataFrame | None
    settings: dict[str, Any]
    form = LAUNCHES

    @property
    def notes(self) -> list[str]:
        """Notes on the number of launches, the columns, the errors and the plans."""
        n, level = self.table["launches"][0], 1 - self.settings["confidence"]
        few = (
            f" are few, so intervals are wide; verdicts need at least {_FEWEST}" if n < _FEW else ""
        )
        several = f", over {len(self.table)} metrics by Holm" if len(self.table) > 1 else ""
        intervals = (
            f"slope and correlation of true effects, with {level_text(1 - level)} "
            "likelihood-ratio intervals; "
        )
        signs = (
            "signs: the probability that true effects agree in sign; observed: how many "
            "launches did; "
        )
        return [
            f"{n} launches{few}",
            f"{intervals}verdicts at level {level:.2g}{several}; errors: {self.settings['errors']}",
            f"{signs}errors pull this share to one half, shared errors to one",
            *self.flags,
            *self.settings.get("plans", ()),
        ]

    @property
    def flags(self) -> list[str]:
        """One sentence for each metric whose slope rests on one launch."""
        dominated = self.table.filter(pl.col("dominant_launch").is_not_null())
        return [_dominance_text(row) for row in dominated.iter_rows(named=True)]

    @property
    def sentences(self) -> list[str]:
        """Whether each metric follows the online effect, as one sentence each."""
        online = self.settings["online"]
        return [_sentence(row, online) for row in self.table.iter_rows(named=True)]

    def _tables_at(self, detail: Detail) -> list[TableView]:
        """Return the verdicts with their table, or with other estimates and predictions."""
        views = [_verdict_view(self.table, f"Offline metrics against {self.settings['online']}.")]
        if detail == "full":
            views.append(_beside_view(self.table))
        if self.prediction is not None:
            views.append(_prediction_view(self.prediction))
        return [*views[:-1], replace(views[-1], notes=self.notes)]


def _sentence(row: Mapping[str, Any], online: str) -> str:
    said = {"follows": "follows", "opposes": "opposes", "cannot tell": "is not shown to follow"}
    limits = limits_text(row["slope_low"], row["slope_high"], signed)
    slope = f"slope {signed(row['slope'])} ({limits})"
    told = f"{row['metric']} {said[row['verdict']]} {online}: {slope}, {row['launches']} launches"
    if row["dominant_launch"] is None:
        return f"{told}."
    return f"{told}. {_dominance_text(row)}."


def _dominance_text(row: Mapping[str, Any]) -> str:
    limits = limits_text(row["slope_without_low"], row["slope_without_high"], signed)
    return (
        f"{row['metric']}: the slope rests on one launch, in row {row['dominant_launch']}; without "
        f"it, it is {signed(row['slope_without'])} ({limits})"
    )


def _verdict_view(table: pl.DataFrame, title: str) -> TableView:
    head = (
        "metric",
        "slope",
        "interval",
        "correlation",
        "signs",
        "observed",
        "worth an A/B from",
        "verdict",
    )
    rows = [
        (
            row["metric"],
            signed(row["slope"]),
            limits_text(row["slope_low"], row["slope_high"], format_number),
            (
                f"{signed(row['correlation'], 2)} ({signed(row['correlation_low'], 2)} to "
                f"{signed(row['correlation_high'], 2)})"
            ),
            percent(row["sign_agreement"]),
            f"{row['same_signs']} of {row['launches']}",
            format_number(row["worth_testing"]),
            _verdict_text(row),
        )
        for row in table.to_dicts()
    ]
    return TableView(head, rows, left=(0, 7), title=title, label="rankwise-launches")


def _beside_view(table: pl.DataFrame) -> TableView:
    head = (
        "beside, without a verdict",
        "reliability",
        "attenuated",
        "total covariance",
        "Fieller set",
        "LIML",
    )
    rows = [
        (
            row["metric"],
            format_number(row["reliability"]),
            *(signed(row[name]) for name in ("naive", "total_covariance")),
            row["fieller"],
            signed(row["liml"]),
        )
        for row in table.to_dicts()
    ]
    return TableView(
        head, rows, left=(0, 4), title="Other estimates of the slope.", label="rankwise-slopes"
    )


def _prediction_view(prediction: pl.DataFrame) -> TableView:
    rows = [
        (
            row["metric"],
            "" if row["weight"] is None else signed(row["weight"]),
            percent(row["share"]),
        )
        for row in prediction.to_dicts()
    ]
    head = ("prediction of launches left out", "weight", "variance predicted")
    return TableView(
        head, rows, title="Prediction of launches left out.", label="rankwise-prediction"
    )


def _verdict_text(row: dict[str, Any]) -> str:
    if row["verdict"] != "cannot tell":
        alone = " (rests on one launch)" if row["dominant_launch"] is not None else ""
        return f"{row['verdict']}{alone}"
    more = row["more_launches"]
    return f"cannot tell ({row['launches']} launches" + (
        f"; about {more:,} more would, if it is so)" if more else ")"
    )


def validate_metrics(
    launches: Any,
    *,
    offline: str | Sequence[str] | None = None,
    online: str = "online",
    same_users: bool | None = None,
    confidence: float = 0.95,
) -> MetricValidation:
    """Tell which offline metrics predict online effects, from past launches, corrected for errors.

    A regression of online on offline effects is wrong twice: errors of the offline differences pull
    its slope towards 0, and where both effects were measured on the same users, their shared error
    pulls it towards that of the errors, which is positive. Therefore every launch needs the
    standard errors of both, and the covariance of the two errors, or the statement that they come
    from different users.

    Parameters
    ----------
    launches : table or path
        One row per launch: the online effect ``online`` with its standard error ``online_se``, and
        for each offline metric the difference, such as ``ndcg@10``, with ``ndcg@10_se`` and, if
        users are the same, ``ndcg@10_covariance`` (of one metric also ``covariance``): the
        covariance of both per-user differences over users, divided by their number. Signs are such
        that positive is better.
    offline : str or list of str, optional
        The offline metrics; by default every column that has a column of standard errors.
    online : str, default="online"
        The column of the online effects.
    same_users : bool, optional
        Whether the offline and online differences of a launch come from the same users; by default
        if the table has columns of covariances. From different users their errors are independent,
        and these columns are not needed.
    confidence : float, default=0.95
        The confidence level of intervals; verdicts are at 1 − confidence.

    Returns
    -------
    MetricValidation
        With fewer than 8 launches every verdict is ``cannot tell``.

    Raises
    ------
    ColumnError
        If a column is missing or holds something other than numbers.
    ParameterError
        If nothing is said about the covariance of the errors.

    See Also
    --------
    rankwise.stats.true_effects : The model, for arrays.

    Notes
    -----
    From 8 launches on each is left out once: where the slope without one of them is outside of the
    interval of all, the verdict rests on that launch, and the table and its notes say so.

    Examples
    --------
    >>> import rankwise as rw
    >>> launches = {"ndcg": [0.1, 0.4, -0.2, 0.3, -0.3, 0.2, 0.0, 0.5], "ndcg_se": [0.05] * 8,
    ...             "online": [0.3, 0.9, -0.3, 0.7, -0.6, 0.3, 0.1, 1.1], "online_se": [0.1] * 8}
    >>> validation = rw.validate_metrics(launches, same_users=False)
    >>> validation.table.select("metric", "slope", "verdict").row(0)
    ('ndcg', 2.066, 'follows')
    """
    check_level("confidence", confidence)
    frame, where = read_launches(launches)
    metrics = _metrics(frame, where, offline, online)
    effect, error = (_numbers(frame, where, name) for name in (online, online + _ERROR))
    shared = {
        name: _covariance(frame, where, name, same_users, alone=len(metrics) == 1)
        for name in metrics
    }
    rows = []
    for name in metrics:
        arrays = (
            _numbers(frame, where, name),
            effect,
            _numbers(frame, where, name + _ERROR),
            error,
            shared[name],
        )
        effects = true_effects(*arrays, confidence=confidence)
        moments = method_of_moments(*arrays, confidence=confidence)
        row = _row(name, effects, moments, int((arrays[0] * effect > 0).sum()))
        rows.append(row | _dominance(arrays, effects.slope))
    typed = pl.DataFrame(rows, schema_overrides={"dominant_launch": pl.Int64})
    table = _with_verdicts(typed, 1 - confidence)
    errors = "independent" if same_users is False else "with the covariances of the table"
    settings = {
        "online": online,
        "confidence": float(confidence),
        "errors": errors,
        "launches": where,
    }
    return MetricValidation(
        table, _prediction(frame, where, metrics, effect, error, shared), settings
    )


def read_launches(launches: Any) -> tuple[pl.DataFrame, str]:
    """Return the table of launches, and its name."""
    source = pl.DataFrame(launches) if isinstance(launches, dict) else launches
    frame, where = read_study_table(source, "launches")
    if frame.is_empty():
        raise EmptyError("there is no launch", where=where)
    plain = frame.select(
        name for name, kind in frame.schema.items() if not (kind.is_nested() or kind == pl.Object)
    )
    repeated = plain.is_duplicated()
    if plain.width and repeated.any():
        raise DuplicateError(
            "a launch stands twice in the table",
            where=f"{where}, row {int(repeated.arg_true()[0]) + 1}",
            found=f"{int(repeated.sum()):,} rows that equal another one in every column",
            hint="keep one row per launch; launches that happen to have the same numbers need a "
            "column with their name",
        )
    return frame, where


def _metrics(
    frame: pl.DataFrame, where: str, offline: str | Sequence[str] | None, online: str
) -> list[str]:
    """Return the names of the offline metrics."""
    if offline is not None:
        chosen = [offline] if isinstance(offline, str) else list(dict.fromkeys(offline))
        if not chosen:
            raise ParameterError(
                "no offline metric is named",
                found=parameter("offline", offline),
                hint="leave offline out for all of them",
            )
        if online in chosen:
            raise ParameterError(
                "the online effect is no offline metric: it always follows itself",
                found=f"{parameter('offline', offline)}, {parameter('online', online)}",
                hint="name offline metrics, each with a column of standard errors",
            )
        return chosen
    names = [name for name in frame.columns if name != online and name + _ERROR in frame.columns]
    if not names:
        raise ColumnError(
            "no offline metric has a column of standard errors",
            where=where,
            found=f"columns {', '.join(map(repr, frame.columns))}",
            hint="name them after the metric: 'ndcg@10' and 'ndcg@10_se'",
        )
    return names


def _numbers(frame: pl.DataFrame, where: str, name: str) -> Any:
    """Return a numeric column as an array; raise if the column or a value is missing."""
    if name not in frame.columns:
        what = (
            f" with the standard errors of {name.removesuffix(_ERROR)!r}"
            if name.endswith(_ERROR)
            else ""
        )
        raise ColumnError(
            f"there is no column {name!r}{what}",
            where=where,
            found=f"columns {', '.join(map(repr, frame.columns))}",
            hint=nearest(name, frame.columns),
        )
    column = frame[name]
    if not column.dtype.is_numeric():
        raise ColumnError(
            "this column holds no numbers",
            where=f"{where}, column {name!r}",
            found=f"{column[0]!r}",
        )
    values = column.cast(pl.Float64).fill_null(math.nan)
    if not values.is_finite().all():
        row = int(values.is_finite().not_().arg_max() or 0)
        raise ColumnError(
            "a launch has no value",
            where=f"{where}, column {name!r}, row {row + 1}",
            found=f"{column[row]}",
            hint="drop the launch",
        )
    return values.to_numpy()


def _covariance(
    frame: pl.DataFrame, where: str, metric: str, same_users: bool | None, *, alone: bool
) -> Any:
    """Return the covariance of both errors in each launch."""
    names = [metric + _SHARED, *(["covariance"] if alone else [])]
    name = next((name for name in names if name in frame.columns), None)
    if name is not None:
        shared = _numbers(frame, where, name)
        if same_users is not False or not shared.any():
            return shared
        raise ParameterError(
            "errors of different users have no covariance, and the table has one",
            where=f"{where}, column {name!r}",
            found=f"{parameter('same_users', False)}, and {np.count_nonzero(shared):,} launches "
            "with a covariance "
            "other than 0",
            hint=f"leave {mention('same_users')} out if users are the same; drop the column if "
            "they are not",
        )
    if same_users is False:
        return np.zeros(len(frame))
    raise ParameterError(
        "the covariance of the offline and the online error is not known",
        where=where,
        found=f"no column {names[0]!r}",
        hint=f"pass {parameter('same_users', False)} if they come from different users; else add "
        "the column: the "
        "covariance of "
        "both per-user differences, divided by the number of users",
    )


def _row(
    name: str, effects: TrueEffects, moments: MethodOfMoments, same_signs: int
) -> dict[str, Any]:
    """Return the row of one metric: estimates, limits, p-value and diagnostics."""
    from scipy.special import chdtrc

    needed = effects.pairs_needed()
    return {
        "metric": name,
        "launches": effects.n,
        **_limits("slope", effects.slope),
        **_limits("correlation", effects.correlation),
        "p": float(chdtrc(1, effects.evidence)),
        "more_launches": None if needed is None else max(needed, _FEWEST) - effects.n,
        "sign_agreement": effects.sign_agreement,
        "same_signs": same_signs,
        "worth_testing": effects.threshold(),
        "reliability": moments.reliability,
        "naive": moments.naive,
        "total_covariance": moments.total_covariance,
        "fieller": _set_text(moments.fieller),
        "liml": moments.liml,
    }


def _dominance(arrays: Sequence[Any], slope: Interval) -> dict[str, Any]:
    """Return the row of the launch that moves a slope furthest out of its interval, if one does."""
    if len(arrays[0]) < _FEWEST or not np.isfinite([slope.low, slope.high]).all():
        return _NO_DOMINANCE

    without = slopes_without_each(*arrays)
    outside = np.fmax(slope.low - without, without - slope.high)
    if not (outside > 0).any():
        return _NO_DOMINANCE

    launch = int(np.nanargmax(outside))
    others = [np.delete(part, launch) for part in arrays]
    rest = true_effects(*others, confidence=slope.confidence)
    return {"dominant_launch": launch + 1} | _limits("slope_without", rest.slope)


def _limits(name: str, interval: Interval) -> dict[str, float]:
    return {name: interval.estimate, f"{name}_low": interval.low, f"{name}_high": interval.high}


def _set_text(intervals: tuple[tuple[float, float], ...]) -> str:
    """Return a confidence set as text; an unbounded set is marked ``cannot tell``."""
    if len(intervals) == 1 and math.isfinite(intervals[0][0]):
        return limits_text(*intervals[0], format_number)
    if len(intervals) == 1:
        return "cannot tell: every slope"
    return (
        f"cannot tell: below {format_number(intervals[0][1])} or above "
        f"{format_number(intervals[1][0])}"
    )


def _with_verdicts(table: pl.DataFrame, alpha: float) -> pl.DataFrame:
    """Add adjusted p-values and verdicts, and blank values that a verdict does not allow."""
    p = adjust(table["p"].to_numpy())
    verdicts: list[_Verdict] = []
    for row, adjusted in zip(table.to_dicts(), p, strict=True):
        shown = row["launches"] >= _FEWEST and adjusted <= alpha
        above, below = row["slope_low"] > 0, row["slope_high"] < 0
        verdicts.append(
            "follows" if shown and above else "opposes" if shown and below else "cannot tell"
        )
    told = pl.Series("verdict", verdicts)
    more = pl.when((pl.lit(told) == "cannot tell") & (pl.col("more_launches") > 0)).then(
        "more_launches"
    )
    return table.with_columns(
        more.alias("more_launches"),
        pl.when(pl.lit(told) == "follows")
        .then("worth_testing")
        .otherwise(math.nan)
        .alias("worth_testing"),
        pl.Series("p_adjusted", p),
        told,
    )


def _prediction(
    frame: pl.DataFrame,
    where: str,
    metrics: Sequence[str],
    effect: Any,
    error: Any,
    shared: dict[str, Any],
) -> pl.DataFrame | None:
    """Return the held-out prediction of each metric and the composite; None if data are too few."""
    if len(metrics) < 2 or len(frame) < _FOR_COMPOSITES:
        return None

    def predict(names: Sequence[str]) -> tuple[Any, float]:
        x = np.stack([_numbers(frame, where, name) for name in names], axis=1)
        return cross_validated_prediction(
            x, effect, error, np.stack([shared[name] for name in names], axis=1)
        )

    weights, share = predict(metrics)
    rows = [
        (name, weight, predict([name])[1])
        for name, weight in zip(metrics, weights.tolist(), strict=True)
    ]
    rows.append((_COMPOSITE, None, share))
    schema = {"metric": pl.String, "weight": pl.Float64, "share": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")
