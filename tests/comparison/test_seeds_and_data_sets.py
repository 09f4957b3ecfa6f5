"""`compare` of systems with several seeds and on several data sets: rows, checks, displays."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

import rankwise as rw
from rankwise import stats
from rankwise.comparison.design import SeedCounts
from rankwise.comparison.sentences import pair_sentence
from rankwise.core.terminal import brief, decimals
from rankwise.errors import InputError, MetricError, ParameterError

USERS = 60


def result(gain=0.0, seed=0, users=USERS, name="ndcg@10"):
    """Users' values: the same users are easy for all systems, and the seed adds noise."""
    easy = np.random.default_rng(99).beta(0.5, 2, users)
    noise = np.random.default_rng([seed, 1]).normal(gain, 0.05, users)
    frame = {"user": np.arange(users), name: easy + noise, "mrr@10": easy - noise}
    return rw.from_per_user(pl.DataFrame(frame))


def values(results, cell="ndcg@10"):
    return np.array([r.per_user[cell].to_numpy() for r in results])


def widest(x, y, by_t):
    """Return p and interval of a row below 1,000 users: those of the bounded mean as well, the wider of both."""
    d = x.mean(axis=0) - y.mean(axis=0)
    bound = stats.bounded_interval(d, largest=1.0)
    limits = min(by_t.interval.low, bound.low), max(by_t.interval.high, bound.high)
    return max(by_t.p, stats.bounded_test(d, largest=1.0).p), limits


A, B = [result(0.0, seed) for seed in range(4)], [result(0.02, seed) for seed in range(10, 13)]


def test_a_row_is_the_two_level_t_of_both_systems():
    row = rw.compare({"a": A, "b": B})["b"]
    expected = stats.two_level(values(B), values(A))
    p, limits = widest(values(B), values(A), expected)
    assert (row["test"], row["seeds_baseline"], row["seeds_system"]) == (
        "two-level t, bounded mean",
        4,
        3,
    )
    assert row["difference"] == pytest.approx(values(B).mean() - values(A).mean(), abs=1e-15)
    assert (row["low"], row["high"]) == pytest.approx(limits)
    assert row["p"] == pytest.approx(p)
    total = expected.variance_of_seeds + expected.variance_of_users
    assert row["share_of_seeds"] == pytest.approx(expected.variance_of_seeds / total)
    assert row["seeds_to_halve"] == expected.seeds_to_halve
    assert row["deviation_system"] == pytest.approx(values(B).mean(axis=1).std(ddof=1))
    assert row["lift_low"] < row["lift"] < row["lift_high"]
    assert row["lift"] == pytest.approx(row["difference"] / row["mean_baseline"])
    assert "3 seeds of b tell little about the variance of seeds" in row["flags"]
    assert row["mean_system"] == pytest.approx(values(B).mean())


def test_seeds_are_paired_where_each_has_a_split_of_its_own():
    truths = [
        {u: {u % 7, (u + s) % 11 + 20, *range(50, 50 + s)} for u in range(USERS)} for s in range(3)
    ]
    one = [rw.evaluate({u: [u % 7, 99] for u in t}, t, "recall@2") for t in truths]
    other = [
        rw.evaluate({u: [u % 7, (u + s) % 11 + 20] for u in t}, t, "recall@2")
        for s, t in enumerate(truths)
    ]
    found = rw.compare({"one": one, "other": other})
    assert found.design.seeds == SeedCounts("paired", {"one": 3, "other": 3})
    x, y = values(other, "recall@2"), values(one, "recall@2")
    expected = stats.two_level(x, y, paired=True)
    assert found["other"]["p"] == pytest.approx(expected.p)
    # Of one split they are independent, unless it is said; of other splits they cannot be.
    assert rw.compare({"a": A, "b": A[:1] + B}).design.seeds.design == "independent"
    assert rw.compare({"a": A[:3], "b": B}, seeds="paired").design.seeds.design == "paired"
    with pytest.raises(ParameterError, match="different truths"):
        rw.compare({"one": one, "other": other}, seeds="independent")
    with pytest.raises(ParameterError, match="different truths"):
        rw.compare({"one": one, "other": [*reversed(other)]})
    with pytest.raises(ParameterError, match="as many for every system"):
        rw.compare({"a": A, "b": B}, seeds="paired")


