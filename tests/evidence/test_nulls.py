"""How much is personal: golden values, rankings that are not, shortcuts, every road, what is refused."""

from __future__ import annotations

import json
import math

import numpy as np
import polars as pl
import pytest

import rankwise as rw
from command_line import rankwise_here
from golden_cases import golden_cases
from rankwise import splits
from rankwise.errors import MetricError, ParameterError
from rankwise.evidence.nulls import OWN, SWAP, _partners
from rankwise.models import ItemNeighbours, Popularity, Random, Transitions


def golden():
    return golden_cases(
        "noise", lambda case: case["part"] == "C" and case["name"].startswith("swapped")
    )


def rows_of(pairs, names=("user", "item")):
    return pl.DataFrame(list(pairs), schema=[*names], orient="row")


def swap_of(found):
    return found.table.filter(pl.col("null") == SWAP).row(0, named=True)


@pytest.mark.parametrize("case", golden())
def test_golden_values_of_another_users_list(case):
    given, expected = case["input"], case["expected"]
    train = rows_of((u, item) for u, own in given["seen"].items() for item in own)
    truth = {user: set(items) for user, items in given["truth"].items()}
    metric = f"{given['metric']}@{given['k']}"
    found = rw.nulls(given["lists"], truth, metric, train=train, baselines=[], others=100)
    row = swap_of(found)
    assert row["users"] == expected["users"]
    assert (row["of_system"], row["value"], row["difference"]) == pytest.approx(
        (expected["value"], expected["permuted"], expected["personal"])
    )
    quantile = {6: 2.5705818356363146, 7: 2.4469118511449692}[row["users"]]
    assert row["high"] - row["low"] == pytest.approx(2 * quantile * expected["se"])


def world(n=400, taste=0.6, seed=0):
    """Users of eight tastes with sixty items: training rows, and one test item each."""
    rng = np.random.default_rng(seed)
    weights = np.arange(1, 61.0) ** -0.8
    rows = []
    for user in range(n):
        own = weights.copy()
        own[user % 8 :: 8] *= 1 + 12 * taste
        items = rng.choice(60, 9, replace=False, p=own / own.sum())
        rows += [(user, int(item), 10**9 + 10**4 * at) for at, item in enumerate(items)]
    table = rows_of(rows, ("user", "item", "timestamp"))
    last = pl.col("timestamp") == pl.col("timestamp").max().over("user")
    return table.filter(~last), table.filter(last)


TRAIN, TEST = world()
USERS = TEST["user"].to_list()


def test_no_ranking_of_items_is_personal():
    """Popularity without seen items, and any other order of items: 0 for every user."""
    for model in (Popularity(), Popularity(last="1d")):
        lists = model.fit(TRAIN).recommend(USERS, 10)
        row = swap_of(rw.nulls(lists, TEST, "ndcg@10", train=TRAIN, baselines=[], others=6))
        assert (row["difference"], row["p"]) == (pytest.approx(0, abs=1e-12), 1.0)
        assert row["verdict"] == "no value changes"
    plain = swap_of(rw.nulls(lists, TEST, "ndcg@10", baselines=[], others=6))
    assert plain["difference"] > 0.001  # where seen items are not known, their removal counts


def test_neighbours_are_personal():
    lists = ItemNeighbours().fit(TRAIN).recommend(USERS, 10)
    found = rw.nulls(lists, TEST, "ndcg@10", train=TRAIN, baselines=["popularity", "random"])
    row = swap_of(found)
    assert row["verdict"] == "personal"
    assert 0.1 < row["share_low"] < row["share"] < row["share_high"] < 0.9
    assert row["share"] == pytest.approx(row["difference"] / row["of_system"])
    text = " ".join(repr(found).split())
    assert "of this system's ndcg@10 is personal (" in text
    assert "Another user's list, on items new to both:" in text
    nulls = found.table["null"].to_list()
    assert nulls == [SWAP, OWN, "popularity", "random"]
    own = rw.compare(
        {
            "random": rw.evaluate(Random().fit(TRAIN).recommend(USERS, 10), TEST, "ndcg@10"),
            "system": rw.evaluate(lists, TEST, "ndcg@10"),
        },
        missing="zero",
    )
    beside = found.table.filter(pl.col("null") == "random").row(0, named=True)
    assert beside["difference"] == pytest.approx(own["system"]["difference"])


