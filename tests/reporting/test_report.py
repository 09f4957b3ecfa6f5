"""Reports without a browser: numbers, reasons, files, and what must not happen."""

from __future__ import annotations

import base64
import inspect
import math
import re
import sys
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import numpy as np
import polars as pl
import pytest

import rankwise as rw
from rankwise.comparison.sentences import verdict_sentences
from rankwise.core.terminal import brief
from rankwise.errors import OutputError, ParameterError, UsageError
from rankwise.reporting import report as page
from rankwise.reporting import report_data, report_sections, report_users
from rankwise.reporting.chart_data import Estimates
from rankwise.reporting.forest import Axis, Bar, Board, Forest, ForestRow, Stack
from rankwise.reporting.report_data import Folded, Grid, Lists, Notes, Panels, Text

USERS = range(60)
TRUTH = {user: {1, 2, user % 7 + 30} for user in USERS}
TRAIN = {user: [1] * (user % 3 > 0) + [2] * (user % 3 > 1) for user in USERS}
RUNS = {
    "low": {user: [1, 9, 8, 7] if user % 4 else [9, 8, 1, 7] for user in USERS},
    "high": {user: [1, 2, 9, 8] if user % 5 else [9, 8, 7, 1] for user in USERS},
    "odd": {user: [user % 7 + 30, 9, 8, 2] for user in USERS},
}
METRICS = [
    "ndcg@[1,3,4]",
    "recall@[1,3,4]",
    "catalog_coverage@4",
    "gini@4",
    "group_gap(ndcg,user_group=country)@4",
]
TITLES = pl.DataFrame(
    {"item": [1, 2, 7, 8, 9], "title": ["<b>One", "Two\nlines", "=7", "\x008", "שלום"]}
)
GROUPS = pl.DataFrame({"user": list(USERS), "country": ["AT", "DE", None] * 20})


@pytest.fixture(scope="module")
def results():
    return {
        name: rw.evaluate(run, TRUTH, METRICS, users=GROUPS, by="country", jackknife=12)
        for name, run in RUNS.items()
    }


@pytest.fixture(scope="module")
def comparison(results):
    return rw.compare(results)


@pytest.fixture(scope="module")
def full(comparison):
    return comparison.report(recommendations=RUNS, truth=TRUTH, train=TRAIN, items=TITLES)


def section(report, name):
    return next(section for section in report.sections if section.name == name)


def blocks(report, name, kind):
    found, todo = [], list(section(report, name).blocks)
    while todo:
        block = todo.pop(0)
        if isinstance(block, Folded):
            todo = [*block.blocks, *todo]
        if isinstance(block, kind):
            found.append(block)
    return found


def users_of(report):
    """Return the folded lists of the users that moved most."""
    return [
        block for block in blocks(report, "examples", Folded) if block.title.startswith("User ")
    ]


def text_of(cell):
    return cell if isinstance(cell, str) else cell.text


@pytest.mark.slow
def test_the_sections_are_in_order(full):
    assert re.findall(r'<section id="([\w-]+)"|<section class="fold" id="([\w-]+)"', full.html) == [
        *(
            (name, "")
            for name in (
                "systems",
                "differences",
                "for-whom",
                "examples",
                "costs",
                "other-metrics",
                "method",
                "gaps",
                "more",
            )
        ),
        *(
            ("", name)
            for name in (
                "thirds",
                "curves",
                "exposure",
                "fairness",
                "pairs",
                "values",
                "data",
                "audit",
                "settings",
                "words",
            )
        ),
    ]


@pytest.mark.slow
def test_the_first_screen_has_the_verdict_and_four_facts(full, comparison):
    said = verdict_sentences(comparison.table, comparison.design)
    assert full.head.verdict == said[0]
    assert said[0] in unescape(full.html)
    assert [fact.title for fact in full.head.facts] == [
        "Difference",
        "Cost",
        "For whom",
        "How sure",
    ]
    assert full.head.unseen[-1] == "whether users act differently (this is offline data)"
    order = full.head.facts[0].bold
    high, other = (
        comparison.results[name]["ndcg@1"]
        for name in re.search(r", (\w+) against (\w+)", order).groups()
    )
    assert full.head.facts[0].bold.startswith(f"ndcg@1 {brief(other)} → {brief(high)}")


def test_the_table_of_systems_has_the_numbers_of_the_results(full, results):
    (board,) = blocks(full, "systems", Board)
    cells = [head[0] for head in board.heads]
    assert {"ndcg@1", "catalog_coverage@4", "gini@4"} <= {*cells}
    assert dict(board.heads)["gini@4"] == "lower is better"
    names = [row[1] for row in board.rows]
    assert sorted(names) == sorted(results)
    assert [results[name][cells[0]] for name in names] == sorted(
        (r[cells[0]] for r in results.values()), reverse=True
    )
    for _, name, _, _, row in board.rows:
        for cell, shown in zip(cells, row, strict=True):
            assert shown.text == brief(results[name][cell])
            interval = results[name].interval(cell)
            assert (shown.bar.low is None) == math.isnan(interval.low), cell


