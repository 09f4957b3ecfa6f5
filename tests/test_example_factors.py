"""The example of a factor model runs, and its parts agree with one another."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[1] / "examples" / "factors.py"


@pytest.mark.deep  # each of its parts always runs, in tests of ranks, factors and samples
def test_it_runs_and_agrees_with_itself(capsys):
    found = runpy.run_path(str(EXAMPLE))["main"]()
    assert found["model"]["ndcg@10"] == pytest.approx(found["factors"]["ndcg@10"], abs=1e-6)
    assert found["ranks"]["ndcg@10"] == pytest.approx(found["factors"]["ndcg@10"], rel=1e-12)
    assert found["sampled"]["ndcg@10"] > 2 * found["ranks"]["ndcg@10"]
    assert found["debiased factors"]["ndcg@10"] == found["factors"]["ndcg@10"]
    said = capsys.readouterr().out
    assert "sampled results do not compare with exact ones" in said
    assert found["model"].counts["users_model_failed_for"] == 1
