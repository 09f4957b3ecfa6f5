"""Paired comparisons of results, and how many users a comparison needs.

Users are aligned by id, then every pair is a ``Differences``, whose sums ``stats/differences``
finds for all pairs of a metric at once. ``Systems`` knows which results are seeds or data sets of
one system; ``comparison/pairwise`` makes their rows, whose sections in ``comparison/rows`` declare
the columns of every output: type, head and text of a field are written beside its name.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from rankwise.comparison.comparison import Comparison
from rankwise.comparison.data_sets import combine_data_sets
from rankwise.comparison.design import CompareOptions, Design, ServedByBoth, SystemRank
from rankwise.comparison.family import PairFamily
from rankwise.comparison.noise import Noise
from rankwise.comparison.pairwise import test_pairs
from rankwise.comparison.parts import with_users
from rankwise.comparison.plan import ComparisonPlan, list_pairs, plan_comparison
from rankwise.comparison.ranks import ranks_of_pairs
from rankwise.comparison.rows import JOINT, PairFinding, conclude_pairs
from rankwise.comparison.systems import SystemResults, Systems, systems_of
from rankwise.core.arguments import (
    CorrectionMethod,
    Missing,
    SeedDesign,
    Test,
)
from rankwise.core.kernels import default_threads, map_threads
from rankwise.errors import MetricError, UsageError
from rankwise.findings.columns import table_of
from rankwise.findings.margins import LargestLoss, Margin
from rankwise.results.result import Result, knows_lists

_MOST_EARLIER = 1_000_000
_WORTH_THREADS = 2_000_000  # differences of users
_FEWEST_USERS = 30  # over whom a difference is stated


def compare(
    *results: SystemResults | Mapping[str, SystemResults],
    baseline: str | None = None,
    by: str | None = None,
    primary: str | None = None,
    metrics: str | Sequence[str] | None = None,
    alpha: float = 0.05,
    test: Test = "auto",
    correction: CorrectionMethod = "holm",
    margin: Margin = None,
    largest_loss: LargestLoss = None,
    missing: Missing = "error",
    seeds: SeedDesign = "auto",
    clusters: str | None = None,
    largest_cluster: int | None = None,
    noise: Noise | None = None,
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
        evaluated. They need ``evaluate(…, users=…, by=…)``. P-values are corrected over all groups
        together. By default all users are compared at once.
    primary : str, optional
        The primary metric: its pairs are one family, corrected together. By default ``ndcg@10``,
        or the first metric with per-user values. All other metrics are exploratory: corrected
        together by Benjamini and Hochberg, and flagged.
    metrics : str or list of str, optional
        The metrics to compare; by default all that every result has. Then, a metric other than the
        primary one that cannot be compared is left out; ``design.not_compared`` says why.
    alpha : float, default=0.05
        The significance level of adjusted p-values; intervals have confidence 1 − alpha.
    test : {"auto", "bounded", "t", "sign_flip", "bootstrap", "wilcoxon", "sign"}, default="auto"
        The test of each pair. ``"auto"``: ``"bounded"``, which holds for any users on the range of
        the metric; where it shows nothing and the paired t test does, a verdict names the largest
        loss of an unseen user under which it holds, ``"better if"``. Metrics without a bound have
        such verdicts alone.
    correction : str, default="holm"
        Correction for the primary metric: ``holm``, ``bonferroni``, ``hochberg``, ``bh``, ``by``,
        ``none``; or a joint test of all pairs, which does not go with ``by``: ``max_t`` (sign
        flips) or ``tukey`` (randomised Tukey, always over all pairs).
    margin : float, str, or mapping of metric to these, optional
        The largest difference that does not matter: a number, or a share of the baseline's mean,
        ``"1%"``, which is tested user by user, because that mean is estimated. Pairs whose
        difference is significantly smaller are equivalent, and ``p_non_inferior`` tests whether a
        system loses less than the margin.
    largest_loss : float, or mapping of metric to float, optional
        The largest change of one user that is taken to be possible, in either direction and also
        for users who were not sampled. By default it is the range of the metric, so that a verdict
        without a condition holds for any users. Metrics without a bound need it for such a verdict.
        State it before you look, for example in a registered plan.
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
    largest_cluster : int, optional
        The number of users of the largest cluster, or of requests of one user, that is taken to be
        possible. A cluster that was not sampled is allowed to have it; by default, the mean size.
        State it before you look.
    noise : Stability, optional
        What several runs of a system tell of its noise, from `rankwise.stability`: it stands for
        that of every system with one run, or names each of them. Means over users are then tested
        for other users and other runs; a system with several results has its own noise. Without it,
        verdicts about systems with one run are about these runs.
    n_resamples : int, optional
        Number of resamples; by default 10,000, or more if the correction over many pairs needs it.
    seed : int, default=0
        Random seed of tests and intervals.
    earlier : int, default=0
        The number of pairs that were compared before on the same test set, in other calls. Each
        counts as one more non-significant test of every metric. Comparing k candidates in k calls
        is then corrected like one call with k candidates; verdicts of earlier calls stay.
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

    Notes
    -----
    Of the settings of two evaluations, those that can move a compared metric have to be equal:
    ``catalogue`` is compared only where a metric reads it, ``ranks`` only where both results have
    lists with rank gaps. Two stated rules of ``ties`` must be equal. A rule that only one result
    states must not favour relevant items (``"optimistic"``, ``"pessimistic"``), and must be the
    default where scores order the lists of the result without a stated rule. Tables are compared by
    a digest of their rows (``result.provenance["digests"]``), whatever the format and the order of
    rows; relevances are hashed in single precision.

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
    options = CompareOptions(
        baseline=baseline,
        by=by,
        primary=primary,
        metrics=metrics,
        alpha=alpha,
        test=test,
        correction=correction,
        margin=margin,
        largest_loss=largest_loss,
        missing=missing,
        seeds=seeds,
        clusters=clusters,
        largest_cluster=largest_cluster,
        noise=noise,
        n_resamples=n_resamples,
        seed=seed,
        earlier=earlier,
        force=force,
    )
    return compare_systems(systems_of(results), options).comparison()


def compare_groups(
    results: Mapping[str, Result],
    design: Design,
    by: str,
    *,
    baseline: str,
    metric: str | None = None,
    force: bool = False,
) -> Comparison:
    """Compare results with a baseline within groups of users, as they were compared on all users.

    ``metric`` is by default the primary one of the design, whose level, rule of missing values and
    clusters hold within groups too.
    """
    metric = metric or design.primary
    return compare(
        dict(results),
        baseline=baseline,
        by=by,
        primary=metric,
        metrics=[metric],
        alpha=design.alpha,
        largest_loss=design.largest_loss or None,
        missing=design.missing,
        clusters=design.clusters,
        largest_cluster=design.largest_cluster,
        force=force,
    )


def compare_systems(
    passed: Systems, options: CompareOptions, *, required: Collection[str] = ()
) -> Compared:
    """Compare systems: every metric, within every part, for every pair.

    Metrics that are ``required`` have to be compared, as those that options ask for.
    """
    plan = plan_comparison(passed, options, required=required)
    families = plan.families()
    rows, not_compared = _test_pairs(plan, families)
    joint = options.correction in JOINT and plan.is_mean_of_users
    rows = conclude_pairs(
        rows, options.correction, plan.alpha, joint=joint, earlier=plan.earlier_tests
    )
    return Compared(plan, families, rows, not_compared)


@dataclass(frozen=True, eq=False, repr=False)
class Compared:
    """The findings of a comparison, whose limits are known at any level, and their plan."""

    plan: ComparisonPlan
    families: Sequence[PairFamily]
    rows: Sequence[PairFinding]
    not_compared: Mapping[str, str]

    def comparison(self) -> Comparison:
        """Return the comparison with its ranks, and what is to be noted beside its table."""
        return Comparison(
            table=table_of(self.rows, PairFinding),
            values=self.plan.passed.values(),
            design=self._design(),
            results=dict(self.plan.passed.results),
        )

    def _design(self) -> Design:
        plan, family = self.plan, self.families[0]
        is_plain = plan.by is None and plan.is_plain
        ranks = [] if plan.by is not None else _ranks(family, self.rows, plan)
        primary = [row for row in self.rows if row.primary]
        return replace(
            plan.design(),
            not_compared=self.not_compared,
            ranks=tuple(ranks),
            served_by_both=tuple(_served_by_both(family, primary)) if is_plain else (),
        )


def _test_pairs(
    plan: ComparisonPlan, families: Sequence[PairFamily]
) -> tuple[list[PairFinding], dict[str, str]]:
    """Return one finding per metric, part and pair, and one over all data sets.

    The second value says why a metric has none, with the metrics that the plan left out.
    """
    options, data_sets = plan.options, plan.systems.data_sets
    rows, reasons = _rows(plan, families)
    not_compared = plan.not_compared | reasons
    if not data_sets:
        return rows, not_compared

    tested = len(plan.pairs) + options.earlier
    pooled = combine_data_sets(rows, len(data_sets), plan.primary, plan.alpha, plan.margin, tested)
    if not any(row.primary for row in pooled):
        why = "; ".join(f"{cell}: {reason}" for cell, reason in not_compared.items())
        raise MetricError(f"{plan.primary} cannot be compared on every data set", found=why)
    return pooled + rows, not_compared


def _rows(
    plan: ComparisonPlan, families: Sequence[PairFamily]
) -> tuple[list[PairFinding], dict[str, str]]:
    """Return the findings of every metric, and why a metric has none in some part."""
    # Exploratory metrics, as those of lists, are compared over the users who have a value in all
    # results.
    over_common = {
        family.group: replace(family, missing="common") if family.missing == "error" else family
        for family in families
    }

    def rows_of(cell: str) -> tuple[list[PairFinding], dict[str, str]]:
        is_required = cell in plan.required
        failed: UsageError | None = None
        rows: list[PairFinding] = []
        reasons: dict[str, str] = {}
        for family in families:
            tests = family if is_required else over_common[family.group]
            try:
                rows += _rows_of_part(tests, cell, may_be_empty=is_required and plan.part is None)
            except UsageError as error:
                failed = error
                where = "" if plan.part is None else f", {plan.part}={family.group}"
                reasons[f"{cell}{where}"] = error.what
        if failed is not None and is_required and not rows:
            raise failed
        return rows, reasons

    values = len(plan.cells) * sum(len(family.pairs) * family.users for family in families)
    threads = default_threads() if values > _WORTH_THREADS else 1
    by_cell = list(map_threads(rows_of, plan.cells, threads))
    reasons = {name: reason for _, some in by_cell for name, reason in some.items()}
    return [row for rows, _ in by_cell for row in rows], reasons


def _rows_of_part(tests: PairFamily, cell: str, *, may_be_empty: bool) -> list[PairFinding]:
    rows = test_pairs(tests, cell)
    if not rows[0].effect.users and not may_be_empty:
        raise MetricError("no user has a value in every result")
    return rows


def _served_by_both(family: PairFamily, rows: Sequence[PairFinding]) -> list[ServedByBoth]:
    """Return differences without the users to whom only one system of a pair gives a list."""
    served = {name: _served_users(result, family.main) for name, result in family.results.items()}
    pairs = []
    for row in rows:
        baseline, system = (served[name] for name in (row.baseline, row.system))
        if baseline is None or system is None or baseline.equals(system):
            continue
        both = baseline.join(system, on="user")
        same = both.filter(pl.col("served") == pl.col("served_right"))["user"]
        apart = len(both) - len(same)
        if apart and len(same) >= _FEWEST_USERS:
            pairs.append(_within(family, row, same, apart))
    return pairs


def _within(family: PairFamily, row: PairFinding, users: pl.Series, apart: int) -> ServedByBoth:
    """Return the difference of a pair among the users whom both systems serve."""
    pair = (row.baseline, row.system)
    inside = {
        name: with_users(result, result.per_user.filter(pl.col("user").is_in(users.implode())))
        for name, result in family.results.items()
        if name in pair
    }
    tests = replace(family, results=inside, pairs=[pair], tests=1, missing="common")
    (other,) = test_pairs(tests, row.metric)
    sign = math.copysign(1, row.means.difference) * other.means.difference
    decides = sign <= 0 or (row.test.p < family.alpha) != (other.test.p < family.alpha)
    return ServedByBoth(
        system=row.system,
        baseline=row.baseline,
        metric=row.metric,
        users_with_one_list=apart,
        users=len(users),
        mean_baseline=other.means.mean_baseline,
        mean_system=other.means.mean_system,
        difference=other.means.difference,
        low=other.means.low,
        high=other.means.high,
        decides=bool(decides),
    )


def _served_users(result: Result, cell: str) -> pl.DataFrame | None:
    """Return whether each user with a value has a list; None if unknown or no mean over users."""
    if not result.is_mean_of_users(cell) or not knows_lists(result):
        return None
    users = result.per_user.filter(pl.col(cell).is_not_nan())
    return users.select("user", served=pl.col("list_length") > 0)


def _ranks(
    family: PairFamily, rows: Sequence[PairFinding], plan: ComparisonPlan
) -> list[SystemRank]:
    """Return the ranks of all systems on the primary metric, from the verdicts of pairs.

    Pairs without the baseline are a second family: they are tested where the first one, of which
    all words are in the table, leaves no pair open. So the error rate of all of them together is
    that of the correction.
    """
    main, correction = plan.primary, plan.options.correction
    primary, further = [row for row in rows if row.primary], list[PairFinding]()
    pairs = {(row.baseline, row.system) for row in primary}
    others = [
        pair
        for pair in list_pairs(list(family.seeds or family.results), None)
        if not {pair, pair[::-1]} & pairs
    ]
    decided = all(row.test.verdict in ("better", "worse") for row in primary)
    if others and decided and main == family.main and not plan.systems.data_sets:
        second = replace(family, pairs=others, tests=len(others) + family.earlier)
        further = conclude_pairs(
            test_pairs(second, main),
            correction,
            family.alpha,
            joint=correction in JOINT and family.aligned(main) is not None,
            earlier=(family.earlier, 0),
        )
    return ranks_of_pairs(primary, better=family.direction(main), further=further)
