"""What L13, L15 and L18 compute of ids, sets of items and lists, with numbers worked by hand."""

from __future__ import annotations

import math
from datetime import date, datetime

import numpy as np
import polars as pl
import pytest

from rankwise import audit
from rankwise.splits import audit_copies
from rankwise.splits.audit_copies import _listed_twice, _read_histories
from rankwise.splits.audit_features import (
    _agreement,
    _Compared,
    _equals,
    _is_answer,
    _is_enough,
    _knows_moments,
    _knows_who,
    _side,
    _statistic,
    _Statistics,
    _sums,
    _ticks,
)
from rankwise.splits.audit_lists import (
    _follows,
    _in_order,
    _reached,
    _recall,
    _sample,
    _sides,
    _unlisted,
)
from rankwise.splits.audit_parts import Limits, Parts

NAN = math.nan
DAY = 86_400
YEARS = 20_000 * DAY


def parts_of(train, test, *, per_second=1.0, extra=None, **others):
    """Return parts from rows of user, item and any time or relevance."""
    return Parts(train, test, "none", False, Limits(), per_second, {}, extra or {}, False, **others)


def rows(pairs, **columns):
    return pl.DataFrame(pairs, ["user", "item"], orient="row").with_columns(**columns)


TRAIN = rows(
    [(1, 5), (1, 6), (2, 5)], relevance=pl.Series([1.0, 4.0, 3.0]), time=pl.Series([1, 2, 3])
)
TEST = rows(
    [(1, 7), (2, 6), (3, 6)], relevance=pl.Series([5.0, 2.0, None]), time=pl.Series([4, 5, 6])
)


def test_counts_and_mean_ratings_of_ids():
    ids = pl.Series("item", [6, 5, 7, 9])
    sums = {"train": _sums(TRAIN, ids, "item", True), "test": _sums(TEST, ids, "item", True)}
    assert [values.tolist() for values in sums["train"]] == [
        [1, 2, 0, 0],
        [1, 2, 0, 0],
        [4, 4, 0, 0],
    ]
    assert [values.tolist() for values in sums["test"]] == [
        [2, 0, 1, 0],
        [1, 0, 1, 0],
        [2, 0, 5, 0],
    ]
    assert [values.tolist() for values in _sums(TEST, ids, "item", False)[1:]] == [[0] * 4, [0] * 4]
    assert _statistic(sums, ["train", "test"], "count").tolist() == [3, 2, 1, 0]
    means = _statistic(sums, ["train", "test"], "mean rating")
    assert means[:3].tolist() == [3.0, 2.0, 5.0]
    assert np.isnan(means[3])


def test_ratings_that_are_no_numbers_do_not_count():
    odd = rows([(1, 5), (2, 5), (3, 5)], relevance=pl.Series([NAN, math.inf, 2.0]))
    n, rated, total = _sums(odd, pl.Series("item", [5]), "item", True)
    assert (n.tolist(), rated.tolist(), total.tolist()) == ([3], [1], [2])


def test_statistics_are_of_test_alone_and_with_every_choice_of_known_parts():
    parts = parts_of(TRAIN, TEST, validation=TRAIN[:1])
    found = _Statistics.read(parts, pl.Series("item", [5, 6, 7, 9]), "item")
    assert found.rows.tolist() == [0, 1, 2]  # no part has item 9
    names = ["train and test", "train and validation and test", "test"]
    assert [one.name for one in found.compared] == [
        f"{what} over {name}" for what in ("count", "mean rating") for name in names
    ]
    assert [one.is_total for one in found.compared] == [True, True, False] * 2
    assert [one.leaked.tolist() for one in found.compared[:3]] == [[2, 3, 1], [3, 3, 1], [0, 2, 1]]
    assert [allowed.tolist() for allowed in found.compared[0].allowed] == [[2, 1, 0], [3, 1, 0]]
    without = parts_of(TRAIN.drop("relevance"), TEST)
    names = [one.name for one in _Statistics.read(without, pl.Series("item", [5]), "item").compared]
    assert names == ["count over train and test", "count over test"]


def test_the_side_of_a_pair_is_that_of_the_larger():
    assert _side(np.array([1.0, 3.0, 3.0, NAN]), [0, 1, 2, 0], [1, 2, 0, 3])[:3].tolist() == [
        -1,
        0,
        1,
    ]
    assert np.isnan(_side(np.array([1.0, NAN]), [0], [1])[0])


