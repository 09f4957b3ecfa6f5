"""What rankwise is measured against: a careful Polars program, and the least that can be done.

The Polars program is what someone at home in Polars would write for these six metrics, in the
fastest form found: recommendations that are relevant are sought first, and everything after that
looks at these few rows alone.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["CUTOFFS", "METRICS", "floor", "solution"]

CUTOFFS = (5, 10, 20, 100)
METRICS = ("precision", "recall", "ndcg", "map", "mrr", "hit_rate")


def floor(recs: pl.DataFrame) -> list[float]:
    """Read every value of every column once: the sum of each, by NumPy."""
    return [float(column.to_numpy().sum()) for column in recs]


def solution(
    recs: pl.DataFrame, truth: pl.DataFrame, cutoffs: Sequence[int] = CUTOFFS
) -> tuple[dict[str, float], pl.DataFrame]:
    """Work out precision, recall, nDCG, MAP, MRR and hit rate in Polars.

    Parameters
    ----------
    recs : polars.DataFrame
        ``user``, ``item`` and a ``rank`` that counts 1, 2, 3, …, or a ``score``; any row order.
    truth : polars.DataFrame
        ``user``, ``item``, every row relevant.
    cutoffs : sequence of int
        Where the lists are cut.

    Returns
    -------
    means : dict of str to float
        ``{"ndcg@10": 0.31, …}``, the means over the users of the truth.
    per_user : polars.DataFrame
        ``user`` and a column for each of the means.
    """
    hits = _hits(recs if "rank" in recs.columns else _rank(recs), truth)
    relevant = truth.lazy().group_by("user").agg(n_relevant=pl.len())
    tables = pl.collect_all(
        [
            relevant,
            hits.lazy().group_by("user").agg(first=pl.col("rank").min()),
            *(_sums(hits.lazy().filter(pl.col("rank") <= k), k) for k in cutoffs),
        ]
    )
    joined = tables[0].lazy()
    for table in tables[1:]:
        joined = joined.join(table.lazy(), on="user", how="left")
    metrics = [one for k in cutoffs for one in _metrics(k)]
    per_user = joined.select("user", *metrics).collect()
    return per_user.select(pl.exclude("user").mean()).row(0, named=True), per_user


def _rank(recs: pl.DataFrame) -> pl.DataFrame:
    """Count ranks down the falling scores of each list."""
    rank = pl.col("score").rank("ordinal", descending=True)
    return recs.with_columns(rank=rank.over("user"))


def _hits(recs: pl.DataFrame, truth: pl.DataFrame) -> pl.DataFrame:
    """Return the relevant recommendations in order of user and rank, each with its number."""
    on = ["user", "item"]
    found = recs.lazy().join(truth.lazy(), on=on, how="semi").select("user", "rank")
    hits = found.collect(engine="streaming").sort("user", "rank")
    row = pl.int_range(pl.len())
    starts = pl.col("user").ne_missing(pl.col("user").shift())
    return hits.select(
        "user",
        "rank",
        discount=1 / (pl.col("rank") + 1).log(2),
        precision=(row - pl.when(starts).then(row).forward_fill() + 1) / pl.col("rank"),
    )


def _sums(hits: pl.LazyFrame, k: int) -> pl.LazyFrame:
    """Add up the hits of each user."""
    return hits.group_by("user").agg(
        pl.len().alias(f"hits@{k}"),
        pl.col("discount").sum().alias(f"dcg@{k}"),
        pl.col("precision").sum().alias(f"precisions@{k}"),
    )


def _metrics(k: int) -> list[pl.Expr]:
    """Write the six metrics at one cut-off; a user without hits has 0."""
    hits = pl.col(f"hits@{k}").fill_null(0)
    hit = (pl.col("first") <= k).fill_null(value=False).cast(pl.Float64)
    best = pl.min_horizontal("n_relevant", pl.lit(k))
    discounts = pl.Series([rank + 2 for rank in range(k)], dtype=pl.Float64).log(2)
    ideal = pl.lit(pl.Series([0.0, *accumulate((1 / discounts).to_list())]))
    values = {
        "precision": hits / k,
        "recall": hits / pl.col("n_relevant"),
        "ndcg": pl.col(f"dcg@{k}").fill_null(0.0) / ideal.gather(best),
        "map": pl.col(f"precisions@{k}").fill_null(0.0) / best,
        "mrr": hit / pl.col("first").fill_null(1),
        "hit_rate": hit,
    }
    return [values[name].alias(f"{name}@{k}") for name in METRICS]
