"""Agreement of two orders of systems: coefficients, shown pairs, inputs, errors, command."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import rankwise as rw
from command_line import rankwise_here
from rankwise.errors import MetricError, ParameterError
from rankwise.evidence.rank_agreement import _order, _users_needed

EVEN = (0.5, 0.45, 0.4, 0.3)
SWAPPED = (0.45, 0.5, 0.4, 0.3)


def results(means, users=1500, seed=0, metric="ndcg@10"):
    rng = np.random.default_rng(seed)
    level = rng.normal(0, 0.1, users)
    values = [np.clip(mean + level + rng.normal(0, 0.1, users), 0, 1) for mean in means]
    return {
        f"s{at}": rw.from_per_user(pl.DataFrame({"user": range(users), metric: column}))
        for at, column in enumerate(values)
    }


def test_one_pair_is_swapped():
    agreement = rw.rank_agreement(results(EVEN), results(SWAPPED, seed=1))
    assert agreement.tau.estimate == pytest.approx(4 / 6)
    assert agreement.tau_ap.estimate == pytest.approx(1 / 3)
    assert list(agreement.tau) == pytest.approx([4 / 6, 4 / 6])
    assert list(agreement.tau_ap) == pytest.approx([1 / 3, 1 / 3])
    assert agreement.counts == {
        "agree": 5,
        "swapped": 1,
        "first only": 0,
        "second only": 0,
        "neither": 0,
    }
    assert agreement.swapped == pytest.approx(1 / 6)
    assert agreement.table["system"].to_list() == ["s0", "s1", "s2", "s3"]
    assert agreement.table["rank_second"].to_list() == [2, 1, 3, 4]
    assert "s0 − s1" in repr(agreement)
    assert "6 of 6 pairs are shown in both orders, 1 of them swapped (17 %)" in repr(agreement)
    assert json.loads(json.dumps(agreement.to_dict()))["tau"]["estimate"] == pytest.approx(4 / 6)
    for form in ("json", "csv", "markdown", "latex"):
        assert "s0" in agreement.export(form)


def test_a_seed_gives_the_same_twice_and_users_may_differ():
    first, second = results(EVEN), results(SWAPPED, users=1100, seed=1)
    one, other = (rw.rank_agreement(first, second, seed=3, n_resamples=500) for _ in range(2))
    assert one.to_dict() == other.to_dict()
    assert "1,500 and 1,100 users" in repr(one)


def test_few_users_show_nothing():
    agreement = rw.rank_agreement(results(EVEN, users=5), results(EVEN, users=5, seed=1))
    assert list(agreement.tau) == list(agreement.tau_ap) == [-1.0, 1.0]
    assert np.isnan(agreement.swapped)
    assert agreement.tau.flags == ("no pair of systems is shown to differ",)


def test_too_few_users_to_tell_are_said_with_the_number_needed():
    near = (0.5, 0.49, 0.48)
    pairs = [
        (results(near, users=users), results(near, users=users, seed=1)) for users in (60, 250)
    ]
    few, some = (rw.rank_agreement(*pair) for pair in pairs)
    for agreement in (few, some):
        text = " ".join(repr(agreement).split())
        assert "Too few users to tell whether the orders agree: no pair is shown in both." in text
        assert agreement.settings["clearest_pair"] == "s0 − s2"
    assert few.settings["users_needed"][1] is None  # 60 users say too little of the number
    low, high = some.settings["users_needed"]
    assert 250 < low < high
    assert "users or more would show the clearest one, s0 − s2." in few.sentences[1]
    assert " to " in some.sentences[1]
    enough = rw.rank_agreement(results(EVEN), results(SWAPPED, seed=1))
    assert (enough.settings["users_needed"], enough.settings["clearest_pair"]) == (None, None)
    assert "Too few" not in repr(enough)


def test_orders_of_equal_systems_name_no_number():
    same = {name: results((0.5,), users=30)["s0"] for name in "ab"}
    agreement = rw.rank_agreement(same, same, metrics="ndcg@10")
    assert agreement.settings["users_needed"] is None
    assert agreement.sentences[1].endswith("no pair is shown in both.")


def test_the_number_needed_of_metrics_without_bounds():
    first, second = (results((0.5, 0.49), users=300, seed=seed, metric="rmse") for seed in (0, 1))
    low, high = rw.rank_agreement(first, second).settings["users_needed"]
    assert 300 < low < high


@pytest.mark.slow
def test_the_users_needed_show_the_pair_in_both_orders():
    """A power of 0.8 in 60 samples has an error of 0.05."""
    near = (0.5, 0.485)
    options = {"missing": "error", "confidence": 0.95, "n_resamples": 10, "seed": 0}
    pilot = [_order(results(near, 20_000, seed), "ndcg@10", **options) for seed in (0, 1)]
    low, high = _users_needed(pilot, (0, 1))
    assert low < high < 1.2 * low
    shown = []
    for seed in range(60):
        sides = [results(near, users=low, seed=1000 + 2 * seed + at) for at in (0, 1)]
        shown.append(rw.rank_agreement(*sides).counts["agree"])
    assert 0.65 <= np.mean(shown) <= 0.95


def test_two_metrics_of_one_mapping_and_where_lower_is_better():
    rows = {
        f"s{at}": {u: [at * 20 + u % 3, 5, 7][: 3 - at % 2] for u in range(200)} for at in range(3)
    }
    truth = {u: {u % 3, 7} for u in range(200)}
    metrics = ["recall@3", "fallout@3"]
    each = {
        name: rw.evaluate(lists, truth, metrics, items=range(100), train={0: [99]})
        for name, lists in rows.items()
    }
    agreement = rw.rank_agreement(each, metrics=metrics)
    second = agreement.table.sort("second")
    assert second["rank_second"].to_list() == sorted(second["rank_second"].to_list())
    assert agreement.settings["metrics"] == metrics


def test_a_comparison_is_taken_for_its_results():
    first = results(EVEN)
    comparison = rw.compare(first)
    assert rw.rank_agreement(comparison, first).tau.estimate == 1.0


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda a: rw.rank_agreement(a), ParameterError, "nothing says what the second order is"),
        (
            lambda a: rw.rank_agreement(a, metrics="ndcg@10"),
            ParameterError,
            "nothing says what the second",
        ),
        (
            lambda a: rw.rank_agreement(a, {"s0": a["s0"]}),
            ParameterError,
            "only in first: s1, s2, s3",
        ),
        (
            lambda a: rw.rank_agreement({"s0": a["s0"]}, {"s0": a["s0"]}),
            ParameterError,
            "two systems or more",
        ),
        (lambda a: rw.rank_agreement(a["s0"], a), ParameterError, "one result per system, by name"),
        (lambda a: rw.rank_agreement({"s0": 3}, a), ParameterError, "'s0': int"),
        (
            lambda a: rw.rank_agreement(a, a, metrics=["ndcg@10"] * 3),
            ParameterError,
            "one for each order",
        ),
        (lambda a: rw.rank_agreement(a, a, metrics="recall@10"), MetricError, "was not evaluated"),
        (lambda a: rw.rank_agreement(a, a, confidence=2), ParameterError, "confidence"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call(results(EVEN, users=30))


def test_a_metric_without_a_better_direction_is_refused():
    each = {
        name: rw.evaluate(
            {1: [1], 2: [name == "a"]}, {1: {1}, 2: {1}}, ["recall@1", "arp@1"], train={1: [1]}
        )
        for name in "ab"
    }
    with pytest.raises(MetricError, match="neither direction"):
        rw.rank_agreement(each, metrics=["recall@1", "arp@1"])


def test_command(tmp_path):
    args = []
    for side, each in (("first", results(EVEN)), ("second", results(SWAPPED, seed=1))):
        for name, result in each.items():
            result.save(tmp_path / side / name)
            args += [
                *(["--second"] if side == "second" else []),
                f"{name}={tmp_path / side / name}",
            ]
    out = rankwise_here(tmp_path, "agreement", *args, "--format", "json").stdout
    assert json.loads(out)["counts"]["swapped"] == 1
    assert "Kendall's τ" in rankwise_here(tmp_path, "agreement", *args).stdout


@pytest.mark.slow
def test_a_configuration_names_a_second_judgment_or_two_metrics(tmp_path):
    users = range(40)
    pl.DataFrame({"user": users, "item": [1] * 40}).write_csv(tmp_path / "people.csv")
    pl.DataFrame({"user": users, "item": [2] * 40}).write_csv(tmp_path / "model.csv")
    for name, item in (("a", 1), ("b", 2)):
        pl.DataFrame({"user": users, "item": [item] * 40, "rank": [1] * 40}).write_csv(
            tmp_path / f"{name}.csv"
        )
    text = "systems: [a.csv, b.csv]\ndata: {truth: people.csv}\nevaluation: {metrics: [recall@1, ndcg@5]}\n"
    (tmp_path / "c.yaml").write_text(
        text + "agreement: {truth: model.csv, metrics: recall@1}\noutput: {folder: out}\n"
    )
    done = rankwise_here(tmp_path, "run", "c.yaml")
    assert done.returncode == 0, done.stderr
    data = json.loads((tmp_path / "out" / "agreement.json").read_text())
    assert (data["tau"]["estimate"], data["counts"]["swapped"]) == (-1.0, 1)
    assert "Kendall" in (tmp_path / "out" / "report.html").read_text()
    assert rankwise_here(tmp_path, "run", "out/config.yaml").returncode == 0
    again = json.loads((tmp_path / "out" / "rerun" / "agreement.json").read_text())
    assert again["pairs"] == data["pairs"]
    (tmp_path / "c.yaml").write_text(
        text + "agreement: {metrics: [recall@1, ndcg@5]}\noutput: {folder: two}\n"
    )
    assert rankwise_here(tmp_path, "run", "c.yaml").returncode == 0
    assert json.loads((tmp_path / "two" / "agreement.json").read_text())["tau"]["estimate"] == 1.0
    (tmp_path / "c.yaml").write_text(text + "agreement: {truth: modal.csv}\n")
    wrong = rankwise_here(tmp_path, "check", "c.yaml")
    assert "agreement.truth: there is no file modal.csv; did you mean 'model.csv'" in wrong.stderr
