"""`judged`: values by few human labels and many labels of a model, such as a language model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from rankwise.comparison.alignment import check_choices, check_comparable, check_ids
from rankwise.core.arguments import Sampled, check_choice
from rankwise.core.terminal import TableDisplay, TableView, finite, level_text, number
from rankwise.errors import InputError, MetricError, ParameterError
from rankwise.results.result import Result
from rankwise.stats.differences import check_level
from rankwise.stats.prediction_powered import PredictionPowered, prediction_powered

__all__ = ["JudgedResult", "judged"]

Systems: TypeAlias = Mapping[str, Result]
_BOTH = 'evaluate both with population="judged", undefined="zero"'


@dataclass(frozen=True, eq=False, repr=False)
class JudgedResult(TableDisplay):
    """The result of `rankwise.judged`.

    Attributes
    ----------
    table : polars.DataFrame
        One row per system and metric, then one per difference from the first system (``baseline``): the
        corrected ``value`` with ``low`` and ``high``, ``human`` and ``judge`` alone, the ``weight`` of the
        judge's labels, the number of ``labelled`` and other users, how many labelled users would have been
        as good without a judge (``as_good_as``), and ``flags``.
    left_out : dict of str to str
        The metrics that are not estimated, and why.
    settings : dict
        The options.
    """

    table: pl.DataFrame
    left_out: dict[str, str]
    settings: dict[str, Any]

    @property
    def views(self) -> list[TableView]:
        """The table for readers."""
        rows = [
            (
                row["system"] if row["baseline"] is None else f"{row['system']} − {row['baseline']}",
                row["metric"],
                number(row["value"]),
                f"{number(row['low'])} to {number(row['high'])}",
                number(row["human"]),
                number(row["judge"]),
                f"{row['weight']:.2f}",
                number(row["as_good_as"] and float(round(row["as_good_as"]))),
            )
            for row in self.table.to_dicts()
        ]
        head = ("system", "metric", "corrected", "interval", "human alone", "judge alone", "weight", "as good as")
        sizes = self.table.row(0, named=True)
        share = f"{sizes['labelled']:,} labelled users, declared a random sample, and {sizes['others']:,} others"
        notes = [
            *self.settings.get("plans", ()),
            f"{share}; {level_text(self.settings['confidence'])} prediction-powered intervals of one row alone",
            "judge alone: biased by an unknown amount, so without an interval; as good as: that many labelled users",
            *self.table["flags"].explode().drop_nulls().unique(maintain_order=True),
            *(f"{metric} is left out: {why}" for metric, why in self.left_out.items()),
        ]
        return [TableView(head, rows, notes, left=(0, 1), title="Human and model labels.", label="rankwise-judged")]

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain values."""
        return {"settings": self.settings, "values": finite(self.table.to_dicts()), "left_out": self.left_out}


