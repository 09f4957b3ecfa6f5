"""The same ratings split in three ways, each audited, and what becomes of three baselines.

Ratings of films that people tweeted in 2013 (MovieTweetings, 100K snapshot, MIT licence): the
5-core, ratings of 8 and more relevant, ten films for every test user, none that the user has rated
in training. Run it with the folder that holds ``ratings.dat``:

    python examples/splits.py ../shared/data/movietweetings-100k
"""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl

import rankwise as rw
from rankwise.models.recommenders import Baseline, ItemNeighbours, Popularity, Random
from rankwise.splits import GlobalTime, Holdout, KCore, LeaveOut, Split

RELEVANT = 8
RULES = {
    "random holdout": Holdout(0.2, seed=0),
    "leave-one-out": LeaveOut(1, "last"),
    "global time": GlobalTime(share=0.2),
}
CHECKS = ["L3", "L7", "L8", "L9", "L10", "L11", "L12"]
METRICS = ["ndcg@10", "recall@10", "hit_rate@10"]


def splits(data: Path) -> dict[str, Split]:
    """Split the same ratings by every rule."""
    ratings = KCore(5).apply(data / "ratings.dat")
    return {name: rule.split(ratings) for name, rule in RULES.items()}


def lists(split: Split) -> dict[str, pl.DataFrame]:
    """Fit the baselines on the training part, and let them recommend to the test users."""
    models: dict[str, Baseline] = {
        "random": Random(seed=0),
        "popularity": Popularity(),
        "neighbours": ItemNeighbours(),
    }
    users = split.test["user"].unique().sort()
    return {name: model.fit(split.train).recommend(users, 10) for name, model in models.items()}


def results(split: Split, listed: dict[str, pl.DataFrame]) -> dict[str, rw.Result]:
    """Evaluate the baselines on the test part, for users with and without training rows too."""
    return {
        name: rw.evaluate(own, split, METRICS, relevance_threshold=RELEVANT, by="history")
        for name, own in listed.items()
    }


def number(value: float | None) -> str:
    """Write what a check found: whole numbers without places."""
    assert value is not None
    return f"{value:10,.0f}" if value > 100 else f"{value:10.4f}"


def table_of_audits(audits: dict[str, rw.Audit]) -> str:
    """Write a row a check: verdict and number for every split."""
    lines = [f"{'':34}" + "".join(f"{name:>22}" for name in audits)]
    for code in CHECKS:
        checks = [audit[code] for audit in audits.values()]
        cells = [f"{check.status} {number(check.value)}" for check in checks]
        lines.append(f"{code:4}{checks[0].name:30}" + "".join(f"{cell:>22}" for cell in cells))
    return "\n".join(lines)


def with_half_width(values: pl.Series) -> str:
    """Write a mean with the half-width of its 95 % normal interval over users."""
    each = values.drop_nans().to_numpy()
    return f"{each.mean():.4f} ±{1.96 * each.std(ddof=1) / len(each) ** 0.5:.4f}"


def table_of_results(found: dict[str, dict[str, rw.Result]]) -> str:
    """Write a row a metric and baseline, a column a split; and who leads, user by user."""
    rows = [("", *found)]
    for metric in METRICS:
        for model in ("random", "popularity", "neighbours"):
            each = [own[model].per_user[metric] for own in found.values()]
            rows.append((f"{metric:14}{model}", *map(with_half_width, each)))
        leads = [
            own["neighbours"].per_user[metric] - own["popularity"].per_user[metric]
            for own in found.values()
        ]
        rows.append((f"{metric:14}lead of neighbours", *map(with_half_width, leads)))
    for group in ("warm", "cold"):
        for model in ("popularity", "neighbours"):
            cells = [_slice(own[model], group) for own in found.values()]
            rows.append((f"{f'ndcg@10 {group}':14}{model}", *cells))
    rows.append(("users", *(f"{own['popularity'].counts['users']:,}" for own in found.values())))
    return "\n".join(
        f"{head:34}" + "".join(f"{cell:>22}" for cell in cells) for head, *cells in rows
    )


def _slice(result: rw.Result, group: str) -> str:
    assert result.slices is not None
    own = result.slices.filter(pl.col("group") == group)
    return "–" if own.is_empty() else f"{own['ndcg@10'][0]:.4f}"


def main(data: Path) -> None:
    if not (data / "ratings.dat").is_file():
        sys.exit(f"there is no ratings.dat in {data}: MovieTweetings is not here")
    made = splits(data)
    for name, split in made.items():
        print(f"{name}: {split}\n")
    listed = {name: lists(split) for name, split in made.items()}
    audits = {
        name: rw.audit(split, recommendations=listed[name]["neighbours"])
        for name, split in made.items()
    }
    found = {name: results(split, listed[name]) for name, split in made.items()}
    print(table_of_audits(audits))
    print()
    print(table_of_results(found))


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "../shared/data/movietweetings-100k"))
