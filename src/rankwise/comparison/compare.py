"""Paired comparisons of results, and how many users a comparison needs.

Users are aligned by id, then every pair is a ``Differences``, whose sums ``stats/differences``
finds for all pairs of a metric at once. ``Systems`` knows which results are seeds or data sets of
one system; ``comparison/pairwise`` makes their rows, whose sections in ``comparison/rows`` declare
the columns of every output: type, head and text of a field are written beside its name.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import reduce
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from rankwise.comparison.alignment import (
    SystemResults,
    Systems,
    align_users,
    check_ids,
    check_slices,
    chosen_cells,
    common_cells,
    default_primary,
    paired_seeds,
    systems_of,
    unchecked,
)
from rankwise.comparison.comparison import Comparison, SystemRank
from rankwise.comparison.pairwise import (
    ClusteredPairwiseTests,
    PairwiseTests,
    bounds_of,
    combine_data_sets,
    ranks_are_approximate,
    ranks_of_pairs,
)
from rankwise.core.arguments import (
    Family,
    Missing,
    SeedDesign,
    Test,
    check_choice,
    check_count,
    check_number,
    check_positive,
)
from rankwise.core.kernels import default_threads, map_threads
from rankwise.errors import MetricError, ParameterError, UsageError
from rankwise.findings.conclude import JOINT, correct_rows
from rankwise.findings.finding import Finding
from rankwise.findings.margins import (
    Margin,
    check_difference,
    check_margin,
    margin_test,
    margins_by_cell,
    size_of,
)
from rankwise.metrics.base import Metric
from rankwise.results.display import plan_statements
from rankwise.results.intervals import (
    check_clusters,
    group_column,
    groups_in,
    is_truth_slice,
    mean_of,
    shared_groups,
)
from rankwise.results.result import Result, knows_lists
from rankwise.results.reuse import Uses, truth_of
from rankwise.results.values import Values
from rankwise.stats.bounded_means import BoundedMean
from rankwise.stats.differences import MANY, Differences, Floats, check_level, fewest_for_t
from rankwise.stats.equivalence import Margin as MarginSize
from rankwise.stats.equivalence import fewest_users, power_of_t, variance_interval

MEANS_OF_GROUPS = "groups of users are compared by means over users alone"
"""Why only means over users are compared in groups."""

_MOST_EARLIER = 1_000_000
_WORTH_THREADS = 2_000_000  # differences of users
_FEWEST_USERS = 30  # over whom a difference is stated
_MANY_GROUPS = 1_000  # so that by="user" ends with a message and not after hours


def compare(
    *results: SystemResults | Mapping[str, SystemResults],
    baseline: str | None = None,
    by: str | None = None,
    primary: str | None = None,
    metrics: str | Sequence[str] | None = None,
    alpha: float = 0.05,
    test: Test = "auto",
    correction: Family = "holm",
    margin: Margin = None,
    missing: Missing = "error",
    seeds: SeedDesign = "auto",
    clusters: str | None = None,
    n_resamples: int | None = None,
    seed: int = 0,
    earlier: int = 0,
    force: bool = False,
) -> Comparison:
    """Compare results user by user: differences, confidence intervals, p-values and verdicts.

    Parameters
    ----------
    *results : Result, or one mapping of str to Result
        Two or more systems: as separate arguments, which are called A, B, … in this order, or by
        name, ``{name: result, …}``. A system that was trained with several seeds has a list of
        results, one per seed, ``{name: [result, …]}``; one that was evaluated on several data sets
        has a result, or a list, for each, ``{name: {data set: result, …}}``.
    baseline : str, optional
        The name of the result with which all others are compared. By default A, or for results by
        name all pairs.
    by : str, optional
        Compare within each group of users: a column of the users table with which the results were
        evaluated, ``evaluate(…, users=…, by=…)``. P-values are corrected over all groups together.
        By default all users are compared at once.
    primary : str, optional
        The primary metric: its pairs are one family, corrected together. By default ``ndcg@10``,
        or the first metric with per-user values. All other metrics are exploratory: corrected
        together by Benjamini and Hochberg, and flagged.
    metrics : str or list of str, optional
        The metrics to compare; by default all that every result has. Then, a metric other than the
        primary one that cannot be compared is left out; ``settings["not_compared"]`` says why.
    alpha : float, default=0.05
        The significance level of adjusted p-values; intervals have confidence 1 − alpha.
    test : {"auto", "bounded", "t", "sign_flip", "bootstrap", "wilcoxon", "sign"}, default="auto"
        The test of each pair. ``"auto"``: the paired t test from 1,000 users; below, ``"bounded"``,
        which holds for any distribution on the range of the metric, or sign flips where the metric
        has no bound.
    correction : str, default="holm"
        Correction for the primary metric: ``holm``, ``bonferroni``, ``hochberg``, ``bh``, ``by``,
        ``none``; or a joint test of all pairs, which does not go with ``by``: ``max_t`` (sign
        flips) or ``tukey`` (randomised Tukey, always over all pairs).
    margin : float, str, or mapping of metric to these, optional
        The largest difference that does not matter: a number, or a share of the baseline's mean,
        ``"1%"``, which is tested user by user, because that mean is estimated. Pairs whose
        difference is significantly smaller are equivalent, and ``p_non_inferior`` tests whether a
        system loses less than the margin.
    missing : {"error", "zero", "common"}, default="error"
        What to do with users who have a value in one result and none in another: raise, count the
        missing value as 0, or compare the common users. Users without any value are left out.
    seeds : {"auto", "independent", "paired"}, default="auto"
        Whether seed i of one system and seed i of another belong together, because each seed has
        its own random split. ``"auto"``: paired if the splits, or users' numbers of relevant
        items, differ between seeds. Pass ``"paired"`` if each seed leaves out another item.
    clusters : str, optional
        A column of the users table, as for ``by``, whose groups are the sampling units, because
        users of a group are not independent: households, or the person behind several sessions.
    n_resamples : int, optional
        Number of resamples; by default 10,000, or more if the correction over many pairs needs it.
    seed : int, default=0
        Random seed of tests and intervals.
    earlier : int, default=0
        The number of pairs that were compared before on the same test set, in other calls. Each
        counts as one more test of every metric, which was not significant: as many candidates, one
        call for each, are corrected for as one call corrects for them, except that words of
        earlier calls stay.
    force : bool, default=False
        Compare despite different candidate sets, splits, ground truths or settings.

    Returns
    -------
    Comparison

    Raises
    ------
    ParameterError
        If candidate sets, splits, settings or ground truths differ. Results with unknown candidate
        sets can be compared with all but sampled ones, results without split metadata with any.

    See Also
    --------
    decide : Ship, hold or stop, from a comparison.

    Examples
    --------
    >>> import rankwise as rw
    >>> truth = {user: {1, 2} for user in range(40)}
    >>> first = rw.evaluate({user: [1, 3] for user in range(40)}, truth, "recall@2")
    >>> lists = {user: [1, 2] if user % 2 else [1, 3] for user in range(40)}
    >>> second = rw.evaluate(lists, truth, "recall@2")
    >>> rw.compare(first, second)["B"]["verdict"]
    'better'
    >>> comparison = rw.compare({"first": first, "second": second}, baseline="first")
    >>> row = comparison["recall@2", "second"]
    >>> row["mean_baseline"], row["mean_system"], row["difference"]
    (0.5, 0.75, 0.25)
    """
    options: dict[str, Any] = {
        "baseline": baseline,
        "by": by,
        "primary": primary,
        "metrics": metrics,
        "alpha": alpha,
    }
    options |= {
        "test": test,
        "correction": correction,
        "margin": margin,
        "missing": missing,
        "seeds": seeds,
    }
    options |= {
        "clusters": clusters,
        "n_resamples": n_resamples,
        "seed": seed,
        "earlier": earlier,
        "force": force,
    }
    passed, rows, settings = compared_rows(results, **options)
    return Comparison.make(passed, rows, settings)


def compared_rows(
    results: Sequence[SystemResults | Mapping[str, SystemResults]],
    *,
    baseline: str | None = None,
    by: str | None = None,
    primary: str | None = None,
    metrics: str | Sequence[str] | None = None,
    alpha: float = 0.05,
    test: Test = "auto",
    correction: Family = "holm",
    margin: Margin = None,
    missing: Missing = "error",
    seeds: SeedDesign = "auto",
    clusters: str | None = None,
    n_resamples: int | None = None,
    seed: int = 0,
    earlier: int = 0,
    force: bool = False,
) -> tuple[Systems, list[Finding], dict[str, Any]]:
    """Return the systems, rows and settings of a comparison; rows have limits at any level."""
    passed = systems_of(tuple(results))
    systems, unit = passed.by_unit(), passed.sampling_unit.within(clusters)
    clusters = unit.clusters
    if baseline is None and systems.in_order:
        baseline = next(iter(systems.names))
    check_options(
        systems,
        baseline=baseline,
        by=by,
        alpha=alpha,
        correction=correction,
        test=test,
        clusters=clusters,
        missing=missing,
        seeds=seeds,
        n_resamples=n_resamples,
        seed=seed,
        earlier=earlier,
    )
    every = systems.results
    chosen = None if metrics is None else chosen_cells(next(iter(every.values())), metrics, primary)
    paired = paired_seeds(systems, seeds, force=force, cells=chosen)
    means_only = None if by is None else MEANS_OF_GROUPS
    cells, main, not_compared = common_cells(every, metrics, primary, means_only=means_only)
    first = next(iter(every.values()))
    margin = margins_by_cell(margin, first, cells)
    parts, pairs = _parts(systems, by, force=force), pairs_of(list(systems.names), baseline)
    sizes = (len(parts), len(cells), systems)
    tests, exploratory = _family_sizes(len(pairs) + earlier, *sizes)
    earlier_tests = tuple(
        a - b for a, b in zip((tests, exploratory), _family_sizes(len(pairs), *sizes), strict=True)
    )
    template = ClusteredPairwiseTests(
        {},
        None,
        pairs,
        "" if systems.data_sets else main,
        tests,
        float(alpha),
        test,
        correction,
        margin,
        missing,
        n_resamples,
        int(seed),
        exploratory,
        clusters,
        earlier,
        paired=paired,
    )
    families = [
        _pairs_of_part(template, systems, members, group) for group, members in parts.items()
    ]
    required = {main} if metrics is None else set(cells)
    rows = _rows(families, cells, required, "data set" if systems.data_sets else by, not_compared)
    if systems.data_sets:
        sets = len(systems.data_sets)
        rows = combine_data_sets(rows, sets, main, alpha, margin, len(pairs) + earlier) + rows
        if not any(row.primary for row in rows):
            why = "; ".join(f"{cell}: {reason}" for cell, reason in not_compared.items())
            raise MetricError(f"{main} cannot be compared on every data set", found=why)
    joint = correction in JOINT and all(r.is_mean_of_users(main) for r in every.values())
    rows = correct_rows(rows, correction, alpha, joint=joint, earlier=earlier_tests)
    ranks = _ranks(families[0], rows, main, correction) if by is None else []
    single = by is None and _are_single(systems, clusters)
    leads = _leads(families[0], [row for row in rows if row.primary]) if single else []
    settings = {
        "not_compared": not_compared,
        "by": by,
        "baseline": baseline,
        "primary": main,
        "alpha": float(alpha),
        "test": test,
        "correction": correction,
        "margin": margin,
        "missing": missing,
        "n_resamples": None if n_resamples is None else int(n_resamples),
        "seed": int(seed),
        "forced": force,
        "unchecked": unchecked(
            every, (lambda: paired_seeds(systems, seeds, force=False)) if force else None
        ),
        "directions": {cell: first.direction(cell) for cell in cells},
        "sources": _sources(systems),
        **unit.recorded(),
        "data_sets": systems.data_sets or None,
        "seeds": _seeds(systems, paired=paired),
        "ranks": [asdict(rank) for rank in ranks],
        "ranks_approximate": bool(ranks) and single and ranks_are_approximate(families[0], main),
        "leads": leads,
    }
    plans = plan_statements(result.provenance for result in every.values())
    settings |= ({"plans": plans} if plans else {}) | ({"earlier": int(earlier)} if earlier else {})
    return passed, rows, settings | _test_sets(every)


def _leads(family: ClusteredPairwiseTests, rows: Sequence[Finding]) -> list[dict[str, Any]]:
    """Return differences without the users to whom only one system of a pair gives a list.

    ``difference`` with ``low`` and ``high`` is that over the other users. ``decides``: its sign is
    another one, or what the test of the pair alone shows is another thing.
    """
    listed, leads = (
        {name: _listed(result, family.main) for name, result in family.results.items()},
        [],
    )
    for row in rows:
        baseline, system = (listed[name] for name in (row.baseline, row.system))
        if baseline is None or system is None or baseline.equals(system):
            continue
        both = baseline.join(system, on="user")
        same = both.filter(pl.col("listed") == pl.col("listed_right"))["user"]
        apart = len(both) - len(same)
        if not apart or len(same) < _FEWEST_USERS:
            continue
        pairs = [(row.baseline, row.system)]
        inside = {
            name: _with_users(result, result.per_user.filter(pl.col("user").is_in(same.implode())))
            for name, result in family.results.items()
            if name in pairs[0]
        }
        (other,) = replace(family, results=inside, pairs=pairs, tests=1, missing="common").rows(
            row.metric
        )
        means, sign = other.means, math.copysign(1, row.means.difference) * other.means.difference
        decides = sign <= 0 or (row.test.p < family.alpha) != (other.test.p < family.alpha)
        pair = {
            "system": row.system,
            "baseline": row.baseline,
            "metric": row.metric,
            "users_with_one_list": apart,
        }
        names = ("mean_baseline", "mean_system", "difference", "low", "high")
        limits = {name: getattr(means, name) for name in names}
        leads.append({**pair, "users": len(same), **limits, "decides": bool(decides)})
    return leads


def _listed(result: Result, cell: str) -> pl.DataFrame | None:
    """Return whether each user with a value has a list; None if unknown or no mean over users."""
    if not result.is_mean_of_users(cell) or not knows_lists(result):
        return None
    users = result.per_user.filter(pl.col(cell).is_not_nan())
    return users.select("user", listed=pl.col("list_length") > 0)


def _test_sets(results: Mapping[str, Result]) -> dict[str, Any]:
    """Return the ground truths of results, and the systems and comparisons recorded on them."""
    truths = sorted(
        {truth for result in results.values() if (truth := truth_of(result.provenance)) is not None}
    )
    uses = reduce(operator.or_, (Uses.of(result.provenance) for result in results.values()), Uses())
    return ({"truths": truths} if truths else {}) | uses.recorded(compared=len(results))


def pairs_of(results: Sequence[str], baseline: str | None) -> list[tuple[str, str]]:
    """Return the pairs to compare, the baseline of each first."""
    if baseline is None:
        return list(combinations(results, 2))
    return [(baseline, name) for name in results if name != baseline]


def _pairs_of_part(
    template: ClusteredPairwiseTests,
    systems: Systems,
    results: dict[str, Result],
    group: str | None,
) -> ClusteredPairwiseTests:
    """Return the pairs of a part: of single results, or of several seeds per system."""
    seeds = systems.seeds(group or "" if systems.data_sets else "")
    if any(len(names) > 1 for names in seeds.values()):
        return replace(template, results=results, group=group, seeds=seeds)
    by_system = {system: results[names[0]] for system, names in seeds.items()}
    return replace(template, results=by_system, group=group)


def _family_sizes(pairs: int, parts: int, cells: int, systems: Systems) -> tuple[int, int]:
    """Count the rows corrected together: rows of the primary metric, and exploratory rows."""
    if not systems.data_sets:
        return pairs * parts, max(pairs * parts * (cells - 1), 1)
    return pairs, pairs * (parts * cells + cells - 1)


def _parts(systems: Systems, by: str | None, *, force: bool) -> dict[str | None, dict[str, Result]]:
    """Return all results, or the results of each group of users, or on each data set."""
    if systems.data_sets:
        return {data_set: systems.on(data_set) for data_set in systems.data_sets}
    return (
        {None: dict(systems.results)}
        if by is None
        else _in_groups(systems.results, by, force=force)
    )


def _are_single(systems: Systems, clusters: str | None) -> bool:
    """Return whether systems have one result each, over independent users."""
    return not systems.several_seeds and not systems.data_sets and clusters is None


def _ranks(
    family: ClusteredPairwiseTests, rows: Sequence[Finding], main: str, correction: Family
) -> list[SystemRank]:
    """Return the ranks of all systems on the primary metric, from the verdicts of pairs.

    Pairs without the baseline are a second family: they are tested where the first one, of which
    all words are in the table, leaves no pair open. So the error rate of all of them together is
    that of the correction.
    """
    primary, further = [row for row in rows if row.primary], list[Finding]()
    pairs = {(row.baseline, row.system) for row in primary}
    others = [
        pair
        for pair in pairs_of(list(family.seeds or family.results), None)
        if not {pair, pair[::-1]} & pairs
    ]
    decided = all(row.test.verdict in ("better", "worse") for row in primary)
    if others and decided and main == family.main and primary[0].data_sets.data_sets is None:
        second = replace(family, pairs=others, tests=len(others) + family.earlier)
        further = correct_rows(
            second.rows(main),
            correction,
            family.alpha,
            joint=correction in JOINT and family.aligned(main) is not None,
            earlier=(family.earlier, 0),
        )
    return ranks_of_pairs(primary, family.alpha, better=family.better(main), further=further)


def _seeds(systems: Systems, *, paired: bool) -> dict[str, Any] | None:
    """Return the number of seeds of each system, and whether they are paired; None without."""
    if not systems.several_seeds:
        return None
    counts = {
        ", ".join(filter(None, (system, data_set))): len(names)
        for system, data_set, names in systems
    }
    return {"design": "paired" if paired else "independent", "counts": counts}


def check_options(
    systems: Systems,
    *,
    baseline: str | None = None,
    by: str | None = None,
    alpha: float = 0.05,
    correction: Family = "holm",
    test: Test = "auto",
    clusters: str | None = None,
    missing: Missing = "error",
    seeds: SeedDesign = "auto",
    n_resamples: int | None = None,
    seed: int = 0,
    earlier: int = 0,
) -> None:
    """Raise if options of a comparison are invalid for these systems; defaults as in `compare`."""
    check_level("alpha", alpha)
    check_choice("missing", missing, Missing)
    check_choice("seeds", seeds, SeedDesign)
    check_positive(n_resamples=n_resamples)
    check_count(least=0, seed=seed)
    check_count(least=0, earlier=earlier)
    if earlier > _MOST_EARLIER:
        raise ParameterError(
            f"earlier is at most {_MOST_EARLIER:,} pairs", found=f"earlier={earlier}"
        )
    check_choice("correction", correction, Family)
    check_choice("test", test, Test)
    designed = systems.several_seeds or clusters is not None
    over_users = ', or evaluate with mean_over="users" for any test'
    if designed and test not in ("auto", "t", "bounded"):
        raise ParameterError(
            "with several seeds or clusters the mean is tested by a t test of their variance",
            found=f"test={test!r}",
            hint='test="auto"' + (over_users if systems.sampling_unit.is_of_requests else ""),
        )
    check_clusters(clusters)
    if baseline is not None and baseline not in list(systems.names):
        raise ParameterError(f"there is no result {baseline!r}", found=", ".join(systems.names))
    if by is not None and systems.data_sets:
        raise ParameterError(
            "groups of users are compared on one data set",
            found=f"by={by!r}, {len(systems.data_sets)} data sets",
        )
    if correction in JOINT and (designed or systems.data_sets):
        raise ParameterError(
            f"{correction} tests pairs of single results over independent users together",
            found=f"correction={correction!r}",
            hint='correction="holm" corrects over all pairs',
        )
    if by is not None and not isinstance(by, str):
        raise ParameterError("by is the name of one column of the users", found=f"by={by!r}")
    if by is not None and correction in JOINT:
        raise ParameterError(
            f"{correction} tests the pairs of the same users together, not groups of users",
            found=f"by={by!r}, correction={correction!r}",
            hint='correction="holm" corrects over pairs and groups',
        )


def _sources(systems: Systems) -> dict[str, str]:
    """Return the files that the lists of systems without names were read from, where known."""
    sources = {}
    for name, result in systems.results.items() if systems.in_order else ():
        card = result.provenance.get("inputs", {}).get("recommendations", {})
        if card.get("sha256"):
            sources[name] = card["source"]
    return sources


def _in_groups(
    results: Mapping[str, Result], by: str, *, force: bool = False
) -> dict[str | None, dict[str, Result]]:
    """Return the results of each group of users: the values that are means of its users."""
    check_ids(results)
    if is_truth_slice(by):
        return _in_slices(results, by, force=force)
    tables = shared_groups({name: result.per_user for name, result in results.items()}, by)
    groups = groups_in(tables, by)
    if len(groups) > _MANY_GROUPS:
        raise ParameterError(
            f"users are compared within at most {_MANY_GROUPS:,} groups",
            found=f"{len(groups):,} groups by {by!r}",
            hint="put users into larger groups",
        )
    return {
        group: {
            name: _of_group(result, tables[name], by, group) for name, result in results.items()
        }
        for group in groups
    }


def _in_slices(
    results: Mapping[str, Result], by: str, *, force: bool
) -> dict[str | None, dict[str, Result]]:
    """Return the results within each slice of relevant items."""
    for name, result in results.items():
        if result.sliced is None or by not in result.sliced["by"]:
            raise ParameterError(
                f"{name} has no slices by {by!r}",
                found=", ".join([] if result.slices is None else result.slices["by"].unique())
                or "no slices",
                hint=f"evaluate every model with by={by!r}",
            )
    if not force:
        check_slices(results, by)
    first = next(iter(results.values()))
    assert first.slices is not None
    groups = first.slices.filter(pl.col("by") == by, pl.col("users") > 0)["group"].to_list()
    return {
        group: {
            name: _with_users(result, result.units_within(by, group))
            for name, result in results.items()
        }
        for group in groups
    }


def _of_group(result: Result, per_user: pl.DataFrame, by: str, group: str | None) -> Result:
    return _with_users(result, per_user.filter(pl.col(group_column(by)).eq_missing(group)))


def _with_users(result: Result, inside: pl.DataFrame) -> Result:
    """Return a result restricted to users: means over these users, and NaN for further values."""
    means = [
        cell for cell in result.values if cell in inside.columns and result.is_mean_of_users(cell)
    ]
    values = dict.fromkeys(result.values, math.nan) | {
        cell: mean_of(inside[cell]) for cell in means
    }
    return replace(
        result, values=Values(values), per_user=inside, replicates=None, slices=None, sliced=None
    )


def _rows(
    families: Sequence[PairwiseTests],
    cells: Sequence[str],
    required: set[str],
    parts: str | None,
    not_compared: dict[str, str],
) -> list[Finding]:
    """Return the rows of every metric; why a metric has none goes into ``not_compared``.

    ``parts`` names what families are parts by, if there are several.
    """
    # Exploratory metrics, as those of lists, are compared over the users who have a value in all
    # results.
    over_common = {
        family.group: replace(family, missing="common") if family.missing == "error" else family
        for family in families
    }

    def rows_of(cell: str) -> list[Finding]:
        failed: UsageError | None = None
        out: list[Finding] = []
        for family in families:
            try:
                pairs = (family if cell in required else over_common[family.group]).rows(cell)
                if not pairs[0].effect.users and (parts is not None or cell not in required):
                    raise MetricError("no user has a value in every result")
                out += pairs
            except UsageError as error:
                failed = error
                where = "" if parts is None else f", {parts}={family.group}"
                not_compared[f"{cell}{where}"] = error.what
        if failed is not None and cell in required and not out:
            raise failed
        return out

    values = len(cells) * sum(len(family.pairs) * family.users for family in families)
    threads = default_threads() if values > _WORTH_THREADS else 1
    return [row for rows in map_threads(rows_of, cells, threads) for row in rows]


_TINY = 1e-6
"""Standard deviations from which on an effect can be planned for."""
_VAGUE = 4
"""Times that the upper limit is the lower one from which a pilot hardly tells."""


@dataclass(frozen=True)
class SampleSize:
    """The number of users that a comparison needs, with its confidence interval.

    Attributes
    ----------
    users : int
        The number of users, if the variance is that of the pilot.
    low, high : int or None
        Its confidence limits, because the variance is estimated from the pilot; plan for ``high``.
        None if the pilot has fewer than 5 users.
    confidence : float
        The confidence level.
    flags : tuple of str
        Caveats.
    """

    users: int
    low: int | None
    high: int | None
    confidence: float
    flags: tuple[str, ...] = ()

    def __int__(self) -> int:
        return self.users


def power(
    result: Result,
    metric: str | Metric | None = None,
    *,
    difference: float | str | None = None,
    margin: float | str | None = None,
    equivalence: bool = False,
    other: Result | None = None,
    correlation: float = 0.0,
    alpha: float = 0.05,
) -> float:
    """Return the power of a comparison to detect a difference, or to show non-inferiority.

    Parameters
    ----------
    result : Result
        The pilot, which is the baseline: its number of users, its mean and the standard deviation
        of the users' values are used.
    metric : str or Metric, optional
        A metric that is a per-user mean; by default ``ndcg@10``, or the first one.
    difference : float or str, optional
        The true difference of means, the system minus the baseline: a number, or a share of the
        baseline's mean, ``"5%"``. Without a margin it is the difference to detect, and its sign
        does not matter; with a margin it is 0 by default.
    margin : float or str, optional
        The largest difference that does not matter, as for `rankwise.compare`. The power is then
        that of non-inferiority: of showing that the system loses less than the margin.
    equivalence : bool, default=False
        With a margin: the power of showing that the difference is smaller than the margin in both
        directions.
    other : Result, optional
        Another system on the same users, to estimate the standard deviation of differences.
    correlation : float, default=0.0
        Without ``other``: the assumed correlation between the values of both systems. The higher
        it is, the higher the power.
    alpha : float, default=0.05
        The significance level of the test.

    Returns
    -------
    float
        The power of the test that `rankwise.compare` makes: that of a bounded mean for margins and
        below 1,000 users, where the metric has a bound; else of a t test.

    See Also
    --------
    sample_size : The number of users needed for a given power.

    Examples
    --------
    >>> import rankwise as rw
    >>> lists = {user: [user % 3] for user in range(300)}
    >>> result = rw.evaluate(lists, {user: {0} for user in range(300)}, "recall@1")
    >>> power(result, "recall@1", difference=0.1)
    0.7094
    >>> power(result, "recall@1", margin="30%")
    0.9022
    """
    check_level("alpha", alpha)
    pilot = _pilot(result, metric, difference, margin, other, correlation, equivalence=equivalence)
    return pilot.power(len(pilot.values), pilot.deviation, alpha)


def sample_size(
    result: Result,
    metric: str | Metric | None = None,
    *,
    difference: float | str | None = None,
    margin: float | str | None = None,
    equivalence: bool = False,
    other: Result | None = None,
    correlation: float = 0.0,
    power: float = 0.8,
    alpha: float = 0.05,
    confidence: float = 0.95,
) -> SampleSize:
    """Return the number of users needed to detect a difference, or to show non-inferiority.

    It is proportional to the variance of the differences, of which a small pilot is a poor
    estimate. Plans for a power of 0.8 reach 0.65 on average with a pilot of 40 users of whom 10 %
    differ, 0.73 with 100, 0.77 with 300, and one in ten less than 0.17, 0.43 and 0.60. The
    confidence interval of the number is that of the variance (Bonett 2006); for 95 % it covers the
    true number in 84, 91 and 94 % of these cases, and in 94 % where half of the users differ.

    The test is that of `rankwise.compare`, as for `power`. For a metric without a bound, a margin
    needs at least the number of users of whom enough differ for its t test: 30, or more if their
    differences are skewed. Without ``other``, all users are assumed to differ, by as much.

    Parameters
    ----------
    result, metric, difference, margin, equivalence, other, correlation, alpha
        As for `power`.
    power : float, default=0.8
        The power to reach.
    confidence : float, default=0.95
        The confidence level of the interval of the number of users.

    Returns
    -------
    SampleSize
        ``users`` with ``low`` and ``high``; ``int(…)`` of it is ``users``.

    Examples
    --------
    >>> import rankwise as rw
    >>> lists = {user: [user % 3] for user in range(300)}
    >>> result = rw.evaluate(lists, {user: {0} for user in range(300)}, "recall@1")
    >>> size = sample_size(result, "recall@1", difference=0.1)
    >>> size.users, size.low, size.high
    (369, 343, 403)
    >>> int(sample_size(result, "recall@1", margin="30%"))
    219
    """
    check_level("power", power)
    check_level("alpha", alpha)
    pilot = _pilot(result, metric, difference, margin, other, correlation, equivalence=equivalence)
    values = pilot.values
    deviations = [
        pilot.deviation,
        *map(math.sqrt, variance_interval(values, confidence=confidence)),
    ]
    users, *limits = (
        None if math.isnan(deviation) else pilot.users(deviation, alpha=alpha, power=power)
        for deviation in deviations
    )
    assert users is not None
    low, high = limits
    vague = low is None or high is None or high > _VAGUE * low
    flags = (f"a pilot of {len(values)} users is a poor estimate of the variance: plan for more",)
    return SampleSize(users, low, high, confidence, flags if vague else ())


@dataclass(frozen=True)
class _Hypothesis:
    """A hypothesis to reject, with the users' differences from which the power follows.

    The true mean of ``side`` times the differences lies ``gap`` below the hypothesis. They are at
    most ``most``; their deviation is ``factor`` times that of the pilot's values. Without
    ``values`` of theirs, all are assumed to be one deviation above or below the mean.
    """

    side: int
    values: Floats | None
    most: float
    factor: float
    gap: float

    def sample(self, deviation: float) -> BoundedMean:
        """Return the bounded mean of the differences for a deviation of the pilot's values."""
        if self.values is None:
            values = np.array([-1.0, 1.0]) * deviation * self.factor
        else:
            centred = self.side * (self.values - self.values.mean())
            values = self.side * self.values.mean() + centred * (
                deviation * self.factor / self.values.std(ddof=1)
            )
        return BoundedMean.of(np.minimum(values, self.most), self.most)


