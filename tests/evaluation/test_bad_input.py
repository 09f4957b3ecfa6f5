"""Defects that a second reader found, each held by its smallest case."""

from __future__ import annotations

import math
from itertools import count, repeat

import numpy as np
import polars as pl
import pytest
from scipy import sparse

import rankwise as rw
from rankwise.core import arguments
from rankwise.core.terminal import format_number
from rankwise.tables.storage import write_text

TRUTH = {"a": {1}, "b": {2}, "c": {3}}


def test_users_without_a_list_survive_merging():
    first = rw.Evaluator(["recall@2"], truth=TRUTH).update({"a": [1]})
    second = rw.Evaluator(["recall@2"], truth=TRUTH).update({"b": [2]})
    third = rw.Evaluator(["recall@2"], truth=TRUTH).merge(first, second)
    assert third.result()["recall@2"] == pytest.approx(2 / 3)
    assert first.merge(second).result().counts["truth_rows"] == 3


def test_other_truths_do_not_merge():
    first = rw.Evaluator(["recall@2"], truth=TRUTH).update({"a": [1]})
    with pytest.raises(rw.RankwiseError, match="the same ground truth"):
        first.merge(rw.Evaluator(["recall@2"], truth={"a": {1}}).update({"a": [1]}))


def test_partials_of_other_metrics_do_not_merge():
    other = rw.Evaluator("map").update({"b": [1]}, {"b": {1}}).partial()
    with pytest.raises(rw.RankwiseError, match="same metrics and settings"):
        rw.Evaluator("mrr").update({"a": [1]}, {"a": {1}}).merge(other).result()


def test_a_failed_update_with_strings_changes_nothing():
    truth = {"a": {"x"}, "b": {"y"}, "c": {"z"}}
    evaluator = rw.Evaluator(["recall@2"], truth=truth).update({"a": ["x"]})
    before = evaluator.result()["recall@2"]
    with pytest.raises(rw.RankwiseError, match="duplicate item"):
        evaluator.update({"b": [("y", 0.5), ("y", 0.4)]})
    assert evaluator.result()["recall@2"] == before == pytest.approx(1 / 3)


def test_a_user_outside_the_population_in_two_pieces():
    evaluator = rw.Evaluator("mrr", truth=TRUTH)
    evaluator.update({"a": [1], "z": [1]})
    with pytest.raises(rw.RankwiseError, match="in two chunks"):
        evaluator.update({"z": [2]})


def test_threshold_without_relevance():
    with pytest.raises(rw.RankwiseError, match="needs a ground truth with a relevance"):
        rw.evaluate({"a": [1]}, TRUTH, "mrr", relevance_threshold=4)


def test_nobody_in_common():
    with pytest.raises(rw.RankwiseError, match="no evaluated user has a recommendation list"):
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


def test_undefined_nan_reaches_composed_metrics():
    lists = {"a": [1], "z": [1]}
    options = {"population": "recommended", "undefined": "nan"}
    assert math.isnan(rw.evaluate(lists, {"a": {1}}, "f@1", **options)["f@1"])


def test_parts_take_the_cutoff_of_the_whole():
    with pytest.raises(rw.RankwiseError, match="the cut-off is that of the whole metric"):
        rw.parse("f(first=ndcg@1)@3")


def test_negative_gains():
    truth = {"a": {1: -1, 2: -3}}
    with pytest.raises(rw.RankwiseError, match="negative relevance"):
        rw.evaluate({"a": [1]}, truth, "ndcg@1", relevance_threshold=-2)


def test_numpy_cutoffs_and_thresholds(tmp_path):
    metric = rw.NDCG() @ np.int64(4)
    result = rw.evaluate({"a": [1]}, {"a": {1: 4}}, metric, relevance_threshold=np.int64(4))
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
        {"a": [1], "b": [9]},
        {"a": {1}, "b": {2}},
        "mrr",
        users=tmp_path / "users.csv",
        weights="Weight",
    )
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
    with pytest.raises(rw.RankwiseError, match="same metrics"):
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


GROUPS = {"item": [1, 2], "group": ["a", "b"]}


