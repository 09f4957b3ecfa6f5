"""Items that are one item under several ids have one id in every table."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from command_line import rankwise_here
from rankwise.errors import ColumnError, DuplicateError, IdError, ParameterError
from strategies import ids

LISTS = {"q": ["c12", "d2", "c11", "d3"], "r": ["d3", "c11"]}
TRUTH = {"q": {"d1": 1, "c11": 2, "d3": 1}, "r": {"d1": 1}}
SAME = {"c11": "d1", "c12": "c11"}
METRICS = ["recall@4", "map@4", "ndcg@4", "mrr"]


def test_ids_are_followed_to_the_one_that_holds():
    result = rw.evaluate(LISTS, TRUTH, METRICS, same=SAME, duplicates="keep")
    # q has d1 (relevance 2) first and d3 fourth of two relevant ones; r has d1 second.
    assert result["recall@4"] == 1.0
    assert result["map@4"] == pytest.approx(((1 + 2 / 4) / 2 + 1 / 2) / 2)
    assert result["mrr"] == pytest.approx((1 + 1 / 2) / 2)
    assert result.counts["same_merged"] == 1
    assert result.counts["duplicates_kept"] == 1
    assert "items under several ids are one" in str(result)


def test_the_largest_relevance_of_an_item_counts():
    truth = {"q": TRUTH["q"]}
    result = rw.evaluate({"q": ["d3", "c11"]}, truth, "ndcg@2", same=SAME)
    assert result["ndcg@2"] == pytest.approx((1 + 2 / 1.5849625) / (2 + 1 / 1.5849625))


def test_an_item_that_a_list_has_under_two_ids_is_left_to_duplicates():
    with pytest.raises(DuplicateError, match="d1"):
        rw.evaluate(LISTS, TRUTH, METRICS, same=SAME)
    first = rw.evaluate(LISTS, TRUTH, METRICS, same=SAME, duplicates="first")
    assert first["map@4"] == pytest.approx(((1 + 2 / 3) / 2 + 1 / 2) / 2)


def test_a_repeated_row_of_one_id_stays_an_error():
    truth = [("q", "c11"), ("q", "c11"), ("q", "d1")]
    with pytest.raises(DuplicateError):
        rw.evaluate({"q": ["d1"]}, truth, "recall@1", same=SAME)


def test_a_column_of_the_items_says_the_same_as_a_mapping():
    items = pl.DataFrame(
        {
            "item": ["c11", "d1", "c12", "d2", "d3"],
            "work": ["d1", "d1", "c11", None, None],
            "genre": ["noir", "war", "noir", "war", "war"],
        }
    )
    options = {"items": items, "duplicates": "first"}
    names = [*METRICS, "coverage@4", "ild(distance=jaccard)@2"]
    ours = rw.evaluate(LISTS, TRUTH, names, same="work", **options)
    assert ours.values == rw.evaluate(LISTS, TRUTH, names, same=SAME, **options).values
    assert ours["coverage@4"] == 1.0  # of three items
    ild = ours.per_user.filter(pl.col("user") == "r")[str(rw.parse(names[-1]))][0]
    assert ild == 0.0  # d1 has the row of its own id, war


ITEMS = st.integers(0, 7)


@given(
    lists=st.fixed_dictionaries(dict.fromkeys(range(3), st.lists(ITEMS, min_size=1, unique=True))),
    truth=st.fixed_dictionaries(
        dict.fromkeys(range(3), st.dictionaries(ITEMS, st.integers(1, 3), min_size=1))
    ),
    same=st.dictionaries(ITEMS, st.integers(8, 10), min_size=1),
    names=ids(11),
    duplicates=st.sampled_from(["first", "keep"]),
)
def test_values_are_those_of_tables_renamed_by_hand(lists, truth, same, names, duplicates):
    lists = {user: [names[item] for item in own] for user, own in lists.items()}
    truth = {
        user: {names[item]: grade for item, grade in own.items()} for user, own in truth.items()
    }
    same = {names[item]: names[kept] for item, kept in same.items()}
    by_hand = {user: [same.get(item, item) for item in own] for user, own in lists.items()}
    relevant: dict[int, dict[int, int]] = {}
    for user, own in truth.items():
        merged = relevant.setdefault(user, {})
        for item, grade in own.items():
            name = same.get(item, item)
            merged[name] = max(grade, merged.get(name, 0))
    ours = rw.evaluate(lists, truth, METRICS, same=same, duplicates=duplicates)
    expected = rw.evaluate(by_hand, relevant, METRICS, duplicates=duplicates)
    assert ours.values == expected.values

    evaluator = rw.Evaluator(METRICS, truth=truth, same=same, duplicates=duplicates)
    for user, own in lists.items():
        evaluator.update({user: own})
    assert evaluator.result().values == expected.values
    assert evaluator.result().counts == ours.counts


def test_numbers_of_a_file_take_names_of_works(tmp_path):
    (tmp_path / "lists.csv").write_text("user,item,rank\n1,12,1\n1,2,2\n1,11,3\n")
    (tmp_path / "truth.csv").write_text("user,item\n1,10\n1,3\n")
    (tmp_path / "items.csv").write_text("item,work\n10,a\n11,a\n12,a\n2,b\n3,c\n")
    (tmp_path / "study.yaml").write_text(
        "data: {truth: truth.csv, items: items.csv}\n"
        "systems: {ours: lists.csv}\n"
        "evaluation: {metrics: [map@3], same: work, duplicates: keep}\n"
    )
    command = "evaluate lists.csv truth.csv -m map@3 --items items.csv --same work"
    shown = rankwise_here(tmp_path, *command.split(), "--duplicates", "keep").stdout
    assert "map     0.5000" in shown
    assert "(column 'work' of the items)" in " ".join(shown.split())
    assert "map     0.5000" in rankwise_here(tmp_path, "run", "study.yaml").stdout
    saved = rw.load(tmp_path / "rankwise-results" / "results" / "ours")
    assert saved.values == {"map@3": 0.5}
    assert saved.provenance["settings"]["same"] == "work"


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"same": {1: 2}}, IdError, "different types"),
        ({"same": {"a": 2.5}}, IdError, "no ids"),
        ({"same": {"a": "b", "b": "a"}}, ParameterError, "stand for one another"),
        ({"same": {}}, ParameterError, "a column of the items"),
        ({"same": "work"}, ParameterError, "no items"),
        ({"same": "wrk", "items": {"item": ["d1"], "work": ["d1"]}}, ColumnError, "work"),
        ({"same": SAME, "codes": {"c11": "d1"}}, ParameterError, "codes"),
    ],
)
def test_ids_that_cannot_hold_are_refused(options, error, match):
    with pytest.raises(error, match=match):
        rw.evaluate(LISTS, TRUTH, "recall@2", **options)


def test_exact_ranks_are_refused():
    ranks = rw.rank_relevant([[0.3, 0.2, 0.1]], truth={0: {1: 1}})
    with pytest.raises(ParameterError, match="exact ranks"):
        rw.evaluate(ranks, {0: {1: 1}}, "mrr", same={1: 2})


def test_a_comparison_needs_the_same_ground_truth():
    results = {
        "ids": rw.evaluate(LISTS, TRUTH, "recall@4"),
        "works": rw.evaluate(LISTS, TRUTH, "recall@4", same=SAME, duplicates="first"),
    }
    with pytest.raises(ParameterError):
        rw.compare(results)


@pytest.mark.parametrize("kind", [pl.Int64, pl.Int16, pl.UInt8, pl.UInt64])
def test_ids_that_hold_may_be_wider_than_those_of_lists(kind):
    lists = pl.DataFrame({"user": [1, 1], "item": [1, 2], "rank": [1, 2]})
    lists = lists.with_columns(pl.col("item").cast(kind))
    truth = pl.DataFrame({"user": [1], "item": [40_000]})
    assert rw.evaluate(lists, truth, "mrr@2", same={1: 40_000, 2: 40_001})["mrr@2"] == 1.0
    kinds = {"item": pl.Int32, "document": pl.Int64}
    items = pl.DataFrame({"item": [1, 2], "document": [40_000, 40_001]}, schema=kinds)
    found = rw.evaluate(lists, truth, "mrr@2", items=items, same="document")
    assert found["mrr@2"] == 1.0
