"""The values that every metric has in the case study: ``python scripts/typical_values.py`` writes them for the pages.

``docs/typical_values.csv`` has one row per metric and system. Metrics of predicted ratings have the
values of the three means that predict ratings there; those of other scores have none, because the
scores of these models have no scale.
"""

from __future__ import annotations

import csv
import math
import runpy
import sys
import tempfile
from pathlib import Path
from typing import Any

from rankwise.metrics import registry
from rankwise.metrics.description import Description

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "movietweetings.py"
TARGET = ROOT / "docs" / "typical_values.csv"
COLUMNS = {"item_group": "decade", "user_group": "activity"}
"""The columns of the data with groups, by the parameter that names them."""
PARAMETERS = {"intra_list_diversity": "distance=jaccard", "err": "max_relevance=10"}
"""Parameters that the data need: there are no vectors of features, and ratings go up to 10."""
CELL = "[user_group=30 ratings or more,item_group=from 2010]"
"""The value of metrics that have only values of groups."""


def metrics() -> dict[str, str]:
    """Return the text that is evaluated, by the name of the metric; without those of scores on no scale."""
    texts = {}
    for cls in registry.all_metrics():
        ratings = cls.__module__.endswith(".rating") and cls.name != "classification"
        if "scores" in Description(cls).needs and not ratings:
            continue
        told = [f"{name}={column}" for name, column in COLUMNS.items() if name in cls().parameters]
        told += [PARAMETERS[cls.name]] if cls.name in PARAMETERS else []
        name = f"{cls.name}({','.join(told)})" if told else cls.name
        texts[cls.name] = name if cls.cutoff == "none" else f"{name}@10"
    return texts


def typical_values(data: Path, work: Path) -> list[dict[str, str]]:
    """Return the rows of the file."""
    example: dict[str, Any] = runpy.run_path(str(EXAMPLE))
    texts = metrics()
    rating = {
        name: text
        for name, text in texts.items()
        if "scores" in Description(registry.find(name)).needs
    }
    lists = {name: text for name, text in texts.items() if name not in rating}
    studies = (
        (lists, example["through_the_library"](data, work, [*lists.values()])),
        (rating, example["predicted_ratings"](work, [*rating.values()])),
    )
    rows = []
    for asked, results in studies:
        for system, result in sorted(results.items(), key=lambda pair: pair[0] != "random"):
            for name, metric in asked.items():
                shown = metric + CELL * registry.find(name).cells_only
                rows.append(
                    {
                        "name": name,
                        "metric": shown,
                        "system": system,
                        "value": number(result[shown]),
                    }
                )
    return sorted(rows, key=lambda row: row["name"])


def number(value: float | None) -> str:
    """Write a value in three significant digits; a dash where there is none."""
    if value is None or math.isnan(value):
        return "–"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def main(data: Path) -> None:
    """Write the file."""
    with tempfile.TemporaryDirectory() as folder:
        rows = typical_values(data, Path(folder))
    with TARGET.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ["name", "metric", "system", "value"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "../shared/data/movietweetings-100k"))
