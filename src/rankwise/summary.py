"""Merged columns to a result: totals, slices, counts and where everything came from."""

from __future__ import annotations

import platform
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankwise._version import __version__
from rankwise.errors import ColumnError, InputError, ParameterError, nearest
from rankwise.io.align import matching
from rankwise.io.tables import Table, read_table
from rankwise.leaving_out import GROUP, digest, replicates
from rankwise.measures.tallies import ItemSums
from rankwise.measures.totals import Some, each_user, totals
from rankwise.result import Result

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rankwise.core.facts import Groups
    from rankwise.core.partial import Partial
    from rankwise.io.columns import Columns
    from rankwise.knowledge import Knowledge
    from rankwise.measures.plan import Floats, Plan
    from rankwise.protocol import Protocol

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
            if table.frame[name].dtype.is_nested():
                raise ColumnError(
                    f"column {name!r} does not hold one group a row",
                    where=table.source,
                    found=str(table.frame[name].dtype),
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
        own = matching(self.weights, "user", users["user"])
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
        own = matching(self.users, "user", users["user"]).select("user", pl.col(by).alias("group"))
        joined = users.select("user").join(own, on="user", how="left", maintain_order="left")
        return joined["group"]


def summarise(
    plan: Plan,
    merged: Partial,
    *,
    inputs: Mapping[str, Table],
    asked: Asked,
    knowledge: Knowledge,
    settings: dict[str, Any],
    protocol: Protocol | None = None,
) -> Result:
    """Turn what was merged into a `Result`."""
    counts = {name: count for name, count in sorted(merged.tally.items()) if count}
    counts |= {name: count for name, count in knowledge.counts.items() if count}
    counts["relevant_rows"] = merged.tally.get("relevant_rows", 0)
    users, items, size = merged.users, None, 0
    if plan.needs_catalogue and merged.items is not None:
        frame, outside = _in_catalogue(plan, merged.items, knowledge.tables.get("items"))
        counts["catalogue_items"] = size = len(frame)
        if outside:
            counts["recommended_items_outside_catalogue"] = outside
        items = ItemSums(frame, knowledge.of_items(frame["item"]), users)
    counts["users"] = len(users)
    counts["users_without_list"] = int((users["list_length"] == 0).sum())
    counts["users_without_relevant_items"] = int((users["n_relevant"] == 0).sum())
    weights = asked.weights_of(users)
    groups = knowledge.of_users(users["user"])
    for column, own in groups.items():
        if (own.code < 0).any():
            counts[f"users_without_group({column})"] = int((own.code < 0).sum())
    everyone = Some(users, weights, groups, size, plan.undefined)
    each = each_user(plan.measures, everyone)
    per_user = users.select("user", "n_relevant", "list_length").with_columns(
        pl.Series(name, column) for name, column in each.items()
    )
    slices = _slices(plan, everyone, asked, items)
    if protocol is not None and protocol.sampled:  # no frame of values without it
        label = pl.lit(protocol.label).alias("label")
        per_user = per_user.with_columns(label)
        slices = None if slices is None else slices.with_columns(label)
    left_out, dealt = None, None
    if GROUP in asked.by:
        group = asked.groups_of(users, GROUP)
        left_out = replicates(plan, everyone, group, items)
        dealt = digest([users["user"], group])
        settings = {**settings, "by": [by for by in asked.by if by != GROUP]}
    return Result(
        replicates=left_out,
        measures=plan.measures,
        values=totals(plan.measures, everyone, items),
        per_user=per_user,
        counts=counts,
        slices=slices,
        diagnostics={} if items is None else _diagnostics(plan, items),
        provenance=_provenance(plan, inputs, knowledge, settings, counts.get("rows", 0))
        | {"candidates": None if protocol is None else protocol.to_dict(), "jackknife": dealt},
    )


def _diagnostics(plan: Plan, items: ItemSums) -> dict[str, dict[str, float]]:
    said = {str(leaf @ ()): leaf.diagnose(items) for leaf in plan.leaves}
    return {name: own for name, own in said.items() if own}


def _in_catalogue(
    plan: Plan, items: pl.DataFrame, catalogue: Table | None
) -> tuple[pl.DataFrame, int]:
    """Keep the items of the catalogue, all of them, and count those recommended outside it."""
    if catalogue is None:
        return items, 0
    ids = matching(catalogue, "item", items["item"]).select("item").unique()
    outside = items.join(ids, on="item", how="anti")
    if len(outside) and any(leaf.needs_catalogue == "whole" for leaf in plan.leaves):
        raise InputError(
            "a catalogue must hold every item that is recommended, relevant or seen in training, "
            "to count the items that are not",
            where=catalogue.source,
            found=f"{len(outside)} items outside it, such as {outside['item'][0]!r}",
            hint="leave the catalogue out, or add them to it",
        )
    shown = [name for name in items.columns if name.startswith("recommended")]
    if shown:
        outside = outside.filter(pl.any_horizontal(pl.col(name) > 0 for name in shown))
    counts = pl.exclude("item")
    inside = ids.join(items, on="item", how="left")
    inside = inside.with_columns(counts.fill_null(0)) if items.width > 1 else inside
    return inside.sort("item"), len(outside)


def _slices(
    plan: Plan, everyone: Some, asked: Asked, items: ItemSums | None
) -> pl.DataFrame | None:
    """Return the measures of every group of users."""
    rows = []
    for by in asked.by:
        if by == GROUP:
            continue
        own = asked.groups_of(everyone.users, by)
        names = own.cast(pl.String)
        for group in own.unique().sort(nulls_last=True).cast(pl.String):
            some = _part(everyone, names.is_null() if group is None else names == group)
            sums = None
            if items is not None and group is not None:
                sums = replace(items, users=some.users, within=(by, group))
            head = {"by": by, "group": group, "users": len(some.users)}
            rows.append({**head, **totals(plan.measures, some, sums)})
    if not rows:
        return None
    columns = dict.fromkeys(name for row in rows for name in row)
    filled = [{name: row.get(name, float("nan")) for name in columns} for row in rows]
    return pl.DataFrame(filled, infer_schema_length=None)


def _part(everyone: Some, of: pl.Series) -> Some:
    mask = of.fill_null(value=False).to_numpy()
    weights = None if everyone.weights is None else everyone.weights[mask]
    groups: dict[str, Groups] = {
        column: replace(own, code=own.code[mask]) for column, own in everyone.groups.items()
    }
    return replace(everyone, users=everyone.users.filter(mask), weights=weights, groups=groups)


def _provenance(
    plan: Plan,
    inputs: Mapping[str, Table],
    knowledge: Knowledge,
    settings: dict[str, Any],
    rows: int,
) -> dict[str, Any]:
    tables: dict[str, Table] = {**inputs, **knowledge.tables}  # type: ignore[dict-item]
    truth = inputs.get("truth")
    return {
        "split": None if truth is None or truth.split is None else dict(truth.split),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {
            "rankwise": __version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "polars": pl.__version__,
        },
        "settings": settings,
        "facts": knowledge.said(),
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
