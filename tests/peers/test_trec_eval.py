"""trec_eval 10.0: every line that it expects of itself on its own sample files, and its options."""

from __future__ import annotations

import math

import pytest

import rankwise as rw
from rankwise.errors import MetricError, ParameterError
from rankwise.evaluation.trec_format import run_name, trec_lines

VALUES = (
    "iprec_at_recall..10,.20,.25,.75,.50 P.5,7,3 recall.20,2000 Rprec_mult.5.0,0.2,0.35 utility.2,-1,0,0 "
    "11pt_avg..25,.5,.75 ndcg.1=3,2=9,4=4.5 ndcg_cut.10,20,23.4 success.2,5,20"
)
ALL_TOPICS = {"per_topic": True, "population": "judged"}
SAMPLES = [
    ("out.test", "qrels.test", "results.test", "official", {}),
    ("out.test", "qrels.test.with-comments", "results.test", "official", {}),
    ("out.comment.test", "qrels.comment.test.gz", "results.comment.test.gz", "official", {}),
    ("out.test.a", "qrels.test", "results.test", "all_trec", {}),
    ("out.test.aq", "qrels.test", "results.test", "all_trec", {"per_topic": True}),
    ("out.test.aqc", "qrels.test", "results.trunc", "all_trec", ALL_TOPICS),
    ("out.test.aqcM", "qrels.test", "results.trunc", "all_trec", {**ALL_TOPICS, "depth": 100}),
    (
        "out.test.aql",
        "qrels.rel_level",
        "results.test",
        "all_trec relstring.20",
        {"per_topic": True, "relevance_threshold": 2},
    ),
    ("out.test.meas_params", "qrels.test", "results.test", VALUES, {"per_topic": True}),
]
RUN = {"q": {"a": 3.0, "b": 2.0, "c": 1.0, "d": 0.5}, "r": {"a": 1.0}}
QRELS = {"q": {"a": 1, "b": -1, "c": 2, "z": 0}, "r": {"a": 0}, "s": {"a": 1}}


def lines(*measures, run=RUN, qrels=QRELS, convention="trec_eval", **options):
    return trec_lines(
        run, qrels, measures, convention=rw.conventions()[convention], **options
    ).splitlines()


def numbers(*measures, **options):
    return {
        (label.strip(), topic): number
        for label, topic, number in (line.split("\t") for line in lines(*measures, **options))
    }


@pytest.mark.parametrize(("expected", "qrels", "run", "measures", "options"), SAMPLES)
def test_every_line_of_the_samples_is_that_of_trec_eval(
    trec_eval, expected, qrels, run, measures, options
):
    files = str(trec_eval / run), str(trec_eval / qrels)
    convention = rw.conventions()["trec_eval"]
    ours = trec_lines(
        *files, measures.split(), convention=convention, run=run_name(files[0]), **options
    )
    assert ours == (trec_eval / expected).read_text()


def test_a_name_has_the_number_of_the_samples_in_an_evaluation_too(trec_eval):
    names = ["P.5,7,3", "iprec_at_recall", "utility.2,-1,0,0", "Rndcg", "unj_20", "num_ret"]
    result = rw.evaluate(
        trec_eval / "results.test", trec_eval / "qrels.test", names, convention="trec_eval"
    )
    assert result["P_7"] == pytest.approx(1 / 3)
    assert (result["num_ret"], result["utility.2,-1,0,0"]) == (1500, -369)
    assert round(result["iprec_at_recall_0.10"], 4) == 0.3885
    assert (round(result["Rndcg"], 4), round(result["unj_20"], 4)) == (0.3232, 0.0333)
    assert result.provenance["own_definitions"] == {}


def test_version_9_truncates_levels_and_version_10_rounds_them(trec_eval):
    """The sample at recall 0.1: 0.3884 by 9, 0.3885 by 10, as `explain` says."""
    files = trec_eval / "results.test", trec_eval / "qrels.test"
    explanation = rw.explain(*files, "iprec_at_recall_0.10", "trec_eval-9", "trec_eval")
    assert (round(explanation.first, 4), round(explanation.second, 4)) == (0.3884, 0.3885)
    moved = explanation.choices.filter(explanation.choices["effect"] != 0)
    assert moved.select("choice", "first", "second").rows() == [
        ("rounding", "trec_eval", "nearest")
    ]


def test_the_level_decides_for_binary_measures_and_gains_stay():
    """-l2: a grade of 1 is not relevant to precision, and still has its gain."""
    level = numbers("P.1", "ndcg", "num_rel", relevance_threshold=2)
    assert level["P_1", "all"] == "0.0000"
    assert level["num_rel", "all"] == "1"
    assert level["ndcg", "all"] == numbers("ndcg")["ndcg", "all"]


