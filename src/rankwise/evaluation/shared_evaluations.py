"""Values of many definitions on the same tables, from as few evaluations as possible.

Users' values depend on how lists are read: which item comes first among equal scores, which rows
are relevant. Whom a mean is taken over changes no user's value, so that definitions that read lists
in the same way share one evaluation. The order of tied items matters for users who have ties alone:
everybody else is evaluated once for all orders.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from rankwise.core.user_rules import UserRule, UserRules
from rankwise.errors import EmptyError, UsageError
from rankwise.evaluation.definition import CHOICE_NAMES, Definition, evaluated
from rankwise.evaluation.evaluate import without_truth
from rankwise.evaluation.plan import Plan
from rankwise.evaluation.settings import Settings
from rankwise.evaluation.tied_users import users_with_ties
from rankwise.evaluation.totals import UserColumns
from rankwise.evaluation.users_of_reading import UsersOfReading, is_of_users, value_and_users
from rankwise.evaluation.work import Job, prepare
from rankwise.evaluation.work_together import work_together
from rankwise.measures.measure import Measure
from rankwise.results.result import Result
from rankwise.tables.table import Table, Tables

__all__ = ["Outcome", "SharedEvaluations"]

_OF_USERS = CHOICE_NAMES[:3]
"""The choices that say who is averaged over: they do not touch the values of users."""
_RAW = UserRule("all", "nan", "skip")
"""Everybody is evaluated, and has no value where a measure does not apply."""
_ORDER = {"ties": None, "order_by": "rank"}
"""The choices that order tied items, at arbitrary values for lists without ties."""


@dataclass(frozen=True)
class Outcome:
    """The value of a definition and the number of users averaged over, or why there is none."""

    value: float | None = None
    users: int | None = None
    why: str | None = None


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
        of_users = {place: one for place, one in wanted.items() if is_of_users(one.measure)}
        # The catalogue may be every item seen, and a part of the users has not seen them all.
        whole = {place: one for place, one in of_users.items() if Plan((one.measure,)).needs_catalogue}
        rest = {place: one for place, one in of_users.items() if place not in whole}
        others = {place: one for place, one in wanted.items() if place not in of_users}
        everybody = [_Part(self.tables, tied=True)]
        return self._of_users(rest, self._parts) | self._of_users(whole, everybody) | self._others(others) | refused

    @cached_property
    def _tied_users(self) -> pl.Series:
        """The users to whom the order of tied items matters, or whether ranks or scores decide."""
        assert self.tables.recommendations is not None
        return users_with_ties(self.tables.recommendations.frame)

    @cached_property
    def _parts(self) -> list[_Part]:
        """The users with ties and the users without, separately if both have lists."""
        tied, lists = self._tied_users, self.tables.recommendations
        assert lists is not None
        if tied.is_empty():
            return [_Part(self.tables, tied=False)]
        some = _of_some_users(self.tables, tied)
        assert some.recommendations is not None
        if len(some.recommendations.frame) == len(lists.frame):
            return [_Part(self.tables, tied=True)]
        return [_Part(self.tables, tied=False, others=tied), _Part(some, tied=True)]

    def _reading(self, definition: Definition, part: _Part) -> tuple[Any, ...]:
        """Return the choices of a definition that affect these users' values."""
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

    def _of_users(self, wanted: Mapping[int, Definition], parts: Sequence[_Part]) -> dict[int, Outcome]:
        """Return means of users' values, and ratios of their sums."""
        found: dict[int, list[UsersOfReading]] = {place: [] for place in wanted}
        for part in parts:
            readings: dict[tuple[Any, ...], dict[int, Definition]] = {}
            for place, one in wanted.items():
                readings.setdefault(self._reading(one, part), {})[place] = one
            several = [self._raw(part, list(some.values())) for some in readings.values()]
            frames = _measured(several, part.tables)
            for some, frame in zip(readings.values(), frames, strict=True):
                users = _of_part(frame, part)
                for place in some:
                    found[place].append(users)
        return {place: self._outcome(wanted[place], users) for place, users in found.items()}

    def _outcome(self, definition: Definition, parts: Sequence[UsersOfReading]) -> Outcome:
        rule = UserRule(*definition.choices[: len(_OF_USERS)])
        if not any(users.has_list(rule.population) for users in parts):
            return Outcome(why="no evaluated user has a recommendation list")
        return Outcome(*value_and_users(definition.measure, rule, parts))

    def _computable(self, wanted: Mapping[int, Definition]) -> tuple[dict[int, Definition], dict[int, Outcome]]:
        """Return the definitions that the tables are enough for, and why not for the others."""
        fit: dict[int, Definition] = {}
        reasons: dict[int, Outcome] = {}
        known: dict[Any, str | None] = {}
        for place, one in wanted.items():
            chosen = dict(zip(CHOICE_NAMES, one.choices, strict=True))
            what = (one.measure @ (), chosen["population"], chosen["catalogue"])
            if what not in known:  # the other choices need nothing of the tables
                known[what] = _why_not(one.settings(self.options), self.tables)
            reason = known[what]
            if reason is None:
                fit[place] = one
            else:
                reasons[place] = Outcome(why=reason)
        return fit, reasons

    def _raw(self, part: _Part, definitions: Sequence[Definition]) -> Settings:
        """Return the settings of one evaluation for definitions with one reading.

        Everybody is evaluated who has a list or anything relevant. Users to whom a measure does not
        apply get no value: what they count is decided afterwards.
        """
        measures = {str(one.measure): one.measure for one in definitions}
        raw = replace(definitions[0], choices=(*astuple(_RAW), *self._reading(definitions[0], part))).settings(
            self.options
        )
        return replace(raw, measures=tuple(measures.values()))

    def _others(self, wanted: Mapping[int, Definition]) -> dict[int, Outcome]:
        """Return values that are not plain means over users: one evaluation per set of choices."""
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
                result = evaluated(replace(settings, measures=tuple(measures.values())), self.tables)
            except (UsageError, EmptyError) as error:
                out |= dict.fromkeys(some, Outcome(why=error.what))
                continue
            out |= {place: _outcome(result, one.measure) for place, one in some.items()}
        return out


