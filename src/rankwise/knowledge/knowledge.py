"""Knowledge: the facts that some measures need, found in the tables before any work is done."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from rankwise.core.facts import Fact, Groups
from rankwise.errors import ColumnError, MeasureError
from rankwise.io.align import matching
from rankwise.knowledge import build
from rankwise.knowledge.columns import Found, find, read_categories, read_features, read_groups

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rankwise.core.facts import FactKind
    from rankwise.core.segments import Ints
    from rankwise.io.columns import Columns, Kind
    from rankwise.io.tables import Table
    from rankwise.knowledge.columns import Named
    from rankwise.measures.measure import Measure
    from rankwise.prepare import Vocabularies

__all__ = ["Knowledge"]

Where: TypeAlias = "Callable[[Table, pl.Series, str], Ints]"
"""Ids of a table, and their role, to the row of each target among them, -1 for none."""

_TABLES: dict[FactKind, tuple[Kind, ...]] = {
    "popularity": ("train",), "history": ("train",), "similarity": ("train",),
    "source": ("train", "users"), "baseline": ("baseline",), "categories": ("items",),
    "features": ("items",), "item_group": ("items",), "propensity": ("items",),
    "user_group": ("users",),
}  # fmt: skip
_SAID: dict[Kind, str] = {
    "train": "training interactions",
    "users": "a table of users with their groups",
    "baseline": "the lists of another run",
}
_OF = {"categories": "categories", "features": "feature vectors", "item_group": "groups",
       "propensity": "propensities"}  # fmt: skip
_OF_ITEMS = ("popularity", "categories", "features", "item_group", "propensity", "source")


@dataclass(frozen=True)
class Knowledge:
    """The tables beside recommendations and truth, and what measures need of them.

    Parameters
    ----------
    wanted : mapping of Fact to Measure
        What is needed, and who needs it.
    tables : mapping of str to Table
        Those of train, items, users and baseline that were given.
    columns : mapping, optional
        Columns named by the caller.

    Raises
    ------
    MeasureError
        If a table or a column is missing: before any work is done.
    """

    wanted: Mapping[Fact, Measure]
    tables: Mapping[Kind, Table]
    columns: Columns | None = None
    counts: dict[str, int] = field(default_factory=dict)
    """What was out of the ordinary in the tables."""
    _payloads: dict[tuple[Fact, bool], Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        for fact, measure in self.wanted.items():
            for kind in _TABLES[fact.kind]:
                if kind not in self.tables:
                    raise MeasureError(
                        f"{measure} needs "
                        + _SAID.get(kind, f"a table of items with their {_OF.get(fact.kind)}"),
                        found=f"no {kind}",
                        hint=f"pass {kind}=, on the command line --{kind} FILE",
                    )
        for fact in self.wanted:
            _ = self.found[fact]
        for kind in {kind for fact in self.wanted for kind in _TABLES[fact.kind]} & {"items"}:
            _check_once(self.tables[kind], "item")

    @cached_property
    def found(self) -> dict[Fact, Found]:
        """The columns of every fact that is a column."""
        return {
            fact: find(self.tables[_TABLES[fact.kind][-1]], self._column(fact), m, self.columns)
            if fact.column
            else Found(())
            for fact, m in self.wanted.items()
        }

    @staticmethod
    def _column(fact: Fact) -> Fact:
        return Fact("user_group", fact.column) if fact.kind == "source" else fact

    @property
    def coded(self) -> list[Kind]:
        """The tables whose ids must be in the vocabularies."""
        kinds = {kind for fact in self.wanted for kind in _TABLES[fact.kind]}
        return sorted(kinds)

    def by_code(
        self, words: Vocabularies, tables: Mapping[Kind, Table], *, distinct: bool
    ) -> dict[Fact, object]:
        """Return the facts of every code.

        ``tables`` are those of `coded`, aligned; ``distinct`` says that no training row repeats
        another, which makes counting users as cheap as counting rows.
        """
        for kind, table in tables.items():  # codes of train are given already; arrays come after
            for role, vocabulary in (("user", words.users), ("item", words.items)):
                if role in table.frame.columns and kind not in ("train", "baseline"):
                    vocabulary.encode(table.frame[role].unique())
        of_items = any(fact.kind in (*_OF_ITEMS, "similarity") for fact in self.wanted)
        sizes = {"user": words.users.size, "item": words.items.size if of_items else 0}

        def where(_: Table, ids: pl.Series, role: str) -> Ints:
            at = np.full(sizes[role], -1, dtype=np.int64)
            at[getattr(words, f"{role}s").encode(ids)] = np.arange(len(ids))
            return at

        wanted = [fact for fact in self.wanted if fact.kind not in ("history", "baseline")]
        return self._place(tables, where, wanted, distinct=distinct)

    def of_items(self, ids: pl.Series) -> dict[Fact, object]:
        """Return the facts of these items, in their order."""
        wanted = [fact for fact in self.wanted if fact.kind in _OF_ITEMS]
        return self._place(self.tables, partial(_positions, ids=ids), wanted)

    def of_users(self, ids: pl.Series) -> dict[str, Groups]:
        """Return the groups of these users, in their order, by column."""
        wanted = [fact for fact in self.wanted if fact.kind == "user_group"]
        found = self._place(self.tables, partial(_positions, ids=ids), wanted)
        return {fact.column: of for fact, of in found.items() if isinstance(of, Groups)}

    def said(self) -> dict[str, str]:
        """Say of every fact where it came from."""
        out = {}
        for fact in sorted(self.wanted):
            payload = next((p for (f, _), p in self._payloads.items() if f == fact), None)
            columns = ", ".join(self.found[fact].names)
            out[str(fact)] = getattr(payload, "said", "") or (
                f"column {columns!r}" if columns else _TABLES[fact.kind][0]
            )
        return out

    def _place(
        self,
        tables: Mapping[Kind, Table],
        where: Where,
        wanted: list[Fact],
        *,
        distinct: bool = False,
    ) -> dict[Fact, object]:
        out: dict[Fact, object] = {}
        for fact in wanted:
            if fact.kind in ("popularity", "similarity", "source"):
                out[fact] = self._from_train(fact, tables["train"], where, distinct=distinct)
            elif fact.kind == "user_group":
                table = tables["users"]
                at = where(table, table.frame["user"], "user")
                out[fact] = build.place_groups(self._groups(fact), at)
            else:
                out[fact] = self._from_items(fact, tables["items"], where)
        return out

    def _from_train(self, fact: Fact, train: Table, where: Where, *, distinct: bool) -> object:
        text = train.frame["item"].dtype == pl.String
        if fact.kind == "popularity":
            frame, n_users = self._payload(
                fact,
                lambda: (
                    build.popularity_frame(train, distinct=distinct),
                    train.frame["user"].n_unique(),
                ),
                text=text,
            )
            return build.place_popularity(frame, n_users, where(train, frame["item"], "item"))
        if fact.kind == "similarity":
            target, size = _targets(train, train.frame["item"], where)
            return build.similarity(train, target, size)
        # Groups are numbered once, by all users; of these, those who can match are joined.
        groups = self._groups(Fact("user_group", fact.column))
        everyone = self.tables["users"]
        coded = everyone.frame.select("user").with_columns(group=pl.Series(groups.code))
        users = matching(everyone.with_frame(coded), "user", train.frame["user"])
        frame = self._payload(
            fact, lambda: build.source_frame(train, users, distinct=distinct), text=text
        )
        target, size = _targets(train, frame["item"], where)
        return build.place_source(frame, target, groups.names, size)

    def _from_items(self, fact: Fact, table: Table, where: Where) -> object:
        found, at = self.found[fact], where(table, table.frame["item"], "item")
        if fact.kind == "propensity":
            return build.place_propensity(table, found.names[0], at)
        if fact.kind == "features":
            return build.place_features(
                self._payload(fact, lambda: read_features(table, found)), at
            )
        if fact.kind == "categories":
            return build.place_categories(
                self._payload(fact, lambda: read_categories(table, found)), at
            )
        return build.place_groups(self._groups(fact), at)

    def _groups(self, fact: Fact) -> Named:
        table = self.tables["users" if fact.kind == "user_group" else "items"]
        named: Named = self._payload(fact, lambda: read_groups(table, self.found[fact].names[0]))
        return named

    def _payload(self, fact: Fact, make: Callable[[], Any], *, text: bool = False) -> Any:
        """Read a table once; where the ids matter, once for integers and once for strings."""
        if (fact, text) not in self._payloads:
            self._payloads[fact, text] = make()
        return self._payloads[fact, text]


def _targets(table: Table, ids: pl.Series, where: Where) -> tuple[Ints, int]:
    """Return where each item goes, -1 for nowhere, and how many places there are."""
    items = ids.unique(maintain_order=True)
    at = where(table, items, "item")
    place = np.full(len(items), -1, dtype=np.int64)
    place[at[at >= 0]] = np.flatnonzero(at >= 0)
    row = ids.replace_strict(items, np.arange(len(items)), return_dtype=pl.Int64)
    return place[row.to_numpy().astype(np.int64)], len(at)


def _positions(table: Table, own: pl.Series, role: str, ids: pl.Series) -> Ints:
    """Return the row of each id among a table's own, -1 where it is not there."""
    numbered = pl.DataFrame({role: own, "at": np.arange(len(own))})
    right = matching(table.with_frame(numbered), role, ids).unique(role, keep="first")
    left = pl.DataFrame({role: ids})
    at = left.join(right, on=role, how="left", maintain_order="left")["at"]
    return at.fill_null(-1).to_numpy()


def _check_once(table: Table, role: str) -> None:
    ids = table.frame[role]
    if ids.n_unique() < len(ids):
        raise ColumnError(
            f"an {role} stands twice in the table of {table.kind}",
            where=table.source,
            found=f"{role} {ids.filter(ids.is_duplicated())[0]!r}",
            hint=f"keep one row an {role}",
        )
