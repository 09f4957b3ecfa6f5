"""Tallies: what is added up for every item, over all users, whatever pieces they come in.

Whole numbers add up exactly; floats are made whole (`rankwise.core.exact`). With ``by`` a tally is
kept for every group of users on its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from rankwise.core.backend import count, namespace
from rankwise.core.exact import exact_sums, read_sums
from rankwise.core.facts import Fact, Groups

if TYPE_CHECKING:
    import polars as pl

    from rankwise.core.backend import Array
    from rankwise.core.block import Block
    from rankwise.core.engine import Needs
    from rankwise.core.facts import Facts

__all__ = ["Hits", "ItemSums", "Recommended", "Relevant", "Repeated", "Seen", "Tally"]

_F = TypeVar("_F")


@dataclass(frozen=True)
class Tally:
    """Something that is added up for every item.

    Parameters
    ----------
    by : str
        A column of user groups, each with a tally of its own; empty for one tally of all users.
    """

    by: str = ""

    name: ClassVar[str]
    needs: ClassVar[Needs] = frozenset()
    whole: ClassVar[bool] = True
    """Whether every term is 1."""
    has_cutoff: ClassVar[bool] = True

    def rows(self, block: Block, k: int) -> tuple[Array, Array, Array | None]:
        """Return user number, item code and term (None: 1) of everything that is added."""
        raise NotImplementedError

    @property
    def key(self) -> str:
        """What tells it from other tallies, less the groups."""
        return self.name

    def column(self, k: int) -> str:
        """Return the name of its columns at a cut-off, less group and part."""
        key = f"{self.key} by {self.by}" if self.by else self.key
        return f"{key}@{k}" if self.has_cutoff else key

    def sums(self, block: Block, k: int) -> dict[str, Array]:
        """Add up a block's rows: an array of shape (n_items,) for each group and part.

        A key is the group's name, nothing without groups, and after ``#`` the part: nothing for
        whole numbers.
        """
        user, item, term = self.rows(block, k)
        if not self.by:
            return {f"#{part}": sums for part, sums in _parts(item, term, block.n_items).items()}
        xp, n = namespace(block.list_length), block.n_items
        groups = block.fact(Fact("user_group", self.by), Groups)
        code = xp.take(groups.code, xp.take(block.user, user))
        inside = code >= 0
        cell = code[inside] * n + item[inside]
        of_groups = _parts(cell, None if term is None else term[inside], n * len(groups.names))
        return {
            f"{name}#{part}": sums[at * n : (at + 1) * n]
            for part, sums in of_groups.items()
            for at, name in enumerate(groups.names)
        }


def _parts(index: Array, term: Array | None, size: int) -> dict[str, Array]:
    return {"": count(index, size)} if term is None else exact_sums(index, term, size)


class Recommended(Tally):
    """How often each item stands in the first k of a list."""

    name: ClassVar[str] = "recommended"
    needs: ClassVar[Needs] = frozenset({"listed"})

    def rows(self, block: Block, k: int) -> tuple[Array, Array, Array | None]:
        """Return the rows of the lists."""
        listed = block.rows("listed")
        near = listed.rank <= k
        return listed.user[near], listed.item[near], None


class Hits(Tally):
    """How often each item stands in the first k of a list and is relevant to its user.

    Where scores tie, an item that may stand there counts with the chance that it does.
    """

    name: ClassVar[str] = "hits"
    whole: ClassVar[bool] = False

    def rows(self, block: Block, k: int) -> tuple[Array, Array, Array | None]:
        """Return the relevant items of the lists."""
        hits = block.hits
        xp = namespace(hits.rank)
        near = hits.each(xp.astype(hits.rank <= k, xp.float64))
        return hits.owner, hits.item, near


class Relevant(Tally):
    """To how many users each item is relevant."""

    name: ClassVar[str] = "relevant"
    needs: ClassVar[Needs] = frozenset({"relevant"})
    has_cutoff: ClassVar[bool] = False

    def rows(self, block: Block, k: int) -> tuple[Array, Array, Array | None]:
        """Return the relevant items."""
        rows = block.rows("relevant")
        return rows.user, rows.item, None


class Seen(Tally):
    """How many users with a list have each item in their training history, listed or not."""

    name: ClassVar[str] = "seen"
    needs: ClassVar[Needs] = frozenset({"profile"})
    has_cutoff: ClassVar[bool] = False

    def rows(self, block: Block, k: int) -> tuple[Array, Array, Array | None]:
        """Return the items of the histories."""
        rows = block.rows("profile")
        near = namespace(rows.user).take(block.list_length, rows.user) > 0
        return rows.user[near], rows.item[near], None


class Repeated(Tally):
    """How many users have each item both in their list and in their history: it was not masked."""

    name: ClassVar[str] = "repeated"
    needs: ClassVar[Needs] = frozenset({"repeats"})
    has_cutoff: ClassVar[bool] = False

    def rows(self, block: Block, k: int) -> tuple[Array, Array, Array | None]:
        """Return what lists and histories share."""
        assert block.repeats is not None  # the plan sees to it
        return block.repeats.user, block.repeats.item, None


@dataclass(frozen=True)
class ItemSums:
    """Everything that was added up, with a row for every item of the catalogue.

    Attributes
    ----------
    frame : polars.DataFrame
        A row an item, a column a part of a tally.
    facts : mapping of Fact to object
        What is known about these items, in the same order.
    users : polars.DataFrame
        The counted users with their ``list_length``.
    within : tuple of str, optional
        A column of user groups and the group that is spoken of; nothing: all users.
    without : tuple of str, optional
        A column of user groups and the group that is left out.
    """

    frame: pl.DataFrame
    facts: Facts
    users: pl.DataFrame
    within: tuple[str, str] | None = None
    without: tuple[str, str] | None = None

    @property
    def is_part(self) -> bool:
        """Whether these are the sums of some users only."""
        return self.within is not None or self.without is not None

    @property
    def size(self) -> int:
        """The size of the catalogue."""
        return len(self.frame)

    @property
    def n_listed(self) -> int:
        """The number of counted users with a list."""
        return int((self.users["list_length"] > 0).sum())

    def sum(self, tally: Tally, k: int) -> Any:
        """Return the sum of every item."""
        if self.within is not None:
            column, group = self.within
            return self.by_group(replace(tally, by=column), k)[group]
        if self.without is not None:
            column, group = self.without
            left_out = self.by_group(replace(tally, by=column), k)[group]
            return self.by_group(tally, k)[""] - left_out
        return self.by_group(tally, k)[""]

    def available(self) -> Any:
        """Count the users with a list who could have been shown each item.

        What a user has seen in training could not, unless it stands in the list all the same.
        """
        return self.n_listed - (self.sum(Seen(), 0) - self.sum(Repeated(), 0))

    def by_group(self, tally: Tally, k: int) -> dict[str, Any]:
        """Return the sum of every item in every group of users."""
        head = tally.column(k) + "#"
        found: dict[str, dict[str, Any]] = {}
        for name in self.frame.columns:
            if name.startswith(head):
                group, _, part = name.removeprefix(head).rpartition("#")
                found.setdefault(group, {})[part] = self.frame[name].to_numpy()
        return {
            group: parts[""] if tally.whole else read_sums(parts) for group, parts in found.items()
        }

    def fact(self, fact: Fact, kind: type[_F]) -> _F:
        """Return a fact about these items."""
        found = self.facts[fact]
        assert isinstance(found, kind)
        return found
