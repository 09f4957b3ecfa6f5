"""Intervals of single results: by users where a value is their mean, else by the jackknife."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.stats import beta

import rankwise as rw
from rankwise import stats
from rankwise.errors import MetricError, ParameterError
from rankwise.results.sampling_unit import USERS
from rankwise.stats.group_means import compare_groups, group_interval

METRICS = [
    "recall@5",
    "catalog_coverage@5",
    "gini@5",
    "shannon_entropy@5",
    "reo(item_group=kind)@5",
    "group_gap(recall,user_group=team)@5",
]
ITEMS = pl.DataFrame({"item": range(60), "kind": ["a", "b", "c"] * 20})


def data(users=60, seed=0):
    rng = np.random.default_rng(seed)
    lists = {u: rng.choice(60, 5, replace=False, p=weights()).tolist() for u in range(users)}
    truth = {u: set(rng.choice(60, 3, replace=False).tolist()) for u in range(users)}
    return lists, truth, pl.DataFrame({"user": range(users), "team": ["x", "y"] * (users // 2)})


def weights():
    p = 1 / np.arange(1, 61)
    return p / p.sum()


def test_replicates_are_evaluations_without_each_group():
    lists, truth, users = data()
    known = {"items": ITEMS, "users": users}
    result = rw.evaluate(lists, truth, METRICS, jackknife=12, **known)
    plain = rw.evaluate(lists, truth, METRICS, **known)
    assert result.values == plain.values
    assert result.slices is None
    assert result.replicates["group"].to_list() == [str(at) for at in range(12)]
    groups = dict(zip(result.per_user["user"], groups_of(result, lists, truth, users), strict=True))
    sizes = np.unique(list(groups.values()), return_counts=True)[1]
    assert sizes.min() == sizes.max() == 5
    for row in result.replicates.iter_rows(named=True):
        kept = [u for u in lists if groups[u] != row["group"]]
        without = rw.evaluate(
            {u: lists[u] for u in kept},
            {u: truth[u] for u in kept},
            METRICS,
            items=ITEMS,
            users=users.filter(pl.col("user").is_in(kept)),
        )
        for cell, value in row.items():
            if cell != "group":
                assert value == pytest.approx(without.values[cell], rel=1e-12), cell


def groups_of(result, lists, truth, users):
    from rankwise.evaluation.user_table import JACKKNIFE, assign_jackknife_groups
    from rankwise.tables.read import read_tables

    made = assign_jackknife_groups(
        read_tables(None, truth=truth, recommendations=lists), 12, None
    ).users
    frame = result.per_user.select("user").join(
        made.frame, on="user", how="left", maintain_order="left"
    )
    return frame[JACKKNIFE].cast(pl.String).to_list()


def test_intervals_of_means():
    lists, truth, _ = data(1200)
    result = rw.evaluate(lists, truth, ["recall@5", "mrr@5"])
    values = result.per_user["recall@5"].to_numpy()
    assert result.interval("recall@5") == stats.bounded_mean_interval(values, bounds=(0, 1))
    assert result.interval("recall@5", method="t") == stats.t_interval(values)
    assert result.interval("recall@5", method="bca", seed=3) == stats.bootstrap(values, seed=3)
    few = rw.evaluate(
        {u: lists[u] for u in range(50)}, {u: truth[u] for u in range(50)}, "recall@5"
    )
    of_few = few.per_user["recall@5"].to_numpy()
    assert few.interval("recall@5") == stats.bounded_mean_interval(of_few, bounds=(0, 1))
    assert few.interval("recall@5", method="bounded") == few.interval("recall@5")
    assert few.interval("recall@5", confidence=0.5).high < few.interval("recall@5").high


def test_intervals_of_metrics_without_bounds():
    frame = pl.DataFrame({"user": range(40), "rmse": np.arange(40) ** 2.0})
    result = rw.from_per_user(frame)
    assert result.interval("rmse") == stats.bootstrap(frame["rmse"], method="studentised")
    with pytest.raises(ParameterError, match="has no bounds"):
        result.interval("rmse", method="bounded")


def test_the_interval_of_hits_is_clopper_and_pearsons():
    for hits, users in ((1, 30), (3, 60), (59, 60)):
        frame = pl.DataFrame(
            {"user": range(users), "hit_rate@5": [1.0] * hits + [0.0] * (users - hits)}
        )
        interval = rw.from_per_user(frame).interval("hit_rate@5")
        assert interval.low == pytest.approx(beta.ppf(0.025, hits, users - hits + 1), rel=0.04)
        assert interval.high == pytest.approx(beta.ppf(0.975, hits + 1, users - hits), rel=0.01)


def test_intervals_of_groups():
    lists, truth, users = data()
    users = users.with_columns(team=pl.when(pl.col("user") >= 9).then("team"), year=1999)
    result = rw.evaluate(lists, truth, ["recall@5", "gini@5"], users=users, by=["team", "year"])
    values = result.per_user["recall@5"].to_numpy()
    team = [user >= 9 for user in range(60)]
    for group, inside in (
        ("x", [t and u % 2 == 0 for u, t in enumerate(team)]),
        (None, np.invert(team)),
    ):
        found = result.interval("recall@5", by="team", group=group, method="t")
        assert found == stats.t_interval(values[inside])
        own = result.slices.filter(by="team").filter(pl.col("group").eq_missing(group))
        assert found.estimate == pytest.approx(own["recall@5"].item())
    assert result.interval("recall@5", by="year", group=1999).estimate == result["recall@5"]
    for options, said in [
        ({"by": "country"}, "no groups of users by 'country'"),
        ({"by": "taem", "group": "x"}, "did you mean 'team'"),
        ({"by": "team", "group": "z"}, "no user is in the group 'z'"),
        ({"group": "x"}, "group= needs by="),
    ]:
        with pytest.raises(ParameterError) as caught:
            result.interval("recall@5", **options)
        assert said in str(caught.value)
    with pytest.raises(MetricError, match="a group of users has no interval"):
        result.interval("gini@5", by="team", group="x")


def test_a_group_is_resampled_as_often_in_a_table_as_alone():
    lists, truth, users = data()
    result = rw.evaluate(lists, truth, "novelty@5", train=lists, users=users, by="team")
    alone = [result.interval("novelty@5", by="team", group=team) for team in "xy"]
    table = result.slice_intervals("novelty@5")
    assert table.select("low", "high").rows() == [(one.low, one.high) for one in alone]


def test_nine_clusters_are_few_and_ten_are_not():
    households = USERS.within("household")
    assert households.flags(9) == ["only 9 clusters by household"]
    assert households.flags(10) == []


def test_what_is_no_mean_needs_the_jackknife(tmp_path):
    lists, truth, _ = data()
    result = rw.evaluate(lists, truth, "gini@5")
    with pytest.raises(MetricError, match="needs the jackknife") as caught:
        result.interval("gini@5")
    assert "jackknife=64" in str(caught.value)
    with_it = rw.evaluate(lists, truth, "gini@5", jackknife=12)
    with pytest.raises(ParameterError, match="the bootstrap is not valid"):
        with_it.interval("gini@5", method="bca")
    loaded = rw.load(with_it.save(tmp_path / "out"))
    assert loaded.interval("gini@5") == with_it.interval("gini@5")
    with pytest.raises(ParameterError, match="jackknife must be a whole number from 2"):
        rw.evaluate(lists, truth, "gini@5", jackknife=1)
    with pytest.raises(MetricError, match="was not evaluated"):
        result.interval("ndcg@5")


def test_weighted_means_have_the_jackknife_too():
    lists, truth, _ = data()
    weights = {u: 1.0 + u % 3 for u in lists}
    result = rw.evaluate(lists, truth, "recall@5", weights=weights, jackknife=20)
    found = result.interval("recall@5")
    values = result.per_user["recall@5"].to_numpy()
    w = np.array([weights[u] for u in result.per_user["user"]])
    mean = (w * values).sum() / w.sum()
    error = np.sqrt((w**2 * (values - mean) ** 2).sum()) / w.sum()
    assert found.estimate == pytest.approx(mean)
    assert (found.high - found.low) / 2 / 2.09 == pytest.approx(error, rel=0.35)


@pytest.mark.deep
def test_the_jackknife_covers_the_truth_and_a_naive_bootstrap_does_not():
    """500 users, 2,000 items of Zipf popularity: what §3.7 of the protocols measured."""
    rng = np.random.default_rng(0)
    p = 1 / np.arange(1, 2001)
    scale = np.log(p / p.sum())
    truth = {user: {0} for user in range(500)}
    metrics = ["catalog_coverage@10", "gini@10", "shannon_entropy@10"]

    def lists():
        noise = rng.gumbel(size=(500, 2000)) + scale
        return np.argpartition(-noise, 10, axis=1)[:, :10]

    def evaluated(drawn, jackknife=None):
        return rw.evaluate(drawn, truth, metrics, items=range(2000), jackknife=jackknife)

    runs = [evaluated(lists()).values for _ in range(120)]
    real = {name: np.mean([run[name] for run in runs]) for name in metrics}
    spread = {name: np.std([run[name] for run in runs]) for name in metrics}
    assert real["catalog_coverage@10"] == pytest.approx(0.5654, abs=0.004)
    assert real["gini@10"] == pytest.approx(0.8107, abs=0.002)
    held = dict.fromkeys(metrics, 0)
    for _ in range(100):
        result = evaluated(lists(), 32)
        for name in metrics:
            found = result.interval(name)
            held[name] += found.low <= real[name] <= found.high
            assert (found.high - found.low) / 2 < 4 * spread[name]
    assert all(count >= 88 for count in held.values()), held
    again = [lists()[rng.integers(0, 500, 500)] for _ in range(40)]
    drawn = [evaluated(one).values for one in again]
    for name in metrics[:2]:  # a draw of users is not even near
        ends = np.quantile([run[name] for run in drawn], [0.025, 0.975])
        assert not ends[0] <= real[name] <= ends[1]


def test_power_of_a_comparison():
    lists, truth, _ = data(400)
    first = rw.evaluate(lists, truth, "recall@5")
    second = rw.evaluate({u: own[::-1] for u, own in lists.items()}, truth, ["recall@5", "mrr@5"])
    spread = first.per_user["recall@5"].std()
    expected = stats.power_of(400, 0.05 / (spread * 2**0.5))
    of_bound = rw.power(
        first, "recall@5", difference=0.05
    )  # the test of a bounded mean, below 1,000 users
    assert expected - 0.02 < of_bound < expected
    assert rw.power(first, "recall@5", difference=0.05, correlation=0.8) > expected
    assert rw.power(first, difference=0.05) == of_bound  # the only metric
    many = rw.from_per_user(
        pl.concat([first.per_user.with_columns(pl.col("user") + 400 * at) for at in range(3)])
    )
    spread_of_many = many.per_user["recall@5"].std()
    by_t = stats.power_of(1200, 0.02 / (spread_of_many * 2**0.5))
    assert by_t - 0.04 < rw.power(many, "recall@5", difference=0.02) < by_t
    needed = rw.sample_size(first, "recall@5", difference=0.05)
    assert stats.power_of(needed.users, 0.05 / (spread * 2**0.5)) >= 0.8
    assert int(needed) == needed.users
    assert needed.low < needed.users < needed.high
    assert not needed.flags
    small = rw.from_per_user(first.per_user.head(20))
    assert (
        "is a poor estimate of the variance"
        in rw.sample_size(small, "recall@5", difference=0.05).flags[0]
    )
    four = rw.from_per_user(pl.DataFrame({"user": range(4), "recall@5": [0.1, 0.2, 0.5, 0.9]}))
    few = rw.sample_size(four, "recall@5", difference=0.05)
    assert (few.low, few.high) == (None, None)
    with pytest.raises(ParameterError, match="do not vary"):
        rw.power(first, "recall@5", difference=0.1, other=second)  # the same recall
    with pytest.raises(ParameterError, match="other than 0"):
        rw.power(first, "recall@5", difference=0.0)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([0.5], "the spread of values needs two users"),
        ([0.5, 0.5], "values do not vary over users"),
    ],
)
def test_a_plan_needs_the_spread_of_values(values, said):
    pilot = rw.from_per_user(pl.DataFrame({"user": range(len(values)), "recall@5": values}))
    for function in (rw.power, rw.sample_size):
        with pytest.raises(ParameterError, match=said):
            function(pilot, "recall@5", difference=0.1)


def test_plans_read_shares_and_margins_as_comparisons_do():
    rng = np.random.default_rng(5)
    base = rng.beta(2, 6, 900)
    frame = pl.DataFrame({"user": range(900), "ndcg@5": base, "rmse": base})
    first = rw.from_per_user(frame)
    second = rw.from_per_user(
        frame.with_columns(pl.col("ndcg@5", "rmse") + rng.normal(0, 0.03, 900))
    )
    mean, plan = first["ndcg@5"], {"metric": "ndcg@5", "other": second}
    for function in (rw.power, rw.sample_size):
        assert function(first, difference="5%", **plan) == function(
            first, difference=mean * 0.05, **plan
        )
        # A share is of each user's value, which varies: nearly the number, and not quite.
        for loss in ({}, {"difference": "-1%"}):
            number = dict.fromkeys(loss, mean * -0.01)
            shares = (
                function(first, margin="3%", **loss, **plan),
                function(first, margin=mean * 0.03, **number, **plan),
            )
            assert shares[0] != shares[1]
            assert float(int(shares[0]) or shares[0]) == pytest.approx(
                float(int(shares[1]) or shares[1]), rel=0.05
            )
    spread = (second.per_user["ndcg@5"] - first.per_user["ndcg@5"]).std()
    by_t = stats.power_of(900, 0, margin=0.005 / spread)
    assert by_t - 0.15 < rw.power(first, margin=0.005, **plan) < by_t  # what the bound costs
    needed = [
        int(rw.sample_size(first, margin=0.002, difference=d, equivalence=equivalence, **plan))
        for d, equivalence in [
            (0.0005, False),
            (None, False),
            (0, False),
            (-0.0005, False),
            (None, True),
        ]
    ]
    assert needed[0] < needed[1] == needed[2] < needed[3]
    assert needed[4] > needed[1]
    plan["metric"] = "rmse"  # lower is better: a gain in it is a loss
    worse, better = (
        int(rw.sample_size(first, margin=0.002, difference=d, **plan)) for d in (0.0005, -0.0005)
    )
    assert worse > better
    assert needed[3] > worse  # it has no bound: by t


@pytest.mark.deep
def test_planned_users_show_the_margin():
    """A power of 0.8 in 400 samples has an error of 0.02; of few users that differ t needs more."""
    rng = np.random.default_rng(8)

    def draw(n):
        old, differ = rng.beta(2, 5, n), rng.random(n) < 0.3
        return old, np.where(differ, rng.beta(2, 5, n), old)

    first, second = (
        rw.from_per_user(pl.DataFrame({"user": range(20_000), "ndcg@5": v})) for v in draw(20_000)
    )
    for margin, test, least, most in (
        (0.02, stats.non_inferiority, 0.74, 0.86),
        (0.02, stats.equivalence, 0.74, 0.86),
        (0.08, stats.non_inferiority, 0.8, 1.0),
    ):
        equivalence = test is stats.equivalence
        n = int(rw.sample_size(first, margin=margin, other=second, equivalence=equivalence))
        shown = [test(*draw(n), margin=margin, largest=1.0).p < 0.05 for _ in range(400)]
        assert least <= np.mean(shown) <= most


def test_plans_that_are_refused():
    frame = pl.DataFrame(
        {"user": range(6), "ndcg@5": [0.1, 0.4, 0.3, 0.2, 0.6, 0.5], "overlap@5": [0.3, -0.3] * 3}
    )
    result = rw.from_per_user(frame)
    for options, said in [
        ({}, "pass difference=, the difference to detect, or margin="),
        ({"difference": "5"}, "a difference is a number, or a share"),
        ({"margin": "-5%"}, "a margin is a number, or a share"),
        ({"margin": 0.0}, "margin must be above 0"),
        ({"margin": 0.1, "difference": -0.1}, "a loss of the margin or more is never shown"),
        ({"difference": 1e-9}, "an effect this small needs 10**12 users or more"),
        ({"difference": 0.1, "equivalence": True}, "equivalence needs a margin"),
        ({"metric": "overlap@5", "margin": "5%"}, "equivalence=True plans"),
        (
            {"metric": "overlap@5", "margin": "5%", "equivalence": True},
            "a share of 0 is 0: pass a number",
        ),
    ]:
        with pytest.raises(ParameterError) as caught:
            rw.sample_size(result, **options)
        assert said in str(caught.value)


@pytest.mark.slow
def test_intervals_of_coverage_say_that_they_are_wide():
    """Of distinct items the jackknife gives 1.3 to 1.7 times the standard error, as simulated."""
    rng = np.random.default_rng(0)
    popular = 1 / np.arange(1, 801)
    seen, errors = [], []
    for _ in range(40):
        drawn = np.log(popular) + rng.gumbel(size=(250, 800))
        lists = dict(enumerate(np.argpartition(-drawn, 5, axis=1)[:, :5].tolist()))
        truth = {user: {0} for user in lists}
        result = rw.evaluate(lists, truth, ["coverage@5", "gini@5"], items=range(800), jackknife=32)
        interval = result.interval("coverage@5")
        seen.append(interval.estimate)
        errors.append((interval.high - interval.low) / 2 / 2.0395)  # t of 31 degrees
    assert 1.1 < np.mean(errors) / np.std(seen, ddof=1) < 1.9
    assert interval.flags == (
        "the jackknife interval of distinct items is conservative: 1.3 to 1.7 times too wide",
    )
    assert not result.interval("gini@5").flags
    other = rw.evaluate(
        {u: items[::-1] for u, items in lists.items()},
        truth,
        "coverage@5",
        items=range(800),
        jackknife=32,
    )
    assert interval.flags[0] in rw.compare(result, other, metrics="coverage@5")["B"]["flags"]


GAPS = ["group_gap(recall,user_group=team)@5", "group_ratio(recall,user_group=team)@5"]


def test_gaps_between_groups_come_from_each_users_value_and_group():
    lists, truth, users = data(200)
    result = rw.evaluate(lists, truth, ["recall@5", *GAPS], users=users, by="team", jackknife=10)
    values = result.per_user["recall@5"].to_numpy(), result.per_user["group(team)"].to_numpy()
    for name, statistic in zip(GAPS, ("gap", "ratio"), strict=True):
        interval = result.interval(name)
        assert tuple(interval) == tuple(group_interval(*values, statistic))
        assert interval.estimate == result[name]
        with pytest.raises(ParameterError, match="neither jackknife nor bootstrap"):
            result.interval(name, method="jackknife")
    without = rw.evaluate(lists, truth, GAPS, users=users, jackknife=10)
    with pytest.raises(MetricError, match="needs each user's value and group") as error:
        without.interval(GAPS[0])
    assert error.value.hint == 'evaluate recall@5 too, with by="team"'


def test_gaps_between_groups_are_compared_over_all_pairs():
    lists, truth, users = data(200)
    other = data(200, seed=1)[0]
    old, new = (
        rw.evaluate(x, truth, ["recall@5", *GAPS], users=users, by="team") for x in (lists, other)
    )
    comparison = rw.compare({"old": old, "new": new})
    gap = old.cell(GAPS[0])
    row = comparison.table.row(by_predicate=pl.col("metric") == gap, named=True)
    columns = (new.per_user["recall@5"], old.per_user["recall@5"], old.per_user["group(team)"])
    interval, p = compare_groups(*(column.to_numpy() for column in columns))
    assert (row["low_alone"], row["high_alone"], row["p"], row["test"]) == (
        *interval,
        p,
        "max-T of groups",
    )
    plain = [
        rw.evaluate(x, truth, ["recall@5", *GAPS], users=users, jackknife=10)
        for x in (lists, other)
    ]
    assert (
        'by="team"'
        in rw.compare(dict(zip(("old", "new"), plain, strict=True))).design.not_compared[gap]
    )
