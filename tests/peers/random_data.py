"""A small random data set that every library can be run on, written as plain files.

``python random_data.py FOLDER [--seed 0]`` writes train, truth, scores, lists and groups. What two
libraries disagree on is to be a convention and not the order of a sort: scores are distinct, also
as 32-bit numbers, every user has a list, and where the popular items end does not hang on a tie.
"""

from __future__ import annotations

import argparse
import csv
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
Ints: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
Flags: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]

USERS = 60
ITEMS = 80
TRAIN_PER_USER = 15
MOST_TRUTH = 8
LIST_LENGTH = 20
FEATURES = 8
GENRES = 6
MOST_GENRES = 3
SKEW = 0.8
HEAD_SHARES = (0.5, 0.8)
ITEM_GROUPS = ("a", "b", "c")
USER_GROUPS = ("x", "y")


@dataclass(frozen=True)
class Ratings:
    """What users rated, as users × items; 0 where they did not.

    Attributes
    ----------
    train, truth : numpy.ndarray
        Ratings of 1 to 5. No pair is in both.
    """

    train: Ints
    truth: Ints


def has_clear_heads(train: Ints) -> bool:
    """Say whether the most popular items are the same ones however equal counts are ordered.

    Parameters
    ----------
    train : numpy.ndarray
        Users × items; 0 where there is no rating.

    Returns
    -------
    bool
        True if, for every share, the items that first hold it end where the counts change, and do
        not hold it exactly.
    """
    counts = np.sort((train > 0).sum(axis=0))[::-1]
    held = np.cumsum(counts)
    for share in HEAD_SHARES:
        last = int(np.argmax(held > share * held[-1]))
        if counts[last] == counts[last + 1] or held[last - 1] == share * held[-1]:
            return False
    return True


def draw_ratings(rng: np.random.Generator) -> Ratings:
    """Draw who rated what, popular items more often, every item at least once in train.

    Parameters
    ----------
    rng : numpy.random.Generator
        Where the random numbers come from.

    Returns
    -------
    Ratings
        Train and truth, disjoint.
    """
    popularity = rng.permutation(np.arange(1, ITEMS + 1) ** -SKEW)
    train = np.zeros((USERS, ITEMS), dtype=np.int64)
    truth = np.zeros_like(train)
    for user in range(USERS):
        n_train = TRAIN_PER_USER + rng.integers(-5, 6)
        n_truth = rng.integers(1, MOST_TRUTH + 1)
        items = rng.choice(
            ITEMS, size=n_train + n_truth, replace=False, p=popularity / popularity.sum()
        )
        items = rng.permutation(items)
        train[user, items[:n_train]] = rng.integers(1, 6, size=n_train)
        truth[user, items[n_train:]] = rng.integers(1, 6, size=n_truth)
    for item in np.flatnonzero(~train.any(axis=0)):
        user = rng.choice(np.flatnonzero(truth[:, item] == 0))
        train[user, item] = rng.integers(1, 6)
    return Ratings(train, truth)


def draw_scores(rng: np.random.Generator, ratings: Ratings) -> Floats:
    """Draw scores that know a little of the truth and of popularity.

    The values are multiples of a power of two, so that 32-bit arithmetic holds them exactly.

    Parameters
    ----------
    rng : numpy.random.Generator
        Where the random numbers come from.
    ratings : Ratings
        What the scores should know of.

    Returns
    -------
    numpy.ndarray
        Users × items, all values distinct, between 0 and 1.
    """
    popularity = (ratings.train > 0).sum(axis=0)
    raw = rng.normal(size=ratings.train.shape)
    raw += 0.35 * ratings.truth + popularity / popularity.max()
    places = np.argsort(np.argsort(raw, axis=None)).reshape(raw.shape) + 1
    return np.asarray(places / float(1 << int(raw.size).bit_length()))


def rank(scores: Floats, seen: Flags) -> tuple[Ints, Floats]:
    """Find each user's best items among those not seen in train.

    Parameters
    ----------
    scores : numpy.ndarray
        Users × items.
    seen : numpy.ndarray
        Users × items, true where the item is left out.

    Returns
    -------
    items, scores : numpy.ndarray
        Users × the length of a list, best first.
    """
    masked = np.where(seen, -np.inf, scores)
    items = np.argsort(-masked, axis=1, kind="stable")[:, :LIST_LENGTH]
    return items, np.take_along_axis(masked, items, axis=1)


