"""Three baselines on real ratings, through the library and through the command line.

Ratings of films that people tweeted in 2013 (MovieTweetings, 100K snapshot, MIT licence): the
5-core, split at one moment for everybody (80 % of the ratings before it), ratings of 8 and more
relevant. Run it with the folder that holds ``ratings.dat``:

    python examples/movietweetings.py ../shared/data/movietweetings-100k
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import rankwise as rw
from rankwise.demo import MEASURES, Outcome, comparison
from rankwise.io.tables import read_table
from rankwise.models.baselines import ItemNeighbours, Popularity, Random
from rankwise.splits.filters import k_core
from rankwise.splits.temporal import time_based_split

RELEVANT = 8


def through_the_library(data: Path, work: Path) -> dict[str, rw.Result]:
    """Split, fit, recommend and evaluate; leave the files for the command line in ``work``."""
    ratings = read_table(data / "ratings.dat", "truth").frame
    train, test = time_based_split(k_core(ratings, 5), test_ratio=0.2)
    train.write_parquet(work / "train.parquet")
    test.write_parquet(work / "test.parquet")
    users = test["user"].unique().sort()
    results = {}
    for name, model in (
        ("random", Random(seed=0)),
        ("popularity", Popularity()),
        ("neighbours", ItemNeighbours()),
    ):
        recommended = model.fit(train).recommend(users, 10)
        recommended.write_parquet(work / f"{name}.parquet")
        results[name] = rw.evaluate(
            recommended, test, MEASURES, train=train, relevance_threshold=RELEVANT
        )
    return results


def through_the_command_line(work: Path, name: str) -> dict[str, float]:
    """Evaluate one run with ``rankwise evaluate``."""
    measures = [word for measure in MEASURES for word in ("-m", measure)]
    command = [sys.executable, "-m", "rankwise", "evaluate", f"{name}.parquet", "test.parquet"]
    command += ["--train", "train.parquet", "--threshold", str(RELEVANT), "--format", "json"]
    done = subprocess.run([*command, *measures], cwd=work, capture_output=True, check=True)  # noqa: S603
    values: dict[str, float] = json.loads(done.stdout)["values"]
    return values


def main(data: Path) -> None:
    if not (data / "ratings.dat").is_file():
        sys.exit(f"there is no ratings.dat in {data}: MovieTweetings is not here")
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        results = through_the_library(data, work)
        for name, result in results.items():
            assert through_the_command_line(work, name) == result.values, name
    print(comparison(Outcome(results, "5-core, split at one moment at 80 %, relevant: >= 8")))
    print("\nThe command line gives the same values.\n")
    print(f"neighbours: {results['neighbours']!r}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "../shared/data/movietweetings-100k"))
