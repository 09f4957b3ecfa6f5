"""The noise floor of a system: golden values, what it holds for, every road, and what is refused."""

from __future__ import annotations

import json
import math

import numpy as np
import polars as pl
import pytest

import rankwise as rw
from command_line import rankwise_here
from golden_cases import golden_cases
from rankwise import stats
from rankwise.errors import InputError, ParameterError
from tools import deep


def golden(key):
    return golden_cases("noise", lambda case: case["part"] == "A" and key in case["input"])


def result(values, metric="hit_rate@1", **columns):
    return rw.from_per_user(pl.DataFrame({"user": range(len(values)), metric: values} | columns))


def runs_of(m, n=200, shared=0.0, seed=0, metric="ndcg@10"):
    """Runs of one system whose users have noise of their own, and a part that they share."""
    rng = np.random.default_rng(seed)
    base = rng.beta(2, 3, n)
    return [
        result(np.clip(base + rng.normal(0, 0.05, n) + shared * rng.normal(), 0, 1), metric)
        for _ in range(m)
    ]


@pytest.mark.parametrize("case", golden("values"))
def test_golden_values(case):
    values, expected = case["input"]["values"], case["expected"]
    found = stats.noise_floor(values)
    for name, value in expected.items():
        if name == "run_means" or name.startswith("runs_"):
            continue
        wanted = math.nan if value is None else value
        assert getattr(found, name) == pytest.approx(wanted, rel=1e-9, abs=1e-9, nan_ok=True), name
    if "difference" in case["input"]:
        needed = found.runs_needed(case["input"]["difference"])
        assert found.runs_above(case["input"]["difference"]) == expected["runs_above"]
        assert [needed.runs, needed.low, needed.high] == [
            expected[name] for name in ("runs_needed", "runs_low", "runs_high")
        ]
    row = rw.stability([result(np.array(run)) for run in values])["hit_rate@1"]
    assert row["floor"] == pytest.approx(expected["floor"], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("case", golden("runs"))
def test_golden_comparisons_with_the_noise_between_runs(case):
    given, expected = case["input"], case["expected"]
    noise = rw.stability([result(np.array(run), "rmse") for run in given["runs"]])
    pair = {name: result(np.array(given[name]), "rmse") for name in "ab"}
    row = rw.compare(pair, noise=noise)["b"]
    assert [row["difference"], row["low"], row["high"]] == pytest.approx(
        [expected["difference"], expected["low"], expected["high"]], abs=1e-9
    )
    assert row["test"] == "two-level t"


def test_by_hand():
    """Two runs of four users, of whom one flips: s² = 1/32, one s_u² = 1/2 with one degree."""
    one, other = [1.0, 0.0, 1.0, 0.0], [1.0, 0.0, 1.0, 1.0]
    found = stats.noise_floor([one, other])
    quantile = 12.706204736432095
    assert found.deviation == pytest.approx(0.25 / math.sqrt(2))
    assert found.floor_runs == pytest.approx(quantile * 0.25)
    assert found.floor_users == pytest.approx(quantile * math.sqrt(2) * math.sqrt(0.5) / 4)
    assert (found.flips, found.ever, found.moved, found.spread) == (0.25, 0.25, 0.25, 0.25)
    means = stats.noise_floor([0.5, 0.75])
    assert (means.floor, means.users) == (found.floor_runs, 0)
    assert math.isnan(means.flips)
    assert means.floor_of_means(4) == means.floor / 2


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([[1.0, 2.0]], "two runs or more"),
        ([0.5], "two runs or more"),
        ([[1.0, math.nan], [1.0, 2.0]], "NaN or infinite"),
        ([[[1.0]], [[2.0]]], "two runs or more"),
    ],
)
def test_values_that_are_refused(values, said):
    with pytest.raises(InputError, match=said):
        stats.noise_floor(values)


