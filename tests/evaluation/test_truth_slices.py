"""Slices of relevant items, and grades of events: the ground truth is restricted, lists stay as they are."""

from __future__ import annotations

import datetime as dt
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from command_line import rankwise_here
from rankwise.errors import ColumnError, EmptyError, MetricError, ParameterError

ITEMS = pl.DataFrame(
    {
        "item": range(6),
        "genre": [["a"], ["a", "b"], [], ["b"], None, ["a"]],
        "price": [1.0, 5.0, 7.0, 20.0, 3.0, None],
    }
)
LISTS = {"ann": [0, 1, 2], "bob": [3, 4, 5], "cyd": [1, 5, 0]}
TRUTH = {"ann": {0, 2}, "bob": {3, 1}, "cyd": {5}}
TRAIN = {"ann": [1, 2], "bob": [1, 3], "cyd": [1, 0], "dan": [3]}


def slices(result, by):
    rows = result.slices.filter(pl.col("by") == by)
    return dict(rows.select("group", "recall@3").rows())


def of_truth(keep):
    return rw.evaluate(
        LISTS, {u: {i for i in own if keep(u, i)} for u, own in TRUTH.items()}, "recall@3"
    )["recall@3"]


def test_a_slice_restricts_the_ground_truth():
    result = rw.evaluate(LISTS, TRUTH, "recall@3", items=ITEMS, by="item:genre")
    assert slices(result, "item:genre") == {
        "a": of_truth(lambda _, i: i in (0, 1, 5)),
        "b": of_truth(lambda _, i: i in (1, 3)),
        None: of_truth(lambda _, i: i in (2, 4)),
    }
    assert result.slices["users"].to_list() == [3, 1, 1]
    # Of nine recommended items five have genre a (0, 1; 5; 1, 5, 0 less one), counted one by one.
    recommended = [i for own in LISTS.values() for i in own]
    expected = [sum(i in inside for i in recommended) / 9 for inside in ((0, 1, 5), (1, 3), (2, 4))]
    assert result.slices["recommended_share"].to_list() == pytest.approx(expected)


def test_numbers_are_cut_at_edges_and_many_into_quarters():
    result = rw.evaluate(LISTS, TRUTH, "recall@3", items=ITEMS, by="item:price[5,10]")
    assert slices(result, "item:price[5,10]") == {
        "below 5": of_truth(lambda _, i: i in (0, 4)),
        "5 to 10": of_truth(lambda _, i: i in (1, 2)),
        "10 and above": of_truth(lambda _, i: i == 3),
        None: of_truth(lambda _, i: i == 5),
    }
    lists, truth = {u: range(40) for u in range(40)}, {u: {u} for u in range(40)}
    priced = {"item": range(40), "price": [float(i) for i in range(40)]}
    many = rw.evaluate(lists, truth, "recall@40", items=priced, by="item:price")
    assert many.slices["group"].to_list() == [
        "below 9.75",
        "9.75 to 19.5",
        "19.5 to 29.25",
        "29.25 and above",
    ]
    assert many.slices["users"].to_list() == [10] * 4


@pytest.mark.parametrize(("numbers", "groups"), [(10, 10), (11, 4)])
def test_up_to_ten_distinct_numbers_are_groups_and_more_are_cut(numbers, groups):
    lists, truth = {u: range(40) for u in range(40)}, {u: {u} for u in range(40)}
    priced = {"item": range(40), "price": [i % numbers for i in range(40)]}
    result = rw.evaluate(lists, truth, "recall@40", items=priced, by="item:price")
    assert result.slices["group"].n_unique() == groups


def test_slices_by_training():
    by = ["item:popularity", "item:cold", "repeat"]
    result = rw.evaluate(LISTS, TRUTH, "recall@3", train=TRAIN, by=by)
    # Training users: item 1 has three, item 3 two, items 2 and 0 one each, of seven in all.
    assert slices(result, "item:popularity") == pytest.approx(
        {
            "head": of_truth(lambda _, i: i == 1),
            "middle": of_truth(lambda _, i: i == 3),
            "tail": of_truth(lambda _, i: i in (0, 2, 5, 4)),
        },
        nan_ok=True,
    )
    assert slices(result, "item:cold") == {
        "warm": of_truth(lambda _, i: i < 4),
        "cold": of_truth(lambda _, i: i >= 4),
    }
    seen = {(user, item) for user, own in TRAIN.items() for item in own}
    assert slices(result, "repeat") == {
        "repeat": of_truth(lambda u, i: (u, i) in seen),
        "new": of_truth(lambda u, i: (u, i) not in seen),
    }


