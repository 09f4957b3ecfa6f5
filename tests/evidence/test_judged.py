"""Human labels beside a model's: golden values, coverage whatever the judge, and what is refused."""

from __future__ import annotations

import json
import math
import runpy
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import rankwise as rw
from command_line import rankwise_here
from rankwise import stats
from rankwise.errors import InputError, MetricError, ParameterError
from tools import deep

BOTH = [
    (0, 0, 3),
    (0, 1, 5),
    (0, 2, 7),
    (0, 3, 2),
    (1, 1, 3),
    (1, 2, 9),
    (1, 3, 2),
    (1, 4, 1),
    (2, 2, 6),
    (2, 3, 5),
]
BOTH += [(2, 4, 4), (3, 2, 2), (3, 3, 8), (3, 5, 1), (4, 4, 2)]
"""Of 60 queries: how many of five items are relevant to a human, to the judge, and how many such queries."""
OTHERS = [(0, 61), (1, 185), (2, 280), (3, 278), (4, 154), (5, 42)]
"""Of 1,000 queries: how many items are relevant to the judge, and how many such queries."""
HUMAN = np.repeat([h for h, _, _ in BOTH], [n for *_, n in BOTH]) / 5
JUDGE = np.repeat([j for _, j, _ in BOTH], [n for *_, n in BOTH]) / 5
REST = np.repeat([j for j, _ in OTHERS], [n for _, n in OTHERS]) / 5
OPTIONS = {"metrics": "precision@5", "threshold": 1, "population": "judged", "undefined": "zero"}
SIMULATED = runpy.run_path(
    str(Path(__file__).parents[2] / "simulations" / "evidence.py"), run_name="evidence"
)


def results(**options):
    """Return the golden judgements as results of one system."""
    values = [*JUDGE, *REST]
    lists = {user: [*range(5)] for user in range(len(values))}
    labels = [
        {user: {i: int(i < 5 * v) for i in range(5)} for user, v in enumerate(side)}
        for side in (HUMAN, values)
    ]
    return [rw.evaluate(lists, truth, **OPTIONS | options) for truth in labels]


def test_estimates_of_sixty_labelled_queries():
    tuned, full = (
        stats.prediction_powered(HUMAN, JUDGE, REST, weight=weight) for weight in (None, 1)
    )
    assert tuned.weight == pytest.approx(0.4995036203947871, rel=1e-10)
    assert tuned.estimate == pytest.approx(0.29382621855899194, rel=1e-10)
    fixed = stats.prediction_powered(HUMAN, JUDGE, REST, weight=tuned.weight)
    assert fixed.error == pytest.approx(0.024611283063855665, rel=1e-10)
    assert (
        fixed.error < tuned.error < 1.1 * fixed.error
    )  # the other program takes the weight for known
    assert (full.estimate, full.error) == pytest.approx((0.301, 0.026220778804328302), rel=1e-10)
    assert (tuned.human, tuned.human_error) == pytest.approx(
        (0.28666666666666657, 0.03057515207926909), rel=1e-10
    )
    assert tuned.model == pytest.approx(0.480188679245283, rel=1e-10)


def test_the_limits_are_those_of_t_with_two_degrees_less():
    """Golden limits are those of the normal distribution, which cover less with few labels."""
    interval = stats.prediction_powered(HUMAN, JUDGE, REST, weight=0.4995036203947871)
    z, t = 1.959963984540054, 2.0017174841452352
    assert interval.estimate - z * interval.error == pytest.approx(0.24558899014051425, rel=1e-10)
    assert tuple(interval) == pytest.approx(
        [interval.estimate + side * t * interval.error for side in (-1, 1)]
    )


