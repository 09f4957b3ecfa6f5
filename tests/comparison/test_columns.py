"""A column of comparisons is one field of a section and what computes it: every output has it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import rankwise as rw
from rankwise.comparison.rows import COLUMNS, PairFinding, Seeds
from rankwise.findings.columns import columns_of, rows_of, table_of, values_of
from rankwise.findings.finding import Means, TestOutcome

SOURCE = Path(rw.__file__).parent
PAIR = """
    spread_baseline: float = math.nan
    spread_system: float = column(math.nan, 'spread', in_systems=' spread {}')
"""
OUTPUTS = ("json", "csv", "markdown", "latex", "text", "html", "report")
SCRIPT = """
import sys, json
from pathlib import Path
import rankwise as rw
truth = {user: {1, 2} for user in range(60)}
one = rw.evaluate({user: [1, 3] for user in truth}, truth, "recall@2")
two = rw.evaluate({user: [1, 2] if user % 3 else [1, 3] for user in truth}, truth, "recall@2")
comparison = rw.compare({"one": one, "two": two}, baseline="one")
folder = Path(sys.argv[1])
comparison.save(folder / "saved")
comparison.table.write_parquet(folder / "table.parquet")
for form in ("json", "csv", "markdown", "latex"):
    (folder / form).write_text(comparison.export(form), encoding="utf-8")
from rankwise.core.terminal import plain
(folder / "text").write_text(plain(*comparison.views_at("full")), encoding="utf-8")
(folder / "html").write_text(comparison._repr_html_(), encoding="utf-8")
(folder / "report").write_text(rw.report(comparison).html, encoding="utf-8")
print(rw.__file__, rw.Comparison.load(folder / "saved")["two"]["spread_system"])
"""


@pytest.mark.slow
def test_a_field_of_a_section_is_a_column_of_every_output(tmp_path):
    pytest.importorskip("jinja2")
    copy = tmp_path / "src"
    shutil.copytree(SOURCE, copy / "rankwise", ignore=shutil.ignore_patterns("__pycache__"))
    sections = copy / "rankwise" / "findings" / "finding.py"
    text = sections.read_text(encoding="utf-8")
    end = '    lift: float = column(math.nan, "change", change_text, leaves=5)\n'
    assert text.count(end) == 1
    sections.write_text(text.replace(end, end.rstrip("\n") + PAIR), encoding="utf-8")
    rows = copy / "rankwise" / "comparison" / "rows.py"
    text = rows.read_text(encoding="utf-8")
    computed = "means_of_pair((before, after), pairs.mean, alone, wide, 1 - alpha)"
    assert text.count(computed) == 1
    more = f"replace({computed}, spread_baseline=pairs.covariance[1, 1], spread_system=77.5)"
    rows.write_text(text.replace(computed, more), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(copy)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert str(copy) in done.stdout
    assert "77.5" in done.stdout  # saved and read again
    outputs = {name: (tmp_path / name).read_text(encoding="utf-8") for name in OUTPUTS}
    assert json.loads(outputs["json"])["pairs"][0]["spread_system"] == 77.5
    assert pl.read_parquet(tmp_path / "table.parquet")["spread_system"].to_list() == [77.5]
    assert "spread_baseline,spread_system" in outputs["csv"]
    assert all(
        "spread 78" in outputs[name] for name in ("markdown", "latex")
    )  # two significant digits
    for name in ("text", "html", "report"):
        assert "spread" in outputs[name]
        assert "77.5" in outputs[name]


def test_the_columns_are_the_fields_of_sections_in_their_order():
    row = PairFinding(metric="ndcg@3", baseline="a", system="b")
    assert list(values_of(row)) == list(COLUMNS) == list(columns_of(PairFinding))
    assert not {"limits_of", "error", "largest"} & COLUMNS.keys()
    table = table_of([row], PairFinding)
    assert dict(table.schema) == COLUMNS
    assert dict(table_of([], PairFinding).schema) == COLUMNS


def test_rows_are_read_back_from_their_table():
    rows = [
        PairFinding(
            metric="ndcg@3",
            by="country",
            group="AT",
            baseline="a",
            system="b",
            means=Means(0.25, 0.5, 0.25, low=0.125, high=0.375),
            test=TestOutcome("t", 0.5, verdict="better"),
            seeds=Seeds(3, 4),
            flags=("one", "two"),
        ),
        PairFinding(metric="mrr", baseline="a", system="c", why="no test"),
    ]
    table = table_of(rows, PairFinding)
    again = rows_of(table, PairFinding)
    assert again[0].flags == ("one", "two")
    assert (again[1].why, again[1].seeds.seeds_baseline) == ("no test", None)
    assert table_of(again, PairFinding).equals(table)


def test_a_row_without_values_is_nan_for_numbers_and_null_otherwise():
    values = values_of(PairFinding(metric="ndcg@3", baseline="a", system="b"))
    assert values["d_z"] != values["d_z"]
    assert values["wins"] is None
    assert values["verdict"] is None
    assert values["flags"] == ()