def test_one_seed_is_a_system_without_seeds_and_says_so():
    row = rw.compare({"a": A[0], "b": B})["b"]
    expected = stats.two_level(values(B), values(A[:1]))
    assert row["p"] == pytest.approx(widest(values(B), values(A[:1]), expected)[0])
    assert "one seed of a: treated as a system without seeds" in row["flags"]
    assert math.isnan(row["deviation_baseline"])
    same = [rw.from_per_user(B[0].per_user) for _ in range(3)]
    row = rw.compare({"a": A, "b": same})["b"]
    assert "all 3 seeds of b have the same mean" in row["flags"]


def test_one_result_for_each_system_is_what_it_was():
    plain = rw.compare({"a": A[0], "b": B[0]}).table
    assert plain.equals(rw.compare({"a": [A[0]], "b": [B[0]]}).table)
    assert plain["seeds_system"].null_count() == len(plain)


def test_positions_take_seeds_as_well():
    assert (
        rw.compare(A, B).table["p"].to_list() == rw.compare({"A": A, "B": B}).table["p"].to_list()
    )


def test_margins_hold_over_seeds():
    """A claim about users is not stronger for being one about seeds as well."""
    many = {
        "a": [result(0.0, s, 3000) for s in range(2)],
        "b": [result(0.0, s, 3000) for s in range(20, 22)],
    }
    row = rw.compare(many, margin=0.01)["b"]
    means = {name: values(some).mean(axis=0) for name, some in many.items()}
    of_users = rw.compare(
        {
            name: rw.from_per_user(pl.DataFrame({"user": np.arange(3000), "ndcg@10": mean}))
            for name, mean in means.items()
        },
        margin=0.01,
    )["b"]
    assert row["p_equivalence"] > of_users["p_equivalence"]
    assert row["p_non_inferior"] > of_users["p_non_inferior"]
    assert row["users_needed"] is None


def test_groups_of_users_have_seeds_too():
    teams = pl.Series("group(team)", ["x" if u % 2 else "y" for u in range(USERS)])

    def grouped(results):
        return [
            rw.from_per_user(r.per_user.select("user", "ndcg@10").with_columns(teams))
            for r in results
        ]

    found = rw.compare({"a": grouped(A), "b": grouped(B)}, by="team")
    x, y = values(B)[:, 1::2], values(A)[:, 1::2]
    assert found["ndcg@10", "b", "x"]["p"] == pytest.approx(widest(x, y, stats.two_level(x, y))[0])


def test_what_is_no_mean_of_users_varies_by_the_jackknife_and_by_seeds():
    rng = np.random.default_rng(0)
    truth = {u: {u % 9} for u in range(120)}

    def trained(spread):
        return [
            rw.evaluate(
                {u: rng.choice(spread, 3, replace=False).tolist() for u in truth},
                truth,
                "gini@3",
                jackknife=16,
            )
            for _ in range(3)
        ]

    few, many = trained(12), trained(40)
    row = rw.compare({"few": few, "many": many}, primary="gini@3")["many"]
    users = stats.jackknife(
        0.0,
        sum(r.replicates["gini@3"] for r in many) / 3
        - sum(r.replicates["gini@3"] for r in few) / 3,
    )
    spread = [np.var([r["gini@3"] for r in some], ddof=1) / 3 for some in (few, many)]
    assert row["test"] == "jackknife two-level t"
    assert row["share_of_seeds"] == pytest.approx(
        sum(spread) / (sum(spread) + (users.high / 2.131449545559323) ** 2), rel=1e-6
    )  # the quantile of t with 15 degrees of freedom
    assert row["low"] < row["difference"] < row["high"]


SETS = {"films": 60, "books": 200, "music": 1500}


def over_sets(seeds=1):
    def on(gain, start, users):
        some = [result(gain, start + s, users) for s in range(seeds)]
        return some if seeds > 1 else some[0]

    return {
        name: {
            data: on(gain, start + 10 * at, users) for at, (data, users) in enumerate(SETS.items())
        }
        for name, gain, start in (("a", 0.0, 0), ("b", 0.02, 100), ("c", 0.021, 200))
    }


@pytest.mark.parametrize("seeds", [1, 3])
def test_data_sets_are_a_sample_of_their_own(seeds):
    found = rw.compare(over_sets(seeds), baseline="a")
    row = found["ndcg@10", "b"]
    each = [found["ndcg@10", "b", name] for name in SETS]
    expected = stats.over_data_sets([one["difference"] for one in each])
    assert (row["low"], row["high"], row["p"]) == pytest.approx((*expected.interval, expected.p))
    assert (row["primary"], row["data_sets"], row["users"]) == (True, 3, sum(SETS.values()))
    assert (row["wins"], row["ties"], row["losses"]) == (3, 0, 0)
    assert not any(one["primary"] for one in each)
    assert row["error_rate"] == "family-wise"
    assert {one["error_rate"] for one in each} == {"false discovery rate"}
    # Holm over the two pairs, whatever the number of data sets.
    p = sorted(found["ndcg@10", name]["p"] for name in "bc")
    adjusted = sorted(found["ndcg@10", name]["p_adjusted"] for name in "bc")
    assert adjusted == pytest.approx([2 * p[0], max(2 * p[0], p[1])])
    bounded = "two-level t, bounded mean"
    assert {one["test"] for one in each} == {"bounded mean" if seeds == 1 else bounded}
    assert found.values.columns[:4] == ["metric", "a, films", "a, books", "a, music"]