def test_sums_by_item_cannot_overflow():
    lists = {user: [1, 2] for user in range(10)}
    with pytest.raises(rw.RankwiseError, match="too large to be added up exactly"):
        rw.evaluate(
            lists,
            {user: {1: 60.0, 2: 70.0} for user in lists},
            "item_mad_ranking(gain=exponential)@2",
            items=GROUPS,
        )
    scores = {user: {1: 1e9, 2: 1.0} for user in range(9000)}
    truth = {user: {1, 2} for user in scores}
    result = rw.evaluate(scores, truth, "item_mad_rating@2", items=GROUPS)
    assert result["item_mad_rating@2[item_group=a]"] == 1e9


def test_a_sparse_matrix_of_items_holds_features():
    matrix = sparse.csr_array(np.eye(10, 4))
    result = rw.evaluate({0: [1, 2]}, {0: {1}}, ["ild@2", "catalog_coverage@2"], items=matrix)
    assert result.values == {"intra_list_diversity@2": 1.0, "catalog_coverage@2": 0.2}


@pytest.mark.parametrize(
    ("undefined", "expected"), [("skip", 1), ("zero", 2 / 3), ("nan", math.nan)]
)
def test_undefined_is_heeded_by_metrics_of_sums(undefined, expected):
    lists, truth = {"a": [1], "b": [1], "c": [2]}, {"a": {1: 1}, "b": {1: 1}, "c": {2: 0}}
    cells = ["gauc(seen=included)", "ndcg@1", "f(first=ndcg,second=gauc(seen=included))@1"]
    result = rw.evaluate(
        lists, truth, cells, undefined=undefined, population="all", items=[1, 2, 3]
    )
    for value in result.values.values():
        assert value == pytest.approx(expected, nan_ok=True)


def test_one_group_alone_is_not_fair():
    users = {"user": [1, 2], "group": ["x", "x"]}
    cells = ["group_gap@1", "group_ratio@1", "user_mad_ranking@1", "reo@1"]
    items = {"item": [1, 2], "group": ["a", "a"]}
    result = rw.evaluate({1: [1], 2: [2]}, {1: {1}, 2: {1}}, cells, users=users, items=items)
    assert all(math.isnan(result[cell]) for cell in cells)


def test_what_was_recommended_was_not_masked():
    items = {"item": [1, 2], "group": ["x", "y"]}
    lists, train = {"a": [1], "b": [1]}, {"a": [1], "b": [2]}
    result = rw.evaluate(lists, {"a": {1}, "b": {1}}, "rsp@1", train=train, items=items)
    assert result["rsp@1[item_group=x]"] == 1.0


def test_bpref_and_partial_auc_of_a_constant_model_are_at_chance():
    lists = {"u": dict.fromkeys([1, 2, 3, 4], 0.5)}
    for first in (1, 0):
        truth = {"u": {1: first, 2: first, 3: 1 - first, 4: 1 - first}}
        assert rw.evaluate(lists, truth, "bpref")["bpref"] == pytest.approx(0.5)
        assert rw.evaluate(lists, truth, "bpref", ties="optimistic")["bpref"] == 1.0
        assert rw.evaluate(lists, truth, "bpref", ties="pessimistic")["bpref"] == 0.0
    lists = {"u": dict.fromkeys(range(6), 0.5)}
    result = rw.evaluate(lists, {"u": {0, 1, 2}}, "partial_auc@1")
    assert result["partial_auc@1"] == pytest.approx(0.25)


def test_one_column_for_one_category():
    items = {"item": [1, 2, 3], "genre_war": [1, 0, 0], "f_1": [1.0, 0.0, 0.0]}
    name = "srecall(categories='genre_*')@1"
    assert math.isnan(rw.evaluate({"a": [3]}, {"a": {2}}, name, items=items)[name])
    name = "ild(features='f_*')@2"
    assert rw.evaluate({"a": [1, 3]}, {"a": {2}}, name, items=items)[name] == 1.0


def test_a_share_that_is_exactly_the_ratio_does_not_exceed_it():
    train = {f"u{at}": [1] for at in range(29)} | {f"v{at}": [at + 2] for at in range(71)}
    name = "aclt(pop_ratio=0.29)@2"
    assert rw.evaluate({"a": [1, 2]}, {"a": {2}}, name, train=train)[name] == 0.0