def test_bars_lie_where_their_numbers_are():
    axis = Axis(-1.0, 3.0, str)
    bar = Bar.on(axis, 1.0, 0.0, 5.0, (-2.0, math.nan))
    assert (bar.point, bar.low, bar.high, bar.thin_low, bar.thin_high) == (
        50.0,
        25.0,
        100.0,
        0.0,
        None,
    )
    assert bar.parts == [("bar", 25.0, 75.0)]
    forest = Forest([], axis)
    row = ForestRow("x", point=4.0, low=3.5, high=4.5)
    assert forest.beyond(row) == "3.5 to 4.5 ▶"
    assert forest.beyond(replace(row, low=-9.0, high=-2.0)) == "◀ -9.0 to -2.0"
    assert forest.beyond(replace(row, low=2.0)) == ""
    assert forest.shade(replace(row, limit=0.0)) == (0, 25.0)
    assert forest.shade(replace(row, limit=0.0, limit_above=True)) == (25.0, 75.0)


@pytest.mark.parametrize(
    ("low", "high"), [(-0.011, 0.034), (0.0, 1.0), (-37.2, 12.1), (0.00001, 0.00002), (5.0, 5.1)]
)
def test_an_axis_has_a_few_round_ticks(low, high):
    ticks = Axis(low, high, repr).ticks
    assert 2 <= len(ticks) <= 6
    assert all(0 <= at <= 100 for at, _ in ticks)
    assert all(len(f"{float(text):.6g}") <= 8 for _, text in ticks)


def test_differences_are_the_rows_of_the_comparison(full, comparison):
    (forest,) = blocks(full, "differences", Forest)
    leader = comparison.ranks["system"][0]
    assert {row.name for row in forest.rows} == {*comparison.results} - {leader}
    for row in forest.rows:
        (pair,) = comparison.table.filter(
            pl.col("primary"),
            pl.col("system").is_in([row.name, leader]),
            pl.col("baseline").is_in([row.name, leader]),
        ).to_dicts()
        sign = 1 if pair["baseline"] == leader else -1
        assert row.point == pytest.approx(sign * pair["difference"])
        alone = sorted(sign * pair[name] for name in ("low_alone", "high_alone"))
        assert [row.low, row.high] == pytest.approx(alone)
        assert (row.thin or (row.low, row.high)) == pytest.approx(
            sorted(sign * pair[name] for name in ("low", "high"))
        )


@pytest.mark.slow
def test_every_value_is_on_the_page(full, results):
    assert "All " in full.html
    for result in results.values():
        for cell, value in result.values.items():
            assert cell in unescape(full.html)
            assert f"{value:.4f}" in full.html


def test_wins_ties_and_losses(full, comparison):
    (stack,) = blocks(full, "for-whom", Stack)
    leader = comparison.ranks["system"][0]
    for name, *counts in stack.rows:
        (pair,) = comparison.table.filter(
            pl.col("primary"),
            pl.col("system").is_in([name, leader]),
            pl.col("baseline").is_in([name, leader]),
        ).to_dicts()
        sides = (
            ["losses", "ties", "wins"] if pair["baseline"] == leader else ["wins", "ties", "losses"]
        )
        assert counts == [pair[side] for side in sides]
        assert sum(width for _, width, _ in stack.shares((name, *counts))) == pytest.approx(
            100, abs=0.1
        )


def test_of_an_error_a_loss_is_a_win():
    tables = {
        name: pl.DataFrame({"user": list(range(9)), "rmse": values})
        for name, values in {"a": [1.0] * 9, "b": [0.5] * 6 + [1.0] * 2 + [2.0]}.items()
    }
    report = rw.report(
        {name: rw.from_per_user(table) for name, table in tables.items()}, baseline="a"
    )
    (stack,) = blocks(report, "for-whom", Stack)
    assert stack.rows == [("b", 1, 2, 6)]  # lose, no difference, gain
    (board,) = blocks(report, "systems", Board)
    assert [row[1] for row in board.rows] == ["b", "a"]  # the smaller error is on top


def test_slices_are_in_their_natural_order_with_their_sizes(full, results):
    (panels,) = blocks(full, "for-whom", Panels)
    for forest in panels.charts:
        assert [(row.name, row.small) for row in forest.rows] == [
            ("all", "60"),
            ("AT", "20"),
            ("DE", "20"),
            ("–", "20"),
        ]
        assert all(row.note == "no interval" and math.isnan(row.low) for row in forest.rows[1:])
        assert [row.size for row in forest.rows] == [None, *[pytest.approx(1 / 3)] * 3]


def test_users_whom_nobody_serves_are_no_estimate():
    truth = {user: {1, 2} for user in range(400)}
    users = pl.DataFrame({"user": range(400), "level": ["new"] * 100 + ["old"] * 300})
    made = {
        name: rw.evaluate(
            {u: [item, 7 - u % 2] for u in range(100, 400)},
            truth,
            "ndcg@2",
            users=users,
            by="level",
        )
        for name, item in {"a": 5, "b": 1}.items()
    }
    report = rw.report(made, baseline="a")
    (panels,) = blocks(report, "for-whom", Panels)
    ((whole, new, old),) = (forest.rows for forest in panels.charts)
    assert (new.name, new.note, new.value) == ("new", "no list", "–")
    assert old.tone == whole.tone == "better"
    alone = made["b"].report()
    (panels,) = blocks(alone, "for-whom", Panels)
    assert [row.note for row in panels.charts[0].rows] == ["no list", ""]
    assert "100 users without a list" in [gap.title for gap in report.gaps]


def test_hits_are_those_of_the_truth(full):
    titles = dict(TITLES.with_columns(pl.col("item").cast(pl.String)).rows())
    shown = 0
    for folded in users_of(full):
        user = int(re.match(r"User (\d+):", folded.title)[1])
        view = folded.blocks[1].view
        for place, row in enumerate(view.rows):
            for name, cell in zip(view.head[1:], row[1:], strict=True):
                item = RUNS[name][user][place]
                title = titles.get(str(item), str(item))
                assert text_of(cell) == ("✓ " if item in TRUTH[user] else "") + title
                shown += 1
    assert shown > 5


