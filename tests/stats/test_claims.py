"""No claim is stronger than the data: how often intervals, tests and verdicts are wrong.

In worlds like ours: most users have no difference (recall, one relevant item), a tenth of them
have heavy-tailed values, some of them skewed. Each rate is compared with its nominal value plus
three Monte-Carlo standard errors.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from scipy.stats import ttest_1samp

import rankwise as rw
from rankwise import stats
from rankwise.stats.bounded_means import BoundedMean
from rankwise.stats.differences import differences
from rankwise.stats.equivalence import Margin, non_inferiority_of, variance_interval
from tools import deep

pytestmark = pytest.mark.usefixtures("one_thread")
RUNS = 400
FEWER_OR_ALL = [120, *deep(RUNS)]


def recall(n, rng):
    """Recall of one to five relevant items, found with a probability that users differ in."""
    found = rng.beta(0.8, 2.5, n) * 0.35
    relevant = rng.integers(1, 6, n)
    return (rng.binomial(relevant, found) - rng.binomial(relevant, found)) / relevant


def ndcg(n, rng):
    """nDCG of one relevant item."""
    found = rng.beta(0.6, 4, n) * 0.8
    one, other = ((rng.random(n) < found) / np.log2(rng.integers(1, 11, n) + 1) for _ in range(2))
    return one - other


def heavy(n, rng):
    """A tenth of the users buy, for amounts with a heavy tail."""
    one, other = ((rng.random(n) < 0.1) * np.exp(rng.normal(0, 1.5, n)) for _ in range(2))
    return one - other


def skewed(n, rng):
    """The same against a mild spread with the same mean."""
    mean = 0.1 * math.exp(1.5**2 / 2)
    return (rng.random(n) < 0.1) * np.exp(rng.normal(0, 1.5, n)) - rng.exponential(mean, n)


def rare(n, rng):
    """Hits of one system alone, for one user of fifty."""
    return (rng.random(n) < 0.02) * 1.0


WORLDS = {"recall": recall, "ndcg": ndcg, "heavy": heavy, "skewed": skewed}


def most(rate, runs):
    return rate + 3 * math.sqrt(rate * (1 - rate) / runs)


def least(rate, runs):
    return rate - 3 * math.sqrt(rate * (1 - rate) / runs)


def default_route(d, seed):
    """Return p and interval by sign flips, and by t for many users, where there is no bound."""
    if len(d) >= 1000:
        return stats.paired_t(d), stats.t_interval(d)
    make = {"n_resamples": 499, "seed": seed}
    return stats.sign_flip(d, **make), stats.sign_flip_interval(d, **make)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["recall", "ndcg", "heavy"])
@pytest.mark.parametrize("n", [30, *deep(100, 300, 1000)])
def test_intervals_of_differences_cover_and_never_contradict_p(name, n):
    rng = np.random.default_rng(n)
    runs, covered = 200, 0
    for seed in range(runs):
        d = WORLDS[name](n, rng)
        test, interval = default_route(d, seed)
        inside = not d.any() or interval.low <= 0 <= interval.high
        covered += inside
        assert inside == (test.p >= 0.05), (test, interval)
    assert covered / runs >= least(0.945, runs)
    # Few users differ in small samples, and signs of few have few outcomes: never too narrow.
    assert covered / runs <= (1.0 if n == 30 else most(0.975, runs))


def test_a_comparison_takes_this_route():
    rng = np.random.default_rng(1)
    for n in (100, 1000):
        d = recall(n, rng)
        frames = [pl.DataFrame({"user": range(n), "z": values}) for values in (np.zeros(n), d)]
        results = [*map(rw.from_per_user, frames)]
        row = rw.compare(*results)["B"]  # a column without a range: by t
        test, interval = stats.paired_t(d), stats.t_interval(d)
        assert (row["p"], row["low"], row["high"]) == (test.p, interval.low, interval.high)
        assert row["test"] == test.test
        flips = rw.compare(*results, test="sign_flip", n_resamples=499)["B"]
        assert flips["p"] == stats.sign_flip(d, n_resamples=499, seed=0).p


@pytest.mark.slow
@pytest.mark.parametrize("n", [1000, *deep(30, 100)])
def test_too_many_errors_under_skew_are_flagged(n):
    rng = np.random.default_rng(n)
    runs, unflagged = 150, 0
    for seed in range(runs):
        test, _ = default_route(skewed(n, rng), seed)
        unflagged += test.p < 0.05 and not any("skewness" in flag for flag in test.flags)
    assert unflagged / runs <= most(0.08, runs)


@pytest.mark.slow
@pytest.mark.parametrize("n", [30, *deep(10, 100, 1000, 10_000)])
@pytest.mark.parametrize("name", ["rare", *WORLDS])
@pytest.mark.parametrize("runs", FEWER_OR_ALL)
def test_what_differs_by_the_margin_is_seldom_called_equivalent_or_not_worse(name, n, runs):
    runs = runs if n <= 1000 else 150
    rng = np.random.default_rng(n + len(name))
    bounded = name in ("rare", "recall", "ndcg")
    equivalent = no_worse = 0
    for _ in range(runs):
        if name == "rare":
            d, margin = rare(n, rng), 0.02
        else:  # one user of many gains, so that the mean differs by the margin
            size, margin = (0.5, 0.02) if bounded else (1.0, 0.1)
            d = WORLDS[name](n, rng) + (rng.random(n) < margin / size) * size
        largest = 1.5 if bounded else math.inf
        equivalent += stats.equivalence(d, margin=margin, largest=largest).equivalent
        no_worse += stats.non_inferiority(-d, margin=margin, largest=largest).shown
    assert equivalent / runs <= most(0.06, runs)
    assert no_worse / runs <= most(0.06, runs)


GAIN_AND_RARE_LOSS = {
    # A gain and its share, a loss and its share; the margin is the true loss.
    "0.005 for 30 %, -1 for 0.2 %": (0.005, 0.3, -1.0, 0.002, 0.0005),
    "0.02 for 40 %, -1 for 1 %": (0.02, 0.4, -1.0, 0.01, 0.002),
    "0.01 for 10 %, -0.5 for 0.3 %": (0.01, 0.1, -0.5, 0.003, 0.0005),
}


@pytest.mark.slow
@pytest.mark.parametrize("world", GAIN_AND_RARE_LOSS)
@pytest.mark.parametrize("n", [100, *deep(300, 1000)])
@pytest.mark.parametrize("runs", FEWER_OR_ALL)
def test_no_loss_is_excluded_where_rare_large_ones_were_not_drawn(world, n, runs):
    """The t test, whose skewness is that of the sample, said "not worse" in up to 0.56 of these samples."""
    gain, often, loss, seldom, margin = GAIN_AND_RARE_LOSS[world]
    rng, shown = np.random.default_rng(n), 0
    for _ in range(runs):
        d = rng.choice([gain, loss, 0.0], n, p=[often, seldom, 1 - often - seldom])
        shown += stats.non_inferiority(d, margin=margin, largest=1.0).shown
    assert shown / runs <= most(0.05, runs)


@pytest.mark.slow
@pytest.mark.parametrize("n", [60, 150, *deep(30, 100, 600)])
def test_intervals_cover_where_rare_large_losses_were_not_drawn(n):
    """The interval of sign flips covered 0.70 to 0.87 of these means."""
    rng, covered, no_gain = np.random.default_rng(n), 0, 0
    for _ in range(RUNS):
        d = rng.choice([0.1, -1.0, 0.0], n, p=[0.3, 0.01, 0.69])
        covered += 0.02 in stats.bounded_interval(d, largest=1.0)
        even = rng.choice([1 / (0.15 * n), -1.0, 0.0], n, p=[0.3, 2 / n, 0.7 - 2 / n])
        no_gain += stats.bounded_test(even, largest=1.0).p < 0.05 and even.mean() > 0
    assert covered / RUNS >= least(0.95, RUNS)
    assert no_gain / RUNS <= most(0.025, RUNS)


@pytest.mark.parametrize("share", [0.1, 0.05])
def test_a_loss_of_a_share_of_the_baseline_is_seldom_called_smaller(share):
    """With the baseline's mean taken for known, up to 0.38 of these samples were "not worse"."""
    rng, shown, n = np.random.default_rng(1), 0, 2000
    for _ in range(RUNS):
        y = (rng.random(n) < 0.05) * rng.random(n)
        pairs = differences(y - share * 0.025 + rng.normal(0, 0.005, n), y)
        shown += non_inferiority_of(pairs, margin=Margin(share, relative=True), alpha=0.05).shown
    assert shown / RUNS <= most(0.055, RUNS)


