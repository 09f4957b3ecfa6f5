"""`rank_agreement`: whether two judgments, splits or metrics put systems in the same order."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from rankwise.comparison.claims import FEWEST_PLANNED
from rankwise.comparison.comparability import check_comparable, common_cells, without_force
from rankwise.comparison.comparison import Comparison
from rankwise.comparison.family import PairFamily, bounds_of, check_zero
from rankwise.comparison.pairwise import test_pairs
from rankwise.comparison.ranks import ranks_of_users
from rankwise.comparison.systems import systems_of
from rankwise.core.arguments import Missing, check_choice, check_positive
from rankwise.core.saved_forms import AGREEMENT
from rankwise.core.terminal import (
    Detail,
    TableView,
    count_of,
    float_of,
    format_number,
    level_text,
    percent,
    signed,
)
from rankwise.errors import MetricError, ParameterError
from rankwise.findings.tables import ResultTable
from rankwise.findings.words import limits_text, p_value, pair_name, rounded
from rankwise.messages import parameter
from rankwise.results.result import Result
from rankwise.stats.bounded_means import BoundedMean
from rankwise.stats.data_sets import cluster_values
from rankwise.stats.differences import Differences, Floats, Interval, check_level
from rankwise.stats.equivalence import users_to_show
from rankwise.stats.many_systems import SystemRanks, pairwise_p, ranks_of
from rankwise.stats.rank_correlation import (
    kendall_tau,
    shown_orders,
    tau_ap,
    tau_ap_limits,
    tau_limits,
)

ResultsByName: TypeAlias = Mapping[str, Result] | Comparison
_LOWER = 0.84
"""Standard errors that a difference is above its lower limit of confidence 0.8."""
_POWER = 0.8**0.5
"""The power of each order, so that both show the pair with a power of 0.8."""
_MEANS = "an order of systems needs a plain mean over users"


@dataclass(frozen=True, eq=False, repr=False)
class RankAgreement(ResultTable):
    """The result of `rankwise.rank_agreement`.

    Attributes
    ----------
    tau, tau_ap : Interval
        Kendall's τ and τ_AP of the two orders, with their confidence limits.
    swapped : float
        Of the pairs of systems that differ significantly in both orders, the share that differs in
        opposite directions; NaN if there is no such pair.
    table : polars.DataFrame
        One row per system, in the first order: ``system``, its values ``first`` and ``second``, and
        ``rank_first`` and ``rank_second`` with their limits (``…_low``, ``…_high``).
    pairs : polars.DataFrame
        One row per pair, the better one by the first order as ``system``: the differences ``first``
        and ``second`` (positive: ``system`` is better), the adjusted ``p_first`` and ``p_second``
        of the direction that was observed, and ``agreement``: ``agree`` or ``swapped`` if it is
        shown in both, else ``first only``, ``second only``, ``neither``.
    settings : dict
        The metrics, the options and the numbers of users. Where no pair is shown in both orders,
        ``clearest_pair`` is the pair that needs the fewest users, and ``users_needed`` the smallest
        and the largest number of them: that of the difference that was seen, and of its lower
        limit of confidence 0.8 (None below 200 users, who say too little of it).
    """

    tau: Interval
    tau_ap: Interval
    swapped: float
    table: pl.DataFrame
    pairs: pl.DataFrame
    settings: dict[str, Any]
    form = AGREEMENT

    @property
    def counts(self) -> dict[str, int]:
        """The number of pairs by agreement."""
        kinds = ("agree", "swapped", "first only", "second only", "neither")
        return {kind: int((self.pairs["agreement"] == kind).sum()) for kind in kinds}

    @property
    def notes(self) -> list[str]:
        """Notes on the compared orders and the meaning of the intervals."""
        first, second = self.settings["metrics"]
        samples = " and ".join(dict.fromkeys(self.settings["samples"]))
        samples = samples if "request" in samples else samples.replace(" users and", " and")
        counts = self.counts
        both = counts["agree"] + counts["swapped"]
        share = f" ({percent(self.swapped)})" if both else ""
        in_both = (
            f"{both} of {len(self.pairs)} pairs are shown in both orders, "
            f"{counts['swapped']} of them swapped{share}"
        )
        single = (
            f"{counts['first only']} by the first alone, {counts['second only']} by the "
            "second alone"
        )
        limits = (
            f"{level_text(self.tau.confidence)} limits: over all orders that agree with the "
            "pairs shown; "
        )
        untold = [] if both else [self._untold]
        return [
            *untold,
            f"first: {first}; second: {second}; {samples}",
            f"{in_both}; {single}, {counts['neither']} by neither",
            f"{limits}wide with few users, or systems that are nearly equal",
            *self.settings["left_out"],
        ]

    @property
    def sentences(self) -> list[str]:
        """How far the orders agree, and how many pairs are swapped."""
        counts = self.counts
        both = counts["agree"] + counts["swapped"]
        tau = f"{format_number(self.tau.estimate)} ({_limits(self.tau)})"
        if not both:
            return [f"Kendall's τ of the two orders is {tau}.", self._untold]
        swapped = counts["swapped"]
        verb = "is" if swapped == 1 else "are"
        return [
            f"Kendall's τ of the two orders is {tau}.",
            f"{swapped} of {count_of(both, 'pair')} shown in both orders {verb} swapped.",
        ]

    @property
    def _untold(self) -> str:
        """That there are too few users to tell, and how many would show a pair in both orders."""
        text = "Too few users to tell whether the orders agree: no pair is shown in both."
        if self.settings["users_needed"] is None:
            return text
        low, high = self.settings["users_needed"]
        users = (
            f"Some {rounded(low):,} users or more would show"
            if high is None
            else f"About {rounded(low):,} to {rounded(high):,} users would show"
        )
        return f"{text} {users} the clearest one, {self.settings['clearest_pair']}."

    def _tables_at(self, detail: Detail) -> list[TableView]:
        """Return the coefficients with the systems and swapped pairs, or with all pairs."""
        rows = [(name, format_number(i.estimate), _limits(i)) for name, i in self._coefficients]
        views = [
            TableView(
                ("agreement", "value", "interval"),
                rows,
                title="Agreement of two orders.",
                label="rankwise-agreement",
            ),
            _system_view(self.table),
        ]
        pairs = self.pairs
        if detail == "table":
            pairs = pairs.filter(pl.col("agreement") == "swapped")
        if len(pairs):
            views.append(_pair_view(pairs, "pair" if detail == "full" else "swapped pair"))
        return [*views[:-1], replace(views[-1], notes=self.notes)]

    @property
    def _coefficients(self) -> list[tuple[str, Interval]]:
        return [("Kendall's τ", self.tau), ("τ_AP", self.tau_ap)]

    def _parts(self) -> tuple[dict[str, pl.DataFrame], dict[str, Any]]:
        frames, values = super()._parts()
        intervals = {"tau": asdict(self.tau), "tau_ap": asdict(self.tau_ap)}
        return frames, values | intervals | {"counts": self.counts}

    @classmethod
    def _read_values(cls, values: dict[str, Any]) -> dict[str, Any]:
        intervals = {name: _read_interval(values[name]) for name in ("tau", "tau_ap")}
        return values | intervals | {"swapped": float_of(values["swapped"])}


def _read_interval(values: Mapping[str, Any]) -> Interval:
    numbers = {name: float_of(values[name]) for name in ("estimate", "low", "high")}
    return Interval(**{**values, **numbers, "flags": tuple(values["flags"])})


def _limits(interval: Interval) -> str:
    return limits_text(interval.low, interval.high, format_number)


def _system_view(table: pl.DataFrame) -> TableView:
    rows = [
        (
            row["system"],
            *(
                text
                for side in ("first", "second")
                for text in (
                    format_number(row[side]),
                    f"{row[f'rank_{side}']} ({_range(row, side)})",
                )
            ),
        )
        for row in table.to_dicts()
    ]
    head = ("system", "first", "rank", "second", "rank")
    return TableView(head, rows, title="Systems by both orders.", label="rankwise-orders")


def _range(row: Mapping[str, Any], side: str) -> str:
    low, high = row[f"rank_{side}_low"], row[f"rank_{side}_high"]
    return f"{low}" if low == high else f"{low} to {high}"


def _pair_view(pairs: pl.DataFrame, corner: str) -> TableView:
    rows = [
        (
            pair_name(row),
            *(
                text
                for side in ("first", "second")
                for text in (signed(row[side]), p_value(row[f"p_{side}"]))
            ),
            *([row["agreement"]] if corner == "pair" else []),
        )
        for row in pairs.to_dicts()
    ]
    head = (corner, "first", "p", "second", "p", *(["agreement"] if corner == "pair" else []))
    return TableView(head, rows, title="Pairs in both orders.", label="rankwise-swapped")


def rank_agreement(
    first: ResultsByName,
    second: ResultsByName | None = None,
    *,
    metrics: str | Sequence[str] | None = None,
    missing: Missing = "error",
    confidence: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> RankAgreement:
    r"""Tell how far two judgments, splits or metrics put the same systems in the same order.

    .. math:: \tau = \frac{C - D}{k (k - 1) / 2}, \qquad
              \tau_{AP} = \frac{2}{k - 1} \sum_{i = 2}^{k} \frac{C(i)}{i - 1} - 1

    Of k systems, C pairs are in the same order and D in opposite ones; C(i) counts the systems
    above rank i of the second order that are above the system there in the first order as well.
    :math:`\tau_{AP}` weighs the top more, and takes the first order as the reference. Both lie in
    [−1, 1].

    The orders are of means over users, which have errors: with systems that are nearly equal, two
    orders of the same truth differ. The limits take this into account. In each order, all pairs are
    tested together at half the level, so that with the probability ``confidence`` everything that
    is shown of either order is true, whether the users of the two are the same or not. The limits
    are the smallest and the largest coefficient of orders that agree with it. A percentile
    bootstrap over users is not valid here: it repeats the disagreement that errors cause.

    Parameters
    ----------
    first : mapping of str to Result, or Comparison
        The results of each system; the reference of :math:`\tau_{AP}`.
    second : mapping of str to Result, or Comparison, optional
        The results of the same systems by another judgment or split; by default ``first``, for two
        metrics.
    metrics : str or pair of str, optional
        The metric of both orders, or that of each; by default the primary one. Without ``second``,
        two.
    missing : {"error", "zero", "common"}, default="error"
        What to do with users who have a value in some results only, as for `rankwise.compare`.
    confidence : float, default=0.95
        The confidence level.
    n_resamples : int, default=10_000
        Number of random draws of the tests. Metrics with bounds are tested without draws below
        1,000 users.
    seed : int, default=0
        Random seed of the draws.

    Returns
    -------
    RankAgreement

    Raises
    ------
    ParameterError
        If the two do not name the same systems, or nothing says what the second order is.
    MetricError
        If a metric is not a plain mean over users, or neither direction of it is better.

    References
    ----------
    Kendall 1938, A New Measure of Rank Correlation, Biometrika 30; Yilmaz, Aslam & Robertson 2008,
    A New Rank Correlation Coefficient for Information Retrieval, SIGIR.

    Examples
    --------
    >>> import rankwise as rw
    >>> truth = {user: {0, user % 7} for user in range(300)}
    >>> systems = {"a": [0, 1, 2], "b": [1, 0, 2], "c": [5, 6, 0], "d": [8, 9, 5]}
    >>> results = {
    ...     name: rw.evaluate({user: items for user in truth}, truth, ["ndcg@3", "recall@3"])
    ...     for name, items in systems.items()
    ... }
    >>> agreement = rw.rank_agreement(results, metrics=["ndcg@3", "recall@3"])
    >>> agreement.tau.estimate, agreement.tau_ap.estimate
    (0.8333333333333334, 0.6666666666666667)
    >>> agreement.table["rank_second"].to_list()
    [1, 1, 3, 4]
    """
    options: dict[str, Any] = {
        "missing": missing,
        "confidence": confidence,
        "n_resamples": n_resamples,
        "seed": seed,
    }
    check_rank_agreement(**options)
    sides = _sides(first, second)
    cells = cells_of_orders(sides, metrics, given=second is not None)
    orders = [_order(side, cell, **options) for side, cell in zip(sides, cells, strict=True)]
    return _agreement(list(sides[0]), orders, cells, options)


def _results_of(side: Any, name: str) -> dict[str, Result]:
    """Return the results of each system by name."""
    if isinstance(side, Comparison):
        side.design.check_is_plain("an order of systems", over_requests=True)
        side = side.results
    if (
        not isinstance(side, Mapping)
        or not side
        or not all(isinstance(result, Result) for result in side.values())
    ):
        raise ParameterError(
            f"{name} has one result per system, by name",
            found=", ".join(f"{key!r}: {type(r).__name__}" for key, r in side.items())
            or "no results"
            if isinstance(side, Mapping)
            else type(side).__name__,
            hint='pass {"a": rw.load("runs/a"), "b": rw.load("runs/b"), …}, or a comparison that '
            "holds its results",
        )
    return dict(side)


def check_rank_agreement(
    *,
    missing: Missing = "error",
    confidence: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> None:
    """Raise for options that no results can mend."""
    check_level("confidence", confidence)
    check_choice("missing", missing, Missing)
    check_positive(n_resamples=n_resamples)
    check_positive(least=0, seed=seed)


def _sides(first: Any, second: Any) -> tuple[dict[str, Result], dict[str, Result]]:
    """Return the comparable results of both orders, with the same systems in the same order."""
    one = _results_of(first, "first")
    other = one if second is None else _results_of(second, "second")
    if one.keys() != other.keys():
        apart = [
            f"{', '.join(sorted(a.keys() - b.keys())) or 'none'}"
            for a, b in ((one, other), (other, one))
        ]
        raise ParameterError(
            "both orders must be of the same systems",
            found=f"only in first: {apart[0]}; only in second: {apart[1]}",
        )
    _check_several(one)
    by_unit = [
        systems_of((side,)).by_unit().single()
        for side in (one, {name: other[name] for name in one})
    ]
    with without_force():
        for side in by_unit:
            check_comparable(side)
    return by_unit[0], by_unit[1]


def _check_several(systems: Mapping[str, Result]) -> None:
    """Raise unless there is something to order."""
    if len(systems) < 2:
        raise ParameterError("an order needs two systems or more", found=", ".join(systems))


def cells_of_orders(
    sides: Sequence[Mapping[str, Result]], metrics: Any, *, given: bool
) -> list[str]:
    """Return the value that each order is of; ``given`` says that the second has its own results.

    No value of a user is read: results without users do, too.
    """
    _check_several(sides[0])
    names = [metrics] if isinstance(metrics, str) or metrics is None else list(metrics)
    if not given and len(names) != 2:
        raise ParameterError(
            "nothing says what the second order is",
            found=f"{parameter('metrics', metrics)}, and results by one ground truth",
            hint="give results by another judgment or split, or two metrics: "
            f"{parameter('metrics', ['ndcg@10', 'recall@10'])}",
        )
    if len(names) not in (1, 2):
        raise ParameterError(
            "metrics is one metric, or one for each order", found=parameter("metrics", metrics)
        )
    cells = []
    for side, name in zip(sides, names * (3 - len(names)), strict=True):
        _, cell, _ = common_cells(side, name, None, means_only=_MEANS)
        if next(iter(side.values())).direction(cell) is None:
            raise MetricError(f"{cell} does not order systems: neither direction of it is better")
        cells.append(cell)
    return cells


@dataclass(frozen=True)
class _Order:
    """The means of systems for the same users (larger is better), and the orders that are shown.

    ``values`` has one row per independent user (larger is better), ``largest`` is the largest
    difference of two, and ``level`` that of the tests of all pairs together. ``users`` is the
    number of independent users, ``sample`` what means are over, in words.
    """

    means: Floats
    values: Floats
    largest: float
    level: float
    sign: int
    ranks: SystemRanks
    shown: Any
    users: int
    sample: str
    left_out: str


def _order(
    results: Mapping[str, Result],
    cell: str,
    *,
    missing: Missing,
    confidence: float,
    n_resamples: int,
    seed: int,
) -> _Order:
    """Return the order of systems by a metric, all pairs tested together at half the level."""
    better = next(iter(results.values())).direction(cell)
    check_zero(cell, missing, better)
    unit = next(iter(results.values())).sampling_unit
    sign, level, bounds = (1 if better else -1), (1 - confidence) / 2, bounds_of(results, cell)
    family = PairFamily(
        results=results,
        group=None,
        pairs=list(combinations(results, 2)),
        main=cell,
        tests=math.comb(len(results), 2),
        alpha=level,
        test="auto",
        correction="holm",
        margin=None,
        missing=missing,
        n_resamples=n_resamples,
        seed=seed,
        clusters=unit.clusters,
    )

    aligned = family.aligned(cell)
    assert aligned is not None
    users = len(aligned.values) if aligned.clusters is None else aligned.n_clusters

    if users < 2:
        raise MetricError(
            f"an order by {cell} needs two users or more with a value in all results",
            found=str(users),
        )

    means = aligned.values.mean(axis=0)
    if aligned.clusters is not None:
        ranks = _ranks_over_requests(family, cell, means, level, sign)
    else:
        largest = bounds[1] - bounds[0]
        ranks = ranks_of_users(
            aligned, largest, better=bool(better), alpha=level, n_resamples=n_resamples, seed=seed
        )

    values = aligned.values
    if aligned.clusters is not None:
        codes = aligned.clusters.codes
        values = np.column_stack([cluster_values(column, codes) for column in values.T])
    return _Order(
        means=sign * means,
        values=sign * values,
        largest=bounds[1] - bounds[0],
        level=level,
        sign=sign,
        ranks=ranks,
        shown=shown_orders(ranks.p_better, level),
        users=users,
        sample=unit.counted(len(aligned.values), users),
        left_out=f"{cell}: {aligned.reasons}" if aligned.reasons else "",
    )


def _ranks_over_requests(
    family: PairFamily, cell: str, means: Floats, level: float, sign: int
) -> SystemRanks:
    """Return ranks from Holm-corrected tests of all pairs, with users as clusters of requests."""
    systems, k = list(family.results), len(family.results)
    p, gain = np.full((k, k), math.nan), np.zeros((k, k))
    for row in test_pairs(family, cell):
        i, j = systems.index(row.system), systems.index(row.baseline)
        p[i, j] = p[j, i] = row.test.p
        gain[i, j] = sign * row.means.difference
        gain[j, i] = -gain[i, j]
    return ranks_of(pairwise_p(p, gain), sign * means, confidence=1 - level)


def _agreement(
    systems: list[str], orders: Sequence[_Order], cells: Sequence[str], options: Mapping[str, Any]
) -> RankAgreement:
    """Return how far two orders agree, and how many users would show their clearest pair."""
    first, second = orders
    flags: tuple[str, ...] = ()
    if not first.shown.any() and not second.shown.any():
        flags = ("no pair of systems is shown to differ",)
    users = min(first.users, second.users)

    def interval(value: float, limits: tuple[float, float]) -> Interval:
        confidence = options["confidence"]
        return Interval(value, *limits, confidence, "orders of shown pairs", users, flags)

    tau = interval(kendall_tau(first.means, second.means), tau_limits(first.shown, second.shown))
    ap = interval(tau_ap(first.means, second.means), tau_ap_limits(first.shown, second.shown))

    pairs = _pairs(systems, first, second)
    agree, swapped = (int((pairs["agreement"] == kind).sum()) for kind in ("agree", "swapped"))
    share, clearest, needed = math.nan, None, None
    if agree + swapped:
        share = swapped / (agree + swapped)
    else:
        clearest = _clearest_pair(first, second)
        needed = None if clearest is None else _users_needed(orders, clearest)
    name = None
    if clearest is not None and needed is not None:
        system, baseline = (systems[at] for at in clearest)
        name = pair_name({"system": system, "baseline": baseline})
    settings = {
        "metrics": list(cells),
        **options,
        "clearest_pair": name,
        "users_needed": needed,
        "users": [order.users for order in orders],
        "samples": [order.sample for order in orders],
        "left_out": list(dict.fromkeys(order.left_out for order in orders if order.left_out)),
    }
    return RankAgreement(tau, ap, share, _table(systems, first, second), pairs, settings)


def _clearest_pair(first: _Order, second: _Order) -> tuple[int, int] | None:
    """Return the pair whose smaller effect size is the largest; None if no pair differs twice."""
    pairs = list(combinations(range(len(first.means)), 2))
    effects = [min(_effect(order, *pair) for order in (first, second)) for pair in pairs]
    best = max(range(len(pairs)), key=effects.__getitem__)
    return pairs[best] if effects[best] > 0 else None


def _effect(order: _Order, a: int, b: int) -> float:
    """Return the size of a mean difference in standard deviations; infinite if it is constant."""
    difference = Differences(order.values[:, a], order.values[:, b])
    if not difference.mean:
        return 0.0
    return abs(difference.mean) / difference.deviation if difference.deviation else math.inf


def _users_needed(orders: Sequence[_Order], pair: tuple[int, int]) -> tuple[int, int | None] | None:
    """Return a range of users that would show a pair in both orders; None if no number does."""
    low = [_users_for(order, pair, 0.0) for order in orders]
    high = [_users_for(order, pair, _LOWER) for order in orders]
    if None in low:
        return None
    vague = None in high or min(order.users for order in orders) < FEWEST_PLANNED
    return max(n for n in low if n), None if vague else max(n for n in high if n)


def _users_for(order: _Order, pair: tuple[int, int], errors: float) -> int | None:
    """Return the users that show a pair, if its true gain is this many errors below the seen."""
    a, b = pair
    if order.means[a] < order.means[b]:
        a, b = b, a
    losses = Differences(order.values[:, b], order.values[:, a])
    gap = -losses.mean - errors * losses.error
    alpha = order.level / 2 / math.comb(len(order.means), 2)
    if math.isfinite(order.largest):
        return BoundedMean.of_pairs(losses, order.largest).users(gap, alpha=alpha, power=_POWER)
    return users_to_show(gap, losses.deviation, alpha, power=_POWER)


def _table(systems: list[str], first: _Order, second: _Order) -> pl.DataFrame:
    """Return one row per system, in the first order."""
    columns: dict[str, Any] = {"system": systems}
    for side, order in (("first", first), ("second", second)):
        columns[side] = order.sign * order.means
        columns[f"rank_{side}"] = order.ranks.rank
        columns[f"rank_{side}_low"] = 1 + order.shown.sum(axis=0)
        columns[f"rank_{side}_high"] = len(systems) - order.shown.sum(axis=1)
    return pl.DataFrame(columns).sort("rank_first", "rank_second", "system")


def _pairs(systems: list[str], first: _Order, second: _Order) -> pl.DataFrame:
    """Return one row per pair, the better one by the first order as the system."""
    rows = []
    for a, b in combinations(np.argsort(-first.means, kind="stable").tolist(), 2):
        one, other = first.means[a] - first.means[b], second.means[a] - second.means[b]
        up = [bool(order.shown[a, b]) for order in (first, second)]
        down = [bool(order.shown[b, a]) for order in (first, second)]
        rows.append(
            {
                "system": systems[a],
                "baseline": systems[b],
                "first": one,
                "second": other,
                "p_first": float(min(first.ranks.p_better[a, b], first.ranks.p_better[b, a])),
                "p_second": float(min(second.ranks.p_better[a, b], second.ranks.p_better[b, a])),
                "agreement": _agreement_of(up, down),
            }
        )
    return pl.DataFrame(rows)


def _agreement_of(up: Sequence[bool], down: Sequence[bool]) -> str:
    shown = [u or d for u, d in zip(up, down, strict=True)]
    if all(shown):
        return "agree" if up[0] == up[1] else "swapped"
    return "first only" if shown[0] else "second only" if shown[1] else "neither"