def test_a_useless_judge_leaves_the_human_labels():
    rng = np.random.default_rng(0)
    opposed = stats.prediction_powered(HUMAN, 1 - HUMAN, REST)
    constant = stats.prediction_powered(HUMAN, np.ones(60), np.ones(1000))
    assert opposed.weight == constant.weight == 0
    assert opposed.estimate == constant.estimate == pytest.approx(HUMAN.mean())
    assert opposed.equivalent == pytest.approx(60)
    perfect = stats.prediction_powered(HUMAN, HUMAN, rng.permutation(np.repeat(HUMAN, 20)))
    assert perfect.weight == pytest.approx(1 / 1.05, rel=0.03)
    assert perfect.equivalent > 900


def test_few_labels_are_said_to_be_approximate():
    assert stats.prediction_powered(HUMAN[::3], JUDGE[::3], REST).flags == (
        "approximate: 20 labelled users, fewer than 30",
    )
    assert not stats.prediction_powered(HUMAN[::2], JUDGE[::2], REST).flags


@pytest.mark.parametrize(
    ("arrays", "options", "error", "text"),
    [
        ((HUMAN, JUDGE[1:], REST), {}, InputError, "one value per labelled user"),
        ((HUMAN[:2], JUDGE[:2], REST), {}, InputError, "at least three labelled users"),
        ((HUMAN, JUDGE, [0.5]), {}, InputError, "two others"),
        ((HUMAN, JUDGE, [math.nan, 1.0]), {}, InputError, "NaN"),
        ((HUMAN, JUDGE, REST), {"weight": 2}, ParameterError, "weight must lie between 0 and 1"),
    ],
)
def test_arrays_that_are_refused(arrays, options, error, text):
    with pytest.raises(error, match=text):
        stats.prediction_powered(*arrays, **options)


def test_results_are_joined_by_user():
    human, judge = results()
    row = rw.judged(human=human, judge=judge, sampled="random").table.row(0, named=True)
    assert row["value"] == pytest.approx(0.29382621855899194, rel=1e-10)
    assert (row["labelled"], row["others"], round(row["as_good_as"])) == (60, 1000, 89)
    assert row["judge"] == pytest.approx(judge["precision@5"])


def of_hits(hits, labelled=40, users=600):
    """Return results of users of whom some have a hit by human labels, and a judge who says the same of all."""
    human = pl.DataFrame(
        {"user": range(labelled), "hit_rate@10": [1.0] * hits + [0.0] * (labelled - hits)}
    )
    judge = pl.DataFrame({"user": range(users), "hit_rate@10": [1.0] * users})
    return rw.from_per_user(human), rw.from_per_user(judge)


@pytest.mark.parametrize("hits", [0, 1, 2])
def test_rare_hits_have_the_limits_of_a_bounded_mean(hits):
    """A judge who says the same of all users leaves human labels: Clopper and Pearson's interval."""
    human, judge = of_hits(hits)
    row = rw.judged(human=human, judge=judge, sampled="random").table.row(0, named=True)
    exact = stats.bounded_mean_interval([1.0] * hits + [0.0] * (40 - hits), bounds=(0, 1))
    assert (row["value"], row["weight"]) == (hits / 40, 0.0)
    assert row["low"] == pytest.approx(exact.low if hits > 1 else 0.0, abs=0.02)
    assert row["high"] == pytest.approx(exact.high)
    assert "few labelled users differ" in row["flags"][0]


def test_a_difference_of_rare_hits_may_have_either_sign():
    human, judge = of_hits(0)
    pairs = ({"a": one, "b": one} for one in (human, judge))
    table = rw.judged(**dict(zip(("human", "judge"), pairs, strict=True)), sampled="random").table
    difference = table.filter(pl.col("baseline").is_not_null()).row(0, named=True)
    assert difference["low"] == pytest.approx(-difference["high"])
    assert 0.05 < difference["high"] < 0.15


@pytest.mark.slow
def test_intervals_of_rare_hits_cover():
    """Coverage in 400 samples has an error of 0.011; by t alone it is below 0.87."""
    for accepts in (None, 0.1):
        row = SIMULATED["rare_row"](60, accepts, 400)
        assert row["t alone"] < 0.87
        assert row["covered"] > 0.95


