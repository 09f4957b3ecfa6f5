"""Values of many definitions on the same tables, from as few evaluations as possible.

Users' values depend on how lists are read: which item comes first among equal scores, which rows
are relevant. Whom a mean is taken over changes no user's value, so that definitions that read lists
in the same way share one evaluation. The order of tied items matters for users who have ties alone:
everybody else is evaluated once for all orders.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from rankwise.core.arrays import Array
from rankwise.core.exact_total import ExactTotal
from rankwise.core.user_rules import UserRule, members
from rankwise.errors import EmptyError, UsageError
from rankwise.evaluation.definition import CHOICE_NAMES, Definition, evaluated
from rankwise.evaluation.evaluate import without_truth
from rankwise.evaluation.plan import Plan
from rankwise.evaluation.settings import Settings
from rankwise.evaluation.work import prepare
from rankwise.measures.kinds import PerUser
from rankwise.measures.measure import Measure
from rankwise.results.result import Result
from rankwise.tables.table import Table, Tables

__all__ = ["Outcome", "SharedEvaluations"]

_OF_USERS = CHOICE_NAMES[:3]
"""The choices that say who is averaged over: they do not touch the values of users."""
_ORDER = {"ties": None, "order_by": "rank"}
"""The choices that order tied items, at values that stand for any where there are no ties."""


@dataclass(frozen=True)
class Outcome:
    """The value of a definition and the number of users averaged over, or why there is none."""

    value: float | None = None
    users: int | None = None
    why: str | None = None


@dataclass(frozen=True)
class _Users:
    """Some users under one reading: who they are, and their values by measure."""

    n_relevant: Array
    list_length: Array
    judged: Array
    """Whether each user has rows in the ground truth."""
    alone: int
    """Users who have rows in the ground truth, nothing relevant and no list; not among these."""
    values: Mapping[str, Array]


@dataclass(frozen=True)
class _Part:
    """Some of the users; ``tied`` says whether the order of tied items matters to them.

    ``others`` have lists in the tables, and are evaluated with another part.
    """

    tables: Tables
    tied: bool
    others: pl.Series | None = None

    @cached_property
    def has_grade_0(self) -> bool:
        """Whether some row of the ground truth is relevant only where any row is."""
        truth = self.tables.truth
        if truth is None or "relevance" not in truth.frame.columns:
            return False
        return bool((truth.frame["relevance"] <= 0).any())

    @cached_property
    def judged(self) -> pl.Series | None:
        """The users who have rows in the ground truth."""
        truth = self.tables.truth
        if truth is None:
            return None
        users = truth.frame["user"].unique()
        if self.others is None:
            return users
        return users.filter(~users.is_in(self.others.cast(users.dtype).implode()))


@dataclass(frozen=True)
class SharedEvaluations:
    """Evaluations of the same tables that many definitions share."""

    tables: Tables
    options: Mapping[str, Any]

    def outcomes(self, wanted: Mapping[int, Definition]) -> dict[int, Outcome]:
        """Return the outcome of every definition."""
        wanted, refused = self._computable(wanted)
        of_users = {place: one for place, one in wanted.items() if _is_mean(one.measure)}
        # The catalogue may be every item seen, and a part of the users has not seen them all.
        whole = {place: one for place, one in of_users.items()
                 if Plan((one.measure,)).needs_catalogue}  # fmt: skip
        rest = {place: one for place, one in of_users.items() if place not in whole}
        others = {place: one for place, one in wanted.items() if place not in of_users}
        everybody = [_Part(self.tables, tied=True)]
        return (
            self._means(rest, self._parts) | self._means(whole, everybody)
            | self._others(others) | refused
        )  # fmt: skip

    @cached_property
    def _tied_users(self) -> pl.Series:
        """The users to whom the order of tied items matters, or whether ranks or scores decide."""
        assert self.tables.recommendations is not None
        return _users_with_ties(self.tables.recommendations.frame)

    @cached_property
    def _parts(self) -> list[_Part]:
        """The users with ties and those without, apart where both have lists."""
        tied, lists = self._tied_users, self.tables.recommendations
        assert lists is not None
        if tied.is_empty():
            return [_Part(self.tables, tied=False)]
        among = pl.col("user").is_in(tied.implode())
        if lists.frame.select(among.all()).item():
            return [_Part(self.tables, tied=True)]
        return [
            _Part(self.tables, tied=False, others=tied),
            _Part(_filtered(self.tables, among), tied=True),
        ]

    def _reading(self, definition: Definition, part: _Part) -> tuple[Any, ...]:
        """Return what of a definition changes these users' values: definitions share the rest."""
        chosen = dict(zip(CHOICE_NAMES, definition.choices, strict=True))
        for name in _OF_USERS:
            del chosen[name]
        if not part.has_grade_0 or self.options.get("relevance_threshold") is not None:
            chosen["relevance"] = "positive"
        plan = Plan((definition.measure,))
        if not plan.needs_catalogue:
            chosen["catalogue"] = "items"
        if not part.tied:
            chosen |= _ORDER
        lists = part.tables.recommendations
        assert lists is not None
        if "rank" not in lists.frame.columns:
            chosen["order_by"] = "rank"
        by_id = chosen["ties"] != "input" and part.tied  # of described lists under every other rule
        if not self._mixed_ids and (not by_id or lists.frame.schema["item"] == pl.String):
            chosen["ids"] = "typed"
        precise = "scores" in {need for leaf in plan.leaves for need in leaf.inputs}
        if not precise and (not part.tied or not self._ties_in_32_bits):
            chosen["score_precision"] = "float64"
        return tuple(chosen.values())

    @cached_property
    def _mixed_ids(self) -> bool:
        """Whether ids are text in one table and numbers in another."""
        frames = [table.frame for table in self.tables.by_role.values()]
        return any(
            len({f.schema[column] == pl.String for f in frames if column in f.columns}) > 1
            for column in ("user", "item")
        )

    @cached_property
    def _ties_in_32_bits(self) -> bool:
        """Whether some scores tie in 32 bits alone."""
        tied = [part.tables.recommendations for part in self._parts if part.tied]
        if not tied or tied[0] is None or "score" not in tied[0].frame.columns:
            return False
        rows = tied[0].frame.select("user", "score")
        if (rows["score"] == rows["score"].cast(pl.Float32).cast(pl.Float64)).all():
            return False
        return rows.n_unique() > rows.cast({"score": pl.Float32}).n_unique()

    def _means(
        self, wanted: Mapping[int, Definition], parts: Sequence[_Part]
    ) -> dict[int, Outcome]:
        """Return means of users' values."""
        found: dict[int, list[_Users]] = {place: [] for place in wanted}
        for part in parts:
            readings: dict[tuple[Any, ...], dict[int, Definition]] = {}
            for place, one in wanted.items():
                readings.setdefault(self._reading(one, part), {})[place] = one
            for some in readings.values():
                users = self._users(part, list(some.values()))
                for place in some:
                    found[place].append(users)
        return {place: _mean(wanted[place], users) for place, users in found.items()}

    def _computable(
        self, wanted: Mapping[int, Definition]
    ) -> tuple[dict[int, Definition], dict[int, Outcome]]:
        """Return the definitions that the tables are enough for, and why not for the others."""
        fit: dict[int, Definition] = {}
        reasons: dict[int, Outcome] = {}
        known: dict[Definition, str | None] = {}
        for place, one in wanted.items():
            if one not in known:
                known[one] = _why_not(one.settings(self.options), self.tables)
            reason = known[one]
            if reason is None:
                fit[place] = one
            else:
                reasons[place] = Outcome(why=reason)
        return fit, reasons

    def _users(self, part: _Part, definitions: Sequence[Definition]) -> _Users:
        """Evaluate definitions with one reading, for everybody who has a list or anything relevant.

        Users to whom a measure does not apply get no value: what they count is decided afterwards.
        """
        measures = {str(one.measure): one.measure for one in definitions}
        raw = replace(
            definitions[0], choices=("all", "nan", "skip", *self._reading(definitions[0], part))
        ).settings(self.options)
        result = evaluated(replace(raw, measures=tuple(measures.values())), part.tables)
        users = result.per_user
        if part.others is not None:
            others = part.others.cast(users.schema["user"])
            users = users.filter(~pl.col("user").is_in(others.implode()))
        judged = np.zeros(len(users), dtype=bool)
        if part.judged is not None:
            ids = part.judged.cast(users.schema["user"])
            judged = users["user"].is_in(ids.implode()).to_numpy()
        return _Users(
            n_relevant=users["n_relevant"].to_numpy(), list_length=users["list_length"].to_numpy(),
            judged=judged,
            alone=0 if part.judged is None else len(part.judged) - int(judged.sum()),
            values={text: users[measure.cells[0]].to_numpy() for text, measure in measures.items()},
        )  # fmt: skip

    def _others(self, wanted: Mapping[int, Definition]) -> dict[int, Outcome]:
        """Return what is no plain mean of users: one evaluation for each way of choosing."""
        choices: dict[tuple[Any, ...], dict[int, Definition]] = {}
        everybody = _Part(self.tables, tied=not self._tied_users.is_empty())
        for place, one in wanted.items():
            key = (*one.choices[: len(_OF_USERS)], *self._reading(one, everybody))
            choices.setdefault(key, {})[place] = one
        out: dict[int, Outcome] = {}
        for some in choices.values():
            measures = {str(one.measure): one.measure for one in some.values()}
            settings = next(iter(some.values())).settings(self.options)
            try:
                result = evaluated(
                    replace(settings, measures=tuple(measures.values())), self.tables
                )
            except (UsageError, EmptyError) as error:
                out |= dict.fromkeys(some, Outcome(why=error.what))
                continue
            out |= {place: _outcome(result, one.measure) for place, one in some.items()}
        return out


