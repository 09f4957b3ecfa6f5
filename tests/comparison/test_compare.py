"""Results held against one another: the numbers, who counts, what is refused, what is shown."""

from __future__ import annotations

import json
import math
import re
import sys

import numpy as np
import polars as pl
import pytest

import rankwise as rw
from rankwise import stats
from rankwise.comparison.systems import marks
from rankwise.core.terminal import brief, plain
from rankwise.errors import InputError, MetricError, ParameterError

pytestmark = pytest.mark.usefixtures("one_thread")


def per_user(users, seed=0, shift=0.0):
    rng = np.random.default_rng(seed)
    base = np.random.default_rng(99).random(users)
    values = np.clip((rng.random(users) < 0.4) * base + shift, 0, 1)
    return pl.DataFrame({"user": range(users), "ndcg@10": values, "recall@10": np.round(values, 1)})


def results(users=1500, shifts=(0.0, 0.0, 0.05)):
    from rankwise.results.per_user import from_per_user

    return {
        name: from_per_user(per_user(users, seed, shift))
        for seed, (name, shift) in enumerate(zip("abcdefgh", shifts, strict=False))
    }


def test_every_number_of_a_row():
    found = rw.compare(results(), baseline="a")
    row = found["c"]
    x, y = (own.per_user["ndcg@10"].to_numpy() for own in (results()["c"], results()["a"]))
    assert row["mean_baseline"] == pytest.approx(y.mean())
    assert row["difference"] == pytest.approx((x - y).mean())
    test = stats.bounded_test(x, y, largest=1.0)
    interval = stats.bounded_interval(x, y, largest=1.0)
    assert (row["p"], row["p_design"]) == (
        pytest.approx(test.p, rel=1e-9),
        stats.paired_t(x, y).p,
    )
    assert (row["low_alone"], row["high_alone"]) == pytest.approx(
        (interval.low, interval.high), abs=1e-6
    )
    corrected = stats.bounded_interval(
        x, y, largest=1.0, confidence=row["confidence"]
    )  # one of two pairs is shown: both at 97.5 %
    assert row["confidence"] == 0.975
    assert (row["low"], row["high"]) == pytest.approx((corrected.low, corrected.high), abs=1e-6)
    effect = stats.effect(x, y)
    for name in ("d_z", "cliffs_delta", "wins", "ties", "losses"):
        assert row[name] == pytest.approx(getattr(effect, name))
    assert row["lift"] == pytest.approx(x.mean() / y.mean() - 1)
    assert row["lift_low"] < row["lift"] < row["lift_high"]
    assert row["users"] == 1500
    assert row["users_dropped"] == 0
    assert row["users_not_zero"] == ((x != 0) | (y != 0)).sum()
    detectable = stats.minimum_detectable(1500, alpha=0.05 / 2) * (x - y).std(
        ddof=1
    )  # of two pairs
    assert detectable < row["minimum_detectable"] < 1.1 * detectable  # an unseen user may lose all
    assert row["verdict"] == "better"
    assert found["b"]["verdict"] == "not shown"
    assert not found["recall@10", "c"]["primary"]


def test_means_are_those_of_the_results():
    """To the last bit: what is compared is what was published."""
    rng = np.random.default_rng(3)
    given = {
        name: rw.from_per_user(pl.DataFrame({"user": range(999), "mrr": rng.random(999)}))
        for name in "abc"
    }
    for row in rw.compare(given, baseline="a").table.to_dicts():
        assert row["mean_baseline"] == given["a"]["mrr"]
        assert row["mean_system"] == given[row["system"]]["mrr"]
        assert given[row["system"]].interval("mrr").estimate == row["mean_system"]


def test_users_in_any_order():
    """Users in one order that does not ascend, and in different orders."""
    tables = [
        per_user(1200, seed).with_columns(pl.format("u{}", "user").alias("user")) for seed in (0, 1)
    ]
    order = np.random.default_rng(0).permutation(1200)
    expected = rw.compare(*map(rw.from_per_user, tables)).table
    for some in ([t[order] for t in tables], [tables[0], tables[1][order]]):
        assert rw.compare(*map(rw.from_per_user, some)).table.equals(expected)


