"""Every rule against the same rule in plain Python, on random tables full of ties."""

from __future__ import annotations

from collections import Counter

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import split_reference as plain
from rankwise.errors import EmptyError
from rankwise.splits import (
    GlobalTime,
    Holdout,
    KCore,
    KFold,
    LeaveOut,
    StratifiedKFold,
    SuccessiveTargets,
    TimeWindows,
    TwoStage,
    UserHoldout,
    UserKFold,
)

SHARES = st.sampled_from([0.1, 0.2, 0.25, 0.29, 0.5, 0.9])


def split_or_side(rule, table):
    """The split, or the name of the side that would be empty."""
    try:
        return rule.split(table)
    except EmptyError as error:
        return str(error)


def check(rule, table, expected):
    """Hold the test side against the expected rows; train is all the rest."""
    split = split_or_side(rule, table)
    rest = Counter(table.rows()) - expected
    if isinstance(split, str):
        assert not expected or not rest, split
        assert ("test side" in split) == (not expected and bool(rest)) or not rest
        return
    assert plain.held(table, split.masks["test"]) == expected
    assert plain.held(table, split.masks["train"]) == rest


@given(
    plain.tables(timed=False),
    st.integers(1, 3),
    st.sampled_from(["last", "random"]),
    st.integers(0, 3),
)
def test_leave_out(table, n, which, seed):
    which = which if "timestamp" in table.columns else "random"
    number = lambda rows: n if rows > n else 0  # noqa: E731
    check(LeaveOut(n, which, seed=seed), table, plain.last_rows(table, number, which, seed))


@given(plain.tables(), st.integers(1, 3), st.sampled_from(["some", "test", "drop"]))
def test_users_with_too_few_rows(table, n, short):
    few = {"some": lambda rows: rows - 1, "test": lambda rows: rows, "drop": lambda rows: 0}[short]
    expected = plain.last_rows(table, lambda rows: n if rows > n else few(rows))
    split = split_or_side(LeaveOut(n, short=short), table)
    if isinstance(split, str):
        return
    assert plain.held(table, split.masks["test"]) == expected
    sizes = {user: len(rows) for user, rows in plain.of_users(table).items()}
    assert split.found["users_too_short"] == sum(rows <= n for rows in sizes.values())
    gone = (
        Counter(row for row in table.rows() if sizes[row[0]] <= n) if short == "drop" else Counter()
    )
    rest = Counter(table.rows()) - expected - gone
    assert plain.held(table, split.masks["train"]) == rest


@given(plain.tables(timed=False), SHARES, st.sampled_from(["last", "random"]), st.integers(0, 3))
def test_share_of_each_user(table, share, which, seed):
    which = which if "timestamp" in table.columns else "random"
    number = lambda rows: min(plain.half_up(share, rows), rows - 1)  # noqa: E731
    rule = Holdout(share, "user", which, seed=seed)
    check(rule, table, plain.last_rows(table, number, which, seed))


@given(plain.tables(timed=False), SHARES, st.integers(0, 3))
def test_share_of_all_rows(table, share, seed):
    own = plain.at_random(table.rows(), seed)
    check(Holdout(share, seed=seed), table, Counter(own[: plain.half_up(share, len(own))]))


@given(plain.tables(), SHARES)
def test_one_moment_by_share(table, share):
    times = sorted(table["timestamp"])
    moment = times[len(times) - max(1, plain.half_up(share, len(times)))]
    expected = Counter(row for row in table.rows() if row[2] >= moment)
    check(GlobalTime(share=share), table, expected)