def test_nothing_known_is_not_equivalent():
    """30 users without a hit in either system say little about the others."""
    nothing = [0.0] * 30
    assert not stats.equivalence(nothing, nothing, margin=0.05, largest=1.0).equivalent
    assert stats.equivalence(nothing * 10, nothing * 10, margin=0.05, largest=1.0).equivalent
    assert not stats.equivalence(
        nothing * 10, nothing * 10, margin=0.05
    ).equivalent  # range unknown


@pytest.mark.deep
def test_a_difference_of_the_detectable_size_is_found_with_probability_080():
    """Of a primary pair, and of one of five exploratory ones beside four without a difference."""
    n = 1000
    rng = np.random.default_rng(7)
    runs, found = 120, {"primary": 0, "exploratory": 0}
    deviation = float(np.std(ndcg(200_000, rng), ddof=1))
    sizes = {
        "primary": stats.minimum_detectable(n) * deviation,
        "exploratory": stats.minimum_detectable(n, alpha=0.05 / 5) * deviation,
    }
    for _ in range(runs):
        columns = {f"m{at}": ndcg(n, rng) for at in range(5)}
        columns["m0"] = columns["m0"] + sizes["exploratory"]
        main = ndcg(n, rng) + sizes["primary"]
        one = pl.DataFrame(
            {"user": range(n), "main": np.zeros(n)} | dict.fromkeys(columns, np.zeros(n))
        )
        other = pl.DataFrame({"user": range(n), "main": main} | columns)
        table = rw.compare(
            rw.from_per_user(one), rw.from_per_user(other), primary="main", test="t"
        ).table
        verdicts = dict(zip(table["metric"], table["p_adjusted"], strict=True))
        found["primary"] += verdicts["main"] < 0.05
        found["exploratory"] += verdicts["m0"] < 0.05
    for name, count in found.items():
        assert abs(count / runs - 0.8) <= 0.05 + 3 * math.sqrt(0.16 / runs), (name, count / runs)


