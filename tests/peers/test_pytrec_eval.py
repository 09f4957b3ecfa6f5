"""trec_eval, through pytrec_eval, on the same runs.

Where conventions agree: P, recall, nDCG (linear gain), R-precision, success, and average precision
with ``normaliser=relevant``. Where they do not:

* ties go by item id, descending (our ``ties="item_desc"``), and scores are compared as 32-bit
  numbers, so scores that differ in the ninth digit tie there and not here;
* a user of the truth without a run is left out (our ``population="both"``);
* a user whose judged items are all of grade 0 counts 0; here such a user has no value;
* ``recip_rank`` has no cut-off (our ``mrr`` without one).
"""

from __future__ import annotations

import re

import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw

ITEMS = st.sampled_from([f"d{number}" for number in range(14)])
RUN = st.dictionaries(ITEMS, st.sampled_from([0.125, 0.25, 0.5, 1.0, 2.0, 4.0]), min_size=1)
TRUTH = st.dictionaries(ITEMS, st.integers(0, 3), min_size=1)
USERS = st.sampled_from(["q1", "q2", "q3", "q10"])
SAME = {
    "P_5": "precision@5",
    "recall_5": "recall@5",
    "map": "map(normaliser=relevant)",
    "map_cut_5": "map(normaliser=relevant)@5",
    "ndcg": "ndcg",
    "ndcg_cut_5": "ndcg@5",
    "recip_rank": "mrr",
    "Rprec": "r_precision",
    "success_5": "hit_rate@5",
    "iprec_at_recall_0.50": "iprec(level=0.5)",
    "iprec_at_recall_0.00": "iprec(level=0)",
}


@given(st.dictionaries(USERS, RUN, min_size=1), st.dictionaries(USERS, TRUTH, min_size=1))
def test_metrics_that_agree(run, truth):
    relevant = {user for user, own in truth.items() if any(own.values())}
    if not relevant & set(run):
        return
    evaluator = pytrec_eval.RelevanceEvaluator(
        truth,
        {
            "P.5",
            "recall.5",
            "map",
            "map_cut.5",
            "ndcg",
            "ndcg_cut.5",
            "recip_rank",
            "Rprec",
            "success.5",
            "iprec_at_recall",
        },
    )
    theirs = evaluator.evaluate(run)
    ours = rw.evaluate(
        run, truth, list(SAME.values()), ties="item_desc", population="both"
    ).per_user
    assert ours["user"].to_list() == sorted(relevant & set(run))
    for row in ours.to_dicts():
        for name, cell in SAME.items():
            assert row[cell] == pytest.approx(theirs[row["user"]][name], rel=1e-6, abs=1e-9), name


# pytrec_eval reads outside of its memory for a user all of whose grades are negative.
NEGATIVE = st.dictionaries(ITEMS, st.integers(-3, 3), min_size=1).filter(
    lambda grades: max(grades.values()) >= 0
)
OFFERED = {
    **{
        f"{name}_{k}": f"{name}@{k}"
        for name in ("P", "recall", "success", "map_cut", "ndcg_cut", "relative_P")
        for k in (1, 5)
    },
    **{
        name: name
        for name in [
            "map",
            "gm_map",
            "ndcg",
            "recip_rank",
            "Rprec",
            "bpref",
            "gm_bpref",
            "set_P",
            "set_recall",
            "set_F",
            "set_relative_P",
            "set_map",
            "num_rel_ret",
            "num_rel",
            "num_ret",
            "num_nonrel_judged_ret",
            "num_q",
            "11pt_avg",
            "infAP",
            "utility",
            "G",
            "binG",
            "ndcg_rel",
            "Rndcg",
        ]
    },
    **{name: name for name in (f"iprec_at_recall_{level / 10:.2f}" for level in range(11))},
    **{name: name for name in (f"Rprec_mult_{level / 5:.2f}" for level in (1, 2, 6, 7, 10))},
}
REQUESTED = {
    *(
        re.sub(r"_(\d+)$", r".\1", name)
        for name in OFFERED
        if not name.startswith(("iprec", "11pt", "Rprec_mult"))
    ),
    "iprec_at_recall",
    "Rprec_mult",
    "11pt_avg",
}


@given(st.dictionaries(USERS, RUN, min_size=1), st.dictionaries(USERS, NEGATIVE, min_size=1))
def test_all_names_of_the_convention_with_negative_grades(run, truth):
    """Negative grades are not judged; users without relevant items count 0; lists of one item."""
    if not set(run) & set(truth):
        return
    users = pytrec_eval.RelevanceEvaluator(truth, REQUESTED).evaluate(run).values()
    ours = rw.evaluate(run, truth, list(OFFERED.values()), convention="trec_eval-9")
    for name, text in OFFERED.items():
        theirs = pytrec_eval.compute_aggregated_measure(name, [own[name] for own in users])
        assert ours[text] == pytest.approx(theirs, rel=1e-9, abs=1e-9), name


def test_bpref_skips_negative_grades_where_trec_eval_is_reproduced():
    run, truth = {"q": {"a": 1.0, "b": 0.5}}, {"q": {"a": -1, "b": 1, "c": 0}}
    theirs = pytrec_eval.RelevanceEvaluator(truth, {"bpref"}).evaluate(run)["q"]["bpref"]
    for convention in ("trec_eval-9", "ir_measures"):
        assert rw.evaluate(run, truth, "bpref", convention=convention)["bpref"] == theirs == 1.0
    assert rw.evaluate(run, truth, "bpref")["bpref"] == 0.0


def test_scores_that_tie_only_in_32_bits():
    run, truth = {"q": {"a": 0.1 + 1e-9, "b": 0.1}}, {"q": {"b": 1}}
    theirs = pytrec_eval.RelevanceEvaluator(truth, {"recip_rank"}).evaluate(run)
    assert theirs["q"]["recip_rank"] == 1.0
    assert rw.evaluate(run, truth, "mrr", ties="item_desc")["mrr"] == 0.5


def test_a_user_with_nothing_relevant():
    run, truth = {"q": {"a": 1.0}, "r": {"a": 1.0}}, {"q": {"a": 0}, "r": {"a": 1}}
    theirs = pytrec_eval.RelevanceEvaluator(truth, {"ndcg"}).evaluate(run)
    assert theirs["q"]["ndcg"] == 0.0
    result = rw.evaluate(run, truth, "ndcg")
    assert result.per_user["user"].to_list() == ["r"]
    assert result.counts["truth_users_without_relevant_items"] == 1


def test_a_relevance_level_leaves_gains_alone():
    """``relevance_level`` decides for binary measures; nDCG keeps the gain of a grade of 1."""
    run, truth = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, {"q": {"a": 1, "c": 3, "d": 2}}
    names = ["ndcg", "map", "P_5", "num_rel", "G", "Rndcg"]
    theirs = pytrec_eval.RelevanceEvaluator(
        truth, {*names, "P.5"} - {"P_5"}, relevance_level=2
    ).evaluate(run)["q"]
    ours = rw.evaluate(run, truth, names, convention="trec_eval-9", threshold=2)
    for name in names:
        assert ours[name] == pytest.approx(theirs[name], rel=1e-12), name
