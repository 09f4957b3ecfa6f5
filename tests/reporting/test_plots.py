"""Charts: their data equal the results, and names of strangers are only names."""

from __future__ import annotations

import json
import math
import sys

import altair as alt
import numpy as np
import polars as pl
import pytest
import vl_convert

import rankwise as rw
from rankwise.errors import MetricError, ParameterError, UsageError
from rankwise.reporting import charts
from rankwise.reporting.chart_data import (
    Estimates,
    curve_frame,
    curves_of,
    decided_limits,
    decision_frame,
    difference_frame,
    gains,
    histogram_frame,
    lorenz_frame,
    pareto_frame,
    slice_frame,
)
from tools import deep

USERS = range(60)


def svg_of(chart):
    """Draw a chart that the schema of Vega-Lite allows."""
    with alt.data_transformers.enable("default", max_rows=None):
        chart.to_dict()  # raises if it is not allowed
    return vl_convert.vegalite_to_svg(charts.specification(chart))


TRUTH = {user: {1, 2, user % 7} for user in USERS}
GROUPS = pl.DataFrame({"user": list(USERS), "country": ["AT", "DE", None] * 20})
METRICS = ["ndcg@[1,3]", "recall@[1,3]", "catalog_coverage@3"]


@pytest.fixture(scope="module")
def results():
    runs = {
        "a": {user: [1, 9, 2 if user % 2 else 8] for user in USERS},
        "b": {user: [user % 7, user % 3 + 10, 20] for user in USERS},
    }
    return {
        name: rw.evaluate(run, TRUTH, METRICS, users=GROUPS, by="country", jackknife=12)
        for name, run in runs.items()
    }


@pytest.fixture(scope="module")
def comparison(results):
    return rw.compare(results)


