r"""Metrics at every cut-off from exact ranks, and estimates from ranks among sampled negatives.

A metric that is a sum over the list, :math:`S_u(k) / N_u(\min(k, |R_u|))`, changes for a user only
at the ranks of relevant items and at the first :math:`|R_u|` cut-offs. These steps are added up
over all users, rank by rank; the curve is their running sum. The cost is proportional to the number
of relevant items, whatever the number of cut-offs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from rankwise.blocks.block import HISTORY, WHOLE_LIST, Block, Ideal
from rankwise.blocks.encoded import blocks
from rankwise.core.arguments import check_choice, check_flag, check_number, check_positive
from rankwise.core.ragged import Ints, offsets, positions, runs
from rankwise.encoding.encoder import Encoder, EncodingRules
from rankwise.errors import DuplicateError, EmptyError, InputError, MetricError, ParameterError
from rankwise.evaluation.engine import prepare, work
from rankwise.evaluation.plan import check_threshold
from rankwise.evaluation.settings import Settings
from rankwise.messages import parameter
from rankwise.metrics.base import CurveTerms, Metric, MetricLike, parse_all
from rankwise.metrics.states import UserFrame
from rankwise.metrics.values import values_of_users
from rankwise.options import Options
from rankwise.ranking.rank import Ranks
from rankwise.stats.differences import check_level
from rankwise.stats.sampled_metrics import Method, estimate, rank_bounds, rank_probabilities
from rankwise.tables.columns import Columns, check_columns
from rankwise.tables.ids import settle_ids
from rankwise.tables.read import read_table
from rankwise.tables.table import Recommendations, Table, Tables

Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
_CELLS = 100_000_000  # of the matrix of true by sampled ranks
_UNEVEN = 0.1  # differences of the users' catalogue sizes, relative to their mean, that are named


def correct(
    ranks: Ranks,
    truth: Any,
    metrics: MetricLike | Iterable[MetricLike],
    *,
    method: Method = "em",
    gamma: float = 0.01,
    n_items: int | None = None,
    confidence: float = 0.95,
    decreasing: bool = False,
    seed: int = 0,
    columns: Columns | None = None,
) -> pl.DataFrame:
    r"""Estimate metrics over the whole catalogue from ranks among sampled negatives.

    Each relevant item is ranked against its user's negatives alone, so a metric is a function of
    one rank. Its value is the mean over the relevant items of a user, then over users. The target
    is the same mean of the true ranks among :math:`N` items. For users with one relevant item this
    is what `rankwise.evaluate` computes from exact ranks; for users with several it is not, because
    there relevant items also compete with one another.

    m negatives hardly distinguish true ranks 1 to N / m. Very different hit rates at a cut-off
    below N / m give the same sampled ranks, and no estimator can tell which of them is true: every
    ``corrected`` value is biased to some degree. The confidence interval includes this bias. It
    is an interval of the true value, not of the estimator, so it is the same for every method, and
    it holds whatever the distribution of true ranks is. See `rankwise.stats.sampled_metrics`.

    Parameters
    ----------
    ranks : Ranks
        From `rankwise.rank_relevant` with `rankwise.candidates.sampled` negatives, drawn uniformly.
    truth : table, path, mapping or sparse matrix
        The ground truth for which negatives were drawn, with the same rating threshold.
    metrics : str, metric, or a list of them
        Functions of the ranks of relevant items: hit_rate, recall, ndcg, mrr, map, auc, ….
    method : {"em", "bv", "rank"}, default="em"
        The estimator. ``"em"``: mean under the maximum-likelihood distribution of true ranks
        (expectation maximisation). ``"bv"``: bias against variance. ``"rank"``: the metric at the
        unbiased estimate of the rank; for comparison with published values only, because it is
        heavily biased for every metric in which first ranks count most (hit rate, nDCG, MRR).
    gamma : float, default=0.01
        Weight of variance against squared bias for ``method="bv"``, in [1e-6, 1).
    n_items : int, optional
        Number of items N that are ranked in a full evaluation of one relevant item, itself
        included. Default: the mean over users of the items that negatives were drawn from, plus 1.
    confidence : float, default=0.95
        Confidence level of the intervals, in (0, 1).
    decreasing : bool, default=False
        Assume that a true rank is never more probable than the one before it. Intervals are then
        much narrower, and wrong if the assumption is. Every row says that it was made.
    seed : int, default=0
        Random seed of the five folds of users from which the intervals are computed.
    columns : mapping, optional
        The column of ``truth`` for each role, e.g. ``{"user": "uid"}``.

    Returns
    -------
    polars.DataFrame
        One row per value of a metric:

        - ``metric``
        - ``corrected``: the estimate for the whole catalogue
        - ``low``, ``high``: confidence limits of the value for the whole catalogue
        - ``method``
        - ``unresolved``: the part of ``high - low`` that is bias, which more negatives reduce; the
          remainder is sampling noise, which more users reduce
        - ``sampled``: the value over the sample, each relevant item ranked alone
        - ``flags``: a list of caveats, such as the ranks that the sample does not distinguish, or
          an estimate outside its interval
        - ``label``: how candidates were sampled

        Relevant items without a rank have the value 0.

    Raises
    ------
    ParameterError
        Ranks are not among uniformly sampled negatives, the sample is as large as the catalogue,
        or a parameter is outside its range.
    InputError
        Users have different numbers of negatives, or ranks and ground truth do not belong together.
    MetricError
        A metric is not a function of one rank.

    References
    ----------
    Krichene & Rendle 2020, On Sampled Metrics for Item Recommendation, KDD; Jin, Li, Gao & Liu
    2021, On Estimating Recommendation Evaluation Metrics under Sampling, AAAI.

    Examples
    --------
    >>> import numpy as np
    >>> import rankwise as rw
    >>> scores = np.random.default_rng(1).normal(size=(300, 500))
    >>> truth = {user: {user % 500} for user in range(300)}
    >>> frozen = rw.candidates.sampled(truth, 50, seed=1, items=range(500))
    >>> ranks = rw.rank_relevant(scores, truth=truth, candidates=frozen)
    >>> hit = rw.correct(ranks, truth, "hit_rate@5").row(0, named=True)
    >>> round(hit["sampled"], 2), round(hit["corrected"], 3)
    (0.11, 0.04)
    >>> round(hit["low"], 2), round(hit["high"], 2), round(hit["unresolved"], 2)
    (0.0, 0.1, 0.07)
    >>> hit["flags"]
    ['true ranks 1 to 10 look alike in the sample']
    """
    check_choice("method", method, Method)
    check_number("gamma", gamma)
    check_level("confidence", confidence)
    check_flag(decreasing=decreasing)
    check_positive(n_items=n_items)
    check_positive(least=0, seed=seed)
    if not 1e-6 <= gamma < 1:
        raise ParameterError(
            "gamma lies in [1e-6, 1), below which values explode", found=parameter("gamma", gamma)
        )
    requested = parse_all(metrics)
    m, size = _sample(ranks, n_items)
    check_columns(columns, ["truth"])
    counts = _counts(ranks, read_table(truth, "truth", columns), m)
    probabilities = rank_probabilities(size, m, replacement=ranks.protocol.replacement)
    values, sampled = _at_every_rank(requested, size), _at_every_rank(requested, m + 1)
    shares = counts.sum(axis=0) / counts.shape[0]
    corrected = shares.sum() * estimate(method, probabilities, values, shares, gamma=gamma)
    bounds = rank_bounds(
        probabilities, values, counts, confidence=confidence, decreasing=decreasing, seed=seed
    )
    caveats = _caveats(ranks, float(shares.sum()), decreasing=decreasing)
    flags = [
        [*_limits(metric, m), *_doubts(value, low, high), *caveats]
        for metric, value, low, high in zip(values.T, corrected, *bounds[:2], strict=True)
    ]
    return pl.DataFrame(
        {
            "metric": [cell for metric in requested for cell in metric.cells],
            "corrected": corrected,
            "low": bounds.low,
            "high": bounds.high,
            "method": method,
            "unresolved": bounds.unresolved,
            "sampled": shares @ sampled,
            "flags": flags,
            "label": ranks.protocol.label,
        },
        schema_overrides={"flags": pl.List(pl.String)},
    )


def _limits(metric: Floats, m: int) -> list[str]:
    """Return the part of a metric that the sample does not resolve, from its value at each rank."""
    alike = math.ceil((len(metric) - 1) / m)
    if np.ptp(metric[:alike]) <= np.ptp(metric) / 2:
        return []
    return [f"true ranks 1 to {alike:,} look alike in the sample"]


def _doubts(value: float, low: float, high: float) -> list[str]:
    """Return the caveats of an estimate and its interval."""
    if math.isnan(low):
        return ["limits cross: hardly any distribution of true ranks explains the sample"]
    return [] if low - 1e-9 <= value <= high + 1e-9 else ["corrected value outside its interval"]


def _caveats(ranks: Ranks, ranked: float, *, decreasing: bool) -> list[str]:
    """Return the caveats of every row: assumptions, missing ranks and uneven candidate sets."""
    out = ["assumes ranks of decreasing probability"] if decreasing else []
    if ranked < 1 - 1e-9:
        out.append(f"{1 - ranked:.1%} of relevance is of items without a rank: value 0")
    eligible = ranks.eligible["eligible"].to_numpy() if ranks.eligible is not None else np.ones(1)
    if np.ptp(eligible) > _UNEVEN * eligible.mean():
        out.append(f"users have {eligible.min():,} to {eligible.max():,} items: approximate")
    return out


def _sample(ranks: Ranks, n_items: int | None) -> tuple[int, int]:
    """Return how many negatives were drawn, and from how many items, one more for the positive."""
    if not isinstance(ranks, Ranks) or ranks.protocol.negatives is None or ranks.eligible is None:
        raise ParameterError(
            "only ranks among sampled negatives are corrected",
            found=repr(ranks)[:80],
            hint=f"rw.rank_relevant takes {parameter('candidates')}, such as "
            "rw.candidates.sampled(…)",
        )
    if ranks.protocol.by != "uniform":
        raise ParameterError(
            "negatives drawn by popularity cannot be corrected: true ranks do not follow from them",
            found=ranks.protocol.label,
            hint="draw them uniformly",
        )
    if ranks.counts.get("users_with_fewer_negatives"):
        raise InputError(
            "some users have fewer negatives than the others",
            found=f"{ranks.counts['users_with_fewer_negatives']} users",
            hint="draw no more negatives than every user has items left",
        )
    m = ranks.protocol.negatives
    left = ranks.eligible["eligible"].to_numpy()
    size = n_items or round(float(left.mean())) + 1
    if size <= m or size * (m + 1) > _CELLS:
        raise ParameterError(
            "the catalogue is as small as the sample"
            if size <= m
            else "the matrix of items by negatives does not fit in memory",
            found=f"{size:,} items, {m:,} negatives",
            hint="rank the whole catalogue: rw.rank_relevant is exact",
        )
    return m, size


def _positives(ranks: Ranks, truth: Table) -> pl.DataFrame:
    """Return the relevant users and items of the ground truth."""
    relevant = truth.relevant(ranks.protocol.relevance_threshold).select("user", "item")
    again = relevant.filter(relevant.is_duplicated())
    if len(again):
        raise DuplicateError(
            "duplicate item of a user in the truth",
            where=f"{truth.source}, user {again['user'][0]!r}",
            found=f"item {again['item'][0]!r} more than once",
        )
    return relevant


def _counts(ranks: Ranks, truth: Table, m: int) -> Any:
    """Return a sparse array (n_users, m + 1) of sampled ranks, each user weighing 1 in all.

    Tied scores are spread evenly over the ranks that they leave open. A user whose relevant items
    are not all ranked weighs less.
    """
    from scipy.sparse import csr_array

    tables = settle_ids(Tables(truth=truth, recommendations=ranks.as_table()))
    assert tables.truth is not None
    assert tables.recommendations is not None
    relevant = _positives(ranks, tables.truth)
    n_users = relevant["user"].n_unique()
    ranked = (
        relevant.with_columns(
            code=pl.col("user").rank("dense") - 1, share=1.0 / pl.len().over("user")
        )
        .join(tables.recommendations.frame, on=["user", "item"], how="inner")
        .sort("user", "item")  # the same bits for any order of rows
    )
    if ranked.is_empty():
        raise EmptyError("no relevant item has a rank", where="ranks")
    _check_candidates(ranks, ranked, m)
    # A relevant item competes with negatives alone: its user's other relevant items go.
    better = pl.col("score").rank("min", descending=True).over("user") - 1
    alike = pl.len().over("user", "score")
    ranked = ranked.with_columns(
        above=pl.col("first") - 1 - better.cast(pl.Int64),
        tied=pl.col("last") - pl.col("first") + 1 - alike.cast(pl.Int64),
    )
    above, tied = ranked["above"].to_numpy(), ranked["tied"].to_numpy()
    rows = np.repeat(np.arange(len(ranked)), tied + 1)
    first = np.cumsum(tied + 1) - (tied + 1)
    rank = above[rows] + np.arange(len(rows)) - first[rows]
    share = (ranked["share"].to_numpy() / (tied + 1))[rows]
    user = ranked["code"].to_numpy().astype(np.int64)[rows]
    return csr_array((share, (user, rank)), shape=(n_users, m + 1))


def _check_candidates(ranks: Ranks, ranked: pl.DataFrame, m: int) -> None:
    """Raise unless each user's candidates are the relevant items and m negatives."""
    sizes = ranked.group_by("user").len().join(ranks.lengths, on="user")
    short = sizes.filter(pl.col("length") != pl.col("len") + m)
    if len(short):
        raise InputError(
            "the candidates are not the relevant items plus all negatives that were drawn",
            where=f"user {short['user'][0]!r}",
            found=f"{short['length'][0]} candidates, {short['len'][0]} of them relevant, and {m} "
            f"negatives drawn ({len(short)} such users)",
            hint="pass the truth that negatives were drawn for, exclude nothing, score every item",
        )