@dataclass(frozen=True)
class _Pilot:
    """The users' values of a pilot, and the hypotheses to reject (all of them with a margin).

    From ``fewest`` users on, a t test of a margin is valid.
    """

    values: Floats
    hypotheses: list[_Hypothesis]
    sides: int
    fewest: int

    @property
    def deviation(self) -> float:
        """The standard deviation of the pilot's values."""
        return float(self.values.std(ddof=1))

    def power(self, n: int, deviation: float, alpha: float) -> float:
        """Return the power with n users, if the values of the pilot have this deviation."""
        powers = []
        for one in self.hypotheses:
            if math.isfinite(one.most) and (self.sides == 1 or n < MANY):
                powers.append(one.sample(deviation).power(n, one.gap, alpha=alpha / self.sides))
            else:
                powers.append(
                    power_of_t(n, one.gap / (deviation * one.factor), alpha, sides=self.sides)
                )
        return max(sum(powers) - (len(powers) - 1), 0.0)

    def users(self, deviation: float, *, alpha: float, power: float) -> int:
        """Return the number of users for a power."""
        if min(one.gap / (deviation * one.factor) for one in self.hypotheses) < _TINY:
            raise ParameterError("an effect this small needs 10**12 users or more")
        return max(fewest_users(lambda n: self.power(n, deviation, alpha), power), self.fewest)


