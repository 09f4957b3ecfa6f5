"""What each stage loses: fates of relevant items, the floor and the ceiling of a ranker, sources."""

from __future__ import annotations

import json
import math
from operator import truediv

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import rankwise as rw
from command_line import rankwise_here
from rankwise.errors import EmptyError, MetricError, ParameterError
from rankwise.evidence.stages import CEILING, FINAL, FLOOR, RANKED
from strategies import with_ids

TRUTH = {"ann": {1: 3, 2: 1, 3: 2, 9: 1}, "bob": {4: 1}, "cyd": {5: 0, 6: 1}}
SOURCES = {
    "als": {"ann": [1, 2, 5], "bob": [4, 6], "cyd": [7]},
    "new": {"ann": [3, 7, 1], "bob": [8]},
}
RANKER = {"ann": [5, 1, 7, 2, 3], "bob": [4, 6, 8], "cyd": [7]}
FINALLY = {"ann": [5, 7, 1], "bob": [4, 8], "cyd": [7]}


def values(found, metric):
    return dict(found.table.filter(pl.col("metric") == metric).select("stage", "value").rows())


def shares(found):
    return dict(found.losses.filter(pl.col("by").is_null()).select("fate", "share").rows())


def test_every_relevant_item_has_one_fate():
    found = rw.stages(SOURCES, TRUTH, "recall@2", ranked=RANKER, final=FINALLY)
    rows = {row.pop("user"): row for row in found.per_user.to_dicts()}
    assert rows["ann"] == {
        "n_relevant": 4,
        "shown": 0.0,
        "never retrieved": 1 / 4,  # 9
        "ranked below 2": 2 / 4,  # 2 and 3
        "filtered": 1 / 4,  # 1
    }
    assert rows["bob"]["shown"] == 1.0
    assert rows["cyd"]["never retrieved"] == 1.0  # 6; 5 is not relevant
    assert sum(shares(found).values()) == pytest.approx(1)
    assert shares(found)["never retrieved"] == pytest.approx((1 / 4 + 1) / 3)
    assert found.losses.filter(fate="never retrieved")["users"].item() == 2


def test_the_floor_and_the_ceiling_of_a_ranker():
    found = rw.stages(SOURCES, TRUTH, ["recall@2", "ndcg@2"], ranked=RANKER, final=FINALLY)
    recalls = values(found, "recall@2")
    assert recalls[CEILING] == pytest.approx((2 / 4 + 1 + 0) / 3)  # two places of four items
    assert recalls[FLOOR] == pytest.approx((3 * 2 / 5 / 4 + 2 / 3 + 0) / 3)
    assert recalls[RANKED] == pytest.approx((1 / 4 + 1 + 0) / 3)
    assert recalls[FINAL] == pytest.approx((0 + 1 + 0) / 3)
    assert values(found, "ndcg@2")[CEILING] == pytest.approx(2 / 3)  # 3 and 2 are the best of all
    difference = rw.compare(found.results)[RANKED]
    assert difference["users"] == 3


def test_sources_alone_and_together():
    found = rw.stages(SOURCES, TRUTH, "recall@2", ranked=RANKER)
    rows = {row["source"]: row for row in found.sources.to_dicts()}
    assert rows["als"]["recall"] == pytest.approx((2 / 4 + 1 + 0) / 3)
    assert rows["als"]["alone"] == pytest.approx((1 / 4 + 1 + 0) / 3)  # 2, and bob's 4
    assert rows["new"]["alone"] == pytest.approx((1 / 4) / 3)
    assert rows["als"]["candidates"] == 2.0
    assert found.overlaps.rows() == [("als", "new", pytest.approx((1 / 5 + 0 + 0) / 3))]


def test_one_source_and_a_final_list_alone():
    found = rw.stages(SOURCES["als"], TRUTH, "recall@2", final=FINALLY)
    assert [*shares(found)] == ["shown", "never retrieved", "not shown"]
    assert found.sources["source"].to_list() == ["candidates"]
    assert found.overlaps.is_empty()
    assert found.sentences[0].startswith("The candidates lack 50 % of a user's relevant items")


def test_losses_by_group_of_users_and_by_slice_of_items():
    users = {"user": ["ann", "bob", "cyd"], "country": ["at", "at", "de"]}
    items = {"item": list(range(1, 10)), "kind": ["old"] * 5 + ["new"] * 4}
    options = {"ranked": RANKER, "users": pl.DataFrame(users), "items": pl.DataFrame(items)}
    found = rw.stages(SOURCES, TRUTH, "recall@2", by=["country", "item:kind"], **options)
    never = found.losses.filter(fate="never retrieved")
    of_groups = {(row["by"], row["group"]): row["share"] for row in never.to_dicts()}
    assert of_groups["country", "at"] == pytest.approx((1 / 4 + 0) / 2)
    assert of_groups["country", "de"] == 1.0
    assert of_groups["item:kind", "old"] == 0.0
    assert of_groups["item:kind", "new"] == 1.0


