"""`judged`: metrics from few human and many model labels, by prediction-powered inference."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from rankwise.comparison.comparability import (
    check_choices,
    check_comparable,
    check_ids,
    without_force,
)
from rankwise.comparison.family import bounds_of
from rankwise.comparison.systems import systems_of
from rankwise.core.arguments import Sampled, check_choice
from rankwise.core.saved_forms import JUDGED
from rankwise.core.terminal import (
    Detail,
    TableView,
    count_of,
    format_number,
    level_text,
    signed,
)
from rankwise.core.units import REQUEST
from rankwise.errors import InputError, MetricError, ParameterError
from rankwise.findings.tables import ResultTable
from rankwise.findings.words import limits_text
from rankwise.messages import call, parameter
from rankwise.results.intervals import group_column
from rankwise.results.result import Result
from rankwise.stats.differences import Floats, check_level
from rankwise.stats.prediction_powered import PredictionPowered, prediction_powered
from rankwise.tables.requests import users_of_requests

Systems: TypeAlias = Mapping[str, Result]
_BOTH = f"evaluate both with {parameter('population', 'judged')}, {parameter('undefined', 'zero')}"


@dataclass(frozen=True, eq=False, repr=False)
class JudgedResult(ResultTable):
    """The result of `rankwise.judged`.

    Attributes
    ----------
    table : polars.DataFrame
        One row per system and metric, then one per difference from the first system (``baseline``):
        the corrected ``value`` with ``low`` and ``high``, ``human`` and ``judge`` alone, the
        ``weight`` of the judge's labels, the number of ``labelled`` and other users, how many
        labelled users would have been as good without a judge (``as_good_as``), and ``flags``.
    left_out : dict of str to str
        The metrics that are not estimated, and why.
    settings : dict
        The options.
    """

    table: pl.DataFrame
    left_out: dict[str, str]
    settings: dict[str, Any]
    form = JUDGED

    @property
    def sentences(self) -> list[str]:
        """What each value, or difference from the first system, is by both kinds of labels."""
        return [_sentence(row) for row in self.table.iter_rows(named=True)]

    def _tables_at(self, detail: Detail) -> list[TableView]:
        """Return the table of corrected values, or with the numbers of users as well."""
        sizes = ("labelled", "others") if detail == "full" else ()
        rows = [
            (
                row["system"]
                if row["baseline"] is None
                else f"{row['system']} − {row['baseline']}",
                row["metric"],
                format_number(row["value"]),
                limits_text(row["low"], row["high"], format_number),
                format_number(row["human"]),
                format_number(row["judge"]),
                f"{row['weight']:.2f}",
                _equivalent_text(row["as_good_as"]),
                *(f"{row[name]:,}" for name in sizes),
            )
            for row in self.table.to_dicts()
        ]
        head = (
            "system",
            "metric",
            "corrected",
            "interval",
            "human alone",
            "judge alone",
            "weight",
            "as good as",
            *sizes,
        )
        labelled, others = (self._counted(side) for side in ("labelled", "others"))
        share = f"{labelled}, declared a random sample, and {others}"
        notes = [
            *self.settings.get("plans", ()),
            (
                f"{share}; {level_text(self.settings['confidence'])} prediction-powered intervals of "
                "one row alone"
            ),
            (
                "judge alone: biased by an unknown amount, so without an interval; as good as: that "
                "many labelled users"
            ),
            *(
                ["users are the sample: their requests are not independent"]
                if "requests" in self.settings
                else []
            ),
            *self.table["flags"].explode().drop_nulls().unique(maintain_order=True),
            *(f"{metric} is left out: {why}" for metric, why in self.left_out.items()),
        ]
        return [
            TableView(
                head,
                rows,
                notes,
                left=(0, 1),
                title="Human and model labels.",
                label="rankwise-judged",
            )
        ]

    def _counted(self, side: str) -> str:
        """Return the numbers of labelled (or remaining) users and their requests, in words."""
        users, requests = int(self.table[side][0]), self.settings.get("requests", {}).get(side)
        if requests is None:
            return f"{users:,} labelled users" if side == "labelled" else f"{users:,} others"
        adjective = "labelled" if side == "labelled" else "other"
        return f"{count_of(requests, 'request')} of {users:,} {adjective} users"


def _sentence(row: Mapping[str, Any]) -> str:
    number = format_number if row["baseline"] is None else signed
    limits = limits_text(row["low"], row["high"], number)
    text = f"{number(row['value'])} ({limits}); by human labels alone {number(row['human'])}"
    who = row["system"]
    if row["baseline"] is not None:
        who = f"{row['system']} − {row['baseline']}"
    return f"{who} on {row['metric']}: {text}, by the judge alone {number(row['judge'])}."


def _equivalent_text(users: float) -> str:
    """Return how many labelled users would have been as good; a dash where that is not known."""
    return format_number(float(round(users))) if math.isfinite(users) else "–"


def judged(
    *,
    human: Result | Systems,
    judge: Result | Systems,
    sampled: Sampled | None = None,
    confidence: float = 0.95,
) -> JudgedResult:
    """Estimate values from a few users with human labels and many with labels of a model.

    The judge's mean over all users is corrected by the mean of human minus judge over the labelled
    users (prediction-powered inference). Whatever the judge's errors, the estimate is that of human
    labels on all users; a better judge makes its interval narrower.

    Parameters
    ----------
    human, judge : Result, or mapping of str to Result
        The same lists evaluated with human labels of some users, and with the judge's labels of all
        of them. Of several systems by name, differences from the first are estimated as well.
    sampled : {"random"}, optional
        Declares that the labelled users are a random sample of all users; without it there is no
        estimate.
    confidence : float, default=0.95
        The confidence level.

    Returns
    -------
    JudgedResult

    Raises
    ------
    ParameterError
        If the labelled users are not declared to be a random sample, or the results do not go
        together.
    InputError
        If the judge has no labels of a labelled user, or labels decide which users are evaluated.

    See Also
    --------
    rankwise.stats.prediction_powered : The same for arrays.

    Notes
    -----
    Limits are those of Student's t with n − 2 degrees of freedom, and of the jackknife over labelled
    users, which chooses the weight again without each user. The estimate is unbiased for every fixed
    weight; choosing it on the same users costs about a tenth of a standard error. If values are
    rare, limits are never narrower than those of a bounded mean.

    Examples
    --------
    >>> import rankwise as rw
    >>> lists = {user: ["a", "b"] for user in range(400)}
    >>> labels = {u: {"a": u % 3 > 0, "b": u % 5 == 0} for u in lists}
    >>> generous = {u: {"a": 1, "b": u % 2 == 0} for u in lists}
    >>> options = {"metrics": "precision@2", "threshold": 1, "population": "judged", "undefined": "zero"}
    >>> human = rw.evaluate(lists, {u: labels[u] for u in range(0, 400, 7)}, **options)
    >>> judge = rw.evaluate(lists, generous, **options)
    >>> rw.judged(human=human, judge=judge, sampled="random").table.select("value", "human", "judge").row(0)
    (0.43, 0.43, 0.75)
    """
    check_judged(sampled=sampled, confidence=confidence)
    pairs = _paired(human, judge)
    cells, left_out = _metrics(pairs)
    rows = []
    (first, _), *rest = pairs.items()
    for cell in cells:
        values = {name: _Labels.of(*pair, cell) for name, pair in pairs.items()}
        low, high = bounds_of({"": pairs[first][0]}, cell)
        rows += [
            _row(None, name, cell, labels, (low, high), confidence)
            for name, labels in values.items()
        ]
        of_difference = (low - high, high - low)
        rows += [
            _row(first, name, cell, values[name].minus(values[first]), of_difference, confidence)
            for name, _ in rest
        ]
    table = pl.DataFrame(
        rows, schema_overrides={"baseline": pl.String, "flags": pl.List(pl.String)}
    )
    settings: dict[str, Any] = {"sampled": sampled, "confidence": float(confidence)}
    human_side, judge_side = next(iter(pairs.values()))
    if human_side.has_requests:
        labelled = len(human_side.units)
        settings["requests"] = {"labelled": labelled, "others": len(judge_side.units) - labelled}
    return JudgedResult(table, left_out, settings)


def check_judged(*, sampled: Sampled | None, confidence: float = 0.95) -> None:
    """Raise for options that no labels can mend."""
    check_level("confidence", confidence)
    if sampled is None:
        raise ParameterError(
            "nothing says how the users with human labels were chosen",
            hint=f"pass {parameter('sampled', 'random')} if they are a random sample of all "
            "users; users that were "
            "chosen otherwise "
            "(the first, the active, the doubtful) allow no correction",
        )
    check_choice("sampled", sampled, Sampled)


def _paired(human: Any, judge: Any) -> dict[str, tuple[Result, Result]]:
    """Return the two results of each system, checked to go together."""
    humans, judges = _results_by_name(human, judge)
    named = {f"{name} by human": result for name, result in humans.items()}
    named |= {f"{name} by judge": result for name, result in judges.items()}
    check_ids(named)
    with without_force():
        check_choices(named)
        check_comparable(humans)
        check_comparable(judges)
    systems_of((named,)).by_unit()
    for name, result in named.items():
        _check_keeps_all_users(result, name)

    pairs = {name: (result, judges[name]) for name, result in humans.items()}
    for name, (some, every) in pairs.items():
        _check_has_labels_of_judge(some, every, name)
        _check_whole_users(some, every, name)
    return pairs


def _results_by_name(human: Any, judge: Any) -> tuple[dict[str, Result], dict[str, Result]]:
    """Return the results of both sides by system; raise unless both have the same systems."""
    sides = [{"result": side} if isinstance(side, Result) else side for side in (human, judge)]
    are_named = all(isinstance(side, Mapping) and side for side in sides)
    if not are_named or sides[0].keys() != sides[1].keys():
        found = [str(list(s)) if isinstance(s, Mapping) else repr(s)[:40] for s in sides]
        raise ParameterError(
            "human and judge have one result per system, under the same names",
            found=" and ".join(found),
        )
    results = [(name, result) for side in sides for name, result in side.items()]
    wrong = [f"{name!r}: {type(r).__name__}" for name, r in results if not isinstance(r, Result)]
    if wrong:
        raise ParameterError(
            f"human and judge are results of {call('evaluate')}", found=", ".join(wrong)
        )
    return dict(sides[0]), dict(sides[1])


def _check_keeps_all_users(result: Result, name: str) -> None:
    """Raise if users without a relevant item are left out, because their labels decide that."""
    counts = result.counts
    dropped = counts.get("truth_users_without_relevant_items", 0)
    dropped -= counts.get("users_without_relevant_items", 0)
    if dropped > 0:
        raise InputError(
            "labels decide who is evaluated, so that the labelled users are no random sample",
            where=name,
            found=f"{dropped:,} users without a relevant item are left out",
            hint=_BOTH,
        )


def _check_has_labels_of_judge(human: Result, judge: Result, name: str) -> None:
    """Raise if the judge did not label every unit that has human labels."""
    absent = human.units.join(judge.units, on="user", how="anti")["user"]
    if absent.is_empty():
        return
    unit = judge.sampling_unit
    example = repr(absent[0])
    if unit.is_of_requests:
        example = f"a request of {users_of_requests(absent)[0]!r}"
    raise InputError(
        f"the judge has to label every {unit.row} with human labels as well",
        where=name,
        found=f"no labels of the judge for {len(absent):,} of {len(human.units):,}, such as "
        f"{example}",
    )


def _check_whole_users(human: Result, judge: Result, name: str) -> None:
    """Raise if only part of a user's requests have human labels, because users are the sample."""
    if not human.has_requests:
        return
    unlabelled = judge.per_user.join(
        human.per_user, on=["user", REQUEST], how="anti", nulls_equal=True
    )
    partly = unlabelled.join(human.per_user, on="user", how="semi")
    if len(partly):
        user, request = partly.select("user", REQUEST).row(0)
        raise InputError(
            "users are the sample, and some of their requests have no human labels",
            where=name,
            found=f"{partly['user'].n_unique():,} such users: user {user!r}, request {request!r}",
            hint=f"label all requests of a labelled user, or evaluate both with "
            f"{parameter('mean_over', 'users')}",
        )


