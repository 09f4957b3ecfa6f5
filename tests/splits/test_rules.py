"""Worked cases of rules, filters, lengths of time, and what is refused."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from scipy.sparse import coo_array, csc_array, csr_array, csr_matrix

import rankwise as rw
from rankwise import splits
from rankwise.errors import ColumnError, EmptyError, InputError, ParameterError
from rankwise.splits.interactions import rounded
from rankwise.tables.times import Duration

TABLE = pl.DataFrame({"user": [1, 1, 2, 2], "item": [1, 2, 1, 3], "timestamp": [1, 3, 2, 4]})


def every(made):
    """Make every fold, if there are several."""
    return list(made) if isinstance(made, splits.Folds) else made


def days(*texts, **columns):
    times = [datetime.fromisoformat(text) for text in texts]
    count = len(texts)
    return pl.DataFrame({"user": [1] * count, "item": range(count), "timestamp": times, **columns})


def test_shares_are_rounded_as_the_decimals_that_they_are():
    assert [rounded(0.5, n) for n in (1, 2, 3, 5)] == [1, 1, 2, 3]  # Python's round: 0, 1, 2, 2
    assert rounded(0.29, 50) == 15  # 14.499999999999998 in binary
    assert rounded(0.1, np.array([4, 5, 14, 15])).tolist() == [0, 1, 1, 2]
    assert rounded(1 / 3, 10**9) == 333_333_333


def test_cold_rows_dropped_kept_or_alone():
    table = pl.DataFrame({"user": [1, 2, 1, 3], "item": [1, 2, 9, 1], "timestamp": [1, 1, 5, 5]})

    def test_users(**options):
        split = splits.GlobalTime(at=5, **options).split(table)
        return split.test["user"].to_list(), {
            k: v for k, v in split.found.items() if "dropped" in k
        }

    assert test_users() == ([1, 3], {})
    assert test_users(cold_users="drop") == ([1], {"test_rows_of_cold_users_dropped": 1})
    assert test_users(cold_users="only") == ([3], {"test_rows_of_warm_users_dropped": 1})
    assert test_users(cold_items="drop") == ([3], {"test_rows_of_cold_items_dropped": 1})
    with pytest.raises(EmptyError, match="test side"):
        splits.GlobalTime(at=5, cold_users="drop", cold_items="drop").split(table)


def test_pairs_that_were_seen():
    table = pl.DataFrame({"user": [1, 2, 1, 2], "item": [1, 2, 1, 3], "timestamp": [1, 1, 5, 5]})
    split = splits.GlobalTime(at=5, seen="drop").split(table)
    assert split.test.rows() == [(2, 3, 5)]
    assert split.found["test_rows_seen_dropped"] == 1


def test_filters_look_at_training_unless_told_otherwise():
    """Item 2 has two rows over all parts, and one in training."""
    table = pl.DataFrame({"user": [1, 2, 1, 2], "item": [1, 1, 2, 2], "timestamp": [1, 2, 3, 9]})
    rule = {"at": 5, "filters": [splits.MinRows(items=2)]}
    after = splits.GlobalTime(**rule).split(table)
    before = splits.GlobalTime(**rule, filter_on="all").split(table)
    assert len(after.train) == 2
    assert len(before.train) == 3
    assert after.found["rows_filtered(MinRows)"] == 1
    assert rw.audit(before)["L12"].status == "warn"
    assert rw.audit(after)["L12"].status == "pass"


@pytest.mark.parametrize("times", [{}, {"timestamp": [7] * 4}])
def test_equal_rows_are_drawn_one_by_one(times):
    table = pl.DataFrame({"user": [1] * 4, "item": ["a", "a", "b", "b"], **times})
    halves = {
        "".join(sorted(splits.Holdout(0.5, seed=seed).split(table).test["item"]))
        for seed in range(30)
    }
    assert halves == {"aa", "ab", "bb"}
    plays = pl.DataFrame(
        {"user": np.repeat(range(50), 100), "item": np.tile(np.repeat(range(20), 5), 50)}
    )
    split = splits.Holdout(0.2, seed=1).split(plays)
    seen = split.test.join(split.train.unique(), on=["user", "item"], how="semi")
    assert len(seen) > 0.99 * len(split.test)  # five plays of a pair: one in 3,000 is tested whole
    five = splits.LeaveOut(5, "random", seed=1).split(plays).test
    assert five.group_by("user").agg(pl.col("item").n_unique())["item"].mean() > 4


def test_other_columns_decide_which_of_equal_rows_is_drawn():
    table = pl.DataFrame({"user": [1] * 6, "item": [2] * 6, "note": list("abcdef")})
    drawn = {
        tuple(splits.Holdout(0.5, seed=seed).split(table).test["note"].sort()) for seed in range(40)
    }
    assert len(drawn) > 10  # of 20
    for rule in (splits.Holdout(0.5, seed=3), splits.LeaveOut(2, "random", seed=3)):
        assert (
            rule.split(table.reverse())
            .test["note"]
            .sort()
            .equals(rule.split(table).test["note"].sort())
        )


def test_filters_come_after_validation():
    """Item 3 has two rows before the test part, and one of them is validated."""
    table = pl.DataFrame(
        {
            "user": [1, 1, 1, 2, 2, 2, 1],
            "item": [1, 2, 3, 1, 2, 3, 9],
            "timestamp": [1, 2, 3, 1, 2, 5, 7],
        }
    )
    rule = splits.GlobalTime(
        at=7, validation=splits.GlobalTime(at=5), filters=[splits.MinRows(items=2)]
    )
    split = rule.split(table)
    assert split.train["item"].to_list() == [1, 2, 1, 2]
    assert split.validation.rows() == [(2, 3, 5)]
    assert split.found["rows_filtered(MinRows)"] == 1


def test_of_equally_good_moments_the_last():
    """At 2 and at 6 two users have rows on both sides, at 4 one, and at 9 none."""
    rows = [(1, 1), (1, 2), (2, 1), (2, 2), (3, 3), (3, 6), (4, 4), (4, 6)]
    table = pl.DataFrame(
        {"user": [u for u, _ in rows], "item": range(8), "timestamp": [t for _, t in rows]}
    )
    assert splits.GlobalTime(at="best").split(table).found["moment"] == 6
    late = pl.concat([table, pl.DataFrame({"user": [5, 6], "item": [8, 9], "timestamp": [7, 9]})])
    assert splits.GlobalTime(at="best").split(late).found["moment"] == 6


def test_windows_begin_with_their_first_moment():
    table = pl.DataFrame({"user": [1] * 6, "item": range(6), "timestamp": [0, 1, 2, 3, 4, 5]})
    folds = splits.TimeWindows(2, 2, train=2, gap=1).split(table)
    assert [split.test["item"].to_list() for split in folds] == [[2, 3], [4, 5]]
    assert [split.train["item"].to_list() for split in folds] == [[0], [1, 2]]


def test_rows_from_until_on_are_unused():
    table = pl.DataFrame({"user": [1] * 8, "item": range(8), "timestamp": range(8)})
    for rule, moment in (({"share": 0.5}, 3), ({"last": 2}, 4), ({"at": 4}, 4)):
        split = splits.GlobalTime(until=6, **rule).split(table)
        assert split.found == {"moment": moment, "rows_after_until": 2}
        assert split.test["item"].to_list() == list(range(moment, 6))
        assert split.train["item"].to_list() == list(range(moment))
    turns = splits.SuccessiveTargets(share=0.5, until=6).split(table)
    assert [split.test["item"].to_list() for split in turns] == [[3], [4], [5]]
    with pytest.raises(EmptyError, match="no rows before until"):
        splits.GlobalTime(share=0.5, until=0).split(table)


def test_short_users_keep_one_row():
    table = pl.DataFrame({"user": [1, 1, 1, 2, 2, 3], "item": range(6), "timestamp": range(6)})
    split = splits.LeaveOut(2, short="some").split(table)
    assert split.test["item"].to_list() == [1, 2, 4]
    assert split.train["item"].to_list() == [0, 3, 5]
    assert split.found == {"users_too_short": 2}


def test_folds_per_user_are_even():
    table = {"user": [1] * 2 + [2] * 3 + [3] * 4, "item": [*range(2), *range(3), *range(4)]}
    for seed in range(20):
        sizes = [
            len(split.test) for split in splits.KFold(4, per_user=True, seed=seed).split(table)
        ]
        assert sorted(sizes) == [2, 2, 2, 3]
    three = splits.KFold(3, per_user=True).split({1: ["a"], 2: ["a"], 3: ["b"]})
    assert [len(split.test) for split in three] == [1, 1, 1]


def test_a_holdout_of_all_rows_may_take_all_rows_of_a_user():
    table = {user: ["a", "b"] for user in range(40)}
    split = splits.Holdout(0.5, seed=1).split(table)
    assert split.card["cold"]["test"]["users"] > 0
    assert splits.Holdout(0.5, "user", seed=1).split(table).card["cold"]["test"]["users"] == 0


def test_duplicates():
    table = pl.DataFrame(
        {
            "user": [1, 1, 1, 2],
            "item": [1, 1, 1, 1],
            "timestamp": [5, 3, 9, 1],
            "rating": [1, 4, 2, 3],
        }
    )
    kept = {
        how: splits.Deduplicate(how).apply(table)["rating"].to_list()
        for how in ("first", "last", "highest")
    }
    assert kept == {"first": [4, 3], "last": [2, 3], "highest": [4, 3]}
    assert splits.Deduplicate().apply(table.to_pandas())["rating"].to_list() == [4, 3]
    with pytest.raises(ColumnError, match="the rating"):
        splits.Deduplicate("highest").apply(TABLE)


def test_lengths_of_time():
    table = days("2013-01-31", "2013-02-27", "2013-02-28T12:00", "2013-03-31")
    at = {
        last: splits.GlobalTime(last=last).split(table).found["moment"]
        for last in ("1mo", "31d", "4w")
    }
    # A microsecond after the last row; the end of February has no 31st.
    assert at == {
        "1mo": "2013-02-28T00:00:00.000001",
        "31d": "2013-02-28T00:00:00.000001",
        "4w": "2013-03-03T00:00:00.000001",
    }
    same = splits.GlobalTime(last=timedelta(days=31)).split(table).masks["test"]
    assert (same == splits.GlobalTime(last="31d").split(table).masks["test"]).all()
    assert splits.GlobalTime(at=date(2013, 3, 1)).split(table).test["item"].to_list() == [3]


@pytest.mark.parametrize(
    ("text", "months", "length"),
    [
        ("3us", 0, timedelta(microseconds=3)),
        ("3ms", 0, timedelta(milliseconds=3)),
        ("3s", 0, timedelta(seconds=3)),
        ("3m", 0, timedelta(minutes=3)),
        ("3h", 0, timedelta(hours=3)),
        ("3d", 0, timedelta(days=3)),
        ("3w", 0, timedelta(weeks=3)),
        ("5mo", 5, timedelta(0)),
        ("5q", 15, timedelta(0)),
        ("5y", 60, timedelta(0)),
        ("1y1q1mo1w1d", 16, timedelta(days=8)),
    ],
)
def test_every_unit_of_time_is_as_long_as_in_the_calendar(text, months, length):
    assert Duration.read("gap", text) == Duration(months, length // timedelta(microseconds=1))


def test_windows_of_the_calendar():
    texts = [f"2013-{month:02}-{day:02}T10:00" for month in range(1, 7) for day in (1, 15, 28)]
    folds = splits.TimeWindows("1mo", 3, "2mo", gap="1d", align="month").split(days(*texts))
    assert [split.found["window"] for split in folds] == [
        ["2013-04-01T00:00:00", "2013-05-01T00:00:00"],
        ["2013-05-01T00:00:00", "2013-06-01T00:00:00"],
        ["2013-06-01T00:00:00", "2013-07-01T00:00:00"],
    ]
    assert folds[0].found["training_starts"] == "2013-01-31T00:00:00"
    assert folds[0].found["training_ends"] == "2013-03-31T00:00:00"
    assert [len(split.train) for split in folds] == [6, 7, 6]
    week = splits.TimeWindows("1w", 1, align="week").split(days("2024-05-01", "2024-05-08T09:00"))
    assert week[0].found["window"] == ["2024-05-06T00:00:00", "2024-05-13T00:00:00"]  # from Monday


def test_windows_on_numbers_have_the_calendar_too():
    start = int(datetime.fromisoformat("2013-01-01T00:00:00+00:00").timestamp())
    table = pl.DataFrame(
        {"user": [1] * 90, "item": range(90), "ts": [start + d * 86400 for d in range(90)]}
    )
    folds = splits.TimeWindows("1mo", 2, align="month").split(table)
    assert [split.test["item"].to_list() for split in folds] == [
        list(range(31, 59)),
        list(range(59, 90)),
    ]


def test_leave_p_out_takes_every_set_once():
    table = pl.DataFrame({"user": [1, 1, 2, 2, 3], "item": [1, 2, 3, 4, 5]})
    folds = splits.LeavePOut(2).split(table)
    assert len(folds) == splits.LeavePOut(2).count(5) == 10
    tested = {frozenset(split.test["item"]) for split in folds}
    assert tested == {frozenset(pair) for pair in combinations(range(1, 6), 2)}
    drawn = splits.LeavePOut(2, draws=6, seed=1).split(table)
    assert len({frozenset(split.test["item"]) for split in drawn}) == 6
    large = pl.DataFrame({"user": range(200), "item": range(200)})
    assert len(splits.LeavePOut(100, draws=3).split(large)[1].test) == 100  # of about 10**59 sets
    with pytest.raises(ParameterError, match="1,313,400 sets"):
        splits.LeavePOut(3).split(large)
    with pytest.raises(ParameterError, match=r"about 10\^59 sets"):
        splits.LeavePOut(100).split(large)
    with pytest.raises(ParameterError, match="only 10 sets"):
        splits.LeavePOut(2, draws=11).split(table)


@pytest.mark.slow
def test_folds_of_a_large_table_cost_what_they_hold():
    """The number of sets has 90,000 digits: nothing may compute it, nor go through the sets."""
    large = pl.DataFrame({"user": [1] * 300_000, "item": range(300_000)})
    one, again, other = (
        splits.LeavePOut(150_000, draws=10**6, seed=seed).split(large)[999_999].masks["test"]
        for seed in (1, 1, 2)
    )
    assert one.sum() == 150_000
    assert (one == again).all()
    assert (one != other).any()
    timed = large.with_columns(timestamp=pl.int_range(300_000))
    assert splits.TimeWindows(1, 290_000).split(timed)[-1].test["item"].to_list() == [299_999]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: splits.TimeWindows(1, 10**12), "n_splits must be at most 1,000,000"),
        (lambda: splits.KFold(10**12), "k must be at most"),
        (lambda: splits.StratifiedKFold(10**12), "k must be at most"),
        (lambda: splits.UserKFold(10**12), "k must be at most"),
        (lambda: splits.LeavePOut(2, draws=10**12), "draws must be at most"),
        (lambda: splits.LeavePOut(10**8).count(10**9), "sets of 100000000 of 1000000000"),
        (lambda: splits.TimeWindows(1, 10**6).split(TABLE), "no earlier rows to train on"),
        (lambda: splits.TimeWindows(1, 3, gap=1).split(TABLE), "no earlier rows to train on"),
        (lambda: splits.TimeWindows(2**61, 5).split(TABLE), "length of time is out of range"),
        (
            lambda: splits.TimeWindows("1mo", 10**6).split(TABLE, time_unit="s"),
            "no earlier rows|out of range",
        ),
        (lambda: splits.TimeWindows("9" * 18 + "mo").split(TABLE, time_unit="s"), "out of range"),
        (lambda: splits.GlobalTime(last="9" * 5000 + "d"), "last is a length of time"),
        (lambda: splits.GlobalTime(last=10**5000), "last is a length of time"),
        (lambda: splits.GlobalTime(at=10**5000).split(TABLE), "at is not a moment"),
    ],
)
def test_what_would_never_end(make, said):
    with pytest.raises((EmptyError, ParameterError), match=said):
        make()


def test_folds_are_a_sequence():
    folds = splits.KFold(3).split(TABLE)
    assert len(folds[1:]) == 2
    assert (folds[-1].masks["test"] == folds[2].masks["test"]).all()
    with pytest.raises(IndexError):
        folds[3]


def test_short_users_are_spread_over_folds():
    table = pl.DataFrame({"user": range(1000), "item": [1] * 1000})
    sizes = [len(split.test) for split in splits.KFold(5, per_user=True).split(table)]
    assert sizes == [200] * 5


@pytest.mark.parametrize("make", [np.array, csr_array, csr_matrix, coo_array])
def test_leave_one_out_over_a_matrix(make):
    dense = np.array([[5, 0, 3, 0], [0, 1, 0, 0], [2, 2, 2, 0], [0, 0, 0, 0]], dtype=np.int16)

    def left_out(matrix, seed):
        pairs = [test.nonzero() for _, test in splits.leave_one_out_cv(matrix, seed=seed)]
        return [(user, item) for (user,), (item,) in pairs]

    kind = csr_array if make is coo_array else make
    for train, test in splits.leave_one_out_cv(make(dense), seed=4):
        assert type(train) is type(test) is type(kind(dense))
        assert train.dtype == test.dtype == np.int16
        assert (train + test != make(dense)).sum() == 0
        assert getattr(train, "nnz", 5) == (dense != 0).sum() - 1
    found = left_out(make(dense), 4)
    assert [user for user, _ in found] == [0, 2]
    assert found == left_out(dense, 4)  # dense or sparse, the same items
    assert {left_out(make(dense), seed)[1][1] for seed in range(20)} == {0, 1, 2}


@pytest.mark.parametrize("kind", [csr_array, csr_matrix, coo_array, csc_array])
def test_stored_zeros_are_interactions(kind):
    """User 0 has items 0 and 2, one with the value 0; user 1 has one such item alone."""
    matrix = kind(
        (np.array([0.0, 4.0, 0.0]), (np.array([0, 0, 1]), np.array([0, 2, 1]))), shape=(2, 3)
    )
    assert matrix.nnz == 3
    left_out = set()
    for seed in range(20):
        ((train, test),) = splits.leave_one_out_cv(matrix, seed=seed)
        assert (train.nnz, test.nnz) == (2, 1)
        entries = [
            set(zip(part.tocoo().row.tolist(), part.tocoo().col.tolist(), strict=True))
            for part in (train, test)
        ]
        assert entries[0] | entries[1] == {(0, 0), (0, 2), (1, 1)}
        assert not entries[0] & entries[1]
        left_out |= entries[1]
    assert left_out == {(0, 0), (0, 2)}
    split = splits.LeaveOut(1, "random").split(matrix)
    assert len(split.train) + len(split.test) == 3
    assert len(splits.Holdout(0.3, seed=1).split(matrix).train) == 2
    with pytest.raises(EmptyError, match="no user has two items"):
        splits.leave_one_out_cv(matrix.toarray())  # in an array only 4 is an interaction


def corrupt(kind):
    matrix = kind(np.ones((2, 3)))
    where = matrix.indices if hasattr(matrix, "indices") else matrix.coords[1]
    where[0] = 10**6
    return matrix


@pytest.mark.parametrize(
    ("error", "matrix", "said"),
    [
        (EmptyError, np.eye(3), "two items"),
        (InputError, np.array([[1, np.nan]]), "NaN"),
        (InputError, np.array([1, 2]), "matrix of numbers"),
        (InputError, np.ones((2, 2)) * 1j, "matrix of numbers"),
        (InputError, np.ma.array(np.ones((1, 3)), mask=[[0, 1, 0]]), "mask would be ignored"),
        (InputError, csr_array(np.ones((2, 2)) * 1j), "real numbers"),
        (InputError, corrupt(csr_matrix), "corrupt sparse matrix"),
        (InputError, corrupt(csc_array), "corrupt sparse matrix"),
        (InputError, corrupt(coo_array), "corrupt sparse matrix"),
    ],
)
def test_leave_one_out_refuses(error, matrix, said):
    with pytest.raises(error, match=said):
        splits.leave_one_out_cv(matrix)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: splits.GlobalTime(share=1.0), "share must lie between 0 and 1"),
        (lambda: splits.GlobalTime(share=0), "share must lie between 0 and 1"),
        (lambda: splits.GlobalTime(), "give exactly one of"),
        (lambda: splits.GlobalTime(share=0.2, at=3), "give exactly one of"),
        (lambda: splits.GlobalTime(last="soon"), "last is a length of time"),
        (lambda: splits.GlobalTime(last=-3), "cannot be negative"),
        (lambda: splits.GlobalTime(share=0.2, gap="1 day"), "gap is a length of time"),
        (lambda: splits.GlobalTime(share=0.2, target="next"), "target must be one of"),
        (lambda: splits.Holdout("0.2"), "between 0 and 1"),
        (lambda: splits.Holdout(which="last"), "use GlobalTime"),
        (lambda: splits.Holdout(seed=0.5), "a seed is a whole number"),
        (lambda: splits.Holdout(seed=10**5000), "a seed has at most 64 bits"),
        (lambda: splits.LeaveOut(0), "n must be a whole number from 1"),
        (lambda: splits.KFold(1), "k must be a whole number from 2"),
        (lambda: splits.TimeWindows("7d", 0), "n_splits must be"),
        (lambda: splits.TimeWindows("7d", align="fortnight"), "align must be one of"),
        (lambda: splits.GlobalTime(share=0.2, validation=splits.KFold(2)), "gives one split"),
        (
            lambda: splits.GlobalTime(
                share=0.2, validation=splits.LeaveOut(filters=[splits.KCore()])
            ),
            "belong to the outer rule",
        ),
        (lambda: splits.UserHoldout(fold_in=splits.KFold(2)), "gives one split"),
        (lambda: splits.UserHoldout(fold_in=splits.UserHoldout()), "only cuts rows in two"),
        (
            lambda: splits.UserKFold(fold_in=splits.GlobalTime(at=3, target="first")),
            "only cuts rows in two",
        ),
        (lambda: splits.UserHoldout(fold_in=splits.TwoStage(at=3)), "only cuts rows in two"),
        (lambda: splits.TwoStage(last="7d", validation=splits.LeaveOut()), "parts of their own"),
        (lambda: splits.KCore(0), "k must be a whole number"),
        (lambda: splits.LeaveOut(cold_users="both"), "cold_users must be one of"),
    ],
)
def test_rules_that_make_no_sense(make, said):
    with pytest.raises(ParameterError) as caught:
        make()
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("rule", "table", "said"),
    [
        (splits.GlobalTime(share=0.2), TABLE.drop("timestamp"), "no column for the timestamp"),
        (splits.LeaveOut(1), TABLE.drop("timestamp"), "no column for the timestamp"),
        (
            splits.GlobalTime(share=0.2),
            TABLE.with_columns(timestamp=pl.lit("soon")),
            "neither a number nor a date",
        ),
        (
            splits.GlobalTime(share=0.2),
            TABLE.with_columns(timestamp=pl.lit(None, pl.Int64)),
            "row 1",
        ),
        (
            splits.GlobalTime(share=0.2),
            TABLE.with_columns(timestamp=pl.lit(float("nan"))),
            "4 such rows",
        ),
        (
            splits.GlobalTime(share=0.2),
            TABLE.with_columns(timestamp=pl.lit(True)),
            "numbers or dates",
        ),
        (
            splits.GlobalTime(share=0.2),
            TABLE.with_columns(timestamp=pl.lit(2**63 - 1)),
            "out of range",
        ),
        (
            splits.GlobalTime(share=0.5),
            TABLE.with_columns(timestamp=7),
            "training side of the split is empty",
        ),
        (splits.GlobalTime(at=99), TABLE, "test side of the split is empty"),
        (splits.GlobalTime(at=0), TABLE, "training side of the split is empty"),
        (splits.GlobalTime(at="soon"), TABLE, "at is not a moment"),
        (splits.Holdout(0.1), TABLE, "test side of the split is empty"),
        (splits.LeaveOut(5), TABLE, "test side of the split is empty"),
        (splits.LeaveOut(5, short="test"), TABLE, "training side of the split is empty"),
        (splits.LeaveOut(5, short="error"), TABLE, "user 1"),
        (splits.GlobalTime(share=0.2, validation=splits.LeaveOut(9)), TABLE, "validation side"),
        (splits.GlobalTime(share=0.5, filters=[splits.KCore(9)]), TABLE, "filters leave no rows"),
        (splits.KFold(5), TABLE, "5 folds need at least 5 rows"),
        (splits.UserKFold(3), TABLE, "3 folds need as many users"),
        (splits.StratifiedKFold(2, "gender"), TABLE, "no column 'gender'"),
        (splits.LeavePOut(4), TABLE, "leaves no training rows"),
        (splits.TwoStage(share=0.5, inner_at=0), TABLE, "no training rows before the inner moment"),
        (splits.GlobalTime(last=5), days("2013-01-01", "2013-01-02"), "needs a unit"),
        (splits.GlobalTime(share=0.2), TABLE.head(0), "empty"),
        (splits.LeaveOut(1), TABLE.with_columns(user=pl.lit(None, pl.Int64)), "id is null"),
    ],
)
def test_tables_that_cannot_be_split(rule, table, said):
    with pytest.raises((InputError, ParameterError)) as caught:
        every(rule.split(table))
    assert said in str(caught.value)


def test_a_window_without_rows_is_named():
    with pytest.raises(EmptyError, match="test side") as caught:
        list(splits.TimeWindows(1, 3).split(TABLE.filter(pl.col("timestamp") != 3)))
    assert "fold 1" in str(caught.value)


def test_time_based_split_in_one_line():
    train, test = splits.time_based_split(TABLE, "timestamp", test_ratio=0.25)
    assert test.rows() == [(2, 3, 4)]
    assert len(train) == 3
    with pytest.raises(ParameterError, match="test_ratio must lie between 0 and 1"):
        splits.time_based_split(TABLE, test_ratio=1.5)
    with pytest.raises(ColumnError, match="no column 'when'"):
        splits.time_based_split(TABLE, "when")


ARRAY = TABLE.to_numpy()


@pytest.mark.parametrize(
    ("array", "column"),
    [
        (ARRAY, 2),
        (ARRAY, np.int64(-1)),
        (ARRAY.astype(np.float32), 2),
        (ARRAY.astype(object), 2),
        (np.array([[f"user {row[0]}", *row[1:]] for row in ARRAY.tolist()]), 2),  # all is text
        (ARRAY.astype("datetime64[s]"), 2),
        (np.rec.fromarrays(ARRAY.T, names="who,what,when"), "when"),
    ],
    ids=["whole", "from the end", "decimal", "object", "text", "dates", "structured"],
)
def test_time_based_split_of_an_array(array, column):
    array = array[[3, 0, 1, 2]]
    by_time = array[[1 + row for row in np.argsort(ARRAY[:3, 2])]]
    train, test = splits.time_based_split(array, timestamp_col=column, test_ratio=0.2)
    assert type(train) is type(test) is type(array)
    assert train.dtype == test.dtype == array.dtype
    assert train.tolist() == by_time.tolist()
    assert test.tolist() == array[:1].tolist()


@pytest.mark.parametrize(
    ("error", "source", "column", "said"),
    [
        (ColumnError, ARRAY, 3, "no column 3"),
        (ColumnError, ARRAY, -4, "no column -4"),
        (ParameterError, ARRAY, "timestamp", "have numbers"),
        (ParameterError, ARRAY, True, "have numbers"),
        (InputError, ARRAY[0], 0, "one row per interaction"),
        (ColumnError, np.where(ARRAY == 4, np.nan, ARRAY), 2, "neither a number nor a date"),
        (ColumnError, ARRAY * 1j, 2, "of one that cannot be read"),
        (InputError, np.ma.array(ARRAY), 2, "mask would be ignored"),
        (ColumnError, np.rec.fromarrays(ARRAY.T, names="who,what,when"), "whom", "'whom'"),
        (ParameterError, TABLE, 2, "timestamp_col is the name of a column"),
        (ParameterError, TABLE.to_pandas(), 2, "timestamp_col is the name of a column"),
    ],
)
def test_columns_that_are_not_there(error, source, column, said):
    with pytest.raises(error, match=said):
        splits.time_based_split(source, timestamp_col=column)


def test_parts_by_name():
    split = splits.LeaveOut(1).split(TABLE)
    with pytest.raises(ParameterError, match="no part 'validation'") as caught:
        _ = split.validation
    assert "validation=" in str(caught.value)
    assert repr(split).splitlines()[0].startswith("LeaveOut(n=1")


def test_a_column_that_the_caller_names_stands_in_for_one_that_is_called_so():
    days, late_first = ["2020-01-01", "2020-01-02"], [1577836900, 1577836800]
    rows = pl.DataFrame({"user": ["u", "u"], "item": [5, 6], "date": days, "timestamp": late_first})
    with pytest.raises(ColumnError, match="two columns could be the timestamp") as error:
        splits.LeaveOut(1).split(rows)
    assert error.value.hint == 'say which: columns={"interactions.timestamp": "date"}'
    split = splits.LeaveOut(1).split(rows, columns={"interactions.timestamp": "date"})
    assert split.test["item"].to_list() == [6]
    assert splits.LeaveOut(1).split(rows, columns={"timestamp": "timestamp"}).test[
        "item"
    ].to_list() == [5]


@pytest.mark.parametrize(
    "rule", [splits.GlobalTime, splits.LeaveOut, splits.KFold, splits.KCore, splits.Deduplicate]
)
def test_a_parameter_that_a_rule_does_not_have_is_named(rule):
    with pytest.raises(ParameterError, match=f"{rule.__name__} has no parameter 'test_ratio'"):
        rule(test_ratio=0.2)
    with pytest.raises(ParameterError) as error:
        splits.GlobalTime(shares=0.2)
    assert error.value.hint == "did you mean 'share'?"
    assert error.value.found.startswith("share, at, last, gap")
    with pytest.raises(ParameterError) as error:
        splits.from_dict({"rule": "UserHoldout", "test_size": 0.2})
    assert error.value.hint == "did you mean 'share'?"


def test_a_table_that_a_split_never_takes_is_not_asked_for():
    with pytest.raises(ParameterError) as error:
        splits.LeaveOut(1).split(TABLE, columns={"train.timestamp": "when"})
    assert error.value.hint == "leave 'train.timestamp' out of columns="
