"""From merged partials to a result: values, slices, jackknife replicates, counts, provenance.

A column assigns users to jackknife groups. Sums by group exist for slices, so the value without a
group comes from the total sums minus the group's sums.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np
import polars as pl

from rankwise.blocks.block import Fact
from rankwise.blocks.partial import ADDED, Partial
from rankwise.convention.convention import Convention
from rankwise.core import __version__, kernels
from rankwise.core.arrays import ExactTotal
from rankwise.core.digests import column_words, digest_of_rows, id_words, row_digest
from rankwise.core.hashing import combine_hashes, digest_of
from rankwise.core.units import REQUEST, Units, unit_keys
from rankwise.core.vocabularies import lookup_rows
from rankwise.encoding.side_information import SideTables, digest_of_interactions
from rankwise.errors import EmptyError, InputError
from rankwise.evaluation.input_warnings import doubts_of_counts, inferred_protocol
from rankwise.evaluation.plan import Plan
from rankwise.evaluation.settings import Settings
from rankwise.evaluation.user_table import JACKKNIFE, UserTable
from rankwise.metrics.base import Metric, ValueKind
from rankwise.metrics.inputs import CatalogueSums, GroupRows
from rankwise.metrics.states import Totals, UserFrame, UsersByGroup, add_groups
from rankwise.metrics.values import (
    finalise,
    reduce_groups,
    reduce_users,
    value_kinds,
    values_of_groups,
    values_of_users,
    values_without,
)
from rankwise.results.intervals import WEIGHT, group_column
from rankwise.results.result import Result
from rankwise.results.values import Values
from rankwise.tables.spelling import examples_of, other_spelling
from rankwise.tables.table import Protocol as CandidateProtocol
from rankwise.tables.table import Table, Tables, is_absent

_G = TypeVar("_G")


class Question(Protocol):
    """What is asked, of which tables: a `rankwise.evaluation.engine.Job`."""

    @property
    def settings(self) -> Settings:
        """The metrics and options."""

    @property
    def plan(self) -> Plan:
        """The plan of the metrics and their columns."""

    @property
    def facts(self) -> SideTables:
        """The side information of items and users."""

    @property
    def user_table(self) -> UserTable:
        """The groups and weights of users."""

    @property
    def shared(self) -> Tables:
        """The tables that all pieces share."""


def leave_one_out(groups: Mapping[_G, Totals]) -> Iterator[tuple[_G, Totals]]:
    """Yield each group with the totals of all other groups.

    Totals add up and are never taken away: an infinite value leaves with its group. Two passes of
    sums, from the front and from the back, need three additions per group.
    """
    names = list(groups)
    before = groups[names[0]].zero()
    behind = [before]
    for name in reversed(names[1:]):
        behind.append(groups[name] + behind[-1])
    for name in names:
        yield name, before + behind.pop()
        before = before + groups[name]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class GroupedTotals:
    """Totals of a set of users, of all and by group; those of disjoint sets can be added.

    Attributes
    ----------
    everyone : Totals
        The totals of all of these users.
    groups : mapping of str to mapping of (str or None) to Totals
        The totals of each group, by column of the users table; None is the group of users without
        one.
    names : mapping of str to polars.Series
        The distinct groups by column, with the type that they have in the table.
    without_group : mapping of str to int
        Number of users without a group, by column, for metrics of groups.
    kinds : mapping of str to str
        What each value is made of.
    weight : ExactTotal
        The sum of the weights; 0 without weights.
    dealt : int, default=0
        The digest of users and jackknife groups, as a number below 2^64 that adds up.
    group_values : mapping of str to mapping of str to array, shape (G,)
        By column: values of all groups in order, which need no state because there are no other
        users.
    """

    everyone: Totals
    groups: Mapping[str, Mapping[str | None, Totals]]
    names: Mapping[str, pl.Series]
    without_group: Mapping[str, int]
    kinds: Mapping[str, ValueKind]
    weight: ExactTotal
    dealt: int = 0
    group_values: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __add__(self, other: GroupedTotals) -> GroupedTotals:
        return GroupedTotals(
            everyone=self.everyone + other.everyone,
            groups={by: add_groups(left, other.groups[by]) for by, left in self.groups.items()},
            names={
                by: pl.concat([left, other.names[by]]).unique() for by, left in self.names.items()
            },
            without_group={
                by: count + other.without_group[by] for by, count in self.without_group.items()
            },
            kinds=self.kinds,
            weight=self.weight + other.weight,
            dealt=(self.dealt + other.dealt) % 2**64,
        )

    def sorted_groups(self, by: str) -> list[tuple[str | None, Totals]]:
        """Return the groups of a column in order, users without one last."""
        names = self.names[by].sort(nulls_last=True).cast(pl.String).to_list()
        return [(name, self.groups[by][name]) for name in names]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class EvaluatedUsers:
    """Users with their metric columns, and the settings and plan of their evaluation.

    Attributes
    ----------
    frame : polars.DataFrame
        One row per user or request: ``user``, ``request`` if there are any, ``n_relevant``,
        ``list_length`` and the columns of metrics.
    question : Question
        What is asked, and what is known of users: their groups and weights.
    catalogue_size : int
        The number of items of the catalogue; 0 where nothing needs it.
    items : CatalogueSums or None
        The sums of the catalogue's items over all users, where these are all.
    """

    frame: pl.DataFrame
    question: Question
    catalogue_size: int
    items: CatalogueSums | None = None

    @cached_property
    def columns(self) -> UserFrame:
        """The columns of the users with their weights and groups."""
        return UserFrame(
            self.frame,
            self.question.user_table.weights_of(self.frame),
            self.question.facts.of_units(self.frame),
            self.catalogue_size,
            self.question.settings.rules,
            self.question.settings.evaluated,
        )

    @cached_property
    def groups(self) -> dict[str, pl.Series]:
        """The group of each user, by column of the table of users."""
        dealt = () if self.question.settings.jackknife is None else (JACKKNIFE,)
        return {
            by: self.question.user_table.groups_of(self.frame, by)
            for by in (*self.question.settings.by, *dealt)
        }

    def share(self, *, whole: bool = False) -> GroupedTotals:
        """Return the aggregates of these users; ``whole`` says that these are all users."""
        metrics, columns = self.question.plan.metrics, self.columns
        groups: dict[str, dict[str | None, Totals]] = {}
        names: dict[str, pl.Series] = {}
        values: dict[str, dict[str, Any]] = {}
        for by, of_users in self.groups.items():
            names[by], part = of_users.unique().sort(nulls_last=True), metrics
            codes = lookup_rows(of_users, names[by].drop_nulls())
            codes = np.where(
                codes < 0, len(names[by]) - 1, codes
            )  # the last are users without a group
            grouped = UsersByGroup(
                columns, codes, names[by].cast(pl.String).to_list(), by, self.items
            )
            if by == JACKKNIFE:
                part = self.question.plan.jackknife_metrics(weighted=columns.weights is not None)
            elif whole:
                values[by] = values_of_groups(metrics, grouped)
                part = tuple(metric for metric in metrics if metric.cells[0] not in values[by])
            states = reduce_groups(part, grouped)
            groups[by] = dict(zip(grouped.names, states, strict=True))
        return GroupedTotals(
            everyone=reduce_users(metrics, columns),
            groups=groups,
            names=names,
            group_values=values,
            without_group={
                column: int((codes.code < 0).sum())
                for column, codes in columns.groups.items()
                if column != JACKKNIFE
            },
            kinds=value_kinds(metrics, weighted=columns.weights is not None),
            weight=ExactTotal.of([] if columns.weights is None else columns.weights),
            dealt=self._dealt(),
        )

    def _dealt(self) -> int:
        if JACKKNIFE not in self.groups:
            return 0
        units = [self.frame[name] for name in unit_keys(self.frame)]
        return int(digest_of([*units, self.groups[JACKKNIFE]]), 16)

    def values(self) -> pl.DataFrame:
        """Return one row per user: counts, weight, groups, and all per-user values."""
        frame = self.frame[[*unit_keys(self.frame), "n_relevant", "list_length"]]
        groups = [
            groups.cast(pl.String).alias(group_column(by))
            for by, groups in self.groups.items()
            if by != JACKKNIFE
        ]
        values, weights = (
            values_of_users(self.question.plan.metrics, self.columns),
            self.columns.weights,
        )
        weight = [] if weights is None else [pl.Series(WEIGHT, weights)]
        return frame.hstack(
            [*weight, *groups, *(pl.Series(name, each) for name, each in values.items())]
        )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Summary:
    """Everything that a result is made of, except the values of each user.

    Attributes
    ----------
    question : Question
        What was asked.
    merged : Partial
        What was evaluated: sums of items, counts and cards; users are not read.
    share : GroupedTotals
        What all users add to the result.
    items : CatalogueSums or None
        The sums of the catalogue's items, if something needs them.
    catalogue_counts : mapping of str to int
        What was counted when the catalogue was put together.
    """

    question: Question
    merged: Partial
    share: GroupedTotals
    items: CatalogueSums | None
    catalogue_counts: Mapping[str, int]

    def result(self, per_user: pl.DataFrame) -> Result:
        """Return the result, with a table of the users' values."""
        protocol, warnings = CandidateProtocol.read(self.merged.protocol), list[str]()
        if protocol is None:
            protocol, warnings = inferred_protocol(self.merged.sample)
        counts = {**self._counts(), **self.catalogue_counts}
        provenance = self._provenance() | {
            "doubts": [
                *doubts_of_counts({**counts, "rows": self.merged.counts.get("rows", 0)}),
                *warnings,
            ],
            "candidates": None if protocol is None else protocol.to_dict(),
            "jackknife": None
            if self.question.settings.jackknife is None
            else f"{self.share.dealt:016x}",
        }
        result = Result(
            replicates=self._replicates(),
            metrics=self.question.plan.metrics,
            values=Values(self._totals(self.share.everyone, self.items)),
            kinds=self.share.kinds,
            per_user=per_user,
            counts=counts,
            slices=self._slices(),
            diagnostics={} if self.items is None else _diagnostics(self.question.plan, self.items),
            provenance=provenance,
        )
        return add_sample_label(result)

    def _totals(
        self,
        users: Totals,
        items: CatalogueSums | None,
        metrics: tuple[Metric, ...] | None = None,
    ) -> dict[str, float]:
        return finalise(
            self.question.plan.metrics if metrics is None else metrics,
            users,
            items,
            group_names=self.question.facts.group_names(),
            catalogue_size=0 if self.items is None else self.items.size,
            rules=self.question.settings.rules,
        )

    def _counts(self) -> dict[str, int]:
        merged, users = self.merged, self.share.everyone
        counts = {name: count for name, count in sorted(merged.counts.items()) if count}
        counts |= {name: count for name, count in merged.shared_counts.items() if count}
        if merged.outside_catalogue is not None:
            counts["recommended_items_outside_catalogue"] = len(merged.outside_catalogue)
        counts["users"] = users.users
        counts["users_without_list"] = users.users - users.with_list
        if "truth" in merged.inputs:
            counts["hits"] = merged.counts.get("hits", 0)
            counts["users_without_relevant_items"] = users.without_relevant
        else:  # nobody has relevant items where nothing says so
            counts.pop("lists_without_relevant_items", None)
        for column, count in self.share.without_group.items():
            if count:
                counts[f"users_without_group({column})"] = count
        return counts

    def _slices(self) -> pl.DataFrame | None:
        """Return the metrics of every group of users."""
        tables = [self._slices_by(by) for by in self.question.settings.by]
        return pl.concat(tables, how="diagonal_relaxed").pipe(_nan_for_null) if tables else None

    def _slices_by(self, by: str) -> pl.DataFrame:
        """Return the metrics of the groups of one grouping, one row per group."""
        values, groups = self.share.group_values.get(by, {}), self.share.sorted_groups(by)
        metrics = self.question.plan.metrics
        others = tuple(metric for metric in metrics if metric.cells[0] not in values)
        rows = []
        for group, inside in groups if others else ():
            sums = None
            if self.items is not None:
                sums = replace(self.items, n_listed=inside.with_list, within=(by, group))
            rows.append(self._totals(inside, sums, others))

        columns: dict[str, Any] = {
            "by": [by] * len(groups),
            "group": [group for group, _ in groups],
            "users": [inside.users for _, inside in groups],
        }
        for name in (name for metric in metrics for name in _cells_of(metric, rows)):
            if name in values:
                columns[name] = values[name]
            else:
                columns[name] = [row.get(name, math.nan) for row in rows]
        return pl.DataFrame(columns, schema_overrides={"group": pl.String})

    def _replicates(self) -> pl.DataFrame | None:
        """Return the jackknife replicates of metrics that need them; None without a jackknife."""
        if self.question.settings.jackknife is None:
            return None
        metrics = self.question.plan.jackknife_metrics(
            weighted=self.question.settings.weights is not None
        )
        ordered = dict(self.share.sorted_groups(JACKKNIFE))
        values = values_without(metrics, self.items, JACKKNIFE, [*map(str, ordered)])
        rows = []
        for at, (group, others) in enumerate(leave_one_out(ordered)):
            sums = None
            if self.items is not None:
                sums = replace(
                    self.items, n_listed=others.with_list, without=(JACKKNIFE, str(group))
                )
            row: dict[str, Any] = {"group": group}
            for metric in metrics:
                is_known = metric.cells[0] in values
                row |= (
                    {c: values[c][at] for c in metric.cells}
                    if is_known
                    else self._totals(others, sums, (metric,))
                )
            rows.append(row)
        return pl.DataFrame(rows, infer_schema_length=None)

    def _digests(self) -> dict[str, int]:
        """Return the digests of the data that metrics read, of shared tables and of pieces."""
        counted = self.question.facts.training_counts
        by_user = None if counted is None else False
        shared = digests_of_tables(self.question, by_user=by_user)
        digests = {
            **digest_of_truth(self.question.shared.truth, self.question.shared.units),
            **shared,
            **self.merged.digests,
            **({} if counted is None else counted.digests),
        }
        return dict(sorted(digests.items()))

    def _provenance(self) -> dict[str, Any]:
        question, merged = self.question, self.merged
        settings, plan, facts = question.settings, question.plan, question.facts
        cards = self._cards()
        split = cards["truth"].pop("split") if "truth" in cards else None
        return {
            "split": None if split is None else dict(split),
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "versions": {
                "rankwise": __version__,
                "python": platform.python_version(),
                "numpy": np.__version__,
                "polars": pl.__version__,
                "kernels": kernels.implementation(),
            },
            "settings": {
                **settings.to_dict(by_request=question.shared.by_request),
                "ties": "+".join(merged.ties),
                "catalogue": _catalogue_in_words(settings, facts),
            },
            "unweighted": [] if settings.weights is None else plan.unweighted_metrics,
            **_convention_records(settings.convention, plan.metrics),
            "rules": {name: vars(rule) for name, rule in settings.exceptions},
            "facts": facts.descriptions(),
            "groups": {
                by: groups.terciles.to_dict(by)
                for by, groups in facts.train_groups.items()
                if groups.terciles is not None
            },
            "metrics": {str(metric): _in_full(metric.parameters) for metric in plan.metrics},
            "digests": {name: f"{digest:016x}" for name, digest in self._digests().items()},
            "inputs": cards | {role: table.card for role, table in facts.tables.items()},
        }

    def _cards(self) -> dict[str, Any]:
        """Return the cards of lists and ground truth, with their numbers of rows."""
        inputs = self.merged.inputs
        cards = {
            role: _one_card(list(inputs[role]))
            for role in ("recommendations", "truth")
            if role in inputs
        }
        cards["recommendations"]["rows"] = self.merged.counts.get("rows", 0)
        if self.question.shared.truth is not None:  # every piece was evaluated against all of it
            cards["truth"]["rows"] = len(self.question.shared.truth.frame)
        return cards


