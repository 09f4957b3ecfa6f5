"""Merged partials to a result: values, slices, counts, and where everything came from."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import polars as pl

from rankwise.core import kernels
from rankwise.core.digests import column_words, id_words, row_digest
from rankwise.core.facts import Fact
from rankwise.core.partial import ADDED, Partial
from rankwise.core.partial_columns import ItemColumn
from rankwise.core.version import __version__
from rankwise.encoding.fact_tables import FactTables, digest_of_interactions
from rankwise.errors import EmptyError, IdError, InputError
from rankwise.evaluation.doubts import inferred_protocol
from rankwise.evaluation.jackknife import JACKKNIFE, jackknifed, without_each
from rankwise.evaluation.plan import Plan
from rankwise.evaluation.settings import Settings
from rankwise.evaluation.shares import EvaluatedUsers, UserShare
from rankwise.evaluation.totals import totals
from rankwise.evaluation.user_table import UserTable
from rankwise.evaluation.user_totals import UserTotals
from rankwise.measures.item_sums import CatalogueSums, RecommendationCount
from rankwise.measures.measure import Measure
from rankwise.results.named_values import Values
from rankwise.results.result import Result
from rankwise.tables.align import matching
from rankwise.tables.protocol import Protocol
from rankwise.tables.table import Table, is_absent

__all__ = ["Summary", "catalogue", "check_not_empty", "digest_of_truth", "digests_of_tables", "labelled", "summarise"]


@dataclass(frozen=True, kw_only=True)
class Summary:
    """Everything that a result is made of, except the values of each user.

    Attributes
    ----------
    merged : Partial
        What was evaluated: sums of items, counts and cards; users are not read.
    share : UserShare
        What all users add to the result.
    items : CatalogueSums or None
        The sums of the catalogue's items, if something needs them.
    catalogue_counts : mapping of str to int
        What was counted when the catalogue was put together.
    """

    settings: Settings
    plan: Plan
    facts: FactTables
    user_table: UserTable
    truth: Table | None
    merged: Partial
    share: UserShare
    items: CatalogueSums | None
    catalogue_counts: Mapping[str, int]

    def result(self, per_user: pl.DataFrame) -> Result:
        """Return the result, with a table of the users' values."""
        protocol, warnings = Protocol.read(self.merged.protocol), list[str]()
        if protocol is None:
            protocol, warnings = inferred_protocol(self.merged.sample)
        provenance = self._provenance() | {
            "doubts": warnings,
            "candidates": None if protocol is None else protocol.to_dict(),
            "jackknife": None if self.settings.jackknife is None else f"{self.share.dealt:016x}",
        }
        result = Result(
            replicates=self._replicates(),
            measures=self.plan.measures,
            values=Values(self._totals(self.share.everyone, self.items)),
            kinds=self.share.kinds,
            per_user=per_user,
            counts={**self._counts(), **self.catalogue_counts},
            slices=self._slices(),
            diagnostics={} if self.items is None else _diagnostics(self.plan, self.items),
            provenance=provenance,
        )
        return labelled(result)

    def _totals(
        self, users: UserTotals, items: CatalogueSums | None, measures: tuple[Measure, ...] | None = None
    ) -> dict[str, float]:
        return totals(
            self.plan.measures if measures is None else measures,
            users,
            items,
            group_names=self.facts.group_names(),
            catalogue_size=0 if self.items is None else self.items.size,
            rules=self.settings.rules,
        )

    def _counts(self) -> dict[str, int]:
        merged, users = self.merged, self.share.everyone
        counts = {name: count for name, count in sorted(merged.counts.items()) if count}
        counts |= {name: count for name, count in merged.reference_counts.items() if count}
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
        """Return the measures of every group of users."""
        rows = []
        for by in self.settings.by:
            for group, inside in self.share.ordered(by):
                sums = None
                if self.items is not None:
                    sums = replace(self.items, n_listed=inside.with_list, within=(by, group))
                head = {"by": by, "group": group, "users": inside.users}
                rows.append({**head, **self._totals(inside, sums)})
        if not rows:
            return None
        columns = dict.fromkeys(name for row in rows for name in row)
        filled = [{name: row.get(name, float("nan")) for name in columns} for row in rows]
        return pl.DataFrame(filled, infer_schema_length=None)

    def _replicates(self) -> pl.DataFrame | None:
        """Return every value without each group of users, where intervals need it."""
        if self.settings.jackknife is None:
            return None
        measures = jackknifed(self.plan.measures, weighted=self.settings.weights is not None)
        rows = []
        for group, others in without_each(dict(self.share.ordered(JACKKNIFE))):
            sums = None
            if self.items is not None:
                sums = replace(self.items, n_listed=others.with_list, without=(JACKKNIFE, str(group)))
            rows.append({"group": group, **self._totals(others, sums, measures)})
        return pl.DataFrame(rows, infer_schema_length=None)

    def _digests(self) -> dict[str, int]:
        """Return the digest of what metrics read of each table: shared ones, and those that came in pieces."""
        counted = self.facts.counted
        by_user = None if counted is None else False
        shared = digests_of_tables(self.settings, self.plan, self.facts, self.user_table, by_user=by_user)
        digests = {
            **digest_of_truth(self.truth),
            **shared,
            **self.merged.digests,
            **({} if counted is None else counted.digests),
        }
        return dict(sorted(digests.items()))

    def _provenance(self) -> dict[str, Any]:
        merged, facts = self.merged, self.facts
        cards = {role: _one_card(list(cards)) for role, cards in merged.inputs.items()}
        cards["recommendations"]["rows"] = merged.counts.get("rows", 0)
        split = cards["truth"].pop("split") if "truth" in cards else None
        convention = self.settings.convention
        if self.truth is not None:  # every piece was evaluated against all of it
            cards["truth"]["rows"] = len(self.truth.frame)
        return {
            "split": None if split is None else dict(split),
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "versions": {
                "rankwise": __version__,
                "python": platform.python_version(),
                "numpy": np.__version__,
                "polars": pl.__version__,
                "kernels": kernels.road(),
            },
            "settings": {
                **self.settings.to_dict(),
                "ties": "+".join(merged.ties),
                "catalogue": _catalogue_in_words(self.settings, facts),
            },
            "unweighted": [] if self.settings.weights is None else self.plan.unweighted,
            "convention": None if convention is None else convention.to_dict(),
            "own_definitions": {} if convention is None else convention.own_definitions(self.plan.measures),
            "rules": {name: vars(rule) for name, rule in self.settings.exceptions},
            "facts": facts.descriptions(),
            "groups": {by: made.terciles.to_dict(by) for by, made in facts.train_groups.items()},
            "measures": {str(measure): _in_full(measure.parameters) for measure in self.plan.measures},
            "digests": {name: f"{digest:016x}" for name, digest in self._digests().items()},
            "inputs": {role: cards[role] for role in ("recommendations", "truth") if role in cards}
            | {role: table.card for role, table in facts.tables.items()},
        }


