"""How time grows with the size of the work: ``python benchmarks/growth.py``.

Each line of the chart changes one size and keeps the others. On log-log axes a slope of 1 is
growth in proportion; less is better. See README.md beside this file.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import altair as alt
import polars as pl
import workload
from marked_part import DOCS, write_part
from timing import in_turns

import rankwise as rw

if TYPE_CHECKING:
    from collections.abc import Iterator

READY = 8 << 30
"""Bytes that the largest evaluations find ready: what 20 million users take."""
RESULTS = Path(__file__).parent / "results" / "growth.json"
METRICS = (
    "precision",
    "recall",
    "ndcg",
    "map",
    "mrr",
    "hit_rate",
    "f",
    "dcg",
    "rbp",
    "err",
    "ncrr",
    "arhr",
    "fallout",
    "gini",
    "catalog_coverage",
    "shannon_entropy",
)


@dataclass(frozen=True)
class Work:
    """One evaluation: how much of everything."""

    users: int = 20_000
    length: int = 20
    items: int = 100_000
    metrics: int = 6
    cutoffs: int = 1

    def seconds(self) -> float:
        """Return the median time of an evaluation."""
        rows = workload.uniform(self.users, self.length, self.items, 2 * self.users)
        steps = range(1, self.cutoffs + 1)
        at = sorted({max(1, round(self.length * step / self.cutoffs)) for step in steps})
        names = [f"{name}@{at}" for name in METRICS[: self.metrics]]
        times = 3 if self.users * self.length > 5e7 else 7
        run = lambda: rw.evaluate(rows.recs, rows.truth, names, progress=False)  # noqa: E731
        (taken,) = in_turns([run], times, memory=READY if self.users > 1_000_000 else 0)
        return statistics.median(taken)


SERIES = {
    "users": (
        Work(length=10, items=1_000_000),
        "users",
        (10_000, 100_000, 1_000_000, 5_000_000, 10_000_000, 20_000_000),
    ),
    "length of lists": (Work(items=1_000_000), "length", (10, 30, 100, 300, 1_000)),
    "items of the catalogue": (
        Work(users=100_000),
        "items",
        (10_000, 100_000, 1_000_000, 10_000_000),
    ),
    "metrics": (Work(users=100_000), "metrics", (1, 2, 4, 8, 16)),
    "cut-offs": (Work(users=100_000, length=100, items=1_000_000), "cutoffs", (1, 3, 10, 30, 100)),
}


def measure(quick: bool) -> Iterator[dict[str, float | str]]:
    """Yield the time of each size of each series."""
    for name, (work, field, sizes) in SERIES.items():
        for size in sizes:
            if quick and size > 1_000_000:
                continue
            seconds = replace(work, **{field: size}).seconds()
            print(f"{name}: {size:,}: {seconds:.3f} s", file=sys.stderr, flush=True)
            yield {"series": name, "size": size, "seconds": seconds}


def table(frame: pl.DataFrame) -> str:
    """Write the times and the slope of each series as Markdown."""
    lines = ["| what grows | from | to | time | growth | slope |", "|---|--:|--:|--:|--:|--:|"]
    for name in SERIES:
        part = frame.filter(pl.col("series") == name)
        (first, last), (start, end) = (
            (part[column][0], part[column][-1]) for column in ("size", "seconds")
        )
        slope = math.log(end / start) / math.log(last / first)
        lines.append(
            f"| {name} | {first:,} | {last:,} | {start:.3g} s → {end:.3g} s | {end / start:.3g}× | "
            f"{slope:.2f} |"
        )
    return "\n".join(lines)


def chart(frame: pl.DataFrame) -> alt.Chart:
    """Draw the times against the sizes on logarithmic axes."""
    drawn: alt.Chart = (
        alt.Chart(frame)
        .mark_line(point=True)
        .encode(
            x=alt.X(
                "size:Q", scale=alt.Scale(type="log"), title="size", axis=alt.Axis(format="~s")
            ),
            y=alt.Y("seconds:Q", scale=alt.Scale(type="log"), title="seconds"),
            color=alt.Color("series:N", sort=[*SERIES], title="what grows"),
        )
        .properties(width=520, height=320)
        .configure(background="white", font="system-ui, sans-serif")
    )
    return drawn


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure how time grows with the work.")
    parser.add_argument("--quick", action="store_true", help="up to a million; writes nothing")
    quick = parser.parse_args().quick
    found = [*measure(quick)]
    frame = pl.DataFrame(found)
    if not quick:
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")
        write_part("benchmarks/growth.py", table(frame))
        chart(frame).save(DOCS / "benchmarks-growth.svg")
    print(table(frame))


if __name__ == "__main__":
    main()
