"""From metrics to values: what engines ask of any metrics, whatever their kinds.

Columns of users become totals (`reduce_users`), totals of all users become values (`finalise`).
Authors of metrics need none of this: they write a kind's method (`rankwise.metrics.kinds`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rankwise.metrics.base import Metric, ValueKind
from rankwise.metrics.inputs import CatalogueSums
from rankwise.metrics.states import FinaliseInputs, Floats, State, Totals, UserFrame, UsersByGroup
from rankwise.options import AveragingRules


def reduce_users(metrics: Iterable[Metric], users: UserFrame) -> Totals:
    """Return the counts and states of these users from which metrics have their values."""
    cells: dict[str, State] = {}
    for metric in metrics:
        cells = metric.reduce(users.for_metric(metric)) | cells
    return Totals(
        users=len(users.users),
        with_list=int((users.users["list_length"] > 0).sum()),
        without_relevant=users.without_relevant,
        cells=cells,
    )


def reduce_groups(metrics: Sequence[Metric], groups: UsersByGroup) -> list[Totals]:
    """Return the counts and the metric states of every group of users."""
    of_users = [metric for metric in metrics if not metric.sums_items]
    cells = (
        [reduce_users(of_users, one).cells for one in groups] if of_users else [{}] * groups.size
    )
    length, n_relevant = groups.users.column("list_length"), groups.users.column("n_relevant")
    counts = (groups.counts(which).tolist() for which in (..., length > 0, n_relevant == 0))
    return [
        Totals(users=n, with_list=listed, without_relevant=none, cells=states)
        for n, listed, none, states in zip(*counts, cells, strict=True)
    ]


def values_of_groups(metrics: Iterable[Metric], groups: UsersByGroup) -> dict[str, Floats]:
    """Return the group values, shape (G,) each, of the metrics that have values without states."""
    out: dict[str, Floats] = {}
    for metric in metrics:
        inside = groups.for_metric(metric)
        values = [metric.group_values(inside, at) for at in range(len(metric.cells))]
        out |= {
            cell: one for cell, one in zip(metric.cells, values, strict=True) if one is not None
        }
    return out


def values_without(
    metrics: Iterable[Metric], items: CatalogueSums | None, by: str, groups: Sequence[str]
) -> dict[str, list[float]]:
    """Return leave-one-group-out values of the metrics that have values without states."""
    out: dict[str, list[float]] = {}
    if items is None:
        return out
    for metric in metrics:
        values = [metric.values_without(items, by, groups, at) for at in range(len(metric.cells))]
        known = [one.tolist() for one in values if one is not None]
        if len(known) == len(values):
            out |= dict(zip(metric.cells, known, strict=True))
    return out


def finalise(
    metrics: Iterable[Metric],
    users: Totals,
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
        aggregates = FinaliseInputs(users, items, group_names, catalogue_size, rules.of(metric))
        for at, name in enumerate(metric.cells):
            values = metric.finalise(aggregates, at)
            if values is not None:
                out |= {} if values.value is None else {name: values.value}
                out |= {f"{name}[{cell}]": value for cell, value in values.cells.items()}
    return out


def values_of_users(metrics: Iterable[Metric], users: UserFrame) -> dict[str, Floats]:
    """Return every user's value of every metric that has one for each user."""
    out: dict[str, Floats] = {}
    for metric in metrics:
        if metric.has_user_values:
            inside = users.for_metric(metric)
            out |= {
                cell: inside.mask_population(metric.user_values(inside, at))
                for at, cell in enumerate(metric.cells)
            }
    return out


def value_kinds(metrics: Iterable[Metric], *, weighted: bool) -> dict[str, ValueKind]:
    """Return how the value of every cell is aggregated: mean over users, pooled, all lists, …."""
    kinds: dict[str, ValueKind] = {}
    for metric in metrics:
        mean = metric.value_kind == "mean"
        kinds |= dict.fromkeys(
            metric.cells, "weighted mean" if mean and weighted else metric.value_kind
        )
    return kinds
