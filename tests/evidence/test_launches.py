"""Past launches: golden values, how often intervals and verdicts hold, and what is refused."""

from __future__ import annotations

import contextlib
import json
import math
import runpy
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize

import rankwise as rw
from command_line import rankwise_here
from rankwise import stats
from rankwise.errors import ColumnError, EmptyError, InputError, ParameterError
from tools import deep

GOLDEN = pl.DataFrame(
    {
        "ndcg": [
            2.3156,
            0.4908,
            -0.1437,
            -1.2989,
            1.0661,
            -0.9379,
            0.6851,
            -1.5143,
            0.6918,
            -1.3005,
            -0.471,
            1.0517,
        ],
        "ndcg_se": [
            0.557,
            0.542,
            0.944,
            0.916,
            0.724,
            0.613,
            0.545,
            0.882,
            0.656,
            0.807,
            0.701,
            0.72,
        ],
        "online": [
            -0.0085,
            -0.0372,
            -1.9593,
            -1.1837,
            -0.0361,
            0.4935,
            0.0694,
            -2.0984,
            0.5898,
            0.1211,
            -0.3623,
            -1.954,
        ],
        "online_se": [
            0.833,
            0.79,
            0.612,
            0.637,
            0.628,
            0.672,
            0.412,
            0.69,
            0.518,
            0.479,
            0.442,
            0.891,
        ],
    }
)
"""Twelve simulated launches with independent errors; their values below come from another program."""
SIMULATED = runpy.run_path(
    str(Path(__file__).parents[2] / "simulations" / "evidence.py"), run_name="evidence"
)


def launches(n=30, slope=0.8, shared=0.0, seed=3):
    table = SIMULATED["World"](n, slope, shared).draw(np.random.default_rng(seed))
    return pl.DataFrame(
        {name: values for name, values in table.items() if not name.startswith("true")}
    )


def test_estimates_of_twelve_launches():
    arrays = [GOLDEN[name] for name in ("ndcg", "online", "ndcg_se", "online_se")]
    moments, effects = stats.method_of_moments(*arrays), stats.true_effects(*arrays)
    assert moments.naive == pytest.approx(0.184195484358664, rel=1e-10)
    assert moments.total_covariance == pytest.approx(0.3125268821055128, rel=1e-10)
    assert moments.reliability == pytest.approx(0.5893748503096045, rel=1e-10)
    assert moments.kappa == pytest.approx(2.0813839991505336, rel=1e-10)
    assert moments.liml == pytest.approx(1.2674171232717049, rel=1e-10)
    assert moments.fieller == ((-math.inf, math.inf),)
    assert effects.slope.estimate == pytest.approx(0.34421371709094134, rel=1e-7)
    assert np.ravel(effects.covariance) == pytest.approx(
        [0.8409341515492885, 0.2894610701334976, 0.2894610701334976, 0.4151319659353722], rel=1e-7
    )


def deviance(s, table):
    """Return −2 log-likelihood at S with the best mean, written without the code that is tested."""
    z = table.select("ndcg", "online").to_numpy()
    shared = table["covariance"] if "covariance" in table.columns else np.zeros(len(table))
    v = [
        np.array([[a * a, c], [c, b * b]])
        for a, b, c in zip(table["ndcg_se"], table["online_se"], shared, strict=True)
    ]

    def at(m):
        return sum(
            np.linalg.slogdet(s + part)[1] + (row - m) @ np.linalg.solve(s + part, row - m)
            for row, part in zip(z, v, strict=True)
        )

    return minimize(at, z.mean(axis=0)).fun