def test_groups_of_users_whom_training_does_not_know(tmp_path):
    (tmp_path / "train.csv").write_text("user,item\n1,10\n1,11\n2,11\n2,12\n")
    result = rw.evaluate(
        {"1": [10, 12], "2": [12, 13], "abc": [10, 11]},
        {"1": {10}, "2": {12}, "abc": {11}},
        "bias_disparity@2",
        train=tmp_path / "train.csv",
        items={"item": [10, 11, 12, 13], "group": list("ppqq")},
        users={"user": ["1", "2", "abc"], "group": ["x", "y", "a"]},
    )
    assert result["bias_disparity@2[user_group=x,item_group=p]"] == pytest.approx(0.5 / 1 - 1)
    assert math.isnan(result["bias_disparity@2[user_group=a,item_group=p]"])


@pytest.mark.parametrize(
    "name",
    [
        "euclidean_distance([bias_disparity,ndcg],utopia=[0,1],of=means)@2",
        "euclidean_distance([])@2",
        "hypervolume([])@2",
        "ips_recall(power=-1)@2",
        "stratified_recall(gamma=1e999)@2",
    ],
)
def test_what_makes_no_sense_is_refused(name):
    with pytest.raises(rw.RankwiseError):
        rw.parse(name)


def test_infinite_values_can_be_shown():
    assert format_number(math.inf) == "inf"
    assert format_number(-math.inf) == "−inf"
    with pytest.raises(rw.RankwiseError, match="too large for an exponential gain"):
        rw.evaluate({"a": [1]}, {"a": {1: 2000.0}}, "cg(gain=exponential)@2")


def test_metrics_in_lists_and_by_name():
    assert rw.Hypervolume(metrics=[rw.NDCG(), "map"]) == rw.parse("hypervolume([ndcg,map])")
    assert rw.GroupGap(metric="recall") == rw.parse("group_gap(recall)")


@pytest.mark.parametrize("column", ["class", "true", "None", "age-group", "a b", "it's"])
def test_columns_of_any_name_are_written_so_that_they_read_back(column):
    metric = rw.REO(item_group=column) @ 2
    assert rw.parse(str(metric)) == metric


def test_cells_are_found_under_any_spelling():
    items = {"item": [1, 2], "group": ["x[y]", "z"]}
    users = {"userId": ["u"], "group": ["a"]}
    cells = ["reo@2", "bias_disparity_recommendation@2"]
    result = rw.evaluate({"u": [1]}, {"u": {1, 2}}, cells, items=items, users=users)
    assert result['REO@2[item_group="x[y]"]'] == 1.0
    assert result["BiasDisparityBR@2[item_group=z,user_group=a]"] == 0.0


def test_what_training_repeats_is_counted_once_however_many_pieces():
    train = pl.DataFrame({"user": ["a", "a", "b"], "item": [1, 1, 2]})
    evaluator = rw.Evaluator("arp@1", train=train)
    for user in "abc":
        evaluator.update({user: [1]}, {user: {1}})
    assert evaluator.result().counts["train_rows_repeated"] == 1
    assert (
        rw.Evaluator("arp@1", train=train).merge(evaluator).result().counts["train_rows_repeated"]
        == 1
    )


def test_blocks_are_small_where_there_are_many_categories(monkeypatch):
    from rankwise.blocks import encoded

    items = {"item": range(20), "genres": [f"g{at}|h{at % 3}" for at in range(20)]}
    lists = {user: [user % 20, (user + 1) % 20] for user in range(40)}
    truth = {user: {(user + 1) % 20, 3} for user in range(60)}
    cells = ["srecall@2", "alpha_ndcg@2", "calibration_error@2"]
    train = {user: [user % 7] for user in range(30)}
    whole = rw.evaluate(lists, truth, cells, items=items, train=train)
    monkeypatch.setattr(encoded, "_CELLS", 100)
    small = rw.evaluate(lists, truth, cells, items=items, train=train)
    assert small.values == whole.values
    assert small.counts == whole.counts


def test_a_relevant_item_needs_a_propensity_whether_or_not_it_is_found():
    items = {"item": [1], "propensity": [0.5]}
    for lists in ({"a": [1, 2]}, {"a": [1, 3]}):
        with pytest.raises(rw.RankwiseError, match="a relevant item has no propensity"):
            rw.evaluate(lists, {"a": {1, 2}}, "ips_recall(propensity=given)@2", items=items)


