"""`compare` and `Result.interval` where users come in clusters: households, or one person behind several sessions."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

import rankwise as rw
from rankwise import stats
from rankwise.comparison.comparison import Comparison
from rankwise.errors import ParameterError, UsageError
from tools import deep

pytestmark = pytest.mark.usefixtures("one_thread")


def results(seed=0, *, homes=30, gain=0.0, seeds=1, names=("a", "b")):
    """Users of unequal households, who share most of what they gain."""
    rng = np.random.default_rng(seed)
    home = np.repeat(np.arange(homes), rng.integers(1, 8, homes))
    shared = rng.normal(gain, 0.2, homes)[home]
    easy = rng.normal(0.5, 0.1, len(home))

    def one(name):
        values = easy + (shared if name == names[-1] else 0) + rng.normal(0, 0.05, len(home))
        return rw.from_per_user(
            pl.DataFrame(
                {"user": np.arange(len(home)), "ndcg@10": values, "group(home)": home.astype(str)}
            )
        )

    return {
        name: [one(name) for _ in range(seeds)] if seeds > 1 else one(name) for name in names
    }, home


def values(result):
    return result.per_user["ndcg@10"].to_numpy()


def test_a_row_is_the_clustered_t():
    given, home = results()
    row = rw.compare(given, clusters="home")["b"]
    d = values(given["b"]) - values(given["a"])
    by_t = stats.clustered(d, home)
    totals, most = np.bincount(home, d), np.bincount(home).mean() * max(1.0, np.abs(d).max())
    assert (row["test"], row["clusters"]) == ("clustered t, bounded mean", 30)
    assert row["low"] <= by_t.low
    assert row["high"] >= by_t.high
    both = [
        stats.bounded_test(totals, largest=most).p,
        rw.compare(given, clusters="home", test="t")["b"]["p"],
    ]
    assert row["p"] == pytest.approx(max(both))
    assert row["p_design"] == pytest.approx(both[1])
    unseen = f"an unseen cluster is taken to have {np.bincount(home).mean():.1f} users, the mean"
    assert any(flag.startswith(unseen) for flag in row["flags"])
    assert (row["p"] < 0.05) == (not row["low"] <= 0 <= row["high"])
    assert row["lift_low"] < row["lift"] < row["lift_high"]
    alone = rw.compare(given)["b"]
    assert row["high"] - row["low"] > 1.5 * (alone["high"] - alone["low"])
    assert row["minimum_detectable"] > 1.5 * alone["minimum_detectable"]


@pytest.mark.slow
@pytest.mark.parametrize("samples", [60, *deep(200)])
def test_false_alarms_are_as_rare_as_promised(samples):
    """0.05 in 60 samples has an error of 0.028; users taken for independent err much more."""
    clustered = independent = 0
    for seed in range(samples):
        given, _ = results(seed, homes=25)
        d = values(given["b"]) - values(given["a"])
        clustered += rw.compare(given, clusters="home")["b"]["p"] < 0.05
        independent += stats.paired_t(d).p < 0.05
    assert clustered / samples <= 0.1
    assert independent / samples > 0.2


def test_every_user_alone_is_no_cluster():
    given, _ = results(homes=1200)
    frames = {
        n: r.per_user.with_columns(pl.col("user").cast(pl.String).alias("group(home)"))
        for n, r in given.items()
    }
    row = rw.compare({n: rw.from_per_user(f) for n, f in frames.items()}, clusters="home")["b"]
    plain = rw.compare(given)["b"]
    assert row["p"] == pytest.approx(plain["p"], rel=1e-6)
    assert row["low"] == pytest.approx(plain["low"], abs=1e-6)
    assert row["largest_loss"] == pytest.approx(plain["largest_loss"], rel=1e-6, nan_ok=True)


def test_seeds_and_clusters_together():
    given, home = results(seeds=4)
    row = rw.compare(given, clusters="home")["b"]
    x, y = (np.array([values(r) for r in given[name]]) for name in ("b", "a"))
    users = stats.clustered(x.mean(axis=0) - y.mean(axis=0), home)
    assert (row["test"], row["clusters"], row["seeds_system"]) == (
        "two-level t, bounded mean",
        30,
        4,
    )
    assert users.high - users.low < row["high"] - row["low"]


def test_margins_need_more_than_users_who_do_not_differ():
    """Thirty users without a difference, in three households, are three observations."""
    frame = pl.DataFrame(
        {
            "user": range(300),
            "ndcg@10": [0.5] * 300,
            "group(home)": [str(u // 100) for u in range(300)],
        }
    )
    other = frame.with_columns(
        pl.col("ndcg@10") + pl.when(pl.col("user") == 0).then(0.01).otherwise(0)
    )
    row = rw.compare(
        rw.from_per_user(frame), rw.from_per_user(other), clusters="home", margin=0.05
    )["B"]
    assert row["p_equivalence"] == pytest.approx(
        (0.95 / (1 - 0.01 / 100)) ** 3, abs=0.01
    )  # of 3 that hardly differ
    assert row["p_non_inferior"] > 0.5
    assert "only 3 clusters by home" in row["flags"]


def test_displays_and_ranks(tmp_path):
    given, _ = results(names=("a", "b", "c"), gain=0.3)
    found = rw.compare(given, clusters="home")
    assert "Users are in 30 clusters by home, which are the sampling units." in repr(found)
    assert "30 clusters by home" in found.export("latex")
    assert found.ranks["system"][0] == "c"
    assert found.ranks["may_be_best"].to_list() == [True, False, False]
    assert Comparison.load(found.save(tmp_path)).table.equals(found.table)


def test_values_of_all_lists_say_that_clusters_are_ignored():
    truth = {u: {u % 9} for u in range(60)}
    users = {"user": list(truth), "home": [u // 4 for u in truth]}
    one, two = (
        rw.evaluate(
            {u: [(u * s) % 11, u % 5 + 20] for u in truth},
            truth,
            ["gini@2", "ndcg@2"],
            users=users,
            by="home",
            jackknife=16,
        )
        for s in (3, 5)
    )
    found = rw.compare(one, two, clusters="home", primary="ndcg@2")
    assert any("without clusters by home" in flag for flag in found["gini@2", "B"]["flags"])
    assert found["ndcg@2", "B"]["clusters"] == 15


def test_one_cluster_shows_nothing():
    given, _ = results(homes=1)
    row = rw.compare(given, clusters="home")["b"]
    assert math.isnan(row["p"])
    assert (row["verdict"], row["why"]) == ("not checked", "no test")


def test_what_is_refused():
    given, _ = results()
    for options, said in [
        ({"clusters": "street"}, "no groups of users by 'street'|no result has groups"),
        ({"clusters": 3}, "name of one column"),
        ({"clusters": "home", "test": "sign"}, "seeds, clusters or noise"),
        ({"clusters": "home", "correction": "max_t"}, "independent users"),
    ]:
        with pytest.raises(ParameterError, match=said):
            rw.compare(given, **options)
    missing = rw.from_per_user(
        given["b"].per_user.with_columns(
            pl.when(pl.col("user") == 3)
            .then(None)
            .otherwise(pl.col("group(home)"))
            .alias("group(home)")
        )
    )
    plain = rw.from_per_user(given["a"].per_user.drop("group(home)"))
    with pytest.raises(ParameterError, match="no cluster"):
        rw.compare({"a": plain, "b": missing}, clusters="home")
    found = rw.compare(given, clusters="home")
    for go in (found.report, lambda: rw.decide(found, success="ndcg@10")):
        with pytest.raises(ParameterError, match="independent users"):
            go()


def same_gains(shifts, size=10):
    """Users of one household gain alike; returns the comparison over households."""
    home = np.repeat(np.arange(len(shifts)), size)
    low = np.random.default_rng(0).random(len(home)) / 2
    frames = [
        pl.DataFrame(
            {"user": np.arange(len(home)), "ndcg@10": low + gain, "group(home)": home.astype(str)}
        )
        for gain in (0.0, np.asarray(shifts)[home])
    ]
    return rw.compare(*map(rw.from_per_user, frames), clusters="home", margin=0.05)["B"]


def test_clusters_without_variance_are_as_few_as_they_are():
    """Twenty users who gain alike, in two households, are two observations."""
    row = same_gains([0.1, 0.1])
    assert row["p"] == 1.0
    assert row["verdict"] == "not shown"
    assert row["low"] < 0 < row["high"]
    eight = same_gains([0.1] * 8)
    assert eight["p"] == pytest.approx(
        2 * (1 / 1.1) ** 8, abs=0.01
    )  # a ninth that loses 1 would be enough
    assert eight["low"] < 0
    assert same_gains([0.0] * 8)["p"] == 1.0


@pytest.mark.slow
@pytest.mark.parametrize(("homes", "samples"), [(3, 40), *deep((3, 100), (2, 100), (5, 100))])
def test_few_households_are_no_proof(homes, samples):
    """Each gains or loses half: 0.05 in 40 samples has an error of 0.034."""
    rng = np.random.default_rng(homes)
    found = [same_gains(rng.choice([-0.5, 0.5], homes))["p"] < 0.05 for _ in range(samples)]
    assert np.mean(found) <= 0.11


@pytest.mark.slow
@pytest.mark.parametrize(
    ("homes", "size", "samples"), [(4, 10, 40), *deep((4, 10, 100), (10, 6, 100), (40, 5, 100))]
)
def test_no_margin_is_cleared_by_rare_losses_that_were_not_seen(homes, size, samples):
    """The true loss is the margin: a household loses 0.3 with probability 0.15."""
    rng = np.random.default_rng(homes)
    false = 0
    for _ in range(samples):
        home = np.repeat(np.arange(homes), size)
        loss = (rng.random(homes) < 0.15)[home] * -0.3 + rng.normal(0, 0.01, len(home))
        frames = [
            pl.DataFrame(
                {"user": np.arange(len(home)), "ndcg@10": 0.5 + d, "group(home)": home.astype(str)}
            )
            for d in (np.zeros(len(home)), loss)
        ]
        row = rw.compare(*map(rw.from_per_user, frames), clusters="home", margin=0.045)["B"]
        false += row["p_equivalence"] < 0.05 or row["p_non_inferior"] < 0.05
    assert false / samples <= 0.1


def grouped(values, home, metric="hit_rate@1"):
    """Return the result of users' values and their households."""
    frame = {
        "user": np.arange(len(home)),
        metric: values,
        "group(home)": [f"h{number}" for number in home],
    }
    return rw.from_per_user(pl.DataFrame(frame))


