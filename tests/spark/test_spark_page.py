"""The page about Spark: its code runs, and prints what it says; the example of another engine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pages import check

pytest.importorskip("rankwise.spark")

ROOT = Path(__file__).parents[2]


def test_the_page_says_what_is_printed(spark, tmp_path):
    page = ROOT / "docs" / "spark.md"
    assert check(page, tmp_path, spark=spark) >= 5


@pytest.mark.slow
def test_ray_gives_the_same_numbers():
    pytest.importorskip("ray", reason="Ray is not installed: its example is left out")
    script = ROOT / "examples" / "evaluate_with_ray.py"
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", str(script)], capture_output=True, text=True, timeout=200
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert "ndcg@10" in ran.stdout