def _why_not(settings: Settings, tables: Tables) -> str | None:
    """Return what a measure lacks in these tables; None if they are enough."""
    try:
        settings = settings if tables.truth else without_truth(settings)
        prepare(settings, replace(tables, recommendations=None))
    except UsageError as error:
        return error.what
    return None


def _outcome(result: Result, measure: Measure) -> Outcome:
    cell, users = measure.cells[0], None
    if cell in result.per_user.columns:
        users = int(result.per_user[cell].is_not_nan().sum())
    return Outcome(result.values.get(cell), users)


def _is_mean(measure: Measure) -> bool:
    """Whether a value is the mean of values of users who have a list, or something relevant."""
    is_mean = isinstance(measure, PerUser) and measure.aggregate == "mean"
    return is_mean and getattr(measure, "defined_for", "user") != "user"


def _filtered(tables: Tables, users: pl.Expr) -> Tables:
    """Return lists and ground truth of some users; what is known of them stays."""

    def of(table: Table) -> Table:
        return table.with_frame(table.frame.filter(users))

    changed: dict[str, Any] = {
        role: of(table) for role in ("recommendations", "truth")
        if (table := getattr(tables, role)) is not None
    }  # fmt: skip
    return replace(tables, **changed)


def _users_with_ties(lists: pl.DataFrame) -> pl.Series:
    """Return the users with equal scores, also in 32 bits, or whose scores and ranks disagree."""
    if "score" not in lists.columns:
        return lists["user"].clear()
    score = lists["score"].cast(pl.Float32).to_numpy()
    user = lists["user"]
    same = (user == user.shift(1)).fill_null(value=False).to_numpy()
    equal, rises = np.zeros(len(score), dtype=bool), np.zeros(len(score), dtype=bool)
    equal[1:], rises[1:] = score[1:] == score[:-1], score[1:] > score[:-1]
    if "rank" in lists.columns:
        rank = lists["rank"].to_numpy()
        rises[1:] |= rank[1:] < rank[:-1]
    tied = user.filter(pl.Series(same & equal)).unique()
    in_doubt = user.filter(pl.Series(same & rises)).unique()  # rows in another order
    heads = user.filter(pl.Series(~same))
    if heads.n_unique() < len(heads):  # rows of some users stand apart
        in_doubt = pl.concat([in_doubt, heads.filter(heads.is_duplicated())]).unique()
    if in_doubt.is_empty():
        return tied
    rows = lists.filter(pl.col("user").is_in(in_doubt.implode()))
    rows = rows.with_columns(pl.col("score").cast(pl.Float32))
    found = [tied, rows.filter(pl.struct("user", "score").is_duplicated())["user"]]
    if "rank" in rows.columns:
        ordered = rows.sort("user", "rank")
        above = pl.col("user") == pl.col("user").shift()
        found.append(ordered.filter(above & (pl.col("score") > pl.col("score").shift()))["user"])
    return pl.concat(found).unique()


