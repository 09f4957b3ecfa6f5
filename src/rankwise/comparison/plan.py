"""The plan of a comparison: systems, metrics, pairs and parts, settled once before any test."""

from __future__ import annotations

import operator
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import combinations
from typing import Any

from rankwise.comparison.comparability import chosen_cells, common_cells, unchecked
from rankwise.comparison.design import CompareOptions, Design, SeedCounts
from rankwise.comparison.family import PairFamily
from rankwise.comparison.noise import runs_known
from rankwise.comparison.parts import MEANS_OF_GROUPS, partition_results
from rankwise.comparison.systems import Systems, paired_seeds
from rankwise.findings.margins import largest_losses_by_cell, margins_by_cell
from rankwise.results.display import plan_statements
from rankwise.results.result import Result
from rankwise.results.reuse import Uses, truth_of
from rankwise.results.sampling_unit import SamplingUnit


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ComparisonPlan:
    """What is tested: every metric, within every part, for every pair.

    Attributes
    ----------
    options : CompareOptions
        The options as they were asked.
    passed, systems : Systems
        The systems as they were passed, and with one row per unit that means are over.
    unit : SamplingUnit
        The unit, within the clusters that were asked for.
    baseline : str or None
        The baseline of all pairs, if there is one.
    cells : list of str
        The metrics, of which ``required`` have to be compared.
    primary : str
        The primary metric.
    pairs : list of (str, str)
        The pairs, baseline first.
    parts : mapping of str or None to mapping of str to Result
        The results within each part.
    paired : bool
        Whether seed i of all systems belongs together.
    margin : number, text, mapping or None
        The margins by metric.
    not_compared : dict of str to str
        Why metrics are left out before any test.
    """

    options: CompareOptions
    passed: Systems
    systems: Systems
    unit: SamplingUnit
    baseline: str | None
    cells: list[str]
    required: frozenset[str]
    primary: str
    pairs: list[tuple[str, str]]
    parts: Mapping[str | None, dict[str, Result]]
    paired: bool
    margin: Any
    largest_loss: dict[str, float]
    not_compared: dict[str, str] = field(default_factory=dict)

    @property
    def by(self) -> str | None:
        """The grouping that systems are compared within."""
        return self.options.by

    @property
    def alpha(self) -> float:
        """The significance level."""
        return float(self.options.alpha)

    @property
    def part(self) -> str | None:
        """What the parts are, if there are several."""
        return "data set" if self.systems.data_sets else self.by

    @property
    def is_plain(self) -> bool:
        """Whether systems have one result each, over independent users."""
        systems = self.systems
        return not systems.several_seeds and not systems.data_sets and self.unit.clusters is None

    @property
    def is_mean_of_users(self) -> bool:
        """Whether the primary metric is a mean over users in all results."""
        results = self.systems.results.values()
        return all(result.is_mean_of_users(self.primary) for result in results)

    @property
    def earlier_tests(self) -> tuple[int, int]:
        """The earlier tests of the primary metric and of all others that count as well."""
        now, earlier = self._family_sizes(0), self._family_sizes(self.options.earlier)
        return earlier[0] - now[0], earlier[1] - now[1]

    def _family_sizes(self, earlier: int) -> tuple[int, int]:
        """Count the rows corrected together: of the primary metric, and of the others."""
        pairs, parts, cells = len(self.pairs) + earlier, len(self.parts), len(self.cells)
        if not self.systems.data_sets:
            return pairs * parts, max(pairs * parts * (cells - 1), 1)
        return pairs, pairs * (parts * cells + cells - 1)

    def families(self) -> list[PairFamily]:
        """Return the pairs within each part."""
        return [self._family(results, part) for part, results in self.parts.items()]

    def _family(self, results: dict[str, Result], part: str | None) -> PairFamily:
        """Return the pairs of a part: of single results, or of several seeds per system."""
        options = self.options
        seeds = self.systems.seeds(part or "" if self.systems.data_sets else "")
        several = any(len(names) > 1 for names in seeds.values())
        single = {system: results[names[0]] for system, names in seeds.items()}
        tests, exploratory = self._family_sizes(options.earlier)
        return PairFamily(
            results=results if several else single,
            by=self.part,
            group=part,
            pairs=self.pairs,
            main="" if self.systems.data_sets else self.primary,
            tests=tests,
            exploratory_tests=exploratory,
            alpha=self.alpha,
            test=options.test,
            correction=options.correction,
            margin=self.margin,
            largest_loss=self.largest_loss,
            missing=options.missing,
            n_resamples=options.n_resamples,
            seed=int(options.seed),
            clusters=self.unit.clusters,
            largest_cluster=options.largest_cluster,
            noise=options.noise,
            earlier=options.earlier,
            seeds=seeds if several else {},
            paired=self.paired,
        )

    def design(self) -> Design:
        """Return how the comparison was made, to be saved beside its table."""
        options, results = self.options, self.systems.results
        first = next(iter(results.values()))
        resamples = options.n_resamples
        return Design(
            baseline=self.baseline,
            by=self.by,
            primary=self.primary,
            alpha=self.alpha,
            test=options.test,
            correction=options.correction,
            margin=self.margin,
            largest_loss=self.largest_loss,
            largest_cluster=options.largest_cluster,
            noise=runs_known(options.noise, self.systems.with_one_run, self.primary),
            missing=options.missing,
            n_resamples=None if resamples is None else int(resamples),
            seed=int(options.seed),
            earlier=int(options.earlier),
            forced=options.force,
            unit=self.unit,
            data_sets=tuple(self.systems.data_sets),
            seeds=_seed_counts(self.systems, paired=self.paired),
            directions={cell: first.direction(cell) for cell in self.cells},
            labels=self.passed.labels,
            sources=_sources(self.systems),
            plans=tuple(plan_statements(result.provenance for result in results.values())),
            truths=_truths(results),
            test_set=_test_set(results),
            unchecked=tuple(self._unchecked()),
        )

    def _unchecked(self) -> list[str]:
        options = self.options

        def check() -> object:
            return paired_seeds(self.systems, options.seeds, force=False)

        return unchecked(self.systems.results, check if options.force else None)