def compared(leaked, allowed, pairs, tested=True):
    leaked, allowed = np.array(leaked, dtype=float), [np.array(one, dtype=float) for one in allowed]
    first, second = (np.array(ids) for ids in zip(*pairs, strict=True))
    sides = [_side(values, first, second) for values in allowed]
    side = _side(leaked, first, second)
    return _Compared(
        "count", leaked, allowed, True, (first, second), side, sides, np.full(len(first), tested)
    )


@pytest.mark.parametrize(
    ("column", "equal"),
    [([3, 5, 2], True), ([3.0059, 4.9941, 2], True), ([3.0061, 5, 2], False), ([NAN, 5, 2], False)],
)
def test_a_column_is_a_statistic_up_to_two_decimals(column, equal):
    statistic = compared([3, 5, 2], [[1, 2, 2]], [(0, 1)])
    assert _equals(np.array(column, dtype=float), statistic) is equal


@pytest.mark.parametrize(
    ("allowed", "equal"),
    [
        ([3, 2, 2], False),  # one id differs from training
        ([1, 2, 2], True),
        ([2.982, 5.018, 2], False),  # within three times the rounding
        ([2.981, 5.019, 2], True),
        ([NAN, NAN, 2], True),
    ],
)
def test_a_column_that_training_may_be_is_no_leak(allowed, equal):
    assert _equals(np.array([3.0, 5.0, 2.0]), compared([3, 5, 2], [allowed], [(0, 1)])) is equal


def test_missing_values_equal_missing_values():
    assert _equals(np.array([NAN, 5.0, 2.0]), compared([NAN, 5, 2], [[1, 2, 1]], [(1, 2)]))


def chain(n):
    return [(at, at + 1) for at in range(n - 1)]


def test_a_column_agrees_with_a_statistic_where_training_is_silent():
    statistic = compared(range(12), [[0] * 12], chain(12))
    column = np.arange(12.0)
    assert _agreement(column**3, statistic, 0.95) == 1.0
    assert _agreement(-column, statistic, 0.95) == 1.0  # the reverse order tells as much
    assert _agreement(column * 0, statistic, 0.95) == 0.0
    assert (
        _agreement(column, compared(range(12), [range(12)], chain(12)), 0.95) == 0.0
    )  # training tells it all
    assert _agreement(column, compared(range(12), [[0] * 12], chain(12), tested=False), 0.95) == 0.0
    swapped = column.copy()
    swapped[[5, 6]] = swapped[[6, 5]]  # one of eleven pairs
    assert _agreement(swapped, statistic, 0.95) == 0.0
    assert _agreement(swapped, statistic, 0.9) == pytest.approx(10 / 11)
    gaps = np.where(column == 11, NAN, column)  # ten pairs are left
    assert _agreement(gaps, statistic, 0.95) == 1.0


def test_ten_ids_above_and_ten_below_are_enough():
    for n, enough in ((11, True), (10, False)):
        statistic = compared(range(n), [[0] * n], chain(n))
        all_pairs = np.ones(n - 1, dtype=bool)
        side = _side(np.arange(n), *statistic.pairs)
        assert _is_enough(all_pairs, side, statistic) is enough
        assert (_agreement(np.arange(n * 1.0), statistic, 0.95) > 0) is enough


def test_training_in_reverse_decides_where_most_pairs_are_reversed():
    up = compared([0, 1, 2, 3], [[3, 2, 1, 0]], chain(4))
    side = _side(np.array([0.0, 1, 2, 3]), *up.pairs)
    assert (
        up.telling(side, 0.95).tolist() == [False] * 3
    )  # training in reverse is what the column is
    mixed = compared([0, 1, 2, 3], [[3, 2, 5, 0]], chain(4))
    assert mixed.telling(side, 0.95).tolist() == [True, False, True]
    assert mixed.telling(side, 2 / 3).tolist() == [False, True, False]
    assert mixed.telling(side * [1, 0, 0], 1.5).tolist() == [True, False, False]