def test_families_are_corrected_apart():
    found = rw.compare(results(), primary="ndcg@10").table
    for metric, method in (("ndcg@10", "holm"), ("recall@10", "bh")):
        own = found.filter(pl.col("metric") == metric)
        assert own["p_adjusted"].to_list() == pytest.approx(
            stats.adjust(own["p"].to_numpy(), method).tolist()
        )
    systems = np.stack([own.per_user["ndcg@10"].to_numpy() for own in results().values()], axis=1)
    d = np.stack([systems[:, j] - systems[:, i] for i, j in ((0, 1), (0, 2), (1, 2))], axis=1)
    together = rw.compare(results(), metrics="ndcg@10", correction="max_t").table["p_adjusted"]
    assert (together.to_numpy() >= stats.max_t(d) - 1e-9).all()  # the bound has to show it, too
    by_t = rw.compare(results(), metrics="ndcg@10", correction="max_t", test="t")
    assert by_t.table["p_adjusted"].to_list() == pytest.approx(stats.max_t(d).tolist())
    hsd = rw.compare(results(), metrics="ndcg@10", correction="tukey", test="t").table["p_adjusted"]
    matrix = stats.tukey(systems)
    assert hsd.to_list() == pytest.approx([matrix[0, 1], matrix[0, 2], matrix[1, 2]])


def test_intervals_by_tukey_are_equally_wide():
    given = results(400)
    rows = rw.compare(given, metrics="ndcg@10", correction="tukey", test="t").table.to_dicts()
    values = np.stack([one.per_user["ndcg@10"].to_numpy() for one in given.values()], axis=1)
    half = 3.3145 * np.sqrt(values.var(axis=1, ddof=1).mean() / 400)  # 95 % of 3 systems
    for row in rows:
        assert row["high"] - row["difference"] == pytest.approx(half, rel=1e-4)
        assert row["difference"] - row["low"] == pytest.approx(half, rel=1e-4)


@pytest.mark.parametrize(
    ("test", "name"),
    [
        ("auto", "bounded mean"),
        ("bounded", "bounded mean"),
        ("sign_flip", "sign-flip"),
        ("t", "paired t"),
        ("bootstrap", "bootstrap t"),
        ("wilcoxon", "Wilcoxon"),
        ("sign", "sign"),
    ],
)
def test_tests(test, name):
    found = rw.compare(results(200), test=test, metrics="ndcg@10", n_resamples=500)
    assert found.table["test"].unique().to_list() == [name]
    assert found.table["p"].is_between(0, 1).all()
    again = rw.compare(results(200), test=test, metrics="ndcg@10", n_resamples=500)
    assert again.table.equals(found.table)


def test_equivalence_within_a_margin():
    found = rw.compare(results(), baseline="a", margin=0.04)
    assert found["b"]["verdict"] == "equivalent"
    assert found["c"]["verdict"] == "better"
    only = rw.compare(results(), baseline="a", margin={"recall@10": 0.04})
    assert only["b"]["verdict"] == "not shown"
    assert only["recall@10", "b"]["verdict"] == "equivalent"


def test_lower_is_better_turns_the_verdict():
    truth = pl.DataFrame({"user": range(40), "item": [1] * 40, "rating": [3.0] * 40})
    lists = {user: [(1, 3.0 + 0.1 * (user % 3))] for user in range(40)}
    worse = {user: [(1, 4.0 + 0.1 * (user % 3))] for user in range(40)}
    runs = {
        name: rw.evaluate(own, truth, "mean_score") for name, own in (("a", lists), ("b", worse))
    }
    assert rw.compare(runs)["b"]["verdict"] == "different if"  # neither direction is better


