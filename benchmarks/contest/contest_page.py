"""The page of the contest: tables of ratios, and a chart, of what ``run.py`` measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeAlias

import altair as alt
import polars as pl
from data import SIZES
from marked_part import DOCS, write_part
from workload import MOVIELENS_ITEMS

__all__ = ["write"]

Found: TypeAlias = "dict[str, Any]"

NAMES = {
    "plain_python": "plain Python",
    "polars": "Polars, by hand",
    "ranx": "ranx",
    "pytrec_eval": "pytrec_eval",
    "ir_measures": "ir_measures",
    "rectools": "RecTools",
    "replay": "RePlay",
    "recommenders": "Recommenders",
    "lenskit": "LensKit",
    "torchmetrics": "TorchMetrics",
    "implicit": "implicit",
    "cornac": "Cornac",
    "recbole": "RecBole",
    "warprec": "WarpRec",
    "recometrics": "recometrics",
    "faiss": "FAISS (flat)",
}
TASKS = {
    "lists": "Lists and ground truth to means",
    "factors": "Factors to means, without the items of training",
    "search": "Factors to the best ten items, nothing measured",
}
USERS = {size: f"{users:,} users" for size, users in SIZES.items()}
HEAD = (
    "",
    "values",
    "import and first call",
    "construction",
    "later call",
    "memory",
    "later call, rankwise",
)


def write(results: Path) -> None:
    """Write the tables into ``docs/benchmarks.md`` and the chart beside it."""
    found = {
        size: json.loads(path.read_text())
        for size in SIZES
        if (path := results / f"{size}.json").exists()
    }
    parts = [_size(size, measured) for size, measured in found.items()]
    write_part("benchmarks/run.py", "\n".join(parts))
    _chart(found).save(DOCS / "benchmarks.svg")


def _size(size: str, measured: Found) -> str:
    rows = measured["rows"]
    rounds = sorted({found["rounds"] for found in measured["peers"].values() if "why" not in found})
    runs = " or ".join(map(str, rounds)) + (" run" if rounds == [1] else " runs")
    said = (
        f"{rows['recs']:,} recommendations, {rows['truth']:,} rows of ground truth, "
        f"{rows['train']:,} of training, {MOVIELENS_ITEMS:,} items. Median of {runs}, "
        f"{measured['processors']} processors, Python {measured['python']}: "
        f"`python benchmarks/run.py --size {size}`."
    )
    lines = [f"### {USERS[size]}\n", f"{said}\n"]
    for task, title in TASKS.items():
        peers = {name: found for name, found in measured["peers"].items() if found["task"] == task}
        lines += [
            f"**{title}**\n",
            f"| {' | '.join(HEAD)} |",
            f"|---|{'--:|' * (len(HEAD) - 1)}",
            *(_row(name, found) for name, found in peers.items()),
            "",
        ]
    return "\n".join(lines)


def _row(name: str, found: Found) -> str:
    if "why" in found:
        return f"| {NAMES[name]} | | | | {found['why']} | | |"
    theirs, mine = found["peer"], found["rankwise"]
    start = (theirs["import"] + theirs["first call"]) / (mine["import"] + mine["first call"])
    cells = [
        f"{NAMES[name]} {found['version']}",
        str(len(found["metrics"])),
        _times(start),
        _times(found["ratio"]["construction"]),
        f"**{_times(_later(found))}**" + ("" if "later call" in theirs else " (first call)"),
        _times(found["ratio"]["memory"]),
        f"{1000 * mine.get('later call', mine['first call']):,.0f} ms",
    ]
    return f"| {' | '.join(cells)} |"


def _later(found: Found) -> float:
    """Return the ratio of later calls; of first ones where a peer took too long for more."""
    return float(found["ratio"].get("later call", found["ratio"]["first call"]))


def _times(ratio: float) -> str:
    return f"{ratio:.3g}×" if ratio < 100 else f"{ratio:,.0f}×"


def _chart(found: dict[str, Found]) -> alt.Chart:
    rows = [
        {
            "peer": NAMES[name],
            "size": USERS[size],
            "task": TASKS[each["task"]],
            "ratio": _later(each),
        }
        for size, measured in found.items()
        for name, each in measured["peers"].items()
        if "why" not in each
    ]
    frame = pl.DataFrame(rows)
    chart: alt.Chart = (
        alt.Chart(frame)
        .mark_point(filled=True, size=70, opacity=0.9)
        .encode(
            x=alt.X(
                "ratio:Q",
                scale=alt.Scale(type="log"),
                title="time of a later call over that of rankwise (1 = equal)",
            ),
            y=alt.Y("peer:N", sort=[*NAMES.values()], title=None),
            color=alt.Color(
                "size:N",
                sort=[*USERS.values()],
                title=None,
                legend=alt.Legend(orient="top"),
                scale=alt.Scale(range=["#8fb8de", "#3b7dbf", "#14375e"]),
            ),
            row=alt.Row(
                "task:N",
                sort=[*TASKS.values()],
                title=None,
                header=alt.Header(labelAngle=0, labelAlign="left", labelOrient="top"),
            ),
        )
        .resolve_scale(y="independent")
        .properties(width=520)
        .configure(background="white", font="system-ui, sans-serif")
        .configure_view(stroke=None)
    )
    return chart