def test_slices_by_a_column_of_the_ground_truth():
    rows = [
        ("ann", 0, "web", dt.datetime(2026, 1, 2, 5)),
        ("ann", 2, "app", dt.datetime(2026, 1, 1, 9)),
    ]
    rows += [
        ("bob", 3, "web", dt.datetime(2026, 1, 1, 7)),
        ("cyd", 5, None, dt.datetime(2026, 1, 2, 8)),
    ]
    truth = pl.DataFrame(rows, schema=["user", "item", "channel", "at"], orient="row")
    result = rw.evaluate(LISTS, truth, "recall@3", by=["truth:channel", "truth:at"])
    assert slices(result, "truth:channel") == {"app": 1.0, "web": 1.0, None: 1.0}
    assert result.slices["group"].to_list() == ["app", "web", None, "2026-01-01", "2026-01-02"]
    assert math.isnan(result.slices["recommended_share"][0])


@given(st.integers(0, 2**32 - 1), st.sampled_from(["truth", "both", "recommended", "all"]))
def test_each_slice_is_an_evaluation_of_its_own(seed, population):
    rng = np.random.default_rng(seed)
    lists = {u: rng.permutation(12)[: rng.integers(1, 6)].tolist() for u in range(8)}
    truth = {u: set(rng.permutation(12)[: rng.integers(1, 4)].tolist()) for u in range(1, 10)}
    kind = {i: int(rng.integers(3)) for i in range(12)}
    items = {"item": list(kind), "kind": list(kind.values())}
    cells = ["ndcg@4", "recall@3", "mrr", "auc"][: int(rng.integers(1, 4))]
    try:
        result = rw.evaluate(
            lists, truth, cells, items=items, by="item:kind", population=population
        )
    except EmptyError:
        return
    for row in result.slices.to_dicts():
        part = {
            u: inside
            for u, own in truth.items()
            if (inside := {i for i in own if str(kind[i]) == row["group"]})
        }
        inside = {"recommended": "both", "all": "truth"}.get(population, population)
        try:
            expected = rw.evaluate(lists, part, cells, items=items, population=inside)
        except EmptyError:  # nobody of them has a list
            assert row["users"] == (0 if inside == "both" else len(part))
            continue
        assert row["users"] == len(expected.per_user)
        for cell in expected:
            assert row[cell] == pytest.approx(expected[cell], nan_ok=True)


def pair(by, n=90):
    rng = np.random.default_rng(1)
    truth = {u: set(rng.permutation(20)[:4].tolist()) for u in range(n)}
    items = {"item": range(20), "kind": ["x", "y"] * 10}
    good = {u: [*truth[u], *(i for i in range(20) if i not in truth[u])][:6] for u in truth}
    poor = {u: rng.permutation(20)[:6].tolist() for u in truth}
    return {
        name: rw.evaluate(lists, truth, ["recall@6", "gini@6"], items=items, by=by)
        for name, lists in (("poor", poor), ("good", good))
    }


def test_intervals_of_slices(tmp_path):
    result = pair("item:kind")["poor"]
    table = result.slice_intervals("recall@6")
    assert table.columns == ["by", "group", "users", "small", "metric", "value", "low", "high"]
    assert table["value"].to_list() == result.slices["recall@6"].to_list()
    one = result.interval("recall@6", by="item:kind", group="x")
    assert (table["low"][0], table["high"][0], one.n) == (one.low, one.high, table["users"][0])
    back = rw.load(result.save(tmp_path / "out"))
    assert back.slice_intervals("recall@6").equals(table)
    with pytest.raises(ParameterError, match="there is no slice 'z'"):
        result.interval("recall@6", by="item:kind", group="z")
    assert result.slice_intervals("gini@6")["low"].is_nan().all()


def test_systems_are_compared_within_slices_and_corrected_over_them():
    results = pair("item:kind")
    found = rw.compare(results, by="item:kind", metrics="recall@6")
    assert found.table["group"].to_list() == ["x", "y"]
    assert found.table["verdict"].to_list() == ["better", "better"]
    assert found.table["p_adjusted"].to_list() == pytest.approx(
        [min(2 * min(found.table["p"]), 1)] * 2, rel=1
    )
    decided = rw.decide(
        results, success="recall@6", guardrails={}, deterioration=["recall@6"], slices="item:kind"
    )
    assert decided.outcome == "ship"
    with pytest.raises(ParameterError, match='evaluate every model with by="repeat"'):
        rw.compare(results, by="repeat")


