"""Merged partials to a result: values, slices, counts, and where everything came from."""

from __future__ import annotations

import platform
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import polars as pl

from rankwise.core.hashing import digest_of
from rankwise.core.partial import ADDED, Partial
from rankwise.core.partial_columns import ItemColumn
from rankwise.core.version import __version__
from rankwise.encoding.fact_tables import FactTables
from rankwise.errors import EmptyError, IdError, InputError
from rankwise.evaluation.jackknife import JACKKNIFE, replicates
from rankwise.evaluation.plan import Plan
from rankwise.evaluation.settings import Settings
from rankwise.evaluation.totals import UserColumns, kinds_of_values, totals, values_of_users
from rankwise.evaluation.user_table import UserTable
from rankwise.measures.item_sums import CatalogueSums, RecommendationCount
from rankwise.results.group_columns import group_column
from rankwise.results.result import Result, Values
from rankwise.tables.align import matching
from rankwise.tables.protocol import Protocol
from rankwise.tables.table import Table

__all__ = ["summarise"]


@dataclass(frozen=True)
class _Summary:
    """Everything that a result is made of."""

    settings: Settings
    plan: Plan
    facts: FactTables
    user_table: UserTable
    truth: Table | None
    merged: Partial

    def result(self) -> Result:
        merged, plan = self.merged, self.plan
        items, catalogue_counts = self._items()
        users = self._users(0 if items is None else items.size)
        protocol = Protocol.read(merged.protocol)
        per_user = merged.users.select("user", "n_relevant", "list_length", *self._groups())
        per_user = per_user.with_columns(
            pl.Series(name, values)
            for name, values in values_of_users(plan.measures, users).items()
        )
        slices = self._slices(users, items)
        if protocol is not None and protocol.sampled:  # no frame of values without its label
            label = pl.lit(protocol.label).alias("label")
            per_user = per_user.with_columns(label)
            slices = None if slices is None else slices.with_columns(label)
        jackknifed, dealt = None, None
        if self.settings.jackknife is not None:
            group = self.user_table.groups_of(merged.users, JACKKNIFE)
            jackknifed = replicates(plan.measures, users, group, items)
            dealt = digest_of([merged.users["user"], group])
        provenance = self._provenance() | {
            "candidates": None if protocol is None else protocol.to_dict(),
            "jackknife": dealt,
        }
        return Result(
            replicates=jackknifed,
            measures=plan.measures,
            values=Values(totals(plan.measures, users, items)),
            kinds=kinds_of_values(plan.measures, users),
            per_user=per_user,
            counts=self._counts(users) | catalogue_counts,
            slices=slices,
            diagnostics={} if items is None else _diagnostics(plan, items),
            provenance=provenance,
        )

    def _groups(self) -> list[pl.Series]:
        """Return the groups of each user, one column for each of ``by``."""
        return [
            self.user_table.groups_of(self.merged.users, by).cast(pl.String).alias(group_column(by))
            for by in dict.fromkeys(self.settings.by)
        ]

    def _items(self) -> tuple[CatalogueSums | None, dict[str, int]]:
        """Return the sums of the catalogue's items, and what was counted on the way."""
        if not self.plan.needs_catalogue or self.merged.items is None:
            return None, {}
        catalogue = self.facts.tables.get("items")
        frame, outside = _in_catalogue(self.plan, self.merged.items, catalogue)
        counts = {"catalogue_items": len(frame)}
        if outside:
            counts["recommended_items_outside_catalogue"] = outside
        facts = self.facts.of_items(frame["item"])
        return CatalogueSums(frame, facts, self.merged.users), counts

    def _users(self, catalogue_size: int) -> UserColumns:
        users = self.merged.users
        return UserColumns(
            users,
            self.user_table.weights_of(users),
            self.facts.of_users(users["user"]),
            catalogue_size,
            self.settings.undefined,
        )

    def _counts(self, users: UserColumns) -> dict[str, int]:
        merged = self.merged
        counts = {name: count for name, count in sorted(merged.counts.items()) if count}
        counts |= {name: count for name, count in merged.reference_counts.items() if count}
        counts["users"] = len(merged.users)
        counts["users_without_list"] = int((merged.users["list_length"] == 0).sum())
        if "truth" in merged.inputs:
            counts["hits"] = merged.counts.get("hits", 0)
            counts["users_without_relevant_items"] = int((merged.users["n_relevant"] == 0).sum())
        else:  # nobody has relevant items where nothing says so
            counts.pop("lists_without_relevant_items", None)
        for column, groups in users.groups.items():
            if column != JACKKNIFE and (groups.code < 0).any():
                counts[f"users_without_group({column})"] = int((groups.code < 0).sum())
        return counts

    def _slices(self, users: UserColumns, items: CatalogueSums | None) -> pl.DataFrame | None:
        """Return the measures of every group of users."""
        rows = []
        for by in self.settings.by:
            groups = self.user_table.groups_of(users.users, by)
            names = groups.cast(pl.String)
            for group in groups.unique().sort(nulls_last=True).cast(pl.String):
                mask = names.is_null() if group is None else names == group
                inside = users.select(mask.fill_null(value=False).to_numpy())
                sums = None
                if items is not None and group is not None:
                    sums = replace(items, users=inside.users, within=(by, group))
                head = {"by": by, "group": group, "users": len(inside.users)}
                rows.append({**head, **totals(self.plan.measures, inside, sums)})
        if not rows:
            return None
        columns = dict.fromkeys(name for row in rows for name in row)
        filled = [{name: row.get(name, float("nan")) for name in columns} for row in rows]
        return pl.DataFrame(filled, infer_schema_length=None)

    def _provenance(self) -> dict[str, Any]:
        merged, facts = self.merged, self.facts
        cards = {role: _one_card(list(cards)) for role, cards in merged.inputs.items()}
        cards["recommendations"]["rows"] = merged.counts.get("rows", 0)
        split = cards["truth"].pop("split") if "truth" in cards else None
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
            },
            "settings": {
                **self.settings.to_dict(),
                "ties": "+".join(merged.ties),
                "catalogue": "given" if "items" in facts.tables else "every item seen",
            },
            "facts": facts.descriptions(),
            "measures": {
                str(measure): _in_full(measure.parameters) for measure in self.plan.measures
            },
            "inputs": {role: cards[role] for role in ("recommendations", "truth") if role in cards}
            | {role: table.card for role, table in facts.tables.items()},
        }