def test_only_judged_items_or_the_top_of_each_list_are_evaluated():
    """-J leaves a and c of q, -M1 leaves a."""
    assert (
        numbers("num_ret", "P.2", "recip_rank", judged_only=True, per_topic=True)["num_ret", "q"]
        == "2"
    )
    assert numbers("P.2", judged_only=True, per_topic=True)["P_2", "q"] == "1.0000"
    assert numbers("num_ret", "recall.5", depth=1, per_topic=True)["num_ret", "q"] == "1"
    assert numbers("recall.5", depth=1, per_topic=True)["recall_5", "q"] == "0.5000"
    result = rw.evaluate(RUN, QRELS, "P_2", convention="trec_eval", judged_only=True)
    assert result.counts["unjudged_items_taken_out"] == 2


def test_all_judged_topics_count():
    """-c: s has no list, and counts 0."""
    assert numbers("num_q", "recall.5")["num_q", "all"] == "2"
    complete = numbers("num_q", "recall.5", population="judged", per_topic=True)
    assert (complete["num_q", "all"], complete["recall_5", "s"]) == ("3", "0.0000")


def test_true_negatives_need_the_size_of_the_collection():
    """-N: 100 documents, of which q retrieves 4 with 2 of 2 relevant, and r 1 with none."""
    weighted = numbers("utility.0,0,0,1", n_items=100, per_topic=True)
    assert weighted["utility_0,0,0,1", "q"] == f"{100 + 2 - 4 - 2:.4f}"
    assert weighted["utility_0,0,0,1", "r"] == f"{100 + 0 - 1 - 0:.4f}"
    assert numbers("utility.0,0,0,1", per_topic=True)["utility_0,0,0,1", "q"] == "-4.0000"


def test_gains_that_do_not_grow_with_the_grade_have_their_own_ideal_list():
    """Grade 1 gains 4, grade 2 gains 1: the ideal list begins with a."""
    run, qrels = {"q": {"a": 1.0, "c": 2.0}}, {"q": {"a": 1, "c": 2}}
    value = numbers("ndcg.1=4,2=1", run=run, qrels=qrels)["ndcg_1=4,2=1", "all"]
    worst, best = 1 + 4 / math.log2(3), 4 + 1 / math.log2(3)
    assert value == f"{worst / best:.4f}"


def test_grades_are_letters_at_the_top_of_each_list():
    assert "relstring_3           \tq\t'1.2'" in lines("relstring.3", per_topic=True)
    assert "relstring             \tq\t'1.2-'" in lines("relstring", per_topic=True)


def test_rbp_divides_by_the_largest_grade_of_the_topic():
    """Grades 1 and 2 gain a half and one; grade 1 alone gains one."""
    own = numbers("rbp.p=0.5", "rbp_resid.p=0.5", per_topic=True)
    assert own["rbp_p=0.5", "q"] == f"{0.5 * (0.5 + 0.25):.4f}"
    assert own["rbp_resid_p=0.5", "q"] == f"{1 - 0.5 * (1 + 0.25):.4f}"
    assert own["rbp_resid_p=0.5", "r"] == "0.0000"


def test_scores_are_compared_in_64_bits_by_version_10():
    run, qrels = {"q": {"a": 0.1 + 1e-9, "b": 0.1}}, {"q": {"b": 1}}
    values = {
        name: rw.evaluate(run, qrels, "recip_rank", convention=name)["recip_rank"]
        for name in ("trec_eval", "trec_eval-9")
    }
    assert values == {"trec_eval": 0.5, "trec_eval-9": 1.0}


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        ("prefs_pair", "preferences between pairs of documents"),
        ("map_avgjg", "groups of assessors"),
        ("nonsense", "trec_eval has no measure"),
        ("P.5,-", "no values of P"),
        ("ndcg.0=2", "no values of ndcg"),
        ("utility.1,2", "four weights"),
    ],
)
def test_what_is_not_computed_is_an_error_that_says_why(measure, message):
    with pytest.raises((MetricError, ParameterError)) as error:
        lines(measure)
    assert message in str(error.value)


def test_version_9_has_no_rbp():
    with pytest.raises(MetricError, match="trec_eval-9 has no measure 'unj'"):
        lines("unj", convention="trec_eval-9")
    assert not any("rbp" in line for line in lines("all_trec", convention="trec_eval-9"))


def test_a_run_is_named_by_the_last_line_of_its_file(tmp_path):
    (tmp_path / "mine.txt").write_text("1 Q0 a 1 0.5 first\n1 Q0 b 2 0.4 last of it\n# end\n")
    assert run_name(str(tmp_path / "mine.txt")) == "last"
    (tmp_path / "lists.csv").write_text("user,item\n1,2\n")
    assert run_name(str(tmp_path / "lists.csv")) == "lists"
    assert run_name("-") == "-"  # standard input is read once
