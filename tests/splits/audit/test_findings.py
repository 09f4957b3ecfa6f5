"""The finding of each check in words: every number computed again from the rows, one by one."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import polars as pl
import pytest
from scipy.spatial.distance import jensenshannon
from scipy.stats import spearmanr

import rankwise as rw
from rankwise.splits.audit_checks import _divergence
from rankwise.splits.audit_parts import Limits
from rankwise.splits.audit_time import _span

DAY = 86400
NAMES = ["user", "item", "timestamp", "session_id"]
RNG = np.random.default_rng(5)


def rows(user, n, n_items, first, last, session):
    items, times = RNG.permutation(n_items)[:n], np.sort(RNG.integers(first * DAY, last * DAY, n))
    return [(user, int(i), int(t), session(int(t))) for i, t in zip(items, times, strict=True)]


TRAIN = [
    row for u in range(12) for row in rows(u, 6, 30, 0, 40, lambda t, u=u: 10 * u + t // (5 * DAY))
]
TEST = [row for u in range(14) for row in rows(u, 2, 34, 38, 60, lambda t, u=u: 10 * u + 9)]
VALIDATION = [row for u in range(6) for row in rows(u, 1, 30, 36, 40, lambda t, u=u: 500 + u)]
TRAIN, TEST = [*TRAIN, *TRAIN[:2]], [*TEST, TRAIN[20]]
FRAMES = [pl.DataFrame(part, schema=NAMES, orient="row") for part in (TRAIN, TEST, VALIDATION)]
RUNS = pl.DataFrame(
    {
        "run": ["a", "a", "b", "b"],
        "part": ["test"] * 3 + ["validation"],
        "purpose": ["report", None, "stop", "select"],
    }
)
ITEMS = pl.DataFrame(
    {"item": range(34), "title": [f"film {i // 2 if i < 4 else i}" for i in range(34)]}
)
LISTS = {u: [int(i) for i in RNG.permutation(34)[:8]] for u in range(14)}
CANDIDATES = {
    u: [*dict.fromkeys(i for v, i, *_ in TEST if u == v), *range(40, 45)] for u in range(14)
}


@pytest.fixture(scope="module")
def audit():
    options = {"runs": RUNS, "items": ITEMS, "recommendations": LISTS, "candidates": CANDIDATES}
    return rw.audit(*FRAMES, **options, vocabulary={"item": range(32), "user": range(13)})


def test_rows_that_are_known_before(audit):
    pairs = {row[:2] for row in TRAIN + VALIDATION}
    events = {row[:3] for row in TRAIN + VALIDATION}
    n = sum(row[:2] in pairs for row in TEST)
    among = "among 74 training and 6 validation rows"
    assert (
        audit["L1"].said == f"{n} of 29 test rows ({n / 29:.2%}) have their user and item {among}"
    )
    n = sum(row[:3] in events for row in TEST)
    assert audit["L2"].said == f"{n} of 29 test rows are {among} with the same time"
    sessions = {row[3] for row in TRAIN + VALIDATION}
    shared = len({row[3] for row in TEST} & sessions)
    assert (
        audit["L6"].said
        == f"{shared} of {len({row[3] for row in TEST})} test sessions in training or validation"
    )


def test_validation_and_repeated_rows(audit):
    first = min(row[2] for row in TEST)
    late = sum(row[2] >= first for row in VALIDATION)
    counts = [
        sum(row[:3] in {other[:3] for other in part} for row in VALIDATION)
        for part in (TEST, TRAIN)
    ]
    said = f"of 6 validation rows {counts[0]} are in test, {counts[1]} in training, {late} not before the first test row"
    assert (audit["L5"].said, audit["L5"].status) == (said, "pass")
    again = [
        sum(n - 1 for n in Counter(row[:2] for row in part).values())
        for part in (TRAIN, TEST, VALIDATION)
    ]
    said = f"pairs of user and item that their part already has: {again[0]} of 74 train rows, "
    assert (
        audit["L21"].said == said + f"{again[1]} of 29 test rows, {again[2]} of 6 validation rows"
    )


def test_order_in_time(audit):
    times, tested = ([row[2] for row in part] for part in (TRAIN, TEST))
    first, last = min(tested), max(times)
    late, tied = sum(t > first for t in times), sum(t == first for t in times)
    said = f"of 74 training rows {late} after the first test row, {tied} at the same time; "
    assert audit["L3"].said == said + f"the parts overlap by {(last - first) / DAY:.1f} days"
    after = [sum(t > moment for t in times) / 74 for moment in tested]
    said = f"of 74 training rows, those after a test row: mean {np.mean(after):.2%}, most {max(after):.2%}"
    assert audit["L8"].said == f"{said} over 29 test rows"
    assert audit.rows("L8").height == sum(moment < last for moment in tested)
    spans = [(max(part) - min(part)) / DAY for part in (tested, times)]
    since = np.quantile(np.array(tested) - last, [0.5, 0.95]) / DAY
    said = f"29 test rows span {spans[0]:.1f} days, 74 training rows {spans[1]:.1f} days; targets lie {since[0]:.1f} days "
    assert (
        audit["L9"].said == f"{said}(median), {since[1]:.1f} days (95 %) past the end of training"
    )
    assert audit["L9"].value == pytest.approx(spans[0] / spans[1])
    cut = [
        u
        for u in range(12)
        if max(r[2] for r in TRAIN if r[0] == u) == min(r[2] for r in TEST if r[0] == u)
    ]
    assert audit["L16"].said == f"for {len(cut)} of 14 test users the order of equal times decided"
    assert audit["L22"].said.startswith(f"74 training rows have {len(set(times))} different times")


def test_items_and_users_without_training(audit):
    users, items = {row[0] for row in TRAIN}, {row[1] for row in TRAIN}
    known = {row[0] for row in TRAIN + VALIDATION}
    cold = [[row for row in TEST if row[at] not in ids] for at, ids in ((0, known), (1, items))]
    shares = [
        len({row[at] for row in some}) / len({row[at] for row in TEST})
        for at, some in enumerate(cold)
    ]
    parts = [
        f"{name} {share:.2%} ({len(some) / 29:.2%} of rows)"
        for name, share, some in zip(("users", "items"), shares, cold, strict=True)
    ]
    both = 'rankwise.evaluate(…, by=["history", "item:cold"]) shows both'
    said = f"cold in 29 test rows: {', '.join(parts)}; {both}"
    assert audit["L11"].said == said
    assert audit["L11"].value == pytest.approx(len({*cold[0], *cold[1]}) / 29)
    untrained = [{row[at] for row in TEST} - ids for at, ids in ((0, users), (1, items))]
    n = len(untrained[0] & set(range(13))) + len(untrained[1] & set(range(32)))
    assert (
        audit["L4"].said
        == f"{n} test ids without a training row are in the model's vocabulary of 45 ids"
    )
    first = {
        i: min(row[2] for row in TRAIN + TEST + VALIDATION if row[1] == i)
        for i in {r[1] for r in TRAIN + TEST + VALIDATION}
    }
    end = max(row[2] for row in TRAIN)
    new = sum(first[row[1]] > end for row in TEST) / 29
    asked = {u: min(row[2] for row in TEST if row[0] == u) for u in range(14)}
    future = sum(first.get(i, 0) > asked[u] for u, items in LISTS.items() for i in items) / 112
    said = f"{future:.2%} of 112 recommendations to test users are of items first seen after the user's test; "
    assert (
        audit["L7"].said
        == said + f"{new:.2%} of 29 test rows are of items that appear after training"
    )
    assert audit["L7"].value == pytest.approx(future)


def test_popularity(audit):
    before, after = (Counter(row[1] for row in part) for part in (TRAIN, TEST))
    items = sorted({*before, *after})
    counts = np.array([[part[i] for i in items] for part in (before, after)])
    divergence = jensenshannon(*counts, base=2) ** 2
    moment = sorted(row[2] for row in TRAIN)[
        round(0.9 * 73)
    ]  # the nearest rank of the 0.9 quantile
    recent = Counter(row[1] for row in TRAIN if row[2] >= moment)
    tops = [sorted(part, key=lambda i, part=part: (-part[i], i))[:10] for part in (recent, before)]
    hits = [sum(row[1] in top for row in TEST) / 29 for top in tops]
    said = f"counts of {len(items)} items in training and test: Jensen-Shannon divergence {divergence:.3f}, "
    said += f"Spearman {spearmanr(*counts).statistic:.3f}; the top 10 of the last tenth of training hit {hits[0]:.2%} "
    assert audit["L10"].said == f"{said}of test rows, of all training {hits[1]:.2%}"
    assert audit["L10"].value == pytest.approx(hits[0] / hits[1])
    of_user = sorted(Counter(row[0] for row in TEST).values())
    days = Counter(row[2] // DAY for row in TEST)
    said = f"test rows per user: median {np.median(of_user):g}, most {of_user[-1]} ({of_user[-1] / 29:.2%} of 29 rows of 14 users)"
    said += f"; busiest of {len(days)} days {max(days.values()) / 29:.2%}, too few days for a limit"
    assert audit["L20"].said == said


def test_logs_and_titles_and_candidates(audit):
    said = "3 evaluations on test of 4 in the log, 2 of them to select or to stop; 1 runs evaluated more than once"
    assert audit["L14"].said == said
    assert audit.rows("L14")["purpose"].to_list() == ["not said", "stop"]
    assert audit["L15"].said.endswith("; 4 of 34 items share their title with another")
    positives = [
        (CANDIDATES[u].index(i), len(CANDIDATES[u]))
        for u, i, *_ in dict.fromkeys(row[:2] for row in TEST)
    ]
    relative = [place / (n - 1) for place, n in positives]
    z = sum(r - 0.5 for r in relative) / math.sqrt(
        sum((n + 1) / (12 * (n - 1)) for _, n in positives)
    )
    said = f"of {len(positives)} positives among {sum(map(len, CANDIDATES.values()))} candidates of 14 users "
    said += f"{np.mean([r == 0 for r in relative]):.1%} stand first, {np.mean([r == 1 for r in relative]):.1%} last; by chance "
    said += f"{np.mean([1 / n for _, n in positives]):.1%} each; mean place {np.mean(relative):.3f}, z {z:.1f}"
    assert audit["L17"].said == said
    assert audit["L17"].value == pytest.approx(z)


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("L7", "cold_rows"),
        ("L8", None),
        ("L9", "test_span"),
        ("L11", "cold_rows"),
        ("L17", "candidate_z"),
        ("L20", "heavy"),
    ],
)
def test_a_check_warns_above_its_limit_and_not_at_it(audit, code, name):
    options = {"candidates": CANDIDATES, "repeats": True}
    value = abs(rw.audit(*FRAMES, **options)[code].value)
    for limit, status in ((value, "pass"), (value * (1 - 1e-9), "warn")):
        limits = Limits(
            **({name: limit} if name else {}), **({"heavy_mean": 0.0} if name == "heavy" else {})
        )
        found = rw.audit(*FRAMES, **options, limits=limits)[code]
        assert found.status == (status if name else "warn")


SPANS = {
    0: "0 s",
    119: "119 s",
    120: "2.0 minutes",
    7199: "120.0 minutes",
    7200: "2.0 hours",
    86_400: "24.0 hours",
}


@pytest.mark.parametrize(
    ("seconds", "text"),
    (
        SPANS | {172_799: "48.0 hours", 172_800: "2.0 days", -90: "-90 s", -259_200: "-3.0 days"}
    ).items(),
)
def test_spans_have_the_unit_of_which_there_are_two(seconds, text):
    assert _span(seconds) == text


def test_the_divergence_is_0_of_equal_counts_and_1_of_disjoint_ones():
    assert _divergence(np.array([2, 4]), np.array([1, 2])) == 0
    assert _divergence(np.array([2, 0]), np.array([0, 5])) == 1
    assert _divergence(np.array([1, 1]), np.array([1, 0])) == pytest.approx(
        jensenshannon([1, 1], [1, 0], base=2) ** 2
    )


@pytest.mark.parametrize(
    ("slow", "n", "warns"), [(1000, 3, True), (1, 3, False), (1000, 1, False), (150, 3, False)]
)
def test_two_units_in_one_column_are_told_by_a_gap(slow, n, warns):
    """Some rows have seconds, the others milliseconds; of 1,000 rows one is an odd date."""
    times = np.r_[np.full(n, 1_600_000) + np.arange(n), slow * 1_600_000 + np.arange(1000 - n)]
    train = pl.DataFrame({"user": range(1000), "item": 1, "timestamp": times})
    test = pl.DataFrame({"user": [1], "item": [2], "timestamp": [slow * 1_600_000 + 5000]})
    check = rw.audit(train, test, time_unit="s")["L22"]
    assert check.status == ("warn" if warns else "pass")
    if warns:
        assert (
            "; 3 of 1,001 times are about 1,000 times smaller than the others: seconds and millis"
            in check.said
        )
    one = rw.audit(train.with_columns(timestamp=5_000_000), test, time_unit="s", claim="none")[
        "L22"
    ]
    assert (one.status, one.value, one.said) == (
        "warn",
        1,
        "1,000 training rows have 1 different times: no order",
    )


def test_the_first_second_is_a_time_and_the_moment_0_is_none():
    test = pl.DataFrame({"user": [1], "item": [2], "timestamp": [1500]})
    for early, status, says in (
        (1, "warn", "; 5 of 101 times are about 1,000 times smaller"),
        (0, "pass", "times"),
    ):
        train = pl.DataFrame(
            {"user": range(100), "item": 1, "timestamp": [early] * 5 + [1000, 1001] * 47 + [1001]}
        )
        check = rw.audit(train, test, time_unit="s")["L22"]
        assert (check.status, says in check.said) == (status, True)


def test_titles_of_one_letter_are_compared_and_titles_of_signs_are_not():
    items = pl.DataFrame({"item": range(6), "title": ["a", "A!", "?", "!", "-", "b"]})
    train, test = (pl.DataFrame({"user": [1, 2], "item": own}) for own in ([0, 1], [2, 3]))
    audit = rw.audit(train, test, items=items)
    assert audit["L15"].said.endswith("; 2 of 6 items share their title with another")
    assert audit.rows("L15")["item"].to_list() == [0, 1]


def test_of_equally_popular_items_the_first_are_the_most_popular():
    """Eleven items once each: the last is left out, which is all that one of ten users has."""
    test = pl.DataFrame({"user": [0, *range(10)], "item": range(11)})
    train = pl.DataFrame({"user": range(10), "item": range(20, 30)})
    lists = {user: list(range(40, 55)) for user in range(10)}
    said = rw.audit(train, test, recommendations=lists)["L18"].said
    assert "of the 10 most popular in test 0.9000" in said


def test_pairs_whose_ids_differ_in_form_are_on_both_sides():
    """A blank, capitals, zeros in front and ``.0``: four test rows that training has, too."""
    train = {"user": ["ann", "BOB", "7", "12"], "item": ["a", "b", "c", "d"]}
    test = {"user": ["ann ", "bob", "007", "12.0", "eve"], "item": ["a", "b", "c", "d", "x"]}
    found = rw.audit(pl.DataFrame(train), pl.DataFrame(test))
    assert found["L1"].status == "fail"
    assert "4 more if ids are compared without blanks" in found["L1"].said
    assert found.rows("L1")["user"].to_list() == ["ann ", "bob", "007", "12.0"]
    plain = rw.audit(pl.DataFrame(train), pl.DataFrame({"user": ["120", "7"], "item": ["d", "x"]}))
    assert plain["L1"].status == "pass"


def test_a_pile_of_one_time_is_an_import():
    times = [*range(100, 190), *[50] * 20]
    train = pl.DataFrame(
        {"user": [at % 30 for at in range(110)], "item": range(110), "timestamp": times}
    )
    test = pl.DataFrame({"user": [1, 2], "item": [500, 501], "timestamp": [300, 301]})
    found = rw.audit(train, test)
    assert (found["L22"].status, found["L22"].value) == ("warn", 20)
    assert "20 rows of 20 users have one: an import?" in found["L22"].said
    spread = train.with_columns(timestamp=pl.Series([at % 10 for at in range(110)]))
    assert rw.audit(spread, test)["L22"].status == "pass"