def _pilot(
    result: Result,
    metric: str | Metric | None,
    difference: float | str | None,
    margin: float | str | None,
    other: Result | None,
    correlation: float,
    *,
    equivalence: bool,
) -> _Pilot:
    """Return the pilot of a comparison for a difference or a margin, checked."""
    for name, value in (("result", result), ("other", other)):
        if not isinstance(value, Result | None) or result is None:
            raise ParameterError(f"{name} is one result", found=type(value).__name__)
    if difference is None and margin is None:
        raise ParameterError(
            "a comparison is planned for a difference, or for a margin",
            hint="pass difference=, the difference to detect, or margin=, the largest one that "
            "does not matter",
        )
    means = [cell for cell in result.values if result.is_mean_of_users(cell)]
    if metric is None and not means:
        raise MetricError(
            "the result has no metric that is a mean of users", found=", ".join(result.values)
        )
    cell = default_primary(result, means) if metric is None else result.cell(metric)
    if not result.is_mean_of_users(cell):
        raise MetricError(
            f"{cell} is not a mean over users, so the number of users cannot be computed"
        )
    better = result.direction(cell)
    if margin is not None and better is None and not equivalence:
        raise ParameterError(
            f"neither direction of {cell} is better, so no loss can be within the margin",
            found=f"margin={margin!r}",
            hint="equivalence=True plans for a difference smaller than the margin in both "
            "directions",
        )
    pairs, mean = _planned_pairs(result, cell, other, correlation)
    true = 0.0 if difference is None else size_of(check_difference(difference), mean)
    size = None if margin is None else size_of(check_margin(margin), mean)
    name, needed, number = (
        ("difference", difference, true) if margin is None else ("margin", margin, size)
    )
    if not number or true is None:
        hint = "a share of 0 is 0: pass a number" if isinstance(needed, str) else None
        raise ParameterError(
            f"a {name} is a number other than 0",
            found=f"{needed!r}, a baseline of {mean}",
            hint=hint,
        )
    bounds = bounds_of({"result": result}, cell)
    if margin is None:
        if equivalence:
            raise ParameterError("equivalence needs a margin", found="margin=None")
        tested: MarginSize | None = MarginSize(abs(true))
        sides, true = [-1], 0.0
    else:
        tested, sides = (
            margin_test(check_margin(margin)),
            [1, -1] if equivalence else [-1 if better else 1],
        )
    assert tested is not None
    hypotheses = []
    for side in sides:
        factor = tested.factor(side, mean)
        gap = tested.limit - side * (true + (1 - factor) * mean)
        if not 0 < gap < math.inf:
            what = "a loss of the margin or more is never shown to be within it"
            raise ParameterError(what, found=f"{difference=}, {margin=}")
        claim = tested.claim(pairs, bounds, side)
        assert isinstance(claim.pairs, Differences)
        deviation = claim.pairs.deviation / pairs.deviation
        if other is None:  # of two systems that vary alike
            deviation = math.sqrt(1 + factor**2 - 2 * factor * correlation)
        values = None if other is None else claim.pairs.x - claim.pairs.y
        hypotheses.append(_Hypothesis(side, values, claim.most, deviation, gap))
    by_t = margin is not None and not math.isfinite(bounds[1] - bounds[0])
    shape = (1.0, 0.0) if other is None else (pairs.nonzero / pairs.n, pairs.skewness)
    return _Pilot(
        pairs.d, hypotheses, 2 if margin is None else 1, fewest_for_t(*shape) if by_t else 2
    )