def test_bounds_that_are_none_are_refused():
    with pytest.raises(ParameterError, match="smallest and the largest"):
        stats.prediction_powered(HUMAN, JUDGE, REST, bounds=(1, 0))
    wide = stats.prediction_powered(HUMAN, JUDGE, REST, bounds=(0, 1))
    assert wide == stats.prediction_powered(HUMAN, JUDGE, REST)  # enough users, and hardly skewed


def two_systems(seed=3, gain=0.12):
    rng = np.random.default_rng(seed)
    base = rng.beta(1.2, 2.5, (600, 1))
    human, judge = {}, {}
    for name, extra in (("old", 0.0), ("new", gain)):
        relevant = rng.random((600, 5)) < base + extra
        accepted = rng.random((600, 5)) < np.where(relevant, 0.9, 0.3)
        items = [[f"{name}-{i}" for i in range(5)]] * 600
        lists = dict(enumerate(items))
        for side, labels, users in (
            (human, relevant, range(0, 600, 8)),
            (judge, accepted, range(600)),
        ):
            truth = {u: {f"{n}-{i}": 0 for n in ("old", "new") for i in range(5)} for u in users}
            for user in users:
                truth[user] |= {
                    item: int(label) for item, label in zip(items[user], labels[user], strict=True)
                }
            frame = rw.evaluate(lists, truth, **OPTIONS).per_user.select("user", "precision@5")
            side[name] = rw.from_per_user(frame)
    return human, judge


def test_differences_are_paired():
    human, judge = two_systems()
    table = rw.judged(human=human, judge=judge, sampled="random").table
    assert table["baseline"].to_list() == [None, None, "old"]
    old, new, difference = table.to_dicts()
    arrays = [
        (b - a).to_numpy()
        for a, b in (
            (human["old"].per_user["precision@5"], human["new"].per_user["precision@5"]),
            *(
                (
                    judge["old"].per_user.filter(part)["precision@5"],
                    judge["new"].per_user.filter(part)["precision@5"],
                )
                for part in (pl.col("user") % 8 == 0, pl.col("user") % 8 > 0)
            ),
        )
    ]
    expected = stats.prediction_powered(*arrays)
    assert (difference["value"], difference["low"]) == pytest.approx(
        (expected.estimate, expected.low)
    )
    assert difference["low"] < new["human"] - old["human"] < difference["high"]


def test_labels_may_not_decide_who_is_evaluated():
    human, judge = results(population="truth", undefined="skip")
    with pytest.raises(InputError, match="labels decide who is evaluated") as error:
        rw.judged(human=human, judge=judge, sampled="random")
    assert "17 users without a relevant item" in str(error.value)
    human, judge = results(undefined="skip")
    with pytest.raises(MetricError, match="no metric can be estimated") as error:
        rw.judged(human=human, judge=judge, sampled="random")
    assert "64 users have no value" in str(error.value)
    human, judge = results(metrics=["precision@5", "catalog_coverage@5"])
    corrected = rw.judged(human=human, judge=judge, sampled="random")
    assert corrected.left_out == {"catalog_coverage@5": "it is not an unweighted mean over users"}
    assert "catalog_coverage@5 is left out" in repr(corrected)


def test_results_that_are_refused():
    human, judge = results()
    with pytest.raises(
        ParameterError, match="nothing says how the users with human labels were chosen"
    ):
        rw.judged(human=human, judge=judge)
    with pytest.raises(ParameterError, match="sampled must be one of random"):
        rw.judged(human=human, judge=judge, sampled="first")
    with pytest.raises(ParameterError, match="under the same names"):
        rw.judged(human={"a": human}, judge={"b": judge}, sampled="random")
    with pytest.raises(ParameterError, match="are results of"):
        rw.judged(human={"a": 3}, judge={"a": judge}, sampled="random")
    with pytest.raises(InputError, match="the judge has to label every user") as error:
        rw.judged(human=judge, judge=human, sampled="random")
    assert "1,000 of 1,060" in str(error.value)
    with pytest.raises(ParameterError, match="relevance_threshold"):
        rw.judged(human=human, judge=results(threshold=0.5)[1], sampled="random")
    other = rw.from_per_user(judge.per_user.select(pl.col("user").cast(pl.String), "precision@5"))
    with pytest.raises(ParameterError, match="users are integers in one result"):
        rw.judged(human=human, judge=other, sampled="random")


