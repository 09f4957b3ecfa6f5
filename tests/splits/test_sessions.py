"""Splits that keep sessions whole."""

from __future__ import annotations

import json

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from command_line import rankwise
from rankwise import splits
from rankwise.errors import ColumnError, IdError, ParameterError

LOG = pl.DataFrame(
    {
        "user": ["p"] * 5 + ["q"] * 6,
        "basket": [1, 1, 2, 3, 3, 1, 1, 2, 2, 2, 3],
        "item": [10, 11, 12, 13, 14, 10, 15, 11, 16, 17, 12],
        "timestamp": [1, 4, 6, 20, 31, 2, 3, 8, 24, 25, 30],
    }
)
RULES = [
    splits.LeaveOut(1, sessions="basket"),
    splits.LeaveOut(2, "random", sessions="basket", seed=3),
    splits.Holdout(0.4, sessions="basket"),
    splits.Holdout(0.4, "user", "last", sessions="basket"),
    splits.GlobalTime(at=9, sessions="basket"),
    splits.GlobalTime(share=0.3, sessions="basket"),
    splits.UserHoldout(0.5, sessions="basket"),
    splits.KFold(3, sessions="basket"),
]
KEY = ["user", "basket"]


def cuts(rule, table):
    """Return the splits of a rule, of one or of several folds."""
    made = rule.split(table)
    return list(made) if isinstance(rule, splits.KFold) else [made]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: repr(rule)[:40])
def test_no_session_is_cut(rule):
    for split in cuts(rule, LOG):
        parts = [LOG.filter(pl.Series(mask)).select(KEY).unique() for mask in split.masks.values()]
        assert sum(map(len, parts)) == len(pl.concat(parts).unique())
        if not isinstance(
            rule, splits.UserHoldout
        ):  # each part has one user: ids do not show that they begin anew
            assert rw.audit(split)["L6"].status == "pass"
        assert split.card["notes" if "notes" in split.card else "found"]["sessions"] == 6


def test_the_last_session_of_each_user():
    split = splits.LeaveOut(1, sessions="basket").split(LOG)
    assert split.test["item"].to_list() == [13, 14, 12]
    assert rw.audit(splits.LeaveOut(1).split(LOG))["L6"].value == 1  # p's last basket is cut


def test_a_session_is_on_the_side_on_which_it_begins():
    split = splits.GlobalTime(at=9, sessions="basket").split(LOG)
    assert split.test["timestamp"].to_list() == [20, 31, 30]
    assert split.train["timestamp"].max() == 25  # of a session from 8 on
    audit = rw.audit(split)
    assert (
        audit["L3"].status == "warn"
    )  # of a split that claims no time: a session may go on after it
    assert audit.verdict.startswith("No check failed. Not a split by time: 2 training rows")


def test_validation_keeps_sessions_whole_as_well():
    rule = splits.LeaveOut(1, sessions="basket", validation=splits.LeaveOut(1))
    split = rule.split(LOG)
    assert split.validation["item"].to_list() == [12, 11, 16, 17]
    assert splits.from_dict(rule.to_dict()) == rule


@given(st.permutations(range(len(LOG))))
def test_the_order_of_the_table_has_no_influence(order):
    for rule in RULES[:5]:
        one, other = rule.split(LOG), rule.split(LOG[order])
        assert sorted(one.test.rows()) == sorted(other.test.rows())


def test_what_is_refused():
    for rule in (splits.ItemHoldout, splits.StratifiedKFold):
        with pytest.raises(ParameterError, match="cannot keep sessions whole"):
            rule(sessions="basket")
    with pytest.raises(ColumnError, match="no column 'visit'"):
        splits.LeaveOut(sessions="visit").split(LOG)
    with pytest.raises(ColumnError, match="is the user"):
        splits.LeaveOut(sessions="user").split(LOG)
    with pytest.raises(IdError, match="a row has no session"):
        splits.LeaveOut(sessions="basket").split(
            LOG.with_columns(basket=pl.when(pl.col("item") < 17).then("basket"))
        )
    with pytest.raises(ParameterError, match="name of a column"):
        splits.LeaveOut(sessions=3)


def test_on_the_command_line(tmp_path):
    LOG.write_csv(tmp_path / "log.csv")
    done = rankwise(
        tmp_path,
        "split",
        "log.csv",
        "--by",
        "last",
        "--sessions",
        "basket",
        "--format",
        "csv",
        "-o",
        "out",
    )
    assert done.returncode == 0, done.stderr
    ours = splits.LeaveOut(1, sessions="basket").split(LOG)
    assert (
        pl.read_csv(tmp_path / "out" / "test.csv")["item"].to_list() == ours.test["item"].to_list()
    )
    assert json.loads((tmp_path / "out" / "split.json").read_text())["rule"]["sessions"] == "basket"


def test_an_audit_says_what_was_not_looked_at():
    random = splits.Holdout(0.4, seed=1).split(LOG.drop("basket"))
    assert rw.audit(random).verdict.startswith("No check failed. Not a split by time: ")
    timeless = [part.drop("timestamp") for part in (random.train, random.test)]
    assert "Time was not looked at: no timestamps." in rw.audit(*timeless).verdict
