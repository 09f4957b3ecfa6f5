"""`correct`: estimates of full-catalogue metrics from ranks among sampled negatives."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from rankwise.core.arguments import check_choice, check_flag, check_number, check_positive
from rankwise.core.facts import HISTORY
from rankwise.errors import DuplicateError, EmptyError, InputError, MeasureError, ParameterError
from rankwise.evaluation.settings import Settings
from rankwise.evaluation.totals import UserColumns, values_of_users
from rankwise.evaluation.work import prepare, work
from rankwise.measures.kinds import PerUser, Pooled
from rankwise.measures.measure import Measure
from rankwise.measures.read import MeasureLike, parse_all
from rankwise.ranking.rank_relevant import Ranks
from rankwise.stats.rank_bounds import rank_bounds
from rankwise.stats.sampled_ranks import Method, estimate, rank_probabilities
from rankwise.stats.values import check_level
from rankwise.tables.align import align
from rankwise.tables.columns import Columns
from rankwise.tables.read import read_table
from rankwise.tables.table import Recommendations, Table, Tables

__all__ = ["correct"]

Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
_CELLS = 100_000_000  # of the matrix of true by sampled ranks
_UNEVEN = 0.1  # differences of the users' catalogue sizes, relative to their mean, that are named


def correct(
    ranks: Ranks,
    truth: Any,
    measures: MeasureLike | Iterable[MeasureLike],
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
    it holds whatever the distribution of true ranks is. See `rankwise.stats.rank_bounds`.

    Parameters
    ----------
    ranks : Ranks
        From `rankwise.rank_relevant` with `rankwise.candidates.sampled` negatives, drawn uniformly.
    truth : table, path, mapping or sparse matrix
        The ground truth for which negatives were drawn, with the same rating threshold.
    measures : str, measure, or a list of them
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

        - ``measure``
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
    MeasureError
        A measure is not a function of one rank.

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
        raise ParameterError("gamma lies in [1e-6, 1), below which values explode", found=f"gamma={gamma}")
    requested = parse_all(measures)
    m, size = _sample(ranks, n_items)
    counts = _counts(ranks, _positives(ranks, read_table(truth, "truth", columns)), m)
    probabilities = rank_probabilities(size, m, replacement=ranks.protocol.replacement)
    values, sampled = _at_every_rank(requested, size), _at_every_rank(requested, m + 1)
    shares = counts.sum(axis=0) / counts.shape[0]
    corrected = shares.sum() * estimate(method, probabilities, values, shares, gamma=gamma)
    bounds = rank_bounds(probabilities, values, counts, confidence=confidence, decreasing=decreasing, seed=seed)
    caveats = _caveats(ranks, float(shares.sum()), decreasing=decreasing)
    flags = [
        [*_limits(metric, m), *_doubts(value, low, high), *caveats]
        for metric, value, low, high in zip(values.T, corrected, *bounds[:2], strict=True)
    ]
    return pl.DataFrame(
        {
            "measure": [cell for measure in requested for cell in measure.cells],
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
    """Return the caveats of every row: what was assumed, and what is missing."""
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
            hint="rw.rank_relevant(…, candidates=rw.candidates.sampled(…))",
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
    """Return the relevant users and items of the truth, with ids of the kind that ranks have."""
    for role in ("user", "item"):
        truth = align([ranks.as_table(), truth], role)[1]
    kind = {role: ranks.frame[role].dtype for role in ("user", "item")}
    relevant = truth.relevant(ranks.protocol.relevance_threshold).select("user", "item").cast(kind)  # type: ignore[arg-type]
    again = relevant.filter(relevant.is_duplicated())
    if len(again):
        raise DuplicateError(
            "duplicate item of a user in the truth",
            where=f"{truth.source}, user {again['user'][0]!r}",
            found=f"item {again['item'][0]!r} more than once",
        )
    return relevant


def _counts(ranks: Ranks, relevant: pl.DataFrame, m: int) -> Any:
    """Return a sparse array (n_users, m + 1) of sampled ranks, each user weighing 1 in all.

    Tied scores are spread evenly over the ranks that they leave open. A user whose relevant items
    are not all ranked weighs less.
    """
    from scipy.sparse import csr_array

    n_users = relevant["user"].n_unique()
    ranked = (
        relevant.with_columns(code=pl.col("user").rank("dense") - 1, share=1.0 / pl.len().over("user"))
        .join(ranks.frame, on=["user", "item"], how="inner")
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


def _at_every_rank(measures: tuple[Measure, ...], size: int) -> Floats:
    """Return the values of a user with one relevant item, at every rank of it, (size, n_cells).

    ``size`` users are evaluated, each with a relevant item at another rank.
    """
    for measure in measures:
        known = measure.reads.rows - {"ideal", "overlap_history", "relevant"}
        of_users = isinstance(measure, PerUser) or (isinstance(measure, Pooled) and measure.mean_of_users)
        if known or set(measure.reads.facts) - {HISTORY}:
            raise MeasureError(
                f"{measure.name} is not a function of one rank",
                hint="take hit_rate, recall, precision, ndcg, mrr, map, rbp, auc or gauc",
            )
        if not of_users:
            raise MeasureError(f"{measure.name} is not a function of one rank")
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
    settings = Settings(measures=measures, exact=True)
    job = prepare(settings, Tables(truth=Table(one, "truth", "truth", "pairs", {})))
    users = UserColumns(work(job, Tables(recommendations=ranks)).users.sort("user"))
    users = replace(users, catalogue_size=size)
    return np.stack(list(values_of_users(measures, users).values()), axis=1)