@pytest.mark.slow
@pytest.mark.parametrize("shared", [0.0, 0.05])
def test_a_new_pair_of_runs_differs_by_less_than_the_floor(shared):
    """Of 400 pairs 95 % stay below, with an error of 0.011, whether users share noise or not."""
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(400):
        base = rng.random(100)
        runs = [base + rng.normal(0, 0.1, 100) + shared * rng.normal() for _ in range(5)]
        new = [base + rng.normal(0, 0.1, 100) + shared * rng.normal() for _ in range(2)]
        held += abs(new[0].mean() - new[1].mean()) < stats.noise_floor(runs).floor
    assert held / 400 > 0.92


@pytest.mark.slow
@pytest.mark.parametrize("samples", [40, *deep(400)])
def test_two_runs_of_one_model_are_rarely_called_different(samples):
    """Nominal 0.05; a test over users alone errs in most of these samples."""
    wrong = alone = 0
    for seed in range(samples):
        runs = runs_of(7, n=400, shared=0.03, seed=seed)
        pair = {"a": runs[0], "b": runs[1]}
        noise = rw.stability(runs[2:])
        wrong += rw.compare(pair, noise=noise, test="t")["b"]["p"] < 0.05
        alone += rw.compare(pair, test="t")["b"]["p"] < 0.05
    assert wrong / samples <= 0.1
    assert alone / samples > 0.5


def test_a_result_says_what_follows():
    found = rw.stability(runs_of(5, shared=0.02), difference=0.01)
    text = " ".join(repr(found).split())
    assert text.startswith("Two single runs of this system differ by up to")
    assert (
        "with nothing changed (95 %): a smaller difference between two runs says nothing." in text
    )
    assert "Runs share a part of their noise (p" in text
    assert "unless it is given this noise floor (noise)." in text
    assert "is found 4 times in 5 with" in text
    assert "5 runs: a rare bad run may not have been seen." in text
    quiet = " ".join(repr(rw.stability(runs_of(12))).split())
    assert "No noise that runs share is shown" in quiet
    assert "may not have been seen" not in quiet
    two = repr(rw.stability(runs_of(2)))
    assert "known within a factor of 70" in two


def test_runs_without_any_change():
    one = result(np.tile([1.0, 0.0, 1.0], 17))
    found = rw.stability([one, one])
    text = " ".join(repr(found).split())
    assert (
        "None of 51 users changed in 2 runs of this system on hit_rate@1; up to 5.7 % may" in text
    )
    assert found["hit_rate@1"]["floor"] == 0
    assert math.isnan(found["hit_rate@1"]["p_shared"])


def test_several_systems_and_metrics():
    def both(seed):
        return [
            rw.from_per_user(
                one.per_user.with_columns(other.per_user["mrr@10"], pl.lit(0.5).alias("rmse"))
            )
            for one, other in zip(
                runs_of(3, seed=seed), runs_of(3, seed=seed + 9, metric="mrr@10"), strict=True
            )
        ]

    found = rw.stability({"old": both(0), "new": both(1)}, metrics=["mrr@10", "ndcg@10"])
    assert found.table["system"].to_list() == ["old", "old", "new", "new"]
    assert found["mrr@10", "old"]["metric"] == "mrr@10"
    assert found.systems == ["old", "new"]
    assert len(found.sentences) == 2
    with pytest.raises(ParameterError, match="no single row"):
        found["mrr@10"]
    assert found.noise_of("new", "ndcg@10").runs == 3
    assert found.noise_of("other", "ndcg@10") is None
    assert found.users.filter(pl.col("system") == "old").height == 400


def test_users_of_some_runs_only():
    one, other = runs_of(2)
    fewer = rw.from_per_user(other.per_user.head(150))
    with pytest.raises(ParameterError, match="missing="):
        rw.stability([one, fewer])
    assert rw.stability([one, fewer], missing="common")["ndcg@10"]["users"] == 150


