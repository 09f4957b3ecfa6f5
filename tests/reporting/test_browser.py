"""Reports in a real browser: safe, quiet, for every reader, with mouse, keyboard, screen and paper."""

from __future__ import annotations

import re
import runpy
from itertools import pairwise
from pathlib import Path

import numpy as np
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
    assert page.locator("script, img, iframe, object, embed, link[rel=stylesheet]").count() == 3
    assert page.locator("script:not([type='application/json'])").count() == 1
    assert page.locator("svg.chart svg, svg.chart script, svg.chart foreignObject").count() == 0
    systems = page.eval_on_selector_all(
        "#systems tbody th .sys", "all => all.map(name => name.textContent)"
    )
    assert {*systems} == {rw.errors.printable(name) for name in NAMES}
    assert "49" not in systems  # no template of ours reads names


def test_a_user_is_found_by_id(opened, demo_page):
    page = opened(demo_page[0])
    shown = page.locator("#lookup-user")
    first = shown.locator("p").first.inner_text()
    assert first.startswith("User ")
    user = sorted(demo_page[1]["popularity"].per_user["user"])[7]
    page.locator("#lookup-id").fill(user)
    said = shown.locator("p").first.inner_text()
    values = {name: result.per_user.filter(user=user) for name, result in demo_page[1].items()}
    low, high = re.search(r"ndcg@\d+ (\S+) with (\w+), (\S+) with (\w+)$", said).group(1, 3)
    before, after = re.findall(r"with (\w+)", said)
    cell = re.search(r"(ndcg@\d+)", said)[1]
    for name, text in ((before, low), (after, high)):
        assert float(text) == pytest.approx(values[name][cell][0], abs=5e-4)
    hits = shown.locator("tbody b").count()
    assert (hits > 0) == (float(low) + float(high) > 0)
    page.locator("#lookup-id").fill("nobody")
    assert shown.inner_text() == "No user on this page has this id."
    page.locator("#lookup-id").fill(user)
    page.get_by_role("button", name="next user").click()
    assert page.locator("#lookup-id").input_value() != user
    assert shown.locator("p").first.inner_text() != said


def test_the_page_is_whole_without_scripts(browser, demo_page):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(demo_page[0].as_uri())
    assert not page.locator("#lookup").is_visible()
    assert page.locator("#examples details").count() > 5
    assert page.locator("h1").is_visible()
    context.close()


def test_systems_are_hidden_renamed_and_highlighted(opened, demo_page):
    page = opened(demo_page[0])
    page.locator(".tools summary").click()
    rows = page.locator("#systems tbody tr")
    assert rows.filter(has_text="random").is_visible()
    page.get_by_role("checkbox", name="show random").uncheck()
    assert not rows.filter(has_text="random").is_visible()
    page.get_by_role("checkbox", name="show random").check()
    assert rows.filter(has_text="random").is_visible()

    page.get_by_role("textbox", name="name of neighbours").fill("kNN $& 2")
    assert page.locator("h1").inner_text().startswith("kNN $& 2 beats ")
    assert page.get_by_text("neighbours", exact=True).count() == 0
    page.get_by_role("textbox", name="name of neighbours").fill("")
    assert page.locator("h1").inner_text().startswith("neighbours beats ")

    page.get_by_role("button", name="Highlight").first.click()
    assert page.locator("#systems tbody tr.dim").count() == 2
    page.get_by_role("button", name="Highlight").first.click()
    assert page.locator(".dim").count() == 0


def test_a_chart_is_saved_with_its_colours(opened, demo_page):
    page = opened(demo_page[0])
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save chart").first.click()
    saved = waiting.value
    text = Path(saved.path()).read_text(encoding="utf-8")
    assert saved.suggested_filename.endswith(".svg")
    assert text.startswith("<svg")
    assert "var(--" not in text
    assert 'fill="#fff"' in text


def test_a_metric_explains_itself(opened, demo_page):
    page = opened(demo_page[0])
    term = page.locator("#systems thead a.term").first
    assert "DCG" in term.get_attribute("title")
    assert not page.locator("#words table").is_visible()
    term.click()
    assert page.locator("#words table").is_visible()


@pytest.fixture(scope="module")
def crowded_page(tmp_path_factory):
    """Nine systems of 40 characters, eleven metrics, groups, and a candidate that loses."""
    rng, n = np.random.default_rng(8), 300
    users = [f"customer-{n:05}" for n in range(n)]
    truth = {user: {f"item-{at % 37}": 1, f"item-{at % 11}": 2} for at, user in enumerate(users)}
    names = [
        f"{'production' if at == 0 else f'candidate {at}'} model with a very long name".ljust(
            40, "x"
        )
        for at in range(9)
    ]
    groups = pl.DataFrame(
        {"user": users, "segment": [f"a rather long segment {at % 3}" for at in range(n)]}
    )
    metrics = ["ndcg@10", "recall@10", "mrr@10", "map@10", "precision@10", "hit_rate@10"]
    metrics += [
        "catalog_coverage@10",
        "gini@10",
        "novelty@10",
        "intra_list_diversity(distance=jaccard)@10",
        "rbp@10",
    ]
    items = pl.DataFrame(
        {
            "item": [f"item-{at}" for at in range(60)],
            "categories": [[f"g{at % 5}"] for at in range(60)],
        }
    )
    results, runs = {}, {}
    for at, name in enumerate(names):
        order = [rng.permutation(60)[:12] for _ in users]
        best = [sorted(own, key=lambda item, at=at: (item % 37 != at, item)) for own in order]
        runs[name] = {
            user: [f"item-{item}" for item in own] for user, own in zip(users, best, strict=True)
        }
        results[name] = rw.evaluate(
            runs[name],
            truth,
            metrics,
            items=items,
            users=groups,
            by="segment",
            train={user: [f"item-{at % 60}"] for at, user in enumerate(users)},
        )
    decision = rw.decide(
        {name: results[name] for name in names[:2]},
        success="ndcg@10",
        guardrails={"novelty@10": "1%"},
    )
    page = rw.report(
        results, baseline=names[0], recommendations=runs, truth=truth, decision=decision
    )
    return page.save(tmp_path_factory.mktemp("crowded") / "report.html"), results