def test_printed_detectable_differences_are_of_the_level_that_decides():
    rng = np.random.default_rng(8)
    frames = [
        pl.DataFrame({"user": range(500)} | {f"m{at}": rng.random(500) for at in range(6)})
        for _ in range(3)
    ]
    table = rw.compare(dict(zip("abc", map(rw.from_per_user, frames), strict=True))).table
    for row in table.iter_rows(named=True):
        one, other = (
            frames["abc".index(row[side])][row["metric"]].to_numpy()
            for side in ("baseline", "system")
        )
        tests = 3 if row["primary"] else 15
        expected = stats.minimum_detectable(500, alpha=0.05 / tests) * (other - one).std(ddof=1)
        assert row["minimum_detectable"] == pytest.approx(expected)


def test_no_interval_has_width_0_where_values_could_vary():
    truth = {user: {1} for user in range(30)}
    lists = {user: [2, 3] for user in range(30)}
    one = rw.evaluate(lists, truth, ["recall@2", "dcg@2"])
    found = one.interval("recall@2")
    assert (found.low, found.estimate) == (0.0, 0.0)
    assert found.high == pytest.approx(1 - 0.025 ** (1 / 30))
    assert math.isnan(one.interval("dcg@2").high)  # without a bound nothing can be said
    row = rw.compare(one, rw.evaluate(lists, truth, ["recall@2", "dcg@2"]))["recall@2", "B"]
    assert row["high"] == -row["low"] == pytest.approx(1 - 0.025 ** (1 / 30))
    assert (row["p"], row["verdict"]) == (1.0, "not shown")


def test_a_significant_loss_within_the_margin_is_called_worse():
    rng = np.random.default_rng(9)
    old = rng.random(20_000)
    new = old - 0.013 + rng.normal(0, 0.05, len(old))
    frames = [pl.DataFrame({"user": range(len(old)), "recall@5": values}) for values in (old, new)]
    found = rw.compare(*map(rw.from_per_user, frames), margin=0.03)
    assert found["B"]["verdict"] == "worse"
    assert found["B"]["within_margin"]
    assert "worse, within" in repr(found)
    assert found["B"]["p_non_inferior"] < 0.05


def test_equivalence_is_corrected_as_differences_are():
    rng = np.random.default_rng(10)
    frames = {f"s{at}": pl.DataFrame({"user": range(400), "z": rng.random(400)}) for at in range(4)}
    table = rw.compare({n: rw.from_per_user(f) for n, f in frames.items()}, margin=0.08).table
    expected = stats.adjust(table["p_equivalence"].to_numpy(), "holm")
    assert table["p_equivalence_adjusted"].to_list() == pytest.approx(expected.tolist())


def test_intervals_of_all_pairs_together_are_wider():
    rng = np.random.default_rng(11)
    for n in (200, 2000):
        frames = {f"s{at}": pl.DataFrame({"user": range(n), "z": rng.random(n)}) for at in range(4)}
        table = rw.compare({n: rw.from_per_user(f) for n, f in frames.items()}).table
        assert (
            table["low_together"] <= table["low"]
        ).all()  # equal where Holm leaves a pair the level of all
        assert (table["high_together"] >= table["high"]).all()
        assert (table["low_together"] < table["low_alone"]).all()
        x, y = (frames[table[0, side]]["z"].to_numpy() for side in ("system", "baseline"))
        expected = stats.t_interval(x, y, confidence=1 - 0.05 / 6)
        assert table[0, "low_together"] == pytest.approx(expected.low)