def test_slices_of_requests():
    """Items 0 and 1 cost 1 and 5, item 3 costs 20; the user had item 0 before the first request."""
    lists = pl.DataFrame(
        {"user": [1, 1, 1, 1], "request": [1, 1, 2, 2], "item": [0, 1, 2, 3], "rank": [1, 2, 1, 2]}
    )
    truth = pl.DataFrame({"user": [1, 1, 1], "request": [1, 2, 2], "item": [0, 1, 3]})
    result = rw.evaluate(
        lists, truth, "recall@2", items=ITEMS, train={1: [0]}, by=["item:price[2]", "repeat"]
    )
    rows = result.slices.select("group", "users", "recall@2").rows()
    assert rows == [
        ("below 2", 1, 1.0),
        ("2 and above", 1, 0.5),
        ("repeat", 1, 1.0),
        ("new", 1, 0.5),
    ]
    assert result.sliced.select("group", "user", "request").rows()[0] == ("2 and above", 1, 2)
    assert result.interval("recall@2", by="repeat", group="new").method == "clustered t"
    over = rw.evaluate(lists, truth, "recall@2", items=ITEMS, by="item:price[2]", mean_over="users")
    assert over.slices["recall@2"].to_list() == [1.0, 0.5]


def test_grades_of_events():
    rows = [("ann", 0, "view"), ("ann", 0, "purchase"), ("ann", 2, "cart"), ("bob", 4, "view")]
    truth = pl.DataFrame(rows, schema=["user", "item", "event_type"], orient="row")
    grades = {"view": 0, "cart": 1, "purchase": 3}
    result = rw.evaluate(LISTS, truth, "ndcg@3", relevance=grades)
    plain = rw.evaluate(LISTS, {"ann": {0: 3, 2: 1}, "bob": {4: 0}}, "ndcg@3")
    assert result["ndcg@3"] == plain["ndcg@3"]
    assert result.counts["truth_rows_merged"] == 1
    assert "relevance by event_type: view 0, cart 1, purchase 3" in repr(result)
    by_event = rw.evaluate(LISTS, truth, "recall@3", relevance=grades, by="truth:event_type")
    assert slices(by_event, "truth:event_type") == pytest.approx(
        {"cart": 1.0, "purchase": 1.0, "view": math.nan}, nan_ok=True
    )
    named = truth.rename({"event_type": "what"})
    assert (
        rw.evaluate(LISTS, named, "ndcg@3", relevance=grades, columns={"truth:event": "what"})[
            "ndcg@3"
        ]
        == plain["ndcg@3"]
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: rw.evaluate(LISTS, TRUTH, "recall@3", items=ITEMS, by="item:genres"),
            "there is no column 'genres'",
        ),
        (lambda: rw.evaluate(LISTS, TRUTH, "recall@3", by="item:genre"), "no items"),
        (
            lambda: rw.evaluate(
                LISTS, TRUTH, "recall@3", items={"item": [1, 1], "kind": ["x", "y"]}, by="item:kind"
            ),
            "duplicate item",
        ),
        (lambda: rw.evaluate(LISTS, TRUTH, "recall@3", by="repeat"), "no train"),
        (
            lambda: rw.evaluate(LISTS, TRUTH, "gini@3", by="repeat", train=TRAIN),
            "which no metric reads",
        ),
        (lambda: rw.evaluate(LISTS, metrics="gini@3", by="repeat", train=TRAIN), "no truth"),
        (
            lambda: rw.evaluate(LISTS, TRUTH, "recall@3", items=ITEMS, by="item:price[a]"),
            "edges of a slice are numbers",
        ),
        (
            lambda: rw.evaluate(LISTS, TRUTH, "recall@3", items=ITEMS, by="item:price[2,1]"),
            "edges of a slice increase",
        ),
        (
            lambda: rw.evaluate(LISTS, TRUTH, "recall@3", items=ITEMS, by="item:genre[2]"),
            "cuts numbers",
        ),
        (
            lambda: rw.evaluate(LISTS, TRUTH, "recall@3", items=ITEMS, by="item:price[inf]"),
            "edges of a slice increase",
        ),
        (
            lambda: rw.evaluate(LISTS, TRUTH, "recall@3", train=TRAIN, by="repeat[3]"),
            "repeat has no edges",
        ),
        (
            lambda: rw.Evaluator("recall@3", truth=TRUTH, by="repeat"),
            "all lists are needed at once",
        ),
        (
            lambda: rw.Evaluator("recall@3", truth=TRUTH, relevance={"view": 1}),
            "no column of events",
        ),
        (
            lambda: rw.evaluate(LISTS, TRUTH, "recall@3", relevance={"view": 0}),
            "some event is relevant",
        ),
    ],
)
def test_what_cannot_be_sliced_or_graded(call, message):
    with pytest.raises((ParameterError, ColumnError, MetricError), match=message):
        call()


