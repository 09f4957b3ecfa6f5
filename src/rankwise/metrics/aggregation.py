"""From columns of users to states, and from states to values, for metrics of every kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rankwise.metrics.base import Metric, ValueKind
from rankwise.metrics.inputs import CatalogueSums
from rankwise.metrics.states import Aggregates, AggregateState, Floats, State, UserColumns
from rankwise.options import AveragingRules

__all__ = ["finalise", "reduce_users", "value_kinds", "values_of_users"]


def reduce_users(metrics: Iterable[Metric], users: UserColumns) -> AggregateState:
    """Return the counts and states of these users from which metrics have their values."""
    cells: dict[str, State] = {}
    for metric in metrics:
        cells = metric.reduce(users.under(str(metric @ ()))) | cells
    return AggregateState(
        users=len(users.users),
        with_list=int((users.users["list_length"] > 0).sum()),
        without_relevant=users.without_relevant,
        cells=cells,
    )


def finalise(
    metrics: Iterable[Metric],
    users: AggregateState,
    items: CatalogueSums | None,
    *,
    group_names: Mapping[str, Sequence[str]],
    catalogue_size: int,
    rules: AveragingRules,
) -> dict[str, float]:
    """Return the value of every metric at every cut-off, and of their cells.

    Without ``items`` metrics that sum over items have no value and are left out. Groups of users
    come in the order of ``group_names``, by column.
    """
    out: dict[str, float] = {}
    for metric in metrics:
        aggregates = Aggregates(users, items, group_names, catalogue_size, rules.of(str(metric @ ())))
        for at, name in enumerate(metric.cells):
            values = metric.finalise(aggregates, at)
            if values is not None:
                out |= {} if values.value is None else {name: values.value}
                out |= {f"{name}[{cell}]": value for cell, value in values.cells.items()}
    return out


def values_of_users(metrics: Iterable[Metric], users: UserColumns) -> dict[str, Floats]:
    """Return every user's value of every metric that has one for each user."""
    out: dict[str, Floats] = {}
    for metric in metrics:
        if metric.has_user_values:
            inside = users.under(str(metric @ ()))
            out |= {cell: inside.averaged(metric.user_values(inside, at)) for at, cell in enumerate(metric.cells)}
    return out


def value_kinds(metrics: Iterable[Metric], *, weighted: bool) -> dict[str, ValueKind]:
    """Return how the value of every cell is aggregated: mean over users, pooled, all lists, …."""
    kinds: dict[str, ValueKind] = {}
    for metric in metrics:
        mean = metric.value_kind == "mean"
        kinds |= dict.fromkeys(metric.cells, "weighted mean" if mean and weighted else metric.value_kind)
    return kinds