@pytest.mark.parametrize(("lengths", "marked"), [((25, 3), True), ((20, 3), False)])
def test_lists_longer_than_twenty_items_end_with_a_mark(lengths, marked):
    truth = {user: {1} for user in range(8)}
    long, short = (list(range(length, 0, -1)) for length in lengths)
    runs = {"long": dict.fromkeys(truth, long), "short": dict.fromkeys(truth, short)}
    made = rw.compare({name: rw.evaluate(run, truth, "mrr@25") for name, run in runs.items()})
    folded = users_of(made.report(recommendations=runs, truth=truth))
    rows = [[text_of(cell) for cell in row] for row in folded[0].blocks[1].view.rows]
    assert len(rows) == 20 + marked
    assert (rows[-1] == ["…", "", ""]) is marked
    assert rows[3].count("") == 1  # the short list has ended


def test_examples_are_the_largest_differences(full, results):
    first, other = (results[name].per_user for name in ("high", "low"))
    folded = users_of(full)
    assert 0 < len(folded) <= 10
    said = blocks(full, "examples", Text)[0].text
    primary, baseline, system = re.search(r"in (\S+) between (\w+) and (\w+)", said).groups()
    first, other = (results[name].per_user[primary] for name in (system, baseline))
    largest = float((first - other).max())
    values = re.search(r"([\d.]+) with \w+, ([\d.]+) with \w+$", folded[0].title).groups()
    assert float(values[1]) - float(values[0]) == pytest.approx(largest, abs=2e-4)


def test_users_that_moved_most_are_shown_without_lists(results):
    made = rw.compare({name: results[name] for name in ("high", "low")})
    shown = section(rw.report(made), "examples").blocks
    text, grid = (next(b for b in shown if isinstance(b, kind)) for kind in (Text, Grid))
    pair = re.search(r"between (\w+) and (\w+)\.$", text.text)
    moved = made.movers(pair[2], baseline=pair[1], n=5)
    assert text.text == moved.sentence
    assert [row[0] for row in grid.view.rows] == [str(user) for user in moved.table["user"]]
    assert any(isinstance(block, Notes) and "of all that is" in block.notes[0] for block in shown)


def test_what_is_personal_is_said_below_the_verdict():
    truth = {user: {user % 5} for user in range(60)}
    lists = {
        "own": {user: [user % 5, 9] for user in truth},
        "same": {user: [1, 2] for user in truth},
    }
    results = {name: rw.evaluate(own, truth, "ndcg@2") for name, own in lists.items()}
    found = rw.nulls(lists, truth, "ndcg@2", baselines=[])
    made = rw.report(results, evidence=found)
    assert made.head.more[-2:] == found.sentences
    assert "Nothing of same's ndcg@2 is shown to be personal" in found.sentences[1]
    assert "Nulls of own." in made.html
    assert not [*set(rw.report(results).head.more) & {*found.sentences}]


@pytest.mark.slow
def test_titles_of_strangers_are_text(full):
    assert "<b>One" not in full.html
    assert "&lt;b&gt;One" in full.html
    assert "\x00" not in full.html
    assert "Two lines" in full.html


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.wrong = [], []

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "link", "br", "wbr", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass


def test_tags_are_closed(full):
    tags = Tags()
    tags.feed(full.html)
    assert (tags.open, tags.wrong) == ([], [])


def test_nothing_is_loaded_from_elsewhere(full):
    assert not re.search(r'(src|href|action|srcset|poster)="(?!#|data:,)', full.html)
    assert not re.search(r"url\((?!#)|@import|fetch\(|XMLHttp|import\(", full.html)
    found = set(re.findall(r"https?://[\w.]+", full.html))
    assert found <= {"http://www.w3.org"}  # the name of SVG


@pytest.mark.slow
def test_the_same_input_gives_the_same_bytes(results, full):
    again = rw.compare(results).report(recommendations=RUNS, truth=TRUTH, train=TRAIN, items=TITLES)
    assert again.html.encode() == full.html.encode()


def test_a_result_alone(results):
    report = results["low"].report(recommendations=RUNS["low"], truth=TRUTH, train=TRAIN)
    interval = results["low"].interval("ndcg@1")
    limits = f"{brief(interval.low)} to {brief(interval.high)}"
    assert (
        report.head.verdict
        == f"ndcg@1 is {brief(interval.estimate)} (95 % interval {limits}) over 60 users."
    )
    assert [fact.title for fact in report.head.facts] == [
        "Users counted",
        "Users left out",
        "Slices",
        "Compared",
    ]
    assert {"systems", "for-whom"} <= set(re.findall(r'<section id="([\w-]+)"', report.html))
    assert not {"differences", "other-metrics", "costs"} & set(
        re.findall(r'id="([\w-]+)"', report.html)
    )
    assert {figure.name for figure in report.figures} >= {"curve-ndcg", "exposure", "activity"}


REASONS = {
    "curves": "one cut-off only",
    "users by activity": "train",
    "users by popularity of their items": "train",
    "trade-offs": "no metric of coverage",
    "the exposure of items": "the recommendation lists: a table was passed",
    "metrics of groups": "no metric with values of groups",
    "the split": "have no split metadata",
    "the audit": "evaluated without training interactions",
    "examples of users": "the recommendation lists: a table was passed",
}


