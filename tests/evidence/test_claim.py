"""What a published table can support: golden values, every sample of a small world, what is refused."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import binomtest, t, ttest_ind, ttest_rel

import rankwise as rw
from command_line import rankwise_here
from golden_cases import golden_cases
from rankwise.errors import MetricError, ParameterError
from rankwise.stats.published import PrintedValue, graded_difference, graded_mean, hits_difference


def golden(*keys, without=()):
    return golden_cases(
        "noise",
        lambda case: (
            case["part"] == "D"
            and all(key in case["input"] for key in keys)
            and not any(key in case["input"] for key in without)
        ),
    )


@pytest.mark.parametrize("case", golden("value", "kind", without=("baseline",)))
def test_golden_values_of_one_mean(case):
    expected = case["expected"]
    options = {key: value for key, value in case["input"].items() if key != "value"}
    row = rw.claim(case["input"]["value"], **options).table.row(0, named=True)
    printed = (expected["value_low"], expected["value_high"])
    assert (row["value_low"], row["value_high"]) == pytest.approx(printed)
    if options["kind"] == "hits":
        assert row["counts"] == expected["counts"]
        if expected["counts"]:
            assert (row["low"], row["high"]) == pytest.approx((expected["low"], expected["high"]))
        return
    assert row["sd_most"] == pytest.approx(expected["sd_most"])
    sure = (expected["sure_low"], expected["sure_high"])
    assert (row["low"], row["high"]) == pytest.approx(sure, abs=1e-8)
    assert row["sd_possible"] == expected.get("sd_possible")


@pytest.mark.parametrize("case", golden("baseline", "kind"))
def test_golden_differences(case):
    expected = case["expected"]
    row = rw.claim(**case["input"]).pairs.row(0, named=True)
    assert row["verdict"] == expected["verdict"]
    names = {"exact_low": "exact_least", "exact_high": "exact_most", "t_low": "p_least"}
    names |= {"t_high": "p_most"}
    same = ("differ_least", "differ_most", "sd_critical", "sd_most")
    names |= {name: name for name in (*same, "difference_low", "difference_high")}
    for name, column in names.items():
        if name in expected:
            assert row[column] == pytest.approx(expected[name], rel=1e-6), name


@pytest.mark.parametrize("case", golden("values"))
def test_golden_numbers_of_users(case):
    values = dict(enumerate(case["input"]["values"]))
    found = rw.claim(values, kind="hits", most=case["input"]["most"])
    assert found.users == case["expected"]["users"]


@pytest.mark.parametrize("case", golden("baseline", without=("kind",)))
def test_golden_plans_and_published_deviations(case):
    row = rw.claim(**case["input"]).pairs.row(0, named=True)
    expected = case["expected"]
    if "users_needed" in expected:
        assert row["users_needed"] == expected["users_needed"]
    if "p" in expected:
        assert row["p_least"] == row["p_most"] == pytest.approx(expected["p"])
        assert (row["low"], row["high"]) == pytest.approx((expected["low"], expected["high"]))


def every_sample(users):
    """Every pair of hits of so many users, up to their order."""
    kinds = [(0, 0), (0, 1), (1, 0), (1, 1)]
    for sample in itertools.combinations_with_replacement(kinds, users):
        yield np.array([a for a, _ in sample]), np.array([b for _, b in sample])


def test_ranges_of_hits_are_those_of_every_sample():
    """Seven users: all pairs of values that print the same, by SciPy's tests."""
    users, ranges = 7, {}
    for one, other in every_sample(users):
        gained, lost = int((one > other).sum()), int((one < other).sum())
        exact = binomtest(gained, gained + lost).pvalue if gained + lost else 1.0
        p = float(ttest_rel(one, other).pvalue) if np.ptp(one - other) else float(gained == lost)
        ranges.setdefault((one.sum(), other.sum()), []).append((exact, p, gained + lost))
    for (a, b), samples in ranges.items():
        printed = [PrintedValue("", n / users, n / users, n / users) for n in (a, b)]
        found = hits_difference(*printed, users)
        exact, p, differ = zip(*samples, strict=True)
        assert (found.exact_least, found.exact_most) == pytest.approx((min(exact), max(exact)))
        assert (found.differ_least, found.differ_most) == (min(differ), max(differ))
        assert (found.p_least, found.p_most) == pytest.approx((min(p), max(p)), abs=1e-12)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=6, max_size=30))