def test_who_is_not_known_is_counted():
    items = {"item": [1], "features": [[1.0]], "genres": ["war"]}
    cells = ["ild@2", "srecall@2", "repeated@2", "overlap@2"]
    result = rw.evaluate(
        {"a": [1, 2], "b": [2]},
        {"a": {1}, "b": {1}},
        cells,
        items=items,
        train={"a": [7]},
        reference={"a": [1]},
    )
    assert result.counts["recommendations_without_features(features)"] == 2
    assert result.counts["recommendations_without_categories(categories)"] == 2
    assert result.counts["users_without_history"] == 1
    assert result.counts["users_without_reference"] == 1


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"relevance_threshold": 10**400}, "relevance_threshold must be a number"),
        ({"threshold": float("nan")}, "relevance_threshold must be a number"),
        ({"threshold": 3, "relevance_threshold": 4}, "are the same option"),
        ({"k": 0}, "a cut-off is a whole number"),
        ({"k": 5, "metrics": "ndcg@10"}, "k is the cut-off of metrics"),
        ({"k": 5, "metrics": "bpref"}, "k is the cut-off of metrics"),
        (
            {"items": ["a", "b"], "metrics": "coverage@1"},
            "an id of the catalogue is of another type",
        ),
        (
            {"items": ["05", "7"], "metrics": "coverage@1"},
            "an id of the catalogue is of another type",
        ),
        ({"users": {1: 0.5}}, "users= holds weights"),
        ({"weights": 5}, "weights is the name of a column"),
        ({"by": 5}, "by names columns"),
    ],
)
def test_options_that_make_no_sense(options, error):
    with pytest.raises(rw.RankwiseError, match=error):
        rw.evaluate({1: [5]}, {1: {5: 1.0}}, **options)


def test_options_under_the_names_of_other_libraries():
    truth = {1: {5: 2.0, 6: 4.0}}
    plain = rw.evaluate({1: [5, 6]}, truth, ["ndcg@[1,2]", "map@1", "bpref"], relevance_threshold=3)
    short = rw.evaluate({1: [5, 6]}, truth, ["ndcg@[1,2]", "map", "bpref"], k=1, threshold=3)
    assert short.values == plain.values
    assert list(rw.evaluate({1: [5]}, truth, k=[1, 3]).values)[:3] == [
        "precision@1",
        "precision@3",
        "recall@1",
    ]
    assert rw.evaluate({1: [5]}, truth, by=None).slices is None
    assert rw.evaluate_ratings({1: [(3, 4), (1, 2)]}, k=1, threshold=2)["precision@1"] == 1.0
    assert (
        rw.evaluate_ratings({1: [(3, 4), (1, 2)]}).provenance["settings"]["relevance_threshold"]
        == 3.5
    )


def test_many_ties_cost_what_is_asked_for():
    """err@10 read all pairs of tied rows; now those of the first ten places."""
    n = 300_000
    lists = pl.DataFrame({"user": np.zeros(n, int), "item": np.arange(n), "score": np.ones(n)})
    truth = {0: dict.fromkeys(range(0, n, 300), 1.0)}
    value = rw.evaluate(lists, truth, "err@10")["err@10"]
    stop, reached, expected = 0.5 / 300, 1.0, 0.0  # drawing with replacement: close enough
    for rank in range(1, 11):
        expected += reached * stop / rank
        reached *= 1 - stop
    assert value == pytest.approx(expected, rel=1e-3)


def test_bpref_of_a_user_without_a_judged_miss():
    """Nothing is judged irrelevant for users 1 and 2: they have no value, with a hit or without one."""
    lists, truth = {1: [5], 2: [9], 3: [5]}, {1: {5: 1.0}, 2: {5: 1.0}, 3: {5: 1.0, 6: 0.0}}
    column = rw.evaluate(lists, truth, "bpref(without_judged=undefined)").per_user.to_series(3)
    assert [None if v != v else v for v in column] == [None, None, 1.0]


@pytest.mark.parametrize(
    "options",
    [{"metrics": repeat("mrr")}, {"by": repeat("x")}, {"items": count(), "metrics": "gini@1"}],
)
def test_iterators_without_end_are_refused(options, monkeypatch):
    monkeypatch.setattr(arguments.bounded, "__defaults__", (1_000_000,))
    with pytest.raises(rw.RankwiseError, match="has no more than"):
        rw.evaluate({1: [5]}, {1: {5}}, **options)