def _convention_records(
    convention: Convention | None, metrics: Sequence[Metric]
) -> dict[str, dict[str, Any] | None]:
    """Return the convention as it was defined, and the metrics that it leaves to rankwise."""
    if convention is None:
        return {"convention": None, "own_definitions": {}}
    return {
        "convention": convention.to_dict(),
        "own_definitions": convention.own_definitions(metrics),
    }


def _cells_of(metric: Metric, rows: Sequence[Mapping[str, float]]) -> list[str]:
    """Return the names of a metric's values in groups: per cut-off, and per cell of any group."""
    cells = []
    for name in metric.cells:
        own = [
            cell
            for cell in dict.fromkeys(cell for row in rows for cell in row)
            if cell.startswith(f"{name}[")
        ]
        has_value = not rows or not own or any(name in row for row in rows)
        cells += [*([name] if has_value else []), *own]
    return cells


def _nan_for_null(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.exclude("by", "group", "users").fill_null(math.nan))


def digest_of_truth(truth: Table | None, units: Units | None) -> dict[str, int]:
    """Return the digest of a ground truth by its name, if there is one.

    ``units`` are the requests whose numbers stand for its users, if it is by request.
    """
    if truth is None or is_absent(truth):
        return {}
    if units is None:
        return {"truth": truth.digest}
    ids = [units.frame["user"], units.frame[REQUEST].cast(pl.String).fill_null("")]
    words = combine_hashes([id_words(one) for one in ids], 0)
    return {"truth": digest_of_rows(truth.frame, "relevance", words)}