@pytest.fixture(scope="module")
def requests_page(tmp_path_factory):
    """Requests of people, means over requests, and a system that is worse."""
    rng, rows = np.random.default_rng(5), []
    for user in range(80):
        for request in range(1 + user % 4):
            rows += [
                (f"person {user}", f"session-{user}-{request}", item)
                for item in rng.permutation(30)[:10]
            ]
    lists = pl.DataFrame(rows, ["user", "session_id", "item"], orient="row")
    truth = (
        lists.group_by("user", "session_id", maintain_order=True)
        .agg(pl.col("item").gather([0, 4]))
        .explode("item")
    )
    worse = lists.with_columns(item=(pl.col("item") + 7) % 30)
    results = {
        name: rw.evaluate(own, truth, ["ndcg@10", "recall@5", "mrr"])
        for name, own in {"today's system": lists, "the candidate": worse}.items()
    }
    page = rw.report(results, baseline="today's system")
    return page.save(tmp_path_factory.mktemp("requests") / "report.html"), results


@pytest.fixture(scope="module")
def log_page(tmp_path_factory):
    log = rw.datasets.logged(users=400, seed=1)
    found = rw.off_policy(
        log.exposures, targets={"a policy with a long name": "p_new"}, by="segment"
    )
    return rw.report(found).save(tmp_path_factory.mktemp("log") / "report.html"), found


WRAPPED = """() => {
    document.querySelectorAll("details").forEach(d => { d.open = true; });
    const wrong = [];
    const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const node = walker.currentNode, parent = node.parentElement;
        if (!parent.checkVisibility() || parent.closest("script, svg, .code, figcaption")) continue;
        const cell = parent.closest("td, .val, .out, .n, .big, .term");
        if (!cell) continue;
        for (const found of node.data.matchAll(/[-+−]?\\d[\\d.,]*|better|worse|equivalent|shown|^[a-z_]{1,20}@[0-9]+$/gu)) {
            const range = document.createRange();
            range.setStart(node, found.index);
            range.setEnd(node, found.index + found[0].length);
            const lines = new Set([...range.getClientRects()].filter(r => r.width > 0).map(r => Math.round(r.top)));
            if (lines.size > 1) wrong.push(found[0] + " in " + cell.textContent.slice(0, 40));
        }
    }
    return wrong;
}"""
OVERLAPS = """() => {
    const wrong = [];
    for (const row of document.querySelectorAll(".drow, .board tr, .gl li, .kick, nav")) {
        if (!row.checkVisibility()) continue;
        const parts = [...row.children].filter(part => part.checkVisibility() && part.getBoundingClientRect().width > 0);
        for (let a = 0; a < parts.length; a++) for (let b = a + 1; b < parts.length; b++) {
            const x = parts[a].getBoundingClientRect(), y = parts[b].getBoundingClientRect();
            const across = Math.min(x.right, y.right) - Math.max(x.left, y.left), down = Math.min(x.bottom, y.bottom) - Math.max(x.top, y.top);
            if (across > 1 && down > 1) wrong.push(row.textContent.trim().slice(0, 60));
        }
    }
    for (const axis of document.querySelectorAll(".axis")) {
        const labels = [...axis.children].filter(label => label.checkVisibility()).map(label => label.getBoundingClientRect());
        for (let at = 1; at < labels.length; at++) if (labels[at - 1].right > labels[at].left + 1) wrong.push("axis " + axis.textContent);
    }
    return wrong;
}"""
SIDEWAYS = """() => {
    document.querySelectorAll("details").forEach(d => { d.open = true; });
    const wide = document.documentElement.scrollWidth > document.documentElement.clientWidth ? ["the page"] : [];
    for (const node of document.querySelectorAll("main *")) {
        const style = getComputedStyle(node);
        if (["auto", "scroll"].includes(style.overflowX) && node.scrollWidth > node.clientWidth + 1 && !node.querySelector("table")) wide.push(node.className);
    }
    return wide;
}"""


def test_what_wraps_overlaps_or_scrolls_is_found(opened, demo_page):
    page = opened(demo_page[0], width=1280)
    page.add_style_tag(
        content=".val{width:1ch;overflow-wrap:anywhere;white-space:normal!important}"
    )
    assert page.evaluate(WRAPPED)
    page.add_style_tag(content=".drow .iv{margin-right:-14em}")
    assert page.evaluate(OVERLAPS)
    page.add_style_tag(content="main{width:200vw}")
    assert page.evaluate(SIDEWAYS)


@pytest.mark.parametrize("which", ["demo_page", "crowded_page", "requests_page", "log_page"])
@pytest.mark.parametrize("width", [1440, 1280, 390])
def test_no_number_wraps_nothing_overlaps_and_only_tables_scroll(opened, request, which, width):
    page = opened(request.getfixturevalue(which)[0], width=width)
    assert page.evaluate(SIDEWAYS) == []
    assert page.evaluate(WRAPPED) == []
    assert page.evaluate(OVERLAPS) == []


@pytest.mark.deep  # five systems always run
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


@pytest.mark.deep  # as large as the crowded page, from a file of ratings
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