def test_a_data_set_alone_is_what_it_is_without_others():
    whole = over_sets()
    found = rw.compare(whole, baseline="a")["ndcg@10", "c", "books"]
    alone = rw.compare({name: by_set["books"] for name, by_set in whole.items()}, baseline="a")["c"]
    names = ("difference", "low_alone", "high_alone", "p", "test", "d_z")
    assert {key: found[key] for key in names} == {key: alone[key] for key in names}


@pytest.mark.slow
def test_a_margin_is_not_cleared_over_few_data_sets():
    """A rare loss on other data sets has not been seen."""
    found = rw.compare(over_sets(), baseline="b", margin=0.05)
    row = found["ndcg@10", "c"]
    assert math.isnan(row["p_equivalence"])
    assert math.isnan(row["p_non_inferior"])
    assert "margin not tested over so few data sets" in row["flags"]
    assert found["ndcg@10", "c", "music"]["p_equivalence"] < 0.05
    many = {
        name: {str(at): result(gain, 1000 * at + start, 20) for at in range(60)}
        for name, gain, start in (("a", 0.0, 0), ("b", 0.0, 1))
    }
    row = rw.compare(many, margin=0.02, n_resamples=99)["ndcg@10", "b"]
    assert row["within_margin"]
    assert row["p_non_inferior"] < 0.05


@pytest.mark.slow
def test_a_loss_of_exactly_the_margin_on_every_data_set_is_not_within_it():
    def two(*values):
        return rw.from_per_user(pl.DataFrame({"user": [1, 2], "ndcg@10": values}))

    easy = {str(at): (at / 64, at / 64 + 0.25) for at in range(1, 31)}
    whole = {name: two(*values) for name, values in easy.items()}
    half = {name: two(values[0] / 2, values[1] / 2) for name, values in easy.items()}
    row = rw.compare({"a": whole, "b": half}, margin="50%", test="t")["ndcg@10", "b"]
    assert (row["p_non_inferior"], row["p_equivalence"]) == (1, 1)
    assert (row["lift_low"], row["lift_high"]) == pytest.approx((-0.5, -0.5))


def test_data_sets_that_do_not_vary_are_as_few_as_they_are():
    """0.4 − 0.3 and 0.5 − 0.4 differ by rounding, which is no variance."""

    def two(values):
        return rw.from_per_user(pl.DataFrame({"user": [1, 2], "ndcg@10": values}))

    found = rw.compare(
        {
            "a": {"x": two([0.2, 0.4]), "y": two([0.5, 0.7])},
            "b": {"x": two([0.3, 0.5]), "y": two([0.6, 0.8])},
        }
    )
    row = found["ndcg@10", "b"]
    assert (row["p"], row["verdict"]) == (0.5, "not shown")
    assert math.isnan(row["low"])
    assert math.isnan(row["minimum_detectable"])
    assert "data sets do not vary" in row["flags"]
    assert stats.over_data_sets([0.4 - 0.3, 0.5 - 0.4]).p == 0.5


def test_nobody_in_common():
    other = rw.from_per_user(pl.DataFrame({"user": [1001, 1002], "ndcg@10": [0.1, 0.4]}))
    with pytest.raises(MetricError, match="no user has a value in every result"):
        rw.compare({"a": A, "b": [other, B[0]]}, metrics="ndcg@10", missing="common")
    endless = rw.from_per_user(pl.DataFrame({"user": [0, 1], "ndcg@10": [math.inf, 0.4]}))
    with pytest.raises(InputError, match="infinite"):
        rw.compare({"a": [A[0], endless], "b": B}, metrics="ndcg@10", missing="common")