def test_lists_are_in_order_of_rank_else_of_score_else_as_they_stand():
    lists = rows([(1, 5), (2, 6), (1, 7), (1, 8)])
    places = _in_order(lists)
    assert places.rows() == [(1, 5, 0), (2, 6, 0), (1, 7, 1), (1, 8, 2)]
    ranked = _in_order(lists.with_columns(rank=pl.Series([3, 1, 2, 1])))
    assert dict(ranked.select("item", "place").rows()) == {8: 0, 7: 1, 5: 2, 6: 0}
    scored = _in_order(lists.with_columns(score=pl.Series([0.1, 0.5, 0.2, 0.2])))
    assert dict(scored.select("item", "place").rows()) == {7: 0, 8: 1, 5: 2, 6: 0}


def test_recall_counts_places_that_the_audited_lists_have():
    targets = rows([(1, 5), (1, 6), (2, 7), (3, 8)], places=pl.Series([2, 2, 1, 0]))
    lists = rows(
        [(1, 9), (1, 5), (1, 6), (2, 7), (2, 5), (3, 8)], place=pl.Series([0, 1, 2, 0, 1, 0])
    )
    assert _recall(targets, lists) == (1 / 2 + 1 + 0) / 3


@pytest.mark.slow
@pytest.mark.parametrize(("n", "among"), [(1999, "1,999"), (2000, "2,000"), (2001, "2,000")])
def test_neighbours_are_among_the_two_thousand_most_popular_items(n, among):
    """Every item has one row, and the first user has all: each is a neighbour of each."""
    history = rows([(0, item) for item in range(n)])
    parts = parts_of(history, rows([(0, n)]), per_second=None)
    targets = rows([(0, n)], places=10)
    assert [*_reached(parts, targets)] == [
        "of the 10 most popular in test",
        f"of item neighbours among {among} items",
    ]


@pytest.mark.parametrize(
    ("n", "expected"), [(3, [0, 1, 2]), (1000, range(1000)), (1999, range(0, 1999, 2))]
)
def test_a_sample_of_users_is_spread_over_their_ids(n, expected):
    users = pl.Series(range(n)).sample(fraction=1, shuffle=True, seed=1)
    assert _sample(pl.concat([users, users])).to_list() == [*expected]


def test_pairs_are_ordered_by_counts():
    counts = rows([(1, 5), (2, 5), (1, 6)])
    pairs = pl.DataFrame({"above": [5, 6, 5, 9, 8], "below": [6, 5, 9, 6, 9]})
    assert _sides(pairs, counts).to_list() == [1, -1, 1, -1, 0]


def test_popular_items_in_no_list_stand_below_the_listed():
    parts = parts_of(TRAIN, TEST)
    assert sorted(_unlisted(parts, pl.Series([5])).rows()) == [(5, 6), (5, 7)]
    assert sorted(_unlisted(parts, pl.Series([5, 6])).rows()) == [(5, 7), (6, 7)]


@pytest.mark.parametrize(("n", "pairs"), [(200, 200), (201, 0)])
def test_lists_of_more_than_two_hundred_items_are_of_no_popularity(n, pairs):
    assert (
        len(_unlisted(parts_of(rows([(0, 1000)]), rows([(0, 1000)])), pl.Series(range(n)))) == pairs
    )


def test_two_hundred_popular_items_of_training_and_of_test_stand_below_the_listed():
    train, test = (
        rows([(user, first + item) for item in range(201) for user in range(1 + (item < 200))])
        for first in (0, 500)
    )
    below = _unlisted(parts_of(train, test), pl.Series([9999]))["below"]
    assert sorted(below) == [*range(200), *range(500, 700)]


def test_lists_follow_the_counts_of_test_where_training_is_otherwise():
    """Six items by rising count in training and by falling count in test, in one list for all users."""
    items = range(5)
    train = rows([(at, item) for item in items for at in range(item + 1)], time=0)
    test = rows([(at, item) for item in items for at in range(5 - item)], time=1)
    lists = rows(
        [(user, item) for user in range(3) for item in items], place=pl.Series([*items] * 3)
    )
    assert _follows(parts_of(train, test, per_second=None), lists) == (1.0, 1.0, 10)
    backwards = lists.with_columns(place=4 - pl.col("place"))
    assert _follows(parts_of(train, test, per_second=None), backwards) == (0.0, 0.0, 10)
    tied = parts_of(train, pl.concat([test, rows([(9, 4)], time=1)]), per_second=None)
    assert _follows(tied, lists) == (
        0.0,
        0.0,
        0,
    )  # nine pairs that counts in test order are too few
    short = lists.filter(pl.col("place") < 4)
    assert _follows(parts_of(train, test, per_second=None), short) == (0.0, 0.0, 0)
    same = _follows(parts_of(test, test, per_second=None), lists)
    assert same == (1.0, 0.0, 0)  # training orders no pair otherwise