def contrast(one, other):
    def luminance(colour):
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = (
            p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", charts.THEMES)
def test_colours_are_seen_on_their_page(theme):
    colours = charts.THEMES[theme]
    text = [
        colours.ink,
        colours.soft,
        colours.better,
        colours.worse,
        colours.flat,
        colours.third,
        colours.fourth,
    ]
    assert min(contrast(colour, colours.paper) for colour in text) >= 4.5
    assert contrast(colours.bad, colours.paper) < 1.5  # an area behind marks
    assert len(set(colours.lines)) == 4


def test_curves_are_the_results(results):
    curves = curves_of(results)
    assert curves == {"ndcg": {1: "ndcg@1", 3: "ndcg@3"}, "recall": {1: "recall@1", 3: "recall@3"}}
    frame = curve_frame(Estimates(results), curves)
    assert len(frame) == 8
    for row in frame.iter_rows(named=True):
        interval = results[row["system"]].interval(f"{row['metric']}@{row['k']}")
        assert row["value"] == results[row["system"]][f"{row['metric']}@{row['k']}"]
        assert (row["low"], row["high"]) == (interval.low, interval.high)


def test_trade_offs_are_the_results(results):
    frame = pareto_frame(Estimates(results), "ndcg@3", ["catalog_coverage@3"])
    for row in frame.iter_rows(named=True):
        across = results[row["system"]].interval("catalog_coverage@3")
        # Every group of users meets the same items, so nothing varies: a mark without an interval.
        assert math.isnan(across.low)
        assert (row["x_value"], row["x_low"]) == (across.estimate, None)
        assert row["value"] == results[row["system"]]["ndcg@3"]


def test_slices_are_the_results(results):
    frame = slice_frame(Estimates(results), "ndcg@3", "country", [("AT", 20), (None, 20)])
    assert frame["group"].to_list() == ["AT", "AT", "–", "–"]
    for row in frame.iter_rows(named=True):
        group = None if row["group"] == "–" else row["group"]
        interval = results[row["system"]].interval("ndcg@3", by="country", group=group)
        assert row["value"] == pytest.approx(interval.estimate, rel=1e-15)
        assert (row["low"], row["high"]) == (interval.low, interval.high)


def test_differences_are_the_rows(comparison):
    frame = difference_frame(comparison.table.to_dicts(), comparison.design)
    columns = ["difference", "low_alone", "high_alone"]
    # A chart has no mark where the table has NaN: the limits of a difference that does not vary.
    rows = (
        comparison.table.sort("metric", maintain_order=True)
        .select(pl.col(columns).fill_nan(None))
        .rows()
    )
    assert frame.select("value", "low", "high").rows() == rows
    assert any(low is None for _, low, _ in rows)
    assert any(low is not None for _, low, _ in rows)
    assert frame["name"].unique().to_list() == ["b − a"]


def many_systems(n=1_500):
    rng = np.random.default_rng(4)
    base = rng.random(n) < 0.3
    shifts = {"a": 0.0, "b": 0.12, "c": 0.16, "d": 0.3, "e": 0.0}
    tables = {
        name: pl.DataFrame(
            {
                "user": range(n),
                "ndcg@10": np.where(rng.random(n) < 0.2, rng.random(n) < 0.3 + shift, base) * 1.0,
            }
        )
        for name, shift in shifts.items()
    }
    return {name: rw.from_per_user(table) for name, table in tables.items()}


@pytest.mark.parametrize("correction", ["holm", "bonferroni", "hochberg", "bh", "by"])
@pytest.mark.parametrize("n", [300, 1_500])
def test_the_thin_interval_agrees_with_the_verdict(correction, n):
    """Whatever corrects: it lies clear of 0 exactly where the pair is decided."""
    results = many_systems(n)
    comparison = rw.compare(results, baseline="a", correction=correction)
    decided = 0
    for row in comparison.table.iter_rows(named=True):
        low, high = decided_limits(row) or (row["low_alone"], row["high_alone"])
        assert (low, high) == (row["low"], row["high"])
        assert (low > 0 or high < 0) == (row["verdict"] in ("better", "worse")), row
        assert low <= row["low_alone"] <= row["high_alone"] <= high
        decided += row["verdict"] != "not shown"
    assert n < 1_000 or 0 < decided < 4


def test_the_thin_interval_is_the_own_one_without_a_correction():
    results = many_systems()
    comparison = rw.compare(results, baseline="a", correction="none")
    assert all(decided_limits(row) is None for row in comparison.table.iter_rows(named=True))


def test_gains_are_differences_of_users():
    one = pl.DataFrame({"user": [1, 2, 3, 4, 5], "x": [0.5, 0.2, np.nan, 0.1, 0.7]})
    other = pl.DataFrame({"user": ["2", "1", "3", "4", "9"], "x": [0.3, 0.5, 0.1, 0.05, 0.7]})
    assert gains(one, other, "x").tolist() == [pytest.approx(-0.1), pytest.approx(0.05)]
    with pytest.raises(MetricError, match=r"x.* is the same in both systems"):
        gains(one, one, "x")
    with pytest.raises(MetricError, match="no per-user values"):
        gains(one, other, "y")


def test_bins_count_every_value():
    values = {"p": np.array([-0.4, 0.1, 0.1, np.nan, np.inf]), "q": np.array([0.0, 0.4])}
    frame = histogram_frame(values, symmetric=True)
    assert frame.group_by("name", maintain_order=True).agg(pl.sum("users")).rows() == [
        ("p", 3),
        ("q", 2),
    ]
    assert frame["left"].min() == pytest.approx(-0.4)
    assert frame["right"].max() == pytest.approx(0.4)
    around = frame.filter((pl.col("left") < 0) & (pl.col("right") > 0))
    assert len(around) == 2  # one bin around 0 in each
    assert around["users"].to_list() == [0, 1]
    one = histogram_frame({"x": np.array([3.0])})
    assert one["users"].sum() == 1
    with pytest.raises(MetricError, match="no user has a value"):
        histogram_frame({"x": np.array([np.nan])})


def test_the_lorenz_curve_by_hand():
    frame = lorenz_frame({"s": np.array([5.0, 0.0, 3.0, 2.0])})
    assert frame.select("items", "recommendations").rows() == [
        (0.0, 0.0),
        (0.25, 0.0),
        (0.5, 0.2),
        (0.75, 0.5),
        (1.0, 1.0),
    ]
    assert lorenz_frame({"s": np.zeros(3)})["recommendations"].to_list() == [0.0]


def test_a_lorenz_curve_has_200_points_and_a_mark_at_each_tenth():
    assert lorenz_frame({"s": np.arange(5_000.0)}).height == 200
    curve = lorenz_frame({"s": np.arange(100.0)})
    spec = charts.lorenz_chart(curve).to_dict()
    inner = [rows for rows in spec["datasets"].values() if 0 < len(rows) < 20]
    assert [0.1 * at for at in range(1, 10)] in [
        pytest.approx([row["items"] for row in rows]) for rows in inner
    ]


def test_the_lorenz_curve_has_the_gini_index():
    rng = np.random.default_rng(0)
    run = {
        user: rng.choice(40, 3, replace=False, p=np.arange(1, 41) / 820).tolist()
        for user in range(50)
    }
    items = pl.DataFrame({"item": list(range(50))})
    result = rw.evaluate(run, {user: {1} for user in run}, "gini@3", items=items)
    counts = np.bincount(np.concatenate(list(run.values())), minlength=50).astype(float)
    frame = lorenz_frame({"s": counts})
    area = np.trapezoid(frame["recommendations"].to_numpy(), frame["items"].to_numpy())
    # Of n items the index has the factor n / (n − 1), so that a single item has 1.
    assert result["gini@3"] in (
        pytest.approx(1 - 2 * area),
        pytest.approx((1 - 2 * area) * 50 / 49),
    )


@pytest.mark.slow
def test_every_chart_is_drawn(results, comparison):
    one = results["a"].plot
    both = comparison.plot
    drawn = [
        one.curve(),
        one.curve("ndcg"),
        one.per_user("ndcg@3"),
        one.slices("ndcg@3"),
        one.slices("ndcg@3", by="country"),
        both.differences(),
        both.differences("ndcg@3", "recall@3"),
        both.slices("ndcg@3"),
        both.slices(by="country", size="column"),
        both.overview(),
        both.decision(
            rw.decide(
                results,
                success="ndcg@3",
                guardrails={"recall@3": 0.1},
                slices="country",
                min_slice_size=10,
            )
        ),
        both.gains("b", "a", "ndcg@3"),
        both.gains("b", "a", "recall@3", kind="histogram"),
        both.pareto("catalog_coverage@3"),
        both.curve("recall"),
    ]
    for size in ("web", "column", "page", "slide"):
        drawn += [both.differences(size=size, theme=theme) for theme in ("light", "dark")]
    for chart in drawn:
        assert svg_of(chart).startswith("<svg")


def test_wrong_questions(results, comparison):
    one, both = results["a"].plot, comparison.plot
    with pytest.raises(MetricError, match="two cut-offs"):
        one.curve("mrr")
    with pytest.raises(MetricError, match="no per-user values"):
        one.per_user("catalog_coverage@3")
    with pytest.raises(ParameterError, match="no such groups"):
        one.slices("ndcg@3", by="county")
    with pytest.raises(ParameterError, match="no result 'c'"):
        both.gains("c", "a")
    with pytest.raises(ParameterError, match="kind must be one of"):
        both.gains("b", "a", kind="violin")
    with pytest.raises(ParameterError, match="no such groups"):
        both.slices(by="county")
    with pytest.raises(MetricError, match="none of these metrics"):
        both.differences("mrr@3")
    alone = rw.Comparison(comparison.table, comparison.values, comparison.design)
    with pytest.raises(UsageError, match="holds no results"):
        alone.plot.pareto("ndcg@3")
    no_groups = rw.evaluate({1: [2]}, {1: {2}}, "recall@1")
    with pytest.raises(ParameterError, match="no groups"):
        no_groups.plot.slices("recall@1")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "a\x00b",
        "\x1b[31m",
        "<b>&\"'",
        "😀" * 200,
        "",
        "a.b[0]",
        *deep(
            "\ufffe\uffff",
            "名" * 200,
            "x" * 300,
            "datum.x",
            "{{x}}",
            "\u202e",
            "'",
            "\\",
            "e\u0301" * 99,
        ),
    ],
)
def test_names_are_only_names(name):
    """vl-convert ends the process at characters that XML does not allow, and at half characters."""
    frame = pl.DataFrame(
        {
            "metric": [name] * 4,
            "system": [name, name, "b", "b"],
            "k": [1, 2, 1, 2],
            "value": [0.1, 0.2, 0.3, 0.4],
            "low": [0.0] * 4,
            "high": [1.0] * 4,
            "text": [name] * 4,
        }
    )
    frame = frame.with_columns(
        group="system",
        pair="system",
        name="system",
        verdict=pl.lit("better"),
        x_value="value",
        x_low="low",
        x_high="high",
        left="low",
        right="high",
        users="k",
        items="value",
        recommendations="value",
    )
    for chart in (
        charts.curve_chart(frame),
        charts.pareto_chart(frame, y=name, baseline=name),
        charts.slice_chart(frame, name),
        charts.interval_chart(
            frame.with_columns(tone=pl.lit(""), right="name"), title=name, subtitle=name, axis=name
        ),
        charts.histogram_chart(frame, name, signed=True),
        charts.lorenz_chart(frame),
        charts.overview_chart(frame.with_columns(tone=pl.lit("better"), shown="name"), title=name),
    ):
        svg = svg_of(chart)
        assert "<b>" not in svg
        assert name != "" or "b" in svg


