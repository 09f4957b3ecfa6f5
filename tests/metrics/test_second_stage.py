"""Options that rankers of the second stage and retrieval tools need, on cases by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from rankwise import functional as fn
from rankwise.errors import MetricError, ParameterError, ScoreError, UsageError

LISTS = {"ann": [1, 2, 3], "bob": [1, 2]}
GRADES = {"ann": {1: 2, 2: 0, 3: 1, 9: 3}, "bob": {1: 0}}


def value(recommended, relevant, name, **options):
    return rw.evaluate({"u": recommended}, {"u": relevant}, name, **options)[name]


@pytest.mark.parametrize(
    ("recommended", "relevant", "name", "expected"),
    [
        ([1, 2, 3], {1: 2, 3: 4}, "dcg(discount=rank)@3", 2 + 4 / 3),
        ([1, 2, 3], {1: 2, 3: 4}, "ndcg(discount=rank)@3", (2 + 4 / 3) / (4 + 2 / 2)),
        ([1, 2], {2: 1, 5: 1, 6: 1}, "ndcg(ideal=length)@3", 0.63093 / 1.63093),
        ([1, 2, 3, 4], {2: 1, 5: 1, 6: 1}, "ndcg(ideal=length)@2", 0.63093 / 1.63093),
        ([1, 2, 3, 4], {1: 1}, "ndcg(ideal=length)", 1.0),
        ([1, 2, 3, 4], {1: 1, 9: 1}, "ndcg(ideal=uncut)@1", 1 / 1.63093),
        ([1, 2, 3], {1: 3, 3: 2}, "cg(denominator=length)@2", 1.5),
        ([1, 2, 3], {1: 3, 3: 2}, "cg(denominator=length)@9", 5 / 3),
        ([1, 2, 3, 4], {2, 4, 9}, "arhr(normaliser=hits)", (1 / 2 + 1 / 4) / 2),
        ([1, 2, 3, 4], {2, 4, 9}, "arhr(normaliser=hits)@3", 1 / 2),
        ([1, 2], {5}, "arhr(normaliser=hits)@2", 0.0),
        ([1, 2, 3], {1: 0.5, 3: 1}, "err(stop=relevance)", 0.5 + 0.5 / 3),
        ([1, 2, 3], {1: 0.5, 3: 1}, "err(stop=relevance,decay=0.5)", 0.5 + 0.5 * 0.25),
        ([1, 2, 3], {2: 1}, "err(decay=1)@3", 0.5),
        ([1, 2, 3], {2, 3}, "complete@3", 1.0),
        ([1, 2, 3], {2, 3}, "complete@2", 0.0),
        ([1, 2, 3], {2, 9}, "complete", 0.0),
        ([1, 2, 3, 4], {1: 3, 2: 4, 3: 0, 4: 1}, "list_auc(pairs=graded)", 4 / 6),
        ([1, 7, 2, 8, 3], {1: 1, 2: 2, 3: 0}, "list_auc(pairs=graded)", 2 / 3),
        ([1, 2, 3], {1: 2, 2: 2, 3: 2}, "list_auc(pairs=graded)", math.nan),
        ([1, 2, 3], {1: 2, 2: 2, 3: 2}, "list_auc(pairs=graded,one_class=zero)", 0.0),
        ([1, 2, 3], {1: 2, 2: 2, 3: 2}, "list_auc(pairs=graded,one_class=by_class)", 1.0),
        ([1, 2], {1: -1, 2: 0, 3: 1}, "list_auc(pairs=graded,one_class=by_class)@2", 0.0),
    ],
)
def test_values_by_hand(recommended, relevant, name, expected):
    assert value(recommended, relevant, name) == pytest.approx(expected, abs=1e-5, nan_ok=True)


@pytest.mark.parametrize("name", ["ndcg", "recall", "map", "ndcg_binary"])
@pytest.mark.parametrize(("choice", "own"), [("one", 1.0), ("zero", 0.0)])
def test_a_query_without_a_positive_has_the_value_that_is_chosen(name, choice, own):
    chosen, plain = f"{name}(without_relevant={choice})@3", f"{name}@3"
    result = rw.evaluate(LISTS, GRADES, [chosen, plain], population="judged", undefined="nan")
    assert result.per_user[chosen].to_list() == [result.per_user[plain][0], own]
    assert result[chosen] == pytest.approx((result.per_user[plain][0] + own) / 2)
    assert math.isnan(result[plain])


def test_a_part_with_a_value_for_everybody_goes_into_what_is_made_of_it():
    name = "f(first=recall(without_relevant=one),second=ndcg(without_relevant=one))@3"
    result = rw.evaluate(LISTS, GRADES, name, population="judged")
    assert result.per_user[name].to_list()[1] == 1.0


def test_a_label_above_one_is_no_probability_to_stop():
    with pytest.raises(ScoreError, match="a relevance above 1 is no probability to stop"):
        value([1, 2], {1: 2}, "err(stop=relevance)")


@pytest.mark.parametrize("decay", [0, 1.5, -1])
def test_a_decay_is_above_0_and_at_most_1(decay):
    with pytest.raises(ParameterError, match=r"decay must lie in \(0, 1\]"):
        rw.parse(f"err(decay={decay})")


_LABELS = st.dictionaries(st.integers(0, 9), st.integers(0, 4), min_size=1)


@given(st.permutations(range(6)), _LABELS, st.sampled_from([None, 0.85, 1.0]), st.integers(1, 7))
def test_labels_as_probabilities_agree_with_the_plain_definition(items, grades, decay, k):
    labels = {item: grade / 4 for item, grade in grades.items()}
    name = f"err(stop=relevance{'' if decay is None else f',decay={decay}'})@{k}"
    expected = fn.err_at_k(items, labels, k, stop="relevance", decay=decay)
    if not any(labels.values()):
        assert math.isnan(expected)
        return
    assert value(items, labels, name) == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_graded_pairs_take_ties_as_the_rule_says():
    scores = [(1, 0.5), (2, 0.5), (3, 0.5), (4, 0.1)]
    grades = {1: 3, 2: 4, 3: 0, 4: 1}  # three tied pairs; of the others (3, 4) alone is wrong
    areas = {"expected": 3.5 / 6, "optimistic": 5 / 6, "pessimistic": 2 / 6}
    for ties, area in areas.items():
        ours = value(scores, grades, "list_auc(pairs=graded)", ties=ties)
        assert ours == pytest.approx(area), ties


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(-1, 3)), min_size=1, max_size=12))
def test_graded_pairs_are_counted_as_the_plain_definition_counts_them(rows):
    scores = [(item, float(score)) for item, (score, _) in enumerate(rows)]
    grades = {item: grade for item, (_, grade) in enumerate(rows)}
    scores.sort(key=lambda row: -row[1])
    expected = fn.list_auc(
        [item for item, _ in scores], grades, scores=[s for _, s in scores], pairs="graded"
    )
    ours = value(scores, {**grades, 99: 1}, "list_auc(pairs=graded)")
    assert ours == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("ids", [int, str])
def test_a_repeated_item_keeps_its_place_without_counting(ids):
    lists = {"ann": [ids(i) for i in (1, 2, 1, 3, 1)], "bob": [ids(4)]}
    truth = {"ann": {ids(1): 1, ids(3): 1}, "bob": {ids(4): 1}}
    cells = ["map@5", "precision@5", "mrr@5", "recall@3"]
    kept = rw.evaluate(lists, truth, cells, duplicates="keep")
    first = rw.evaluate(lists, truth, cells, duplicates="first")
    assert kept.per_user["map@5"].to_list() == [(1 + 2 / 4) / 2, 1.0]
    assert first.per_user["map@5"].to_list() == [(1 + 2 / 3) / 2, 1.0]
    assert kept["recall@3"] == 0.75
    assert kept.counts["duplicates_kept"] == 2
    assert kept.per_user["list_length"].to_list() == [5, 1]


@pytest.mark.parametrize("name", ["duplicate_rate", "coverage@2", "overlap@2"])
def test_kept_repetitions_are_refused_by_metrics_of_lists(name):
    with pytest.raises(MetricError, match="cannot count ranks without an item"):
        rw.evaluate(LISTS, GRADES, name, duplicates="keep", reference=LISTS)


def test_results_with_kept_and_dropped_repetitions_are_not_compared():
    lists = {"ann": [1, 2, 1, 3], "bob": [4]}
    truth = {"ann": {1, 3}, "bob": {4}}
    kept, first = (
        rw.evaluate(lists, truth, "map@4", duplicates=rule) for rule in ("keep", "first")
    )
    with pytest.raises(UsageError, match="duplicates"):
        rw.compare({"kept": kept, "first": first})


def test_a_hole_is_what_nobodys_judgements_contain():
    lists = {"ann": [1, 2, 8], "bob": [9]}
    truth = {"ann": {1: 1}, "bob": {2: 0, 9: 1}, "cyd": {7: 1}}
    result = rw.evaluate(lists, truth, "hole@4", population="judged", without_list="zero")
    assert result.per_user["hole@4"].to_list() == [0.25, 0.0, 0.0]


def test_a_hole_needs_the_ground_truth_of_all_users():
    evaluator = rw.Evaluator("hole@2", truth={"ann": {1: 1}, "bob": {5: 1}})
    evaluator.update({"ann": [1, 5, 6]})
    evaluator.update({"bob": [5, 7]})
    assert evaluator.result().per_user["hole@2"].to_list() == [0.0, 0.5]
    with pytest.raises(MetricError, match="needs the ground truth of all users at once"):
        rw.Evaluator("hole@2")