def test_no_sample_contradicts_the_table(pairs):
    one, other = (np.round(column, 3) for column in np.array(pairs).T)
    found = rw.claim(
        f"{one.mean():.2f}", users=len(one), baseline=f"{other.mean():.2f}", metric="ndcg@10"
    )
    row = found.pairs.row(0, named=True)
    d = one - other
    low, high = row["difference_low"], row["difference_high"]
    assert low - 1e-9 <= d.mean() <= high + 1e-9
    if row["verdict"] == "significant in any case":
        assert ttest_rel(one, other).pvalue < 0.05
    value = found.table.row(0, named=True)
    assert one.std(ddof=1) <= value["sd_most"] + 1e-9


def test_the_interval_of_a_mean_holds_for_rare_values():
    """Of 25 users of whom 3 % have a 1, in 2,000 samples."""
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(2000):
        mean = (rng.random(25) < 0.03).mean()
        found = graded_mean(PrintedValue("", mean, mean, mean), 25, 0.05)
        held += found.low <= 0.03 <= found.high
    assert held / 2000 > 0.95


def test_a_critical_deviation_is_where_t_is_at_the_level():
    row = rw.claim("0.31", users=943, baseline="0.29").pairs.row(0, named=True)
    at = rw.claim("0.31", users=943, baseline="0.29", difference_sd=row["sd_critical"])
    assert at.pairs["p_most"][0] == pytest.approx(0.05)
    below = rw.claim("0.31", users=943, baseline="0.29", difference_sd=0.99 * row["sd_critical"])
    assert below.verdicts == ["significant in any case"]
    less, more = PrintedValue("", 0.29, 0.285, 0.295), PrintedValue("", 0.31, 0.305, 0.315)
    turned = graded_difference(less, more, 943, 0.05)
    assert (turned.low, turned.high) == pytest.approx((-0.03, -0.01))


def test_sentences():
    def first(*value, **options):
        return rw.claim(*value, **options).sentences[0]

    hits = {"metric": "hit_rate@1"}
    assert first("0.31", users=943, metric="ndcg@10", baseline="0.29") == (
        "This table does not decide whether 0.31 differs from 0.29 (ndcg@10, 943 users)."
    )
    assert first("0.52", users=100, baseline="0.50", **hits) == (
        "0.52 cannot be significantly better than 0.50 on 100 users: 2 users differ at least, and "
        "p is 0.16 or more whatever they are."
    )
    assert first("0.75", users=200, baseline="0.35") == (
        "0.75 beats 0.35 on 200 users whatever the users' values are (p below 1e-8)."
    )
    assert first("0.333", users=31, **hits) == (
        "No number of users with a hit out of 31 prints as 0.333."
    )
    assert first({"a": "0.4545", "b": "0.4798"}, most=600, **hits) == (
        "198, 396 or 594 users are possible (to 600)."
    )
    assert "not identified" in first("0.5", **hits)
    assert "No number of users up to 9" in first("0.123456", most=9, **hits)
    text = " ".join(repr(rw.claim("0.31", users=943, baseline="0.29")).split())
    assert (
        "a standard deviation below 0.313; with these means it is anything from 0 to 0.775" in text
    )
    assert "Rounding leaves +0.010 to +0.030." in text
    assert "is found 4 times in 5 with 11,778 users" in text
    assert "equal to the printed digit" in rw.claim("0.3", users=50, baseline="0.3").sentences[1]
    known = rw.claim("0.310", users=943, sd=0.6)
    assert "cannot be that of users with a mean of 0.310" in known.sentences[1]


def test_a_stated_deviation_is_checked_beside_a_baseline():
    fits = rw.claim("0.31", users=943, metric="ndcg@10", baseline="0.29", sd=0.3)
    assert not any("cannot be" in sentence for sentence in fits.sentences)
    assert "t interval\n" in repr(fits)
    large = rw.claim("0.31", users=943, metric="ndcg@10", baseline="0.29", sd=0.457)
    assert "users with a mean of 0.29: it is at most 0.456" in large.sentences[-1]
    assert sum("cannot be" in sentence for sentence in large.sentences) == 1
    assert "t interval, widest" in repr(large)


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=6, max_size=30),
    st.integers(1, 4),
)
def test_no_sample_contradicts_a_stated_deviation(pairs, digits):
    x, y = np.array(pairs).T
    y = y.mean() + (y - y.mean()) * x.std() / max(y.std(), 1e-9)  # of the same deviation
    assume(x.std() > 0.01)
    assume(y.min() >= 0)
    assume(y.max() <= 1)
    value, baseline = (f"{mean:.{digits}f}" for mean in (x.mean(), y.mean()))
    sd = float(x.std(ddof=1))
    for paired, test in ((True, ttest_rel), (False, ttest_ind)):
        found = rw.claim(value, users=len(x), baseline=baseline, sd=sd, paired=paired)
        row = found.pairs.row(0, named=True)
        if found.table["sd_possible"].all():
            assert row["p_least"] - 1e-9 <= test(x, y).pvalue <= row["p_most"] + 1e-9
            wide = rw.claim(value, users=len(x), baseline=baseline, paired=paired)
            assert row["p_most"] <= wide.pairs["p_most"][0] + 1e-9


