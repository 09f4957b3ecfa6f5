"""Merged columns to a result: totals, slices, counts and where everything came from."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankwise._version import __version__
from rankwise.errors import ColumnError, InputError, ParameterError, nearest
from rankwise.io.align import align
from rankwise.io.tables import Table, read_table
from rankwise.measures.plan import Floats, Plan, Weighted
from rankwise.result import Result

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rankwise.core.partial import Partial
    from rankwise.io.columns import Columns

__all__ = ["Asked", "summarise"]


@dataclass(frozen=True)
class Asked:
    """What was asked about users beyond the measures: groups and weights."""

    users: Table | None = None
    by: tuple[str, ...] = ()
    weights: Table | None = None

    @classmethod
    def read(
        cls,
        users: Any,
        by: str | Sequence[str],
        weights: str | Mapping[Any, float] | None,
        columns: Columns | None,
    ) -> Asked:
        """Read the table of users and check that it has what is asked of it."""
        table = None if users is None else read_table(users, "users", columns)
        by = (by,) if isinstance(by, str) else tuple(by)
        named = [*by, *([weights] if isinstance(weights, str) else [])]
        for name in named:
            if table is None:
                raise ParameterError(
                    f"column {name!r} of the users was asked for, but there is no table of users",
                    hint="pass users=, on the command line --users FILE",
                )
            if name not in table.frame.columns:
                raise ColumnError(
                    f"there is no column {name!r}",
                    where=table.source,
                    found=", ".join(map(repr, table.frame.columns)),
                    hint=nearest(name, table.frame.columns),
                )
        if table is not None and table.frame["user"].n_unique() < len(table.frame):
            again = table.frame["user"].filter(table.frame["user"].is_duplicated())[0]
            raise ColumnError(
                "a user stands twice in the table of users",
                where=table.source,
                found=f"user {again!r}",
                hint="keep one row a user",
            )
        if isinstance(weights, str) and table is not None:
            weight = (
                table.frame[weights].cast(pl.Float64, strict=False).fill_nan(None).alias("weight")
            )
            return cls(table, by, table.with_frame(table.frame.select("user").with_columns(weight)))
        if weights is not None:
            return cls(table, by, read_table(weights, "users"))
        return cls(table, by)

    def weights_of(self, users: pl.DataFrame) -> Floats | None:
        """Return the weight of each user, in order."""
        if self.weights is None:
            return None
        own = _matching(self.weights, "user", users["user"])
        joined = users.select("user").join(own, on="user", how="left", maintain_order="left")
        missing = joined["weight"].null_count()
        if missing or (joined["weight"] < 0).any():
            bad = joined.filter(pl.col("weight").is_null() | (pl.col("weight") < 0))
            own = bad["weight"][0]
            raise InputError(
                "every user that counts needs a weight of 0 or more",
                where=f"{self.weights.source}, user {bad['user'][0]!r}",
                found=f"{'no weight' if own is None else own} ({len(bad)} such users)",
            )
        if not (joined["weight"] > 0).any():
            raise InputError("all weights are 0", where=self.weights.source)
        return joined["weight"].cast(pl.Float64).to_numpy()

    def groups_of(self, users: pl.DataFrame, by: str) -> pl.Series:
        """Return the group of each user, in order; null where it is not known."""
        assert self.users is not None
        own = _matching(self.users, "user", users["user"]).select("user", pl.col(by).alias("group"))
        joined = users.select("user").join(own, on="user", how="left", maintain_order="left")
        return joined["group"]


def _matching(table: Table, role: str, ids: pl.Series) -> pl.DataFrame:
    """Return the table with its ids of the type that was evaluated; what cannot match goes."""
    evaluated = Table(ids.to_frame(role), table.kind, "the evaluated tables", "", {}, is_text=True)
    aligned = align([evaluated, table], role)[1].frame
    own = aligned.with_columns(pl.col(role).cast(ids.dtype, strict=False))
    return own.filter(pl.col(role).is_not_null())


def summarise(
    plan: Plan,
    merged: Partial,
    *,
    inputs: Mapping[str, Table],
    asked: Asked,
    catalogue: Table | None,
    settings: dict[str, Any],
) -> Result:
    """Turn what was merged into a `Result`."""
    counts = {name: count for name, count in sorted(merged.tally.items()) if count}
    counts["relevant_rows"] = merged.tally.get("relevant_rows", 0)
    items, size = merged.items, 0
    if plan.needs_catalogue and items is not None:
        items, outside = _in_catalogue(items, catalogue)
        size = len(items)
        if outside and any(leaf.needs_catalogue == "whole" for leaf in plan.leaves):
            raise InputError(
                "a catalogue must hold every item that is recommended or relevant, to count the "
                "items that are neither",
                found=f"{outside} items outside it",
                hint="leave the catalogue out, or add them to it",
            )
        counts["catalogue_items"] = size
        if outside:
            counts["recommended_items_outside_catalogue"] = outside
    users = merged.users
    counts["users"] = len(users)
    counts["users_without_list"] = int((users["list_length"] == 0).sum())
    counts["users_without_relevant_items"] = int((users["n_relevant"] == 0).sum())
    weights = asked.weights_of(users)
    values = plan.totals(Weighted(users, weights), items, size)
    each = plan.per_user(users, size)
    per_user = users.select("user", "n_relevant", "list_length").with_columns(
        pl.Series(name, column) for name, column in each.items()
    )
    return Result(
        measures=plan.measures,
        values=values,
        per_user=per_user,
        counts=counts,
        slices=_slices(plan, users, asked, weights, size),
        provenance=_provenance(plan, inputs, asked, catalogue, settings, counts.get("rows", 0)),
    )


def _in_catalogue(items: pl.DataFrame, catalogue: Table | None) -> tuple[pl.DataFrame, int]:
    """Keep the items of the catalogue, all of them, and count those shown that are not in it."""
    if catalogue is None:
        return items, 0
    ids = _matching(catalogue, "item", items["item"]).select("item").unique()
    counts = pl.exclude("item")
    shown = items.filter(pl.any_horizontal(counts > 0)) if items.width > 1 else items
    outside = len(shown.join(ids, on="item", how="anti"))
    inside = ids.join(items, on="item", how="left").with_columns(counts.fill_null(0))
    return inside.sort("item"), outside


def _slices(
    plan: Plan, users: pl.DataFrame, asked: Asked, weights: Floats | None, size: int
) -> pl.DataFrame | None:
    """Return the measures of every group; those over the catalogue have no value there."""
    rows = []
    for by in asked.by:
        groups = asked.groups_of(users, by)
        for group in groups.unique().sort(nulls_last=True):
            of = groups.is_null() if group is None else (groups == group).fill_null(value=False)
            own = None if weights is None else weights[of.to_numpy()]
            some = Weighted(users.filter(of), own)
            name = None if group is None else str(group)
            head = {"by": by, "group": name, "users": len(some.users)}
            rows.append({**head, **plan.totals(some, None, size)})
    return pl.DataFrame(rows) if rows else None


def _provenance(
    plan: Plan,
    inputs: Mapping[str, Table],
    asked: Asked,
    catalogue: Table | None,
    settings: dict[str, Any],
    rows: int,
) -> dict[str, Any]:
    tables = {**inputs}
    tables |= {} if catalogue is None else {"items": catalogue}
    tables |= {} if asked.users is None else {"users": asked.users}
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {
            "rankwise": __version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "polars": pl.__version__,
        },
        "settings": settings,
        "measures": {str(measure): _in_full(measure.parameters) for measure in plan.measures},
        "inputs": {
            name: {
                "source": table.source,
                "format": table.form,
                "rows": rows if name == "recommendations" else len(table.frame),
                "columns": table.columns,
                "ids": {
                    role: str(table.frame[role].dtype)
                    for role in ("user", "item")
                    if role in table.frame.columns
                },
                "sha256": table.sha256,
            }
            for name, table in tables.items()
        },
    }


def _in_full(parameters: dict[str, Any]) -> dict[str, Any]:
    plain = (bool, int, float, str, type(None))
    return {
        name: value if isinstance(value, plain) else str(value)
        for name, value in parameters.items()
    }