def test_values_that_are_no_means():
    rng = np.random.default_rng(0)
    truth = {u: {int(rng.integers(50))} for u in range(300)}
    few = {u: (rng.permutation(10)[:5]).tolist() for u in truth}
    many = {u: (rng.permutation(50)[:5]).tolist() for u in truth}
    runs = {
        name: rw.evaluate(own, truth, ["recall@5", "gini@5"], items=range(50), jackknife=30)
        for name, own in (("few", few), ("many", many))
    }
    found = rw.compare(runs)
    row = found["gini@5", "many"]
    assert row["test"] == "jackknife t"
    assert row["verdict"] == "better"  # a lower Gini is
    assert row["low"] < row["difference"] < row["high"] < 0
    plain = {
        name: rw.evaluate(own, truth, ["recall@5", "gini@5"])
        for name, own in (("few", few), ("many", many))
    }
    assert rw.compare(plain).table["metric"].to_list() == ["recall@5"]
    assert rw.compare(plain).values["metric"].to_list() == ["recall@5", "gini@5"]
    said = "Not compared: gini@5: it is not a mean over users (evaluate with jackknife=64)."
    assert said in repr(rw.compare(plain))
    with pytest.raises(MetricError, match="jackknife=64"):
        rw.compare(plain, metrics="gini@5")


TRUTH = {user: {1: 1.0, 2: 1.0} for user in range(8)}


def run(lists=None, truth=TRUTH, metrics="recall@2", **options):
    return rw.evaluate(lists or {user: [1, 3] for user in truth}, truth, metrics, **options)


def test_users_that_one_result_lacks():
    some = {user: [1, 3] for user in range(6)}
    first, second = run(some, population="both"), run(population="both")
    with pytest.raises(ParameterError, match="in one result, and none in another") as caught:
        rw.compare({"a": first, "b": second})
    assert "user 6 has none in a (2 such users of 8)" in str(caught.value)
    common = rw.compare({"a": first, "b": second}, missing="common")["b"]
    assert (common["users"], common["users_dropped"], common["difference"]) == (6, 2, 0)
    assert common["dropped_because"] == "2 excluded: no value in at least one result"
    zero = rw.compare({"a": first, "b": second}, missing="zero")["b"]
    assert (zero["users"], zero["difference"]) == (8, 0.125)
    assert zero["dropped_because"] == "2 missing values taken for 0"


def test_users_without_a_value_anywhere_are_left_out_and_counted():
    truth = {**{user: {1: 1, 2: 1} for user in range(8)}, 8: {5: 0}}
    lists = {user: [1, 3] for user in range(9)}
    both = {name: run(lists, truth, population="all") for name in "ab"}
    row = rw.compare(both)["b"]
    assert (row["users"], row["users_dropped"]) == (8, 1)
    assert row["dropped_because"] == "1 excluded: no value in any result"
    assert "identical" in row["flags"]


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"relevance_threshold": 1.0}, "different settings of relevance_threshold"),
        ({"population": "both"}, "different settings of population"),
        ({"undefined": "zero"}, "different settings of undefined"),
        ({"without_list": "zero"}, "different settings of without_list"),
        ({"truth": {**TRUTH, 3: {1: 1.0}}}, "user 3 has 2 relevant items in a, 1 in b"),
        (
            {"truth": {str(user): items for user, items in TRUTH.items()}},
            "integers in one result and strings in another",
        ),
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
        ({"baseline": ["a"]}, r"there is no result \['a'\]"),
        ({"metrics": 5}, "not the text of a metric"),
        ({"margin": "x"}, "a margin is a number, or a share"),
        ({"margin": {"recall@2": "x"}}, "a margin is a number, or a share"),
        ({"alpha": 5}, "alpha must lie between 0 and 1"),
        ({"test": "anova"}, "test must be one of"),
        ({"correction": "scheffe"}, "correction must be one of"),
        ({"primary": "mrr@2"}, "was not evaluated"),
        ({"metrics": ["map@2"]}, "was not evaluated"),
        ({"margin": -1}, "margin must be above 0"),
        ({"n_resamples": 0}, "n_resamples must be"),
    ],
)
def test_options_that_make_no_sense(options, said):
    with pytest.raises((ParameterError, MetricError), match=said):
        rw.compare({"a": run(), "b": run()}, **options)


RUN = run()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "as separate arguments, or by name"),
        ([5], "as separate arguments, or by name"),
        ([{}], "as separate arguments, or by name"),
        ([None, None], "as separate arguments, or by name"),
        ([{"a": RUN}, RUN], "as separate arguments, or by name"),
        ([[RUN, RUN]], "as separate arguments, or by name"),
        ([RUN], "needs two results"),
        ([{"a": RUN}], "needs two results"),
        ([{"a": RUN, "b": 5}], "'b': int"),
        ([{1: RUN, "b": RUN}], "1: Result"),
    ],
)
def test_what_is_no_results(given, said):
    with pytest.raises(ParameterError) as caught:
        rw.compare(*given)
    assert said in str(caught.value)