def test_each_missing_part_says_why():
    few = {name: rw.evaluate(RUNS[name], TRUTH, "ndcg@4") for name in ("low", "high")}
    report = rw.report(few)
    assert report.missing.keys() == REASONS.keys()
    for what, why in REASONS.items():
        assert why in report.missing[what]
        assert what in report.html
    assert report.html.count("data-gap") == len(report.gaps) > len(REASONS)
    assert "groups of users" in [gap.title for gap in report.gaps]
    assert all(what in repr(report) for what in REASONS)


SECTIONS = [
    name
    for name, value in vars(report_sections).items()
    if inspect.isfunction(value)
    and value.__module__ == report_sections.__name__
    and not name.startswith("_")
]
BUILDERS = [
    # These sections are only there if asked for: tests/comparison/test_decide.py, tests/metrics/test_probability.py.
    *(
        (report_sections, name)
        for name in SECTIONS
        if name not in ("calibration", "charts_of", "checks", "decision", "evidence")
    ),
    *(
        (report_data, name)
        for name in ("audit", "conventions", "data", "glossary", "inputs", "remarks", "split")
    ),
    *((report_users, name) for name in ("examples", "movers")),
]


@pytest.mark.parametrize("error", [KeyError("x"), MemoryError(), UsageError("no")])
@pytest.mark.parametrize(("module", "name"), BUILDERS, ids=[name for _, name in BUILDERS])
def test_one_failure_leaves_the_rest(comparison, monkeypatch, module, name, error):
    def fail(material):
        raise error

    for home, other in BUILDERS:  # the others are quick here
        monkeypatch.setattr(home, other, lambda material, other=other: [Text(f"made_{other}")])
    monkeypatch.setattr(module, name, fail)
    report = comparison.report()
    said = "no" if isinstance(error, UsageError) else "an error inside rankwise: "
    assert [why.startswith(said) for why in report.missing.values()] == [True]
    assert len(report.sections) == 17
    others = {f"made_{other}" for _, other in BUILDERS} - {f"made_{name}"}
    assert set(re.findall(r"made_\w+", report.html)) == others


def test_a_chart_that_cannot_be_drawn(comparison, monkeypatch, tmp_path):
    def fail(figure):
        raise ValueError("no chart\nat all")

    monkeypatch.setattr(page, "_drawn", fail)
    report = comparison.report()
    assert "Without this chart: an error inside rankwise: ValueError: no chart." in report.html
    files = {path.suffix for path in report.save_assets(tmp_path)}
    assert files == {".csv"}


def test_results_that_cannot_be_compared(results):
    other = rw.evaluate(RUNS["low"], {user: {9} for user in range(30)}, "ndcg@4")
    report = rw.report({"a": results["low"], "b": other})
    assert (
        "different ground truth" in report.missing["paired differences"]
        or report.missing["paired differences"]
    )
    assert report.head.more == [report.missing["paired differences"]]
    assert blocks(report, "systems", Board)


@pytest.mark.slow
def test_assets(full, tmp_path):
    files = full.save_assets(tmp_path / "new")
    names = {figure.name for figure in full.figures}
    assert {path.name for path in files} == {
        f"{name}.{kind}" for name in names for kind in ("csv", "svg", "png")
    }
    for figure in full.figures:
        read = pl.read_csv(tmp_path / "new" / f"{figure.name}.csv")
        data = figure.data.drop("text")
        assert read.columns == data.columns
        assert len(read) == len(data)
        for name, dtype in data.schema.items():
            if dtype == pl.Float64:
                assert read[name].cast(pl.Float64).to_list() == data[name].to_list()
        assert (tmp_path / "new" / f"{figure.name}.png").read_bytes().startswith(b"\x89PNG")
        svg = (tmp_path / "new" / f"{figure.name}.svg").read_text(encoding="utf-8")
        assert svg.startswith("<svg")
        assert "var(--" not in svg
        assert 'fill="#ffffff"' in svg


def test_no_asset_is_a_formula(tmp_path):
    names = ["=1+1", "@x", "-2+3", "+4"]
    tables = {
        name: pl.DataFrame({"user": list(range(8)), "x": np.arange(8) * (n + 1.0)})
        for n, name in enumerate(names)
    }
    report = rw.report({name: rw.from_per_user(table) for name, table in tables.items()})
    csv = [path for path in report.save_assets(tmp_path) if path.suffix == ".csv"]
    assert csv
    for path in csv:
        for line in path.read_text(encoding="utf-8").splitlines():
            for cell in line.split(","):
                assert not re.match(r'^"?[=@]|^"?[+-](?![\d.]+$)', cell), line


def test_saving(full, tmp_path, monkeypatch):
    path = full.save(tmp_path / "page.html")
    assert path.read_text(encoding="utf-8") == full.html
    assert 'charset="utf-8"' in full.html
    for target in (tmp_path, tmp_path / "missing" / "page.html"):
        with pytest.raises(OutputError):
            full.save(target)
    with pytest.raises(OutputError):
        full.save_assets(path)
    shown = full._repr_html_()
    assert base64.b64decode(re.search(r"base64,([^\"]+)", shown)[1]).decode() == full.html