def _mean(definition: Definition, parts: Sequence[_Users]) -> Outcome:
    """Return the mean of users' values by the rule of a definition."""
    measure = definition.measure
    assert isinstance(measure, PerUser)
    rule = UserRule(*definition.choices[: len(_OF_USERS)])
    of_relevance = measure.defined_for == "relevance"
    filled = (rule.undefined if of_relevance else rule.without_list) == "zero"
    total, n = ExactTotal(), 0
    unknown = rule.undefined == "nan" and of_relevance and rule.counts_irrelevant
    for users in parts:
        values = users.values[str(measure)]
        if filled:
            nothing = users.n_relevant == 0 if of_relevance else users.list_length == 0
            values = np.where(nothing, 0.0, values)
        inside = members(rule.population, users.n_relevant > 0, users.list_length > 0, users.judged)
        if unknown and ((users.n_relevant == 0) & inside).any():
            n_defined = sum(int((~np.isnan(one.values[str(measure)])).sum()) for one in parts)
            return Outcome(math.nan, n_defined)
        values = values[inside & ~np.isnan(values)]
        total, n = total + ExactTotal.of(values), n + len(values)
        if rule.population == "judged" and users.alone:
            if unknown:
                return Outcome(math.nan, n)
            n += users.alone if filled else 0
    return Outcome(total.value / n if n else math.nan, n)