def test_a_seed_that_was_given_twice_is_noticed():
    again = [*B, rw.from_per_user(B[0].per_user)]
    assert (
        "some of 4 seeds of b have the same mean: given twice?"
        in rw.compare({"a": A, "b": again})["b"]["flags"]
    )
    assert math.isnan(rw.compare({"a": A, "b": B})["b"]["minimum_detectable"])
    many = [result(0.02, seed) for seed in range(20, 25)]
    assert rw.compare({"a": [*A, result(0.0, 9)], "b": many})["b"]["minimum_detectable"] > 0


def test_tables_verdicts_and_latex_say_what_is_a_sample():
    found = rw.compare({"a": A, "b": B, "one": result(0.05, 50)})
    text = repr(found)
    assert "Values are means over seeds (a: 4, b: 3, one: 1), independent" in " ".join(text.split())
    for form in ("latex", "markdown"):
        table = found.export(form)
        deviation = brief(
            values(B).mean(axis=1).std(ddof=1), decimals(values(B).mean(axis=1).std(ddof=1)) - 1
        )
        assert deviation.removeprefix("0") in table
        assert "standard deviation between seeds" in table
    assert r"\,{\scriptsize$\pm$." in found.export("latex")
    assert "4 each" not in found.export("methods")
    assert "Values are means over seeds (a: 4, b: 3, one: 1)" in found.export("methods")
    (row,) = found.table.filter("primary", system="one", baseline="a").to_dicts()
    assert "(1 and 4 seeds)" in pair_sentence(row, found.design)
    over = rw.compare(over_sets(), baseline="a")
    assert "Over 3 data sets, as a random sample" in repr(over)
    table = over.export("latex")
    assert r"\multicolumn{2}{c}{mean of data sets" in table
    assert table.count(r"\multicolumn") == 4
    assert r"\cmidrule(lr){2-3}" in table
    assert "over 3 data sets" in pair_sentence(over["ndcg@10", "b"], over.design)


def test_what_is_saved_is_read_again(tmp_path):
    for given in ({"a": A, "b": B}, over_sets(2)):
        found = rw.compare(given)
        again = rw.Comparison.load(found.save(tmp_path / str(len(given))))
        assert again.table.equals(found.table)
        assert again.design == found.design
        assert list(again.results) == list(found.results)
    assert list(found.results)[:2] == ["a, films, seed 1", "a, films, seed 2"]


@pytest.mark.parametrize(
    ("go", "said"),
    [
        (lambda: rw.compare({"a": A, "b": []}), "one result per seed"),
        (lambda: rw.compare({"a": A, "b": "x"}), "one result per seed"),
        (lambda: rw.compare({"a": A, "b": [B[0], 3]}), "one result per seed"),
        (lambda: rw.compare({"a": A}), "two results"),
        (lambda: rw.compare({"a": A, "b": [B[0], B[0]]}), "given for two seeds"),
        (lambda: rw.compare({"a": {"x": A}, "b": B}), "same data sets"),
        (lambda: rw.compare({"a": {"x": A, "y": A}, "b": {"x": B}}), "same data sets"),
        (lambda: rw.compare({"a": A, "b": B}, test="wilcoxon"), "seeds, clusters or noise"),
        (lambda: rw.compare({"a": A, "b": B}, correction="max_t"), "single results"),
        (lambda: rw.compare(over_sets(), by="team"), "on one data set"),
        (lambda: rw.compare({"a": A, "b": B}, seeds="both"), "seeds must be one of"),
        (lambda: rw.compare({"a": A, "b": B}, baseline="a, seed 1"), "there is no result"),
        (lambda: rw.compare({"a": A, "b": B}).report(), "one result per system"),
        (
            lambda: rw.decide(rw.compare({"a": A, "b": B}), success="ndcg@10"),
            "one result per system",
        ),
        (lambda: rw.compare({"a": {"": A, "x": A}, "b": {"": B, "x": B}}), "one result per seed"),
        (lambda: rw.decide({"a": A, "b": B}, success="ndcg@10"), "one result per system"),
        (lambda: rw.sample_size(A, difference=0.1), "is one result"),
        (lambda: rw.sample_size(A[0], difference="x"), "difference"),
        (lambda: rw.compare({"a": A, "b": B, "a, seed 1": B[0]}), "one name"),
    ],
)
def test_what_is_refused(go, said):
    with pytest.raises(ParameterError, match=said):
        go()


def test_the_primary_metric_is_on_every_data_set():
    gap = rw.from_per_user(pl.DataFrame({"user": [1, 2], "ndcg@10": [math.nan, math.nan]}))
    given = {name: {"x": some[0], "y": gap} for name, some in (("a", A), ("b", B))}
    with pytest.raises(MetricError, match="ndcg@10"):
        rw.compare(given, primary="ndcg@10")