def digests_of_tables(question: Question, *, by_user: bool | None = None) -> dict[str, int]:
    """Return the digest of the data that metrics read, per table except the ground truth.

    What only groups users into slices is left out: it moves no value of all users. With ``by_user``
    True or False only the tables that have rows by user are taken, or only those that have none.
    """
    settings, plan, facts = question.settings, question.plan, question.facts
    read = [
        fact
        for fact in facts.facts
        if any(fact in metric.reads.facts for metric in plan.all_metrics)
    ]
    needs_items = plan.needs_catalogue and settings.catalogue == "items" and "items" in facts.tables

    digests: dict[str, int] = {}
    if by_user is not False and _reads_training(settings, plan, facts, read):
        digests["train"] = digest_of_interactions(facts.tables["train"])
    weights = question.user_table.weights
    if weights is not None and by_user in (None, isinstance(settings.weights, str)):
        words = [id_words(weights.frame["user"]), column_words(weights.frame["weight"])]
        digests["weights"] = row_digest(words)
    if by_user is not True and needs_items:
        digests["items"] = row_digest([id_words(facts.tables["items"].frame["item"])])
    for fact in sorted(read):
        tables = facts.tables_of(fact)
        if tables != ("train",) and by_user in (None, "items" not in tables):
            digests[str(fact)] = facts.digest(fact)
    return digests