@pytest.mark.slow
@pytest.mark.parametrize("shared", [0.6, *deep(0.0)])
def test_no_other_covariance_is_likelier_and_limits_lie_where_the_ratio_says(shared):
    table = launches(25, shared=shared)
    arrays = [table[name] for name in ("ndcg", "online", "ndcg_se", "online_se", "covariance")]
    effects = stats.true_effects(*arrays)
    s = np.array(effects.covariance)
    least = deviance(s, table)
    for change in ([[0.05, 0], [0, 0]], [[0, -0.05], [-0.05, 0]], [[0, 0], [0, 0.02]]):
        assert deviance(s + np.array(change), table) > least
    for slope in effects.slope:

        def at(logs, slope=slope):
            a, r = np.exp(logs)
            return deviance(np.array([[a, slope * a], [slope * a, slope**2 * a + r]]), table)

        worst = minimize(
            at, np.log([s[0, 0], 0.1]), method="Nelder-Mead", options={"xatol": 1e-5, "fatol": 1e-6}
        ).fun
        assert worst - least == pytest.approx(3.8415, abs=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("slope", [-0.1, 0.0, 0.1])
def test_limits_of_a_correlation_lie_where_the_ratio_says_or_at_the_end(slope):
    table = launches(20, slope=slope)
    effects = stats.true_effects(
        *(table[name] for name in ("ndcg", "online", "ndcg_se", "online_se", "covariance"))
    )
    s = np.array(effects.covariance)
    least = deviance(s, table)
    limits = effects.correlation.low, effects.correlation.high
    assert limits[0] < 0 < limits[1]
    for limit in limits:

        def at(logs, limit=limit):
            a, c = np.exp(logs)
            return deviance(
                np.array([[a, limit * math.sqrt(a * c)], [limit * math.sqrt(a * c), c]]), table
            )

        start = np.log(np.maximum(np.diagonal(s), 1e-3))
        worst = (
            minimize(at, start, method="Nelder-Mead", options={"xatol": 1e-5, "fatol": 1e-6}).fun
            - least
        )
        assert worst == pytest.approx(3.8415, abs=5e-3) or (abs(limit) == 1 and worst < 3.8415)


def test_four_launches_tell_nothing_of_a_correlation():
    effects = stats.true_effects([0.1, 0.2, -0.1, 0.0], [0.0, 0.1, 0.1, -0.1], [1.0] * 4, [1.0] * 4)
    assert (effects.correlation.low, effects.correlation.high) == (-1.0, 1.0)


def test_weights_are_least_squares_without_what_errors_share():
    rng = np.random.default_rng(5)
    x, shared = rng.normal(size=(12, 2)), rng.uniform(0.01, 0.05, (12, 2))
    y = x @ [0.5, -0.2] + rng.normal(0, 0.1, 12)
    weights, share = stats.cross_validated_prediction(x, y, np.full(12, 0.1), shared)

    def expected(x, y, shared):
        """Covariances of n rows are estimated with n − 1 degrees of freedom; so is what errors add to them."""
        covariance = np.cov(x.T, y, ddof=1)
        return np.linalg.solve(covariance[:2, :2], covariance[:2, 2] - shared.mean(axis=0))

    assert weights == pytest.approx(expected(x, y, shared), rel=1e-9)
    line = mean = 0.0
    for row in range(12):
        rest = np.arange(12) != row
        best = expected(x[rest], y[rest], shared[rest])
        mean += (y[row] - y[rest].mean()) ** 2 - 0.01
        line += (
            (y[row] - y[rest].mean() - (x[row] - x[rest].mean(axis=0)) @ best) ** 2
            - 0.01
            + 2 * shared[row] @ best
        )
    assert share == pytest.approx(1 - line / mean, rel=1e-9)


def test_units_do_not_matter():
    table = launches()
    scaled = table.with_columns(
        pl.col("ndcg", "ndcg_se") * 1e-3,
        pl.col("online", "online_se") * 50,
        covariance=pl.col("covariance") * 0.05,
    )
    one, other = (rw.validate_metrics(part).table.row(0, named=True) for part in (table, scaled))
    for name in ("slope", "slope_low", "slope_high"):
        assert other[name] == pytest.approx(one[name] * 5e4, rel=1e-5)
    for name in ("sign_agreement", "correlation", "correlation_low", "p"):
        assert other[name] == pytest.approx(one[name], rel=1e-5, abs=1e-9)


@pytest.mark.parametrize(
    ("slope", "shared", "verdict"),
    [(0.9, 0.0, "follows"), (-0.9, 0.7, "opposes"), (0.0, 0.7, "cannot tell")],
)
def test_verdicts(slope, shared, verdict):
    row = rw.validate_metrics(launches(60, slope, shared)).table.row(0, named=True)
    assert row["verdict"] == verdict
    assert math.isnan(row["worth_testing"]) == (verdict != "follows")
    assert (row["more_launches"] is not None) <= (verdict == "cannot tell")


def test_nothing_is_concluded_from_seven_launches():
    exact = {
        "m": [*range(-3, 4)],
        "m_se": [0.01] * 7,
        "online": [*range(-3, 4)],
        "online_se": [0.01] * 7,
    }
    seven = rw.validate_metrics(
        exact | {"m": [float(i) + 0.1 * (i % 2) for i in range(-3, 4)]}, same_users=False
    )
    assert seven.table["p"][0] < 1e-6
    assert seven.table["verdict"][0] == "cannot tell"
    assert "cannot tell (7 launches; about 1 more would" in repr(seven)


def test_the_naive_slope_has_the_wrong_sign_where_errors_are_shared():
    row = rw.validate_metrics(launches(200, -0.4, 0.8, seed=1)).table.row(0, named=True)
    assert row["naive"] > 0 > row["slope_high"]
    assert row["same_signs"] / row["launches"] > 0.5 > row["sign_agreement"]


def test_the_sign_agreement_is_that_of_the_normal_distribution():
    effects = stats.true_effects(
        *(launches()[name] for name in ("ndcg", "online", "ndcg_se", "online_se"))
    )
    draws = np.random.default_rng(0).multivariate_normal(effects.mean, effects.covariance, 400_000)
    assert effects.sign_agreement == pytest.approx((draws.prod(axis=1) > 0).mean(), abs=0.003)
    near = np.abs(draws[:, 0] - effects.threshold()) < 0.03
    assert (draws[near, 1] > 0).mean() == pytest.approx(0.8, abs=0.02)


def test_fiellers_set_is_an_interval_two_rays_or_everything():
    sets = set()
    for seed in range(30):
        table = SIMULATED["World"](10, 0.9, 0.0).draw(np.random.default_rng(seed))
        arrays = [table[name] for name in ("ndcg", "online", "ndcg_se", "online_se", "covariance")]
        fieller = stats.method_of_moments(*arrays).fieller
        sets.add((len(fieller), math.isfinite(fieller[0][0])))
        u, v = (table["ndcg"] * table["online"], table["ndcg"] ** 2 - table["ndcg_se"] ** 2)
        for slope in np.linspace(-4, 4, 41):
            z = u - slope * v
            inside = abs(z.mean()) <= 2.2621571 * z.std(ddof=1) / math.sqrt(len(z))
            assert inside == any(low <= slope <= high for low, high in fieller)
    assert sets == {(1, True), (2, False), (1, False)}


def test_a_bounded_fieller_set_is_written_as_its_limits():
    table = two_metrics(30)
    names = ("ndcg", "online", "ndcg_se", "online_se", "ndcg_covariance")
    ((low, high),) = stats.method_of_moments(*(table[name] for name in names)).fieller
    row = rw.validate_metrics(table).table.row(by_predicate=pl.col("metric") == "ndcg", named=True)
    assert row["fieller"] == f"{low:.4f} to {high:.4f}"


def two_metrics(n, seed=0):
    rng = np.random.default_rng(seed)
    online = rng.normal(0, 1, n)
    frame = {"online": online + rng.normal(0, 0.3, n), "online_se": [0.3] * n}
    for name, share in (("ndcg", 0.7), ("coverage", -0.4)):
        frame |= {
            name: share * online + rng.normal(0, 0.5, n),
            f"{name}_se": [0.2] * n,
            f"{name}_covariance": [0.0] * n,
        }
    return pl.DataFrame(frame)


def test_a_composite_needs_twenty_launches_and_several_metrics():
    assert rw.validate_metrics(two_metrics(19)).prediction is None
    assert rw.validate_metrics(launches(30)).prediction is None
    prediction = rw.validate_metrics(two_metrics(80)).prediction
    assert prediction["metric"].to_list() == ["ndcg", "coverage", "composite of all"]
    ndcg, coverage, composite = prediction["share"]
    assert 1 > composite > ndcg > coverage
    assert prediction["weight"][0] > 0 > prediction["weight"][1]


def test_a_composite_of_noise_predicts_nothing():
    rng = np.random.default_rng(5)
    shares = [
        stats.cross_validated_prediction(
            rng.normal(size=(25, 3)), rng.normal(size=25), [0.5] * 25, np.zeros((25, 3))
        )[1]
        for _ in range(40)
    ]
    assert np.median(shares) < 0


def test_a_shared_error_predicts_no_true_effect():
    """Left-out launches share errors as well: without their covariance the error itself would be predicted."""
    rng = np.random.default_rng(2)
    true, error = rng.normal(size=400), rng.normal(size=400)
    x, y, ones = error[:, None], true + error, np.ones((400, 1))
    assert stats.cross_validated_prediction(x, y, np.ones(400), 0 * ones)[1] > 0.4
    assert abs(stats.cross_validated_prediction(x, y, np.ones(400), ones)[1]) < 0.1


def test_several_metrics_are_corrected_for_their_number():
    validation = rw.validate_metrics(two_metrics(30))
    table = validation.table
    assert "over 2 metrics by Holm" in validation.notes[1]
    assert (table["p_adjusted"] >= table["p"]).all()
    assert table["p_adjusted"].min() == pytest.approx(2 * table["p"].min())


@pytest.mark.parametrize(
    ("change", "options", "error", "text"),
    [
        (
            lambda t: t.drop("covariance"),
            {},
            ParameterError,
            "covariance of the offline and the online error is not known",
        ),
        (
            lambda t: t.drop("covariance"),
            {"same_users": True},
            ParameterError,
            "same_users=False if they come from",
        ),
        (
            lambda t: t.drop("online_se"),
            {},
            ColumnError,
            "no column 'online_se' with the standard errors of 'online'",
        ),
        (
            lambda t: t.drop("ndcg_se"),
            {},
            ColumnError,
            "no offline metric has a column of standard errors",
        ),
        (lambda t: t, {"offline": "ndgc"}, ColumnError, "did you mean 'ndcg'"),
        (lambda t: t.with_columns(ndcg=None), {}, ColumnError, "a launch has no value|no numbers"),
        (lambda t: t.with_columns(online=pl.lit("x")), {}, ColumnError, "holds no numbers"),
        (lambda t: t.with_columns(ndcg_se=0.0), {}, InputError, "standard errors are above 0"),
        (lambda t: t.with_columns(covariance=0.9), {}, InputError, "not the correlation"),
        (lambda t: t.head(2), {}, InputError, "at least 3 pairs"),
        (lambda t: t.head(0), {}, EmptyError, "no launch"),
        (lambda t: t, {"confidence": 95}, ParameterError, "confidence must lie between 0 and 1"),
    ],
)
def test_what_is_missing_is_said(change, options, error, text):
    with pytest.raises(error, match=text):
        rw.validate_metrics(change(launches()), **options)


def test_exports_and_the_command_line_say_the_same(tmp_path):
    GOLDEN.write_csv(tmp_path / "launches.csv")
    done = rankwise_here(tmp_path, "validate-metrics", "launches.csv", "--different-users")
    with contextlib.chdir(tmp_path):
        validation = rw.validate_metrics("launches.csv", same_users=False)
    assert done.stdout == f"{validation!r}\n"
    rankwise_here(
        tmp_path, "validate-metrics", "launches.csv", "--different-users", "-o", "out.json"
    )
    assert json.loads((tmp_path / "out.json").read_text()) == json.loads(validation.export("json"))
    assert "cannot tell (12 launches" in validation.export("latex")
    assert "<table" in validation._repr_html_()
    missing = rankwise_here(tmp_path, "validate-metrics", "launches.csv")
    assert missing.returncode == 2
    assert "--different-users" in missing.stderr


def test_a_report_has_a_section_of_evidence():
    result = rw.evaluate({1: [2], 2: [3]}, {1: {2}, 2: {4}}, "recall@1")
    page = rw.report(result, evidence=rw.validate_metrics(GOLDEN, same_users=False))
    assert "Evidence of other studies" in page.html
    assert "cannot tell (12 launches" in page.html
    assert "Evidence of other studies" not in rw.report(result).html
    with pytest.raises(ParameterError, match="evidence takes what"):
        rw.report(result, evidence=3)


def test_a_configuration_names_launches(tmp_path):
    GOLDEN.write_csv(tmp_path / "launches.csv")
    pl.DataFrame({"user": [1, 2], "item": [5, 6]}).write_csv(tmp_path / "run.csv")
    text = "systems: {a: run.csv}\ndata: {truth: run.csv}\nevaluation: {metrics: recall@1}\noutput: {report: false}\n"
    (tmp_path / "c.yaml").write_text(text + "launches: {table: launches.csv, same_users: false}\n")
    done = rankwise_here(tmp_path, "run", "c.yaml")
    assert done.returncode == 0, done.stderr
    assert "cannot tell (12 launches" in done.stdout
    first = (tmp_path / "rankwise-results" / "launches.json").read_text()
    assert rankwise_here(tmp_path, "run", "rankwise-results/config.yaml").returncode == 0
    again = json.loads((tmp_path / "rankwise-results" / "rerun" / "launches.json").read_text())
    assert again["table"] == json.loads(first)["table"]
    (tmp_path / "c.yaml").write_text(text + "launches: {table: lunches.csv}\n")
    wrong = rankwise_here(tmp_path, "check", "c.yaml")
    assert (
        "launches.table: there is no file lunches.csv; did you mean 'launches.csv'" in wrong.stderr
    )


def test_a_metric_that_is_chosen_afterwards_differs_more_often():
    row = SIMULATED["plans_row"](8, 60, users=60)
    assert row["planned"] <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 60) < row["chosen"]


