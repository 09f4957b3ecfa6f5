"""The command line on Spark."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from spark_worlds import frames

import rankwise as rw
from rankwise.cli.main import cli

pytest.importorskip("rankwise.spark")


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
        cli, ["evaluate", *files, "-m", "ndcg@5", "--engine", "spark", "--buckets", "2",
                  "--save", saved]
    )  # fmt: skip
    assert ran.exit_code == 0, ran.output
    assert rw.load(saved)["ndcg@5"] == rw.evaluate(*files, "ndcg@5")["ndcg@5"]


@pytest.mark.parametrize(
    ("more", "message"),
    [(["--engine", "spark", "--chunk-rows", "10"], "whole files"),
     (["--master", "yarn"], "go with --engine spark")],
)  # fmt: skip
def test_options_that_do_not_go_together(files, more, message):
    ran = CliRunner().invoke(cli, ["evaluate", *files, *more])
    assert ran.exit_code == 2
    assert message in ran.output