def _metrics(pairs: Mapping[str, tuple[Result, Result]]) -> tuple[list[str], dict[str, str]]:
    """Return the metrics that can be estimated, and the reason for each excluded metric."""
    results = [result for pair in pairs.values() for result in pair]
    cells: list[str] = []
    left_out: dict[str, str] = {}
    for cell in dict.fromkeys(cell for result in results for cell in result.values):
        if not all(cell in result.values for result in results):
            left_out[cell] = "it is not in all results"
        elif not all(
            cell in result.units.columns and result.kinds.get(cell) == "mean" for result in results
        ):
            left_out[cell] = "it is not an unweighted mean over users"
        elif missing := max(int(result.units[cell].is_nan().sum()) for result in results):
            rows = results[0].sampling_unit.rows
            left_out[cell] = f"{missing:,} {rows} have no value, depending on their labels"
        else:
            cells.append(cell)
    if not cells:
        found = "; ".join(f"{cell}: {why}" for cell, why in left_out.items())
        raise MetricError("no metric can be estimated", found=found, hint=_BOTH)
    return cells, left_out


@dataclass(frozen=True, eq=False)
class _Labels:
    """Values of a metric by both kinds of labels, of users or of their requests, in order of id.

    Attributes
    ----------
    human, judge : array, shape (n,)
        Those of labelled users, by human and by the judge's labels.
    others : array, shape (N,)
        Those of all other users, by the judge's labels.
    users : array, shape (n,) and (N,), or None
        The user of each request that has labels, and of each other one; None if every value is of
        another user.
    """

    human: Floats
    judge: Floats
    others: Floats
    users: tuple[Any, Any] | None

    @classmethod
    def of(cls, human: Result, judge: Result, cell: str) -> _Labels:
        """Return the values of one system."""
        user = group_column("user")
        of_user = [user] if judge.has_requests else []
        rows = judge.units.select("user", *of_user, judge=cell).join(
            human.units.select("user", human=cell), on="user", how="left", maintain_order="left"
        )
        labelled = rows.filter(pl.col("human").is_not_null())
        others = rows.filter(pl.col("human").is_null())
        users = (labelled[user].to_numpy(), others[user].to_numpy()) if of_user else None
        values = (
            np.asarray(column) for column in (labelled["human"], labelled["judge"], others["judge"])
        )
        return cls(next(values), next(values), next(values), users)

    def minus(self, baseline: _Labels) -> _Labels:
        """Return the differences from another system on the same users."""
        return replace(
            self,
            human=self.human - baseline.human,
            judge=self.judge - baseline.judge,
            others=self.others - baseline.others,
        )


def _row(
    baseline: str | None,
    system: str,
    cell: str,
    labels: _Labels,
    bounds: tuple[float, float],
    confidence: float,
) -> dict[str, Any]:
    cluster, other_cluster = (None, None) if labels.users is None else labels.users
    interval: PredictionPowered = prediction_powered(
        labels.human,
        labels.judge,
        labels.others,
        confidence=confidence,
        bounds=bounds if math.isfinite(bounds[1] - bounds[0]) else None,
        cluster=cluster,
        other_cluster=other_cluster,
    )
    return {
        "baseline": baseline,
        "system": system,
        "metric": cell,
        "value": interval.estimate,
        "low": interval.low,
        "high": interval.high,
        "human": interval.human,
        "judge": interval.model,
        "weight": interval.weight,
        "labelled": interval.n,
        "others": len(labels.others if other_cluster is None else np.unique(other_cluster)),
        "as_good_as": interval.equivalent,
        "flags": list(interval.flags),
    }
