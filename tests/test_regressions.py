"""Defects that a second reader found, each held by its smallest case."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

import rankwise as rw
from rankwise.io.writing import write_text

TRUTH = {"a": {1}, "b": {2}, "c": {3}}


def test_users_without_a_list_survive_merging():
    first = rw.Evaluator(["recall@2"], truth=TRUTH).update({"a": [1]})
    second = rw.Evaluator(["recall@2"], truth=TRUTH).update({"b": [2]})
    third = rw.Evaluator(["recall@2"], truth=TRUTH).merge(first, second)
    assert third.result()["recall@2"] == pytest.approx(2 / 3)
    assert first.merge(second).result().counts["truth_rows"] == 3


def test_other_truths_do_not_merge():
    first = rw.Evaluator(["recall@2"], truth=TRUTH).update({"a": [1]})
    with pytest.raises(rw.RankwiseError, match="the same truth"):
        first.merge(rw.Evaluator(["recall@2"], truth={"a": {1}}).update({"a": [1]}))


def test_partials_of_other_measures_do_not_merge():
    other = rw.Evaluator("map").update({"b": [1]}, {"b": {1}}).partial()
    with pytest.raises(rw.RankwiseError, match="not of the same measures"):
        rw.Evaluator("mrr").update({"a": [1]}, {"a": {1}}).merge(other).result()


def test_a_failed_update_with_strings_changes_nothing():
    truth = {"a": {"x"}, "b": {"y"}, "c": {"z"}}
    evaluator = rw.Evaluator(["recall@2"], truth=truth).update({"a": ["x"]})
    before = evaluator.result()["recall@2"]
    with pytest.raises(rw.RankwiseError, match="twice"):
        evaluator.update({"b": [("y", 0.5), ("y", 0.4)]})
    assert evaluator.result()["recall@2"] == before == pytest.approx(1 / 3)


def test_a_user_outside_the_population_in_two_pieces():
    evaluator = rw.Evaluator("mrr", truth=TRUTH)
    evaluator.update({"a": [1], "z": [1]}).update({"z": [2]})
    with pytest.raises(rw.RankwiseError, match="in two pieces"):
        evaluator.result()


def test_threshold_without_relevance():
    with pytest.raises(rw.RankwiseError, match="needs truth with a relevance"):
        rw.evaluate({"a": [1]}, TRUTH, "mrr", relevance_threshold=4)


def test_nobody_in_common():
    with pytest.raises(rw.RankwiseError, match="no user that counts has a list"):
        rw.evaluate({"x": [1]}, TRUTH, "mrr")


def test_no_hit_at_all_is_said():
    assert "no recommended item is relevant" in repr(rw.evaluate({"a": [9]}, TRUTH, "mrr"))


def test_ranks_and_scores_that_disagree_are_counted():
    lists = pl.DataFrame({"user": ["a"] * 2, "item": [1, 2], "rank": [1, 2], "score": [1.0, 9.0]})
    result = rw.evaluate(lists, {"a": {2}}, "mrr")
    assert result["mrr"] == 0.5
    assert result.counts["lists_whose_scores_rise"] == 1


def test_sets_are_not_lists():
    with pytest.raises(rw.RankwiseError, match="a set has no order"):
        rw.evaluate({"a": {1, 2}}, TRUTH, "mrr")


def test_mixed_mappings():
    with pytest.raises(rw.RankwiseError, match="not both"):
        rw.evaluate({"a": [1], "b": [2]}, {"a": {1}, "b": {3: 0, 4: 1}}, "mrr")


def test_true_negatives_need_the_whole_catalogue():
    with pytest.raises(rw.RankwiseError, match="must hold every item"):
        rw.evaluate({"a": [7, 8, 9]}, {"a": {1}}, "tn@3", items=[1, 2])


def test_undefined_nan_reaches_composed_measures():
    lists = {"a": [1], "z": [1]}
    options = {"population": "recommended", "undefined": "nan"}
    assert math.isnan(rw.evaluate(lists, {"a": {1}}, "f@1", **options)["f@1"])


def test_parts_take_the_cutoff_of_the_whole():
    with pytest.raises(rw.RankwiseError, match="its own cut-off"):
        rw.parse("f(first=ndcg@1)@3")


def test_negative_gains():
    truth = {"a": {1: -1, 2: -3}}
    with pytest.raises(rw.RankwiseError, match="negative relevance"):
        rw.evaluate({"a": [1]}, truth, "ndcg@1", relevance_threshold=-2)


def test_numpy_cutoffs_and_thresholds(tmp_path):
    measure = rw.NDCG() @ np.int64(4)
    result = rw.evaluate({"a": [1]}, {"a": {1: 4}}, measure, relevance_threshold=np.int64(4))
    assert rw.load(result.save(tmp_path / "out"))["ndcg@4"] == 1.0


def test_small_unsigned_items_in_descending_order():
    lists = pl.DataFrame(
        {"user": [1, 1], "item": [1, 2], "score": [0.5, 0.5]}, schema_overrides={"item": pl.UInt8}
    )
    assert rw.evaluate(lists, {1: {2}}, "mrr", ties="item_desc")["mrr"] == 1.0


def test_unsigned_ranks():
    lists = pl.DataFrame(
        {"user": [1, 2, 1], "item": [5, 6, 7], "rank": [2, 1, 1]},
        schema_overrides={"rank": pl.UInt64},
    )
    assert rw.evaluate(lists, {1: {5}, 2: {6}}, "mrr")["mrr"] == 0.75


def test_slices_without_values_survive_saving(tmp_path):
    users = pl.DataFrame({"user": list(range(130)), "g": [f"g{n}" for n in range(130)]})
    lists = {0: {1: 2.0}, **{n: {2: 1.0} for n in range(1, 129)}, 129: {1: 2.5}}
    truth = {n: {1: 1} for n in range(1, 130)}
    result = rw.evaluate(lists, truth, "rmse", users=users, by="g")
    back = rw.load(result.save(tmp_path / "out"))
    assert back.slices.equals(result.slices)


def test_weights_of_a_text_file(tmp_path):
    (tmp_path / "users.csv").write_text("user,Weight\na,1\nb,3\nz,\n")
    result = rw.evaluate(
        {"a": [1], "b": [9]}, {"a": {1}, "b": {2}}, "mrr",
        users=tmp_path / "users.csv", weights="Weight",
    )  # fmt: skip
    assert result["mrr"] == 0.25


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("blanks.csv", "user, item, score\n1, 5, 0.3\n1, 6, 0.2\n"),
        ("blank_lines.csv", "user,item\n1,5\n\n1,6\n"),
        ("tags.jsonl", '{"user":1,"item":5,"tags":[]}\n{"user":1,"item":6,"tags":["x"]}\n'),
        ("dates.csv", "user,item,timestamp\n1,5,2024-01-01\n1,6,\n"),
        ("myrun", "1 Q0 5 1 0.5 me\n1 Q0 6 2 0.4 me\n"),
        ("run.bm25", "1 Q0 5 1 0.5 me \r\n1 Q0 6 2 0.4 me\r\n"),
        ("bom.jsonl", '\ufeff{"user":1,"items":[5,6]}\n'),
        ("ranks.csv", "user,item,rank\n1,5,1.0\n1,6,2.0\n"),
        ("newline.csv", 'user,item,note\n1,5,"two\nlines"\n1,6,\n'),
    ],
)
def test_files_that_were_refused_or_misread(name, content, tmp_path):
    (tmp_path / name).write_bytes(content.encode())
    assert rw.evaluate(tmp_path / name, {1: {6}}, "mrr")["mrr"] == 0.5


def test_output_follows_links_and_spares_devices(tmp_path):
    target = tmp_path / "target.txt"
    target.write_text("old")
    (tmp_path / "link.txt").symlink_to(target)
    write_text(tmp_path / "link.txt", "new")
    assert target.read_text() == "new"
    assert (tmp_path / "link.txt").is_symlink()
    with pytest.raises(rw.RankwiseError, match="cannot be written"):
        write_text(tmp_path / "no" / "such.txt", "x")


def test_many_hits_cost_linear_time():
    items = list(range(30_000))
    result = rw.evaluate({1: items}, {1: set(items)}, ["err", "mrr"])
    assert result["mrr"] == 1.0
    constant = {1: dict.fromkeys(items, 0.5)}
    mrr = rw.evaluate(constant, {1: set(items[::2])}, "mrr")["mrr"]
    assert mrr == pytest.approx(math.log(2), abs=1e-4)


def test_a_merge_that_is_refused_changes_nothing():
    first = rw.Evaluator(["mrr"], truth=TRUTH).update({"a": [1]})
    good = rw.Evaluator(["mrr"], truth=TRUTH).update({"b": [2]})
    with pytest.raises(rw.RankwiseError, match="same measures"):
        first.merge(good, rw.Evaluator(["map"], truth=TRUTH))
    assert first.result()["mrr"] == pytest.approx(1 / 3)


def test_asking_twice_counts_once():
    whole = rw.Evaluator(["mrr"], truth=TRUTH)
    whole.merge(rw.Evaluator(["mrr"], truth=TRUTH).update({"a": [1]}))
    assert whole.result().counts == whole.result().counts


def test_a_weight_that_is_not_a_number():
    users = pl.DataFrame({"user": ["a"], "w": [math.nan]})
    with pytest.raises(rw.RankwiseError, match="needs a weight"):
        rw.evaluate({"a": [1]}, {"a": {1}}, "mrr", users=users, weights="w")
