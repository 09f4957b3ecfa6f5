"""What a comparison is asked, and how it is settled for its systems: types of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, TypeAlias

from rankwise.comparison.noise import check_noise
from rankwise.comparison.rows import JOINT
from rankwise.comparison.systems import Systems
from rankwise.core.arguments import (
    CorrectionMethod,
    Missing,
    SeedDesign,
    Test,
    check_choice,
    check_count,
    check_positive,
)
from rankwise.errors import ParameterError
from rankwise.findings.margins import LargestLoss, Margin
from rankwise.messages import parameter
from rankwise.results.intervals import check_clusters
from rankwise.results.sampling_unit import USERS, SamplingUnit
from rankwise.stats.differences import check_level

_MOST_EARLIER = 1_000_000
Metrics: TypeAlias = str | list[str] | tuple[str, ...] | None


@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    """The options of `rankwise.compare`, which describes each, with its defaults."""

    baseline: str | None = None
    by: str | None = None
    primary: str | None = None
    metrics: Any = None
    alpha: float = 0.05
    test: Test = "auto"
    correction: CorrectionMethod = "holm"
    margin: Margin = None
    largest_loss: LargestLoss = None
    missing: Missing = "error"
    seeds: SeedDesign = "auto"
    clusters: str | None = None
    largest_cluster: int | None = None
    noise: Any = None
    n_resamples: int | None = None
    seed: int = 0
    earlier: int = 0
    force: bool = False

    def check(self, systems: Systems) -> None:
        """Raise if an option is wrong, or does not go with these systems."""
        self._check_values()
        self._check_design(systems)
        self._check_joint(systems)
        if self.baseline is not None and self.baseline not in list(systems.names):
            raise ParameterError(
                f"there is no result {self.baseline!r}", found=", ".join(systems.names)
            )

    def _check_values(self) -> None:
        check_level("alpha", self.alpha)
        check_choice("missing", self.missing, Missing)
        check_choice("seeds", self.seeds, SeedDesign)
        check_positive(n_resamples=self.n_resamples)
        check_count(least=0, seed=self.seed)
        check_count(least=0, earlier=self.earlier)
        if self.earlier > _MOST_EARLIER:
            raise ParameterError(
                f"earlier is at most {_MOST_EARLIER:,} pairs",
                found=parameter("earlier", self.earlier),
            )
        check_choice("correction", self.correction, CorrectionMethod)
        check_choice("test", self.test, Test)
        check_clusters(self.clusters)
        check_positive(largest_cluster=self.largest_cluster)
        if self.by is not None and not isinstance(self.by, str):
            raise ParameterError(
                "by is the name of one column of the users", found=parameter("by", self.by)
            )

    def _check_design(self, systems: Systems) -> None:
        """Raise if the test or the groups do not go with seeds, clusters or data sets."""
        unit = systems.sampling_unit.within(self.clusters)
        if self.largest_cluster is not None and unit.clusters is None:
            raise independent_users(self.largest_cluster)
        check_noise(self.noise, systems.with_one_run)
        if self._is_designed(systems) and self.test not in ("auto", "t", "bounded"):
            of_requests = systems.sampling_unit.is_of_requests
            over_users = f", or evaluate with {parameter('mean_over', 'users')} for any test"
            raise ParameterError(
                "with several seeds, clusters or noise the mean is tested by a t test of their variance",
                found=parameter("test", self.test),
                hint=parameter("test", "auto") + (over_users if of_requests else ""),
            )
        if self.noise is not None and systems.data_sets:
            raise ParameterError(
                "noise between runs is a part of the variance over users, not over data sets",
                found=f"{parameter('noise')}, {len(systems.data_sets)} data sets",
                hint="compare the systems on each data set",
            )
        if self.by is not None and systems.data_sets:
            raise ParameterError(
                "groups of users are compared on one data set",
                found=f"{parameter('by', self.by)}, {len(systems.data_sets)} data sets",
            )

    def _check_joint(self, systems: Systems) -> None:
        """Raise if pairs cannot be tested together, as the correction asks."""
        if self.correction not in JOINT:
            return
        if self._is_designed(systems) or systems.data_sets:
            raise ParameterError(
                f"{self.correction} tests pairs of single results over independent users together",
                found=parameter("correction", self.correction),
                hint=f"{parameter('correction', 'holm')} corrects over all pairs",
            )
        if self.by is not None:
            raise ParameterError(
                f"{self.correction} tests the pairs of the same users together, not groups of "
                "users",
                found=f"{parameter('by', self.by)}, {parameter('correction', self.correction)}",
                hint=f"{parameter('correction', 'holm')} corrects over pairs and groups",
            )

    def _is_designed(self, systems: Systems) -> bool:
        return systems.several_seeds or self.clusters is not None or self.noise is not None


def independent_users(largest_cluster: int) -> ParameterError:
    """Return the error for a size of clusters where users are independent."""
    return ParameterError(
        "largest_cluster is the size of a cluster, and these users are independent",
        found=parameter("largest_cluster", largest_cluster),
        hint=f"{parameter('clusters')} names the column of the clusters",
    )


@dataclass(frozen=True)
class SystemRank:
    """The rank of a system on the primary metric, with its confidence interval.

    ``rank_low_if`` to ``rank_high_if`` count conditional verdicts besides, and hold as long as no
    unseen user loses more than ``condition``; None if no verdict has one.
    """

    system: str
    mean: float
    rank: int
    rank_low: int
    rank_high: int
    may_be_best: bool
    rank_low_if: int
    rank_high_if: int
    may_be_best_if: bool
    condition: float | None = None


@dataclass(frozen=True, kw_only=True)
class ServedByBoth:
    """The difference without the users to whom only one system of a pair gives a list.

    ``decides`` says whether its sign is another one, or its test shows another thing, than over all
    users.
    """

    system: str
    baseline: str
    metric: str
    users_with_one_list: int
    users: int
    mean_baseline: float
    mean_system: float
    difference: float
    low: float
    high: float
    decides: bool


@dataclass(frozen=True)
class SeedCounts:
    """The number of seeds of each system, and whether they are paired or independent."""

    design: str
    counts: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class Design:
    """How a comparison was made, and what was noted beside its table.

    Attributes
    ----------
    baseline, by, primary, alpha, test, correction, margin, largest_loss, largest_cluster, missing, \
    n_resamples, seed, earlier
        The options of `rankwise.compare`, settled for the systems: the primary metric, margins
        and losses have the names that results have, and the baseline of systems without names is the first.
    noise : mapping of str to int
        The number of runs that the noise of each system with one run is known from.
    forced : bool
        Whether comparability was not checked.
    unit : SamplingUnit
        What one value is of, and which groups of values are the sample.
    data_sets : tuple of str
        The data sets, if there are several.
    seeds : SeedCounts or None
        The seeds of each system, if some have several.
    directions : mapping of str to bool or None
        Whether a higher value is better, by metric; None if neither direction is.
    labels, sources : mapping of str to str
        By system, what a result over sampled candidates is labelled, and which file it was read
        from where systems have no name.
    plans, truths, test_set
        The plans that results were held to, their ground truths, and how many systems and
        comparisons were saved on these.
    not_compared : mapping of str to str
        Why a metric was left out.
    unchecked : tuple of str
        Checks of comparability that were skipped or impossible.
    ranks : tuple of SystemRank
        The ranks of three or more systems, the best first.
    served_by_both : tuple of ServedByBoth
        By pair, the difference among the users whom both systems serve.
    """

    baseline: str | None = None
    by: str | None = None
    primary: str = ""
    alpha: float = 0.05
    test: Test = "auto"
    correction: CorrectionMethod = "holm"
    margin: Any = None
    largest_loss: Mapping[str, float] = field(default_factory=dict)
    largest_cluster: int | None = None
    noise: Mapping[str, int] = field(default_factory=dict)
    missing: Missing = "error"
    n_resamples: int | None = None
    seed: int = 0
    earlier: int = 0
    forced: bool = False
    unit: SamplingUnit = USERS
    data_sets: tuple[str, ...] = ()
    seeds: SeedCounts | None = None
    directions: Mapping[str, bool | None] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    plans: tuple[str, ...] = ()
    truths: tuple[str, ...] = ()
    test_set: Mapping[str, int] = field(default_factory=dict)
    not_compared: Mapping[str, str] = field(default_factory=dict)
    unchecked: tuple[str, ...] = ()
    ranks: tuple[SystemRank, ...] = ()
    served_by_both: tuple[ServedByBoth, ...] = ()

    @property
    def clusters(self) -> str | None:
        """The grouping whose groups are the sample; None if every value is independent."""
        return self.unit.clusters

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Design:
        """Read what `to_dict` returned.

        Raises
        ------
        LookupError, TypeError
            If the content is not of a design.
        """
        values = {entry.name: content[entry.name] for entry in fields(cls)}
        for name in ("data_sets", "plans", "truths", "unchecked"):
            values[name] = tuple(values[name])
        values["unit"] = SamplingUnit(**values["unit"])
        values["seeds"] = None if values["seeds"] is None else SeedCounts(**values["seeds"])
        values["ranks"] = tuple(SystemRank(**rank) for rank in values["ranks"])
        values["served_by_both"] = tuple(ServedByBoth(**pair) for pair in values["served_by_both"])
        return cls(**values)

    def check_is_plain(
        self, what: str, *, over_requests: bool = False, with_noise: bool = False
    ) -> None:
        """Raise if the comparison has seeds, data sets, or clusters other than users of requests.

        Nor may it have the noise between runs, unless ``with_noise``.
        """
        parts: dict[str, object] = {
            "seeds": self.seeds,
            "data_sets": self.data_sets,
            "clusters": self.clusters,
        }
        parts |= {} if with_noise else {"noise": self.noise}
        names = [name for name, part in parts.items() if part]
        if names == ["clusters"] and over_requests and self.unit.is_of_requests:
            return
        if names:
            raise ParameterError(
                f"{what} is about one result per system, over independent users",
                found=f"a comparison with {', '.join(names)}",
                hint="compare the results of one seed, on one data set",
            )