def test_the_interval_of_a_result_is_the_clustered_t():
    given, home = results(homes=40)
    a = given["a"]
    assert a.interval("ndcg@10", clusters="home", confidence=0.9) == stats.clustered(
        values(a), home, confidence=0.9
    )
    few = {user: [3, 3, 4, 4, 5, 5, 5][user % 7] for user in range(28)}
    result = grouped([float(user % 2 and user < 20) for user in few], few.values())
    result = rw.from_per_user(
        result.per_user.with_columns(
            pl.when(pl.col("user") == 8)
            .then(math.nan)
            .otherwise(pl.col("hit_rate@1"))
            .alias("hit_rate@1"),
            pl.when(pl.col("user") < 21)
            .then(pl.lit("x"))
            .otherwise(pl.lit("y"))
            .alias("group(team)"),
        )
    )
    inside = [user for user in range(21) if user != 8]
    expected = stats.clustered(
        [float(user % 2 and user < 20) for user in inside], [few[user] for user in inside]
    )
    found = result.interval("hit_rate@1", by="team", group="x", clusters="home", method="t")
    assert tuple(found) == tuple(expected)
    assert (found.n, found.flags) == (3, ("only 3 clusters by home",))


@pytest.mark.slow
def test_intervals_over_clusters_cover_the_mean():
    """Coverage of 0.95 in 300 samples has an error of 0.013; users taken for independent cover less."""
    rng, home = np.random.default_rng(3), np.repeat(np.arange(30), 6)
    clustered = independent = 0
    for _ in range(300):
        hits = (rng.random(180) < rng.beta(0.4, 1.2, 30)[home]) * 1.0
        clustered += 0.25 in grouped(hits, home).interval("hit_rate@1", clusters="home")
        independent += 0.25 in stats.t_interval(hits)
    assert 0.9 <= clustered / 300 <= 0.985
    assert independent / 300 < 0.8