def test_margins_as_shares_of_the_baseline_are_tested_user_by_user():
    """The baseline's mean is estimated: what is tested is the mean of x − (1 ± m) y (Laster & Johnson 2003)."""
    rng = np.random.default_rng(12)
    old = rng.random(3000)
    new = np.clip(old + rng.normal(0, 0.1, 3000), 0, 1)
    for metric in ("recall@5", "rmse"):  # with and without a bound
        results = [
            rw.from_per_user(pl.DataFrame({"user": range(3000), metric: v})) for v in (old, new)
        ]
        row = rw.compare(*results, margin="2%")["B"]
        gain, loss = new - 1.02 * old, 0.98 * old - new
        if metric == "recall@5":  # x − 1.02 y is at most 1, and 0.98 y − x at most 0.98
            ps = [BoundedMean.of(side, most).p(0.0) for side, most in ((gain, 1.0), (loss, 0.98))]
            assert row["p_non_inferior"] == pytest.approx(ps[1])
        else:
            ps = [ttest_1samp(side, 0, alternative="less").pvalue for side in (gain, loss)]
            assert row["p_non_inferior"] == pytest.approx(ps[0], rel=0.1)  # lower is better
        assert row["p_equivalence"] == pytest.approx(
            max(ps), rel=0.1
        )  # t is corrected for skewness
    for wrong in ("2", "-1%", "x%", "0%"):
        with pytest.raises(rw.RankwiseError, match="a margin is a number, or a share"):
            rw.compare(*results, margin=wrong)


def test_every_verdict_names_the_error_rate_that_it_controls():
    rng = np.random.default_rng(13)
    frames = [
        pl.DataFrame({"user": range(300), "a": rng.random(300), "b": rng.random(300)})
        for _ in range(2)
    ]
    results = [rw.from_per_user(frame) for frame in frames]
    rates = {
        correction: rw.compare(*results, correction=correction).table["error_rate"].to_list()
        for correction in ("holm", "none", "bh")
    }
    assert rates == {
        "holm": ["family-wise", "false discovery rate"],
        "none": ["per comparison", "false discovery rate"],
        "bh": ["false discovery rate", "false discovery rate"],
    }


@pytest.mark.slow
@pytest.mark.parametrize("n", [30, *deep(10, 100)])
def test_intervals_over_rows_of_very_unequal_users_cover(n):
    """Users with few and with very many rows, and hits that depend on the user."""
    rng = np.random.default_rng(n)
    runs, covered = 300, 0
    for _ in range(runs):
        size = np.maximum(1, np.round(np.exp(rng.normal(1, 1.5, n)))).astype(int)
        rate = np.repeat(rng.beta(0.5, 2, n), size)
        found = stats.clustered((rng.random(len(rate)) < rate) * 1.0, np.repeat(np.arange(n), size))
        covered += found.low <= 0.2 <= found.high
    assert covered / runs >= least(0.94, runs)


def test_degrees_of_freedom_of_clusters_against_the_matrix():
    from rankwise.stats.data_sets import satterthwaite

    rng = np.random.default_rng(14)
    for sizes in ([3.0] * 8, rng.integers(1, 60, 25).astype(float), [1.0, 500.0, 2.0]):
        m = np.array(sizes)
        p, q, w = m / m.sum(), m**2, 1 / (1 - m / m.sum())
        inner = np.diag(q) - np.outer(q, p) - np.outer(p, q) + q.sum() * np.outer(p, p)
        matrix = np.sqrt(np.outer(w, w)) * inner
        expected = max(np.trace(matrix) ** 2 / (matrix**2).sum(), 1.0)
        assert satterthwaite(m) == pytest.approx(expected)
    assert satterthwaite(np.full(8, 3.0)) == pytest.approx(7)  # of equal users n - 1, as before


@pytest.mark.slow
@pytest.mark.parametrize("name", ["recall", "ndcg"])
@pytest.mark.parametrize("n", [30, 100, 1000])
def test_a_pilot_says_how_well_it_tells_the_users_needed(name, n):
    """Its interval covers the true variance in 0.88 to 0.95 of 2,000 samples; one side more."""
    rng = np.random.default_rng(n)
    true = float(WORLDS[name](2_000_000, rng).var())
    covered, enough, asked = 0, 0, 0
    for _ in range(RUNS):
        d = WORLDS[name](n, rng)
        low, high = variance_interval(d)
        if math.isnan(high):  # nobody differs: there is no plan at all
            continue
        asked += 1
        covered += low <= true <= high
        enough += high >= true
    assert asked > 0.95 * RUNS
    assert covered / asked >= least(0.88, RUNS)
    assert enough / asked >= least(0.90, RUNS)
