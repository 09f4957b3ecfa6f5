"""Each check warns above its limit, and not at it: small splits whose numbers are known."""

from __future__ import annotations

import polars as pl
import pytest

import rankwise as rw
from rankwise.splits.audit_parts import Limits

DAY = 86_400


def rows(*triples):
    return pl.DataFrame(list(triples), ["user", "item", "timestamp"], orient="row")


def untimed(*pairs):
    return pl.DataFrame(list(pairs), ["user", "item"], orient="row")


def torn():
    """Two of four test users are cut between rows of equal time."""
    train = rows(*((user, 0, 10) for user in range(4)))
    return train, rows((0, 1, 10), (1, 1, 10), (2, 1, 11), (3, 1, 12))


def copied():
    """Two of 302 users have the same ten items."""
    sets = [
        [*range(10)],
        [*range(10)],
        *([1000 + 10 * user + at for at in range(10)] for user in range(300)),
    ]
    pairs = [(user, item) for user, items in enumerate(sets) for item in items]
    return untimed(*pairs), untimed((0, 0))


def busy():
    """Ten of 30 test rows are of one day, and the others of a day each."""
    days = [*(0 for _ in range(10)), *range(1, 21)]
    return rows((0, 0, 0)), rows(*((user, 1, day * DAY) for user, day in enumerate(days)))


def lifted():
    """The top ten of the last tenth of training hit 100 of 150 test rows, and those of all training 50."""
    early = [(user, user % 10, 0) for user in range(260)]
    late = [(user, 10 + user % 10, 1) for user in range(40)]
    return rows(*early, *late), rows(
        *((user, 10 + user % 10 if user < 100 else user % 10, 2) for user in range(150))
    )


def filtered():
    """Over both parts ten users have three rows, five have four, and one has six: ten are missing at two."""
    sizes = [3] * 10 + [4] * 5 + [6]
    pairs = [(user, 100 * user + at) for user, size in enumerate(sizes) for at in range(size)]
    return untimed(*pairs[1:]), untimed(pairs[0])


def numbered():
    """Items from 0 to 6 without a gap: four have one row, and one has two, so 4² / 2 = 8 have none."""
    counts = [3, 1, 1, 1, 1, 2, 3]
    pairs = [(user, item) for item, n in enumerate(counts) for user in range(n)]
    return untimed(*(pair for pair in pairs if pair[1] != 2)), untimed((0, 2))


CASES = {
    "L16": (torn, "torn", 0.5),
    "L15": (copied, "same_history", 2 / 302),
    "L20": (busy, "busy_day", 10 / 30),
    "L10": (lifted, "recent_lift", 2.0),
    "L12": (filtered, "missing", 10.0),
    "L4": (numbered, "unseen", 8.0),
}


@pytest.mark.parametrize("code", CASES)
def test_a_check_warns_above_its_limit_and_not_at_it(code):
    make, name, value = CASES[code]
    train, test = make()
    for limit, status in ((value, "pass"), (value * (1 - 1e-9), "warn")):
        found = rw.audit(train, test, repeats=True, limits=Limits(**{name: limit}))[code]
        assert found.status == status, found.said


def test_a_heavy_user_has_more_rows_than_his_share_and_than_the_mean_allow():
    """Of 50 rows of ten users one has 32: a share of 0.64, and 6.4 times the mean."""
    test = untimed(*((0, item) for item in range(32)), *((1 + at // 2, at) for at in range(18)))
    for limits, status in (
        (Limits(heavy=0.64, heavy_mean=0), "pass"),
        (Limits(heavy=0.639, heavy_mean=0), "warn"),
        (Limits(heavy=0, heavy_mean=6.4), "pass"),
        (Limits(heavy=0, heavy_mean=6.39), "warn"),
        (Limits(heavy=0.639, heavy_mean=6.5), "pass"),
    ):
        assert rw.audit(untimed((0, 99)), test, limits=limits)["L20"].status == status


@pytest.mark.parametrize(("more", "status"), [(9, "pass"), (10, "warn")])
def test_a_lift_within_three_standard_errors_may_be_chance(more, status):
    """Rows that the top of late training hits, and that of all training does not: 9 = 3 · √9, and 10 is above 3 · √10."""
    train = rows(
        *((user, user % 10, 0) for user in range(260)),
        *((user, 10 + user % 10, 1) for user in range(40)),
    )
    test = rows(
        *((user, 10 + user % 10, 2) for user in range(more)),
        *((50 + user, 77 + user, 2) for user in range(20)),
    )
    found = rw.audit(train, test)["L10"]
    assert (found.status, "which may be chance (within 3 standard errors)" in found.said) == (
        status,
        status == "pass",
    )


def perfect(n_popular):
    """Lists of their test item alone: of ten users some share one item, and the others have one each."""
    of_user = [0 if user % 10 < n_popular else 1 + user for user in range(100)]
    train = untimed(*((user, 500 + at) for user in range(100) for at in range(30)))
    return train, untimed(*enumerate(of_user)), {user: [item] for user, item in enumerate(of_user)}


def test_lists_are_too_good_above_a_ratio_and_too_near_above_a_share_of_the_way():
    train, test, lists = perfect(4)
    found = rw.audit(train, test, recommendations=lists)["L18"]
    best = 1 / found.value
    assert found.value == pytest.approx(1 / 0.4)  # lists have one place: the popular item
    for limits, status in (
        (Limits(too_good=found.value, too_near=1), "pass"),
        (Limits(too_good=found.value * (1 - 1e-9), too_near=1), "warn"),
    ):
        assert rw.audit(train, test, recommendations=lists, limits=limits)["L18"].status == status
    half = lists | {user: [999] for user in range(50)}  # the way from 0.4 to 1 that these have gone
    gain = (0.5 - best) / (1 - best)
    for limits, status in (
        (Limits(too_good=99, too_near=gain * (1 + 1e-9)), "pass"),
        (Limits(too_good=99, too_near=gain * (1 - 1e-9)), "warn"),
    ):
        assert rw.audit(train, test, recommendations=half, limits=limits)["L18"].status == status


@pytest.mark.parametrize(("limit", "status"), [(0.6, "pass"), (0.599, "fail")])
def test_answers_are_told_above_a_share_of_the_users(limit, status):
    """Twelve of twenty users have their test item in a column, and the others an item of nobody."""
    train = untimed(*((user, 100 + user) for user in range(20)))
    test = untimed(*((user, user) for user in range(20)))
    users = pl.DataFrame(
        {"user": range(20), "likes": [user if user < 12 else 900 + user for user in range(20)]}
    )
    by_chance = 12 / 20**2  # the values of the twelve belong to one of twenty each
    limits = Limits(answers=limit - by_chance)
    assert rw.audit(train, test, users=users, limits=limits)["L13"].status == status