def test_results_one_after_the_other():
    found = rw.compare(*results().values())
    named = rw.compare(dict(zip("ABC", results().values(), strict=True)), baseline="A")
    assert found.table.equals(named.table)
    assert rw.compare(*results().values(), baseline="C").design.baseline == "C"
    assert list(rw.compare(*[run()] * 28).values.columns)[-2:] == ["AA", "AB"]


def test_the_files_of_results_without_names(tmp_path):
    for name in ("one", "two"):
        pl.DataFrame({"user": [*TRUTH], "item": [1] * 8}).write_csv(tmp_path / f"{name}.csv")
    first, second = (run(tmp_path / f"{name}.csv") for name in ("one", "two"))
    assert (
        f"A: {tmp_path}/one.csv, B: {tmp_path}/two.csv" in rw.compare(first, second).views[-1].notes
    )
    assert "one.csv" not in repr(rw.compare({"a": first, "b": second}))


def test_both_means_are_shown_within_80_columns(monkeypatch):
    against = rw.compare(results(), baseline="a")
    lines = [line.split() for line in repr(against).split("\n\n")[1].splitlines()]
    assert lines[0][-6:] == ["mean", "difference", "97.5", "%", "interval", "(Holm)"]
    assert [line[:2] for line in lines[1:]] == [
        [name, brief(results()[name]["ndcg@10"])]
        for name in against.table["system"].to_list()[:0] or ["a", "c", "b"]
    ]
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for columns in (80, 100, 160):
        monkeypatch.setenv("COLUMNS", str(columns))
        for found in (against, rw.compare(results())):
            assert max(map(len, repr(found).splitlines())) <= columns
    assert "d_z" in repr(against)


def test_a_verdict_is_coloured_in_a_terminal_that_takes_colours():
    views = rw.compare(results(1500, (0.0, 0.04, 0.12)), baseline="a").views
    text = plain(*views, coloured=True)
    assert "\x1b[1;36mbetter\x1b[0m" in text
    assert re.sub("\x1b\\[[0-9;]*m", "", text) == plain(*views)


def test_few_users_that_differ_are_flagged():
    lists = {user: [1, 2] if user < 3 else [1, 3] for user in range(8)}
    row = rw.compare({"a": run(), "b": run(lists)})["b"]
    assert row["test"] == "bounded mean"
    assert 0.5 < row["p"] < 0.7
    assert "only 3 pairs differ" in row["flags"]
    assert row["verdict"] == "not shown"
    assert row["minimum_detectable"] > 0.5
    by_signs = rw.compare({"a": run(), "b": run(lists)}, test="sign_flip")["b"]
    assert (by_signs["test"], by_signs["p"]) == ("exact sign-flip", 0.25)
    assert by_signs["minimum_detectable"] == np.inf  # no outcome of 3 signs is significant at 0.05


def test_exports():
    found = rw.compare(results(1500, (0.0, 0.04, 0.12)))
    (_, full) = rw.compare(results()).views_at("full")
    assert "detectable" in full.head
    assert "not shown" in {
        cell.text for row in full.rows for cell in row if not isinstance(cell, str)
    }
    data = json.loads(found.export("json"))
    assert len(data["pairs"]) == 6
    assert data["design"]["primary"] == "ndcg@10"
    assert found.export("csv").count("\n") == 7
    text = found.export("markdown")
    best = f"{results(1500, (0.0, 0.04, 0.12))['c']['ndcg@10']:.3f}".removeprefix("0")
    assert (
        f"**{best}**<sup>b,c</sup>" in text
    )  # letters are in the order of the table, the best first
    assert "Holm over 3 pairs" in text
    assert "(a c, b b, c a; bounded mean" in text
    table = found.export("latex")
    assert rf"\textbf{{{best}}}$^{{b,c}}$" in table
    assert r"\underline{" in table
    assert (
        "NDCG@10 is the primary metric (Holm over 3 pairs); the other metrics are exploratory"
        in table
    )
    assert found._repr_html_().count("<tr>") == 6
    with pytest.raises(ParameterError, match="format must be one of"):
        found.export("pdf")