@pytest.mark.slow
@pytest.mark.parametrize("logs", [12, *deep(200)])
@pytest.mark.parametrize("world", [(12, 0.0, 0.7), *deep(((20, -0.3, 0.7),))])
def test_intervals_cover_and_verdicts_are_seldom_wrong(world, logs):
    row = SIMULATED["launches_row"](SIMULATED["World"](*world), logs, seed=4)
    few = 3 * math.sqrt(0.05 * 0.95 / logs)
    assert row["covered"] >= 0.95 - few
    assert row["wrong verdict"] <= 0.05 + few


def with_one_that_dominates(n=20):
    """Launches without a relation, and one in row 7 whose both effects are large."""
    rng = np.random.default_rng(11)
    x, y = rng.normal(0, 0.3, n), rng.normal(0, 0.3, n)
    x[6], y[6] = 12.0, 9.0
    return pl.DataFrame(
        {"ndcg": x, "ndcg_se": [0.1] * n, "online": y, "online_se": [0.1] * n},
    )


def test_a_verdict_that_rests_on_one_launch_says_so():
    table = with_one_that_dominates()
    found = rw.validate_metrics(table, same_users=False)
    row = found.table.row(0, named=True)
    assert (row["verdict"], row["dominant_launch"]) == ("follows", 7)
    rest = rw.validate_metrics(table.filter(pl.col("ndcg") < 10), same_users=False).table
    without = [row[f"slope_without{end}"] for end in ("", "_low", "_high")]
    assert without == pytest.approx(rest.select("slope", "slope_low", "slope_high").row(0))
    assert rest["verdict"].to_list() == ["cannot tell"]
    said = " ".join(repr(found).split())
    assert "follows (rests on one launch)" in said
    assert "ndcg: the slope rests on one launch, in row 7; without it, it is" in said
    assert "rests on one launch, in row 7" in found.sentences[0]


def test_launches_of_one_line_rest_on_none_of_them():
    found = rw.validate_metrics(launches(n=30, slope=0.8), same_users=False)
    assert found.table["dominant_launch"].to_list() == [None]
    assert found.table["slope_without"].is_nan().all()
    assert found.flags == []


def test_slopes_without_each_launch_are_those_of_the_others():
    arrays = [GOLDEN[name].to_numpy() for name in ("ndcg", "online", "ndcg_se", "online_se")]
    without = stats.slopes_without_each(*arrays)
    for launch, slope in enumerate(without):
        others = [np.delete(part, launch) for part in arrays]
        assert slope == pytest.approx(stats.true_effects(*others).slope.estimate, rel=1e-4)
    with pytest.raises(InputError, match="at least 4 pairs"):
        stats.slopes_without_each(*(part[:3] for part in arrays))
    constant = stats.slopes_without_each([1, 1, 1, 2], [1, 2, 3, 4], [0.1] * 4, [0.1] * 4)
    assert np.isnan(constant).tolist() == [False, False, False, True]
