"""A two-stage recommender on real ratings, from candidates to the decision to ship its ranker.

Candidates come from item neighbours and from what was popular lately; LightGBM orders them. The split
has a part for each stage: candidate models learn from the oldest ratings, the ranker from the next,
and both are judged on the newest. LightGBM stops where rankwise's nDCG is best.

    pip install lightgbm
    python examples/two_stage_ranker.py ../shared/data/movietweetings-100k
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import rankwise as rw
from rankwise.models.recommenders import Baseline, ItemNeighbours, Popularity
from rankwise.rankers import LightGBMMetric
from rankwise.splits import KCore, TwoStage
from rankwise.tables.read import read_table

RELEVANT = 8
CANDIDATES = 50
METRIC = "ndcg@10"
FEATURES = ["near", "near_rank", "recent", "recent_rank", "ratings", "mean_rating", "activity"]
PARAMETERS = {
    "objective": "lambdarank",
    "metric": "None",
    "learning_rate": 0.05,
    "num_leaves": 15,
    "min_data_in_leaf": 50,
    "verbose": -1,
    "seed": 0,
    "num_threads": 1,
    "deterministic": True,
}


def candidates(train: pl.DataFrame, users: pl.Series) -> dict[str, pl.DataFrame]:
    """Return the candidates of each source for some users, without what they have rated."""
    models: dict[str, Baseline] = {
        "neighbours": ItemNeighbours(),
        "recent": Popularity(last="30d"),
    }
    return {name: model.fit(train).recommend(users, CANDIDATES) for name, model in models.items()}


def rows_of(lists: dict[str, pl.DataFrame], train: pl.DataFrame) -> pl.DataFrame:
    """Return one row per user and candidate with what a ranker may know before the test."""
    near, recent = (
        lists[name].select("user", "item", pl.col("rank").alias(f"{short}_rank"))
        for name, short in (("neighbours", "near"), ("recent", "recent"))
    )
    rows = near.join(recent, on=["user", "item"], how="full", coalesce=True)
    films = train.group_by("item").agg(ratings=pl.len(), mean_rating=pl.col("relevance").mean())
    people = train.group_by("user").agg(activity=pl.len())
    return (
        rows.join(films, on="item", how="left")
        .join(people, on="user", how="left")
        .with_columns(
            near=pl.col("near_rank").is_not_null().cast(pl.Int8),
            recent=pl.col("recent_rank").is_not_null().cast(pl.Int8),
        )
        .fill_null(2 * CANDIDATES)
        .sort("user", "item")
    )


def labelled(rows: pl.DataFrame, truth: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of users with a relevant item, with 1 for relevant candidates."""
    relevant = truth.filter(pl.col("relevance") >= RELEVANT).select("user", "item")
    marked = relevant.unique().with_columns(label=pl.lit(1))
    inside = rows.join(relevant.select("user").unique(), on="user", how="semi")
    return inside.join(marked, on=["user", "item"], how="left").with_columns(
        pl.col("label").fill_null(0)
    )


def sizes(rows: pl.DataFrame) -> list[int]:
    """Return the number of candidates of each user, in order."""
    return rows.group_by("user", maintain_order=True).len()["len"].to_list()


def trained(train: pl.DataFrame, valid: pl.DataFrame) -> Any:
    """Return a ranker that stopped where the metric on the validation users was best."""
    import lightgbm as lgb

    train_set, valid_set = (
        lgb.Dataset(rows.select(FEATURES).to_numpy(), rows["label"].to_numpy(), group=sizes(rows))
        for rows in (train, valid)
    )
    return lgb.train(
        PARAMETERS,
        train_set,
        400,
        valid_sets=[valid_set],
        feval=LightGBMMetric(METRIC),
        callbacks=[lgb.early_stopping(40, verbose=False)],
    )


def main(data: Path) -> None:
    """Print what each stage loses, and whether the ranker is better than its first source."""
    ratings = KCore(5).apply(read_table(data / "ratings.dat", "truth").frame)
    split = TwoStage(share=0.2, seed=0).split(ratings)
    parts = {name: split.part(name) for name in split.masks}

    people = pl.concat([parts["ranker_train"], parts["ranker_validation"]])["user"].unique().sort()
    first = rows_of(candidates(parts["candidate_train"], people), parts["candidate_train"])
    ranker = trained(
        labelled(first, parts["ranker_train"]), labelled(first, parts["ranker_validation"])
    )
    print(f"{ranker.best_iteration} trees")

    known = parts["train"]["user"].unique()
    test = parts["test"].filter(pl.col("user").is_in(known.implode()))
    lists = candidates(parts["train"], test["user"].unique().sort())
    rows = rows_of(lists, parts["train"])
    scores = ranker.predict(rows.select(FEATURES).to_numpy())
    ranked = rows.select("user", "item").with_columns(score=pl.Series(np.asarray(scores)))

    print(rw.stages(lists, test, METRIC, ranked=ranked, relevance_threshold=RELEVANT))
    systems = {"neighbours": lists["neighbours"], "ranker": ranked}
    results = {
        name: rw.evaluate(own, test, METRIC, relevance_threshold=RELEVANT)
        for name, own in systems.items()
    }
    print(rw.decide(results, success=METRIC))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