def _reads_training(
    settings: Settings, plan: Plan, facts: SideTables, read: Iterable[Fact[Any]]
) -> bool:
    """Whether there are training interactions, and metrics or options read them."""
    if "train" not in facts.tables:
        return False
    seen = (
        settings.catalogue == "train" or "items" not in facts.tables
    )  # every item seen is the catalogue
    return (
        settings.exclude_seen
        or (plan.needs_catalogue and seen)
        or any("train" in facts.tables_of(fact) for fact in read)
    )


def add_sample_label(result: Result) -> Result:
    """Add the label of sampled candidates, if any, to a result's frames of values."""
    if not result.label:
        return result
    label = pl.lit(result.label).alias("label")
    slices = None if result.slices is None else result.slices.with_columns(label)
    return replace(result, per_user=result.per_user.with_columns(label), slices=slices)


def summarise(merged: Partial, question: Question) -> Result:
    """Turn a merged partial into a `Result`.

    Raises
    ------
    EmptyError
        If no evaluated user has a recommendation list.
    """
    with_list = int((merged.users["list_length"] > 0).sum())
    if not question.shared.is_slice:
        check_not_empty(merged, len(merged.users), with_list, question.settings)

    items, catalogue_counts = catalogue_sums(question, merged, with_list)
    size = 0 if items is None else items.size
    users = EvaluatedUsers(frame=merged.users, question=question, catalogue_size=size, items=items)
    share = users.share(whole=True)
    question.user_table.check_total(share.weight.value)
    summary = Summary(
        question=question,
        merged=merged,
        items=items,
        share=share,
        catalogue_counts=catalogue_counts,
    )
    return summary.result(users.values())


