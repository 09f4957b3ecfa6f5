"""Real ratings end to end: the library and the command line agree, and the numbers make sense."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from rankwise.io.tables import read_table
from rankwise.splits.filters import k_core

EXAMPLE = Path(__file__).parents[1] / "examples" / "movietweetings.py"


def test_the_core_has_the_known_size(movietweetings):
    ratings = read_table(movietweetings / "ratings.dat", "truth").frame
    assert ratings["item"].str.contains("^0").any()  # leading zeros kept
    core = k_core(ratings, 5)
    assert (len(core), core["user"].n_unique(), core["item"].n_unique()) == (68_055, 4_333, 2_414)


def test_library_and_command_line(movietweetings, tmp_path):
    example = runpy.run_path(str(EXAMPLE))
    results = example["through_the_library"](movietweetings, tmp_path)
    for name, result in results.items():
        assert example["through_the_command_line"](tmp_path, name) == result.values
    ndcg = {name: result["ndcg@10"] for name, result in results.items()}
    assert ndcg["random"] < ndcg["popularity"]
    assert ndcg["random"] < 0.01
    assert results["random"]["gini@10"] < results["popularity"]["gini@10"]
    pieces = example["rw"].evaluate(
        tmp_path / "neighbours.parquet",
        tmp_path / "test.parquet",
        example["MEASURES"],
        train=tmp_path / "train.parquet",
        relevance_threshold=8,
        chunk_rows=1000,
    )
    assert pieces.values == results["neighbours"].values
    assert pieces.counts == pytest.approx(results["neighbours"].counts)