def test_runs_that_are_refused():
    lists = {user: [0, 1] for user in range(20)}
    first = rw.evaluate(lists, {user: {0} for user in range(20)}, "recall@2")
    second = rw.evaluate(lists, {user: {0, 1} for user in range(20)}, "recall@2")
    with pytest.raises(ParameterError, match="not runs of one system on one test set") as error:
        rw.stability([first, second])
    assert 'seeds="paired"' in str(error.value)
    assert rw.stability([first, second], force=True)["recall@2"]["runs"] == 2
    for runs, said in (
        ([first], "two runs or more"),
        (first, "takes a list of runs"),
        ({"a": [first]}, "two runs or more"),
        ({}, "needs the runs of a system"),
        ([first, 0.5], "results, or means"),
        ([0.5, math.nan], "missing or infinite"),
    ):
        with pytest.raises(ParameterError, match=said):
            rw.stability(runs)
    for options in ({"difference": 0.0}, {"power": 1.0}, {"confidence": 2}, {"missing": "x"}):
        with pytest.raises(ParameterError):
            rw.stability([0.5, 0.6], **options)
    with pytest.raises(ParameterError, match="without a name"):
        rw.stability([0.5, 0.6], metrics="ndcg@10")


def test_values_that_are_no_means_over_users_have_a_floor_by_runs():
    lists = [{user: [user % 3, run] for user in range(20)} for run in (3, 4, 5)]
    truth = {user: {0} for user in range(20)}
    metrics = ["catalog_coverage@2", "recall@2"]
    runs = [rw.evaluate(one, truth, metrics, items=range(9)) for one in lists]
    row = rw.stability(runs)["catalog_coverage@2"]
    assert row["users"] == 0
    assert math.isnan(row["floor_users"])


def test_requests_of_one_user_are_not_independent():
    rng = np.random.default_rng(0)
    own = np.repeat(rng.random(40), 5)
    copies = [np.repeat(rng.normal(0, 0.1, 40), 5) for _ in range(3)]
    frames = [
        pl.DataFrame(
            {
                "user": np.repeat(np.arange(40), 5),
                "request": list(range(5)) * 40,
                "ndcg@10": np.clip(own + noise, 0, 1),
            }
        )
        for noise in copies
    ]
    by_request = rw.stability([rw.from_per_user(frame) for frame in frames])["ndcg@10"]
    by_user = rw.stability([result(np.clip(own + n, 0, 1)[::5], "ndcg@10") for n in copies])
    assert by_request["floor"] == pytest.approx(by_user["ndcg@10"]["floor"])
    assert by_request["users"] == 40


def test_a_repeated_file_is_noted(tmp_path):
    for name, item in (("a", 1), ("b", 1), ("c", 2)):
        lists = pl.DataFrame({"user": [1, 2], "item": [1, item], "rank": [1, 1]})
        lists.write_csv(tmp_path / f"{name}.csv")
    truth = {1: {1}, 2: {1}}
    runs = [rw.evaluate(tmp_path / f"{name}.csv", truth, "recall@1") for name in "abc"]
    assert "run 1 and run 2 are of the same file, bit for bit" in " ".join(
        repr(rw.stability(runs)).split()
    )


def test_noise_in_comparisons():
    runs = runs_of(5, shared=0.02)
    pair = {"a": runs[0], "b": runs[1]}
    plain = rw.compare(pair)
    assert "Each system has one run" in " ".join(repr(plain).split())
    noise = rw.stability(runs[2:])
    found = rw.compare(pair, noise=noise)
    assert found.design.noise == {"a": 3, "b": 3}
    text = " ".join(repr(found).split())
    assert "Intervals hold for other runs as well: the noise is known from 3 runs." in text
    assert "Each system has one run" not in text
    assert found["b"]["high"] - found["b"]["low"] > plain["b"]["high"] - plain["b"]["low"]
    named = rw.stability({"a": runs[2:], "b": runs[1:4]})
    assert rw.compare(pair, noise=named).design.noise == {"a": 3, "b": 3}
    several = rw.compare({"a": runs[0], "b": runs[1:4]}, noise=noise)
    assert several.design.noise == {"a": 3}
    own = rw.compare({"a": runs[2:], "b": runs[:2]}, noise=noise)
    assert own["b"]["p"] == rw.compare({"a": runs[2:], "b": runs[:2]})["b"]["p"]
    other = rw.compare(pair, noise=rw.stability(runs_of(3, metric="mrr@10")))
    assert "the noise between runs is not known, and not allowed for" in other["b"]["flags"]
    with_margin = rw.compare(pair, noise=noise, margin=0.2)["b"]
    assert with_margin["p_non_inferior"] >= rw.compare(pair, margin=0.2)["b"]["p_non_inferior"]


