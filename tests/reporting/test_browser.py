"""Reports in a real browser: safe, quiet, for every reader, with mouse, keyboard, screen and paper."""

from __future__ import annotations

import re
import runpy
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

import rankwise as rw
from rankwise.experiments import demo
from rankwise.models.recommenders import Popularity, Random
from tools import chromium

CHROMIUM = chromium()
sync_api = pytest.importorskip("playwright.sync_api", reason="browser tests need playwright")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="browser tests need chromium on the PATH"),
    pytest.mark.xdist_group("browser"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # of Playwright's own event loop
]
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
EVIL = "<script>window.__pwned = 1; alert(1)</script>"
NAMES = [
    EVIL,
    "<img src=x onerror='window.__pwned=1'> 😀",
    "שלום \u202eעולם",
    "a\x00\x1b[31m\nb\ufffe\uffff",
    '"><svg onload=window.__pwned=1>',
    "n" * 300,
    "../../x",
    "{{ 7 * 7 }}",
    "=1+1",
    "last one",
]


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def demo_page(tmp_path_factory):
    outcome = demo.run()
    metrics = [
        "ndcg@[1,5,10]",
        "catalog_coverage@10",
        "gini@10",
        "group_gap(ndcg,user_group=usage)@10",
    ]
    results = {
        name: rw.evaluate(
            run,
            outcome.split,
            metrics,
            items=outcome.data.items,
            users=outcome.data.users,
            by="activity",
            relevance_threshold=4,
            jackknife=32,
        )
        for name, run in outcome.runs.items()
    }
    page = rw.report(
        results,
        recommendations=outcome.runs,
        truth=outcome.split,
        train=outcome.split,
        items=outcome.data.items,
        audit=rw.audit(outcome.split),
    )
    assert page.missing == {}
    return page.save(tmp_path_factory.mktemp("demo") / "report.html"), results


@pytest.fixture(scope="module")
def hostile_page(tmp_path_factory):
    """Ten systems of hostile names, whose items and groups are hostile; 150 users have a group of their own."""
    folder = tmp_path_factory.mktemp("hostile")
    users = [f"{EVIL}{n}" for n in range(1_000)]  # from 1,000 on intervals need no bootstrap
    truth = {user: {"i1", EVIL} for user in users}
    groups = pl.DataFrame(
        {"user": users, "group": [f"<b>{EVIL}{min(n, 150)}" for n in range(len(users))]}
    )
    runs = {
        name: {
            user: [EVIL, "i1", "i2"] if (n * 7) % 10 < place else ["i2", "i3", EVIL]
            for n, user in enumerate(users)
        }
        for place, name in enumerate(NAMES)
    }
    results = {
        name: rw.evaluate(
            run, truth, ["ndcg@[1,2,3]", "novelty@3"], train=truth, users=groups, by="group"
        )
        for name, run in runs.items()
    }
    items = pl.DataFrame({"item": ["i1", "i2", EVIL], "title": [EVIL, "a\x00\nb", "שלום 😀"]})
    page = rw.report(
        results, title=EVIL, recommendations=runs, truth=truth, train=truth, items=items
    )
    return page.save(folder / "report.html"), results


@pytest.fixture
def opened(browser):
    """Open a file, and hold that the page is quiet until the end of the test."""
    pages, noise = [], []

    def open_page(path, width=1100, scheme="light"):
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page.set_default_timeout(5_000)
        for event in ("console", "pageerror", "dialog", "requestfailed"):
            page.on(event, lambda said, event=event: noise.append((event, str(said))))
        page.on("request", lambda request: noise.append(("request", request.url)))
        page.goto(path.as_uri())
        pages.append((page, path))
        return page

    yield open_page
    expected = [("request", path.as_uri()) for _, path in pages]
    for page, _ in pages:
        assert page.evaluate("window.__pwned") is None
        page.close()
    assert noise == expected


VALUES = "#values table"


def column(page, index):
    return page.eval_on_selector_all(
        f"{VALUES} tbody tr", f"rows => rows.map(row => row.cells[{index}].firstChild.textContent)"
    )


