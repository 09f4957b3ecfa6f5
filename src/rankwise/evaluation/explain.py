"""`explain`: why two conventions give different values for the same lists, choice by choice."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, Unpack

import numpy as np
import polars as pl

from rankwise.convention.convention import Convention
from rankwise.core.terminal import TableDisplay, TableView, format_number, json_safe, signed
from rankwise.errors import ParameterError, RankwiseError
from rankwise.evaluation.across_conventions import Definition
from rankwise.evaluation.evaluate import read_inputs
from rankwise.evaluation.settings import TableOptions, table_options
from rankwise.metrics.base import one_by_one, show_value
from rankwise.results.result import Result
from rankwise.tables.table import Tables

SCHEMA: dict[str, Any] = {
    "choice": pl.String,
    "first": pl.String,
    "second": pl.String,
    "effect": pl.Float64,
    "value": pl.Float64,
    "users": pl.Int64,
}
_BAR = 20
"""The characters of the longest bar."""


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(TableDisplay):
    """The result of `rankwise.explain`: why a metric differs between two conventions.

    Attributes
    ----------
    metric : str
        The metric as it was requested.
    conventions : tuple of str
        The names of both conventions.
    definitions : tuple of str
        The definition of the metric under each convention, as a metric of rankwise.
    first, second : float
        The values under both conventions.
    choices : polars.DataFrame
        One row per choice that differs, the largest effect first: ``choice``, its value under the
        ``first`` and the ``second`` convention, the ``effect`` of switching it (its Shapley value;
        effects add up to the difference), the ``value`` after this and all choices above it are
        switched, and the number of ``users`` whose value changes when only this choice is switched,
        in either convention (null for metrics without per-user values).
    users : polars.DataFrame
        One row per user: ``user``, the value under ``first`` and ``second`` (null if the user is
        not evaluated), and the ``contribution`` to the difference, the largest first. Contributions
        add up to the difference of means and sums over users; for other values they are null.
        Empty for metrics without per-user values.
    remarks : tuple of str, default=()
        Behaviour of the libraries that their conventions do not reproduce.
    """

    metric: str
    conventions: tuple[str, str]
    definitions: tuple[str, str]
    first: float
    second: float
    choices: pl.DataFrame
    users: pl.DataFrame
    remarks: tuple[str, ...] = ()
    csv_table = "choices"

    @property
    def difference(self) -> float:
        """The second value minus the first."""
        return self.second - self.first

    @property
    def views(self) -> list[TableView]:
        """The choices that move the value, in the order in which they are switched."""
        first, second = self.conventions
        head = ("choice", first, second, "effect", "value", "users", "")
        largest = max((abs(effect) for effect in self.choices["effect"]), default=0.0)
        rows = [(f"under {first}", "", "", "", format_number(self.first), "", "")]
        rows += [
            (
                row["choice"],
                row["first"],
                row["second"],
                signed(row["effect"], 4),
                format_number(row["value"]),
                "" if row["users"] is None else f"{row['users']:,}",
                _bar(row["effect"], largest),
            )
            for row in self.choices.to_dicts()
            if row["effect"] or row["users"]
        ]
        rows.append((f"under {second}", "", "", "", format_number(self.second), "", ""))
        idle = [
            row["choice"] for row in self.choices.to_dicts() if not (row["effect"] or row["users"])
        ]
        notes = [f"{first}: {self.definitions[0]}; {second}: {self.definitions[1]}"]
        if idle:
            notes.append(f"differ, and move nothing here: {', '.join(idle)}")
        notes += [*self._carriers(), *(f"not reproduced: {one}" for one in self.remarks)]
        return [
            TableView(
                head,
                rows,
                notes=notes,
                left=(0, 1, 2, 6),
                title=self.metric,
                label="rankwise-explanation",
            )
        ]

    def _carriers(self) -> list[str]:
        """Return which users carry the difference."""
        if self.users.is_empty() or "contribution" not in self.users.columns:
            return []
        moved = self.users.filter(pl.col("contribution").abs() > 0)
        if moved.is_empty():
            return []
        named = [
            f"{row['user']} ({_value(row['first'])} to {_value(row['second'])})"
            for row in moved.head(3).to_dicts()
        ]
        who = "1 user carries" if len(moved) == 1 else f"{len(moved):,} users carry"
        return [f"{who} the difference; most of it: {', '.join(named)}"]

    def to_dict(self) -> dict[str, Any]:
        """Return everything except the table of users as plain values, ready for JSON."""
        data: dict[str, Any] = json_safe(
            {
                "metric": self.metric,
                "conventions": list(self.conventions),
                "definitions": list(self.definitions),
                "first": self.first,
                "second": self.second,
                "choices": self.choices.to_dicts(),
                "remarks": list(self.remarks),
            }
        )
        return data


def _bar(effect: float, largest: float) -> str:
    """Return a bar as long as an effect is large, with its sign."""
    if not largest:
        return ""
    return ("+" if effect > 0 else "-") * max(1, round(_BAR * abs(effect) / largest))


def _value(value: float | None) -> str:
    return "not averaged" if value is None else format_number(value)


_EXACT = 8
"""Choices that are mixed in all combinations: 2^8 evaluations."""
_ORDERS = 64
"""Orders that are drawn where there are more choices, each of them also turned round."""


def explain(
    recommendations: Any,
    truth: Any,
    metric: str,
    first: str | Convention,
    second: str | Convention,
    *,
    train: Any = None,
    items: Any = None,
    users: Any = None,
    reference: Any = None,
    **options: Unpack[TableOptions],
) -> Explanation:
    """Explain why a metric has different values under two conventions, choice by choice.

    The metric is evaluated under both conventions, and under mixtures that take some choices from
    the first and some from the second. The effect of a choice is its Shapley value: the mean change
    of the metric when this choice is switched, over all orders of switching the choices. Effects
    add up to the difference; interactions are shared equally.

    Choices that change no user's value when they are switched alone, in either convention, are
    listed with an effect of 0 and are not part of the mixtures. With more than eight other choices
    a sample of the orders is drawn, with a fixed seed.

    Parameters
    ----------
    recommendations, truth : table, path, mapping, array or sparse matrix
        The lists and the ground truth, as in `rankwise.evaluate`.
    metric : str
        One metric at one cut-off, by a name that both conventions have: ``"ndcg@10"``.
    first, second : str or Convention
        Names from `rankwise.conventions`, or conventions of your own; ``"default"`` is rankwise's.
    train, items, users, reference : table or path, optional
        As in `rankwise.evaluate`.
    relevance_threshold, columns, threads : optional
        As in `rankwise.evaluate`, under both conventions.

    Returns
    -------
    Explanation
        ``first`` and ``second`` are the values under both conventions; the table ``choices`` has
        one row per choice in which they differ, with its effect.

    Raises
    ------
    MetricError
        If a convention does not have the metric.
    ParameterError
        If more than one value is requested, or the choices of the conventions cannot be combined.

    See Also
    --------
    across_conventions : Evaluate metrics under many conventions.
    conventions : The built-in conventions.

    References
    ----------
    Shapley 1953, A Value for n-Person Games, Contributions to the Theory of Games II.

    Examples
    --------
    >>> import rankwise as rw
    >>> lists = {"ann": [("a", 3.0), ("b", 2.0)], "bob": [("c", 1.0)]}
    >>> truth = {"ann": {"b"}, "bob": {"d"}, "cem": {"a"}}
    >>> explanation = rw.explain(lists, truth, "mrr@2", "default", "trec_eval")
    >>> explanation.first, explanation.second
    (0.16667, 0.25)
    >>> explanation.choices.select("choice", "effect").row(0)
    ('population', 0.08333)
    """
    one_by_one([metric])  # raises unless it is text
    conventions = [Convention.resolve(one) for one in (first, second)]
    columns = table_options(options)
    definitions = [
        Definition.from_name(metric, one, columns.get("relevance_threshold")) for one in conventions
    ]
    for one in definitions:
        if len(one.metric.cells) > 1:
            raise ParameterError("explain takes one metric at one cut-off", found=metric)
    sources = {"train": train, "items": items, "users": users, "reference": reference}
    settings = definitions[0].settings(columns)
    tables = read_inputs(
        settings,
        recommendations=recommendations,
        truth=truth,
        required=("recommendations",),
        **sources,
    )
    mixtures = _Mixtures(definitions[0], definitions[1], tables, columns)
    names = tuple("default" if one is None else one.name for one in conventions)
    ends = [*zip(names, conventions, definitions, strict=True)]
    remarks = [
        f"{name}: {note}"
        for name, one, definition in ends
        if one is not None and (note := one.entry(definition.metric).note)
    ]
    remarks += [
        f"{name}: the library has no such metric; this is rankwise's own {choices}"
        for name, one, definition in ends
        if one is not None
        for choices in one.own_definitions([definition.metric]).values()
    ]
    return replace(_explained(metric, (names[0], names[1]), mixtures), remarks=tuple(remarks))


@dataclass
class _Mixtures:
    """Evaluations of mixtures of two definitions, each made once."""

    first: Definition
    second: Definition
    tables: Tables
    options: dict[str, Any]
    _values: dict[frozenset[str], float] = field(default_factory=dict)

    def result(self, names: Collection[str]) -> Result:
        """Evaluate the first definition with these choices of the second one."""
        mixture = self.first.with_choices_of(self.second, names)
        try:
            return mixture.evaluate(self.tables, self.options)
        except RankwiseError as error:
            if not names or len(names) == len(self.first.differences(self.second)):
                raise
            raise ParameterError(
                "choices of these conventions cannot be combined, so that their difference cannot "
                "be explained",
                found=f"{mixture.metric} with the second convention's {', '.join(sorted(names))}: "
                f"{error.what}",
            ) from error

    def value(self, names: Collection[str]) -> float:
        """Return the value under a mixture."""
        key = frozenset(names)
        if key not in self._values:
            self.keep(key, self.result(key))
        return self._values[key]

    def keep(self, names: Collection[str], result: Result) -> float:
        """Remember the value of a mixture that has been evaluated."""
        value = result.values[next(iter(result.values))]
        self._values[frozenset(names)] = value
        return value


def _explained(metric: str, names: tuple[str, str], mixtures: _Mixtures) -> Explanation:
    differences = mixtures.first.differences(mixtures.second)
    ends = mixtures.result(()), mixtures.result(differences)
    values = mixtures.keep((), ends[0]), mixtures.keep(differences, ends[1])
    users = [_user_values(result) for result in ends]
    touched: dict[str, int | None] = {}
    moving = []
    for name in differences:
        changed = mixtures.result((name,)), mixtures.result(differences.keys() - {name})
        before = mixtures.value(()), mixtures.value(differences)
        after = (
            mixtures.keep((name,), changed[0]),
            mixtures.keep(differences.keys() - {name}, changed[1]),
        )
        touched[name] = _changed(users, [_user_values(result) for result in changed])
        if touched[name] or any(not _same(*pair) for pair in zip(before, after, strict=True)):
            moving.append(name)
    idle = differences.keys() - set(moving)
    effects = dict.fromkeys(idle, 0.0) | _shapley(moving, mixtures, idle)
    order = sorted(differences, key=lambda name: -abs(effects[name]))
    rows, reached = [], values[0]
    for name in order:
        reached += effects[name]
        old, new = differences[name]
        rows.append(
            {
                "choice": name,
                "first": show_value(old),
                "second": show_value(new),
                "effect": effects[name],
                "value": reached,
                "users": touched[name],
            }
        )
    return Explanation(
        metric=metric,
        conventions=names,
        first=values[0],
        second=values[1],
        definitions=(str(mixtures.first.metric), str(mixtures.second.metric)),
        choices=pl.DataFrame(rows, schema=SCHEMA),
        users=_contributions(ends),
    )


def _shapley(names: Sequence[str], mixtures: _Mixtures, idle: Collection[str]) -> dict[str, float]:
    """Return the Shapley value of each choice; choices without effect are always switched."""

    def value(names: Collection[str]) -> float:
        return mixtures.value({*names, *idle} if names else ())

    n = len(names)
    if n <= _EXACT:
        return {
            name: sum(
                (value((*some, name)) - value(some)) / (n * math.comb(n - 1, size))
                for size in range(n)
                for some in combinations([other for other in names if other != name], size)
            )
            for name in names
        }
    rng = np.random.default_rng(0)
    drawn = [list(rng.permutation(n)) for _ in range(_ORDERS)]
    orders = [order for one in drawn for order in (one, one[::-1])]
    total = dict.fromkeys(names, 0.0)
    for order in orders:
        some: list[str] = []
        for place in order:
            total[names[place]] += value((*some, names[place])) - value(some)
            some.append(names[place])
    return {name: moved / len(orders) for name, moved in total.items()}


def _user_values(result: Result) -> pl.DataFrame | None:
    """Return every user's value; None if the metric has none for single users."""
    cell = next(iter(result.values))
    if cell not in result.per_user.columns:
        return None
    return result.units.select(pl.col("user").cast(pl.String), value=cell)


