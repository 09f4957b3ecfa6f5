"""Predicted probabilities: by hand, against the plain definitions, scikit-learn, TorchMetrics and TorchRec's formulas."""

from __future__ import annotations

import math
import pickle

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss

import rankwise as rw
from rankwise import functional as fn
from rankwise.errors import MetricError, ParameterError, ScoreError
from strategies import evaluations

NAMES = ["log_loss", "normalised_entropy", "calibration_ratio", "ece", "brier"]
BINS = ["", "n_bins=3", "bins=equal_mass,n_bins=4", "edges=[0.2,0.55]"]


def clicks(n=3000, seed=0, users=150):
    """Return a table of clicks, of a model that predicts too much, and all its (probability, label) pairs."""
    rng = np.random.default_rng(seed)
    p = rng.random(n) ** 2
    y = (rng.random(n) < p**1.3).astype(int)
    table = pl.DataFrame(
        {"user": np.arange(n) % users, "item": np.arange(n) // users, "prediction": p, "label": y}
    )
    return table, list(zip(p.tolist(), y.tolist(), strict=True))


def test_by_hand():
    table = {"ann": [(0.2, 0), (0.3, 1)], "bob": [(0.8, 1), (0.9, 1)]}
    names = [
        *NAMES,
        "ece(n_bins=2)",
        "ece(n_bins=2,norm=l2)",
        "ece(n_bins=2,norm=l2,debiased=true)",
        "brier(n_bins=2)",
    ]
    result = rw.evaluate_ratings(table, names[1:])
    # Bin (0, 0.5]: mean probability 0.25, rate 0.5; bin (0.5, 1]: 0.85 and 1.
    assert result["ece(n_bins=2)"] == pytest.approx((0.25 + 0.15) / 2)
    assert result["ece(n_bins=2,norm=l2)"] == pytest.approx(math.sqrt((0.25**2 + 0.15**2) / 2))
    # The variance of the first rate is 0.5 × 0.5 / (2 − 1), more than its squared gap.
    assert result["ece(n_bins=2,norm=l2,debiased=true)"] == 0.0
    assert result["calibration_ratio"] == pytest.approx(2.2 / 3)
    assert result["brier"] == pytest.approx((0.04 + 0.49 + 0.04 + 0.01) / 4)
    parts = {row["part"]: row["value"] for row in result.table("brier(n_bins=2)").to_dicts()}
    assert parts["reliability"] == pytest.approx((0.25**2 + 0.15**2) / 2)
    assert parts["resolution"] == pytest.approx(0.25**2)
    assert parts["uncertainty"] == pytest.approx(0.75 * 0.25)
    # Within bins: variances of the scores, minus twice the covariances with the labels.
    assert parts["within_bins"] == pytest.approx((0.05**2 + 0.05**2) / 2 - 2 * (0.05 * 0.5 + 0) / 2)
    losses = [-math.log(p) for p in (0.8, 0.3, 0.8, 0.9)]
    entropy = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25))
    assert result["normalised_entropy"] == pytest.approx(sum(losses) / 4 / entropy)
    per_user = result.per_user["calibration_ratio"].to_list()
    assert per_user == pytest.approx([0.5, 0.85])


def test_a_bin_is_closed_on_the_right():
    result = rw.evaluate_ratings(
        {"ann": [(0.0, 0), (0.5, 1), (1.0, 1)]}, "reliability_curve(n_bins=2)"
    )
    assert result.table("reliability_curve(n_bins=2)")["rows"].to_list() == [2, 1]


def pairs_of(lists, truth):
    return [
        (chance, int(truth.get(user, {}).get(item, 0) > 0))
        for user, own in lists.items()
        for item, chance in own.items()
    ]


PLAIN = {
    "log_loss": fn.log_loss,
    "normalised_entropy": fn.normalised_entropy,
    "calibration_ratio": fn.calibration_ratio,
    "ece": fn.expected_calibration_error,
    "brier": fn.brier_score,
}


@given(evaluations(scores=True, judged=True), st.booleans())
def test_against_the_plain_definitions(data, logits):
    lists, truth = data
    scores = {"scores": "logits"} if logits else {}
    move = (lambda s: s - 1.5) if logits else lambda s: (s + 0.5) / 4
    lists = {u: {i: move(s) for i, s in own.items()} for u, own in lists.items()}
    options = {name: [dict(scores)] for name in NAMES}
    for own in ({"n_bins": 3}, {"bins": "equal_mass", "n_bins": 4}, {"edges": (0.2, 0.55)}):
        options["ece"] += [
            own | scores | {"norm": norm, "debiased": debiased}
            for norm in ("l1", "l2")
            for debiased in (False, True)
        ]
        options["brier"].append(own | scores)
    metrics = {
        name: [rw.metrics.registry.find(name)(**own) for own in each]
        for name, each in options.items()
    }
    result = rw.evaluate(
        lists, truth, [m for each in metrics.values() for m in each], population="all"
    )
    pairs = pairs_of(lists, truth)
    for name, each in metrics.items():
        for metric, own in zip(each, options[name], strict=True):
            takes = own if name != "brier" else scores
            assert result[metric] == pytest.approx(
                PLAIN[name](pairs, **takes), rel=1e-9, abs=1e-9, nan_ok=True
            ), metric
            if name == "brier":
                parts = {row["part"]: row["value"] for row in result.table(metric).to_dicts()}
                assert parts == pytest.approx(
                    fn.brier_decomposition(pairs, **own), abs=1e-9, nan_ok=True
                )