@pytest.mark.parametrize("press", ["mouse", "keyboard"])
def test_a_table_sorts(opened, demo_page, press):
    path, results = demo_page
    page = opened(path)
    page.locator("#values summary").click()
    head = page.locator(f"{VALUES} thead th").nth(1)

    def sort():
        if press == "mouse":
            head.locator("button").click()
        else:
            head.locator("button").press("Enter")
        return head.get_attribute("aria-sort"), [float(text) for text in column(page, 1)]

    assert head.get_attribute("aria-sort") == "none"
    name = head.inner_text().split()[0]
    values = sorted(round(value, 4) for value in results[name].values.values())
    assert sort() == ("descending", values[::-1])
    assert sort() == ("ascending", values)
    assert page.locator(f"{VALUES} thead th").nth(2).get_attribute("aria-sort") == "none"
    page.locator(f"{VALUES} thead th button").first.click()  # text: from a to z first
    assert column(page, 0) == sorted(column(page, 0))
    assert head.get_attribute("aria-sort") == "none"


def test_marks_tell_their_numbers(opened, demo_page):
    path, results = demo_page
    page = opened(path)
    page.locator("#curves > details > summary").click()
    tip = page.locator("#tip")
    interval = results["neighbours"].interval("ndcg@10")
    said = (
        f"neighbours: ndcg@10 = {interval.estimate:.4f} [{interval.low:.4f}, {interval.high:.4f}]"
    )
    mark = page.locator(f'#chart-curve-ndcg [aria-label="{said}"]')
    mark.hover()
    assert tip.inner_text() == said
    box, size = tip.bounding_box(), page.viewport_size
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= size["width"]
    page.keyboard.press("Escape")
    assert tip.is_hidden()


def test_marks_are_reached_by_the_keyboard(opened, demo_page):
    page = opened(demo_page[0])
    page.locator("#curves > details > summary").click()
    marks = page.locator("#chart-curve-ndcg svg [tabindex]")
    assert marks.count() == 9
    assert [mark.get_attribute("tabindex") for mark in marks.all()] == ["0"] + ["-1"] * 8
    page.locator("#curves > details > summary").focus()
    page.keyboard.press("Tab")
    first = page.locator("#tip").inner_text()
    assert first == marks.first.get_attribute("aria-label")
    page.keyboard.press("ArrowRight")
    assert page.locator("#tip").inner_text() == marks.nth(1).get_attribute("aria-label") != first
    page.keyboard.press("End")
    assert page.locator("#tip").inner_text() == marks.last.get_attribute("aria-label")
    page.keyboard.press("Tab")
    assert page.locator("#tip").is_hidden()


