"""trec_eval 10.0 on its own sample run: the outputs that it expects of itself, rounded to four decimals.

The convention follows version 9.0.8, which pytrec_eval contains. Version 10 rounds level · R to the nearest count for
precision at levels of recall, and has an ``rbp``: these are not compared.
"""

from __future__ import annotations

import gzip
import re
import shutil
from pathlib import Path

import polars as pl
import pytest

import rankwise as rw

SAMPLES = Path(__file__).parents[3] / "shared" / "data" / "trec_eval"
pytestmark = pytest.mark.skipif(not SAMPLES.is_dir(), reason=f"the samples of trec_eval are not at {SAMPLES}")
AT_K = re.compile(r"(P|recall|ndcg_cut|map_cut|relative_P|success)_(\d+)")
ONCE = [
    "map",
    "Rprec",
    "bpref",
    "recip_rank",
    "ndcg",
    "set_P",
    "set_recall",
    "set_F",
    "num_rel_ret",
    "gm_map",
    "gm_bpref",
]


@pytest.fixture
def sources(tmp_path):
    def source(name, suffix):
        path = tmp_path / f"{name}.{suffix}"
        packed = SAMPLES / f"{name}.gz"
        path.write_bytes(gzip.decompress(packed.read_bytes())) if packed.exists() else shutil.copy(SAMPLES / name, path)
        return path

    return source


def expected(name):
    """What trec_eval printed, by topic and name."""
    out = {}
    for line in (SAMPLES / name).read_text(encoding="utf-8").splitlines():
        metric, topic, value = line.split()
        out.setdefault(topic, {})[metric] = value
    return out


def text_of(name):
    """The name of a metric in the convention; None for one that is not offered."""
    if found := AT_K.fullmatch(name):
        return f"{found[1]}@{found[2]}"
    return name if name in ONCE else None


CASES = {
    "out.test": ("results.test", "qrels.test", {}, 15),
    "out.comment.test": ("results.comment.test", "qrels.comment.test", {}, 15),
    "out.test.aq": ("results.test", "qrels.test", {}, 59),
    "out.test.aqc": ("results.trunc", "qrels.test", {"population": "judged"}, 59),
}


@pytest.mark.parametrize("output", CASES)
def test_the_outputs_that_trec_eval_expects(output, sources):
    run, qrels, options, n = CASES[output]
    topics = expected(output)
    names = {name: text for name in topics["all"] if (text := text_of(name))}
    assert len(names) == n
    parse = rw.conventions()["trec_eval"].parse
    result = rw.evaluate(
        sources(run, "run"), sources(qrels, "qrels"), list(names.values()), convention="trec_eval", **options
    )
    for name, text in names.items():
        cell = str(parse(text))
        rounded = pytest.approx(float(topics["all"][name]), abs=5.1e-5)
        assert result[cell] == rounded, name
        for topic, values in topics.items():
            if topic != "all" and cell in result.per_user.columns:
                (value,) = result.per_user.filter(pl.col("user").cast(pl.String) == topic)[cell]
                assert value == pytest.approx(float(values[name]), abs=5.1e-5), (topic, name)