def write(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write one table.

    Parameters
    ----------
    path : Path
        The file, replaced if it is there.
    header : sequence of str
        Names of the columns.
    rows : iterable
        The values of a row, in the order of the header.
    """
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def write_ratings(path: Path, ratings: Ints) -> None:
    """Write the pairs that have a rating.

    Parameters
    ----------
    path : Path
        The file.
    ratings : numpy.ndarray
        Users × items; 0 where there is none.
    """
    users, items = np.nonzero(ratings)
    triples = zip(users.tolist(), items.tolist(), ratings[users, items].tolist(), strict=True)
    write(path, ("user", "item", "rating"), triples)


def write_lists(path: Path, items: Ints, scores: Floats) -> None:
    """Write ranked lists, a row a place.

    Parameters
    ----------
    path : Path
        The file.
    items, scores : numpy.ndarray
        Users × the length of a list, best first.
    """
    rows = (
        (user, item, place, score)
        for user, (row, values) in enumerate(zip(items.tolist(), scores.tolist(), strict=True))
        for place, (item, score) in enumerate(zip(row, values, strict=True), start=1)
    )
    write(path, ("user", "item", "rank", "score"), rows)


def draw_groups(rng: np.random.Generator, labels: Sequence[str], n: int) -> list[str]:
    """Draw a label for each of n, every label at least once.

    Parameters
    ----------
    rng : numpy.random.Generator
        Where the random numbers come from.
    labels : sequence of str
        The labels; the first is the most frequent.
    n : int
        How many to label.

    Returns
    -------
    list of str
        One label each.
    """
    weights = np.arange(len(labels), 0, -1)
    drawn = rng.choice(labels, size=n - len(labels), p=weights / weights.sum())
    return [str(label) for label in rng.permutation([*labels, *drawn.tolist()])]


def draw_genres(rng: np.random.Generator) -> list[str]:
    """Draw one to three genres for each item, written like ``g1|g4``.

    Parameters
    ----------
    rng : numpy.random.Generator
        Where the random numbers come from.

    Returns
    -------
    list of str
        The genres of each item.
    """
    names = np.array([f"g{number}" for number in range(1, GENRES + 1)])
    return [
        "|".join(sorted(rng.choice(names, size=rng.integers(1, MOST_GENRES + 1), replace=False)))
        for _ in range(ITEMS)
    ]


def write_all(folder: Path, seed: int = 0) -> None:
    """Make the data set of one seed and write its files.

    ``reference.csv`` holds the most popular items that the user has not seen, for metrics that
    compare two runs.

    Parameters
    ----------
    folder : Path
        Where the files go; made if it is not there.
    seed : int
        Where the random numbers start.
    """
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    ratings = draw_ratings(rng)
    while not has_clear_heads(ratings.train):
        ratings = draw_ratings(rng)
    scores = draw_scores(rng, ratings)
    seen = ratings.train > 0
    by_popularity = seen.sum(axis=0) + np.zeros(seen.shape)
    write_ratings(folder / "train.csv", ratings.train)
    write_ratings(folder / "truth.csv", ratings.truth)
    np.save(folder / "scores.npy", scores)
    np.save(folder / "features.npy", rng.normal(size=(ITEMS, FEATURES)))
    write_lists(folder / "lists.csv", *rank(scores, seen))
    write_lists(folder / "reference.csv", *rank(by_popularity, seen))
    item_rows = zip(
        range(ITEMS), draw_groups(rng, ITEM_GROUPS, ITEMS), draw_genres(rng), strict=True
    )
    write(folder / "items.csv", ("item", "group", "genres"), item_rows)
    write(folder / "users.csv", ("user", "group"), enumerate(draw_groups(rng, USER_GROUPS, USERS)))


def main() -> None:
    """Read the command line and write the files."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    write_all(arguments.folder, arguments.seed)


if __name__ == "__main__":
    main()