def timed(n, first):
    return rows(
        [(at, at) for at in range(n)], time=pl.Series([first + at * DAY for at in range(n)])
    )


@pytest.mark.parametrize(("n_users", "limited"), [(19, False), (20, True)])
def test_lists_of_twenty_test_users_have_a_limit(n_users, limited):
    train = rows([(user, user % 30) for user in range(90)])
    test = rows([(user, (user * 7 + 1) % 30) for user in range(n_users)])
    perfect = {user: [(user * 7 + 1) % 30] for user in range(n_users)}
    found = audit(train, test, recommendations=perfect)["L18"]
    assert ("too few users for a limit" in found.said) != limited
    assert found.status == ("warn" if limited else "pass")


@pytest.mark.parametrize(("n_days", "limited"), [(19, False), (20, True)])
def test_a_test_of_twenty_days_has_a_limit_for_the_busiest(n_days, limited):
    busy = [(user, 0, 0) for user in range(50)]
    days = [(100 + day, 0, day * DAY) for day in range(n_days)]
    test = pl.DataFrame([*busy, *days], ["user", "item", "timestamp"], orient="row")
    found = audit(test.with_columns(item=1), test)["L20"]
    share = 51 / (50 + n_days)
    assert found.said.endswith(
        f"; busiest of {n_days} days {share:.2%}"
        + ("" if limited else ", too few days for a limit")
    )
    assert (found.status, found.value) == (
        ("warn", share) if limited else ("pass", 1 / (50 + n_days))
    )


@pytest.mark.parametrize(("n_new", "status"), [(2, "pass"), (3, "warn")])
def test_three_ids_of_test_alone_that_are_the_largest_were_numbered_with_it(n_new, status):
    train = rows([(user, user % 3) for user in range(30)])
    test = rows([(user, 0) for user in range(30, 30 + n_new)])
    found = audit(train, test)["L4"]
    assert (found.status, found.value) == (status, n_new if status == "warn" else 0)


@pytest.mark.parametrize(("apart", "status"), [(100, "pass"), (101, "warn")])
def test_units_are_more_than_a_hundred_times_apart(apart, status):
    """The last of the seconds and the first of the milliseconds: their medians are a thousand times apart."""
    seconds = [1000 + at for at in range(99)] + [10_000]
    thousands = [10_000 * apart] + [1_050_000 + at for at in range(99)]
    times = sorted([*seconds, *thousands])
    train = rows([(at, 0) for at in range(200)], timestamp=pl.Series(times))
    test = rows([(1, 1)], timestamp=1_060_000)
    assert audit(train, test, time_unit="s")["L22"].status == status


def test_dates_are_moments_and_numbers_are_if_they_lie_among_the_times():
    parts = parts_of(timed(10, YEARS), timed(5, YEARS + 10 * DAY))
    first, end = YEARS, YEARS + 14 * DAY
    spread = end - first
    assert _ticks(parts, pl.Series([date(1970, 1, 2)])).to_list() == [DAY]
    in_ms = parts_of(timed(3, 0), timed(3, 0), per_second=1000.0)
    assert _ticks(in_ms, pl.Series([datetime(1970, 1, 1, 0, 0, 1), None])).to_list() == [
        1000.0,
        None,
    ]
    assert _ticks(parts, pl.Series([first - spread, None, end + spread])).to_list() == [
        first - spread,
        None,
        end + spread,
    ]
    for values in ([first - spread - 1], [end + spread + 1, first], [], ["a"], [True]):
        assert _ticks(parts, pl.Series(values)) is None
    assert (
        _ticks(parts_of(timed(10, 0), timed(5, 10 * DAY)), pl.Series([5])) is None
    )  # steps, not moments
    assert (
        _ticks(
            parts_of(timed(10, YEARS), timed(5, YEARS), per_second=None),
            pl.Series([date(2020, 1, 1)]),
        )
        is None
    )