def _planned_pairs(
    result: Result, cell: str, other: Result | None, correlation: float
) -> tuple[Differences, float]:
    """Return the system and the baseline, or the values of one system, and the baseline's mean."""
    check_number("correlation", correlation)
    both = {"result": result} | ({} if other is None else {"other": other})
    if any(each.has_requests for each in both.values()):
        raise ParameterError(
            "a plan is about users, and these means are over requests",
            hint='evaluate with mean_over="users"',
        )
    both = {name: replace(each, per_user=each.units) for name, each in both.items()}
    if other is not None:
        aligned = align_users(both, cell, "common")
        pairs = Differences(aligned.values[:, 1], aligned.values[:, 0])
        mean = pairs.means[1]
    else:
        if not -1 <= correlation < 1:
            raise ParameterError("correlation lies between -1 and 1", found=f"{correlation!r}")
        users = both["result"].per_user[cell].drop_nans().to_numpy()
        pairs = Differences(users, np.zeros(len(users)))
        mean = pairs.means[0]
    if pairs.n < 2:
        raise ParameterError("the spread of values needs two users", found=str(pairs.n))
    if np.isinf(pairs.d).any():
        raise ParameterError(f"{cell} is infinite for some users, so its spread is not known")
    if not pairs.deviation > 0:
        raise ParameterError("values do not vary over users, so any difference is certain")
    return pairs, mean