@given(plain.tables(), st.integers(0, 8), st.integers(0, 3), st.integers(5, 9))
def test_gap_and_until(table, at, gap, until):
    split = split_or_side(GlobalTime(at=at, gap=gap, until=until), table)
    rows = [row for row in table.rows() if row[2] < until]
    if isinstance(split, str):
        assert not any(row[2] >= at for row in rows) or not any(row[2] < at - gap for row in rows)
        return
    assert plain.held(table, split.masks["train"]) == Counter(r for r in rows if r[2] < at - gap)
    assert plain.held(table, split.masks["test"]) == Counter(r for r in rows if r[2] >= at)
    assert split.card["input"]["rows_unused"] == len(table) - sum(
        mask.sum() for mask in split.masks.values()
    )


@given(plain.tables(), st.none() | st.integers(3, 8))
def test_best_moment(table, until):
    inside = plain.until_of(table, until)
    moment = plain.best_moment(inside)
    if moment is None:
        with pytest.raises(EmptyError, match=r"two different times|no rows before until"):
            GlobalTime(at="best", until=until).split(table)
        return
    split = GlobalTime(at="best", until=until).split(table)
    assert split.found["moment"] == moment
    assert plain.held(table, split.masks["test"]) == Counter(
        r for r in inside.rows() if r[2] >= moment
    )


@given(plain.tables(), SHARES | st.integers(1, 4), st.integers(2, 8))
def test_moments_are_sought_among_the_rows_before_until(table, length, until):
    inside = sorted(plain.until_of(table, until)["timestamp"])
    by_share = length < 1
    rule = (
        GlobalTime(share=length, until=until) if by_share else GlobalTime(last=length, until=until)
    )
    split = split_or_side(rule, table)
    if not inside:
        assert "no rows before until" in split
        return
    tested = max(1, plain.half_up(length, len(inside))) if by_share else 0
    moment = inside[len(inside) - tested] if by_share else inside[-1] + 1 - length
    if isinstance(split, str):
        assert not any(at < moment for at in inside)
        return
    rows = plain.until_of(table, until).rows()
    assert plain.held(table, split.masks["test"]) == Counter(r for r in rows if r[2] >= moment)
    assert plain.held(table, split.masks["train"]) == Counter(r for r in rows if r[2] < moment)


@given(
    plain.tables(),
    st.integers(1, 7),
    st.sampled_from(["first", "last", "random"]),
    st.integers(0, 2),
)
def test_targets(table, at, target, seed):
    split = split_or_side(GlobalTime(at=at, target=target, seed=seed), table)
    if isinstance(split, str):
        return
    test, history = Counter(), Counter()
    for rows in plain.of_users(table).values():
        later = plain.in_time([row for row in rows if row[2] >= at])
        if later:
            place = {"first": 0, "last": len(later) - 1}.get(target)
            if place is None:
                keys = [key for key, _ in plain.draws(later, seed)]
                place = keys.index(min(keys))
            test[later[place]] += 1
            history.update(later[:place])
    assert plain.held(table, split.masks["test"]) == test
    assert plain.held(table, split.masks["history"]) == history
    later = sum(row[2] >= at for row in table.rows())
    assert split.found["rows_after_target"] == later - test.total() - history.total()


@given(plain.tables(), st.integers(1, 7))
def test_each_target_in_turn(table, at):
    try:
        folds = SuccessiveTargets(at=at).split(table)
        splits = list(folds)
    except EmptyError:
        return
    tested = Counter()
    for fold, split in enumerate(splits):
        for user, rows in plain.of_users(split.test).items():
            later = plain.in_time([r for r in table.rows() if r[0] == user and r[2] >= at])
            assert rows == [later[fold]]
            assert Counter(r for r in split.history.rows() if r[0] == user) == Counter(later[:fold])
        tested.update(split.test.rows())
    assert tested == Counter(row for row in table.rows() if row[2] >= at)