def test_intervals_of_clusters_that_do_not_vary_are_as_wide_as_clusters_are_few():
    for hits in ([0.0] * 48, [0.0, 1.0] * 24):  # nobody is hit; one of the two in each household
        found = grouped(hits, np.arange(48) // 2).interval("hit_rate@1", clusters="home")
        assert (found.method, found.n, found.flags) == (
            "bound of unseen values",
            24,
            ("clusters do not vary",),
        )
        missed = 1 - 0.025 ** (1 / 24)
        assert found.high == pytest.approx(np.mean(hits) + missed * (1 - np.mean(hits)))
    one = grouped([0.0, 1.0, 1.0], [7, 7, 7]).interval("hit_rate@1", clusters="home")
    assert math.isnan(one.low)
    assert one.flags == ("fewer than two clusters", "only 1 cluster by home")


def test_intervals_over_clusters_that_are_refused():
    truth = {user: {user % 4} for user in range(24)}
    result = rw.evaluate(
        {user: [user % 5] for user in truth},
        truth,
        ["recall@1", "gini@1"],
        users={"user": list(truth), "home": [None if user == 5 else user // 3 for user in truth]},
        by="home",
        jackknife=8,
    )
    for metric, options, said in [
        ("recall@1", {"clusters": "home", "method": "bca"}, 'hint:  method="auto"'),
        ("recall@1", {"clusters": "home"}, "user 5 "),
        ("recall@1", {"clusters": "hom"}, "did you mean 'home'"),
        ("recall@1", {"clusters": ["home"]}, "name of one column"),
        ("gini@1", {"clusters": "home"}, "without clusters= the jackknife"),
    ]:
        with pytest.raises(UsageError) as caught:
            result.interval(metric, **options)
        assert said in str(caught.value)
    assert result.interval("gini@1").method == "jackknife"


def test_one_household_of_most_users_has_no_interval():
    interval = stats.clustered(np.arange(51.0), [0] * 50 + [1])
    assert math.isnan(interval.low)
    assert "most rows" in interval.flags[0]


def test_all_lists_alone_are_shown():
    truth = {u: {u % 9} for u in range(60)}
    users = {"user": list(truth), "home": [u // 4 for u in truth]}
    one, two = (
        rw.evaluate(
            {u: [(u * s) % 11] for u in truth},
            truth,
            "gini@1",
            users=users,
            by="home",
            jackknife=16,
        )
        for s in (3, 5)
    )
    assert "without clusters by home" in repr(rw.compare(one, two, clusters="home"))


def plan_of(homes, seed=3):
    """A pilot of two systems, of users in homes of one to five."""
    rng = np.random.default_rng(seed)
    home = np.repeat(np.arange(homes), 1 + np.arange(homes) % 5)
    old = np.where(rng.random(len(home)) < 0.5, 0.0, rng.beta(2, 3, len(home)))
    shared = rng.normal(0, 0.05, homes)[home]
    moved = np.where(rng.random(len(home)) < 0.4, rng.normal(0, 0.25, len(home)) + shared, 0.0)
    new = np.clip(old + 0.03 * (old > 0) + moved, 0, 1)
    groups = {"group(home)": home.astype(str)}
    return [
        rw.from_per_user(pl.DataFrame({"user": range(len(home)), "ndcg@10": values} | groups))
        for values in (old, new)
    ]


def test_a_plan_counts_clusters_and_their_users():
    one, other = plan_of(400)
    plan = {"metric": "ndcg@10", "other": other, "difference": 0.03}
    size = rw.sample_size(one, clusters="home", **plan)
    assert size.users == size.clusters * 3
    assert size.low < size.users < size.high
    assert size.users > rw.sample_size(one, **plan).users
    assert rw.power(one, clusters="home", **plan) < rw.power(one, **plan)
    sizes = [
        rw.sample_size(one, clusters="home", largest_cluster=largest, **plan).clusters
        for largest in (3, 5, 24)
    ]
    assert sizes[0] == size.clusters < sizes[1] < sizes[2]
    alone = rw.sample_size(one, "ndcg@10", difference=0.03, clusters="home")
    assert alone.clusters > size.clusters  # two systems without any correlation
    with pytest.raises(ParameterError, match="independent"):
        rw.sample_size(one, largest_cluster=5, **plan)


def test_a_plan_of_users_alone_is_that_of_clusters_of_one():
    one, other = plan_of(400)
    frames = [
        result.per_user.with_columns(pl.col("user").cast(pl.String).alias("group(home)"))
        for result in (one, other)
    ]
    alone = [rw.from_per_user(frame) for frame in frames]
    for plan in ({"difference": 0.03}, {"margin": "5%"}, {"margin": 0.02, "equivalence": True}):
        sizes = [
            rw.sample_size(alone[0], "ndcg@10", other=alone[1], clusters=clusters, **plan)
            for clusters in (None, "home")
        ]
        assert sizes[1].users == sizes[1].clusters
        assert sizes[1].users == pytest.approx(sizes[0].users, rel=0.002)


@pytest.mark.deep
def test_planned_clusters_show_the_difference():
    """A power of 0.8 in 150 samples has an error of 0.033."""
    one, other = plan_of(20_000)
    gain = other["ndcg@10"] - one["ndcg@10"]
    size = rw.sample_size(one, "ndcg@10", other=other, difference=gain, clusters="home")
    shown = [
        rw.compare(dict(zip("ab", plan_of(size.clusters, seed), strict=True)), clusters="home")["b"]
        for seed in range(150)
    ]
    assert 0.7 <= np.mean([row["p"] < 0.05 for row in shown]) <= 0.92
