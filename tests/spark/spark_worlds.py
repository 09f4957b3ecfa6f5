"""Random evaluations as tables, for Spark and for one process."""

from __future__ import annotations

import numpy as np
import polars as pl

from rankwise.spark.tables import send


def frames(seed=0, *, users=40, items=30, text=False, ranks=False):
    """Tables of ragged lists with ties, users in some of the tables only, groups with gaps."""
    rng = np.random.default_rng(seed)

    def pairs(share, most):
        chosen = [u for u in range(users + 10) if rng.random() < share]
        rows = [
            (u, int(i)) for u in chosen for i in rng.permutation(items)[: rng.integers(1, most)]
        ]
        return pl.DataFrame(rows, schema=["user", "item"], orient="row")

    lists, truth, train, reference = pairs(0.8, 12), pairs(0.8, 6), pairs(0.9, 9), pairs(0.8, 12)
    score = (1 + rng.integers(0, 6, len(lists))) / 8
    lists = lists.with_columns(score=pl.Series(score))
    if ranks:
        lists = lists.with_columns(rank=pl.int_range(1, pl.len() + 1).over("user"))
    truth = truth.with_columns(relevance=pl.Series(rng.integers(0, 5, len(truth)).astype(float)))
    reference = reference.with_columns(rank=pl.int_range(1, pl.len() + 1).over("user"))
    names = np.array(["war", "drama", "noir"])
    catalogue = pl.DataFrame(
        {
            "item": np.arange(items),
            "genres": [sorted(names[rng.random(3) < 0.5].tolist()) for _ in range(items)],
            "features": rng.integers(-2, 3, (items, 3)).astype(float).tolist(),
            "group": rng.choice(["a", "b", "c"], items),
            "propensity": rng.choice([0.05, 0.2, 0.5, 1.0], items),
        }
    )
    known = pl.DataFrame(
        {
            "user": np.arange(users + 10),
            "group": [[*"xyz", None][i] for i in rng.integers(0, 4, users + 10)],
            "age": rng.integers(8, 12, users + 10),
            "weight": rng.random(users + 10),
        }
    )
    tables = {
        "recommendations": lists,
        "truth": truth,
        "train": train,
        "items": catalogue,
        "users": known,
        "reference": reference,
    }
    if text:
        named = {"user": "u", "item": "ä"}
        tables = {
            role: frame.with_columns(
                (pl.lit(sign) + pl.col(name).cast(pl.String)).alias(name)
                for name, sign in named.items()
                if name in frame.columns
            )
            for role, frame in tables.items()
        }
    return tables


def on_spark(spark, tables):
    """The tables by user in Spark, their rows in another order; the catalogue stays as it is."""
    return {
        role: table
        if role == "items"
        else send(spark, table.sample(fraction=1, shuffle=True, seed=1))
        for role, table in tables.items()
    }
