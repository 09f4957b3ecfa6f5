"""Every check L1 to L24: a split that breaks it, one that does not, and the number by hand."""

from __future__ import annotations

import json
import sys
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given

import rankwise as rw
import split_reference as plain
from rankwise import splits
from rankwise.errors import ColumnError, IdError, ParameterError
from rankwise.splits.audit_checks import _missing_below, _unseen
from rankwise.splits.audit_parts import Limits
from sampled_negatives import sampled

CODES = [f"L{number}" for number in range(1, 25)]


def rows(*given, columns=("user", "item", "timestamp")):
    return pl.DataFrame(given, schema=list(columns), orient="row")


TRAIN = rows((1, 10, 1), (1, 11, 2), (2, 10, 3), (2, 12, 4))
TEST = rows((1, 12, 6), (2, 11, 7))


def status(code, *parts, **options):
    return rw.audit(*parts, **options)[code].status


def test_a_clean_split_passes():
    found = rw.audit(TRAIN, TEST, claim="time")
    assert not found.failed
    assert [check.code for check in found.checks] == CODES
    assert {check.status for check in found.checks} <= {"pass", "not run", "warn"}
    assert all(
        check.said.startswith("needs") for check in found.checks if check.status == "not run"
    )


def test_l1_same_pair():
    test = rows((1, 10, 9), (2, 11, 9), (2, 11, 9))
    found = rw.audit(TRAIN, test)
    assert (found["L1"].status, found["L1"].value) == ("fail", 1)
    assert found.rows("L1").select("user", "item").rows() == [(1, 10)]
    assert "1 of 3 test rows (33.33%) have their user and item among 4 training" in found["L1"].said
    assert status("L1", TRAIN, test, repeats=True) == "pass"


def test_l2_same_event():
    found = rw.audit(TRAIN, rows((1, 10, 1), (1, 10, 9)), repeats=True)
    assert (found["L2"].status, found["L2"].value) == ("fail", 1)
    assert status("L2", TRAIN.drop("timestamp"), TEST) == "not run"


def test_l3_boundary():
    late = rows((1, 12, 3), (2, 11, 7))
    found = rw.audit(TRAIN, late)["L3"]
    assert (found.status, found.value) == ("warn", 2)
    assert "of 4 training rows 1 after the first test row, 1 at the same time" in found.said
    assert "overlap by 1 s" in found.said
    assert status("L3", TRAIN, late, claim="time") == "fail"
    assert status("L3", TRAIN, rows((1, 12, 4)), claim="time") == "fail"  # ties break it too
    assert status("L3", TRAIN, TEST, claim="time") == "pass"


def test_l4_ids_of_the_test():
    found = rw.audit(TRAIN, rows((1, 13, 6)), vocabulary={"user": [1, 2], "item": {10: 0, 13: 1}})
    assert (found["L4"].status, found["L4"].value) == ("fail", 1)
    assert found.rows("L4").rows() == [("13", "item")]
    assert status("L4", TRAIN, TEST, vocabulary={"item": [10, 11, 12]}) == "pass"
    # Numbers without a gap, of which those that only test has are the largest.
    appended = rows((0, 0, 1), (1, 1, 2)), rows(*[(0, item, 3) for item in (2, 3, 4)])
    found = rw.audit(*appended)["L4"]
    assert (found.status, found.value) == ("warn", 3)
    assert "0 of 2 users and 3 of 5 items are only in test" in found.said
    among = rows((0, 0, 1), (1, 4, 2)), rows(*[(0, item, 3) for item in (1, 2, 3)])
    assert status("L4", *among) == "pass"
    text = [part.cast({"user": pl.String, "item": pl.String}) for part in (TRAIN, TEST)]
    assert status("L4", *text) == "not run"


def test_l5_validation():
    assert status("L5", TRAIN, TEST) == "not run"
    assert status("L5", TRAIN, TEST, rows((1, 13, 5)), claim="time") == "pass"
    assert status("L5", TRAIN, TEST, rows((1, 13, 8))) == "pass"
    assert status("L5", TRAIN, TEST, rows((1, 13, 8)), claim="time") == "fail"
    assert status("L5", TRAIN, TEST, rows((1, 12, 6))) == "fail"
    assert status("L5", TRAIN, TEST, rows((1, 10, 1))) == "fail"