def test_marks_go_on_after_z():
    assert marks(3) == ["a", "b", "c"]
    assert marks(60)[25:28] == ["z", "aa", "ab"]
    assert len(set(marks(800))) == 800
    many = {
        f"s{at:02}": own for at, own in enumerate(list(results(1200, (0.0,) * 3).values()) * 10)
    }
    assert "(ab)" in rw.compare(many, metrics="ndcg@10").export("latex")


def test_ties_share_the_best_place():
    text = rw.compare({"a": run(), "b": run()}).export("markdown")
    assert text.count("**.500**") == 2


def test_simple_view_of_values():
    found = rw.compare({"a": run(), "b": run()})
    assert found.values.rows() == [("recall@2", 0.5, 0.5)]
    with pytest.raises(MetricError, match="no single row"):
        _ = found["mrr", "b"]


# What a second reader broke.


def table(users=300, **columns):
    from rankwise.results.per_user import from_per_user

    return from_per_user(pl.DataFrame({"user": range(users), **columns}))


def test_groups_have_no_direction_of_their_metric():
    """The spread of recalls over groups is better small; a group's recall is not."""
    items = {"item": range(10), "group": ["a"] * 5 + ["b"] * 5}
    truth = {u: {u % 10} for u in range(100)}
    good = {u: [u % 10] for u in range(100)}
    bad = {u: [9 - u % 10] for u in range(100)}
    runs = {
        name: rw.evaluate(own, truth, "reo@1", items=items, jackknife=10)
        for name, own in (("bad", bad), ("good", good))
    }
    assert runs["good"].direction("reo@1") is False
    assert runs["good"].direction("reo@1[item_group=a]") is None
    assert rw.compare(runs)["reo@1[item_group=a]", "good"]["verdict"] in (
        "different",
        "not checked",
    )


def test_both_systems_have_the_same_jackknife_groups():
    rng = np.random.default_rng(1)
    truth = {u: {int(rng.integers(50))} for u in range(200)}
    lists = {u: rng.permutation(50)[:5].tolist() for u in truth}
    fewer = {u: own for u, own in lists.items() if u % 25}
    first, second = (
        rw.evaluate(own, truth, "gini@5", items=range(50), jackknife=20) for own in (lists, fewer)
    )
    assert first.provenance["jackknife"] == second.provenance["jackknife"]
    row = rw.compare({"a": first, "b": second})["b"]
    assert row["high"] - row["low"] < 0.05
    other = rw.evaluate(lists, truth, "gini@5", items=range(50), jackknife=10)
    with pytest.raises(ParameterError, match="same users in the same groups"):
        rw.compare({"a": first, "b": other})


@pytest.mark.parametrize("correction", ["holm", "max_t", "tukey"])
def test_rounding_is_no_difference(correction):
    runs = {"a": table(x=[0.3] * 300), "b": table(x=[0.1 + 0.2] * 300)}
    row = rw.compare(runs, correction=correction)["b"]
    assert (row["difference"], row["p_adjusted"], row["verdict"]) == (0, 1, "not shown")
    assert row["cliffs_delta"] == 0


def test_missing_lists_are_not_rewarded():
    first = table(rmse=[0.5] * 300)
    second = table(rmse=[0.5, float("nan")] * 150)
    with pytest.raises(ParameterError, match="0 is the best value of rmse"):
        rw.compare({"a": first, "b": second}, missing="zero")


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        (
            {"train": {0: [1]}, "metrics": "novelty@2"},
            {"train": {0: [2]}, "metrics": "novelty@2"},
            "training interact",
        ),
        (
            {"items": range(9), "metrics": "gini@2"},
            {"items": range(20), "metrics": "gini@2"},
            "different catalogues",
        ),
        (
            {"items": range(9), "metrics": "gini@2"},
            {"metrics": "gini@2"},
            "different settings of catalogue",
        ),
        (
            {"train": {0: [7]}, "exclude_seen": True},
            {"train": {0: [7]}},
            "settings of exclude_seen",
        ),
    ],
)
def test_tables_beside_the_lists_are_the_same(one, other, said):
    with pytest.raises(ParameterError, match=said):
        rw.compare({"a": run(**one), "b": run(**other)})