def test_noise_that_is_refused():
    runs = runs_of(4)
    pair = {"a": runs[0], "b": runs[1]}
    with pytest.raises(ParameterError, match=r"what rankwise\.stability returns"):
        rw.compare(pair, noise=0.01)
    with pytest.raises(ParameterError, match="names several systems"):
        rw.compare(pair, noise=rw.stability({"a": runs[:2], "c": runs[2:]}))
    with pytest.raises(ParameterError, match="t test of their variance"):
        rw.compare(pair, noise=rw.stability(runs), test="wilcoxon")
    sets = {name: {"films": runs[at], "books": runs[at + 1]} for at, name in enumerate("ab")}
    with pytest.raises(ParameterError, match="not over data sets"):
        rw.compare(sets, noise=rw.stability(runs))
    with pytest.raises(ParameterError, match="a comparison with noise"):
        rw.decide(rw.compare(pair, noise=rw.stability(runs)), success="ndcg@10")


def test_saved_loaded_and_exported(tmp_path):
    found = rw.stability(runs_of(3), difference=0.01)
    back = rw.load(found.save(tmp_path / "floor"))
    assert back.to_dict() == found.to_dict()
    assert back.users.equals(found.users)
    assert "users" not in found.to_dict()
    for form in ("json", "csv", "markdown", "latex"):
        assert "ndcg@10" in found.export(form).replace("\\_", "_")
    pair = {"a": runs_of(2)[0], "b": runs_of(2)[1]}
    comparison = rw.compare(pair, noise=back)
    again = rw.load(comparison.save(tmp_path / "comparison"))
    assert again.design.noise == comparison.design.noise
    page = rw.report(comparison, evidence=found).html
    assert "Noise floors" in page


def test_the_command_line(tmp_path):
    for at, run in enumerate(runs_of(4, shared=0.02)):
        run.save(tmp_path / "seeds" / f"rag-{at}")
    done = rankwise_here(tmp_path, "stability", "seeds", "-m", "ndcg@10", "--save", "floor")
    assert (done.returncode, "Two single runs of" in done.stdout) == (0, True)
    paths = [f"seeds/rag-{at}" for at in range(4)]
    same = rankwise_here(tmp_path, "stability", *paths, "-m", "ndcg@10", "--format", "json")
    row = json.loads(same.stdout)["table"][0]
    assert row["floor"] == rw.load(tmp_path / "floor").table["floor"][0]
    above = rankwise_here(tmp_path, "stability", *paths, "--at-most", "0.0001")
    assert above.returncode == 1
    assert rankwise_here(tmp_path, "stability", *paths, "--at-most", "1").returncode == 0
    options = ("compare", *paths[:2], "-m", "ndcg@10")
    compared = rankwise_here(tmp_path, *options, "--noise", "floor")
    assert "the noise is known from 4 runs" in " ".join(compared.stdout.split())
    two = rankwise_here(tmp_path, "stability", f"a={paths[0]}", f"b={paths[1]}")
    assert (two.returncode, "two runs or more" in two.stderr) == (2, True)
    refused = rankwise_here(tmp_path, "stability", paths[0])
    assert (refused.returncode, "two runs or more" in refused.stderr) == (2, True)
    missing = rankwise_here(tmp_path, *options, "--noise", "nowhere")
    assert missing.returncode == 3


