"""Real ratings end to end: the library and the command line agree, and the numbers make sense."""

from __future__ import annotations

import csv
import runpy
from pathlib import Path

import pytest

import rankwise as rw
from rankwise.splits import KCore
from rankwise.tables.read import read_table

pytestmark = pytest.mark.xdist_group("movietweetings")

EXAMPLE = Path(__file__).parents[1] / "examples" / "movietweetings.py"


def test_the_core_has_the_known_size(movietweetings):
    ratings = read_table(movietweetings / "ratings.dat", "truth").frame
    assert ratings["item"].str.contains("^0").any()  # leading zeros kept
    core = KCore(5).apply(ratings)
    assert (len(core), core["user"].n_unique(), core["item"].n_unique()) == (68_055, 4_333, 2_414)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("example")


@pytest.fixture(scope="module")
def evaluated(movietweetings, folder):
    example = runpy.run_path(str(EXAMPLE))
    return example, example["through_the_library"](movietweetings, folder)


@pytest.mark.slow
def test_library_and_command_line(evaluated, folder):
    example, results = evaluated
    for name, result in results.items():
        assert example["through_the_command_line"](folder, name) == result.to_dict()["values"]


@pytest.mark.slow
def test_the_baselines_are_in_order(evaluated):
    _, results = evaluated
    ndcg = {name: result["ndcg@10"] for name, result in results.items()}
    assert ndcg["random"] < ndcg["popularity"]
    assert ndcg["random"] < 0.01
    assert results["random"]["gini@10"] < results["popularity"]["gini@10"]
    assert results["random"]["gauc"] == pytest.approx(0.5, abs=0.001)
    assert results["popularity"]["unexpectedness@10"] == 0
    assert results["popularity"]["aplt@10"] == 0
    head, tail = results["random"].table("pop_rsp@10")["value"]
    assert head == pytest.approx(tail, rel=0.02)


@pytest.mark.slow
def test_pieces_give_the_same_bits(evaluated, folder):
    example, results = evaluated
    kinds = {kind: folder / f"{kind}.parquet" for kind in ("train", "items", "users")}
    pieces = rw.evaluate(
        folder / "neighbours.parquet",
        folder / "test.parquet",
        example["METRICS"],
        reference=folder / "popularity.parquet",
        relevance_threshold=8,
        chunk_rows=1000,
        **kinds,
    )
    whole = results["neighbours"]
    assert pieces.to_dict()["values"] == whole.to_dict()["values"]
    assert pieces.counts == whole.counts
    assert pieces.diagnostics == whole.diagnostics


@pytest.mark.slow
def test_the_table_in_the_documentation(evaluated, folder):
    example, results = evaluated
    table = example["report"](results, example["predicted_ratings"](folder))
    page = (EXAMPLE.parents[1] / "docs" / "movietweetings.md").read_text(encoding="utf-8")
    assert page.split("```text\n")[1].split("\n```")[0] == table
    said = page.split("## Reading it")[1]
    for line in example["leads"](results).splitlines():
        lead, half = line.split()[1::2]
        assert f"{lead.lstrip('-')} ± {half}" in said, line


@pytest.mark.slow
def test_typical_values_of_every_metric(movietweetings, tmp_path):
    program = runpy.run_path(str(EXAMPLE.parents[1] / "scripts" / "typical_values.py"))
    with program["TARGET"].open(encoding="utf-8", newline="") as file:
        assert program["typical_values"](movietweetings, tmp_path) == [*csv.DictReader(file)]
