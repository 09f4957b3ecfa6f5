"""The users that moved most between two systems: both values, and the ranks of their relevant items."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import polars as pl

from rankwise.comparison.alignment import align_users
from rankwise.core.arguments import Missing, check_positive
from rankwise.core.terminal import TableDisplay, TableView, brief, count_of, percent, signed
from rankwise.errors import ParameterError
from rankwise.messages import parameter
from rankwise.results.intervals import group_column
from rankwise.results.result import Result
from rankwise.results.sampling_unit import Row
from rankwise.tables.read import read_table

_GROUP = group_column("")[:-1]  # how columns of groups begin


@runtime_checkable
class RunsOfUsers(Protocol):
    """The values of users in several runs of one system, as `rankwise.stability` returns them."""

    users: pl.DataFrame


@dataclass(frozen=True, eq=False, repr=False)
class Movers(TableDisplay):
    """The users that moved most, from `Comparison.movers`.

    Attributes
    ----------
    table : polars.DataFrame
        One row per user, the largest losses first, then the largest gains: ``user``, ``side``
        (``"loss"`` or ``"gain"``), columns of groups, both values (``before`` of the baseline,
        ``after`` of the system), their ``difference``, the number of ``relevant`` items, the length
        of both lists (``list_before``, ``list_after``; null if unknown) and, where lists and truth
        were passed, the ranks of the relevant items that are listed (``ranks_before``,
        ``ranks_after``).
    metric, baseline, system : str
        What was compared.
    counts : dict
        How many users ``lose``, ``gain``, are ``unchanged``, or are ``left_out`` because one
        result has no value of them.
    shares : dict
        The share of the shown users in all that is lost, and in all that is gained.
    notes : list of str
        What noise would move without a change, if it was passed.
    unit : {"user", "request"}
        What one row of values is of.
    has_direction : bool
        Whether one direction of the metric is better; else a ``"gain"`` is a larger value.
    """

    table: pl.DataFrame
    metric: str
    baseline: str
    system: str
    counts: dict[str, int]
    shares: dict[str, float]
    notes: list[str]
    unit: Row = "user"
    has_direction: bool = True

    @property
    def names(self) -> dict[str, str]:
        """The metric and both systems, by what they are."""
        return {"metric": self.metric, "baseline": self.baseline, "system": self.system}

    @property
    def losses(self) -> list[Any]:
        """The users with the largest losses, the largest first."""
        return self.table.filter(pl.col("side") == "loss")["user"].to_list()

    @property
    def gains(self) -> list[Any]:
        """The users with the largest gains, the largest first."""
        return self.table.filter(pl.col("side") == "gain")["user"].to_list()

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, ready for JSON."""
        return {
            **self.names,
            "counts": self.counts,
            "shares": self.shares,
            "notes": self.notes,
            "users": self.table.to_dicts(),
        }

    @property
    def sentence(self) -> str:
        """How many users lose, gain and see no difference."""
        counts = self.counts
        lose, gain = counts["lose"], counts["gain"]
        between = f"{self.metric} between {self.baseline} and {self.system}"
        if not self.has_direction:
            has = "has" if lose == 1 else "have"
            return (
                f"{count_of(lose, self.unit)} {has} a lower value, {gain:,} a higher one and "
                f"{counts['unchanged']:,} the same {between}; neither direction is better."
            )
        return (
            f"{count_of(lose, self.unit)} {'loses' if lose == 1 else 'lose'}, {gain:,} "
            f"{'gains' if gain == 1 else 'gain'}, {counts['unchanged']:,} see no difference in "
            f"{between}."
        )

    @property
    def views(self) -> list[TableView]:
        """The sentence, and one row per user."""
        groups = [name for name in self.table.columns if name.startswith(_GROUP)]
        has_ranks = "ranks_before" in self.table.columns
        head = (
            self.unit,
            *(name[len(_GROUP) : -1] for name in groups),
            self.baseline,
            self.system,
            "difference",
            *(["relevant items at"] if has_ranks else ["relevant items"]),
        )
        rows = [
            (
                str(row["user"]),
                *(str(row[name]) for name in groups),
                brief(row["before"]) + _no_list(row["list_before"]),
                brief(row["after"]) + _no_list(row["list_after"]),
                signed(row["difference"]),
                _ranks_text(row) if has_ranks else _or_dash(row["relevant"]),
            )
            for row in self.table.to_dicts()
        ]
        return [
            TableView((), (), caption=self.sentence),
            TableView(
                head,
                rows,
                self._notes,
                left=(0, *range(1, 1 + len(groups)), *([len(head) - 1] if has_ranks else [])),
                title=f"The {self.unit}s that moved most.",
                label="rankwise-movers",
            ),
        ]

    @property
    def _notes(self) -> list[str]:
        """How much of all losses and gains the shown users are, and what noise would move."""
        notes = []
        words = (("loss", "losses", "lost"), ("gain", "gains", "gained"))
        if not self.has_direction:
            words = (("decrease", "decreases", "lower"), ("increase", "increases", "higher"))
        sides = (("loss", self.losses), ("gain", self.gains))
        for (side, users), (one, several, what) in zip(sides, words, strict=True):
            if users:
                largest = (
                    f"The largest {one} is"
                    if len(users) == 1
                    else f"The {len(users)} largest {several} are"
                )
                share = percent(self.shares[side])
                notes.append(f"{largest} {share} of all that is {what}.")
        if self.counts["left_out"]:
            left_out = count_of(self.counts["left_out"], self.unit)
            notes.append(f"{left_out} have a value in one result.")
        return [*notes, *self.notes]