def check_not_empty(merged: Partial, users: int, with_list: int, settings: Settings) -> None:
    """Raise if no evaluated user has a recommendation list."""
    if with_list:
        return
    listed = None if merged.outside is None else merged.outside["user"]
    evaluated = merged.users["user"]
    found = f"{merged.counts.get('lists', 0)} lists"
    hint = "do recommendations and truth name users in the same way?"
    if listed is not None and len(listed):
        found += f", of {examples_of(listed)}"
        spelling = other_spelling(listed, evaluated)
        hint = hint if spelling is None else f"name users in the same way in all tables: {spelling}"
    found += f"; {users} evaluated users (population={settings.population!r})"
    if len(evaluated):
        found += f", such as {examples_of(evaluated)}"
    raise EmptyError("no evaluated user has a recommendation list", found=found, hint=hint)


def catalogue_sums(
    question: Question, merged: Partial, with_list: int
) -> tuple[CatalogueSums | None, dict[str, int]]:
    """Return the sums of the catalogue's items, and the number of these items as a count."""
    plan, facts = question.plan, question.facts
    if not plan.needs_catalogue or merged.items is None:
        return None, {}
    frame = _in_catalogue(plan, merged.items, _catalogue_table(question.settings, facts))
    by_users = None if merged.group_items is None else GroupRows(merged.group_items, frame["item"])
    return CatalogueSums(frame, facts.of_items(frame["item"]), with_list, by_users), {
        "catalogue_items": len(frame)
    }