def test_users_without_a_list_count_in_slices():
    items = {"item": [1, 2], "kind": ["x", "y"]}
    alone = rw.evaluate({"a": [1]}, {"a": {1}, "b": {2}}, "recall@1", items=items, by="item:kind")
    assert alone.slices.select("group", "users", "recall@1").rows() == [
        ("x", 1, 1.0),
        ("y", 1, 0.0),
    ]
    both = rw.evaluate(
        {"a": [1], "b": [2]}, {"a": {1}, "b": {2}}, "recall@1", items=items, by="item:kind"
    )
    assert rw.compare(alone, both, by="item:kind").table["difference"].to_list() == [0.0, 1.0]


def test_a_slice_that_is_asked_for_twice_is_one():
    result = rw.evaluate(LISTS, TRUTH, "recall@3", train=TRAIN, by=["repeat", "repeat"])
    assert result.slices["group"].to_list() == ["repeat", "new"]
    assert result.interval("recall@3", by="repeat", group="new").n == result.slices["users"][1]


def test_households_are_clusters_within_slices():
    users = {"user": ["ann", "bob", "cyd"], "home": ["h", "h", "i"]}
    result = rw.evaluate(LISTS, TRUTH, "recall@3", train=TRAIN, users=users, by=["home", "repeat"])
    assert result.interval("recall@3", by="repeat", group="new", clusters="home").n == 2


def test_a_name_with_two_meanings_is_refused():
    with pytest.raises(ParameterError, match="has two meanings"):
        rw.evaluate(
            LISTS,
            TRUTH,
            "recall@3",
            train=TRAIN,
            users={"user": ["ann"], "repeat": ["q"]},
            by="repeat",
        )


@pytest.mark.parametrize("options", [{"by": "truth:channel"}, {"relevance": {"view": 1}}])
def test_a_ground_truth_without_columns(options):
    with pytest.raises(ColumnError, match="of the ground truth"):
        rw.evaluate(LISTS, TRUTH, "recall@3", **options)


def test_events_without_a_grade_or_a_column():
    truth = pl.DataFrame({"user": ["ann"], "item": [0], "event": ["share"]})
    with pytest.raises(ColumnError, match="every event needs a grade"):
        rw.evaluate(LISTS, truth, "recall@3", relevance={"view": 1})
    with pytest.raises(ColumnError, match="no column of events"):
        rw.evaluate(LISTS, truth.rename({"event": "x"}), "recall@3", relevance={"view": 1})
    both = truth.with_columns(relevance=1.0)
    with pytest.raises(ColumnError, match="or a relevance"):
        rw.evaluate(LISTS, both, "recall@3", relevance={"share": 1})
    with pytest.raises(ColumnError, match="by which it is to be sliced"):
        rw.evaluate(LISTS, truth, "recall@3", by="truth:day")


USERS = {"user": ["ann", "bob", "cyd"], "country": ["AT", "AT", "DE"], "age": [20.0, 30.0, None]}


def test_crossed_slices_are_groups_of_users_within_slices():
    by = ["country", "item:genre"]
    result = rw.evaluate(LISTS, TRUTH, "recall@3", items=ITEMS, users=USERS, by=by, cross=True)
    austrian = ("ann", "bob")
    assert slices(result, "country × item:genre") == {
        "AT × a": of_truth(lambda u, i: u in austrian and i in (0, 1, 5)),
        "AT × b": of_truth(lambda u, i: u in austrian and i in (1, 3)),
        "DE × a": of_truth(lambda u, i: u == "cyd" and i in (0, 1, 5)),
        None: of_truth(lambda u, i: i in (2, 4)),  # items without a genre
    }
    # Five of nine recommended items have genre a; two of them are in cyd's list and three in those of Austrians.
    assert result.slices["recommended_share"].to_list()[:3] == pytest.approx([3 / 9, 2 / 9, 3 / 9])
    assert result.interval("recall@3", by="country × item:genre", group="AT × a").n == 2


