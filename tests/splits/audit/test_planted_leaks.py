"""Leaks that are planted into a clean split are found, and what looks like them is not."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import rankwise as rw
from clean_splits import interactions
from planted_leaks import TRANSFORMS, counts, popularity_lists, with_clones
from rankwise import splits
from rankwise.models.recommenders import ItemNeighbours, Popularity
from rankwise.splits import audit_copies
from tools import deep

TABLE = interactions(1, n_users=500, n_items=800, ratings=True)
SPLITS = {
    "time": splits.GlobalTime(share=0.2).split(TABLE),
    "last": splits.LeaveOut(1, "last").split(TABLE),
    "random": splits.Holdout(0.5).split(TABLE),
}


def status(code, split, **given):
    return rw.audit(split, **given)[code].status


def means(role, rows, ids):
    own = rows.group_by(role).agg(mean=pl.col("rating").mean())
    return ids.join(own, on=role, how="left", maintain_order="left")["mean"].to_numpy()


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
@pytest.mark.parametrize(
    ("split", "role"), [("time", "item"), *deep(("time", "user"), ("random", "item"))]
)
def test_counts_over_all_rows_in_any_form(split, role, transform):
    split = SPLITS[split]
    ids = TABLE.select(role).unique().sort(role)
    for rows, expected in ((TABLE, "fail"), (split.train, "pass")):
        table = ids.with_columns(x=pl.Series(transform(counts(role, rows, ids))))
        found = rw.audit(split, **{f"{role}s": table})["L13"]
        assert found.status == expected, found.said
        assert ("x (" in found.said) == (expected == "fail")


@pytest.mark.parametrize("split", SPLITS.values(), ids=SPLITS)
def test_counts_and_means_of_the_test_alone(split):
    ids = TABLE.select("item").unique().sort("item")
    test = pl.Series(np.log1p(counts("item", split.test, ids)))
    found = rw.audit(split, items=ids.with_columns(x=test))["L13"]
    assert found.status == "fail"
    assert "100% in the order of the count over test" in found.said
    mean = ids.with_columns(x=pl.Series(2 * means("item", TABLE, ids)))
    assert "mean rating over train and test" in rw.audit(split, items=mean)["L13"].said


def test_statistics_that_training_allows():
    """With validation, counts over training and validation do not know the test either."""
    rule = splits.GlobalTime(share=0.2, validation=splits.GlobalTime(share=0.2))
    split = rule.split(TABLE)
    ids = TABLE.select("item").unique().sort("item")
    both = pl.concat([split.train, split.validation])
    for rows, expected in ((split.train, "pass"), (both, "pass"), (TABLE, "fail")):
        for statistic in (counts, means):
            table = ids.with_columns(x=pl.Series(-statistic("item", rows, ids)))
            assert status("L13", split, items=table) == expected


@pytest.mark.slow
@pytest.mark.parametrize("split", SPLITS.values(), ids=SPLITS)
def test_features_that_know_nothing_of_the_test(split):
    """Eight tables of features, some of which come close: 136 columns, and no false alarm."""
    ids = TABLE.select("item").unique().sort("item")
    n, train = len(ids), split.train
    late = train.filter(pl.col("timestamp") > train["timestamp"].quantile(0.8))
    of_train = counts("item", train, ids)
    for seed in range(8):
        rng = np.random.default_rng(seed)
        table = ids.with_columns(
            year=pl.Series(rng.integers(1950, 2024, n)),
            price=pl.Series(np.round(rng.lognormal(2, 1, n), 2)),
            random=pl.Series(rng.random(n)),
            rare=pl.Series(rng.random(n) < 0.02).cast(pl.Int8),
            category=pl.Series(rng.choice(["a", "b", "c"], n)),
            constant=pl.lit(1),
            empty=pl.lit(None, dtype=pl.Float64),
            infinite=pl.Series(np.where(rng.random(n) < 0.5, np.inf, -np.inf)),
            some=pl.Series(np.where(rng.random(n) < 0.5, np.nan, rng.random(n))),
            noisy=pl.Series(of_train * rng.lognormal(0, 0.2, n)),
            shuffled=pl.Series(rng.permutation(of_train)),
            recent=pl.Series(counts("item", late, ids)),
            ordinal=pl.Series(of_train).rank("random", seed=seed),
            id=pl.col("item"),
            other=pl.Series(rng.permutation(n)),
            user=pl.Series(rng.integers(0, 500, n)),
            quality=pl.Series(means("item", train, ids) + rng.normal(0, 0.1, n)),
        )
        found = rw.audit(split, items=table.rename({"user": "owner"}))["L13"]
        assert found.status == "pass", found.said
        assert "of 17 columns of 799 items, computed with test rows: none" in found.said


def test_true_popularity_is_no_leak():
    """A feature may know how popular items are in truth, which half of all rows in test tell too."""
    rng = np.random.default_rng(0)
    popularity = rng.lognormal(2, 1, 500)
    parts = []
    for first_user in (0, 10**6):
        items = np.repeat(np.arange(500), rng.poisson(popularity))
        parts.append(pl.DataFrame({"user": first_user + np.arange(len(items)), "item": items}))
    items = pl.DataFrame({"item": np.arange(500), "sales": popularity})
    assert rw.audit(*parts, items=items)["L13"].status == "pass"


def test_counts_of_training_are_no_leak_where_they_tell_those_of_the_test():
    """If all users have as many rows, those with more in training have fewer in test."""
    table = interactions(0, n_users=500, n_items=400, spread=0.0)
    split = splits.Holdout(0.2).split(table)
    ids = table.select("user").unique().sort("user")
    for sign in (1, -1):
        known = ids.with_columns(x=pl.Series(sign * counts("user", split.train, ids)))
        assert status("L13", split, users=known) == "pass"
    items = table.select("item").unique().sort("item")
    leaked = items.with_columns(x=pl.Series(-np.log1p(counts("item", table, items))))
    found = rw.audit(split, items=leaked)["L13"]
    assert (found.status, "in the order of the count" in found.said) == ("fail", True)


def test_counts_of_the_test_where_training_has_nearly_the_reverse_order():
    """Most users have as many rows, and a few have more, whose order training does not reverse."""
    uneven = [
        interactions(seed, n_users=400, n_items=400, spread=s) for seed, s in ((0, 0.0), (1, 1))
    ]
    table = pl.concat([uneven[0], uneven[1].with_columns(pl.col("user") + 1000)])
    split = splits.Holdout(0.2).split(table)
    ids = table.select("user").unique().sort("user")
    leaked = ids.with_columns(x=pl.Series(np.log1p(counts("user", split.test, ids))))
    assert status("L13", split, users=leaked) == "fail"


@pytest.mark.parametrize("dtype", [pl.Int64, pl.Float64, pl.String, pl.Categorical])
def test_a_feature_that_is_the_test_item(dtype):
    split = SPLITS["time"]
    first = split.test.unique("user", keep="first", maintain_order=True).sort("user")
    rng = np.random.default_rng(0)
    for share, expected in ((1.0, "fail"), (0.6, "fail"), (0.0, "pass")):
        item = np.where(
            rng.random(len(first)) < share, first["item"], rng.permutation(first["item"])
        )
        table = pl.DataFrame({"user": first["user"], "item": item})
        kinds = [pl.String, dtype] if dtype == pl.Categorical else [dtype]
        for kind in kinds:
            table = table.cast({"item": kind})
        table = table.rename({"item": "favourite"})
        found = rw.audit(split, users=table)["L13"]
        assert found.status == expected, found.said
        assert ("favourite (the test item)" in found.said) == (expected == "fail")
    # What a user consumes again and again is in training, and may be known.
    again = pl.concat([split.train, first.with_columns(pl.col("timestamp") - 10**7)])
    known = first.select("user", favourite="item")
    found = rw.audit(again, split.test, users=known, repeats=True)
    assert found["L13"].status == "pass"


@pytest.mark.slow
@pytest.mark.parametrize("split", SPLITS.values(), ids=SPLITS)
def test_lists_of_the_users_own_test_items(split):
    own = split.test.select("user", "item")
    users = own["user"].unique().sort()
    fitted = Popularity().fit(split.train)
    best = fitted.recommend(users, 10)
    some = own.sample(fraction=0.8, seed=0)
    for lists in (
        own,
        own.unique("user", keep="first", maintain_order=True),  # lists of one item
        own.reverse(),
        pl.concat([some, best.select("user", "item")]).unique(maintain_order=True),
    ):
        found = rw.audit(split, recommendations=lists, limits=rw_limits(1e9))["L18"]
        assert found.status == "warn", found.said  # at any ratio
    neighbours = ItemNeighbours().fit(split.train).recommend(users, 10)
    for lists in (best, neighbours):
        assert status("L18", split, recommendations=lists) == "pass"


def rw_limits(ratio):
    from rankwise.splits.audit_parts import Limits

    return Limits(too_good=ratio)


def test_counts_are_compared_far_apart_in_training_too():
    """Counts in test rise with those of training inside of each eighth of the items, and fall from each to the next."""
    items = np.arange(64)
    of_test = items % 8 + 8 * (8 - items // 8)
    train, test = (
        pl.DataFrame({"user": first_user + np.arange(n.sum()), "item": np.repeat(items, n)})
        for first_user, n in ((0, items + 1), (10**6, of_test))
    )
    table = pl.DataFrame({"item": items, "x": np.log1p(of_test)})
    found = rw.audit(train, test, items=table)["L13"]
    assert (found.status, "x (100% in the order of the count over" in found.said) == (
        "fail",
        True,
    ), found.said


@pytest.mark.slow
@pytest.mark.parametrize("split", SPLITS.values(), ids=SPLITS)
@pytest.mark.parametrize("removed", [False, True])
def test_lists_that_are_the_popularity_of_the_test(split, removed):
    users = split.test["user"].unique().sort()
    seen = split.train if removed else None
    lists = popularity_lists(split.test, users, seen)
    found = rw.audit(split, recommendations=lists)["L18"]
    assert found.status == "warn", found.said
    late = split.train.sort("timestamp")
    for rows in (split.train, late.tail(len(late) // 3), late.tail(len(late) // 20)):
        lists = popularity_lists(rows, users, seen)
        found = rw.audit(split, recommendations=lists)["L18"]
        assert found.status == "pass", found.said


@pytest.mark.parametrize(("swapped", "expected"), [(0, "warn"), (1, "warn"), (8, "pass")])
def test_users_with_nearly_the_items_of_another(swapped, expected):
    table, users = with_clones(TABLE, 20, swapped)
    found = rw.audit(splits.GlobalTime(share=0.2).split(table))
    assert found["L15"].status == expected, found["L15"].said
    if expected == "warn":
        clones = [10**6 + number for number in range(20)]
        assert sorted(found.rows("L15")["user"]) == sorted([*users, *clones])
        assert set(found.rows("L15")["copy"]) == {"near" if swapped else "equal"}


def test_comparing_copies_stops_somewhere_and_says_so(monkeypatch):
    table, _ = with_clones(TABLE, 20, 1)
    split = splits.GlobalTime(share=0.2).split(table)
    assert "than were compared" not in rw.audit(split)["L15"].said
    monkeypatch.setattr(audit_copies, "_WORK", 100)
    assert "more pairs look alike than were compared" in rw.audit(split)["L15"].said


@pytest.mark.slow
def test_a_filter_over_all_rows_is_a_sharp_cut():
    for seed in range(5):
        table = interactions(seed, n_users=1000, n_items=1000, activity=8.0)
        rule = splits.GlobalTime(share=0.2)
        assert status("L12", rule.split(table)) == "pass"
        assert status("L12", rule.split(splits.KCore(5).apply(table))) == "warn"
        on_training = splits.GlobalTime(share=0.2, filters=[splits.KCore(5)])
        assert status("L12", on_training.split(table)) == "pass"


@pytest.mark.parametrize("part", ["train", "test"])
def test_rows_that_stand_twice_in_a_part(part):
    split = SPLITS["time"]
    parts = {"train": split.train, "test": split.test}
    parts[part] = pl.concat([parts[part], parts[part].head(7)])
    found = rw.audit(**parts, claim="time")
    assert (found["L21"].status, found["L21"].value) == ("warn", 7)


def test_ids_that_were_numbered_by_the_rows_of_all_parts():
    split = splits.GlobalTime(share=0.5).split(interactions(3, n_users=300, n_items=4000))
    both = pl.concat([split.train, split.test])
    for codes in (both["item"].unique().sort(), both["item"].unique(maintain_order=True)):
        number = {item: code for code, item in enumerate(codes)}
        parts = [
            part.with_columns(pl.col("item").replace_strict(number))
            for part in (split.train, split.test)
        ]
        assert rw.audit(*parts, claim="time")["L4"].status == "warn"
    assert status("L4", split) == "pass"  # ids with gaps


def test_new_items_are_no_leak():
    """Where items live for some days, the newest are in test alone: their age tells, rightly."""
    rng = np.random.default_rng(0)
    birth = rng.uniform(0, 100, 1000)
    item = np.repeat(np.arange(1000), rng.poisson(rng.lognormal(2, 1, 1000)))
    time = birth[item] + rng.exponential(3, len(item))
    table = pl.DataFrame({"user": np.arange(len(item)) % 900, "item": item, "timestamp": time})
    split = splits.GlobalTime(at=80.0).split(table.unique(["user", "item"], maintain_order=True))
    items = pl.DataFrame({"item": np.arange(1000), "released": birth})
    users = split.test["user"].unique().sort()
    newest = pl.Series("item", np.argsort(-birth)[:10])
    lists = users.to_frame("user").join(newest.to_frame("item"), how="cross")
    found = rw.audit(split, items=items, recommendations=lists)
    assert (found["L13"].status, found["L18"].status) == ("pass", "pass"), found


@pytest.mark.slow
def test_small_and_odd_inputs_give_verdicts():
    """Tables of one to three rows, with every kind of feature: each check has a verdict."""
    train = pl.DataFrame({"user": [1, 1, 2], "item": [10, 11, 10], "timestamp": [1, 2, 3]})
    test = pl.DataFrame({"user": [1], "item": [12], "timestamp": [5]})
    odd = pl.DataFrame(
        {
            "item": [10, 10, 99],
            "null": [None, None, None],
            "infinite": [float("inf"), float("inf"), float("nan")],
            "flag": [True, None, False],
            "list": [[1], [], [2]],
            "text": ["a", None, "12"],
        }
    )
    for some in (train.head(1), train):
        for options in ({}, {"repeats": True}, {"claim": "users"}, {"validation": train.tail(1)}):
            for lists in ({1: [12]}, {1: [7], 5: [12]}, {5: [12]}):
                found = rw.audit(some, test, items=odd, recommendations=lists, **options)
                assert len(found.checks) == 24
                assert found["L13"].status == "pass", found["L13"].said
                assert found["L18"].status == ("pass" if 1 in lists else "warn")
                assert [found.rows(check.code) is not None for check in found.checks]


def last_rows(rows, role="user"):
    return (
        rows.group_by(role)
        .agg(first=pl.col("timestamp").min(), last=pl.col("timestamp").max())
        .sort(role)
    )


@pytest.mark.parametrize(
    "form", [lambda moment: moment, lambda moment: pl.from_epoch(moment, time_unit="s").dt.date()]
)
@pytest.mark.parametrize("role", ["user", "item"])
def test_when_someone_was_last_active(role, form):
    split = SPLITS["time"]
    leaky = last_rows(TABLE, role).select(role, seen=form(pl.col("last")))
    found = rw.audit(split, **{f"{role}s": leaky})["L13"]
    assert found.status == "fail"
    assert "seen (of" in found.said
    assert "moments lie in the test period" in found.said


def test_moments_that_were_known_before_the_test():
    """First rows, last rows of training, the end of a contract, the day of the export, and any day."""
    split, rng = SPLITS["time"], np.random.default_rng(3)
    ids = last_rows(TABLE)
    start, end = TABLE["timestamp"].min(), TABLE["timestamp"].max()
    clean = ids.select("user", "first").join(
        last_rows(split.train).select("user", known="last"), on="user", how="left"
    )
    clean = clean.with_columns(
        contract=pl.lit(end + 86_400 * 400),
        export=pl.lit(end + 1),
        any=pl.Series(rng.integers(start, end, len(clean))),
        age=pl.Series(rng.integers(15, 90, len(clean))),
    )
    assert status("L13", split, users=clean) == "pass"


def who_returns():
    """Half of the users come back in the test period, whatever they did before."""
    rng = np.random.default_rng(5)
    rows = TABLE.join(
        TABLE.select("user").unique().sort("user").with_columns(back=rng.random(500) < 0.5),
        on="user",
    )
    split = splits.GlobalTime(share=0.2).split(TABLE)
    keep = rows.filter(pl.col("back") | (pl.col("timestamp") < split.test["timestamp"].min()))
    return splits.GlobalTime(at=int(split.test["timestamp"].min())).split(keep.drop("back")), keep


def test_a_column_that_tells_who_has_test_rows():
    split, rows = who_returns()
    users = rows.select("user").unique().sort("user")
    churned = ~users["user"].is_in(split.test["user"].unique().implode())
    found = rw.audit(split, users=users.with_columns(churned=churned))["L13"]
    assert found.status == "fail"
    assert "churned (which of" in found.said
    trained = split.train.group_by("user").agg(n=pl.len(), last=pl.col("timestamp").max())
    assert (
        status(
            "L13",
            split,
            users=trained.with_columns(country=pl.col("user") % 7, male=pl.col("user") % 2 == 0),
        )
        == "pass"
    )


@pytest.mark.parametrize("rule", [splits.Holdout(0.2, per="user"), splits.LeaveOut(1, "random")])
def test_a_rule_that_gives_test_rows_to_users_with_more_rows(rule):
    """Whether a user has test rows follows from how many training rows there are: a column of them tells nothing."""
    split = rule.split(interactions(2, n_users=4000, n_items=2000, times=False))
    own = split.train.group_by("user").agg(n=pl.len(), log_n=pl.len().log1p())
    assert status("L13", split, users=own) == "pass"


def test_a_rule_that_tests_those_who_were_seen_last():
    """Whether a user has test rows follows from the last training row: neither it nor its age tells anything."""
    rows = TABLE.sort("timestamp")
    test = rows.group_by("user").tail(1)
    train = rows.join(test, on=["user", "item"], how="anti")
    own = train.group_by("user").agg(last=pl.col("timestamp").max())
    late = own.filter(pl.col("last") > pl.col("last").median())
    own = own.with_columns(age=(own["last"].max() - pl.col("last")).sqrt())
    assert (
        rw.audit(train, test.join(late, on="user", how="semi"), users=own)["L13"].status == "pass"
    )


def test_titles_that_differ_in_case_and_signs():
    items = (
        TABLE.select("item")
        .unique()
        .sort("item")
        .with_columns(title=pl.format("The film {}", "item"))
    )
    assert status("L15", SPLITS["time"], items=items) == "pass"
    twin = (
        pl.when(pl.col("item") % 20 == 1)
        .then(pl.format("the FILM: {}", pl.col("item") - 1))
        .otherwise("title")
    )
    assert status("L15", SPLITS["time"], items=items.with_columns(title=twin)) == "warn"


def test_times_without_an_order():
    train, test = SPLITS["time"].train, SPLITS["time"].test
    without = [part.drop("timestamp") for part in (train, test)]
    assert rw.audit(*without, claim="time")["L22"].status == "fail"
    assert rw.audit(*without)["L22"].status == "not run"
    one = train.with_columns(timestamp=train["timestamp"].min())
    assert [rw.audit(one, test, claim=claim)["L22"].status for claim in ("time", None)] == [
        "fail",
        "warn",
    ]
    assert rw.audit(train, test)["L22"].status == "pass"


def test_times_in_two_units():
    late = pl.when(pl.col("user") % 3 == 0).then(pl.col("timestamp") * 1000).otherwise("timestamp")
    train, test = (
        part.with_columns(timestamp=late) for part in (SPLITS["time"].train, SPLITS["time"].test)
    )
    found = rw.audit(train, test, time_unit="s")["L22"]
    assert found.status == "warn"
    assert "about 1,000 times smaller" in found.said


def test_users_with_ten_to_thirteen_rows_are_no_filter():
    rng = np.random.default_rng(1)
    sizes = rng.integers(10, 14, 300)
    rows = pl.DataFrame(
        {"user": np.repeat(np.arange(300), sizes), "item": rng.integers(0, 5000, sizes.sum())}
    ).unique()
    split = splits.Holdout(0.3).split(rows)
    assert status("L12", split) == "pass"


def test_a_catalogue_of_twelve_items_has_no_limit_for_recall():
    rng = np.random.default_rng(2)
    rows = pl.DataFrame(
        {
            "user": np.repeat(np.arange(60), 6),
            "item": np.concatenate([rng.permutation(12)[:6] for _ in range(60)]),
        }
    )
    split = splits.Holdout(0.3).split(rows)
    lists = pl.DataFrame(
        {
            "user": np.repeat(np.arange(60), 10),
            "item": np.concatenate([rng.permutation(12)[:10] for _ in range(60)]),
        }
    )
    found = rw.audit(split, recommendations=lists)["L18"]
    assert found.status == "pass"
    assert "too few items" in found.said