def test_random_lists_are_not_personal():
    rng = np.random.default_rng(1)
    lists = {user: rng.permutation(60)[:10].tolist() for user in USERS}
    found = rw.nulls(lists, TEST, "ndcg@10", train=TRAIN, baselines=["random"])
    assert swap_of(found)["verdict"] == "not shown to be personal"
    assert "is not shown to be personal (400 users;" in repr(found)


def test_transitions_and_recent_popularity():
    split = splits.LeaveOut(1, "last").split(pl.concat([TRAIN, TEST]))
    lists = ItemNeighbours().fit(split.train).recommend(USERS, 10)
    shortcuts = ["popularity", "recent", "transitions", "random"]
    found = rw.nulls({"nb": lists}, split, "recall@5", baselines=shortcuts, window="2d", others=3)
    assert found.table["null"].to_list()[2:] == [
        "popularity",
        "popularity of the last 2 days",
        "transitions from the last item",
        "random",
    ]
    model = Transitions().fit(split.train)
    values = rw.evaluate(model.recommend(USERS, 5), split.test, "recall@5")
    row = found.table.filter(pl.col("null") == "transitions from the last item")
    assert row["value"][0] == pytest.approx(values["recall@5"])


def test_baselines_in_time_by_hand():
    rows = [(1, "a", 0), (1, "b", 100), (2, "a", 10), (2, "b", 110), (3, "c", 200), (4, "a", 5)]
    day = 86_400
    table = rows_of([(u, i, 10**9 + day * t) for u, i, t in rows], ("user", "item", "timestamp"))
    following = Transitions().fit(table)
    assert following.recommend([4], 3)["item"].to_list() == ["b", "c"]  # b came after a twice
    recent = Popularity(last="95d").fit(table)
    assert recent.recommend([9], 3)["item"].to_list() == ["b", "c", "a"]
    assert Popularity().fit(table).recommend([9], 3)["item"].to_list() == ["a", "b", "c"]
    shuffled = Transitions().fit(table.sample(fraction=1.0, shuffle=True, seed=1))
    assert shuffled.recommend([4], 3)["item"].to_list() == ["b", "c"]
    untimed = Transitions().fit(table.drop("timestamp"))
    assert untimed.recommend([4], 3)["item"].to_list() == ["b", "c"]
    with pytest.raises(ParameterError, match="last"):
        Popularity(last="often")


def test_transitions_of_validation_are_not_learnt_but_last_items_are_known():
    rows = [(user, item, 10**9 + at) for user in range(4) for at, item in enumerate("abc")]
    rows += [(8, item, 10**9 + at) for at, item in enumerate("bacd")]
    rows += [(9, item, 10**9 + at) for at, item in enumerate("cadb")]
    table = rows_of(rows, ("user", "item", "timestamp"))
    rule = splits.LeaveOut(1, "last", validation=splits.LeaveOut(1, "last"))
    split = rule.split(table)
    model = Transitions().fit(split)
    bare = Transitions().fit(split.train)
    assert model._next.sum() == 2  # b to a, and c to a, in training
    assert (model._next.toarray() == bare._next.toarray()).all()
    known = model._items.to_list()
    users = model._users.frame["user"].to_list()
    assert known[model._last[users.index(0)]] == "b"  # the validation row of user 0
    assert bare._items.to_list()[bare._last[users.index(0)]] == "a"


def test_partners_give_and_receive_equally_often():
    shifts = list(_partners(7, 100, 0))
    assert len(shifts) == 6
    for partner in shifts:
        assert sorted(partner.tolist()) == [*range(7)]
        assert not (partner == np.arange(7)).any()
    pairs = {pair for partner in shifts for pair in enumerate(partner.tolist())}
    assert len(pairs) == 7 * 6
    some = list(_partners(50, 4, 0))
    assert len(some) == 4


def test_few_users_have_no_share():
    truth = {user: {user % 3} for user in range(12)}
    lists = {user: [user % 3, 7] for user in truth}
    found = rw.nulls(lists, truth, "ndcg@2", baselines=[])
    row = swap_of(found)
    assert math.isnan(row["share"])
    assert "is not shown (12 users)" in repr(found)
    assert "Items that users had seen are not known" in " ".join(repr(found).split())


@pytest.mark.slow
def test_a_value_without_taste_is_rarely_called_personal():
    """Lists drawn by popularity, the user ignored: nominal 0.025, in 24 samples 0.6 are expected."""
    rng = np.random.default_rng(0)
    called = 0
    for seed in range(24):
        train, test = world(120, taste=0.0, seed=seed)
        weights = np.arange(1, 61.0) ** -0.8
        lists = {
            user: rng.choice(60, 10, replace=False, p=weights / weights.sum()).tolist()
            for user in test["user"].to_list()
        }
        found = rw.nulls(lists, test, "ndcg@10", train=train, baselines=[], others=5, seed=seed)
        called += swap_of(found)["verdict"] == "personal"
    assert called <= 3


