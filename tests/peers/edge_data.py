"""Small random data sets with the edges that libraries treat differently.

``python edge_data.py FOLDER [--seed 0]`` writes one folder for each of `CASES`, with the files of
`random_data`: ``train.csv``, ``truth.csv``, ``lists.csv``, ``items.csv``, ``users.csv``,
``reference.csv``, ``features.npy``, and ``scores.npy`` where every item of the catalogue has a score.

* ``full``: the data of `random_data`; every user has a list, and no two scores are equal.
* ``ragged``: lists of 1 to 15 items, users without a list, users without ground truth, users whose
  ground truth has grade 0 only, grades 0 to 4, items that training does not have.
* ``ties``: the same, with five different scores; the rank column gives an order of tied items.
* ``tied_matrix``: the users of ``full``; every item has one of nine scores.
* ``small``: seven items, fewer than the cut-off 10.
* ``negative``: ``ragged`` with grades from -2; every user has a grade of 0 or more, because pytrec_eval
  reads outside of its memory for one who has not.
* ``matrix_edges``: a score for every item; users without ground truth or with grade 0 only, users all
  of whose candidates are relevant, users with one candidate.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from random_data import (
    FEATURES,
    ITEM_GROUPS,
    USER_GROUPS,
    Floats,
    Ints,
    Ratings,
    draw_genres,
    draw_groups,
    rank,
    write,
    write_all,
    write_lists,
    write_ratings,
)

EDGES = {
    "full": ("a score for every item",),
    "ragged": (
        "users without a list",
        "users without relevant items",
        "grades of 0",
        "lists of one item",
    ),
    "ties": (
        "users without a list",
        "users without relevant items",
        "grades of 0",
        "lists of one item",
        "tied scores",
    ),
    "tied_matrix": ("a score for every item", "tied scores"),
    "small": ("a score for every item", "fewer items than k"),
    "negative": (
        "negative grades",
        "users without relevant items",
        "grades of 0",
        "lists of one item",
    ),
    "matrix_edges": (
        "a score for every item",
        "users without relevant items",
        "grades of 0",
        "lists of one item",
    ),
}
"""The cases, with what each of them holds."""
CASES = tuple(EDGES)
USERS = 60
ITEMS = 80
COLD_FROM = 70
LONGEST = 15
GRADES = 4


def draw_ragged_truth(
    rng: np.random.Generator, seen: Ints, lowest: int
) -> list[tuple[int, int, int]]:
    """Draw ground truth with grades up to 4; some users have grade 0 only, and some no row.

    Parameters
    ----------
    rng : numpy.random.Generator
        Where the random numbers come from.
    seen : numpy.ndarray
        Training interactions, users × items.
    lowest : int
        The lowest grade.

    Returns
    -------
    list of tuple
        User, item and grade, in random order.
    """
    rows = []
    for user in range(USERS):
        if user % 12 == 5:
            continue
        unseen = np.flatnonzero(seen[user] == 0)
        items = rng.choice(unseen, size=rng.integers(1, 10), replace=False)
        grades = rng.integers(lowest, GRADES + 1, size=len(items))
        if user % 12 == 7:
            grades[:] = 0
        elif not grades.any():
            grades[0] = 1
        elif grades.max() < 0:
            grades[0] = 0
        rows += [(user, int(item), int(grade)) for item, grade in zip(items, grades, strict=True)]
    return [rows[place] for place in rng.permutation(len(rows))]


def draw_ragged_lists(
    rng: np.random.Generator, seen: Ints, truth: list[tuple[int, int, int]], *, tied: bool
) -> list[tuple[int, int, int, float]]:
    """Draw lists of 1 to 15 items; some users have none.

    Scores are multiples of a power of two, so that 32-bit arithmetic holds them exactly.

    Parameters
    ----------
    rng : numpy.random.Generator
        Where the random numbers come from.
    seen : numpy.ndarray
        Training interactions, users × items; no list has an item that the user has seen.
    truth : list of tuple
        The ground truth, which half of the lists favour.
    tied : bool
        Whether there are only five scores.

    Returns
    -------
    list of tuple
        User, item, rank and score: a list by decreasing score, tied items in random order.
    """
    rows = []
    for user in range(USERS):
        if user % 10 == 3:
            continue
        length = int(rng.choice([1, 2, rng.integers(3, LONGEST + 1)], p=[0.15, 0.1, 0.75]))
        weight = (seen[user] == 0).astype(float)
        for other, item, _ in truth:
            if other == user and user % 2:
                weight[item] *= 12
        items = rng.choice(seen.shape[1], size=length, replace=False, p=weight / weight.sum())
        if tied:
            scores = np.sort(rng.integers(1, 6, size=length))[::-1] / 8
        else:
            scores = np.sort(rng.choice(4096, size=length, replace=False) + 1)[::-1] / 4096
        places = range(1, length + 1)
        rows += [
            (user, int(item), place, float(score))
            for item, place, score in zip(items, places, scores, strict=True)
        ]
    return rows


def write_ragged(folder: Path, rng: np.random.Generator, *, tied: bool, lowest: int = 0) -> None:
    """Write the data with missing users and cold items, with or without ties.

    Parameters
    ----------
    folder : Path
        Where the files go.
    rng : numpy.random.Generator
        Where the random numbers come from.
    tied : bool
        Whether there are only five scores.
    lowest : int, default=0
        The lowest grade of the ground truth.
    """
    train: Ints = np.zeros((USERS, ITEMS), dtype=np.int64)
    for item in range(COLD_FROM):
        n_users = int(rng.integers(1, 40)) if item % 3 else int(rng.integers(1, 6))
        train[rng.choice(USERS, size=n_users, replace=False), item] = rng.integers(1, 6)
    truth = draw_ragged_truth(rng, train, lowest)
    header = ("user", "item", "rank", "score")
    write_ratings(folder / "train.csv", train)
    write(folder / "truth.csv", ("user", "item", "rating"), truth)
    write(folder / "lists.csv", header, draw_ragged_lists(rng, train, truth, tied=tied))
    write(folder / "reference.csv", header, draw_ragged_lists(rng, train, truth, tied=False))
    write_tables(folder, rng, ITEMS, USERS)


def write_tables(folder: Path, rng: np.random.Generator, n_items: int, n_users: int) -> None:
    """Write what is known of items and users.

    Parameters
    ----------
    folder : Path
        Where the files go.
    rng : numpy.random.Generator
        Where the random numbers come from.
    n_items, n_users : int
        How many there are.
    """
    genres = draw_genres(rng)[:n_items]
    rows = zip(range(n_items), draw_groups(rng, ITEM_GROUPS, n_items), genres, strict=True)
    write(folder / "items.csv", ("item", "group", "genres"), rows)
    write(
        folder / "users.csv", ("user", "group"), enumerate(draw_groups(rng, USER_GROUPS, n_users))
    )
    np.save(folder / "features.npy", rng.normal(size=(n_items, FEATURES)))


def write_matrix(folder: Path, ratings: Ratings, scores: Floats) -> None:
    """Write ratings, a score for every item, and the lists that these scores give.

    Parameters
    ----------
    folder : Path
        Where the files go.
    ratings : Ratings
        Train and truth.
    scores : numpy.ndarray
        Users × items; tied items are listed in order of their number.
    """
    seen = ratings.train > 0
    write_ratings(folder / "train.csv", ratings.train)
    write_ratings(folder / "truth.csv", ratings.truth)
    np.save(folder / "scores.npy", scores)
    write_lists(folder / "lists.csv", *_finite(*rank(scores, seen)))
    popularity = seen.sum(axis=0) + np.zeros(seen.shape)
    write_lists(folder / "reference.csv", *_finite(*rank(popularity, seen)))


def _finite(items: Ints, scores: Floats) -> tuple[Ints, Floats]:
    """Return as many columns as every user has unseen items."""
    width = int(np.isfinite(scores).sum(axis=1).min())
    return items[:, :width], scores[:, :width]


def write_tied_matrix(folder: Path, rng: np.random.Generator, full: Path) -> None:
    """Write the users of ``full`` with nine scores."""
    ratings = []
    for name in ("train", "truth"):
        table = np.loadtxt(full / f"{name}.csv", delimiter=",", skiprows=1, dtype=np.int64)
        matrix: Ints = np.zeros((USERS, ITEMS), dtype=np.int64)
        matrix[table[:, 0], table[:, 1]] = table[:, 2]
        ratings.append(matrix)
    scores = np.round(np.load(full / "scores.npy") * 8) / 8
    write_matrix(folder, Ratings(*ratings), scores)
    write_tables(folder, rng, ITEMS, USERS)


def write_small(folder: Path, rng: np.random.Generator) -> None:
    """Write a catalogue of seven items, of which every user has one in train."""
    n_users, n_items = 20, 7
    train: Ints = np.zeros((n_users, n_items), dtype=np.int64)
    truth = np.zeros_like(train)
    for user in range(n_users):
        items = rng.permutation(n_items)
        train[user, items[0]] = rng.integers(1, 6)
        n_truth = int(rng.integers(1, 5))
        truth[user, items[1 : 1 + n_truth]] = rng.integers(1, 6, size=n_truth)
    scores = (rng.permutation(n_users * n_items).reshape(n_users, n_items) + 1) / 256
    write_matrix(folder, Ratings(train, truth), scores)
    write_tables(folder, rng, n_items, n_users)


def write_matrix_edges(folder: Path, rng: np.random.Generator) -> None:
    """Write a catalogue of twelve items, for users whom libraries treat differently."""
    n_users, n_items = 24, 12
    train: Ints = np.zeros((n_users, n_items), dtype=np.int64)
    rows = []
    for user in range(n_users):
        items = rng.permutation(n_items)
        n_train = n_items - 1 if user % 6 == 1 else int(rng.integers(1, 5))
        train[user, items[:n_train]] = rng.integers(1, 6, size=n_train)
        unseen = items[n_train:]
        if user % 6 == 2:
            continue
        n_truth = len(unseen) if user % 6 in (1, 3) else int(rng.integers(1, len(unseen)))
        grades = rng.integers(0, GRADES + 1, size=n_truth)
        if user % 6 == 3:
            grades += 1
        elif user % 6 == 4:
            grades[:] = 0
        rows += [
            (user, int(item), int(grade))
            for item, grade in zip(unseen[:n_truth], grades, strict=True)
        ]
    scores = (rng.permutation(n_users * n_items).reshape(n_users, n_items) + 1) / 512
    write_ratings(folder / "train.csv", train)
    write(folder / "truth.csv", ("user", "item", "rating"), rows)
    np.save(folder / "scores.npy", scores)
    header = ("user", "item", "rank", "score")
    popularity = (train > 0).sum(axis=0) + np.zeros(train.shape)
    for name, values in (("lists", scores), ("reference", popularity)):
        write(folder / f"{name}.csv", header, _listed(*rank(values, train > 0)))
    write_tables(folder, rng, n_items, n_users)


def _listed(items: Ints, scores: Floats) -> list[tuple[int, int, int, float]]:
    """Return user, item, rank and score of every user's unseen items."""
    users, places = np.nonzero(np.isfinite(scores))
    return [
        (int(user), int(items[user, place]), int(place) + 1, float(scores[user, place]))
        for user, place in zip(users, places, strict=True)
    ]


def write_cases(folder: Path, seed: int = 0) -> None:
    """Make the data sets of one seed, each in a folder of its name.

    Parameters
    ----------
    folder : Path
        Where the folders go; made if it is not there.
    seed : int
        Where the random numbers start.
    """
    for case in CASES:
        (folder / case).mkdir(parents=True, exist_ok=True)
    write_all(folder / "full", seed)
    for number, case in enumerate(("ragged", "ties"), start=1):
        rng = np.random.default_rng([seed, number])
        write_ragged(folder / case, rng, tied=case == "ties")
    write_tied_matrix(folder / "tied_matrix", np.random.default_rng([seed, 3]), folder / "full")
    write_small(folder / "small", np.random.default_rng([seed, 4]))
    write_ragged(folder / "negative", np.random.default_rng([seed, 5]), tied=False, lowest=-2)
    write_matrix_edges(folder / "matrix_edges", np.random.default_rng([seed, 6]))


def main() -> None:
    """Read the command line and write the folders."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    write_cases(arguments.folder, arguments.seed)


if __name__ == "__main__":
    main()