def test_l6_users_and_sessions():
    assert status("L6", TRAIN, TEST) == "not run"
    found = rw.audit(TRAIN, TEST, claim="users")
    assert (found["L6"].status, len(found.rows("L6"))) == ("fail", 2)
    assert status("L6", TRAIN, rows((3, 10, 6)), claim="users") == "pass"
    parts = [
        part.with_columns(session_id=pl.Series(values))
        for part, values in ((TRAIN, [1, 1, 2, 2]), (TEST, [2, 3]))
    ]
    assert rw.audit(*parts)["L6"].value == 1
    assert status("L6", parts[0].with_columns(session_id=9), parts[1]) == "pass"


def test_l7_items_that_do_not_exist_yet():
    test = rows((1, 13, 6), (2, 11, 7), (2, 14, 9))
    found = rw.audit(TRAIN, test)["L7"]
    assert (found.status, found.value) == ("warn", pytest.approx(2 / 3))
    # User 1 is asked at 6: item 14 appears at 9. User 2 is asked at 7.
    lists = {1: [13, 14, 10], 2: [13, 10]}
    found = rw.audit(TRAIN, test, recommendations=lists)
    assert (found["L7"].status, found["L7"].value) == ("warn", pytest.approx(1 / 5))
    assert found.rows("L7").select("user", "item").rows() == [(1, 14)]
    assert status("L7", TRAIN, TEST, recommendations={1: [10], 2: [12]}) == "pass"


def test_l8_leak_index():
    found = rw.audit(TRAIN, rows((1, 12, 2), (2, 11, 7)))
    assert (found["L8"].status, found["L8"].value) == ("warn", 0.25)  # 2 of 4 rows, and none
    assert status("L8", TRAIN, rows((1, 12, 2)), claim="time") == "fail"
    assert status("L8", TRAIN, TEST, claim="time") == "pass"


def test_l9_horizon():
    found = rw.audit(TRAIN, rows((1, 12, 5), (2, 11, 9)))["L9"]
    assert (found.status, found.value) == ("warn", pytest.approx(4 / 3))
    assert status("L9", TRAIN, TEST, limits=Limits(test_span=0.1)) == "warn"
    assert status("L9", TRAIN, TEST) == "pass"


def test_l10_popularity():
    # In the last tenth of training everybody has taken to item 99, and in test too.
    early = [(user, user % 50, user) for user in range(900)]
    late = [(user, 99, 1000 + user) for user in range(100)]
    found = rw.audit(rows(*early, *late), rows(*[(user, 99, 2000) for user in range(200, 300)]))[
        "L10"
    ]
    assert (found.status, found.value) == ("pass", 1)  # item 99 is popular over all time as well
    late = [(user, 99, 1000 + user) for user in range(15)]
    found = rw.audit(rows(*early, *late), rows(*[(user, 99, 2000) for user in range(200, 300)]))[
        "L10"
    ]
    assert (found.status, found.value) == ("warn", float("inf"))
    for hits, expected in ((9, "pass"), (10, "warn")):  # 9 and 0 may be chance
        test = [(user, 99 if user < 200 + hits else 49, 2000) for user in range(200, 300)]
        found = rw.audit(rows(*early, *late), rows(*test))["L10"]
        assert (found.status, found.value) == (expected, float("inf"))
    same = rw.audit(TRAIN, TRAIN.with_columns(pl.col("timestamp") + 9), repeats=True)["L10"]
    assert "divergence 0.000" in same.said
    parts = [
        pl.DataFrame({"user": range(4), "item": items}) for items in ([1, 1, 1, 2], [1, 2, 2, 2])
    ]
    found = rw.audit(*parts)["L10"]  # 3/4 of one and 1/4 of the other, against 1/2 of both
    assert (found.status, found.value) == (
        "pass",
        pytest.approx(0.75 * np.log2(1.5) + 0.25 * np.log2(0.5)),
    )


def test_l11_cold():
    found = rw.audit(TRAIN, rows((1, 12, 6), (3, 12, 6), (1, 13, 6), (4, 14, 6)))
    assert (found["L11"].status, found["L11"].value) == ("warn", 0.75)
    assert len(found.rows("L11")) == 3
    assert status("L11", TRAIN, rows((3, 10, 6)), claim="users") == "pass"  # that is its point