def test_enough_signs_for_many_pairs():
    """Of 10,000 signs no p can fall below 0.0005 / 10 pairs; so many more are drawn that it can."""
    runs = {f"s{at}": table(40, x=np.linspace(0, 1, 40) + at) for at in range(5)}
    enough, few = (
        rw.compare(runs, alpha=0.0005, test="sign_flip", **signs).table
        for signs in ({}, {"n_resamples": 10_000})
    )
    assert set(enough["verdict"]) == {"different"}
    assert set(few["verdict"]) == {"not shown"}
    assert "10000 resamples are too few for 10 pairs" in few["flags"][0]


def test_any_level_and_any_scale():
    runs = {"a": table(x=np.arange(300.0)), "b": table(x=np.arange(300.0) % 7)}
    for options in ({"alpha": 0.9}, {"alpha": np.float32(0.01), "seed": np.int64(3), "margin": 1}):
        found = rw.compare(runs, **options)
        assert json.loads(found.export("json"))["pairs"]
    d = np.array([1.0, -2, 3, 4, -1, 2.5, 3, 1])
    for scale in (1e-300, 1e155):
        assert stats.paired_t(d * scale).p == pytest.approx(stats.paired_t(d).p)


NAN = float("nan")


def test_a_metric_without_values_is_not_replaced():
    full, empty = (
        table(**{"ndcg@10": [value] * 300, "mrr@3": [1.0] * 300}) for value in (0.5, NAN)
    )
    with pytest.raises(ParameterError, match="value of ndcg@10 in one result"):
        rw.compare({"a": full, "b": empty})


@pytest.mark.parametrize(
    ("one", "other", "options", "reason"),
    [
        ([0.5] * 300, [NAN] * 300, {}, "no user has a value in every"),
        ([0.5] * 300, [0.5, NAN] * 150, {"missing": "zero"}, "0 is the best value of rmse"),
        ([NAN, 0.5] * 150, [0.5, NAN] * 150, {"missing": "common"}, "no user has a value in every"),
        ([NAN] * 300, [NAN] * 300, {}, "no user has a value in every"),
        ([0.5] * 300, None, {}, "not evaluated in b"),
    ],
)
def test_a_comparison_goes_on_past_a_metric(one, other, options, reason):
    runs = {
        "a": table(x=[0.5] * 300, rmse=one),
        "b": table(x=[0.5] * 300, **({} if other is None else {"rmse": other})),
    }
    found = rw.compare(runs, **options)
    assert found.table["metric"].to_list() == ["x"]
    assert reason in found.design.not_compared["rmse"]
    assert f"Not compared: rmse: {found.design.not_compared['rmse']}." in found.views[-1].notes
    if "common" in options.values() or reason.startswith("no user"):
        return  # it has a row, over no users
    for ask in ({"metrics": ["x", "rmse"]}, {"primary": "rmse"}):
        with pytest.raises((ParameterError, MetricError)):
            rw.compare(runs, **ask, **options)


def test_a_value_that_is_nan_in_one_result():
    """With undefined="nan" one user leaves no mean."""
    truth = {**TRUTH, 8: {5: 0}}
    lists = {user: [1, 3] for user in truth}
    runs = {
        name: rw.evaluate(
            lists,
            given,
            ["recall@2", "novelty@2"],
            train=TRUTH,
            undefined="nan",
            population="recommended",
        )
        for name, given in (("a", truth), ("b", TRUTH))
    }
    assert np.isnan(runs["a"]["recall@2"])
    found = rw.compare(runs, force=True)
    assert found.design.not_compared == {"recall@2": "it is NaN in a, b"}


# Groups of users.


def grouped(shift, users=900, **options):
    rng = np.random.default_rng(7)
    truth = {user: {user % 5} for user in range(users)}
    lists = {
        user: [user % 5 if rng.random() < 0.3 + (shift if user % 3 == 0 else 0) else 9, 8]
        for user in truth
    }
    teams = {"user": range(users), "team": [("x", "y", None)[user % 3] for user in range(users)]}
    return rw.evaluate(
        lists, truth, ["recall@2", "mrr@2", "gini@2"], users=teams, by="team", **options
    )


