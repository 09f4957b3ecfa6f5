"""The kinds of metric that are computed from other metrics.

* `DerivedMetric`: computed from the inputs of one other metric.
* `Composed.combine`: a function of other metrics' values.
* `Grouped.value_from_means`: a function of the means of user groups.
* `OverUsers.value_from_values`: a function of all users' values, such as a quantile.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from rankwise.blocks.block import Groups
from rankwise.core.arguments import GroupStatistic
from rankwise.core.arrays import Array, SortedValues
from rankwise.core.ragged import counting_sort
from rankwise.errors import MetricError, ParameterError
from rankwise.messages import parameter
from rankwise.metrics.base import GroupsCompared, Metric, ValueKind
from rankwise.metrics.inputs import Input, label
from rankwise.metrics.kinds import MeanOfUsers, at_cutoffs
from rankwise.metrics.states import (
    CellValues,
    FinaliseInputs,
    Floats,
    State,
    UserFrame,
    UsersByGroup,
    mean_of,
)


class DerivedMetric(Metric):
    """Computed from the inputs of another metric, ``of``; only this metric has a cut-off."""

    of: Metric

    def __post_init__(self) -> None:
        """Check the inner metric, which leaves the cut-off to the outer metric."""
        super().__post_init__()
        if self.of.k:
            raise ParameterError(
                f"{self.name}: the {self.done} metric must not have its own cut-off",
                found=str(self.of),
                hint=f"write {self.name}(…)@10",
            )
        self._check_of()
        if self.k and self.of.cutoff == "none":
            raise ParameterError(f"{self.name}: {self.of.name} has no cut-off", found=str(self))

    done: ClassVar[str] = "measured"
    """A participle for messages: "the weighted metric must not have …"."""

    def _check_of(self) -> None:
        """Raise if the metric is not of a kind that this one works with."""

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The inputs of this metric and of the inner metric."""
        return (*super().inputs, *self.of.inputs)

    def require_cutoff(self) -> None:
        """Raise if the metric needs a cut-off and there is none."""
        at_cutoffs(self.of, self.k).require_cutoff()


class CompositeMetric(Metric):
    """A metric made of other metrics; only the outer metric has a cut-off."""

    @property
    def reads_truth(self) -> bool:
        """Whether any part compares lists with the ground truth."""
        return any(part.reads_truth for part in self.parts)

    @property
    def needs_relevant(self) -> bool:
        """Whether a user without relevant items leaves any part undefined."""
        return any(part.needs_relevant for part in self.parts)

    needs_user_values: ClassVar[bool] = True
    """Whether its parts must have a value for each user."""

    def __post_init__(self) -> None:
        """Check the metrics that this metric is made of."""
        super().__post_init__()
        for value in self.parameters.values():
            for part in value if isinstance(value, tuple) else (value,):
                if isinstance(part, Metric):
                    self._check_part(part)

    def _check_part(self, part: Metric) -> None:
        if part.k:
            raise ParameterError(
                f"{self.name}: the cut-off is that of the whole metric, not of its parts",
                found=str(part),
                hint=f"write {self.name}(…)@10",
            )
        if part.cells_only:
            raise ParameterError(
                f"{self.name}: {part.name} has only values of groups", found=str(part)
            )
        if self.needs_user_values and not part.has_user_values:
            raise ParameterError(
                f"{self.name}: {part.name} has no value for a single user",
                found=str(part),
                hint="use a metric with per-user values, or of=means if this metric has it",
            )


@dataclass(frozen=True, kw_only=True, repr=False)
class Composed(CompositeMetric, MeanOfUsers):
    """A function of other metrics' values: each user's values, or their means."""

    @property
    def of(self) -> Literal["users", "means"]:
        """Whether the function is applied per user and averaged, or once to the results."""
        return "users"

    @property
    def value_kind(self) -> ValueKind:
        """The kind of the value: a mean over users, or composed."""
        return "mean" if self.of == "users" else "composed"

    @property
    def has_user_values(self) -> bool:
        """Whether the function is applied per user."""
        return self.of == "users"

    @property
    def needs_user_values(self) -> bool:  # type: ignore[override]
        """Whether the function is applied per user, to the values of the parts."""
        return self.of == "users"

    def user_values(self, users: UserFrame, at: int) -> Floats:
        """Return the value for each user's values of the parts."""
        combined: Floats = self.combine(
            *(part.user_values(users, part.cutoff_at(at)) for part in self.parts)
        )
        return combined

    def reduce(self, users: UserFrame) -> dict[str, State]:
        """Return the sums of the mean, or the states of the parts."""
        if self.of == "users":
            return super().reduce(users)
        return {cell: state for part in self.parts for cell, state in part.reduce(users).items()}

    def group_values(self, groups: UsersByGroup, at: int) -> Floats | None:
        """Return the mean of each group; None if the value is made of means."""
        return super().group_values(groups, at) if self.of == "users" else None

    def finalise(self, aggregates: FinaliseInputs, at: int) -> CellValues | None:
        """Return the mean, or the value for the values of the parts; None if a part has none."""
        if self.of == "users":
            return super().finalise(aggregates, at)
        parts = [part.finalise(aggregates, part.cutoff_at(at)) for part in self.parts]
        if any(part is None for part in parts):
            return None
        return CellValues(
            float(self.combine(*(np.asarray(part.value) for part in parts if part is not None)))
        )

    def combine(self, *values: Array) -> Array:
        """Return the value for values of the parts, elementwise."""
        raise MetricError(f"{self.name} does not define how its parts combine")