def colours(page):
    return page.evaluate(
        """() => [getComputedStyle(document.body).backgroundColor,
                  getComputedStyle(document.querySelector("svg.chart text")).fill]"""
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_theme_toggles(opened, demo_page, scheme):
    page = opened(demo_page[0], scheme=scheme)
    light, dark = (
        ["rgb(255, 255, 255)", "rgb(89, 98, 109)"],
        ["rgb(20, 23, 27)", "rgb(166, 175, 185)"],
    )
    before, after = (light, dark) if scheme == "light" else (dark, light)
    button = page.get_by_role("button", name="Dark" if scheme == "light" else "Light", exact=True)
    assert colours(page) == before
    button.click()
    assert colours(page) == after
    page.locator("#theme").press("Enter")
    assert colours(page) == before


def test_paper(opened, demo_page):
    """What is open is printed, and nothing else: at most four pages."""
    page = opened(demo_page[0], scheme="dark")
    pdf = page.pdf()
    assert pdf.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page[^s]", pdf)) <= 4
    assert page.locator("details[open]").count() == 0
    page.emulate_media(media="print", color_scheme="dark")
    assert colours(page)[0] == "rgb(255, 255, 255)"
    assert not page.locator("#values").is_visible()


def test_the_marks_of_html_lie_in_their_rows(opened, demo_page):
    """On a phone and on a screen: each bar inside its row, its point within its limits, and the zero line at one place."""
    for width in (390, 1280):
        page = opened(demo_page[0], width=width)
        wrong = page.evaluate(
            """() => [...document.querySelectorAll(".forest .iv")].filter(row => {
                const box = row.getBoundingClientRect(), bar = row.querySelector(".bar"), dot = row.querySelector(".dot");
                if (!dot) return false;
                const at = dot.getBoundingClientRect(), middle = at.left + at.width / 2;
                const limits = bar ? bar.getBoundingClientRect() : box;
                return middle < box.left - 1 || middle > box.right + 1 || middle < limits.left - 1 || middle > limits.right + 1;
            }).length"""
        )
        assert wrong == 0
        zeros = page.eval_on_selector_all(
            "#differences .iv .zero",
            "all => [...new Set(all.map(z => Math.round(z.getBoundingClientRect().left)))].length",
        )
        assert zeros == 1


def test_the_first_screen_is_the_verdict(opened, demo_page):
    page = opened(demo_page[0], width=1280)
    page.set_viewport_size({"width": 1280, "height": 800})
    for part in ("h1", ".facts", ".unseen"):
        box = page.locator(part).bounding_box()
        assert box["y"] + box["height"] <= 800, part
    assert page.locator("h1").inner_text().startswith("neighbours beats ")


@pytest.mark.parametrize("which", ["demo_page", "hostile_page"])
@pytest.mark.parametrize("width", [390, 360])
def test_a_phone_scrolls_in_one_direction(opened, request, which, width):
    page = opened(request.getfixturevalue(which)[0], width=width)
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_text_in_charts_is_not_cut(opened, demo_page):
    page = opened(demo_page[0])
    cut = page.evaluate(
        """() => [...document.querySelectorAll("svg.chart")].filter(svg => svg.checkVisibility()).flatMap(svg => {
            const frame = svg.parentElement.getBoundingClientRect();
            return [...svg.querySelectorAll("text")].filter(text => {
                const box = text.getBoundingClientRect();
                return box.left < frame.left - 1 || box.right > frame.right + 1 || box.bottom > frame.bottom + 1;
            }).map(text => text.textContent); })"""
    )
    assert cut == []


LUMINANCE = """
const parts = text => (text.match(/[0-9.]+/g) || []).map(Number);
const luminance = rgb => { const [r, g, b] = rgb.slice(0, 3).map(c => { c /= 255; return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const below = node => { for (let n = node; n; n = n.parentElement) { const c = parts(getComputedStyle(n).backgroundColor); if (c.length === 3 || c[3] > 0) return c; } };
const contrast = (a, b) => { const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast(opened, demo_page, scheme):
    page = opened(demo_page[0], scheme=scheme)
    low = page.evaluate(
        "() => {"
        + LUMINANCE
        + """
        document.querySelectorAll("details").forEach(d => { d.open = true; });
        const low = [];
        for (const node of document.querySelectorAll("h1, h2, p, li, a, th, td, summary, button, figcaption, footer, .interval, svg.chart text")) {
            if (!node.checkVisibility()) continue;
            const style = getComputedStyle(node);
            const ratio = contrast(parts(node instanceof SVGElement ? style.fill : style.color), below(node));
            if (!(ratio >= 4.5)) low.push([node.tagName, node.textContent.slice(0, 30), ratio]);
        }
        return low; }"""
    )
    assert low == []


@pytest.mark.parametrize("which", ["demo_page", "hostile_page"])
def test_what_a_screen_reader_needs(opened, request, which):
    page = opened(request.getfixturevalue(which)[0])
    assert page.evaluate("document.documentElement.lang") == "en"
    levels = page.eval_on_selector_all(
        "h1, h2, h3, h4", "all => all.map(h => Number(h.tagName[1]))"
    )
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    count = "selector => document.querySelectorAll(selector).length"
    assert page.evaluate(count, "th:not([scope])") == 0
    assert page.evaluate(count, "table") > 5
    assert page.evaluate(count, "table:not(:has(tbody th[scope=row]))") == 0
    assert page.evaluate(count, "svg.chart") > 3
    assert page.evaluate(count, "[role=img]:not([aria-label])") == 0
    assert page.evaluate(count, "svg.chart:not([aria-label])") == 0
    assert page.evaluate(count, "[role=region]:not([aria-label])") == 0
    unnamed = "all => all.filter(b => !b.textContent.trim()).length"
    assert page.eval_on_selector_all("button, summary, a", unnamed) == 0
    ids = page.eval_on_selector_all("[id]", "all => all.map(node => node.id)")
    assert len(ids) == len(set(ids))
    targets = page.eval_on_selector_all(
        "nav a", "all => all.map(a => a.getAttribute('href').slice(1))"
    )
    assert set(targets) <= set(ids)


def test_hostile_text_stays_text(opened, hostile_page):
    path, _ = hostile_page
    assert path.stat().st_size < 1_500_000  # with ten systems
    assert "an error inside" not in path.read_text(encoding="utf-8")
    page = opened(path)
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    for mark in page.locator("svg.chart [tabindex='0']").all():
        mark.focus()
        assert page.locator("#tip").is_visible()
    assert page.locator(".kick span").first.inner_text() == EVIL
    assert page.locator("script, img, iframe, object, embed, link[rel=stylesheet]").count() == 1
    assert page.locator("svg.chart svg, svg.chart script, svg.chart foreignObject").count() == 0
    systems = page.eval_on_selector_all(
        "#systems tbody th .sys", "all => all.map(name => name.textContent)"
    )
    assert {*systems} == {rw.errors.printable(name) for name in NAMES}
    assert "49" not in systems  # no template of ours reads names


def test_ten_systems_of_the_demo_are_small_enough(opened, demo_page, tmp_path):
    _, results = demo_page
    ten = {f"system number {n}": list(results.values())[n % 3] for n in range(10)}
    path = rw.report(ten).save(tmp_path / "ten.html")
    assert path.stat().st_size < 1_500_000
    assert opened(path).locator("#systems tbody tr").count() == 10


def test_five_systems_and_ten_metrics_are_small(demo_page, tmp_path):
    _, results = demo_page
    five = {f"system number {n}": list(results.values())[n % 3] for n in range(5)}
    assert len(next(iter(five.values())).values) >= 5
    assert (
        rw.report(five, baseline="system number 0").save(tmp_path / "five.html").stat().st_size
        < 300_000
    )


def test_movietweetings(opened, movietweetings, tmp_path):
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "movietweetings.py"))
    example["tables"](movietweetings, tmp_path)
    train, test = (pl.read_parquet(tmp_path / f"{name}.parquet") for name in ("train", "test"))
    users, results = test["user"].unique().sort(), {}
    for name, model in {"popularity": Popularity(), "random": Random(seed=0)}.items():
        model.fit(train).recommend(users, 10).write_parquet(tmp_path / f"{name}.parquet")
        results[name] = rw.evaluate(
            tmp_path / f"{name}.parquet",
            tmp_path / "test.parquet",
            ["ndcg@[5,10]", "novelty@10"],
            train=tmp_path / "train.parquet",
            by="activity",
            relevance_threshold=8,
        )
    report = rw.report(results)  # lists and tables are read again from their files
    assert set(report.missing) <= {"metrics of groups", "the split", "the audit"}
    page = opened(report.save(tmp_path / "report.html"))
    said = page.locator("h1").inner_text()
    assert re.match(
        r"random is worse than popularity on ndcg@10: [\d.]+ against [\d.]+, −\d+\s%", said
    )
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    assert page.locator("#examples details details").count() >= 5
    page.locator(f"{VALUES} thead th button").nth(1).click()
    page.locator("#theme").click()
    page.locator("#chart-exposure svg [tabindex='0']").hover()
    assert "recommendations" in page.locator("#tip").inner_text()
    assert page.pdf().startswith(b"%PDF")