def test_crossed_groups_of_users_are_in_the_order_of_each():
    by = ["country", "activity", "age[25]"]
    result = rw.evaluate(LISTS, TRUTH, "recall@3", train=TRAIN, users=USERS, by=by, cross=True)
    rows = result.slices.select("by", "group", "users").rows()
    assert rows == [
        ("country × activity × age[25]", "AT × low × below 25", 1),
        ("country × activity × age[25]", "AT × low × 25 and above", 1),
        ("country × activity × age[25]", None, 1),
    ]
    assert result.provenance["settings"]["by"] == ["country × activity × age[25]"]


def test_crossing_needs_two_names_and_all_lists():
    with pytest.raises(ParameterError, match="takes the groups of several names together"):
        rw.evaluate(LISTS, TRUTH, "recall@3", users=USERS, by="country", cross=True)
    with pytest.raises(ParameterError, match="does not take cross=: all lists are needed at once"):
        rw.evaluate(
            "run.parquet",
            TRUTH,
            "recall@3",
            users=USERS,
            by=["country", "age"],
            cross=True,
            chunk_rows=5,
        )


def test_columns_of_users_are_cut_at_edges_in_pieces_too():
    whole = rw.evaluate(LISTS, TRUTH, "recall@3", users=USERS, by="age[25,30]")
    assert whole.slices["group"].to_list() == ["below 25", "30 and above", None]
    evaluator = rw.Evaluator("recall@3", truth=TRUTH, users=USERS, by="age[25,30]")
    for user, items in LISTS.items():
        evaluator.update({user: items})
    assert evaluator.result().slices.equals(whole.slices)
    with pytest.raises(ColumnError, match="cuts numbers into bins"):
        rw.evaluate(LISTS, TRUTH, "recall@3", users=USERS, by="country[1]")


def test_small_groups_are_marked_and_shown():
    many = {"user": range(40), "country": ["AT"] * 31 + ["DE"] * 9}
    lists, truth = {u: [u % 3] for u in range(40)}, {u: {0} for u in range(40)}
    result = rw.evaluate(lists, truth, "recall@1", users=many, by="country")
    assert "31" in repr(result)
    assert "9*" in repr(result)
    assert "31*" not in repr(result)
    assert repr(result).endswith("* fewer than 30 users")
    assert "*" not in repr(
        rw.evaluate(lists, truth, "recall@1", users=many, by="country", min_size=9)
    )
    assert result.slice_intervals()["small"].to_list() == [False, True]


def test_intervals_of_all_groups_stand_in_every_output():
    result = pair("item:kind")["poor"].with_intervals()
    table = result.intervals
    assert table["metric"].to_list() == ["recall@6", "gini@6"] * 2
    assert f"{table['low'][0]:.4f} to {table['high'][0]:.4f}" in repr(result)
    assert result.to_dict()["intervals"][0]["high"] == table["high"][0]
    header, *rows = result.export("csv").splitlines()
    low = header.split(",").index("low")
    assert [row.split(",")[low] for row in rows if row.startswith("recall")][1] == repr(
        table["low"][0]
    )


def test_many_groups_are_rows():
    users = {"user": range(20), "town": [f"t{u // 2}" for u in range(20)]}
    result = rw.evaluate(
        {u: [0] for u in range(20)}, {u: {0} for u in range(20)}, "recall@1", users=users, by="town"
    )
    assert "town=t0     2*    1.0000" in repr(result)


def test_grades_and_intervals_on_the_command_line(tmp_path):
    (tmp_path / "t.csv").write_text("user,item,event\nann,a,view\nann,b,purchase\n")
    (tmp_path / "r.csv").write_text("user,item,rank\nann,b,1\nann,a,2\n")
    common = ("evaluate", "r.csv", "t.csv", "-m", "ndcg@1", "--by", "truth:event")
    done = rankwise_here(
        tmp_path, *common, "--grade", "view=1", "--grade", "purchase=3", "--intervals"
    )
    assert done.returncode == 0, done.stderr
    assert "relevance by event: view 1, purchase 3" in done.stdout
    assert "interval of the group alone" in done.stdout
    wrong = rankwise_here(tmp_path, *common, "--grade", "view")
    assert "'view' is not EVENT=GRADE" in wrong.stderr
    both = rankwise_here(tmp_path, *common, "--grade", "view=1", "--relevance", "any")
    assert "--grade and --relevance exclude each other" in both.stderr
