"""Two executors in processes of their own, whose workers are killed while they evaluate."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("rankwise.spark")


@pytest.mark.deep
@pytest.mark.skipif(sys.platform == "win32", reason="kills processes as POSIX does")
def test_two_executors_and_what_kills_them(jvm, tmp_path):
    import pyspark

    here = Path(__file__).parent
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(here), *sys.path]),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_WORKER_DIR": str(tmp_path / "workers"),
        "POLARS_MAX_THREADS": "1",
    }
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", str(here / "cluster.py"), str(tmp_path)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=280,
        cwd=tmp_path,
    )
    lines = [line for line in ran.stdout.splitlines() if line.startswith("{")]
    assert lines, ran.stderr[-4000:]
    assert json.loads(lines[-1]) == {
        "two executors": True,
        "executors": 2,
        "worker killed": True,
        "executor killed": True,
        "wide": True,
    }
