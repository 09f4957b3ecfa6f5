"""Sets of rows that are left out, and how many there are: at every limit."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import polars as pl
import pytest

from rankwise import splits
from rankwise.errors import ColumnError, InputError, ParameterError
from rankwise.splits import holdout
from rankwise.splits.holdout import _digits, _sample, _subset


def table(n, **columns):
    return pl.DataFrame({"user": [1] * n, "item": range(n), **columns})


@pytest.mark.parametrize(("n", "p"), [(5, 1), (5, 3), (6, 5), (4, 4), (3, 0)])
def test_sets_are_numbered_in_lexicographic_order(n, p):
    expected = [list(chosen) for chosen in combinations(range(n), p)]
    assert [_subset(n, p, number) for number in range(math.comb(n, p))] == expected


def test_digits_are_those_of_the_number_of_sets():
    assert _digits(200, 100) == pytest.approx(math.log10(math.comb(200, 100)), rel=1e-9)
    assert _digits(10, 10) == pytest.approx(0.0, abs=1e-12)
    assert _digits(10, 11) == 0.0
    assert [splits.LeavePOut(p).count(n) for n, p in ((5, 2), (5, 5), (5, 6))] == [10, 1, 0]


def test_a_number_of_sets_has_4000_digits_at_most():
    assert len(str(splits.LeavePOut(6647).count(13_294))) == 4000
    with pytest.raises(ParameterError, match=r"about 10\^4000 sets of 6648 of 13296 rows"):
        splits.LeavePOut(6648).count(13_296)


@pytest.mark.parametrize(
    ("n", "first"), [(123, [1, 2, 3, 4, 7, 8, 9, 12]), (124, [1, 2, 3, 7, 10, 14, 15, 17])]
)
def test_of_more_than_36_digits_of_sets_each_is_drawn_row_by_row(n, first):
    """Of 123 rows there are 10^35.9 sets of 61, of 124 rows 10^36.2 sets of 62: others would be drawn the other way."""
    (split,) = splits.LeavePOut(n // 2, draws=1, seed=1).split(table(n))
    assert sorted(split.test["item"])[:8] == first


@pytest.mark.parametrize("total", [10, 2**62 - 1, 2**62, 10**30])
def test_numbers_that_are_drawn_differ_and_follow_from_the_seed(total):
    drawn = _sample(total, 10, 3)
    assert len(set(drawn)) == 10
    assert all(0 <= number < total for number in drawn)
    assert drawn == _sample(total, 10, 3) != _sample(total, 10, 4)
    if total == 10:
        assert sorted(drawn) == list(range(10))


def test_as_many_sets_as_folds_are_tested_and_one_more_is_refused(monkeypatch):
    monkeypatch.setattr(holdout, "MAX_FOLDS", 10)
    assert len(splits.LeavePOut(2).split(table(5))) == 10
    with pytest.raises(ParameterError, match="there are 15 sets of 2 of 6 rows") as caught:
        splits.LeavePOut(2).split(table(6))
    assert caught.value.hint == "draw some of them: LeavePOut(2, draws=1000)"
    assert len(splits.LeavePOut(2, draws=10).split(table(6))) == 10
    assert len(splits.LeavePOut(2, draws=10).split(table(5))) == 10
    with pytest.raises(ParameterError, match="there are only 10 sets"):
        splits.LeavePOut(2, draws=11).split(table(5))


def test_sets_of_which_there_are_very_many_are_drawn_at_random(monkeypatch):
    monkeypatch.setattr(holdout, "_MANY_DIGITS", 1)  # of 20 rows there are 190 pairs
    folds = splits.LeavePOut(2, draws=40, seed=5).split(table(20))
    tested = [frozenset(split.test["item"]) for split in folds]
    assert {len(one) for one in tested} == {2}
    assert tested == [
        frozenset(split.test["item"])
        for split in splits.LeavePOut(2, draws=40, seed=5).split(table(20))
    ]
    assert len(set(tested)) > 20


def test_one_row_is_left_for_training():
    assert len(splits.LeavePOut(4).split(table(5))[0].train) == 1
    for p in (5, 6):
        with pytest.raises(InputError, match=f"leaving {p} rows out leaves no training rows"):
            splits.LeavePOut(p).split(table(5))


@pytest.mark.parametrize("rule", [splits.KFold, lambda k: splits.StratifiedKFold(k, "item")])
def test_folds_have_a_row_at_least(rule):
    assert [len(split.test) for split in rule(5).split(table(5))] == [1] * 5
    with pytest.raises(InputError, match="6 folds need at least 6 rows") as caught:
        rule(6).split(table(5))
    assert caught.value.found == "5 rows"


def test_folds_of_users_have_a_user_at_least():
    users = pl.DataFrame({"user": [1, 1, 2, 2, 3, 3], "item": range(6)})
    assert [
        len(set(split.test["user"])) for split in splits.UserKFold(3, fold_in=None).split(users)
    ] == [1, 1, 1]
    with pytest.raises(InputError, match="4 folds need as many users") as caught:
        splits.UserKFold(4).split(users)
    assert caught.value.found == "3 users"


def test_strata_and_those_smaller_than_k_are_counted():
    rows = table(7, kind=["a", "a", "a", "b", "b", None, None])
    (first, *_) = splits.StratifiedKFold(3, "kind").split(rows)
    assert (first.found["strata"], first.found["strata_smaller_than_k"]) == (3, 2)
    assert [len(split.test) for split in splits.StratifiedKFold(3, "kind").split(rows)] == [3, 2, 2]
    with pytest.raises(ColumnError, match="no column 'kinds' to stratify by") as caught:
        splits.StratifiedKFold(3, "kinds").split(rows)
    assert caught.value.found == "'user', 'item', 'kind'"
    with pytest.raises(ColumnError, match="has no strata"):
        splits.StratifiedKFold(2, "tags").split(table(3, tags=[[1], [2], [3]]))


SHORT = pl.DataFrame({"user": [1, 2, 2, 3, 3, 3], "item": range(6), "timestamp": range(6)})


@pytest.mark.parametrize(
    ("short", "train", "test"),
    [
        ("train", [0, 1, 2, 3], [4, 5]),
        ("some", [0, 1, 3], [2, 4, 5]),
        ("test", [3], [0, 1, 2, 4, 5]),
        ("drop", [3], [4, 5]),
    ],
)
def test_users_with_n_rows_or_fewer_are_short(short, train, test):
    split = splits.LeaveOut(2, short=short).split(SHORT)
    assert (split.train["item"].to_list(), split.test["item"].to_list()) == (train, test)
    assert split.found == {"users_too_short": 2}


def test_a_user_who_is_too_short_is_named():
    with pytest.raises(
        InputError, match="a user has too few rows to leave 2 out and keep one"
    ) as caught:
        splits.LeaveOut(2, short="error").split(SHORT)
    assert (caught.value.where, caught.value.found) == ("user 1", "1 rows (2 such users)")
    assert len(splits.LeaveOut(2, short="error").split(SHORT[3:]).test) == 2


@pytest.mark.parametrize(
    ("share", "sizes", "without"), [(0.5, [0, 1, 2], 1), (0.9, [0, 1, 2], 1), (0.1, [0, 0, 0], 3)]
)
def test_every_user_keeps_a_training_row(share, sizes, without):
    split = splits.Holdout(share, "user", "last")
    if not any(sizes):
        with pytest.raises(InputError, match="the test side of the split is empty") as caught:
            split.split(SHORT)
        assert caught.value.where == f"Holdout (users_without_test_rows {without})"
        return
    made = split.split(SHORT)
    assert [made.test["user"].to_list().count(user) for user in (1, 2, 3)] == sizes
    assert made.found == {"users_without_test_rows": without}


def test_shares_of_users_and_items_are_rounded_half_up():
    rows = pl.DataFrame({"user": np.repeat(range(10), 4), "item": [*range(4)] * 10})
    for share, n in ((0.14, 1), (0.15, 2), (0.25, 3)):
        split = splits.UserHoldout(share, fold_in=None).split(rows)
        assert (split.test["user"].n_unique(), split.found["users_held_out"]) == (n, n)
    for share, n in ((0.37, 1), (0.375, 2), (0.5, 2)):
        split = splits.ItemHoldout(share).split(rows)
        assert (split.test["item"].n_unique(), split.found["items_held_out"]) == (n, n)


def test_known_rows_of_held_out_users_train_only_without_strong_generalisation():
    rows = pl.DataFrame({"user": np.repeat(range(10), 4), "item": [*range(4)] * 10})
    strong = splits.UserHoldout(0.3, seed=1).split(rows)
    weak = splits.UserHoldout(0.3, seed=1, strong=False).split(rows)
    assert [*strong.masks] == ["train", "history", "test"]
    assert [*weak.masks] == ["train", "test"]
    assert (weak.masks["train"] == strong.masks["train"] | strong.masks["history"]).all()
    assert (weak.masks["test"] == strong.masks["test"]).all()
    assert strong.found == weak.found == {"users_held_out": 3, "fold_in_users_without_test_rows": 0}
    assert (len(strong.train), len(strong.history), len(strong.test)) == (28, 6, 6)
