"""The pictures of the documentation: ``python docs/pictures.py`` writes them into ``docs/images``.

Charts come from `rankwise demo`; the pictures of a terminal and of a report need Chromium and the
package playwright. The pictures are kept in the repository, so that the pages build without them.
"""

from __future__ import annotations

import contextlib
import html
import io
import shutil
import tempfile
from pathlib import Path

import rankwise as rw
from rankwise.cli.main import main as command_line
from rankwise.experiments import demo

IMAGES = Path(__file__).parent / "images"
COMMAND = (
    "evaluate",
    "runs/neighbours.csv",
    "split",
    "-m",
    "ndcg@[5,10]",
    "-m",
    "recall@10",
    "-m",
    "catalog_coverage@10",
    "--threshold",
    "4",
    "--items",
    "items.csv",
)


def charts(outcome: demo.Outcome) -> None:
    """Write every kind of chart as SVG."""
    found = rw.compare(outcome.results, baseline="popularity", primary="ndcg@10")
    curve = rw.evaluate(outcome.runs["neighbours"], outcome.split, ["ndcg@[1,2,3,5,7,10]"], threshold=4)
    neighbours = outcome.results["neighbours"]
    for name, chart in {
        "differences": found.plot.differences("ndcg@10"),
        "decision": found.plot.decision(
            rw.decide(
                found,
                success="ndcg@10",
                guardrails={"recall@10": "5%"},
                deterioration="gini@10",
                slices="activity",
                system="neighbours",
            )
        ),
        "slices": found.plot.slices("ndcg@10"),
        "overview": found.plot.overview(),
        "gains": found.plot.gains("neighbours", "popularity"),
        "trade-off": found.plot.pareto("catalog_coverage@10"),
        "groups": neighbours.plot.slices("ndcg@10"),
        "users": neighbours.plot.per_user("ndcg@10"),
        "curve": curve.plot.curve("ndcg"),
    }.items():
        chart.save(IMAGES / f"{name}.svg")


def terminal(folder: Path) -> str:
    """Return a page that looks like a terminal with one evaluation."""
    said = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
        command_line(list(COMMAND))
    typed = " ".join(f"'{word}'" if "[" in word else word for word in COMMAND)
    text = html.escape(f"$ rankwise {typed}\n{said.getvalue()}")
    return (
        "<body style='margin:0;background:#10151c;color:#d7dde5'>"
        "<pre style='font:15px/1.5 monospace;padding:24px;margin:0;white-space:pre-wrap'>"
        f"{text}</pre>"
    )


def photographs(outcome: demo.Outcome) -> None:
    """Write the pictures of a terminal and of the first page of a report."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as name, sync_playwright() as play:
        folder = Path(name)
        demo.save(outcome, folder)
        (folder / "terminal.html").write_text(terminal(folder), encoding="utf-8")
        demo.page(outcome, demo.compared(outcome)).save(folder / "report.html")
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"])
        for picture, size, whole in (("terminal", (1180, 300), True), ("report", (1180, 900), False)):
            page = browser.new_page(viewport={"width": size[0], "height": size[1]})
            page.goto(f"file://{folder}/{picture}.html")
            page.screenshot(path=IMAGES / f"{picture}.png", full_page=whole)
        browser.close()


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    outcome = demo.run()
    charts(outcome)
    photographs(outcome)


if __name__ == "__main__":
    main()