@pytest.mark.parametrize(
    ("module", "hint"),
    [
        ("jinja2", "rankwise[report]"),
        ("vl_convert", "rankwise[report]"),
        ("altair", "rankwise[plot]"),
    ],
)
def test_without_the_extras(results, monkeypatch, module, hint):
    monkeypatch.delitem(sys.modules, "rankwise.reporting.charts", raising=False)
    monkeypatch.setitem(sys.modules, module, None)
    report = rw.report(results)
    if module == "jinja2":
        with pytest.raises(UsageError) as caught:
            _ = report.html
        assert hint in caught.value.hint
    else:
        assert f"pip install &#34;{hint}&#34;" in report.html


@pytest.mark.parametrize(
    ("subject", "options", "says"),
    [
        ({}, {}, "a report needs results"),
        ([], {}, "a report needs results"),
        (5, {}, "a report needs results"),
        ({"a": 5}, {}, "a report needs results"),
        ("results", {"baseline": "x"}, "there is no result 'x'"),
        ("results", {"primary": "mrr@3"}, "was not evaluated"),
        ("results", {"recommendations": {"x": RUNS["low"]}}, "is not a result"),
        ("results", {"audit": 5}, "audit takes what rankwise.audit returns"),
        ("comparison", {"primary": "ndcg@3"}, "has its baseline"),
    ],
)
def test_wrong_questions(request, subject, options, says):
    subject = request.getfixturevalue(subject) if isinstance(subject, str) else subject
    with pytest.raises(UsageError, match=says):
        rw.report(subject, **options)


def test_a_loaded_comparison_without_results(comparison):
    alone = rw.Comparison(comparison.table, comparison.values, comparison.design)
    with pytest.raises(ParameterError, match="holds no results"):
        alone.report()


def test_lists_are_read_again_only_if_unchanged(tmp_path):
    def write(name, rows):
        path = tmp_path / name
        pl.DataFrame(rows, schema=["user", "item"], orient="row").write_csv(path)
        return path

    truth = write(
        "truth.csv", [(user, item) for user, items in TRUTH.items() for item in sorted(items)]
    )
    runs = {
        name: write(
            f"{name}.csv", [(user, item) for user, items in RUNS[name].items() for item in items]
        )
        for name in ("low", "high")
    }
    made = {name: rw.evaluate(path, truth, "ndcg@4") for name, path in runs.items()}
    report = rw.report(made)
    assert not {"examples of users", "the exposure of items"} & {*report.missing}
    runs["low"].write_text(runs["low"].read_text(encoding="utf-8") + "0,77\n", encoding="utf-8")
    report = rw.report(made)
    assert "was changed since the evaluation" in report.missing["the exposure of low"]
    assert "was changed" in report.missing["examples of users"]
    runs["low"].unlink()
    assert "is not there any more" in rw.report(made).missing["the exposure of low"]
    given = rw.report(made, recommendations={"low": RUNS["low"]})
    assert not {"examples of users", "the exposure of low"} & {*given.missing}


def test_lists_of_paths_are_read_again_if_they_are_all_files_of_a_folder(tmp_path):
    rows = [(user, item) for user, items in RUNS["low"].items() for item in items]
    frame = pl.DataFrame(rows, schema=["user", "item"], orient="row")
    paths = [tmp_path / f"{at}.parquet" for at in range(2)]
    for path, user_is_odd in zip(paths, (False, True), strict=True):
        frame.filter((pl.col("user") % 2 == 1) == user_is_odd).write_parquet(path)
    result = rw.evaluate(paths, TRUTH, "ndcg@4")
    assert "the exposure of items" not in rw.report({"low": result}, truth=TRUTH).missing
    frame.write_parquet(tmp_path / "more.parquet")
    missing = rw.report({"low": result}, truth=TRUTH).missing["the exposure of items"]
    assert "came from a list of paths, and their folder has other files now: 2 files in" in missing
    given = rw.report({"low": result}, truth=TRUTH, recommendations={"low": paths})
    assert "the exposure of items" not in given.missing


def test_thirds_keep_equal_users_together():
    users = pl.DataFrame(
        {"user": [str(n) for n in range(9)], "number": [0.0, 0, 0, 0, 1, 2, 3, 3, 8]}
    )
    groups = [(label, len(inside)) for label, inside in report_sections._groups(users)]
    assert groups == [("0", 4), ("1 to 2", 2), ("3 to 8", 3)]
    same = users.with_columns(number=pl.lit(4.0))
    assert [(label, len(inside)) for label, inside in report_sections._groups(same)] == [("4", 9)]


def test_thirds_have_the_means_of_their_users(full, results):
    figure = next(figure for figure in full.figures if figure.name == "activity")
    primary = figure.caption.split()[0]
    counts = {user: len(items) for user, items in TRAIN.items()}
    for row in figure.data.iter_rows(named=True):
        count = int(row["group"].split()[0])
        per_user = results[row["system"]].per_user
        own = per_user.filter(pl.col("user").replace_strict(counts) == count)[primary]
        assert row["users"] == len(own) == 20
        assert row["value"] == pytest.approx(own.mean())
        assert row["low"] <= row["value"] <= row["high"]


def test_exposure_counts_places_of_one_catalogue(results):
    lists = Lists(results, RUNS, {"truth": TRUTH})
    exposures, missing = lists.exposures(list(RUNS), 2)
    assert missing == {}
    sizes = {name: len(counts) for name, counts in exposures.items()}
    assert len(set(sizes.values())) == 1
    for name, counts in exposures.items():
        assert counts.sum() == 2 * len(USERS)
        top = np.unique(
            np.concatenate([items[:2] for items in RUNS[name].values()]), return_counts=True
        )
        assert sorted(counts[counts > 0]) == sorted(top[1])