def test_nulls_that_are_refused():
    lists = {user: [1, 2] for user in USERS}
    for options, said in (
        ({"baselines": ["best"]}, "baselines"),
        ({}, "fitted to training interactions"),
        ({"baselines": ["random"]}, "fitted to training interactions"),
        ({"others": 0}, "others"),
        ({"seed": -1}, "seed"),
        ({"confidence": 1.5}, "confidence"),
        ({"baselines": [], "window": "soon"}, "window is a length of time"),
        ({"baselines": [], "items": [1]}, "nulls do not take items"),
    ):
        with pytest.raises(ParameterError, match=said):
            rw.nulls(lists, TEST, "ndcg@2", **options)
    for metric, said in (
        ("ndcg@[2,5]", "one cut-off"),
        ("catalog_coverage@2", "not a mean over users"),
        ("fallout@2", "higher is better"),
        ("novelty@2", "with no other table"),
        ("num_retrieved@2", "with no other table"),
    ):
        with pytest.raises(MetricError, match=said):
            rw.nulls(lists, TEST, metric, baselines=[])


def test_scores_of_users_are_no_systems():
    truth = {user: {user % 5} for user in range(40)}
    scored = {user: {user % 5: 2.5, (user + 1) % 5: 1.5} for user in truth}
    alone = rw.nulls(scored, truth, "ndcg@2", baselines=[])
    assert alone.table["system"].unique().to_list() == ["system"]
    named = rw.nulls({"system": scored}, truth, "ndcg@2", baselines=[])
    assert named.table.equals(alone.table)
    mixed = {user: {user % 5: 2, (user + 1) % 5: 1.5} for user in truth}
    assert rw.nulls(mixed, truth, "ndcg@2", baselines=[]).table.equals(alone.table)
    ranks = {user: {user % 5: 2, (user + 1) % 5: 1} for user in truth}
    with pytest.raises(ParameterError, match="the scores of each user's items, or one item"):
        rw.nulls(ranks, truth, "ndcg@2", baselines=[])


def test_saved_exported_and_the_command_line(tmp_path):
    split = splits.LeaveOut(1, "last").split(pl.concat([TRAIN, TEST]))
    split.save(tmp_path / "split", format="csv")
    lists = ItemNeighbours().fit(split.train).recommend(USERS, 10)
    lists.write_csv(tmp_path / "nb.csv")
    found = rw.nulls(lists, split, "recall@5", baselines=["popularity"], others=3)
    assert rw.load(found.save(tmp_path / "nulls")).to_dict() == found.to_dict()
    for form in ("json", "csv", "markdown", "latex"):
        assert "popularity" in found.export(form)
    options = ("-m", "recall@5", "--baseline", "popularity", "--others", "3", "--format", "json")
    done = rankwise_here(tmp_path, "nulls", "nb.csv", "--truth", "split", *options)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["table"]
    assert [row["difference"] for row in rows] == pytest.approx(found.table["difference"].to_list())
    text = "data: {truth: split}\nsystems: {nb: nb.csv}\nevaluation: {metrics: recall@5}\n"
    text += "nulls: {metric: recall@5, baselines: [popularity], others: 3}\n"
    text += "output: {report: false}\n"
    (tmp_path / "config.yaml").write_text(text, encoding="utf-8")
    ran = rankwise_here(tmp_path, "run", "config.yaml")
    assert ran.returncode == 0, ran.stderr
    saved = json.loads((tmp_path / "rankwise-results" / "nulls.json").read_text())["table"]
    assert [row["value"] for row in saved] == pytest.approx(found.table["value"].to_list())


def test_lists_that_change_no_value_are_not_said_to_be_the_same():
    truth = {user: {0} for user in range(40)}
    apart = {user: [1000 + 10 * user, 1001 + 10 * user] for user in truth}
    missed = rw.nulls(apart, truth, "ndcg@2", baselines=[]).sentences[0]
    assert missed.endswith("with another user's list no list has a relevant item.")
    first = {user: [0, 1 + user] for user in truth}
    alike = rw.nulls(first, truth, "ndcg@2", baselines=[])
    assert alike.sentences[0].endswith("with another user's list no user's value changes.")
    assert swap_of(alike)["verdict"] == "no value changes"