def test_long_names_stay_apart():
    names = [f"{'x' * 100}{n}{'y' * 100}" for n in range(12)]
    frame = pl.DataFrame(
        {
            "group": ["g"] * 12,
            "system": names,
            "value": [0.5] * 12,
            "low": [0.0] * 12,
            "high": [1.0] * 12,
            "users": [1] * 12,
            "text": names,
        }
    )
    spec = json.loads(charts.specification(charts.slice_chart(frame, "m")))
    (rows,) = spec["datasets"].values()
    assert len({row["system"] for row in rows}) == 12
    assert max(len(row["system"]) for row in rows) <= 40
    assert [row["text"] for row in rows] == names  # a tooltip has them whole


def test_intervals_beside_long_texts_are_120_pixels_wide():
    columns = {"value": 0.5, "low": 0.4, "high": 0.6, "tone": "", "text": "t"}
    frame = pl.DataFrame({"name": ["x" * 100], "right": ["y" * 100], **columns})
    assert json.loads(charts.specification(charts.interval_chart(frame)))["width"] == 120


def test_the_size_of_a_dot_of_a_reliability_curve_is_that_of_its_rows():
    frame = pl.DataFrame(
        {
            "system": "a",
            "predicted": [0.2, 0.7],
            "value": [0.3, 0.6],
            "low": [0.2, 0.5],
            "high": [0.4, 0.7],
            "rows": [10, 900],
            "text": ["ten", "many"],
        }
    )
    layers = json.loads(charts.specification(charts.reliability_chart(frame)))["layer"]
    (size,) = (layer["encoding"]["size"] for layer in layers if "size" in layer["encoding"])
    assert (size["field"], size["scale"]["range"]) == ("rows", [25, 200])