def test_lists_are_ordered_as_they_were_evaluated():
    by_score = pl.DataFrame({"user": [1, 1, 1], "item": [5, 6, 7], "score": [0.1, 0.9, 0.5]})
    by_rank = pl.DataFrame({"user": [1, 1, 1], "item": [5, 6, 7], "rank": [2, 3, 1]})
    for table, order in ((by_score, ["6", "7"]), (by_rank, ["7", "5"])):
        result = rw.evaluate(table, {1: {5}}, "ndcg@2")
        assert Lists({"a": result}, {"a": table}).top("a", 2)["item"].to_list() == order


@pytest.mark.slow
def test_columns_of_tables_are_named():
    lists = {user: [1, 2 + user % 2] for user in range(30)}
    truth = {user: {1, 3} for user in lists}
    result = rw.evaluate(lists, truth, "recall@2")
    rows = [(user, item) for user, items in lists.items() for item in items]
    run = pl.DataFrame(rows, schema=["who", "what"], orient="row")
    stars = pl.DataFrame(
        {
            "who": [u for u in truth for _ in (1, 2)],
            "what": [1, 3] * 30,
            "p": [2.0] * 60,
            "q": [0.0] * 60,
        }
    )
    items = pl.DataFrame({"what": [1, 2, 3], "title": ["Eins", "Zwei", "Drei"]})
    columns = {"user": "who", "item": "what", "truth.relevance": "p"}
    tables = {"truth": stars, "items": items, "columns": columns}
    others = rw.evaluate({user: [1, 3 - user % 2] for user in lists}, truth, "recall@2")
    both = {"a": result, "b": others}
    runs = {
        "a": run,
        "b": run.with_columns(
            what=pl.when(pl.col("what") == 1).then(1).otherwise(5 - pl.col("what"))
        ),
    }
    for made in (
        rw.report(both, recommendations=runs, **tables),
        rw.compare(both).report(recommendations=runs, **tables),
    ):
        assert "examples of users" not in made.missing
        assert "Drei" in made.html
    assert "the exposure of items" not in result.report(recommendations=run, **tables).missing
    without = rw.report({"a": result}, recommendations={"a": run}, truth=stars, items=items)
    assert "the exposure of items" in without.missing


def test_many_systems_are_readable():
    rng = np.random.default_rng(0)
    tables = {
        f"system {n}": pl.DataFrame(
            {"user": range(1_000), "ndcg@10": rng.random(1_000) / 2 + n / 40}
        )
        for n in range(20)
    }
    made = {name: rw.from_per_user(table) for name, table in tables.items()}
    report = rw.report(made, baseline="system 3")
    (board,) = blocks(report, "systems", Board)
    assert len(board.rows) == 20
    assert board.rows[0][1] == "system 19"
    assert board.rows[0][4][0].mark == "▲"
    (forest,) = blocks(report, "differences", Forest)
    assert [row.name for row in forest.rows] == [f"system {n}" for n in (19, 18, 17, 16, 15, 14)]
    assert any(
        "13 more pairs" in note
        for block in blocks(report, "differences", Notes)
        for note in block.notes
    )


@pytest.mark.parametrize(
    ("count", "note"), [(12, ""), (13, "Shown are the 12 best of 13 systems.")]
)
def test_charts_show_up_to_twelve_systems_in_their_order_and_of_more_the_best(count, note):
    made = {
        f"s{at}": rw.from_per_user(pl.DataFrame({"user": [1, 2], "ndcg@5": [0.0, at / 20]}))
        for at in range(count)
    }
    material = report_data.ReportData(
        estimates=Estimates(made),
        primary="ndcg@5",
        pairs=None,
        not_compared="",
        design=rw.comparison.design.Design(),
        lists=Lists({}, {}),
        audit=False,
    )
    best = [f"s{at}" for at in range(12, 0, -1)]
    assert material.drawn.systems == (list(made) if count == 12 else best)
    assert material.left_out.strip() == note


def test_estimates_are_shared():
    result = rw.from_per_user(pl.DataFrame({"user": [1, 2], "x": [0.5, 1.0]}))
    estimates = Estimates({"a": result, "b": result})
    some = estimates.only(["b"])
    assert some.systems == ["b"]
    assert some.of("b", "x") is estimates.of("b", "x")
    assert estimates.of("a", "y").missing == "not evaluated"


HOSTILE = {
    "one user": (1, lambda n: np.array([0.5])),
    "all zero": (30, np.zeros),
    "undefined": (30, lambda n: np.full(n, np.nan)),
    "half undefined": (30, lambda n: np.where(np.arange(n) % 2, np.nan, 0.5)),
    "infinite": (30, lambda n: np.full(n, np.inf)),
}


@pytest.mark.parametrize("case", HOSTILE)
@pytest.mark.parametrize("alone", [True, False])
def test_odd_values(case, alone):
    count, values = HOSTILE[case]
    table = pl.DataFrame(
        {"user": list(range(count)), "ndcg@10": values(count), "<x>": values(count)}
    )
    result = rw.from_per_user(table)
    report = rw.report(result if alone else {"a": result, "b": result})
    assert "an error inside" not in report.html


def test_ids_of_two_types():
    low = rw.from_per_user(pl.DataFrame({"user": list(range(30)), "x": np.linspace(0, 1, 30)}))
    high = rw.from_per_user(pl.DataFrame({"user": [str(n) for n in range(30)], "x": np.ones(30)}))
    assert "an error inside" not in rw.report({"a": low, "b": high}).html