def _at_every_rank(metrics: tuple[Metric, ...], size: int) -> Floats:
    """Return the values of a user with one relevant item, for every rank, (size, n_cells).

    ``size`` users are evaluated, each with a relevant item at another rank.
    """
    for metric in metrics:
        rows = metric.reads.rows - {"ideal", "overlap_history", "relevant"}
        if rows or set(metric.reads.facts) - {HISTORY}:
            raise MetricError(
                f"{metric.name} is not a function of one rank",
                hint="take hit_rate, recall, precision, ndcg, mrr, map, rbp, auc or gauc",
            )
        if not metric.averages_users:
            raise MetricError(f"{metric.name} is not a function of one rank")
    user, rank = np.arange(size), np.arange(1, size + 1)
    one = pl.DataFrame({"user": user, "item": user})
    ranks = Recommendations(
        one.with_columns(first=rank, last=rank, score=pl.lit(0.0)),
        "recommendations",
        "ranks",
        "exact ranks",
        {},
        lengths=pl.DataFrame({"user": user, "length": np.full(size, size)}),
    )
    settings = Settings(metrics=metrics, exact=True)
    job = prepare(settings, Tables(truth=Table(one, "truth", "truth", "pairs", {})))
    users = UserFrame(work(job, Tables(recommendations=ranks)).users.sort("user"))
    users = replace(users, catalogue_size=size)
    return np.stack(list(values_of_users(metrics, users).values()), axis=1)