def test_a_stated_deviation_may_decide():
    table = {"users": 943, "metric": "ndcg@10", "baseline": "0.290"}
    assert rw.claim("0.310", **table).verdicts == ["not decided by the table"]
    decided = rw.claim("0.310", sd=0.1, **table)
    assert decided.verdicts == ["significant in any case"]
    assert "with the stated standard deviation, 0.100" in decided.sentences[0]
    assert decided.pairs["sd_most"].to_list() == [pytest.approx(0.2)]
    far = rw.claim("0.31", sd=0.1, **table | {"baseline": "0.29"})
    assert far.verdicts == ["not decided by the table"]  # for the digits leave 0.01
    assert far.sentences[1].startswith("At the printed difference it would be significant")
    other = rw.claim("0.310", sd=0.2, paired=False, **table)
    assert other.pairs["p_most"][0] == pytest.approx(
        float(2 * t.sf(0.019 / (0.2 * math.sqrt(2 / 943)), 2 * 942))
    )


def test_a_column_of_a_table_is_compared_with_the_best():
    found = rw.claim({"BPR": "0.29", "VAE": "0.30", "ours": "0.31"}, users=943, metric="ndcg@10")
    assert found.pairs["system"].to_list() == ["ours", "ours"]
    alone = rw.claim("0.90", users=60, baseline="0.20").pairs["p_most"][0]
    both = rw.claim({"a": "0.20", "b": "0.20", "c": "0.90"}, users=60).pairs["p_most"]
    assert both.to_list() == pytest.approx([2 * alone] * 2)
    assert "ours (0.31)" in found.sentences[0]


def test_other_users_and_other_ranges():
    paired = rw.claim("0.60", users=300, baseline="0.40")
    other = rw.claim("0.60", users=300, baseline="0.40", paired=False)
    assert other.pairs["p_most"][0] > 0
    assert "Welch" in repr(other)
    assert other.verdicts == paired.verdicts == ["significant in any case"]
    stars = rw.claim("3.1", users=943, baseline="2.9", bounds=(0, 10))
    same = rw.claim("0.31", users=943, baseline="0.29")
    assert stars.pairs["sd_critical"][0] == pytest.approx(10 * same.pairs["sd_critical"][0])
    assert stars.table["low"][0] == pytest.approx(10 * same.table["low"][0])
    percents = rw.claim("31%", users=943, baseline="29%")
    assert percents.table["low"].to_list() == pytest.approx(same.table["low"].to_list())
    exact = rw.claim(0.31, users=943, baseline=0.29)
    assert exact.pairs["difference_low"][0] == pytest.approx(0.02)
    assert "taken to be exact" in repr(exact)


def test_limits_follow_both_ends_of_a_range():
    names = ("low", "high", "t_low", "t_high")
    stars = rw.claim(3.5, users=120, bounds=(1, 5)).table.select(names).row(0)
    shares = rw.claim(0.625, users=120).table.select(names).row(0)
    assert stars == pytest.approx([1 + 4 * share for share in shares])


def test_a_value_of_no_number_of_hits_has_a_difference_without_a_test():
    pair = rw.claim("0.333", users=31, metric="hit_rate@1", baseline="0.226").pairs.row(
        0, named=True
    )
    assert (pair["verdict"], pair["differ_least"]) == ("not possible", None)
    assert pair["difference"] == pytest.approx(0.107)
    assert math.isnan(pair["p_least"])


@pytest.mark.parametrize(
    ("value", "options", "said"),
    [
        ("abc", {"users": 10}, "as it is printed"),
        ("", {"users": 10}, "as it is printed"),
        (math.nan, {"users": 10}, "finite"),
        ("1.2", {"users": 10}, "between 0 and 1"),
        ("0.5", {}, "nothing says how many users"),
        ({}, {"users": 10}, "one value or more"),
        ("0.5", {"users": 1}, "users"),
        ("0.5", {"users": 9, "sd": 0.0}, "sd"),
        ("0.5", {"users": 9, "kind": "both"}, "kind"),
        ("0.5", {"users": 9, "bounds": (1, 0)}, "smallest and the largest"),
        ("0.5", {"users": 9, "alpha": 2.0}, "alpha"),
        ("0.5", {"users": 9, "per": 0}, "per"),
    ],
)
def test_claims_that_are_refused(value, options, said):
    with pytest.raises(ParameterError, match=said):
        rw.claim(value, **options)