def test_a_comparison_for_each_group_corrected_over_groups():
    one, two = grouped(0), grouped(0.4)
    found = rw.compare(one, two, by="team", primary="recall@2")
    rows = found.table.filter(pl.col("metric") == "recall@2")
    assert rows["group"].to_list() == ["x", "y", None]
    for row in rows.iter_rows(named=True):
        x, y = (
            r.per_user.filter(pl.col("group(team)").eq_missing(row["group"]))["recall@2"].to_numpy()
            for r in (two, one)
        )
        alone = rw.compare(
            {"A": table(len(y), **{"recall@2": y}), "B": table(len(x), **{"recall@2": x})}
        )["B"]
        for name in ("mean_baseline", "mean_system", "difference", "p", "users"):
            assert row[name] == alone[name], name
        assert (row["low_alone"], row["high_alone"]) == (alone["low_alone"], alone["high_alone"])
    assert rows["p_adjusted"].to_list() == pytest.approx(
        stats.adjust(rows["p"].to_numpy(), "holm").tolist()
    )
    others = found.table.filter(~pl.col("primary"))
    assert others["metric"].unique().to_list() == ["mrr@2"]
    assert others["p_adjusted"].to_list() == pytest.approx(
        stats.adjust(others["p"].to_numpy(), "bh").tolist()
    )
    assert found["recall@2", "B", "x"]["verdict"] == "better"
    assert found["recall@2", "B", "y"]["verdict"] == "not shown"
    assert "not a mean over users" in found.design.not_compared["gini@2"]
    with pytest.raises(MetricError, match="no single row"):
        _ = found["B"]


def test_a_comparison_of_groups_is_shown():
    found = rw.compare(grouped(0), grouped(0.4), by="team", primary="recall@2")
    for part in (
        "B beats A on recall@2 for team x; no difference is shown for y and –.",
        "by team",
        "groups by team",
    ):
        assert part in repr(found)
    assert "mrr@2, team y" in " ".join(found.export("markdown").split())
    assert found.export("csv").count("\n") == 7
    assert json.loads(found.export("json"))["pairs"][2]["group"] is None


def test_groups_that_one_result_knows_are_those_of_all(tmp_path):
    one, two = grouped(0), grouped(0.4)
    alone = rw.from_per_user(two.per_user.drop("group(team)"))
    expected = rw.compare(one, two, by="team").table
    assert rw.compare(one, alone, by="team").table.equals(expected)
    assert rw.compare(alone, one, by="team").table["users"].to_list() == expected["users"].to_list()
    two.per_user.write_csv(tmp_path / "two.csv")
    for again in (rw.load(two.save(tmp_path / "two")), rw.from_per_user(tmp_path / "two.csv")):
        assert rw.compare(one, again, by="team").table.equals(expected)


def test_a_group_that_cannot_be_compared_is_left_out():
    one = table(**{"x": [0.5] * 300, "group(team)": ["a", "b"] * 150})
    lacking = table(x=[0.5, NAN] * 150)
    found = rw.compare(one, lacking, by="team")
    assert found.table["group"].to_list() == ["a"]
    assert "x, team=b" in found.design.not_compared
    empty = table(x=[NAN] * 300)
    with pytest.raises(ParameterError, match="one result, and none in another"):
        rw.compare(one, empty, by="team")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"by": "country"}, "no result has groups of users by 'country'"),
        ({"by": ["team"]}, "the name of one column"),
        ({"by": "team", "correction": "tukey"}, "not groups of users"),
        ({"by": "team", "metrics": "gini@2"}, "gini@2 cannot be compared"),
    ],
)
def test_groups_that_make_no_sense(options, said):
    with pytest.raises((ParameterError, MetricError), match=said):
        rw.compare(grouped(0, jackknife=5), grouped(0.4, jackknife=5), **options)


def test_a_group_for_each_user_is_refused():
    runs = [table(1200, **{"x": [0.5] * 1200, "group(id)": [str(u) for u in range(1200)]})] * 2
    with pytest.raises(ParameterError, match="at most 1,000 groups"):
        rw.compare(*runs, by="id")