def test_noise_that_all_users_share_alike_is_shown():
    values = np.linspace(0.2, 0.6, 50)
    found = rw.stability([result(values + shift, "ndcg@10") for shift in (0, 0.1, 0.2, 0.05)])
    assert found["ndcg@10"]["p_shared"] == 0
    assert "Runs share a part of their noise (p < 0.0001)" in " ".join(repr(found).split())
    single = rw.stability([result(np.array([value]), "ndcg@10") for value in (0.1, 0.2, 0.4)])
    assert math.isnan(single["ndcg@10"]["p_shared"])  # one user tells nothing of what is shared
    assert "share" not in repr(single)


CONFIG = """
data: {truth: truth.csv}
systems: {old: run-0.csv, new: run-1.csv}
evaluation: {metrics: [ndcg@5]}
comparison: {noise: true, movers: 3}
stability: {runs: [run-0.csv, run-1.csv, run-2.csv], difference: 0.02, at_most: 0.001}
output: {report: false}
"""


def test_a_configuration_with_runs(tmp_path):
    rng = np.random.default_rng(0)
    for at in range(3):
        items = np.argsort(rng.random((60, 9)) + (np.arange(9) < 3) * 0.5, axis=1)[:, ::-1][:, :5]
        pl.DataFrame(
            {"user": np.repeat(range(60), 5), "item": items.ravel(), "rank": [*range(1, 6)] * 60}
        ).write_csv(tmp_path / f"run-{at}.csv")
    truth = pl.DataFrame({"user": range(60), "item": [user % 3 for user in range(60)]})
    truth.write_csv(tmp_path / "truth.csv")
    (tmp_path / "config.yaml").write_text(CONFIG, encoding="utf-8")
    assert rankwise_here(tmp_path, "check", "config.yaml").returncode == 0
    done = rankwise_here(tmp_path, "run", "config.yaml")
    assert done.returncode == 1, done.stderr  # the floor is above 0.001
    assert "the noise is known from 3 runs" in " ".join(done.stdout.split())
    out = tmp_path / "rankwise-results"
    assert json.loads((out / "stability.json").read_text())["table"][0]["runs"] == 3
    movers = pl.read_csv(out / "movers.csv")
    assert movers.columns[:4] == ["metric", "baseline", "system", "user"]
    assert movers.height <= 6
    assert rw.load(out / "stability").systems == ["system"]
    again = rankwise_here(tmp_path, "run", str(out / "config.yaml"), "-o", "again")
    assert again.returncode == 1, again.stderr
    text = CONFIG.replace("stability: {runs", "# stability: {runs")
    (tmp_path / "config.yaml").write_text(text, encoding="utf-8")
    wrong = rankwise_here(tmp_path, "check", "config.yaml")
    assert "comparison.noise: there is no section `stability`" in wrong.stderr
    bare = text.replace("noise: true, ", "")
    (tmp_path / "config.yaml").write_text(bare, encoding="utf-8")
    assert rankwise_here(tmp_path, "run", "config.yaml").returncode == 0
    assert not (out / "stability").exists()  # nothing of the earlier run is left
    (tmp_path / "other" / "stability").mkdir(parents=True)
    kept = rankwise_here(tmp_path, "run", "config.yaml", "-o", "other")
    assert (kept.returncode, "files that no run wrote" in kept.stderr) == (6, True)


def test_equal_means_do_not_tell_how_far_runs_differ(tmp_path):
    found = rw.stability([0.905, 0.905], difference=0.01)
    assert found.sentences == [
        "2 runs of this system have the same value: how far two runs differ is not known."
    ]
    assert math.isnan(found.table["floor"][0])
    assert found.is_above(0.5)
    assert not rw.stability([0.905, 0.906]).is_above(0.5)


def test_means_of_requests_have_users_as_their_sample():
    def run(change):
        values = [0.5 + (0.1 * change if r % 5 == 0 else 0) * (-1) ** r for r in range(100)]
        users = [r // 5 for r in range(100)]
        columns = {"user": users, "request": range(100), "recall@5": values}
        return rw.from_per_user(pl.DataFrame(columns))

    text = str(rw.stability([run(0), run(1)]))
    assert "20.0 of 20 users differ" in text
    assert "requests" not in text