@pytest.mark.slow
def test_groups_of_a_comparison(results):
    report = rw.compare(results, by="country").report(recommendations=RUNS, truth=TRUTH)
    assert "an error inside" not in report.html
    assert (
        "within country show a difference" in report.html or "No difference is shown" in report.html
    )


@pytest.mark.parametrize("kind", ["ratings", "exact ranks", "huge k"])
def test_other_evaluations(kind):
    if kind == "ratings":
        pairs = pl.DataFrame(
            {"user": [1, 1, 2, 2, 3], "item": [1, 2, 1, 2, 1], "score": [3.0, 4, 5, 1, 2]}
        )
        truth = pairs.rename({"score": "rating"}).with_columns(pl.col("rating") + 0.5)
        made = {
            name: rw.evaluate(pairs.with_columns(pl.col("score") + shift), truth, ["rmse", "mae"])
            for name, shift in {"a": 0.0, "b": 1.0}.items()
        }
    elif kind == "huge k":
        made = {name: rw.evaluate(RUNS[name], TRUTH, "ndcg@1000000") for name in ("low", "high")}
    else:
        scores = np.random.default_rng(0).random((60, 40))
        made = {"a": rw.evaluate(rw.rank_relevant(scores, truth=TRUTH), TRUTH, ["mrr", "ndcg@10"])}
    report = rw.report(
        made,
        truth=TRUTH if kind == "huge k" else None,
        recommendations={n: RUNS[n] for n in made} if kind == "huge k" else None,
    )
    assert "an error inside" not in report.html


def test_many_cutoffs_are_thinned():
    ks = ",".join(str(k) for k in range(1, 101))
    made = rw.evaluate(RUNS["low"], TRUTH, f"ndcg@[{ks}]")
    (figure,) = (figure for figure in rw.report(made).figures if figure.name == "curve-ndcg")
    shown = figure.data["k"].to_list()
    assert len(shown) == 30
    assert (shown[0], shown[-1]) == (1, 100)


def test_what_was_not_looked_at_is_one_list(full):
    page = unescape(full.html)
    gaps = page[page.index('<section id="gaps"') :]
    for gap in full.gaps:
        assert gap.title in gaps
        assert gap.text in gaps
    assert full.missing.keys() <= {gap.title for gap in full.gaps}
    assert "rankwise compare 'NAME=results/NAME-*'" in page


def test_what_all_systems_share_is_said_once():
    train = {user: list(items) for user, items in TRUTH.items()}
    made = {name: rw.evaluate(RUNS[name], TRUTH, ["ndcg@4"], train=train) for name in RUNS}
    first, *others = (result.provenance["doubts"] for result in made.values())
    shared = [doubt for doubt in first if all(doubt in other for other in others)]
    assert shared
    notes = [note for block in blocks(rw.report(made), "method", Notes) for note in block.notes]
    said = [note for note in notes if note.startswith("check all systems: ")]
    assert said == [f"check all systems: {doubt}" for doubt in shared]


def views(gaining):
    """Return a result of two requests of each of 9 users; at every request of some users the item is found."""
    lists = pl.DataFrame(
        [(user, view, 1 if user in gaining else 2, 1) for user in range(9) for view in (1, 2)],
        schema=["user", "request", "item", "rank"],
        orient="row",
    )
    return rw.evaluate(lists, lists.select("user", "request", item=pl.lit(1)), ["recall@1"])


def test_requests_lose_and_gain_where_means_are_over_requests():
    report = rw.report({"a": views({0}), "b": views({0, 1, 2})}, baseline="a", primary="recall@1")
    texts = [block.text for block in blocks(report, "for-whom", Text)]
    assert texts == ["Requests that lose, see no difference and gain, of 18, on recall@1."]
    (stack,) = blocks(report, "for-whom", Stack)
    assert stack.rows == [("b", 0, 14, 4)]


def equivalent():
    """Return per-user values of systems with equal means: in b and c 20 users gain, and 20 lose."""
    users = list(range(200))
    swapped = {
        "a": (),
        "b": (0, 1),
        "c": (2, 3),
    }  # last digits of users whose values are turned round
    tables = {
        name: pl.DataFrame(
            {
                "user": users,
                "recall@1": [float((user % 10 in digits) != user % 2) for user in users],
            }
        )
        for name, digits in swapped.items()
    }
    return {name: rw.from_per_user(table) for name, table in tables.items()}


def test_the_card_of_equivalent_systems_is_about_the_margin():
    results = equivalent()
    pair = {name: results[name] for name in "ab"}
    report = rw.report(rw.compare(pair, baseline="a", margin=0.3))
    assert "equivalent" in report.head.verdict
    (sure,) = (fact for fact in report.head.facts if fact.title == "How sure")
    assert (sure.big, sure.bold) == ("Clear", "p < 0.0001 (margin).")
    assert sure.rest == "Level 0.05, two one-sided tests."
    (sure,) = (
        fact
        for fact in rw.report(rw.compare(pair, baseline="a")).head.facts
        if fact.title == "How sure"
    )
    assert (sure.big, sure.rest) == ("Not shown", "Level 0.05, two-sided.")


def test_intervals_and_p_values_of_equivalence_are_named():
    report = rw.report(rw.compare(equivalent(), baseline="a", margin=0.3))
    (forest,) = blocks(report, "differences", Forest)
    assert {row.outcome_small for row in forest.rows} == {"p (Holm) < 0.0001 (margin)"}
    assert all(row.value_small.endswith(" (90 %)") for row in forest.rows)
    text = blocks(report, "differences", Text)[0].text
    assert (
        "Thin, of equivalent systems: 90 % interval; the verdict needs it within the margin."
        in text
    )
    assert "clear of 0" not in text


