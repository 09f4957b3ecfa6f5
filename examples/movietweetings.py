"""Three baselines on real ratings, by every family of metrics, in Python and by command line.

Ratings of films that people tweeted in 2013 (MovieTweetings, 100K snapshot, MIT licence): the
5-core, split at one moment for everybody (80 % of the ratings before it), ratings of 8 and more
relevant. Genres are the categories; users are grouped by how much they rated, films by how popular
they were in training and by decade. Run it with the folder that holds ``ratings.dat``:

    python examples/movietweetings.py ../shared/data/movietweetings-100k
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import polars as pl

import rankwise as rw
from rankwise.models.recommenders import Baseline, ItemNeighbours, Popularity, Random
from rankwise.splits import KCore, time_based_split
from rankwise.tables.read import read_table

RELEVANT = 8
FAMILIES = {
    "accuracy": [
        "precision@10",
        "recall@10",
        "ndcg@10",
        "map@10",
        "mrr@10",
        "hit_rate@10",
        "f1@10",
        "gauc",
        "lauc@10",
    ],
    "coverage": ["catalog_coverage@10", "user_coverage(as_share=true)@10"],
    "novelty": [
        "novelty@10",
        "surprisal@10",
        "efd@10",
        "epc@10",
        "serendipity@10",
        "unexpectedness@10",
    ],
    "diversity": [
        "gini@10",
        "shannon_entropy(normalised=true)@10",
        "personalization@10",
        "ild(distance=jaccard)@10",
        "subtopic_recall@10",
        "alpha_ndcg@10",
        "calibration_error@10",
    ],
    "popularity bias": ["arp@10", "aplt@10", "pop_rsp@10", "pop_reo@10", "popularity_lift@10"],
    "debiased": ["ips_recall@10", "snips_recall@10", "stratified_recall@10"],
    "fairness": [
        "reo(item_group=popularity)@10",
        "rsp(item_group=decade)@10",
        "item_mad_ranking(item_group=popularity)@10",
        "user_mad_ranking(user_group=activity)@10",
        "group_ratio(recall,user_group=activity)@10",
        "bias_disparity(item_group=popularity,user_group=activity)@10",
    ],
    "multi-objective": ["hypervolume([ndcg,gini],of=means)@10"],
    "list hygiene": ["unsatisfied(as_share=true)@10", "repeated@10", "cold_item_share@10"],
}
METRICS = [metric for own in FAMILIES.values() for metric in own]
RATING = ["rmse", "mae"]


def tables(data: Path, work: Path) -> None:
    """Write the split and what is known about films and users."""
    ratings = read_table(data / "ratings.dat", "truth").frame
    train, test = time_based_split(KCore(5).apply(ratings), test_ratio=0.2)
    train.write_parquet(work / "train.parquet")
    test.write_parquet(work / "test.parquet")
    films = read_table(data / "movies.dat", "items").frame
    seen = train.group_by("item").len("raters")
    shown = pl.concat([train["item"], test["item"]]).unique().to_frame()
    year = pl.col("title").str.extract(r"\((\d{4})\)").cast(pl.Int64)
    raters = pl.col("raters").fill_null(0)
    shown.join(films, on="item", how="left").join(seen, on="item", how="left").select(
        "item",
        "genres",
        decade=pl.when(year < 2000)
        .then(pl.lit("before 2000"))
        .when(year < 2010)
        .then(pl.lit("2000 to 2009"))
        .otherwise(pl.lit("from 2010")),
        popularity=pl.when(raters >= 50)
        .then(pl.lit("50 raters or more"))
        .when(raters >= 10)
        .then(pl.lit("10 to 49"))
        .otherwise(pl.lit("less than 10")),
    ).sort("item").write_parquet(work / "items.parquet")
    counted = train.group_by("user").len("rated")
    test.select("user").unique().join(counted, on="user", how="left").select(
        "user",
        activity=pl.when(pl.col("rated") >= 30)
        .then(pl.lit("30 ratings or more"))
        .when(pl.col("rated") >= 1)
        .then(pl.lit("1 to 29"))
        .otherwise(pl.lit("new")),
    ).sort("user").write_parquet(work / "users.parquet")


def through_the_library(
    data: Path, work: Path, metrics: Sequence[str] = METRICS
) -> dict[str, rw.Result]:
    """Split, fit, recommend and evaluate; leave the files for the command line in ``work``."""
    tables(data, work)
    train, test = (pl.read_parquet(work / f"{name}.parquet") for name in ("train", "test"))
    users = test["user"].unique().sort()
    models: dict[str, Baseline] = {
        "popularity": Popularity(),
        "random": Random(seed=0),
        "neighbours": ItemNeighbours(),
    }
    results = {}
    for name, model in models.items():
        model.fit(train).recommend(users, 10).write_parquet(work / f"{name}.parquet")
        results[name] = rw.evaluate(
            work / f"{name}.parquet",
            test,
            metrics,
            train=train,
            items=work / "items.parquet",
            users=work / "users.parquet",
            reference=work / "popularity.parquet",
            relevance_threshold=RELEVANT,
        )
    return results


def through_the_command_line(work: Path, name: str) -> dict[str, float | None]:
    """Evaluate one run with ``rankwise evaluate``."""
    metrics = [word for metric in METRICS for word in ("-m", metric)]
    files = {kind: f"{kind}.parquet" for kind in ("train", "items", "users")}
    files["reference"] = "popularity.parquet"
    options = [word for kind, file in files.items() for word in (f"--{kind}", file)]
    command = [sys.executable, "-m", "rankwise", "evaluate", f"{name}.parquet", "test.parquet"]
    command += ["--threshold", str(RELEVANT), "--format", "json", *options]
    done = subprocess.run([*command, *metrics], cwd=work, capture_output=True, check=True)  # noqa: S603
    values: dict[str, float | None] = json.loads(done.stdout)["values"]
    return values


def predicted_ratings(work: Path, metrics: Sequence[str] = RATING) -> dict[str, rw.Result]:
    """Predict every test rating by a mean of training, and evaluate the errors."""
    train, test = (pl.read_parquet(work / f"{name}.parquet") for name in ("train", "test"))
    overall = pl.lit(train["relevance"].mean())
    results = {}
    for name, key in (("mean of all", None), ("mean of the film", "item"), ("of the user", "user")):
        pairs = test.select("user", "item")
        if key is not None:
            means = train.group_by(key).agg(score=pl.col("relevance").mean())
            pairs = pairs.join(means, on=key, how="left")
        score = overall if key is None else pl.col("score").fill_null(overall)
        results[name] = rw.evaluate(pairs.with_columns(score=score), test, metrics)
    return results


def number(value: float | None) -> str:
    """Write a value in four places; a dash where there is none."""
    return f"{'–':>12}" if value is None or value != value else f"{value:12.4f}"


def report(results: dict[str, rw.Result], ratings: dict[str, rw.Result]) -> str:
    """Write both tables: a row a value, a column a model."""
    names = ["random", "popularity", "neighbours"]
    lines = [f"{'':68}" + "".join(f"{name:>12}" for name in names)]
    for family, metrics in FAMILIES.items():
        lines += ["", family]
        for metric in map(rw.parse, metrics):
            cells = [dict(results[name].cells(metric, 0)) for name in names]
            if "" not in cells[0]:
                lines.append(f"  {metric}")
            for label in dict.fromkeys(label for own in cells for label in own):
                head = f"    {label}" if label else f"  {metric}"
                lines.append(f"{head:68}" + "".join(number(row.get(label)) for row in cells))
    lines += ["", f"{'rating error':68}" + "".join(f"{name:>18}" for name in ratings)]
    for error in RATING:
        values = "".join(f"{result[error]:18.4f}" for result in ratings.values())
        lines.append(f"  {error:66}" + values)
    return "\n".join(line.rstrip() for line in lines)


def leads(results: dict[str, rw.Result]) -> str:
    """Write by how much popularity leads neighbours, with 95 % normal intervals over users."""
    first, second = (results[name].per_user for name in ("popularity", "neighbours"))
    lines = []
    for metric in ("ndcg@10", "recall@10", "efd@10", "snips_recall@10"):
        difference = (first[metric] - second[metric]).to_numpy()
        half = 1.96 * difference.std(ddof=1) / len(difference) ** 0.5
        lines.append(f"  {metric:24}{difference.mean():8.4f} ± {half:.4f}")
    return "\n".join(lines)


def main(data: Path) -> None:
    if not (data / "ratings.dat").is_file():
        sys.exit(f"there is no ratings.dat in {data}: MovieTweetings is not here")
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        results = through_the_library(data, work)
        for name, result in results.items():
            assert through_the_command_line(work, name) == result.to_dict()["values"], name
        print(report(results, predicted_ratings(work)))
        print(f"\nlead of popularity over neighbours\n{leads(results)}")
        print("\nThe command line gives the same values.\n")
        print(results["neighbours"].export("markdown").splitlines()[-1])


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "../shared/data/movietweetings-100k"))