def digest_of_truth(truth: Table | None) -> dict[str, int]:
    """Return the digest of a ground truth by its name, if there is one."""
    return {} if truth is None or is_absent(truth) else {"truth": truth.digest}


def digests_of_tables(
    settings: Settings, plan: Plan, facts: FactTables, user_table: UserTable, *, by_user: bool | None = None
) -> dict[str, int]:
    """Return the digest of what metrics read of each table beside the ground truth.

    What only groups users into slices is left out: it moves no value of all users. With ``by_user``
    True or False only the tables that have rows by user are taken, or only those that have none.
    """
    read = [fact for fact in facts.wanted if any(fact in metric.reads.facts for metric in plan.every)]
    digests: dict[str, int] = {}
    if by_user is not False and _reads_training(settings, plan, facts, read):
        digests["train"] = digest_of_interactions(facts.tables["train"])
    if user_table.weights is not None and by_user in (None, isinstance(settings.weights, str)):
        frame = user_table.weights.frame
        digests["weights"] = row_digest([id_words(frame["user"]), column_words(frame["weight"])])
    if by_user is not True and plan.needs_catalogue and settings.catalogue == "items" and "items" in facts.tables:
        digests["items"] = row_digest([id_words(facts.tables["items"].frame["item"])])
    for fact in sorted(read):
        tables = facts.tables_of(fact)
        if tables != ("train",) and by_user in (None, "items" not in tables):
            digests[str(fact)] = facts.digest(fact)
    return digests


def _reads_training(settings: Settings, plan: Plan, facts: FactTables, read: Iterable[Fact[Any]]) -> bool:
    """Whether there are training interactions, and metrics or options read them."""
    if "train" not in facts.tables:
        return False
    seen = settings.catalogue == "train" or "items" not in facts.tables  # every item seen is the catalogue
    return (
        settings.exclude_seen
        or (plan.needs_catalogue and seen)
        or any("train" in facts.tables_of(fact) for fact in read)
    )


def labelled(result: Result) -> Result:
    """Return a result whose frames of values have the label of sampled candidates, if they were sampled."""
    if not result.label:
        return result
    label = pl.lit(result.label).alias("label")
    slices = None if result.slices is None else result.slices.with_columns(label)
    return replace(result, per_user=result.per_user.with_columns(label), slices=slices)


