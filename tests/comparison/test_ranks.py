"""The ranks of systems in a comparison, and the intervals that hold together."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import rankwise as rw
from rankwise import stats
from rankwise.comparison.sentences import verdict_sentences
from rankwise.stats.many_systems import pairwise_p
from tools import deep

pytestmark = pytest.mark.usefixtures("one_thread")
MEANS = {"a": 0.30, "b": 0.52, "c": 0.50, "d": 0.1}


def table(n=300, seed=0, cell="ndcg@10"):
    rng = np.random.default_rng(seed)
    easy = rng.normal(0, 0.2, n)
    return {
        name: rw.from_per_user(
            pl.DataFrame({"user": np.arange(n), cell: mean + easy + rng.normal(0, 0.2, n)})
        )
        for name, mean in MEANS.items()
    }


@pytest.mark.parametrize(("n", "cell"), [(300, "surprisal@10"), (2000, "ndcg@10")])
def test_ranks_are_those_of_the_users_values(n, cell):
    results = table(n, cell=cell)
    found = rw.compare(results)
    x = np.stack([r.per_user[cell].to_numpy() for r in results.values()], axis=1)
    expected = stats.rank_systems(x, n_resamples=10_000)
    ranks = {row["system"]: row for row in found.ranks.to_dicts()}
    assert [ranks[name]["rank_low"] for name in MEANS] == expected.low.tolist()
    assert [ranks[name]["rank_high"] for name in MEANS] == expected.high.tolist()
    assert found.ranks["rank"].to_list() == [1, 2, 3, 4]
    means = sorted(x.mean(axis=0), reverse=True)
    assert found.ranks["mean"].to_list() == pytest.approx(means, rel=1e-14)
    # Also where only pairs with a baseline were tested.
    assert rw.compare(results, baseline="a").ranks.equals(found.ranks)


@pytest.mark.parametrize("cell", ["ndcg@10", "fallout@10"])
def test_ranks_of_few_users_rest_on_the_tests_of_pairs(cell):
    """Twelve ordered pairs by Holm, also where only pairs with a baseline are in the table."""
    results = table(300, cell=cell)
    found = rw.compare(results)
    assert set(found.table["test"]) == {"bounded mean"}
    k, position = len(MEANS), list(MEANS)
    p, gain = np.ones((k, k)), np.zeros((k, k))
    for row in found.table.to_dicts():
        i, j = position.index(row["system"]), position.index(row["baseline"])
        p[i, j] = p[j, i] = row["p"]
        gain[i, j] = row["difference"] * (1 if cell == "ndcg@10" else -1)
        gain[j, i] = -gain[i, j]
    shown = pairwise_p(p, gain) < 0.05
    ranks = {row["system"]: row for row in found.ranks.to_dicts()}
    assert [ranks[name]["rank_low"] for name in MEANS] == (1 + shown.sum(axis=0)).tolist()
    assert [ranks[name]["rank_high"] for name in MEANS] == (k - shown.sum(axis=1)).tolist()
    assert rw.compare(results, baseline="a").ranks.equals(found.ranks)


@pytest.mark.slow
@pytest.mark.parametrize("samples", [20, *deep(60)])
def test_no_rank_is_claimed_of_few_users_of_unlike_skewness(samples):
    """Six systems of one mean: of 30 users, t claims a rank in every fifth sample."""
    wrong = by_t = 0
    for seed in range(samples):
        rng = np.random.default_rng(seed)
        rare = [(rng.random(30) < 0.1 / size) * size for size in (0.2, 0.4, 0.6, 0.8, 1.0)]
        values = np.column_stack([0.1 + rng.normal(0, 0.01, 30), *rare])
        columns = {
            str(at): pl.DataFrame({"user": range(30), "recall@10": x})
            for at, x in enumerate(values.T)
        }
        results = {name: rw.from_per_user(frame) for name, frame in columns.items()}
        wrong += rw.compare(results).ranks["rank_low"].max() > 1
        by_t += stats.rank_systems(values, n_resamples=499).low.max() > 1
    assert wrong / samples <= 0.05
    assert by_t / samples > 0.1


def test_displays_say_who_may_be_the_best():
    found = rw.compare(table(100))
    assert "Ranks, together with 95 % confidence: b 1 to 2, c 1 to 2, a 3, d 4." in repr(found)
    said = verdict_sentences(found.table, found.design)
    assert said == ["The best system is b or c on ndcg@10; which one is not shown."]
    same = rw.compare({name: next(iter(table().values())) for name in "xyz"})
    assert verdict_sentences(same.table, same.design)[0].startswith(
        "No difference is shown on ndcg@10."
    )
    clear = rw.compare(table(5000))
    assert not any("which one" in s for s in verdict_sentences(clear.table, clear.design))


def test_small_values_may_be_the_good_ones():
    found = rw.compare(table(cell="rmse"))
    assert found.ranks["system"].to_list() == ["d", "a", "c", "b"]
    assert found.ranks["may_be_best"].all()  # a metric without a bound has no word for any users
    assert found.ranks["may_be_best_if"].to_list() == [True, False, False, False]
    assert found.ranks["condition"].is_not_null().all()


def test_seeds_and_data_sets_rank_by_all_pairs():
    seeds = {name: [] for name in MEANS}
    for seed in range(6):
        for name, result in table(seed=seed).items():
            seeds[name].append(result)
    found = rw.compare(seeds)
    assert found.ranks["system"].to_list() == ["b", "c", "a", "d"]
    assert found.ranks["rank_low"].to_list()[2:] == [3, 4]
    # One-sided p-values of twelve ordered pairs, by Holm: the largest claim is the first.
    p = min(found.table["p"])
    assert p / 2 * 12 < 0.05
    assert rw.compare(seeds, baseline="a").ranks["rank_low"].to_list()[2:] == [3, 4]
    sets = {name: {str(s): r for s, r in enumerate(some)} for name, some in seeds.items()}
    assert rw.compare(sets).ranks["system"].to_list() == ["b", "c", "a", "d"]


def test_where_ranks_say_nothing():
    results = table()
    assert rw.compare(results["a"], results["b"]).ranks.is_empty()  # the pair says it
    teams = pl.Series("group(team)", [str(u % 2) for u in range(300)])
    grouped = {
        n: rw.from_per_user(r.per_user.select("user", "ndcg@10").with_columns(teams))
        for n, r in results.items()
    }
    assert rw.compare(grouped, by="team").ranks.is_empty()
    assert rw.compare(table(cell="unknown to rankwise")).ranks.is_empty()


def test_intervals_hold_together():
    """By max-T they are narrower than by Bonferroni, and agree with the test that they invert."""
    results = table()
    holm, max_t = (rw.compare(results, correction=name).table for name in ("holm", "max_t"))
    width = [(t["high_together"] - t["low_together"]) for t in (holm, max_t)]
    assert (width[1] < width[0]).all()
    alone = max_t["high_alone"] - max_t["low_alone"]
    assert (width[1] > alone).all()
    excluded = (max_t["low_together"] > 0) | (max_t["high_together"] < 0)
    assert excluded.to_list() == [v in ("better", "worse") for v in max_t["verdict"]]