@pytest.mark.parametrize(
    ("metrics", "title"), [("m", "m@k"), ("mn", "Metrics against the cut-off k")]
)
def test_only_several_metrics_are_drawn_in_panels(metrics, title):
    rows = pl.DataFrame({"system": "s", "k": [1, 2], "value": 0.5, "low": 0.4, "high": 0.6})
    frame = rows.with_columns(text=pl.lit("t")).join(
        pl.DataFrame({"metric": [*metrics]}), how="cross"
    )
    spec = json.loads(charts.specification(charts.curve_chart(frame)))
    assert len(spec.get("concat", [])) == (2 if len(metrics) > 1 else 0)
    assert spec["title"]["text"] == [title]


def test_many_marks_are_drawn():
    frame = pl.DataFrame(
        {
            "metric": "m",
            "system": "s",
            "k": range(1, 5_202),
            "value": 0.5,
            "low": 0.4,
            "high": 0.6,
            "text": "t",
        }
    )
    assert len(charts.specification(charts.curve_chart(frame))) > 100_000


def test_of_errors_a_fall_is_a_gain():
    frame = histogram_frame({"s": np.array([-1.0, 1.0])}, symmetric=True)
    for better, (below, above) in {
        True: ("worse", "better"),
        False: ("better", "worse"),
        None: ("", ""),
    }.items():
        spec = json.loads(
            charts.specification(charts.histogram_chart(frame, "t", signed=True, better=better))
        )
        (rows,) = spec["datasets"].values()
        assert {row["left"] < 0: row["tone"] for row in rows} == {True: below, False: above}
    colours, scale = charts.THEMES["light"], spec["encoding"]["color"]["scale"]
    assert scale == {
        "domain": ["better", "worse", ""],
        "range": [colours.better, colours.worse, colours.flat],
    }


def test_users_without_a_difference_are_counted(results, comparison):
    bar = comparison.plot.gains("b", "a", "ndcg@3").to_dict()
    rows = [
        row
        for rows in bar["datasets"].values()
        for row in rows
        if "place" in row and "middle" not in row
    ]
    row = comparison["ndcg@3", "b"]
    assert {r["side"]: r["users"] for r in rows} == {
        "lose": row["losses"],
        "no difference": row["ties"],
        "gain": row["wins"],
    }
    histogram = comparison.plot.gains("b", "a", "ndcg@3", kind="histogram").to_dict()
    assert (
        f"{row['ties']:,} users without a difference not drawn" in histogram["title"]["subtitle"][0]
    )