def _why_not(settings: Settings, tables: Tables) -> str | None:
    """Return the input that a measure lacks in these tables; None if nothing is missing."""
    plan = Plan(settings.measures)
    asks = plan.facts or plan.item_sums or plan.needs_catalogue or settings.ranks == "keep"
    if tables.truth is not None and not asks:  # lists and ground truth are all that it reads
        return None
    try:
        settings = settings if tables.truth else without_truth(settings)
        prepare(settings, replace(tables, recommendations=None))
    except UsageError as error:
        return error.what
    return None


def _measured(several: Sequence[Settings], tables: Tables) -> list[pl.DataFrame]:
    """Return the columns of all users: values, and sums that are pooled at the end."""
    lists = tables.recommendations
    assert lists is not None
    reference = replace(tables, recommendations=None)
    alike: dict[Any, list[tuple[int, Job]]] = {}
    for at, settings in enumerate(several):
        settings = settings if tables.truth else without_truth(settings)
        job = prepare(replace(settings, exact=lists.is_exact), reference)
        key = at if lists.is_exact else (settings.readings, *job.encoder.reads_rows)
        alike.setdefault(key, []).append((at, job))
    found: dict[int, pl.DataFrame] = {}
    for some in alike.values():
        partials = work_together([job for _, job in some], lists)
        found |= {at: partial.users for (at, _), partial in zip(some, partials, strict=True)}
    return [found[at] for at in range(len(several))]


def _of_part(users: pl.DataFrame, part: _Part) -> UsersOfReading:
    """Return what was measured of a part of the users."""
    if part.others is not None:
        others = part.others.cast(users.schema["user"])
        users = users.filter(~pl.col("user").is_in(others.implode()))
    judged = np.zeros(len(users), dtype=bool)
    if part.judged is not None:
        ids = part.judged.cast(users.schema["user"])
        judged = users["user"].is_in(ids.implode()).to_numpy()
    return UsersOfReading(
        UserColumns(users, rules=UserRules(_RAW), evaluated=_RAW.population),
        judged=judged,
        alone=0 if part.judged is None else len(part.judged) - int(judged.sum()),
    )


def _outcome(result: Result, measure: Measure) -> Outcome:
    cell, users = measure.cells[0], None
    if cell in result.per_user.columns:
        users = int(result.per_user[cell].is_not_nan().sum())
    return Outcome(result.values.get(cell), users)


def _of_some_users(tables: Tables, users: pl.Series) -> Tables:
    """Return lists and ground truth of some users; what is known of them stays."""

    def of(table: Table) -> Table:
        ids = table.frame["user"]
        kind = pl.String if pl.String in (ids.dtype, users.dtype) else pl.Int64  # may be of two types
        return table.with_frame(table.frame.filter(ids.cast(kind).is_in(users.cast(kind).implode())))

    changed: dict[str, Any] = {
        role: of(table) for role in ("recommendations", "truth") if (table := getattr(tables, role)) is not None
    }
    return replace(tables, **changed)
