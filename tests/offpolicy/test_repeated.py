"""Rows of logs, drafts and launches that stand twice, and drafts of each kind."""

from __future__ import annotations

import polars as pl
import pytest

import rankwise as rw
from rankwise import interleave
from rankwise.errors import ColumnError, DuplicateError, InputError

LOG = pl.DataFrame(
    {
        "user": [at // 2 for at in range(800)],
        "request": range(800),
        "item": [at % 2 for at in range(800)],
        "propensity": [0.5] * 800,
        "p_new": [0.7, 0.3] * 400,
    }
)
BOUGHT = pl.DataFrame({"request": range(0, 800, 5), "item": [at % 2 for at in range(0, 800, 5)]})


def test_outcomes_that_stand_twice_come_before_any_verdict():
    once = rw.off_policy(LOG, BOUGHT, targets={"new": "p_new"})
    twice = rw.off_policy(LOG, pl.concat([BOUGHT, BOUGHT]), targets={"new": "p_new"})
    assert twice["new"] == pytest.approx(2 * once["new"])
    assert once.doubts == []
    assert twice.doubts[0].endswith(": 160.")
    assert repr(twice).startswith("check: outcomes that equal another one")
    assert not any(note.startswith("check:") for note in twice.notes)


def test_clicks_of_exposures_are_not_read_in_silence():
    clicked = LOG.with_columns(click=(pl.col("request") < 5).cast(pl.Int64))
    result = rw.off_policy(clicked, BOUGHT, targets={"new": "p_new"})
    assert result["new"] == rw.off_policy(LOG, BOUGHT, targets={"new": "p_new"})["new"]
    assert result.doubts == [
        "check: exposures with a reward in column 'click', which is not read beside the outcomes: 5."
    ]


def test_an_exposure_that_stands_twice_is_named():
    with pytest.raises(DuplicateError, match="an exposure stands twice") as error:
        rw.off_policy(pl.concat([LOG, LOG.head(1)]), BOUGHT, targets={"new": "p_new"})
    assert error.value.found.startswith("request 0, item 0")
    with pytest.raises(InputError, match="several users") as error:
        rw.off_policy(
            LOG.with_columns(request=pl.col("request") // 9), BOUGHT, targets={"new": "p_new"}
        )
    assert 'columns={"request"' in error.value.hint


A = {user: ["a", "b", "c"] for user in range(24)}
B = {user: ["c", "a", "b"] for user in range(24)}


def clicked(draft, item):
    return draft.with_columns(request=pl.col("user"), click=(pl.col("item") == item).cast(pl.Int64))


def test_drafts_of_each_kind():
    draft = clicked(interleave.optimised(A, B, 3), "c")  # which B has higher
    result = rw.interleaving(draft)
    right = draft.filter(pl.col("click") == 1)["credit"].mean()
    assert result.table["difference"].item() == pytest.approx(right)
    assert right < 0
    assert result.table.select("system", "baseline", "verdict").row(0) == ("A", "B", "worse")
    with pytest.raises(ColumnError, match="balanced draft") as error:
        rw.interleaving(clicked(interleave.balanced(A, B, 3), "c"))
    assert "team_draft" in error.value.hint
    with pytest.raises(ColumnError, match="no column for the team"):
        rw.interleaving(clicked(interleave.balanced(A, B, 3), "c").drop("first"))


def test_lists_that_cannot_be_drafted():
    with pytest.raises(DuplicateError, match="twice in a list"):
        interleave.team_draft({1: [7, 7]}, {1: [7, 8]}, 2)
    with pytest.raises(InputError, match="no list of one of the rankers") as error:
        interleave.team_draft(A, {user: items for user, items in B.items() if user > 3}, 2)
    assert error.value.found.startswith("4 such users beside 20")


def test_a_launch_that_stands_twice():
    launches = pl.DataFrame(
        {
            "m": [0.1, 0.3, -0.2],
            "m_se": [0.1] * 3,
            "online": [1.0, 2.0, -1.0],
            "online_se": [0.2] * 3,
        }
    )
    with pytest.raises(DuplicateError, match="a launch stands twice"):
        rw.validate_metrics(pl.concat([launches, launches]), same_users=False)
    assert len(rw.validate_metrics(launches, same_users=False).table) == 1
