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


def write(results: Path) -> None:
    """Write the tables into ``docs/benchmarks.md`` and the chart beside it."""
    found = {
        size: json.loads(path.read_text())
        for size in SIZES
        if (path := results / f"{size}.json").exists()
    }
    write_part("benchmarks/run.py", tables(found))
    _chart(found).save(DOCS / "benchmarks.svg")


def tables(found: dict[str, Found]) -> str:
    """Return the conditions, and a table of each task with one row per peer."""
    head = ["", "values", *(USERS[size] for size in found)]
    largest = [*found][-1]
    head += ["first call", "construction", "memory"]
    lines = ["| data | recommendations | ground truth | training | items | command | median of |"]
    lines += [f"|---|{'--:|' * 4}---|---|", *(_conditions(*size) for size in found.items()), ""]
    for task, title in TASKS.items():
        names = [name for name, each in found[largest]["peers"].items() if each["task"] == task]
        lines += [f"**{title}**\n", f"| {' | '.join(head)} |", f"|---|{'--:|' * (len(head) - 1)}"]
        lines += [
            _row(name, [measured["peers"].get(name) for measured in found.values()])
            for name in names
        ]
        lines += [_own_row(task, [*found.values()]), ""]
    return "\n".join(lines)


def _conditions(size: str, measured: Found) -> str:
    """Return the row of a size: its data, and how it was measured."""
    rows = measured["rows"]
    rounds = sorted({found["rounds"] for found in measured["peers"].values() if "why" not in found})
    counts = (rows["recs"], rows["truth"], rows["train"], MOVIELENS_ITEMS)
    runs = " or ".join(map(str, rounds)) + (" run" if rounds == [1] else " runs")
    cells = [USERS[size], *(f"{count:,}" for count in counts), f"`run.py --size {size}`", runs]
    return f"| {' | '.join(cells)} |"


def _row(name: str, by_size: list[Found | None]) -> str:
    """Return the row of a peer: later calls by size, and what the largest size took besides."""
    last = by_size[-1]
    assert last is not None  # the names are those of the largest size
    if "why" in last:
        return f"| {NAMES[name]} | {last['why']} |"
    theirs, mine = last["peer"], last["rankwise"]
    start = (theirs["import"] + theirs["first call"]) / (mine["import"] + mine["first call"])
    cells = [
        f"{NAMES[name]} {last['version']}",
        str(len(last["metrics"])),
        *map(_later_cell, by_size),
        _times(start),
        _times(last["ratio"]["construction"]),
        _times(last["ratio"]["memory"]),
    ]
    return f"| {' | '.join(cells)} |"


def _later_cell(found: Found | None) -> str:
    """Return the ratio of later calls, marked if it is that of first ones; nothing if it was not measured."""
    if found is None or "why" in found:
        return ""
    return _times(_later(found)) + ("" if "later call" in found["peer"] else " first")


def _own_row(task: str, by_size: list[Found]) -> str:
    """Return the row of rankwise: the shortest and the longest of its later calls beside the peers."""
    cells = ["rankwise", ""]
    for measured in by_size:
        own = [
            found["rankwise"]
            for found in measured["peers"].values()
            if found["task"] == task and "why" not in found
        ]
        times = sorted(1000 * times.get("later call", times["first call"]) for times in own)
        ends = dict.fromkeys(f"{time:,.0f}" for time in (times[0], times[-1]))
        cells.append(f"{' to '.join(ends)} ms")
    return f"| {' | '.join([*cells, '', '', ''])} |"


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
