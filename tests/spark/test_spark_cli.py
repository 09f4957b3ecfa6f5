"""The command line on Spark."""

from __future__ import annotations

import json

import polars as pl
import pytest
from click.testing import CliRunner
from spark_worlds import frames

import rankwise as rw
from rankwise.cli.main import cli

pytest.importorskip("rankwise.spark")
pytestmark = pytest.mark.usefixtures("usual_plans")  # as a session is that rankwise starts


@pytest.fixture
def files(tmp_path):
    tables = frames()
    for role in ("recommendations", "truth"):
        tables[role].write_parquet(tmp_path / f"{role}.parquet")
    return [str(tmp_path / f"{role}.parquet") for role in ("recommendations", "truth")]


@pytest.mark.slow
def test_evaluate_on_spark(spark, files, tmp_path):
    saved = str(tmp_path / "out")
    ran = CliRunner().invoke(
        cli,
        [
            "evaluate",
            *files,
            "-m",
            "ndcg@5",
            "--engine",
            "spark",
            "--buckets",
            "2",
            "--save",
            saved,
        ],
    )
    assert ran.exit_code == 0, ran.output
    assert rw.load(saved)["ndcg@5"] == rw.evaluate(*files, "ndcg@5")["ndcg@5"]


@pytest.mark.slow
def test_off_policy_on_spark(spark, tmp_path):
    log = str(tmp_path / "log.parquet")
    rw.datasets.logged(users=200, seed=1).exposures.write_parquet(log)
    command = ["off-policy", log, "--target", "new=column:p_new", "--format", "json"]
    here, there = (
        CliRunner().invoke(cli, [*command, *more])
        for more in ([], ["--engine", "spark", "--buckets", "2"])
    )
    assert there.exit_code == 0, there.output
    assert json.loads(there.output)["table"] == json.loads(here.output)["table"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--engine", "spark", "--chunk-rows", "10"], "whole files"),
        (["--master", "yarn"], "need --engine spark"),
    ],
)
def test_options_that_do_not_go_together(files, more, message):
    ran = CliRunner().invoke(cli, ["evaluate", *files, *more])
    assert ran.exit_code == 2
    assert message in ran.output


@pytest.mark.slow
def test_a_configuration_runs_on_spark(spark, files, tmp_path):
    """One key moves an experiment to Spark; results and comparison stay the same to the bit."""
    other = frames()["recommendations"].with_columns(pl.col("score") * -1)
    other.write_parquet(tmp_path / "other.parquet")
    engines = {"here": "local", "there": "{name: spark, buckets: 2}"}
    for folder, engine in engines.items():
        config = tmp_path / "config.yaml"
        config.write_text(
            f"data: {{truth: truth.parquet}}\nsystems: {{a: {files[0]}, b: other.parquet}}\n"
            f"evaluation: {{metrics: [ndcg@5, recall@5]}}\nengine: {engine}\n"
            f"output: {{folder: {folder}, report: false, audit: false}}\n"
        )
        ran = CliRunner().invoke(cli, ["run", str(config)])
        assert ran.exit_code == 0, ran.output
    local, on_spark = (rw.Comparison.load(tmp_path / name) for name in engines)
    assert on_spark.table.equals(local.table, null_equal=True)
    for name in ("a", "b"):
        assert on_spark.results[name].values == local.results[name].values