def summarise(
    merged: Partial, *, settings: Settings, plan: Plan, facts: FactTables, user_table: UserTable, truth: Table | None
) -> Result:
    """Turn a merged partial into a `Result`.

    Raises
    ------
    EmptyError
        If no evaluated user has a recommendation list.
    """
    with_list = int((merged.users["list_length"] > 0).sum())
    check_not_empty(merged, len(merged.users), with_list, settings)
    items, catalogue_counts = catalogue(settings, plan, facts, merged, with_list)
    users = EvaluatedUsers(
        frame=merged.users,
        settings=settings,
        plan=plan,
        facts=facts,
        user_table=user_table,
        catalogue_size=0 if items is None else items.size,
    )
    share = users.share()
    user_table.check_total(share.weight.value)
    return Summary(
        settings=settings,
        plan=plan,
        facts=facts,
        user_table=user_table,
        truth=truth,
        merged=merged,
        items=items,
        share=share,
        catalogue_counts=catalogue_counts,
    ).result(users.values())


def check_not_empty(merged: Partial, users: int, with_list: int, settings: Settings) -> None:
    """Raise if no evaluated user has a recommendation list."""
    if not with_list:
        raise EmptyError(
            "no evaluated user has a recommendation list",
            found=f"{merged.counts.get('lists', 0)} lists, "
            f"{users} evaluated users (population={settings.population!r})",
            hint="do recommendations and truth name users in the same way?",
        )


def catalogue(
    settings: Settings, plan: Plan, facts: FactTables, merged: Partial, with_list: int
) -> tuple[CatalogueSums | None, dict[str, int]]:
    """Return the sums of the catalogue's items, and what was counted on the way."""
    if not plan.needs_catalogue or merged.items is None:
        return None, {}
    frame, outside = _in_catalogue(plan, merged.items, _catalogue_table(settings, facts))
    counts = {"catalogue_items": len(frame)}
    if outside:
        counts["recommended_items_outside_catalogue"] = outside
    return CatalogueSums(frame, facts.of_items(frame["item"]), with_list), counts


def _catalogue_table(settings: Settings, facts: FactTables) -> Table | None:
    """Return the table with the items of the catalogue; None: every item seen."""
    if settings.catalogue == "items":
        return facts.tables.get("items")
    train = facts.tables["train"].trained
    counted = None if facts.counted is None else facts.counted.popularity
    items = train.frame if counted is None else counted
    return train.with_frame(items.select(pl.col("item").unique()))


def _one_card(cards: list[dict[str, Any]]) -> dict[str, Any]:
    """Return one card for a table that came in pieces: what differs between them is listed."""
    card = dict(cards[0])
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


def _in_catalogue(plan: Plan, items: pl.DataFrame, catalogue: Table | None) -> tuple[pl.DataFrame, int]:
    """Return the sums of the items of the catalogue, and how many others were recommended."""
    if catalogue is None:
        return items, 0
    ids = matching(catalogue, "item", items["item"]).select("item").unique()
    other = catalogue.frame["item"].cast(pl.String)
    other = other.filter(~other.is_in(ids["item"].cast(pl.String).implode()))
    if len(other):  # text that is not written as integers are
        raise IdError(
            "an id of the catalogue is of another type than the items recommended",
            where=catalogue.source,
            found=f"{other[0]!r} beside {items['item'][0]!r} ({len(other)} such ids)",
            hint="cast the item column to one type in both tables",
        )
    outside = items.join(ids, on="item", how="anti")
    if len(outside) and any(leaf.reads.catalogue == "whole" for leaf in plan.leaves):
        raise InputError(
            "a catalogue must hold every item that is recommended, relevant or seen in training",
            where=catalogue.source,
            found=f"{len(outside)} items outside it, such as {outside['item'][0]!r}",
            hint="leave the catalogue out, or add them to it",
        )
    shown = [name for name in items.columns if name != "item" and ItemColumn.read(name).key == RecommendationCount.name]
    if shown:
        outside = outside.filter(pl.any_horizontal(pl.col(name) > 0 for name in shown))
    counts = pl.exclude("item")
    inside = ids.join(items, on="item", how="left")
    inside = inside.with_columns(counts.fill_null(0)) if items.width > 1 else inside
    return inside.sort("item"), len(outside)


def _catalogue_in_words(settings: Settings, facts: FactTables) -> str:
    if settings.catalogue == "train":
        return "the items of training"
    return "given" if "items" in facts.tables else "every item seen"


def _in_full(parameters: dict[str, Any]) -> dict[str, Any]:
    plain = (bool, int, float, str, type(None))
    return {name: value if isinstance(value, plain) else str(value) for name, value in parameters.items()}