def test_tests_of_all_pairs_without_users_values():
    """Holm stands in for them, even where only one of the results has not a mean over users."""
    runs = {"a": grouped(0, jackknife=8), "b": grouped(0.4, jackknife=8)}
    found = rw.compare(runs, primary="gini@2", correction="max_t")
    assert found.table.filter(pl.col("primary"))["p_adjusted"].is_not_nan().all()


def test_a_user_is_in_one_group():
    one, two = (table(**{"x": [0.5] * 300, "group(team)": [name] * 300}) for name in "ab")
    with pytest.raises(ParameterError, match="in two groups by 'team'") as caught:
        rw.compare(one, two, by="team")
    assert "user 0: 'a' and 'b'" in str(caught.value)


def test_margins_by_any_name():
    runs = results(1500)
    assert rw.compare(runs, baseline="a", margin={"nDCG@10": 0.04})["b"]["verdict"] == "equivalent"
    with pytest.raises(MetricError):
        rw.compare(runs, margin={"ndgc@10": 0.04})
    twice = rw.compare(runs, metrics=["ndcg@10", "nDCG@10"])
    assert len(twice.table) == 3


def test_tables_of_users_values(tmp_path):
    from rankwise.errors import ColumnError
    from rankwise.results.per_user import from_per_user
    from rankwise.results.storage import open_result

    result = table(x=[0.5] * 300, n_relevant=["many"] * 300, empty=[None] * 300)
    for shown in (repr(result), result._repr_html_(), result.export("markdown")):
        assert shown
    assert rw.load(table(**{"ndcg@10": [0.5] * 300}).save(tmp_path / "out"))["ndcg@10"] == 0.5
    with pytest.raises(ColumnError, match="two columns are ndcg@10"):
        table(**{"ndcg@10": [0.5] * 300, "nDCG@10": [0.5] * 300})
    evaluated = run()
    evaluated.per_user.write_csv(tmp_path / "users.csv")
    evaluated.per_user.select("user", "recall@2").cast({"user": pl.Int16}).write_parquet(
        tmp_path / "users.parquet"
    )
    for name in ("users.csv", "users.parquet"):
        other = open_result(tmp_path / name)
        assert rw.compare({"a": evaluated, "b": other})["b"]["users"] == 8
    text = from_per_user(pl.DataFrame({"user": ["a"], "recall@2": [1.0]}))
    with pytest.raises(ParameterError, match="integers in one result and strings"):
        rw.compare({"a": evaluated, "b": text}, force=True)


def test_a_row_by_its_metric_alone():
    truth = {user: {1, 2} for user in range(40)}
    results = {
        name: rw.evaluate({user: [1, item] for user in truth}, truth, "recall@[1,2]")
        for name, item in (("a", 3), ("b", 2))
    }
    found = rw.compare(results)
    assert repr(found["recall@1"]) == repr(found["recall@1", "b"])  # NaN is not equal to itself
    three = rw.compare(results | {"c": results["a"]})
    with pytest.raises(MetricError, match=r"no single row of recall@1"):
        three["recall@1"]


@pytest.mark.parametrize("missing", ["error", "common", "zero"])
@pytest.mark.parametrize("endless", [math.inf, -math.inf])
def test_an_infinite_value_is_refused_with_its_system_and_user(missing, endless):
    usual = rw.from_per_user(pl.DataFrame({"user": range(4), "ndcg@10": [0.5, 0.1, 0.3, 0.2]}))
    odd = rw.from_per_user(pl.DataFrame({"user": range(4), "ndcg@10": [0.5, endless, 0.3, 0.2]}))
    with pytest.raises(InputError, match="a value of ndcg@10 is infinite") as caught:
        rw.compare({"a": usual, "b": odd}, baseline="a", missing=missing)
    assert caught.value.where == "'b', user 1"


def test_missing_values_taken_for_zero_leave_the_others_as_they_are():
    one = rw.from_per_user(pl.DataFrame({"user": range(3), "ndcg@10": [0.5, None, 0.3]}))
    other = rw.from_per_user(pl.DataFrame({"user": range(3), "ndcg@10": [0.25, 0.5, None]}))
    row = rw.compare(one, other, missing="zero").table.row(0, named=True)
    assert row["difference"] == pytest.approx((0.25 + 0.5) / 3 - (0.5 + 0.3) / 3)