def test_l12_filter_before_the_split():
    # 60 users with 2 to 4 rows each, as many of each: users with one row have been filtered out.
    both = rows(*[(user, item, user + item) for user in range(60) for item in range(2 + user % 3)])
    found = rw.audit(both.filter(pl.col("item") > 0), both.filter(pl.col("item") == 0))
    assert (found["L12"].status, found["L12"].value) == ("warn", 20)
    assert (
        "60 users have 2 or more rows over all parts, about 20 are expected just below"
        in found["L12"].said
    )
    assert len(found.rows("L12")) == 20
    # As many rows per user by chance: few users have the least count.
    few = rows(*[(user, item, user + item) for user in range(60) for item in range(2 + user // 3)])
    assert status("L12", few.filter(pl.col("item") > 0), few.filter(pl.col("item") == 0)) == "pass"


def test_l13_features():
    features = pl.DataFrame({"item": [10, 12, 11], "time": [5, 5, 8], "price": [1, 2, 3]})
    found = rw.audit(TRAIN, TEST, features=features)
    assert (found["L13"].status, found["L13"].value) == ("fail", 1)
    assert found.rows("L13")["item"].to_list() == [11]
    assert status("L13", TRAIN, TEST, features=features.filter(pl.col("time") < 6)) == "pass"
    both = pl.concat([TRAIN, TEST]).group_by("item").len("raters")
    assert status("L13", TRAIN, TEST, items=both) == "fail"
    assert status("L13", TRAIN, TEST, items=TRAIN.group_by("item").len("raters")) == "pass"
    assert (
        status("L13", TRAIN, TEST, items=pl.DataFrame({"item": [10, 11], "year": [7, 8]})) == "pass"
    )


def test_l13_mean_ratings():
    train = TRAIN.with_columns(rating=pl.Series([1.0, 2.0, 3.0, 4.0]))
    test = TEST.with_columns(rating=pl.Series([5.0, 1.0]))
    means = pl.concat([train, test]).group_by("user").agg(mean=pl.col("rating").mean())
    assert status("L13", train, test, users=means) == "fail"
    means = train.group_by("user").agg(mean=pl.col("rating").mean())
    assert status("L13", train, test, users=means) == "pass"


def test_l14_tuned_on_test():
    log = pl.DataFrame(
        {
            "run": ["a", "a", "b"],
            "part": ["validation", "test", "test"],
            "purpose": ["select", "report", "select"],
        }
    )
    found = rw.audit(TRAIN, TEST, runs=log)
    assert (found["L14"].status, found["L14"].value) == ("fail", 1)
    assert found.rows("L14")["run"].to_list() == ["b"]
    assert status("L14", TRAIN, TEST, runs=log.head(2)) == "pass"
    again = log.with_columns(run=pl.lit("a"), purpose=pl.lit("report"))
    assert status("L14", TRAIN, TEST, runs=again) == "warn"
    with pytest.raises(ColumnError, match="run, part and purpose"):
        rw.audit(TRAIN, TEST, runs=log.drop("purpose"))


def test_l15_copies():
    own = [(user, item, 1) for user in range(40) for item in range(4 * user, 4 * user + 4)]
    train = rows(*own, *[(99, item, 1) for item in (4, 5, 6)])
    found = rw.audit(train, rows((99, 7, 5)))
    assert (found["L15"].status, found["L15"].value) == ("warn", 2)
    assert found.rows("L15").rows() == [(1, 4, "equal"), (99, 4, "equal")]
    assert "of 41 users, 2 have exactly another's 3 items" in found["L15"].said
    assert status("L15", train, rows((99, 8, 5))) == "pass"
    # Where everybody has the same three items, equal histories are no news.
    same = rows(*[(user, item, 1) for user in range(40) for item in range(3)])
    assert status("L15", same, rows((0, 3, 5))) == "pass"
    items = pl.DataFrame({"item": [10, 11, 12], "title": ["Heat", "Alien", "Heat"]})
    assert status("L15", TRAIN, TEST, items=items) == "warn"


def test_l16_equal_times():
    found = rw.audit(TRAIN, rows((1, 12, 2), (2, 11, 7)))
    assert (found["L16"].status, found["L16"].value) == ("warn", 0.5)
    assert found.rows("L16")["user"].to_list() == [1]


def test_l17_order_of_candidates():
    train = rows(*[(user, 99, 1) for user in range(60)])
    test = rows(*[(user, user % 10, 5) for user in range(60)])
    first = {user: [user % 10, *(i for i in range(10) if i != user % 10)] for user in range(60)}
    found = rw.audit(train, test, candidates=first)["L17"]
    assert found.status == "warn"
    # Every positive stands first: (0 - 1/2) * 60 over sqrt(60 * 11 / 108).
    assert found.value == pytest.approx(-30 / (60 * 11 / 108) ** 0.5)
    assert "of 60 positives among 600 candidates of 60 users 100.0% stand first" in found.said
    sorted_ = {user: list(range(10)) for user in range(60)}
    assert status("L17", train, test, candidates=sorted_) == "pass"
    assert status("L17", train, test, candidates={1: [50, 51]}) == "warn"


def test_l18_too_good():
    train = rows(*[(user, user % 40, 1) for user in range(400)])
    test = rows(*[(user, (user * 7 + 1) % 40, 5) for user in range(400)])
    answers = {user: [(user * 7 + 1) % 40] for user in range(400)}
    found = rw.audit(train, test, recommendations=answers, repeats=True, limits=Limits(too_good=3))[
        "L18"
    ]
    assert found.status == "warn"
    assert "recall@10 1.0000" in found.said
    popular = {user: list(range(10)) for user in range(400)}
    assert status("L18", train, test, recommendations=popular, repeats=True) == "pass"


def test_l18_near_perfect_lists_warn_below_the_limit_of_the_ratio():
    """Three of ten users have the most popular test item: perfect lists have three times its recall."""
    of_user = [40 if user % 10 < 3 else (user * 7 + 1) % 40 for user in range(400)]
    train = rows(*[(user, user % 41, 1) for user in range(400)])
    test = rows(*[(user, item, 5) for user, item in enumerate(of_user)])
    perfect = {user: [item] for user, item in enumerate(of_user)}
    found = rw.audit(train, test, recommendations=perfect, repeats=True)["L18"]
    assert (found.status, found.value) == ("warn", pytest.approx(1 / 0.3))
    limits = Limits(too_near=1)
    assert (
        status("L18", train, test, recommendations=perfect, repeats=True, limits=limits) == "pass"
    )


def test_l18_has_no_limit_where_a_list_holds_half_of_the_items():
    for n_items, limited in ((20, False), (21, True)):
        train = rows(*[(user, user % n_items, 1) for user in range(400)])
        test = rows(*[(user, (user * 11 + 1) % n_items, 5) for user in range(400)])
        perfect = {user: [(user * 11 + 1) % n_items] for user in range(400)}
        found = rw.audit(train, test, recommendations=perfect, repeats=True)["L18"]
        assert ("too few items for a limit" in found.said) != limited
        assert found.status == ("warn" if limited else "pass")


def test_l18_knows_what_a_user_consumes_most():
    train = rows(
        *[
            (user, item, at)
            for user in range(30)
            for at, item in enumerate((user + 100, user + 200, user + 100))
        ]
    )
    test = rows(*[(user, user + 100, 9) for user in range(30)])
    lists = {user: [user + 100] for user in range(30)}
    found = rw.audit(train, test, recommendations=lists, repeats=True)["L18"]
    assert found.status == "pass"
    assert "of the user's most frequent items 1.0000" in found.said


def test_l18_lists_that_look_sampled():
    lists, truth = sampled()
    train = rows(*[(user, item, 1) for user in truth for item in range(3000 + user, 3020 + user)])
    check = rw.audit(train, truth, recommendations=lists)["L18"]
    assert check.status == "warn"
    assert "the lists look like test items among 99 sampled negatives" in check.said
    others = {
        user: [item for item in own if item not in truth[user]] for user, own in lists.items()
    }
    check = rw.audit(train, truth, recommendations=others)["L18"]
    assert (check.status, "sampled" in check.said) == ("pass", False)


def test_l19_two_stages():
    table = rows(*[(user, time, time) for time in range(20) for user in range(6)])
    split = splits.TwoStage(share=0.25, validation_share=0.5).split(table)
    parts = {name: split.part(name) for name in split.masks}
    stages = {name: parts[name] for name in parts if name not in ("train", "test")}
    assert rw.audit(split)["L19"].status == "pass"
    assert status("L19", parts["train"], parts["test"], stages=stages) == "pass"
    seen = {
        **stages,
        "candidate_train": parts["train"],
    }  # the candidate model saw the ranker's rows
    assert status("L19", parts["train"], parts["test"], stages=seen) == "fail"
    users = {**stages, "ranker_validation": parts["ranker_train"]}
    assert (
        "ranker users on both sides"
        in rw.audit(parts["train"], parts["test"], stages=users)["L19"].said
    )
    slip = rw.audit(parts["candidate_train"], parts["test"], stages=stages)["L19"]
    assert slip.status == "fail"
    assert "which is refitted and gives the seen items" in slip.said
    lists = {0: [int(parts["ranker_train"]["item"][0])]} | {u: [14] for u in range(1, 6)}
    found = rw.audit(parts["train"], parts["test"], recommendations=lists, stages=stages)["L19"]
    assert "not filtered as seen" in found.said
    with pytest.raises(ParameterError, match="no stage 'second'"):
        rw.audit(TRAIN, TEST, stages={"second": TRAIN})


def test_l21_repeated_rows():
    assert status("L21", TRAIN, TEST) == "pass"
    twice = pl.concat([TRAIN, rows((1, 10, 5))])
    found = rw.audit(twice, TEST, rows((2, 13, 5), (2, 13, 5)))
    assert (found["L21"].status, found["L21"].value) == ("warn", 2)
    assert found.rows("L21").rows() == [(1, 10, 5, "train"), (2, 13, 5, "validation")]
    assert "1 of 5 train rows, 0 of 2 test rows, 1 of 2 validation rows" in found["L21"].said
    # With repeats, a pair may come again, but not the same event.
    assert status("L21", twice, TEST, repeats=True) == "pass"
    assert status("L21", pl.concat([TRAIN, TRAIN.head(1)]), TEST, repeats=True) == "warn"
    assert (
        status("L21", *(part.drop("timestamp") for part in (twice, TEST)), repeats=True) == "pass"
    )


def test_l20_heavy_users():
    test = rows(*[(user, 10, 5) for user in range(60)], *[(7, item, 5) for item in range(100, 140)])
    found = rw.audit(TRAIN, test)
    assert (found["L20"].status, found["L20"].value) == ("warn", 0.41)
    assert found.rows("L20").row(0) == (7, 41)
    assert status("L20", TRAIN, rows(*[(user, 10, 5) for user in range(60)])) == "pass"


@given(plain.tables(min_size=4))
def test_numbers_of_any_split(table):
    try:
        split = splits.Holdout(0.4).split(table)
    except rw.RankwiseError:
        return
    found = rw.audit(split)
    train, test = split.train.rows(), split.test.rows()
    pairs, events = {r[:2] for r in train}, {r[:3] for r in train}
    assert found["L1"].value == sum(r[:2] in pairs for r in test)
    assert found["L2"].value == sum(r[:3] in events for r in test)
    assert found["L3"].value == sum(r[2] >= min(t[2] for t in test) for r in train)
    leaks = plain.leak([r[2] for r in train], [r[2] for r in test])
    assert found["L8"].value == pytest.approx(float(np.mean(leaks)))
    cold = [r[0] not in {t[0] for t in train} or r[1] not in {t[1] for t in train} for r in test]
    assert found["L11"].value == pytest.approx(float(np.mean(cold)))
    end = max(r[2] for r in train)
    first = {item: min(r[2] for r in train + test if r[1] == item) for item in {r[1] for r in test}}
    assert found["L7"].value == pytest.approx(np.mean([first[r[1]] > end for r in test]))
    heavy = Counter(r[0] for r in test).most_common(1)[0][1]
    assert found["L20"].value == pytest.approx(heavy / len(test))


def test_any_source(tmp_path):
    split = splits.GlobalTime(at=5).split(pl.concat([TRAIN, TEST]))
    expected = rw.audit(TRAIN, TEST, claim="time").to_dict()
    folder = split.save(tmp_path / "split")
    TRAIN.write_csv(tmp_path / "train.csv")
    for sources in (
        (split,),
        (folder,),
        (folder / "train.parquet", folder / "test.parquet"),
        (TRAIN.to_pandas(), TEST.cast(pl.Int32).to_arrow()),
        (tmp_path / "train.csv", TEST.with_columns(pl.col("timestamp").cast(pl.Float64))),
    ):
        assert rw.audit(*sources, claim="time").to_dict() == expected
    assert rw.audit(split).to_dict() == expected  # its card says that it is a split in time
    assert isinstance(TRAIN.to_pandas(), pd.DataFrame)


def test_strong_generalisation_is_claimed_by_its_card():
    table = rows(*[(user, item, item) for user in range(10) for item in range(6)])
    assert rw.audit(splits.UserHoldout(0.3).split(table))["L6"].status == "pass"
    weak = rw.audit(splits.UserHoldout(0.3, strong=False).split(table))
    assert weak["L6"].status == "not run"


def test_what_cannot_be_audited():
    with pytest.raises(ParameterError, match="needs the test part"):
        rw.audit(TRAIN)
    with pytest.raises(ParameterError, match="claim must be one of"):
        rw.audit(TRAIN, TEST, claim="global")
    with pytest.raises(ParameterError, match="audit is of one split"):
        rw.audit(splits.KFold(2).split(TRAIN))
    with pytest.raises(IdError, match="integers in one table and strings"):
        rw.audit(TRAIN, TEST.cast({"item": pl.String}))
    with pytest.raises(ColumnError, match="different units"):
        rw.audit(TRAIN, TEST.with_columns(pl.col("timestamp") * 10**12))
    with pytest.raises(ColumnError, match="others none"):
        rw.audit(TRAIN, TEST, TEST.drop("timestamp"))
    with pytest.raises(ParameterError, match="no check 'L25'"):
        rw.audit(TRAIN, TEST)["L25"]


def test_displays():
    found = rw.audit(TRAIN, TEST)
    assert repr(found).startswith("No leak found. 16 passed, 8 not run.")
    assert found.text("full").splitlines()[2].startswith("PASS")
    assert found.text("verdict") == found.verdict == repr(found).splitlines()[0]
    assert found.export("markdown").count("\n") == 26
    assert '"failed": false' in found.export("json")
    assert found.table.height == 24
    assert found.rows("L1").is_empty()


def not_json(constant):
    raise AssertionError(f"{constant} is not JSON")


LAST, FIRST = 2**63 - 1, -(2**63) + 1


@pytest.mark.parametrize(
    ("train", "test", "ratio", "units"),
    [
        ([5, 5], [6, 9], float("inf"), (None, "us", "ns")),
        ([5, 5], [5, 5], 0.0, (None, "us")),
        ([5], [6], 0.0, (None, "us")),
        ([5, 6], [9], 0.0, (None, "us")),
        ([0, 2**61], [-(2**61), 2**61], 2.0, (None, "us", "ns")),
        ([FIRST, LAST], [LAST, FIRST], 1.0, ("us", "ns")),
        ([FIRST, 5], [LAST, LAST - 2], 2 / (5 - FIRST), ("us", "ns")),
    ],
)
def test_times_at_their_limits_are_shown_and_exported(train, test, ratio, units):
    for unit in units:
        dtype = pl.Int64 if unit is None else pl.Datetime(unit)
        parts = [
            pl.DataFrame(
                {
                    "user": range(len(times)),
                    "item": range(first_item, first_item + len(times)),
                    "timestamp": pl.Series(times, dtype=pl.Int64).cast(dtype),
                }
            )
            for first_item, times in ((1, train), (2, test))
        ]
        found = rw.audit(*parts, recommendations={0: [9]}, candidates={0: [2]})
        assert found["L9"].value == pytest.approx(ratio)
        assert f"{ratio:.4g}" in found.text("full")
        for check in json.loads(found.export("json"), parse_constant=not_json)["checks"]:
            value = found[check["code"]].value
            assert check["value"] == (None if value == float("inf") else value)
        assert found.export("markdown").count("\n") == 26


@pytest.mark.parametrize("is_train_finer", [False, True])
def test_dates_of_two_resolutions_are_one_clock(is_train_finer):
    """Training begins two microseconds before the test row, and ends two after it; one part has odd nanoseconds."""
    coarse, fine = pl.Datetime("us"), pl.Datetime("ns")
    times = ([7001, 11001], [9]) if is_train_finer else ([7, 11], [9001])
    train, test = (
        pl.DataFrame(
            {"user": [3] * len(ticks), "item": ticks, "timestamp": pl.Series(ticks).cast(unit)}
        )
        for ticks, unit in zip(
            times, (fine, coarse) if is_train_finer else (coarse, fine), strict=True
        )
    )
    found = rw.audit(train, test)["L3"]
    assert (found.status, found.value) == ("warn", 1)
    assert "of 2 training rows 1 after the first test row" in found.said


def test_names_of_columns_are_shown_harmlessly():
    column = "\x1b[2J<b>|"
    items = {"item": [10, 11, 12], column: ["x", "x", "y"]}
    found = rw.audit(TRAIN, TEST, items=items)
    assert found["L15"].said.endswith("share their  [2J<b>| with another")
    assert r"share their  \[2J\<b\>\| with" in found.export("markdown")


def test_a_finding_that_is_too_wide_goes_on_below(monkeypatch):
    found = rw.audit(TRAIN, TEST)
    wide = found.text("full").splitlines()
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "72")
    narrow = found.text("full").splitlines()
    assert 80 >= max(map(len, wide)) > 72 >= max(map(len, narrow))
    assert " ".join(" ".join(narrow).split()) == " ".join(" ".join(wide).split())


@pytest.mark.parametrize("parts", [(None, None), ({1: [2, 3]}, None), (None, {1: [2, 3]})])
def test_a_part_that_is_missing(parts):
    with pytest.raises(ParameterError, match=r"an audit needs the (train|test) part"):
        rw.audit(*parts)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [([1, 1, 1, 2, 2, 7], 9 / 4), ([1, 1, 1, 3], 3), ([1, 5], 0), ([2, 3], 0), ([2, 1], 0.5)],
)
def test_ids_without_a_row_are_estimated_as_by_chao(counts, expected):
    """Of f ids with one row and g with two f² / 2g; f (f − 1) / 2 where none has two."""
    assert _unseen(pl.Series(counts)) == expected


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([25] * 4 + [26] * 3 + [27] * 2 + [28, 60], 7),  # steps of 2: seven ids, then three
        ([25] * 1 + [26] * 1 + [27] * 4 + [28] * 4 + [60], 2 * 2 / 8),
        ([3] * 6 + [4] * 8 + [9], 6 * 6 / 8),  # steps of 1
        ([3] * 6 + [5] * 8, 0),  # no second step, and a narrow distribution
        ([1] * 6 + [2] * 3, 0),  # nothing is below one
        ([3] * 6 + [4] * 3 + [6], 6),  # twice the least is wide enough
    ],
)
def test_missing_ids_below_a_cut_go_on_as_counts_fall(counts, expected):
    assert _missing_below(np.array(counts)) == expected