@pytest.mark.parametrize(("n", "late", "told"), [(10, 6, True), (10, 5, False), (9, 9, False)])
def test_moments_in_the_test_period_tell_of_it(n, late, told):
    parts = parts_of(timed(n, YEARS), timed(n, YEARS + n * DAY))
    end = YEARS + (2 * n - 1) * DAY
    moments = [end if at < late else YEARS + at * DAY for at in range(n)]
    frame = pl.DataFrame({"user": range(n), "seen": moments})
    found = _knows_moments(parts, frame, "user", "seen")
    expected = f"of {n} with rows on both sides {late} moments lie in the test period"
    assert found == (expected if told else None)
    if told:  # what is later than the test period is of no test row
        after = pl.DataFrame({"user": range(n), "seen": [moment + 1 for moment in moments]})
        assert _knows_moments(parts, after, "user", "seen") is None


@pytest.mark.parametrize(("n", "told"), [(85, True), (84, False)])
def test_a_column_tells_who_has_test_rows_if_enough_are_compared(n, told):
    """Every second one has a test row: five groups in time of 8 and 9 ids weigh 5 · 72 / 18 = 20."""
    train = timed(n, YEARS)
    parts = parts_of(train, rows([(at, 0) for at in range(0, n, 2)], time=YEARS + n * DAY))
    flag = pl.DataFrame({"user": range(n), "x": [at % 2 == 0 for at in range(n)]})
    said = (
        f"which of {n} trained users have test rows, in 100% of pairs that training does not tell"
    )
    for column in (flag, flag.with_columns(~pl.col("x")), flag.with_columns(x=pl.col("x") * 2.5)):
        assert _knows_who(parts, column, "user", "x") == (said if told else None)
    assert _knows_who(parts, flag.with_columns(x=pl.col("user") // 2 % 2), "user", "x") is None
    assert _knows_who(parts, flag.with_columns(x=pl.lit("a")), "user", "x") is None
    last = [
        at for at in range(n) if at % 17 > 8
    ]  # in each group those that were seen last, as time tells
    parts = parts_of(train, rows([(at, 0) for at in last], time=YEARS + n * DAY))
    assert _knows_who(parts, flag.with_columns(x=pl.col("user").is_in(last)), "user", "x") is None


@pytest.mark.parametrize(("hits", "answers"), [(10, True), (9, False)])
def test_ten_test_items_in_a_column_are_answers(hits, answers):
    n = 12
    train = rows([(at, 100 + at) for at in range(n)])
    test = rows([(at, at) for at in range(n)])
    parts = parts_of(train, test, per_second=None)
    values = [at if at < hits else 500 + at for at in range(n)]
    frame = pl.DataFrame(
        {
            "user": range(n),
            "favourite": values,
            "name": [str(value) for value in values],
            "flag": True,
        }
    )
    for column in ("favourite", "name"):
        assert _is_answer(parts, frame, "user", column) is answers
    assert not _is_answer(parts, frame, "user", "flag")
    known = parts_of(pl.concat([train, test]), test, per_second=None)
    assert not _is_answer(known, frame, "user", "favourite")  # they stand in the own training rows
    popular = parts_of(train, test.with_columns(item=pl.lit(0)), per_second=None)
    same = frame.with_columns(favourite=pl.lit(0))
    assert not _is_answer(popular, same, "user", "favourite")  # as of anybody


def histories(sets):
    frame = rows([(user, item) for user, items in enumerate(sets) for item in items])
    return _read_histories(parts_of(frame, frame[:0], per_second=None))


def test_sets_of_items_are_as_improbable_as_their_items_are_rare():
    found = histories([[1, 2], [1], [1, 3, 3], [1, 2, 4]])
    assert found.sizes.tolist() == [2, 1, 2, 3]
    assert found.users["items"].to_list() == [2, 1, 2, 3]
    expected = [-math.log(2 / 4), 0.0, -math.log(1 / 4), -math.log(2 / 4 * 1 / 4)]
    assert found.surprise.tolist() == pytest.approx(expected)
    assert found._explained() == pytest.approx(math.log(4000))
    assert found.sums[0][0] != found.sums[0][2]


def test_the_jaccard_index_of_two_sets():
    found = histories([[1, 2, 3], [1, 2, 4], [9], [1, 2, 3]])
    pairs = np.array([0, 0, 0, 1, 2]), np.array([1, 3, 2, 3, 1])
    assert found._jaccard(*pairs).tolist() == [0.5, 1.0, 0.0, 0.5, 0.0]
    assert found._jaccard(pairs[0][:0], pairs[1][:0]).tolist() == []


@pytest.mark.parametrize(("n_items", "copies"), [(2, 0), (3, 2)])
def test_three_equal_items_beyond_chance_are_a_copy(n_items, copies):
    others = [[100 + 3 * user + at for at in range(3)] for user in range(400)]
    found = histories([[*range(n_items)], [*range(n_items)], *others])
    assert found.equal().sum() == copies
    assert found.equal()[:2].all() == bool(copies)
    common = histories([[1, 2, 3]] * 5 + [[1, 2, 4]])
    assert not common.equal().any()  # by chance: all have nearly the same


@pytest.mark.parametrize(("n_others", "copies"), [(10, 0), (9, 2)])
def test_a_set_that_chance_gives_once_in_a_thousand_times_is_no_copy(n_others, copies):
    """Of 300 users 3, 3 and 10 have the items: 3 · 3 · 10 / 300³ is a thousandth of 1 / 300, and with 9 it is less."""
    sets = [[1, 2, 3], [1, 2, 3], [1, 2], *([3] for _ in range(n_others - 2))]
    found = histories([*sets, *([100 + user] for user in range(300 - len(sets)))])
    assert found.equal().sum() == copies


@pytest.mark.parametrize(
    ("shared", "size", "near"), [(10, 10, True), (9, 10, False), (19, 20, True), (18, 20, False)]
)
def test_sets_are_near_from_a_jaccard_index_of_nine_tenths(shared, size, near):
    """Of two sets of 20 that share 19, the index is 19 / 21; of two of 10 that share 9, it is 9 / 11."""
    twin = [*range(shared), *range(1000, 1000 + size - shared)]
    others = [[2000 + 10 * user + at for at in range(10)] for user in range(100)]
    found, is_capped = histories([[*range(size)], twin, *others]).near()
    assert (found[:2].all(), found[2:].any(), is_capped) == (near, False, False)


def test_nine_items_are_not_compared_with_nearly_equal_ones():
    nine, one = [*range(9)], [*range(9)]
    others = [[2000 + 10 * user + at for at in range(10)] for user in range(100)]
    found, _ = histories([nine, one, *others]).near()
    assert not found.any()


def test_comparing_stops_after_so_many_items(monkeypatch):
    sets = [[*range(10)], [*range(10)]] + [
        [2000 + 10 * user + at for at in range(10)] for user in range(100)
    ]
    for work, capped in ((10, False), (9, True)):
        monkeypatch.setattr(audit_copies, "_WORK", work)
        found, is_capped = histories(sets).near()
        assert (is_capped, found[:2].any()) == (capped, not capped)


def titles(names, **columns):
    frame = pl.DataFrame({"item": range(len(names)), "name": names}).with_columns(**columns)
    items = type("Items", (), {"frame": frame})
    return _listed_twice(parts_of(TRAIN, TEST, extra={"items": items}))


@pytest.mark.parametrize("unit", ["s", "ms", "us", "dates"])
def test_features_may_have_another_clock_than_the_parts(unit):
    """Known a second before the first test row of the user, at it, and a second after it."""
    test = rows([(1, 5), (1, 6), (2, 5)], timestamp=pl.Series([YEARS + 10, YEARS + 20, YEARS + 30]))
    train = rows([(1, 1), (2, 1)], timestamp=pl.Series([YEARS, YEARS]))
    known = pl.Series("timestamp", [YEARS + 9, YEARS + 10, YEARS + 11, YEARS + 30, YEARS + 31])
    factor = {"s": 1, "ms": 1000, "us": 10**6, "dates": 10**6}[unit]
    times = (known * factor).cast(pl.Datetime("us")) if unit == "dates" else known * factor
    features = pl.DataFrame({"user": [1, 1, 1, 2, 2], "x": range(5), "timestamp": times})
    found = audit(train, test, features=features)
    assert (
        found["L13"].said
        == "2 of 5 features are later than the first test row of their user or item"
    )
    assert (found["L13"].status, found.rows("L13")["x"].to_list()) == ("fail", [2, 4])


def test_a_column_of_mostly_different_texts_is_the_title():
    twice, said = titles(["A b", "a-B!", "c", "...", "?"])
    assert twice["item"].to_list() == [0, 1]
    assert said == "; 2 of 5 items share their name with another"
    nothing, said = titles(["a", "a", "b", "b"])  # half of them differ: categories
    assert (len(nothing), said) == (0, "; none of 1 columns of items is a title")
    assert titles(["a", "a", "b"])[1] == "; 2 of 3 items share their name with another"