def _catalogue_table(settings: Settings, facts: SideTables) -> Table | None:
    """Return the table with the items of the catalogue; None: every item seen."""
    if settings.catalogue == "items":
        return facts.tables.get("items")
    train = facts.tables["train"].trained
    counted = None if facts.training_counts is None else facts.training_counts.popularity
    items = train.frame if counted is None else counted
    return train.with_frame(items.select(pl.col("item").unique()))


def _one_card(cards: list[dict[str, Any]]) -> dict[str, Any]:
    """Return one card for a table that came in pieces, with differing entries as a list."""
    card = dict(cards[0])
    if any(other.get("file") != card.get("file") for other in cards):
        card.pop("file", None)  # no file has all pieces
    for name in card:
        values = [other[name] for other in cards]
        if name in ADDED:
            card[name] = sum(values)
        elif any(value != values[0] for value in values):
            texts = dict.fromkeys(str(value) for value in values)
            card[name] = None if name == "split" else ", ".join(texts)
    return card


def _diagnostics(plan: Plan, items: CatalogueSums) -> dict[str, dict[str, float]]:
    diagnoses = {str(leaf @ ()): leaf.diagnose(items) for leaf in plan.leaves}
    return {name: diagnosis for name, diagnosis in diagnoses.items() if diagnosis}


def _in_catalogue(plan: Plan, items: pl.DataFrame, catalogue: Table | None) -> pl.DataFrame:
    """Return the sums of the items of the catalogue."""
    if catalogue is None:
        return items
    ids = catalogue.frame.select(pl.col("item").unique().cast(items.schema["item"]))
    outside = items.join(ids, on="item", how="anti")
    if len(outside) and any(leaf.reads.catalogue == "whole" for leaf in plan.leaves):
        raise InputError(
            "a catalogue must hold every item that is recommended, relevant or seen in training",
            where=catalogue.source,
            found=f"{len(outside)} items outside it, such as {outside['item'][0]!r}",
            hint="leave the catalogue out, or add them to it",
        )
    inside = ids.join(items, on="item", how="left")
    inside = inside.with_columns(pl.exclude("item").fill_null(0)) if items.width > 1 else inside
    return inside.sort("item")


def _catalogue_in_words(settings: Settings, facts: SideTables) -> str:
    if settings.catalogue == "train":
        return "the items of training"
    return "given" if "items" in facts.tables else "every item seen"


def _in_full(parameters: dict[str, Any]) -> dict[str, Any]:
    plain = (bool, int, float, str, type(None))
    return {
        name: value if isinstance(value, plain) else str(value)
        for name, value in parameters.items()
    }