def plan_comparison(
    passed: Systems, options: CompareOptions, *, required: Collection[str] = ()
) -> ComparisonPlan:
    """Settle what is compared.

    Raises
    ------
    ParameterError
        If an option is wrong, or results cannot be compared.
    MetricError
        If a metric was asked for that not every result has.
    """
    systems, unit = passed.by_unit(), passed.sampling_unit.within(options.clusters)
    baseline = options.baseline
    if baseline is None and systems.in_order:
        baseline = next(iter(systems.names))
    replace(options, baseline=baseline, clusters=unit.clusters).check(systems)

    results = systems.results
    first = next(iter(results.values()))
    chosen = None
    if options.metrics is not None:
        chosen = chosen_cells(first, options.metrics, options.primary)
    paired = paired_seeds(systems, options.seeds, force=options.force, cells=chosen)
    cells, primary, not_compared = common_cells(
        results,
        options.metrics,
        options.primary,
        means_only=None if options.by is None else MEANS_OF_GROUPS,
    )
    return ComparisonPlan(
        options=options,
        passed=passed,
        systems=systems,
        unit=unit,
        baseline=baseline,
        cells=cells,
        required=frozenset({primary, *required} if options.metrics is None else cells),
        primary=primary,
        pairs=list_pairs(list(systems.names), baseline),
        parts=partition_results(systems, options.by, force=options.force),
        paired=paired,
        margin=margins_by_cell(options.margin, first, cells),
        largest_loss=largest_losses_by_cell(options.largest_loss, first, cells),
        not_compared=not_compared,
    )


def list_pairs(systems: Sequence[str], baseline: str | None) -> list[tuple[str, str]]:
    """Return the pairs to compare, the baseline of each first."""
    if baseline is None:
        return list(combinations(systems, 2))
    return [(baseline, name) for name in systems if name != baseline]


def _seed_counts(systems: Systems, *, paired: bool) -> SeedCounts | None:
    """Return the number of seeds of each system, and whether they are paired; None without."""
    if not systems.several_seeds:
        return None
    counts = {
        ", ".join(filter(None, (system, data_set))): len(names)
        for system, data_set, names in systems
    }
    return SeedCounts("paired" if paired else "independent", counts)


def _sources(systems: Systems) -> dict[str, str]:
    """Return the files that the lists of systems without names were read from, where known."""
    sources = {}
    for name, result in systems.results.items() if systems.in_order else ():
        card = result.provenance.get("inputs", {}).get("recommendations", {})
        if card.get("sha256"):
            sources[name] = card["source"]
    return sources


def _truths(results: Mapping[str, Result]) -> tuple[str, ...]:
    """Return the digests of the ground truths of results."""
    truths = {truth_of(result.provenance) for result in results.values()}
    return tuple(sorted(truth for truth in truths if truth is not None))


def _test_set(results: Mapping[str, Result]) -> dict[str, Any]:
    """Return the systems and comparisons recorded on the ground truth, and those compared here."""
    uses = reduce(operator.or_, (Uses.of(result.provenance) for result in results.values()), Uses())
    return uses.recorded(compared=len(results)).get("test_set", {})