@dataclass(frozen=True, kw_only=True, repr=False)
class Grouped(CompositeMetric):
    """A function of the means of user groups, whose cells are these means.

    Parameters
    ----------
    user_group : str, default="group"
        The column of ``users`` with the groups.
    """

    user_group: str = "group"
    value_kind = "groups"
    group_statistic: ClassVar[GroupStatistic | None] = None
    """What it is of the means, if intervals of all pairs of groups give its own; the jackknife is not valid there."""

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The groups."""
        return (Groups.of_users(self.user_group),)

    def _cell(self, at: int, group: str) -> str:
        return f"{self.cells[at]}[{label(user_group=group)}]"

    def reduce(self, users: UserFrame) -> dict[str, State]:
        """Return, for each group that has users, the sums of its mean and two counts of its users.

        The counts are those of all users and of users without relevant items.
        """
        (part,) = self.parts
        groups, irrelevant = users.groups[self.user_group], users.column("n_relevant") == 0
        values = [part.user_values(users, part.cutoff_at(at)) for at in range(len(self.cells))]
        nobody = len(groups.names)  # where users without a group go
        starts, by_group = counting_sort(np.where(groups.code < 0, nobody, groups.code), nobody + 1)
        states: dict[str, State] = {}
        for name, first, end in zip(groups.names, starts, starts[1:], strict=False):
            rows = by_group[first:end]
            if len(rows):
                counts = len(rows), int(irrelevant[rows].sum())
                for at, at_cutoff in enumerate(values):
                    states[self._cell(at, name)] = (
                        *users.mean_state(at_cutoff, rows=rows),
                        *counts,
                    )
        return states

    def finalise(self, aggregates: FinaliseInputs, at: int) -> CellValues | None:
        """Return the mean of each group that has users, and the value for two or more of them."""
        means: dict[str, float] = {}
        for name in aggregates.group_names[self.user_group]:
            *_, users, without_relevant = state = aggregates.users.cells.get(
                self._cell(at, name), (0, 0)
            )
            if users:
                undefined = aggregates.leaves_undefined(
                    without_relevant, needs_relevant=self.needs_relevant
                )
                means[label(user_group=name)] = math.nan if undefined else mean_of(state)
        defined = [
            mean
            for mean in means.values()
            if aggregates.rule.undefined == "nan" or not math.isnan(mean)
        ]
        return CellValues(
            self.value_from_means(np.array(defined)) if len(defined) > 1 else math.nan, means
        )

    def groups_compared(self, cell: str) -> GroupsCompared | None:
        """Return the statistic, with its per-user value and its groups of users."""
        if self.group_statistic is None or cell not in self.cells:
            return None
        (part,) = self.parts
        return GroupsCompared(
            self.group_statistic,
            part.cells[part.cutoff_at(self.cells.index(cell))],
            self.user_group,
        )

    def value_from_means(self, means: Array) -> float:
        """Return the value for the means of all groups that have one."""
        raise MetricError(f"{self.name} does not define its value of the means")


@dataclass(frozen=True, kw_only=True, repr=False)
class OverUsers(CompositeMetric):
    """A function of the values that another metric has for each user."""

    value_kind = "distribution"

    def reduce(self, users: UserFrame) -> dict[str, State]:
        """Return the values of the users who have one."""
        if users.weights is not None:
            raise MetricError(
                f"{self.name} cannot be weighted by user",
                hint=f"leave {parameter('weights')} out, or evaluate it without them",
            )
        states: dict[str, State] = {}
        for at, cell in enumerate(self.cells):
            (part,) = self.parts
            values = users.mask_population(part.user_values(users, part.cutoff_at(at)))
            states[cell] = (SortedValues((values[~np.isnan(values)],)),)
        return states

    def finalise(self, aggregates: FinaliseInputs, at: int) -> CellValues | None:
        """Return the value for all users' values; NaN if there are none."""
        users = aggregates.users
        undefined = aggregates.leaves_undefined(
            users.without_relevant, needs_relevant=self.needs_relevant
        )
        ordered = users.cells[self.cells[at]][0].ascending
        return CellValues(
            math.nan if undefined or not len(ordered) else self.value_from_values(ordered)
        )

    def value_from_values(self, values: Array) -> float:
        """Return the value for the defined values of users, in ascending order."""
        raise MetricError(f"{self.name} does not define its value of users' values")