def test_the_command_line_and_the_report(tmp_path):
    human, judge = results()
    human.save(tmp_path / "people")
    judge.save(tmp_path / "model")
    arguments = ("judged", "--human", "people", "--judge", "model")
    done = rankwise_here(tmp_path, *arguments, "--sampled", "random")
    corrected = rw.judged(human=human, judge=judge, sampled="random")
    assert done.stdout == f"{corrected!r}\n"
    exported = json.loads(
        rankwise_here(tmp_path, *arguments, "--sampled", "random", "--format", "json").stdout
    )
    assert exported == json.loads(corrected.export("json"))
    assert corrected.export("csv").count("\n") == 2
    refused = rankwise_here(tmp_path, *arguments)
    assert (refused.returncode, "--sampled random" in refused.stderr) == (2, True)
    assert "Human and model labels" in rw.report(judge, evidence=corrected).html
    named = ("judged", "--human", "a=people", "--judge", "b=model", "--sampled", "random")
    assert "under the same names" in rankwise_here(tmp_path, *named).stderr
    again = rankwise_here(tmp_path, *(part.replace("b=", "a=") for part in named))
    assert again.returncode == 0


def test_a_configuration_with_human_labels(tmp_path):
    users = range(300)
    rng = np.random.default_rng(1)
    rows = pl.DataFrame({"user": np.repeat(users, 3), "item": np.tile([1, 2, 3], 300)})
    judge = rows.with_columns(relevance=rng.integers(0, 2, 900))
    human = judge.filter(pl.col("user") % 5 == 0).select(
        "user", "item", stars=rng.integers(0, 2, 180)
    )
    for name, frame in (("run", rows), ("judge", judge), ("human", human)):
        frame.write_csv(tmp_path / f"{name}.csv")
    text = "systems: {a: run.csv}\ndata: {truth: judge.csv}\noutput: {report: false}\n"
    text += (
        "evaluation: {metrics: precision@3, threshold: 1, population: judged, undefined: zero}\n"
    )
    text += "judged: {human: {path: human.csv, columns: {relevance: stars}}, sampled: random}\n"
    (tmp_path / "c.yaml").write_text(text)
    done = rankwise_here(tmp_path, "run", "c.yaml")
    assert done.returncode == 0, done.stderr
    row = json.loads((tmp_path / "rankwise-results" / "judged.json").read_text())["table"][0]
    means = human.group_by("user").agg(pl.col("stars").mean())["stars"]
    assert row["human"] == pytest.approx(means.mean())
    assert "prediction-powered" in done.stdout
    again = rankwise_here(tmp_path, "run", "rankwise-results/config.yaml")
    assert again.returncode == 0, again.stderr
    assert (
        json.loads((tmp_path / "rankwise-results/rerun/judged.json").read_text())["table"][0] == row
    )
    (tmp_path / "c.yaml").write_text(text.replace(", sampled: random", ""))
    assert "sampled" in rankwise_here(tmp_path, "run", "c.yaml").stderr


@pytest.mark.parametrize("logs", [400, *deep(4000)])
@pytest.mark.parametrize("generous", [0.0, 0.3, 0.9])
def test_intervals_cover_whatever_the_judge(generous, logs):
    row = SIMULATED["labels_row"](40, 500, logs, seed=2, generous=generous)
    assert row["covered"] >= 0.94 - 3 * math.sqrt(0.05 * 0.95 / logs)
    assert abs(row["bias"]) < 0.005
    assert row["judge alone"] < 0.5