def summarise(
    merged: Partial,
    *,
    settings: Settings,
    plan: Plan,
    facts: FactTables,
    user_table: UserTable,
    truth: Table | None,
) -> Result:
    """Turn a merged partial into a `Result`.

    Raises
    ------
    EmptyError
        If no evaluated user has a recommendation list.
    """
    if not len(merged.users) or not (merged.users["list_length"] > 0).any():
        raise EmptyError(
            "no user that counts has a list",
            found=f"{merged.counts.get('lists', 0)} lists, "
            f"{len(merged.users)} users that count (population={settings.population!r})",
            hint="do recommendations and truth name users in the same way?",
        )
    return _Summary(settings, plan, facts, user_table, truth, merged).result()


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


def _in_catalogue(
    plan: Plan, items: pl.DataFrame, catalogue: Table | None
) -> tuple[pl.DataFrame, int]:
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
    if len(outside) and any(leaf.needs_catalogue == "whole" for leaf in plan.leaves):
        raise InputError(
            "a catalogue must hold every item that is recommended, relevant or seen in training, "
            "to count the items that are not",
            where=catalogue.source,
            found=f"{len(outside)} items outside it, such as {outside['item'][0]!r}",
            hint="leave the catalogue out, or add them to it",
        )
    shown = [
        name for name in items.columns
        if name != "item" and ItemColumn.read(name).key == RecommendationCount.name
    ]  # fmt: skip
    if shown:
        outside = outside.filter(pl.any_horizontal(pl.col(name) > 0 for name in shown))
    counts = pl.exclude("item")
    inside = ids.join(items, on="item", how="left")
    inside = inside.with_columns(counts.fill_null(0)) if items.width > 1 else inside
    return inside.sort("item"), len(outside)


def _in_full(parameters: dict[str, Any]) -> dict[str, Any]:
    plain = (bool, int, float, str, type(None))
    return {
        name: value if isinstance(value, plain) else str(value)
        for name, value in parameters.items()
    }
