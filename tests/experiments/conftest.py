"""A folder of small files: interactions, a split, two runs, items and users."""

from __future__ import annotations

import pytest

import rankwise as rw
from rankwise.datasets import synthetic
from rankwise.models.recommenders import ItemNeighbours, Popularity


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    data = synthetic(n_users=60, n_items=40, seed=1)
    split = rw.splits.GlobalTime(share=0.2).split(data.interactions)
    split.save(folder / "split", format="csv")
    data.interactions.write_csv(folder / "interactions.csv")
    data.items.write_csv(folder / "items.csv")
    data.users.write_csv(folder / "users.csv")
    users = split.test["user"].unique().sort()
    for name, model in (("popular", Popularity()), ("near", ItemNeighbours())):
        model.fit(split.train).recommend(users, 10).write_csv(folder / f"{name}.csv")
    return folder


@pytest.fixture
def files(made, tmp_path):
    """The same files in a folder that a test may write to."""
    for path in made.iterdir():
        (tmp_path / path.name).symlink_to(path)
    return tmp_path