def curve(
    ranks: Ranks,
    truth: Any,
    metrics: MetricLike | Iterable[MetricLike] = ("recall", "ndcg"),
    *,
    upto: int | None = None,
    relevance_threshold: float | None = None,
    columns: Columns | None = None,
) -> pl.DataFrame:
    """Compute metrics at every cut-off k = 1, 2, …, from exact ranks.

    Parameters
    ----------
    ranks : Ranks
        From `rankwise.rank_relevant`.
    truth : table, path, mapping or sparse matrix
        The ground truth that the ranks were computed for.
    metrics : str, metric, or a list of them, default=("recall", "ndcg")
        Metrics that are sums over hits, without a cut-off: recall, precision, hit_rate, mrr, arhr,
        ncrr, map, mar, cg, dcg, ndcg, rbp. Not with a parameter that divides by the list length.
    upto : int, optional
        The largest cut-off; by default the size of the largest candidate set.
    relevance_threshold : float, optional
        Count items as relevant from this rating on. Without it every ground-truth row
        with a relevance above 0 is relevant.
    columns : mapping, optional
        The column of ``truth`` for each role, e.g. ``{"user": "uid"}``.

    Returns
    -------
    polars.DataFrame
        One row per cut-off: ``k``, and one column per metric with the mean over all users who have
        a relevant item. If candidates were sampled, column names carry the label.

    Raises
    ------
    MetricError
        If a metric is not a sum over hits, or has a cut-off of its own.
    ParameterError
        If ``ranks`` are not exact ranks, or were computed for another rating threshold.
    InputError
        If the ranks were computed for another ground truth, or no user has a relevant item.

    See Also
    --------
    rank_relevant : Compute the exact ranks.

    Examples
    --------
    >>> import numpy as np
    >>> import rankwise as rw
    >>> truth = {0: {2}, 1: {0, 1}}
    >>> ranks = rw.rank_relevant(np.array([[0.9, 0.1, 0.5], [0.2, 0.8, 0.4]]), truth=truth)
    >>> rw.curve(ranks, truth, "recall").rows()
    [(1, 0.25), (2, 0.75), (3, 1.0)]
    """
    check_number("relevance_threshold", relevance_threshold)
    check_positive(upto=upto)
    check_columns(columns, ["truth"])
    if not isinstance(ranks, Ranks):
        raise ParameterError(
            "a curve is drawn from exact ranks",
            found=type(ranks).__name__,
            hint="rw.rank_relevant computes them",
        )
    requested = {str(metric): _running_sum(metric) for metric in parse_all(metrics, cutoffs=False)}
    check_threshold(ranks.protocol, relevance_threshold)
    table = read_table(truth, "truth", columns)
    rules = EncodingRules(
        options=Options(relevance_threshold=relevance_threshold),
        needs=frozenset({"ideal"}),
        exact=True,
    )
    tables = settle_ids(Tables(truth=table, recommendations=ranks.as_table()))
    encoder = Encoder(rules, Tables(truth=tables.truth))
    encoded = encoder.encode(Tables(recommendations=tables.recommendations))
    last = int(encoded.lists.length.max()) if upto is None else upto
    steps = {name: np.zeros(last + 1) for name in requested}
    for block in blocks(encoded):
        for name, metric in requested.items():
            _add(steps[name], metric, block, last)
    users = int(encoded.evaluated.sum())
    if not users:
        raise EmptyError("no user has a relevant item", where=table.source)
    ks = np.arange(1, last + 1)
    label = f", {ranks.protocol.label}" if ranks.protocol.sampled else ""
    out: dict[str, Any] = {"k": ks}
    for name, metric in requested.items():
        values = np.cumsum(steps[name])[1:] / users
        out[f"{name}{label}"] = values / metric.scale(ks)
    return pl.DataFrame(out)


