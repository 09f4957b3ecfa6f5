"""Tables that may be other ones than they are taken for are refused, or said in the result."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import rankwise as rw
from rankwise.errors import EmptyError, IdError, InputError
from rankwise.tables import training

LISTS = pl.DataFrame({"user": [1, 1, 2, 2], "item": [5, 6, 5, 7], "score": [0.9, 0.1, 0.8, 0.3]})
TRUTH = pl.DataFrame({"user": [1, 2], "item": [6, 7], "rating": [4.0, 5.0]})


def in_pieces(lists, truth, metrics, **options):
    return rw.Evaluator(metrics, truth=truth, **options).update(lists).result()


def said(*tables, **options):
    result = rw.evaluate(*tables, "recall@2", **options)
    doubts = result.provenance["doubts"]
    assert all(f"check: {doubt}" in result.views[-1].notes for doubt in doubts)
    return " ".join(doubts)


def test_nothing_is_said_of_tables_in_their_place():
    assert said(LISTS, TRUTH, train={3: [5]}) == ""
    assert said({1: [5, 6]}, {1: {6}}) == ""
    unordered = LISTS.drop("score")
    assert said(unordered, TRUTH.drop("rating")) == ""


@pytest.mark.parametrize("order", ["score", "rank", "prediction"])
@pytest.mark.parametrize("as_files", [False, True])
def test_swapped_tables(order, as_files, tmp_path):
    lists = LISTS.rename({"score": order})
    if order == "rank":
        lists = lists.with_columns(rank=pl.Series([1, 2, 1, 2]))
    tables = [TRUTH, lists]
    if as_files:
        tables = [tmp_path / "truth.csv", tmp_path / "run.csv"]
        TRUTH.write_csv(tables[0])
        lists.write_csv(tables[1])
    if order != "score":  # a column of that name is no relevance; numbers are asked for
        with pytest.raises(InputError, match=f"'{order}' could be it"):
            rw.evaluate(*tables)
        tables.append({"truth.relevance": None})
        assert "may be swapped" in said(*tables[:2], columns=tables[2])
    else:
        assert "may be swapped" in said(*tables)


def test_the_same_table_twice(tmp_path):
    TRUTH.write_csv(tmp_path / "a.csv")
    shuffled = TRUTH.reverse()
    for run, truth in ((TRUTH, shuffled), (tmp_path / "a.csv", tmp_path / "a.csv")):
        assert "the recommendations are the user-item pairs of the ground truth" in said(run, truth)
    assert "the training interactions are" in said(LISTS, TRUTH, train=shuffled)
    text = TRUTH.with_columns(pl.col("user", "item").cast(pl.String))
    assert "pairs of the ground truth" in said(tmp_path / "a.csv", text)


def test_what_is_said_of_pieces_and_of_users_without_lists(tmp_path):
    LISTS.write_parquet(tmp_path / "run.parquet")
    same = rw.evaluate(tmp_path / "run.parquet", tmp_path / "run.parquet", "mrr", chunk_rows=2)
    assert "pairs of the ground truth" in same.provenance["doubts"][-1]
    few = rw.evaluate({1: [5]}, {user: {5} for user in range(9)}, "mrr")
    assert few.provenance["doubts"][0].startswith("most users have no list")
    rated = rw.evaluate_ratings({"ann": [(3, 4), (1, 2)]})
    assert rated.provenance["doubts"] == []


def test_what_the_truth_of_a_piece_and_its_ids_say():
    sessions = pl.DataFrame({"user": ["u", "u"], "session_id": [1, 2], "item": [5, 6]})
    first = rw.Evaluator("mrr").update({"u": [5, 6]}, sessions)
    second = rw.Evaluator("mrr").update({"v": [5]}, sessions.with_columns(user=pl.lit("v")))
    merged = first.merge(second).result().provenance["doubts"]
    assert [doubt[:42] for doubt in merged] == ["the ground truth has several sessions of a"]
    repeated = (
        rw.Evaluator("catalog_coverage@1", items=[1, 1, 2]).update({1: [1]}, {1: {1}}).result()
    )
    assert "1 rows of items that it has already" in str(repeated)
    lists, truth = {"1": ["a"], "2": ["b"], "11": ["c"]}, {"01": {"a"}, "02": {"b"}, "11": {"c"}}
    assert "2 of 3 would agree without leading zeros" in " ".join(
        rw.Evaluator("mrr").update(lists, truth).result().provenance["doubts"]
    )


def test_an_array_as_wide_as_the_catalogue_has_two_meanings():
    scores = np.array([[3, 1, 2, 0], [0, 3, 2, 1]])
    for source in (scores, scores.astype(np.uint8)):
        with pytest.raises(InputError, match="item ids, best first, or a score for every item"):
            rw.evaluate(source, {0: {0}, 1: {1}})
    for given, later in (({"truth": {0: {0}, 1: {1}}}, None), ({}, {0: {0}, 1: {1}})):
        with pytest.raises(InputError, match="item ids, best first, or a score for every item"):
            rw.Evaluator("mrr", **given).update(scores, later)
    assert rw.evaluate(rw.rank(scores, 2), {0: {0}, 1: {1}}, "mrr")["mrr"] == 1.0
    assert rw.evaluate(dict(enumerate(scores.tolist())), {0: {3}, 1: {0}}, "mrr")["mrr"] == 1.0
    assert rw.evaluate(scores[:, :2], {0: {3}, 1: {0}}, "mrr")["mrr"] == 1.0
    assert rw.evaluate(scores, {0: {3}, 1: {0}}, "mrr", items=range(9))["mrr"] == 1.0
    assert rw.evaluate(scores, {0: {3}, 1: {0}}, "mrr", train={0: [8]})["mrr"] == 1.0


def test_a_list_that_begins_below_the_first_rank_has_a_gap():
    ranks = [4, 5, 1, 2]
    lists = LISTS.drop("score").with_columns(rank=pl.Series(ranks))
    assert rw.evaluate(lists, TRUTH, "mrr").counts["lists_with_rank_gaps"] == 1
    assert rw.evaluate(lists[2:], TRUTH, "mrr").counts.get("lists_with_rank_gaps", 0) == 0


def test_exact_ranks_are_always_of_the_pairs_of_the_ground_truth():
    scores = np.array([[0.1, 0.5, 0.3], [0.4, 0.2, 0.9]])
    truth = {0: [1], 1: [0, 2]}
    ranks = rw.rank_relevant(scores, truth=truth)
    result = rw.evaluate(ranks, truth, "mrr")
    assert result.provenance["doubts"] == []


@pytest.mark.parametrize(
    ("listed", "judged", "words"),
    [
        (["007", "12", "13"], ["7", "12", "99"], "without leading zeros, such as '007' and '7'"),
        (["7.0", "12", "13"], ["7", "12", "99"], "without a trailing .0, such as '7.0' and '7'"),
        (["sku7", "12", "13"], ["7", "12", "99"], "without their prefix, such as 'sku7' and '7'"),
        ([" x", "y", "z"], ["x", "y", "w"], "without blanks around them, such as ' x' and 'x'"),
        (["X", "y", "z"], ["x", "y", "w"], "in lower case, such as 'X' and 'x'"),
    ],
)
@pytest.mark.parametrize("column", ["item", "user"])
def test_ids_that_are_written_otherwise_are_named(listed, judged, words, column):
    other = {"item": "user", "user": "item"}[column]
    lists = pl.DataFrame({column: listed, other: ["a", "a", "a"]})
    truth = pl.DataFrame({column: judged, other: ["a", "a", "a"]})
    assert (
        f"{column} ids of the lists and of the ground truth differ: 1 of 3 would agree {words}"
        in said(lists, truth)
    )
    assert said(lists.with_columns(truth[column]), truth, train=None).count("would agree") == 0


def test_ids_of_training_and_of_the_items_are_compared_as_well():
    lists, truth = {"a": ["01", "x"], "b": ["02", "x"]}, {"a": {"x"}, "b": {"x"}}
    assert "and of the training interactions differ: 2 of 3" in said(
        lists, truth, train={"a": ["1"], "b": ["2"]}
    )
    assert "and of the table of items differ: 2 of 3" in said(lists, truth, items=["1", "2", "x"])


@pytest.mark.parametrize("wrap", ["whole", "pieces", "chunks"])
@pytest.mark.parametrize(
    ("prefix", "hint"),
    [("sku-", "without their prefix, such as 'sku-100' and '100'"), ("other", "in the same way")],
)
def test_lists_without_an_item_of_any_table_are_refused(wrap, prefix, hint, tmp_path):
    users = [f"u{number}" for number in range(10)]
    items = [
        f"{prefix}{100 + number}" if prefix == "sku-" else f"{prefix}{number}x"
        for number in range(10)
    ]
    lists = pl.DataFrame({"user": users, "item": items})
    truth = pl.DataFrame({"user": users, "item": [str(100 + number) for number in range(10)]})
    lists.write_parquet(tmp_path / "l.parquet")
    pieces = rw.Evaluator("recall@1").update(lists[:4], truth[:4]).update(lists[4:], truth[4:])
    roads = {
        "whole": lambda: rw.evaluate(lists, truth, "recall@1"),
        "chunks": lambda: rw.evaluate(tmp_path / "l.parquet", truth, "recall@1", chunk_rows=4),
        "pieces": pieces.result,
    }
    with pytest.raises(IdError, match="no recommended item is in the ground truth") as error:
        roads[wrap]()
    assert hint in str(error.value)
    assert repr(items[0]) in str(error.value)
    assert "'100' and '101'" in str(error.value)


def test_lists_without_a_hit_are_a_result_where_an_item_is_known():
    lists = {user: [f"a{user}"] for user in range(12)}
    truth = {user: {f"b{user}"} for user in range(12)}
    with pytest.raises(IdError, match="no recommended item"):
        rw.evaluate(lists, truth, "mrr")
    for known in ({"train": {99: ["a3"]}}, {"items": ["a3", *(f"b{user}" for user in range(12))]}):
        assert rw.evaluate(lists, truth, "mrr", **known)["mrr"] == 0
    assert rw.evaluate({1: ["a"]}, {1: {"b"}}, "mrr")["mrr"] == 0  # may be chance


def test_users_without_a_list_are_named():
    with pytest.raises(EmptyError, match="no evaluated user has a recommendation list") as error:
        rw.evaluate({"007": ["a"], "008": ["b"]}, {"7": {"a"}, "8": {"b"}}, "mrr")
    assert "'007' and '008'" in str(error.value)
    assert "'7' and '8'" in str(error.value)
    assert "without leading zeros" in str(error.value)


@pytest.mark.parametrize("unknown", [3, 4])
def test_a_fifth_of_unknown_recommendations_is_said(unknown):
    items = [f"new{number}" for number in range(unknown)] + [
        f"i{number}" for number in range(18 - unknown)
    ]
    text = said(
        {"ann": items}, {"ann": {"i1"}}, train={"bob": [f"i{number}" for number in range(18)]}
    )
    assert ("are not in the catalogue" in text) == (unknown >= 0.2 * 18)


def test_recommended_training_interactions_are_counted_and_said(tmp_path):
    lists = {1: [3, 4, 5], 2: [4, 6, 7], 3: [3, 8, 9]}
    truth, train = {1: {5}, 2: {7}, 3: {8}}, {1: [3, 4], 2: [6], 4: [8]}
    whole = rw.evaluate(lists, truth, "mrr", train=train)
    assert whole.counts["recommendations_seen_in_training"] == 3
    assert (
        "33% (3 of 9) of the recommendations are items of the user's training"
        in whole.provenance["doubts"][0]
    )

    evaluator = rw.Evaluator("mrr", truth=truth, train=train)
    for user in lists:
        evaluator.update({user: lists[user]})
    assert evaluator.result().counts == whole.counts
    assert evaluator.result().provenance["doubts"] == whole.provenance["doubts"]

    without = rw.evaluate(lists, truth, "mrr", train=train, exclude_seen=True)
    assert "recommendations_seen_in_training" not in without.counts
    again = rw.evaluate(
        lists, {1: {3}, 2: {6}, 3: {8}}, "mrr", train=train
    )  # people meet items again
    assert again.counts["truth_rows_also_in_training"] == 2
    assert not any("training interactions" in doubt for doubt in again.provenance["doubts"])


def test_training_interactions_of_a_user_are_seen_in_all_requests():
    lists = pl.DataFrame(
        {"user": [1, 1, 1, 1, 2, 2], "session_id": [1, 1, 2, 2, 1, 1], "item": [3, 5, 3, 6, 3, 7]}
    )
    truth = pl.DataFrame({"user": [1, 1, 2], "session_id": [1, 2, 1], "item": [5, 6, 3]})
    lists = lists.with_columns(rank=pl.Series([1, 2] * 3))
    train = {1: [3, 6], 2: [8]}
    whole = rw.evaluate(lists, truth, "mrr", train=train)
    assert (
        whole.counts["recommendations_seen_in_training"] == 3
    )  # item 3 in two sessions of user 1, and 6
    assert whole.counts["truth_rows_also_in_training"] == 1
    pieces = rw.Evaluator("mrr", truth=truth, train=train)
    for user in (1, 2):
        pieces.update(lists.filter(user=user))
    assert pieces.result().counts == whole.counts


def test_of_very_many_training_interactions_those_of_some_users_are_compared(monkeypatch):
    monkeypatch.setattr(training, "_MOST_TRAINING", 60)
    users = range(40)
    lists, train = {user: [1, 2, 3] for user in users}, {user: [2, 8, 9] for user in users}
    truth = {user: {3} for user in users}
    result = rw.evaluate(lists, truth, "mrr", train=train)
    compared = result.counts["recommendations_compared_with_training"]
    assert 0 < compared < 120
    assert result.counts["recommendations_seen_in_training"] * 3 == compared
    text = {str(user): [str(item) for item in items] for user, items in lists.items()}
    halves = rw.Evaluator("mrr", truth=truth, train=train)
    for half in (range(20), range(20, 40)):
        halves.update({user: lists[user] for user in half})
    assert halves.result().counts == result.counts
    names = {str(user): {"3"} for user in users}
    known = {str(user): ["2", "8", "9"] for user in users}
    assert rw.evaluate(text, names, "mrr", train=known).counts == result.counts


def test_ranks_that_contradict_the_scores_of_all_lists_are_said():
    lists = pl.DataFrame(
        {"user": [1, 1, 2, 2], "item": [5, 6, 5, 7], "rank": [1, 2, 1, 2], "score": [1, 2, 3, 4]}
    )
    assert "scores rise where ranks fall in all lists" in said(lists, TRUTH)
    assert said(lists.with_columns(score=pl.Series([1, 2, 4, 3])), TRUTH) == ""


def test_items_that_are_listed_twice_and_items_without_categories_are_said():
    items = pl.DataFrame({"item": [5, 6, 7, 7]})
    assert "2 rows of items that it has already" in said(
        LISTS, TRUTH, items=pl.concat([items, items[:1]])
    )
    assert said(LISTS, TRUTH, items=items.unique()) == ""
    table = {"item": [5, 6, 7, 8], "genres": [None, None, None, ["x"]]}
    doubts = rw.evaluate(LISTS, TRUTH, "category_count@2", items=table).provenance["doubts"]
    assert doubts == ["all 4 of the recommendations are of items without categories: do ids agree?"]


LONG_SCALE = pl.DataFrame(
    {"user": [1, 1, 1, 2, 2], "item": [5, 6, 7, 6, 8], "rating": [10, 2, 7, 9, 4]}
)


@pytest.mark.parametrize("evaluate", [rw.evaluate, in_pieces], ids=["whole", "pieces"])
def test_low_ratings_of_a_long_scale_that_count_as_relevant_are_said(evaluate):
    def doubts(truth, **options):
        return evaluate(LISTS, truth, "recall@2", **options).provenance["doubts"]

    (doubt,) = doubts(LONG_SCALE)
    assert (
        doubt
        == "40% (2 of 5) of the ratings are below half of 10 and relevant: threshold= sets another rule"
    )
    assert doubts(LONG_SCALE, threshold=6) == []
    assert doubts(LONG_SCALE.with_columns(rating=pl.col("rating") // 2)) == []  # five stars
    assert doubts(LONG_SCALE.with_columns(rating=pl.col("rating").clip(5))) == []
    assert doubts(LONG_SCALE.rename({"rating": "gain"}), columns={"truth.relevance": "gain"}) == []


def test_the_threshold_of_five_stars_on_a_longer_scale_is_said():
    rated = LONG_SCALE.with_columns(prediction=pl.Series([9.0, 3, 8, 7, 5]))
    (doubt,) = rw.evaluate_ratings(rated, "precision@1").provenance["doubts"]
    assert doubt.startswith(
        "labels run from 2 to 10, and every label from 3.5 is relevant (80% of the rows)"
    )
    for metrics, options in (("precision@1", {"threshold": 7}), ("rmse", {})):
        assert rw.evaluate_ratings(rated, metrics, **options).provenance["doubts"] == []
    stars = rated.with_columns(rating=pl.col("rating") / 2)
    assert rw.evaluate_ratings(stars, "precision@1").provenance["doubts"] == []
