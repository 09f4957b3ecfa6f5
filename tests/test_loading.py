"""`rankwise.load` reads whatever was saved."""

from __future__ import annotations

import polars as pl
import pytest

import rankwise as rw
from rankwise.errors import FileError
from rankwise.splits import LeaveOut

TRUTH = {user: {1, 2} for user in range(40)}
LOG = {"item": [1, 2], "propensity": [0.5, 0.5], "click": [1, 0], "p_new": [1.0, 0.0]}


@pytest.fixture(scope="module")
def systems():
    lists = {"old": {user: [1, 3] for user in TRUTH}, "new": {user: [1, 2] for user in TRUTH}}
    return {name: rw.evaluate(each, TRUTH, "recall@2") for name, each in lists.items()}


def interleaved():
    lists = [dict.fromkeys(range(30), items) for items in ([1, 2], [2, 3])]
    drafts = rw.interleave.team_draft(*lists, 2, seed=4)
    return rw.interleaving(drafts.with_columns(request=pl.col("user"), click=pl.lit(1)))


SAVED = {
    "result": lambda systems: systems["old"],
    "comparison": rw.compare,
    "decision": lambda systems: rw.decide(systems, success="recall@2"),
    "off-policy result": lambda systems: rw.off_policy(LOG, targets={"new": "p_new"}),
    "interleaving result": lambda systems: interleaved(),
    "split": lambda systems: LeaveOut(1).split(
        {"user": [1, 1, 2, 2], "item": [1, 2, 1, 3], "time": [1, 2, 1, 2]}
    ),
}


@pytest.mark.parametrize("form", SAVED)
def test_every_saved_form_is_read_as_what_it_was(form, systems, tmp_path):
    saved = SAVED[form](systems)
    saved.save(tmp_path / "here")
    loaded = rw.load(tmp_path / "here")
    assert type(loaded) is type(saved)
    assert str(loaded) == str(saved)


def test_a_folder_without_anything_saved_is_an_error(tmp_path):
    with pytest.raises(FileError, match="nothing that rankwise has saved") as caught:
        rw.load(tmp_path)
    assert "result.json" in caught.value.found
    with pytest.raises(FileError, match="nothing that rankwise has saved"):
        rw.load(tmp_path / "nowhere")