def test_a_grouping_that_does_not_compare_leaves_the_others():
    less = {user: items for user, items in TRAIN.items() if user % 2}
    options = {"users": GROUPS, "by": ["repeat", "country"]}
    one = rw.evaluate(RUNS["low"], TRUTH, "recall@4", train=TRAIN, **options)
    other = rw.evaluate(RUNS["high"], TRUTH, "recall@4", train=less, **options)
    without = rw.evaluate(RUNS["high"], TRUTH, "recall@4", users=GROUPS, by="country")
    for second, why in (
        (other, "sliced differently by repeat"),
        (without, "b has no slices by 'repeat'"),
    ):
        report = rw.report({"a": one, "b": second}, baseline="a")
        assert why in report.missing["groups by repeat"]
        assert any(gap.title == "groups by repeat" for gap in report.gaps)
        texts = [block.text for block in blocks(report, "for-whom", Text)]
        assert len(blocks(report, "for-whom", Panels)) == 1
        assert texts[0].startswith("Difference in recall@4 from a, by country;")
        assert texts[1].startswith("Users who lose, see no difference and gain, of 60")


def test_one_pair_more_is_singular():
    notes = [
        note
        for block in blocks(rw.report(rw.compare(equivalent())), "differences", Notes)
        for note in block.notes
    ]
    assert notes == ["1 more pair is in the table of all pairs."]


def test_changed_settings_come_first_and_notes_of_all_systems_once(full, results):
    settings = section(full, "settings").blocks
    changed = next(block for block in settings if isinstance(block, Grid)).view.rows
    names = {row[0] for row in changed}
    assert {"by", "jackknife"} <= names
    assert not {"population", "undefined", "duplicates", "exact", "ties"} & names
    (defaults,) = (block for block in blocks(full, "settings", Folded) if "default" in block.title)
    kept = {row[0] for row in defaults.blocks[0].view.rows}
    assert defaults.title == f"{len(kept)} settings at the default"
    assert not kept & names

    notes = {
        block.title: block.blocks[0].notes
        for block in blocks(full, "settings", Folded)
        if block.title.startswith("Notes of ")
    }
    assert set(notes["Notes of all systems"]) == set.intersection(
        *(set(result.notes) for result in results.values())
    )
    for name, result in results.items():
        own = notes.get(f"Notes of {name}", [])
        assert not set(own) & set(notes["Notes of all systems"])
        assert set(own) | set(notes["Notes of all systems"]) == set(result.notes)


def test_of_the_audit_and_the_settings_numbers_alone_stand_right(full):
    views = [grid.view for name in ("audit", "settings") for grid in blocks(full, name, Grid)]
    right = {
        name: [head for at, head in enumerate(view.head) if at not in view.left]
        for view in views
        for name in view.head
    }
    assert right["what was found"] == ["number"]
    assert right["sha256"] == ["rows"]
    assert right["setting"] == right["definition of"] == []


def test_users_without_a_list_are_counted_for_each_system():
    truth = {user: {1} for user in range(40)}
    lists = {
        "old": {user: [1] for user in range(5, 40)},
        "new": {user: [1] for user in range(32)},
        "third": {user: [2] for user in range(5, 40)},
        "whole": {user: [1] for user in truth},
    }
    results = {name: rw.evaluate(own, truth, "mrr") for name, own in lists.items()}
    made = rw.report(results, baseline="old")
    text = next(gap.text for gap in made.gaps if gap.title.endswith("without a list"))
    said = "Of 40 users 5 get no list from old and third and 8 from new; each scores 0."
    assert text.startswith(said)
    method = rw.compare(results, baseline="old").export("methods")
    assert "(5 for old and third and 8 for new) scores 0" in method


def decided(**options):
    rng = np.random.default_rng(3)
    users = 600
    groups = {"group(team)": ["red", "blue"] * 300, "group(land)": ["AT", "DE", "CH"] * 200}
    old = rng.random(users)
    made = {
        name: rw.from_per_user(
            pl.DataFrame(
                {"user": range(users), "ndcg@5": old + gain, "mrr@5": old * (1 + gain)} | groups
            )
        )
        for name, gain in (("old", 0.0), ("new", 0.05 + rng.normal(0, 0.1, users)))
    }
    return made, rw.decide(made, **options)


@pytest.mark.parametrize(
    ("slices", "names"),
    [("team", ["red"]), (["team", "land"], ["team red", "land AT", "land CH", "land DE"])],
)
def test_a_group_of_a_decision_is_named_with_its_grouping_where_there_are_several(slices, names):
    _, made = decided(
        success="ndcg@5", guardrails={"ndcg@5": 0.1}, slices=slices, min_slice_size=50
    )
    (forest,) = (block for block in report_sections.checks(made) if isinstance(block, Forest))
    assert [row.name for row in forest.rows if row.indented] == names


@pytest.mark.parametrize(
    ("success", "planned"),
    [
        ("ndcg@5", "as the one planned test"),
        (["ndcg@5", "mrr@5"], "corrected over 2 planned tests (Holm)"),
    ],
)
def test_how_sure_a_decision_is_counts_its_planned_tests(success, planned):
    results, made = decided(success=success)
    facts = {fact.title: fact for fact in rw.report(results, decision=made).head.facts}
    assert planned in facts["How sure"].bold