@given(
    plain.tables(times=20),
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(0, 2),
    st.none() | st.integers(1, 6),
    st.none() | st.integers(1, 3),
)
def test_windows(table, length, n_splits, gap, back, step):
    rule = TimeWindows(length, n_splits, back, gap, step)
    end = max(table["timestamp"]) + 1
    for fold in range(n_splits):
        start = end - length - (n_splits - 1 - fold) * (step or length)
        try:
            split = rule.split(table)[fold]
        except EmptyError:
            continue
        first = -99 if back is None else start - gap - back
        train = Counter(r for r in table.rows() if first <= r[2] < start - gap)
        test = Counter(r for r in table.rows() if start <= r[2] < start + length)
        assert plain.held(table, split.masks["train"]) == train
        assert plain.held(table, split.masks["test"]) == test


@given(plain.tables(), st.integers(1, 4), st.integers(1, 4))
def test_k_core(table, users, items):
    expected = plain.k_core(table, users, items)
    try:
        kept = KCore(users, items).apply(table)
    except EmptyError:
        assert not expected
        return
    assert Counter(kept.rows()) == expected
    assert kept.equals(KCore(users, items).apply(kept))  # a fixpoint


@given(plain.tables(min_size=6, timed=False), st.integers(2, 6), st.booleans(), st.integers(0, 3))
def test_folds_test_every_row_once(table, k, per_user, seed):
    cuts = list(KFold(k, per_user=per_user, seed=seed).split(table))
    for split in cuts:
        assert plain.held(table, split.masks["train"]) == (
            Counter(table.rows()) - plain.held(table, split.masks["test"])
        )
    sizes = [len(split.test) for split in cuts]
    assert sum(sizes) == len(table)
    assert max(sizes) - min(sizes) <= 1
    if not per_user:
        order = plain.at_random(table.rows(), seed)
    else:
        users = plain.of_users(table)
        order = [
            row
            for user in plain.users_at_random(users, seed)
            for row in plain.at_random(users[user], seed)
        ]
        for user in users:
            own = [split.test["user"].to_list().count(user) for split in cuts]
            assert max(own) - min(own) <= 1
    for at, split in enumerate(cuts):
        assert plain.held(table, split.masks["test"]) == Counter(order[at::k])


@given(plain.tables(min_size=6), st.integers(1, 3), st.integers(1, 2), st.integers(2, 7))
def test_filters_act_on_the_rows_that_are_left_for_training(table, k, n, at):
    rule = GlobalTime(at=at, filters=[KCore(k)], validation=LeaveOut(n))
    split = split_or_side(rule, table)
    before = table.filter(pl.col("timestamp") < at)
    validated = plain.last_rows(before, lambda rows: n if rows > n else 0)
    left = plain.frame(list((Counter(before.rows()) - validated).elements()))
    core = plain.k_core(left, k, k)
    if isinstance(split, str):
        assert not core or not validated or len(before) == len(table)
        return
    assert plain.held(table, split.masks["train"]) == core
    assert plain.held(table, split.masks["validation"]) == validated
    assert plain.held(table, split.masks["test"]) == Counter(table.rows()) - Counter(before.rows())
    assert split.found["rows_filtered(KCore)"] == len(left) - core.total()


@given(
    plain.tables(min_size=6),
    st.integers(2, 7),
    st.sampled_from(["keep", "drop", "only"]),
    st.booleans(),
)
def test_what_is_known_is_masked_and_warm(table, at, cold, seen):
    """Users are warm, and pairs seen, by training, validation and the rows before the target."""
    rule = GlobalTime(
        at=at,
        target="last",
        validation=GlobalTime(share=0.3),
        cold_users=cold,
        seen="drop" if seen else "keep",
    )
    split = split_or_side(rule, table)
    if isinstance(split, str):
        return
    parts = {name: plain.held(table, mask) for name, mask in split.masks.items()}
    known = parts["train"] + parts["validation"] + parts["history"]
    assert Counter(split.known().rows()) == known
    assert Counter(split.known("validation").rows()) == parts["train"]
    targets = Counter()
    for rows in plain.of_users(table.filter(pl.col("timestamp") >= at)).values():
        targets[plain.in_time(rows)[-1]] += 1
    warm, pairs = {row[0] for row in known}, {row[:2] for row in known}
    kept = [row for row in targets if cold == "keep" or (row[0] in warm) == (cold == "drop")]
    assert set(parts["test"]) == {row for row in kept if not seen or row[:2] not in pairs}
    states = dict(split.users.select("user", "history").rows())
    assert states == {row[0]: "warm" if row[0] in warm else "cold" for row in parts["test"]}
    parts_of_card = split.card["parts"]
    for name, rows in parts.items():
        if rows:
            width = len({row[0] for row in rows}) * len({row[1] for row in rows})
            assert parts_of_card[name]["density"] == pytest.approx(
                len({row[:2] for row in rows}) / width
            )


