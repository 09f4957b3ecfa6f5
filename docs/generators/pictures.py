"""The pictures of the documentation: ``python docs/generators/pictures.py`` writes them into ``docs/images``.

Charts come from `rankwise demo`; the pictures of a terminal and of a report need Chromium. The
pictures are kept in the repository, so that the pages build without them. Beside each lies the text
that it shows, which ``tests/test_pictures.py`` holds against what the commands print today.
"""

from __future__ import annotations

import contextlib
import html
import io
import math
import shutil
import subprocess
import tempfile
from pathlib import Path

import rankwise as rw
from rankwise.cli.main import main as command_line
from rankwise.experiments import demo
from rankwise.reporting.report import Report

IMAGES = Path(__file__).parents[1] / "images"
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
    curve = rw.evaluate(
        outcome.runs["neighbours"], outcome.split, ["ndcg@[1,2,3,5,7,10]"], threshold=4
    )
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


def terminal_text(folder: Path) -> str:
    """Return one evaluation as a terminal shows it: what is typed, and what is printed."""
    said = io.StringIO()
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(said),
        contextlib.suppress(SystemExit),
    ):
        command_line(list(COMMAND))
    typed = " ".join(f"'{word}'" if "[" in word else word for word in COMMAND)
    return f"$ rankwise {typed}\n{said.getvalue()}"


def report_text(page: Report) -> str:
    """Return the first screen of a report as text: the verdict, the facts, and what was not looked at."""
    head = page.head
    facts = [
        f"{fact.title}: {fact.big} {fact.unit}\n  {fact.bold} {fact.rest}".rstrip()
        for fact in head.facts
    ]
    unseen = f"Not looked at: {' · '.join(head.unseen)}. All {len(page.gaps)} gaps"
    kick = " · ".join(
        text for text in head.kick[:-1] if text
    )  # the last is the date of the evaluation
    return "\n".join([kick, head.verdict, " ".join(head.more), *facts, unseen]) + "\n"


def texts(outcome: demo.Outcome, folder: Path) -> dict[str, str]:
    """Return the text of the pictures of a terminal and of a report, by the name of the picture."""
    demo.save(outcome, folder)
    return {
        "terminal": terminal_text(folder),
        "report": report_text(demo.page(outcome, demo.compared(outcome))),
    }


def photographs(outcome: demo.Outcome) -> None:
    """Write the pictures of a terminal and of the first page of a report, and their texts."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        written = texts(outcome, folder)
        for picture, text in written.items():
            (IMAGES / f"{picture}.txt").write_text(text, encoding="utf-8")
        lines = sum(1 + len(line) // _COLUMNS for line in written["terminal"].splitlines())
        page = (
            "<meta charset='utf-8'><body style='margin:0;background:#10151c;color:#d7dde5'>"
            "<pre style='font:15px/1.5 monospace;padding:24px;margin:0;white-space:pre-wrap'>"
            f"{html.escape(written['terminal'])}</pre>"
        )
        (folder / "terminal.html").write_text(page, encoding="utf-8")
        demo.page(outcome, demo.compared(outcome)).save(folder / "report.html")
        _photograph(folder / "terminal.html", 48 + math.ceil(22.5 * lines))
        _photograph(folder / "report.html", 900)


_COLUMNS = 125  # of a terminal as wide as the picture


def _photograph(page: Path, height: int) -> None:
    """Write the picture of a page, 1180 pixels wide."""
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("the pictures of a terminal and of a report need chromium")
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        f"--window-size=1180,{height}",
    ]
    picture = IMAGES / f"{page.stem}.png"
    subprocess.run(  # noqa: S603 - of a page that was just written
        [chromium, *options, f"--screenshot={picture}", f"file://{page}"],
        check=True,
        capture_output=True,
        timeout=120,
    )


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    outcome = demo.run()
    charts(outcome)
    photographs(outcome)


if __name__ == "__main__":
    main()