def _running_sum(metric: Metric) -> CurveTerms:
    """Return the running sum from which the curve of a metric is computed; raise if none exists."""
    running_sum = metric.as_running_sum
    if running_sum is None or metric.reads.facts or not metric.reads.rows <= {"ideal"}:
        raise MetricError(
            f"there is no curve of {metric.name}",
            hint="take recall, precision, hit_rate, mrr, map, dcg, ndcg or rbp",
        )
    if metric.k:
        raise ParameterError(
            "a curve has every cut-off", found=str(metric), hint=f"write {metric @ ()}"
        )
    if not running_sum.norm_is_settled:
        raise MetricError(
            f"there is no curve of {metric}",
            hint="choose a divisor that does not depend on the list",
        )
    return running_sum


def _add(steps: Floats, metric: CurveTerms, block: Block, last: int) -> None:
    """Add the steps of every user's values."""
    terms, rank, user = metric.terms(block), block.hits.rank, block.hits.user
    reach = _in_reach(block)
    starts, norm = reach.starts, metric.norm(reach, WHOLE_LIST)
    norm = np.ones(len(reach.filled)) if norm is None else norm
    ends = np.diff(starts)
    # A user's value may change where an item stands, and where what divides it changes.
    at_user = np.concatenate([user, np.repeat(np.arange(block.n_users), ends)])
    at_rank = np.concatenate([rank, positions(starts) + 1])
    worth = np.concatenate([terms, np.zeros(len(norm))])
    order = np.lexsort((at_rank, at_user))
    at_user, at_rank, worth = at_user[order], at_rank[order], worth[order]
    edges = runs(at_user)
    heads = edges[:-1]
    total = np.cumsum(worth)
    before = np.repeat(total[heads] - worth[heads], np.diff(edges))
    by = norm[starts[at_user] + np.minimum(at_rank, ends[at_user]) - 1]
    value = np.divide(total - before, by, out=np.zeros(len(by)), where=by > 0)
    step = np.diff(value, prepend=0.0)
    step[heads] = value[heads]
    near = at_rank <= last
    steps += np.bincount(at_rank[near], weights=step[near], minlength=last + 1)


