"""Results held against one another: the numbers, who counts, what is refused, what is shown."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import rankwise as rw
from rankwise import stats
from rankwise.errors import MeasureError, ParameterError
from rankwise.report.comparisons import marks


def per_user(users, seed=0, shift=0.0):
    rng = np.random.default_rng(seed)
    base = np.random.default_rng(99).random(users)
    values = np.clip((rng.random(users) < 0.4) * base + shift, 0, 1)
    return pl.DataFrame({"user": range(users), "ndcg@10": values, "recall@10": np.round(values, 1)})


def results(users=1500, shifts=(0.0, 0.0, 0.05)):
    from rankwise.per_user import from_per_user

    return {name: from_per_user(per_user(users, seed, shift))
            for seed, (name, shift) in enumerate(zip("abcdefgh", shifts, strict=False))}  # fmt: skip


def test_every_number_of_a_row():
    found = rw.compare(results(), baseline="a")
    row = found["c"]
    x, y = (own.per_user["ndcg@10"].to_numpy() for own in (results()["c"], results()["a"]))
    assert row["mean_baseline"] == pytest.approx(y.mean())
    assert row["difference"] == pytest.approx((x - y).mean())
    test, interval = stats.paired_t(x, y), stats.t_interval(x, y)
    assert (row["p"], row["low"], row["high"]) == (test.p, interval.low, interval.high)
    effect = stats.effect(x, y)
    for name in ("d_z", "cliffs_delta", "wins", "ties", "losses"):
        assert row[name] == pytest.approx(getattr(effect, name))
    assert row["lift"] == pytest.approx(x.mean() / y.mean() - 1)
    assert row["lift_low"] < row["lift"] < row["lift_high"]
    assert row["users"] == 1500
    assert row["users_dropped"] == 0
    assert row["users_not_zero"] == ((x != 0) | (y != 0)).sum()
    assert row["minimum_detectable"] == pytest.approx(
        stats.minimum_detectable(1500) * (x - y).std(ddof=1)
    )
    assert row["verdict"] == "better"
    assert found["b"]["verdict"] == "undecided"
    assert "exploratory" in found["recall@10", "c"]["flags"]


def test_families_are_corrected_apart():
    found = rw.compare(results(), primary="ndcg@10").table
    for measure, method in (("ndcg@10", "holm"), ("recall@10", "bh")):
        own = found.filter(pl.col("measure") == measure)
        assert own["p_adjusted"].to_list() == pytest.approx(
            stats.adjust(own["p"].to_numpy(), method).tolist()
        )
    systems = np.stack([own.per_user["ndcg@10"].to_numpy() for own in results().values()], axis=1)
    d = np.stack([systems[:, j] - systems[:, i] for i, j in ((0, 1), (0, 2), (1, 2))], axis=1)
    together = rw.compare(results(), measures="ndcg@10", correction="max_t").table["p_adjusted"]
    assert together.to_list() == pytest.approx(stats.max_t(d).tolist())
    hsd = rw.compare(results(), measures="ndcg@10", correction="tukey").table["p_adjusted"]
    matrix = stats.tukey(systems)
    assert hsd.to_list() == pytest.approx([matrix[0, 1], matrix[0, 2], matrix[1, 2]])


@pytest.mark.parametrize(
    ("test", "name"),
    [("auto", "sign-flip"), ("t", "paired t"), ("bootstrap", "bootstrap t"),
     ("wilcoxon", "Wilcoxon"), ("sign", "sign")],
)  # fmt: skip
def test_tests(test, name):
    found = rw.compare(results(200), test=test, measures="ndcg@10", n_resamples=500)
    assert found.table["test"].unique().to_list() == [name]
    assert found.table["p"].is_between(0, 1).all()
    again = rw.compare(results(200), test=test, measures="ndcg@10", n_resamples=500)
    assert again.table.equals(found.table)


def test_equivalence_within_a_margin():
    found = rw.compare(results(), baseline="a", margin=0.04)
    assert found["b"]["verdict"] == "equivalent"
    assert found["c"]["verdict"] == "better"
    only = rw.compare(results(), baseline="a", margin={"recall@10": 0.04})
    assert only["b"]["verdict"] == "undecided"
    assert only["recall@10", "b"]["verdict"] == "equivalent"


def test_lower_is_better_turns_the_verdict():
    truth = pl.DataFrame({"user": range(40), "item": [1] * 40, "rating": [3.0] * 40})
    lists = {user: [(1, 3.0 + 0.1 * (user % 3))] for user in range(40)}
    worse = {user: [(1, 4.0 + 0.1 * (user % 3))] for user in range(40)}
    runs = {
        name: rw.evaluate(own, truth, "mean_score") for name, own in (("a", lists), ("b", worse))
    }
    assert rw.compare(runs)["b"]["verdict"] == "different"  # neither direction is better


def test_values_that_are_no_means():
    rng = np.random.default_rng(0)
    truth = {u: {int(rng.integers(50))} for u in range(300)}
    few = {u: (rng.permutation(10)[:5]).tolist() for u in truth}
    many = {u: (rng.permutation(50)[:5]).tolist() for u in truth}
    runs = {name: rw.evaluate(own, truth, ["recall@5", "gini@5"], items=range(50), jackknife=30)
            for name, own in (("few", few), ("many", many))}  # fmt: skip
    found = rw.compare(runs)
    row = found["gini@5", "many"]
    assert row["test"] == "jackknife t"
    assert row["verdict"] == "better"  # a lower Gini is
    assert row["low"] < row["difference"] < row["high"] < 0
    plain = {name: rw.evaluate(own, truth, ["recall@5", "gini@5"]) for name, own in
             (("few", few), ("many", many))}  # fmt: skip
    assert rw.compare(plain).table["measure"].to_list() == ["recall@5"]
    assert rw.compare(plain).values["measure"].to_list() == ["recall@5", "gini@5"]
    with pytest.raises(MeasureError, match="jackknife=64"):
        rw.compare(plain, measures="gini@5")


TRUTH = {user: {1: 1.0, 2: 1.0} for user in range(8)}


def run(lists=None, truth=TRUTH, **options):
    return rw.evaluate(lists or {user: [1, 3] for user in truth}, truth, "recall@2", **options)


def test_users_that_one_result_lacks():
    some = {user: [1, 3] for user in range(6)}
    first, second = run(some, population="both"), run(population="both")
    with pytest.raises(ParameterError, match="in one result, and none in another") as caught:
        rw.compare({"a": first, "b": second})
    assert "user 6 has none in a (2 such users of 8)" in str(caught.value)
    common = rw.compare({"a": first, "b": second}, missing="common")["b"]
    assert (common["users"], common["users_dropped"], common["difference"]) == (6, 2, 0)
    assert common["dropped_because"] == "2 without a value in some result"
    zero = rw.compare({"a": first, "b": second}, missing="zero")["b"]
    assert (zero["users"], zero["difference"]) == (8, 0.125)
    assert zero["dropped_because"] == "2 missing values taken for 0"


def test_users_without_a_value_anywhere_are_left_out_and_counted():
    truth = {**{user: {1: 1, 2: 1} for user in range(8)}, 8: {5: 0}}
    lists = {user: [1, 3] for user in range(9)}
    both = {name: run(lists, truth, population="all") for name in "ab"}
    row = rw.compare(both)["b"]
    assert (row["users"], row["users_dropped"]) == (8, 1)
    assert row["dropped_because"] == "1 without a value in any result"
    assert "identical" in row["flags"]


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"relevance_threshold": 1.0}, "different settings of relevance_threshold"),
        ({"population": "both"}, "different settings of population"),
        ({"undefined": "zero"}, "different settings of undefined"),
        ({"truth": {**TRUTH, 3: {1: 1.0}}}, "user 3 has 2 relevant items in a, 1 in b"),
        ({"truth": {str(user): items for user, items in TRUTH.items()}}, "ids of different types"),
    ],
)
def test_what_is_not_comparable(other, said):
    with pytest.raises(ParameterError) as caught:
        rw.compare({"a": run(), "b": run(**other)})
    assert said in str(caught.value)


def test_force_compares_all_the_same():
    other = run(truth={**TRUTH, 3: {1: 1.0}})
    assert rw.compare({"a": run(), "b": other}, force=True)["b"]["users"] == 8


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"baseline": "z"}, "there is no result 'z'"),
        ({"alpha": 5}, "alpha must lie between 0 and 1"),
        ({"test": "anova"}, "test must be one of"),
        ({"correction": "scheffe"}, "correction must be one of"),
        ({"primary": "mrr@2"}, "was not evaluated"),
        ({"measures": ["map@2"]}, "was not evaluated"),
        ({"margin": -1}, "margin must be above 0"),
        ({"n_resamples": 0}, "n_resamples must be"),
    ],
)
def test_options_that_make_no_sense(options, said):
    with pytest.raises((ParameterError, MeasureError), match=said):
        rw.compare({"a": run(), "b": run()}, **options)
    with pytest.raises(ParameterError, match="needs two results"):
        rw.compare({"a": run()})


def test_few_users_that_differ_are_flagged():
    lists = {user: [1, 2] if user < 3 else [1, 3] for user in range(8)}
    row = rw.compare({"a": run(), "b": run(lists)})["b"]
    assert row["test"] == "exact sign-flip"
    assert row["p"] == 0.25
    assert "only 3 pairs differ" in row["flags"]
    assert row["verdict"] == "undecided"
    assert row["minimum_detectable"] > 0


def test_exports():
    found = rw.compare(results(1500, (0.0, 0.04, 0.12)))
    assert "undecided (finds 0.0" in repr(rw.compare(results()))
    data = json.loads(found.export("json"))
    assert len(data["pairs"]) == 6
    assert data["settings"]["primary"] == "ndcg@10"
    assert found.export("csv").count("\n") == 7
    text = found.export("markdown")
    best = results(1500, (0.0, 0.04, 0.12))["c"]["ndcg@10"]
    assert f"**{best:.4f}**<sup>a,b</sup>" in text
    assert "Holm" in text or "holm" in text
    assert "(a a, b b, c c)" in text
    table = found.export("latex")
    assert rf"\textbf{{{best:.4f}}}$^{{a,b}}$" in table
    assert r"\underline{" in table
    assert r"ndcg@10 corrected by holm over its pairs" in table
    assert found._repr_html_().count("<tr>") == 7
    with pytest.raises(ParameterError, match="format must be one of"):
        found.export("pdf")


def test_marks_go_on_after_z():
    assert marks(3) == ["a", "b", "c"]
    assert marks(60)[25:28] == ["z", "aa", "ab"]
    assert len(set(marks(800))) == 800
    many = {
        f"s{at:02}": own for at, own in enumerate(list(results(1200, (0.0,) * 3).values()) * 10)
    }
    assert "(ab)" in rw.compare(many, baseline="s00", measures="ndcg@10").export("latex")


def test_ties_share_the_best_place():
    text = rw.compare({"a": run(), "b": run()}).export("markdown")
    assert text.count("**0.5000**") == 2


def test_simple_view_of_values():
    found = rw.compare({"a": run(), "b": run()})
    assert found.values.rows() == [("recall@2", 0.5, 0.5)]
    with pytest.raises(MeasureError, match="no single row"):
        _ = found["mrr", "b"]