@pytest.mark.parametrize("bins", BINS)
def test_the_curve_is_the_plain_one_and_that_of_its_groups(bins):
    table, pairs = clicks()
    users = pl.DataFrame({"user": range(150), "country": ["AT", "DE", "FR"] * 50})
    name = str(rw.parse(f"reliability_curve({bins})"))
    result = rw.evaluate_ratings(table, name, users=users, by="country")
    options = rw.parse(name).parameters
    expected = [row._asdict() for row in fn.reliability_curve(pairs, **options)]
    ours = result.table(name).drop("bin")
    for row, other in zip(ours.to_dicts(), expected, strict=True):
        assert row == pytest.approx(other)
    groups = result.table(name, by="country")
    assert groups["group"].unique().sort().to_list() == ["AT", "DE", "FR"]
    assert (
        groups.group_by("bin", maintain_order=True).agg(pl.col("rows").sum())["rows"].to_list()
        == ours["rows"].to_list()
    )


@pytest.mark.parametrize(
    ("bins", "strategy"), [("equal_width", "uniform"), ("equal_mass", "quantile")]
)
@pytest.mark.parametrize("n_bins", [5, 10, 17])
def test_against_scikit_learn(bins, strategy, n_bins):
    table, pairs = clicks(seed=n_bins)
    p, y = map(np.asarray, zip(*pairs, strict=True))
    name = f"reliability_curve(n_bins={n_bins},bins={bins})"
    result = rw.evaluate_ratings(table, [name, "brier"])
    curve = result.table(name).filter(pl.col("rows") > 0)
    observed, predicted = calibration_curve(y, p, n_bins=n_bins, strategy=strategy)
    assert curve["observed"].to_list() == pytest.approx(observed.tolist())
    assert curve["predicted"].to_list() == pytest.approx(predicted.tolist())
    assert result["brier"] == pytest.approx(brier_score_loss(y, p))


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_against_torchmetrics(norm):
    torch = pytest.importorskip("torch")
    functional = pytest.importorskip("torchmetrics.functional.classification")
    table, pairs = clicks()
    p, y = zip(*pairs, strict=True)
    theirs = functional.binary_calibration_error(
        torch.tensor(p, dtype=torch.float64), torch.tensor(y), n_bins=15, norm=norm
    )
    name = f"ece(n_bins=15,norm={norm})"
    assert rw.evaluate_ratings(table, name)[name] == pytest.approx(float(theirs), rel=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
def test_against_the_formulas_of_torchrec(weighted):
    """TorchRec: cross entropy in bits over that of the weighted mean label; predictions over labels."""
    table, pairs = clicks()
    p, y = map(np.asarray, zip(*pairs, strict=True))
    by_user = np.random.default_rng(1).integers(1, 4, 150) if weighted else np.ones(150)
    weights = by_user[table["user"].to_numpy()]
    cross_entropy = -(weights * y * np.log2(p) + weights * (1 - y) * np.log2(1 - p)).sum()
    positive, negative = (weights * y).sum(), (weights * (1 - y)).sum()
    mean = positive / weights.sum()
    norm = -positive * np.log2(mean) - negative * np.log2(1 - mean)
    options = {"weights": dict(enumerate(by_user.tolist()))} if weighted else {}
    result = rw.evaluate_ratings(table, ["normalised_entropy", "calibration_ratio"], **options)
    assert result["normalised_entropy"] == pytest.approx(cross_entropy / norm)
    assert result["calibration_ratio"] == pytest.approx((weights * p).sum() / positive)


def test_without_a_click_no_row_is_one():
    table = clicks(300, users=15)[0].with_columns(label=pl.lit(0))
    result = rw.evaluate_ratings(
        table, ["log_loss", "brier", "calibration_ratio", "normalised_entropy", "rmse"]
    )
    assert result["log_loss"] == pytest.approx(
        float(-np.log1p(-table["prediction"].to_numpy()).mean())
    )
    assert result["brier"] == pytest.approx(result["rmse"] ** 2)
    assert math.isnan(result["calibration_ratio"])
    assert math.isnan(result["normalised_entropy"])


def test_equal_mass_has_the_edges_of_all_users_in_every_group():
    table, pairs = clicks()
    users = pl.DataFrame({"user": range(150), "country": ["AT", "DE"] * 75})
    name = "ece(n_bins=4,bins=equal_mass)"
    result = rw.evaluate_ratings(table, name, users=users, by="country")
    edges = np.quantile([p for p, _ in pairs], [0.25, 0.5, 0.75]).tolist()
    own = [pair for at, pair in enumerate(pairs) if at % 150 % 2 == 0]
    assert result.slices[name][0] == pytest.approx(fn.expected_calibration_error(own, edges=edges))


def test_a_metric_that_saw_scores_is_the_same_metric():
    metric = rw.parse("ece(bins=equal_mass)")
    shown = metric.with_scores(np.linspace(0, 1, 50))
    assert shown == metric
    assert str(shown) == str(metric)
    assert pickle.loads(pickle.dumps(shown)) == metric


def test_equal_mass_is_refused_in_pieces():
    with pytest.raises(MetricError, match="needs the scores of all lists at once"):
        rw.Evaluator("ece(bins=equal_mass)", truth={"ann": {1}})


def test_pieces_have_the_same_bits():
    lists = {u: {i: (u * i % 17) / 17 for i in range(9)} for u in range(40)}
    truth = {u: {i for i in range(9) if (u + i) % 3 == 0} for u in range(40)}
    names = [
        "ece(edges=[0.1,0.4])",
        "brier",
        "reliability_curve",
        "normalised_entropy",
        "calibration_ratio",
    ]
    whole = rw.evaluate(lists, truth, names)
    evaluator = rw.Evaluator(names, truth=truth)
    for first in range(0, 40, 7):
        evaluator.update({u: lists[u] for u in range(first, min(first + 7, 40))})
    assert dict(evaluator.result()) == dict(whole)


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("ece(edges=[0.5,0.2])", "must ascend"),
        ("ece(edges=[0.0,0.2])", "must ascend"),
        ("ece(edges=[0.2],n_bins=3)", "in place of n_bins"),
        ("ece(n_bins=0)", "between 1 and 1,000"),
        ("brier(bins=quantile)", "one of equal_width, equal_mass"),
    ],
)
def test_bins_that_make_no_sense(metric, message):
    with pytest.raises(ParameterError, match=message):
        rw.parse(metric)


