from __future__ import annotations

import copy
import json
from collections import ChainMap
from collections.abc import Mapping

import numpy as np
import polars as pl
import pytest

import rankwise as rw
from rankwise.errors import MetricError


@pytest.fixture
def result():
    users = pl.DataFrame({"user": ["ann", "bob"], "group": ["a_1", "b<2"]})
    return rw.evaluate(
        {"ann": ["x", "y"], "bob": ["y", "z"]},
        {"ann": {"y": 2.0}, "bob": {"q": 1.0}},
        ["ndcg@[1,2]", "map(normaliser=k)@2", "rbp", "coverage@2"],
        users=users,
        by="group",
        relevance_threshold=1,
    )


def test_lookup(result):
    assert result["nDCG@2"] == result["ndcg@2"] == result[rw.NDCG() @ 2]
    with pytest.raises(rw.RankwiseError, match="did you mean 'ndcg@1'"):
        result["ndcg@10"]
    with pytest.raises(rw.RankwiseError, match="mrr@2 was not evaluated") as error:
        result["mrr@2"]
    assert error.value.hint == 'evaluate with metrics=["mrr@2"]'


def test_a_result_is_a_mapping(result):
    names = ["ndcg@1", "ndcg@2", "map(normaliser=k)@2", "rbp", "catalog_coverage@2"]
    assert isinstance(result, Mapping)
    assert list(result) == list(result.keys()) == names
    assert len(result) == 5
    assert dict(result) == dict(result.items()) == result.values
    assert list(result.values()) == [result[name] for name in names]
    for name in ("nDCG@2", rw.NDCG() @ 2):
        assert name in result
        assert result.get(name) == result["ndcg@2"]
    assert result == result
    assert result != copy.copy(result)
    assert len({result, copy.copy(result)}) == 2


@pytest.mark.parametrize(
    "name", ["ndcg@10", "nonsense", "ndcg@", "", 0, None, "reo@1[x=", "-" * 99]
)
def test_what_a_result_does_not_have(result, name):
    assert name not in result
    assert result.get(name) is None
    assert ChainMap({}, result, {name: 3})[name] == 3
    with pytest.raises(MetricError):
        result[name]


def test_save_and_load(result, tmp_path):
    back = rw.load(result.save(tmp_path / "deep" / "out"))
    assert back.values == result.values
    assert back.metrics == result.metrics
    assert back.per_user.equals(result.per_user)
    assert back.slices.equals(result.slices)
    uses = back.provenance.pop("test_set")
    assert (uses["systems"], uses["comparisons"]) == (1, 0)
    assert back.provenance == result.provenance
    assert [p.name for p in (tmp_path / "deep").iterdir()] == ["out"]


def test_provenance_says_it_all(result):
    said = result.provenance
    assert said["metrics"]["map(normaliser=k)@2"] == {
        "normaliser": "k",
        "ties": "expected",
        "without_relevant": "undefined",
    }
    assert said["metrics"]["ndcg@[1,2]"] == {
        "gain": "linear",
        "log_base": 2.0,
        "discount": "log_plus_one",
        "ideal": "relevant",
        "without_relevant": "undefined",
        "gains": "()",
    }
    assert said["settings"]["relevance_threshold"] == 1
    assert said["versions"]["rankwise"] == rw.__version__
    assert said["inputs"]["recommendations"]["rows"] == 4
    assert said["inputs"]["truth"]["columns"]["relevance"] == "relevance"


def test_exports(result):
    csv = pl.read_csv(result.export("csv").encode())
    assert csv.columns == [
        "metric",
        "k",
        "cell",
        "value",
        "users",
        "better",
        "label",
        "by",
        "group",
        "definition_of",
    ]
    assert csv["definition_of"].unique().to_list() == ["rankwise"]
    assert csv["value"][0] == result["ndcg@1"]
    assert json.loads(result.export("json"))["values"]["rbp"] == result["rbp"]
    markdown = result.export("markdown")
    head = [cell.strip() for cell in markdown.splitlines()[0].split("|")]
    assert head[:5] == ["", "metric", "@1", "@2", "whole"]
    latex = result.export("latex")
    assert r"\toprule" in latex
    assert r"a\_1" in latex
    assert r"b$<$2" in latex
    with pytest.raises(rw.RankwiseError, match="format must be one of"):
        result.export("pdf")


def test_displays(result):
    assert repr(result).splitlines()[0].split()[:4] == ["metric", "@1", "@2", "whole"]
    assert "b&lt;2" in result._repr_html_()
    assert result.scores.columns == ["metric", "k", "cell", "value", "users", "better", "label"]


def test_per_user_has_every_value_that_a_user_has(result):
    assert result.per_user.columns == [
        "user",
        "n_relevant",
        "list_length",
        "group(group)",
        "ndcg@1",
        "ndcg@2",
        "map(normaliser=k)@2",
        "rbp",
    ]
    assert np.isclose(result.per_user["rbp"].mean(), result["rbp"])