def test_a_threshold_in_single_precision_is_reached_as_in_an_evaluation():
    truth = pl.DataFrame({"user": "ann", "item": [1, 2], "relevance": [0.7, 0.6]}).cast(
        {"relevance": pl.Float32}
    )
    found = rw.stages(SOURCES, truth, "recall@2", ranked=RANKER, relevance_threshold=0.7)
    assert found.per_user["n_relevant"].to_list() == [1]


def test_graded_truth_has_a_threshold():
    found = rw.stages(SOURCES, TRUTH, "recall@2", ranked=RANKER, relevance_threshold=2)
    assert shares(found) == {"shown": 0.5, "never retrieved": 0.0, "ranked below 2": 0.5}


_LISTS = st.dictionaries(
    st.integers(0, 3), st.lists(st.integers(0, 8), min_size=1, max_size=6, unique=True), min_size=1
)


@given(with_ids(_LISTS, _LISTS, _LISTS, users=4, items=9), st.integers(1, 4))
def test_the_shares_add_up_and_agree_with_recall(world, k):
    candidates, ranked, truth = world
    truth = {user: set(items) for user, items in truth.items()}
    assume(truth.keys() & ranked.keys() and truth.keys() & candidates.keys())
    found = rw.stages({"only": pl_lists(candidates)}, truth, f"recall@{k}", ranked=ranked)
    assert sum(shares(found).values()) == pytest.approx(1)
    assert shares(found)["shown"] == pytest.approx(values(found, f"recall@{k}")[RANKED])
    recall = rw.evaluate(candidates, truth, "recall").values["recall"]
    if ranked.keys() <= candidates.keys() and all(
        set(items) <= set(candidates[user]) for user, items in ranked.items()
    ):
        assert shares(found)["never retrieved"] == pytest.approx(1 - recall)


def test_shares_of_sources_do_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(3)
    pairs = [(user, item) for user in range(40) for item in rng.permutation(9)[:5].tolist()]
    of_source = {"old": pairs[::2], "new": pairs[1::3]}
    schema = {"user": pl.Int64, "item": pl.Int64}
    tables = {name: pl.DataFrame(rows, schema, orient="row") for name, rows in of_source.items()}
    truth = pl.DataFrame(pairs[::5], schema, orient="row")
    ranked = tables["old"].with_columns(rank=pl.int_range(1, pl.len() + 1).over("user"))
    shares = {"both": [], "either": []}
    for user in range(40):
        old, new = ({item for u, item in rows if u == user} for rows in of_source.values())
        shares["both"].append(len(old & new))
        shares["either"].append(len(old | new))
    expected = math.fsum(map(truediv, shares["both"], shares["either"])) / 40
    said = set()
    for seed in range(5):
        turned = {
            name: own.sample(fraction=1, shuffle=True, seed=seed) for name, own in tables.items()
        }
        found = rw.stages(turned, truth.sample(fraction=1, shuffle=True, seed=seed), ranked=ranked)
        assert found.overlaps["share"].item() == expected
        said.add(repr(found.sources.rows()))
    assert len(said) == 1


@pytest.mark.parametrize("items", [[2**63 - 1, 5], [-(2**63), 2**63 - 1], [0, 1], ["a", "~"]])
def test_a_fate_of_no_item_is_told_beside_any_ids(items):
    lists, truth = {1: items}, {1: {items[0]}}
    found = rw.stages(pl_lists(lists), truth, "recall@1", ranked=lists)
    assert shares(found) == {"shown": 1.0, "never retrieved": 0.0, "ranked below 1": 0.0}


def pl_lists(lists):
    """Return lists as a table: a mapping of mappings would be several sources."""
    return pl.DataFrame({"user": [*lists], "items": [*lists.values()]})


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, ParameterError, "candidates alone have one stage"),
        ({"ranked": RANKER, "metrics": "mrr"}, MetricError, "with a cut-off"),
        ({"ranked": RANKER, "metrics": "coverage@2"}, MetricError, "with a cut-off"),
        ({"ranked": RANKER, "same": {1: 2}}, ParameterError, "by its id"),
        ({"ranked": RANKER, "alternatives": "fact"}, ParameterError, "by its id"),
        ({"ranked": RANKER, "ties": "input"}, ParameterError, "stages set ties themselves"),
        ({"ranked": RANKER, "relevance_threshold": 9}, EmptyError, "no item is relevant"),
    ],
)
def test_what_cannot_be_told_apart_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        rw.stages(SOURCES, TRUTH, **{"metrics": "recall@2", **options})