def test_scores_that_are_no_probabilities():
    with pytest.raises(ScoreError, match="ece needs scores that are probabilities") as error:
        rw.evaluate({"ann": {1: 2.5}}, {"ann": {1}}, "ece")
    assert "ece(scores=logits)" in str(error.value)


def test_debiasing_has_no_weights():
    with pytest.raises(MetricError, match="users cannot have weights"):
        rw.evaluate({"ann": {1: 0.5}}, {"ann": {1}}, "ece(debiased=true)", weights={"ann": 2.0})


def test_plots_and_report():
    pytest.importorskip("altair")
    table, _ = clicks()
    users = pl.DataFrame({"user": range(150), "country": ["AT", "DE"] * 75})
    result = rw.evaluate_ratings(
        table, ["brier", "reliability_curve"], users=users, by="country", jackknife=20
    )
    assert result.plot.reliability() is not None
    assert result.plot.reliability(by="country") is not None
    page = rw.report(result).html
    assert "Calibration of probabilities" in page
    assert "[bin=1" not in repr(result)
    assert "country=AT" in repr(result)
    with pytest.raises(MetricError, match="no reliability curve"):
        rw.evaluate_ratings(table, "brier").plot.reliability()
    with pytest.raises(ParameterError, match="no groups of users by 'land'"):
        result.plot.reliability(by="land")


def test_on_torch():
    torch = pytest.importorskip("torch")
    from rankwise.torch import Collection

    generator = torch.Generator().manual_seed(0)
    scores = torch.rand(30, 12, generator=generator, dtype=torch.float64)
    target = torch.rand(30, 12, generator=generator) < scores
    names = [
        "ece(edges=[0.2,0.7])",
        "ece(norm=l2,debiased=true)",
        "brier",
        "normalised_entropy",
        "calibration_ratio",
    ]
    names += ["reliability_curve(n_bins=4)"]
    metrics = Collection(names, n_items=12)
    for at in range(0, 30, 10):
        metrics.update(scores[at : at + 10], target[at : at + 10])
    lists = {u: dict(enumerate(row)) for u, row in enumerate(scores.tolist())}
    truth = {u: row.nonzero()[:, 0].tolist() for u, row in enumerate(target)}
    theirs = rw.evaluate(lists, truth, names)
    assert dict(metrics.result()) == dict(theirs)
    with pytest.raises(MetricError, match="needs the scores of all lists at once"):
        Collection("ece(bins=equal_mass)", n_items=12)


def test_the_log_loss_of_users_first():
    lists, truth = {"ann": {1: 0.9, 2: 0.2}, "bob": {1: 0.5}}, {"ann": {1}, "bob": {1}}
    name = "log_loss(average=users)"
    of_users = [fn.log_loss([(0.9, 1), (0.2, 0)]), fn.log_loss([(0.5, 1)])]
    result = rw.evaluate(lists, truth, name)
    assert result[name] == pytest.approx(sum(of_users) / 2)
    assert result.kinds[name] == "mean"
