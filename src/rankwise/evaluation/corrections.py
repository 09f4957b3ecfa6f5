"""`correct`: estimates for the whole catalogue, from ranks among sampled negatives."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from rankwise.core.arguments import check_choice, check_number, check_positive
from rankwise.errors import (
    DuplicateError,
    EmptyError,
    InputError,
    MeasureError,
    ParameterError,
)
from rankwise.evaluation.settings import Settings
from rankwise.evaluation.totals import UserColumns, values_of_users
from rankwise.evaluation.work import prepare, work
from rankwise.measures.kinds import PerUser, Pooled
from rankwise.measures.measure import Measure
from rankwise.measures.read import MeasureLike, parse_all
from rankwise.ranking.rank_relevant import Ranks
from rankwise.stats.sampled_ranks import Method, estimate, rank_chances
from rankwise.tables.align import align
from rankwise.tables.columns import Columns
from rankwise.tables.read import read_table
from rankwise.tables.table import Recommendations, Table, Tables

__all__ = ["correct"]

Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
_CELLS = 100_000_000  # of the matrix of true by sampled ranks
_REPLICATES = 64  # replicates of the bootstrap that are worked out together


def correct(
    ranks: Ranks,
    truth: Any,
    measures: MeasureLike | Iterable[MeasureLike],
    *,
    method: Method = "em",
    gamma: float = 0.01,
    n_items: int | None = None,
    bootstrap: int = 200,
    level: float = 0.95,
    seed: int = 0,
    columns: Columns | None = None,
) -> pl.DataFrame:
    r"""Estimate measures over the whole catalogue from ranks among sampled negatives.

    Every relevant item is taken alone, against its user's negatives: a measure is then a function
    of one rank, and its value the mean over the user's relevant items and over users. What is
    estimated is that mean for the true ranks, among :math:`N` items. Where users have one relevant
    item it is what `rankwise.evaluate` says of exact ranks; where they have several, it is not:
    there they stand in one another's way. `rankwise.stats.sampled_ranks` has the formulas.

    Parameters
    ----------
    ranks : Ranks
        From `rankwise.rank_relevant` over `rankwise.candidates.sampled`, drawn uniformly.
    truth : table, path, mapping or sparse matrix
        The ground truth that the ranks were computed for; what is relevant in it was decided when
        negatives were drawn.
    measures : str, measure, or a list of them
        Functions of the ranks of relevant items: hit_rate, recall, ndcg, mrr, map, auc, ….
    method : {"em", "bv", "rank"}, default="em"
        The distribution of true ranks by expectation maximisation; bias against variance; the
        unbiased rank.
    gamma : float, default=0.01
        What variance weighs against bias, for ``"bv"``. In [1e-6, 1).
    n_items : int, optional
        The number of items that a relevant one competes with, itself included; by default the mean
        over users of what negatives were drawn from, plus one.
    bootstrap : int, default=200
        Replicates for the intervals, which draw users anew; 0 for none.
    level : float, default=0.95
        The level of the intervals.
    seed : int, default=0
        Of the bootstrap.
    columns : mapping, optional
        Which column of the truth has which role.

    Returns
    -------
    polars.DataFrame
        One row per value: ``measure``, ``sampled`` (over the sample, each item alone),
        ``corrected``, ``low`` and ``high``, ``method``, ``label``. Relevant
        items without a rank count 0 in all.

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
    >>> found = rw.correct(ranks, truth, "hit_rate@10", bootstrap=0)
    >>> found["sampled"].round(2).item(), found["corrected"].round(2).item()
    (0.21, 0.04)
    """
    check_choice("method", method, Method)
    check_number("gamma", gamma)
    check_number("level", level)
    check_positive(n_items=n_items)
    check_positive(least=0, bootstrap=bootstrap, seed=seed)
    if not 1e-6 <= gamma < 1 or not 0 < level < 1:
        raise ParameterError(
            "gamma lies in [1e-6, 1), below which values explode, and level in (0, 1)",
            found=f"gamma={gamma}, level={level}",
        )
    requested = parse_all(measures)
    m, size = _sample(ranks, n_items)
    table = read_table(truth, "truth", columns)
    counts, lost = _counts(ranks, _positives(ranks, table), m)
    chances = rank_chances(size, m, replacement=ranks.protocol.replacement)
    cells = [cell for measure in requested for cell in measure.cells]
    values, sampled = _at_every_rank(requested, size), _at_every_rank(requested, m + 1)
    whole = counts.sum(axis=0, keepdims=True).T
    corrected = (1 - lost) * estimate(method, chances, values, whole, gamma=gamma)[0]
    naive = (1 - lost) * (whole[:, 0] / whole.sum()) @ sampled
    low, high = np.full((2, len(cells)), np.nan)
    if bootstrap:
        each = [
            (1 - lost) * estimate(method, chances, values, drawn, gamma=gamma)
            for drawn in _replicates(counts, bootstrap, seed)
        ]
        tail = (1 - level) / 2
        low, high = np.quantile(np.concatenate(each), [tail, 1 - tail], axis=0)
    return pl.DataFrame(
        {"measure": cells, "sampled": naive, "corrected": corrected,
         "low": low, "high": high, "method": method, "label": ranks.protocol.label}
    )  # fmt: skip


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
            hint="draw no more than are left for everybody",
        )
    m = ranks.protocol.negatives
    left = ranks.eligible["eligible"].to_numpy()
    size = n_items or round(float(left.mean())) + 1
    if size <= m or size * (m + 1) > _CELLS:
        raise ParameterError(
            "the catalogue is as small as the sample" if size <= m else
            "this many items by this many negatives do not fit memory",
            found=f"{size:,} items, {m:,} negatives",
            hint="rank the whole catalogue: rw.rank_relevant is exact",
        )  # fmt: skip
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
            "an item stands twice for one user in the truth",
            where=f"{truth.source}, user {again['user'][0]!r}",
            found=f"item {again['item'][0]!r} more than once",
        )
    return relevant


def _counts(ranks: Ranks, relevant: pl.DataFrame, m: int) -> tuple[Floats, float]:
    """Count sampled ranks, each user weighing 1 in all, shape (U, m + 1), and what has no rank.

    Equal scores are spread over the ranks that they leave open.
    """
    ranked = relevant.with_columns(share=1.0 / pl.len().over("user")).join(
        ranks.frame, on=["user", "item"], how="inner"
    )
    if ranked.is_empty():
        raise EmptyError("no relevant item has a rank", where="ranks")
    sizes = ranked.group_by("user").len().join(ranks.lengths, on="user")
    short = sizes.filter(pl.col("length") != pl.col("len") + m)
    if len(short):
        raise InputError(
            "these are not the relevant items and all of the negatives that were drawn",
            where=f"user {short['user'][0]!r}",
            found=f"{short['length'][0]} candidates, {short['len'][0]} of them relevant, and {m} "
            f"negatives drawn ({len(short)} such users)",
            hint="take the truth that was sampled for, exclude nothing, and score every item",
        )
    # A relevant item competes with negatives alone: its user's other relevant items go.
    better = pl.col("score").rank("min", descending=True).over("user") - 1
    alike = pl.len().over("user", "score")
    ranked = ranked.with_columns(
        above=pl.col("first") - 1 - better.cast(pl.Int64),
        tied=pl.col("last") - pl.col("first") + 1 - alike.cast(pl.Int64),
    )
    users = ranked["user"].rank("dense").to_numpy().astype(np.int64) - 1
    above, tied = ranked["above"].to_numpy(), ranked["tied"].to_numpy()
    rows = np.repeat(np.arange(len(ranked)), tied + 1)
    first = np.cumsum(tied + 1) - (tied + 1)
    rank = above[rows] + np.arange(len(rows)) - first[rows]
    share = (ranked["share"].to_numpy() / (tied + 1))[rows]
    n_users = int(users.max()) + 1
    cell = users[rows] * (m + 1) + rank
    counts = np.bincount(cell, weights=share, minlength=n_users * (m + 1))
    everyone = relevant["user"].n_unique()
    return counts.astype(np.float64).reshape(n_users, m + 1), 1.0 - float(
        ranked["share"].sum()
    ) / everyone


def _replicates(counts: Floats, n: int, seed: int) -> Iterable[Floats]:
    """Yield counts of users drawn anew, some replicates at a time, shape (m + 1, n)."""
    rng = np.random.default_rng(seed)
    users = len(counts)
    for first in range(0, n, _REPLICATES):
        size = min(_REPLICATES, n - first)
        drawn = [np.bincount(rng.integers(0, users, users), minlength=users) for _ in range(size)]
        yield counts.T @ np.stack(drawn, axis=1).astype(np.float64)


def _at_every_rank(measures: tuple[Measure, ...], size: int) -> Floats:
    """Return the values of a user with one relevant item, at every rank of it, (size, n_cells).

    ``size`` users are evaluated, each with a relevant item at another rank.
    """
    for measure in measures:
        known = measure.requires - {"ideal", "overlap_history", "relevant"}
        of_users = isinstance(measure, PerUser) or (
            isinstance(measure, Pooled) and measure.mean_of_users
        )
        if known or measure.facts:
            raise MeasureError(
                f"{measure.name} is no function of one rank",
                hint="take hit_rate, recall, precision, ndcg, mrr, map, rbp, auc or gauc",
            )
        if not of_users:
            raise MeasureError(f"{measure.name} is no function of one rank")
    user, rank = np.arange(size), np.arange(1, size + 1)
    one = pl.DataFrame({"user": user, "item": user})
    ranks = Recommendations(
        one.with_columns(first=rank, last=rank, score=pl.lit(0.0)), "recommendations", "ranks",
        "exact ranks", {}, lengths=pl.DataFrame({"user": user, "length": np.full(size, size)}),
    )  # fmt: skip
    settings = Settings(measures=measures, exact=True)
    job = prepare(settings, Tables(truth=Table(one, "truth", "truth", "pairs", {})))
    users = UserColumns(work(job, Tables(recommendations=ranks)).users.sort("user"))
    users = replace(users, catalogue_size=size)
    return np.stack(list(values_of_users(measures, users).values()), axis=1)