def find_movers(
    results: Mapping[str, Result],
    pair: tuple[str, str],
    cell: str,
    *,
    n: int = 10,
    missing: Missing = "error",
    lists: Mapping[str, Any] | None = None,
    truth: Any = None,
    noise: Any = None,
) -> Movers:
    """Return the users that moved most between a baseline and a system; as `Comparison.movers`.

    Users with a value in one result count 0 in the other with ``missing="zero"``; else they are
    left out, and counted.
    """
    check_positive(n=n)
    baseline, system = pair
    both = {name: results[name] for name in pair}
    shared: Missing = "zero" if missing == "zero" else "common"
    aligned = align_users(both, cell, shared, with_ids=True)
    assert aligned.ids is not None
    before, after = aligned.values.T
    direction = results[baseline].direction(cell)
    sign = -1.0 if direction is False else 1.0
    moved = pl.DataFrame({"user": aligned.ids, "before": before, "after": after}).with_columns(
        difference=pl.col("after") - pl.col("before")
    )
    gain = pl.col("difference") * sign
    sides = {
        side: moved.filter(way > 0).sort(way, "user", descending=[True, False])
        for side, way in (("loss", -gain), ("gain", gain))
    }
    shown = {side: rows.head(n).with_columns(side=pl.lit(side)) for side, rows in sides.items()}
    table = pl.concat([shown["loss"], shown["gain"]])
    table = _with_facts(table, both, lists, truth)
    table = _with_lengths(table, both)
    unchanged = len(moved) - sum(map(len, sides.values()))
    return Movers(
        table,
        cell,
        baseline,
        system,
        {
            "lose": len(sides["loss"]),
            "gain": len(sides["gain"]),
            "unchanged": unchanged,
            "left_out": aligned.dropped,
        },
        {side: _share(shown[side], rows) for side, rows in sides.items()},
        _noise_notes(noise, cell, shown, len(moved), sign),
        results[baseline].sampling_unit.row,
        direction is not None,
    )


def _share(shown: pl.DataFrame, rows: pl.DataFrame) -> float:
    """Return the share of the shown users in the sum of all changes of a side."""
    total = float(rows["difference"].abs().sum())
    return float(shown["difference"].abs().sum()) / total if total else 0.0


def _with_facts(
    table: pl.DataFrame, both: Mapping[str, Result], lists: Any, truth: Any
) -> pl.DataFrame:
    """Return the users with their groups, numbers of relevant items, and the ranks of these."""
    facts = next(iter(both.values())).units
    groups = [name for name in facts.columns if name.startswith(_GROUP)]
    counted = [name for name in ("n_relevant",) if name in facts.columns]
    dtype = table.schema["user"]
    own = facts.select(pl.col("user").cast(dtype), *groups, *counted).unique("user")
    table = table.join(own, on="user", how="left", maintain_order="left")
    relevant = pl.col("n_relevant") if counted else pl.lit(None, dtype=pl.Int64)
    table = table.select(
        "user", "side", *groups, "before", "after", "difference", relevant=relevant.cast(pl.Int64)
    )
    if lists is None and truth is None:
        return table
    return _with_ranks(table, both, lists, truth)