def test_places_among_candidates_are_told_in_numbers():
    """Of lists of 3 and 5 candidates: in random order a relative place has mean 1/2 and variance (n + 1) / 12 (n − 1)."""
    train = pl.DataFrame({"user": [1, 2, 3], "item": [9, 9, 9]})
    test = pl.DataFrame({"user": [1, 2, 3], "item": [0, 2, 4]})
    candidates = pl.DataFrame(
        [(user, item) for user, n in ((1, 5), (2, 3), (3, 5)) for item in range(n)],
        schema=["user", "item"],
        orient="row",
    )
    found = rw.audit(train, test, candidates=candidates)["L17"]
    places = np.array([0, 2 / 2, 4 / 4])
    spread = 6 / (12 * 4) + 4 / (12 * 2) + 6 / (12 * 4)
    assert found.value == pytest.approx((places - 0.5).sum() / spread**0.5)
    chance = (1 / 5 + 1 / 3 + 1 / 5) / 3
    assert (
        f"33.3% stand first, 66.7% last; by chance {chance:.1%} each; mean place 0.667"
        in found.said
    )
    assert "of 3 positives among 13 candidates of 3 users" in found.said


def test_heavy_targets_are_told_in_numbers():
    train = pl.DataFrame({"user": range(20), "item": 9})
    test = pl.DataFrame({"user": [0] * 6 + [1] * 2 + [2, 3], "item": range(10)})
    assert (
        "test rows per user: median 1.5, most 6 (60.00% of 10 rows of 4 users)"
        in rw.audit(train, test)["L20"].said
    )