def test_a_chart_says_what_it_shows(comparison):
    spec = comparison.plot.differences("ndcg@3").to_dict()
    assert " ".join(spec["title"]["text"])
    assert spec["title"]["subtitle"] == [
        "Difference in mean ndcg@3, 60 users, 95 % intervals",
        f"rankwise {rw.__version__}",
    ]
    assert spec["config"]["background"] == "#ffffff"
    assert (
        "title" not in comparison.plot.differences("ndcg@3", size="column").to_dict()
    )  # a caption has it
    assert (
        comparison.plot.differences("ndcg@3", theme="dark").to_dict()["config"]["background"]
        == "#14171b"
    )


def test_a_lower_value_may_be_the_good_one():
    frame = pl.DataFrame(
        {
            "metric": "gini@3",
            "system": ["a", "b"],
            "x_value": [0.9, 0.5],
            "value": [0.2, 0.1],
            "text": "t",
        }
        | {name: [None, None] for name in ("x_low", "x_high", "low", "high")}
    )
    spec = charts.pareto_chart(frame, y="ndcg@3", right=False).to_dict()
    (rows,) = [
        rows
        for rows in spec["datasets"].values()
        if "frontier" in rows[0] and "label_at" not in rows[0]
    ]
    assert [row["frontier"] for row in rows] == [True, True]  # b is better on gini, a on ndcg
    upper = charts.pareto_chart(frame, y="ndcg@3", right=True).to_dict()
    (rows,) = [
        rows
        for rows in upper["datasets"].values()
        if "frontier" in rows[0] and "label_at" not in rows[0]
    ]
    assert [row["frontier"] for row in rows] == [True, False]


@pytest.mark.parametrize("up", [True, False])
@pytest.mark.parametrize("right", [True, False])
def test_the_upper_right_of_a_trade_off_is_better_on_both_metrics(up, right):
    signs = (1 if right else -1, 1 if up else -1)
    points = {"far": (9, 1), "middle": (5, 5), "beaten": (4, 4), "high": (1, 9), "same": (5, 5)}
    frame = pl.DataFrame(
        {
            "metric": "x",
            "system": list(points),
            "x_value": [float(signs[0] * x) for x, _ in points.values()],
            "value": [float(signs[1] * y) for _, y in points.values()],
            "text": "t",
        }
        | {name: [None] * len(points) for name in ("x_low", "x_high", "low", "high")}
    )
    spec = charts.pareto_chart(frame, y="y", right=right, up=up).to_dict()
    (rows,) = [
        rows
        for rows in spec["datasets"].values()
        if "frontier" in rows[0] and "label_at" not in rows[0]
    ]
    on_frontier = [row["system"] for row in rows if row["frontier"]]
    assert on_frontier == ["far", "middle", "high", "same"]
    for axis, grows in (("x", right), ("y", up)):
        (scale,) = {
            json.dumps(layer["encoding"][axis]["scale"], sort_keys=True)
            for layer in spec["layer"]
            if "scale" in layer["encoding"][axis]
        }
        assert json.loads(scale)["reverse"] is not grows


def test_the_disallowed_range_of_a_decision_ends_beyond_all_intervals():
    users = 400
    values = np.linspace(0.2, 0.8, users)
    made = {
        "old": rw.from_per_user(pl.DataFrame({"user": range(users), "ndcg@5": values})),
        "new": rw.from_per_user(
            pl.DataFrame(
                {"user": range(users), "ndcg@5": values + 0.1 + 0.05 * np.cos(range(users))}
            )
        ),
    }
    frame = decision_frame(rw.decide(made, success="ndcg@5"))
    low, high, bound = frame.select("low", "high", "bound").row(0)
    assert 0 < low < high
    assert bound == pytest.approx(-0.08 * high)  # nothing is allowed below 0


def test_without_altair(results, monkeypatch):
    monkeypatch.delitem(sys.modules, "rankwise.reporting.charts")
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(UsageError, match="drawn with Altair") as caught:
        results["a"].plot.curve()
    assert "pip install" in caught.value.hint
