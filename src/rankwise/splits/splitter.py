"""What all splitters share: validation, filters, cold users and items, and no empty side."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import polars as pl

from rankwise.arguments import check_choice
from rankwise.errors import EmptyError, ParameterError
from rankwise.io.tables import from_arrow
from rankwise.splits.card import known_rows, one_line, plain
from rankwise.splits.filters import Filter
from rankwise.splits.rows import Mask, Rows, read_rows, spread
from rankwise.splits.split import Folds, Split, library_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankwise.io.columns import Columns
    from rankwise.splits.times import TimeUnit

__all__ = ["Cold", "Cut", "FoldSplitter", "SingleSplitter", "Splitter"]

Cold: TypeAlias = Literal["keep", "drop", "only"]


@dataclass
class Cut:
    """What a rule says of some rows, before anything is filtered."""

    masks: dict[str, Mask]
    found: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of_test(cls, test: Mask, found: dict[str, Any] | None = None) -> Cut:
        """Return a cut in two: test, and all the rest to learn from."""
        return cls({"train": ~test, "test": test}, found or {})


@dataclass(frozen=True, kw_only=True, repr=False)
class Splitter:
    """A rule that puts rows into training and test, and what is done to both afterwards.

    Parameters
    ----------
    validation : Splitter, optional
        Another rule, for the training rows of this one: its test part is the validation part.
    filters : sequence of Filter
        What training rows must satisfy: `KCore`, `MinRating`, `MinRows`, `Deduplicate`.
    filter_on : {"train", "all"}
        Filter training rows, after the cut; or all rows before it, where test rows then decide
        what is trained on.
    cold_users, cold_items : {"keep", "drop", "only"}
        What happens to rows of validation and test whose user has neither training rows nor a
        history (whose item has no training rows): they stay, they go, or they alone stay.
        ``split.users`` and ``split.items`` say who is cold.
    seen : {"keep", "drop"}
        What happens to rows of validation and test whose user has the same item in training or
        history.
    """

    validation: Splitter | None = None
    filters: Sequence[Filter] = ()
    filter_on: Literal["train", "all"] = "train"
    cold_users: Cold = "keep"
    cold_items: Cold = "keep"
    seen: Literal["keep", "drop"] = "keep"

    def __post_init__(self) -> None:
        check_choice("filter_on", self.filter_on, Literal["train", "all"])
        check_choice("cold_users", self.cold_users, Cold)
        check_choice("cold_items", self.cold_items, Cold)
        check_choice("seen", self.seen, Literal["keep", "drop"])
        if not isinstance(self.filters, list | tuple) or not all(
            isinstance(each, Filter) for each in self.filters
        ):
            raise ParameterError(
                "filters is a list of filters", found=repr(self.filters), hint="[KCore(5)]"
            )
        object.__setattr__(self, "filters", tuple(self.filters))
        if self.validation is not None and not isinstance(self.validation, SingleSplitter):
            raise ParameterError(
                "validation is a rule that gives one split",
                found=f"{self.validation!r}",
                hint="pass GlobalTime(…), LeaveOut(…), Holdout(…) or UserHoldout(…)",
            )
        if self.validation is not None and self.validation.has_extras:
            raise ParameterError(
                "filters, cold and seen rows are looked after by the outer rule alone",
                found=f"validation={self.validation!r}",
                hint="give them to the rule that has validation=",
            )
        self._check()

    def __repr__(self) -> str:
        return one_line(self.to_dict())

    @property
    def has_extras(self) -> bool:
        """Whether the rule does more than to cut in two."""
        kept = (self.cold_users, self.cold_items, self.seen) == ("keep", "keep", "keep")
        return bool(self.validation is not None or self.filters or not kept)

    def _check(self) -> None:
        """Raise if a parameter makes no sense."""

    def to_dict(self) -> dict[str, Any]:
        """Return the rule and all its parameters as plain values.

        `rankwise.splits.from_dict` makes the same rule of them.
        """
        out: dict[str, Any] = {"rule": type(self).__name__}
        for own in fields(self):
            value = getattr(self, own.name)
            if own.name == "filters":
                value = [each.to_dict() for each in value]
            elif isinstance(value, Splitter):
                value = value.to_dict()
            unsaid = value is None and own.default is None
            if not unsaid and not (isinstance(value, list) and not value):
                out[own.name] = plain(value)
        return out

    def _finish(self, source: Any, rows: Rows, cut: Cut, rule: dict[str, Any]) -> Split:
        """Filter, cut validation off training, look after the cold, and refuse empty sides."""
        masks, found = cut.masks, dict(cut.found)
        if self.filters and self.filter_on == "train":
            _refuse_empty({"train": masks["train"]}, rule, found)
            masks["train"] = self._filtered(rows, masks["train"], found)
        if self.validation is not None:
            _refuse_empty(masks, rule, found)
            masks, inner = _with_validation(self.validation, rows, masks)
            found |= {f"validation_{name}": value for name, value in inner.items()}
        for part in ("validation", "test"):
            if part in masks:
                masks[part] = self._without_cold(rows, masks, part, found)
        _refuse_empty(masks, rule, found)
        return Split(source, rows, masks, rule, found)

    def _filtered(self, rows: Rows, mask: Mask, found: dict[str, Any]) -> Mask:
        for each in self.filters:
            kept = spread(mask, each.keep(rows.select(mask)))
            name = f"rows_filtered({type(each).__name__})"
            found[name] = found.get(name, 0) + int(mask.sum() - kept.sum())
            mask = kept
            if not mask.any():
                raise EmptyError("the filters leave no rows", where=f"{each!r}")
        return mask

    def _without_cold(
        self, rows: Rows, masks: dict[str, Mask], part: str, found: dict[str, Any]
    ) -> Mask:
        mask = masks[part]
        for what, codes in ((self.cold_users, rows.user), (self.cold_items, rows.item)):
            if what == "keep":
                continue
            known = known_rows(masks, part, "user" if codes is rows.user else "item")
            warm = (codes.count(known) > 0)[codes.of_row]
            left = mask & (warm if what == "drop" else ~warm)
            name = "cold" if what == "drop" else "warm"
            role = "users" if codes is rows.user else "items"
            found[f"{part}_rows_of_{name}_{role}_dropped"] = int(mask.sum() - left.sum())
            mask = left
        if self.seen == "drop":
            left = mask & ~rows.pairs_in(mask, known_rows(masks, part, "user"))
            found[f"{part}_rows_seen_dropped"] = int(mask.sum() - left.sum())
            mask = left
        return mask

    def _before(
        self, source: Any, columns: Columns | None, unit: TimeUnit | None
    ) -> tuple[Rows, Mask | None, dict[str, Any]]:
        """Read the rows, and say which of them a filter on all rows keeps."""
        rows = read_rows(source, columns, unit)
        found: dict[str, Any] = {}
        if not self.filters or self.filter_on == "train":
            return rows, None, found
        return rows, self._filtered(rows, np.ones(len(rows), dtype=bool), found), found


@dataclass(frozen=True, kw_only=True, repr=False)
class SingleSplitter(Splitter):
    """A rule that gives one split."""

    def split(
        self,
        interactions: Any,
        *,
        columns: Columns | None = None,
        time_unit: TimeUnit | None = None,
    ) -> Split:
        """Split a table.

        Parameters
        ----------
        interactions : table, path, mapping or sparse matrix
            A row an interaction, with user and item, and for rules of time a timestamp: numbers,
            dates, or dates as text.
        columns : mapping of str to str or None, optional
            Which column has which role, where the names do not say so: ``{"user": "uid"}``.
        time_unit : {"s", "ms", "us", "ns"}, optional
            What numbers in the timestamp count; guessed from their size without it, and said in
            the card.

        Returns
        -------
        Split

        Raises
        ------
        InputError
            If the table cannot be split so; a side that would be empty is named.
        """
        source = _collected(interactions)
        rows, kept, found = self._before(source, columns, time_unit)
        cut = self._cut_of(rows, kept)
        return self._finish(source, rows, Cut(cut.masks, found | cut.found), self.to_dict())

    def _cut_of(self, rows: Rows, kept: Mask | None) -> Cut:
        if kept is None:
            return self._cut(rows)
        cut = self._cut(rows.select(kept))
        return Cut({name: spread(kept, mask) for name, mask in cut.masks.items()}, cut.found)

    @abstractmethod
    def _cut(self, rows: Rows) -> Cut:
        """Put rows into parts."""


@dataclass(frozen=True, kw_only=True, repr=False)
class FoldSplitter(Splitter):
    """A rule that gives several splits."""

    def split(
        self,
        interactions: Any,
        *,
        columns: Columns | None = None,
        time_unit: TimeUnit | None = None,
    ) -> Folds:
        """Split a table several times; parameters are those of a single split.

        Returns
        -------
        Folds
            A sequence of `Split`, each made when it is asked for.
        """
        source = _collected(interactions)
        rows, kept, found = self._before(source, columns, time_unit)
        own = rows if kept is None else rows.select(kept)
        count, cut = self._folds(own)
        rule = self.to_dict()

        def make(at: int) -> Split:
            made = cut(at)
            if kept is not None:
                made.masks = {name: spread(kept, mask) for name, mask in made.masks.items()}
            here = {"fold": at, "folds": count, **found, **made.found}
            return self._finish(source, rows, Cut(made.masks, here), rule)

        return Folds(int(count), make, (_again, (self, source, columns, time_unit)))

    @abstractmethod
    def _folds(self, rows: Rows) -> Any:
        """Return how many folds there are, and what makes the cut of each."""


def _again(
    rule: FoldSplitter, source: Any, columns: Columns | None, unit: TimeUnit | None
) -> Folds:
    """Split again, in another process."""
    return rule.split(source, columns=columns, time_unit=unit)


def _collected(source: Any) -> Any:
    """Run a query once: its rows need not come in the same order again."""
    if isinstance(source, pl.LazyFrame):
        return source.collect()
    if hasattr(source, "__arrow_c_stream__") and library_of(source) is None:
        return from_arrow(source, "interactions")
    return source


def _with_validation(
    rule: Splitter, rows: Rows, masks: dict[str, Mask]
) -> tuple[dict[str, Mask], dict[str, Any]]:
    assert isinstance(rule, SingleSplitter)
    inside = masks["train"]
    cut = rule._cut(rows.select(inside))
    inner = {name: spread(inside, mask) for name, mask in cut.masks.items()}
    out = {"train": inner.pop("train"), "validation": inner.pop("test")}
    out |= {f"validation_{name}": mask for name, mask in inner.items()}
    return {**out, **{name: mask for name, mask in masks.items() if name != "train"}}, cut.found


def _refuse_empty(masks: dict[str, Mask], rule: dict[str, Any], found: dict[str, Any]) -> None:
    names = {"train": "training"}
    for part in ("train", "validation", "test"):
        if part in masks and not masks[part].any():
            said = ", ".join(f"{name} {value}" for name, value in found.items())
            sizes = ", ".join(f"{name} {mask.sum()}" for name, mask in masks.items())
            raise EmptyError(
                f"the {names.get(part, part)} side of the split is empty",
                where=f"{rule['rule']}" + (f" ({said})" if said else ""),
                found=f"rows: {sizes}",
            )