def _with_lengths(table: pl.DataFrame, both: Mapping[str, Result]) -> pl.DataFrame:
    """Return the users with the length of both lists; null where a result does not know it."""
    dtype = table.schema["user"]
    for result, column in zip(both.values(), ("list_before", "list_after"), strict=True):
        units = result.units
        if "list_length" not in units.columns or units["user"].is_duplicated().any():
            table = table.with_columns(pl.lit(None, dtype=pl.Int64).alias(column))
            continue
        lengths = units.select(pl.col("user").cast(dtype), pl.col("list_length").alias(column))
        table = table.join(lengths, on="user", how="left", maintain_order="left")
    return table


def _or_dash(number: int | None) -> str:
    return "–" if number is None else str(number)


def _no_list(length: int | None) -> str:
    """Return the mark of a user without a list."""
    return " (no list)" if length == 0 else ""


def _with_ranks(
    table: pl.DataFrame, both: Mapping[str, Result], lists: Any, truth: Any
) -> pl.DataFrame:
    """Return the users with the ranks of their relevant items in both lists."""
    if not isinstance(lists, Mapping) or any(name not in lists for name in both) or truth is None:
        raise ParameterError(
            "ranks of relevant items need the lists of both systems, and the ground truth",
            found=", ".join(map(str, lists)) if isinstance(lists, Mapping) else "no lists",
            hint=f"pass {parameter('lists')} by the names of the systems, and {parameter('truth')}",
        )
    first = next(iter(both.values()))
    threshold = first.provenance.get("settings", {}).get("relevance_threshold")
    text = [pl.col("user", "item").cast(pl.String)]
    relevant = read_table(truth, "truth").relevant(threshold).select(text)
    for name, column in zip(both, ("ranks_before", "ranks_after"), strict=True):
        placed = positions(read_table(lists[name], "recommendations").frame)
        hits = placed.join(relevant, on=["user", "item"], how="semi").sort("user", "position")
        ranks = hits.group_by("user").agg(pl.col("position").cast(pl.Int64).alias(column))
        table = (
            table.with_columns(key=pl.col("user").cast(pl.String))
            .join(ranks, left_on="key", right_on="user", how="left", maintain_order="left")
            .with_columns(pl.col(column).fill_null([]))
            .drop("key")
        )
    return table


def positions(frame: pl.DataFrame) -> pl.DataFrame:
    """Return lists in their order, ids as text: by rank, else by score, else by row."""
    ids = [pl.col(name).cast(pl.String) for name in ("user", "item")]
    if "rank" in frame.columns:
        ordered = frame.sort("user", "rank", maintain_order=True)
    elif "score" in frame.columns:
        ordered = frame.sort("user", "score", "item", descending=[False, True, False])
    else:
        ordered = frame
    return ordered.select(*ids, position=pl.int_range(1, pl.len() + 1).over("user"))


def _noise_notes(
    noise: Any, cell: str, shown: Mapping[str, pl.DataFrame], users: int, sign: float
) -> list[str]:
    """Return how many users would lose as much without a change."""
    if noise is None:
        return []
    if not isinstance(noise, RunsOfUsers):
        raise ParameterError(
            "noise is what stability returns", found=parameter("noise", type(noise).__name__)
        )
    own = noise.users.filter(pl.col("metric") == cell)
    losses = shown["loss"]
    if own.is_empty() or losses.is_empty():
        return []
    least = float(losses["difference"].abs().min())  # type: ignore[arg-type]
    runs = np.array(own["values"].to_list())
    changes = [
        sign * (runs[:, a] - runs[:, b])
        for a in range(runs.shape[1])
        for b in range(runs.shape[1])
        if a != b
    ]
    expected = float(np.mean([(change >= least - 1e-12).mean() for change in changes])) * users
    moved = f"{expected:.0f} of {users:,} users would lose {brief(least)} or more between two runs"
    return [f"{moved} of one system, with nothing changed."]


def _ranks_text(row: Mapping[str, Any]) -> str:
    """Return the ranks of relevant items before and after, and how many there are."""
    before, after = (
        ", ".join(map(str, row[name])) or "none" for name in ("ranks_before", "ranks_after")
    )
    of = "" if row["relevant"] is None else f" of {row['relevant']}"
    return f"{before} → {after}{of}"
