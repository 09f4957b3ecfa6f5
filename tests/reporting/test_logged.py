"""Charts and the report of policies on logged impressions."""

from __future__ import annotations

import json
import re

import polars as pl
import pytest

import rankwise as rw
from rankwise.errors import ParameterError
from rankwise.reporting.logged import clip_frame, pair_frame, value_frame, weight_frame

pytest.importorskip("altair")

HOSTILE = '<b>\'"new"</b> & 日'
LOG = rw.datasets.logged(users=400, seed=1)
FEW = rw.datasets.logged(users=12, sharpness=4.0, seed=3)


def headline(page):
    return re.search(r"<h1[^>]*>(.*?)</h1>", page, re.DOTALL)[1].strip()


@pytest.fixture(scope="module")
def result():
    return rw.off_policy(
        LOG.exposures, targets={"new": "p_new", "even": rw.policies.Uniform()}, by="segment"
    )


@pytest.fixture(scope="module")
def without():
    found = rw.off_policy(FEW.exposures, targets={"new": "p_new"})
    assert found.row("new")["support"] == "none"
    return found


def test_frames_hold_what_the_tables_hold(result):
    values = value_frame(result)
    assert values["name"].to_list() == ["logged", "new", "even"]
    assert values["value"].to_list() == [result[name] for name in ("logged", "new", "even")]
    pairs = pair_frame(result)
    assert pairs["tone"].to_list()[0] == "better"
    assert pairs["value"][0] == result.differences["difference"][0]
    clips = clip_frame(result)
    assert set(clips.filter(system="logged")["value"]) == {result["logged"]}
    last = clips.filter(system="new").sort("clip")["value"][-1]
    assert last == pytest.approx(result["new"])  # above the largest weight nothing is clipped


def test_the_weight_of_all_users_is_everything(result):
    for _, rows in weight_frame(result).group_by("system"):
        assert (rows["users"][-1], rows["weight"][-1]) == (1.0, pytest.approx(1.0))
        assert (rows["weight"] <= rows["users"] + 1e-9).all()


@pytest.mark.parametrize("name", ["values", "differences", "sensitivity", "overlap"])
@pytest.mark.parametrize("size", ["web", "column"])
def test_every_chart_is_drawn(result, name, size):
    text = json.dumps(getattr(result.plot, name)(size=size, theme="dark").to_dict())
    assert "NaN" not in text
    assert ("rankwise" in text) == (size == "web")


def test_a_log_without_support_has_no_number_in_charts_and_page(without):
    assert value_frame(without)["value"].to_list()[1] is None
    assert pair_frame(without)["value"].to_list() == [None]
    for name in ("values", "differences", "overlap"):
        getattr(without.plot, name)().to_dict()
    with pytest.raises(ParameterError, match="no target has a number"):
        without.plot.sensitivity()
    page = rw.report(without).html
    assert "The log cannot say what new would have earned" in page
    assert not re.search(r"\bnan\b", page, re.IGNORECASE)


def test_the_page_opens_with_the_verdict_and_whether_the_log_can_say_so(result):
    page = rw.report(result)
    assert page.missing == {}
    assert headline(page.html) == result.verdict
    assert "Can the log say so?" in page.html
    assert [figure.name for figure in page.figures] == [
        "logged-differences",
        "logged-sensitivity",
        "logged-overlap",
    ]
    assert len(page.html) < 300_000
    assert page.html == rw.report(result).html


def test_a_decision_leads_its_page(result):
    decision = rw.decide(result, success="reward", system="new")
    page = rw.report(result, decision=decision, title="Slot 3").html
    assert headline(page).endswith(decision.verdict)
    assert "Slot 3" in page
    with pytest.raises(ParameterError, match=r"what rankwise\.decide returns"):
        rw.report(result, decision="ship")


def test_a_report_of_lists_has_a_section_of_the_log(result):
    truth = {user: {1, 2} for user in range(40)}
    lists = {
        name: rw.evaluate({u: [1, 2 + u % k] for u in truth}, truth, "recall@2")
        for k, name in ((1, "a"), (2, "b"))
    }
    page = rw.report(lists, evidence=[result])
    assert page.missing.keys() == rw.report(lists).missing.keys()
    assert "Policies on logged impressions" in page.html
    assert "logged-sensitivity" in {figure.name for figure in page.figures}


def test_names_are_only_names():
    found = rw.off_policy(LOG.exposures, targets={HOSTILE: "p_new"})
    page = rw.report(found).html
    assert "<b>'" not in page
    assert "&lt;b&gt;" in page
    for name in ("values", "differences", "sensitivity", "overlap"):
        getattr(found.plot, name)().to_dict()


def test_charts_are_written(result, tmp_path):
    files = rw.report(result).save_assets(tmp_path)
    assert {file.suffix for file in files} == {".csv", ".svg", ".png"}
    assert pl.read_csv(tmp_path / "logged-overlap.csv").columns == ["system", "users", "weight"]


def test_facts_are_those_of_the_side_that_lacks_support_and_of_the_decided_pair(result):
    best = LOG.policies.sort("p_new", descending=True).unique(
        "segment", keep="first", maintain_order=True
    )
    weak = rw.policies.Lists(best.select("segment", "item"))
    page = rw.report(
        rw.off_policy(LOG.exposures, targets={"weak": weak, "new": "p_new"}, baseline="weak")
    ).html
    assert "Weakly" in page
    assert "No verdict on weak" in page
    decision = rw.decide(result, success="reward", system="even")
    assert "even against logged" in rw.report(result, decision=decision).html
    with pytest.raises(
        ParameterError, match="the decision is about 'even', which is no policy here"
    ):
        rw.report(rw.off_policy(LOG.exposures, targets={"new": "p_new"}), decision=decision)