@given(plain.tables(min_size=12, max_size=40), st.integers(2, 4), st.integers(0, 3))
def test_strata_keep_their_shares(table, k, seed):
    splits = list(StratifiedKFold(k, "rating", seed=seed).split(table))
    for rating in set(table["rating"]):
        each = [split.test["rating"].to_list().count(rating) for split in splits]
        assert max(each) - min(each) <= 1
    sizes = [len(split.test) for split in splits]
    assert max(sizes) - min(sizes) <= 1
    assert sum(sizes) == len(table)


@given(plain.tables(min_size=10, users=8), st.integers(2, 4), st.integers(0, 2))
def test_users_are_held_out_as_a_whole(table, k, seed):
    users = set(table["user"])
    if len(users) < k:
        return
    asked = Counter()
    for split in UserKFold(k, fold_in=None, seed=seed).split(table):
        assert not set(split.train["user"]) & set(split.test["user"])
        assert plain.held(table, split.masks["train"] | split.masks["test"]) == Counter(
            table.rows()
        )
        asked.update(set(split.test["user"]))
    assert asked == Counter(users)


@given(plain.tables(min_size=10, users=8), SHARES, st.booleans(), st.integers(0, 2))
def test_fold_in_rows_are_known_and_not_tested(table, share, strong, seed):
    rule = UserHoldout(share, LeaveOut(1), strong=strong, seed=seed)
    split = split_or_side(rule, table)
    if isinstance(split, str):
        return
    users = set(split.rows.user.vocabulary.decode(split.rows.user.of_row[split.masks["test"]]))
    expected = plain.last_rows(table, lambda rows: 1 if rows > 1 else 0)
    assert plain.held(table, split.masks["test"]) == Counter(
        {row: n for row, n in expected.items() if row[0] in users}
    )
    assert split.found["users_held_out"] == plain.half_up(share, len(set(table["user"])))
    if strong:
        assert not users & set(split.train["user"])
        assert users <= set(split.history["user"])


@given(plain.tables(min_size=8, max_size=40), st.integers(0, 2))
def test_two_stages_share_nothing(table, seed):
    split = split_or_side(
        TwoStage(share=0.25, inner_share=0.4, validation_share=0.5, seed=seed), table
    )
    if isinstance(split, str):
        return
    parts = {name: split.part(name) for name in split.masks}
    candidates, ranker, checked = (
        parts[name] for name in ("candidate_train", "ranker_train", "ranker_validation")
    )
    assert parts["train"]["timestamp"].max() < parts["test"]["timestamp"].min()
    for labels in (ranker, checked):
        assert candidates["timestamp"].max() < labels["timestamp"].min()
        assert labels["timestamp"].max() < parts["test"]["timestamp"].min()
        assert set(labels["user"]) <= set(candidates["user"])
    assert not set(ranker["user"]) & set(checked["user"])
    inside = [
        split.masks[name] for name in ("candidate_train", "ranker_train", "ranker_validation")
    ]
    assert not any((mask & ~split.masks["train"]).any() for mask in inside)
    unused = split.masks["train"].sum() - sum(mask.sum() for mask in inside)
    assert unused == split.found["rows_of_cold_users_dropped"]