@dataclass(frozen=True)
class _BlockAtEveryCutoff(Block):
    """A block with one user for each pair of a user and a cut-off that relevant items can fill.

    So the norm of a metric is computed at all of a user's first |R_u| cut-offs at once.
    """

    filled: Ints = None  # type: ignore[assignment]
    """The cut-off of each pair."""
    starts: Ints = None  # type: ignore[assignment]
    """Where the pairs of each user start."""

    def relevant_in_reach(self, k: int | Ints) -> Ints:
        """Return min(k, cut-off, number of relevant items)."""
        return np.minimum(np.minimum(self.n_relevant, self.filled), k)

    def sum_ideal(
        self, gain: Callable[[Any], Any], discount: Callable[[Any], Any], k: int | Ints
    ) -> Floats:
        """Return the ideal DCG at each cut-off, or at k if that is smaller."""
        gains, ideal = np.ones(len(self.filled)), self.row_sets.ideal
        if isinstance(ideal, Ideal):
            gains[self.n_relevant > 0] = ideal.gain
        terms = gain(gains) * discount(self.filled.astype(np.float64))
        total = np.concatenate([[0.0], np.cumsum(terms)])
        first = np.repeat(self.starts[:-1], np.diff(self.starts))
        sums: Floats = total[first + np.minimum(self.filled, k)] - total[first]
        return np.where(self.n_relevant > 0, sums, 0.0)


def _in_reach(block: Block) -> _BlockAtEveryCutoff:
    n = np.maximum(block.n_relevant, 1)
    starts = offsets(n)
    parts = {field.name: getattr(block, field.name) for field in fields(Block) if field.init}
    parts |= {name: np.repeat(parts[name], n) for name in ("n_relevant", "list_length")}
    return _BlockAtEveryCutoff(**parts, filled=positions(starts) + 1, starts=starts)