def _changed(
    before: Sequence[pl.DataFrame | None], after: Sequence[pl.DataFrame | None]
) -> int | None:
    """Count the users whose value changes or exists on one side only; None without user values."""
    users = []
    for old, new in zip(before, after, strict=True):
        if old is None or new is None:
            return None
        both = old.join(new, on="user", how="full", coalesce=True).with_columns(
            pl.col("value", "value_right").fill_nan(None)
        )
        moved = (pl.col("value") - pl.col("value_right")).abs() > 1e-12
        other = pl.col("value").is_null() != pl.col("value_right").is_null()
        users.append(both.filter(moved.fill_null(value=False) | other)["user"])
    return pl.concat(users).n_unique()


def _same(first: float, second: float) -> bool:
    return first == second or (math.isnan(first) and math.isnan(second))


def _contributions(ends: tuple[Result, Result]) -> pl.DataFrame:
    """Return each user's contribution to the difference, the largest first."""
    first, second = (_user_values(result) for result in ends)
    if first is None or second is None:
        return pl.DataFrame(schema={"user": pl.String})
    both = first.rename({"value": "first"}).join(
        second.rename({"value": "second"}), on="user", how="full", coalesce=True
    )
    both = both.with_columns(pl.col("first", "second").fill_nan(None))
    kinds = {result.kinds[next(iter(result.values))] for result in ends}
    if kinds == {"sum"}:
        moved = pl.col("second").fill_null(0) - pl.col("first").fill_null(0)
        return _largest_first(both.with_columns(contribution=moved))
    if kinds != {"mean"}:  # a function of sums: no user has a share of it
        return both.with_columns(contribution=pl.lit(None, pl.Float64)).sort("user")
    share = (
        pl.col("second").fill_null(0) / pl.col("second").count()
        - pl.col("first").fill_null(0) / pl.col("first").count()
    )
    return _largest_first(both.with_columns(contribution=share))


def _largest_first(users: pl.DataFrame) -> pl.DataFrame:
    return users.sort(pl.col("contribution").abs(), "user", descending=[True, False])