def test_a_metric_without_bounds_needs_them():
    with pytest.raises(MetricError, match="no bounds"):
        rw.claim("3.1", users=50, metric="novelty@10")
    assert rw.claim("3.1", users=50, metric="novelty@10", bounds=(0, 20)).table["high"][0] < 20


def test_saved_exported_and_the_command_line(tmp_path):
    found = rw.claim("0.31", users=943, metric="ndcg@10", baseline="0.29")
    assert rw.load(found.save(tmp_path / "claim")).to_dict() == found.to_dict()
    for form in ("json", "csv", "markdown", "latex"):
        assert "0.31" in found.export(form)
    options = ("claim", "0.31", "--users", "943", "--metric", "ndcg@10", "--baseline", "0.29")
    assert rankwise_here(tmp_path, *options).stdout == f"{found!r}\n"
    (tmp_path / "table.csv").write_text("system,value\nBPR,0.29\nours,0.310\n", encoding="utf-8")
    done = rankwise_here(tmp_path, "claim", "table.csv", "--users", "943", "--format", "json")
    rows = json.loads(done.stdout)["table"]
    assert [row["value"] for row in rows] == ["0.29", "0.310"]
    unpaired = rankwise_here(tmp_path, *options, "--unpaired")
    assert "Welch" in unpaired.stdout
    (tmp_path / "wrong.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    refused = rankwise_here(tmp_path, "claim", "wrong.csv", "--users", "9")
    assert (refused.returncode, "columns system and value" in refused.stderr) == (3, True)


@pytest.mark.parametrize(
    ("value", "verdict"), [("0.33", "significant in any case"), ("0.31", "cannot be significant")]
)
def test_hits_of_two_samples_of_users_are_known_to_the_last(value, verdict):
    """Welch's test of 33 or 31 hits of 100, and 20 of 100."""
    found = rw.claim(value, users=100, baseline="0.20", metric="hit_rate@1", paired=False)
    one = np.repeat([1.0, 0.0], [round(float(value) * 100), 100 - round(float(value) * 100)])
    other = np.repeat([1.0, 0.0], [20, 80])
    expected = ttest_ind(one, other, equal_var=False).pvalue
    assert found.pairs.select("p_least", "p_most").row(0) == pytest.approx([expected] * 2)
    assert found.verdicts == [verdict]
    assert "differences" not in found.sentences[0]


def test_a_stated_deviation_of_the_differences_decides():
    stated = {"users": 943, "baseline": "0.29"}
    for metric in ("ndcg@10", "hit_rate@10"):
        found = rw.claim("0.31", metric=metric, difference_sd=0.1, **stated)
        expected = 2 * t.sf(0.02 / 0.1 * math.sqrt(943), 942)
        assert found.pairs.select("p_least", "p_most").row(0) == pytest.approx([expected] * 2)
        assert "with differences of the stated standard deviation, 0.100" in found.sentences[0]
        assert "4 times in 5 with 197 users with such differences" in " ".join(found.notes)


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"difference_sd": 0.9}, ParameterError, "cannot vary so much with these means"),
        ({"difference_sd": 0.1, "paired": False}, ParameterError, "no differences of a user"),
        ({"metric": "gini@10"}, MetricError, "gini@10 is not a mean over users"),
        ({"metric": "catalog_coverage@10"}, MetricError, "is not a mean over users"),
    ],
)
def test_claims_that_no_mean_over_users_can_answer_are_refused(options, kind, message):
    with pytest.raises(kind, match=message):
        rw.claim("0.31", users=943, baseline="0.29", **options)


@pytest.mark.parametrize("paired", [True, False])
def test_hits_that_no_number_of_users_prints_are_impossible(paired):
    options = {"users": 31, "baseline": "0.2", "metric": "hit_rate@1", "paired": paired}
    found = rw.claim("0.333", **options)
    assert found.verdicts == ["not possible"]
    assert "No number of users with a hit out of 31 prints as 0.333." in found.sentences


def test_the_better_direction_is_that_of_the_metric():
    table = {"users": 1000, "metric": "fallout@10"}
    assert rw.claim("0.30", baseline="0.10", **table).sentences[0].startswith("0.30 is worse than")
    assert rw.claim("0.10", baseline="0.30", **table).sentences[0].startswith("0.10 beats 0.30")
    best = rw.claim({"a": "0.35", "b": "0.10"}, **table)
    assert best.pairs["system"].to_list() == ["b"]
    assert best.sentences[0].startswith("b (0.10) beats a (0.35)")
    without = rw.claim("0.90", baseline="0.30", users=1000, metric="judged@10").sentences[0]
    assert without.startswith("0.90 differs from 0.30")