def test_the_command_and_the_configuration_agree_with_python(tmp_path):
    for name, lists in (("als", SOURCES["als"]), ("new", SOURCES["new"]), ("ranked", RANKER)):
        rows = [(u, i, r) for u, own in lists.items() for r, i in enumerate(own, 1)]
        frame = pl.DataFrame(rows, schema=["user", "item", "rank"], orient="row")
        frame.write_csv(tmp_path / f"{name}.csv")
    rows = [(u, i, r) for u, own in TRUTH.items() for i, r in own.items()]
    pl.DataFrame(rows, schema=["user", "item", "relevance"], orient="row").write_csv(
        tmp_path / "truth.csv"
    )
    expected = rw.stages(SOURCES, TRUTH, "recall@2", ranked=RANKER)
    done = rankwise_here(
        tmp_path,
        *("stages", "als=als.csv", "new=new.csv", "--truth", "truth.csv"),
        *("--ranked", "ranked.csv", "-m", "recall@2", "--format", "json"),
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["losses"] == expected.to_dict()["losses"]

    (tmp_path / "run.yaml").write_text(
        "data: {truth: truth.csv}\n"
        "systems: {ranked: ranked.csv}\n"
        "evaluation: {metrics: [recall@2]}\n"
        "stages:\n"
        "  sources: {als: als.csv, new: new.csv}\n"
        "  ranked: ranked.csv\n"
        "  metrics: [recall@2]\n"
        "output: {folder: out}\n"
    )
    done = rankwise_here(tmp_path, "run", "run.yaml")
    assert done.returncode == 0, done.stderr
    again = json.loads((tmp_path / "out" / "stages.json").read_text())
    assert again["losses"] == expected.to_dict()["losses"]
    done = rankwise_here(tmp_path / "out", "run", "config.yaml")  # which names the files from there
    assert done.returncode == 0, done.stderr
    again = json.loads((tmp_path / "out" / "rerun" / "stages.json").read_text())
    assert again["losses"] == expected.to_dict()["losses"]


def test_stages_are_saved_and_read(tmp_path):
    found = rw.stages(SOURCES, TRUTH, "recall@2", ranked=RANKER)
    again = rw.load(found.save(tmp_path / "stages"))
    assert again.to_dict() == found.to_dict()
    assert again.per_user.equals(found.per_user)
    assert again.sentences == found.sentences
    assert again.results == {}


@pytest.mark.parametrize("name", ["convention", "exclude_seen", "relevance", "order_by"])
def test_options_that_would_follow_other_items_are_refused(name):
    with pytest.raises(ParameterError, match=f"stages do not take {name}"):
        rw.stages({"a": {1: [1]}}, {1: {1}}, "recall@1", ranked={1: [1]}, **{name: "recbole"})


def test_lists_of_requests_are_refused():
    lists = pl.DataFrame({"user": [1, 1], "request_id": [1, 2], "item": [5, 6], "rank": [1, 1]})
    with pytest.raises(ParameterError, match="stages are of users, and lists have requests"):
        rw.stages({"a": lists}, {1: {5}}, "recall@1", ranked=lists)


def test_ties_at_the_cutoff_are_said():
    sources, truth = {"a": {"u": [1, 2], "v": [3]}}, {"u": {2}, "v": {3}}
    tied = {"u": {1: 0.5, 2: 0.5}, "v": {3: 0.5, 4: 0.2}}
    found = rw.stages(sources, truth, "recall@1", ranked=tied)
    assert "Scores tie at the cut-off for 1 user" in " ".join(found.sentences)
    apart = {"u": {1: 0.5, 2: 0.4}, "v": {3: 0.5, 4: 0.2}}
    assert "tie" not in " ".join(rw.stages(sources, truth, "recall@1", ranked=apart).sentences)


def test_items_that_no_source_has_may_be_shown():
    lists, truth = {"ann": [1], "bob": [5]}, {"ann": {9}, "bob": {8}}
    final = {"ann": [9, 1], "bob": [8, 5]}
    found = rw.stages({"als": lists}, truth, "recall@2", ranked=lists, final=final)
    said = " ".join(found.sentences)
    assert "The candidates lack 100 % of a user's relevant items" in said
    assert "100 % are shown though no source has them" in said
    assert "of at most" not in said
    usual = rw.stages({"als": lists}, truth, "recall@2", ranked=lists)
    assert "of at most 0 with these candidates" in " ".join(usual.sentences)


def test_integers_of_several_widths_are_one_kind_of_id():
    wide = pl.DataFrame({"user": [1, 1, 2, 2], "item": [1, 5, 3, 4]})
    items = pl.DataFrame({"item": [1, 2, 3, 4, 5], "age": ["o", "n", "o", "n", "n"]})
    ranked, truth = {1: [1, 5], 2: [4, 3]}, {1: {1, 2}, 2: {3}}
    shares = [
        rw.stages({"als": lists}, truth, "recall@1", ranked=ranked, items=items, by="item:age")
        .losses["share"]
        .to_list()
        for lists in (wide, wide.with_columns(pl.col("item").cast(pl.Int32)))
    ]
    assert shares[0] == shares[1]