def judged(
    *, human: Result | Systems, judge: Result | Systems, sampled: Sampled | None = None, confidence: float = 0.95
) -> JudgedResult:
    """Estimate values from a few users with human labels and many with labels of a model.

    The judge's mean over all users is corrected by the mean of human minus judge over the labelled users
    (prediction-powered inference). Whatever the judge's errors, the estimate is that of human labels on all
    users; a better judge makes its interval narrower.

    Parameters
    ----------
    human, judge : Result, or mapping of str to Result
        The same lists evaluated with human labels of some users, and with the judge's labels of all of them.
        Of several systems by name, differences from the first are estimated as well.
    sampled : {"random"}, optional
        Declares that the labelled users are a random sample of all users; without it there is no estimate.
    confidence : float, default=0.95
        The confidence level.

    Returns
    -------
    JudgedResult

    Raises
    ------
    ParameterError
        If the labelled users are not declared to be a random sample, or the results do not go together.
    InputError
        If the judge has no labels of a labelled user, or labels decide which users are evaluated.

    See Also
    --------
    rankwise.stats.prediction_powered : The same for arrays.

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
    check_level("confidence", confidence)
    if sampled is None:
        raise ParameterError(
            "nothing says how the users with human labels were chosen",
            hint='pass sampled="random" if they are a random sample of all users; users that were chosen otherwise '
            "(the first, the active, the doubtful) allow no correction",
        )
    check_choice("sampled", sampled, Sampled)
    pairs = _paired(human, judge)
    cells, left_out = _metrics(pairs)
    rows = []
    (first, _), *rest = pairs.items()
    for cell in cells:
        values = {name: _values(*pair, cell) for name, pair in pairs.items()}
        rows += [_row(None, name, cell, arrays, confidence) for name, arrays in values.items()]
        for name, _ in rest:
            differences = [a - b for a, b in zip(values[name], values[first], strict=True)]
            rows.append(_row(first, name, cell, differences, confidence))
    table = pl.DataFrame(rows, schema_overrides={"baseline": pl.String, "flags": pl.List(pl.String)})
    return JudgedResult(table, left_out, {"sampled": sampled, "confidence": float(confidence)})


def _paired(human: Any, judge: Any) -> dict[str, tuple[Result, Result]]:
    """Return the two results of each system, checked to go together."""
    sides = [{"result": side} if isinstance(side, Result) else side for side in (human, judge)]
    if not all(isinstance(side, Mapping) and side for side in sides) or sides[0].keys() != sides[1].keys():
        raise ParameterError(
            "human and judge have one result per system, under the same names",
            found=" and ".join(str(list(side)) if isinstance(side, Mapping) else repr(side)[:40] for side in sides),
        )
    wrong = [f"{name!r}: {type(r).__name__}" for side in sides for name, r in side.items() if not isinstance(r, Result)]
    if wrong:
        raise ParameterError("human and judge are results of rankwise.evaluate", found=", ".join(wrong))
    named = {
        f"{name} by {who}": r for who, side in zip(("human", "judge"), sides, strict=True) for name, r in side.items()
    }
    check_ids(named)
    check_choices(named)
    for side in sides:
        check_comparable(side)
    for name, result in named.items():
        counts = result.counts
        dropped = counts.get("truth_users_without_relevant_items", 0) - counts.get("users_without_relevant_items", 0)
        if dropped > 0:
            raise InputError(
                "labels decide who is evaluated, so that the labelled users are no random sample",
                where=name,
                found=f"{dropped:,} users without a relevant item are left out",
                hint=_BOTH,
            )
    pairs = {name: (result, sides[1][name]) for name, result in sides[0].items()}
    for name, (some, every) in pairs.items():
        absent = some.units.join(every.units, on="user", how="anti")["user"]
        if len(absent):
            raise InputError(
                "the judge has to label every user with human labels as well",
                where=name,
                found=f"no labels of the judge for {len(absent):,} of {len(some.per_user):,}, such as {absent[0]!r}",
            )
    return pairs


def _metrics(pairs: Mapping[str, tuple[Result, Result]]) -> tuple[list[str], dict[str, str]]:
    """Return the metrics that are estimated, and why others are not."""
    results = [result for pair in pairs.values() for result in pair]
    cells: list[str] = []
    left_out: dict[str, str] = {}
    for cell in dict.fromkeys(cell for result in results for cell in result.values):
        if not all(cell in result.values for result in results):
            left_out[cell] = "it is not in all results"
        elif not all(cell in result.per_user.columns and result.kinds.get(cell) == "mean" for result in results):
            left_out[cell] = "it is not an unweighted mean over users"
        elif missing := max(int(result.per_user[cell].is_nan().sum()) for result in results):
            left_out[cell] = f"{missing:,} users have no value, depending on their labels"
        else:
            cells.append(cell)
    if not cells:
        found = "; ".join(f"{cell}: {why}" for cell, why in left_out.items())
        raise MetricError("no metric can be estimated", found=found, hint=_BOTH)
    return cells, left_out


def _values(human: Result, judge: Result, cell: str) -> list[Any]:
    """Return human and judge values of labelled users, and the judge's of all others, in order of id."""
    users = judge.units.select("user", judge=cell).join(
        human.units.select("user", human=cell), on="user", how="left", maintain_order="left"
    )
    labelled = users.filter(pl.col("human").is_not_null())
    others = users.filter(pl.col("human").is_null())
    return [np.asarray(values) for values in (labelled["human"], labelled["judge"], others["judge"])]


def _row(baseline: str | None, system: str, cell: str, arrays: list[Any], confidence: float) -> dict[str, Any]:
    interval: PredictionPowered = prediction_powered(*arrays, confidence=confidence)
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
        "others": len(arrays[2]),
        "as_good_as": interval.equivalent,
        "flags": list(interval.flags),
    }
